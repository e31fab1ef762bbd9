//! PL/pgSQL: what the body of a function says.
//!
//! Lines count from 1 at the start of the body, as PostgreSQL reports them.

use std::sync::Arc;

use verso_types::SqlType;
pub use verso_types::definition::PlDiagnostic;

use super::{
    Call, CommitWrite, DatabaseName, Direction, Expr, Name, QualifiedName, Query, Span, Statement, Step,
};

/// `[DECLARE …] BEGIN … [EXCEPTION …] END`.
#[derive(Clone, Debug, PartialEq)]
pub struct PlBlock {
    /// `<<label>>`.
    pub label: Option<Name>,
    /// DECLARE.
    pub declarations: Vec<PlDeclaration>,
    /// The statements.
    pub body: Vec<PlStatement>,
    /// EXCEPTION.
    pub handlers: Vec<PlHandler>,
    /// `#variable_conflict`, of the outermost block; without it a setting says what holds.
    pub conflict: Option<PlConflict>,
    /// `#print_strict_params`, likewise.
    pub strict_params: Option<bool>,
    /// The text, of the outermost block.
    pub source: Arc<PlSource>,
    /// Where the outermost block names databases in front of schemas.
    pub databases: Vec<DatabaseName>,
}

/// The text of a body, and what of it goes through the parser of SQL: errors point into those parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlSource {
    /// The body.
    pub text: String,
    /// Its expressions and statements.
    pub parts: Vec<PlPart>,
}

/// An expression or statement of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct PlPart {
    /// Where it stands, in characters.
    pub at: Span,
    /// Its text, where that is not what stands there: SELECT instead of PERFORM, blanks instead of INTO.
    pub text: Option<String>,
}

impl PlSource {
    /// The smallest part around a place in characters from 1, and the place within it.
    #[must_use]
    pub fn part_at(&self, position: u32) -> Option<(String, u32)> {
        let place = position.checked_sub(1)?;
        let around = self.parts.iter().filter(|part| part.at.start <= place && place <= part.at.end);
        let part = around.min_by_key(|part| part.at.end - part.at.start)?;
        let (start, length) = (part.at.start as usize, (part.at.end - part.at.start) as usize);
        let written = || self.text.chars().skip(start).take(length).collect();
        let text: String = part.text.clone().unwrap_or_else(written);
        // SELECT is shorter than PERFORM.
        let shorter = length.saturating_sub(text.chars().count()) as u32;
        let perform = part.text.as_ref().is_some_and(|text| text.starts_with("SELECT")) && shorter == 1;
        let at = place - part.at.start + 1 - u32::from(perform && place > part.at.start);
        Some((text, at))
    }
}

/// What a name means that is a variable's and a column's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlConflict {
    /// An error.
    #[default]
    Error,
    /// The column.
    Column,
    /// The variable.
    Variable,
}

/// One variable.
#[derive(Clone, Debug, PartialEq)]
pub struct PlDeclaration {
    /// Its name.
    pub name: Name,
    /// Its type: `record` of RECORD, unknown where it is that of something else.
    pub ty: SqlType,
    /// `v%TYPE`, `t.c%TYPE`, `t%ROWTYPE`, `t`: what it has the type of.
    pub like: Vec<Name>,
    /// How it is like that.
    pub alike: PlAlike,
    /// COLLATE, and where it stands.
    pub collation: Option<(QualifiedName, u32)>,
    /// CONSTANT.
    pub constant: bool,
    /// NOT NULL.
    pub not_null: bool,
    /// Its first value.
    pub default: Option<Expr>,
    /// It is a cursor of this query.
    pub cursor: Option<Box<PlCursor>>,
    /// Its line.
    pub line: u32,
}

/// `[[NO] SCROLL] CURSOR [(a t, …)] FOR query`.
#[derive(Clone, Debug, PartialEq)]
pub struct PlCursor {
    /// SCROLL or NO SCROLL, where one of them is said.
    pub scroll: Option<bool>,
    /// What OPEN gives it.
    pub args: Vec<(Name, SqlType)>,
    /// Its query, or a change with RETURNING.
    pub statement: Statement,
    /// The text of that.
    pub text: String,
}

/// An argument of OPEN, perhaps by name.
pub type PlCursorArg = (Option<Name>, Expr);

/// What a variable has the type of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlAlike {
    /// A variable or a column.
    Type,
    /// A row of a table: `t%ROWTYPE`.
    Row,
    /// A row of a table, named as a type: `t`.
    Named,
    /// It is the same variable under another name: ALIAS FOR.
    Alias,
}

/// What a value goes to: a variable or its field, perhaps behind the label of its block.
pub type PlTarget = Vec<Name>;

/// `WHEN condition OR … THEN …`.
#[derive(Clone, Debug, PartialEq)]
pub struct PlHandler {
    /// Condition names as written (lower case), or `SQLSTATE` codes.
    pub conditions: Vec<PlCondition>,
    /// What to do.
    pub body: Vec<PlStatement>,
}

/// What a handler catches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlCondition {
    /// OTHERS.
    Others,
    /// A code; one that ends in `000` stands for its class.
    Sqlstate(String),
}

/// A statement and its line.
#[derive(Clone, Debug, PartialEq)]
pub struct PlStatement {
    /// What it is.
    pub kind: PlStatementKind,
    /// Its line.
    pub line: u32,
    /// Where its first word stands, in characters.
    pub start: u32,
    /// Where its last token stands, the semicolon.
    pub end: u32,
}

/// The statements of PL/pgSQL.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are the parts of the form that the variant's comment spells out")]
pub enum PlStatementKind {
    /// A block inside.
    Block(PlBlock),
    /// `NULL;`.
    Null,
    /// `a := e`, `r.a := e`, `a[i] := e`.
    Assign { target: PlTarget, path: Vec<Step>, value: Expr },
    /// `IF … THEN … ELSIF … ELSE … END IF`, and CASE; `word` is what errors call it.
    If {
        /// The operand of `CASE e WHEN …`, and the variable that has its value in the conditions.
        operand: Option<Box<(Name, Expr)>>,
        branches: Vec<(Expr, Vec<PlStatement>)>,
        otherwise: Vec<PlStatement>,
        word: &'static str,
    },
    /// `CASE …` without a fitting branch and without ELSE: error 20000.
    CaseNotFound,
    /// `LOOP … END LOOP`.
    Loop { label: Option<Name>, body: Vec<PlStatement> },
    /// `WHILE c LOOP … END LOOP`.
    While { label: Option<Name>, condition: Expr, body: Vec<PlStatement> },
    /// `FOR i IN [REVERSE] a..b [BY c] LOOP … END LOOP`.
    ForInteger {
        label: Option<Name>,
        variable: Name,
        reverse: bool,
        from: Expr,
        to: Expr,
        by: Option<Expr>,
        body: Vec<PlStatement>,
    },
    /// `FOR a, b IN statement LOOP … END LOOP`.
    ForQuery {
        label: Option<Name>,
        targets: Vec<PlTarget>,
        statement: Box<Statement>,
        text: String,
        body: Vec<PlStatement>,
    },
    /// `FOR r IN cursor [(…)] LOOP … END LOOP`.
    ForCursor {
        label: Option<Name>,
        variable: Name,
        cursor: Name,
        args: Vec<PlCursorArg>,
        body: Vec<PlStatement>,
    },
    /// `OPEN cursor [(…)]`.
    Open { cursor: Name, args: Vec<PlCursorArg> },
    /// `OPEN cursor [[NO] SCROLL] FOR query`.
    OpenFor { cursor: Name, scroll: Option<bool>, statement: Box<Statement>, text: String },
    /// `OPEN cursor [[NO] SCROLL] FOR EXECUTE text [USING …]`.
    OpenExecute { cursor: Name, scroll: Option<bool>, text: PlDynamic },
    /// `FETCH [direction FROM] cursor INTO a, b`, `MOVE [direction FROM] cursor`; `bare` is without FROM. The number of the
    /// direction is what `count` is then, if there is one.
    Fetch { cursor: Name, bare: bool, direction: Direction, count: Option<Expr>, into: Vec<PlTarget> },
    /// `CLOSE cursor`.
    Close(Name),
    /// `FOREACH a, b [SLICE n] IN ARRAY e LOOP … END LOOP`; without SLICE it is 0.
    Foreach { label: Option<Name>, targets: Vec<PlTarget>, slice: usize, array: Expr, body: Vec<PlStatement> },
    /// `EXIT [label] [WHEN c]`.
    Exit { label: Option<Name>, when: Option<Expr> },
    /// `CONTINUE [label] [WHEN c]`.
    Continue { label: Option<Name>, when: Option<Expr> },
    /// `RETURN [e]`.
    Return(Option<Expr>),
    /// `RETURN NEXT [e]`.
    ReturnNext(Option<Expr>),
    /// `RETURN QUERY statement`.
    ReturnQuery { statement: Box<Statement>, text: String },
    /// `PERFORM query`; `text` is that of the SELECT that it stands for.
    Perform { query: Box<Query>, text: String },
    /// `GET [STACKED] DIAGNOSTICS a = item, …`.
    GetDiagnostics { stacked: bool, items: Vec<(PlTarget, PlDiagnostic)> },
    /// `EXECUTE text [INTO [STRICT] a, b] [USING …]`.
    Execute { text: PlDynamic, into: Vec<PlTarget>, strict: bool },
    /// `FOR a, b IN EXECUTE text [USING …] LOOP … END LOOP`.
    ForExecute { label: Option<Name>, targets: Vec<PlTarget>, text: PlDynamic, body: Vec<PlStatement> },
    /// `RETURN QUERY EXECUTE text [USING …]`.
    ReturnExecute(PlDynamic),
    /// `ASSERT condition [, message]`.
    Assert { condition: Expr, message: Option<Expr> },
    /// `RAISE …`; without anything it raises the error being handled again.
    Raise(PlRaise),
    /// `CALL p(…)`.
    Call(Call, String),
    /// `EXECUTE PROCEDURE f(…)`: the call of a procedure, or the query of a function; the text of either, without its first word.
    Routine { call: Call, query: Box<Query>, text: String },
    /// `COMMIT [AND CHAIN] [WRITE …]`.
    Commit { chain: bool, write: CommitWrite },
    /// `ROLLBACK [AND CHAIN]`.
    Rollback { chain: bool },
    /// A statement that the session runs: of the schema, or SHOW and its like. Its text, of which there are blanks in place
    /// of INTO.
    Define {
        /// The text.
        text: String,
        /// The statement of CREATE TABLE AS or EXPLAIN, which may name variables.
        query: Option<Box<Statement>>,
        /// What a row of it is for.
        into: Vec<PlTarget>,
        /// `INTO STRICT`.
        strict: bool,
    },
    /// `DO 'block'`, and the statement's text.
    Inline { block: String, text: String },
    /// SAVEPOINT and its like, which PL/pgSQL does not run.
    Transaction,
    /// A SQL statement, perhaps with INTO, of which there are blanks in its text.
    Sql { statement: Box<Statement>, into: Vec<PlTarget>, strict: bool, text: String },
}

/// RAISE.
#[derive(Clone, Debug, PartialEq)]
pub struct PlRaise {
    /// DEBUG … EXCEPTION; EXCEPTION where not given.
    pub level: PlLevel,
    /// The format with its `%`.
    pub format: Option<String>,
    /// What goes in.
    pub args: Vec<Expr>,
    /// The code, by name or by SQLSTATE.
    pub sqlstate: Option<String>,
    /// USING MESSAGE, DETAIL, HINT, ERRCODE.
    pub options: Vec<(PlRaiseOption, Expr)>,
}

/// Severity of RAISE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlLevel {
    /// Not shown.
    Debug,
    /// Not shown.
    Log,
    /// Shown always.
    Info,
    /// Shown.
    Notice,
    /// Shown.
    Warning,
    /// An error.
    Exception,
}

/// What USING sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlRaiseOption {
    /// The message.
    Message,
    /// The detail.
    Detail,
    /// The hint.
    Hint,
    /// The code.
    Errcode,
    /// COLUMN, CONSTRAINT, DATATYPE, TABLE, SCHEMA: what the error is about.
    About(PlDiagnostic),
}

impl PlRaiseOption {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            PlRaiseOption::Message => "MESSAGE",
            PlRaiseOption::Detail => "DETAIL",
            PlRaiseOption::Hint => "HINT",
            PlRaiseOption::Errcode => "ERRCODE",
            PlRaiseOption::About(PlDiagnostic::ColumnName) => "COLUMN",
            PlRaiseOption::About(PlDiagnostic::ConstraintName) => "CONSTRAINT",
            PlRaiseOption::About(PlDiagnostic::DatatypeName) => "DATATYPE",
            PlRaiseOption::About(PlDiagnostic::TableName) => "TABLE",
            PlRaiseOption::About(_) => "SCHEMA",
        }
    }
}

/// A statement whose text is known when it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct PlDynamic {
    /// Its text.
    pub text: Expr,
    /// The values of `$1` …
    pub using: Vec<Expr>,
    /// The statement of an EXPLAIN that stands in the body as such: the text is a literal then.
    pub explained: Option<Box<Statement>>,
}
