//! Rows that are the same in every database: types, functions, operators, casts, operator classes, descriptions.
//!
//! They come from files that `verso-catalog/data/generate.sh` writes from a PostgreSQL server, so their numbers are
//! PostgreSQL's. What Verso does not have is left out: types that it does not know, and functions and operators that
//! its registry lacks, but for those to which rows of types and operators refer.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use verso_catalog::{RelationId, SystemRowIter, snapshot::PG_CATALOG};
use verso_exec::functions::{
    aggregate_candidates, candidates, operator_candidates, text_search, window_candidates,
};
use verso_types::{Collation, SqlType, SystemType, TimeStyle, Value, parse_text};

use super::keys::Keys;
use super::relations::INFORMATION_SCHEMA_OID;

type Rows = Arc<[Vec<Value>]>;

/// `anyarray`, `anyrange`, `anymultirange`.
const ANY_ARRAY: i64 = 2277;
const ANY_ENUM: i64 = 3500;
const ANY_RANGE: i64 = 3831;
const ANY_MULTIRANGE: i64 = 4537;

/// `xml` and arrays of it: programs name them in questions to the catalogs, and there are no values of them.
const NAMED_ONLY: [i64; 2] = [142, 143];

/// The files, by relation.
const FILES: &[(&str, &str)] = &[
    ("pg_type", include_str!("../../data/pg_type.tsv")),
    ("pg_proc", include_str!("../../data/pg_proc.tsv")),
    ("pg_operator", include_str!("../../data/pg_operator.tsv")),
    ("pg_cast", include_str!("../../data/pg_cast.tsv")),
    ("pg_am", include_str!("../../data/pg_am.tsv")),
    ("pg_opclass", include_str!("../../data/pg_opclass.tsv")),
    ("pg_opfamily", include_str!("../../data/pg_opfamily.tsv")),
    ("pg_amop", include_str!("../../data/pg_amop.tsv")),
    ("pg_amproc", include_str!("../../data/pg_amproc.tsv")),
    ("pg_aggregate", include_str!("../../data/pg_aggregate.tsv")),
    ("pg_range", include_str!("../../data/pg_range.tsv")),
    ("pg_language", include_str!("../../data/pg_language.tsv")),
    ("pg_description", include_str!("../../data/pg_description.tsv")),
    ("pg_ts_config", include_str!("../../data/pg_ts_config.tsv")),
    ("pg_ts_config_map", include_str!("../../data/pg_ts_config_map.tsv")),
    ("pg_ts_dict", include_str!("../../data/pg_ts_dict.tsv")),
    ("pg_ts_parser", include_str!("../../data/pg_ts_parser.tsv")),
    ("pg_ts_template", include_str!("../../data/pg_ts_template.tsv")),
];

/// The rows of a relation that may have what the keys ask for; none of one that has no file.
pub(super) fn rows(relation: &str, keys: &Keys<'_>) -> SystemRowIter {
    let Some(rows) = table(relation) else { return Box::new(std::iter::empty()) };
    if keys.keys.is_empty() {
        return Box::new((0..rows.len()).map(move |row| rows[row].clone()));
    }
    let named = keys.keys.iter().find(|(column, _)| keys.relation.is_key(*column));
    let fitting: Vec<Vec<Value>> = match named {
        Some((column, value)) => {
            let found = Key::of(value).and_then(|key| places(relation, *column)?.get(&key));
            let found = found.map_or(&[][..], Vec::as_slice);
            found.iter().map(|place| &rows[*place]).filter(|row| keys.fit(row)).cloned().collect()
        }
        None => rows.iter().filter(|row| keys.fit(row)).cloned().collect(),
    };
    Box::new(fitting.into_iter())
}

/// A value by which rows are found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Number(i64),
    Text(Arc<str>),
}

impl Key {
    fn of(value: &Value) -> Option<Key> {
        match value {
            Value::Text(text) => Some(Key::Text(Arc::clone(text))),
            value => value.as_i64().map(Key::Number),
        }
    }
}

/// Where rows stand that have a value in a column.
type Places = HashMap<Key, Vec<usize>>;

/// Where the rows of a relation stand that have a value in this key column, or in the first one; made when it is asked for first.
fn places(relation: &str, column: usize) -> Option<&'static Places> {
    type OfColumns = HashMap<(&'static str, usize), OnceLock<Places>>;
    static PLACES: OnceLock<OfColumns> = OnceLock::new();
    let all = PLACES.get_or_init(|| {
        let keys = |(name, _): &(&'static str, &str)| {
            let known = RelationId::find(PG_CATALOG, name).map_or(0, |id| id.get().columns.len());
            let is_key = |column: &usize| {
                *column == 0 || RelationId::find(PG_CATALOG, name).is_some_and(|id| id.get().is_key(*column))
            };
            let name = *name;
            (0..known).filter(is_key).map(move |column| ((name, column), OnceLock::new())).collect::<Vec<_>>()
        };
        FILES.iter().flat_map(keys).collect()
    });
    let name = FILES.iter().find(|(name, _)| *name == relation)?.0;
    Some(all.get(&(name, column))?.get_or_init(|| {
        let mut places = Places::new();
        for (place, row) in table(relation).iter().flat_map(|rows| rows.iter()).enumerate() {
            if let Some(key) = row.get(column).and_then(Key::of) {
                places.entry(key).or_default().push(place);
            }
        }
        places
    }))
}

/// The row of a relation with this number.
pub(super) fn by_oid(relation: &str, oid: i64) -> Option<Vec<Value>> {
    let place = places(relation, 0)?.get(&Key::Number(oid))?.first()?;
    table(relation)?.get(*place).cloned()
}

/// What `of` takes of the rows of a relation that have this text in column 1, as those with a name have it there.
pub(super) fn named<T>(relation: &str, name: &str, of: impl Fn(&[Value]) -> Option<T>) -> Vec<T> {
    let Some(rows) = table(relation) else { return Vec::new() };
    match places(relation, 1) {
        Some(places) => {
            let found = places.get(&Key::Text(name.into())).map_or(&[][..], Vec::as_slice);
            found.iter().filter_map(|place| of(&rows[*place])).collect()
        }
        None => rows.iter().filter(|row| row[1].as_str() == Some(name)).filter_map(|row| of(row)).collect(),
    }
}

/// The rows of the functions of this name.
pub(super) fn functions_named(name: &str) -> impl Iterator<Item = Vec<Value>> {
    let found = places("pg_proc", 1).and_then(|places| places.get(&Key::Text(name.into())));
    let rows = table("pg_proc");
    let row = move |place: &usize| rows.as_ref()?.get(*place).cloned();
    found.into_iter().flatten().filter_map(row)
}

/// All rows of a relation that has a file, read once.
pub(super) fn table(relation: &str) -> Option<Rows> {
    static TABLES: OnceLock<HashMap<&'static str, OnceLock<Rows>>> = OnceLock::new();
    let tables = TABLES.get_or_init(|| FILES.iter().map(|(name, _)| (*name, OnceLock::new())).collect());
    Some(Arc::clone(tables.get(relation)?.get_or_init(|| read(relation))))
}

/// What a type is to columns of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TypeFacts {
    pub(super) by_value: bool,
    pub(super) alignment: char,
    pub(super) storage: char,
    /// The collation of its values; 0 where they have none.
    pub(super) collation: u32,
}

/// The facts of every type with a row in the file of `pg_type`.
fn type_facts() -> &'static HashMap<i64, TypeFacts> {
    static FACTS: OnceLock<HashMap<i64, TypeFacts>> = OnceLock::new();
    FACTS.get_or_init(|| {
        let letter = |value: &Value| value.as_str()?.chars().next();
        let facts = |row: &Vec<Value>| {
            let facts = TypeFacts {
                by_value: row[5] == Value::Bool(true),
                alignment: letter(&row[22])?,
                storage: letter(&row[23])?,
                collation: u32::try_from(row[28].as_i64()?).ok()?,
            };
            Some((row[0].as_i64()?, facts))
        };
        table("pg_type").iter().flat_map(|rows| rows.iter()).filter_map(facts).collect()
    })
}

/// What a type is to columns of it, be it the system's or users': a domain is what the type beneath it is.
pub(super) fn facts_of(ty: &SqlType) -> TypeFacts {
    let own = type_facts();
    let mut ty = ty.clone();
    while let Some(beneath) = beneath(&ty) {
        ty = beneath;
    }
    if let Some(facts) = own.get(&i64::from(ty.pg_oid())) {
        return *facts;
    }
    let long = TypeFacts { by_value: false, alignment: 'i', storage: 'x', collation: 0 };
    match ty {
        SqlType::Enum(_) => TypeFacts { by_value: true, alignment: 'i', storage: 'p', collation: 0 },
        SqlType::Row(_) => TypeFacts { alignment: 'd', ..long },
        // As what they are made of, which may be of another such type, but at least as integers.
        SqlType::Array(_) | SqlType::Range(_) | SqlType::Multirange(_) => {
            while let Some(part) = part(&ty) {
                ty = part;
            }
            let known = own.get(&i64::from(ty.pg_oid())).map(|facts| facts.alignment);
            let wide = ty.is_row() || known == Some('d');
            let collation = if ty.own_collation().is_some() { Collation::DEFAULT } else { 0 };
            TypeFacts { alignment: if wide { 'd' } else { 'i' }, collation, ..long }
        }
        ty if ty.own_collation().is_some() => TypeFacts { collation: Collation::DEFAULT, ..long },
        _ => long,
    }
}

/// The type beneath a domain, or beneath a collation.
fn beneath(ty: &SqlType) -> Option<SqlType> {
    match ty {
        SqlType::Domain(domain) => Some(domain.base.clone()),
        SqlType::Collated(collated) => Some(collated.base.clone()),
        _ => None,
    }
}

/// The type that values of another one consist of.
fn part(ty: &SqlType) -> Option<SqlType> {
    match ty {
        SqlType::Array(element) => Some((**element).clone()),
        SqlType::Range(of) | SqlType::Multirange(of) => Some(of.subtype()),
        ty => beneath(ty),
    }
}

/// How PostgreSQL stores values of a type: the letter in `pg_type.typstorage`.
pub(crate) fn storage_of(ty: &SqlType) -> char {
    facts_of(ty).storage
}

/// The access method `btree` in `pg_am`.
const BTREE: i64 = 403;

/// The operator class that indexes use for a type, by its number; the family's for arrays.
pub(super) fn default_class(ty: &SqlType) -> i64 {
    static CLASSES: OnceLock<HashMap<i64, i64>> = OnceLock::new();
    let classes = CLASSES.get_or_init(|| {
        let usual = |row: &Vec<Value>| {
            (row[7] == Value::Bool(true) && row[1] == Value::Int8(BTREE))
                .then(|| Some((row[6].as_i64()?, row[0].as_i64()?)))
                .flatten()
        };
        table("pg_opclass").iter().flat_map(|rows| rows.iter()).filter_map(usual).collect()
    });
    let oid = |ty: &SqlType| classes.get(&i64::from(ty.pg_oid())).copied();
    let wider = match ty {
        SqlType::Varchar(_) => oid(&SqlType::Text),
        SqlType::Array(_) => classes.get(&ANY_ARRAY).copied(),
        SqlType::Range(_) => classes.get(&ANY_RANGE).copied(),
        SqlType::Multirange(_) => classes.get(&ANY_MULTIRANGE).copied(),
        SqlType::Enum(_) => classes.get(&ANY_ENUM).copied(),
        SqlType::Row(_) => classes.get(&i64::from(SqlType::Record.pg_oid())).copied(),
        _ => None,
    };
    oid(ty).or(wider).unwrap_or(0)
}

/// PostgreSQL's operator class of hashes for a type that tables are partitioned by, by its number.
pub(super) fn hash_class(ty: &SqlType) -> i64 {
    match ty.erased() {
        SqlType::Date => 10_011,
        SqlType::Int2 => 10_019,
        SqlType::Int4 => 10_020,
        SqlType::Int8 => 10_021,
        SqlType::Text | SqlType::Varchar(_) => 10_037,
        SqlType::Timestamptz(_) => 10_040,
        SqlType::Timestamp(_) => 10_046,
        SqlType::Bytea => 10_049,
        SqlType::Uuid => 10_066,
        _ => 0,
    }
}

/// Whether a class of B+trees with this name takes values of a type; `None` where there is none.
pub(crate) fn class_takes(name: &str, ty: &SqlType) -> Option<bool> {
    let wanted = Value::text(name);
    let rows = table("pg_opclass")?;
    let row = rows.iter().find(|row| row[1] == Value::Int8(BTREE) && row[2] == wanted)?;
    let takes = row[6].as_i64()?;
    let mut plain = ty;
    while let SqlType::Domain(domain) = plain {
        plain = &domain.base;
    }
    let oid = i64::from(plain.pg_oid());
    let text = i64::from(SqlType::Text.pg_oid());
    Some(match plain {
        SqlType::Array(_) => takes == ANY_ARRAY,
        SqlType::Range(_) => takes == ANY_RANGE,
        SqlType::Multirange(_) => takes == ANY_MULTIRANGE,
        SqlType::Enum(_) => takes == ANY_ENUM,
        SqlType::Row(_) => takes == i64::from(SqlType::Record.pg_oid()),
        SqlType::Varchar(_) => takes == text,
        // They are in one order.
        SqlType::System(SystemType::Cidr) => {
            takes == oid || takes == i64::from(SqlType::System(SystemType::Inet).pg_oid())
        }
        _ => takes == oid,
    })
}

/// An operator with two operands of one type.
pub(crate) struct OperatorOver {
    /// Its row in `pg_operator`.
    pub(crate) oid: i64,
    /// What PostgreSQL calls the type of the operands.
    pub(crate) operand: String,
    /// Whether it says the same of its operands in the other order.
    pub(crate) commutes: bool,
}

/// The types that operators and classes take values of a type as, the narrowest first.
fn taken_as(ty: &SqlType) -> Vec<i64> {
    let plain = ty.erased();
    let wider = match &plain {
        SqlType::Varchar(_) => Some(i64::from(SqlType::Text.pg_oid())),
        SqlType::System(SystemType::Cidr) => Some(i64::from(SqlType::System(SystemType::Inet).pg_oid())),
        SqlType::Array(_) => Some(ANY_ARRAY),
        SqlType::Range(_) => Some(ANY_RANGE),
        SqlType::Multirange(_) => Some(ANY_MULTIRANGE),
        SqlType::Enum(_) => Some(ANY_ENUM),
        SqlType::Row(_) => Some(i64::from(SqlType::Record.pg_oid())),
        _ => None,
    };
    std::iter::once(i64::from(plain.pg_oid())).chain(wider).collect()
}

/// The operator with this symbol over two values of a type.
pub(crate) fn operator_over(symbol: &str, ty: &SqlType) -> Option<OperatorOver> {
    let rows = table("pg_operator")?;
    taken_as(ty).into_iter().find_map(|operand| {
        let is_it = |row: &&Vec<Value>| {
            row[1].as_str() == Some(symbol)
                && row[7].as_i64() == Some(operand)
                && row[8].as_i64() == Some(operand)
        };
        let row = rows.iter().find(is_it)?;
        let name =
            table("pg_type")?.iter().find(|row| row[0].as_i64() == Some(operand))?[1].as_str()?.to_string();
        let name = match SqlType::from_pg_oid(u32::try_from(operand).ok()?, -1) {
            Some(ty) => ty.without_modifiers().pg_name(),
            None => name,
        };
        Some(OperatorOver { oid: row[0].as_i64()?, operand: name, commutes: row[10] == row[0] })
    })
}

/// The number of the operator `=` by which a foreign key compares values of two types.
pub(super) fn equality(left: &SqlType, right: &SqlType) -> i64 {
    let Some(rows) = table("pg_operator") else { return 0 };
    let over = |left: i64, right: i64| {
        let is_it = |row: &&Vec<Value>| {
            row[1].as_str() == Some("=") && row[7].as_i64() == Some(left) && row[8].as_i64() == Some(right)
        };
        rows.iter().find(is_it).and_then(|row| row[0].as_i64())
    };
    let (ours, theirs) = (taken_as(left), taken_as(right));
    // Where there is none over both, the values of one are taken as those of the other.
    let both = ours.iter().find_map(|left| theirs.iter().find_map(|right| over(*left, *right)));
    both.or_else(|| ours.iter().find_map(|one| over(*one, *one))).unwrap_or(0)
}

/// The operator family of an access method for a type.
pub(crate) fn family_of(method: &str, ty: &SqlType) -> String {
    match (method, ty.erased()) {
        ("gist" | "spgist", SqlType::Range(_)) => return "range_ops".to_string(),
        ("gist", SqlType::Multirange(_)) => return "multirange_ops".to_string(),
        ("gist" | "spgist", SqlType::System(SystemType::Inet | SystemType::Cidr)) => {
            return "network_ops".to_string();
        }
        ("gist", ty) => return format!("gist_{}_ops", ty.without_modifiers().pg_name()),
        _ => {}
    }
    let class = default_class(&ty.erased());
    let row_of = |relation: &str, oid: i64| {
        let rows = table(relation)?;
        rows.iter().find(|row| row[0].as_i64() == Some(oid)).cloned()
    };
    let family = row_of("pg_opclass", class).and_then(|row| row_of("pg_opfamily", row[5].as_i64()?));
    family.and_then(|row| row[2].as_str().map(str::to_string)).unwrap_or_default()
}

/// Reads a file. Its lines are as `COPY` writes them; a test shows that each is well formed.
fn read(relation: &str) -> Rows {
    let Some((_, text)) = FILES.iter().find(|(name, _)| *name == relation) else { return Arc::new([]) };
    let Some(id) = RelationId::find(PG_CATALOG, relation) else { return Arc::new([]) };
    let types: Vec<&SqlType> = id.get().columns.iter().map(|column| &column.ty).collect();
    let wanted = wanted(relation);
    text.lines()
        .filter_map(|line| {
            let mut fields: Vec<&str> = line.split('\t').collect();
            // Functions to which other rows refer are marked in front.
            let needed = relation == "pg_proc" && fields.remove(0) == "1";
            let row: Option<Vec<Value>> =
                fields.iter().zip(&types).map(|(field, ty)| value(field, ty)).collect();
            row.filter(|row| row.len() == types.len() && (needed || wanted(row)))
        })
        .collect()
}

/// A field of a file as a value. References stand there as numbers.
fn value(field: &str, ty: &SqlType) -> Option<Value> {
    if field == "\\N" {
        return Some(Value::Null);
    }
    let text = if field.contains('\\') { unescaped(field) } else { field.to_string() };
    match ty {
        SqlType::System(system) if system.is_reference() => text.parse().ok().map(Value::Int8),
        ty => parse_text(ty, &text, &TimeStyle::UTC).ok(),
    }
}

/// `\\`, `\n` and `\t` of a field.
fn unescaped(field: &str) -> String {
    let mut out = String::with_capacity(field.len());
    let mut characters = field.chars();
    while let Some(character) = characters.next() {
        out.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    out
}

type Wanted = Box<dyn Fn(&[Value]) -> bool>;

/// Which rows of a file are of things that Verso has.
fn wanted(relation: &str) -> Wanted {
    match relation {
        "pg_type" => Box::new(|row| {
            let named = row[0].as_i64().is_some_and(|oid| NAMED_ONLY.contains(&oid));
            knows(&row[0]) || row[6] == Value::text("p") || is_of_standard(row) || named
        }),
        "pg_proc" => Box::new(has_function),
        "pg_operator" => Box::new(has_operator),
        "pg_cast" => Box::new(|row| knows(&row[1]) && knows(&row[2])),
        "pg_ts_config" | "pg_ts_config_map" | "pg_ts_dict" => {
            Box::new(|row| row[0].as_i64().is_some_and(text_search::is_known))
        }
        "pg_opclass" => Box::new(|row| {
            knows(&row[6])
                || row[6].as_i64().is_some_and(|ty| matches!(ty, ANY_ARRAY | ANY_RANGE | ANY_MULTIRANGE))
        }),
        "pg_amop" => among("pg_operator", 0, 6),
        "pg_amproc" | "pg_aggregate" => among("pg_proc", 0, if relation == "pg_amproc" { 5 } else { 0 }),
        "pg_description" => {
            let described: HashMap<i64, HashSet<i64>> = [
                (1247, "pg_type"),
                (1255, "pg_proc"),
                (2617, "pg_operator"),
                (3600, "pg_ts_dict"),
                (3602, "pg_ts_config"),
            ]
            .into_iter()
            .map(|(class, relation)| (class, numbers(relation, 0)))
            .collect();
            Box::new(move |row| {
                let (Some(object), Some(class)) = (row[0].as_i64(), row[1].as_i64()) else { return false };
                described.get(&class).is_none_or(|numbers| numbers.contains(&object))
            })
        }
        _ => Box::new(|_| true),
    }
}

/// Rows whose column `own` has a number that is in column `column` of a relation.
fn among(relation: &str, column: usize, own: usize) -> Wanted {
    let numbers = numbers(relation, column);
    Box::new(move |row| row[own].as_i64().is_some_and(|number| numbers.contains(&number)))
}

fn numbers(relation: &str, column: usize) -> HashSet<i64> {
    table(relation).iter().flat_map(|rows| rows.iter()).filter_map(|row| row[column].as_i64()).collect()
}

/// Whether a row of `pg_type` is one of `information_schema`: a domain that its columns have, or an array of it.
pub(super) fn is_of_standard(row: &[Value]) -> bool {
    row[2].as_i64() == Some(INFORMATION_SCHEMA_OID.into())
}

/// Is it the number of a type of Verso's?
fn knows(oid: &Value) -> bool {
    type_of(oid).is_some()
}

fn type_of(oid: &Value) -> Option<SqlType> {
    SqlType::from_pg_oid(u32::try_from(oid.as_i64()?).ok()?, -1)
}

/// Does the registry have a function of this name and as many arguments, or does binding put something in its place?
fn has_function(row: &[Value]) -> bool {
    let (Some(name), Some(count)) = (row[1].as_str(), row[16].as_i64()) else { return false };
    let fits = |args: usize, variadic: bool| variadic || i64::try_from(args) == Ok(count);
    candidates(name).iter().any(|function| fits(function.args.len(), function.variadic))
        || aggregate_candidates(name).iter().any(|function| fits(function.args.len(), false))
        || !window_candidates(name).is_empty()
        || verso_planner::bind::is_form(name)
}

/// Does the registry have an operator of this symbol and as many operands, over types that Verso knows?
fn has_operator(row: &[Value]) -> bool {
    let Some(symbol) = row[1].as_str() else { return false };
    let prefix = row[7] == Value::Int8(0);
    let known = |value: &Value| {
        knows(value) || matches!(value.as_i64(), Some(ANY_ARRAY | ANY_RANGE | ANY_MULTIRANGE | 2283))
    };
    let operands = if prefix { 1 } else { 2 };
    (prefix || known(&row[7]))
        && known(&row[8])
        && (operator_candidates(symbol).iter().any(|operator| operator.args.len() == operands)
            || matches!(symbol, "~~" | "!~~" | "~~*" | "!~~*"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_file_is_a_row_of_its_relation() {
        for (relation, text) in FILES {
            let types = &RelationId::find(PG_CATALOG, relation).expect(relation).get().columns;
            for line in text.lines() {
                let mut fields: Vec<&str> = line.split('\t').collect();
                if *relation == "pg_proc" {
                    fields.remove(0);
                }
                assert_eq!(fields.len(), types.len(), "{relation}: {line}");
                for (field, column) in fields.iter().zip(types) {
                    let read = value(field, &column.ty);
                    assert!(read.is_some(), "{relation}.{}: {field}", column.name);
                }
            }
        }
    }

    #[test]
    fn what_verso_has_is_there_with_postgresql_s_numbers() {
        let row = |relation: &str, oid: i64| {
            let rows = table(relation).expect("a file");
            rows.iter().find(|row| row[0] == Value::Int8(oid)).map(|row| row[1].clone())
        };
        assert_eq!(row("pg_type", 23), Some(Value::text("int4")));
        assert_eq!(row("pg_type", 600), Some(Value::text("point")));
        assert_eq!(row("pg_type", 142), Some(Value::text("xml")));
        assert_eq!(row("pg_type", 32), None); // pg_ddl_command
        assert_eq!(row("pg_proc", 1317), Some(Value::text("length")));
        assert_eq!(row("pg_operator", 96), Some(Value::text("=")));
        assert_eq!(row("pg_am", 2742), Some(Value::text("gin")));
        assert_eq!(row("pg_am", 403), Some(Value::text("btree")));
        assert_eq!(default_class(&SqlType::Int4), 1978);
        assert_eq!(default_class(&SqlType::Varchar(Some(3))), default_class(&SqlType::Text));
    }
}
