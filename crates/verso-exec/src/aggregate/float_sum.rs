//! Sums of doubles that a processor can take in parallel and two executors take alike.

use verso_types::TypeError;

/// The first values are added one by one, as PostgreSQL adds them; the ones behind in four lanes, value `i` in
/// lane `i % 4`. So small sums are PostgreSQL's to the last bit, and large ones do not wait for each addition.
#[derive(Clone, Debug)]
pub(crate) struct FloatSum {
    count: u64,
    /// Finite values have had a sum that is not.
    overflown: bool,
    first: f64,
    lanes: [f64; 4],
}

/// How many values are added one by one. A multiple of the lanes.
const FIRST: u64 = 256;
/// Stands in the saved count where the sum has left the range.
const OVERFLOWN: u64 = 1 << 63;

/// Whether two finite values have a sum that is not.
#[inline]
pub(super) fn overflows(sum: f64, a: f64, b: f64) -> bool {
    sum.is_infinite() && a.is_finite() && b.is_finite()
}

impl Default for FloatSum {
    /// Begins with -0, to which -0 may be added and stays what it is.
    fn default() -> FloatSum {
        FloatSum { count: 0, overflown: false, first: -0.0, lanes: [0.0; 4] }
    }
}

impl FloatSum {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: f64) {
        let sum = match self.count < FIRST {
            true => &mut self.first,
            false => &mut self.lanes[(self.count % 4) as usize],
        };
        let before = std::mem::replace(sum, *sum + value);
        self.overflown |= overflows(*sum, before, value);
        self.count += 1;
    }

    /// Adds many values: the same as one after the other.
    pub fn add_all(&mut self, values: &[f64]) {
        // up to the first lane
        let head = (FIRST.saturating_sub(self.count) as usize).max((self.count.wrapping_neg() % 4) as usize);
        let (head, rest) = values.split_at(head.min(values.len()));
        head.iter().for_each(|value| self.add(*value));
        let chunks = rest.chunks_exact(4);
        let tail = chunks.remainder();
        self.count += (rest.len() - tail.len()) as u64;
        let before = self.lanes;
        for chunk in chunks {
            for (lane, value) in self.lanes.iter_mut().zip(chunk) {
                *lane += value;
            }
        }
        if self.lanes.iter().any(|lane| !lane.is_finite()) {
            // Which of them came from finite values: seldom asked, so not in the loop.
            let finite = before.iter().chain(rest).all(|value| value.is_finite());
            self.overflown |= finite;
        }
        tail.iter().for_each(|value| self.add(*value));
    }

    /// Adds what another one has summed.
    pub fn merge(&mut self, other: &FloatSum) {
        if self.count == 0 {
            *self = other.clone();
            return;
        }
        self.count += other.count;
        self.overflown |= other.overflown;
        let own = std::iter::once(&mut self.first).chain(&mut self.lanes);
        for (sum, more) in own.zip(std::iter::once(other.first).chain(other.lanes)) {
            let before = std::mem::replace(sum, *sum + more);
            self.overflown |= overflows(*sum, before, more);
        }
    }

    /// The sum.
    ///
    /// # Errors
    /// 22003 where finite values had a sum that is not, be it on the way.
    pub fn total(&self) -> Result<f64, TypeError> {
        let total = match self.count <= FIRST {
            // adding empty lanes could turn -0 into 0
            true => self.first,
            false => self.first + ((self.lanes[0] + self.lanes[1]) + (self.lanes[2] + self.lanes[3])),
        };
        let parts_are_finite = self.first.is_finite() && self.lanes.iter().all(|lane| lane.is_finite());
        if self.overflown || !total.is_finite() && parts_are_finite {
            return Err(TypeError::float_overflow());
        }
        Ok(total)
    }

    /// All of the state, to be put aside.
    pub fn save(&self) -> [f64; 6] {
        let [a, b, c, d] = self.lanes;
        let count = self.count | if self.overflown { OVERFLOWN } else { 0 };
        [f64::from_bits(count), self.first, a, b, c, d]
    }

    /// The inverse of [`FloatSum::save`].
    pub fn load([count, first, a, b, c, d]: [f64; 6]) -> FloatSum {
        let (count, overflown) = (count.to_bits() & !OVERFLOWN, count.to_bits() & OVERFLOWN != 0);
        FloatSum { count, overflown, first, lanes: [a, b, c, d] }
    }

    /// How many values were added.
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_and_single_values_sum_alike() {
        let values: Vec<f64> = (0..5000).map(|i| f64::from(i).sin() * 1e3 + 0.1).collect();
        let mut one = FloatSum::default();
        values.iter().for_each(|value| one.add(*value));
        for size in [1, 3, 7, 64, 255, 256, 257, 1000, 5000] {
            let mut many = FloatSum::default();
            values.chunks(size).for_each(|chunk| many.add_all(chunk));
            let [many_bits, one_bits] = [&many, &one].map(|sum| sum.total().expect("in range").to_bits());
            assert_eq!(many_bits, one_bits, "chunks of {size}");
            assert_eq!(many.count(), 5000);
        }
    }

    #[test]
    fn a_few_values_are_summed_in_order() {
        let mut sum = FloatSum::default();
        sum.add_all(&[0.1, 0.2, 0.3, 1e16, -1e16]);
        assert_eq!(sum.total().expect("in range"), 0.1 + 0.2 + 0.3 + 1e16 - 1e16);
    }

    /// PostgreSQL: 22003, "value out of range: overflow"; an infinite value is no overflow.
    #[test]
    fn finite_values_have_no_infinite_sum() {
        for count in [2, 300, 5000] {
            let mut sum = FloatSum::default();
            sum.add_all(&vec![1e308; count]);
            assert!(sum.total().is_err(), "{count} at once");
            assert!(FloatSum::load(sum.save()).total().is_err(), "put aside");
            let (mut one, mut infinite) = (FloatSum::default(), FloatSum::default());
            (0..count).for_each(|_| one.add(1e308));
            assert!(one.total().is_err(), "{count} one by one");
            infinite.add_all(&vec![f64::INFINITY; count]);
            assert_eq!(infinite.total().expect("no overflow"), f64::INFINITY);
        }
        let mut halves = [FloatSum::default(), FloatSum::default()];
        halves.iter_mut().for_each(|half| half.add(1e308));
        let [mut one, other] = halves;
        one.merge(&other);
        assert!(one.total().is_err(), "of two workers");
    }
}
