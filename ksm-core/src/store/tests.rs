//! The store against a plain list, and what readers see when.

use proptest::prelude::*;

use super::*;

const FAMILIES: usize = 3;

fn rendered(families: [&str; FAMILIES]) -> Rendered {
    let mut out = Rendered::default();
    for family in families {
        out.text.extend_from_slice(family.as_bytes());
        out.ends.push(out.text.len() as u32);
        out.samples.push(family.matches('\n').count() as u32);
    }
    out
}

fn text(snapshot: &Snapshot, family: usize) -> String {
    let mut out = Vec::new();
    snapshot.blocks().iter().for_each(|block| block.append(family, &mut out));
    String::from_utf8(out).unwrap()
}

fn key(number: u8) -> ObjectKey {
    ObjectKey::from_uid(&format!("uid-{number}"))
}

#[test]
fn readers_see_changes_only_once_published() {
    let mut store = Store::new(FAMILIES);
    let reader = store.reader();
    store.apply(key(1), &rendered(["a 1\n", "", "c 1\n"]));
    assert_eq!(reader.snapshot().objects(), 0);
    store.publish();
    let held = reader.snapshot();
    store.apply(key(1), &rendered(["a 2\n", "", ""]));
    store.publish();
    assert_eq!((text(&held, 0), text(&held, 2)), ("a 1\n".into(), "c 1\n".into()));
    assert_eq!((text(&reader.snapshot(), 0), text(&reader.snapshot(), 2)), ("a 2\n".into(), String::new()));
}

#[test]
fn a_replacement_is_invisible_until_swapped_in_whole() {
    let mut store = Store::new(FAMILIES);
    let reader = store.reader();
    store.apply(key(1), &rendered(["a 1\n", "", ""]));
    store.publish();
    let mut next = store.replacement();
    next.apply(key(2), &rendered(["b 1\n", "", ""]));
    assert_eq!(text(&reader.snapshot(), 0), "a 1\n");
    store.replace(next);
    assert_eq!(text(&reader.snapshot(), 0), "b 1\n");
    assert_eq!(store.len(), 1);
}

#[test]
fn the_same_text_again_is_no_change() {
    let mut objects = Objects::new(FAMILIES);
    assert_eq!(objects.apply(key(1), &rendered(["a 1\n", "b 1\n", ""])), Applied::Added);
    assert_eq!(objects.apply(key(1), &rendered(["a 1\n", "b 1\n", ""])), Applied::Unchanged);
    assert_eq!(objects.apply(key(1), &rendered(["a 1\nb 1\n", "", ""])), Applied::Changed);
}

#[test]
fn keys_tell_uids_apart_and_fall_back_to_names() {
    let meta = |uid: &str, namespace: &str, name: &str| ObjectMeta {
        uid: uid.into(),
        namespace: namespace.into(),
        name: name.into(),
        ..ObjectMeta::default()
    };
    let uuid = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";
    assert_eq!(ObjectKey::new(&meta(uuid, "a", "b")), ObjectKey::from_uid(uuid));
    assert_ne!(ObjectKey::from_uid(uuid), ObjectKey::from_uid(&uuid.to_uppercase()));
    assert_ne!(ObjectKey::from_uid("u1"), ObjectKey::from_uid("u2"));
    assert_ne!(ObjectKey::new(&meta("", "a", "b")), ObjectKey::new(&meta("", "a", "c")));
}

use crate::view::ObjectMeta;

#[derive(Clone, Debug)]
enum Step {
    Apply(u8, u8),
    Delete(u8),
    Publish,
    Replace(Vec<(u8, u8)>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (any::<u8>(), 0..4_u8).prop_map(|(object, value)| Step::Apply(object, value)),
        4 => any::<u8>().prop_map(Step::Delete),
        1 => Just(Step::Publish),
        1 => prop::collection::vec((any::<u8>(), 0..4_u8), 0..200).prop_map(Step::Replace),
    ]
}

fn lines(object: u8, value: u8) -> [String; FAMILIES] {
    [
        format!("a{{o=\"{object}\"}} {value}\n"),
        (0..value).map(|i| format!("b{{o=\"{object}\",i=\"{i}\"}} 1\n")).collect(),
        String::new(),
    ]
}

/// What the store must equal: objects in order of arrival.
#[derive(Clone, Default)]
struct Model(Vec<(u8, u8)>);

impl Model {
    fn apply(&mut self, object: u8, value: u8) {
        match self.0.iter_mut().find(|(other, _)| *other == object) {
            Some(entry) => entry.1 = value,
            None => self.0.push((object, value)),
        }
    }

    fn check(&self, snapshot: &Snapshot) {
        assert_eq!(snapshot.objects(), self.0.len());
        for family in 0..FAMILIES {
            let expected: String = self.0.iter().map(|&(object, value)| lines(object, value)[family].clone()).collect();
            let totals = snapshot.totals()[family];
            assert_eq!(totals, Totals { bytes: expected.len() as u64, samples: expected.matches('\n').count() as u64 });
            assert_eq!(text(snapshot, family), expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_steps_equal_a_plain_list(steps in prop::collection::vec(step(), 0..400)) {
        let mut store = Store::new(FAMILIES);
        let reader = store.reader();
        let (mut model, mut published) = (Model::default(), Model::default());
        let text = |(object, value)| { let [a, b, c] = lines(object, value); rendered([&a, &b, &c]) };
        for step in steps {
            match step {
                Step::Apply(object, value) => {
                    store.apply(key(object), &text((object, value)));
                    model.apply(object, value);
                }
                Step::Delete(object) => {
                    let there = model.0.iter().any(|&(other, _)| other == object);
                    prop_assert_eq!(store.delete(key(object)), there);
                    model.0.retain(|&(other, _)| other != object);
                }
                Step::Publish => {
                    store.publish();
                    published = model.clone();
                }
                Step::Replace(objects) => {
                    let mut next = store.replacement();
                    model = Model::default();
                    for (object, value) in objects {
                        next.apply(key(object), &text((object, value)));
                        model.apply(object, value);
                    }
                    store.replace(next);
                    published = model.clone();
                }
            }
            published.check(&reader.snapshot());
        }
        store.publish();
        model.check(&reader.snapshot());
    }
}
