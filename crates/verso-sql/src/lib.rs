//! SQL text to answers: parser, binder, planner, sessions, SQLSTATEs
#![forbid(unsafe_code)]
