//! Queries within expressions.
//!
//! Q1. A subquery that depends on no outer value runs once per execution of its statement; one that does runs for each
//!     row, with operators compiled once, or for the first of the rows that hand in the same values ([`memo`](super::memo)).
//! Q2. What is kept lasts as long as the execution of the statement: nothing outlives a change of the tables.
//! Q3. Rows that `In` looks into and that are too many for memory are asked a part at a time, for one row around them. Where the
//!     query might say something else the next time they are kept in a file, and looked through for each row.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use verso_env::stack;
use verso_env::sync::Mutex;
use verso_types::{Array, Batch, SqlType, Value, unpadded};

use super::combine::Store;
use super::found::Places;
use super::keys::{self, KeyTable};
use super::memo::{Looked, Memo, may_keep};
use super::operator::{Operator, compile, types_of};
use super::pipeline::SEVERAL_ROWS;
use super::{ExecContext, key};
use crate::aggregate::payload;
use crate::error::{ExecError, Result};
use crate::functions::kernel::Kernel;
use crate::memory::Reservation;
use crate::plan::{ExprKind, Plan, SubqueryTest, TypedExpr};
use crate::spill::{Spool, SpoolReader};

/// What a running statement keeps, by the address of the plan, which it holds on to.
#[derive(Default)]
pub(crate) struct StatementState {
    subqueries: RefCell<ByAddress<Running>>,
    /// Rows of plans read in several places, and of the last round of recursive ones.
    pub(super) shared: RefCell<ByAddress<SharedRows>>,
    pub(super) work: RefCell<ByAddress<Arc<Spool>>>,
    /// Rows that changes in one WITH have changed, by table; kept where several of them change one table.
    changed: RefCell<Option<Places>>,
    /// How many rows of parts of tables have got a number, in the order in which they were changed.
    numbered: Cell<i64>,
    /// It changes nothing, or does not see what it changes, so what is read in several places is computed as far as it is asked
    /// for.
    on_demand: bool,
}

impl StatementState {
    /// That of a query, or of a change that begins a command.
    pub(super) fn of_query() -> StatementState {
        StatementState { on_demand: true, ..StatementState::default() }
    }

    /// Whether rows that are read in several places are computed as far as they are asked for.
    pub(super) fn is_on_demand(&self) -> bool {
        self.on_demand
    }

    /// Notes from now on which rows are changed.
    pub(super) fn watch(&self) {
        *self.changed.borrow_mut() = Some(Places::default());
    }

    /// Whether a row of a table is changed for the first time, as far as that is noted.
    pub(super) fn changes_first(&self, table: u32, place: i64) -> bool {
        self.changed.borrow_mut().as_mut().is_none_or(|changed| changed.insert(table, place))
    }

    /// The number of the first of so many rows of parts of a table that were changed now.
    pub(super) fn number(&self, rows: usize) -> i64 {
        self.numbered.replace(self.numbered.get().wrapping_add(rows as i64))
    }

    /// What is kept of the plan at this address is asked anew.
    pub(super) fn forget(&self, address: usize) {
        self.shared.borrow_mut().remove(&address);
        if let Some(running) = self.subqueries.borrow_mut().get_mut(&address) {
            running.answer = None;
            running.memo.forget();
        }
    }
}

/// Costs nothing as long as it is empty: every statement has some.
type ByAddress<T> = HashMap<usize, T, BuildHasherDefault<DefaultHasher>>;

/// Rows of a plan that is read in several places.
pub(super) struct SharedRows {
    /// Held on to, so that it keeps its address.
    pub _plan: Arc<Plan>,
    /// Values of a query around that they are for, as keys of a [`memo`](super::memo) have them.
    pub outer: Vec<u8>,
    pub store: Arc<Mutex<Store>>,
}

struct Running {
    plan: Arc<Plan>,
    types: Vec<SqlType>,
    /// Depends on no outer value, so it is asked once, as PostgreSQL does: also if it would say something else next time.
    constant: bool,
    /// It says the same each time it is asked with the same values.
    repeats: bool,
    /// Away while it runs.
    operator: Option<Box<dyn Operator>>,
    answer: Option<Answer>,
    /// Answers of one that is not constant.
    memo: Memo<Answer>,
}

/// What a subquery says.
enum Answer {
    Value(Value),
    /// For `In`.
    Members(Members),
    /// The same, too many for memory, of a query that is asked once (Q3).
    Listed(Spool),
}

/// The rows that `In` looks into, each once.
#[derive(Default)]
struct Members {
    keys: KeyTable,
    /// Rows with a NULL, which may or may not be equal.
    unknown: Vec<Vec<Value>>,
    /// The others again, where they have several columns: an argument may be NULL in one of them.
    known: Vec<Vec<Value>>,
    /// What these two hold.
    row_bytes: usize,
    rows: u64,
    /// For all of it.
    held: Option<Reservation>,
}

/// What a subquery says for one row.
pub(super) fn evaluate(
    cx: &ExecContext<'_>,
    plan: &Arc<Plan>,
    test: SubqueryTest,
    outer: &[Value],
    args: &[Value],
) -> Result<Value> {
    let Some(state) = cx.state() else {
        // An expression outside of any statement: nothing is kept.
        return evaluate(&cx.statement(&StatementState::default()), plan, test, outer, args);
    };
    stack::check()?;
    let address = Arc::as_ptr(plan).addr();
    let mut running = state.subqueries.borrow_mut().remove(&address).unwrap_or_else(|| Running {
        plan: Arc::clone(plan),
        types: types_of(plan),
        constant: outer.is_empty(),
        operator: None,
        answer: None,
        repeats: may_keep(plan),
        memo: Memo::new(!outer.is_empty() && may_keep(plan)),
    });
    let result = running.evaluate(cx, test, outer, args);
    state.subqueries.borrow_mut().insert(address, running);
    result
}

/// A condition with the values of its scalar queries that depend on no row in the place of those, as far as they are compared with
/// something in one of its conjuncts: what no row can make differ, other threads need not ask for. None where there is no such
/// query, or one of them fails: it may be that no row asks for it.
pub(super) fn answered(cx: &ExecContext<'_>, condition: &TypedExpr) -> Option<TypedExpr> {
    if cx.is_worker() || condition.is_volatile() {
        return None;
    }
    let mut any = false;
    let mut parts = condition.clone().conjuncts();
    for part in &mut parts {
        let ExprKind::Call { function, args } = &mut part.kind else { continue };
        if !matches!(function.kernel, Some(Kernel::Compare(_))) {
            continue;
        }
        for arg in args {
            let ExprKind::Subquery { plan, outer, test: SubqueryTest::Scalar, .. } = &arg.kind else {
                continue;
            };
            if outer.is_empty() {
                let value = evaluate(cx, plan, SubqueryTest::Scalar, &[], &[]).ok()?;
                *arg = TypedExpr { kind: ExprKind::Literal(value), ..arg.clone() };
                any = true;
            }
        }
    }
    if any { TypedExpr::conjunction(parts) } else { None }
}

/// Whether [`answered`] may do something.
pub(super) fn asks(condition: &TypedExpr) -> bool {
    condition.any(&mut |part| match &part.kind {
        ExprKind::Subquery { outer, test, .. } => outer.is_empty() && *test == SubqueryTest::Scalar,
        _ => false,
    })
}

impl Running {
    fn evaluate(
        &mut self,
        cx: &ExecContext<'_>,
        test: SubqueryTest,
        outer: &[Value],
        args: &[Value],
    ) -> Result<Value> {
        let ticket = match &self.answer {
            Some(answer) => return answer.of_row(cx, args, &self.types, test),
            None if self.constant => None,
            None => match self.memo.find(outer) {
                Looked::Known(answer) => {
                    note(cx, &self.plan, true);
                    return answer.of_row(cx, args, &self.types, test);
                }
                Looked::Asked(ticket) => {
                    note(cx, &self.plan, false);
                    Some(ticket)
                }
                Looked::Alone => None,
            },
        };
        let mut operator = self.operator.take().unwrap_or_else(|| compile(&self.plan, cx.executor));
        let asking = Asking { test, args, types: &self.types, repeats: self.repeats };
        let answer = asking.ask(&mut *operator, &cx.with_outer(outer));
        operator.close();
        self.operator = Some(operator);
        let answer = match answer? {
            Asked::All(answer) => answer,
            Asked::OfRow(value) => return Ok(value),
        };
        let value = answer.of_row(cx, args, &self.types, test);
        if self.constant {
            self.answer = Some(answer);
        } else if let Some(ticket) = ticket {
            let (answer, bytes) = answer.for_the_memo();
            self.memo.keep(cx, ticket, answer, bytes);
        }
        value
    }
}

/// EXPLAIN ANALYZE is told whether the answer was known.
fn note(cx: &ExecContext<'_>, plan: &Arc<Plan>, was_known: bool) {
    if let Some(probes) = cx.probes {
        probes.looked_up(Some(Arc::as_ptr(plan).addr()), was_known);
    }
}

impl Answer {
    /// What it means for a row with these arguments.
    fn of_row(
        &self,
        cx: &ExecContext<'_>,
        args: &[Value],
        types: &[SqlType],
        test: SubqueryTest,
    ) -> Result<Value> {
        match (self, test) {
            (Answer::Value(value), _) => Ok(value.clone()),
            (Answer::Members(members), SubqueryTest::In { negated }) => {
                members.contains(args, types, negated)
            }
            (Answer::Listed(rows), SubqueryTest::In { negated }) => {
                let (mut reader, mut batch) = (SpoolReader::default(), Batch::of_types(types));
                let mut before = None;
                while before != Some(Value::Bool(true)) && rows.read(&mut reader, &mut batch)? {
                    cx.check_cancelled()?;
                    let mut members = Members::default();
                    members.take(&batch, types);
                    before = Some(members.among(before, args, types)?);
                }
                Ok(negated_if(negated, before.unwrap_or(Value::Bool(false))))
            }
            _ => Ok(Value::Null),
        }
    }

    /// It and its bytes, which who keeps it charges for.
    fn for_the_memo(mut self) -> (Answer, u64) {
        let bytes = match &mut self {
            Answer::Value(value) => size_of::<Value>() + payload(value),
            Answer::Members(members) => {
                members.held = None;
                size_of::<Members>() + members.heap_bytes()
            }
            Answer::Listed(_) => 0,
        };
        (self, bytes as u64)
    }
}

/// What a subquery is asked, and for which arguments of `In`.
struct Asking<'a> {
    test: SubqueryTest,
    args: &'a [Value],
    types: &'a [SqlType],
    repeats: bool,
}

/// What it says.
enum Asked {
    /// To every row with the same values.
    All(Answer),
    /// To this one only: its rows are too many to be held.
    OfRow(Value),
}

impl Asking<'_> {
    fn ask(&self, operator: &mut dyn Operator, cx: &ExecContext<'_>) -> Result<Asked> {
        operator.open(cx)?;
        match self.test {
            SubqueryTest::In { negated } => self.members(operator, cx, negated),
            test => ask(operator, self.types, cx, test).map(Asked::All),
        }
    }

    /// Collects the rows that `In` looks into. Where they take too much memory each part of them is asked by itself, and is gone
    /// when the next one comes; the answer is that of this row then. A query that may say something else the next time is asked
    /// once, so its rows are kept besides.
    fn members(&self, operator: &mut dyn Operator, cx: &ExecContext<'_>, negated: bool) -> Result<Asked> {
        let mut batch = Batch::of_types(self.types);
        let mut members = Members::default();
        let mut held = cx.reserve("IN (subquery)");
        // Whether the argument is among the parts that are gone; NULL where that is not known.
        let mut before: Option<Value> = None;
        let among = |members: &Members, before| members.among(before, self.args, self.types);
        let mut kept = Spool::default();
        let mut fit = true;
        while before != Some(Value::Bool(true)) && operator.next(cx, &mut batch)? {
            cx.check_cancelled()?;
            if fit {
                members.take(&batch, self.types);
            }
            let bytes = members.heap_bytes() as u64;
            if !self.repeats {
                let rows = std::mem::replace(&mut batch, Batch::of_types(self.types));
                kept.push(cx.services.memory, "IN (subquery)", rows)?;
                if fit && held.try_resize(bytes).is_err() {
                    (fit, members) = (false, Members::default());
                    held.resize(0)?;
                }
            } else if held.try_resize(bytes).is_err() {
                before = Some(among(&members, before)?);
                members = Members::default();
                held.resize(0)?;
            }
        }
        if !fit {
            return Ok(Asked::All(Answer::Listed(kept)));
        }
        if before.is_none() {
            members.held = Some(held);
            return Ok(Asked::All(Answer::Members(members)));
        }
        Ok(Asked::OfRow(negated_if(negated, among(&members, before)?)))
    }
}

/// What IN says, or NOT IN.
fn negated_if(negated: bool, found: Value) -> Value {
    match found {
        Value::Bool(found) => Value::Bool(found != negated),
        other => other,
    }
}

fn ask(
    operator: &mut dyn Operator,
    types: &[SqlType],
    cx: &ExecContext<'_>,
    test: SubqueryTest,
) -> Result<Answer> {
    let mut batch = Batch::of_types(types);
    let first = |batch: &Batch, row: usize| batch.columns[0].value(row, &types[0]);
    // The next rows of a query of which so many decide.
    let next = |operator: &mut dyn Operator, batch: &mut Batch, rows: u64| {
        operator.bound(rows);
        operator.next(cx, batch)
    };
    match test {
        SubqueryTest::Exists => {
            while next(operator, &mut batch, 1)? {
                if batch.rows > 0 {
                    return Ok(Answer::Value(Value::Bool(true)));
                }
            }
            Ok(Answer::Value(Value::Bool(false)))
        }
        SubqueryTest::Scalar => {
            let mut value = None;
            while next(operator, &mut batch, 2)? {
                if batch.rows > 1 || (batch.rows == 1 && value.is_some()) {
                    return Err(ExecError::raised("21000", SEVERAL_ROWS));
                }
                if batch.rows == 1 {
                    value = Some(first(&batch, 0));
                }
            }
            Ok(Answer::Value(value.unwrap_or(Value::Null)))
        }
        SubqueryTest::Array => {
            let mut values = Vec::new();
            let mut held = cx.reserve("an array");
            let mut bytes = 0;
            while operator.next(cx, &mut batch)? {
                cx.check_cancelled()?;
                let rows = (0..batch.rows).map(|row| first(&batch, row));
                match types[0] {
                    SqlType::Char(None) => values.extend(rows.map(unpadded)),
                    _ => values.extend(rows),
                }
                bytes += batch.variable_bytes() as u64;
                // The array itself is a copy of the list.
                held.resize(bytes + 2 * (values.capacity() * size_of::<Value>()) as u64)?;
            }
            let array = match types[0] {
                SqlType::Array(_) => Array::accumulated(values)?,
                _ => values.into(),
            };
            Ok(Answer::Value(Value::Array(array)))
        }
        SubqueryTest::In { .. } => unreachable!("its rows are collected"),
    }
}

impl Members {
    /// Adds rows.
    fn take(&mut self, batch: &Batch, types: &[SqlType]) {
        let mut encoded = Vec::new();
        for row in 0..batch.rows {
            encoded.clear();
            key::encode(batch, types, row, &mut encoded);
            if !self.keys.find_or_add(keys::hash(&encoded), &encoded).1 {
                continue;
            }
            let null = batch.columns.iter().any(|column| column.is_null(row));
            if null || types.len() > 1 {
                self.row_bytes += encoded.len() + types.len() * size_of::<Value>() + size_of::<Vec<Value>>();
                let rows = if null { &mut self.unknown } else { &mut self.known };
                rows.push(batch.row(row, types));
            }
        }
        self.rows += batch.rows as u64;
    }

    fn heap_bytes(&self) -> usize {
        self.keys.heap_bytes() + self.row_bytes
    }

    /// Whether the arguments are among these rows or were among those before; NULL where that is not known.
    fn among(&self, before: Option<Value>, args: &[Value], types: &[SqlType]) -> Result<Value> {
        let now = self.contains(args, types, false)?;
        Ok(match (before, now) {
            (Some(Value::Bool(true)), _) | (_, Value::Bool(true)) => Value::Bool(true),
            (Some(Value::Null), _) | (_, Value::Null) => Value::Null,
            _ => Value::Bool(false),
        })
    }

    /// SQL's three values: NULL where a NULL decides.
    fn contains(&self, args: &[Value], types: &[SqlType], negated: bool) -> Result<Value> {
        if self.rows == 0 {
            return Ok(Value::Bool(negated));
        }
        if args.iter().any(Value::is_null) {
            let unknown = self.unknown.iter().chain(&self.known).any(|row| may_equal(row, args));
            return Ok(if args.len() == 1 || unknown { Value::Null } else { Value::Bool(negated) });
        }
        let mut row = Batch::of_types(types);
        row.push_row(args, types)?;
        let mut encoded = Vec::new();
        key::encode(&row, types, 0, &mut encoded);
        if self.keys.find(keys::hash(&encoded), &encoded).is_some() {
            return Ok(Value::Bool(!negated));
        }
        let unknown = self.unknown.iter().any(|row| may_equal(row, args));
        Ok(if unknown { Value::Null } else { Value::Bool(negated) })
    }
}

/// Whether no column tells the rows apart for certain.
fn may_equal(row: &[Value], args: &[Value]) -> bool {
    row.iter().zip(args).all(|(a, b)| a.is_null() || b.is_null() || verso_types::cmp_sql(a, b).is_eq())
}
