//! Queries as text: PostgreSQL's `get_query_def` and what it calls, with its line breaks and indentation.

use std::sync::Arc;

use verso_exec::functions::quote_ident;
use verso_parser::syntax::{JoinKind, SetOperator};

use super::Style;
use super::lower_from::output_names;
use super::names::{Level, Named};
use super::node::{
    Body, Cte, Group, Item, ItemKind, Join, Node, Query, Select, Side, Sort, SortKey, Target, value_column,
};
use super::print::{Label, constant};
use crate::bind::trace::Source;

/// Steps of indentation: of clauses, of joins, of what goes on in the next line.
pub(super) const STEP: i32 = 8;
const JOIN_STEP: i32 = 4;
const WRAP_STEP: i32 = 4;
/// From here on a step is a quarter.
const DEEP: i32 = 40;

/// The rows of VALUES as an item of FROM, named as PostgreSQL names them.
fn rows_of(rows: &[Vec<Node>], place: u32) -> Item {
    let width = rows.first().map_or(0, Vec::len);
    Item {
        place,
        kind: ItemKind::Values(rows.to_vec()),
        alias: None,
        own: Some("*VALUES*".to_string()),
        columns: (1..=width).map(|n| format!("column{n}")).collect(),
        today: (1..=width).map(|n| (format!("column{n}"), false)).collect(),
        shows_columns: false,
        lateral: false,
        sample: None,
        past: None,
    }
}

/// The SELECT over the rows of VALUES that gives their columns other names.
fn selected(rows: &[Vec<Node>], place: u32) -> Body {
    let item = rows_of(rows, place);
    let names = item.columns.iter().enumerate();
    let targets = names.map(|(n, name)| Target::plain(value_column(place, n), name.clone())).collect();
    Body::Select(Box::new(Select { targets, from: vec![item], ..Select::default() }))
}

/// Writes one definition.
pub(super) struct Printer {
    pub(super) style: Style,
    pub(super) out: String,
    indent: i32,
    /// The queries around, outermost first.
    pub(super) levels: Vec<Level>,
    /// The names that the columns of the output are given, where others decide that.
    names: Option<Vec<Arc<str>>>,
    /// The names of the output's columns matter.
    pub(super) named_output: bool,
    /// All of it stands in one line.
    pub(super) flat: bool,
    /// Of the body of a function: its name as it is shown, and the names of its arguments.
    pub(super) function: String,
    pub(super) arguments: Vec<String>,
}

impl Printer {
    pub(super) fn new(style: Style) -> Printer {
        Printer {
            style,
            out: String::new(),
            indent: 0,
            levels: Vec::new(),
            names: None,
            named_output: true,
            flat: false,
            function: String::new(),
            arguments: Vec::new(),
        }
    }

    /// Begins the statements of a function's body, so far from the left; what they read is named with its item.
    pub(super) fn begin(&mut self, indent: i32) {
        self.indent = indent;
        self.levels = vec![Level::default()];
    }

    /// A step to the right, behind which a statement or query begins.
    pub(super) fn step_in(&mut self) {
        if !self.flat {
            self.indent += STEP;
            self.out.push(' ');
        }
    }

    /// The query of a view with these columns.
    pub(super) fn definition(mut self, query: &Query, names: &[Arc<str>]) -> Option<String> {
        self.names = Some(names.to_vec());
        self.query(query)?;
        Some(self.out)
    }

    /// A word at the beginning of a line.
    pub(super) fn keyword(&mut self, word: &str, before: i32, after: i32, more: i32) {
        if self.flat {
            self.out.push_str(word);
            return;
        }
        self.indent += before;
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push('\n');
        let amount = match self.indent {
            indent if indent < DEEP => indent.max(0) + more,
            indent => (DEEP + (indent - DEEP) / (STEP / 2)) % DEEP + more,
        };
        self.out.extend(std::iter::repeat_n(' ', usize::try_from(amount).unwrap_or(0)));
        self.out.push_str(word);
        self.indent = (self.indent + after).max(0);
    }

    /// What is written meanwhile, as a text by itself.
    fn apart(&mut self, write: impl FnOnce(&mut Self) -> Option<()>) -> Option<String> {
        let around = std::mem::take(&mut self.out);
        let written = write(self);
        let own = std::mem::replace(&mut self.out, around);
        written.map(|()| own)
    }

    /// The characters of the last line.
    fn column(&self) -> usize {
        self.out.rsplit('\n').next().map_or(0, str::len)
    }

    /// A query within another one. `named`: the names of its columns are used.
    pub(super) fn inner(&mut self, query: &Query, named: bool) -> Option<()> {
        let names = self.names.take();
        let named_output = std::mem::replace(&mut self.named_output, named);
        let indent = self.indent;
        let done = self.query(query);
        self.indent = indent;
        self.named_output = named_output;
        self.names = names;
        done
    }

    /// The item that begins at a place.
    pub(super) fn named(&self, place: u32) -> Option<&Named> {
        self.levels.iter().rev().find_map(|level| level.find(place))
    }

    fn query(&mut self, query: &Query) -> Option<()> {
        verso_env::stack::check().ok()?;
        if let Body::Change(statement) = &query.body {
            return self.statement(statement);
        }
        let level = match &query.body {
            Body::Select(select) => Level::of(&select.from, &self.levels),
            Body::Values(rows, place) if self.renames(query) => {
                let selected = Query { body: selected(rows, *place), ..query.clone() };
                return self.query(&selected);
            }
            // ORDER BY names its columns.
            Body::Values(rows, place) if !query.order_by.is_empty() => {
                Level::of(&[rows_of(rows, *place)], &self.levels)
            }
            Body::Values(..) | Body::Set(..) | Body::Change(_) => Level::of(&[], &self.levels),
        };
        self.levels.push(level);
        let done = self.clauses(query);
        self.levels.pop();
        done
    }

    fn clauses(&mut self, query: &Query) -> Option<()> {
        self.with(query)?;
        let mut targets: &[Target] = &[];
        let mut numbers = false;
        match &query.body {
            Body::Select(select) => {
                self.select(select)?;
                targets = &select.targets;
            }
            Body::Values(rows, _) => {
                self.step_in();
                self.values(rows)?;
            }
            Body::Set(left, operator, all, right) => {
                self.set(left, *operator, *all, right)?;
                numbers = true;
            }
            Body::Change(_) => {}
        }
        if !query.order_by.is_empty() {
            self.keyword(" ORDER BY ", -STEP, STEP, 1);
            self.sorts(&query.order_by, numbers, targets)?;
        }
        if let Some(offset) = &query.offset {
            self.keyword(" OFFSET ", -STEP, STEP, 0);
            self.expr(offset, false)?;
        }
        if let Some(limit) = &query.limit {
            if query.ties {
                self.keyword(" FETCH FIRST ", -STEP, STEP, 0);
                self.out.push('(');
                self.expr(limit, false)?;
                self.out.push_str(") ROWS WITH TIES");
            } else {
                self.keyword(" LIMIT ", -STEP, STEP, 0);
                match limit {
                    Node::Const { text: None, .. } => self.out.push_str("ALL"),
                    limit => self.expr(limit, false)?,
                }
            }
        }
        for lock in &query.locks {
            for place in &lock.of {
                self.keyword(lock.words, -STEP, STEP, 0);
                let name = self.named(*place)?.name.clone()?;
                self.out.push_str(&format!(" OF {}{}", quote_ident(&name), lock.wait));
            }
        }
        Some(())
    }

    pub(super) fn with(&mut self, query: &Query) -> Option<()> {
        if query.with.is_empty() {
            return Some(());
        }
        self.step_in();
        for (n, cte) in query.with.iter().enumerate() {
            self.out.push_str(match (n, query.recursive) {
                (0, true) => "WITH RECURSIVE ",
                (0, false) => "WITH ",
                _ => ", ",
            });
            let Cte { name, columns, materialized, query, behind } = cte;
            self.out.push_str(&quote_ident(name));
            if !columns.is_empty() {
                self.out.push_str(&format!("({})", listed(columns)));
            }
            self.out.push_str(match materialized {
                None => " AS (",
                Some(true) => " AS MATERIALIZED (",
                Some(false) => " AS NOT MATERIALIZED (",
            });
            self.keyword("", 0, 0, 0);
            self.inner(query, true)?;
            self.keyword("", 0, 0, 0);
            self.out.push(')');
            self.out.push_str(behind);
        }
        self.keyword(if self.flat { " " } else { "" }, -STEP, 0, 0);
        Some(())
    }

    /// Whether the columns of VALUES have names that it does not give them.
    fn renames(&self, query: &Query) -> bool {
        let own = output_names(query);
        self.names.as_ref().is_some_and(|names| {
            names.len() != own.len() || names.iter().zip(&own).any(|(name, own)| **name != **own)
        })
    }

    fn values(&mut self, rows: &[Vec<Node>]) -> Option<()> {
        self.out.push_str("VALUES ");
        for (n, row) in rows.iter().enumerate() {
            self.out.push_str(if n > 0 { ", (" } else { "(" });
            self.list(row, ",", false)?;
            self.out.push(')');
        }
        Some(())
    }

    // ── UNION ────────────────────────────────────────────────────────────────────────────────────────────────────

    fn set(&mut self, left: &Side, operator: SetOperator, all: bool, right: &Side) -> Option<()> {
        verso_env::stack::check().ok()?;
        let mut step = 0;
        let parentheses =
            matches!(left, Side::Set(_, own, own_all, _) if (*own, *own_all) != (operator, all));
        if parentheses {
            self.out.push('(');
            step = STEP;
            self.keyword("", step, 0, 0);
        }
        self.side(left)?;
        let between = if self.flat { " " } else { "" };
        self.keyword(if parentheses { ") " } else { between }, -step, 0, 0);
        self.out.push_str(operator.as_str());
        self.out.push_str(if all { " ALL " } else { " " });
        let parentheses = matches!(right, Side::Set(..));
        step = if parentheses { STEP } else { 0 };
        if parentheses {
            self.out.push('(');
        }
        self.keyword("", step, 0, 0);
        let named = std::mem::replace(&mut self.named_output, false);
        self.side(right)?;
        self.named_output = named;
        self.indent -= step;
        if parentheses {
            self.keyword(")", 0, 0, 0);
        }
        Some(())
    }

    fn side(&mut self, side: &Side) -> Option<()> {
        match side {
            Side::Set(left, operator, all, right) => self.set(left, *operator, *all, right),
            Side::Leaf(query) => {
                let parentheses = !query.with.is_empty()
                    || !query.order_by.is_empty()
                    || !query.locks.is_empty()
                    || query.limit.is_some()
                    || query.offset.is_some()
                    || matches!(query.body, Body::Set(..));
                if parentheses {
                    self.out.push('(');
                }
                let indent = self.indent;
                self.query(query)?;
                self.indent = indent;
                if parentheses {
                    self.out.push(')');
                }
                Some(())
            }
        }
    }

    // ── SELECT ───────────────────────────────────────────────────────────────────────────────────────────────────

    fn select(&mut self, select: &Select) -> Option<()> {
        self.step_in();
        self.out.push_str("SELECT");
        if !select.distinct_on.is_empty() {
            self.out.push_str(" DISTINCT ON (");
            self.keys(&select.distinct_on, &select.targets)?;
            self.out.push(')');
        } else if select.distinct {
            self.out.push_str(" DISTINCT");
        }
        self.targets(&select.targets)?;
        self.from(&select.from)?;
        if let Some(filter) = &select.filter {
            self.keyword(" WHERE ", -STEP, STEP, 1);
            self.expr(filter, false)?;
        }
        if !select.group_by.is_empty() {
            self.keyword(" GROUP BY ", -STEP, STEP, 1);
            if select.group_distinct {
                self.out.push_str("DISTINCT ");
            }
            for (n, group) in select.group_by.iter().enumerate() {
                if n > 0 {
                    self.out.push_str(", ");
                }
                self.group(group, true)?;
            }
        }
        if let Some(having) = &select.having {
            self.keyword(" HAVING ", -STEP, STEP, 0);
            self.expr(having, false)?;
        }
        for (n, (name, window)) in select.windows.iter().enumerate() {
            if n == 0 {
                self.keyword(" WINDOW ", -STEP, STEP, 1);
            } else {
                self.out.push_str(", ");
            }
            self.out.push_str(&format!("{} AS ", quote_ident(name)));
            self.window(window)?;
        }
        Some(())
    }

    pub(super) fn targets(&mut self, targets: &[Target]) -> Option<()> {
        let mut several_lines = false;
        for (n, target) in targets.iter().enumerate() {
            self.out.push_str(if n == 0 { " " } else { ", " });
            let name = match &self.names {
                Some(names) => names.get(n).map_or_else(|| target.name.clone(), |name| name.to_string()),
                None => target.name.clone(),
            };
            let named = self.named_output;
            let text = self.apart(|printer| {
                let mut own = None;
                if let Node::Var { .. } = &target.node {
                    let shown = printer.variable(&target.node, false)?;
                    printer.out.push_str(&shown);
                    if let Some(ty) = &target.row {
                        printer.out.push_str(&format!("::{ty}"));
                    }
                    own = printer.column_name(&target.node);
                } else {
                    printer.expr(&target.node, true)?;
                    if !named {
                        own = Some("?column?".to_string());
                    }
                }
                if own.as_deref() != Some(&name) {
                    printer.out.push_str(&format!(" AS {}", quote_ident(&name)));
                }
                Some(())
            })?;
            if text.starts_with('\n') {
                self.out.truncate(self.out.trim_end_matches(' ').len());
            } else if n > 0 && (self.column() + text.len() > self.style.wrap || several_lines) {
                self.keyword("", -STEP, STEP, WRAP_STEP);
            }
            several_lines = text.trim_start_matches('\n').contains('\n');
            self.out.push_str(&text);
        }
        Some(())
    }

    /// The name of a column by itself; none of a whole row.
    fn column_name(&self, node: &Node) -> Option<String> {
        let Node::Var { source, .. } = node else { return None };
        match source {
            Source::Merged(name) => Some(name.to_string()),
            Source::Number(_, name) => Some((*name).to_string()),
            Source::Row(_) | Source::Variable(_) | Source::Fields(..) => None,
            Source::Column(place, number) => self.named(*place)?.columns.get(*number).cloned(),
        }
    }

    fn group(&mut self, group: &Group, outermost: bool) -> Option<()> {
        verso_env::stack::check().ok()?;
        let (words, lists) = match group {
            Group::Key(key) => return self.key(key, &[]),
            Group::Set(keys) => {
                let bare = keys.len() == 1;
                if !bare || outermost {
                    self.out.push('(');
                }
                self.keys(keys, &[])?;
                if !bare || outermost {
                    self.out.push(')');
                }
                return Some(());
            }
            Group::Sets(items) => {
                self.out.push_str("GROUPING SETS (");
                for (n, item) in items.iter().enumerate() {
                    if n > 0 {
                        self.out.push_str(", ");
                    }
                    match item {
                        Group::Key(key) => {
                            self.out.push('(');
                            self.key(key, &[])?;
                            self.out.push(')');
                        }
                        item => self.group(item, true)?,
                    }
                }
                self.out.push(')');
                return Some(());
            }
            Group::Rollup(lists) => ("ROLLUP(", lists),
            Group::Cube(lists) => ("CUBE(", lists),
        };
        self.out.push_str(words);
        for (n, list) in lists.iter().enumerate() {
            if n > 0 {
                self.out.push_str(", ");
            }
            let several = list.len() != 1;
            if several {
                self.out.push('(');
            }
            self.keys(list, &[])?;
            if several {
                self.out.push(')');
            }
        }
        self.out.push(')');
        Some(())
    }

    fn keys(&mut self, keys: &[SortKey], targets: &[Target]) -> Option<()> {
        for (n, key) in keys.iter().enumerate() {
            if n > 0 {
                self.out.push_str(", ");
            }
            self.key(key, targets)?;
        }
        Some(())
    }

    fn key(&mut self, key: &SortKey, targets: &[Target]) -> Option<()> {
        self.sort_key(&key.node, None, targets)
    }

    /// An expression to sort or group by. `targets`: the output, whose names would be meant before those of columns.
    pub(super) fn sort_key(&mut self, node: &Node, number: Option<usize>, targets: &[Target]) -> Option<()> {
        if let Some(number) = number {
            self.out.push_str(&format!("{}", number + 1));
            return Some(());
        }
        match node {
            Node::Const { text, ty } => {
                let text = constant(text.as_deref(), ty, Label::Always);
                self.out.push_str(&text);
            }
            Node::Var { .. } => {
                let own = self.column_name(node);
                let misread = targets
                    .iter()
                    .any(|target| own.as_deref() == Some(target.name.as_str()) && target.node != *node);
                let name = self.variable(node, misread)?;
                self.out.push_str(&name);
            }
            node => {
                let parentheses = self.style.pretty
                    || matches!(
                        node,
                        Node::Func { .. }
                            | Node::Sql(..)
                            | Node::Aggregate(_)
                            | Node::Cast { function: true, .. }
                    );
                if parentheses {
                    self.out.push('(');
                }
                self.expr(node, true)?;
                if parentheses {
                    self.out.push(')');
                }
            }
        }
        Some(())
    }

    /// ORDER BY; `numbers`: columns of the output by their numbers.
    pub(super) fn sorts(&mut self, sorts: &[Sort], numbers: bool, targets: &[Target]) -> Option<()> {
        for (n, sort) in sorts.iter().enumerate() {
            if n > 0 {
                self.out.push_str(", ");
            }
            let number = if numbers { Some(sort.key.target?) } else { None };
            self.sort_key(&sort.key.node, number, targets)?;
            if let Some(op) = &sort.using {
                self.out.push_str(&format!(" USING {op}"));
                self.out.push_str(if sort.nulls_first { " NULLS FIRST" } else { " NULLS LAST" });
                continue;
            }
            self.out.push_str(match (sort.descending, sort.nulls_first) {
                (false, false) => "",
                (false, true) => " NULLS FIRST",
                (true, true) => " DESC",
                (true, false) => " DESC NULLS LAST",
            });
        }
        Some(())
    }

    // ── FROM ─────────────────────────────────────────────────────────────────────────────────────────────────────

    fn from(&mut self, items: &[Item]) -> Option<()> {
        self.items(" FROM ", items)
    }

    /// What is read, behind a word.
    pub(super) fn items(&mut self, word: &str, items: &[Item]) -> Option<()> {
        for (n, item) in items.iter().enumerate() {
            if n == 0 {
                self.keyword(word, -STEP, STEP, 2);
                self.item(item)?;
                continue;
            }
            self.out.push_str(", ");
            let text = self.apart(|printer| printer.item(item))?;
            if text.starts_with('\n') {
                self.out.truncate(self.out.trim_end_matches(' ').len());
            } else if self.column() + text.len() > self.style.wrap {
                self.keyword("", -STEP, STEP, WRAP_STEP);
            }
            self.out.push_str(&text);
        }
        Some(())
    }

    fn item(&mut self, item: &Item) -> Option<()> {
        verso_env::stack::check().ok()?;
        if let ItemKind::Join(join) = &item.kind {
            return self.join(item, join);
        }
        if item.lateral {
            self.out.push_str("LATERAL ");
        }
        let mut defined = None;
        let mut always = item.alias.is_some() || item.shows_columns;
        match &item.kind {
            ItemKind::Relation(name) => self.out.push_str(name),
            ItemKind::Cte(name) => self.out.push_str(&quote_ident(name)),
            ItemKind::Query(query) => {
                always = true;
                self.out.push('(');
                self.inner(query, true)?;
                self.out.push(')');
            }
            ItemKind::Values(rows) => {
                always = true;
                self.out.push('(');
                self.values(rows)?;
                self.out.push(')');
            }
            ItemKind::Functions(functions, ordinality) => {
                always = true;
                match functions.as_slice() {
                    [(call, columns)] if columns.is_empty() || !ordinality => {
                        self.expr(call, true)?;
                        defined = Some(columns).filter(|columns| !columns.is_empty());
                    }
                    functions => {
                        self.out.push_str("ROWS FROM(");
                        for (n, (call, columns)) in functions.iter().enumerate() {
                            if n > 0 {
                                self.out.push_str(", ");
                            }
                            self.expr(call, true)?;
                            if !columns.is_empty() {
                                self.out.push_str(" AS ");
                                self.definitions(columns);
                            }
                        }
                        self.out.push(')');
                    }
                }
                if *ordinality {
                    self.out.push_str(" WITH ORDINALITY");
                }
            }
            ItemKind::Written(parts) => {
                always = true;
                self.written(parts)?;
            }
            ItemKind::Join(_) => return None,
        }
        if let Some(past) = &item.past {
            self.out.push_str(past);
        }
        let name = self.named(item.place)?.name.clone();
        if let Some(name) = &name
            && (always || item.own.as_ref() != Some(name))
        {
            self.out.push_str(&format!(" {}", quote_ident(name)));
        }
        match defined {
            Some(columns) => self.definitions(columns),
            None => self.column_aliases(item),
        }
        if let Some((method, args, seed)) = &item.sample {
            self.out.push_str(&format!(" TABLESAMPLE {method} ("));
            self.list(args, ", ", false)?;
            self.out.push(')');
            if let Some(seed) = seed {
                self.out.push_str(" REPEATABLE (");
                self.expr(seed, false)?;
                self.out.push(')');
            }
        }
        Some(())
    }

    /// The columns that a query defines for a function.
    fn definitions(&mut self, columns: &[(String, verso_types::SqlType)]) {
        let one = |(name, ty): &(String, verso_types::SqlType)| format!("{} {ty}", quote_ident(name));
        let all = columns.iter().map(one).collect::<Vec<_>>().join(", ");
        self.out.push_str(&format!("({all})"));
    }

    fn join(&mut self, item: &Item, join: &Join) -> Option<()> {
        let around = !self.style.pretty || item.alias.is_some();
        if around {
            self.out.push('(');
        }
        self.item(&join.left)?;
        let conditional = join.on.is_some() || !join.using.is_empty();
        let words = match join.kind {
            JoinKind::Inner if conditional => " JOIN ",
            JoinKind::Inner => " CROSS JOIN ",
            JoinKind::Left => " LEFT JOIN ",
            JoinKind::Right => " RIGHT JOIN ",
            JoinKind::Full => " FULL JOIN ",
        };
        self.keyword(words, -STEP, STEP, JOIN_STEP);
        let nested = matches!(join.right.kind, ItemKind::Join(_)) && join.right.alias.is_none();
        let right = self.style.pretty && nested;
        if right {
            self.out.push('(');
        }
        self.item(&join.right)?;
        if right {
            self.out.push(')');
        }
        if !join.using.is_empty() {
            self.out.push_str(&format!(" USING ({})", listed(&join.using)));
            if let Some(alias) = &join.using_alias {
                self.out.push_str(&format!(" AS {}", quote_ident(alias)));
            }
        } else if let Some(on) = &join.on {
            self.out.push_str(if self.style.pretty { " ON " } else { " ON (" });
            self.expr(on, false)?;
            if !self.style.pretty {
                self.out.push(')');
            }
        } else if join.kind != JoinKind::Inner {
            self.out.push_str(" ON TRUE");
        }
        if around {
            self.out.push(')');
        }
        if item.alias.is_some() {
            let name = self.named(item.place)?.name.clone()?;
            self.out.push_str(&format!(" {}", quote_ident(&name)));
            self.column_aliases(item);
        }
        Some(())
    }

    fn column_aliases(&mut self, item: &Item) {
        if item.shows_columns && !item.today.is_empty() {
            let names: Vec<String> = item.today.iter().map(|(name, _)| name.clone()).collect();
            self.out.push_str(&format!("({})", listed(&names)));
        }
    }
}

/// Names beside each other.
pub(super) fn listed(names: &[String]) -> String {
    names.iter().map(|name| quote_ident(name)).collect::<Vec<_>>().join(", ")
}
