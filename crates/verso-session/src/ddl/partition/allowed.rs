//! What ALTER TABLE may not do to partitions and to partitioned tables.

use verso_catalog::{CatalogSnapshot, ConstraintDef, ConstraintKind, TableDef, TableOptions};
use verso_parser::syntax::{AlterAction, ConstraintClause, ConstraintDefinition};
use verso_planner::errors::{SqlError, sqlstate};

use super::super::alter_partitions::reaches_partitions;
use super::invalid;

/// Refuses what would make a partition unlike the table that it is a part of, and what is not there yet for partitioned
/// tables.
pub(in crate::ddl) fn refuse_of_partitions(
    catalog: &CatalogSnapshot,
    table: &TableDef,
    action: &AlterAction,
) -> Result<(), SqlError> {
    let key = |constraint: &ConstraintDefinition| {
        matches!(constraint.clause, ConstraintClause::Unique { .. } | ConstraintClause::Exclude(_))
    };
    if let (true, AlterAction::Options(given)) = (table.partitioned.is_some(), action) {
        refuse_parameters(given)?;
    }
    let allowed = match action {
        AlterAction::Rename(_) | AlterAction::RowSecurity { .. } | AlterAction::Triggers { .. } => true,
        AlterAction::AttachPartition { .. } | AlterAction::DetachPartition { .. } => true,
        // Each partition has one of its own.
        AlterAction::ReplicaIdentity(_) | AlterAction::OfType(_) | AlterAction::Owner(_) => true,
        AlterAction::Storage { .. } | AlterAction::Compression { .. } => true,
        // What ANALYZE is told of a column is of one table.
        AlterAction::ColumnOptions { options, .. } => options.iter().all(|(name, _)| name != "reservable"),
        AlterAction::AddConstraint(constraint) => key(constraint) || reaches_partitions(action),
        _ => reaches_partitions(action),
    };
    if table.partitioned.is_some() && !allowed {
        return Err(SqlError::unsupported("this form of ALTER TABLE for a partitioned table"));
    }
    let parent = table.partition_of.as_ref().and_then(|of| catalog.table_by_oid(of.parent));
    let Some(parent) = parent else { return Ok(()) };
    let of_index = |constraint: &ConstraintDef| match constraint.kind {
        ConstraintKind::Unique { index, .. } | ConstraintKind::Exclude { index, .. } => {
            table.index(index).is_some_and(|index| index.part_of.is_some())
        }
        ConstraintKind::Foreign(_) => constraint.part_of.is_some(),
        _ => parent.constraint(&constraint.name).is_some(),
    };
    let inherited = |name: &str| table.constraint(name).is_some_and(|constraint| of_index(constraint));
    let relation = &table.name;
    Err(match action {
        AlterAction::AddColumn { .. } => {
            SqlError::new(sqlstate::WRONG_OBJECT_TYPE, "cannot add column to a partition")
        }
        AlterAction::DropColumn { column, .. } if table.column(&column.text).is_some() => {
            invalid(format!("cannot drop inherited column \"{}\"", column.text))
        }
        AlterAction::RenameColumn { column, .. } if table.column(&column.text).is_some() => {
            invalid(format!("cannot rename inherited column \"{}\"", column.text))
        }
        AlterAction::ColumnType { column, .. } if table.column(&column.text).is_some() => {
            invalid(format!("cannot alter inherited column \"{}\"", column.text))
        }
        AlterAction::NotNull { column, not_null: false }
            if parent.column(&column.text).is_some_and(|at| parent.columns[at].not_null) =>
        {
            invalid(format!("column \"{}\" is marked NOT NULL in parent table", column.text))
        }
        AlterAction::DropConstraint { name, .. } if inherited(&name.text) => {
            invalid(format!("cannot drop inherited constraint \"{}\" of relation \"{relation}\"", name.text))
        }
        // A part of a foreign key has a name of its own.
        AlterAction::RenameConstraint { name, .. }
            if inherited(&name.text)
                && table.constraint(&name.text).is_some_and(|own| own.part_of.is_none()) =>
        {
            invalid(format!("cannot rename inherited constraint \"{}\"", name.text))
        }
        AlterAction::AddIdentity { .. } => invalid("cannot add identity to a column of a partition"),
        AlterAction::SetIdentity { .. } => invalid("cannot change identity column of a partition"),
        AlterAction::DropIdentity { .. } => invalid("cannot drop identity from a column of a partition"),
        AlterAction::SetExpression { .. } | AlterAction::DropExpression { .. } => {
            SqlError::unsupported("ALTER TABLE of a generated column of a partition")
        }
        AlterAction::AlterConstraint { name, .. } if inherited(&name.text) => {
            let own = table.constraint(&name.text);
            let of = own.and_then(|own| parent.constraints.iter().find(|of| Some(of.oid) == own.part_of));
            let (name, of) = (&name.text, of.map_or(&*name.text, |of| &*of.name));
            let text = format!("cannot alter constraint \"{name}\" on relation \"{relation}\"");
            SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
                .with_detail(format!(
                    "Constraint \"{name}\" is derived from constraint \"{of}\" of relation \"{}\".",
                    parent.name
                ))
                .with_hint("You may alter the constraint it derives from instead.")
        }
        _ => return Ok(()),
    })
}

/// Storage parameters that a partitioned table has for its partitions: those which it gets take them over.
const OF_PARTITIONS: [&str; 7] =
    ["colocate", "compress", "extent_size", "lock_level", "memory_resident", "next_extent", "version_format"];

/// Refuses storage parameters that only a table with rows of its own has, as PostgreSQL does.
pub(in crate::ddl) fn refuse_parameters(given: &[(String, String)]) -> Result<(), SqlError> {
    if given.iter().all(|(name, _)| OF_PARTITIONS.contains(&name.as_str())) {
        return Ok(());
    }
    let text = "cannot specify storage parameters for a partitioned table";
    Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text)
        .with_hint("Specify storage parameters for its leaf partitions instead."))
}

/// Gives a new partition the storage parameters of the whole table that it does not have itself.
pub(super) fn take_parameters(whole: &TableOptions, part: &mut TableOptions) {
    for (name, value) in whole.shown().filter(|(name, _)| OF_PARTITIONS.contains(&&**name)) {
        if part.get(name).is_none() {
            part.set(name, Some(value));
        }
    }
}

/// Refuses changes of identity columns by ALTER TABLE ONLY, whether or not a partitioned table has partitions.
pub(in crate::ddl) fn refuse_identity_alone(action: &AlterAction) -> Result<(), SqlError> {
    let what = match action {
        AlterAction::AddIdentity { .. } => "add identity to a column",
        AlterAction::SetIdentity { .. } => "change identity column",
        AlterAction::DropIdentity { .. } => "drop identity from a column",
        _ => return Ok(()),
    };
    let text = format!("cannot {what} of only the partitioned table");
    Err(invalid(text).with_hint("Do not specify the ONLY keyword."))
}

/// Refuses what ALTER TABLE ONLY would do to a partitioned table alone, though its partitions have to be like it.
pub(in crate::ddl) fn refuse_without_parts(
    catalog: &CatalogSnapshot,
    table: &TableDef,
    action: &AlterAction,
) -> Result<(), SqlError> {
    let hint = "Do not specify the ONLY keyword.";
    Err(match action {
        AlterAction::AddColumn { .. } => invalid("column must be added to child tables too"),
        AlterAction::DropColumn { .. } => {
            invalid("cannot drop column from only the partitioned table when partitions exist")
                .with_hint(hint)
        }
        AlterAction::ColumnType { column, .. } => invalid(format!(
            "type of inherited column \"{}\" must be changed in child tables too",
            column.text
        )),
        AlterAction::RenameColumn { column, .. } => {
            invalid(format!("inherited column \"{}\" must be renamed in child tables too", column.text))
        }
        AlterAction::RenameConstraint { name, .. } => {
            invalid(format!("inherited constraint \"{}\" must be renamed in child tables too", name.text))
        }
        AlterAction::NotNull { not_null: true, .. } => {
            invalid("constraint must be added to child tables too").with_hint(hint)
        }
        AlterAction::ValidateConstraint(_) => invalid("constraint must be validated on child tables too"),
        AlterAction::AddConstraint(ConstraintDefinition {
            clause: ConstraintClause::Foreign { table: other, .. },
            ..
        }) => {
            let other =
                catalog.relation(other.schema_text(), &other.name.text).map_or("", |other| other.name());
            let text = format!(
                "cannot use ONLY for foreign key on partitioned table \"{}\" referencing relation \"{other}\"",
                table.name
            );
            SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text)
        }
        AlterAction::AddConstraint(ConstraintDefinition {
            clause: ConstraintClause::Unique { .. } | ConstraintClause::Exclude(_),
            ..
        }) => {
            return Ok(());
        }
        AlterAction::AddConstraint(_) => invalid("constraint must be added to child tables too"),
        _ => return Ok(()),
    })
}
