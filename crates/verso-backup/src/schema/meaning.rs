//! That names in statements mean the same when these are run again, beside objects that were made later than those that name them.
//!
//! ```text
//! functions h(bigint), then view v: h(1), then h(integer)    v is restored as h((1)::bigint)
//! view v: upper(x), then function public.upper(varchar)      v is restored along the empty path
//! ```
//!
//! E1. Of several functions of a schema and a name, or operators of a schema and a symbol, casts of the arguments say which one is meant:
//!     texts that name one of them are spelled as PostgreSQL spells them (`pg_get_expr`, `pg_get_viewdef`). Other texts stay as they were
//!     given.
//! E2. A statement that uses the name of a built-in function which users have given to one of theirs, too, is run along the empty path.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, Oid, StoredQuery, kept};
use verso_exec::functions::{aggregate_candidates, candidates, window_candidates};

/// Symbols of operators that are built in.
const SYMBOLS: [&str; 30] = [
    "=", "<>", "<", ">", "<=", ">=", "+", "-", "*", "/", "%", "^", "||", "&", "|", "#", "~", "~*", "!~",
    "!~*", "~~", "!~~", "@>", "<@", "&&", "->", "->>", "#>", "#>>", "?",
];

/// Which names may mean something else when they are read again.
pub(super) struct Meanings {
    /// Functions and operators that are not alone with their names.
    among_others: HashSet<Oid>,
    /// Names of built-in functions that users have given to theirs.
    taken: Vec<Arc<str>>,
    /// The same of symbols.
    symbols: Vec<Arc<str>>,
}

impl Meanings {
    pub fn of(catalog: &CatalogSnapshot) -> Meanings {
        let mut by_name: HashMap<(&str, &str), Vec<Oid>> = HashMap::new();
        let mut names: HashSet<&Arc<str>> = HashSet::new();
        for function in catalog.all_functions().filter(|function| !function.oid.is_system()) {
            by_name.entry((&*function.schema, &*function.name)).or_default().push(function.oid);
            names.insert(&function.name);
        }
        let is_built_in = |name: &str| {
            !candidates(name).is_empty()
                || !aggregate_candidates(name).is_empty()
                || !window_candidates(name).is_empty()
        };
        let mut taken: Vec<Arc<str>> =
            names.into_iter().filter(|name| is_built_in(name)).map(Arc::clone).collect();
        taken.sort_unstable();
        let mut symbols: Vec<Arc<str>> = Vec::new();
        for operator in catalog.operators().iter() {
            by_name.entry((&*operator.schema, &*operator.name)).or_default().push(operator.oid);
            if SYMBOLS.contains(&&*operator.name) && !symbols.contains(&operator.name) {
                symbols.push(Arc::clone(&operator.name));
            }
        }
        let several = by_name.into_values().filter(|all| all.len() > 1);
        Meanings { among_others: several.flatten().collect(), taken, symbols }
    }

    /// Whether every name means one function only.
    pub fn are_plain(&self) -> bool {
        self.among_others.is_empty()
    }

    /// Whether a text of the catalog is to be spelled with casts (E1).
    pub fn needs_casts(&self, text: &str) -> bool {
        !self.are_plain() && kept::objects_of(text).iter().any(|oid| self.among_others.contains(oid))
    }

    /// The same of a query.
    pub fn of_query_need_casts(&self, query: &StoredQuery) -> bool {
        query.functions.iter().any(|(_, oid)| self.among_others.contains(oid))
            || self.needs_casts(&query.text)
    }

    /// Whether a statement is to be run along the empty path (E2).
    pub fn is_taken(&self, sql: &str) -> bool {
        self.taken.iter().any(|name| verso_parser::names(sql, name))
            || self.symbols.iter().any(|symbol| sql.contains(&format!(" {symbol} ")))
    }
}
