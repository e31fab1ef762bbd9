//! The names of types: as messages, casts and the system catalogs spell them.

use std::fmt;

use super::SqlType;
use crate::names;

impl SqlType {
    /// The name of the vector that it is, and of no array: `int2vector`, `oidvector`.
    pub fn vector_name(&self) -> Option<&'static str> {
        match self {
            SqlType::Array(element) => match &**element {
                SqlType::System(system) => system.vector_name(),
                _ => None,
            },
            _ => None,
        }
    }

    /// Its name where a call is named: without modifiers, and `character` for what is written `bpchar`.
    pub fn name_in_call(&self) -> String {
        match self {
            SqlType::Char(_) => "character".to_owned(),
            ty => ty.without_modifiers().pg_name(),
        }
    }

    /// The name as PostgreSQL's `format_type` spells it, with modifiers: `numeric(18,2)`.
    pub fn pg_name(&self) -> String {
        self.to_string()
    }

    /// The name where a type is meant whatever its modifiers, as `regtype` spells it: `char(n)` is `character` then, not `bpchar`.
    pub fn regtype_name(&self) -> String {
        match self {
            SqlType::Char(None) | SqlType::Bit(None) => self.base_name().to_string(),
            SqlType::Array(element) if matches!(**element, SqlType::Char(None) | SqlType::Bit(None)) => {
                element.regtype_name() + "[]"
            }
            other => other.pg_name(),
        }
    }

    /// The name without modifiers, as error messages spell it: `numeric`, `timestamp without time zone`.
    pub fn base_name(&self) -> &'static str {
        match self {
            SqlType::Bool => "boolean",
            SqlType::Int2 => "smallint",
            SqlType::Int4 => "integer",
            SqlType::Int8 => "bigint",
            SqlType::Float4 => "real",
            SqlType::Float8 => "double precision",
            SqlType::Numeric(_) | SqlType::LongNumeric(_) => "numeric",
            SqlType::Text => "text",
            SqlType::Varchar(_) => "character varying",
            SqlType::Char(_) => "character",
            SqlType::Bytea => "bytea",
            SqlType::Date => "date",
            SqlType::Time(_) => "time without time zone",
            SqlType::Timestamp(_) => "timestamp without time zone",
            SqlType::Timestamptz(_) => "timestamp with time zone",
            SqlType::Interval(_) => "interval",
            SqlType::Timetz(_) => "time with time zone",
            SqlType::Bit(_) => "bit",
            SqlType::Varbit(_) => "bit varying",
            SqlType::Range(ty) => ty.name(false),
            SqlType::Multirange(ty) => ty.name(true),
            SqlType::Uuid => "uuid",
            SqlType::Oid => "oid",
            SqlType::Name => "name",
            SqlType::Void => "void",
            SqlType::Unknown => "unknown",
            SqlType::Array(_) => "array",
            SqlType::Record | SqlType::Row(_) => "record",
            SqlType::Json => "json",
            SqlType::Jsonb => "jsonb",
            // Their own names are known at run time only: see `pg_name`.
            SqlType::Enum(_) => "enum",
            SqlType::Domain(_) => "domain",
            SqlType::Collated(collated) => collated.base.base_name(),
            SqlType::Named(_) => "user-defined type",
            SqlType::System(system) => system.name(),
        }
    }

    /// PostgreSQL's `pg_type.typname`: `int4`, `timestamptz`, `_text`.
    pub fn internal_name(&self) -> String {
        let name = match self {
            SqlType::Bool => "bool",
            SqlType::Int2 => "int2",
            SqlType::Int4 => "int4",
            SqlType::Int8 => "int8",
            SqlType::Float4 => "float4",
            SqlType::Float8 => "float8",
            SqlType::Varchar(_) => "varchar",
            SqlType::Char(_) => "bpchar",
            SqlType::Time(_) => "time",
            SqlType::Timestamp(_) => "timestamp",
            SqlType::Timestamptz(_) => "timestamptz",
            SqlType::Timetz(_) => "timetz",
            SqlType::Varbit(_) => "varbit",
            SqlType::Array(element) => {
                let vector = self.vector_name().map(str::to_string);
                return vector.unwrap_or_else(|| format!("_{}", element.internal_name()));
            }
            SqlType::System(system) => system.internal_name(),
            SqlType::Enum(ty) => return ty.name.to_string(),
            SqlType::Range(ty) if let Some(own) = ty.own_name(false) => return own.name.to_string(),
            SqlType::Multirange(ty) if let Some(own) = ty.own_name(true) => return own.name.to_string(),
            SqlType::Domain(domain) => return domain.name.to_string(),
            SqlType::Collated(collated) => return collated.base.internal_name(),
            SqlType::Row(row) if let Some(of) = &row.of => return of.name.to_string(),
            SqlType::Named(named) => return named.name.to_string(),
            other => other.base_name(),
        };
        name.to_string()
    }
}

impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlType::Numeric(Some(spec)) => write!(f, "numeric({},{})", spec.precision, spec.scale),
            SqlType::Time(Some(digits)) => write!(f, "time({digits}) without time zone"),
            SqlType::Timetz(Some(digits)) => write!(f, "time({digits}) with time zone"),
            SqlType::Bit(Some(n)) => write!(f, "bit({n})"),
            // `bit` is `bit(1)`
            SqlType::Bit(None) => f.write_str("\"bit\""),
            SqlType::Varbit(Some(n)) => write!(f, "bit varying({n})"),
            SqlType::Timestamp(Some(digits)) => write!(f, "timestamp({digits}) without time zone"),
            SqlType::Timestamptz(Some(digits)) => write!(f, "timestamp({digits}) with time zone"),
            SqlType::Interval(Some(spec)) => match spec.fields() {
                None => write!(f, "interval{}", spec.name()),
                Some(_) => write!(f, "interval {}", spec.name()),
            },
            SqlType::LongNumeric(spec) => write!(f, "numeric({},{})", spec.precision, spec.scale),
            SqlType::Varchar(Some(n)) => write!(f, "character varying({n})"),
            SqlType::Char(Some(n)) => write!(f, "character({n})"),
            SqlType::Char(None) => f.write_str("bpchar"),
            SqlType::Array(element) => match self.vector_name() {
                Some(name) => f.write_str(name),
                None => write!(f, "{element}[]"),
            },
            SqlType::Enum(ty) => f.write_str(&ty.shown()),
            SqlType::Range(ty) if let Some(own) = ty.own_name(false) => f.write_str(&own.shown()),
            SqlType::Multirange(ty) if let Some(own) = ty.own_name(true) => f.write_str(&own.shown()),
            SqlType::Domain(domain) => f.write_str(&domain.shown()),
            SqlType::Collated(collated) => collated.base.fmt(f),
            SqlType::Row(row) if let Some(of) = &row.of => f.write_str(&of.shown()),
            SqlType::Named(name) => write!(f, "{name}"),
            // Its schema is the extension's.
            SqlType::System(system) if system.is_of_extension() => {
                f.write_str(names::type_name(system.pg_oid()).as_deref().unwrap_or(system.name()))
            }
            other => f.write_str(other.base_name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqltype::NumericSpec;

    #[test]
    fn names_and_modifiers_are_postgresql_s() {
        let money = SqlType::Numeric(NumericSpec::new(18, 2));
        assert_eq!((money.pg_name().as_str(), money.typmod()), ("numeric(18,2)", 1_179_654));
        assert_eq!(SqlType::Varchar(Some(120)).pg_name(), "character varying(120)");
        assert_eq!(SqlType::Varchar(Some(120)).typmod(), 124);
        assert_eq!(SqlType::Array(Box::new(SqlType::Int4)).pg_name(), "integer[]");
        assert_eq!(SqlType::Array(Box::new(SqlType::Int4)).internal_name(), "_int4");
        assert_eq!(SqlType::Timestamptz(None).pg_name(), "timestamp with time zone");
    }
}
