//! `\sf`, `\sv`: definitions as the database writes them.

use super::super::arguments::literal;
use super::super::{Flow, Shell};
use super::Call;

fn single(shell: &mut Shell<'_>, sql: &str) -> Result<String, String> {
    let table = shell.asked(sql)?;
    table.rows.into_iter().flatten().next().flatten().ok_or_else(|| "there is no definition".to_owned())
}

/// The statement that makes a function; `name` may have its argument types behind it.
pub fn function_definition(shell: &mut Shell<'_>, name: &str) -> Result<String, String> {
    let kind = if name.contains('(') { "regprocedure" } else { "regproc" };
    let name = literal(name);
    single(shell, &format!("SELECT pg_catalog.pg_get_functiondef({name}::pg_catalog.{kind}::pg_catalog.oid)"))
}

/// The statement that makes a view.
pub fn view_definition(shell: &mut Shell<'_>, name: &str) -> Result<String, String> {
    let quoted = literal(name);
    let sql = format!(
        "SELECT CASE c.relkind WHEN 'm' THEN NULL ELSE 'CREATE OR REPLACE VIEW ' END \
         || pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) \
         || coalesce(' WITH (' || (SELECT pg_catalog.string_agg(option, ', ') FROM pg_catalog.unnest(c.reloptions) AS o(option) \
         WHERE option NOT LIKE 'check\\_option=%') || ')', '') || E' AS\\n' \
         || pg_catalog.rtrim(pg_catalog.pg_get_viewdef(c.oid, true), ';') \
         || coalesce((SELECT E'\\n WITH ' || pg_catalog.upper(pg_catalog.split_part(option, '=', 2)) || ' CHECK OPTION' \
         FROM pg_catalog.unnest(c.reloptions) AS o(option) WHERE option LIKE 'check\\_option=%'), '') || E'\\n' \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.oid = {quoted}::pg_catalog.regclass AND c.relkind = 'v'"
    );
    let found = shell.asked(&sql)?.rows.into_iter().flatten().next().flatten();
    found.ok_or_else(|| format!("\"{name}\" is not a view"))
}

pub fn show_function(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let name = argument(call)?;
    let text = function_definition(shell, &name)?;
    // Lines of a body are counted as errors count them: from the line of AS.
    let first = text.lines().position(|line| {
        line.starts_with("AS ") || line.starts_with("BEGIN ") || line.starts_with("RETURN ")
    });
    show(shell, call, &text, first);
    Ok(Flow::On)
}

pub fn show_view(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let name = argument(call)?;
    let text = view_definition(shell, &name)?;
    show(shell, call, &text, Some(0));
    Ok(Flow::On)
}

fn argument(call: &mut Call<'_, '_, '_>) -> Result<String, String> {
    let line = call.arguments.line();
    match line.trim_end_matches(';').trim() {
        "" => Err(format!("\\{}: missing required argument", call.name)),
        name => Ok(name.to_owned()),
    }
}

/// With `+` each line has its number, from the line `first` on.
fn show(shell: &mut Shell<'_>, call: &Call<'_, '_, '_>, text: &str, first: Option<usize>) {
    let mut out = String::new();
    for (at, line) in text.lines().enumerate() {
        if call.has('+') {
            match first.filter(|first| at >= *first) {
                Some(first) => out.push_str(&format!("{:<7} ", at - first + 1)),
                None => out.push_str("        "),
            }
        }
        out.push_str(line);
        out.push('\n');
    }
    shell.output.print(&out);
}
