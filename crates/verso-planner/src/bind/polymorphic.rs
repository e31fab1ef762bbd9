//! What polymorphic parameters of users' functions stand for in a call (manual, 36.2.5).
//!
//! PM1. There are two families, and neither says anything of the other. Arguments for `anyelement` and its like are of one type
//! and its arrays and ranges; those for `anycompatible` and its like are brought to a common type, which that of a range,
//! where there is one, has to be.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use verso_catalog::{FunctionDef, FunctionReturn};
use verso_exec::functions::ArgType;
use verso_exec::plan::TypedExpr;
use verso_types::{RangeType, RowType, SqlType, SystemType as S};

use super::resolve::{common_type, implicit, passed_on};
use crate::errors::{SqlError, sqlstate};

/// What is said where literals alone stand for a type.
const UNKNOWN: &str = "could not determine polymorphic type because input has type unknown";

/// Is the type one that each call decides?
pub fn is_polymorphic(ty: &SqlType) -> bool {
    matches!(ty, SqlType::System(system) if system.is_polymorphic())
}

/// Does it take arguments of polymorphic types?
pub fn takes_polymorphic(function: &FunctionDef) -> bool {
    function.args.iter().any(|arg| is_polymorphic(&arg.ty))
}

/// Is it of the family whose arguments are brought to a common type?
fn is_compatible(system: S) -> bool {
    matches!(
        system,
        S::AnyCompatible
            | S::AnyCompatibleArray
            | S::AnyCompatibleNonArray
            | S::AnyCompatibleRange
            | S::AnyCompatibleMultirange
    )
}

/// The types that a result of such a type follows from, as errors list them.
pub fn needed_for(ty: &SqlType) -> &'static str {
    match ty {
        SqlType::System(S::AnyCompatibleRange | S::AnyCompatibleMultirange) => {
            "anycompatiblerange or anycompatiblemultirange"
        }
        SqlType::System(S::AnyRange | S::AnyMultirange) => "anyrange or anymultirange",
        SqlType::System(system) if is_compatible(*system) => {
            "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, \
             or anycompatiblemultirange"
        }
        _ => "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange",
    }
}

/// Whether a result of a polymorphic type follows from an argument of this type.
pub fn follows_from(result: &SqlType, arg: &SqlType) -> bool {
    let (SqlType::System(result), SqlType::System(arg)) = (result, arg) else { return false };
    arg.is_polymorphic()
        && is_compatible(*result) == is_compatible(*arg)
        && (!result.is_any_range() || arg.is_any_range())
}

/// The type of the arguments that a VARIADIC parameter of an array type lists.
pub(super) fn listed(array: &SqlType) -> Option<SqlType> {
    match array {
        SqlType::Array(element) => Some((**element).clone()),
        SqlType::System(S::AnyArray) => Some(SqlType::System(S::AnyElement)),
        SqlType::System(S::AnyCompatibleArray) => Some(SqlType::System(S::AnyCompatible)),
        _ => None,
    }
}

/// What the polymorphic types of a function stand for; what is not known yet is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Meaning {
    element: Option<SqlType>,
    range: Option<RangeType>,
    common: Option<SqlType>,
    common_range: Option<RangeType>,
}

/// Takes a type as the one of several; false where they differ.
fn unite(one: &mut Option<SqlType>, ty: SqlType) -> bool {
    match one {
        Some(one) => one.same_base(&ty),
        None => {
            *one = Some(ty);
            true
        }
    }
}

fn unite_ranges(one: &mut Option<RangeType>, of: &RangeType) -> bool {
    match one {
        Some(one) => one.is_same(of),
        None => {
            *one = Some(of.clone());
            true
        }
    }
}

/// What polymorphic parameters stand for with arguments of these types; none where they do not take them.
pub(super) fn solve<'t>(pairs: impl Iterator<Item = (S, &'t SqlType)>) -> Option<Meaning> {
    let mut meaning = Meaning::default();
    let mut declared = Vec::new();
    let (mut elements, mut compatible) = (Vec::new(), Vec::new());
    for (kind, given) in pairs {
        declared.push(kind);
        if *given == SqlType::Unknown {
            continue;
        }
        let range = if is_compatible(kind) { &mut meaning.common_range } else { &mut meaning.range };
        let fits = match (kind, given.plain()) {
            (S::AnyArray, SqlType::Array(element)) => {
                elements.push(passed_on(element));
                true
            }
            (S::AnyCompatibleArray, SqlType::Array(element)) => {
                compatible.push(passed_on(element));
                true
            }
            (S::AnyRange | S::AnyCompatibleRange, SqlType::Range(of))
            | (S::AnyMultirange | S::AnyCompatibleMultirange, SqlType::Multirange(of)) => {
                let is_one = unite_ranges(range, of);
                let of = if is_compatible(kind) { &mut compatible } else { &mut elements };
                of.extend(range.as_ref().map(RangeType::subtype));
                is_one
            }
            (S::AnyArray | S::AnyCompatibleArray, _) => false,
            (kind, _) if kind.is_any_range() => false,
            (kind, _) if is_compatible(kind) => {
                compatible.push(passed_on(given));
                true
            }
            _ => {
                elements.push(passed_on(given));
                true
            }
        };
        if !fits {
            return None;
        }
    }
    let one = &mut meaning.element;
    if !elements.into_iter().all(|ty| unite(one, ty)) {
        return None;
    }
    let takes = |kind: S| declared.contains(&kind);
    let is_array = |ty: &Option<SqlType>| matches!(ty, Some(SqlType::Array(_)));
    // There is no array of arrays.
    if is_array(&meaning.element) && (takes(S::AnyNonArray) || takes(S::AnyArray)) {
        return None;
    }
    let is_enum = |ty: &SqlType| matches!(ty.plain(), SqlType::Enum(_));
    if takes(S::AnyEnum) && !meaning.element.as_ref().is_none_or(is_enum) {
        return None;
    }
    if declared.iter().any(|kind| is_compatible(*kind)) {
        // Literals alone are texts.
        let common = common_type(compatible.iter()).ok()?;
        if !compatible.iter().all(|ty| ty.same_base(&common) || implicit(ty, &common)) {
            return None;
        }
        if let Some(range) = &meaning.common_range
            && !range.subtype().same_base(&common)
        {
            return None;
        }
        meaning.common = Some(common);
        if is_array(&meaning.common) && (takes(S::AnyCompatibleNonArray) || takes(S::AnyCompatibleArray)) {
            return None;
        }
    }
    Some(meaning)
}

impl Meaning {
    /// As if a function were called with integers: how it is checked when it is made.
    pub(super) fn integers() -> Meaning {
        Meaning {
            element: Some(SqlType::Int4),
            range: Some(RangeType::INT4),
            common: Some(SqlType::Int4),
            common_range: Some(RangeType::INT4),
        }
    }

    /// What a type stands for: itself unless it is polymorphic, unknown where that is not known.
    pub(super) fn concrete(&self, ty: &SqlType) -> SqlType {
        let SqlType::System(system) = ty else { return ty.clone() };
        let array = |ty: &SqlType| SqlType::Array(Box::new(ty.clone()));
        let found = match system {
            S::AnyArray => self.element.as_ref().map(array),
            S::AnyRange => self.range.clone().map(SqlType::Range),
            S::AnyMultirange => self.range.clone().map(SqlType::Multirange),
            S::AnyCompatibleArray => self.common.as_ref().map(array),
            S::AnyCompatibleRange => self.common_range.clone().map(SqlType::Range),
            S::AnyCompatibleMultirange => self.common_range.clone().map(SqlType::Multirange),
            system if is_compatible(*system) => self.common.clone(),
            system if system.is_polymorphic() => self.element.clone(),
            _ => return ty.clone(),
        };
        found.unwrap_or(SqlType::Unknown)
    }

    /// `concrete`, of a parameter of a call.
    ///
    /// # Errors
    /// 42804 where only literals stand for it.
    pub(super) fn of_parameter(&self, ty: &SqlType) -> Result<SqlType, SqlError> {
        let concrete = self.concrete(ty);
        if concrete != SqlType::Unknown {
            return Ok(concrete);
        }
        let text = match ty {
            SqlType::System(system)
                if system.is_any_range() && (is_compatible(*system) || self.element.is_some()) =>
            {
                format!(
                    "could not determine polymorphic type {} because input has type unknown",
                    ty.pg_name()
                )
            }
            _ => UNKNOWN.to_owned(),
        };
        Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text))
    }

    /// A function with what its types stand for.
    pub(super) fn of_function(&self, function: &FunctionDef) -> FunctionDef {
        let mut own = function.clone();
        for arg in &mut own.args {
            arg.ty = self.concrete(&arg.ty);
        }
        let columns = |columns: &[(Arc<str>, SqlType)]| {
            columns.iter().map(|(name, ty)| (Arc::clone(name), self.concrete(ty))).collect()
        };
        own.returns = match &function.returns {
            FunctionReturn::Scalar(SqlType::Row(row)) => FunctionReturn::Scalar(match &row.of {
                Some(_) => SqlType::Row(Arc::clone(row)),
                None => SqlType::Row(Arc::new(RowType::unnamed(columns(&row.fields)))),
            }),
            FunctionReturn::Scalar(ty) => FunctionReturn::Scalar(self.concrete(ty)),
            FunctionReturn::Set(ty) => FunctionReturn::Set(self.concrete(ty)),
            FunctionReturn::Table(table) => FunctionReturn::Table(columns(table)),
            other => other.clone(),
        };
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        own.variant = hasher.finish().max(1);
        own
    }
}

/// Refuses a built-in function whose type comes from arguments that all have none.
///
/// # Errors
/// 42804.
pub(super) fn known_element(declared: &[ArgType], types: &[SqlType]) -> Result<(), SqlError> {
    let mut open = declared.iter().zip(types).filter(|(arg, _)| matches!(arg, ArgType::AnyElement));
    if open.clone().next().is_none() || open.any(|(_, ty)| *ty != SqlType::Unknown) {
        return Ok(());
    }
    Err(no_element())
}

/// Built-in functions of `anyelement` and its family; most others that take such arguments are of `anycompatible`'s, for
/// which literals are texts.
const OF_ELEMENT: [&str; 18] = [
    "array_dims",
    "array_fill",
    "array_length",
    "array_lower",
    "array_ndims",
    "array_reverse",
    "array_sample",
    "array_shuffle",
    "array_sort",
    "array_to_json",
    "array_to_string",
    "array_upper",
    "cardinality",
    "json_agg_item",
    "json_agg_item_strict",
    "to_json",
    "to_jsonb",
    "trim_array",
];

/// Whether a call of such a function has literals, or parameters without a type, where its types come from.
pub(super) fn is_open(name: &str, declared: &[ArgType], args: &[(TypedExpr, u32)]) -> bool {
    let decides = |arg: &ArgType| {
        matches!(arg, ArgType::AnyElement | ArgType::AnyNonArray | ArgType::AnyArray | ArgType::Any)
    };
    let mut open = declared.iter().zip(args).filter(|(arg, _)| decides(arg)).peekable();
    OF_ELEMENT.contains(&name)
        && open.peek().is_some()
        && open.all(|(_, (arg, _))| arg.ty == SqlType::Unknown)
}

/// 42804.
pub(super) fn no_element() -> SqlError {
    SqlError::new(sqlstate::DATATYPE_MISMATCH, UNKNOWN)
}
