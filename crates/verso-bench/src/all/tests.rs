//! The page from figures that are given, and the whole run in small.

use serde_json::json;

use super::*;
use crate::results::Calibration;

fn options(report: &Path) -> AllOptions {
    AllOptions { report: report.to_owned(), quick: true, peers: Vec::new(), only: Vec::new(), folder: None }
}

fn page() -> Page {
    let calibration = Calibration { memcpy_gb_s: 9.5, fdatasync_per_s: 1234.0, two_threads: 1.9 };
    Page::new(Machine::here(), calibration, true)
}

#[test]
fn figures_stand_beside_the_published_ones_and_failures_beside_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = options(folder.path());
    let mut page = page();
    let secret = vec![Peer::Postgres("password=secret".to_owned())];
    let options = AllOptions { peers: secret, ..options };
    let e1 =
        json!({"rows": 1000, "passes": 2, "verso": {"default": {"pass_ms": [2.0, 3.0], "commit_ms": 0.5}}});
    page.sections.push(Experiment::E1.section(&options, Ok(e1)));
    let error = BenchError::Usage("no <disk> | left".to_owned());
    page.sections.push(Experiment::E4.section(&options, Err(error)));
    let html = html::page(&page, |name| (name == "e1.svg").then(|| "<svg>drawn</svg>".to_owned()));
    for part in [
        "<td>default</td><td>4,670</td><td>47,856</td>",
        "<td>verso, default</td><td>2.000</td><td>3.000</td><td>0.500</td><td>1.50</td>",
        "<svg>drawn</svg>",
        "no &lt;disk&gt; | left",
        "<code>verso bench e1 --rows 20000 --runs 1 --peers postgres=DSN</code>",
        "1234 durable writes",
    ] {
        assert!(html.contains(part), "{part} in {html}");
    }
    assert!(!html.contains("http"), "nothing is loaded from elsewhere");
    let markdown = markdown::page(&page);
    for part in [
        "| default | 4,670 | 47,856 |",
        "| verso, default | 2.000 | 3.000 | 0.500 | 1.50 | – |",
        "![E1: the same rows again and again, in one transaction](e1.svg)",
        "no \\<disk> \\| left",
    ] {
        assert!(markdown.contains(part), "{part} in {markdown}");
    }
}

#[test]
fn every_experiment_makes_its_tables_from_its_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = options(folder.path());
    let rows = |experiment: Experiment, json: Value| -> Vec<Vec<String>> {
        let tables = experiment.section(&options, Ok(json)).tables;
        for table in &tables {
            assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{table:?}");
        }
        tables.into_iter().flat_map(|table| table.rows).collect()
    };
    let has = |rows: &[Vec<String>], wanted: &[&str]| {
        assert!(
            rows.iter().any(|row| row.iter().map(String::as_str).eq(wanted.iter().copied())),
            "{wanted:?} in {rows:?}"
        );
    };
    let e2 = json!({
        "rows": 5, "fdatasync_per_s": 20.5, "fdatasync_extend_per_s": 10.0, "plpgsql": {"add_ns": 12.0},
        "verso": {
            "commit_wait_immediate": {"rows_per_s": 5000.0, "redo_bytes_per_row": 90.5, "fsyncs": 5},
            "concurrent": [{"clients": 4, "commits_per_s": 800.0, "fsyncs": 3}],
            "wire": [{"clients": 4, "durable_per_s": 700.0, "nowait_per_s": 900.0}],
        },
        "sqlite": {"full": {"rows_per_s": 2500.0}},
        "postgres": {"loops": {"commit_wait_immediate": {"rows_per_s": 1000.0}}, "wire": [], "plpgsql": {"add_ns": 40.0}},
    });
    let found = rows(Experiment::E2, e2);
    has(&found, &["WRITE WAIT IMMEDIATE", "5,000", "90.5", "5", "2,500", "1,000"]);
    has(&found, &["4", "800", "700", "900", "–", "–"]);
    has(&found, &["add ns", "12.0", "40.0"]);
    let point = |colocate: bool, tpmc: f64| json!({"warehouses": 2, "pool": "quarter", "colocate": colocate, "tpmc": tpmc, "p95_ms": 2.0, "writes_per_tx": 4.0});
    let found = rows(Experiment::E3, json!({"points": [point(true, 1100.0), point(false, 1000.0)]}));
    has(&found, &["2, quarter", "1,100", "1,000", "+10.0", "2.000", "2.000", "4.000", "4.000", "+0.0"]);
    let found = rows(
        Experiment::E4,
        json!({"rows": 9, "load_s": 3.0, "bytes": 5e6, "index": {"1": 2.0, "2": 1.0}, "backup": {"lz4": {"1": 0.5, "bytes": 1e6}},
               "restore": {"1": {"s": 1.5, "data_s": 1.0, "index_s": 0.5}}, "peers": {"sqlite": {"index": {"1": 6.0}}}}),
    );
    has(&found, &["Verso: index", "2.000", "1.000", "2.00", "–"]);
    has(&found, &["Verso: backup, lz4", "0.500", "–", "1.00", "1.000"]);
    has(&found, &["sqlite: index", "6.000", "–", "1.00", "–"]);
    let together = json!({"bills_per_min": 3000.0, "iteration_s": [0.5, 0.75]});
    let variant = json!({"alone": {"bills_per_min": 4000.0}, "together": together, "score": 3500.0,
                         "tpcc": {"total_per_min": 500.0, "p99_ms": {"new_order": 7.5}}});
    let found = rows(
        Experiment::E5,
        json!({"verso": {"tpcc_alone": {"total_per_min": 1000.0, "retries": 91}, "variants": {"fused": variant, "correlated": variant}},
               "postgres": {"variants": {}, "given_up": {"correlated": "canceling statement due to statement timeout"}}}),
    );
    let place = |name: &str| found.iter().position(|row| row[0] == name).expect(name);
    assert!(place("verso, correlated") < place("verso, fused"), "in the contest's order: {found:?}");
    place("postgres, correlated: given up, as a statement took too long");
    has(&found, &["verso", "–", "1,000", "–", "91"]);
    has(&found, &["verso, fused", "4,000", "3,000", "500", "50.0", "7.500", "0.500", "0.750", "3,500"]);
    let found = rows(
        Experiment::Tpch,
        json!({"sf": 1.0, "verso": {"q1": {"ms": 20.0, "ms_1_worker": 40.0}}, "duckdb": {"q1": {"ms": 10.0}},
               "geomean": {"verso": 20.0, "duckdb": 10.0}, "loads": {"verso": {"s": 2.0, "data_s": 1.0, "bytes": 7e6}}}),
    );
    has(&found, &["Q1", "20.0", "40.0", "10.0", "2.00"]);
    has(&found, &["geometric mean", "20.0", "–", "10.0", "2.00"]);
    has(&found, &["verso", "2.000", "1.000", "7.000"]);
}

/// Each takes the arguments that the page gives it.
#[test]
fn the_arguments_of_each_experiment_are_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let peers = vec![Peer::Duckdb, Peer::Postgres("host=/tmp".to_owned())];
    for quick in [true, false] {
        let options = AllOptions { quick, peers: peers.clone(), ..options(folder.path()) };
        let arguments = |experiment: Experiment| experiment.arguments(&options);
        let e1: E1Options = parsed(&arguments(Experiment::E1)).expect("e1");
        assert_eq!(e1.peers, peers);
        let e2: E2Options = parsed(&arguments(Experiment::E2)).expect("e2");
        assert_eq!((e2.rows, e2.peers), (if quick { 20_000 } else { 1_000_000 }, peers[1..].to_vec()));
        let e3: E3Options = parsed(&arguments(Experiment::E3)).expect("e3");
        assert_eq!(e3.warehouses, if quick { vec![1, 2] } else { vec![1, 2, 4, 8] });
        let e4: E4Options = parsed(&arguments(Experiment::E4)).expect("e4");
        assert_eq!(e4.rows, if quick { 100_000 } else { 4_079_052 });
        let e5: E5Options = parsed(&arguments(Experiment::E5)).expect("e5");
        assert_eq!(e5.peers, ["postgres=host=/tmp"]);
        let tpch: TpchOptions = parsed(&arguments(Experiment::Tpch)).expect("tpch");
        assert_eq!((tpch.sf, tpch.peers), (if quick { 0.05 } else { 1.0 }, peers.clone()));
    }
}
