//! The real world: standard library and operating system. The only place that may call them.

mod clock;
mod random;
mod threads;
mod vfs;

pub(crate) use clock::RealClock;
pub(crate) use random::RealRandom;
pub(crate) use threads::RealThreads;
pub(crate) use vfs::RealVfs;
