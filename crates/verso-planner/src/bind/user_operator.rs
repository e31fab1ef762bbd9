//! Operators and casts of users. Those that are built in come first, as `pg_catalog` is searched first.

use std::sync::Arc;

use verso_catalog::{
    Callee, CastContext, CastDef, NOWHERE, Oid, OperatorDef, extensions_with_operator, kept,
};
use verso_exec::functions::{ArgType, operator_candidates};
use verso_exec::plan::{ExprKind as K, TypedExpr};
use verso_types::{CastKind, SqlType};

use super::Binder;
use super::resolve::{Declared, Resolution, operator_error, resolve};
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::Span;

/// An expression and its place.
type Located = (TypedExpr, u32);

impl Binder<'_> {
    /// The symbol of an operator without its schema, and that.
    fn qualified_symbol(op: &str) -> (Option<&str>, &str) {
        op.rsplit_once('.').map_or((None, op), |(schema, symbol)| (Some(schema), symbol))
    }

    /// Whether users have made an operator of that symbol.
    pub(super) fn has_user_operator(&self, op: &str) -> bool {
        let (schema, symbol) = Self::qualified_symbol(op);
        schema.is_some() || self.catalog.operators().iter().any(|operator| *operator.name == *symbol)
    }

    /// Whether an operator with that schema is one of an extension, which is built in. A kept text means it, whatever the schema is
    /// called now.
    pub(super) fn has_operator_of_extension(&self, schema: &str, symbol: &str) -> bool {
        let is_kept = self.reads_kept() && kept::number_of(Some(schema)).is_none();
        is_kept && !extensions_with_operator(symbol).is_empty()
            || self.catalog.has_operator_from_extension(schema, symbol)
    }

    /// The operators of users that a name means with so many operands, and what they take.
    fn users_operators(&self, op: &str, operands: usize) -> (Vec<&Arc<OperatorDef>>, Vec<Declared>) {
        let (schema, symbol) = Self::qualified_symbol(op);
        let number = kept::number_of(schema);
        let path = self.catalog.search_path();
        let found = |operator: &&Arc<OperatorDef>| {
            let reached = match schema {
                _ if let Some(number) = number => operator.oid == number,
                Some(schema) => *operator.schema == *schema,
                // Views of earlier releases name operators by their symbols only.
                None if self.stored.is_some() => true,
                None => path.searched().contains(&operator.schema),
            };
            reached && *operator.name == *symbol && operator.left.is_some() == (operands == 2)
        };
        let known: Vec<&Arc<OperatorDef>> = self.catalog.operators().iter().filter(found).collect();
        let declared = |operator: &&Arc<OperatorDef>| -> Option<Declared> {
            let sides = operator.left.into_iter().chain([operator.right]);
            sides.map(|side| Some(ArgType::Exact(self.type_numbered(side)?.without_modifiers()))).collect()
        };
        let declared: Vec<Declared> = known.iter().map(|one| declared(one).unwrap_or_default()).collect();
        (known, declared)
    }

    /// What an operator of users takes at its right where a literal without a type stands there; `None` where none is meant.
    pub(super) fn right_of_user_operator(&self, op: &str, left: &SqlType) -> Option<SqlType> {
        let (_, declared) = self.users_operators(op, 2);
        // It is taken for one of the other side's type first.
        let own = left.without_modifiers();
        let is_own = |side: &ArgType| matches!(side, ArgType::Exact(ty) if *ty == own);
        if declared.iter().any(|sides| sides.len() == 2 && sides.iter().all(is_own)) {
            return Some(own);
        }
        match resolve(&declared, &[left.clone(), SqlType::Unknown], true) {
            Resolution::One(_, to) => to.get(1).cloned(),
            Resolution::Ambiguous | Resolution::None => None,
        }
    }

    /// Whether an operator of users takes exactly these operands, and the system has none that does or one that is searched
    /// later. Comparisons of the system's are of more types than those that are listed, and come first.
    pub(super) fn is_own_operator(&self, op: &str, operands: &[Located]) -> bool {
        // Texts that the catalog keeps name users' operators by number.
        if op.contains('.') || self.stored.is_some() || self.kept {
            return false;
        }
        let mut types: Vec<SqlType> =
            operands.iter().map(|(operand, _)| operand.ty.without_modifiers()).collect();
        // A literal without a type is first taken for one of the other side's.
        if let Some(known) = types.iter().find(|ty| **ty != SqlType::Unknown).cloned() {
            types.iter_mut().filter(|ty| **ty == SqlType::Unknown).for_each(|ty| ty.clone_from(&known));
        }
        let exact: Declared = types.into_iter().map(ArgType::Exact).collect();
        let (known, declared) = self.users_operators(op, operands.len());
        let path = self.catalog.search_path();
        let own = known.iter().zip(&declared).filter(|(_, takes)| **takes == exact);
        let mut own = own.map(|(operator, _)| path.precedes_system(&operator.schema)).peekable();
        if own.peek().is_none() {
            return false;
        }
        let listed = operator_candidates(op).iter().any(|entry| entry.declared(exact.len()) == exact);
        let compares = matches!(op, "=" | "<>" | "<" | "<=" | ">" | ">=");
        own.any(|first| first || !listed && !compares)
    }

    /// A call of an operator that users have made; `None` where none takes these operands.
    pub(super) fn user_operator(
        &self,
        op: &str,
        operands: Vec<Located>,
        point: u32,
    ) -> Result<Option<TypedExpr>, SqlError> {
        let (schema, symbol) = Self::qualified_symbol(op);
        let number = kept::number_of(schema);
        if let (Some(schema), None) = (schema, number)
            && self.catalog.schema(schema).is_none()
        {
            let text = format!("schema \"{schema}\" does not exist");
            return Err(SqlError::new(sqlstate::INVALID_SCHEMA_NAME, text).at(point));
        }
        self.check_usage(schema, point)?;
        let (known, declared) = self.users_operators(op, operands.len());
        let types: Vec<SqlType> = operands.iter().map(|(operand, _)| operand.ty.clone()).collect();
        match resolve(&declared, &types, true) {
            Resolution::One(index, to) => {
                if let Some(trace) = self.traced {
                    let plain = self.plain_names_aside();
                    let built_in = || plain.built_in_operator(symbol, operands.clone(), point);
                    let is_hidden = schema.is_some() && built_in().is_ok();
                    trace.operator(point, &known[index].schema, &known[index].name, is_hidden);
                    trace.operands(point, &to);
                }
                let cast = |((operand, at), to): (Located, &SqlType)| {
                    Ok((self.coerce(operand, at, to, CastKind::Implicit)?, at))
                };
                let args = operands.into_iter().zip(&to).map(cast).collect::<Result<Vec<_>, SqlError>>()?;
                self.notes().for_each(|notes| notes.operator(point, known[index].oid));
                let at = Span { start: point, end: point };
                Ok(Some(self.plain_names_aside().called(&known[index].function, args, at)?.0))
            }
            found @ Resolution::Ambiguous => Err(operator_error(op, &types, &found).at(point)),
            Resolution::None => Ok(None),
        }
    }

    /// The same binder, for what definitions name and not the statement.
    pub(super) fn plain_names_aside(&self) -> Self {
        Binder { stored: None, noting: None, noted: None, traced: None, ..self.clone() }
    }

    /// Whether there are casts of users that what is bound may use.
    pub(super) fn has_user_casts(&self) -> bool {
        !self.catalog.casts().is_empty() || self.reads_kept() && !self.catalog.dropped_casts().is_empty()
    }

    /// The casts that were dropped, where a text is bound that may have been made before.
    fn dropped_casts(&self) -> impl Iterator<Item = &CastDef> {
        let is_there = move |cast: &&CastDef| match &cast.function {
            Some(Callee::User(function)) => self.catalog.function_by_oid(*function).is_some(),
            _ => true,
        };
        let dropped = if self.reads_kept() { self.catalog.dropped_casts() } else { &[] };
        dropped.iter().filter(is_there)
    }

    /// The cast of users between two types, if it happens here.
    fn cast_between(&self, from: &SqlType, to: &SqlType, kind: CastKind) -> Option<&CastDef> {
        let (from, to) = (Oid(from.pg_oid()), Oid(to.pg_oid()));
        let happens = |cast: &&CastDef| match kind {
            CastKind::Explicit => true,
            CastKind::Assignment => cast.context != CastContext::Explicit,
            CastKind::Implicit | CastKind::Compared => cast.context == CastContext::Implicit,
        };
        let dropped = || {
            let is_it = |cast: &&CastDef| (cast.source, cast.target) == (from, to) && happens(cast);
            // What the text was made with was the last one.
            self.dropped_casts().filter(is_it).last()
        };
        self.catalog.cast(from, to).filter(happens).or_else(dropped)
    }

    /// Whether users have made a cast that happens here.
    pub(super) fn has_user_cast(&self, from: &SqlType, to: &SqlType, kind: CastKind) -> bool {
        self.has_user_casts() && self.cast_between(from, to, kind).is_some()
    }

    /// A cast of users; `None` where there is none that happens here.
    pub(super) fn user_cast(
        &self,
        expr: &TypedExpr,
        at: u32,
        to: &SqlType,
        kind: CastKind,
    ) -> Result<Option<TypedExpr>, SqlError> {
        if !self.has_user_casts() || expr.ty == SqlType::Unknown || expr.ty == *to {
            return Ok(None);
        }
        let Some(cast) = self.cast_between(&expr.ty, to, kind) else { return Ok(None) };
        self.catalog.check_whole(cast.oid)?;
        self.note_cast(cast);
        let value = match &cast.function {
            Some(function) => {
                let place = Span { start: at, end: at };
                self.plain_names_aside().called(function, vec![(expr.clone(), at)], place)?.0
            }
            None => {
                let step = |arg: TypedExpr, ty: SqlType| {
                    TypedExpr::new(K::Cast { arg: Box::new(arg), kind: CastKind::Explicit }, ty)
                };
                step(step(expr.clone(), SqlType::Text), to.without_modifiers())
            }
        };
        // A length or precision is asked for behind it.
        if value.ty == *to { Ok(Some(value)) } else { Ok(Some(self.coerce(value, at, to, kind)?)) }
    }

    /// A text that is kept needs the function of a cast that it uses, as in PostgreSQL.
    pub(super) fn note_cast(&self, cast: &CastDef) {
        let Some(Callee::User(function)) = &cast.function else { return };
        self.noted.into_iter().for_each(|notes| notes.cast(*function));
        self.noting.into_iter().for_each(|noting| noting.function(NOWHERE, *function));
    }

    /// Operands of which one has become what an implicit cast of users makes of it, in every way, and that cast. The way that is taken is
    /// the caller's to note ([`Binder::note_cast`]).
    pub(super) fn with_user_casts(
        &self,
        operands: &[Located],
    ) -> Result<Vec<(Vec<Located>, &CastDef)>, SqlError> {
        let mut ways = Vec::new();
        let trying = Binder { noting: None, noted: None, ..self.clone() };
        for (n, (operand, at)) in operands.iter().enumerate() {
            let from = Oid(operand.ty.pg_oid());
            let implicit = |cast: &&CastDef| cast.source == from && cast.context == CastContext::Implicit;
            for cast in self.catalog.casts().iter().chain(self.dropped_casts()).filter(implicit) {
                let Some(to) = self.type_numbered(cast.target) else { continue };
                if let Some(value) = trying.user_cast(operand, *at, &to, CastKind::Implicit)? {
                    let mut way = operands.to_vec();
                    way[n].0 = value;
                    ways.push((way, cast));
                }
            }
        }
        Ok(ways)
    }
}
