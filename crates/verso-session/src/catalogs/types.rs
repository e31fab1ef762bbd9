//! Rows of `pg_type`, `pg_enum` and `pg_range` for the types that users have made.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, Object, Relation, TypeDef};
use verso_types::{Collation, DomainType, SqlType, Value};

use super::fixed::{default_class, type_facts};
use super::keys::Keys;
use super::relations::{OWNER, namespace};
use super::{letter, number};

/// The functions that read and write values of a type, by their numbers in `pg_proc`.
struct Io {
    input: u32,
    output: u32,
    receive: u32,
    send: u32,
    analyze: u32,
    subscript: u32,
}

const ENUM: Io = Io { input: 3506, output: 3507, receive: 3532, send: 3533, analyze: 0, subscript: 0 };
const DOMAIN: Io = Io { input: 2597, output: 0, receive: 2598, send: 0, analyze: 0, subscript: 0 };
const RECORD: Io = Io { input: 2290, output: 2291, receive: 2402, send: 2403, analyze: 0, subscript: 0 };
const RANGE: Io = Io { input: 3834, output: 3835, receive: 3836, send: 3837, analyze: 3916, subscript: 0 };
const MULTIRANGE: Io =
    Io { input: 4231, output: 4232, receive: 4233, send: 4234, analyze: 4242, subscript: 0 };
const ARRAY: Io = Io { input: 750, output: 751, receive: 2400, send: 2401, analyze: 3816, subscript: 6179 };

/// What rows of `pg_type` differ in.
struct Row<'a> {
    oid: u32,
    name: String,
    length: i16,
    by_value: bool,
    kind: char,
    category: char,
    element: u32,
    array: u32,
    io: &'a Io,
    storage: char,
    domain: Option<&'a DomainType>,
}

impl Row<'_> {
    fn values(self, namespace: Value) -> Vec<Value> {
        let no = || Value::Bool(false);
        vec![
            number(self.oid),
            Value::text(&self.name),
            namespace,
            number(OWNER),
            Value::Int2(self.length),
            Value::Bool(self.by_value),
            letter(self.kind),
            letter(self.category),
            no(),
            Value::Bool(true),
            letter(','),
            number(if self.kind == 'c' { self.oid } else { 0 }),
            number(self.io.subscript),
            number(self.element),
            number(self.array),
            number(self.io.input),
            number(self.io.output),
            number(self.io.receive),
            number(self.io.send),
            number(0),
            number(0),
            number(self.io.analyze),
            letter(if self.kind == 'c' { 'd' } else { 'i' }),
            letter(self.storage),
            Value::Bool(self.domain.is_some_and(|domain| domain.not_null)),
            number(self.domain.map_or(0, |domain| domain.base.pg_oid())),
            Value::Int4(self.domain.map_or(-1, |domain| domain.base.typmod())),
            Value::Int4(i32::from(
                self.domain.is_some_and(|domain| matches!(domain.base, SqlType::Array(_))),
            )),
            number(self.domain.map_or(0, collation_of)),
            Value::Null,
            self.domain.and_then(|domain| domain.default.clone()).map_or(Value::Null, Value::Text),
            Value::Null,
        ]
    }
}

/// `typcollation` of a domain.
fn collation_of(domain: &verso_types::DomainType) -> u32 {
    let usual = if domain.base.is_collatable() { Collation::DEFAULT } else { 0 };
    domain.base.collation().map_or(usual, |collation| collation.oid)
}

/// The users' rows of `pg_type`: each type and its array.
pub(super) fn types(catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    let (relations, types) = candidates(catalog, keys);
    let row_types = relations.iter().filter_map(Relation::row_type).flat_map(|ty| {
        let owner = super::rights::owner(catalog, Object::Relation(ty.oid));
        [own_row(&ty), array_row(&ty)].map(|row| {
            let mut values = row.values(namespace(catalog, &ty.schema));
            values[3] = owner.clone();
            values
        })
    });
    let rows = types.iter().flat_map(|ty| {
        let owner = super::rights::owner(catalog, Object::Type(ty.oid));
        let of = |row: Row<'_>| {
            let mut values = row.values(namespace(catalog, &ty.schema));
            values[3] = owner.clone();
            values
        };
        let mut own = of(own_row(ty));
        if let Some(acl) = own.last_mut() {
            *acl = super::rights::own_acl(catalog, Object::Type(ty.oid));
        }
        [own, of(array_row(ty))]
    });
    rows.chain(row_types).filter(|row| keys.fit(row)).collect()
}

/// The relations of which, and the types that, may have the rows that are asked for.
fn candidates(catalog: &CatalogSnapshot, keys: &Keys<'_>) -> (Vec<Relation>, Vec<Arc<TypeDef>>) {
    let columns = ["oid", "typrelid", "typelem", "typarray"];
    // 0 stands for none, which many types have.
    let number = columns.iter().find_map(|column| keys.oid(column).filter(|oid| oid.0 != 0));
    if let Some(oid) = number {
        let relation = catalog.relation_of_rows(oid).cloned();
        return (relation.into_iter().collect(), catalog.user_type(oid).cloned().into_iter().collect());
    }
    let Some(name) = keys.text("typname") else {
        return (catalog.relations().cloned().collect(), catalog.types().cloned().collect());
    };
    // The array of a type is called like it, with an underscore in front.
    let names = || std::iter::once(name).chain(name.strip_prefix('_'));
    let relations = names().flat_map(|name| catalog.relations_named(name)).cloned().collect();
    (relations, names().flat_map(|name| catalog.types_named(name)).cloned().collect())
}

fn own_row(ty: &TypeDef) -> Row<'_> {
    if let SqlType::Domain(domain) = &ty.ty {
        let facts = type_facts().get(&i64::from(domain.base.erased().pg_oid()));
        return Row {
            oid: ty.oid.0,
            name: ty.name.to_string(),
            length: ty.ty.typlen(),
            by_value: facts.is_some_and(|facts| facts.by_value == Value::Bool(true)),
            kind: 'd',
            category: verso_planner::bind::category(&ty.ty),
            element: 0,
            array: ty.array.0,
            io: &DOMAIN,
            storage: if ty.ty.typlen() < 0 { 'x' } else { 'p' },
            domain: Some(domain),
        };
    }
    if ty.ty.is_row() {
        return Row {
            oid: ty.oid.0,
            name: ty.name.to_string(),
            length: -1,
            by_value: false,
            kind: 'c',
            category: 'C',
            element: 0,
            array: ty.array.0,
            io: &RECORD,
            storage: 'x',
            domain: None,
        };
    }
    if let SqlType::Range(_) | SqlType::Multirange(_) = &ty.ty {
        let multi = matches!(ty.ty, SqlType::Multirange(_));
        return Row {
            oid: ty.oid.0,
            name: ty.name.to_string(),
            length: -1,
            by_value: false,
            kind: if multi { 'm' } else { 'r' },
            category: 'R',
            element: 0,
            array: ty.array.0,
            io: if multi { &MULTIRANGE } else { &RANGE },
            storage: 'x',
            domain: None,
        };
    }
    Row {
        oid: ty.oid.0,
        name: ty.name.to_string(),
        length: ty.ty.typlen(),
        by_value: true,
        kind: 'e',
        category: 'E',
        element: 0,
        array: ty.array.0,
        io: &ENUM,
        storage: 'p',
        domain: None,
    }
}

fn array_row(ty: &TypeDef) -> Row<'static> {
    Row {
        oid: ty.array.0,
        name: SqlType::Array(Box::new(ty.ty.clone())).internal_name(),
        length: -1,
        by_value: false,
        kind: 'b',
        category: 'A',
        element: ty.oid.0,
        array: 0,
        io: &ARRAY,
        storage: 'x',
        domain: None,
    }
}

/// The rows of `pg_enum`. The order is 1, 2, 3 …: the places that Verso keeps are not for clients.
pub(super) fn labels(catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let types: Vec<&Arc<TypeDef>> = match keys.oid("enumtypid") {
        Some(oid) => catalog.user_type(oid).into_iter().collect(),
        None => catalog.types().collect(),
    };
    for ty in types {
        let SqlType::Enum(of) = &ty.ty else { continue };
        for (label, order) in of.labels.iter().zip(1u16..) {
            rows.push(vec![
                number(label.oid),
                number(of.oid),
                Value::Float4(order.into()),
                Value::text(&label.name),
            ]);
        }
    }
    rows.retain(|row| keys.fit(row));
    rows
}

/// The users' rows of `pg_range`.
pub(super) fn ranges(catalog: &Arc<CatalogSnapshot>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for ty in catalog.types() {
        let SqlType::Range(of) = &ty.ty else { continue };
        let subtype = of.subtype();
        let collation = if subtype.is_collatable() { Collation::DEFAULT } else { 0 };
        rows.push(vec![
            number(ty.oid.0),
            number(subtype.pg_oid()),
            number(of.oids(true).0),
            number(collation),
            Value::Int8(default_class(&subtype)),
            number(0),
            number(0),
        ]);
    }
    rows
}
