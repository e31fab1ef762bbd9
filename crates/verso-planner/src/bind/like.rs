//! Operators that have no entry among the functions: LIKE as `~~`, and any operator in front of ANY or ALL (array).

use verso_exec::functions::{ArgType, candidates, operator_candidates};
use verso_exec::plan::{ExprKind as K, OutputColumn, Plan, SetCall, TypedExpr};
use verso_types::{CastKind, SqlType, Value};

use super::Binder;
use super::comparable::compares_roughly;
use super::expr::{folds_pattern, with_blanks};
use super::resolve::{self, Resolution, operator_error};
use crate::errors::{SqlError, sqlstate};

type Located = (TypedExpr, u32);

impl Binder<'_> {
    /// What such an operator means; none for one of the functions.
    pub(super) fn derived_operator(
        &self,
        op: &str,
        operands: &[Located],
        point: u32,
    ) -> Result<Option<TypedExpr>, SqlError> {
        let [left, right] = operands else { return Ok(None) };
        match op {
            "~~" | "!~~" | "~~*" | "!~~*" => self.like_operator(op, left, right, point).map(Some),
            _ if !(operator_candidates(op).is_empty() || is_rough(&left.0.ty, &right.0.ty)) => Ok(None),
            _ => match (op.strip_suffix(" ANY"), op.strip_suffix(" ALL")) {
                (Some(op), _) => self.each_element(op, left, right, false, point).map(Some),
                (None, Some(op)) => self.each_element(op, left, right, true, point).map(Some),
                (None, None) => Ok(None),
            },
        }
    }

    /// `a ~~ b` and its relatives.
    fn like_operator(
        &self,
        op: &str,
        left: &Located,
        right: &Located,
        point: u32,
    ) -> Result<TypedExpr, SqlError> {
        if let Some(bytes) = self.like_of_bytes(op, left, right, None, point)? {
            return Ok(bytes);
        }
        let types = [left.0.ty.clone(), right.0.ty.clone()];
        if !types.iter().all(|ty| ty.is_text() || resolve::implicit(ty, &SqlType::Text)) {
            return Err(operator_error(op, &types, &Resolution::None).at(point));
        }
        let text = |(expr, at): &Located| self.coerce(expr.clone(), *at, &SqlType::Text, CastKind::Implicit);
        let kind = K::Like {
            arg: Box::new(text(&(with_blanks(left.0.clone()), left.1))?),
            pattern: Box::new(text(right)?),
            escape: None,
            negated: op.starts_with('!'),
            case_insensitive: op.ends_with('*') || folds_pattern(&types),
        };
        self.collated_like(TypedExpr::new(kind, SqlType::Bool), point)
    }

    /// `a ~~ b` of bytes, with an escape character or without one; none where the operands are no bytes.
    pub(super) fn like_of_bytes(
        &self,
        op: &str,
        left: &Located,
        right: &Located,
        escape: Option<&Located>,
        point: u32,
    ) -> Result<Option<TypedExpr>, SqlError> {
        let bytes = |operand: &Located| operand.0.ty == SqlType::Bytea;
        let fits = |operand: &Located| bytes(operand) || operand.0.ty == SqlType::Unknown;
        let name = match op {
            "~~" => "like",
            "!~~" => "notlike",
            _ => return Ok(None),
        };
        let operands = [Some(left), Some(right), escape];
        if !(bytes(left) || bytes(right)) || !operands.iter().flatten().all(|operand| fits(operand)) {
            return Ok(None);
        }
        let value = |operand: &Located| {
            self.coerce(operand.0.clone(), operand.1, &SqlType::Bytea, CastKind::Implicit)
        };
        let call = |name: &str, args: Vec<TypedExpr>, ty: SqlType| {
            let mut found = candidates(name).iter().copied();
            let function =
                found.find(|function| function.args.first() == Some(&ArgType::Exact(SqlType::Bytea)));
            let function =
                function.ok_or_else(|| SqlError::internal("a function that is not there").at(point))?;
            Ok::<_, SqlError>(TypedExpr::new(K::Call { function, args }, ty))
        };
        let mut pattern = value(right)?;
        if let Some(escape) = escape {
            pattern = call("like_escape", vec![pattern, value(escape)?], SqlType::Bytea)?;
        }
        call(name, vec![value(left)?, pattern], SqlType::Bool).map(Some)
    }

    /// `a op ANY (array)`, `a op ALL (array)`: over the rows of its elements.
    fn each_element(
        &self,
        op: &str,
        left: &Located,
        right: &Located,
        all: bool,
        point: u32,
    ) -> Result<TypedExpr, SqlError> {
        let array = match &right.0.ty {
            SqlType::Unknown => {
                // It is an array of what the operator takes.
                let users = operator_candidates(op).is_empty() && self.has_user_operator(op);
                let taken = users.then(|| self.right_of_user_operator(op, &left.0.ty)).flatten();
                let taken = taken.filter(|ty| !matches!(ty, SqlType::Array(_)));
                let element = match taken.or_else(|| right_of_operator(op, &left.0.ty)) {
                    Some(SqlType::Array(element)) => {
                        let ty = resolve::shown(&SqlType::Array(element));
                        let text = format!("could not find array type for data type {ty}");
                        return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).at(point));
                    }
                    Some(element) => element,
                    None => SqlType::Text,
                };
                if let Some(trace) = self.traced {
                    trace.operands(point, &[left.0.ty.clone(), element.clone()]);
                }
                let array = SqlType::Array(Box::new(element));
                self.coerce(right.0.clone(), right.1, &array, CastKind::Explicit)?
            }
            _ => right.0.clone(),
        };
        let SqlType::Array(element) = array.ty.clone() else {
            let text = "op ANY/ALL (array) requires array on right side";
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(point));
        };
        let left = match left.0.ty {
            SqlType::Unknown => self.coerce(left.0.clone(), left.1, &element, CastKind::Implicit)?,
            _ => left.0.clone(),
        };
        if let Some(items) = listed(&left, &array) {
            let tests = items
                .iter()
                .map(|item| {
                    let test =
                        self.operator(op, vec![(left.clone(), point), (item.clone(), point)], point)?;
                    refuse_other_than_bool(&test, point)?;
                    Ok(test)
                })
                .collect::<Result<Vec<_>, SqlError>>()?;
            let kind = if all { K::And(tests) } else { K::Or(tests) };
            return Ok(TypedExpr::new(kind, SqlType::Bool));
        }
        let Some(function) = candidates("unnest").first().copied() else {
            return Err(SqlError::internal("a function that is not there"));
        };
        let args = vec![TypedExpr::new(K::Outer(1), array.ty.clone())];
        let columns = vec![OutputColumn::new("unnest", (*element).clone())];
        let plan = Plan::FunctionScan { call: SetCall::Builtin { function, args }, columns };
        let ours = TypedExpr::new(K::Outer(0), left.ty.clone());
        let theirs = TypedExpr::column(0, (*element).clone());
        let test = self.operator(op, vec![(ours, point), (theirs, point)], point)?;
        refuse_other_than_bool(&test, point)?;
        let is_list = matches!(array.kind, K::Array(_));
        let missing =
            TypedExpr::new(K::IsNull { arg: Box::new(array.clone()), negated: false }, SqlType::Bool);
        let decided = self.decided(plan, vec![left, array], test, all, point)?;
        if is_list {
            return Ok(decided);
        }
        let branches = vec![(missing, TypedExpr::null(SqlType::Bool))];
        Ok(TypedExpr::new(K::Case { branches, otherwise: Some(Box::new(decided)) }, SqlType::Bool))
    }
}

/// Whether values are compared by operators that are rough, be it with the elements of an array.
fn is_rough(left: &SqlType, right: &SqlType) -> bool {
    compares_roughly(left) || matches!(right, SqlType::Array(element) if compares_roughly(element))
}

/// The type that a built-in operator takes on its right side behind a value of this type, where a literal without a type stands there.
fn right_of_operator(op: &str, left: &SqlType) -> Option<SqlType> {
    let declared: Vec<_> = operator_candidates(op).iter().map(|entry| entry.declared(2)).collect();
    match resolve::resolve(&declared, &[left.clone(), SqlType::Unknown], true) {
        Resolution::One(_, to) => to.into_iter().nth(1).filter(|ty| *ty != SqlType::Unknown),
        Resolution::None | Resolution::Ambiguous => None,
    }
}

/// Elements that become one condition each; of more the array is looked through.
const LISTED_MAX: usize = 64;

/// The elements of an array that is written as a list or is a constant, where what is compared with each of them costs nothing to read
/// again.
fn listed(left: &TypedExpr, array: &TypedExpr) -> Option<Vec<TypedExpr>> {
    fn is_read(expr: &TypedExpr) -> bool {
        match &expr.kind {
            K::Cast { arg, .. } => is_read(arg),
            kind => matches!(kind, K::Column(_) | K::Outer(_) | K::Parameter(_) | K::Literal(_)),
        }
    }
    let is_few = |count: usize| (1..=LISTED_MAX).contains(&count) && is_read(left);
    match (&array.kind, &array.ty) {
        (K::Array(items), _) => {
            let fits = |item: &TypedExpr| !matches!(item.ty, SqlType::Array(_)) && !item.is_volatile();
            (is_few(items.len()) && items.iter().all(fits)).then(|| items.clone())
        }
        (K::Literal(Value::Array(values)), SqlType::Array(element)) => {
            let item = |value: &Value| TypedExpr {
                collation: array.collation.clone(),
                ..TypedExpr::literal(value.clone(), (**element).clone())
            };
            is_few(values.len()).then(|| values.iter().map(item).collect())
        }
        _ => None,
    }
}

fn refuse_other_than_bool(test: &TypedExpr, point: u32) -> Result<(), SqlError> {
    if test.ty == SqlType::Bool {
        return Ok(());
    }
    let text = "op ANY/ALL (array) requires operator to yield boolean";
    Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(point))
}
