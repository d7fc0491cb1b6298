//! Both formats run the same cases.

use super::*;

fn header(format: Format, kind: Kind, help: &str) -> String {
    let mut out = Vec::new();
    write_header(&mut out, format, "demo", kind, help);
    String::from_utf8(out).unwrap()
}

fn number(value: f64) -> String {
    let mut out = Vec::new();
    write_number(&mut out, value);
    String::from_utf8(out).unwrap()
}

#[test]
fn info_and_stateset_are_gauges_in_text_only() {
    // R17, https://github.com/kubernetes/kube-state-metrics/issues/2248
    for (kind, text, open) in [
        (Kind::Gauge, "gauge", "gauge"),
        (Kind::Counter, "counter", "counter"),
        (Kind::Info, "gauge", "info"),
        (Kind::StateSet, "gauge", "stateset"),
    ] {
        assert_eq!(header(Format::Text, kind, "h"), format!("# HELP demo h\n# TYPE demo {text}\n"));
        assert_eq!(header(Format::OpenMetrics, kind, "h"), format!("# HELP demo h\n# TYPE demo {open}\n"));
    }
}

#[test]
fn help_escapes_backslash_and_newline_and_quotes_in_openmetrics_only() {
    // R16, https://github.com/kubernetes/kube-state-metrics/issues/3067
    assert_eq!(header(Format::Text, Kind::Gauge, "a\\d\n\"b\""), "# HELP demo a\\\\d\\n\"b\"\n# TYPE demo gauge\n");
    assert_eq!(
        header(Format::OpenMetrics, Kind::Gauge, "a\\d\n\"b\""),
        "# HELP demo a\\\\d\\n\\\"b\\\"\n# TYPE demo gauge\n"
    );
}

#[test]
fn label_values_escape_exactly_quote_backslash_and_newline() {
    // R16, https://github.com/kubernetes/kube-state-metrics/issues/3067
    let mut out = Vec::new();
    write_label(&mut out, "label_note", "\"\\\n\t🦀日本");
    assert_eq!(String::from_utf8(out).unwrap(), "label_note=\"\\\"\\\\\\n\t🦀日本\"");
}

#[test]
fn numbers_print_shortest_with_an_exponent_from_a_million_upward() {
    // R11, https://github.com/kubernetes/kube-state-metrics/issues/2541
    for (value, text) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (-17.0, "-17"),
        (999_999.0, "999999"),
        (1e6, "1e+06"),
        (1_234_567.0, "1.234567e+06"),
        (-1_234_567.0, "-1.234567e+06"),
        (1_773_604_800.0, "1.7736048e+09"),
        (128_974_848.0, "1.28974848e+08"),
        (1_152_921_504_606_846_976.0, "1.152921504606847e+18"),
        (1_125_899_906_842_624.0, "1.125899906842624e+15"),
        (9_007_199_254_740_991.0, "9.007199254740991e+15"),
        (0.1, "0.1"),
        (0.5, "0.5"),
        (1.5, "1.5"),
        (0.001, "0.001"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (0.000012345, "1.2345e-05"),
        (123_456.789, "123456.789"),
        (1_234_567.891, "1.234567891e+06"),
        (1e100, "1e+100"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "+Inf"),
        (f64::NEG_INFINITY, "-Inf"),
    ] {
        assert_eq!(number(value), text, "{value:?}");
    }
}

#[test]
fn numbers_read_back_as_themselves() {
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..100_000 {
        let value = match rng.u8(0..3) {
            0 => f64::from_bits(rng.u64(..)),
            1 => rng.i64(..) as f64,
            _ => rng.i32(..) as f64 / 1000.0,
        };
        if value.is_finite() {
            assert_eq!(number(value).parse::<f64>().unwrap().to_bits(), value.to_bits(), "{value:?}");
        }
    }
}
