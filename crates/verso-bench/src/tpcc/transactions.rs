//! The five transactions (specification, clauses 2.4 to 2.8), statement by statement.
//!
//! A terminal first draws what a transaction is about ([`Input`]); then either statements do it, or one call of a procedure
//! ([`super::procedures`]).
//!
//! T1. A transaction that ends in an error is rolled back before it is told; the caller may begin it again.
//! T2. What the terminal would show is read and dropped: the reads are part of the work.

use versodb::{Decimal, Value};

use super::procedures::Call;
use super::random::{ITEMS, Random};
use super::rows::{DISTRICTS, Row, money};
use super::session::{Failure, Session, Sql};

/// The kinds of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    pub const ALL: [Kind; 5] =
        [Kind::NewOrder, Kind::Payment, Kind::OrderStatus, Kind::Delivery, Kind::StockLevel];

    /// As in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Kind::NewOrder => "new_order",
            Kind::Payment => "payment",
            Kind::OrderStatus => "order_status",
            Kind::Delivery => "delivery",
            Kind::StockLevel => "stock_level",
        }
    }

    /// Drawn by the shares of clause 5.2.3, new orders getting what the minimums of the others leave.
    pub fn draw(random: &mut Random) -> Kind {
        match random.between(1, 100) {
            1..=45 => Kind::NewOrder,
            46..=88 => Kind::Payment,
            89..=92 => Kind::OrderStatus,
            93..=96 => Kind::Delivery,
            _ => Kind::StockLevel,
        }
    }

    /// Seconds of typing, and the mean of the seconds of thinking (clause 5.2.5.7).
    pub fn pacing(self) -> (f64, f64) {
        match self {
            Kind::NewOrder => (18.0, 12.0),
            Kind::Payment => (3.0, 12.0),
            Kind::OrderStatus => (2.0, 10.0),
            Kind::Delivery | Kind::StockLevel => (2.0, 5.0),
        }
    }
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Its changes are there.
    Committed,
    /// The hundredth new order names an item that does not exist and is rolled back (clause 2.4.1.4).
    RolledBack,
}

/// A customer, as people name themselves.
enum Customer {
    Number(u32),
    /// The one in the middle of those with this last name.
    Named(String),
}

/// What a transaction is about.
enum Input {
    NewOrder {
        district: u32,
        customer: u32,
        /// Item, its warehouse, quantity; in the order of the items, so that no two orders wait for each other in a circle.
        lines: Vec<(u32, u32, u32)>,
    },
    Payment {
        district: u32,
        /// In cents.
        amount: i64,
        of_warehouse: u32,
        of_district: u32,
        customer: Customer,
    },
    OrderStatus {
        district: u32,
        customer: Customer,
    },
    Delivery {
        carrier: u32,
    },
    StockLevel {
        threshold: u32,
    },
}

/// Where a terminal stands, and what it draws from.
pub(super) struct Terminal {
    pub warehouses: u32,
    pub warehouse: u32,
    pub district: u32,
    pub random: Random,
}

fn int(number: u32) -> Value {
    Value::Int4(number.cast_signed())
}

/// What a statement that must find a row did not find.
fn missing(what: &str) -> Failure {
    Failure {
        sqlstate: String::new(),
        message: format!("{what} is missing, or has another type than expected"),
    }
}

fn only(rows: Vec<Row>, what: &str) -> Result<Row, Failure> {
    rows.into_iter().next().ok_or_else(|| missing(what))
}

fn number(row: &Row, at: usize, what: &str) -> Result<u32, Failure> {
    match row.get(at) {
        Some(Value::Int4(number)) => u32::try_from(*number).map_err(|_| missing(what)),
        _ => Err(missing(what)),
    }
}

/// An amount in cents.
fn cents(row: &Row, at: usize, what: &str) -> Result<i64, Failure> {
    let Some(Value::Numeric(amount)) = row.get(at) else { return Err(missing(what)) };
    let scaled: Result<Decimal, _> = amount.rescale(2);
    scaled.ok().and_then(|scaled| i64::try_from(scaled.unscaled()).ok()).ok_or_else(|| missing(what))
}

impl Terminal {
    /// Runs one transaction, as a call of its procedure or statement by statement. `now` is in microseconds since 2000.
    pub fn run<S: Session>(
        &mut self,
        session: &mut S,
        kind: Kind,
        procedures: bool,
        now: i64,
    ) -> Result<Outcome, Failure> {
        let input = self.draw(kind);
        if procedures {
            return self.call(session, input, now);
        }
        session.control("BEGIN")?;
        let ended = match input {
            Input::NewOrder { district, customer, lines } => {
                self.new_order(session, district, customer, lines, now)
            }
            Input::Payment { district, amount, of_warehouse, of_district, customer } => {
                let of = (of_warehouse, of_district, customer);
                self.payment(session, district, money(amount), of, now)
            }
            Input::OrderStatus { district, customer } => self.order_status(session, district, customer),
            Input::Delivery { carrier } => self.delivery(session, carrier, now),
            Input::StockLevel { threshold } => self.stock_level(session, threshold),
        };
        match ended {
            Ok(Outcome::Committed) => session.control("COMMIT").map(|()| Outcome::Committed),
            Ok(Outcome::RolledBack) => session.control("ROLLBACK").map(|()| Outcome::RolledBack),
            Err(failure) => {
                // T1. Where the connection is gone the first error says more than that of the rollback.
                let _ = session.control("ROLLBACK");
                Err(failure)
            }
        }
    }

    fn draw(&mut self, kind: Kind) -> Input {
        let warehouse = self.warehouse;
        match kind {
            Kind::NewOrder => {
                let district = self.random.between(1, DISTRICTS);
                let customer = self.random.customer();
                let fails = self.random.percent(1);
                let count = self.random.between(5, 15);
                let mut lines: Vec<(u32, u32, u32)> = Vec::with_capacity(count as usize);
                for line in 1..=count {
                    let item = if fails && line == count { ITEMS + 1 } else { self.random.item() };
                    let remote = self.warehouses > 1 && self.random.percent(1);
                    let supplier = if remote { self.other_warehouse() } else { warehouse };
                    lines.push((item, supplier, self.random.between(1, 10)));
                }
                lines.sort_unstable_by_key(|&(item, supplier, _)| (supplier, item));
                Input::NewOrder { district, customer, lines }
            }
            Kind::Payment => {
                let district = self.random.between(1, DISTRICTS);
                let amount = self.random.between(100, 500_000).into();
                let (of_warehouse, of_district) = match self.warehouses > 1 && self.random.percent(15) {
                    true => (self.other_warehouse(), self.random.between(1, DISTRICTS)),
                    false => (warehouse, district),
                };
                let customer = self.customer();
                Input::Payment { district, amount, of_warehouse, of_district, customer }
            }
            Kind::OrderStatus => {
                let district = self.random.between(1, DISTRICTS);
                Input::OrderStatus { district, customer: self.customer() }
            }
            Kind::Delivery => Input::Delivery { carrier: self.random.between(1, 10) },
            Kind::StockLevel => Input::StockLevel { threshold: self.random.between(10, 20) },
        }
    }

    /// By last name in 60 of 100 cases.
    fn customer(&mut self) -> Customer {
        match self.random.percent(60) {
            true => Customer::Named(self.random.last_name()),
            false => Customer::Number(self.random.customer()),
        }
    }

    /// Another warehouse than one's own, where there is one.
    fn other_warehouse(&mut self) -> u32 {
        let drawn = self.random.between(1, self.warehouses - 1);
        if drawn >= self.warehouse { drawn + 1 } else { drawn }
    }

    /// Has the procedure do it.
    fn call<S: Session>(&self, session: &mut S, input: Input, now: i64) -> Result<Outcome, Failure> {
        let (warehouse, at) = (int(self.warehouse), Value::Timestamp(now));
        let who = |customer: Customer| match customer {
            Customer::Number(number) => [int(number), Value::Null],
            Customer::Named(name) => [Value::Null, Value::text(&name)],
        };
        match input {
            Input::NewOrder { district, customer, lines } => {
                let is_local = lines.iter().all(|&(_, supplier, _)| supplier == self.warehouse);
                let each =
                    |(item, supplier, quantity): &(u32, u32, u32)| format!("{item},{supplier},{quantity}");
                let lines: Vec<String> = lines.iter().map(each).collect();
                let lines = Value::text(&format!("{{{}}}", lines.join(",")));
                let values = [
                    warehouse,
                    int(district),
                    int(customer),
                    at,
                    int(u32::from(is_local)),
                    lines,
                    Value::Null,
                ];
                let row = only(session.call(Call::NewOrder, &values)?, "what became of the order")?;
                Ok(match number(&row, 0, "what became of the order")? {
                    0 => Outcome::RolledBack,
                    _ => Outcome::Committed,
                })
            }
            Input::Payment { district, amount, of_warehouse, of_district, customer } => {
                let [customer, name] = who(customer);
                let place = [int(district), int(of_warehouse), int(of_district)];
                let [district, of_warehouse, of_district] = place;
                let values =
                    [warehouse, district, of_warehouse, of_district, customer, name, money(amount), at];
                session.call(Call::Payment, &values).map(|_| Outcome::Committed)
            }
            Input::OrderStatus { district, customer } => {
                let [customer, name] = who(customer);
                let values = [warehouse, int(district), customer, name];
                session.call(Call::OrderStatus, &values).map(|_| Outcome::Committed)
            }
            Input::Delivery { carrier } => {
                session.call(Call::Delivery, &[warehouse, int(carrier), at]).map(|_| Outcome::Committed)
            }
            Input::StockLevel { threshold } => {
                let values = [warehouse, int(self.district), int(threshold), Value::Null];
                session.call(Call::StockLevel, &values).map(|_| Outcome::Committed)
            }
        }
    }

    fn new_order<S: Session>(
        &self,
        session: &mut S,
        district: u32,
        customer: u32,
        lines: Vec<(u32, u32, u32)>,
        now: i64,
    ) -> Result<Outcome, Failure> {
        let (warehouse, count) = (self.warehouse, lines.len() as u32);
        let all_local = lines.iter().all(|&(_, supplier, _)| supplier == warehouse);

        only(session.run(Sql::WarehouseTax, &[int(warehouse)])?, "the warehouse")?;
        let row = only(session.run(Sql::NextOrder, &[int(warehouse), int(district)])?, "the district")?;
        let order = number(&row, 0, "the district's next order")?;
        only(session.run(Sql::Discount, &[int(warehouse), int(district), int(customer)])?, "the customer")?;
        let mut header = [order, district, warehouse, customer].map(int).to_vec();
        header.extend([Value::Timestamp(now), int(count), int(u32::from(all_local))]);
        session.run(Sql::InsertOrder, &header)?;
        session.run(Sql::InsertNewOrder, &[int(order), int(district), int(warehouse)])?;
        let mut places = 1..;
        for (item, supplier, quantity) in lines {
            let Some(row) = session.run(Sql::Item, &[int(item)])?.into_iter().next() else {
                return Ok(Outcome::RolledBack);
            };
            let price = cents(&row, 0, "the item's price")?;
            let remote = u32::from(supplier != warehouse);
            let taken = [supplier, item, quantity, remote, district].map(int);
            let stock = only(session.run(Sql::TakeStock, &taken)?, "the stock")?;
            let place = places.next().unwrap_or_default();
            let mut line = [order, district, warehouse, place, item, supplier, quantity].map(int).to_vec();
            line.extend([money(price * i64::from(quantity)), stock.get(2).cloned().unwrap_or(Value::Null)]);
            session.run(Sql::InsertLine, &line)?;
        }
        Ok(Outcome::Committed)
    }

    /// The customer's number: that of the one in the middle, where a last name was given.
    fn find_customer<S: Session>(
        session: &mut S,
        warehouse: u32,
        district: u32,
        customer: Customer,
    ) -> Result<u32, Failure> {
        let name = match customer {
            Customer::Number(number) => return Ok(number),
            Customer::Named(name) => Value::text(&name),
        };
        let found = session.run(Sql::CustomersByName, &[int(warehouse), int(district), name])?;
        let middle = found.len().div_ceil(2).saturating_sub(1);
        number(found.get(middle).ok_or_else(|| missing("a customer of that name"))?, 0, "a customer's number")
    }

    fn payment<S: Session>(
        &self,
        session: &mut S,
        district: u32,
        amount: Value,
        (of_warehouse, of_district, customer): (u32, u32, Customer),
        now: i64,
    ) -> Result<Outcome, Failure> {
        let warehouse = self.warehouse;
        let row = session.run(Sql::PayWarehouse, &[int(warehouse), amount.clone()])?;
        let paid = only(row, "the warehouse")?;
        let row = session.run(Sql::PayDistrict, &[int(warehouse), int(district), amount.clone()])?;
        let paid_district = only(row, "the district")?;
        let customer = Self::find_customer(session, of_warehouse, of_district, customer)?;
        let key = [int(of_warehouse), int(of_district), int(customer)];
        let row = session.run(Sql::PayCustomer, &[&key[..], std::slice::from_ref(&amount)].concat())?;
        let row = only(row, "the customer")?;
        if let (Some(Value::Text(credit)), Some(Value::Text(data))) = (row.first(), row.get(1))
            && &**credit == "BC"
        {
            // Bad credit: what was paid is written before what is known of the customer, 500 characters at most.
            let Value::Numeric(paid) = &amount else { return Err(missing("the amount")) };
            let mut text =
                format!("{customer} {of_district} {of_warehouse} {district} {warehouse} {paid} {data}");
            text.truncate(500);
            session.run(Sql::CustomerData, &[&key[..], &[Value::text(&text)]].concat())?;
        }
        let mut history = [customer, of_district, of_warehouse, district, warehouse].map(int).to_vec();
        let names: Vec<String> = [&paid, &paid_district]
            .iter()
            .filter_map(|row| row.first().and_then(|name| name.as_str().map(str::to_owned)))
            .collect();
        history.extend([Value::Timestamp(now), amount, Value::text(&names.join("    "))]);
        session.run(Sql::InsertHistory, &history)?;
        Ok(Outcome::Committed)
    }

    fn order_status<S: Session>(
        &self,
        session: &mut S,
        district: u32,
        customer: Customer,
    ) -> Result<Outcome, Failure> {
        let warehouse = self.warehouse;
        let customer = Self::find_customer(session, warehouse, district, customer)?;
        let key = [warehouse, district, customer].map(int);
        only(session.run(Sql::CustomerStatus, &key)?, "the customer")?;
        if let Some(row) = session.run(Sql::LastOrder, &key)?.first() {
            let order = number(row, 0, "the order's number")?;
            session.run(Sql::LinesOf, &[warehouse, district, order].map(int))?;
        }
        Ok(Outcome::Committed)
    }

    fn delivery<S: Session>(&self, session: &mut S, carrier: u32, now: i64) -> Result<Outcome, Failure> {
        for district in 1..=DISTRICTS {
            let place = [self.warehouse, district].map(int);
            // Somebody else may deliver the same order: then the next one is the oldest.
            let order = loop {
                let Some(row) = session.run(Sql::OldestNewOrder, &place)?.into_iter().next() else {
                    break None;
                };
                let order = number(&row, 0, "the new order's number")?;
                let deleted = session.run(Sql::DeleteNewOrder, &[&place[..], &[int(order)]].concat())?;
                if !deleted.is_empty() {
                    break Some(order);
                }
            };
            let Some(order) = order else { continue };
            let key = [self.warehouse, district, order].map(int);
            let carried = session.run(Sql::Carry, &[&key[..], &[int(carrier)]].concat())?;
            let customer = number(&only(carried, "the order")?, 0, "the order's customer")?;
            session.run(Sql::DeliverLines, &[&key[..], &[Value::Timestamp(now)]].concat())?;
            let sum = only(session.run(Sql::AmountOf, &key)?, "the order's amount")?;
            let amount = money(cents(&sum, 0, "the order's amount")?);
            let to = [self.warehouse, district, customer].map(int);
            session.run(Sql::DeliverCustomer, &[&to[..], &[amount]].concat())?;
        }
        Ok(Outcome::Committed)
    }

    fn stock_level<S: Session>(&self, session: &mut S, threshold: u32) -> Result<Outcome, Failure> {
        let place = [self.warehouse, self.district].map(int);
        let row = only(session.run(Sql::NextOrderNumber, &place)?, "the district")?;
        let next = number(&row, 0, "the district's next order")?;
        session.run(Sql::LowStock, &[&place[..], &[int(next), int(threshold)]].concat())?;
        Ok(Outcome::Committed)
    }
}
