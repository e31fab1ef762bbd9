//! ATTACH PARTITION: whether a table is like the one that it is to be a part of.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, ConstraintDef, ConstraintKind, TableDef, TriggerDef};
use verso_planner::errors::{SqlError, sqlstate};

/// Whether a table may become a partition of another one, as far as both stand to other tables.
pub(in crate::ddl) fn check_kinship(
    catalog: &CatalogSnapshot,
    table: &TableDef,
    part: &TableDef,
) -> Result<(), SqlError> {
    let wrong = |text: String| Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text));
    if part.partition_of.is_some() {
        return wrong(format!("\"{}\" is already a partition", part.name));
    }
    let mut above = Some(Arc::new(table.clone()));
    while let Some(one) = above {
        if one.oid == part.oid {
            let detail = format!("\"{}\" is already a child of \"{}\".", table.name, part.name);
            let error = SqlError::new(sqlstate::DUPLICATE_TABLE, "circular inheritance not allowed");
            return Err(error.with_detail(detail));
        }
        above = one.partition_of.as_ref().and_then(|of| catalog.table_by_oid(of.parent));
    }
    let whole = &table.name;
    match (part.is_temporary(), table.is_temporary()) {
        (true, false) => wrong(format!(
            "cannot attach a temporary relation as partition of permanent relation \"{whole}\""
        )),
        (false, true) => wrong(format!(
            "cannot attach a permanent relation as partition of temporary relation \"{whole}\""
        )),
        _ => Ok(()),
    }
}

/// Whether a table has the columns that a partition of another one has.
pub(in crate::ddl) fn check_columns(table: &TableDef, part: &TableDef) -> Result<(), SqlError> {
    let unlike = |text: String| Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
    let name = &part.name;
    for column in part.shown() {
        if column.identity.is_some() {
            let (own, of) = (&column.name, name);
            let text = format!("table \"{of}\" being attached contains an identity column \"{own}\"");
            let detail = "The new partition may not contain an identity column.";
            return Err(SqlError::new("55000", text).with_detail(detail));
        }
        if table.column(&column.name).is_none() {
            let (own, whole) = (&column.name, &table.name);
            let text = format!("table \"{name}\" contains column \"{own}\" not found in parent \"{whole}\"");
            let detail = "The new partition may contain only the columns present in parent.";
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).with_detail(detail));
        }
    }
    for column in table.shown() {
        let of = &column.name;
        let Some(own) = part.column(of).map(|at| &part.columns[at]) else {
            return unlike(format!("child table is missing column \"{of}\""));
        };
        if own.declared().uncollated() != column.declared().uncollated() {
            return unlike(format!("child table \"{name}\" has different type for column \"{of}\""));
        }
        if own.seen().collation() != column.seen().collation() {
            let text = format!("child table \"{name}\" has different collation for column \"{of}\"");
            return Err(SqlError::new("42P21", text));
        }
        if column.not_null && !own.not_null {
            return unlike(format!("column \"{of}\" in child table \"{name}\" must be marked NOT NULL"));
        }
        match (column.generated, own.generated) {
            (true, false) => {
                return unlike(format!("column \"{of}\" in child table must be a generated column"));
            }
            (false, true) => {
                return unlike(format!("column \"{of}\" in child table must not be a generated column"));
            }
            (true, true) if column.is_virtual != own.is_virtual => {
                let unlike = |error| SqlError { sqlstate: sqlstate::DATATYPE_MISMATCH, ..error };
                return same_kind(of, column.is_virtual, own.is_virtual).map_err(unlike);
            }
            (true, true) if column.default != own.default => {
                let text = format!(
                    "column \"{of}\" in child table has another generation expression than its parent"
                );
                return Err(SqlError::unsupported(text));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a generated column of a partition is of the kind that it is of in the whole table.
pub(in crate::ddl) fn same_kind(name: &str, whole: bool, part: bool) -> Result<(), SqlError> {
    if whole == part {
        return Ok(());
    }
    let word = |is_virtual: bool| if is_virtual { "VIRTUAL" } else { "STORED" };
    let text = format!("column \"{name}\" inherits from generated column of different kind");
    let detail = format!("Parent column is {}, child column is {}.", word(whole), word(part));
    Err(SqlError::new("42611", text).with_detail(detail))
}

/// Whether the triggers of a table may be those of a partition.
pub(super) fn check_triggers(part: &TableDef) -> Result<(), SqlError> {
    let of_rows = |trigger: &&Arc<TriggerDef>| {
        trigger.kind.is_row() && (trigger.old_table.is_some() || trigger.new_table.is_some())
    };
    let Some(trigger) = part.triggers.iter().find(of_rows) else { return Ok(()) };
    let text =
        format!("trigger \"{}\" prevents table \"{}\" from becoming a partition", trigger.name, part.name);
    let detail = "ROW triggers with transition tables are not supported on partitions.";
    Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_detail(detail))
}

/// Whether a table has the CHECK constraints of another one.
pub(in crate::ddl) fn check_constraints(table: &TableDef, part: &TableDef) -> Result<(), SqlError> {
    let name = &part.name;
    for constraint in &table.constraints {
        let ConstraintKind::Check { expression } = &constraint.kind else { continue };
        let of = &constraint.name;
        let same = |own: &ConstraintDef| match &own.kind {
            ConstraintKind::Check { expression: own } => own == expression,
            _ => false,
        };
        let text = match part.constraint(of) {
            None => format!("child table is missing constraint \"{of}\""),
            Some(own) if !same(own) => {
                format!("child table \"{name}\" has different definition for check constraint \"{of}\"")
            }
            Some(_) => continue,
        };
        return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
    }
    Ok(())
}
