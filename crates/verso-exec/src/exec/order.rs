//! Keys of sorts: bytes whose order is the order that is asked for, so that rows are compared without a look at their
//! values: those of index keys (`verso-types`, `key`), also of rows whose columns are known at run time only.

use std::cmp::Ordering;

use verso_types::value::{cmp_f32, cmp_f64};
use verso_types::{
    Batch, Column, ColumnData, KeyOrder, KeyType, OpaqueKind, SqlType, SystemType, byte_of_char, cmp_sql,
    encode_nested, without_blanks,
};

use crate::error::Result;

/// How one key of a sort is ordered.
#[derive(Clone, Debug)]
pub(super) struct SortOrder {
    ty: SqlType,
    /// For types of which indexes have keys.
    plain: Option<KeyOrder>,
    descending: bool,
    nulls_first: bool,
}

impl SortOrder {
    pub fn new(ty: &SqlType, descending: bool, nulls_first: bool) -> SortOrder {
        let plain = KeyType::of(ty).map(|ty| KeyOrder { ty, descending, nulls_first });
        SortOrder { ty: ty.clone(), plain, descending, nulls_first }
    }
}

/// Appends the key of a row to `out`.
pub(super) fn encode(keys: &Batch, orders: &[SortOrder], row: usize, out: &mut Vec<u8>) -> Result<()> {
    for (column, order) in keys.columns.iter().zip(orders) {
        let null = column.nulls.is_null(row);
        if let Some(plain) = &order.plain {
            plain.encode_raw((!null).then(|| column.raw_at(row)), out)?;
        } else if null {
            out.push(if order.nulls_first { 0 } else { 2 });
        } else {
            out.push(1);
            let start = out.len();
            encode_nested(&column.value(row, &order.ty), out)?;
            if order.descending {
                out[start..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
    }
    Ok(())
}

/// The order of two rows by one key.
pub(super) fn compare(
    column: &Column,
    ty: &SqlType,
    (descending, nulls_first): (bool, bool),
    a: usize,
    b: usize,
) -> Ordering {
    match (column.nulls.is_null(a), column.nulls.is_null(b)) {
        (false, false) => {
            let order = compare_values(column, ty, a, b);
            if descending { order.reverse() } else { order }
        }
        (a, b) if a == b => Ordering::Equal,
        (true, _) if nulls_first => Ordering::Less,
        (false, _) if !nulls_first => Ordering::Less,
        _ => Ordering::Greater,
    }
}

fn compare_values(column: &Column, ty: &SqlType, a: usize, b: usize) -> Ordering {
    match (&column.data, ty) {
        (ColumnData::Bool(v), _) => v[a].cmp(&v[b]),
        (ColumnData::I16(v), _) => v[a].cmp(&v[b]),
        (ColumnData::I32(v), _) => v[a].cmp(&v[b]),
        (ColumnData::I64(v), SqlType::System(SystemType::Xid8)) => {
            v[a].cast_unsigned().cmp(&v[b].cast_unsigned())
        }
        (ColumnData::I64(v), _) => v[a].cmp(&v[b]),
        (ColumnData::I128(v), SqlType::Numeric(_)) => v[a].cmp(&v[b]),
        (ColumnData::F32(v), _) => cmp_f32(v[a], v[b]),
        (ColumnData::F64(v), _) => cmp_f64(v[a], v[b]),
        (ColumnData::Bytes(v), SqlType::Char(None)) => without_blanks(v.get(a)).cmp(without_blanks(v.get(b))),
        (ColumnData::Bytes(v), SqlType::System(SystemType::Char)) => {
            byte_of_char(v.get(a)).cmp(&byte_of_char(v.get(b)))
        }
        (ColumnData::Bytes(v), ty)
            if ty.is_text() || *ty == SqlType::Bytea || OpaqueKind::of(ty).is_some() =>
        {
            v.get(a).cmp(v.get(b))
        }
        _ => cmp_sql(&column.value(a, ty), &column.value(b, ty)),
    }
}
