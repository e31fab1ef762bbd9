//! Housekeeping: retirement of version pages, back-out of the dead, sweep, check.

pub mod background;
pub mod backout;
pub mod check;
pub mod retire;
pub mod sweep;
