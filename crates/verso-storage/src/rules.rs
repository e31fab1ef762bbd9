//! The numbered rules that can be switched off, so that tests show they would notice (docs/MUTATIONS.md).
//!
//! In every build but tests' [`disabled`] is a constant `false`.

/// Whether the environment variable `VERSO_DISABLE_RULE` names this rule (debug builds only).
#[cfg(debug_assertions)]
#[inline]
pub fn disabled(rule: &str) -> bool {
    use std::sync::OnceLock;
    static RULE: OnceLock<Option<String>> = OnceLock::new();
    RULE.get_or_init(|| std::env::var("VERSO_DISABLE_RULE").ok()).as_deref() == Some(rule)
}

/// Never, in a release build.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn disabled(_rule: &str) -> bool {
    false
}
