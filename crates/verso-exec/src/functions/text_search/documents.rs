//! Texts and JSON as `tsvector`: `to_tsvector` and its relatives.

use std::collections::HashMap;

use verso_types::json::{JsonRef, Jsonb};
use verso_types::text_search::{LEXEME_MAX, Lexeme, POSITION_MAX, POSITIONS_MAX, Position, TsVector};
use verso_types::{SqlType, TypeError, Value};

use super::config::{self, Config};
use super::parser::Parser;
use super::{CONFIG, JSON, JSONB, TEXT, VECTOR, function};
use crate::context::{EvalContext, Notice};
use crate::error::Result;
use crate::functions::define::unexpected;
use crate::functions::{BuiltinFunction, Volatility};
use crate::memory::{Reservation, room_to_read};
use crate::plan::RaiseLevel;

/// Tokens between two looks at whether the statement is cancelled.
const STEP: usize = 1 << 12;

/// The number of the configuration that a setting names.
pub(super) fn current_oid(cx: &EvalContext<'_>) -> Result<i64> {
    let name = cx.services.settings.setting("default_text_search_config");
    let name = name.as_deref().unwrap_or("pg_catalog.english");
    let missing = || TypeError::new("42704", format!("text search configuration \"{name}\" does not exist"));
    Ok(config::number(name).ok_or_else(missing)?)
}

/// The configuration that a call names first, or the session's; and the other arguments.
pub(super) fn configured<'v>(cx: &EvalContext<'_>, args: &'v [Value]) -> Result<(Config, &'v [Value])> {
    match args {
        [Value::Int8(oid), rest @ ..] => Ok((Config::find(*oid)?, rest)),
        _ => Ok((Config::find(current_oid(cx)?)?, args)),
    }
}

/// Calls `each` with each lexeme of a text and its place, from `place` on, which is moved on.
pub(super) fn for_each_lexeme(
    cx: &EvalContext<'_>,
    config: Config,
    text: &str,
    place: &mut u16,
    mut each: impl FnMut(String, u16) -> Result<()>,
) -> Result<()> {
    let mut parser = Parser::new(text);
    let mut count = 0;
    while let Some((kind, token)) = parser.next() {
        count += 1;
        if count % STEP == 0 {
            cx.runtime.check_cancelled()?;
        }
        if token.len() >= LEXEME_MAX {
            too_long(cx)?;
            continue;
        }
        let Some(dictionary) = config.dictionary(kind) else { continue };
        // A stop word has a place, too.
        *place = place.saturating_add(1).min(POSITION_MAX);
        if let Some(lexeme) = dictionary.lexeme(token) {
            each(lexeme, *place)?;
        }
    }
    Ok(())
}

#[cold]
pub(super) fn too_long(cx: &EvalContext<'_>) -> Result<()> {
    let detail = Some(format!("Words longer than {LEXEME_MAX} characters are ignored."));
    let message = "word is too long to be indexed".to_string();
    let notice = Notice {
        level: RaiseLevel::Notice,
        sqlstate: "54000".into(),
        message,
        detail,
        hint: None,
        context: None,
    };
    cx.services.notices.notice(notice, cx.services.memory)
}

/// A document while it is read: each lexeme with its places.
#[derive(Default)]
pub(super) struct Document {
    lexemes: HashMap<Box<str>, Vec<u16>>,
    /// Bytes of the lexemes, and the room that is reserved for them.
    bytes: usize,
    held: Option<Reservation>,
    place: u16,
}

/// What comes behind a text in a document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// Its next place.
    Text,
    /// A place is left empty, if the text had lexemes, so that no phrase goes across.
    Gap,
}

impl Document {
    /// Adds a text behind what is there.
    pub(super) fn add(
        &mut self,
        cx: &EvalContext<'_>,
        config: Config,
        text: &str,
        behind: Behind,
    ) -> Result<()> {
        let Document { lexemes, bytes, held, place } = self;
        let mut found = false;
        for_each_lexeme(cx, config, text, place, |lexeme, at| {
            found = true;
            if let Some(places) = lexemes.get_mut(lexeme.as_str()) {
                if places.len() < POSITIONS_MAX - 1 && places.last() != Some(&at) {
                    places.push(at);
                }
                return Ok(());
            }
            *bytes += lexeme.len() + 96;
            if lexemes.len() % STEP == STEP - 1 {
                held.get_or_insert_with(|| cx.services.memory.account.reserve("a tsvector", u64::MAX))
                    .resize(2 * *bytes as u64)?;
            }
            lexemes.insert(lexeme.into(), vec![at]);
            Ok(())
        })?;
        if found && behind == Behind::Gap {
            *place = place.saturating_add(1).min(POSITION_MAX);
        }
        Ok(())
    }

    /// The vector.
    pub(super) fn finish(self) -> Result<TsVector> {
        let lexeme = |(text, places): (Box<str>, Vec<u16>)| Lexeme {
            text,
            positions: places.into_iter().map(|place| Position::new(place, 0)).collect(),
        };
        Ok(TsVector::new(self.lexemes.into_iter().map(lexeme).collect())?)
    }
}

/// The vector of a text.
pub(super) fn of_text(cx: &EvalContext<'_>, config: Config, text: &str) -> Result<TsVector> {
    let mut document = Document::default();
    document.add(cx, config, text, Behind::Text)?;
    document.finish()
}

fn to_tsvector(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (config, rest) = configured(cx, args)?;
    match rest {
        [Value::Text(text)] => Ok(of_text(cx, config, text)?.into_value()),
        _ => Err(unexpected("to_tsvector", args)),
    }
}

/// Which values of JSON are taken.
#[derive(Clone, Copy)]
struct Taken {
    strings: bool,
    numbers: bool,
    booleans: bool,
    keys: bool,
}

impl Taken {
    const STRINGS: Taken = Taken { strings: true, numbers: false, booleans: false, keys: false };

    /// What a document such as `["string", "key"]` names.
    fn parse(flags: &Jsonb) -> std::result::Result<Taken, TypeError> {
        let mut taken = Taken { strings: false, numbers: false, booleans: false, keys: false };
        let hint = "Possible values are: \"string\", \"numeric\", \"boolean\", \"key\", and \"all\".";
        let mut take = |flag: JsonRef<'_>| {
            let JsonRef::String(name) = flag else {
                return Err(TypeError::new("22023", "flag array element is not a string").with_hint(hint));
            };
            match name.to_ascii_lowercase().as_str() {
                "all" => taken = Taken { strings: true, numbers: true, booleans: true, keys: true },
                "key" => taken.keys = true,
                "string" => taken.strings = true,
                "numeric" => taken.numbers = true,
                "boolean" => taken.booleans = true,
                _ => {
                    let text = format!("wrong flag in flag array: \"{name}\"");
                    return Err(TypeError::new("22023", text).with_hint(hint));
                }
            }
            Ok(())
        };
        match flags.root() {
            JsonRef::Array(list) => list.iter().try_for_each(take)?,
            JsonRef::Object(_) => {
                let text = "wrong flag type, only arrays and scalars are allowed";
                return Err(TypeError::new("22023", text));
            }
            scalar => take(scalar)?,
        }
        Ok(taken)
    }
}

/// Adds the values of a jsonb in its order. Documents are as deep as they may be read.
fn add_json(
    cx: &EvalContext<'_>,
    config: Config,
    value: JsonRef<'_>,
    taken: Taken,
    document: &mut Document,
) -> Result<()> {
    verso_env::stack::check()?;
    let mut add = |text: &str| document.add(cx, config, text, Behind::Gap);
    match value {
        JsonRef::Null => Ok(()),
        JsonRef::Bool(v) if taken.booleans => add(if v { "true" } else { "false" }),
        JsonRef::String(text) if taken.strings => add(text),
        JsonRef::Array(list) => {
            list.iter().try_for_each(|value| add_json(cx, config, value, taken, document))
        }
        JsonRef::Object(object) => object.iter().try_for_each(|(key, value)| {
            if taken.keys {
                document.add(cx, config, key, Behind::Gap)?;
            }
            add_json(cx, config, value, taken, document)
        }),
        JsonRef::Bool(_) | JsonRef::String(_) => Ok(()),
        number if taken.numbers => {
            let mut text = String::new();
            verso_types::json::format_into(number, &mut text);
            add(&text)
        }
        _ => Ok(()),
    }
}

fn of_json(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (config, rest) = configured(cx, args)?;
    let (value, taken) = match rest {
        [value] => (value, Taken::STRINGS),
        [value, Value::Jsonb(flags)] => (value, Taken::parse(flags)?),
        _ => return Err(unexpected("jsonb_to_tsvector", args)),
    };
    let mut document = Document::default();
    match value {
        Value::Jsonb(value) => add_json(cx, config, value.root(), taken, &mut document)?,
        Value::Text(source) => {
            let _room = room_to_read(cx.services.memory.account, source, &SqlType::Jsonb)?;
            super::json_text::for_each_value(source, |value| {
                let wanted = match value {
                    super::json_text::Found::Key(_) => taken.keys,
                    super::json_text::Found::String(_) => taken.strings,
                    super::json_text::Found::Number(_) => taken.numbers,
                    super::json_text::Found::Bool(_) => taken.booleans,
                };
                if wanted {
                    document.add(cx, config, value.text(), Behind::Gap)?;
                }
                Ok(())
            })?;
        }
        _ => return Err(unexpected("jsonb_to_tsvector", args)),
    }
    Ok(document.finish()?.into_value())
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = &[
    function!("to_tsvector" [CONFIG, TEXT] => VECTOR, Volatility::Immutable, to_tsvector),
    function!("to_tsvector" [TEXT] => VECTOR, Volatility::Stable, to_tsvector),
    function!("to_tsvector" [CONFIG, JSONB] => VECTOR, Volatility::Immutable, of_json),
    function!("to_tsvector" [JSONB] => VECTOR, Volatility::Stable, of_json),
    function!("to_tsvector" [CONFIG, JSON] => VECTOR, Volatility::Immutable, of_json),
    function!("to_tsvector" [JSON] => VECTOR, Volatility::Stable, of_json),
    function!("jsonb_to_tsvector" [CONFIG, JSONB, JSONB] => VECTOR, Volatility::Immutable, of_json),
    function!("jsonb_to_tsvector" [JSONB, JSONB] => VECTOR, Volatility::Stable, of_json),
    function!("json_to_tsvector" [CONFIG, JSON, JSONB] => VECTOR, Volatility::Immutable, of_json),
    function!("json_to_tsvector" [JSON, JSONB] => VECTOR, Volatility::Stable, of_json),
    function!("get_current_ts_config" [] => super::AS_CONFIG, Volatility::Stable, |cx, _| {
        Ok(Value::Int8(current_oid(cx)?))
    }),
];
