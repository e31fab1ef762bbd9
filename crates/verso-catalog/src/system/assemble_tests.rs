//! Definitions to rows and back.

use super::*;
use crate::planning::ParallelSafety;
use crate::snapshot::PUBLIC;
use crate::system::{PUBLIC_OID, initial};
use verso_types::NumericSpec;

fn function(oid: u32, returns: FunctionReturn) -> FunctionDef {
    FunctionDef {
        oid: Oid(oid),
        schema: PUBLIC.into(),
        name: "f".into(),
        args: vec![
            FunctionArg::new("how_many", SqlType::Int4),
            FunctionArg::new("", SqlType::Array(Box::new(SqlType::Text))),
        ],
        returns,
        language: FunctionLanguage::PlPgSql,
        body: "BEGIN END".into(),
        volatility: Volatility::Stable,
        strict: true,
        security_definer: false,
        leakproof: false,
        planning: Planning::new(Some(5.0), None, ParallelSafety::Restricted),
        needs: Vec::new(),
        stored: None,
        rows_of: None,
        standard_body: false,
        settings: Vec::new(),
        variant: 0,
    }
}

fn column(id: u16, name: &str, ty: SqlType) -> ColumnDef {
    ColumnDef { not_null: id == 1, ..ColumnDef::new(name, id, ty) }
}

fn rows_of_a_table() -> (TableDef, CatalogRows) {
    let mut columns = vec![
        column(1, "id", SqlType::Numeric(NumericSpec::new(18, 2))),
        column(3, "name", SqlType::Varchar(Some(120))),
        column(4, "list", SqlType::Array(Box::new(SqlType::Int8))),
    ];
    columns[1].default = Some("'x'".into());
    let table = TableDef::new(Oid(16_384), PUBLIC, "t", ObjectId(1000), columns.clone());
    let mut rows = initial::rows(&initial::tables(), ObjectId(999));
    rows.classes.push(class_row(table.oid, &table.name, PUBLIC_OID, table.heap, KIND_TABLE, 3));
    // In any order: storage does not promise one.
    rows.attributes.extend(columns.iter().rev().map(|column| attribute_row(table.oid, column)));
    rows.defaults.push(DefaultRow { oid: Oid(16_385), adrelid: table.oid, adnum: 3, adbin: "'x'".into() });
    (table, rows)
}

#[test]
fn a_table_survives_its_rows() {
    let (table, rows) = rows_of_a_table();
    let snapshot = rows.assemble(5, None).unwrap();
    assert_eq!(snapshot.version, 5);
    assert_eq!(*snapshot.table(None, "t").unwrap(), table);
}

#[test]
fn every_kind_of_function_survives_its_row() {
    let table = FunctionReturn::Table(vec![("records".into(), SqlType::Int8)]);
    let wide = FunctionReturn::Table(vec![("a".into(), SqlType::Int8), ("b".into(), SqlType::Text)]);
    let kinds = [
        FunctionReturn::Void,
        FunctionReturn::Procedure,
        FunctionReturn::Scalar(SqlType::Text),
        FunctionReturn::Set(SqlType::Int4),
        table,
        wide,
    ];
    for returns in kinds {
        let function = function(16_390, returns);
        let mut rows = initial::rows(&initial::tables(), ObjectId(999));
        rows.functions.push(proc_row(&function, PUBLIC_OID));
        let snapshot = rows.assemble(1, None).unwrap();
        assert_eq!(*snapshot.functions(None, "f")[0], function);
    }
}

#[test]
fn modes_and_defaults_of_arguments_survive_their_row() {
    use crate::ArgMode::{In, InOut, Out, Variadic};
    let arg = |name: &str, mode, default: Option<&str>| FunctionArg {
        mode,
        default: default.map(Into::into),
        ..FunctionArg::new(name, SqlType::Array(Box::new(SqlType::Int4)))
    };
    let modes =
        [("a", In, None), ("b", Out, None), ("c", InOut, Some("'{1}'")), ("d", Variadic, Some("'{}'"))];
    let settings = vec![("search_path".into(), "a, b".into())];
    let function = FunctionDef {
        args: modes.map(|(name, mode, default)| arg(name, mode, default)).into(),
        settings,
        standard_body: true,
        ..function(16_390, FunctionReturn::Procedure)
    };
    let mut rows = initial::rows(&initial::tables(), ObjectId(999));
    rows.functions.push(proc_row(&function, PUBLIC_OID));
    let snapshot = rows.assemble(1, None).unwrap();
    assert_eq!(*snapshot.functions(None, "f")[0], function);
}

#[test]
fn a_sequence_knows_its_bounds_and_its_owner() {
    let (table, mut rows) = rows_of_a_table();
    let bounds = SequenceBounds { ty: SqlType::Int4, max: 99, cycle: true, ..SequenceBounds::default() };
    let oid = Oid(16_386);
    rows.classes.push(class_row(oid, &"s".into(), PUBLIC_OID, ObjectId(1001), KIND_SEQUENCE, 0));
    rows.sequences.push(sequence_row(oid, &bounds));
    rows.depends.push(DependRow {
        classid: ClassRow::TABLE.oid,
        objid: oid,
        objsubid: 0,
        refclassid: ClassRow::TABLE.oid,
        refobjid: table.oid,
        refobjsubid: 1,
        deptype: Letter(DEPENDS_AUTO),
    });
    let sequence = rows.assemble(1, None).unwrap().sequence(None, "s").unwrap();
    assert_eq!(sequence.bounds, bounds);
    assert_eq!(sequence.owned_by, Some(OwnedBy { table: table.oid, column: 1 }));
}

#[test]
fn what_did_not_change_is_shared_with_the_version_before() {
    let first = rows_of_a_table().1.assemble(1, None).unwrap();
    let (_, mut rows) = rows_of_a_table();
    rows.functions.push(proc_row(&function(16_390, FunctionReturn::Void), PUBLIC_OID));
    let second = rows.assemble(2, Some(&first)).unwrap();
    let (a, b) = (first.table(None, "t").unwrap(), second.table(None, "t").unwrap());
    assert!(Arc::ptr_eq(&a, &b));

    let (_, mut rows) = rows_of_a_table();
    rows.attributes.last_mut().unwrap().attnotnull = false;
    let third = rows.assemble(3, Some(&second)).unwrap();
    assert!(!Arc::ptr_eq(&b, &third.table(None, "t").unwrap()));
}

/// What is done to rows, the object that is damaged then, and words of what is wrong.
type Case = (fn(&mut CatalogRows), u32, &'static str);

#[test]
fn a_row_that_is_not_understood_damages_what_it_describes_and_nothing_else() {
    let cases: [Case; 9] = [
        (|rows| rows.classes.last_mut().unwrap().relkind = Letter('?'), 16_384, "unknown kind"),
        (|rows| rows.classes.last_mut().unwrap().relkind = Letter(KIND_SEQUENCE), 16_384, "pg_sequence"),
        (|rows| rows.classes.last_mut().unwrap().relkind = Letter(KIND_VIEW), 16_384, "pg_rewrite"),
        (|rows| rows.classes.last_mut().unwrap().relnamespace = Oid(1), 1, "pg_namespace"),
        (|rows| rows.attributes.last_mut().unwrap().atttypid = Oid(1), 16_384, "type 1 is not known"),
        (|rows| rows.attributes.last_mut().unwrap().atttypid = Oid(99_999), 16_384, "type 99999"),
        (|rows| rows.attributes.last_mut().unwrap().attnum = -1, 16_384, "has number -1"),
        (
            |rows| {
                let mut row = proc_row(&function(16_390, FunctionReturn::Void), PUBLIC_OID);
                row.provolatile = Letter('?');
                rows.functions.push(row);
            },
            16_390,
            "unknown volatility",
        ),
        (
            |rows| {
                let index = IndexRow {
                    indexrelid: Oid(16_391),
                    indrelid: Oid(16_384),
                    indnatts: 1,
                    indnkeyatts: 1,
                    indisunique: false,
                    indnullsnotdistinct: false,
                    indisprimary: false,
                    indimmediate: true,
                    indisvalid: true,
                    indkey: vec![1],
                    indoption: vec![0],
                    indguard: 0,
                };
                rows.indexes.push(index);
            },
            16_384,
            "index 16391 has no row in pg_class",
        ),
    ];
    for (damage, oid, flaw) in cases {
        let (_, mut rows) = rows_of_a_table();
        damage(&mut rows);
        let snapshot = rows.assemble(1, None).unwrap();
        let found = snapshot.damage();
        assert_eq!(found.iter().map(|one| one.oid.0).collect::<Vec<_>>(), [oid], "{flaw}");
        assert!(found[0].flaw.contains(flaw), "{}", found[0]);
        assert!(matches!(snapshot.check_whole(Oid(oid)), Err(CatalogError::Damaged { .. })));
        assert!(snapshot.check_whole(Oid(1259)).is_ok() && snapshot.table(None, "pg_class").is_some());
        // It has a name, so that it can be dropped.
        assert!(snapshot.relation_by_oid(Oid(16_384)).is_some());
        assert!(oid != 16_390 || snapshot.functions(None, "f").len() == 1);
        let (rest, told) = snapshot.without_damage();
        assert!(!rest.has_damage() && told.len() == 1 && rest.table(None, "pg_class").is_some());
    }
}

#[test]
fn what_is_made_of_something_damaged_is_damaged_and_no_version_is_made_from_one_with_damage() {
    let (_, mut rows) = rows_of_a_table();
    let ty = TypeRow {
        oid: Oid(16_500),
        typname: Name("odd".into()),
        typnamespace: PUBLIC_OID,
        typowner: OWNER_OID,
        typlen: -1,
        typtype: Letter('?'),
        typcategory: Letter('E'),
        typelem: Oid(0),
        typarray: Oid(16_501),
    };
    rows.types.push(ty);
    rows.attributes.last_mut().unwrap().atttypid = Oid(16_501);
    let snapshot = rows.assemble(1, None).unwrap();
    let found: Vec<String> = snapshot.damage().into_iter().map(|one| one.object).collect();
    assert_eq!(found, ["table public.t", "type public.odd"]);
    let changed = BTreeSet::from([Oid(16_600)]);
    let base = Base { snapshot: &snapshot, changed: &changed };
    assert!(CatalogRows::default().assemble_over(2, base).unwrap().is_none());
}
