//! Sinks of the session's own: rows that it keeps, counts or drops instead of sending them to the client.

use std::sync::Arc;

use verso_exec::memory::Reservation;
use verso_exec::spill::Spool;
use verso_types::Batch;

use crate::client::{CommandTag, CopyLayout, Notice, OutputColumn, StatementSink};
use crate::memory::KeptMemory;
use verso_planner::errors::SqlError;

/// Keeps the rows; all else goes on to the client.
pub(crate) struct Kept<'s> {
    pub(crate) sink: &'s mut dyn StatementSink,
    pub(crate) columns: Option<Arc<[OutputColumn]>>,
    pub(crate) rows: Spool,
    memory: KeptMemory,
}

impl<'s> Kept<'s> {
    pub(crate) fn new(sink: &'s mut dyn StatementSink, memory: KeptMemory) -> Kept<'s> {
        Kept { sink, columns: None, rows: Spool::default(), memory }
    }
}

impl StatementSink for Kept<'_> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError> {
        self.columns = Some(columns.into());
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), SqlError> {
        Ok(self.rows.push(self.memory.lend(), "the rows of a portal", batch.clone())?)
    }

    fn complete(&mut self, _: &CommandTag) -> Result<(), SqlError> {
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.sink.notice(notice)
    }

    fn notice_now(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.sink.notice_now(notice)
    }

    fn copy_out(&mut self, layout: CopyLayout) -> Result<(), SqlError> {
        self.sink.copy_out(layout)
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<(), SqlError> {
        self.sink.copy_data(data)
    }

    fn copy_done(&mut self) -> Result<(), SqlError> {
        self.sink.copy_done()
    }

    fn copy_in(&mut self, layout: CopyLayout) -> Result<(), SqlError> {
        self.sink.copy_in(layout)
    }

    fn copy_read(&mut self, into: &mut Vec<u8>) -> Result<bool, SqlError> {
        self.sink.copy_read(into)
    }
}

/// Counts rows on their way.
pub(crate) struct Counted<'s> {
    pub(crate) sink: &'s mut dyn StatementSink,
    pub(crate) rows: u64,
}

impl StatementSink for Counted<'_> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError> {
        self.sink.begin(columns)
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), SqlError> {
        self.rows += batch.rows as u64;
        self.sink.batch(batch)
    }

    fn complete(&mut self, tag: &CommandTag) -> Result<(), SqlError> {
        self.sink.complete(tag)
    }

    fn notice(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.sink.notice(notice)
    }

    fn notice_now(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.sink.notice_now(notice)
    }
}

/// Keeps the rows, as far as there is room for them; messages go on to the client.
pub(crate) struct Collect<'b> {
    pub(crate) rows: &'b mut Vec<Batch>,
    pub(crate) held: &'b mut Reservation,
    pub(crate) client: &'b mut dyn StatementSink,
}

impl StatementSink for Collect<'_> {
    fn begin(&mut self, _: &[OutputColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), SqlError> {
        // Once more, as they are put together afterwards.
        self.held.add(2 * batch.heap_bytes() as u64)?;
        self.rows.push(batch.clone());
        Ok(())
    }

    fn complete(&mut self, _: &CommandTag) -> Result<(), SqlError> {
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.client.notice(notice)
    }

    fn notice_now(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.client.notice_now(notice)
    }
}

/// Rows are passed over; messages go on to the client.
pub(crate) struct PassOver<'s>(pub(crate) &'s mut dyn StatementSink);

impl StatementSink for PassOver<'_> {
    fn begin(&mut self, _: &[OutputColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn batch(&mut self, _: &Batch) -> Result<(), SqlError> {
        Ok(())
    }

    fn complete(&mut self, _: &CommandTag) -> Result<(), SqlError> {
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.0.notice(notice)
    }

    fn notice_now(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.0.notice_now(notice)
    }
}

/// A client that wants nothing.
pub(crate) struct Nowhere;

impl StatementSink for Nowhere {
    fn begin(&mut self, _: &[OutputColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn batch(&mut self, _: &Batch) -> Result<(), SqlError> {
        Ok(())
    }

    fn complete(&mut self, _: &CommandTag) -> Result<(), SqlError> {
        Ok(())
    }

    fn notice(&mut self, _: &Notice) -> Result<(), SqlError> {
        Ok(())
    }
}
