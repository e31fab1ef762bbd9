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

use std::fmt;
use std::sync::Arc;

use crate::collation::{CollatedType, Collation, Derivation};
use crate::composite::CompositeName;
use crate::domain_type::DomainType;
use crate::enum_type::EnumType;
use crate::range::RangeType;
use crate::system_type::SystemType;

/// Precision and scale of a constrained numeric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NumericSpec {
    /// Total digits, 1 ..= 38.
    pub precision: u8,
    /// Digits behind the point, 0 ..= precision.
    pub scale: u8,
}

impl NumericSpec {
    /// The largest precision of a numeric column.
    pub const MAX_PRECISION: u8 = 38;

    /// `None` unless 1 ≤ precision ≤ 38 and scale ≤ precision.
    pub fn new(precision: u8, scale: u8) -> Option<NumericSpec> {
        let fits = (1..=Self::MAX_PRECISION).contains(&precision) && scale <= precision;
        fits.then_some(NumericSpec { precision, scale })
    }

    /// Does a column of it hold scaled 64-bit integers (otherwise 128-bit ones)?
    pub fn is_small(self) -> bool {
        self.precision <= 18
    }
}

/// Precision and scale of a numeric that is no [`NumericSpec`]: of more than 38 digits, with a scale below zero, or above
/// the precision. Its columns are those of `numeric`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LongSpec {
    /// Total digits, 1 ..= 1000.
    pub precision: u16,
    /// Digits behind the point, -1000 ..= 1000.
    pub scale: i16,
}

/// Which fields an interval keeps, and how many digits of its seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntervalSpec {
    /// The bits of the fields as PostgreSQL numbers them, [`IntervalSpec::ALL`] without.
    pub range: u16,
    /// Digits behind the point, [`IntervalSpec::FULL`] without.
    pub precision: u16,
}

impl IntervalSpec {
    /// `INTERVAL_FULL_RANGE`.
    pub const ALL: u16 = 0x7fff;
    /// `INTERVAL_FULL_PRECISION`.
    pub const FULL: u16 = 0xffff;
    /// The fields, the largest first, each with its bit.
    const FIELDS: [(&str, u16); 6] = [
        ("year", 1 << 2),
        ("month", 1 << 1),
        ("day", 1 << 3),
        ("hour", 1 << 10),
        ("minute", 1 << 11),
        ("second", 1 << 12),
    ];

    /// The fields from the one number `first` to the one number `last` (0 is the year, 5 the second), all of them
    /// without; so many digits of a second.
    pub fn new(fields: Option<(usize, usize)>, precision: Option<u8>) -> Option<IntervalSpec> {
        let range = match fields {
            None => Self::ALL,
            Some((first, last)) => Self::FIELDS.get(first..=last)?.iter().map(|(_, bit)| bit).sum(),
        };
        let precision = precision.map_or(Self::FULL, |digits| digits.min(6).into());
        (range != Self::ALL || precision != Self::FULL).then_some(IntervalSpec { range, precision })
    }

    /// The numbers of the first and the last field; `None` where all are kept.
    pub fn fields(self) -> Option<(usize, usize)> {
        let has = |(_, bit): &(&str, u16)| self.range & bit != 0;
        match self.range {
            Self::ALL => None,
            _ => Some((Self::FIELDS.iter().position(has)?, Self::FIELDS.iter().rposition(has)?)),
        }
    }

    /// Digits of a second.
    pub fn digits(self) -> u8 {
        u8::try_from(self.precision).unwrap_or(6).min(6)
    }

    fn typmod(self) -> i32 {
        i32::from(self.range) << 16 | i32::from(self.precision)
    }

    fn of_typmod(typmod: i32) -> Option<IntervalSpec> {
        let typmod = u32::try_from(typmod).ok()?;
        let spec = IntervalSpec { range: (typmod >> 16) as u16, precision: typmod as u16 };
        (spec.range != Self::ALL || spec.precision != Self::FULL).then_some(spec)
    }

    /// `day to second(3)`, as `information_schema` calls it too; without fields `(3)`.
    pub fn name(self) -> String {
        let mut name = match self.fields() {
            None => String::new(),
            Some((first, last)) if first == last => Self::FIELDS[first].0.to_string(),
            Some((first, last)) => format!("{} to {}", Self::FIELDS[first].0, Self::FIELDS[last].0),
        };
        if self.precision != Self::FULL {
            name += &format!("({})", self.precision);
        }
        name
    }
}

/// The columns of a row.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct RowType {
    /// The composite type that it is; none for rows of relations and of expressions.
    pub of: Option<CompositeName>,
    /// Names and types, in order: those of the values.
    pub fields: Vec<(Arc<str>, SqlType)>,
    /// What the fields of a composite type were declared as, where one of them is of a domain.
    pub declared: Option<Box<[SqlType]>>,
}

impl RowType {
    /// The columns of a row of no composite type.
    pub fn unnamed(fields: Vec<(Arc<str>, SqlType)>) -> RowType {
        RowType { of: None, fields, declared: None }
    }

    /// A composite type with these fields, as they are declared.
    pub fn named(of: CompositeName, mut fields: Vec<(Arc<str>, SqlType)>) -> RowType {
        let constrained = fields.iter().any(|(_, ty)| ty.is_constrained());
        let declared = constrained.then(|| fields.iter().map(|(_, ty)| ty.clone()).collect());
        if constrained {
            fields.iter_mut().for_each(|(_, ty)| *ty = ty.erased());
        }
        RowType { of: Some(of), fields, declared }
    }

    /// What the field at a place was declared as.
    pub fn declared(&self, at: usize) -> &SqlType {
        self.declared.as_ref().and_then(|declared| declared.get(at)).unwrap_or(&self.fields[at].1)
    }

    /// The names of the fields, and what they were declared as.
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

    /// PostgreSQL's `atttypmod`: -1 without modifiers.
    pub fn typmod(&self) -> i32 {
        match self {
            SqlType::Collated(collated) => collated.base.typmod(),
            SqlType::Numeric(Some(spec)) => (i32::from(spec.precision) << 16 | i32::from(spec.scale)) + 4,
            SqlType::Time(Some(digits))
            | SqlType::Timetz(Some(digits))
            | SqlType::Timestamp(Some(digits))
            | SqlType::Timestamptz(Some(digits)) => i32::from(*digits),
            SqlType::Bit(Some(n)) | SqlType::Varbit(Some(n)) => i32::try_from(*n).unwrap_or(-1),
            SqlType::Interval(Some(spec)) => spec.typmod(),
            SqlType::LongNumeric(spec) => {
                (i32::from(spec.precision) << 16 | i32::from(spec.scale) & 0x7ff) + 4
            }
            SqlType::Varchar(Some(n)) | SqlType::Char(Some(n)) => {
                i32::try_from(*n).map_or(-1, |n| n.saturating_add(4))
            }
            SqlType::Array(element) => element.typmod(),
            _ => -1,
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

    /// Is it one of the character types (values are [`Value::Text`](crate::Value::Text))?
    pub fn is_text(&self) -> bool {
        matches!(
            self,
            SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Name | SqlType::Unknown
        ) || matches!(self, SqlType::System(system) if system.is_text())
    }

    /// Do its values have a collation: is it a type of texts, or an array of one?
    pub fn is_collatable(&self) -> bool {
        match self {
            SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Collated(_) => true,
            SqlType::Array(element) => element.is_collatable(),
            SqlType::Domain(domain) => domain.base.is_collatable(),
            _ => false,
        }
    }

    /// The collation that a column of it was declared with: its own, or that of the domain that it is.
    pub fn collation(&self) -> Option<Arc<Collation>> {
        match self {
            SqlType::Collated(collated) => Some(Arc::clone(&collated.collation)),
            SqlType::Domain(domain) => domain.base.collation(),
            SqlType::Array(element) => element.collation(),
            _ => None,
        }
    }

    /// The type of the values of a column that was declared as it, with their collation.
    #[must_use]
    pub fn seen(&self) -> SqlType {
        match self.collation() {
            Some(collation) => self.erased().collated(&Derivation::Implicit(collation)),
            None => self.erased(),
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

    /// The type without its collation.
    pub fn uncollated(&self) -> &SqlType {
        match self {
            SqlType::Collated(collated) => &collated.base,
            other => other,
        }
    }

    /// The type alone, and the collation of a column that was declared with it.
    pub fn split_collation(self) -> (SqlType, Derivation) {
        match self {
            SqlType::Collated(collated) => {
                (collated.base.clone(), Derivation::Implicit(Arc::clone(&collated.collation)))
            }
            other => (other, Derivation::Default),
        }
    }

    /// The type of a column of it whose values have this collation.
    #[must_use]
    pub fn collated(self, derivation: &Derivation) -> SqlType {
        match derivation.collation() {
            Some(collation) if self.is_collatable() && !matches!(self, SqlType::Collated(_)) => {
                let collation = Arc::clone(collation);
                SqlType::Collated(Arc::new(CollatedType { base: self, collation }))
            }
            _ => self,
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

    /// The type without modifiers: `numeric(18,2)` becomes `numeric`.
    pub fn without_modifiers(&self) -> SqlType {
        match self {
            SqlType::Numeric(_) | SqlType::LongNumeric(_) => SqlType::Numeric(None),
            SqlType::Varchar(_) => SqlType::Varchar(None),
            SqlType::Char(_) => SqlType::Char(None),
            SqlType::Time(_) => SqlType::Time(None),
            SqlType::Timetz(_) => SqlType::Timetz(None),
            SqlType::Bit(_) => SqlType::Bit(None),
            SqlType::Varbit(_) => SqlType::Varbit(None),
            SqlType::Timestamp(_) => SqlType::Timestamp(None),
            SqlType::Timestamptz(_) => SqlType::Timestamptz(None),
            SqlType::Interval(_) => SqlType::Interval(None),
            SqlType::Array(element) => SqlType::Array(Box::new(element.without_modifiers())),
            SqlType::Collated(collated) => collated.base.without_modifiers(),
            other => other.clone(),
        }
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

/// The numeric of a precision and a scale, as PostgreSQL packs them.
fn numeric_of(packed: u32) -> SqlType {
    let (precision, low) = (packed >> 16, (packed & 0x7ff) as i16);
    let scale = (low ^ 0x400) - 0x400;
    let short = || NumericSpec::new(precision.try_into().ok()?, scale.try_into().ok()?);
    match (short(), u16::try_from(precision)) {
        (Some(spec), _) => SqlType::Numeric(Some(spec)),
        (None, Ok(precision @ 1..=1000)) => SqlType::LongNumeric(LongSpec { precision, scale }),
        (None, _) => SqlType::Numeric(None),
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
            other => f.write_str(other.base_name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_numeric_spec_is_bounded() {
        assert!(NumericSpec::new(0, 0).is_none() && NumericSpec::new(39, 0).is_none());
        assert!(NumericSpec::new(5, 6).is_none());
        assert_eq!(SqlType::Numeric(NumericSpec::new(18, 0)).physical(), Physical::I64);
        assert_eq!(SqlType::Numeric(NumericSpec::new(19, 0)).physical(), Physical::I128);
        assert_eq!(SqlType::Numeric(None).physical(), Physical::Bytes);
    }

    #[test]
    fn physical_codes_are_stable() {
        for code in 0..=u8::MAX {
            assert_eq!(Physical::from_code(code).map(|p| p as u8), (1..=8).contains(&code).then_some(code));
        }
    }
}
