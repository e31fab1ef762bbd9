//! What an archive says of itself: the definitions of all objects, and its table of contents.

use serde::{Deserialize, Serialize};

use super::{HEAD_BYTES, u32_at};

/// The definitions of all objects, as JSON in the first frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Definitions {
    /// The version of Verso that wrote it.
    pub verso: String,
    /// A number that no other archive has, as text; empty in those of versions that gave them none.
    #[serde(default)]
    pub id: String,
    /// Bytes of a page of the database.
    pub page_bytes: u32,
    /// Does it hold the objects?
    pub schema: bool,
    /// Does it hold the rows?
    pub data: bool,
    /// The search path of the database, as SET takes it: what is run may call functions whose bodies mean something along it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search_path: Option<String>,
    /// What is run before the rows are there.
    pub before: Vec<Step>,
    /// The tables whose rows it holds; chunks name them by their place here.
    pub tables: Vec<TableOf>,
    /// What is run when they are.
    pub after: Vec<Step>,
}

/// A statement that makes an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// What it makes.
    pub kind: Kind,
    /// The table that it belongs to, if it belongs to one: schema and name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<(String, String)>,
    /// Another table that it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<(String, String)>,
    /// The statement.
    pub sql: String,
}

/// What a statement makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Role,
    Schema,
    Type,
    Sequence,
    Function,
    Table,
    Default,
    /// The numbers that sequences have reached.
    Value,
    Key,
    Index,
    View,
    ForeignKey,
    Trigger,
    Comment,
    Setting,
    /// Memberships, owners, rights, policies, settings of roles.
    Rights,
}

/// A table whose rows are in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TableOf {
    pub schema: String,
    pub name: String,
    pub columns: Vec<ColumnOf>,
}

/// A column of such a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ColumnOf {
    pub name: String,
    /// Its type, as SQL spells it.
    #[serde(rename = "type")]
    pub ty: String,
    /// The layout of its values.
    pub layout: u8,
    pub not_null: bool,
    /// Nothing but its expression sets it.
    pub generated: bool,
    /// Do its values name objects? They are the texts of their names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    /// The labels of its enum type, and what its values hold for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<LabelOf>,
}

/// A label of an enum type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LabelOf {
    pub name: String,
    pub place: i64,
}

/// A line of the table of contents: a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Where its frame begins.
    pub at: u64,
    /// Bytes of its frame.
    pub bytes: u32,
    /// The checksum of what it holds.
    pub checksum: u32,
    /// The table's place.
    pub table: u32,
    /// How many rows.
    pub rows: u32,
}

/// Bytes of a line.
const LINE_BYTES: usize = 24;

/// The lines as bytes, behind the checksum of the definitions.
pub(crate) fn encode(definitions: u32, lines: &[Line]) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 + lines.len() * LINE_BYTES);
    out.extend_from_slice(&definitions.to_le_bytes());
    for line in lines {
        out.extend_from_slice(&line.at.to_le_bytes());
        for number in [line.bytes, line.checksum, line.table, line.rows] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
    out
}

/// Reads what [`encode`] wrote.
///
/// # Errors
/// What is wrong with the bytes.
pub(crate) fn decode(bytes: &[u8]) -> Result<(u32, Vec<Line>), String> {
    let (definitions, lines) = bytes.split_at_checked(4).ok_or("it is too short")?;
    if lines.len() % LINE_BYTES != 0 {
        return Err("it has half a line".to_owned());
    }
    let line = |line: &[u8]| Line {
        at: u64::from(u32_at(line, 0)) | u64::from(u32_at(line, 4)) << 32,
        bytes: u32_at(line, 8),
        checksum: u32_at(line, 12),
        table: u32_at(line, 16),
        rows: u32_at(line, 20),
    };
    Ok((u32_at(definitions, 0), lines.chunks_exact(LINE_BYTES).map(line).collect()))
}

/// Bytes of a frame that holds so many.
pub(crate) fn frame_bytes(stored: u32) -> u32 {
    stored.saturating_add(HEAD_BYTES as u32)
}
