//! Tables, columns, functions, sequences and views: what the names mean
#![forbid(unsafe_code)]
