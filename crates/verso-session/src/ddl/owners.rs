//! ALTER … OWNER TO: an object becomes another role's.

use std::sync::Arc;

use verso_catalog::{
    CatalogError, CollationChange, Object, ObjectKind, Oid, Relation, Rights, StatisticsChange, TableDef,
};

use super::Schema;
use crate::client::{CommandTag, tag};
use crate::failure::Failure;
use verso_parser::syntax::{Owned, RoleName, RoutineKind};
use verso_planner::bind::rights::denied;
use verso_planner::errors::{SqlError, sqlstate};
use verso_storage::TableLockMode;
use verso_types::SqlType;

impl Schema<'_> {
    /// Gives what a statement names to the role that it names.
    pub(super) fn change_owner(
        &self,
        of: &Owned,
        to: &RoleName,
        if_exists: bool,
    ) -> Result<CommandTag, Failure> {
        let owner = self.role_number(to)?;
        let catalog = self.frame.catalog;
        let (object, schema, tag_word) = match of {
            Owned::Relation(kind, name) => {
                let tag_word = super::alter_names::altered(*kind);
                let Some(relation) = catalog.relation(name.schema_text(), &name.name.text).cloned() else {
                    self.refuse_composite(super::drop::kind_of(*kind), name)?;
                    if if_exists {
                        self.skip(format!("relation \"{}\" does not exist, skipping", name.name.text));
                        return Ok(tag(tag_word));
                    }
                    return Err(self.no_relation(name).into());
                };
                let wanted = super::drop::kind_of(*kind);
                if relation.kind() != wanted && wanted != ObjectKind::Table || relation.oid().is_system() {
                    let name = name.name.text.clone();
                    return Err(CatalogError::WrongKind { kind: wanted, name }.into());
                }
                if let Relation::Sequence(sequence) = &relation
                    && let Some(table) = sequence.owned_by.and_then(|by| catalog.table_by_oid(by.table))
                    && catalog.owner_of(Object::Relation(table.oid)) != owner
                {
                    let text = format!("cannot change owner of sequence \"{}\"", sequence.name);
                    let detail =
                        format!("Sequence \"{}\" is linked to table \"{}\".", sequence.name, table.name);
                    return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
                        .with_detail(detail)
                        .into());
                }
                self.own_relation(&relation)?;
                if let Relation::Table(table) = &relation {
                    self.frame.tables().lock(table, TableLockMode::AccessExclusive)?;
                }
                (Object::Relation(relation.oid()), Some(Arc::clone(relation.schema())), tag_word)
            }
            Owned::Function(kind, name, types) => {
                let types = self.argument_types(types.as_deref())?;
                let function = self.altered_routine(*kind, name, types.as_deref())?;
                let word = if function.is_procedure() { "procedure" } else { "function" };
                self.own(Object::Function(function.oid), word, &function.name)?;
                let tag_word = match kind {
                    RoutineKind::Function => "ALTER FUNCTION",
                    RoutineKind::Procedure => "ALTER PROCEDURE",
                    RoutineKind::Routine => "ALTER ROUTINE",
                    RoutineKind::Aggregate => "ALTER AGGREGATE",
                };
                (Object::Function(function.oid), Some(Arc::clone(&function.schema)), tag_word)
            }
            Owned::Domain(name) => {
                let ty = self.user_type(name)?;
                if !matches!(ty.ty, SqlType::Domain(_)) {
                    let text = format!("{} is not a domain", ty.ty);
                    return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
                }
                self.own(Object::Type(ty.oid), "type", &ty.name)?;
                (Object::Type(ty.oid), Some(Arc::clone(&ty.schema)), "ALTER DOMAIN")
            }
            Owned::Type(name) => {
                let ty = match self.user_type(name) {
                    Err(error) if error.sqlstate == sqlstate::UNDEFINED_OBJECT => {
                        return Err(self.altered_alone(name).unwrap_or(error).into());
                    }
                    found => found?,
                };
                self.own(Object::Type(ty.oid), "type", &ty.name)?;
                (Object::Type(ty.oid), Some(Arc::clone(&ty.schema)), "ALTER TYPE")
            }
            Owned::Operator(reference) => {
                let operator = self.user_operator(reference)?;
                self.own_role_object(operator.owner, "operator", &operator.name)?;
                self.may_hand_over(owner, Some(&operator.schema))?;
                let store = &self.frame.services.instance.catalog;
                store.set_operator_owner(&mut self.frame.txn.borrow_mut(), operator.oid, owner)?;
                return Ok(tag("ALTER OPERATOR"));
            }
            Owned::Collation(name) => {
                let collation = self.collation(name)?;
                self.own_collation(&collation)?;
                self.may_hand_over(owner, Some(&collation.collation.schema))?;
                let store = &self.frame.services.instance.catalog;
                let change = CollationChange::Owner(owner);
                store.alter_collation(&mut self.frame.txn.borrow_mut(), &collation, &change)?;
                return Ok(tag("ALTER COLLATION"));
            }
            Owned::Statistics(name) => {
                let statistics = self.statistics_called(name)?;
                self.own_statistics(&statistics)?;
                self.may_hand_over(owner, Some(&statistics.schema))?;
                let store = &self.frame.services.instance.catalog;
                let change = StatisticsChange::Owner(owner);
                store.alter_statistics(&mut self.frame.txn.borrow_mut(), &statistics, &change)?;
                return Ok(tag("ALTER STATISTICS"));
            }
            Owned::Database(name) => {
                let database = self.frame.services.database();
                if let Some(name) = name {
                    self.database(name)?;
                }
                self.own(Object::Database, "database", database)?;
                (Object::Database, None, "ALTER DATABASE")
            }
        };
        self.give(object, owner, schema.as_deref())?;
        Ok(tag(tag_word))
    }

    /// OWNER TO beside other changes of a table, which is locked.
    pub(super) fn owner_of_table(&self, table: &TableDef, to: &RoleName) -> Result<(), Failure> {
        self.give(Object::Relation(table.oid), self.role_number(to)?, Some(&table.schema))
    }

    /// Gives an object to another role, which the session's has to be able to become.
    pub(super) fn give(&self, object: Object, owner: Oid, schema: Option<&str>) -> Result<(), Failure> {
        self.may_hand_over(owner, schema)?;
        let catalog = self.frame.catalog;
        let store = &self.frame.services.instance.catalog;
        Ok(store.set_owner(&mut self.frame.txn.borrow_mut(), catalog, &[object], owner)?)
    }

    /// Whether the session's role may give what is in a schema to another one.
    fn may_hand_over(&self, owner: Oid, schema: Option<&str>) -> Result<(), Failure> {
        let catalog = self.frame.catalog;
        if let Some(role) = self.limited() {
            if !catalog.may_become(role, owner) {
                let text = format!("must be able to SET ROLE \"{}\"", self.role_text(owner));
                return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text).into());
            }
            if let Some(schema) = schema.and_then(|name| catalog.schema(name))
                && !catalog.rights(owner, Object::Schema(schema.oid)).has(Rights::CREATE)
            {
                return Err(denied("schema", &schema.name).into());
            }
        }
        Ok(())
    }
}
