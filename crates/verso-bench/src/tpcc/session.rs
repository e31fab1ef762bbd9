//! What the transactions ask of a database, however it is reached.
//!
//! A statement is prepared once in each session and known by its name ([`Sql`]); parameters and results are values, so that the
//! same transactions run over the wire and in the process.

use versodb::Value;

use super::procedures::Call;
use super::rows::{Row, Sink};
use crate::BenchError;

/// Why a statement failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The SQLSTATE; empty where the connection broke.
    pub sqlstate: String,
    /// The server's words.
    pub message: String,
}

impl Failure {
    /// May the transaction succeed when it begins again? Serialization failures and deadlocks.
    pub fn is_transient(&self) -> bool {
        matches!(self.sqlstate.as_str(), "40001" | "40P01")
    }
}

/// One connection with its prepared statements.
pub(crate) trait Session: Send {
    /// Runs a statement and gives its rows.
    fn run(&mut self, sql: Sql, parameters: &[Value]) -> Result<Vec<Row>, Failure>;

    /// Calls a procedure, in a transaction of its own, and gives what comes out of it.
    fn call(&mut self, call: Call, parameters: &[Value]) -> Result<Vec<Row>, Failure>;

    /// BEGIN, COMMIT or ROLLBACK.
    fn control(&mut self, sql: &'static str) -> Result<(), Failure>;
}

/// A connection for texts that are not prepared.
pub(crate) trait Console: Send {
    /// Runs a text, and gives its first row as text; none for a statement without rows.
    fn row(&mut self, sql: &str) -> Result<Vec<String>, BenchError>;
}

/// Makes rows and gives them to the sink that it is called with.
pub(crate) type Fill<'f> = &'f mut dyn FnMut(Sink<'_, BenchError>) -> Result<(), BenchError>;

/// A way to a database.
pub(crate) trait Target: Sync {
    /// Its connections.
    type Session: Session;

    /// The engine's name in errors and tables.
    fn name(&self) -> &str;

    /// A connection with all statements prepared, or with all calls of `procedures`.
    fn connect(&self, procedures: bool) -> Result<Self::Session, BenchError>;

    /// A connection for texts that are not prepared.
    fn console(&self) -> Result<Box<dyn Console>, BenchError>;

    /// Runs a text on a connection of its own, and gives the first column of its first row as a number, if it has one.
    fn script(&self, sql: &str) -> Result<Option<i64>, BenchError> {
        let row = self.console()?.row(sql)?;
        Ok(row.first().and_then(|text| text.parse().ok()))
    }

    /// Fills tables: `fill` hands over rows of any tables in any order.
    fn load(&self, fill: Fill<'_>) -> Result<(), BenchError>;

    /// Processor time of the server so far, in nanoseconds; none where it is not a process of ours.
    fn server_nanos(&self) -> Option<u64>;
}

/// What a connection prepares.
pub(super) fn texts(procedures: bool) -> &'static [&'static str] {
    if procedures { Call::TEXTS } else { Sql::TEXTS }
}

macro_rules! statements {
    ($($name:ident $sql:literal)*) => {
        /// A statement of the transactions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Sql { $(#[doc = $sql] $name,)* }

        impl Sql {
            /// The texts, in the order of the names.
            pub const TEXTS: &[&str] = &[$($sql,)*];
        }
    };
}

statements! {
    // ── new order ──
    WarehouseTax "SELECT w_tax FROM warehouse WHERE w_id = $1"
    NextOrder "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2 RETURNING d_next_o_id - 1, d_tax"
    Discount "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3"
    InsertOrder "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) VALUES ($1, $2, $3, $4, $5, NULL, $6, $7)"
    InsertNewOrder "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)"
    Item "SELECT i_price, i_name, i_data FROM item WHERE i_id = $1"
    TakeStock "UPDATE stock SET s_quantity = CASE WHEN s_quantity >= $3 + 10 THEN s_quantity - $3 ELSE s_quantity - $3 + 91 END, s_ytd = s_ytd + $3, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $4 WHERE s_w_id = $1 AND s_i_id = $2 RETURNING s_quantity, s_data, CASE $5::integer WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END"
    InsertLine "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9)"
    // ── payment ──
    PayWarehouse "UPDATE warehouse SET w_ytd = w_ytd + $2 WHERE w_id = $1 RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip"
    PayDistrict "UPDATE district SET d_ytd = d_ytd + $3 WHERE d_w_id = $1 AND d_id = $2 RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip"
    CustomersByName "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first"
    PayCustomer "UPDATE customer SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 RETURNING c_credit, c_data, c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount"
    CustomerData "UPDATE customer SET c_data = $4 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3"
    InsertHistory "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
    // ── order status ──
    CustomerStatus "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3"
    LastOrder "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1"
    LinesOf "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3"
    // ── delivery ──
    OldestNewOrder "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1"
    DeleteNewOrder "DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3 RETURNING no_o_id"
    Carry "UPDATE orders SET o_carrier_id = $4 WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3 RETURNING o_c_id"
    DeliverLines "UPDATE order_line SET ol_delivery_d = $4 WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3"
    AmountOf "SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3"
    DeliverCustomer "UPDATE customer SET c_balance = c_balance + $4, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3"
    // ── stock level ──
    NextOrderNumber "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2"
    LowStock "SELECT count(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id < $3 AND ol_o_id >= $3 - 20 AND s_w_id = $1 AND s_i_id = ol_i_id AND s_quantity < $4"
}
