//! What one statement has cost.

use verso_storage::work::Work;

/// One execution of a statement, or a part of one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    /// Calls that it adds: none for another portion of a call.
    pub(crate) calls: u64,
    pub(crate) nanos: u64,
    pub(crate) rows: u64,
    pub(crate) work: Work,
    pub(crate) plans: u64,
    pub(crate) plan_nanos: u64,
}

/// Times of which least, most, mean and deviation are told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) count: u64,
    /// In milliseconds, as the view has them.
    pub(crate) total: f64,
    least: f64,
    most: f64,
    mean: f64,
    /// Sum of the squares of the distances from the mean.
    squares: f64,
}

impl Default for Times {
    fn default() -> Times {
        Times { count: 0, total: 0.0, least: f64::INFINITY, most: 0.0, mean: 0.0, squares: 0.0 }
    }
}

impl Times {
    /// One more. Source: B. P. Welford, 1962.
    #[inline]
    fn add(&mut self, milliseconds: f64) {
        self.count += 1;
        self.total += milliseconds;
        self.least = self.least.min(milliseconds);
        self.most = self.most.max(milliseconds);
        let distance = milliseconds - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (milliseconds - self.mean);
    }

    /// Those of another one, too. Source: T. F. Chan, G. H. Golub, R. J. LeVeque, 1979.
    fn merge(&mut self, other: &Times) {
        let (own, more) = (self.count as f64, other.count as f64);
        self.total += other.total;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        if other.count > 0 {
            let distance = other.mean - self.mean;
            self.mean += distance * more / (own + more);
            self.squares += other.squares + distance * distance * own * more / (own + more);
            self.count += other.count;
        }
    }

    /// Total, least, most, mean and standard deviation.
    pub(crate) fn shown(&self) -> [f64; 5] {
        let least = if self.least.is_finite() { self.least } else { 0.0 };
        let deviation = if self.count > 1 { (self.squares / self.count as f64).sqrt() } else { 0.0 };
        [self.total, least, self.most, self.mean, deviation]
    }

    /// Least and most are told anew from now on.
    pub(crate) fn forget_bounds(&mut self) {
        (self.least, self.most) = (f64::INFINITY, 0.0);
    }
}

/// What all executions of a statement have cost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) runs: Times,
    pub(crate) plans: Times,
    pub(crate) rows: u64,
    pub(crate) work: Work,
}

impl Figures {
    #[inline]
    pub(crate) fn add(&mut self, run: &Run) {
        let milliseconds = run.nanos as f64 / 1e6;
        match run.calls {
            0 => self.runs.total += milliseconds,
            _ => self.runs.add(milliseconds),
        }
        if run.plans > 0 {
            self.plans.add(run.plan_nanos as f64 / 1e6);
        }
        self.rows += run.rows;
        self.work += run.work;
    }

    pub(crate) fn merge(&mut self, other: &Figures) {
        self.runs.merge(&other.runs);
        self.plans.merge(&other.plans);
        self.rows += other.rows;
        self.work += other.work;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_two_sessions_together_are_those_of_one() {
        let times = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0];
        let mut all = Times::default();
        times.iter().for_each(|time| all.add(*time));
        for cut in 0..=times.len() {
            let (mut one, mut other) = (Times::default(), Times::default());
            times[..cut].iter().for_each(|time| one.add(*time));
            times[cut..].iter().for_each(|time| other.add(*time));
            one.merge(&other);
            let is_near = |(one, all): (&f64, &f64)| (one - all).abs() < 1e-9;
            assert!(one.shown().iter().zip(&all.shown()).all(is_near), "{cut}: {one:?} {all:?}");
            assert_eq!(one.count, all.count);
        }
        let [total, least, most, mean, deviation] = all.shown();
        assert_eq!((total, least, most, mean), (31.0, 1.0, 9.0, 3.875));
        assert!((deviation - 2.571_3).abs() < 1e-3, "{deviation}");
        all.forget_bounds();
        assert_eq!(all.shown()[1..3], [0.0, 0.0]);
    }

    #[test]
    fn another_portion_of_a_call_is_no_call() {
        let mut figures = Figures::default();
        figures.add(&Run { calls: 1, nanos: 2_000_000, rows: 3, ..Run::default() });
        figures.add(&Run { nanos: 1_000_000, rows: 4, ..Run::default() });
        assert_eq!((figures.runs.count, figures.rows), (1, 7));
        assert_eq!(figures.runs.shown()[..3], [3.0, 2.0, 2.0]);
    }
}
