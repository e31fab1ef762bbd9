//! `pg_snapshot`: which transactions a statement sees, as three parts of a text: `xmin:xmax:running`.

use std::fmt;

use crate::error::TypeError;

/// Transactions below `xmin` have ended, those from `xmax` on had not begun; between them those in the list were running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The first transaction that may have been running.
    pub xmin: u64,
    /// The first one that had not begun.
    pub xmax: u64,
    /// Those between that were running, ascending.
    pub running: Vec<u64>,
}

impl Default for Snapshot {
    fn default() -> Snapshot {
        Snapshot { xmin: 1, xmax: 1, running: Vec::new() }
    }
}

impl Snapshot {
    /// The snapshot with this end and these running transactions, which come in their order.
    pub fn new(xmax: u64, running: impl IntoIterator<Item = u64>) -> Snapshot {
        let running: Vec<u64> = running.into_iter().collect();
        Snapshot { xmin: running.first().copied().unwrap_or(xmax), xmax, running }
    }

    /// Reads its text; `ty` is what an error calls it.
    /// # Errors
    /// 22P02.
    pub fn parse(text: &str, ty: &str) -> Result<Snapshot, TypeError> {
        Snapshot::read(text).ok_or_else(|| TypeError::syntax(ty, text))
    }

    fn read(text: &str) -> Option<Snapshot> {
        let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
        let mut parts = text.splitn(3, ':');
        let (xmin, xmax) = (number(parts.next()?)?, number(parts.next()?)?);
        let list = parts.next()?;
        let mut running: Vec<u64> = Vec::new();
        for part in list.split(',').filter(|_| !list.is_empty()) {
            let id = number(part)?;
            match running.last() {
                Some(last) if *last == id => {}
                Some(last) if *last > id => return None,
                _ => running.push(id),
            }
        }
        let inside = running.iter().all(|id| (xmin..xmax).contains(id));
        (xmin <= xmax && inside).then_some(Snapshot { xmin, xmax, running })
    }

    /// Whether it sees what a transaction did, if that was committed.
    pub fn sees(&self, id: u64) -> bool {
        id < self.xmin || id < self.xmax && self.running.binary_search(&id).is_err()
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:", self.xmin, self.xmax)?;
        for (n, id) in self.running.iter().enumerate() {
            write!(f, "{}{id}", if n == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}
