//! CREATE SEQUENCE, ALTER SEQUENCE, and the bounds of sequences.

use std::sync::Arc;

use verso_catalog::{
    CatalogError, NewSequence, Object, SequenceBounds, SequenceChange, SequenceRequest, is_temporary,
};

use super::{Schema, text};
use crate::client::CommandTag;
use crate::client::tag;
use crate::failure::Failure;
use verso_parser::syntax::{AlterSequence, CreateSequence, Name, QualifiedName, SequenceOptions};
use verso_planner::errors::{SqlError, sqlstate};

/// The bounds of a sequence as CREATE SEQUENCE or an identity column gives them.
pub(super) fn bounds(create: &CreateSequence) -> Result<SequenceBounds, CatalogError> {
    let SequenceOptions { ty, start, increment, min, max, cycle, cache, .. } = &create.options;
    let request = SequenceRequest {
        ty: ty.clone(),
        start: *start,
        increment: *increment,
        min: min.flatten(),
        max: max.flatten(),
        cycle: cycle.unwrap_or(false),
        cache: *cache,
    };
    request.resolve()
}

/// What ALTER SEQUENCE, or ALTER TABLE of an identity column, changes of a sequence, but for its owner.
pub(super) fn change_of_sequence(options: &SequenceOptions) -> SequenceChange {
    let SequenceOptions { ty, start, increment, min, max, cycle, cache, owned_by: _, restart } =
        options.clone();
    SequenceChange { ty, start, increment, min, max, cycle, cache, restart, owned_by: None, logged: None }
}

impl Schema<'_> {
    /// CREATE SEQUENCE.
    pub(super) fn create_sequence(&self, create: &CreateSequence) -> Result<CommandTag, Failure> {
        let place =
            if create.temporary { self.temporary_place(&create.name)? } else { self.place(&create.name)? };
        let name = create.name.name.text.as_str();
        if create.if_not_exists && self.frame.catalog.relation(Some(&place), name).is_some() {
            return Ok(self.skip_relation(name, "CREATE SEQUENCE"));
        }
        let new = NewSequence {
            unlogged: self.unlogged(create.unlogged, &place)?,
            schema: Some(place),
            name: name.into(),
            bounds: bounds(create)?,
            owned_by: create
                .options
                .owned_by
                .iter()
                .flatten()
                .next()
                .map(|owner| self.owner_of_sequence(create, owner))
                .transpose()?,
        };
        let catalog = &self.frame.services.instance.catalog;
        let made = catalog.create_sequence(&mut self.frame.txn.borrow_mut(), &new, create.if_not_exists)?;
        match made {
            Some(oid) => self.made(Object::Relation(oid), new.schema.as_deref())?,
            None => return Ok(self.skip_relation(name, "CREATE SEQUENCE")),
        }
        Ok(tag("CREATE SEQUENCE"))
    }

    /// ALTER SEQUENCE.
    pub(super) fn alter_sequence(&self, alter: &AlterSequence) -> Result<CommandTag, Failure> {
        let (home, name) = (self.home(&alter.name), &*alter.name.name.text);
        if alter.if_exists && self.frame.catalog.relation(Some(&home), name).is_none() {
            self.skip(format!("relation \"{name}\" does not exist, skipping"));
            return Ok(tag("ALTER SEQUENCE"));
        }
        self.own_named(&alter.name)?;
        let logged = alter.logged;
        if logged.is_some() && is_temporary(&home) {
            let text = format!("cannot change logged status of table \"{name}\" because it is temporary");
            return Err(SqlError::new("42P16", text).into());
        }
        let owner = alter.options.owned_by.as_ref();
        let owned_by = owner.map(|owner| {
            let owner = owner.as_ref();
            owner.map(|(table, column)| (self.home(table), text(&table.name), text(column)))
        });
        let change = SequenceChange { owned_by, logged, ..change_of_sequence(&alter.options) };
        let catalog = &self.frame.services.instance.catalog;
        let version = self.frame.catalog.version;
        let txn = &mut self.frame.txn.borrow_mut();
        catalog.alter_sequence(txn, (Some(&home), name), version, &change)?;
        Ok(tag("ALTER SEQUENCE"))
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
