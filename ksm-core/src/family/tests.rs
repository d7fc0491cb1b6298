//! Writing samples and copying keys.

use std::collections::BTreeMap;

use super::*;

fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn names(entries: &[(&str, &str)]) -> Vec<String> {
    copied_labels("label", &map(entries), &KeyFilter::All)
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

fn write(labels: &[&str], base: &str, write: impl FnOnce(&mut Samples<'_>)) -> String {
    let family =
        FamilyInfo { name: "demo", kind: Kind::Gauge, stability: Stability::Stable, opt_in: false, labels, help: "h" };
    let plan = Plan::new(&[], |_| true, KeyFilter::All, KeyFilter::None);
    let mut out = Vec::new();
    write(&mut Samples::new(&mut out, family, base.as_bytes(), &plan, &mut Written::default()));
    String::from_utf8(out).unwrap()
}

#[test]
fn keys_become_snake_case_label_names() {
    assert_eq!(
        names(&[
            ("camelCase", "1"),
            ("app.kubernetes.io/name", "2"),
            ("HTTPServer", "3"),
            ("x1Y", "4"),
            ("ümlaut", "5")
        ]),
        [
            "label_httpserver=3",
            "label_app_kubernetes_io_name=2",
            "label_camel_case=1",
            "label_x1_y=4",
            "label__mlaut=5"
        ]
    );
}

#[test]
fn conflicting_keys_are_numbered_past_every_name_in_use() {
    // R14, https://github.com/kubernetes/kube-state-metrics/issues/3064
    assert_eq!(
        names(&[("Team.id.conflict1", "v0"), ("team-id", "v1"), ("team.id", "v2")]),
        ["label_team_id_conflict1=v0", "label_team_id_conflict2=v1", "label_team_id_conflict3=v2"]
    );
    assert_eq!(names(&[("a-b", "1"), ("a.b", "2")]), ["label_a_b_conflict1=1", "label_a_b_conflict2=2"]);
    assert_eq!(
        names(&[("a-b", "1"), ("a.b", "2"), ("a.b.conflict1", "3"), ("a_b", "4")]),
        [
            "label_a_b_conflict1_conflict1=1",
            "label_a_b_conflict2=2",
            "label_a_b_conflict1_conflict2=3",
            "label_a_b_conflict3=4"
        ]
    );
}

#[test]
fn a_name_that_collided_before_takes_the_next_number_and_renames_nobody() {
    assert_eq!(
        names(&[("X-y-conflict1", "1"), ("X.y.conflict1", "2"), ("x-y", "3"), ("x.y", "4"), ("x_y_conflict1", "5"),]),
        [
            "label_x_y_conflict1_conflict1=1",
            "label_x_y_conflict1_conflict2=2",
            "label_x_y_conflict1=3",
            "label_x_y_conflict2=4",
            "label_x_y_conflict1_conflict3=5"
        ]
    );
}

/// Work that grows with the square of this many would take minutes.
const VERY_MANY: usize = 200_000;

#[test]
fn very_many_keys_cost_no_more_each_than_a_few() {
    // Every third collides with its neighbour.
    let map = (0..VERY_MANY).map(|i| (format!("k{}{}", i / 3 * 3, if i % 3 == 1 { "." } else { "-" }), "v".to_owned()));
    let map: BTreeMap<String, String> =
        map.enumerate().map(|(i, (key, value))| (format!("{key}{}", i % 3 / 2), value)).collect();
    let labels = copied_labels("label", &map, &KeyFilter::All);
    assert_eq!(labels.len(), map.len());
    let unique: std::collections::HashSet<&str> = labels.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(unique.len(), labels.len());
    assert!(labels.iter().any(|(name, _)| name.ends_with("_conflict2")));
}

#[test]
fn very_many_samples_cost_no_more_each_than_a_few() {
    let text = write(&["k"], "", |out| {
        for round in 0..2 {
            // The second time from the end, so that a search from either end finds the repeated series last.
            for i in 0..VERY_MANY {
                out.sample(&[&if round == 0 { i } else { VERY_MANY - 1 - i }.to_string()], round);
            }
        }
    });
    assert_eq!(text.lines().count(), VERY_MANY);
    assert!(text.lines().all(|line| line.ends_with(" 0")));
}

#[test]
fn samples_end_where_one_object_would_take_all_memory() {
    let long = "v".repeat(1 << 20);
    let text = write(&["k", "n"], "", |out| {
        for i in 0..1000 {
            out.sample(&[&long, &i.to_string()], 1);
        }
    });
    assert!((MAX_TEXT..MAX_TEXT + 2 * long.len()).contains(&text.len()), "{}", text.len());
}

#[test]
fn one_wildcard_in_a_key_stands_for_any_text() {
    let filter = KeyFilter::Keys(["app*", "*.example.com/x", "lit", "*two*"].map(str::to_owned).into());
    for (key, admitted) in [
        ("app", true),
        ("app.kubernetes.io/name", true),
        ("my.example.com/x", true),
        ("lit", true),
        ("literal", false),
        ("xtwox", false),
        ("ap", false),
    ] {
        assert_eq!(filter.admits(key), admitted, "{key}");
    }
}

#[test]
fn a_repeated_series_is_written_once_and_the_first_value_wins() {
    for n in [2, 31, 32, 33, 200] {
        let text = write(&["k"], "", |out| {
            for round in 0..2 {
                for i in 0..n {
                    out.sample(&[&i.to_string()], round);
                }
            }
        });
        assert_eq!(text.lines().count(), n);
        assert!(text.lines().all(|line| line.ends_with(" 0")));
    }
}

#[test]
fn samples_without_any_label_have_no_braces() {
    assert_eq!(write(&[], "", |out| out.value(1)), "demo 1\n");
    assert_eq!(write(&["k"], "", |out| out.sample(&["v"], true)), "demo{k=\"v\"} 1\n");
    assert_eq!(write(&[], "a=\"b\"", |out| out.value(0.5)), "demo{a=\"b\"} 0.5\n");
    assert_eq!(write(&["k"], "a=\"b\"", |out| out.sample(&[""], 2)), "demo{a=\"b\",k=\"\"} 2\n");
}

#[test]
fn copied_labels_need_a_filter_but_no_match() {
    assert_eq!(write(&[], "a=\"b\"", |out| out.copied_annotations(&map(&[("k", "v")]))), "");
    assert_eq!(write(&[], "a=\"b\"", |out| out.copied_object_labels(&map(&[]))), "demo{a=\"b\"} 1\n");
    assert_eq!(
        write(&[], "a=\"b\"", |out| out.copied_object_labels(&map(&[("k", "v\"")]))),
        "demo{a=\"b\",label_k=\"v\\\"\"} 1\n"
    );
}
