//! The test bed's own paths, under `/testbed/`: faults, statistics, compaction, expiry and outages.
//!
//! | request | what it does |
//! |---|---|
//! | `GET faults` | the rules in force |
//! | `POST faults` | adds a rule, or a list of rules |
//! | `DELETE faults` | removes all rules |
//! | `GET stats`, `DELETE stats` | what clients did; forgets it |
//! | `POST compact` | forgets the history of events |
//! | `POST expire?resource=PLURAL` | ends the open watches of a resource with a 410 |
//! | `POST outage?milliseconds=N` | closes all connections and refuses new ones for a time |

use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::{Answer, Api, collect, error, is_get, respond};
use crate::{body::Body, faults::Rule, negotiate::Encoding, request::Query, status::Status};

pub(super) async fn serve(api: &Api, path: &str, request: Request<Incoming>) -> Response<Body> {
    answer(api, path, request).await.unwrap_or_else(|status| error(Encoding::Json, &status))
}

async fn answer(api: &Api, path: &str, request: Request<Incoming>) -> Answer {
    let value = match (request.method(), path) {
        (method, "faults") if is_get(method) => json!(api.faults.pending()),
        (&Method::POST, "faults") => {
            let body = collect(request.into_body()).await?;
            for rule in rules(&body).map_err(|error| Status::bad_request(error.to_string()))? {
                api.faults.add(rule);
            }
            json!(api.faults.pending())
        }
        (&Method::DELETE, "faults") => {
            api.faults.clear();
            Value::Array(Vec::new())
        }
        (method, "stats") if is_get(method) => api.stats.to_value(),
        (&Method::DELETE, "stats") => {
            api.stats.reset();
            api.stats.to_value()
        }
        (&Method::POST, "compact") => {
            api.cluster.compact();
            json!({"resourceVersion": api.cluster.resource_version().to_string()})
        }
        (&Method::POST, "expire") => {
            let query = Query::parse(request.uri());
            let resource = query.get("resource");
            api.cluster.expire_watches(resource).map_err(|error| Status::bad_request(error.to_string()))?;
            json!({"resource": resource})
        }
        (&Method::POST, "outage") => {
            let milliseconds = Query::parse(request.uri()).number("milliseconds")?.unwrap_or(1000);
            api.outages.begin(Duration::from_millis(milliseconds));
            json!({"milliseconds": milliseconds})
        }
        _ => return Err(Status::no_such_path()),
    };
    Ok(respond(StatusCode::OK, Encoding::Json, format!("{value}\n").into_bytes()))
}

fn rules(body: &[u8]) -> serde_json::Result<Vec<Rule>> {
    match serde_json::from_slice(body)? {
        Value::Array(rules) => rules.into_iter().map(serde_json::from_value).collect(),
        rule => Ok(vec![serde_json::from_value(rule)?]),
    }
}
