//! Models, crash and fault schedules, checkers; for tests only
#![forbid(unsafe_code)]
