//! `\d`, `\dt`, `\ds`, `\df`: what the system tables say, in psql's form.
//!
//! The catalog is read by SQL, like any program would; the few rows are joined here.

use std::collections::HashMap;

use verso_types::{SqlType, Value};
use versodb::{Connection, Error};

use crate::shell::command::Listing;
use crate::shell::table::{Table, TableColumn};

type Rows = Vec<Vec<Value>>;

/// The text of a listing.
pub fn list(connection: &mut Connection, listing: Listing) -> Result<String, Error> {
    if listing == Listing::Functions {
        return functions(connection);
    }
    let wanted: &[&str] = match listing {
        Listing::Tables => &["r"],
        Listing::Sequences => &["S"],
        Listing::Relations | Listing::Functions => &["r", "S"],
    };
    let mut lines = Vec::new();
    for relation in relations(connection)? {
        if relation.schema != "pg_catalog" && wanted.contains(&relation.kind.as_str()) {
            let kind = if relation.kind == "r" { "table" } else { "sequence" };
            lines.push(vec![relation.schema, relation.name, kind.to_owned()]);
        }
    }
    lines.sort();
    if lines.is_empty() {
        return Ok("Did not find any relations.\n".to_owned());
    }
    Ok(table("List of relations", &["Schema", "Name", "Type"], lines).aligned())
}

/// The text for one table or sequence; `None` when there is no such.
pub fn describe(connection: &mut Connection, name: &str) -> Result<Option<String>, Error> {
    let (schema, name) = split_name(name);
    let mut found = relations(connection)?;
    found.retain(|relation| {
        relation.name == name && schema.as_ref().is_none_or(|schema| *schema == relation.schema)
    });
    // `public` stands before the system's own.
    found.sort_by_key(|relation| relation.schema == "pg_catalog");
    match found.first() {
        Some(relation) if relation.kind == "S" => sequence(connection, relation).map(Some),
        Some(relation) => columns(connection, relation).map(Some),
        None => Ok(None),
    }
}

struct Relation {
    oid: i64,
    schema: String,
    name: String,
    kind: String,
}

fn relations(connection: &mut Connection) -> Result<Vec<Relation>, Error> {
    let schemas = schemas(connection)?;
    let rows = query(connection, "SELECT oid, relnamespace, relname, relkind FROM pg_class")?;
    let relation = |row: &Vec<Value>| Relation {
        oid: number(&row[0]),
        schema: schemas.get(&number(&row[1])).cloned().unwrap_or_default(),
        name: text(&row[2]),
        kind: text(&row[3]),
    };
    Ok(rows.iter().map(relation).collect())
}

fn schemas(connection: &mut Connection) -> Result<HashMap<i64, String>, Error> {
    let rows = query(connection, "SELECT oid, nspname FROM pg_namespace")?;
    Ok(rows.iter().map(|row| (number(&row[0]), text(&row[1]))).collect())
}

fn columns(connection: &mut Connection, relation: &Relation) -> Result<String, Error> {
    let oid = relation.oid;
    let defaults = query(connection, &format!("SELECT adnum, adbin FROM pg_attrdef WHERE adrelid = {oid}"))?;
    let defaults: HashMap<i64, String> =
        defaults.iter().map(|row| (number(&row[0]), text(&row[1]))).collect();
    let rows = query(
        connection,
        &format!(
            "SELECT attnum, attname, atttypid, atttypmod, attnotnull FROM pg_attribute \
             WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        ),
    )?;
    let lines = rows.iter().map(|row| {
        let not_null = if row[4] == Value::Bool(true) { "not null" } else { "" };
        vec![
            text(&row[1]),
            type_name(number(&row[2]), number(&row[3])),
            not_null.to_owned(),
            defaults.get(&number(&row[0])).cloned().unwrap_or_default(),
        ]
    });
    let title = format!("Table \"{}.{}\"", relation.schema, relation.name);
    let mut table = table(&title, &["Column", "Type", "Nullable", "Default"], lines.collect());
    table.footer = Some(Vec::new());
    Ok(table.aligned())
}

fn sequence(connection: &mut Connection, relation: &Relation) -> Result<String, Error> {
    let rows = query(
        connection,
        &format!(
            "SELECT seqtypid, seqstart, seqmin, seqmax, seqincrement, seqcycle FROM pg_sequence WHERE seqrelid = {}",
            relation.oid
        ),
    )?;
    let lines = rows.iter().map(|row| {
        let mut line = vec![type_name(number(&row[0]), -1)];
        line.extend(row[1..5].iter().map(|value| number(value).to_string()));
        line.push(if row[5] == Value::Bool(true) { "yes" } else { "no" }.to_owned());
        line
    });
    let title = format!("Sequence \"{}.{}\"", relation.schema, relation.name);
    let headings = ["Type", "Start", "Minimum", "Maximum", "Increment", "Cycles?"];
    let mut table = table(&title, &headings, lines.collect());
    for column in &mut table.columns[1..5] {
        column.right = true;
    }
    table.footer = Some(Vec::new());
    Ok(table.aligned())
}

fn functions(connection: &mut Connection) -> Result<String, Error> {
    let schemas = schemas(connection)?;
    let rows = query(
        connection,
        "SELECT pronamespace, proname, prorettype, proretset, proargtypes, proallargtypes, proargnames FROM pg_proc",
    )?;
    let mut lines: Vec<Vec<String>> = Vec::new();
    for row in &rows {
        let schema = schemas.get(&number(&row[0])).cloned().unwrap_or_default();
        if schema != "pg_catalog" {
            let arguments = named_types(&row[4], &row[6], 0);
            lines.push(vec![schema, text(&row[1]), result_of(row), arguments]);
        }
    }
    lines.sort();
    let headings = ["Schema", "Name", "Result data type", "Argument data types"];
    Ok(table("List of functions", &headings, lines).aligned())
}

/// `TABLE(records bigint)`, `SETOF integer`, `void`.
fn result_of(row: &[Value]) -> String {
    let set = row[3] == Value::Bool(true);
    match (&row[5], set) {
        (Value::Array(_), true) => {
            let arguments = elements(&row[4]).len();
            format!("TABLE({})", named_types(&row[5], &row[6], arguments))
        }
        (_, true) => format!("SETOF {}", type_name(number(&row[2]), -1)),
        (_, false) => type_name(number(&row[2]), -1),
    }
}

/// `how_many integer, …`, from the one at `from` on.
fn named_types(types: &Value, names: &Value, from: usize) -> String {
    let names = elements(names);
    let entry = |(at, ty): (usize, &Value)| {
        let name = names.get(at).map(text).filter(|name| !name.is_empty());
        let ty = type_name(number(ty), -1);
        name.map_or(ty.clone(), |name| format!("{name} {ty}"))
    };
    elements(types).iter().enumerate().skip(from).map(entry).collect::<Vec<_>>().join(", ")
}

fn elements(value: &Value) -> &[Value] {
    match value {
        Value::Array(elements) => elements,
        _ => &[],
    }
}

fn type_name(oid: i64, typmod: i64) -> String {
    let known = u32::try_from(oid)
        .ok()
        .and_then(|oid| SqlType::from_pg_oid(oid, i32::try_from(typmod).unwrap_or(-1)));
    known.map_or_else(|| format!("type {oid}"), |ty| ty.pg_name())
}

fn query(connection: &mut Connection, sql: &str) -> Result<Rows, Error> {
    Ok(connection.query(sql)?.map(|row| row.values().to_vec()).collect())
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(-1)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn table(title: &str, headings: &[&str], rows: Vec<Vec<String>>) -> Table {
    let columns = headings.iter().map(|heading| TableColumn { title: (*heading).to_owned(), right: false });
    Table { title: Some(title.to_owned()), columns: columns.collect(), rows, footer: None }
}

/// `schema.name`; unquoted parts are folded to lower case.
fn split_name(name: &str) -> (Option<String>, String) {
    let fold = |part: &str| match part.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => part.to_lowercase(),
    };
    match name.split_once('.') {
        Some((schema, name)) => (Some(fold(schema)), fold(name)),
        None => (None, fold(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fold_as_in_sql() {
        assert_eq!(split_name("Test"), (None, "test".into()));
        assert_eq!(split_name("PUBLIC.Test"), (Some("public".into()), "test".into()));
        assert_eq!(split_name("\"Test\""), (None, "Test".into()));
    }

    #[test]
    fn types_of_functions_are_named() {
        let types = Value::Array([Value::Int8(23), Value::Int8(20)].into());
        let names = Value::Array([Value::text("how_many"), Value::text("records")].into());
        assert_eq!(named_types(&types, &names, 0), "how_many integer, records bigint");
        assert_eq!(named_types(&types, &names, 1), "records bigint");
        assert_eq!(named_types(&types, &Value::Null, 0), "integer, bigint");
    }
}
