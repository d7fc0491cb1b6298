//! Counts an exposition: samples and bytes by family, and by label.
//!
//! Takes any text in the Prometheus format; what does not read as a sample is passed over.

use std::collections::{HashMap, HashSet};

/// Samples and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) samples: u64,
    pub(super) bytes: u64,
}

impl Sums {
    pub(super) fn add(&mut self, other: Self) {
        self.samples += other.samples;
        self.bytes += other.bytes;
    }
}

/// What a label costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LabelSums<'a> {
    pub(super) name: &'a str,
    /// Different values.
    pub(super) values: usize,
    /// Bytes of name and value, quotes and comma included, over all samples.
    pub(super) bytes: u64,
}

/// A family, by its name.
#[derive(Debug)]
pub(super) struct FamilyTally {
    pub(super) name: String,
    /// Headers are counted as bytes.
    pub(super) sums: Sums,
    labels: Labels,
}

impl FamilyTally {
    /// Its labels, those that take most bytes first.
    pub(super) fn labels(&self) -> Vec<LabelSums<'_>> {
        self.labels.sorted()
    }
}

/// By label name: hashes of its values, and bytes.
#[derive(Debug, Default)]
struct Labels(HashMap<String, (HashSet<u64>, u64)>);

impl Labels {
    fn add(&mut self, name: &str, value: &str) {
        if !self.0.contains_key(name) {
            self.0.insert(name.to_owned(), Default::default());
        }
        let Some((values, bytes)) = self.0.get_mut(name) else { return };
        values.insert(xxhash_rust::xxh3::xxh3_64(value.as_bytes()));
        // name="value",
        *bytes += (name.len() + value.len() + 4) as u64;
    }

    fn sorted(&self) -> Vec<LabelSums<'_>> {
        let sums = |(name, (values, bytes)): (&'_ String, &(HashSet<u64>, u64))| (name.clone(), values.len(), *bytes);
        let mut order: Vec<_> = self.0.iter().map(sums).collect();
        order.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        let find = |(name, values, bytes): (String, usize, u64)| {
            let (name, _) = self.0.get_key_value(&name)?;
            Some(LabelSums { name, values, bytes })
        };
        order.into_iter().filter_map(find).collect()
    }
}

/// A whole exposition.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Those with most samples first.
    pub(super) families: Vec<FamilyTally>,
    labels: Labels,
}

impl Tally {
    /// Counts an exposition.
    pub(super) fn of(text: &str) -> Self {
        let mut tally = Self::default();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut typed = "";
        for line in text.lines() {
            let bytes = line.len() as u64 + 1;
            let name = match line.strip_prefix("# ") {
                Some(header) => {
                    let mut words = header.split(' ');
                    match (words.next(), words.next()) {
                        (Some("HELP" | "TYPE" | "UNIT"), Some(name)) => {
                            typed = name;
                            name
                        }
                        _ => continue,
                    }
                }
                None => match line.find(['{', ' ']) {
                    // Buckets and sums belong to the family whose header they follow.
                    Some(end) if !typed.is_empty() && line[..end].starts_with(typed) => typed,
                    Some(end) => &line[..end],
                    None => continue,
                },
            };
            let place = match places.get(name) {
                Some(place) => *place,
                None => {
                    let (sums, labels) = (Sums::default(), Labels::default());
                    tally.families.push(FamilyTally { name: name.to_owned(), sums, labels });
                    places.insert(name.to_owned(), tally.families.len() - 1);
                    tally.families.len() - 1
                }
            };
            let family = &mut tally.families[place];
            family.sums.bytes += bytes;
            if line.starts_with('#') {
                continue;
            }
            family.sums.samples += 1;
            for (name, value) in labels(line) {
                family.labels.add(name, value);
                tally.labels.add(name, value);
            }
        }
        tally.families.sort_by(|a, b| b.sums.samples.cmp(&a.sums.samples).then_with(|| a.name.cmp(&b.name)));
        tally
    }

    /// Sums over the families that `picks` picks.
    pub(super) fn sums(&self, mut picks: impl FnMut(&FamilyTally) -> bool) -> Sums {
        let mut sums = Sums::default();
        self.families.iter().filter(|family| picks(family)).for_each(|family| sums.add(family.sums));
        sums
    }

    /// Labels of all families, those that take most bytes first.
    pub(super) fn labels(&self) -> Vec<LabelSums<'_>> {
        self.labels.sorted()
    }
}

/// Names and values (as written, escapes and all) of a sample line.
fn labels(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = line.split_once('{').map_or("", |(_, rest)| rest);
    std::iter::from_fn(move || {
        let (name, behind) = rest.trim_start_matches([',', ' ']).split_once("=\"")?;
        let mut escaped = false;
        let end = behind.find(|c: char| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        })?;
        rest = &behind[end + 1..];
        Some((name, &behind[..end]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# HELP a_info Help.
# TYPE a_info gauge
a_info{ns=\"x\",name=\"one\"} 1
a_info{ns=\"x\",name=\"t\\\"w,o}\"} 1
# HELP b_seconds Help.
# TYPE b_seconds histogram
b_seconds_bucket{le=\"1\"} 1
b_seconds_sum 2
# EOF
";

    #[test]
    fn samples_bytes_and_values_are_counted() {
        let tally = Tally::of(TEXT);
        let names: Vec<_> = tally.families.iter().map(|family| (family.name.as_str(), family.sums.samples)).collect();
        assert_eq!(names, [("a_info", 2), ("b_seconds", 2)]);
        assert_eq!(tally.sums(|_| true), Sums { samples: 4, bytes: (TEXT.len() - "# EOF\n".len()) as u64 });
        let labels = tally.families[0].labels();
        // name="one", and name="t\"w,o}", against two of ns="x",
        assert_eq!(labels[0], LabelSums { name: "name", values: 2, bytes: 11 + 15 });
        assert_eq!(labels[1], LabelSums { name: "ns", values: 1, bytes: 2 * 7 });
        assert_eq!(tally.labels().len(), 3);
    }

    #[test]
    fn what_is_no_sample_is_passed_over() {
        assert!(Tally::of("").families.is_empty());
        assert!(Tally::of("\n\n# comment\nword\n").families.is_empty());
        assert_eq!(labels("a{x=\"open").count(), 0);
    }
}
