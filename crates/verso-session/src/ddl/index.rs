//! CREATE INDEX, REINDEX, ALTER INDEX.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_catalog::{
    CatalogError, ColumnDef, IndexDef, KeyClass, NewIndex, NewIndexPart, Object, ObjectKind, Oid, OnlineCopy,
    Partitioned, Relation, Rights, STOOD_IN_FOR, TableChange, TableDef, guard_text,
};
use verso_exec::functions::quote_ident;
use verso_exec::plan::ExprKind;
use verso_types::{SqlType, SystemType};

use super::composite::is_system_name;
use super::upkeep::system_relation;
use super::{Schema, options, text};
use crate::catalogs::class_takes;
use crate::client::{CommandTag, Notice, tag};
use crate::failure::Failure;
use verso_parser::syntax::{
    AlterIndex, CreateIndex, IndexChange, IndexKey, Name, QualifiedName, Reindex, ReindexTarget,
};
use verso_planner::bind::{Binder, index_name, refuse_undetermined};
use verso_planner::errors::{SqlError, sqlstate};
use verso_storage::TableLockMode;

/// The access method of inverted indexes.
const INVERTED: &str = "gin";

/// The operator class of a part of an index with this method, over values of a type.
pub(super) fn key_class(
    method: Option<&str>,
    class: Option<&Name>,
    ty: &SqlType,
) -> Result<KeyClass, SqlError> {
    let shown = || ty.without_modifiers().pg_name();
    let name = class.map(|class| class.text.as_str());
    let missing = |name: &str, method: &str| {
        let text = format!("operator class \"{name}\" does not exist for access method \"{method}\"");
        SqlError::new(sqlstate::UNDEFINED_OBJECT, text)
    };
    let unfit = |name: &str| {
        let text = format!("operator class \"{name}\" does not accept data type {}", shown());
        SqlError::new(sqlstate::DATATYPE_MISMATCH, text)
    };
    let no_default = |method: &str| {
        let text =
            format!("data type {} has no default operator class for access method \"{method}\"", shown());
        SqlError::new(sqlstate::UNDEFINED_OBJECT, text).with_hint(
            "You must specify an operator class for the index or define a default operator class for the data type.",
        )
    };
    if method == Some(INVERTED) {
        let Some(class) = KeyClass::inverted(name, ty) else {
            let Some(name) = name else { return Err(no_default(INVERTED)) };
            return Err(missing(name, INVERTED));
        };
        return class.key_type(ty).map(|_| class).ok_or_else(|| unfit(class.name()));
    }
    let Some(name) = name else {
        return match (method, ty.plain()) {
            // What is within a box is in no order that a B+tree has.
            (Some("brin"), SqlType::System(SystemType::Box)) => {
                Err(SqlError::unsupported("a brin index over type box"))
            }
            (Some(method), SqlType::System(ty)) if ty.is_geometric() && method != "btree" => {
                Err(no_default(method))
            }
            _ => Ok(KeyClass::Ordered),
        };
    };
    let method = method.unwrap_or("btree");
    // What the classes of brin ask for, and those of hash, is in the order of the same type.
    let ordered = match ["_minmax_ops", "_minmax_multi_ops", "_bloom_ops"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
    {
        Some(ty) if method == "brin" => format!("{ty}_ops"),
        _ => name.to_string(),
    };
    match class_takes(&ordered, ty) {
        None => Err(missing(name, method)),
        Some(false) => Err(unfit(name)),
        Some(true) => Ok(KeyClass::ALL
            .into_iter()
            .find(|class| !class.is_inverted() && class.name() == ordered)
            .unwrap_or_default()),
    }
}

/// The index of a partition that is like one of the whole table, and no part of one yet.
pub(super) fn like_index<'t>(
    partition: &'t TableDef,
    index: &IndexDef,
    table: &TableDef,
) -> Option<&'t Arc<IndexDef>> {
    let body = index.body(table, quote_ident);
    partition.indexes.iter().find(|own| {
        own.part_of.is_none()
            && own.unique == index.unique
            && own.constraint.is_some() == index.constraint.is_some()
            && (own.primary, own.deferrable) == (index.primary, index.deferrable)
            && own.body(partition, quote_ident) == body
    })
}

/// A table by its name, where another one stands in a statement.
pub(super) fn named(table: &TableDef, at: &QualifiedName) -> QualifiedName {
    let name = |text: &str| Name { text: text.to_owned(), at: at.at() };
    QualifiedName { schema: Some(name(&table.schema)), name: name(&table.name) }
}

/// What an index of a partitioned table may not be.
fn check_index_of_whole(
    create: &CreateIndex,
    table: &TableDef,
    partitioned: &Partitioned,
) -> Result<(), SqlError> {
    if create.concurrently {
        let text = format!("cannot create index on partitioned table \"{}\" concurrently", table.name);
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
    }
    if !create.unique {
        return Ok(());
    }
    let columns = create.parts.iter().filter_map(|part| match &part.key {
        IndexKey::Column(name) => Some(text(name)),
        IndexKey::Expression(..) => None,
    });
    super::partition::check_key(table, partitioned, &columns.collect::<Vec<_>>(), false)
}

/// The access method that has a storage parameter which says nothing here.
fn method_of_parameter(name: &str) -> Option<&'static str> {
    match name {
        "deduplicate_items" => Some("btree"),
        "fastupdate" | "gin_pending_list_limit" => Some("gin"),
        "pages_per_range" | "autosummarize" => Some("brin"),
        _ => None,
    }
}

impl Schema<'_> {
    /// CREATE INDEX.
    pub(super) fn create_index(&self, create: &CreateIndex) -> Result<CommandTag, Failure> {
        self.create_index_part(create, None)
    }

    /// CREATE INDEX, in a partition perhaps as a part of an index of the whole table.
    pub(super) fn create_index_part(
        &self,
        create: &CreateIndex,
        part_of: Option<Oid>,
    ) -> Result<CommandTag, Failure> {
        let home = self.home(&create.table);
        let mut new = NewIndex {
            name: create.name.as_ref().map(text),
            schema: Some(Arc::clone(&home)),
            table: text(&create.table.name),
            parts: Vec::new(),
            include: create.include.iter().map(text).collect(),
            guard: None,
            unique: create.unique,
            nulls_distinct: create.nulls_distinct,
            concurrently: create.concurrently,
            part_of,
            options: options(&create.options),
        };
        if let Some(method) = create.method.as_deref().filter(|method| *method != INVERTED) {
            new.options.given.push((STOOD_IN_FOR.into(), method.into()));
        }
        if part_of.is_none() {
            self.own_named(&create.table)?;
        }
        let is_there = self.frame.catalog.relation(Some(&home), &create.table.name.text).is_some();
        if let Some(method) = create.method.as_deref().filter(|method| is_there && *method != INVERTED) {
            self.skip(format!("access method \"{method}\" is stood in for by a B+tree"));
        }
        self.skip_parameters(&create.options);
        let mut copy = None;
        let taken = self.is_taken_now(create, &home)?;
        match self.frame.catalog.relation(Some(&home), &create.table.name.text) {
            Some(Relation::Table(table)) if !table.is_system() && !taken => {
                let table = Arc::clone(table);
                if let Some(partitioned) = &table.partitioned {
                    check_index_of_whole(create, &table, partitioned)?;
                    if part_of.is_none() && !create.only {
                        self.lock_parts(create, &table)?;
                    }
                }
                copy = self.index_columns(create, &home, &table, &mut new)?;
            }
            _ => {} // the catalog says what is wrong
        }
        if let Some(copy) = copy {
            if self.create_online(&new, create.if_not_exists, copy)?.is_none() {
                self.skip_index(create);
            }
            return Ok(tag("CREATE INDEX"));
        }
        // What was added to the table is seen by a further statement.
        let made = self.frame.inside_now(|frame| {
            let catalog = &frame.services.instance.catalog;
            Ok(catalog.create_index(&mut frame.txn.borrow_mut(), &new, create.if_not_exists)?)
        })?;
        match made {
            None => self.skip_index(create),
            // Its parts are attached later.
            Some(_) if create.only => {}
            Some(made) => self.frame.inside_now(|frame| Schema { frame }.index_partitions(create, made))?,
        }
        Ok(tag("CREATE INDEX"))
    }

    fn skip_index(&self, create: &CreateIndex) {
        let name = create.name.as_ref().map_or("", |name| &name.text);
        let text = format!("relation \"{name}\" already exists, skipping");
        self.skip_known(sqlstate::DUPLICATE_TABLE, text);
    }

    /// Gives the partitions of a table what an index of it, which was made just now, means for them: the one that they have
    /// already, or a new one.
    fn index_partitions(&self, create: &CreateIndex, whole: Oid) -> Result<(), Failure> {
        let Some(Relation::Index(index)) = self.frame.catalog.relation_by_oid(whole) else { return Ok(()) };
        let Some(table) = self.frame.catalog.table_by_oid(index.table) else { return Ok(()) };
        for partition in table.partitioned.iter().flat_map(|partitioned| &partitioned.partitions) {
            if let Some(known) = like_index(partition, index, &table) {
                let catalog = &self.frame.services.instance.catalog;
                catalog.attach_index(&mut self.frame.txn.borrow_mut(), known, whole)?;
                continue;
            }
            let own = CreateIndex {
                name: None,
                if_not_exists: false,
                table: named(partition, &create.table),
                ..create.clone()
            };
            self.frame.inside_now(|frame| Schema { frame }.create_index_part(&own, Some(whole)))?;
        }
        Ok(())
    }

    pub(super) fn may_maintain(&self, relation: &Relation) -> Result<(), SqlError> {
        let table = match relation {
            Relation::Index(index) => index.table,
            relation => relation.oid(),
        };
        let word = super::rights::kind_word(relation);
        self.needs(Object::Relation(table), Rights::MAINTAIN, word, relation.name())
    }

    fn is_taken(&self, schema: &str, name: &str) -> bool {
        self.frame.catalog.relation(Some(schema), name).is_some()
    }

    /// Whether a new index has a name that there is: by now, whatever the level sees.
    fn is_taken_now(&self, create: &CreateIndex, schema: &str) -> Result<bool, Failure> {
        let Some(name) = &create.name else { return Ok(false) };
        self.frame.inside_now(|frame| Ok(Schema { frame }.is_taken(schema, &name.text)))
    }

    /// Locks a partitioned table and all its partitions before the first of them gets its index: against everybody where rows
    /// are to be copied for it.
    fn lock_parts(&self, create: &CreateIndex, table: &Arc<TableDef>) -> Result<(), Failure> {
        let computes = create.parts.iter().any(|part| matches!(part.key, IndexKey::Expression(..)));
        let mode = match computes || create.predicate.is_some() {
            true => TableLockMode::AccessExclusive,
            false => TableLockMode::Share,
        };
        for part in table.with_partitions() {
            self.frame.tables().lock(&part, mode)?;
        }
        Ok(())
    }

    /// The columns of a new index. Expressions and its condition become hidden columns of the table, those that it has not
    /// already: its rows are copied with them, or are to be copied while others write.
    pub(super) fn index_columns(
        &self,
        create: &CreateIndex,
        home: &Arc<str>,
        table: &Arc<TableDef>,
        new: &mut NewIndex,
    ) -> Result<Option<OnlineCopy>, Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let mut wanted: Vec<(SqlType, Arc<str>)> = Vec::new();
        // For each part, and for the condition, which of the wanted ones it is.
        let mut places = Vec::new();
        for part in &create.parts {
            let (descending, nulls_first) = (part.descending, part.nulls_first);
            let class = |ty: &SqlType| key_class(create.method.as_deref(), part.class.as_ref(), ty);
            let explicit = match &part.collation {
                Some(name) => {
                    let found =
                        binder.collation_named(name.schema_text(), &name.name.text, name.at().start)?;
                    Some(Arc::clone(&found.collation))
                }
                None => None,
            };
            let seen = |name: &str| {
                let column = table.columns.iter().find(|column| *column.name == *name && !column.is_hidden());
                column.map_or(SqlType::Void, |column| column.declared().clone())
            };
            let (name, place, ty) = match &part.key {
                IndexKey::Column(name) if is_system_name(&name.text) => {
                    let text = "index creation on system columns is not supported";
                    return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
                }
                IndexKey::Column(name) => (text(name), None, seen(&name.text)),
                IndexKey::Expression(expr, kept) => {
                    let bind = |binder: &Binder<'_>| binder.index_expression(expr, table);
                    let (kept, bound) = binder.kept_text(expr, kept, bind)?;
                    match bound.kind {
                        ExprKind::Column(at) => {
                            let declared = table.columns[at].declared().clone();
                            // `(a COLLATE c)` is the column in that order.
                            let declared = declared.uncollated().clone().collated(&bound.collation);
                            (Arc::clone(&table.columns[at].name), None, declared)
                        }
                        _ => {
                            let class = class(&bound.ty)?;
                            if class.key_type(&bound.ty).is_none() {
                                let ty = bound.ty.without_modifiers().pg_name();
                                return Err(CatalogError::NoOrder { ty }.into());
                            }
                            wanted.push((bound.ty.clone(), kept.into()));
                            (index_name(expr).into(), Some(wanted.len() - 1), bound.seen())
                        }
                    }
                }
            };
            // The catalog says what is wrong with a column that there is not.
            let class = if ty == SqlType::Void { KeyClass::Ordered } else { class(ty.uncollated())? };
            if explicit.is_some() && !(ty.erased().is_collatable() || ty == SqlType::Void) {
                let text =
                    format!("collations are not supported by type {}", ty.without_modifiers().pg_name());
                return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).into());
            }
            if explicit.is_none() {
                refuse_undetermined(&ty, "index expression")?;
            }
            let collation = explicit.or_else(|| ty.collation());
            // Texts in arrays are in the order of their bytes.
            let collation = collation.filter(|_| !matches!(ty.plain(), SqlType::Array(_)));
            let is_by_bytes =
                matches!(class, KeyClass::TextPattern | KeyClass::VarcharPattern | KeyClass::BpcharPattern);
            // Equal texts have other bytes.
            if is_by_bytes && collation.as_ref().is_some_and(|collation| !collation.is_deterministic()) {
                let text = format!(
                    "nondeterministic collations are not supported for operator class \"{}\"",
                    class.name()
                );
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
            }
            let (hidden, excludes) = (None, None);
            new.parts.push(NewIndexPart {
                name,
                hidden,
                descending,
                nulls_first,
                class,
                collation,
                excludes,
            });
            places.push(place);
        }
        let mut guard = None;
        if let Some((expr, kept)) = &create.predicate {
            let bind = |binder: &Binder<'_>| binder.index_predicate(expr, table);
            let (kept, _) = binder.kept_text(expr, kept, bind)?;
            wanted.push((SqlType::Bool, guard_text(&kept).into()));
            guard = Some(wanted.len() - 1);
        }
        let keys =
            new.parts.iter().zip(&places).filter(|(_, place)| place.is_none()).map(|(part, _)| &part.name);
        let names: Vec<&str> = keys.chain(&new.include).map(|name| &**name).collect();
        let apart = self.packed(table, &names)?;
        let number = |table: &TableDef, (ty, text): &(SqlType, Arc<str>)| {
            let is_it = |column: &&ColumnDef| {
                column.is_hidden() && column.default.as_ref() == Some(text) && column.ty == *ty
            };
            table.columns.iter().find(is_it).map(|column| column.id)
        };
        let mut missing: Vec<(SqlType, Arc<str>)> = Vec::new();
        for one in &wanted {
            if number(table, one).is_none() && !missing.contains(one) {
                missing.push(one.clone());
            }
        }
        let (mut table, mut copy) = (Arc::clone(table), None);
        if !missing.is_empty() || !apart.is_empty() {
            // Nobody else has a temporary table.
            if create.concurrently && !table.is_temporary() {
                let catalog = &self.frame.services.instance.catalog;
                let txn = &mut self.frame.txn.borrow_mut();
                let begun = catalog.begin_online(txn, home, &table.name, &missing, apart)?;
                table = Arc::clone(&begun.rewrite.new);
                copy = Some(begun);
            } else {
                let mut name = create.table.clone();
                name.schema = Some(Name { text: home.to_string(), at: name.at() });
                let change = TableChange::ForIndex { hidden: missing, apart };
                table = self.rewrite(&name, &change, |_| Ok(None))?;
            }
        }
        let of = |place: usize| number(&table, &wanted[place]);
        for (part, place) in new.parts.iter_mut().zip(places) {
            part.hidden = place.and_then(of);
        }
        new.guard = guard.and_then(of);
        Ok(copy)
    }

    /// ALTER INDEX … ACTIVE, INACTIVE.
    pub(super) fn alter_index(&self, alter: &AlterIndex) -> Result<CommandTag, Failure> {
        let name = &alter.name;
        self.own_named(name)?;
        if self.frame.catalog.relation(name.schema_text(), &name.name.text).is_none() && alter.if_exists {
            self.skip(format!("relation \"{}\" does not exist, skipping", name.name.text));
            return Ok(tag("ALTER INDEX"));
        }
        match &alter.change {
            IndexChange::Active(true) => drop(self.build_anew(true, name, false)?),
            IndexChange::Active(false) => {
                let catalog = &self.frame.services.instance.catalog;
                let home = self.home(name);
                catalog.deactivate_index(&mut self.frame.txn.borrow_mut(), Some(&home), &name.name.text)?;
            }
            IndexChange::Attach(part) => self.attach_index(name, part)?,
            IndexChange::Options(set) => self.index_options(name, set, &[])?,
            IndexChange::ResetOptions(names) => self.index_options(name, &[], names)?,
            IndexChange::Statistics { number, target } => self.index_statistics(name, *number, *target)?,
        }
        Ok(tag("ALTER INDEX"))
    }

    /// How many values ANALYZE keeps of an expression that an index is on: those of the hidden column of its table.
    fn index_statistics(
        &self,
        name: &QualifiedName,
        number: i64,
        target: Option<i64>,
    ) -> Result<(), Failure> {
        let home = self.home(name);
        let shown = &name.name.text;
        let index = self.frame.catalog.index(Some(&home), shown);
        let table = index.as_ref().and_then(|index| self.frame.catalog.table_by_oid(index.table));
        let (Some(index), Some(table)) = (index, table) else {
            let text = format!("\"{shown}\" is not an index");
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
        };
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let key = place.and_then(|place| index.parts.get(place)).map(|part| part.column);
        let included = place.and_then(|place| place.checked_sub(index.parts.len()));
        if let Some(id) = included.and_then(|place| index.include.get(place)) {
            let column = table.column_with_id(*id).map_or("", |at| &table.columns[at].name);
            let text =
                format!("cannot alter statistics on included column \"{column}\" of index \"{shown}\"");
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
        }
        let Some(at) = key.and_then(|id| table.column_with_id(id)) else {
            let text = format!("column number {number} of relation \"{shown}\" does not exist");
            return Err(SqlError::new(sqlstate::UNDEFINED_COLUMN, text).into());
        };
        let column = &table.columns[at];
        if !column.is_hidden() {
            let text = format!(
                "cannot alter statistics on non-expression column \"{}\" of index \"{shown}\"",
                column.name
            );
            let hint = "Alter statistics on table column instead.";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_hint(hint).into());
        }
        let change =
            TableChange::Statistics { column: Arc::clone(&column.name), target: self.column_target(target)? };
        self.alter(&named(&table, name), &change)
    }

    /// Says which storage parameters are kept and change nothing.
    fn skip_parameters(&self, options: &[(String, String)]) {
        for (name, _) in options.iter().filter(|(name, _)| method_of_parameter(name).is_some()) {
            self.skip(format!("storage parameter \"{name}\" has no effect"));
        }
    }

    /// ALTER INDEX SET, RESET.
    pub(super) fn index_options(
        &self,
        name: &QualifiedName,
        set: &[(String, String)],
        reset: &[String],
    ) -> Result<(), Failure> {
        let home = self.home(name);
        if let Some(Relation::Index(index)) = self.frame.catalog.relation(Some(&home), &name.name.text) {
            let is_other = |(name, _): &&(String, String)| {
                method_of_parameter(name).is_some_and(|method| method != index.method())
            };
            if let Some((name, _)) = set.iter().find(is_other) {
                let text = format!("unrecognized parameter \"{name}\"");
                return Err(SqlError::new("22023", text).into());
            }
            self.skip_parameters(set);
        }
        let reset: Vec<Arc<str>> = reset.iter().map(|name| Arc::from(&**name)).collect();
        let (catalog, txn) = (&self.frame.services.instance.catalog, &mut self.frame.txn.borrow_mut());
        catalog.set_index_options(txn, Some(&home), &name.name.text, &options(set), &reset)?;
        Ok(())
    }

    /// REINDEX, of one index or of all of a table.
    pub(super) fn reindex(&self, reindex: &Reindex) -> Result<CommandTag, Failure> {
        let (index, name) = match &reindex.target {
            ReindexTarget::Index(name) => (true, name),
            ReindexTarget::Table(name) => (false, name),
            ReindexTarget::Schema(_)
            | ReindexTarget::Database(_)
            | ReindexTarget::System(_)
            | ReindexTarget::Collations => {
                return Err(SqlError::internal("REINDEX of several tables at a time").into());
            }
        };
        if let (false, Some(system)) = (index, system_relation(name)) {
            self.keeps_itself(system)?;
            return Ok(tag("REINDEX"));
        }
        let built = self.build_anew(index, name, reindex.concurrently)?;
        if reindex.verbose {
            for name in built {
                let message = format!("index \"{name}\" was reindexed");
                self.frame.services.notices.tell(Notice { severity: "INFO", ..Notice::message(message) });
            }
        }
        Ok(tag("REINDEX"))
    }

    /// Builds one index, or those of a table, anew; their names.
    fn build_anew(
        &self,
        index: bool,
        name: &QualifiedName,
        concurrently: bool,
    ) -> Result<Vec<Arc<str>>, Failure> {
        if let Some(relation) = self.frame.catalog.relation(name.schema_text(), &name.name.text) {
            self.may_maintain(relation)?;
        }
        let catalog = &self.frame.services.instance.catalog;
        let home = self.home(name);
        let schema = Some(&*home);
        let builds_later = self.frame.services.instance.builds_later.load(Ordering::Relaxed);
        if let (false, false, false, Some(table)) =
            (index, concurrently, builds_later, self.frame.catalog.table(schema, &name.name.text))
            && table.partitioned.is_none()
            && table.indexes.len() > TOGETHER_MAX
            && !table.all_indexes().any(|index| index.outdated)
        {
            // The list of its indexes has no place for all of them twice: they are built over a copy.
            self.frame.inside_now(|frame| Schema { frame }.copy_anew(name, None))?;
            return Ok(names_of_built(&table).collect());
        }
        let txn = &mut self.frame.txn.borrow_mut();
        if !index {
            if builds_later {
                catalog.build_idle(txn, &home, &name.name.text, &[])?;
                return Ok(Vec::new());
            }
            let known = self.frame.catalog.table(schema, &name.name.text);
            // What is no table is for the catalog to refuse.
            let Some(table) = known.as_ref().filter(|table| table.partitioned.is_some()) else {
                catalog.reindex(txn, schema, &name.name.text, None, concurrently)?;
                return Ok(known.iter().flat_map(|table| names_of_built(table)).collect());
            };
            let mut built = Vec::new();
            for leaf in table.leaves() {
                catalog.reindex(txn, Some(&leaf.schema), &leaf.name, None, concurrently)?;
                built.extend(names_of_built(&leaf));
            }
            return Ok(built);
        }
        let index = self.frame.catalog.index(schema, &name.name.text);
        let index = index.ok_or_else(|| -> SqlError {
            match self.frame.catalog.relation(schema, &name.name.text) {
                Some(_) => {
                    let text = format!("\"{}\" is not an index", name.name.text);
                    SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text)
                }
                None => CatalogError::missing(ObjectKind::Relation, name.to_string()).into(),
            }
        })?;
        let table = self.frame.catalog.table_by_oid(index.table);
        let table = table.ok_or_else(|| SqlError::internal("an index without a table"))?;
        catalog.reindex(txn, Some(&table.schema), &table.name, Some(index.oid), concurrently)?;
        Ok(vec![Arc::clone(&index.name)])
    }
}

/// More indexes of a table are not built anew beside the old ones: a table has 64 at most.
const TOGETHER_MAX: usize = 32;

/// The indexes that REINDEX TABLE builds: those in use, and those that were made from other data of collations.
fn names_of_built(table: &TableDef) -> impl Iterator<Item = Arc<str>> + '_ {
    let built = table.all_indexes().filter(|index| index.valid || index.outdated);
    built.map(|index| Arc::clone(&index.name))
}
