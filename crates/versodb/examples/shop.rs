//! The programs of the guide's page on embedding: `cargo run -p versodb --example shop`.
//!
//! A test compares them with the guide.

use std::path::Path;
use std::sync::Mutex;

use versodb::{
    Connection, Database, Decimal, Error, FromValue, Isolation, Options, Row, ToValue, Transaction,
    TxOptions, Value, params,
};

/// Makes a shop in this folder.
pub fn run(folder: &Path) -> Result<(), Error> {
    let database =
        Database::open_or_create(folder.join("shop.verso"), Options::new().buffer_pool(256 << 20))?;
    let mut connection = database.connect()?;
    connection.execute("CREATE TABLE IF NOT EXISTS item (id integer, name text, price numeric(10,2))")?;
    connection.execute_with("INSERT INTO item VALUES ($1, $2, $3::numeric)", &params![1, "tea", "3.50"])?;

    for row in connection.query("SELECT name, price * 2 AS pair FROM item")? {
        let name: String = row.get("name")?;
        println!("two of {name} cost {}", row.text("pair"));
    }

    let mut transaction = connection.transaction(TxOptions::new())?;
    transaction.execute("UPDATE item SET price = price * 1.1")?;
    transaction.commit()?;

    fill(&mut connection)?;
    more(&database, &mut connection)?;
    drop(connection);
    database.close()
}

/// Executes statements many times.
fn fill(connection: &mut Connection) -> Result<(), Error> {
    // Parsed and planned once.
    let insert = connection.prepare("INSERT INTO item VALUES ($1, $2, $3)")?;
    insert.execute(&params![2, "coffee", "4.20"])?;
    // One statement: all of it happens or nothing.
    insert.execute_batch([params![3, "cake", "2.95"], params![4, "juice", "3.10"]])?;

    let price = connection.prepare("SELECT price FROM item WHERE id = $1")?;
    let found: Option<Decimal> = price.query_row(&params![2], |row| row.get(0))?;
    assert!(found.is_some());

    // A thousand rows at a time.
    let mut appender = connection.appender("item", &[])?;
    appender.append(params![5, "water", "1.00"])?;
    appender.finish()?;
    Ok(())
}

/// The other examples of the guide.
fn more(database: &Database, connection: &mut Connection) -> Result<(), Error> {
    for item in below(connection, Decimal::from(4))? {
        println!("{} {} {:?}", item.id, item.name.0, item.price);
    }
    salted(connection)?;
    again(connection, |transaction| transaction.execute("DELETE FROM item WHERE id = 6").map(drop))?;
    assert!(is_cancelled(connection));
    let pool = Pool { database: database.clone(), idle: Mutex::default() };
    let count = pool.with(|connection| {
        let rows = connection.query("SELECT count(*) FROM item")?.into_rows();
        rows[0].get::<i64>(0)
    })?;
    assert!(count >= 5);
    Ok(())
}

/// A type of the program that is a parameter and a column of SQL.
struct Name(String);

impl ToValue for Name {
    fn to_value(&self) -> Value {
        self.0.to_value()
    }
}

impl FromValue for Name {
    fn from_value(value: &Value) -> Option<Name> {
        String::from_value(value).map(Name)
    }
}

/// A row of `item`.
struct Item {
    id: i32,
    name: Name,
    price: Option<Decimal>,
}

impl TryFrom<&Row> for Item {
    type Error = Error;

    fn try_from(row: &Row) -> Result<Item, Error> {
        Ok(Item { id: row.get("id")?, name: row.get("name")?, price: row.get("price")? })
    }
}

/// The items below a price.
fn below(connection: &mut Connection, price: Decimal) -> Result<Vec<Item>, Error> {
    let query = "SELECT id, name, price FROM item WHERE price < $1 AND name <> $2 ORDER BY id";
    let rows = connection.query_with(query, &params![price, Name("salt".to_string())])?;
    rows.map(|row| Item::try_from(&row)).collect()
}

/// Adds an item, whatever has failed before it in the transaction.
fn salted(connection: &mut Connection) -> Result<(), Error> {
    let mut transaction = connection.transaction(TxOptions::new())?;
    transaction.savepoint("before")?;
    if let Err(error) = transaction.execute("INSERT INTO item VALUES (6, 'salt', 'cheap')") {
        assert_eq!(error.sqlstate, "22P02");
        transaction.rollback_to("before")?;
    }
    transaction.execute("INSERT INTO item VALUES (6, 'salt', 0.5)")?;
    transaction.commit()
}

/// Runs a transaction until no other one is in its way.
fn again(
    connection: &mut Connection,
    work: impl Fn(&mut Transaction<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    loop {
        let options = TxOptions::new().isolation(Isolation::Serializable);
        let mut transaction = connection.transaction(options)?;
        match work(&mut transaction).and_then(|()| transaction.commit()) {
            Err(error) if matches!(error.sqlstate, "40001" | "40P01") => {}
            done => return done,
        }
    }
}

/// Ends a statement from another thread.
fn is_cancelled(connection: &mut Connection) -> bool {
    let handle = connection.cancel_handle();
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| connection.execute("SELECT pg_sleep(60)"));
        // Nothing happens as long as the statement has not begun.
        while !slow.is_finished() {
            handle.cancel();
            std::thread::yield_now();
        }
        matches!(slow.join(), Ok(Err(error)) if error.sqlstate == "57014")
    })
}

/// Connections for the threads of a program: made when they are needed, and kept for the next thread.
struct Pool {
    database: Database,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    fn with<T>(&self, work: impl FnOnce(&mut Connection) -> Result<T, Error>) -> Result<T, Error> {
        let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        let mut connection = idle.map_or_else(|| self.database.connect(), Ok)?;
        let result = work(&mut connection);
        // Settings, temporary tables and an open transaction are not for the next one.
        let is_clean = !connection.in_transaction() && connection.execute("DISCARD ALL").is_ok();
        if let (true, Ok(mut idle)) = (is_clean, self.idle.lock()) {
            idle.push(connection);
        }
        result
    }
}

fn main() -> Result<(), Error> {
    run(Path::new("."))
}
