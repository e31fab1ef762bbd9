//! A plan as a tree of what is shown of it, apart from how it is written.

use verso_exec::exec::Measured;

use super::document::Document;
use crate::cost::Known;

/// An operator as EXPLAIN shows it.
#[derive(Debug, Default)]
pub struct Node {
    /// The first line of the text, without numbers: `Index Scan using i on t`.
    pub(super) title: String,
    /// What the title says, by the names of PostgreSQL's documents.
    pub(super) head: Vec<(&'static str, Field)>,
    /// What belongs to it.
    pub(super) details: Vec<(&'static str, Field)>,
    /// What it is expected to do, and the bytes of a row.
    pub(super) expected: Option<(Known, f64)>,
    /// What it has done; none where it is not measured.
    pub(super) actual: Option<Measured>,
    /// What it is to the operator above: `Outer`, `SubPlan`.
    pub(super) relationship: Option<&'static str>,
    /// What stands above it: `SubPlan 1`, `CTE x`.
    pub(super) label: Option<String>,
    /// Its inputs, and the queries in its expressions.
    pub(super) children: Vec<Node>,
}

/// A value of an operator.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Field {
    Text(String),
    List(Vec<String>),
    Count(u64),
    /// How rows were sorted, and how much that took.
    Sorted {
        method: &'static str,
        bytes: u64,
        on_disk: bool,
    },
}

impl From<&str> for Field {
    fn from(text: &str) -> Field {
        Field::Text(text.to_string())
    }
}

/// Which numbers are shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Estimates.
    pub costs: bool,
    /// The statement was run.
    pub analyze: bool,
    /// Times.
    pub timing: bool,
    /// Pages.
    pub buffers: bool,
    /// Log.
    pub wal: bool,
    /// Memory and temporary files.
    pub memory: bool,
}

impl Node {
    /// Says what the statement as a whole has done, which stands at its topmost operator where that is a change.
    pub fn measure(&mut self, whole: Measured) {
        self.actual.get_or_insert(whole);
    }

    /// Says of a sort in memory that it kept only the rows that the LIMIT above it lets through.
    pub(super) fn keeps_the_first(&mut self) {
        for (_, value) in &mut self.details {
            if let Field::Sorted { method, on_disk: false, .. } = value {
                *method = "top-N heapsort";
            }
        }
    }

    /// The lines of PostgreSQL's text format.
    #[must_use]
    pub fn lines(&self, shown: Shown) -> Vec<String> {
        let mut lines = Vec::new();
        self.write(&mut lines, 0, shown);
        lines
    }

    fn write(&self, lines: &mut Vec<String>, mut indent: usize, shown: Shown) {
        // As deep as the plan, which was walked on this stack before.
        if verso_env::stack::check().is_err() {
            return lines.push(format!("{}…", " ".repeat(indent)));
        }
        if let Some(label) = &self.label {
            lines.push(format!("{}{label}", " ".repeat(indent)));
            indent += 2;
        }
        let arrow = if indent > 0 { "->  " } else { "" };
        lines.push(format!("{}{arrow}{}{}", " ".repeat(indent), self.title, self.numbers(shown)));
        indent += if indent > 0 { 6 } else { 2 };
        let pad = " ".repeat(indent);
        for (key, value) in &self.details {
            match value {
                Field::Text(text) => lines.push(format!("{pad}{key}: {text}")),
                Field::List(texts) => lines.push(format!("{pad}{key}: {}", texts.join(", "))),
                Field::Count(count) => lines.push(format!("{pad}{key}: {count}")),
                Field::Sorted { method, bytes, on_disk } => {
                    let (space, used) = (space(*on_disk), kilobytes(*bytes));
                    lines.push(format!("{pad}{key}: {method}  {space}: {used}kB"));
                }
            }
        }
        if let Some(actual) = self.actual.filter(|_| shown.analyze) {
            if actual.workers > 0 {
                lines.push(format!("{pad}Workers: {}", actual.workers));
            }
            if actual.known + actual.unknown > 0 {
                lines.push(format!("{pad}Memoize Hits: {}  Misses: {}", actual.known, actual.unknown));
            }
            if shown.memory && (actual.peak_bytes > 0 || actual.spilled_bytes > 0) {
                let disk = match actual.spilled_bytes {
                    0 => String::new(),
                    bytes => format!("  Disk Usage: {}kB", kilobytes(bytes)),
                };
                lines.push(format!("{pad}Memory Usage: {}kB{disk}", kilobytes(actual.peak_bytes)));
            }
            let (hits, reads) = (actual.work.fetches.saturating_sub(actual.work.reads), actual.work.reads);
            if shown.buffers && (hits > 0 || reads > 0) {
                let part = |word: &str, count: u64| match count {
                    0 => String::new(),
                    count => format!(" {word}={count}"),
                };
                lines.push(format!("{pad}Buffers: shared{}{}", part("hit", hits), part("read", reads)));
            }
            if shown.wal && actual.work.log_records > 0 {
                let (records, bytes) = (actual.work.log_records, actual.work.log_bytes);
                lines.push(format!("{pad}WAL: records={records} bytes={bytes}"));
            }
        }
        self.children.iter().for_each(|child| child.write(lines, indent, shown));
    }

    /// Estimates and measures behind the title.
    fn numbers(&self, shown: Shown) -> String {
        let mut text = String::new();
        if let (true, Some((known, width))) = (shown.costs, self.expected) {
            let (startup, total) = known.units();
            text.push_str(&format!(
                "  (cost={startup:.2}..{total:.2} rows={:.0} width={:.0})",
                known.rows,
                width.abs()
            ));
        }
        if let (true, Some(actual)) = (shown.analyze, self.actual) {
            if actual.loops == 0 {
                text.push_str(" (never executed)");
            } else {
                let times = match shown.timing {
                    true => {
                        let (first, all) = times(&actual);
                        format!("time={first:.3}..{all:.3} ")
                    }
                    false => String::new(),
                };
                let (rows, loops) = (actual.rows as f64 / actual.loops as f64, actual.loops);
                text.push_str(&format!(" (actual {times}rows={rows:.2} loops={loops})"));
            }
        }
        text
    }

    /// The operator as an object, with PostgreSQL's names.
    pub(super) fn document(&self, shown: Shown) -> Document {
        if verso_env::stack::check().is_err() {
            return Document::Object(Vec::new());
        }
        let mut fields: Vec<(String, Document)> = Vec::new();
        let mut add = |key: &str, value: Document| fields.push((key.to_string(), value));
        let field = |field: &Field| match field {
            Field::Text(text) => Document::Text(text.clone()),
            Field::List(texts) => Document::List(texts.iter().cloned().map(Document::Text).collect()),
            Field::Count(count) => Document::Number(count.to_string()),
            Field::Sorted { method, .. } => Document::Text((*method).to_string()),
        };
        let mut head = self.head.iter();
        if let Some((key, value)) = head.next() {
            add(key, field(value));
        }
        if let Some(relationship) = self.relationship {
            add("Parent Relationship", Document::Text(relationship.to_string()));
        }
        if let Some(label) = &self.label {
            add("Subplan Name", Document::Text(label.clone()));
        }
        head.for_each(|(key, value)| add(key, field(value)));
        if let (true, Some((known, width))) = (shown.costs, self.expected) {
            let (startup, total) = known.units();
            add("Startup Cost", Document::Number(format!("{startup:.2}")));
            add("Total Cost", Document::Number(format!("{total:.2}")));
            add("Plan Rows", Document::Number(format!("{:.0}", known.rows)));
            // An empty sum is -0.
            add("Plan Width", Document::Number(format!("{:.0}", width + 0.0)));
        }
        if let (true, Some(actual)) = (shown.analyze, self.actual) {
            let (first, all) = times(&actual);
            if shown.timing {
                add("Actual Startup Time", Document::Number(format!("{first:.3}")));
                add("Actual Total Time", Document::Number(format!("{all:.3}")));
            }
            let rows = actual.rows as f64 / actual.loops.max(1) as f64;
            add("Actual Rows", Document::Number(format!("{rows:.2}")));
            add("Actual Loops", Document::Number(actual.loops.to_string()));
        }
        for (key, value) in &self.details {
            add(key, field(value));
            if let Field::Sorted { bytes, on_disk, .. } = value {
                add("Sort Space Used", Document::Number(kilobytes(*bytes).to_string()));
                add("Sort Space Type", Document::Text(space(*on_disk).to_string()));
            }
        }
        if let (true, Some(actual)) = (shown.analyze, self.actual) {
            let mut count = |key: &str, count: u64| add(key, Document::Number(count.to_string()));
            if actual.workers > 0 {
                count("Worker Count", actual.workers.into());
            }
            if actual.known + actual.unknown > 0 {
                count("Memoize Hits", actual.known);
                count("Memoize Misses", actual.unknown);
            }
            if shown.memory {
                count("Peak Memory Usage", kilobytes(actual.peak_bytes));
                count("Disk Usage", kilobytes(actual.spilled_bytes));
            }
            if shown.wal {
                count("WAL Records", actual.work.log_records);
                count("WAL Bytes", actual.work.log_bytes);
            }
        }
        if shown.buffers {
            // Without ANALYZE nothing has been read.
            let work = self.actual.filter(|_| shown.analyze).map(|actual| actual.work).unwrap_or_default();
            add("Shared Hit Blocks", Document::Number(work.fetches.saturating_sub(work.reads).to_string()));
            add("Shared Read Blocks", Document::Number(work.reads.to_string()));
        }
        if !self.children.is_empty() {
            let children = self.children.iter().map(|child| child.document(shown)).collect();
            fields.push(("Plans".to_string(), Document::List(children)));
        }
        Document::Object(fields)
    }
}

/// Milliseconds of a loop until its first rows, and until its last.
fn times(actual: &Measured) -> (f64, f64) {
    let each = |nanos: u64| nanos as f64 / 1e6 / actual.loops.max(1) as f64;
    (each(actual.first_nanos), each(actual.nanos))
}

/// Where rows are sorted.
fn space(on_disk: bool) -> &'static str {
    if on_disk { "Disk" } else { "Memory" }
}

fn kilobytes(bytes: u64) -> u64 {
    bytes.div_ceil(1024)
}
