//! Two iterations of each variant through the library: bills and balances are those worked out here.

use std::sync::atomic::AtomicBool;

use verso_env::Env;
use versodb::{Database, Options};

use super::{Variant, batch};
use crate::tpcc::{Console, Embedded, Target};

/// Ends the batch with its second iteration.
struct Twice<'c> {
    console: &'c mut dyn Console,
    over: &'c AtomicBool,
    rounds: u32,
}

impl Console for Twice<'_> {
    fn row(&mut self, sql: &str) -> Result<Vec<String>, crate::BenchError> {
        self.rounds += u32::from(sql.starts_with("UPDATE bill_product_cycle"));
        self.over.store(self.rounds >= 2, std::sync::atomic::Ordering::Relaxed);
        self.console.row(sql)
    }
}

#[test]
fn bills_are_right_in_every_variant_and_a_wrong_one_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path().join("e5.verso"), Options::new()).unwrap();
    let (env, target) = (Env::real(), Embedded::new(database));
    for variant in [Variant::Joined, Variant::Indexed, Variant::Fused, Variant::Trigger] {
        batch::prepare(&target, variant, true).unwrap();
        let (mut console, over) = (target.console().unwrap(), AtomicBool::new(false));
        let twice = &mut Twice { console: &mut *console, over: &over, rounds: 0 };
        let figures = batch::run(&env, twice, variant, &over).unwrap();
        assert_eq!((figures.iterations, figures.iteration_s.len()), (2, 2));
        assert_eq!(figures.step_s.len(), variant.steps().len());
        batch::verify("verso", &mut *console, variant, 2).unwrap();
        console.row("UPDATE bills SET total_bill = total_bill + 0.01 WHERE bill_number = 7").unwrap();
        assert!(batch::verify("verso", &mut *console, variant, 2).is_err());
    }
    target.close().unwrap();
}
