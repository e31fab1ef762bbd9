"""SQLAlchemy: tables made from metadata, reflected again, queried through the core and the ORM."""

import os
from sqlalchemy import (
    BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, MetaData, Numeric, String, Table, Text,
    create_engine, func, inspect, select,
)

host, port = os.environ["PGHOST"], os.environ["PGPORT"]
engine = create_engine(f"postgresql+psycopg://{os.environ['PGUSER']}:@{host}:{port}/{os.environ['PGDATABASE']}")

metadata = MetaData()
authors = Table(
    "sa_authors", metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(40), nullable=False, unique=True),
    Column("fee", Numeric(10, 2), server_default="0"),
    CheckConstraint("fee >= 0", name="sa_fee"),
)
books = Table(
    "sa_books", metadata,
    Column("id", BigInteger, primary_key=True),
    Column("author", Integer, ForeignKey("sa_authors.id", ondelete="CASCADE")),
    Column("title", Text),
    Index("sa_books_title", "title", "author"),
)
metadata.drop_all(engine)
metadata.create_all(engine)
metadata.create_all(engine)  # asks whether they are there

with engine.begin() as connection:
    key = connection.execute(authors.insert().values(name="Ada")).inserted_primary_key[0]
    connection.execute(books.insert(), [{"author": key, "title": "One"}, {"author": key, "title": "Two"}])
    query = select(authors.c.name, func.count()).join(books).group_by(authors.c.name)
    assert connection.execute(query).all() == [("Ada", 2)]

found = inspect(engine)
assert {"sa_authors", "sa_books"} <= set(found.get_table_names())
assert found.has_table("sa_books") and not found.has_table("sa_nothing")
columns = {column["name"]: column for column in found.get_columns("sa_authors")}
assert columns["name"]["nullable"] is False and str(columns["name"]["type"]) == "VARCHAR(40)"
assert str(columns["fee"]["type"]) == "NUMERIC(10, 2)"
assert found.get_pk_constraint("sa_authors")["constrained_columns"] == ["id"]
[key] = found.get_foreign_keys("sa_books")
assert key["referred_table"] == "sa_authors" and key["options"] == {"ondelete": "CASCADE"}, key
[index] = found.get_indexes("sa_books")
assert index["column_names"] == ["title", "author"] and not index["unique"], index
assert [unique["column_names"] for unique in found.get_unique_constraints("sa_authors")] == [["name"]]
assert [check["name"] for check in found.get_check_constraints("sa_authors")] == ["sa_fee"]

again = MetaData()
again.reflect(engine, only=["sa_authors", "sa_books"])
assert set(again.tables) == {"sa_authors", "sa_books"}
assert [column.name for column in again.tables["sa_books"].columns] == ["id", "author", "title"]
metadata.drop_all(engine)
assert not inspect(engine).has_table("sa_books")
