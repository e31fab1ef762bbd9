//! `to_char` of numbers and `to_number`: PostgreSQL's template patterns.
//!
//! A template ([`template`]) is read into patterns and characters; its digits before and behind the point decide how the number is
//! rounded ([`source`]). Then the number is walked digit by digit beside the patterns ([`shown`]), or a text is ([`read`]).
//! Source: PostgreSQL 18, `formatting.c`.

mod read;
mod roman;
mod shown;
mod source;
mod template;

use verso_types::SqlType;

use super::define::entry;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use read::to_number;
use shown::to_char;

static NUMBERS: &[BuiltinFunction] = &[
    entry!("to_char" () [Int4, Text] => Text, to_char, None),
    entry!("to_char" () [Int8, Text] => Text, to_char, None),
    entry!("to_char" () [Numeric, Text] => Text, to_char, None),
    entry!("to_char" () [Float4, Text] => Text, to_char, None),
    entry!("to_char" () [Float8, Text] => Text, to_char, None),
    entry!("to_number" () [Text, Text] => Numeric, to_number, None),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [NUMBERS];
