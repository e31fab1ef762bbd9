//! `verso bench e1` on a small table: child processes, verified values, the shape of the JSON, the plot; `verso bench wire`.

use crate::world::World;

#[test]
fn e1_writes_table_json_and_plot() {
    let world = World::new();
    let run = world.verso(&[
        "bench",
        "e1",
        "--rows",
        "1500",
        "--passes",
        "3",
        "--runs",
        "1",
        "--pool-bytes",
        "67108864",
        "--folder",
        ".",
        "--json",
        "e1.json",
        "--plot",
        "e1.svg",
    ]);
    assert_eq!(run.code, 0, "{run:?}");
    for line in ["verso default", "verso rollback_no_savepoint", "sqlite default", "sqlite / verso"] {
        assert!(run.out.contains(line), "{line}: {run:?}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(world.path().join("e1.json")).expect("written"))
            .expect("JSON");
    assert_eq!(json["rows"], 1500);
    assert!(json["calibration"]["memcpy_gb_s"].as_f64() > Some(0.0));
    for variant in ["default", "no_savepoint", "savepoints"] {
        let measured = &json["verso"][variant];
        assert_eq!(measured["pass_ms"].as_array().map(Vec::len), Some(3), "{variant}");
        assert!(measured["commit_ms"].is_number() && measured["redo_bytes"].is_number(), "{variant}");
        assert_eq!(measured["mem_delta_bytes"].as_array().map(Vec::len), Some(3), "{variant}");
        assert_eq!(measured["writes"].as_array().map(Vec::len), Some(3), "{variant}");
        assert!(measured["mem_peak_bytes"].is_number(), "{variant}");
    }
    for variant in ["rollback", "rollback_no_savepoint"] {
        let measured = &json["verso"][variant];
        for figure in ["rollback_ms", "scan_before_ms", "scan_after_ms"] {
            assert!(measured[figure].is_number(), "{variant} {figure}");
        }
    }
    assert!(json["sqlite"]["default"]["commit_ms"].is_number());
    let svg = std::fs::read_to_string(world.path().join("e1.svg")).expect("written");
    assert!(svg.starts_with("<svg") && svg.contains("polyline"), "{}", &svg[..200.min(svg.len())]);
    let left: Vec<_> = std::fs::read_dir(world.path()).expect("readable").filter_map(Result::ok).collect();
    assert_eq!(left.len(), 2, "only the two files are left: {left:?}");
}

#[test]
fn a_peer_that_is_not_there_is_named_as_skipped() {
    let world = World::new();
    let peer = "postgres=host=127.0.0.1 port=1 user=nobody connect_timeout=2";
    let run = world.verso(&[
        "bench",
        "e1",
        "--rows",
        "200",
        "--passes",
        "1",
        "--runs",
        "1",
        "--pool-bytes",
        "67108864",
        "--folder",
        ".",
        "--peers",
        peer,
    ]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("postgres: skipped, "), "{run:?}");
}

#[test]
fn bench_wire_counts_transactions_and_what_idle_sessions_take() {
    let world = World::new();
    let run = world.verso(&[
        "bench",
        "wire",
        "--own-driver",
        "--scale",
        "1",
        "--seconds",
        "1",
        "--clients",
        "1,2",
        "--only",
        "select_prepared,tpcb_durable",
        "--pool-bytes",
        "67108864",
        "--folder",
        ".",
        "--json",
        "wire.json",
    ]);
    assert_eq!(run.code, 0, "{run:?}");
    let json = std::fs::read(world.path().join("wire.json")).expect("written");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    for workload in ["select_prepared", "tpcb_durable"] {
        for clients in ["1", "2"] {
            assert!(json[workload][clients].as_f64().is_some_and(|rate| rate > 0.0), "{workload} {clients}");
        }
    }
    let idle = json["idle_sessions_bytes"].as_u64().expect("Linux says");
    assert!(idle < 200_000_000, "{idle}");
}

#[test]
fn e4_measures_the_peers_that_are_there_and_names_the_others() {
    let world = World::new();
    let peers = "duckdb,firebird,postgres=host=127.0.0.1 port=1 user=nobody connect_timeout=2";
    let run = world.verso(&[
        "bench",
        "e4",
        "--rows",
        "2000",
        "--workers",
        "1,2",
        "--folder",
        ".",
        "--json",
        "e4.json",
        "--peers",
        peers,
    ]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("skipped: postgres: "), "{run:?}");
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(world.path().join("e4.json")).expect("written"))
            .expect("JSON");
    assert!(json["skipped"]["postgres"].is_string() && json["peers"]["postgres"].is_null(), "{json}");
    for peer in ["duckdb", "firebird"] {
        let measured = json["peers"][peer]["restore"]["1"]["s"].is_number();
        assert_ne!(measured, json["skipped"][peer].is_string(), "{peer}: {json}");
    }
    assert!(json["restore"]["2"]["index_s"].is_number() && json["sweep"]["2"].is_number(), "{json}");
    let left: Vec<_> = std::fs::read_dir(world.path()).expect("readable").filter_map(Result::ok).collect();
    assert_eq!(left.len(), 1, "only the file is left: {left:?}");
}
