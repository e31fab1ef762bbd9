//! Sorted runs as one: by ranges of keys, so that several workers merge at a time.

use super::losers::{ENDED, Losers, code_of};
use super::run::{FileRun, RunReader};
use crate::StorageError;
use crate::index::entries::{Entries, RECORD};

/// Entries in memory that are touched at a time.
pub(in crate::index) const AHEAD: usize = 32;

/// Runs that make up all entries of an index.
pub(in crate::index) struct Runs {
    pub memory: Vec<Entries>,
    pub files: Vec<FileRun>,
}

impl Runs {
    /// Entries, and their bytes.
    pub fn size(&self) -> (u64, u64) {
        let memory = self.memory.iter().map(|run| (run.len() as u64, run.total_bytes() as u64));
        let files = self.files.iter().map(|run| (run.count, run.bytes));
        memory.chain(files).fold((0, 0), |sum, run| (sum.0 + run.0, sum.1 + run.1))
    }

    /// Keys that cut the entries into as many parts of about equal size as are wanted, or fewer. No key is cut, and no part
    /// is empty: each holds the sample that its bound was made of, the first one a lesser one.
    pub fn bounds(&self, parts: usize) -> Vec<Vec<u8>> {
        if parts < 2 {
            return Vec::new();
        }
        let mut samples: Vec<(&[u8], u64)> = Vec::new();
        for run in self.memory.iter().filter(|run| !run.is_empty()) {
            let count = run.len().min(parts * 64);
            let weight = (run.total_bytes() / count) as u64;
            samples.extend((0..count).map(|at| (run.entry(at * run.len() / count), weight)));
        }
        for run in &self.files {
            samples.extend(run.firsts());
        }
        samples.sort_unstable();
        let total: u64 = samples.iter().map(|(_, weight)| weight).sum();
        let key = |entry: &[u8]| entry[..entry.len().saturating_sub(RECORD)].to_vec();
        let Some((first, _)) = samples.first() else { return Vec::new() };
        let mut last = key(first);
        let (mut bounds, mut before) = (Vec::new(), 0);
        for (entry, weight) in &samples {
            let wanted = total * (bounds.len() as u64 + 1) / parts as u64;
            if before >= wanted && bounds.len() + 1 < parts {
                let bound = key(entry);
                if bound > last {
                    last.clone_from(&bound);
                    bounds.push(bound);
                }
            }
            before += weight;
        }
        bounds
    }

    /// The entries from `low` on, up to `high`.
    pub fn merge<'r>(&'r self, low: &[u8], high: Option<&'r [u8]>) -> Result<Merge<'r>, StorageError> {
        let mut sources = Vec::new();
        for entries in &self.memory {
            let at = entries.place_of(low);
            let end = high.map_or(entries.len(), |high| entries.place_of(high));
            sources.push(Source::Memory { entries, at, end });
        }
        for run in &self.files {
            sources.push(Source::File(RunReader::new(run, low, high)?));
        }
        sources.retain(|source| source.current().is_some());
        let codes = sources.iter().map(|source| code_of(source.entry(), &[]));
        let losers = Losers::new(codes, |source| sources[source].entry());
        Ok(Merge { sources, losers })
    }
}

enum Source<'r> {
    Memory { entries: &'r Entries, at: usize, end: usize },
    File(RunReader<'r>),
}

impl Source<'_> {
    #[inline]
    fn current(&self) -> Option<(&[u8], bool)> {
        match self {
            Source::Memory { entries, at, end } => {
                (at < end).then(|| (entries.entry(*at), entries.is_free(*at)))
            }
            Source::File(reader) => reader.current(),
        }
    }

    #[inline]
    fn entry(&self) -> &[u8] {
        self.current().map_or(&[], |(entry, _)| entry)
    }

    /// Goes on, and tells the code of the next entry, of this one as the base.
    #[inline]
    fn advance(&mut self) -> Result<u64, StorageError> {
        match self {
            Source::Memory { entries, at, end } => {
                *at += 1;
                if at.is_multiple_of(AHEAD) {
                    entries.touch(*at..(*at + AHEAD).min(*end));
                }
                Ok(if at < end { code_of(entries.entry(*at), entries.entry(*at - 1)) } else { ENDED })
            }
            Source::File(reader) => reader.advance(),
        }
    }
}

/// Entries of several runs in order.
pub(in crate::index) struct Merge<'r> {
    sources: Vec<Source<'r>>,
    losers: Losers,
}

impl Merge<'_> {
    /// The least entry that is left, and whether equal keys are allowed.
    #[inline]
    pub fn current(&self) -> Option<(&[u8], bool)> {
        self.losers.winner().and_then(|source| self.sources[source].current())
    }

    /// Goes on.
    ///
    /// # Errors
    /// `Io`.
    #[inline]
    pub fn advance(&mut self) -> Result<(), StorageError> {
        let Some(source) = self.losers.winner() else { return Ok(()) };
        let code = self.sources[source].advance()?;
        self.losers.replace(code, |source| self.sources[source].entry());
        Ok(())
    }
}
