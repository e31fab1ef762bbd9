//! A warehouse under the load of four terminals for a second, through the library: all conditions hold afterwards.

use std::time::Duration;

use verso_env::Env;
use versodb::{Database, Options};

use super::drive::{Load, drive};
use super::embedded::Embedded;
use super::holder::Holder;
use super::session::Target;
use super::{TpccFigures, check, check_warehouses, engine_of, load, procedures};

#[test]
fn the_conditions_hold_after_the_load_and_are_noticed_when_broken() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path().join("t.verso"), Options::new()).unwrap();
    let (env, target) = (Env::real(), Embedded::new(database));
    load(&env, &target, 1, 2, 7).unwrap();
    check(&target).unwrap();
    let asked = Load {
        warehouses: 1,
        connections: 4,
        warm_up: Duration::ZERO,
        duration: Duration::from_secs(1),
        think: false,
        procedures: false,
        seed: 9,
    };
    let holder = Holder::begin(&target).unwrap();
    let notes = drive(&env, &target, &asked).unwrap();
    assert_eq!(notes.first_error, None);
    let held = holder.end().unwrap();
    assert!(held.bytes_after >= held.bytes_before && held.version_bytes > Some(0), "{held:?}");
    check(&target).unwrap();
    let figures = TpccFigures::new(notes);
    assert!(figures.tpmc > 0.0 && figures.total_per_min >= figures.tpmc);

    // The same as procedures, one call each.
    let mut console = target.console().unwrap();
    procedures::CREATE.iter().for_each(|text| drop(console.row(text).unwrap()));
    drop(console);
    let orders = || target.script("SELECT count(*) FROM orders").unwrap().unwrap();
    let before = orders();
    let notes = drive(&env, &target, &Load { procedures: true, seed: 10, ..asked }).unwrap();
    assert_eq!(notes.first_error, None);
    assert!(notes.new_orders > 0 && orders() >= before + notes.new_orders.cast_signed());
    assert!(notes.micros.iter().all(|kind| !kind.is_empty()), "each kind was called");
    check(&target).unwrap();
    check_warehouses(&target, 1).unwrap();
    assert!(check_warehouses(&target, 2).unwrap_err().to_string().contains("1 warehouses, not 2"));

    for broken in [
        "UPDATE warehouse SET w_ytd = w_ytd + 1",
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_id = 17 AND o_d_id = 3",
        "DELETE FROM new_order WHERE no_d_id = 2 AND no_o_id = (SELECT min(no_o_id) + 1 FROM new_order WHERE no_d_id = 2)",
    ] {
        // Each is taken back before the next.
        target.script(broken).unwrap();
        let error = check(&target).unwrap_err().to_string();
        assert!(error.contains("is broken") && !error.contains("Some"), "{broken}: {error}");
        assert!(error.matches("condition").count() > 1, "all that are broken are named: {error}");
        let undo = match broken {
            text if text.contains("warehouse") => "UPDATE warehouse SET w_ytd = w_ytd - 1",
            _ => "UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_id = 17 AND o_d_id = 3",
        };
        if !broken.contains("DELETE") {
            target.script(undo).unwrap();
            check(&target).unwrap();
        }
    }
    target.close().unwrap();
}

#[test]
fn servers_are_named_by_their_version() {
    assert_eq!(engine_of("PostgreSQL 18.4 on x86_64-pc-linux-gnu"), "postgresql");
    assert_eq!(engine_of("PostgreSQL 18.4 (Verso 0.1)"), "verso");
}

#[test]
fn addresses_are_dsns() {
    let dsn = super::dsn_of("db.example:5433").unwrap();
    assert_eq!(dsn, "host=db.example port=5433 user=verso dbname=verso");
    assert_eq!(super::dsn_of("postgresql://h/d").unwrap(), "postgresql://h/d");
    assert!(super::dsn_of("nowhere").is_err());
}
