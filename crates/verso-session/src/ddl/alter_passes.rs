//! The order in which the parts of one ALTER TABLE are done: what goes first, then what changes, then what is added, then what
//! is said of it. So parts may stand in any order: a check in front of the column that it names.
//!
//! Source: PostgreSQL 18, `tablecmds.c` (`AT_PASS_…`).

use std::borrow::Cow;

use verso_parser::syntax::{AlterAction, ConstraintClause};

/// The parts as they are done; those of one pass as they are written. Names given anew, which PostgreSQL takes alone only, hold
/// from where they stand. What reads columns that go (`early`) is done before they go.
pub(super) fn in_order<'a>(
    actions: &'a [AlterAction],
    early: &dyn Fn(&AlterAction) -> bool,
) -> Cow<'a, [AlterAction]> {
    let place = |action: &AlterAction| if early(action) { (0, false) } else { (pass(action), true) };
    let renames = |action: &AlterAction| {
        matches!(
            action,
            AlterAction::Rename(_) | AlterAction::RenameColumn { .. } | AlterAction::RenameConstraint { .. }
        )
    };
    if actions.is_sorted_by_key(place) || actions.iter().any(renames) {
        return Cow::Borrowed(actions);
    }
    let mut ordered = actions.to_vec();
    ordered.sort_by_key(place);
    Cow::Owned(ordered)
}

fn pass(action: &AlterAction) -> u8 {
    match action {
        AlterAction::DropColumn { .. }
        | AlterAction::DropConstraint { .. }
        | AlterAction::DropExpression { .. }
        | AlterAction::DropIdentity { .. }
        | AlterAction::Default { default: None, .. }
        | AlterAction::NotNull { not_null: false, .. } => 0,
        AlterAction::ColumnType { .. } => 1,
        AlterAction::AddColumn { .. } => 2,
        AlterAction::SetExpression { .. } => 3,
        AlterAction::NotNull { not_null: true, .. }
        | AlterAction::Statistics { .. }
        | AlterAction::Storage { .. }
        | AlterAction::Compression { .. } => 4,
        AlterAction::AddConstraint(constraint) => match constraint.clause {
            ConstraintClause::Unique { .. } => 5,
            _ => 6,
        },
        AlterAction::Default { default: Some(_), .. } | AlterAction::AddIdentity { .. } => 6,
        _ => 7,
    }
}
