//! Results of nodes, and columns that are filled again and again.

use verso_types::{Column, NullMask, Physical};

use crate::functions::kernel::Operand;

/// Larger columns are not kept.
const KEEP_BYTES: usize = 1 << 20;

/// The result of a node.
pub(super) enum Vector<'a> {
    /// A column of the input.
    Borrowed(&'a Column),
    /// A column of the scratch.
    Owned(Column),
    /// One value for all rows.
    Constant(Column),
}

impl Vector<'_> {
    pub(super) fn operand(&self) -> Operand<'_> {
        match self {
            Vector::Borrowed(column) => Operand::Column(&column.data),
            Vector::Owned(column) => Operand::Column(&column.data),
            Vector::Constant(column) => Operand::Constant(&column.data),
        }
    }

    /// The column that it is, of one value where it is a constant.
    pub(super) fn column(&self) -> &Column {
        match self {
            Vector::Borrowed(column) => column,
            Vector::Owned(column) | Vector::Constant(column) => column,
        }
    }

    /// The NULLs of a column; constants have none here.
    pub(super) fn nulls(&self) -> Option<&NullMask> {
        match self {
            Vector::Borrowed(column) => Some(&column.nulls),
            Vector::Owned(column) => Some(&column.nulls),
            Vector::Constant(_) => None,
        }
    }

    pub(super) fn is_null_constant(&self) -> bool {
        matches!(self, Vector::Constant(column) if column.nulls.any())
    }
}

/// Columns to be filled again.
#[derive(Default)]
pub(crate) struct Scratch {
    free: Vec<Column>,
}

impl Scratch {
    /// An empty column.
    pub(super) fn take(&mut self, physical: Physical) -> Column {
        match self.free.iter().position(|column| column.physical() == physical) {
            Some(index) => self.free.swap_remove(index),
            None => Column::new(physical),
        }
    }

    pub(super) fn give(&mut self, mut column: Column) {
        // a handful per layout is all that an expression needs
        if self.free.len() < 32 && column.heap_bytes() <= KEEP_BYTES {
            column.clear();
            self.free.push(column);
        }
    }

    pub(super) fn drop_vector(&mut self, vector: Vector<'_>) {
        if let Vector::Owned(column) = vector {
            self.give(column);
        }
    }
}
