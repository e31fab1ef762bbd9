//! Texts that the catalog keeps, such as defaults: what names in them mean does not depend on who uses them.
//!
//! T1. A kept text means what it means along the search path `pg_catalog, public`. Where it was made along another one, the
//!     names in it get their schemas first ([`Binder::kept_text`]).
//! T2. A sequence that a kept text names is looked up when the text is bound, and named with its schema from then on: the
//!     path of the session that evaluates it finds another one, or none.

use std::cell::RefCell;
use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, FunctionDef, SequenceDef, TableDef, TriggerDef, WantedPath};
use verso_exec::plan::{ExprKind as K, TypedExpr};
use verso_types::{SqlType, Value};

use super::Binder;
use super::context::{Clause, Context};
use super::scope::Scope;
use super::trace::Trace;
use super::trigger::record_names;
use crate::errors::SqlError;
use verso_parser::syntax::Expr;

/// What a trigger calls the old row and the new one.
pub(crate) type RecordNames = (Arc<str>, Arc<str>);

/// What names of a text mean, each by its first character in the statement.
#[derive(Debug, Default)]
pub(super) struct Notes {
    functions: RefCell<Vec<(u32, Arc<FunctionDef>)>>,
    /// Sequences, by the literals that name them.
    sequences: RefCell<Vec<(u32, Arc<SequenceDef>)>>,
}

impl Notes {
    /// A call without a schema means this function.
    pub(super) fn function(&self, at: u32, function: &Arc<FunctionDef>) {
        self.functions.borrow_mut().push((at, Arc::clone(function)));
    }

    /// A literal without a schema names this sequence.
    pub(super) fn sequence(&self, at: u32, sequence: Arc<SequenceDef>) {
        self.sequences.borrow_mut().push((at, sequence));
    }
}

impl Binder<'_> {
    /// The catalog along the path of kept texts (T1); none where it is the path already.
    pub(super) fn plain_names(&self) -> Option<Arc<CatalogSnapshot>> {
        let other = self.catalog.search_path().number() != 0;
        other.then(|| self.catalog.with_path(&WantedPath::default()))
    }

    /// The same binder for a text that the catalog keeps: what has a name around the statement means nothing in it, and places
    /// in it are none of the text that is bound.
    pub(super) fn in_kept_text(&self) -> Self {
        let around = self.plain_names_aside();
        Binder { variables: Vec::new(), records: Vec::new(), outer: None, ctes: Vec::new(), ..around }
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
        let functions = notes.functions.into_inner();
        let sequences = notes.sequences.into_inner();
        let mut kept = String::new();
        let mut places = (expr.at.start..).zip(text.chars());
        while let Some((at, c)) = places.next() {
            let is_here = |place: u32, schema: &str| place == at && schema != "public";
            if let Some((_, function)) = functions.iter().find(|(place, f)| is_here(*place, &f.schema)) {
                kept.push_str(&verso_parser::quoted(&function.schema));
                kept.push('.');
            }
            if let Some((_, named)) = sequences.iter().find(|(place, s)| is_here(*place, &s.schema)) {
                kept.push_str(&format!("'{}'", sequence_path(named).replace('\'', "''")));
                places.find(|(_, c)| *c == '\'');
                continue;
            }
            kept.push(c);
        }
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
            None => Scope::of(Some(Arc::clone(&table.name)), None, columns),
            Some((old, new)) => {
                let mut scope = Scope::of(Some(Arc::clone(old)), None, columns).with_second(new);
                scope.tables.iter_mut().zip(1..).for_each(|(item, place)| item.place = place);
                scope
            }
        };
        let clause = if names.is_some() { Clause::TriggerWhen } else { Clause::Check };
        Binder { traced: Some(trace), ..self.clone() }.expr(expr, &mut Context::new(&scope, clause))?;
        Ok(names)
    }

    /// Gives sequences that the expression names by a literal their schemas (T2).
    pub(super) fn qualify_sequences(&self, expr: &mut TypedExpr) {
        if let K::Call { function, args } = &mut expr.kind
            && matches!(function.name, "nextval" | "currval" | "setval")
            && let Some(first) = args.first_mut()
            && let Some(sequence) = self.sequence_named(first)
        {
            *first = TypedExpr::literal(Value::text(&sequence_path(&sequence)), SqlType::Text);
        }
        expr.for_each_child_mut(&mut |child| self.qualify_sequences(child));
    }

    /// The sequence that a literal names without a schema.
    pub(super) fn sequence_named(&self, expr: &TypedExpr) -> Option<Arc<SequenceDef>> {
        let K::Literal(Value::Text(name)) = &expr.kind else { return None };
        let unquoted = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
        if unquoted.is_none() && name.contains('.') {
            return None;
        }
        let folded = unquoted.map_or_else(|| name.to_lowercase(), |name| name.replace("\"\"", "\""));
        self.catalog.sequence(None, &folded)
    }
}

/// A sequence's name with its schema, as a literal has it.
fn sequence_path(sequence: &SequenceDef) -> String {
    [&sequence.schema, &sequence.name].map(|part| verso_parser::quoted(part)).join(".")
}
