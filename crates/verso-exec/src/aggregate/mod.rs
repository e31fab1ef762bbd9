//! Aggregates: one accumulator definition, fed by columns (ungrouped) or by values (grouped, DISTINCT, rows).
//!
//! A1. Without ORDER BY inside a call the order of the input decides nothing but `string_agg`, `array_agg`, `any_value` and the
//!     last bits of float sums.
//! A2. Both ways of feeding do the same additions in the same order, so float sums are equal to the bit: see
//!     [`FloatSum`].
//! A3. A numeric sum keeps the largest scale it has seen, as PostgreSQL's does.

mod accumulator;
mod float_sum;
mod moments;
mod ordered;
mod places;
mod seen;
mod states;

pub(crate) use accumulator::{Accumulator, Extreme, payload};
pub(crate) use float_sum::FloatSum;
pub(crate) use ordered::{OrderedRows, ValueOrder, same_arguments};
pub(crate) use states::GroupStates;
