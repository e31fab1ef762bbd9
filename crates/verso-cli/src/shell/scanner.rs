//! Where a statement ends: cuts lines of a terminal or script into statements and backslash commands.
//!
//!     line ─► Scanner ─► Statement("SELECT 1;") │ Backslash("timing on") │ None: another line, please
//!
//! The session splits texts as well (`versodb::split_statements`), but only whole ones. The shell meets its text line by
//! line, shows in its prompt what is still open, and knows two things that SQL does not: backslash commands and the
//! trailing ` // …` comments of the published scripts. A test holds both to the same answer for plain SQL.
//!
//! S1. A semicolon ends a statement only outside quotes, dollar quotes, comments, parentheses and BEGIN ATOMIC … END.
//! S2. A statement starts at its first character that is neither white space nor comment, so that `LINE n` of an error
//!     counts from there; everything from there to the semicolon reaches the session unchanged, but for S3.
//! S4. A variable (`:name`) is replaced outside of quotes and comments only. What stands for it is read as if it had been
//!     typed, but the name within its own value stays as it is; a literal or name made of it (`:'name'`) is not read again.
//! S3. ` // …` (at the start of a line or after white space, outside quotes and comments) is dropped up to the line's end.

use versodb::AtomicBodies;

use super::arguments::{Lookup, is_name, variable};

/// What the scanner found next.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// One statement with its semicolon.
    Statement(String),
    /// The name of a backslash command; the line behind it is [`Scanner::rest`].
    Backslash(String),
}

/// What is still open at the end of a line; the prompt shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// Nothing: a new statement may start.
    Nothing,
    /// A statement without its semicolon.
    Statement,
    /// A text literal.
    Text,
    /// A quoted name.
    Name,
    /// A dollar-quoted text.
    Dollar,
    /// A block comment.
    Comment,
    /// A parenthesis.
    Parenthesis,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Plain,
    /// `'…'`; with backslash escapes when it began as `E'`.
    Text {
        escapes: bool,
    },
    Name,
    Dollar {
        tag: String,
    },
    /// Block comments nest.
    Comment {
        depth: u32,
    },
}

/// Cuts lines into statements and backslash commands.
#[derive(Debug)]
pub struct Scanner {
    line: String,
    at: usize,
    statement: String,
    state: State,
    parentheses: u32,
    bodies: AtomicBodies,
    /// Variables whose values are being read: the name, and the bytes of the line behind the value.
    within: Vec<(String, usize)>,
}

impl Default for Scanner {
    fn default() -> Self {
        Scanner {
            line: String::new(),
            at: 0,
            statement: String::new(),
            state: State::Plain,
            parentheses: 0,
            bodies: AtomicBodies::default(),
            within: Vec::new(),
        }
    }
}

impl Scanner {
    /// Hands over the next line, without its end; call it when [`Scanner::next_piece`] has returned `None`.
    pub fn push_line(&mut self, line: &str) {
        debug_assert!(self.at >= self.line.len(), "the line before is used up");
        self.line.clear();
        self.line.push_str(line);
        self.line.push('\n');
        self.at = 0;
        self.within.clear();
    }

    /// Puts a text in front of what is left of the line, as if it had been typed.
    pub fn insert(&mut self, text: &str) {
        self.line.insert_str(self.at.min(self.line.len()), text);
    }

    /// What is left of the line: of a backslash command its words and all behind them.
    pub fn rest(&self) -> &str {
        self.line.get(self.at..).unwrap_or_default().trim_end_matches('\n')
    }

    /// Passes over the words of a backslash command, and over a `\\` that only separates it from what follows.
    pub fn skip(&mut self, length: usize) {
        self.at += length;
        if self.line.get(self.at..).is_some_and(|rest| rest.starts_with("\\\\")) {
            self.at += 2;
        }
    }

    /// The next statement or command of the lines so far; `None` when another line is needed.
    pub fn next_piece(&mut self, lookup: &Lookup<'_>) -> Option<Piece> {
        while self.at < self.line.len() {
            match &mut self.state {
                State::Plain => {
                    if let Some(piece) = self.plain(lookup) {
                        return Some(piece);
                    }
                }
                State::Text { escapes } => {
                    let escapes = *escapes;
                    self.inside(b'\'', escapes);
                }
                State::Name => self.inside(b'"', false),
                State::Dollar { .. } => self.inside_dollar(),
                State::Comment { .. } => self.inside_comment(),
            }
        }
        None
    }

    /// What is open now.
    pub fn open(&self) -> Open {
        match self.state {
            State::Text { .. } => Open::Text,
            State::Name => Open::Name,
            State::Dollar { .. } => Open::Dollar,
            State::Comment { .. } => Open::Comment,
            State::Plain if self.parentheses > 0 => Open::Parenthesis,
            State::Plain if self.statement.is_empty() => Open::Nothing,
            State::Plain => Open::Statement,
        }
    }

    /// The unfinished statement so far.
    pub fn pending(&self) -> &str {
        self.statement.trim_end()
    }

    /// How long the unfinished statement is, with the parentheses that are open in it.
    pub fn mark(&self) -> (usize, u32) {
        (self.statement.len(), self.parentheses)
    }

    /// Forgets what was typed since the mark.
    pub fn back_to(&mut self, (length, parentheses): (usize, u32)) {
        self.statement.truncate(length);
        self.parentheses = parentheses;
        self.state = State::Plain;
    }

    /// Replaces the unfinished statement.
    pub fn set_pending(&mut self, text: &str) {
        self.take_pending();
        self.statement.push_str(text);
    }

    /// Takes the unfinished statement, at the end of the input or for `\g`; `None` when there is nothing but comments.
    pub fn take_pending(&mut self) -> Option<String> {
        self.state = State::Plain;
        self.parentheses = 0;
        self.bodies = AtomicBodies::default();
        let statement = std::mem::take(&mut self.statement);
        let statement = statement.trim_end();
        (!statement.is_empty()).then(|| statement.to_owned())
    }

    /// Forgets everything, also the rest of the line: after Ctrl-C.
    pub fn reset(&mut self) {
        *self = Scanner::default();
    }

    /// One step outside of quotes and comments.
    fn plain(&mut self, lookup: &Lookup<'_>) -> Option<Piece> {
        let rest = &self.line.as_bytes()[self.at..];
        match rest[0] {
            b'\'' => {
                let escapes = self.starts_escape_text();
                self.enter(State::Text { escapes }, 1);
            }
            b'"' => self.enter(State::Name, 1),
            b'-' if rest.starts_with(b"--") => self.skip_or_take(self.line.len() - 1 - self.at),
            b'/' if rest.starts_with(b"/*") => {
                self.state = State::Comment { depth: 1 };
                self.skip_or_take(2);
            }
            b'/' if rest.starts_with(b"//") && self.after_white_space() => self.at = self.line.len() - 1,
            b'$' => match dollar_tag(rest) {
                Some(tag) if !self.after_word() => {
                    let length = tag.len();
                    let tag = tag.to_owned();
                    self.enter(State::Dollar { tag }, length);
                }
                _ => self.take(1),
            },
            // Of these the sign alone is meant: a semicolon that sends nothing, a colon before no variable.
            b'\\' if rest.starts_with(b"\\;") || rest.starts_with(b"\\:") => {
                self.at += 1;
                self.take(1);
            }
            b'\\' => return Some(self.backslash()),
            b':' if rest.starts_with(b"::") || rest.starts_with(b":=") => self.take(2),
            b':' => self.colon(lookup),
            b'(' => {
                self.parentheses += 1;
                self.bodies.pass("");
                self.take(1);
            }
            b')' => {
                self.parentheses = self.parentheses.saturating_sub(1);
                self.take(1);
            }
            b';' if self.parentheses == 0 && !self.bodies.is_open() => {
                self.take(1);
                let statement = std::mem::take(&mut self.statement);
                // A lone semicolon is no statement.
                return (statement != ";").then_some(Piece::Statement(statement));
            }
            byte if byte.is_ascii_whitespace() => self.skip_or_take(1),
            _ => {
                let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
                let length = rest.iter().take_while(|byte| plain(byte)).count().max(1);
                // What follows a `$` within a word is no word of its own.
                if !(is_word(rest[0]) && self.after_word()) {
                    let word = rest.iter().take_while(|byte| is_word(**byte)).count();
                    self.bodies.pass(&self.line[self.at..self.at + word]);
                }
                self.take(length);
            }
        }
        None
    }

    /// Inside `'…'` or `"…"`; a doubled quote leaves and enters again, which comes to the same.
    fn inside(&mut self, quote: u8, escapes: bool) {
        let rest = &self.line.as_bytes()[self.at..];
        let end = rest.iter().position(|&byte| byte == quote || (escapes && byte == b'\\'));
        match end {
            Some(end) if rest[end] == quote => {
                self.take(end + 1);
                // `'it''s'` goes on as the same literal, with or without escapes.
                if self.line.as_bytes().get(self.at) == Some(&quote) {
                    self.take(1);
                } else {
                    self.state = State::Plain;
                }
            }
            Some(end) => {
                let escaped = self.line[self.at + end + 1..].chars().next().map_or(0, char::len_utf8);
                self.take(end + 1 + escaped);
            }
            None => self.take(rest.len()),
        }
    }

    fn inside_dollar(&mut self) {
        let State::Dollar { tag } = &self.state else { return };
        match self.line[self.at..].find(tag.as_str()) {
            Some(end) => {
                let length = end + tag.len();
                self.take(length);
                self.state = State::Plain;
            }
            None => self.take(self.line.len() - self.at),
        }
    }

    fn inside_comment(&mut self) {
        let rest = &self.line.as_bytes()[self.at..];
        let State::Comment { depth } = &mut self.state else { return };
        if rest.starts_with(b"/*") {
            *depth += 1;
            self.skip_or_take(2);
        } else if rest.starts_with(b"*/") {
            *depth -= 1;
            if *depth == 0 {
                self.state = State::Plain;
            }
            self.skip_or_take(2);
        } else {
            let length =
                rest[1..].iter().position(|byte| matches!(byte, b'/' | b'*')).map_or(rest.len(), |at| at + 1);
            self.skip_or_take(length);
        }
    }

    /// A variable, or a colon.
    fn colon(&mut self, lookup: &Lookup<'_>) {
        let left = |at: usize| self.line.len() - at;
        let known = |name: &str| {
            let is_open = |(open, end): &(String, usize)| open == name && left(self.at) > *end;
            if self.within.iter().any(is_open) { None } else { lookup(name) }
        };
        let Some((length, value)) = variable(&self.line[self.at..], &known) else { return self.take(1) };
        if !self.line[self.at + 1..].starts_with(|c: char| c.is_ascii() && !is_name(c as u8)) {
            let name = self.line[self.at + 1..self.at + length].to_owned();
            let behind = left(self.at + length);
            self.within.retain(|(_, end)| *end < behind);
            self.within.push((name, behind));
            self.line.replace_range(self.at..self.at + length, &value);
        } else {
            self.at += length;
            self.bodies.pass("");
            self.statement.push_str(value.trim_start_matches(|c| c == ' ' && self.statement.ends_with(' ')));
        }
    }

    /// Takes the name of a command behind its backslash.
    fn backslash(&mut self) -> Piece {
        let text = &self.line[self.at + 1..];
        let end = match text.chars().next() {
            // `\!ls` and `\?x` need no blank.
            Some(sign @ ('!' | '?')) => sign.len_utf8(),
            _ => text.find(|c: char| c.is_whitespace() || c == '\\').unwrap_or(text.len()),
        };
        let name = text[..end].to_owned();
        self.at += 1 + end;
        Piece::Backslash(name)
    }

    fn enter(&mut self, state: State, length: usize) {
        self.bodies.pass("");
        self.state = state;
        self.take(length);
    }

    fn take(&mut self, length: usize) {
        self.statement.push_str(&self.line[self.at..self.at + length]);
        self.at += length;
    }

    /// White space and comments belong to a statement only once it has begun.
    fn skip_or_take(&mut self, length: usize) {
        if self.statement.is_empty() {
            self.at += length;
        } else {
            self.take(length);
        }
    }

    fn before(&self) -> Option<u8> {
        self.at.checked_sub(1).map(|at| self.line.as_bytes()[at])
    }

    fn after_white_space(&self) -> bool {
        self.before().is_none_or(|byte| byte.is_ascii_whitespace())
    }

    fn after_word(&self) -> bool {
        self.before().is_some_and(is_word)
    }

    /// `E'…'`, where the E is a word of its own.
    fn starts_escape_text(&self) -> bool {
        let bytes = &self.line.as_bytes()[..self.at];
        match bytes {
            [.., before, b'e' | b'E'] => !is_word(*before),
            [b'e' | b'E'] => true,
            _ => false,
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// `$$` or `$tag$` at the start of `bytes`; `$1` is a parameter.
fn dollar_tag(bytes: &[u8]) -> Option<&str> {
    let name = bytes[1..].iter().take_while(|&&byte| is_word(byte) && byte != b'$').count();
    let fits = bytes.get(1 + name) == Some(&b'$') && !bytes[1].is_ascii_digit();
    fits.then(|| std::str::from_utf8(&bytes[..name + 2]).expect("cut at ASCII characters"))
}

#[cfg(test)]
mod tests {
    use super::super::arguments::Arguments;
    use super::*;

    fn lookup(name: &str) -> Option<String> {
        let value = match name {
            "x" => "1; select :x, :y",
            "y" => "2",
            "t" => "it's",
            _ => return None,
        };
        Some(value.to_owned())
    }

    fn pieces(text: &str) -> Vec<Piece> {
        let mut scanner = Scanner::default();
        let mut pieces = Vec::new();
        for line in text.lines() {
            scanner.push_line(line);
            while let Some(piece) = scanner.next_piece(&lookup) {
                let Piece::Backslash(name) = piece else {
                    pieces.push(piece);
                    continue;
                };
                let mut words = Arguments::new(scanner.rest(), &lookup);
                let text = [&[name][..], &words.rest().unwrap_or_default()].concat().join(" ");
                let taken = words.taken();
                scanner.skip(taken);
                pieces.push(Piece::Backslash(text));
            }
        }
        pieces.extend(scanner.take_pending().map(Piece::Statement));
        pieces
    }

    fn statements(text: &str) -> Vec<String> {
        pieces(text)
            .into_iter()
            .map(|piece| match piece {
                Piece::Statement(text) => text,
                Piece::Backslash(text) => format!("\\{text}"),
            })
            .collect()
    }

    #[test]
    fn semicolons_end_statements_on_one_line_or_several() {
        assert_eq!(statements("select 1; select\n 2;;\nselect 3"), ["select 1;", "select\n 2;", "select 3"]);
    }

    #[test]
    fn semicolons_in_quotes_comments_and_parentheses_end_nothing() {
        for text in [
            "select ';';",
            "select 'it''s;';",
            "select E'\\';';",
            "select 'a\\';",
            "select \"a;\"\"b;\";",
            "select $$;$$;",
            "select $a$ ; $b$ ; $$ ; $a$;",
            "select 1 -- ; no\n;",
            "select /* ; /* ; */ ; */ 1;",
            "create rule r as (select 1; select 2);",
            "select 'two\nlines;';",
            "create function f() returns int begin atomic select 1; select case when true then 2 end; end;",
            "create procedure p()\nbegin /* ; */\natomic\ninsert into t values (';'); \nEND;",
        ] {
            assert_eq!(statements(text), [text], "{text}");
        }
    }

    #[test]
    fn begin_and_end_alone_open_no_body() {
        for text in ["begin; select atomic; end;", "select 1 as begin, atomic; select 2; end;"] {
            assert_eq!(statements(text).len(), 3, "{text}");
        }
        let rest = ["create function f() begin atomic select a$end; end;", "select 1;"];
        assert_eq!(statements(&rest.join("\n")), rest);
    }

    #[test]
    fn statements_are_cut_as_the_session_cuts_them() {
        for text in [
            "begin; select \"begin\" atomic; end; select begin, atomic; select begin (atomic); select 1",
            "create function f() begin atomic; select \"end\" ; select 'end'; end; select 2;",
        ] {
            let cut = |piece: &versodb::Piece| text[piece.range.clone()].to_owned();
            let of_session: Vec<String> = versodb::split_statements(text).iter().map(cut).collect();
            let trimmed = |text: &String| text.trim_end_matches(';').trim_end().to_owned();
            assert_eq!(statements(text).iter().map(trimmed).collect::<Vec<_>>(), of_session, "{text}");
        }
    }

    #[test]
    fn a_parameter_is_no_dollar_quote() {
        assert_eq!(statements("select $1; select a$b$;"), ["select $1;", "select a$b$;"]);
    }

    #[test]
    fn leading_comments_and_white_space_are_dropped() {
        assert_eq!(statements("-- first\n\n  /* second\n third */ select 1;"), ["select 1;"]);
    }

    #[test]
    fn slash_comments_are_dropped_outside_of_quotes_only() {
        assert_eq!(
            statements("// a header\nselect 4//2, // here; and 'there\n 'http://x // y'; // end"),
            ["select 4//2, \n 'http://x // y';"]
        );
    }

    #[test]
    fn backslash_commands_stand_alone_or_behind_a_statement() {
        assert_eq!(
            pieces("\\timing on\nselect 1 \\x \\echo 'a\\b' \\\\ ;"),
            [
                Piece::Backslash("timing on".into()),
                Piece::Backslash("x".into()),
                Piece::Backslash("echo a\u{8}".into()),
                Piece::Statement("select 1  ;".into()),
            ]
        );
    }

    #[test]
    fn a_backslash_takes_the_meaning_of_semicolons_and_colons() {
        assert_eq!(statements("select 1 \\; select \\:y;"), ["select 1 ; select :y;"]);
    }

    #[test]
    fn a_backslash_inside_quotes_is_text() {
        assert_eq!(statements("select '\\x', $$\\d$$;"), ["select '\\x', $$\\d$$;"]);
    }

    #[test]
    fn the_prompt_learns_what_is_open() {
        let open = |text: &str| {
            let mut scanner = Scanner::default();
            for line in text.lines() {
                scanner.push_line(line);
                while scanner.next_piece(&lookup).is_some() {}
            }
            scanner.open()
        };
        assert_eq!(open("select 1;"), Open::Nothing);
        assert_eq!(open("-- only this"), Open::Nothing);
        assert_eq!(open("select"), Open::Statement);
        assert_eq!(open("select 'a"), Open::Text);
        assert_eq!(open("select \"a"), Open::Name);
        assert_eq!(open("select $x$ a"), Open::Dollar);
        assert_eq!(open("/* a"), Open::Comment);
        assert_eq!(open("select (1"), Open::Parenthesis);
    }

    #[test]
    fn variables_are_read_as_if_they_had_been_typed() {
        // The name within its own value stays as it is, so that nothing goes on for ever.
        assert_eq!(statements("select :x;"), ["select 1;", "select :x, 2;"]);
        assert_eq!(
            statements("select :'t', :\"t\", :{?t}, ':t', \":t\", $$:t$$, :none, a::t, b[1:y];"),
            ["select 'it''s', \"it's\", TRUE, ':t', \":t\", $$:t$$, :none, a::t, b[12];"]
        );
    }

    #[test]
    fn reset_forgets_an_open_quote() {
        let mut scanner = Scanner::default();
        scanner.push_line("select 'oh");
        assert_eq!(scanner.next_piece(&lookup), None);
        scanner.reset();
        scanner.push_line("select 1;");
        assert_eq!(scanner.next_piece(&lookup), Some(Piece::Statement("select 1;".into())));
    }
}
