//! Tests of the strict reader: what it takes, and the line and reason of what it refuses.

use super::*;

const HEAD: &str = "# HELP a Help.\n# TYPE a gauge\n";

/// The faults of a body that must be refused, as `line: reason` a line.
#[track_caller]
fn faults(text: &str, format: Format) -> String {
    let error = parse(text, format).expect_err("the body must be refused");
    error.to_string()
}

/// The samples of a body that must be accepted.
#[track_caller]
fn samples(text: &str, format: Format) -> Vec<Sample> {
    let exposition = parse(text, format).expect("the body must be accepted");
    exposition.samples().cloned().collect()
}

#[test]
fn escapes_come_back_as_text() {
    let text = "# HELP a Back\\\\slash \\n \"quoted\".\n# TYPE a gauge\na{x=\"\\\\ \\\" \\n \t 日本,}\",y=\"\"} 1\n";
    let exposition = parse(text, Format::Text).unwrap();
    assert_eq!(exposition.families[0].help, "Back\\slash \n \"quoted\".");
    assert_eq!(
        exposition.families[0].samples[0].labels,
        [("x".to_owned(), "\\ \" \n \t 日本,}".to_owned()), ("y".to_owned(), String::new())]
    );
}

#[test]
fn only_openmetrics_escapes_quotes_in_help() {
    let text = "# HELP a say \\\"hi\\\"\n# TYPE a gauge\n# EOF\n";
    assert_eq!(parse(text, Format::OpenMetrics).unwrap().families[0].help, "say \"hi\"");
    assert_eq!(
        faults("# HELP a say \\\"hi\\\"\n# TYPE a gauge\n", Format::Text).lines().next(),
        Some("line 1: `\\\"` is no escape")
    );
}

#[test]
fn special_values_are_numbers() {
    let text = format!(
        "{HEAD}a{{v=\"1\"}} NaN\na{{v=\"2\"}} +Inf\na{{v=\"3\"}} -Inf\na{{v=\"4\"}} 1.5e+06\na -2 1700000000000\n"
    );
    let values: Vec<f64> = samples(&text, Format::Text).iter().map(|sample| sample.value).collect();
    assert!(values[0].is_nan());
    assert_eq!(values[1..], [f64::INFINITY, f64::NEG_INFINITY, 1.5e6, -2.0]);
}

#[test]
fn words_that_are_no_numbers_are_refused() {
    for word in ["infinity", "nan", "0x1", "1_000", "", "1 2 3", "true"] {
        let message = faults(&format!("{HEAD}a {word}\n"), Format::Text);
        assert!(message.starts_with("line 3: `"), "{word}: {message}");
    }
}

#[test]
fn missing_headers_are_named() {
    assert_eq!(faults("a 1\n", Format::Text), "line 1: sample a without HELP and TYPE before it");
    assert_eq!(faults("# TYPE a gauge\na 1\n", Format::Text), "line 1: a has no HELP");
    assert_eq!(faults("# HELP a Help.\na 1\n", Format::Text), "line 1: a has no TYPE");
}

#[test]
fn headers_may_not_repeat() {
    assert_eq!(faults(&format!("{HEAD}# TYPE a gauge\n"), Format::Text), "line 3: second TYPE of a");
    assert_eq!(
        faults(&format!("{HEAD}a 1\n# HELP a Help.\n"), Format::Text),
        "line 4: HELP of a after its first sample"
    );
    let again = format!("{HEAD}a 1\n# HELP b Help.\n# TYPE b gauge\n{HEAD}a 2\n");
    assert_eq!(faults(&again, Format::Text), "line 6: second block of a, whose first opened on line 1");
}

#[test]
fn a_sample_outside_its_block_is_refused() {
    let text = format!("{HEAD}a 1\n# HELP b Help.\n# TYPE b gauge\nb 1\na{{x=\"2\"}} 1\n");
    assert_eq!(faults(&text, Format::Text), "line 7: sample of a outside the block of its family");
}

#[test]
fn families_without_samples_are_kept() {
    assert_eq!(parse(HEAD, Format::Text).unwrap().families.len(), 1);
    assert_eq!(parse("", Format::Text).unwrap(), Exposition::default());
}

#[test]
fn types_belong_to_their_format() {
    assert_eq!(
        faults("# HELP a Help.\n# TYPE a info\na 1\n", Format::Text).lines().next(),
        Some("line 2: `info` is no type of text 0.0.4")
    );
    assert_eq!(samples("# HELP a Help.\n# TYPE a info\na 1\n# EOF\n", Format::OpenMetrics).len(), 1);
}

#[test]
fn suffixes_belong_to_their_kind() {
    let text = "# HELP h Help.\n# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\nh_sum 2\nh_count 1\n";
    assert_eq!(samples(text, Format::Text).len(), 3);
    let counter = "# HELP c Help.\n# TYPE c counter\nc_total 1\nc_created 1.5\n# EOF\n";
    assert_eq!(samples(counter, Format::OpenMetrics).len(), 2);
    assert!(faults(&format!("{HEAD}a_total 1\n"), Format::Text).contains("a_total"));
}

#[test]
fn the_end_mark_is_needed_once_and_last() {
    assert_eq!(faults(HEAD, Format::OpenMetrics), "line 3: `# EOF` is missing");
    let more = format!("{HEAD}# EOF\na 1\n");
    assert_eq!(faults(&more, Format::OpenMetrics), "line 4: text after `# EOF` on line 3");
    assert!(faults(&format!("{HEAD}# EOF\n"), Format::Text).contains("neither HELP nor TYPE"));
}

#[test]
fn broken_lines_are_refused() {
    for (line, reason) in [
        ("a{x=\"1\",x=\"2\"} 1", "label x twice"),
        ("a{x=\"1\" 1", "want `,` or `}` after label x"),
        ("a{x=\"1} 1", "a label value has no closing quote"),
        ("a{x=\"\\t\"} 1", "`\\t` is no escape"),
        ("a{x=\"1\",} 1", "a label needs `=\"`"),
        ("a{1x=\"1\"} 1", "`1x` is no label name"),
        ("a{x=\"1\"}  1", "`` is no number"),
        ("a{x=\"1\"}1", "want one blank before the value"),
        ("1a 1", "`1a` is no metric name"),
        ("a", "a sample needs a value"),
        ("", "empty line"),
        ("#comment", "a comment that is neither HELP nor TYPE"),
        ("a 1 soon", "`soon` is no timestamp"),
    ] {
        assert_eq!(faults(&format!("{HEAD}{line}\n"), Format::Text), format!("line 3: {reason}"), "{line}");
    }
    assert_eq!(faults(&format!("{HEAD}a 1"), Format::Text), "line 3: the last line has no line break");
}

#[test]
fn a_flood_of_faults_is_cut() {
    assert_eq!(parse(&"?\n".repeat(100), Format::Text).unwrap_err().faults.len(), MAX_FAULTS);
}
