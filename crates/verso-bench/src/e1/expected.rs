//! What every value of the table must be: a formula of the row's number and the committed passes.

/// A row as an engine gave it back; `cnt` never changes and numbers the rows from 1.
#[derive(Clone, Copy, Debug)]
pub struct FoundRow<'a> {
    /// Column `cnt`.
    pub cnt: i64,
    /// Column `id`: exact up to 2⁵³, far beyond any run.
    pub id: f64,
    /// Column `qrt`.
    pub qrt: f64,
    /// Column `name`.
    pub name: &'a str,
    /// Column `description`.
    pub description: &'a str,
    /// Column `notes`.
    pub notes: &'a [u8],
    /// Whether `ts_change` differs from `ts_create`.
    pub changed: bool,
}

/// Takes all rows of a table and finds what is wrong with them.
#[derive(Debug)]
pub struct Checker {
    rows: u64,
    passes: u32,
    suffix: String,
    seen: Vec<bool>,
    flaw: Option<String>,
}

impl Checker {
    /// A table of `rows` rows that `passes` committed passes went over.
    pub fn new(rows: u64, passes: u32) -> Checker {
        let suffix = "1".repeat(passes as usize);
        Checker { rows, passes, suffix, seen: vec![false; rows as usize], flaw: None }
    }

    /// The sum of `qrt`: exact as long as it stays below 2⁵², because every value is a multiple of a half.
    pub fn sum_qrt(rows: u64, passes: u32) -> f64 {
        (rows * (rows + 1) / 2) as f64 * 0.5 + rows as f64 * f64::from(passes)
    }

    /// Compares one row; the first flaw is kept.
    pub fn row(&mut self, row: &FoundRow<'_>) {
        if self.flaw.is_none() {
            self.flaw = self.flaw_of(row);
        }
    }

    fn flaw_of(&mut self, row: &FoundRow<'_>) -> Option<String> {
        let number = row.cnt;
        let Some(seen) = usize::try_from(number - 1).ok().and_then(|at| self.seen.get_mut(at)) else {
            return Some(format!("a row {number} that was never inserted"));
        };
        if std::mem::replace(seen, true) {
            return Some(format!("row {number} is there twice"));
        }
        let passes = f64::from(self.passes);
        let (id, qrt) = (number as f64 + passes, number as f64 * 0.5 + passes);
        let name = row.name.strip_prefix("name ").and_then(|rest| rest.strip_suffix(&*self.suffix));
        let is_number = |text: Option<&str>| text.and_then(|text| text.parse().ok()) == Some(number);
        let notes = std::str::from_utf8(row.notes).ok();
        let flaw = |column: &str, found: String| Some(format!("row {number}, {column}: found {found}"));
        if row.id != id {
            flaw("id", format!("{}, expected {id}", row.id))
        } else if row.qrt != qrt {
            flaw("qrt", format!("{}, expected {qrt}", row.qrt))
        } else if !is_number(name) {
            flaw("name", format!("{:?}, expected \"name {number}{}\"", row.name, self.suffix))
        } else if !is_number(row.description.strip_prefix("description of record ")) {
            flaw("description", format!("{:?}", row.description))
        } else if !is_number(notes.and_then(|notes| notes.strip_prefix("notes of record "))) {
            flaw("notes", format!("{:?}", String::from_utf8_lossy(row.notes)))
        } else if row.changed != (self.passes > 0) {
            flaw("ts_change", format!("changed = {}, expected {}", row.changed, self.passes > 0))
        } else {
            None
        }
    }

    /// The verdict, once all rows were seen.
    pub fn finish(self) -> Result<(), String> {
        match (self.flaw, self.seen.iter().position(|seen| !seen)) {
            (Some(flaw), _) => Err(flaw),
            (None, Some(missing)) => Err(format!("row {} of {} is missing", missing + 1, self.rows)),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: FoundRow<'static> = FoundRow {
        cnt: 2,
        id: 4.0,
        qrt: 3.0,
        name: "name 211",
        description: "description of record 2",
        notes: b"notes of record 2",
        changed: true,
    };
    const FIRST: FoundRow<'static> = FoundRow {
        cnt: 1,
        id: 3.0,
        qrt: 2.5,
        name: "name 111",
        description: "description of record 1",
        notes: b"notes of record 1",
        changed: true,
    };

    fn verdict(rows: &[FoundRow<'_>]) -> Result<(), String> {
        let mut checker = Checker::new(2, 2);
        rows.iter().for_each(|row| checker.row(row));
        checker.finish()
    }

    #[test]
    fn the_right_rows_in_any_order_pass() {
        assert_eq!(verdict(&[GOOD, FIRST]), Ok(()));
    }

    #[test]
    fn every_wrong_value_is_found() {
        for wrong in [
            FoundRow { id: 5.0, ..GOOD },
            FoundRow { qrt: 3.5, ..GOOD },
            FoundRow { name: "name 21", ..GOOD },
            FoundRow { description: "description of record 3", ..GOOD },
            FoundRow { notes: b"\xff", ..GOOD },
            FoundRow { changed: false, ..GOOD },
            FoundRow { cnt: 3, ..GOOD },
            FIRST,
        ] {
            assert!(verdict(&[FIRST, wrong]).is_err(), "{wrong:?}");
        }
        assert_eq!(verdict(&[GOOD]), Err("row 1 of 2 is missing".to_owned()));
    }

    #[test]
    fn the_sum_is_that_of_the_rows() {
        let sum: f64 = (1..=1000).map(|n| f64::from(n) * 0.5 + 3.0).sum();
        assert_eq!(Checker::sum_qrt(1000, 3), sum);
    }
}
