//! `\df` and its relatives.

use super::super::{Flow, Shell};
use super::pattern::Pattern;
use super::{Call, Listing, privileges, without_system};

/// Lists functions: all kinds, or those that letters behind `\df` name.
pub fn functions(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let word = call.arguments.word()?;
    let mut types = Vec::new();
    while let Some(ty) = call.arguments.word()? {
        types.push(ty);
    }
    let pattern = Pattern::of(word.as_deref())?;
    let letters = &call.name[2..call.name.len() - call.flags.len()];
    let mut columns = String::from(
        "n.nspname AS \"Schema\", p.proname AS \"Name\", pg_catalog.pg_get_function_result(p.oid) AS \"Result data type\", \
         pg_catalog.pg_get_function_arguments(p.oid) AS \"Argument data types\", \
         CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' \
         ELSE 'func' END AS \"Type\"",
    );
    if call.has('+') {
        columns.push_str(&format!(
            ", CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' WHEN 'v' THEN 'volatile' END AS \"Volatility\", \
             CASE p.proparallel WHEN 'r' THEN 'restricted' WHEN 's' THEN 'safe' WHEN 'u' THEN 'unsafe' END AS \"Parallel\", \
             pg_catalog.pg_get_userbyid(p.proowner) AS \"Owner\", \
             CASE WHEN p.prosecdef THEN 'definer' ELSE 'invoker' END AS \"Security\", \
             CASE WHEN p.proleakproof THEN 'yes' ELSE 'no' END AS \"Leakproof?\", {}, l.lanname AS \"Language\", \
             CASE WHEN l.lanname IN ('internal', 'c') THEN p.prosrc END AS \"Internal name\", \
             pg_catalog.obj_description(p.oid, 'pg_proc') AS \"Description\"",
            privileges("p.proacl")
        ));
    }
    let trigger = "p.prorettype = 'pg_catalog.trigger'::pg_catalog.regtype";
    let kinds: Vec<String> = letters
        .chars()
        .map(|letter| match letter {
            'a' => "p.prokind = 'a'".to_owned(),
            'w' => "p.prokind = 'w'".to_owned(),
            'p' => "p.prokind = 'p'".to_owned(),
            't' => trigger.to_owned(),
            _ => format!("(p.prokind = 'f' AND NOT {trigger})"),
        })
        .collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!("\n  AND ({})", kinds.join(" OR ")) };
    let mut arguments = String::new();
    for (at, ty) in types.iter().enumerate() {
        let name = format!("pg_catalog.format_type(p.proargtypes[{at}], NULL)");
        if ty == "-" {
            arguments.push_str(&format!("\n  AND p.pronargs = {at}"));
        } else {
            arguments.push_str(&Pattern::of(Some(ty))?.conditions(&name, "", ""));
        }
    }
    let system = without_system(word.is_some() || call.has('S'), "n.nspname");
    let fits = pattern.conditions("p.proname", "n.nspname", "pg_catalog.pg_function_is_visible(p.oid)");
    let sql = format!(
        "SELECT {columns}\nFROM pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace\n  \
         LEFT JOIN pg_catalog.pg_language l ON l.oid = p.prolang\nWHERE true{kinds}{arguments}{system}{fits}\nORDER BY 1, 2, 4"
    );
    shell.print_listing(Listing::new("List of functions", sql), call, word.as_deref())
}
