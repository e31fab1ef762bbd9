//! A hundredth of scale factor 1, without child processes.

use super::*;

fn task(folder: &std::path::Path, tpch: Subject) -> TpchTask {
    TpchTask {
        tpch,
        folder: folder.to_owned(),
        scale: 0.01,
        runs: 1,
        only: Vec::new(),
        limit: 60,
        pool_bytes: 64 << 20,
        work_mem: None,
    }
}

#[test]
fn all_queries_are_answered_measured_and_drawn() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let found = verso::run(&Env::real(), &task(folder.path(), Subject::Verso)).expect("runs");
    assert_eq!(found.queries.len(), 22);
    assert!(found.queries.values().all(|query| query.ms > 0.0 && query.ms_1_worker.is_some()));
    // The groups of the pricing summary report are those of any scale.
    let flags: Vec<&str> = found.answers[&1].iter().map(|row| row[0].as_str()).collect();
    assert_eq!(flags, ["A", "N", "N", "R"]);
    let options = TpchOptions {
        sf: 0.01,
        runs: 1,
        queries: Vec::new(),
        peers: Vec::new(),
        work_mem: None,
        limit: 60,
        pool_bytes: 64 << 20,
        json: None,
        plot: None,
        folder: None,
    };
    let calibration = Calibration { memcpy_gb_s: 1.0, fdatasync_per_s: 1.0, two_threads: 1.0 };
    // A peer that gave its third query up.
    let mut slow = found.clone();
    slow.queries.insert(3, Query { ms: 60_000.0, over_limit: true, ..Query::default() });
    let engines = BTreeMap::from([("verso".to_owned(), found), ("postgres".to_owned(), slow)]);
    let report = report(&options, calibration, &engines, BTreeMap::new());
    let json = serde_json::to_value(&report).expect("serialises");
    assert!(json["verso"]["q1"]["ms"].as_f64() > Some(0.0) && json["load"]["bytes"].as_u64() > Some(0));
    assert!(json["geomean"]["verso"].as_f64() > Some(0.0));
    assert_eq!(table::table(&report).lines().filter(|line| line.starts_with('q')).count(), 23);
    assert!(table::table(&report).contains("> 60000.0"));
    assert_eq!(json["postgres"]["q3"]["over_limit"], true);
    assert!(json["verso"]["q3"].get("over_limit").is_none());
    let picture = folder.path().join("tpch.svg");
    chart::write(&[plot::times(&report)], &picture).expect("drawn");
    assert!(std::fs::read_to_string(&picture).expect("written").contains("Q22"));
}

#[test]
fn duckdb_where_it_is_here_gives_the_same_answers() {
    if !duckdb::is_here() {
        println!("skipped: DuckDB is not here");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    peers::write_files(folder.path(), 0.01).expect("written");
    let own = verso::run(&Env::real(), &task(folder.path(), Subject::Verso)).expect("runs");
    let its = peers::duckdb(&Env::real(), &task(folder.path(), Subject::Duckdb)).expect("runs");
    for (number, answer) in &own.answers {
        compare(&its.answers[number], answer, OF_PEER)
            .unwrap_or_else(|message| panic!("query {number}: {message}"));
    }
}
