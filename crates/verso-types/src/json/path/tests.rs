use super::*;

/// What PostgreSQL shows for a path, or the SQLSTATE of its error.
const CASES: &str = include_str!("../../../testdata/json_paths.tsv");

#[test]
fn paths_are_read_and_shown_as_by_postgresql() {
    let mut wrong = String::new();
    for line in CASES.lines() {
        let (path, expected) = line.split_once('\t').expect("two columns");
        let shown = normalize(path).unwrap_or_else(|error| format!("! {}", error.sqlstate));
        if shown != expected {
            wrong += &format!("{path}\n  ours {shown}\n  PG   {expected}\n");
        }
        if let Ok(again) = normalize(&shown) {
            assert_eq!(again, shown, "{path}");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn deep_paths_end() {
    for deep in [
        "(".repeat(100_000),
        "$".to_owned() + &"+1".repeat(100_000),
        "-".repeat(100_000) + "$",
        "$[".repeat(100_000),
    ] {
        assert_eq!(normalize(&deep).map_err(|error| error.sqlstate), Err("54001"));
    }
}
