//! What a condition says about single columns.

use verso_catalog::TableDef;
use verso_exec::functions::Volatility;
use verso_exec::plan::{CastKind, ExprKind, IndexAccess, TypedExpr};
use verso_types::{SqlType, Value};

use super::derived::Derived;

/// A conjunct that says something about one column.
pub(super) struct Term<'f> {
    /// The column's number in storage.
    pub column: u16,
    /// Which conjunct of the filter.
    pub conjunct: usize,
    pub says: Says<'f>,
}

/// What it says.
pub(super) enum Says<'f> {
    Equal(&'f TypedExpr),
    In(&'f [TypedExpr]),
    Null,
    /// At least this value, or (`false`) greater.
    Lower(&'f TypedExpr, bool),
    /// At most this value, or (`false`) less.
    Upper(&'f TypedExpr, bool),
    /// Begins with this text.
    Prefix(String),
}

impl Term<'_> {
    /// Narrows the range of an access, where it has no such bound yet.
    pub fn bound(&self, access: &mut IndexAccess, said: &mut Vec<usize>) {
        match &self.says {
            Says::Lower(value, inclusive) if access.lower.is_none() => {
                access.lower = Some(((*value).clone(), *inclusive));
                said.push(self.conjunct);
            }
            Says::Upper(value, inclusive) if access.upper.is_none() => {
                access.upper = Some(((*value).clone(), *inclusive));
                said.push(self.conjunct);
            }
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
    let mut terms = Vec::new();
    let mut n = 0;
    for_each_conjunct(filter, &mut |conjunct| {
        if let Some((at, says)) = term(&read, conjunct) {
            terms.push(Term { column: table.columns[at].id, conjunct: n, says });
        }
        n += 1;
    });
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
    matches!(ty, SqlType::Text | SqlType::Varchar(_) | SqlType::Name)
}

/// Whether a value of type `other` can be looked up among the keys of a column.
fn comparable(own: &SqlType, other: &SqlType) -> bool {
    (own.is_integer() && other.is_integer())
        || (is_text(own) && is_text(other))
        || (matches!(own, SqlType::Numeric(_)) && matches!(other, SqlType::Numeric(_)))
        || (!own.is_number() && !own.is_text() && own.same_base(other))
        || (own.is_number() && own.same_base(other))
        || (matches!(own, SqlType::Char(_)) && matches!(other, SqlType::Char(_)))
}

/// Whether an expression has one value for the whole statement.
pub(super) fn is_fixed(expr: &TypedExpr) -> bool {
    !expr.any(&mut |part| match &part.kind {
        ExprKind::Column(_) | ExprKind::UserCall { .. } => true,
        ExprKind::Subquery { plan, .. } => plan.is_volatile(),
        ExprKind::Call { function, .. } => function.volatility == Volatility::Volatile,
        _ => false,
    })
}

fn term<'f>(read: &Read<'_>, expr: &'f TypedExpr) -> Option<(usize, Says<'f>)> {
    match &expr.kind {
        ExprKind::Call { function, args } => {
            let operator = function.operator?;
            let [left, right] = args.as_slice() else { return None };
            let (at, value, mirrored) = match column(read, left) {
                Some(at) => (at, right, false),
                None => (column(read, right)?, left, true),
            };
            if !is_fixed(value) || !comparable(&read.table.columns[at].ty, &value.ty) {
                return None;
            }
            let says = match (operator, mirrored) {
                ("=", _) => Says::Equal(value),
                (">", false) | ("<", true) => Says::Lower(value, false),
                (">=", false) | ("<=", true) => Says::Lower(value, true),
                ("<", false) | (">", true) => Says::Upper(value, false),
                ("<=", false) | (">=", true) => Says::Upper(value, true),
                _ => return None,
            };
            Some((at, says))
        }
        ExprKind::InList { arg, list, negated: false } => {
            let at = column(read, arg)?;
            let fits =
                |value: &TypedExpr| is_fixed(value) && comparable(&read.table.columns[at].ty, &value.ty);
            list.iter().all(fits).then_some((at, Says::In(list)))
        }
        ExprKind::IsNull { arg, negated: false } => Some((column(read, arg)?, Says::Null)),
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

#[cfg(test)]
mod tests {
    use super::behind;

    #[test]
    fn the_text_behind_a_prefix_is_the_least_that_does_not_begin_with_it() {
        assert_eq!(behind("abc").as_deref(), Some("abd"));
        assert_eq!(behind("a\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(behind("\u{d7ff}").as_deref(), Some("\u{e000}"));
        assert_eq!(behind("\u{10ffff}"), None);
    }
}
