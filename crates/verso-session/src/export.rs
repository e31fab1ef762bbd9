//! Logical backups that a session hands to its client: `BACKUP DATABASE TO STDOUT`.
//!
//! ```text
//! session ─ asks ─► Exporter ─► sessions and workers of its own ─ pieces ─► Pipe ─► session ─► client
//! ```
//!
//! The session does not know how an archive is made: the program that serves the database says who does. The pipe is short,
//! so whoever writes waits for the client.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use verso_env::sync::{Condvar, Mutex};
use verso_parser::syntax::LogicalBackup;
use verso_planner::errors::SqlError;

use crate::instance::Instance;

/// Pieces that wait for the client at most.
const PIECES: usize = 8;
/// Bytes of a piece at most: of a message to the client.
const PIECE_BYTES: usize = 1 << 18;
/// How often a cancel is looked for where nothing comes.
const LOOKS: Duration = Duration::from_millis(50);

/// Makes logical backups of databases.
pub trait Exporter: Send + Sync {
    /// Begins one for a statement of `session`, which writes into `pipe` and ends by itself.
    ///
    /// # Errors
    /// What is asked for is not possible.
    fn start(
        &self,
        instance: &Arc<Instance>,
        wanted: &LogicalBackup,
        session: u64,
        pipe: PipeWriter,
    ) -> Result<Box<dyn Export>, SqlError>;
}

/// A backup under way.
pub trait Export: Send {
    /// Ends it early.
    fn cancel(&self);
    /// What it has to say of what it leaves out, once it has written everything.
    fn notices(&self) -> Vec<String>;
    /// Waits for its end; how many rows were written.
    ///
    /// # Errors
    /// Why it failed.
    fn end(self: Box<Self>) -> Result<u64, SqlError>;
}

#[derive(Default)]
struct State {
    pieces: VecDeque<Vec<u8>>,
    /// Nothing more is written.
    written: bool,
    /// Nobody reads any more.
    left: bool,
}

#[derive(Default)]
struct Pipe {
    state: Mutex<State>,
    changed: Condvar,
}

/// The end of a pipe that is written to; dropping it says that everything was.
pub struct PipeWriter {
    pipe: Arc<Pipe>,
    piece: Vec<u8>,
}

impl std::fmt::Debug for PipeWriter {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("PipeWriter").finish_non_exhaustive()
    }
}

/// The end that is read; dropping it ends whoever writes.
pub(crate) struct PipeReader(Arc<Pipe>);

/// A pipe.
pub(crate) fn pipe() -> (PipeWriter, PipeReader) {
    let pipe = Arc::<Pipe>::default();
    (PipeWriter { pipe: Arc::clone(&pipe), piece: Vec::new() }, PipeReader(pipe))
}

impl io::Write for PipeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(PIECE_BYTES - self.piece.len());
        self.piece.extend_from_slice(&bytes[..count]);
        if self.piece.len() == PIECE_BYTES {
            self.flush()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let mut state = self.pipe.state.lock();
        while state.pieces.len() >= PIECES && !state.left {
            self.pipe.changed.wait(&mut state);
        }
        if state.left {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "nobody takes the backup any more"));
        }
        state.pieces.push_back(std::mem::take(&mut self.piece));
        self.pipe.changed.notify_all();
        Ok(())
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        // Whoever read it has left, then.
        let _ = io::Write::flush(self);
        self.pipe.state.lock().written = true;
        self.pipe.changed.notify_all();
    }
}

/// What a reader finds.
pub(crate) enum Found {
    /// What comes next.
    Piece(Vec<u8>),
    /// Nothing yet.
    Nothing,
    /// It is at its end.
    End,
}

impl PipeReader {
    /// The next piece; waits a little for it.
    pub fn next(&self) -> Found {
        let mut state = self.0.state.lock();
        if state.pieces.is_empty() && !state.written {
            self.0.changed.wait_for(&mut state, LOOKS);
        }
        let found = match state.pieces.pop_front() {
            Some(piece) => Found::Piece(piece),
            None if state.written => Found::End,
            None => Found::Nothing,
        };
        self.0.changed.notify_all();
        found
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.left = true;
        state.pieces.clear();
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_pipe_hands_on_everything_in_order_and_ends() {
        let (mut writer, reader) = pipe();
        let bytes: Vec<u8> = (0..PIECE_BYTES * 3 + 17).map(|at| at as u8).collect();
        writer.write_all(&bytes).unwrap();
        drop(writer);
        let mut read = Vec::new();
        while let Found::Piece(piece) = reader.next() {
            assert!(piece.len() <= PIECE_BYTES);
            read.extend_from_slice(&piece);
        }
        assert!(read == bytes && matches!(reader.next(), Found::End));
    }

    #[test]
    fn a_writer_learns_that_nobody_reads() {
        let (mut writer, reader) = pipe();
        writer.write_all(&[1; 10]).unwrap();
        assert!(matches!(reader.next(), Found::Nothing));
        drop(reader);
        assert_eq!(writer.flush().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
