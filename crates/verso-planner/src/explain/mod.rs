//! Bound statements as text, for EXPLAIN, in PostgreSQL's shape.
//!
//! ```text
//! plan ─tree─► nodes with estimates and measures ─► lines, or one document as JSON, YAML, XML
//! ```
//!
//! Projections and conditions that are operators here are shown as part of the operator below them, as in PostgreSQL.
//!
//! | module | what it is |
//! |---|---|
//! | [`tree`] | operators, statements and scans as nodes |
//! | [`node`] | nodes as text and as documents |
//! | `document` | documents as JSON, YAML and XML |
//! | [`expression`] | expressions within them |

mod document;
mod expression;
mod node;
mod tree;

pub use node::{Node, Shown};
pub use tree::Tree;

use document::Document;
use verso_exec::plan::{Plan, Statement, TypedExpr};

/// What stands below a plan.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Settings that are not what they are by default, if asked for.
    pub settings: Option<Vec<(String, String)>>,
    /// The number of the statement, if asked for.
    pub query_id: Option<i64>,
    /// What it took to put the rows into the protocol's form, if asked for.
    pub serialization: Option<Serialization>,
    /// Bytes of the plan, if asked for: see [`bytes_of`].
    pub planning_bytes: Option<u64>,
    /// Nanoseconds of planning.
    pub planning_nanos: Option<u64>,
    /// Nanoseconds of the run.
    pub execution_nanos: Option<u64>,
}

/// Rows in the protocol's form.
#[derive(Clone, Copy, Debug)]
pub struct Serialization {
    /// Nanoseconds that it took, if time is measured.
    pub nanos: Option<u64>,
    /// How long all of it is.
    pub bytes: u64,
    /// The binary form?
    pub binary: bool,
}

impl Serialization {
    fn format(&self) -> &'static str {
        if self.binary { "binary" } else { "text" }
    }
}

/// The memory that the operators and expressions of a statement take: what planning leaves behind.
#[must_use]
pub fn bytes_of(statement: &Statement) -> u64 {
    let mut bytes = size_of::<Statement>();
    statement.for_each_plan(&mut |plan| {
        plan.any(&mut |part| {
            bytes += size_of::<Plan>();
            for expr in part.exprs() {
                expr.any(&mut |_| {
                    bytes += size_of::<TypedExpr>();
                    false
                });
            }
            false
        });
    });
    bytes as u64
}

/// A plan as lines.
#[must_use]
pub fn text(node: &Node, shown: Shown, summary: &Summary) -> Vec<String> {
    let mut lines = node.lines(shown);
    if let Some(settings) = summary.settings.as_ref().filter(|settings| !settings.is_empty()) {
        let all: Vec<String> = settings.iter().map(|(name, value)| format!("{name} = '{value}'")).collect();
        lines.push(format!("Settings: {}", all.join(", ")));
    }
    lines.extend(summary.query_id.map(|id| format!("Query Identifier: {id}")));
    if let Some(kilobytes) = summary.planning_bytes.map(|bytes| bytes.div_ceil(1024)) {
        lines.push("Planning:".to_string());
        lines.push(format!("  Memory: used={kilobytes}kB  allocated={kilobytes}kB"));
    }
    let milliseconds = |what: &str, nanos: u64| format!("{what} Time: {:.3} ms", nanos as f64 / 1e6);
    lines.extend(summary.planning_nanos.map(|nanos| milliseconds("Planning", nanos)));
    lines.extend(summary.serialization.map(|done| {
        let time = done.nanos.map_or(String::new(), |nanos| format!("time={:.3} ms  ", nanos as f64 / 1e6));
        format!("Serialization: {time}output={}kB  format={}", done.bytes.div_ceil(1024), done.format())
    }));
    lines.extend(summary.execution_nanos.map(|nanos| milliseconds("Execution", nanos)));
    lines
}

/// A plan as JSON.
#[must_use]
pub fn json(node: &Node, shown: Shown, summary: &Summary) -> String {
    let mut out = String::new();
    Document::List(vec![document(node, shown, summary)]).json(&mut out, 0);
    out
}

/// A plan as YAML.
#[must_use]
pub fn yaml(node: &Node, shown: Shown, summary: &Summary) -> String {
    let mut out = String::new();
    Document::List(vec![document(node, shown, summary)]).yaml(&mut out, 0);
    out
}

/// A plan as XML.
#[must_use]
pub fn xml(node: &Node, shown: Shown, summary: &Summary) -> String {
    let mut out = "<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n  ".to_string();
    document(node, shown, summary).xml(&mut out, "Query", 2);
    out.push_str("\n</explain>");
    out
}

fn document(node: &Node, shown: Shown, summary: &Summary) -> Document {
    let mut fields = vec![("Plan".to_string(), node.document(shown))];
    if let Some(settings) = &summary.settings {
        let settings = settings.iter().map(|(name, value)| (name.clone(), Document::Text(value.clone())));
        fields.push(("Settings".to_string(), Document::Object(settings.collect())));
    }
    if let Some(id) = summary.query_id {
        fields.push(("Query Identifier".to_string(), Document::Number(id.to_string())));
    }
    if let Some(kilobytes) = summary.planning_bytes.map(|bytes| bytes.div_ceil(1024)) {
        let field = |key: &str| (key.to_string(), Document::Number(kilobytes.to_string()));
        let memory = vec![field("Memory Used"), field("Memory Allocated")];
        fields.push(("Planning".to_string(), Document::Object(memory)));
    }
    let milliseconds = |nanos: u64| Document::Number(format!("{:.3}", nanos as f64 / 1e6));
    if let Some(nanos) = summary.planning_nanos {
        fields.push(("Planning Time".to_string(), milliseconds(nanos)));
    }
    if let Some(done) = summary.serialization {
        let time = done.nanos.map(|nanos| ("Time".to_string(), milliseconds(nanos)));
        let volume = ("Output Volume".to_string(), Document::Number(done.bytes.div_ceil(1024).to_string()));
        let format = ("Format".to_string(), Document::Text(done.format().to_string()));
        let all = time.into_iter().chain([volume, format]).collect();
        fields.push(("Serialization".to_string(), Document::Object(all)));
    }
    if let Some(nanos) = summary.execution_nanos {
        fields.push(("Execution Time".to_string(), milliseconds(nanos)));
    }
    Document::Object(fields)
}
