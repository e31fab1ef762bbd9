//! Single rows inserted by prepared statements in a transaction block: by the short way and by the general one.

use std::sync::Arc;

use verso_session::Prepared;
use verso_types::Value;

use crate::{Client, Lines, World};

/// What a step answers.
type Answer = Result<u64, (&'static str, String, Option<String>)>;

fn step(client: &mut Client, prepared: &Arc<Prepared>, params: &[Value]) -> Answer {
    let done = client.session.run(prepared, params, &mut Lines::default());
    done.map_err(|error| (error.sqlstate, error.message, error.detail.map(String::from)))
}

/// The same statements by either way; an open cursor keeps a session off the short one.
fn answers(general: bool) -> (Vec<Answer>, Vec<String>) {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE item (id bigint PRIMARY KEY, value int NOT NULL, name varchar(5), place text)");
    client.run("CREATE UNIQUE INDEX ON item (name, value)");
    client.run("INSERT INTO item VALUES (100, 100, 'old', 'first')");
    let insert =
        client.session.prepare("INSERT INTO item VALUES ($1, $2, $3, 'here')", &[]).expect("prepares");
    let plain = client
        .session
        .prepare("INSERT INTO item (id, value, place) VALUES ($1, $2, $3)", &[])
        .expect("prepares");
    let row = |id: i64, value: Option<i32>, name: &str| {
        [Value::Int8(id), value.map_or(Value::Null, Value::Int4), Value::text(name)]
    };
    let mut answers = Vec::new();
    for round in 0..3 {
        let at = |id: i64| round * 1000 + id;
        client.run("BEGIN");
        if general {
            client.run("DECLARE c CURSOR FOR SELECT 1");
        }
        let mut put = |client: &mut Client, id: i64, value: Option<i32>, name: &str| {
            for prepared in [&insert, &plain] {
                client.run("SAVEPOINT s");
                let answer = step(client, prepared, &row(id, value, name));
                if answer.is_err() {
                    assert_eq!(client.fails("SELECT 1").0, "25P02");
                    client.run("ROLLBACK TO s");
                }
                answers.push(answer);
            }
        };
        put(&mut client, at(1), Some(1), "a");
        put(&mut client, at(2), None, "b");
        put(&mut client, 100, Some(3), "c");
        put(&mut client, at(1), Some(3), "c");
        put(&mut client, at(4), Some(100), "old");
        put(&mut client, at(5), Some(5), "much too long");
        client.run("SAVEPOINT back");
        for id in 10..400 {
            put(&mut client, at(id), Some(7), &format!("{}", at(id)));
        }
        client.run("ROLLBACK TO back");
        for id in 20..40 {
            put(&mut client, at(id), Some(7), &format!("{}", at(id)));
        }
        answers.push(step(&mut client, &insert, &row(at(50), Some(1), "z")[..2]));
        client.run(if round == 1 { "ROLLBACK" } else { "COMMIT" });
        // Found out by the next round's first statement.
        world.connect().run(match round {
            0 => "CREATE INDEX ON item (place)",
            _ => "ALTER TABLE item ALTER place SET NOT NULL",
        });
    }
    client.run("BEGIN READ ONLY");
    answers.push(step(&mut client, &insert, &row(7, Some(7), "7")));
    client.run("ROLLBACK");
    let rows = client.run("SELECT * FROM item ORDER BY id");
    let by_name = client.run("SELECT id FROM item WHERE name >= '' ORDER BY name, value");
    assert_eq!(client.value("SELECT count(*) FROM item WHERE place > ''"), (rows.len() - 1).to_string());
    (answers, [rows, by_name].concat())
}

#[test]
fn the_short_way_of_a_row_answers_as_the_general_way() {
    assert_eq!(answers(false), answers(true));
}

#[test]
fn a_row_of_the_short_way_waits_for_who_has_its_key() {
    let world = World::new();
    let (mut first, mut second) = (world.connect(), world.connect());
    first.run("CREATE TABLE item (id bigint PRIMARY KEY)");
    let insert = first.session.prepare("INSERT INTO item VALUES ($1)", &[]).unwrap();
    let again = second.session.prepare("INSERT INTO item VALUES ($1)", &[]).unwrap();
    for ends in ["ROLLBACK", "COMMIT"] {
        first.run("BEGIN");
        second.run("BEGIN; INSERT INTO item VALUES (50)");
        step(&mut first, &insert, &[Value::Int8(1)]).unwrap();
        step(&mut first, &insert, &[Value::Int8(2)]).unwrap();
        let answer = std::thread::scope(|scope| {
            let waits = scope.spawn(|| step(&mut second, &again, &[Value::Int8(2)]));
            first.run(ends);
            waits.join().expect("no panic")
        });
        match ends {
            "ROLLBACK" => assert_eq!(answer, Ok(1)),
            _ => assert_eq!(answer.unwrap_err().0, "23505"),
        }
        second.run("ROLLBACK");
    }
    assert_eq!(first.value("SELECT count(*) FROM item"), "2");
}
