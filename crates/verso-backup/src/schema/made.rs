//! Aggregates, operators, casts of users and extensions, as statements.

use verso_catalog::{
    AggregateDef, Callee, CastContext, CastDef, CatalogSnapshot, FunctionDef, Modify, Oid, OperatorDef,
};
use verso_types::SqlType;

use super::parts::{literal, name, qualified};
use super::types::type_text;

/// A type by its number.
fn type_of(catalog: &CatalogSnapshot, oid: Oid) -> Option<SqlType> {
    catalog.type_by_oid(oid.0, -1)
}

fn type_name(catalog: &CatalogSnapshot, oid: Oid) -> Option<String> {
    type_of(catalog, oid).map(|ty| type_text(&ty))
}

fn callee(catalog: &CatalogSnapshot, callee: &Callee) -> Option<String> {
    match callee {
        Callee::BuiltIn(function) => Some(format!("pg_catalog.{}", name(function))),
        Callee::User(oid) => {
            let function = catalog.function_by_oid(*oid)?;
            Some(qualified(&function.schema, &function.name))
        }
    }
}

/// CREATE AGGREGATE; `arguments` are what it takes, as text.
pub(super) fn aggregate(
    catalog: &CatalogSnapshot,
    function: &FunctionDef,
    arguments: &str,
) -> Option<String> {
    let definition = AggregateDef::parse(&function.body)?;
    let mut parts = vec![
        format!("SFUNC = {}", callee(catalog, &definition.step)?),
        format!("STYPE = {}", type_name(catalog, definition.state)?),
    ];
    let modify = |key: &str, modify: Modify| {
        let word = match modify {
            Modify::ReadOnly => return None,
            Modify::Shareable => "SHAREABLE",
            Modify::ReadWrite => "READ_WRITE",
        };
        Some(format!("{key} = {word}"))
    };
    let space = |key: &str, space: i32| (space != 0).then(|| format!("{key} = {space}"));
    if let Some(last) = &definition.last {
        parts.push(format!("FINALFUNC = {}", callee(catalog, last)?));
    }
    parts.extend(definition.extra.then(|| "FINALFUNC_EXTRA".to_owned()));
    parts.extend(modify("FINALFUNC_MODIFY", definition.modify));
    parts.extend(space("SSPACE", definition.space));
    if let Some(combine) = &definition.combine {
        parts.push(format!("COMBINEFUNC = {}", callee(catalog, combine)?));
    }
    parts.extend(definition.initial.as_ref().map(|initial| format!("INITCOND = {}", literal(initial))));
    if let Some(moving) = &definition.moving {
        parts.push(format!("MSFUNC = {}", callee(catalog, &moving.step)?));
        parts.push(format!("MINVFUNC = {}", callee(catalog, &moving.inverse)?));
        parts.push(format!("MSTYPE = {}", type_name(catalog, moving.state)?));
        if let Some(last) = &moving.last {
            parts.push(format!("MFINALFUNC = {}", callee(catalog, last)?));
        }
        parts.extend(moving.extra.then(|| "MFINALFUNC_EXTRA".to_owned()));
        parts.extend(modify("MFINALFUNC_MODIFY", moving.modify));
        parts.extend(space("MSSPACE", moving.space));
        parts.extend(moving.initial.as_ref().map(|initial| format!("MINITCOND = {}", literal(initial))));
    }
    parts.extend(match definition.parallel {
        's' => Some("PARALLEL = SAFE".to_owned()),
        'r' => Some("PARALLEL = RESTRICTED".to_owned()),
        _ => None,
    });
    let arguments = if arguments.is_empty() { "*" } else { arguments };
    let place = qualified(&function.schema, &function.name);
    Some(format!("CREATE AGGREGATE {place}({arguments}) ({})", parts.join(", ")))
}

/// How a statement names an operator: its symbol and the types of its sides.
pub(super) fn operator_name(catalog: &CatalogSnapshot, operator: &OperatorDef) -> Option<String> {
    let left = operator.left.map_or_else(|| Some("NONE".to_owned()), |left| type_name(catalog, left))?;
    let right = type_name(catalog, operator.right)?;
    Some(format!("{}.{} ({left}, {right})", name(&operator.schema), operator.name))
}

/// CREATE OPERATOR.
pub(super) fn operator(catalog: &CatalogSnapshot, operator: &OperatorDef) -> Option<String> {
    let mut parts = vec![format!("FUNCTION = {}", callee(catalog, &operator.function)?)];
    if let Some(left) = operator.left {
        parts.push(format!("LEFTARG = {}", type_name(catalog, left)?));
    }
    parts.push(format!("RIGHTARG = {}", type_name(catalog, operator.right)?));
    let symbols = [("COMMUTATOR", &operator.commutator), ("NEGATOR", &operator.negator)];
    for (word, symbol) in symbols {
        parts.extend(
            symbol.as_ref().map(|symbol| format!("{word} = OPERATOR({}.{symbol})", name(&operator.schema))),
        );
    }
    for (word, estimator) in [("RESTRICT", &operator.restrict), ("JOIN", &operator.join)] {
        parts.extend(estimator.as_ref().map(|estimator| format!("{word} = {}", name(estimator))));
    }
    parts.extend(operator.hashes.then(|| "HASHES".to_owned()));
    parts.extend(operator.merges.then(|| "MERGES".to_owned()));
    Some(format!("CREATE OPERATOR {}.{} ({})", name(&operator.schema), operator.name, parts.join(", ")))
}

/// How a statement names a cast: `(source AS target)`.
pub(super) fn cast_name(catalog: &CatalogSnapshot, cast: &CastDef) -> Option<String> {
    Some(format!("({} AS {})", type_name(catalog, cast.source)?, type_name(catalog, cast.target)?))
}

/// CREATE CAST.
pub(super) fn cast(catalog: &CatalogSnapshot, cast: &CastDef) -> Option<String> {
    let method = match &cast.function {
        Some(function) => {
            format!("FUNCTION {}({})", callee(catalog, function)?, type_name(catalog, cast.source)?)
        }
        None => "INOUT".to_owned(),
    };
    let time = match cast.context {
        CastContext::Explicit => "",
        CastContext::Assignment => " AS ASSIGNMENT",
        CastContext::Implicit => " AS IMPLICIT",
    };
    Some(format!("CREATE CAST {} WITH {method}{time}", cast_name(catalog, cast)?))
}
