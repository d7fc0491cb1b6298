//! The test bed's own paths, under `/testbed/`: faults, statistics, compaction, expiry, outages and generated objects.
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
//! | `POST variety?seed=S&seeds=N&objects=M&resources=a,b&marker=NAME&keep=BOOL` | replaces all objects by [generated ones](Variety), or adds some |

use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::{Answer, Api, Payload, collect, error, is_get, respond};
use crate::{
    Variety, body::Body, faults::Rule, negotiate::Encoding, request::Query, resources::by_plural, status::Status,
};

pub(super) async fn serve(api: &Api, path: &str, request: Request<impl Payload>) -> Response<Body> {
    answer(api, path, request).await.unwrap_or_else(|status| error(Encoding::Json, &status))
}

async fn answer(api: &Api, path: &str, request: Request<impl Payload>) -> Answer {
    let (head, body) = request.into_parts();
    // Read also where nothing is expected: hyper closes a connection whose request it has not seen the end of.
    let body = collect(body).await?;
    let query = Query::parse(&head.uri);
    let value = match (&head.method, path) {
        (method, "faults") if is_get(method) => json!(api.faults.pending()),
        (&Method::POST, "faults") => {
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
            let resource = query.get("resource");
            api.cluster.expire_watches(resource).map_err(|error| Status::bad_request(error.to_string()))?;
            json!({"resource": resource})
        }
        (&Method::POST, "outage") => {
            let milliseconds = query.number("milliseconds")?.unwrap_or(1000);
            api.outages.begin(Duration::from_millis(milliseconds));
            json!({"milliseconds": milliseconds})
        }
        (&Method::POST, "variety") => {
            let variety = variety(&query)?;
            let cluster = api.cluster.clone();
            // It takes seconds; other requests must go on meanwhile.
            let made = tokio::task::spawn_blocking(move || cluster.vary(&variety)).await;
            json!({"objects": made.map_err(|error| Status::internal(&error.to_string()))?})
        }
        _ => return Err(Status::no_such_path()),
    };
    Ok(respond(StatusCode::OK, Encoding::Json, format!("{value}\n").into_bytes()))
}

fn variety(query: &Query) -> Result<Variety, Status> {
    let listed = query.get("resources").split(',').filter(|name| !name.is_empty());
    let unknown = |name: &&str| by_plural(name).is_none();
    if let Some(name) = listed.clone().find(unknown) {
        return Err(Status::bad_request(format!("no resource is called {name:?}")));
    }
    Ok(Variety {
        seed: query.number("seed")?.unwrap_or(1),
        seeds: query.number("seeds")?.unwrap_or(1),
        objects: usize::try_from(query.number("objects")?.unwrap_or(12)).unwrap_or(usize::MAX),
        resources: listed.map(str::to_owned).collect(),
        marker: Some(query.get("marker").to_owned()).filter(|name| !name.is_empty()),
        keep: query.flag("keep"),
    })
}

fn rules(body: &[u8]) -> serde_json::Result<Vec<Rule>> {
    match serde_json::from_slice(body)? {
        Value::Array(rules) => rules.into_iter().map(serde_json::from_value).collect(),
        rule => Ok(vec![serde_json::from_value(rule)?]),
    }
}
