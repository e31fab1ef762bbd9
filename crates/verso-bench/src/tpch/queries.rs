//! The 22 queries, and the comparison of their answers.

use tpchgen::q_and_a::QueryAndAnswer;

/// A query's rows as texts.
pub(crate) type Answer = Vec<Vec<String>>;

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

/// The query whose published keys `tpchgen` has cut to four characters: only its values can be compared.
const CUT: usize = 11;

/// What is compared with the published answer of a query.
pub(super) fn comparable(number: usize, answer: &Answer) -> Answer {
    let from = usize::from(number == CUT);
    answer.iter().map(|row| row.get(from..).unwrap_or_default().to_vec()).collect()
}

/// What the specification publishes for scale factor 1, as far as it is [`comparable`]; none for others.
pub(super) fn published(number: usize, scale: f64) -> Option<Answer> {
    let both = QueryAndAnswer::new(i32::try_from(number).ok()?, scale).ok()?;
    let lines = both.answer().lines().filter(|line| !line.trim().is_empty()).skip(1);
    let answer = lines.map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect()).collect();
    Some(comparable(number, &answer))
}

/// How far numbers may be apart, as a share of them: published sums were taken in floating point; ours are exact, and so are
/// those of peers but for averages.
pub(super) const PUBLISHED: f64 = 1e-6;
pub(super) const OF_PEER: f64 = 1e-9;

/// Whether two answers agree: as many rows, in any order where rows are equal in what they are sorted by, numbers to the digits
/// that the published answers have.
pub(super) fn compare(expected: &Answer, found: &Answer, share: f64) -> Result<(), String> {
    if expected.len() != found.len() {
        return Err(format!("{} rows instead of {}", found.len(), expected.len()));
    }
    let (expected, found) = (sorted(expected), sorted(found));
    for (wanted, row) in expected.iter().zip(&found) {
        let alike = wanted.len() == row.len() && wanted.iter().zip(*row).all(|(a, b)| is_alike(a, b, share));
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

fn is_alike(wanted: &str, found: &str, share: f64) -> bool {
    let (wanted, found) = (plain(wanted), plain(found));
    match (wanted.parse::<f64>(), found.parse::<f64>()) {
        // Published numbers have two digits behind the point.
        (Ok(wanted), Ok(found)) => (wanted - found).abs() <= 0.0051 + wanted.abs() * share,
        _ => wanted == found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: &[&[&str]]) -> Answer {
        rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    fn agreed(expected: &Answer, found: &Answer) -> Result<(), String> {
        compare(expected, found, OF_PEER)
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
        assert_eq!(published(11, 1.0).map(|answer| answer[0].clone()), Some(vec!["17538456.86".to_owned()]));
    }

    #[test]
    fn answers_agree_to_the_published_digits_in_any_order_of_equal_rows() {
        let wanted = answer(&[&["A   ", "12.30"], &["B", "7"]]);
        assert_eq!(agreed(&wanted, &answer(&[&["B", "7.000"], &["A", "12.3041"]])), Ok(()));
        assert!(agreed(&wanted, &answer(&[&["B", "7"], &["A", "12.32"]])).is_err());
        assert!(agreed(&wanted, &answer(&[&["B", "7"], &["C", "12.30"]])).is_err());
        assert!(agreed(&wanted, &answer(&[&["B", "7"]])).is_err());
        assert_eq!(agreed(&answer(&[&[""]]), &answer(&[&["None"]])), Ok(()));
        assert!(agreed(&answer(&[&[""]]), &answer(&[&["0"]])).is_err());
        let (one, other) = (answer(&[&["348406.02"]]), answer(&[&["348406.054285"]]));
        assert!(compare(&one, &other, PUBLISHED).is_ok() && agreed(&one, &other).is_err());
    }
}
