//! `\dt`, `\dv`, `\di`, `\ds`, `\dm` and their combinations.

use super::super::{Flow, Shell};
use super::pattern::Pattern;
use super::{Call, Listing, without_system};

/// The kinds of relations: the letter of the command, those of the catalog, the plural.
const KINDS: [(char, &str, &str); 6] = [
    ('t', "'r','p','t','s'", "tables"),
    ('v', "'v'", "views"),
    ('m', "'m'", "materialized views"),
    ('i', "'i','I'", "indexes"),
    ('s', "'S'", "sequences"),
    ('E', "'f'", "foreign tables"),
];

/// Lists relations of the kinds that the command's letters name; of all but indexes for `\d`.
pub fn relations(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let word = call.arguments.word()?;
    let pattern = Pattern::of(word.as_deref())?;
    let letters = &call.name[1..call.name.len() - call.flags.len()];
    let letters = if letters.is_empty() { "tvmsE" } else { letters };
    let kinds: Vec<_> = KINDS.iter().filter(|(letter, ..)| letters.contains(*letter)).collect();
    let what = if let [(_, _, what)] = kinds[..] { what } else { "relations" };
    let listing = listing(letters, &kinds, what, &pattern, word.is_some(), call);
    shell.print_listing(listing, call, word.as_deref())
}

fn listing(
    letters: &str,
    kinds: &[&(char, &str, &str)],
    what: &'static str,
    pattern: &Pattern,
    has_pattern: bool,
    call: &Call<'_, '_, '_>,
) -> Listing {
    let with_indexes = letters.contains('i');
    let verbose = call.has('+');
    let mut columns = String::from(
        "n.nspname AS \"Schema\", c.relname AS \"Name\", \
         CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' \
         WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' \
         WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END AS \"Type\", \
         pg_catalog.pg_get_userbyid(c.relowner) AS \"Owner\"",
    );
    if with_indexes {
        columns.push_str(", c2.relname AS \"Table\"");
    }
    if verbose {
        columns.push_str(
            ", CASE c.relpersistence WHEN 'p' THEN 'permanent' WHEN 't' THEN 'temporary' WHEN 'u' THEN 'unlogged' END AS \"Persistence\"",
        );
        if letters.contains(['t', 'm', 'i']) {
            columns.push_str(", am.amname AS \"Access method\"");
        }
        columns.push_str(
            ", pg_catalog.pg_size_pretty(pg_catalog.pg_table_size(c.oid)) AS \"Size\", \
             pg_catalog.obj_description(c.oid, 'pg_class') AS \"Description\"",
        );
    }
    let mut from =
        String::from("pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace");
    if verbose && letters.contains(['t', 'm', 'i']) {
        from.push_str("\n  LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam");
    }
    if with_indexes {
        from.push_str(
            "\n  LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid\n  LEFT JOIN pg_catalog.pg_class c2 ON i.indrelid = c2.oid",
        );
    }
    let kinds: Vec<&str> = kinds.iter().map(|(_, kinds, _)| *kinds).collect();
    let system = without_system(has_pattern || call.has('S'), "n.nspname");
    let toast = if has_pattern || call.has('S') { "" } else { "\n  AND n.nspname !~ '^pg_toast'" };
    let fits = pattern.conditions("c.relname", "n.nspname", "pg_catalog.pg_table_is_visible(c.oid)");
    let sql = format!(
        "SELECT {columns}\nFROM {from}\nWHERE c.relkind IN ({}){system}{toast}{fits}\nORDER BY 1, 2",
        kinds.join(",")
    );
    Listing { title: format!("List of {what}"), sql, missing: Some(what), counted: true }
}
