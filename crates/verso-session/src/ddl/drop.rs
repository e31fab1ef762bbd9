//! DROP TABLE, DROP VIEW, DROP SEQUENCE, DROP INDEX.

use std::collections::HashSet;

use verso_catalog::{CatalogError, Lost, Object, ObjectKind, Relation};

use super::Schema;
use crate::client::CommandTag;
use crate::client::{Notice, tag};
use crate::failure::Failure;
use verso_parser::syntax::{Drop, DropKind, QualifiedName};
use verso_planner::errors::SqlError;

impl Schema<'_> {
    /// Drops relations of one kind.
    pub(super) fn drop(&self, drop: &Drop) -> Result<CommandTag, Failure> {
        let kind = kind_of(drop.kind);
        let mut found: Vec<Relation> = Vec::new();
        for name in &drop.names {
            match self.dropped(kind, name)? {
                Some(relation) if found.iter().any(|known| known.oid() == relation.oid()) => {}
                Some(relation) => {
                    let (object, kind) =
                        (Object::Relation(relation.oid()), super::rights::kind_word(&relation));
                    self.own_to_drop(object, relation.schema(), kind, relation.name())?;
                    self.refuse_of_identity(&relation)?;
                    found.push(relation);
                }
                None if kind == ObjectKind::View
                    && self.frame.catalog.system_view(name.schema_text(), &name.name.text).is_some() =>
                {
                    let text = format!(
                        "cannot drop view {} because it is required by the database system",
                        name.name.text
                    );
                    return Err(SqlError::new("2BP01", text).into());
                }
                None if self.is_composite(name) => {
                    let name = name.name.text.clone();
                    let error: SqlError = CatalogError::WrongKind { kind, name }.into();
                    return Err(error.with_hint("Use DROP TYPE to remove a type.").into());
                }
                None if drop.if_exists => {
                    let missing = name.schema.as_ref();
                    let missing = missing.filter(|schema| self.frame.catalog.schema(&schema.text).is_none());
                    let (what, text) =
                        missing.map_or((kind, &name.name.text), |schema| (ObjectKind::Schema, &schema.text));
                    self.skip(format!("{what} \"{text}\" does not exist, skipping"));
                }
                None => return Err(self.missing(kind, name).into()),
            }
        }
        let mut along = Vec::new();
        if drop.cascade {
            self.drop_held(&found, &[], &mut along)?;
            let lost: Vec<Lost> = found.iter().map(|one| Lost::Relation(one.oid())).collect();
            along.extend(self.frame.inside(|frame| Schema { frame }.drop_generated(&lost))?);
        }
        self.frame.inside(|frame| Schema { frame }.drop_found(drop, &found, along))
    }

    /// The sequence of an identity column goes with that only.
    fn refuse_of_identity(&self, relation: &Relation) -> Result<(), SqlError> {
        let Relation::Sequence(sequence) = relation else { return Ok(()) };
        let Some((table, at)) = self.frame.catalog.identity_of(sequence) else { return Ok(()) };
        let of = format!("column {} of table {}", table.columns[at].name, table.name);
        let text = format!("cannot drop sequence {} because {of} requires it", sequence.name);
        Err(SqlError::new("2BP01", text).with_hint(format!("You can drop {of} instead.")))
    }

    fn drop_found(
        &self,
        drop: &Drop,
        found: &[Relation],
        before: Vec<String>,
    ) -> Result<CommandTag, Failure> {
        if found.iter().any(|one| verso_catalog::is_temporary(one.schema())) {
            self.frame.services.temporary.note_touched();
        }
        let catalog = &self.frame.services.instance.catalog;
        let txn = &mut self.frame.txn.borrow_mut();
        let mut along = Vec::new();
        match drop.kind {
            DropKind::Table | DropKind::MaterializedView => {
                let tables: Vec<_> = found.iter().filter_map(Relation::as_table).cloned().collect();
                along = catalog.drop_tables(txn, &tables, drop.cascade)?;
            }
            DropKind::View => {
                let views: Vec<_> = found.iter().filter_map(Relation::as_view).cloned().collect();
                along = catalog.drop_views(txn, &views, drop.cascade)?;
            }
            DropKind::Sequence => {
                for one in found {
                    along.extend(catalog.drop_sequence(txn, Some(one.schema()), one.name(), drop.cascade)?);
                }
            }
            DropKind::Index => {
                for one in found {
                    catalog.drop_index(
                        txn,
                        Some(one.schema()),
                        one.name(),
                        drop.cascade,
                        drop.concurrently,
                    )?;
                }
            }
        }
        along.splice(..0, before);
        self.tell_along(&along);
        Ok(tag(match drop.kind {
            DropKind::Table => "DROP TABLE",
            DropKind::Sequence => "DROP SEQUENCE",
            DropKind::Index => "DROP INDEX",
            DropKind::View => "DROP VIEW",
            DropKind::MaterializedView => "DROP MATERIALIZED VIEW",
        }))
    }

    /// A relation to be dropped, if it is there; it has to be of that kind.
    fn dropped(&self, kind: ObjectKind, name: &QualifiedName) -> Result<Option<Relation>, SqlError> {
        let found = self.frame.catalog.relation(name.schema_text(), &name.name.text);
        let Some(relation) = found else { return Ok(None) };
        if relation.kind() == kind {
            return Ok(Some(relation.clone()));
        }
        let error: SqlError = CatalogError::WrongKind { kind, name: name.name.text.clone() }.into();
        let of = relation.kind();
        let article = if of == ObjectKind::Index { "an" } else { "a" };
        Err(error.with_hint(format!("Use DROP {} to remove {article} {of}.", of.to_string().to_uppercase())))
    }

    fn missing(&self, kind: ObjectKind, name: &QualifiedName) -> CatalogError {
        match &name.schema {
            Some(schema) if self.frame.catalog.schema(&schema.text).is_none() => {
                CatalogError::missing(ObjectKind::Schema, schema.text.as_str())
            }
            _ => CatalogError::missing(kind, name.name.text.as_str()),
        }
    }

    /// Tells what CASCADE has dropped.
    pub(super) fn tell_along(&self, along: &[String]) {
        let line = |what: &&String| format!("drop cascades to {what}");
        let mut known: HashSet<&String> = HashSet::new();
        let along: Vec<&String> = along.iter().filter(|one| known.insert(*one)).collect();
        let notice = match along.as_slice() {
            [] => return,
            [only] => Notice::message(line(only)),
            _ => {
                let lines: Vec<String> = along.iter().map(line).collect();
                let detail = Some(lines.join("\n"));
                Notice {
                    detail,
                    ..Notice::message(format!("drop cascades to {} other objects", along.len()))
                }
            }
        };
        self.frame.services.notices.tell(notice);
    }
}

/// What a kind of DROP removes.
pub(super) fn kind_of(kind: DropKind) -> ObjectKind {
    match kind {
        DropKind::Table => ObjectKind::Table,
        DropKind::Sequence => ObjectKind::Sequence,
        DropKind::Index => ObjectKind::Index,
        DropKind::View => ObjectKind::View,
        DropKind::MaterializedView => ObjectKind::MaterializedView,
    }
}
