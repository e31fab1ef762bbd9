//! Held portals: rows that were set aside, handed out in portions.

use std::sync::Arc;

use parking_lot::Mutex;
use verso_exec::exec::Use;
use verso_exec::spill::Spool;
use verso_types::Batch;

use super::lifetime::Lives;
use super::{PortalEnd, State};
use crate::client::{CommandTag, OutputColumn, StatementSink};
use verso_planner::errors::SqlError;

/// Rows to be handed out.
#[derive(Debug)]
pub(crate) struct Held {
    columns: Arc<[OutputColumn]>,
    /// Rows before the others, cut off from what was handed out.
    front: Option<Batch>,
    rows: Box<Spool>,
    /// Of a statement that changes something.
    tag: Option<CommandTag>,
    /// Behind the last row this happens: it went wrong when the rows were set aside.
    failed: Option<Box<SqlError>>,
    pub(crate) lives: Lives,
    /// The tables that its query uses, though its rows are here.
    pub(crate) used: Option<Use>,
}

impl Held {
    /// Rows of these columns; the tag is that of a statement that changes something.
    pub(crate) fn new(
        columns: Arc<[OutputColumn]>,
        (front, rows): (Option<Batch>, Spool),
        tag: Option<CommandTag>,
        lives: Lives,
    ) -> Held {
        Held { columns, front, rows: Box::new(rows), tag, failed: None, lives, used: None }
    }

    /// The same with an error behind the last row.
    pub(crate) fn failing(self, failed: Option<SqlError>) -> Held {
        Held { failed: failed.map(Box::new), ..self }
    }

    /// The same of a query that uses tables until it is closed.
    pub(crate) fn using(self, used: Option<Use>) -> Held {
        Held { used, ..self }
    }

    /// Whether its rows are all there.
    ///
    /// # Errors
    /// What went wrong behind the last of them.
    pub(crate) fn check(&mut self) -> Result<(), SqlError> {
        self.failed.take().map_or(Ok(()), |failed| Err(*failed))
    }

    /// Hands out up to `max_rows` rows; what is left is the portal's state again. As in PostgreSQL the tag counts the rows
    /// of this portion, whatever the statement.
    pub(crate) fn hand_out(
        mut self,
        state: &Mutex<State>,
        max_rows: u64,
        sink: &mut dyn StatementSink,
    ) -> Result<PortalEnd, SqlError> {
        sink.begin(&self.columns)?;
        let (ended, count) = self.send(max_rows, sink)?;
        if !ended {
            *state.lock() = State::Held(self);
            return Ok(PortalEnd::Suspended);
        }
        *state.lock() = State::Done;
        let word =
            self.tag.as_ref().map_or("SELECT", |tag| tag.text.trim_end_matches(|c: char| c.is_ascii_digit()));
        Ok(PortalEnd::Complete(CommandTag::counted(word.trim_end(), count)))
    }

    /// Sends up to `max_rows` rows, 0 means all; whether there are no more, and how many went.
    fn send(&mut self, max_rows: u64, sink: &mut dyn StatementSink) -> Result<(bool, u64), SqlError> {
        let mut left = if max_rows == 0 { u64::MAX } else { max_rows };
        let mut count = 0;
        let mut next = Batch::default();
        loop {
            let mut batch = match self.front.take() {
                Some(batch) => batch,
                None if self.rows.next(&mut next)? => std::mem::take(&mut next),
                None => return self.check().map(|()| (true, count)),
            };
            self.front = cut(&mut batch, left);
            left -= batch.rows as u64;
            count += batch.rows as u64;
            sink.batch(&batch)?;
            if left == 0 {
                return Ok((false, count));
            }
        }
    }
}

/// Cuts a batch behind so many rows; what is cut off, if anything.
pub(crate) fn cut(batch: &mut Batch, rows: u64) -> Option<Batch> {
    if batch.rows as u64 <= rows {
        return None;
    }
    let rest: Vec<u32> = (rows as u32..batch.rows as u32).collect();
    let rest = batch.gather(&rest);
    batch.truncate(rows as usize);
    Some(rest)
}
