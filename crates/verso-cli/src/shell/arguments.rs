//! The words behind a backslash command.
//!
//! A word ends at white space or at the next backslash. `'…'` keeps blanks and knows `\n`, `\t` and the like; `"…"` keeps
//! blanks and itself, as names need it; `` `…` `` is what a program prints; `:name`, `:'name'`, `:"name"` and `:{?name}`
//! stand for variables.

use std::process::Command;

/// Gives the value of a variable.
pub type Lookup<'l> = dyn Fn(&str) -> Option<String> + 'l;

/// The rest of a line behind a command's name, word by word.
pub struct Arguments<'l> {
    text: String,
    at: usize,
    lookup: &'l Lookup<'l>,
}

impl<'l> Arguments<'l> {
    /// Words of `text`.
    pub fn new(text: &str, lookup: &'l Lookup<'l>) -> Arguments<'l> {
        Arguments { text: text.to_owned(), at: 0, lookup }
    }

    /// How much of the text the words so far have taken.
    pub fn taken(&self) -> usize {
        self.at
    }

    /// The next word, if there is one.
    ///
    /// # Errors
    /// A quote that is not closed, a program that cannot be run.
    pub fn next(&mut self) -> Result<Option<String>, String> {
        self.skip_blanks();
        if self.at_end() {
            return Ok(None);
        }
        let mut word = String::new();
        while let Some(character) = self.peek() {
            match character {
                '\\' => break,
                blank if blank.is_whitespace() => break,
                '\'' => {
                    self.at += 1;
                    self.single_quoted(&mut word)?;
                }
                '"' => self.double_quoted(&mut word)?,
                '`' => {
                    self.at += 1;
                    let end = self.text[self.at..].find('`').ok_or("unterminated quoted string")?;
                    let program = self.text[self.at..self.at + end].to_owned();
                    self.at += end + 1;
                    word.push_str(&printed_by(&program)?);
                }
                ':' => match variable(&self.text[self.at..], self.lookup) {
                    Some((length, value)) => {
                        self.at += length;
                        word.push_str(&value);
                    }
                    None => {
                        self.at += 1;
                        word.push(':');
                    }
                },
                other => {
                    self.at += other.len_utf8();
                    word.push(other);
                }
            }
        }
        Ok(Some(word))
    }

    /// The same without semicolons at its end.
    ///
    /// # Errors
    /// As [`Arguments::next`].
    pub fn word(&mut self) -> Result<Option<String>, String> {
        Ok(self.next()?.map(|word| word.trim_end_matches(';').to_owned()))
    }

    /// A word that is a name of SQL: without its quotes, lower case outside of them.
    ///
    /// # Errors
    /// As [`Arguments::next`].
    pub fn name(&mut self) -> Result<Option<String>, String> {
        Ok(self.word()?.map(|word| folded(&word)))
    }

    /// All words that are left.
    ///
    /// # Errors
    /// As [`Arguments::next`].
    pub fn rest(&mut self) -> Result<Vec<String>, String> {
        let mut words = Vec::new();
        while let Some(word) = self.next()? {
            words.push(word);
        }
        Ok(words)
    }

    /// All of the line that is left, as it stands, without blanks around it.
    pub fn line(&mut self) -> String {
        let rest = self.text[self.at..].trim().to_owned();
        self.at = self.text.len();
        rest
    }

    /// What is left, without taking it.
    pub fn left(&self) -> &str {
        self.text[self.at..].trim()
    }

    /// Passes over the words that are left.
    pub fn skip(&mut self) {
        while matches!(self.next(), Ok(Some(_))) {}
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn at_end(&self) -> bool {
        matches!(self.peek(), None | Some('\\'))
    }

    /// Behind the quote that opens it.
    fn single_quoted(&mut self, word: &mut String) -> Result<(), String> {
        loop {
            let character = self.peek().ok_or("unterminated quoted string")?;
            self.at += character.len_utf8();
            match character {
                '\'' if self.peek() == Some('\'') => {
                    self.at += 1;
                    word.push('\'');
                }
                '\'' => return Ok(()),
                '\\' => {
                    let escaped = self.peek().ok_or("unterminated quoted string")?;
                    self.escaped(escaped, word);
                }
                other => word.push(other),
            }
        }
    }

    fn escaped(&mut self, escaped: char, word: &mut String) {
        let rest = &self.text[self.at..];
        let number = |digits: &str, radix: u32| u8::from_str_radix(digits, radix).map(char::from).ok();
        let digits = |text: &str, radix: u32, most: usize| {
            text.chars().take_while(|c| c.is_digit(radix)).take(most).count()
        };
        let (length, meant) = match escaped {
            'n' => (1, Some('\n')),
            't' => (1, Some('\t')),
            'b' => (1, Some('\u{8}')),
            'r' => (1, Some('\r')),
            'f' => (1, Some('\u{c}')),
            '0'..='7' => {
                let count = digits(rest, 8, 3);
                (count, number(&rest[..count], 8))
            }
            'x' if digits(&rest[1..], 16, 2) > 0 => {
                let count = digits(&rest[1..], 16, 2);
                (1 + count, number(&rest[1..1 + count], 16))
            }
            other => (other.len_utf8(), Some(other)),
        };
        self.at += length;
        word.extend(meant);
    }

    /// From the quote that opens it to the one that closes it, both included.
    fn double_quoted(&mut self, word: &mut String) -> Result<(), String> {
        let rest = &self.text[self.at..];
        let end = rest[1..].find('"').ok_or("unterminated quoted string")?;
        word.push_str(&rest[..end + 2]);
        self.at += end + 2;
        Ok(())
    }
}

/// A reference to a variable at the start of a text: its length, and what stands for it.
pub fn variable(text: &str, lookup: &Lookup<'_>) -> Option<(usize, String)> {
    let rest = text.strip_prefix(':')?;
    let name_of = |text: &str| text.bytes().take_while(|&byte| is_name(byte)).count();
    match rest.bytes().next()? {
        quote @ (b'\'' | b'"') => {
            let length = name_of(&rest[1..]);
            if length == 0 || rest.as_bytes().get(1 + length) != Some(&quote) {
                return None;
            }
            let value = lookup(&rest[1..=length])?;
            let quoted = if quote == b'\'' { literal(&value) } else { quoted_name(&value) };
            Some((length + 3, quoted))
        }
        b'{' => {
            let name = rest.strip_prefix("{?")?;
            let length = name_of(name);
            if length == 0 || name.as_bytes().get(length) != Some(&b'}') {
                return None;
            }
            let is_set = lookup(&name[..length]).is_some();
            Some((length + 4, if is_set { "TRUE" } else { "FALSE" }.to_owned()))
        }
        _ => {
            let length = name_of(rest);
            let value = lookup(&rest[..length]).filter(|_| length > 0)?;
            Some((length + 1, value))
        }
    }
}

/// May a byte stand in a variable's name?
pub fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// A text as a literal of SQL.
pub fn literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if text.contains('\\') {
        format!(" E'{}'", doubled.replace('\\', "\\\\"))
    } else {
        format!("'{doubled}'")
    }
}

/// A text as a name of SQL, always in quotes.
pub fn quoted_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A name without its quotes, and in lower case outside of them.
pub fn folded(word: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    let mut characters = word.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => out.push('"'),
            '"' => quoted = !quoted,
            other if quoted => out.push(other),
            other => out.extend(other.to_lowercase()),
        }
    }
    out
}

/// What a program prints, without the line's end behind it.
fn printed_by(program: &str) -> Result<String, String> {
    let output = Command::new("sh").args(["-c", program]).stdin(std::process::Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", output.status));
    }
    let text = String::from_utf8(output.stdout).map_err(|_| format!("{program}: its output is not UTF-8"))?;
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Option<String> {
        (name == "v").then(|| "it's".to_owned())
    }

    fn words(text: &str) -> Result<Vec<String>, String> {
        Arguments::new(text, &lookup).rest()
    }

    #[test]
    fn quotes_keep_blanks_and_escapes_mean_something() {
        let expected = ["\"a b\"", "c'd\te", "x\"y z\"w", "hi", "A"];
        assert_eq!(
            words(r#" "a b" 'c''d\te' x"y z"w `echo hi` '\x41'"#),
            Ok(expected.map(str::to_owned).into())
        );
        assert!(words("'open").is_err());
        assert!(words("`exit 3`").is_err());
    }

    #[test]
    fn variables_stand_in_all_their_forms() {
        let expected = ["it's", "'it''s'", "\"it's\"", "TRUE", "FALSE", ":nope", "a:b"];
        let text = ":v :'v' :\"v\" :{?v} :{?nope} :nope a:b";
        assert_eq!(words(text), Ok(expected.map(str::to_owned).into()));
        // Quotes of a value are no quotes, and nothing in quotes is replaced.
        assert_eq!(words("':v'"), Ok(vec![":v".to_owned()]));
    }

    #[test]
    fn words_end_at_the_next_command() {
        let mut arguments = Arguments::new(" a b\\echo c", &lookup);
        assert_eq!(arguments.next(), Ok(Some("a".to_owned())));
        assert_eq!(arguments.word(), Ok(Some("b".to_owned())));
        assert_eq!((arguments.next(), arguments.taken()), (Ok(None), 4));
        assert_eq!(arguments.line(), "\\echo c");
    }

    #[test]
    fn names_fold_outside_of_quotes() {
        let mut arguments = Arguments::new("Tab \"Tab\"\"x\" Sch.\"Tab\";", &lookup);
        let mut name = || arguments.name().ok().flatten().unwrap_or_default();
        assert_eq!((name(), name(), name()), ("tab".into(), "Tab\"x".into(), "sch.Tab".into()));
    }

    #[test]
    fn literals_and_names_are_quoted() {
        assert_eq!((literal("a'b"), literal("a\\b")), ("'a''b'".into(), " E'a\\\\b'".into()));
        assert_eq!(quoted_name("a\"b"), "\"a\"\"b\"");
    }
}
