//! From the library to the screen: results become tables, errors and notices reports, statistics figures.

use verso_types::{Batch, TimeZone, format_text};
use versodb::{CommandTag, Error, Notice, OutputColumn, StatementSink, StatementStatistics};

use crate::shell::figures::Figures;
use crate::shell::output::Output;
use crate::shell::report::Report;
use crate::shell::table::{Table, TableColumn};

/// Collects the result of each statement and prints it when it is complete.
pub struct ResultSink<'s, 'w> {
    output: &'s mut Output<'w>,
    expanded: bool,
    place: Option<&'s str>,
    statement: &'s str,
    time_zone: TimeZone,
    columns: Vec<OutputColumn>,
    table: Option<Table>,
}

impl<'s, 'w> ResultSink<'s, 'w> {
    /// Prints to `output`; `place` and `statement` are for notices.
    pub fn new(
        output: &'s mut Output<'w>,
        expanded: bool,
        place: Option<&'s str>,
        statement: &'s str,
        time_zone: TimeZone,
    ) -> ResultSink<'s, 'w> {
        ResultSink { output, expanded, place, statement, time_zone, columns: Vec::new(), table: None }
    }
}

impl StatementSink for ResultSink<'_, '_> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), Error> {
        let headings = columns
            .iter()
            .map(|column| TableColumn { title: column.name.to_string(), right: column.ty.is_number() })
            .collect();
        self.columns = columns.to_vec();
        self.table = Some(Table { columns: headings, ..Table::default() });
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), Error> {
        let Some(table) = &mut self.table else { return Ok(()) };
        for row in 0..batch.rows {
            let values = self.columns.iter().zip(&batch.columns).map(|(column, values)| {
                let mut text = String::new();
                let value = values.value(row, &column.ty);
                if !value.is_null() {
                    format_text(&value, &column.ty, &self.time_zone, &mut text);
                }
                text
            });
            table.rows.push(values.collect());
        }
        Ok(())
    }

    fn complete(&mut self, tag: &CommandTag) -> Result<(), Error> {
        match self.table.take() {
            Some(table) if self.expanded => self.output.print(&table.expanded()),
            Some(table) => self.output.print(&table.aligned()),
            None => self.output.print(&format!("{}\n", tag.text)),
        }
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) -> Result<(), Error> {
        let report = Report {
            severity: notice.severity,
            sqlstate: &notice.sqlstate,
            message: &notice.message,
            detail: notice.detail.as_deref(),
            hint: notice.hint.as_deref(),
            ..Report::default()
        };
        self.output.complain(&report.render(self.statement, self.place));
        Ok(())
    }
}

/// An error of the library as it is printed.
pub fn report_of(error: &Error) -> Report<'_> {
    Report {
        severity: "ERROR",
        sqlstate: error.sqlstate,
        message: &error.message,
        detail: error.detail.as_deref(),
        hint: error.hint.as_deref(),
        context: error.context.as_deref(),
        position: error.position,
    }
}

/// An error on one line, for messages of the shell itself.
pub fn one_line(error: &Error) -> String {
    let mut text = format!("{}: {}", error.sqlstate, error.message);
    for more in [&error.detail, &error.hint].into_iter().flatten() {
        text.push_str(&format!(" ({more})"));
    }
    text
}

/// Whether the database can do nothing more: it was closed under the session.
pub fn is_lost(error: &Error) -> bool {
    error.sqlstate == "57P01"
}

/// The figures of the statement before.
pub fn figures_of(statistics: &StatementStatistics) -> Figures {
    Figures {
        current_memory_bytes: statistics.memory_current_bytes,
        delta_memory_bytes: statistics.memory_delta_bytes,
        max_memory_bytes: statistics.memory_max_bytes,
        elapsed_nanos: statistics.elapsed_nanos,
        buffers: statistics.buffers,
        reads: statistics.reads,
        writes: statistics.writes,
        fetches: statistics.fetches,
        redo_bytes: statistics.redo_bytes,
    }
}
