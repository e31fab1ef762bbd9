//! Checksums of bytes: `crc32`, `crc32c`.

use verso_types::{SqlType, Value};

use super::define::{entry, unexpected};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};

/// The checksum of each byte: the polynomial of zip and Ethernet, lowest bit first.
static CRC32: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut value, mut bit) = (byte as u32, 0);
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ 0xedb8_8320 } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
};

fn crc32(bytes: &[u8]) -> u32 {
    let next = |crc: u32, byte: &u8| CRC32[usize::from(crc as u8 ^ byte)] ^ crc >> 8;
    !bytes.iter().fold(u32::MAX, next)
}

static FUNCTIONS: &[BuiltinFunction] = &[
    entry!("crc32" () [Bytea] => Int8, |_, args| match args {
        [Value::Bytes(bytes)] => Ok(Value::Int8(crc32(bytes).into())),
        _ => Err(unexpected("crc32", args)),
    }, None),
    entry!("crc32c" () [Bytea] => Int8, |_, args| match args {
        [Value::Bytes(bytes)] => Ok(Value::Int8(::crc32c::crc32c(bytes).into())),
        _ => Err(unexpected("crc32c", args)),
    }, None),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [FUNCTIONS];
