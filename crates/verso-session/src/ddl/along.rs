//! What goes along under CASCADE by statements of its own, before what it needs goes: a column goes by a copy of its table.

use std::sync::Arc;

use verso_catalog::{
    CollationUse, Lost, Oid, Relation, SchemaDef, TableDef, TypeDef, TypeUses, collation_uses,
    generated_along, in_words, lost_with_schema,
};
use verso_exec::ExecError;
use verso_types::SqlType;

use super::Schema;
use super::types::fields_left;
use crate::failure::Failure;

impl Schema<'_> {
    /// Drops what of others is made of the row types of these relations: columns, domains, fields of composite types. These types go
    /// anyway.
    pub(super) fn drop_held(
        &self,
        found: &[Relation],
        types: &[Oid],
        along: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let catalog = self.frame.catalog;
        let rows: Vec<Arc<TypeDef>> = found.iter().filter_map(Relation::row_type).map(Arc::new).collect();
        for ty in &rows {
            let uses = TypeUses::of(catalog, ty);
            let goes = |table: &Oid| found.iter().any(|one| one.oid() == *table);
            for table in uses.whole.iter().filter(|table| !goes(table)) {
                along.push(in_words(catalog, Lost::Relation(*table)));
                along.extend(self.drop_whole(*table)?);
            }
            for (table, column) in uses.single_columns().filter(|(table, _)| !goes(table)) {
                let Some(known) = catalog.table_by_oid(*table) else { continue };
                let Some(at) = known.column_with_id(*column) else { continue };
                along.push(in_words(catalog, Lost::Column(*table, *column)));
                // That of a partition goes with its table's.
                if known.partition_of.is_some() {
                    continue;
                }
                self.drop_column(&known.schema, &known.name, &known.columns[at].name)?;
            }
            let domains = uses.domains.iter().filter(|domain| !types.contains(domain));
            let domains: Vec<Arc<TypeDef>> =
                domains.filter_map(|domain| catalog.user_type(*domain)).cloned().collect();
            along.extend(domains.iter().map(|domain| in_words(catalog, Lost::Type(domain.oid))));
            for domain in domains {
                along.extend(TypeUses::of(catalog, &domain).names(catalog, &domain));
                self.frame.inside(|frame| {
                    // It may have gone with another one.
                    let there = frame.catalog.user_type(domain.oid).cloned();
                    there.map_or(Ok(()), |there| Schema { frame }.drop_found_types(vec![there], true, false))
                })?;
            }
            let fields = uses.fields.iter().filter(|(of, _)| !types.contains(of));
            along.extend(fields.map(|(of, field)| {
                let of = in_words(catalog, Lost::Type(*of));
                format!("column {field} of composite {of}")
            }));
        }
        let left = fields_left(catalog, &rows).into_iter();
        for (holder, fields) in left.filter(|(holder, _)| !types.contains(&holder.oid)) {
            self.frame.inside(|frame| Schema { frame }.keep_fields(&holder, &fields))?;
        }
        Ok(())
    }

    /// Drops a table that goes along as a whole, unless it has gone with another one, and first what is made of its rows; this, in
    /// words.
    pub(super) fn drop_whole(&self, table: Oid) -> Result<Vec<String>, Failure> {
        verso_env::stack::check().map_err(ExecError::from)?;
        let mut along = Vec::new();
        self.frame.inside(|frame| {
            let found: Vec<Relation> = frame.catalog.relation_by_oid(table).cloned().into_iter().collect();
            Schema { frame }.drop_held(&found, &[], &mut along)
        })?;
        self.frame.inside(|frame| {
            let Some(table) = frame.catalog.table_by_oid(table) else { return Ok(()) };
            let catalog = &frame.services.instance.catalog;
            Ok(catalog.drop_tables(&mut frame.txn.borrow_mut(), &[table], true).map(drop)?)
        })?;
        Ok(along)
    }

    /// Drops the generated columns of other tables that a column takes along; whether there were any.
    pub(super) fn drop_generated_elsewhere(&self, table: &TableDef, column: &str) -> Result<bool, Failure> {
        let Some(at) = table.column(column) else { return Ok(false) };
        let lost = [Lost::Column(table.oid, table.columns[at].id)];
        let mut found = generated_along(self.frame.catalog, &lost);
        found.retain(|(other, ..)| other.oid != table.oid);
        for (other, generated, _) in &found {
            let Some(at) = other.column_with_id(*generated) else { continue };
            self.drop_column(&other.schema, &other.name, &other.columns[at].name)?;
        }
        Ok(!found.is_empty())
    }

    /// Drops the generated columns that go along with what goes; these, and what goes along with them, in words.
    pub(super) fn drop_generated(&self, lost: &[Lost]) -> Result<Vec<String>, Failure> {
        let mut along = Vec::new();
        for (table, column, names) in generated_along(self.frame.catalog, lost) {
            let Some(at) = table.column_with_id(column) else { continue };
            along.extend(names);
            self.drop_column(&table.schema, &table.name, &table.columns[at].name)?;
        }
        Ok(along)
    }

    /// Drops what of other schemas goes along with a schema and has to go first.
    pub(super) fn drop_held_by_others(&self, schema: &Arc<SchemaDef>) -> Result<(), Failure> {
        self.frame.inside(|frame| Schema { frame }.drop_types_used_outside(schema))?;
        self.frame.inside(|frame| Schema { frame }.drop_rows_used_outside(schema))?;
        self.frame.inside(|frame| Schema { frame }.drop_uses_of_collations(schema))?;
        self.frame.inside(|frame| {
            Schema { frame }.drop_generated(&lost_with_schema(frame.catalog, schema)).map(drop)
        })
    }

    /// Drops what of other schemas is made of the rows of tables and views of this one.
    fn drop_rows_used_outside(&self, schema: &SchemaDef) -> Result<(), Failure> {
        let catalog = self.frame.catalog;
        let inside = catalog.relations().filter(|one| **one.schema() == *schema.name);
        let relations: Vec<Relation> = inside.cloned().collect();
        let types = catalog.types().filter(|ty| ty.schema == schema.name).map(|ty| ty.oid);
        self.drop_held(&relations, &types.collect::<Vec<_>>(), &mut Vec::new())
    }

    /// Drops the types of a schema that tables and types of others have, with the columns that are of them.
    fn drop_types_used_outside(&self, schema: &SchemaDef) -> Result<(), Failure> {
        let catalog = self.frame.catalog;
        let outside = |table: Oid| catalog.table_by_oid(table).is_some_and(|it| it.schema != schema.name);
        let other = |ty: Oid| catalog.user_type(ty).is_some_and(|it| it.schema != schema.name);
        let is_used = |ty: &&Arc<TypeDef>| {
            let uses = TypeUses::of(catalog, ty);
            uses.columns.iter().any(|(table, _)| outside(*table))
                || uses.whole.iter().any(|table| outside(*table))
                || uses.domains.iter().any(|ty| other(*ty))
                || uses.fields.iter().any(|(ty, _)| other(*ty))
        };
        let own = catalog.types().filter(|ty| {
            ty.schema == schema.name
                && !ty.is_of_extension()
                && !matches!(ty.ty, SqlType::Multirange(_))
                && catalog.relation(Some(&ty.schema), &ty.name).is_none()
        });
        let used: Vec<Arc<TypeDef>> = own.filter(is_used).cloned().collect();
        if used.is_empty() { Ok(()) } else { self.drop_found_types(used, true, false) }
    }

    /// Drops columns, keys, indexes and domains of other schemas that have collations of this one.
    fn drop_uses_of_collations(&self, schema: &SchemaDef) -> Result<(), Failure> {
        let catalog = self.frame.catalog;
        let of_type = |oid: Oid| catalog.user_type(oid).is_some_and(|ty| ty.schema != schema.name);
        let outside = |relation: Oid| match catalog.relation_by_oid(relation) {
            Some(one) => **one.schema() != *schema.name,
            None => of_type(relation),
        };
        let is_outside = |one: &CollationUse| match one {
            CollationUse::Column(oid, _)
            | CollationUse::Check(oid, _)
            | CollationUse::Key(oid)
            | CollationUse::View(oid)
            | CollationUse::Index(oid) => outside(*oid),
            CollationUse::Domain(oid) => of_type(*oid),
        };
        for one in catalog.collations().iter().filter(|one| one.collation.schema == schema.name) {
            let uses = collation_uses(catalog, &one.collation);
            for (one, _) in uses.iter().rev().filter(|(one, _)| is_outside(one)) {
                // Another one may have taken it along.
                self.frame.inside(|frame| Schema { frame }.drop_use(one))?;
            }
        }
        Ok(())
    }
}
