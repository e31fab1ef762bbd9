//! Databases, connections, transactions, results.

use versodb::{Database, Isolation, Options, TxOptions, Value, params};

use crate::new_database;

#[test]
fn what_was_committed_is_there_after_reopening() {
    let (directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer, b text)").unwrap();
    assert_eq!(connection.execute("INSERT INTO t VALUES (1, 'one'), (2, NULL)").unwrap(), 2);
    drop(connection);
    database.close().unwrap();

    let path = directory.path().join("test.verso");
    assert!(Database::create(&path, Options::new()).is_err(), "a database is never overwritten");
    let database = Database::open_or_create(&path, Options::new()).unwrap();
    let mut connection = database.connect().unwrap();
    let rows = connection.query("SELECT a, b FROM t ORDER BY a").unwrap().into_rows();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].get::<String>("b").unwrap(), "one");
    assert_eq!(rows[1].get::<Option<String>>("b").unwrap(), None);
    assert_eq!(rows[1].get::<String>("b").unwrap_err().sqlstate, "22002");
}

#[test]
fn a_sequence_goes_on_where_it_was_when_the_database_was_closed() {
    let (directory, mut database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE SEQUENCE few MAXVALUE 4; CREATE SEQUENCE gone").unwrap();
    let path = directory.path().join("test.verso");
    for expected in 1..=4 {
        let rows = connection.query("SELECT nextval('few')").unwrap().into_rows();
        assert_eq!(rows[0].get::<i64>(0).unwrap(), expected);
        if expected == 2 {
            connection.execute("SELECT nextval('gone'); DROP SEQUENCE gone").unwrap();
        }
        drop(connection);
        database.close().unwrap();
        database = Database::open(&path, Options::new()).unwrap();
        connection = database.connect().unwrap();
    }
    assert_eq!(connection.query("SELECT nextval('few')").unwrap_err().sqlstate, "2200H");
}

#[test]
fn a_database_that_is_not_there_is_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    assert!(Database::open(directory.path().join("nothing"), Options::new()).is_err());
}

#[test]
fn pages_of_another_size_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    for bytes in [0, 1000, 65536] {
        let path = directory.path().join("new.verso");
        let refused = Database::create(&path, Options::new().page_size(bytes)).map(drop).unwrap_err();
        assert_eq!(refused.sqlstate, "22023", "{bytes}");
        assert!(!path.exists());
    }
}

#[test]
fn one_process_has_it_open_once() {
    let (directory, database) = new_database();
    let again = Database::open(directory.path().join("test.verso"), Options::new());
    assert!(again.is_err());
    drop(database);
}

#[test]
fn a_dropped_transaction_is_rolled_back() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer)").unwrap();
    {
        let mut transaction = connection.transaction(TxOptions::new()).unwrap();
        transaction.execute("INSERT INTO t VALUES (1)").unwrap();
    }
    assert!(!connection.in_transaction());
    let mut transaction = connection.transaction(TxOptions::new()).unwrap();
    transaction.execute("INSERT INTO t VALUES (2)").unwrap();
    transaction.commit().unwrap();
    let rows = connection.query("SELECT a FROM t").unwrap().into_rows();
    assert_eq!(rows.iter().map(|row| row.get::<i32>(0).unwrap()).collect::<Vec<_>>(), [2]);
}

#[test]
fn committing_a_failed_transaction_is_an_error() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer)").unwrap();
    let mut transaction = connection.transaction(TxOptions::new()).unwrap();
    transaction.execute("INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(transaction.execute("INSERT INTO t VALUES (1 / 0)").unwrap_err().sqlstate, "22012");
    assert_eq!(transaction.execute("SELECT 1").unwrap_err().sqlstate, "25P02");
    assert_eq!(transaction.commit().unwrap_err().sqlstate, "25P02");
    assert!(!connection.in_transaction());
    let rows = connection.query("SELECT count(*) FROM t").unwrap().into_rows();
    assert_eq!(rows[0].get::<i64>(0).unwrap(), 0);
}

#[test]
fn savepoints_are_named_as_given() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer)").unwrap();
    let mut transaction = connection.transaction(TxOptions::new()).unwrap();
    transaction.savepoint("A \"name\"").unwrap();
    transaction.execute("INSERT INTO t VALUES (1)").unwrap();
    transaction.rollback_to("A \"name\"").unwrap();
    transaction.execute("INSERT INTO t VALUES (2)").unwrap();
    transaction.release("A \"name\"").unwrap();
    assert_eq!(transaction.rollback_to("A \"name\"").unwrap_err().sqlstate, "3B001");
    transaction.rollback().unwrap();
}

#[test]
fn transaction_options_reach_the_transaction() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer)").unwrap();
    let mut reading = connection.transaction(TxOptions::new().read_only()).unwrap();
    assert_eq!(reading.execute("INSERT INTO t VALUES (1)").unwrap_err().sqlstate, "25006");
    reading.rollback().unwrap();

    let mut bulk = connection.transaction(TxOptions::new().no_savepoint()).unwrap();
    assert_eq!(bulk.savepoint("s").unwrap_err().sqlstate, "3B000");
    drop(bulk);

    let options = TxOptions::new().isolation(Isolation::Snapshot);
    let mut snapshot = connection.transaction(options).unwrap();
    let rows = snapshot.query("SELECT count(*) FROM t").unwrap().into_rows();
    assert_eq!(rows[0].get::<i64>(0).unwrap(), 0);
    let mut other = database.connect().unwrap();
    other.execute("INSERT INTO t VALUES (1)").unwrap();
    let rows = snapshot.query("SELECT count(*) FROM t").unwrap().into_rows();
    assert_eq!(rows[0].get::<i64>(0).unwrap(), 0, "a snapshot does not move");
    snapshot.commit().unwrap();
}

#[test]
fn parameters_are_values_never_text() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer, b text, c numeric(8,2))").unwrap();
    let evil = "'); DROP TABLE t; --";
    connection.execute_with("INSERT INTO t VALUES ($1, $2, $3::numeric)", &params![1, evil, "2.5"]).unwrap();
    let rows = connection
        .query_with("SELECT b, c, $2 + 1 FROM t WHERE a = $1", &params![1, 41])
        .unwrap()
        .into_rows();
    assert_eq!(rows[0].get::<String>(0).unwrap(), evil);
    assert_eq!(rows[0].text(1), "2.50");
    assert_eq!(rows[0].values()[2], Value::Int4(42));
}

#[test]
fn results_come_as_arrow_batches() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer, b text)").unwrap();
    let empty = connection.query_arrow("SELECT a, b FROM t").unwrap();
    assert_eq!((empty.len(), empty[0].num_rows(), empty[0].num_columns()), (1, 0, 2));
    connection.execute("INSERT INTO t VALUES (1, 'x'), (2, NULL)").unwrap();
    let batches = connection.query_arrow("SELECT a, b FROM t").unwrap();
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 2);
    assert_eq!(batches[0].schema().field(1).name(), "b");
    assert_eq!(batches[0].column(1).null_count(), 1);
}

#[test]
fn an_error_tells_where_and_what_to_do() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    let error = connection.execute("SELECT 1;\nSELECT nothing").unwrap_err();
    assert_eq!(error.sqlstate, "42703");
    assert!(error.position.is_some());
    let error = connection.query("SELECT 1 + true").unwrap_err();
    assert_eq!(error.sqlstate, "42883");
    assert!(error.hint.is_some());
}

#[test]
fn several_connections_work_at_once() {
    let (_directory, database) = new_database();
    database.connect().unwrap().execute("CREATE TABLE t (a integer)").unwrap();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let database = &database;
            scope.spawn(move || {
                let mut connection = database.connect().unwrap();
                for i in 0..25 {
                    connection.execute_with("INSERT INTO t VALUES ($1)", &params![worker * 100 + i]).unwrap();
                }
            });
        }
    });
    let rows = database.connect().unwrap().query("SELECT count(*) FROM t").unwrap().into_rows();
    assert_eq!(rows[0].get::<i64>(0).unwrap(), 100);
}

#[test]
fn statements_are_counted_and_cancelled() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer)").unwrap();
    assert_eq!(connection.query("SHOW STATEMENT STATISTICS").unwrap().into_rows().len(), 0);
    let counted = "SELECT statements::text || ' ' || rows || coalesce(' ' || (fetches > 0), '') FROM verso_session_stats";
    let counts = |connection: &mut versodb::Connection| {
        connection.query(counted).unwrap().into_rows()[0].get::<String>(0).unwrap()
    };
    assert_eq!(counts(&mut connection), "1 0");
    assert_eq!(counts(&mut connection), "2 1");
    connection.execute("SET STAT ON").unwrap();
    connection.execute("INSERT INTO t VALUES (0)").unwrap();
    assert_eq!(counts(&mut connection), "5 3 true");
    connection.execute("INSERT INTO t VALUES (1)").unwrap();
    assert!(connection.statement_statistics().is_some_and(|statistics| statistics.redo_bytes > 0));
    let statistics = connection.statement_statistics().unwrap();
    assert!(
        statistics.commits > 0 && statistics.group_size() >= 1.0 && statistics.fsyncs > 0,
        "{statistics:?}"
    );
}

#[test]
fn autocommit_off_waits_for_commit() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer)").unwrap();
    connection.set_autocommit(false);
    connection.execute("INSERT INTO t VALUES (1)").unwrap();
    assert!(connection.in_transaction());
    let count = |database: &Database| {
        let rows = database.connect().unwrap().query("SELECT count(*) FROM t").unwrap().into_rows();
        rows[0].get::<i64>(0).unwrap()
    };
    assert_eq!(count(&database), 0);
    connection.execute("COMMIT").unwrap();
    assert_eq!(count(&database), 1);
}

#[test]
fn tools_see_markers_and_space() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer)").unwrap();
    let before = database.markers();
    connection.execute("INSERT INTO t VALUES (1)").unwrap();
    assert!(database.markers().next > before.next);
    assert!(database.space().total_pages > 0);
    database.checkpoint().unwrap();
}

#[test]
fn a_transaction_says_whether_it_has_failed() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("BEGIN").unwrap();
    assert!(connection.in_transaction() && !connection.transaction_failed());
    connection.execute("SAVEPOINT s").unwrap();
    connection.query("SELECT 1/0").map(drop).unwrap_err();
    assert!(connection.in_transaction() && connection.transaction_failed());
    connection.execute("ROLLBACK TO s").unwrap();
    assert!(!connection.transaction_failed());
    connection.execute("COMMIT").unwrap();
    assert!(!connection.in_transaction() && !connection.transaction_failed());
}

#[test]
fn settings_of_the_database_outlive_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.verso");
    let shown = |client: &mut versodb::Connection, name: &str| {
        client.query(&format!("SHOW {name}")).unwrap().into_rows()[0].text(0)
    };
    {
        let database = Database::create(&path, Options::new()).unwrap();
        let mut client = database.connect().unwrap();
        let before = shown(&mut client, "sweep_interval");
        for sql in ["SET sweep_interval = 777", "SET auto_backout = off"] {
            client.execute(&format!("ALTER DATABASE {sql}")).unwrap();
        }
        client.execute("ALTER DATABASE SET sweep_interval = 778").unwrap();
        assert_ne!(before, "778");
        // Whatever becomes of the transaction around it.
        client.execute("BEGIN").unwrap();
        client.execute("ALTER DATABASE SET sweep_interval = 779").unwrap();
        client.execute("ROLLBACK").unwrap();
        let refused = client.execute("ALTER DATABASE SET sweep_interval = 'soon'").unwrap_err();
        assert_eq!(refused.sqlstate, "22023");
        drop(client);
        database.close().unwrap();
    }
    let database = Database::open(&path, Options::new()).unwrap();
    let mut client = database.connect().unwrap();
    assert_eq!(shown(&mut client, "sweep_interval"), "779");
    assert_eq!(shown(&mut client, "auto_backout"), "off");
    client.execute("ALTER DATABASE RESET sweep_interval").unwrap();
    let default = shown(&mut client, "sweep_interval");
    drop(client);
    database.close().unwrap();
    let database = Database::open(&path, Options::new()).unwrap();
    let mut client = database.connect().unwrap();
    assert_eq!(shown(&mut client, "sweep_interval"), default);
    assert_eq!(shown(&mut client, "auto_backout"), "off");
}

#[test]
fn a_connection_hears_of_what_others_say() {
    let (_directory, database) = new_database();
    let (mut listener, mut sender) = (database.connect().unwrap(), database.connect().unwrap());
    listener.execute("LISTEN orders").unwrap();
    sender.execute("NOTIFY orders, 'paid'").unwrap();
    // A commit that waits for nothing is told of, too.
    sender.execute("CREATE TABLE t (a int)").unwrap();
    sender.execute("SET synchronous_commit = off").unwrap();
    sender.execute("BEGIN; INSERT INTO t VALUES (1); NOTIFY orders; COMMIT").unwrap();
    let come = listener.notifications();
    let payloads: Vec<&str> = come.iter().map(|message| &*message.payload).collect();
    assert_eq!((&*come[0].channel, &payloads[..]), ("orders", &["paid", ""][..]));
    assert_eq!(listener.notifications(), []);
}
