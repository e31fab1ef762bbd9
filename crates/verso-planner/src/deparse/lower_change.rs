//! Changes of rows: from syntax and trace to the tree, by the names that tables and columns have today.

use std::sync::Arc;

use verso_catalog::{Relation, TableDef};
use verso_parser::syntax::{
    self, Assignment, ConflictTarget, Expr, ExprKind, FromItem, FromSource, Literal, MergeAction, MergeRows,
    Name, QualifiedName, QueryBody, SelectItem,
};
use verso_types::{SqlType, SystemType};

use super::lower::Lowering;
use super::node::{
    Action, Body, Conflict, Cte, Delete, Given, Insert, Item, ItemKind, Merge, Node, Returning, Set,
    Statement, Step, Subscript, Update, When, With,
};

/// The table that a statement changes; a view as one.
struct Goal {
    table: Arc<TableDef>,
    /// The columns by the names that the text knows, with their places in the table.
    known: Vec<(usize, Arc<str>)>,
    item: Item,
}

impl Goal {
    /// The place of a column that the text names.
    fn column(&self, name: &Name) -> Option<usize> {
        self.known.iter().find(|(_, known)| **known == *name.text).map(|(at, _)| *at)
    }

    /// What the columns at these places are called today.
    fn names(&self, columns: &[usize]) -> Vec<String> {
        columns.iter().map(|at| self.table.columns[*at].name.to_string()).collect()
    }

    fn ty(&self, column: usize) -> &SqlType {
        &self.table.columns[column].ty
    }
}

impl Lowering<'_> {
    /// A statement of a function's body.
    pub(super) fn statement(&mut self, statement: &syntax::Statement) -> Option<Statement> {
        let known = self.ctes.len();
        let lowered = match statement {
            syntax::Statement::Query(query) => Statement::Query(Box::new(self.query(query)?)),
            syntax::Statement::Insert(insert) => Statement::Insert(Box::new(self.insert(insert)?)),
            syntax::Statement::Update(update) => Statement::Update(Box::new(self.update(update)?)),
            syntax::Statement::Delete(delete) => Statement::Delete(Box::new(self.delete(delete)?)),
            syntax::Statement::Merge(merge) => Statement::Merge(Box::new(self.merge(merge)?)),
            _ => return None,
        };
        self.ctes.truncate(known);
        Some(lowered)
    }

    /// WITH before a change: its names are known until the statement ends.
    fn with_before(&mut self, with: &[syntax::Cte]) -> Option<With> {
        let recursive = with.iter().any(|cte| cte.recursive);
        let ctes: Vec<Cte> = self.with(with)?;
        Some(With { ctes, recursive })
    }

    fn goal(&self, name: &QualifiedName, alias: Option<&Name>) -> Option<Goal> {
        let place = name.at().start;
        let noted = self.binder.stored_relation(place)?;
        let table = match self.binder.catalog.relation_by_oid(noted.relation)? {
            Relation::Table(table) => Arc::clone(table),
            Relation::View(view) => Arc::new(view.as_table()),
            _ => return None,
        };
        let known = noted.columns.iter();
        let known =
            known.filter_map(|column| Some((table.column_with_id(column.id)?, Arc::clone(&column.name))));
        let item = Item {
            place,
            kind: ItemKind::Relation(self.relation_name(table.oid, &table.schema, &table.name)),
            alias: alias.map(|alias| alias.text.clone()),
            own: Some(table.name.to_string()),
            columns: table.columns.iter().map(|column| column.name.to_string()).collect(),
            today: Vec::new(),
            shows_columns: false,
            lateral: false,
            sample: None,
            past: None,
        };
        Some(Goal { known: known.collect(), table, item })
    }

    fn goal_of(&self, item: &FromItem) -> Option<Goal> {
        match &item.source {
            FromSource::Table(name) => self.goal(name, item.alias.as_ref()),
            _ => None,
        }
    }

    fn insert(&mut self, insert: &syntax::Insert) -> Option<Insert> {
        let with = self.with_before(&insert.with)?;
        let goal = self.goal(&insert.table, insert.alias.as_ref())?;
        let mut columns: Vec<usize> = match insert.columns.as_slice() {
            [] => goal.known.iter().map(|(at, _)| *at).collect(),
            named => named.iter().map(|name| goal.column(name)).collect::<Option<_>>()?,
        };
        let (mut types, mut steps) = (Vec::new(), Vec::new());
        for (n, column) in columns.iter().enumerate() {
            let places = insert.places.get(n).map_or(&[][..], Vec::as_slice);
            let (ty, own) = self.part(goal.ty(*column), places)?;
            types.push(ty);
            steps.push(own);
        }
        let source = match &insert.source {
            None => Given::Defaults,
            Some(query) => match &query.body {
                QueryBody::Values(rows)
                    if query.order_by.is_empty() && query.limit.is_none() && query.offset.is_none() =>
                {
                    let mut lowered = Vec::new();
                    for row in rows {
                        let row = match row.iter().any(Expr::is_starred) {
                            true => self.row_parts(row)?,
                            false => self.row(row, &types)?,
                        };
                        columns.truncate(row.len());
                        lowered.push(row);
                    }
                    Given::Rows(lowered)
                }
                _ => {
                    let lowered = self.given(query)?;
                    columns.truncate(super::lower_from::output_names(&lowered).len());
                    Given::Query(Box::new(lowered))
                }
            },
        };
        let columns = if source == Given::Defaults { Vec::new() } else { goal.names(&columns) };
        let conflict = match &insert.on_conflict {
            None => None,
            Some(clause) => Some(self.conflict(clause, &goal)?),
        };
        let returning = self.returning(&insert.returning)?;
        Some(Insert {
            with,
            target: goal.item,
            columns,
            steps,
            overriding: insert.overriding,
            source,
            conflict,
            returning,
        })
    }

    /// Values for columns, or parts of them, of these types.
    fn row(&mut self, row: &[Expr], types: &[SqlType]) -> Option<Vec<Node>> {
        row.iter().zip(types).map(|(expr, ty)| self.assigned(expr, ty)).collect()
    }

    fn bracket(&mut self, step: &syntax::Step) -> Option<Subscript> {
        let (slice, lower, upper) = match step {
            syntax::Step::Field(_) => return None,
            syntax::Step::Index(index) => (false, None, Some(index)),
            syntax::Step::Slice(lower, upper) => (true, lower.as_ref(), upper.as_ref()),
        };
        let mut end = |end: Option<&Expr>| match end {
            Some(end) => self.typed(end, &SqlType::Int4).map(Some),
            None => Some(None),
        };
        Some(Subscript { slice, lower: end(lower)?, upper: end(upper)? })
    }

    /// A key in brackets.
    fn key_step(&mut self, step: &syntax::Step) -> Option<Subscript> {
        let syntax::Step::Index(key) = step else { return None };
        Some(Subscript { slice: false, lower: None, upper: Some(self.settled(key)?) })
    }

    /// The type of a part of a column of that type, and the steps that lead to it.
    fn part(&mut self, ty: &SqlType, steps: &[syntax::Step]) -> Option<(SqlType, Vec<Step>)> {
        let (mut ty, mut lowered) = (ty.clone(), Vec::new());
        let mut steps = steps.iter().peekable();
        while let Some(step) = steps.next() {
            match (step, ty.without_modifiers()) {
                (syntax::Step::Field(name), SqlType::Row(row)) => {
                    let place = self.binder.field_place(&row, &self.binder.field_named(&name.text))?;
                    ty = row.declared(place).clone();
                    lowered.push(Step::Field(row.fields.get(place)?.0.to_string()));
                }
                (first, SqlType::Array(element)) => {
                    // All brackets together say an element or, where one is of a slice, an array.
                    let mut brackets = vec![first];
                    while let Some(next) = steps.next_if(|next| !matches!(next, syntax::Step::Field(_))) {
                        brackets.push(next);
                    }
                    let mut slice = false;
                    for bracket in brackets {
                        let bracket = self.bracket(bracket)?;
                        slice |= bracket.slice;
                        lowered.push(Step::Subscript(bracket));
                    }
                    if !slice {
                        ty = *element;
                    }
                }
                // A key within a document leads to one again, and one of an hstore to a text.
                (key, whole @ (SqlType::Jsonb | SqlType::System(SystemType::Hstore))) => {
                    let mut key = Some(key);
                    while let Some(step) = key {
                        lowered.push(Step::Subscript(self.key_step(step)?));
                        key = steps.next();
                    }
                    ty = if whole == SqlType::Jsonb { whole } else { SqlType::Text };
                }
                _ => return None,
            }
        }
        Some((ty, lowered))
    }

    /// A value for a column of that type.
    fn assigned(&mut self, expr: &Expr, ty: &SqlType) -> Option<Node> {
        match &expr.kind {
            ExprKind::Default => Some(Node::Word("DEFAULT".to_string())),
            _ => self.typed(expr, &ty.erased()),
        }
    }

    /// The query of an INSERT: a literal in its output waits for the column.
    fn given(&mut self, query: &syntax::Query) -> Option<super::node::Query> {
        let mut lowered = self.query(query)?;
        if let (Body::Select(select), QueryBody::Select(given)) = (&mut lowered.body, &query.body)
            && select.targets.len() == given.items.len()
        {
            for (target, item) in select.targets.iter_mut().zip(&given.items) {
                if let SelectItem::Expr { expr, .. } = item
                    && let ExprKind::Literal(Literal::String(text)) = &expr.kind
                {
                    target.node = Node::Const { text: Some(text.clone()), ty: SqlType::Unknown };
                }
            }
        }
        Some(lowered)
    }

    fn conflict(&mut self, clause: &syntax::OnConflict, goal: &Goal) -> Option<Conflict> {
        let mut conflict = Conflict::default();
        match &clause.target {
            None => {}
            Some(ConflictTarget::Constraint(name)) => {
                conflict.constraint = Some(goal.table.constraint_kept(&name.text)?.name.to_string());
            }
            Some(ConflictTarget::Inferred(parts, predicate)) => {
                conflict.predicate = self.condition(predicate.as_ref())?;
                for part in parts {
                    let ExprKind::Column(names) = &part.kind else { return None };
                    let [name] = names.as_slice() else { return None };
                    let column = goal.column(name)?;
                    conflict.columns.push(goal.table.columns[column].name.to_string());
                }
            }
        }
        if let Some(update) = &clause.update {
            let sets = self.sets(&update.assignments, goal)?;
            conflict.update = Some((sets, self.condition(update.filter.as_ref())?));
        }
        Some(conflict)
    }

    /// SET.
    fn sets(&mut self, assignments: &[Assignment], goal: &Goal) -> Option<Vec<Set>> {
        let mut sets = Vec::new();
        for assignment in assignments {
            sets.push(match assignment {
                Assignment::Value(name, expr) => {
                    let column = goal.column(name)?;
                    let node = self.assigned(expr, goal.ty(column))?;
                    Set { columns: goal.names(&[column]), steps: Vec::new(), node, row: false }
                }
                Assignment::Row(names, query) => {
                    let columns: Option<Vec<usize>> = names.iter().map(|name| goal.column(name)).collect();
                    let query = self.query(query)?;
                    let kind = super::node::SublinkKind::Scalar;
                    let sublink = super::node::Sublink { kind, left: Vec::new(), query };
                    let node = Node::Sublink(Box::new(sublink));
                    Set { columns: goal.names(&columns?), steps: Vec::new(), node, row: true }
                }
                Assignment::Part(name, steps, value) => {
                    let column = goal.column(name)?;
                    let (ty, steps) = self.part(goal.ty(column), steps)?;
                    let node = self.assigned(value, &ty)?;
                    Set { columns: goal.names(&[column]), steps, node, row: false }
                }
                // Each by itself, which says the same.
                Assignment::List(names, values, _) => {
                    if names.len() != values.len() || values.iter().any(Expr::is_starred) {
                        return None;
                    }
                    for (name, value) in names.iter().zip(values) {
                        let column = goal.column(name)?;
                        let node = self.assigned(value, goal.ty(column))?;
                        sets.push(Set {
                            columns: goal.names(&[column]),
                            steps: Vec::new(),
                            node,
                            row: false,
                        });
                    }
                    continue;
                }
            });
        }
        Some(sets)
    }

    fn returning(&mut self, returning: &syntax::Returning) -> Option<Returning> {
        let called = [&returning.old, &returning.new].map(|name| name.as_ref().map(|name| name.text.clone()));
        Some(Returning { called, targets: self.targets(&returning.items)? })
    }

    /// FROM or USING.
    fn beside(&mut self, from: Option<&FromItem>) -> Option<Vec<Item>> {
        from.map_or(Some(Vec::new()), |item| self.from(item))
    }

    fn update(&mut self, update: &syntax::Update) -> Option<Update> {
        if update.current.is_some() {
            return None;
        }
        let with = self.with_before(&update.with)?;
        let goal = self.goal_of(&update.table)?;
        let sets = self.sets(&update.assignments, &goal)?;
        let from = self.beside(update.from.as_ref())?;
        let filter = self.condition(update.filter.as_ref())?;
        let returning = self.returning(&update.returning)?;
        Some(Update { with, target: goal.item, sets, from, filter, returning })
    }

    fn delete(&mut self, delete: &syntax::Delete) -> Option<Delete> {
        if delete.current.is_some() {
            return None;
        }
        let with = self.with_before(&delete.with)?;
        let goal = self.goal_of(&delete.table)?;
        let from = self.beside(delete.using.as_ref())?;
        let filter = self.condition(delete.filter.as_ref())?;
        let returning = self.returning(&delete.returning)?;
        Some(Delete { with, target: goal.item, from, filter, returning })
    }

    fn merge(&mut self, merge: &syntax::Merge) -> Option<Merge> {
        let with = self.with_before(&merge.with)?;
        let goal = self.goal_of(&merge.table)?;
        let mut source = self.from(&merge.source)?;
        let (Some(source), true) = (source.pop(), source.is_empty()) else { return None };
        let on = self.typed(&merge.on, &SqlType::Bool)?;
        // BY TARGET is said where another clause is BY SOURCE.
        let by_source = merge.clauses.iter().any(|clause| clause.rows == MergeRows::NotMatchedBySource);
        let mut clauses = Vec::new();
        for clause in &merge.clauses {
            let rows = match clause.rows {
                MergeRows::Matched => "MATCHED",
                MergeRows::NotMatchedBySource => "NOT MATCHED BY SOURCE",
                MergeRows::NotMatchedByTarget if by_source => "NOT MATCHED BY TARGET",
                MergeRows::NotMatchedByTarget => "NOT MATCHED",
            };
            let condition = self.condition(clause.condition.as_ref())?;
            let action = match &clause.action {
                MergeAction::Nothing => Action::Nothing,
                MergeAction::Delete => Action::Delete,
                MergeAction::Update(assignments) => Action::Update(self.sets(assignments, &goal)?),
                MergeAction::Insert { columns, overriding, values } => {
                    let mut places: Vec<usize> = match columns.as_slice() {
                        [] => goal.known.iter().map(|(at, _)| *at).collect(),
                        named => named.iter().map(|name| goal.column(name)).collect::<Option<_>>()?,
                    };
                    places.truncate(values.as_ref().map_or(0, Vec::len));
                    let types: Vec<SqlType> = places.iter().map(|at| goal.ty(*at).clone()).collect();
                    let values = match values {
                        Some(values) => Some(self.row(values, &types)?),
                        None => None,
                    };
                    Action::Insert { columns: goal.names(&places), overriding: *overriding, values }
                }
            };
            clauses.push(When { rows, condition, action });
        }
        let returning = self.returning(&merge.returning)?;
        Some(Merge { with, target: goal.item, source, on, clauses, returning })
    }
}
