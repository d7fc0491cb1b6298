//! Plain text tables for terminals and logs.
//!
//! Invariant: columns line up; numbers are right-aligned, everything else left-aligned.

/// Renders a header and rows of equal length; two spaces between columns, no trailing blanks.
pub fn render(header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([header[column].chars().count()]).max().unwrap_or(0)
    };
    let numeric = |column: usize| {
        rows.iter().all(|row| row[column].starts_with(|c: char| c.is_ascii_digit() || c == '-')) && !rows.is_empty()
    };
    let columns: Vec<(usize, bool)> = (0..header.len()).map(|column| (width(column), numeric(column))).collect();
    let line = |cells: Vec<&str>| {
        let padded = cells.iter().zip(&columns).map(|(cell, (width, right))| match right {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut out = line(header.to_vec());
    for row in rows {
        out += &line(row.iter().map(String::as_str).collect());
    }
    out
}

/// A count with thin groups of three: `1 234 567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["ksm-rest".to_owned(), "7".to_owned()], vec!["x".to_owned(), "1 000".to_owned()]];
        assert_eq!(render(&["binary", "objects"], &rows), "binary    objects\nksm-rest        7\nx           1 000\n");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1 000", "1 234 567"]);
    }
}
