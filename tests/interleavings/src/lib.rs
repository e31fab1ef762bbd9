//! Every interleaving of the latch (`buffer/latch.rs`) and of group commit (`wal/turns.rs`) of the storage engine.
//!
//! The two files are borrowed as they stand: in this crate `verso_env::sync` means [`sync`], whose locks and atomics are
//! those of [loom](https://docs.rs/loom). It runs a model once for each order in which its threads can be switched and
//! for each value that the memory orderings allow a load to see, and reports data races and sleepers that nobody wakes.
//! What does not fit into such small models is left to the seeded scheduler of `verso-sim` and to Miri.

// What the borrowed files call `verso_env` is this crate.
extern crate self as verso_env;

pub mod buffer;
pub mod page;
pub mod sync;
pub mod wal;

/// Runs a model in every interleaving with at most `switches` switches that no thread asked for.
fn explore(switches: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(switches);
    builder.check(model);
}
