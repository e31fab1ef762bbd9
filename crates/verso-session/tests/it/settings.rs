//! Values that settings do not take: each error says what they do.

use crate::World;

/// Which settings there are, what values they take, and who may set them.
const SETTINGS: &str =
    "SELECT name, vartype, coalesce(min_val, ''), coalesce(max_val, ''), coalesce(unit, ''),
        coalesce(array_to_string(enumvals, ', '), ''), context FROM pg_settings
    WHERE context IN ('user', 'superuser', 'sighup') AND name NOT LIKE 'transaction\\_%' ORDER BY name";

#[test]
fn a_value_that_a_setting_does_not_take_is_refused_with_what_it_takes() {
    let world = World::new();
    let mut client = world.connect();
    let rows = client.run(SETTINGS);
    let mut numbers = 0;
    for row in &rows[..rows.len() - 1] {
        let fields: Vec<_> = row.split('|').collect();
        let [name, kind, least, most, unit, words, context] = fields[..] else { panic!("{row}") };
        let words_of = match kind {
            "bool" => vec!["Boolean value".to_string()],
            "enum" => vec![format!("Available values: {}", words.split(", ").next().unwrap_or_default())],
            "integer" | "real" if !least.is_empty() => {
                numbers += 1;
                vec![least.to_string(), most.to_string()]
            }
            _ => continue,
        };
        let beyond =
            |end: &str, step: f64| end.parse::<f64>().map_or(String::new(), |end| (end + step).to_string());
        let mut wrong = vec!["something else".to_string(), "1 parsec".to_string()];
        if kind == "integer" || kind == "real" {
            wrong.push(beyond(least, -1.0));
        }
        if kind == "integer" && most != i64::MAX.to_string() {
            wrong.push(beyond(most, 1.0));
        }
        // Some begin above what means something by itself.
        let apart = ["statement_memory_limit", "session_memory_limit", "memory_limit"].contains(&name)
            || ["version_retention_size", "long_tx_wal_limit"].contains(&name);
        for value in wrong {
            let sql = match context {
                "sighup" => format!("ALTER SYSTEM SET {name} = '{value}'"),
                _ => format!("SET {name} = '{value}'"),
            };
            let Err(error) = client.try_run(&sql) else { panic!("{sql} succeeded") };
            assert_eq!(error.sqlstate, "22023", "{sql}: {error:?}");
            let told = format!("{} {}", error.message, error.hint.as_deref().unwrap_or_default());
            // The greatest of these is what the machine has.
            let of_machine = name == "buffer_pool" || name == "shared_buffers";
            for word in words_of.iter().filter(|word| !of_machine || *word != most) {
                assert!(told.contains(word.as_str()), "{sql}: {told} does not say {word} ({unit})");
            }
            assert!(!apart || told.contains("no limit"), "{sql}: {told}");
        }
    }
    assert!(numbers > 45, "{numbers}");
}

#[test]
fn no_temporary_files_is_not_no_limit() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t AS SELECT n AS a, repeat('x', 100) AS b FROM generate_series(1, 20000) n");
    client.run("SET work_mem = '64kB'; SET temp_file_limit = 0");
    let error = client.fails("SELECT count(*) FROM (SELECT b, a FROM t ORDER BY b, a OFFSET 1) s");
    assert_eq!(error.0, "53400", "{}", error.1);
    client.run("SET temp_file_limit = -1");
    assert_eq!(client.value("SELECT count(*) FROM (SELECT b, a FROM t ORDER BY b, a OFFSET 1) s"), "19999");
}
