//! Bodies taken apart whatever the cuts between chunks.

use proptest::prelude::*;
use prost::Message;

use super::*;

#[derive(Clone, PartialEq, Message)]
struct FullUnknown {
    #[prost(message, optional, tag = "1")]
    type_meta: Option<ShardInfo>,
    #[prost(bytes = "vec", tag = "2")]
    raw: Vec<u8>,
    #[prost(string, tag = "4")]
    content_type: String,
}

#[derive(Clone, PartialEq, Message)]
struct FullList {
    #[prost(message, optional, tag = "1")]
    meta: Option<ListMeta>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    items: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct FullEvent {
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(message, optional, tag = "2")]
    object: Option<ShardRaw>,
}

#[derive(Clone, PartialEq, Message)]
struct ShardRaw {
    #[prost(bytes = "vec", tag = "1")]
    raw: Vec<u8>,
}

fn envelope(raw: Vec<u8>) -> Vec<u8> {
    let type_meta = Some(ShardInfo { selector: "v1".into() });
    let mut out = MAGIC.to_vec();
    FullUnknown { type_meta, raw, content_type: String::new() }.encode(&mut out).unwrap();
    out
}

fn meta() -> ListMeta {
    ListMeta {
        resource_version: "17".into(),
        continue_token: "more".into(),
        shard_info: Some(ShardInfo { selector: "shardRange(…)".into() }),
    }
}

fn protobuf_list(items: &[Vec<u8>]) -> Vec<u8> {
    envelope(FullList { meta: Some(meta()), items: items.to_vec() }.encode_to_vec())
}

/// Feeds `body` in chunks of the given sizes and collects items and metadata.
fn read(encoding: Encoding, body: &[u8], sizes: &[usize]) -> Result<(Vec<Vec<u8>>, ListMeta), WireError> {
    let (mut list, mut items, mut found) = (List::new(encoding), Vec::new(), None);
    let mut sizes = sizes.iter().copied().cycle();
    let mut rest = body;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(sizes.next().unwrap_or(rest.len()).clamp(1, rest.len()));
        rest = after;
        list.push(chunk);
        while let Some(part) = list.next()? {
            match part {
                ListPart::Object(item) => items.push(item.to_vec()),
                ListPart::Meta(meta) => found = Some(meta),
            }
        }
    }
    let meta = list.finish()?.or(found).unwrap_or_default();
    Ok((items, meta))
}

proptest! {
    #[test]
    fn protobuf_lists_come_apart_whatever_the_chunks(
        items in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20),
        sizes in prop::collection::vec(1..400_usize, 1..10),
    ) {
        let (read_items, read_meta) = read(Encoding::Protobuf, &protobuf_list(&items), &sizes).unwrap();
        prop_assert_eq!(read_items, items);
        prop_assert_eq!(read_meta, meta());
    }

    #[test]
    fn json_lists_come_apart_whatever_the_chunks(
        names in prop::collection::vec(any::<String>(), 0..20),
        sizes in prop::collection::vec(1..60_usize, 1..10),
        pretty in any::<bool>(),
    ) {
        let items: Vec<_> = names
            .iter()
            .map(|name| serde_json::json!({"metadata": {"name": name, "items": [name, {"items": []}]}}))
            .collect();
        let list = serde_json::json!({
            "kind": "PodList",
            "metadata": {"resourceVersion": "17", "continue": "more", "shardInfo": {"selector": "shardRange(…)"}},
            "items": items,
            "other": [1, "items", {"items": [{}]}],
        });
        let body = if pretty { serde_json::to_vec_pretty(&list) } else { serde_json::to_vec(&list) }.unwrap();
        let (read_items, read_meta) = read(Encoding::Json, &body, &sizes).unwrap();
        let read_items: Vec<serde_json::Value> =
            read_items.iter().map(|item| serde_json::from_slice(item).unwrap()).collect();
        prop_assert_eq!(read_items, items);
        prop_assert_eq!(read_meta, meta());
    }

    #[test]
    fn no_bytes_make_a_reader_panic(body in prop::collection::vec(any::<u8>(), 0..200), sizes in prop::collection::vec(1..50_usize, 1..5)) {
        for encoding in [Encoding::Protobuf, Encoding::Json] {
            let _ = read(encoding, &body, &sizes);
            let _ = read(encoding, &[MAGIC.as_slice(), &body].concat(), &sizes);
            let mut frames = Frames::new(encoding);
            frames.push(&body);
            while let Ok(Some(_)) = frames.next() {}
        }
    }
}

#[test]
fn a_list_that_is_cut_anywhere_is_an_error() {
    let protobuf = protobuf_list(&[b"one".to_vec(), b"two".to_vec()]);
    let json = br#"{"metadata":{"resourceVersion":"17"},"items":[{"a":1},{"b":2}]}"#;
    // The last two bytes of the protobuf body are the empty content type, which may be left out.
    for end in 0..protobuf.len() - 2 {
        assert!(read(Encoding::Protobuf, &protobuf[..end], &[7]).is_err(), "protobuf cut at {end}");
    }
    for end in 0..json.len() {
        assert!(read(Encoding::Json, &json[..end], &[7]).is_err(), "JSON cut at {end}");
    }
}

#[test]
fn absurd_lengths_are_refused_before_they_are_waited_for() {
    let mut frames = Frames::new(Encoding::Protobuf);
    frames.push(&[0xff, 0xff, 0xff, 0xff, 0]);
    assert!(matches!(frames.next(), Err(WireError::TooLarge { what: "watch frame", .. })));
    let mut list = List::new(Encoding::Protobuf);
    list.push(b"k8s\0\x12\xff\xff\xff\xff\x0f\x12\xff\xff\xff\xff\x01");
    assert!(matches!(list.next(), Err(WireError::TooLarge { what: "list item", .. })));
}

fn frame(kind: &str, object: Vec<u8>) -> Vec<u8> {
    let event = FullEvent { kind: kind.into(), object: Some(ShardRaw { raw: envelope(object) }) }.encode_to_vec();
    [&u32::try_from(event.len()).unwrap().to_be_bytes()[..], &event].concat()
}

fn events(encoding: Encoding, stream: &[u8]) -> Result<Vec<Event>, WireError> {
    let mut frames = Frames::new(encoding);
    let mut out = Vec::new();
    for byte in stream {
        frames.push(std::slice::from_ref(byte));
        while let Some(event) = frames.next()? {
            out.push(event);
        }
    }
    frames.finish()?;
    Ok(out)
}

#[test]
fn events_of_both_encodings_are_told_apart() {
    let status = Status { message: "too old".into(), reason: "Expired".into(), code: 410 };
    let protobuf =
        [frame("ADDED", b"a".to_vec()), frame("BOOKMARK", b"".to_vec()), frame("ERROR", status.encode_to_vec())]
            .concat();
    let json = b"{\"type\":\"ADDED\",\"object\":{\"a\":1}}\n\n{\"type\":\"BOOKMARK\",\"object\":{}}\n{\"object\":{\"code\":410,\"message\":\"too old\",\"reason\":\"Expired\"},\"type\":\"ERROR\"}\n";
    for (encoding, stream, first) in
        [(Encoding::Protobuf, protobuf.as_slice(), &b"a"[..]), (Encoding::Json, &json[..], b"{\"a\":1}")]
    {
        let events = events(encoding, stream).unwrap();
        assert!(
            matches!(&events[0], Event::Object { kind: EventKind::Added, object } if object == first),
            "{events:?}"
        );
        assert!(matches!(&events[1], Event::Object { kind: EventKind::Bookmark, .. }), "{events:?}");
        assert!(matches!(&events[2], Event::Error(error) if *error == status), "{events:?}");
    }
}

#[test]
fn unknown_event_types_and_cut_frames_are_errors() {
    assert!(events(Encoding::Protobuf, &frame("RENAMED", b"a".to_vec())).is_err());
    assert!(events(Encoding::Json, b"{\"type\":\"RENAMED\",\"object\":{}}\n").is_err());
    let whole = frame("ADDED", b"abc".to_vec());
    assert!(matches!(events(Encoding::Protobuf, &whole[..whole.len() - 1]), Err(WireError::Cut(_))));
    assert!(matches!(events(Encoding::Json, b"{\"type\":"), Err(WireError::Cut(_))));
}

#[test]
fn metadata_is_found_in_objects_broken_elsewhere() {
    let json = br#"{"metadata":{"name":"a","uid":"u"},"spec":{"containers":7}}"#;
    assert_eq!(decode_meta(Encoding::Json, json).unwrap().uid, "u");
    assert!(decode_meta(Encoding::Json, b"{").is_err());
}
