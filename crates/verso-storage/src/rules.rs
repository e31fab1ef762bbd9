//! The numbered rules that can be switched off, so that tests show they would notice (docs/MUTATIONS.md).
//!
//! R1. [`disabled`] is a constant `false` in every build without debug assertions.
//! R2. A rule is switched off by the environment only, once for the whole process: no code can do so by accident.

macro_rules! rules {
    ($($rule:ident $name:literal)*) => {
        /// A switch. Some rules have several, one for each half of what they say.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "docs/MUTATIONS.md says what each switches off")]
        pub enum Rule {
            $($rule),*
        }

        impl Rule {
            /// Every switch.
            pub const ALL: &[Rule] = &[$(Rule::$rule),*];

            /// What the environment variable and docs/MUTATIONS.md call it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Rule::$rule => $name),*
                }
            }
        }
    };
}

rules! {
    S6 "S6"
    M7 "M7"
    V1 "V1"
    V1Note "V1-note"
    V2 "V2"
    V3 "V3"
    V3Continuation "V3-continuation"
    V4 "V4"
    V4Unfinished "V4-unfinished"
    V5 "V5"
    V5Unread "V5-unread"
    V6 "V6"
    V6Idle "V6-idle"
    V6Incarnation "V6-incarnation"
    V7 "V7"
    V7Sweep "V7-sweep"
    V8 "V8"
    V8Free "V8-free"
    V9 "V9"
    V9Oldest "V9-oldest"
    T1 "T1"
    T1Logged "T1-logged"
    T1Settle "T1-settle"
    T1Order "T1-order"
    T1NoWait "T1-nowait"
    T1NoWaitOrder "T1-nowait-order"
    T2 "T2"
    T2Spool "T2-spool"
    T2LastTry "T2-last-try"
    Ssi "SSI"
    SsiRanges "SSI-ranges"
    RV1 "RV1"
    RV2 "RV2"
    RV3 "RV3"
    RV4 "RV4"
    RV5Prepared "RV5-prepared"
    T3 "T3"
    T3Record "T3-record"
    T3Fifo "T3-fifo"
    T3Savepoint "T3-savepoint"
    T3Pages "T3-pages"
    F1 "F1"
    F1Bits "F1-bits"
    F2 "F2"
    F2Release "F2-release"
    F2Order "F2-order"
    F3 "F3"
    F3Restart "F3-restart"
    F3Log "F3-log"
    F3Pin "F3-pin"
    F4 "F4"
    F4Limit "F4-limit"
    F5 "F5"
    F5Sweep "F5-sweep"
    F6 "F6"
    B3 "B3"
    B4 "B4"
    I1 "I1"
    I1Clean "I1-clean"
    PageBounds "PB2"
    I2 "I2"
    I3 "I3"
    I3Undo "I3-undo"
    I3Purge "I3-purge"
    I3Kept "I3-kept"
    I3Notes "I3-notes"
    I3Split "I3-split"
    I4 "I4"
    XC1 "XC1"
    XC2 "XC2"
    L1 "L1"
    L1Lsn "L1-lsn"
    L2 "L2"
    L2Database "L2-database"
    U1 "U1"
    U2 "U2"
    U4 "U4"
    H1 "H1"
    H2 "H2"
    H3 "H3"
    N1 "N1"
    N2 "N2"
    P2 "P2"
    LogFirst "log-first"
    DoubleWrite "double-write"
    DoubleWriteOrder "double-write-order"
    FailedSync "failed-sync"
    FullDisk "full-disk"
    FirstUpdater "first-updater"
    DeadAtRestart "dead-at-restart"
    RedoPoint "redo-point"
    Checksum "checksum"
    LogRoom "log-room"
    Superblocks "superblocks"
    T3Deadlock "T3-deadlock"
    T4 "T4"
    T4Keys "T4-keys"
}

/// Whether the environment variable `VERSO_DISABLE_RULE` names this switch (R1). Costs a load of a byte.
#[cfg(debug_assertions)]
#[inline]
pub fn disabled(rule: Rule) -> bool {
    use std::sync::atomic::{AtomicU8, Ordering};
    /// 0: not looked yet; 1: none is off; else the rule's number and 2.
    static OFF: AtomicU8 = AtomicU8::new(0);

    #[cold]
    fn look() -> u8 {
        let name = std::env::var("VERSO_DISABLE_RULE").unwrap_or_default();
        let off = Rule::ALL.iter().find(|rule| rule.name() == name).map_or(1, |rule| *rule as u8 + 2);
        assert!(off > 1 || name.is_empty(), "VERSO_DISABLE_RULE={name} is no rule with a switch");
        OFF.store(off, Ordering::Relaxed);
        off
    }

    let off = match OFF.load(Ordering::Relaxed) {
        0 => look(),
        off => off,
    };
    off == rule as u8 + 2
}

/// Never, in a release build.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn disabled(_rule: Rule) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::Rule;

    #[test]
    fn every_switch_stands_in_the_list_of_mutations() {
        let list = include_str!("../../../docs/MUTATIONS.md");
        for rule in Rule::ALL {
            let row = format!("| {} |", rule.name());
            assert_eq!(list.matches(&row).count(), 1, "docs/MUTATIONS.md needs one row \"{row} …\"");
        }
    }
}
