//! Which resource names are exported, and under which unit.

use super::*;

fn words(resource: &str) -> Vec<&'static str> {
    units(resource).map(Unit::word).collect()
}

#[test]
fn native_resources_have_their_unit() {
    assert_eq!(words("cpu"), ["core"]);
    for resource in ["memory", "storage", "ephemeral-storage", "hugepages-2Mi", "attachable-volumes-csi-x"] {
        assert_eq!(words(resource), ["byte"], "{resource}");
    }
}

#[test]
fn extended_resources_are_integers() {
    for resource in ["example.com/dongle", "x.y/z", "a/b", "nvidia.com/mig-1g.5gb", "example.com/Foo_Bar.baz", "1.2/3"]
    {
        assert_eq!(words(resource), ["integer"], "{resource}");
    }
}

#[test]
fn names_that_are_neither_are_not_exported() {
    let long_domain = format!("{}/b", "a".repeat(245));
    let long_name = format!("a/{}", "b".repeat(64));
    for resource in [
        "",
        "pods",
        "dongle",
        "kubernetes.io/dongle",
        "sub.kubernetes.io/dongle",
        "requests.example.com/dongle",
        "/dongle",
        "example.com/",
        "example.com/a/b",
        "Example.com/dongle",
        "example..com/dongle",
        "-example.com/dongle",
        "example.com-/dongle",
        "ex_ample.com/dongle",
        "example.com/-dongle",
        "example.com/dongle.",
        "example.com/don gle",
        "example.com/dönglé",
        &long_domain,
        &long_name,
    ] {
        assert_eq!(words(resource), [""; 0], "{resource}");
    }
}

#[test]
fn the_longest_names_are_exported() {
    assert_eq!(words(&format!("{}/{}", "a".repeat(244), "b".repeat(63))), ["integer"]);
}

#[test]
fn a_name_of_two_kinds_has_both_units() {
    assert_eq!(words("hugepages-x.example.com/page"), ["byte", "integer"]);
}
