//! ANALYZE: what a table holds, found out from a sample of its pages.
//!
//! ```text
//! pages, at random ─► some rows of each ─► values column by column ─► statistics ─► pg_statistic
//! ```
//!
//! 1. No more than [`PAGES_MAX`] pages are read, whatever the table's size, and about [`ROWS_WANTED`] rows are kept. Few rows
//!    of many pages: rows that stand together are alike.
//! 2. Readers and writers go on; another ANALYZE of the table waits (`SHARE UPDATE EXCLUSIVE`), and so does a change of its
//!    definition.
//! 3. One that runs by itself (`automatic.rs`) ends when somebody waits for a lock of the table.
//! 4. What is kept of the sample is charged to the statement's memory. A cancel acts at the next page.
//!
//! | module | what it is |
//! |---|---|
//! | [`column`] | from the values of a sample to what is known of a column |
//! | [`extended`] | from its rows to what is known of several columns and of expressions (CREATE STATISTICS) |

mod column;
mod extended;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_catalog::packs::Wanted;
use verso_catalog::{ColumnDef, Object, Relation, Rights, TableDef, TableStatistics};
use verso_exec::ExecError;
use verso_exec::memory::Reservation;
use verso_storage::heap::{ScanBatch, ScanSpec};
use verso_storage::{LockInfo, LockTarget, StorageError, TableLockMode, WaitPolicy};
use verso_types::{Batch, Value};

use super::Schema;
use super::upkeep::{passed_over, system_relation};
use crate::client::{CommandTag, Notice, tag};
use crate::failure::Failure;
use column::{Sampled, TARGET};
use extended::Together;
use verso_parser::syntax::{Analyze, AnalyzeDepth, Name, QualifiedName};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};

/// Rows of a sample: 300 for each of the 100 groups of a histogram, as in PostgreSQL.
const ROWS_WANTED: u32 = 30_000;
/// Pages that are read for them.
const PAGES_MAX: u32 = 3_000;
/// Rows of a sample of a whole table.
const ROWS_FULL: u32 = 300_000;

/// How many common values and groups of a histogram a column gets.
fn target_of(column: &ColumnDef) -> usize {
    column.statistics.map_or(TARGET, usize::from)
}

impl Schema<'_> {
    /// ANALYZE.
    pub(super) fn analyze(&self, binder: &Binder<'_>, analyze: &Analyze) -> Result<CommandTag, Failure> {
        let mut wanted: Vec<(Arc<TableDef>, Vec<usize>)> = Vec::new();
        for (name, columns) in &analyze.tables {
            if let Some(table) = self.analyzed(binder, name)? {
                if !self.may_analyze(&table) {
                    let text = format!("permission denied to analyze \"{}\", skipping it", table.name);
                    self.frame.services.notices.warn("01000", &text);
                    continue;
                }
                let columns = chosen(&table, name, columns)?;
                // What is known of a partitioned table its partitions know.
                if table.partitioned.is_some() && analyze.only.contains(name) {
                    continue;
                }
                wanted.push((table, columns));
            }
        }
        if analyze.tables.is_empty() {
            let tables = self.frame.catalog.relations().filter_map(|relation| match relation {
                Relation::Table(table)
                    if !table.oid.is_system() && table.partitioned.is_none() && self.may_analyze(table) =>
                {
                    Some(Arc::clone(table))
                }
                _ => None,
            });
            // What is damaged is told by those who use it.
            let tables = tables.filter(|table| !self.frame.catalog.is_damaged(table.oid));
            wanted.extend(tables.map(|table| {
                let all = (0..table.columns.len()).collect();
                (table, all)
            }));
        }
        for (table, columns) in wanted {
            for leaf in table.leaves() {
                let own = |at: &usize| leaf.column(&table.columns[*at].name);
                let columns: Vec<usize> = match leaf.oid == table.oid {
                    true => columns.clone(),
                    false => columns.iter().filter_map(own).collect(),
                };
                self.analyze_table(&leaf, &columns, analyze)?;
            }
        }
        Ok(tag("ANALYZE"))
    }

    fn may_analyze(&self, table: &TableDef) -> bool {
        let rights = |role| self.frame.catalog.rights(role, Object::Relation(table.oid));
        self.limited().is_none_or(|role| rights(role).has(Rights::MAINTAIN))
    }

    /// The table of that name; what is none is told and left alone, as in PostgreSQL.
    fn analyzed(&self, binder: &Binder<'_>, name: &QualifiedName) -> Result<Option<Arc<TableDef>>, Failure> {
        if let Some(system) = system_relation(name) {
            self.passes(system, "analyze");
            return Ok(None);
        }
        let relation = self.frame.catalog.relation(name.schema_text(), &name.name.text);
        if let Some(Relation::View(_) | Relation::Index(_) | Relation::Sequence(_)) = relation {
            self.frame.services.notices.warn("01000", &passed_over(&name.name.text, "analyze"));
            return Ok(None);
        }
        Ok(Some(binder.table(name)?))
    }

    fn analyze_table(
        &self,
        table: &Arc<TableDef>,
        columns: &[usize],
        analyze: &Analyze,
    ) -> Result<(), Failure> {
        let verbose = analyze.verbose;
        let instance = &self.frame.services.instance;
        let inform = |text: String| {
            let notice = Notice { severity: "INFO", ..Notice::message(text) };
            self.frame.services.notices.tell(notice);
        };
        if verbose {
            inform(format!("analyzing \"{}.{}\"", table.schema, table.name));
        }
        {
            let mut txn = self.frame.txn.borrow_mut();
            let mode = TableLockMode::ShareUpdateExclusive;
            let policy = if analyze.skip_locked { WaitPolicy::SkipLocked } else { WaitPolicy::Block };
            match instance.engine.lock_table(&mut txn, table.heap, mode, policy) {
                Err(StorageError::NoSuchObject(_)) => return Ok(()), // dropped since
                Ok(false) => {
                    let text = format!("skipping analyze of \"{}\" --- lock not available", table.name);
                    self.frame.services.notices.warn("55P03", &text);
                    return Ok(());
                }
                locked => locked?,
            };
            self.frame.tables().check_definition(&mut txn, table)?;
        }
        let changed = Arc::clone(&instance.engine.heap(table.heap)?.changed);
        let total = changed.total();
        // Nothing is asked of the columns where only rows are counted.
        // SET STATISTICS 0: nothing is collected of the column.
        let kept = columns.iter().copied().filter(|at| table.columns[*at].statistics != Some(0));
        let all = columns.len() == table.columns.len();
        let kept = if analyze.depth == AnalyzeDepth::Rows { Vec::new() } else { kept.collect() };
        let all = all && analyze.depth != AnalyzeDepth::Rows;
        let columns = kept.as_slice();
        let (mut together, left) = self.together(table, columns, analyze.depth)?;
        for name in left {
            let of = format!("{}.{}", table.schema, table.name);
            let text = format!("statistics object \"{name}\" could not be computed for relation \"{of}\"");
            self.frame.services.notices.warn("42P17", &text);
        }
        let sample = self.sample(table, columns, &mut together, analyze.depth)?;
        if verbose {
            inform(format!(
                "\"{}\": scanned {} of {} pages, containing {} live rows; {} rows in sample, {:.0} estimated total rows",
                table.name,
                sample.pages_read,
                sample.pages,
                sample.rows_seen,
                sample.rows,
                sample.rows_of_table
            ));
        }
        let mut found = HashMap::new();
        for (sampled, at) in sample.columns.into_iter().zip(columns) {
            let column = &table.columns[*at];
            let mut known = sampled.statistics(&column.ty, target_of(column), sample.rows_of_table);
            known.distinct = table.told_distinct(column.id).unwrap_or(known.distinct);
            found.insert(column.id, known);
        }
        let known = TableStatistics {
            rows: sample.rows_of_table,
            pages: f64::from(sample.pages),
            columns: found,
            extended: together.statistics(sample.rows_of_table, self.frame.cancel),
        };
        if self.frame.cancel.load(Ordering::Relaxed) {
            return Err(SqlError::from(ExecError::Cancelled).into());
        }
        instance.catalog.set_statistics(&mut self.frame.txn.borrow_mut(), table, &known)?;
        if all {
            changed.analyzed(total);
        }
        let services = self.frame.services;
        let mut analyzed = instance.automatic.tables.lock();
        analyzed.entry(table.heap).or_default().again(services.clocks.now(), services.automatic.get());
        Ok(())
    }

    /// Whether somebody waits for a lock that an analysis holds which nobody has asked for.
    fn is_in_the_way(&self, table: &TableDef) -> bool {
        let services = self.frame.services;
        let wants = |lock: &LockInfo| !lock.granted && lock.target == LockTarget::Table(table.heap);
        services.automatic.get() && services.instance.engine.locks().iter().any(wants)
    }

    /// What is to be found out of several columns at once.
    fn together(
        &self,
        table: &Arc<TableDef>,
        columns: &[usize],
        depth: AnalyzeDepth,
    ) -> Result<(Together, Vec<String>), Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        match depth {
            AnalyzeDepth::Rows => Ok((Together::default(), Vec::new())),
            _ => Together::of(&binder, self, table, columns),
        }
    }

    /// Reads pages of a table.
    fn sample(
        &self,
        table: &TableDef,
        columns: &[usize],
        together: &mut Together,
        depth: AnalyzeDepth,
    ) -> Result<Sample, Failure> {
        let services = self.frame.services;
        let heap = services.instance.engine.heap(table.heap)?;
        let wanted = Wanted::of(&heap, columns.iter().map(|at| &table.columns[*at]));
        let types: Vec<_> = columns.iter().map(|at| table.columns[*at].ty.clone()).collect();
        let pages = heap.page_count();
        let whole = depth == AnalyzeDepth::Full;
        // More of them where a column is to have more groups.
        let most = columns.iter().map(|at| target_of(&table.columns[*at])).max().unwrap_or_default();
        let most = most.max(together.target()) as u32;
        let more = most.div_ceil(TARGET as u32).max(1);
        let wanted_pages = if whole { pages } else { pages.min(PAGES_MAX * more) };
        let rows_wanted = if whole { ROWS_FULL.max(ROWS_WANTED * more) } else { ROWS_WANTED * more };
        let listed = services.instance.engine.begin_job("ANALYZE", services.info.number, Some(table.heap));
        listed.job().enter("acquiring sample rows", wanted_pages.into());
        let wanted_rows = rows_wanted.div_ceil(wanted_pages.max(1)) as usize;
        let mut random = Random(services.clocks.nanos() ^ u64::from(table.oid.0));
        let lent = services.memory.lend();
        let mut memory: Reservation = lent.account.reserve("ANALYZE", u64::MAX);
        let mut sample = Sample {
            pages,
            columns: columns.iter().map(|_| Sampled::default()).collect(),
            ..Sample::default()
        };
        let mut batch = ScanBatch::default();
        let (mut charged, mut held) = (0u64, 0u64);
        for page in 0..pages {
            // Each page with the same probability, as many as are wanted (Knuth, algorithm S).
            let left = u64::from(pages - page);
            if random.below(left) >= u64::from(wanted_pages - sample.pages_read) {
                continue;
            }
            sample.pages_read += 1;
            listed.job().advance(1);
            if self.frame.cancel.load(Ordering::Relaxed) {
                return Err(SqlError::from(ExecError::Cancelled).into());
            }
            if sample.pages_read.is_multiple_of(64) && self.is_in_the_way(table) {
                let text = format!("\"{}\" is not analyzed: somebody waits for its lock", table.name);
                return Err(SqlError::new(sqlstate::QUERY_CANCELED, text).into());
            }
            let spec = ScanSpec { columns: wanted.ids(), pages: page..page + 1 };
            let mut scan = heap.scan(&self.frame.txn.borrow(), spec);
            while scan.next(&mut batch)? {
                wanted.finish(&mut batch.batch)?;
                let rows = batch.batch.rows;
                sample.rows_seen += rows as u64;
                let mut missing = wanted_rows.min(rows);
                let mut picked: Vec<u32> = Vec::new();
                for row in 0..rows {
                    if random.below((rows - row) as u64) >= missing as u64 {
                        continue;
                    }
                    missing -= 1;
                    sample.rows += 1;
                    picked.push(row as u32);
                    for ((column, ty), sampled) in
                        batch.batch.columns.iter().zip(&types).zip(&mut sample.columns)
                    {
                        held += sampled.add(column.value(row, ty), ty);
                    }
                }
                let own = |at: &usize| columns.iter().position(|known| known == at);
                let places = together.columns().iter().filter_map(own);
                let chosen = places.map(|place| batch.batch.columns[place].gather(&picked)).collect();
                let chosen = Batch { rows: picked.len(), columns: chosen };
                held += together.add(self, table, &chosen)?;
                if held - charged > 256 << 10 {
                    memory.add(held - charged).map_err(SqlError::from)?;
                    charged = held;
                }
            }
        }
        let read = f64::from(sample.pages_read.max(1));
        sample.rows_of_table = (sample.rows_seen as f64 / read * f64::from(pages)).round();
        Ok(sample)
    }
}

/// The columns named, or all.
fn chosen(table: &TableDef, name: &QualifiedName, columns: &[Name]) -> Result<Vec<usize>, SqlError> {
    if columns.is_empty() {
        return Ok((0..table.columns.len()).collect());
    }
    let mut found: Vec<usize> = Vec::new();
    for column in columns {
        let at = table.columns.iter().position(|known| *known.name == *column.text).ok_or_else(|| {
            let text =
                format!("column \"{}\" of relation \"{}\" does not exist", column.text, name.name.text);
            SqlError::new(sqlstate::UNDEFINED_COLUMN, text)
        })?;
        if found.contains(&at) {
            let text = format!(
                "column \"{}\" of relation \"{}\" appears more than once",
                column.text, name.name.text
            );
            return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text));
        }
        found.push(at);
    }
    Ok(found)
}

/// What was read of a table.
#[derive(Default)]
struct Sample {
    /// Pages of the table, and those that were read.
    pages: u32,
    pages_read: u32,
    /// Rows on these, and those kept.
    rows_seen: u64,
    rows: u64,
    /// About how many rows the table has.
    rows_of_table: f64,
    columns: Vec<Sampled>,
}

/// Random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end.max(1)
    }
}

/// Bytes of a value in a sample.
fn value_bytes(value: &Value) -> u64 {
    let own = size_of::<Value>() as u64;
    own + match value {
        Value::Text(text) => text.len() as u64,
        Value::Bytes(bytes) => bytes.len() as u64,
        _ => 0,
    }
}
