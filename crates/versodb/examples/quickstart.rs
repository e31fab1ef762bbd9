//! The library in one page: `cargo run -p versodb --example quickstart`.

use versodb::{Database, Error, Options, TxOptions, params};

fn main() -> Result<(), Error> {
    let path = std::env::temp_dir().join(format!("quickstart-{}.verso", std::process::id()));
    let answer = run(&path);
    // The database is a file and a folder with its log.
    let _ = std::fs::remove_file(&path);
    answer.map(drop)
}

/// Runs the example with a database at `path` and gives what is left in stock.
pub fn run(path: &std::path::Path) -> Result<i64, Error> {
    let database = Database::create(path, Options::new().buffer_pool(64 << 20))?;
    let mut connection = database.connect()?;

    // Statements outside of a transaction commit by themselves.
    connection.execute(
        "CREATE SEQUENCE item_id;
         CREATE TABLE item (id integer, name varchar(40) NOT NULL, stock integer, price numeric(10,2))",
    )?;
    for (name, stock, price) in [("tea", 10, "3.50"), ("coffee", 20, "4.20"), ("cake", 5, "2.95")] {
        connection.execute_with(
            "INSERT INTO item VALUES (nextval('item_id'), $1, $2, $3::numeric)",
            &params![name, stock, price],
        )?;
    }

    // Several statements as one.
    let mut sale = connection.transaction(TxOptions::new())?;
    let sold = sale.execute_with("UPDATE item SET stock = stock - $1 WHERE name = $2", &params![3, "tea"])?;
    assert_eq!(sold, 1);
    sale.savepoint("before_gift")?;
    sale.execute("UPDATE item SET price = 0")?;
    sale.rollback_to("before_gift")?;
    sale.commit()?;

    // Rows.
    println!("{:<10} {:>6} {:>8}", "name", "stock", "price");
    for row in connection.query("SELECT name, stock, price FROM item WHERE price > 3 ORDER BY price")? {
        let (name, stock): (String, i32) = (row.get("name")?, row.get("stock")?);
        println!("{name:<10} {stock:>6} {:>8}", row.text("price"));
    }

    // Columns, as Arrow has them.
    for batch in connection.query_arrow("SELECT stock, price FROM item")? {
        println!("{} rows of {} columns", batch.num_rows(), batch.num_columns());
    }

    // A transaction that keeps no undo: cheap for bulk changes, and gone with the first error.
    let mut bulk = connection.transaction(TxOptions::new().no_savepoint())?;
    bulk.execute("UPDATE item SET stock = stock * 2")?;
    let error = bulk.execute("UPDATE item SET stock = stock / 0").expect_err("division by zero");
    println!("{} {}", error.sqlstate, error.message);
    bulk.rollback()?;

    let rows = connection.query("SELECT sum(stock) FROM item")?.into_rows();
    let left = rows[0].get(0)?;
    println!("{left} left");
    drop(connection);
    database.close()?;
    Ok(left)
}
