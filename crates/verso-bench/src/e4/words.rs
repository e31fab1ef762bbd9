//! The words of the experiment: distinct keys with word-like names, made from their number by one formula, in SQL and here.

/// The table, without its key.
pub(super) const CREATE: &str = "CREATE TABLE word_dictionary (code_dictionary bigint NOT NULL, name varchar(100) NOT NULL, code_parent bigint)";

/// Its key.
pub(super) const KEY: &str = "ALTER TABLE word_dictionary ADD PRIMARY KEY (code_dictionary)";

/// Its index.
pub(super) const INDEX: &str = "CREATE INDEX word_name ON word_dictionary (name)";

/// An index of theirs in the order of a language.
pub(super) const COLLATED: &str = "CREATE INDEX word_collated ON word_dictionary (name COLLATE \"en-x-icu\")";

/// The letters between the first three and the number.
const MIDDLE: &[u8] = b"ationsmentingablyousness";

/// The word of a number, from 1 on.
pub(super) fn word(g: u64) -> String {
    let letter = |factor: u64| char::from(b'a' + (g * factor % 26) as u8);
    let start = (g % 17) as usize;
    let middle = &MIDDLE[start..start + 3 + (g % 5) as usize];
    let middle: String = middle.iter().copied().map(char::from).collect();
    let number = u128::from(g) * 2_654_435_761 % 1_000_003;
    format!("{}{}{}{middle}{number}", letter(7_919), letter(104_729), letter(1_299_709))
}

/// The INSERT of so many words.
pub(super) fn insert(rows: u64) -> String {
    format!(
        "INSERT INTO word_dictionary SELECT g,
           chr(97 + (g * 7919 % 26)::int) || chr(97 + (g * 104729 % 26)::int) || chr(97 + (g * 1299709 % 26)::int)
             || substr('ationsmentingablyousness', 1 + (g % 17)::int, 3 + (g % 5)::int) || (g * 2654435761 % 1000003)::text,
           g / 7
         FROM generate_series(1::bigint, {rows}) AS s(g)"
    )
}

/// Rows of the table, in any order, that are compared with the formula.
pub(super) struct Comparison {
    rows: u64,
    seen: u64,
    sum: u128,
}

impl Comparison {
    pub fn new(rows: u64) -> Comparison {
        Comparison { rows, seen: 0, sum: 0 }
    }

    /// # Errors
    /// What is wrong with the row.
    pub fn row(&mut self, key: i64, name: &str, parent: i64) -> Result<(), String> {
        let number = u64::try_from(key).ok().filter(|key| (1..=self.rows).contains(key));
        let number = number.ok_or_else(|| format!("key {key}"))?;
        if name != word(number) || parent.cast_unsigned() != number / 7 {
            return Err(format!("word {key} is {name}, child of {parent}"));
        }
        (self.seen, self.sum) = (self.seen + 1, self.sum + u128::from(number));
        Ok(())
    }

    /// The same of a row of texts.
    ///
    /// # Errors
    /// What is wrong with the row.
    pub fn texts(&mut self, row: &[&str]) -> Result<(), String> {
        let [key, name, parent] = row else { return Err(format!("a row of {} columns", row.len())) };
        let number = |text: &str| text.parse().map_err(|_| format!("\"{text}\" is no number"));
        self.row(number(key)?, name, number(parent)?)
    }

    /// # Errors
    /// Rows are missing, or there twice.
    pub fn end(self) -> Result<(), String> {
        let all = u128::from(self.rows) * (u128::from(self.rows) + 1) / 2;
        if (self.seen, self.sum) == (self.rows, all) {
            return Ok(());
        }
        Err(format!("{} words instead of {}", self.seen, self.rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_makes_the_same_words() {
        let folder = tempfile::tempdir().unwrap();
        let options = versodb::Options::new();
        let database = versodb::Database::create(folder.path().join("w.verso"), options).unwrap();
        let mut connection = database.connect().unwrap();
        connection.execute(CREATE).unwrap();
        connection.execute(&insert(1_000)).unwrap();
        let mut comparison = Comparison::new(1_000);
        for row in connection.query("SELECT * FROM word_dictionary").unwrap() {
            let (key, name, parent) =
                (row.get(0).unwrap(), row.get::<String>(1).unwrap(), row.get(2).unwrap());
            comparison.row(key, &name, parent).unwrap();
        }
        comparison.end().unwrap();
        assert!(Comparison::new(5).row(2, &word(3), 0).is_err());
        assert!(Comparison::new(5).row(6, &word(6), 0).is_err());
        assert!(Comparison::new(5).end().is_err());
        assert!(Comparison::new(5).texts(&["2", &word(2), "0"]).is_ok());
        assert!(Comparison::new(5).texts(&["2", &word(2)]).is_err());
        assert!(Comparison::new(5).texts(&["2", &word(2), "x"]).is_err());
    }
}
