//! What needs something that is to go: views, and the views over them.
//!
//! N1. A view needs the relations and functions that its query names, and those columns of them that it uses.
//! N2. What needs something that goes goes with it under CASCADE, and keeps it otherwise (2BP01).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use verso_storage::{TableLockMode, Txn, WaitPolicy};
use verso_types::{Collation, RangeType, SqlType, SystemType, names};

use super::holding::{Holder, holders_among, names_lost};
use super::quoted;
use super::refuse_if_needed;
use super::table::references_from_outside;
use super::together::going_with_column;
use super::types::{TypeUses, uses};
use crate::aggregate::{AggregateDef, Callee};
use crate::authority::PolicyDef;
use crate::catalog::Catalog;
use crate::definition::{FunctionDef, FunctionReturn, Oid, SequenceDef, TableDef, TypeDef, ViewDef};
use crate::error::{CatalogError, ObjectKind};
use crate::needs::Need;
use crate::operator::{CastDef, OperatorDef};
use crate::row_type::relation_of;
use crate::snapshot::{CatalogSnapshot, Naming, Relation};
use crate::system::row::ProcRow;

/// The place of what needs something, and what it is in words.
type Named = ((Oid, u16), String);

/// Something that is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// A relation.
    Relation(Oid),
    /// A column of one.
    Column(Oid, u16),
    /// A function.
    Function(Oid),
    /// A type.
    Type(Oid),
    /// A schema.
    Schema(Oid),
    /// An operator or a collation.
    Other(Oid),
}

impl Lost {
    fn need(self) -> Option<Need> {
        Some(match self {
            Lost::Relation(oid) => Need::Relation(oid),
            Lost::Column(oid, column) => Need::Column(oid, column),
            Lost::Function(oid) => Need::Function(oid),
            Lost::Type(oid) => Need::Type(oid),
            Lost::Schema(_) | Lost::Other(_) => return None,
        })
    }

    /// Its number, and that of the column.
    pub(crate) fn place(self) -> (Oid, u16) {
        match self {
            Lost::Column(oid, column) => (oid, column),
            Lost::Relation(oid)
            | Lost::Function(oid)
            | Lost::Type(oid)
            | Lost::Schema(oid)
            | Lost::Other(oid) => (oid, 0),
        }
    }
}

/// The views that need what is to go, each before those that need it, with what it needs.
#[derive(Debug, Default)]
pub(super) struct Needing {
    /// What is to go.
    asked: Vec<Lost>,
    views: Vec<(Arc<ViewDef>, Lost)>,
    /// Those of them that are tables.
    materialized: Vec<Arc<TableDef>>,
    /// Functions that take or give rows of a relation that goes, or values of a type, and that relation or type.
    functions: Vec<(Arc<FunctionDef>, Oid)>,
    /// Aggregates, with what they need.
    aggregates: Vec<(Arc<FunctionDef>, Lost)>,
    /// Functions whose bodies need it.
    bodies: Vec<(Arc<FunctionDef>, Lost)>,
    policies: Vec<(Arc<PolicyDef>, Lost)>,
    operators: Vec<(Arc<OperatorDef>, Lost)>,
    casts: Vec<(CastDef, Lost)>,
    /// Sequences of columns that go.
    sequences: Vec<Oid>,
    /// What has a text that names it.
    holders: Vec<(Holder, Lost)>,
    /// Tables whose keys name it, with their partitions.
    divided: Vec<Arc<TableDef>>,
    /// What else was noted of it.
    others: Vec<(Oid, String, Lost)>,
    /// What is made of the row types of relations that go, and these types, in words. It does not go along by itself.
    held: Vec<(String, String)>,
}

impl Needing {
    /// Finds them.
    pub(super) fn of(snapshot: &CatalogSnapshot, lost: &[Lost]) -> Needing {
        Needing::beside(snapshot, lost, &[])
    }

    /// The same where these types go, too, by a later change.
    pub(super) fn beside(snapshot: &CatalogSnapshot, lost: &[Lost], types: &[Oid]) -> Needing {
        let needing = Needing::among(snapshot, lost, types, |oid| snapshot.naming(oid));
        #[cfg(debug_assertions)]
        {
            let whole = Needing::among(snapshot, lost, types, |_| snapshot.everything());
            assert_eq!((needing.all(snapshot), &needing.held), (whole.all(snapshot), &whole.held));
        }
        needing
    }

    /// The same; `naming` finds the definitions that name an object.
    fn among<'s>(
        snapshot: &'s CatalogSnapshot,
        lost: &[Lost],
        types: &[Oid],
        naming: impl Fn(Oid) -> Naming<'s>,
    ) -> Needing {
        // A multirange type goes with its range type.
        let mut asked: Vec<Lost> = Vec::with_capacity(lost.len());
        for one in lost.iter().flat_map(|one| [Some(*one), multirange_of(snapshot, *one)]).flatten() {
            if !asked.contains(&one) {
                asked.push(one);
            }
        }
        let mut needing = Needing { asked: asked.clone(), ..Needing::default() };
        let mut all = asked;
        let mut next = 0;
        while let Some(one) = all.get(next).copied() {
            next += 1;
            let naming = naming(one.place().0);
            // What the sequences of columns give goes with these.
            for sequence in naming.sequences().filter(|sequence| is_owned(sequence, one)) {
                let goes = Lost::Relation(sequence.oid);
                if !all.contains(&goes) {
                    all.push(goes);
                }
                needing.sequences.push(sequence.oid);
            }
            if let Lost::Relation(oid) | Lost::Type(oid) = one {
                for function in naming.functions().filter(|function| uses_rows(function, oid)) {
                    let goes = Lost::Function(function.oid);
                    if !all.contains(&goes) {
                        all.push(goes);
                        needing.functions.push((Arc::clone(function), oid));
                    }
                }
            }
            for aggregate in naming.functions().filter(|function| calls(function, one)) {
                let goes = Lost::Function(aggregate.oid);
                if !all.contains(&goes) {
                    all.push(goes);
                    needing.aggregates.push((Arc::clone(aggregate), one));
                }
            }
            for function in naming.functions().filter(|function| needs(snapshot, function, one)) {
                let goes = Lost::Function(function.oid);
                if !all.contains(&goes) {
                    all.push(goes);
                    needing.bodies.push((Arc::clone(function), one));
                }
            }
            for policy in naming.policies().filter(|policy| needs_policy(snapshot, policy, one)) {
                // Those of the table itself go with it.
                let own = one == Lost::Relation(policy.table);
                if !own && !needing.policies.iter().any(|(known, _)| known.oid == policy.oid) {
                    needing.policies.push((Arc::clone(policy), one));
                }
            }
            for holder in holders_among(snapshot, &naming, one) {
                if !needing.holders.iter().any(|(known, _)| known.is(&holder)) {
                    // A table without its key is none.
                    if let Holder::Key(table) = &holder
                        && !all.contains(&Lost::Relation(table.oid))
                    {
                        let parts = table.with_partitions();
                        all.extend(parts.iter().map(|part| Lost::Relation(part.oid)));
                        needing.divided.extend(parts);
                    }
                    if let Holder::Generated(table, column) = &holder {
                        let goes = Lost::Column(table.oid, *column);
                        if !all.contains(&goes) {
                            all.push(goes);
                        }
                    }
                    needing.holders.push((holder, one));
                }
            }
            for operator in naming.operators() {
                let sides = operator.left.into_iter().chain([operator.right, operator.result]);
                let needs = needs_callee(&operator.function, one) || needs_type(snapshot, sides, one);
                if needs && !needing.operators.iter().any(|(known, _)| known.oid == operator.oid) {
                    let goes = Lost::Other(operator.oid);
                    if !all.contains(&goes) {
                        all.push(goes);
                    }
                    needing.operators.push((Arc::clone(operator), one));
                }
            }
            for cast in naming.casts() {
                let called = cast.function.as_ref().is_some_and(|function| needs_callee(function, one));
                let needs = called || needs_type(snapshot, [cast.source, cast.target], one);
                if needs && !needing.casts.iter().any(|(known, _)| known.oid == cast.oid) {
                    needing.casts.push((cast.clone(), one));
                }
            }
            for view in naming.views() {
                let needs = match one {
                    Lost::Relation(oid) => {
                        view.query.names(oid)
                            || view.query.types.iter().any(|(_, ty)| relation_of(*ty) == oid)
                    }
                    Lost::Column(oid, column) => view.query.uses(oid, column),
                    Lost::Function(oid) => view.query.functions.iter().any(|(_, function)| *function == oid),
                    Lost::Type(oid) => view.query.types.iter().any(|(_, ty)| {
                        *ty == oid || snapshot.user_type(*ty).is_some_and(|one| one.oid == oid)
                    }),
                    Lost::Schema(_) => false,
                    Lost::Other(_) => names_lost(snapshot, &view.query.text, one),
                };
                let goes = Lost::Relation(view.oid);
                if needs && !all.contains(&goes) {
                    all.push(goes);
                    needing.materialized.extend(snapshot.table_by_oid(view.oid));
                    needing.views.push((view, one));
                }
            }
        }
        needing.policies.retain(|(policy, _)| !all.contains(&Lost::Relation(policy.table)));
        let goes = |oid: Oid| {
            all.contains(&Lost::Relation(oid)) || all.contains(&Lost::Type(oid)) || types.contains(&oid)
        };
        // What belongs to something that goes goes with that.
        let divided: Vec<Oid> = needing.divided.iter().map(|table| table.oid).collect();
        needing.holders.retain(|(holder, _)| {
            let is_reason = |table: Oid| matches!(holder, Holder::Key(_)) && divided.contains(&table);
            let table = holder.table().is_some_and(|table| goes(table.oid) && !is_reason(table.oid));
            let column = match holder {
                Holder::Default(table, id) => all.contains(&Lost::Column(table.oid, *id)),
                _ => false,
            };
            !table && !column && !holder.domain().is_some_and(&goes)
        });
        let relations =
            all.iter().filter_map(|one| if let Lost::Relation(oid) = one { Some(*oid) } else { None });
        needing.held = relations.flat_map(|oid| held_by_others(snapshot, oid, &goes)).collect();
        needing
    }

    /// Does nothing need it?
    pub(super) fn is_empty(&self) -> bool {
        self.views.is_empty()
            && self.functions.is_empty()
            && self.aggregates.is_empty()
            && self.bodies.is_empty()
            && self.policies.is_empty()
            && self.operators.is_empty()
            && self.casts.is_empty()
            && self.holders.is_empty()
            && self.others.is_empty()
            && self.held.is_empty()
    }

    /// The numbers of what goes along and has no lock as a table has one.
    pub(super) fn numbers(&self) -> impl Iterator<Item = Oid> {
        let functions = self.functions.iter().map(|(one, _)| one.oid);
        let others = self.aggregates.iter().chain(&self.bodies).map(|(one, _)| one.oid);
        let operators = self.operators.iter().map(|(one, _)| one.oid);
        let casts = self.casts.iter().map(|(one, _)| one.oid);
        let views = self.views.iter().map(|(one, _)| one.oid);
        let sequences = self.sequences.iter().copied();
        views.chain(functions).chain(others).chain(operators).chain(casts).chain(sequences)
    }

    /// Leaves out operators and casts that go in another way.
    pub(super) fn leave(&mut self, operators: &[Arc<OperatorDef>], casts: &[CastDef]) {
        self.operators.retain(|(one, _)| !operators.iter().any(|other| other.oid == one.oid));
        self.casts.retain(|(one, _)| !casts.iter().any(|other| other.oid == one.oid));
    }

    /// What is made of the row types of relations that go, in words.
    pub(super) fn held(&self) -> impl Iterator<Item = &str> {
        self.held.iter().map(|(what, _)| &**what)
    }

    /// Refuses what others need.
    pub(super) fn refuse(&self, snapshot: &CatalogSnapshot) -> Result<(), CatalogError> {
        if self.is_empty() {
            return Ok(());
        }
        let what = match self.asked.as_slice() {
            [one, rest @ ..]
                if self.held.is_empty()
                    && rest.iter().all(|other| multirange_of(snapshot, *one) == Some(*other)) =>
            {
                named(snapshot, *one)
            }
            _ => "desired object(s)".to_string(),
        };
        refuse_if_needed(what, self.lines(snapshot))
    }

    /// Notes what else needs it: its number, what it is in words, what of it is needed.
    pub(super) fn note(&mut self, others: impl IntoIterator<Item = (Oid, String, Lost)>) {
        self.others.extend(others);
    }

    /// Who needs what, as DETAIL lines.
    pub(super) fn lines(&self, snapshot: &CatalogSnapshot) -> Vec<String> {
        let held = self.held.iter().map(|(what, ty)| format!("{what} depends on type {ty}"));
        let all = self.all(snapshot).into_iter();
        each_once(held.chain(all.map(|(what, lost)| format!("{what} depends on {}", named(snapshot, lost)))))
    }

    /// What goes along under CASCADE.
    pub(super) fn names(&self, snapshot: &CatalogSnapshot) -> Vec<String> {
        each_once(self.all(snapshot).into_iter().map(|(what, _)| what))
    }

    /// The generated columns among it, those of whole tables before those of their partitions, each with what goes along with it.
    /// Dropping one copies its table, which is a statement of its own.
    pub(super) fn generated(&self) -> Vec<(Arc<TableDef>, u16)> {
        let generated = self.holders.iter().filter_map(|(holder, _)| match holder {
            Holder::Generated(table, column) => Some((Arc::clone(table), *column)),
            _ => None,
        });
        let mut generated: Vec<(Arc<TableDef>, u16)> = generated.collect();
        generated.sort_by_key(|(table, column)| (table.partition_of.is_some(), table.oid, *column));
        generated
    }

    /// What needs what goes, with that, in PostgreSQL's order: behind each thing what needs it, the oldest first, and of several
    /// things that are to go the last one first.
    fn all(&self, snapshot: &CatalogSnapshot) -> Vec<(String, Lost)> {
        let function = |function: &FunctionDef| ((function.oid, 0), function_name(snapshot, function));
        let holders = self.holders.iter().map(|(one, lost)| ((one.place(), one.name(snapshot)), *lost));
        let policies =
            self.policies.iter().map(|(one, lost)| (((one.oid, 0), policy_name(snapshot, one)), *lost));
        let functions = self.functions.iter().map(|(one, ty)| (function(one), Lost::Type(*ty)));
        let parts = self.aggregates.iter().chain(&self.bodies).map(|(one, lost)| (function(one), *lost));
        let operators =
            self.operators.iter().map(|(one, lost)| (((one.oid, 0), operator_name(snapshot, one)), *lost));
        let casts = self.casts.iter().map(|(one, lost)| (((one.oid, 0), cast_name(snapshot, one)), *lost));
        let views = self.views.iter().map(|(one, lost)| (((one.oid, 0), view_name(snapshot, one)), *lost));
        let others = self.others.iter().map(|(oid, name, lost)| (((*oid, 0), name.clone()), *lost));
        let all = holders.chain(policies).chain(functions).chain(parts).chain(operators).chain(casts);
        let mut all: Vec<(Named, Lost)> = all.chain(views).chain(others).collect();
        all.sort_by_key(|(((oid, _), _), _)| *oid);
        let mut needs: HashMap<(Oid, u16), Vec<usize>> = HashMap::new();
        for (n, (_, lost)) in all.iter().enumerate() {
            needs.entry(lost.place()).or_default().push(n);
        }
        let mut order: Vec<usize> = Vec::new();
        let mut next: Vec<usize> = Vec::new();
        for place in self.asked.iter().rev().map(|lost| lost.place()) {
            next.extend(needs.remove(&place).unwrap_or_default().into_iter().rev());
            while let Some(n) = next.pop() {
                order.push(n);
                let own = all[n].0.0;
                next.extend(needs.remove(&own).unwrap_or_default().into_iter().rev());
            }
        }
        // What needs a part of something that goes along.
        let mut left: Vec<usize> = needs.into_values().flatten().collect();
        left.sort_unstable();
        order.extend(left);
        let mut all: Vec<Option<(String, Lost)>> =
            all.into_iter().map(|((_, name), lost)| Some((name, lost))).collect();
        order.into_iter().filter_map(|n| all[n].take()).collect()
    }
}

impl Catalog {
    /// Removes the views that need what goes; the change has begun.
    pub(super) fn remove_needing(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        needing: &Needing,
    ) -> Result<(), CatalogError> {
        if let Some((what, ty)) = needing.held.first() {
            let text = format!("CASCADE that would take {what}, which is of the row type {ty}, along");
            return Err(CatalogError::invalid("0A000", format!("{text} is not supported")));
        }
        self.claim_gone(txn, snapshot, needing.numbers())?;
        let mut views = needing.views.iter().rev();
        // No snapshot is taken within a change: it would be kept for the version that the change makes.
        let remove = |txn: &mut Txn, view: &ViewDef| match needing
            .materialized
            .iter()
            .find(|table| table.oid == view.oid)
        {
            Some(table) => {
                let mode = TableLockMode::AccessExclusive;
                self.engine.lock_table(txn, table.heap, mode, WaitPolicy::Block)?;
                self.remove_tables(txn, None, std::slice::from_ref(table))
            }
            None => self.remove_view(txn, view),
        };
        self.release_divided(txn, snapshot, &needing.divided)?;
        let is_divided = |table: &Arc<TableDef>| needing.divided.iter().any(|known| known.oid == table.oid);
        for (holder, _) in needing.holders.iter().filter(|(one, _)| !one.table().is_some_and(is_divided)) {
            self.remove_holder(txn, holder)?;
        }
        for (operator, _) in &needing.operators {
            self.remove_operator(txn, operator.oid)?;
        }
        for (cast, _) in &needing.casts {
            self.remove_cast(txn, cast.oid)?;
        }
        for (policy, _) in &needing.policies {
            if let Some(table) = snapshot.table_by_oid(policy.table) {
                let mode = TableLockMode::AccessExclusive;
                self.engine.lock_table(txn, table.heap, mode, WaitPolicy::Block)?;
            }
            self.remove_policies(txn, policy.table, &BTreeSet::from([policy.oid]))?;
        }
        let aggregates = needing.aggregates.iter().chain(&needing.bodies).map(|(function, _)| function);
        for function in needing.functions.iter().map(|(function, _)| function).chain(aggregates) {
            self.remove_objects(txn, function.oid, |row: &ProcRow| row.oid == function.oid)?;
        }
        views.try_for_each(|(view, _)| match remove(txn, view) {
            // It went with something else of the same statement.
            Err(CatalogError::Missing { .. }) => Ok(()),
            result => result,
        })?;
        self.remove_tables(txn, Some(snapshot), &needing.divided)
    }

    /// Locks tables that go because of their keys, and removes the foreign keys to them.
    fn release_divided(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        tables: &[Arc<TableDef>],
    ) -> Result<(), CatalogError> {
        let parents = tables.iter().filter_map(|table| Some(table.partition_of.as_ref()?.parent));
        let parents: Vec<Arc<TableDef>> = parents.filter_map(|oid| snapshot.table_by_oid(oid)).collect();
        for table in parents.iter().chain(tables) {
            self.engine.lock_table(txn, table.heap, TableLockMode::AccessExclusive, WaitPolicy::Block)?;
        }
        for reference in references_from_outside(snapshot, tables) {
            self.remove_foreign_key(txn, snapshot, &reference.constraint)?;
        }
        Ok(())
    }
}

/// The generated columns that go along with these objects under CASCADE ([`Needing::generated`]), and what that is in words.
pub fn generated_along(snapshot: &CatalogSnapshot, lost: &[Lost]) -> Vec<(Arc<TableDef>, u16, Vec<String>)> {
    let generated = Needing::of(snapshot, lost).generated().into_iter();
    let with_names = |(table, id): (Arc<TableDef>, u16)| {
        let mut names = vec![named(snapshot, Lost::Column(table.oid, id))];
        if let Some(at) = table.column_with_id(id) {
            names.extend(going_with_column(snapshot, &table, &table.columns[at]));
        }
        (table, id, names)
    };
    generated.map(with_names).collect()
}

/// The same lines, each once.
pub(super) fn each_once(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut known: HashSet<String> = HashSet::new();
    lines.into_iter().filter(|line| known.insert(line.clone())).collect()
}

/// What is made of a relation's row type and stays, and that type: columns, domains, fields of other types.
fn held_by_others(
    snapshot: &CatalogSnapshot,
    relation: Oid,
    goes: &dyn Fn(Oid) -> bool,
) -> Vec<(String, String)> {
    let Some(ty) = snapshot.relation_by_oid(relation).and_then(Relation::row_type) else { return Vec::new() };
    let mut uses = TypeUses::of(snapshot, &ty);
    uses.columns.retain(|(table, _)| !goes(*table));
    uses.whole.retain(|table| !goes(*table));
    uses.domains.retain(|domain| !goes(*domain));
    uses.fields.retain(|(composite, _)| !goes(*composite));
    uses.functions.clear();
    uses.with_types(snapshot, &ty)
}

/// Is what is to go among what a text needs? A relation takes the type of its rows along, and a type its array.
fn needs_one(snapshot: &CatalogSnapshot, needs: &[Need], lost: Lost) -> bool {
    let types = || needs.iter().filter_map(|need| if let Need::Type(oid) = need { Some(*oid) } else { None });
    lost.need().is_some_and(|need| needs.contains(&need)) || needs_type(snapshot, types(), lost)
}

/// Does a function's body, or the default of an argument, need what is to go?
fn needs(snapshot: &CatalogSnapshot, function: &FunctionDef, lost: Lost) -> bool {
    let mut defaults = function.args.iter().filter_map(|arg| arg.default.as_deref());
    let mut body = function.stored.iter().map(|stored| &*stored.query.text);
    needs_one(snapshot, &function.needs, lost)
        || lost != Lost::Function(function.oid) && defaults.any(|text| names_lost(snapshot, text, lost))
        || matches!(lost, Lost::Other(_)) && body.any(|text| names_lost(snapshot, text, lost))
}

/// Is it a sequence of the table that is to go, or of the column?
fn is_owned(sequence: &SequenceDef, lost: Lost) -> bool {
    sequence.owned_by.is_some_and(|owner| match lost {
        Lost::Relation(oid) => owner.table == oid,
        Lost::Column(oid, column) => (owner.table, owner.column) == (oid, column),
        _ => false,
    })
}

/// Does a policy?
fn needs_policy(snapshot: &CatalogSnapshot, policy: &PolicyDef, lost: Lost) -> bool {
    let mut texts = policy.conditions().map(|condition| &condition.query.text);
    let needs: Vec<Need> = policy.needs().into_iter().collect();
    needs_one(snapshot, &needs, lost) || texts.any(|text| names_lost(snapshot, text, lost))
}

/// The multirange type beside a range type that is to go.
fn multirange_of(snapshot: &CatalogSnapshot, lost: Lost) -> Option<Lost> {
    let Lost::Type(oid) = lost else { return None };
    match &snapshot.user_type(oid)?.ty {
        SqlType::Range(RangeType::Own(own)) if own.range.oid == oid.0 => {
            Some(Lost::Type(Oid(own.multirange.oid)))
        }
        _ => None,
    }
}

/// Does the function take or give rows of that relation?
fn uses_rows(function: &FunctionDef, relation: Oid) -> bool {
    let result = match &function.returns {
        FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => uses(ty, relation),
        FunctionReturn::Table(columns) => columns.iter().any(|(_, ty)| uses(ty, relation)),
        FunctionReturn::Void | FunctionReturn::Trigger | FunctionReturn::Procedure => false,
    };
    result
        || function.rows_of == Some(relation)
        || function.args.iter().any(|arg| arg.rows_of == Some(relation) || uses(&arg.ty, relation))
}

/// Does something that calls this need what is to go?
fn needs_callee(callee: &Callee, lost: Lost) -> bool {
    matches!((callee, lost), (Callee::User(oid), Lost::Function(gone)) if *oid == gone)
}

/// Is a type of these, or the array of one, to go?
fn needs_type(snapshot: &CatalogSnapshot, types: impl IntoIterator<Item = Oid>, lost: Lost) -> bool {
    let (Lost::Type(gone) | Lost::Relation(gone)) = lost else { return false };
    types
        .into_iter()
        .any(|oid| relation_of(oid) == gone || snapshot.user_type(oid).is_some_and(|ty| ty.oid == gone))
}

fn type_name(snapshot: &CatalogSnapshot, oid: Oid) -> String {
    match (SqlType::from_pg_oid(oid.0, -1), snapshot.type_or_row_by_oid(oid)) {
        (Some(ty), _) => ty.pg_name(),
        (None, Some(ty)) => shown_type(snapshot, &ty),
        (None, None) => oid.to_string(),
    }
}

/// `operator ===(integer,integer)`.
pub(super) fn operator_name(snapshot: &CatalogSnapshot, operator: &OperatorDef) -> String {
    if let Some(name) = as_session_writes(SystemType::Regoperator, operator.oid) {
        return format!("operator {name}");
    }
    let left = operator.left.map_or_else(|| "NONE".to_string(), |left| type_name(snapshot, left));
    let schema = match snapshot.search_path().searched().contains(&operator.schema) {
        true => String::new(),
        false => format!("{}.", quoted(&operator.schema)),
    };
    format!("operator {schema}{}({left},{})", operator.name, type_name(snapshot, operator.right))
}

fn cast_name(snapshot: &CatalogSnapshot, cast: &CastDef) -> String {
    format!("cast from {} to {}", type_name(snapshot, cast.source), type_name(snapshot, cast.target))
}

/// Is it an aggregate that calls this function?
fn calls(function: &FunctionDef, lost: Lost) -> bool {
    let Lost::Function(oid) = lost else { return false };
    function.is_aggregate()
        && AggregateDef::parse(&function.body)
            .is_some_and(|aggregate| aggregate.functions().any(|one| one == oid))
}

/// A policy's name and table behind what it is.
pub(super) fn policy_name(snapshot: &CatalogSnapshot, policy: &PolicyDef) -> String {
    format!("policy {} on {}", policy.name, named(snapshot, Lost::Relation(policy.table)))
}

/// A function with its arguments, behind what it is: procedures and aggregates are told as functions, too.
pub(super) fn function_name(snapshot: &CatalogSnapshot, function: &FunctionDef) -> String {
    if let Some(name) = as_session_writes(SystemType::Regprocedure, function.oid) {
        return format!("function {name}");
    }
    let schema = match snapshot.search_path().searched().contains(&function.schema) {
        true => String::new(),
        false => format!("{}.", quoted(&function.schema)),
    };
    let types: Vec<String> = function
        .inputs()
        .map(|arg| match arg.rows_of.and_then(|oid| snapshot.relation_by_oid(oid)) {
            Some(relation) => shown(snapshot, relation),
            None => arg.ty.pg_name(),
        })
        .collect();
    format!("function {schema}{}({})", quoted(&function.name), types.join(","))
}

/// A view's name behind what it is.
pub(super) fn view_name(snapshot: &CatalogSnapshot, view: &ViewDef) -> String {
    let kind = if snapshot.table_by_oid(view.oid).is_some() { "materialized view" } else { "view" };
    format!("{kind} {}", shown(snapshot, &Relation::View(Arc::new(view.clone()))))
}

/// A name as SQL writes it, with its schema where it is not found without it.
pub(super) fn placed(schema: &str, name: &str, is_visible: bool) -> String {
    match is_visible {
        true => quoted(name),
        false => format!("{}.{}", quoted(schema), quoted(name)),
    }
}

/// The name of an object as the session writes it, whose path the snapshots of a change know nothing of.
fn as_session_writes(ty: SystemType, oid: Oid) -> Option<String> {
    names::lent()?.name(ty, oid.0)
}

/// A relation's name, with its schema where it is not found without it.
pub(super) fn shown(snapshot: &CatalogSnapshot, relation: &Relation) -> String {
    as_session_writes(SystemType::Regclass, relation.oid())
        .unwrap_or_else(|| placed(relation.schema(), relation.name(), snapshot.is_visible(relation)))
}

/// A type's name, with its schema where it is not found without it.
pub(super) fn shown_type(snapshot: &CatalogSnapshot, ty: &TypeDef) -> String {
    as_session_writes(SystemType::Regtype, ty.oid)
        .unwrap_or_else(|| placed(&ty.schema, &ty.name, snapshot.is_visible_type(ty)))
}

/// A collation's name, with its schema where it is not found without it.
pub(super) fn shown_collation(snapshot: &CatalogSnapshot, collation: &Collation) -> String {
    let found = snapshot.collation(None, &collation.name);
    let is_visible = found.is_some_and(|found| found.collation.oid == collation.oid);
    placed(&collation.schema, &collation.name, is_visible)
}

/// What is to go, with its kind.
pub fn named(snapshot: &CatalogSnapshot, lost: Lost) -> String {
    let relation = |oid: Oid| match snapshot.relation_by_oid(oid) {
        Some(relation @ Relation::View(_)) => format!("view {}", shown(snapshot, relation)),
        Some(relation) if relation.kind() == ObjectKind::MaterializedView => {
            format!("materialized view {}", shown(snapshot, relation))
        }
        Some(relation @ Relation::Sequence(_)) => format!("sequence {}", shown(snapshot, relation)),
        Some(relation @ Relation::Index(_)) => format!("index {}", shown(snapshot, relation)),
        Some(relation) => format!("table {}", shown(snapshot, relation)),
        None => format!("relation {oid}"),
    };
    match lost {
        Lost::Relation(oid) => relation(oid),
        Lost::Column(oid, column) => {
            if let Some(ty) = snapshot.user_type(oid) {
                let fields = snapshot.fields_of(oid);
                let name = fields.iter().find(|(id, _)| *id == column).map_or("?", |(_, name)| &**name);
                return format!("column {name} of composite type {}", shown_type(snapshot, ty));
            }
            let name = snapshot.table_by_oid(oid).and_then(|table| {
                let at = table.column_with_id(column)?;
                Some(Arc::clone(&table.columns[at].name))
            });
            format!("column {} of {}", name.as_deref().unwrap_or("?"), relation(oid))
        }
        Lost::Type(oid) => {
            let found = snapshot.type_or_row_by_oid(oid);
            format!("type {}", found.map_or_else(|| oid.to_string(), |ty| shown_type(snapshot, &ty)))
        }
        Lost::Schema(oid) => {
            let schema = snapshot.schemas().find(|schema| schema.oid == oid);
            format!("schema {}", schema.map_or("?", |schema| &schema.name))
        }
        Lost::Other(oid) => match snapshot.operator_by_oid(oid) {
            Some(operator) => operator_name(snapshot, operator),
            None => {
                let found = snapshot.collation_by_oid(oid.0);
                let shown = found.map(|one| shown_collation(snapshot, &one.collation));
                format!("collation {}", shown.unwrap_or_else(|| oid.to_string()))
            }
        },
        Lost::Function(oid) => {
            let found = snapshot.function_by_oid(oid);
            found.map_or_else(|| format!("function {oid}"), |one| function_name(snapshot, one))
        }
    }
}
