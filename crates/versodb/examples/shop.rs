//! The programs of the guide's page on embedding: `cargo run -p versodb --example shop`.
//!
//! A test compares them with the guide.

use std::path::Path;

use versodb::{Connection, Database, Error, Options, TxOptions, params};

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
    let found: Option<versodb::Decimal> = price.query_row(&params![2], |row| row.get(0))?;
    assert!(found.is_some());

    // A thousand rows at a time.
    let mut appender = connection.appender("item", &[])?;
    appender.append(params![5, "water", "1.00"])?;
    appender.finish()?;
    Ok(())
}

fn main() -> Result<(), Error> {
    run(Path::new("."))
}
