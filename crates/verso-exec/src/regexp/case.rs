//! Characters in the other case, one for one, as PostgreSQL's expressions take them: a pattern's character stands for itself, its
//! small and its large form. So `ς` matches `Σ`, but `Σ` does not match `ς`.

use std::sync::OnceLock;

pub(crate) use verso_types::collation::small;

/// The large form; itself where there is none of one character.
pub(crate) fn large(c: char) -> char {
    let beyond = |distance: u32| char::from_u32(u32::from(c) + distance).unwrap_or(c);
    match c {
        // with an iota below, which full mappings write behind
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => beyond(8),
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => beyond(9),
        c => single(c.to_uppercase()).unwrap_or(c),
    }
}

fn single(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}

/// Appends the other cases of the characters of a range.
pub(super) fn others(low: char, high: char, out: &mut Vec<(char, char)>) {
    if low == high {
        let forms = [small(low), large(low)];
        return out.extend(forms.into_iter().filter(|form| *form != low).map(|form| (form, form)));
    }
    for (c, form) in cased() {
        if (low..=high).contains(c) {
            out.push((*form, *form));
        }
    }
}

/// The characters that have another case, with it.
fn cased() -> &'static [(char, char)] {
    static CASED: OnceLock<Vec<(char, char)>> = OnceLock::new();
    CASED.get_or_init(|| {
        let forms = ('\0'..=char::MAX).flat_map(|c| [(c, small(c)), (c, large(c))]);
        forms.filter(|(c, form)| c != form).collect()
    })
}
