//! How a headline is to be: the options of a call, read from their text.

use verso_types::TypeError;

/// How a headline is to be.
pub(super) struct Options {
    pub(super) max_words: i32,
    pub(super) min_words: i32,
    pub(super) short_word: i32,
    pub(super) max_fragments: i32,
    pub(super) highlight_all: bool,
    pub(super) start: String,
    pub(super) stop: String,
    pub(super) delimiter: String,
}

impl Options {
    pub(super) fn parse(text: &str) -> std::result::Result<Options, TypeError> {
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
