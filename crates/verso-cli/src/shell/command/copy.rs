//! `\copy`: COPY whose file is one of this machine. The database copies from STDIN or to STDOUT, and the shell has the
//! other end.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};

use super::super::output::cause;
use super::super::results::Source;
use super::super::run::Request;
use super::super::{Flow, Shell};
use super::Call;

/// A `\copy` in its parts.
#[derive(Debug, PartialEq, Eq)]
struct Parts {
    /// The table with its columns, or the query in parentheses.
    what: String,
    is_from: bool,
    file: Place,
    /// All behind the file.
    options: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Place {
    File(String),
    /// STDIN or STDOUT: where the command stands, or where results go.
    Here,
    /// PSTDIN or PSTDOUT: the process's own.
    Process,
    Program,
}

/// Words of SQL: names, quoted texts, parentheses with all in them.
fn tokens(text: &str) -> Result<Vec<(usize, usize)>, String> {
    let bytes = text.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let start = at;
        let (mut depth, mut quote) = (0_u32, None);
        while at < bytes.len() {
            let byte = bytes[at];
            match (quote, byte) {
                (Some(open), _) if open == byte => quote = None,
                (Some(_), _) => {}
                (None, b'\'' | b'"') => quote = Some(byte),
                (None, b'(') => {
                    if depth == 0 && at > start && bytes[start] != b'(' {
                        break;
                    }
                    depth += 1;
                }
                (None, b')') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        at += 1;
                        break;
                    }
                }
                (None, byte) if byte.is_ascii_whitespace() && depth == 0 => break,
                _ => {}
            }
            at += 1;
        }
        if quote.is_some() || depth > 0 {
            return Err("\\copy: parse error at end of line".to_owned());
        }
        if at > start {
            found.push((start, at));
        }
        while at < bytes.len() && bytes[at].is_ascii_whitespace() {
            at += 1;
        }
    }
    Ok(found)
}

fn parse(text: &str) -> Result<Parts, String> {
    let text = text.trim().trim_end_matches(';').trim_end();
    let tokens = tokens(text)?;
    let word = |at: usize| tokens.get(at).map(|&(start, end)| &text[start..end]);
    let is = |at: usize, words: &[&str]| {
        word(at).is_some_and(|word| words.iter().any(|other| word.eq_ignore_ascii_case(other)))
    };
    let wrong = |at: usize| match word(at) {
        Some(word) => format!("\\copy: parse error at \"{word}\""),
        None => "\\copy: parse error at end of line".to_owned(),
    };
    let to = (1..tokens.len()).find(|&at| is(at, &["from", "to"])).ok_or_else(|| wrong(tokens.len()))?;
    let what = text[..tokens[to - 1].1].to_owned();
    let is_from = is(to, &["from"]);
    let place = word(to + 1).ok_or_else(|| wrong(to + 1))?;
    let file = match place.to_ascii_lowercase().as_str() {
        "stdin" | "stdout" => Place::Here,
        "pstdin" | "pstdout" => Place::Process,
        "program" => Place::Program,
        _ => Place::File(match place.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
            Some(quoted) => quoted.replace("''", "'"),
            None => place.to_owned(),
        }),
    };
    let behind = if file == Place::Program { to + 2 } else { to + 1 };
    let (_, end) = *tokens.get(behind).ok_or_else(|| wrong(behind))?;
    Ok(Parts { what, is_from, file, options: text[end..].trim().to_owned() })
}

pub fn copy(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let Parts { what, is_from, file, options } = parse(&call.arguments.line())?;
    let end = if is_from { "FROM STDIN" } else { "TO STDOUT" };
    let sql = format!("COPY {what} {end} {options}").trim_end().to_owned();
    let place = call.reading.place();
    let is_typed = call.reading.input.is_terminal();
    let (source, target): (Source<'_>, Option<Box<dyn Write>>) = match (file, is_from) {
        (Place::Program, _) => {
            let hint = if is_from {
                "\\! PROGRAM > FILE, then \\copy … FROM 'FILE'"
            } else {
                "COPY … TO STDOUT \\g |PROGRAM"
            };
            return Err(format!("\\copy: PROGRAM is not supported\nHINT:  {hint}"));
        }
        (Place::File(name), true) => (Source::File(reader(&name)?), None),
        (Place::File(name), false) => {
            #[expect(clippy::disallowed_methods, reason = "the user's file, not the database's")]
            let file = File::create(&name).map_err(|error| format!("{name}: {}", cause(&error)))?;
            (Source::Nothing, Some(Box::new(BufWriter::new(file))))
        }
        (Place::Process, true) => (Source::File(Box::new(std::io::stdin())), None),
        (Place::Process, false) => (Source::Nothing, Some(Box::new(std::io::stdout()))),
        (Place::Here, true) => (Source::Lines(call.reading.input), None),
        (Place::Here, false) => (Source::Nothing, None),
    };
    let request = Request { source, copy_to: target, is_typed, ..Request::new(&sql, place.as_deref()) };
    Ok(shell.request(request).0)
}

fn reader(name: &str) -> Result<Box<dyn Read>, String> {
    #[expect(clippy::disallowed_methods, reason = "the user's file, not the database's")]
    let file = File::open(name).map_err(|error| format!("{name}: {}", cause(&error)))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(format!("{name}: cannot copy from/to a directory"));
    }
    Ok(Box::new(BufReader::new(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, bool, Place, String) {
        let parts = parse(text).expect(text);
        (parts.what, parts.is_from, parts.file, parts.options)
    }

    #[test]
    fn the_parts_of_a_copy_are_told_apart() {
        assert_eq!(
            parts("t (a, \"from\") from '/tmp/it''s' with (format csv, header)"),
            (
                "t (a, \"from\")".into(),
                true,
                Place::File("/tmp/it's".into()),
                "with (format csv, header)".into()
            )
        );
        assert_eq!(
            parts("(select 'a to b' from t) to stdout csv;"),
            ("(select 'a to b' from t)".into(), false, Place::Here, "csv".into())
        );
        assert_eq!(parts("s.t TO pstdout"), ("s.t".into(), false, Place::Process, String::new()));
        assert_eq!(parts("t(a) from x.csv").2, Place::File("x.csv".into()));
        assert_eq!(parts("t from program 'ls'").2, Place::Program);
    }

    #[test]
    fn what_is_no_copy_is_told() {
        for text in ["", "t", "t from", "t from program", "(select 1 to stdout", "t from 'x"] {
            assert!(parse(text).is_err_and(|message| message.starts_with("\\copy: parse error")), "{text}");
        }
    }
}
