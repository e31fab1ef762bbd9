//! WITH RECURSIVE: which queries read themselves, in which order they are bound, and where such a reading may stand.
//!
//! The rules are those of PostgreSQL's `parse_cte.c`, and like it they look at the syntax before any name is bound:
//!
//! ```text
//! name AS ( first term          must not read name
//!           UNION [ALL]
//!           recursive term )    reads it once: not in a subquery of an expression, not where an outer join pads with
//!                               NULLs, not in EXCEPT's second query, INTERSECT ALL or EXCEPT ALL
//! ```

use std::collections::{HashMap, HashSet};

use verso_env::recursion;

use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{
    Assignment, Call, Cte, Expr, ExprKind as K, FrameBound, FromItem, FromSource, GroupItem, JoinCondition,
    JoinKind, JsonForm, MergeAction, Name, OrderItem, Over, QualifiedName, Query, QueryBody, Select,
    SelectItem, SetOperator, Statement, Step, WindowSpec,
};

/// The queries of one WITH as they are to be bound.
pub(super) struct Arranged<'q> {
    /// Each comes behind those that it reads; with each whether it reads itself.
    pub(super) queries: Vec<(&'q Cte, bool)>,
}

impl<'q> Arranged<'q> {
    /// Arranges and checks the queries of a WITH. Without RECURSIVE they stay in their order.
    ///
    /// # Errors
    /// A name that comes twice, queries that read each other in a circle, and those that read themselves where they may not.
    pub(super) fn of(queries: &'q [Cte]) -> Result<Arranged<'q>, SqlError> {
        let mut numbers = HashMap::new();
        for (number, query) in queries.iter().enumerate() {
            if numbers.insert(query.name.text.as_str(), number).is_some() {
                let text = format!("WITH query name \"{}\" specified more than once", query.name.text);
                return Err(SqlError::new(sqlstate::DUPLICATE_ALIAS, text).at(query.name.at.start));
            }
        }
        if !queries.first().is_some_and(|query| query.recursive) {
            return Ok(Arranged { queries: queries.iter().map(|query| (query, false)).collect() });
        }
        let mut reads = Vec::with_capacity(queries.len());
        for query in queries {
            let mut read = HashSet::new();
            Walk::over(&query.query, Place::Anywhere, &mut |name, _| {
                read.extend(numbers.get(name.text.as_str()).copied());
                Ok(())
            })?;
            reads.push(read);
        }
        let recursive: Vec<bool> = reads.iter_mut().enumerate().map(|(n, read)| read.remove(&n)).collect();
        let arranged: Vec<(&Cte, bool)> =
            sorted(queries, reads)?.into_iter().map(|n| (&queries[n], recursive[n])).collect();
        for (query, _) in arranged.iter().filter(|(_, recursive)| *recursive) {
            check(query)?;
        }
        Ok(Arranged { queries: arranged })
    }
}

/// Numbers of queries, each behind those that it reads.
fn sorted(queries: &[Cte], mut reads: Vec<HashSet<usize>>) -> Result<Vec<usize>, SqlError> {
    let mut open: Vec<usize> = (0..queries.len()).collect();
    let mut readers = vec![Vec::new(); queries.len()];
    for (reader, read) in reads.iter().enumerate() {
        read.iter().for_each(|number| readers[*number].push(reader));
    }
    // The text's order as far as it goes: mostly the first that is open reads nothing that is.
    for at in 0..open.len() {
        let Some(next) = (at..open.len()).find(|n| reads[open[*n]].is_empty()) else {
            let text = "mutual recursion between WITH items is not implemented";
            let at = queries[open[at]].name.at.start;
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at));
        };
        open.swap(at, next);
        for reader in &readers[open[at]] {
            reads[*reader].remove(&open[at]);
        }
    }
    Ok(open)
}

/// Whether a query that reads itself has the form, and does so in the right place.
fn check(cte: &Cte) -> Result<(), SqlError> {
    let name = &cte.name;
    let refuse = |text: String, at: u32| Err(SqlError::new(sqlstate::INVALID_RECURSION, text).at(at));
    let mut query = &cte.query;
    let (left, right) = loop {
        for inner in &query.with {
            readings(name, Place::Subquery, &inner.query)?;
        }
        match &query.body {
            QueryBody::Nested(inner) => {
                decorated(query)?;
                query = inner;
            }
            QueryBody::Set { operator: SetOperator::Union, all: _, left, right } => break (left, right),
            QueryBody::Change(_) => {
                let text =
                    format!("recursive query \"{}\" must not contain data-modifying statements", name.text);
                return refuse(text, name.at.start);
            }
            QueryBody::Select(_) | QueryBody::Values(_) | QueryBody::Set { .. } => {
                let text = format!(
                    "recursive query \"{}\" does not have the form non-recursive-term UNION [ALL] recursive-term",
                    name.text
                );
                return refuse(text, name.at.start);
            }
        }
    };
    decorated(query)?;
    readings(name, Place::FirstTerm, left)?;
    readings(name, Place::Anywhere, right)
}

/// Clauses around the UNION of a query that reads itself.
fn decorated(query: &Query) -> Result<(), SqlError> {
    let sorted = query.order_by.first().map(|item| &item.expr);
    let clauses = [("ORDER BY", sorted), ("OFFSET", query.offset.as_ref()), ("LIMIT", query.limit.as_ref())];
    let refused = |what: &str| {
        let text = format!("{what} in a recursive query is not implemented");
        SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
    };
    for (what, expr) in clauses {
        if let Some(expr) = expr {
            return Err(refused(what).at(expr.at.start));
        }
    }
    if query.locks.is_empty() { Ok(()) } else { Err(refused("FOR UPDATE/SHARE")) }
}

/// What is called for each name of a table that no WITH inside has taken.
type Visit<'v, 'q> = &'v mut dyn FnMut(&'q Name, Place) -> Result<(), SqlError>;

/// Refuses the readings of `name` where it may not be read, and the second one.
fn readings(name: &Name, start: Place, query: &Query) -> Result<(), SqlError> {
    let mut count = 0;
    Walk::over(query, start, &mut |found, place| {
        if found.text != name.text {
            return Ok(());
        }
        count += 1;
        let place = match place {
            Place::Anywhere if count > 1 => "more than once",
            Place::Anywhere => return Ok(()),
            Place::FirstTerm => "within its non-recursive term",
            Place::Subquery => "within a subquery",
            Place::OuterJoin => "within an outer join",
            Place::Intersect => "within INTERSECT",
            Place::Except => "within EXCEPT",
        };
        let text = format!("recursive reference to query \"{}\" must not appear {place}", name.text);
        Err(SqlError::new(sqlstate::INVALID_RECURSION, text).at(found.at.start))
    })
}

/// Where a table is named, as far as that matters to recursion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Where a query may read itself.
    Anywhere,
    FirstTerm,
    Subquery,
    OuterJoin,
    Intersect,
    Except,
}

/// A walk over the names of tables in a query.
struct Walk<'v, 'q> {
    place: Place,
    /// Names of the WITH queries around, which hide those further out.
    inner: Vec<Vec<&'q str>>,
    visit: Visit<'v, 'q>,
}

impl<'v, 'q> Walk<'v, 'q> {
    fn over(query: &'q Query, place: Place, visit: Visit<'v, 'q>) -> Result<(), SqlError> {
        Walk { place, inner: Vec::new(), visit }.query(query)
    }

    fn table(&mut self, name: &'q Name) -> Result<(), SqlError> {
        match self.inner.iter().flatten().any(|hidden| *hidden == name.text) {
            true => Ok(()),
            false => (self.visit)(name, self.place),
        }
    }

    fn qualified(&mut self, name: &'q QualifiedName) -> Result<(), SqlError> {
        if name.schema_text().is_none() { self.table(&name.name) } else { Ok(()) }
    }

    /// With another place for as long as `walk` takes, where the place so far allows all.
    fn within(
        &mut self,
        place: Place,
        walk: impl FnOnce(&mut Self) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let saved = self.place;
        if saved == Place::Anywhere {
            self.place = place;
        }
        let result = walk(self);
        self.place = saved;
        result
    }

    /// With the queries of a WITH, whose names hide others in what `walk` looks at.
    fn with(
        &mut self,
        queries: &'q [Cte],
        walk: impl FnOnce(&mut Self) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let recursive = queries.first().is_some_and(|query| query.recursive);
        let all = queries.iter().map(|query| query.name.text.as_str());
        self.inner.push(if recursive { all.collect() } else { Vec::new() });
        for query in queries {
            self.query(&query.query)?;
            if let (false, Some(names)) = (recursive, self.inner.last_mut()) {
                names.push(&query.name.text);
            }
        }
        walk(self)?;
        self.inner.pop();
        Ok(())
    }

    fn query(&mut self, query: &'q Query) -> Result<(), SqlError> {
        recursion::check()?;
        if query.with.is_empty() {
            return self.body(query);
        }
        self.with(&query.with, |walk| walk.body(query))
    }

    fn body(&mut self, query: &'q Query) -> Result<(), SqlError> {
        match &query.body {
            QueryBody::Select(select) => self.select(select)?,
            QueryBody::Values(rows) => self.exprs(rows.iter().flatten())?,
            QueryBody::Nested(inner) => self.query(inner)?,
            QueryBody::Set { .. } => self.chain(query)?,
            QueryBody::Change(statement) => self.statement(statement)?,
        }
        self.sorted(&query.order_by)?;
        self.exprs(query.offset.iter().chain(&query.limit))?;
        query.locks.iter().flat_map(|lock| &lock.of).try_for_each(|name| self.table(name))
    }

    /// A chain of UNION and its relatives, as long as it may be.
    fn chain(&mut self, query: &'q Query) -> Result<(), SqlError> {
        let (saved, mut steps, mut first) = (self.place, Vec::new(), query);
        while let QueryBody::Set { operator, all, left, right } = &first.body {
            let (ours, theirs) = match (self.place, operator, all) {
                (Place::Anywhere, SetOperator::Intersect, true) => (Place::Intersect, Place::Intersect),
                (Place::Anywhere, SetOperator::Except, true) => (Place::Except, Place::Except),
                (Place::Anywhere, SetOperator::Except, false) => (Place::Anywhere, Place::Except),
                (place, ..) => (place, place),
            };
            steps.push((&**right, theirs));
            self.place = ours;
            first = left;
            if !left.is_bare() {
                break;
            }
        }
        let mut result = self.query(first);
        for (right, place) in steps.into_iter().rev() {
            self.place = place;
            result = result.and_then(|()| self.query(right));
        }
        self.place = saved;
        result
    }

    fn select(&mut self, select: &'q Select) -> Result<(), SqlError> {
        self.exprs(&select.distinct_on)?;
        self.items(&select.items)?;
        select.from.iter().try_for_each(|item| self.item(item))?;
        self.exprs(&select.filter)?;
        select.group_by.iter().try_for_each(|item| self.group(item))?;
        self.exprs(&select.having)?;
        select.windows.iter().try_for_each(|(_, window)| self.window(window))
    }

    fn group(&mut self, item: &'q GroupItem) -> Result<(), SqlError> {
        recursion::check()?;
        match item {
            GroupItem::Expr(expr) => self.expr(expr),
            GroupItem::Set(exprs, _) => self.exprs(exprs),
            GroupItem::Rollup(lists, _) | GroupItem::Cube(lists, _) => self.exprs(lists.iter().flatten()),
            GroupItem::Sets(items, _) => items.iter().try_for_each(|item| self.group(item)),
        }
    }

    fn items(&mut self, items: &'q [SelectItem]) -> Result<(), SqlError> {
        items.iter().try_for_each(|item| match item {
            SelectItem::Expr { expr, .. } | SelectItem::Fields { expr, .. } => self.expr(expr),
            SelectItem::Wildcard { .. } => Ok(()),
        })
    }

    fn item(&mut self, item: &'q FromItem) -> Result<(), SqlError> {
        recursion::check()?;
        if let Some(past) = &item.past {
            self.expr(&past.moment)?;
        }
        if let Some(sample) = &item.sample {
            self.exprs(sample.args.iter().chain(&sample.seed))?;
        }
        match &item.source {
            FromSource::Table(name) => self.qualified(name),
            FromSource::Function(call, _) => self.call(call),
            FromSource::Rows(calls, _) => calls.iter().try_for_each(|(call, _)| self.call(call)),
            FromSource::JsonTable(table) => {
                self.exprs(table.passing.iter().map(|(input, _)| &input.value).chain([&table.document.value]))
            }
            FromSource::Query(query, _) => self.query(query),
            FromSource::Join(join) => {
                let outer = |padded: bool| if padded { Place::OuterJoin } else { Place::Anywhere };
                let pads_left = matches!(join.kind, JoinKind::Right | JoinKind::Full);
                let pads_right = matches!(join.kind, JoinKind::Left | JoinKind::Full);
                self.within(outer(pads_left), |walk| walk.item(&join.left))?;
                self.within(outer(pads_right), |walk| walk.item(&join.right))?;
                match &join.condition {
                    JoinCondition::On(condition) => self.expr(condition),
                    JoinCondition::None | JoinCondition::Using(..) | JoinCondition::Natural => Ok(()),
                }
            }
        }
    }

    fn call(&mut self, call: &'q Call) -> Result<(), SqlError> {
        self.exprs(&call.args)?;
        self.sorted(&call.order_by)?;
        self.sorted(&call.within_group)?;
        self.exprs(call.filter.as_deref())?;
        match &call.over {
            Some(Over::Spec(window)) => self.window(window),
            Some(Over::Name(_)) | None => Ok(()),
        }
    }

    fn window(&mut self, window: &'q WindowSpec) -> Result<(), SqlError> {
        self.exprs(&window.partition_by)?;
        self.sorted(&window.order_by)?;
        let bounds = window.frame.iter().flat_map(|frame| [&frame.start, &frame.end]);
        bounds.into_iter().try_for_each(|bound| match bound {
            FrameBound::Preceding(expr) | FrameBound::Following(expr) => self.expr(expr),
            FrameBound::UnboundedPreceding | FrameBound::CurrentRow | FrameBound::UnboundedFollowing => {
                Ok(())
            }
        })
    }

    fn sorted(&mut self, items: &'q [OrderItem]) -> Result<(), SqlError> {
        self.exprs(items.iter().map(|item| &item.expr))
    }

    fn exprs(&mut self, exprs: impl IntoIterator<Item = &'q Expr>) -> Result<(), SqlError> {
        exprs.into_iter().try_for_each(|expr| self.expr(expr))
    }

    /// A query within an expression.
    fn subquery(&mut self, query: &'q Query) -> Result<(), SqlError> {
        self.within(Place::Subquery, |walk| walk.query(query))
    }

    fn expr(&mut self, expr: &'q Expr) -> Result<(), SqlError> {
        recursion::check()?;
        match &expr.kind {
            K::Column(_) | K::Literal(_) | K::Parameter(_) | K::Default => Ok(()),
            K::Unary { arg, .. }
            | K::Not(arg)
            | K::IsNull { arg, .. }
            | K::IsTruth { arg, .. }
            | K::Cast { arg, .. }
            | K::Field { arg, .. }
            | K::Collate { arg, .. }
            | K::IsJson { arg, .. } => self.expr(arg),
            K::Binary { left, right, .. } | K::IsDistinct { left, right, .. } => {
                self.expr(left)?;
                self.expr(right)
            }
            K::And(list) | K::Or(list) | K::Array(list) | K::Row(list) => self.exprs(list),
            K::InList { arg, list, .. } => {
                self.expr(arg)?;
                self.exprs(list)
            }
            K::Between { arg, low, high, .. } => self.exprs([&**arg, &**low, &**high]),
            K::Like { arg, pattern, escape, .. } | K::SimilarTo { arg, pattern, escape, .. } => {
                self.exprs([&**arg, &**pattern].into_iter().chain(escape.as_deref()))
            }
            K::Case { operand, branches, otherwise } => {
                self.exprs(operand.as_deref())?;
                self.exprs(branches.iter().flat_map(|(when, then)| [when, then]))?;
                self.exprs(otherwise.as_deref())
            }
            K::Call(call) => self.call(call),
            K::Json(form) => {
                let mut parts = Vec::new();
                form.for_each_expr(&mut |part| parts.push(part));
                self.exprs(parts)?;
                match &**form {
                    JsonForm::ArrayQuery { query, .. } => self.subquery(query),
                    JsonForm::Aggregate(aggregate) => match &aggregate.over {
                        Some(Over::Spec(window)) => self.window(window),
                        Some(Over::Name(_)) | None => Ok(()),
                    },
                    _ => Ok(()),
                }
            }
            K::Subscript { array, index } => self.exprs([&**array, &**index]),
            K::Slice { array, lower, upper } => {
                self.expr(array)?;
                self.exprs(lower.as_deref().into_iter().chain(upper.as_deref()))
            }
            K::Subquery(query) | K::Exists(query) | K::ArraySubquery(query) => self.subquery(query),
            K::InSubquery { args, query, .. } | K::QuantifiedSubquery { args, query, .. } => {
                self.subquery(query)?;
                self.exprs(args)
            }
        }
    }

    /// A change in WITH. Its table counts, too.
    fn statement(&mut self, statement: &'q Statement) -> Result<(), SqlError> {
        match statement {
            Statement::Insert(insert) => self.with(&insert.with, |walk| {
                walk.qualified(&insert.table)?;
                insert.source.iter().try_for_each(|source| walk.query(source))?;
                if let Some(update) = insert.on_conflict.as_ref().and_then(|clause| clause.update.as_ref()) {
                    walk.assignments(&update.assignments)?;
                    walk.exprs(&update.filter)?;
                }
                walk.items(&insert.returning.items)
            }),
            Statement::Update(update) => self.with(&update.with, |walk| {
                walk.item(&update.table)?;
                walk.assignments(&update.assignments)?;
                update.from.iter().try_for_each(|item| walk.item(item))?;
                walk.exprs(&update.filter)?;
                walk.items(&update.returning.items)
            }),
            Statement::Delete(delete) => self.with(&delete.with, |walk| {
                walk.item(&delete.table)?;
                delete.using.iter().try_for_each(|item| walk.item(item))?;
                walk.exprs(&delete.filter)?;
                walk.items(&delete.returning.items)
            }),
            Statement::Merge(merge) => self.with(&merge.with, |walk| {
                walk.item(&merge.table)?;
                walk.item(&merge.source)?;
                walk.expr(&merge.on)?;
                for clause in &merge.clauses {
                    walk.exprs(&clause.condition)?;
                    match &clause.action {
                        MergeAction::Nothing | MergeAction::Delete => {}
                        MergeAction::Update(assignments) => walk.assignments(assignments)?,
                        MergeAction::Insert { values, .. } => walk.exprs(values.iter().flatten())?,
                    }
                }
                walk.items(&merge.returning.items)
            }),
            _ => Ok(()), // nothing else stands in WITH
        }
    }

    fn assignments(&mut self, assignments: &'q [Assignment]) -> Result<(), SqlError> {
        assignments.iter().try_for_each(|assignment| match assignment {
            Assignment::Value(_, expr) => self.expr(expr),
            Assignment::Part(_, path, expr) => {
                for step in path {
                    match step {
                        Step::Index(index) => self.expr(index)?,
                        Step::Slice(lower, upper) => self.exprs(lower.iter().chain(upper))?,
                        Step::Field(_) => {}
                    }
                }
                self.expr(expr)
            }
            Assignment::Row(_, query) => self.subquery(query),
            Assignment::List(_, values, _) => values.iter().try_for_each(|value| self.expr(value)),
        })
    }
}
