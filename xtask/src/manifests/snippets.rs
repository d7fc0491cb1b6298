//! Commands and kustomizations that the documentation shows: they are what somebody copies.
//!
//! Invariant: every folder, file and overlay that is named is there, every kustomization renders, and the patch for
//! shards of kube-state-metrics gives them what ours have.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::render::Kustomize;
use crate::cargo;

/// Pages that show them.
const PAGES: [&str; 3] = ["README.md", "deploy/README.md", "docs/migrating.md"];

/// Pages whose running text names overlays, components and bases as well.
#[cfg(test)]
const OTHER_PAGES: [&str; 4] = ["docs/endpoints.md", "docs/sharding.md", "docs/troubleshooting.md", "docs/tuning.md"];

/// Where a kustomization says that this repository is: beside the folder that has those of all clusters.
const BESIDE: &str = "../../kube-state-metrics-sharded/";

/// A fenced block.
struct Block {
    page: &'static str,
    language: String,
    text: String,
}

/// The fenced blocks of all pages.
fn blocks() -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for page in PAGES {
        let path = cargo::workspace_root().join(page);
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        blocks.extend(fenced(&text).into_iter().map(|(language, text)| Block { page, language, text }));
    }
    Ok(blocks)
}

/// Languages and texts of fenced blocks, without the indentation that they share.
fn fenced(page: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut open: Option<usize> = None;
    for line in page.lines() {
        let bare = line.trim_start();
        match (open, bare.strip_prefix("```")) {
            (None, Some(language)) => {
                open = Some(line.len() - bare.len());
                found.push((language.to_owned(), String::new()));
            }
            (Some(_), Some(_)) => open = None,
            (Some(indent), None) => {
                let text = line.get(indent..).unwrap_or_default();
                found.last_mut().expect("a block is open").1.extend([text, "\n"]);
            }
            (None, None) => {}
        }
    }
    found
}

/// The folder that a kustomization is shown for, in the comment that it begins with.
fn shown_for(text: &str) -> Option<&str> {
    text.lines().next()?.strip_prefix("# ")?.strip_suffix("/kustomization.yaml")
}

/// Renders every kustomization that is shown, in folders of `scratch`; each by page and folder.
pub fn render(kustomize: &Kustomize, scratch: &Path) -> Result<Vec<(String, Vec<Value>)>> {
    let mut rendered = Vec::new();
    for block in blocks()?.iter().filter(|block| block.language == "yaml") {
        let Some(folder) = shown_for(&block.text) else { continue };
        let what = format!("{}: {folder}", block.page);
        let text = block.text.replace(BESIDE, "{root}/");
        let place = scratch.join(format!("snippet-{}", rendered.len()));
        rendered.push((what.clone(), kustomize.render_text(&place, &text).context(what)?));
    }
    ensure!(!rendered.is_empty(), "no page shows a kustomization");
    Ok(rendered)
}

/// The queries of the page about coming from kube-state-metrics, in order, each with the comment that says what it is for.
pub fn queries() -> Result<Vec<(String, String)>> {
    let blocks = blocks()?;
    let shown = blocks.iter().filter(|block| block.page == "docs/migrating.md" && block.language == "promql");
    let mut queries = Vec::new();
    let mut comment = "";
    for line in shown.flat_map(|block| block.text.lines()) {
        match line.strip_prefix("# ") {
            Some(text) => comment = text,
            None => queries.push((comment.to_owned(), line.to_owned())),
        }
    }
    ensure!(!queries.is_empty(), "docs/migrating.md shows no queries");
    Ok(queries)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words behind each `flag` in shell commands, comments left out.
    fn given(text: &str, flag: &str) -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.split(" #").next()).filter(|line| !line.starts_with('#'));
        lines
            .flat_map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let pairs = words.windows(2).filter(|pair| pair[0] == flag).map(|pair| pair[1].to_owned());
                pairs.collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn folders_and_overlays_in_commands_are_there() {
        let blocks = blocks().unwrap();
        let shown: Vec<&str> = blocks.iter().filter_map(|block| shown_for(&block.text)).collect();
        let root = cargo::workspace_root();
        let (mut folders, mut overlays) = (0, 0);
        for block in blocks.iter().filter(|block| block.language == "sh") {
            let renders = |folder: &str| root.join(folder).join("kustomization.yaml").is_file();
            // Commands run in the clone, and kustomizations are shown beside it.
            let is_shown = |folder: &str| folder.strip_prefix("../").is_some_and(|folder| shown.contains(&folder));
            for folder in given(&block.text, "-k").into_iter().chain(given(&block.text, "kustomize")) {
                let there = renders(&folder) || is_shown(&folder);
                assert!(there, "{}: `{folder}` is no folder to apply", block.page);
                folders += 1;
            }
            for overlay in given(&block.text, "--overlay") {
                let there = renders(&format!("deploy/overlays/{overlay}")) || is_shown(&overlay);
                assert!(there, "{}: there is no overlay `{overlay}`", block.page);
                overlays += 1;
            }
            for word in block.text.split_whitespace().filter(|word| word.starts_with("deploy/")) {
                assert!(root.join(word).exists(), "{}: there is no {word}", block.page);
            }
        }
        assert!(folders > 3 && overlays > 0, "{folders} folders, {overlays} overlays");
    }

    /// Names in running text go stale as well.
    #[test]
    fn overlays_and_components_in_text_are_there() {
        let mut named = 0;
        for page in PAGES.into_iter().chain(OTHER_PAGES) {
            let text = std::fs::read_to_string(cargo::workspace_root().join(page)).unwrap();
            for kind in ["overlays/", "components/", "base/"] {
                for (at, _) in text.match_indices(kind) {
                    let rest = &text[at + kind.len()..];
                    let end =
                        rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-/_.".contains(c)).unwrap_or(rest.len());
                    let name = rest[..end].trim_end_matches(['.', '/']);
                    // `*` and `…` stand for any.
                    if name.is_empty() {
                        continue;
                    }
                    let path = cargo::workspace_root().join("deploy").join(kind).join(name);
                    assert!(path.exists(), "{page}: there is no deploy/{kind}{name}");
                    named += 1;
                }
            }
        }
        assert!(named > 10, "{named}");
    }

    /// Whether every field of `part` is in `whole` with the same value; items of lists by their place.
    fn is_part(part: &Value, whole: &Value) -> bool {
        match (part, whole) {
            (Value::Object(part), whole) => part.iter().all(|(key, value)| is_part(value, &whole[key])),
            (Value::Array(part), whole) => part.iter().enumerate().all(|(at, value)| is_part(value, &whole[at])),
            _ => part == whole,
        }
    }

    /// A StatefulSet of kube-state-metrics with our image is handed over like our own.
    #[test]
    fn the_patch_for_swapped_shards_says_what_our_set_says() {
        let blocks = blocks().unwrap();
        let text = blocks.iter().find_map(|block| block.text.strip_prefix("# shards.yaml\n")).unwrap();
        let mut patch: Value = serde_norway::from_str(text).unwrap();
        let path = cargo::workspace_root().join("deploy/base/ksm-shard-auto/workload.yaml");
        let mut ours: Value = serde_norway::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        // The image is another registry's, its name is theirs, and its port has another name there.
        for document in [&mut patch, &mut ours] {
            let container = &mut document["spec"]["template"]["spec"]["containers"][0];
            for field in ["image", "name"] {
                container.as_object_mut().unwrap().remove(field).unwrap();
            }
            container["readinessProbe"]["httpGet"].as_object_mut().unwrap().remove("port").unwrap();
        }
        assert!(is_part(&patch, &ours), "{patch:#} is not in {ours:#}");
        for field in ["terminationGracePeriodSeconds: 300", "path: /readyz", "failureThreshold: 1"] {
            assert!(text.contains(field), "no {field} in {text}");
        }
    }

    #[test]
    fn blocks_are_found_with_their_language() {
        let page = "a\n```sh\nkubectl apply -k x # -k y\n```\n- b\n\n  ```yaml\n  # c/kustomization.yaml\n  d:\n    e\n  ```\n";
        let blocks = fenced(page);
        assert_eq!(blocks[0], ("sh".to_owned(), "kubectl apply -k x # -k y\n".to_owned()));
        assert_eq!(blocks[1], ("yaml".to_owned(), "# c/kustomization.yaml\nd:\n  e\n".to_owned()));
        assert_eq!(shown_for(&blocks[1].1), Some("c"));
        assert_eq!(given(&blocks[0].1, "-k"), ["x"]);
    }
}
