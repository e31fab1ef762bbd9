//! A batch fed to the accumulators of many groups at once.

use verso_types::{Column, ColumnData, Decimal, SqlType, TypeError};

use super::accumulator::{Accumulator, State};
use crate::error::Result;

/// The accumulators of one call among those of all groups: `at`, `at + width`, …; and the group of each row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'g> {
    pub width: usize,
    pub at: usize,
    pub groups: &'g [u32],
}

impl Places<'_> {
    /// A row that belongs to no group.
    pub const NONE: u32 = u32::MAX;

    fn slot<'s>(&self, slots: &'s mut [Accumulator], group: u32) -> &'s mut State {
        &mut slots[group as usize * self.width + self.at].state
    }

    /// Counts the rows of `count(*)`. False where the accumulators are of another kind.
    pub fn add_rows(&self, slots: &mut [Accumulator]) -> bool {
        if !matches!(slots.get(self.at).map(|slot| &slot.state), Some(State::Count(_))) {
            return false;
        }
        for group in self.groups.iter().filter(|group| **group != Self::NONE) {
            if let State::Count(count) = self.slot(slots, *group) {
                *count += 1;
            }
        }
        true
    }

    /// Feeds a column of the argument, whose rows are those of the groups. False where only [`Accumulator::add`] can do it;
    /// nothing was fed then.
    /// # Errors
    /// 22003.
    pub fn add_column(&self, slots: &mut [Accumulator], column: &Column, ty: &SqlType) -> Result<bool> {
        let nulls = &column.nulls;
        let any_nulls = nulls.any();
        macro_rules! each {
            ($values:expr, $pattern:pat, $value:ident => $do:expr) => {{
                for (row, ($value, group)) in $values.iter().zip(self.groups).enumerate() {
                    if *group == Self::NONE || any_nulls && nulls.is_null(row) {
                        continue;
                    }
                    if let $pattern = self.slot(slots, *group) {
                        $do
                    }
                }
                true
            }};
        }
        // All groups' accumulators of a call are of one kind, but for sums that have outgrown decimals.
        let Some(first) = slots.get(self.at) else { return Ok(true) };
        Ok(match (&first.state, &column.data, ty) {
            (State::Count(_), ..) => {
                for (row, group) in self.groups.iter().enumerate() {
                    if *group != Self::NONE
                        && !nulls.is_null(row)
                        && let State::Count(count) = self.slot(slots, *group)
                    {
                        *count += 1;
                    }
                }
                true
            }
            (State::SumInteger { .. }, ColumnData::I16(values), _) => {
                each!(values, State::SumInteger { sum, count }, value => { *sum += i128::from(*value); *count += 1; })
            }
            (State::SumInteger { .. }, ColumnData::I32(values), _) => {
                each!(values, State::SumInteger { sum, count }, value => { *sum += i128::from(*value); *count += 1; })
            }
            (State::Integers { .. }, ColumnData::I16(values), _) => {
                each!(values, State::Integers { sum, count, .. }, value => { *sum += i128::from(*value); *count += 1; })
            }
            (State::Integers { .. }, ColumnData::I32(values), _) => {
                each!(values, State::Integers { sum, count, .. }, value => { *sum += i128::from(*value); *count += 1; })
            }
            (State::Integers { .. }, ColumnData::I64(values), _) => {
                each!(values, State::Integers { sum, count, .. }, value => { *sum += i128::from(*value); *count += 1; })
            }
            (State::Numeric { .. }, ColumnData::I64(values), SqlType::Numeric(Some(spec))) => {
                each!(values, state @ (State::Numeric { .. } | State::Big { .. }), value => {
                    state.add_decimal(&Decimal::from_scaled_i64(*value, spec.scale));
                })
            }
            (State::Numeric { .. }, ColumnData::I128(values), SqlType::Numeric(Some(spec))) => {
                each!(values, state @ (State::Numeric { .. } | State::Big { .. }), value => {
                    state.add_decimal(&Decimal::new(*value, spec.scale).map_err(TypeError::from)?);
                })
            }
            (State::Float { .. }, ColumnData::F64(values), _) => {
                each!(values, State::Float { sum, .. }, value => sum.add(*value))
            }
            _ => false,
        })
    }
}
