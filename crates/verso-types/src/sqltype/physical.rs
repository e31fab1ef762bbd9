//! How columns of types lie in memory and on pages.

use super::SqlType;

/// How a column vector of a type is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Physical {
    /// One byte, 0 or 1.
    Bool = 1,
    /// Two bytes.
    I16 = 2,
    /// Four bytes.
    I32 = 3,
    /// Eight bytes.
    I64 = 4,
    /// Sixteen bytes.
    I128 = 5,
    /// IEEE 754 single.
    F32 = 6,
    /// IEEE 754 double.
    F64 = 7,
    /// Any number of bytes.
    Bytes = 8,
}

impl Physical {
    /// Bytes of one value, `None` for variable length.
    pub const fn width(self) -> Option<usize> {
        match self {
            Physical::Bool => Some(1),
            Physical::I16 => Some(2),
            Physical::I32 | Physical::F32 => Some(4),
            Physical::I64 | Physical::F64 => Some(8),
            Physical::I128 => Some(16),
            Physical::Bytes => None,
        }
    }

    /// The layout whose number (`as u8`) is `code`.
    pub const fn from_code(code: u8) -> Option<Physical> {
        Some(match code {
            1 => Physical::Bool,
            2 => Physical::I16,
            3 => Physical::I32,
            4 => Physical::I64,
            5 => Physical::I128,
            6 => Physical::F32,
            7 => Physical::F64,
            8 => Physical::Bytes,
            _ => return None,
        })
    }
}

impl SqlType {
    /// The layout of this type's column vectors.
    pub fn physical(&self) -> Physical {
        match self {
            SqlType::Bool => Physical::Bool,
            SqlType::Int2 => Physical::I16,
            SqlType::Int4 | SqlType::Date => Physical::I32,
            SqlType::Int8 | SqlType::Oid | SqlType::Enum(_) => Physical::I64,
            SqlType::Time(_) | SqlType::Timestamp(_) | SqlType::Timestamptz(_) => Physical::I64,
            SqlType::Float4 => Physical::F32,
            SqlType::Float8 => Physical::F64,
            SqlType::Numeric(Some(spec)) if spec.is_small() => Physical::I64,
            SqlType::Numeric(Some(_)) | SqlType::Interval(_) | SqlType::Uuid => Physical::I128,
            SqlType::System(system) => system.physical(),
            SqlType::Domain(domain) => domain.base.physical(),
            SqlType::Collated(collated) => collated.base.physical(),
            SqlType::Numeric(None)
            | SqlType::LongNumeric(_)
            | SqlType::Text
            | SqlType::Varchar(_)
            | SqlType::Char(_)
            | SqlType::Bytea
            | SqlType::Name
            | SqlType::Void
            | SqlType::Unknown
            | SqlType::Array(_)
            | SqlType::Record
            | SqlType::Row(_)
            | SqlType::Json
            | SqlType::Jsonb
            | SqlType::Timetz(_)
            | SqlType::Bit(_)
            | SqlType::Varbit(_)
            | SqlType::Range(_)
            | SqlType::Multirange(_)
            | SqlType::Named(_) => Physical::Bytes,
        }
    }

    /// Whether the columns of both types lie alike, so that one may be read as the other: where a number has another scale, or none,
    /// its column means something else.
    pub fn same_form(&self, other: &SqlType) -> bool {
        match (self, other) {
            (SqlType::Domain(domain), other) | (other, SqlType::Domain(domain)) => {
                domain.base.same_form(other)
            }
            (SqlType::Collated(of), other) | (other, SqlType::Collated(of)) => of.base.same_form(other),
            (SqlType::Numeric(Some(a)), SqlType::Numeric(Some(b))) => {
                (a.scale, a.is_small()) == (b.scale, b.is_small())
            }
            (SqlType::Numeric(Some(_)), _) | (_, SqlType::Numeric(Some(_))) => false,
            (a, b) => a.physical() == b.physical(),
        }
    }

    /// PostgreSQL's `pg_type.typlen`: the width of fixed types, -1 for variable ones, -2 for `unknown`.
    pub fn typlen(&self) -> i16 {
        match self {
            SqlType::Bool => 1,
            SqlType::Int2 => 2,
            SqlType::Int4 | SqlType::Float4 | SqlType::Date | SqlType::Oid | SqlType::Void => 4,
            SqlType::Enum(_) => 4,
            SqlType::Int8 | SqlType::Float8 => 8,
            SqlType::Time(_) | SqlType::Timestamp(_) | SqlType::Timestamptz(_) => 8,
            SqlType::Timetz(_) => 12,
            SqlType::Interval(_) | SqlType::Uuid => 16,
            SqlType::Name => 64,
            SqlType::Unknown => -2,
            SqlType::System(system) => system.typlen(),
            SqlType::Domain(domain) => domain.base.typlen(),
            SqlType::Collated(collated) => collated.base.typlen(),
            _ => -1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqltype::NumericSpec;

    #[test]
    fn numbers_of_another_scale_have_another_form() {
        let scaled = |precision, scale| SqlType::Numeric(NumericSpec::new(precision, scale));
        assert!(scaled(6, 2).same_form(&scaled(8, 2)));
        assert!(!scaled(6, 2).same_form(&scaled(6, 3)));
        assert!(!scaled(6, 2).same_form(&scaled(30, 2)));
        assert!(!scaled(6, 2).same_form(&SqlType::Numeric(None)));
        assert!(!SqlType::Numeric(None).same_form(&scaled(30, 4)));
        assert!(!scaled(6, 0).same_form(&SqlType::Int8));
        assert!(SqlType::Varchar(Some(3)).same_form(&SqlType::Text));
        assert!(SqlType::Timestamp(Some(0)).same_form(&SqlType::Timestamp(None)));
    }

    #[test]
    fn physical_codes_are_stable() {
        for code in 0..=u8::MAX {
            assert_eq!(Physical::from_code(code).map(|p| p as u8), (1..=8).contains(&code).then_some(code));
        }
    }
}
