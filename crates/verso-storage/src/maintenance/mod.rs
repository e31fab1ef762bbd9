//! Housekeeping: retirement of version pages, back-out of the dead, sweep, check.

pub mod background;
pub mod backout;
pub mod check;
pub(crate) mod packing;
pub mod retire;
pub mod sweep;
