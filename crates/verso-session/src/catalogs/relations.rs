//! Rows of `pg_class`, `pg_attribute`, `pg_attrdef`, `pg_index` and `pg_sequence`.

use std::sync::Arc;

use verso_catalog::snapshot::PG_CATALOG;
use verso_catalog::{
    CatalogSnapshot, ColumnDef, ConstraintKind, DroppedColumn, Identity, IndexDef, IndexPart, Object, Oid,
    Relation, ReplicaIdentity, SequenceDef, SystemRelation, SystemRowIter, TableDef, TableOptions, TypeDef,
    default_oid, index_columns,
};
use verso_types::{SqlType, SystemType, Value};

use super::fixed::{default_class, facts_of};
use super::keys::Keys;
use super::{attnum, letter, number, oid, partitions, rights, short, vector};
use crate::views::Views;

/// The owner of what the system has made.
pub(super) const OWNER: u32 = 10;
/// The number of `information_schema`.
pub(super) const INFORMATION_SCHEMA_OID: u32 = verso_catalog::INFORMATION_SCHEMA_OID.0;
/// The column of `pg_class` with the type of the relation's rows.
const ROW_TYPE: &str = "reltype";
/// The access methods, as `pg_am` has them.
const HEAP: u32 = 2;

/// The number of an access method of indexes.
fn method_number(name: &str) -> u32 {
    match name {
        "hash" => 405,
        "gist" => 783,
        "gin" => 2742,
        "brin" => 3580,
        "spgist" => 4000,
        _ => 403,
    }
}

/// The number of a schema.
pub(super) fn namespace(catalog: &CatalogSnapshot, schema: &str) -> Value {
    match schema {
        verso_catalog::INFORMATION_SCHEMA => number(INFORMATION_SCHEMA_OID),
        schema => catalog.schema(schema).map_or(Value::Int8(0), |schema| oid(schema.oid)),
    }
}

/// The relations of users, as far as the oid and name in these columns fit.
pub(super) fn of_users(
    catalog: &Arc<CatalogSnapshot>,
    keys: &Keys<'_>,
    oid_column: &str,
    name_column: Option<&str>,
) -> Vec<Relation> {
    let name = name_column.and_then(|column| keys.text(column));
    let fits = |relation: &&Relation| {
        !relation.oid().is_system() && name.is_none_or(|name| **relation.name() == *name)
    };
    match (keys.oid(oid_column), name) {
        (Some(wanted), _) => catalog.relation_by_oid(wanted).filter(fits).cloned().into_iter().collect(),
        (None, Some(name)) => catalog.relations_named(name).filter(fits).cloned().collect(),
        (None, None) => match keys.oid("relnamespace") {
            Some(schema) => {
                let schema = catalog.schemas().find(|known| known.oid == schema);
                let of_it = schema.map(|schema| catalog.relations_in(&schema.name).filter(fits).cloned());
                of_it.into_iter().flatten().collect()
            }
            None => catalog.relations().filter(fits).cloned().collect(),
        },
    }
}

/// The number of the schema of one of the system's relations.
fn namespace_of(relation: &SystemRelation) -> u32 {
    if relation.schema == PG_CATALOG { 11 } else { INFORMATION_SCHEMA_OID }
}

/// The system's relations that fit in the same way.
fn of_system(keys: &Keys<'_>, oid_column: &str, name_column: Option<&str>) -> Vec<&'static SystemRelation> {
    let name = name_column.and_then(|column| keys.text(column));
    let schema = keys.oid("relnamespace").map(|schema| schema.0);
    let fits = |relation: &&SystemRelation| {
        name.is_none_or(|name| relation.name == name)
            && schema.is_none_or(|schema| schema == namespace_of(relation))
    };
    match keys.oid(oid_column) {
        Some(ty) if oid_column == ROW_TYPE => SystemRelation::of_rows(ty).filter(fits).into_iter().collect(),
        Some(wanted) => SystemRelation::by_oid(wanted).filter(fits).into_iter().collect(),
        None => SystemRelation::all().iter().filter(fits).collect(),
    }
}

/// What rows of `pg_class` differ in.
struct Class {
    oid: Value,
    name: Value,
    namespace: Value,
    row_type: u32,
    /// The composite type that its columns are of, of a typed table.
    of_type: u32,
    method: u32,
    file: u32,
    pages: i32,
    rows: f32,
    kind: char,
    persistence: char,
    populated: bool,
    columns: usize,
    checks: usize,
    has_index: bool,
    has_triggers: bool,
    has_parts: bool,
    options: Value,
    owner: Value,
    acl: Value,
    secured: (bool, bool),
    identity: ReplicaIdentity,
    /// A partition, or an index of one that is a part of an index of the whole.
    partition: bool,
    /// What `relpartbound` shows, of a partition.
    bound: Option<String>,
}

impl Class {
    fn row(self) -> Vec<Value> {
        let no = || Value::Bool(false);
        let stored = matches!(self.kind, 'r' | 'm');
        vec![
            self.oid,
            self.name,
            self.namespace,
            number(self.row_type),
            number(self.of_type),
            self.owner,
            number(self.method),
            number(self.file),
            number(0),
            Value::Int4(self.pages),
            Value::Float4(self.rows),
            Value::Int4(0),
            Value::Int4(0),
            number(0),
            Value::Bool(self.has_index),
            no(),
            letter(self.persistence),
            letter(self.kind),
            short(self.columns),
            short(self.checks),
            // Views and materialized views are rules.
            Value::Bool(matches!(self.kind, 'v' | 'm')),
            Value::Bool(self.has_triggers),
            Value::Bool(self.has_parts),
            Value::Bool(self.secured.0),
            Value::Bool(self.secured.1),
            Value::Bool(self.populated),
            letter(if stored || self.kind == 'p' { self.identity.letter() } else { 'n' }),
            Value::Bool(self.partition),
            number(0),
            number(0),
            number(0),
            self.acl,
            self.options,
            self.bound.map_or(Value::Null, |bound| Value::text(&bound)),
        ]
    }
}

/// The rows of `pg_class`.
pub(super) fn classes(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> SystemRowIter {
    // A relation of users has the number of its row type; 0 stands for none, which indexes and sequences have.
    let by_type = keys.oid("oid").is_none() && keys.oid(ROW_TYPE).is_some_and(|ty| ty.0 != 0);
    let number_column = if by_type { ROW_TYPE } else { "oid" };
    let known = Arc::clone(catalog);
    let system = of_system(keys, number_column, Some("relname")).into_iter().map(move |relation| {
        let schema = namespace_of(relation);
        let class = Class {
            oid: oid(relation.oid),
            name: Value::text(relation.name),
            namespace: number(schema),
            row_type: relation.row_type.0,
            of_type: 0,
            method: if relation.kind == 'r' { HEAP } else { 0 },
            file: 0,
            pages: 0,
            rows: -1.0,
            kind: relation.kind,
            persistence: 'p',
            populated: true,
            columns: relation.columns.len(),
            checks: 0,
            has_index: false,
            has_triggers: false,
            has_parts: false,
            options: Value::Null,
            owner: number(OWNER),
            acl: rights::own_acl(&known, Object::Relation(relation.oid)),
            secured: (false, false),
            identity: ReplicaIdentity::Default,
            partition: false,
            bound: None,
        };
        class.row()
    });
    let known = Arc::clone(catalog);
    let composites =
        composite_types(catalog, keys, number_column, Some("relname")).into_iter().map(move |ty| {
            let class = Class {
                oid: oid(ty.oid),
                name: Value::text(&ty.name),
                namespace: namespace(&known, &ty.schema),
                row_type: ty.oid.0,
                of_type: 0,
                method: 0,
                file: 0,
                pages: 0,
                rows: 0.0,
                kind: 'c',
                persistence: if verso_catalog::is_temporary(&ty.schema) { 't' } else { 'p' },
                populated: true,
                columns: ty.fields.last().copied().map_or(0, usize::from),
                checks: 0,
                has_index: false,
                has_triggers: false,
                has_parts: false,
                options: Value::Null,
                owner: rights::owner(&known, Object::Type(ty.oid)),
                acl: Value::Null,
                secured: (false, false),
                identity: ReplicaIdentity::Default,
                partition: false,
                bound: None,
            };
            class.row()
        });
    let users = of_users(catalog, keys, number_column, Some("relname"));
    let (sized, bounded) = (keys.reads("relpages"), keys.reads("relpartbound"));
    let (catalog, engine) = (Arc::clone(catalog), views.services.instance.engine.clone());
    let style = views.services.settings.time_zone.clone();
    let users = users.into_iter().map(move |relation| {
        let (schema, _) = relation.path();
        let base = Class {
            oid: oid(relation.oid()),
            name: Value::text(relation.name()),
            namespace: namespace(&catalog, schema),
            row_type: match &relation {
                Relation::Table(_) | Relation::View(_) if !relation.oid().is_system() => relation.oid().0,
                _ => 0,
            },
            of_type: 0,
            method: 0,
            file: relation.oid().0,
            pages: 1,
            rows: 0.0,
            kind: 'r',
            persistence: if verso_catalog::is_temporary(schema) { 't' } else { 'p' },
            populated: true,
            columns: 0,
            checks: 0,
            has_index: false,
            has_triggers: false,
            has_parts: false,
            options: Value::Null,
            owner: rights::owner(&catalog, Object::Relation(relation.oid())),
            acl: rights::own_acl(&catalog, Object::Relation(relation.oid())),
            secured: catalog.row_security(relation.oid()),
            identity: ReplicaIdentity::Default,
            partition: false,
            bound: None,
        };
        let class = match &relation {
            Relation::Table(table) => {
                let pages = || engine.heap(table.heap).map_or(0, |heap| u64::from(heap.page_count()));
                let pages = if sized { pages() } else { 0 };
                let is_check = |kind: &ConstraintKind| matches!(kind, ConstraintKind::Check { .. });
                let is_foreign = |kind: &ConstraintKind| matches!(kind, ConstraintKind::Foreign(_));
                Class {
                    of_type: table.of_type().map_or(0, |ty| ty.0),
                    method: if table.partitioned.is_some() { 0 } else { HEAP },
                    kind: match () {
                        () if table.materialized.is_some() => 'm',
                        () if table.partitioned.is_some() => 'p',
                        () => 'r',
                    },
                    partition: table.partition_of.is_some(),
                    bound: if bounded { partitions::bound_text(&style, &catalog, table) } else { None },
                    populated: table.materialized.as_ref().is_none_or(|it| it.populated),
                    file: if table.partitioned.is_some() { 0 } else { table.heap.0 },
                    pages: i32::try_from(pages).unwrap_or(i32::MAX),
                    rows: catalog.statistics(table).map_or(-1.0, |known| known.rows.round() as f32),
                    columns: table.last_number().into(),
                    checks: table.constraints.iter().filter(|constraint| is_check(&constraint.kind)).count(),
                    has_index: table.all_indexes().next().is_some(),
                    has_triggers: !table.triggers.is_empty()
                        || !table.referenced_by.is_empty()
                        || table.constraints.iter().any(|constraint| is_foreign(&constraint.kind)),
                    has_parts: table.partitioned.as_ref().is_some_and(|own| !own.partitions.is_empty()),
                    options: options(&table.options),
                    identity: table.replica_identity(),
                    persistence: if table.unlogged { 'u' } else { base.persistence },
                    ..base
                }
            }
            Relation::Index(index) => {
                let columns = index.parts.len() + index.include.len();
                let options = options(&index.options);
                let method = method_number(index.method());
                let table = catalog.table_by_oid(index.table);
                let unlogged = table.as_ref().is_some_and(|table| table.unlogged);
                let parts = table.iter().flat_map(|table| &table.partitioned).flat_map(|own| &own.partitions);
                let has_parts =
                    parts.flat_map(|part| part.all_indexes()).any(|part| part.part_of == Some(index.oid));
                let known = table.as_ref().and_then(|table| catalog.statistics(table));
                // Of how many rows one with a condition has entries nobody has counted.
                let rows =
                    known.filter(|_| index.guard.is_none()).map_or(0.0, |known| known.rows.round() as f32);
                let whole = table.as_ref().is_some_and(|table| table.partitioned.is_some());
                let persistence = if unlogged { 'u' } else { base.persistence };
                let (kind, file) = if whole { ('I', 0) } else { ('i', index.object.0) };
                let partition = index.part_of.is_some();
                Class {
                    method,
                    file,
                    kind,
                    columns,
                    persistence,
                    partition,
                    has_parts,
                    options,
                    rows,
                    ..base
                }
            }
            Relation::Sequence(sequence) => {
                let persistence = if sequence.unlogged { 'u' } else { base.persistence };
                Class { file: sequence.object.0, rows: 1.0, kind: 'S', columns: 3, persistence, ..base }
            }
            Relation::View(view) => {
                let options = options(&view.options);
                Class {
                    file: 0,
                    pages: 0,
                    rows: -1.0,
                    kind: 'v',
                    columns: view.columns.len(),
                    has_triggers: !view.triggers.is_empty(),
                    options,
                    ..base
                }
            }
        };
        class.row()
    });
    Box::new(system.chain(users).chain(composites))
}

/// The composite types, as far as the oid and name in these columns fit: they are relations, too, with their types' numbers.
fn composite_types(
    catalog: &Arc<CatalogSnapshot>,
    keys: &Keys<'_>,
    oid_column: &str,
    name_column: Option<&str>,
) -> Vec<Arc<TypeDef>> {
    let (wanted, name) = (keys.oid(oid_column), name_column.and_then(|column| keys.text(column)));
    let fits = |ty: &&Arc<TypeDef>| {
        ty.ty.is_row() && wanted.is_none_or(|oid| ty.oid == oid) && name.is_none_or(|name| *ty.name == *name)
    };
    match (wanted, name) {
        (Some(oid), _) => catalog.user_type(oid).filter(fits).cloned().into_iter().collect(),
        (None, Some(name)) => catalog.types_named(name).filter(fits).cloned().collect(),
        (None, None) => catalog.types().filter(fits).cloned().collect(),
    }
}

/// `reloptions`.
fn options(options: &TableOptions) -> Value {
    if options.shown().next().is_none() {
        return Value::Null;
    }
    let option = |(name, value): &(Arc<str>, Arc<str>)| Value::text(&format!("{name}={value}"));
    Value::Array(options.shown().map(option).collect())
}

/// What rows of `pg_attribute` differ in.
struct Attribute<'a> {
    relation: Oid,
    name: &'a str,
    ty: &'a SqlType,
    number: i16,
    not_null: bool,
    has_default: bool,
    identity: &'static str,
    generated: &'static str,
    /// Of a partition: the column is that of the whole.
    inherited: bool,
    statistics: Option<u16>,
    /// STORAGE and COMPRESSION, where they were said.
    storage: Option<char>,
    compression: Option<char>,
    options: Value,
    acl: Value,
    /// The column is gone, and `ty` is what it was.
    dropped: bool,
}

impl<'a> Attribute<'a> {
    /// A column of which nothing is said but its name, type and number.
    fn new(relation: Oid, name: &'a str, ty: &'a SqlType, number: i16) -> Attribute<'a> {
        Attribute {
            relation,
            name,
            ty,
            number,
            not_null: false,
            has_default: false,
            identity: "",
            generated: "",
            inherited: false,
            statistics: None,
            storage: None,
            compression: None,
            options: Value::Null,
            acl: Value::Null,
            dropped: false,
        }
    }

    fn row(self) -> Vec<Value> {
        let facts = facts_of(self.ty);
        vec![
            oid(self.relation),
            Value::text(self.name),
            number(if self.dropped { 0 } else { self.ty.pg_oid() }),
            Value::Int2(self.ty.typlen()),
            Value::Int2(self.number),
            Value::Int4(self.ty.typmod()),
            Value::Int2(i16::from(
                matches!(self.ty.uncollated(), SqlType::Array(_)) && self.ty.vector_name().is_none(),
            )),
            Value::Bool(facts.by_value),
            letter(facts.alignment),
            letter(self.storage.filter(|_| facts.storage != 'p').unwrap_or(facts.storage)),
            self.compression.filter(|_| facts.storage != 'p').map_or_else(|| Value::text(""), letter),
            Value::Bool(self.not_null),
            Value::Bool(self.has_default),
            Value::Bool(false),
            Value::text(self.identity),
            Value::text(self.generated),
            Value::Bool(self.dropped),
            Value::Bool(!self.inherited),
            Value::Int2(i16::from(self.inherited)),
            super::collations::of_type(self.ty, number(facts.collation)),
            self.statistics
                .map_or(Value::Null, |target| Value::Int2(i16::try_from(target).unwrap_or(i16::MAX))),
            self.acl,
            self.options,
            Value::Null,
            Value::Null,
        ]
    }

    fn of_column(catalog: &CatalogSnapshot, relation: Oid, column: &'a ColumnDef) -> Attribute<'a> {
        let table = catalog.table_by_oid(relation);
        let table = table.as_deref();
        Attribute {
            not_null: column.not_null,
            // The default of an identity column is its sequence, which PostgreSQL does not keep as one.
            has_default: column.default.is_some() && column.identity.is_none(),
            identity: match column.identity {
                Some(Identity::Always) => "a",
                Some(Identity::ByDefault) => "d",
                None => "",
            },
            generated: match (column.generated, column.is_virtual) {
                (false, _) => "",
                (true, false) => "s",
                (true, true) => "v",
            },
            inherited: catalog.table_by_oid(relation).is_some_and(|table| table.partition_of.is_some()),
            statistics: column.statistics,
            storage: table.and_then(|table| table.column_storage(column.id)),
            compression: table.and_then(|table| table.column_compression(column.id)),
            options: column_options(catalog, relation, column),
            acl: rights::own_acl(catalog, Object::Column(relation, column.id)),
            ..Attribute::new(relation, &column.name, column.declared(), attnum(column.id))
        }
    }

    /// The row of a column that was dropped: clients count on every number up to the last one.
    fn of_dropped(relation: Oid, column: &DroppedColumn) -> Vec<Value> {
        let name = column.name();
        Attribute { dropped: true, ..Attribute::new(relation, &name, &column.ty, attnum(column.id)) }.row()
    }
}

/// `attoptions`.
fn column_options(catalog: &CatalogSnapshot, relation: Oid, column: &ColumnDef) -> Value {
    // So that tools which know nothing of it keep it: ALTER COLUMN … SET (reservable = true).
    let reservable = column.reservable.then(|| Value::text("reservable=true"));
    let table = catalog.table_by_oid(relation);
    let told = table.iter().flat_map(|table| table.column_options(column.id));
    let told = told.map(|(name, value)| Value::text(&format!("{name}={value}")));
    let all: Vec<Value> = reservable.into_iter().chain(told).collect();
    if all.is_empty() { Value::Null } else { Value::Array(all.into_iter().collect()) }
}

/// The rows of `pg_attribute`.
pub(super) fn attributes(catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> SystemRowIter {
    let system = of_system(keys, "attrelid", None).into_iter().flat_map(|relation| {
        let attribute = |(place, column): (usize, &'static verso_catalog::SystemColumn)| {
            let attribute = Attribute {
                not_null: column.not_null,
                ..Attribute::new(
                    relation.oid,
                    column.name,
                    &column.ty,
                    i16::try_from(place + 1).unwrap_or(i16::MAX),
                )
            };
            let mut row = attribute.row();
            if let Some(domain) = column.domain {
                (row[2], row[5]) = (oid(domain), Value::Int4(-1));
            }
            row
        };
        relation.columns.iter().enumerate().map(attribute).collect::<Vec<_>>()
    });
    let composites = composite_types(catalog, keys, "attrelid", None).into_iter().flat_map(|ty| {
        let SqlType::Row(row) = &ty.ty else { return Vec::new() };
        let attribute = |((name, field), id): ((&Arc<str>, &SqlType), &u16)| {
            Attribute::new(ty.oid, name, field, attnum(*id)).row()
        };
        let fields = row.as_written().zip(&ty.fields).map(attribute);
        let is_gone = |id: &u16| !ty.fields.contains(id);
        let gone = (1..ty.fields.last().copied().unwrap_or(0)).filter(is_gone);
        let gone = gone.map(|id| Attribute::of_dropped(ty.oid, &DroppedColumn { id, ty: SqlType::Unknown }));
        fields.chain(gone).collect()
    });
    let users = of_users(catalog, keys, "attrelid", None);
    let catalog = Arc::clone(catalog);
    let users = users.into_iter().flat_map(move |relation| match &relation {
        Relation::Table(table) => {
            let attribute = |column: &ColumnDef| Attribute::of_column(&catalog, table.oid, column).row();
            let dropped = table.dropped.iter().map(|column| Attribute::of_dropped(table.oid, column));
            let shown = table.shown().iter().map(attribute);
            of_every_table(table.oid).chain(shown).chain(dropped).collect::<Vec<_>>()
        }
        Relation::Index(index) => of_index(&catalog, index),
        Relation::Sequence(sequence) => of_sequence(sequence),
        Relation::View(view) => {
            let attribute = |column: &ColumnDef| Attribute::of_column(&catalog, view.oid, column).row();
            view.columns.iter().map(attribute).collect()
        }
    });
    Box::new(system.chain(users).chain(composites))
}

/// What every row of a table has beside its columns.
fn of_every_table(table: Oid) -> impl Iterator<Item = Vec<Value>> {
    let tid = SqlType::System(SystemType::Tid);
    let xid = || SqlType::System(SystemType::Xid);
    let all = [("ctid", -1, tid), ("xmin", -2, xid()), ("xmax", -4, xid()), ("tableoid", -6, SqlType::Oid)];
    all.into_iter().map(move |(name, number, ty)| {
        let attribute = Attribute { not_null: true, ..Attribute::new(table, name, &ty, number) };
        attribute.row()
    })
}

/// The columns of an index: those of its key.
fn of_index(catalog: &CatalogSnapshot, index: &IndexDef) -> Vec<Vec<Value>> {
    let Some(table) = catalog.table_by_oid(index.table) else { return Vec::new() };
    let columns = index.parts.iter().map(|part| part.column).chain(index.include.iter().copied());
    let columns: Vec<u16> = columns.filter(|id| table.column_with_id(*id).is_some()).collect();
    let name = |id: &u16| match index.expression(&table, *id).map(verso_parser::parse_expression) {
        Some(Ok(expr)) => verso_planner::bind::index_name(&expr),
        Some(Err(_)) => "expr".to_string(),
        None => table.column_with_id(*id).map_or_else(String::new, |at| table.columns[at].name.to_string()),
    };
    let names: Vec<String> = columns.iter().map(name).collect();
    let names = index_columns(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let mut rows = Vec::new();
    for ((id, name), number) in columns.into_iter().zip(names).zip(1..) {
        let Some(column) = table.column_with_id(id) else { continue };
        let column = &table.columns[column];
        let statistics = column.statistics.filter(|_| column.is_hidden());
        let attribute = Attribute { statistics, ..Attribute::new(index.oid, &name, &column.ty, number) };
        rows.push(attribute.row());
    }
    rows
}

/// The columns of a sequence.
fn of_sequence(sequence: &SequenceDef) -> Vec<Vec<Value>> {
    let columns = [("last_value", SqlType::Int8), ("log_cnt", SqlType::Int8), ("is_called", SqlType::Bool)];
    let attribute = |((name, ty), number): (&(&str, SqlType), i16)| {
        let attribute = Attribute { not_null: true, ..Attribute::new(sequence.oid, name, ty, number) };
        attribute.row()
    };
    columns.iter().zip(1..).map(attribute).collect()
}

/// The rows of `pg_attrdef`.
pub(super) fn defaults(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    keys: &Keys<'_>,
) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let relations = match keys.oid("oid").map(|number| catalog.column_of_default(number.0)) {
        Some(of) => {
            of.and_then(|(relation, _)| catalog.relation_by_oid(relation)).cloned().into_iter().collect()
        }
        None => of_users(catalog, keys, "adrelid", None),
    };
    for relation in relations {
        let table = match relation {
            Relation::Table(table) => table,
            Relation::View(view) => Arc::new(view.as_table()),
            Relation::Index(_) | Relation::Sequence(_) => continue,
        };
        for column in table.shown() {
            if column.default.is_none() || column.identity.is_some() {
                continue;
            }
            rows.push(vec![
                number(default_oid(table.oid, column.id)),
                oid(table.oid),
                Value::Int2(attnum(column.id)),
                keys.read("adbin", || {
                    super::definitions::default_text(views, catalog, &table, column)
                        .map_or(Value::Null, |text| Value::text(&text))
                }),
            ]);
        }
    }
    rows
}

/// The indexes of users that fit.
fn indexes_of_users(catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Arc<IndexDef>> {
    if let Some(table) = keys.oid("indrelid") {
        return catalog.table_by_oid(table).map_or_else(Vec::new, |table| match table.oid.is_system() {
            true => Vec::new(),
            false => table.all_indexes().cloned().collect(),
        });
    }
    let relations = of_users(catalog, keys, "indexrelid", None);
    let index = |relation| match relation {
        Relation::Index(index) => Some(index),
        _ => None,
    };
    relations.into_iter().filter_map(index).collect()
}

/// The type that a column of a table was declared as.
pub(super) fn declared(table: &verso_catalog::TableDef, id: u16) -> &SqlType {
    table.column_with_id(id).map_or(&SqlType::Unknown, |at| table.columns[at].declared())
}

/// Whether all partitions of a table have a part of an index.
fn has_all_parts(index: &IndexDef, table: &TableDef) -> bool {
    let part = |partition: &Arc<TableDef>| {
        let own = partition.indexes.iter().find(|own| own.part_of == Some(index.oid));
        own.is_some_and(|own| has_all_parts(own, partition))
    };
    table.partitioned.as_ref().is_none_or(|partitioned| partitioned.partitions.iter().all(part))
}

/// The operator class of an access method for a type, by its number.
fn class_of(method: &str, ty: &SqlType) -> i64 {
    let is_network = matches!(ty, SqlType::System(SystemType::Inet | SystemType::Cidr));
    match (method, ty) {
        ("gist", SqlType::Range(_)) => 10_078,
        ("spgist", SqlType::Range(_)) => 10_079,
        ("gist", SqlType::Multirange(_)) => 10_082,
        ("gist", _) if is_network => 10_017,
        ("hash", ty) => super::fixed::hash_class(ty),
        (_, ty) => default_class(ty),
    }
}

/// The operators of the parts of an exclusion constraint, as `pg_constraint.conexclop` has them.
pub(super) fn exclusion_operators(
    table: &verso_catalog::TableDef,
    parts: &[&verso_catalog::IndexPart],
) -> Value {
    let operator = |part: &&verso_catalog::IndexPart| {
        let symbol = part.excludes?.symbol();
        let found = super::fixed::operator_over(symbol, declared(table, part.column).uncollated());
        Some(Value::Int8(found.map_or(0, |found| found.oid)))
    };
    Value::Array(parts.iter().filter_map(operator).collect())
}

/// The place of a column in `pg_index.indkey` of an index, counted from 1; an expression counts as column 0.
pub(super) fn place_in_index(catalog: &CatalogSnapshot, index: Oid, number: i16) -> Option<usize> {
    let Relation::Index(index) = catalog.relation_by_oid(index)? else { return None };
    let table = catalog.table_by_oid(index.table)?;
    let parts = index.declared();
    let mut columns = parts.iter().map(|part| part.column).chain(index.include.iter().copied());
    let own = |column: u16| index.expression(&table, column).map_or_else(|| attnum(column), |_| 0);
    Some(columns.position(|column| own(column) == number)? + 1)
}

/// The rows of `pg_index`.
pub(super) fn indexes(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> SystemRowIter {
    let lists = ["indkey", "indcollation", "indclass", "indoption"].map(|column| keys.reads(column));
    let texts = ["indexprs", "indpred"].map(|column| keys.reads(column));
    let mut indexes = indexes_of_users(catalog, keys);
    indexes.retain(|index| keys.takes("indexrelid", index.oid));
    if texts == [false, false] {
        // One row after the other: all of them take much room.
        let catalog = Arc::clone(catalog);
        let row = move |index: Arc<IndexDef>| index_row(&catalog, &index, lists, [Value::Null, Value::Null]);
        return Box::new(indexes.into_iter().filter_map(row));
    }
    let shown = |text: Option<String>| text.map_or(Value::Null, |text| Value::text(&text));
    let row = |index: &Arc<IndexDef>| {
        let table = catalog.table_by_oid(index.table)?;
        let expressions = || super::definitions::index_expressions(views, catalog, &table, index);
        let predicate = || super::definitions::index_predicate(views, catalog, &table, index, false);
        let made = [texts[0].then(expressions).flatten(), texts[1].then(predicate).flatten()];
        index_row(catalog, index, lists, made.map(&shown))
    };
    super::all(indexes.iter().filter_map(row).collect())
}

/// The row of an index: its columns, collations, classes and options where they are read; its expressions and its predicate.
fn index_row(
    catalog: &CatalogSnapshot,
    index: &IndexDef,
    [with_columns, with_collations, with_classes, with_options]: [bool; 4],
    [expressions, predicate]: [Value; 2],
) -> Option<Vec<Value>> {
    let table = catalog.table_by_oid(index.table)?;
    let parts = index.declared();
    let ty = |part: &IndexPart| {
        table.column_with_id(part.column).map_or(SqlType::Unknown, |at| table.columns[at].ty.clone())
    };
    let column = |column: u16| match index.expression(&table, column) {
        Some(_) => Value::Int2(0),
        None => Value::Int2(attnum(column)),
    };
    let collation = |part: &IndexPart| match &part.collation {
        Some(one) if part.class == verso_catalog::KeyClass::Ordered => number(one.oid),
        _ => {
            let of_type = number(facts_of(&ty(part)).collation);
            super::collations::of_type(declared(&table, part.column), of_type)
        }
    };
    let class = |part: &IndexPart| {
        Value::Int8(part.class.oid().unwrap_or_else(|| class_of(index.method(), &ty(part))))
    };
    let option =
        |part: &IndexPart| Value::Int2(i16::from(part.descending) | i16::from(part.nulls_first) << 1);
    let list = |read: bool, of: &dyn Fn(&IndexPart) -> Value| match read {
        true => vector(parts.iter().map(|part| of(part))),
        false => Value::Null,
    };
    let all = parts.iter().map(|part| part.column).chain(index.include.iter().copied());
    let yes = |value: bool| Value::Bool(value);
    Some(vec![
        oid(index.oid),
        oid(index.table),
        short(index.parts.len() + index.include.len()),
        short(index.parts.len()),
        yes(index.unique),
        yes(!index.nulls_distinct),
        yes(index.primary),
        yes(index.excludes()),
        yes(!index.deferrable),
        yes(index.clustered),
        yes(index.valid && has_all_parts(index, &table)),
        yes(false),
        yes(index.valid),
        yes(true),
        yes(index.replica_identity),
        if with_columns { vector(all.map(column)) } else { Value::Null },
        list(with_collations, &collation),
        list(with_classes, &class),
        list(with_options, &option),
        expressions,
        predicate,
    ])
}

/// The rows of `pg_sequence`.
pub(super) fn sequences(catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    let row = |relation| {
        let Relation::Sequence(sequence) = relation else { return None };
        let bounds = &sequence.bounds;
        Some(vec![
            oid(sequence.oid),
            number(bounds.ty.pg_oid()),
            Value::Int8(bounds.start),
            Value::Int8(bounds.increment),
            Value::Int8(bounds.max),
            Value::Int8(bounds.min),
            Value::Int8(bounds.cache),
            Value::Bool(bounds.cycle),
        ])
    };
    of_users(catalog, keys, "seqrelid", None).into_iter().filter_map(row).collect()
}
