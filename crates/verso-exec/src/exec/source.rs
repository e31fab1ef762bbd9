//! Operators without an input: values, tables, functions.

use std::borrow::Cow;
use std::sync::Arc;

use verso_catalog::{IndexDef, TableDef};
use verso_storage::heap::{Condition, Draw};
use verso_storage::index::KeyRange;
use verso_storage::work;
use verso_types::{Batch, CastKind, Column, ColumnData, NullMask, Physical, SqlType, Value, cast};

use super::access::{Access, Found, is_much};
use super::drawing::{Drawing, drawn};
use super::filter::{KeyFilter, Reach, ScanFilters};
use super::late::{Late, Trial};
use super::lock::record_number;
use super::operator::{Bounded, Operator, boxed};
use super::pages::Pages;
use super::sift::Sift;
use super::subquery::{answered, asks};
use super::values::ListedRows;
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext, IndexReader, TableCursor};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use crate::expr::{Executor, Predicate, RowExpr};
use crate::files::{FileRows, FileTable};
use crate::functions::Body;
use crate::memory::Reservation;
use crate::plan::{IndexAccess, OutputColumn, RECORD_COLUMN, SetCall, TypedExpr};
use crate::plpgsql;
use crate::spill::Spool;

/// A batch of one row without columns: the input of expressions that have none.
pub(crate) static ONE_ROW: Batch = Batch { rows: 1, columns: Vec::new() };

pub(super) fn types(columns: &[OutputColumn]) -> Vec<SqlType> {
    columns.iter().map(|column| column.ty.clone()).collect()
}

/// Rows of expressions.
pub(crate) struct ValuesOperator {
    rows: ListedRows,
    next: usize,
    bound: u64,
}

impl ValuesOperator {
    pub fn new(rows: &[Vec<TypedExpr>], columns: &[OutputColumn], _: Executor) -> Self {
        Self {
            rows: ListedRows::new(rows.iter().map(Cow::Borrowed), types(columns)),
            next: 0,
            bound: u64::MAX,
        }
    }
}

impl Operator for ValuesOperator {
    fn open(&mut self, _: &ExecContext<'_>) -> Result<()> {
        (self.next, self.bound) = (0, u64::MAX);
        Ok(())
    }

    fn bound(&mut self, rows: u64) {
        self.bound = rows;
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        out.clear();
        let eval = cx.eval();
        let bound = std::mem::replace(&mut self.bound, u64::MAX).min(BATCH_ROWS as u64);
        while self.next < self.rows.len() && (out.rows as u64) < bound && out.variable_bytes() < BATCH_BYTES {
            self.rows.push(self.next, &eval, out)?;
            self.next += 1;
        }
        Ok(out.rows > 0)
    }

    fn close(&mut self) {}
}

/// Rows from outside ([`ExternalRows`](super::ExternalRows)).
pub(crate) struct ExternalOperator;

impl Operator for ExternalOperator {
    fn open(&mut self, _: &ExecContext<'_>) -> Result<()> {
        Ok(())
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        cx.check_cancelled()?;
        match cx.external {
            Some(rows) => rows.next(out),
            None => Ok(false),
        }
    }

    fn close(&mut self) {}
}

/// Bytes of files that are held without being counted.
const PIECE_BYTES: usize = 512 << 10;

/// Rows of files.
pub(crate) struct FileOperator {
    table: Arc<FileTable>,
    columns: Vec<usize>,
    rows: Option<Box<dyn FileRows>>,
    /// For what was read and is no row yet.
    held: Option<Reservation>,
}

impl FileOperator {
    pub fn new(table: &Arc<FileTable>, columns: &[usize]) -> Self {
        Self { table: Arc::clone(table), columns: columns.to_vec(), rows: None, held: None }
    }
}

impl Operator for FileOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.rows = Some(self.table.open(&self.columns, cx.services.time_zone)?);
        self.held = Some(cx.services.memory.reserve("a row of a file"));
        Ok(())
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        cx.check_cancelled()?;
        let (Some(rows), Some(held)) = (&mut self.rows, &mut self.held) else { return Ok(false) };
        let more = rows.next(out)?;
        // A long row becomes fields, and these become values.
        let pending = rows.pending();
        held.resize(if pending > PIECE_BYTES { 4 * pending as u64 } else { 0 })?;
        Ok(more)
    }

    fn close(&mut self) {
        (self.rows, self.held) = (None, None);
    }
}

/// Pages of a table whose condition is asked before its first row as far as no row can make it differ.
const ASKS_PAGES: u64 = if cfg!(test) { 1 } else { 32 };

/// Visible rows of a table.
pub(crate) struct ScanOperator {
    table: Arc<TableDef>,
    columns: Vec<usize>,
    access: Option<Access>,
    /// It reads a sample of the table.
    drawing: Option<Drawing>,
    /// What of the sample the cursor leaves to be drawn.
    draw: Option<Draw>,
    /// What its condition says of places: these pages are read.
    pages: Option<Pages>,
    /// The range as a condition, for when the table is read whole.
    instead: Option<Predicate>,
    whole: bool,
    filter: Option<Predicate>,
    /// What of the filter the cursor may ask by itself, and the rest of it.
    sift: Option<(Arc<Sift>, Option<Predicate>)>,
    /// The filter where it asks queries that no row can make differ: asked before the first row of a large table.
    asking: Option<Arc<TypedExpr>>,
    /// The cursor does so.
    is_sifted: bool,
    /// The columns that the cursor looks at for it, and for filters of joins.
    sifted: Vec<usize>,
    selection: Vec<u32>,
    /// The key of the one row to come.
    point: bool,
    /// The place of each row is yielded as its last column.
    records: bool,
    cursor: Option<Box<dyn TableCursor>>,
    bounded: Bounded,
    filters: ScanFilters,
    /// Workers may compute its conditions.
    is_safe: bool,
    /// Of a worker: what finds its rows.
    reader: Option<Box<dyn IndexReader>>,
    /// The columns of its conditions.
    judged: Vec<usize>,
    /// Other columns are read for the rows that are left.
    late: Option<Late>,
    trial: Trial,
    /// Memory of the list of candidates that an inverted index has found.
    held: Option<Reservation>,
}

impl ScanOperator {
    pub fn new(
        table: &Arc<TableDef>,
        columns: &[usize],
        access: Option<&IndexAccess>,
        filter: Option<&TypedExpr>,
        executor: Executor,
    ) -> Self {
        Self {
            table: Arc::clone(table),
            columns: columns.iter().copied().filter(|column| *column != RECORD_COLUMN).collect(),
            records: columns.contains(&RECORD_COLUMN),
            access: access.map(|access| Access::compile(table, access)),
            drawing: None,
            draw: None,
            pages: if access.is_none() { Pages::of(columns, filter) } else { None },
            instead: access
                .and_then(|access| access.instead.as_ref())
                .map(|condition| Predicate::compile(condition, executor)),
            whole: false,
            filter: filter.map(|filter| Predicate::compile(filter, executor)),
            sift: filter.filter(|_| access.is_none()).and_then(|filter| sift_of(filter, executor)),
            asking: filter
                .filter(|filter| access.is_none() && executor != Executor::Row && asks(filter))
                .map(|filter| Arc::new(filter.clone())),
            is_sifted: false,
            sifted: Vec::new(),
            selection: Vec::new(),
            point: false,
            cursor: None,
            bounded: Bounded::default(),
            filters: ScanFilters::default(),
            is_safe: filter
                .into_iter()
                .chain(access.and_then(|access| access.instead.as_deref()))
                .all(TypedExpr::is_parallel_safe),
            reader: None,
            judged: filter
                .into_iter()
                .chain(access.and_then(|access| access.instead.as_deref()))
                .flat_map(columns_of)
                .collect(),
            late: None,
            trial: Trial::default(),
            held: None,
        }
    }
}

impl ScanOperator {
    /// The same of a sample of the table.
    pub fn of_sample(self, drawing: Option<Drawing>) -> Self {
        Self { drawing, ..self }
    }
}

/// What of a condition a cursor may ask, and the rest of it.
fn sift_of(filter: &TypedExpr, executor: Executor) -> Option<(Arc<Sift>, Option<Predicate>)> {
    if executor == Executor::Row {
        return None;
    }
    let (sift, rest) = Sift::of(filter)?;
    Some((sift, rest.map(|rest| Predicate::compile(&rest, executor))))
}

/// What is asked of the rows that a cursor yields.
fn asked<'o>(
    is_sifted: bool,
    sift: &'o mut Option<(Arc<Sift>, Option<Predicate>)>,
    filter: &'o mut Option<Predicate>,
) -> Option<&'o mut Predicate> {
    match sift {
        Some((_, rest)) if is_sifted => rest.as_mut(),
        _ => filter.as_mut(),
    }
}

/// The columns that an expression reads.
fn columns_of(expr: &TypedExpr) -> Vec<usize> {
    let mut columns = Vec::new();
    expr.any(&mut |part| {
        columns.extend(part.as_column());
        false
    });
    columns
}

impl ScanOperator {
    /// Asks now what no row can make differ, if the table just opened is large.
    fn ask(&mut self, cx: &ExecContext<'_>) {
        let Some(asking) = &self.asking else { return };
        let pages = self.cursor.as_ref().and_then(|cursor| cursor.pages_left());
        let answered = if pages >= Some(ASKS_PAGES) { answered(cx, asking) } else { None };
        let condition = answered.as_ref().unwrap_or(asking);
        self.filter = Some(Predicate::compile(condition, cx.executor));
        self.sift = sift_of(condition, cx.executor);
        self.is_safe = condition.is_parallel_safe();
    }

    /// Leaves to the cursor, just opened, what it can ask by itself.
    fn sift(&mut self, cx: &ExecContext<'_>) {
        let (Some((sift, _)), Some(cursor)) = (&self.sift, &mut self.cursor) else { return };
        let id = |column: usize| self.table.columns[self.columns[column]].id;
        if let Some(conditions) = sift.conditions(&cx.eval(), id)
            && cursor.sift(&conditions)
        {
            self.is_sifted = true;
            self.sifted.extend(sift.columns());
        }
    }

    /// Leaves to the cursor to leave out rows whose column is not in the filter, if it can.
    fn sift_keys(&mut self, column: usize, filter: &Arc<KeyFilter>) -> bool {
        let Some(cursor) = &mut self.cursor else { return false };
        let def = &self.table.columns[self.columns[column]];
        let integer = matches!(def.ty.physical(), Physical::I16 | Physical::I32 | Physical::I64);
        let keys = Condition::Keys { column: def.id, keys: Arc::clone(filter) as _ };
        let taken = integer && cursor.sift(&[keys]);
        if taken {
            self.sifted.push(column);
        }
        taken
    }

    /// The next rows, whose columns are read in stages.
    fn next_late(&mut self, cx: &ExecContext<'_>, bound: Option<u64>, out: &mut Batch) -> Result<bool> {
        let (Some(cursor), Some(late)) = (&mut self.cursor, &mut self.late) else { return Ok(false) };
        loop {
            cx.check_cancelled()?;
            let Some(stage) = late.next(&mut **cursor, out)? else { return Ok(false) };
            if stage == 0 {
                self.filters.apply_by(out, |out, selection| late.keep(1, selection, out));
            }
            if stage <= 1 {
                late.read(&mut **cursor, 1, out)?;
                let instead = self.instead.as_mut().filter(|_| self.whole);
                for condition in
                    instead.into_iter().chain(asked(self.is_sifted, &mut self.sift, &mut self.filter))
                {
                    if out.rows == 0 {
                        break;
                    }
                    if let Some(error) = condition.select(&cx.eval(), out, &mut self.selection) {
                        self.bounded.failed(error, self.selection.len(), bound)?;
                    }
                    work::removed(out.rows - self.selection.len());
                    late.keep(2, &self.selection, out);
                }
            }
            if out.rows > 0 {
                late.read(&mut **cursor, 2, out)?;
                return Ok(true);
            }
            self.bounded.nothing_before()?;
        }
    }

    /// Reads all columns of each row again, if none is waiting for some of them.
    fn read_all(&mut self) -> bool {
        if let (Some(late), Some(cursor)) = (&self.late, &mut self.cursor) {
            if late.has_rows() || !cursor.read_first(None) {
                return false;
            }
            (self.late, self.trial) = (None, Trial::default());
        }
        true
    }

    /// Reads the one row of a unique key, if it is there and fulfils the filter.
    fn next_point(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        self.point = false;
        let Some(access) = &mut self.access else { return Ok(false) };
        let (index, found) = access.open_parts(&cx.eval())?;
        let Found::Point(key) = found else { return Ok(false) };
        let found = match &mut self.reader {
            Some(reader) => reader.get(key, out)?,
            None => cx.tables()?.get(&self.table, index, key, &self.columns, out)?,
        };
        if !found {
            return Ok(false);
        }
        let Some(filter) = &mut self.filter else { return Ok(true) };
        match filter.select(&cx.eval(), out, &mut self.selection) {
            Some(error) => Err(error),
            None => {
                work::removed(out.rows - self.selection.len());
                Ok(!self.selection.is_empty())
            }
        }
    }
}

impl Operator for ScanOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let Self { table, columns, access, cursor, point, records, whole, reader, held, .. } = self;
        (*cursor, *point, *whole, *held) = (None, false, false, None);
        self.bounded = Bounded::default();
        self.filters.clear();
        (self.late, self.trial) = (None, Trial::default());
        self.is_sifted = false;
        self.sifted.clear();
        let Some(access) = access else {
            let mut scan = cx.tables()?.scan(table, columns)?;
            if let Some(pages) = &self.pages {
                scan.keep_pages(pages.ranges(&cx.eval())?);
            }
            if let Some(drawing) = &self.drawing {
                self.draw = drawing.begin(&cx.eval(), &mut *scan)?;
            }
            *cursor = Some(scan);
            self.ask(cx);
            self.sift(cx);
            return Ok(());
        };
        if access.is_point() && !*records {
            *point = true;
            return Ok(());
        }
        let descending = access.descending;
        let adapts = self.instead.is_some();
        let (index, found) = access.open_parts(&cx.eval())?;
        let ranges = match found {
            Found::Nothing => return Ok(()),
            Found::Point(key) => vec![KeyRange::prefix(key)],
            Found::Ranges(ranges) => ranges,
            Found::Candidates(gathering) => {
                let is_large = |ranges: &[(&IndexDef, &[KeyRange])]| match reader {
                    Some(reader) => reader.is_large(ranges),
                    None => cx.tables()?.is_large(table, ranges),
                };
                let much = is_much(&gathering, is_large)?;
                let found = match (reader, much) {
                    (Some(reader), true) => reader.whole()?,
                    (Some(reader), false) => reader.candidates(&gathering)?,
                    (None, true) => cx.tables()?.scan(table, columns)?,
                    (None, false) => cx.tables()?.candidates(table, &gathering, columns)?,
                };
                let what = "the rows that indexes have found";
                let held = held.get_or_insert_with(|| cx.services.memory.account.reserve(what, u64::MAX));
                held.resize(found.held_bytes())?;
                *cursor = Some(found);
                return Ok(());
            }
            Found::All => {
                *cursor = Some(match reader {
                    Some(reader) => reader.whole()?,
                    None => cx.tables()?.scan(table, columns)?,
                });
                return Ok(());
            }
        };
        if adapts && cx.tables()?.is_large(table, &[(index, &ranges)])? {
            *whole = true;
            *cursor = Some(cx.tables()?.scan(table, columns)?);
            return Ok(());
        }
        *cursor = Some(match reader {
            Some(reader) => reader.scan(ranges, descending)?,
            None => cx.tables()?.index_scan(table, index, ranges, descending, columns)?,
        });
        Ok(())
    }

    fn bound(&mut self, rows: u64) {
        self.bounded.set(rows);
    }

    fn restrict(&mut self, column: usize, filter: &Arc<KeyFilter>) {
        // What is read first are the columns of the filters that there were.
        if column < self.columns.len() && self.read_all() && !self.sift_keys(column, filter) {
            self.filters.add(column, filter);
        }
    }

    fn reach(&self, column: usize) -> Reach {
        if column < self.columns.len() { Reach::Scan } else { Reach::Nowhere }
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        if self.point {
            return self.next_point(cx, out);
        }
        let bound = self.bounded.begin()?;
        if self.late.is_some() {
            return self.next_late(cx, bound, out);
        }
        let Some(cursor) = &mut self.cursor else { return Ok(false) };
        if let (Some(rows), None) = (bound, &self.filter) {
            // Each of them counts.
            cursor.expect(rows);
        }
        loop {
            cx.check_cancelled()?;
            let records = match self.records {
                true => out.columns.split_off(self.columns.len().min(out.columns.len())),
                false => Vec::new(),
            };
            if !cursor.next(out)? {
                // Whoever comes next fills the same batch.
                out.columns.extend(records);
                return Ok(false);
            }
            if self.records {
                let places = cursor.records().iter().map(|record| record_number(*record)).collect();
                out.columns.push(Column { data: ColumnData::I64(places), nulls: NullMask::default() });
            }
            let seen = out.rows;
            if let Some(draw) = self.draw {
                drawn(draw, cursor.records(), &mut self.selection);
                out.filter(&self.selection);
            }
            self.filters.apply(out);
            let instead = self.instead.as_mut().filter(|_| self.whole);
            let mut left = out.rows > 0;
            for condition in
                instead.into_iter().chain(asked(self.is_sifted, &mut self.sift, &mut self.filter))
            {
                if !left {
                    break;
                }
                if let Some(error) = condition.select(&cx.eval(), out, &mut self.selection) {
                    self.bounded.failed(error, self.selection.len(), bound)?;
                }
                left = !self.selection.is_empty();
                work::removed(out.rows - self.selection.len());
                out.filter(&self.selection);
            }
            if self.trial.ends(seen, out.rows) && !self.records {
                let mut first: Vec<usize> =
                    self.filters.columns().chain(self.sifted.iter().copied()).collect();
                if !self.filters.leave_out_many() {
                    first.extend(&self.judged);
                }
                let late = Late::new(first, self.judged.clone(), self.columns.len());
                let varies =
                    |column: usize| self.table.columns[self.columns[column]].ty.physical() == Physical::Bytes;
                self.late = late.filter(|late| {
                    self.trial.pays(late.later().any(varies)) && cursor.read_first(Some(late.first()))
                });
            }
            if left {
                return Ok(true);
            }
            self.bounded.nothing_before()?;
            if self.late.is_some() {
                return self.next_late(cx, bound, out);
            }
        }
    }

    fn keep_order(&mut self) -> bool {
        self.instead.is_none()
    }

    fn shareable(&self) -> Option<u64> {
        let is_simple = self.is_safe && !self.point && self.late.is_none() && self.draw.is_none();
        self.cursor.as_ref().filter(|_| is_simple)?.pages_left()
    }

    fn split(&mut self, _: &ExecContext<'_>, parts: usize) -> Result<Vec<Box<dyn Operator>>> {
        let cursors = self.cursor.as_mut().map_or_else(Vec::new, |cursor| cursor.split(parts));
        let part = |cursor| ScanOperator {
            table: Arc::clone(&self.table),
            columns: self.columns.clone(),
            access: None,
            drawing: None,
            draw: None,
            pages: None,
            instead: self.instead.clone(),
            whole: self.whole,
            filter: self.filter.clone(),
            sift: self.sift.clone(),
            asking: None,
            is_sifted: self.is_sifted,
            sifted: self.sifted.clone(),
            selection: Vec::new(),
            point: false,
            records: self.records,
            cursor: Some(cursor),
            bounded: Bounded::default(),
            filters: self.filters.of_part(),
            is_safe: self.is_safe,
            reader: None,
            judged: self.judged.clone(),
            late: None,
            trial: Trial::default(),
            held: None,
        };
        Ok(boxed(cursors.into_iter().map(part)))
    }

    fn is_portable(&self) -> bool {
        // Where a range that is too large is read otherwise, the order of the rows is not that of the index.
        let by_index = self.access.as_ref().is_some_and(|access| access.is_safe);
        by_index && self.instead.is_none() && self.is_safe
    }

    fn copy(&self, cx: &ExecContext<'_>) -> Result<Box<dyn Operator>> {
        let reader = match &self.access {
            Some(access) => Some(cx.tables()?.index_reader(&self.table, &access.indexes(), &self.columns)?),
            None => None,
        };
        Ok(Box::new(ScanOperator {
            table: Arc::clone(&self.table),
            columns: self.columns.clone(),
            access: self.access.clone(),
            drawing: self.drawing.clone(),
            draw: None,
            pages: self.pages.clone(),
            instead: None,
            whole: false,
            filter: self.filter.clone(),
            sift: None,
            asking: None,
            is_sifted: false,
            sifted: Vec::new(),
            selection: Vec::new(),
            point: false,
            records: self.records,
            cursor: None,
            bounded: Bounded::default(),
            filters: ScanFilters::default(),
            is_safe: self.is_safe,
            reader,
            judged: self.judged.clone(),
            late: None,
            trial: Trial::default(),
            held: None,
        }))
    }

    fn close(&mut self) {
        self.cursor = None;
        self.late = None;
        self.filters.clear();
        self.bounded = Bounded::default();
    }
}

/// Rows of a function.
pub(crate) struct FunctionOperator {
    call: SetCall,
    args: Vec<RowExpr>,
    types: Vec<SqlType>,
    rows: FunctionRows,
}

/// Rows of a running function.
pub(super) enum FunctionRows {
    None,
    /// Of one column.
    Values(Box<dyn Iterator<Item = Value> + Send>),
    Spool(Box<Spool>),
}

impl FunctionRows {
    /// Replaces `out`, of these types, by the next rows. False at the end.
    pub(super) fn next(&mut self, out: &mut Batch, types: &[SqlType]) -> Result<bool> {
        match self {
            FunctionRows::None => Ok(false),
            FunctionRows::Spool(spool) => spool.next(out),
            FunctionRows::Values(values) => {
                out.clear();
                if types.len() > 1 {
                    return rows_of_records(values, out, types);
                }
                let (Some(column), Some(ty)) = (out.columns.first_mut(), types.first()) else {
                    return Err(ExecError::raised("XX000", "a function without a column"));
                };
                while out.rows < BATCH_ROWS
                    && column.data.bytes().is_none_or(|bytes| bytes.bytes.len() < BATCH_BYTES)
                    && let Some(value) = values.next()
                {
                    match &value {
                        // Its row is of one column.
                        Value::Record(fields) if fields.len() == 1 && !ty.is_row() => {
                            column.push_value(&fields[0], ty)?;
                        }
                        value => column.push_value(value, ty)?,
                    }
                    out.rows += 1;
                }
                Ok(out.rows > 0)
            }
        }
    }
}

/// Of a function of several columns each value is a record.
fn rows_of_records(
    values: &mut Box<dyn Iterator<Item = Value> + Send>,
    out: &mut Batch,
    types: &[SqlType],
) -> Result<bool> {
    let mut bytes = 0;
    while out.rows < BATCH_ROWS
        && bytes < BATCH_BYTES
        && let Some(value) = values.next()
    {
        match value {
            Value::Record(fields) if fields.len() == types.len() => out.push_row(&fields, types)?,
            _ => out.push_row(&vec![Value::Null; types.len()], types)?,
        }
        bytes = out.variable_bytes();
    }
    Ok(out.rows > 0)
}

/// Calls a function for its rows, which have these types.
pub(super) fn call_rows(
    cx: &ExecContext<'_>,
    call: &SetCall,
    args: Vec<Value>,
    types: &[SqlType],
) -> Result<FunctionRows> {
    let eval = cx.eval();
    let null = args.iter().any(Value::is_null);
    Ok(match call {
        SetCall::Builtin { function, args: written } => match function.body {
            Body::Set(_) | Body::TypedSet(_) if function.strict && null => FunctionRows::None,
            Body::Set(set) => FunctionRows::Values(set(&eval, &args)?),
            Body::TypedSet(set) => {
                FunctionRows::Values(set(&eval, &args, &crate::expr::types_of(written), types)?)
            }
            Body::Scalar(_) | Body::Typed(_) if function.strict && null => {
                FunctionRows::Values(Box::new(std::iter::once(Value::Null)))
            }
            Body::Scalar(scalar) => FunctionRows::Values(Box::new(std::iter::once(scalar(&eval, &args)?))),
            Body::Typed(scalar) => {
                let value = scalar(&eval, &args, &crate::expr::types_of(written))?;
                FunctionRows::Values(Box::new(std::iter::once(value)))
            }
        },
        SetCall::User { function, .. } => {
            FunctionRows::Spool(Box::new(plpgsql::call_rows(cx, function, args, types)?))
        }
    })
}

impl FunctionOperator {
    pub fn new(call: &SetCall, columns: &[OutputColumn]) -> Self {
        let args = match call {
            SetCall::Builtin { args, .. } | SetCall::User { args, .. } => args,
        };
        let args = args.iter().map(RowExpr::compile).collect();
        Self { call: call.clone(), args, types: types(columns), rows: FunctionRows::None }
    }
}

impl Operator for FunctionOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let eval = cx.eval();
        let args: Vec<Value> = self.args.iter().map(|arg| arg.eval_constant(&eval)).collect::<Result<_>>()?;
        self.rows = call_rows(cx, &self.call, args, &self.types)?;
        Ok(())
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        cx.check_cancelled()?;
        self.rows.next(out, &self.types)
    }

    fn close(&mut self) {
        self.rows = FunctionRows::None;
    }
}

/// A row of a query brought to the types that a function declares.
pub(crate) fn cast_row(
    cx: &ExecContext<'_>,
    values: &mut [Value],
    from: &[SqlType],
    to: &[SqlType],
) -> Result<()> {
    for ((value, from), to) in values.iter_mut().zip(from).zip(to) {
        if from != to && !value.is_null() {
            *value = cast(value, from, to, CastKind::Assignment, cx.services.time_zone)?;
        }
        // What has the domain already is a value of it.
        if to.is_constrained() && from != to {
            let own = cx.services.binding.value_of_domain(to)?;
            let eval = EvalContext { params: std::slice::from_ref(value), ..cx.eval() };
            RowExpr::compile(&own).eval_constant(&eval)?;
        }
    }
    Ok(())
}
