//! Partitions: PARTITION BY, PARTITION OF, and what ALTER TABLE may not do to them.

use std::cmp::Ordering;
use std::sync::Arc;

use verso_catalog::partition::{Bound, Datum, Edge, Strategy, bound, hash};
use verso_catalog::{
    CatalogSnapshot, ConstraintDef, ConstraintKind, IndexDef, NewConstraint, NewConstraintKind, NewTable,
    PartitionOf, Partitioned, Relation, TableDef, is_temporary,
};
use verso_exec::ExecError;
use verso_exec::exec::{Sink, execute};
use verso_exec::functions::quote_ident;
use verso_exec::plan::{OutputColumn, Plan, Statement};
use verso_storage::TableLockMode;
use verso_types::key::KeyType;
use verso_types::{Batch, SqlType, TimeStyle, TypeError, Value, format_text};

use super::Schema;
use super::alter_partitions::reaches_partitions;
use super::index::{like_index, named};
use super::like::{copy_columns, copy_constraints, index_statement};
use crate::failure::Failure;
use verso_parser::syntax::{
    self, AlterAction, ConstraintClause, ConstraintDefinition, CreateTable, Expr, PartitionBound,
    PartitionBy, PartitionEdge, QualifiedName,
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
        match &constraint.kind {
            NewConstraintKind::Unique { columns, primary, .. } => {
                let columns: Vec<&str> = columns.iter().map(|name| &**name).collect();
                let key = by.columns.iter().map(|name| name.text.as_str());
                check_unique(&new.name, key, &columns, *primary)?;
            }
            NewConstraintKind::Foreign { .. } => {
                return Err(SqlError::unsupported("FOREIGN KEY of a partitioned table"));
            }
            NewConstraintKind::NotNull { .. } | NewConstraintKind::Check { .. } => {}
        }
    }
    Ok((strategy, by.columns.iter().map(|name| name.text.as_str().into()).collect()))
}

/// Refuses a unique key that does not have the columns by which a table is divided: each partition sees its own rows only.
fn check_unique<'k>(
    table: &str,
    key: impl Iterator<Item = &'k str>,
    columns: &[&str],
    primary: bool,
) -> Result<(), SqlError> {
    let Some(missing) = key.into_iter().find(|name| !columns.contains(name)) else { return Ok(()) };
    let what = if primary { "PRIMARY KEY" } else { "UNIQUE" };
    let text = "unique constraint on partitioned table must include all partitioning columns";
    Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_detail(format!(
        "{what} constraint on table \"{table}\" lacks column \"{missing}\" which is part of the partition key."
    )))
}

/// The same of a table that is there.
pub(super) fn check_key(
    table: &TableDef,
    partitioned: &Partitioned,
    columns: &[Arc<str>],
    primary: bool,
) -> Result<(), SqlError> {
    let key = partitioned.columns.iter().filter_map(|id| table.column_with_id(*id));
    let key = key.map(|at| &*table.columns[at].name);
    let columns: Vec<&str> = columns.iter().map(|name| &**name).collect();
    check_unique(&table.name, key, &columns, primary)
}

/// Refuses what would make a partition unlike the table that it is a part of, and what is not there yet for partitioned
/// tables.
pub(super) fn refuse_of_partitions(
    catalog: &CatalogSnapshot,
    table: &TableDef,
    action: &AlterAction,
) -> Result<(), SqlError> {
    let key =
        |constraint: &ConstraintDefinition| matches!(constraint.clause, ConstraintClause::Unique { .. });
    let allowed = match action {
        AlterAction::Rename(_) | AlterAction::RowSecurity { .. } => true,
        AlterAction::AttachPartition { .. } | AlterAction::DetachPartition { .. } => true,
        AlterAction::AddConstraint(constraint) => key(constraint) || reaches_partitions(action),
        _ => reaches_partitions(action),
    };
    if table.partitioned.is_some() && !allowed {
        return Err(SqlError::unsupported("this form of ALTER TABLE for a partitioned table"));
    }
    let parent = table.partition_of.as_ref().and_then(|of| catalog.table_by_oid(of.parent));
    let Some(parent) = parent else { return Ok(()) };
    let of_index = |constraint: &ConstraintDef| match constraint.kind {
        ConstraintKind::Unique { index, .. } => {
            table.index(index).is_some_and(|index| index.part_of.is_some())
        }
        _ => parent.constraint(&constraint.name).is_some(),
    };
    let inherited = |name: &str| table.constraint(name).is_some_and(|constraint| of_index(constraint));
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

/// Keys of rows, of which none may be one that a test finds.
struct Refusing<'s> {
    types: Vec<SqlType>,
    is_refused: &'s dyn Fn(&[Value]) -> Result<bool, TypeError>,
    text: String,
}

impl Sink for Refusing<'_> {
    fn batch(&mut self, batch: &Batch) -> Result<(), ExecError> {
        for row in 0..batch.rows {
            if (self.is_refused)(&batch.row(row, &self.types))? {
                return Err(ExecError::raised("23514", self.text.as_str()));
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
        copy_constraints(&parent, new, true, true, true);
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
        // Nobody adds rows until the new partition is there.
        self.frame.tables().lock(parent, TableLockMode::AccessExclusive)?;
        for leaf in default.leaves() {
            let text = format!(
                "updated partition constraint for default partition \"{}\" would be violated by some row",
                leaf.name
            );
            let goes = |key: &[Value]| partitioned.belongs(key, bound);
            self.refuse_keys((parent, partitioned), &leaf, &goes, text)?;
        }
        Ok(())
    }

    /// Refuses rows of a leaf by their keys.
    fn refuse_keys(
        &self,
        (parent, partitioned): (&TableDef, &Partitioned),
        leaf: &Arc<TableDef>,
        is_refused: &dyn Fn(&[Value]) -> Result<bool, TypeError>,
        text: String,
    ) -> Result<(), Failure> {
        let column = |id: &u16| leaf.column(&parent.columns[parent.column_with_id(*id)?].name);
        let columns: Option<Vec<usize>> = partitioned.columns.iter().map(column).collect();
        let columns = columns.ok_or_else(|| SqlError::internal("a key of no column"))?;
        self.frame.tables().lock(leaf, TableLockMode::AccessExclusive)?;
        let scan = Statement::Query(Plan::TableScan { table: Arc::clone(leaf), columns, filter: None });
        let types = partitioned.types.iter().map(SqlType::erased).collect();
        let mut refusing = Refusing { types, is_refused, text };
        self.frame.inside_now(|frame| {
            frame.with_context(&[], |cx| execute(&scan, cx, &mut refusing))?;
            Ok(())
        })
    }

    /// ATTACH PARTITION.
    pub(super) fn attach_partition(
        &self,
        binder: &Binder<'_>,
        table: &Arc<TableDef>,
        partition: &QualifiedName,
        of: &syntax::PartitionOf,
    ) -> Result<(), Failure> {
        let Some(partitioned) = &table.partitioned else { return Err(not_partitioned(table, "ATTACH")) };
        let part = binder.target(partition).map_err(|error| SqlError { position: None, ..error })?;
        self.own_relation(&Relation::Table(Arc::clone(&part)))?;
        check_kinship(self.frame.catalog, table, &part)?;
        check_columns(table, &part)?;
        check_constraints(table, &part)?;
        let bound = self.bound(binder, &part.name, table, partitioned, of)?;
        self.frame.tables().lock(table, TableLockMode::AccessExclusive)?;
        self.frame.inside_now(|frame| {
            let catalog = &frame.services.instance.catalog;
            let of = PartitionOf { parent: table.oid, bound: bound.clone() };
            Ok(catalog.attach_partition(&mut frame.txn.borrow_mut(), &part, of)?)
        })?;
        for index in &table.indexes {
            self.frame.inside_now(|frame| Schema { frame }.index_of_attached(table, index, partition))?;
        }
        self.frame.inside_now(|frame| {
            let schema = Schema { frame };
            let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
            for leaf in binder.table(partition)?.leaves() {
                schema.refuse_rows_elsewhere(table, partitioned, &bound, &leaf)?;
            }
            schema.refuse_foreign_rows(table, partitioned, &bound)
        })
    }

    /// Refuses rows of a table that do not belong to a partition of that bound, which it is to become, or not to the whole table.
    fn refuse_rows_elsewhere(
        &self,
        table: &Arc<TableDef>,
        partitioned: &Partitioned,
        bound: &Bound,
        leaf: &Arc<TableDef>,
    ) -> Result<(), Failure> {
        let text = || format!("partition constraint of relation \"{}\" is violated by some row", leaf.name);
        let elsewhere = |key: &[Value]| match bound {
            Bound::Default => partitioned.route(key).map(|place| place.is_some()),
            bound => partitioned.belongs(key, bound).map(|belongs| !belongs),
        };
        self.refuse_keys((table, partitioned), leaf, &elsewhere, text())?;
        let mut below = Arc::clone(table);
        while let Some(parent) =
            below.partition_of.as_ref().and_then(|of| self.frame.catalog.table_by_oid(of.parent))
        {
            let Some(partitioned) = &parent.partitioned else { break };
            let place = partitioned.partitions.iter().position(|one| one.oid == below.oid);
            let elsewhere = |key: &[Value]| partitioned.route(key).map(|found| found != place);
            self.refuse_keys((&parent, partitioned), leaf, &elsewhere, text())?;
            below = Arc::clone(&parent);
        }
        Ok(())
    }

    /// What an index of the whole table means for a table that has become a partition: the one that it has, or a new one.
    fn index_of_attached(
        &self,
        table: &TableDef,
        index: &Arc<IndexDef>,
        partition: &QualifiedName,
    ) -> Result<(), Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let part = binder.table(partition)?;
        if let Some(known) = like_index(&part, index, table) {
            let catalog = &self.frame.services.instance.catalog;
            return Ok(catalog.attach_index(&mut self.frame.txn.borrow_mut(), known, index.oid)?);
        }
        let name = named(&part, partition);
        let Some(constraint) = table.constraints.iter().find(|one| Some(one.oid) == index.constraint) else {
            let target = format!("{}.{}", quote_ident(&part.schema), quote_ident(&part.name));
            let text = index_statement(index, table, &target);
            for parsed in verso_parser::parse_script(&text).map_err(SqlError::from)? {
                if let syntax::Statement::CreateIndex(create) = &parsed.statement {
                    self.create_index_part(create, Some(index.oid))?;
                }
            }
            return Ok(());
        };
        let column = |part: &verso_catalog::IndexPart| {
            table.column_with_id(part.column).map(|at| Arc::clone(&table.columns[at].name))
        };
        let new = NewConstraint {
            name: None,
            kind: NewConstraintKind::Unique {
                columns: index.parts.iter().filter_map(column).collect(),
                primary: index.primary,
                nulls_distinct: index.nulls_distinct,
            },
            deferrable: constraint.deferrable,
            initially_deferred: constraint.initially_deferred,
            validated: true,
            enforced: true,
            part_of: Some(index.oid),
        };
        self.key_of_partition(&name, &new, table)
    }

    /// DETACH PARTITION: it is a table like others then, with the indexes and constraints that it has.
    pub(super) fn detach_partition(
        &self,
        binder: &Binder<'_>,
        table: &Arc<TableDef>,
        partition: &QualifiedName,
        later: bool,
    ) -> Result<(), Failure> {
        if table.partitioned.is_none() {
            return Err(not_partitioned(table, "DETACH"));
        }
        if later {
            return Err(SqlError::unsupported("DETACH PARTITION … CONCURRENTLY or FINALIZE").into());
        }
        let part = binder.target(partition).map_err(|error| SqlError { position: None, ..error })?;
        if part.partition_of.as_ref().is_none_or(|of| of.parent != table.oid) {
            let text =
                format!("relation \"{}\" is not a partition of relation \"{}\"", part.name, table.name);
            return Err(SqlError::new(sqlstate::UNDEFINED_TABLE, text).into());
        }
        let catalog = &self.frame.services.instance.catalog;
        Ok(catalog.detach_partition(&mut self.frame.txn.borrow_mut(), &part)?)
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

/// 42809: ATTACH and DETACH are for partitioned tables.
fn not_partitioned(table: &TableDef, word: &str) -> Failure {
    let text = format!("ALTER action {word} PARTITION cannot be performed on relation \"{}\"", table.name);
    let detail = "This operation is not supported for tables.";
    SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).with_detail(detail).into()
}

/// Whether a table may become a partition of another one, as far as both stand to other tables.
fn check_kinship(catalog: &CatalogSnapshot, table: &TableDef, part: &TableDef) -> Result<(), SqlError> {
    let wrong = |text: String| Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text));
    if part.partition_of.is_some() {
        return wrong(format!("\"{}\" is already a partition", part.name));
    }
    let mut above = Some(Arc::new(table.clone()));
    while let Some(one) = above {
        if one.oid == part.oid {
            let detail = format!("\"{}\" is already a child of \"{}\".", table.name, part.name);
            let error = SqlError::new(sqlstate::DUPLICATE_TABLE, "circular inheritance not allowed");
            return Err(error.with_detail(detail));
        }
        above = one.partition_of.as_ref().and_then(|of| catalog.table_by_oid(of.parent));
    }
    let whole = &table.name;
    match (part.is_temporary(), table.is_temporary()) {
        (true, false) => wrong(format!(
            "cannot attach a temporary relation as partition of permanent relation \"{whole}\""
        )),
        (false, true) => wrong(format!(
            "cannot attach a permanent relation as partition of temporary relation \"{whole}\""
        )),
        _ => Ok(()),
    }
}

/// Whether a table has the columns that a partition of another one has.
fn check_columns(table: &TableDef, part: &TableDef) -> Result<(), SqlError> {
    let unlike = |text: String| Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
    let name = &part.name;
    for column in part.shown() {
        if column.identity.is_some() {
            let (own, of) = (&column.name, name);
            let text = format!("table \"{of}\" being attached contains an identity column \"{own}\"");
            let detail = "The new partition may not contain an identity column.";
            return Err(SqlError::new("55000", text).with_detail(detail));
        }
        if table.column(&column.name).is_none() {
            let (own, whole) = (&column.name, &table.name);
            let text = format!("table \"{name}\" contains column \"{own}\" not found in parent \"{whole}\"");
            let detail = "The new partition may contain only the columns present in parent.";
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).with_detail(detail));
        }
    }
    for column in table.shown() {
        let of = &column.name;
        let Some(own) = part.column(of).map(|at| &part.columns[at]) else {
            return unlike(format!("child table is missing column \"{of}\""));
        };
        if own.declared().uncollated() != column.declared().uncollated() {
            return unlike(format!("child table \"{name}\" has different type for column \"{of}\""));
        }
        if own.seen().collation() != column.seen().collation() {
            let text = format!("child table \"{name}\" has different collation for column \"{of}\"");
            return Err(SqlError::new("42P21", text));
        }
        if column.not_null && !own.not_null {
            return unlike(format!("column \"{of}\" in child table \"{name}\" must be marked NOT NULL"));
        }
        match (column.generated, own.generated) {
            (true, false) => {
                return unlike(format!("column \"{of}\" in child table must be a generated column"));
            }
            (false, true) => {
                return unlike(format!("column \"{of}\" in child table must not be a generated column"));
            }
            (true, true) if column.default != own.default => {
                let text = format!(
                    "column \"{of}\" in child table has another generation expression than its parent"
                );
                return Err(SqlError::unsupported(text));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a table has the CHECK constraints of another one.
fn check_constraints(table: &TableDef, part: &TableDef) -> Result<(), SqlError> {
    let name = &part.name;
    for constraint in &table.constraints {
        let ConstraintKind::Check { expression } = &constraint.kind else { continue };
        let of = &constraint.name;
        let same = |own: &ConstraintDef| match &own.kind {
            ConstraintKind::Check { expression: own } => own == expression,
            _ => false,
        };
        let text = match part.constraint(of) {
            None => format!("child table is missing constraint \"{of}\""),
            Some(own) if !same(own) => {
                format!("child table \"{name}\" has different definition for check constraint \"{of}\"")
            }
            Some(_) => continue,
        };
        return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
    }
    Ok(())
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
