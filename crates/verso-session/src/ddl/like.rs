//! CREATE TABLE … LIKE: what a new table takes over from another one.

use std::sync::Arc;

use verso_catalog::{
    COLUMN_COMPRESSION, COLUMN_STORAGE, CatalogSnapshot, ColumnDef, CommentOn, ConstraintDef, ConstraintKind,
    IndexDef, NewColumn, NewConstraint, NewConstraintKind, NewTable, Object, Oid, Relation, Rights,
    StatisticsDef, StatisticsKind, TableDef, TableOptions,
};
use verso_exec::functions::quote_ident;
use verso_parser::syntax::QualifiedName;
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};
use verso_storage::ObjectId;
use verso_types::SqlType;

use super::Schema;
use super::alter_columns::ColumnWords;
use super::exclusion::exclusion_statement;
use crate::failure::Failure;

/// Adds the columns of a table; with `identity`, the catalog, those that number the rows by themselves do so again, from where the
/// sequences of the table's begin.
pub(super) fn copy_columns(
    table: &TableDef,
    new: &mut NewTable,
    defaults: bool,
    identity: Option<&CatalogSnapshot>,
    generated: bool,
    reservable: bool,
) {
    for column in table.shown() {
        let mut copy = NewColumn::new(Arc::clone(&column.name), column.declared().clone());
        copy.not_null = column.not_null;
        copy.reservable = column.reservable && reservable;
        if let Some(kind) = column.identity {
            let sequence = identity.and_then(|catalog| catalog.identity_sequence(table, column));
            copy.identity = identity.map(|_| kind);
            copy.serial = identity.is_some();
            copy.sequence = sequence.map(|sequence| sequence.bounds.clone());
        } else {
            let taken = if column.generated { generated } else { defaults };
            copy.default = column.default.clone().filter(|_| taken);
            copy.generated = column.generated && generated;
            copy.is_virtual = column.is_virtual && generated;
        }
        new.columns.push(copy);
    }
}

/// What is said of how the values of a table's columns are kept, by their names.
pub(super) fn words_of_columns(
    table: &TableDef,
    storage: bool,
    compression: bool,
) -> Vec<(Arc<str>, ColumnWords)> {
    let word = |name: &str, wanted: bool, letter: Option<char>| {
        letter
            .filter(|_| wanted)
            .map(|letter| (Arc::<str>::from(name), Some(Arc::<str>::from(letter.to_string()))))
    };
    let of = |column: &ColumnDef| {
        let kept = word(COLUMN_STORAGE, storage, table.column_storage(column.id));
        let packed = word(COLUMN_COMPRESSION, compression, table.column_compression(column.id));
        (Arc::clone(&column.name), kept.into_iter().chain(packed).collect())
    };
    table.shown().iter().map(of).collect()
}

/// Adds the checks of a table and its keys, where they are wanted; foreign keys never. Of a partition the keys are parts of
/// those of its table.
pub(super) fn copy_constraints(table: &TableDef, new: &mut NewTable, checks: bool, keys: bool, part: bool) {
    let name_of = |id: &u16| table.column_with_id(*id).map(|at| Arc::clone(&table.columns[at].name));
    for constraint in &table.constraints {
        let part_of = match &constraint.kind {
            ConstraintKind::Unique { index, .. } if part => Some(*index),
            _ => None,
        };
        let (name, kind) = match &constraint.kind {
            ConstraintKind::Check { expression } if checks => {
                let kind =
                    NewConstraintKind::Check { expression: Arc::clone(expression), columns: Vec::new() };
                (Some(Arc::clone(&constraint.name)), kind)
            }
            ConstraintKind::NotNull { column } => match name_of(column) {
                // always, and under its name
                Some(column) => (Some(Arc::clone(&constraint.name)), NewConstraintKind::NotNull { column }),
                None => continue,
            },
            ConstraintKind::Unique { columns, index, primary } if keys => {
                let kind = NewConstraintKind::Unique {
                    columns: columns.iter().filter_map(name_of).collect(),
                    primary: *primary,
                    nulls_distinct: table.index(*index).is_none_or(|index| index.nulls_distinct),
                    without_overlaps: table.index(*index).is_some_and(|index| index.is_temporal()),
                    include: {
                        let include = table.index(*index).map(|index| index.include.as_slice());
                        include.unwrap_or_default().iter().filter_map(name_of).collect()
                    },
                };
                (None, kind)
            }
            _ => continue,
        };
        new.constraints.push(NewConstraint {
            name,
            kind,
            deferrable: constraint.deferrable,
            initially_deferred: constraint.initially_deferred,
            // A new table has no rows that could break it.
            validated: true,
            enforced: constraint.enforced,
            part_of,
            no_inherit: constraint.no_inherit,
            options: constraint
                .kind
                .own_index()
                .and_then(|index| table.index(index))
                .map_or_else(TableOptions::default, |index| index.options.clone()),
        });
    }
}

/// The indexes that belong to no constraint, and those of exclusion constraints, as statements for another table.
pub(super) fn plain_indexes(table: &TableDef, schema: &str, target: &str) -> Vec<(Oid, String)> {
    let name = format!("{}.{}", quote_ident(schema), quote_ident(target));
    let statement = |index: &Arc<IndexDef>| {
        let owner = table.constraints.iter().find(|constraint| Some(constraint.oid) == index.constraint);
        let text = match (owner, index.excluding.is_some()) {
            (None, _) => index_statement(index, table, &name),
            (Some(owner), true) => exclusion_statement(index, owner, table, &name),
            (Some(_), false) => return None,
        };
        Some((index.oid, text))
    };
    table.indexes.iter().filter_map(statement).collect()
}

/// The statistics of a table as statements for another one, in a schema; they get new names there.
pub(super) fn statistics_like<'t>(
    table: &'t TableDef,
    (schema, target): (&str, &str),
) -> impl Iterator<Item = String> + 't {
    let target = format!("{}.{}", quote_ident(schema), quote_ident(target));
    table.extended.iter().map(move |one| {
        let named = StatisticsKind::NAMED.into_iter().filter(|kind| one.has(*kind));
        let kinds: Vec<&str> = named.map(StatisticsKind::word).collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!("({}) ", kinds.join(", ")) };
        let column = |id: &u16| table.column_with_id(*id).map(|at| quote_ident(&table.columns[at].name));
        let columns = one.columns.iter().filter_map(column);
        let expressions = one.expressions.iter().map(|text| format!("({text})"));
        let items: Vec<String> = columns.chain(expressions).collect();
        format!("CREATE STATISTICS {kinds}ON {} FROM {target}", items.join(", "))
    })
}

/// An index of a table as a statement for another one.
pub(super) fn index_statement(index: &IndexDef, table: &TableDef, target: &str) -> String {
    let unique = if index.unique { "UNIQUE " } else { "" };
    format!("CREATE {unique}INDEX ON {target} {}", index.declaration(table, quote_ident))
}

impl Schema<'_> {
    /// Refuses checks and indexes of whole rows of a table where another one is to have them.
    pub(super) fn refuse_whole_rows(
        &self,
        table: &TableDef,
        checks: bool,
        indexes: bool,
    ) -> Result<(), SqlError> {
        let refuse = |detail: String| {
            let text = "cannot convert whole-row table reference";
            Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_detail(detail))
        };
        let is_one = |text: &str| self.by_anybody(|binder| binder.names_whole_row(text, table));
        for constraint in table.constraints.iter().filter(|_| checks) {
            if let ConstraintKind::Check { expression } = &constraint.kind
                && is_one(expression)
            {
                let (name, table) = (&constraint.name, &table.name);
                return refuse(format!(
                    "Constraint \"{name}\" contains a whole-row reference to table \"{table}\"."
                ));
            }
        }
        for index in table.indexes.iter().filter(|_| indexes) {
            let hidden = |column: &&ColumnDef| {
                column.is_hidden()
                    && (index.guard == Some(column.id) || index.columns().any(|id| id == column.id))
            };
            let mut texts =
                table.columns.iter().filter(hidden).filter_map(|column| column.default.as_deref());
            if texts.any(is_one) {
                return refuse(format!("Index \"{}\" contains a whole-row table reference.", index.name));
            }
        }
        Ok(())
    }

    /// The table that a LIKE names; of a view, and of a composite type, one with its columns.
    pub(super) fn like_what(
        &self,
        binder: &Binder<'_>,
        name: &QualifiedName,
    ) -> Result<Arc<TableDef>, Failure> {
        if let Some(ty) = self.composite_called(name)
            && let SqlType::Row(row) = &ty.ty
        {
            self.needs(Object::Type(ty.oid), Rights::USAGE, "type", &ty.name)?;
            let mut columns = Vec::with_capacity(row.fields.len());
            for ((name, declared), id) in row.as_written().zip(&ty.fields) {
                let column = ColumnDef::new(Arc::clone(name), *id, declared.erased());
                columns.push(ColumnDef { domain: ColumnDef::domain_of(declared), ..column });
            }
            let (schema, name) = (Arc::clone(&ty.schema), Arc::clone(&ty.name));
            return Ok(Arc::new(TableDef::new(ty.oid, schema, name, ObjectId(0), columns)));
        }
        let table = match self.frame.catalog.relation(name.schema_text(), &name.name.text) {
            Some(Relation::View(view)) => Arc::new(view.as_table()),
            Some(other @ (Relation::Sequence(_) | Relation::Index(_))) => {
                let kind = if matches!(other, Relation::Index(_)) { "indexes" } else { "sequences" };
                let text = format!("relation \"{}\" is invalid in LIKE clause", other.name());
                let detail = format!("This operation is not supported for {kind}.");
                let error = SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).with_detail(detail);
                return Err(error.at(name.at().start).into());
            }
            _ => binder.table(name)?,
        };
        binder.require(&table, Rights::SELECT, &[])?;
        Ok(table)
    }

    /// Comments of what a new table has taken over: of columns and NOT NULL always, of what else was wanted.
    pub(super) fn copy_comments(
        &self,
        from: &TableDef,
        to: Oid,
        (checks, indexes, statistics): (bool, bool, bool),
    ) -> Result<(), Failure> {
        let catalog = self.frame.catalog;
        let Some(new) = catalog.table_by_oid(to) else { return Ok(()) };
        let mut pairs = Vec::new();
        for column in from.shown() {
            if let Some(at) = new.column(&column.name) {
                pairs.push((
                    CommentOn::Column(from.oid, column.id),
                    CommentOn::Column(to, new.columns[at].id),
                ));
            }
        }
        for constraint in &from.constraints {
            let taken = match constraint.kind {
                ConstraintKind::NotNull { .. } => true,
                ConstraintKind::Check { .. } => checks,
                _ => false,
            };
            if let Some(own) =
                new.constraint(&constraint.name).filter(|own| taken && is_like(constraint, own))
            {
                pairs.push((
                    CommentOn::Constraint(constraint.oid, from.oid),
                    CommentOn::Constraint(own.oid, to),
                ));
            }
        }
        let mut left: Vec<&Arc<IndexDef>> = new.all_indexes().collect();
        for index in from.all_indexes().filter(|_| indexes) {
            let said = |index: &IndexDef, table: &TableDef| {
                (
                    index.primary,
                    index.unique,
                    index.excluding.is_some(),
                    index.declaration(table, quote_ident),
                )
            };
            let wanted = said(index, from);
            if let Some(at) = left.iter().position(|own| said(own, &new) == wanted) {
                let own = left.remove(at);
                pairs.push((CommentOn::Relation(index.oid), CommentOn::Relation(own.oid)));
            }
        }
        let mut left: Vec<&Arc<StatisticsDef>> = new.extended.iter().collect();
        for one in from.extended.iter().filter(|_| statistics) {
            let said = |one: &StatisticsDef, table: &TableDef| {
                let name = |id: &u16| table.column_with_id(*id).map(|at| Arc::clone(&table.columns[at].name));
                let columns: Vec<_> = one.columns.iter().map(name).collect();
                let kinds: Vec<bool> = StatisticsKind::NAMED.into_iter().map(|kind| one.has(kind)).collect();
                (columns, kinds, one.expressions.clone())
            };
            let wanted = said(one, from);
            if let Some(at) = left.iter().position(|own| said(own, &new) == wanted) {
                let own = left.remove(at);
                pairs.push((CommentOn::Statistics(one.oid), CommentOn::Statistics(own.oid)));
            }
        }
        let store = &self.frame.services.instance.catalog;
        for (of, on) in pairs {
            if let Some(text) = of.text(catalog) {
                store.comment(&mut self.frame.txn.borrow_mut(), on, Some(&text))?;
            }
        }
        Ok(())
    }
}

/// Whether a constraint of a new table was taken over from another one of its name.
fn is_like(from: &ConstraintDef, own: &ConstraintDef) -> bool {
    match (&from.kind, &own.kind) {
        (ConstraintKind::NotNull { .. }, ConstraintKind::NotNull { .. }) => true,
        (ConstraintKind::Check { expression }, ConstraintKind::Check { expression: own }) => {
            expression == own
        }
        _ => false,
    }
}
