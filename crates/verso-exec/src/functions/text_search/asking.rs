//! Texts as `tsquery`: `to_tsquery` and its relatives.

use verso_types::Value;
use verso_types::text_search::parse::{Builder, Left, Mode, parse};
use verso_types::text_search::{Item, TsQuery};

use super::config::Config;
use super::documents::{configured, for_each_lexeme};
use super::{CONFIG, QUERY, TEXT, function};
use crate::context::{EvalContext, Notice};
use crate::error::{ExecError, Result};
use crate::functions::define::unexpected;
use crate::functions::{BuiltinFunction, Volatility};
use crate::plan::RaiseLevel;

/// What stands between two words that one operand becomes.
#[derive(Clone, Copy)]
enum Between {
    And,
    Phrase,
}

impl Between {
    fn item(self) -> Item {
        match self {
            Between::And => Item::And,
            Between::Phrase => Item::Phrase(1),
        }
    }
}

/// Appends what an operand becomes: its lexemes, with stop words between them as far as there are places without one.
fn operand(
    cx: &EvalContext<'_>,
    config: Config,
    between: Between,
    builder: &mut Builder<'_>,
    (word, weights, prefix): (&str, u8, bool),
) -> Result<()> {
    let (mut place, mut last, mut count) = (0, 0, 0usize);
    let mut join = |builder: &mut Builder<'_>| {
        if count > 0 {
            builder.operator(between.item());
        }
        count += 1;
    };
    for_each_lexeme(cx, config, word, &mut place, |lexeme, at| {
        while last > 0 && last + 1 < at {
            builder.stop();
            join(builder);
            last += 1;
        }
        last = at;
        builder.word(&lexeme, weights, prefix)?;
        join(builder);
        Ok(())
    })?;
    if count == 0 {
        builder.stop();
    }
    Ok(())
}

/// The query that a text is.
pub(super) fn ask(
    cx: &EvalContext<'_>,
    config: Config,
    text: &str,
    mode: Mode,
    phrases: bool,
) -> Result<TsQuery> {
    let between = if phrases { Between::Phrase } else { Between::And };
    let parsed = parse::<ExecError>(text, mode, |builder, word, weights, prefix| {
        operand(cx, config, between, builder, (word, weights, prefix))
    })?;
    let message = match parsed.left {
        Left::Query => return Ok(parsed.query),
        Left::NoOperand => format!("text-search query doesn't contain lexemes: \"{text}\""),
        Left::OnlyStops => {
            "text-search query contains only stop words or doesn't contain lexemes, ignored".to_owned()
        }
    };
    let level = RaiseLevel::Notice;
    let notice = Notice { level, sqlstate: "00000".into(), message, detail: None, hint: None, context: None };
    cx.services.notices.notice(notice, cx.services.memory)?;
    Ok(parsed.query)
}

fn asked(cx: &EvalContext<'_>, args: &[Value], mode: Mode, phrases: bool) -> Result<Value> {
    let (config, rest) = configured(cx, args)?;
    match rest {
        [Value::Text(text)] => Ok(ask(cx, config, text, mode, phrases)?.into_value()),
        _ => Err(unexpected("to_tsquery", args)),
    }
}

macro_rules! asking {
    ($($name:literal $mode:ident $phrases:literal;)*) => {
        &[$(
            function!($name [CONFIG, TEXT] => QUERY, Volatility::Immutable, |cx, args| {
                asked(cx, args, Mode::$mode, $phrases)
            }),
            function!($name [TEXT] => QUERY, Volatility::Stable, |cx, args| {
                asked(cx, args, Mode::$mode, $phrases)
            }),
        )*]
    };
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = asking! {
    "to_tsquery" Standard true;
    "plainto_tsquery" Plain false;
    "phraseto_tsquery" Plain true;
    "websearch_to_tsquery" Web true;
};
