//! Scans: the rows of a table that a statement sees, found by an index or read as a whole, and their condition.
//!
//! 1. What of the condition the cursor can ask by itself it asks ([`super::sift`]), with the filters of joins; the rest is asked of
//!    the rows that are left.
//! 2. Columns that only those rows need may be read for them alone ([`super::late`]).
//! 3. A condition with queries that no row can make differ is asked before the first row of a large table.

use std::sync::Arc;

use verso_catalog::{IndexDef, TableDef};
use verso_storage::heap::{Condition, Draw};
use verso_storage::index::KeyRange;
use verso_storage::work;
use verso_types::{Batch, Column, ColumnData, NullMask, Physical};

use super::access::{Access, Found, is_much};
use super::drawing::{Drawing, drawn};
use super::filter::{KeyFilter, Reach, ScanFilters};
use super::late::{Late, Trial};
use super::lock::record_number;
use super::operator::{Bounded, Operator, boxed};
use super::pages::Pages;
use super::sift::Sift;
use super::subquery::{answered, asks};
use super::{ExecContext, IndexReader, TableCursor};
use crate::error::Result;
use crate::expr::{Executor, Predicate};
use crate::memory::Reservation;
use crate::plan::{IndexAccess, RECORD_COLUMN, TypedExpr};

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
        if *records && table.partition_of.is_some() {
            cx.tables()?.lock_as_whole(table)?;
        }
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
