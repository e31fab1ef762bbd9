//! Columns of ALTER TABLE: added, of another type, with an identity, with what is kept beside them.

use std::sync::Arc;

use verso_catalog::{COLUMN_COMPRESSION, COLUMN_STORAGE, ColumnDef, Identity, TableChange, TableDef};
use verso_exec::plan::{ExprKind, TypedExpr};
use verso_types::{CastKind, SqlType, Value};

use super::alter_constraints::of_table;
use super::retype::Retyped;
use super::row_types::refuse_held;
use super::sequence::change_of_sequence;
use super::{Schema, text};
use crate::failure::Failure;
use verso_parser::syntax::{
    AlterAction, ColumnDefinition, ConstraintClause, Expr, Name, QualifiedName, SequenceOptions,
};
use verso_planner::bind::{Binder, columns_in_scope};
use verso_planner::errors::{SqlError, sqlstate};

/// Greatest number that SET STATISTICS takes.
const STATISTICS_MAX: u16 = 10_000;

/// The column of an ALTER COLUMN.
pub(super) fn column_named<'t>(table: &'t TableDef, column: &Name) -> Result<&'t ColumnDef, SqlError> {
    let found = table.shown().iter().find(|known| *known.name == *column.text);
    found.ok_or_else(|| {
        let text = format!("column \"{}\" of relation \"{}\" does not exist", column.text, table.name);
        SqlError::new(sqlstate::UNDEFINED_COLUMN, text)
    })
}

/// STORAGE of a column as its letter; none for that of its type.
pub(super) fn storage_letter(ty: &SqlType, how: &Name) -> Result<Option<Arc<str>>, SqlError> {
    let known = crate::catalogs::storage_of(ty);
    let wanted = match how.text.to_ascii_lowercase().as_str() {
        "plain" => 'p',
        "external" => 'e',
        "extended" => 'x',
        "main" => 'm',
        "default" => known,
        _ => return Err(SqlError::new("22023", format!("invalid storage type \"{}\"", how.text))),
    };
    if wanted == known {
        return Ok(None);
    }
    if known == 'p' {
        let shown = ty.without_modifiers().pg_name();
        let text = format!("column data type {shown} can only have storage PLAIN");
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
    }
    Ok(Some(wanted.to_string().into()))
}

/// COMPRESSION of a column as its letter; none for DEFAULT.
pub(super) fn compression_letter(ty: &SqlType, method: &Name) -> Result<Option<Arc<str>>, SqlError> {
    if crate::catalogs::storage_of(ty) == 'p' {
        let shown = ty.without_modifiers().pg_name();
        let text = format!("column data type {shown} does not support compression");
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
    }
    match method.text.to_ascii_lowercase().as_str() {
        "default" => Ok(None),
        "pglz" => Ok(Some("p".into())),
        "lz4" => Ok(Some("l".into())),
        _ => Err(SqlError::new("22023", format!("invalid compression method \"{}\"", method.text))),
    }
}

/// What a new column says of how its values are kept, as options of it.
pub(super) fn kept_as(column: &ColumnDefinition, ty: &SqlType) -> Result<ColumnWords, SqlError> {
    let storage = column.storage.as_ref().map(|how| storage_letter(ty, how)).transpose()?.flatten();
    let compression =
        column.compression.as_ref().map(|method| compression_letter(ty, method)).transpose()?.flatten();
    let word =
        |name: &str, letter: Option<Arc<str>>| letter.map(|letter| (Arc::<str>::from(name), Some(letter)));
    Ok(word(COLUMN_STORAGE, storage).into_iter().chain(word(COLUMN_COMPRESSION, compression)).collect())
}

/// Options of a column with their values; none takes one away.
pub(super) type ColumnWords = Vec<(Arc<str>, Option<Arc<str>>)>;

/// A value brought to the new type of its column, where an assignment would do so.
fn converted(value: TypedExpr, column: &Name, ty: &SqlType, using: bool) -> Result<TypedExpr, SqlError> {
    let kind = CastKind::Assignment;
    let fits = verso_types::cast_kind(&value.ty, ty).is_some_and(|weakest| weakest <= kind);
    if fits || value.ty == *ty {
        let cast = ExprKind::Cast { arg: Box::new(value), kind };
        return Ok(TypedExpr::new(cast, ty.erased()));
    }
    let (column, shown) = (&column.text, ty.without_modifiers().pg_name());
    let (text, hint) = if using {
        let text = format!(
            "result of USING clause for column \"{column}\" cannot be cast automatically to type {shown}"
        );
        (text, "You might need to add an explicit cast.".to_string())
    } else {
        let text = format!("column \"{column}\" cannot be cast automatically to type {shown}");
        (text, format!("You might need to specify \"USING {column}::{shown}\"."))
    };
    Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).with_hint(hint))
}

impl Schema<'_> {
    pub(super) fn add_column(
        &self,
        binder: &Binder<'_>,
        name: &QualifiedName,
        table: &TableDef,
        column: &ColumnDefinition,
        if_not_exists: bool,
    ) -> Result<(), Failure> {
        if if_not_exists && table.column(&column.name.text).is_some() {
            self.skip_part(sqlstate::DUPLICATE_COLUMN, "column", &column.name, table, "already exists");
            return Ok(());
        }
        let mut new = self.new_column(binder, &table.name, column)?;
        let mut value = None;
        if let Some((expr, text)) = &column.generated {
            let scope = columns_in_scope(table);
            let ty = new.ty.erased();
            let of = (&*column.name.text, &ty);
            let bind = |binder: &Binder<'_>| binder.generation(expr, &table.name, &scope, of);
            let (text, bound) = of_table(binder.clone(), table, text)?.kept_text(expr, text, bind)?;
            match new.is_virtual {
                true => binder.check_virtual(&column.name.text, &new.ty, (&bound, &text))?,
                false => value = Some(bound),
            }
            new.default = Some(text.into());
        }
        let default = column.default.as_ref();
        let default = default
            .map(|(expr, _)| binder.default_value(expr, &column.name.text, &new.ty.erased()))
            .transpose()?;
        let holders = self.holders(table, None)?;
        let is_null = |value: &TypedExpr| matches!(value.kind, ExprKind::Literal(Value::Null));
        if value.iter().chain(&default).any(|value| !is_null(value)) {
            refuse_held(table, &holders)?;
        }
        let words = kept_as(column, &new.ty)?;
        self.rewrite(name, &TableChange::AddColumn(new), |_| Ok(value.or(default)))?;
        self.tell_column(name, &column.name.text, words)?;
        self.reshape_all(&holders)?;
        for constraint in &column.constraints {
            // The column was made with one, which gets the name that was given.
            let action = match (&constraint.clause, &constraint.name) {
                (ConstraintClause::NotNull(_), Some(to)) if !constraint.no_inherit => {
                    match self.not_null_made(name, column)? {
                        Some(made) if made.text == to.text => continue,
                        Some(made) => AlterAction::RenameConstraint { name: made, to: to.clone() },
                        None => AlterAction::AddConstraint(constraint.clone()),
                    }
                }
                _ => AlterAction::AddConstraint(constraint.clone()),
            };
            self.frame.inside(|frame| Schema { frame }.alter_action(name, &action, false))?;
        }
        Ok(())
    }

    /// The name of the NOT NULL that a new column has.
    fn not_null_made(
        &self,
        name: &QualifiedName,
        column: &ColumnDefinition,
    ) -> Result<Option<Name>, Failure> {
        self.frame.inside_now(|frame| {
            let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
            let table = binder.target(name)?;
            let made = table.column(&column.name.text).and_then(|at| table.not_null_of(table.columns[at].id));
            Ok(made.map(|made| Name { text: made.name.to_string(), at: column.name.at }))
        })
    }

    /// ALTER COLUMN … SET GENERATED, and the options of the sequence of an identity column.
    pub(super) fn set_identity(
        &self,
        name: &QualifiedName,
        table: &TableDef,
        column: &Name,
        identity: Option<Identity>,
        options: &SequenceOptions,
    ) -> Result<(), Failure> {
        let known = table.column(&column.text).map(|at| &table.columns[at]);
        if let Some(known) = known.filter(|known| known.identity.is_some())
            && *options != SequenceOptions::default()
        {
            let sequence = self.frame.catalog.identity_sequence(table, known).cloned();
            let sequence =
                sequence.ok_or_else(|| SqlError::internal("an identity column without a sequence"))?;
            let change = change_of_sequence(options);
            let catalog = &self.frame.services.instance.catalog;
            let place = (Some(&*sequence.schema), &*sequence.name);
            let txn = &mut self.frame.txn.borrow_mut();
            catalog.alter_sequence(txn, place, self.frame.catalog.version, &change)?;
        }
        match (known.and_then(|known| known.identity), identity) {
            (Some(_), None) => Ok(()),
            // What is wrong with the column is said there.
            (known, identity) => {
                let identity = identity.or(known).unwrap_or(Identity::Always);
                self.alter(name, &TableChange::SetIdentity { column: text(column), identity })
            }
        }
    }

    /// ALTER COLUMN TYPE.
    pub(super) fn column_type(
        &self,
        binder: &Binder<'_>,
        name: &QualifiedName,
        table: &Arc<TableDef>,
        column: &Name,
        ty: &SqlType,
        using: Option<&Expr>,
    ) -> Result<(), Failure> {
        let at = table.column(&column.text);
        let change = || -> Result<TableChange, Failure> {
            let Retyped { hidden, texts } = match at {
                Some(at) => self.retyped(table, at, ty)?,
                None => Retyped::default(),
            };
            Ok(TableChange::ColumnType { column: text(column), ty: ty.clone(), hidden, texts })
        };
        if let Some(generated) = at.map(|at| &table.columns[at]).filter(|column| column.generated) {
            if let Some(using) = using {
                let text = "cannot specify USING when altering type of generated column";
                let detail = format!("Column \"{}\" is a generated column.", column.text);
                let code = "42611";
                return Err(SqlError::new(code, text).with_detail(detail).at(using.at.start).into());
            }
            let other = ColumnDef { ty: ty.erased(), ..generated.clone() };
            let value = binder.stored_generation(&other, table)?;
            if generated.is_virtual {
                let text = generated.default.as_deref().unwrap_or_default();
                binder.check_virtual(&column.text, ty, (&value, text))?;
            }
            let value = (!generated.is_virtual).then_some(value);
            return self.rewrite(name, &change()?, |_| Ok(value)).map(drop);
        }
        refuse_held(table, &self.holders(table, None)?)?;
        let using = using.map(|using| binder.conversion(using, table, ty)).transpose()?;
        let value = |old: &TableDef| {
            let at = at.unwrap_or_default();
            let own = || TypedExpr::column(at, old.columns[at].ty.clone());
            converted(using.clone().unwrap_or_else(own), column, ty, using.is_some()).map(Some)
        };
        // Of what is wrong that comes first.
        at.map_or(Ok(None), |_| value(table))?;
        self.rewrite(name, &change()?, value).map(drop)
    }

    /// What SET STATISTICS says of a column; none for as many values as usual.
    pub(super) fn column_target(&self, target: Option<i64>) -> Result<Option<u16>, SqlError> {
        let target = target.filter(|target| *target != -1);
        if let Some(target) = target.filter(|target| *target < 0) {
            return Err(SqlError::new("22023", format!("statistics target {target} is too low")));
        }
        if target.is_some_and(|target| target > i64::from(STATISTICS_MAX)) {
            let text = format!("lowering statistics target to {STATISTICS_MAX}");
            self.frame.services.notices.warn("22023", &text);
        }
        let least = |target: i64| u16::try_from(target).unwrap_or(STATISTICS_MAX).min(STATISTICS_MAX);
        Ok(target.map(least))
    }

    /// Sets options of a column, of a table also that was made just now.
    pub(super) fn tell_column(
        &self,
        name: &QualifiedName,
        column: &str,
        options: ColumnWords,
    ) -> Result<(), Failure> {
        if options.is_empty() {
            return Ok(());
        }
        let change = TableChange::ColumnOptions { column: column.into(), options };
        self.frame.inside_now(|frame| Schema { frame }.alter(name, &change))
    }
}
