//! The tables of a run, made from the JSON that the experiments have written.

use clap::ValueEnum;
use serde_json::{Map, Value};

use super::page::Table;
use crate::e1::grouped;
use crate::e5::Variant;

/// The value at a path of names; none where something on the way is missing.
fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

fn number(value: &Value, path: &[&str]) -> Option<f64> {
    at(value, path)?.as_f64()
}

fn entries(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

/// A number with as many digits as say something; nothing where it was not measured.
fn shown(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(large) if large.abs() >= 1000.0 => grouped(large.round().max(0.0) as u64),
        Some(value) if value.abs() >= 100.0 => format!("{value:.0}"),
        Some(value) if value.abs() >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.3}"),
    }
}

/// A number of things, which has no decimals; nothing where it was not counted.
fn count(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| grouped(value.round().max(0.0) as u64))
}

fn ratio(above: Option<f64>, below: Option<f64>) -> String {
    let ratio = above.zip(below).filter(|(_, below)| *below > 0.0).map(|(above, below)| above / below);
    ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"))
}

/// The engines of a report, Verso first.
fn engines<'v>(json: &'v Value, known: &[&'static str]) -> Vec<(&'static str, &'v Value)> {
    known.iter().filter_map(|name| Some((*name, json.get(name)?))).collect()
}

/// Milliseconds of each pass.
pub(super) fn e1(json: &Value) -> Vec<Table> {
    let passes = json.get("passes").and_then(Value::as_u64).unwrap_or(5);
    let numbers: Vec<String> = (1..=passes).map(|pass| pass.to_string()).collect();
    let mut head: Vec<&str> = vec![""];
    head.extend(numbers.iter().map(String::as_str));
    head.extend(["end", "last / first", "memory + MB"]);
    let rows = json.get("rows").and_then(Value::as_u64).unwrap_or_default();
    let mut table = Table::new(&format!("Here: {} rows, milliseconds a pass", grouped(rows)), &head);
    for (engine, variants) in engines(json, &["verso", "sqlite", "duckdb", "postgres"]) {
        for variant in ["default", "no_savepoint", "savepoints", "rollback", "rollback_no_savepoint"] {
            let Some(found) = variants.get(variant) else { continue };
            let passes: Vec<f64> = found
                .get("pass_ms")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_f64)
                .collect();
            let mut row = vec![format!("{engine}, {}", variant.replace('_', " "))];
            row.extend(passes.iter().map(|ms| shown(Some(*ms))));
            row.push(shown(number(found, &["commit_ms"]).or(number(found, &["rollback_ms"]))));
            row.push(ratio(passes.last().copied(), passes.first().copied()));
            row.push(shown(number(found, &["mem_growth_bytes"]).map(|bytes| bytes / 1e6)));
            table.rows.push(row);
        }
    }
    vec![table]
}

/// Rows a second in each mode, committers, steps of a procedure.
pub(super) fn e2(json: &Value) -> Vec<Table> {
    let modes = [
        ("one commit at the end", "commit_at_end", Some("commit_at_end")),
        ("bulk", "bulk", Some("bulk")),
        ("COMMIT in the procedure", "commit_default", None),
        ("WRITE WAIT IMMEDIATE", "commit_wait_immediate", Some("full")),
        ("WRITE WAIT BATCH", "commit_wait_batch", None),
        ("WRITE NOWAIT IMMEDIATE", "commit_nowait_immediate", Some("normal")),
        ("WRITE NOWAIT BATCH", "commit_nowait_batch", Some("off")),
    ];
    let rows = json.get("rows").and_then(Value::as_u64).unwrap_or_default();
    let disk = |name: &str| shown(number(json, &[name]));
    let caption = format!(
        "Here: {} rows, rows a second; the disk does {} durable overwrites a second, and {} at the end of a file",
        grouped(rows),
        disk("fdatasync_per_s"),
        disk("fdatasync_extend_per_s")
    );
    let head = ["", "Verso", "log bytes a row", "fsyncs", "SQLite", "PostgreSQL"];
    let rates = Table::new(&caption, &head).with(modes.iter().map(|(title, mode, sqlite)| {
        vec![
            (*title).to_owned(),
            shown(number(json, &["verso", mode, "rows_per_s"])),
            shown(number(json, &["verso", mode, "redo_bytes_per_row"])),
            count(number(json, &["verso", mode, "fsyncs"])),
            shown(sqlite.and_then(|level| number(json, &["sqlite", level, "rows_per_s"]))),
            shown(number(json, &["postgres", "loops", mode, "rows_per_s"])),
        ]
    }));
    let clients = |path: &[&str], field: &str| -> Vec<(u64, Option<f64>)> {
        let rows = at(json, path).and_then(Value::as_array).into_iter().flatten();
        rows.filter_map(|row| Some((row.get("clients")?.as_u64()?, number(row, &[field])))).collect()
    };
    let head = [
        "clients",
        "in the process",
        "wire, durable",
        "wire, not waiting",
        "PostgreSQL, durable",
        "PostgreSQL, not waiting",
    ];
    let columns = [
        clients(&["verso", "concurrent"], "commits_per_s"),
        clients(&["verso", "wire"], "durable_per_s"),
        clients(&["verso", "wire"], "nowait_per_s"),
        clients(&["postgres", "wire"], "durable_per_s"),
        clients(&["postgres", "wire"], "nowait_per_s"),
    ];
    let commits =
        Table::new("Commits a second of several clients", &head).with(columns[0].iter().map(|(count, _)| {
            let of = |column: &Vec<(u64, Option<f64>)>| {
                shown(column.iter().find(|(clients, _)| clients == count).and_then(|(_, rate)| *rate))
            };
            std::iter::once(count.to_string()).chain(columns.iter().map(of)).collect()
        }));
    let steps = Table::new("A step of a procedure, nanoseconds", &["", "Verso", "PostgreSQL"]).with(
        entries(json.get("plpgsql")).map(|(name, nanos)| {
            let theirs = number(json, &["postgres", "plpgsql", name]);
            vec![name.replace('_', " "), shown(nanos.as_f64()), shown(theirs)]
        }),
    );
    vec![rates, commits, steps]
}

/// Each pair of placements.
pub(super) fn e3(json: &Value) -> Vec<Table> {
    let points: Vec<&Value> = json.get("points").and_then(Value::as_array).into_iter().flatten().collect();
    let head = [
        "warehouses, pool",
        "tpmC together",
        "spread",
        "change %",
        "p95 ms together",
        "spread",
        "page writes together",
        "spread",
        "change %",
    ];
    let is = |point: &Value, on: &Value, colocate: bool| {
        let same = |name: &str| point.get(name) == on.get(name);
        point.get("colocate") == Some(&Value::Bool(colocate)) && same("warehouses") && same("pool")
    };
    let change = |on: Option<f64>, off: Option<f64>| {
        let change = on.zip(off).filter(|(_, off)| *off > 0.0).map(|(on, off)| (on / off - 1.0) * 100.0);
        change.map_or_else(|| "–".to_owned(), |percent| format!("{percent:+.1}"))
    };
    let table = Table::new(
        "Here: TPC-C with what one transaction writes together in pages of its own, and spread",
        &head,
    );
    let pairs = points.iter().filter(|point| point.get("colocate") == Some(&Value::Bool(true))).map(|on| {
        let off = points.iter().find(|point| is(point, on, false));
        let both = |name: &str| (number(on, &[name]), off.and_then(|off| number(off, &[name])));
        let (tpmc, p95, writes) = (both("tpmc"), both("p95_ms"), both("writes_per_tx"));
        let pool = on.get("pool").and_then(Value::as_str).unwrap_or_default();
        vec![
            format!("{}, {pool}", count(number(on, &["warehouses"]))),
            shown(tpmc.0),
            shown(tpmc.1),
            change(tpmc.0, tpmc.1),
            shown(p95.0),
            shown(p95.1),
            shown(writes.0),
            shown(writes.1),
            change(writes.0, writes.1),
        ]
    });
    vec![table.with(pairs)]
}

/// Seconds of each job by the number of workers, of Verso and its peers.
pub(super) fn e4(json: &Value) -> Vec<Table> {
    let mut workers: Vec<usize> =
        entries(json.get("index")).filter_map(|(workers, _)| workers.parse().ok()).collect();
    workers.sort_unstable();
    let names: Vec<String> = workers.iter().map(|workers| workers.to_string()).collect();
    let heads: Vec<String> = workers
        .iter()
        .map(|workers| format!("{workers} worker{}", if *workers == 1 { "" } else { "s" }))
        .collect();
    let mut head = vec![""];
    head.extend(heads.iter().map(String::as_str));
    head.extend(["speed-up", "MB"]);
    let rows = json.get("rows").and_then(Value::as_u64).unwrap_or_default();
    let mut table = Table::new(&format!("Here: {} words, seconds", grouped(rows)), &head);
    let own = [("Verso", json)].into_iter();
    let peers = entries(json.get("peers")).map(|(name, found)| (name.as_str(), found));
    for (engine, found) in own.chain(peers) {
        let mut line = |job: &str, seconds: &dyn Fn(&str) -> Option<f64>, bytes: Option<f64>| {
            let values: Vec<Option<f64>> = names.iter().map(|workers| seconds(workers)).collect();
            if values.iter().all(Option::is_none) {
                return;
            }
            // Of the most workers, also where they are slower than one.
            let most = values.iter().flatten().next_back().copied();
            let mut row = vec![format!("{engine}: {job}")];
            row.extend(values.iter().map(|value| shown(*value)));
            row.push(ratio(values.first().copied().flatten(), most));
            row.push(shown(bytes.map(|bytes| bytes / 1e6)));
            table.rows.push(row);
        };
        line(
            "load",
            &|workers| (workers == "1").then(|| number(found, &["load_s"])).flatten(),
            number(found, &["bytes"]),
        );
        line("index", &|workers| number(found, &["index", workers]), None);
        for (packing, backup) in entries(found.get("backup")) {
            let bytes = number(backup, &["bytes"]);
            line(&format!("backup, {packing}"), &|workers| number(backup, &[workers]), bytes);
        }
        line("restore", &|workers| number(found, &["restore", workers, "s"]), None);
        line("restore: data", &|workers| number(found, &["restore", workers, "data_s"]), None);
        line("restore: indexes", &|workers| number(found, &["restore", workers, "index_s"]), None);
        line("sweep", &|workers| number(found, &["sweep", workers]), None);
        line("index of a collation", &|workers| number(found, &["collations", workers]), None);
    }
    vec![table]
}

/// The contest's score, and how both sides fare.
pub(super) fn e5(json: &Value) -> Vec<Table> {
    let head = [
        "",
        "bills/min alone",
        "bills/min",
        "transactions/min",
        "% of alone",
        "p99 ms",
        "iteration s, first",
        "last",
        "score",
    ];
    let mut contest = Table::new("Here: the batch in its variants, alone and beside TPC-C", &head);
    let mut alone =
        Table::new("TPC-C alone", &["", "tpmC", "transactions/min", "p99 ms of a new order", "retries"]);
    for (engine, figures) in engines(json, &["verso", "postgres"]) {
        let tpcc = |name: &str| number(figures, &["tpcc_alone", name]);
        alone.rows.push(vec![
            engine.to_owned(),
            shown(tpcc("tpmc")),
            shown(tpcc("total_per_min")),
            shown(number(figures, &["tpcc_alone", "p99_ms", "new_order"])),
            count(tpcc("retries")),
        ]);
        let variants = figures.get("variants");
        let measured = Variant::value_variants().iter().map(|variant| variant.name());
        let measured = measured.filter_map(|name| Some((name, variants?.get(name)?)));
        for (variant, found) in measured {
            let times: Vec<f64> = at(found, &["together", "iteration_s"])
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_f64)
                .collect();
            let beside = number(found, &["tpcc", "total_per_min"]);
            let share =
                beside.zip(tpcc("total_per_min")).map(|(beside, alone)| beside / alone.max(1.0) * 100.0);
            contest.rows.push(vec![
                format!("{engine}, {variant}"),
                shown(number(found, &["alone", "bills_per_min"])),
                shown(number(found, &["together", "bills_per_min"])),
                shown(beside),
                shown(share),
                shown(number(found, &["tpcc", "p99_ms", "new_order"])),
                shown(times.first().copied()),
                shown(times.last().copied()),
                shown(number(found, &["score"])),
            ]);
        }
        for (variant, _) in entries(figures.get("given_up")) {
            let mut row = vec!["–".to_owned(); head.len()];
            row[0] = format!("{engine}, {variant}: given up, as a statement took too long");
            contest.rows.push(row);
        }
    }
    vec![contest, alone]
}

/// Milliseconds of each query.
pub(super) fn tpch(json: &Value) -> Vec<Table> {
    let found = engines(json, &["verso", "duckdb", "postgres"]);
    let mut head = vec!["query", "Verso", "one worker"];
    for (engine, _) in found.iter().skip(1) {
        head.extend([*engine, "ratio"]);
    }
    let scale = shown(number(json, &["sf"]));
    let mut table = Table::new(&format!("Here: scale factor {scale}, milliseconds"), &head);
    let mut row = |title: String, ms: &dyn Fn(&str, bool) -> Option<f64>| {
        let own = ms("verso", false);
        if own.is_none() {
            return;
        }
        let mut cells = vec![title, shown(own), shown(ms("verso", true))];
        for (engine, _) in found.iter().skip(1) {
            let theirs = ms(engine, false);
            cells.extend([shown(theirs), ratio(own, theirs)]);
        }
        table.rows.push(cells);
    };
    for query in (1..=22).map(|number| format!("q{number}")) {
        row(query.to_uppercase(), &|engine, one| {
            number(json, &[engine, &query, if one { "ms_1_worker" } else { "ms" }])
        });
    }
    row("geometric mean".to_owned(), &|engine, one| {
        let name = if one { format!("{engine}_1_worker") } else { engine.to_owned() };
        number(json, &["geomean", &name])
    });
    let mut loads = Table::new("Loading", &["", "seconds with keys", "seconds of the rows", "MB"]);
    for (engine, load) in entries(json.get("loads")) {
        let figure = |name: &str| number(load, &[name]);
        let megabytes = figure("bytes").map(|bytes| bytes / 1e6);
        loads.rows.push(vec![engine.clone(), shown(figure("s")), shown(figure("data_s")), shown(megabytes)]);
    }
    vec![table, loads]
}
