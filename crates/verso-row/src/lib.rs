//! Bound plans, the function registry, the row executor and the page-at-a-time vectorised executor
#![forbid(unsafe_code)]
