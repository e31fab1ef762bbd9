//! From the library to the screen: results become tables, errors and notices reports, statistics figures.

use std::io::{Read, Write};

use verso_types::{Batch, TimeStyle, format_text};
use versodb::{CommandTag, CopyLayout, Error, Notice, OutputColumn, StatementSink, StatementStatistics};

use super::figures::Figures;
use super::format::{Cell, Column, Format, Kind, Layout, Table, html_escaped};
use super::input::{Input, Line};
use super::output::Output;
use super::pager::print_table;
use super::progress::Handle;
use super::report::Said;
use super::variables::Verbosity;

/// Bytes of a file that COPY gets at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Where the data of COPY FROM STDIN come from.
pub enum Source<'s> {
    /// There are none.
    Nothing,
    /// The lines behind the statement, up to `\.`.
    Lines(&'s mut dyn Input),
    /// A file, all of it.
    File(Box<dyn Read>),
}

impl<'s> Source<'s> {
    /// The same for a shorter time: an input may live longer than its loan to one statement.
    pub fn lent<'l>(self) -> Source<'l>
    where
        's: 'l,
    {
        match self {
            Source::Nothing => Source::Nothing,
            Source::Lines(input) => Source::Lines(input),
            Source::File(file) => Source::File(file),
        }
    }
}

/// How results and notices are shown.
#[derive(Clone, Copy)]
pub struct Shown<'s> {
    /// The form of tables.
    pub layout: &'s Layout,
    /// No tags.
    pub quiet: bool,
    /// How much of errors and notices.
    pub verbosity: Verbosity,
    /// `file:line` of the statement in a script.
    pub place: Option<&'s str>,
    /// What is run.
    pub statement: &'s str,
}

/// Collects the result of each statement, and prints it when it is complete or keeps it.
pub struct ResultSink<'s, 'w> {
    output: &'s mut Output<'w>,
    shown: Shown<'s>,
    time_zone: TimeStyle,
    columns: Vec<OutputColumn>,
    table: Option<Table>,
    /// Results are kept here instead of printed.
    kept: Option<Vec<Table>>,
    source: Source<'s>,
    /// Where the data of COPY TO STDOUT go instead of the output.
    copy_to: Option<Box<dyn Write>>,
    /// Data of COPY TO STDOUT were printed, so that its tag is not.
    is_copied: bool,
    /// Lines of data are still to come.
    in_data: bool,
    /// Lines of data read.
    lines: u64,
    /// The tag of the last statement.
    tag: String,
    /// The bar of a statement that takes long; it goes before anything is printed.
    bar: Option<Handle>,
}

impl<'s, 'w> ResultSink<'s, 'w> {
    /// Prints to `output`.
    pub fn new(output: &'s mut Output<'w>, shown: Shown<'s>, time_zone: TimeStyle) -> ResultSink<'s, 'w> {
        ResultSink {
            output,
            shown,
            time_zone,
            columns: Vec::new(),
            table: None,
            kept: None,
            source: Source::Nothing,
            copy_to: None,
            is_copied: false,
            in_data: false,
            lines: 0,
            tag: String::new(),
            bar: None,
        }
    }

    /// The bar that goes before anything is printed.
    pub fn when_it_prints(&mut self, bar: Handle) {
        self.bar = Some(bar);
    }

    fn clear_bar(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.clear();
        }
    }

    /// Where data for and from COPY are, and whether results are kept.
    pub fn with(
        mut self,
        source: Source<'s>,
        copy_to: Option<Box<dyn Write>>,
        keep: bool,
    ) -> ResultSink<'s, 'w> {
        self.source = source;
        self.copy_to = copy_to;
        self.kept = keep.then(Vec::new);
        self
    }

    /// A result begins.
    pub fn begin_table(&mut self, columns: Vec<Column>) {
        self.table = Some(Table { columns, ..Table::default() });
    }

    /// A row of it, as texts.
    pub fn push_row(&mut self, values: Vec<Cell>) {
        if let Some(table) = &mut self.table {
            table.rows.push(values);
        }
    }

    /// A statement is done: its result is printed, or its tag.
    pub fn complete_as(&mut self, tag: &str) {
        self.clear_bar();
        self.tag = tag.to_owned();
        let changes = ["INSERT", "UPDATE", "DELETE", "MERGE"].iter().any(|verb| tag.starts_with(verb));
        let silent = match (self.table.take(), &mut self.kept) {
            (Some(table), Some(kept)) => {
                kept.push(table);
                !changes
            }
            (Some(table), None) => {
                print_table(self.output, self.shown.layout, &table);
                !changes
            }
            // The tag of COPY does not stand among its data.
            (None, _) => {
                let is_copied = std::mem::take(&mut self.is_copied);
                if is_copied && self.output.is_once() && !self.shown.quiet {
                    self.output.say(&format!("{tag}\n"));
                }
                is_copied
            }
        };
        if !silent && !self.shown.quiet {
            let text = match self.shown.layout.format {
                Format::Html => format!("<p>{}</p>\n", html_escaped(tag)),
                _ => format!("{tag}\n"),
            };
            self.output.print(&text);
        }
    }

    /// A notice.
    pub fn say(&mut self, said: &Said) {
        self.clear_bar();
        let Shown { statement, place, verbosity, .. } = self.shown;
        self.output.complain(&said.render(statement, place, verbosity));
    }

    /// A message of NOTIFY.
    pub fn notified(&mut self, channel: &str, payload: &str, process: i32) {
        let with = match payload {
            "" => String::new(),
            payload => format!(" with payload \"{payload}\""),
        };
        let text = format!(
            "Asynchronous notification \"{channel}\"{with} received from server process with PID {process}.\n"
        );
        self.output.print(&text);
    }

    /// Data of COPY TO STDOUT.
    ///
    /// # Errors
    /// The file does not take them.
    pub fn copied(&mut self, data: &[u8]) -> std::io::Result<()> {
        match &mut self.copy_to {
            Some(file) => file.write_all(data),
            None => {
                self.clear_bar();
                self.is_copied = true;
                self.output.write(data);
                Ok(())
            }
        }
    }

    /// COPY FROM STDIN begins.
    ///
    /// # Errors
    /// There are no data for it.
    pub fn begin_data(&mut self, binary: bool) -> Result<(), String> {
        match (&mut self.source, binary) {
            (Source::Nothing, _) => {
                Err("the data of COPY FROM STDIN stand behind the statement in a script".to_owned())
            }
            (Source::Lines(_), true) => Err("data in binary format come from a file: \\copy".to_owned()),
            (Source::Lines(input), false) => {
                if input.is_terminal() && !self.shown.quiet {
                    self.output.say(
                        "Enter data to be copied followed by a newline.\n\
                         End with a backslash and a period on a line by itself, or an EOF signal.\n",
                    );
                    self.output.flush();
                }
                self.in_data = true;
                Ok(())
            }
            (Source::File(_), _) => {
                self.in_data = true;
                Ok(())
            }
        }
    }

    /// The next data of COPY FROM STDIN; false at their end.
    ///
    /// # Errors
    /// Why there are none.
    pub fn next_data(&mut self, into: &mut Vec<u8>) -> Result<bool, String> {
        self.copy_read(into).map_err(|error| error.message)
    }

    /// Passes over data that the statement has left, as it has failed; what is known at the end.
    pub fn finish(mut self) -> Finished {
        let mut ignored = Vec::new();
        while matches!(self.source, Source::Lines(_)) && self.in_data && self.copy_read(&mut ignored).is_ok()
        {
            ignored.clear();
        }
        let flushed = self.copy_to.as_mut().map_or(Ok(()), |file| file.flush());
        Finished { lines: self.lines, kept: self.kept.unwrap_or_default(), tag: self.tag, flushed }
    }
}

/// What is left of a statement.
pub struct Finished {
    /// Lines of the input that were data.
    pub lines: u64,
    /// Results that were kept.
    pub kept: Vec<Table>,
    /// The last tag.
    pub tag: String,
    /// Whether all data of COPY have reached their file.
    pub flushed: std::io::Result<()>,
}

impl StatementSink for ResultSink<'_, '_> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), Error> {
        self.columns = columns.to_vec();
        self.begin_table(headings(columns));
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), Error> {
        let Some(table) = &mut self.table else { return Ok(()) };
        push_batch(table, &self.columns, batch, &self.time_zone);
        Ok(())
    }

    fn complete(&mut self, tag: &CommandTag) -> Result<(), Error> {
        self.complete_as(&tag.text);
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) -> Result<(), Error> {
        let said = Said {
            severity: notice.severity.to_owned(),
            sqlstate: notice.sqlstate.to_string(),
            message: notice.message.clone(),
            detail: notice.detail.clone(),
            hint: notice.hint.clone(),
            ..Said::default()
        };
        self.say(&said);
        Ok(())
    }

    fn time_zone(&mut self, time_zone: &TimeStyle) {
        self.time_zone = time_zone.clone();
    }

    fn copy_out(&mut self, layout: CopyLayout) -> Result<(), Error> {
        match layout.binary && self.copy_to.is_none() && self.output.is_screen() {
            true => Err(Error::unsupported("COPY TO STDOUT in binary format at a terminal")),
            false => Ok(()),
        }
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<(), Error> {
        self.copied(data).map_err(|error| Error::new("58030", super::output::cause(&error)))
    }

    fn copy_in(&mut self, layout: CopyLayout) -> Result<(), Error> {
        self.begin_data(layout.binary).map_err(|message| Error::new("0A000", message))
    }

    fn copy_read(&mut self, into: &mut Vec<u8>) -> Result<bool, Error> {
        if !self.in_data {
            return Ok(false);
        }
        let failed = |error: std::io::Error| Error::new("58030", super::output::cause(&error));
        let line = match &mut self.source {
            Source::Nothing => return Ok(false),
            Source::File(file) => {
                let count = file.take(PIECE_BYTES as u64).read_to_end(into).map_err(failed)?;
                self.in_data = count > 0;
                return Ok(self.in_data);
            }
            Source::Lines(input) => input.data_line().map_err(failed)?,
        };
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

/// The columns of a result.
pub fn headings(columns: &[OutputColumn]) -> Vec<Column> {
    let column =
        |column: &OutputColumn| Column { title: column.name.to_string(), kind: kind_of(column.ty.pg_oid()) };
    columns.iter().map(column).collect()
}

/// Appends rows to a table, as texts.
pub fn push_batch(table: &mut Table, columns: &[OutputColumn], batch: &Batch, time_zone: &TimeStyle) {
    for row in 0..batch.rows {
        let values = columns.iter().zip(&batch.columns).map(|(column, values)| {
            let value = values.value(row, &column.ty);
            if value.is_null() {
                return None;
            }
            let mut text = String::new();
            format_text(&value, &column.ty, time_zone, &mut text);
            Some(text)
        });
        table.rows.push(values.collect());
    }
}

/// What the values of a type are to the formats: psql aligns these types to the right.
pub fn kind_of(oid: u32) -> Kind {
    match oid {
        // int8, int2, int4, oid, xid, cid, float4, float8, money, numeric, xid8
        20 | 21 | 23 | 26 | 28 | 29 | 700 | 701 | 790 | 1700 | 5069 => Kind::Number,
        16 => Kind::Bool,
        114 | 3802 => Kind::Json,
        _ => Kind::Text,
    }
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
        commits: statistics.commits,
        group_size: statistics.group_size(),
        fsyncs: statistics.fsyncs,
        fsync_nanos: statistics.fsync_mean_nanos(),
    }
}
