//! ALTER TABLE of what is no table: as in PostgreSQL some of its actions are for views, materialized views, sequences and indexes,
//! too.

use verso_catalog::{ObjectKind, Relation};

use super::{Schema, text};
use crate::failure::Failure;
use verso_parser::syntax::{AlterAction, QualifiedName};
use verso_parser::{OptionsOf, check_options};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};

impl Schema<'_> {
    /// Does what the actions say to a relation that is no table; whether they are for such a one, and done.
    pub(super) fn altered_beside(
        &self,
        relation: &Relation,
        name: &QualifiedName,
        actions: &[AlterAction],
    ) -> Result<bool, Failure> {
        if relation.kind() == ObjectKind::Table {
            return Ok(false);
        }
        if let [action] = actions
            && self.changed_beside(relation, name, action)?
        {
            return Ok(true);
        }
        if let Some(error) = actions.iter().find_map(|action| refused(relation, action)) {
            return Err(error.into());
        }
        let several = |action: &AlterAction| {
            matches!(
                action,
                AlterAction::Default { .. } | AlterAction::Options(_) | AlterAction::ResetOptions(_)
            )
        };
        if actions.len() < 2 || relation.as_view().is_none() || !actions.iter().all(several) {
            return Ok(false);
        }
        for action in actions {
            // Each sees what those before it have made.
            self.frame.inside(|frame| {
                let found = frame.catalog.relation(name.schema_text(), &name.name.text);
                found.map_or(Ok(false), |relation| Schema { frame }.changed_beside(relation, name, action))
            })?;
        }
        Ok(true)
    }

    /// One action; whether it is for such a relation.
    fn changed_beside(
        &self,
        relation: &Relation,
        name: &QualifiedName,
        action: &AlterAction,
    ) -> Result<bool, Failure> {
        let store = &self.frame.services.instance.catalog;
        let txn = || self.frame.txn.borrow_mut();
        match (relation, action) {
            (relation, AlterAction::Rename(to)) => {
                store.rename(&mut txn(), relation.kind(), name.schema_text(), &name.name.text, &text(to))?;
            }
            (Relation::View(view), AlterAction::RenameColumn { column, to }) => {
                store.rename_view_column(&mut txn(), view, &column.text, &text(to))?;
            }
            (Relation::View(view), AlterAction::Default { column, default }) => {
                let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
                let default = default.as_ref().map(|(expr, text)| (expr, text.as_str()));
                return self.view_default(&binder, view, column, default).map(|()| true);
            }
            (Relation::View(view), AlterAction::Options(given)) => {
                check_options(OptionsOf::View, given)?;
                let options = given.iter().map(|(name, value)| (name.as_str(), Some(value.as_str())));
                return self.set_view_options(view, options).map(|()| true);
            }
            (Relation::View(view), AlterAction::ResetOptions(names)) => {
                let options = names.iter().map(|name| (name.as_str(), None));
                return self.set_view_options(view, options).map(|()| true);
            }
            (Relation::Index(index), AlterAction::Options(given)) => {
                check_options(OptionsOf::Index(index.method()), given)?;
                self.index_options(name, given, &[])?;
            }
            (Relation::Index(_), AlterAction::ResetOptions(names)) => self.index_options(name, &[], names)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// `42809` for an action that such relations have not, in PostgreSQL's words.
fn refused(relation: &Relation, action: &AlterAction) -> Option<SqlError> {
    let kind = relation.kind();
    let is_theirs = match (kind, action) {
        (ObjectKind::MaterializedView, action) => action.suits_materialized_views(),
        (ObjectKind::View, AlterAction::Default { .. }) => true,
        // That is refused for another reason: their columns are never identity columns.
        (
            ObjectKind::View,
            AlterAction::AddIdentity { .. }
            | AlterAction::SetIdentity { .. }
            | AlterAction::DropIdentity { .. },
        ) => true,
        (ObjectKind::View | ObjectKind::Index, AlterAction::Options(_) | AlterAction::ResetOptions(_)) => {
            true
        }
        (ObjectKind::Index, AlterAction::Statistics { .. }) => true,
        (ObjectKind::Sequence, AlterAction::Logged(_)) => true,
        _ => false,
    };
    let words = words(action).filter(|_| !is_theirs)?;
    let kinds = match kind {
        ObjectKind::Index => "indexes".to_owned(),
        kind => format!("{kind}s"),
    };
    let text = format!("ALTER action {words} cannot be performed on relation \"{}\"", relation.name());
    let error = SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text);
    Some(error.with_detail(format!("This operation is not supported for {kinds}.")))
}

/// What PostgreSQL calls an action; nothing for those that it does for all relations, and for Verso's own.
fn words(action: &AlterAction) -> Option<&'static str> {
    Some(match action {
        AlterAction::OfType(Some(_)) => "OF",
        AlterAction::OfType(None) => "NOT OF",
        AlterAction::AttachPartition { .. } => "ATTACH PARTITION",
        AlterAction::DetachPartition { .. } => "DETACH PARTITION",
        AlterAction::AddColumn { .. } => "ADD COLUMN",
        AlterAction::RowSecurity { enabled: Some(true), .. } => "ENABLE ROW SECURITY",
        AlterAction::RowSecurity { enabled: Some(false), .. } => "DISABLE ROW SECURITY",
        AlterAction::RowSecurity { forced: Some(true), .. } => "FORCE ROW SECURITY",
        AlterAction::RowSecurity { .. } => "NO FORCE ROW SECURITY",
        AlterAction::Logged(true) => "SET LOGGED",
        AlterAction::Logged(false) => "SET UNLOGGED",
        AlterAction::DropColumn { .. } => "DROP COLUMN",
        AlterAction::ColumnType { .. } => "ALTER COLUMN ... SET DATA TYPE",
        AlterAction::NotNull { not_null: true, .. } => "ALTER COLUMN ... SET NOT NULL",
        AlterAction::NotNull { .. } => "ALTER COLUMN ... DROP NOT NULL",
        AlterAction::Default { .. } => "ALTER COLUMN ... SET DEFAULT",
        AlterAction::SetExpression { .. } => "ALTER COLUMN ... SET EXPRESSION",
        AlterAction::DropExpression { .. } => "ALTER COLUMN ... DROP EXPRESSION",
        AlterAction::AddIdentity { .. } => "ALTER COLUMN ... ADD IDENTITY",
        AlterAction::SetIdentity { .. } => "ALTER COLUMN ... SET IDENTITY",
        AlterAction::DropIdentity { .. } => "ALTER COLUMN ... DROP IDENTITY",
        AlterAction::Statistics { .. } => "ALTER COLUMN ... SET STATISTICS",
        AlterAction::Storage { .. } => "ALTER COLUMN ... SET STORAGE",
        AlterAction::Compression { .. } => "ALTER COLUMN ... SET COMPRESSION",
        AlterAction::ReplicaIdentity(_) => "REPLICA IDENTITY",
        AlterAction::ClusterOn(Some(_)) => "CLUSTER ON",
        AlterAction::ClusterOn(None) => "SET WITHOUT CLUSTER",
        AlterAction::AddConstraint(_) => "ADD CONSTRAINT",
        AlterAction::DropConstraint { .. } => "DROP CONSTRAINT",
        AlterAction::ValidateConstraint(_) => "VALIDATE CONSTRAINT",
        AlterAction::AlterConstraint { .. } => "ALTER CONSTRAINT",
        AlterAction::Options(_) => "SET",
        AlterAction::ResetOptions(_) => "RESET",
        _ => return None,
    })
}
