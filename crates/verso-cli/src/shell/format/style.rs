//! The characters that tables are drawn with.

use super::layout::{Layout, LineStyle};

/// The characters of one horizontal line, or between the cells of a row.
#[derive(Clone, Copy)]
pub struct Rule {
    pub line: &'static str,
    pub left: &'static str,
    pub middle: &'static str,
    pub right: &'static str,
}

/// One way to draw a table. Marks stand where a value goes on in the next line: because of a line's end in it
/// (`newline`), or because the column is narrower (`wrap`).
#[derive(Clone, Copy)]
pub struct Style {
    pub top: Rule,
    pub below_heading: Rule,
    pub bottom: Rule,
    pub data: Rule,
    /// Between two cells, where the right one continues behind a line's end, is wrapped, or is over.
    pub middle_newline: &'static str,
    pub middle_wrap: &'static str,
    pub middle_blank: &'static str,
    pub heading_left: &'static str,
    pub heading_right: &'static str,
    pub newline_left: &'static str,
    pub newline_right: &'static str,
    pub wrap_left: &'static str,
    pub wrap_right: &'static str,
    /// Marks stand at the right of cells without borders.
    pub marks_right: bool,
}

const fn plus() -> Rule {
    Rule { line: "-", left: "+", middle: "+", right: "+" }
}

const fn bars() -> Rule {
    Rule { line: "", left: "|", middle: "|", right: "|" }
}

const ASCII: Style = Style {
    top: plus(),
    below_heading: plus(),
    bottom: plus(),
    data: bars(),
    middle_newline: "|",
    middle_wrap: "|",
    middle_blank: "|",
    heading_left: " ",
    heading_right: "+",
    newline_left: " ",
    newline_right: "+",
    wrap_left: ".",
    wrap_right: ".",
    marks_right: true,
};

const OLD_ASCII: Style = Style {
    middle_newline: ":",
    middle_wrap: ";",
    middle_blank: " ",
    heading_left: "+",
    heading_right: " ",
    newline_right: " ",
    wrap_left: " ",
    wrap_right: " ",
    marks_right: false,
    ..ASCII
};

const UNICODE: Style = Style {
    top: Rule { line: "─", left: "┌", middle: "┬", right: "┐" },
    below_heading: Rule { line: "─", left: "├", middle: "┼", right: "┤" },
    bottom: Rule { line: "─", left: "└", middle: "┴", right: "┘" },
    data: Rule { line: "", left: "│", middle: "│", right: "│" },
    middle_newline: "│",
    middle_wrap: "│",
    middle_blank: "│",
    heading_right: "↵",
    newline_right: "↵",
    wrap_left: "…",
    wrap_right: "…",
    ..ASCII
};

/// The characters of a layout. Double lines take the places of single ones as psql has it: the border's where the table ends,
/// the header's below the headings, the columns' between cells.
pub fn of(layout: &Layout) -> Style {
    let style = match layout.linestyle {
        LineStyle::Ascii => return ASCII,
        LineStyle::OldAscii => return OLD_ASCII,
        LineStyle::Unicode => UNICODE,
    };
    let (border, column, header) =
        (layout.unicode_border as usize, layout.unicode_column as usize, layout.unicode_header as usize);
    let edge = ["│", "║"][border];
    let between = ["│", "║"][column];
    let line = ["─", "═"];
    let heading = |at: usize, joins: [[&'static str; 2]; 2]| joins[header][at];
    let crossing = |at: usize, joins: [[&'static str; 2]; 2]| joins[column][at];
    Style {
        top: Rule {
            line: line[border],
            left: ["┌", "╔"][border],
            middle: crossing(border, [["┬", "╤"], ["╥", "╦"]]),
            right: ["┐", "╗"][border],
        },
        below_heading: Rule {
            line: line[header],
            left: heading(border, [["├", "╟"], ["╞", "╠"]]),
            middle: crossing(header, [["┼", "╪"], ["╫", "╬"]]),
            right: heading(border, [["┤", "╢"], ["╡", "╣"]]),
        },
        bottom: Rule {
            line: line[border],
            left: ["└", "╚"][border],
            middle: crossing(border, [["┴", "╧"], ["╨", "╩"]]),
            right: ["┘", "╝"][border],
        },
        data: Rule { line: "", left: edge, middle: between, right: edge },
        middle_newline: between,
        middle_wrap: between,
        middle_blank: between,
        ..style
    }
}
