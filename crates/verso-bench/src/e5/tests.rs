//! Iterations of two variants through the library: bills and balances are those worked out here.

use std::sync::atomic::AtomicBool;

use verso_env::Env;
use versodb::{Database, Options};

use std::collections::BTreeMap;

use super::{BatchFigures, Variant, batch, in_time};
use crate::BenchError;
use crate::tpcc::{Console, Embedded, Target};

/// Ends the batch with so many iterations.
struct Rounds<'c> {
    console: &'c mut dyn Console,
    over: &'c AtomicBool,
    left: u32,
}

impl Console for Rounds<'_> {
    fn row(&mut self, sql: &str) -> Result<Vec<String>, crate::BenchError> {
        self.left -= u32::from(sql.starts_with("UPDATE bill_product_cycle"));
        self.over.store(self.left == 0, std::sync::atomic::Ordering::Relaxed);
        self.console.row(sql)
    }
}

#[test]
fn bills_are_right_and_a_wrong_one_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path().join("e5.verso"), Options::new()).unwrap();
    let (env, target) = (Env::real(), Embedded::new(database));
    for (variant, iterations) in [(Variant::Joined, 1), (Variant::Trigger, 2)] {
        batch::prepare(&target, variant, true).unwrap();
        let (mut console, over) = (target.console().unwrap(), AtomicBool::new(false));
        let rounds = &mut Rounds { console: &mut *console, over: &over, left: iterations };
        let figures = batch::run(&env, rounds, variant, &over).unwrap();
        assert_eq!(figures.iterations, u64::from(iterations));
        assert_eq!(figures.step_s.len(), variant.steps().len());
        batch::verify("verso", &mut *console, variant, figures.iterations).unwrap();
    }
    let mut console = target.console().unwrap();
    console.row("UPDATE bills SET total_bill = total_bill + 0.01 WHERE bill_number = 7").unwrap();
    assert!(batch::verify("verso", &mut *console, Variant::Trigger, 2).is_err());
    drop(console);
    target.close().unwrap();
}

#[test]
fn a_statement_that_takes_too_long_gives_its_variant_up_and_any_other_error_the_run() {
    let mut given_up = BTreeMap::new();
    let failed = |message: &str| Err(BenchError::Engine { engine: "server", message: message.to_owned() });
    let late = failed("postgres: ERROR: canceling statement due to statement timeout");
    assert!(in_time(late, "postgres", Variant::Joined, &mut given_up).unwrap().is_none());
    assert_eq!(given_up.keys().collect::<Vec<_>>(), [&Variant::Joined]);
    assert!(in_time(failed("syntax error"), "postgres", Variant::Fused, &mut given_up).is_err());
    let done = in_time(Ok(BatchFigures::default()), "postgres", Variant::Fused, &mut given_up);
    assert!(done.unwrap().is_some() && given_up.len() == 1);
}
