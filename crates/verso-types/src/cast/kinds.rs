//! Which casts there are, and where they happen by themselves: PostgreSQL's `pg_cast`.

use crate::geometry;
use crate::names;
use crate::sqltype::{RowType, SqlType};
use crate::system_type::SystemType;

/// Where a cast is applied without being asked for; each kind includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CastKind {
    /// In any expression.
    Implicit,
    /// Of a side of a comparison: as `Implicit`, but a moment out of range is one beyond all others.
    Compared,
    /// When a value is assigned to a column or variable.
    Assignment,
    /// Only where `CAST` or `::` is written.
    Explicit,
}

/// The weakest context in which `from` is cast to `to`; `None` where no cast leads there. Modifiers play no part.
pub fn cast_kind(from: &SqlType, to: &SqlType) -> Option<CastKind> {
    use CastKind::{Assignment, Explicit, Implicit};
    use SqlType as T;
    if from.same_base(to) {
        return Some(Implicit);
    }
    match (from, to) {
        (T::Domain(domain), to) => return cast_kind(&domain.base, to),
        (from, T::Domain(domain)) => return cast_kind(from, &domain.base),
        (T::Collated(collated), to) => return cast_kind(&collated.base, to),
        (from, T::Collated(collated)) => return cast_kind(from, &collated.base),
        _ => {}
    }
    let plain = |ty: &SqlType| matches!(ty, T::LongNumeric(_)).then_some(T::Numeric(None));
    let (plain_from, plain_to) = (plain(from), plain(to));
    let (from, to) = (plain_from.as_ref().unwrap_or(from), plain_to.as_ref().unwrap_or(to));
    Some(match (from, to) {
        // through text, as every type
        (T::Void, T::Text | T::Varchar(_) | T::Char(_) | T::Name) => Assignment,
        (T::Void | T::Named(_), _) | (_, T::Void | T::Named(_)) => return None,
        (T::Unknown, _) => Implicit,
        (_, T::Unknown) => return None,
        // numbers: up is implicit, down an assignment
        (T::Int2, T::Int4 | T::Int8 | T::Numeric(_) | T::Float4 | T::Float8 | T::Oid) => Implicit,
        (T::Int4, T::Int8 | T::Numeric(_) | T::Float4 | T::Float8 | T::Oid) => Implicit,
        (T::Int8, T::Numeric(_) | T::Float4 | T::Float8 | T::Oid) => Implicit,
        (T::Numeric(_), T::Float4 | T::Float8) | (T::Float4, T::Float8) => Implicit,
        (T::Int4, T::Int2) | (T::Int8, T::Int2 | T::Int4) => Assignment,
        (T::Numeric(_), to) if to.is_integer() => Assignment,
        (T::Float4 | T::Float8, to) if to.is_number() => Assignment,
        (T::Oid, T::Int4 | T::Int8) => Assignment,
        (T::Bool, T::Int4) | (T::Int4, T::Bool) => Explicit,
        (T::Range(from), T::Multirange(to)) if from.is_same(to) => Explicit,
        (T::Bit(_), T::Varbit(_)) | (T::Varbit(_), T::Bit(_)) => Implicit,
        (T::Bit(_), T::Int4 | T::Int8) | (T::Int4 | T::Int8, T::Bit(_)) => Explicit,
        (T::Bytea, T::Int2 | T::Int4 | T::Int8) | (T::Int2 | T::Int4 | T::Int8, T::Bytea) => Explicit,
        (T::Time(_), T::Timetz(_)) => Implicit,
        (T::Timetz(_), T::Time(_)) | (T::Timestamptz(_), T::Timetz(_)) => Assignment,
        (T::System(_), _) | (_, T::System(_)) => return system_cast_kind(from, to),
        // dates and times
        (T::Date, T::Timestamp(_) | T::Timestamptz(_)) | (T::Timestamp(_), T::Timestamptz(_)) => Implicit,
        (T::Time(_), T::Interval(_)) => Implicit,
        (T::Timestamp(_), T::Date | T::Time(_))
        | (T::Timestamptz(_), T::Date | T::Time(_) | T::Timestamp(_)) => Assignment,
        (T::Interval(_), T::Time(_)) => Assignment,
        // the character types among themselves
        (T::Name, T::Varchar(_) | T::Char(_)) => Assignment,
        (from, to) if from.is_text() && to.is_text() => Implicit,
        // element by element
        // No array becomes a vector.
        (T::Array(_), T::Array(to)) if matches!(**to, T::System(ty) if ty.is_vector_element()) => {
            return None;
        }
        (T::Array(from), T::Array(to)) => return cast_kind(from, to),
        // json and jsonb through text, and scalars out of a jsonb
        (T::Json, T::Jsonb) | (T::Jsonb, T::Json) => Assignment,
        (T::Jsonb, T::Bool | T::Numeric(_) | T::Float4 | T::Float8) => Explicit,
        (T::Jsonb, to) if to.is_integer() => Explicit,
        // rows as those of a composite type, field by field; and the other way
        (T::Record, T::Row(_)) | (T::Row(_), T::Record) => Implicit,
        (T::Row(from), T::Row(to)) if from.of.is_none() || to.of.is_none() => Implicit,
        (T::Row(from), T::Row(to)) if is_part(from, to) => Implicit,
        // through text: every type becomes text by assignment, text becomes every type when asked
        (_, to) if to.is_text() => Assignment,
        (_, T::Record) => return None,
        (_, T::Row(row)) if row.of.is_none() => return None,
        (from, _) if from.is_text() => Explicit,
        _ => return None,
    })
}

/// Whether rows of the one type are rows of the other as well.
fn is_part(from: &RowType, to: &RowType) -> bool {
    match (&from.of, &to.of) {
        (Some(from), Some(to)) => from.oid != to.oid && names::are_rows_of(from.oid, to.oid),
        _ => false,
    }
}

/// As [`cast_kind`], where one side is a type of the system catalogs.
fn system_cast_kind(from: &SqlType, to: &SqlType) -> Option<CastKind> {
    use CastKind::{Assignment, Explicit, Implicit};
    use SqlType as T;
    use SystemType as S;
    Some(match (from, to) {
        (T::System(S::Citext), T::Text | T::Varchar(_)) => Implicit,
        (T::System(S::VectorInt2), T::System(_)) | (T::System(S::VectorOid), T::System(_)) => {
            let plain = if *from == T::System(S::VectorInt2) { T::Int2 } else { T::Oid };
            return cast_kind(&plain, to);
        }
        (T::System(S::VectorInt2), to) => return cast_kind(&T::Int2, to),
        (T::System(S::VectorOid), to) => return cast_kind(&T::Oid, to),
        (from, T::System(S::VectorInt2)) => return cast_kind(from, &T::Int2),
        (from, T::System(S::VectorOid)) => return cast_kind(from, &T::Oid),
        (T::System(from), T::Oid) if from.is_reference() => Implicit,
        (T::System(from), T::Int4 | T::Int8) if from.is_reference() => Assignment,
        (T::Oid | T::Int2 | T::Int4 | T::Int8, T::System(to)) if to.is_reference() => Implicit,
        (T::System(S::Regproc), T::System(S::Regprocedure))
        | (T::System(S::Regprocedure), T::System(S::Regproc))
        | (T::System(S::Regoper), T::System(S::Regoperator))
        | (T::System(S::Regoperator), T::System(S::Regoper)) => Implicit,
        (T::Text | T::Varchar(_), T::System(S::Regclass)) => Implicit,
        (T::System(S::Char), T::Int4) | (T::Int4, T::System(S::Char)) => Explicit,
        (T::Text | T::Varchar(_) | T::Char(_), T::System(S::Char)) => Assignment,
        (T::System(S::Xid8), T::System(S::Xid)) => Explicit,
        (T::System(S::Char), T::Text) | (T::System(S::NodeTree), T::Text) => Implicit,
        (T::System(S::Cidr), T::System(S::Inet)) => Implicit,
        (T::System(S::Inet), T::System(S::Cidr)) => Assignment,
        (T::System(S::Macaddr), T::System(S::Macaddr8)) | (T::System(S::Macaddr8), T::System(S::Macaddr)) => {
            Implicit
        }
        (T::System(from), T::System(to)) if from.is_geometric() => return geometry::cast_kind(*from, *to),
        (T::System(S::Money), T::Numeric(_)) => Assignment,
        (T::Int4 | T::Int8 | T::Numeric(_), T::System(S::Money)) => Assignment,
        (T::Array(element), T::System(S::Hstore)) if **element == T::Text => Explicit,
        (T::System(S::Hstore), T::Json | T::Jsonb) => Explicit,
        // Through text go strings only, not all types whose values are texts here.
        (_, to) if is_string(to) => Assignment,
        (from, T::System(_)) if is_string(from) => Explicit,
        (T::System(S::Citext), T::Record) => return None,
        (T::System(S::Citext), T::Row(row)) if row.of.is_none() => return None,
        (T::System(S::Citext), _) => Explicit,
        _ => return None,
    })
}

/// Whether a type is in the category of strings.
pub(super) fn is_string(ty: &SqlType) -> bool {
    ty.is_text() && !matches!(ty, SqlType::System(system) if *system != SystemType::Citext)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TimeStyle;
    use crate::cast::cast;
    use crate::text::parse_text;
    use crate::text::tests::named_type;

    /// Columns: from, to, `pg_cast.castcontext` (or what casts through text allow, - for none).
    #[test]
    fn the_matrix_of_casts_is_pg_cast_s() {
        let types = [
            SqlType::Bool,
            SqlType::Int2,
            SqlType::Int4,
            SqlType::Int8,
            SqlType::Float4,
            SqlType::Float8,
            SqlType::Numeric(None),
            SqlType::Text,
            SqlType::Varchar(None),
            SqlType::Char(None),
            SqlType::Name,
            SqlType::Bytea,
            SqlType::Date,
            SqlType::Time(None),
            SqlType::Timestamp(None),
            SqlType::Timestamptz(None),
            SqlType::Interval(None),
            SqlType::Uuid,
            SqlType::Oid,
        ];
        let find = |name: &str| types.iter().find(|ty| ty.internal_name() == name).expect("a type");
        for line in include_str!("../../testdata/cast_kinds.tsv").lines() {
            let [from, to, context] = line.split('\t').collect::<Vec<_>>().try_into().expect("three columns");
            let expected = match context {
                "i" => Some(CastKind::Implicit),
                "a" => Some(CastKind::Assignment),
                "e" => Some(CastKind::Explicit),
                _ => None,
            };
            assert_eq!(cast_kind(find(from), find(to)), expected, "{from} to {to}");
        }
        assert_eq!(cast_kind(&SqlType::Unknown, &SqlType::Uuid), Some(CastKind::Implicit));
        assert_eq!(cast_kind(&SqlType::Void, &SqlType::Text), Some(CastKind::Assignment));
        assert_eq!(cast_kind(&SqlType::Void, &SqlType::Int4), None);
    }

    #[test]
    fn a_cast_that_has_no_kind_is_refused_and_others_work() {
        let tz = TimeStyle::UTC;
        let samples = [
            "boolean",
            "smallint",
            "integer",
            "bigint",
            "oid",
            "real",
            "double precision",
            "numeric",
            "text",
            "varchar(3)",
            "char(3)",
            "bytea",
            "date",
            "time",
            "timestamp",
            "timestamptz",
            "interval",
            "uuid",
            "text[]",
        ];
        let value = |ty: &SqlType| match ty {
            SqlType::Date | SqlType::Timestamp(_) | SqlType::Timestamptz(_) => {
                parse_text(ty, "2021-03-04", &tz)
            }
            SqlType::Uuid => parse_text(ty, &"0".repeat(32), &tz),
            SqlType::Time(_) => parse_text(ty, "01:00", &tz),
            SqlType::Array(_) => parse_text(ty, "{1}", &tz),
            _ => parse_text(ty, "1", &tz),
        };
        for (from, to) in samples.iter().flat_map(|from| samples.iter().map(move |to| (from, to))) {
            let (source, target) = (named_type(from), named_type(to));
            let result = cast(&value(&source).expect("valid"), &source, &target, CastKind::Explicit, &tz);
            let refused = result.is_err_and(|error| error.sqlstate == "42846");
            assert_eq!(refused, cast_kind(&source, &target).is_none(), "{from} to {to}");
        }
    }
}
