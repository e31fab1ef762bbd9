//! Definitions as SQL text, spelled and laid out as PostgreSQL's `ruleutils.c` spells them.
//!
//! ```text
//! text of a view ─parse─► syntax ─┐
//!                  └bind─► trace ─┴─lower─► tree of nodes ─print─► text
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`node`] | the tree: what an expression or query means, with the casts that PostgreSQL makes of it |
//! | [`lower`], [`operands`], [`calls`], [`json_forms`] | expressions from syntax and trace to the tree |
//! | [`lower_query`], [`lower_from`] | the same for queries and what they read |
//! | [`print`], [`forms`] | expressions as text |
//! | [`layout`], [`names`] | queries as text: line breaks, indentation; which names tell the items of FROM apart |
//! | [`stored`] | expressions that the catalog keeps as text: defaults, checks of tables and domains, keys of indexes, conditions of triggers and policies |
//! | [`body`], [`lower_change`], [`layout_change`] | bodies of functions that are SQL's own, and the changes of rows in them |
//! | [`bound`] | expressions that are bound already: what the others have no node for |
//!
//! T1. What cannot be lowered has no text here: whoever asks shows the text as it was given, or what [`bound`] makes of it.
//!     `JSON_TABLE` and `AS OF` are spelled as they were given, but for the expressions in them.
//! T2. The text of a definition defines the same again.

mod body;
mod bound;
mod calls;
mod forms;
mod json_forms;
mod layout;
mod layout_change;
mod lower;
mod lower_change;
mod lower_from;
mod lower_query;
mod names;
mod node;
mod operands;
mod print;
mod stored;

use std::sync::Arc;

use verso_catalog::ViewDef;

use crate::bind::Binder;
use crate::bind::trace::Trace;
pub use body::body;
pub use bound::{bound_domain_condition, expression, identifier, literal};
use layout::Printer;
use lower::Lowering;
pub use stored::{
    Part, condition, domain_condition, index_key, key_expression, over_table, trigger_condition,
};

/// How a definition is laid out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Without parentheses that precedence makes needless.
    pub pretty: bool,
    /// Columns of an output list stand on one line as far as they fit into so many characters.
    pub wrap: usize,
}

/// The query of a view with the names of today; none where it has no text here (T1).
pub fn view(binder: &Binder<'_>, view: &ViewDef, style: Style) -> Option<String> {
    let trace = Trace::default();
    let query = binder.traced_view(view, &trace).ok()?;
    let inside = binder.within(view).ok()?;
    let mut lowering = Lowering::new(&inside, &trace, &view.query.text);
    let lowered = lowering.query(&query)?;
    let names: Vec<Arc<str>> = view.columns.iter().map(|column| Arc::clone(&column.name)).collect();
    Printer::new(style).definition(&lowered, &names)
}
