//! `\d`, `\dt`, `\di`, `\ds`, `\df`: what the system tables say, in psql's form.
//!
//! The catalog is read by SQL, like any program would; the few rows are joined here.

use std::collections::HashMap;

use verso_types::{SqlType, Value};
use versodb::Connection;

use crate::shell::command::Listing;
use crate::shell::remote::Remote;
use crate::shell::results::one_line;
use crate::shell::table::{Table, TableColumn};

type Rows = Vec<Vec<Value>>;

/// Who answers questions about the catalog: an open database, or a server.
pub trait Asked {
    /// The rows of a query.
    ///
    /// # Errors
    /// One line.
    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, String>;
}

impl Asked for Connection {
    fn rows(&mut self, sql: &str) -> Result<Rows, String> {
        let rows = self.query(sql).map_err(|error| one_line(&error))?;
        Ok(rows.map(|row| row.values().to_vec()).collect())
    }
}

impl Asked for Remote {
    fn rows(&mut self, sql: &str) -> Result<Rows, String> {
        self.values(sql)
    }
}

/// The text of a listing.
pub fn list(connection: &mut dyn Asked, listing: Listing) -> Result<String, String> {
    if listing == Listing::Functions {
        return functions(connection);
    }
    let wanted: &[&str] = match listing {
        Listing::Tables => &["r"],
        Listing::Indexes => &["i"],
        Listing::Sequences => &["S"],
        Listing::Relations | Listing::Functions => &["r", "S", "v"],
    };
    let mut lines = Vec::new();
    for relation in relations(connection)? {
        if !is_systems(&relation.schema) && wanted.contains(&relation.kind.as_str()) {
            let kind = match relation.kind.as_str() {
                "r" => "table",
                "i" => "index",
                "v" => "view",
                _ => "sequence",
            };
            lines.push(vec![relation.schema, relation.name, kind.to_owned()]);
        }
    }
    lines.sort();
    if lines.is_empty() {
        return Ok("Did not find any relations.\n".to_owned());
    }
    Ok(table("List of relations", &["Schema", "Name", "Type"], lines).aligned())
}

/// Is a schema the system's own, which listings leave out?
fn is_systems(schema: &str) -> bool {
    matches!(schema, "pg_catalog" | "information_schema")
}

/// The text for one table or sequence; `None` when there is no such.
pub fn describe(connection: &mut dyn Asked, name: &str) -> Result<Option<String>, String> {
    let (schema, name) = split_name(name);
    let mut found = relations(connection)?;
    found.retain(|relation| {
        relation.name == name && schema.as_ref().is_none_or(|schema| *schema == relation.schema)
    });
    // `public` stands before the system's own.
    found.sort_by_key(|relation| is_systems(&relation.schema));
    match found.first() {
        Some(relation) if relation.kind == "S" => sequence(connection, relation).map(Some),
        Some(relation) if relation.kind == "i" => index(connection, relation).map(Some),
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

fn relations(connection: &mut dyn Asked) -> Result<Vec<Relation>, String> {
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

fn schemas(connection: &mut dyn Asked) -> Result<HashMap<i64, String>, String> {
    let rows = query(connection, "SELECT oid, nspname FROM pg_namespace")?;
    Ok(rows.iter().map(|row| (number(&row[0]), text(&row[1]))).collect())
}

fn columns(connection: &mut dyn Asked, relation: &Relation) -> Result<String, String> {
    let oid = relation.oid;
    let defaults = query(connection, &format!("SELECT adnum, adbin FROM pg_attrdef WHERE adrelid = {oid}"))?;
    let defaults: HashMap<i64, String> =
        defaults.iter().map(|row| (number(&row[0]), text(&row[1]))).collect();
    let rows = query(
        connection,
        &format!(
            "SELECT attnum, attname, atttypid, atttypmod, attnotnull, collname FROM pg_attribute \
             LEFT JOIN pg_type t ON t.oid = atttypid \
             LEFT JOIN pg_collation c ON c.oid = attcollation AND attcollation <> typcollation \
             WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        ),
    )?;
    let lines = rows.iter().map(|row| {
        let not_null = if row[4] == Value::Bool(true) { "not null" } else { "" };
        vec![
            text(&row[1]),
            type_name(number(&row[2]), number(&row[3])),
            text(&row[5]),
            not_null.to_owned(),
            defaults.get(&number(&row[0])).cloned().unwrap_or_default(),
        ]
    });
    let kind = match &*relation.kind {
        "v" => "View",
        "m" => "Materialized view",
        _ => "Table",
    };
    let title = format!("{kind} \"{}.{}\"", relation.schema, relation.name);
    let mut table = table(&title, &["Column", "Type", "Collation", "Nullable", "Default"], lines.collect());
    table.footer = Some(keys(connection, relation)?);
    Ok(table.aligned())
}

/// What stands below a table's columns: its indexes and constraints, and who references it.
fn keys(connection: &mut dyn Asked, relation: &Relation) -> Result<Vec<String>, String> {
    let oid = relation.oid;
    let mut lines = Vec::new();
    let mut section = |heading: &str, mut found: Vec<String>| {
        if !found.is_empty() {
            found.sort();
            lines.push(heading.to_owned());
            lines.extend(found.into_iter().map(|line| format!("    {line}")));
        }
    };
    section("Indexes:", indexes(connection, oid)?);
    let checks = query(
        connection,
        &format!(
            "SELECT conname, pg_get_constraintdef(oid, true) FROM pg_constraint WHERE conrelid = {oid} AND contype = 'c'"
        ),
    )?;
    let check = |row: &Vec<Value>| format!("\"{}\" {}", text(&row[0]), text(&row[1]));
    section("Check constraints:", checks.iter().map(check).collect());
    let own = foreign_keys(connection, &format!("conrelid = {oid}"))?;
    section(
        "Foreign-key constraints:",
        own.into_iter().map(|(_, name, text)| format!("\"{name}\" {text}")).collect(),
    );
    let others = foreign_keys(connection, &format!("confrelid = {oid}"))?;
    let line = |(table, name, text)| format!("TABLE \"{table}\" CONSTRAINT \"{name}\" {text}");
    section("Referenced by:", others.into_iter().map(line).collect());
    Ok(lines)
}

/// `"t_pkey" PRIMARY KEY, btree (id)`.
fn indexes(connection: &mut dyn Asked, table: i64) -> Result<Vec<String>, String> {
    let rows = query(
        connection,
        &format!(
            "SELECT c.relname, i.indisunique, i.indisprimary, i.indnullsnotdistinct, \
                    pg_get_indexdef(i.indexrelid, 0, true), k.condeferrable, k.condeferred \
             FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid \
                  LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype IN ('p', 'u') \
             WHERE i.indrelid = {table}"
        ),
    )?;
    let line = |row: &Vec<Value>| {
        let is = |at: usize| row[at] == Value::Bool(true);
        let kind = match (is(2), is(1), row[5] == Value::Null) {
            (true, _, _) => " PRIMARY KEY,",
            (_, true, false) => " UNIQUE CONSTRAINT,",
            (_, true, true) => " UNIQUE,",
            _ => "",
        };
        // What stands behind the method in its definition.
        let whole = text(&row[4]);
        let keys = whole.split_once(" USING btree ").map_or(&*whole, |(_, keys)| keys).to_string();
        let deferral = deferral(&row[5], &row[6]);
        format!("\"{}\"{kind} btree {keys}{deferral}", text(&row[0]))
    };
    Ok(rows.iter().map(line).collect())
}

/// An index by itself: its table, and the line that stands below the table's columns.
fn index(connection: &mut dyn Asked, relation: &Relation) -> Result<String, String> {
    let sql = format!("SELECT indrelid FROM pg_index WHERE indexrelid = {}", relation.oid);
    let table_oid = query(connection, &sql)?.first().map_or(-1, |row| number(&row[0]));
    let head = format!("\"{}\"", relation.name);
    let own = indexes(connection, table_oid)?.into_iter().filter(|line| line.starts_with(&head));
    let of = relations(connection)?.into_iter().find(|one| one.oid == table_oid);
    let of = of.map(|table| format!("{}.{}", table.schema, table.name)).unwrap_or_default();
    let lines = own.map(|line| vec![of.clone(), line[head.len()..].trim_start().to_owned()]).collect();
    let title = format!("Index \"{}.{}\"", relation.schema, relation.name);
    let mut table = table(&title, &["Table", "Definition"], lines);
    table.footer = Some(Vec::new());
    Ok(table.aligned())
}

/// The foreign keys that `condition` selects: referencing table, name, and what the key says.
fn foreign_keys(
    connection: &mut dyn Asked,
    condition: &str,
) -> Result<Vec<(String, String, String)>, String> {
    let rows = query(
        connection,
        &format!(
            "SELECT c.relname, k.conname, k.conrelid, k.conkey, p.relname, k.confrelid, k.confkey, \
                    k.confmatchtype, k.confupdtype, k.confdeltype, k.confdelsetcols, k.condeferrable, k.condeferred \
             FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class p ON p.oid = k.confrelid \
             WHERE k.contype = 'f' AND k.{condition}"
        ),
    )?;
    let mut found = Vec::new();
    for row in &rows {
        let columns = column_names(connection, &row[2], &row[3])?;
        let referenced = column_names(connection, &row[5], &row[6])?;
        let mut line = format!("FOREIGN KEY ({columns}) REFERENCES {}({referenced})", text(&row[4]));
        if text(&row[7]) == "f" {
            line.push_str(" MATCH FULL");
        }
        for (event, action) in [("UPDATE", &row[8]), ("DELETE", &row[9])] {
            let action = match text(action).as_str() {
                "r" => "RESTRICT",
                "c" => "CASCADE",
                "n" => "SET NULL",
                "d" => "SET DEFAULT",
                _ => continue,
            };
            line.push_str(&format!(" ON {event} {action}"));
        }
        if !elements(&row[10]).is_empty() {
            line.push_str(&format!(" ({})", column_names(connection, &row[2], &row[10])?));
        }
        line.push_str(deferral(&row[11], &row[12]));
        found.push((text(&row[0]), text(&row[1]), line));
    }
    Ok(found)
}

/// `a, b`: columns of a table by their numbers.
fn column_names(connection: &mut dyn Asked, table: &Value, columns: &Value) -> Result<String, String> {
    let sql = format!("SELECT attnum, attname FROM pg_attribute WHERE attrelid = {}", number(table));
    let names: HashMap<i64, String> =
        query(connection, &sql)?.iter().map(|row| (number(&row[0]), text(&row[1]))).collect();
    let name = |column: &Value| names.get(&number(column)).cloned().unwrap_or_default();
    Ok(elements(columns).iter().map(name).collect::<Vec<_>>().join(", "))
}

/// When a constraint is checked, if not at once.
fn deferral(deferrable: &Value, deferred: &Value) -> &'static str {
    match (deferrable == &Value::Bool(true), deferred == &Value::Bool(true)) {
        (_, true) => " DEFERRABLE INITIALLY DEFERRED",
        (true, false) => " DEFERRABLE",
        (false, false) => "",
    }
}

fn sequence(connection: &mut dyn Asked, relation: &Relation) -> Result<String, String> {
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

fn functions(connection: &mut dyn Asked) -> Result<String, String> {
    let schemas = schemas(connection)?;
    let rows = query(
        connection,
        "SELECT pronamespace, proname, prorettype, proretset, proargtypes, proallargtypes, proargnames FROM pg_proc",
    )?;
    let mut lines: Vec<Vec<String>> = Vec::new();
    for row in &rows {
        let schema = schemas.get(&number(&row[0])).cloned().unwrap_or_default();
        if !is_systems(&schema) {
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

fn query(connection: &mut dyn Asked, sql: &str) -> Result<Rows, String> {
    connection.rows(sql)
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
