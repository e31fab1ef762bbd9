//! `int4send`, `float8send` and their relatives: values in the binary form of the protocol.

use verso_types::wire::format_binary;
use verso_types::{SqlType, SystemType, Value};

use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::error::Result;

/// The binary form of a value, as a client would get it.
fn send(name: &'static str, args: &[Value], ty: &SqlType) -> Result<Value> {
    let [value] = args else { return Err(unexpected(name, args)) };
    let mut bytes = Vec::new();
    format_binary(value, ty, &mut bytes);
    Ok(Value::bytes(&bytes))
}

macro_rules! sends {
    ($($name:literal $ty:expr;)*) => {
        &[$(BuiltinFunction {
            name: $name,
            operator: None,
            args: &[ArgType::Exact($ty)],
            variadic: false,
            result: ResultType::Fixed(SqlType::Bytea),
            strict: true,
            // Texts depend on the encoding of the client, PostgreSQL says.
            volatility: match $ty {
                SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Name => Volatility::Stable,
                _ => Volatility::Immutable,
            },
            body: Body::Scalar(|_, args| send($name, args, &$ty)),
            kernel: None,
        },)*]
    };
}

static SENDS: &[BuiltinFunction] = sends! {
    "boolsend" SqlType::Bool;
    "byteasend" SqlType::Bytea;
    "int2send" SqlType::Int2;
    "int4send" SqlType::Int4;
    "int8send" SqlType::Int8;
    "oidsend" SqlType::Oid;
    "float4send" SqlType::Float4;
    "float8send" SqlType::Float8;
    "numeric_send" SqlType::Numeric(None);
    "cash_send" SqlType::System(SystemType::Money);
    "textsend" SqlType::Text;
    "varcharsend" SqlType::Varchar(None);
    "bpcharsend" SqlType::Char(None);
    "namesend" SqlType::Name;
    "uuid_send" SqlType::Uuid;
    "json_send" SqlType::Json;
    "jsonb_send" SqlType::Jsonb;
    "date_send" SqlType::Date;
    "time_send" SqlType::Time(None);
    "timetz_send" SqlType::Timetz(None);
    "timestamp_send" SqlType::Timestamp(None);
    "timestamptz_send" SqlType::Timestamptz(None);
    "interval_send" SqlType::Interval(None);
    "bit_send" SqlType::Bit(None);
    "varbit_send" SqlType::Varbit(None);
    "inet_send" SqlType::System(SystemType::Inet);
    "cidr_send" SqlType::System(SystemType::Cidr);
    "macaddr_send" SqlType::System(SystemType::Macaddr);
    "macaddr8_send" SqlType::System(SystemType::Macaddr8);
    "tidsend" SqlType::System(SystemType::Tid);
    "pg_lsn_send" SqlType::System(SystemType::Lsn);
    "tsvectorsend" SqlType::System(SystemType::TsVector);
    "tsquerysend" SqlType::System(SystemType::TsQuery);
    "charsend" SqlType::System(SystemType::Char);
    "xidsend" SqlType::System(SystemType::Xid);
    "xid8send" SqlType::System(SystemType::Xid8);
    "jsonpath_send" SqlType::System(SystemType::JsonPath);
    "point_send" SqlType::System(SystemType::Point);
    "lseg_send" SqlType::System(SystemType::Lseg);
    "line_send" SqlType::System(SystemType::Line);
    "box_send" SqlType::System(SystemType::Box);
    "path_send" SqlType::System(SystemType::Path);
    "poly_send" SqlType::System(SystemType::Polygon);
    "circle_send" SqlType::System(SystemType::Circle);
    "regclasssend" SqlType::System(SystemType::Regclass);
    "regtypesend" SqlType::System(SystemType::Regtype);
    "regprocsend" SqlType::System(SystemType::Regproc);
    "regproceduresend" SqlType::System(SystemType::Regprocedure);
    "regopersend" SqlType::System(SystemType::Regoper);
    "regoperatorsend" SqlType::System(SystemType::Regoperator);
    "regnamespacesend" SqlType::System(SystemType::Regnamespace);
    "regrolesend" SqlType::System(SystemType::Regrole);
    "regcollationsend" SqlType::System(SystemType::Regcollation);
    "regconfigsend" SqlType::System(SystemType::Regconfig);
    "pg_snapshot_send" SqlType::System(SystemType::PgSnapshot);
    "txid_snapshot_send" SqlType::System(SystemType::TxidSnapshot);
    "regdictionarysend" SqlType::System(SystemType::Regdictionary);
};

macro_rules! typed_sends {
    ($($name:literal $arg:expr;)*) => {
        &[$(BuiltinFunction {
            name: $name,
            operator: None,
            args: &[$arg],
            variadic: false,
            result: ResultType::Fixed(SqlType::Bytea),
            strict: true,
            volatility: Volatility::Stable,
            body: Body::Typed(|_, args, types| send($name, args, types.first().unwrap_or(&SqlType::Text))),
            kernel: None,
        },)*]
    };
}

/// Those of types of any elements, which the argument's type tells.
static OF_ELEMENTS: &[BuiltinFunction] = typed_sends! {
    "array_send" ArgType::AnyArray;
    "anyarray_send" ArgType::AnyArray;
    "anycompatiblearray_send" ArgType::AnyArray;
    "range_send" ArgType::AnyRange;
    "multirange_send" ArgType::AnyMultirange;
    "record_send" ArgType::Exact(SqlType::Record);
    "oidvectorsend" ArgType::ArrayOf(SqlType::System(SystemType::VectorOid));
    "int2vectorsend" ArgType::ArrayOf(SqlType::System(SystemType::VectorInt2));
};

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 2] = [SENDS, OF_ELEMENTS];
