//! Sequences and functions; DROP and TRUNCATE of whatever there is.

use verso_types::SqlType;

use super::{Expr, Name, QualifiedName, Span};

/// CREATE SEQUENCE; what is not given follows from the type and the direction.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSequence {
    /// Its name.
    pub name: QualifiedName,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// TEMPORARY.
    pub temporary: bool,
    /// UNLOGGED.
    pub unlogged: bool,
    /// What was given.
    pub options: SequenceOptions,
}

/// ALTER SEQUENCE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterSequence {
    /// Its name.
    pub name: QualifiedName,
    /// IF EXISTS.
    pub if_exists: bool,
    /// What was given.
    pub options: SequenceOptions,
    /// SET LOGGED, SET UNLOGGED.
    pub logged: Option<bool>,
}

/// The options of a sequence that were given. Of what has an inner `Option`, `None` there is `NO …` or `NONE`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SequenceOptions {
    /// AS smallint, integer or bigint.
    pub ty: Option<SqlType>,
    /// START WITH.
    pub start: Option<i64>,
    /// INCREMENT BY.
    pub increment: Option<i64>,
    /// MINVALUE.
    pub min: Option<Option<i64>>,
    /// MAXVALUE.
    pub max: Option<Option<i64>>,
    /// CYCLE.
    pub cycle: Option<bool>,
    /// CACHE.
    pub cache: Option<i64>,
    /// OWNED BY: a table and a column of it.
    pub owned_by: Option<Option<(QualifiedName, Name)>>,
    /// RESTART, perhaps WITH a number.
    pub restart: Option<Option<i64>>,
}

/// Which way an argument goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgMode {
    /// IN.
    In,
    /// OUT.
    Out,
    /// INOUT.
    InOut,
    /// VARIADIC.
    Variadic,
}

/// An argument of a function, in its definition.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionArg {
    /// Its name, which may be missing.
    pub name: Option<Name>,
    /// Which way it goes.
    pub mode: ArgMode,
    /// Its type.
    pub ty: RoutineType,
    /// DEFAULT, and its text.
    pub default: Option<(Expr, String)>,
    /// Where it begins, in characters.
    pub at: u32,
}

/// The type of an argument or a result.
#[derive(Clone, Debug, PartialEq)]
pub enum RoutineType {
    /// A type.
    Plain(SqlType),
    /// That of a column: `t.c%TYPE`.
    Column(Vec<Name>),
}

/// FUNCTION, PROCEDURE, or ROUTINE, which is either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutineKind {
    /// FUNCTION.
    Function,
    /// PROCEDURE.
    Procedure,
    /// ROUTINE.
    Routine,
    /// AGGREGATE.
    Aggregate,
}

impl RoutineKind {
    /// The kind of that word.
    pub fn of(word: &str) -> RoutineKind {
        match word {
            "procedure" => RoutineKind::Procedure,
            "routine" => RoutineKind::Routine,
            "aggregate" => RoutineKind::Aggregate,
            _ => RoutineKind::Function,
        }
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            RoutineKind::Function => "function",
            RoutineKind::Procedure => "procedure",
            RoutineKind::Routine => "routine",
            RoutineKind::Aggregate => "aggregate",
        }
    }
}

/// CREATE FUNCTION, CREATE PROCEDURE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateFunction {
    /// Its name.
    pub name: QualifiedName,
    /// OR REPLACE.
    pub or_replace: bool,
    /// It is a procedure.
    pub procedure: bool,
    /// The arguments.
    pub args: Vec<FunctionArg>,
    /// What it returns; none where its arguments say so, and of a procedure.
    pub returns: Option<Returns>,
    /// Its language.
    pub language: Name,
    /// Its text.
    pub body: FunctionBody,
    /// How its result may change.
    pub volatility: Volatility,
    /// NULL in, NULL out.
    pub strict: bool,
    /// SECURITY DEFINER.
    pub security_definer: bool,
    /// LEAKPROOF.
    pub leakproof: bool,
    /// COST, ROWS, PARALLEL.
    pub planning: Planning,
    /// SET: settings and their values, that of the session without one.
    pub settings: Vec<(Name, Option<String>)>,
}

/// COST, ROWS and PARALLEL of a function, where they are given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planning {
    /// COST.
    pub cost: Option<f32>,
    /// ROWS.
    pub rows: Option<f32>,
    /// PARALLEL: `u`, `r` or `s`, as PostgreSQL's `proparallel` has it.
    pub parallel: Option<char>,
}

/// CREATE AGGREGATE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateAggregate {
    /// Its name.
    pub name: QualifiedName,
    /// OR REPLACE.
    pub or_replace: bool,
    /// The arguments; none where BASETYPE says what it takes.
    pub args: Option<Vec<FunctionArg>>,
    /// What stands in parentheses behind them.
    pub options: Vec<AggregateOption>,
}

/// `name = value` of CREATE AGGREGATE.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateOption {
    /// Which.
    pub name: Name,
    /// What.
    pub value: OptionValue,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// None at all.
    None,
    /// A name.
    Name(QualifiedName),
    /// A type.
    Type(SqlType),
    /// A text or a number.
    Text(String),
}

/// RETURNS.
#[derive(Clone, Debug, PartialEq)]
pub enum Returns {
    /// RETURNS t.
    Type(RoutineType),
    /// RETURNS SETOF t.
    Set(RoutineType),
    /// RETURNS TABLE (…).
    Table(Vec<(Name, RoutineType)>),
    /// RETURNS trigger.
    Trigger,
}

/// IMMUTABLE, STABLE, VOLATILE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// Same arguments, same result, always.
    Immutable,
    /// Same within a statement.
    Stable,
    /// May change any time.
    Volatile,
}

/// The text of a function and where it starts in the statement.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionBody {
    /// The source.
    pub text: String,
    /// The literal that holds it.
    pub at: Span,
    /// Place of the text's first character where the literal has no escapes but quotes that are written twice.
    pub start: Option<u32>,
    /// Its quotes are written twice.
    pub doubled: bool,
    /// It is no literal: `RETURN …`, `BEGIN ATOMIC … END`.
    pub standard: bool,
}

/// DROP TABLE, DROP SEQUENCE, DROP INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct Drop {
    /// What kind.
    pub kind: DropKind,
    /// Which.
    pub names: Vec<QualifiedName>,
    /// IF EXISTS.
    pub if_exists: bool,
    /// CASCADE.
    pub cascade: bool,
    /// CONCURRENTLY, of indexes: others go on with the table.
    pub concurrently: bool,
}

/// What DROP removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropKind {
    /// A table.
    Table,
    /// A sequence.
    Sequence,
    /// An index.
    Index,
    /// A view.
    View,
    /// A materialized view.
    MaterializedView,
}

/// DROP FUNCTION.
#[derive(Clone, Debug, PartialEq)]
pub struct DropFunction {
    /// DROP FUNCTION, PROCEDURE or ROUTINE.
    pub kind: RoutineKind,
    /// Which.
    pub functions: Vec<(QualifiedName, Option<Vec<SqlType>>)>,
    /// IF EXISTS.
    pub if_exists: bool,
    /// CASCADE.
    pub cascade: bool,
}

/// TRUNCATE.
#[derive(Clone, Debug, PartialEq)]
pub struct Truncate {
    /// Which tables, and whether without their partitions (ONLY).
    pub tables: Vec<(QualifiedName, bool)>,
    /// RESTART IDENTITY.
    pub restart_identity: bool,
    /// CASCADE.
    pub cascade: bool,
}
