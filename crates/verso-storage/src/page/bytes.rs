//! Little-endian numbers at offsets of a byte slice.
//!
//! `u16_at` and its like take an offset the caller has checked (or that is a constant of the layout) and panic
//! beyond the slice, as indexing does. `checked_u16` and its like take offsets that were themselves read from
//! disk and return a [`Flaw`].

use super::Flaw;

macro_rules! number {
    ($type:ty, $at:ident, $put:ident, $checked:ident) => {
        #[doc = concat!("The `", stringify!($type), "` at `offset`; panics beyond the slice.")]
        #[inline]
        #[must_use]
        pub fn $at(bytes: &[u8], offset: usize) -> $type {
            const WIDTH: usize = size_of::<$type>();
            <$type>::from_le_bytes(bytes[offset..offset + WIDTH].try_into().expect("the slice has the width"))
        }

        #[doc = concat!("Writes a `", stringify!($type), "` at `offset`; panics beyond the slice.")]
        #[inline]
        pub fn $put(bytes: &mut [u8], offset: usize, value: $type) {
            const WIDTH: usize = size_of::<$type>();
            bytes[offset..offset + WIDTH].copy_from_slice(&value.to_le_bytes());
        }

        #[doc = concat!("The `", stringify!($type), "` at an untrusted `offset`.")]
        ///
        /// # Errors
        /// A flaw when it does not lie wholly within the slice.
        #[inline]
        pub fn $checked(bytes: &[u8], offset: usize) -> Result<$type, Flaw> {
            const WIDTH: usize = size_of::<$type>();
            match bytes.get(offset..).and_then(|rest| rest.first_chunk::<WIDTH>()) {
                Some(chunk) => Ok(<$type>::from_le_bytes(*chunk)),
                None => Err(out_of_bounds(bytes.len(), offset, WIDTH)),
            }
        }
    };
}

number!(u8, u8_at, put_u8, checked_u8);
number!(u16, u16_at, put_u16, checked_u16);
number!(u32, u32_at, put_u32, checked_u32);
number!(u64, u64_at, put_u64, checked_u64);
number!(i16, i16_at, put_i16, checked_i16);
number!(i32, i32_at, put_i32, checked_i32);
number!(i64, i64_at, put_i64, checked_i64);

/// `length` bytes at an untrusted `offset`.
///
/// # Errors
/// A flaw when they do not lie wholly within the slice.
#[inline]
pub fn checked_slice(bytes: &[u8], offset: usize, length: usize) -> Result<&[u8], Flaw> {
    match offset.checked_add(length).and_then(|end| bytes.get(offset..end)) {
        Some(slice) => Ok(slice),
        None => Err(out_of_bounds(bytes.len(), offset, length)),
    }
}

/// `length` bytes at an untrusted `offset`, to be changed.
///
/// # Errors
/// A flaw when they do not lie wholly within the slice.
#[inline]
pub fn checked_slice_mut(bytes: &mut [u8], offset: usize, length: usize) -> Result<&mut [u8], Flaw> {
    let size = bytes.len();
    match offset.checked_add(length).and_then(|end| bytes.get_mut(offset..end)) {
        Some(slice) => Ok(slice),
        None => Err(out_of_bounds(size, offset, length)),
    }
}

#[cold]
fn out_of_bounds(size: usize, offset: usize, length: usize) -> Flaw {
    Flaw::new(format!("{length} bytes at offset {offset} lie outside {size}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_little_endian_and_come_back() {
        let mut bytes = [0u8; 16];
        put_u32(&mut bytes, 3, 0x0102_0304);
        assert_eq!(&bytes[3..7], [4, 3, 2, 1]);
        assert_eq!(u32_at(&bytes, 3), 0x0102_0304);
        put_i64(&mut bytes, 8, -2);
        assert_eq!(i64_at(&bytes, 8), -2);
        assert_eq!(checked_i64(&bytes, 8), Ok(-2));
    }

    #[test]
    fn untrusted_offsets_are_flaws_not_panics() {
        let mut bytes = [0u8; 8];
        assert!(checked_u16(&bytes, 7).is_err());
        assert!(checked_u64(&bytes, usize::MAX).is_err());
        assert!(checked_slice(&bytes, 4, usize::MAX).is_err());
        assert!(checked_slice(&bytes, 9, 0).is_err());
        assert_eq!(checked_slice(&bytes, 8, 0), Ok(&[][..]));
        assert!(checked_slice_mut(&mut bytes, 4, 5).is_err());
    }
}
