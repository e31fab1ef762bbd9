//! Collations of users and what has collations, from rows of `pg_collation` and `verso_collated`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use verso_types::{CollatedType, Collation, CollationData, Collator, SqlType};

use super::row::{CollatedRow, CollationRow};
use crate::collation::{CollationDef, system_collation_by_oid};
use crate::damage::Flaws;
use crate::definition::Oid;
use crate::error::CatalogError;
use crate::snapshot::CatalogSnapshot;

/// Which collations there are, and what has them.
#[derive(Debug, Default)]
pub(super) struct Collated {
    definitions: Vec<CollationDef>,
    /// By object and column or part.
    of: HashMap<(Oid, i32), Arc<Collation>>,
    /// Indexes whose keys were made from other data.
    old: HashSet<Oid>,
    /// Indexes whose keys depend on the data.
    versioned: HashSet<Oid>,
}

impl Collated {
    /// Of these rows; collations that have none are those of `previous`. What has a collation that cannot be read is damaged with
    /// it: its texts have another order.
    pub(super) fn of(
        (rows, collated): (Vec<CollationRow>, &[CollatedRow]),
        data: CollationData,
        schema_of: &dyn Fn(Oid) -> Result<Arc<str>, CatalogError>,
        previous: Option<&CatalogSnapshot>,
        flaws: &Flaws,
    ) -> Result<Collated, CatalogError> {
        let mut all = Collated::default();
        for row in rows {
            all.definitions.push(definition(row, data, schema_of, flaws)?);
        }
        for row in collated {
            let own = all.definitions.iter().find(|one| one.oid() == row.collation);
            let before =
                || previous.filter(|_| !row.collation.is_system())?.collation_by_oid(row.collation.0);
            let collation = match own.map(|own| Arc::clone(&own.collation)) {
                Some(own) => own,
                None if let Some(known) = before() => Arc::clone(&known.collation),
                None => {
                    let Some(found) = system_collation_by_oid(row.collation.0, data) else {
                        let text = format!("its collation {} has no row in pg_collation", row.collation);
                        flaws.note(row.objid, text);
                        continue;
                    };
                    found.collation
                }
            };
            if flaws.has(row.collation) {
                flaws.note(row.objid, format!("its collation {} is damaged", row.collation));
            }
            if row.version.is_some() {
                all.versioned.insert(row.objid);
            }
            if row.version.as_deref().is_some_and(|version| version != data.version()) {
                all.old.insert(row.objid);
            }
            all.of.insert((row.objid, row.objsubid), collation);
        }
        Ok(all)
    }

    /// The collations that users have made.
    pub(super) fn definitions(&self) -> &[CollationDef] {
        &self.definitions
    }

    /// The type that a column, or a domain's base, was declared as.
    pub(super) fn declared(&self, ty: SqlType, object: Oid, column: i32) -> SqlType {
        if self.of.is_empty() {
            return ty;
        }
        match self.of.get(&(object, column)) {
            Some(collation) if ty.is_collatable() => {
                let collation = Arc::clone(collation);
                SqlType::Collated(Arc::new(CollatedType { base: ty, collation }))
            }
            _ => ty,
        }
    }

    /// The collation of a part of an index.
    pub(super) fn of_part(&self, index: Oid, number: i32) -> Option<Arc<Collation>> {
        self.of.get(&(index, number)).cloned()
    }

    /// Whether the keys of an index depend on the data of collations.
    pub(super) fn is_versioned(&self, index: Oid) -> bool {
        self.versioned.contains(&index)
    }

    /// Whether the keys of an index are made from the program's data.
    pub(super) fn is_current(&self, index: Oid) -> bool {
        !self.old.contains(&index)
    }
}

fn definition(
    row: CollationRow,
    data: CollationData,
    schema_of: &dyn Fn(Oid) -> Result<Arc<str>, CatalogError>,
    flaws: &Flaws,
) -> Result<CollationDef, CatalogError> {
    let name = row.collname.0;
    let collator = match (row.collprovider.0, &row.colllocale) {
        ('i', Some(locale)) => {
            let made = Collator::new(locale, row.collisdeterministic, data);
            made.map_err(|error| flaws.note(row.oid, error.message)).ok()
        }
        _ => None,
    };
    Ok(CollationDef {
        collation: Arc::new(Collation {
            oid: row.oid.0,
            schema: schema_of(row.collnamespace)?,
            name,
            collator,
        }),
        owner: row.collowner,
        provider: row.collprovider.0,
        deterministic: row.collisdeterministic,
        locale: row.colllocale,
        version: row.collversion,
    })
}
