//! A small HTTP client that shows what is on the wire, and samples for all tests.

use std::{net::SocketAddr, time::Duration};

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use k8s_pb::apimachinery::pkg::{
    apis::meta::v1::{PartialObjectMetadata, Status, WatchEvent},
    runtime::Unknown,
};
use ksm_testbed::{Builder, Testbed};
use prost::Message;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// Whatever takes longer has failed.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// How long to see that nothing comes.
const A_WHILE: Duration = Duration::from_millis(50);

pub const JSON: &str = "application/json";
pub const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
pub const STREAMED: &str =
    "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

pub async fn start(builder: Builder) -> (Testbed, Client) {
    let testbed = builder.start().await.unwrap();
    let address = testbed.url().strip_prefix("http://").unwrap().parse().unwrap();
    (testbed, Client { address, token: None })
}

pub async fn empty() -> (Testbed, Client) {
    start(Testbed::builder()).await
}

pub fn pod(namespace: &str, name: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "labels": {"app": name, "node": node}},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Running"},
    })
}

pub struct Client {
    pub address: SocketAddr,
    pub token: Option<&'static str>,
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Code and reason of the status object.
    pub fn error(&self) -> (u16, String) {
        let status = self.json();
        assert_eq!((&status["kind"], &status["status"]), (&json!("Status"), &json!("Failure")));
        assert_eq!(status["code"], self.status.as_u16());
        (self.status.as_u16(), status["reason"].as_str().unwrap_or_default().to_owned())
    }
}

/// Takes a protobuf envelope apart: kind and message.
pub fn open(body: &[u8]) -> (String, Bytes) {
    let unknown = Unknown::decode(body.strip_prefix(b"k8s\0").expect("the magic")).unwrap();
    (unknown.type_meta.unwrap().kind.unwrap(), unknown.raw.unwrap().into())
}

impl Client {
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> (http1::SendRequest<Full<Bytes>>, http::Response<Incoming>) {
        let connect = async {
            let stream = TcpStream::connect(self.address).await.unwrap();
            let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
            tokio::spawn(connection);
            let mut request = Request::builder().method(method).uri(path).header(header::HOST, "testbed");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            if let Some(token) = self.token {
                request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
            }
            let response = sender.send_request(request.body(Full::new(body)).unwrap()).await.unwrap();
            (sender, response)
        };
        tokio::time::timeout(DEADLINE, connect).await.expect("an answer in time")
    }

    pub async fn request(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Bytes) -> Answer {
        let (_sender, response) = self.send(method, path, headers, body).await;
        let (parts, body) = response.into_parts();
        let body = tokio::time::timeout(DEADLINE, body.collect()).await.expect("a body in time").unwrap().to_bytes();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub async fn get(&self, path: &str, accept: &str) -> Answer {
        self.request(Method::GET, path, &[("accept", accept)], Bytes::new()).await
    }

    pub async fn json(&self, path: &str) -> Value {
        let answer = self.get(path, JSON).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {:?}", answer.body);
        answer.json()
    }

    /// Names of the listed objects, in order.
    pub async fn names(&self, path: &str) -> Vec<String> {
        let list = self.json(path).await;
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Starts a watch.
    pub async fn watch(&self, path: &str, accept: &str) -> Watch {
        let (sender, response) = self.send(Method::GET, path, &[("accept", accept)], Bytes::new()).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let protobuf = response.headers()[header::CONTENT_TYPE].to_str().unwrap().starts_with(PROTOBUF);
        Watch { _sender: sender, body: response.into_body(), protobuf, buffer: BytesMut::new() }
    }
}

/// What comes next on a watch.
#[derive(Debug, PartialEq)]
pub enum Next {
    /// Type and the frame without its length (JSON: the line).
    Event(String, Value),
    /// The body has ended as it should.
    End,
    /// The connection has broken.
    Broken,
}

pub struct Watch {
    _sender: http1::SendRequest<Full<Bytes>>,
    body: Incoming,
    protobuf: bool,
    buffer: BytesMut,
}

impl Watch {
    /// The next event. Protobuf objects are shown as `{"kind", "metadata": {"name", "resourceVersion", "annotations"}}`.
    pub async fn next(&mut self) -> Next {
        loop {
            if let Some(frame) = self.frame() {
                return self.event(&frame);
            }
            match tokio::time::timeout(DEADLINE, self.body.frame()).await.expect("an event in time") {
                Some(Ok(frame)) => self.buffer.extend_from_slice(&frame.into_data().unwrap()),
                Some(Err(_)) => return Next::Broken,
                None => return Next::End,
            }
        }
    }

    /// Type, name and resource version of the next event.
    pub async fn brief(&mut self) -> (String, String, u64) {
        match self.next().await {
            Next::Event(kind, object) => {
                let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
                (kind, text("name"), text("resourceVersion").parse().unwrap_or_default())
            }
            other => panic!("expected an event, got {other:?}"),
        }
    }

    /// The next frame as it is, without length or line end.
    pub async fn raw(&mut self) -> Bytes {
        loop {
            if let Some(frame) = self.frame() {
                return frame;
            }
            let frame = tokio::time::timeout(DEADLINE, self.body.frame()).await.expect("a frame in time");
            self.buffer.extend_from_slice(&frame.unwrap().unwrap().into_data().unwrap());
        }
    }

    /// Waits until so many bytes have come that make up no frame, and nothing comes behind them.
    pub async fn halts_after(&mut self, bytes: usize) {
        let halted = async {
            while tokio::time::timeout(A_WHILE, self.next()).await.is_err() {
                if self.buffer.len() >= bytes {
                    return true;
                }
            }
            false
        };
        assert!(tokio::time::timeout(DEADLINE, halted).await.expect("so many bytes in time"), "something comes");
    }

    /// Bytes that came without making up a frame.
    pub fn rest(&self) -> &[u8] {
        &self.buffer
    }

    fn frame(&mut self) -> Option<Bytes> {
        if !self.protobuf {
            let end = self.buffer.iter().position(|byte| *byte == b'\n')?;
            let line = self.buffer.split_to(end).freeze();
            self.buffer.advance(1);
            return Some(line);
        }
        let length = u32::from_be_bytes(*self.buffer.first_chunk::<4>()?) as usize;
        if self.buffer.len() < 4 + length {
            return None;
        }
        self.buffer.advance(4);
        Some(self.buffer.split_to(length).freeze())
    }

    fn event(&self, frame: &[u8]) -> Next {
        if !self.protobuf {
            let mut event: Value = serde_json::from_slice(frame).unwrap();
            return Next::Event(event["type"].as_str().unwrap().to_owned(), event["object"].take());
        }
        let event = WatchEvent::decode(frame).unwrap();
        let (kind, raw) = open(&event.object.unwrap().raw.unwrap());
        // Metadata is the first field of every kind, statuses included.
        let object = PartialObjectMetadata::decode(raw.clone()).ok();
        let code = (kind == "Status").then(|| Status::decode(raw).unwrap().code);
        let metadata = object.and_then(|object| object.metadata).unwrap_or_default();
        Next::Event(
            event.r#type.unwrap(),
            json!({"kind": kind, "code": code.flatten(), "metadata": {"name": metadata.name,
                "resourceVersion": metadata.resource_version, "annotations": metadata.annotations}}),
        )
    }
}
