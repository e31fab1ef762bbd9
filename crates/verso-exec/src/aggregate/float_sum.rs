//! Sums of doubles that a processor can take in parallel and two executors take alike.

/// The first values are added one by one, as PostgreSQL adds them; the ones behind in four lanes, value `i` in
/// lane `i % 4`. So small sums are PostgreSQL's to the last bit, and large ones do not wait for each addition.
#[derive(Clone, Debug, Default)]
pub(crate) struct FloatSum {
    count: u64,
    first: f64,
    lanes: [f64; 4],
}

/// How many values are added one by one. A multiple of the lanes.
const FIRST: u64 = 256;

impl FloatSum {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: f64) {
        if self.count < FIRST {
            self.first += value;
        } else {
            self.lanes[(self.count % 4) as usize] += value;
        }
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
        for chunk in chunks {
            for (lane, value) in self.lanes.iter_mut().zip(chunk) {
                *lane += value;
            }
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
        self.first += other.first;
        for (lane, more) in self.lanes.iter_mut().zip(other.lanes) {
            *lane += more;
        }
    }

    /// The sum.
    pub fn total(&self) -> f64 {
        if self.count <= FIRST {
            // adding empty lanes could turn -0 into 0
            return self.first;
        }
        self.first + ((self.lanes[0] + self.lanes[1]) + (self.lanes[2] + self.lanes[3]))
    }

    /// All of the state, to be put aside.
    pub fn save(&self) -> [f64; 6] {
        let [a, b, c, d] = self.lanes;
        [f64::from_bits(self.count), self.first, a, b, c, d]
    }

    /// The inverse of [`FloatSum::save`].
    pub fn load([count, first, a, b, c, d]: [f64; 6]) -> FloatSum {
        FloatSum { count: count.to_bits(), first, lanes: [a, b, c, d] }
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
            assert_eq!(many.total().to_bits(), one.total().to_bits(), "chunks of {size}");
            assert_eq!(many.count(), 5000);
        }
    }

    #[test]
    fn a_few_values_are_summed_in_order() {
        let mut sum = FloatSum::default();
        sum.add_all(&[0.1, 0.2, 0.3, 1e16, -1e16]);
        assert_eq!(sum.total(), 0.1 + 0.2 + 0.3 + 1e16 - 1e16);
    }
}
