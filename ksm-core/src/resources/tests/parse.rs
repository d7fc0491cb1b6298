//! A strict reader of what is rendered for one object.

use std::collections::HashSet;

use crate::family::{FamilyInfo, Plan};
use crate::resource::{AnyResource, Rendered};

/// What labels that are copied from maps of the object start with.
const COPIED: [&str; 5] = ["label_", "annotation_", "nodeselector_", "metadata_", "csi_"];

/// Families of which a sample has only some labels of the table: those of its kind of backend, a reason where there are
/// failures, a version where there is one, attributes that are set.
const VARYING: [&str; 4] = [
    "kube_ingress_path",
    "kube_job_status_failed",
    "kube_horizontalpodautoscaler_info",
    "kube_persistentvolume_csi_attributes",
];

/// Checks every line: the family's name, base labels first, then those of the table, each once; a value; no series
/// twice; as many samples as are counted.
#[track_caller]
pub(super) fn check(resource: &dyn AnyResource, plan: &Plan, out: &Rendered) {
    let table = resource.families();
    let text = std::str::from_utf8(&out.text).unwrap();
    assert_eq!((out.ends.len(), out.samples.len()), (plan.families().len(), plan.families().len()));
    let (mut start, mut series) = (0, HashSet::new());
    for ((&index, &end), &samples) in plan.families().iter().zip(&out.ends).zip(&out.samples) {
        let lines = &text[start..end as usize];
        start = end as usize;
        assert!(lines.is_empty() || lines.ends_with('\n'), "{lines}");
        assert_eq!(lines.lines().count(), lines.matches('\n').count());
        assert_eq!(lines.matches('\n').count(), samples as usize, "{lines}");
        for line in lines.split_terminator('\n') {
            let (key, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value: {line}"));
            assert!(series.insert(key), "a second {key}");
            assert!(is_number(value), "{line}");
            let problem = labels(key, &table[index]).and_then(|names| known(&names, &table[index], resource));
            if let Err(problem) = problem {
                panic!("{problem}: {line}");
            }
        }
    }
    assert_eq!(start, text.len());
}

fn is_number(text: &str) -> bool {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.e".contains(&byte));
    ["NaN", "+Inf", "-Inf"].contains(&text) || plain && text.parse::<f64>().is_ok()
}

/// Label names of a series.
fn labels<'t>(series: &'t str, family: &FamilyInfo<'_>) -> Result<Vec<&'t str>, &'static str> {
    let mut rest = series.strip_prefix(family.name).ok_or("the name of another family")?;
    let (mut names, mut seen) = (Vec::new(), HashSet::new());
    if rest.is_empty() {
        return Ok(names);
    }
    rest = rest.strip_prefix('{').ok_or("no labels behind the name")?;
    loop {
        let (name, value) = rest.split_once("=\"").ok_or("no label value")?;
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if !name.bytes().all(word) || name.is_empty() || name.as_bytes()[0].is_ascii_digit() {
            return Err("not a label name");
        }
        if !seen.insert(name) {
            return Err("a label twice");
        }
        names.push(name);
        let end = value_end(value)?;
        rest = &value[end + 1..];
        match rest.strip_prefix(',') {
            Some(next) => rest = next,
            None => return if rest == "}" { Ok(names) } else { Err("no end of labels") },
        }
    }
}

/// Where the closing quote is; escapes are those of both formats.
fn value_end(text: &str) -> Result<usize, &'static str> {
    let mut bytes = text.bytes().enumerate();
    while let Some((index, byte)) = bytes.next() {
        match byte {
            b'"' => return Ok(index),
            b'\\' if !matches!(bytes.next(), Some((_, b'\\' | b'"' | b'n'))) => return Err("an unknown escape"),
            _ => {}
        }
    }
    Err("a label value without end")
}

fn known(names: &[&str], family: &FamilyInfo<'_>, resource: &dyn AnyResource) -> Result<(), &'static str> {
    let base = resource.base_labels();
    let own = names.strip_prefix(base.as_slice()).ok_or("base labels missing or out of order")?;
    let (own, copied) = own.split_at(own.iter().take_while(|name| family.labels.contains(name)).count());
    if !copied.iter().all(|name| COPIED.iter().any(|prefix| name.starts_with(prefix))) {
        return Err("a label that is not in the table");
    }
    if VARYING.contains(&family.name) {
        let mut table = family.labels.iter();
        return if own.iter().all(|name| table.any(|label| label == name)) { Ok(()) } else { Err("out of order") };
    }
    // R15, https://github.com/kubernetes/kube-state-metrics/issues/2539
    if own == family.labels { Ok(()) } else { Err("not all labels of the table") }
}
