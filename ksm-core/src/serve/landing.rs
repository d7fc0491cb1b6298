//! The landing page of either port: what this process is and how it is doing, in one look.
//!
//! Plain HTML with its style inside and no script: it works from a port-forward, in a text browser and under any
//! content security policy of a proxy.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use super::pages::waited_for;
use crate::catalogue::{About, Catalogue, ServedResource};
use crate::watch::{Filtering, Phase};

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#1c2430;background:#fff}\
h1{font-size:1.5rem;margin:0}p{margin:.3rem 0 1rem;color:#5a6675}a{color:#2457c5}nav a{margin-right:1rem}\
table{border-collapse:collapse;width:100%;margin-top:1.5rem;font-variant-numeric:tabular-nums}\
th,td{padding:.35rem .6rem;border-bottom:1px solid #e3e7ec;text-align:right}th{color:#5a6675;font-weight:600}\
th:first-child,td:first-child,th.l,td.l{text-align:left}tfoot td{font-weight:600;border:0}\
.ok{color:#1a7f4b}.busy{color:#9a6700}.bad{color:#c0392b}\
@media(prefers-color-scheme:dark){body{color:#dde3ea;background:#14181d}p,th{color:#93a0af}a{color:#7aa2f7}\
th,td{border-color:#2b323b}.ok{color:#4cc38a}.busy{color:#e0b040}.bad{color:#ff7b6b}}";

/// Families that the page names.
const LARGEST: usize = 10;

/// The page of the main port.
pub(super) fn metrics_page(about: &About, catalogue: &Catalogue) -> String {
    let mut page = open(about, "Metrics about the state of Kubernetes objects");
    let ready = match waited_for(about, catalogue) {
        None => "<span class=ok>ready</span>".to_owned(),
        Some(what) => format!("<span class=busy>{}</span>", escape(&what)),
    };
    let mode = escape(&about.part);
    let status = about.shares.status();
    let shard = match status.place {
        Some((0, 1)) => String::new(),
        Some((ordinal, total)) => {
            let more = if status.overlapping { ", and what it had before" } else { "" };
            format!(", shard {ordinal} of {total} by {}{more}", status.scheme)
        }
        None => ", shard not known yet".to_owned(),
    };
    let _ = write!(page, "<p>{mode}{shard}: {ready}</p>");
    links(&mut page);
    page.push_str(
        "<table><thead><tr><th>Resource<th>Objects<th>Samples<th>Bytes<th>Kept packed<th class=l>State<th>Last event\
         <th class=l>Filtered by</thead><tbody>",
    );
    let now = now_ms();
    let (mut objects, mut samples, mut bytes, mut packed) = (0, 0, 0, 0);
    for resource in catalogue.resources() {
        let (count, totals) = resource.totals();
        objects += count as u64;
        samples += totals.samples;
        bytes += totals.bytes;
        let packed_bytes = resource.packed_bytes() as u64;
        packed += packed_bytes;
        let (class, state) = state(resource);
        let _ = write!(
            page,
            "<tr><td><a href=\"metrics?resources={name}\">{name}</a><td>{}<td>{}<td>{}<td>{}<td class=\"l {class}\">{state}\
             <td>{}<td class=l>{}",
            grouped(count as u64),
            grouped(totals.samples),
            size(totals.bytes),
            kept(packed_bytes, totals.bytes),
            last_event(resource, now),
            filtering(resource.filtering()),
            name = escape(resource.plural()),
        );
    }
    let _ = write!(
        page,
        "</tbody><tfoot><tr><td>All<td>{}<td>{}<td>{}<td>{}<td><td><td></tfoot></table>",
        grouped(objects),
        grouped(samples),
        size(bytes),
        kept(packed, bytes)
    );
    largest_families(&mut page, catalogue, samples);
    close(page)
}

/// The families with most samples, and what part of all samples each has.
fn largest_families(page: &mut String, catalogue: &Catalogue, samples: u64) {
    let mut families: Vec<_> = catalogue.resources().iter().flat_map(ServedResource::families).collect();
    families.retain(|(_, totals)| totals.samples > 0);
    families.sort_by_key(|(name, totals)| (std::cmp::Reverse(totals.samples), *name));
    if families.is_empty() {
        return;
    }
    page.push_str("<table><thead><tr><th>Families with most samples<th>Samples<th>Of all<th>Bytes</thead><tbody>");
    for (name, totals) in families.iter().take(LARGEST) {
        let share = 100.0 * totals.samples as f64 / samples.max(1) as f64;
        let (count, bytes) = (grouped(totals.samples), size(totals.bytes));
        let _ = write!(page, "<tr><td>{}<td>{count}<td>{share:.1} %<td>{bytes}", escape(name));
    }
    page.push_str("</tbody></table>");
}

/// The page of the telemetry port.
pub(super) fn telemetry_page(about: &About) -> String {
    let mut page = open(about, "What this process says of itself");
    links(&mut page);
    close(page)
}

fn open(about: &About, subtitle: &str) -> String {
    let name = about.build.name;
    format!(
        "<!DOCTYPE html><html lang=en><head><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width,initial-scale=1\"><title>{name}</title>\
         <style>{STYLE}</style></head><body><h1>{name}</h1><p>{subtitle}. {}</p>",
        escape(&about.build.version_line())
    )
}

fn links(page: &mut String) {
    page.push_str("<nav>");
    for path in ["metrics", "healthz", "livez", "readyz"] {
        let _ = write!(page, "<a href=\"{path}\">/{path}</a>");
    }
    page.push_str("</nav>");
}

fn close(mut page: String) -> String {
    page.push_str("</body></html>\n");
    page
}

/// A class and words for the state of all list/watches together.
fn state(resource: &ServedResource) -> (&'static str, String) {
    let refused = resource.progress().iter().filter(|progress| progress.is_refused()).count();
    if refused > 0 {
        return ("bad", format!("refused{}", of_many(refused, resource.progress().len())));
    }
    let phase = resource.phase();
    let there = resource.progress().iter().filter(|progress| progress.phase() == phase).count();
    let class = match phase {
        Phase::Watching => "ok",
        Phase::Listing => "busy",
        Phase::BackingOff => "bad",
    };
    (class, format!("{}{}", phase.word(), of_many(there, resource.progress().len())))
}

fn of_many(count: usize, all: usize) -> String {
    if all > 1 { format!(" ({count} of {all})") } else { String::new() }
}

fn last_event(resource: &ServedResource, now: u64) -> String {
    match resource.progress().iter().map(|progress| progress.last_event_ms.get()).max() {
        None | Some(0) => "never".to_owned(),
        Some(last) => format!("{} ago", age(now.saturating_sub(last) / 1000)),
    }
}

const fn filtering(filtering: Filtering) -> &'static str {
    match filtering {
        Filtering::None => "",
        Filtering::Local => "this process",
        Filtering::ServerSide => "the API server",
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Seconds in the largest whole unit.
fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// Bytes that are kept packed of so much text. Little text is kept as it is, until somebody takes gzip.
fn kept(packed: u64, text: u64) -> String {
    if packed == 0 && text > 0 { "plain".to_owned() } else { size(packed) }
}

/// Bytes in a unit that leaves at most four digits.
fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 1000.0 {
            let digits = usize::from(unit != "B" && value < 100.0);
            return format!("{value:.digits$} {unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shard_is_named_once_it_is_known() {
        use crate::shard::{Scheme, Shard};
        use crate::watch::Shares;

        let page = |shares: Shares| {
            let about = About { build: crate::build!(), part: "All resources".to_owned(), shares };
            metrics_page(&about, &Catalogue::new(Vec::new()))
        };
        let fixed = |ordinal, total| page(Shard::new(ordinal, total, Scheme::Md5).unwrap().into());
        assert!(fixed(1, 3).contains("<p>All resources, shard 1 of 3 by md5: <span"));
        assert!(fixed(0, 1).contains("<p>All resources: <span"));
        let shares = Shares::unknown(Scheme::Range);
        assert!(page(shares.clone()).contains("<p>All resources, shard not known yet: <span"));
        shares.update(|status| {
            status.place = Some((0, 2));
            status.overlapping = true;
        });
        assert!(page(shares).contains("shard 0 of 2 by range, and what it had before: <span"));
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1\u{202f}000", "1\u{202f}234\u{202f}567"]);
        assert_eq!([0, 999, 1500, 123_456, 89_200_000].map(size), ["0 B", "999 B", "1.5 kB", "123 kB", "89.2 MB"]);
        assert_eq!([0, 59, 60, 7199, 200_000].map(age), ["0 s", "59 s", "1 min", "1 h", "2 d"]);
        assert_eq!([(0, 0), (0, 9), (7, 9)].map(|(packed, text)| kept(packed, text)), ["0 B", "plain", "7 B"]);
        assert_eq!(escape("<a&\"b\">"), "&lt;a&amp;&quot;b&quot;&gt;");
    }
}
