//! An UPDATE that splits pages of indexes and ends with an error at any point of its work leaves nothing behind: neither rows nor
//! entries nor pages that break a rule.

use verso_sim::{FaultPlan, World};
use versodb::{Connection, Database};

use crate::simulated::{options, path};

const MADE: &str = "
    CREATE FUNCTION refused_at(n int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
        BEGIN IF n = 424242 THEN RAISE EXCEPTION 'refused' USING ERRCODE = 'P0042'; END IF; RETURN n; END $$;
    CREATE FUNCTION cancelled_at() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN IF NEW.k = 434343 THEN PERFORM pg_cancel_backend(pg_backend_pid()); END IF; RETURN NEW; END $$;
    CREATE TABLE t (id int PRIMARY KEY, k int, w text, b text[], r int4range);
    CREATE UNIQUE INDEX by_k ON t (k, id);
    CREATE INDEX by_w ON t (w);
    CREATE INDEX by_part ON t (lower(w), k) WHERE k > 3;
    CREATE INDEX by_value ON t (refused_at(k));
    CREATE INDEX by_element ON t USING gin (b);
    CREATE TRIGGER cancels BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION cancelled_at();
    INSERT INTO t SELECT n, n, repeat('w', n % 40) || n, ARRAY[n::text, (n % 7)::text], int4range(n, n + 5)
      FROM generate_series(1, 700) AS n";

/// Gives every row other keys, of which one may be this; more of them than pages of the indexes have room for.
fn change(last: &str) -> String {
    format!(
        "UPDATE t SET k = CASE WHEN id = 690 THEN {last} ELSE k * 7919 % 10007 + 20000 END,
            w = md5(id::text) || repeat('x', 30 + id % 60), b = ARRAY[md5(id::text), w, id::text]"
    )
}

/// What the table has, and what each index finds.
fn contents(connection: &mut Connection) -> Vec<String> {
    let mut all = Vec::new();
    connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = on").unwrap();
    for question in [
        "SELECT count(*), sum(hashtext(t::text)) FROM t WHERE id > 0",
        "SELECT count(*), sum(k) FROM t WHERE k > -1",
        "SELECT count(*), min(w), max(w) FROM t WHERE w >= ''",
        "SELECT count(*) FROM t WHERE lower(w) > 'a' AND k > 3",
        "SELECT count(*), sum(id) FROM t WHERE refused_at(k) > 0",
        "SELECT count(*), sum(id) FROM t WHERE b @> ARRAY['3']",
    ] {
        let rows = connection.query(question).unwrap().into_rows();
        all.push((0..rows[0].columns().len()).map(|at| rows[0].text(at)).collect::<Vec<_>>().join("|"));
    }
    all
}

fn is_sound(database: &Database) {
    let problems = database.engine().check(&mut |_| {}).unwrap().problems;
    assert!(problems.is_empty(), "{problems:?}");
}

/// Leaves little more room in the file than it keeps for undo, so that it grows with what comes.
fn fill(database: &Database, connection: &mut Connection) {
    connection.execute("CREATE TABLE filler (w text)").unwrap();
    while database.engine().space().free_pages > 512 + 16 {
        connection.execute("INSERT INTO filler SELECT repeat('f', 3000) FROM generate_series(1, 5)").unwrap();
    }
}

/// Runs the change that is to fail; whether it did, with one of these states.
fn fails(connection: &mut Connection, sql: &str, states: &[&str]) -> bool {
    match connection.execute(sql) {
        Ok(_) => false,
        Err(error) => {
            assert!(states.contains(&error.sqlstate), "{error:?}");
            true
        }
    }
}

#[test]
fn an_update_without_room_is_undone_whole() {
    let mut refused = 0;
    for step in 0..40 {
        let world = World::new(step);
        let failed = world.run(|env| {
            let database = Database::create(path(), options(env)).unwrap();
            let mut connection = database.connect().unwrap();
            connection.execute(MADE).unwrap();
            fill(&database, &mut connection);
            database.checkpoint().unwrap();
            let before = contents(&mut connection);
            let capacity_bytes = Some(world.vfs().used_bytes() + step * (13 << 10));
            world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
            let failed = fails(&mut connection, &change("7"), &["53100"]);
            world.vfs().set_faults(FaultPlan::default());
            if failed {
                assert_eq!(contents(&mut connection), before, "step {step}");
                is_sound(&database);
            }
            // The same works with room.
            connection.execute(&change("7")).unwrap();
            assert_ne!(contents(&mut connection), before);
            is_sound(&database);
            failed
        });
        refused += u64::from(failed);
        if !failed {
            break;
        }
    }
    assert!(refused > 2, "the disk had room for all of them");
}

#[test]
fn an_update_whose_last_rows_are_refused_is_undone_whole() {
    for (last, state) in [("424242", "P0042"), ("434343", "57014"), ("1 / (id - 690)", "22012")] {
        let world = World::new(7);
        world.run(|env| {
            let database = Database::create(path(), options(env)).unwrap();
            let mut connection = database.connect().unwrap();
            connection.execute(MADE).unwrap();
            let before = contents(&mut connection);
            for round in 0..3 {
                connection.execute("BEGIN; SAVEPOINT s").unwrap();
                assert!(fails(&mut connection, &change(last), &[state]), "{last}");
                if round == 1 {
                    connection.execute("ROLLBACK TO s").unwrap();
                    assert_eq!(contents(&mut connection), before, "{last}");
                    connection.execute("COMMIT").unwrap();
                } else {
                    connection.execute("ROLLBACK").unwrap();
                }
                assert_eq!(contents(&mut connection), before, "{last}");
            }
            connection.execute("UPDATE t SET id = id + 1000").unwrap();
            assert!(fails(
                &mut connection,
                "UPDATE t SET id = CASE WHEN id = 1690 THEN 1 ELSE id - 1000 END",
                &["23505"]
            ));
            connection.execute("UPDATE t SET id = id - 1000").unwrap();
            assert_eq!(contents(&mut connection), before, "{last}");
            is_sound(&database);
        });
    }
}
