//! PL/pgSQL functions, bound: every variable a slot, every expression typed.
//!
//! R1. Variables live in slots `0..variables.len()`; the arguments come first. Expressions and embedded
//!     statements read slot `i` as `ExprKind::Parameter(i)`.
//! R2. NEW and OLD of a trigger are runs of slots, one per field. Any other variable of a row's type is one slot, with a row
//!     or NULL in it. What fields a RECORD has is known when it is assigned: what names it is bound when it is reached.
//! R3. Values assigned to a slot have been cast to its type (`CastKind::Assignment`) by the binder, except
//!     the columns of a query (`INTO`, `FOR … IN query`, `RETURN QUERY`), which the interpreter casts.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, FunctionDef, NamesKey};
pub use verso_types::definition::PlDiagnostic;
use verso_types::{RowType, SqlType, TimeStyle};

use super::{OutputColumn, Statement, TypedExpr};
use crate::error::ExecError;

/// A function ready to run.
#[derive(Clone, Debug)]
pub struct PlFunction {
    /// `name(argument types)`, as it stands in error contexts.
    pub signature: Arc<str>,
    /// Its oid; 0 of a block.
    pub oid: u32,
    /// It is a function in SQL: lines are numbers of statements.
    pub sql: bool,
    /// It was declared STABLE or IMMUTABLE: its statements may change nothing.
    pub read_only: bool,
    /// It is a function in SQL whose values are no rows: a row that its query yields for one is that value, as text.
    pub one_column: bool,
    /// Names of the columns that its rows have; a single value that is no row has no name.
    pub columns: Arc<[Arc<str>]>,
    /// How many of the variables are arguments.
    pub argument_count: usize,
    /// Every variable, arguments first.
    pub variables: Arc<[PlVariable]>,
    /// What it returns.
    pub returns: PlReturn,
    /// Slot of the boolean FOUND.
    pub found: Option<usize>,
    /// The outermost block.
    pub body: PlBlock,
    /// What a trigger's function is told.
    pub trigger: Option<Box<PlTrigger>>,
    /// Whether errors of INTO STRICT show the parameters; none where a setting says that.
    pub strict_params: Option<bool>,
}

/// Where the function of a trigger finds what it is called for.
#[derive(Clone, Debug)]
pub struct PlTrigger {
    /// Columns of the table.
    pub columns: usize,
    /// Those that are shown, the first ones: a row that it returns has them.
    pub shown: usize,
    /// First slot of NEW: its columns, then whether there is such a row.
    pub new: usize,
    /// The same of OLD.
    pub old: usize,
    /// Slots of TG_NAME and its relatives.
    pub facts: Vec<(usize, TriggerFact)>,
}

/// What TG_… variables say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "PostgreSQL's own words")]
pub enum TriggerFact {
    Name,
    When,
    Level,
    Op,
    Relid,
    TableName,
    TableSchema,
    Nargs,
    Argv,
    /// `NEW.tableoid`: none before the row is stored.
    NewStored,
    /// `OLD.tableoid`.
    OldStored,
}

/// A slot.
#[derive(Clone, Debug)]
pub struct PlVariable {
    /// Its name, for messages.
    pub name: Arc<str>,
    /// Its type.
    pub ty: SqlType,
    /// Assigning NULL is an error (22004).
    pub not_null: bool,
}

/// What a function returns.
#[derive(Clone, Debug, PartialEq)]
pub enum PlReturn {
    /// Nothing.
    Void,
    /// One value.
    Scalar(SqlType),
    /// A row whose columns the caller knows.
    Record,
    /// Rows of these types: `SETOF` (one column, or those of a row) or `TABLE`.
    Rows(Vec<SqlType>),
    /// Rows whose columns the caller knows.
    Records,
    /// A row of the trigger's table, or none.
    Trigger,
}

/// `[DECLARE …] BEGIN … [EXCEPTION …] END`.
#[derive(Clone, Debug, Default)]
pub struct PlBlock {
    /// Its label.
    pub label: Option<Arc<str>>,
    /// Initial values, in order, each time the block is entered.
    pub declarations: Vec<PlDeclaration>,
    /// Slots of the cursors declared here.
    pub cursors: Vec<usize>,
    /// The statements.
    pub body: Vec<PlStatement>,
    /// With handlers the body runs under a savepoint of its own.
    pub handlers: Vec<PlHandler>,
    /// Slots of SQLSTATE and SQLERRM within the handlers.
    pub error_slots: Option<(usize, usize)>,
}

/// A variable's initial value; NULL without one.
#[derive(Clone, Debug)]
pub struct PlDeclaration {
    /// The slot.
    pub slot: usize,
    /// The value.
    pub default: PlDefault,
    /// Its line.
    pub line: u32,
    /// As [`PlStatement::within`].
    pub within: Vec<PlWithin>,
}

/// The first value of a variable.
#[derive(Clone, Debug)]
pub enum PlDefault {
    /// NULL.
    Null,
    /// That of an expression.
    Value(TypedExpr),
    /// What a statement gives it: a row, or an expression that is bound when it is reached.
    Statement(Box<PlStatementKind>),
}

/// A line of an error's context that says what PostgreSQL runs or plans as a query.
#[derive(Clone, Debug)]
pub struct PlWithin {
    /// The line.
    pub line: Arc<str>,
    /// Only of an error that one of these expressions gives, which are computed in planning; any error without it.
    pub of: Option<Vec<TypedExpr>>,
}

/// `WHEN condition OR … THEN …`.
#[derive(Clone, Debug)]
pub struct PlHandler {
    /// Any of these.
    pub conditions: Vec<PlCondition>,
    /// What runs then.
    pub body: Vec<PlStatement>,
}

/// What a handler catches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlCondition {
    /// Everything but a cancelled query (57014) and a failed assertion (P0004).
    Others,
    /// This SQLSTATE; one that ends in `000` stands for its class.
    SqlState(Arc<str>),
}

/// A statement and where it stands.
#[derive(Clone, Debug)]
pub struct PlStatement {
    /// Line within the body, from 1, for error contexts.
    pub line: u32,
    /// What errors say before that, where PostgreSQL runs an expression as a query, or plans it.
    pub within: Vec<PlWithin>,
    /// An expression of it asks a query: ROW_COUNT is then the one row of that.
    pub asks: bool,
    /// What it does.
    pub kind: PlStatementKind,
}

impl PlStatement {
    /// A statement whose errors say nothing of an expression.
    pub fn new(line: u32, kind: PlStatementKind) -> PlStatement {
        PlStatement { line, within: Vec::new(), asks: false, kind }
    }
}

/// What a PL/pgSQL statement does.
#[derive(Clone, Debug)]
pub enum PlStatementKind {
    /// A statement that the session runs: of the schema, or SHOW and its like.
    Define {
        /// The text.
        text: Arc<str>,
        /// The statement of CREATE TABLE AS or EXPLAIN, over the slots.
        query: Option<Box<Statement>>,
        /// What a row of it is for.
        into: Option<PlInto>,
    },
    /// A nested block.
    Block(PlBlock),
    /// `slot := value`.
    Assign {
        /// The variable.
        slot: usize,
        /// Cast to its type.
        value: TypedExpr,
    },
    /// `row.field := value`.
    AssignField {
        /// Where it goes.
        place: PlPlace,
        /// Cast to the field's type.
        value: TypedExpr,
    },
    /// `row := value`.
    AssignRow {
        /// A row or a record.
        target: PlTargets,
        /// A row, or NULL.
        value: TypedExpr,
        /// Its columns.
        shape: Arc<RowType>,
    },
    /// `IF … ELSIF … ELSE`; also the expanded `CASE`.
    If {
        /// The slot of the operand of CASE, and its value, which the conditions are asked about.
        operand: Option<(usize, TypedExpr)>,
        /// Conditions and bodies, in order.
        branches: Vec<(TypedExpr, Vec<PlStatement>)>,
        /// `ELSE`.
        otherwise: Vec<PlStatement>,
        /// What errors call it: IF, CASE, or WHILE, of which it is the condition.
        word: &'static str,
    },
    /// `LOOP`.
    Loop {
        /// Its label.
        label: Option<Arc<str>>,
        /// The body.
        body: Vec<PlStatement>,
    },
    /// `WHILE condition LOOP`.
    While {
        /// Its label.
        label: Option<Arc<str>>,
        /// Checked before each turn.
        condition: TypedExpr,
        /// The body.
        body: Vec<PlStatement>,
    },
    /// `FOR slot IN [REVERSE] from..to [BY step] LOOP`; all integers (int4).
    ForRange {
        /// Its label.
        label: Option<Arc<str>>,
        /// The loop variable's slot, an integer.
        slot: usize,
        /// First value.
        from: TypedExpr,
        /// Last value.
        to: TypedExpr,
        /// Step; 1 without one; must be positive.
        by: Option<TypedExpr>,
        /// Counts down.
        reverse: bool,
        /// The body.
        body: Vec<PlStatement>,
    },
    /// `FOR targets IN query LOOP`.
    ForQuery {
        /// Its label.
        label: Option<Arc<str>>,
        /// The query.
        query: Box<Statement>,
        /// What takes the columns.
        targets: PlTargets,
        /// It is the query of this cursor, which is open meanwhile.
        cursor: Option<PlCursor>,
        /// The arguments of the cursor, by slot.
        args: Vec<(usize, TypedExpr)>,
        /// The body.
        body: Vec<PlStatement>,
    },
    /// `FOREACH target IN ARRAY array LOOP`.
    Foreach {
        /// Its label.
        label: Option<Arc<str>>,
        /// What takes the elements.
        targets: PlTargets,
        /// How many dimensions each slice has; 0 for elements.
        slice: usize,
        /// The array.
        array: TypedExpr,
        /// The type of its elements.
        element: SqlType,
        /// The body.
        body: Vec<PlStatement>,
    },
    /// `EXIT [label] [WHEN …]`.
    Exit {
        /// Which loop or block; the innermost loop without one.
        label: Option<Arc<str>>,
        /// Only if true.
        when: Option<TypedExpr>,
    },
    /// `CONTINUE [label] [WHEN …]`.
    Continue {
        /// Which loop; the innermost without one.
        label: Option<Arc<str>>,
        /// Only if true.
        when: Option<TypedExpr>,
    },
    /// RETURN with a value that is cast to what the function returns when it has returned.
    ReturnCast {
        /// The value.
        value: TypedExpr,
        /// Its type.
        from: SqlType,
        /// What the function returns.
        to: SqlType,
    },
    /// `RETURN [value]`.
    Return {
        /// Cast to the result type; none for VOID and sets.
        value: Option<TypedExpr>,
    },
    /// `RETURN` of a row.
    ReturnComposite {
        /// The row, or NULL.
        value: TypedExpr,
        /// Its columns.
        shape: Arc<RowType>,
        /// What the function declares; the row's own where it declares nothing.
        types: Option<Arc<RowType>>,
    },
    /// `RETURN NEXT` of a row.
    ReturnNextComposite {
        /// The row, or NULL.
        value: TypedExpr,
        /// Its columns.
        shape: Arc<RowType>,
    },
    /// `RETURN` of a trigger.
    ReturnRow {
        /// First slot of a record of the table's columns, with a mark behind it whether it is a row; none is NULL.
        record: Option<usize>,
    },
    /// `RETURN` of a trigger, of a row that is neither NEW nor OLD.
    ReturnRowValue {
        /// The row, or NULL.
        value: TypedExpr,
        /// Its columns.
        shape: Arc<RowType>,
    },
    /// A statement that is bound when it is reached: it could not be before.
    Later(Arc<PlLater>),
    /// `RETURN NEXT`: one row.
    ReturnNext {
        /// One per result column, cast to its type. (For TABLE functions the binder passes the variables.)
        values: Vec<TypedExpr>,
    },
    /// `RETURN QUERY`.
    ReturnQuery {
        /// The query.
        query: Box<Statement>,
        /// Its text, for errors; none in a function in SQL.
        text: Option<Arc<str>>,
    },
    /// An SQL statement, also `PERFORM` (rows are dropped) and `SELECT … INTO`.
    Sql {
        /// The statement.
        statement: Box<Statement>,
        /// Where the first row goes.
        into: Option<PlInto>,
        /// Its text, for errors; none in a function in SQL.
        text: Option<Arc<str>>,
        /// It is a PERFORM.
        perform: bool,
    },
    /// `RAISE`.
    Raise {
        /// How serious.
        level: RaiseLevel,
        /// The message with `%` for each argument and `%%` for a percent sign; the code without one.
        format: Option<Arc<str>>,
        /// The arguments, cast to text.
        args: Vec<TypedExpr>,
        /// The only argument is `MESSAGE`, which may not be NULL.
        by_option: bool,
        /// The code; P0001 without one.
        sqlstate: Option<Arc<str>>,
        /// `ERRCODE`, a text: five characters, or the name of a condition.
        errcode: Option<TypedExpr>,
        /// `DETAIL`, a text.
        detail: Option<TypedExpr>,
        /// `HINT`, a text.
        hint: Option<TypedExpr>,
        /// `COLUMN`, `CONSTRAINT`, `DATATYPE`, `TABLE`, `SCHEMA`, texts.
        about: Vec<(PlDiagnostic, TypedExpr)>,
    },
    /// `RAISE` without anything, within a handler: the caught error again.
    Reraise,
    /// `GET [STACKED] DIAGNOSTICS target = item, …`.
    GetDiagnostics {
        /// What goes where.
        items: Vec<(PlDiagnostic, PlPlace)>,
    },
    /// `EXECUTE`.
    Execute {
        /// What runs.
        text: PlDynamic,
        /// Where the first row goes.
        into: Option<PlInto>,
    },
    /// `FOR targets IN EXECUTE … LOOP`.
    ForExecute {
        /// Its label.
        label: Option<Arc<str>>,
        /// What runs.
        text: PlDynamic,
        /// What takes the columns.
        targets: PlTargets,
        /// The body.
        body: Vec<PlStatement>,
    },
    /// `RETURN QUERY EXECUTE`.
    ReturnExecute {
        /// What runs.
        text: PlDynamic,
    },
    /// `OPEN`.
    Open {
        /// The cursor.
        cursor: PlCursor,
        /// Slots of its arguments and their values.
        args: Vec<(usize, TypedExpr)>,
        /// Its query.
        query: Box<Statement>,
        /// The text of the query.
        text: Arc<str>,
        /// SCROLL or NO SCROLL, where one of them is said.
        scroll: Option<bool>,
    },
    /// `OPEN … FOR EXECUTE`.
    OpenExecute {
        /// The cursor.
        cursor: PlCursor,
        /// What runs.
        text: PlDynamic,
        /// SCROLL or NO SCROLL, where one of them is said.
        scroll: Option<bool>,
    },
    /// `FETCH`, and without targets `MOVE`.
    Fetch {
        /// The cursor.
        cursor: PlCursor,
        /// Which row.
        movement: Movement,
        /// The number in the movement, where an expression gives it.
        count: Option<TypedExpr>,
        /// What takes its columns.
        targets: Option<PlTargets>,
    },
    /// A statement that begins, marks or ends a transaction in a way that bodies do not (0A000).
    Refused,
    /// `CLOSE`.
    Close {
        /// The cursor.
        cursor: PlCursor,
    },
    /// `ASSERT`.
    Assert {
        /// What has to hold.
        condition: TypedExpr,
        /// What is said where it does not, a text.
        message: Option<TypedExpr>,
    },
    /// `CALL`.
    Call {
        /// The procedure.
        function: Arc<FunctionDef>,
        /// Its arguments; those that only go out are NULL.
        args: Vec<TypedExpr>,
        /// Which arguments come back, and what they go to.
        out: Vec<(usize, PlPlace)>,
        /// The statement, as errors name it.
        text: Arc<str>,
    },
    /// `COMMIT`, where that may be done (2D000).
    Commit {
        /// `AND CHAIN`: the next transaction has the modes of this one.
        chain: bool,
        /// `WRITE`.
        write: CommitWrite,
    },
    /// `ROLLBACK`, likewise.
    Rollback {
        /// `AND CHAIN`.
        chain: bool,
    },
    /// `NULL`.
    Nothing,
}

/// `WRITE [WAIT | NOWAIT] [IMMEDIATE | BATCH]` of a COMMIT; what is not given follows from the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitWrite {
    /// WAIT (true), NOWAIT (false).
    pub wait: Option<bool>,
    /// BATCH (true), IMMEDIATE (false).
    pub batch: Option<bool>,
}

/// A cursor of a function.
#[derive(Clone, Debug)]
pub struct PlCursor {
    /// The slot that it has among the variables: the name of the open cursor is in it, or NULL.
    pub slot: usize,
    /// Its name.
    pub name: Arc<str>,
}

/// Where FETCH and MOVE go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    /// So many rows on, or back if negative; to the end without a number.
    Forward(Option<i64>),
    /// The other way.
    Backward(Option<i64>),
    /// To the row of that number, from the end if negative.
    Absolute(i64),
    /// To the row that far ahead.
    Relative(i64),
}

impl Movement {
    /// The same with another number.
    #[must_use]
    pub fn with_count(self, count: i64) -> Movement {
        match self {
            Movement::Forward(_) => Movement::Forward(Some(count)),
            Movement::Backward(_) => Movement::Backward(Some(count)),
            Movement::Absolute(_) => Movement::Absolute(count),
            Movement::Relative(_) => Movement::Relative(count),
        }
    }
}

/// What takes the columns of a row.
#[derive(Clone, Debug)]
pub enum PlTargets {
    /// One each; where there are fewer columns the others become NULL, further columns are dropped.
    Places(Vec<PlPlace>),
    /// The fields of a row.
    Row {
        /// The variable.
        slot: usize,
        /// Types of its fields.
        types: Vec<SqlType>,
    },
    /// A RECORD, which then has these columns.
    Record {
        /// The variable.
        slot: usize,
    },
    /// NEW or OLD of a trigger: a slot for each column, and one that says that there is a row.
    TriggerRow {
        /// The slot of the first column.
        first: usize,
        /// Types of the columns.
        types: Vec<SqlType>,
    },
}

/// A variable, or a field of one.
#[derive(Clone, Debug)]
pub struct PlPlace {
    /// The variable.
    pub slot: usize,
    /// Which of how many fields it is.
    pub field: Option<(usize, usize)>,
    /// Its type.
    pub ty: SqlType,
}

/// A statement that is bound when it is reached, with the fields that records have then.
#[derive(Debug)]
pub struct PlLater {
    /// What it is, for the error's context.
    pub name: &'static str,
    /// The RECORD variables in scope.
    pub records: Vec<usize>,
    /// The statement.
    pub unbound: Box<dyn Unbound>,
    /// What it is bound to where the catalog is this one, whichever fields records have: its variables are those around it.
    pub bound: Option<(NamesKey, LateBound)>,
}

/// A statement that the binder has put off.
pub trait Unbound: std::fmt::Debug + Send + Sync {
    /// Binds it.
    ///
    /// # Errors
    /// Those of binding.
    fn bind(
        &self,
        shapes: &[Option<Arc<RowType>>],
        catalog: &Arc<CatalogSnapshot>,
        time_zone: &TimeStyle,
    ) -> Result<LateBound, ExecError>;
}

/// A statement bound when it was reached.
#[derive(Debug)]
pub struct LateBound {
    /// The statement.
    pub kind: PlStatementKind,
    /// As [`PlStatement::within`].
    pub within: Vec<PlWithin>,
    /// As [`PlStatement::asks`].
    pub asks: bool,
    /// Every variable that it knows.
    pub variables: Arc<[PlVariable]>,
}

/// `INTO [STRICT] targets`.
#[derive(Clone, Debug)]
pub struct PlInto {
    /// What takes the columns.
    pub targets: PlTargets,
    /// No row (P0002) or a second one (P0003) is an error.
    pub strict: bool,
    /// The slots that the statement reads, where it is strict: errors may show what is in them.
    pub params: Vec<usize>,
}

/// Levels of `RAISE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "PostgreSQL's own words")]
pub enum RaiseLevel {
    Debug,
    Log,
    Info,
    Notice,
    Warning,
    Exception,
}

/// A statement whose text is known when it runs.
#[derive(Clone, Debug)]
pub struct PlDynamic {
    /// Its text.
    pub text: TypedExpr,
    /// The values of `$1` …
    pub using: Vec<TypedExpr>,
    /// The transition tables that it may name, in the function of a trigger.
    pub transitions: Vec<TransitionTable>,
    /// The statement of an EXPLAIN that stands in the body as such, bound to the variables.
    pub explained: Option<Box<Statement>>,
}

/// The rows of a trigger's statement under a name.
#[derive(Clone, Debug)]
pub struct TransitionTable {
    /// The name.
    pub name: Arc<str>,
    /// NEW TABLE, or OLD TABLE.
    pub new: bool,
    /// Its columns.
    pub columns: Vec<OutputColumn>,
}
