//! The tables and their rows, as the specification's generator makes them: each a function of the scale factor.

use std::fmt::Write;

use tpchgen::csv::{
    CustomerCsv, LineItemCsv, NationCsv, OrderCsv, PartCsv, PartSuppCsv, RegionCsv, SupplierCsv,
};
use tpchgen::dates::TPCHDate;
use tpchgen::decimal::TPCHDecimal;
use tpchgen::generators::{
    Customer, CustomerGenerator, LineItem, LineItemGenerator, Nation, NationGenerator, Order, OrderGenerator,
    Part, PartGenerator, PartSupp, PartSuppGenerator, Region, RegionGenerator, Supplier, SupplierGenerator,
};
use verso_types::{Decimal, Value};

/// Days from the generator's zero, 1970-01-01, to the engine's, 2000-01-01.
const DAYS_1970_TO_2000: i32 = 10_957;

/// A table: its name, its columns as all engines understand them, and its primary key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pub name: &'static str,
    pub columns: &'static str,
    pub key: &'static str,
    /// Parts that it is made in, so that several workers can.
    pub parts: i32,
    source: Source,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Region,
    Nation,
    Supplier,
    Customer,
    Part,
    PartSupp,
    Orders,
    LineItem,
}

/// In the order in which they are filled.
pub(super) const TABLES: [Table; 8] = [
    Table {
        name: "region",
        columns: "r_regionkey integer NOT NULL, r_name char(25) NOT NULL, r_comment varchar(152) NOT NULL",
        key: "r_regionkey",
        parts: 1,
        source: Source::Region,
    },
    Table {
        name: "nation",
        columns: "n_nationkey integer NOT NULL, n_name char(25) NOT NULL, n_regionkey integer NOT NULL, n_comment varchar(152) NOT NULL",
        key: "n_nationkey",
        parts: 1,
        source: Source::Nation,
    },
    Table {
        name: "supplier",
        columns: "s_suppkey integer NOT NULL, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL, s_nationkey integer NOT NULL, \
                  s_phone char(15) NOT NULL, s_acctbal numeric(15,2) NOT NULL, s_comment varchar(101) NOT NULL",
        key: "s_suppkey",
        parts: 1,
        source: Source::Supplier,
    },
    Table {
        name: "customer",
        columns: "c_custkey integer NOT NULL, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL, c_nationkey integer NOT NULL, \
                  c_phone char(15) NOT NULL, c_acctbal numeric(15,2) NOT NULL, c_mktsegment char(10) NOT NULL, c_comment varchar(117) NOT NULL",
        key: "c_custkey",
        parts: 2,
        source: Source::Customer,
    },
    Table {
        name: "part",
        columns: "p_partkey integer NOT NULL, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL, p_brand char(10) NOT NULL, \
                  p_type varchar(25) NOT NULL, p_size integer NOT NULL, p_container char(10) NOT NULL, \
                  p_retailprice numeric(15,2) NOT NULL, p_comment varchar(23) NOT NULL",
        key: "p_partkey",
        parts: 2,
        source: Source::Part,
    },
    Table {
        name: "partsupp",
        columns: "ps_partkey integer NOT NULL, ps_suppkey integer NOT NULL, ps_availqty integer NOT NULL, \
                  ps_supplycost numeric(15,2) NOT NULL, ps_comment varchar(199) NOT NULL",
        key: "ps_partkey, ps_suppkey",
        parts: 4,
        source: Source::PartSupp,
    },
    Table {
        name: "orders",
        columns: "o_orderkey bigint NOT NULL, o_custkey integer NOT NULL, o_orderstatus char(1) NOT NULL, o_totalprice numeric(15,2) NOT NULL, \
                  o_orderdate date NOT NULL, o_orderpriority char(15) NOT NULL, o_clerk char(15) NOT NULL, o_shippriority integer NOT NULL, \
                  o_comment varchar(79) NOT NULL",
        key: "o_orderkey",
        parts: 8,
        source: Source::Orders,
    },
    Table {
        name: "lineitem",
        columns: "l_orderkey bigint NOT NULL, l_partkey integer NOT NULL, l_suppkey integer NOT NULL, l_linenumber integer NOT NULL, \
                  l_quantity numeric(15,2) NOT NULL, l_extendedprice numeric(15,2) NOT NULL, l_discount numeric(15,2) NOT NULL, \
                  l_tax numeric(15,2) NOT NULL, l_returnflag char(1) NOT NULL, l_linestatus char(1) NOT NULL, l_shipdate date NOT NULL, \
                  l_commitdate date NOT NULL, l_receiptdate date NOT NULL, l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL, \
                  l_comment varchar(44) NOT NULL",
        key: "l_orderkey, l_linenumber",
        parts: 32,
        source: Source::LineItem,
    },
];

impl Table {
    pub fn create(&self) -> String {
        format!("CREATE TABLE {} ({})", self.name, self.columns)
    }

    pub fn add_key(&self) -> String {
        format!("ALTER TABLE {} ADD PRIMARY KEY ({})", self.name, self.key)
    }

    /// Gives the rows of one part, from 1 on, to a sink.
    pub fn rows<E>(
        &self,
        scale: f64,
        part: i32,
        sink: &mut impl FnMut(Line<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        macro_rules! each {
            ($generator:ident, $line:ident) => {
                $generator::new(scale, part, self.parts).iter().try_for_each(|row| sink(Line::$line(row)))
            };
        }
        match self.source {
            Source::Region => each!(RegionGenerator, Region),
            Source::Nation => each!(NationGenerator, Nation),
            Source::Supplier => each!(SupplierGenerator, Supplier),
            Source::Customer => each!(CustomerGenerator, Customer),
            Source::Part => each!(PartGenerator, Part),
            Source::PartSupp => each!(PartSuppGenerator, PartSupp),
            Source::Orders => each!(OrderGenerator, Orders),
            Source::LineItem => each!(LineItemGenerator, LineItem),
        }
    }
}

/// A row of some table.
#[derive(Debug)]
pub(super) enum Line<'r> {
    Region(Region<'r>),
    Nation(Nation<'r>),
    Supplier(Supplier),
    Customer(Customer<'r>),
    Part(Part<'r>),
    PartSupp(PartSupp<'r>),
    Orders(Order<'r>),
    LineItem(LineItem<'r>),
}

/// Keys of the scales that the tables are made for fit 32 bits, those of orders excepted.
fn key(number: i64) -> Value {
    Value::Int4(i32::try_from(number).unwrap_or(i32::MAX))
}

fn money(amount: TPCHDecimal) -> Value {
    Value::Numeric(Decimal::from_scaled_i64(amount.into_inner(), 2))
}

fn day(date: TPCHDate) -> Value {
    Value::Date(date.to_unix_epoch() - DAYS_1970_TO_2000)
}

fn text(text: &str) -> Value {
    Value::text(text)
}

fn shown(shown: impl std::fmt::Display) -> Value {
    Value::text(&shown.to_string())
}

impl Line<'_> {
    /// Its values, in the order of the columns.
    pub fn values(&self) -> Vec<Value> {
        match self {
            Line::Region(row) => vec![key(row.r_regionkey), text(row.r_name), text(row.r_comment)],
            Line::Nation(row) => {
                vec![key(row.n_nationkey), text(row.n_name), key(row.n_regionkey), text(row.n_comment)]
            }
            Line::Supplier(row) => vec![
                key(row.s_suppkey),
                shown(row.s_name),
                shown(&row.s_address),
                key(row.s_nationkey),
                shown(&row.s_phone),
                money(row.s_acctbal),
                text(&row.s_comment),
            ],
            Line::Customer(row) => vec![
                key(row.c_custkey),
                shown(row.c_name),
                shown(&row.c_address),
                key(row.c_nationkey),
                shown(&row.c_phone),
                money(row.c_acctbal),
                text(row.c_mktsegment),
                text(row.c_comment),
            ],
            Line::Part(row) => vec![
                key(row.p_partkey),
                shown(&row.p_name),
                shown(row.p_mfgr),
                shown(row.p_brand),
                text(row.p_type),
                Value::Int4(row.p_size),
                text(row.p_container),
                money(row.p_retailprice),
                text(row.p_comment),
            ],
            Line::PartSupp(row) => vec![
                key(row.ps_partkey),
                key(row.ps_suppkey),
                Value::Int4(row.ps_availqty),
                money(row.ps_supplycost),
                text(row.ps_comment),
            ],
            Line::Orders(row) => vec![
                Value::Int8(row.o_orderkey),
                key(row.o_custkey),
                text(row.o_orderstatus.as_str()),
                money(row.o_totalprice),
                day(row.o_orderdate),
                text(row.o_orderpriority),
                shown(row.o_clerk),
                Value::Int4(row.o_shippriority),
                text(row.o_comment),
            ],
            Line::LineItem(row) => vec![
                Value::Int8(row.l_orderkey),
                key(row.l_partkey),
                key(row.l_suppkey),
                Value::Int4(row.l_linenumber),
                Value::Numeric(Decimal::from_scaled_i64(row.l_quantity, 0)),
                money(row.l_extendedprice),
                money(row.l_discount),
                money(row.l_tax),
                text(row.l_returnflag),
                text(row.l_linestatus),
                day(row.l_shipdate),
                day(row.l_commitdate),
                day(row.l_receiptdate),
                text(row.l_shipinstruct),
                text(row.l_shipmode),
                text(row.l_comment),
            ],
        }
    }

    /// Appends it as a line of a CSV file, which peers read.
    pub fn csv(self, out: &mut String) {
        // Writing to a string cannot fail.
        let _ = match self {
            Line::Region(row) => writeln!(out, "{}", RegionCsv::new(row)),
            Line::Nation(row) => writeln!(out, "{}", NationCsv::new(row)),
            Line::Supplier(row) => writeln!(out, "{}", SupplierCsv::new(row)),
            Line::Customer(row) => writeln!(out, "{}", CustomerCsv::new(row)),
            Line::Part(row) => writeln!(out, "{}", PartCsv::new(row)),
            Line::PartSupp(row) => writeln!(out, "{}", PartSuppCsv::new(row)),
            Line::Orders(row) => writeln!(out, "{}", OrderCsv::new(row)),
            Line::LineItem(row) => writeln!(out, "{}", LineItemCsv::new(row)),
        };
    }
}
