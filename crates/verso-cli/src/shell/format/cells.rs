//! What stands in a cell of the screen: lines without anything that moves the cursor.

use std::fmt::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of the screen between two stops of the tabulator.
const TAB: usize = 8;

/// One line of a cell.
#[derive(Debug, Clone)]
pub struct Line {
    /// Only what takes room.
    pub text: String,
    /// Columns of the screen.
    pub width: usize,
}

/// The lines of a value. Tabs become blanks, other control characters are written out.
pub fn lines(value: &str) -> Vec<Line> {
    value.split('\n').map(line).collect()
}

/// The width of the longest line of a value, and the number of its lines.
pub fn extent(value: &str) -> (usize, usize) {
    let plain = |line: &str| !line.bytes().any(|byte| byte < b' ' || byte == 0x7f || byte >= 0x80);
    let width = |line: &str| if plain(line) { line.len() } else { self::line(line).width };
    let (mut widest, mut count) = (0, 0);
    for line in value.split('\n') {
        widest = widest.max(width(line));
        count += 1;
    }
    (widest, count)
}

fn line(text: &str) -> Line {
    let (mut shown, mut width) = (String::with_capacity(text.len()), 0);
    for character in text.chars() {
        match character {
            '\r' => {
                shown.push_str("\\r");
                width += 2;
            }
            '\t' => loop {
                shown.push(' ');
                width += 1;
                if width % TAB == 0 {
                    break;
                }
            },
            control if control < ' ' || control == '\u{7f}' => {
                let _ = write!(shown, "\\x{:02X}", u32::from(control));
                width += 4;
            }
            other => match other.width() {
                Some(columns) => {
                    shown.push(other);
                    width += columns;
                }
                None => {
                    let _ = write!(shown, "\\u{:04X}", u32::from(other));
                    width += 6;
                }
            },
        }
    }
    Line { text: shown, width }
}

/// How many bytes of a text fit into `width` columns, and how many columns these take; at least one character.
pub fn fitting(text: &str, width: usize) -> (usize, usize) {
    let mut taken = 0;
    for (at, character) in text.char_indices() {
        let columns = character.width().unwrap_or(0);
        if at > 0 && taken + columns > width {
            return (at, taken);
        }
        taken += columns;
    }
    (text.len(), taken)
}

/// `count` blanks.
pub fn pad(out: &mut String, count: usize) {
    out.extend(std::iter::repeat_n(' ', count));
}

/// The columns that a text takes on the screen.
pub fn width(text: &str) -> usize {
    text.width()
}
