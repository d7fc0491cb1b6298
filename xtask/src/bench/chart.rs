//! `benchmarks.svg`: time of a scrape and resident memory by size of the cluster, as grouped bars on log scales.
//!
//! Invariant: pure; no background, and colours that can be told apart and read on white and on black.

use std::fmt::Write as _;

use super::format::{mebibytes, seconds};
use super::results::{Life, Results, Scrapes, SizeResult};
use crate::table::count;

/// For lines and text: as far from white as from black.
const GREY: &str = "#7d8590";

/// Ours in blue, the reference in orange; the darker one of each is plain.
const OURS: [&str; 2] = ["#1f6fd0", "#58a6ff"];
const REFERENCE: [&str; 2] = ["#b8520a", "#f0883e"];

const PANEL_WIDTH: f64 = 430.0;
const HEIGHT: f64 = 390.0;

/// Where bars stand, in a panel.
const LEFT: f64 = 66.0;
const RIGHT: f64 = PANEL_WIDTH - 14.0;
/// Below the legend and the longest label of a bar.
const TOP: f64 = 124.0;
const BOTTOM: f64 = HEIGHT - 34.0;

/// Bars of one name, one for each group.
struct Series {
    name: &'static str,
    colour: &'static str,
    values: Vec<f64>,
}

struct Panel {
    title: &'static str,
    groups: Vec<String>,
    series: Vec<Series>,
    /// What is written at a bar.
    label: fn(f64) -> String,
    /// What is written at a line of the scale, a power of ten.
    axis: fn(f64) -> String,
}

/// The chart, or nothing if no size was scraped.
pub fn svg(results: &Results) -> Option<String> {
    let sizes: Vec<(&SizeResult, &Scrapes, &Scrapes)> = results
        .sizes
        .iter()
        .filter(|size| size.pods_only)
        .filter_map(|size| Some((size, size.lives.ours.scrapes.as_ref()?, size.lives.reference.scrapes.as_ref()?)))
        .collect();
    if sizes.is_empty() {
        return None;
    }
    let groups: Vec<String> = sizes.iter().map(|(size, ..)| format!("{} pods", count(size.pods.into()))).collect();
    let times = |of: fn(&Scrapes, &Scrapes) -> f64| sizes.iter().map(|(_, ours, theirs)| of(ours, theirs)).collect();
    let memory = |of: fn(&SizeResult) -> &Life| {
        sizes.iter().map(|(size, ..)| of(size).steady().resident as f64 / (1024.0 * 1024.0)).collect()
    };
    let panels = [
        Panel {
            title: "Time of a scrape",
            groups: groups.clone(),
            series: vec![
                Series { name: "ours, gzip", colour: OURS[1], values: times(|ours, _| ours.gzip.whole) },
                Series { name: "reference, gzip", colour: REFERENCE[1], values: times(|_, theirs| theirs.gzip.whole) },
                Series { name: "ours, plain", colour: OURS[0], values: times(|ours, _| ours.plain.whole) },
                Series {
                    name: "reference, plain",
                    colour: REFERENCE[0],
                    values: times(|_, theirs| theirs.plain.whole),
                },
            ],
            label: seconds,
            axis: round_seconds,
        },
        Panel {
            title: "Resident memory",
            groups,
            series: vec![
                Series { name: "ours", colour: OURS[0], values: memory(|size| &size.lives.ours) },
                Series { name: "reference", colour: REFERENCE[0], values: memory(|size| &size.lives.reference) },
            ],
            label: |mebi| mebibytes((mebi * 1024.0 * 1024.0) as u64),
            axis: |mebi| format!("{} MiB", count(mebi.round() as u64)),
        },
    ];
    Some(draw(&panels))
}

/// A power of ten in seconds, without fractions.
fn round_seconds(value: f64) -> String {
    let (number, unit) = match value {
        small if small < 0.9e-3 => (small * 1e6, "µs"),
        middle if middle < 0.9 => (middle * 1e3, "ms"),
        _ => (value, "s"),
    };
    format!("{} {unit}", number.round())
}

fn draw(panels: &[Panel]) -> String {
    let width = PANEL_WIDTH * panels.len() as f64;
    let mut out = format!(
        "<!-- Written by `cargo xtask bench`. -->\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"{GREY}\">\n"
    );
    for (index, panel) in panels.iter().enumerate() {
        let _ = writeln!(out, "<g transform=\"translate({} 0)\">", PANEL_WIDTH * index as f64);
        panel.draw(&mut out);
        out += "</g>\n";
    }
    out + "</svg>\n"
}

impl Panel {
    fn draw(&self, out: &mut String) {
        let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"20\" font-size=\"15\" font-weight=\"600\">{}</text>", self.title);
        self.legend(out);
        let scale = Scale::around(self.series.iter().flat_map(|series| series.values.iter().copied()));
        for power in scale.low..=scale.high {
            let y = scale.y(10_f64.powi(power));
            let label = (self.axis)(10_f64.powi(power));
            let _ = writeln!(
                out,
                "<path d=\"M{LEFT} {y:.1}H{RIGHT}\" stroke=\"{GREY}\" stroke-opacity=\"0.35\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 6.0,
                y + 4.0
            );
        }
        let group = (RIGHT - LEFT) / self.groups.len() as f64;
        let bar = (group * 0.82 / self.series.len() as f64).min(34.0);
        for (index, name) in self.groups.iter().enumerate() {
            let middle = LEFT + group * (index as f64 + 0.5);
            let _ =
                writeln!(out, "<text x=\"{middle:.1}\" y=\"{}\" text-anchor=\"middle\">{name}</text>", BOTTOM + 20.0);
            let start = middle - bar * self.series.len() as f64 / 2.0;
            for (place, series) in self.series.iter().enumerate() {
                let (x, y, value) = (start + bar * place as f64, scale.y(series.values[index]), series.values[index]);
                let (across, label) = (x + bar / 2.0 + 4.0, (self.label)(value));
                let _ = writeln!(
                    out,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\">\
                     <title>{name}, {}: {label}</title></rect>\
                     <text transform=\"translate({across:.1} {:.1}) rotate(-90)\" font-size=\"11\">{label}</text>",
                    bar - 2.0,
                    BOTTOM - y,
                    series.colour,
                    series.name,
                    y - 4.0
                );
            }
        }
    }

    /// Two names a line.
    fn legend(&self, out: &mut String) {
        for (index, series) in self.series.iter().enumerate() {
            let (x, y) = (LEFT + 150.0 * (index % 2) as f64, 38.0 + 18.0 * (index / 2) as f64);
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{}\" width=\"11\" height=\"11\" fill=\"{}\"/><text x=\"{}\" y=\"{y}\">{}</text>",
                y - 10.0,
                series.colour,
                x + 16.0,
                series.name
            );
        }
    }
}

/// A log scale over whole powers of ten.
struct Scale {
    low: i32,
    high: i32,
}

impl Scale {
    /// The scale that all values lie on, the least of them above its foot.
    fn around(values: impl Iterator<Item = f64>) -> Self {
        let logs: Vec<f64> = values.filter(|value| *value > 0.0).map(f64::log10).collect();
        let low = logs.iter().copied().fold(f64::INFINITY, f64::min);
        let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if logs.is_empty() {
            return Self { low: 0, high: 1 };
        }
        // A bar at the foot of the scale would have no height.
        let low = (low - 0.05).floor() as i32;
        Self { low, high: (high.ceil() as i32).max(low + 1) }
    }

    fn y(&self, value: f64) -> f64 {
        let part = (value.max(f64::MIN_POSITIVE).log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        BOTTOM - part.max(0.0) * (BOTTOM - TOP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::report::sample;

    #[test]
    fn a_scale_holds_every_value() {
        let scale = Scale::around([0.002, 33.4, 0.5].into_iter());
        assert_eq!((scale.low, scale.high), (-3, 2));
        assert_eq!((scale.y(0.001), scale.y(100.0)), (BOTTOM, TOP));
        let flat = Scale::around([1.0].into_iter());
        assert_eq!((flat.low, flat.high), (-1, 0));
        assert_eq!(Scale::around(std::iter::empty()).high, 1);
    }

    #[test]
    fn a_chart_has_a_bar_for_each_figure_of_pods_only() {
        let chart = svg(&sample()).unwrap();
        // Two sizes, four bars and two; six squares in the legends.
        assert_eq!(chart.matches("<rect").count(), 2 * (4 + 2) + 6);
        assert_eq!(chart.matches("<title>").count(), 12);
        assert!(chart.contains("<title>10 000 pods, reference, plain: 880 ms</title>"), "{chart}");
        assert!(!chart.contains("NaN") && !chart.contains("inf"), "{chart}");
        assert!(chart.contains(">100 ms</text>") && chart.contains(">100 MiB</text>"), "{chart}");
        assert_eq!(svg(&Results::default()), None);
    }

    #[test]
    fn a_scale_is_labelled_with_round_numbers() {
        let labels = [-4, -3, -1, 0, 2].map(|power| round_seconds(10_f64.powi(power)));
        assert_eq!(labels, ["100 µs", "1 ms", "100 ms", "1 s", "100 s"]);
    }
}
