//! Which types PostgreSQL's operator of a name takes its operands as.
//!
//! Verso has fewer operators: one `+` of integers, whose operands are brought to one type; PostgreSQL has one for each pair of
//! them. What is shown are the casts that PostgreSQL makes.

use verso_types::{SqlType, SystemType};

/// Texts of `citext`.
const CITEXT: SqlType = SqlType::System(SystemType::Citext);

/// The types of both operands. `traced`: how Verso's operator takes them, where that is known.
pub(super) fn taken(op: &str, types: &[SqlType; 2], traced: Option<&[SqlType]>) -> [SqlType; 2] {
    use SqlType::{
        Date, Int2, Int4, Int8, Name, Numeric, Oid, Text, Timestamp, Timestamptz, Unknown, Varchar,
    };
    let [left, right] = types;
    if types.contains(&CITEXT)
        && let Some(taken) = beside_citext(op, types)
    {
        return taken;
    }
    let compares = matches!(op, "=" | "<>" | "<" | ">" | "<=" | ">=");
    let adds = matches!(op, "+" | "-" | "*" | "/");
    let both = |ty: SqlType| [ty.clone(), ty];
    let own = || [left.without_modifiers(), right.without_modifiers()];
    let is_text = |ty: &SqlType| matches!(ty, Text | Varchar(_));
    let is_int = |ty: &SqlType| matches!(ty, Int2 | Int4 | Int8);
    let is_float = |ty: &SqlType| matches!(ty, SqlType::Float4 | SqlType::Float8);
    let is_numeric = |ty: &SqlType| matches!(ty, Numeric(_) | SqlType::LongNumeric(_));
    let is_time = |ty: &SqlType| matches!(ty, Date | Timestamp(_) | Timestamptz(_));
    match (left, right) {
        (Unknown, Unknown) => both(Text),
        (Text | Varchar(_), Unknown) | (Unknown, Text | Varchar(_)) => both(Text),
        (SqlType::Char(_), Unknown | SqlType::Char(_)) | (Unknown, SqlType::Char(_)) => match op {
            "||" => both(Text),
            "~" | "!~" | "~*" | "!~*" => [SqlType::Char(None), Text],
            _ => both(SqlType::Char(None)),
        },
        (Name, other) | (other, Name) if compares && is_text(other) => match left {
            Name => [Name, Text],
            _ => [Text, Name],
        },
        (Name, Unknown) if matches!(op, "~" | "!~" | "~*" | "!~*") => [Name, Text],
        (a, b) if is_text(a) && is_text(b) => both(Text),
        (a, SqlType::Char(_)) | (SqlType::Char(_), a) if is_text(a) => both(Text),
        // a text and something else: either side is shown as it is
        (a, b) if op == "||" && is_text(a) && !matches!(b, SqlType::Array(_)) => {
            [Text, b.without_modifiers()]
        }
        (a, b) if op == "||" && is_text(b) && !matches!(a, SqlType::Array(_)) => {
            [a.without_modifiers(), Text]
        }
        (a, b) if is_int(a) && is_int(b) && (compares || adds) => own(),
        (a, b) if is_float(a) && is_float(b) && (compares || adds) => own(),
        (a, b) if is_time(a) && is_time(b) && compares => own(),
        (a, b) if is_int(a) && is_int(b) && matches!(op, "<<" | ">>") => [a.clone(), Int4],
        (a, b) if (is_int(a) || is_numeric(a)) && (is_int(b) || is_numeric(b)) => match op {
            "^" if is_int(a) && is_int(b) => both(SqlType::Float8),
            _ if is_int(a) && is_int(b) => both(if *a == Int8 || *b == Int8 { Int8 } else { Int4 }),
            _ => both(Numeric(None)),
        },
        (a, b) if number(a) && number(b) && *a != Oid && *b != Oid => both(SqlType::Float8),
        (Oid, b) if is_int(b) => both(Oid),
        (a, Oid) if is_int(a) => both(Oid),
        _ => match traced {
            Some([left, right]) => [left.clone(), right.clone()],
            _ if *left == Unknown => both(right.without_modifiers()),
            _ if *right == Unknown => both(left.without_modifiers()),
            _ => own(),
        },
    }
}

/// The same where a side is of `citext`: its own operators compare two such values and look for a pattern in one; all else takes it as
/// the text that it is. Verso compares keys in place of the values, which nobody is to see.
fn beside_citext(op: &str, [left, right]: &[SqlType; 2]) -> Option<[SqlType; 2]> {
    let is_own = |ty: &SqlType| matches!(ty, SqlType::System(SystemType::Citext) | SqlType::Unknown);
    let is_pattern = matches!(op, "~" | "!~" | "~*" | "!~*" | "~~" | "!~~" | "~~*" | "!~~*");
    let compares = matches!(op, "=" | "<>" | "<" | ">" | "<=" | ">=" | "~<~" | "~<=~" | "~>~" | "~>=~");
    if is_own(left) && is_own(right) && (is_pattern || compares) {
        return Some([CITEXT, CITEXT]);
    }
    match (left, right) {
        (SqlType::System(SystemType::Citext), ty) if is_pattern && ty.is_text() => {
            Some([CITEXT, SqlType::Text])
        }
        (a, b) if [a, b].into_iter().all(|ty| is_own(ty) || ty.is_text()) => {
            Some([SqlType::Text, SqlType::Text])
        }
        _ => None,
    }
}

fn number(ty: &SqlType) -> bool {
    ty.is_number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_cast_as_postgresql_casts_them() {
        use SqlType::{Float8, Int2, Int4, Int8, Text, Unknown, Varchar};
        let numeric = SqlType::Numeric(None);
        for (op, types, expected) in [
            ("=", [Varchar(Some(3)), Unknown], [Text, Text]),
            ("+", [Int2, Int8], [Int2, Int8]),
            ("%", [Int4, Int8], [Int8, Int8]),
            ("*", [numeric.clone(), Int4], [numeric.clone(), numeric.clone()]),
            ("^", [Int4, Int4], [Float8, Float8]),
            ("<", [Int4, Float8], [Float8, Float8]),
            ("||", [Text, Int4], [Text, Int4]),
            ("<>", [CITEXT, Unknown], [CITEXT, CITEXT]),
            ("~~", [Unknown, CITEXT], [CITEXT, CITEXT]),
            ("~~", [CITEXT, Varchar(None)], [CITEXT, Text]),
            ("~~", [Text, CITEXT], [Text, Text]),
            ("=", [CITEXT, Text], [Text, Text]),
            ("||", [CITEXT, Unknown], [Text, Text]),
            ("<", [SqlType::Date, SqlType::Timestamp(None)], [SqlType::Date, SqlType::Timestamp(None)]),
        ] {
            assert_eq!(taken(op, &types, None), expected, "{types:?} {op}");
        }
    }
}
