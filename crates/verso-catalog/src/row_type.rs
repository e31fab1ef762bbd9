//! Row types: every table and view has a type of its name, whose fields are its columns.
//!
//! ```text
//! table dept, number 16500 ─► type dept 16500 ─► type dept[] 16500 | ARRAY
//! ```
//!
//! W1. A row type has its relation's number, and its array's number is made from that. Nothing is stored of it: it is what
//!     the relation is, in every version of the catalog.
//! W2. What holds a row type (a column, a field, a domain, a function) holds its fields, too. Where a relation of which there are such
//!     holders changes, the whole catalog is read anew ([`is_held`]).
//! W3. A field is of the domain that its column is of: what makes a row of the type asks for it, as for a composite type.

use std::sync::Arc;

use verso_types::{CompositeName, Derivation, RangeType, RowType, SqlType};

use crate::definition::{ColumnDef, FunctionReturn, Oid, TableDef, TypeDef};
use crate::snapshot::{CatalogSnapshot, Relation};

/// What the number of a row type's array has in addition. No object has a number so large.
pub(crate) const ARRAY: u32 = 0x4000_0000;

/// The relation whose row type, or the array of it, has this number.
pub(crate) fn relation_of(oid: Oid) -> Oid {
    Oid(oid.0 & !ARRAY)
}

/// The type of a relation's rows, of these fields with these numbers.
pub(crate) fn row_type(
    oid: Oid,
    (schema, name): (&Arc<str>, &Arc<str>),
    fields: Vec<(Arc<str>, SqlType)>,
    ids: Vec<u16>,
) -> TypeDef {
    let of = CompositeName {
        oid: oid.0,
        array: oid.0 | ARRAY,
        schema: Arc::clone(schema),
        name: Arc::clone(name),
    };
    TypeDef {
        oid,
        array: Oid(of.array),
        schema: Arc::clone(schema),
        name: Arc::clone(name),
        ty: SqlType::Row(Arc::new(RowType::named(of, fields))),
        fields: ids,
    }
}

/// The type of a field of a relation's row, of a column that was declared so: with the collation that its values have.
pub(crate) fn field_type(declared: &SqlType) -> SqlType {
    match declared.collation().filter(|_| declared.own_collation().is_none()) {
        Some(collation) => declared.clone().collated(&Derivation::of_kept(&collation)),
        None => declared.clone(),
    }
}

impl CatalogSnapshot {
    /// The relation whose row type, or the array of it, has this number.
    pub fn relation_of_rows(&self, ty: Oid) -> Option<&Relation> {
        self.relation_by_oid(relation_of(ty))
    }

    /// Numbers and names of the fields of a row type or composite type, in their order; none of other types.
    pub fn fields_of(&self, ty: Oid) -> Vec<(u16, Arc<str>)> {
        let columns = match self.relation_by_oid(ty) {
            Some(Relation::Table(table)) => table.shown(),
            Some(Relation::View(view)) => &view.columns[..],
            Some(Relation::Sequence(_) | Relation::Index(_)) => &[],
            None => {
                let Some(ty) = self.user_type(ty).filter(|known| known.oid == ty) else { return Vec::new() };
                let SqlType::Row(row) = &ty.ty else { return Vec::new() };
                let names = row.fields.iter().map(|(name, _)| Arc::clone(name));
                return ty.fields.iter().copied().zip(names).collect();
            }
        };
        columns.iter().map(|column| (column.id, Arc::clone(&column.name))).collect()
    }
}

impl Relation {
    /// The type of its rows; none for sequences, indexes, and the system's own.
    pub fn row_type(&self) -> Option<TypeDef> {
        let columns = match self {
            Relation::Table(table) => table.shown(),
            Relation::View(view) => &view.columns,
            Relation::Sequence(_) | Relation::Index(_) => return None,
        };
        if self.oid().is_system() {
            return None;
        }
        let field = |column: &ColumnDef| (Arc::clone(&column.name), field_type(column.declared()));
        let ids = columns.iter().map(|column| column.id).collect();
        Some(row_type(self.oid(), (self.schema(), self.name()), columns.iter().map(field).collect(), ids))
    }

    /// The same without its fields: for its row in `pg_type`, which does not tell them.
    pub fn row_type_by_name(&self) -> Option<TypeDef> {
        let has_rows = matches!(self, Relation::Table(_) | Relation::View(_)) && !self.oid().is_system();
        has_rows.then(|| row_type(self.oid(), (self.schema(), self.name()), Vec::new(), Vec::new()))
    }
}

/// The relations whose row types a type is made of, itself and those in its fields.
pub fn relations_in(ty: &SqlType, found: &mut Vec<Oid>) {
    match ty {
        SqlType::Array(element) => relations_in(element, found),
        SqlType::Domain(domain) => relations_in(&domain.base, found),
        SqlType::Collated(collated) => relations_in(&collated.base, found),
        SqlType::Row(row) => {
            // Those of the system's relations stay as they are.
            if let Some(of) = &row.of
                && of.array == of.oid | ARRAY
                && !Oid(of.oid).is_system()
            {
                found.push(Oid(of.oid));
            }
            row.fields.iter().for_each(|(_, ty)| relations_in(ty, found));
        }
        _ => {}
    }
}

/// Is a type made of a row type?
pub(crate) fn is_of_rows(ty: &SqlType) -> bool {
    let mut found = Vec::new();
    relations_in(ty, &mut found);
    !found.is_empty()
}

/// Whether a type is made of that row type or composite type: it, arrays and ranges of it, domains over it, rows with fields of it.
pub fn is_made_of(ty: &SqlType, of: Oid) -> bool {
    match ty {
        SqlType::Array(element) => is_made_of(element, of),
        SqlType::Domain(domain) => is_made_of(&domain.base, of),
        SqlType::Collated(collated) => is_made_of(&collated.base, of),
        SqlType::Range(RangeType::Own(own)) | SqlType::Multirange(RangeType::Own(own)) => {
            is_made_of(&own.subtype, of)
        }
        SqlType::Row(row) => {
            row.of.as_ref().is_some_and(|own| own.oid == of.0)
                || row.as_declared().any(|(_, ty)| is_made_of(ty, of))
        }
        _ => false,
    }
}

/// The tables that have columns of a relation's row type, or of what is made of it, themselves with rows.
pub fn holders_of_rows(snapshot: &CatalogSnapshot, relation: Oid) -> Vec<Arc<TableDef>> {
    let mut found = Vec::new();
    let mut is_it = |column: &ColumnDef| {
        relations_in(column.declared(), &mut found);
        found.drain(..).any(|one| one == relation)
    };
    let naming = snapshot.naming(relation);
    let stored = naming.tables().filter(|table| table.partitioned.is_none());
    stored.filter(|table| table.columns.iter().any(&mut is_it)).cloned().collect()
}

/// Is there anything in the catalog that is made of the row type of that relation?
pub(crate) fn is_held(snapshot: &CatalogSnapshot, relation: Oid) -> bool {
    let mut found = Vec::new();
    let mut is_it = |ty: &SqlType| {
        // Most types are neither rows nor made of them.
        if !matches!(ty, SqlType::Array(_) | SqlType::Domain(_) | SqlType::Row(_)) {
            return false;
        }
        relations_in(ty, &mut found);
        found.drain(..).any(|one| one == relation)
    };
    let in_relation = |relation: &Relation, is_it: &mut dyn FnMut(&SqlType) -> bool| match relation {
        Relation::Table(table) => table.columns.iter().any(|column| is_it(column.declared())),
        Relation::View(view) => view.columns.iter().any(|column| is_it(column.declared())),
        Relation::Sequence(_) | Relation::Index(_) => false,
    };
    let naming = snapshot.naming(relation);
    naming.relations().any(|one| in_relation(one, &mut is_it))
        || naming.types().any(|one| is_it(&one.ty))
        || naming.functions().any(|function| {
            function.args.iter().any(|arg| is_it(&arg.ty))
                || match &function.returns {
                    FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => is_it(ty),
                    FunctionReturn::Table(columns) => columns.iter().any(|(_, ty)| is_it(ty)),
                    FunctionReturn::Void | FunctionReturn::Trigger | FunctionReturn::Procedure => false,
                }
        })
}
