//! The statistics block after a statement (`\stat on`, `SET STAT ON`) and its elapsed time (`\timing on`).

use std::fmt::Write;

use super::format::{Cell, Table};

/// What a statement cost, in the units printed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Bytes of memory of the process beyond the pool's resident frames.
    pub current_memory_bytes: u64,
    /// How that changed during the statement.
    pub delta_memory_bytes: i64,
    /// The most there was after any statement of the session.
    pub max_memory_bytes: u64,
    /// Wall time.
    pub elapsed_nanos: u64,
    /// Frames of the buffer pool.
    pub buffers: u64,
    /// Pages read from disk.
    pub reads: u64,
    /// Pages written to disk.
    pub writes: u64,
    /// Pages asked of the buffer pool.
    pub fetches: u64,
    /// Bytes appended to the log.
    pub redo_bytes: u64,
    /// Waits for the disk, locks, a share of the machine.
    pub waits: u64,
    /// How long they took together.
    pub wait_nanos: u64,
    /// Commits of all sessions.
    pub commits: u64,
    /// Commits that one flush made durable, on average.
    pub group_size: f64,
    /// Calls of fsync for the log.
    pub fsyncs: u64,
    /// How long one took, on average.
    pub fsync_nanos: u64,
}

impl Figures {
    /// One line for each figure.
    pub fn block(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "Current memory = {}", self.current_memory_bytes);
        let _ = writeln!(out, "Delta memory = {}", self.delta_memory_bytes);
        let _ = writeln!(out, "Max memory = {}", self.max_memory_bytes);
        let _ = writeln!(out, "Elapsed time = {:.3} sec", self.elapsed_nanos as f64 / 1e9);
        let _ = writeln!(out, "Buffers = {}", self.buffers);
        let _ = writeln!(out, "Reads = {}", self.reads);
        let _ = writeln!(out, "Writes = {}", self.writes);
        let _ = writeln!(out, "Fetches = {}", self.fetches);
        let _ = writeln!(out, "Redo = {}", self.redo_bytes);
        let _ = writeln!(out, "Waits = {} ({:.3} sec)", self.waits, self.wait_nanos as f64 / 1e9);
        let _ = writeln!(out, "Commits = {} ({:.1} per flush)", self.commits, self.group_size);
        let _ = writeln!(out, "Fsyncs = {} ({:.3} ms each)", self.fsyncs, self.fsync_nanos as f64 / 1e6);
        out
    }
}

/// What `\stat tables` asks before and after a statement.
pub const TABLE_FIGURES: &str = "SELECT pg_catalog.quote_ident(schemaname) || '.' || pg_catalog.quote_ident(relname), n_tup_ins, n_tup_upd, n_tup_del \
     FROM pg_catalog.pg_stat_user_tables ORDER BY 1";

/// The block of `\stat tables`: rows that a statement has added, changed and deleted, of each table where there are some. Empty
/// where there are none.
pub fn table_block(before: &Table, after: &Table) -> String {
    let number = |cell: &Cell| cell.as_deref().and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
    let known = |name: &Cell| before.rows.iter().find(|row| row.first() == Some(name));
    let changed = |row: &Vec<Cell>| {
        let name = row.first()?;
        let since = |column: usize| {
            let then = known(name).and_then(|row| row.get(column)).map_or(0, number);
            row.get(column).map_or(0, number) - then
        };
        let counts = [1, 2, 3].map(since);
        // What was set back meanwhile tells nothing.
        let tells = counts.iter().any(|count| *count > 0) && counts.iter().all(|count| *count >= 0);
        tells.then(|| (name.clone().unwrap_or_default(), counts))
    };
    let changed: Vec<_> = after.rows.iter().filter_map(changed).collect();
    let width = changed.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max("Table".len());
    let mut out = String::new();
    if !changed.is_empty() {
        let _ = writeln!(out, "{:width$} {:>10} {:>10} {:>10}", "Table", "Inserts", "Updates", "Deletes");
    }
    for (name, [inserted, updated, deleted]) in changed {
        let _ = writeln!(out, "{name:width$} {inserted:>10} {updated:>10} {deleted:>10}");
    }
    out
}

/// `Time: 12.345 ms`, with minutes and hours for what takes longer than a second, as psql has it.
pub fn elapsed_line(nanos: u64) -> String {
    let ms = nanos as f64 / 1e6;
    if ms < 1000.0 {
        return format!("Time: {ms:.3} ms\n");
    }
    let seconds = ms / 1000.0;
    let (minutes, rest) = ((seconds / 60.0).floor(), seconds % 60.0);
    if minutes < 60.0 {
        return format!("Time: {ms:.3} ms ({:02}:{rest:06.3})\n", minutes as u64);
    }
    let (hours, minutes) = ((minutes / 60.0).floor(), minutes % 60.0);
    format!("Time: {ms:.3} ms ({:02}:{:02}:{rest:06.3})\n", hours as u64, minutes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_names_every_figure() {
        let figures = Figures {
            current_memory_bytes: 30_000_000,
            delta_memory_bytes: -4096,
            max_memory_bytes: 31_000_000,
            elapsed_nanos: 16_400_000,
            buffers: 131_072,
            reads: 1,
            writes: 2,
            fetches: 3,
            redo_bytes: 4,
            waits: 5,
            wait_nanos: 12_000_000,
            commits: 6,
            group_size: 1.5,
            fsyncs: 4,
            fsync_nanos: 1_250_000,
        };
        assert_eq!(
            figures.block(),
            "Current memory = 30000000\nDelta memory = -4096\nMax memory = 31000000\nElapsed time = 0.016 sec\n\
             Buffers = 131072\nReads = 1\nWrites = 2\nFetches = 3\nRedo = 4\nWaits = 5 (0.012 sec)\n\
             Commits = 6 (1.5 per flush)\nFsyncs = 4 (1.250 ms each)\n"
        );
    }

    #[test]
    fn tables_are_shown_that_have_changed() {
        let table = |rows: &[[&str; 4]]| Table {
            rows: rows.iter().map(|row| row.iter().map(|cell| Some((*cell).to_owned())).collect()).collect(),
            ..Table::default()
        };
        let before = table(&[["a.orders", "5", "1", "0"], ["a.t", "1", "1", "1"]]);
        let after = table(&[["a.n", "2", "0", "0"], ["a.orders", "5", "1", "3"], ["a.t", "1", "1", "1"]]);
        let block = "Table       Inserts    Updates    Deletes\na.n               2          0          0\na.orders          0          0          3\n";
        assert_eq!(table_block(&before, &after), block);
        assert_eq!(table_block(&after, &after), "");
    }

    #[test]
    fn elapsed_times_as_psql() {
        assert_eq!(elapsed_line(73_000), "Time: 0.073 ms\n");
        assert_eq!(elapsed_line(1_002_003_000), "Time: 1002.003 ms (00:01.002)\n");
        assert_eq!(elapsed_line(61_500_000_000), "Time: 61500.000 ms (01:01.500)\n");
        assert_eq!(elapsed_line(3_661_500_000_000), "Time: 3661500.000 ms (01:01:01.500)\n");
    }
}
