//! Who names what: from the number of an object to the definitions that name it, so that who looks for what needs something
//! that goes need not look at everything.
//!
//! ```text
//! (named, definition): (16420, 16510) (16420, 16533) (16421, 16510) …
//! ```
//!
//! R1. The definition of a relation, function, type, policy, operator or cast has an entry for every object of users, and
//!     for every type of an extension, that is in it by its number: in types, in texts, in the orders of keys, in what the names of its query mean, in what it says of itself. It may have more than
//!     somebody asks for: who asks then looks at the definition.
//! R2. The entries of a definition follow from it alone, so that they come and go with it.
//! R3. Schemas and roles have none. A policy of an earlier release that could not be bound has those of its table only.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_types::{Collation, EnumLabel, RangeType, RowType, SqlType, SystemType};

use super::CatalogSnapshot;
use super::relation::Relation;
use crate::aggregate::{AggregateDef, Callee};
use crate::authority::PolicyDef;
use crate::ddl::next_value;
use crate::definition::{
    ColumnDef, ConstraintKind, FunctionDef, FunctionReturn, Oid, SequenceDef, TableDef, TypeDef, ViewDef,
};
use crate::kept::objects_of;
use crate::needs::Need;
use crate::operator::{CastDef, OperatorDef};
use crate::row_type::relation_of;
use crate::shared_map::SharedMap;
use crate::stored::StoredQuery;
use crate::trigger::TriggerDef;

/// Roughly what an entry takes.
const ENTRY_BYTES: usize = 16;

/// The entries, by what is named.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct References(SharedMap<(Oid, Oid), ()>);

impl References {
    /// Adds those of a definition with that number; yields roughly what they take.
    pub(super) fn add(&mut self, own: Oid, named: &BTreeSet<Oid>) -> usize {
        named.iter().for_each(|oid| self.0.insert((*oid, own), ()));
        named.len() * ENTRY_BYTES
    }

    /// Takes them out again.
    pub(super) fn remove(&mut self, own: Oid, named: &BTreeSet<Oid>) -> usize {
        for oid in named {
            self.0.remove(&(*oid, own));
        }
        named.len() * ENTRY_BYTES
    }

    /// The definitions that name an object.
    fn of(&self, named: Oid) -> impl Iterator<Item = Oid> {
        let from = self.0.from(move |(known, _)| *known < named);
        from.take_while(move |((known, _), ())| *known == named).map(|((_, own), ())| *own)
    }
}

/// What a definition names, gathered.
#[derive(Default)]
pub(super) struct Named {
    oids: BTreeSet<Oid>,
    /// The texts of the definition, where somebody asks for them.
    texts: Option<Vec<Arc<str>>>,
}

impl Named {
    /// With the texts in which some of it is named.
    pub(super) fn with_texts() -> Named {
        Named { texts: Some(Vec::new()), ..Named::default() }
    }

    /// The numbers, and the texts.
    pub(super) fn into_parts(self) -> (BTreeSet<Oid>, Vec<Arc<str>>) {
        (self.oids, self.texts.unwrap_or_default())
    }

    /// Of an array of rows, the relation.
    fn number(&mut self, oid: Oid) {
        let oid = relation_of(oid);
        if !oid.is_system() || SystemType::is_oid_of_extension(oid.0) {
            self.oids.insert(oid);
        }
    }

    fn numbers(&mut self, oids: impl IntoIterator<Item = Oid>) {
        oids.into_iter().for_each(|oid| self.number(oid));
    }

    fn text(&mut self, text: &Arc<str>) {
        self.numbers(objects_of(text));
        self.texts.iter_mut().for_each(|texts| texts.push(Arc::clone(text)));
    }

    fn texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t Arc<str>>) {
        texts.into_iter().for_each(|text| self.text(text));
    }

    fn query(&mut self, query: &StoredQuery) {
        self.text(&query.text);
        self.numbers(query.relations.iter().map(|relation| relation.relation));
        self.numbers(query.functions.iter().chain(&query.types).map(|(_, oid)| *oid));
    }

    /// Everything that a type is made of.
    fn ty(&mut self, ty: &SqlType) {
        let mut left = vec![ty];
        while let Some(ty) = left.pop() {
            match ty {
                SqlType::Array(element) => left.push(element),
                SqlType::Enum(of) => self.number(Oid(of.oid)),
                SqlType::Domain(domain) => {
                    self.number(Oid(domain.oid));
                    left.push(&domain.base);
                }
                SqlType::Collated(collated) => {
                    self.number(Oid(collated.collation.oid));
                    left.push(&collated.base);
                }
                SqlType::Range(RangeType::Own(own)) | SqlType::Multirange(RangeType::Own(own)) => {
                    self.numbers([Oid(own.range.oid), Oid(own.multirange.oid)]);
                    left.push(&own.subtype);
                }
                SqlType::Row(row) => {
                    self.numbers(row.of.iter().map(|of| Oid(of.oid)));
                    left.extend(row.as_written().map(|(_, ty)| ty));
                }
                SqlType::System(system) if system.is_of_extension() => self.number(Oid(system.pg_oid())),
                _ => {}
            }
        }
    }

    fn callee(&mut self, callee: &Callee) {
        if let Callee::User(function) = callee {
            self.number(*function);
        }
    }

    fn columns(&mut self, columns: &[ColumnDef]) {
        for column in columns {
            self.ty(column.declared());
            self.texts(&column.default);
        }
    }

    fn triggers(&mut self, triggers: &[Arc<TriggerDef>]) {
        for trigger in triggers {
            self.numbers([trigger.function, trigger.other_table]);
            self.texts(&trigger.condition);
        }
    }

    /// In whose orders keys are.
    fn collations<'c>(&mut self, orders: impl IntoIterator<Item = &'c Option<Arc<Collation>>>) {
        self.numbers(orders.into_iter().flatten().map(|collation| Oid(collation.oid)));
    }

    fn table(&mut self, table: &TableDef) {
        self.columns(&table.columns);
        self.triggers(&table.triggers);
        for constraint in &table.constraints {
            match &constraint.kind {
                ConstraintKind::Check { expression } => self.text(expression),
                ConstraintKind::Foreign(key) => self.number(key.referenced),
                _ => {}
            }
        }
        self.texts(table.extended.iter().flat_map(|one| &one.expressions));
        self.numbers(table.of_type());
        self.numbers(table.partition_of.as_ref().map(|of| of.parent));
        self.collations(table.partitioned.iter().flat_map(|own| &own.orders).map(|order| &order.collation));
        if let Some(view) = &table.materialized {
            self.query(&view.query);
        }
    }

    fn view(&mut self, view: &ViewDef) {
        self.columns(&view.columns);
        self.triggers(&view.triggers);
        self.query(&view.query);
    }

    /// What the definition of a relation names.
    pub(super) fn relation(mut self, relation: &Relation) -> Named {
        match relation {
            Relation::Table(table) => self.table(table),
            Relation::View(view) => self.view(view),
            Relation::Sequence(sequence) => self.numbers(sequence.owned_by.map(|owner| owner.table)),
            // What else it names stands in its table.
            Relation::Index(index) => {
                self.numbers(index.part_of);
                self.collations(index.parts.iter().map(|part| &part.collation));
            }
        }
        self
    }

    /// What the definition of a function names.
    pub(super) fn function(mut self, function: &FunctionDef) -> Named {
        for arg in &function.args {
            self.ty(&arg.ty);
            self.numbers(arg.rows_of);
            self.texts(&arg.default);
        }
        match &function.returns {
            FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => self.ty(ty),
            FunctionReturn::Table(columns) => columns.iter().for_each(|(_, ty)| self.ty(ty)),
            FunctionReturn::Void | FunctionReturn::Trigger | FunctionReturn::Procedure => {}
        }
        self.numbers(function.rows_of);
        self.numbers(function.needs.iter().map(|need| match need {
            Need::Relation(oid) | Need::Column(oid, _) | Need::Function(oid) | Need::Type(oid) => *oid,
        }));
        if let Some(stored) = &function.stored {
            self.query(&stored.query);
        }
        if function.is_aggregate()
            && let Some(aggregate) = AggregateDef::parse(&function.body)
        {
            self.numbers(aggregate.functions());
        }
        self
    }

    /// What the definition of a type names.
    pub(super) fn definition_of_type(mut self, ty: &TypeDef) -> Named {
        self.ty(&ty.ty);
        if let SqlType::Domain(domain) = &ty.ty {
            self.texts(&domain.default);
            self.texts(domain.checks.iter().map(|check| &check.expression));
        }
        self
    }

    /// What a policy names.
    pub(super) fn policy(mut self, policy: &PolicyDef) -> Named {
        self.number(policy.table);
        policy.conditions().for_each(|condition| self.query(&condition.query));
        self
    }

    /// What an operator names.
    pub(super) fn operator(mut self, operator: &OperatorDef) -> Named {
        self.numbers(operator.left.into_iter().chain([operator.right, operator.result]));
        self.callee(&operator.function);
        self
    }

    /// What a cast names.
    pub(super) fn cast(mut self, cast: &CastDef) -> Named {
        self.numbers([cast.source, cast.target]);
        cast.function.iter().for_each(|function| self.callee(function));
        self
    }
}

/// What the definition of a relation names.
pub(super) fn named_by_relation(relation: &Relation) -> BTreeSet<Oid> {
    Named::default().relation(relation).oids
}

/// What the definition of a function names.
pub(super) fn named_by_function(function: &FunctionDef) -> BTreeSet<Oid> {
    Named::default().function(function).oids
}

/// What the definition of a type names.
pub(super) fn named_by_type(ty: &TypeDef) -> BTreeSet<Oid> {
    Named::default().definition_of_type(ty).oids
}

/// What a policy names.
pub(super) fn named_by_policy(policy: &PolicyDef) -> BTreeSet<Oid> {
    Named::default().policy(policy).oids
}

/// What an operator names.
pub(super) fn named_by_operator(operator: &OperatorDef) -> BTreeSet<Oid> {
    Named::default().operator(operator).oids
}

/// What a cast names.
pub(super) fn named_by_cast(cast: &CastDef) -> BTreeSet<Oid> {
    Named::default().cast(cast).oids
}

/// Definitions that name an object, or may (R1); relations, functions and types by schema and name, the others by number.
#[derive(Clone, Debug, Default)]
pub struct Naming<'s> {
    relations: Vec<&'s Relation>,
    functions: Vec<&'s Arc<FunctionDef>>,
    types: Vec<&'s Arc<TypeDef>>,
    policies: Vec<&'s Arc<PolicyDef>>,
    operators: Vec<&'s Arc<OperatorDef>>,
    casts: Vec<&'s CastDef>,
}

impl<'s> Naming<'s> {
    /// The relations.
    pub fn relations(&self) -> impl Iterator<Item = &'s Relation> {
        self.relations.iter().copied()
    }

    /// The tables among them.
    pub fn tables(&self) -> impl Iterator<Item = &'s Arc<TableDef>> {
        self.relations().filter_map(Relation::as_table)
    }

    /// The sequences among them.
    pub fn sequences(&self) -> impl Iterator<Item = &'s Arc<SequenceDef>> {
        self.relations().filter_map(Relation::as_sequence)
    }

    /// The views, and behind them the materialized ones.
    pub fn views(&self) -> impl Iterator<Item = Arc<ViewDef>> {
        let materialized = self.tables().filter_map(|table| table.as_view()).map(Arc::new);
        self.relations().filter_map(Relation::as_view).cloned().chain(materialized)
    }

    /// The functions.
    pub fn functions(&self) -> impl Iterator<Item = &'s Arc<FunctionDef>> {
        self.functions.iter().copied()
    }

    /// The types that users have made.
    pub fn types(&self) -> impl Iterator<Item = &'s Arc<TypeDef>> {
        self.types.iter().copied()
    }

    /// The policies: those of a table among them where that is the object.
    pub fn policies(&self) -> impl Iterator<Item = &'s Arc<PolicyDef>> {
        self.policies.iter().copied()
    }

    /// The operators that users have made.
    pub fn operators(&self) -> impl Iterator<Item = &'s Arc<OperatorDef>> {
        self.operators.iter().copied()
    }

    /// The casts that users have made.
    pub fn casts(&self) -> impl Iterator<Item = &'s CastDef> {
        self.casts.iter().copied()
    }
}

impl CatalogSnapshot {
    /// The sequences that the columns of a table own.
    pub fn sequences_of(&self, table: Oid) -> Vec<&Arc<SequenceDef>> {
        let is_its =
            |sequence: &&Arc<SequenceDef>| sequence.owned_by.is_some_and(|owner| owner.table == table);
        self.naming(table).sequences().filter(is_its).collect()
    }

    /// The sequence that an identity column takes its numbers from: others may be owned by the column, too.
    pub fn identity_sequence(&self, table: &TableDef, column: &ColumnDef) -> Option<&Arc<SequenceDef>> {
        column.identity?;
        let default = column.default.as_deref().unwrap_or_default();
        let named = objects_of(default);
        let is_named = |sequence: &&Arc<SequenceDef>| {
            named.contains(&sequence.oid) || *next_value(&sequence.schema, &sequence.name) == *default
        };
        let mut its = self.sequences_of(table.oid);
        its.retain(|one| one.owned_by.is_some_and(|owner| owner.column == column.id));
        its.iter().copied().find(is_named).or_else(|| its.first().copied())
    }

    /// The identity column, and its table, to which a sequence gives its numbers.
    pub fn identity_of(&self, sequence: &SequenceDef) -> Option<(Arc<TableDef>, usize)> {
        let owner = sequence.owned_by?;
        let table = self.table_by_oid(owner.table)?;
        let at = table.column_with_id(owner.column)?;
        let own = self.identity_sequence(&table, &table.columns[at])?;
        (own.oid == sequence.oid).then_some((table, at))
    }

    /// The definitions that name an object of users, by its number or, a type, by that of its array: all that do, and perhaps
    /// others (R1).
    pub fn naming(&self, oid: Oid) -> Naming<'_> {
        let contents = &*self.contents;
        let mut naming = Naming::default();
        for own in self.namers(oid) {
            naming.relations.extend(contents.relations_by_oid.get(&own));
            naming.functions.extend(contents.functions_by_oid.get(&own));
            naming.types.extend(contents.types_by_oid.get(&own));
            naming.policies.extend(self.policy_by_oid(own));
            naming.operators.extend(self.operator_by_oid(own));
            naming.casts.extend(self.cast_by_oid(own));
        }
        naming.relations.sort_by(|a, b| a.key().cmp(&b.key()));
        naming.functions.sort_by(|a, b| (&a.schema, &a.name, a.oid).cmp(&(&b.schema, &b.name, b.oid)));
        naming.types.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
        naming
    }

    /// The numbers of those definitions.
    pub(crate) fn namers(&self, oid: Oid) -> BTreeSet<Oid> {
        let contents = &*self.contents;
        let ty = contents.types_by_oid.get(&oid);
        let mut numbers = BTreeSet::from([relation_of(oid)]);
        numbers.extend(ty.iter().flat_map(|ty| [ty.oid, ty.array]));
        numbers.into_iter().flat_map(|oid| contents.references.of(oid)).collect()
    }

    /// What the definition of this number names, and the policies of a table; nothing where there is none.
    pub(crate) fn named_by(&self, own: Oid) -> BTreeSet<Oid> {
        let contents = &*self.contents;
        let mut named = BTreeSet::new();
        named.extend(contents.relations_by_oid.get(&own).into_iter().flat_map(named_by_relation));
        named.extend(contents.functions_by_oid.get(&own).into_iter().flat_map(|one| named_by_function(one)));
        named.extend(contents.types_by_oid.get(&own).into_iter().flat_map(|one| named_by_type(one)));
        named.extend(self.operator_by_oid(own).into_iter().flat_map(|one| named_by_operator(one)));
        named.extend(self.cast_by_oid(own).into_iter().flat_map(named_by_cast));
        named.extend(self.policies(own).iter().flat_map(|one| named_by_policy(one)));
        named.remove(&own);
        named
    }

    /// The texts of the definition of this number, and of the policies of a table.
    pub(crate) fn texts_of(&self, own: Oid) -> BTreeSet<Arc<str>> {
        let contents = &*self.contents;
        let with_texts = Named::with_texts;
        let mut all: Vec<Named> = Vec::new();
        all.extend(contents.relations_by_oid.get(&own).map(|one| with_texts().relation(one)));
        all.extend(contents.functions_by_oid.get(&own).map(|one| with_texts().function(one)));
        all.extend(contents.types_by_oid.get(&own).map(|one| with_texts().definition_of_type(one)));
        all.extend(self.policies(own).iter().map(|one| with_texts().policy(one)));
        all.into_iter().flat_map(|named| named.into_parts().1).collect()
    }

    /// Whether what names something, which is there, and was made with what it is in this version, means the same with what it is
    /// in another one: columns, fields and labels that have come since change nothing.
    pub(crate) fn means_the_same(&self, oid: Oid, other: &CatalogSnapshot) -> bool {
        let columns = |relation: &Relation| -> Option<Vec<(u16, u32)>> {
            let columns = match relation {
                Relation::Table(table) => &table.columns,
                Relation::View(view) => &view.columns,
                Relation::Sequence(_) | Relation::Index(_) => return None,
            };
            let shown = columns.iter().filter(|column| !column.is_hidden());
            Some(shown.map(|column| (column.id, column.declared().pg_oid())).collect())
        };
        let (ours, theirs) = (self.relation_by_oid(oid), other.relation_by_oid(oid));
        if let (Some(ours), Some(theirs)) = (ours.and_then(columns), theirs.and_then(columns)) {
            return ours.iter().all(|column| theirs.contains(column));
        }
        let (ours, theirs) = (self.contents.types_by_oid.get(&oid), other.contents.types_by_oid.get(&oid));
        let (Some(ours), Some(theirs)) = (ours, theirs) else { return true };
        match (&ours.ty, &theirs.ty) {
            (SqlType::Enum(ours), SqlType::Enum(theirs)) => {
                let is_there = |label: &EnumLabel| {
                    theirs.labels.iter().any(|one| (one.oid, &one.name) == (label.oid, &label.name))
                };
                ours.labels.iter().all(is_there)
            }
            (SqlType::Row(our_row), SqlType::Row(their_row)) => {
                let types = |row: &RowType| row.as_declared().map(|(_, ty)| ty.pg_oid()).collect::<Vec<_>>();
                let after: Vec<(u16, u32)> = theirs.fields.iter().copied().zip(types(their_row)).collect();
                ours.fields.iter().copied().zip(types(our_row)).all(|field| after.contains(&field))
            }
            // What else users make keeps what it is made of.
            _ => true,
        }
    }

    /// Whether there is a relation, function, type, collation, operator or cast of this number.
    pub(crate) fn knows(&self, oid: Oid) -> bool {
        let contents = &*self.contents;
        contents.relations_by_oid.get(&oid).is_some()
            || contents.functions_by_oid.get(&oid).is_some()
            || contents.types_by_oid.get(&oid).is_some()
            || self.collation_by_oid(oid.0).is_some()
            || self.operator_by_oid(oid).is_some()
            || self.cast_by_oid(oid).is_some()
    }

    /// Whether it is a relation, function or type whose rows in the system tables belong to its number.
    pub(crate) fn has_rows(&self, oid: Oid) -> bool {
        let contents = &*self.contents;
        contents.relations_by_oid.get(&oid).is_some()
            || contents.functions_by_oid.get(&oid).is_some()
            || contents.types_by_oid.get(&oid).is_some_and(|ty| !ty.is_of_extension())
    }

    /// Whether a definition names one of these numbers, but for those that have one of them themselves.
    pub(crate) fn is_named(&self, numbers: &[Oid]) -> bool {
        let named = |oid: &Oid| self.contents.references.of(*oid).any(|own| !numbers.contains(&own));
        numbers.iter().any(named)
    }

    /// All definitions, for comparison with what [`CatalogSnapshot::naming`] finds.
    #[cfg(debug_assertions)]
    pub(crate) fn everything(&self) -> Naming<'_> {
        Naming {
            relations: self.relations().collect(),
            functions: self.all_functions().collect(),
            types: self.types().collect(),
            policies: self.contents.authority.policies_by_oid.values().collect(),
            operators: self.operators().iter().collect(),
            casts: self.casts().iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::authority::PolicyFor;
    use crate::definition::FunctionArg;
    use crate::kept::numbered;
    use crate::operator::CastContext;
    use crate::snapshot::PUBLIC;
    use crate::stored::{StoredColumn, StoredCondition, StoredRelation};
    use verso_storage::page::ObjectId;
    use verso_types::EnumType;

    const MOOD: Oid = Oid(16_401);
    const MOODS: Oid = Oid(16_400);

    fn mood() -> TypeDef {
        let labels = vec![EnumLabel { oid: 16_402, place: 1, name: "a".into() }];
        let (schema, name): (Arc<str>, Arc<str>) = (PUBLIC.into(), "mood".into());
        let (own, its) = (Arc::clone(&schema), Arc::clone(&name));
        let ty = EnumType { oid: MOOD.0, array: MOODS.0, schema: own, name: its, labels };
        let ty = SqlType::Enum(Arc::new(ty));
        TypeDef { oid: MOOD, array: MOODS, schema, name, ty, fields: Vec::new() }
    }

    fn table(oid: u32, name: &str, ty: SqlType, default: Option<String>) -> TableDef {
        let default = default.map(Arc::from);
        let column = ColumnDef { default, ..ColumnDef::new("a", 1, ty) };
        TableDef::new(Oid(oid), PUBLIC, name, ObjectId(oid), vec![column])
    }

    #[test]
    fn definitions_are_found_by_what_they_name_and_only_while_they_do() {
        let mut builder = CatalogSnapshot::builder(1);
        let array = SqlType::Array(Box::new(mood().ty));
        builder.add_type(mood());
        builder.add_table(table(16_501, "of_arrays", array, None));
        // A text may name the type by the number of its array.
        let text = format!("NULL::{}_mood", numbered(MOODS));
        builder.add_table(table(16_500, "in_text", SqlType::Text, Some(text)));
        builder.add_table(table(16_502, "neither", SqlType::Int4, None));
        builder.add_function(FunctionDef {
            args: vec![FunctionArg::new("x", SqlType::Int4)],
            needs: vec![Need::Column(Oid(16_502), 1)],
            ..FunctionDef::new(Oid(16_600), PUBLIC, "f")
        });
        let first = builder.build();
        let tables = |snapshot: &CatalogSnapshot, oid: Oid| -> Vec<u32> {
            snapshot.naming(oid).tables().map(|table| table.oid.0).collect()
        };
        assert_eq!(tables(&first, MOOD), [16_500, 16_501]);
        assert_eq!(tables(&first, MOODS), [16_500, 16_501]);
        assert!(tables(&first, Oid(16_502)).is_empty());
        assert_eq!(first.naming(Oid(16_502)).functions().count(), 1);
        assert!(first.is_named(&[MOOD]) && !first.is_named(&[Oid(16_600)]));
        let gone = BTreeSet::from([Oid(16_501), Oid(16_600)]);
        let second = first.without(2, &gone).build();
        assert_eq!(tables(&second, MOOD), [16_500]);
        assert_eq!(second.naming(Oid(16_502)).functions().count(), 0);
        // The version before stays as it was.
        assert_eq!(tables(&first, MOOD), [16_500, 16_501]);
    }

    #[test]
    fn policies_operators_and_casts_are_found_by_what_they_name_and_go_with_it() {
        let (secured, read, function) = (Oid(16_501), Oid(16_502), Oid(16_600));
        let policy = |oid, relation| {
            let columns = vec![StoredColumn { id: 1, name: "a".into(), used: true }];
            let relations = vec![StoredRelation { place: 20, relation, columns }];
            let query =
                StoredQuery { text: "exists (select from u)".into(), relations, ..StoredQuery::default() };
            let using = Some(StoredCondition { table: "t".into(), query });
            let (name, command) = (format!("p{oid}").into(), PolicyFor::All);
            let (oid, roles) = (Oid(oid), vec![Oid(0)]);
            Arc::new(PolicyDef {
                oid,
                name,
                table: secured,
                command,
                permissive: true,
                roles,
                using,
                check: None,
            })
        };
        let mut builder = CatalogSnapshot::builder(1);
        builder.add_type(mood());
        builder.add_table(table(secured.0, "t", SqlType::Text, None));
        builder.add_table(table(read.0, "u", SqlType::Text, None));
        builder
            .add_policies(BTreeMap::from([(secured, vec![policy(16_701, read), policy(16_702, secured)])]));
        builder.add_operator(OperatorDef {
            oid: Oid(16_801),
            schema: PUBLIC.into(),
            name: "===".into(),
            owner: Oid(10),
            left: None,
            right: MOODS,
            result: Oid(16),
            function: Callee::User(function),
            commutator: None,
            negator: None,
            restrict: None,
            join: None,
            hashes: false,
            merges: false,
        });
        let context = CastContext::Explicit;
        builder.add_cast(CastDef {
            oid: Oid(16_901),
            source: Oid(25),
            target: MOOD,
            function: None,
            context,
        });
        let first = builder.build();
        let policies = |snapshot: &CatalogSnapshot, oid: Oid| -> Vec<u32> {
            snapshot.naming(oid).policies().map(|policy| policy.oid.0).collect()
        };
        assert_eq!((policies(&first, read), policies(&first, secured)), (vec![16_701], vec![16_701, 16_702]));
        assert_eq!(first.naming(MOOD).operators().count(), 1);
        assert_eq!(first.naming(function).operators().count(), 1);
        assert_eq!(first.naming(MOOD).casts().map(|cast| cast.oid).collect::<Vec<_>>(), [Oid(16_901)]);
        let mut builder = first.without(2, &BTreeSet::from([secured]));
        builder.forget_operators();
        builder.forget_casts();
        let second = builder.build();
        assert!(policies(&second, read).is_empty() && second.policy_by_oid(Oid(16_701)).is_none());
        assert!(!second.is_named(&[MOOD]) && !second.is_named(&[function]));
    }

    #[test]
    fn the_references_of_a_version_are_those_of_its_definitions_whatever_came_before() {
        let make = |tables: &[u32]| {
            let mut builder = CatalogSnapshot::builder(1);
            builder.add_type(mood());
            for oid in tables {
                builder.add_table(table(*oid, &format!("t{oid}"), mood().ty, None));
            }
            builder.build()
        };
        let grown = make(&[16_503, 16_501, 16_502]).without(2, &BTreeSet::from([Oid(16_502)])).build();
        assert!(grown.says_the_same(&make(&[16_501, 16_503])));
    }
}
