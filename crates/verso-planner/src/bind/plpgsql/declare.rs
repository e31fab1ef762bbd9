//! Declarations: what type a variable has, other names of variables, first values.

use std::sync::Arc;

use verso_catalog::{ColumnDef, Relation};
use verso_exec::plan::{ExprKind, PlDefault, PlLater, PlReturn, PlStatementKind, PlVariable, TypedExpr};
use verso_types::{CollatedType, NamedType, RowType, SqlType};

use super::super::scope::{Record, Variable};
use super::Body;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{self, Name, PlAlike};

/// What stands for a variable that gets its first value late: a name that none has.
pub(super) const FIRST: &str = " first";

/// Whether a variable of this type has the collation of the function's arguments.
fn takes_collation(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_))
}

impl Body<'_> {
    /// The type of a variable, which may be that of another one or of a column, or an array of it.
    pub(super) fn declared_type(&self, declaration: &syntax::PlDeclaration) -> Result<SqlType, SqlError> {
        let like = self.like_type(declaration).map_err(|error| match declaration.alike {
            PlAlike::Named => error,
            _ if declaration.like.is_empty() => error,
            // What it is like is looked up when the whole declaration was read.
            _ => SqlError { position: None, ..error },
        })?;
        let ty = match (&declaration.ty, like) {
            // An array of arrays is an array of more dimensions.
            (SqlType::Array(_), ty) if !declaration.like.is_empty() && !matches!(ty, SqlType::Array(_)) => {
                SqlType::Array(Box::new(ty))
            }
            (_, ty) => ty,
        };
        let pseudo = match &ty {
            SqlType::Array(element) if element.is_row() && element.composite().is_none() => {
                Some("record[]".to_owned())
            }
            // What an argument is, it is in each call; a declaration cannot say so.
            SqlType::System(system) if system.is_polymorphic() => Some(ty.pg_name()),
            SqlType::Void => Some("void".to_owned()),
            _ => None,
        };
        if let Some(pseudo) = pseudo {
            let text = format!("variable \"{}\" has pseudo-type {pseudo}", declaration.name.text);
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        let Some((collation, at)) = &declaration.collation else {
            return Ok(match &self.collation {
                Some(collation) if declaration.like.is_empty() && takes_collation(&ty) => {
                    SqlType::Collated(Arc::new(CollatedType { base: ty, collation: Arc::clone(collation) }))
                }
                _ => ty,
            });
        };
        let found = self.binder.collation_named(collation.schema_text(), &collation.name.text, 0);
        let found = found.map_err(|error| SqlError { position: None, ..error })?;
        self.binder.with_collation(ty, &found.collation).map_err(|error| error.at(*at))
    }

    fn like_type(&self, declaration: &syntax::PlDeclaration) -> Result<SqlType, SqlError> {
        if declaration.alike == PlAlike::Named {
            match self.binder.data_type(&declaration.ty) {
                Ok(ty) => return Ok(ty),
                Err(error) if error.sqlstate == sqlstate::INVALID_SCHEMA_NAME => return Err(error),
                Err(_) => {}
            }
        }
        if matches!(declaration.alike, PlAlike::Row | PlAlike::Named) && !declaration.like.is_empty() {
            return self.row_type(&declaration.like, declaration.alike);
        }
        let (schema, table, column) = match declaration.like.as_slice() {
            [] => return self.binder.data_type(&declaration.ty),
            [name] => {
                if let (Some(result), "$0") = (&self.result, name.text.as_str()) {
                    return Ok(result.clone());
                }
                let known = self.binder.variables.iter().rev().find(|variable| *variable.name == *name.text);
                return known.map(|variable| variable.ty.clone()).ok_or_else(|| {
                    let text = format!("variable \"{}\" does not exist", name.text);
                    SqlError::new(sqlstate::UNDEFINED_OBJECT, text).at(name.at.start)
                });
            }
            [block, name] => {
                let own =
                    |variable: &&Variable| *variable.block == *block.text && *variable.name == *name.text;
                if let Some(variable) = self.binder.variables.iter().rev().find(own) {
                    return Ok(variable.ty.clone());
                }
                (None, block, name)
            }
            [schema, table, column] => (Some(schema.clone()), table, column),
            [first, ..] => {
                return Err(SqlError::unsupported("a reference to another database").at(first.at.start));
            }
        };
        let name = syntax::QualifiedName { schema, name: table.clone() };
        if let Ok(table) = self.binder.table(&name) {
            let found = table.columns.iter().find(|known| *known.name == *column.text);
            return found.map(|found| found.declared().clone()).ok_or_else(|| no_column(column, &table.name));
        }
        let fields = self.relation_fields(&name)?;
        let found = fields.into_iter().find(|(name, _)| **name == *column.text);
        found.map(|(_, ty)| ty).ok_or_else(|| no_column(column, &table.text))
    }

    /// The type of the rows of a table.
    fn row_type(&self, names: &[Name], alike: PlAlike) -> Result<SqlType, SqlError> {
        let (schema, name) = match names {
            [name] => (None, name),
            [schema, name] => (Some(schema.clone()), name),
            _ => return Err(SqlError::unsupported("a reference to another database")),
        };
        if let ([name], PlAlike::Row) = (names, alike)
            && let Some(known) = self.binder.variables.iter().rev().find(|known| *known.name == *name.text)
            && known.ty.is_row()
        {
            return Ok(known.ty.clone());
        }
        let relation = syntax::QualifiedName { schema, name: name.clone() };
        if let Ok(table) = self.binder.table(&relation) {
            let known = self.binder.catalog.relation_by_oid(table.oid).and_then(Relation::row_type);
            return Ok(known.map_or_else(|| row_of(table.shown().iter().map(field_of)), |known| known.ty));
        }
        match self.relation_fields(&relation) {
            Err(error) if alike == PlAlike::Named && error.sqlstate == sqlstate::UNDEFINED_TABLE => {
                let text = format!("type \"{}\" does not exist", relation);
                Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).at(relation.at().start))
            }
            fields => fields.map(|fields| row_of(fields.into_iter())),
        }
    }

    /// The columns of a relation that is no table: of a view, a composite type, a view of the system.
    fn relation_fields(&self, name: &syntax::QualifiedName) -> Result<Vec<(Arc<str>, SqlType)>, SqlError> {
        let named = NamedType {
            schema: name.schema_text().map(Into::into),
            name: name.name.text.as_str().into(),
            at: name.at().start,
        };
        if let Ok(SqlType::Row(row)) = self.binder.data_type(&SqlType::Named(Arc::new(named))) {
            return Ok(row.fields.to_vec());
        }
        let quoted: Vec<String> =
            name.schema_text().into_iter().chain([&*name.name.text]).map(verso_parser::quoted).collect();
        let text = format!("SELECT * FROM {}", quoted.join("."));
        let parsed = verso_parser::parse_script(&text)?.pop();
        let parsed = parsed.ok_or_else(|| SqlError::internal("a query that is none"))?;
        let columns = self.binder.statement(&parsed.statement).map_err(|error| match error.sqlstate {
            sqlstate::UNDEFINED_TABLE
                if name.schema_text().is_some_and(|schema| self.binder.catalog.schema(schema).is_none()) =>
            {
                let text = format!("schema \"{}\" does not exist", name.schema_text().unwrap_or_default());
                SqlError::new(sqlstate::INVALID_SCHEMA_NAME, text)
            }
            sqlstate::UNDEFINED_TABLE => {
                let text = format!("relation \"{name}\" does not exist");
                SqlError::new(sqlstate::UNDEFINED_TABLE, text)
            }
            _ => SqlError { position: None, ..error },
        })?;
        Ok(columns.output().into_iter().map(|column| (column.name, column.ty)).collect())
    }

    /// `a ALIAS FOR b`.
    pub(super) fn alias(&mut self, name: &Name, of: &[Name]) -> Result<(), SqlError> {
        // What is returned; only the function itself gives it a value.
        if let ([zero], PlReturn::Scalar(ty)) = (of, &self.returns)
            && zero.text == "$0"
        {
            let ty = ty.clone();
            self.declare(&name.text, ty, false);
            return Ok(());
        }
        // NEW or OLD of a trigger.
        if let [one] = of
            && let Some(record) = self.binder.records.iter().rev().find(|known| *known.name == *one.text)
        {
            let record = Record { name: name.text.as_str().into(), ..record.clone() };
            self.binder.records.push(record);
            return Ok(());
        }
        let Some((known, [])) = self.binder.variable_of(of) else {
            let text = match of {
                [of] => format!("variable \"{}\" does not exist", of.text),
                _ => "an alias for such a variable does not exist".to_string(),
            };
            let at = of.first().map_or(0, |of| of.at.start);
            return Err(self.refuse(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).at(at)));
        };
        let known = known.clone();
        let (block, name) = (Arc::clone(&self.block), name.text.as_str().into());
        self.binder.variables.push(Variable { block, name, ..known });
        Ok(())
    }

    /// The first value of the variable that is declared next.
    pub(super) fn first(
        &mut self,
        declaration: &syntax::PlDeclaration,
        ty: &SqlType,
    ) -> Result<PlDefault, SqlError> {
        let Some(value) = &declaration.default else {
            return match ty.is_constrained() {
                true => self.binder.of_domain(TypedExpr::null(ty.erased()), ty).map(PlDefault::Value),
                false => Ok(PlDefault::Null),
            };
        };
        let slot = self.variables.len();
        let bound = match ty.is_row() {
            true => self.row_assignment(slot, ty, value).map(|kind| PlDefault::Statement(Box::new(kind))),
            false => self.first_value(value, &declaration.name.text, ty).map(PlDefault::Value),
        };
        // Within a body the catalog may have become another one when a block is reached.
        let renews = self.depth > 1 && (self.defines || self.ends);
        let asks =
            |default: &PlDefault| matches!(default, PlDefault::Value(value) if value.any(&mut queries));
        let is_late = renews && bound.as_ref().is_ok_and(asks);
        if self.refused.get() || bound.is_ok() && !is_late {
            return bound;
        }
        // It is bound when it is reached: as an assignment, under a name that no variable has.
        self.noted.take();
        let name = Name { text: FIRST.to_owned(), at: declaration.name.at };
        let block = Arc::clone(&self.block);
        let (hidden, own) = (name.text.as_str().into(), ty.clone());
        self.binder.variables.push(Variable { block, name: hidden, slot, ty: own, conflict: self.conflict });
        let (shown, own) = (declaration.name.text.as_str().into(), ty.clone());
        self.variables.push(PlVariable { name: shown, ty: own, not_null: declaration.not_null });
        let assignment =
            syntax::PlStatementKind::Assign { target: vec![name], path: Vec::new(), value: value.clone() };
        let unbound = Box::new(self.waiting(&assignment));
        self.binder.variables.pop();
        self.variables.pop();
        let later = PlLater { name: "assignment", records: self.open.clone(), unbound, bound: None };
        Ok(PlDefault::Statement(Box::new(PlStatementKind::Later(Arc::new(later)))))
    }
}

/// Whether a part of a value is a query or a call of somebody's function.
fn queries(part: &TypedExpr) -> bool {
    matches!(part.kind, ExprKind::Subquery { .. } | ExprKind::UserCall { .. })
}

fn no_column(column: &Name, relation: &str) -> SqlError {
    let text = format!("column \"{}\" of relation \"{relation}\" does not exist", column.text);
    SqlError::new(sqlstate::UNDEFINED_COLUMN, text).at(column.at.start)
}

fn field_of(column: &ColumnDef) -> (Arc<str>, SqlType) {
    (Arc::clone(&column.name), column.seen())
}

fn row_of(fields: impl Iterator<Item = (Arc<str>, SqlType)>) -> SqlType {
    SqlType::Row(Arc::new(RowType::unnamed(fields.collect())))
}
