//! TPC-C's nine tables (specification, clause 1.3), their keys, and the two indexes that its look-ups need.

/// Names of the tables, in the order in which they are filled.
pub(super) const TABLES: [&str; 9] =
    ["item", "warehouse", "stock", "district", "customer", "history", "orders", "order_line", "new_order"];

/// The tables, without keys: rows are loaded first.
pub(super) const CREATE: &str = "
CREATE TABLE item (
    i_id integer NOT NULL, i_im_id integer, i_name varchar(24), i_price numeric(5,2), i_data varchar(50));
CREATE TABLE warehouse (
    w_id integer NOT NULL, w_name varchar(10), w_street_1 varchar(20), w_street_2 varchar(20), w_city varchar(20),
    w_state char(2), w_zip char(9), w_tax numeric(4,4), w_ytd numeric(12,2));
CREATE TABLE stock (
    s_i_id integer NOT NULL, s_w_id integer NOT NULL, s_quantity integer,
    s_dist_01 char(24), s_dist_02 char(24), s_dist_03 char(24), s_dist_04 char(24), s_dist_05 char(24),
    s_dist_06 char(24), s_dist_07 char(24), s_dist_08 char(24), s_dist_09 char(24), s_dist_10 char(24),
    s_ytd integer, s_order_cnt integer, s_remote_cnt integer, s_data varchar(50));
CREATE TABLE district (
    d_id integer NOT NULL, d_w_id integer NOT NULL, d_name varchar(10), d_street_1 varchar(20), d_street_2 varchar(20),
    d_city varchar(20), d_state char(2), d_zip char(9), d_tax numeric(4,4), d_ytd numeric(12,2), d_next_o_id integer);
CREATE TABLE customer (
    c_id integer NOT NULL, c_d_id integer NOT NULL, c_w_id integer NOT NULL, c_first varchar(16), c_middle char(2),
    c_last varchar(16), c_street_1 varchar(20), c_street_2 varchar(20), c_city varchar(20), c_state char(2),
    c_zip char(9), c_phone char(16), c_since timestamp, c_credit char(2), c_credit_lim numeric(12,2),
    c_discount numeric(4,4), c_balance numeric(12,2), c_ytd_payment numeric(12,2), c_payment_cnt integer,
    c_delivery_cnt integer, c_data varchar(500));
CREATE TABLE history (
    h_c_id integer, h_c_d_id integer, h_c_w_id integer, h_d_id integer, h_w_id integer, h_date timestamp,
    h_amount numeric(6,2), h_data varchar(24));
CREATE TABLE orders (
    o_id integer NOT NULL, o_d_id integer NOT NULL, o_w_id integer NOT NULL, o_c_id integer, o_entry_d timestamp,
    o_carrier_id integer, o_ol_cnt integer, o_all_local integer);
CREATE TABLE order_line (
    ol_o_id integer NOT NULL, ol_d_id integer NOT NULL, ol_w_id integer NOT NULL, ol_number integer NOT NULL,
    ol_i_id integer, ol_supply_w_id integer, ol_delivery_d timestamp, ol_quantity integer, ol_amount numeric(6,2),
    ol_dist_info char(24));
CREATE TABLE new_order (no_o_id integer NOT NULL, no_d_id integer NOT NULL, no_w_id integer NOT NULL);
";

/// Keys and indexes, made when the rows are there.
pub(super) const KEYS: [&str; 10] = [
    "ALTER TABLE item ADD PRIMARY KEY (i_id)",
    "ALTER TABLE warehouse ADD PRIMARY KEY (w_id)",
    "ALTER TABLE stock ADD PRIMARY KEY (s_w_id, s_i_id)",
    "ALTER TABLE district ADD PRIMARY KEY (d_w_id, d_id)",
    "ALTER TABLE customer ADD PRIMARY KEY (c_w_id, c_d_id, c_id)",
    "ALTER TABLE orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id)",
    "ALTER TABLE order_line ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    "ALTER TABLE new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
    "CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first)",
    "CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
];

/// The statement that takes the tables of an earlier run away.
pub(super) fn drop_tables() -> String {
    format!("DROP TABLE IF EXISTS {}", TABLES.join(", "))
}
