//! Values of the API's special types, to the letter of their documentation.

use super::*;

fn quantity(text: &str) -> Quantity {
    Quantity::from(text)
}

#[test]
fn whole_units_are_rounded_up() {
    // R11, https://github.com/kubernetes/kube-state-metrics/issues/2541
    for (text, value) in [
        ("0", 0.0),
        ("100m", 1.0),
        ("129e6", 129_000_000.0),
        ("123Mi", 128_974_848.0),
        ("1Ei", 1_152_921_504_606_846_976.0),
        ("10Pi", 11_258_999_068_426_240.0),
        ("1k", 1000.0),
        ("1n", 1.0),
        ("1.5Gi", 1_610_612_736.0),
        ("0.1Ki", 103.0),
        (".5", 1.0),
        ("5.", 5.0),
        ("+3", 3.0),
        ("1E3", 1000.0),
        ("1E", 1e18),
        ("12345678901234567890", 12_345_678_901_234_567_890.0),
        ("1e19", 1e19),
        ("-9e18", -9e18),
        ("9223372036854775", 9_223_372_036_854_775.0),
        ("1e400", f64::INFINITY),
        ("1e-400", 1.0),
    ] {
        assert_eq!(quantity(text).whole(), Some(value), "{text}");
    }
}

#[test]
fn cores_are_rounded_up_to_a_thousandth() {
    // R11, https://github.com/kubernetes/kube-state-metrics/issues/2541
    for (text, value) in [
        ("1e3", 1000.0),
        ("100m", 0.1),
        ("0.5", 0.5),
        ("100u", 0.001),
        ("1n", 0.001),
        ("-100m", -0.1),
        ("-1e-400", -0.001),
        ("9223372036854775", 9_223_372_036_854_775.0),
        ("12345678901234567890", 12_345_678_901_234_567_890.0),
        ("1e40", 1e40),
        ("1e307", 1e307),
    ] {
        assert_eq!(quantity(text).thousandths(), Some(value), "{text}");
    }
}

#[test]
fn the_quick_conversion_is_off_where_that_of_the_api_library_is() {
    for (text, value) in [
        ("0", 0.0),
        ("-0", 0.0),
        ("0e400", 0.0),
        ("50m", 0.05),
        ("9m", 0.009_000_000_000_000_001),
        ("0.009", 0.009_000_000_000_000_001),
        ("0.011", 0.011),
        ("0.0110", 0.011_000_000_000_000_001),
        ("-9m", -0.009_000_000_000_000_001),
        ("1500u", 0.0015),
        ("1.5", 1.5),
        ("123Mi", 128_974_848.0),
        ("1.5Gi", 1_610_612_736.0),
        ("1Ei", 1_152_921_504_606_847_000.0),
        ("1e40", 1e40),
        ("1e400", f64::INFINITY),
        ("1e-12", 1e-9),
        ("1234567890123456789", 1_234_567_890_123_457_000.0),
    ] {
        assert_eq!(quantity(text).approximate().map(f64::to_bits), Some(f64::to_bits(value)), "{text}");
    }
}

#[test]
fn text_that_is_no_quantity_has_no_value() {
    for text in ["", ".", "m", "1mi", "1 Gi", "1e", "1e+", "abc", "1ee3", "--1", "0x10"] {
        assert_eq!(quantity(text).whole(), None, "{text}");
    }
}

#[test]
fn percentages_round_the_way_asked() {
    // R06, https://github.com/kubernetes/kube-state-metrics/issues/3083
    let percent: IntOrString = serde_json::from_str("\"25%\"").unwrap();
    assert_eq!(percent.scaled(10, Rounding::Down), Some(2));
    assert_eq!(percent.scaled(10, Rounding::Up), Some(3));
    let count: IntOrString = serde_json::from_str("4").unwrap();
    assert_eq!(count.scaled(10, Rounding::Up), Some(4));
    let huge: IntOrString = serde_json::from_str("\"3000000000%\"").unwrap();
    assert_eq!(huge.scaled(3, Rounding::Up), Some(90_000_000));
    let absurd: IntOrString = serde_json::from_str("\"9999999999%\"").unwrap();
    assert_eq!(absurd.scaled(i32::MAX, Rounding::Up), Some(214_748_364_678_525_184));
    let negative: IntOrString = serde_json::from_str("\"-10%\"").unwrap();
    assert_eq!([Rounding::Down, Rounding::Up].map(|rounding| negative.scaled(33, rounding)), [Some(-4), Some(-3)]);
    for text in ["\"abc%\"", "\"4\"", "\"\""] {
        let other: IntOrString = serde_json::from_str(text).unwrap();
        assert_eq!(other.scaled(10, Rounding::Up), None, "{text}");
    }
}

#[test]
fn zero_time_is_unset_and_unix_zero_is_a_time() {
    use prost::Message;
    assert_eq!(Time::decode(&b""[..]).unwrap().unix_seconds(), None);
    assert_eq!(Time::decode(&b"\x08\x00\x10\x00"[..]).unwrap().unix_seconds(), Some(0));
    let json = |text: &str| serde_json::from_str::<Time>(text).unwrap();
    assert_eq!(json("\"0001-01-01T00:00:00Z\"").unix_seconds(), None);
    assert_eq!(json("\"1970-01-01T00:00:00Z\"").unix_seconds(), Some(0));
    assert_eq!(json("\"2026-03-12T20:00:00.5+08:00\"").unix_seconds(), Some(1_773_316_800));
    assert_eq!(json("\"1969-12-31T23:59:59.5Z\"").unix_seconds(), Some(-1));
}

#[test]
fn nulls_are_read_as_not_given() {
    let meta: Meta = decode(
        Encoding::Json,
        br#"{"metadata":{"name":"a","labels":null,"creationTimestamp":null,"annotations":{"k":null}}}"#,
    )
    .unwrap();
    assert_eq!(meta.metadata.name, "a");
    assert!(meta.metadata.labels.is_empty() && meta.metadata.creation_timestamp.is_none());
}

#[test]
fn decode_errors_never_quote_the_object() {
    let error = decode::<Meta>(Encoding::Json, br#"{"metadata":{"name":{"hunter2":1}}}"#).unwrap_err();
    assert_eq!(error.to_string(), "a JSON value of the wrong type");
    assert!(decode::<Meta>(Encoding::Json, b"{\"metadata\":").unwrap_err().to_string().starts_with("JSON that ends"));
    assert!(decode::<Meta>(Encoding::Protobuf, b"\x0a\xff").is_err());
}
