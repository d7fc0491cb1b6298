//! One `check` for all generator tests: object in (YAML), exposition out, every byte compared.
//!
//! Each object is decoded twice, from JSON and from protobuf made through the API's own message descriptions, so that a
//! wrong field number or JSON name of a view fails the first test that uses the field.

use expect_test::Expect;

use crate::exposition::{Format, write_header};
use crate::family::{FamilyInfo, KeyFilter, Plan};
use crate::resource::{AnyResource, Rendered};
use crate::view::Encoding;

/// Options of a test; the default is what is served without flags.
#[derive(Default)]
pub(crate) struct Options {
    /// Opt-in families too.
    pub opt_in: bool,
    /// Object labels to copy.
    pub labels: KeyFilter,
    /// Annotations to copy.
    pub annotations: KeyFilter,
    /// Only families whose names start with one of these; all if empty.
    pub only: &'static [&'static str],
}

/// Every family, opt-in ones too, and all labels and annotations.
pub(crate) fn everything() -> Options {
    Options { opt_in: true, labels: KeyFilter::All, annotations: KeyFilter::All, only: &[] }
}

/// The default options restricted to families whose names start with one of `only`.
pub(crate) fn only(only: &'static [&'static str]) -> Options {
    Options { only, ..Options::default() }
}

/// Checks the samples of the object `yaml` under `options`; families without samples are left out.
#[track_caller]
pub(crate) fn check_with(resource: &dyn AnyResource, options: &Options, yaml: &str, expected: Expect) {
    expected.assert_eq(&render(resource, options, yaml, false));
}

/// As [`check_with`], with the default options.
#[track_caller]
pub(crate) fn check(resource: &dyn AnyResource, yaml: &str, expected: Expect) {
    check_with(resource, &Options::default(), yaml, expected);
}

/// As [`check_with`], with `# HELP` and `# TYPE` lines for every enabled family, samples or not.
#[track_caller]
pub(crate) fn check_headers(resource: &dyn AnyResource, options: &Options, yaml: &str, expected: Expect) {
    expected.assert_eq(&render(resource, options, yaml, true));
}

fn render(resource: &dyn AnyResource, options: &Options, yaml: &str, headers: bool) -> String {
    let object: serde_json::Value = serde_norway::from_str(yaml).unwrap();
    let table = resource.families();
    let enabled = |family: &FamilyInfo<'_>| {
        (options.opt_in || !family.opt_in)
            && (options.only.is_empty() || options.only.iter().any(|prefix| family.name.starts_with(prefix)))
    };
    let plan = Plan::new(&table, enabled, options.labels.clone(), options.annotations.clone());
    let render = |encoding, bytes: &[u8]| {
        let mut out = Rendered::default();
        assert!(resource.render(encoding, bytes, &plan, &mut |_| true, &mut out).unwrap());
        out
    };
    let out = render(Encoding::Json, &serde_json::to_vec(&object).unwrap());
    let protobuf = render(Encoding::Protobuf, &protobuf(resource, object));
    assert_eq!(
        String::from_utf8_lossy(&protobuf.text),
        String::from_utf8_lossy(&out.text),
        "decoded from protobuf (left) and from JSON (right)"
    );
    let mut text = Vec::new();
    let mut start = 0;
    for (&index, &end) in plan.families().iter().zip(&out.ends) {
        if headers {
            let family = table[index];
            write_header(&mut text, Format::Text, family.name, family.kind, family.help);
        }
        text.extend_from_slice(&out.text[start..end as usize]);
        start = end as usize;
    }
    String::from_utf8(text).unwrap()
}

/// The object as an API server would send it in protobuf.
pub(crate) fn protobuf(resource: &dyn AnyResource, mut object: serde_json::Value) -> Vec<u8> {
    let descriptor = resource.descriptor();
    let api_version = match descriptor.group {
        "" => descriptor.version.to_owned(),
        group => format!("{group}/{}", descriptor.version),
    };
    object["apiVersion"] = api_version.into();
    object["kind"] = descriptor.kind.into();
    ksm_testbed::encode(&object).unwrap()
}

/// Checks that the object `yaml`, in JSON, does not decode.
#[track_caller]
pub(crate) fn refused(resource: &dyn AnyResource, yaml: &str) {
    let object: serde_json::Value = serde_norway::from_str(yaml).unwrap();
    let plan = Plan::by_default(&resource.families());
    let bytes = serde_json::to_vec(&object).unwrap();
    assert!(resource.render(Encoding::Json, &bytes, &plan, &mut |_| true, &mut Rendered::default()).is_err());
}
