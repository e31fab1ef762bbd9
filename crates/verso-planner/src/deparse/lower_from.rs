//! FROM: from syntax and trace to the tree, with the names that tables and functions have today.

use std::collections::HashSet;

use verso_catalog::{Oid, Relation};
use verso_exec::functions::quote_ident;
use verso_parser::syntax::{self, Call, FromItem, FromSource, JoinCondition, JoinKind, QualifiedName, Span};
use verso_types::SqlType;

use super::lower::Lowering;
use super::node::{Body, Item, ItemKind, Join, Node, Query, Written};
use crate::bind::{came_later, is_hidden, place_of};

/// Names and places of the items that a FROM names, joins taken apart.
pub(super) fn leaves(item: &FromItem, leaves_of: &mut Vec<(String, u32)>) {
    if let FromSource::Join(join) = &item.source {
        leaves(&join.left, leaves_of);
        leaves(&join.right, leaves_of);
        return;
    }
    let own = match &item.source {
        FromSource::Table(name) => name.name.text.as_str(),
        _ => "",
    };
    let name = item.alias.as_ref().map_or(own, |alias| alias.text.as_str());
    leaves_of.push((name.to_string(), place_of(item)));
}

/// Where the text of an item begins.
fn start_of(item: &FromItem) -> u32 {
    match &item.source {
        FromSource::Join(join) => start_of(&join.left),
        _ => place_of(item),
    }
}

impl Lowering<'_> {
    /// The items of FROM; those with commas between them stand beside each other.
    pub(super) fn from(&mut self, item: &FromItem) -> Option<Vec<Item>> {
        let mut later = Vec::new();
        let mut first = item;
        while let FromSource::Join(join) = &first.source
            && first.alias.is_none()
            && join.kind == JoinKind::Inner
            && join.condition == JoinCondition::None
            && self.behind_comma(start_of(&join.right))
        {
            later.push(&join.right);
            first = &join.left;
        }
        let mut items = vec![self.item(first)?];
        for item in later.into_iter().rev() {
            items.push(self.item(item)?);
        }
        Some(items)
    }

    /// Whether a comma stands before the item that begins there.
    fn behind_comma(&self, place: u32) -> bool {
        let before = self.between(0, place);
        let mut before = before.trim_end_matches(|c: char| c.is_whitespace() || c == '(');
        for word in ["lateral", "only"] {
            if let Some(start) = before.len().checked_sub(word.len())
                && before.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(word))
            {
                before = before[..start].trim_end_matches(|c: char| c.is_whitespace() || c == '(');
            }
        }
        before.ends_with(',')
    }

    fn item(&mut self, item: &FromItem) -> Option<Item> {
        verso_env::stack::check().ok()?;
        // What has an alias hides the names of what is in it.
        let merged = match &item.source {
            FromSource::Join(_) if item.alias.is_none() => Vec::new(),
            _ => std::mem::take(&mut self.merged),
        };
        let lowered = self.item_within(item, &merged);
        if !matches!(&item.source, FromSource::Join(_) if item.alias.is_none()) {
            self.merged = merged;
        }
        lowered
    }

    /// The same where the joins around put columns of these names together.
    fn item_within(&mut self, item: &FromItem, merged: &[String]) -> Option<Item> {
        let place = place_of(item);
        let (mut columns, later): (Vec<String>, Vec<bool>) = match &item.source {
            FromSource::Join(_) if item.alias.is_none() => Default::default(),
            _ => {
                let known = self.trace.columns_of(place)?;
                let name = |name: &str| match came_later(name) {
                    Some(own) => Some((own.to_string(), true)),
                    None => (!is_hidden(name)).then(|| (name.to_string(), false)),
                };
                known.iter().map_while(|(column, _)| name(column)).unzip()
            }
        };
        let aliased = self.trace.aliased_of(place);
        let mut own = None;
        let mut today = Vec::new();
        let mut shows_columns = !item.columns.is_empty();
        let kind = match &item.source {
            FromSource::Table(name) => {
                if name.schema.is_none() && self.ctes.contains(&name.name.text) {
                    own = Some(name.name.text.clone());
                    ItemKind::Cte(name.name.text.clone())
                } else {
                    let (shown, bare, now) = self.relation(name)?;
                    let real = match now {
                        None => columns.clone(),
                        // Of the columns of today each has its own name.
                        Some(now) => {
                            let mut now = now.into_iter();
                            let own = columns.iter().zip(&later);
                            let real =
                                own.map(|(own, later)| if *later { Some(own.clone()) } else { now.next() });
                            real.collect::<Option<Vec<_>>>()?
                        }
                    };
                    for (n, column) in columns.iter_mut().enumerate() {
                        // what no alias names has the name of today
                        if !later[n] && !aliased.contains(&n) && !merged.contains(column) {
                            column.clone_from(&real[n]);
                        }
                    }
                    tell_apart(&mut columns, &later, merged);
                    shows_columns = columns != real;
                    own = Some(bare);
                    ItemKind::Relation(shown)
                }
            }
            FromSource::Query(query, _) => {
                own = Some("unnamed_subquery".to_string());
                let query = self.query(query)?;
                ItemKind::Query(Box::new(query))
            }
            FromSource::Function(call, _) => {
                own = Some(call.name.name.text.clone());
                shows_columns = true;
                tell_apart(&mut columns, &later, merged);
                let function = self.function(call, &item.definitions)?;
                ItemKind::Functions(vec![function], item.ordinality)
            }
            FromSource::Rows(calls, _) => {
                own = calls.first().map(|(call, _)| call.name.name.text.clone());
                shows_columns = true;
                tell_apart(&mut columns, &later, merged);
                let functions: Option<Vec<_>> =
                    calls.iter().map(|(call, columns)| self.function(call, columns)).collect();
                ItemKind::Functions(functions?, item.ordinality)
            }
            FromSource::JsonTable(table) => {
                own = Some("json_table".to_string());
                ItemKind::Written(self.json_table(table, place)?)
            }
            FromSource::Join(join) => {
                let join = self.join(join)?;
                let natural = join.today();
                today = match item.alias {
                    None => natural,
                    Some(_) => {
                        let named = names_of_join(&mut columns, item.columns.len(), &natural)?;
                        shows_columns |= named != natural;
                        named
                    }
                };
                ItemKind::Join(Box::new(join))
            }
        };
        if !matches!(kind, ItemKind::Join(_)) {
            today = columns.iter().cloned().zip(later).collect();
        }
        let sample = match &item.sample {
            None => None,
            Some(sample) => {
                let method = quote_ident(&sample.method.name.text);
                let real = SqlType::Float4;
                let args: Option<Vec<Node>> = sample.args.iter().map(|arg| self.typed(arg, &real)).collect();
                let seed = match &sample.seed {
                    Some(seed) => Some(self.typed(seed, &SqlType::Float8)?),
                    None => None,
                };
                Some((method, args?, seed))
            }
        };
        Some(Item {
            place,
            kind,
            alias: item.alias.as_ref().map(|alias| alias.text.clone()),
            own,
            columns,
            today,
            shows_columns,
            lateral: item.lateral && matches!(item.source, FromSource::Query(..)) || self.is_lateral(item),
            sample,
            past: item.past.as_ref().map(|past| self.past(past)),
        })
    }

    /// AS OF, which is not PostgreSQL's, as it was written.
    fn past(&self, past: &syntax::Past) -> String {
        let word = if past.numbered { "SNAPSHOT" } else { "TIMESTAMP" };
        format!(" AS OF {word} {}", self.named(&past.text))
    }

    /// JSON_TABLE as it was written, but for what it reads.
    fn json_table(&mut self, table: &syntax::JsonTable, place: u32) -> Option<Written> {
        let end = self.closing(place)?;
        let mut read = vec![&table.document.value];
        read.extend(table.passing.iter().map(|(input, _)| &input.value));
        let on_error = table.on_error.iter().any(|(fallback, _)| !is_plain(fallback));
        if on_error || !are_plain(&table.rows)? {
            return None;
        }
        self.written(Span { start: place, end }, &read)
    }

    /// Where the parenthesis behind a word that begins there is closed.
    fn closing(&self, place: u32) -> Option<u32> {
        let (mut depth, mut quote) = (0, None);
        for (at, c) in self.text.iter().enumerate().skip(place as usize) {
            match (quote, *c) {
                (Some(open), c) if c == open => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(*c),
                (None, '(') => depth += 1,
                (None, ')') if depth <= 1 => return u32::try_from(at + 1).ok(),
                (None, ')') => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// LATERAL is shown where it was written.
    fn is_lateral(&self, item: &FromItem) -> bool {
        item.lateral && !matches!(item.source, FromSource::Join(_))
    }

    /// A relation as it is to be shown, its bare name, and the names that its columns have today.
    fn relation(&self, name: &QualifiedName) -> Option<(String, String, Option<Vec<String>>)> {
        let place = name.at().start;
        let Some(noted) = self.binder.stored_relation(place) else {
            let bare = name.name.text.clone();
            // a relation of a text that the catalog keeps with its schema
            let found =
                name.schema_text().and_then(|schema| self.binder.catalog.relation(Some(schema), &bare));
            if let Some(found) = found.filter(|found| !found.oid().is_system()) {
                let shown = self.relation_name(found.oid(), found.schema(), &bare);
                return Some((shown, bare, None));
            }
            // a system view
            let shown = match name.schema_text() {
                None | Some("pg_catalog") => quote_ident(&bare),
                Some(schema) => format!("{}.{}", quote_ident(schema), quote_ident(&bare)),
            };
            return Some((shown, bare, None));
        };
        let now = self.binder.catalog.relation_by_oid(noted.relation)?.clone();
        let columns: &[verso_catalog::ColumnDef] = match &now {
            Relation::Table(table) => &table.columns,
            Relation::View(view) => &view.columns,
            Relation::Sequence(_) | Relation::Index(_) => &[],
        };
        // Those that have gone since have no name.
        let now_of = |id: u16| columns.iter().find(|column| column.id == id);
        let names = noted.columns.iter().filter_map(|then| now_of(then.id));
        let names: Vec<String> = names.map(|column| column.name.to_string()).collect();
        // Those of a sequence are the same for ever.
        let names = (!matches!(now, Relation::Sequence(_))).then_some(names);
        let mut shown = self.relation_name(noted.relation, now.schema(), now.name());
        if self.ctes.iter().any(|cte| *cte == **now.name()) && !shown.contains('.') {
            shown = format!("{}.{shown}", quote_ident(now.schema()));
        }
        Some((shown, now.name().to_string(), names))
    }

    /// With its schema, where the path does not lead to it.
    pub(super) fn relation_name(&self, oid: Oid, schema: &str, name: &str) -> String {
        let catalog = self.binder.catalog;
        let visible = catalog.system_view(None, name).is_none()
            && catalog.relation(None, name).is_some_and(|found| found.oid() == oid);
        match visible {
            true => quote_ident(name),
            false => format!("{}.{}", quote_ident(schema), quote_ident(name)),
        }
    }

    /// The same for a function of users.
    pub(super) fn function_name(&self, schema: &str, name: &str) -> String {
        let catalog = self.binder.catalog;
        let visible = catalog.functions(None, name).iter().any(|function| *function.schema == *schema);
        match visible {
            true => quote_ident(name),
            false => format!("{}.{}", quote_ident(schema), quote_ident(name)),
        }
    }

    fn function(
        &mut self,
        call: &Call,
        definitions: &[(syntax::Name, SqlType)],
    ) -> Option<(Node, Vec<(String, SqlType)>)> {
        if call.args.len() > 1 && call.name.schema.is_none() && call.name.name.text == "unnest" {
            return Some((super::lower::call("UNNEST", self.exprs(&call.args)?), Vec::new()));
        }
        if let ([form], true) = (call.args.as_slice(), call.form) {
            // A cast keeps its words.
            let is_cast = matches!(form.kind, syntax::ExprKind::Cast { .. });
            return if is_cast { None } else { Some((self.expr(form)?, Vec::new())) };
        }
        let whole = syntax::Expr {
            kind: syntax::ExprKind::Call(Box::new(call.clone())),
            at: call.name.at(),
            point: call.name.at().start,
        };
        let node = self.call(call, &whole)?;
        let mut columns = Vec::new();
        for (name, ty) in definitions {
            columns.push((name.text.clone(), self.binder.type_in_text(ty).ok()?));
        }
        Some((node, columns))
    }

    fn join(&mut self, join: &syntax::Join) -> Option<Join> {
        let using: Vec<String> = match &join.condition {
            JoinCondition::Using(names, _) => names.iter().map(|name| name.text.clone()).collect(),
            JoinCondition::Natural => {
                let theirs = self.names_then(&join.right)?;
                let ours = self.names_then(&join.left)?;
                ours.into_iter().filter(|name| theirs.contains(name)).collect()
            }
            JoinCondition::None | JoinCondition::On(_) => Vec::new(),
        };
        let known = self.merged.len();
        self.merged.extend(using.iter().cloned());
        let sides = (self.item(&join.left), self.item(&join.right));
        self.merged.truncate(known);
        let (left, right) = (sides.0?, sides.1?);
        let mut using_alias = None;
        let mut on = None;
        match &join.condition {
            JoinCondition::None | JoinCondition::Natural => {}
            JoinCondition::On(condition) => on = self.condition(Some(condition))?,
            JoinCondition::Using(_, alias) => {
                using_alias = alias.as_ref().map(|alias| alias.text.clone());
            }
        }
        Some(Join { left, right, kind: join.kind, on, using, using_alias })
    }

    /// The names of the columns that come out of an item, as they were when its text was made.
    fn names_then(&self, item: &FromItem) -> Option<Vec<String>> {
        verso_env::stack::check().ok()?;
        match &item.source {
            FromSource::Join(join) if item.alias.is_none() => {
                let mut names = self.names_then(&join.left)?;
                let more = self.names_then(&join.right)?;
                let is_merged = |name: &String| match &join.condition {
                    JoinCondition::Using(merged, _) => merged.iter().any(|merged| merged.text == *name),
                    JoinCondition::Natural => names.contains(name),
                    JoinCondition::None | JoinCondition::On(_) => false,
                };
                let more: Vec<String> = more.into_iter().filter(|name| !is_merged(name)).collect();
                names.extend(more);
                Some(names)
            }
            _ => {
                let known = self.trace.columns_of(place_of(item))?;
                let names = known.into_iter().map(|(name, _)| name.to_string());
                Some(names.filter(|name| !is_hidden(name)).collect())
            }
        }
    }
}

/// Names the columns of a join that has an alias, as PostgreSQL does: those that the text can mean have the names of its list, the
/// first `aliased`, or else the `natural` ones of today; then come those that came later. No name is given twice.
fn names_of_join(
    columns: &mut [String],
    aliased: usize,
    natural: &[(String, bool)],
) -> Option<Vec<(String, bool)>> {
    let then = natural.iter().filter(|(_, later)| !later);
    if then.clone().count() != columns.len() {
        return None;
    }
    let mut taken = HashSet::new();
    let mut unique = |given: &str| {
        let mut name = given.to_string();
        let mut number = 0;
        while !taken.insert(name.clone()) {
            number += 1;
            name = format!("{given}_{number}");
        }
        name
    };
    for (n, (name, (own, _))) in columns.iter_mut().zip(then).enumerate() {
        *name = unique(if n < aliased { name } else { own });
    }
    let mut then = columns.iter();
    let named = natural.iter().map(|(own, later)| match later {
        true => Some((unique(own), true)),
        false => then.next().map(|name| (name.clone(), false)),
    });
    named.collect()
}

/// Whether the values in place of others are literals, which mean the same today.
fn are_plain(rows: &syntax::JsonRows) -> Option<bool> {
    verso_env::stack::check().ok()?;
    for column in &rows.columns {
        let plain = match column {
            syntax::JsonColumn::Ordinality(_) => true,
            syntax::JsonColumn::Regular { result, .. } => {
                result.on_empty.iter().chain(&result.on_error).all(|(fallback, _)| is_plain(fallback))
            }
            syntax::JsonColumn::Nested(rows) => are_plain(rows)?,
        };
        if !plain {
            return Some(false);
        }
    }
    Some(true)
}

fn is_plain(fallback: &syntax::JsonFallback) -> bool {
    !matches!(fallback, syntax::JsonFallback::Default(expr) if !matches!(expr.kind, syntax::ExprKind::Literal(_)))
}

/// Gives the columns of an item names that differ from each other and from those of the columns that joins around put together, as
/// PostgreSQL does: a column that came later may be called as another one is in the text.
fn tell_apart(columns: &mut [String], later: &[bool], merged: &[String]) {
    let mut taken: HashSet<String> = merged.iter().cloned().collect();
    let mut unmerged: HashSet<&str> = merged.iter().map(String::as_str).collect();
    for (column, later) in columns.iter_mut().zip(later) {
        // The first of that name is the one that is put together.
        if !*later && unmerged.remove(column.as_str()) {
            continue;
        }
        let given = column.clone();
        let mut number = 0;
        while !taken.insert(column.clone()) {
            number += 1;
            *column = format!("{given}_{number}");
        }
    }
}

/// The names of the columns of a query's output.
pub(super) fn output_names(query: &Query) -> Vec<String> {
    let mut body = &query.body;
    loop {
        let side = match body {
            Body::Select(select) => return select.targets.iter().map(|target| target.name.clone()).collect(),
            Body::Values(rows, _) => {
                return (1..=rows.first().map_or(0, Vec::len)).map(|n| format!("column{n}")).collect();
            }
            Body::Set(left, ..) => left,
            Body::Change(change) => {
                return change.targets().iter().map(|target| target.name.clone()).collect();
            }
        };
        let mut side = side;
        while let super::node::Side::Set(left, ..) = &**side {
            side = left;
        }
        match &**side {
            super::node::Side::Leaf(query) => body = &query.body,
            super::node::Side::Set(..) => return Vec::new(),
        }
    }
}
