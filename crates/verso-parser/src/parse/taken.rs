//! Clauses that the library does not know: noted with their places, and taken out of the tokens, or put as it knows them.
//!
//! | text | what the library is given |
//! |---|---|
//! | `FOR NO KEY UPDATE OF a, b`, `FOR KEY SHARE` | `FOR UPDATE`, `FOR SHARE` |
//! | `OVERRIDING SYSTEM VALUE` | nothing |
//! | `WHERE CURRENT OF c` | nothing |
//! | `(VALUES …)` where a value may stand | `(SELECT * FROM (VALUES …))` |
//! | `(TABLE t …)` | `(SELECT * FROM t …)` |
//! | `SELECT 1 FOR UPDATE`, without FROM | `SELECT 1 LIMIT ALL FOR UPDATE` |

use std::cell::Cell;

use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

use super::cursor::{fold, truncate};
use super::source::Source;
use crate::error::SyntaxError;
use crate::syntax::Name;

/// What was taken out of a text.
#[derive(Debug, Default)]
pub(super) struct Taken {
    locks: Vec<TakenLock>,
    /// Starts of OVERRIDING … VALUE, and whether it says SYSTEM.
    overriding: Vec<(u32, bool)>,
    current: Vec<CurrentOf>,
}

/// WHERE CURRENT OF.
#[derive(Debug)]
struct CurrentOf {
    /// The OF.
    at: u32,
    cursor: Name,
    used: Cell<bool>,
}

/// What the library does not say of a lock clause.
#[derive(Debug)]
pub struct TakenLock {
    /// The FOR.
    pub start: u32,
    /// NO KEY UPDATE, KEY SHARE.
    pub key: bool,
    /// OF: names, each with what stands before it and a dot.
    pub of: Vec<Vec<Name>>,
    used: Cell<bool>,
}

fn words(tokens: &[TokenWithSpan], wanted: &[&str]) -> bool {
    tokens.len() >= wanted.len()
        && tokens.iter().zip(wanted).all(|(token, wanted)| {
            matches!(&token.token, Token::Word(word)
                if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
        })
}

impl Taken {
    /// Takes the clauses out of a text's tokens; `source` knows places only yet.
    pub fn out_of(tokens: &mut Vec<TokenWithSpan>, source: &Source<'_>) -> Taken {
        let mut taken = Taken::default();
        let (mut at, mut depth) = (0, 0);
        let mut lists = vec![false]; // per open parenthesis: a list of SELECT is under way
        while at < tokens.len() {
            note_list(&tokens[at].token, &mut lists);
            if lists.last() == Some(&true) && is_lock(&tokens[at..]) {
                insert(tokens, at, [Token::make_keyword("LIMIT"), Token::make_keyword("ALL")]);
                at += 2;
                lists.pop();
                lists.push(false);
            } else if tokens[at].token == Token::LParen && is_table(&tokens[at + 1..]) {
                tokens.remove(at + 1);
                insert(tokens, at + 1, select_from());
            } else if at > 0 && is_value(&tokens[at - 1].token) && is_values(&tokens[at..]) {
                close_early(tokens, at);
                insert(tokens, at + 1, select_from().into_iter().chain([Token::LParen]));
            }
            let rest = &tokens[at..];
            let start = source.offset(rest[0].span.start);
            let key = if words(rest, &["for", "no", "key", "update"]) {
                tokens.drain(at + 1..at + 3);
                true
            } else if words(rest, &["for", "key", "share"]) {
                tokens.remove(at + 1);
                true
            } else if words(rest, &["for", "update"]) || words(rest, &["for", "share"]) {
                false
            } else {
                if words(rest, &["overriding", "system", "value"])
                    || words(rest, &["overriding", "user", "value"])
                {
                    taken.overriding.push((start, words(rest, &["overriding", "system"])));
                    tokens.drain(at..at + 3);
                    continue;
                }
                match rest[0].token {
                    Token::LParen => depth += 1,
                    Token::RParen => depth -= 1,
                    Token::SemiColon => depth = 0,
                    _ => {}
                }
                if depth == 0
                    && words(rest, &["where", "current", "of"])
                    && let Some((mut names, 1)) = name_list(&rest[3..], source)
                    && ends_statement(&rest[4..])
                    && let Some(cursor) = names.pop().and_then(|mut parts| parts.pop())
                {
                    let at_of = source.offset(rest[2].span.start);
                    taken.current.push(CurrentOf { at: at_of, cursor, used: Cell::new(false) });
                    tokens.drain(at..at + 4);
                    continue;
                }
                at += 1;
                continue;
            };
            let mut of = Vec::new();
            if words(tokens.get(at + 2..).unwrap_or_default(), &["of"])
                && let Some((names, count)) = name_list(&tokens[at + 3..], source)
            {
                of = names;
                tokens.drain(at + 2..at + 3 + count);
            }
            taken.locks.push(TakenLock { start, key, of, used: Cell::new(false) });
            at += 2;
        }
        taken
    }

    /// The next lock clause behind `from` that nobody has asked for. A query asks when all queries inside of it have.
    pub fn lock(&self, from: u32) -> Option<&TakenLock> {
        let free = |lock: &&TakenLock| !lock.used.get();
        let found = self.locks.iter().filter(free).find(|lock| lock.start >= from);
        let found = found.or_else(|| self.locks.iter().find(free))?;
        found.used.set(true);
        Some(found)
    }

    /// The cursor of WHERE CURRENT OF between two characters.
    pub fn current_of(&self, from: u32, to: u32) -> Option<Name> {
        let found = self.current.iter().find(|current| (from..to).contains(&current.at))?;
        found.used.set(true);
        Some(found.cursor.clone())
    }

    /// Refuses a WHERE CURRENT OF that no statement has asked for.
    pub fn check(&self) -> Result<(), SyntaxError> {
        match self.current.iter().find(|current| !current.used.get()) {
            Some(current) => Err(SyntaxError::syntax("syntax error at or near \"OF\"").at(current.at)),
            None => Ok(()),
        }
    }

    /// The first OVERRIDING between two characters, and whether it says SYSTEM.
    pub fn overriding(&self, from: u32, to: u32) -> Option<bool> {
        self.overriding.iter().find(|(at, _)| (from..to).contains(at)).map(|(_, system)| *system)
    }
}

/// Keeps in mind, per open parenthesis, whether the list of a SELECT is under way.
fn note_list(token: &Token, lists: &mut Vec<bool>) {
    const ENDS: [&str; 12] = [
        "from",
        "where",
        "group",
        "having",
        "window",
        "order",
        "limit",
        "offset",
        "fetch",
        "union",
        "intersect",
        "except",
    ];
    match token {
        Token::LParen => lists.push(false),
        Token::RParen if lists.len() > 1 => drop(lists.pop()),
        Token::SemiColon => *lists = vec![false],
        Token::Word(word) if word.quote_style.is_none() => {
            if let Some(list) = lists.last_mut() {
                let is = |keyword: &str| word.value.eq_ignore_ascii_case(keyword);
                *list = is("select") || *list && !ENDS.into_iter().any(is);
            }
        }
        _ => {}
    }
}

/// Whether a lock clause begins here.
fn is_lock(tokens: &[TokenWithSpan]) -> bool {
    let clauses: [&[&str]; 4] =
        [&["for", "update"], &["for", "share"], &["for", "no", "key", "update"], &["for", "key", "share"]];
    words(tokens, &["for"]) && clauses.into_iter().any(|clause| words(tokens, clause))
}

/// Whether a value may follow, and no table.
fn is_value(token: &Token) -> bool {
    const WORDS: [&str; 18] = [
        "select",
        "distinct",
        "where",
        "and",
        "or",
        "not",
        "case",
        "when",
        "then",
        "else",
        "having",
        "by",
        "limit",
        "offset",
        "between",
        "like",
        "ilike",
        "returning",
    ];
    match token {
        Token::Word(word) => {
            word.quote_style.is_none() && WORDS.iter().any(|keyword| word.value.eq_ignore_ascii_case(keyword))
        }
        Token::Comma
        | Token::LParen
        | Token::Eq
        | Token::Neq
        | Token::Lt
        | Token::Gt
        | Token::LtEq
        | Token::GtEq
        | Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div
        | Token::Mod
        | Token::StringConcat => true,
        _ => false,
    }
}

/// `(VALUES (`.
fn is_values(tokens: &[TokenWithSpan]) -> bool {
    match tokens {
        [first, rest @ ..] if first.token == Token::LParen && words(rest, &["values"]) => {
            matches!(rest.get(1).map(|token| &token.token), Some(Token::LParen))
        }
        _ => false,
    }
}

/// `TABLE name`.
fn is_table(tokens: &[TokenWithSpan]) -> bool {
    words(tokens, &["table"]) && matches!(tokens.get(1).map(|token| &token.token), Some(Token::Word(_)))
}

fn select_from() -> [Token; 3] {
    [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")]
}

/// One more parenthesis before the one that closes the one at `at`.
fn close_early(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let mut depth = 0;
    let ends = |token: &TokenWithSpan| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    };
    if let Some(length) = tokens[at..].iter().position(ends) {
        insert(tokens, at + length, [Token::RParen]);
    }
}

/// Puts tokens that take no place before another one.
fn insert(tokens: &mut Vec<TokenWithSpan>, at: usize, new: impl IntoIterator<Item = Token>) {
    let place = tokens.get(at).map_or(Span::empty(), |token| Span::new(token.span.start, token.span.start));
    tokens.splice(at..at, new.into_iter().map(|token| TokenWithSpan::new(token, place)));
}

/// Whether nothing follows that a condition may have.
fn ends_statement(tokens: &[TokenWithSpan]) -> bool {
    words(tokens, &["returning"])
        || matches!(tokens.first().map(|token| &token.token), None | Some(Token::SemiColon | Token::EOF))
}

/// `a, b.c, …`, and how many tokens that is; none where it is something else.
fn name_list(tokens: &[TokenWithSpan], source: &Source<'_>) -> Option<(Vec<Vec<Name>>, usize)> {
    let mut list = vec![Vec::new()];
    let mut count = 0;
    loop {
        let token = tokens.get(count)?;
        let Token::Word(word) = &token.token else { return None };
        let text = if word.quote_style.is_some() { word.value.clone() } else { fold(&word.value) };
        list.last_mut()?.push(Name { text: truncate(text), at: source.span(token.span) });
        count += 1;
        match tokens.get(count).map(|token| &token.token) {
            Some(Token::Comma) => list.push(Vec::new()),
            Some(Token::Period) => {}
            _ => return Some((list, count)),
        }
        count += 1;
    }
}
