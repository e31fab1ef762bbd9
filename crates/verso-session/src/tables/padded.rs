//! Texts of `char` without a length, as tables keep them: without the blanks at their end.
//!
//! Indexes, and conditions that a cursor asks by itself, tell stored texts apart by their bytes. An expression may hand on such a
//! text with its blanks; the way of every row into a table leads through here.

use std::borrow::Cow;

use verso_catalog::ColumnDef;
use verso_types::{Batch, BytesColumn, Column, ColumnData, SqlType, without_blanks};

/// Whether values of a column may come with blanks at their end.
pub(super) fn is_padded(column: &ColumnDef) -> bool {
    match &column.ty {
        SqlType::Char(None) => true,
        SqlType::Domain(_) | SqlType::Collated(_) => column.ty.erased() == SqlType::Char(None),
        _ => false,
    }
}

/// The rows as they are stored; `padded` says which columns may have blanks.
pub(super) fn stored(rows: &Batch, padded: impl Fn(usize) -> bool) -> Cow<'_, Batch> {
    let mut rows = Cow::Borrowed(rows);
    for at in 0..rows.columns.len() {
        if padded(at)
            && let Some(texts) = rows.columns[at].data.bytes()
            && (0..texts.len()).any(|row| texts.get(row).ends_with(b" "))
        {
            let mut trimmed = BytesColumn::default();
            trimmed.extend((0..texts.len()).map(|row| without_blanks(texts.get(row))));
            let nulls = rows.columns[at].nulls.clone();
            rows.to_mut().columns[at] = Column { data: ColumnData::Bytes(trimmed), nulls };
        }
    }
    rows
}
