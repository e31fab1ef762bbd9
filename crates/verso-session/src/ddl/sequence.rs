//! CREATE SEQUENCE, and the bounds of sequences.

use verso_catalog::{CatalogError, NewSequence, SequenceBounds, SequenceRequest};

use super::Schema;
use crate::client::CommandTag;
use crate::client::tag;
use crate::failure::Failure;
use verso_parser::syntax::CreateSequence;
use verso_planner::errors::sqlstate;

/// The bounds of a sequence as CREATE SEQUENCE or an identity column gives them.
pub(super) fn bounds(create: &CreateSequence) -> Result<SequenceBounds, CatalogError> {
    let CreateSequence { name: _, if_not_exists: _, ty, start, increment, min, max, cycle, temporary: _ } =
        create;
    let request = SequenceRequest {
        ty: Some(ty.clone()),
        start: *start,
        increment: *increment,
        min: *min,
        max: *max,
        cycle: *cycle,
    };
    request.resolve()
}

impl Schema<'_> {
    /// CREATE SEQUENCE.
    pub(super) fn create_sequence(&self, create: &CreateSequence) -> Result<CommandTag, Failure> {
        let new = NewSequence {
            schema: Some(if create.temporary {
                self.temporary_place(&create.name)?
            } else {
                self.place(&create.name)?
            }),
            name: create.name.name.text.as_str().into(),
            bounds: bounds(create)?,
            owned_by: None,
        };
        let catalog = &self.frame.services.instance.catalog;
        if catalog.create_sequence(&mut self.frame.txn.borrow_mut(), &new, create.if_not_exists)?.is_none() {
            let text = format!("relation \"{}\" already exists, skipping", create.name.name.text);
            self.skip_known(sqlstate::DUPLICATE_TABLE, text);
        }
        Ok(tag("CREATE SEQUENCE"))
    }
}
