//! Items of lists of rights as text: `grantee=rights/grantor`, read and put in the order in which they are shown.
//!
//! Source: PostgreSQL's `acl.c`.

use crate::keyword::quoted;
use crate::names::{self, find_reference};
use crate::{SystemType, TypeError};

/// The letters of rights, in the order in which they are shown.
const LETTERS: &str = "arwdDxtXUCTcsAm";
/// The bytes of the longest name.
const NAME_MAX: usize = 63;
/// The role that stands for a grantor where none is given: the first one.
const FIRST_ROLE: u32 = 10;

fn invalid(text: impl Into<String>) -> TypeError {
    TypeError::new("22P02", text)
}

/// A name, in quotes or not, with the blanks around it; and what stands behind.
fn name(text: &str) -> Result<(String, &str), TypeError> {
    let text = text.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let (mut name, mut quoted) = (String::new(), false);
    let mut end = text.len();
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        if c == '"' {
            // within quotes two of them stand for one
            if quoted && characters.next_if(|(_, next)| *next == '"').is_some() {
                name.push('"');
            } else {
                quoted = !quoted;
            }
            continue;
        }
        if !(quoted || c == '_' || c.is_ascii_alphanumeric() || !c.is_ascii()) {
            end = at;
            break;
        }
        name.push(c);
    }
    if name.len() > NAME_MAX {
        let error = TypeError::new("42622", "identifier too long");
        return Err(error.with_detail(format!("Identifier must be less than {} characters.", NAME_MAX + 1)));
    }
    Ok((name, text[end..].trim_start_matches(|c: char| c.is_ascii_whitespace())))
}

/// A name as an item has it.
fn shown(name: &str) -> String {
    if name.is_empty() { String::new() } else { quoted(name) }
}

/// Refuses a role that is not there, where that can be known.
fn check_role(name: &str) -> Result<(), TypeError> {
    let quoted = format!("\"{}\"", name.replace('"', "\"\""));
    if names::lent().is_none() || find_reference(SystemType::Regrole, &quoted)?.is_some() {
        return Ok(());
    }
    Err(TypeError::new("42704", format!("role \"{name}\" does not exist")))
}

/// The text of an item as it is kept.
///
/// # Errors
/// 22P02 for what is none, 42704 for roles that are not there.
pub(super) fn parse(text: &str) -> Result<String, TypeError> {
    let (mut grantee, mut rest) = name(text)?;
    if !rest.starts_with('=') {
        if !matches!(grantee.as_str(), "group" | "user") {
            let hint = "ACL key word must be \"group\" or \"user\".";
            return Err(invalid(format!("unrecognized key word: \"{grantee}\"")).with_hint(hint));
        }
        (grantee, rest) = name(rest)?;
        if grantee.is_empty() {
            let hint = "A name must follow the \"group\" or \"user\" key word.";
            return Err(invalid("missing name").with_hint(hint));
        }
    }
    let Some(rights) = rest.strip_prefix('=') else { return Err(invalid("missing \"=\" sign")) };
    // for each right whether it is given, and whether it may be handed on
    let mut given = [(false, false); LETTERS.len()];
    let mut last = None;
    let mut behind = rights;
    for (at, c) in rights.char_indices() {
        behind = &rights[at..];
        if !(c.is_ascii_alphabetic() || c == '*') {
            break;
        }
        behind = &rights[at + 1..];
        if c == '*' {
            if let Some(last) = last {
                given[last] = (true, true);
            }
            continue;
        }
        let Some(place) = LETTERS.find(c) else {
            return Err(invalid(format!("invalid mode character: must be one of \"{LETTERS}\"")));
        };
        given[place].0 = true;
        last = Some(place);
    }
    if !grantee.is_empty() {
        check_role(&grantee)?;
    }
    let (grantor, rest) = match behind.strip_prefix('/') {
        Some(grantor) => {
            let (grantor, rest) = name(grantor)?;
            if grantor.is_empty() {
                return Err(invalid("a name must follow the \"/\" sign"));
            }
            check_role(&grantor)?;
            (shown(&grantor), rest)
        }
        None => {
            let first = names::lent().and_then(|names| names.name(SystemType::Regrole, FIRST_ROLE));
            (first.unwrap_or_else(|| FIRST_ROLE.to_string()), behind)
        }
    };
    if !rest.trim_start_matches(|c: char| c.is_ascii_whitespace()).is_empty() {
        return Err(invalid("extra garbage at the end of the ACL specification"));
    }
    let mut out = format!("{}=", shown(&grantee));
    for (letter, (has, hands_on)) in LETTERS.chars().zip(given) {
        if has {
            out.push(letter);
            out.extend(hands_on.then_some('*'));
        }
    }
    out.push('/');
    out.push_str(&grantor);
    Ok(out)
}
