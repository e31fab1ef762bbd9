//! A simulated world for tests: disk, clock, randomness and threads that are functions of a seed.
//!
//! ```text
//! for seed in seeds(100) {                     // a failure prints its seed; SEED=… replays it
//!     let world = World::new(seed);
//!     world.vfs().set_faults(FaultPlan { power_off_at_op: Some(seed % 50), ..FaultPlan::default() });
//!     world.run(|env| workload(env));          // threads step in seeded order, the disk may fail
//!     world.crash();                           // unsynced sectors are kept or lost
//!     world.run(|env| reopen_and_check(env));
//! }
//! ```
//!
//! M1. The same seed gives the same run: the same interleaving, the same faults, the same disk after a crash.
//! M2. What was synced survives every crash; what was not survives in any mix of sectors.
//! M3. One simulated thread runs at a time; nothing here depends on addresses, real time or the machine's load.
#![forbid(unsafe_code)]

mod clock;
mod gate;
pub mod history;
pub mod model;
mod rng;
mod scheduler;
mod seeds;
mod vfs;
mod world;

pub use clock::SimClock;
pub use gate::Gate;
pub use rng::{Rng, SimRandom};
pub use scheduler::{RunReport, SchedulerOptions, SimThreads, simulate};
pub use seeds::{Seeds, seeds, trials};
pub use vfs::{DiskStats, FaultPlan, Operation, OperationKind, SECTOR_BYTES, SimVfs};
pub use world::World;
