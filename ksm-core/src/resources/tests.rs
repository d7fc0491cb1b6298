//! What holds for every resource: its table, and that no object, however broken, does harm.

mod broken;
mod fixture;
mod parse;
mod size;

use std::collections::HashSet;

use super::*;

#[test]
fn resources_are_ordered_by_plural_name() {
    let names: Vec<_> = all().iter().map(|resource| resource.descriptor().plural).collect();
    assert!(names.is_sorted() && !names.is_empty(), "{names:?}");
    assert_eq!(names, PLURALS);
}

#[test]
fn every_family_is_named_once_and_described() {
    let mut names = HashSet::new();
    for resource in all() {
        for family in resource.families() {
            assert!(names.insert(family.name.to_owned()), "{} stands twice", family.name);
            assert!(family.name.starts_with("kube_"), "{}", family.name);
            assert!(family.help.len() > 15 && family.help.ends_with('.'), "{} needs a sentence of help", family.name);
        }
    }
}
