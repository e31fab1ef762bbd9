//! `t := t || x`: a text or bytea that grows in a buffer with room behind it.
//!
//! The value of a variable has no room behind it, so each `||` copies all of it, and a loop that puts a long text together takes
//! time quadratic in its length. Here the text moves into a buffer with its second `||`; it becomes the variable's value again as
//! soon as something reads the variable.
//!
//! 1. While a variable grows its slot holds NULL. Whoever reads slots lets what grows become a value before
//!    ([`Frame::settle`]): steps other than the few that [`StepKind::settles_itself`](super::program::StepKind::settles_itself)
//!    names do so when they begin, expressions of those few by the variables that they read ([`Reads`]).
//! 2. Who assigns a variable forgets what has grown for it.

use verso_types::Value;

use super::frame::Frame;
use super::short::BodyExpr;
use crate::error::{ExecError, Result};
use crate::exec::ExecContext;
use crate::functions::{Body, TypedFn};
use crate::memory::check_length;
use crate::plan::{ExprKind, TypedExpr};
use verso_types::SqlType;

/// Shorter ones are copied.
const LONG_BYTES: usize = 1 << 10;
/// How often a text stands in memory while it moves into a larger buffer, or becomes the variable's value.
const TIMES: usize = 2;
/// Longer chains of `||` go the general way.
const PARTS_MAX: usize = 8;

/// The value of a variable that grows.
pub(super) struct Growing {
    pub slot: usize,
    buffer: Buffer,
}

enum Buffer {
    Text(String),
    Bytes(Vec<u8>),
}

impl Growing {
    /// What has grown, as a value.
    pub fn into_value(self) -> Value {
        match self.buffer {
            Buffer::Text(text) => Value::Text(text.into()),
            Buffer::Bytes(bytes) => Value::Bytes(bytes.into()),
        }
    }

    fn len(&self) -> usize {
        match &self.buffer {
            Buffer::Text(text) => text.len(),
            Buffer::Bytes(bytes) => bytes.len(),
        }
    }

    fn capacity(&self) -> usize {
        match &self.buffer {
            Buffer::Text(text) => text.capacity(),
            Buffer::Bytes(bytes) => bytes.capacity(),
        }
    }

    fn reserve(&mut self, more: usize) -> Result<()> {
        let reserved = match &mut self.buffer {
            Buffer::Text(text) => text.try_reserve_exact(more),
            Buffer::Bytes(bytes) => bytes.try_reserve_exact(more),
        };
        reserved.map_err(|_| ExecError::no_memory("a value", more as u64))
    }

    fn push(&mut self, value: &Value) {
        match (&mut self.buffer, value) {
            (Buffer::Text(text), Value::Text(more)) => text.push_str(more),
            (Buffer::Bytes(bytes), Value::Bytes(more)) => bytes.extend_from_slice(more),
            _ => {}
        }
    }
}

/// The variables that an expression reads.
#[derive(Clone, Copy, Default)]
pub(super) struct Reads {
    slots: u64,
    /// It may read any.
    all: bool,
}

impl Reads {
    pub fn of(expr: &TypedExpr) -> Reads {
        let mut reads = Reads::default();
        reads.add(expr);
        reads
    }

    /// Of several expressions.
    pub fn of_all<'e>(exprs: impl IntoIterator<Item = &'e TypedExpr>) -> Reads {
        let mut reads = Reads::default();
        exprs.into_iter().for_each(|expr| reads.add(expr));
        reads
    }

    fn add(&mut self, expr: &TypedExpr) {
        expr.any(&mut |part| {
            match &part.kind {
                ExprKind::Parameter(slot) if *slot < 64 => self.slots |= 1 << slot,
                // What a query reads nobody looks up here.
                ExprKind::Parameter(_) | ExprKind::Subquery { .. } => self.all = true,
                _ => {}
            }
            self.all
        });
    }

    #[inline]
    pub fn has(&self, slot: usize) -> bool {
        self.all || slot >= 64 || self.slots >> slot & 1 == 1
    }
}

/// `t := t || x || y`
pub(super) struct Append {
    slot: usize,
    parts: Vec<Part>,
}

struct Part {
    value: BodyExpr,
    /// Writes a value that is no text as one, with the types of its arguments: `text || anything`.
    written: Option<(TypedFn, [SqlType; 2])>,
}

impl Part {
    /// Its value; NULL for what is NULL.
    fn eval(&self, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<Value> {
        let value = self.value.eval(cx, frame)?;
        match &self.written {
            Some((written, types)) if !value.is_null() => {
                written(&cx.eval(), &[Value::text(""), value], types)
            }
            _ => Ok(value),
        }
    }
}

impl Append {
    /// The assignment of `value` to the variable in `slot`, if it puts something behind it.
    pub fn compile(slot: usize, value: &TypedExpr) -> Option<Append> {
        let (mut parts, mut whole) = (Vec::new(), value);
        loop {
            let ExprKind::Call { function, args } = &whole.kind else { return None };
            let [left, right] = args.as_slice() else { return None };
            let written = match (function.name, function.body) {
                ("textcat", _) if left.ty == SqlType::Text && right.ty == SqlType::Text => None,
                ("byteacat", _) if left.ty == SqlType::Bytea && right.ty == SqlType::Bytea => None,
                ("textanycat", Body::Typed(written)) if left.ty == SqlType::Text => {
                    Some((written, [SqlType::Text, right.ty.clone()]))
                }
                _ => return None,
            };
            parts.push(Part { value: BodyExpr::compile(right), written });
            if parts.len() > PARTS_MAX {
                return None;
            }
            match left.kind {
                ExprKind::Parameter(of) if of == slot => break,
                _ => whole = left,
            }
        }
        parts.reverse();
        Some(Append { slot, parts })
    }

    pub fn run(&self, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<()> {
        let mut held = [const { Value::Null }; PARTS_MAX];
        let values = &mut held[..self.parts.len()];
        for (place, part) in values.iter_mut().zip(&self.parts) {
            *place = part.eval(cx, frame)?;
        }
        if values.iter().any(Value::is_null) {
            return frame.assign(cx, self.slot, Value::Null);
        }
        let more: usize = values.iter().map(length).sum();
        let at = match frame.growing.iter().position(|growing| growing.slot == self.slot) {
            Some(at) => at,
            None => {
                let own = &frame.slots[self.slot];
                if own.is_null() {
                    return frame.assign(cx, self.slot, Value::Null);
                }
                let is_long = length(own) + more >= LONG_BYTES;
                let mut grown = Growing {
                    slot: self.slot,
                    buffer: match own {
                        Value::Bytes(_) => Buffer::Bytes(Vec::new()),
                        _ => Buffer::Text(String::new()),
                    },
                };
                let wanted = length(own) + more;
                check_length(wanted)?;
                let room = if is_long { wanted + wanted / 2 } else { wanted };
                if is_long {
                    frame.held.hold(cx, self.slot, TIMES * room)?;
                }
                grown.reserve(room)?;
                grown.push(own);
                if !is_long {
                    values.iter().for_each(|value| grown.push(value));
                    return frame.assign(cx, self.slot, grown.into_value());
                }
                frame.slots[self.slot] = Value::Null;
                frame.growing.push(grown);
                frame.growing.len() - 1
            }
        };
        let growing = &mut frame.growing[at];
        let wanted = growing.len() + more;
        if wanted > growing.capacity() {
            check_length(wanted)?;
            let room = wanted + wanted / 2;
            frame.held.hold(cx, self.slot, TIMES * room)?;
            growing.reserve(room - growing.len())?;
        }
        values.iter().for_each(|value| growing.push(value));
        Ok(())
    }
}

fn length(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}
