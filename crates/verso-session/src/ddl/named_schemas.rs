//! Schemas that a statement names and that are not there.
//!
//! A query says of a relation in such a schema that the relation does not exist. Statements that define, change or drop objects
//! say it of the schema, as PostgreSQL's do, and before anything else is asked of the objects that they name.

use verso_catalog::{CatalogError, CatalogSnapshot, ObjectKind, kept};
use verso_parser::syntax::{
    AlterAction, CastMethod, CastStatement, Commented, ConstraintClause, CreateTable, GrantKind, GrantOn,
    IndexChange, IndexElement, Owned, QualifiedName, ReindexTarget, Returns, RightsStatement, RoutineType,
    SchemaStatement, SequenceOptions, Statement, StatisticsStatement, TableElement, TriggerAction,
    TypeStatement, ViewStatement,
};
use verso_planner::errors::{SqlError, sqlstate};
use verso_types::SqlType;

/// Schemas of the system's whose objects the catalog makes by itself.
const OF_THE_SYSTEM: [&str; 2] = ["information_schema", "pg_toast"];

/// Whether there is a schema of that name.
pub(crate) fn is_schema(catalog: &CatalogSnapshot, name: &str) -> bool {
    catalog.schema(name).is_some() || OF_THE_SYSTEM.contains(&name) || kept::number_of(Some(name)).is_some()
}

/// The schema of a name, if there is none, as an error.
pub(crate) fn schema_absent(catalog: &CatalogSnapshot, name: &QualifiedName) -> Option<SqlError> {
    let schema = name.schema_text().filter(|schema| !is_schema(catalog, schema))?;
    Some(CatalogError::missing(ObjectKind::Schema, schema).into())
}

/// Refuses a statement one of whose names is in a schema that is not there.
pub(super) fn refuse_absent(catalog: &CatalogSnapshot, statement: &Statement) -> Result<(), SqlError> {
    let mut refused = None;
    // Of partitions it is asked first whether the table has any.
    let is_divided = match statement {
        Statement::AlterTable(alter) => {
            let table = catalog.table(alter.name.schema_text(), &alter.name.name.text);
            table.is_some_and(|table| table.partitioned.is_some())
        }
        _ => true,
    };
    // Only what is looked at before a new table is made is told with its place.
    let is_table = matches!(statement, Statement::CreateTable(_));
    visit(statement, &mut |name, placed| {
        if refused.is_none()
            && (placed || is_divided || !is_partition(statement, name))
            && let Some(error) = schema_absent(catalog, name)
        {
            refused = Some(if is_table && placed { error.at(name.at().start) } else { error });
        }
    });
    refused.map_or(Ok(()), Err)
}

/// Whether ALTER TABLE attaches or detaches a table of that name.
fn is_partition(statement: &Statement, name: &QualifiedName) -> bool {
    let Statement::AlterTable(alter) = statement else { return false };
    alter.actions.iter().any(|action| match action {
        AlterAction::AttachPartition { partition, .. } | AlterAction::DetachPartition { partition, .. } => {
            partition == name
        }
        _ => false,
    })
}

/// An error that says that a schema is not there, without its place where PostgreSQL tells none of such a statement.
pub(super) fn placed(statement: &Statement, error: SqlError) -> SqlError {
    let tells_place = match statement {
        Statement::CreateFunction(create) => {
            // That of what it returns is not told; that of its arguments and in its body is.
            let returned = match &create.returns {
                Some(Returns::Type(ty) | Returns::Set(ty)) => type_place(ty),
                _ => None,
            };
            returned.is_none_or(|at| error.position != Some(at + 1))
        }
        Statement::AlterTable(alter) => {
            let is_kept = |action: &AlterAction| {
                matches!(action, AlterAction::AddConstraint(_) | AlterAction::Default { .. })
            };
            !alter.actions.iter().all(is_kept)
        }
        Statement::CreateAggregate(_)
        | Statement::DropFunction(_)
        | Statement::Schema(_)
        | Statement::Comment(_)
        | Statement::Rights(_)
        | Statement::Type(
            TypeStatement::Cast(_) | TypeStatement::Collation(_) | TypeStatement::Operator(_),
        ) => false,
        Statement::CreateIndex(create) => {
            let of_collation = |part: &IndexElement| {
                part.collation.as_ref().is_some_and(|name| error.position == Some(name.at().start + 1))
            };
            !create.parts.iter().any(of_collation)
        }
        _ => true,
    };
    match error.sqlstate {
        sqlstate::INVALID_SCHEMA_NAME if !tells_place => SqlError { position: None, ..error },
        _ => error,
    }
}

/// Where the name of a type of an argument stands.
fn type_place(ty: &RoutineType) -> Option<u32> {
    let RoutineType::Plain(ty) = ty else { return None };
    let mut ty = ty;
    while let SqlType::Array(element) = ty {
        ty = element;
    }
    match ty {
        SqlType::Named(named) => Some(named.at),
        _ => None,
    }
}

/// Calls `see` with the names whose schemas have to be there, in the order in which they are looked up, and whether an error
/// tells the place of the name. What IF EXISTS passes over is none of them.
fn visit<'s>(statement: &'s Statement, see: &mut dyn FnMut(&'s QualifiedName, bool)) {
    let plain = false;
    match statement {
        Statement::CreateTable(create) => visit_table(create, see),
        Statement::CreateSequence(create) => visit_owner(&create.options, see),
        Statement::AlterSequence(alter) if !alter.if_exists => {
            see(&alter.name, plain);
            visit_owner(&alter.options, see);
        }
        Statement::CreateIndex(create) => see(&create.table, plain),
        Statement::AlterTable(alter) => {
            if !alter.if_exists {
                see(&alter.name, plain);
            }
            alter.actions.iter().for_each(|action| visit_action(action, see));
        }
        Statement::Rename { name, if_exists: false, .. } => see(name, plain),
        Statement::Reindex(reindex) => match &reindex.target {
            ReindexTarget::Index(name) | ReindexTarget::Table(name) => see(name, plain),
            _ => {}
        },
        Statement::Cluster(cluster) => cluster.table.iter().for_each(|name| see(name, plain)),
        Statement::AlterIndex(alter) => {
            if !alter.if_exists {
                see(&alter.name, plain);
            }
            if let IndexChange::Attach(partition) = &alter.change {
                see(partition, plain);
            }
        }
        Statement::LockTable(lock) => lock.tables.iter().for_each(|(name, _)| see(name, plain)),
        Statement::Analyze(analyze) => analyze.tables.iter().for_each(|(name, _)| see(name, plain)),
        Statement::Drop(drop) if !drop.if_exists => drop.names.iter().for_each(|name| see(name, plain)),
        Statement::DropFunction(drop) if !drop.if_exists => {
            drop.functions.iter().for_each(|(name, _)| see(name, plain));
        }
        Statement::CreateTrigger(create) => {
            see(&create.table, plain);
            create.from.iter().for_each(|name| see(name, plain));
            if let TriggerAction::Function { function, .. } = &create.action {
                see(function, plain);
            }
        }
        Statement::DropTrigger(drop) if !drop.if_exists => {
            drop.table.iter().for_each(|name| see(name, plain));
        }
        Statement::RenameTrigger(rename) => see(&rename.table, plain),
        Statement::Truncate(truncate) => truncate.tables.iter().for_each(|(name, _)| see(name, plain)),
        Statement::Schema(
            SchemaStatement::Move { name, if_exists: false, .. }
            | SchemaStatement::AlterFunction { name, .. },
        ) => see(name, plain),
        Statement::Type(statement) => visit_type(statement, see),
        Statement::View(
            ViewStatement::Refresh { name, .. }
            | ViewStatement::RenameColumn { name, if_exists: false, .. }
            | ViewStatement::Default { name, if_exists: false, .. }
            | ViewStatement::Options { name, if_exists: false, .. },
        ) => see(name, plain),
        Statement::Comment(comment) => visit_commented(&comment.on, see),
        Statement::Rights(statement) => visit_rights(statement, see),
        _ => {}
    }
}

/// The names of CREATE TABLE. That of the table itself may be of the session's own schema, which is made with its first table.
fn visit_table<'s>(create: &'s CreateTable, see: &mut dyn FnMut(&'s QualifiedName, bool)) {
    let of_session = create.name.schema_text() == Some("pg_temp");
    if !of_session {
        see(&create.name, true);
    }
    create.of_type.iter().for_each(|name| see(name, true));
    for element in &create.elements {
        if let TableElement::Like { table, .. } = element {
            see(table, true);
        }
    }
    create.partition_of.iter().for_each(|of| see(&of.parent, false));
    for element in &create.elements {
        match element {
            TableElement::Column(column) | TableElement::Options(column) => {
                column.constraints.iter().for_each(|constraint| visit_constraint(&constraint.clause, see));
            }
            TableElement::Constraint(constraint) => visit_constraint(&constraint.clause, see),
            TableElement::Like { .. } => {}
        }
    }
}

/// The table that a sequence is to belong to.
fn visit_owner<'s>(options: &'s SequenceOptions, see: &mut dyn FnMut(&'s QualifiedName, bool)) {
    if let Some(Some((table, _))) = &options.owned_by {
        see(table, false);
    }
}

fn visit_constraint<'s>(clause: &'s ConstraintClause, see: &mut dyn FnMut(&'s QualifiedName, bool)) {
    if let ConstraintClause::Foreign { table, .. } = clause {
        see(table, false);
    }
}

fn visit_action<'s>(action: &'s AlterAction, see: &mut dyn FnMut(&'s QualifiedName, bool)) {
    match action {
        AlterAction::OfType(Some(name)) => see(name, false),
        AlterAction::AttachPartition { partition, .. } | AlterAction::DetachPartition { partition, .. } => {
            see(partition, false);
        }
        AlterAction::AddColumn { column, .. } => {
            column.constraints.iter().for_each(|constraint| visit_constraint(&constraint.clause, see));
        }
        AlterAction::AddConstraint(constraint) => visit_constraint(&constraint.clause, see),
        _ => {}
    }
}

/// The names of statements about types and their like. Types are looked up with their schemas already.
fn visit_type<'s>(statement: &'s TypeStatement, see: &mut dyn FnMut(&'s QualifiedName, bool)) {
    match statement {
        TypeStatement::Statistics(statement) => match statement {
            StatisticsStatement::Create { name, table, .. } => {
                name.iter().chain([table]).for_each(|name| see(name, false));
            }
            StatisticsStatement::Target { name, if_exists: false, .. }
            | StatisticsStatement::Rename { name, .. }
            | StatisticsStatement::Move { name, .. } => see(name, false),
            StatisticsStatement::Drop { names, if_exists: false } => {
                names.iter().for_each(|name| see(name, false));
            }
            _ => {}
        },
        TypeStatement::Cast(CastStatement::Create { method: CastMethod::Function(name, _), .. }) => {
            see(name, false);
        }
        _ => {}
    }
}

fn visit_commented<'s>(commented: &'s Commented, see: &mut dyn FnMut(&'s QualifiedName, bool)) {
    match commented {
        Commented::Relation(_, name)
        | Commented::Column { relation: name, .. }
        | Commented::Function(_, name, _)
        | Commented::Statistics(name)
        | Commented::Trigger { table: name, .. }
        | Commented::Policy { table: name, .. }
        | Commented::Constraint { table: name, .. } => see(name, false),
        _ => {}
    }
}

fn visit_rights<'s>(statement: &'s RightsStatement, see: &mut dyn FnMut(&'s QualifiedName, bool)) {
    match statement {
        RightsStatement::Grant(grant) => match &grant.on {
            GrantOn::Named(GrantKind::Table | GrantKind::Sequence, names) => {
                names.iter().for_each(|name| see(name, false));
            }
            GrantOn::Functions(_, functions) => functions.iter().for_each(|(name, _)| see(name, false)),
            _ => {}
        },
        RightsStatement::Owner {
            of: Owned::Relation(_, name) | Owned::Function(_, name, _) | Owned::Statistics(name),
            if_exists: false,
            ..
        } => see(name, false),
        RightsStatement::CreatePolicy(policy) | RightsStatement::AlterPolicy(policy) => {
            see(&policy.table, false);
        }
        RightsStatement::RenamePolicy { table, .. }
        | RightsStatement::DropPolicy { table, if_exists: false, .. } => see(table, false),
        _ => {}
    }
}
