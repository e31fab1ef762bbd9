//! tokio-postgres: types both ways, pipelined queries, transactions, portals, COPY in both directions, LISTEN, cancelling.

use futures_util::{future, SinkExt, StreamExt, TryStreamExt};
use tokio_postgres::{types::ToSql, AsyncMessage, NoTls};

#[tokio::main]
async fn main() {
    let get = |name: &str| std::env::var(name).unwrap();
    let url = format!("host={} port={} user={} dbname={}", get("PGHOST"), get("PGPORT"), get("PGUSER"), get("PGDATABASE"));
    let (mut client, mut connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    let (said, mut heard) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut messages = futures_util::stream::poll_fn(move |cx| connection.poll_message(cx));
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notification(note) = message {
                said.send(note.payload().to_string()).unwrap();
            }
        }
    });
    client.batch_execute("DROP TABLE IF EXISTS rs_t; DROP TYPE IF EXISTS rs_mood; CREATE TYPE rs_mood AS ENUM ('sad', 'ok');
        CREATE TABLE rs_t (id integer PRIMARY KEY, name text, code uuid, doc jsonb, at timestamptz, list integer[], mood rs_mood)").await.unwrap();
    let code = uuid::Uuid::from_u128(7);
    let doc = serde_json::json!({"a": [1, null]});
    let at = chrono::DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    let list = vec![Some(1), None, Some(3)];
    let insert = client.prepare("INSERT INTO rs_t (id, name, code, doc, at, list, mood) VALUES ($1, $2, $3, $4, $5, $6, 'ok')").await.unwrap();
    let rows: &[&(dyn ToSql + Sync)] = &[&1i32, &"one", &code, &doc, &at, &list];
    assert_eq!(client.execute(&insert, rows).await.unwrap(), 1);
    let row = client.query_one("SELECT * FROM rs_t", &[]).await.unwrap();
    assert_eq!(row.get::<_, uuid::Uuid>("code"), code);
    assert_eq!(row.get::<_, serde_json::Value>("doc"), doc);
    assert_eq!(row.get::<_, chrono::DateTime<chrono::Utc>>("at"), at);
    assert_eq!(row.get::<_, Vec<Option<i32>>>("list"), list);
    assert_eq!(row.columns()[6].type_().name(), "rs_mood");
    let error = client.execute(&insert, rows).await.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "23505");
    assert_eq!(error.as_db_error().unwrap().constraint(), Some("rs_t_pkey"));
    let all = (0..50i32).map(|n| { let client = &client; async move { client.query_one("SELECT $1::int4 + 1", &[&n]).await.unwrap().get::<_, i32>(0) } });
    assert_eq!(future::join_all(all).await, (1..51).collect::<Vec<i32>>());
    let transaction = client.transaction().await.unwrap();
    let portal = transaction.bind("SELECT generate_series(1, 10)", &[]).await.unwrap();
    assert_eq!(transaction.query_portal(&portal, 4).await.unwrap().len(), 4);
    assert_eq!(transaction.query_portal(&portal, 0).await.unwrap().len(), 6);
    transaction.execute("DELETE FROM rs_t", &[]).await.unwrap();
    transaction.rollback().await.unwrap();
    let mut sink = Box::pin(client.copy_in::<_, bytes_of::Bytes>("COPY rs_t (id, name) FROM STDIN").await.unwrap());
    sink.send(bytes_of::from("2\ttwo\n3\tthree\n")).await.unwrap();
    assert_eq!(sink.as_mut().finish().await.unwrap(), 2);
    let out: Vec<_> = client.copy_out("COPY (SELECT id FROM rs_t ORDER BY id) TO STDOUT").await.unwrap().try_collect().await.unwrap();
    assert_eq!(out.concat(), b"1\n2\n3\n");
    client.batch_execute("LISTEN rs_news; NOTIFY rs_news, 'hello'").await.unwrap();
    assert_eq!(heard.recv().await.unwrap(), "hello");
    let cancel = client.cancel_token();
    let (slept, _) = future::join(client.batch_execute("SELECT pg_sleep(20)"), async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        cancel.cancel_query(NoTls).await.unwrap();
    }).await;
    assert_eq!(slept.unwrap_err().code().unwrap().code(), "57014");
    client.batch_execute("DROP TABLE rs_t; DROP TYPE rs_mood").await.unwrap();
}

mod bytes_of {
    pub type Bytes = std::io::Cursor<Vec<u8>>;
    pub fn from(text: &str) -> Bytes { std::io::Cursor::new(text.as_bytes().to_vec()) }
}
