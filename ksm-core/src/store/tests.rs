//! The store against a plain map, what readers see when, and gzip members against other programs' readers.

mod orders;

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::view::ObjectMeta;

const FAMILIES: usize = 3;

fn rendered(families: &[String]) -> Rendered {
    let mut out = Rendered::default();
    for family in families {
        out.text.extend_from_slice(family.as_bytes());
        out.ends.push(out.text.len() as u32);
        out.samples.push(family.matches('\n').count() as u32);
    }
    out
}

fn three(families: [&str; FAMILIES]) -> Rendered {
    rendered(&families.map(str::to_owned))
}

fn text(snapshot: &Snapshot, family: usize) -> String {
    let (mut out, mut reader) = (Vec::new(), TextReader::default());
    snapshot.blocks().iter().for_each(|block| block.append(family, &mut reader, &mut out));
    String::from_utf8(out).unwrap()
}

fn key(number: u16) -> ObjectKey {
    ObjectKey::from_uid(&format!("uid-{number}"))
}

/// A store that seals every block it can.
fn sealing_store() -> Store {
    limited_store(Limits { plain: 0, ..Limits::DEFAULT })
}

fn limited_store(limits: Limits) -> Store {
    let mut store = Store::new(FAMILIES);
    store.objects = Objects::new(FAMILIES).with_limits(limits);
    store.unshown_limit = limits.unshown;
    store
}

/// As many lines of `b` as `value` says.
fn lines(object: u16, value: u8) -> [String; FAMILIES] {
    [
        format!("a{{o=\"{object}\"}} {value}\n"),
        (0..value).map(|i| format!("b{{o=\"{object}\",i=\"{i}\"}} 1\n")).collect(),
        String::new(),
    ]
}

fn fill(store: &mut Store, objects: impl IntoIterator<Item = u16>, value: u8) {
    for object in objects {
        store.apply(key(object), &rendered(&lines(object, value)));
    }
}

fn sealed_blocks(snapshot: &Snapshot) -> usize {
    snapshot.blocks().iter().filter(|block| !block.is_plain()).count()
}

#[test]
fn readers_see_changes_only_once_published() {
    for mut store in [Store::new(FAMILIES), sealing_store()] {
        let reader = store.reader();
        fill(&mut store, 0..200, 1);
        assert_eq!(reader.snapshot().objects(), 0);
        store.publish();
        let held = reader.snapshot();
        store.apply(key(1), &three(["a 2\n", "", ""]));
        store.delete(key(2));
        store.publish();
        assert!(text(&held, 0).contains("a{o=\"1\"} 1\na{o=\"2\"} 1\n"));
        let now = reader.snapshot();
        assert!(text(&now, 0).contains("a{o=\"0\"} 1\na 2\na{o=\"3\"} 1\n"));
        assert!(!text(&now, 1).contains("o=\"1\""));
        assert_eq!(now.objects(), 199);
    }
}

#[test]
fn a_replacement_is_invisible_until_swapped_in_whole() {
    for mut store in [Store::new(FAMILIES), sealing_store()] {
        let reader = store.reader();
        fill(&mut store, 0..100, 1);
        store.publish();
        let mut relist = store.relist();
        for object in 50..300 {
            store.relist_apply(&mut relist, key(object), &rendered(&lines(object, (object % 3) as u8)));
        }
        assert_eq!(relist.len(), 250);
        assert_eq!(text(&reader.snapshot(), 0), (0..100).map(|object| lines(object, 1)[0].clone()).collect::<String>());
        store.replace(relist);
        check(&(50..300).map(|object| (object, (object % 3) as u8)).collect(), &reader.snapshot());
        assert_eq!(store.len(), 250);
    }
}

#[test]
fn an_aborted_replacement_changes_nothing() {
    let mut store = sealing_store();
    fill(&mut store, 0..100, 1);
    store.publish();
    let before = text(&store.reader().snapshot(), 1);
    let mut relist = store.relist();
    store.relist_apply(&mut relist, key(5), &three(["x 1\n", "", ""]));
    drop(relist);
    fill(&mut store, 0..1, 1);
    store.publish();
    assert_eq!(text(&store.reader().snapshot(), 1), before);
}

#[test]
fn the_same_text_again_is_no_change() {
    for mut objects in [Store::new(FAMILIES).objects, sealing_store().objects] {
        for object in 0..BLOCK_OBJECTS as u16 {
            assert_eq!(objects.apply(key(object), &three(["a 1\n", "b 1\n", ""])), Applied::Added);
        }
        objects.show(Pass { threads: 1, seal_all: true });
        assert_eq!(objects.apply(key(1), &three(["a 1\n", "b 1\n", ""])), Applied::Unchanged);
        // The same lines, the second of which has moved to another family.
        assert_eq!(objects.apply(key(1), &three(["a 1\nb 1\n", "", ""])), Applied::Changed);
    }
}

#[test]
fn full_blocks_are_sealed_once_they_are_quiet() {
    let mut store = sealing_store();
    let reader = store.reader();
    fill(&mut store, 0..100, 1);
    store.publish();
    assert_eq!(sealed_blocks(&reader.snapshot()), 0, "new objects are likely to change again");
    fill(&mut store, 99..100, 2);
    store.publish();
    assert_eq!(sealed_blocks(&reader.snapshot()), 1);
    assert_eq!(reader.snapshot().blocks().len(), 2);
}

#[test]
fn small_sets_stay_plain() {
    let mut store = Store::new(FAMILIES);
    for value in 0..5 {
        fill(&mut store, 0..1000, value);
        store.publish();
    }
    assert!(store.is_cheap());
    assert_eq!(sealed_blocks(&store.reader().snapshot()), 0);
}

#[test]
fn blocks_that_thin_out_are_merged() {
    let mut store = sealing_store();
    fill(&mut store, 0..640, 1);
    store.publish();
    fill(&mut store, 639..640, 2);
    store.publish();
    for object in (0..640).filter(|object| object % 8 != 0) {
        store.delete(key(object));
    }
    store.publish();
    store.apply(key(0), &three(["a 9\n", "", ""]));
    store.publish();
    let snapshot = store.reader().snapshot();
    assert_eq!(snapshot.objects(), 80);
    assert!(snapshot.blocks().len() <= 3, "{} blocks for 80 objects", snapshot.blocks().len());
    assert_eq!(text(&snapshot, 0).lines().count(), 80);
}

/// Many relists that each bring a few objects leave no trail of blocks with little in them.
#[test]
fn blocks_that_a_relist_leaves_open_are_filled_or_sealed() {
    let mut store = sealing_store();
    for relist in 1..=40 {
        let mut list = store.relist();
        for object in 0..relist * 10 {
            store.relist_apply(&mut list, key(object), &rendered(&lines(object, 1)));
        }
        store.replace(list);
    }
    let snapshot = store.reader().snapshot();
    check(&(0..400).map(|object| (object, 1)).collect(), &snapshot);
    let sizes: Vec<usize> = snapshot.blocks().iter().map(|block| block.len()).collect();
    let (last, rest) = sizes.split_last().unwrap();
    assert!(rest.iter().all(|&objects| objects >= BLOCK_OBJECTS / 2) && *last <= BLOCK_OBJECTS, "{sizes:?}");
    assert!(sealed_blocks(&snapshot) + 2 >= sizes.len(), "{} of {sizes:?} are sealed", sealed_blocks(&snapshot));
}

#[test]
fn a_block_is_full_at_a_mebibyte_of_large_objects() {
    let mut store = sealing_store();
    let many = |value: u16| format!("a {value:02}\n").repeat(60 * 1024);
    let large = format!("a{{l=\"{}\"}} 1\n", "x".repeat(1200 * 1024));
    for object in 0..40 {
        store.apply(key(object), &three([&many(object), "", ""]));
    }
    store.publish();
    // One that would be thin by its number of objects alone.
    store.apply(key(100), &three([&large, "", ""]));
    store.apply(key(101), &three(["a 0\n", "", ""]));
    for value in 1..4 {
        store.apply(key(101), &three([&format!("a {value}\n"), "", ""]));
        store.publish();
        let snapshot = store.reader().snapshot();
        let longest = snapshot.blocks().iter().map(|block| block.length(0)).max().unwrap();
        assert!(longest < 4 * 1024 * 1024, "{longest}");
        let sizes: Vec<usize> = snapshot.blocks().iter().map(|block| block.len()).collect();
        assert_eq!(sizes, [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1, 1]);
        assert!(sealed_blocks(&snapshot) >= 10);
    }
    for object in 0..40 {
        store.delete(key(object));
    }
    store.publish();
    assert_eq!(text(&store.reader().snapshot(), 0).len(), large.len() + 4);
}

#[test]
fn what_waits_is_bounded_though_nobody_reads() {
    let mut store = sealing_store();
    let big = "x 1\n".repeat(30_000);
    for object in 0..BLOCK_OBJECTS as u16 * 2 {
        store.apply(key(object), &three([&big, "", ""]));
    }
    assert!(store.is_swollen());
    assert!(store.relieve(), "text like this packs to a fraction");
    assert!(!store.is_swollen());
    assert_eq!(store.reader().snapshot().objects(), 0, "readers are shown nothing by that");
    store.publish();
    let snapshot = store.reader().snapshot();
    assert!(sealed_blocks(&snapshot) + 1 >= snapshot.blocks().len(), "quiet or not");
    drop(snapshot);
    for value in 0..4 {
        for object in 0..BLOCK_OBJECTS as u16 * 2 {
            store.apply(key(object), &three([&format!("x {value}\n").repeat(30_000), "", ""]));
        }
        assert!(store.is_swollen());
        assert!(store.relieve());
        assert!(!store.is_swollen() && store.is_changed());
    }
    assert_eq!(text(&store.reader().snapshot(), 0), big.repeat(BLOCK_OBJECTS * 2));
    store.publish();
    assert_eq!(text(&store.reader().snapshot(), 0), "x 3\n".repeat(30_000).repeat(BLOCK_OBJECTS * 2));
}

/// Lines of which no two are alike, `bytes` of them.
fn noise(seed: u64, bytes: usize) -> String {
    let mut state = seed;
    let mut out = String::new();
    while out.len() < bytes {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        out += &format!("{:016x}\n", state ^ state >> 29);
    }
    out
}

#[test]
fn what_does_not_pack_is_shown_though_nobody_asks() {
    let mut store = sealing_store();
    for object in 0..BLOCK_OBJECTS as u16 * 2 {
        store.apply(key(object), &three([&noise(object.into(), 128 * 1024), "", ""]));
    }
    store.publish();
    store.apply(key(0), &three(["a 1\n", "", ""]));
    store.publish();
    let snapshot = store.reader().snapshot();
    assert_eq!(sealed_blocks(&snapshot), snapshot.blocks().len());
    drop(snapshot);
    for object in 0..BLOCK_OBJECTS as u16 * 2 {
        store.apply(key(object), &three([&noise(1000 + u64::from(object), 128 * 1024), "", ""]));
    }
    assert!(store.is_swollen());
    assert!(!store.relieve(), "half of 16 MiB is more than half of the bound");
    store.publish();
    assert!(!store.is_swollen());
}

#[test]
fn an_object_too_large_to_seal_is_served_all_the_same() {
    let mut store = sealing_store();
    fill(&mut store, 0..64, 1);
    store.publish();
    fill(&mut store, 64..65, 1);
    store.publish();
    let many = "b 1\n".repeat(70_000);
    store.apply(key(3), &three(["a 3\n", &many, ""]));
    store.publish();
    fill(&mut store, 65..200, 1);
    for value in 0..3 {
        fill(&mut store, 199..200, value);
        store.publish();
    }
    let snapshot = store.reader().snapshot();
    assert_eq!(snapshot.totals()[1].samples, 70_000 + 198 + 2);
    assert!(text(&snapshot, 1).contains(&many));
    store.apply(key(3), &three(["a 3\n", "", ""]));
    store.publish();
    assert_eq!(store.reader().snapshot().totals()[1].samples, 198 + 2);
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
    assert_eq!((ObjectKey::from_uid(uuid).uuid(), ObjectKey::is_reversible(uuid)), (uuid.to_owned(), true));
    assert!(!ObjectKey::is_reversible("u1") && !ObjectKey::is_reversible(""));
    assert_ne!(ObjectKey::from_uid("u1"), ObjectKey::from_uid("u2"));
    assert_ne!(ObjectKey::new(&meta("", "a", "b")), ObjectKey::new(&meta("", "a", "c")));
}

/// In a relist it needs a block of its own kind, beside the blocks of what is new.
#[test]
fn a_relist_in_which_an_object_became_too_large_to_seal_loses_nothing() {
    let many = "b 1\n".repeat(70_000);
    for fresh in [0, 1, 64, 100] {
        let mut store = sealing_store();
        fill(&mut store, 0..128, 1);
        store.relieve();
        store.publish();
        assert_eq!(sealed_blocks(&store.reader().snapshot()), 2, "no block is open");
        let mut relist = store.relist();
        for object in 0..128 + fresh {
            store.relist_apply(&mut relist, key(object), &rendered(&lines(object, 1)));
        }
        store.relist_apply(&mut relist, key(100), &three(["a 100\n", &many, ""]));
        store.replace(relist);
        for object in 0..128 + fresh {
            assert!(store.objects.contains(key(object)));
        }
        // New blocks after it, and all of it taken out again, one by one.
        fill(&mut store, 1000..1100, 1);
        store.publish();
        let snapshot = store.reader().snapshot();
        assert_eq!(snapshot.totals()[0].samples, 228 + u64::from(fresh), "one line of each");
        assert_eq!(snapshot.totals()[1].samples, 227 + u64::from(fresh) + 70_000);
        for object in (0..128 + fresh).chain(1000..1100) {
            assert!(store.delete(key(object)), "{object}");
        }
        store.publish();
        assert_eq!(store.reader().snapshot().objects(), 0);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Apply(u16, u8),
    Delete(u16),
    Publish,
    /// Takes out all but those whose number gives the second when divided by the first.
    Retain(u16, u16),
    /// What waits is packed.
    Relieve,
    /// Listed, taken out again, and whether the list is complete.
    Relist(Vec<(u16, u8)>, Vec<u16>, bool),
    Pack,
}

const OBJECTS: u16 = 400;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let object = || 0..OBJECTS;
    let listed = (any::<u64>(), 0..100_u64, prop::collection::vec((object(), 0..4_u8), 0..60));
    let relist = listed.prop_map(|(seed, percent, changed)| {
        // Most objects are in a list, and most of these are what they were.
        let kept = (0..OBJECTS).filter(|&object| (u64::from(object) ^ seed).wrapping_mul(0x9e37_79b9) % 100 < percent);
        kept.map(|object| (object, 1)).chain(changed).collect::<Vec<_>>()
    });
    let step = prop_oneof![
        20 => (object(), 0..4_u8).prop_map(|(object, value)| Step::Apply(object, value)),
        20 => object().prop_map(Step::Delete),
        6 => Just(Step::Publish),
        2 => (1..5_u16, 0..5_u16).prop_map(|(modulus, rest)| Step::Retain(modulus, rest % modulus)),
        4 => Just(Step::Relieve),
        2 => Just(Step::Pack),
        2 => (relist, prop::collection::vec(object(), 0..9), any::<bool>())
            .prop_map(|(listed, out, complete)| Step::Relist(listed, out, complete)),
    ];
    prop::collection::vec(step, 0..250)
}

/// What the store must equal: the value of each object.
type Model = BTreeMap<u16, u8>;

fn check(model: &Model, snapshot: &Snapshot) {
    assert_eq!(snapshot.objects(), model.len());
    assert_eq!(snapshot.blocks().iter().map(|block| block.len()).sum::<usize>(), model.len());
    for family in 0..FAMILIES {
        let shown = text(snapshot, family);
        let totals = Totals { bytes: shown.len() as u64, samples: shown.matches('\n').count() as u64 };
        assert_eq!(snapshot.totals()[family], totals);
        let mut shown: Vec<&str> = shown.lines().collect();
        let expected: Vec<String> =
            model.iter().map(|(&object, &value)| lines(object, value)[family].clone()).collect();
        let mut expected: Vec<&str> = expected.iter().flat_map(|lines| lines.lines()).collect();
        shown.sort_unstable();
        expected.sort_unstable();
        assert_eq!(shown, expected);
    }
}

/// The packed text, unpacked as one gzip member, is the plain text.
fn check_packed(snapshot: &Snapshot) {
    for family in 0..FAMILIES {
        let totals = snapshot.packed_totals()[family];
        let mut member = GZIP_HEADER.to_vec();
        snapshot.blocks().iter().for_each(|block| member.extend_from_slice(block.packed().piece(family).data));
        assert_eq!(member.len() as u64, GZIP_HEADER.len() as u64 + totals.bytes);
        member.extend_from_slice(&FINAL);
        member.extend_from_slice(&gzip_trailer(totals.crc, snapshot.totals()[family].bytes));
        assert_eq!(gunzip(&member), text(snapshot, family).into_bytes());
    }
}

/// Reads a gzip member, checksum and length included.
fn gunzip(member: &[u8]) -> Vec<u8> {
    use std::io::Read;
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(member).read_to_end(&mut out).expect("one whole gzip member");
    out
}

/// Limits at which everything, some or nothing is packed, shown early, or new in a relist. All objects have about 40 KB.
fn limits() -> impl Strategy<Value = Limits> {
    let limit = || prop_oneof![3 => Just(0_usize), 2 => 1..40_000_usize, 1 => Just(usize::MAX)];
    (limit(), limit(), limit()).prop_map(|(plain, unshown, relisted)| Limits { plain, unshown, relisted })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn any_steps_equal_a_plain_map(steps in steps(), limits in limits(), threads in 1..4_usize) {
        let mut store = limited_store(limits).with_threads(threads);
        let reader = store.reader();
        fill(&mut store, 0..OBJECTS, 1);
        store.publish();
        store.delete(key(0));
        store.publish();
        let mut model: Model = (1..OBJECTS).map(|object| (object, 1)).collect();
        let mut published = model.clone();
        for step in steps {
            match step {
                Step::Apply(object, value) => {
                    let expected = match model.insert(object, value) {
                        None => Applied::Added,
                        Some(before) if before == value => Applied::Unchanged,
                        Some(_) => Applied::Changed,
                    };
                    prop_assert_eq!(store.apply(key(object), &rendered(&lines(object, value))), expected);
                }
                Step::Delete(object) => {
                    prop_assert_eq!(store.delete(key(object)), model.remove(&object).is_some());
                }
                Step::Publish => {
                    store.publish();
                    published = model.clone();
                    check(&published, &reader.snapshot());
                }
                Step::Retain(modulus, rest) => {
                    let before = model.len();
                    model.retain(|object, _| object % modulus == rest);
                    let kept: Vec<ObjectKey> = model.keys().map(|&object| key(object)).collect();
                    prop_assert_eq!(store.retain(|key| kept.contains(&key)), before - model.len());
                }
                Step::Relieve => {
                    store.relieve();
                }
                Step::Pack => check_packed(&reader.snapshot()),
                Step::Relist(listed, out, complete) => {
                    let mut relist = store.relist();
                    let mut new = Model::new();
                    for (object, value) in listed {
                        store.relist_apply(&mut relist, key(object), &rendered(&lines(object, value)));
                        new.insert(object, value);
                    }
                    for object in out {
                        store.relist_delete(&mut relist, key(object));
                        new.remove(&object);
                    }
                    prop_assert_eq!(relist.len(), new.len());
                    if complete {
                        store.replace(relist);
                        model = new;
                        published = model.clone();
                        check(&published, &reader.snapshot());
                    }
                }
            }
            prop_assert_eq!(store.len(), model.len());
            prop_assert_eq!(reader.snapshot().objects(), published.len());
        }
        check(&published, &reader.snapshot());
        store.publish();
        check(&model, &reader.snapshot());
        check_packed(&reader.snapshot());
    }
}

/// Readers on other threads only ever see whole views, each no older than the one before.
#[test]
fn readers_race_a_writer_and_see_whole_views_in_order() {
    const VIEWS: u8 = 120;
    let mut store = sealing_store().with_threads(2);
    fill(&mut store, 0..300, 0);
    store.publish();
    let readers: Vec<_> = (0..3)
        .map(|number| {
            let reader = store.reader();
            std::thread::spawn(move || {
                let mut last = 0;
                while last < VIEWS {
                    let snapshot = reader.snapshot();
                    let shown = text(&snapshot, 0);
                    let mut values = shown.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u8>().unwrap());
                    let value = values.next().unwrap();
                    assert!(values.all(|other| other == value), "a view is of one moment");
                    assert_eq!(shown.lines().count(), 300);
                    assert!(value >= last, "views only go forward");
                    last = value;
                    if number == 0 {
                        check_packed(&snapshot);
                    }
                }
            })
        })
        .collect();
    for value in 1..=VIEWS {
        for object in 0..300 {
            store.apply(key(object), &three([&format!("a{{o=\"{object}\"}} {value}\n"), "", ""]));
        }
        if value % 3 == 0 {
            let mut relist = store.relist();
            for object in 0..300 {
                store.relist_apply(
                    &mut relist,
                    key(object),
                    &three([&format!("a{{o=\"{object}\"}} {value}\n"), "", ""]),
                );
            }
            store.replace(relist);
        } else {
            store.publish();
        }
    }
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}

#[test]
fn lengths_in_a_gzip_trailer_are_modulo_two_to_the_32() {
    assert_eq!(gzip_trailer(0x0102_0304, (1 << 32) + 5), [4, 3, 2, 1, 5, 0, 0, 0]);
    assert_eq!(gzip_trailer(0, u64::from(u32::MAX))[4..], [0xff; 4]);
}

#[test]
fn checksums_combine_past_four_gibibytes() {
    // One piece of a MiB, repeated: the checksum of the whole by combining, and by reading it all.
    let piece = vec![b'x'; 1 << 20];
    let once = zlib_rs::crc32::crc32(0, &piece);
    let (mut combined, mut doubled, mut length) = (once, once, piece.len() as u64);
    while length <= 1 << 32 {
        doubled = crc32_combine(doubled, doubled, length);
        length *= 2;
    }
    for _ in 1..length / piece.len() as u64 {
        combined = crc32_combine(combined, once, piece.len() as u64);
    }
    assert_eq!(combined, doubled);
}
