//! The outside world as traits: files, clock, randomness and threads; plus locks that a simulation can steer.
//!
//! Everything above this crate reaches the world through an [`Env`] and takes its locks from [`sync`]. A real
//! run uses [`Env::real`]; a simulated one comes from `verso-sim` and replays from a seed.
//!
//! ```text
//! engine ──► Env { vfs, clock, random, threads } ──► real: std, OS      (module `real`)
//!    │                                           └─► simulated: verso-sim
//!    └────► sync::{Mutex, RwLock, Condvar} ──► parking_lot, or the simulation's scheduler (module `simulation`)
//! ```
//!
//! E1. No other crate opens files, reads clocks, draws randomness or starts threads.
//! E2. Without a simulation in the process, [`sync`] costs one relaxed load of a static more than parking_lot.
#![deny(unsafe_code)] // only stack.rs and memory.rs allow it

mod clock;
mod env;
pub mod memory;
pub mod process;
mod random;
mod real;
pub mod recursion;
pub mod simulation;
pub mod spare;
pub mod stack;
pub mod sync;
mod threads;
mod vfs;
pub mod waiting;

pub use clock::Clock;
pub use env::Env;
pub use random::Random;
pub use threads::{Join, JoinHandle, ThreadPanicked, Threads, panic_message};
pub use vfs::{OpenMode, Vfs, VfsFile, open_alone, scheme_of};
