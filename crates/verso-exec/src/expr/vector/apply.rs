//! Functions and casts without a kernel over arguments that have one: the arguments are computed a column at a time, and what is
//! called for each row is the function alone.
//!
//! ```text
//! chr(97 + (g * 7919 % 26)::int)   ─►   Apply chr ─► Kernel + ─► constant 97
//!                                                       └─────► Cast ─► Kernel % …
//! ```

use verso_types::{CastKind, SqlType, TypeError, Value, cast_kind, cast_known};

use super::eval::Evaluation;
use super::scratch::{Scratch, Vector};
use super::{Node, Repr};
use crate::error::{ExecError, Result};
use crate::expr::list::VECTOR_BYTES;
use crate::expr::repeated::has_parts;
use crate::expr::row::room_for;
use crate::functions::kernel::Trap;
use crate::functions::{Body, BuiltinFunction};
use crate::memory::LongValues;

/// What is done with the values of a row.
enum What {
    /// A built-in of one value.
    Function(&'static BuiltinFunction),
    /// A cast of the one argument.
    Cast(CastKind),
}

/// A function or cast that is called for each row.
pub(super) struct Apply {
    what: What,
    args: Vec<Node>,
    types: Vec<SqlType>,
    ty: SqlType,
}

impl Apply {
    /// A call; `None` if the closure of the whole expression does as well, or the function is of another kind.
    pub(super) fn of_call(
        function: &'static BuiltinFunction,
        args: Vec<Node>,
        reprs: &[Repr],
        types: Vec<SqlType>,
        ty: &SqlType,
    ) -> Option<Apply> {
        // `pg_typeof` is about types, not about values.
        let calls_one =
            matches!(function.body, Body::Scalar(_) | Body::Typed(_)) && function.name != "pg_typeof";
        let apply = Apply { what: What::Function(function), args, types, ty: ty.clone() };
        (calls_one && apply.gains(reprs)).then_some(apply)
    }

    /// A cast of a value that is no text: reading texts is charged by itself.
    pub(super) fn of_cast(
        arg: Node,
        repr: Repr,
        from: &SqlType,
        to: &SqlType,
        kind: CastKind,
    ) -> Option<Apply> {
        let known = cast_kind(from, to).is_some() && !from.is_constrained() && !to.is_constrained();
        let apply =
            Apply { what: What::Cast(kind), args: vec![arg], types: vec![from.clone()], ty: to.clone() };
        (known && !from.is_text() && apply.gains(&[repr])).then_some(apply)
    }

    /// Whether an argument is computed by a kernel, or once for all rows, and all stand as columns of their types. Values with parts
    /// are better read by closures, which know those of the row before.
    fn gains(&self, reprs: &[Repr]) -> bool {
        let reads_parts = self.types.iter().any(has_parts);
        let is_plain = |node: &Node| match node {
            Node::Column(_) | Node::Rows { .. } => true,
            Node::Constant { .. } => reads_parts,
            _ => false,
        };
        let stands = |((node, repr), ty): ((&Node, &Repr), &SqlType)| {
            matches!(node, Node::Constant { .. }) || *repr == Repr::of_type(ty)
        };
        !self.args.iter().all(is_plain) && self.args.iter().zip(reprs).zip(&self.types).all(stands)
    }

    /// The nodes below.
    #[cfg(test)]
    pub(super) fn args(&self) -> impl Iterator<Item = &Node> {
        self.args.iter()
    }

    pub(super) fn eval<'a>(
        &self,
        over: &Evaluation<'a, '_>,
        scratch: &mut Scratch,
    ) -> Result<Vector<'a>, Trap> {
        let args = self.args.iter().zip(&self.types);
        let args = args
            .map(|(node, ty)| Arg::of(node, ty, over, scratch))
            .collect::<Result<Vec<Arg<'a, '_>>, Trap>>()?;
        let mut out = scratch.take(self.ty.physical());
        // What is the same for all rows stays where it is.
        let mut values: Vec<Value> = args.iter().map(Arg::given).collect();
        for row in 0..over.batch.rows {
            if !over.reaches(row) {
                out.push_null();
                continue;
            }
            for (value, arg) in values.iter_mut().zip(&args) {
                arg.read(row, value);
            }
            let value = self.value(over, &values).map_err(|_| Trap)?;
            out.push_value(&value, &self.ty).map_err(|_| Trap)?;
            // One row may take long.
            over.cx.runtime.check_cancelled().map_err(|_| Trap)?;
            if out.data.bytes().is_some_and(|out| out.bytes.len() > VECTOR_BYTES) {
                return Err(Trap);
            }
        }
        for arg in args {
            if let Arg::Rows(vector, _) = arg {
                scratch.drop_vector(vector);
            }
        }
        Ok(Vector::Owned(out))
    }

    /// As the closures of `expr/row.rs` do it.
    fn value(&self, over: &Evaluation<'_, '_>, values: &[Value]) -> Result<Value> {
        let cx = over.cx;
        let mut held = LongValues::default();
        match self.what {
            What::Function(function) => {
                if function.strict && values.iter().any(Value::is_null) {
                    return Ok(Value::Null);
                }
                let times = room_for(function);
                for value in values {
                    held.hold(cx, value, times)?;
                }
                match function.body {
                    Body::Scalar(scalar) => scalar(cx, values),
                    Body::Typed(scalar) => scalar(cx, values, &self.types),
                    Body::Set(_) | Body::TypedSet(_) => {
                        Err(ExecError::from(TypeError::new("XX000", "a function of rows called for a value")))
                    }
                }
            }
            What::Cast(kind) => {
                let [value] = values else {
                    return Err(TypeError::new("XX000", "a cast of no value").into());
                };
                if value.is_null() {
                    return Ok(Value::Null);
                }
                held.hold(cx, value, 2)?;
                Ok(cast_known(value, &self.types[0], &self.ty, kind, cx.services.time_zone)?)
            }
        }
    }
}

/// An argument: a value for each row, or one for all.
enum Arg<'a, 't> {
    Rows(Vector<'a>, &'t SqlType),
    All(Value),
}

impl<'a, 't> Arg<'a, 't> {
    fn of(
        node: &Node,
        ty: &'t SqlType,
        over: &Evaluation<'a, '_>,
        scratch: &mut Scratch,
    ) -> Result<Arg<'a, 't>, Trap> {
        if let Node::Constant { expr, .. } = node {
            return Ok(Arg::All(expr.eval_constant(over.cx).map_err(|_| Trap)?));
        }
        Ok(match node.eval(over, scratch)? {
            Vector::Constant(column) => Arg::All(column.value(0, ty)),
            vector => Arg::Rows(vector, ty),
        })
    }

    /// Its value before there is a row.
    fn given(&self) -> Value {
        match self {
            Arg::Rows(..) => Value::Null,
            Arg::All(value) => value.clone(),
        }
    }

    /// Puts its value for a row in place of that for another.
    fn read(&self, row: usize, value: &mut Value) {
        if let Arg::Rows(vector, ty) = self {
            *value = vector.column().value(row, ty);
        }
    }
}
