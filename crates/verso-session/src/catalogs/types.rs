//! Rows of `pg_type`, `pg_enum` and `pg_range` for the types that users have made.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, Object, Oid, Relation, SystemRelation, TypeDef};
use verso_types::{DomainType, SqlType, SystemType, Value};

use super::fixed::{TypeFacts, by_oid, default_class, facts_of};
use super::keys::Keys;
use super::relations::{OWNER, namespace};
use super::{definitions, letter, number};
use crate::views::Views;

/// The collation `C`.
const BY_BYTES: u32 = 950;

/// The functions that read and write values of a type, by their numbers in `pg_proc`.
#[derive(Clone, Copy)]
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
/// Of `citext`: those of `text`.
const TEXT: Io = Io { input: 46, output: 47, receive: 2414, send: 2415, analyze: 0, subscript: 0 };
/// Of types whose functions have no rows in `pg_proc`.
const OWN: Io = Io { input: 0, output: 0, receive: 0, send: 0, analyze: 0, subscript: 0 };
const RECORD: Io = Io { input: 2290, output: 2291, receive: 2402, send: 2403, analyze: 0, subscript: 0 };
const RANGE: Io = Io { input: 3834, output: 3835, receive: 3836, send: 3837, analyze: 3916, subscript: 0 };
const MULTIRANGE: Io =
    Io { input: 4231, output: 4232, receive: 4233, send: 4234, analyze: 4242, subscript: 0 };
const ARRAY: Io = Io { input: 750, output: 751, receive: 2400, send: 2401, analyze: 3816, subscript: 6179 };

impl Io {
    /// Those of a type: a domain writes as the type beneath it does.
    fn of(ty: &SqlType) -> Io {
        match ty {
            SqlType::Enum(_) => ENUM,
            SqlType::Row(_) => RECORD,
            SqlType::System(SystemType::Citext) => TEXT,
            SqlType::System(SystemType::Hstore) => OWN,
            SqlType::Domain(domain) => {
                let mut beneath = &domain.base;
                while let SqlType::Domain(domain) = beneath {
                    beneath = &domain.base;
                }
                Io { input: DOMAIN.input, receive: DOMAIN.receive, subscript: 0, ..Io::of(beneath) }
            }
            ty => Io::in_file(ty).unwrap_or(match ty {
                SqlType::Range(_) => RANGE,
                SqlType::Multirange(_) => MULTIRANGE,
                _ => ARRAY,
            }),
        }
    }

    /// Those of a type of the system's.
    fn in_file(ty: &SqlType) -> Option<Io> {
        let row = by_oid("pg_type", ty.pg_oid().into())?;
        let of = |column: usize| u32::try_from(row[column].as_i64()?).ok();
        let (input, output, receive, send) = (of(15)?, of(16)?, of(17)?, of(18)?);
        Some(Io { input, output, receive, send, analyze: of(21)?, subscript: of(12)? })
    }
}

/// What rows of `pg_type` differ in.
struct Row<'a> {
    oid: u32,
    name: String,
    length: i16,
    kind: char,
    category: char,
    /// Of a row type: the relation.
    relation: u32,
    element: u32,
    array: u32,
    io: Io,
    facts: TypeFacts,
    /// What stands between the elements of its arrays.
    delimiter: char,
    domain: Option<&'a DomainType>,
}

impl Row<'_> {
    /// The values; `default` is that of a domain as SQL.
    fn values(self, namespace: Value, default: Value) -> Vec<Value> {
        let no = || Value::Bool(false);
        vec![
            number(self.oid),
            Value::text(&self.name),
            namespace,
            number(OWNER),
            Value::Int2(self.length),
            Value::Bool(self.facts.by_value),
            letter(self.kind),
            letter(self.category),
            no(),
            Value::Bool(true),
            letter(self.delimiter),
            number(self.relation),
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
            letter(self.facts.alignment),
            letter(self.facts.storage),
            Value::Bool(self.domain.is_some_and(|domain| domain.not_null)),
            number(self.domain.map_or(0, |domain| domain.base.pg_oid())),
            Value::Int4(self.domain.map_or(-1, |domain| domain.base.typmod())),
            Value::Int4(i32::from(
                self.domain.is_some_and(|domain| matches!(domain.base, SqlType::Array(_))),
            )),
            number(self.facts.collation),
            default.clone(),
            default,
            Value::Null,
        ]
    }
}

/// The users' rows of `pg_type`: each type and its array.
pub(super) fn types(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    if keys.oid("oid") == Some(Oid(0)) {
        return Vec::new();
    }
    let (relations, types) = candidates(catalog, keys);
    let row_types = relations.iter().filter_map(Relation::row_type_by_name).flat_map(|ty| {
        let owner = super::rights::owner(catalog, Object::Relation(ty.oid));
        [own_row(&ty), array_row(catalog, &ty)].map(|row| {
            let mut values = row.values(namespace(catalog, &ty.schema), Value::Null);
            values[3] = owner.clone();
            values
        })
    });
    let reads_default = keys.reads("typdefault") || keys.reads("typdefaultbin");
    let rows = types.iter().flat_map(|ty| {
        let owner = super::rights::owner(catalog, Object::Type(ty.oid));
        let of = |row: Row<'_>, default: Value| {
            let mut values = row.values(namespace(catalog, &ty.schema), default);
            values[3] = owner.clone();
            values
        };
        let default = match &ty.ty {
            SqlType::Domain(domain) if reads_default => definitions::domain_default(views, catalog, domain),
            _ => None,
        };
        let mut own = of(own_row(ty), default.map_or(Value::Null, |text| Value::text(&text)));
        if let Some(acl) = own.last_mut() {
            *acl = super::rights::own_acl(catalog, Object::Type(ty.oid));
        }
        [own, of(array_row(catalog, ty), Value::Null)]
    });
    let of_system = system_relations(keys).into_iter().flat_map(|relation| {
        let ty = relation.rows();
        let own = Row { relation: relation.oid.0, ..own_row(&ty) };
        [own, array_row(catalog, &ty)].map(|row| row.values(namespace(catalog, &ty.schema), Value::Null))
    });
    rows.chain(row_types).chain(of_system).filter(|row| keys.fit(row)).collect()
}

/// The system's relations whose row types, or arrays of them, may have the rows that are asked for.
fn system_relations(keys: &Keys<'_>) -> Vec<&'static SystemRelation> {
    let asked = |column: &str| keys.oid(column).filter(|oid| *oid != Oid(0));
    if asked("typbasetype").is_some() {
        return Vec::new();
    }
    let has_type = |relation: &&SystemRelation| relation.row_type != Oid(0);
    if let Some(relation) = asked("typrelid") {
        return SystemRelation::by_oid(relation).filter(has_type).into_iter().collect();
    }
    if let Some(ty) = ["oid", "typelem", "typarray"].into_iter().find_map(asked) {
        return SystemRelation::of_rows(ty).into_iter().collect();
    }
    let name = keys.text("typname");
    let fits = |relation: &&SystemRelation| {
        name.is_none_or(|name| {
            name.strip_prefix('_').unwrap_or(name) == relation.name || name == relation.name
        })
    };
    SystemRelation::all().iter().filter(has_type).filter(fits).collect()
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
    if keys.oid("typbasetype").is_some_and(|oid| oid.0 != 0) {
        // Only domains have one.
        return (Vec::new(), catalog.types().cloned().collect());
    }
    let Some(name) = keys.text("typname") else {
        return (catalog.relations().cloned().collect(), catalog.types().cloned().collect());
    };
    // As `array_name` calls them.
    let later = name.strip_suffix("_1").and_then(|name| name.strip_prefix('_'));
    let names = || {
        let arrays = [name.strip_prefix('_'), name.strip_prefix("__"), later];
        std::iter::once(name).chain(arrays.into_iter().flatten())
    };
    let relations = names().flat_map(|name| catalog.relations_named(name)).cloned().collect();
    (relations, names().flat_map(|name| catalog.types_named(name)).cloned().collect())
}

fn own_row(ty: &TypeDef) -> Row<'_> {
    let (kind, category, domain) = match &ty.ty {
        SqlType::Domain(domain) => ('d', verso_planner::bind::category(&ty.ty), Some(&**domain)),
        SqlType::Range(_) => ('r', 'R', None),
        SqlType::Multirange(_) => ('m', 'R', None),
        own if own.is_row() => ('c', 'C', None),
        SqlType::System(own) => ('b', own.category(), None),
        _ => ('e', 'E', None),
    };
    let mut facts = facts_of(&ty.ty);
    if let Some(own) = domain.and_then(|domain| domain.base.collation()) {
        facts.collation = own.shown_oid();
    }
    Row {
        oid: ty.oid.0,
        name: ty.name.to_string(),
        length: ty.ty.typlen(),
        kind,
        category,
        relation: if kind == 'c' { ty.oid.0 } else { 0 },
        element: 0,
        array: ty.array.0,
        io: Io::of(&ty.ty),
        facts,
        delimiter: ty.ty.delimiter(),
        domain,
    }
}

/// What the array of a type is called: as the type with an underscore in front. Where another type has that name, the array of the
/// type that was there first gives way to the type, and that of a later type to the array.
fn array_name(catalog: &CatalogSnapshot, ty: &TypeDef, usual: String) -> String {
    let other = |name: &str| {
        let of_rows = || catalog.relation(Some(&ty.schema), name).and_then(Relation::row_type_by_name);
        let own = catalog.type_named(Some(&ty.schema), name).map(|ty| ty.oid);
        own.or_else(|| of_rows().map(|ty| ty.oid))
    };
    match (other(&usual), ty.name.strip_prefix('_').and_then(other)) {
        (Some(later), _) if later > ty.oid => format!("_{usual}"),
        (Some(_), _) => format!("{usual}_1"),
        (None, Some(earlier)) if earlier < ty.oid => format!("{usual}_1"),
        (None, _) => usual,
    }
}

fn array_row(catalog: &CatalogSnapshot, ty: &TypeDef) -> Row<'static> {
    let array = SqlType::Array(Box::new(ty.ty.clone()));
    let collation = own_row(ty).facts.collation;
    Row {
        oid: ty.array.0,
        name: array_name(catalog, ty, array.internal_name()),
        length: -1,
        kind: 'b',
        category: 'A',
        relation: 0,
        element: ty.oid.0,
        array: 0,
        io: ARRAY,
        facts: TypeFacts { collation, ..facts_of(&array) },
        delimiter: ty.ty.delimiter(),
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
pub(super) fn ranges(catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let types: Vec<&Arc<TypeDef>> = match keys.oid("rngtypid") {
        Some(oid) => catalog.user_type(oid).into_iter().collect(),
        None => catalog.types().collect(),
    };
    for ty in types {
        let SqlType::Range(of) = &ty.ty else { continue };
        let subtype = of.subtype();
        // Bounds that are texts are in the order of their bytes, whatever the order of the database is: a dump has to say so.
        let collation = if subtype.is_collatable() { BY_BYTES } else { 0 };
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
