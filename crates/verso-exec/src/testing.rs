//! Helpers of this crate's tests: a session without a database, tables in memory, expressions by name.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use verso_catalog::{Asked, CatalogSnapshot, FunctionDef, SystemRowIter, SystemRows, SystemView};
use verso_env::sync::Mutex;

use verso_catalog::{ColumnDef, ConstraintDef, IndexDef, Oid, SequenceDef, TableDef, TriggerDef};
use verso_storage::index::KeyRange;
use verso_storage::workers::WorkerPool;
use verso_storage::{ObjectId, RecordId, RecordLockMode, StorageError, WaitPolicy};
use verso_types::{Batch, SqlType, TimeStyle, Value};

use crate::context::CatalogFunctions;
use crate::context::{
    AdvisoryCall, Binding, Clock, Crew, Described, EvalContext, HeldSettings, Identity, Known, Notice,
    NoticeSink, Notifications, Random, Runtime, SequenceState, Services, SessionCursors, SettingAccess,
    Signals, Workers,
};
use crate::error::{ExecError, Result};
use crate::exec::{
    Change, ChangeCursor, DeferredEvent, ExecContext, FoundRecords, Gathering, IndexReader, LockRows,
    References, Reserve, Scan, Sequences, Sink, TableCursor, TransactionControl, TransactionState, execute,
};
use crate::expr::Executor;
use crate::functions::{ArgType, BuiltinFunction, ResultType, candidates, operator_candidates};
use crate::memory::{Account, Memory, Scope};
use crate::plan::{
    CastKind, ExprKind, PlFunction, Plan, RaiseLevel, RowRules, Statement, SubqueryTest, TypedExpr,
};
use crate::spill::TempSpace;

/// 2024-02-29 12:30:45.678901 UTC.
pub(crate) const NOW: i64 = 762_525_045_678_901;

/// A session of fixed time and seeded randomness.
pub(crate) struct TestSession {
    pub zone: TimeStyle,
    pub random: Cell<u64>,
    pub sequence: Cell<i64>,
    pub notices: RefCell<Vec<Notice>>,
    pub work_memory: Cell<u64>,
    pub memory: Account,
    /// Where operators may put rows.
    pub temporary: Option<Arc<TempSpace>>,
    /// Of expressions; statements have the world's.
    pub cancel: AtomicBool,
    pub functions: RefCell<HashMap<Arc<str>, Arc<PlFunction>>>,
    pub portals: crate::Portals,
    /// Workers of each operator that can have some.
    pub workers: Cell<u32>,
    pool: WorkerPool,
}

impl Default for TestSession {
    fn default() -> Self {
        Self {
            zone: TimeStyle::UTC,
            random: Cell::new(0x9e37_79b9_7f4a_7c15),
            sequence: Cell::new(0),
            notices: RefCell::default(),
            work_memory: Cell::new(64 << 20),
            memory: Account::new(Scope::Statement, 0),
            temporary: None,
            cancel: AtomicBool::new(false),
            functions: RefCell::default(),
            portals: crate::Portals::default(),
            workers: Cell::new(1),
            pool: WorkerPool::new(verso_env::Env::real()),
        }
    }
}

impl Drop for TestSession {
    fn drop(&mut self) {
        self.pool.close();
    }
}

impl Workers for TestSession {
    fn for_pages(&self, _: u64) -> u32 {
        self.workers.get()
    }
    fn turns(&self, _: u32) -> Option<std::sync::Arc<dyn crate::context::GivesWay>> {
        None
    }
    fn crew(&self, wanted: u32) -> Crew {
        self.pool.lend(wanted)
    }
}

impl TestSession {
    pub fn memory(&self) -> Memory<'_> {
        Memory {
            work_bytes: self.work_memory.get(),
            account: &self.memory,
            temporary: self.temporary.as_ref(),
        }
    }

    /// Lends everything.
    pub fn services(&self) -> Services<'_> {
        Services {
            time_zone: &self.zone,
            memory: self.memory(),
            workers: self,
            clock: self,
            random: self,
            sequences: self,
            settings: self,
            notices: self,
            identity: self,
            signals: self,
            notifications: self,
            cursors: self,
            portals: &self.portals,
            views: self,
            catalogs: self,
            binding: self,
        }
    }

    pub fn context<'a>(&'a self, services: &'a Services<'a>) -> EvalContext<'a> {
        EvalContext { services, runtime: self, params: &[], outer: &[] }
    }
}

impl SystemRows for TestSession {
    fn rows(&self, _: SystemView, _: &[Value], _: Asked<'_>) -> SystemRowIter {
        let rows = [("page", 7), ("log", 9)];
        Box::new(rows.into_iter().map(|(kind, writes)| vec![Value::text(kind), Value::Int8(writes)]))
    }
}

impl CatalogFunctions for TestSession {
    fn call(&self, function: &'static str, _: &[Value]) -> Result<Value> {
        Err(ExecError::raised("0A000", function.to_string()))
    }
}

impl Clock for TestSession {
    fn transaction_timestamp(&self) -> i64 {
        NOW
    }
    fn statement_timestamp(&self) -> i64 {
        NOW
    }
    fn clock_timestamp(&self) -> i64 {
        NOW
    }
}

impl Random for TestSession {
    fn random_u64(&self) -> u64 {
        self.random.set(self.random.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        self.random.get()
    }
    fn seed_random(&self, seed: f64) {
        self.random.set(seed.to_bits());
    }
    fn unseeded_u64(&self) -> u64 {
        self.random_u64()
    }
    fn uuid_stamp(&self, micros: i64) -> i128 {
        i128::from(micros) * 1000
    }
}

impl SequenceState for TestSession {
    fn value(&self, _: u32) -> Option<i64> {
        Some(self.sequence.get()).filter(|value| *value > 0)
    }
    fn last_used(&self) -> Option<u32> {
        self.value(0).map(|_| 0)
    }
    fn note_value(&self, _: u32, value: i64, _: bool) {
        self.sequence.set(value);
    }
}

impl SettingAccess for TestSession {
    fn setting(&self, name: &str) -> Option<String> {
        (name == "timezone").then(|| "UTC".to_owned())
    }
    fn set_setting(&self, name: &str, _: Option<&str>, _: bool) -> Result<String> {
        Err(ExecError::raised("42704", format!("unrecognized configuration parameter \"{name}\"")))
    }
    fn hold(&self, _: &[(Arc<str>, Arc<str>)], catalog: &Arc<CatalogSnapshot>) -> Result<HeldSettings> {
        Ok(HeldSettings { catalog: Arc::clone(catalog), time_zone: TimeStyle::UTC, work_bytes: None })
    }
    fn release(&self, _: &Arc<CatalogSnapshot>) {}
}

impl NoticeSink for TestSession {
    fn notice(&self, notice: Notice, _: Memory<'_>) -> Result<()> {
        self.notices.borrow_mut().push(notice);
        Ok(())
    }

    fn hears(&self, _: RaiseLevel) -> bool {
        true
    }
}

impl Identity for TestSession {
    fn user_name(&self) -> Arc<str> {
        "tester".into()
    }
    fn session_user(&self) -> Arc<str> {
        self.user_name()
    }
    fn act_as(&self, _: Option<verso_catalog::Oid>) -> Option<verso_catalog::Oid> {
        None
    }
    fn backend_id(&self) -> i32 {
        0
    }
    fn database_name(&self) -> Arc<str> {
        "test".into()
    }
    fn version(&self) -> Arc<str> {
        "Verso".into()
    }
}

impl Signals for TestSession {
    fn signal_backend(&self, _: i32, _: bool) -> Result<bool> {
        Ok(false)
    }
    fn has_backend(&self, _: i32) -> bool {
        false
    }
    fn sleep(&self, _: Duration) -> Result<()> {
        Ok(())
    }
    fn ends_session(&self) -> bool {
        false
    }
    fn forget_cancel(&self) {
        self.cancel.store(false, Ordering::Relaxed);
    }
    fn wait_durable(&self) -> Result<u64> {
        Ok(0)
    }
}

impl Notifications for TestSession {
    fn notify(&self, _: &str, _: &str) -> Result<()> {
        Ok(())
    }
    fn listening(&self) -> Vec<Arc<str>> {
        Vec::new()
    }
    fn queue_usage(&self) -> f64 {
        0.0
    }
}

impl SessionCursors for TestSession {
    fn cursor_place(&self, cursor: &str, _: &TableDef) -> Result<i64> {
        Err(ExecError::raised("34000", format!("cursor \"{cursor}\" does not exist")))
    }
}

impl Binding for TestSession {
    fn compile_function(
        &self,
        function: &Arc<FunctionDef>,
        _: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>> {
        let functions = self.functions.borrow();
        let found = functions.get(&function.name).cloned();
        found.ok_or_else(|| ExecError::raised("42883", format!("function {} is unknown here", function.name)))
    }
    fn compile_trigger(
        &self,
        trigger: &Arc<TriggerDef>,
        _: Option<&Arc<FunctionDef>>,
        _: &Arc<TableDef>,
        _: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>> {
        let functions = self.functions.borrow();
        let found = functions.get(&trigger.name).cloned();
        found.ok_or_else(|| ExecError::raised("42883", format!("trigger {} is unknown here", trigger.name)))
    }
    fn trigger_condition(&self, trigger: &Arc<TriggerDef>, _: &Arc<TableDef>) -> Result<TypedExpr> {
        Err(ExecError::raised("42883", format!("trigger {} is unknown here", trigger.name)))
    }
    fn row_rules(&self, _: &Arc<TableDef>) -> Result<RowRules> {
        Ok(RowRules::default())
    }
    fn value_of_domain(&self, domain: &SqlType) -> Result<TypedExpr> {
        Ok(TypedExpr::new(ExprKind::Parameter(0), domain.erased()))
    }
    fn column_default(&self, column: &ColumnDef) -> Result<TypedExpr> {
        Ok(TypedExpr::null(column.ty.clone()))
    }
    fn statements_of(&self, _: &str) -> Result<Vec<Range<usize>>> {
        Err(ExecError::raised("0A000", "there is no parser here"))
    }

    fn bind_text(
        &self,
        _: &str,
        _: Range<usize>,
        _: &Known<'_>,
        _: bool,
        _: &Arc<CatalogSnapshot>,
    ) -> Result<Option<Statement>> {
        Err(ExecError::raised("0A000", "there is no parser here"))
    }

    fn describe_error(&self, error: &ExecError) -> Described {
        let sqlstate: Arc<str> = match error.root() {
            ExecError::Type(error) => error.sqlstate.into(),
            ExecError::Raised(raised) => Arc::clone(&raised.sqlstate),
            ExecError::NotNull { .. } => "23502".into(),
            ExecError::Cancelled => "57014".into(),
            ExecError::OutOfMemory { .. } => "53200".into(),
            ExecError::TooDeep => "54001".into(),
            _ => "XX000".into(),
        };
        Described { sqlstate, message: error.to_string(), ..Described::default() }
    }
}

impl Runtime for TestSession {
    fn check_cancelled(&self) -> Result<()> {
        if self.cancel.load(Ordering::Relaxed) { Err(ExecError::Cancelled) } else { Ok(()) }
    }
    fn call_function(&self, function: &Arc<FunctionDef>, _: Vec<Value>) -> Result<Value> {
        Err(ExecError::raised("42883", format!("function {} is unknown here", function.name)))
    }
    fn next_value(&self, _: &str) -> Result<(u32, i64)> {
        Ok((1, self.sequence.get() + 1))
    }
    fn set_value(&self, _: &str, _: i64, _: bool) -> Result<u32> {
        Ok(1)
    }
    fn sequence_oid(&self, _: &str) -> Result<u32> {
        Ok(1)
    }
    fn has_sequence(&self, _: u32) -> Result<bool> {
        Ok(true)
    }
    fn subquery(
        &self,
        _: &Arc<Plan>,
        _: SubqueryTest,
        _: Vec<Value>,
        _: &[Value],
        _: &[Value],
    ) -> Result<Value> {
        Err(ExecError::raised("0A000", "no statement runs here"))
    }
    fn advisory(&self, _: AdvisoryCall) -> Result<bool> {
        Err(ExecError::raised("0A000", "no transaction runs here"))
    }
    fn export_snapshot(&self) -> Result<String> {
        Err(ExecError::raised("0A000", "no transaction runs here"))
    }
    fn transaction_id(&self, _: bool) -> Result<Option<u64>> {
        Ok(None)
    }
    fn shown_snapshot(&self) -> Result<verso_types::snapshot::Snapshot> {
        Ok(verso_types::snapshot::Snapshot::default())
    }
}

pub(crate) fn column(index: usize, ty: SqlType) -> TypedExpr {
    TypedExpr::column(index, ty)
}

/// A literal of the value's own type.
pub(crate) fn literal(value: Value) -> TypedExpr {
    let ty = verso_types::text::type_of(&value);
    TypedExpr::literal(value, ty)
}

pub(crate) fn cast(arg: TypedExpr, ty: SqlType, kind: CastKind) -> TypedExpr {
    TypedExpr::new(ExprKind::Cast { arg: Box::new(arg), kind }, ty)
}

/// A call by name or operator whose declared types are those of the arguments.
pub(crate) fn call(name: &str, args: Vec<TypedExpr>) -> TypedExpr {
    let named = candidates(name);
    let all = if named.is_empty() { operator_candidates(name) } else { named };
    let function = all
        .iter()
        .find(|function| takes(function, &args))
        .unwrap_or_else(|| panic!("no {name}({:?})", args.iter().map(|arg| &arg.ty).collect::<Vec<_>>()));
    let ty = match &function.result {
        ResultType::Fixed(ty) => ty.clone(),
        ResultType::FixedArray(element) => SqlType::Array(Box::new(element.clone())),
        ResultType::Columns(_) | ResultType::Mixed(_) => SqlType::Record,
        ResultType::SameAs(i) => args[*i].ty.without_modifiers(),
        ResultType::ArrayOf(i) => SqlType::Array(Box::new(args[*i].ty.clone())),
        ResultType::ElementOf(i) => match &args[*i].ty {
            SqlType::Array(element) => (**element).clone(),
            SqlType::Range(of) | SqlType::Multirange(of) => of.subtype(),
            other => other.clone(),
        },
        ResultType::RangeOf(i) | ResultType::MultirangeOf(i) => match &args[*i].ty {
            SqlType::Range(of) => SqlType::Multirange(of.clone()),
            SqlType::Multirange(of) => SqlType::Range(of.clone()),
            other => other.clone(),
        },
    };
    TypedExpr::new(ExprKind::Call { function, args }, ty)
}

fn takes(function: &BuiltinFunction, args: &[TypedExpr]) -> bool {
    let declared = |i: usize| &function.args[i.min(function.args.len().saturating_sub(1))];
    let count =
        if function.variadic { args.len() >= function.args.len() } else { args.len() == function.args.len() };
    count
        && args.iter().enumerate().all(|(i, arg)| match declared(i) {
            ArgType::Exact(SqlType::Text) => matches!(arg.ty, SqlType::Text | SqlType::Varchar(_)),
            ArgType::Exact(ty) => ty.same_base(&arg.ty),
            ArgType::AnyEnum => matches!(arg.ty, SqlType::Enum(_)),
            ArgType::AnyArray => matches!(arg.ty, SqlType::Array(_)),
            ArgType::AnyRange => matches!(arg.ty, SqlType::Range(_)),
            ArgType::AnyMultirange => matches!(arg.ty, SqlType::Multirange(_)),
            ArgType::AnyNonArray => !matches!(arg.ty, SqlType::Array(_)),
            ArgType::Any | ArgType::AnyElement => true,
            ArgType::ArrayOf(element) => matches!(&arg.ty, SqlType::Array(ty) if ty.same_base(element)),
            // of functions of users only
            ArgType::Polymorphic(_) => false,
        })
}

/// Batches until a flag is set.
type Countdown = Option<(u64, Arc<AtomicBool>)>;

/// The rows of every table.
type Contents = HashMap<Oid, Vec<Vec<Value>>>;

/// Tables in memory, with frames that are copies: what storage promises, without storage.
#[derive(Default)]
pub(crate) struct MemoryTables {
    rows: Arc<Mutex<Contents>>,
    /// Rows of a batch; 0 is [`BATCH`].
    pub batch_rows: Cell<usize>,
    /// Cancels the statement with the batch of this number that a scan reads, counted down.
    pub cancels: Arc<Mutex<Countdown>>,
    frames: RefCell<Vec<(Option<String>, Contents)>>,
    sequences: RefCell<HashMap<Oid, i64>>,
}

/// Rows of a batch: few, so that tests cross their bounds.
const BATCH: usize = 3;

impl MemoryTables {
    pub fn rows(&self, table: &TableDef) -> Vec<Vec<Value>> {
        self.rows.lock().get(&table.oid).cloned().unwrap_or_default()
    }

    pub fn fill(&self, table: &TableDef, rows: Vec<Vec<Value>>) {
        self.rows.lock().insert(table.oid, rows);
    }

    pub fn open_frames(&self) -> usize {
        self.frames.borrow().len()
    }

    fn pop(&self, restore: bool) -> Result<()> {
        let frame = self.frames.borrow_mut().pop().expect("a frame is open");
        assert!(frame.0.is_none(), "savepoints end before statements");
        if restore {
            *self.rows.lock() = frame.1;
        }
        Ok(())
    }

    fn named(&self, name: &str) -> usize {
        let frames = self.frames.borrow();
        frames.iter().rposition(|frame| frame.0.as_deref() == Some(name)).expect("the savepoint exists")
    }
}

/// Sees rows that are added while it reads: what T2 must not rely on.
struct MemoryCursor {
    contents: Arc<Mutex<Contents>>,
    cancels: Arc<Mutex<Countdown>>,
    batch_rows: usize,
    table: Oid,
    columns: Vec<usize>,
    types: Vec<SqlType>,
    /// Shared by the parts.
    next: Arc<AtomicUsize>,
    /// Where the rows read last begin, and the columns that are read first.
    last: usize,
    first: Option<Vec<usize>>,
}

impl MemoryCursor {
    fn new(tables: &MemoryTables, table: &TableDef, columns: &[usize]) -> Self {
        Self {
            contents: Arc::clone(&tables.rows),
            cancels: Arc::clone(&tables.cancels),
            batch_rows: match tables.batch_rows.get() {
                0 => BATCH,
                rows => rows,
            },
            table: table.oid,
            columns: columns.to_vec(),
            types: columns.iter().map(|i| table.columns[*i].ty.clone()).collect(),
            next: Arc::default(),
            last: 0,
            first: None,
        }
    }
}

impl TableCursor for MemoryCursor {
    fn next(&mut self, out: &mut Batch) -> Result<bool> {
        out.clear();
        if let Some((left, flag)) = &mut *self.cancels.lock() {
            *left = left.saturating_sub(1);
            if *left == 0 {
                flag.store(true, Ordering::Relaxed);
            }
        }
        let contents = self.contents.lock();
        let rows = contents.get(&self.table).map_or(&[][..], Vec::as_slice);
        assert!(rows.len() < 10_000, "a statement feeds itself");
        // The lock keeps other parts out.
        let next = self.next.load(Ordering::Relaxed);
        let end = rows.len().min(next + self.batch_rows);
        for row in &rows[next..end] {
            let row: Vec<Value> = self.columns.iter().map(|i| row[*i].clone()).collect();
            out.push_row(&row, &self.types)?;
        }
        self.next.store(end, Ordering::Relaxed);
        self.last = next;
        if let Some(first) = &self.first {
            let late = (0..out.columns.len()).filter(|column| !first.contains(column));
            late.for_each(|column| out.columns[column].clear());
        }
        Ok(out.rows > 0)
    }

    fn read_first(&mut self, columns: Option<&[usize]>) -> bool {
        self.first = columns.map(<[usize]>::to_vec);
        true
    }

    /// At most 20 at a time.
    fn read_late(&mut self, rows: &[u32], columns: &[usize], out: &mut Batch) -> Result<usize> {
        let contents = self.contents.lock();
        let all = &contents[&self.table];
        let rows = &rows[..rows.len().min(20)];
        for column in columns {
            out.columns[*column].clear();
            for row in rows {
                let value = &all[self.last + *row as usize][self.columns[*column]];
                out.columns[*column].push_value(value, &self.types[*column])?;
            }
        }
        Ok(rows.len())
    }

    fn pages_left(&self) -> Option<u64> {
        Some(1)
    }

    fn split(&mut self, parts: usize) -> Vec<Box<dyn TableCursor>> {
        let part = |_| MemoryCursor {
            contents: Arc::clone(&self.contents),
            cancels: Arc::clone(&self.cancels),
            batch_rows: self.batch_rows,
            table: self.table,
            columns: self.columns.clone(),
            types: self.types.clone(),
            next: Arc::clone(&self.next),
            last: 0,
            first: None,
        };
        (0..parts).map(|number| Box::new(part(number)) as Box<dyn TableCursor>).collect()
    }
}

struct MemoryChanges<'t> {
    tables: &'t MemoryTables,
    table: TableDef,
    cursor: MemoryCursor,
    batch: Batch,
    start: usize,
    deleted: Vec<usize>,
}

impl MemoryChanges<'_> {
    fn selected(&self, selection: Option<&[u32]>) -> Vec<usize> {
        match selection {
            Some(selection) => selection.iter().map(|row| self.start + *row as usize).collect(),
            None => (self.start..self.start + self.batch.rows).collect(),
        }
    }
}

impl ChangeCursor for MemoryChanges<'_> {
    fn next(&mut self) -> Result<bool> {
        self.start = self.cursor.next.load(Ordering::Relaxed);
        self.cursor.next(&mut self.batch)
    }
    fn batch(&self) -> &Batch {
        &self.batch
    }
    fn update(
        &mut self,
        selection: Option<&[u32]>,
        columns: &[u16],
        values: &Batch,
        _: Option<&mut Vec<u32>>,
    ) -> Result<()> {
        let mut all = self.tables.rows.lock();
        let rows = all.get_mut(&self.table.oid).expect("the table was read");
        for (i, row) in self.selected(selection).into_iter().enumerate() {
            for (id, column) in columns.iter().zip(&values.columns) {
                let at = self
                    .table
                    .columns
                    .iter()
                    .position(|column| column.id == *id)
                    .expect("an id of the table");
                rows[row][at] = column.value(i, &self.table.columns[at].ty);
            }
        }
        Ok(())
    }
    fn reread(&mut self, rows: &[u32]) -> Result<()> {
        // Nobody else changes rows here: the newest version is the one read.
        self.batch = self.batch.gather(rows);
        Ok(())
    }
    fn is_held(&mut self, _: &IndexDef, _: &[u8], _: u32) -> Result<bool> {
        by_scan_only(&self.table)
    }
    fn delete(&mut self, selection: Option<&[u32]>, _: Option<&mut Vec<u32>>) -> Result<()> {
        let selected = self.selected(selection);
        self.deleted.extend(selected);
        Ok(())
    }
}

impl Drop for MemoryChanges<'_> {
    fn drop(&mut self) {
        if let Some(rows) = self.tables.rows.lock().get_mut(&self.table.oid) {
            let mut row = 0;
            rows.retain(|_| {
                row += 1;
                !self.deleted.contains(&(row - 1))
            });
        }
    }
}

/// Tables in memory have no index, and no record a place.
fn by_scan_only<T>(table: &TableDef) -> Result<T> {
    Err(StorageError::NoSuchObject(table.heap).into())
}

impl Scan for MemoryTables {
    fn scan(&self, table: &TableDef, columns: &[usize]) -> Result<Box<dyn TableCursor>> {
        Ok(Box::new(MemoryCursor::new(self, table, columns)))
    }
    fn get(&self, table: &TableDef, _: &IndexDef, _: &[u8], _: &[usize], _: &mut Batch) -> Result<bool> {
        by_scan_only(table)
    }
    fn fetch(&self, table: &TableDef, _: RecordId, _: &[usize], _: &mut Batch) -> Result<bool> {
        by_scan_only(table)
    }
    fn past(&self, table: &TableDef, _: crate::exec::Moment) -> Result<verso_storage::HeldView> {
        by_scan_only(table)
    }
    fn enter_past(&self, _: &verso_storage::HeldView) {}
    fn leave_past(&self) {}
    fn is_large(&self, _: &TableDef, _: &[(&IndexDef, &[KeyRange])]) -> Result<bool> {
        Ok(false)
    }
    fn index_reader(&self, table: &TableDef, _: &[&IndexDef], _: &[usize]) -> Result<Box<dyn IndexReader>> {
        by_scan_only(table)
    }
    fn candidates(&self, table: &TableDef, _: &Gathering, _: &[usize]) -> Result<Box<dyn TableCursor>> {
        by_scan_only(table)
    }
    fn index_scan(
        &self,
        table: &TableDef,
        _: &IndexDef,
        _: Vec<KeyRange>,
        _: bool,
        _: &[usize],
    ) -> Result<Box<dyn TableCursor>> {
        by_scan_only(table)
    }
}

impl Change for MemoryTables {
    fn scan_for_change<'t>(
        &'t self,
        table: &TableDef,
        columns: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        let cursor = MemoryCursor::new(self, table, columns);
        Ok(Box::new(MemoryChanges {
            tables: self,
            table: table.clone(),
            batch: Batch::of_types(&cursor.types),
            cursor,
            start: 0,
            deleted: Vec::new(),
        }))
    }
    fn insert(&self, table: &TableDef, rows: &Batch) -> Result<()> {
        rows.check().expect("a sound batch");
        let types: Vec<SqlType> = table.columns.iter().map(|column| column.ty.clone()).collect();
        let mut all = self.rows.lock();
        all.entry(table.oid).or_default().extend((0..rows.rows).map(|row| rows.row(row, &types)));
        Ok(())
    }
    fn index_scan_for_change<'t>(
        &'t self,
        table: &TableDef,
        _: &IndexDef,
        _: Vec<KeyRange>,
        _: &[usize],
        _: bool,
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        by_scan_only(table)
    }
    fn candidates_for_change<'t>(
        &'t self,
        table: &TableDef,
        _: &Gathering,
        _: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        by_scan_only(table)
    }
    fn get_for_change<'t>(
        &'t self,
        table: &TableDef,
        _: &IndexDef,
        _: &[u8],
        _: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        by_scan_only(table)
    }
    fn change_found<'t>(
        &'t self,
        table: &TableDef,
        _: &[usize],
        _: FoundRecords,
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        by_scan_only(table)
    }
}

impl Reserve for MemoryTables {}

impl LockRows for MemoryTables {
    fn check_may_lock(&self, _: RecordLockMode) -> Result<()> {
        Ok(())
    }
    fn lock_rows(
        &self,
        table: &TableDef,
        _: &[RecordId],
        _: RecordLockMode,
        _: WaitPolicy,
    ) -> Result<Vec<u32>> {
        by_scan_only(table)
    }
}

impl References for MemoryTables {
    fn hold_periods(&self, _: &TableDef, _: &IndexDef, _: &[u8], _: &Value) -> Result<Vec<Value>> {
        Ok(Vec::new())
    }

    fn hold_key(&self, table: &TableDef, _: &IndexDef, _: &[u8]) -> Result<bool> {
        by_scan_only(table)
    }
    fn exists_beyond_snapshot(
        &self,
        _: &TableDef,
        _: &[usize],
        _: Option<(&IndexDef, Vec<KeyRange>)>,
        _: &mut dyn FnMut(&Batch) -> Result<Vec<u32>>,
    ) -> Result<bool> {
        Ok(false)
    }
    fn is_deferred(&self, _: &ConstraintDef) -> bool {
        false
    }
    fn defer(&self, constraint: &Arc<ConstraintDef>, _: &[Value], _: bool, _: Memory<'_>) -> Result<()> {
        panic!("{} is not deferred", constraint.name);
    }
    fn is_trigger_deferred(&self, _: &TriggerDef) -> bool {
        false
    }
    fn defer_trigger(&self, event: DeferredEvent, _: Memory<'_>) -> Result<()> {
        panic!("{} is not deferred", event.trigger.name);
    }
}

impl TransactionState for MemoryTables {
    fn advisory(&self, _: AdvisoryCall) -> Result<bool> {
        Err(ExecError::raised("0A000", "tables in memory have no advisory locks"))
    }
    fn export_snapshot(&self) -> Result<String> {
        Err(ExecError::raised("0A000", "tables in memory have no snapshots"))
    }
    fn transaction_id(&self, _: bool) -> Result<Option<u64>> {
        Ok(None)
    }
    fn shown_snapshot(&self) -> Result<verso_types::snapshot::Snapshot> {
        Ok(verso_types::snapshot::Snapshot::default())
    }
}

impl Sequences for MemoryTables {
    fn next_value(&self, sequence: &SequenceDef) -> Result<i64> {
        let mut sequences = self.sequences.borrow_mut();
        let value = sequences.entry(sequence.oid).or_default();
        *value += 1;
        Ok(*value)
    }
    fn set_value(&self, sequence: &SequenceDef, value: i64, is_called: bool) -> Result<()> {
        self.sequences.borrow_mut().insert(sequence.oid, if is_called { value } else { value - 1 });
        Ok(())
    }
}

impl TransactionControl for MemoryTables {
    fn begin_statement(&self) -> Result<()> {
        self.frames.borrow_mut().push((None, self.rows.lock().clone()));
        Ok(())
    }
    fn begin_row(&self) -> Result<bool> {
        Ok(false)
    }

    fn end_statement(&self) -> Result<()> {
        self.pop(false)
    }
    fn abort_statement(&self) -> Result<()> {
        self.pop(true)
    }
    fn restarts(&self) -> bool {
        false
    }
    fn hold_places(&self) -> Result<Box<dyn std::any::Any + Send>> {
        Ok(Box::new(()))
    }
    fn savepoints(&self) -> bool {
        true
    }
    fn savepoint(&self, name: &str) -> Result<()> {
        self.frames.borrow_mut().push((Some(name.to_owned()), self.rows.lock().clone()));
        Ok(())
    }
    fn rollback_to(&self, name: &str) -> Result<()> {
        let at = self.named(name);
        self.frames.borrow_mut().truncate(at + 1);
        *self.rows.lock() = self.frames.borrow()[at].1.clone();
        Ok(())
    }
    fn release(&self, name: &str) -> Result<()> {
        let at = self.named(name);
        self.frames.borrow_mut().truncate(at);
        Ok(())
    }
    fn under_outer_view(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        work()
    }
}

/// A table of these columns.
pub(crate) fn table(oid: u32, name: &str, columns: &[(&str, SqlType)]) -> Arc<TableDef> {
    let columns = columns.iter().zip(1..).map(|((name, ty), id)| ColumnDef {
        not_null: name.ends_with('!'),
        // the number is not the position, so that the two are told apart
        ..ColumnDef::new(*name, id * 10, ty.clone())
    });
    Arc::new(TableDef::new(Oid(oid), "public", name, ObjectId(oid), columns.collect()))
}

/// A session over tables in memory.
pub(crate) struct World {
    pub session: TestSession,
    pub tables: MemoryTables,
    pub catalog: Arc<CatalogSnapshot>,
    pub cancel: Arc<AtomicBool>,
}

#[derive(Default)]
struct Rows {
    types: Vec<SqlType>,
    rows: Vec<Vec<Value>>,
}

impl Sink for Rows {
    fn batch(&mut self, batch: &Batch) -> Result<()> {
        batch.check().expect("a sound batch");
        self.rows.extend((0..batch.rows).map(|row| batch.row(row, &self.types)));
        Ok(())
    }
}

impl World {
    pub fn new(build: impl FnOnce(&mut verso_catalog::SnapshotBuilder)) -> Self {
        let mut builder = CatalogSnapshot::builder(1);
        build(&mut builder);
        Self {
            session: TestSession::default(),
            tables: MemoryTables::default(),
            catalog: builder.build(),
            cancel: Arc::default(),
        }
    }

    /// Runs a statement in a frame of its own; rows and count, or SQLSTATE and message.
    pub fn run(&self, statement: &Statement, executor: Executor) -> Result<(Vec<Vec<Value>>, u64), String> {
        let services = self.session.services();
        let cx = ExecContext::new(&self.tables, &self.catalog, &[], &services, &self.cancel, executor);
        let mut rows = Rows {
            types: statement.output().into_iter().map(|column| column.ty).collect(),
            ..Rows::default()
        };
        self.tables.begin_statement().expect("frames open");
        match execute(statement, &cx, &mut rows) {
            Ok(count) => {
                self.tables.end_statement().expect("frames close");
                assert_eq!(self.tables.open_frames(), 0);
                Ok((rows.rows, count))
            }
            Err(error) => {
                self.tables.abort_statement().expect("frames close");
                assert_eq!(self.tables.open_frames(), 0);
                let Described { sqlstate, message, .. } = self.session.describe_error(&error);
                let context = match &error {
                    ExecError::InFunction { context, .. } => format!("\n{context}"),
                    _ => String::new(),
                };
                Err(format!("{sqlstate} {message}{context}"))
            }
        }
    }

    /// Rows of a query by both executors, which agree.
    pub fn query(&self, plan: crate::plan::Plan) -> Result<Vec<Vec<Value>>, String> {
        let statement = Statement::Query(plan);
        let by_rows = self.run(&statement, Executor::Row);
        let by_columns = self.run(&statement, Executor::Vector);
        assert_eq!(format!("{by_rows:?}"), format!("{by_columns:?}"));
        by_rows.map(|(rows, _)| rows)
    }
}
