//! From the library to the screen: results become tables, errors and notices reports, statistics figures.

use verso_types::{Batch, TimeStyle, format_text};
use versodb::{CommandTag, CopyLayout, Error, Notice, OutputColumn, StatementSink, StatementStatistics};

use crate::shell::figures::Figures;
use crate::shell::input::{Input, Line};
use crate::shell::output::Output;
use crate::shell::report::Report;
use crate::shell::table::{Table, TableColumn};

/// Collects the result of each statement and prints it when it is complete.
pub struct ResultSink<'s, 'w> {
    output: &'s mut Output<'w>,
    expanded: bool,
    place: Option<&'s str>,
    statement: &'s str,
    time_zone: TimeStyle,
    columns: Vec<OutputColumn>,
    table: Option<Table>,
    /// Where the data of COPY FROM STDIN come from: the lines behind the statement.
    data: Option<&'s mut dyn Input>,
    /// Lines of data are still to come.
    in_data: bool,
    /// Lines of data read.
    lines: u64,
}

impl<'s, 'w> ResultSink<'s, 'w> {
    /// Prints to `output`; `place` and `statement` are for notices.
    pub fn new(
        output: &'s mut Output<'w>,
        expanded: bool,
        place: Option<&'s str>,
        statement: &'s str,
        time_zone: TimeStyle,
    ) -> ResultSink<'s, 'w> {
        ResultSink {
            output,
            expanded,
            place,
            statement,
            time_zone,
            columns: Vec::new(),
            table: None,
            data: None,
            in_data: false,
            lines: 0,
        }
    }

    /// The lines behind the statement are the data of COPY FROM STDIN, up to `\.`.
    pub fn with_data(mut self, input: Option<&'s mut dyn Input>) -> ResultSink<'s, 'w> {
        self.data = input;
        self
    }

    /// A result begins.
    pub fn begin_table(&mut self, columns: Vec<TableColumn>) {
        self.table = Some(Table { columns, ..Table::default() });
    }

    /// A row of it, as texts.
    pub fn push_row(&mut self, values: Vec<String>) {
        if let Some(table) = &mut self.table {
            table.rows.push(values);
        }
    }

    /// A statement is done: its result is printed, or its tag.
    pub fn complete_as(&mut self, tag: &str) {
        match self.table.take() {
            Some(table) if self.expanded => self.output.print(&table.expanded()),
            Some(table) => self.output.print(&table.aligned()),
            None => self.output.print(&format!("{tag}\n")),
        }
    }

    /// A notice.
    pub fn say(&mut self, report: &Report<'_>) {
        self.output.complain(&report.render(self.statement, self.place));
    }

    /// Data of COPY TO STDOUT.
    pub fn copied(&mut self, data: &[u8]) {
        self.output.print(&String::from_utf8_lossy(data));
    }

    /// The next data of COPY FROM STDIN; false at their end.
    ///
    /// # Errors
    /// Why there are none.
    pub fn next_data(&mut self, into: &mut Vec<u8>) -> Result<bool, String> {
        if self.data.is_none() {
            return Err("the data of COPY FROM STDIN stand behind the statement in a script".to_owned());
        }
        if !std::mem::replace(&mut self.in_data, true) {
            self.lines = 0;
        }
        self.copy_read(into).map_err(|error| error.message)
    }

    /// Passes over data that the statement has left, as it has failed; how many lines of data there were.
    pub fn finish_data(mut self) -> u64 {
        let mut ignored = Vec::new();
        while self.in_data && self.copy_read(&mut ignored).is_ok() {
            ignored.clear();
        }
        self.lines
    }
}

impl StatementSink for ResultSink<'_, '_> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), Error> {
        let headings = columns
            .iter()
            .map(|column| TableColumn { title: column.name.to_string(), right: column.ty.is_number() })
            .collect();
        self.columns = columns.to_vec();
        self.begin_table(headings);
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
        self.complete_as(&tag.text);
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
        self.say(&report);
        Ok(())
    }

    fn copy_out(&mut self, layout: CopyLayout) -> Result<(), Error> {
        if layout.binary { Err(Error::unsupported("COPY TO STDOUT in binary format here")) } else { Ok(()) }
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<(), Error> {
        self.copied(data);
        Ok(())
    }

    fn copy_in(&mut self, layout: CopyLayout) -> Result<(), Error> {
        if layout.binary || self.data.is_none() {
            return Err(Error::unsupported("COPY FROM STDIN in binary format, or without a script, here"));
        }
        self.in_data = true;
        Ok(())
    }

    fn copy_read(&mut self, into: &mut Vec<u8>) -> Result<bool, Error> {
        let Some(input) = self.data.as_mut().filter(|_| self.in_data) else { return Ok(false) };
        let line = input.line(">> ").map_err(|error| Error::new("58030", error.to_string()))?;
        self.lines += 1;
        match line {
            Line::Text(text) if text != "\\." => {
                into.extend_from_slice(text.as_bytes());
                into.push(b'\n');
                Ok(true)
            }
            Line::Text(_) | Line::End => {
                self.in_data = false;
                Ok(false)
            }
            Line::Interrupted => {
                self.in_data = false;
                Err(Error::new("57014", "canceling statement due to user request"))
            }
        }
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
        waits: statistics.waits,
        wait_nanos: statistics.wait_nanos,
    }
}
