//! Triggers: what the catalog knows of them.
//!
//! T1. A table's triggers are kept by name, which is the order in which they fire; so are a view's.
//! T2. One that keeps a constraint may be put off to the commit; its own number stands for the constraint's.

use std::sync::Arc;

use crate::ddl::quoted;
use crate::definition::{FunctionDef, Oid, TableDef};
use crate::snapshot::CatalogSnapshot;

/// A trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerDef {
    /// Its row in `pg_trigger`.
    pub oid: Oid,
    /// Its name, folded; unique within its table.
    pub name: Arc<str>,
    /// Its table.
    pub table: Oid,
    /// Of a partition: the trigger of the whole table that it is a part of; 0 is none.
    pub part_of: Oid,
    /// What it calls; 0 where it has an action of its own.
    pub function: Oid,
    /// When it fires and for what.
    pub kind: TriggerKind,
    /// UPDATE OF these columns' numbers; empty means any.
    pub columns: Vec<u16>,
    /// WHEN, as SQL text.
    pub condition: Option<Arc<str>>,
    /// TG_ARGV.
    pub args: Vec<Arc<str>>,
    /// Whether it fires.
    pub enabled: TriggerEnabled,
    /// CREATE CONSTRAINT TRIGGER?
    pub constraint: bool,
    /// What its constraint is called, where that is another name than its own.
    pub constraint_name: Option<Arc<str>>,
    /// FROM: the other table of a constraint; 0 is none.
    pub other_table: Oid,
    /// May it be put off to the commit?
    pub deferrable: bool,
    /// Is it, unless SET CONSTRAINTS says otherwise?
    pub initially_deferred: bool,
    /// Under which name it reads the old rows of the statement.
    pub old_table: Option<Arc<str>>,
    /// The same of the new ones.
    pub new_table: Option<Arc<str>>,
    /// Statements in place of a function (Informix).
    pub action: Option<TriggerStatements>,
}

/// Statements that a trigger runs itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerStatements {
    /// They are the body of a function in PL/pgSQL.
    pub body: Arc<str>,
    /// REFERENCING OLD AS.
    pub old: Option<Arc<str>>,
    /// REFERENCING NEW AS.
    pub new: Option<Arc<str>>,
}

/// When a trigger fires and for what: PostgreSQL's `tgtype`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TriggerKind(pub i16);

impl TriggerKind {
    /// For each row, not once a statement.
    pub const ROW: i16 = 1;
    /// Before the change.
    pub const BEFORE: i16 = 2;
    /// For INSERT.
    pub const INSERT: i16 = 4;
    /// For DELETE.
    pub const DELETE: i16 = 8;
    /// For UPDATE.
    pub const UPDATE: i16 = 16;
    /// For TRUNCATE.
    pub const TRUNCATE: i16 = 32;
    /// Instead of the change.
    pub const INSTEAD: i16 = 64;

    /// Whether it has all of these marks.
    pub fn has(self, marks: i16) -> bool {
        self.0 & marks == marks
    }

    /// Whether there is anything that it is for.
    pub fn is_for_something(self) -> bool {
        self.0 & (TriggerKind::INSERT | TriggerKind::DELETE | TriggerKind::UPDATE | TriggerKind::TRUNCATE)
            != 0
    }

    /// For each row?
    pub fn is_row(self) -> bool {
        self.has(TriggerKind::ROW)
    }

    /// Before the change?
    pub fn is_before(self) -> bool {
        self.has(TriggerKind::BEFORE)
    }

    /// Instead of the change?
    pub fn is_instead(self) -> bool {
        self.has(TriggerKind::INSTEAD)
    }

    /// When the statement is done?
    pub fn is_after(self) -> bool {
        !self.is_before() && !self.is_instead()
    }

    /// `BEFORE`, `AFTER`, `INSTEAD OF`: TG_WHEN.
    pub fn timing(self) -> &'static str {
        match (self.is_before(), self.is_instead()) {
            (true, _) => "BEFORE",
            (_, true) => "INSTEAD OF",
            _ => "AFTER",
        }
    }

    /// `ROW`, `STATEMENT`: TG_LEVEL.
    pub fn level(self) -> &'static str {
        if self.is_row() { "ROW" } else { "STATEMENT" }
    }
}

/// Whether a trigger fires, by `session_replication_role`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TriggerEnabled {
    /// Unless that is `replica`.
    #[default]
    Origin,
    /// Never.
    Disabled,
    /// Only if that is `replica`.
    Replica,
    /// Whatever it is.
    Always,
}

impl TriggerEnabled {
    /// As in `pg_trigger.tgenabled`.
    pub fn letter(self) -> char {
        match self {
            TriggerEnabled::Origin => 'O',
            TriggerEnabled::Disabled => 'D',
            TriggerEnabled::Replica => 'R',
            TriggerEnabled::Always => 'A',
        }
    }

    /// What a letter means.
    pub fn from_letter(letter: char) -> Option<TriggerEnabled> {
        Some(match letter {
            'O' => TriggerEnabled::Origin,
            'D' => TriggerEnabled::Disabled,
            'R' => TriggerEnabled::Replica,
            'A' => TriggerEnabled::Always,
            _ => return None,
        })
    }

    /// Whether it fires in a session whose role is replica, or is not.
    pub fn fires(self, replica: bool) -> bool {
        match self {
            TriggerEnabled::Origin => !replica,
            TriggerEnabled::Disabled => false,
            TriggerEnabled::Replica => replica,
            TriggerEnabled::Always => true,
        }
    }
}

/// A trigger function that is built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltInTrigger {
    /// `tsvector_update_trigger`, which keeps a `tsvector` in step with the texts of its row: its arguments name the
    /// configuration.
    VectorUpdate,
    /// `tsvector_update_trigger_column`: a column does.
    VectorUpdateColumn,
    /// `suppress_redundant_updates_trigger`: no row is updated to what it is.
    SuppressRedundant,
}

impl BuiltInTrigger {
    const ALL: [BuiltInTrigger; 3] =
        [BuiltInTrigger::VectorUpdate, BuiltInTrigger::VectorUpdateColumn, BuiltInTrigger::SuppressRedundant];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            BuiltInTrigger::VectorUpdate => "tsvector_update_trigger",
            BuiltInTrigger::VectorUpdateColumn => "tsvector_update_trigger_column",
            BuiltInTrigger::SuppressRedundant => "suppress_redundant_updates_trigger",
        }
    }

    /// Its row in `pg_proc`.
    #[must_use]
    pub fn oid(self) -> Oid {
        match self {
            BuiltInTrigger::VectorUpdate => Oid(3752),
            BuiltInTrigger::VectorUpdateColumn => Oid(3753),
            BuiltInTrigger::SuppressRedundant => Oid(1291),
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<BuiltInTrigger> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// The one with this number.
    #[must_use]
    pub fn of(oid: Oid) -> Option<BuiltInTrigger> {
        Self::ALL.into_iter().find(|one| one.oid() == oid)
    }
}

impl TriggerDef {
    /// What its constraint is called; none where it is no constraint trigger.
    #[must_use]
    pub fn own_constraint(&self) -> Option<&Arc<str>> {
        self.constraint.then(|| self.constraint_name.as_ref().unwrap_or(&self.name))
    }

    /// The statement that makes the trigger, as `pg_get_triggerdef` shows it; `qualified` shows the table with its schema,
    /// and `pretty` leaves out parentheses; `other` is the name of the table behind FROM. The condition stands as it was given; the function with its schema unless its name alone finds it.
    pub fn sql(
        &self,
        table: &TableDef,
        other: Option<&str>,
        function: Option<(&FunctionDef, bool)>,
        (qualified, pretty): (bool, bool),
    ) -> String {
        let mut text =
            String::from(if self.constraint { "CREATE CONSTRAINT TRIGGER " } else { "CREATE TRIGGER " });
        text.push_str(&quoted(&self.name));
        // Informix's form has no word for when it fires.
        if self.action.is_none() {
            text.push(' ');
            text.push_str(self.kind.timing());
        }
        for (n, event) in self.events(table).into_iter().enumerate() {
            text.push_str(if n > 0 { " OR " } else { " " });
            text.push_str(&event);
        }
        text.push_str(" ON ");
        if qualified {
            text.push_str(&quoted(&table.schema));
            text.push('.');
        }
        text.push_str(&quoted(&table.name));
        if let Some(other) = other {
            text.push_str(" FROM ");
            text.push_str(other);
        }
        if self.constraint {
            text.push_str(if self.deferrable { " DEFERRABLE" } else { " NOT DEFERRABLE" });
            text.push_str(if self.initially_deferred {
                " INITIALLY DEFERRED"
            } else {
                " INITIALLY IMMEDIATE"
            });
        }
        let action = self.action.as_ref();
        let names = [
            (" OLD TABLE AS ", self.old_table.as_ref()),
            (" NEW TABLE AS ", self.new_table.as_ref()),
            (" OLD AS ", action.and_then(|action| action.old.as_ref())),
            (" NEW AS ", action.and_then(|action| action.new.as_ref())),
        ];
        if names.iter().any(|(_, name)| name.is_some()) {
            text.push_str(" REFERENCING");
        }
        for (word, name) in names {
            if let Some(name) = name {
                text.push_str(word);
                text.push_str(&quoted(name));
            }
        }
        text.push_str(" FOR EACH ");
        text.push_str(self.kind.level());
        if let Some(condition) = &self.condition {
            text.push_str(&if pretty || is_in_parentheses(condition) {
                format!(" WHEN ({condition})")
            } else {
                format!(" WHEN (({condition}))")
            });
        }
        match (action, function) {
            (Some(action), _) => text.push_str(&format!(" ({})", statements(&action.body))),
            (None, Some((function, visible))) => {
                let schema = if visible { String::new() } else { quoted(&function.schema) + "." };
                self.call(&(schema + &quoted(&function.name)), &mut text);
            }
            (None, None) => {
                if let Some(built_in) = BuiltInTrigger::of(self.function) {
                    self.call(built_in.name(), &mut text);
                }
            }
        }
        text
    }

    /// Appends what the trigger calls.
    fn call(&self, name: &str, text: &mut String) {
        let args: Vec<String> =
            self.args.iter().map(|arg| format!("'{}'", arg.replace('\'', "''"))).collect();
        text.push_str(&format!(" EXECUTE FUNCTION {name}({})", args.join(", ")));
    }

    /// `INSERT`, `UPDATE OF a, b`, …
    fn events(&self, table: &TableDef) -> Vec<String> {
        let all = [
            (TriggerKind::INSERT, "INSERT"),
            (TriggerKind::DELETE, "DELETE"),
            (TriggerKind::UPDATE, "UPDATE"),
            (TriggerKind::TRUNCATE, "TRUNCATE"),
        ];
        let mut events = Vec::new();
        for (mark, word) in all.into_iter().filter(|(mark, _)| self.kind.has(*mark)) {
            let columns = self.columns.iter().filter_map(|id| table.column_with_id(*id));
            let names: Vec<String> = columns.map(|at| quoted(&table.columns[at].name)).collect();
            events.push(if mark == TriggerKind::UPDATE && !names.is_empty() {
                format!("{word} OF {}", names.join(", "))
            } else {
                word.to_string()
            });
        }
        events
    }
}

impl CatalogSnapshot {
    /// The trigger of the whole table that one of a partition is a part of, and that table.
    pub fn whole_trigger(&self, part: &TriggerDef) -> Option<(Arc<TableDef>, Arc<TriggerDef>)> {
        let table = self.table_by_oid(part.table)?;
        let whole = self.table_by_oid(table.partition_of.as_ref()?.parent)?;
        let trigger = whole.triggers.iter().find(|trigger| trigger.oid == part.part_of).cloned()?;
        Some((whole, trigger))
    }
}

/// Whether one pair of parentheses is around the whole of an expression.
fn is_in_parentheses(text: &str) -> bool {
    let (mut depth, mut quote, end) = (0, None, text.len());
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, _) => {}
        }
        if depth == 0 {
            return at > 0 && at + 1 == end;
        }
    }
    false
}

/// The statements of a body that was made of them.
fn statements(body: &str) -> String {
    let lines = body.strip_prefix("BEGIN\n").and_then(|rest| rest.strip_suffix("RETURN NULL;\nEND"));
    let text = lines.unwrap_or(body).trim_end().trim_end_matches(';');
    text.replace(";\n", ", ").replace("PERFORM ", "EXECUTE PROCEDURE ")
}
