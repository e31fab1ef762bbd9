//! A soak in small: sessions of several kinds at work on a server that is killed again and again. What was acknowledged is
//! there afterwards, what was not is there whole or not at all, and nothing contradicts itself. `ROUNDS=500` makes it long.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use postgres::{Client, Error, SimpleQueryMessage};

use crate::server::Server;
use crate::world::World;

/// What clients were told.
#[derive(Default)]
struct Told {
    /// Orders, by client.
    orders: [AtomicI64; 2],
    /// Entries of the one that commits in two phases.
    entries: AtomicI64,
    /// Tables made and not dropped.
    tables: Mutex<BTreeSet<String>>,
    /// Tables that are being made or dropped.
    in_doubt: Mutex<BTreeSet<String>>,
    all: AtomicU64,
}

const LEVELS: [&str; 3] = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// Orders with their items; now and then an old one goes. A statement that fails is taken back to a savepoint.
fn orders(client: &mut Client, number: usize, told: &Told) -> Result<(), Error> {
    for n in told.orders[number].load(Ordering::SeqCst) + 1.. {
        let (id, level) = (number as i64 * 1_000_000 + n, LEVELS[n as usize % 3]);
        client.batch_execute(&format!(
            "BEGIN ISOLATION LEVEL {level};
             INSERT INTO orders VALUES ({id}, {number}, 'order {n}', 0);
             SAVEPOINT items;
             INSERT INTO items (of) VALUES ({id}), ({id});
             ROLLBACK TO items;
             INSERT INTO items (of) VALUES ({id}), ({id}), ({id});
             RELEASE items;
             UPDATE orders SET id = id, changes = changes + 1, note = repeat('x', {}) WHERE id = {id}",
            n % 50 * 100
        ))?;
        client.batch_execute("SAVEPOINT twice")?;
        let twice = client.batch_execute(&format!("INSERT INTO orders VALUES ({id}, 9, '', 0)"));
        let code = twice.expect_err("the key is taken").code().map(|code| code.code().to_owned());
        if code.as_deref() != Some("23505") {
            return client.batch_execute("ROLLBACK");
        }
        client.batch_execute("ROLLBACK TO twice; UPDATE shared SET n = n + 1 WHERE id = 1")?;
        if n % 5 == 0 {
            client.batch_execute(&format!(
                "DELETE FROM items WHERE of = {0}; DELETE FROM orders WHERE id = {0}",
                id - 4
            ))?;
        }
        client.batch_execute("COMMIT")?;
        told.orders[number].store(n, Ordering::SeqCst);
        told.all.fetch_add(1, Ordering::SeqCst);
    }
    Ok(())
}

/// Tables that come and go, two sessions beside each other.
fn tables(client: &mut Client, number: usize, told: &Told) -> Result<(), Error> {
    loop {
        let name = format!("made_{number}_{}", told.all.fetch_add(1, Ordering::SeqCst));
        told.in_doubt.lock().expect("no panic").insert(name.clone());
        client.batch_execute(&format!(
            "BEGIN; CREATE TABLE {name} (id serial PRIMARY KEY, of bigint REFERENCES shared);
             INSERT INTO {name} (of) VALUES (1), (2); CREATE INDEX ON {name} (of); COMMIT"
        ))?;
        told.tables.lock().expect("no panic").insert(name.clone());
        told.in_doubt.lock().expect("no panic").remove(&name);
        if name.ends_with(['1', '4', '7']) {
            told.in_doubt.lock().expect("no panic").insert(name.clone());
            client.batch_execute(&format!("DROP TABLE {name}"))?;
            told.tables.lock().expect("no panic").remove(&name);
            told.in_doubt.lock().expect("no panic").remove(&name);
        }
    }
}

/// Entries that are committed in two phases.
fn entries(client: &mut Client, told: &Told) -> Result<(), Error> {
    for n in told.entries.load(Ordering::SeqCst) + 1.. {
        client.batch_execute(&format!(
            "BEGIN; INSERT INTO entries VALUES ({n}); UPDATE shared SET n = n WHERE id = 2;
             PREPARE TRANSACTION 'entry {n}'"
        ))?;
        client.batch_execute(&format!("COMMIT PREPARED 'entry {n}'"))?;
        told.entries.store(n, Ordering::SeqCst);
        told.all.fetch_add(1, Ordering::SeqCst);
    }
    Ok(())
}

/// The only value of a query.
fn value(client: &mut Client, sql: &str) -> i64 {
    let messages = client.simple_query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let row = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(|text| text.parse().expect("a number")),
        _ => None,
    });
    row.unwrap_or_else(|| panic!("{sql}: no row"))
}

/// After a restart: what clients were told is true.
fn verify(client: &mut Client, told: &Told) {
    // Whoever was between the two phases is committed: another client would go on from what is there.
    let open = client.query("SELECT gid FROM pg_prepared_xacts", &[]).expect("the view");
    for name in open.iter().map(|row| row.get::<_, String>(0)) {
        client.batch_execute(&format!("COMMIT PREPARED '{name}'")).expect("prepared");
    }
    let entries = value(client, "SELECT count(*) FROM entries");
    assert_eq!(entries, value(client, "SELECT coalesce(max(n), 0) FROM entries"), "no entry is missing");
    let acknowledged = told.entries.load(Ordering::SeqCst);
    assert!((acknowledged..=acknowledged + 1).contains(&entries), "{acknowledged} {entries}");
    told.entries.store(entries, Ordering::SeqCst);
    for (number, acknowledged) in told.orders.iter().enumerate() {
        let last = value(
            client,
            &format!("SELECT coalesce(max(id), {number} * 1000000) FROM orders WHERE client = {number}"),
        );
        let (last, known) = (last - number as i64 * 1_000_000, acknowledged.load(Ordering::SeqCst));
        assert!((known..=known + 1).contains(&last), "{known} {last}");
        // Each fifth order has taken the one four before it along.
        let orders = value(client, &format!("SELECT count(*) FROM orders WHERE client = {number}"));
        assert_eq!(orders, last - last / 5);
        acknowledged.store(last, Ordering::SeqCst);
    }
    let orders = value(client, "SELECT count(*) FROM orders");
    assert_eq!(value(client, "SELECT count(*) FROM items"), 3 * orders);
    let orphans = "SELECT count(*) FROM items AS i LEFT JOIN orders AS o ON o.id = i.of WHERE o.id IS NULL";
    assert_eq!(value(client, orphans), 0);
    assert_eq!(value(client, "SELECT count(*) FROM orders WHERE changes <> 1"), 0);
    let orders: i64 = told.orders.iter().map(|n| n.load(Ordering::SeqCst)).sum();
    assert_eq!(value(client, "SELECT n FROM shared WHERE id = 1"), orders, "each order counted once");
    // By an index and without one.
    assert_eq!(
        value(client, "SELECT count(*) FROM orders WHERE id >= 0"),
        value(client, "SELECT count(*) FROM orders WHERE id + 0 >= 0")
    );
    let (tables, in_doubt) = (
        told.tables.lock().expect("no panic").clone(),
        std::mem::take(&mut *told.in_doubt.lock().expect("no panic")),
    );
    let sql = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'made_%'";
    let rows = client.query(sql, &[]).expect("the catalog");
    let found: BTreeSet<String> = rows.iter().map(|row| row.get::<_, String>(0)).collect();
    let known: BTreeSet<String> = tables.difference(&in_doubt).cloned().collect();
    assert!(known.is_subset(&found), "{known:?} {found:?}");
    assert!(found.iter().all(|name| known.contains(name) || in_doubt.contains(name)), "{known:?} {found:?}");
    for name in &found {
        assert_eq!(value(client, &format!("SELECT sum(of) FROM {name} WHERE id > 0")), 3, "{name}");
    }
    *told.tables.lock().expect("no panic") = found;
}

#[test]
fn sessions_of_all_kinds_go_on_where_a_killed_server_has_left_them() {
    let rounds: u64 = std::env::var("ROUNDS").map_or(2, |rounds| rounds.parse().expect("a number"));
    let world = World::new();
    let mut server = Server::start(&world, &[]);
    let mut client = server.connect().expect("connected");
    client
        .batch_execute(
            "CREATE TABLE shared (id bigint PRIMARY KEY, n bigint);
             INSERT INTO shared VALUES (1, 0), (2, 0);
             CREATE TABLE orders (id bigint PRIMARY KEY, client int, note text, changes int);
             CREATE INDEX ON orders (client, id);
             CREATE TABLE items (id serial PRIMARY KEY, of bigint NOT NULL REFERENCES orders);
             CREATE INDEX ON items (of);
             CREATE TABLE entries (n bigint PRIMARY KEY)",
        )
        .expect("made");
    drop(client);
    let told = Told::default();
    for _ in 0..rounds {
        let goal = told.all.load(Ordering::SeqCst) + 60;
        std::thread::scope(|scope| {
            for kind in 0..5 {
                let (server, told) = (&server, &told);
                scope.spawn(move || {
                    // Who loses a race for a row or a name begins anew.
                    while let Ok(mut client) = server.connect() {
                        let _ = match kind {
                            0 | 1 => orders(&mut client, kind, told),
                            2 => entries(&mut client, told),
                            _ => tables(&mut client, kind, told),
                        };
                        if client.is_closed() {
                            break;
                        }
                    }
                });
            }
            while told.all.load(Ordering::SeqCst) < goal {
                std::thread::yield_now();
            }
            server.signal("-KILL");
        });
        server.end();
        server = Server::start(&world, &[]);
        verify(&mut server.connect().expect("it recovers"), &told);
    }
    server.signal("-TERM");
    assert_eq!(server.end().0, Some(0));
    let check = world.verso(&["check", "a.verso"]);
    assert_eq!(check.code, 0, "{check:?}");
}
