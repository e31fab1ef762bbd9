//! The relations of `pg_catalog` and `information_schema`: names, numbers and columns, as PostgreSQL has them.
//!
//! They come from `data/relations.tsv`, which `data/generate.sh` writes from a PostgreSQL server; behind them come Verso's own
//! views ([`SystemView::ALL`]). What rows they have the session knows, which makes them when a query asks.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use verso_types::SqlType;

use crate::definition::{Oid, TypeDef};
use crate::row_type::{relation_of, row_type};
use crate::snapshot::PG_CATALOG;
use crate::view::SystemView;

/// The number of the first view of Verso's own; PostgreSQL has no relations there.
const OWN_FIRST: u32 = 9_800;

/// The schema of the SQL standard's views.
pub const INFORMATION_SCHEMA: &str = "information_schema";
/// Its number: no row says it.
pub const INFORMATION_SCHEMA_OID: Oid = Oid(13_144);

/// A relation of the system catalogs.
#[derive(Debug)]
pub struct SystemRelation {
    /// `pg_catalog` or `information_schema`.
    pub schema: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its row in `pg_class`.
    pub oid: Oid,
    /// Its `relkind`: `r` or `v`.
    pub kind: char,
    /// The type of its rows.
    pub row_type: Oid,
    /// Its columns in order.
    pub columns: Vec<SystemColumn>,
}

/// Columns by which the session finds rows of a relation without making others.
const KEYS: &[(&str, &[&str])] = &[
    ("pg_class", &["oid", "relname", "relnamespace", "reltype"]),
    ("pg_attribute", &["attrelid"]),
    ("pg_attrdef", &["oid", "adrelid"]),
    ("pg_index", &["indexrelid", "indrelid"]),
    ("pg_sequence", &["seqrelid"]),
    ("pg_constraint", &["oid", "conrelid", "confrelid", "conindid", "contypid"]),
    ("pg_trigger", &["oid", "tgrelid"]),
    ("pg_policy", &["polrelid"]),
    ("pg_depend", &["objid", "refobjid"]),
    ("pg_rewrite", &["oid", "ev_class"]),
    ("pg_inherits", &["inhrelid", "inhparent"]),
    ("pg_partitioned_table", &["partrelid"]),
    ("pg_type", &["oid", "typname", "typrelid", "typelem", "typarray", "typbasetype"]),
    ("pg_enum", &["enumtypid"]),
    ("pg_range", &["rngtypid", "rngmultitypid", "rngsubtype"]),
    ("pg_cast", &["castsource", "casttarget"]),
    ("pg_amop", &["amopfamily", "amopopr"]),
    ("pg_amproc", &["amprocfamily"]),
    ("pg_proc", &["oid", "proname"]),
    ("pg_aggregate", &["aggfnoid"]),
    ("pg_collation", &["oid", "collname"]),
    ("pg_operator", &["oid", "oprname"]),
    ("pg_opclass", &["oid"]),
    ("pg_description", &["objoid"]),
    ("pg_stat_all_tables", &["relid", "relname"]),
    ("pg_stat_all_indexes", &["relid", "indexrelid", "relname"]),
    ("pg_statio_all_tables", &["relid", "relname"]),
    ("pg_statio_all_indexes", &["relid", "indexrelid", "relname"]),
    ("pg_statistic_ext", &["stxrelid"]),
];

/// A column of a system relation.
#[derive(Debug)]
pub struct SystemColumn {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub ty: SqlType,
    /// Declared NOT NULL?
    pub not_null: bool,
    /// The domain of `information_schema` over that type which it is declared with.
    pub domain: Option<Oid>,
}

/// A system relation, by its place in [`SystemRelation::all`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RelationId(u16);

impl RelationId {
    /// The relation of that name.
    pub fn find(schema: &str, name: &str) -> Option<RelationId> {
        static NAMES: OnceLock<HashMap<(&'static str, &'static str), RelationId>> = OnceLock::new();
        let names = NAMES.get_or_init(|| {
            let numbered = SystemRelation::all().iter().zip(0..);
            numbered.map(|(relation, id)| ((relation.schema, relation.name), RelationId(id))).collect()
        });
        names.get(&(schema, name)).copied()
    }

    /// The relation.
    pub fn get(self) -> &'static SystemRelation {
        &SystemRelation::all()[usize::from(self.0)]
    }
}

impl SystemRelation {
    /// Every system relation, by schema and name.
    pub fn all() -> &'static [SystemRelation] {
        static ALL: OnceLock<Vec<SystemRelation>> = OnceLock::new();
        ALL.get_or_init(|| {
            include_str!("../data/relations.tsv").lines().filter_map(read).chain(own()).collect()
        })
    }

    /// The relation with that row in `pg_class`.
    pub fn by_oid(oid: Oid) -> Option<&'static SystemRelation> {
        static OIDS: OnceLock<HashMap<Oid, &'static SystemRelation>> = OnceLock::new();
        let oids = OIDS
            .get_or_init(|| SystemRelation::all().iter().map(|relation| (relation.oid, relation)).collect());
        oids.get(&oid).copied()
    }

    /// The relation whose row type, or the array of it, has this number.
    pub fn of_rows(oid: Oid) -> Option<&'static SystemRelation> {
        static TYPES: OnceLock<HashMap<Oid, &'static SystemRelation>> = OnceLock::new();
        let types = TYPES.get_or_init(|| {
            let known = SystemRelation::all().iter().filter(|relation| relation.row_type.0 != 0);
            known.map(|relation| (relation.row_type, relation)).collect()
        });
        types.get(&relation_of(oid)).copied()
    }

    /// The type of its rows.
    pub fn rows(&self) -> TypeDef {
        let fields = self.columns.iter().map(|column| (Arc::from(column.name), column.ty.clone()));
        let ids = (1..).take(self.columns.len()).collect();
        row_type(self.row_type, (&self.schema.into(), &self.name.into()), fields.collect(), ids)
    }

    /// Whether the session finds the rows that have a value in this column without making others.
    pub fn is_key(&self, column: usize) -> bool {
        let keys = KEYS.iter().find(|(name, _)| *name == self.name).map_or(&[][..], |(_, keys)| keys);
        let name = self.columns.get(column).map(|column| column.name);
        self.schema == PG_CATALOG && name.is_some_and(|name| keys.contains(&name))
    }

    /// Position of the column of that name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// Verso's own views.
fn own() -> impl Iterator<Item = SystemRelation> {
    let views = SystemView::ALL.into_iter().zip(OWN_FIRST..).filter(|(view, _)| view.arguments().is_empty());
    views.map(|(view, oid)| {
        let columns = view.columns().into_iter();
        let columns = columns.map(|column| SystemColumn {
            name: column.name,
            ty: column.ty,
            not_null: false,
            domain: None,
        });
        SystemRelation {
            schema: PG_CATALOG,
            name: view.name(),
            oid: Oid(oid),
            kind: 'v',
            row_type: Oid(0),
            columns: columns.collect(),
        }
    })
}

/// A line of the file; every one is well formed, as a test shows.
fn read(line: &'static str) -> Option<SystemRelation> {
    let mut fields = line.split('\t');
    let schema = match fields.next()? {
        INFORMATION_SCHEMA => INFORMATION_SCHEMA,
        _ => PG_CATALOG,
    };
    let (name, oid) = (fields.next()?, fields.next()?.parse().ok()?);
    let (kind, row_type) = (fields.next()?.chars().next()?, fields.next()?.parse().ok()?);
    let columns = fields.next()?.split(',').map(read_column).collect::<Option<Vec<_>>>()?;
    Some(SystemRelation { schema, name, oid: Oid(oid), kind, row_type: Oid(row_type), columns })
}

/// `relname 19 -1 1`, and the number of a domain where it has one.
fn read_column(text: &'static str) -> Option<SystemColumn> {
    let mut fields = text.split(' ');
    let name = fields.next()?;
    let ty = SqlType::from_pg_oid(fields.next()?.parse().ok()?, fields.next()?.parse().ok()?)?;
    let not_null = fields.next()? == "1";
    let domain = fields.next().and_then(|oid| oid.parse().ok()).map(Oid);
    Some(SystemColumn { name, ty, not_null, domain })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_file_is_a_relation() {
        let lines = include_str!("../data/relations.tsv").lines().count();
        assert_eq!(SystemRelation::all().len(), lines + own().count());
        assert!(own().all(|one| SystemRelation::by_oid(one.oid).is_some_and(|found| found.name == one.name)));
        let class = RelationId::find(PG_CATALOG, "pg_class").expect("it is there").get();
        assert_eq!((class.oid, class.row_type, class.kind), (Oid(1259), Oid(83), 'r'));
        assert_eq!(class.columns.len(), 34);
        assert_eq!(class.column("relname"), Some(1));
        assert!(RelationId::find(INFORMATION_SCHEMA, "columns").is_some());
        for (name, keys) in KEYS {
            let relation = RelationId::find(PG_CATALOG, name).expect(name).get();
            assert!(
                keys.iter().all(|key| relation.column(key).is_some_and(|at| relation.is_key(at))),
                "{name}"
            );
        }
        assert!(RelationId::find(PG_CATALOG, "columns").is_none());
        assert_eq!(SystemRelation::by_oid(Oid(1259)).map(|relation| relation.name), Some("pg_class"));
    }
}
