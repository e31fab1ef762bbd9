//! The batch: iterations without pause until the time is over, and the proof that every bill is right.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use verso_env::Env;

use super::steps::Variant;
use super::tables;
use crate::BenchError;
use crate::tpcc::{Console, Target};

/// What became of a batch.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BatchFigures {
    /// Iterations that were finished.
    pub iterations: u64,
    /// Seconds of each of them.
    pub iteration_s: Vec<f64>,
    /// Seconds of each step in the middle one of the iterations, sorted by their time.
    pub step_s: BTreeMap<&'static str, f64>,
    /// Bills a minute, over the time of the finished iterations.
    pub bills_per_min: f64,
}

/// Makes the tables of the batch anew, as a variant wants them.
pub(super) fn prepare<T: Target>(target: &T, variant: Variant, informix: bool) -> Result<(), BenchError> {
    let mut console = target.console()?;
    console.row(tables::DROP)?;
    let statements = tables::CREATE.iter().copied().chain(variant.preparation(informix));
    statements.map(|statement| console.row(statement)).try_for_each(|made| made.map(drop))
}

/// Runs iterations until `over`, each to its end.
pub(super) fn run(
    env: &Env,
    console: &mut dyn Console,
    variant: Variant,
    over: &AtomicBool,
) -> Result<BatchFigures, BenchError> {
    let seconds = |from: u64| env.clock.monotonic_nanos().saturating_sub(from) as f64 / 1e9;
    let steps = variant.steps();
    let begun = env.clock.monotonic_nanos();
    let mut iterations: Vec<(f64, Vec<f64>)> = Vec::new();
    while !over.load(Ordering::Relaxed) && (iterations.len() as u64) < tables::PRODUCTS {
        let started = env.clock.monotonic_nanos();
        let mut times = Vec::with_capacity(steps.len());
        for (_, text) in &steps {
            let from = env.clock.monotonic_nanos();
            console.row(text)?;
            times.push(seconds(from));
        }
        iterations.push((seconds(started), times));
    }
    let total = seconds(begun);
    let mut figures = BatchFigures {
        iterations: iterations.len() as u64,
        iteration_s: iterations.iter().map(|(time, _)| *time).collect(),
        ..BatchFigures::default()
    };
    figures.bills_per_min = (figures.iterations * tables::CUSTOMERS) as f64 / total.max(1e-9) * 60.0;
    iterations.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    if let Some((_, times)) = iterations.get(iterations.len() / 2) {
        figures.step_s = steps.iter().map(|(name, _)| *name).zip(times.iter().copied()).collect();
    }
    Ok(figures)
}

/// Compares bills and balances with what this program works out for itself.
///
/// # Errors
/// A sum or a count that differs.
pub(super) fn verify(
    name: &str,
    console: &mut dyn Console,
    variant: Variant,
    iterations: u64,
) -> Result<(), BenchError> {
    let expected: u64 = (1..=iterations).map(tables::total_of_product).sum();
    let wanted = (iterations * tables::CUSTOMERS, expected);
    let cents = |text: &str| text.replace('.', "").parse::<u64>().ok();
    let mut ask = |sql: &str| -> Result<(Option<u64>, Option<u64>), BenchError> {
        let row = console.row(sql)?;
        let text = |at: usize| row.get(at).map(String::as_str).unwrap_or_default();
        Ok((text(0).parse().ok(), cents(text(1))))
    };
    let bills = ask("SELECT count(*), coalesce(sum(total_bill), 0.00) FROM bills")?;
    let owed = ask("SELECT count(*), sum(balance_due) FROM bill_customer")?;
    if (bills.0, bills.1) == (Some(wanted.0), Some(wanted.1))
        && owed == (Some(tables::CUSTOMERS), Some(wanted.1))
    {
        return Ok(());
    }
    let message = format!(
        "{name}, {}: {iterations} iterations should give {} bills of {} cents and the same balances; there are {bills:?} and {owed:?}",
        variant.name(),
        wanted.0,
        wanted.1
    );
    Err(BenchError::Wrong { engine: "e5", message })
}
