//! The arguments of built-in functions as PostgreSQL shows them: modes, names, types and defaults from the rows of `pg_proc`.

use verso_catalog::CatalogSnapshot;
use verso_exec::functions::{Parameters, parameters, quote_ident};
use verso_types::Value;

use super::{fixed, names};

/// Columns of `pg_proc`.
mod column {
    pub(super) const NAME: usize = 1;
    pub(super) const TYPES: usize = 19;
    pub(super) const ALL_TYPES: usize = 20;
    pub(super) const MODES: usize = 21;
    pub(super) const NAMES: usize = 22;
}

/// One argument of a function.
struct Argument {
    ty: i64,
    /// A letter of `proargmodes`.
    mode: char,
    name: String,
}

impl Argument {
    fn is_input(&self) -> bool {
        matches!(self.mode, 'i' | 'b' | 'v')
    }
}

/// The arguments of the row of a built-in function, with their defaults or without.
pub(super) fn arguments(catalog: &CatalogSnapshot, row: &[Value], defaults: bool) -> String {
    let arguments = all(row);
    let known = if defaults { defaults_of(row, &arguments) } else { Vec::new() };
    let ordered = ordered_from(row);
    let mut out = String::new();
    let (mut printed, mut inputs) = (0, 0);
    let shown: Vec<&Argument> = arguments.iter().filter(|argument| argument.mode != 't').collect();
    // The last argument of an aggregate over any number of columns stands for both sides of ORDER BY.
    let twice = ordered.is_some_and(|ordered| ordered == shown.len());
    for argument in shown.iter().chain(if twice { shown.last() } else { None }) {
        if ordered == Some(printed) {
            out.push_str(if printed > 0 { " ORDER BY " } else { "ORDER BY " });
        } else if printed > 0 {
            out.push_str(", ");
        }
        out.push_str(match argument.mode {
            'o' => "OUT ",
            'b' => "INOUT ",
            'v' => "VARIADIC ",
            _ => "",
        });
        if !argument.name.is_empty() {
            out.push_str(&quote_ident(&argument.name));
            out.push(' ');
        }
        out.push_str(&type_shown(catalog, argument.ty));
        if argument.is_input() {
            if let Some(default) = known.get(inputs).copied().flatten() {
                out.push_str(" DEFAULT ");
                out.push_str(default);
            }
            inputs += 1;
        }
        printed += 1;
    }
    out
}

/// The name of a type of an argument or a result; also of those two that only functions of PostgreSQL's own have.
pub(super) fn type_shown(catalog: &CatalogSnapshot, ty: i64) -> String {
    let known = u32::try_from(ty).ok().and_then(|ty| names::type_name(catalog, ty));
    known.unwrap_or_else(|| {
        let name = match ty {
            29 => "cid",
            1263 => "cstring[]",
            _ => "???",
        };
        name.to_string()
    })
}

/// The default of the argument at this place, counted from one.
pub(super) fn argument_default(row: &[Value], place: i64) -> Option<&'static str> {
    let arguments = all(row);
    let argument = arguments.get(usize::try_from(place).ok()?.checked_sub(1)?)?;
    let before = arguments.iter().take(usize::try_from(place).ok()? - 1);
    let inputs = before.filter(|argument| argument.is_input()).count();
    if !argument.is_input() {
        return None;
    }
    defaults_of(row, &arguments).get(inputs).copied().flatten()
}

fn all(row: &[Value]) -> Vec<Argument> {
    let list = |column: usize| match &row[column] {
        Value::Array(list) => list.iter().cloned().collect(),
        _ => Vec::new(),
    };
    let (every, inputs) = (list(column::ALL_TYPES), list(column::TYPES));
    let types = if every.is_empty() { inputs } else { every };
    let (modes, names) = (list(column::MODES), list(column::NAMES));
    let one = |(place, ty): (usize, Value)| Argument {
        ty: ty.as_i64().unwrap_or_default(),
        mode: modes.get(place).and_then(Value::as_str).and_then(|mode| mode.chars().next()).unwrap_or('i'),
        name: names.get(place).and_then(Value::as_str).unwrap_or_default().to_string(),
    };
    types.into_iter().enumerate().map(one).collect()
}

/// The defaults of the arguments that a call gives: those of the form of the function whose arguments have these names.
fn defaults_of(row: &[Value], arguments: &[Argument]) -> Vec<Option<&'static str>> {
    let name = row[column::NAME].as_str().unwrap_or_default();
    // Their arguments have no names.
    if matches!(name, "normalize" | "is_normalized") {
        return vec![None, Some("'NFC'::text")];
    }
    let inputs = || arguments.iter().filter(|argument| argument.is_input()).map(|one| one.name.as_str());
    let of_names = |form: &&Parameters| form.list.iter().map(|(name, _)| *name).eq(inputs());
    let form = parameters(name).iter().find(of_names);
    form.map_or_else(Vec::new, |form| form.list.iter().map(|(_, default)| *default).collect())
}

/// Before which argument ORDER BY stands, of an aggregate over ordered rows.
fn ordered_from(row: &[Value]) -> Option<usize> {
    let aggregate = fixed::by_oid("pg_aggregate", row[0].as_i64()?)?;
    let ordered = aggregate[1].as_str().is_some_and(|kind| kind != "n");
    ordered.then(|| usize::try_from(aggregate[2].as_i64()?).ok()).flatten()
}
