//! Batches as bytes.
//!
//! `rows u32, checksum u32`, then for each column `words u32, words × u64` of its NULLs and either the values, or
//! `bytes u32, ends × u32, bytes`. Little-endian. The reader knows the types.

use verso_types::{Batch, ColumnData, NullMask};

use crate::error::{ExecError, Result};

#[cold]
fn damaged() -> ExecError {
    ExecError::raised("58030", "a temporary file does not hold what was written to it")
}

/// Sums up the bytes: enough to notice that they are others.
fn checksum(rows: usize, bytes: &[u8]) -> u32 {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let mut sum = 0x9e37_79b9_7f4a_7c15u64 ^ bytes.len() as u64 ^ (rows as u64).rotate_left(40);
    let mut add = |word: u64| sum = (sum.rotate_left(23) ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    chunks.iter().for_each(|chunk| add(u64::from_le_bytes(*chunk)));
    add(rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    (sum ^ (sum >> 32)) as u32
}

/// Replaces `out` by the bytes of a batch.
pub(super) fn encode(batch: &Batch, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&(batch.rows as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    for column in &batch.columns {
        let words = column.nulls.words();
        out.extend_from_slice(&(words.len() as u32).to_le_bytes());
        words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
        match &column.data {
            ColumnData::Bytes(bytes) => {
                out.extend_from_slice(&(bytes.bytes.len() as u32).to_le_bytes());
                bytes.ends.iter().for_each(|end| out.extend_from_slice(&end.to_le_bytes()));
                out.extend_from_slice(&bytes.bytes);
            }
            fixed => out.extend_from_slice(fixed.fixed_bytes().unwrap_or_default()),
        }
    }
    let sum = checksum(batch.rows, &out[8..]);
    out[4..8].copy_from_slice(&sum.to_le_bytes());
}

/// Appends the rows of [`encode`]'s bytes to a batch of the same layout.
pub(super) fn decode(bytes: &[u8], out: &mut Batch) -> Result<()> {
    let mut rest = bytes;
    let rows = take_u32(&mut rest)? as usize;
    let sum = take_u32(&mut rest)?;
    if checksum(rows, rest) != sum {
        return Err(damaged());
    }
    for column in &mut out.columns {
        let first = column.len();
        let words = take_u32(&mut rest)? as usize;
        if words > rows.div_ceil(64) {
            return Err(damaged());
        }
        let words =
            take(&mut rest, words * 8)?.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        let nulls = NullMask::from_words(words.collect(), rows);
        match &mut column.data {
            ColumnData::Bytes(values) => {
                let length = take_u32(&mut rest)? as usize;
                let ends = take(&mut rest, rows * 4)?.as_chunks::<4>().0;
                let bytes = take(&mut rest, length)?;
                let base = values.bytes.len();
                if u32::try_from(base + length).is_err() {
                    return Err(damaged());
                }
                let mut last = 0;
                for end in ends {
                    let end = u32::from_le_bytes(*end);
                    if end < last || end as usize > length {
                        return Err(damaged());
                    }
                    last = end;
                    values.ends.push(base as u32 + end);
                }
                if last as usize != length {
                    return Err(damaged());
                }
                values.bytes.extend_from_slice(bytes);
            }
            fixed => {
                let width = fixed.physical().width().unwrap_or(1);
                fixed.extend_fixed_raw(take(&mut rest, rows * width)?);
            }
        }
        column.nulls.append_range(first, &nulls, 0..rows);
    }
    out.rows += rows;
    if rest.is_empty() { Ok(()) } else { Err(damaged()) }
}

fn take<'b>(rest: &mut &'b [u8], length: usize) -> Result<&'b [u8]> {
    let (taken, behind) = rest.split_at_checked(length).ok_or_else(damaged)?;
    *rest = behind;
    Ok(taken)
}

fn take_u32(rest: &mut &[u8]) -> Result<u32> {
    let bytes = take(rest, 4)?.first_chunk::<4>().ok_or_else(damaged)?;
    Ok(u32::from_le_bytes(*bytes))
}
