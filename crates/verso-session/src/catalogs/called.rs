//! Functions of the system as GRANT and REVOKE name them.

use verso_catalog::Oid;
use verso_catalog::snapshot::PG_CATALOG;
use verso_types::{SqlType, Value};

use super::fixed;

/// A function of the system.
pub(crate) struct SystemFunction {
    /// Its row in `pg_proc`.
    pub(crate) oid: Oid,
    /// Is it a procedure?
    pub(crate) is_procedure: bool,
    /// What it is called as without anybody asking whether the role may; none of a function that is called by its name only.
    pub(crate) unasked: Option<&'static str>,
}

/// The functions of the system that a name means: with these arguments, or with any.
pub(crate) fn system_functions(
    schema: Option<&str>,
    name: &str,
    types: Option<&[SqlType]>,
) -> Vec<SystemFunction> {
    if !matches!(schema, None | Some(PG_CATALOG)) {
        return Vec::new();
    }
    let takes = |row: &Vec<Value>| {
        let (Some(types), Value::Array(args)) = (types, &row[19]) else { return types.is_none() };
        args.iter().map(Value::as_i64).eq(types.iter().map(|ty| Some(i64::from(ty.pg_oid()))))
    };
    let function = |row: Vec<Value>| {
        let oid = row[0].as_i64()?;
        let kind = row[9].as_str().and_then(|kind| kind.chars().next());
        Some(SystemFunction {
            oid: Oid(u32::try_from(oid).ok()?),
            is_procedure: kind == Some('p'),
            unasked: match kind {
                Some('a') => Some("an aggregate"),
                Some('w') => Some("a window function"),
                _ if verso_planner::bind::is_form(name) => Some("a form of the language"),
                _ if is_in("pg_operator", 12, oid) => Some("the function of an operator"),
                _ if is_in("pg_cast", 3, oid) => Some("the function of a cast"),
                _ => None,
            },
        })
    };
    fixed::functions_named(name).filter(takes).filter_map(function).collect()
}

fn is_in(relation: &str, column: usize, oid: i64) -> bool {
    let rows = fixed::table(relation);
    rows.iter().flat_map(|rows| rows.iter()).any(|row| row[column].as_i64() == Some(oid))
}
