//! Prepared statements, batches, the appender.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use versodb::{Statement, TxOptions, Value, params};

use crate::new_database;

#[test]
fn a_statement_keeps_its_plan_and_takes_values_as_they_come() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a bigint, b varchar(5), d date)").unwrap();
    let insert = connection.prepare("INSERT INTO t VALUES ($1, $2, $3)").unwrap();
    assert_eq!(insert.params().len(), 3);
    assert!(insert.columns().is_none());
    assert_eq!(insert.execute(&params![1, "one", "2024-05-06"]).unwrap(), 1);
    assert_eq!(insert.execute(&params![2i64, None::<&str>, None::<&str>]).unwrap(), 1);
    assert_eq!(insert.execute(&params![3, "longer than five", None::<&str>]).unwrap_err().sqlstate, "22001");
    assert_eq!(insert.execute(&params![3]).unwrap_err().sqlstate, "08P01");

    let find = connection.prepare("SELECT b, d FROM t WHERE a = $1").unwrap();
    assert_eq!(&*find.columns().unwrap()[0].name, "b");
    let found =
        find.query_row(&params![1], |row| Ok((row.get::<String>(0)?, row.get::<Value>("d")?))).unwrap();
    assert_eq!(found, Some(("one".to_string(), Value::Date(8892))));
    assert_eq!(find.query_row(&params![9], |row| row.get::<String>(0)).unwrap(), None);
    let error = find.query_row(&params![2], |row| row.get::<String>(0)).unwrap_err();
    assert_eq!(error.sqlstate, "22002");
    let rows = find.query(&params![2]).unwrap().into_rows();
    assert_eq!(rows[0].get::<Option<String>>("b").unwrap(), None);

    // A column more changes nothing for it; another type of a column it shows does.
    connection
        .execute("DROP TABLE t; CREATE TABLE t (a bigint, b text, d date); INSERT INTO t VALUES (1, 'x')")
        .unwrap();
    assert_eq!(find.query(&params![1]).unwrap_err().sqlstate, "0A000");
}

#[test]
fn statements_work_in_their_connections_transaction() {
    let (_directory, database) = new_database();
    let (mut one, mut two) = (database.connect().unwrap(), database.connect().unwrap());
    one.execute("CREATE TABLE t (a integer)").unwrap();
    let insert = one.prepare("INSERT INTO t VALUES ($1)").unwrap();
    let count = two.prepare("SELECT count(*) FROM t").unwrap();
    let counted = |count: &Statement| count.query_row(&[], |row| row.get::<i64>(0)).unwrap();
    let transaction = one.transaction(TxOptions::new()).unwrap();
    insert.execute(&params![1]).unwrap();
    assert_eq!(counted(&count), Some(0));
    transaction.rollback().unwrap();
    assert_eq!(insert.execute_batch((0..10).map(|a| params![a])).unwrap(), 10);
    assert_eq!(insert.execute_batch([params![1], params!["x"]]).unwrap_err().sqlstate, "22P02");
    assert_eq!(counted(&count), Some(10));
    let mut sum = 0;
    let all = two.prepare("SELECT a FROM t").unwrap();
    let rows = all.query_each(&[], |row| {
        sum += row.get::<i32>(0)?;
        Ok(())
    });
    assert_eq!((rows.unwrap(), sum), (10, 45));
}

#[test]
fn values_of_many_rows_see_none_of_them() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a bigint); INSERT INTO t VALUES (7)").unwrap();
    let rows = ["((SELECT count(*) FROM t))"; 3_000].join(", ");
    assert_eq!(connection.execute(&format!("INSERT INTO t VALUES {rows}")).unwrap(), 3_000);
    let rows = connection.query("SELECT min(a), max(a), count(*) FROM t WHERE a <> 7").unwrap().into_rows();
    let row: Vec<i64> = (0..3).map(|at| rows[0].get(at).unwrap()).collect();
    assert_eq!(row, [1, 1, 3_000]);
    // Sets of parameters are executions, one after the other.
    connection.execute("DELETE FROM t").unwrap();
    let insert = connection.prepare("INSERT INTO t SELECT count(*) + $1 FROM t").unwrap();
    assert_eq!(insert.execute_batch((0..3).map(|_| params![0_i64])).unwrap(), 3);
    let insert = connection.prepare("INSERT INTO t VALUES ((SELECT count(*) FROM t) + $1)").unwrap();
    assert_eq!(insert.execute_batch((0..2_000).map(|_| params![0_i64])).unwrap(), 2_000);
    let rows = connection.query("SELECT count(DISTINCT a), max(a) FROM t").unwrap().into_rows();
    let row: Vec<i64> = (0..2).map(|at| rows[0].get(at).unwrap()).collect();
    assert_eq!(row, [2_003, 2_002]);
}

#[test]
fn several_threads_share_a_statement_and_take_turns() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer)").unwrap();
    let insert = connection.prepare("INSERT INTO t VALUES ($1)").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let insert = insert.clone();
            scope.spawn(move || {
                (0..25).for_each(|n| assert_eq!(insert.execute(&params![thread * 25 + n]).unwrap(), 1))
            });
        }
    });
    let rows = connection.query("SELECT count(*), sum(a) FROM t").unwrap().into_rows();
    assert_eq!((rows[0].get::<i64>(0).unwrap(), rows[0].get::<i64>(1).unwrap()), (100, 4950));
}

#[test]
fn the_appender_takes_rows_and_arrow_batches() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a bigint, b text DEFAULT 'none', c double precision)").unwrap();
    let mut appender = connection.appender("t", &["a", "c"]).unwrap();
    for a in 0..3_000 {
        appender.append(params![a, 0.5]).unwrap();
    }
    assert_eq!(appender.finish().unwrap(), 3_000);
    let mut appender = connection.appender("public.t", &[]).unwrap();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![Some(-1), None])),
        Arc::new(StringArray::from(vec!["x", "y"])),
        Arc::new(Float64Array::from(vec![1.5, 2.5])),
    ];
    let batch = RecordBatch::try_from_iter(["a", "b", "c"].into_iter().zip(columns)).unwrap();
    appender.append_arrow(&batch).unwrap();
    drop(appender); // sends what is left
    let sql = "SELECT count(*), count(a), sum(a), sum(c), count(CASE WHEN b = 'none' THEN 1 END) FROM t";
    let row = connection.query(sql).unwrap().into_rows().remove(0);
    let counted: Vec<i64> = [0, 1, 4].iter().map(|at| row.get(*at).unwrap()).collect();
    assert_eq!(counted, [3_002, 3_001, 3_000]);
    assert_eq!((row.text(2), row.text(3)), ("4498499".to_string(), "1504".to_string()));
    assert_eq!(connection.appender("nothing", &["a"]).unwrap_err().sqlstate, "42P01");
}

#[test]
fn a_transaction_that_idles_too_long_gives_up_its_locks() {
    let (_directory, database) = new_database();
    let (mut one, mut two) = (database.connect().unwrap(), database.connect().unwrap());
    one.execute("CREATE TABLE t (a integer); INSERT INTO t VALUES (1)").unwrap();
    one.execute("BEGIN").unwrap();
    one.execute("UPDATE t SET a = 2").unwrap();
    one.execute("SET idle_in_transaction_session_timeout = '20ms'").unwrap();
    two.execute("UPDATE t SET a = 3").unwrap(); // waits until the other one is ended
    assert_eq!(one.execute("COMMIT").unwrap_err().sqlstate, "25P03");
    let rows = two.query("SELECT a FROM t").unwrap().into_rows();
    assert_eq!(rows[0].get::<i32>(0).unwrap(), 3);
}
