//! What values are assigned to: variables, their fields and elements, rows.

use std::sync::Arc;

use verso_exec::plan::{ExprKind, PlPlace, PlStatementKind, PlTargets, TypedExpr};
use verso_types::{CastKind, RowType, SqlType, Value};

use super::Body;
use super::later::is_first;
use super::not_assigned;
use crate::bind::scope::Variable;
use crate::bind::trigger::no_field;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, Name, PlTarget, Step};

impl Body<'_> {
    /// The variable or field that a name means.
    pub(super) fn place(&self, target: &[Name]) -> Result<PlPlace, SqlError> {
        if let [record, field] = target
            && let Some(known) = self.binder.records.iter().rev().find(|known| *known.name == *record.text)
        {
            let at = known.columns.iter().position(|(name, _)| **name == *field.text);
            let at = at.ok_or_else(|| no_field(record, field))?;
            return Ok(PlPlace { slot: known.first + at, field: None, ty: known.columns[at].1.clone() });
        }
        let Some((variable, rest)) = self.binder.variable_of(target) else {
            return Err(self.unknown(target));
        };
        self.check_changeable(variable, target)?;
        let (slot, ty) = (variable.slot, variable.ty.clone());
        let record = &target[target.len() - rest.len() - 1];
        match (rest, ty) {
            // A record may come to have other fields than it has now.
            ([], _) if self.open.contains(&slot) => Ok(PlPlace { slot, field: None, ty: SqlType::Record }),
            ([], ty) => Ok(PlPlace { slot, field: None, ty }),
            ([_], SqlType::Record) => Err(not_assigned(&record.text)),
            ([_], SqlType::Row(row)) if row.fields.is_empty() => Err(not_assigned(&record.text)),
            ([field], SqlType::Row(row)) => {
                let at = row.fields.iter().position(|(name, _)| **name == *field.text);
                let at = at.ok_or_else(|| no_field(record, field))?;
                Ok(PlPlace { slot, field: Some((at, row.fields.len())), ty: row.declared(at).clone() })
            }
            ([.., field], ty @ SqlType::Domain(_)) if ty.erased().is_row() => {
                let text = "a field of a variable of a domain as one of several targets";
                Err(SqlError::unsupported(text).at(field.at.start))
            }
            ([_, field, ..], SqlType::Row(_) | SqlType::Record) => {
                Err(SqlError::unsupported("assignment to a field of a field").at(field.at.start))
            }
            _ => Err(self.unknown(target)),
        }
    }

    /// The same for what comes out of a procedure: a constant is refused when it is called.
    pub(super) fn place_of_call(&self, target: &[Name]) -> Result<PlPlace, SqlError> {
        let known = self.binder.variable_of(target).filter(|(known, _)| self.constants.contains(&known.slot));
        match known {
            Some((known, _)) => {
                let text = format!("variable \"{}\" is declared CONSTANT", known.name);
                Err(SqlError::new("22005", text))
            }
            None => self.place(target),
        }
    }

    /// Refuses a constant.
    fn check_changeable(&self, variable: &Variable, target: &[Name]) -> Result<(), SqlError> {
        if self.constants.contains(&variable.slot) {
            let text = format!("variable \"{}\" is declared CONSTANT", variable.name);
            return Err(self.refuse(SqlError::new("22005", text).at(target[0].at.start)));
        }
        Ok(())
    }

    /// NEW or OLD of a trigger as a whole.
    fn trigger_row(&self, target: &[Name]) -> Option<PlTargets> {
        let [name] = target else { return None };
        let record = self.binder.records.iter().rev().find(|known| *known.name == *name.text)?;
        let types = record.columns.iter().map(|(_, ty)| ty.clone()).collect();
        Some(PlTargets::TriggerRow { first: record.first, types })
    }

    fn unknown(&self, target: &[Name]) -> SqlError {
        let names: Vec<&str> = target.iter().map(|name| name.text.as_str()).collect();
        let at = target.first().map_or(0, |name| name.at.start);
        self.refuse(SqlError::syntax(format!("\"{}\" is not a known variable", names.join("."))).at(at))
    }

    /// What takes the columns of a row.
    pub(super) fn targets(&self, names: &[PlTarget]) -> Result<PlTargets, SqlError> {
        if let [only] = names
            && let Some(row) = self.trigger_row(only)
        {
            return Ok(row);
        }
        // Its domain would have to be asked about the row as a whole.
        if let [only] = names
            && let PlPlace { ty: ty @ SqlType::Domain(_), field: None, .. } = self.place(only)?
            && ty.erased().is_row()
        {
            let text = "columns of a row for a variable of a domain over a composite type";
            return Err(SqlError::unsupported(text).at(only.first().map_or(0, |name| name.at.start)));
        }
        // A field that is a row takes one value, as others do.
        let is_whole = |place: &PlPlace| place.ty.is_row() && place.field.is_none();
        if let [only] = names
            && let place = self.place(only)?
            && is_whole(&place)
        {
            return Ok(match &place.ty {
                SqlType::Row(row) => {
                    let types = row.as_declared().map(|(_, ty)| ty.clone()).collect();
                    PlTargets::Row { slot: place.slot, types }
                }
                _ => PlTargets::Record { slot: place.slot },
            });
        }
        let one = |target: &PlTarget| {
            let place = self.place(target)?;
            match is_whole(&place) {
                true => Err(self.no_scalar(target)),
                false => Ok(place),
            }
        };
        if let [first, _, ..] = names
            && (self.trigger_row(first).is_some() || is_whole(&self.place(first)?))
        {
            let text = "record variable cannot be part of multiple-item INTO list";
            let comma = first.last().map_or(0, |name| name.at.end);
            return Err(self.refuse(SqlError::syntax(text).at(comma)));
        }
        Ok(PlTargets::Places(names.iter().map(one).collect::<Result<_, _>>()?))
    }

    /// A row where a value of one column is wanted.
    pub(super) fn no_scalar(&self, target: &[Name]) -> SqlError {
        let at = target.first().map_or(0, |name| name.at.start);
        let names: Vec<&str> = target.iter().map(|name| name.text.as_str()).collect();
        self.refuse(SqlError::syntax(format!("\"{}\" is not a scalar variable", names.join("."))).at(at))
    }

    /// What takes the rows of a loop.
    pub(super) fn loop_targets(&self, names: &[PlTarget]) -> Result<PlTargets, SqlError> {
        let text = "loop variable of loop over rows must be a record variable or list of scalar variables";
        if let [first, _, ..] = names
            && (self.trigger_row(first).is_some()
                || self.binder.variable_of(first).is_some() && self.place(first)?.ty.is_row())
        {
            let comma = first.last().map_or(0, |name| name.at.end);
            return Err(self.refuse(SqlError::syntax("syntax error at or near \",\"").at(comma)));
        }
        self.known_targets(names, text)
    }

    /// What takes the elements of FOREACH.
    pub(super) fn foreach_targets(&self, names: &[PlTarget]) -> Result<PlTargets, SqlError> {
        self.known_targets(names, "loop variable of FOREACH must be a known variable or list of variables")
    }

    /// An unknown name in the first place is told so; one behind it as everywhere.
    fn known_targets(&self, names: &[PlTarget], text: &str) -> Result<PlTargets, SqlError> {
        let of_trigger = |name: &Name| self.binder.records.iter().any(|known| *known.name == *name.text);
        if let Some(first) = names.first()
            && self.binder.variable_of(first).is_none()
            && !first.first().is_some_and(of_trigger)
        {
            let at = first.first().map_or(0, |name| name.at.start);
            return Err(self.refuse(SqlError::syntax(text).at(at)));
        }
        self.targets(names)
    }

    /// `a := e`, `a.b := e`, `a[i] := e`.
    pub(super) fn assignment(
        &self,
        target: &PlTarget,
        path: &[Step],
        value: &Expr,
    ) -> Result<PlStatementKind, SqlError> {
        // Positions and messages name what stands last.
        let Some(name) = target.last() else { return Err(SqlError::internal("an assignment to nothing")) };
        if let Some(row) = self.trigger_row(target) {
            let (value, shape) = self.row_value(value)?;
            return Ok(PlStatementKind::AssignRow { target: row, value, shape });
        }
        // A field of a column of NEW.
        if let [record, _, rest @ ..] = target.as_slice()
            && !rest.is_empty()
            && self.binder.records.iter().any(|known| *known.name == *record.text)
        {
            let PlPlace { slot, ty, .. } = self.place(&target[..2])?;
            let fields = rest.iter().map(|field| Step::Field(field.clone()));
            let steps: Vec<Step> = fields.chain(path.iter().cloned()).collect();
            let value = self.value_within(slot, &ty, record, &steps, value)?;
            return Ok(PlStatementKind::Assign { slot, value });
        }
        // Of a domain it is asked about the row as it is then.
        let within = |variable: &Variable, rest: &[Name]| match &variable.ty {
            SqlType::Row(_) => rest.len() > 1,
            domain @ SqlType::Domain(_) => !rest.is_empty() && domain.erased().is_row(),
            _ => false,
        };
        if let Some((variable, rest)) = self.binder.variable_of(target)
            && within(variable, rest)
        {
            self.check_changeable(variable, target)?;
            let fields = rest.iter().map(|field| Step::Field(field.clone()));
            let steps: Vec<Step> = fields.chain(path.iter().cloned()).collect();
            let (slot, ty) = (variable.slot, variable.ty.clone());
            let value =
                self.value_within(slot, &ty, &target[target.len() - rest.len() - 1], &steps, value)?;
            return Ok(PlStatementKind::Assign { slot, value });
        }
        let PlPlace { slot, field, ty } = self.place(target)?;
        match field {
            None if ty.is_row() && path.is_empty() => match self.row_assignment(slot, &ty, value) {
                Err(error) if error.sqlstate == sqlstate::DATATYPE_MISMATCH && !is_first(target) => {
                    self.row_by_way_of_text(slot, &ty, value)
                }
                assignment => assignment,
            },
            None if path.is_empty() => {
                Ok(PlStatementKind::Assign { slot, value: self.value(value, &name.text, &ty)? })
            }
            None => {
                Ok(PlStatementKind::Assign { slot, value: self.value_within(slot, &ty, name, path, value)? })
            }
            Some(field) => {
                let value = match path {
                    [] => self.value(value, &name.text, &ty)?,
                    path => {
                        let old = self.binder.of_row_variable(target)?;
                        let old = old.ok_or_else(|| SqlError::internal("a field that is not there"))?;
                        let new = self.changed_within(old, name, path, value)?;
                        self.binder.of_domain(new, &ty)?
                    }
                };
                Ok(PlStatementKind::AssignField { place: PlPlace { slot, field: Some(field), ty }, value })
            }
        }
    }

    /// `r := e` of a row, where the value is none.
    fn row_by_way_of_text(
        &self,
        slot: usize,
        ty: &SqlType,
        value: &Expr,
    ) -> Result<PlStatementKind, SqlError> {
        if !matches!(ty, SqlType::Row(_)) {
            let text = "input of anonymous composite types is not implemented";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(value.at.start));
        }
        let (bound, at) = (self.bind(value)?, value.at.start);
        let value = match bound.ty {
            // A literal is read here, and what is wrong with it points at it.
            SqlType::Unknown => self.binder.coerce(bound, at, ty, CastKind::Assignment)?,
            _ => self.binder.by_way_of_text(bound, at, ty)?,
        };
        Ok(PlStatementKind::Assign { slot, value })
    }

    /// `r := e` of a row or a record.
    pub(super) fn row_assignment(
        &self,
        slot: usize,
        ty: &SqlType,
        value: &Expr,
    ) -> Result<PlStatementKind, SqlError> {
        let (value, shape) = self.row_value(value)?;
        let target = match ty {
            SqlType::Row(row) => {
                PlTargets::Row { slot, types: row.as_declared().map(|(_, ty)| ty.clone()).collect() }
            }
            _ => PlTargets::Record { slot },
        };
        Ok(PlStatementKind::AssignRow { target, value, shape })
    }

    /// A row, or NULL, and its fields.
    pub(super) fn row_value(&self, value: &Expr) -> Result<(TypedExpr, Arc<RowType>), SqlError> {
        let bound = self.bind(value)?;
        let named =
            |n: usize, ty: &SqlType| -> (Arc<str>, SqlType) { (format!("f{}", n + 1).into(), ty.clone()) };
        let shape = match (&bound.ty, &bound.kind) {
            (SqlType::Row(row), _) => Arc::clone(row),
            (SqlType::Record, ExprKind::Row(parts)) => {
                let fields = parts.iter().enumerate().map(|(n, part)| named(n, &part.ty)).collect();
                Arc::new(RowType::unnamed(fields))
            }
            (SqlType::Unknown, ExprKind::Literal(Value::Null)) => Arc::new(RowType::unnamed(Vec::new())),
            (SqlType::Record, _) => {
                return Err(SqlError::unsupported("a record whose fields are not known").at(value.at.start));
            }
            _ => {
                let text = "cannot assign non-composite value to a record variable";
                return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
            }
        };
        Ok((bound, shape))
    }
}
