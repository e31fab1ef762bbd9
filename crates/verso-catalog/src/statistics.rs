//! Statistics of tables and their columns, as ANALYZE leaves them in `pg_statistic`.
//!
//! ```text
//! ANALYZE ─► one row a table (column 0) and one a column ─► snapshot ─► planner, pg_stats
//! ```
//!
//! G1. Statistics are part of a version of the catalog: a rollback takes them back, a table takes them along when it goes.
//! G2. They are hints. A row that cannot be read, or whose values are no longer of the column's type, counts as none.
//! G3. They are decoded when the planner first asks for them, once for all versions of the catalog between two changes of
//!     the table.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use verso_storage::Txn;
use verso_types::text::{format_text, parse_text};
use verso_types::{SqlType, TimeStyle, Value};

use crate::catalog::Catalog;
use crate::ddl::number_of_data;
use crate::definition::{Oid, TableDef};
use crate::error::CatalogError;
use crate::extended::ExtendedStatistics;
use crate::system::field::Bytes;
use crate::system::row::StatisticRow;

/// The layout of a row's bytes.
const VERSION: u8 = 1;

/// What is known of a table's contents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableStatistics {
    /// Rows.
    pub rows: f64,
    /// Data pages, when they were counted.
    pub pages: f64,
    /// By column id.
    pub columns: HashMap<u16, ColumnStatistics>,
    /// By the number of what CREATE STATISTICS has made.
    pub extended: HashMap<Oid, ExtendedStatistics>,
}

/// What is known of a column's values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnStatistics {
    /// The part of the rows in which it is NULL.
    pub null_fraction: f64,
    /// Bytes of a value.
    pub width: f64,
    /// Different values; where negative, as a part of the rows. 0 is unknown.
    pub distinct: f64,
    /// Values that are common, most common first, and the part of the rows that has them.
    pub common: Vec<(Value, f64)>,
    /// Bounds between equally large groups of the other values, ascending.
    pub bounds: Vec<Value>,
    /// How much the order of the values is that of the rows, from -1 to 1.
    pub correlation: Option<f64>,
}

impl ColumnStatistics {
    /// Different values among so many rows.
    #[must_use]
    pub fn values(&self, rows: f64) -> Option<f64> {
        match self.distinct {
            0.0 => None,
            distinct if distinct < 0.0 => Some((-distinct * rows).max(1.0)),
            distinct => Some(distinct.min(rows.max(1.0))),
        }
    }

    fn encode(&self, ty: &SqlType) -> Vec<u8> {
        let mut out = vec![VERSION];
        for number in [self.null_fraction, self.width, self.distinct, self.correlation.unwrap_or(f64::NAN)] {
            out.extend(number.to_le_bytes());
        }
        let mut text = String::new();
        let mut put = |out: &mut Vec<u8>, value: &Value| {
            text.clear();
            format_text(value, ty, &TimeStyle::UTC, &mut text);
            out.extend((text.len() as u32).to_le_bytes());
            out.extend(text.as_bytes());
        };
        out.extend((self.common.len() as u32).to_le_bytes());
        for (value, part) in &self.common {
            put(&mut out, value);
            out.extend(part.to_le_bytes());
        }
        out.extend((self.bounds.len() as u32).to_le_bytes());
        self.bounds.iter().for_each(|value| put(&mut out, value));
        out
    }

    fn decode(bytes: &[u8], ty: &SqlType) -> Option<ColumnStatistics> {
        let (version, mut rest) = bytes.split_first()?;
        if *version != VERSION {
            return None;
        }
        let rest = &mut rest;
        let (null_fraction, width, distinct, correlation) =
            (number(rest)?, number(rest)?, number(rest)?, number(rest)?);
        let mut common = Vec::new();
        for _ in 0..count(rest)? {
            common.push((value(rest, ty)?, number(rest)?));
        }
        let mut bounds = Vec::new();
        for _ in 0..count(rest)? {
            bounds.push(value(rest, ty)?);
        }
        let correlation = Some(correlation).filter(|correlation| !correlation.is_nan());
        Some(ColumnStatistics { null_fraction, width, distinct, common, bounds, correlation })
    }
}

fn number(rest: &mut &[u8]) -> Option<f64> {
    let (bytes, left) = rest.split_first_chunk::<8>()?;
    *rest = left;
    Some(f64::from_le_bytes(*bytes))
}

fn count(rest: &mut &[u8]) -> Option<usize> {
    let (bytes, left) = rest.split_first_chunk::<4>()?;
    *rest = left;
    usize::try_from(u32::from_le_bytes(*bytes)).ok()
}

fn value(rest: &mut &[u8], ty: &SqlType) -> Option<Value> {
    let length = count(rest)?;
    let (bytes, left) = rest.split_at_checked(length)?;
    *rest = left;
    parse_text(ty, std::str::from_utf8(bytes).ok()?, &TimeStyle::UTC).ok()
}

/// What was decoded says nothing that the rows do not say.
impl PartialEq for Kept {
    fn eq(&self, other: &Kept) -> bool {
        self.rows == other.rows
    }
}

/// The rows of `pg_statistic` about one table.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    rows: Vec<StatisticRow>,
    decoded: OnceLock<Option<Arc<TableStatistics>>>,
}

impl Kept {
    /// Roughly what they take, decoded too.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.rows.iter().map(|row| size_of::<StatisticRow>() + 3 * row.stadata.0.len()).sum()
    }

    /// Of these rows, whatever their order.
    pub(crate) fn new(mut rows: Vec<StatisticRow>) -> Kept {
        rows.sort_by_key(|row| row.staattnum);
        Kept { rows, decoded: OnceLock::new() }
    }

    /// What they say of the table (G2, G3).
    pub(crate) fn of(&self, table: &TableDef) -> Option<&Arc<TableStatistics>> {
        self.decoded.get_or_init(|| self.decode(table)).as_ref()
    }

    fn decode(&self, table: &TableDef) -> Option<Arc<TableStatistics>> {
        let whole = self.rows.iter().find(|row| row.staattnum == 0)?;
        let mut rest: &[u8] = &whole.stadata.0;
        let (rows, pages) = (number(&mut rest)?, number(&mut rest)?);
        let mut columns = HashMap::new();
        for row in &self.rows {
            let column = table.columns.iter().find(|column| i32::from(column.id) == row.staattnum);
            let Some(column) = column else { continue };
            if let Some(statistics) = ColumnStatistics::decode(&row.stadata.0, &column.ty) {
                columns.insert(column.id, statistics);
            }
        }
        let mut extended = HashMap::new();
        for one in &table.extended {
            let number = number_of_data(one.oid);
            let row = self.rows.iter().find(|row| row.staattnum == number);
            let known = row.and_then(|row| ExtendedStatistics::decode(&row.stadata.0));
            extended.extend(known.map(|known| (one.oid, known)));
        }
        Some(Arc::new(TableStatistics { rows, pages, columns, extended }))
    }
}

impl Catalog {
    /// Keeps what is known of a table: of these columns in place of what was known of them.
    ///
    /// # Errors
    /// Storage's.
    pub fn set_statistics(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        statistics: &TableStatistics,
    ) -> Result<(), CatalogError> {
        let whole: Vec<u8> =
            [statistics.rows, statistics.pages].into_iter().flat_map(f64::to_le_bytes).collect();
        let row = |column: i32, bytes: Vec<u8>| StatisticRow {
            starelid: table.oid,
            staattnum: column,
            stadata: Bytes(bytes.into()),
        };
        let mut rows = vec![row(0, whole)];
        for column in &table.columns {
            if let Some(known) = statistics.columns.get(&column.id) {
                rows.push(row(i32::from(column.id), known.encode(&column.ty)));
            }
        }
        rows.extend(statistics.extended.iter().map(|(oid, known)| row(number_of_data(*oid), known.encode())));
        self.change(txn, |txn| {
            self.delete_rows(txn, table.oid, |row: &StatisticRow| {
                row.starelid == table.oid && rows.iter().any(|new| new.staattnum == row.staattnum)
            })?;
            self.insert_rows(txn, &rows)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_read_as_they_were_written_and_other_bytes_are_none() {
        let known = ColumnStatistics {
            null_fraction: 0.25,
            width: 4.0,
            distinct: -0.5,
            common: vec![(Value::text("a, 'b'"), 0.5), (Value::text(""), 0.125)],
            bounds: vec![Value::text("x"), Value::text("y")],
            correlation: None,
        };
        let bytes = known.encode(&SqlType::Text);
        assert_eq!(ColumnStatistics::decode(&bytes, &SqlType::Text), Some(known));
        // Of another type by now.
        assert_eq!(ColumnStatistics::decode(&bytes, &SqlType::Int4), None);
        for end in 0..bytes.len() {
            assert_eq!(ColumnStatistics::decode(&bytes[..end], &SqlType::Text), None, "{end}");
        }
    }
}
