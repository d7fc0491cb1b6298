//! The HTTP interface: routing, and one module for each thing a request can do.

mod control;
mod discovery;
mod list;
mod review;
mod watch;
mod write;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;

use crate::{
    access::{self, Token, Tokens},
    body::Body,
    cluster::Cluster,
    faults::{Faults, Hit},
    negotiate::{self, Accept, Encoding, Form, Wanted},
    request::{Query, Target, Verb},
    selector::{FieldSelector, LabelSelector, Selector, ShardSelector},
    server::Outages,
    stats::{NewRecord, Stats},
    status::Status,
    store::{Key, Object},
};

/// What the server can do and how it behaves.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) sharding: bool,
    pub(crate) watch_list: bool,
    pub(crate) bookmark_interval: Duration,
    pub(crate) tokens: Vec<Token>,
}

/// Everything a request needs.
pub(crate) struct Api {
    pub(crate) cluster: Cluster,
    pub(crate) options: Options,
    pub(crate) tokens: Tokens,
    pub(crate) faults: Faults,
    pub(crate) stats: Stats,
    pub(crate) outages: Outages,
}

type Answer = Result<Response<Body>, Status>;

/// What a request may carry.
pub(crate) trait Payload: http_body::Body<Data = Bytes, Error: std::fmt::Display> + Send {}

impl<B: http_body::Body<Data = Bytes, Error: std::fmt::Display> + Send> Payload for B {}

/// A request about objects, with all that its handlers share.
struct Context<'a> {
    api: &'a Api,
    target: &'a Target,
    verb: Verb,
    query: &'a Query,
    accept: Accept,
    hit: Hit,
}

impl Api {
    /// Answers one request.
    pub(crate) async fn serve(self: Arc<Self>, request: Request<impl Payload>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        if let Some(path) = path.strip_prefix("/testbed/") {
            return control::serve(&self, path, request).await;
        }
        let query = Query::parse(request.uri());
        let target = Target::parse(&path);
        let verb = target.as_ref().map_or(Verb::Other, |target| target.verb(request.method(), &query));
        let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let record = self.stats.record(&NewRecord {
            method: request.method().as_str(),
            path: &path,
            query: &query.0,
            verb,
            resource: target.as_ref().map_or("", |target| target.resource.plural),
            accept,
        });
        tracing::debug!(method = %request.method(), uri = %request.uri(), "request");
        // Errors keep the encoding even where the form cannot be served.
        let encoding = negotiate::accept(request.headers(), Wanted::Object).map_or(Encoding::Json, |a| a.encoding);
        let sharded = self.options.sharding && !query.get("shardSelector").is_empty();
        let page = list::page(query.get("continue"));
        let hit = target.as_ref().map(|target| self.faults.draw(target, verb, page, sharded)).unwrap_or_default();
        let budget = hit.body();
        let access = access::check(&self.tokens.read(), request.headers(), target.as_ref(), verb);
        let answer = match (access, &target) {
            _ if is_open(&path) => discovery::serve(&path, encoding),
            (Err(status), _) => Err(status),
            (Ok(()), None) => match review::Review::of(&path) {
                Some(review) if *request.method() == Method::POST => match collect(request.into_body()).await {
                    Ok(body) => review::serve(&self, review, encoding, &body),
                    Err(status) => Err(status),
                },
                _ => discovery::serve(&path, encoding),
            },
            (Ok(()), Some(target)) => self.dispatch(request, target, verb, &query, hit).await,
        };
        let response = answer.unwrap_or_else(|status| error(encoding, &status));
        record.answered(response.status().as_u16());
        response.map(|body| body.observed(record, budget))
    }

    async fn dispatch(
        &self,
        request: Request<impl Payload>,
        target: &Target,
        verb: Verb,
        query: &Query,
        hit: Hit,
    ) -> Answer {
        if let Some((code, retry_after)) = hit.status() {
            return Err(Status::of_code(code, format!("injected fault: {code}"), retry_after));
        }
        let wanted = match verb {
            Verb::List => Wanted::List,
            Verb::Watch | Verb::StreamedList => Wanted::Watch,
            _ => Wanted::Object,
        };
        let accept = negotiate::accept(request.headers(), wanted)?;
        let context = Context { api: self, target, verb, query, accept, hit };
        match verb {
            Verb::Get => context.get(),
            Verb::List => list::serve(&context),
            Verb::Watch | Verb::StreamedList => watch::serve(&context),
            Verb::Other => {
                Err(Status::of_code(405, "the server does not allow this method on the requested resource", None))
            }
            _ => {
                let (parts, body) = request.into_parts();
                let body = collect(body).await?;
                write::serve(&context, &parts.headers, &body)
            }
        }
    }
}

impl Context<'_> {
    fn get(&self) -> Answer {
        match self.target.subresource.as_deref() {
            None | Some("status") => self.object(StatusCode::OK, &*self.existing()?),
            Some(_) => Err(Status::no_such_path()),
        }
    }

    /// The object the path names.
    fn existing(&self) -> Result<Arc<Object>, Status> {
        let name = self.target.name.as_deref().unwrap_or_default();
        let key = Key::new(self.target.namespace.as_deref().unwrap_or_default(), name);
        let found = self.api.cluster.collection(self.target.resource).get(&key);
        found.ok_or_else(|| Status::not_found(self.target.resource, name))
    }

    /// One object in the negotiated encoding and form.
    fn object(&self, code: StatusCode, object: &Object) -> Answer {
        let kind = Kind::of(self.target, self.accept.form);
        let bytes = match self.accept.form {
            Form::Full => object.bytes.clone(),
            Form::Metadata | Form::MetadataList => object.partial(),
        };
        let encoding = self.accept.encoding;
        Ok(respond(code, encoding, encoding.object(kind.message, &kind.api_version, &kind.name, &bytes)))
    }

    /// The request's selectors; a shard selector counts only where the server shards.
    fn selector(&self) -> Result<Selector, Status> {
        let resource = self.target.resource;
        let (labels, fields) = (self.query.get("labelSelector"), self.query.get("fieldSelector"));
        let mut field_selector = FieldSelector::parse(resource, fields).map_err(Status::bad_request)?;
        if let Some(name) = &self.target.name {
            // A watch of one object by its path.
            field_selector =
                FieldSelector::parse(resource, &format!("metadata.name={name}")).map_err(Status::bad_request)?;
        }
        let shard = self.query.get("shardSelector");
        let sharded = self.api.options.sharding && !shard.is_empty() && !self.hit.ignore_shard_selector;
        if let Some(code) = self.hit.refused_shard_selector() {
            return Err(Status::of_code(code, "invalid shard selector: injected fault", None));
        }
        let halved = |parsed: ShardSelector| if self.hit.halve_shard_selector { parsed.halved() } else { parsed };
        Ok(Selector {
            labels: LabelSelector::parse(labels)
                .map_err(|reason| Status::bad_request(format!("unable to parse requirement: {reason}")))?,
            fields: field_selector,
            shard: sharded
                .then(|| ShardSelector::parse(shard).map(halved))
                .transpose()
                .map_err(|reason| Status::internal(&format!("invalid shard selector: {reason}")))?,
        })
    }

    /// The resource version parameter, `None` when unset.
    fn resource_version(&self) -> Result<Option<u64>, Status> {
        let text = self.query.get("resourceVersion");
        if text.is_empty() {
            return Ok(None);
        }
        let invalid = |_| Status::bad_request(format!("invalid resource version {text:?}"));
        text.parse().map(Some).map_err(invalid)
    }
}

/// What answers call the objects in them.
struct Kind {
    message: &'static crate::codec::schema::Message,
    api_version: String,
    name: String,
}

impl Kind {
    fn of(target: &Target, form: Form) -> Self {
        match form {
            Form::Full => Self {
                message: target.resource.message(),
                api_version: target.resource.api_version(),
                name: target.resource.kind.to_owned(),
            },
            Form::Metadata | Form::MetadataList => Self {
                message: crate::codec::schema::message(&format!("{}.PartialObjectMetadata", negotiate::META))
                    .expect("the meta group is in the schema"),
                api_version: "meta.k8s.io/v1".to_owned(),
                name: "PartialObjectMetadata".to_owned(),
            },
        }
    }
}

/// Paths that are served without a token.
fn is_open(path: &str) -> bool {
    matches!(path, "/healthz" | "/livez" | "/readyz" | "/version")
}

async fn collect(body: impl Payload) -> Result<Bytes, Status> {
    let collected = body.collect().await.map_err(|error| Status::bad_request(format!("reading the body: {error}")))?;
    Ok(collected.to_bytes())
}

fn respond(code: StatusCode, encoding: Encoding, body: Vec<u8>) -> Response<Body> {
    with_type(code, encoding.content_type(false), Body::whole(body))
}

fn with_type(code: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

fn error(encoding: Encoding, status: &Status) -> Response<Body> {
    let body = encoding.meta_object("v1", "Status", &status.to_value());
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = respond(code, encoding, body);
    if let Some(seconds) = status.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// Whether a method reads only.
fn is_get(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}
