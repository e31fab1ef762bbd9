//! The query of a view, the body of a function or the condition of a policy, as the catalog keeps it: its text, and what the names in
//! it meant when it was made.
//!
//! ```text
//! text  SELECT n, f(m) FROM t AS x
//!                  │         └ place 22: relation 16400, whose columns were called 1 = n, 2 = m
//!                  └ place 10: function 16410
//! ```
//!
//! Q1. A relation, function or type is found by its number, and a relation's columns have the names that they had then. So renaming
//!     a table or a column, moving it to another schema or adding a column leaves the query's meaning as it was.
//! Q2. A name without a note means what the system has under it: a system view, a built-in function.
//! Q3. Places are characters from the beginning of the text.
//! Q4. The text itself names types, collations and operators of users by number ([`crate::kept`]); those of earlier releases have
//!     their names, which mean what the path of the session finds, and any operator of the symbol.
//! Q5. A condition is over the rows of a table that its text does not name: the columns of that table are noted at [`OWN`].

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::definition::Oid;
use crate::error::CatalogError;
use crate::needs::Need;

/// The place of what a query needs that no name in its text means: what the default of a function's argument calls, or a literal
/// means (`'16400'::regclass`).
pub const NOWHERE: u32 = u32::MAX;

/// The place of the table over whose rows a condition is ([`StoredCondition`]).
pub const OWN: u32 = u32::MAX - 1;

/// A query that the catalog keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredQuery {
    /// Its row in `pg_rewrite`; 0 before it has one.
    pub rule: Oid,
    /// As it was given.
    pub text: Arc<str>,
    /// What the names of relations mean.
    pub relations: Vec<StoredRelation>,
    /// What the names of users' functions mean: place and function.
    /// ([`NOWHERE`] where it has none).
    pub functions: Vec<(u32, Oid)>,
    /// What the names of users' types mean: place and type.
    pub types: Vec<(u32, Oid)>,
}

/// A relation that a stored query names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRelation {
    /// Where; [`NOWHERE`] where a literal means it, [`OWN`] where the text is about its rows.
    pub place: u32,
    /// Which.
    pub relation: Oid,
    /// The columns that it had.
    pub columns: Vec<StoredColumn>,
}

/// A column that a relation had when a query was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredColumn {
    /// Its number.
    pub id: u16,
    /// Its name then.
    pub name: Arc<str>,
    /// The query uses it.
    pub used: bool,
}

impl StoredRelation {
    /// Whether a name in the text means it.
    pub fn is_named(&self) -> bool {
        !matches!(self.place, NOWHERE | OWN)
    }
}

impl StoredQuery {
    /// The relation named at that place.
    pub fn relation_at(&self, place: u32) -> Option<&StoredRelation> {
        self.relations.iter().find(|relation| relation.place == place)
    }

    /// The type named at that place.
    pub fn type_at(&self, place: u32) -> Option<Oid> {
        self.types.iter().find(|(known, _)| *known == place).map(|(_, oid)| *oid)
    }

    /// What it needs.
    pub fn needs(&self) -> BTreeSet<Need> {
        let mut needs: BTreeSet<Need> = BTreeSet::new();
        for relation in &self.relations {
            needs.insert(Need::Relation(relation.relation));
            let used = relation.columns.iter().filter(|column| column.used);
            needs.extend(used.map(|column| Need::Column(relation.relation, column.id)));
        }
        needs.extend(self.functions.iter().map(|(_, oid)| Need::Function(*oid)));
        needs.extend(self.types.iter().map(|(_, oid)| Need::Type(*oid)));
        needs
    }

    /// Whether it names a relation.
    pub fn names(&self, relation: Oid) -> bool {
        self.relations.iter().any(|named| named.relation == relation)
    }

    /// Whether it uses a column of a relation.
    pub fn uses(&self, relation: Oid, column: u16) -> bool {
        let used = |named: &StoredRelation| {
            named.relation == relation && named.columns.iter().any(|known| known.id == column && known.used)
        };
        self.relations.iter().any(used)
    }

    /// What the names mean, as `pg_rewrite` has it.
    pub(crate) fn notes(&self) -> Vec<Arc<str>> {
        let mut notes: Vec<Arc<str>> = Vec::new();
        for relation in &self.relations {
            notes.push(format!("relation {} {}", relation.place, relation.relation).into());
            for column in &relation.columns {
                let word = if column.used { "used" } else { "column" };
                notes.push(format!("{word} {} {}", column.id, column.name).into());
            }
        }
        notes.extend(self.functions.iter().map(|(place, oid)| format!("function {place} {oid}").into()));
        notes.extend(self.types.iter().map(|(place, oid)| format!("type {place} {oid}").into()));
        notes
    }

    /// The query of a text and its notes.
    pub(crate) fn read(text: Arc<str>, notes: &[Arc<str>]) -> Result<StoredQuery, CatalogError> {
        let corrupt = || CatalogError::Corrupt { what: "a note of a stored query".to_string() };
        let mut query = StoredQuery { text, ..StoredQuery::default() };
        for note in notes {
            let mut parts = note.splitn(3, ' ');
            let (Some(word), Some(number), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
                return Err(corrupt());
            };
            let number: u32 = number.parse().map_err(|_| corrupt())?;
            let oid = || rest.parse().map(Oid).map_err(|_| corrupt());
            match (word, query.relations.last_mut()) {
                ("relation", _) => {
                    let columns = Vec::new();
                    query.relations.push(StoredRelation { place: number, relation: oid()?, columns });
                }
                ("function", _) => query.functions.push((number, oid()?)),
                ("type", _) => query.types.push((number, oid()?)),
                ("used" | "column", Some(relation)) => relation.columns.push(StoredColumn {
                    id: u16::try_from(number).map_err(|_| corrupt())?,
                    name: rest.into(),
                    used: word == "used",
                }),
                _ => return Err(corrupt()),
            }
        }
        Ok(query)
    }
}

/// The body of a function that is SQL's own (`RETURN …`, `BEGIN ATOMIC … END`): what it says is settled when it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBody {
    /// What the function was called then: its arguments are named by it (`f.x`).
    pub name: Arc<str>,
    /// Its text, and what the names in it mean.
    pub query: StoredQuery,
}

impl StoredBody {
    /// What it needs, but for the function itself.
    pub fn needs(&self, own: Oid) -> Vec<Need> {
        self.query.needs().into_iter().filter(|need| *need != Need::Function(own)).collect()
    }
}

/// A condition over the rows of a table, USING or WITH CHECK of a policy: what it says is settled when it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCondition {
    /// What the table was called then: its columns may be named by it (`t.a`).
    pub table: Arc<str>,
    /// Its text, and what the names in it mean.
    pub query: StoredQuery,
}

/// Stands between the text of a condition, the name of its table and each of its notes; no text has it.
const BETWEEN: &str = "\0\0";

impl StoredCondition {
    /// Whether it is one of an earlier release, of which the text alone is kept: its names mean what they mean along the path
    /// `pg_catalog, public`.
    pub fn is_plain(&self) -> bool {
        self.query.relation_at(OWN).is_none()
    }

    /// What it needs, but for the table itself.
    pub fn needs(&self, own: Oid) -> impl Iterator<Item = Need> + use<> {
        self.query.needs().into_iter().filter(move |need| *need != Need::Relation(own))
    }

    /// As `pg_policy` has it.
    pub(crate) fn written(&self) -> Arc<str> {
        if self.is_plain() {
            return Arc::clone(&self.query.text);
        }
        let notes = self.query.notes();
        let parts = [&self.query.text, &self.table].into_iter().chain(&notes);
        parts.map(|part| &**part).collect::<Vec<_>>().join(BETWEEN).into()
    }

    /// The same backwards.
    pub(crate) fn read(written: &Arc<str>) -> Result<StoredCondition, CatalogError> {
        let mut parts = written.split(BETWEEN);
        let text = parts.next().unwrap_or_default();
        let Some(table) = parts.next() else {
            let query = StoredQuery { text: Arc::clone(written), ..StoredQuery::default() };
            return Ok(StoredCondition { table: "".into(), query });
        };
        let notes: Vec<Arc<str>> = parts.map(Arc::from).collect();
        Ok(StoredCondition { table: table.into(), query: StoredQuery::read(text.into(), &notes)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_as_they_were_written_also_those_of_earlier_releases() {
        let columns = vec![StoredColumn { id: 2, name: "a b".into(), used: true }];
        let relations = vec![StoredRelation { place: OWN, relation: Oid(16_400), columns }];
        let text: Arc<str> = "t.\"a b\" = \"\u{0}16410\".f(1)".into();
        let functions = vec![(10, Oid(16_410))];
        let query = StoredQuery { text: Arc::clone(&text), relations, functions, ..StoredQuery::default() };
        let settled = StoredCondition { table: "t".into(), query };
        assert_eq!(StoredCondition::read(&settled.written()).unwrap(), settled);
        let needs: Vec<Need> = settled.needs(Oid(16_400)).collect();
        assert_eq!(needs, [Need::Column(Oid(16_400), 2), Need::Function(Oid(16_410))]);
        let earlier = StoredCondition::read(&text).unwrap();
        assert!(earlier.is_plain() && !settled.is_plain());
        assert_eq!(earlier.written(), text);
    }

    #[test]
    fn what_names_mean_is_read_as_it_was_written() {
        let column = |id, name: &str, used| StoredColumn { id, name: name.into(), used };
        let query = StoredQuery {
            rule: Oid(0),
            text: "select \"a b\", f(c) from t".into(),
            relations: vec![StoredRelation {
                place: 24,
                relation: Oid(16_400),
                columns: vec![column(1, "a b", true), column(3, "c", false)],
            }],
            functions: vec![(14, Oid(16_410))],
            types: vec![(30, Oid(16_420))],
        };
        assert_eq!(StoredQuery::read(Arc::clone(&query.text), &query.notes()).unwrap(), query);
        assert!(query.uses(Oid(16_400), 1) && !query.uses(Oid(16_400), 3) && !query.uses(Oid(1), 1));
        for wrong in ["relation", "relation x 1", "used 1 a", "other 1 2", "relation 1 -1"] {
            assert!(StoredQuery::read("".into(), &[wrong.into()]).is_err(), "{wrong}");
        }
    }
}
