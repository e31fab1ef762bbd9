//! Which seeds a test runs, and telling which one failed.

use verso_env::Env;

/// The seeds of a test: `count_default` many, `SEEDS=n` many if that variable is set, or only `SEED=x`.
///
/// When the loop over them panics, the seed to replay is printed.
///
/// # Panics
/// When a variable is set and no number.
pub fn seeds(count_default: u64) -> Seeds {
    Seeds::from_variables(variable("SEED"), variable("SEEDS"), count_default)
}

/// The trials of a campaign, numbered: the first `count_default`, in `CAMPAIGN_MINUTES=n` as many as there is time for, from any
/// number on, or only `SEED=x`.
///
/// When the loop over them panics, the number to replay is printed.
///
/// # Panics
/// When a variable is set and no number.
pub fn trials(count_default: u64) -> impl Iterator<Item = u64> {
    let minutes = variable("CAMPAIGN_MINUTES");
    let clock = Env::real().clock;
    let until = minutes.map(|minutes| clock.monotonic_nanos() + minutes * 60_000_000_000);
    let mut seeds = Seeds::from_variables(variable("SEED"), minutes.map(|_| u64::MAX), count_default);
    if minutes.is_some() && variable("SEED").is_none() {
        seeds.next = Env::real().random.next_u64() >> 32;
    }
    seeds.take_while(move |_| until.is_none_or(|until| clock.monotonic_nanos() < until))
}

/// See [`seeds`].
#[derive(Debug)]
pub struct Seeds {
    next: u64,
    end: u64,
    current: Option<u64>,
}

impl Seeds {
    /// The choice between the two variables and the default.
    fn from_variables(only: Option<u64>, count: Option<u64>, count_default: u64) -> Seeds {
        match only {
            Some(seed) => Seeds { next: seed, end: seed.saturating_add(1), current: None },
            None => Seeds { next: 0, end: count.unwrap_or(count_default), current: None },
        }
    }

    /// How to replay the seed that is being run.
    fn advice(&self) -> Option<String> {
        self.current.map(|seed| format!("the failing seed: run this test again with SEED={seed}"))
    }
}

impl Iterator for Seeds {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.current = (self.next < self.end).then_some(self.next);
        self.next = self.next.saturating_add(1);
        self.current
    }
}

impl Drop for Seeds {
    fn drop(&mut self) {
        if let Some(advice) = self.advice().filter(|_| std::thread::panicking()) {
            eprintln!("{advice}");
        }
    }
}

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    match text.trim().parse() {
        Ok(number) => Some(number),
        Err(_) => panic!("{name}={text} is not a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_choose_one_or_many() {
        assert_eq!(Seeds::from_variables(None, None, 3).collect::<Vec<u64>>(), [0, 1, 2]);
        assert_eq!(Seeds::from_variables(None, Some(2), 3).collect::<Vec<u64>>(), [0, 1]);
        assert_eq!(Seeds::from_variables(Some(77), Some(2), 3).collect::<Vec<u64>>(), [77]);
    }

    #[test]
    fn the_seed_in_use_is_named_and_none_behind_the_end() {
        let mut seeds = Seeds::from_variables(None, None, 2);
        assert_eq!(seeds.advice(), None);
        seeds.next();
        seeds.next();
        assert!(seeds.advice().unwrap().ends_with("SEED=1"));
        assert_eq!(seeds.next(), None);
        assert_eq!(seeds.advice(), None);
    }
}
