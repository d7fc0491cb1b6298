//! Sorts differences into those on purpose and those that nothing explains.
//!
//! Invariant: a difference has one reason, the first that applies, or it is unexplained and shown with its object.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::objects::Objects;
use super::reasons::{REASONS, Reason};
use crate::compare::{Difference, Kind};

/// Series shown of each family and kind of difference.
const EXAMPLES: usize = 4;

/// Objects shown in full.
const SHOWN_OBJECTS: usize = 6;

/// The judgement so far.
pub struct Judge {
    /// How often each reason applied.
    uses: Vec<usize>,
    /// By kind and family.
    unexplained: BTreeMap<(Kind, String), Group>,
}

#[derive(Default)]
struct Group {
    /// Each difference once, with the comparisons it came up in; formats and flags mostly agree.
    seen: BTreeMap<String, BTreeSet<String>>,
    examples: Vec<(String, Option<Value>)>,
}

impl Default for Judge {
    fn default() -> Self {
        Self { uses: vec![0; REASONS.len()], unexplained: BTreeMap::new() }
    }
}

impl Judge {
    /// Takes in one difference; `place` says in which comparison it came up.
    pub fn judge(&mut self, place: &str, difference: Difference, objects: &Objects) {
        let object = objects.about(&difference.labels);
        let applies = |reason: &Reason| object.is_some_and(|object| (reason.applies)(&difference, object));
        if let Some(index) = REASONS.iter().position(applies) {
            self.uses[index] += 1;
            return;
        }
        let group = self.unexplained.entry((difference.kind, difference.name.clone())).or_default();
        let text = difference.to_string();
        let places = group.seen.entry(text.clone()).or_default();
        if places.is_empty() && group.examples.len() < EXAMPLES {
            group.examples.push((text, object.cloned()));
        }
        places.insert(place.to_owned());
    }

    /// Each reason, with how often it applied.
    pub fn uses(&self) -> impl Iterator<Item = (&'static Reason, usize)> {
        REASONS.iter().zip(self.uses.iter().copied())
    }

    /// How many differences nothing explains, each counted once.
    pub fn unexplained(&self) -> usize {
        self.unexplained.values().map(|group| group.seen.len()).sum()
    }
}

impl fmt::Display for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut objects: Vec<&Value> = Vec::new();
        for ((kind, family), group) in &self.unexplained {
            let places: BTreeSet<&str> = group.seen.values().flatten().map(String::as_str).collect();
            let places: Vec<&str> = places.into_iter().collect();
            writeln!(f, "{family}: {} ({}; {})", kind.title(), group.seen.len(), places.join("; "))?;
            for (text, object) in &group.examples {
                writeln!(f, "    {text}")?;
                // One object a group: more of them seldom say more.
                if let Some(object) = object.as_ref().filter(|object| !objects.contains(object)) {
                    writeln!(f, "        from {} {}", object["kind"].as_str().unwrap_or_default(), name(object))?;
                }
            }
            let first = group.examples.iter().find_map(|(_, object)| object.as_ref());
            objects.extend(first.filter(|first| !objects.contains(first)));
        }
        for object in objects.into_iter().take(SHOWN_OBJECTS) {
            writeln!(f, "---\n{}", serde_norway::to_string(object).map_err(|_| fmt::Error)?.trim_end())?;
        }
        Ok(())
    }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::compare::{View, compare};
    use crate::exposition::{Format, parse};

    fn judge(theirs: &str, ours: &str, object: Value) -> Judge {
        let head = "# HELP kube_pod_info x\n# TYPE kube_pod_info gauge\n";
        let view = |samples: &str| View::of([&parse(&format!("{head}{samples}"), Format::Text).unwrap()]);
        let mut judge = Judge::default();
        for difference in compare(&view(theirs), &view(ours)).into_differences() {
            judge.judge("text", difference, &Objects::of(vec![object.clone()]));
        }
        judge
    }

    #[test]
    fn what_nothing_explains_is_shown_with_its_object() {
        let pod = json!({"kind": "Pod", "metadata": {"name": "pods-s1-0"}, "spec": {"nodeName": "n"}});
        let judge = judge("kube_pod_info{pod=\"pods-s1-0\"} 1\n", "kube_pod_info{pod=\"pods-s1-0\"} 2\n", pod);
        assert_eq!(judge.unexplained(), 1);
        let shown = judge.to_string();
        assert!(shown.starts_with("kube_pod_info: values differ (1; text)\n"), "{shown}");
        assert!(shown.contains("kube_pod_info{pod=\"pods-s1-0\"}: 2, want 1\n        from Pod pods-s1-0\n"), "{shown}");
        assert!(shown.ends_with("spec:\n  nodeName: n\n"), "{shown}");
    }
}
