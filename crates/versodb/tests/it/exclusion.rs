//! Exclusion constraints: sessions at the same time, and crashes.

use std::sync::Arc;

use verso_sim::{FaultPlan, World, seeds};
use versodb::Database;

use crate::simulated::{number, options, path};

const BOOKED: &str = "CREATE TABLE booked (id serial, room int, during int4range, \
     EXCLUDE USING gist (during WITH &&, room WITH =))";
const OVERLAPS: &str =
    "SELECT count(*) FROM booked a JOIN booked b ON a.id < b.id AND a.room = b.room AND a.during && b.during";

/// Inserts, updates and deletes of one session, until they are over or the power is gone.
fn work(database: &Database, session: i64) {
    let Ok(mut connection) = database.connect() else { return };
    for step in 0..40 {
        let at = (session * 31 + step * 17) % 60;
        let sql = match step % 4 {
            3 => format!(
                "UPDATE booked SET during = int4range({at}, {at} + 4) WHERE room = 1 AND lower(during) > {at}"
            ),
            2 => format!("DELETE FROM booked WHERE room = {} AND during @> {at}", step % 2),
            _ => format!(
                "INSERT INTO booked (room, during) VALUES ({}, int4range({at}, {at} + {}))",
                step % 2,
                1 + step % 7
            ),
        };
        for sql in [if step % 3 == 0 { "BEGIN" } else { "SELECT 1" }, &sql, "COMMIT"] {
            let done = match sql.starts_with("SELECT") {
                true => connection.query(sql).map(drop),
                false => connection.execute(sql).map(drop),
            };
            if let Err(error) = done {
                let known = ["23P01", "40P01", "25P01"].contains(&error.sqlstate);
                if !known || (error.sqlstate != "25P01" && connection.execute("ROLLBACK").is_err()) {
                    return;
                }
                break;
            }
        }
    }
}

#[test]
fn xc1_no_two_rows_exclude_each_other_whoever_comes_at_the_same_time_and_after_any_crash() {
    for seed in seeds(12) {
        let world = World::new(seed);
        let mut rng = world.rng();
        let power_off_at_op = (seed % 2 == 0).then(|| rng.between(20, 400));
        world.run(|env| {
            let database = Arc::new(Database::create(path(), options(env)).unwrap());
            let mut connection = database.connect().unwrap();
            connection.execute(BOOKED).unwrap();
            connection.execute("INSERT INTO booked (room, during) VALUES (7, '[1,9)')").unwrap();
            world.vfs().set_faults(FaultPlan { power_off_at_op, ..FaultPlan::default() });
            let sessions: Vec<_> = (0..4)
                .map(|session| {
                    let database = Arc::clone(&database);
                    env.spawn(&format!("session {session}"), move || work(&database, session))
                })
                .collect();
            sessions.into_iter().for_each(|session| drop(session.join()));
            if power_off_at_op.is_none() {
                assert_eq!(number(&mut connection, OVERLAPS).unwrap(), 0, "seed {seed}");
            }
        });
        world.crash();
        world.run(|env| {
            let database = Database::open(path(), options(env)).unwrap();
            let mut connection = database.connect().unwrap();
            assert_eq!(number(&mut connection, OVERLAPS).unwrap(), 0, "seed {seed}");
            let refused = connection.execute("INSERT INTO booked (room, during) VALUES (7, '[5,50)')");
            assert_eq!(refused.unwrap_err().sqlstate, "23P01", "seed {seed}");
            connection.execute("INSERT INTO booked (room, during) VALUES (7, '[9,50)')").unwrap();
            assert!(database.engine().check(&mut |_| {}).unwrap().problems.is_empty(), "seed {seed}");
        });
    }
}
