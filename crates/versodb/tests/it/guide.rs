//! The examples of the guide, as they stand there.
//!
//! Every ```` ```sql ```` block of a page runs in one database for the page, from the first to the last. A line
//! `-- session NAME` sends what follows it in its block to a session of that name. Files under `/tmp/` go to the folder of
//! the test. What cannot run by itself stands in a block of another kind.
//!
//! Every ```` ```rust ```` block is a part of `examples/shop.rs`, word by word, and that program runs here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use versodb::Connection;

use crate::{new_database, shop};

/// Where the guide is.
fn pages() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let mut pages: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages.into_iter().map(|page| (page.clone(), std::fs::read_to_string(page).unwrap())).collect()
}

/// The blocks of one kind, and the lines that they begin in.
fn blocks(text: &str, kind: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, bool, String)> = None;
    for (at, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(given)) => open = Some((at + 1, given == kind, String::new())),
            (Some(_), Some(_)) => {
                let (at, wanted, text) = open.take().unwrap();
                if wanted {
                    found.push((at, text));
                }
            }
            (Some((_, _, text)), None) => text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block has no end");
    found
}

#[test]
fn sql_of_the_guide_runs_as_it_stands() {
    let mut count = 0;
    for (page, text) in pages() {
        let (directory, database) = new_database();
        let mut sessions: BTreeMap<String, Connection> = BTreeMap::new();
        for (at, block) in blocks(&text, "sql") {
            let block = block.replace("/tmp/", &format!("{}/", directory.path().display()));
            let parts = block.split("-- session ").enumerate();
            for (part, text) in parts.filter(|(_, text)| !text.trim().is_empty()) {
                let (name, text) = if part == 0 { ("", text) } else { text.split_once('\n').unwrap() };
                let session = sessions.entry(name.to_string()).or_insert_with(|| database.connect().unwrap());
                for piece in versodb::split_statements(text) {
                    let statement = &text[piece.range];
                    let done = session.query(statement);
                    let error = done.err();
                    assert!(error.is_none(), "{}:{at}: {statement}: {error:?}", page.display());
                }
            }
            count += 1;
        }
    }
    assert!(count >= 10, "{count} examples only");
}

#[test]
fn rust_of_the_guide_is_the_example_that_runs() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let program = words(include_str!("../../examples/shop.rs"));
    let mut count = 0;
    for (page, text) in pages() {
        for (at, block) in blocks(&text, "rust") {
            assert!(
                program.contains(&words(&block)),
                "{}:{at} is no part of examples/shop.rs",
                page.display()
            );
            count += 1;
        }
    }
    assert!(count >= 2, "{count} examples only");
    let directory = tempfile::tempdir().unwrap();
    shop::run(directory.path()).unwrap();
}
