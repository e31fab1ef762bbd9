//! PostgreSQL's object ids of types and of their arrays.

use super::SqlType;
use super::modifiers::{IntervalSpec, numeric_of};
use crate::range::RangeType;
use crate::system_type::SystemType;

impl SqlType {
    /// PostgreSQL's `pg_type.oid`; an array of arrays has that of the array.
    pub fn pg_oid(&self) -> u32 {
        match self {
            SqlType::Array(element) => match &**element {
                SqlType::Array(_) => element.pg_oid(),
                element => element.array_oid(),
            },
            element => element.oids().0,
        }
    }

    /// PostgreSQL's `pg_type.typarray` of a type that is not an array itself; 0 where there is none.
    pub fn array_oid(&self) -> u32 {
        self.oids().1
    }

    /// The oids of the type and of its array.
    fn oids(&self) -> (u32, u32) {
        match self {
            SqlType::Bool => (16, 1000),
            SqlType::Int2 => (21, 1005),
            SqlType::Int4 => (23, 1007),
            SqlType::Int8 => (20, 1016),
            SqlType::Float4 => (700, 1021),
            SqlType::Float8 => (701, 1022),
            SqlType::Numeric(_) | SqlType::LongNumeric(_) => (1700, 1231),
            SqlType::Text => (25, 1009),
            SqlType::Varchar(_) => (1043, 1015),
            SqlType::Char(_) => (1042, 1014),
            SqlType::Bytea => (17, 1001),
            SqlType::Date => (1082, 1182),
            SqlType::Time(_) => (1083, 1183),
            SqlType::Timestamp(_) => (1114, 1115),
            SqlType::Timestamptz(_) => (1184, 1185),
            SqlType::Interval(_) => (1186, 1187),
            SqlType::Timetz(_) => (1266, 1270),
            SqlType::Bit(_) => (1560, 1561),
            SqlType::Varbit(_) => (1562, 1563),
            SqlType::Range(ty) => ty.oids(false),
            SqlType::Multirange(ty) => ty.oids(true),
            SqlType::Uuid => (2950, 2951),
            SqlType::Oid => (26, 1028),
            SqlType::Name => (19, 1003),
            SqlType::Void => (2278, 0),
            SqlType::Unknown => (705, 0),
            SqlType::Row(row) if let Some(of) = &row.of => (of.oid, of.array),
            SqlType::Record | SqlType::Row(_) => (2249, 2287),
            SqlType::Json => (114, 199),
            SqlType::Jsonb => (3802, 3807),
            SqlType::Enum(ty) => (ty.oid, ty.array),
            SqlType::Domain(domain) => (domain.oid, domain.array),
            SqlType::Collated(collated) => collated.base.oids(),
            SqlType::Named(_) => (0, 0),
            SqlType::System(system) => (system.pg_oid(), system.array_oid()),
            SqlType::Array(element) => (element.oids().1, 0),
        }
    }

    /// The type of a PostgreSQL oid and type modifier (-1 for none).
    pub fn from_pg_oid(oid: u32, typmod: i32) -> Option<SqlType> {
        const PLAIN: [SqlType; 27] = [
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
            SqlType::Bytea,
            SqlType::Date,
            SqlType::Time(None),
            SqlType::Timestamp(None),
            SqlType::Timestamptz(None),
            SqlType::Interval(None),
            SqlType::Uuid,
            SqlType::Oid,
            SqlType::Name,
            SqlType::Void,
            SqlType::Unknown,
            SqlType::Record,
            SqlType::Json,
            SqlType::Jsonb,
            SqlType::Timetz(None),
            SqlType::Bit(None),
            SqlType::Varbit(None),
        ];
        let plain = PLAIN.iter().find(|t| oid != 0 && (t.oids().0 == oid || t.oids().1 == oid));
        let Some(found) = plain else {
            return SqlType::system_from_oid(oid).or_else(|| SqlType::range_from_oid(oid));
        };
        let digits = u8::try_from(typmod).ok();
        let bits = u32::try_from(typmod).ok();
        let length = typmod.checked_sub(4).and_then(|n| u32::try_from(n).ok());
        let element = match found {
            SqlType::Numeric(_) => length.map_or(SqlType::Numeric(None), numeric_of),
            SqlType::Varchar(_) => SqlType::Varchar(length),
            SqlType::Char(_) => SqlType::Char(length),
            SqlType::Time(_) => SqlType::Time(digits),
            SqlType::Timetz(_) => SqlType::Timetz(digits),
            SqlType::Bit(_) => SqlType::Bit(bits),
            SqlType::Varbit(_) => SqlType::Varbit(bits),
            SqlType::Timestamp(_) => SqlType::Timestamp(digits),
            SqlType::Timestamptz(_) => SqlType::Timestamptz(digits),
            SqlType::Interval(_) => SqlType::Interval(IntervalSpec::of_typmod(typmod)),
            other => other.clone(),
        };
        Some(if found.oids().0 == oid { element } else { SqlType::Array(Box::new(element)) })
    }

    /// The type of the system catalogs, the vector or the array of one, that has this oid.
    fn system_from_oid(oid: u32) -> Option<SqlType> {
        let system = |ty| SqlType::System(ty);
        let vector = [SystemType::VectorInt2, SystemType::VectorOid];
        if let Some(element) = vector.into_iter().find(|element| element.array_oid() == oid) {
            return Some(SqlType::Array(Box::new(system(element))));
        }
        let found = SystemType::all().find(|ty| oid != 0 && (ty.pg_oid() == oid || ty.array_oid() == oid))?;
        Some(match found.pg_oid() == oid {
            true => system(found),
            false => SqlType::Array(Box::new(system(found))),
        })
    }

    /// The range, the multirange or the array of one that has this oid.
    fn range_from_oid(oid: u32) -> Option<SqlType> {
        let types = RangeType::BUILT_IN.into_iter().flat_map(|ty| [ty.clone().ty(false), ty.ty(true)]);
        types.into_iter().find_map(|ty| match ty.oids() {
            (own, _) if own == oid => Some(ty),
            (_, array) if array == oid => Some(SqlType::Array(Box::new(ty))),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqltype::{LongSpec, NumericSpec};

    #[test]
    fn oids_lead_back_to_the_type() {
        for ty in [
            SqlType::Numeric(NumericSpec::new(38, 10)),
            SqlType::LongNumeric(LongSpec { precision: 65, scale: 30 }),
            SqlType::LongNumeric(LongSpec { precision: 5, scale: -2 }),
            SqlType::LongNumeric(LongSpec { precision: 2, scale: 1000 }),
            SqlType::Numeric(None),
            SqlType::Varchar(Some(7)),
            SqlType::Char(Some(1)),
            SqlType::Array(Box::new(SqlType::Text)),
            SqlType::Uuid,
            SqlType::Record,
            SqlType::System(SystemType::Regclass),
            SqlType::Array(Box::new(SqlType::System(SystemType::AclItem))),
            SqlType::Array(Box::new(SqlType::System(SystemType::VectorInt2))),
        ] {
            assert_eq!(SqlType::from_pg_oid(ty.pg_oid(), ty.typmod()), Some(ty));
        }
        assert_eq!(SqlType::from_pg_oid(0, -1), None);
        assert_eq!(SqlType::from_pg_oid(16, i32::MIN), Some(SqlType::Bool));
    }
}
