//! CREATE STATISTICS, ALTER STATISTICS, DROP STATISTICS.

use std::sync::Arc;

use verso_catalog::{Relation, StatisticsChange, StatisticsDef, StatisticsKind, TableDef};
use verso_exec::plan::ExprKind;
use verso_parser::syntax::{IndexKey, Name, QualifiedName, Span, StatisticsItem, StatisticsStatement};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};
use verso_types::SqlType;
use verso_types::key::KeyType;

use super::{Schema, text};
use crate::client::{CommandTag, tag};
use crate::failure::Failure;

/// So many columns and expressions at most, as in PostgreSQL.
const ITEMS_MAX: usize = 8;
/// The greatest target.
const TARGET_MAX: i64 = 10_000;
/// What each row has beside its columns.
const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"];

impl Schema<'_> {
    /// Runs a statement about statistics.
    pub(super) fn statistics_statement(
        &self,
        statement: &StatisticsStatement,
    ) -> Result<CommandTag, Failure> {
        let store = &self.frame.services.instance.catalog;
        let change = |name: &QualifiedName, change: StatisticsChange| {
            let known = self.statistics_called(name)?;
            self.own_statistics(&known)?;
            if let StatisticsChange::Name(to) = &change
                && self.frame.catalog.statistics_object(Some(&known.schema), to).is_some()
            {
                let schema = &known.schema;
                let text = format!("statistics object \"{to}\" already exists in schema \"{schema}\"");
                return Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, text).into());
            }
            Ok::<_, Failure>(store.alter_statistics(&mut self.frame.txn.borrow_mut(), &known, &change)?)
        };
        match statement {
            StatisticsStatement::Create { name, if_not_exists, kinds, items, table } => {
                self.create_statistics(name.as_ref(), *if_not_exists, (kinds, items), table)?;
                return Ok(tag("CREATE STATISTICS"));
            }
            StatisticsStatement::Rename { name, to } => change(name, StatisticsChange::Name(text(to)))?,
            StatisticsStatement::Move { name, to } => change(name, StatisticsChange::Schema(text(to)))?,
            StatisticsStatement::Target { name, if_exists, target } => {
                if *if_exists && self.statistics_called(name).is_err() {
                    self.skip(format!("statistics object \"{name}\" does not exist, skipping"));
                    return Ok(tag("ALTER STATISTICS"));
                }
                change(name, StatisticsChange::Target(self.target(*target)?))?;
            }
            StatisticsStatement::Drop { names, if_exists } => {
                for name in names {
                    match self.statistics_called(name) {
                        Ok(known) => {
                            self.own_statistics(&known)?;
                            self.frame.inside(|frame| {
                                let store = &frame.services.instance.catalog;
                                Ok(store.drop_statistics(&mut frame.txn.borrow_mut(), &known)?)
                            })?;
                        }
                        Err(_) if *if_exists && let Some(error) = self.schema_absent(name) => {
                            self.skip(format!("{}, skipping", error.message));
                        }
                        Err(_) if *if_exists => {
                            self.skip(format!("statistics object \"{name}\" does not exist, skipping"));
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
                return Ok(tag("DROP STATISTICS"));
            }
        }
        Ok(tag("ALTER STATISTICS"))
    }

    /// The target that SET STATISTICS says; none where it is that of the columns.
    fn target(&self, given: Option<i64>) -> Result<Option<u16>, SqlError> {
        match given {
            None | Some(-1) => Ok(None),
            Some(..-1) => {
                let text = format!("statistics target {} is too low", given.unwrap_or_default());
                Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text))
            }
            Some(target) if target > TARGET_MAX => {
                let text = format!("lowering statistics target to {TARGET_MAX}");
                self.frame.services.notices.warn("01000", &text);
                Ok(u16::try_from(TARGET_MAX).ok())
            }
            Some(target) => Ok(u16::try_from(target).ok()),
        }
    }

    /// The statistics of that name.
    pub(super) fn statistics_called(&self, name: &QualifiedName) -> Result<Arc<StatisticsDef>, SqlError> {
        let found = self.frame.catalog.statistics_object(name.schema_text(), &name.name.text);
        found.cloned().ok_or_else(|| {
            let text = format!("statistics object \"{name}\" does not exist");
            SqlError::new(sqlstate::UNDEFINED_OBJECT, text)
        })
    }

    pub(super) fn own_statistics(&self, one: &StatisticsDef) -> Result<(), SqlError> {
        self.own_role_object(one.owner, "statistics object", &one.name)
    }

    fn create_statistics(
        &self,
        name: Option<&QualifiedName>,
        if_not_exists: bool,
        (kinds, items): (&[Name], &[StatisticsItem]),
        table: &QualifiedName,
    ) -> Result<(), Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let relation = self.frame.catalog.relation(table.schema_text(), &table.name.text);
        let of = match relation {
            Some(Relation::Table(_)) | None => binder.table(table)?,
            Some(other) => {
                let text = format!("cannot define statistics for relation \"{}\"", other.name());
                let kind = super::rights::kind_word(other);
                let detail = match kind {
                    "index" => "This operation is not supported for indexes.".to_string(),
                    kind => format!("This operation is not supported for {kind}s."),
                };
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).with_detail(detail).into());
            }
        };
        self.own_relation(&Relation::Table(Arc::clone(&of)))?;
        if of.partitioned.is_some() {
            // Its rows are those of its partitions, and so are the statistics that plans are made with.
            let text = format!("statistics of the partitioned table \"{}\" are not supported", of.name);
            let error = SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text);
            return Err(error.with_hint("Create the statistics on its partitions.").into());
        }
        let unnamed = QualifiedName {
            schema: Some(Name { text: of.schema.to_string(), at: Span::default() }),
            name: Name { text: String::new(), at: Span::default() },
        };
        let schema = self.place(name.unwrap_or(&unnamed))?;
        let name = match name {
            Some(name) => text(&name.name),
            None => self.free_name(&schema, &of.name, items),
        };
        if self.frame.catalog.statistics_object(Some(&schema), &name).is_some() {
            let text = format!("statistics object \"{name}\" already exists");
            if if_not_exists {
                self.skip_known(sqlstate::DUPLICATE_OBJECT, format!("{text}, skipping"));
                return Ok(());
            }
            return Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, text).into());
        }
        if items.len() > ITEMS_MAX {
            let text = format!("cannot have more than {ITEMS_MAX} columns in statistics");
            return Err(SqlError::new("54011", text).into());
        }
        let (columns, expressions) = items_of(&binder, &of, items)?;
        let kinds = kinds_of(kinds, columns.len(), expressions.len())?;
        let new = StatisticsDef {
            oid: verso_catalog::Oid(0),
            schema,
            name,
            owner: self.current(),
            table: of.oid,
            columns,
            expressions,
            kinds,
            target: None,
        };
        let store = &self.frame.services.instance.catalog;
        store.create_statistics(&mut self.frame.txn.borrow_mut(), &new)?;
        Ok(())
    }

    /// `t_a_b_stat`, with a number behind it where there are statistics of that name.
    fn free_name(&self, schema: &str, table: &str, items: &[StatisticsItem]) -> Arc<str> {
        let named = |item: &StatisticsItem| match &item.key {
            IndexKey::Column(name) => name.text.clone(),
            IndexKey::Expression(expr, _) => match &expr.kind {
                verso_parser::syntax::ExprKind::Column(parts) => {
                    parts.last().map_or_else(String::new, |name| name.text.clone())
                }
                _ => "expr".to_string(),
            },
        };
        self.free_statistics_name(schema, table, &items.iter().map(named).collect::<Vec<_>>())
    }

    /// The same of these parts.
    pub(super) fn free_statistics_name(&self, schema: &str, table: &str, parts: &[String]) -> Arc<str> {
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let is_taken = |name: &str| self.frame.catalog.statistics_object(Some(schema), name).is_some();
        verso_catalog::free_name(table, &parts, "stat", is_taken).into()
    }
}

/// The columns, by number, and the expressions of statistics.
fn items_of(
    binder: &Binder<'_>,
    table: &Arc<TableDef>,
    items: &[StatisticsItem],
) -> Result<(Vec<u16>, Vec<Arc<str>>), SqlError> {
    let refused = |text: &str| Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
    let (mut columns, mut expressions) = (Vec::new(), Vec::new());
    let mut column = |name: &str| -> Result<(), SqlError> {
        if SYSTEM_COLUMNS.contains(&name) && table.column(name).is_none() {
            return refused("statistics creation on system columns is not supported");
        }
        let Some(found) = table.shown().iter().find(|column| *column.name == *name) else {
            let text = format!("column \"{name}\" does not exist");
            return Err(SqlError::new(sqlstate::UNDEFINED_COLUMN, text));
        };
        if found.is_virtual {
            return refused("statistics creation on virtual generated columns is not supported");
        }
        if KeyType::of(&found.ty).is_none() {
            let ty = found.declared().without_modifiers().pg_name();
            return refused(&format!(
                "column \"{name}\" cannot be used in statistics because its type {ty} has no default btree operator class"
            ));
        }
        if columns.contains(&found.id) {
            let text = "duplicate column name in statistics definition";
            return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text));
        }
        columns.push(found.id);
        Ok(())
    };
    let is_several = items.len() > 1;
    for item in items {
        match &item.key {
            IndexKey::Column(name) => column(&name.text)?,
            IndexKey::Expression(expr, written) => {
                let bind = |binder: &Binder<'_>| binder.statistics_expression(expr, table);
                let (kept, bound) = binder.kept_text(expr, written, bind)?;
                // A column with another collation than its own is an expression.
                let collates = matches!(expr.kind, verso_parser::syntax::ExprKind::Collate { .. });
                if let ExprKind::Column(at) = bound.kind
                    && !collates
                {
                    column(&table.columns[at].name)?;
                    continue;
                }
                check_type(&bound.ty, is_several)?;
                expressions.push(Arc::<str>::from(kept));
            }
        }
    }
    for (n, text) in expressions.iter().enumerate() {
        if expressions[..n].contains(text) {
            let text = "duplicate expression in statistics definition";
            return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text));
        }
    }
    if columns.len() + expressions.len() < 2 && expressions.is_empty() {
        let text = "extended statistics require at least 2 columns";
        return Err(SqlError::new("42P17", text));
    }
    columns.sort_unstable();
    Ok((columns, expressions))
}

/// Refuses an expression beside others whose values have no order.
pub(super) fn check_type(ty: &SqlType, is_several: bool) -> Result<(), SqlError> {
    if !is_several || KeyType::of(ty).is_some() {
        return Ok(());
    }
    let ty = ty.without_modifiers().pg_name();
    let text = format!(
        "expression cannot be used in multivariate statistics because its type {ty} has no default btree operator class"
    );
    Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text))
}

/// What is found out.
fn kinds_of(given: &[Name], columns: usize, expressions: usize) -> Result<Vec<StatisticsKind>, SqlError> {
    if columns + expressions == 1 && !given.is_empty() {
        let text = "when building statistics on a single expression, statistics kinds may not be specified";
        return Err(SqlError::new("42P17", text));
    }
    let mut kinds = Vec::new();
    for name in given {
        let found = StatisticsKind::NAMED.into_iter().find(|kind| kind.word() == name.text);
        let kind = found
            .ok_or_else(|| SqlError::syntax(format!("unrecognized statistics kind \"{}\"", name.text)))?;
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if given.is_empty() && columns + expressions > 1 {
        kinds.extend(StatisticsKind::NAMED);
    }
    kinds.sort_unstable();
    if expressions > 0 {
        kinds.push(StatisticsKind::Expressions);
    }
    Ok(kinds)
}
