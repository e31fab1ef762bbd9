//! Plans made better without a change of their answers.
//!
//! ```text
//! Filter(Join(scan a, scan b))  ─push─►  Join on a.x = b.x (scan a where …, scan b where …)
//!                               ─narrow─►  the scans read only columns that something uses
//! ```
//!
//! R1. A condition moves below an operator only where it then drops the same rows; one that may differ each time it is
//!     asked stays where it is.
//! R2. A plan yields the same columns in the same order before and after.

mod narrow;
mod push;

use verso_exec::plan::Plan;

/// Conditions down, unused columns out.
pub fn rewrite(plan: Plan) -> Plan {
    let mut plan = push::push(plan);
    narrow::narrow(&mut plan);
    plan
}
