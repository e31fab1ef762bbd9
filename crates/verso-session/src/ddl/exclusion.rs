//! EXCLUDE: which rows may not be there together.

use std::sync::Arc;

use verso_catalog::{
    ColumnDef, ConstraintDef, IndexDef, NewConstraint, NewConstraintKind, NewIndex, Oid, Partitioned,
    TableChange, TableDef,
};
use verso_exec::functions::quote_ident;
use verso_types::{Exclusion, KeyType, SqlType, SystemType};

use super::index::{like_index, named};
use super::{Schema, options, text};
use crate::catalogs::{class_takes, family_of, operator_over};
use crate::failure::Failure;
use verso_parser::syntax::{
    AlterAction, ConstraintClause, ConstraintDefinition, CreateIndex, Exclude, Name, QualifiedName,
    Statement, TypeStatement,
};
use verso_planner::errors::{SqlError, sqlstate};

/// The statement that gives another table, named `target`, an exclusion constraint like that of an index.
pub(super) fn exclusion_statement(
    index: &IndexDef,
    constraint: &ConstraintDef,
    table: &TableDef,
    target: &str,
) -> String {
    let mut text = format!("ALTER TABLE {target} ADD EXCLUDE {}", index.declaration(table, quote_ident));
    if constraint.deferrable {
        text.push_str(" DEFERRABLE");
    }
    if constraint.initially_deferred {
        text.push_str(" INITIALLY DEFERRED");
    }
    text
}

/// The access method of an exclusion constraint.
fn method_of(exclude: &Exclude) -> Result<Arc<str>, SqlError> {
    let Some(name) = &exclude.method else { return Ok("btree".into()) };
    let method = name.text.as_str();
    let refused = |what: &str| {
        let text = format!("access method \"{method}\" does not support {what}");
        Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text))
    };
    match method {
        "btree" | "gist" | "hash" | "spgist" => {}
        "gin" | "brin" => return refused("exclusion constraints"),
        _ => {
            let text = format!("access method \"{method}\" does not exist");
            return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text));
        }
    }
    if matches!(method, "hash" | "spgist") && exclude.elements.len() > 1 {
        return refused("multicolumn indexes");
    }
    if method == "hash" && !exclude.include.is_empty() {
        return refused("included columns");
    }
    if exclude.elements.iter().any(|(part, _)| part.descending || part.nulls_first) {
        return match method {
            "btree" => Err(SqlError::unsupported("ASC/DESC options of an exclusion constraint")),
            _ => refused("ASC/DESC options"),
        };
    }
    Ok(method.into())
}

fn is_network(ty: &SqlType) -> bool {
    matches!(ty, SqlType::System(SystemType::Inet | SystemType::Cidr))
}

/// Whether PostgreSQL's method has a class of a type whose values lie in the plane: what overlaps there stands next to each other in
/// no order of keys, so no index here finds it.
fn is_spatial(method: &str, ty: &SqlType) -> bool {
    use SystemType::{Box, Circle, Point, Polygon};
    match (method, ty) {
        ("gist", SqlType::System(ty)) => matches!(ty, Point | Box | Polygon | Circle),
        ("spgist", SqlType::System(ty)) => matches!(ty, Point | Box | Polygon),
        _ => false,
    }
}

/// The operators that a class of an access method has for a type; none where the method has no class for it.
fn operators(method: &str, class: Option<&str>, ty: &SqlType) -> &'static [Exclusion] {
    use Exclusion::{Adjacent, Different, Equal, Overlaps};
    let is_scalar = KeyType::of(ty)
        .is_some_and(|key| !matches!(key, KeyType::Nested | KeyType::NestedU64 | KeyType::Jsonb));
    match (method, ty) {
        ("btree", ty) if KeyType::of(ty).is_some() => &[Equal],
        ("hash", ty) if KeyType::of(ty).is_some() => &[Equal],
        ("gist" | "spgist", SqlType::Range(_)) => &[Equal, Overlaps, Adjacent],
        ("gist", SqlType::Multirange(_)) => &[Equal, Overlaps, Adjacent],
        ("spgist", ty) if is_network(ty) => &[Equal, Different, Overlaps],
        ("gist", ty) if is_network(ty) && class == Some("inet_ops") => &[Equal, Different, Overlaps],
        ("spgist", SqlType::Text | SqlType::Varchar(_)) => &[Equal],
        ("gist", _) if is_scalar => &[Equal, Different],
        _ => &[],
    }
}

/// Whether a class of that name takes a type; `None` where the method has none of that name.
fn takes(method: &str, class: &str, ty: &SqlType) -> Option<bool> {
    match (method, class) {
        ("gist" | "spgist", "range_ops") => Some(matches!(ty, SqlType::Range(_))),
        ("gist", "multirange_ops") => Some(matches!(ty, SqlType::Multirange(_))),
        ("gist" | "spgist", "inet_ops") => Some(is_network(ty)),
        // Those of the extension btree_gist.
        ("gist", class) if class.starts_with("gist_") => Some(!operators("gist", None, ty).is_empty()),
        ("btree" | "hash", class) => class_takes(class, ty),
        _ => None,
    }
}

/// The operator of a part of an exclusion constraint, over values of a type.
fn operator(
    method: &str,
    class: Option<&Name>,
    ty: &SqlType,
    operator: &QualifiedName,
) -> Result<Exclusion, SqlError> {
    let ty = ty.plain();
    let shown = || ty.without_modifiers().pg_name();
    if is_spatial(method, ty) {
        return Err(SqlError::unsupported(format!("an exclusion constraint over type {}", shown())));
    }
    let class = class.map(|class| class.text.as_str());
    if let Some(class) = class {
        match takes(method, class, ty) {
            None => {
                let text =
                    format!("operator class \"{class}\" does not exist for access method \"{method}\"");
                return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text));
            }
            Some(false) => {
                let text = format!("operator class \"{class}\" does not accept data type {}", shown());
                return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
            }
            Some(true) => {}
        }
    }
    let known = operators(method, class, ty);
    if known.is_empty() {
        let text =
            format!("data type {} has no default operator class for access method \"{method}\"", shown());
        return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).with_hint(
            "You must specify an operator class for the index or define a default operator class for the data type.",
        ));
    }
    let symbol = operator.name.text.as_str();
    let Some((operands, commutes)) = operator_over(symbol, ty).map(|found| (found.operand, found.commutes))
    else {
        let text = format!("operator does not exist: {0} {symbol} {0}", shown());
        return Err(SqlError::new(sqlstate::UNDEFINED_FUNCTION, text)
            .with_hint("No operator matches the given name and argument types. You might need to add explicit type casts."));
    };
    let called = format!("operator {symbol}({operands},{operands})");
    if !commutes {
        return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("{called} is not commutative"))
            .with_detail("Only commutative operators can be used in exclusion constraints."));
    }
    Exclusion::named(symbol).filter(|one| known.contains(one)).ok_or_else(|| {
        let family = family_of(method, ty);
        let text = format!("{called} is not a member of operator family \"{family}\"");
        SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).with_detail(
            "The exclusion operator must be related to the index operator class for the constraint.",
        )
    })
}

/// Refuses an exclusion constraint of a partitioned table that rows of several partitions might break.
fn check_divided(
    table: &TableDef,
    partitioned: &Partitioned,
    parts: &[(Option<Arc<str>>, Exclusion)],
) -> Result<(), SqlError> {
    for id in &partitioned.columns {
        let Some(at) = table.column_with_id(*id) else { continue };
        if table.columns[at].is_hidden() {
            return Err(super::partition::of_expressions("EXCLUDE"));
        }
        let column = &table.columns[at].name;
        let same = || parts.iter().filter(|(name, _)| name.as_ref() == Some(column));
        if same().any(|(_, operator)| *operator == Exclusion::Equal) {
            continue;
        }
        if let Some((_, operator)) = same().next() {
            let text = format!(
                "cannot match partition key to index on column \"{column}\" using non-equal operator \"{}\"",
                operator.symbol()
            );
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        let text = "unique constraint on partitioned table must include all partitioning columns";
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_detail(format!(
            "EXCLUDE constraint on table \"{}\" lacks column \"{column}\" which is part of the partition key.",
            table.name
        )));
    }
    Ok(())
}

impl Schema<'_> {
    /// Adds an exclusion constraint to a table that is there, and to its partitions; `part_of` is the index of the whole table
    /// that its index is a part of.
    pub(super) fn add_exclusion(
        &self,
        name: &QualifiedName,
        definition: &ConstraintDefinition,
        exclude: &Exclude,
        part_of: Option<Oid>,
        only: bool,
    ) -> Result<(), Failure> {
        let home = self.home(name);
        let Some(table) = self.frame.catalog.table(Some(&home), &name.name.text) else {
            return Err(SqlError::internal("a table that is not there").into());
        };
        let method = method_of(exclude)?;
        let known: Vec<Oid> = table.indexes.iter().map(|index| index.oid).collect();
        let plain_part = |part: &verso_parser::syntax::IndexElement| {
            if let verso_parser::syntax::IndexKey::Column(column) = &part.key
                && table.shown().iter().all(|own| *own.name != *column.text)
            {
                let text = format!("column \"{}\" named in key does not exist", column.text);
                return Err(SqlError::new(sqlstate::UNDEFINED_COLUMN, text));
            }
            Ok(verso_parser::syntax::IndexElement { class: None, ..part.clone() })
        };
        let parts = exclude.elements.iter().map(|(part, _)| plain_part(part));
        let create = CreateIndex {
            name: None,
            if_not_exists: false,
            unique: false,
            nulls_distinct: true,
            table: name.clone(),
            only,
            method: None,
            parts: parts.collect::<Result<_, SqlError>>()?,
            include: exclude.include.clone(),
            predicate: exclude.predicate.clone(),
            parallel: None,
            options: exclude.options.clone(),
            concurrently: false,
        };
        let mut index = NewIndex {
            name: None,
            schema: Some(Arc::clone(&home)),
            table: text(&name.name),
            parts: Vec::new(),
            include: create.include.iter().map(text).collect(),
            guard: None,
            unique: false,
            nulls_distinct: true,
            concurrently: false,
            part_of,
            options: options(&create.options),
        };
        self.index_columns(&create, &home, &table, &mut index)?;
        self.frame.inside_now(|frame| {
            let table = frame.catalog.table(Some(&home), &name.name.text);
            let Some(table) = table else {
                return Err(SqlError::internal("a table that is not there").into());
            };
            let mut compared = Vec::new();
            for (part, (element, symbol)) in index.parts.iter_mut().zip(&exclude.elements) {
                let is_it = |column: &&ColumnDef| match part.hidden {
                    Some(hidden) => column.id == hidden,
                    None => column.name == part.name,
                };
                let ty = table
                    .columns
                    .iter()
                    .find(is_it)
                    .map_or(SqlType::Void, |column| column.declared().clone());
                let operator = operator(&method, element.class.as_ref(), &ty, symbol)?;
                part.excludes = Some(operator);
                compared.push((part.hidden.is_none().then(|| Arc::clone(&part.name)), operator));
            }
            if let Some(partitioned) = &table.partitioned {
                check_divided(&table, partitioned, &compared)?;
            }
            let change = TableChange::AddConstraint(NewConstraint {
                name: definition.name.as_ref().map(text),
                kind: NewConstraintKind::Exclude {
                    parts: std::mem::take(&mut index.parts),
                    include: std::mem::take(&mut index.include),
                    guard: index.guard,
                    method: Arc::clone(&method),
                },
                deferrable: definition.deferrable,
                initially_deferred: definition.initially_deferred,
                validated: true,
                enforced: true,
                part_of,
                no_inherit: false,
                options: std::mem::take(&mut index.options),
            });
            Schema { frame }.alter(name, &change)
        })?;
        if only {
            return Ok(());
        }
        self.frame.inside_now(|frame| Schema { frame }.exclusion_of_partitions(name, &known))
    }

    /// Gives the partitions of a table a part of its new exclusion constraint, whose index is none of those known before.
    fn exclusion_of_partitions(&self, name: &QualifiedName, known: &[Oid]) -> Result<(), Failure> {
        let table = self.frame.catalog.table(Some(&self.home(name)), &name.name.text);
        let Some((table, partitioned)) =
            table.and_then(|table| Some((Arc::clone(&table), table.partitioned.clone()?)))
        else {
            return Ok(());
        };
        let Some(index) = table.indexes.iter().find(|index| !known.contains(&index.oid)) else {
            return Ok(());
        };
        for partition in &partitioned.partitions {
            if let Some(like) = like_index(partition, index, &table) {
                let catalog = &self.frame.services.instance.catalog;
                catalog.attach_index(&mut self.frame.txn.borrow_mut(), like, index.oid)?;
                continue;
            }
            let part = named(partition, name);
            self.frame.inside_now(|frame| Schema { frame }.exclusion_like(index, &table, &part))?;
        }
        Ok(())
    }

    /// Gives a partition a part of an exclusion constraint of the whole table.
    pub(super) fn exclusion_like(
        &self,
        index: &IndexDef,
        table: &TableDef,
        partition: &QualifiedName,
    ) -> Result<(), Failure> {
        let owner = table.constraints.iter().find(|constraint| Some(constraint.oid) == index.constraint);
        let Some(owner) = owner else { return Ok(()) };
        let target = partition.to_string();
        self.run_like(&exclusion_statement(index, owner, table, &target), Some(index.oid))
    }

    /// Runs a statement that makes an index, an exclusion constraint or statistics like others.
    pub(super) fn run_like(&self, statement: &str, part_of: Option<Oid>) -> Result<(), Failure> {
        for parsed in verso_parser::parse_kept_script(statement).map_err(SqlError::from)? {
            match &parsed.statement {
                Statement::CreateIndex(create) => {
                    self.frame.inside_now(|frame| Schema { frame }.create_index_part(create, part_of))?;
                }
                Statement::AlterTable(alter) => {
                    for action in &alter.actions {
                        let AlterAction::AddConstraint(definition) = action else { continue };
                        let ConstraintClause::Exclude(exclude) = &definition.clause else { continue };
                        self.frame.inside_now(|frame| {
                            Schema { frame }.add_exclusion(&alter.name, definition, exclude, part_of, false)
                        })?;
                    }
                }
                Statement::Type(TypeStatement::Statistics(statement)) => {
                    self.frame.inside_now(|frame| Schema { frame }.statistics_statement(statement))?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
