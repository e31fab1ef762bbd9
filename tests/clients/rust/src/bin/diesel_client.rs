//! diesel, over diesel-async: queries built by types, inserts, upserts, joins, transactions with savepoints.

use diesel::prelude::*;
use diesel_async::{scoped_futures::ScopedFutureExt, AsyncConnection, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};

diesel::table! { diesel_authors (id) { id -> Integer, name -> Text, price -> Nullable<Double>, tags -> Array<Text>, } }
diesel::table! { diesel_books (id) { id -> Integer, author -> Integer, title -> Text, } }
diesel::joinable!(diesel_books -> diesel_authors (author));
diesel::allow_tables_to_appear_in_same_query!(diesel_authors, diesel_books);

#[derive(Queryable, Selectable, Identifiable, Debug)]
#[diesel(table_name = diesel_authors)]
struct Author { id: i32, name: String, price: Option<f64>, tags: Vec<String> }

#[derive(Insertable)]
#[diesel(table_name = diesel_authors)]
struct NewAuthor<'a> { name: &'a str, price: Option<f64>, tags: Vec<&'a str> }

#[tokio::main]
async fn main() {
    use diesel_authors::dsl as a;
    use diesel_books::dsl as b;
    let mut db = AsyncPgConnection::establish(&std::env::var("DATABASE_URL").unwrap()).await.unwrap();
    db.batch_execute("DROP TABLE IF EXISTS diesel_books, diesel_authors;
        CREATE TABLE diesel_authors (id serial PRIMARY KEY, name text NOT NULL UNIQUE, price float8, tags text[] NOT NULL DEFAULT '{}');
        CREATE TABLE diesel_books (id serial PRIMARY KEY, author integer NOT NULL REFERENCES diesel_authors, title text NOT NULL)").await.unwrap();
    let ada: Author = diesel::insert_into(a::diesel_authors).values(NewAuthor { name: "Ada", price: Some(1.5), tags: vec!["x"] })
        .returning(Author::as_returning()).get_result(&mut db).await.unwrap();
    assert_eq!((ada.price, ada.tags.len()), (Some(1.5), 1));
    let books: Vec<_> = ["One", "Two"].iter().map(|title| (b::author.eq(ada.id), b::title.eq(*title))).collect();
    assert_eq!(diesel::insert_into(b::diesel_books).values(&books).execute(&mut db).await.unwrap(), 2);
    let found: Vec<(String, String)> = b::diesel_books.inner_join(a::diesel_authors).filter(a::name.like("A%")).order(b::title.desc())
        .select((a::name, b::title)).load(&mut db).await.unwrap();
    assert_eq!(found[0], ("Ada".to_string(), "Two".to_string()));
    diesel::insert_into(a::diesel_authors).values(NewAuthor { name: "Ada", price: None, tags: vec![] })
        .on_conflict(a::name).do_update().set(a::price.eq(2.5)).execute(&mut db).await.unwrap();
    let error = diesel::insert_into(a::diesel_authors).values(NewAuthor { name: "Ada", price: None, tags: vec![] }).execute(&mut db).await.unwrap_err();
    assert!(matches!(error, diesel::result::Error::DatabaseError(diesel::result::DatabaseErrorKind::UniqueViolation, _)));
    let outer = db.transaction::<_, diesel::result::Error, _>(|db| async move {
        let inner = db.transaction::<(), diesel::result::Error, _>(|db| async move {
            diesel::delete(b::diesel_books).execute(db).await?;
            Err(diesel::result::Error::RollbackTransaction)
        }.scope_boxed()).await;
        assert!(inner.is_err());
        diesel::update(b::diesel_books.filter(b::title.eq_any(["One"]))).set(b::title.eq("Three")).execute(db).await
    }.scope_boxed()).await;
    assert_eq!(outer.unwrap(), 1);
    assert_eq!(b::diesel_books.count().get_result::<i64>(&mut db).await.unwrap(), 2);
    let again: Author = a::diesel_authors.filter(a::tags.contains(vec!["x"])).select(Author::as_select()).first(&mut db).await.unwrap();
    assert_eq!((again.id, again.name.as_str(), again.price), (ada.id, "Ada", Some(2.5)));
    db.batch_execute("DROP TABLE diesel_books, diesel_authors").await.unwrap();
}
