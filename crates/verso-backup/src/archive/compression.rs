//! How frames are packed.

use std::fmt;
use std::str::FromStr;

/// How frames are packed. One that packing does not make smaller is stored as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// LZ4: as fast as memory.
    #[default]
    Lz4,
    /// Zstandard at this level, from 1 (fast) to 22 (small).
    Zstd(i32),
}

const STORED: u8 = 1;
const LZ4: u8 = 2;
const ZSTD: u8 = 3;

impl FromStr for Compression {
    type Err = String;

    fn from_str(text: &str) -> Result<Compression, String> {
        let (name, level) = text.split_once(':').map_or((text, None), |(name, level)| (name, Some(level)));
        match (name, level) {
            ("none", None) => Ok(Compression::None),
            ("lz4", None) => Ok(Compression::Lz4),
            ("zstd", None) => Ok(Compression::Zstd(3)),
            ("zstd", Some(level)) => match level.parse() {
                Ok(level @ 1..=22) => Ok(Compression::Zstd(level)),
                _ => Err(format!("zstd has levels from 1 to 22, not {level}")),
            },
            _ => Err(format!("{text} is none of zstd, zstd:1 … zstd:22, lz4 and none")),
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compression::None => write!(out, "none"),
            Compression::Lz4 => write!(out, "lz4"),
            Compression::Zstd(level) => write!(out, "zstd:{level}"),
        }
    }
}

impl Compression {
    /// Packs; how, and the bytes.
    pub(crate) fn pack(self, raw: Vec<u8>) -> (u8, Vec<u8>) {
        let packed = match self {
            Compression::None => None,
            Compression::Lz4 => Some((LZ4, lz4_flex::block::compress(&raw))),
            // It fails only where memory does.
            Compression::Zstd(level) => zstd::bulk::compress(&raw, level).ok().map(|packed| (ZSTD, packed)),
        };
        match packed {
            Some((packing, packed)) if packed.len() < raw.len() => (packing, packed),
            _ => (STORED, raw),
        }
    }
}

/// Unpacks what [`Compression::pack`] made of `length` bytes.
///
/// # Errors
/// What is wrong with the bytes.
pub(crate) fn unpack(packing: u8, stored: Vec<u8>, length: usize) -> Result<Vec<u8>, String> {
    let raw = match packing {
        STORED => stored,
        LZ4 => lz4_flex::block::decompress(&stored, length).map_err(|error| error.to_string())?,
        ZSTD => zstd::bulk::decompress(&stored, length).map_err(|error| error.to_string())?,
        other => return Err(format!("unknown packing {other}")),
    };
    if raw.len() == length { Ok(raw) } else { Err(format!("{} bytes instead of {length}", raw.len())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_and_nothing_grows() {
        let same = vec![7; 10_000];
        let noise: Vec<u8> =
            (0..10_000u64).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8).collect();
        for way in [Compression::None, Compression::Lz4, Compression::Zstd(1), Compression::Zstd(19)] {
            for raw in [&same, &noise, &Vec::new()] {
                let (packing, packed) = way.pack(raw.clone());
                assert!(packed.len() <= raw.len());
                assert_eq!(unpack(packing, packed, raw.len()).unwrap(), *raw, "{way}");
            }
            if way != Compression::None {
                assert!(way.pack(same.clone()).1.len() < 200, "{way}");
            }
        }
    }

    #[test]
    fn wrong_bytes_and_lengths_are_refused() {
        for way in [Compression::None, Compression::Lz4, Compression::Zstd(1)] {
            let (packing, packed) = way.pack(vec![7; 1_000]);
            assert!(unpack(packing, packed.clone(), 999).is_err());
            assert!(unpack(packing, packed.clone(), 1_001).is_err());
            assert!(unpack(packing, packed[1..].to_vec(), 1_000).is_err());
        }
        assert!(unpack(9, vec![], 0).is_err());
    }

    #[test]
    fn names_are_read_as_they_are_shown() {
        for way in [Compression::None, Compression::Lz4, Compression::Zstd(7)] {
            assert_eq!(way.to_string().parse(), Ok(way));
        }
        assert_eq!("zstd".parse(), Ok(Compression::Zstd(3)));
        for wrong in ["", "gzip", "zstd:0", "zstd:23", "zstd:x", "lz4:1", "none:1"] {
            assert!(wrong.parse::<Compression>().is_err(), "{wrong}");
        }
    }
}
