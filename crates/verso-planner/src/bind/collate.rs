//! COLLATE: which collation an expression has, and comparisons that follow it.
//!
//! L1. What compares texts under a collation of ICU compares their keys: `a < b` becomes `key(a) < key(b)`, ORDER BY and
//!     windows sort by keys. No other part of the plan knows of collations.
//! L2. Under a deterministic collation equal texts are equal bytes: `=`, GROUP BY, DISTINCT and joins stay as they are.
//! L3. Under a nondeterministic one they take keys, too; a group then shows one of its texts.
//! L4. Rows, and arrays of rows, are compared with keys in place of the texts in them, each by the collation of its field ([`Within`]).
//! L5. What no collation can be derived for, and needs one, is an error (42P22), as are two that COLLATE says (42P21).

use std::sync::Arc;

use verso_catalog::CollationDef;
use verso_catalog::snapshot::PG_CATALOG;
use verso_exec::functions::case::{MAPPED, Mapping};
use verso_exec::functions::records::FIELD;
use verso_exec::functions::{
    ArgType, BuiltinFunction, aggregate_candidates, candidates, collations, quote_ident,
};
use verso_exec::plan::{AggregateCall, ExprKind as K, OutputColumn, Plan, TypedExpr};
use verso_parser::syntax::{Expr, QualifiedName};
use verso_types::{CastKind, CollatedType, Collation, Collator, Derivation, SqlType, Value, Within};

use super::Binder;
use super::comparable;
use super::context::Context;
use super::resolve::{Resolution, function_error, shown};
use super::row::with_fields;
use super::rows_keyed::{beside_key, row_keyed, rows_keyed, value_beside, within};
use crate::errors::{SqlError, sqlstate};

/// 42P21.
const MISMATCH: &str = "42P21";
/// 42P22.
const INDETERMINATE: &str = "42P22";

/// The collation of what a call makes of its arguments.
pub(super) fn derived_from<'e>(exprs: impl IntoIterator<Item = &'e TypedExpr>) -> Derivation {
    exprs.into_iter().fold(Derivation::Default, |all, expr| all.and(&expr.collation))
}

/// A column of values made of these, with their collation.
pub(super) fn made_of(mut column: OutputColumn, args: &[TypedExpr]) -> OutputColumn {
    if column.ty.own_collation().is_none() {
        let collation = derived_from(args).kept();
        column.collation = collation.filter(|_| column.ty.is_collatable());
    }
    column
}

/// What is compared, in errors.
const COMPARISON: &str = "string comparison";
/// The same where texts are only told apart.
const HASHING: &str = "string hashing";

impl Binder<'_> {
    /// The collation of a name.
    ///
    /// # Errors
    /// 42704, and 3F000 for a schema that there is not.
    pub fn collation_named(
        &self,
        schema: Option<&str>,
        name: &str,
        at: u32,
    ) -> Result<Arc<CollationDef>, SqlError> {
        self.check_usage(schema, at)?;
        if let Some(found) = self.catalog.collation(schema, name) {
            return Ok(found);
        }
        if let Some(schema) = schema
            && self.catalog.schema(schema).is_none()
        {
            let text = format!("schema \"{schema}\" does not exist");
            return Err(SqlError::new(sqlstate::INVALID_SCHEMA_NAME, text).at(at));
        }
        let path = schema.map_or_else(String::new, |schema| format!("{schema}."));
        let text = format!("collation \"{path}{name}\" for encoding \"UTF8\" does not exist");
        Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).at(at))
    }

    /// A type that is declared with the collation of a name.
    pub(super) fn declared_collation(&self, base: SqlType, named: &Collation) -> Result<SqlType, SqlError> {
        let schema = Some(&*named.schema).filter(|schema| !schema.is_empty());
        let found = self.collation_named(schema, &named.name, 0);
        let found = found.map_err(|error| SqlError { position: None, ..error })?;
        self.with_collation(base, &found.collation)
    }

    /// A type with a collation.
    pub(super) fn with_collation(
        &self,
        base: SqlType,
        collation: &Arc<Collation>,
    ) -> Result<SqlType, SqlError> {
        if base.own_collation().is_some() {
            refuse_beside_own(&base, collation)?;
            return Ok(base);
        }
        if !base.is_collatable() {
            return Err(not_collatable(&base));
        }
        let base = base.uncollated().clone();
        if collation.oid == Collation::DEFAULT {
            return Ok(base);
        }
        let collation = Arc::clone(collation);
        Ok(SqlType::Collated(Arc::new(CollatedType { base, collation })))
    }

    /// `a COLLATE c`.
    pub(super) fn collated(
        &self,
        arg: &Expr,
        collation: &QualifiedName,
        point: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        // A literal without a type has none behind COLLATE either.
        let mut bound = match self.expr(arg, cx)? {
            bound if bound.ty == SqlType::Unknown && matches!(bound.kind, K::Literal(_)) => bound,
            bound => self.settle(bound, arg.at.start)?,
        };
        let found = self.collation_named(collation.schema_text(), &collation.name.text, point)?;
        self.notes().for_each(|notes| notes.name(collation.at().start, found.oid()));
        if bound.ty.own_collation().is_some() {
            refuse_beside_own(&bound.ty, &found.collation).map_err(|error| error.at(point))?;
            return Ok(bound);
        }
        if !(bound.ty.is_collatable() || matches!(bound.ty, SqlType::Name | SqlType::Unknown)) {
            return Err(not_collatable(&bound.ty).at(point));
        }
        bound.collation = Derivation::Explicit(Arc::clone(&found.collation));
        Ok(bound)
    }

    /// `COLLATION FOR (a)`: the name of its collation.
    pub(super) fn collation_for(&self, arg: TypedExpr, at: u32) -> Result<TypedExpr, SqlError> {
        if arg.ty == SqlType::Unknown && arg.collation.is_default() {
            return Ok(TypedExpr::null(SqlType::Text));
        }
        let arg = self.settle(arg, at)?;
        if arg.ty.own_collation().is_some() {
            return Ok(TypedExpr::literal(Value::text("\"default\""), SqlType::Text));
        }
        if !(arg.ty.is_collatable() || arg.ty == SqlType::Name) {
            return Err(not_collatable(&arg.ty));
        }
        refuse_mismatch(&arg.collation, at)?;
        let name = match (arg.collation.collation(), &arg.collation) {
            (Some(collation), _) => {
                let found = self.catalog.collation(None, &collation.name);
                let name = quote_ident(&collation.name);
                match found.is_some_and(|found| found.collation.oid == collation.oid) {
                    true => Value::text(&name),
                    false => Value::text(&format!("{}.{name}", quote_ident(&collation.schema))),
                }
            }
            (None, Derivation::Open(_) | Derivation::Without) => Value::Null,
            (None, _) if arg.ty == SqlType::Name => Value::text("\"C\""),
            (None, _) => Value::text("\"default\""),
        };
        Ok(TypedExpr::literal(name, SqlType::Text))
    }

    /// A call of an operator, over keys where it compares texts under a collation.
    pub(super) fn compared(&self, op: &str, call: TypedExpr, point: u32) -> Result<TypedExpr, SqlError> {
        let K::Call { function: _, args } = &call.kind else { return Ok(call) };
        let [left, right] = args.as_slice() else { return Ok(call) };
        let is_order = ["<", "<=", ">", ">="].contains(&plain_symbol(op));
        if is_order || ["=", "<>", "@>", "<@", "&&"].contains(&plain_symbol(op)) {
            let of_elements = plain_symbol(op) != op;
            if let Some(keys) = rows_keyed(args, is_order, of_elements) {
                return self.over_keys(op, keys, point);
            }
        }
        if left.collation.is_default() && right.collation.is_default() {
            return Ok(call);
        }
        // Any value that can have a collation has one, but for a column of which none follows.
        let derived = match (&left.collation, &right.collation) {
            (Derivation::Without, Derivation::Default) if right.ty.is_collatable() => return Ok(call),
            (Derivation::Default, Derivation::Without) if left.ty.is_collatable() => return Ok(call),
            (left, right) => left.and(right),
        };
        let base = plain_symbol(op);
        let collation = match base {
            "=" | "<>" | "<" | "<=" | ">" | ">=" => needed(&derived, COMPARISON, point)?,
            // Of arrays; ranges of texts have orders of their own.
            "@>" | "<@" | "&&" if args.iter().all(|arg| matches!(arg.ty, SqlType::Array(_))) => {
                needed(&derived, COMPARISON, point)?.filter(|collation| !collation.is_deterministic())
            }
            "~" | "~*" | "!~" | "!~*" => {
                refuse_nondeterministic(&derived, "regular expressions", "regular expression", point)?;
                return Ok(call);
            }
            "^@" => {
                refuse_nondeterministic(&derived, "substring searches", COMPARISON, point)?;
                return Ok(call);
            }
            _ => {
                refuse_mismatch(&derived, point)?;
                return Ok(call);
            }
        };
        let Some(collation) = collation else { return Ok(call) };
        if matches!(base, "=" | "<>") && collation.is_deterministic() {
            return Ok(call);
        }
        let keys = args.iter().map(|arg| keyed(arg.clone(), &collation));
        self.over_keys(op, keys.collect::<Result<Vec<_>, SqlError>>()?, point)
    }

    /// A comparison of keys in place of what they are of.
    fn over_keys(&self, op: &str, keys: Vec<TypedExpr>, point: u32) -> Result<TypedExpr, SqlError> {
        let keys = keys.into_iter().map(|key| (key, point)).collect();
        // What is shown of the text are the operands, not their keys.
        match self.traced {
            Some(_) => Binder { traced: None, ..self.clone() }.operator(op, keys, point),
            None => self.operator(op, keys, point),
        }
    }

    /// LIKE, which a nondeterministic collation makes another function of.
    pub(super) fn collated_like(&self, like: TypedExpr, point: u32) -> Result<TypedExpr, SqlError> {
        let K::Like { arg, pattern, escape, negated, case_insensitive } = &like.kind else {
            return Ok(like);
        };
        let derived = arg.collation.and(&pattern.collation);
        if derived.is_default() {
            return Ok(like);
        }
        let what = if *case_insensitive { "ILIKE" } else { "LIKE" };
        let collation = needed(&derived, what, point)?;
        let mapping = collation.as_deref().map(mapping_of);
        if let (true, Some(mapping @ (Mapping::Turkic | Mapping::Full))) = (*case_insensitive, mapping)
            && collation.as_ref().is_some_and(|collation| collation.is_deterministic())
        {
            // Small letters there are others than elsewhere: of the Turkish I, and of a sigma at the end of a word.
            let lowered = |expr: &TypedExpr| {
                let args = vec![expr.clone(), text("lower"), text(mapping.name())];
                Ok::<_, SqlError>(TypedExpr::new(
                    K::Call { function: function(MAPPED, false)?, args },
                    SqlType::Text,
                ))
            };
            let escape = escape.as_deref().map(&lowered).transpose()?.map(Box::new);
            let kind = K::Like {
                arg: Box::new(lowered(arg)?),
                pattern: Box::new(lowered(pattern)?),
                escape,
                negated: *negated,
                case_insensitive: false,
            };
            return Ok(TypedExpr::new(kind, SqlType::Bool));
        }
        let collator = collation.and_then(|collation| collation.collator);
        let Some(collator) = collator.filter(|collator| !collator.is_deterministic()) else {
            return Ok(like);
        };
        if *case_insensitive {
            let text = "nondeterministic collations are not supported for ILIKE";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        let escape = match escape {
            Some(escape) => (**escape).clone(),
            None => text("\\"),
        };
        let args = vec![(**arg).clone(), (**pattern).clone(), escape, text(collator.spec())];
        let function = function(collations::LIKE, false)?;
        let call = TypedExpr::new(K::Call { function, args }, SqlType::Bool);
        Ok(match negated {
            true => TypedExpr::new(K::Not(Box::new(call)), SqlType::Bool),
            false => call,
        })
    }
}

/// What is called, under the collation of its arguments: functions that look for texts in texts or arrays are others under a
/// nondeterministic one.
///
/// # Errors
/// 0A000 for those that have no such other, as in PostgreSQL; 42P21, 42P22.
pub(super) fn searching(
    function: &'static BuiltinFunction,
    mut args: Vec<TypedExpr>,
) -> Result<(&'static BuiltinFunction, Vec<TypedExpr>), SqlError> {
    if let Some(Within::Elements(element)) = args.first().and_then(within)
        && element.is_coarse()
    {
        match function.name {
            "array_position" | "array_positions" if args.len() > 1 => {
                args[0] = collations::keyed_within(args[0].clone(), &Within::Elements(element.clone()));
                args[1] = collations::keyed_within(with_fields(args[1].clone()), &element);
                return Ok((function, args));
            }
            "array_remove" | "array_replace" => {
                let text = format!("{}() of rows under a nondeterministic collation", function.name);
                return Err(SqlError::unsupported(text));
            }
            _ => {}
        }
    }
    // A function of such a type knows how its values are compared.
    let knows = |arg: &ArgType| matches!(arg, ArgType::Exact(ty) if ty.own_collation().is_some());
    if args.iter().all(|arg| arg.collation.is_default()) || function.args.iter().any(knows) {
        return Ok((function, args));
    }
    let derived = derived_from(&args);
    refuse_mismatch(&derived, 0)?;
    let regular = |derived| refuse_nondeterministic(derived, "regular expressions", "regular expression", 0);
    match function.name {
        "starts_with" => refuse_nondeterministic(&derived, "substring searches", COMPARISON, 0)?,
        "substring" if args.get(1).is_some_and(|arg| arg.ty.is_text()) => regular(&derived)?,
        name if name.starts_with("regexp_") => regular(&derived)?,
        name @ ("lower" | "upper" | "initcap" | "casefold") => {
            needed(&derived, &format!("{name}() function"), 0)?;
            let mapping = derived.collation().map_or(Mapping::Simple, |collation| mapping_of(collation));
            if mapping == Mapping::Simple {
                return Ok((function, args));
            }
            args.extend([text(name), text(mapping.name())]);
            return Ok((self::function(MAPPED, false)?, args));
        }
        "width_bucket" => {
            if let Some(collation) = needed(&derived, COMPARISON, 0)? {
                args = args.into_iter().map(|arg| keyed(arg, &collation)).collect::<Result<_, _>>()?;
            }
        }
        // They compare elements only.
        "array_position" | "array_positions" => {
            if let Some(collation) =
                needed(&derived, COMPARISON, 0)?.filter(|found| !found.is_deterministic())
            {
                for arg in args.iter_mut().take(2) {
                    *arg = keyed(arg.clone(), &collation)?;
                }
            }
        }
        name => {
            let other = collations::SEARCHES.iter().find(|(own, _)| *own == name);
            let Some((_, other)) = other else { return Ok((function, args)) };
            let collator = needed(&derived, COMPARISON, 0)?.and_then(|collation| collation.collator);
            let Some(collator) = collator.filter(|collator| !collator.is_deterministic()) else {
                return Ok((function, args));
            };
            args.push(text(collator.spec()));
            let mut found = candidates(other).iter().copied();
            let found = found.find(|one| one.args.len() == args.len());
            let found = found.ok_or_else(|| SqlError::internal("a search that is not there"))?;
            return Ok((found, args));
        }
    }
    Ok((function, args))
}

/// How letters become others under a collation.
fn mapping_of(collation: &Collation) -> Mapping {
    let language =
        |collator: Collator| collator.locale().split(['-', '_']).next().unwrap_or_default().to_owned();
    match (&*collation.name, collation.collator.map(language)) {
        (_, Some(language)) if matches!(language.as_str(), "tr" | "az") => Mapping::Turkic,
        (_, Some(_)) => Mapping::Full,
        _ if *collation.schema != *PG_CATALOG => Mapping::Simple,
        ("pg_unicode_fast", None) => Mapping::Full,
        ("C" | "POSIX" | "ucs_basic", None) => Mapping::Ascii,
        _ => Mapping::Simple,
    }
}

/// NULLIF under a nondeterministic collation, where `left` and `right` are keys.
pub(super) fn nullif(left: &TypedExpr, right: &TypedExpr) -> Result<TypedExpr, SqlError> {
    let K::Call { args, .. } = &left.kind else { return Err(SqlError::internal("a key that is no call")) };
    if !matches!(left.ty, SqlType::Bytea) {
        return Err(SqlError::unsupported("NULLIF of rows or arrays under a nondeterministic collation"));
    }
    let spec = args.get(1).cloned().ok_or_else(|| SqlError::internal("a key without a collation"))?;
    let args = vec![shown_of(left).clone(), shown_of(right).clone(), spec];
    let ty = args[0].ty.clone();
    let collation = args[0].collation.clone();
    let call = K::Call { function: function(collations::NULLIF, false)?, args };
    Ok(TypedExpr { collation, ..TypedExpr::new(call, ty) })
}

/// For each column of rows that are told apart as a whole the collator whose keys do that; empty where bytes do.
pub(super) fn told_apart_by(columns: &[OutputColumn]) -> Result<Vec<Option<Collator>>, SqlError> {
    for column in columns {
        comparable::check_equality(&column.ty, 0)?;
        if Within::of(&column.ty).is_some_and(|within| within.is_coarse()) {
            return Err(SqlError::unsupported("telling rows apart under a nondeterministic collation"));
        }
    }
    let blind = |column: &OutputColumn| {
        let collator = column.collation.as_ref().and_then(|collation| collation.collator);
        collator.filter(|collator| !collator.is_deterministic())
    };
    let of_array = |column: &&OutputColumn| blind(column).is_some() && !column.ty.is_text();
    if columns.iter().any(|column| of_array(&column)) {
        return Err(SqlError::unsupported("telling arrays apart under a nondeterministic collation"));
    }
    let collators: Vec<_> = columns.iter().map(blind).collect();
    Ok(if collators.iter().any(Option::is_some) { collators } else { Vec::new() })
}

/// COLLATE beside the collation of a type of its own, which stays: it says something else where it does not order by bytes.
fn refuse_beside_own(ty: &SqlType, collation: &Collation) -> Result<(), SqlError> {
    match collation.collator {
        Some(_) => Err(SqlError::unsupported(format!("COLLATE \"{collation}\" of type {}", shown(ty)))),
        None => Ok(()),
    }
}

/// The symbol of an operator that may stand in front of ANY or ALL.
fn plain_symbol(op: &str) -> &str {
    op.strip_suffix(" ANY").or_else(|| op.strip_suffix(" ALL")).unwrap_or(op)
}

fn not_collatable(ty: &SqlType) -> SqlError {
    let text = format!("collations are not supported by type {}", shown(ty));
    SqlError::new(sqlstate::DATATYPE_MISMATCH, text)
}

/// The name as it is written in SQL.
fn quoted(collation: &Collation) -> String {
    let name = format!("\"{}\"", collation.name.replace('"', "\"\""));
    match &*collation.schema {
        "pg_catalog" => name,
        schema => format!("{}.{name}", quote_ident(schema)),
    }
}

fn text(text: &str) -> TypedExpr {
    TypedExpr::literal(Value::text(text), SqlType::Text)
}

/// 42P21 where COLLATE says two things.
pub(super) fn refuse_mismatch(derived: &Derivation, at: u32) -> Result<(), SqlError> {
    let Derivation::Mismatch(two) = derived else { return Ok(()) };
    let text = format!("collation mismatch between explicit collations \"{}\" and \"{}\"", two.0, two.1);
    Err(SqlError::new(MISMATCH, text).at(at))
}

/// The collation of ICU's that something has to follow; `None` where bytes decide.
///
/// # Errors
/// 42P21, 42P22 (L5).
fn needed(derived: &Derivation, what: &str, at: u32) -> Result<Option<Arc<Collation>>, SqlError> {
    refuse_mismatch(derived, at)?;
    if matches!(derived, Derivation::Open(_) | Derivation::Without) {
        return Err(undetermined(what));
    }
    Ok(derived.collation().filter(|collation| collation.collator.is_some()).cloned())
}

/// 42P22, for what no collation follows.
fn undetermined(what: &str) -> SqlError {
    let text = format!("could not determine which collation to use for {what}");
    SqlError::new(INDETERMINATE, text).with_hint("Use the COLLATE clause to set the collation explicitly.")
}

/// Refuses a column that is made and for whose texts no collation follows.
///
/// # Errors
/// 42P22.
pub fn refuse_undetermined(ty: &SqlType, what: &str) -> Result<(), SqlError> {
    match ty.collation() {
        Some(collation) if collation.oid == Collation::OPEN => Err(undetermined(what)),
        _ => Ok(()),
    }
}

/// The same where rows are ordered or told apart: two columns that say different things are a mismatch there.
fn sorted_by(derived: &Derivation, what: &str, at: u32) -> Result<Option<Arc<Collation>>, SqlError> {
    if let Derivation::Open(two) = derived {
        let text = format!("collation mismatch between implicit collations \"{}\" and \"{}\"", two.0, two.1);
        let hint = "You can choose the collation by applying the COLLATE clause to one or both expressions.";
        return Err(SqlError::new(MISMATCH, text).with_hint(hint).at(at));
    }
    needed(derived, what, at)
}

fn refuse_nondeterministic(derived: &Derivation, of: &str, what: &str, at: u32) -> Result<(), SqlError> {
    match needed(derived, what, at)? {
        Some(collation) if !collation.is_deterministic() => {
            let text = format!("nondeterministic collations are not supported for {of}");
            Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text))
        }
        _ => Ok(()),
    }
}

/// A function of collations: of texts, or of arrays of them.
fn function(name: &'static str, of_array: bool) -> Result<&'static BuiltinFunction, SqlError> {
    let fits =
        |one: &&'static BuiltinFunction| matches!(one.args.first(), Some(ArgType::ArrayOf(_))) == of_array;
    let mut found = candidates(name).iter().copied();
    found.find(fits).ok_or_else(|| SqlError::internal("a function of collations that is not there"))
}

/// The key of a text, or the keys of the texts of an array.
fn keyed(expr: TypedExpr, collation: &Collation) -> Result<TypedExpr, SqlError> {
    match collation.collator {
        Some(collator) => Ok(collations::keyed(expr, collator, &quoted(collation))),
        None => Ok(expr),
    }
}

/// What a key is of; the expression itself where it is no key.
pub(crate) fn unkeyed(expr: &TypedExpr) -> &TypedExpr {
    match &expr.kind {
        K::Call { function, args } if function.name == collations::KEY => args.first().unwrap_or(expr),
        _ => expr,
    }
}

/// What was to have a key, of whatever type: keys are those of texts, to which others are cast.
fn written(key: &TypedExpr) -> &TypedExpr {
    let text = unkeyed(key);
    match &text.kind {
        K::Cast { arg, kind: CastKind::Implicit } if arg.ty.is_collatable() => arg,
        _ => shown_of(key),
    }
}

/// What a key is of; of a type with a collation of its own a value of that type.
fn shown_of(key: &TypedExpr) -> &TypedExpr {
    let text = unkeyed(key);
    match &text.kind {
        K::Cast { arg, kind: CastKind::Implicit } if arg.ty.own_collation().is_some() => arg,
        _ => text,
    }
}

/// Is it the key of a text?
pub(super) fn is_keyed(expr: &TypedExpr) -> bool {
    matches!(&expr.kind, K::Call { function, .. } if function.name == collations::KEY)
}

/// What rows are ordered by for an expression: itself, or its key.
pub(super) fn ordered(expr: TypedExpr, at: u32) -> Result<TypedExpr, SqlError> {
    comparable::check_order(&expr.ty, at)?;
    if let Some(key) = row_keyed(&expr, true) {
        return Ok(key);
    }
    if expr.collation.is_default() {
        return Ok(expr);
    }
    match sorted_by(&expr.collation, COMPARISON, at)? {
        Some(collation) => keyed(expr, &collation),
        None => Ok(expr),
    }
}

/// The same for several at once under the collation that follows from all of them.
pub(super) fn ordered_together(exprs: Vec<TypedExpr>, at: u32) -> Result<Vec<TypedExpr>, SqlError> {
    if let Some(keys) = rows_keyed(&exprs, true, false) {
        return Ok(keys);
    }
    match sorted_by(&derived_from(&exprs), COMPARISON, at)? {
        Some(collation) => exprs.into_iter().map(|expr| keyed(expr, &collation)).collect(),
        None => Ok(exprs),
    }
}

/// What rows are told apart by for an expression: itself, or its key where equal texts may have other bytes.
pub(super) fn distinguished(expr: TypedExpr, at: u32) -> Result<TypedExpr, SqlError> {
    comparable::check_equality(&expr.ty, at)?;
    if let Some(key) = row_keyed(&expr, false) {
        return Ok(key);
    }
    if expr.collation.is_default() {
        return Ok(expr);
    }
    match sorted_by(&expr.collation, HASHING, at)? {
        Some(collation) if !collation.is_deterministic() => keyed(expr, &collation),
        _ => Ok(expr),
    }
}

/// The same for several at once under the collation that follows from all of them.
pub(super) fn distinguished_together(exprs: Vec<TypedExpr>, at: u32) -> Result<Vec<TypedExpr>, SqlError> {
    if let Some(keys) = rows_keyed(&exprs, false, false) {
        return Ok(keys);
    }
    let derived = derived_from(&exprs);
    match needed(&derived, COMPARISON, at)? {
        Some(collation) if !collation.is_deterministic() => {
            exprs.into_iter().map(|expr| keyed(expr, &collation)).collect()
        }
        _ => Ok(exprs),
    }
}

/// Keys of which the least and the greatest say their text, with what is derived for that; `None` where bytes decide.
pub(super) fn extreme_keys(
    args: &[TypedExpr],
    at: u32,
) -> Result<Option<(Vec<TypedExpr>, Derivation)>, SqlError> {
    if let Some(keys) = rows_keyed(args, true, false) {
        let pairs = keys.into_iter().zip(args).map(|(key, arg)| beside_key(key, arg.clone()));
        return Ok(Some((pairs.collect(), Derivation::Default)));
    }
    let derived = derived_from(args);
    if derived.is_default() {
        return Ok(None);
    }
    let Some(collation) = needed(&derived, COMPARISON, at)? else { return Ok(None) };
    let Some(collator) = collation.collator else { return Ok(None) };
    if args.iter().any(|arg| matches!(arg.ty, SqlType::Array(_))) {
        let pair = |arg: &TypedExpr| Ok(beside_key(keyed(arg.clone(), &collation)?, arg.clone()));
        let pairs = args.iter().map(pair).collect::<Result<Vec<_>, SqlError>>()?;
        return Ok(Some((pairs, derived)));
    }
    let name = quoted(&collation);
    let keys = args.iter().map(|arg| collations::keyed(arg.clone(), collator.with_texts(), &name));
    Ok(Some((keys.collect(), derived)))
}

/// What the least or greatest of these is one of; none where no key stands for it.
pub(super) fn extreme_of(expr: &TypedExpr) -> Option<&TypedExpr> {
    value_beside(expr).or_else(|| is_keyed(expr).then(|| unkeyed(expr)))
}

/// The text of a key that says it, of this type and collation; or what stands behind its key.
pub(super) fn text_of_key(key: TypedExpr, ty: &SqlType, derived: &Derivation) -> Result<TypedExpr, SqlError> {
    if let SqlType::Row(_) = key.ty {
        let args = vec![key, TypedExpr::literal(Value::Int4(1), SqlType::Int4)];
        let mut value = TypedExpr::new(K::Call { function: &FIELD, args }, ty.clone());
        if ty.own_collation().is_none() {
            value.collation = derived.clone();
        }
        return Ok(value);
    }
    let call = K::Call { function: function(collations::TEXT, false)?, args: vec![key] };
    let mut result = TypedExpr::new(call, SqlType::Text);
    if *ty != SqlType::Text {
        result = TypedExpr::new(K::Cast { arg: Box::new(result), kind: CastKind::Implicit }, ty.clone());
    }
    if ty.own_collation().is_none() {
        result.collation = derived.clone();
    }
    Ok(result)
}

/// Distinct rows of a plan, as its collations tell them apart.
pub(super) fn distinct(plan: Plan) -> Result<Plan, SqlError> {
    if let Plan::Project { exprs, .. } = &plan {
        let open = exprs.iter().map(|expr| &expr.collation).find(|one| matches!(one, Derivation::Open(_)));
        open.map_or(Ok(None), |derived| sorted_by(derived, HASHING, 0))?;
    }
    let output = plan.output();
    let column = |(n, column): (usize, &OutputColumn)| TypedExpr::column(n, column.seen());
    let columns = output.iter().enumerate().map(column);
    let keys = columns.map(|column| distinguished(column, 0)).collect::<Result<Vec<_>, _>>()?;
    if !keys.iter().any(is_keyed) {
        return Ok(Plan::Distinct { input: Box::new(plan) });
    }
    let names = output.iter().map(|column| Arc::clone(&column.name)).collect();
    let groups =
        Plan::Aggregate { input: Box::new(plan), group_by: keys, aggregates: Vec::new(), sets: None };
    with_texts(groups, names)
}

/// Groups, with one of the texts of each in place of every key of theirs.
pub(super) fn with_texts(mut plan: Plan, names: Vec<Arc<str>>) -> Result<Plan, SqlError> {
    let Plan::Aggregate { group_by, aggregates, sets, .. } = &mut plan else { return Ok(plan) };
    if !group_by.iter().any(is_keyed) {
        return Ok(plan);
    }
    let any = aggregate_candidates("any_value").iter().find(|entry| entry.args.len() == 1);
    let any = any.ok_or_else(|| SqlError::internal("an aggregate that is not there"))?;
    let (own, before) = (group_by.len(), aggregates.len());
    let calls = sets.as_ref().map_or(0, |sets| sets.calls.len());
    let mut texts = vec![None; own];
    for (n, key) in group_by.iter().enumerate().filter(|(_, key)| is_keyed(key)) {
        let arg = written(key).clone();
        texts[n] = Some((own + aggregates.len(), arg.seen()));
        let ty = arg.ty.clone();
        aggregates.push(AggregateCall { args: vec![arg], ..AggregateCall::plain(any, ty, "".into()) });
    }
    let added = aggregates.len() - before;
    let output = plan.output();
    let mut exprs = Vec::with_capacity(own + before + calls);
    for n in 0..own + before + calls {
        let Some((place, ty)) = texts.get(n).and_then(Option::as_ref) else {
            let place = if n < own + before { n } else { n + added };
            exprs.push(TypedExpr::column(place, output[place].seen()));
            continue;
        };
        // A key that is missing from a grouping set is NULL there.
        let key = TypedExpr::column(n, SqlType::Bytea);
        let missing = TypedExpr::new(K::IsNull { arg: Box::new(key), negated: false }, SqlType::Bool);
        let value = TypedExpr::column(*place, ty.clone());
        let branches = vec![(missing, TypedExpr::null(value.ty.clone()))];
        exprs.push(TypedExpr::new(K::Case { branches, otherwise: Some(Box::new(value)) }, ty.clone()));
    }
    let names = match names.len() == exprs.len() {
        true => names,
        false => exprs.iter().map(|_| Arc::from("?column?")).collect(),
    };
    Ok(Plan::Project { input: Box::new(plan), exprs, names })
}

impl Binder<'_> {
    /// `a [NOT] SIMILAR TO pattern [ESCAPE e]`: a regular expression for the whole text.
    pub(super) fn similar_to(
        &self,
        arg: &Expr,
        pattern: &Expr,
        escape: Option<&Expr>,
        negated: bool,
        point: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let text = |expr: &Expr, cx: &mut Context<'_>| {
            let bound = self.expr(expr, cx)?;
            let fits = bound.ty.is_text();
            if !fits {
                let types = [bound.ty.clone()];
                return Err(
                    function_error("pg_catalog.similar_to_escape", &types, &Resolution::None).at(point)
                );
            }
            self.coerce(bound, expr.at.start, &SqlType::Text, CastKind::Implicit)
        };
        let value = (self.expr(arg, cx)?, arg.at.start);
        let mut args = vec![(text(pattern, cx)?, pattern.at.start)];
        if let Some(escape) = escape {
            args.push((text(escape, cx)?, escape.at.start));
        }
        let functions = verso_exec::functions::candidates("similar_to_escape");
        let function = functions.iter().find(|function| function.args.len() == args.len());
        let function = function.ok_or_else(|| SqlError::internal("no similar_to_escape"))?;
        let to = vec![SqlType::Text; args.len()];
        let regex = self.built_in(function, args, &to)?;
        self.operator(if negated { "!~" } else { "~" }, vec![value, (regex, pattern.at.start)], point)
    }
}
