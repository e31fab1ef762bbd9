//! CREATE SEQUENCE, and the bounds of sequences.

use std::sync::Arc;

use verso_catalog::{CatalogError, NewSequence, Object, SequenceBounds, SequenceRequest};

use super::{Schema, text};
use crate::client::CommandTag;
use crate::client::tag;
use crate::failure::Failure;
use verso_parser::syntax::{CreateSequence, Name, QualifiedName};
use verso_planner::errors::{SqlError, sqlstate};

/// The bounds of a sequence as CREATE SEQUENCE or an identity column gives them.
pub(super) fn bounds(create: &CreateSequence) -> Result<SequenceBounds, CatalogError> {
    let CreateSequence { name: _, if_not_exists: _, ty, start, increment, min, max, cycle, .. } = create;
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
            owned_by: create
                .owned_by
                .as_ref()
                .map(|owner| self.owner_of_sequence(create, owner))
                .transpose()?,
        };
        let catalog = &self.frame.services.instance.catalog;
        let made = catalog.create_sequence(&mut self.frame.txn.borrow_mut(), &new, create.if_not_exists)?;
        match made {
            Some(oid) => self.made(Object::Relation(oid), new.schema.as_deref())?,
            None => {
                let text = format!("relation \"{}\" already exists, skipping", create.name.name.text);
                self.skip_known(sqlstate::DUPLICATE_TABLE, text);
            }
        }
        Ok(tag("CREATE SEQUENCE"))
    }

    /// The table and the column that own a new sequence; they are in the schema that it is made in.
    fn owner_of_sequence(
        &self,
        create: &CreateSequence,
        (table, column): &(QualifiedName, Name),
    ) -> Result<(Arc<str>, Arc<str>), Failure> {
        let home = self.home(table);
        let place =
            if create.temporary { self.temporary_place(&create.name)? } else { self.place(&create.name)? };
        if home != place {
            let message = "sequence must be in same schema as table it is linked to";
            return Err(SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message).into());
        }
        Ok((text(&table.name), text(column)))
    }
}
