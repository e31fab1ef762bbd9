//! Results as text: a table of cells, and how it is laid out.
//!
//!     Table + Layout ─► aligned │ wrapped │ unaligned │ csv │ json │ markdown │ html │ asciidoc ─► String
//!
//! F1. The formats that psql has give psql's bytes for the same rows; json and markdown give those of DuckDB.
//! F2. A cell is a text or NULL; what NULL looks like is decided by the layout alone.

mod aligned;
mod asciidoc;
mod cells;
mod csv;
mod expanded;
mod html;
mod json;
pub mod layout;
mod markdown;
mod style;
mod unaligned;

pub use cells::width;
pub use html::escaped as html_escaped;
pub use layout::{Expanded, Format, Layout, Pager};

/// What values of a column are, as far as the formats care.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Anything else.
    #[default]
    Text,
    /// Aligned to the right.
    Number,
    /// `t` or `f`.
    Bool,
    /// JSON already.
    Json,
}

/// A column of a result.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its heading.
    pub title: String,
    /// What its values are.
    pub kind: Kind,
}

impl Column {
    /// A column of texts.
    pub fn text(title: &str) -> Column {
        Column { title: title.to_owned(), kind: Kind::Text }
    }

    fn is_right(&self) -> bool {
        self.kind == Kind::Number
    }
}

/// A value; `None` is NULL.
pub type Cell = Option<String>;

/// A whole result.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Stands above it.
    pub title: Option<String>,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, each with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// Lines below it instead of the number of rows.
    pub footers: Option<Vec<String>>,
}

impl Table {
    /// The text of the table. `width` is that of the screen, if it goes there.
    pub fn render(&self, layout: &Layout, width: Option<usize>) -> String {
        let grid = Grid::new(self, layout);
        let expanded = layout.expanded == Expanded::On;
        let width = if layout.columns > 0 { Some(layout.columns) } else { width };
        let mut out = String::new();
        match layout.format {
            Format::Aligned | Format::Wrapped if expanded => expanded::print(&grid, layout, width, &mut out),
            Format::Aligned | Format::Wrapped => aligned::print(&grid, layout, width, &mut out),
            Format::Unaligned if expanded => unaligned::vertical(&grid, layout, &mut out),
            Format::Unaligned => unaligned::horizontal(&grid, layout, &mut out),
            Format::Csv if expanded => csv::vertical(&grid, layout, &mut out),
            Format::Csv => csv::horizontal(&grid, layout, &mut out),
            Format::Html if expanded => html::vertical(&grid, layout, &mut out),
            Format::Html => html::horizontal(&grid, layout, &mut out),
            Format::Asciidoc if expanded => asciidoc::vertical(&grid, layout, &mut out),
            Format::Asciidoc => asciidoc::horizontal(&grid, layout, &mut out),
            Format::Json => json::print(self, &mut out),
            Format::Markdown if expanded => markdown::vertical(&grid, layout, &mut out),
            Format::Markdown => markdown::horizontal(&grid, layout, &mut out),
        }
        out
    }
}

/// A table whose cells are the texts to be shown.
struct Grid<'t> {
    title: Option<&'t str>,
    columns: &'t [Column],
    rows: Vec<Vec<std::borrow::Cow<'t, str>>>,
    /// The lines below that the table has of its own.
    own_footers: Option<&'t [String]>,
    /// With the number of rows where it has none.
    footers: Vec<String>,
}

impl<'t> Grid<'t> {
    fn new(table: &'t Table, layout: &'t Layout) -> Grid<'t> {
        let cell = |(cell, column): (&'t Cell, &Column)| -> std::borrow::Cow<'t, str> {
            match cell {
                None => layout.null.as_str().into(),
                Some(text) if layout.numericlocale && column.is_right() => layout::grouped(text).into(),
                Some(text) => text.as_str().into(),
            }
        };
        let rows: Vec<Vec<_>> =
            table.rows.iter().map(|row| row.iter().zip(&table.columns).map(cell).collect()).collect();
        let count = rows.len();
        let counted = || match layout.footer {
            true => vec![format!("({count} row{})", if count == 1 { "" } else { "s" })],
            false => Vec::new(),
        };
        Grid {
            title: table.title.as_deref().or(layout.title.as_deref()),
            columns: &table.columns,
            own_footers: table.footers.as_deref(),
            footers: table.footers.clone().unwrap_or_else(counted),
            rows,
        }
    }
}

#[cfg(test)]
mod tests;
