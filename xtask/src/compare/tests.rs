//! Tests of the comparison: equal bodies, and one difference of each kind.

use super::*;
use crate::exposition::{Format, parse};

const BODY: &str = "# HELP a Help.\n# TYPE a gauge\na{x=\"1\",y=\"2\"} 1\na{x=\"2\",y=\"2\"} NaN\n# HELP b Help.\n# TYPE b counter\nb 5\n";

fn view(bodies: &[&str]) -> View {
    let parts: Vec<Exposition> = bodies.iter().map(|body| parse(body, Format::Text).unwrap()).collect();
    View::of(&parts)
}

/// The report on a body against [`BODY`].
#[track_caller]
fn report(bodies: &[&str]) -> String {
    compare(&view(&[BODY]), &view(bodies)).to_string()
}

#[test]
fn order_of_samples_spelling_of_numbers_and_help_do_not_matter() {
    let other = "# HELP b Other.\n# TYPE b counter\nb 5e+00\n# HELP a Other.\n# TYPE a gauge\na{x=\"2\",y=\"2\"} NaN\na{x=\"1\",y=\"2\"} 1.0\n";
    assert_eq!(report(&[other]), "");
}

#[test]
fn parts_add_up() {
    let one = "# HELP a Help.\n# TYPE a gauge\na{x=\"1\",y=\"2\"} 1\n";
    let two = "# HELP a Help.\n# TYPE a gauge\na{x=\"2\",y=\"2\"} NaN\n# HELP b Help.\n# TYPE b counter\nb 5\n";
    assert_eq!(report(&[one, two]), "");
    assert_eq!(report(&[two]), "samples missing: 1\n    a{x=\"1\",y=\"2\"} 1\n");
    assert_eq!(report(&[one, one, two]), "series repeated: 1\n    a{x=\"1\",y=\"2\"}: 2 times\n");
}

#[test]
fn every_kind_of_difference_is_named() {
    let cases = [
        (BODY.replace("b 5\n", "b 6\n"), "values differ: 1\n    b: 6, want 5\n"),
        (BODY.replace("NaN", "0"), "values differ: 1\n    a{x=\"2\",y=\"2\"}: 0, want NaN\n"),
        (BODY.replace("TYPE b counter", "TYPE b gauge"), "types differ: 1\n    b: gauge, want counter\n"),
        (BODY.replace("HELP b Help.", "HELP b "), "families without help: 1\n    b\n"),
        (BODY.replace("b 5\n", ""), "samples missing: 1\n    b 5\n"),
        (BODY.replace("b 5\n", "b 5\nb{z=\"\"} 5\n"), "samples too many: 1\n    b{z=\"\"} 5\n"),
        (
            BODY.replace("x=\"1\",y=\"2\"", "y=\"2\",x=\"1\""),
            "label orders differ: 1\n    a{x=\"1\",y=\"2\"}: y,x, want x,y\n",
        ),
        (
            BODY.replace(" b", " c").replace("b 5", "c 5"),
            "families missing: 1\n    b\nfamilies too many: 1\n    c\nsamples missing: 1\n    b 5\nsamples too many: 1\n    c 5\n",
        ),
        (BODY.replace("b 5\n", "b 5\nb 5\n"), "series repeated: 1\n    b: 2 times\n"),
    ];
    for (body, expected) in cases {
        assert_eq!(report(&[&body]), expected);
    }
}

#[test]
fn the_expected_side_may_repeat_itself() {
    let doubled = BODY.replace("b 5\n", "b 5\nb 5\n");
    let (expected, actual) = (view(&[&doubled]), view(&[BODY]));
    assert!(compare(&expected, &actual).is_empty());
    let once: Vec<String> = written_once(&expected, &actual).iter().map(ToString::to_string).collect();
    assert_eq!(once, ["b: once, 2 times there"]);
    assert!(written_once(&expected, &expected).is_empty());
}

#[test]
fn a_difference_has_its_series_and_numbers() {
    let other = BODY.replace("NaN", "0");
    let differences = compare(&view(&[BODY]), &view(&[&other])).into_differences();
    let [difference] = differences.as_slice() else { panic!("{differences:?}") };
    assert_eq!((difference.kind, difference.name.as_str(), difference.found), (Kind::Value, "a", Some(0.0)));
    assert_eq!(difference.labels, [("x".to_owned(), "2".to_owned()), ("y".to_owned(), "2".to_owned())]);
    assert!(difference.wanted[0].is_nan());
}

#[test]
fn long_lists_are_cut() {
    let many: String = (0..25).map(|n| format!("b{{n=\"{n}\"}} 1\n")).collect();
    let shown = report(&[&BODY.replace("b 5\n", &format!("b 5\n{many}"))]);
    assert!(shown.starts_with("samples too many: 25\n"), "{shown}");
    assert!(shown.ends_with("… and 5 more\n"), "{shown}");
    assert_eq!(shown.lines().count(), SHOWN + 2);
}

#[test]
fn empty_families_are_counted() {
    let body = "# HELP a Help.\n# TYPE a gauge\n# HELP a_b Help.\n# TYPE a_b gauge\na_b 1\n";
    assert_eq!(view(&[body]).families_without_samples(), ["a"]);
    assert_eq!(
        view(&[&body.replace("gauge\n# HELP a_b", "gauge\na{x=\"\"} 1\n# HELP a_b")]).families_without_samples(),
        [""; 0]
    );
    assert_eq!((view(&[body]).families(), view(&[body]).samples()), (2, 1));
}
