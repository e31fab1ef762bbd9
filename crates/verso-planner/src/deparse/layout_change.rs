//! Changes of rows as text, and the bodies that they stand in: PostgreSQL's `print_function_sqlbody`, `get_insert_query_def`
//! and its relatives.

use verso_exec::functions::quote_ident;

use super::layout::{Printer, STEP, listed};
use super::names::{Level, Named};
use super::node::{
    Action, Conflict, Delete, Given, Insert, Item, ItemKind, Merge, Node, Query, Returning, Set, Statement,
    Step, Update, With,
};
use crate::bind::{EXCLUDED, RETURNED_ROWS};

impl Printer {
    /// The statements of a body.
    pub(super) fn body(mut self, statements: &[Statement]) -> Option<String> {
        self.out.push_str("BEGIN ATOMIC\n");
        for statement in statements {
            self.begin(1);
            self.statement(statement)?;
            self.out.push_str(";\n");
        }
        self.out.push_str("END");
        Some(self.out)
    }

    /// The one expression of a body.
    pub(super) fn returned(mut self, node: &Node) -> Option<String> {
        self.flat = true;
        self.begin(0);
        self.out.push_str("RETURN ");
        self.expr(node, true)?;
        Some(self.out)
    }

    pub(super) fn statement(&mut self, statement: &Statement) -> Option<()> {
        verso_env::stack::check().ok()?;
        match statement {
            Statement::Query(query) => self.inner(query, false),
            Statement::Insert(insert) => {
                let items = std::slice::from_ref(&insert.target);
                self.over(items, insert.conflict.as_ref(), |printer| printer.insert(insert))
            }
            Statement::Update(update) => {
                let items = beside(&update.target, &update.from);
                self.over(&items, None, |printer| printer.update(update))
            }
            Statement::Delete(delete) => {
                let items = beside(&delete.target, &delete.from);
                self.over(&items, None, |printer| printer.delete(delete))
            }
            Statement::Merge(merge) => {
                let items = beside(&merge.target, std::slice::from_ref(&merge.source));
                self.over(&items, None, |printer| printer.merge(merge))
            }
        }
    }

    /// Writes with these items in scope, and with the row that an INSERT would add.
    fn over(
        &mut self,
        items: &[Item],
        conflict: Option<&Conflict>,
        write: impl FnOnce(&mut Self) -> Option<()>,
    ) -> Option<()> {
        let mut level = Level::of(items, &self.levels);
        if let (Some(_), Some(target)) = (conflict, items.first()) {
            let columns = target.columns.clone();
            level.items.push(Named { place: EXCLUDED, name: Some("excluded".to_string()), columns });
        }
        self.levels.push(level);
        let named = std::mem::replace(&mut self.named_output, false);
        let done = write(self);
        self.named_output = named;
        self.levels.pop();
        done
    }

    fn before(&mut self, with: &With) -> Option<()> {
        let query = Query { with: with.ctes.clone(), recursive: with.recursive, ..Query::default() };
        self.with(&query)
    }

    /// The table, and the alias that the statement gives it.
    fn target(&mut self, words: &str, target: &Item, between: &str) -> Option<()> {
        let ItemKind::Relation(name) = &target.kind else { return None };
        self.step_in();
        self.out.push_str(&format!("{words} {name}"));
        let name = self.named(target.place)?.name.clone();
        // Where a query around goes by the name of the table already, this one has another.
        if target.alias.is_some() || name != target.own {
            self.out.push_str(&format!("{between}{}", quote_ident(&name?)));
        }
        Some(())
    }

    fn insert(&mut self, insert: &Insert) -> Option<()> {
        self.before(&insert.with)?;
        self.target("INSERT INTO", &insert.target, " AS ")?;
        self.out.push(' ');
        if !insert.columns.is_empty() {
            self.out.push('(');
            for (n, column) in insert.columns.iter().enumerate() {
                self.out.push_str(if n > 0 { ", " } else { "" });
                self.out.push_str(&quote_ident(column));
                self.steps(insert.steps.get(n).map_or(&[], Vec::as_slice))?;
            }
            self.out.push_str(") ");
        }
        self.overriding(insert.overriding);
        match &insert.source {
            Given::Defaults => self.out.push_str("DEFAULT VALUES"),
            Given::Rows(rows) => match rows.as_slice() {
                [row] => {
                    self.keyword("VALUES (", -STEP, STEP, 2);
                    self.list(row, ", ", false)?;
                    self.out.push(')');
                }
                rows => {
                    self.out.push_str("VALUES ");
                    for (n, row) in rows.iter().enumerate() {
                        self.out.push_str(if n > 0 { ", (" } else { "(" });
                        self.list(row, ",", false)?;
                        self.out.push(')');
                    }
                }
            },
            Given::Query(query) => self.inner(query, false)?,
        }
        if let Some(conflict) = &insert.conflict {
            self.conflict(conflict, &insert.target)?;
        }
        self.returning(&insert.returning, &insert.target)
    }

    fn overriding(&mut self, overriding: Option<bool>) {
        self.out.push_str(match overriding {
            None => "",
            Some(true) => "OVERRIDING SYSTEM VALUE ",
            Some(false) => "OVERRIDING USER VALUE ",
        });
    }

    fn conflict(&mut self, conflict: &Conflict, target: &Item) -> Option<()> {
        self.out.push_str(" ON CONFLICT");
        if let Some(name) = &conflict.constraint {
            self.out.push_str(&format!(" ON CONSTRAINT {}", quote_ident(name)));
        } else if !conflict.columns.is_empty() {
            self.out.push_str(&format!("({})", listed(&conflict.columns)));
            if let Some(predicate) = &conflict.predicate {
                self.predicate(predicate, target)?;
            }
        }
        let Some((sets, filter)) = &conflict.update else {
            self.out.push_str(" DO NOTHING");
            return Some(());
        };
        self.out.push_str(" DO UPDATE SET ");
        self.sets(sets)?;
        self.filter(filter.as_ref())
    }

    /// The condition that says which partial indexes are meant: over the columns of the table alone, by their bare names.
    fn predicate(&mut self, predicate: &Node, target: &Item) -> Option<()> {
        self.keyword(" WHERE ", -STEP, STEP, 1);
        let own = Named { place: 0, name: None, columns: target.columns.clone() };
        self.levels.push(Level { items: vec![own], qualified: false });
        let done = self.expr(predicate, false);
        self.levels.pop();
        done
    }

    fn sets(&mut self, sets: &[Set]) -> Option<()> {
        for (n, set) in sets.iter().enumerate() {
            if n > 0 {
                self.out.push_str(", ");
            }
            let columns = listed(&set.columns);
            self.out.push_str(&if set.row { format!("({columns})") } else { columns });
            self.steps(&set.steps)?;
            self.out.push_str(" = ");
            self.expr(&set.node, false)?;
        }
        Some(())
    }

    /// The way to a part of a column.
    fn steps(&mut self, steps: &[Step]) -> Option<()> {
        for step in steps {
            match step {
                Step::Field(name) => self.out.push_str(&format!(".{}", quote_ident(name))),
                Step::Subscript(step) => self.bracket(step)?,
            }
        }
        Some(())
    }

    fn filter(&mut self, filter: Option<&Node>) -> Option<()> {
        if let Some(filter) = filter {
            self.keyword(" WHERE ", -STEP, STEP, 1);
            self.expr(filter, false)?;
        }
        Some(())
    }

    /// RETURNING of a change of that table, whose columns OLD and NEW have, too.
    fn returning(&mut self, returning: &Returning, target: &Item) -> Option<()> {
        let Returning { called, targets } = returning;
        if targets.is_empty() {
            return Some(());
        }
        self.keyword(" RETURNING", -STEP, STEP, 1);
        let words = ["old", "new"];
        let renamed: Vec<String> = (words.iter().zip(called))
            .filter_map(|(word, name)| {
                Some(format!("{} AS {}", word.to_uppercase(), quote_ident(name.as_ref()?)))
            })
            .collect();
        if !renamed.is_empty() {
            self.out.push_str(&format!(" WITH ({})", renamed.join(", ")));
        }
        let rows = RETURNED_ROWS.into_iter().zip(words.into_iter().zip(called));
        let rows = rows.map(|(place, (word, name))| {
            let name = Some(name.clone().unwrap_or_else(|| word.to_string()));
            Named { place, name, columns: target.columns.clone() }
        });
        let rows: Vec<Named> = rows.collect();
        self.levels.last_mut()?.items.extend(rows);
        self.targets(targets)
    }

    fn update(&mut self, update: &Update) -> Option<()> {
        self.before(&update.with)?;
        self.target("UPDATE", &update.target, " ")?;
        self.out.push_str(" SET ");
        self.sets(&update.sets)?;
        self.items(" FROM ", &update.from)?;
        self.filter(update.filter.as_ref())?;
        self.returning(&update.returning, &update.target)
    }

    fn delete(&mut self, delete: &Delete) -> Option<()> {
        self.before(&delete.with)?;
        self.target("DELETE FROM", &delete.target, " ")?;
        self.items(" USING ", &delete.from)?;
        self.filter(delete.filter.as_ref())?;
        self.returning(&delete.returning, &delete.target)
    }

    fn merge(&mut self, merge: &Merge) -> Option<()> {
        self.before(&merge.with)?;
        self.target("MERGE INTO", &merge.target, " ")?;
        self.items(" USING ", std::slice::from_ref(&merge.source))?;
        self.keyword(" ON ", -STEP, STEP, 2);
        self.expr(&merge.on, false)?;
        for clause in &merge.clauses {
            self.keyword(" WHEN ", -STEP, STEP, 2);
            self.out.push_str(clause.rows);
            if let Some(condition) = &clause.condition {
                self.keyword(" AND ", -STEP, STEP, 3);
                self.expr(condition, false)?;
            }
            self.keyword(" THEN ", -STEP, STEP, 3);
            match &clause.action {
                Action::Nothing => self.out.push_str("DO NOTHING"),
                Action::Delete => self.out.push_str("DELETE"),
                Action::Update(sets) => {
                    self.out.push_str("UPDATE SET ");
                    self.sets(sets)?;
                }
                Action::Insert { columns, overriding, values } => {
                    self.out.push_str("INSERT");
                    if !columns.is_empty() {
                        self.out.push_str(&format!(" ({})", listed(columns)));
                    }
                    if overriding.is_some() {
                        self.out.push(' ');
                        self.overriding(*overriding);
                        self.out.truncate(self.out.trim_end_matches(' ').len());
                    }
                    match values {
                        None => self.out.push_str(" DEFAULT VALUES"),
                        Some(values) => {
                            self.keyword(" VALUES (", -STEP, STEP, 4);
                            self.list(values, ", ", false)?;
                            self.out.push(')');
                        }
                    }
                }
            }
        }
        self.returning(&merge.returning, &merge.target)
    }
}

/// The target, and what stands beside it.
fn beside(target: &Item, others: &[Item]) -> Vec<Item> {
    std::iter::once(target).chain(others).cloned().collect()
}
