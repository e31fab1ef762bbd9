//! What a statement may do, told from its syntax or its plan before it runs.

use verso_exec::plan::Plan;

use super::NamedStatements;
use crate::settings::LogStatement;
use verso_catalog::{CatalogSnapshot, is_temporary};
use verso_parser::syntax::RoutineKind;
use verso_parser::syntax::{
    CastStatement, CollationStatement, Copy, CopyWhat, DatabaseStatement, Discarded, DropKind,
    ExtensionStatement, FromItem, FromSource, OperatorStatement, QualifiedName, QueryBody, RightsStatement,
    RoleStatement, SchemaStatement, Statement, StatisticsStatement, TypeStatement, ViewStatement,
};
use verso_planner::errors::{SqlError, sqlstate};

/// With which `log_statement` a statement is logged, as in PostgreSQL. What a prepared statement is tells its name.
pub(crate) fn log_class(statement: &Statement, named: &NamedStatements) -> LogStatement {
    match statement {
        Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_)
        | Statement::Truncate(_)
        | Statement::Flashback(_) => LogStatement::Mod,
        Statement::Copy(copy) if copy.from => LogStatement::Mod,
        Statement::Copy(_)
        | Statement::Query(_)
        | Statement::Reindex(_)
        | Statement::LockTable(_)
        | Statement::SetConstraints(_)
        | Statement::Listen(_)
        | Statement::Notify(..)
        | Statement::Unlisten(_)
        | Statement::Analyze(_) => LogStatement::All,
        Statement::Prepare(prepare) => log_class(&prepare.statement.statement, named),
        Statement::Execute { name, .. } => {
            let prepared = named.get(&name.text).ok();
            let prepared = prepared.as_ref().and_then(|known| known.parsed.as_ref());
            // What is prepared is no EXECUTE.
            let inner = prepared.map(|parsed| &parsed.statement);
            let inner = inner.filter(|inner| !matches!(inner, Statement::Execute { .. }));
            inner.map_or(LogStatement::All, |inner| log_class(inner, named))
        }
        Statement::Explain { options, statement, .. } if options.analyze => log_class(statement, named),
        other if other.defines() || changes(other).is_some() => LogStatement::Ddl,
        _ => LogStatement::All,
    }
}

/// The word for what a statement changes in the database; none for those that only read.
pub(crate) fn changes(statement: &Statement) -> Option<&'static str> {
    Some(match statement {
        Statement::Insert(_) => "INSERT",
        Statement::Update(_) => "UPDATE",
        Statement::Delete(_) => "DELETE",
        Statement::Merge(_) => "MERGE",
        Statement::Flashback(_) => "FLASHBACK TABLE",
        Statement::Query(query) if query.changes_rows() => "SELECT",
        Statement::CreateTable(_) => "CREATE TABLE",
        Statement::CreateTableAs(_) => "CREATE TABLE AS",
        Statement::CreateSequence(_) => "CREATE SEQUENCE",
        Statement::AlterSequence(_) => "ALTER SEQUENCE",
        Statement::CreateFunction(_) => "CREATE FUNCTION",
        Statement::CreateAggregate(_) => "CREATE AGGREGATE",
        Statement::CreateTrigger(_) => "CREATE TRIGGER",
        Statement::DropTrigger(_) => "DROP TRIGGER",
        Statement::RenameTrigger(_) => "ALTER TRIGGER",
        Statement::Drop(drop) => match drop.kind {
            DropKind::Table => "DROP TABLE",
            DropKind::Sequence => "DROP SEQUENCE",
            DropKind::Index => "DROP INDEX",
            DropKind::View => "DROP VIEW",
            DropKind::MaterializedView => "DROP MATERIALIZED VIEW",
        },
        Statement::DropFunction(drop) if drop.kind == RoutineKind::Procedure => "DROP PROCEDURE",
        Statement::DropFunction(drop) if drop.kind == RoutineKind::Routine => "DROP ROUTINE",
        Statement::DropFunction(drop) if drop.kind == RoutineKind::Aggregate => "DROP AGGREGATE",
        Statement::DropFunction(_) => "DROP FUNCTION",
        Statement::Truncate(_) => "TRUNCATE TABLE",
        Statement::Copy(copy) if copy.from => "COPY FROM",
        Statement::Copy(Copy { what: CopyWhat::Query(rows), .. }) => return changes(rows),
        Statement::Role(role) => match role {
            RoleStatement::Create { .. } => "CREATE ROLE",
            RoleStatement::Alter { .. } | RoleStatement::Setting { .. } => "ALTER ROLE",
            RoleStatement::Drop { .. } => "DROP ROLE",
        },
        Statement::Rights(statement) => match statement {
            RightsStatement::Grant(grant) if grant.revoke => "REVOKE",
            RightsStatement::Grant(_) => "GRANT",
            RightsStatement::GrantRole(grant) if grant.group => "ALTER ROLE",
            RightsStatement::GrantRole(grant) if grant.revoke => "REVOKE ROLE",
            RightsStatement::GrantRole(_) => "GRANT ROLE",
            RightsStatement::Default { .. } => "ALTER DEFAULT PRIVILEGES",
            RightsStatement::Owner { .. } => "ALTER OWNER",
            RightsStatement::Reassign { .. } => "REASSIGN OWNED",
            RightsStatement::DropOwned { .. } => "DROP OWNED",
            RightsStatement::CreatePolicy(_) => "CREATE POLICY",
            RightsStatement::AlterPolicy(_) | RightsStatement::RenamePolicy { .. } => "ALTER POLICY",
            RightsStatement::DropPolicy { .. } => "DROP POLICY",
        },
        Statement::Type(statement) => match statement {
            TypeStatement::CreateEnum { .. }
            | TypeStatement::CreateComposite { .. }
            | TypeStatement::CreateRange { .. } => "CREATE TYPE",
            TypeStatement::DropAbsent(drop) => drop.kind.tag(),
            TypeStatement::CreateDomain(_) => "CREATE DOMAIN",
            TypeStatement::Collation(CollationStatement::Create { .. }) => "CREATE COLLATION",
            TypeStatement::Collation(CollationStatement::Drop { .. }) => "DROP COLLATION",
            TypeStatement::Collation(_) => "ALTER COLLATION",
            TypeStatement::Statistics(StatisticsStatement::Create { .. }) => "CREATE STATISTICS",
            TypeStatement::Statistics(StatisticsStatement::Drop { .. }) => "DROP STATISTICS",
            TypeStatement::Statistics(_) => "ALTER STATISTICS",
            TypeStatement::Operator(OperatorStatement::Create { .. }) => "CREATE OPERATOR",
            TypeStatement::Operator(OperatorStatement::Move { .. }) => "ALTER OPERATOR",
            TypeStatement::Operator(_) => "DROP OPERATOR",
            TypeStatement::Cast(CastStatement::Create { .. }) => "CREATE CAST",
            TypeStatement::Cast(_) => "DROP CAST",
            TypeStatement::Extension(ExtensionStatement::Create { .. }) => "CREATE EXTENSION",
            TypeStatement::Extension(ExtensionStatement::Drop { .. }) => "DROP EXTENSION",
            TypeStatement::Extension(_) => "ALTER EXTENSION",
            TypeStatement::AlterDomain { .. }
            | TypeStatement::Rename { domain: true, .. }
            | TypeStatement::Move { domain: true, .. } => "ALTER DOMAIN",
            TypeStatement::Drop { domain: true, .. } => "DROP DOMAIN",
            TypeStatement::Drop { .. } => "DROP TYPE",
            _ => "ALTER TYPE",
        },
        Statement::Schema(schema) => match schema {
            SchemaStatement::Create { .. } => "CREATE SCHEMA",
            SchemaStatement::Rename { .. } | SchemaStatement::Owner { .. } => "ALTER SCHEMA",
            SchemaStatement::Drop { .. } => "DROP SCHEMA",
            SchemaStatement::Move { .. } => "ALTER TABLE",
            SchemaStatement::AlterFunction { kind, .. } => match kind {
                RoutineKind::Function => "ALTER FUNCTION",
                RoutineKind::Procedure => "ALTER PROCEDURE",
                RoutineKind::Routine => "ALTER ROUTINE",
                RoutineKind::Aggregate => "ALTER AGGREGATE",
            },
        },
        Statement::View(ViewStatement::Create(_)) => "CREATE VIEW",
        Statement::View(ViewStatement::CreateMaterialized(_)) => "CREATE MATERIALIZED VIEW",
        Statement::View(ViewStatement::Refresh { .. }) => "REFRESH MATERIALIZED VIEW",
        Statement::View(_) => "ALTER VIEW",
        Statement::Comment(_) => "COMMENT",
        Statement::CreateIndex(_) => "CREATE INDEX",
        Statement::AlterTable(_) => "ALTER TABLE",
        Statement::Rename { .. } => "ALTER TABLE",
        Statement::Reindex(_) => "REINDEX",
        Statement::Cluster(cluster) if cluster.full => "VACUUM",
        Statement::Cluster(_) => "CLUSTER",
        Statement::AlterIndex(_) => "ALTER INDEX",
        Statement::Analyze(_) => "ANALYZE",
        Statement::Explain { options, statement } if options.analyze => return changes(statement),
        Statement::AlterDatabase { .. }
        | Statement::Database(
            DatabaseStatement::Rename { .. }
            | DatabaseStatement::Tablespace { .. }
            | DatabaseStatement::Alter { .. },
        ) => {
            "ALTER DATABASE"
        }
        Statement::AddLogFile { .. } | Statement::DropLogFile { .. } => "ALTER SYSTEM",
        Statement::Database(DatabaseStatement::Create { .. }) => "CREATE DATABASE",
        Statement::Database(DatabaseStatement::Drop { .. }) => "DROP DATABASE",
        Statement::Explain { .. }
        | Statement::Query(_)
        | Statement::Copy(_)
        | Statement::Begin { .. }
        | Statement::PrepareTransaction(_)
        | Statement::EndPrepared { .. }
        | Statement::SetTransaction(_)
        | Statement::SetSessionCharacteristics(_)
        | Statement::Commit { .. }
        | Statement::Rollback { .. }
        | Statement::Savepoint(_)
        | Statement::RollbackTo(_)
        | Statement::Release { .. }
        | Statement::Set { .. }
        | Statement::Show(_)
        | Statement::ShowAll
        | Statement::ShowStatementStatistics
        | Statement::Reset(_)
        | Statement::ResetAll
        | Statement::Do(_)
        | Statement::Call(_) // what they do is asked about by itself
        | Statement::LockTable(_)
        | Statement::SetConstraints(_)
        | Statement::Sweep { .. }
        | Statement::Checkpoint
        | Statement::Prewarm(_)
        | Statement::Backup { .. }
        | Statement::LogicalBackup(_)
        | Statement::Prepare(_)
        | Statement::Execute { .. } // what it executes is asked about by itself
        | Statement::Deallocate(_)
        | Statement::DiscardAll
        | Statement::Discard(_)
        | Statement::Unlisten(_)
        | Statement::Notify(..)
        | Statement::Listen(_)
        | Statement::ActAs { .. }
        | Statement::Declare(_)
        | Statement::Fetch(_)
        | Statement::Close(_) => return None,
    })
}

/// `25006`
pub(crate) fn in_read_only(word: &str) -> SqlError {
    let text = format!("cannot execute {word} in a read-only transaction");
    SqlError::new(sqlstate::READ_ONLY_TRANSACTION, text)
}

/// Whether a statement changes rows of temporary tables only, as far as their names tell: a READ ONLY transaction may do that.
/// What there is none of is told by who looks for it.
pub(crate) fn changes_temporary(statement: &Statement, catalog: &CatalogSnapshot) -> bool {
    let mut names = Vec::new();
    if !changed_tables(statement, &mut names) {
        return false;
    }
    names.iter().all(|name| {
        let relation = catalog.relation(name.schema_text(), &name.name.text);
        relation.is_none_or(|relation| is_temporary(relation.schema()))
    })
}

/// Adds the names of the tables whose rows a statement changes; whether that is all it changes.
fn changed_tables<'s>(statement: &'s Statement, names: &mut Vec<&'s QualifiedName>) -> bool {
    let mut of_item = |item: &'s FromItem| {
        if let FromSource::Table(name) = &item.source {
            names.push(name);
        }
    };
    let with = match statement {
        Statement::Insert(insert) => {
            names.push(&insert.table);
            &insert.with
        }
        Statement::Update(update) => {
            of_item(&update.table);
            &update.with
        }
        Statement::Delete(delete) => {
            of_item(&delete.table);
            &delete.with
        }
        Statement::Merge(merge) => {
            of_item(&merge.table);
            &merge.with
        }
        Statement::Query(query) => &query.with,
        Statement::Copy(Copy { what: CopyWhat::Table { name, .. }, from: true, .. }) => {
            names.push(name);
            return true;
        }
        Statement::Copy(Copy { what: CopyWhat::Query(rows), .. }) => return changed_tables(rows, names),
        Statement::Explain { statement, .. } => return changed_tables(statement, names),
        _ => return false,
    };
    with.iter().all(|query| match &query.query.body {
        QueryBody::Change(change) => changed_tables(change, names),
        _ => true,
    })
}

/// Whether a statement leaves every row and every definition as it is, but for the session's own temporary ones: a READ ONLY
/// transaction runs it, as in PostgreSQL, though it writes statistics or builds anew.
pub(crate) fn maintains(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Analyze(_)
            | Statement::Reindex(_)
            | Statement::Cluster(_)
            | Statement::Discard(Discarded::Temporary)
    )
}

/// Whether a statement is a query or a change of rows: what has a plan.
pub(crate) fn is_plain(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_)
    )
}

/// Whether a statement changes rows and answers with nothing but their number: it may build upon a commit that is in the
/// log already, for its own comes behind it.
fn only_changes(statement: &Statement) -> bool {
    match statement {
        Statement::Update(update) => update.returning.is_empty(),
        Statement::Delete(delete) => delete.returning.is_empty(),
        Statement::Insert(insert) => insert.returning.is_empty() && insert.on_conflict.is_none(),
        _ => false,
    }
}

/// How a statement begins.
#[derive(Clone, Copy)]
pub(crate) enum Begins {
    /// With what its transaction sees.
    Plain,
    /// It shows its client nothing that it reads.
    Change,
    /// It reads no rows, and leaves it to others to take the transaction's snapshot.
    Rowless,
    /// What it names is looked up in the newest catalog, whatever the level.
    Newest {
        /// It leaves it to others to take the transaction's snapshot.
        rowless: bool,
    },
}

impl Begins {
    /// Under a snapshot of the transaction's a statement that locks something, or says something about it, finds what others have
    /// defined since then, as in PostgreSQL. It writes at most rows by which no definition is read, so that the definitions that
    /// the transaction sees are those of its snapshot, with its own changes, before it and behind it. A statement that changes
    /// definitions is no such one: what it wrote would mix with what others have written there that the snapshot does not see.
    pub(crate) fn of(statement: &Statement) -> Begins {
        match statement {
            Statement::LockTable(_) => Begins::Newest { rowless: true },
            Statement::Comment(_)
            | Statement::Rights(
                RightsStatement::Grant(_) | RightsStatement::GrantRole(_) | RightsStatement::Default { .. },
            ) => Begins::Newest { rowless: false },
            Statement::SetConstraints(_)
            | Statement::Listen(_)
            | Statement::Notify(..)
            | Statement::Unlisten(_) => Begins::Rowless,
            statement if only_changes(statement) => Begins::Change,
            _ => Begins::Plain,
        }
    }

    /// Whether a statement that meets what others have just committed sees that when it begins anew, whatever the level.
    pub(crate) fn sees_newest(self) -> bool {
        matches!(self, Begins::Newest { .. })
    }
}

/// The word for a statement that functions leave to the session.
pub(crate) fn command(statement: &Statement) -> &'static str {
    match statement {
        Statement::Show(_) | Statement::ShowAll => "SHOW",
        Statement::Explain { .. } => "EXPLAIN",
        Statement::ActAs { reset: true, .. } | Statement::Reset(_) | Statement::ResetAll => "RESET",
        Statement::ActAs { .. }
        | Statement::Set { .. }
        | Statement::SetTransaction(_)
        | Statement::SetSessionCharacteristics(_) => "SET",
        Statement::Checkpoint => "CHECKPOINT",
        Statement::Copy(_) => "COPY",
        Statement::Call(_) => "CALL",
        Statement::Do(_) => "DO",
        Statement::LockTable(_) => "LOCK TABLE",
        Statement::SetConstraints(_) => "SET CONSTRAINTS",
        Statement::Listen(_) => "LISTEN",
        Statement::Notify(..) => "NOTIFY",
        Statement::Unlisten(_) => "UNLISTEN",
        Statement::Declare(_) => "DECLARE CURSOR",
        Statement::Fetch(fetch) if fetch.moves => "MOVE",
        Statement::Fetch(_) => "FETCH",
        Statement::Close(_) => "CLOSE CURSOR",
        Statement::Prepare(_) => "PREPARE",
        Statement::Execute { .. } => "EXECUTE",
        Statement::Deallocate(None) => "DEALLOCATE ALL",
        Statement::Deallocate(_) => "DEALLOCATE",
        Statement::Discard(Discarded::Plans) => "DISCARD PLANS",
        Statement::Discard(Discarded::Sequences) => "DISCARD SEQUENCES",
        Statement::Discard(Discarded::Temporary) => "DISCARD TEMP",
        other => changes(other).or_else(|| other.stands_outside()).unwrap_or("this statement"),
    }
}

/// Whether a statement changes the schema, or may do so by statements of its own.
pub(crate) fn changes_schema(statement: &Statement) -> bool {
    !matches!(
        statement,
        Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_)
            | Statement::Flashback(_)
            | Statement::Explain { .. }
            | Statement::Do(_)
            | Statement::Call(_)
            | Statement::LockTable(_)
            | Statement::Prewarm(_)
            | Statement::Listen(_)
            | Statement::Notify(..)
            | Statement::Unlisten(_)
            | Statement::SetConstraints(_)
    )
}

/// Whether a failed transaction accepts the statement.
pub(crate) fn ends_transaction(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Commit { .. }
            | Statement::PrepareTransaction(_)
            | Statement::Rollback { .. }
            | Statement::RollbackTo(_)
    )
}

/// Whether a plan calls functions of the catalog.
pub(crate) fn calls_users(plan: &Plan) -> bool {
    plan.any(&mut |part| {
        // Rows that are to be locked may have changed: the query then runs again.
        matches!(part, Plan::LockRows { .. }) || part.calls_users()
    })
}
