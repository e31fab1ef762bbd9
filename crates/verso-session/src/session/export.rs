//! BACKUP DATABASE TO STDOUT.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_parser::syntax::LogicalBackup;
use verso_planner::errors::{SqlError, sqlstate};

use super::Session;
use crate::client::{CommandTag, CopyLayout, Notice, StatementSink};
use crate::export::{Export, Found, PipeReader, pipe};

impl Session {
    /// BACKUP DATABASE TO STDOUT.
    pub(crate) fn export(
        &mut self,
        wanted: &LogicalBackup,
        sink: &mut dyn StatementSink,
    ) -> Result<CommandTag, SqlError> {
        self.check_backup()?;
        let instance = Arc::clone(&self.services.instance);
        let exporter = instance.member.cluster.exporter().ok_or_else(|| {
            SqlError::unsupported("BACKUP DATABASE TO STDOUT here")
                .with_hint("A program that embeds the database makes backups with the crate verso-backup.")
        })?;
        let workers = self.services.workers_of(wanted.parallel, true);
        let wanted = LogicalBackup { parallel: Some(workers), ..wanted.clone() };
        let (writer, reader) = pipe();
        let export = exporter.start(&instance, &wanted, self.services.info.number, writer)?;
        let sent = self.hand_on(reader, sink, &*export);
        if sent.is_err() {
            export.cancel();
        }
        for text in export.notices() {
            self.services.notices.tell(Notice::message(text));
        }
        let ended = export.end();
        sent?;
        let rows = ended?;
        // Before the data ends, as some clients do not listen any more behind it.
        self.services.send_notices(sink)?;
        sink.copy_done()?;
        Ok(CommandTag { text: "BACKUP".to_owned(), rows })
    }

    /// Sends what comes through the pipe, to its end; the first error is the one that counts.
    fn hand_on(
        &self,
        reader: PipeReader,
        sink: &mut dyn StatementSink,
        export: &dyn Export,
    ) -> Result<(), SqlError> {
        let cancelled = self.services.info.cancel_flag();
        sink.copy_out(CopyLayout { binary: true, columns: 0 })?;
        loop {
            match reader.next() {
                Found::Piece(piece) => sink.copy_data(&piece)?,
                Found::Nothing => {}
                Found::End => return Ok(()),
            }
            if cancelled.load(Ordering::Relaxed) {
                export.cancel();
                let text = "canceling statement due to user request";
                return Err(SqlError::new(sqlstate::QUERY_CANCELED, text));
            }
        }
    }
}
