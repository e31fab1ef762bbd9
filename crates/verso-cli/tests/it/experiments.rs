//! The published scripts of E1 run as they stand; here over fewer rows.

use crate::world::World;

const ROWS: u32 = 2_000;

fn created() -> World {
    let world = World::new();
    let script = include_str!("../../../verso-bench/experiments/e1/create.sql");
    let smaller = script.replace("insertrecs(100000)", &format!("insertrecs({ROWS})"));
    assert_ne!(script, smaller);
    let create = world.file("create.sql", &smaller);
    let run = world.verso(&["shell", "e1.verso", "--file", create.to_str().expect("text")]);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert!(run.out.contains(&format!("    {ROWS}\n")), "{run:?}");
    world
}

fn measured(script: &str, passes: u32) {
    let world = created();
    world.file("script.sql", script);
    let run = world.verso(&["shell", "e1.verso", "--file", "script.sql"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let passes_done = run.out.matches(&format!("UPDATE {ROWS}\n")).count();
    assert_eq!(passes_done, passes as usize, "{run:?}");
    assert!(run.out.matches("Elapsed time = ").count() >= passes_done, "{run:?}");

    let wrong = format!(
        "SELECT count(*) AS wrong FROM test WHERE id <> cnt + {passes} OR qrt <> cnt * 0.5 + {passes} \
         OR name <> 'name ' || cnt || '{}' OR ts_change <= ts_create",
        "1".repeat(passes as usize)
    );
    assert_eq!(world.sql("e1.verso", &wrong), " wrong \n-------\n     0\n(1 row)\n\n");
    let gone = world.verso(&["shell", "e1.verso", "-c", "SELECT * FROM test2drop"]);
    assert!(gone.err.contains("42P01"), "{gone:?}");
}

#[test]
fn one_pass() {
    measured(include_str!("../../../verso-bench/experiments/e1/one_pass.sql"), 1);
}

#[test]
fn one_pass_no_savepoint() {
    measured(include_str!("../../../verso-bench/experiments/e1/one_pass_no_savepoint.sql"), 1);
}

#[test]
fn five_passes() {
    measured(include_str!("../../../verso-bench/experiments/e1/five_passes.sql"), 5);
}

#[test]
fn five_passes_no_savepoint() {
    measured(include_str!("../../../verso-bench/experiments/e1/five_passes_no_savepoint.sql"), 5);
}
