//! Names of types.
//!
//! Source: PostgreSQL 18, `Typename` of `gram.y`.

use std::sync::Arc;

use verso_types::{IntervalSpec, LongSpec, NamedType, NumericSpec, RangeType, SqlType, SystemType, sqlstate};

use super::cursor::Cursor;
use super::lexer::{Class, Token};
use crate::error::SyntaxError;
use crate::syntax::Span;

impl Cursor<'_> {
    /// A type.
    pub fn data_type(&mut self) -> Result<SqlType, SyntaxError> {
        let start = self.here();
        if self.is(&["setof"]) {
            return Err(self.unsupported("SETOF"));
        }
        let mut ty = self.element_type(start)?;
        // As in PostgreSQL, dimensions are not part of the type.
        let mut array = false;
        if self.accept(&["array"]) {
            array = true;
            if self.peek() == Token::LBracket {
                self.bounds()?;
            }
        }
        while self.peek() == Token::LBracket {
            array = true;
            self.bounds()?;
        }
        if array {
            ty = SqlType::Array(Box::new(ty));
        }
        Ok(ty)
    }

    /// `[]`, `[3]`.
    fn bounds(&mut self) -> Result<(), SyntaxError> {
        self.expect_token(&Token::LBracket)?;
        if self.peek() != Token::RBracket {
            self.integer()?;
        }
        self.expect_token(&Token::RBracket)
    }

    fn element_type(&mut self, start: Span) -> Result<SqlType, SyntaxError> {
        let at = start.start;
        let word = match self.peek() {
            Token::Word(Class::Reserved) => return Err(self.unexpected()),
            Token::Word(_) if self.peek_at(1) != Token::Period => self.written().to_ascii_lowercase(),
            Token::Word(_) | Token::Quoted(_) => String::new(),
            _ => return Err(self.unexpected()),
        };
        match word.as_str() {
            "double" => {
                self.advance();
                self.accept(&["precision"]);
                Ok(SqlType::Float8)
            }
            "blob" => {
                self.advance();
                self.blob()
            }
            "float" => {
                self.advance();
                self.float(at)
            }
            "numeric" | "decimal" | "dec" => {
                self.advance();
                self.numeric(at)
            }
            "varchar" | "character" | "char" | "nchar" | "national" => self.character(at),
            // By the name that it has in the catalogs, where a length is no one character without.
            "bpchar" if self.peek_at(1) == Token::LParen => self.character(at),
            "bit" => {
                self.advance();
                let varying = self.accept(&["varying"]);
                self.bits(varying, at)
            }
            "varbit" => {
                self.advance();
                self.bits(true, at)
            }
            "time" | "timestamp" | "timetz" | "timestamptz" => self.time(&word),
            "interval" => {
                self.advance();
                if self.peek() == Token::LParen {
                    let digits = self.precision()?;
                    return Ok(SqlType::Interval(IntervalSpec::new(None, Some(digits))));
                }
                Ok(SqlType::Interval(self.interval_fields()?))
            }
            _ => self.generic_type(at),
        }
    }

    /// A type that is a name and nothing else.
    fn generic_type(&mut self, at: u32) -> Result<SqlType, SyntaxError> {
        let mut names = vec![self.name()?];
        while self.accept_token(&Token::Period) {
            names.push(self.label()?);
        }
        // Else it is the operator, behind a cast.
        let copies = self.is_at(1, "type") || self.is_at(1, "rowtype");
        if self.peek() == Token::Mod && copies {
            return Err(SyntaxError::unsupported("%TYPE and %ROWTYPE").at(self.here().start));
        }
        self.without_database(&mut names, 2, false)?;
        let mut parts: Vec<String> = names.into_iter().map(|name| name.text).collect();
        if self.peek() == Token::LParen {
            // These are words of the grammar, which knows no modifier behind them.
            let words = ["int", "integer", "smallint", "bigint", "boolean", "real"];
            if words.contains(&parts[0].as_str()) && parts.len() == 1 {
                return Err(self.unexpected());
            }
            let ty = named_type(&parts, at)?;
            // Not behind a user's type, which may take none either: the catalog would have to say.
            let short = match &ty {
                SqlType::Named(named) => named.to_string(),
                _ => parts.pop().unwrap_or_default(),
            };
            let text = format!("type modifier is not allowed for type \"{short}\"");
            return Err(SyntaxError::syntax(text).at(at));
        }
        named_type(&parts, at)
    }

    /// `(1, 2)`: whole numbers.
    fn modifiers(&mut self) -> Result<Vec<i64>, SyntaxError> {
        if self.peek() == Token::LParen { self.listed(Cursor::integer) } else { Ok(Vec::new()) }
    }

    fn float(&mut self, at: u32) -> Result<SqlType, SyntaxError> {
        let open = self.here();
        match self.modifiers()?[..] {
            [] | [25..=53] => Ok(SqlType::Float8),
            [1..=24] => Ok(SqlType::Float4),
            [precision] if precision < 1 => {
                Err(invalid("precision for type float must be at least 1 bit".into(), at))
            }
            [_] => Err(invalid("precision for type float must be less than 54 bits".into(), at)),
            _ => Err(self.source().near(open.start)),
        }
    }

    /// Behind BLOB, which is `bytea`, Firebird's clauses: `[(segment [, subtype])]` or `[SUB_TYPE TEXT] [SEGMENT SIZE n]`. One
    /// of the subtype 1 or TEXT is `text`.
    fn blob(&mut self) -> Result<SqlType, SyntaxError> {
        let mut subtype = match self.modifiers()?[..] {
            [] | [_] => 0,
            [_, subtype] => subtype,
            _ => return Err(self.unexpected()),
        };
        if self.accept(&["sub_type"]) {
            subtype = match () {
                () if self.accept(&["text"]) => 1,
                () if self.accept(&["binary"]) => 0,
                () => self.integer()?,
            };
        }
        if self.accept(&["segment", "size"]) {
            self.integer()?;
        }
        Ok(if subtype == 1 { SqlType::Text } else { SqlType::Bytea })
    }

    fn numeric(&mut self, at: u32) -> Result<SqlType, SyntaxError> {
        let (precision, scale) = match self.modifiers()?[..] {
            [] => return Ok(SqlType::Numeric(None)),
            [precision] => (precision, 0),
            [precision, scale] => (precision, scale),
            _ => return Err(invalid("invalid NUMERIC type modifier".into(), at)),
        };
        if !(1..=1000).contains(&precision) {
            return Err(invalid(format!("NUMERIC precision {precision} must be between 1 and 1000"), at));
        }
        if !(-1000..=1000).contains(&scale) {
            return Err(invalid(format!("NUMERIC scale {scale} must be between -1000 and 1000"), at));
        }
        let spec = u8::try_from(precision).ok().zip(u8::try_from(scale).ok());
        match spec.and_then(|(precision, scale)| NumericSpec::new(precision, scale)) {
            Some(spec) => Ok(SqlType::Numeric(Some(spec))),
            None => Ok(SqlType::LongNumeric(LongSpec { precision: precision as u16, scale: scale as i16 })),
        }
    }

    /// `varchar(n)`, `character varying(n)`, `char(n)`, `national character(n)`.
    fn character(&mut self, at: u32) -> Result<SqlType, SyntaxError> {
        let mut varying = false;
        if self.accept(&["national"]) {
            if !(self.accept(&["character"]) || self.accept(&["char"])) {
                return Err(self.unexpected());
            }
        } else {
            varying = self.is(&["varchar"]);
            self.advance();
        }
        varying |= self.accept(&["varying"]);
        let name = if varying { "varchar" } else { "char" };
        let length = match self.modifiers()?[..] {
            [] => None,
            [length] if length < 1 => {
                return Err(invalid(format!("length for type {name} must be at least 1"), at));
            }
            [length] => match u32::try_from(length) {
                Ok(length @ ..=10_485_760) => Some(length),
                _ => return Err(invalid(format!("length for type {name} cannot exceed 10485760"), at)),
            },
            _ => return Err(self.source().near(at)),
        };
        Ok(if varying { SqlType::Varchar(length) } else { SqlType::Char(Some(length.unwrap_or(1))) })
    }

    /// `time`, `timestamp`, with a precision and a time zone.
    fn time(&mut self, word: &str) -> Result<SqlType, SyntaxError> {
        self.advance();
        let mut precision = None;
        if self.peek() == Token::LParen {
            precision = Some(self.precision()?);
        }
        let mut zone = word.ends_with("tz");
        if !zone {
            zone = self.accept(&["with", "time", "zone"]);
            if !zone {
                self.accept(&["without", "time", "zone"]);
            }
        }
        if word.starts_with("timestamp") {
            return Ok(if zone { SqlType::Timestamptz(precision) } else { SqlType::Timestamp(precision) });
        }
        Ok(if zone { SqlType::Timetz(precision) } else { SqlType::Time(precision) })
    }

    /// The length of `bit`, which is one bit without, and of `bit varying`.
    fn bits(&mut self, varying: bool, at: u32) -> Result<SqlType, SyntaxError> {
        let name = if varying { "varbit" } else { "bit" };
        let length = match self.modifiers()?[..] {
            [] if varying => None,
            [] => Some(1),
            [length] if length < 1 => {
                return Err(invalid(format!("length for type {name} must be at least 1"), at));
            }
            [length] => match u32::try_from(length) {
                Ok(length @ ..=83_886_080) => Some(length),
                _ => return Err(invalid(format!("length for type {name} cannot exceed 83886080"), at)),
            },
            _ => return Err(invalid("invalid type modifier".into(), at)),
        };
        Ok(if varying { SqlType::Varbit(length) } else { SqlType::Bit(length) })
    }
}

fn invalid(text: String, at: u32) -> SyntaxError {
    SyntaxError::new(sqlstate::INVALID_PARAMETER_VALUE, text).at(at)
}

/// The type that a call of this name casts to, if there is no such function: a name that `pg_type` has, or a user may have.
pub fn type_of_call(schema: Option<&str>, name: &str, at: u32) -> Option<SqlType> {
    // These are words of the grammar, and other names in pg_type.
    let words = ["boolean", "smallint", "int", "integer", "bigint", "real", "char", "blob"];
    if words.contains(&name) {
        return None;
    }
    let parts: Vec<String> = schema.into_iter().chain([name]).map(str::to_owned).collect();
    named_type(&parts, at).ok()
}

/// The type with this name, perhaps with its schema; what is none of the system's is a user's.
pub(super) fn named_type(parts: &[String], at: u32) -> Result<SqlType, SyntaxError> {
    let (schema, short) = match parts {
        [name] => (None, name.as_str()),
        [schema, name] => (Some(schema.as_str()), name.as_str()),
        _ => {
            let text = format!("improper qualified name (too many dotted names): {}", parts.join("."));
            return Err(SyntaxError::syntax(text).at(at));
        }
    };
    let users = || {
        let schema = schema.map(Arc::from);
        Ok(SqlType::Named(Arc::new(NamedType { schema, name: short.into(), at })))
    };
    if schema.is_some_and(|schema| schema != "pg_catalog") {
        return users();
    }
    Ok(match short {
        "boolean" | "bool" => SqlType::Bool,
        "smallint" | "int2" => SqlType::Int2,
        "int" | "integer" | "int4" => SqlType::Int4,
        "bigint" | "int8" => SqlType::Int8,
        "real" | "float4" => SqlType::Float4,
        "float8" => SqlType::Float8,
        "numeric" => SqlType::Numeric(None),
        "text" => SqlType::Text,
        "varchar" => SqlType::Varchar(None),
        "bpchar" => SqlType::Char(None),
        "name" => SqlType::Name,
        "bytea" | "blob" => SqlType::Bytea,
        "date" => SqlType::Date,
        "time" => SqlType::Time(None),
        "timestamp" => SqlType::Timestamp(None),
        "timestamptz" => SqlType::Timestamptz(None),
        "timetz" => SqlType::Timetz(None),
        "bit" => SqlType::Bit(None),
        "varbit" => SqlType::Varbit(None),
        "interval" => SqlType::Interval(None),
        "uuid" => SqlType::Uuid,
        "json" => SqlType::Json,
        "jsonb" => SqlType::Jsonb,
        "oid" => SqlType::Oid,
        "record" => SqlType::Record,
        "serial" | "serial4" | "bigserial" | "serial8" | "smallserial" | "serial2" | "xml" | "trigger" => {
            return Err(SyntaxError::unsupported(format!("type {short}")).at(at));
        }
        "int2vector" => SqlType::Array(Box::new(SqlType::System(SystemType::VectorInt2))),
        "oidvector" => SqlType::Array(Box::new(SqlType::System(SystemType::VectorOid))),
        // `char` with its quotes is a type of its own; without them it never comes here.
        "char" => SqlType::System(SystemType::Char),
        _ if let Some(system) = SystemType::from_name(short) => SqlType::System(system),
        _ if let Some(range) = RangeType::type_named(short) => range,
        // PostgreSQL's own names of array types.
        _ if let Some(element) = short.strip_prefix('_') => {
            let parts: Vec<String> = schema.into_iter().chain([element]).map(str::to_owned).collect();
            match named_type(&parts, at) {
                Ok(element) if !matches!(element, SqlType::Named(_) | SqlType::Array(_)) => {
                    SqlType::Array(Box::new(element))
                }
                _ => return users(),
            }
        }
        _ => return users(),
    })
}
