//! Which rights a statement needs, and whether the role has them: of relations and columns, by name.
//!
//! G1. Each query, and each change of rows, notes what its own FROM and target are used for ([`Need`]), and checks it when all
//!     of it is bound: only then it is known which columns it names.
//! G2. A plan is kept under the version of the catalog and the role ([`NamesKey`](verso_catalog::NamesKey)), so what was
//!     checked when it was bound still holds when it runs.
//! G3. What a view reads is checked for the view's owner; if it says `security_invoker`, for the role that runs the statement.
//! G4. Policies stand between a table and everything that a statement asks of its rows; of several permissive ones one has
//!     to hold, of restrictive ones all.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use verso_catalog::{
    CatalogSnapshot, INFORMATION_SCHEMA, INFORMATION_SCHEMA_OID, OWN, Object, Oid, PolicyDef, PolicyFor,
    Rights, StoredCondition, SystemRelation, TableDef, ViewDef,
};
use verso_env::recursion;
use verso_exec::plan::{Check, CheckOf, ExprKind as K, Plan, TypedExpr};
use verso_types::{SqlType, Value, names};

use super::Binder;
use super::context::{Clause, Context};
use super::from::row_of_call;
use super::scope::Scope;
use super::table_number::{misplaced, settle_own_number, with_own_number};
use super::view::calls_in;
use super::walk::map_columns;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, QualifiedName};

/// What is done with a relation and its columns.
#[derive(Debug)]
pub(super) struct Need {
    relation: Oid,
    name: Arc<str>,
    word: &'static str,
    /// Who does it.
    role: Oid,
    /// Numbers of the relation's columns that each column of a FROM item or target is.
    columns: Vec<Vec<u16>>,
    /// On the relation as a whole.
    whole: Cell<Rights>,
    /// SELECT even where no column is named.
    reads: bool,
    selected: RefCell<BTreeSet<u16>>,
    /// What is read as part of whole rows: a text that is kept does not depend on these columns.
    in_rows: RefCell<BTreeSet<u16>>,
    /// What a view above it names, whose rows change: read where any of it is.
    named: RefCell<BTreeSet<u16>>,
    /// The right to change these columns: none where nothing is changed, empty for any of them.
    changed: RefCell<Vec<(Rights, BTreeSet<u16>)>>,
}

/// Needs by the columns of a scope that they are about.
pub(super) type Noted = Vec<(Range<usize>, Rc<Need>)>;

/// The needs of one query or change.
pub(super) type Needs = Rc<RefCell<Vec<Rc<Need>>>>;

impl Need {
    /// A column is read.
    pub(super) fn selects(&self, column: usize) {
        match self.columns.get(column) {
            Some(columns) if !columns.is_empty() => self.selected.borrow_mut().extend(columns),
            // `ctid` and its like: nobody has a right on them alone.
            _ => self.needs(Rights::SELECT),
        }
    }

    /// A column is read as part of a whole row.
    pub(super) fn selects_in_row(&self, column: usize) {
        match self.columns.get(column) {
            Some(columns) if !columns.is_empty() => self.in_rows.borrow_mut().extend(columns),
            _ => self.selects(column),
        }
    }

    /// Whether anything of it is read.
    pub(super) fn is_read(&self) -> bool {
        !self.selected.borrow().is_empty()
            || !self.in_rows.borrow().is_empty()
            || self.whole.get().has(Rights::SELECT)
    }

    /// Columns are set.
    pub(super) fn changes(&self, right: Rights, columns: impl IntoIterator<Item = usize>) {
        let numbers = columns.into_iter().filter_map(|column| self.columns.get(column)).flatten();
        self.changed.borrow_mut().push((right, numbers.copied().collect()));
    }

    /// What has been read so far was only named by the text of a view whose rows change.
    pub(super) fn put_off(&self) {
        let mut named = self.named.borrow_mut();
        named.append(&mut self.selected.borrow_mut());
        named.append(&mut self.in_rows.borrow_mut());
    }

    /// What it is about.
    pub(super) fn relation(&self) -> Oid {
        self.relation
    }

    /// The numbers of the columns that are read or set.
    pub(super) fn used(&self) -> BTreeSet<u16> {
        let mut used = self.selected.borrow().clone();
        self.changed.borrow().iter().for_each(|(_, columns)| used.extend(columns));
        used
    }

    /// The numbers of the columns that are read as parts of whole rows.
    pub(super) fn used_in_rows(&self) -> BTreeSet<u16> {
        self.in_rows.borrow().clone()
    }

    /// Rights on the whole of it.
    pub(super) fn needs(&self, rights: Rights) {
        self.whole.set(self.whole.get().with(rights));
    }

    fn holds(&self, catalog: &CatalogSnapshot) -> bool {
        let may = |rights: Rights, columns: &BTreeSet<u16>| {
            let columns: Vec<u16> = columns.iter().copied().collect();
            catalog.may_columns(self.role, self.relation, rights, &columns)
        };
        let mut selected = self.selected.borrow().clone();
        selected.extend(self.in_rows.borrow().iter());
        if self.reads || !selected.is_empty() || self.whole.get().has(Rights::SELECT) {
            selected.extend(self.named.borrow().iter());
        }
        catalog.rights(self.role, Object::Relation(self.relation)).has(self.whole.get())
            && (!self.reads && selected.is_empty() || may(Rights::SELECT, &selected))
            && self.changed.borrow().iter().all(|(right, columns)| may(*right, columns))
    }
}

/// `42501` for an object.
#[must_use]
pub fn denied(kind: &str, name: &str) -> SqlError {
    SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("permission denied for {kind} {name}"))
}

/// What messages call it.
fn word_of(table: &TableDef) -> &'static str {
    if table.materialized.is_some() { "materialized view" } else { "table" }
}

impl Binder<'_> {
    /// Binds a query, then checks what it needs (G1): nothing, where no rights are limited. What a view reads is asked about by
    /// its own query.
    pub(super) fn watched<T>(&self, bind: impl FnOnce(&Self) -> Result<T, SqlError>) -> Result<T, SqlError> {
        if self.acting.is_none() && self.needs.is_none() {
            return bind(self);
        }
        self.checked(bind)
    }

    /// The same of a statement, which may change a table through a view: its owner needs the rights, whoever runs it (G3).
    pub(super) fn checked<T>(&self, bind: impl FnOnce(&Self) -> Result<T, SqlError>) -> Result<T, SqlError> {
        let needs = Needs::default();
        let bound = bind(&Binder { needs: Some(Rc::clone(&needs)), ..self.clone() })?;
        let needs = needs.borrow();
        match needs.iter().find(|need| !need.holds(self.catalog)) {
            Some(need) => Err(denied(need.word, &need.name)),
            None => Ok(bound),
        }
    }

    fn note(&self, need: Need) -> Rc<Need> {
        let need = Rc::new(need);
        if let (Some(needs), Some(_)) = (&self.needs, self.acting) {
            needs.borrow_mut().push(Rc::clone(&need));
        }
        if let Some(noting) = self.noting {
            noting.need(&need);
        }
        need
    }

    /// Whose needs are noted: those of the role whose rights count; where a text is kept that uses columns, those of nobody, too.
    fn needing(&self) -> Option<Oid> {
        self.acting.or(self.noting.map(|_| Oid(0)))
    }

    /// What is noted when columns of functions' rows are used in a text that is kept: they are the fields of the rows.
    pub(super) fn needs_of_rows(&self, plan: &Plan) -> Noted {
        let Some(noting) = self.noting else { return Noted::new() };
        let (mut noted, mut first) = (Noted::new(), 0);
        for (call, count) in calls_in(plan) {
            let fields = first..first + count;
            first += count;
            let Some(row) = row_of_call(call) else { continue };
            let Some(of) = row.of.as_ref().filter(|_| count == row.fields.len()) else { continue };
            let need = Rc::new(Need {
                relation: Oid(of.oid),
                name: Arc::clone(&of.name),
                word: "type",
                role: Oid(0),
                columns: (0..).take(count).map(|at| vec![at]).collect(),
                whole: Cell::default(),
                reads: false,
                selected: RefCell::default(),
                in_rows: RefCell::default(),
                named: RefCell::default(),
                changed: RefCell::default(),
            });
            noting.rows(&need, &row);
            noted.push((fields, need));
        }
        noted
    }

    /// Notes that a table is read or changed, by these of its columns.
    pub(super) fn need_table(
        &self,
        table: &TableDef,
        columns: impl Iterator<Item = usize>,
        reads: bool,
    ) -> Option<Rc<Need>> {
        let role = self.needing()?;
        let columns = columns.map(|at| table.columns.get(at).map(|column| column.id).into_iter().collect());
        Some(self.note(Need {
            relation: table.oid,
            name: Arc::clone(&table.name),
            word: word_of(table),
            role,
            columns: columns.collect(),
            whole: Cell::default(),
            reads,
            selected: RefCell::default(),
            in_rows: RefCell::default(),
            named: RefCell::default(),
            changed: RefCell::default(),
        }))
    }

    /// The same of a view: which of its columns each column stands for.
    pub(super) fn need_view(&self, view: &ViewDef, columns: Vec<Vec<u16>>, reads: bool) -> Option<Rc<Need>> {
        let role = self.needing()?;
        Some(self.note(Need {
            relation: view.oid,
            name: Arc::clone(&view.name),
            word: "view",
            role,
            columns,
            whole: Cell::default(),
            reads,
            selected: RefCell::default(),
            in_rows: RefCell::default(),
            named: RefCell::default(),
            changed: RefCell::default(),
        }))
    }

    /// The role whose rights count inside of a view (G3).
    pub(super) fn acting_within(&self, view: &ViewDef) -> Option<Oid> {
        if view.options.is_on("security_invoker") {
            // The role that runs the statement, be the view within another one of whomever.
            return self.catalog.acting_role().and_then(|role| limited(self.catalog, role));
        }
        limited(self.catalog, self.catalog.owner_of(Object::Relation(view.oid)))
    }

    /// Refuses a schema that the role may not look into.
    pub(super) fn check_schema(&self, name: &QualifiedName) -> Result<(), SqlError> {
        self.check_usage(name.schema_text(), name.at().start)
    }

    /// Refuses the schema that a statement names if the role may not look into it. What a text of the catalog names was found
    /// when it was made.
    pub(super) fn check_usage(&self, schema: Option<&str>, at: u32) -> Result<(), SqlError> {
        let (Some(role), Some(schema), None, false) = (self.acting, schema, self.stored, self.kept) else {
            return Ok(());
        };
        if schema == INFORMATION_SCHEMA {
            let may = self.catalog.rights(role, Object::Schema(INFORMATION_SCHEMA_OID)).has(Rights::USAGE);
            return if may { Ok(()) } else { Err(denied("schema", schema).at(at)) };
        }
        let Some(known) = self.catalog.schema(schema) else { return Ok(()) };
        let own = self.catalog.search_path().temporary() == Some(&known.name);
        if own || self.catalog.rights(role, Object::Schema(known.oid)).has(Rights::USAGE) {
            return Ok(());
        }
        Err(denied("schema", &known.name).at(at))
    }

    /// Refuses a relation of which the role may not do this with these columns; with any of them where none are given.
    ///
    /// # Errors
    /// 42501.
    pub fn require(&self, table: &TableDef, rights: Rights, columns: &[usize]) -> Result<(), SqlError> {
        let Some(role) = self.acting else { return Ok(()) };
        let columns: Vec<u16> = columns.iter().map(|at| table.columns[*at].id).collect();
        if self.catalog.may_columns(role, table.oid, rights, &columns) {
            return Ok(());
        }
        Err(denied(word_of(table), &table.name))
    }

    /// Refuses a relation of the system that the role may not read.
    pub(super) fn check_system(&self, relation: &SystemRelation) -> Result<(), SqlError> {
        let may = |role| self.catalog.rights(role, Object::Relation(relation.oid)).has(Rights::SELECT);
        if self.acting.is_none_or(may) {
            return Ok(());
        }
        Err(denied(if relation.kind == 'v' { "view" } else { "table" }, relation.name))
    }

    /// Refuses a function of the system that the role may not call with arguments of these types: the role that runs the statement,
    /// whoever's view calls the function. A text that is to be kept is asked about when it runs.
    pub(super) fn check_call(&self, name: &str, types: &[SqlType]) -> Result<(), SqlError> {
        let role = self.catalog.acting_role().and_then(|role| limited(self.catalog, role));
        let is_kept = self.noted.is_some() || self.noting.is_some();
        let (Some(role), Some(names), false) = (role, names::lent(), is_kept) else { return Ok(()) };
        let numbers: Vec<u32> = types.iter().map(SqlType::pg_oid).collect();
        let called = names.called(name, &numbers);
        let may = |oid: &u32| {
            let function = Object::Function(Oid(*oid));
            self.catalog.own_acl(function).is_none()
                || self.catalog.rights(role, function).has(Rights::EXECUTE)
        };
        if called.is_empty() || called.iter().any(may) { Ok(()) } else { Err(denied("function", name)) }
    }

    // ── policies ─────────────────────────────────────────────────────────────────────────────────────────────────

    /// Which rows of a table the role sees for a command; none where that is all of them.
    pub(super) fn policy_filter(
        &self,
        table: &Arc<TableDef>,
        command: PolicyFor,
    ) -> Result<Option<TypedExpr>, SqlError> {
        let Some(role) = self.secured_for(table)? else { return Ok(None) };
        self.policy_combined(table, role, command, |policy| policy.using.as_ref()).map(Some)
    }

    /// What new rows have to keep; none where anything goes. Without WITH CHECK the condition of USING counts.
    pub(super) fn policy_checks(
        &self,
        table: &Arc<TableDef>,
        command: PolicyFor,
    ) -> Result<Option<Check>, SqlError> {
        let Some(role) = self.secured_for(table)? else { return Ok(None) };
        let condition = self.policy_combined(table, role, command, PolicyDef::demanded)?;
        Ok(Some(Check { name: Arc::clone(&table.name), condition, of: CheckOf::Policy }))
    }

    /// The role for which the policies of a table hold, if it is one.
    fn secured_for(&self, table: &TableDef) -> Result<Option<Oid>, SqlError> {
        let Some(role) = self.acting.filter(|role| self.catalog.is_secured_for(table.oid, *role)) else {
            return Ok(None);
        };
        if !self.catalog.search_path().row_security() {
            let text =
                format!("query would be affected by row-level security policy for table \"{}\"", table.name);
            let error = SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text);
            return Err(match self.catalog.owns(role, Object::Relation(table.oid)) {
                true => error.with_hint(
                    "To disable the policy for the table's owner, use ALTER TABLE NO FORCE ROW LEVEL SECURITY.",
                ),
                false => error,
            });
        }
        Ok(Some(role))
    }

    /// The conditions of the policies for a role and a command, as one over all columns of the table (G4).
    fn policy_combined(
        &self,
        table: &Arc<TableDef>,
        role: Oid,
        command: PolicyFor,
        part: fn(&PolicyDef) -> Option<&StoredCondition>,
    ) -> Result<TypedExpr, SqlError> {
        recursion::check()?;
        if self.expanding.contains(&table.oid) {
            let text = format!("infinite recursion detected in policy for relation \"{}\"", table.name);
            return Err(SqlError::new("42P17", text));
        }
        let mut expanding = self.expanding.clone();
        expanding.push(table.oid);
        let binder = Binder {
            parameters: &[],
            inference: None,
            variables: Vec::new(),
            records: Vec::new(),
            outer: None,
            ctes: Vec::new(),
            noted: None,
            noting: None,
            stored: None,
            expanding,
            ..self.clone()
        };
        let counts = |policy: &&Arc<PolicyDef>| {
            (policy.command == command || policy.command == PolicyFor::All)
                && policy.roles.iter().any(|of| of.0 == 0 || self.catalog.inherits(role, *of))
        };
        let (mut any, mut all) = (Vec::new(), Vec::new());
        for policy in self.catalog.policies(table.oid).iter().filter(counts) {
            let Some(condition) = part(policy) else { continue };
            let condition = binder.stored_policy(condition, table)?;
            if policy.permissive { any.push(condition) } else { all.push(condition) }
        }
        let some = match any.len() {
            0 => TypedExpr::literal(Value::Bool(false), SqlType::Bool),
            1 => any.remove(0),
            _ => TypedExpr::new(K::Or(any), SqlType::Bool),
        };
        all.push(some);
        Ok(match all.len() {
            1 => all.remove(0),
            _ => TypedExpr::new(K::And(all), SqlType::Bool),
        })
    }

    /// The condition of a policy, over all columns of its table, which the text knows by that name. Rows of one that is not
    /// partitioned have its number.
    pub(super) fn policy_condition(
        &self,
        expr: &Expr,
        table: &TableDef,
        called: &Arc<str>,
    ) -> Result<TypedExpr, SqlError> {
        let count = table.columns.len();
        let mut columns: Vec<(Arc<str>, SqlType)> =
            table.columns.iter().map(|column| (Arc::clone(&column.name), column.seen())).collect();
        if let Some(then) = self.columns_then(OWN, table) {
            columns.iter_mut().zip(then.names).for_each(|((name, _), then)| *name = then);
        }
        let scope = Scope::of(Some(Arc::clone(called)), None, columns).of_relation(table.oid);
        let mut scope = if table.partitioned.is_none() { with_own_number(scope) } else { scope };
        // Which columns the text names, and which it takes as parts of whole rows.
        if self.noting.is_some()
            && let Some(need) = self.need_table(table, 0..count, false)
        {
            scope.noted.push((0..count, need));
        }
        if let Some(trace) = self.traced {
            trace.item(0, &scope.columns);
        }
        let mut cx = Context::new(&scope, Clause::Where);
        let bound = self.expr(expr, &mut cx).map_err(|error| {
            misplaced(error, |name| {
                SqlError::unsupported(format!("the system column \"{name}\" in a policy"))
            })
        })?;
        let mut bound = self.boolean(bound, expr.at.start, "POLICY")?;
        settle_own_number(&mut bound, count, table.oid);
        Ok(bound)
    }

    fn stored_policy(&self, condition: &StoredCondition, table: &TableDef) -> Result<TypedExpr, SqlError> {
        if let Some(plain) = self.plain_names() {
            return Binder { catalog: &plain, ..self.clone() }.stored_policy(condition, table);
        }
        let expr = verso_parser::parse_expression(&condition.query.text)?;
        // The table of a text of an earlier release is called as it is today.
        let called = if condition.is_plain() { &table.name } else { &condition.table };
        let bound = self.over_condition(condition).policy_condition(&expr, table, called);
        let bound = bound.and_then(|condition| self.in_kept_text().expanded(condition, table, 0));
        bound.map_err(|error| SqlError { position: None, ..error })
    }

    /// A scan with the rows only that the policies of all these commands show the role: of columns of the table, each by its place.
    pub(super) fn secured(&self, plan: Plan, commands: &[PolicyFor]) -> Result<Plan, SqlError> {
        let Plan::TableScan { table, columns, filter } = plan else { return Ok(plan) };
        let mut predicates = Vec::new();
        for command in commands {
            predicates.extend(self.policy_filter(&table, *command)?);
        }
        let predicate = match predicates.len() {
            0 => return Ok(Plan::TableScan { table, columns, filter }),
            1 => predicates.remove(0),
            _ => TypedExpr::new(K::And(predicates), SqlType::Bool),
        };
        // The condition may need columns that are not wanted.
        let count = columns.len();
        let mut read = columns.clone();
        let mut predicate = predicate;
        map_columns(&mut predicate, &mut |column| match read.iter().position(|known| *known == column) {
            Some(at) => at,
            None => {
                read.push(column);
                read.len() - 1
            }
        });
        let scan = Plan::TableScan { table, columns: read, filter };
        let output = scan.output();
        let plan = Plan::Filter { input: Box::new(scan), predicate };
        if output.len() == count {
            return Ok(plan);
        }
        let kept = output.into_iter().take(count).enumerate();
        let (exprs, names) =
            kept.map(|(at, column)| (TypedExpr::column(at, column.seen()), column.name)).unzip();
        Ok(Plan::Project { input: Box::new(plan), exprs, names })
    }
}

/// A role, if its rights are limited at all.
pub(super) fn limited(catalog: &CatalogSnapshot, role: Oid) -> Option<Oid> {
    (!catalog.is_superuser(role)).then_some(role)
}
