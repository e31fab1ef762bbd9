//! FOR VALUES …: the bound of a new partition.

use std::cmp::Ordering;

use verso_catalog::partition::{Bound, Datum, Edge, Strategy, bound};
use verso_catalog::{PartitionOf, Partitioned, TableDef};
use verso_exec::ExecError;
use verso_exec::exec::{Sink, execute};
use verso_exec::plan::{OutputColumn, Plan, Statement};
use verso_parser::syntax::{self, Expr, PartitionBound, PartitionEdge};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};
use verso_types::{Batch, SqlType, TimeStyle, Value, format_text};

use super::super::Schema;
use super::invalid;
use crate::failure::Failure;

/// The one value that a query yields.
struct First<'s> {
    ty: &'s SqlType,
    value: Value,
}

impl Sink for First<'_> {
    fn batch(&mut self, batch: &Batch) -> Result<(), ExecError> {
        if let (1.., Some(column)) = (batch.rows, batch.columns.first()) {
            self.value = column.value(0, self.ty);
        }
        Ok(())
    }
}

impl Schema<'_> {
    /// The bound of a new partition.
    pub(in crate::ddl) fn bound(
        &self,
        binder: &Binder<'_>,
        name: &str,
        parent: &TableDef,
        partitioned: &Partitioned,
        of: &syntax::PartitionOf,
    ) -> Result<Bound, Failure> {
        let names = binder.partition_key_texts(parent, partitioned);
        let column = |at: usize| match partitioned.columns.get(at).and_then(|id| parent.column_with_id(*id)) {
            Some(place) if !parent.columns[place].is_hidden() => &*parent.columns[place].name,
            // That of an expression is its text.
            _ => names.get(at).map_or("", |name| name),
        };
        let unfit = || {
            let strategy = partitioned.strategy.word().to_ascii_lowercase();
            let text = format!("invalid bound specification for a {strategy} partition");
            Failure::from(invalid(text).at(of.at.start))
        };
        let value = |at: usize, expr: &Expr| -> Result<Datum, Failure> {
            let ty = partitioned.types.get(at).ok_or_else(unfit)?;
            self.datum(binder, column(at), ty, expr)
        };
        Ok(match (&of.bound, partitioned.strategy) {
            (PartitionBound::Default, Strategy::Hash) => {
                return Err(invalid("a hash-partitioned table may not have a default partition").into());
            }
            (PartitionBound::Default, _) => Bound::Default,
            (PartitionBound::In(values), Strategy::List) => {
                let mut known: Vec<Datum> = Vec::new();
                for expr in values {
                    let datum = value(0, expr)?;
                    if !known.iter().any(|known| known.key == datum.key) {
                        known.push(datum);
                    }
                }
                Bound::List(known)
            }
            (PartitionBound::Range { from, to }, Strategy::Range) => {
                for (edges, word) in [(from, "FROM"), (to, "TO")] {
                    if edges.len() != partitioned.columns.len() {
                        let text = format!("{word} must specify exactly one value per partitioning column");
                        return Err(invalid(text).into());
                    }
                    check_edges(edges)?;
                }
                let edges = |edges: &[PartitionEdge]| {
                    let edge = |(at, edge): (usize, &PartitionEdge)| match edge {
                        PartitionEdge::Min => Ok(Edge::Min),
                        PartitionEdge::Max => Ok(Edge::Max),
                        PartitionEdge::At(expr) => match value(at, expr)? {
                            Datum { text: None, .. } => {
                                Err(SqlError::new("42P17", "cannot specify NULL in range bound").into())
                            }
                            datum => Ok(Edge::At(datum)),
                        },
                    };
                    edges.iter().enumerate().map(edge).collect::<Result<Vec<Edge>, Failure>>()
                };
                let (from, to) = (edges(from)?, edges(to)?);
                if bound::order(&from, &to) != Ordering::Less {
                    let text = format!("empty range bound specified for partition \"{name}\"");
                    let bound = Bound::Range { from, to }
                        .text(&partitioned.types, &self.frame.services.settings.time_zone);
                    let ends =
                        bound.strip_prefix("FOR VALUES FROM ").and_then(|ends| ends.split_once(" TO "));
                    let (from, to) = ends.unwrap_or_default();
                    let error = SqlError::new("42P17", text).with_detail(format!(
                        "Specified lower bound {from} is greater than or equal to upper bound {to}."
                    ));
                    return Err(error.at(place(of, End::Lower)).into());
                }
                Bound::Range { from, to }
            }
            (PartitionBound::Hash { modulus, remainder }, Strategy::Hash) => {
                remainder_bound(partitioned, *modulus, *remainder)?
            }
            _ => return Err(unfit()),
        })
    }

    /// Refuses a bound that has something in common with that of another partition, and points to what that is. Who locks the
    /// table asks once more.
    pub(super) fn refuse_overlap(
        &self,
        name: &str,
        partitioned: &Partitioned,
        of: &syntax::PartitionOf,
        found: &Bound,
    ) -> Result<(), SqlError> {
        let Some(other) = partitioned.overlapped(found) else { return Ok(()) };
        let text = match found {
            Bound::Default => {
                format!("partition \"{name}\" conflicts with existing default partition \"{}\"", other.name)
            }
            _ => format!("partition \"{name}\" would overlap partition \"{}\"", other.name),
        };
        let at = match (found, other.partition_of.as_ref().map(|of| &of.bound), &of.bound) {
            (Bound::Range { from, .. }, Some(Bound::Range { from: others, .. }), _) => {
                let is_within = bound::order(others, from) != Ordering::Greater;
                place(of, if is_within { End::Lower } else { End::Upper })
            }
            (Bound::List(known), Some(Bound::List(others)), PartitionBound::In(values))
                if known.len() == values.len() =>
            {
                let is_theirs = |one: &Datum| others.iter().any(|other| other.key == one.key);
                let first = known.iter().position(is_theirs).and_then(|at| values.get(at));
                first.map_or(of.at.start, |value| value.at.start)
            }
            _ => of.at.start,
        };
        Err(SqlError::new("42P17", text).at(at))
    }

    /// A value in a bound: an expression without columns, computed now.
    fn datum(&self, binder: &Binder<'_>, column: &str, ty: &SqlType, expr: &Expr) -> Result<Datum, Failure> {
        let erased = ty.erased();
        let bound = binder.default_value(expr, column, &erased).map_err(|error| {
            if error.message.starts_with("cannot use column reference") {
                let text = "cannot use column reference in partition bound expression";
                return SqlError::new(error.sqlstate, text).at(expr.at.start);
            }
            if error.sqlstate == sqlstate::DATATYPE_MISMATCH && error.message.starts_with("column ") {
                let shown = ty.uncollated().pg_name();
                let text = format!("specified value cannot be cast to type {shown} for column \"{column}\"");
                return SqlError::new(error.sqlstate, text).at(expr.at.start);
            }
            let message = error.message.replace("DEFAULT expressions", "partition bound");
            let message = message.replace("DEFAULT expression", "partition bound");
            SqlError { message, ..error }
        })?;
        let columns = vec![OutputColumn::new("value", erased.clone())];
        let row = Statement::Query(Plan::Values { rows: vec![vec![bound]], columns });
        let mut computed = First { ty: &erased, value: Value::Null };
        self.frame.with_context(&[], |cx| execute(&row, cx, &mut computed))?;
        let text = match computed.value {
            Value::Null => None,
            value => {
                let mut text = String::new();
                format_text(&value, &erased, &TimeStyle::UTC, &mut text);
                Some(text)
            }
        };
        Ok(Datum::of_text(text.as_deref(), ty).map_err(SqlError::from)?)
    }
}

/// The ends of a range.
enum End {
    Lower,
    Upper,
}

/// Where an end of a range begins; that of the bound where it is no value.
fn place(of: &syntax::PartitionOf, end: End) -> u32 {
    let PartitionBound::Range { from, to } = &of.bound else { return of.at.start };
    let edges = match end {
        End::Lower => from,
        End::Upper => to,
    };
    match edges.first() {
        Some(PartitionEdge::At(value)) => value.at.start,
        _ => of.at.start,
    }
}

/// Behind MINVALUE and MAXVALUE stands nothing else.
fn check_edges(edges: &[PartitionEdge]) -> Result<(), SqlError> {
    let mut before: Option<&PartitionEdge> = None;
    for edge in edges {
        match (before, edge) {
            (Some(PartitionEdge::Min), PartitionEdge::Min)
            | (Some(PartitionEdge::Max), PartitionEdge::Max) => {}
            (Some(PartitionEdge::Min), _) => {
                return Err(SqlError::new("42804", "every bound following MINVALUE must also be MINVALUE"));
            }
            (Some(PartitionEdge::Max), _) => {
                return Err(SqlError::new("42804", "every bound following MAXVALUE must also be MAXVALUE"));
            }
            _ => before = Some(edge),
        }
    }
    Ok(())
}

/// The bound of a partition by hash.
fn remainder_bound(partitioned: &Partitioned, modulus: i64, remainder: i64) -> Result<Bound, SqlError> {
    let number = |number: i64| u32::try_from(number).ok().filter(|number| *number <= i32::MAX as u32);
    let Some(modulus) = number(modulus).filter(|modulus| *modulus > 0) else {
        return Err(invalid("modulus for hash partition must be an integer value greater than zero"));
    };
    let Some(remainder) = number(remainder) else {
        return Err(invalid(
            "remainder for hash partition must be an integer value greater than or equal to zero",
        ));
    };
    if remainder >= modulus {
        return Err(invalid("remainder for hash partition must be less than modulus"));
    }
    let every = "every hash partition modulus must be a factor of the next larger modulus";
    for other in &partitioned.partitions {
        let Some(PartitionOf { bound: Bound::Hash { modulus: m, .. }, .. }) = other.partition_of else {
            continue;
        };
        let name = &other.name;
        let detail = match () {
            () if m <= modulus && modulus % m != 0 => format!(
                "The new modulus {modulus} is not divisible by {m}, the modulus of existing partition \"{name}\"."
            ),
            () if m > modulus && m % modulus != 0 => format!(
                "The new modulus {modulus} is not a factor of {m}, the modulus of existing partition \"{name}\"."
            ),
            () => continue,
        };
        return Err(SqlError::new("42P17", every).with_detail(detail));
    }
    Ok(Bound::Hash { modulus, remainder })
}
