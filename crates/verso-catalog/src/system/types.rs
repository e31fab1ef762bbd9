//! Users' types: from and to rows of `pg_type`, `pg_enum`, `verso_domain` and, the fields of composite types,
//! `pg_attribute`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use verso_types::{
    CompositeName, DomainCheck, DomainType, EnumLabel, EnumType, OwnRange, RangeName, RangeType, RowType,
    SqlType,
};

use super::assemble::{Base, TYPE_TRIGGER, corrupt, flaw};
use super::collated::Collated;
use super::field::{Letter, Name};
use super::row::{AttributeRow, ClassRow, DomainRow, EnumRow, RangeRow, TypeRow};
use super::{
    KIND_MATERIALIZED, KIND_PARTITIONED, KIND_TABLE, KIND_VIEW, OWNER_OID, TYPE_COMPOSITE, TYPE_DOMAIN,
    TYPE_ENUM, TYPE_MULTIRANGE, TYPE_RANGE,
};
use crate::damage::Flaws;
use crate::definition::{ColumnDef, Oid, TypeDef};
use crate::error::CatalogError;
use crate::relations::SystemRelation;
use crate::row_type::{field_type, relation_of, row_type};

/// The name of the schema of a number.
type SchemaOf<'s> = dyn Fn(Oid) -> Result<Arc<str>, CatalogError> + 's;

/// The types that users have made, as the rows have them, and those row types that something is made of.
#[derive(Debug, Default)]
pub(super) struct UserTypes<'a> {
    definitions: Vec<TypeDef>,
    /// Types and their arrays.
    by_oid: HashMap<Oid, SqlType>,
    /// Has the others.
    base: Option<Base<'a>>,
}

/// Names and types of fields.
type Fields = Vec<(Arc<str>, SqlType)>;

/// The rows that types are made of.
pub(super) struct TypeRows<'r> {
    pub types: Vec<TypeRow>,
    pub labels: Vec<EnumRow>,
    pub domains: Vec<DomainRow>,
    pub ranges: Vec<RangeRow>,
    /// Those of composite types are taken out.
    pub attributes: &'r mut Vec<AttributeRow>,
    pub classes: &'r [ClassRow],
    /// The numbers of types that functions name.
    pub named: HashSet<Oid>,
}

impl<'a> UserTypes<'a> {
    /// The types of these rows, those of the system being passed over; the others are those of `previous`. One that cannot be read
    /// has a name and a number, and nothing is made of it.
    pub(super) fn of(
        rows: TypeRows<'_>,
        collated: &Collated,
        schema_of: &SchemaOf<'_>,
        base: Option<Base<'a>>,
        flaws: &Flaws,
    ) -> Result<UserTypes<'a>, CatalogError> {
        let TypeRows { types: mut rows, labels, domains, ranges, attributes, classes, named } = rows;
        let mut own: HashSet<Oid> = rows.iter().map(|row| row.oid).collect();
        let mut types = UserTypes { base, ..UserTypes::default() };
        let mut labels_of: HashMap<Oid, Vec<EnumLabel>> = HashMap::new();
        for row in labels {
            let label = EnumLabel { oid: row.oid.0, place: row.enumsortorder, name: row.enumlabel.0 };
            labels_of.entry(row.enumtypid).or_default().push(label);
        }
        let mut ranges = RangeRows::of(ranges, &mut rows);
        let (mut over, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| {
            matches!(row.typtype.0, TYPE_DOMAIN | TYPE_COMPOSITE | TYPE_RANGE) && !row.oid.is_system()
        });
        for row in rows.into_iter().filter(|row| !row.oid.is_system() && row.typelem == Oid(0)) {
            if row.typtype.0 != TYPE_ENUM {
                let text = format!("it is of unknown kind \"{}\"", row.typtype.0);
                types.add_unread(&row, schema_of, flaws, text)?;
                continue;
            }
            let schema = schema_of(row.typnamespace)?;
            let name = row.typname.0;
            let ty = {
                let mut labels = labels_of.remove(&row.oid).unwrap_or_default();
                labels.sort_by_key(|label| label.place);
                let (schema, name) = (Arc::clone(&schema), Arc::clone(&name));
                let ty = EnumType { oid: row.oid.0, array: row.typarray.0, schema, name, labels };
                SqlType::Enum(Arc::new(ty))
            };
            types.add(TypeDef { oid: row.oid, array: row.typarray, schema, name, ty, fields: Vec::new() });
        }
        let mut domains: HashMap<Oid, DomainRow> = domains.into_iter().map(|row| (row.oid, row)).collect();
        let relations = relations_held(classes, attributes, &domains, named);
        let made_of = (&mut domains, &mut ranges);
        let mut fields: HashMap<Oid, Vec<AttributeRow>> = over
            .iter()
            .filter(|row| row.typtype.0 == TYPE_COMPOSITE)
            .map(|row| (row.oid, Vec::new()))
            .collect();
        if !fields.is_empty() {
            for row in std::mem::take(attributes) {
                match fields.get_mut(&row.attrelid) {
                    Some(fields) => fields.push(row),
                    None => attributes.push(row),
                }
            }
        }
        for row in &relations {
            fields.insert(row.oid, Vec::new());
            own.extend([row.oid, row.typarray]);
        }
        let held = |row: &&AttributeRow| relations.iter().any(|one| one.oid == row.attrelid);
        let shown =
            |row: &&AttributeRow| u16::try_from(row.attnum).is_ok_and(|id| !ColumnDef::is_hidden_id(id));
        if !relations.is_empty() {
            for row in attributes.iter().filter(held).filter(shown) {
                fields.entry(row.attrelid).or_default().push(row.clone());
            }
        }
        over.extend(relations);
        types.add_made_of(over, &own, made_of, &mut fields, (collated, schema_of, flaws))?;
        Ok(types)
    }

    fn add(&mut self, ty: TypeDef) {
        self.by_oid.insert(ty.array, SqlType::Array(Box::new(ty.ty.clone())));
        self.by_oid.insert(ty.oid, ty.ty.clone());
        self.definitions.push(ty);
    }

    /// Adds a type that could not be read: it can be found and dropped. It is not among those that others are made of.
    fn add_unread(
        &mut self,
        row: &TypeRow,
        schema_of: &SchemaOf<'_>,
        flaws: &Flaws,
        flaw: impl Into<Arc<str>>,
    ) -> Result<(), CatalogError> {
        flaws.note(row.oid, flaw);
        // The row of a relation has its name from that.
        if row.typtype.0 == ROW {
            return Ok(());
        }
        let (schema, name) = (schema_of(row.typnamespace)?, Arc::clone(&row.typname.0));
        let (oid, array) = (row.oid.0, row.typarray.0);
        let known =
            EnumType { oid, array, schema: Arc::clone(&schema), name: Arc::clone(&name), labels: Vec::new() };
        let ty = SqlType::Enum(Arc::new(known));
        self.definitions.push(TypeDef {
            oid: row.oid,
            array: row.typarray,
            schema,
            name,
            ty,
            fields: Vec::new(),
        });
        Ok(())
    }

    /// Adds the domains, range types and composite types, each behind the types that it is made of.
    fn add_made_of(
        &mut self,
        mut rows: Vec<TypeRow>,
        own: &HashSet<Oid>,
        (domains, ranges): (&mut HashMap<Oid, DomainRow>, &mut RangeRows),
        fields: &mut HashMap<Oid, Vec<AttributeRow>>,
        (collated, schema_of, flaws): (&Collated, &SchemaOf<'_>, &Flaws),
    ) -> Result<(), CatalogError> {
        while !rows.is_empty() {
            let before = rows.len();
            let mut waiting = Vec::new();
            for row in rows {
                let base = domains.get(&row.oid).map(|domain| domain.typbasetype);
                let base = base.or_else(|| ranges.subtype(row.oid));
                let its = fields.get(&row.oid).into_iter().flatten();
                let mut beneath = base.into_iter().chain(its.map(|field| field.atttypid));
                if beneath
                    .any(|base| own.contains(&base) && !base.is_system() && !self.by_oid.contains_key(&base))
                {
                    waiting.push(row);
                    continue;
                }
                let added = match row.typtype.0 {
                    _ if flaws.has(row.oid) => Err(corrupt("it is damaged".to_owned())),
                    TYPE_RANGE => self.add_range(&row, ranges, schema_of),
                    _ => match fields.remove(&row.oid) {
                        Some(fields) => self.add_row(&row, fields, (collated, schema_of)),
                        None => self.add_domain(&row, domains.remove(&row.oid), (collated, schema_of)),
                    },
                };
                if let Err(error) = added {
                    self.add_unread(&row, schema_of, flaws, flaw(error))?;
                }
            }
            if waiting.len() == before {
                for row in &waiting {
                    self.add_unread(row, schema_of, flaws, "it is made of a type that is not known")?;
                }
                return Ok(());
            }
            rows = waiting;
        }
        Ok(())
    }

    /// Adds a composite type, or the type of a relation's rows.
    fn add_row(
        &mut self,
        row: &TypeRow,
        fields: Vec<AttributeRow>,
        (collated, schema_of): (&Collated, &SchemaOf<'_>),
    ) -> Result<(), CatalogError> {
        let (schema, name) = (schema_of(row.typnamespace)?, Arc::clone(&row.typname.0));
        let (ids, fields) = self.fields(fields)?;
        let collate = |((name, ty), id): ((Arc<str>, SqlType), &u16)| {
            (name, collated.declared(ty, row.oid, i32::from(*id)))
        };
        let fields: Fields = fields.into_iter().zip(&ids).map(collate).collect();
        if row.typtype.0 == ROW {
            let field = |(name, ty): (Arc<str>, SqlType)| (name, field_type(&ty));
            let fields = fields.into_iter().map(field).collect();
            let ty = row_type(row.oid, (&schema, &name), fields, Vec::new());
            self.by_oid.insert(ty.array, SqlType::Array(Box::new(ty.ty.clone())));
            self.by_oid.insert(ty.oid, ty.ty);
            return Ok(());
        }
        let of = CompositeName {
            oid: row.oid.0,
            array: row.typarray.0,
            schema: Arc::clone(&schema),
            name: Arc::clone(&name),
        };
        let ty = SqlType::Row(Arc::new(RowType::named(of, fields)));
        self.add(TypeDef { oid: row.oid, array: row.typarray, schema, name, ty, fields: ids });
        Ok(())
    }

    /// Adds a domain.
    fn add_domain(
        &mut self,
        row: &TypeRow,
        domain: Option<DomainRow>,
        (collated, schema_of): (&Collated, &SchemaOf<'_>),
    ) -> Result<(), CatalogError> {
        let domain = domain.ok_or_else(|| corrupt("it has no row in verso_domain".to_owned()))?;
        let (schema, name) = (schema_of(row.typnamespace)?, Arc::clone(&row.typname.0));
        let base = self.of_oid(domain.typbasetype, domain.typtypmod)?;
        let base = collated.declared(base, row.oid, 0);
        let ty = domain_of(domain, (Arc::clone(&schema), Arc::clone(&name)), row.typarray, base);
        let ty = SqlType::Domain(Arc::new(ty));
        self.add(TypeDef { oid: row.oid, array: row.typarray, schema, name, ty, fields: Vec::new() });
        Ok(())
    }

    /// Adds a range type and its multirange type.
    fn add_range(
        &mut self,
        row: &TypeRow,
        ranges: &mut RangeRows,
        schema_of: &SchemaOf<'_>,
    ) -> Result<(), CatalogError> {
        let (of, multi) =
            ranges.take(row.oid).ok_or_else(|| corrupt("it has no row in pg_range".to_owned()))?;
        let name = |row: &TypeRow| {
            let (oid, array) = (row.oid.0, row.typarray.0);
            Ok::<_, CatalogError>(RangeName {
                oid,
                array,
                schema: schema_of(row.typnamespace)?,
                name: Arc::clone(&row.typname.0),
            })
        };
        let (range, multirange) = (name(row)?, name(&multi)?);
        let own = RangeType::Own(Arc::new(OwnRange {
            range,
            multirange,
            subtype: self.of_oid(of.rngsubtype, -1)?,
        }));
        for ty in [own.clone().ty(false), own.ty(true)] {
            if let SqlType::Range(of) | SqlType::Multirange(of) = &ty
                && let Some(name) = of.own_name(matches!(ty, SqlType::Multirange(_)))
            {
                let (schema, text) = (Arc::clone(&name.schema), Arc::clone(&name.name));
                let (oid, array) = (Oid(name.oid), Oid(name.array));
                self.add(TypeDef { oid, array, schema, name: text, ty, fields: Vec::new() });
            }
        }
        Ok(())
    }

    /// The fields of a composite type, with their numbers.
    fn fields(&self, mut rows: Vec<AttributeRow>) -> Result<(Vec<u16>, Fields), CatalogError> {
        rows.retain(|row| !row.attisdropped);
        rows.sort_by_key(|row| row.attnum);
        let number = |row: &AttributeRow| {
            let text = || corrupt(format!("attribute \"{}\" has number {}", row.attname.0, row.attnum));
            u16::try_from(row.attnum).map_err(|_| text())
        };
        let ids: Vec<u16> = rows.iter().map(number).collect::<Result<_, _>>()?;
        let field = |row: AttributeRow| {
            let ty = self.of_oid(row.atttypid, row.atttypmod)?;
            Ok((row.attname.0, ty))
        };
        let fields = rows.into_iter().map(field).collect::<Result<_, CatalogError>>()?;
        Ok((ids, fields))
    }

    /// The definitions.
    pub(super) fn definitions(&self) -> &[TypeDef] {
        &self.definitions
    }

    /// The type with this number and modifier, the system's own and arrays included.
    pub(super) fn of_oid(&self, oid: Oid, typmod: i32) -> Result<SqlType, CatalogError> {
        let found = match oid.is_system() {
            true => SqlType::from_pg_oid(oid.0, typmod),
            false => self.by_oid.get(&oid).cloned().or_else(|| self.base?.type_by_oid(oid)),
        };
        found.or_else(|| rows_of_system(oid)).ok_or_else(|| corrupt(format!("type {oid} is not known")))
    }
}

/// The type of the rows of one of the system's relations, or the array of it, with this number.
fn rows_of_system(oid: Oid) -> Option<SqlType> {
    let rows = SystemRelation::of_rows(oid)?.rows();
    Some(if rows.oid == oid { rows.ty } else { SqlType::Array(Box::new(rows.ty)) })
}

/// Whether a number among the system's is that of a type: what is made of others could not be read again.
pub(crate) fn is_type(oid: Oid) -> bool {
    let is_known = || SqlType::from_pg_oid(oid.0, -1).is_some() || rows_of_system(oid).is_some();
    !oid.is_system() || oid == TYPE_TRIGGER || is_known()
}

/// The rows of range types that wait for the types of their bounds.
struct RangeRows {
    ranges: HashMap<Oid, RangeRow>,
    /// Rows of `pg_type` of their multirange types.
    multiranges: HashMap<Oid, TypeRow>,
}

impl RangeRows {
    /// Takes the rows of multirange types out of those of all types.
    fn of(ranges: Vec<RangeRow>, types: &mut Vec<TypeRow>) -> RangeRows {
        let is_multirange = |row: &TypeRow| row.typtype.0 == TYPE_MULTIRANGE && !row.oid.is_system();
        let (multiranges, others) = std::mem::take(types).into_iter().partition(is_multirange);
        *types = others;
        let multiranges: Vec<TypeRow> = multiranges;
        RangeRows {
            ranges: ranges.into_iter().map(|row| (row.rngtypid, row)).collect(),
            multiranges: multiranges.into_iter().map(|row| (row.oid, row)).collect(),
        }
    }

    fn subtype(&self, range: Oid) -> Option<Oid> {
        self.ranges.get(&range).map(|row| row.rngsubtype)
    }

    fn take(&mut self, range: Oid) -> Option<(RangeRow, TypeRow)> {
        let row = self.ranges.remove(&range)?;
        let multirange = self.multiranges.remove(&row.rngmultitypid)?;
        Some((row, multirange))
    }
}

/// What stands for `pg_type.typtype` in the rows made of relations.
const ROW: char = 'R';

/// The relations whose row types something is made of, as rows of `pg_type`.
fn relations_held(
    classes: &[ClassRow],
    attributes: &[AttributeRow],
    domains: &HashMap<Oid, DomainRow>,
    named: HashSet<Oid>,
) -> Vec<TypeRow> {
    let mut held = named;
    held.extend(attributes.iter().map(|row| row.atttypid));
    held.extend(domains.values().map(|row| row.typbasetype));
    let held: HashSet<Oid> = held.into_iter().filter(|oid| !oid.is_system()).map(relation_of).collect();
    let is_row = |kind: char| matches!(kind, KIND_TABLE | KIND_PARTITIONED | KIND_MATERIALIZED | KIND_VIEW);
    let row = |class: &ClassRow| {
        let of = row_type(class.oid, (&"".into(), &class.relname.0), Vec::new(), Vec::new());
        TypeRow {
            oid: of.oid,
            typname: Name(of.name),
            typnamespace: class.relnamespace,
            typowner: OWNER_OID,
            typlen: -1,
            typtype: Letter(ROW),
            typcategory: Letter('C'),
            typelem: Oid(0),
            typarray: of.array,
        }
    };
    let relations = classes.iter().filter(|class| !held.is_empty() && held.contains(&class.oid));
    relations.filter(|class| is_row(class.relkind.0)).map(row).collect()
}

/// The rows of an enum type: its own, its array's, and its labels'.
pub(crate) fn enum_rows(ty: &EnumType, array_name: &Arc<str>, schema: Oid) -> ([TypeRow; 2], Vec<EnumRow>) {
    let row = TypeRow {
        oid: Oid(ty.oid),
        typname: Name(Arc::clone(&ty.name)),
        typnamespace: schema,
        typowner: OWNER_OID,
        typlen: 4,
        typtype: Letter(TYPE_ENUM),
        typcategory: Letter('E'),
        typelem: Oid(0),
        typarray: Oid(ty.array),
    };
    let array = TypeRow {
        oid: Oid(ty.array),
        typname: Name(Arc::clone(array_name)),
        typlen: -1,
        typtype: Letter('b'),
        typcategory: Letter('A'),
        typelem: Oid(ty.oid),
        typarray: Oid(0),
        ..row.clone()
    };
    let labels = ty.labels.iter().map(|label| label_row(Oid(ty.oid), label)).collect();
    ([row, array], labels)
}

/// The rows of a range type and its multirange type, and of their arrays.
pub(crate) fn range_rows(
    range: &OwnRange,
    array_names: [&Arc<str>; 2],
    schemas: [Oid; 2],
) -> ([TypeRow; 4], RangeRow) {
    let row = |name: &RangeName, kind: char, schema: Oid| TypeRow {
        oid: Oid(name.oid),
        typname: Name(Arc::clone(&name.name)),
        typnamespace: schema,
        typowner: OWNER_OID,
        typlen: -1,
        typtype: Letter(kind),
        typcategory: Letter('R'),
        typelem: Oid(0),
        typarray: Oid(name.array),
    };
    let array = |own: &TypeRow, name: &Arc<str>| TypeRow {
        oid: own.typarray,
        typname: Name(Arc::clone(name)),
        typtype: Letter('b'),
        typcategory: Letter('A'),
        typelem: own.oid,
        typarray: Oid(0),
        ..own.clone()
    };
    let (own, multi) =
        (row(&range.range, TYPE_RANGE, schemas[0]), row(&range.multirange, TYPE_MULTIRANGE, schemas[1]));
    let arrays = (array(&own, array_names[0]), array(&multi, array_names[1]));
    let of =
        RangeRow { rngtypid: own.oid, rngsubtype: Oid(range.subtype.pg_oid()), rngmultitypid: multi.oid };
    ([own, arrays.0, multi, arrays.1], of)
}

/// The rows of a composite type: its own, its array's, and its fields', which have these numbers.
pub(crate) fn composite_rows(
    of: &CompositeName,
    fields: &[(u16, Arc<str>, SqlType)],
    array_name: &Arc<str>,
    schema: Oid,
) -> ([TypeRow; 2], Vec<AttributeRow>) {
    let row = TypeRow {
        oid: Oid(of.oid),
        typname: Name(Arc::clone(&of.name)),
        typnamespace: schema,
        typowner: OWNER_OID,
        typlen: -1,
        typtype: Letter(TYPE_COMPOSITE),
        typcategory: Letter('C'),
        typelem: Oid(0),
        typarray: Oid(of.array),
    };
    let array = TypeRow {
        oid: Oid(of.array),
        typname: Name(Arc::clone(array_name)),
        typtype: Letter('b'),
        typcategory: Letter('A'),
        typelem: Oid(of.oid),
        typarray: Oid(0),
        ..row.clone()
    };
    let field = |(number, name, ty): &(u16, Arc<str>, SqlType)| AttributeRow {
        attrelid: Oid(of.oid),
        attname: Name(Arc::clone(name)),
        atttypid: Oid(ty.pg_oid()),
        atttypmod: ty.typmod(),
        attlen: ty.typlen(),
        attnum: i16::try_from(*number).expect("the number of fields was checked"),
        attnotnull: false,
        atthasdef: false,
        attisdropped: false,
        attidentity: Letter(' '),
        attgenerated: Letter(' '),
    };
    ([row, array], fields.iter().map(field).collect())
}

/// The row of a label.
pub(crate) fn label_row(ty: Oid, label: &EnumLabel) -> EnumRow {
    EnumRow {
        oid: Oid(label.oid),
        enumtypid: ty,
        enumsortorder: label.place,
        enumlabel: Name(Arc::clone(&label.name)),
    }
}

fn domain_of(row: DomainRow, (schema, name): (Arc<str>, Arc<str>), array: Oid, base: SqlType) -> DomainType {
    let texts = row.connames.into_iter().zip(row.conbins);
    let mut checks: Vec<DomainCheck> = Vec::new();
    for ((oid, validated), (name, expression)) in row.conoids.iter().zip(row.convalidated).zip(texts) {
        checks.push(DomainCheck { oid: oid.0, name, expression, validated: validated != 0 });
    }
    checks.sort_by(|a, b| a.name.cmp(&b.name));
    DomainType {
        oid: row.oid.0,
        array: array.0,
        schema,
        name,
        base,
        not_null: row.typnotnull,
        not_null_name: row.notnullname.0,
        not_null_oid: row.notnulloid.0,
        default: row.typdefault,
        checks,
    }
}

impl DomainRow {
    /// Takes a condition away.
    pub(crate) fn remove_check(&mut self, name: &str) {
        fn take<T>(list: &mut Vec<T>, at: usize) {
            if at < list.len() {
                list.remove(at);
            }
        }
        let Some(at) = self.connames.iter().position(|known| **known == *name) else { return };
        take(&mut self.conoids, at);
        take(&mut self.connames, at);
        take(&mut self.conbins, at);
        take(&mut self.convalidated, at);
    }
}

/// The row that says what a domain demands.
pub(crate) fn domain_row(domain: &DomainType) -> DomainRow {
    let checks = || domain.checks.iter();
    DomainRow {
        oid: Oid(domain.oid),
        typbasetype: Oid(domain.base.pg_oid()),
        typtypmod: domain.base.typmod(),
        typnotnull: domain.not_null,
        notnulloid: Oid(domain.not_null_oid),
        notnullname: Name(Arc::clone(&domain.not_null_name)),
        typdefault: domain.default.clone(),
        conoids: checks().map(|check| Oid(check.oid)).collect(),
        connames: checks().map(|check| Arc::clone(&check.name)).collect(),
        conbins: checks().map(|check| Arc::clone(&check.expression)).collect(),
        convalidated: checks().map(|check| check.validated.into()).collect(),
    }
}

/// The rows of a domain in `pg_type`: its own, its array's.
pub(crate) fn domain_types(domain: &DomainType, array_name: &Arc<str>, schema: Oid) -> [TypeRow; 2] {
    let base = domain.base.erased();
    let row = TypeRow {
        oid: Oid(domain.oid),
        typname: Name(Arc::clone(&domain.name)),
        typnamespace: schema,
        typowner: OWNER_OID,
        typlen: base.typlen(),
        typtype: Letter(TYPE_DOMAIN),
        typcategory: Letter('U'),
        typelem: Oid(0),
        typarray: Oid(domain.array),
    };
    let array = TypeRow {
        oid: Oid(domain.array),
        typname: Name(Arc::clone(array_name)),
        typlen: -1,
        typtype: Letter('b'),
        typcategory: Letter('A'),
        typelem: Oid(domain.oid),
        typarray: Oid(0),
        ..row.clone()
    };
    [row, array]
}
