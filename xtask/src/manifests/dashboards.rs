//! Grafana dashboards, made from short descriptions in `deploy/monitoring/dashboards`: what a panel asks and how it is
//! shown, without where it stands and what all panels have in common.
//!
//! Invariant: panels fill rows from left to right without overlapping, and every `<word>` of an expression is spelt out.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cargo;

/// Where descriptions and dashboards are, from the root of the workspace.
pub const FOLDER: &str = "deploy/monitoring/dashboards";

/// Columns of Grafana's grid.
const COLUMNS: u32 = 24;

/// The version of Grafana's schema that is written, that of Grafana 12; later ones read it.
const SCHEMA: u32 = 41;

/// Links between dashboards that have it.
const TAG: &str = "kube-state-metrics";

/// A description.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dashboard {
    title: String,
    uid: String,
    description: String,
    /// What stands for a text that many expressions share.
    words: BTreeMap<String, String>,
    variables: Vec<Variable>,
    rows: Vec<Row>,
}

/// A choice at the head of the dashboard, of all by default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variable {
    name: String,
    label: String,
    query: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    title: String,
    panels: Vec<Panel>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Panel {
    title: String,
    help: String,
    #[serde(default, rename = "type")]
    shape: Shape,
    /// Columns; by default an eighth of a row for a number, a third for others.
    width: Option<u32>,
    /// Grafana's name of the unit.
    #[serde(default = "short")]
    unit: String,
    /// Whether lines are laid on top of each other.
    #[serde(default)]
    stack: bool,
    /// What a table calls the column with the numbers; without it they are left out.
    value: Option<String>,
    /// From which value on a number is yellow.
    warning: Option<u32>,
    /// From which value on a number is red.
    alarm: Option<u32>,
    queries: Vec<Query>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    expr: String,
    legend: Option<String>,
}

/// How a panel shows its data.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Shape {
    /// Lines over time.
    #[default]
    Lines,
    /// One number.
    Stat,
    /// A bar for each result.
    Bars,
    /// A row for each result.
    Table,
}

fn short() -> String {
    "short".to_owned()
}

/// The dashboards by path from the root of the workspace.
pub fn files() -> Result<BTreeMap<String, String>> {
    let folder = cargo::workspace_root().join(FOLDER);
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        let is_description = path.extension().is_some_and(|extension| extension == "yaml");
        if is_description && !path.ends_with("kustomization.yaml") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            files.insert(format!("{FOLDER}/{name}.json"), read(&path)?);
        }
    }
    ensure!(!files.is_empty(), "{FOLDER} describes no dashboard");
    Ok(files)
}

fn read(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let dashboard: Dashboard = serde_norway::from_str(&text).with_context(|| path.display().to_string())?;
    let dashboard = dashboard.render().with_context(|| path.display().to_string())?;
    Ok(format!("{dashboard:#}\n"))
}

impl Dashboard {
    fn render(&self) -> Result<Value> {
        let mut panels = Vec::new();
        let mut top = 0;
        for row in &self.rows {
            panels.push(json!({
                "id": panels.len() + 1, "type": "row", "title": row.title, "collapsed": false, "panels": [],
                "gridPos": {"x": 0, "y": top, "w": COLUMNS, "h": 1},
            }));
            top += 1;
            let (mut left, mut height) = (0, 0);
            for panel in &row.panels {
                if left + panel.width() > COLUMNS {
                    (left, top, height) = (0, top + height, 0);
                }
                let place = json!({"x": left, "y": top, "w": panel.width(), "h": panel.height()});
                let panel_json = panel.render(panels.len() + 1, &place, &self.words);
                panels.push(panel_json.with_context(|| format!("the panel `{}`", panel.title))?);
                (left, height) = (left + panel.width(), height.max(panel.height()));
            }
            top += height;
        }
        let mut variables = vec![json!({
            "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "current": {},
        })];
        variables.extend(self.variables.iter().map(Variable::render));
        Ok(json!({
            "title": self.title,
            "uid": self.uid,
            "description": format!("{} Written by `cargo xtask manifests`.", self.description),
            "tags": ["kubernetes", TAG],
            "links": [{"type": "dashboards", "title": "", "tags": [TAG], "includeVars": true, "keepTime": true, "asDropdown": false,
                "icon": "external link", "targetBlank": false, "tooltip": "", "url": ""}],
            "schemaVersion": SCHEMA,
            "version": 1,
            "editable": true,
            "graphTooltip": 1,
            "refresh": "1m",
            "time": {"from": "now-6h", "to": "now"},
            "timepicker": {},
            "timezone": "",
            "annotations": {"list": []},
            "templating": {"list": variables},
            "panels": panels,
        }))
    }
}

impl Variable {
    fn render(&self) -> Value {
        json!({
            "name": self.name, "label": self.label, "type": "query", "datasource": source(),
            "definition": self.query, "query": {"query": self.query, "refId": self.name},
            // All is whatever there is, a label that is missing included.
            "includeAll": true, "allValue": ".*", "multi": true, "current": {"text": ["All"], "value": ["$__all"]},
            "refresh": 2, "sort": 1, "options": [],
        })
    }
}

impl Panel {
    fn width(&self) -> u32 {
        self.width.unwrap_or(if self.shape == Shape::Stat { 3 } else { 8 })
    }

    fn height(&self) -> u32 {
        if self.shape == Shape::Stat { 4 } else { 8 }
    }

    fn render(&self, id: usize, place: &Value, words: &BTreeMap<String, String>) -> Result<Value> {
        ensure!(!self.queries.is_empty() && self.queries.len() < 27, "{} queries", self.queries.len());
        ensure!((1..=COLUMNS).contains(&self.width()), "{} columns wide", self.width());
        let targets = self.queries.iter().zip('A'..).map(|(query, name)| {
            let now = matches!(self.shape, Shape::Bars | Shape::Table);
            Ok(json!({
                "refId": name.to_string(), "datasource": source(), "editorMode": "code",
                "expr": spell_out(&query.expr, words)?, "legendFormat": query.legend.as_deref().unwrap_or_default(),
                "format": if self.shape == Shape::Table { "table" } else { "time_series" },
                "instant": now, "range": !now,
            }))
        });
        let targets = targets.collect::<Result<Vec<Value>>>()?;
        let mut defaults = json!({"unit": self.unit, "min": 0});
        let options = match self.shape {
            Shape::Lines => {
                let stacking = if self.stack { "normal" } else { "none" };
                defaults["custom"] = json!({"fillOpacity": if self.stack { 40 } else { 0 }, "lineWidth": 1,
                    "showPoints": "never", "stacking": {"mode": stacking, "group": "A"}});
                json!({"legend": {"displayMode": "list", "placement": "bottom", "showLegend": true},
                    "tooltip": {"mode": "multi", "sort": "desc"}})
            }
            Shape::Stat => {
                // Sums over nothing are nothing, which means that there is none.
                defaults["noValue"] = json!("0");
                defaults["thresholds"] = self.thresholds();
                json!({"colorMode": "value", "graphMode": "area", "justifyMode": "auto", "orientation": "auto",
                    "textMode": "auto", "wideLayout": true, "reduceOptions": reduce()})
            }
            Shape::Bars => {
                if self.unit == "percentunit" {
                    defaults["max"] = json!(1);
                    defaults["thresholds"] = json!({"mode": "absolute", "steps": [{"color": "green", "value": null},
                        {"color": "yellow", "value": 0.8}, {"color": "red", "value": 0.95}]});
                }
                json!({"displayMode": "basic", "orientation": "horizontal", "valueMode": "color", "showUnfilled": true,
                    "namePlacement": "auto", "sizing": "auto", "minVizWidth": 8, "minVizHeight": 16, "maxVizHeight": 300,
                    "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": false},
                    "reduceOptions": reduce()})
            }
            Shape::Table => {
                defaults["noValue"] = json!("None");
                json!({"cellHeight": "sm", "showHeader": true,
                    "footer": {"show": false, "reducer": ["sum"], "countRows": false, "fields": ""}})
            }
        };
        let mut panel = json!({
            "id": id, "type": self.shape.name(), "title": self.title, "description": self.help, "gridPos": place,
            "datasource": source(), "targets": targets, "fieldConfig": {"defaults": defaults, "overrides": []},
            "options": options,
        });
        ensure!(self.value.is_none() || self.shape == Shape::Table, "only a table has a `value`");
        if self.shape == Shape::Table {
            let mut columns =
                json!({"excludeByName": {"Time": true}, "includeByName": {}, "indexByName": {}, "renameByName": {}});
            match &self.value {
                Some(name) => columns["renameByName"]["Value"] = json!(name),
                None => columns["excludeByName"]["Value"] = json!(true),
            }
            panel["transformations"] = json!([{"id": "organize", "options": columns}]);
        }
        Ok(panel)
    }

    fn thresholds(&self) -> Value {
        let mut steps = vec![json!({"color": if self.is_trouble() { "green" } else { "text" }, "value": null})];
        let levels = [("yellow", self.warning), ("red", self.alarm)];
        steps.extend(levels.iter().filter_map(|(color, from)| Some(json!({"color": color, "value": (*from)?}))));
        json!({"mode": "absolute", "steps": steps})
    }

    fn is_trouble(&self) -> bool {
        self.warning.is_some() || self.alarm.is_some()
    }
}

impl Shape {
    /// Grafana's name.
    fn name(self) -> &'static str {
        match self {
            Self::Lines => "timeseries",
            Self::Stat => "stat",
            Self::Bars => "bargauge",
            Self::Table => "table",
        }
    }
}

/// Where data comes from: what is chosen at the head of the dashboard.
fn source() -> Value {
    json!({"type": "prometheus", "uid": "${datasource}"})
}

/// Of a series, its last value.
fn reduce() -> Value {
    json!({"calcs": ["lastNotNull"], "fields": "", "values": false})
}

/// An expression with each `<word>` replaced, words in what they stand for included.
fn spell_out(expression: &str, words: &BTreeMap<String, String>) -> Result<String> {
    let mut text = expression.to_owned();
    // Words may stand for others, but not for themselves.
    for _ in 0..=words.len() {
        text = words.iter().fold(text, |text, (name, meaning)| text.replace(&format!("<{name}>"), meaning));
    }
    if let Some(start) = text.find('<').filter(|start| text[start + 1..].starts_with(|c: char| c.is_ascii_lowercase()))
    {
        bail!("`{}` is no word of this dashboard", text[start..].split_inclusive('>').next().unwrap_or_default());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> BTreeMap<String, String> {
        let pairs = [("all", "job=\"j\""), ("ns", "<all>,namespace=~\"$namespace\""), ("loop", "<loop>")];
        pairs.iter().map(|(name, meaning)| ((*name).to_owned(), (*meaning).to_owned())).collect()
    }

    #[test]
    fn words_are_spelt_out_to_the_end() {
        let spelt = spell_out("sum(a{<ns>}) < bool 1 and b{<all>,c=\"d\"}", &words()).unwrap();
        assert_eq!(spelt, "sum(a{job=\"j\",namespace=~\"$namespace\"}) < bool 1 and b{job=\"j\",c=\"d\"}");
        assert_eq!(spell_out("a{<al>}", &words()).unwrap_err().to_string(), "`<al>` is no word of this dashboard");
        assert!(spell_out("a{<loop>}", &words()).is_err());
    }

    #[test]
    fn panels_fill_rows_from_the_left() {
        let yaml = "{title: t, uid: u, description: d, words: {}, variables: [], rows: [
            {title: first, panels: [
                {title: a, help: h, type: stat, queries: [{expr: x}]},
                {title: b, help: h, width: 16, queries: [{expr: x}]},
                {title: c, help: h, type: table, value: v, queries: [{expr: x}]},
            ]},
            {title: second, panels: [{title: d, help: h, queries: [{expr: x}]}]},
        ]}";
        let dashboard: Dashboard = serde_norway::from_str(yaml).unwrap();
        let json = dashboard.render().unwrap();
        let places: Vec<String> = json["panels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|panel| {
                let place = &panel["gridPos"];
                format!(
                    "{} {} {},{} {}x{}",
                    panel["id"], panel["title"], place["x"], place["y"], place["w"], place["h"]
                )
            })
            .collect();
        assert_eq!(
            places,
            [
                "1 \"first\" 0,0 24x1",
                "2 \"a\" 0,1 3x4",
                "3 \"b\" 3,1 16x8",
                "4 \"c\" 0,9 8x8",
                "5 \"second\" 0,17 24x1",
                "6 \"d\" 0,18 8x8",
            ]
        );
    }

    #[test]
    fn a_misspelt_field_is_refused() {
        let yaml = "{title: t, help: h, querys: [], queries: [{expr: x}]}";
        assert!(serde_norway::from_str::<Panel>(yaml).is_err());
    }

    /// `kubectl apply` keeps what was applied in an annotation of 256 KiB at most, where every quote takes two bytes.
    #[test]
    fn a_dashboard_can_be_applied_as_a_config_map() {
        for (path, text) in files().unwrap() {
            assert!(text.len() < 150_000, "{path} has {} bytes", text.len());
        }
    }

    /// Two clusters have nodes of one name, and two namespaces a workload.
    #[test]
    fn what_has_a_name_is_told_apart_by_cluster_and_namespace() {
        let missing = |expression: &str| -> Vec<String> {
            let lists = ["by (", "on ("].into_iter().flat_map(|word| expression.split(word).skip(1));
            let lists = lists.filter_map(|rest| rest.split(')').next());
            let wrong = lists.filter(|list| {
                let labels: Vec<&str> = list.split(", ").collect();
                let has = |names: &[&str]| names.iter().any(|name| labels.contains(name));
                let named = has(&["namespace", "workload", "instance", "node", "pod", "lease"]);
                (named && !has(&["cluster"])) || (has(&["workload", "pod"]) && !has(&["namespace"]))
            });
            wrong.map(str::to_owned).collect()
        };
        assert_eq!(missing("a * on (pod) sum by (workload) (b) / sum by (phase) (c)"), ["workload", "pod"]);
        for (path, text) in files().unwrap() {
            let dashboard: Value = serde_json::from_str(&text).unwrap();
            for expression in super::super::metrics::expressions(&dashboard) {
                assert_eq!(missing(&expression), [""; 0], "{path}: {expression}");
            }
        }
    }

    /// What Grafana needs of every panel, and what a reader does.
    #[test]
    fn every_panel_has_data_from_the_chosen_source_and_says_what_it_shows() {
        for (path, text) in files().unwrap() {
            let dashboard: Value = serde_json::from_str(&text).unwrap();
            let mut titles = Vec::new();
            for panel in dashboard["panels"].as_array().unwrap().iter().filter(|panel| panel["type"] != "row") {
                let title = panel["title"].as_str().unwrap();
                assert!(!titles.contains(&title), "{path}: two panels are called {title}");
                titles.push(title);
                assert!(panel["description"].as_str().unwrap().ends_with('.'), "{path}: {title}");
                for target in panel["targets"].as_array().unwrap() {
                    assert_eq!(target["datasource"]["uid"], "${datasource}", "{path}: {title}");
                    let lines = ["timeseries", "bargauge"].contains(&panel["type"].as_str().unwrap());
                    assert!(!lines || target["legendFormat"] != "", "{path}: {title} has a line without a name");
                }
            }
        }
    }
}
