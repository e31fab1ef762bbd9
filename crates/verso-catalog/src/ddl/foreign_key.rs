//! Foreign keys: what they demand of both tables, what goes with them, and their parts in partitions.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::Txn;
use verso_types::{CastKind, Collation, SqlType, cast_kind};

use super::constraint::{Target, find_column, refuse_virtual_among};
use crate::catalog::Catalog;
use crate::definition::{
    ColumnDef, ConstraintDef, ConstraintKind, ForeignKey, IndexDef, IndexPart, Oid, ReferentialAction,
    TableDef,
};
use crate::error::{CatalogError, ObjectKind};
use crate::request::NewConstraintKind;
use crate::snapshot::CatalogSnapshot;
use crate::system::row::ConstraintRow;

impl Catalog {
    /// Removes a foreign key and its parts; the change has begun.
    pub(super) fn remove_foreign_key(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        constraint: &ConstraintDef,
    ) -> Result<(), CatalogError> {
        let Some(table) = snapshot.table_by_oid(constraint.table) else { return Ok(()) };
        for (table, part) in table.parts_of_constraint(constraint.oid) {
            self.remove_objects(txn, table.oid, |row: &ConstraintRow| row.oid == part.oid)?;
        }
        Ok(())
    }

    /// Removes foreign keys, or with them in the way refuses to drop `what`, of which they need `needed`.
    pub(super) fn release_references(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        (what, needed): (String, &str),
        references: &[Arc<ConstraintDef>],
        cascade: bool,
    ) -> Result<(), CatalogError> {
        let table_name = |constraint: &ConstraintDef| {
            snapshot
                .table_by_oid(constraint.table)
                .map_or_else(|| "?".into(), |table| Arc::clone(&table.name))
        };
        // Parts go with the whole.
        let references = references.iter().filter(|constraint| constraint.part_of.is_none());
        if !cascade {
            let line = |constraint: &Arc<ConstraintDef>| {
                let (name, table) = (&constraint.name, table_name(constraint));
                format!("constraint {name} on table {table} depends on {needed}")
            };
            return super::refuse_if_needed(what, references.map(line).collect());
        }
        for constraint in references {
            self.remove_foreign_key(txn, snapshot, constraint)?;
        }
        Ok(())
    }

    /// Makes a foreign key of a partition a part of that of the whole table.
    ///
    /// # Errors
    /// Storage's.
    pub fn attach_foreign_key(
        &self,
        txn: &mut Txn,
        constraint: &ConstraintDef,
        whole: Oid,
    ) -> Result<(), CatalogError> {
        self.change(txn, |txn| {
            let is_it = |row: &ConstraintRow| row.oid == constraint.oid;
            self.update_rows(txn, constraint.table, is_it, |row| row.conbin = Some(whole.to_string().into()))
        })
        .map(drop)
    }

    /// Makes the foreign keys of a table that is a partition no more its own.
    pub(super) fn detach_foreign_keys(&self, txn: &mut Txn, part: &TableDef) -> Result<(), CatalogError> {
        let parts = part.constraints.iter().filter(|constraint| constraint.part_of.is_some());
        let parts: BTreeSet<Oid> = parts.map(|constraint| constraint.oid).collect();
        let is_it = |row: &ConstraintRow| parts.contains(&row.oid);
        self.update_rows(txn, part.oid, is_it, |row| row.conbin = None).map(drop)
    }
}

/// A foreign key with its columns and the unique index found.
pub(super) fn foreign_key(
    snapshot: &CatalogSnapshot,
    target: &Target,
    kind: &NewConstraintKind,
) -> Result<ForeignKey, CatalogError> {
    let NewConstraintKind::Foreign {
        columns,
        schema,
        table,
        referenced,
        period,
        match_full,
        on_delete,
        on_update,
        delete_columns,
    } = kind
    else {
        return Err(CatalogError::Corrupt { what: "no foreign key".to_string() });
    };
    let missing =
        |name: &str| format!("column \"{name}\" referenced in foreign key constraint does not exist");
    let ids = target.ids(columns, missing)?;
    let own = *table == target.name && schema.as_ref().is_none_or(|schema| *schema == target.schema.name);
    let found;
    let (oid, names, indexes): (Oid, &[ColumnDef], &[Arc<IndexDef>]) = if own {
        (target.oid, &target.columns, &target.indexes)
    } else {
        found = snapshot
            .table(schema.as_deref(), table)
            .ok_or_else(|| CatalogError::missing(ObjectKind::Relation, &**table))?;
        if found.is_system() {
            return Err(CatalogError::SystemObject { name: table.to_string() });
        }
        if found.unlogged && !target.unlogged {
            let text = "constraints on permanent tables may reference only permanent tables";
            return Err(CatalogError::invalid("42P16", text));
        }
        if found.materialized.is_some() {
            let text = format!("referenced relation \"{table}\" is not a table");
            return Err(CatalogError::invalid("42809", text));
        }
        (found.oid, &found.columns, &found.indexes)
    };
    // A key that is out of use by an upgrade proves nothing until it is built anew.
    let outdated: Vec<Arc<IndexDef>> = match snapshot.table_by_oid(oid) {
        Some(table) => table.idle_indexes.iter().filter(|index| index.outdated).cloned().collect(),
        None => Vec::new(),
    };
    let out_of_use = |index: &IndexDef| CatalogError::InvalidDefinition {
        sqlstate: "55000",
        message: format!("unique index \"{}\" was built {}", index.name, index.built_with()),
        detail: Some(format!(
            "It has to be built anew before \"{table}\" can be referenced: REINDEX COLLATIONS."
        )),
        hint: None,
    };
    let wrong = |text: &str| Err(CatalogError::invalid("42830", text));
    let one_sided = |own: bool, other: bool| match (own, other) {
        (true, false) => {
            wrong("foreign key uses PERIOD on the referencing table but not the referenced table")
        }
        (false, true) => {
            wrong("foreign key uses PERIOD on the referenced table but not the referencing table")
        }
        _ => Ok(()),
    };
    one_sided(period.0, period.1)?;
    let (referenced_columns, index) = if referenced.is_empty() {
        let primary = indexes.iter().find(|index| index.primary).ok_or_else(|| {
            if let Some(primary) = outdated.iter().find(|index| index.primary) {
                return out_of_use(primary);
            }
            CatalogError::invalid(
                "42704",
                format!("there is no primary key for referenced table \"{table}\""),
            )
        })?;
        one_sided(period.0, primary.is_temporal())?;
        (primary.parts.iter().map(|part| part.column).collect::<Vec<_>>(), Arc::clone(primary))
    } else {
        let wanted: Vec<u16> = referenced
            .iter()
            .map(|name| Ok(find_column(names, name, missing)?.id))
            .collect::<Result<_, CatalogError>>()?;
        // An index that takes other texts for equal than the column does proves nothing.
        let tells_alike = |part: &IndexPart| {
            let column = names.iter().find(|column| column.id == part.column);
            let of_column = column.and_then(|column| column.declared().collation());
            blind(part.collation.as_deref()) == blind(of_column.as_deref())
        };
        let fits = |index: &&Arc<IndexDef>| {
            index.unique
                && index.guard.is_none()
                && index.parts.len() == wanted.len()
                && index.parts.iter().all(|part| wanted.contains(&part.column) && tells_alike(part))
        };
        let ends_so = |index: &IndexDef| {
            let last = index.parts.last().filter(|_| index.is_temporal()).map(|part| part.column);
            last == wanted.last().copied().filter(|_| period.0)
        };
        let (found, others): (Vec<_>, Vec<_>) = indexes.iter().filter(fits).partition(|index| ends_so(index));
        if found.is_empty() && others.iter().any(|index| index.is_temporal()) && !period.0 {
            wrong("foreign key must use PERIOD when referencing a primary key using WITHOUT OVERLAPS")?;
        }
        let index = found.into_iter().next().ok_or_else(|| {
            if let Some(index) = outdated.iter().find(fits) {
                return out_of_use(index);
            }
            let text =
                format!("there is no unique constraint matching given keys for referenced table \"{table}\"");
            CatalogError::invalid("42830", text)
        })?;
        (wanted, Arc::clone(index))
    };
    if referenced_columns.len() != ids.len() {
        let text = "number of referencing and referenced columns for foreign key disagree";
        return Err(CatalogError::invalid("42830", text));
    }
    if index.deferrable {
        let text = format!("cannot use a deferrable unique constraint for referenced table \"{table}\"");
        return Err(CatalogError::invalid("55000", text));
    }
    if period.0 {
        for (event, action) in [("UPDATE", on_update), ("DELETE", on_delete)] {
            if *action != ReferentialAction::NoAction {
                let text = format!("unsupported ON {event} action for foreign key constraint using PERIOD");
                return Err(CatalogError::invalid("0A000", text));
            }
        }
        if *match_full {
            return Err(CatalogError::invalid(
                "0A000",
                "MATCH FULL of a foreign key with PERIOD is not supported",
            ));
        }
    }
    refuse_virtual_among(&target.columns, &ids, "foreign key constraints")?;
    let delete_columns = target.ids(delete_columns, missing)?;
    if target.columns.iter().any(|column| column.generated && ids.contains(&column.id)) {
        let sets = |action: &ReferentialAction| {
            matches!(action, ReferentialAction::SetNull | ReferentialAction::SetDefault)
        };
        let update = sets(on_update) || *on_update == ReferentialAction::Cascade;
        if update || sets(on_delete) {
            let what = if update { "UPDATE" } else { "DELETE" };
            let text =
                format!("invalid ON {what} action for foreign key constraint containing generated column");
            return Err(CatalogError::invalid("42601", text));
        }
    }
    if let Some(other) = delete_columns.iter().position(|id| !ids.contains(id)) {
        let name = target.columns.iter().find(|column| column.id == delete_columns[other]);
        let text = format!(
            "column \"{}\" referenced in ON DELETE SET action must be part of foreign key",
            name.map_or("", |column| &column.name)
        );
        return Err(CatalogError::invalid("42P10", text));
    }
    if !delete_columns.is_empty()
        && !matches!(on_delete, ReferentialAction::SetNull | ReferentialAction::SetDefault)
    {
        return Err(CatalogError::invalid(
            "42601",
            "a column list is only for ON DELETE SET NULL or SET DEFAULT",
        ));
    }
    Ok(ForeignKey {
        columns: ids,
        referenced: oid,
        referenced_columns,
        index: index.oid,
        match_full: *match_full,
        period: period.0,
        on_delete: *on_delete,
        on_update: *on_update,
        delete_columns,
        whole: None,
        unchecked: false,
        unguarded: false,
    })
}

/// Both sides of each column pair must be comparable.
pub(super) fn check_types(
    snapshot: &CatalogSnapshot,
    target: &Target,
    name: &str,
    key: &ForeignKey,
) -> Result<(), CatalogError> {
    let table = snapshot.table_by_oid(key.referenced);
    let columns = match &table {
        Some(table) if key.referenced != target.oid => &table.columns,
        _ => &target.columns,
    };
    for (own, other) in key.columns.iter().zip(&key.referenced_columns) {
        let own = target.columns.iter().find(|column| column.id == *own);
        let other = columns.iter().find(|column| column.id == *other);
        let (Some(own), Some(other)) = (own, other) else { continue };
        check_pair(name, (&own.name, &own.ty), (&other.name, &other.ty))?;
        let (of_own, of_other) = (own.declared().collation(), other.declared().collation());
        if blind(of_own.as_deref()) != blind(of_other.as_deref()) {
            let shown = |found: &Option<Arc<Collation>>| {
                found.as_ref().map_or("default", |found| &found.name).to_owned()
            };
            return Err(CatalogError::InvalidDefinition {
                sqlstate: "42P21",
                message: format!("foreign key constraint \"{name}\" cannot be implemented"),
                detail: Some(format!(
                    "Key columns \"{}\" of the referencing table and \"{}\" of the referenced table have \
                     incompatible collations: \"{}\" and \"{}\".  If either collation is nondeterministic, \
                     then both collations have to be the same.",
                    own.name,
                    other.name,
                    shown(&of_own),
                    shown(&of_other)
                )),
                hint: None,
            });
        }
    }
    Ok(())
}

/// A column of a foreign key and the one that it references: their names and types have to fit.
fn check_pair(
    constraint: &str,
    (own, own_type): (&str, &SqlType),
    (other, other_type): (&str, &SqlType),
) -> Result<(), CatalogError> {
    if is_comparable(own_type, other_type) {
        return Ok(());
    }
    Err(CatalogError::InvalidDefinition {
        sqlstate: "42804",
        message: format!("foreign key constraint \"{constraint}\" cannot be implemented"),
        detail: Some(format!(
            "Key columns \"{own}\" of the referencing table and \"{other}\" of the referenced table are of \
             incompatible types: {} and {}.",
            own_type.without_modifiers().pg_name(),
            other_type.without_modifiers().pg_name()
        )),
        hint: None,
    })
}

/// Refuses another type of a column of foreign keys, which the column on the other side does not fit. Keys within one table are looked
/// at when all of its columns have their types ([`check_own_keys`]).
pub(super) fn refuse_retyped(
    snapshot: &CatalogSnapshot,
    table: &TableDef,
    column: &ColumnDef,
    ty: &SqlType,
) -> Result<(), CatalogError> {
    let ty = &ty.erased();
    for constraint in table.constraints.iter().chain(&table.referenced_by) {
        let ConstraintKind::Foreign(key) = &constraint.kind else { continue };
        if key.referenced == constraint.table {
            continue;
        }
        let other = if constraint.table == table.oid { key.referenced } else { constraint.table };
        let Some(other) = snapshot.table_by_oid(other) else { continue };
        for (own, referenced) in key.columns.iter().zip(&key.referenced_columns) {
            let (ours, theirs) = match constraint.table == table.oid {
                true => (own, referenced),
                false => (referenced, own),
            };
            let Some(place) = other.column_with_id(*theirs).filter(|_| *ours == column.id) else { continue };
            let (ours, theirs) =
                ((&*column.name, ty), (&*other.columns[place].name, &other.columns[place].ty));
            match constraint.table == table.oid {
                true => check_pair(&constraint.name, ours, theirs)?,
                false => check_pair(&constraint.name, theirs, ours)?,
            }
        }
    }
    Ok(())
}

/// Refuses foreign keys of a table on itself whose columns do not fit.
///
/// # Errors
/// 42804.
pub fn check_own_keys(table: &TableDef) -> Result<(), CatalogError> {
    let column = |id: u16| table.column_with_id(id).map(|place| &table.columns[place]);
    for constraint in &table.constraints {
        let ConstraintKind::Foreign(key) = &constraint.kind else { continue };
        for (own, other) in key.columns.iter().zip(&key.referenced_columns) {
            if let (true, Some(own), Some(other)) =
                (key.referenced == table.oid, column(*own), column(*other))
            {
                check_pair(&constraint.name, (&own.name, &own.ty), (&other.name, &other.ty))?;
            }
        }
    }
    Ok(())
}

/// Refuses another collation of a column of foreign keys, where either takes texts of other bytes for equal.
pub(super) fn refuse_recollated(
    table: &TableDef,
    column: &ColumnDef,
    ty: &SqlType,
) -> Result<(), CatalogError> {
    if blind(column.declared().collation().as_deref()) == blind(ty.collation().as_deref()) {
        return Ok(());
    }
    let of = |constraint: &&Arc<ConstraintDef>, referenced: bool| match &constraint.kind {
        ConstraintKind::Foreign(key) if referenced => key.referenced_columns.contains(&column.id),
        ConstraintKind::Foreign(key) => key.columns.contains(&column.id),
        _ => false,
    };
    let own = table.constraints.iter().find(|constraint| of(constraint, false));
    let Some(found) = own.or_else(|| table.referenced_by.iter().find(|constraint| of(constraint, true)))
    else {
        return Ok(());
    };
    let name = &column.name;
    Err(CatalogError::InvalidDefinition {
        sqlstate: "42P21",
        message: format!("foreign key constraint \"{}\" cannot be implemented", found.name),
        detail: Some(format!(
            "Key column \"{name}\" would have another collation than the one on the other side.  If either collation is \
             nondeterministic, then both collations have to be the same."
        )),
        hint: None,
    })
}

/// The collation that takes texts of other bytes for equal.
fn blind(collation: Option<&Collation>) -> Option<u32> {
    collation.filter(|collation| !collation.is_deterministic()).map(|collation| collation.oid)
}

/// Whether a referencing value can be looked for among referenced ones: PostgreSQL has an equality of the two types in the
/// order of the referenced one, or turns the referencing value into it unasked.
fn is_comparable(own: &SqlType, referenced: &SqlType) -> bool {
    use SqlType::{Date, Float4, Float8, Timestamp, Timestamptz};
    let is_in = |family: &[SqlType], ty: &SqlType| family.iter().any(|known| known.same_base(ty));
    let among = |family: &[SqlType]| is_in(family, own) && is_in(family, referenced);
    cast_kind(own, referenced) == Some(CastKind::Implicit)
        || (own.is_integer() && referenced.is_integer())
        || among(&[Float4, Float8])
        || among(&[Date, Timestamp(None), Timestamptz(None)])
        || (*own == SqlType::Name && matches!(referenced, SqlType::Varchar(_)))
}
