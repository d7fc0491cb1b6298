//! What was pushed where, for `cargo xtask deploy`: the last tag and digest of each image.
//!
//! Invariant: what it says of other repositories stays.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::layout::Layout;

/// The file, beside the images.
const FILE: &str = "pushed.json";

/// Notes in the folder `out` that the images of `layouts` are in `to` (`REGISTRY/REPO`) now.
pub fn note(out: &Path, to: &str, layouts: &[Layout]) -> Result<()> {
    let images = layouts.iter().map(|layout| (layout.name, layout.tag.as_str(), layout.root().digest()));
    let path = out.join(FILE);
    // A file that cannot be read any more is one that nobody misses.
    let present = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let text = serde_json::to_vec_pretty(&noted(present, to, images))?;
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Tag and digest by the name of an image: what was known, and `images` by name, tag and digest.
fn noted<'a>(
    mut known: BTreeMap<String, String>,
    to: &str,
    images: impl Iterator<Item = (&'a str, &'a str, &'a str)>,
) -> BTreeMap<String, String> {
    let to = to.trim_end_matches('/');
    known.extend(images.map(|(name, tag, digest)| (format!("{to}/{name}"), format!("{tag}@{digest}"))));
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_push_to_each_repository_is_known() {
        let first = noted(BTreeMap::new(), "a.example.com/x", [("ksm-node", "v1", "sha256:1")].into_iter());
        let second = noted(first, "b.example.com/", [("ksm-node", "v1", "sha256:1")].into_iter());
        let third = noted(second, "a.example.com/x", [("ksm-node", "v1", "sha256:2")].into_iter());
        let expected = [("a.example.com/x/ksm-node", "v1@sha256:2"), ("b.example.com/ksm-node", "v1@sha256:1")];
        assert_eq!(third, expected.map(|(name, what)| (name.to_owned(), what.to_owned())).into());
    }
}
