//! `docs/options.md`: the options of `ksm-shard` in full, and what sets the other binaries apart from it.
//!
//! Invariant: options are in the words of the binaries; only what is around the tables is written here.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cargo::{self, SHIPPED};

const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask docs` from what the binaries say of themselves. -->

# Options

Names and meaning are those of kube-state-metrics v2.20 where it has the option; `docs/migrating.md` lists what differs.

- **Where from**: the configuration file (`--config`) overrides flags, flags override the environment, all override defaults. A \
list in the file takes the place of the flag's list, it is not added to it; an empty list leaves the flag's.
- **Lists** are separated by commas; blanks, line breaks and empty entries do not count. Repeated flags add up, but of \
repeated label and annotation lists the last one counts. In the file, a list may also be a YAML list or a map without \
values (`resources: {pods: {}}`), and label lists are maps of lists (`labels_allow_list: {pods: [app, team]}`). Names \
stay as they are written, without quotes too: `namespaces: [se, no]` are two namespaces.
- **Patterns** match anywhere in the name of a family and may look around (`^kube_(?!pod_).*`). One that takes more than \
a million steps on a name is refused.
- **Durations** are written as in Go: `5s`, `1m30s`, `250ms`. In the file, the bare number of a `server_*_timeout` is \
nanoseconds, as Go's YAML has it.
- **Proxies**: `proxy-url` of the kubeconfig, or else `HTTPS_PROXY` (`HTTP_PROXY` for an API server without TLS) but for \
what `NO_PROXY` names and the loopback. They may be `http://` or `socks5://`.
- **Changes**: the configuration file, and the kubeconfig and the file of `--tls-config` with the certificates and keys \
that they name, are read every second. A new configuration is listed aside, while the one before is served, and takes \
its place in one step; until then it takes memory beside it. What makes no sense changes nothing. Neither does what \
would empty something that is served, because the API server refuses it (a wrong token, a right that is not there) or \
cannot list it: that is tried on until it works or the files change again. Both are told in the log and by \
`kube_state_metrics_last_config_reload_successful`, lists that do not come without an error after a minute; \
`kube_state_metrics_sharded_reload_waiting` says meanwhile what is waited for. Hosts, ports, time limits, `tls_config` and `auth_filter` are \
taken at the next start only, as is switching TLS on or off; the log says so, and \
`kube_state_metrics_sharded_restart_needed` has a sample for each key until then.
- **Guards**: `--tls-config` takes the [web configuration](https://github.com/prometheus/exporter-toolkit/blob/master/\
docs/web-configuration.md) of Prometheus exporters, but for `rate_limit`, `client_allowed_sans` and client certificates \
that are not verified, which are refused. `--auth-filter` needs the right to create `tokenreviews` \
(`authentication.k8s.io`) and `subjectaccessreviews` (`authorization.k8s.io`); who reads needs the right to `get` the \
non-resource URL. A permission is remembered for a minute, a refusal for ten seconds; if the API server cannot be asked, \
the answer is 503. `/healthz`, `/livez` and `/readyz` are open under every setting.

Besides options there are [commands](#commands). Two of them, `render` and `explain`, look at manifests without any \
server; the options of serving apply to them:

```console
$ kubectl get pods,nodes -A -o json | ksm-shard render --metric-labels-allowlist='pods=[app]'
$ ksm-shard explain -f manifests.yaml --metric-denylist='^kube_pod_status_'
$ ksm-shard explain --url http://127.0.0.1:8080/metrics
$ curl -s --cacert ca.crt -H \"Authorization: Bearer $TOKEN\" https://metrics.example/metrics | ksm-shard explain
```

The last one is for targets behind a guard.
";

/// Writes the page.
pub fn write() -> Result<()> {
    let path = path();
    std::fs::write(&path, page()?).with_context(|| format!("cannot write {}", path.display()))
}

/// Fails if the page is not what the binaries say.
pub fn compare() -> Result<()> {
    let path = path();
    let found = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    if found != page()? {
        bail!("{} is not what the binaries say: run `cargo xtask docs`", path.display());
    }
    Ok(())
}

fn path() -> PathBuf {
    cargo::workspace_root().join("docs/options.md")
}

fn page() -> Result<String> {
    let binaries = cargo::binaries(&SHIPPED, None)?;
    // A build may have made more than was asked for.
    let tables = SHIPPED.into_iter().map(|name| Ok((name, table(&binaries[name])?)));
    Ok(compose(&tables.collect::<Result<BTreeMap<_, _>>>()?))
}

fn table(binary: &Path) -> Result<String> {
    let output = Command::new(binary).arg("options").output();
    let output = output.with_context(|| format!("cannot run {}", binary.display()))?;
    if !output.status.success() {
        bail!("{} options: {}", binary.display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).context("the table is not UTF-8")
}

/// The page, given each binary's table.
fn compose(tables: &BTreeMap<&str, String>) -> String {
    let mut text = INTRODUCTION.to_owned();
    let Some(full) = tables.get("ksm-shard") else { return text };
    let _ = write!(text, "\n## ksm-shard\n\n{full}");
    for (name, table) in tables.iter().filter(|(name, _)| **name != "ksm-shard") {
        let _ = write!(text, "\n## {name}\n\nThe options of ksm-shard");
        let without: Vec<&str> =
            rows(full).filter(|row| !rows(table).any(|other| option(other) == option(row))).collect();
        if !without.is_empty() {
            // Only in a table a bar is escaped.
            let names: Vec<String> = without.iter().map(|row| option(row).replace("\\|", "|")).collect();
            let _ = write!(text, ", without {}", names.join(", "));
        }
        let own: Vec<&str> = rows(table).filter(|row| !rows(full).any(|other| other == *row)).collect();
        if !own.is_empty() {
            text.push_str(", and:\n\n| option | environment | file | meaning |\n|---|---|---|---|\n");
            for row in own {
                let _ = writeln!(text, "{row}");
            }
        } else {
            text.push_str(".\n");
        }
    }
    text
}

/// Rows of options, without heads of tables.
fn rows(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter(|line| line.starts_with("| `"))
}

/// The option in a row.
fn option(row: &str) -> &str {
    row.trim_start_matches("| ").split(" | ").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_binaries_are_described_by_what_differs() {
        let table = |rows: &[&str]| {
            format!("### Topic\n\n| option | environment | file | meaning |\n|---|---|---|---|\n{}\n", rows.join("\n"))
        };
        let [a, b, c] =
            ["| `--a` | `A` |  | A. |", "| `--b=x\\|y` | `B` |  | B. |", "| `--b=x\\|y` | `B` |  | Other. |"];
        let tables =
            BTreeMap::from([("ksm-shard", table(&[a, b])), ("ksm-node", table(&[a, c])), ("ksm-rest", table(&[a]))]);
        let page = compose(&tables);
        let (_, page) = page.split_once("\n## ksm-shard\n\n").unwrap();
        assert_eq!(
            page,
            format!(
                "{}\n## ksm-node\n\nThe options of ksm-shard, and:\n\n| option | environment | file | meaning |\n\
                 |---|---|---|---|\n{c}\n\n## ksm-rest\n\nThe options of ksm-shard, without `--b=x|y`.\n",
                table(&[a, b])
            )
        );
    }
}
