//! How large tables are, as far as it can be told without reading them: from the number of their pages.

use verso_storage::Engine;
use verso_types::SqlType;

use crate::definition::TableDef;
use crate::relations::SystemRelation;
use crate::snapshot::CatalogSnapshot;

/// Bytes that a record takes besides its values.
const RECORD_BYTES: f64 = 8.0;

/// Where the pages of tables are counted; none for a catalog made by hand.
#[derive(Clone, Default)]
pub(crate) struct Sizes(pub(crate) Option<Engine>);

impl std::fmt::Debug for Sizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sizes")
    }
}

impl Sizes {
    /// How many data pages a table has.
    pub(crate) fn pages(&self, table: &TableDef) -> Option<f64> {
        let engine = self.0.as_ref()?;
        if table.heap.0 < Engine::FIRST_USER_OBJECT && !engine.has_object(table.heap) {
            // It is not to be made for that.
            return Some(0.0);
        }
        Some(f64::from(engine.heap(table.heap).ok()?.page_count()))
    }

    /// About how many rows a table has; none where nothing is known.
    pub(crate) fn rows(&self, table: &TableDef) -> Option<f64> {
        let engine = self.0.as_ref()?;
        let pages = self.pages(table)?;
        let width: f64 = table.columns.iter().map(|column| value_bytes(&column.ty)).sum();
        Some(pages * f64::from(engine.options().page_size) * 0.9 / (width + RECORD_BYTES))
    }
}

/// How many kinds of objects make up most of a relation that has several, about; and how many catalogs objects are of.
const KINDS: f64 = 2.0;
const CLASSES: f64 = 4.0;
/// In how many schemas relations are, about.
const SCHEMAS: f64 = 16.0;

impl CatalogSnapshot {
    /// About how many rows a relation of the system catalogs has, where it has many.
    pub fn system_rows(&self, relation: &SystemRelation) -> Option<f64> {
        let relations = self.relations_count() as f64;
        Some(match relation.name {
            "pg_class" => 300.0 + relations,
            "pg_type" => 600.0 + relations,
            "pg_attribute" => 3_000.0 + 5.0 * relations,
            "pg_constraint" | "pg_depend" => 2.0 * relations,
            "pg_index"
            | "pg_attrdef"
            | "pg_stat_all_tables"
            | "pg_stat_all_indexes"
            | "pg_statio_all_tables"
            | "pg_statio_all_indexes" => relations / 2.0,
            "pg_proc" | "pg_description" => 3_000.0,
            "pg_namespace" => 2.0 + self.schemas().count() as f64,
            _ => return None,
        })
    }

    /// About how many values a column of such a relation has: a key, or one of which that is known.
    pub fn system_values(&self, relation: &SystemRelation, column: usize) -> Option<f64> {
        let rows = self.system_rows(relation)?;
        // As many kinds as are common.
        match relation.columns[column].name {
            "relkind" | "contype" | "deptype" | "typtype" | "prokind" => return Some(KINDS),
            "classid" | "refclassid" | "classoid" => return Some(CLASSES),
            "oid" | "nspname" if relation.name == "pg_namespace" => return Some(rows),
            _ => {}
        }
        let owners = 300.0 + self.relations_count() as f64;
        relation.is_key(column).then(|| match relation.columns[column].name {
            "oid" | "relname" | "reltype" | "typname" | "indexrelid" | "rngtypid" | "rngmultitypid" => rows,
            "relnamespace" => SCHEMAS.min(rows),
            _ => rows.min(owners),
        })
    }
}

/// About how many bytes a value of a type takes in a page.
#[must_use]
pub fn value_bytes(ty: &SqlType) -> f64 {
    match ty {
        SqlType::Bool => 1.0,
        SqlType::Int2 => 2.0,
        SqlType::Int4 | SqlType::Float4 | SqlType::Date | SqlType::Oid => 4.0,
        SqlType::Numeric(Some(spec)) if spec.precision > 18 => 16.0,
        SqlType::Int8
        | SqlType::Float8
        | SqlType::Timestamp(_)
        | SqlType::Timestamptz(_)
        | SqlType::Numeric(Some(_)) => 8.0,
        SqlType::Char(Some(length)) => *length as f64 + 4.0,
        SqlType::Varchar(Some(length)) => (*length as f64 / 2.0).min(32.0) + 4.0,
        _ => 24.0,
    }
}
