//! What an object needs to be there before it can be made, as the numbers of other objects.
//!
//! N1. Types count with the types that they are made of at once; those have needs of their own.
//! N2. A text names objects by number ([`verso_catalog::kept`]). The default of a serial column names its sequence.
//! N3. A number of the system's own is no need, and neither is one that nobody makes: it is not saved, or there already.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use verso_catalog::{
    AggregateDef, Callee, CastDef, CatalogSnapshot, ColumnDef, FunctionDef, FunctionReturn, Need, Oid,
    OperatorDef, SequenceDef, StoredQuery, TableDef, TypeDef, ViewDef, kept, next_value, relations_in,
};
use verso_types::SqlType;

use super::meaning::Meanings;
use super::parts::{literal, qualified};

/// The function of users that a cast calls.
fn called_by(cast: &CastDef) -> Option<Oid> {
    match cast.function {
        Some(Callee::User(oid)) => Some(oid),
        _ => None,
    }
}

/// Numbers of objects.
pub(super) type Needs = BTreeSet<Oid>;

/// The relations whose row types a type is made of.
pub(super) fn rows_in(ty: &SqlType) -> Vec<Oid> {
    let mut found = Vec::new();
    relations_in(ty, &mut found);
    found
}

/// Finds what objects of a catalog need.
pub(super) struct Finder {
    catalog: Arc<CatalogSnapshot>,
    /// The types that arrays and multiranges come with.
    come_with: HashMap<Oid, Oid>,
    /// Sequences by how the default of a serial column names them.
    serial: HashMap<String, Arc<SequenceDef>>,
    /// Names that constraints of several tables of a schema have.
    shared_names: HashSet<(Arc<str>, Arc<str>)>,
    /// Which names may mean something else.
    pub meanings: Meanings,
    /// Texts of objects that are spelled with casts; the key of a partitioned table has an empty text.
    spelled: HashMap<(Oid, Arc<str>), String>,
}

impl Finder {
    pub fn new(catalog: &Arc<CatalogSnapshot>) -> Finder {
        let mut come_with = HashMap::new();
        for ty in catalog.types() {
            come_with.insert(ty.array, ty.oid);
            if let SqlType::Range(of) = &ty.ty
                && let Some(multi) = of.own_name(true)
            {
                come_with.extend([(Oid(multi.oid), ty.oid), (Oid(multi.array), ty.oid)]);
            }
        }
        let serial = catalog
            .sequences()
            .map(|sequence| (next_value(&sequence.schema, &sequence.name).to_string(), Arc::clone(sequence)));
        let serial = serial.collect();
        let (mut names, mut shared_names) = (HashSet::new(), HashSet::new());
        for table in catalog.tables().filter(|table| !table.is_system()) {
            for constraint in &table.constraints {
                let name = (Arc::clone(&table.schema), Arc::clone(&constraint.name));
                if !names.insert(name.clone()) {
                    shared_names.insert(name);
                }
            }
        }
        let meanings = Meanings::of(catalog);
        let (catalog, spelled) = (Arc::clone(catalog), HashMap::new());
        Finder { catalog, come_with, serial, shared_names, meanings, spelled }
    }

    /// Whether constraints of several tables of a schema have a name: it is none that goes without saying then.
    pub fn is_shared_name(&self, schema: &Arc<str>, name: &Arc<str>) -> bool {
        self.shared_names.contains(&(Arc::clone(schema), Arc::clone(name)))
    }

    /// A text of an object is spelled so.
    pub fn spell(&mut self, of: Oid, text: &str, spelled: String) {
        self.spelled.insert((of, text.into()), spelled);
    }

    /// How the key of a partitioned table is spelled, if with casts.
    pub fn spelled_key(&self, table: Oid) -> Option<&str> {
        self.spelled.get(&(table, "".into())).map(String::as_str)
    }

    /// The object of a number, which may be that of its array.
    fn object(&self, oid: Oid) -> Oid {
        if let Some(own) = self.come_with.get(&oid) {
            return *own;
        }
        self.catalog.relation_of_rows(oid).map_or(oid, |relation| relation.oid())
    }

    fn add(&self, found: &mut Needs, oid: Oid) {
        if !oid.is_system() {
            found.insert(self.object(oid));
        }
    }

    /// What a column, an argument or a field of a type needs.
    pub fn of_type(&self, ty: &SqlType, found: &mut Needs) {
        match ty {
            SqlType::Array(element) => self.of_type(element, found),
            SqlType::Collated(collated) => self.of_type(&collated.base, found),
            SqlType::Enum(ty) => self.add(found, Oid(ty.oid)),
            SqlType::Domain(domain) => self.add(found, Oid(domain.oid)),
            SqlType::Row(row) => match &row.of {
                Some(of) => self.add(found, Oid(of.oid)),
                None => row.fields.iter().for_each(|(_, ty)| self.of_type(ty, found)),
            },
            SqlType::Range(of) | SqlType::Multirange(of) => {
                if let Some(own) = of.own_name(false) {
                    self.add(found, Oid(own.oid));
                }
            }
            _ => {}
        }
    }

    fn of_type_number(&self, oid: Oid, found: &mut Needs) {
        if let Some(ty) = self.catalog.type_by_oid(oid.0, -1) {
            self.of_type(&ty, found);
        }
    }

    /// What a type itself is made of.
    pub fn of_definition(&self, ty: &TypeDef) -> Needs {
        let mut found = Needs::new();
        match &ty.ty {
            SqlType::Row(row) => row.as_declared().for_each(|(_, field)| self.of_type(field, &mut found)),
            SqlType::Domain(domain) => self.of_type(&domain.base, &mut found),
            SqlType::Range(of) => self.of_type(&of.subtype(), &mut found),
            _ => {}
        }
        found
    }

    /// What a text names.
    pub fn of_text(&self, text: &str, found: &mut Needs) {
        kept::objects_of(text).into_iter().for_each(|oid| self.add(found, oid));
        if let Some(sequence) = self.serial.get(text) {
            found.insert(sequence.oid);
        }
    }

    /// A default or condition of an object as a statement says it.
    pub fn text(&self, of: Oid, text: &str) -> String {
        if let Some(spelled) = self.spelled.get(&(of, text.into())) {
            return spelled.clone();
        }
        match self.serial.get(text) {
            Some(sequence) => {
                let place = literal(&qualified(&sequence.schema, &sequence.name));
                format!("nextval({place}::regclass)")
            }
            None => kept::with_names(&self.catalog, text),
        }
    }

    /// What the default of a column names, or what generates it.
    pub fn of_default(&self, column: &ColumnDef) -> Needs {
        let mut found = Needs::new();
        if let Some(text) = column.default.as_deref() {
            self.of_text(text, &mut found);
        }
        found
    }

    fn of_callee(&self, callee: &Callee, found: &mut Needs) {
        if let Callee::User(oid) = callee {
            self.add(found, *oid);
        }
    }

    /// What a function takes, gives, and says in its defaults; of an aggregate what it calls, too.
    pub fn of_function(&self, function: &FunctionDef) -> Needs {
        let mut found = Needs::new();
        for arg in &function.args {
            self.of_type(&arg.ty, &mut found);
            arg.rows_of.into_iter().for_each(|oid| self.add(&mut found, oid));
            arg.default.iter().for_each(|default| self.of_text(default, &mut found));
        }
        match &function.returns {
            FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => self.of_type(ty, &mut found),
            FunctionReturn::Table(columns) => {
                columns.iter().for_each(|(_, ty)| self.of_type(ty, &mut found));
            }
            FunctionReturn::Void | FunctionReturn::Trigger | FunctionReturn::Procedure => {}
        }
        function.rows_of.into_iter().for_each(|oid| self.add(&mut found, oid));
        if function.is_aggregate()
            && let Some(definition) = AggregateDef::parse(&function.body)
        {
            let moving = definition.moving.as_ref();
            let called = [Some(&definition.step), definition.last.as_ref(), definition.combine.as_ref()];
            let of_moving =
                moving.map(|moving| [Some(&moving.step), Some(&moving.inverse), moving.last.as_ref()]);
            for callee in called.into_iter().chain(of_moving.into_iter().flatten()).flatten() {
                self.of_callee(callee, &mut found);
            }
            self.of_type_number(definition.state, &mut found);
            if let Some(moving) = moving {
                self.of_type_number(moving.state, &mut found);
            }
        }
        found.remove(&function.oid);
        found
    }

    /// What the body of a function names that is SQL's own and bound at once, without the function itself.
    pub fn of_body(&self, function: &FunctionDef) -> Needs {
        let mut found = self.named_by_body(function);
        found.remove(&function.oid);
        found
    }

    /// Whether such a body calls its own function.
    pub fn calls_itself(&self, function: &FunctionDef) -> bool {
        self.named_by_body(function).contains(&function.oid)
    }

    fn named_by_body(&self, function: &FunctionDef) -> Needs {
        let mut found = Needs::new();
        for need in &function.needs {
            match *need {
                Need::Relation(oid) | Need::Column(oid, _) | Need::Function(oid) | Need::Type(oid) => {
                    self.add(&mut found, oid);
                }
            }
        }
        if let Some(stored) = &function.stored {
            self.of_query(&stored.query, &mut found);
            // Those without a function of users are named nowhere, and wait for nothing but types.
            let free = self.catalog.casts().iter().filter(|cast| called_by(cast).is_none());
            found.extend(free.map(|cast| cast.oid));
        }
        self.add_casts(&mut found);
        found
    }

    /// The casts whose functions are among these: a text that uses a cast names its function, and is to find the cast.
    fn add_casts(&self, found: &mut Needs) {
        let casts = self.catalog.casts().iter();
        let used = casts.filter(|cast| called_by(cast).is_some_and(|function| found.contains(&function)));
        let used: Vec<Oid> = used.map(|cast| cast.oid).collect();
        found.extend(used);
    }

    pub fn of_operator(&self, operator: &OperatorDef) -> Needs {
        let mut found = Needs::new();
        self.of_callee(&operator.function, &mut found);
        for ty in operator.left.into_iter().chain([operator.right, operator.result]) {
            self.of_type_number(ty, &mut found);
        }
        found
    }

    pub fn of_cast(&self, cast: &CastDef) -> Needs {
        let mut found = Needs::new();
        if let Some(function) = &cast.function {
            self.of_callee(function, &mut found);
        }
        self.of_type_number(cast.source, &mut found);
        self.of_type_number(cast.target, &mut found);
        found
    }

    /// What the expressions and conditions of a table's indexes name.
    pub fn of_indexes(&self, table: &TableDef) -> Needs {
        let mut found = Needs::new();
        let hidden = table.columns.iter().filter(|column| column.is_hidden());
        hidden.filter_map(|column| column.default.as_deref()).for_each(|text| self.of_text(text, &mut found));
        found
    }

    /// The types of a view's columns: what it needs when it has nothing in them.
    pub fn of_columns(&self, view: &ViewDef) -> Needs {
        let mut found = Needs::new();
        view.columns.iter().for_each(|column| self.of_type(column.declared(), &mut found));
        found
    }

    /// What a view reads and calls.
    pub fn of_view(&self, view: &ViewDef) -> Needs {
        let mut found = Needs::new();
        self.of_query(&view.query, &mut found);
        let defaults = view.columns.iter().filter_map(|column| column.default.as_deref());
        defaults.for_each(|default| self.of_text(default, &mut found));
        found.remove(&view.oid);
        found
    }

    fn of_query(&self, query: &StoredQuery, found: &mut Needs) {
        query.relations.iter().for_each(|relation| self.add(found, relation.relation));
        query.functions.iter().for_each(|(_, oid)| self.add(found, *oid));
        query.types.iter().for_each(|(_, oid)| self.add(found, *oid));
        self.of_text(&query.text, found);
    }
}
