//! The 22 queries, and the comparison of their answers.

use tpchgen::q_and_a::QueryAndAnswer;

/// A query's rows as texts.
pub(super) type Answer = Vec<Vec<String>>;

const TEXTS: &str = include_str!("queries.sql");

/// The queries for a scale factor, each on one line, from the first to the last.
pub(super) fn queries(scale: f64) -> Vec<String> {
    let fraction = format!("{:.10}", 0.0001 / scale);
    let text = |part: &str| {
        let lines = part.lines().skip(1).map(str::trim);
        lines.collect::<Vec<_>>().join(" ").trim().trim_end_matches(';').replace(":fraction", &fraction)
    };
    TEXTS.split("\n-- Q").skip(1).map(text).collect()
}

/// What the specification publishes for scale factor 1; none for others.
pub(super) fn published(number: usize, scale: f64) -> Option<Answer> {
    let both = QueryAndAnswer::new(i32::try_from(number).ok()?, scale).ok()?;
    let lines = both.answer().lines().filter(|line| !line.trim().is_empty()).skip(1);
    Some(lines.map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect()).collect())
}

/// Whether two answers agree: as many rows, in any order where rows are equal in what they are sorted by, numbers to the digits
/// that the published answers have.
pub(super) fn compare(expected: &Answer, found: &Answer) -> Result<(), String> {
    if expected.len() != found.len() {
        return Err(format!("{} rows instead of {}", found.len(), expected.len()));
    }
    let (expected, found) = (sorted(expected), sorted(found));
    for (wanted, row) in expected.iter().zip(&found) {
        let alike = wanted.len() == row.len() && wanted.iter().zip(*row).all(|(a, b)| is_alike(a, b));
        if !alike {
            return Err(format!("({}) instead of ({})", row.join(", "), wanted.join(", ")));
        }
    }
    Ok(())
}

/// By what is exact in both: texts first, then numbers in whole units.
fn sorted(answer: &Answer) -> Vec<&Vec<String>> {
    let mut rows: Vec<&Vec<String>> = answer.iter().collect();
    let coarse = |cell: &String| match plain(cell).parse::<f64>() {
        Ok(number) if number.fract() == 0.0 => format!("{number:020.0}"),
        Ok(_) => String::new(),
        Err(_) => plain(cell).to_owned(),
    };
    rows.sort_by_cached_key(|row| row.iter().map(coarse).collect::<Vec<_>>());
    rows
}

/// A value without the blanks of `char(n)`; NULL, which each engine writes in its own way, is nothing.
fn plain(cell: &str) -> &str {
    match cell.trim() {
        "None" | "NULL" => "",
        text => text,
    }
}

fn is_alike(wanted: &str, found: &str) -> bool {
    let (wanted, found) = (plain(wanted), plain(found));
    match (wanted.parse::<f64>(), found.parse::<f64>()) {
        // Published numbers have two digits behind the point.
        (Ok(wanted), Ok(found)) => (wanted - found).abs() <= 0.0051 + wanted.abs() * 1e-9,
        _ => wanted == found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: &[&[&str]]) -> Answer {
        rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[test]
    fn there_are_22_queries_on_a_line_each() {
        let queries = queries(0.1);
        assert_eq!(queries.len(), 22);
        for query in &queries {
            assert!(query.starts_with("SELECT") || query.starts_with("WITH"), "{query}");
            assert!(!query.contains(['\n', ';', ':']), "{query}");
        }
        assert!(queries[10].contains("* 0.0010000000"), "{}", queries[10]);
    }

    #[test]
    fn answers_are_published_for_scale_factor_one() {
        assert_eq!(
            published(1, 1.0).map(|answer| (answer.len(), answer[0][9].clone())),
            Some((4, "1478493".to_owned()))
        );
        assert!((1..=22).all(|number| published(number, 1.0).is_some()));
        assert!(published(1, 0.1).is_none());
    }

    #[test]
    fn answers_agree_to_the_published_digits_in_any_order_of_equal_rows() {
        let wanted = answer(&[&["A   ", "12.30"], &["B", "7"]]);
        assert_eq!(compare(&wanted, &answer(&[&["B", "7.000"], &["A", "12.3041"]])), Ok(()));
        assert!(compare(&wanted, &answer(&[&["B", "7"], &["A", "12.32"]])).is_err());
        assert!(compare(&wanted, &answer(&[&["B", "7"], &["C", "12.30"]])).is_err());
        assert!(compare(&wanted, &answer(&[&["B", "7"]])).is_err());
        assert_eq!(compare(&answer(&[&[""]]), &answer(&[&["None"]])), Ok(()));
        assert!(compare(&answer(&[&[""]]), &answer(&[&["0"]])).is_err());
    }
}
