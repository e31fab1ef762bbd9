//! `\d` and its relatives: what the catalogs say, in psql's form.
//!
//! Each command asks one query of `pg_catalog` whose columns are what is printed; only a relation's own description is put
//! together here. An open file and a server are asked the same.

mod functions;
mod lists;
mod objects;
mod pattern;
mod relation;
mod source;

use super::command::Call;
use super::format::{Expanded, Layout, Table};
use super::pager::print_table;
use super::{Flow, Shell};
pub use functions::functions;
pub use lists::relations;
use pattern::Pattern;
pub use source::{function_definition, show_function, show_view, view_definition};

/// What a list says above its rows, and what is said when there are none.
struct Listing {
    title: String,
    sql: String,
    /// An empty list is an error: what was not found, in the plural.
    missing: Option<&'static str>,
    /// The number of rows stands below.
    counted: bool,
}

impl Listing {
    fn new(title: &str, sql: String) -> Listing {
        Listing { title: title.to_owned(), sql, missing: None, counted: true }
    }
}

impl Shell<'_> {
    /// The rows of a question about the catalogs.
    fn asked(&mut self, sql: &str) -> Result<Table, String> {
        self.silently(sql).map_err(|said| said.one_line())
    }

    /// Prints a list.
    fn print_listing(
        &mut self,
        listing: Listing,
        call: &Call<'_, '_, '_>,
        word: Option<&str>,
    ) -> Result<Flow, String> {
        let mut table = self.asked(&listing.sql)?;
        if let (true, Some(what)) = (table.rows.is_empty(), listing.missing) {
            if let Some(word) = word {
                return Err(format!("Did not find any {what} named \"{word}\"."));
            }
            if !self.variables.quiet {
                let place = call.reading.place();
                self.complain(place.as_deref(), &format!("Did not find any {what}."));
            }
            return Ok(Flow::On);
        }
        table.title = Some(listing.title);
        table.footers = (!listing.counted).then(Vec::new);
        let layout = layout_of(&self.layout, call);
        print_table(&mut self.output, &layout, &table);
        Ok(Flow::On)
    }
}

/// With `x` behind the command its output is expanded; tables are not titled as those of statements are.
fn layout_of(layout: &Layout, call: &Call<'_, '_, '_>) -> Layout {
    let mut layout = Layout { title: None, ..layout.clone() };
    if call.has('x') {
        layout.expanded = Expanded::On;
    }
    layout
}

/// `\d`: without a name all relations, else each that fits, described.
pub fn relations_or_one(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    if call.arguments.left().trim_end_matches(';').is_empty() {
        return relations(shell, call);
    }
    let word = call.required()?;
    relation::describe(shell, call, &word)
}

/// All lists that one query makes.
pub fn listed(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let word = call.arguments.word()?;
    let second = if call.name.starts_with("drds") { call.arguments.word()? } else { None };
    let pattern = Pattern::of(word.as_deref())?;
    let base = call.name.trim_end_matches(['+', 'S']);
    let base = if base.len() > 2 && base.ends_with('x') { &base[..base.len() - 1] } else { base };
    let listing = objects::listing(base, word.as_deref(), &pattern, &Pattern::of(second.as_deref())?, call)?;
    shell.print_listing(listing, call, word.as_deref())
}

/// The schemas of the system are left out, unless they are asked for.
fn without_system(shows_it: bool, schema: &str) -> String {
    match shows_it {
        true => String::new(),
        false => format!("\n  AND {schema} <> 'pg_catalog'\n  AND {schema} <> 'information_schema'"),
    }
}

/// A privilege list, one grant a line.
fn privileges(column: &str) -> String {
    format!(
        "CASE WHEN pg_catalog.array_length({column}, 1) = 0 THEN '(none)' \
         ELSE pg_catalog.array_to_string({column}, E'\\n') END AS \"Access privileges\""
    )
}
