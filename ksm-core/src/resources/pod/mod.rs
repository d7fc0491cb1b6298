//! Pods (`v1`): families `kube_pod_*`, one file a topic, each with its table and the code behind it.
//!
//! The topic tables in a row are the order of the exposition, which is the order users know.

mod container;
mod identity;
mod init_container;
mod placement;
mod spec;
mod status;
mod view;

use self::view::Pod;
use super::common;
use crate::family::Family;
use crate::resource::{Descriptor, Fetch, Resource, Scope};

pub(crate) static RESOURCE: Resource<Pod> = Resource {
    descriptor: Descriptor {
        plural: "pods",
        group: "",
        version: "v1",
        kind: "Pod",
        scope: Scope::Namespaced,
        fetch: Fetch::Whole,
        enabled_by_default: true,
    },
    base_labels: &[common::namespace(), common::name("pod"), common::uid()],
    families: &FAMILIES,
};

const TABLES: &[&[Family<Pod>]] = &[
    status::COMPLETION,
    container::FAMILIES,
    identity::FAMILIES,
    init_container::FAMILIES,
    spec::FAMILIES,
    status::FAMILIES,
    placement::FAMILIES,
];

static FAMILIES: [Family<Pod>; total(TABLES)] = join(TABLES);

const fn total(tables: &[&[Family<Pod>]]) -> usize {
    let (mut total, mut table) = (0, 0);
    while table < tables.len() {
        total += tables[table].len();
        table += 1;
    }
    total
}

const fn join<const N: usize>(tables: &[&[Family<Pod>]]) -> [Family<Pod>; N] {
    let mut joined = [tables[0][0]; N];
    let (mut end, mut table) = (0, 0);
    while table < tables.len() {
        let mut row = 0;
        while row < tables[table].len() {
            joined[end] = tables[table][row];
            end += 1;
            row += 1;
        }
        table += 1;
    }
    joined
}

#[cfg(test)]
mod tests;
