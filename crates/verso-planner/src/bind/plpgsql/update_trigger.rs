//! Trigger functions that are built in, as bodies of PL/pgSQL.

use verso_catalog::{BuiltInTrigger, ColumnDef, TableDef, TriggerDef, TriggerKind};
use verso_exec::functions::quote_ident;
use verso_types::{SqlType, SystemType};

use crate::errors::{SqlError, sqlstate};

/// The body of a trigger that keeps rows from being updated to what they are. The texts of the rows are compared: numbers that are
/// equal but not written alike are different, as in PostgreSQL.
fn suppressing_body(trigger: &TriggerDef) -> Result<String, SqlError> {
    let wrong = |text: &str| {
        let text = format!("suppress_redundant_updates_trigger: must be called {text}");
        Err(SqlError::new("39P01", text))
    };
    if trigger.kind.has(TriggerKind::INSERT) || trigger.kind.has(TriggerKind::DELETE) {
        return wrong("on update");
    }
    if !trigger.kind.has(TriggerKind::BEFORE) {
        return wrong("before update");
    }
    if !trigger.kind.is_row() {
        return wrong("for each row");
    }
    Ok("BEGIN IF NEW::text = OLD::text THEN RETURN NULL; END IF; RETURN NEW; END".to_owned())
}

/// The body of such a trigger of a table: the texts of its columns become the column that the first argument names.
///
/// # Errors
/// As PostgreSQL, where the trigger does not fire before rows, or where its arguments name no fitting columns.
pub fn update_trigger_body(
    built_in: BuiltInTrigger,
    trigger: &TriggerDef,
    table: &TableDef,
) -> Result<String, SqlError> {
    if built_in == BuiltInTrigger::SuppressRedundant {
        return suppressing_body(trigger);
    }
    let internal = |text: &str| SqlError::new("XX000", format!("tsvector_update_trigger: {text}"));
    if !trigger.kind.is_row() {
        return Err(internal("must be fired for row"));
    }
    if !trigger.kind.has(TriggerKind::BEFORE) {
        return Err(internal("must be fired BEFORE event"));
    }
    if trigger.kind.has(TriggerKind::DELETE) {
        return Err(internal("must be fired for INSERT or UPDATE"));
    }
    let [vector, config, texts @ ..] = trigger.args.as_slice() else {
        return Err(internal("arguments must be tsvector_field, ts_config, text_field1, ...)"));
    };
    if texts.is_empty() {
        return Err(internal("arguments must be tsvector_field, ts_config, text_field1, ...)"));
    }
    let column = |name: &str, what: &str| {
        let found = table.shown().iter().find(|column| *column.name == *name);
        found.ok_or_else(|| {
            SqlError::new(sqlstate::UNDEFINED_COLUMN, format!("{what} \"{name}\" does not exist"))
        })
    };
    let of_type = |column: &ColumnDef, fits: bool, what: &str| match fits {
        true => Ok(()),
        false => {
            let text = format!("column \"{}\" is not of {what} type", column.name);
            Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text))
        }
    };
    let target = column(vector, "tsvector column")?;
    of_type(target, target.ty == SqlType::System(SystemType::TsVector), "tsvector")?;
    let mut check = String::new();
    let config = match built_in {
        BuiltInTrigger::VectorUpdate => {
            if !config.contains('.') {
                let text = format!("text search configuration name \"{config}\" must be schema-qualified");
                return Err(SqlError::new("22023", text));
            }
            format!("'{}'::regconfig", config.replace('\'', "''"))
        }
        BuiltInTrigger::VectorUpdateColumn => {
            let named = column(config, "configuration column")?;
            of_type(named, named.ty == SqlType::System(SystemType::Regconfig), "regconfig")?;
            let own = format!("NEW.{}", quote_ident(config));
            let text = format!("configuration column \"{config}\" must not be null").replace('\'', "''");
            check = format!(
                "IF {own} IS NULL THEN RAISE EXCEPTION USING MESSAGE = '{text}', ERRCODE = '22004'; END IF; "
            );
            own
        }
        BuiltInTrigger::SuppressRedundant => return suppressing_body(trigger),
    };
    let mut parts = Vec::new();
    for name in texts {
        let text = column(name, "column")?;
        of_type(text, text.ty.is_text(), "a character")?;
        parts.push(format!("NEW.{}", quote_ident(name)));
    }
    let (target, texts) = (quote_ident(vector), parts.join(", "));
    Ok(format!(
        "BEGIN {check}NEW.{target} := to_tsvector({config}, concat_ws(' ', {texts})); RETURN NEW; END"
    ))
}
