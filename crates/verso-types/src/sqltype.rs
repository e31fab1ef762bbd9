//! The SQL types: PostgreSQL's names, object ids and type modifiers, and the physical layout of their columns.
//!
//! | type | column vector | meaning |
//! |---|---|---|
//! | bool | `Bool` | 0 or 1 |
//! | numeric(p ≤ 18, s) | `I64` | value × 10^s |
//! | numeric(p ≤ 38, s) | `I128` | value × 10^s |
//! | numeric, numeric(p,s) of more digits | `Bytes` | [`Decimal::to_bytes`](crate::Decimal::to_bytes), or [`Number::to_bytes`](crate::Number::to_bytes) |
//! | date | `I32` | days since 2000-01-01; `MIN`, `MAX` are -infinity, infinity |
//! | timestamp, timestamptz | `I64` | microseconds since 2000-01-01 (UTC for timestamptz); infinities as in date |
//! | time | `I64` | microseconds since midnight |
//! | interval | `I128` | [`Interval::pack`](crate::Interval::pack) |
//! | uuid | `I128` | the 128 bits, most significant byte first; compares as *unsigned* |
//! | oid | `I64` | 0 ..= 2^32 - 1 |
//! | text, varchar, name, bytea | `Bytes` | the bytes |
//! | char(n) | `Bytes` | without its trailing blanks; output pads, so equality, order and hash are those of the bytes |
//! | json | `Bytes` | the text as it was written |
//! | jsonb | `Bytes` | [`json`](crate::json) |
//! | domains | as the type beneath | [`domain_type`](crate::domain_type) |
//! | enums | `I64` | the label's place: [`enum_type`](crate::enum_type) |
//! | bit strings, `timetz`, addresses, `money` | `Bytes` | [`opaque`](crate::opaque) |
//! | ranges, multiranges, arrays, records, composite types | `Bytes` | the codec of [`row`](crate::row) |

mod collated;
mod modifiers;
mod names;
mod oids;
mod physical;

use std::fmt;
use std::sync::Arc;

use crate::collation::CollatedType;
use crate::composite::CompositeName;
use crate::domain_type::DomainType;
use crate::enum_type::EnumType;
use crate::range::RangeType;
use crate::system_type::SystemType;
pub use modifiers::{IntervalSpec, LongSpec, NumericSpec};
pub use physical::Physical;

/// The columns of a row.
#[derive(Debug)]
pub struct RowType {
    /// The composite type that it is; none for rows of relations and of expressions.
    pub of: Option<CompositeName>,
    /// Names and types, in order: those of the values.
    pub fields: Vec<(Arc<str>, SqlType)>,
    /// What the fields were declared as, where one of them is of a domain or has a collation.
    pub declared: Option<Box<[SqlType]>>,
}

/// Rows of no composite type are of one type where their fields are, whatever collations those have.
impl PartialEq for RowType {
    fn eq(&self, other: &Self) -> bool {
        self.of == other.of
            && self.fields == other.fields
            && (self.of.is_none() || self.declared == other.declared)
    }
}

impl Eq for RowType {}

impl std::hash::Hash for RowType {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.of.hash(state);
        self.fields.hash(state);
    }
}

impl RowType {
    /// The columns of a row of no composite type.
    pub fn unnamed(fields: Vec<(Arc<str>, SqlType)>) -> RowType {
        RowType { of: None, fields, declared: None }
    }

    /// The same of fields with collations.
    pub fn collated(mut fields: Vec<(Arc<str>, SqlType)>) -> RowType {
        let has_any = fields.iter().any(|(_, ty)| matches!(ty, SqlType::Collated(_)));
        let declared = has_any.then(|| fields.iter().map(|(_, ty)| ty.clone()).collect());
        fields.iter_mut().for_each(|(_, ty)| *ty = ty.uncollated().clone());
        RowType { of: None, fields, declared }
    }

    /// A composite type with these fields, as they are declared.
    pub fn named(of: CompositeName, mut fields: Vec<(Arc<str>, SqlType)>) -> RowType {
        let says_more = |ty: &SqlType| ty.is_constrained() || matches!(ty, SqlType::Collated(_));
        let says_more = fields.iter().any(|(_, ty)| says_more(ty));
        let declared = says_more.then(|| fields.iter().map(|(_, ty)| ty.clone()).collect());
        if says_more {
            fields.iter_mut().for_each(|(_, ty)| *ty = ty.erased());
        }
        RowType { of: Some(of), fields, declared }
    }

    /// What the field at a place was declared as, but for COLLATE.
    pub fn declared(&self, at: usize) -> &SqlType {
        self.written(at).uncollated()
    }

    /// What the field at a place was declared as, with its collation.
    pub fn written(&self, at: usize) -> &SqlType {
        self.declared.as_ref().and_then(|declared| declared.get(at)).unwrap_or(&self.fields[at].1)
    }

    /// The names of the fields, and what they were declared as, with their collations.
    pub fn as_written(&self) -> impl Iterator<Item = (&Arc<str>, &SqlType)> {
        self.fields.iter().enumerate().map(|(at, (name, _))| (name, self.written(at)))
    }

    /// The names of the fields, and what they were declared as, but for COLLATE.
    pub fn as_declared(&self) -> impl Iterator<Item = (&Arc<str>, &SqlType)> {
        self.fields.iter().enumerate().map(|(at, (name, _))| (name, self.declared(at)))
    }
}

/// The name of a user's type, as it was written: the catalog says what it means.
#[derive(Clone, Debug)]
pub struct NamedType {
    /// The schema, if one was named.
    pub schema: Option<Arc<str>>,
    /// The type's name, folded.
    pub name: Arc<str>,
    /// Where it stands in the text.
    pub at: u32,
}

/// Two that are written alike are one, wherever they stand.
impl PartialEq for NamedType {
    fn eq(&self, other: &Self) -> bool {
        (&self.schema, &self.name) == (&other.schema, &other.name)
    }
}

impl Eq for NamedType {}

impl std::hash::Hash for NamedType {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.schema, &self.name).hash(state);
    }
}

impl fmt::Display for NamedType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A type of SQL, with its modifiers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SqlType {
    /// `boolean`
    Bool,
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `real`
    Float4,
    /// `double precision`
    Float8,
    /// `numeric`, `numeric(p,s)`
    Numeric(Option<NumericSpec>),
    /// `numeric(p,s)` beyond what [`NumericSpec`] has
    LongNumeric(LongSpec),
    /// `text`
    Text,
    /// `character varying`, `character varying(n)`
    Varchar(Option<u32>),
    /// `bpchar`, `character(n)`
    Char(Option<u32>),
    /// `bytea`
    Bytea,
    /// `date`
    Date,
    /// `time without time zone`, with so many digits of a second (6 without)
    Time(Option<u8>),
    /// `timestamp without time zone`
    Timestamp(Option<u8>),
    /// `timestamp with time zone`
    Timestamptz(Option<u8>),
    /// `interval`, `interval day to second(3)`
    Interval(Option<IntervalSpec>),
    /// `time with time zone`
    Timetz(Option<u8>),
    /// `bit(n)`; without a length that of the value
    Bit(Option<u32>),
    /// `bit varying`, `bit varying(n)`
    Varbit(Option<u32>),
    /// A range
    Range(RangeType),
    /// A multirange of the ranges of this type
    Multirange(RangeType),
    /// `uuid`
    Uuid,
    /// `oid`
    Oid,
    /// `name`
    Name,
    /// `void`, the result of a function that returns nothing
    Void,
    /// `unknown`, a literal whose type the context decides
    Unknown,
    /// Array of the element type, of any dimensions
    Array(Box<SqlType>),
    /// `record`, a row whose columns are known at run time only
    Record,
    /// A type of the system catalogs: `regclass`, `"char"`, …
    System(SystemType),
    /// `record`, a row whose columns are known
    Row(Arc<RowType>),
    /// `json`
    Json,
    /// `jsonb`
    Jsonb,
    /// An enum type of the catalog.
    Enum(Arc<EnumType>),
    /// A domain; in declarations only ([`domain_type`](crate::domain_type)).
    Domain(Arc<DomainType>),
    /// A type of texts with a collation; in declarations and scopes only ([`collation`](crate::collation)).
    Collated(Arc<CollatedType>),
    /// A user's type before the catalog was asked; only in syntax trees.
    Named(Arc<NamedType>),
}

impl SqlType {
    /// Is it one of the character types (values are [`Value::Text`](crate::Value::Text))?
    pub fn is_text(&self) -> bool {
        matches!(
            self,
            SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Name | SqlType::Unknown
        ) || matches!(self, SqlType::System(system) if system.is_text())
    }

    /// What stands between the elements in the text of an array of this type: PostgreSQL's `pg_type.typdelim`.
    pub fn delimiter(&self) -> char {
        match self.plain() {
            SqlType::System(ty) => ty.delimiter(),
            _ => ',',
        }
    }

    /// The type without the domains and collations around it.
    pub fn plain(&self) -> &SqlType {
        let mut ty = self;
        loop {
            ty = match ty {
                SqlType::Domain(domain) => &domain.base,
                SqlType::Collated(collated) => &collated.base,
                _ => return ty,
            };
        }
    }

    /// Names and types of the columns of a row that has so many of them; `None` where they are not known.
    pub fn fields_of(&self, count: usize) -> Option<&[(Arc<str>, SqlType)]> {
        match self {
            SqlType::Row(row) if row.fields.len() == count => Some(&row.fields),
            _ => None,
        }
    }

    /// Is it a row (values are [`Value::Record`](crate::Value::Record))?
    pub fn is_row(&self) -> bool {
        matches!(self, SqlType::Record | SqlType::Row(_))
    }

    /// Is it a date or time of day, or an array of them: may its text depend on when it is read?
    pub fn has_times(&self) -> bool {
        match self {
            SqlType::Date | SqlType::Time(_) | SqlType::Timestamp(_) | SqlType::Timestamptz(_) => true,
            SqlType::Timetz(_) => true,
            SqlType::Range(kind) | SqlType::Multirange(kind) => kind.subtype().has_times(),
            SqlType::Array(element) => element.has_times(),
            SqlType::Row(row) => row.fields.iter().any(|(_, ty)| ty.has_times()),
            _ => false,
        }
    }

    /// Is it one of the number types?
    pub fn is_number(&self) -> bool {
        let inexact = matches!(self, SqlType::Float4 | SqlType::Float8);
        inexact || matches!(self, SqlType::Numeric(_) | SqlType::LongNumeric(_)) || self.is_integer()
    }

    /// Is it `smallint`, `integer` or `bigint`?
    pub fn is_integer(&self) -> bool {
        matches!(self, SqlType::Int2 | SqlType::Int4 | SqlType::Int8)
    }

    /// Same type, whatever the modifiers?
    pub fn same_base(&self, other: &SqlType) -> bool {
        match (self, other) {
            (SqlType::Domain(a), SqlType::Domain(b)) => a.oid == b.oid,
            (SqlType::Collated(a), other) | (other, SqlType::Collated(a)) => a.base.same_base(other),
            (SqlType::Domain(domain), other) | (other, SqlType::Domain(domain)) => {
                domain.base.same_base(other)
            }
            (SqlType::Array(a), SqlType::Array(b)) => a.same_base(b),
            (SqlType::System(a), SqlType::System(b)) => a == b,
            (SqlType::Range(a), SqlType::Range(b)) | (SqlType::Multirange(a), SqlType::Multirange(b)) => {
                a.is_same(b)
            }
            (SqlType::Enum(a), SqlType::Enum(b)) => a.oid == b.oid,
            (SqlType::Named(a), SqlType::Named(b)) => a == b,
            (SqlType::Numeric(_), SqlType::LongNumeric(_))
            | (SqlType::LongNumeric(_), SqlType::Numeric(_)) => true,
            (SqlType::Row(a), SqlType::Row(b)) => {
                a.of.as_ref().map(|of| of.oid) == b.of.as_ref().map(|of| of.oid)
            }
            (SqlType::Row(row), SqlType::Record) | (SqlType::Record, SqlType::Row(row)) => row.of.is_none(),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}
