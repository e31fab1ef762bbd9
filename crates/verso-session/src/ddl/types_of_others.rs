//! Types that come and go with something else: those of the rows of tables and views, and arrays. Statements about types refuse
//! them.

use verso_catalog::Relation;
use verso_exec::functions::quote_ident;
use verso_parser::syntax::QualifiedName;
use verso_planner::errors::{SqlError, sqlstate};

use super::Schema;
use super::domains::not_a_domain;

/// 2BP01
fn required(ty: &str, kind: &str, by: &str) -> SqlError {
    let text = format!("cannot drop type {ty} because {kind} {by} requires it");
    SqlError::new("2BP01", text).with_hint(format!("You can drop {kind} {by} instead."))
}

fn wrong(text: String) -> SqlError {
    SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text)
}

impl Schema<'_> {
    /// The table or view whose rows have the type of that name: what it is, and its name as the session writes it.
    fn of_rows(&self, schema: Option<&str>, name: &str) -> Option<(&'static str, String)> {
        let catalog = self.frame.catalog;
        let relation = catalog.relation(schema, name)?;
        let kind = match relation {
            Relation::Table(table) if table.materialized.is_some() => "materialized view",
            Relation::Table(_) => "table",
            Relation::View(_) => "view",
            Relation::Sequence(_) | Relation::Index(_) => return None,
        };
        let visible = catalog.relation(None, name).is_some_and(|found| found.oid() == relation.oid());
        let (schema, name) = (quote_ident(relation.schema()), quote_ident(name));
        Some((kind, if visible { name } else { format!("{schema}.{name}") }))
    }

    /// The type of the elements of an array type that is written by its own name, `_t`.
    fn of_elements(&self, schema: Option<&str>, name: &str) -> Option<String> {
        let element = name.strip_prefix('_')?;
        let catalog = self.frame.catalog;
        let own = catalog.type_named(schema, element).map(|ty| {
            let visible = catalog.is_visible_type(ty);
            let (schema, name) = (quote_ident(&ty.schema), quote_ident(&ty.name));
            if visible { name } else { format!("{schema}.{name}") }
        });
        own.or_else(|| self.of_rows(schema, element).map(|(_, shown)| shown))
    }

    /// What DROP TYPE and DROP DOMAIN say of such a type.
    pub(super) fn dropped_alone(&self, name: &QualifiedName, domain: bool) -> Option<SqlError> {
        let (schema, own) = (name.schema_text(), name.name.text.as_str());
        let error = match (self.of_rows(schema, own), self.of_elements(schema, own)) {
            (Some((kind, shown)), _) => required(&shown, kind, &shown),
            (None, Some(element)) => required(&format!("{element}[]"), "type", &element),
            (None, None) => return None,
        };
        Some(if domain { not_a_domain(own) } else { error })
    }

    /// What ALTER TYPE says of such a type, where it changes the name, the schema or the owner.
    pub(super) fn altered_alone(&self, name: &QualifiedName) -> Option<SqlError> {
        let (schema, own) = (name.schema_text(), name.name.text.as_str());
        if let Some((_, shown)) = self.of_rows(schema, own) {
            return Some(
                wrong(format!("{shown} is a table's row type")).with_hint("Use ALTER TABLE instead."),
            );
        }
        let element = self.of_elements(schema, own)?;
        let hint = format!("You can alter type {element}, which will alter the array type as well.");
        Some(wrong(format!("cannot alter array type {element}[]")).with_hint(hint))
    }

    /// What statements say of such a type that are about types of a kind.
    pub(super) fn is_row_type(&self, name: &QualifiedName) -> bool {
        self.of_rows(name.schema_text(), &name.name.text).is_some()
    }
}
