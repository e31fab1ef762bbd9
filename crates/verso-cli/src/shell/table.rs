//! Results as psql prints them: aligned tables and, in expanded mode, one block for each record.
//!
//! Numbers stand right, everything else left, NULL is blank, a line break inside a value continues in the next line behind
//! a `+`. Widths are columns of the screen, not characters, so that wide scripts stay aligned.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

/// A heading and where its values stand.
#[derive(Clone, Debug)]
pub struct TableColumn {
    /// The heading.
    pub title: String,
    /// Numbers stand right.
    pub right: bool,
}

/// A result to print; NULLs are empty texts.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Printed centred above the headings.
    pub title: Option<String>,
    /// The headings.
    pub columns: Vec<TableColumn>,
    /// One text for each column.
    pub rows: Vec<Vec<String>>,
    /// Printed below in place of the number of rows.
    pub footer: Option<Vec<String>>,
}

impl Table {
    /// The usual form: headings, a rule, a line for each row, the number of rows.
    pub fn aligned(&self) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        let mut out = String::new();
        if let Some(title) = &self.title {
            let total = widths.iter().sum::<usize>() + (widths.len() * 3).saturating_sub(1);
            let _ = writeln!(out, "{:indent$}{title}", "", indent = total.saturating_sub(title.width()) / 2);
        }
        for (at, (column, &width)) in self.columns.iter().zip(&widths).enumerate() {
            let title = one_line(&column.title);
            let spare = width - title.width();
            let _ = write!(out, " {:l$}{title}{:r$} ", "", "", l = spare / 2, r = spare.div_ceil(2));
            out.push_str(if at + 1 < widths.len() { "|" } else { "" });
        }
        out.push('\n');
        if widths.is_empty() {
            out.push_str("--");
        }
        for (at, width) in widths.iter().enumerate() {
            let _ = write!(out, "{}{:-<w$}", if at == 0 { "" } else { "+" }, "", w = width + 2);
        }
        out.push('\n');
        for row in &self.rows {
            self.aligned_row(row, &widths, &mut out);
        }
        self.end(&mut out);
        out
    }

    /// One printed row; as many lines as its longest value has.
    fn aligned_row(&self, row: &[String], widths: &[usize], out: &mut String) {
        if row.is_empty() {
            return;
        }
        let cells: Vec<Vec<&str>> = row.iter().map(|value| value.split('\n').collect()).collect();
        let lines = cells.iter().map(Vec::len).max().unwrap_or(1);
        for line in 0..lines {
            for (at, cell) in cells.iter().enumerate() {
                let last = at + 1 == cells.len();
                let text = cell.get(line).copied().unwrap_or("");
                let spare = widths[at] - text.width();
                let goes_on = line + 1 < cell.len();
                out.push(' ');
                if self.columns[at].right && line < cell.len() {
                    let _ = write!(out, "{:spare$}{text}", "");
                } else {
                    let pad = if last && !goes_on { 0 } else { spare };
                    let _ = write!(out, "{text}{:pad$}", "");
                }
                match (goes_on, last) {
                    (true, _) => out.push('+'),
                    (false, false) => out.push(' '),
                    (false, true) => {}
                }
                out.push_str(if last { "\n" } else { "|" });
            }
        }
    }

    /// A block for each record, one line for each column.
    pub fn expanded(&self) -> String {
        let mut out = String::new();
        if let Some(title) = &self.title {
            let _ = writeln!(out, "{title}");
        }
        if self.rows.is_empty() || self.columns.is_empty() {
            self.end(&mut out);
            return out;
        }
        let titles: Vec<String> = self.columns.iter().map(|column| one_line(&column.title)).collect();
        let left = titles.iter().map(|title| title.width()).max().unwrap_or(0);
        let right = self.rows.iter().flatten().map(|value| value_width(value)).max().unwrap_or(0);
        for (at, row) in self.rows.iter().enumerate() {
            record_rule(at + 1, left, right, &mut out);
            for (title, value) in titles.iter().zip(row) {
                let lines: Vec<&str> = value.split('\n').collect();
                for (number, line) in lines.iter().enumerate() {
                    let title = if number == 0 { title.as_str() } else { "" };
                    let _ = write!(out, "{title}{:pad$} | {line}", "", pad = left - title.width());
                    if number + 1 < lines.len() {
                        let _ = write!(out, "{:pad$}+", "", pad = right - line.width());
                    }
                    out.push('\n');
                }
            }
        }
        match &self.footer {
            Some(_) => self.end(&mut out),
            None => out.push('\n'),
        }
        out
    }

    fn end(&self, out: &mut String) {
        match &self.footer {
            Some(lines) => lines.iter().for_each(|line| {
                let _ = writeln!(out, "{line}");
            }),
            None => {
                let rows = self.rows.len();
                let _ = writeln!(out, "({rows} row{})", if rows == 1 { "" } else { "s" });
            }
        }
        out.push('\n');
    }

    fn width(&self, column: usize) -> usize {
        let values = self.rows.iter().map(|row| value_width(&row[column])).max().unwrap_or(0);
        values.max(one_line(&self.columns[column].title).width())
    }
}

fn one_line(title: &str) -> String {
    title.replace('\n', " ")
}

fn value_width(value: &str) -> usize {
    value.split('\n').map(UnicodeWidthStr::width).max().unwrap_or(0)
}

/// `-[ RECORD 1 ]-+----`: the cross stands where the columns meet, unless the words reach over it.
fn record_rule(number: usize, left: usize, right: usize, out: &mut String) {
    let words = format!("-[ RECORD {number} ]");
    let total = (left + 3 + right).max(words.len());
    let cross = left + 1;
    for at in 0..total {
        match words.as_bytes().get(at) {
            Some(&byte) => out.push(char::from(byte)),
            None if at == cross => out.push('+'),
            None => out.push('-'),
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: &[(&str, bool)], rows: &[&[&str]]) -> Table {
        Table {
            columns: columns
                .iter()
                .map(|&(title, right)| TableColumn { title: title.into(), right })
                .collect(),
            rows: rows.iter().map(|row| row.iter().map(|&value| value.to_owned()).collect()).collect(),
            ..Table::default()
        }
    }

    fn sample() -> Table {
        let columns =
            [("id", true), ("name", false), ("cnt", true), ("ts", false), ("b", false), ("f", true)];
        table(
            &columns,
            &[
                &["1.00", "a", "1", "2020-01-01 00:00:00", "\\x0102", "1.5"],
                &["2.50", "bb", "", "", "", ""],
                &["10.00", "two\nlines", "100", "2020-01-01 00:00:00.5", "\\x", "NaN"],
                &["", "日本", "7", "", "", ""],
            ],
        )
    }

    // The expectations below are psql 15's own output for the same values.
    #[test]
    fn aligned_as_psql() {
        let expected = concat!(
            "  id   | name  | cnt |          ts           |   b    |  f  \n",
            "-------+-------+-----+-----------------------+--------+-----\n",
            "  1.00 | a     |   1 | 2020-01-01 00:00:00   | \\x0102 | 1.5\n",
            "  2.50 | bb    |     |                       |        |    \n",
            " 10.00 | two  +| 100 | 2020-01-01 00:00:00.5 | \\x     | NaN\n",
            "       | lines |     |                       |        | \n",
            "       | 日本  |   7 |                       |        |    \n",
            "(4 rows)\n\n",
        );
        assert_eq!(sample().aligned(), expected);
    }

    #[test]
    fn expanded_as_psql() {
        let mut table = sample();
        table.rows.remove(1);
        table.rows.truncate(2);
        let expected = concat!(
            "-[ RECORD 1 ]---------------\n",
            "id   | 1.00\n",
            "name | a\n",
            "cnt  | 1\n",
            "ts   | 2020-01-01 00:00:00\n",
            "b    | \\x0102\n",
            "f    | 1.5\n",
            "-[ RECORD 2 ]---------------\n",
            "id   | 10.00\n",
            "name | two                  +\n",
            "     | lines\n",
            "cnt  | 100\n",
            "ts   | 2020-01-01 00:00:00.5\n",
            "b    | \\x\n",
            "f    | NaN\n",
            "\n",
        );
        assert_eq!(table.expanded(), expected);
    }

    #[test]
    fn expanded_rule_crosses_where_the_columns_meet() {
        let table = table(&[("a long header", true), ("y", false)], &[&["1", "x"]]);
        assert_eq!(table.expanded(), "-[ RECORD 1 ]-+--\na long header | 1\ny             | x\n\n");
    }

    #[test]
    fn no_rows_and_no_columns() {
        assert_eq!(table(&[("a", true)], &[]).aligned(), " a \n---\n(0 rows)\n\n");
        assert_eq!(table(&[("a", true)], &[]).expanded(), "(0 rows)\n\n");
        assert_eq!(table(&[], &[&[]]).aligned(), "\n--\n(1 row)\n\n");
        assert_eq!(table(&[], &[&[]]).expanded(), "(1 row)\n\n");
    }

    #[test]
    fn a_title_stands_in_the_middle() {
        let mut table = table(&[("Column", false), ("Type", false)], &[&["id", "numeric(18,2)"]]);
        table.title = Some("Table \"public.t\"".into());
        table.footer = Some(Vec::new());
        assert_eq!(
            table.aligned(),
            "    Table \"public.t\"\n Column |     Type      \n--------+---------------\n id     | numeric(18,2)\n\n"
        );
    }
}
