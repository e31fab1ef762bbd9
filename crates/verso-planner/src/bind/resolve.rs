//! Which function or operator a call means: PostgreSQL's rules (manual, chapter 10).
//!
//! B1. An exact match wins. B2. Else only candidates count whose arguments are reached by implicit casts; unknown
//! literals reach everything. B3. Among them: most exact matches, then most exact or preferred ones, then the unknown
//! literals' common category (strings first). B4. What is left must be one.

use std::sync::Arc;

use verso_exec::functions::{ArgType, ResultType};
use verso_types::{CastKind, RangeType, RowType, SqlType, SystemType, cast_kind};

use super::polymorphic;
use crate::errors::{SqlError, sqlstate};

/// What was found.
#[derive(Debug, PartialEq)]
pub enum Resolution {
    /// The candidate's index and the types its arguments are cast to.
    One(usize, Vec<SqlType>),
    /// None fits.
    None,
    /// Several fit equally well.
    Ambiguous,
}

/// A candidate's argument types, as declared.
pub type Declared = Vec<ArgType>;

/// PostgreSQL's type categories.
pub fn category(ty: &SqlType) -> char {
    match ty {
        SqlType::Bool => 'B',
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => 'N',
        SqlType::Float4 | SqlType::Float8 | SqlType::Numeric(_) | SqlType::LongNumeric(_) | SqlType::Oid => {
            'N'
        }
        SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Name => 'S',
        SqlType::Bit(_) | SqlType::Varbit(_) => 'V',
        SqlType::Range(_) | SqlType::Multirange(_) => 'R',
        SqlType::Date
        | SqlType::Time(_)
        | SqlType::Timetz(_)
        | SqlType::Timestamp(_)
        | SqlType::Timestamptz(_) => 'D',
        SqlType::Interval(_) => 'T',
        SqlType::Bytea | SqlType::Uuid | SqlType::Json | SqlType::Jsonb => 'U',
        SqlType::Array(_) => 'A',
        SqlType::Unknown => 'X',
        SqlType::Row(row) if row.of.is_some() => 'C',
        SqlType::Void | SqlType::Record | SqlType::Row(_) => 'P',
        SqlType::Enum(_) => 'E',
        SqlType::Named(_) => 'X',
        SqlType::Domain(domain) => category(&domain.base),
        SqlType::Collated(collated) => category(&collated.base),
        SqlType::System(system) => system.category(),
    }
}

/// Whether a type is preferred in its category.
fn preferred(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::Bool
            | SqlType::Float8
            | SqlType::Oid
            | SqlType::Text
            | SqlType::Timestamptz(_)
            | SqlType::Interval(_)
            | SqlType::Varbit(_)
            | SqlType::System(SystemType::Inet)
    )
}

/// Whether `from` becomes `to` without being asked.
pub fn implicit(from: &SqlType, to: &SqlType) -> bool {
    cast_kind(from, to) == Some(CastKind::Implicit)
}

/// The type a declared argument names; none for the polymorphic ones.
fn exact(arg: &ArgType) -> Option<&SqlType> {
    match arg {
        ArgType::Exact(ty) => Some(ty),
        ArgType::ArrayOf(_)
        | ArgType::Any
        | ArgType::AnyElement
        | ArgType::AnyNonArray
        | ArgType::AnyEnum
        | ArgType::AnyRange
        | ArgType::AnyMultirange
        | ArgType::AnyArray
        | ArgType::Polymorphic(_) => None,
    }
}

/// The types a candidate's arguments are cast to, if it can take the actual ones at all.
fn concrete(declared: &[ArgType], actual: &[SqlType]) -> Option<Vec<SqlType>> {
    let mut elements = Vec::new();
    let mut range: Option<RangeType> = None;
    for (arg, ty) in declared.iter().zip(actual) {
        match (arg, ty) {
            (_, SqlType::Unknown) => {}
            (ArgType::AnyNonArray, SqlType::Array(_)) => return None,
            (ArgType::AnyEnum, ty) if !matches!(ty, SqlType::Enum(_)) => return None,
            (ArgType::AnyElement | ArgType::AnyNonArray | ArgType::AnyEnum, ty) => {
                elements.push(passed_on(ty))
            }
            (ArgType::AnyArray, SqlType::Array(element)) => elements.push(passed_on(element)),
            (ArgType::AnyArray, _) => return None,
            (ArgType::AnyRange, SqlType::Range(of)) | (ArgType::AnyMultirange, SqlType::Multirange(of)) => {
                if range.as_ref().is_some_and(|other| !other.is_same(of)) {
                    return None;
                }
                range = Some(of.clone());
                elements.push(of.subtype());
            }
            (ArgType::AnyRange | ArgType::AnyMultirange, _) => return None,
            (ArgType::Exact(_) | ArgType::ArrayOf(_) | ArgType::Any | ArgType::Polymorphic(_), _) => {}
        }
    }
    // There is no array of arrays.
    if declared.contains(&ArgType::AnyArray) && elements.iter().any(|ty| matches!(ty, SqlType::Array(_))) {
        return None;
    }
    // Literals alone are of no enum type.
    if declared.contains(&ArgType::AnyEnum) {
        let first = elements.first()?;
        if !elements.iter().all(|ty| ty.same_base(first)) {
            return None;
        }
    }
    // The bounds of ranges are of their own type, and nothing is cast to it.
    if let Some(range) = &range
        && !elements.iter().all(|ty| ty.same_base(&range.subtype()))
    {
        return None;
    }
    let element = common_type(elements.iter()).ok()?;
    let open = declared.iter().zip(actual).filter_map(|(arg, ty)| match arg {
        ArgType::Polymorphic(system) => Some((*system, ty)),
        _ => None,
    });
    let meaning = polymorphic::solve(open)?;
    declared
        .iter()
        .zip(actual)
        .map(|(arg, ty)| match arg {
            ArgType::Exact(to) => implicit(ty, to).then(|| to.clone()),
            // [`BuiltinFunction::declared`] makes it exact.
            ArgType::ArrayOf(_) => None,
            ArgType::Any if *ty == SqlType::Unknown => Some(SqlType::Text),
            ArgType::Any => Some(ty.clone()),
            ArgType::AnyElement | ArgType::AnyNonArray | ArgType::AnyEnum => Some(element.clone()),
            ArgType::AnyArray => Some(SqlType::Array(Box::new(element.clone()))),
            ArgType::AnyRange => range.clone().map(SqlType::Range),
            ArgType::AnyMultirange => range.clone().map(SqlType::Multirange),
            ArgType::Polymorphic(system) => Some(meaning.concrete(&SqlType::System(*system))),
        })
        .collect()
}

/// The types that arguments are taken as, for texts that are shown: a literal stays one without a type where any is taken.
pub(super) fn as_taken(declared: &[ArgType], taken: &[SqlType], given: &[SqlType]) -> Vec<SqlType> {
    let is_any = |n: usize| matches!(declared.get(n).or(declared.last()), Some(ArgType::Any));
    let one = |(n, taken): (usize, &SqlType)| match given.get(n) {
        Some(SqlType::Unknown) if is_any(n) => SqlType::Unknown,
        _ => taken.clone(),
    };
    taken.iter().enumerate().map(one).collect()
}

/// Picks a candidate for the actual argument types.
pub fn resolve(candidates: &[Declared], actual: &[SqlType], operator: bool) -> Resolution {
    let arity = |index: &usize| candidates[*index].len() == actual.len();
    let all: Vec<usize> = (0..candidates.len()).filter(arity).collect();
    let matches_exactly = |index: &usize, types: &[SqlType]| {
        candidates[*index].iter().zip(types).all(|(arg, ty)| exact(arg).is_some_and(|arg| arg.same_base(ty)))
    };
    let found = |index: usize| match concrete(&candidates[index], actual) {
        Some(types) => Resolution::One(index, types),
        None => Resolution::None,
    };
    if let Some(index) = all.iter().find(|index| matches_exactly(index, actual)) {
        return found(*index);
    }
    // An unknown literal beside a known type is first taken for that type.
    if let (true, [left, right]) = (operator, actual) {
        let same = match (left, right) {
            (SqlType::Unknown, known) | (known, SqlType::Unknown) if *known != SqlType::Unknown => {
                Some([known.clone(), known.clone()])
            }
            _ => None,
        };
        if let Some(index) = same.and_then(|same| all.iter().find(|index| matches_exactly(index, &same))) {
            return found(*index);
        }
    }
    let mut left: Vec<usize> =
        all.into_iter().filter(|index| concrete(&candidates[*index], actual).is_some()).collect();
    let score = |index: usize, with_preferred: bool| {
        let counts = |(arg, ty): (&ArgType, &SqlType)| {
            *ty != SqlType::Unknown
                && exact(arg).is_some_and(|arg| {
                    arg.same_base(ty) || with_preferred && category(arg) == category(ty) && preferred(arg)
                })
        };
        candidates[index].iter().zip(actual).filter(|pair| counts(*pair)).count()
    };
    for with_preferred in [false, true] {
        if left.len() > 1 {
            let best = left.iter().map(|index| score(*index, with_preferred)).max().unwrap_or(0);
            left.retain(|index| score(*index, with_preferred) == best);
        }
    }
    if left.len() > 1 {
        by_unknowns(candidates, actual, &mut left);
    }
    match left.as_slice() {
        [] => Resolution::None,
        [index] => found(*index),
        _ => {
            // All known types alike: take the unknown ones for the same.
            let mut known = actual.iter().filter(|ty| **ty != SqlType::Unknown);
            if let Some(first) = known.next()
                && known.all(|ty| ty.same_base(first))
            {
                let same = vec![first.clone(); actual.len()];
                let fits: Vec<usize> = left
                    .iter()
                    .copied()
                    .filter(|index| concrete(&candidates[*index], &same).is_some())
                    .collect();
                if let [index] = fits.as_slice() {
                    return found(*index);
                }
            }
            Resolution::Ambiguous
        }
    }
}

/// Rule B3's last step: the category that the unknown literals are taken for.
fn by_unknowns(candidates: &[Declared], actual: &[SqlType], left: &mut Vec<usize>) {
    let category_at = |index: usize, n: usize| exact(&candidates[index][n]).map_or('P', category);
    let mut kept = left.clone();
    for n in (0..actual.len()).filter(|n| actual[*n] == SqlType::Unknown) {
        let categories: Vec<char> = left.iter().map(|index| category_at(*index, n)).collect();
        let chosen = match categories.contains(&'S') {
            true => 'S',
            false if categories.iter().all(|category| *category == categories[0]) => categories[0],
            false => return,
        };
        let any_preferred = left.iter().any(|index| {
            category_at(*index, n) == chosen && exact(&candidates[*index][n]).is_some_and(preferred)
        });
        kept.retain(|index| {
            category_at(*index, n) == chosen
                && (!any_preferred || exact(&candidates[*index][n]).is_some_and(preferred))
        });
    }
    if !kept.is_empty() {
        *left = kept;
    }
}

/// The type that several expressions are brought to (UNION, CASE, VALUES, …); the pair that has none otherwise.
pub fn common_type<'t>(types: impl Iterator<Item = &'t SqlType>) -> Result<SqlType, (SqlType, SqlType)> {
    let mut common: Option<SqlType> = None;
    let mut untyped = false;
    for ty in types {
        if *ty == SqlType::Unknown {
            untyped = true;
            continue;
        }
        let Some(so_far) = &common else {
            common = Some(ty.clone());
            continue;
        };
        if so_far == ty {
            continue;
        }
        if so_far.is_row() && ty.is_row() && so_far.same_base(ty) {
            // Rows without a type, whose fields differ: what they are is known of each by itself.
            common = Some(if so_far.composite().is_some() { ty.clone() } else { SqlType::Record });
        } else if so_far.same_base(ty) {
            common = Some(ty.without_modifiers());
        } else if category(so_far) != category(ty) {
            return Err((so_far.clone(), ty.clone()));
        } else if !preferred(so_far) && implicit(so_far, ty) && !implicit(ty, so_far) {
            common = Some(ty.without_modifiers());
        } else {
            common = Some(so_far.without_modifiers());
        }
    }
    // A modifier stays only where everything has it, and an untyped literal has none.
    Ok(match common {
        Some(common) if untyped => common.without_modifiers(),
        Some(common) => common,
        None => SqlType::Text,
    })
}

/// The result type of a call whose arguments have been cast.
pub fn result_type(result: &ResultType, args: &[SqlType]) -> SqlType {
    let arg = |n: &usize| args.get(*n).cloned().unwrap_or(SqlType::Unknown);
    match result {
        ResultType::Fixed(ty) => ty.clone(),
        ResultType::FixedArray(element) => SqlType::Array(Box::new(element.clone())),
        ResultType::Columns(columns) => {
            let field = |(name, ty): &(&str, SqlType)| {
                let of_argument = || result_type(&ResultType::ElementOf(0), args);
                (Arc::from(*name), if *ty == SqlType::Unknown { of_argument() } else { ty.clone() })
            };
            SqlType::Row(Arc::new(RowType::unnamed(columns.iter().map(field).collect())))
        }
        ResultType::Mixed(columns) => {
            let fields = columns.iter().map(|(name, ty)| (Arc::from(*name), result_type(ty, args)));
            SqlType::Row(Arc::new(RowType::unnamed(fields.collect())))
        }
        ResultType::SameAs(n) => passed_on(&arg(n)),
        ResultType::ElementOf(n) => match arg(n) {
            SqlType::Array(element) => passed_on(&element),
            SqlType::Range(of) | SqlType::Multirange(of) => of.subtype(),
            other => other,
        },
        ResultType::ArrayOf(n) => SqlType::Array(Box::new(passed_on(&arg(n)))),
        ResultType::RangeOf(n) => match arg(n) {
            SqlType::Multirange(of) => SqlType::Range(of),
            other => other,
        },
        ResultType::MultirangeOf(n) => match arg(n) {
            SqlType::Range(of) => SqlType::Multirange(of),
            // what an aggregate has gathered
            SqlType::Array(element) => result_type(&ResultType::MultirangeOf(0), &[*element]),
            other => other,
        },
    }
}

/// The type of values that a function hands on as they came: blanks at their end are in the length of a char(n), not in them.
pub(super) fn passed_on(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Char(Some(_)) => ty.clone(),
        SqlType::Array(element) => SqlType::Array(Box::new(passed_on(element))),
        other => other.without_modifiers(),
    }
}

/// A type as errors name it: without its modifier.
pub fn shown(ty: &SqlType) -> String {
    match ty {
        SqlType::Bit(_) => ty.base_name().into(),
        _ => ty.name_in_call(),
    }
}

/// `42883` or `42725` for an operator.
pub fn operator_error(op: &str, types: &[SqlType], found: &Resolution) -> SqlError {
    let quantified = op.ends_with(" ANY") || op.ends_with(" ALL");
    if let (true, [_, right]) = (quantified, types)
        && !matches!(right, SqlType::Array(_))
    {
        let text = "op ANY/ALL (array) requires array on right side";
        return SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text);
    }
    let operands = match types {
        [left, SqlType::Array(element)] if quantified => {
            let base = op.trim_end_matches(" ANY").trim_end_matches(" ALL");
            format!("{} {base} {}", shown(left), shown(element))
        }
        [left, right] => format!("{} {op} {}", shown(left), shown(right)),
        _ => format!("{op} {}", types.first().map(shown).unwrap_or_default()),
    };
    match found {
        Resolution::Ambiguous => {
            SqlError::new(sqlstate::AMBIGUOUS_FUNCTION, format!("operator is not unique: {operands}"))
                .with_hint(
                    "Could not choose a best candidate operator. You might need to add explicit type casts.",
                )
        }
        Resolution::None | Resolution::One(..) => {
            let error =
                SqlError::new(sqlstate::UNDEFINED_FUNCTION, format!("operator does not exist: {operands}"));
            error.with_hint(match types.len() {
                1 => {
                    "No operator matches the given name and argument type. \
                     You might need to add an explicit type cast."
                }
                _ => {
                    "No operator matches the given name and argument types. \
                     You might need to add explicit type casts."
                }
            })
        }
    }
}

/// `42883` or `42725` for a function.
pub fn function_error(name: &str, types: &[SqlType], found: &Resolution) -> SqlError {
    let types: Vec<String> = types.iter().map(shown).collect();
    call_error(name, &types, found)
}

/// Arguments that a function has at the most, but for those that take any number.
const ARGUMENTS_MAX: usize = 100;

/// The same with arguments as they are shown.
pub fn call_error(name: &str, types: &[String], found: &Resolution) -> SqlError {
    let call = format!("{name}({})", types.join(", "));
    match found {
        Resolution::Ambiguous => {
            SqlError::new(sqlstate::AMBIGUOUS_FUNCTION, format!("function {call} is not unique"))
                .with_hint("Could not choose a best candidate function. You might need to add explicit type casts.")
        }
        Resolution::None | Resolution::One(..) if types.len() > ARGUMENTS_MAX => {
            let text = format!("cannot pass more than {ARGUMENTS_MAX} arguments to a function");
            SqlError::new("54023", text)
        }
        Resolution::None | Resolution::One(..) => {
            SqlError::new(sqlstate::UNDEFINED_FUNCTION, format!("function {call} does not exist")).with_hint(
                "No function matches the given name and argument types. You might need to add explicit type casts.",
            )
        }
    }
}
