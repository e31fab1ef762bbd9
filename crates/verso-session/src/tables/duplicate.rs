//! Which key a unique index refused: storage names the index and the record that has the key, clients want both in words.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, IndexDef, Relation, TableDef};
use verso_exec::error::ExecError;
use verso_planner::bind::Binder;
use verso_planner::deparse::{self, identifier};
use verso_storage::heap::ScanBatch;
use verso_storage::index::key;
use verso_storage::{Engine, ObjectId, RecordId, StorageError, Txn};
use verso_types::{Batch, Column, SqlType, TimeStyle, Value, format_text};

use super::EngineTables;

/// What names and values are shown by.
#[derive(Clone, Copy)]
struct Words<'w> {
    /// None of a session that has read nothing yet.
    catalog: Option<&'w Arc<CatalogSnapshot>>,
    time_zone: &'w TimeStyle,
}

impl EngineTables<'_> {
    /// Names the constraint that refused rows to be inserted, and the key that is there already.
    pub(super) fn explain_duplicate(&self, table: &TableDef, error: StorageError, rows: &Batch) -> ExecError {
        let catalog = self.services.known_catalog();
        let words = Words { catalog: catalog.as_ref(), time_zone: self.time_zone };
        if matches!(error, StorageError::Excluded { .. }) {
            let shows = self.shows_key(table, &error);
            return excluded(self.engine, &self.txn.borrow(), table, words, error, shows);
        }
        if let StorageError::IndexRowTooLarge { index, size, limit } = error {
            let definition = table.indexes.iter().find(|definition| definition.object == index);
            return definition.map_or_else(|| error.into(), |its| too_long(&its.name, size, limit));
        }
        let StorageError::Unique { index, record } = error else { return error.into() };
        let definition = table.indexes.iter().find(|definition| definition.object == index);
        let Some(definition) = definition else { return unnamed(self.engine, error) };
        if !self.shows_key(table, &error) {
            return duplicate(table, definition, None, words);
        }
        let key = self.key_among(table, definition, index, record, rows);
        let key = key.or_else(|| newest_key(self.engine, &self.txn.borrow(), table, definition, record));
        duplicate(table, definition, key.as_deref(), words)
    }

    /// Names the constraint behind a duplicate that storage found at the end of a statement; other errors are as they were. The
    /// transaction is not borrowed.
    pub(crate) fn explain(&self, error: StorageError) -> ExecError {
        if !matches!(
            error,
            StorageError::Unique { .. }
                | StorageError::Excluded { .. }
                | StorageError::IndexRowTooLarge { .. }
        ) {
            return error.into();
        }
        let txn = self.txn.borrow();
        // With the role's rights, which decide whether it may see the key.
        match self.services.snapshot(&txn) {
            Ok(catalog) => explain_unique(&catalog, self.engine, &txn, self.time_zone, error),
            Err(other) => ExecError::raised("XX000", other.to_string()),
        }
    }

    /// Whether the role may see values of the key that an index refuses.
    fn shows_key(&self, table: &TableDef, error: &StorageError) -> bool {
        self.services.known_catalog().is_none_or(|catalog| shows_key(&catalog, table, error))
    }

    /// The key of the row, among those to be inserted, that the record has already.
    fn key_among(
        &self,
        table: &TableDef,
        definition: &IndexDef,
        index: ObjectId,
        record: RecordId,
        rows: &Batch,
    ) -> Option<Vec<Value>> {
        let index = self.engine.index(index).ok()?;
        let positions: Vec<usize> =
            definition.parts.iter().filter_map(|part| table.column_with_id(part.column)).collect();
        let columns: Vec<&Column> = positions.iter().map(|at| &rows.columns[*at]).collect();
        let mut bytes = Vec::new();
        // One row has the key for certain; of many it is the first that the record fits.
        let fits = |row: &usize| {
            if rows.rows == 1 {
                return true;
            }
            bytes.clear();
            key::encode_row(&index.spec().parts, &columns, *row, &mut bytes).is_ok()
                && index
                    .records_current(&self.txn.borrow(), &bytes)
                    .is_ok_and(|records| records.contains(&record))
        };
        let row = (0..rows.rows).find(fits)?;
        Some(positions.iter().map(|at| rows.columns[*at].value(row, &table.columns[*at].ty)).collect())
    }
}

/// Whether the role may see values of the key that an index refuses.
fn shows_key(catalog: &CatalogSnapshot, table: &TableDef, error: &StorageError) -> bool {
    let (StorageError::Unique { index, .. } | StorageError::Excluded { index, .. }) = error else {
        return true;
    };
    let definition = table.indexes.iter().find(|definition| definition.object == *index);
    definition.is_none_or(|definition| {
        let columns: Vec<u16> = definition.declared().into_iter().map(|part| part.column).collect();
        catalog.may_show(table.oid, &columns)
    })
}

/// The error of a key that is there twice, where the statement cannot know the index: it is being built by a transaction that
/// has not ended, or was when the statement began.
fn unnamed(engine: &Engine, error: StorageError) -> ExecError {
    let StorageError::Unique { index, .. } = &error else { return error.into() };
    match engine.index(*index).ok().and_then(|index| index.label().cloned()) {
        Some(name) => {
            let text = format!("duplicate key value violates unique constraint \"{name}\"");
            ExecError::raised("23505", text)
        }
        None => error.into(),
    }
}

/// The error of a key that is too long for its index.
fn too_long(index: &str, size: u64, limit: u64) -> ExecError {
    let text = format!("index row size {size} exceeds maximum {limit} for index \"{index}\"");
    ExecError::raised("54000", text)
}

/// The key that the newest version of a record has.
fn newest_key(
    engine: &Engine,
    txn: &Txn,
    table: &TableDef,
    index: &IndexDef,
    record: RecordId,
) -> Option<Vec<Value>> {
    let ids: Vec<u16> = index.declared().into_iter().map(|part| part.column).collect();
    let types: Vec<SqlType> =
        ids.iter().filter_map(|id| Some(table.columns[table.column_with_id(*id)?].ty.clone())).collect();
    let mut rows = ScanBatch::default();
    engine.heap(table.heap).ok()?.fetch_newest(txn, &[record], &ids, &mut rows).ok()?;
    (rows.batch.rows == 1 && types.len() == ids.len()).then(|| rows.batch.row(0, &types))
}

/// The error of a key that is there twice.
fn duplicate(table: &TableDef, index: &IndexDef, key: Option<&[Value]>, words: Words<'_>) -> ExecError {
    let message = format!("duplicate key value violates unique constraint \"{}\"", index.name);
    let detail = key.map(|key| format!("Key {} already exists.", shown(table, index, key, words)));
    ExecError::violation("23505", message, detail, table, &index.name)
}

/// `(columns)=(values)` of a key.
fn shown(
    table: &TableDef,
    index: &IndexDef,
    key: &[Value],
    Words { catalog, time_zone }: Words<'_>,
) -> String {
    let columns: Vec<_> = index
        .declared()
        .into_iter()
        .filter_map(|part| Some(&table.columns[table.column_with_id(part.column)?]))
        .collect();
    let named = |column: &&verso_catalog::ColumnDef| match index.expression(table, column.id) {
        Some(text) => {
            let binder = catalog.map(|catalog| Binder::new(catalog, time_zone, &[]));
            match binder.and_then(|binder| deparse::index_key(&binder, text, table, true)) {
                Some((text, true)) => text,
                Some((text, false)) => format!("({text})"),
                // Without schemas of what it names.
                None => verso_catalog::kept::bare(text),
            }
        }
        None => identifier(&column.name),
    };
    let names: Vec<String> = columns.iter().map(named).collect();
    let mut values = String::new();
    for (value, column) in key.iter().zip(&columns) {
        if !values.is_empty() {
            values.push_str(", ");
        }
        match value {
            Value::Null => values.push_str("null"),
            value => format_text(value, &column.ty, time_zone, &mut values),
        }
    }
    format!("({})=({values})", names.join(", "))
}

/// The error of two rows that exclude each other.
fn excluded(
    engine: &Engine,
    txn: &Txn,
    table: &TableDef,
    words: Words<'_>,
    error: StorageError,
    shows: bool,
) -> ExecError {
    let StorageError::Excluded { index, record, with } = error else { return error.into() };
    let definition = table.indexes.iter().find(|definition| definition.object == index);
    let Some(index) = definition else { return error.into() };
    let message = format!("conflicting key value violates exclusion constraint \"{}\"", index.name);
    let key = |record| newest_key(engine, txn, table, index, record);
    let detail = key(record).zip(key(with)).map(|(key, other)| {
        let text = |key: &[Value]| shown(table, index, key, words);
        format!("Key {} conflicts with existing key {}.", text(&key), text(&other))
    });
    let detail = match shows {
        true => detail,
        false => Some("Key conflicts with existing key.".to_string()),
    };
    ExecError::violation("23P01", message, detail, table, &index.name)
}

/// Names the constraint and the key behind a duplicate that storage found at the end of a statement or at commit.
pub(crate) fn explain_unique(
    catalog: &Arc<CatalogSnapshot>,
    engine: &Engine,
    txn: &Txn,
    time_zone: &TimeStyle,
    error: StorageError,
) -> ExecError {
    let index = match error {
        StorageError::Unique { index, .. }
        | StorageError::Excluded { index, .. }
        | StorageError::IndexRowTooLarge { index, .. } => index,
        error => return error.into(),
    };
    let table = match catalog.relation_of_object(index) {
        Some(Relation::Index(found)) => catalog.table_by_oid(found.table),
        _ => None,
    };
    let found = table.as_ref().and_then(|table| {
        let definition = table.indexes.iter().find(|definition| definition.object == index)?;
        Some((table, definition))
    });
    let Some((table, definition)) = found else { return unnamed(engine, error) };
    if let StorageError::IndexRowTooLarge { size, limit, .. } = error {
        return too_long(&definition.name, size, limit);
    }
    let shows = shows_key(catalog, table, &error);
    let words = Words { catalog: Some(catalog), time_zone };
    let StorageError::Unique { record, .. } = error else {
        return excluded(engine, txn, table, words, error, shows);
    };
    let key = newest_key(engine, txn, table, definition, record).filter(|_| shows);
    duplicate(table, definition, key.as_deref(), words)
}
