//! Rows of `pg_depend`: what needs what, as the definitions say it.
//!
//! What texts of the catalog need is what they name by number ([`kept`]), as DROP knows it. Programs that dump a database put its objects in order by these rows, and others ask them which views are made of a table.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_catalog::{
    AggregateDef, Callee, CastDef, CatalogSnapshot, ColumnDef, ConstraintKind, ExtensionDef, FunctionDef,
    FunctionLanguage, FunctionReturn, IndexDef, Need, Oid, OperatorDef, PolicyDef, Relation, StoredQuery,
    TableDef, TypeDef, ViewDef, default_oid, extension_of_type, kept,
};
use verso_exec::plan::ExprKind;
use verso_planner::bind::keys_of_body;
use verso_types::{Collation, SqlType, Value};

use super::extensions::{CLASSES, extension_of_class};
use super::keys::Keys;
use super::{definitions, letter, names, number};
use crate::views::Views;

/// Numbers of the catalogs that the rows refer to.
const TYPE: u32 = 1247;
const PROC: u32 = 1255;
const CLASS: u32 = 1259;
const ATTRDEF: u32 = 2604;
const CAST: u32 = 2605;
const CONSTRAINT: u32 = 2606;
const NAMESPACE: u32 = 2615;
const LANGUAGE: u32 = 2612;
const OPERATOR: u32 = 2617;
const REWRITE: u32 = 2618;
const TRIGGER: u32 = 2620;
const POLICY: u32 = 3256;
const STATISTICS: u32 = 3381;
const COLLATION: u32 = 3456;
const DEFAULT_ACL: u32 = 826;
const OPCLASS: u32 = 2616;
const OPFAMILY: u32 = 2753;
const EXTENSION: u32 = 3079;

/// The number of PL/pgSQL in `pg_language`: the one language whose functions name it, as PostgreSQL's others are built in.
const PLPGSQL: u32 = 13_498;

/// The catalogs whose objects depend on others.
const DEPENDING: &[u32] = &[
    TYPE,
    PROC,
    CLASS,
    ATTRDEF,
    CAST,
    CONSTRAINT,
    OPERATOR,
    REWRITE,
    TRIGGER,
    POLICY,
    STATISTICS,
    COLLATION,
    DEFAULT_ACL,
    OPCLASS,
    OPFAMILY,
    EXTENSION,
];
/// Those of them whose objects belong to no relation, function or type.
const OTHERS: &[u32] = &[COLLATION, DEFAULT_ACL, OPCLASS, OPFAMILY, EXTENSION];
/// Those whose objects others depend on.
const NEEDED: &[u32] =
    &[TYPE, PROC, CLASS, CONSTRAINT, LANGUAGE, NAMESPACE, OPERATOR, TRIGGER, COLLATION, OPCLASS, EXTENSION];

/// An object, or a column of one.
type Place = (u32, u32, i32);

/// Rows on their way.
struct Rows<'r> {
    views: &'r Views<'r>,
    catalog: &'r Arc<CatalogSnapshot>,
    rows: Vec<Vec<Value>>,
}

/// The rows of `pg_depend`.
pub(super) fn depends(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    // Programs ask what extensions have brought along: nothing has rows of these catalogs.
    let unknown = |column: &str, known: &[u32]| keys.oid(column).is_some_and(|of| !known.contains(&of.0));
    if unknown("classid", DEPENDING) || unknown("refclassid", NEEDED) {
        return Vec::new();
    }
    let mut rows = Rows { views, catalog, rows: Vec::new() };
    let is_of = |column: &str, classes: &[u32]| keys.oid(column).is_some_and(|of| classes.contains(&of.0));
    match keys.oid("objid") {
        // What these need, and what extensions have brought along, stands in no relation's definition.
        _ if is_of("refclassid", &[EXTENSION]) || is_of("classid", OTHERS) => rows.others(),
        None if is_of("classid", &[PROC]) => {
            catalog.all_functions().for_each(|function| rows.function(function));
            // Range types have made functions.
            catalog.types().for_each(|ty| rows.user_type(ty));
        }
        Some(object) => rows.of_object(object, keys.oid("classid")),
        None => {
            for relation in concerned(catalog, keys).iter().filter(|relation| !relation.oid().is_system()) {
                rows.relation(relation);
            }
            match keys.oid("refobjid").filter(|oid| catalog.relation_by_oid(*oid).is_some()) {
                Some(relation) => {
                    let naming = catalog.naming(relation);
                    naming.functions().for_each(|function| rows.function(function));
                    naming.types().for_each(|ty| rows.user_type(ty));
                }
                None => {
                    catalog.all_functions().for_each(|function| rows.function(function));
                    catalog.types().for_each(|ty| rows.user_type(ty));
                }
            }
            let is_named = |oid: &Oid| {
                let relation = catalog.relation_by_oid(*oid).is_some();
                relation || catalog.function_by_oid(*oid).is_some() || catalog.user_type(*oid).is_some()
            };
            match keys.oid("refobjid").filter(is_named) {
                Some(object) => {
                    let naming = catalog.naming(object);
                    naming.policies().for_each(|policy| rows.policy(policy));
                    naming.operators().for_each(|operator| rows.operator(operator));
                    naming.casts().for_each(|cast| rows.cast(cast));
                }
                None => {
                    catalog.all_policies().for_each(|policy| rows.policy(policy));
                    rows.operators_and_casts();
                }
            }
            rows.others();
        }
    }
    let mut rows = rows.rows;
    if !keys.keys.is_empty() {
        rows.retain(|row| keys.fit(row));
    }
    rows
}

/// The relations in whose definitions the dependencies on an object stand, where one is asked for.
fn concerned(catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Relation> {
    let all = || catalog.relations().cloned().collect();
    let part = |oid: Oid| catalog.relation_by_oid(oid).or_else(|| catalog.owner_of_part(oid)).cloned();
    let Some(object) = keys.oid("refobjid") else { return all() };
    let Some(relation) = part(object) else { return all() };
    let mut concerned = vec![relation.clone()];
    if let Relation::Table(table) = &relation {
        let others = table.all_indexes().map(|index| index.oid);
        let others = others.chain(table.referenced_by.iter().map(|constraint| constraint.table));
        concerned.extend(others.filter_map(|other| catalog.relation_by_oid(other).cloned()));
    }
    let is_rows = |ty: Oid| catalog.relation_of_rows(ty).is_some_and(|found| found.oid() == relation.oid());
    let of_rows =
        |columns: &[ColumnDef]| columns.iter().any(|column| is_rows(Oid(column.declared().pg_oid())));
    let names = |text: &str| kept::objects_of(text).contains(&relation.oid());
    let needs = |other: &&Relation| match other {
        Relation::Sequence(sequence) => {
            sequence.owned_by.as_ref().is_some_and(|owner| owner.table == relation.oid())
        }
        Relation::View(view) => {
            view.query.names(relation.oid())
                || matches!(relation, Relation::Sequence(_))
                || of_rows(&view.columns)
                || view.query.types.iter().any(|(_, ty)| is_rows(*ty))
                || texts_of(&view.columns).any(names)
        }
        Relation::Table(table) => {
            let checks = table.constraints.iter().filter_map(|constraint| match &constraint.kind {
                ConstraintKind::Check { expression } => Some(&**expression),
                _ => None,
            });
            table.materialized.is_some()
                || matches!(relation, Relation::Sequence(_))
                || of_rows(&table.columns)
                || texts_of(&table.columns).chain(checks).any(names)
                || table.partition_of.as_ref().is_some_and(|of| of.parent == relation.oid())
        }
        Relation::Index(index) => index.part_of == Some(relation.oid()),
    };
    match &relation {
        // Texts of earlier releases name sequences by their names.
        Relation::Sequence(_) => concerned.extend(catalog.relations().filter(needs).cloned()),
        _ => concerned.extend(catalog.naming(relation.oid()).relations().filter(needs).cloned()),
    }
    concerned.sort_by_key(Relation::oid);
    concerned.dedup_by_key(|relation| relation.oid());
    concerned
}

/// A collation as an object that others need, if users have made it.
fn of_users(collation: &Collation) -> Option<Place> {
    (!Oid(collation.oid).is_system()).then_some((COLLATION, collation.oid, 0))
}

/// The texts that columns have.
fn texts_of(columns: &[ColumnDef]) -> impl Iterator<Item = &str> {
    columns.iter().filter_map(|column| column.default.as_deref())
}

/// Whether a query may group rows.
fn groups(query: &StoredQuery) -> bool {
    query.text.as_bytes().windows(5).any(|word| word.eq_ignore_ascii_case(b"group"))
}

impl Rows<'_> {
    /// Those of the object of a number, of whatever it may be the number: several catalogs count for themselves.
    fn of_object(&mut self, object: Oid, class: Option<Oid>) {
        let catalog = self.catalog;
        let may_be = |known: &[u32]| class.is_none_or(|class| known.contains(&class.0));
        let mut relations: Vec<&Relation> = Vec::new();
        if may_be(&[CLASS, TYPE]) {
            // The type of a relation's rows has its number, and the array of that one of its own.
            relations.extend(catalog.relation_by_oid(object));
            let row = catalog.type_or_row_by_oid(object);
            relations.extend(row.and_then(|row| catalog.relation_by_oid(row.oid)));
        }
        if may_be(&[CONSTRAINT, TRIGGER]) {
            relations.extend(catalog.owner_of_part(object));
        }
        if may_be(&[REWRITE]) {
            relations.extend(catalog.owner_of_rule(object));
        }
        if may_be(&[ATTRDEF]) {
            let column = catalog.column_of_default(object.0);
            relations.extend(column.and_then(|(table, _)| catalog.relation_by_oid(table)));
        }
        if may_be(&[STATISTICS]) {
            let table = catalog.statistics_by_oid(object).map(|one| one.table);
            relations.extend(table.and_then(|table| catalog.relation_by_oid(table)));
        }
        // What an index of a constraint needs stands with its table.
        let of_indexes = relations.iter().filter_map(|relation| match relation {
            Relation::Index(index) => catalog.relation_by_oid(index.table),
            _ => None,
        });
        relations.extend(of_indexes.collect::<Vec<_>>());
        relations.retain(|relation| !relation.oid().is_system());
        relations.sort_by_key(|relation| relation.oid());
        relations.dedup_by_key(|relation| relation.oid());
        relations.into_iter().for_each(|relation| self.relation(relation));
        if may_be(&[PROC])
            && let Some(function) = catalog.function_by_oid(object)
        {
            self.function(function);
            if function.is_range_constructor() {
                catalog.types().for_each(|ty| self.user_type(ty));
            }
        }
        if may_be(&[OPERATOR]) {
            catalog.operator_by_oid(object).into_iter().for_each(|operator| self.operator(operator));
        }
        if may_be(&[CAST]) {
            catalog.cast_by_oid(object).into_iter().for_each(|cast| self.cast(cast));
        }
        if may_be(OTHERS) {
            self.others();
        }
        if may_be(&[CONSTRAINT]) {
            let domains = catalog.types().filter(|ty| matches!(ty.ty, SqlType::Domain(_)));
            domains.for_each(|ty| self.user_type(ty));
        }
        if may_be(&[TYPE, CLASS])
            && let Some(ty) = catalog.user_type(object)
        {
            self.user_type(ty);
            if class == Some(Oid(TYPE)) && ty.is_of_extension() {
                self.type_of_extension(ty, &super::extensions::known(catalog));
            }
        }
        if may_be(&[POLICY]) {
            catalog.policy_by_oid(object).into_iter().for_each(|policy| self.policy(policy));
        }
    }

    fn operators_and_casts(&mut self) {
        let catalog = self.catalog;
        catalog.operators().iter().for_each(|operator| self.operator(operator));
        catalog.casts().iter().for_each(|cast| self.cast(cast));
    }

    fn operator(&mut self, operator: &OperatorDef) {
        let own = (OPERATOR, operator.oid.0, 0);
        self.inside(own, &operator.schema);
        self.callee(own, &operator.function);
        self.users_types(own, operator.left.into_iter().chain([operator.right, operator.result]));
    }

    fn cast(&mut self, cast: &CastDef) {
        let own = (CAST, cast.oid.0, 0);
        cast.function.iter().for_each(|function| self.callee(own, function));
        self.users_types(own, [cast.source, cast.target]);
    }

    /// An object needs a function that it calls, if users have made it.
    fn callee(&mut self, own: Place, callee: &Callee) {
        if let Callee::User(function) = callee {
            self.add(own, (PROC, function.0, 0), 'n');
        }
    }

    /// An object needs each of these types once, if users have made it.
    fn users_types(&mut self, own: Place, types: impl IntoIterator<Item = Oid>) {
        let types: BTreeSet<Oid> = types.into_iter().collect();
        for ty in types.into_iter().filter(|ty| self.catalog.type_or_row_by_oid(*ty).is_some()) {
            self.add(own, (TYPE, ty.0, 0), 'n');
        }
    }

    /// That a type belongs to the extension, one of these, that has brought it along.
    fn type_of_extension(&mut self, ty: &TypeDef, known: &[ExtensionDef]) {
        let Some(name) = extension_of_type(&ty.ty).filter(|_| ty.is_of_extension()) else { return };
        for extension in known.iter().filter(|one| *one.name == *name) {
            self.add((TYPE, ty.oid.0, 0), (EXTENSION, extension.oid.0, 0), 'e');
        }
    }

    /// Collations and default rights; extensions, and what they have brought along.
    fn others(&mut self) {
        let catalog = self.catalog;
        let known = super::extensions::known(catalog);
        for extension in &known {
            let own = (EXTENSION, extension.oid.0, 0);
            self.inside(own, &extension.schema);
            for one in CLASSES.iter().filter(|one| *extension.name == *one.extension) {
                self.add((OPCLASS, one.class.0, 0), own, 'e');
                self.add((OPFAMILY, one.family.0, 0), own, 'e');
            }
        }
        catalog.types().for_each(|ty| self.type_of_extension(ty, &known));
        for collation in catalog.collations() {
            self.inside((COLLATION, collation.oid().0, 0), &collation.collation.schema);
        }
        for given in catalog.default_acls().iter().filter(|given| given.schema.0 != 0) {
            self.add((DEFAULT_ACL, given.oid.0, 0), (NAMESPACE, given.schema.0, 0), 'a');
        }
    }

    fn policy(&mut self, policy: &PolicyDef) {
        let place = (POLICY, policy.oid.0, 0);
        self.add(place, (CLASS, policy.table.0, 0), 'a');
        let needs: Vec<Need> = policy.needs().into_iter().collect();
        self.needs(place, &needs);
        self.others_named(place, policy.conditions().map(|condition| &*condition.query.text));
    }

    fn user_type(&mut self, ty: &TypeDef) {
        self.inside((TYPE, ty.oid.0, 0), &ty.schema);
        self.add((TYPE, ty.array.0, 0), (TYPE, ty.oid.0, 0), 'i');
        match &ty.ty {
            SqlType::Domain(domain) => {
                self.needs_type((TYPE, ty.oid.0, 0), &domain.base);
                self.needs_collation((TYPE, ty.array.0, 0), &domain.base);
                self.texts((TYPE, ty.oid.0, 0), domain.default.as_deref());
                for check in &domain.checks {
                    self.texts((CONSTRAINT, check.oid, 0), [&*check.expression]);
                }
                let demand = domain.not_null.then_some(domain.not_null_oid);
                for constraint in domain.checks.iter().map(|check| check.oid).chain(demand) {
                    self.add((CONSTRAINT, constraint, 0), (TYPE, ty.oid.0, 0), 'a');
                }
            }
            SqlType::Row(row) => {
                self.add((CLASS, ty.oid.0, 0), (TYPE, ty.oid.0, 0), 'i');
                for ((_, field), place) in row.as_written().zip(1..) {
                    self.needs_type((CLASS, ty.oid.0, place), field.uncollated());
                    if let SqlType::Collated(_) = field {
                        self.needs_collation((CLASS, ty.oid.0, place), field);
                    }
                }
            }
            SqlType::Range(_) => self.constructors(ty),
            SqlType::Multirange(of) => {
                if let Some(range) = of.own_name(false) {
                    self.add((TYPE, ty.oid.0, 0), (TYPE, range.oid, 0), 'i');
                }
                self.constructors(ty);
            }
            _ => {}
        }
    }

    /// The functions that came with a range type: a dump that makes it leaves them out.
    fn constructors(&mut self, ty: &TypeDef) {
        for function in self.catalog.all_functions().filter(|function| function.is_range_constructor()) {
            let alike = match &function.returns {
                FunctionReturn::Scalar(SqlType::Range(_)) => matches!(ty.ty, SqlType::Range(_)),
                _ => matches!(ty.ty, SqlType::Multirange(_)),
            };
            if alike && function.makes(&ty.ty) {
                self.add((PROC, function.oid.0, 0), (TYPE, ty.oid.0, 0), 'i');
            }
        }
    }

    fn add(&mut self, own: Place, other: Place, kind: char) {
        self.rows.push(vec![
            number(own.0),
            number(own.1),
            Value::Int4(own.2),
            number(other.0),
            number(other.1),
            Value::Int4(other.2),
            letter(kind),
        ]);
    }

    /// An object needs the schema that it is in.
    fn inside(&mut self, own: Place, schema: &str) {
        if let Some(schema) = self.catalog.schema(schema) {
            self.add(own, (NAMESPACE, schema.oid.0, 0), 'n');
        }
    }

    /// An object needs a type, if users have made it.
    fn needs_type(&mut self, own: Place, ty: &SqlType) {
        let number = Oid(ty.pg_oid());
        if self.catalog.type_or_row_by_oid(number).is_some() {
            self.add(own, (TYPE, number.0, 0), 'n');
        }
        self.needs_collation(own, ty);
    }

    /// An object needs the collation of a type, if users have made it.
    fn needs_collation(&mut self, own: Place, ty: &SqlType) {
        if let Some(collation) = ty.collation().and_then(|collation| of_users(&collation)) {
            self.add(own, collation, 'n');
        }
    }

    /// What texts name by number.
    fn named<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> BTreeSet<Place> {
        let all = texts.into_iter().flat_map(kept::meanings_of);
        all.filter_map(|(oid, relation)| self.place_of(oid, relation)).collect()
    }

    /// The object of a number that stands in a text: of a relation itself where it is named as one, else the type of its rows.
    fn place_of(&self, oid: Oid, relation: bool) -> Option<Place> {
        let catalog = self.catalog;
        let class = match () {
            () if relation && catalog.relation_by_oid(oid).is_some() => CLASS,
            () if catalog.function_by_oid(oid).is_some() => PROC,
            () if catalog.type_or_row_by_oid(oid).is_some() => TYPE,
            () if catalog.operator_by_oid(oid).is_some() => OPERATOR,
            () if catalog.collation_by_oid(oid.0).is_some() => COLLATION,
            () if catalog.relation_by_oid(oid).is_some() => CLASS,
            () => return None,
        };
        Some((class, oid.0, 0))
    }

    /// An object needs what its texts name.
    fn texts<'t>(&mut self, own: Place, texts: impl IntoIterator<Item = &'t str>) {
        self.named(texts).into_iter().for_each(|other| self.add(own, other, 'n'));
    }

    /// The operators and collations that texts name whose other needs are noted beside them.
    fn others_named<'t>(&mut self, own: Place, texts: impl IntoIterator<Item = &'t str>) {
        let named = self.named(texts).into_iter().filter(|(class, ..)| [OPERATOR, COLLATION].contains(class));
        named.for_each(|other| self.add(own, other, 'n'));
    }

    fn relation(&mut self, relation: &Relation) {
        let catalog = self.catalog;
        let own = relation.oid().0;
        if !matches!(relation, Relation::Index(_)) {
            self.inside((CLASS, own, 0), relation.path().0);
        }
        if let Some(ty) = relation.row_type_by_name() {
            self.add((TYPE, ty.oid.0, 0), (CLASS, own, 0), 'i');
            self.add((TYPE, ty.array.0, 0), (TYPE, ty.oid.0, 0), 'i');
        }
        for trigger in relation.triggers() {
            let place = (TRIGGER, trigger.oid.0, 0);
            self.add(place, (CLASS, own, 0), 'a');
            let mut needed = self.named(trigger.condition.as_deref());
            needed.insert((PROC, trigger.function.0, 0));
            needed.into_iter().for_each(|other| self.add(place, other, 'n'));
            if trigger.constraint {
                self.add((CONSTRAINT, trigger.oid.0, 0), place, 'i');
            }
            let of = relation.of_triggers();
            let in_condition = match (&of, trigger.condition.as_deref()) {
                (Some(table), Some(text)) => table.named_in(text).collect(),
                _ => Vec::new(),
            };
            let mut columns: Vec<u16> = trigger.columns.iter().copied().chain(in_condition).collect();
            columns.sort_unstable();
            columns.dedup();
            columns.into_iter().for_each(|id| self.add(place, (CLASS, own, i32::from(id)), 'n'));
            if trigger.part_of.0 != 0 {
                self.add(place, (TRIGGER, trigger.part_of.0, 0), 'P');
                self.add(place, (CLASS, own, 0), 'S');
            }
        }
        match relation {
            Relation::Table(table) => {
                self.table(table);
                if let Some(view) = table.as_view() {
                    self.rule(&view);
                }
            }
            Relation::Index(index) => {
                let classes = index.parts.iter().filter_map(|part| u32::try_from(part.class.oid()?).ok());
                let mut brought: Vec<u32> =
                    classes.filter(|class| extension_of_class(Oid(*class)).is_some()).collect();
                brought.sort_unstable();
                brought.dedup();
                brought.into_iter().for_each(|class| self.add((CLASS, own, 0), (OPCLASS, class, 0), 'n'));
                if let Some(whole) = index.part_of {
                    self.add((CLASS, own, 0), (CLASS, whole.0, 0), 'P');
                    self.add((CLASS, own, 0), (CLASS, index.table.0, 0), 'S');
                }
                if let Some(table) = catalog.table_by_oid(index.table) {
                    self.index(index, &table);
                }
            }
            Relation::View(view) => {
                self.rule(view);
                for column in &view.columns {
                    self.needs_type((CLASS, own, i32::from(column.id)), column.declared());
                }
                if view.columns.iter().any(|column| column.default.is_some()) {
                    let table = Arc::new(view.as_table());
                    let given = table.columns.iter().filter(|column| column.default.is_some());
                    given.for_each(|column| self.default(&table, column));
                }
            }
            Relation::Sequence(sequence) => {
                if let Some(owner) = sequence.owned_by {
                    let kind = if catalog.identity_of(sequence).is_some() { 'i' } else { 'a' };
                    self.add((CLASS, own, 0), (CLASS, owner.table.0, i32::from(owner.column)), kind);
                }
            }
        }
    }

    /// The columns of an index, unless its constraint needs them; what its expressions and its condition name; its collations.
    fn index(&mut self, index: &IndexDef, table: &TableDef) {
        let own = (CLASS, index.oid.0, 0);
        let (mut columns, mut texts) = (BTreeSet::new(), Vec::new());
        for id in index.columns() {
            match index.expression(table, id) {
                Some(text) => {
                    columns.extend(table.named_in(text));
                    texts.push(text);
                }
                None if index.constraint.is_none() => drop(columns.insert(id)),
                None => {}
            }
        }
        columns.into_iter().for_each(|column| self.add(own, (CLASS, table.oid.0, i32::from(column)), 'a'));
        let plain = index.parts.iter().map(|part| part.column).chain(index.include.iter().copied());
        if index.constraint.is_none() && plain.into_iter().all(ColumnDef::is_hidden_id) {
            self.add(own, (CLASS, table.oid.0, 0), 'a');
        }
        let mut needed = self.named(texts);
        let collations = index.parts.iter().filter_map(|part| part.collation.as_ref());
        needed.extend(collations.filter_map(|collation| of_users(collation)));
        needed.into_iter().for_each(|other| self.add(own, other, 'n'));
    }

    /// What the key by which a table is divided needs, and the type of its rows.
    fn divided(&mut self, table: &TableDef) {
        let own = (CLASS, table.oid.0, 0);
        if let Some(ty) = table.of_type() {
            self.add(own, (TYPE, ty.0, 0), 'n');
        }
        let Some(partitioned) = &table.partitioned else { return };
        let hidden = table.columns.iter().filter(|column| column.is_hidden());
        let keys = hidden.filter(|column| partitioned.columns.contains(&column.id));
        let mut needed = self.named(keys.filter_map(|column| column.default.as_deref()));
        let collations = partitioned.types.iter().filter_map(SqlType::collation);
        needed.extend(collations.filter_map(|collation| of_users(&collation)));
        needed.into_iter().for_each(|other| self.add(own, other, 'n'));
    }

    fn table(&mut self, table: &Arc<TableDef>) {
        let catalog = self.catalog;
        let own = table.oid.0;
        for column in table.shown() {
            self.needs_type((CLASS, own, i32::from(column.id)), column.declared());
            if column.default.is_some() && column.identity.is_none() {
                self.default(table, column);
            }
        }
        if let Some(of) = &table.partition_of {
            self.add((CLASS, own, 0), (CLASS, of.parent.0, 0), 'a');
        }
        self.divided(table);
        for column in table.divided_by() {
            self.add((CLASS, own, i32::from(column)), (CLASS, own, 0), 'i');
        }
        for one in &table.extended {
            let place = (STATISTICS, one.oid.0, 0);
            self.inside(place, &one.schema);
            let named = one.expressions.iter().flat_map(|text| table.named_in(text));
            for column in one.columns.iter().copied().chain(named) {
                self.add(place, (CLASS, own, i32::from(column)), 'a');
            }
            self.texts(place, one.expressions.iter().map(|text| &**text));
        }
        for constraint in &table.constraints {
            let constrained = (CONSTRAINT, constraint.oid.0, 0);
            match &constraint.kind {
                ConstraintKind::Check { expression } => {
                    let mut columns = table.named_in(expression).peekable();
                    if columns.peek().is_none() {
                        self.add(constrained, (CLASS, own, 0), 'a');
                    }
                    for column in columns {
                        self.add(constrained, (CLASS, own, i32::from(column)), 'a');
                        self.add(constrained, (CLASS, own, i32::from(column)), 'n');
                    }
                    self.texts(constrained, [&**expression]);
                }
                ConstraintKind::NotNull { column } => {
                    self.add(constrained, (CLASS, own, i32::from(*column)), 'a');
                }
                ConstraintKind::Unique { columns, index, .. }
                | ConstraintKind::Exclude { columns, index, .. } => {
                    let include = table.index(*index).map_or(&[][..], |index| index.include.as_slice());
                    let all = columns.iter().chain(include);
                    for column in all.filter(|column| !ColumnDef::is_hidden_id(**column)) {
                        self.add(constrained, (CLASS, own, i32::from(*column)), 'a');
                    }
                    self.add((CLASS, index.0, 0), constrained, 'i');
                    let whole = table.index(*index).and_then(|index| index.part_of);
                    if let Some(Relation::Index(whole)) = whole.and_then(|oid| catalog.relation_by_oid(oid))
                        && let Some(of) = whole.constraint
                    {
                        self.add(constrained, (CONSTRAINT, of.0, 0), 'P');
                        self.add(constrained, (CLASS, own, 0), 'S');
                    }
                }
                ConstraintKind::Foreign(foreign) => {
                    for column in &foreign.columns {
                        self.add(constrained, (CLASS, own, i32::from(*column)), 'a');
                    }
                    for column in &foreign.referenced_columns {
                        self.add(constrained, (CLASS, foreign.referenced.0, i32::from(*column)), 'n');
                    }
                    self.add(constrained, (CLASS, foreign.index.0, 0), 'n');
                }
            }
        }
    }

    /// What a column's default needs: the column, and the functions and the sequence that it names.
    fn default(&mut self, table: &Arc<TableDef>, column: &ColumnDef) {
        let place = (ATTRDEF, default_oid(table.oid, column.id), 0);
        let kind = if column.generated { 'i' } else { 'a' };
        self.add(place, (CLASS, table.oid.0, i32::from(column.id)), kind);
        let Some(stored) = column.default.as_deref() else { return };
        if column.generated {
            for other in table.named_in(stored).filter(|other| *other != column.id) {
                self.add(place, (CLASS, table.oid.0, i32::from(other)), 'n');
            }
            self.texts(place, [stored]);
            return;
        }
        let mut needed = self.named([stored]);
        if stored.to_ascii_lowercase().contains("nextval")
            && !needed.iter().any(|(class, ..)| *class == CLASS)
        {
            needed.extend(self.sequence_of(table, column).map(|sequence| (CLASS, sequence, 0)));
        }
        // Functions of texts of earlier releases, and the types of literals, are known where it is bound.
        if self.may_need_more(column, stored)
            && let Ok(bound) = definitions::binder(self.views, self.catalog).stored_default(column)
        {
            bound.any(&mut |part| {
                match &part.kind {
                    ExprKind::UserCall { function, .. } => drop(needed.insert((PROC, function.oid.0, 0))),
                    ExprKind::Literal(_) => {
                        let ty = Oid(part.ty.pg_oid());
                        if self.catalog.type_or_row_by_oid(ty).is_some() {
                            needed.insert((TYPE, ty.0, 0));
                        }
                    }
                    _ => {}
                }
                false
            });
        }
        needed.into_iter().for_each(|other| self.add(place, other, 'n'));
    }

    /// Whether a default may need something of users' that its text does not name by number. Most are constants and calls of the
    /// system's functions, and to bind thousands of them takes longer than all else.
    fn may_need_more(&self, column: &ColumnDef, stored: &str) -> bool {
        let catalog = self.catalog;
        let is_of_users = catalog.type_or_row_by_oid(Oid(column.declared().pg_oid())).is_some();
        if is_of_users || !catalog.casts().is_empty() || !catalog.operators().is_empty() {
            return true;
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let mut words = stored.split(|c: char| !is_word(c)).filter(|word| !word.is_empty());
        stored.contains('"')
            || words.any(|word| catalog.functions_named(&word.to_lowercase()).next().is_some())
    }

    /// The sequence of a default `nextval('…'::regclass)`.
    fn sequence_of(&self, table: &Arc<TableDef>, column: &ColumnDef) -> Option<u32> {
        let text = definitions::default_text(self.views, self.catalog, table, column)?;
        let name = text.strip_prefix("nextval('")?.strip_suffix("'::regclass)")?.replace("''", "'");
        let mut parts = names::parts(&name).ok()?;
        let name = parts.pop()?;
        names::relation(self.catalog, parts.pop().as_deref(), &name)
    }

    /// What a text needs; a relation as a whole where no column of it is used.
    fn needs(&mut self, place: Place, needs: &[Need]) {
        let used =
            |relation: Oid| needs.iter().any(|need| matches!(need, Need::Column(of, _) if *of == relation));
        for need in needs {
            let other = match *need {
                Need::Relation(oid) if used(oid) || self.catalog.user_type(oid).is_some() => continue,
                Need::Relation(oid) => (CLASS, oid.0, 0),
                Need::Column(oid, column) => (CLASS, oid.0, i32::from(column)),
                Need::Function(oid) => (PROC, oid.0, 0),
                Need::Type(oid) => (TYPE, oid.0, 0),
            };
            self.add(place, other, 'n');
        }
    }

    /// The rule of a view, and what its query needs.
    fn rule(&mut self, view: &ViewDef) {
        let query: &StoredQuery = &view.query;
        let rule = (REWRITE, query.rule.0, 0);
        self.add(rule, (CLASS, view.oid.0, 0), 'i');
        let mut needed: Vec<Place> = Vec::new();
        for relation in &query.relations {
            let used = relation.columns.iter().filter(|column| column.used);
            let before = needed.len();
            needed.extend(used.map(|column| (CLASS, relation.relation.0, i32::from(column.id))));
            // Of a composite type only its fields are needed.
            if needed.len() == before && self.catalog.user_type(relation.relation).is_none() {
                needed.push((CLASS, relation.relation.0, 0));
            }
        }
        needed.extend(query.functions.iter().map(|(_, function)| (PROC, function.0, 0)));
        needed.extend(query.types.iter().map(|(_, ty)| (TYPE, ty.0, 0)));
        let named = self.named([&*query.text]).into_iter();
        needed.extend(named.filter(|(class, ..)| [OPERATOR, COLLATION].contains(class)));
        needed.extend(self.keys_of(view).into_iter().map(|constraint| (CONSTRAINT, constraint.0, 0)));
        needed.sort_unstable();
        needed.dedup();
        needed.into_iter().for_each(|other| self.add(rule, other, 'n'));
    }

    /// The primary keys without which the query of a view would be none: it groups by them.
    fn keys_of(&self, view: &ViewDef) -> Vec<Oid> {
        if !groups(&view.query) {
            return Vec::new();
        }
        self.constraints_of(definitions::binder(self.views, self.catalog).keys_of(view).unwrap_or_default())
    }

    /// The same of a function whose body is SQL's own.
    fn keys_of_body(&self, function: &FunctionDef) -> Vec<Oid> {
        if function.stored.as_ref().is_none_or(|stored| !groups(&stored.query)) {
            return Vec::new();
        }
        let (catalog, time_zone) = (self.catalog.with_role(None), &self.views.services.settings.time_zone);
        self.constraints_of(keys_of_body(function, &catalog, time_zone).unwrap_or_default())
    }

    /// The constraints that these indexes stand for.
    fn constraints_of(&self, keys: BTreeSet<Oid>) -> Vec<Oid> {
        let constraint = |key: Oid| match self.catalog.relation_by_oid(key) {
            Some(Relation::Index(index)) => index.constraint,
            _ => None,
        };
        keys.into_iter().filter_map(constraint).collect()
    }

    fn function(&mut self, function: &Arc<FunctionDef>) {
        let place = (PROC, function.oid.0, 0);
        self.inside(place, &function.schema);
        if function.language == FunctionLanguage::PlPgSql {
            self.add(place, (LANGUAGE, PLPGSQL, 0), 'n');
        }
        let mut types: Vec<&SqlType> = function.args.iter().map(|arg| &arg.ty).collect();
        match &function.returns {
            FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => types.push(ty),
            FunctionReturn::Table(columns) => types.extend(columns.iter().map(|(_, ty)| ty)),
            FunctionReturn::Void | FunctionReturn::Procedure | FunctionReturn::Trigger => {}
        }
        let mut needed: Vec<u32> = types.into_iter().map(SqlType::pg_oid).collect();
        needed.extend(function.rows_of.map(|relation| relation.0));
        needed.extend(function.args.iter().filter_map(|arg| arg.rows_of).map(|relation| relation.0));
        needed.sort_unstable();
        needed.dedup();
        for ty in needed.iter().copied() {
            if self.catalog.type_or_row_by_oid(Oid(ty)).is_some() {
                self.add(place, (TYPE, ty, 0), 'n');
            }
        }
        self.needs(place, &function.needs);
        let mut named = self.named(function.args.iter().filter_map(|arg| arg.default.as_deref()));
        if let Some(stored) = &function.stored {
            let body = self.named([&*stored.query.text]).into_iter();
            named.extend(body.filter(|(class, ..)| [OPERATOR, COLLATION].contains(class)));
        }
        named.extend(self.keys_of_body(function).into_iter().map(|constraint| (CONSTRAINT, constraint.0, 0)));
        if function.is_aggregate()
            && let Some(aggregate) = AggregateDef::parse(&function.body)
        {
            named.extend(aggregate.functions().map(|called| (PROC, called.0, 0)));
        }
        let noted = |other: &Place| {
            function.needs.iter().any(|need| match *need {
                Need::Function(oid) => *other == (PROC, oid.0, 0),
                Need::Type(oid) => *other == (TYPE, oid.0, 0),
                Need::Relation(_) | Need::Column(..) => false,
            })
        };
        named.retain(|other| !noted(other) && !needed.iter().any(|ty| *other == (TYPE, *ty, 0)));
        named.into_iter().for_each(|other| self.add(place, other, 'n'));
    }
}
