//! How a snapshot comes to be: definitions are added to nothing, or to what another version has (N3, N4).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use verso_types::CollationData;

use super::naming::{
    named_by_cast, named_by_function, named_by_operator, named_by_policy, named_by_relation, named_by_type,
};
use super::relation::Relation;
use super::{CatalogSnapshot, Contents, Schema};
use crate::authority::{Authority, PolicyDef};
use crate::collation::CollationDef;
use crate::definition::{ExtensionDef, FunctionDef, Oid, SchemaDef, SequenceDef, TableDef, TypeDef, ViewDef};
use crate::extensions::types_of;
use crate::operator::{CastDef, OperatorDef};
use crate::shared_map::SharedMap;
use crate::size::Sizes;
use crate::statistics::Kept;
use crate::stored::StoredCondition;
use crate::system::row::StatisticRow;

/// Roughly what an entry takes in the maps that find it, with its own fields.
const ENTRY_BYTES: usize = 512;
/// Roughly what a column, an index or a constraint takes in its table's definition.
const PART_BYTES: usize = 192;
/// Roughly what a condition takes for a column that it knows.
const NAME_BYTES: usize = 48;

/// Whether schemas are called what they were called before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum SameNames {
    Yes,
    No,
}

/// Roughly what a relation takes.
fn relation_bytes(relation: &Relation) -> usize {
    ENTRY_BYTES
        + match relation {
            Relation::Table(table) => {
                let parts = table.all_indexes().count() + table.constraints.len() + table.triggers.len();
                (table.columns.len() + parts) * PART_BYTES
            }
            Relation::View(view) => {
                (view.columns.len() + view.triggers.len()) * PART_BYTES + view.query.text.len()
            }
            Relation::Sequence(_) | Relation::Index(_) => PART_BYTES,
        }
}

/// Roughly what a function takes.
fn function_bytes(function: &FunctionDef) -> usize {
    ENTRY_BYTES + function.body.len()
}

/// Roughly what a policy takes.
fn policy_bytes(policy: &PolicyDef) -> usize {
    let named = |condition: &StoredCondition| {
        let columns = condition.query.relations.iter().map(|relation| relation.columns.len());
        condition.query.text.len() + columns.sum::<usize>() * NAME_BYTES
    };
    ENTRY_BYTES + policy.conditions().map(named).sum::<usize>()
}

/// Puts a [`CatalogSnapshot`] together: the loader's tool, and that of tests that need names without a database.
#[derive(Debug)]
pub struct SnapshotBuilder {
    pub(super) version: u64,
    pub(super) contents: Contents,
}

impl SnapshotBuilder {
    /// Adds an empty schema.
    pub fn add_schema(&mut self, definition: Arc<SchemaDef>) -> &mut Self {
        let schema = Schema {
            definition: Arc::clone(&definition),
            relations: SharedMap::default(),
            functions: SharedMap::default(),
            types: SharedMap::default(),
            constraints: SharedMap::default(),
            statistics: SharedMap::default(),
        };
        self.contents.schemas.insert(Arc::clone(&definition.name), schema);
        self
    }

    /// Puts the schemas of these rows in the place of those that have these numbers. `No` where one of them has another name
    /// now, and with it all that is in it.
    pub(crate) fn change_schemas(&mut self, numbers: &BTreeSet<Oid>, new: Vec<SchemaDef>) -> SameNames {
        let known: Vec<Arc<SchemaDef>> = self
            .contents
            .schemas
            .values()
            .map(|schema| &schema.definition)
            .filter(|schema| numbers.contains(&schema.oid))
            .cloned()
            .collect();
        for old in known {
            match new.iter().find(|new| new.oid == old.oid) {
                Some(new) if new.name != old.name => return SameNames::No,
                Some(_) => {}
                None => drop(self.contents.schemas.remove(&*old.name)),
            }
        }
        for new in new {
            match self.contents.schemas.get_mut(&*new.name) {
                Some(schema) if *schema.definition == new => {}
                Some(schema) => schema.definition = Arc::new(new),
                None => {
                    self.add_schema(Arc::new(new));
                }
            }
        }
        SameNames::Yes
    }

    /// The name of each schema, by its row in `pg_namespace`.
    pub(crate) fn schema_names(&self) -> impl Iterator<Item = (Oid, &Arc<str>)> {
        self.contents.schemas.values().map(|schema| (schema.definition.oid, &schema.definition.name))
    }

    /// Adds a table with its indexes; its schema must be there.
    ///
    /// # Panics
    /// If the schema was not added before.
    pub fn add_table(&mut self, table: impl Into<Arc<TableDef>>) -> &mut Self {
        let table = table.into();
        for index in table.all_indexes() {
            self.add_relation(Relation::Index(Arc::clone(index)));
        }
        self.add_relation(Relation::Table(table))
    }

    /// Adds a sequence; its schema must be there.
    ///
    /// # Panics
    /// If the schema was not added before.
    pub fn add_sequence(&mut self, sequence: impl Into<Arc<SequenceDef>>) -> &mut Self {
        self.add_relation(Relation::Sequence(sequence.into()))
    }

    /// Adds a view; its schema must be there.
    ///
    /// # Panics
    /// If the schema was not added before.
    pub fn add_view(&mut self, view: impl Into<Arc<ViewDef>>) -> &mut Self {
        self.add_relation(Relation::View(view.into()))
    }

    /// Adds a collation.
    pub fn add_collation(&mut self, collation: impl Into<Arc<CollationDef>>) -> &mut Self {
        let collation = collation.into();
        self.contents.collations.insert(collation.oid().0, collation);
        self
    }

    /// Takes the collations out again.
    pub(crate) fn take_collations(&mut self) -> Vec<Arc<CollationDef>> {
        std::mem::take(&mut self.contents.collations).values().cloned().collect()
    }

    /// Says which data keys of collations are made from.
    pub(crate) fn set_collation_data(&mut self, data: CollationData) {
        self.contents.collation_data = data;
    }

    /// Forgets the extensions and their types, which are then added anew.
    pub(crate) fn forget_extensions(&mut self) {
        for extension in std::mem::take(&mut self.contents.extensions) {
            types_of(&extension.name, &extension.schema).iter().for_each(|ty| self.remove(ty.oid));
        }
    }

    /// Adds an extension with the types that it brings; its schema must be there.
    pub(crate) fn add_extension(&mut self, extension: ExtensionDef) {
        for ty in types_of(&extension.name, &extension.schema) {
            self.add_type(ty);
        }
        self.contents.extensions.push(extension);
    }

    /// Forgets the operators, which are then added anew.
    pub(crate) fn forget_operators(&mut self) {
        for operator in std::mem::take(&mut self.contents.operators) {
            self.contents.bytes -=
                self.contents.references.remove(operator.oid, &named_by_operator(&operator));
        }
    }

    /// Forgets the casts, which are then added anew.
    pub(crate) fn forget_casts(&mut self) {
        for cast in std::mem::take(&mut self.contents.casts) {
            self.contents.bytes -= self.contents.references.remove(cast.oid, &named_by_cast(&cast));
        }
        self.contents.dropped_casts.clear();
    }

    /// Adds an operator.
    pub(crate) fn add_operator(&mut self, operator: OperatorDef) {
        self.contents.bytes += self.contents.references.add(operator.oid, &named_by_operator(&operator));
        let at = self.contents.operators.partition_point(|known| known.oid <= operator.oid);
        self.contents.operators.insert(at, Arc::new(operator));
    }

    /// Adds a cast.
    pub(crate) fn add_cast(&mut self, cast: CastDef) {
        self.contents.bytes += self.contents.references.add(cast.oid, &named_by_cast(&cast));
        let at = self.contents.casts.partition_point(|known| known.oid <= cast.oid);
        self.contents.casts.insert(at, cast);
    }

    /// Adds a cast that was dropped. Nothing is told to need anything because of it.
    pub(crate) fn add_dropped_cast(&mut self, cast: CastDef) {
        let at = self.contents.dropped_casts.partition_point(|known| known.oid <= cast.oid);
        self.contents.dropped_casts.insert(at, cast);
    }

    /// Adds a comment.
    pub(crate) fn add_comment(&mut self, on: (Oid, Oid, i32), text: Arc<str>) -> &mut Self {
        let (catalog, object, column) = on;
        let on = (object, catalog, column);
        // Two sessions that comment on the same at once may both leave a row.
        let before = self.contents.comments.get(&on).map_or(0, |known| ENTRY_BYTES + known.len());
        self.contents.bytes += ENTRY_BYTES + text.len() - before;
        self.contents.comments.insert(on, text);
        self
    }

    /// Who may do what, to be changed.
    pub(crate) fn authority_mut(&mut self) -> &mut Authority {
        &mut self.contents.authority
    }

    /// Adds the policies of tables that have none yet, each table's by name.
    pub(crate) fn add_policies(&mut self, policies: BTreeMap<Oid, Vec<Arc<PolicyDef>>>) {
        for policy in policies.values().flatten() {
            let references = self.contents.references.add(policy.oid, &named_by_policy(policy));
            self.contents.bytes += policy_bytes(policy) + references;
            self.contents.authority.policies_by_oid.insert(policy.oid, Arc::clone(policy));
        }
        self.contents.authority.policies.extend(policies);
    }

    /// Adds what `pg_statistic` has of a table.
    pub(crate) fn add_statistics(&mut self, table: Oid, rows: Vec<StatisticRow>) {
        let kept = Kept::new(rows);
        self.contents.bytes += ENTRY_BYTES + kept.heap_bytes();
        self.contents.statistics.insert(table, Arc::new(kept));
    }

    /// Adds a type; its schema must be there.
    ///
    /// # Panics
    /// If the schema was not added before.
    pub fn add_type(&mut self, ty: impl Into<Arc<TypeDef>>) -> &mut Self {
        let ty = ty.into();
        self.contents.types_by_oid.insert(ty.oid, Arc::clone(&ty));
        self.contents.types_by_oid.insert(ty.array, Arc::clone(&ty));
        self.contents.bytes += ENTRY_BYTES + self.contents.references.add(ty.oid, &named_by_type(&ty));
        self.schema_mut(&ty.schema).types.insert(Arc::clone(&ty.name), ty);
        self
    }

    /// Adds a function; its schema must be there.
    ///
    /// # Panics
    /// If the schema was not added before.
    pub fn add_function(&mut self, function: impl Into<Arc<FunctionDef>>) -> &mut Self {
        let function = function.into();
        let references = self.contents.references.add(function.oid, &named_by_function(&function));
        self.contents.bytes += function_bytes(&function) + references;
        self.contents.functions_by_oid.insert(function.oid, Arc::clone(&function));
        let schema = self.schema_mut(&function.schema);
        match schema.functions.get_mut(&*function.name) {
            Some(named) => {
                let at = named.partition_point(|known| known.oid <= function.oid);
                named.insert(at, function);
            }
            None => schema.functions.insert(Arc::clone(&function.name), vec![function]),
        }
        self
    }

    /// Takes out what has that number, and what is said of it: a relation, a function, a type. Columns, indexes and
    /// constraints go with their tables.
    pub(super) fn remove(&mut self, oid: Oid) {
        let contents = &mut self.contents;
        if let Some(relation) = contents.relations_by_oid.remove(&oid) {
            let references = contents.references.remove(oid, &named_by_relation(&relation));
            contents.bytes -= relation_bytes(&relation) + references;
            if let Some(schema) = contents.schemas.get_mut(&**relation.schema()) {
                schema.relations.remove(&**relation.name());
                for constraint in relation.as_table().iter().flat_map(|table| &table.constraints) {
                    schema.constraints.remove(&(Arc::clone(&constraint.name), constraint.oid));
                }
            }
            for one in relation.as_table().iter().flat_map(|table| &table.extended) {
                if let Some(schema) = contents.schemas.get_mut(&*one.schema) {
                    schema.statistics.remove(&(Arc::clone(&one.name), one.oid));
                }
            }
        }
        if let Some(function) = contents.functions_by_oid.remove(&oid) {
            let references = contents.references.remove(oid, &named_by_function(&function));
            contents.bytes -= function_bytes(&function) + references;
            if let Some(schema) = contents.schemas.get_mut(&*function.schema)
                && let Some(named) = schema.functions.get_mut(&*function.name)
            {
                named.retain(|known| known.oid != oid);
                if named.is_empty() {
                    schema.functions.remove(&*function.name);
                }
            }
        }
        if let Some(ty) = contents.types_by_oid.remove(&oid)
            && ty.oid == oid
        {
            contents.bytes -= ENTRY_BYTES + contents.references.remove(oid, &named_by_type(&ty));
            contents.types_by_oid.remove(&ty.array);
            if let Some(schema) = contents.schemas.get_mut(&*ty.schema) {
                schema.types.remove(&*ty.name);
            }
        }
        if let Some(kept) = contents.statistics.remove(&oid) {
            contents.bytes -= ENTRY_BYTES + kept.heap_bytes();
        }
        let commented = contents.comments.from(|(known, ..)| *known < oid);
        let commented: Vec<_> =
            commented.map(|(on, _)| *on).take_while(|(known, ..)| *known == oid).collect();
        for text in commented.iter().filter_map(|on| contents.comments.remove(on)) {
            contents.bytes -= ENTRY_BYTES + text.len();
        }
        for policy in contents.authority.remove(oid) {
            let references = contents.references.remove(policy.oid, &named_by_policy(&policy));
            contents.bytes -= policy_bytes(&policy) + references;
        }
    }

    /// Notes objects whose definitions could not be read.
    pub(crate) fn set_damage(&mut self, flaws: BTreeMap<Oid, Arc<str>>) {
        for (oid, flaw) in flaws {
            self.contents.bytes += ENTRY_BYTES + flaw.len();
            self.contents.damage.insert(oid, flaw);
        }
    }

    /// Whether a schema has that name.
    pub(crate) fn has_schema(&self, name: &str) -> bool {
        self.contents.schemas.get(name).is_some()
    }

    /// The finished snapshot.
    pub fn build(self) -> Arc<CatalogSnapshot> {
        Arc::new(CatalogSnapshot {
            version: self.version,
            contents: Arc::new(self.contents),
            path: Arc::default(),
            sizes: Sizes::default(),
        })
    }

    fn add_relation(&mut self, relation: Relation) -> &mut Self {
        let (schema, name) = relation.key();
        let name = Arc::clone(name);
        let references = self.contents.references.add(relation.oid(), &named_by_relation(&relation));
        self.contents.bytes += relation_bytes(&relation) + references;
        self.contents.relations_by_oid.insert(relation.oid(), relation.clone());
        let schema = Arc::clone(schema);
        for one in relation.as_table().iter().flat_map(|table| &table.extended) {
            let named = (Arc::clone(&one.name), one.oid);
            self.schema_mut(&one.schema).statistics.insert(named, one.table);
        }
        let schema = self.schema_mut(&schema);
        for constraint in relation.as_table().iter().flat_map(|table| &table.constraints) {
            schema.constraints.insert((Arc::clone(&constraint.name), constraint.oid), ());
        }
        schema.relations.insert(name, relation);
        self
    }

    fn schema_mut(&mut self, name: &str) -> &mut Schema {
        self.contents.schemas.get_mut(name).expect("the schema is added before what is in it")
    }
}
