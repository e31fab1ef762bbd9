//! Triggers: CREATE, ALTER and DROP TRIGGER, and what ALTER TABLE says of them.

use super::{Expr, FunctionBody, Name, QualifiedName};

/// CREATE TRIGGER.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTrigger {
    /// Its name.
    pub name: Name,
    /// OR REPLACE.
    pub or_replace: bool,
    /// CONSTRAINT.
    pub constraint: bool,
    /// When it fires.
    pub timing: TriggerTiming,
    /// INSERT.
    pub on_insert: bool,
    /// UPDATE.
    pub on_update: bool,
    /// DELETE.
    pub on_delete: bool,
    /// TRUNCATE.
    pub on_truncate: bool,
    /// UPDATE OF these; empty means any.
    pub columns: Vec<Name>,
    /// Its table.
    pub table: QualifiedName,
    /// FROM: the other table of a constraint.
    pub from: Option<QualifiedName>,
    /// DEFERRABLE.
    pub deferrable: bool,
    /// INITIALLY DEFERRED.
    pub initially_deferred: bool,
    /// REFERENCING OLD TABLE AS.
    pub old_table: Option<Name>,
    /// REFERENCING NEW TABLE AS.
    pub new_table: Option<Name>,
    /// FOR EACH ROW, not STATEMENT.
    pub each_row: bool,
    /// WHEN, and its text, which the catalog keeps.
    pub when: Option<(Expr, String)>,
    /// What it does.
    pub action: TriggerAction,
}

/// When a trigger fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerTiming {
    /// Before the change.
    Before,
    /// When the statement is done.
    After,
    /// Instead of the change, on a view.
    InsteadOf,
}

/// What a trigger does.
#[derive(Clone, Debug, PartialEq)]
pub enum TriggerAction {
    /// EXECUTE FUNCTION, with the texts of its arguments.
    Function {
        /// Which.
        function: QualifiedName,
        /// Its arguments.
        args: Vec<String>,
    },
    /// Informix's form: statements in parentheses.
    Statements {
        /// REFERENCING OLD AS.
        old: Option<Name>,
        /// REFERENCING NEW AS.
        new: Option<Name>,
        /// The statements as the body of a function.
        body: FunctionBody,
    },
}

/// DROP TRIGGER.
#[derive(Clone, Debug, PartialEq)]
pub struct DropTrigger {
    /// Which.
    pub name: Name,
    /// Of which table; Informix's form does not say.
    pub table: Option<QualifiedName>,
    /// IF EXISTS.
    pub if_exists: bool,
}

/// ALTER TRIGGER … RENAME TO.
#[derive(Clone, Debug, PartialEq)]
pub struct RenameTrigger {
    /// Which.
    pub name: Name,
    /// Of which table.
    pub table: QualifiedName,
    /// Its new name.
    pub to: Name,
}

/// What ALTER TABLE … ENABLE or DISABLE TRIGGER means.
#[derive(Clone, Debug, PartialEq)]
pub enum WhichTriggers {
    /// One.
    Named(Name),
    /// ALL.
    All,
    /// USER: all but those that keep constraints.
    User,
}

/// When a trigger fires, by the setting `session_replication_role`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerState {
    /// ENABLE: unless that is `replica`.
    Origin,
    /// DISABLE: never.
    Disabled,
    /// ENABLE REPLICA: only if that is `replica`.
    Replica,
    /// ENABLE ALWAYS: whatever it is.
    Always,
}
