//! A scale as a type with unused bit patterns, so that `Option<Decimal>` and `Value` take no more room than a `Decimal`.

macro_rules! scales {
    ($($name:ident)*) => {
        /// 0 ..= 38.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[rustfmt::skip]
        pub(super) enum Scale { $($name),* }

        const ALL: [Scale; 39] = [$(Scale::$name),*];
    };
}

scales! {
    S0 S1 S2 S3 S4 S5 S6 S7 S8 S9 S10 S11 S12 S13 S14 S15 S16 S17 S18 S19
    S20 S21 S22 S23 S24 S25 S26 S27 S28 S29 S30 S31 S32 S33 S34 S35 S36 S37 S38
}

impl Scale {
    pub(super) const ZERO: Scale = Scale::S0;

    /// `None` beyond 38.
    #[inline]
    pub(super) fn new(scale: u8) -> Option<Scale> {
        ALL.get(usize::from(scale)).copied()
    }

    /// 38 for anything beyond.
    #[inline]
    pub(super) fn saturating(scale: u8) -> Scale {
        ALL[usize::from(scale.min(38))]
    }

    #[inline]
    pub(super) fn get(self) -> u8 {
        self as u8
    }
}
