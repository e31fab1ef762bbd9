//! Both inputs of a join in parts, and which of them is under way.

use std::sync::Arc;

use verso_types::{Batch, SqlType};

use crate::error::Result;
use crate::exec::{ExecContext, key, keys};
use crate::expr::ExprList;
use crate::memory::Reservation;
use crate::plan::JoinKind;
use crate::spill::{Partitions, Run, RunReader, SpillFile, TempSpace, partition_of};

/// Times that a part is cut again.
const LEVELS: u32 = 8;

/// One input, cut into parts by the hashes of its keys.
pub(super) struct Part {
    parts: Partitions,
    level: u32,
    keys: Batch,
    encoded: Vec<u8>,
    rows: Vec<(u32, usize)>,
}

impl Part {
    /// No rows yet, of these types and keys.
    pub fn new(
        space: &Arc<TempSpace>,
        types: &[SqlType],
        keys: &ExprList,
        cx: &ExecContext<'_>,
    ) -> Result<Part> {
        Ok(Part {
            parts: Partitions::new(space, types, cx.services.memory.work_bytes / 4)?,
            level: 0,
            keys: Batch::of_types(keys.types()),
            encoded: Vec::new(),
            rows: Vec::new(),
        })
    }

    /// Adds rows. What has no key, or a NULL in it, stands in the first part: it has no partner.
    pub fn put_all(&mut self, cx: &ExecContext<'_>, batch: &Batch, exprs: &mut ExprList) -> Result<()> {
        self.rows.clear();
        if exprs.types().is_empty() {
            self.rows.extend((0..batch.rows as u32).map(|row| (row, 0)));
        } else {
            exprs.eval(&cx.eval(), batch, &mut self.keys)?;
            for row in 0..batch.rows {
                let mut part = 0;
                if !self.keys.columns.iter().any(|column| column.is_null(row)) {
                    self.encoded.clear();
                    key::encode(&self.keys, exprs.types(), row, &mut self.encoded);
                    part = partition_of(keys::hash(&self.encoded), self.level);
                }
                self.rows.push((row as u32, part));
            }
        }
        self.parts.push(batch, self.rows.iter().copied())
    }

    /// The keys of the rows added last.
    pub fn last_keys(&self) -> &Batch {
        &self.keys
    }
}

/// Parts that belong together.
struct Task {
    left: (Arc<SpillFile>, Run),
    right: (Arc<SpillFile>, Run),
    level: u32,
    /// The part that it was cut from was no larger.
    whole: bool,
}

/// What is under way, and what is to come.
#[derive(Default)]
pub(super) struct Tasks {
    /// The inputs are cut.
    parted: bool,
    pending: Vec<Task>,
    current: Option<Current>,
}

struct Current {
    task: Task,
    left: RunReader,
    right: RunReader,
    /// Rows of the right part that were read, and did not fit into the chunk; the last are the next.
    kept: Vec<Batch>,
    /// Chunks begun.
    chunks: u32,
    /// Over all chunks, per left row, whether it has had a partner. Made when a second chunk is needed.
    matched: Vec<bool>,
    held: Option<Reservation>,
    /// Left rows read in this chunk.
    row: usize,
}

impl Current {
    /// Whether the chunk that is built, or built already, is the last one.
    fn is_last(&self) -> bool {
        self.kept.is_empty()
    }
}

impl Tasks {
    /// Adds the parts of both inputs.
    pub fn add(&mut self, left: Part, right: Part, of_rows: u64, kind: JoinKind) -> Result<()> {
        self.parted = true;
        let level = left.level;
        let ((left_file, left), (right_file, right)) = (left.parts.finish()?, right.parts.finish()?);
        let (left_file, right_file) = (Arc::new(left_file), Arc::new(right_file));
        for (left, right) in left.into_iter().zip(right) {
            let wanted = match kind {
                JoinKind::Inner => left.rows > 0 && right.rows > 0,
                JoinKind::Left => left.rows > 0,
                JoinKind::Right => right.rows > 0,
                JoinKind::Full => left.rows > 0 || right.rows > 0,
            };
            if wanted {
                let whole = right.rows == of_rows;
                let (left, right) = ((Arc::clone(&left_file), left), (Arc::clone(&right_file), right));
                self.pending.push(Task { left, right, level, whole });
            }
        }
        Ok(())
    }

    /// Whether the inputs are cut into parts.
    pub fn is_parted(&self) -> bool {
        self.parted
    }

    /// Begins the next chunk of the part under way, or the next part; false if there is none.
    pub fn next_chunk(&mut self) -> Result<bool> {
        match &mut self.current {
            Some(current) if !current.is_last() => {
                current.left = RunReader::default();
                current.chunks += 1;
                current.row = 0;
            }
            current => {
                let Some(task) = self.pending.pop() else {
                    *current = None;
                    return Ok(false);
                };
                *current = Some(Current {
                    task,
                    left: RunReader::default(),
                    right: RunReader::default(),
                    kept: Vec::new(),
                    chunks: 1,
                    matched: Vec::new(),
                    held: None,
                    row: 0,
                });
            }
        }
        Ok(true)
    }

    /// The next right rows of the chunk.
    pub fn read_right(&mut self, out: &mut Batch) -> Result<bool> {
        let Some(current) = &mut self.current else { return Ok(false) };
        if let Some(kept) = current.kept.pop() {
            *out = kept;
            return Ok(true);
        }
        current.right.next(&current.task.right.0, &current.task.right.1, out)
    }

    /// These rows come next, in this chunk or the one after it.
    pub fn put_back(&mut self, batch: Batch) {
        if let Some(current) = &mut self.current {
            current.kept.push(batch);
        }
    }

    /// The chunk is full, and not the last one: what becomes of left rows is known later.
    pub fn chunk_is_full(&mut self, cx: &ExecContext<'_>, kind: JoinKind) -> Result<()> {
        if let Some(current) = &mut self.current
            && kind.pads_right()
            && current.matched.is_empty()
        {
            let rows = current.task.left.1.rows;
            let mut held = cx.services.memory.account.reserve("a join", u64::MAX);
            held.resize(rows)?;
            current.matched = vec![false; rows as usize];
            current.held = Some(held);
        }
        Ok(())
    }

    /// Whether cutting the part once more may help; not once a chunk of it has been joined.
    pub fn may_cut(&self) -> bool {
        self.current
            .as_ref()
            .is_some_and(|current| current.chunks == 1 && current.task.level < LEVELS && !current.task.whole)
    }

    /// The next left rows of the part.
    pub fn read_left(&mut self, out: &mut Batch) -> Result<bool> {
        let Some(current) = &mut self.current else { return Ok(false) };
        current.left.next(&current.task.left.0, &current.task.left.1, out)
    }

    /// Adds to what is known of a batch of left rows what earlier chunks have found. Whether that is all there will be.
    pub fn note_matched(&mut self, matched: &mut [bool]) -> bool {
        let Some(current) = &mut self.current else { return true };
        if current.chunks == 1 && current.is_last() {
            return true;
        }
        let known = current.matched[current.row..].iter_mut();
        for (known, now) in known.zip(matched.iter_mut()) {
            *known |= *now;
            *now = *known;
        }
        current.row += matched.len();
        current.is_last()
    }
}

/// Cuts the part under way once more.
pub(super) fn cut(
    cx: &ExecContext<'_>,
    tasks: &mut Tasks,
    (left_types, right_types): (&[SqlType], &[SqlType]),
    (left_keys, right_keys): (&mut ExprList, &mut ExprList),
    kind: JoinKind,
) -> Result<()> {
    let Some(Current { task, .. }) = tasks.current.take() else { return Ok(()) };
    let Some(space) = cx.services.memory.temporary else { return Ok(()) };
    let level = task.level + 1;
    let rows = task.right.1.rows;
    let all = |of: &(Arc<SpillFile>, Run), types: &[SqlType], keys: &mut ExprList| -> Result<Part> {
        let mut part = Part { level, ..Part::new(space, types, keys, cx)? };
        let mut batch = Batch::of_types(types);
        let mut reader = RunReader::default();
        while reader.next(&of.0, &of.1, &mut batch)? {
            cx.check_cancelled()?;
            part.put_all(cx, &batch, keys)?;
        }
        Ok(part)
    };
    let left = all(&task.left, left_types, left_keys)?;
    let right = all(&task.right, right_types, right_keys)?;
    tasks.add(left, right, rows, kind)
}
