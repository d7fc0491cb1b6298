//! `explain`: where the samples and bytes of an exposition are, and what lists would save.
//!
//! The exposition is that of manifests, of a file, or of a running target; its families are shown before any allow- or
//! denylist, and the lists given say what is saved.

mod table;
mod tally;

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::Arc;

use kube::Config;

use self::tally::Tally;
use super::{Failure, client, manifests};
use crate::chain::chain;
use crate::exposition::Format;
use crate::family::Plan;
use crate::options::{Enabled, Settings};
use crate::serve;

/// Explains what is in `files`, or what `url` serves.
pub(super) fn run(settings: &Settings, files: &[OsString], url: Option<&str>) -> Result<(), Failure> {
    for warning in &settings.warnings {
        eprintln!("warning: {warning}");
    }
    let tally = match url {
        Some(url) => Tally::of(&fetch(url)?),
        None => of_inputs(settings, &manifests::read(files)?)?,
    };
    let text = table::report(&tally, settings);
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Failure::Output),
    }
}

/// Expositions are taken as they are; everything else is manifests.
fn of_inputs(settings: &Settings, inputs: &[(String, String)]) -> Result<Tally, Failure> {
    let is_exposition = |text: &str| text.trim_start().starts_with("# ") && text.contains("\n# TYPE ");
    if !inputs.is_empty() && inputs.iter().all(|(_, text)| is_exposition(text)) {
        return Ok(Tally::of(&inputs.iter().map(|(_, text)| text.as_str()).collect::<String>()));
    }
    let catalogue = manifests::catalogue(&without_lists(settings), inputs)?;
    let mut text = Vec::new();
    serve::write_all(&catalogue, Format::Text, &mut text).map_err(Failure::Output)?;
    Ok(Tally::of(&String::from_utf8_lossy(&text)))
}

/// The same settings with every family that is not on request, whatever allow- and denylist say.
fn without_lists(settings: &Settings) -> Settings {
    let unlisted = |enabled: &Enabled| {
        let table = enabled.resource.families();
        let Plan { labels, annotations, .. } = &enabled.plan;
        let is_served = |family: &crate::family::FamilyInfo<'_>| settings.lists.opts_in(family).unwrap_or(false);
        let plan = Plan::new(&table, is_served, labels.clone(), annotations.clone());
        Enabled { resource: Arc::clone(&enabled.resource), plan }
    };
    Settings { resources: settings.resources.iter().map(unlisted).collect(), ..settings.clone() }
}

/// The exposition that a target serves.
fn fetch(url: &str) -> Result<String, Failure> {
    let failed = |reason: String| Failure::Content { name: url.to_owned(), reason };
    let uri: http::Uri = url.parse().map_err(|error| failed(format!("no URL: {error}")))?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(failed("no URL: expected one like http://127.0.0.1:8080/metrics".to_owned()));
    };
    let base = format!("{scheme}://{authority}").parse().map_err(|error| failed(format!("no URL: {error}")))?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::Runtime)?;
    runtime.block_on(async {
        let client = client::client(Config::new(base), None).map_err(|error| failed(chain(&error)))?;
        let request = http::Request::get(path).header(http::header::ACCEPT, "text/plain;version=0.0.4");
        let request = request.body(Vec::new()).map_err(|error| failed(chain(&error)))?;
        client.request_text(request).await.map_err(|error| failed(chain(&error)))
    })
}
