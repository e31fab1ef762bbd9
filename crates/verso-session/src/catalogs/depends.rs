//! Rows of `pg_depend`: what needs what, as the definitions say it.
//!
//! Programs that dump a database put its objects in order by these rows, and others ask them which views are made of a table.

use std::sync::Arc;

use verso_catalog::{
    Callee, CatalogSnapshot, ColumnDef, ConstraintKind, FunctionDef, FunctionLanguage, FunctionReturn,
    KeyClass, Need, Oid, PG_TRGM, PolicyDef, Relation, StoredQuery, TableDef, TypeDef, default_oid, kept,
};
use verso_exec::plan::ExprKind;
use verso_types::{SqlType, Value};

use super::extensions::{TRIGRAM_CLASS, TRIGRAM_FAMILY};
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
/// Those whose objects others depend on.
const NEEDED: &[u32] = &[TYPE, PROC, CLASS, CONSTRAINT, LANGUAGE, NAMESPACE, TRIGGER, OPCLASS, EXTENSION];

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
    match keys.oid("objid") {
        Some(object) => rows.of_object(object, keys.oid("classid")),
        None => {
            for relation in concerned(catalog, keys).iter().filter(|relation| !relation.oid().is_system()) {
                rows.relation(relation);
            }
            catalog.all_functions().for_each(|function| rows.function(function));
            catalog.types().for_each(|ty| rows.user_type(ty));
            catalog.all_policies().for_each(|policy| rows.policy(policy));
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
    let needs = |other: &&Relation| match other {
        Relation::Sequence(sequence) => {
            sequence.owned_by.as_ref().is_some_and(|owner| owner.table == relation.oid())
        }
        Relation::View(view) => view.query.names(relation.oid()),
        Relation::Table(table) => {
            table.materialized.is_some()
                || matches!(relation, Relation::Sequence(_))
                || table.partition_of.as_ref().is_some_and(|of| of.parent == relation.oid())
        }
        Relation::Index(index) => index.part_of == Some(relation.oid()),
    };
    concerned.extend(catalog.relations().filter(needs).cloned());
    concerned.sort_by_key(Relation::oid);
    concerned.dedup_by_key(|relation| relation.oid());
    concerned
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
        if may_be(&[OPERATOR, CAST, COLLATION, DEFAULT_ACL, OPCLASS, OPFAMILY, EXTENSION]) {
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
        }
        if may_be(&[POLICY])
            && let Some(table) = catalog.owner_of_part(object)
        {
            catalog.policies(table.oid()).iter().for_each(|policy| self.policy(policy));
        }
    }

    /// Operators, casts, collations and default rights; extensions, and what they have brought along.
    fn others(&mut self) {
        let catalog = self.catalog;
        for extension in super::extensions::known(catalog) {
            let own = (EXTENSION, extension.oid.0, 0);
            self.inside(own, &extension.schema);
            if *extension.name == *PG_TRGM {
                for (class, oid) in [(OPCLASS, TRIGRAM_CLASS), (OPFAMILY, TRIGRAM_FAMILY)] {
                    self.add((class, oid.0, 0), own, 'e');
                }
            }
        }
        for operator in catalog.operators() {
            let own = (OPERATOR, operator.oid.0, 0);
            self.inside(own, &operator.schema);
            if let Callee::User(function) = operator.function {
                self.add(own, (PROC, function.0, 0), 'n');
            }
            let mut types: Vec<Oid> =
                operator.left.into_iter().chain([operator.right, operator.result]).collect();
            types.sort_unstable();
            types.dedup();
            let users = types.into_iter().filter(|ty| catalog.type_or_row_by_oid(*ty).is_some());
            users.collect::<Vec<_>>().into_iter().for_each(|ty| self.add(own, (TYPE, ty.0, 0), 'n'));
        }
        for cast in catalog.casts() {
            let own = (CAST, cast.oid.0, 0);
            if let Some(Callee::User(function)) = cast.function {
                self.add(own, (PROC, function.0, 0), 'n');
            }
            let users = [cast.source, cast.target].into_iter();
            let users = users.filter(|ty| catalog.type_or_row_by_oid(*ty).is_some());
            users.for_each(|ty| self.add(own, (TYPE, ty.0, 0), 'n'));
        }
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
        self.needs(place, &policy.needs);
    }

    fn user_type(&mut self, ty: &TypeDef) {
        self.inside((TYPE, ty.oid.0, 0), &ty.schema);
        self.add((TYPE, ty.array.0, 0), (TYPE, ty.oid.0, 0), 'i');
        match &ty.ty {
            SqlType::Domain(domain) => {
                self.needs_type((TYPE, ty.oid.0, 0), &domain.base);
                let demand = domain.not_null.then_some(domain.not_null_oid);
                for constraint in domain.checks.iter().map(|check| check.oid).chain(demand) {
                    self.add((CONSTRAINT, constraint, 0), (TYPE, ty.oid.0, 0), 'a');
                }
            }
            SqlType::Row(row) => {
                self.add((CLASS, ty.oid.0, 0), (TYPE, ty.oid.0, 0), 'i');
                for ((_, field), place) in row.as_declared().zip(1..) {
                    self.needs_type((CLASS, ty.oid.0, place), field);
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
    }

    fn relation(&mut self, relation: &Relation) {
        let catalog = self.catalog;
        let own = relation.oid().0;
        if !matches!(relation, Relation::Index(_)) {
            self.inside((CLASS, own, 0), relation.path().0);
        }
        if let Some(ty) = relation.row_type() {
            self.add((TYPE, ty.oid.0, 0), (CLASS, own, 0), 'i');
            self.add((TYPE, ty.array.0, 0), (TYPE, ty.oid.0, 0), 'i');
        }
        for trigger in relation.triggers() {
            let place = (TRIGGER, trigger.oid.0, 0);
            self.add(place, (CLASS, own, 0), 'a');
            self.add(place, (PROC, trigger.function.0, 0), 'n');
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
                    self.rule(own, &view.query);
                }
            }
            Relation::Index(index) => {
                if index.parts.iter().any(|part| part.class == KeyClass::Trigrams) {
                    self.add((CLASS, own, 0), (OPCLASS, TRIGRAM_CLASS.0, 0), 'n');
                }
                if let Some(whole) = index.part_of {
                    self.add((CLASS, own, 0), (CLASS, whole.0, 0), 'P');
                    self.add((CLASS, own, 0), (CLASS, index.table.0, 0), 'S');
                }
                let Some(table) = catalog.table_by_oid(index.table).filter(|_| index.constraint.is_none())
                else {
                    return;
                };
                let mut needed: Vec<u16> = Vec::new();
                for id in index.columns() {
                    let of = match index.expression(&table, id) {
                        None => vec![id],
                        Some(text) => {
                            self.needs_functions((CLASS, own, 0), text);
                            table.named_in(text).collect()
                        }
                    };
                    of.into_iter().for_each(|id| needed.extend((!needed.contains(&id)).then_some(id)));
                }
                for column in needed {
                    self.add((CLASS, own, 0), (CLASS, index.table.0, i32::from(column)), 'a');
                }
            }
            Relation::View(view) => {
                self.rule(own, &view.query);
                if view.columns.iter().any(|column| column.default.is_some()) {
                    let table = Arc::new(view.as_table());
                    let given = table.columns.iter().filter(|column| column.default.is_some());
                    given.for_each(|column| self.default(&table, column));
                }
            }
            Relation::Sequence(sequence) => {
                if let Some(owner) = sequence.owned_by {
                    let identity = catalog.table_by_oid(owner.table).is_some_and(|table| {
                        let column = table.column_with_id(owner.column);
                        column.is_some_and(|column| table.columns[column].identity.is_some())
                    });
                    let kind = if identity { 'i' } else { 'a' };
                    self.add((CLASS, own, 0), (CLASS, owner.table.0, i32::from(owner.column)), kind);
                }
            }
        }
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
                    self.needs_functions(constrained, expression);
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
            self.needs_functions(place, stored);
            return;
        }
        if let Some(sequence) = self.sequence_of(table, column) {
            self.add(place, (CLASS, sequence, 0), 'n');
        }
        let Ok(bound) = definitions::binder(self.views, self.catalog).stored_default(column) else { return };
        let mut called = Vec::new();
        bound.any(&mut |part| {
            if let ExprKind::UserCall { function, .. } = &part.kind {
                called.push(function.oid.0);
            }
            false
        });
        called.sort_unstable();
        called.dedup();
        called.into_iter().for_each(|function| self.add(place, (PROC, function, 0), 'n'));
    }

    /// The functions of users that a kept text names.
    fn needs_functions(&mut self, place: Place, text: &str) {
        for oid in kept::objects_of(text) {
            if self.catalog.function_by_oid(oid).is_some() {
                self.add(place, (PROC, oid.0, 0), 'n');
            }
        }
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
    fn rule(&mut self, view: u32, query: &StoredQuery) {
        let rule = (REWRITE, query.rule.0, 0);
        self.add(rule, (CLASS, view, 0), 'i');
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
        needed.sort_unstable();
        needed.dedup();
        needed.into_iter().for_each(|other| self.add(rule, other, 'n'));
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
        for ty in needed {
            if self.catalog.type_or_row_by_oid(Oid(ty)).is_some() {
                self.add(place, (TYPE, ty, 0), 'n');
            }
        }
        self.needs(place, &function.needs);
    }
}
