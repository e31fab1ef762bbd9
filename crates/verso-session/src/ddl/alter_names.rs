//! Names of tables, columns and constraints, and the texts that have them.

use std::sync::Arc;

use verso_catalog::{
    ColumnDef, ConstraintDef, ConstraintKind, Need, ObjectKind, Oid, PolicyDef, Relation, RenamedTexts,
    StatisticsDef, TableChange, TableDef,
};

use super::drop::kind_of;
use super::{Schema, text};
use crate::client::{CommandTag, tag};
use crate::failure::Failure;
use verso_parser::syntax::{AlterAction, AlterTable, DropKind, Name, QualifiedName};
use verso_planner::errors::SqlError;

/// A policy's number, USING and WITH CHECK.
type PolicyTexts = (Oid, Option<Arc<str>>, Option<Arc<str>>);

/// A new name for a column, in the checks that use it too.
pub(super) fn rename_column(
    table: &TableDef,
    column: &Name,
    to: &Name,
    policies: Vec<PolicyTexts>,
) -> TableChange {
    let checks = table.constraints.iter().filter_map(|constraint| match &constraint.kind {
        ConstraintKind::Check { expression } => {
            let renamed = verso_parser::rename_column(expression, &column.text, &to.text);
            Some((constraint.oid, renamed.into()))
        }
        ConstraintKind::Unique { .. }
        | ConstraintKind::Exclude { .. }
        | ConstraintKind::Foreign(_)
        | ConstraintKind::NotNull { .. } => None,
    });
    let triggers = table.triggers.iter().filter_map(|trigger| {
        let condition = trigger.condition.as_deref()?;
        Some((trigger.oid, verso_parser::rename_column(condition, &column.text, &to.text).into()))
    });
    let generated = table.generated_from(&column.text).filter_map(|other| {
        let renamed = verso_parser::rename_column(other.default.as_deref()?, &column.text, &to.text);
        Some((other.id, renamed.into()))
    });
    let other = |text: &Arc<str>| Some(verso_parser::rename_column(text, &column.text, &to.text).into());
    let texts = RenamedTexts {
        generated: generated.collect(),
        checks: checks.collect(),
        triggers: triggers.collect(),
        policies,
        statistics: renamed_statistics(table, other),
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
    /// The policies of a table that name a column, with its new name.
    pub(super) fn renamed_policies(
        &self,
        table: &TableDef,
        column: &Name,
        to: &Name,
    ) -> Result<Vec<PolicyTexts>, SqlError> {
        let renamed = |text: &Option<Arc<str>>| {
            text.as_ref().map(|text| verso_parser::rename_column(text, &column.text, &to.text).into())
        };
        let refused = |policy: &PolicyDef| {
            let what = format!(
                "renaming column \"{}\", which policy \"{}\" names beside a query,",
                column.text, policy.name
            );
            SqlError::unsupported(what)
        };
        // Those of other tables name it within a query.
        let own = table.columns.iter().find(|own| *own.name == *column.text);
        let need = own.map(|own| Need::Column(table.oid, own.id));
        let mut others = self.frame.catalog.all_policies().filter(|policy| policy.table != table.oid);
        if let Some(policy) = others.find(|policy| need.is_some_and(|need| policy.needs.contains(&need))) {
            return Err(refused(policy));
        }
        let mut all = Vec::new();
        for policy in self.frame.catalog.policies(table.oid) {
            let texts: PolicyTexts = (policy.oid, renamed(&policy.using), renamed(&policy.check));
            if texts.1 == policy.using && texts.2 == policy.check {
                continue;
            }
            // Whose column a name within a query is, its text alone does not say.
            let asks = |text: &Arc<str>| text.to_ascii_lowercase().contains("select");
            if policy.using.iter().chain(&policy.check).any(asks) {
                return Err(refused(policy));
            }
            all.push(texts);
        }
        Ok(all)
    }

    /// The texts of a table that name it, with its new name.
    pub(super) fn texts_of_renamed(&self, table: &TableDef, to: &Name) -> RenamedTexts {
        let is_column = table.column(&table.name).is_some();
        let renamed = |text: &Arc<str>| -> Option<Arc<str>> {
            let changed = verso_parser::rename_table(text, &table.name, &to.text, is_column);
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
        let policies = self.frame.catalog.policies(table.oid);
        let policy = |policy: &Arc<PolicyDef>| {
            let (using, check) = (&policy.using, &policy.check);
            let new = |text: &Option<Arc<str>>| text.as_ref().and_then(renamed).or_else(|| text.clone());
            let texts = (policy.oid, new(using), new(check));
            (texts.1 != *using || texts.2 != *check).then_some(texts)
        };
        RenamedTexts {
            checks: table.constraints.iter().filter_map(check).collect(),
            // Those of triggers name the old row and the new one.
            triggers: Vec::new(),
            generated: table.columns.iter().filter_map(generated).collect(),
            policies: policies.iter().filter_map(policy).collect(),
            statistics: renamed_statistics(table, |text| renamed(text)),
        }
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
