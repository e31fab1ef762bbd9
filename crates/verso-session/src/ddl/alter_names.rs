//! Names of tables, columns and constraints, and the texts that have them.

use std::sync::Arc;

use verso_catalog::{
    ColumnDef, ConstraintDef, ConstraintKind, ObjectKind, Oid, Relation, RenamedTexts, StatisticsDef,
    TableChange, TableDef, TriggerDef,
};

use super::drop::kind_of;
use super::{Schema, text};
use crate::client::{CommandTag, tag};
use crate::failure::Failure;
use verso_parser::syntax::{AlterAction, AlterTable, DropKind, Name, QualifiedName};
use verso_planner::bind::{Binder, Renamed};

/// A new name for a column, in the texts that use it too.
pub(super) fn rename_column(binder: &Binder<'_>, table: &TableDef, column: &Name, to: &Name) -> TableChange {
    let at = table.column(&column.text);
    let renamed = |text: &Arc<str>, trigger: Option<&TriggerDef>| -> Arc<str> {
        let new = |at: usize| binder.renamed_text(text, table, trigger, Renamed::Column(at, &to.text));
        // What cannot be bound any more has the words of the name replaced.
        let new = at.and_then(new);
        new.unwrap_or_else(|| verso_parser::rename_column(text, &column.text, &to.text)).into()
    };
    let checks = table.constraints.iter().filter_map(|constraint| match &constraint.kind {
        ConstraintKind::Check { expression } => Some((constraint.oid, renamed(expression, None))),
        ConstraintKind::Unique { .. }
        | ConstraintKind::Exclude { .. }
        | ConstraintKind::Foreign(_)
        | ConstraintKind::NotNull { .. } => None,
    });
    let triggers = table.triggers.iter().filter_map(|trigger| {
        let condition = trigger.condition.as_ref()?;
        Some((trigger.oid, renamed(condition, Some(trigger))))
    });
    let generated = table
        .generated_from(&column.text)
        .filter_map(|other| Some((other.id, renamed(other.default.as_ref()?, None))));
    let texts = RenamedTexts {
        generated: generated.collect(),
        checks: checks.collect(),
        triggers: triggers.collect(),
        statistics: renamed_statistics(table, |text| Some(renamed(text, None))),
    };
    TableChange::RenameColumn { column: text(column), to: text(to), texts }
}

/// The expressions of statistics that are others with a new name.
fn renamed_statistics(
    table: &TableDef,
    renamed: impl Fn(&Arc<str>) -> Option<Arc<str>>,
) -> Vec<(Oid, Vec<Arc<str>>)> {
    let all = |one: &Arc<StatisticsDef>| {
        let texts = one.expressions.iter().map(|text| renamed(text).unwrap_or_else(|| Arc::clone(text)));
        let texts: Vec<Arc<str>> = texts.collect();
        (texts != one.expressions).then_some((one.oid, texts))
    };
    table.extended.iter().filter_map(all).collect()
}

/// The texts of a table that name it, with its new name.
pub(super) fn texts_of_renamed(binder: &Binder<'_>, table: &TableDef, to: &Name) -> RenamedTexts {
    let is_column = table.column(&table.name).is_some();
    let renamed = |text: &Arc<str>| -> Option<Arc<str>> {
        let changed = binder.renamed_text(text, table, None, Renamed::Table(&to.text));
        let changed =
            changed.unwrap_or_else(|| verso_parser::rename_table(text, &table.name, &to.text, is_column));
        (changed != **text).then(|| changed.into())
    };
    let check = |constraint: &Arc<ConstraintDef>| match &constraint.kind {
        ConstraintKind::Check { expression } => Some((constraint.oid, renamed(expression)?)),
        _ => None,
    };
    let generated = |column: &ColumnDef| {
        let text = column.default.as_ref().filter(|_| column.generated)?;
        Some((column.id, renamed(text)?))
    };
    RenamedTexts {
        checks: table.constraints.iter().filter_map(check).collect(),
        // Those of triggers name the old row and the new one.
        triggers: Vec::new(),
        generated: table.columns.iter().filter_map(generated).collect(),
        statistics: renamed_statistics(table, |text| renamed(text)),
    }
}

/// The tag of an ALTER.
pub(super) fn altered(kind: DropKind) -> &'static str {
    match kind {
        DropKind::Table => "ALTER TABLE",
        DropKind::Sequence => "ALTER SEQUENCE",
        DropKind::Index => "ALTER INDEX",
        DropKind::View => "ALTER VIEW",
        DropKind::MaterializedView => "ALTER MATERIALIZED VIEW",
    }
}

impl Schema<'_> {
    /// What a binder yields to which rights are no matter: what texts of the catalog mean has nothing to do with them.
    pub(super) fn by_anybody<T>(&self, bind: impl FnOnce(&Binder<'_>) -> T) -> T {
        let catalog = self.frame.catalog.with_role(None);
        bind(&Binder::new(&catalog, &self.frame.services.settings.time_zone, &[]))
    }

    /// ALTER … RENAME TO of a table, a sequence or an index.
    pub(super) fn rename(
        &self,
        kind: DropKind,
        name: &QualifiedName,
        to: &Name,
        if_exists: bool,
    ) -> Result<CommandTag, Failure> {
        let (kind, word) = (kind_of(kind), altered(kind));
        let catalog = &self.frame.services.instance.catalog;
        let home = self.home(name);
        self.refuse_composite(kind, name)?;
        if if_exists && self.frame.catalog.relation(Some(&home), &name.name.text).is_none() {
            self.skip(format!("relation \"{}\" does not exist, skipping", name.name.text));
            return Ok(tag(word));
        }
        self.own_named(name)?;
        // ALTER INDEX gives other names to tables and views, too.
        if kind == ObjectKind::Index
            && let Some(relation) = self.frame.catalog.relation(Some(&home), &name.name.text)
            && !matches!(relation, Relation::Index(_))
        {
            let alter = AlterTable {
                name: name.clone(),
                if_exists,
                actions: vec![AlterAction::Rename(to.clone())],
                materialized: false,
                only: false,
            };
            return self.alter_table(&alter).map(|_| tag(word));
        }
        let txn = &mut self.frame.txn.borrow_mut();
        catalog.rename(txn, kind, Some(&home), &name.name.text, &text(to))?;
        Ok(tag(word))
    }
}
