//! Queries: from syntax and trace to the tree.

use verso_exec::functions::quote_ident;
use verso_parser::syntax::{
    self, Expr, ExprKind, GroupItem, Literal, LockStrength, LockWait, OrderItem, QueryBody, SelectItem,
};
use verso_types::SqlType;

use super::lower::{Lowering, field_node};
use super::lower_from::output_names;
use super::node::{Body, Cte, Group, Lock, Node, Query, Select, Side, Sort, SortKey, Target, value_column};
use crate::bind::{common_type, output_name};

impl Lowering<'_> {
    /// A query.
    pub(super) fn query(&mut self, query: &syntax::Query) -> Option<Query> {
        verso_env::stack::check().ok()?;
        let known = self.ctes.len();
        let recursive = query.with.iter().any(|cte| cte.recursive);
        let with = self.with(&query.with)?;
        let lowered = self.body(query, with, recursive);
        self.ctes.truncate(known);
        lowered
    }

    /// WITH, whose names are in scope from then on.
    pub(super) fn with(&mut self, ctes: &[syntax::Cte]) -> Option<Vec<Cte>> {
        if ctes.iter().any(|cte| cte.recursive) {
            self.ctes.extend(ctes.iter().map(|cte| cte.name.text.clone()));
        }
        let mut with = Vec::new();
        for cte in ctes {
            let own = self.query(&cte.query)?;
            self.ctes.push(cte.name.text.clone());
            with.push(Cte {
                name: cte.name.text.clone(),
                columns: cte.columns.iter().map(|name| name.text.clone()).collect(),
                materialized: cte.materialized,
                query: own,
                behind: self.behind(cte)?,
            });
        }
        Some(with)
    }

    fn body(&mut self, query: &syntax::Query, with: Vec<Cte>, recursive: bool) -> Option<Query> {
        let mut targets: Vec<(String, Option<Node>)> = Vec::new();
        let mut lowered = match &query.body {
            QueryBody::Nested(inner) => self.query(inner)?,
            QueryBody::Select(select) => {
                let select = self.select(select)?;
                let named = select.targets.iter();
                targets = named.map(|target| (target.name.clone(), Some(target.node.clone()))).collect();
                Query { body: Body::Select(Box::new(select)), ..Query::default() }
            }
            QueryBody::Values(rows) => {
                let place = query.at.start;
                let lowered = Query { body: self.values(rows, place)?, ..Query::default() };
                let names = output_names(&lowered).into_iter().enumerate();
                targets = names.map(|(n, name)| (name, Some(value_column(place, n)))).collect();
                lowered
            }
            QueryBody::Set { .. } => {
                let names = self.set_names(query)?;
                targets = names.into_iter().map(|name| (name, None)).collect();
                let types = self.set_types(&query.body)?;
                match self.side(&query.body, &types)? {
                    Side::Set(left, operator, all, right) => {
                        Query { body: Body::Set(left, operator, all, right), ..Query::default() }
                    }
                    Side::Leaf(query) => *query,
                }
            }
            QueryBody::Change(change) => {
                let change = self.statement(change)?;
                Query { body: Body::Change(Box::new(change)), ..Query::default() }
            }
        };
        if lowered.with.is_empty() {
            lowered.with = with;
            lowered.recursive = recursive;
        } else if !with.is_empty() {
            return None;
        }
        if !query.order_by.is_empty() {
            if matches!(query.body, QueryBody::Nested(_)) {
                return None;
            }
            lowered.order_by = self.order_by(&query.order_by, &targets)?;
        }
        if let Some(limit) = &query.limit {
            lowered.limit = Some(match &limit.kind {
                // ALL
                ExprKind::Column(_) => Node::Const { text: None, ty: SqlType::Int8 },
                _ => self.typed(limit, &SqlType::Int8)?,
            });
            lowered.ties = query.with_ties;
        }
        if let Some(offset) = &query.offset {
            lowered.offset = Some(self.typed(offset, &SqlType::Int8)?);
        }
        for lock in &query.locks {
            let locked = self.lock(lock, query)?;
            lowered.locks.push(locked);
        }
        Some(lowered)
    }

    fn lock(&self, lock: &syntax::LockClause, query: &syntax::Query) -> Option<Lock> {
        let QueryBody::Select(select) = &query.body else { return None };
        let words = match lock.strength {
            LockStrength::KeyShare => " FOR KEY SHARE",
            LockStrength::Share => " FOR SHARE",
            LockStrength::NoKeyUpdate => " FOR NO KEY UPDATE",
            LockStrength::Update => " FOR UPDATE",
        };
        let wait = match lock.wait {
            LockWait::Block => "",
            LockWait::NoWait => " NOWAIT",
            LockWait::SkipLocked => " SKIP LOCKED",
        };
        let mut items = Vec::new();
        super::lower_from::leaves(select.from.as_ref()?, &mut items);
        let wanted = |name: &str| lock.of.is_empty() || lock.of.iter().any(|of| of.text == name);
        let of = items.into_iter().filter(|(name, _)| wanted(name)).map(|(_, place)| place).collect();
        Some(Lock { words, of, wait })
    }

    /// SEARCH and CYCLE.
    fn behind(&self, cte: &syntax::Cte) -> Option<String> {
        let list = |names: &[syntax::Name]| {
            names.iter().map(|name| quote_ident(&name.text)).collect::<Vec<_>>().join(", ")
        };
        let mut out = String::new();
        if let Some(search) = &cte.search {
            let word = if search.depth { "DEPTH" } else { "BREADTH" };
            out.push_str(&format!(
                " SEARCH {word} FIRST BY {} SET {}",
                list(&search.by),
                quote_ident(&search.set.text)
            ));
        }
        if let Some(cycle) = &cte.cycle {
            if cycle.values.is_some() {
                return None;
            }
            out.push_str(&format!(
                " CYCLE {} SET {} USING {}",
                list(&cycle.columns),
                quote_ident(&cycle.set.text),
                quote_ident(&cycle.using.text)
            ));
        }
        Some(out)
    }

    fn values(&mut self, rows: &[Vec<Expr>], place: u32) -> Option<Body> {
        if rows.iter().flatten().any(Expr::is_starred) {
            let rows: Option<Vec<Vec<Node>>> = rows.iter().map(|row| self.row_parts(row)).collect();
            return Some(Body::Values(rows?, place));
        }
        let width = rows.first().map_or(0, Vec::len);
        let mut lowered: Vec<Vec<Node>> = vec![Vec::new(); rows.len()];
        for column in 0..width {
            let exprs: Option<Vec<&Expr>> = rows.iter().map(|row| row.get(column)).collect();
            let exprs = exprs?;
            let nodes = self.unified(&exprs)?;
            for ((row, node), expr) in lowered.iter_mut().zip(nodes).zip(exprs) {
                row.push(self.whole(node, expr));
            }
        }
        Some(Body::Values(lowered, place))
    }

    /// The names that the columns of a UNION have: those of its first query.
    fn set_names(&self, query: &syntax::Query) -> Option<Vec<String>> {
        let mut body = &query.body;
        loop {
            match body {
                QueryBody::Set { left, .. } => body = &left.body,
                QueryBody::Nested(inner) => body = &inner.body,
                QueryBody::Select(select) => return self.target_names(select),
                QueryBody::Values(rows) => {
                    let width = rows.first().map_or(0, Vec::len);
                    return Some((1..=width).map(|n| format!("column{n}")).collect());
                }
                QueryBody::Change(_) => return None,
            }
        }
    }

    /// The types that the columns of a UNION have.
    fn set_types(&self, body: &QueryBody) -> Option<Vec<SqlType>> {
        verso_env::stack::check().ok()?;
        match body {
            QueryBody::Set { left, right, .. } => {
                let (left, right) = (self.set_types(&left.body)?, self.set_types(&right.body)?);
                let pairs = left.iter().zip(&right);
                Some(pairs.map(|(a, b)| common_type([a, b].into_iter()).unwrap_or(a.clone())).collect())
            }
            QueryBody::Nested(inner) => self.set_types(&inner.body),
            QueryBody::Select(select) => {
                let mut types = Vec::new();
                for item in &select.items {
                    match item {
                        SelectItem::Expr { expr, .. } => types.push(self.type_of(expr)),
                        SelectItem::Wildcard { at, .. } => {
                            types.extend(self.starred(at.start)?.into_iter().map(|(_, _, ty)| ty));
                        }
                        SelectItem::Fields { at, .. } => {
                            types.extend(self.trace.fields_at(at.start)?.into_iter().map(|field| field.ty));
                        }
                    }
                }
                Some(types)
            }
            QueryBody::Values(rows) => {
                let column = |n: usize| {
                    let types: Vec<SqlType> =
                        rows.iter().filter_map(|row| row.get(n)).map(|expr| self.type_of(expr)).collect();
                    common_type(types.iter()).ok()
                };
                (0..rows.first().map_or(0, Vec::len)).map(column).collect()
            }
            QueryBody::Change(_) => None,
        }
    }

    /// One side of a UNION, whose literals become what the columns of the whole are.
    fn side(&mut self, body: &QueryBody, types: &[SqlType]) -> Option<Side> {
        verso_env::stack::check().ok()?;
        match body {
            QueryBody::Set { operator, all, left, right } => {
                let mut sides = Vec::new();
                for side in [left, right] {
                    sides.push(match &side.body {
                        inner @ QueryBody::Set { .. } if side.is_bare() => self.side(inner, types)?,
                        QueryBody::Nested(nested)
                            if side.is_bare()
                                && nested.is_bare()
                                && matches!(nested.body, QueryBody::Set { .. }) =>
                        {
                            self.side(&nested.body, types)?
                        }
                        _ => self.leaf(side, types)?,
                    });
                }
                let right = sides.pop()?;
                Some(Side::Set(Box::new(sides.pop()?), *operator, *all, Box::new(right)))
            }
            _ => None,
        }
    }

    fn leaf(&mut self, query: &syntax::Query, types: &[SqlType]) -> Option<Side> {
        let mut lowered = self.query(query)?;
        if let Body::Select(select) = &mut lowered.body {
            for (target, ty) in select.targets.iter_mut().zip(types) {
                if let Node::Const { ty: own @ SqlType::Text, text } = &target.node
                    && self.was_open(query, &target.name)
                    && own != ty
                {
                    target.node = self.constant(text.clone(), ty);
                }
            }
        }
        Some(Side::Leaf(Box::new(lowered)))
    }

    /// Whether an output column was written as a literal without a type.
    fn was_open(&self, query: &syntax::Query, name: &str) -> bool {
        let QueryBody::Select(select) = &query.body else { return false };
        select.items.iter().any(|item| match item {
            SelectItem::Expr { expr, alias } => {
                let own = alias.as_ref().map_or_else(|| output_name(expr), |alias| alias.text.clone());
                own == name && matches!(expr.kind, ExprKind::Literal(Literal::String(_) | Literal::Null))
            }
            _ => false,
        })
    }

    fn target_names(&self, select: &syntax::Select) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for item in &select.items {
            match item {
                SelectItem::Expr { alias: Some(alias), .. } => names.push(alias.text.clone()),
                SelectItem::Expr { expr, alias: None } => names.push(output_name(expr)),
                SelectItem::Wildcard { at, .. } => {
                    let starred = self.starred(at.start)?;
                    names.extend(starred.into_iter().map(|(_, name, _)| name.to_string()));
                }
                SelectItem::Fields { at, .. } => {
                    let fields = self.trace.fields_at(at.start)?;
                    names.extend(fields.into_iter().map(|field| field.name.to_string()));
                }
            }
        }
        Some(names)
    }

    fn select(&mut self, select: &syntax::Select) -> Option<Select> {
        let from = match &select.from {
            Some(item) => self.from(item)?,
            None => Vec::new(),
        };
        let targets = self.targets(&select.items)?;
        let named: Vec<(String, Option<Node>)> =
            targets.iter().map(|target| (target.name.clone(), Some(target.node.clone()))).collect();
        let filter = self.condition(select.filter.as_ref())?;
        let mut group_by = Vec::new();
        for item in &select.group_by {
            group_by.push(self.group(item, &named)?);
        }
        let having = self.condition(select.having.as_ref())?;
        let mut distinct_on = Vec::new();
        for expr in &select.distinct_on {
            distinct_on.push(self.key(expr, &named)?);
        }
        let mut windows = Vec::new();
        for (name, spec) in &select.windows {
            windows.push((name.text.clone(), self.window(spec)?));
        }
        Some(Select {
            distinct: select.distinct,
            distinct_on,
            targets,
            from,
            filter,
            group_by,
            group_distinct: select.group_distinct,
            having,
            windows,
        })
    }

    /// The columns of an output.
    pub(super) fn targets(&mut self, items: &[SelectItem]) -> Option<Vec<Target>> {
        let mut targets = Vec::new();
        for item in items {
            match item {
                SelectItem::Expr { expr, alias } => {
                    let name = alias.as_ref().map_or_else(|| output_name(expr), |alias| alias.text.clone());
                    let node = match (self.type_of(expr), self.trace.output_type(expr.at.start)) {
                        (SqlType::Unknown, Some(ty)) => self.typed(expr, &ty)?,
                        (SqlType::Unknown, None) => self.typed(expr, &SqlType::Text)?,
                        _ => self.expr(expr)?,
                    };
                    let row = node.is_row_of_item().then(|| self.type_of(expr));
                    targets.push(Target { node, name, row });
                }
                SelectItem::Wildcard { at, .. } => {
                    let starred = self.starred(at.start)?.into_iter();
                    targets.extend(starred.map(|(node, name, _)| Target::plain(node, name.to_string())));
                }
                SelectItem::Fields { expr, at } => {
                    let fields = self.trace.fields_at(at.start)?;
                    let row = self.expr(expr)?;
                    for field in fields {
                        let node = field_node(&row, &field);
                        targets.push(Target::plain(node, field.name.to_string()));
                    }
                }
            }
        }
        Some(targets)
    }

    /// A condition, if there is one. The outer `Option` is that of the lowering.
    pub(super) fn condition(&mut self, expr: Option<&Expr>) -> Option<Option<Node>> {
        match expr {
            Some(expr) => Some(Some(self.typed(expr, &SqlType::Bool)?)),
            None => Some(None),
        }
    }

    fn group(&mut self, item: &GroupItem, targets: &[(String, Option<Node>)]) -> Option<Group> {
        verso_env::stack::check().ok()?;
        let mut keys = |exprs: &[Expr]| {
            exprs.iter().map(|expr| self.key(expr, targets)).collect::<Option<Vec<SortKey>>>()
        };
        Some(match item {
            GroupItem::Expr(expr) => Group::Key(self.key(expr, targets)?),
            GroupItem::Set(set, _) => Group::Set(keys(set)?),
            GroupItem::Rollup(lists, _) => {
                Group::Rollup(lists.iter().map(|list| keys(list)).collect::<Option<_>>()?)
            }
            GroupItem::Cube(lists, _) => {
                Group::Cube(lists.iter().map(|list| keys(list)).collect::<Option<_>>()?)
            }
            GroupItem::Sets(items, _) => {
                let sets: Option<Vec<Group>> = items.iter().map(|item| self.group(item, targets)).collect();
                Group::Sets(sets?)
            }
        })
    }

    /// What rows are sorted or grouped by: a column of the output by name or number, or an expression.
    fn key(&mut self, expr: &Expr, targets: &[(String, Option<Node>)]) -> Option<SortKey> {
        let place = match &expr.kind {
            ExprKind::Literal(Literal::Number(digits)) => digits.parse::<usize>().ok()?.checked_sub(1),
            // an expression over the input leaves a trace
            ExprKind::Column(parts) if self.trace.source(parts.first()?.at.start).is_none() => {
                targets.iter().position(|(name, _)| *name == parts[0].text)
            }
            _ => None,
        };
        if let Some(at) = place {
            let (_, node) = targets.get(at)?;
            let node = node.clone().unwrap_or(Node::Param(0));
            return Some(SortKey { node, target: Some(at) });
        }
        let node = self.settled(expr)?;
        let target = targets.iter().position(|(_, known)| known.as_ref() == Some(&node));
        Some(SortKey { node, target })
    }

    fn order_by(&mut self, items: &[OrderItem], targets: &[(String, Option<Node>)]) -> Option<Vec<Sort>> {
        let mut sorts = Vec::new();
        for item in items {
            let key = self.key(&item.expr, targets)?;
            sorts.push(Sort::of(key, item));
        }
        Some(sorts)
    }
}
