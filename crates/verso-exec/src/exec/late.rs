//! Columns of a scan that only the rows need which its conditions leave: read for those alone.
//!
//! ```text
//! first: columns of join filters ─► rows left ─► second: columns of the condition ─► rows left ─► third: all others
//! ```
//!
//! 1. It is decided after some thousands of rows, read with all columns, of which few were left: fewer where the other columns
//!    are of fixed width, as copying those of a page costs less than looking at the page again.
//! 2. The rows between two stages have the columns of the stages before; the others are empty.
//! 3. Where values are long a stage is done for the first rows only; the others wait, and go on before further rows are read.

use verso_types::Batch;

use super::tables::TableCursor;
use crate::error::Result;

/// See the module.
pub(super) struct Late {
    stages: [Vec<usize>; 3],
    /// Which of the rows that the cursor has read last are left.
    chosen: Vec<u32>,
    /// The last are the next.
    waiting: Vec<Waiting>,
}

/// Rows that are to go on at a stage.
struct Waiting {
    stage: usize,
    rows: Batch,
    chosen: Vec<u32>,
}

/// Whether reading pays, from the rows seen with all columns.
#[derive(Default)]
pub(super) struct Trial {
    seen: u64,
    kept: u64,
    decided: bool,
}

/// Rows after which it is decided.
const TRIAL: u64 = if cfg!(test) { 64 } else { 16 << 10 };
/// Of so many rows one may be left where the other columns have variable width, and of fixed width.
const PARTS: (u64, u64) = (8, 256);

impl Trial {
    /// Notes rows; whether it is time to decide, told once.
    pub fn ends(&mut self, seen: usize, kept: usize) -> bool {
        if self.decided {
            return false;
        }
        self.seen += seen as u64;
        self.kept += kept as u64;
        self.decided = self.seen >= TRIAL;
        self.decided
    }

    /// Whether it pays to read columns late, some of which may be of variable width.
    pub fn pays(&self, any_variable: bool) -> bool {
        self.kept < self.seen / if any_variable { PARTS.0 } else { PARTS.1 }
    }
}

impl Late {
    /// With columns in the stages in which they are wanted: `first` those of join filters, `second` those of conditions, of so many.
    /// None where there is nothing to be read first, or nothing later.
    pub fn new(first: Vec<usize>, second: Vec<usize>, count: usize) -> Option<Late> {
        let sorted = |mut columns: Vec<usize>| {
            columns.sort_unstable();
            columns.dedup();
            columns
        };
        let (first, mut second) = (sorted(first), sorted(second));
        second.retain(|column| !first.contains(column));
        let (first, second) = if first.is_empty() { (second, Vec::new()) } else { (first, second) };
        let third: Vec<usize> =
            (0..count).filter(|column| !first.contains(column) && !second.contains(column)).collect();
        let pays = !first.is_empty() && first.len() < count;
        pays.then(|| Late { stages: [first, second, third], chosen: Vec::new(), waiting: Vec::new() })
    }

    /// The columns that are read first.
    pub fn first(&self) -> &[usize] {
        &self.stages[0]
    }

    /// The columns that are read later.
    pub fn later(&self) -> impl Iterator<Item = usize> + '_ {
        self.stages[1..].iter().flatten().copied()
    }

    /// Whether rows wait.
    pub fn has_rows(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next rows, and the stage at which they are. None at the end.
    pub fn next(&mut self, cursor: &mut dyn TableCursor, out: &mut Batch) -> Result<Option<usize>> {
        if let Some(Waiting { stage, rows, chosen }) = self.waiting.pop() {
            (*out, self.chosen) = (rows, chosen);
            return Ok(Some(stage));
        }
        if !cursor.next(out)? {
            return Ok(None);
        }
        self.chosen.clear();
        self.chosen.extend(0..out.rows as u32);
        Ok(Some(0))
    }

    /// Keeps these of the rows, which have the columns of so many stages.
    pub fn keep(&mut self, stages: usize, selection: &[u32], out: &mut Batch) {
        if selection.len() == out.rows {
            return;
        }
        self.stages[..stages].iter().flatten().for_each(|column| out.columns[*column].filter(selection));
        out.rows = selection.len();
        for (at, row) in selection.iter().enumerate() {
            self.chosen[at] = self.chosen[*row as usize];
        }
        self.chosen.truncate(selection.len());
    }

    /// Reads the columns of a stage.
    pub fn read(&mut self, cursor: &mut dyn TableCursor, stage: usize, out: &mut Batch) -> Result<()> {
        if self.stages[stage].is_empty() || out.rows == 0 {
            return Ok(());
        }
        let done = cursor.read_late(&self.chosen, &self.stages[stage], out)?;
        if done < out.rows {
            let layouts: Vec<_> = out.columns.iter().map(|column| column.physical()).collect();
            let mut rows = Batch::new(&layouts);
            let behind: Vec<u32> = (done as u32..out.rows as u32).collect();
            let before: Vec<u32> = (0..done as u32).collect();
            for column in self.stages[..stage].iter().flatten() {
                out.columns[*column].gather_into(&behind, &mut rows.columns[*column]);
                out.columns[*column].filter(&before);
            }
            (rows.rows, out.rows) = (behind.len(), done);
            self.waiting.push(Waiting { stage, rows, chosen: self.chosen.split_off(done) });
        }
        Ok(())
    }
}
