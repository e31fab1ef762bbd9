//! Columns that rows have beside those of their table, and that no `*` shows:
//!
//! | name | what it is |
//! |---|---|
//! | `tableoid` | the number of the table that the row is stored in, of a partitioned table that of a partition |
//! | `ctid` | the place of the row; it stays as long as the row lives, and is given to another one then |
//! | `xmin` | the lower half of the number of the transaction that has written the version which the statement sees |
//! | `xmax` | 0; in RETURNING of INSERT … ON CONFLICT DO UPDATE not, where the row was there |
//! | `_xid` | the number of the transaction that has written that version |
//!
//! A statement is bound without them, and once more where one was missed: rows of tables then have it as a column behind the
//! others. Of rows that change, the query that finds them yields it.

use std::sync::Arc;

use verso_catalog::{Oid, TableDef};
use verso_exec::functions::operator_candidates;
use verso_exec::plan::{ExprKind, OutputColumn, PLACE, Plan, RECORD_COLUMN, TypedExpr};
use verso_types::{SqlType, SystemType, Value};

use super::Binder;
use super::returning::Returned;
use super::scope::Scope;
use super::walk::map_columns;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::Statement;

/// What the number of its table is called among the columns of a row that is no table's, such as OLD and NEW.
pub(super) const ROW_TABLE: &str = "\0table of the row";

/// Something that rows have beside their columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowNumber {
    /// The number of the table.
    Table,
    /// That of the transaction.
    Writer,
    /// The place.
    Place,
    /// The lower half of the transaction's number.
    Xmin,
    /// Whether the row was there.
    Xmax,
}

impl RowNumber {
    const ALL: [RowNumber; 5] =
        [RowNumber::Table, RowNumber::Writer, RowNumber::Place, RowNumber::Xmin, RowNumber::Xmax];

    /// What statements call it.
    pub(super) fn name(self) -> &'static str {
        &self.column()[1..]
    }

    /// What the column is called among those of a scope: no name of a user's column.
    pub(super) fn column(self) -> &'static str {
        match self {
            RowNumber::Table => "\0tableoid",
            RowNumber::Writer => "\0_xid",
            RowNumber::Place => "\0ctid",
            RowNumber::Xmin => "\0xmin",
            RowNumber::Xmax => "\0xmax",
        }
    }

    /// The one whose column among those of a scope is called so.
    pub(super) fn of_column(name: &str) -> Option<RowNumber> {
        RowNumber::ALL.into_iter().find(|number| number.column() == name)
    }

    fn ty(self) -> SqlType {
        match self {
            RowNumber::Table => SqlType::Oid,
            RowNumber::Writer => SqlType::Int8,
            RowNumber::Place => SqlType::System(SystemType::Tid),
            RowNumber::Xmin | RowNumber::Xmax => SqlType::System(SystemType::Xid),
        }
    }

    /// Of a row of a table, whose place is at hand.
    fn of_row(self, table: &TableDef, place: &TypedExpr) -> TypedExpr {
        let oid = Value::Int8(table.oid.0.into());
        let asked = || vec![TypedExpr::literal(oid.clone(), SqlType::Int8), place.clone()];
        match self {
            RowNumber::Table => TypedExpr::literal(oid, SqlType::Oid),
            RowNumber::Writer => call("row writer", asked(), self.ty()),
            RowNumber::Xmin => call("row xmin", asked(), self.ty()),
            RowNumber::Place => call(PLACE, vec![place.clone()], self.ty()),
            RowNumber::Xmax => TypedExpr::literal(Value::Int8(0), self.ty()),
        }
    }

    /// Of a row that the statement has written, where that says more than the one before.
    fn of_written(self) -> Option<TypedExpr> {
        match self {
            RowNumber::Writer => Some(call("own writer", Vec::new(), self.ty())),
            RowNumber::Xmin => Some(call("own xmin", Vec::new(), self.ty())),
            RowNumber::Table | RowNumber::Place | RowNumber::Xmax => None,
        }
    }
}

fn call(operator: &str, args: Vec<TypedExpr>, ty: SqlType) -> TypedExpr {
    match operator_candidates(operator).first() {
        Some(function) => TypedExpr::new(ExprKind::Call { function, args }, ty),
        None => TypedExpr::null(ty),
    }
}

/// Which of them a statement is bound with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RowNumbers(u8);

impl RowNumbers {
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn has(self, number: RowNumber) -> bool {
        self.0 & 1 << number as u8 != 0
    }

    #[must_use]
    pub(super) fn with(self, number: RowNumber) -> RowNumbers {
        RowNumbers(self.0 | 1 << number as u8)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = RowNumber> {
        RowNumber::ALL.into_iter().filter(move |number| self.has(*number))
    }

    pub(super) fn count(self) -> usize {
        self.iter().count()
    }

    /// Adds them to the columns of the one table of a scope, behind its own.
    pub(super) fn add_to(self, scope: &mut Scope) {
        scope.columns.extend(self.iter().map(|number| (Arc::from(number.column()), number.ty())));
    }

    /// The columns of the rows to change of a table, their places and these, over the first two.
    pub(super) fn found(self, plan: Plan, table: &TableDef) -> Plan {
        let own = table.columns.len();
        let place = TypedExpr::column(own, SqlType::Int8);
        let columns = table.columns.iter().enumerate();
        let mut exprs: Vec<TypedExpr> =
            columns.map(|(at, column)| TypedExpr::column(at, column.seen())).collect();
        exprs.push(place.clone());
        exprs.extend(self.iter().map(|number| number.of_row(table, &place)));
        let names = table.columns.iter().map(|column| Arc::clone(&column.name)).chain(["".into()]);
        let names = names.chain(self.iter().map(|number| number.column().into())).collect();
        Plan::Project { input: Box::new(plan), exprs, names }
    }

    /// The one that a column of a change's scope is, over `own` columns of its table.
    fn of_place(self, own: usize, returned: Returned) -> Option<RowNumber> {
        match returned {
            Returned::Other(column) | Returned::New(column) => self.iter().nth(column.checked_sub(own)?),
            _ => None,
        }
    }

    /// What stands for it in RETURNING of an UPDATE of a table of `own` columns.
    pub(super) fn updated(self, own: usize, returned: Returned) -> Option<TypedExpr> {
        self.of_place(own, returned)?.of_written()
    }

    /// The same of an INSERT, whose rows may have those that they `met` behind theirs.
    pub(super) fn inserted(self, table: &TableDef, returned: Returned, met: bool) -> Option<TypedExpr> {
        let number = self.of_place(table.columns.len(), returned)?;
        let none = TypedExpr::null(SqlType::Int8);
        if number != RowNumber::Xmax {
            return Some(number.of_written().unwrap_or_else(|| number.of_row(table, &none)));
        }
        let fresh = number.of_row(table, &none);
        if !met {
            return Some(fresh);
        }
        // Behind the row that was met is the mark that there was one.
        let mark = TypedExpr::column(2 * table.columns.len(), SqlType::Bool);
        let absent = TypedExpr::new(ExprKind::IsNull { arg: Box::new(mark), negated: false }, SqlType::Bool);
        let written = RowNumber::Xmin.of_written().unwrap_or_else(|| fresh.clone());
        let kind = ExprKind::Case { branches: vec![(absent, fresh)], otherwise: Some(Box::new(written)) };
        Some(TypedExpr::new(kind, number.ty()))
    }
}

impl Binder<'_> {
    /// Binds a text without them, as few texts ask for them, and once more with each that it turns out to name.
    pub(super) fn as_numbered<T>(
        &self,
        bind: &dyn Fn(&Binder<'_>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let mut bound = bind(self);
        let mut numbered = self.numbered;
        while let Err(error) = &bound
            && let Some(number) = missing(error).filter(|number| !numbered.has(*number))
        {
            numbered = numbered.with(number);
            bound = bind(&Binder { numbered, ..self.clone() });
        }
        bound
    }
}

/// Adds the number of the one table of a scope behind its columns: what is kept of a table's rows may ask for that, and for
/// nothing else that rows have beside their columns.
pub(super) fn with_own_number(mut scope: Scope) -> Scope {
    scope.columns.push((RowNumber::Table.column().into(), SqlType::Oid));
    scope
}

/// Puts the number of a table in the place of the column that [`with_own_number`] has added behind its `own` ones.
pub(super) fn settle_own_number(expr: &mut TypedExpr, own: usize, table: Oid) {
    match expr.kind {
        ExprKind::Column(at) if at == own => {
            *expr = TypedExpr::literal(Value::Int8(table.0.into()), SqlType::Oid);
        }
        _ => expr.for_each_child_mut(&mut |part| settle_own_number(part, own, table)),
    }
}

/// What rows have beside their columns, where an error says that there is no such column.
fn unfound(error: &SqlError) -> Option<&'static str> {
    let uncounted =
        |name: &&str| error.message.strip_prefix("the system column ").is_some_and(|it| it.starts_with(name));
    let known = missing(error).map(RowNumber::name);
    known.or_else(|| ["cmin", "cmax"].into_iter().find(uncounted)).filter(|name| *name != "_xid")
}

/// Whether an error says that there is no column of the name of something that rows have beside their columns.
pub(super) fn is_misplaced(error: &SqlError) -> bool {
    unfound(error).is_some()
}

/// Such an error in the words of its clause, which `say` finds for the name.
pub(super) fn misplaced(error: SqlError, say: impl Fn(&str) -> SqlError) -> SqlError {
    match unfound(&error) {
        Some(name) => SqlError { position: error.position, ..say(name) },
        None => error,
    }
}

/// Which of them a statement could not be bound without.
pub(super) fn missing(error: &SqlError) -> Option<RowNumber> {
    let named =
        error.message.strip_prefix("column ").and_then(|text| text.strip_suffix(" does not exist"))?;
    let names = |number: &RowNumber| {
        let name = number.name();
        named.trim_matches('"') == name || named.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
    };
    RowNumber::ALL.into_iter().filter(|_| error.sqlstate == sqlstate::UNDEFINED_COLUMN).find(names)
}

/// The error of a statement that was bound with them: some changes of rows do not have them.
pub(super) fn refused(error: SqlError, statement: &Statement) -> SqlError {
    match statement {
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_)
            if let Some(number) = missing(&error) =>
        {
            let what = format!("{} of the table whose rows change", number.name());
            SqlError { position: error.position, ..SqlError::unsupported(&what) }
        }
        _ => error,
    }
}

/// The rows of a table with these behind the columns that are shown, and behind the place, where rows are locked; the table.
/// Of the rows that policies show only those. None for plans that are no scan of a whole table.
pub(super) fn numbered(plan: &Plan, numbers: RowNumbers, locked: bool) -> Option<(Plan, Arc<TableDef>)> {
    let (scan, policy) = match plan {
        Plan::Filter { input, predicate } => (&**input, Some(predicate)),
        plan => (plan, None),
    };
    let Plan::TableScan { table, columns, filter: None } = scan else { return None };
    let all = 0..table.columns.len();
    if locked {
        // The version that is locked is the one that is read: where another one is there by then, the query begins again.
        if table.partitioned.is_some() || !columns.iter().copied().eq(all.chain([RECORD_COLUMN])) {
            return None;
        }
        return Some((leaf_of(table, Arc::clone(table), policy, numbers, true), Arc::clone(table)));
    }
    if !columns.iter().copied().eq(all) {
        return None;
    }
    let leaves = table.leaves();
    let of_leaf = |leaf| leaf_of(table, leaf, policy, numbers, false);
    let mut inputs: Vec<Plan> = leaves.into_iter().map(of_leaf).collect();
    let plan = match inputs.len() {
        0 => {
            let shown = table.shown().iter();
            let shown = shown.map(|column| OutputColumn::new(Arc::clone(&column.name), column.seen()));
            let numbers = numbers.iter().map(|number| OutputColumn::new(number.column(), number.ty()));
            Plan::Values { rows: Vec::new(), columns: shown.chain(numbers).collect() }
        }
        1 => inputs.remove(0),
        _ => Plan::Append { inputs, pruning: None },
    };
    Some((plan, Arc::clone(table)))
}

/// The rows of one that has rows itself, with the columns of the whole table, over which the policy's condition is.
fn leaf_of(
    whole: &TableDef,
    leaf: Arc<TableDef>,
    policy: Option<&TypedExpr>,
    numbers: RowNumbers,
    locked: bool,
) -> Plan {
    let column = |column: &verso_catalog::ColumnDef| {
        TypedExpr::column(leaf.column(&column.name).unwrap_or_default(), column.seen())
    };
    let mut columns: Vec<usize> = (0..leaf.columns.len()).collect();
    let place = TypedExpr::column(columns.len(), SqlType::Int8);
    if locked || numbers.iter().any(|number| number != RowNumber::Table && number != RowNumber::Xmax) {
        columns.push(RECORD_COLUMN);
    }
    let shown = if locked { &whole.columns[..] } else { whole.shown() };
    let mut exprs: Vec<TypedExpr> = shown.iter().map(column).collect();
    let mut names: Vec<Arc<str>> = shown.iter().map(|column| Arc::clone(&column.name)).collect();
    if locked {
        exprs.push(place.clone());
        names.push("".into());
    }
    exprs.extend(numbers.iter().map(|number| number.of_row(&leaf, &place)));
    names.extend(numbers.iter().map(|number| Arc::from(number.column())));
    let policy = policy.cloned().map(|mut condition| {
        let known = |at: usize| whole.columns.get(at).and_then(|column| leaf.column(&column.name));
        map_columns(&mut condition, &mut |at| known(at).unwrap_or(at));
        condition
    });
    let mut plan = Plan::TableScan { table: leaf.into(), columns, filter: None };
    if let Some(predicate) = policy {
        plan = Plan::Filter { input: Box::new(plan), predicate };
    }
    Plan::Project { input: Box::new(plan), exprs, names }
}
