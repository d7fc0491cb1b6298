//! Injected faults: what goes wrong, for which requests, and how often.
//!
//! A rule fires for requests that it matches and to which its fault can happen, and is used up after `times` of them.

use std::sync::{Arc, Mutex, MutexGuard};

use serde::{Deserialize, Serialize};

use crate::request::{Target, Verb};

/// One rule. In JSON: `{"resource": "pods", "verb": "list", "times": 2, "fault": "status", "code": 429}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Plural of the resource; any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Verb of the request; any when absent. `watch` does not cover `streamed-list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verb: Option<Verb>,
    /// How many requests it happens to; all until cleared when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// What happens.
    #[serde(flatten)]
    pub fault: Fault,
}

/// What goes wrong. Counts of events are those sent on the one watch, the initial ones of a streamed list included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Fault {
    /// The request is answered with this HTTP status and a matching `Status` object.
    Status {
        /// HTTP status.
        code: u16,
        /// Seconds for the `Retry-After` header.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<u32>,
    },
    /// The connection breaks after this many bytes of the body, wherever that is.
    CutAfterBytes {
        /// Bytes of the body that still go out.
        bytes: u64,
    },
    /// Nothing more comes after this many bytes of the body, but the connection stays.
    StallAfterBytes {
        /// Bytes of the body that still go out.
        bytes: u64,
    },
    /// A list has one item more that cannot be decoded, at this index.
    BadItem {
        /// Index of the additional item, from 0.
        index: usize,
    },
    /// Something happens on a watch after a number of events.
    Watch {
        /// Events sent before, bookmarks included.
        after: u64,
        /// What happens then.
        event: WatchFault,
    },
    /// A streamed list never says that its initial events have ended.
    NoInitialEventsEnd,
    /// The continue token for this page (the first that needs one is 2) and all later ones is expired.
    ExpiredContinue {
        /// Page asked for.
        page: u32,
    },
    /// The shard selector is ignored and not echoed.
    IgnoreShardSelector,
    /// The shard selector is refused, in the words that API servers have for one that they cannot parse.
    RefuseShardSelector {
        /// HTTP status.
        code: u16,
    },
    /// Only the first half of the first range of the shard selector is taken; that is what is echoed.
    HalveShardSelector,
}

/// What happens on a watch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WatchFault {
    /// An ERROR event with a status of this code; the watch ends.
    Error {
        /// Code in the status.
        code: u16,
    },
    /// The watch ends as if its time was up.
    End,
    /// The connection breaks between two frames.
    Cut,
    /// The connection breaks in the middle of a frame.
    CutFrame,
    /// Nothing comes any more, but the connection stays.
    Stall,
    /// A frame of random bytes; the watch goes on.
    Garbage,
    /// The beginning of a frame of almost 4 GiB (in JSON, of a line without end); nothing comes any more.
    HugeFrame,
    /// An ADDED event whose object cannot be decoded; the watch goes on.
    BadObject,
    /// An event of a type nobody knows; the watch goes on.
    UnknownType,
    /// A MODIFIED event whose object has no metadata; the watch goes on.
    NoMetadata,
    /// The same as a DELETED event.
    DeletedNoMetadata,
}

impl Fault {
    /// A rule that applies this fault to a resource's requests with a verb, a number of times.
    pub fn on(self, resource: &str, verb: Verb, times: u32) -> Rule {
        Rule { resource: Some(resource.to_owned()), verb: Some(verb), times: Some(times), fault: self }
    }

    /// A rule that applies this fault to a resource's requests with a verb until cleared.
    pub fn always_on(self, resource: &str, verb: Verb) -> Rule {
        Rule { resource: Some(resource.to_owned()), verb: Some(verb), times: None, fault: self }
    }

    fn can_happen(&self, verb: Verb, page: u32, sharded: bool) -> bool {
        match self {
            Self::Status { .. } | Self::CutAfterBytes { .. } | Self::StallAfterBytes { .. } => true,
            Self::BadItem { .. } => verb == Verb::List,
            Self::Watch { .. } => matches!(verb, Verb::Watch | Verb::StreamedList),
            Self::NoInitialEventsEnd => verb == Verb::StreamedList,
            Self::ExpiredContinue { page: from } => verb == Verb::List && page >= (*from).max(2),
            Self::IgnoreShardSelector | Self::RefuseShardSelector { .. } | Self::HalveShardSelector => sharded,
        }
    }

    /// Whether the fault leaves room for another one in the same answer.
    fn is_modifier(&self) -> bool {
        matches!(self, Self::NoInitialEventsEnd | Self::IgnoreShardSelector | Self::HalveShardSelector)
    }
}

/// The faults that happen to one request.
#[derive(Debug, Default, Clone)]
pub(crate) struct Hit {
    main: Option<Fault>,
    pub(crate) no_initial_events_end: bool,
    pub(crate) ignore_shard_selector: bool,
    pub(crate) halve_shard_selector: bool,
}

impl Hit {
    pub(crate) fn status(&self) -> Option<(u16, Option<u32>)> {
        match self.main {
            Some(Fault::Status { code, retry_after }) => Some((code, retry_after)),
            _ => None,
        }
    }

    /// The status with which a shard selector is refused.
    pub(crate) fn refused_shard_selector(&self) -> Option<u16> {
        match self.main {
            Some(Fault::RefuseShardSelector { code }) => Some(code),
            _ => None,
        }
    }

    pub(crate) fn expired_continue(&self) -> bool {
        matches!(self.main, Some(Fault::ExpiredContinue { .. }))
    }

    pub(crate) fn bad_item(&self) -> Option<usize> {
        match self.main {
            Some(Fault::BadItem { index }) => Some(index),
            _ => None,
        }
    }

    pub(crate) fn watch(&self) -> Option<(u64, WatchFault)> {
        match &self.main {
            Some(Fault::Watch { after, event }) => Some((*after, event.clone())),
            _ => None,
        }
    }

    /// Bytes of the body after which it ends, and whether the connection breaks then (or stalls).
    pub(crate) fn body(&self) -> Option<(u64, bool)> {
        match self.main {
            Some(Fault::CutAfterBytes { bytes }) => Some((bytes, true)),
            Some(Fault::StallAfterBytes { bytes }) => Some((bytes, false)),
            _ => None,
        }
    }
}

/// A handle to the rules in force.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    rules: Arc<Mutex<Vec<Rule>>>,
}

impl Faults {
    fn lock(&self) -> MutexGuard<'_, Vec<Rule>> {
        self.rules.lock().expect("matching rules cannot panic")
    }

    /// Adds a rule behind those there are; the first that matches a request wins.
    pub fn add(&self, rule: Rule) {
        self.lock().push(rule);
    }

    /// Removes all rules.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// The rules not used up yet.
    pub fn pending(&self) -> Vec<Rule> {
        self.lock().clone()
    }

    /// Draws the faults of one request. `page` counts from 1.
    pub(crate) fn draw(&self, target: &Target, verb: Verb, page: u32, sharded: bool) -> Hit {
        let mut hit = Hit::default();
        let mut rules = self.lock();
        for rule in rules.iter_mut() {
            let matches = rule.resource.as_deref().is_none_or(|resource| resource == target.resource.plural)
                && rule.verb.is_none_or(|wanted| wanted == verb)
                && rule.times != Some(0)
                && rule.fault.can_happen(verb, page, sharded)
                && (rule.fault.is_modifier() || hit.main.is_none());
            if !matches {
                continue;
            }
            match rule.fault {
                Fault::NoInitialEventsEnd => hit.no_initial_events_end = true,
                Fault::IgnoreShardSelector => hit.ignore_shard_selector = true,
                Fault::HalveShardSelector => hit.halve_shard_selector = true,
                _ => hit.main = Some(rule.fault.clone()),
            }
            rule.times = rule.times.map(|times| times - 1);
        }
        rules.retain(|rule| rule.times != Some(0));
        hit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources;

    fn draw(faults: &Faults, verb: Verb) -> Hit {
        let resource = resources::by_plural("pods").unwrap();
        let target = Target { resource, namespace: None, name: None, subresource: None };
        faults.draw(&target, verb, 1, false)
    }

    #[test]
    fn rules_are_used_up_in_order() {
        let faults = Faults::default();
        faults.add(Fault::Status { code: 429, retry_after: Some(1) }.on("pods", Verb::List, 1));
        faults.add(Fault::Status { code: 500, retry_after: None }.on("pods", Verb::List, 1));
        faults.add(Fault::Status { code: 503, retry_after: None }.on("nodes", Verb::List, 1));
        assert_eq!(draw(&faults, Verb::Watch).status(), None);
        assert_eq!(draw(&faults, Verb::List).status(), Some((429, Some(1))));
        assert_eq!(draw(&faults, Verb::List).status(), Some((500, None)));
        assert_eq!(draw(&faults, Verb::List).status(), None);
        assert_eq!(faults.pending().len(), 1);
    }

    #[test]
    fn rules_have_a_readable_json_form() {
        let text = r#"{"resource":"pods","verb":"streamed-list","fault":"watch","after":3,"event":{"kind":"error","code":410}}"#;
        let rule: Rule = serde_json::from_str(text).unwrap();
        let event = WatchFault::Error { code: 410 };
        assert_eq!(rule, Fault::Watch { after: 3, event }.always_on("pods", Verb::StreamedList));
        assert_eq!(serde_json::to_string(&rule).unwrap(), text);
        assert!(serde_json::from_str::<Rule>(r#"{"fault":"fire"}"#).is_err());
    }
}
