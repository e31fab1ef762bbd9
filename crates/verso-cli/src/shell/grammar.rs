//! The syntax of statements, for `\h` and completion.
//!
//! The text beside this file is a grammar. The parser has its own, by hand; the tests hold both together: they make
//! sentences of this one, with every choice and every part that may be left out, and the parser takes them all.

/// Statements, and their syntax below.
const TEXT: &str = include_str!("grammar.txt");

/// Columns of a line of `\h`.
const COLUMNS: usize = 100;

/// The names of all statements.
pub fn names() -> impl Iterator<Item = &'static str> {
    TEXT.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// The words that begin a statement, each once.
pub fn first_words() -> impl Iterator<Item = &'static str> {
    let mut last = "";
    names().filter_map(move |name| {
        let word = name.split(' ').next().unwrap_or(name);
        (std::mem::replace(&mut last, word) != word).then_some(word)
    })
}

/// The forms of a statement.
fn forms(name: &str) -> impl Iterator<Item = &'static str> {
    let behind = TEXT.lines().skip_while(move |line| *line != name).skip(1);
    behind.take_while(|line| line.starts_with(' ')).map(str::trim)
}

/// The list of statements, or the syntax of those whose name starts with `topic` (upper case); `*` means all.
pub fn help(topic: Option<&str>) -> String {
    let Some(topic) = topic else {
        let names: Vec<&str> = names().collect();
        let rows = names.len().div_ceil(3);
        let mut out = "Available help:\n".to_owned();
        for row in 0..rows {
            let cells = (0..3).filter_map(|column| names.get(column * rows + row));
            let line: String = cells.map(|name| format!("  {name:<30}")).collect();
            out.push_str(line.trim_end());
            out.push('\n');
        }
        return out;
    };
    let all = topic == "*";
    // A statement that is named alone is meant; `CREATE` means all that begin so.
    let exact = names().filter(|name| *name == topic);
    let mut found: Vec<&str> = exact.collect();
    let mut word = topic;
    while found.is_empty() {
        found = names().filter(|name| all || name.starts_with(word)).collect();
        let Some((shorter, _)) = word.rsplit_once(' ') else { break };
        word = shorter;
    }
    if found.is_empty() {
        return format!(
            "No help available for \"{topic}\".\nTry \\h with no arguments to see available help.\n"
        );
    }
    let mut out = String::new();
    for name in found {
        out.push_str(&format!("Command:     {name}\nSyntax:\n"));
        for form in forms(name) {
            wrapped(form, &mut out);
        }
        out.push('\n');
    }
    out
}

/// A form in lines that fit; those behind the first are indented.
fn wrapped(form: &str, out: &mut String) {
    let mut column = 0;
    for word in form.split(' ') {
        if column > 0 && column + 1 + word.len() > COLUMNS {
            out.push_str("\n    ");
            column = 4;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.len();
    }
    out.push('\n');
}

#[cfg(test)]
mod tests;
