//! What the definition of a function says for planners: COST, ROWS, PARALLEL.

/// COST, ROWS and PARALLEL of a function, as far as they were given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Planning {
    /// Bits of an `f32`: in PostgreSQL's units, of which one is a call of an operator.
    cost: Option<u32>,
    /// Bits of an `f32`: rows that a call yields.
    rows: Option<u32>,
    /// Which sessions may call it.
    pub parallel: ParallelSafety,
}

/// PARALLEL: who may call a function. Workers of Verso's queries call no functions of users, whatever is said of them; those of a
/// PostgreSQL to which a definition is brought may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParallelSafety {
    /// No query that has workers.
    #[default]
    Unsafe,
    /// The leader of such a query.
    Restricted,
    /// Workers, too.
    Safe,
}

impl ParallelSafety {
    /// As `pg_proc` has it.
    pub fn letter(self) -> char {
        match self {
            ParallelSafety::Unsafe => 'u',
            ParallelSafety::Restricted => 'r',
            ParallelSafety::Safe => 's',
        }
    }

    /// What [`ParallelSafety::letter`] gives, read.
    pub fn of_letter(letter: char) -> Option<ParallelSafety> {
        let all = [ParallelSafety::Unsafe, ParallelSafety::Restricted, ParallelSafety::Safe];
        all.into_iter().find(|one| one.letter() == letter)
    }
}

impl Planning {
    /// What a definition says; what it does not say is as usual.
    pub fn new(cost: Option<f32>, rows: Option<f32>, parallel: ParallelSafety) -> Planning {
        Planning { cost: cost.map(f32::to_bits), rows: rows.map(f32::to_bits), parallel }
    }

    /// COST: a hundred where nothing was said, as of PostgreSQL's functions in SQL and PL/pgSQL.
    pub fn cost(&self) -> f32 {
        self.cost.map_or(100.0, f32::from_bits)
    }

    /// ROWS: a thousand where nothing was said.
    pub fn rows(&self) -> f32 {
        self.rows.map_or(1000.0, f32::from_bits)
    }

    /// The same with what ALTER FUNCTION gives.
    #[must_use]
    pub fn altered(self, cost: Option<f32>, rows: Option<f32>, parallel: Option<ParallelSafety>) -> Planning {
        Planning {
            cost: cost.map(f32::to_bits).or(self.cost),
            rows: rows.map(f32::to_bits).or(self.rows),
            parallel: parallel.unwrap_or(self.parallel),
        }
    }

    /// As the catalog keeps it; none where nothing was said.
    pub(crate) fn note(&self) -> Option<String> {
        let number = |bits: Option<u32>| bits.map_or("-".to_owned(), |bits| f32::from_bits(bits).to_string());
        let (cost, rows, parallel) = (number(self.cost), number(self.rows), self.parallel.letter());
        (*self != Planning::default()).then(|| format!("{cost} {rows} {parallel}"))
    }

    /// What [`Planning::note`] gave, read.
    pub(crate) fn read(note: &str) -> Option<Planning> {
        let mut words = note.split(' ');
        let mut number = || match words.next()? {
            "-" => Some(None),
            word => word.parse::<f32>().ok().map(|number| Some(number.to_bits())),
        };
        let (cost, rows) = (number()?, number()?);
        let parallel = ParallelSafety::of_letter(words.next()?.chars().next()?)?;
        Some(Planning { cost, rows, parallel })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_kept_and_the_rest_is_as_usual() {
        assert_eq!(Planning::default().note(), None);
        let given = Planning::new(Some(0.25), None, ParallelSafety::Safe);
        let read = given.note().and_then(|note| Planning::read(&note));
        assert_eq!(read, Some(given));
        assert_eq!((given.cost(), given.rows()), (0.25, 1000.0));
        let altered = given.altered(None, Some(7.0), None);
        assert_eq!(altered, Planning::new(Some(0.25), Some(7.0), ParallelSafety::Safe));
        assert_eq!(Planning::read("1 2"), None);
    }
}
