//! Rows to a snapshot, and definitions to rows.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use verso_storage::page::ObjectId;
use verso_types::{CollationData, Exclusion, KeyType, RowType, SqlType};

use super::collated::Collated;
use super::divided::Divided;
use super::field::{Bytes, Letter, Name};
use super::row::{
    AclRow, AttributeRow, AuthIdRow, AuthMemberRow, CastRow, ClassRow, CollatedRow, CollationRow,
    ConstraintRow, DbRoleSettingRow, DefaultAclRow, DefaultRow, DependRow, DescriptionRow, DomainRow,
    EnumRow, ExtensionRow, IndexRow, InheritsRow, NamespaceRow, OperatorRow, PartitionedRow, PolicyRow,
    ProcRow, RangeRow, RewriteRow, SequenceRow, StatisticExtRow, StatisticRow, SystemRow, TriggerRow,
    TypeRow,
};
use super::types::{TypeRows, UserTypes};
use super::{
    DEPENDS_AUTO, DEPENDS_NORMAL, KIND_INDEX, KIND_MATERIALIZED, KIND_PARTITIONED, KIND_SEQUENCE, KIND_TABLE,
    KIND_VIEW, LOGGED, OWNER_OID, UNLOGGED,
};
use crate::aggregate::{AggregateDef, Callee};
use crate::collation::CollationDef;
use crate::damage::Flaws;
use crate::definition::{
    ArgMode, ColumnDef, ConstraintDef, ConstraintKind, DroppedColumn, Excluding, ExtensionDef, ForeignKey,
    FunctionArg, FunctionDef, FunctionLanguage, FunctionReturn, Identity, IndexDef, IndexPart, Materialized,
    Oid, OwnedBy, ReferentialAction, SchemaDef, SequenceDef, TableDef, TableOptions, ViewDef, Volatility,
};
use crate::error::CatalogError;
use crate::extended::{StatisticsDef, StatisticsKind};
use crate::key_class::KeyClass;
use crate::needs::Need;
use crate::operator::{CastContext, CastDef, OperatorDef};
use crate::planning::Planning;
use crate::row_type::{is_held, relation_of};
use crate::sequence::SequenceBounds;
use crate::snapshot::{CatalogSnapshot, Relation, SameNames, SnapshotBuilder};
use crate::store::UnreadRow;
use crate::stored::{StoredBody, StoredQuery};
use crate::trigger::{TriggerDef, TriggerEnabled, TriggerKind, TriggerStatements};

/// `pg_language.oid` of `sql`.
pub(crate) const LANGUAGE_SQL: Oid = Oid(14);
/// The same of aggregates, which PostgreSQL counts among what is built in.
pub(crate) const LANGUAGE_INTERNAL: Oid = Oid(12);
/// `pg_language.oid` of `plpgsql`.
pub(crate) const LANGUAGE_PLPGSQL: Oid = Oid(13_500);

/// `pg_type.oid` of the pseudo-type `trigger`, which no value has.
pub(super) const TYPE_TRIGGER: Oid = Oid(2279);

/// All rows of the system tables that definitions are made of, as one transaction sees them.
#[derive(Debug, Default)]
pub(crate) struct CatalogRows {
    pub namespaces: Vec<NamespaceRow>,
    pub classes: Vec<ClassRow>,
    pub attributes: Vec<AttributeRow>,
    pub defaults: Vec<DefaultRow>,
    pub functions: Vec<ProcRow>,
    pub sequences: Vec<SequenceRow>,
    pub depends: Vec<DependRow>,
    pub indexes: Vec<IndexRow>,
    pub constraints: Vec<ConstraintRow>,
    pub triggers: Vec<TriggerRow>,
    pub rules: Vec<RewriteRow>,
    pub descriptions: Vec<DescriptionRow>,
    pub statistics: Vec<StatisticRow>,
    pub types: Vec<TypeRow>,
    pub labels: Vec<EnumRow>,
    pub domains: Vec<DomainRow>,
    pub ranges: Vec<RangeRow>,
    /// Roles and memberships, where they were read.
    pub roles: Option<(Vec<AuthIdRow>, Vec<AuthMemberRow>)>,
    pub acls: Vec<AclRow>,
    /// Where they were read.
    pub default_acls: Option<Vec<DefaultAclRow>>,
    pub policies: Vec<PolicyRow>,
    /// Where they were read.
    pub settings: Option<Vec<DbRoleSettingRow>>,
    /// Where they were read.
    pub collations: Option<Vec<CollationRow>>,
    pub collated: Vec<CollatedRow>,
    pub partitioned: Vec<PartitionedRow>,
    pub inherits: Vec<InheritsRow>,
    pub extended: Vec<StatisticExtRow>,
    /// Where they were read.
    pub extensions: Option<Vec<ExtensionRow>>,
    /// The same.
    pub operators: Option<Vec<OperatorRow>>,
    /// The same.
    pub casts: Option<Vec<CastRow>>,
    pub collation_data: CollationData,
    /// Objects with rows that could not be read.
    pub unread: Vec<UnreadRow>,
    /// Columns of indexes whose keys may be in an order that their types had in earlier versions, and how their keys are.
    pub earlier: HashMap<Oid, Vec<(u16, KeyType)>>,
}

impl CatalogRows {
    /// The definitions that all rows stand for. What `previous` has just so is shared with it, so that what others
    /// have derived from a definition stays valid.
    pub fn assemble(
        mut self,
        version: u64,
        previous: Option<&CatalogSnapshot>,
    ) -> Result<Arc<CatalogSnapshot>, CatalogError> {
        let mut builder = CatalogSnapshot::empty(version);
        for row in &self.namespaces {
            builder.add_schema(Arc::new(schema_of_row(row)));
        }
        builder.set_collation_data(self.collation_data);
        let collations = self.collations.take().unwrap_or_default();
        self.add(&mut builder, collations, None, previous)?;
        Ok(builder.build())
    }

    /// The definitions of a version that differs from another in what has changed at most, of which these are the rows. None if so
    /// much depends on them that all has to be read.
    pub fn assemble_over(
        mut self,
        version: u64,
        base: Base<'_>,
    ) -> Result<Option<Arc<CatalogSnapshot>>, CatalogError> {
        let Base { snapshot: before, changed } = base;
        // Whether an object is damaged follows from all rows (D3 of `damage.rs`).
        if before.has_damage() {
            return Ok(None);
        }
        let mut builder = before.without(version, changed);
        let schemas = self.namespaces.iter().map(schema_of_row).collect();
        if builder.change_schemas(changed, schemas) == SameNames::No {
            return Ok(None);
        }
        let collations = self.collations.take();
        let known = if collations.is_some() { builder.take_collations() } else { Vec::new() };
        self.add(&mut builder, collations.unwrap_or_default(), Some(base), Some(before))?;
        let snapshot = builder.build();
        if snapshot.has_damage() {
            return Ok(None);
        }
        // Types and collations are in the definitions of what uses them.
        let same_collation =
            |old: &Arc<CollationDef>| snapshot.collation_by_oid(old.oid().0).as_ref() == Some(old);
        let same_type = |oid: &Oid| {
            let old = before.user_type(*oid);
            old.is_none_or(|old| {
                snapshot.user_type(*oid) == Some(old) || !snapshot.is_named(&[old.oid, old.array])
            })
        };
        if !known.iter().all(same_collation) || !changed.iter().all(same_type) {
            return Ok(None);
        }
        let row =
            |snapshot: &CatalogSnapshot, oid| snapshot.relation_by_oid(oid).and_then(Relation::row_type);
        let other_rows =
            |oid: &&Oid| row(before, **oid).is_some_and(|old| row(&snapshot, **oid) != Some(old));
        if changed.iter().filter(other_rows).any(|oid| is_held(&snapshot, *oid)) {
            return Ok(None);
        }
        Ok(Some(snapshot))
    }

    /// Adds what the rows stand for to a version that has the schemas; what they name and do not say themselves is as in
    /// `base`.
    fn add(
        mut self,
        builder: &mut SnapshotBuilder,
        collations: Vec<CollationRow>,
        base: Option<Base<'_>>,
        previous: Option<&CatalogSnapshot>,
    ) -> Result<(), CatalogError> {
        let flaws = Flaws::default();
        for (object, table) in std::mem::take(&mut self.unread) {
            flaws.note(object, format!("a row of {table} has values of wrong types"));
        }
        self.add_missing_schemas(builder, &collations, &flaws);
        let schemas: HashMap<Oid, Arc<str>> =
            builder.schema_names().map(|(oid, name)| (oid, Arc::clone(name))).collect();
        let schema_of = |oid: Oid| {
            schemas
                .get(&oid)
                .cloned()
                .ok_or_else(|| corrupt(format!("schema {oid} has no row in pg_namespace")))
        };
        if self.extensions.is_some() {
            builder.forget_extensions();
        }
        for row in self.extensions.take().unwrap_or_default() {
            builder.add_extension(ExtensionDef {
                oid: row.oid,
                name: row.extname.0,
                owner: row.extowner,
                schema: schema_of(row.extnamespace)?,
                version: row.extversion,
            });
        }
        if self.operators.is_some() {
            builder.forget_operators();
        }
        for row in self.operators.take().unwrap_or_default() {
            let schema = schema_of(row.oprnamespace)?;
            builder.add_operator(operator(row, schema));
        }
        if self.casts.is_some() {
            builder.forget_casts();
        }
        for row in self.casts.take().unwrap_or_default() {
            // A capital is the letter of a cast that was dropped.
            let letter = row.castcontext.0;
            let context = CastContext::of(letter.to_ascii_lowercase()).unwrap_or_else(|| {
                flaws.note(row.oid, "it says not when it happens");
                CastContext::Explicit
            });
            let cast = CastDef {
                oid: row.oid,
                source: row.castsource,
                target: row.casttarget,
                function: row.castfunc.as_deref().map(Callee::parse),
                context,
            };
            match letter.is_ascii_uppercase() {
                true => builder.add_dropped_cast(cast),
                false => builder.add_cast(cast),
            }
        }
        for row in std::mem::take(&mut self.descriptions) {
            builder.add_comment((row.classoid, row.objoid, row.objsubid), row.description);
        }
        let mut statistics: BTreeMap<Oid, Vec<StatisticRow>> = BTreeMap::new();
        for row in std::mem::take(&mut self.statistics) {
            statistics.entry(row.starelid).or_default().push(row);
        }
        statistics.into_iter().for_each(|(table, rows)| builder.add_statistics(table, rows));
        super::authority::add(builder, &mut self, &flaws);
        let before = base.map(|base| base.snapshot);
        let rows = (collations, self.collated.as_slice());
        let collated = Collated::of(rows, self.collation_data, &schema_of, before, &flaws)?;
        let old = |oid| previous.and_then(|snapshot| snapshot.collation_by_oid(oid));
        for one in collated.definitions() {
            builder.add_collation(shared(old(one.oid().0), one.clone()));
        }
        let named = self.named_by_functions().copied().collect();
        let rows = TypeRows {
            types: std::mem::take(&mut self.types),
            labels: std::mem::take(&mut self.labels),
            domains: std::mem::take(&mut self.domains),
            ranges: std::mem::take(&mut self.ranges),
            attributes: &mut self.attributes,
            classes: &self.classes,
            named,
        };
        let types = UserTypes::of(rows, &collated, &schema_of, base, &flaws)?;
        for one in types.definitions() {
            let old = previous.and_then(|snapshot| snapshot.user_type(one.oid)).cloned();
            builder.add_type(shared(old, one.clone()));
        }
        let mut dropped = self.dropped_columns(&types);
        let mut columns = self.columns(&types, &collated, &schema_of, (base, &flaws))?;
        let (mut constraints, mut references) = self.constraints_of_tables(&flaws);
        let (parts, inherits) =
            std::mem::take(&mut self.inherits).into_iter().partition(Divided::is_of_index);
        let known = (&collated, &columns);
        let mut indexes = self.indexes_of_tables(&schema_of, &constraints, known, parts, &flaws)?;
        let mut triggers = self.triggers_of_tables(&flaws);
        let mut extended = self.extended_of_tables(&schema_of, &flaws)?;
        let mut bounds: HashMap<Oid, SequenceRow> =
            std::mem::take(&mut self.sequences).into_iter().map(|row| (row.seqrelid, row)).collect();
        let mut rules: HashMap<Oid, RewriteRow> =
            std::mem::take(&mut self.rules).into_iter().map(|row| (row.ev_class, row)).collect();
        let rows = self.rows_of_relations(&types, base);
        let mut divided = Divided::of(std::mem::take(&mut self.partitioned), inherits, &flaws);
        let mut query_of = |class: &ClassRow| {
            let Some(rule) = rules.remove(&class.oid) else {
                flaws.note(class.oid, "it has no row in pg_rewrite");
                return StoredQuery::default();
            };
            let query = StoredQuery::read(rule.ev_action, &rule.ev_names).unwrap_or_else(|error| {
                flaws.note_error(class.oid, error);
                StoredQuery::default()
            });
            StoredQuery { rule: rule.oid, ..query }
        };
        let owners = self.owners_of_sequences();
        for class in &self.classes {
            let (schema, name) = (schema_of(class.relnamespace)?, Arc::clone(&class.relname.0));
            let object = ObjectId(class.relfilenode.0);
            match class.relkind.0 {
                KIND_TABLE | KIND_PARTITIONED | KIND_MATERIALIZED => {
                    let materialized = match class.relkind.0 {
                        KIND_TABLE | KIND_PARTITIONED => None,
                        _ => {
                            let query = query_of(class);
                            Some(Materialized { query, populated: class.relispopulated })
                        }
                    };
                    let columns = columns.remove(&class.oid).unwrap_or_default();
                    let all = indexes.remove(&class.oid).unwrap_or_default();
                    let (valid, idle) = all.into_iter().partition(|index| index.valid);
                    let table = TableDef {
                        oid: class.oid,
                        schema,
                        name,
                        heap: object,
                        columns,
                        dropped: dropped.remove(&class.oid).unwrap_or_default(),
                        indexes: valid,
                        idle_indexes: idle,
                        constraints: constraints.remove(&class.oid).unwrap_or_default(),
                        referenced_by: references.remove(&class.oid).unwrap_or_default(),
                        triggers: triggers.remove(&class.oid).unwrap_or_default(),
                        extended: extended.remove(&class.oid).unwrap_or_default(),
                        options: options_of(class.reloptions.as_deref()),
                        materialized,
                        unlogged: class.relpersistence.0 == UNLOGGED,
                        partitioned: None,
                        partition_of: None,
                    };
                    divided.add(table);
                }
                KIND_SEQUENCE => {
                    let read = match bounds.remove(&class.oid) {
                        Some(row) => bounds_of(&row),
                        None => Err(corrupt("it has no row in pg_sequence".to_owned())),
                    };
                    let bounds = read.unwrap_or_else(|error| {
                        flaws.note_error(class.oid, error);
                        SequenceBounds::default()
                    });
                    let sequence = SequenceDef {
                        oid: class.oid,
                        schema,
                        name,
                        object,
                        bounds,
                        unlogged: class.relpersistence.0 == UNLOGGED,
                        owned_by: owners.get(&class.oid).copied(),
                    };
                    let old = previous.and_then(|snapshot| snapshot.sequence_by_oid(class.oid));
                    builder.add_sequence(shared(old, sequence));
                }
                // Added with its table.
                KIND_INDEX => {}
                kind => {
                    // What is of no known kind has a name, and goes like a view: what it has in storage is not known.
                    let query = match kind {
                        KIND_VIEW => query_of(class),
                        kind => {
                            flaws.note(class.oid, format!("it is of unknown kind \"{kind}\""));
                            StoredQuery::default()
                        }
                    };
                    let view = ViewDef {
                        oid: class.oid,
                        schema,
                        name,
                        columns: columns.remove(&class.oid).unwrap_or_default(),
                        query,
                        options: options_of(class.reloptions.as_deref()),
                        triggers: triggers.remove(&class.oid).unwrap_or_default(),
                    };
                    let old = previous.and_then(|snapshot| snapshot.view_by_oid(class.oid));
                    builder.add_view(shared(old, view));
                }
            }
        }
        divided.finish(&collated, &flaws, &mut |table| {
            let old = previous.and_then(|snapshot| snapshot.table_by_oid(table.oid));
            let table = shared(old, table);
            builder.add_table(Arc::clone(&table));
            table
        });
        self.add_functions(builder, (&types, &rows), &schema_of, previous, &flaws)?;
        builder.set_damage(flaws.into_inner());
        Ok(())
    }

    /// Adds schemas that rows name and that have no row themselves: what is in them can be used, moved and dropped.
    fn add_missing_schemas(&self, builder: &mut SnapshotBuilder, collations: &[CollationRow], flaws: &Flaws) {
        let mut named: BTreeSet<Oid> = self.classes.iter().map(|row| row.relnamespace).collect();
        named.extend(self.types.iter().map(|row| row.typnamespace));
        named.extend(self.functions.iter().map(|row| row.pronamespace));
        named.extend(collations.iter().map(|row| row.collnamespace));
        named.extend(self.extended.iter().map(|row| row.stxnamespace));
        named.extend(self.extensions.iter().flatten().map(|row| row.extnamespace));
        named.extend(self.operators.iter().flatten().map(|row| row.oprnamespace));
        for (oid, _) in builder.schema_names() {
            named.remove(&oid);
        }
        for oid in named {
            let mut name = format!("damaged_{oid}");
            while builder.has_schema(&name) {
                name.push('_');
            }
            builder.add_schema(Arc::new(SchemaDef::new(oid, name.as_str())));
            flaws.note(oid, "it has no row in pg_namespace");
        }
    }

    /// The numbers of types that functions take or give.
    fn named_by_functions(&self) -> impl Iterator<Item = &Oid> {
        self.functions.iter().flat_map(|row| {
            let all = row.proallargtypes.as_deref().unwrap_or_default();
            row.proargtypes.iter().chain(all).chain([&row.prorettype])
        })
    }

    /// The types of the rows of those relations that functions take or give rows of.
    fn rows_of_relations(&self, types: &UserTypes, base: Option<Base<'_>>) -> HashMap<Oid, SqlType> {
        let own: HashSet<Oid> = self.classes.iter().map(|class| class.oid).collect();
        let row_of = |oid: &Oid| {
            let is_one = own.contains(oid) || base.and_then(|base| base.relation(*oid)).is_some();
            Some((*oid, is_one.then(|| types.of_oid(*oid, -1).ok())??))
        };
        self.named_by_functions().filter(|oid| !oid.is_system()).filter_map(row_of).collect()
    }

    /// The columns that were dropped of each table, in order: those that users saw.
    fn dropped_columns(&self, types: &UserTypes) -> HashMap<Oid, Vec<DroppedColumn>> {
        let mut dropped: HashMap<Oid, Vec<DroppedColumn>> = HashMap::new();
        for row in self.attributes.iter().filter(|row| row.attisdropped) {
            let seen = |id: &u16| *id < ColumnDef::FIRST_HIDDEN;
            let Some(id) = u16::try_from(row.attnum).ok().filter(seen) else { continue };
            // Nothing ties a dropped column to a type of a user, which may change or go.
            let own = Some(row.atttypid).filter(|oid| oid.is_system());
            let ty = own.and_then(|oid| types.of_oid(oid, row.atttypmod).ok()).unwrap_or(SqlType::Unknown);
            dropped.entry(row.attrelid).or_default().push(DroppedColumn { id, ty });
        }
        dropped.values_mut().for_each(|all| all.sort_by_key(|column| column.id));
        dropped
    }

    /// The columns of each table, in order.
    fn columns(
        &mut self,
        types: &UserTypes,
        collated: &Collated,
        schema_of: &dyn Fn(Oid) -> Result<Arc<str>, CatalogError>,
        (base, flaws): (Option<Base<'_>>, &Flaws),
    ) -> Result<HashMap<Oid, Vec<ColumnDef>>, CatalogError> {
        let mut defaults: HashMap<(Oid, i16), Arc<str>> = HashMap::new();
        let mut of_sequences = self.defaults_of_sequences(schema_of, base)?;
        for row in std::mem::take(&mut self.defaults) {
            let text = of_sequences.remove(&row.oid).unwrap_or(row.adbin);
            defaults.insert((row.adrelid, row.adnum), text);
        }
        let mut columns: HashMap<Oid, Vec<ColumnDef>> = HashMap::new();
        for row in std::mem::take(&mut self.attributes) {
            if row.attisdropped {
                continue;
            }
            let Ok(id) = u16::try_from(row.attnum) else {
                flaws.note(row.attrelid, format!("column \"{}\" has number {}", row.attname.0, row.attnum));
                continue;
            };
            let ty = types.of_oid(row.atttypid, row.atttypmod).unwrap_or_else(|error| {
                flaws.note(row.attrelid, format!("column \"{}\": {}", row.attname.0, flaw(error)));
                SqlType::Unknown
            });
            let ty = collated.declared(ty, row.attrelid, i32::from(row.attnum));
            let column = ColumnDef {
                ty: ty.erased(),
                domain: ColumnDef::domain_of(&ty),
                default: defaults.remove(&(row.attrelid, row.attnum)),
                name: row.attname.0,
                id,
                not_null: row.attnotnull,
                identity: match row.attidentity.0 {
                    'a' => Some(Identity::Always),
                    'd' => Some(Identity::ByDefault),
                    _ => None,
                },
                generated: matches!(row.attgenerated.0, 's' | 'v'),
                is_virtual: row.attgenerated.0 == 'v',
                reservable: row.attgenerated.0 == RESERVABLE,
                statistics: STATISTICS_BEHIND
                    .checked_sub(row.attlen)
                    .and_then(|target| u16::try_from(target).ok()),
            };
            columns.entry(row.attrelid).or_default().push(column);
        }
        for table in columns.values_mut() {
            table.sort_by_key(|column| column.id);
        }
        Ok(columns)
    }

    /// The defaults of `serial` columns, which follow the names of their sequences.
    fn defaults_of_sequences(
        &self,
        schema_of: &dyn Fn(Oid) -> Result<Arc<str>, CatalogError>,
        base: Option<Base<'_>>,
    ) -> Result<HashMap<Oid, Arc<str>>, CatalogError> {
        let mut texts = HashMap::new();
        let mut links = self.depends.iter().filter(|row| is_default_of_sequence(row)).peekable();
        if links.peek().is_none() {
            return Ok(texts);
        }
        let sequences = self.classes.iter().filter(|class| class.relkind.0 == KIND_SEQUENCE);
        let sequences: HashMap<Oid, &ClassRow> = sequences.map(|class| (class.oid, class)).collect();
        for link in links {
            let text = match sequences.get(&link.refobjid) {
                Some(class) => crate::ddl::next_value(&schema_of(class.relnamespace)?, &class.relname.0),
                None => match base.and_then(|base| base.relation(link.refobjid)) {
                    Some(Relation::Sequence(sequence)) => {
                        crate::ddl::next_value(&sequence.schema, &sequence.name)
                    }
                    _ => continue,
                },
            };
            texts.insert(link.objid, text);
        }
        Ok(texts)
    }

    /// The constraints of each table by name, and the foreign keys that reference each.
    fn constraints_of_tables(&mut self, flaws: &Flaws) -> (ByTable<ConstraintDef>, ByTable<ConstraintDef>) {
        let mut own: ByTable<ConstraintDef> = HashMap::new();
        let mut references: ByTable<ConstraintDef> = HashMap::new();
        for row in std::mem::take(&mut self.constraints) {
            let table = row.conrelid;
            let constraint = match constraint_of(row) {
                Ok(constraint) => Arc::new(constraint),
                Err(error) => {
                    flaws.note_error(table, error);
                    continue;
                }
            };
            if let ConstraintKind::Foreign(key) = &constraint.kind {
                references.entry(key.referenced).or_default().push(Arc::clone(&constraint));
            }
            own.entry(constraint.table).or_default().push(constraint);
        }
        own.values_mut().for_each(|all| all.sort_by(|a, b| a.name.cmp(&b.name)));
        references.values_mut().for_each(|all| all.sort_by_key(|constraint| constraint.oid));
        (own, references)
    }

    /// The triggers of each table, by name.
    fn triggers_of_tables(&mut self, flaws: &Flaws) -> ByTable<TriggerDef> {
        let mut triggers: ByTable<TriggerDef> = HashMap::new();
        for row in std::mem::take(&mut self.triggers) {
            let table = row.tgrelid;
            match trigger_of(row) {
                Ok(trigger) => triggers.entry(table).or_default().push(Arc::new(trigger)),
                Err(error) => flaws.note_error(table, error),
            }
        }
        triggers.values_mut().for_each(|all| all.sort_by(|a, b| a.name.cmp(&b.name)));
        triggers
    }

    /// The statistics of each table, by number.
    fn extended_of_tables(
        &mut self,
        schema_of: &dyn Fn(Oid) -> Result<Arc<str>, CatalogError>,
        flaws: &Flaws,
    ) -> Result<ByTable<StatisticsDef>, CatalogError> {
        let mut all: ByTable<StatisticsDef> = HashMap::new();
        for row in std::mem::take(&mut self.extended) {
            let columns = match column_ids(Some(&row.stxkeys)) {
                Ok(columns) => columns,
                Err(error) => {
                    flaws.note_error(row.stxrelid, error);
                    continue;
                }
            };
            let statistics = StatisticsDef {
                oid: row.oid,
                schema: schema_of(row.stxnamespace)?,
                name: row.stxname.0,
                owner: row.stxowner,
                table: row.stxrelid,
                columns,
                expressions: row.stxexprs.unwrap_or_default(),
                kinds: row.stxkind.chars().filter_map(StatisticsKind::from_letter).collect(),
                target: u16::try_from(row.stxstattarget).ok(),
            };
            all.entry(row.stxrelid).or_default().push(Arc::new(statistics));
        }
        all.values_mut().for_each(|all| all.sort_by_key(|one| one.oid));
        Ok(all)
    }

    /// The indexes of each table. One that cannot be read is none: its table is damaged.
    fn indexes_of_tables(
        &mut self,
        schema_of: &dyn Fn(Oid) -> Result<Arc<str>, CatalogError>,
        constraints: &ByTable<ConstraintDef>,
        (collated, columns): (&Collated, &HashMap<Oid, Vec<ColumnDef>>),
        parts_of: Vec<InheritsRow>,
        flaws: &Flaws,
    ) -> Result<ByTable<IndexDef>, CatalogError> {
        let classes: HashMap<Oid, &ClassRow> =
            self.classes.iter().filter(|row| row.relkind.0 == KIND_INDEX).map(|row| (row.oid, row)).collect();
        let earlier = std::mem::take(&mut self.earlier);
        let mut indexes: ByTable<IndexDef> = HashMap::new();
        let parts_of: HashMap<Oid, Oid> =
            parts_of.into_iter().map(|row: InheritsRow| (row.inhrelid, row.inhparent)).collect();
        for row in std::mem::take(&mut self.indexes) {
            let Some(class) = classes.get(&row.indexrelid) else {
                flaws.note(row.indrelid, format!("index {} has no row in pg_class", row.indexrelid));
                continue;
            };
            if flaws.has(row.indexrelid) {
                let text = format!("index \"{}\" has a collation that cannot be read", class.relname.0);
                flaws.note(row.indrelid, text);
            }
            let is_its =
                |constraint: &&Arc<ConstraintDef>| constraint.kind.own_index() == Some(row.indexrelid);
            let constraint = constraints.get(&row.indrelid).and_then(|all| all.iter().find(is_its));
            let parts = (1..).zip(row.indkey.iter().zip(&row.indoption)).map(|(number, (column, option))| {
                Ok(IndexPart {
                    column: column_id(*column)?,
                    descending: option & 1 != 0,
                    nulls_first: option & 2 != 0,
                    class: KeyClass::from_code((option >> 2) as u8 & 0x3f)
                        .ok_or_else(|| corrupt(format!("index {} is of no known class", row.indexrelid)))?,
                    collation: collated.of_part(row.indexrelid, number),
                    excludes: Exclusion::from_code((option >> 8 & 0xf) as u8),
                })
            });
            let parts: Result<Vec<IndexPart>, CatalogError> = parts.collect();
            let include = column_ids(row.indkey.get(row.indoption.len()..));
            let guard = (row.indguard != 0).then(|| column_id(row.indguard)).transpose();
            let (mut parts, mut include, mut guard) = match (parts, include, guard) {
                (Ok(parts), Ok(include), Ok(guard)) => (parts, include, guard),
                (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
                    let text = format!("index \"{}\": {}", class.relname.0, flaw(error));
                    flaws.note(row.indrelid, text);
                    continue;
                }
            };
            let own = columns.get(&row.indrelid).map(Vec::as_slice).unwrap_or_default();
            let is_own = |id: &u16| own.iter().any(|column| column.id == *id);
            let mut ids = parts.iter().map(|part| part.column).chain(include.iter().copied()).chain(guard);
            let flaw = match ids.find(|id| !is_own(id)) {
                Some(id) => Some(format!("has column {id}, which its table has not")),
                None => parts.is_empty().then(|| "has no columns".to_owned()),
            };
            if let Some(flaw) = flaw {
                flaws.note(row.indrelid, format!("index \"{}\" {flaw}", class.relname.0));
                // It goes with its table, which is damaged; nobody meets a column that there is not.
                parts.retain(|part| is_own(&part.column));
                include.retain(is_own);
                guard = guard.filter(is_own);
            }
            let is_other = |(column, found): &(u16, KeyType)| {
                let mut own = columns.get(&row.indrelid).into_iter().flatten();
                let key = |own: &ColumnDef| KeyType::of(&own.ty).and_then(KeyType::earlier);
                own.any(|own| own.id == *column && key(own) == Some(*found))
            };
            let in_order = !earlier.get(&row.indexrelid).is_some_and(|parts| parts.iter().any(is_other));
            let is_current = in_order && collated.is_current(row.indexrelid);
            // An earlier release with other data took it out of use and left no note of that; nobody else does so to a constraint's.
            let is_left = !row.indisvalid && constraint.is_some() && collated.is_versioned(row.indexrelid);
            let index = IndexDef {
                oid: row.indexrelid,
                schema: schema_of(class.relnamespace)?,
                name: Arc::clone(&class.relname.0),
                table: row.indrelid,
                object: ObjectId(class.relfilenode.0),
                valid: row.indisvalid && is_current,
                outdated: !is_current || is_left,
                parts,
                include,
                guard,
                unique: row.indisunique,
                primary: row.indisprimary,
                nulls_distinct: !row.indnullsnotdistinct,
                constraint: constraint.map(|constraint| constraint.oid),
                deferrable: constraint.is_some_and(|constraint| constraint.deferrable),
                initially_deferred: constraint.is_some_and(|constraint| constraint.initially_deferred),
                part_of: parts_of.get(&row.indexrelid).copied(),
                clustered: row.is_clustered(),
                replica_identity: row.is_replica_identity(),
                options: options_of(class.reloptions.as_deref()),
                excluding: constraint.and_then(|constraint| match &constraint.kind {
                    ConstraintKind::Exclude { declared, .. } => Some(Arc::clone(declared)),
                    _ => None,
                }),
            };
            indexes.entry(row.indrelid).or_default().push(Arc::new(index));
        }
        indexes.values_mut().for_each(|all| all.sort_by_key(|index| index.oid));
        Ok(indexes)
    }

    /// The columns that own sequences.
    fn owners_of_sequences(&self) -> HashMap<Oid, OwnedBy> {
        let owns = |row: &&DependRow| {
            row.classid == ClassRow::TABLE.oid
                && row.refclassid == ClassRow::TABLE.oid
                && row.deptype.0 == DEPENDS_AUTO
        };
        let owner = |row: &DependRow| {
            let column = u16::try_from(row.refobjsubid).ok()?;
            Some((row.objid, OwnedBy { table: row.refobjid, column }))
        };
        self.depends.iter().filter(owns).filter_map(owner).collect()
    }

    fn add_functions(
        self,
        builder: &mut SnapshotBuilder,
        (types, rows): (&UserTypes, &HashMap<Oid, SqlType>),
        schema_of: &dyn Fn(Oid) -> Result<Arc<str>, CatalogError>,
        previous: Option<&CatalogSnapshot>,
        flaws: &Flaws,
    ) -> Result<(), CatalogError> {
        for row in self.functions {
            let schema = schema_of(row.pronamespace)?;
            let read = function_of(&row, types, rows, Arc::clone(&schema));
            let function = read.and_then(|it| check_aggregate(it, types)).unwrap_or_else(|error| {
                flaws.note_error(row.oid, error);
                unread_function(&row, types, schema)
            });
            let old = previous.and_then(|snapshot| snapshot.function_by_oid(row.oid)).cloned();
            builder.add_function(shared(old, function));
        }
        Ok(())
    }
}

/// Another version of the catalog, and what may be otherwise in the one that is assembled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base<'a> {
    pub snapshot: &'a CatalogSnapshot,
    pub changed: &'a BTreeSet<Oid>,
}

impl<'a> Base<'a> {
    /// A relation that has not changed.
    fn relation(self, oid: Oid) -> Option<&'a Relation> {
        self.snapshot.relation_by_oid(oid).filter(|_| !self.changed.contains(&oid))
    }

    /// A type that a user has made, or that of the rows of a relation that has not changed; or an array of one.
    pub(super) fn type_by_oid(self, oid: Oid) -> Option<SqlType> {
        let relation = relation_of(oid);
        match self.snapshot.user_type(oid).is_none() && self.changed.contains(&relation) {
            true => None,
            false => self.snapshot.type_by_oid(oid.0, -1),
        }
    }
}

/// What is wrong with a row, without the words in front of it.
pub(super) fn flaw(error: CatalogError) -> String {
    match error {
        CatalogError::Corrupt { what } => what,
        other => other.to_string(),
    }
}

/// Whether a default is the next number of a sequence.
pub(super) fn is_default_of_sequence(row: &DependRow) -> bool {
    row.classid == DefaultRow::TABLE.oid
        && row.refclassid == ClassRow::TABLE.oid
        && row.deptype.0 == DEPENDS_NORMAL
}

fn schema_of_row(row: &NamespaceRow) -> SchemaDef {
    SchemaDef { oid: row.oid, name: Arc::clone(&row.nspname.0), owner: row.nspowner }
}

/// Where a column's length stands, a lower number says which statistics target it has been given.
const STATISTICS_BEHIND: i16 = -1_000;

/// Definitions by the table they belong to.
type ByTable<T> = HashMap<Oid, Vec<Arc<T>>>;

fn column_id(number: i16) -> Result<u16, CatalogError> {
    u16::try_from(number).map_err(|_| corrupt(format!("there is no column number {number}")))
}

fn column_ids(numbers: Option<&[i16]>) -> Result<Vec<u16>, CatalogError> {
    numbers.unwrap_or_default().iter().map(|number| column_id(*number)).collect()
}

fn constraint_of(row: ConstraintRow) -> Result<ConstraintDef, CatalogError> {
    let flaw = |what: &str| corrupt(format!("constraint \"{}\" has {what}", row.conname.0));
    let action = |letter: Letter| {
        ReferentialAction::from_letter(letter.0.to_ascii_lowercase())
            .ok_or_else(|| flaw("an unknown referential action"))
    };
    let some = |columns: Vec<u16>| if columns.is_empty() { Err(flaw("no column")) } else { Ok(columns) };
    let part_of = match (row.contype.0.to_ascii_lowercase(), &row.conbin) {
        ('f', Some(whole)) => Some(Oid(whole.parse().map_err(|_| flaw("no number of a constraint"))?)),
        _ => None,
    };
    // A letter in capitals is that of a constraint that is not enforced.
    let kind = match row.contype.0.to_ascii_lowercase() {
        'c' => ConstraintKind::Check { expression: row.conbin.clone().ok_or_else(|| flaw("no condition"))? },
        'n' => {
            let columns = column_ids(row.conkey.as_deref())?;
            ConstraintKind::NotNull { column: *columns.first().ok_or_else(|| flaw("no column"))? }
        }
        'p' | 'u' => ConstraintKind::Unique {
            columns: some(column_ids(row.conkey.as_deref())?)?,
            index: row.conindid,
            primary: row.contype.0 == 'p',
        },
        'x' => {
            let text = row.conbin.as_deref().unwrap_or_default();
            let mut words = text.split_whitespace();
            let method = words.next().ok_or_else(|| flaw("no access method"))?.into();
            let order = words.map(|word| word.parse().map_err(|_| flaw("no number of a column")));
            ConstraintKind::Exclude {
                columns: some(column_ids(row.conkey.as_deref())?)?,
                index: row.conindid,
                declared: Arc::new(Excluding { method, order: order.collect::<Result<_, CatalogError>>()? }),
            }
        }
        'f' => ConstraintKind::Foreign(ForeignKey {
            columns: some(column_ids(row.conkey.as_deref())?)?,
            referenced: row.confrelid,
            referenced_columns: some(column_ids(row.confkey.as_deref())?)?,
            index: row.conindid,
            match_full: row.confmatchtype.0 == 'f',
            period: row.confmatchtype.0 == 'p',
            on_delete: action(row.confdeltype)?,
            on_update: action(row.confupdtype)?,
            delete_columns: column_ids(row.confdelsetcols.as_deref())?,
            whole: None,
            unchecked: row.confupdtype.0.is_ascii_uppercase(),
            unguarded: row.confdeltype.0.is_ascii_uppercase(),
        }),
        _ => return Err(flaw("an unknown kind")),
    };
    Ok(ConstraintDef {
        oid: row.oid,
        name: row.conname.0,
        table: row.conrelid,
        kind,
        deferrable: row.condeferrable,
        initially_deferred: row.condeferred,
        validated: row.convalidated,
        enforced: !row.contype.0.is_ascii_uppercase(),
        part_of,
        no_inherit: row.confmatchtype.0 == 'n',
    })
}

fn trigger_of(row: TriggerRow) -> Result<TriggerDef, CatalogError> {
    let flaw = |what: &str| corrupt(format!("trigger \"{}\" has {what}", row.tgname.0));
    let enabled = TriggerEnabled::from_letter(row.tgenabled.0).ok_or_else(|| flaw("an unknown state"))?;
    if !TriggerKind(row.tgtype).is_for_something() {
        return Err(flaw("nothing that it is for"));
    }
    let args = std::str::from_utf8(&row.tgargs.0).map_err(|_| flaw("arguments that are no text"))?;
    let args: Vec<Arc<str>> = args.split_terminator('\0').map(Arc::from).collect();
    if args.len() != usize::try_from(row.tgnargs).unwrap_or_default() {
        return Err(flaw("another number of arguments"));
    }
    let name = |name: Option<Name>| name.map(|name| name.0);
    let columns = column_ids(Some(&row.tgattr))?;
    let is_constraint = row.tgconstraint != Oid(0);
    let new = name(row.tgnewname);
    let (constraint_name, new) = if is_constraint { (new, None) } else { (None, new) };
    let action = row.tgaction.map(|body| TriggerStatements { body, old: name(row.tgoldname), new });
    Ok(TriggerDef {
        oid: row.oid,
        name: row.tgname.0,
        table: row.tgrelid,
        part_of: row.tgparentid,
        function: row.tgfoid,
        kind: TriggerKind(row.tgtype),
        columns,
        condition: row.tgqual,
        args,
        enabled,
        constraint: is_constraint,
        constraint_name,
        other_table: row.tgconstrrelid,
        deferrable: row.tgdeferrable,
        initially_deferred: row.tginitdeferred,
        old_table: name(row.tgoldtable),
        new_table: name(row.tgnewtable),
        action,
    })
}

/// The row of a trigger.
pub(crate) fn trigger_row(trigger: &TriggerDef) -> TriggerRow {
    let name = |name: &Option<Arc<str>>| name.clone().map(Name);
    let mut args = Vec::new();
    for arg in &trigger.args {
        args.extend_from_slice(arg.as_bytes());
        args.push(0);
    }
    TriggerRow {
        oid: trigger.oid,
        tgrelid: trigger.table,
        tgparentid: trigger.part_of,
        tgname: Name(Arc::clone(&trigger.name)),
        tgfoid: trigger.function,
        tgtype: trigger.kind.0,
        tgenabled: Letter(trigger.enabled.letter()),
        tgisinternal: false,
        tgconstrrelid: trigger.other_table,
        tgconstrindid: Oid(0),
        tgconstraint: if trigger.constraint { trigger.oid } else { Oid(0) },
        tgdeferrable: trigger.deferrable,
        tginitdeferred: trigger.initially_deferred,
        tgnargs: i16::try_from(trigger.args.len()).expect("the number of arguments was checked"),
        tgattr: numbers(&trigger.columns),
        tgargs: Bytes(args.into()),
        tgqual: trigger.condition.clone(),
        tgoldtable: name(&trigger.old_table),
        tgnewtable: name(&trigger.new_table),
        tgaction: trigger.action.as_ref().map(|action| Arc::clone(&action.body)),
        tgoldname: trigger.action.as_ref().and_then(|action| name(&action.old)),
        tgnewname: match &trigger.action {
            Some(action) => name(&action.new),
            None => name(&trigger.constraint_name),
        },
    }
}

fn options_of(options: Option<&[Arc<str>]>) -> TableOptions {
    let pair = |option: &Arc<str>| {
        let (name, value) = option.split_once('=').unwrap_or((option, "true"));
        (Arc::from(name), Arc::from(value))
    };
    TableOptions { given: options.unwrap_or_default().iter().map(pair).collect() }
}

/// Storage parameters as `pg_class` has them.
pub(crate) fn options_row(options: &TableOptions) -> Option<Vec<Arc<str>>> {
    let text = |(name, value): &(Arc<str>, Arc<str>)| Arc::from(format!("{name}={value}"));
    (!options.given.is_empty()).then(|| options.given.iter().map(text).collect())
}

fn numbers(ids: &[u16]) -> Vec<i16> {
    ids.iter().map(|id| i16::try_from(*id).expect("the number of columns was checked")).collect()
}

/// The row of an index.
pub(crate) fn index_row(index: &IndexDef) -> IndexRow {
    let mut columns: Vec<u16> = index.parts.iter().map(|part| part.column).collect();
    columns.extend(&index.include);
    let count = |count: usize| i16::try_from(count).expect("the number of columns was checked");
    let option = |part: &IndexPart| {
        i16::from(part.descending)
            | (i16::from(part.nulls_first) << 1)
            | (i16::from(part.class as u8) << 2)
            | (i16::from(part.excludes.map_or(0, Exclusion::code)) << 8)
    };
    let mut row = IndexRow {
        indexrelid: index.oid,
        indrelid: index.table,
        indnatts: count(columns.len()),
        indnkeyatts: count(index.parts.len()),
        indisunique: index.unique,
        indnullsnotdistinct: !index.nulls_distinct,
        indisprimary: index.primary,
        indimmediate: !index.deferrable,
        indisvalid: index.valid,
        indkey: numbers(&columns),
        indoption: index.parts.iter().map(option).collect(),
        indguard: index.guard.map_or(0, |guard| numbers(&[guard])[0]),
    };
    row.set_clustered(index.clustered);
    row.set_replica_identity(index.replica_identity);
    row
}

/// The row of a constraint.
pub(crate) fn constraint_row(constraint: &ConstraintDef, schema: Oid) -> ConstraintRow {
    let blank = Letter(' ');
    let mut row = ConstraintRow {
        oid: constraint.oid,
        conname: Name(Arc::clone(&constraint.name)),
        connamespace: schema,
        contype: blank,
        condeferrable: constraint.deferrable,
        condeferred: constraint.initially_deferred,
        convalidated: constraint.validated,
        conrelid: constraint.table,
        conindid: Oid(0),
        confrelid: Oid(0),
        confupdtype: blank,
        confdeltype: blank,
        confmatchtype: blank,
        conkey: None,
        confkey: None,
        confdelsetcols: None,
        conbin: None,
    };
    match &constraint.kind {
        ConstraintKind::Check { expression } => {
            row.contype = Letter('c');
            row.conbin = Some(Arc::clone(expression));
        }
        ConstraintKind::NotNull { column } => {
            row.contype = Letter('n');
            row.conkey = Some(numbers(&[*column]));
        }
        ConstraintKind::Unique { columns, index, primary } => {
            row.contype = Letter(if *primary { 'p' } else { 'u' });
            row.conkey = Some(numbers(columns));
            row.conindid = *index;
        }
        ConstraintKind::Exclude { columns, index, declared } => {
            row.contype = Letter('x');
            row.conkey = Some(numbers(columns));
            row.conindid = *index;
            let order: Vec<String> = declared.order.iter().map(usize::to_string).collect();
            row.conbin = Some(format!("{} {}", declared.method, order.join(" ")).into());
        }
        ConstraintKind::Foreign(key) => {
            row.contype = Letter('f');
            row.conkey = Some(numbers(&key.columns));
            row.conindid = key.index;
            row.confrelid = key.referenced;
            row.confkey = Some(numbers(&key.referenced_columns));
            row.confmatchtype = Letter(match (key.period, key.match_full) {
                (true, _) => 'p',
                (false, true) => 'f',
                (false, false) => 's',
            });
            row.confdeltype = Letter(key.on_delete.letter()).capital(key.unguarded);
            row.confupdtype = Letter(key.on_update.letter()).capital(key.unchecked);
            row.confdelsetcols = (!key.delete_columns.is_empty()).then(|| numbers(&key.delete_columns));
            row.conbin = constraint.part_of.map(|whole| whole.to_string().into());
        }
    }
    if constraint.no_inherit {
        row.confmatchtype = Letter('n');
    }
    if !constraint.enforced {
        row.contype = Letter(row.contype.0.to_ascii_uppercase());
    }
    row
}

/// `old` if it says the same as `new`.
fn shared<T: PartialEq>(old: Option<Arc<T>>, new: T) -> Arc<T> {
    match old {
        Some(old) if *old == new => old,
        _ => Arc::new(new),
    }
}

pub(super) fn corrupt(what: String) -> CatalogError {
    CatalogError::Corrupt { what }
}

fn bounds_of(row: &SequenceRow) -> Result<SequenceBounds, CatalogError> {
    Ok(SequenceBounds {
        ty: SqlType::from_pg_oid(row.seqtypid.0, -1)
            .ok_or_else(|| corrupt(format!("type {} is not known", row.seqtypid)))?,
        start: row.seqstart,
        increment: row.seqincrement,
        min: row.seqmin,
        max: row.seqmax,
        cycle: row.seqcycle,
        cache: row.seqcache,
    })
}

fn function_of(
    row: &ProcRow,
    types: &UserTypes,
    rows: &HashMap<Oid, SqlType>,
    schema: Arc<str>,
) -> Result<FunctionDef, CatalogError> {
    let flaw = |what: &str| corrupt(format!("function \"{}\" has {what}", row.proname.0));
    let names = row.proargnames.as_deref().unwrap_or_default();
    let name_of = |i: usize| names.get(i).cloned().unwrap_or_else(|| "".into());
    // The type of a relation's rows has the relation's number.
    let type_of = |oid: Oid| match rows.get(&oid) {
        Some(ty) => (ty.clone(), Some(oid)),
        // The relation has gone without its function: nothing is known of its rows any more. Earlier releases wrote numbers
        // that are no types, too: the function is lost, and not the database with it.
        None => (types.of_oid(oid, -1).unwrap_or(SqlType::Record), None),
    };
    let all = row.proallargtypes.as_deref().unwrap_or(&row.proargtypes);
    let (mut args, mut columns) = (Vec::new(), Vec::new());
    for (i, oid) in all.iter().enumerate() {
        let (ty, rows_of) = type_of(*oid);
        let letter = row.proargmodes.as_ref().map_or(Some('i'), |modes| Some(modes.get(i)?.0));
        match letter {
            Some('t') => columns.push((name_of(i), ty)),
            letter => {
                let mode = letter.and_then(ArgMode::from_letter);
                let mode = mode.ok_or_else(|| flaw("an argument without a mode"))?;
                args.push(FunctionArg { name: name_of(i), ty, mode, default: None, rows_of });
            }
        }
    }
    let defaults: Vec<Arc<str>> = extras(row, '=').map(Arc::from).collect();
    let inputs = args.iter_mut().rev().filter(|arg| arg.mode.goes_in());
    for (arg, default) in inputs.zip(defaults.iter().rev()) {
        arg.default = Some(Arc::clone(default));
    }
    if row.prorettype == TYPE_TRIGGER {
        return definition(row, schema, args, FunctionReturn::Trigger, None);
    }
    // A procedure has no result type, not even void.
    if row.prorettype == Oid(0) {
        return definition(row, schema, args, FunctionReturn::Procedure, None);
    }
    let (result, rows_of) = type_of(row.prorettype);
    let out = || -> Vec<(Arc<str>, SqlType)> {
        let out = args.iter().filter(|arg| arg.mode.goes_out());
        let name = |(n, arg): (usize, &FunctionArg)| match arg.name.is_empty() {
            true => (format!("column{}", n + 1).into(), arg.ty.clone()),
            false => (Arc::clone(&arg.name), arg.ty.clone()),
        };
        out.enumerate().map(name).collect()
    };
    let returns = match (row.proretset, result) {
        (true, _) if !columns.is_empty() => FunctionReturn::Table(columns),
        (true, SqlType::Record) if args.iter().any(|arg| arg.mode.goes_out()) => FunctionReturn::Table(out()),
        (true, result) => FunctionReturn::Set(result),
        (false, SqlType::Void) => FunctionReturn::Void,
        (false, SqlType::Record) if args.iter().any(|arg| arg.mode.goes_out()) => {
            FunctionReturn::Scalar(SqlType::Row(Arc::new(RowType::unnamed(named_fields(out())))))
        }
        (false, result) => FunctionReturn::Scalar(result),
    };
    definition(row, schema, args, returns, rows_of)
}

/// A function, unless it is an aggregate of which nobody can say what it computes.
fn check_aggregate(function: FunctionDef, types: &UserTypes) -> Result<FunctionDef, CatalogError> {
    if !function.is_aggregate() {
        return Ok(function);
    }
    let flaw = |what: &str| corrupt(format!("aggregate \"{}\" has {what}", function.name));
    let read = AggregateDef::parse(&function.body).ok_or_else(|| flaw("a definition that cannot be read"))?;
    let moving = read.moving.as_ref().map(|moving| moving.state);
    // A state may be the rows of a relation, or of no known type yet.
    let is_known = |oid: &Oid| !oid.is_system() || types.of_oid(*oid, -1).is_ok();
    match [read.state].iter().chain(&moving).all(is_known) {
        true => Ok(function),
        false => Err(flaw("a state of a type that is not known")),
    }
}

/// A function whose row could not be read: what it is called by, so that it can be dropped.
fn unread_function(row: &ProcRow, types: &UserTypes, schema: Arc<str>) -> FunctionDef {
    let arg = |oid: &Oid| FunctionArg::new("", types.of_oid(*oid, -1).unwrap_or(SqlType::Record));
    let returns = match row.prorettype {
        Oid(0) => FunctionReturn::Procedure,
        TYPE_TRIGGER => FunctionReturn::Trigger,
        _ => FunctionReturn::Void,
    };
    FunctionDef {
        args: row.proargtypes.iter().map(arg).collect(),
        returns,
        ..FunctionDef::new(row.oid, &schema, &row.proname.0)
    }
}

/// What stands behind the names of arguments, of one kind.
fn extras(row: &ProcRow, kind: char) -> impl Iterator<Item = &str> {
    let arguments = row.proallargtypes.as_deref().unwrap_or(&row.proargtypes).len();
    let extras = row.proargnames.as_deref().unwrap_or_default().iter().skip(arguments);
    extras.filter_map(move |extra| extra.strip_prefix(kind))
}

/// Fields that have names, also where arguments have none: `column1` …
fn named_fields(fields: Vec<(Arc<str>, SqlType)>) -> Vec<(Arc<str>, SqlType)> {
    let named = |(n, (name, ty)): (usize, (Arc<str>, SqlType))| match name.is_empty() {
        true => (format!("column{}", n + 1).into(), ty),
        false => (name, ty),
    };
    fields.into_iter().enumerate().map(named).collect()
}

fn operator(row: OperatorRow, schema: Arc<str>) -> OperatorDef {
    OperatorDef {
        oid: row.oid,
        schema,
        name: row.oprname.0,
        owner: row.oprowner,
        left: (row.oprleft != Oid(0)).then_some(row.oprleft),
        right: row.oprright,
        result: row.oprresult,
        function: Callee::parse(&row.oprcode),
        commutator: row.oprcom,
        negator: row.oprnegate,
        restrict: row.oprrest,
        join: row.oprjoin,
        hashes: row.oprcanhash,
        merges: row.oprcanmerge,
    }
}

fn definition(
    row: &ProcRow,
    schema: Arc<str>,
    args: Vec<FunctionArg>,
    returns: FunctionReturn,
    rows_of: Option<Oid>,
) -> Result<FunctionDef, CatalogError> {
    let flaw = |what: &str| corrupt(format!("function \"{}\" has {what}", row.proname.0));
    let stored = match extras(row, '$').next() {
        // Bodies of older versions have no notes: they are bound by the names of the caller.
        None | Some("") => None,
        Some(name) => {
            let notes: Vec<Arc<str>> = extras(row, '~').map(Arc::from).collect();
            let query = StoredQuery::read(Arc::clone(&row.prosrc), &notes)?;
            Some(Arc::new(StoredBody { name: name.into(), query }))
        }
    };
    Ok(FunctionDef {
        oid: row.oid,
        schema,
        name: Arc::clone(&row.proname.0),
        args,
        returns,
        language: match row.prolang {
            LANGUAGE_SQL => FunctionLanguage::Sql,
            LANGUAGE_PLPGSQL => FunctionLanguage::PlPgSql,
            LANGUAGE_INTERNAL => FunctionLanguage::Internal,
            _ => return Err(flaw("an unknown language")),
        },
        body: Arc::clone(&row.prosrc),
        volatility: match row.provolatile.0 {
            'i' => Volatility::Immutable,
            's' => Volatility::Stable,
            'v' => Volatility::Volatile,
            _ => return Err(flaw("an unknown volatility")),
        },
        strict: row.proisstrict,
        security_definer: row.prosecdef,
        leakproof: extras(row, '!').next().is_some(),
        planning: match extras(row, '%').next() {
            Some(note) => Planning::read(note).ok_or_else(|| flaw("an unreadable COST, ROWS or PARALLEL"))?,
            None => Planning::default(),
        },
        needs: match &stored {
            Some(stored) => stored.needs(row.oid),
            None => extras(row, '#').filter_map(Need::read).collect(),
        },
        stored,
        rows_of,
        standard_body: extras(row, '$').next().is_some(),
        settings: extras(row, '@')
            .filter_map(|setting| setting.split_once('='))
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        variant: 0,
    })
}

/// The row of a table or sequence.
pub(crate) fn class_row(
    oid: Oid,
    name: &Arc<str>,
    schema: Oid,
    object: ObjectId,
    kind: char,
    columns: usize,
) -> ClassRow {
    ClassRow {
        oid,
        relname: Name(Arc::clone(name)),
        relnamespace: schema,
        relowner: OWNER_OID,
        relfilenode: Oid(object.0),
        relkind: Letter(kind),
        relpersistence: Letter(LOGGED),
        relnatts: i16::try_from(columns).expect("the number of columns was checked"),
        relispopulated: true,
        reloptions: None,
        relrowsecurity: false,
        relforcerowsecurity: false,
    }
}

/// The letter of a RESERVABLE column, which is never a generated one; versions of the program that do not know it take the
/// column for one like others.
const RESERVABLE: char = 'r';

/// The row of a column.
pub(crate) fn attribute_row(table: Oid, column: &ColumnDef) -> AttributeRow {
    AttributeRow {
        attrelid: table,
        attname: Name(Arc::clone(&column.name)),
        atttypid: Oid(column.declared().pg_oid()),
        atttypmod: column.declared().typmod(),
        attlen: match column.statistics.and_then(|target| i16::try_from(target).ok()) {
            Some(target) => STATISTICS_BEHIND.saturating_sub(target),
            None => column.ty.typlen(),
        },
        attnum: i16::try_from(column.id).expect("the number of columns was checked"),
        attnotnull: column.not_null,
        atthasdef: column.default.is_some(),
        attisdropped: false,
        attidentity: Letter(match column.identity {
            Some(Identity::Always) => 'a',
            Some(Identity::ByDefault) => 'd',
            None => ' ',
        }),
        attgenerated: Letter(match (column.generated, column.is_virtual) {
            (true, true) => 'v',
            (true, false) => 's',
            (false, _) if column.reservable => RESERVABLE,
            (false, _) => ' ',
        }),
    }
}

/// The row of a sequence's bounds.
pub(crate) fn sequence_row(oid: Oid, bounds: &SequenceBounds) -> SequenceRow {
    SequenceRow {
        seqrelid: oid,
        seqtypid: Oid(bounds.ty.pg_oid()),
        seqstart: bounds.start,
        seqincrement: bounds.increment,
        seqmax: bounds.max,
        seqmin: bounds.min,
        seqcache: bounds.cache,
        seqcycle: bounds.cycle,
    }
}

/// The row of a function.
pub(crate) fn proc_row(function: &FunctionDef, schema: Oid) -> ProcRow {
    let oid_of = |arg: &FunctionArg| arg.rows_of.unwrap_or_else(|| Oid(arg.ty.pg_oid()));
    let argument_types: Vec<Oid> = function.inputs().map(oid_of).collect();
    let mut names: Vec<Arc<str>> = function.args.iter().map(|arg| Arc::clone(&arg.name)).collect();
    let mut all: Vec<Oid> = function.args.iter().map(oid_of).collect();
    let mut modes: Vec<Letter> = function.args.iter().map(|arg| Letter(arg.mode.letter())).collect();
    let out = function.args.iter().any(|arg| arg.mode.goes_out());
    let result = match &function.returns {
        FunctionReturn::Procedure | FunctionReturn::Void | FunctionReturn::Trigger => {
            Oid(SqlType::Void.pg_oid())
        }
        FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => {
            function.rows_of.unwrap_or_else(|| Oid(ty.pg_oid()))
        }
        FunctionReturn::Table(columns) if out => match columns.as_slice() {
            [(_, ty)] => Oid(ty.pg_oid()),
            _ => Oid(SqlType::Record.pg_oid()),
        },
        FunctionReturn::Table(columns) => {
            names.extend(columns.iter().map(|(name, _)| Arc::clone(name)));
            all.extend(columns.iter().map(|(_, ty)| Oid(ty.pg_oid())));
            modes.extend(columns.iter().map(|_| Letter('t')));
            match columns.as_slice() {
                [(_, ty)] => Oid(ty.pg_oid()),
                _ => Oid(SqlType::Record.pg_oid()),
            }
        }
    };
    let comes_out = modes.iter().any(|mode| !matches!(mode.0, 'i' | 'v'));
    let plain = modes.iter().all(|mode| mode.0 == 'i');
    let named = names.iter().any(|name| !name.is_empty());
    let defaults = function.inputs().filter_map(|arg| Some(format!("={}", arg.default.as_ref()?)));
    let settings = function.settings.iter().map(|(name, value)| format!("@{name}={value}"));
    let stored = function.stored.as_deref();
    let standard = function.standard_body.then(|| format!("${}", stored.map_or("", |stored| &*stored.name)));
    let leakproof = function.leakproof.then(|| "!".to_string());
    let planning = function.planning.note().map(|note| format!("%{note}"));
    let needs = function.needs.iter().filter(|_| stored.is_none()).map(|need| format!("#{}", need.note()));
    let notes = stored.iter().flat_map(|stored| stored.query.notes()).map(|note| format!("~{note}"));
    let extras = defaults.chain(settings).chain(standard).chain(leakproof);
    let extras = extras.chain(planning).chain(needs).chain(notes);
    let extras: Vec<Arc<str>> = extras.map(Arc::from).collect();
    let named = named || !extras.is_empty();
    names.extend(extras);
    ProcRow {
        oid: function.oid,
        proname: Name(Arc::clone(&function.name)),
        pronamespace: schema,
        proowner: OWNER_OID,
        prolang: match function.language {
            FunctionLanguage::Sql => LANGUAGE_SQL,
            FunctionLanguage::PlPgSql => LANGUAGE_PLPGSQL,
            FunctionLanguage::Internal => LANGUAGE_INTERNAL,
        },
        proisstrict: function.strict,
        proretset: function.returns.is_set(),
        provolatile: Letter(match function.volatility {
            Volatility::Immutable => 'i',
            Volatility::Stable => 's',
            Volatility::Volatile => 'v',
        }),
        pronargs: i16::try_from(argument_types.len()).expect("the number of arguments was checked"),
        prorettype: match function.returns {
            FunctionReturn::Trigger => TYPE_TRIGGER,
            FunctionReturn::Procedure => Oid(0),
            _ => result,
        },
        proargtypes: argument_types,
        proallargtypes: (comes_out || !plain).then_some(all),
        proargmodes: (!plain).then_some(modes),
        proargnames: named.then_some(names),
        prosrc: Arc::clone(&function.body),
        prosecdef: function.security_definer,
    }
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
