//! SQL types and values, column vectors, codecs, Arrow mapping; no I/O.
//!
//! | module | what it is |
//! |---|---|
//! | [`sqltype`] | the SQL types, their PostgreSQL names, ids and physical layouts |
//! | [`value`] | one SQL value, SQL order, equality and hash |
//! | [`mod@array`] | arrays: their elements, dimensions and bounds |
//! | [`decimal`] | exact decimal numbers of up to 38 digits, PostgreSQL's result scales |
//! | [`time_style`] | a session's zone, DateStyle, IntervalStyle and clock |
//! | [`number`] | numbers beyond those: any number of digits, NaN, infinities |
//! | [`datetime`] | calendar, time zones, text and arithmetic of dates, times and intervals |
//! | [`text`] | values from and to text, PostgreSQL's input and output syntax |
//! | [`cast`](mod@cast) | which casts there are and what they do |
//! | [`column`](mod@column) | column vectors and batches: the format of scans, kernels and results |
//! | [`inverted`] | keys of inverted indexes: of parts of values; what a search asks of them |
//! | [`json`] | JSON text, the binary form of jsonb, its order and containment |
//! | [`key`] | index keys: bytes in the order of the values |
//! | [`collation`] | in which order texts stand: ICU's collations, the derivation of an expression's |
//! | [`keyword`] | the language's key words, and which names need quotes |
//! | [`range`] | ranges and multiranges: their forms, their algebra |
//! | [`row`] | compact, self-describing codec of rows for spools and undo |
//! | [`arrow`] | columns and batches as Arrow arrays |
//! | [`wire`] | values in the PostgreSQL protocol's formats |
//! | [`opaque`] | values that are bytes in a form of their own: bit strings, addresses, money, `timetz` |
//! | [`geometry`] | points, segments, lines, boxes, paths, polygons and circles |
//! | [`names`] | names of catalog entries, for the types that refer to them |
//! | [`system_type`] | the types that only the system catalogs use |
//! | [`enum_type`] | enum types: labels, their order, and places for new ones |
//! | [`domain_type`] | domains: what they demand of the values of the type beneath |
//! | [`definition`] | words of definitions: identity, referential actions; what GET DIAGNOSTICS tells |
//! | [`error`] | the one error type, carrying its SQLSTATE |
//! | [`sqlstate`] | the codes, named as in PostgreSQL |
#![forbid(unsafe_code)]

pub mod array;
pub mod arrow;
pub mod cast;
pub mod collation;
pub mod column;
pub mod composite;
pub mod condition;
pub mod datetime;
pub mod decimal;
pub mod definition;
pub mod domain_type;
pub mod encoding;
pub mod enum_type;
pub mod error;
pub mod exclusion;
pub mod geometry;
pub mod interrupt;
pub mod inverted;
pub mod json;
pub mod key;
pub mod keyword;
pub mod names;
pub mod nesting;
pub mod number;
pub mod opaque;
pub mod range;
pub mod row;
pub mod snapshot;
pub mod sqlstate;
pub mod sqltype;
pub mod system_type;
pub mod text;
pub mod text_search;
pub mod time_style;
mod unsigned;
pub mod value;
pub mod wire;

pub use array::{Array, Dimension};
pub use arrow::{arrow_schema, arrow_type};
pub use cast::{
    CastKind, byte_of_char, cast, cast_kind, cast_known, cast_machine_number, unpadded, without_blanks,
};
pub use collation::{CollatedType, Collation, CollationData, Collator, Derivation, Within};
pub use column::{Batch, BytesColumn, Column, ColumnData, NullMask};
pub use composite::CompositeName;
pub use decimal::Decimal;
pub use definition::{Identity, ReferentialAction};
pub use domain_type::{DomainCheck, DomainType};
pub use encoding::Encoding;
pub use enum_type::{EnumLabel, EnumType, NewPlace};
pub use error::TypeError;
pub use exclusion::Exclusion;
pub use jiff::tz::TimeZone;
pub use json::Jsonb;
pub use key::{KeyOrder, KeyType, encode_nested};
pub use number::Number;
pub use opaque::{Opaque, OpaqueKind};
pub use range::{Multirange, OwnRange, Range, RangeKind, RangeName, RangeType};
pub use row::{decode_row, encode_row, encode_row_of_decimal};
pub use sqltype::{IntervalSpec, LongSpec, NamedType, NumericSpec, Physical, RowType, SqlType};
pub use system_type::SystemType;
pub use text::{format_text, parse_text, put_hex_bytes};
pub use time_style::{DateOrder, DateStyle, IntervalStyle, TimeStyle};
pub use value::{Interval, Value, cmp_sql, eq_sql, hash_sql};
pub use wire::{format_binary, parse_binary};
