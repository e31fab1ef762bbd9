//! `satisfies_hash_partition`: whether a row with these values of the key belongs to a partition by hash.

use std::sync::Arc;

use verso_catalog::partition::{Strategy, hash};
use verso_catalog::{CatalogSnapshot, Oid};
use verso_exec::ExecError;
use verso_types::{SqlType, Value};

use super::{definitions, names};

/// `text` and `varchar`: their values are the same ones.
const TEXTS: [u32; 2] = [25, 1043];

fn wrong(text: impl Into<String>) -> ExecError {
    ExecError::raised("22023", text)
}

/// The value of the function; the arguments have their types in front of them, as an array of numbers.
///
/// # Errors
/// 42P01 for no relation; 22023 for one that is not divided by hash, and for a modulus, a remainder or values that do not fit.
pub(super) fn satisfies(catalog: &Arc<CatalogSnapshot>, args: &[Value]) -> Result<Value, ExecError> {
    let [Value::Array(types), parent, modulus, remainder, values @ ..] = args else {
        return Ok(Value::Null);
    };
    let (Some(parent), Some(modulus), Some(remainder)) =
        (parent.as_i64(), modulus.as_i64(), remainder.as_i64())
    else {
        return Ok(Value::Bool(false));
    };
    let parent = Oid(u32::try_from(parent).unwrap_or_default());
    let Some(table) = catalog.table_by_oid(parent) else {
        return Err(ExecError::raised("42P01", format!("could not open relation with OID {parent}")));
    };
    let Some(key) = table.partitioned.as_ref().filter(|key| matches!(key.strategy, Strategy::Hash)) else {
        let shown = definitions::shown(catalog, parent);
        return Err(wrong(format!("\"{shown}\" is not a hash partitioned table")));
    };
    if modulus <= 0 {
        return Err(wrong("modulus for hash partition must be an integer value greater than zero"));
    }
    if remainder < 0 {
        let text = "remainder for hash partition must be an integer value greater than or equal to zero";
        return Err(wrong(text));
    }
    if remainder >= modulus {
        return Err(wrong("remainder for hash partition must be less than modulus"));
    }
    if values.len() != key.types.len() {
        let (has, given) = (key.types.len(), values.len());
        return Err(wrong(format!(
            "number of partitioning columns ({has}) does not match number of partition keys provided ({given})"
        )));
    }
    // Those of the values stand behind those of the other three.
    let given = types.iter().skip(3).map(|ty| ty.as_i64().and_then(|ty| u32::try_from(ty).ok()));
    for ((ty, given), place) in key.types.iter().zip(given).zip(1..) {
        let (own, given) = (ty.pg_oid(), given.unwrap_or_default());
        if own != given && !(TEXTS.contains(&own) && TEXTS.contains(&given)) {
            let name = |ty: u32| names::type_name(catalog, ty).unwrap_or_else(|| SqlType::Unknown.pg_name());
            return Err(wrong(format!(
                "column {place} of the partition key has type {}, but supplied value is of type {}",
                name(own),
                name(given)
            )));
        }
    }
    let hash = hash::of_row(values, &key.types)?;
    Ok(Value::Bool(hash % modulus.unsigned_abs() == remainder.unsigned_abs()))
}
