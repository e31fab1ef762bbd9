//! The published experiments as workloads, beside their peers
#![forbid(unsafe_code)]
