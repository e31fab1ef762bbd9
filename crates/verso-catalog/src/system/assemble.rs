//! Rows to a snapshot, and definitions to rows.

use std::collections::HashMap;
use std::sync::Arc;

use verso_storage::page::ObjectId;
use verso_types::SqlType;

use super::field::{Letter, Name};
use super::row::{
    AttributeRow, ClassRow, DefaultRow, DependRow, NamespaceRow, ProcRow, SequenceRow, SystemRow,
};
use super::{DEPENDS_AUTO, KIND_SEQUENCE, KIND_TABLE, OWNER_OID};
use crate::definition::{
    ColumnDef, FunctionArg, FunctionDef, FunctionLanguage, FunctionReturn, Oid, OwnedBy, SchemaDef,
    SequenceDef, TableDef, Volatility,
};
use crate::error::CatalogError;
use crate::sequence::SequenceBounds;
use crate::snapshot::{CatalogSnapshot, SnapshotBuilder};

/// `pg_language.oid` of `sql`.
pub(crate) const LANGUAGE_SQL: Oid = Oid(14);
/// `pg_language.oid` of `plpgsql`.
pub(crate) const LANGUAGE_PLPGSQL: Oid = Oid(13_500);

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
}

impl CatalogRows {
    /// The definitions these rows stand for. What `previous` has just so is shared with it, so that what others
    /// have derived from a definition stays valid.
    pub fn assemble(
        mut self,
        version: u64,
        previous: Option<&CatalogSnapshot>,
    ) -> Result<Arc<CatalogSnapshot>, CatalogError> {
        let mut builder = CatalogSnapshot::empty(version);
        let mut schemas: HashMap<Oid, Arc<str>> = HashMap::new();
        for row in &self.namespaces {
            let name = Arc::clone(&row.nspname.0);
            schemas.insert(row.oid, Arc::clone(&name));
            builder.add_schema(Arc::new(SchemaDef { oid: row.oid, name }));
        }
        let schema_of = |oid: Oid| {
            schemas
                .get(&oid)
                .cloned()
                .ok_or_else(|| corrupt(format!("schema {oid} has no row in pg_namespace")))
        };
        let mut columns = self.columns()?;
        let mut bounds: HashMap<Oid, SequenceRow> =
            std::mem::take(&mut self.sequences).into_iter().map(|row| (row.seqrelid, row)).collect();
        for class in &self.classes {
            let (schema, name) = (schema_of(class.relnamespace)?, Arc::clone(&class.relname.0));
            let object = ObjectId(class.relfilenode.0);
            match class.relkind.0 {
                KIND_TABLE => {
                    let columns = columns.remove(&class.oid).unwrap_or_default();
                    let table = TableDef { oid: class.oid, schema, name, heap: object, columns };
                    let old = previous.and_then(|snapshot| snapshot.table_by_oid(class.oid));
                    builder.add_table(shared(old, table));
                }
                KIND_SEQUENCE => {
                    let row = bounds
                        .remove(&class.oid)
                        .ok_or_else(|| corrupt(format!("sequence \"{name}\" has no row in pg_sequence")))?;
                    let sequence = SequenceDef {
                        oid: class.oid,
                        schema,
                        name,
                        object,
                        bounds: bounds_of(&row)?,
                        owned_by: self.owner_of(class.oid),
                    };
                    let old = previous.and_then(|snapshot| snapshot.sequence_by_oid(class.oid));
                    builder.add_sequence(shared(old, sequence));
                }
                kind => return Err(corrupt(format!("relation \"{name}\" is of unknown kind \"{kind}\""))),
            }
        }
        self.add_functions(&mut builder, &schema_of, previous)?;
        Ok(builder.build())
    }

    /// The columns of each table, in order.
    fn columns(&mut self) -> Result<HashMap<Oid, Vec<ColumnDef>>, CatalogError> {
        let mut defaults: HashMap<(Oid, i16), Arc<str>> = HashMap::new();
        for row in std::mem::take(&mut self.defaults) {
            defaults.insert((row.adrelid, row.adnum), row.adbin);
        }
        let mut columns: HashMap<Oid, Vec<ColumnDef>> = HashMap::new();
        for row in std::mem::take(&mut self.attributes) {
            if row.attisdropped {
                continue;
            }
            let id = u16::try_from(row.attnum)
                .map_err(|_| corrupt(format!("column \"{}\" has number {}", row.attname.0, row.attnum)))?;
            let column = ColumnDef {
                ty: type_of(row.atttypid, row.atttypmod)?,
                default: defaults.remove(&(row.attrelid, row.attnum)),
                name: row.attname.0,
                id,
                not_null: row.attnotnull,
            };
            columns.entry(row.attrelid).or_default().push(column);
        }
        for table in columns.values_mut() {
            table.sort_by_key(|column| column.id);
        }
        Ok(columns)
    }

    /// The column that owns a sequence.
    fn owner_of(&self, sequence: Oid) -> Option<OwnedBy> {
        let owns = |row: &&DependRow| {
            row.classid == ClassRow::TABLE.oid
                && row.objid == sequence
                && row.refclassid == ClassRow::TABLE.oid
                && row.deptype.0 == DEPENDS_AUTO
        };
        let row = self.depends.iter().find(owns)?;
        Some(OwnedBy { table: row.refobjid, column: u16::try_from(row.refobjsubid).ok()? })
    }

    fn add_functions(
        self,
        builder: &mut SnapshotBuilder,
        schema_of: &dyn Fn(Oid) -> Result<Arc<str>, CatalogError>,
        previous: Option<&CatalogSnapshot>,
    ) -> Result<(), CatalogError> {
        let mut before: HashMap<Oid, &Arc<FunctionDef>> = HashMap::new();
        if let Some(snapshot) = previous {
            before.extend(snapshot.all_functions().map(|function| (function.oid, function)));
        }
        for row in self.functions {
            let function = function_of(&row, schema_of(row.pronamespace)?)?;
            builder.add_function(shared(before.get(&row.oid).map(|old| Arc::clone(old)), function));
        }
        Ok(())
    }
}

/// `old` if it says the same as `new`.
fn shared<T: PartialEq>(old: Option<Arc<T>>, new: T) -> Arc<T> {
    match old {
        Some(old) if *old == new => old,
        _ => Arc::new(new),
    }
}

fn corrupt(what: String) -> CatalogError {
    CatalogError::Corrupt { what }
}

fn type_of(oid: Oid, typmod: i32) -> Result<SqlType, CatalogError> {
    SqlType::from_pg_oid(oid.0, typmod).ok_or_else(|| corrupt(format!("type {oid} is not known")))
}

fn bounds_of(row: &SequenceRow) -> Result<SequenceBounds, CatalogError> {
    Ok(SequenceBounds {
        ty: type_of(row.seqtypid, -1)?,
        start: row.seqstart,
        increment: row.seqincrement,
        min: row.seqmin,
        max: row.seqmax,
        cycle: row.seqcycle,
    })
}

fn function_of(row: &ProcRow, schema: Arc<str>) -> Result<FunctionDef, CatalogError> {
    let flaw = |what: &str| corrupt(format!("function \"{}\" has {what}", row.proname.0));
    let names = row.proargnames.as_deref().unwrap_or_default();
    let name_of = |i: usize| names.get(i).cloned().unwrap_or_else(|| "".into());
    let mut args = Vec::new();
    for (i, oid) in row.proargtypes.iter().enumerate() {
        args.push(FunctionArg { name: name_of(i), ty: type_of(*oid, -1)? });
    }
    let result = type_of(row.prorettype, -1)?;
    let returns = match (&row.proallargtypes, row.proretset) {
        (Some(all), true) => {
            let columns = all.iter().enumerate().skip(args.len());
            let columns: Result<Vec<_>, CatalogError> =
                columns.map(|(i, oid)| Ok((name_of(i), type_of(*oid, -1)?))).collect();
            FunctionReturn::Table(columns?)
        }
        (None, true) => FunctionReturn::Set(result),
        (None, false) if result == SqlType::Void => FunctionReturn::Void,
        (None, false) => FunctionReturn::Scalar(result),
        (Some(_), false) => return Err(flaw("result columns but no set")),
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
        relpersistence: Letter('p'),
        relnatts: i16::try_from(columns).expect("the number of columns was checked"),
    }
}

/// The row of a column.
pub(crate) fn attribute_row(table: Oid, column: &ColumnDef) -> AttributeRow {
    AttributeRow {
        attrelid: table,
        attname: Name(Arc::clone(&column.name)),
        atttypid: Oid(column.ty.pg_oid()),
        atttypmod: column.ty.typmod(),
        attlen: column.ty.typlen(),
        attnum: i16::try_from(column.id).expect("the number of columns was checked"),
        attnotnull: column.not_null,
        atthasdef: column.default.is_some(),
        attisdropped: false,
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
        seqcache: 1,
        seqcycle: bounds.cycle,
    }
}

/// The row of a function.
pub(crate) fn proc_row(function: &FunctionDef, schema: Oid) -> ProcRow {
    let argument_types: Vec<Oid> = function.args.iter().map(|arg| Oid(arg.ty.pg_oid())).collect();
    let mut names: Vec<Arc<str>> = function.args.iter().map(|arg| Arc::clone(&arg.name)).collect();
    let (mut all, mut modes) = (None, None);
    let result = match &function.returns {
        FunctionReturn::Void => SqlType::Void,
        FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => ty.clone(),
        FunctionReturn::Table(columns) => {
            names.extend(columns.iter().map(|(name, _)| Arc::clone(name)));
            let column_types = columns.iter().map(|(_, ty)| Oid(ty.pg_oid()));
            all = Some(argument_types.iter().copied().chain(column_types).collect());
            let letters = argument_types.iter().map(|_| Letter('i'));
            modes = Some(letters.chain(columns.iter().map(|_| Letter('t'))).collect());
            match columns.as_slice() {
                [(_, ty)] => ty.clone(),
                _ => SqlType::Record,
            }
        }
    };
    ProcRow {
        oid: function.oid,
        proname: Name(Arc::clone(&function.name)),
        pronamespace: schema,
        proowner: OWNER_OID,
        prolang: match function.language {
            FunctionLanguage::Sql => LANGUAGE_SQL,
            FunctionLanguage::PlPgSql => LANGUAGE_PLPGSQL,
        },
        proisstrict: function.strict,
        proretset: function.returns.is_set(),
        provolatile: Letter(match function.volatility {
            Volatility::Immutable => 'i',
            Volatility::Stable => 's',
            Volatility::Volatile => 'v',
        }),
        pronargs: i16::try_from(argument_types.len()).expect("the number of arguments was checked"),
        prorettype: Oid(result.pg_oid()),
        proargtypes: argument_types,
        proallargtypes: all,
        proargmodes: modes,
        proargnames: names.iter().any(|name| !name.is_empty()).then_some(names),
        prosrc: Arc::clone(&function.body),
    }
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
