//! Partitions: PARTITION BY, PARTITION OF, and what ALTER TABLE may not do to them.

use std::cmp::Ordering;
use std::sync::Arc;

use verso_catalog::partition::{Bound, Datum, Edge, Strategy, bound, hash};
use verso_catalog::{
    CatalogSnapshot, NewConstraintKind, NewTable, PartitionOf, Partitioned, Relation, TableDef, is_temporary,
};
use verso_exec::ExecError;
use verso_exec::exec::{Sink, execute};
use verso_exec::plan::{OutputColumn, Plan, Statement};
use verso_storage::TableLockMode;
use verso_types::key::KeyType;
use verso_types::{Batch, SqlType, TimeStyle, Value, format_text};

use super::Schema;
use super::like::{copy_columns, copy_constraints};
use crate::failure::Failure;
use verso_parser::syntax::{
    self, AlterAction, CreateTable, Expr, PartitionBound, PartitionBy, PartitionEdge,
};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};

fn invalid(text: impl Into<String>) -> SqlError {
    SqlError::new("42P16", text)
}

/// PARTITION BY of a new table, whose columns and constraints are known.
pub(super) fn divided_by(new: &NewTable, by: &PartitionBy) -> Result<(Strategy, Vec<Arc<str>>), SqlError> {
    let strategy = match by.strategy.text.to_ascii_lowercase().as_str() {
        "list" => Strategy::List,
        "range" => Strategy::Range,
        "hash" => Strategy::Hash,
        _ => {
            let text = format!("unrecognized partitioning strategy \"{}\"", by.strategy.text);
            return Err(SqlError::new("22023", text).at(by.strategy.at.start));
        }
    };
    if new.unlogged {
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, "partitioned tables cannot be unlogged"));
    }
    if strategy == Strategy::List && by.columns.len() > 1 {
        return Err(invalid("cannot use \"list\" partition strategy with more than one column"));
    }
    if by.columns.len() > 32 {
        let text = "cannot partition using more than 32 columns";
        return Err(SqlError::new("54011", text));
    }
    for name in &by.columns {
        let Some(column) = new.columns.iter().find(|column| *column.name == *name.text) else {
            let text = format!("column \"{}\" named in partition key does not exist", name.text);
            return Err(SqlError::new(sqlstate::UNDEFINED_COLUMN, text).at(name.at.start));
        };
        if column.generated {
            return Err(invalid("cannot use generated column in partition key")
                .with_detail(format!("Column \"{}\" is a generated column.", name.text))
                .at(name.at.start));
        }
        let shown = column.ty.without_modifiers().pg_name();
        if strategy == Strategy::Hash && !hash::is_hashed(&column.ty.seen()) {
            return Err(SqlError::unsupported(format!("PARTITION BY HASH of type {shown}")).at(name.at.start));
        }
        if KeyType::of(&column.ty.seen()).is_none() {
            let text = format!("data type {shown} has no default operator class for access method \"btree\"");
            return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).with_hint(
                "You must specify a btree operator class or define a default btree operator class for the data type.",
            ));
        }
    }
    for constraint in &new.constraints {
        let what = match &constraint.kind {
            NewConstraintKind::Unique { primary: true, .. } => "PRIMARY KEY",
            NewConstraintKind::Unique { .. } => "UNIQUE",
            NewConstraintKind::Foreign { .. } => "FOREIGN KEY",
            NewConstraintKind::NotNull { .. } | NewConstraintKind::Check { .. } => continue,
        };
        return Err(SqlError::unsupported(format!("{what} of a partitioned table")));
    }
    Ok((strategy, by.columns.iter().map(|name| name.text.as_str().into()).collect()))
}

/// Refuses what would make a partition unlike the table that it is a part of, and what is not there yet for partitioned
/// tables.
pub(super) fn refuse_of_partitions(
    catalog: &CatalogSnapshot,
    table: &TableDef,
    action: &AlterAction,
) -> Result<(), SqlError> {
    let allowed = matches!(action, AlterAction::Rename(_) | AlterAction::RowSecurity { .. });
    if table.partitioned.is_some() && !allowed {
        return Err(SqlError::unsupported("this form of ALTER TABLE for a partitioned table"));
    }
    let parent = table.partition_of.as_ref().and_then(|of| catalog.table_by_oid(of.parent));
    let Some(parent) = parent else { return Ok(()) };
    let inherited = |name: &str| parent.constraint(name).is_some();
    let relation = &table.name;
    Err(match action {
        AlterAction::AddColumn { .. } => {
            SqlError::new(sqlstate::WRONG_OBJECT_TYPE, "cannot add column to a partition")
        }
        AlterAction::DropColumn { column, .. } if table.column(&column.text).is_some() => {
            invalid(format!("cannot drop inherited column \"{}\"", column.text))
        }
        AlterAction::RenameColumn { column, .. } if table.column(&column.text).is_some() => {
            invalid(format!("cannot rename inherited column \"{}\"", column.text))
        }
        AlterAction::ColumnType { column, .. } if table.column(&column.text).is_some() => {
            invalid(format!("cannot alter inherited column \"{}\"", column.text))
        }
        AlterAction::NotNull { column, not_null: false }
            if parent.column(&column.text).is_some_and(|at| parent.columns[at].not_null) =>
        {
            invalid(format!("column \"{}\" is marked NOT NULL in parent table", column.text))
        }
        AlterAction::DropConstraint { name, .. } if inherited(&name.text) => {
            invalid(format!("cannot drop inherited constraint \"{}\" of relation \"{relation}\"", name.text))
        }
        AlterAction::RenameConstraint { name, .. } if inherited(&name.text) => {
            invalid(format!("cannot rename inherited constraint \"{}\"", name.text))
        }
        AlterAction::SetExpression { .. } | AlterAction::DropExpression { .. } => {
            SqlError::unsupported("ALTER TABLE of a generated column of a partition")
        }
        _ => return Ok(()),
    })
}

/// Keys of a default partition, of which none may belong to a new one.
struct Foreign<'s> {
    partitioned: &'s Partitioned,
    bound: &'s Bound,
    leaf: &'s TableDef,
}

impl Sink for Foreign<'_> {
    fn batch(&mut self, batch: &Batch) -> Result<(), ExecError> {
        let types: Vec<SqlType> = self.partitioned.types.iter().map(SqlType::erased).collect();
        for row in 0..batch.rows {
            if self.partitioned.belongs(&batch.row(row, &types), self.bound)? {
                let text = format!(
                    "updated partition constraint for default partition \"{}\" would be violated by some row",
                    self.leaf.name
                );
                return Err(ExecError::raised("23514", text));
            }
        }
        Ok(())
    }
}

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
    /// PARTITION OF: what a new table takes over from the one that it is a part of, and its bound.
    pub(super) fn partition_of(
        &self,
        binder: &Binder<'_>,
        create: &CreateTable,
        of: &syntax::PartitionOf,
        place: &str,
        new: &mut NewTable,
    ) -> Result<(), Failure> {
        let found = self.frame.catalog.relation(of.parent.schema_text(), &of.parent.name.text);
        if let Some(Relation::View(view)) = found {
            let text = format!("inherited relation \"{}\" is not a table or foreign table", view.name);
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
        }
        let parent = binder.table(&of.parent).map_err(|error| SqlError { position: None, ..error })?;
        self.own_relation(&Relation::Table(Arc::clone(&parent)))?;
        let Some(partitioned) = &parent.partitioned else {
            let text = format!("\"{}\" is not partitioned", parent.name);
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
        };
        match (is_temporary(place), parent.is_temporary()) {
            (true, false) => {
                let text = "cannot create a temporary relation as partition of permanent relation";
                let text = format!("{text} \"{}\"", parent.name);
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
            }
            (false, true) => {
                let text = "cannot create a permanent relation as partition of temporary relation";
                let text = format!("{text} \"{}\"", parent.name);
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
            }
            _ => {}
        }
        copy_columns(&parent, new, true, false, true);
        // Both take their numbers from one sequence.
        for (copy, column) in new.columns.iter_mut().zip(parent.shown()) {
            copy.identity = column.identity;
            copy.default.clone_from(&column.default);
        }
        copy_constraints(&parent, new, true, false);
        let bound = self.bound(binder, &create.name.name.text, &parent, partitioned, of)?;
        self.refuse_foreign_rows(&parent, partitioned, &bound)?;
        new.partition_of = Some(PartitionOf { parent: parent.oid, bound });
        Ok(())
    }

    /// A new partition takes rows away from the default one, which may have none of them.
    fn refuse_foreign_rows(
        &self,
        parent: &TableDef,
        partitioned: &Partitioned,
        bound: &Bound,
    ) -> Result<(), Failure> {
        let Some((_, default)) = partitioned.default_partition() else { return Ok(()) };
        if *bound == Bound::Default {
            return Ok(());
        }
        let mut key = Vec::new();
        for id in &partitioned.columns {
            let name = parent.column_with_id(*id).map(|at| &parent.columns[at].name);
            key.push(name.cloned().ok_or_else(|| SqlError::internal("a key of no column"))?);
        }
        // Nobody adds rows until the new partition is there.
        self.frame.tables().lock(parent, TableLockMode::AccessExclusive)?;
        for leaf in default.leaves() {
            self.frame.tables().lock(&leaf, TableLockMode::AccessExclusive)?;
            let columns = key.iter().filter_map(|name| leaf.column(name)).collect();
            let scan = Plan::TableScan { table: Arc::clone(&leaf), columns, filter: None };
            let mut foreign = Foreign { partitioned, bound, leaf: &leaf };
            let scan = Statement::Query(scan);
            self.frame.inside_now(|frame| {
                frame.with_context(&[], |cx| execute(&scan, cx, &mut foreign))?;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The bound of a new partition.
    fn bound(
        &self,
        binder: &Binder<'_>,
        name: &str,
        parent: &TableDef,
        partitioned: &Partitioned,
        of: &syntax::PartitionOf,
    ) -> Result<Bound, Failure> {
        let column = |at: usize| {
            let column = partitioned.columns.get(at).and_then(|id| parent.column_with_id(*id));
            column.map_or("", |at| &*parent.columns[at].name)
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
                                Err(invalid("cannot specify NULL in range bound").into())
                            }
                            datum => Ok(Edge::At(datum)),
                        },
                    };
                    edges.iter().enumerate().map(edge).collect::<Result<Vec<Edge>, Failure>>()
                };
                let (from, to) = (edges(from)?, edges(to)?);
                if bound::order(&from, &to) != Ordering::Less {
                    let text = format!("empty range bound specified for partition \"{name}\"");
                    let bound = Bound::Range { from, to }.text(&partitioned.types);
                    let ends =
                        bound.strip_prefix("FOR VALUES FROM ").and_then(|ends| ends.split_once(" TO "));
                    let (from, to) = ends.unwrap_or_default();
                    return Err(SqlError::new("42P17", text)
                        .with_detail(format!(
                            "Specified lower bound {from} is greater than or equal to upper bound {to}."
                        ))
                        .into());
                }
                Bound::Range { from, to }
            }
            (PartitionBound::Hash { modulus, remainder }, Strategy::Hash) => {
                remainder_bound(partitioned, *modulus, *remainder)?
            }
            _ => return Err(unfit()),
        })
    }

    /// A value in a bound: an expression without columns, computed now.
    fn datum(&self, binder: &Binder<'_>, column: &str, ty: &SqlType, expr: &Expr) -> Result<Datum, Failure> {
        let erased = ty.erased();
        let bound = binder.default_value(expr, column, &erased).map_err(|error| {
            match error.message.starts_with("cannot use column reference") {
                true => {
                    let text = "cannot use column reference in partition bound expression";
                    SqlError::new(error.sqlstate, text).at(expr.at.start)
                }
                false => error,
            }
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
        return Err(invalid(every).with_detail(detail));
    }
    Ok(Bound::Hash { modulus, remainder })
}
