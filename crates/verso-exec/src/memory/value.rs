//! Values under construction: bounded, charged, cancelled.
//!
//! A value has less than 1 GiB, as in PostgreSQL. A function whose result may be longer than its arguments writes it into
//! [`Bytes`], which asks for room before it grows and for a cancel each time it has grown by [`STEP`].

use std::sync::Arc;

use verso_types::{SqlType, TypeError, Value};

use super::{Account, Reservation};
use crate::aggregate::payload;
use crate::context::EvalContext;
use crate::error::{ExecError, Result};

/// The longest value.
pub(crate) const VALUE_BYTES_MAX: usize = (1 << 30) - 1;
/// Work between two looks at the flag that cancels.
const STEP: usize = 1 << 20;

/// 54000, as PostgreSQL words it.
///
/// # Errors
/// For a value of so many bytes.
pub(crate) fn check_length(bytes: usize) -> Result<()> {
    if bytes <= VALUE_BYTES_MAX { Ok(()) } else { Err(too_long()) }
}

#[cold]
fn too_long() -> ExecError {
    let text = format!("string buffer exceeds maximum allowed length ({VALUE_BYTES_MAX} bytes)");
    TypeError::new("54000", text).into()
}

/// Texts from this length on are counted before they are read.
const TEXT_BYTES: usize = 64 << 10;
/// What an element takes while a text is read.
const ELEMENT_BYTES: u64 = 64;

/// Room for reading a long text as a value that has many parts: an array, a jsonb, a row. None where there is nothing to count.
/// It is held until the value is made, which is counted where it goes.
///
/// # Errors
/// `OutOfMemory`.
pub fn room_to_read(account: &Account, text: &str, ty: &SqlType) -> Result<Option<Reservation>> {
    if text.len() < TEXT_BYTES
        || !matches!(
            ty,
            SqlType::Array(_) | SqlType::Jsonb | SqlType::Row(_) | SqlType::Range(_) | SqlType::Multirange(_)
        )
    {
        return Ok(None);
    }
    let separators = text.bytes().map(|byte| u64::from(byte == b',' || byte == b':')).sum::<u64>();
    let mut held = account.reserve("a value", u64::MAX);
    held.resize(2 * text.len() as u64 + (separators + 1) * ELEMENT_BYTES)?;
    Ok(Some(held))
}

/// Values from this length on are counted while an expression holds them.
pub(crate) const LONG_BYTES: usize = 64 << 10;
/// Arrays and rows of fewer parts are not looked through.
const MANY_PARTS: usize = 1 << 10;

/// The long values that an expression holds while it computes others from them, or beside them: charged until this is dropped.
#[derive(Default)]
pub(crate) struct LongValues(Option<Reservation>);

impl LongValues {
    /// Charges for a value that nobody else holds, and for as much work memory more as `times` says.
    ///
    /// # Errors
    /// `OutOfMemory`.
    #[inline]
    pub fn hold(&mut self, cx: &EvalContext<'_>, value: &Value, times: u64) -> Result<()> {
        match long_bytes(value) {
            0 => Ok(()),
            bytes => self.add(cx, bytes as u64 * times),
        }
    }

    #[cold]
    fn add(&mut self, cx: &EvalContext<'_>, bytes: u64) -> Result<()> {
        self.0.get_or_insert_with(|| cx.services.memory.account.reserve("a value", u64::MAX)).add(bytes)
    }
}

/// The bytes of a long value that is in no other hands; 0 of all others.
#[inline]
fn long_bytes(value: &Value) -> usize {
    match value {
        Value::Text(text) if text.len() >= LONG_BYTES && Arc::strong_count(text) == 1 => text.len(),
        Value::Bytes(bytes) if bytes.len() >= LONG_BYTES && Arc::strong_count(bytes) == 1 => bytes.len(),
        Value::Jsonb(json) if json.bytes().len() >= LONG_BYTES => json.bytes().len(),
        // A variable's array is counted where it stands, however often an element of it is read.
        Value::Array(array) if array.is_shared() => 0,
        Value::Array(array) if array.len() >= MANY_PARTS => payload(value),
        Value::Array(parts) => parts.iter().map(long_bytes).sum(),
        Value::Record(fields) => fields.iter().map(long_bytes).sum(),
        _ => 0,
    }
}

/// The bytes of a value that is being made.
pub(crate) struct Bytes<'a> {
    cx: &'a EvalContext<'a>,
    bytes: Vec<u8>,
    /// Where the next look is due.
    next: usize,
    /// Made with the first look: most values are short.
    held: Option<Reservation>,
}

impl<'a> Bytes<'a> {
    pub fn new(cx: &'a EvalContext<'a>) -> Self {
        Self { cx, bytes: Vec::new(), next: STEP, held: None }
    }

    /// One that will have so many bytes.
    ///
    /// # Errors
    /// As [`Bytes::push`].
    pub fn with_capacity(cx: &'a EvalContext<'a>, bytes: usize) -> Result<Self> {
        let mut new = Self::new(cx);
        new.make_room(bytes)?;
        if new.bytes.capacity() < bytes {
            new.bytes.reserve_exact(bytes);
        }
        Ok(new)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends some.
    ///
    /// # Errors
    /// 54000 beyond the length of a value, `OutOfMemory`, `Cancelled`.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        if self.bytes.len() + bytes.len() >= self.next {
            self.make_room(bytes.len())?;
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Asks for all that is due before so many bytes are added.
    #[cold]
    fn make_room(&mut self, more: usize) -> Result<()> {
        let wanted = self.bytes.len().saturating_add(more);
        check_length(wanted)?;
        if wanted < STEP {
            return Ok(());
        }
        self.cx.runtime.check_cancelled()?;
        // Enough for all that comes before the next look.
        if wanted + STEP > self.bytes.capacity() {
            let capacity = (wanted + STEP).max(self.bytes.capacity() * 3 / 2).min(VALUE_BYTES_MAX + STEP);
            let held =
                self.held.get_or_insert_with(|| self.cx.services.memory.account.reserve("a value", u64::MAX));
            // The value itself is a copy of the buffer.
            held.resize(2 * capacity as u64)?;
            self.bytes
                .try_reserve_exact(capacity - self.bytes.len())
                .map_err(|_| ExecError::no_memory("a value", capacity as u64))?;
        }
        self.next = wanted.saturating_add(STEP);
        Ok(())
    }

    /// The text; what was pushed is valid UTF-8 as a whole.
    pub fn into_text(self) -> Value {
        match String::from_utf8(self.bytes) {
            Ok(text) => Value::Text(text.into()),
            Err(error) => Value::Text(String::from_utf8_lossy(error.as_bytes()).into()),
        }
    }

    /// The bytea.
    pub fn into_bytea(self) -> Value {
        Value::Bytes(self.bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::testing::TestSession;

    #[test]
    fn a_long_text_with_many_parts_is_counted_before_it_is_read() {
        let session = TestSession::default();
        let account = &session.memory;
        let text = "1,".repeat(100_000);
        let array = SqlType::Array(Box::new(SqlType::Int4));
        let held = room_to_read(account, &text, &array).expect("room").expect("long enough");
        assert!(held.bytes() > 6_400_000, "{}", held.bytes());
        drop(held);
        assert_eq!(account.used_bytes(), 0);
        assert!(room_to_read(account, &text, &SqlType::Text).expect("room").is_none());
        assert!(room_to_read(account, "{1,2}", &array).expect("room").is_none());
        account.set_limit(1 << 20);
        let error = room_to_read(account, &text, &SqlType::Jsonb).expect_err("a limit of 1 MB");
        assert!(matches!(error, ExecError::OutOfMemory { what: "a value", .. }), "{error:?}");
    }

    #[test]
    fn long_values_are_charged_while_they_are_held() {
        let session = TestSession::default();
        let services = session.services();
        let cx = session.context(&services);
        let mut held = LongValues::default();
        let long = Value::text(&"x".repeat(1 << 20));
        held.hold(&cx, &long, 1).expect("room");
        held.hold(&cx, &Value::Record([Value::Int4(1), Value::text(&"y".repeat(1 << 20))].into()), 2)
            .expect("room");
        assert_eq!(session.memory.used_bytes(), 3 << 20);
        // Short ones are not counted, nor those that somebody else holds and counts.
        let also = long.clone();
        held.hold(&cx, &also, 1).expect("room");
        held.hold(&cx, &Value::text("short"), 1).expect("room");
        assert_eq!(session.memory.used_bytes(), 3 << 20);
        drop(held);
        assert_eq!(session.memory.used_bytes(), 0);
        session.memory.set_limit(1 << 20);
        drop(also);
        let error = LongValues::default().hold(&cx, &long, 2).expect_err("a limit of 1 MB");
        assert!(matches!(error, ExecError::OutOfMemory { what: "a value", .. }), "{error:?}");
    }

    #[test]
    fn a_value_is_charged_as_it_grows_and_ends_below_a_gigabyte() {
        let session = TestSession::default();
        let services = session.services();
        let cx = session.context(&services);
        let mut value = Bytes::new(&cx);
        let chunk = vec![b'x'; 1 << 20];
        for _ in 0..3 {
            value.push(&chunk).expect("room");
        }
        assert!(session.memory.used_bytes() >= 6 << 20, "{}", session.memory.used_bytes());
        drop(value);
        assert_eq!(session.memory.used_bytes(), 0);

        let error = Bytes::with_capacity(&cx, VALUE_BYTES_MAX + 1).err().expect("too long");
        assert!(matches!(&error, ExecError::Type(error) if error.sqlstate == "54000"), "{error:?}");
        session.memory.set_limit(8 << 20);
        let mut value = Bytes::new(&cx);
        let error = (0..10).try_for_each(|_| value.push(&chunk)).expect_err("a limit of 8 MiB");
        assert!(matches!(error, ExecError::OutOfMemory { what: "a value", .. }), "{error:?}");
        session.cancel.store(true, Ordering::Relaxed);
        let error = Bytes::new(&cx).push(&chunk).expect_err("cancelled");
        assert!(matches!(error, ExecError::Cancelled), "{error:?}");
    }
}
