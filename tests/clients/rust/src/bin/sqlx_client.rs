//! sqlx: statements checked while this program is compiled, against the server at DATABASE_URL; pools, transactions, migrations, LISTEN.

use sqlx::migrate::Migrator;
use sqlx::postgres::{PgListener, PgPoolOptions};
use sqlx::{Acquire, Connection, Row};

#[derive(Debug, PartialEq, sqlx::Type)]
#[sqlx(type_name = "sqlx_mood", rename_all = "lowercase")]
enum Mood { Sad, Ok }

#[tokio::main]
async fn main() {
    let url = std::env::var("DATABASE_URL").unwrap();
    let pool = PgPoolOptions::new().max_connections(4).connect(&url).await.unwrap();
    sqlx::query!("DELETE FROM sqlx_t").execute(&pool).await.unwrap();
    let made = sqlx::query!(
        "INSERT INTO sqlx_t (name, mood, tags, doc) VALUES ($1, $2, $3, $4) RETURNING id, at",
        "one", Mood::Ok as Mood, &["x".to_string()], serde_json::json!({"a": 1}),
    ).fetch_one(&pool).await.unwrap();
    let id: i32 = made.id;
    let row = sqlx::query!(r#"SELECT id, name, mood AS "mood: Mood", tags, doc, at, name || '!' AS loud FROM sqlx_t WHERE id = $1"#, id)
        .fetch_one(&pool).await.unwrap();
    // NOT NULL columns are plain values, others are options: the macro has asked the server.
    let (name, tags, loud): (String, Option<Vec<String>>, Option<String>) = (row.name, row.tags, row.loud);
    assert_eq!((name.as_str(), tags.unwrap().len(), loud.as_deref()), ("one", 1, Some("one!")));
    assert_eq!(row.mood, Some(Mood::Ok));
    let left = sqlx::query!("SELECT a.id, b.name FROM sqlx_t a LEFT JOIN sqlx_t b ON b.id = a.id + 1").fetch_one(&pool).await.unwrap();
    let other: Option<String> = left.name;
    assert_eq!(other, None);
    let error = sqlx::query("INSERT INTO sqlx_t (id, name) VALUES ($1, 'two')").bind(id).execute(&pool).await.unwrap_err();
    assert!(error.as_database_error().unwrap().is_unique_violation());
    let mut transaction = pool.begin().await.unwrap();
    let mut inner = transaction.begin().await.unwrap();
    sqlx::query("DELETE FROM sqlx_t").execute(&mut *inner).await.unwrap();
    inner.rollback().await.unwrap();
    transaction.commit().await.unwrap();
    let count: i64 = sqlx::query("SELECT count(*) FROM sqlx_t").fetch_one(&pool).await.unwrap().get(0);
    assert_eq!(count, 1);
    let folder = std::path::PathBuf::from(std::env::var("WORK").unwrap()).join("sqlx_migrations");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("1_first.up.sql"), "CREATE TABLE sqlx_moved (a integer); INSERT INTO sqlx_moved VALUES (1);").unwrap();
    std::fs::write(folder.join("1_first.down.sql"), "DROP TABLE sqlx_moved;").unwrap();
    let migrator = Migrator::new(folder).await.unwrap();
    migrator.run(&pool).await.unwrap();
    migrator.run(&pool).await.unwrap();
    migrator.undo(&pool, 0).await.unwrap();
    let mut listener = PgListener::connect_with(&pool).await.unwrap();
    listener.listen("sqlx_news").await.unwrap();
    sqlx::query("SELECT pg_notify('sqlx_news', 'hello')").execute(&pool).await.unwrap();
    assert_eq!(listener.recv().await.unwrap().payload(), "hello");
    let mut single = sqlx::PgConnection::connect(&url).await.unwrap();
    single.ping().await.unwrap();
    sqlx::raw_sql("DROP TABLE sqlx_t, _sqlx_migrations; DROP TYPE sqlx_mood").execute(&pool).await.unwrap();
}
