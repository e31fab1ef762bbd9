//! One structure for the rows of each system table. The order of the fields is the order of the columns (S3).
//! Behind `of` stand the fields by which rows are found without reading the whole table (`places.rs`).
//!
//! Columns have PostgreSQL's names and meanings; those that could only ever hold one value are left out.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::page::ObjectId;
use verso_types::{Batch, Column, SqlType, Value};

use super::SystemTable;
use super::field::{Bytes, Field, Letter, Moment, Name};
use crate::definition::Oid;

/// A row of a system table.
pub(crate) trait SystemRow: Sized {
    /// The table.
    const TABLE: SystemTable;
    /// Its columns: name, type, may it be NULL.
    fn columns() -> Vec<(&'static str, SqlType, bool)>;
    /// The values in the order of the columns.
    fn to_values(&self) -> Vec<Value>;
    /// The row of these values, `None` if they do not fit.
    fn from_values(values: &[Value]) -> Option<Self>;

    /// What it is a part of, or says something of: the numbers behind `of` below. A table whose rows have none is small and read
    /// whole.
    fn keys(&self) -> impl Iterator<Item = Oid>;

    /// The names of these fields, that of the object which a row is a part of first.
    fn key_columns() -> &'static [&'static str];

    /// Where those stand among the columns.
    fn key_places() -> Vec<usize> {
        let types = Self::columns();
        let keys = Self::key_columns();
        keys.iter().filter_map(|key| types.iter().position(|(name, ..)| name == key)).collect()
    }

    /// The types that it is made of: none that the catalog could not read again is ever written.
    fn types(&self) -> Vec<Oid> {
        Vec::new()
    }

    /// The column ids.
    fn column_ids() -> Vec<u16> {
        (1..).take(Self::columns().len()).collect()
    }

    /// The rows as a batch for the heap.
    fn to_batch(rows: &[Self]) -> Batch {
        let mut columns: Vec<Column> = Vec::new();
        let types = Self::columns();
        columns.extend(types.iter().map(|(_, ty, _)| Column::new(ty.physical())));
        for row in rows {
            for ((column, (_, ty, _)), value) in columns.iter_mut().zip(&types).zip(row.to_values()) {
                column.push_value(&value, ty).expect("a field stores values of its own type");
            }
        }
        Batch::from_columns(columns)
    }

    /// The rows of a batch that has all columns. One with values that do not fit costs the object that it is a part of.
    fn from_batch(batch: &Batch) -> ReadRows<Self> {
        let types = Self::columns();
        Self::read(batch, &types, |_| true)
    }

    /// The rows of a batch of which one of these numbers is a key, and those of them that cannot be read. Others are not put
    /// together: on a page stand those of hundreds of objects.
    fn of_objects(batch: &Batch, objects: &BTreeSet<Oid>) -> ReadRows<Self> {
        let (types, keys) = (Self::columns(), Self::key_places());
        Self::read(batch, &types, |row| {
            keys.iter().any(|at| {
                let value = batch.columns.get(*at).map(|column| column.value(row, &types[*at].1));
                let key = value.as_ref().and_then(Oid::from_value);
                key.is_some_and(|key| key != Oid(0) && objects.contains(&key))
            })
        })
    }

    /// Some rows of a batch; `types` are the columns.
    fn read(
        batch: &Batch,
        types: &[(&'static str, SqlType, bool)],
        wanted: impl Fn(usize) -> bool,
    ) -> ReadRows<Self> {
        let own = Self::key_columns().first().copied().unwrap_or("oid");
        let own = types.iter().position(|(name, ..)| *name == own);
        let mut read = ReadRows { at: Vec::new(), rows: Vec::new(), unread: Vec::new() };
        for (at, row) in (0..).zip(0..batch.rows).filter(|(_, row)| wanted(*row)) {
            let pairs = batch.columns.iter().zip(types);
            let values: Vec<Value> = pairs.map(|(column, (_, ty, _))| column.value(row, ty)).collect();
            match Self::from_values(&values) {
                Some(row) => {
                    read.at.push(at);
                    read.rows.push(row);
                }
                None => {
                    let own = own.and_then(|own| Oid::from_value(values.get(own)?));
                    read.unread.push((at, own.unwrap_or_default()));
                }
            }
        }
        read
    }
}

/// The rows of a batch.
#[derive(Debug)]
pub(crate) struct ReadRows<R> {
    /// Which rows of the batch these are.
    pub at: Vec<u32>,
    /// The rows.
    pub rows: Vec<R>,
    /// The others, whose values do not fit, each with the object that it is a part of; 0 where that is not known either.
    pub unread: Vec<(u32, Oid)>,
}

/// Rows of objects that have a number: rows of other system tables say something of them by their table and number.
pub(crate) trait Numbered: SystemRow {
    /// The object's number.
    fn oid(&self) -> Oid;
}

macro_rules! numbered {
    ($($row:ident),+) => { $(impl Numbered for $row { fn oid(&self) -> Oid { self.oid } })+ };
}

numbered!(
    AuthIdRow,
    CastRow,
    ClassRow,
    CollationRow,
    ConstraintRow,
    DefaultRow,
    ExtensionRow,
    NamespaceRow,
    OperatorRow,
    PolicyRow,
    ProcRow,
    RewriteRow,
    StatisticExtRow,
    TriggerRow,
    TypeRow
);

macro_rules! system_row {
    ($(#[$doc:meta])* $row:ident, $oid:literal, $heap:literal, $name:literal $(of($($key:ident),+))? $(types($types:expr))? { $($(#[$field_doc:meta])* $field:ident: $ty:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) struct $row { $($(#[$field_doc])* pub $field: $ty,)* }

        impl SystemRow for $row {
            const TABLE: SystemTable = SystemTable { oid: Oid($oid), heap: ObjectId($heap), name: $name };

            fn columns() -> Vec<(&'static str, SqlType, bool)> {
                vec![$((stringify!($field), <$ty as Field>::sql_type(), <$ty as Field>::NULLABLE),)*]
            }

            fn to_values(&self) -> Vec<Value> {
                vec![$(self.$field.to_value(),)*]
            }

            fn from_values(values: &[Value]) -> Option<Self> {
                let mut values = values.iter();
                Some($row { $($field: Field::from_value(values.next()?)?,)* })
            }

            fn key_columns() -> &'static [&'static str] {
                &[$($(stringify!($key)),+)?]
            }

            fn keys(&self) -> impl Iterator<Item = Oid> {
                let keys: [Oid; _] = [$($(self.$key),+)?];
                keys.into_iter().filter(|key| *key != Oid(0))
            }

            $(fn types(&self) -> Vec<Oid> {
                let types: fn(&Self) -> Vec<Oid> = $types;
                types(self)
            })?
        }
    };
}

system_row! {
    /// Comments.
    DescriptionRow, 2609, 51, "pg_description" of(objoid) {
        objoid: Oid,
        classoid: Oid,
        /// A column's number; 0 for a whole object.
        objsubid: i32,
        description: Arc<str>,
    }
}

system_row! {
    /// What ANALYZE has found out.
    StatisticRow, 2619, 70, "pg_statistic" of(starelid) {
        starelid: Oid,
        /// A column's number; 0 for the table as a whole, below 0 for the statistics of that number.
        staattnum: i32,
        /// As `statistics.rs` writes it.
        stadata: Bytes,
    }
}

system_row! {
    /// What CREATE STATISTICS has made.
    StatisticExtRow, 3381, 88, "pg_statistic_ext" of(stxrelid) {
        oid: Oid,
        stxrelid: Oid,
        stxname: Name,
        stxnamespace: Oid,
        stxowner: Oid,
        /// The columns.
        stxkeys: Vec<i16>,
        /// -1 where nothing was said.
        stxstattarget: i16,
        /// Letters of kinds.
        stxkind: Arc<str>,
        /// The expressions.
        stxexprs: Option<Vec<Arc<str>>>,
    }
}

system_row! {
    /// What views show.
    RewriteRow, 2618, 50, "pg_rewrite" of(ev_class) {
        oid: Oid,
        rulename: Name,
        /// The view.
        ev_class: Oid,
        ev_type: Letter,
        ev_enabled: Letter,
        is_instead: bool,
        ev_qual: Arc<str>,
        /// The query's text.
        ev_action: Arc<str>,
        /// What its names mean.
        ev_names: Vec<Arc<str>>,
    }
}

system_row! {
    /// Schemas.
    NamespaceRow, 2615, 11, "pg_namespace" of(oid) {
        oid: Oid,
        nspname: Name,
        nspowner: Oid,
    }
}

system_row! {
    /// Tables and sequences.
    ClassRow, 1259, 12, "pg_class" of(oid) {
        oid: Oid,
        relname: Name,
        relnamespace: Oid,
        relowner: Oid,
        /// The object in storage.
        relfilenode: Oid,
        /// `r` table, `p` partitioned table, `S` sequence, `i` index, `v` view, `m` materialized view.
        relkind: Letter,
        relpersistence: Letter,
        relnatts: i16,
        /// Not so of a materialized view that has no rows yet.
        relispopulated: bool,
        /// Storage parameters, `name=value`.
        reloptions: Option<Vec<Arc<str>>>,
        relrowsecurity: bool,
        relforcerowsecurity: bool,
    }
}

system_row! {
    /// Columns.
    AttributeRow, 1249, 13, "pg_attribute" of(attrelid) types(|row| if row.attisdropped { Vec::new() } else { vec![row.atttypid] }) {
        /// The relation, or the composite type.
        attrelid: Oid,
        attname: Name,
        atttypid: Oid,
        atttypmod: i32,
        /// Of a column with a statistics target -1000 and the target less; nobody reads other values.
        attlen: i16,
        /// The column's id in storage.
        attnum: i16,
        attnotnull: bool,
        atthasdef: bool,
        attisdropped: bool,
        /// `a` always, `d` by default, blank otherwise.
        attidentity: Letter,
        /// `s` stored, blank otherwise.
        attgenerated: Letter,
    }
}

system_row! {
    /// Defaults of columns.
    DefaultRow, 2604, 14, "pg_attrdef" of(adrelid, oid) {
        oid: Oid,
        adrelid: Oid,
        adnum: i16,
        /// The expression as SQL text.
        adbin: Arc<str>,
    }
}

system_row! {
    /// Types.
    TypeRow, 1247, 15, "pg_type" of(oid, typelem) {
        oid: Oid,
        typname: Name,
        typnamespace: Oid,
        typowner: Oid,
        typlen: i16,
        /// `b` base type, `c` composite, `d` domain, `e` enum, `m` multirange, `p` pseudo-type, `r` range.
        typtype: Letter,
        typcategory: Letter,
        typelem: Oid,
        typarray: Oid,
    }
}

system_row! {
    /// Labels of enum types.
    EnumRow, 3501, 60, "pg_enum" of(enumtypid) {
        oid: Oid,
        enumtypid: Oid,
        /// The place that orders the label: [`verso_types::EnumType`].
        enumsortorder: i64,
        enumlabel: Name,
    }
}

system_row! {
    /// Domains: what their rows in `pg_type` and `pg_constraint` say.
    DomainRow, 9003, 71, "verso_domain" of(oid) types(|row| vec![row.typbasetype]) {
        oid: Oid,
        typbasetype: Oid,
        typtypmod: i32,
        typnotnull: bool,
        /// The number and name of the NOT NULL constraint.
        notnulloid: Oid,
        notnullname: Name,
        /// The default as SQL text.
        typdefault: Option<Arc<str>>,
        /// The conditions: numbers, names, SQL texts; 1 where all values are known to fulfil them.
        conoids: Vec<Oid>,
        connames: Vec<Arc<str>>,
        conbins: Vec<Arc<str>>,
        convalidated: Vec<i16>,
    }
}

system_row! {
    /// Range types of users.
    RangeRow, 3541, 87, "pg_range" of(rngtypid) types(|row| vec![row.rngsubtype]) {
        rngtypid: Oid,
        rngsubtype: Oid,
        rngmultitypid: Oid,
    }
}

system_row! {
    /// Collations that users have made.
    CollationRow, 3456, 80, "pg_collation" {
        oid: Oid,
        collname: Name,
        collnamespace: Oid,
        collowner: Oid,
        /// `i` ICU, `b` or `c` by bytes.
        collprovider: Letter,
        collisdeterministic: bool,
        colllocale: Option<Arc<str>>,
        collversion: Option<Arc<str>>,
    }
}

system_row! {
    /// Extensions that were asked for.
    ExtensionRow, 3079, 82, "pg_extension" {
        oid: Oid,
        extname: Name,
        extowner: Oid,
        extnamespace: Oid,
        extversion: Arc<str>,
    }
}

system_row! {
    /// Operators of users.
    OperatorRow, 2617, 84, "pg_operator" {
        oid: Oid,
        oprname: Name,
        oprnamespace: Oid,
        oprowner: Oid,
        /// 0 of a prefix operator.
        oprleft: Oid,
        oprright: Oid,
        oprresult: Oid,
        /// A function of users by its number, a built-in one by its name.
        oprcode: Arc<str>,
        /// Other operators by their symbols.
        oprcom: Option<Arc<str>>,
        oprnegate: Option<Arc<str>>,
        /// PostgreSQL's estimators by their names.
        oprrest: Option<Arc<str>>,
        oprjoin: Option<Arc<str>>,
        oprcanmerge: bool,
        oprcanhash: bool,
    }
}

system_row! {
    /// Casts of users.
    CastRow, 2605, 83, "pg_cast" {
        oid: Oid,
        castsource: Oid,
        casttarget: Oid,
        /// A function of users by its number, a built-in one by its name; none goes through the text.
        castfunc: Option<Arc<str>>,
        /// `e` when asked for, `a` where a value is assigned, `i` everywhere; in capitals where it was dropped, and texts go on
        /// with it.
        castcontext: Letter,
    }
}

system_row! {
    /// Collations of columns, of domains, of the parts of indexes and, below 0, of those of the keys by which tables are divided: what
    /// PostgreSQL calls `attcollation` and the like.
    CollatedRow, 9010, 81, "verso_collated" of(objid) {
        /// The relation, the type or the index.
        objid: Oid,
        /// The column, or the part of the key; 0 of a domain.
        objsubid: i32,
        collation: Oid,
        /// Of an index: the version of the data that its keys were made from.
        version: Option<Arc<str>>,
    }
}

system_row! {
    /// Tables whose rows are in partitions.
    PartitionedRow, 3350, 85, "pg_partitioned_table" of(partrelid) {
        partrelid: Oid,
        /// `l` list, `r` range, `h` hash.
        partstrat: Letter,
        /// The columns of the key; behind them, where one has a class, those of all of them, below 0.
        partattrs: Vec<i16>,
    }
}

system_row! {
    /// What is a partition of what.
    InheritsRow, 2611, 86, "pg_inherits" of(inhrelid, inhparent) {
        inhrelid: Oid,
        inhparent: Oid,
        /// The bound, as [`crate::partition::Bound`] writes it: what PostgreSQL calls `relpartbound`.
        bound: Vec<Arc<str>>,
    }
}

system_row! {
    /// Functions.
    ProcRow, 1255, 16, "pg_proc" of(oid) types(|row| {
        let all = row.proallargtypes.as_deref().unwrap_or_default();
        row.proargtypes.iter().chain(all).copied().chain(Some(row.prorettype).filter(|oid| *oid != Oid(0))).collect()
    }) {
        oid: Oid,
        proname: Name,
        pronamespace: Oid,
        proowner: Oid,
        prolang: Oid,
        proisstrict: bool,
        proretset: bool,
        /// `i` immutable, `s` stable, `v` volatile.
        provolatile: Letter,
        pronargs: i16,
        prorettype: Oid,
        proargtypes: Vec<Oid>,
        /// Arguments and result columns, where some come out.
        proallargtypes: Option<Vec<Oid>>,
        /// `i` in, `o` out, `b` both, `v` variadic, `t` result column; none where all are `i`.
        proargmodes: Option<Vec<Letter>>,
        /// The names of all these, and behind them what has no column of its own: `=` and the default of an argument, for the
        /// last ones, `@` and a setting, `name=value`, that holds while it runs, `$` where the body is no text, `%` and
        /// COST, ROWS (`-` where not given) and the letter of PARALLEL.
        proargnames: Option<Vec<Arc<str>>>,
        prosrc: Arc<str>,
        prosecdef: bool,
    }
}

system_row! {
    /// Bounds of sequences.
    SequenceRow, 2224, 17, "pg_sequence" of(seqrelid) {
        seqrelid: Oid,
        seqtypid: Oid,
        seqstart: i64,
        seqincrement: i64,
        seqmax: i64,
        seqmin: i64,
        seqcache: i64,
        seqcycle: bool,
    }
}

system_row! {
    /// What needs what.
    DependRow, 2608, 18, "pg_depend" of(objid, refobjid) {
        /// The system table of what depends.
        classid: Oid,
        objid: Oid,
        objsubid: i32,
        /// The system table of what is needed.
        refclassid: Oid,
        refobjid: Oid,
        refobjsubid: i32,
        /// `n` blocks DROP, `a` is dropped along.
        deptype: Letter,
    }
}

system_row! {
    /// Indexes.
    IndexRow, 2610, 20, "pg_index" of(indrelid, indexrelid) {
        indexrelid: Oid,
        indrelid: Oid,
        indnatts: i16,
        indnkeyatts: i16,
        indisunique: bool,
        indnullsnotdistinct: bool,
        indisprimary: bool,
        indimmediate: bool,
        indisvalid: bool,
        /// The columns' numbers: those of the key, then those of INCLUDE.
        indkey: Vec<i16>,
        /// Per column of the key 1 for DESC, 2 for NULLS FIRST, 4 times its class, 256 times its operator of an
        /// exclusion; of the first one 4096 for CLUSTER ON and 8192 for REPLICA IDENTITY.
        indoption: Vec<i16>,
        /// The hidden column that says which rows it has; 0 = all.
        indguard: i16,
    }
}

/// In the first of an index's options: CLUSTER ON.
const CLUSTERED: i16 = 4_096;
/// The same: REPLICA IDENTITY USING INDEX.
const REPLICA_IDENTITY: i16 = 8_192;

impl IndexRow {
    fn has(&self, mark: i16) -> bool {
        self.indoption.first().is_some_and(|option| option & mark != 0)
    }

    fn set(&mut self, mark: i16, on: bool) {
        if let Some(option) = self.indoption.first_mut() {
            *option = *option & !mark | if on { mark } else { 0 };
        }
    }

    /// Whether CLUSTER puts the table in its order.
    pub fn is_clustered(&self) -> bool {
        self.has(CLUSTERED)
    }

    /// Whether its columns say which row was changed.
    pub fn is_replica_identity(&self) -> bool {
        self.has(REPLICA_IDENTITY)
    }

    /// Says whether its columns say which row was changed.
    pub fn set_replica_identity(&mut self, identity: bool) {
        self.set(REPLICA_IDENTITY, identity);
    }

    /// Says whether CLUSTER puts the table in its order.
    pub fn set_clustered(&mut self, clustered: bool) {
        self.set(CLUSTERED, clustered);
    }
}

system_row! {
    /// Constraints.
    ConstraintRow, 2606, 21, "pg_constraint" of(conrelid, confrelid) {
        oid: Oid,
        conname: Name,
        connamespace: Oid,
        /// `c` check, `n` not null, `p` primary key, `u` unique, `x` exclusion, `f` foreign key; in capitals where it is not enforced.
        contype: Letter,
        condeferrable: bool,
        condeferred: bool,
        convalidated: bool,
        conrelid: Oid,
        conindid: Oid,
        confrelid: Oid,
        /// `a` no action, `r` restrict, `c` cascade, `n` set null, `d` set default; blank if it is no foreign key. In capitals
        /// where rows that come are not checked.
        confupdtype: Letter,
        /// The same; in capitals where nothing follows from rows that go.
        confdeltype: Letter,
        /// `f` full, `s` simple, `p` simple with PERIOD; of a CHECK or NOT NULL `n` for NO INHERIT.
        confmatchtype: Letter,
        conkey: Option<Vec<i16>>,
        confkey: Option<Vec<i16>>,
        confdelsetcols: Option<Vec<i16>>,
        /// CHECK as SQL text; of an exclusion its access method, and where its columns stand among the parts of the index; of a
        /// partition's foreign key the number of the one that it is a part of.
        conbin: Option<Arc<str>>,
    }
}

system_row! {
    /// Triggers.
    TriggerRow, 2620, 40, "pg_trigger" of(tgrelid, tgfoid) {
        oid: Oid,
        tgrelid: Oid,
        tgparentid: Oid,
        tgname: Name,
        tgfoid: Oid,
        /// [`crate::TriggerKind`].
        tgtype: i16,
        /// `O` origin, `D` disabled, `R` replica, `A` always.
        tgenabled: Letter,
        tgisinternal: bool,
        tgconstrrelid: Oid,
        tgconstrindid: Oid,
        /// Of a constraint trigger its own number.
        tgconstraint: Oid,
        tgdeferrable: bool,
        tginitdeferred: bool,
        tgnargs: i16,
        tgattr: Vec<i16>,
        /// Each with a zero byte behind it.
        tgargs: Bytes,
        /// WHEN as SQL text.
        tgqual: Option<Arc<str>>,
        tgoldtable: Option<Name>,
        tgnewtable: Option<Name>,
        /// Statements in place of a function, as the body of one in PL/pgSQL.
        tgaction: Option<Arc<str>>,
        /// What they call the old row.
        tgoldname: Option<Name>,
        /// What they call the new row; of a constraint trigger what its constraint is called, if that is another name than its own.
        tgnewname: Option<Name>,
    }
}

system_row! {
    /// Languages of functions.
    LanguageRow, 2612, 19, "pg_language" {
        oid: Oid,
        lanname: Name,
        lanowner: Oid,
    }
}

system_row! {
    /// Roles.
    AuthIdRow, 1260, 30, "pg_authid" {
        oid: Oid,
        rolname: Name,
        rolsuper: bool,
        rolinherit: bool,
        rolcreaterole: bool,
        rolcreatedb: bool,
        rolcanlogin: bool,
        rolreplication: bool,
        rolbypassrls: bool,
        rolconnlimit: i32,
        /// The verifier, never the password.
        rolpassword: Option<Arc<str>>,
        rolvaliduntil: Option<Moment>,
    }
}

system_row! {
    /// Members of roles.
    AuthMemberRow, 1261, 32, "pg_auth_members" {
        oid: Oid,
        roleid: Oid,
        member: Oid,
        grantor: Oid,
        admin_option: bool,
        inherit_option: bool,
        set_option: bool,
    }
}

system_row! {
    /// Rights on objects: the columns that PostgreSQL calls `relacl` and the like.
    AclRow, 9002, 33, "verso_acl" of(objoid) {
        classoid: Oid,
        objoid: Oid,
        /// A column's number; 0 for a whole object.
        objsubid: i32,
        /// Whose the database is; of others that stands in their own rows.
        owner: Oid,
        /// As [`crate::rights::Acl`] writes it.
        acl: Option<Vec<Arc<str>>>,
    }
}

system_row! {
    /// Rights on what is to be made.
    DefaultAclRow, 826, 34, "pg_default_acl" {
        oid: Oid,
        defaclrole: Oid,
        defaclnamespace: Oid,
        defaclobjtype: Letter,
        defaclacl: Vec<Arc<str>>,
    }
}

system_row! {
    /// Policies.
    PolicyRow, 3256, 35, "pg_policy" of(polrelid) {
        oid: Oid,
        polname: Name,
        polrelid: Oid,
        polcmd: Letter,
        polpermissive: bool,
        polroles: Vec<Oid>,
        polqual: Option<Arc<str>>,
        polwithcheck: Option<Arc<str>>,
    }
}

system_row! {
    /// Settings of the database.
    DbRoleSettingRow, 2964, 31, "pg_db_role_setting" {
        /// Of this database, or of all.
        setdatabase: Oid,
        /// For a role; 0 for everybody.
        setrole: Oid,
        /// `name=value`.
        setconfig: Option<Vec<Arc<str>>>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_a_batch() {
        let rows = vec![
            ProcRow {
                oid: Oid(16_400),
                proname: Name("f".into()),
                pronamespace: Oid(2200),
                proowner: Oid(10),
                prolang: Oid(14),
                proisstrict: false,
                proretset: true,
                provolatile: Letter('v'),
                pronargs: 1,
                prorettype: Oid(20),
                proargtypes: vec![Oid(23)],
                proallargtypes: Some(vec![Oid(23), Oid(20)]),
                proargmodes: Some(vec![Letter('i'), Letter('t')]),
                proargnames: None,
                prosrc: "SELECT 1".into(),
                prosecdef: false,
            };
            2
        ];
        let batch = ProcRow::to_batch(&rows);
        assert_eq!(batch.rows, 2);
        assert_eq!(ProcRow::from_batch(&batch).rows, rows);
    }

    #[test]
    fn rows_of_objects_are_found_by_each_of_their_keys() {
        let link = |objid: u32, refobjid: u32| DependRow {
            classid: Oid(1259),
            objid: Oid(objid),
            objsubid: 1,
            refclassid: Oid(2604),
            refobjid: Oid(refobjid),
            refobjsubid: 0,
            deptype: Letter('n'),
        };
        let rows = vec![link(1, 2), link(3, 4), link(5, 1), link(0, 6)];
        let batch = DependRow::to_batch(&rows);
        let of = |objects: &[u32]| {
            let objects: BTreeSet<Oid> = objects.iter().map(|oid| Oid(*oid)).collect();
            let read = DependRow::of_objects(&batch, &objects);
            (read.at, read.rows)
        };
        assert_eq!(of(&[1]), (vec![0, 2], vec![rows[0].clone(), rows[2].clone()]));
        assert_eq!(of(&[4, 6]), (vec![1, 3], vec![rows[1].clone(), rows[3].clone()]));
        assert_eq!(of(&[0, 1259, 2604]).0, Vec::<u32>::new());
        assert!(LanguageRow::key_columns().is_empty());
    }

    #[test]
    fn values_of_other_types_are_corruption_not_a_panic() {
        assert!(DependRow::from_values(&[Value::Null]).is_none());
        let batch = LanguageRow::to_batch(&[LanguageRow {
            oid: Oid(1),
            lanname: Name("x".into()),
            lanowner: Oid(1),
        }]);
        assert_eq!(NamespaceRow::from_batch(&batch).rows.len(), 1);
        let empty = Batch { rows: 1, columns: Vec::new() };
        let read = NamespaceRow::from_batch(&empty);
        assert!(read.rows.is_empty());
        assert_eq!(read.unread, [(0, Oid(0))]);
    }
}
