//! Lists: whole, paged, or filtered, streamed from the stored bytes in chunks.

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc;

use super::{Answer, Context, Kind, with_type};
use crate::{
    body::{Body, Chunk},
    codec::{self, schema, wire},
    negotiate::{self, Encoding, Form},
    selector::ShardSelector,
    status::Status,
    store::{Expired, Key, Object, Snapshot},
};

/// Bytes sent at a time.
const CHUNK: usize = 256 * 1024;

/// What a continue token says.
#[derive(Debug, Serialize, Deserialize)]
struct Continue {
    /// Version all pages are of.
    rv: u64,
    /// Last object of the page before.
    namespace: String,
    name: String,
    /// The page this token asks for, counted from 1.
    page: u32,
}

impl Continue {
    fn parse(token: &str) -> Option<Self> {
        serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(token).ok()?).ok()
    }

    fn to_token(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).expect("tokens are plain structures"))
    }
}

/// The page a request asks for, counted from 1.
pub(super) fn page(token: &str) -> u32 {
    if token.is_empty() { 1 } else { Continue::parse(token).map_or(1, |token| token.page) }
}

/// Metadata of a list.
struct ListMeta {
    resource_version: u64,
    continue_token: String,
    remaining: Option<usize>,
    shard: Option<String>,
}

pub(super) fn serve(context: &Context<'_>) -> Answer {
    validate(context)?;
    let query = context.query;
    let selector = context.selector()?;
    let (snapshot, page) = snapshot(context)?;
    let Snapshot { resource_version, objects } = snapshot;
    let total = objects.len();
    let mut selected: Vec<_> = if selector.is_empty() {
        objects
    } else {
        objects.into_iter().filter(|object| selector.matches(object)).collect()
    };
    let mut meta = ListMeta {
        resource_version,
        continue_token: String::new(),
        remaining: None,
        // The API server loses the echo when it converts the list to metadata.
        shard: selector.shard.as_ref().filter(|_| context.accept.form == Form::Full).map(ShardSelector::canonical),
    };
    // The watch cache answers version 0 and has no pages there.
    let unpaged = query.get("resourceVersion") == "0" && query.get("continue").is_empty();
    let limit = query.number("limit")?.filter(|limit| *limit > 0 && !unpaged);
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    if selected.len() > limit {
        selected.truncate(limit);
        let last = &selected[limit - 1].key;
        let (namespace, name) = (last.namespace.to_string(), last.name.to_string());
        meta.continue_token = Continue { rv: resource_version, namespace, name, page: page + 1 }.to_token();
        meta.remaining = selector.is_empty().then_some(total - limit);
    }
    let list = List::new(context, &meta);
    let bad_item = context.hit.bad_item().map(|index| index.min(selected.len()));
    Ok(list.stream(selected, bad_item))
}

fn validate(context: &Context<'_>) -> Result<(), Status> {
    let invalid = |field, reason: &str| Err(Status::invalid(("meta.k8s.io", "ListOptions"), field, reason));
    let (matching, version) = (context.query.get("resourceVersionMatch"), context.query.get("resourceVersion"));
    if !context.query.get("sendInitialEvents").is_empty() {
        return invalid("sendInitialEvents", "Forbidden: sendInitialEvents is forbidden for list");
    }
    match matching {
        "" => Ok(()),
        _ if version.is_empty() => {
            let reason = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided";
            invalid("resourceVersionMatch", reason)
        }
        _ if !context.query.get("continue").is_empty() => {
            let reason = "Forbidden: resourceVersionMatch is forbidden when continue is provided";
            invalid("resourceVersionMatch", reason)
        }
        "Exact" if version == "0" => {
            let reason = "Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            invalid("resourceVersionMatch", reason)
        }
        "Exact" | "NotOlderThan" => Ok(()),
        other => invalid("resourceVersionMatch", &format!("Unsupported value: {other:?}")),
    }
}

/// The objects to choose from, and the number of the page.
fn snapshot(context: &Context<'_>) -> Result<(Snapshot, u32), Status> {
    let collection = context.api.cluster.collection(context.target.resource);
    let namespace = context.target.namespace.as_deref();
    let token = context.query.get("continue");
    let version = context.resource_version()?;
    if !token.is_empty() {
        if version.is_some_and(|version| version != 0) {
            return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
        }
        let token = Continue::parse(token)
            .ok_or_else(|| Status::bad_request("continue key is not valid: it was not issued by this server"))?;
        let expired = || {
            Status::expired(
                "The provided continue parameter is too old to display a consistent list result. You must start a new \
                 list without the continue parameter.",
            )
        };
        if context.hit.expired_continue() {
            return Err(expired());
        }
        let after = Key::new(&token.namespace, &token.name);
        let snapshot = collection.snapshot_at(token.rv, namespace, Some(&after)).map_err(|_| expired())?;
        return Ok((snapshot, token.page));
    }
    let current = context.api.cluster.resource_version();
    let version = version.unwrap_or_default();
    if version > current {
        return Err(Status::too_large(version, current));
    }
    let matching = context.query.get("resourceVersionMatch");
    let paged = context.query.number("limit")?.is_some_and(|limit| limit > 0);
    if matching == "Exact" || matching.is_empty() && paged && version > 0 {
        let snapshot = collection.snapshot_at(version, namespace, None);
        return Ok((snapshot.map_err(|expired| too_old(version, expired))?, 1));
    }
    Ok((collection.snapshot(namespace), 1))
}

/// What the watch cache says of a version it no longer has.
pub(super) fn too_old(version: u64, expired: Expired) -> Status {
    Status::expired(format!("too old resource version: {version} ({})", expired.oldest))
}

/// A list in one encoding: what comes before its items, between and behind them.
struct List {
    encoding: Encoding,
    form: Form,
    kind: Kind,
    item_kind: String,
    meta: Vec<u8>,
}

impl List {
    fn new(context: &Context<'_>, meta: &ListMeta) -> Self {
        let Kind { message, api_version, name } = Kind::of(context.target, context.accept.form);
        let mut value = json!({"resourceVersion": meta.resource_version.to_string()});
        if !meta.continue_token.is_empty() {
            value["continue"] = meta.continue_token.as_str().into();
        }
        if let Some(remaining) = meta.remaining {
            value["remainingItemCount"] = remaining.into();
        }
        if let Some(selector) = &meta.shard {
            value["shardInfo"] = json!({"selector": selector});
        }
        let meta = match context.accept.encoding {
            Encoding::Json => value.to_string().into_bytes(),
            Encoding::Protobuf => {
                let schema =
                    schema::message(&format!("{}.ListMeta", negotiate::META)).expect("lists are in the schema");
                codec::to_protobuf(schema, &value).expect("the metadata above fits")
            }
        };
        Self {
            encoding: context.accept.encoding,
            form: context.accept.form,
            kind: Kind { message, api_version, name: format!("{name}List") },
            item_kind: name,
            meta,
        }
    }

    fn item(&self, object: &Object) -> Bytes {
        match self.form {
            Form::Full => object.bytes.clone(),
            Form::Metadata | Form::MetadataList => object.partial(),
        }
    }

    /// Everything before the first item; the length of the whole body where it is known.
    fn head(&self, objects: &[Arc<Object>], bad_item: bool) -> (Vec<u8>, Option<u64>) {
        let Kind { api_version, name, .. } = &self.kind;
        match self.encoding {
            Encoding::Json => {
                let mut head = format!(r#"{{"kind":"{name}","apiVersion":"{api_version}","metadata":"#).into_bytes();
                head.extend_from_slice(&self.meta);
                head.extend_from_slice(br#","items":["#);
                (head, None)
            }
            Encoding::Protobuf => {
                let mut meta = Vec::with_capacity(self.meta.len() + 4);
                wire::put_bytes(&mut meta, 1, &self.meta);
                let items: usize = objects.iter().map(|object| delimited(self.item(object).len())).sum();
                let length = meta.len() + items + if bad_item { delimited(BAD_PROTOBUF.len()) } else { 0 };
                let mut head = Vec::with_capacity(meta.len() + 64);
                negotiate::envelope_head(api_version, name, length, &mut head);
                let total = head.len() + length + negotiate::envelope_tail().len();
                head.extend_from_slice(&meta);
                (head, Some(total as u64))
            }
        }
    }

    fn stream(self, objects: Vec<Arc<Object>>, bad_item: Option<usize>) -> http::Response<Body> {
        let (head, length) = self.head(&objects, bad_item.is_some());
        let (sender, body) = Body::stream(length);
        let content_type = self.encoding.content_type(false);
        tokio::spawn(async move {
            // The client may be gone: then there is nothing left to do.
            let _ = self.send(&sender, head, &objects, bad_item).await;
        });
        with_type(StatusCode::OK, content_type, body)
    }

    async fn send(
        &self,
        sender: &mpsc::Sender<Chunk>,
        mut out: Vec<u8>,
        objects: &[Arc<Object>],
        bad_item: Option<usize>,
    ) -> Result<(), mpsc::error::SendError<Chunk>> {
        let mut first = true;
        for (index, object) in objects.iter().enumerate() {
            if bad_item == Some(index) {
                self.write_bad_item(&mut first, &mut out);
            }
            self.write_item(object, &mut first, &mut out);
            if out.len() >= CHUNK {
                let full = std::mem::replace(&mut out, Vec::with_capacity(CHUNK + 32 * 1024));
                sender.send(Ok(full.into())).await?;
            }
        }
        if bad_item == Some(objects.len()) {
            self.write_bad_item(&mut first, &mut out);
        }
        match self.encoding {
            Encoding::Json => out.extend_from_slice(b"]}\n"),
            Encoding::Protobuf => out.extend_from_slice(&negotiate::envelope_tail()),
        }
        sender.send(Ok(out.into())).await
    }

    fn write_item(&self, object: &Object, first: &mut bool, out: &mut Vec<u8>) {
        let bytes = self.item(object);
        match (self.encoding, self.form) {
            (Encoding::Protobuf, _) => wire::put_bytes(out, 2, &bytes),
            (Encoding::Json, Form::Full) => {
                comma(first, out);
                codec::write_json(self.kind.message, &bytes, out);
            }
            // Only the items of metadata lists say what they are.
            (Encoding::Json, _) => {
                comma(first, out);
                out.extend_from_slice(&self.encoding.object(
                    self.kind.message,
                    &self.kind.api_version,
                    &self.item_kind,
                    &bytes,
                ));
            }
        }
    }

    fn write_bad_item(&self, first: &mut bool, out: &mut Vec<u8>) {
        match self.encoding {
            Encoding::Protobuf => wire::put_bytes(out, 2, BAD_PROTOBUF),
            Encoding::Json => {
                comma(first, out);
                out.extend_from_slice(BAD_JSON.as_bytes());
            }
        }
    }
}

/// A message that ends within its metadata.
pub(super) const BAD_PROTOBUF: &[u8] = &[0x0a, 0x7f, 0x0a, 0x03, b'b', b'a', b'd'];
/// An object whose metadata is none.
pub(super) const BAD_JSON: &str = r#"{"metadata":["bad"]}"#;

fn comma(first: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::take(first) {
        out.push(b',');
    }
}

/// Bytes of a field with content of this length and a tag of one byte.
fn delimited(length: usize) -> usize {
    1 + wire::varint_len(length as u64) + length
}
