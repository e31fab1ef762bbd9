//! The tables of random work: their columns, and rows as storage and the model know them.

use verso_sim::model::{ColumnShape, Row};
use verso_storage::heap::ScanBatch;
use verso_storage::{ColumnSpec, RecordId};
use verso_types::{Batch, Column, Physical, SqlType, Value};

/// The columns of every table, as storage and as the model know them.
pub const COLUMNS: [(ColumnSpec, ColumnShape); 5] = [
    (ColumnSpec { id: 1, physical: Physical::I64 }, ColumnShape::Fixed(8)),
    (ColumnSpec { id: 2, physical: Physical::Bytes }, ColumnShape::Bytes(40)),
    (ColumnSpec { id: 4, physical: Physical::I16 }, ColumnShape::Fixed(2)),
    (ColumnSpec { id: 5, physical: Physical::Bytes }, ColumnShape::Bytes(6000)),
    (ColumnSpec { id: 9, physical: Physical::I128 }, ColumnShape::Fixed(16)),
];

/// Tables of a database.
pub const TABLE_COUNT: u32 = 2;

/// The ids of the columns.
pub fn ids() -> Vec<u16> {
    COLUMNS.iter().map(|(spec, _)| spec.id).collect()
}
/// Small, so that rows outgrow their pages.
pub const PAGE_SIZE: u32 = 4096;

/// A record as the model knows it.
pub fn rid(record: RecordId) -> u64 {
    u64::from(record.page_index) << 16 | u64::from(record.slot)
}

/// The record that the model knows so.
pub fn record(rid: u64) -> RecordId {
    RecordId { page_index: (rid >> 16) as u32, slot: rid as u16 }
}

fn push(column: &mut Column, physical: Physical, bytes: Option<&Vec<u8>>) {
    let (value, ty) = match (bytes, physical) {
        (None, _) => return column.push_null(),
        (Some(bytes), Physical::I16) => {
            (Value::Int2(i16::from_le_bytes(bytes.as_slice().try_into().unwrap())), SqlType::Int2)
        }
        (Some(bytes), Physical::I64) => {
            (Value::Int8(i64::from_le_bytes(bytes.as_slice().try_into().unwrap())), SqlType::Int8)
        }
        (Some(bytes), Physical::I128) => {
            (Value::Uuid(u128::from_le_bytes(bytes.as_slice().try_into().unwrap())), SqlType::Uuid)
        }
        (Some(bytes), _) => (Value::Bytes(bytes.as_slice().into()), SqlType::Bytea),
    };
    column.push_value(&value, &ty).unwrap();
}

/// A value as the model knows it.
pub fn bytes(column: &Column, physical: Physical, row: usize) -> Option<Vec<u8>> {
    let ty = match physical {
        Physical::I16 => SqlType::Int2,
        Physical::I64 => SqlType::Int8,
        Physical::I128 => SqlType::Uuid,
        _ => SqlType::Bytea,
    };
    match column.value(row, &ty) {
        Value::Null => None,
        Value::Int2(value) => Some(value.to_le_bytes().into()),
        Value::Int8(value) => Some(value.to_le_bytes().into()),
        Value::Uuid(value) => Some(value.to_le_bytes().into()),
        Value::Bytes(value) => Some(value.to_vec()),
        other => panic!("{other:?} from a column of {physical:?}"),
    }
}

/// Rows of the model as storage takes them, of these columns only.
pub fn batch(rows: &[&Row], ordinals: &[usize]) -> Batch {
    let columns = ordinals.iter().map(|ordinal| {
        let physical = COLUMNS[*ordinal].0.physical;
        let mut column = Column::new(physical);
        rows.iter().for_each(|row| push(&mut column, physical, row[*ordinal].as_ref()));
        column
    });
    Batch::from_columns(columns.collect())
}

/// The rows of a batch of all columns.
pub fn rows_of(out: &ScanBatch) -> Vec<Row> {
    let row = |at| {
        let columns = COLUMNS.iter().zip(&out.batch.columns);
        columns.map(|((spec, _), column)| bytes(column, spec.physical, at)).collect()
    };
    (0..out.records.len()).map(row).collect()
}
