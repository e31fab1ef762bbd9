//! 256-bit intermediate results of products and quotients.

/// `high × 2^128 + low`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wide {
    high: u128,
    low: u128,
}

/// Lower 64 bits.
const fn low(v: u128) -> u128 {
    v & u64::MAX as u128
}

/// Upper 64 bits.
const fn high(v: u128) -> u128 {
    v >> 64
}

impl Wide {
    /// The product, always exact.
    pub(super) fn product(a: u128, b: u128) -> Wide {
        if let Some(low) = a.checked_mul(b) {
            return Wide { high: 0, low };
        }
        // schoolbook in halves: no sum below exceeds 2^128 - 1
        let lows = low(a) * low(b);
        let middle = high(a) * low(b) + high(lows);
        let middle_low = low(a) * high(b) + low(middle);
        Wide { high: high(a) * high(b) + high(middle) + high(middle_low), low: middle_low << 64 | low(lows) }
    }

    /// The product with `factor`, `None` beyond 256 bits.
    pub(super) fn times(self, factor: u128) -> Option<Wide> {
        let lows = Wide::product(self.low, factor);
        let high = self.high.checked_mul(factor)?.checked_add(lows.high)?;
        Some(Wide { high, low: lows.low })
    }

    /// Quotient and rest; `None` where the quotient needs more than 128 bits or the divisor is zero.
    pub(super) fn divide(self, divisor: u128) -> Option<(u128, u128)> {
        if self.high >= divisor {
            return None;
        }
        if self.high == 0 {
            return Some((self.low / divisor, self.low % divisor));
        }
        // Knuth's algorithm D with two 64-bit digits (Hacker's Delight, divlu).
        let shift = divisor.leading_zeros();
        let divisor = divisor << shift;
        let upper = if shift == 0 { self.high } else { self.high << shift | self.low >> (128 - shift) };
        let lower = self.low << shift;
        let (first, rest) = digit(upper, high(lower), divisor);
        let (second, rest) = digit(rest, low(lower), divisor);
        Some((first << 64 | second, rest >> shift))
    }

    /// The rest of a division by anything but zero.
    pub(super) fn rest(self, divisor: u128) -> u128 {
        let reduced = Wide { high: self.high % divisor, low: self.low };
        reduced.divide(divisor).expect("high part below the divisor").1
    }

    /// The quotient rounded half up, `None` beyond 128 bits.
    pub(super) fn divide_round(self, divisor: u128) -> Option<u128> {
        let (quotient, rest) = self.divide(divisor)?;
        // rest ≥ divisor / 2 without overflow
        if rest >= divisor - rest { quotient.checked_add(1) } else { Some(quotient) }
    }
}

/// One 64-bit digit of the quotient of `(upper, next)` by a divisor whose top bit is set, and the rest.
fn digit(upper: u128, next: u128, divisor: u128) -> (u128, u128) {
    let mut guess = upper / high(divisor);
    let mut rest = upper % high(divisor);
    while guess > u128::from(u64::MAX) || guess * low(divisor) > (rest << 64 | next) {
        guess -= 1;
        rest += high(divisor);
        if rest > u128::from(u64::MAX) {
            break;
        }
    }
    // the true rest lies below the divisor, so arithmetic modulo 2^128 finds it
    let rest = (upper << 64 | next).wrapping_sub(guess.wrapping_mul(divisor));
    (guess, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers of all sizes, rich in edges.
    fn number() -> impl Strategy<Value = u128> {
        let edge = prop_oneof![
            Just(0u128),
            Just(1),
            Just(u128::MAX),
            Just(1 << 64),
            Just((1 << 64) - 1),
            Just(1 << 127)
        ];
        prop_oneof![3 => (any::<u128>(), 0u32..128).prop_map(|(v, s)| v >> s), 1 => edge]
    }

    proptest! {
        #[test]
        fn a_quotient_times_the_divisor_is_the_dividend(quotient in number(), divisor in number(), rest in number()) {
            prop_assume!(divisor != 0);
            let rest = rest % divisor;
            let product = Wide::product(quotient, divisor);
            let (low, carry) = product.low.overflowing_add(rest);
            let dividend = Wide { high: product.high + u128::from(carry), low };
            prop_assert_eq!(dividend.divide(divisor), Some((quotient, rest)));
            prop_assert_eq!(dividend.rest(divisor), rest);
        }

        #[test]
        fn products_agree_with_a_shift_and_add(a in number(), b in number()) {
            let mut sum = Wide { high: 0, low: 0 };
            for bit in (0..128).filter(|bit| b >> bit & 1 == 1) {
                let (low, carry) = sum.low.overflowing_add(a << bit);
                let high = if bit == 0 { 0 } else { a >> (128 - bit) };
                sum = Wide { high: sum.high + high + u128::from(carry), low };
            }
            prop_assert_eq!(Wide::product(a, b), sum);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(Wide { high: 5, low: 0 }.divide(5), None);
        assert_eq!(Wide { high: 0, low: 5 }.divide(0), None);
        assert_eq!(Wide { high: 1 << 100, low: 0 }.times(1 << 28), None);
        assert_eq!(Wide { high: 0, low: 15 }.divide_round(10), Some(2));
        assert_eq!(Wide { high: 0, low: 14 }.divide_round(10), Some(1));
    }
}
