//! Tables with columns of the row type of a table that changes, or of a composite type that does.
//!
//! Their values have the fields of the type: where it gets or loses one, the rows are copied, in the same transaction, as those
//! of the table itself are.

use std::sync::Arc;

use verso_catalog::{
    ConstraintKind, NOWHERE, Naming, Oid, StoredCondition, TableDef, ViewDef, holders_of_rows, is_made_of,
    kept, relations_in,
};

use super::Schema;
use crate::failure::Failure;
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};

impl Schema<'_> {
    /// The tables that have columns of a table's row type, as they are. `field` is a column that goes or is renamed: nothing
    /// that is kept as a text may use it as a field.
    pub(super) fn holders(
        &self,
        table: &TableDef,
        field: Option<&str>,
    ) -> Result<Vec<Arc<TableDef>>, Failure> {
        let holders = holders_of_rows(self.frame.catalog, table.oid);
        if let Some(field) = field {
            let what = format!("column {field} of table {}", table.name);
            self.refuse_field_in_use(&holders, table.oid, field, &what)?;
        }
        Ok(holders)
    }

    /// Refuses to take away or to rename a field, called `what`, of a type which these tables have columns of, where something
    /// that is kept as a text may use it.
    pub(super) fn refuse_field_in_use(
        &self,
        holders: &[Arc<TableDef>],
        of: Oid,
        field: &str,
        what: &str,
    ) -> Result<(), Failure> {
        let refuse = |user: String| {
            let text = format!("{what} may be used as a field of a row by {user}");
            let text = format!("{text}, which is not followed: change that first");
            Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into())
        };
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        // A view that knows which fields there were follows; those of earlier releases may not know it.
        let knows = |view: &ViewDef| {
            view.query.relations.iter().any(|known| known.relation == of && known.place == NOWHERE)
        };
        // Those that name the type, and those over tables that have values of it.
        let numbers = std::iter::once(of).chain(holders.iter().map(|holder| holder.oid));
        let naming: Vec<Naming<'_>> = numbers.map(|oid| self.frame.catalog.naming(oid)).collect();
        for view in naming.iter().flat_map(|naming| naming.views()).filter(|view| !knows(view)) {
            let over_rows = view.query.types.iter().any(|(_, ty)| ty.0 == of.0)
                || holders.iter().any(|holder| view.query.names(holder.oid));
            let is_it = |(ty, name): &(Oid, Arc<str>)| *ty == of && **name == *field;
            if over_rows
                && verso_parser::names(&view.query.text, field)
                && binder.fields_used_by(&view).is_ok_and(|used| used.iter().any(is_it))
            {
                return refuse(format!("view {}", view.name));
            }
        }
        // Texts of this release name fields by number; of those of earlier ones only a name is known.
        let plain = |text: &str| kept::names_field_plainly(text, field);
        let uses = |text: &Option<Arc<str>>| text.as_deref().is_some_and(plain);
        let catalog = self.frame.catalog;
        let holds = |table: &&Arc<TableDef>| table.columns.iter().any(|one| is_made_of(one.declared(), of));
        for holder in catalog.naming(of).tables().filter(holds) {
            let check = holder.constraints.iter().find(|constraint| match &constraint.kind {
                ConstraintKind::Check { expression, .. } => plain(expression),
                _ => false,
            });
            if let Some(check) = check {
                return refuse(format!("constraint {} of table {}", check.name, holder.name));
            }
            if holder.columns.iter().any(|column| uses(&column.default)) {
                let what = "a default, a generated column, an index or the key";
                return refuse(format!("{what} of table {}", holder.name));
            }
            if let Some(trigger) = holder.triggers.iter().find(|trigger| uses(&trigger.condition)) {
                return refuse(format!("trigger {} of table {}", trigger.name, holder.name));
            }
        }
        // Conditions that know what their names meant follow, as views do.
        let earlier = |condition: &StoredCondition| condition.is_plain() && plain(&condition.query.text);
        let mut policies = catalog.all_policies();
        if let Some(policy) = policies.find(|policy| policy.conditions().any(earlier)) {
            return refuse(format!("policy {}", policy.name));
        }
        Ok(())
    }

    /// Copies the rows of tables, as they were before their columns' types changed.
    pub(super) fn reshape_all(&self, holders: &[Arc<TableDef>]) -> Result<(), Failure> {
        holders.iter().try_for_each(|holder| {
            self.frame.inside_now(|frame| match frame.catalog.table_by_oid(holder.oid) {
                Some(_) => Schema { frame }.reshape(holder),
                // It went along with the field.
                None => Ok(()),
            })
        })
    }
}

/// Refuses a change of the values of a row type that columns have.
pub(super) fn refuse_held(table: &TableDef, holders: &[Arc<TableDef>]) -> Result<(), Failure> {
    for holder in holders {
        let held = holder.columns.iter().find(|column| {
            let mut within = Vec::new();
            relations_in(column.declared(), &mut within);
            within.contains(&table.oid)
        });
        if let Some(column) = held {
            let text = format!(
                "cannot alter table \"{}\" because column \"{}.{}\" uses its row type",
                table.name, holder.name, column.name
            );
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
        }
    }
    Ok(())
}
