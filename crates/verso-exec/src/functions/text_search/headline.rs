//! `ts_headline`: the part of a document that shows best what was found, its words marked.
//!
//! ```text
//! document ─► words, those of the query marked ─► covers: shortest runs that match ─► one lengthened, or several fragments ─► text
//! ```

use verso_types::json::Node;
use verso_types::text_search::matching::{Flags, Matches, Places};
use verso_types::text_search::{LEXEME_MAX, Operand, POSITION_MAX, TsQuery};
use verso_types::{SqlType, TypeError, Value};

use super::config::Config;
use super::documents::{configured, too_long};
use super::parser::{Kind, Parser};
use super::{ASKED, CONFIG, JSON, JSONB, TEXT, function, json_text, query};
use crate::context::EvalContext;
use crate::error::Result;
use crate::functions::define::unexpected;
use crate::functions::{BuiltinFunction, ResultType, Volatility};
use crate::memory::room_to_read;

/// Tokens between two looks at whether the statement is cancelled.
const STEP: usize = 1 << 10;

/// How a headline is to be.
struct Options {
    max_words: i32,
    min_words: i32,
    short_word: i32,
    max_fragments: i32,
    highlight_all: bool,
    start: String,
    stop: String,
    delimiter: String,
}

impl Options {
    fn parse(text: &str) -> std::result::Result<Options, TypeError> {
        let mut options = Options {
            max_words: 35,
            min_words: 15,
            short_word: 3,
            max_fragments: 0,
            highlight_all: false,
            start: "<b>".into(),
            stop: "</b>".into(),
            delimiter: " ... ".into(),
        };
        for (name, value) in pairs(text)? {
            let number = || verso_types::text::parse_integer::<i32>(&value, "integer");
            match name.to_ascii_lowercase().as_str() {
                "maxwords" => options.max_words = number()?,
                "minwords" => options.min_words = number()?,
                "shortword" => options.short_word = number()?,
                "maxfragments" => options.max_fragments = number()?,
                "startsel" => options.start = value,
                "stopsel" => options.stop = value,
                "fragmentdelimiter" => options.delimiter = value,
                "highlightall" => {
                    let yes = ["1", "on", "true", "t", "y", "yes"];
                    options.highlight_all = yes.iter().any(|word| value.eq_ignore_ascii_case(word));
                }
                _ => return Err(wrong(format!("unrecognized headline parameter: \"{name}\""))),
            }
        }
        if !options.highlight_all {
            if options.min_words >= options.max_words {
                return Err(wrong("MinWords must be less than MaxWords"));
            }
            if options.min_words <= 0 {
                return Err(wrong("MinWords must be positive"));
            }
            if options.short_word < 0 {
                return Err(wrong("ShortWord must be >= 0"));
            }
            if options.max_fragments < 0 {
                return Err(wrong("MaxFragments must be >= 0"));
            }
        }
        for (name, value) in [
            ("StartSel", &options.start),
            ("StopSel", &options.stop),
            ("FragmentDelimiter", &options.delimiter),
        ] {
            if value.len() > i16::MAX as usize {
                return Err(wrong(format!("value for \"{name}\" is too long")));
            }
        }
        Ok(options)
    }
}

/// 22023.
#[cold]
fn wrong(text: impl Into<String>) -> TypeError {
    TypeError::new("22023", text)
}

/// Reads `name = value, name = 'value'`.
fn pairs(text: &str) -> std::result::Result<Vec<(String, String)>, TypeError> {
    let malformed = || TypeError::new("42601", format!("invalid parameter list format: \"{text}\""));
    let blank = |c: &char| c.is_ascii_whitespace() || *c == '\x0b';
    let mut list = Vec::new();
    let mut rest = text.chars().peekable();
    loop {
        while rest.next_if(|c| blank(c) || *c == ',').is_some() {}
        let Some(first) = rest.next() else { return Ok(list) };
        let mut name = String::new();
        if first == '"' {
            quoted(&mut rest, '"', &mut name).ok_or_else(malformed)?;
        } else {
            name.push(first);
            while let Some(c) = rest.next_if(|c| !blank(c) && *c != '=') {
                name.push(c);
            }
        }
        while rest.next_if(blank).is_some() {}
        rest.next_if_eq(&'=').ok_or_else(malformed)?;
        while rest.next_if(blank).is_some() {}
        let mut value = String::new();
        match rest.next() {
            None => return Err(malformed()),
            Some(quote @ ('\'' | '"')) => quoted(&mut rest, quote, &mut value).ok_or_else(malformed)?,
            Some('E') if rest.next_if_eq(&'\'').is_some() => {
                quoted(&mut rest, '\'', &mut value).ok_or_else(malformed)?;
            }
            Some(first) => {
                value.push(first);
                while let Some(c) = rest.next_if(|c| !blank(c) && *c != ',') {
                    value.push(c);
                }
            }
        }
        list.push((name, value));
    }
}

/// What stands up to a quote that is not doubled; none where there is no such quote.
fn quoted(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, quote: char, out: &mut String) -> Option<()> {
    loop {
        let c = rest.next()?;
        if c == quote && rest.next_if_eq(&quote).is_none() {
            return Some(());
        }
        if c == '\\' && quote == '\'' {
            rest.next_if_eq(&'\\');
        }
        out.push(c);
    }
}

/// A token of the document.
#[derive(Clone)]
struct Word<'t> {
    text: &'t str,
    kind: Kind,
    /// The place of its lexeme.
    place: u16,
    /// The operand of the query that it is.
    item: Option<usize>,
    /// The same word once more, for another operand.
    repeated: bool,
    selected: bool,
    shown: bool,
    blanked: bool,
    skipped: bool,
}

impl Word<'_> {
    fn counts(&self) -> bool {
        let (blanked, skipped) = hidden(self.kind);
        !(self.kind == Kind::Blank || blanked || skipped)
    }

    fn is_interesting(&self) -> bool {
        self.item.is_some() && !self.repeated
    }

    /// Whether no headline should end here.
    fn ends_badly(&self, short_word: i32) -> bool {
        let unwanted = !self.counts()
            || matches!(
                self.kind,
                Kind::Scientific
                    | Kind::Version
                    | Kind::Decimal
                    | Kind::Signed
                    | Kind::Unsigned
                    | Kind::Protocol
                    | Kind::Entity
            );
        let short = usize::try_from(short_word).is_ok_and(|short| self.text.len() <= short);
        (unwanted || short) && !self.is_interesting()
    }
}

/// Whether a blank stands for such a token, and whether it is left out, as its parts follow.
fn hidden(kind: Kind) -> (bool, bool) {
    let whole = matches!(kind, Kind::Url | Kind::NumHyphened | Kind::AsciiHyphened | Kind::Hyphened);
    (kind == Kind::Tag, whole)
}

/// The words of a document, those of a query marked.
fn words<'t>(cx: &EvalContext<'_>, config: Config, text: &'t str, query: &TsQuery) -> Result<Vec<Word<'t>>> {
    let operands: Vec<(usize, &Operand)> = query
        .items()
        .iter()
        .enumerate()
        .filter_map(|(n, item)| match item {
            verso_types::text_search::Item::Operand(operand) => Some((n, operand)),
            _ => None,
        })
        .collect();
    let mut held = cx.services.memory.account.reserve("a headline", u64::MAX);
    let mut words: Vec<Word<'t>> = Vec::new();
    let mut place = 0u16;
    let mut parser = Parser::new(text);
    let mut tokens = 0;
    while let Some((kind, token)) = parser.next() {
        tokens += 1;
        if tokens % STEP == 0 {
            cx.runtime.check_cancelled()?;
            held.resize((2 * words.len() * size_of::<Word<'_>>()) as u64)?;
        }
        if token.len() >= LEXEME_MAX {
            too_long(cx)?;
            continue;
        }
        let at = words.len();
        words.push(Word {
            text: token,
            kind,
            place: 0,
            item: None,
            repeated: false,
            selected: false,
            shown: false,
            blanked: false,
            skipped: false,
        });
        let Some(dictionary) = config.dictionary(kind) else { continue };
        place = place.saturating_add(1).min(POSITION_MAX);
        let Some(lexeme) = dictionary.lexeme(token) else { continue };
        words[at].place = place;
        for (n, operand) in &operands {
            let fits = match operand.prefix {
                true => lexeme.as_bytes().starts_with(operand.word.as_bytes()),
                false => *operand.word == *lexeme,
            };
            match (fits, words[at].item) {
                (false, _) => {}
                (true, None) => words[at].item = Some(*n),
                (true, Some(_)) => {
                    let again = Word { item: Some(*n), repeated: true, ..words[at].clone() };
                    words.push(again);
                }
            }
        }
    }
    Ok(words)
}

/// Where an operand stands among some of the words.
fn look(words: &[Word<'_>], n: usize, places: Option<&mut Vec<u16>>) -> Matches {
    let mut found = words.iter().filter(|word| word.item == Some(n));
    let Some(places) = places else {
        return if found.next().is_some() { Matches::Yes } else { Matches::No };
    };
    for word in found {
        if places.last().is_none_or(|last| *last < word.place) {
            places.push(word.place);
        }
    }
    if places.is_empty() { Matches::No } else { Matches::Yes }
}

/// A document with what is looked for.
struct Headline<'t, 'q> {
    words: Vec<Word<'t>>,
    query: &'q TsQuery,
    /// Where the parts of the query are that must be there.
    locations: Vec<Places>,
    options: &'q Options,
}

/// A run of words, both ends included.
#[derive(Clone, Copy)]
struct Run {
    begin: usize,
    end: usize,
}

impl Headline<'_, '_> {
    /// The next shortest run that the query matches, from a place on; the place from which to go on.
    fn cover(&self, cx: &EvalContext<'_>, from: &mut i32) -> Result<Option<Run>> {
        let mut place = *from;
        loop {
            cx.runtime.check_cancelled()?;
            let mut end = -1;
            for part in &self.locations {
                let first = part.places.iter().map(|at| i32::from(*at)).find(|at| *at >= place);
                let Some(first) = first else { return Ok(None) };
                end = end.max(first);
            }
            if end < 0 {
                return Ok(None);
            }
            let mut begin = i32::MAX - 1;
            for part in &self.locations {
                let starts = part.places.iter().rev().map(|at| i32::from(*at) - part.width as i32);
                begin = begin.min(starts.into_iter().find(|start| *start <= end).unwrap_or(-1));
            }
            let begin = begin.max(place);
            if begin <= end
                && let Some(run) = self.run(begin, end)
            {
                let inner = &self.words[run.begin..=run.end];
                let mut find = |n: usize, _: &Operand, places: Option<&mut Vec<u16>>| look(inner, n, places);
                if self.query.matches(Flags::default(), &mut find) != Matches::No {
                    *from = begin + 1;
                    return Ok(Some(run));
                }
            }
            place = begin + 1;
        }
    }

    /// The words of the query between two places.
    fn run(&self, begin: i32, end: i32) -> Option<Run> {
        let (mut first, mut last) = (None, None);
        for (n, word) in self.words.iter().enumerate().filter(|(_, word)| word.item.is_some()) {
            let place = i32::from(word.place);
            if first.is_none() && place >= begin {
                first = Some(n);
            }
            if place > end {
                break;
            }
            last = Some(n);
        }
        let run = Run { begin: first?, end: last? };
        (run.begin <= run.end).then_some(run)
    }

    fn ends_badly(&self, at: usize) -> bool {
        self.words.get(at).is_none_or(|word| word.ends_badly(self.options.short_word))
    }

    /// How many words there are at a place, and how many that are looked for.
    fn count(&self, at: usize) -> (i32, i32) {
        let word = &self.words[at];
        (word.counts().into(), word.is_interesting().into())
    }

    /// Marks a run as shown.
    fn show(&mut self, run: Run) {
        let all = self.options.highlight_all;
        for word in self.words.get_mut(run.begin..=run.end).unwrap_or_default() {
            word.selected |= word.item.is_some();
            let (blanked, skipped) = hidden(word.kind);
            word.blanked |= blanked && !all;
            word.skipped |= skipped;
            word.shown = !word.repeated;
        }
    }

    /// The first words, where nothing was found.
    fn show_beginning(&mut self) {
        let mut count = 0;
        let mut end = None;
        for at in 0..self.words.len() {
            if count >= self.options.min_words {
                break;
            }
            count += self.count(at).0;
            end = Some(at);
        }
        if let Some(end) = end {
            self.show(Run { begin: 0, end });
        }
    }

    /// One run: the best of the covers, made as long as it should be.
    fn show_one(&mut self, cx: &EvalContext<'_>) -> Result<()> {
        if self.options.highlight_all {
            if let Some(end) = self.words.len().checked_sub(1) {
                self.show(Run { begin: 0, end });
            }
            return Ok(());
        }
        let mut from = 0;
        let mut best: Option<(Run, i32, bool)> = None;
        while let Some(cover) = self.cover(cx, &mut from)? {
            let (run, words) = self.fitted(cover);
            let whole = run.begin <= cover.begin && run.end >= cover.end;
            let better = match &best {
                None => true,
                Some((_, _, best_whole)) if whole != *best_whole => whole,
                Some((_, best_words, _)) if words != *best_words => words > *best_words,
                Some((best_run, ..)) => !self.ends_badly(run.end) && self.ends_badly(best_run.end),
            };
            if better {
                best = Some((run, words, whole));
            }
        }
        match best {
            Some((run, ..)) => self.show(run),
            None => self.show_beginning(),
        }
        Ok(())
    }

    /// A cover with as many words as a headline should have, and how many of them are looked for.
    fn fitted(&self, cover: Run) -> (Run, i32) {
        let Options { max_words, min_words, .. } = *self.options;
        let (mut length, mut wanted) = (0, 0);
        let mut run = Run { begin: cover.begin, end: cover.begin };
        let mut at = cover.begin;
        while at <= cover.end && length < max_words {
            let (counted, interesting) = self.count(at);
            length += counted;
            wanted += interesting;
            run.end = at;
            at += 1;
        }
        if length < max_words {
            // Lengthened to the right up to a good end, the last word looked at again.
            at -= 1;
            while at < self.words.len() && length < max_words {
                if at > cover.end {
                    let (counted, interesting) = self.count(at);
                    length += counted;
                    wanted += interesting;
                }
                run.end = at;
                if !self.ends_badly(at) && length >= min_words {
                    break;
                }
                at += 1;
            }
            if length < min_words {
                // The text has ended: lengthened to the left.
                let mut begin = cover.begin;
                while begin > 0 {
                    begin -= 1;
                    let (counted, interesting) = self.count(begin);
                    length += counted;
                    wanted += interesting;
                    if length >= max_words || (!self.ends_badly(begin) && length >= min_words) {
                        break;
                    }
                }
                run.begin = begin;
            }
            return (run, wanted);
        }
        // Shortened to a good end.
        at = at.min(cover.end);
        while length > min_words && self.ends_badly(at) {
            let (counted, interesting) = self.count(at);
            length -= counted;
            wanted -= interesting;
            let Some(before) = at.checked_sub(1) else { break };
            run.end = before;
            at = before;
        }
        (run, wanted)
    }

    /// Several runs: the covers with the most words of the query, cut to what is allowed and stretched.
    fn show_fragments(&mut self, cx: &EvalContext<'_>) -> Result<()> {
        let mut fragments = self.fragments(cx)?;
        let mut shown = 0;
        for _ in 0..self.options.max_fragments {
            let mut best: Option<usize> = None;
            for (n, fragment) in fragments.iter().enumerate().filter(|(_, fragment)| !fragment.taken) {
                let (most, fewest) = best
                    .map_or((0, i32::MAX), |best: usize| (fragments[best].wanted, fragments[best].length));
                if most < fragment.wanted || (most == fragment.wanted && fewest > fragment.length) {
                    best = Some(n);
                }
            }
            let Some(best) = best else { break };
            let run = self.stretched(&fragments[best]);
            self.show(run);
            shown += 1;
            for (n, fragment) in fragments.iter_mut().enumerate() {
                let Run { begin, end } = fragment.run;
                let overlaps = (run.begin..=run.end).contains(&begin)
                    || (run.begin..=run.end).contains(&end)
                    || (begin < run.begin && end > run.end);
                fragment.taken |= n == best || overlaps;
            }
        }
        if shown == 0 {
            self.show_beginning();
        }
        Ok(())
    }

    /// All covers, cut into pieces that are short enough and have words of the query at both ends.
    fn fragments(&self, cx: &EvalContext<'_>) -> Result<Vec<Fragment>> {
        let mut list = Vec::new();
        let mut from = 0;
        while let Some(cover) = self.cover(cx, &mut from)? {
            let mut begin = cover.begin;
            while begin <= cover.end {
                let fragment = self.piece(Run { begin, end: cover.end });
                begin = fragment.run.end + 1;
                list.push(fragment);
            }
        }
        Ok(list)
    }

    /// The first piece of a run.
    fn piece(&self, run: Run) -> Fragment {
        let interesting = |at: &usize| self.words[*at].is_interesting();
        let begin = (run.begin..=run.end).find(interesting).unwrap_or(run.end);
        let (mut length, mut wanted) = (0, 0);
        let mut at = begin;
        while at <= run.end && length < self.options.max_words {
            let (counted, interesting) = self.count(at);
            length += counted;
            wanted += interesting;
            at += 1;
        }
        let mut end = run.end;
        if run.end > at {
            end = at;
            for back in (begin..=at).rev() {
                end = back;
                if interesting(&back) {
                    break;
                }
                length -= self.count(back).0;
            }
        }
        Fragment { run: Run { begin, end }, length, wanted, taken: false }
    }

    /// A fragment, lengthened on both sides up to good ends and to words that are shown already.
    fn stretched(&self, fragment: &Fragment) -> Run {
        let max = self.options.max_words;
        let Run { mut begin, mut end } = fragment.run;
        let mut length = fragment.length;
        if length >= max {
            return fragment.run;
        }
        let most = (max - length) / 2;
        let (mut stretch, mut mark) = (0, begin);
        let mut at = begin;
        while at > 0 && stretch < most && !self.words[at - 1].shown {
            at -= 1;
            let counted = self.count(at).0;
            length += counted;
            stretch += counted;
            mark = at;
        }
        while mark < begin && self.ends_badly(mark) {
            length -= self.count(mark).0;
            mark += 1;
        }
        begin = mark;
        mark = end;
        at = end + 1;
        while at < self.words.len() && length < max && !self.words[at].shown {
            length += self.count(at).0;
            mark = at;
            at += 1;
        }
        while mark > end && self.ends_badly(mark) {
            mark -= 1;
        }
        end = mark;
        Run { begin, end }
    }

    /// What is shown, as text.
    fn text(&self) -> String {
        let Options { start, stop, delimiter, .. } = self.options;
        let mut out = String::new();
        let (mut within, mut fragments) = (false, 0);
        for word in self.words.iter().filter(|word| !word.repeated) {
            if !word.shown {
                within = false;
                continue;
            }
            if !within {
                within = true;
                fragments += 1;
                if fragments > 1 {
                    out.push_str(delimiter);
                }
            }
            match word {
                Word { blanked: true, .. } => out.push(' '),
                Word { skipped: true, .. } => {}
                Word { selected: true, text, .. } => out.extend([start.as_str(), text, stop]),
                Word { text, .. } => out.push_str(text),
            }
        }
        out
    }
}

/// A piece of a cover.
struct Fragment {
    run: Run,
    /// Words, and words that are looked for.
    length: i32,
    wanted: i32,
    /// Shown already, or in the way of one that is.
    taken: bool,
}

fn of_text(
    cx: &EvalContext<'_>,
    config: Config,
    text: &str,
    query: &TsQuery,
    options: &Options,
) -> Result<String> {
    let words = words(cx, config, text, query)?;
    let locations = query.locations(&mut |n, _, places| look(&words, n, places)).unwrap_or_default();
    let mut headline = Headline { words, query, locations, options };
    match options.max_fragments {
        0 => headline.show_one(cx)?,
        _ => headline.show_fragments(cx)?,
    }
    Ok(headline.text())
}

/// A jsonb with headlines in place of its strings.
fn of_node(node: Node, other: &mut dyn FnMut(&str) -> Result<String>) -> Result<Node> {
    verso_env::stack::check()?;
    Ok(match node {
        Node::String(text) => Node::String(other(&text)?),
        Node::Array(list) => {
            Node::Array(list.into_iter().map(|node| of_node(node, other)).collect::<Result<_>>()?)
        }
        Node::Object(list) => Node::Object(
            list.into_iter().map(|(key, node)| Ok((key, of_node(node, other)?))).collect::<Result<_>>()?,
        ),
        node => node,
    })
}

/// `ts_headline([config,] document, query [, options])`.
fn headline(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (config, rest) = configured(cx, args)?;
    let [document, Value::Opaque(asked), options @ ..] = rest else {
        return Err(unexpected("ts_headline", args));
    };
    let asked = query(asked)?;
    let options = Options::parse(options.first().and_then(Value::as_str).unwrap_or_default())?;
    match document {
        Value::Text(text) => Ok(Value::text(&of_text(cx, config, text, &asked, &options)?)),
        Value::Jsonb(json) => {
            let mut shown = String::new();
            verso_types::json::format_into(json.root(), &mut shown);
            let node =
                of_node(Node::parse(&shown)?, &mut |text| of_text(cx, config, text, &asked, &options))?;
            Ok(Value::Jsonb(node.encode()?))
        }
        _ => Err(unexpected("ts_headline", args)),
    }
}

/// The same of a json text.
fn json_headline(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (config, rest) = configured(cx, args)?;
    let [Value::Text(source), Value::Opaque(asked), options @ ..] = rest else {
        return Err(unexpected("ts_headline", args));
    };
    let asked = query(asked)?;
    let options = Options::parse(options.first().and_then(Value::as_str).unwrap_or_default())?;
    let _room = room_to_read(cx.services.memory.account, source, &SqlType::Jsonb)?;
    let text = json_text::with_strings(source, |text| of_text(cx, config, text, &asked, &options))?;
    Ok(Value::text(&text))
}

macro_rules! headlines {
    ($($document:expr => $result:expr, $body:expr;)*) => {
        &[$(
            function!("ts_headline" [CONFIG, $document, ASKED, TEXT] => $result, Volatility::Immutable, $body),
            function!("ts_headline" [CONFIG, $document, ASKED] => $result, Volatility::Immutable, $body),
            function!("ts_headline" [$document, ASKED, TEXT] => $result, Volatility::Stable, $body),
            function!("ts_headline" [$document, ASKED] => $result, Volatility::Stable, $body),
        )*]
    };
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = headlines! {
    TEXT => ResultType::Fixed(SqlType::Text), headline;
    JSONB => ResultType::Fixed(SqlType::Jsonb), headline;
    JSON => ResultType::Fixed(SqlType::Json), json_headline;
};
