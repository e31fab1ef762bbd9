//! What a condition says about single columns.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use verso_catalog::{IndexPart, TableDef};
use verso_env::stack;
use verso_exec::functions::{Volatility, collations};
use verso_exec::plan::{CastKind, ExprKind, IndexAccess, Plan, Span, SubqueryTest, TypedExpr};
use verso_types::{SqlType, SystemType, Value};

use super::derived::Derived;
use crate::bind::same;

/// A conjunct that says something about one column.
pub(super) struct Term<'f> {
    /// The column's number in storage.
    pub column: u16,
    /// It is said of the keys that texts have under a collation, the one with this spec.
    pub spec: Option<&'f str>,
    /// Which conjunct of the filter it is; none where that says more, so that it is still asked of what is found.
    pub conjunct: Option<usize>,
    pub says: Says<'f>,
}

/// What it says.
pub(super) enum Says<'f> {
    Equal(&'f TypedExpr),
    In(Cow<'f, [TypedExpr]>),
    /// It lies in any of these ranges.
    Spans(Vec<Span>),
    /// An element of this array.
    Any(Cow<'f, TypedExpr>),
    Null,
    /// At least this value, or (`false`) greater.
    Lower(&'f TypedExpr, bool),
    /// At most this value, or (`false`) less.
    Upper(&'f TypedExpr, bool),
    /// At least this value, and something else besides: the first of a row that is compared.
    From(&'f TypedExpr),
    /// At most this value, and something else besides.
    To(&'f TypedExpr),
    /// Begins with this text.
    Prefix(String),
}

impl Term<'_> {
    /// Whether it says something of the values of a part, whatever of their order.
    pub fn fits(&self, part: &IndexPart) -> bool {
        let collator = part.collation.as_ref().and_then(|collation| collation.collator);
        match (self.spec, collator) {
            (None, None) => true,
            (Some(spec), Some(collator)) => spec == collator.spec(),
            // Equal bytes have equal keys, and others have others.
            (None, Some(collator)) => {
                collator.is_deterministic()
                    && matches!(self.says, Says::Equal(_) | Says::In(_) | Says::Any(_) | Says::Null)
                    || matches!(self.says, Says::Null)
            }
            (Some(_), None) => false,
        }
    }

    /// Whether it says something of the order of a part.
    pub fn orders(&self, part: &IndexPart) -> bool {
        let collator = part.collation.as_ref().and_then(|collation| collation.collator);
        self.spec == collator.map(|collator| collator.spec())
    }

    /// Narrows the range of an access, where it has no such bound yet.
    pub fn bound(&self, access: &mut IndexAccess, said: &mut Vec<usize>) {
        if !access.spans.is_empty() {
            return;
        }
        match &self.says {
            Says::Lower(value, inclusive) if access.lower.is_none() => {
                access.lower = Some(((*value).clone(), *inclusive));
                said.extend(self.conjunct);
            }
            Says::Upper(value, inclusive) if access.upper.is_none() => {
                access.upper = Some(((*value).clone(), *inclusive));
                said.extend(self.conjunct);
            }
            Says::Spans(spans) if access.lower.is_none() && access.upper.is_none() => {
                access.spans.clone_from(spans);
                said.extend(self.conjunct);
            }
            // The comparison of the rows has the last word.
            Says::From(value) if access.lower.is_none() => access.lower = Some(((*value).clone(), true)),
            Says::To(value) if access.upper.is_none() => access.upper = Some(((*value).clone(), true)),
            // The pattern has the last word.
            Says::Prefix(prefix) if access.lower.is_none() && access.upper.is_none() => {
                let text = |text: &str| TypedExpr::literal(Value::text(text), SqlType::Text);
                access.lower = Some((text(prefix), true));
                access.upper = behind(prefix).map(|end| (text(&end), false));
            }
            _ => {}
        }
    }
}

/// The first text, by bytes, behind all that begin with the prefix.
fn behind(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

pub(super) fn for_each_conjunct<'f>(filter: &'f TypedExpr, visit: &mut dyn FnMut(&'f TypedExpr)) {
    match &filter.kind {
        ExprKind::And(parts) => parts.iter().for_each(|part| for_each_conjunct(part, visit)),
        _ => visit(filter),
    }
}

/// The terms of a filter over `columns` of a table.
pub(super) fn of<'f>(
    table: &TableDef,
    columns: &[usize],
    filter: &'f TypedExpr,
    derived: &Derived,
) -> Vec<Term<'f>> {
    let read = Read { table, columns, derived };
    let (mut terms, mut implied) = (Vec::new(), Vec::new());
    let mut n = 0;
    for_each_conjunct(filter, &mut |conjunct| {
        match term(&read, conjunct) {
            Some((at, spec, says)) => {
                terms.push(Term { column: table.columns[at].id, spec, conjunct: Some(n), says });
            }
            None => implied.extend(values_of_branches(&read, conjunct)),
        }
        n += 1;
    });
    terms.extend(implied);
    terms
}

/// What a filter is over.
pub(super) struct Read<'r> {
    pub table: &'r TableDef,
    pub columns: &'r [usize],
    pub derived: &'r Derived,
}

/// The column that an expression is, perhaps cast to a wider type; of an expression of an index the hidden one.
pub(super) fn column(read: &Read<'_>, expr: &TypedExpr) -> Option<usize> {
    if let Some(hidden) = read.derived.column(read.columns, expr) {
        return read.table.column_with_id(hidden);
    }
    match &expr.kind {
        ExprKind::Column(index) => {
            read.columns.get(*index).copied().filter(|at| *at < read.table.columns.len())
        }
        // The same values without the modifier. Those of char(n) get their blanks.
        ExprKind::Cast { arg, .. }
            if expr.ty == arg.ty.without_modifiers() && !matches!(arg.ty, SqlType::Char(_)) =>
        {
            column(read, arg)
        }
        ExprKind::Cast { arg, kind: CastKind::Implicit } => {
            let at = column(read, arg)?;
            let own = &read.table.columns[at].ty;
            let same_order = (own.is_integer() && expr.ty.is_integer())
                || (is_text(own) && matches!(expr.ty, SqlType::Text | SqlType::Varchar(None)));
            same_order.then_some(at)
        }
        _ => None,
    }
}

fn is_text(ty: &SqlType) -> bool {
    let folds = *ty == SqlType::System(SystemType::Citext);
    folds || matches!(ty, SqlType::Text | SqlType::Varchar(_) | SqlType::Name)
}

/// Whether a value of type `other` can be looked up among the keys of a column.
fn comparable(own: &SqlType, other: &SqlType) -> bool {
    (own.is_integer() && other.is_integer())
        || (is_text(own) && is_text(other))
        || (matches!(own, SqlType::Numeric(_)) && matches!(other, SqlType::Numeric(_)))
        || (!own.is_number() && !own.is_text() && own.same_base(other))
        || (own.is_number() && own.same_base(other))
        || (matches!(own, SqlType::Char(_)) && matches!(other, SqlType::Char(_)))
        || [own, other].iter().all(|ty| **ty == SqlType::System(SystemType::Char))
}

/// Whether an expression has one value for the whole statement.
pub(super) fn is_fixed(expr: &TypedExpr) -> bool {
    !expr.any(&mut |part| match &part.kind {
        ExprKind::Column(_) => true,
        ExprKind::UserCall { function, .. } => function.volatility == verso_catalog::Volatility::Volatile,
        ExprKind::Subquery { plan, .. } => plan.is_volatile(),
        ExprKind::Call { function, .. } => function.volatility == Volatility::Volatile,
        _ => false,
    })
}

/// The text that an expression is the key of, and the collation.
fn key_of(expr: &TypedExpr) -> Option<(&TypedExpr, &str)> {
    let ExprKind::Call { function, args } = &expr.kind else { return None };
    let [text, spec, ..] = args.as_slice() else { return None };
    let ExprKind::Literal(Value::Text(spec)) = &spec.kind else { return None };
    (function.name == collations::KEY && expr.ty == SqlType::Bytea).then_some((text, &**spec))
}

/// The number in storage of the column that an expression is, or the key of, and the collation of that.
pub(super) fn ordered_column(
    table: &TableDef,
    columns: &[usize],
    derived: &Derived,
    expr: &TypedExpr,
) -> Option<(u16, Option<String>)> {
    let number = |expr: &TypedExpr| match expr.kind {
        ExprKind::Column(column) => Some(table.columns.get(*columns.get(column)?)?.id),
        _ => derived.column(columns, expr),
    };
    if let Some(column) = number(expr) {
        return Some((column, None));
    }
    let (text, spec) = key_of(expr)?;
    let text = match &text.kind {
        ExprKind::Cast { arg, kind: CastKind::Implicit } if is_text(&arg.ty) => arg,
        _ => text,
    };
    Some((number(text)?, Some(spec.to_string())))
}

fn term<'f>(read: &Read<'_>, expr: &'f TypedExpr) -> Option<(usize, Option<&'f str>, Says<'f>)> {
    compared_term(read, expr).or_else(|| boolean_term(read, expr))
}

/// What a boolean says that is a condition by itself: it is true; behind NOT it is false.
fn boolean_term<'f>(read: &Read<'_>, expr: &TypedExpr) -> Option<(usize, Option<&'f str>, Says<'f>)> {
    static FALSE: LazyLock<TypedExpr> = LazyLock::new(|| truth(false));
    static TRUE: LazyLock<TypedExpr> = LazyLock::new(|| truth(true));
    let (arg, value): (&TypedExpr, &'static TypedExpr) = match &expr.kind {
        ExprKind::Not(arg) => (arg, &FALSE),
        _ => (expr, &TRUE),
    };
    let at = column(read, arg)?;
    (*read.table.columns[at].ty.plain() == SqlType::Bool).then_some((at, None, Says::Equal(value)))
}

fn truth(value: bool) -> TypedExpr {
    TypedExpr::literal(Value::Bool(value), SqlType::Bool)
}

fn compared_term<'f>(read: &Read<'_>, expr: &'f TypedExpr) -> Option<(usize, Option<&'f str>, Says<'f>)> {
    let plain = plain_term(read, expr);
    if let Some((at, says)) = plain {
        return Some((at, None, says));
    }
    match &expr.kind {
        ExprKind::Or(branches) => any_of(read, branches),
        ExprKind::Call { function, args } => {
            let operator = function.operator?;
            let [left, right] = args.as_slice() else { return None };
            let of_column = |side: &'f TypedExpr| {
                let (text, spec) = key_of(side)?;
                Some((column(read, text)?, spec))
            };
            let (at, spec, value, mirrored) = match of_column(left) {
                Some((at, spec)) => (at, spec, right, false),
                None => {
                    let (at, spec) = of_column(right)?;
                    (at, spec, left, true)
                }
            };
            if !is_fixed(value) || value.ty != SqlType::Bytea {
                return None;
            }
            Some((at, Some(spec), compared(operator, mirrored, value)?))
        }
        ExprKind::InList { arg, list, negated: false } => {
            let (text, spec) = key_of(arg)?;
            let at = column(read, text)?;
            let fits = |value: &TypedExpr| is_fixed(value) && value.ty == SqlType::Bytea;
            list.iter().all(fits).then_some((at, Some(spec), Says::In(Cow::Borrowed(list))))
        }
        _ => None,
    }
}

/// What the branches of an OR say, where each says values or ranges of one column and nothing else.
fn any_of<'f>(read: &Read<'_>, branches: &'f [TypedExpr]) -> Option<(usize, Option<&'f str>, Says<'f>)> {
    if stack::check().is_err() {
        return None;
    }
    let (mut of, mut spans) = (None, Vec::new());
    for branch in branches {
        let mut said = Vec::new();
        let mut all = true;
        for_each_conjunct(branch, &mut |conjunct| match term(read, conjunct) {
            Some((at, spec, says)) if *of.get_or_insert((at, spec)) == (at, spec) => said.push(says),
            _ => all = false,
        });
        if !all {
            return None;
        }
        add_spans(said, &mut spans)?;
    }
    let (at, spec) = of?;
    let value = |span: &Span| match span {
        Span::Equal(value) => Some(value.clone()),
        Span::Between { .. } => None,
    };
    let says = match spans.iter().map(value).collect::<Option<Vec<_>>>() {
        Some(values) => Says::In(Cow::Owned(values)),
        None => Says::Spans(spans),
    };
    Some((at, spec, says))
}

/// More branches of an OR than this are not looked at for what they say of each column.
const BRANCHES_MAX: usize = 256;

/// What an OR says of single columns besides, of which each of its branches says a value: `(a = 1 AND b = 2) OR (a = 3 AND b = 4)`,
/// which `(a, b) IN ((1, 2), (3, 4))` is, has a one of 1, 3 and b one of 2, 4.
fn values_of_branches<'f>(read: &Read<'_>, condition: &'f TypedExpr) -> Vec<Term<'f>> {
    let ExprKind::Or(branches) = &condition.kind else { return Vec::new() };
    if branches.len() > BRANCHES_MAX {
        return Vec::new();
    }
    let mut columns: Vec<(usize, Option<&'f str>, Vec<TypedExpr>)> = Vec::new();
    for (n, branch) in branches.iter().enumerate() {
        let mut said = Vec::new();
        for_each_conjunct(branch, &mut |conjunct| match term(read, conjunct) {
            Some((at, spec, Says::Equal(value))) => said.push((at, spec, std::slice::from_ref(value))),
            Some((at, spec, Says::In(Cow::Borrowed(values)))) => said.push((at, spec, values)),
            _ => {}
        });
        if n == 0 {
            columns.extend(said.iter().map(|(at, spec, _)| (*at, *spec, Vec::new())));
        }
        columns.retain_mut(|(at, spec, all)| {
            let Some((.., values)) = said.iter().find(|one| (one.0, one.1) == (*at, *spec)) else {
                return false;
            };
            // A query is computed once where it stands.
            if values
                .iter()
                .any(|value| value.any(&mut |part| matches!(part.kind, ExprKind::Subquery { .. })))
            {
                return false;
            }
            let new = values.iter().filter(|value| !all.iter().any(|other| same(other, value)));
            let new: Vec<TypedExpr> = new.cloned().collect();
            all.extend(new);
            all.len() <= BRANCHES_MAX
        });
    }
    let term = |(at, spec, values): (usize, Option<&'f str>, Vec<TypedExpr>)| Term {
        column: read.table.columns[at].id,
        spec,
        conjunct: None,
        says: Says::In(Cow::Owned(values)),
    };
    columns.into_iter().map(term).collect()
}

/// Adds the ranges that hold what several terms of one column say together; nothing where there is more to it.
fn add_spans(said: Vec<Says<'_>>, spans: &mut Vec<Span>) -> Option<()> {
    let alone = said.len() == 1;
    let (mut lower, mut upper) = (None, None);
    for says in said {
        match says {
            Says::Equal(value) if alone => spans.push(Span::Equal(value.clone())),
            Says::In(values) if alone => spans.extend(values.iter().cloned().map(Span::Equal)),
            Says::Spans(mut more) if alone => spans.append(&mut more),
            Says::Lower(value, inclusive) if lower.is_none() => lower = Some((value.clone(), inclusive)),
            Says::Upper(value, inclusive) if upper.is_none() => upper = Some((value.clone(), inclusive)),
            _ => return None,
        }
    }
    if lower.is_some() || upper.is_some() {
        spans.push(Span::Between { lower, upper });
    }
    Some(())
}

/// What a comparison of a column with a value says.
fn compared<'f>(operator: &str, mirrored: bool, value: &'f TypedExpr) -> Option<Says<'f>> {
    Some(match (operator, mirrored) {
        ("=", _) => Says::Equal(value),
        (">", false) | ("<", true) => Says::Lower(value, false),
        (">=", false) | ("<=", true) => Says::Lower(value, true),
        ("<", false) | (">", true) => Says::Upper(value, false),
        ("<=", false) | (">=", true) => Says::Upper(value, true),
        _ => return None,
    })
}

fn plain_term<'f>(read: &Read<'_>, expr: &'f TypedExpr) -> Option<(usize, Says<'f>)> {
    match &expr.kind {
        ExprKind::Call { function, args } => {
            let operator = function.operator?;
            let [left, right] = args.as_slice() else { return None };
            if operator == "= ANY" {
                let at = column(read, left)?;
                let SqlType::Array(element) = &right.ty else { return None };
                let fits = is_fixed(right) && comparable(&read.table.columns[at].ty, element);
                return fits.then_some((at, Says::Any(Cow::Borrowed(right))));
            }
            if operator == "~" {
                let at = column(read, left)?;
                let ExprKind::Literal(Value::Text(pattern)) = &right.kind else { return None };
                let prefix = prefix_of_matches(pattern).filter(|_| is_text(&read.table.columns[at].ty))?;
                return Some((at, Says::Prefix(prefix.to_owned())));
            }
            let (at, value, mirrored) = match column(read, left) {
                Some(at) => (at, right, false),
                None => (column(read, right)?, left, true),
            };
            if !is_fixed(value) || !comparable(&read.table.columns[at].ty, &value.ty) {
                return None;
            }
            Some((at, compared(operator, mirrored, value)?))
        }
        ExprKind::InList { arg, list, negated: false } => {
            let at = column(read, arg)?;
            let fits =
                |value: &TypedExpr| is_fixed(value) && comparable(&read.table.columns[at].ty, &value.ty);
            list.iter().all(fits).then_some((at, Says::In(Cow::Borrowed(list))))
        }
        // Shared: it is computed once, whoever reads it.
        ExprKind::Subquery { plan, outer, test: SubqueryTest::In { negated: false }, args }
            if outer.is_empty() && matches!(**plan, Plan::Shared { .. }) =>
        {
            let output = plan.output();
            let ([arg], [element]) = (args.as_slice(), output.as_slice()) else { return None };
            let at = column(read, arg)?;
            let fits = !plan.is_volatile() && comparable(&read.table.columns[at].ty, &element.ty);
            let kind = ExprKind::Subquery {
                // Another subquery over the same rows: what is known of one is not what the other asks.
                plan: Arc::new(Plan::clone(plan)),
                outer: Vec::new(),
                test: SubqueryTest::Array,
                args: Vec::new(),
            };
            let array = TypedExpr::new(kind, SqlType::Array(Box::new(element.ty.clone())));
            fits.then_some((at, Says::Any(Cow::Owned(array))))
        }
        // `(a, b) < (c, d)` is CASE WHEN a = c THEN b < d ELSE a < c END.
        ExprKind::Case { branches, otherwise: Some(otherwise) } if branches.len() == 1 => {
            let says = |expr: &'f TypedExpr| match &expr.kind {
                ExprKind::Call { .. } => plain_term(read, expr),
                _ => None,
            };
            let (first, equal) = says(&branches[0].0)?;
            let (at, bound) = says(otherwise)?;
            // Any other CASE says nothing: its first branch may hold where its second one would not.
            match (equal, bound) {
                (Says::Equal(one), Says::Lower(value, _)) if first == at && same(one, value) => {
                    Some((at, Says::From(value)))
                }
                (Says::Equal(one), Says::Upper(value, _)) if first == at && same(one, value) => {
                    Some((at, Says::To(value)))
                }
                _ => None,
            }
        }
        // Rows of NULLs are NULL, too, and have keys.
        ExprKind::IsNull { arg, negated: false } if !arg.ty.is_row() => {
            Some((column(read, arg)?, Says::Null))
        }
        ExprKind::Like { arg, pattern, escape: None, negated: false, case_insensitive: false } => {
            let at = column(read, arg)?;
            let ExprKind::Literal(Value::Text(pattern)) = &pattern.kind else { return None };
            let end = pattern.find(['%', '_', '\\'])?;
            (end > 0 && is_text(&read.table.columns[at].ty))
                .then(|| (at, Says::Prefix(pattern[..end].to_string())))
        }
        _ => None,
    }
}

/// What every text that a regular expression matches begins with: `^abc[0-9]`, `^abc*`.
fn prefix_of_matches(pattern: &str) -> Option<&str> {
    let rest = pattern.strip_prefix('^').filter(|rest| !rest.contains('|'))?;
    let end = rest.find(['^', '$', '.', '[', ']', '(', ')', '*', '+', '?', '{', '}', '\\']);
    let (prefix, behind) = rest.split_at(end.unwrap_or(rest.len()));
    let prefix = match behind.chars().next() {
        // The last letter need not be there.
        Some('*' | '?' | '{') => &prefix[..prefix.char_indices().next_back()?.0],
        _ => prefix,
    };
    (!prefix.is_empty()).then_some(prefix)
}

#[cfg(test)]
mod tests {
    use super::{behind, prefix_of_matches};

    #[test]
    fn matches_of_an_anchored_pattern_begin_with_its_letters() {
        let cases = [
            ("^abc", Some("abc")),
            ("^u99[0-9]@", Some("u99")),
            ("^abc*", Some("ab")),
            ("^äö?", Some("ä")),
            ("^ab{0,3}", Some("a")),
            ("^ab+", Some("ab")),
            ("^a\\.b", Some("a")),
            ("^a?", None),
            ("abc", None),
            ("^abc|d", None),
            ("^(abc)", None),
            ("(?i)^abc", None),
            ("^", None),
        ];
        for (pattern, prefix) in cases {
            assert_eq!(prefix_of_matches(pattern), prefix, "{pattern}");
        }
    }

    #[test]
    fn the_text_behind_a_prefix_is_the_least_that_does_not_begin_with_it() {
        assert_eq!(behind("abc").as_deref(), Some("abd"));
        assert_eq!(behind("a\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(behind("\u{d7ff}").as_deref(), Some("\u{e000}"));
        assert_eq!(behind("\u{10ffff}"), None);
    }
}
