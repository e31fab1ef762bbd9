//! Texts that the catalog keeps, such as defaults: what names in them mean does not depend on who uses them.
//!
//! T1. A kept text names what users have made by number ([`verso_catalog::kept`]), as it was found when the text was made
//!     ([`Binder::kept_text`]): neither another name nor another search path changes what it means. Texts of earlier releases mean
//!     what they mean along the path `pg_catalog, public`.
//!     What its literals of moments mean is settled then, too ([`super::literals`]).
//! T2. A sequence that a text of an earlier release names is looked up when the text is bound, and named by its number from then
//!     on: the path of the session that evaluates it finds another one, or none.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use verso_catalog::{
    CatalogSnapshot, ColumnDef, Oid, SequenceDef, TableDef, TriggerDef, TypeDef, WantedPath, kept, path_at,
};
use verso_exec::functions::of_sequence;
use verso_exec::plan::{ExprKind as K, TypedExpr};
use verso_types::{SqlType, SystemType, Value};

use super::Binder;
use super::context::{Clause, Context};
use super::literals::{Literals, settled};
use super::scope::Scope;
use super::table_number::with_own_number;
use super::trace::Trace;
use super::trigger::record_names;
use crate::errors::SqlError;
use verso_parser::syntax::{Expr, Span};

/// What a trigger calls the old row and the new one.
pub(crate) type RecordNames = (Arc<str>, Arc<str>);

/// What names of a text mean, each by its first character in the statement.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Functions, types, collations and relations.
    names: RefCell<BTreeMap<u32, Oid>>,
    /// Fields of rows, by the numbers of their types.
    fields: RefCell<BTreeMap<u32, (Oid, u16)>>,
    /// Fields of the types of which rows are made.
    made: RefCell<BTreeMap<u32, Vec<u16>>>,
    /// Constraints of tables.
    constraints: RefCell<BTreeMap<u32, Oid>>,
    /// Operators that users have made, by their symbols.
    operators: RefCell<BTreeMap<u32, Oid>>,
    /// Operators' symbols, with all of the expression and its operands.
    operands: RefCell<BTreeMap<u32, Vec<Span>>>,
    /// Names of the table in front of its columns, up to the column: another name of the table changes nothing then.
    qualifiers: RefCell<BTreeMap<u32, u32>>,
    /// `t.*` in a list, up to its end, and the columns that it stands for.
    stars: RefCell<BTreeMap<u32, (u32, String)>>,
    /// The star of `(row).*` in a list: where the row begins, and the fields that it stands for.
    field_stars: RefCell<BTreeMap<u32, (u32, Vec<String>)>>,
    /// Functions that are called like fields of a row, by their names: where the row begins, and whether it is one of a FROM
    /// item or a variable that is named without a star. They are kept as calls.
    row_calls: RefCell<BTreeMap<u32, (u32, bool)>>,
    /// Literals of moments, and of users' objects.
    literals: Literals,
    /// The functions of users' casts, which stand nowhere in the text.
    casts: RefCell<BTreeSet<Oid>>,
}

impl Notes {
    /// Where literals are noted.
    pub(super) fn literals(&self) -> &Literals {
        &self.literals
    }

    /// A name means this object.
    pub(super) fn name(&self, at: u32, oid: Oid) {
        if !oid.is_system() {
            self.names.borrow_mut().insert(at, oid);
        }
    }

    /// A name means this type: one of users, or one that came with an extension, which has a schema as theirs do.
    pub(super) fn user_type(&self, at: u32, ty: &TypeDef, number: Oid) {
        if ty.is_of_extension() || !number.is_system() {
            self.names.borrow_mut().insert(at, number);
        }
    }

    /// A column's name begins with that of its table, up to there.
    pub(super) fn qualifier(&self, at: u32, end: u32) {
        self.qualifiers.borrow_mut().insert(at, end);
    }

    /// `t.*`, which begins and ends there, stands for these columns.
    pub(super) fn star(&self, at: u32, end: u32, columns: &[String]) {
        self.stars.borrow_mut().insert(at, (end, columns.join(", ")));
    }

    /// The star at a place stands for these fields of the row that begins there.
    pub(super) fn field_star(&self, at: u32, row: u32, fields: Vec<String>) {
        self.field_stars.borrow_mut().insert(at, (row, fields));
    }

    /// A name means a field of the rows of that type.
    pub(super) fn field(&self, at: u32, of: Oid, field: u16) {
        self.fields.borrow_mut().insert(at, (of, field));
    }

    /// The name at a place is a function's that is called with the row in front of it, which begins there.
    pub(super) fn row_call(&self, at: u32, row: u32, lacks_star: bool) {
        self.row_calls.borrow_mut().insert(at, (row, lacks_star));
    }

    /// A name means a constraint of a table.
    pub(super) fn constraint(&self, at: u32, oid: Oid) {
        self.constraints.borrow_mut().insert(at, oid);
    }

    /// A row with these fields is made of the type that is named there.
    pub(super) fn made(&self, at: u32, fields: Vec<u16>) {
        self.made.borrow_mut().insert(at, fields);
    }

    /// An operator's symbol means one that users have made.
    pub(super) fn operator(&self, at: u32, oid: Oid) {
        self.operators.borrow_mut().insert(at, oid);
    }

    /// A value becomes another one by a cast of users, which calls this function.
    pub(super) fn cast(&self, function: Oid) {
        self.casts.borrow_mut().insert(function);
    }

    /// The operator with its symbol there has these operands.
    pub(super) fn operands(&self, at: u32, whole: Span, sides: &[Span]) {
        let spans = [whole].iter().chain(sides).copied().collect();
        self.operands.borrow_mut().insert(at, spans);
    }

    /// The text, which begins at a character of the statement, with numbers in place of names (T1).
    fn numbered(self, text: &str, start: u32) -> String {
        let casts = self.casts.take();
        let chars: Vec<char> = text.chars().collect();
        kept::with_casts(&settled(&chars, &self.edits(&chars, start)).0, &casts)
    }

    /// What is to stand in the text, which begins at a character of the statement, in place of names, operators and literals; in
    /// order. Parentheses around an operator's operands replace nothing.
    pub(super) fn edits(self, text: &[char], start: u32) -> Vec<(Range<usize>, String)> {
        let at = |place: u32| place.checked_sub(start).map(|at| at as usize).filter(|at| *at < text.len());
        // What is put in at a place, closing parentheses first, and how much goes for it.
        let mut edits: BTreeMap<usize, Edit> = BTreeMap::new();
        let made = self.made.into_inner();
        let names = self.names.into_inner();
        for (place, (row, lacks_star)) in self.row_calls.into_inner() {
            let (Some(name_at), Some(row)) = (at(place), at(row)) else { continue };
            let Some(dot) = dot_before(text, name_at) else { continue };
            let (end, name) = verso_catalog::identifier(text, name_at);
            let number = names.get(&place).map(|oid| kept::numbered(*oid)).unwrap_or_default();
            let around = &mut edits.entry(row).or_default().before;
            around.insert_str(0, &format!("{number}{}(", verso_parser::quoted(&name)));
            let rest = if lacks_star { ".*)" } else { ")" };
            edits.entry(dot).or_default().replace(end - dot, rest.into());
        }
        for (place, oid) in names {
            let fields = made.get(&place);
            let Some(place) = at(place) else { continue };
            let (end, name) = path_at(text, place);
            let number = fields.map_or_else(|| kept::numbered(oid), |fields| kept::numbered_row(oid, fields));
            let named = format!("{number}{}", verso_parser::quoted(&name));
            edits.entry(place).or_default().replace(end - place, named);
        }
        for (place, (of, field)) in self.fields.into_inner() {
            let Some(place) = at(place) else { continue };
            let (end, name) = verso_catalog::identifier(text, place);
            let named = kept::numbered_field(of, field, &name);
            edits.entry(place).or_default().replace(end - place, named);
        }
        for (place, oid) in self.constraints.into_inner() {
            let Some(place) = at(place) else { continue };
            let (end, name) = verso_catalog::identifier(text, place);
            edits.entry(place).or_default().replace(end - place, kept::numbered_constraint(oid, &name));
        }
        for (place, end) in self.qualifiers.into_inner() {
            if let Some(place) = at(place) {
                edits.entry(place).or_default().replace((end - start) as usize - place, String::new());
            }
        }
        for (place, (end, columns)) in self.stars.into_inner() {
            if let Some(place) = at(place) {
                edits.entry(place).or_default().replace((end - start) as usize - place, columns);
            }
        }
        for (place, meant) in self.literals.edits(text, start) {
            edits.entry(place.start).or_default().replace(place.len(), meant);
        }
        let operands = self.operands.into_inner();
        for (place, oid) in self.operators.into_inner() {
            let Some(symbol) = at(place) else { continue };
            let Some((old, symbol_text)) = symbol_at(text, symbol) else { continue };
            let named = format!("OPERATOR({}{symbol_text})", kept::numbered(oid));
            if old > symbol_text.len() {
                edits.entry(symbol).or_default().replace(old, named);
                continue;
            }
            edits.entry(symbol).or_default().replace(old, format!(" {named} "));
            // Those that are written so bind alike, whatever their symbols do.
            for span in operands.get(&place).into_iter().flatten() {
                if let (Some(from), true) = (at(span.start), span.end > span.start) {
                    edits.entry(from).or_default().opened += 1;
                    edits.entry((span.end - start) as usize).or_default().closed += 1;
                }
            }
        }
        let (mut all, mut next) = (Vec::new(), 0);
        for (place, edit) in edits {
            if place < next {
                continue;
            }
            let place = place.min(text.len());
            if edit.closed + edit.opened + edit.before.len() > 0 {
                let added = ")".repeat(edit.closed) + &"(".repeat(edit.opened) + &edit.before;
                all.push((place..place, added));
            }
            if let Some((old, named)) = edit.replaced {
                all.push((place..place + old, named));
                next = place + old;
            }
        }
        for (star, (row, fields)) in self.field_stars.into_inner() {
            let (Some(star), Some(row)) = (at(star), at(row)) else { continue };
            let (Some(dot), Some((first, others))) = (dot_before(text, star), fields.split_first()) else {
                continue;
            };
            // The row is repeated for each field, as it is kept.
            let within = all.iter().filter(|(place, _)| place.start >= row && place.end <= dot);
            let within: Vec<(Range<usize>, String)> =
                within.map(|(place, new)| (place.start - row..place.end - row, new.clone())).collect();
            let repeated = settled(&text[row..dot], &within).0;
            let others = others.iter().map(|field| format!(", {repeated}.{field}")).collect::<String>();
            let at = all.partition_point(|(place, _)| place.start < dot);
            all.insert(at, (dot..star + 1, format!(".{first}{others}")));
        }
        all
    }
}

/// A change of a text at a place.
#[derive(Debug, Default)]
struct Edit {
    closed: usize,
    opened: usize,
    /// What is put in before that which stands there.
    before: String,
    /// So many characters, and what stands for them.
    replaced: Option<(usize, String)>,
}

impl Edit {
    fn replace(&mut self, old: usize, text: String) {
        self.replaced = Some((old, text));
    }
}

/// Where the dot is in front of the name at a place.
fn dot_before(text: &[char], name: usize) -> Option<usize> {
    let at = text[..name].iter().rposition(|c| !c.is_whitespace())?;
    (text[at] == '.').then_some(at)
}

/// How long an operator is that begins at a place, be it written `OPERATOR(s.+)`, and its symbol.
fn symbol_at(text: &[char], start: usize) -> Option<(usize, String)> {
    let is_symbol = |c: &&char| "+-*/<>=~!@#%^&|`?".contains(**c);
    let plain: String = text[start..].iter().take_while(is_symbol).collect();
    if !plain.is_empty() {
        return Some((plain.len(), plain));
    }
    let open = start + text[start..].iter().position(|c| *c == '(')?;
    let close = open + text[open..].iter().position(|c| *c == ')')?;
    let symbol: String =
        text[open..close].iter().rev().skip_while(|c| c.is_whitespace()).take_while(is_symbol).collect();
    Some((close + 1 - start, symbol.chars().rev().collect()))
}

impl Binder<'_> {
    /// Where that is noted which is written otherwise in the text that is kept.
    pub(super) fn notes(&self) -> impl Iterator<Item = &Notes> {
        self.noted.into_iter().chain(self.noting.map(super::view::Noting::written))
    }

    /// The catalog along the path of kept texts (T1); none where it is the path already. That may be without `public`, which somebody
    /// has dropped, or whose row is lost.
    pub(super) fn plain_names(&self) -> Option<Arc<CatalogSnapshot>> {
        let own = self.catalog.search_path().number();
        if own == 0 {
            return None;
        }
        let plain = self.catalog.with_path(&WantedPath::default());
        (plain.search_path().number() != own).then_some(plain)
    }

    /// The same binder for a text that the catalog keeps: what has a name around the statement means nothing in it, and places
    /// in it are none of the text that is bound.
    pub(super) fn in_kept_text(&self) -> Self {
        let around = self.plain_names_aside();
        Binder {
            kept: true,
            variables: Vec::new(),
            records: Vec::new(),
            outer: None,
            ctes: Vec::new(),
            ..around
        }
    }

    /// The text of an expression as the catalog keeps it (T1); `bind` binds it.
    ///
    /// # Errors
    /// Those of `bind`.
    pub fn kept_text<T>(
        &self,
        expr: &Expr,
        text: &str,
        bind: impl FnOnce(&Binder<'_>) -> Result<T, SqlError>,
    ) -> Result<(String, T), SqlError> {
        let notes = Notes::default();
        let bound = bind(&Binder { noted: Some(&notes), ..self.clone() })?;
        let kept = notes.numbered(text, expr.at.start);
        Ok((kept, bound))
    }

    /// Binds an expression over a table's columns, or over the rows of a trigger, and notes what its text means; what the
    /// trigger calls these rows. The items of the trace are 0, or 1 and 2 for the old row and the new one.
    pub(crate) fn traced_expression(
        &self,
        expr: &Expr,
        table: &TableDef,
        trigger: Option<&TriggerDef>,
        trace: &Trace,
    ) -> Result<Option<RecordNames>, SqlError> {
        if let Some(plain) = self.plain_names() {
            return Binder { catalog: &plain, ..self.clone() }.traced_expression(expr, table, trigger, trace);
        }
        let columns =
            table.columns.iter().map(|column| (Arc::clone(&column.name), column.ty.clone())).collect();
        let names = trigger.map(record_names);
        let scope = match &names {
            None => with_own_number(
                Scope::of(Some(Arc::clone(&table.name)), None, columns).of_relation(table.oid),
            ),
            Some((old, new)) => {
                let mut scope = Scope::of(Some(Arc::clone(old)), None, columns).with_second(new);
                scope.tables.iter_mut().zip(1..).for_each(|(item, place)| item.place = place);
                scope
            }
        };
        let clause = if names.is_some() { Clause::TriggerWhen } else { Clause::Check };
        let binder = Binder { traced: Some(trace), kept: true, ..self.plain_names_aside() };
        binder.expr(expr, &mut Context::new(&scope, clause))?;
        Ok(names)
    }

    /// Names sequences by their numbers that the default of a column names by a literal (T2), so that no row looks them up.
    pub(super) fn number_sequences(&self, expr: &mut TypedExpr, column: &ColumnDef) {
        if let K::Call { function, args } = &mut expr.kind
            && matches!(function.name, "nextval" | "currval" | "setval")
            && let Some(first) = args.first_mut()
            && let Some(sequence) = self.sequence_named(first).or_else(|| self.sequence_literal(first))
            && let Some(numbered) = of_sequence(function, column.identity.is_some())
        {
            *function = numbered;
            *first =
                TypedExpr::literal(Value::Int8(sequence.oid.0.into()), SqlType::System(SystemType::Regclass));
        }
        expr.for_each_child_mut(&mut |child| self.number_sequences(child, column));
    }

    /// Refuses a sequence that a literal names in a schema that the role may not look into.
    pub(super) fn check_sequence(&self, expr: &TypedExpr, at: u32) -> Result<(), SqlError> {
        let K::Literal(Value::Text(name)) = &expr.kind else { return Ok(()) };
        match parts_of(name).as_slice() {
            [schema, _] => self.check_usage(Some(schema), at),
            _ => Ok(()),
        }
    }

    /// The sequence that a literal names, with or without a schema.
    pub(super) fn sequence_literal(&self, expr: &TypedExpr) -> Option<Arc<SequenceDef>> {
        let K::Literal(Value::Text(name)) = &expr.kind else { return None };
        match parts_of(name).as_slice() {
            [name] => self.catalog.sequence(None, name),
            [schema, name] => self.catalog.sequence(Some(schema), name),
            _ => None,
        }
    }

    /// The sequence that a literal names without a schema, or by its number.
    pub(super) fn sequence_named(&self, expr: &TypedExpr) -> Option<Arc<SequenceDef>> {
        let name = match &expr.kind {
            K::Literal(Value::Text(name)) => name,
            K::Literal(Value::Int8(oid)) if expr.ty == SqlType::System(SystemType::Regclass) => {
                return self.catalog.sequence_by_oid(Oid(u32::try_from(*oid).ok()?));
            }
            _ => return None,
        };
        let unquoted = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
        if unquoted.is_none() && name.contains('.') {
            return None;
        }
        let folded = unquoted.map_or_else(|| name.to_lowercase(), |name| name.replace("\"\"", "\""));
        self.catalog.sequence(None, &folded)
    }
}

/// The parts of a name as a literal has it, folded.
fn parts_of(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let (mut parts, mut at) = (Vec::new(), 0);
    while at < chars.len() {
        let (end, part) = verso_catalog::identifier(&chars, at);
        if end == at {
            return Vec::new();
        }
        parts.push(part);
        at = end + 1;
        if end < chars.len() && chars[end] != '.' {
            return Vec::new();
        }
    }
    parts
}
