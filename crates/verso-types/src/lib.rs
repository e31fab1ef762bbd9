//! SQL types and values, column vectors, codecs, Arrow mapping; no I/O
#![forbid(unsafe_code)]
