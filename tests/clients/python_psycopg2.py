"""psycopg2: the simple protocol with literals, copy_expert, copy_from, notices."""
import io
import psycopg2

c = psycopg2.connect("")
cur = c.cursor()
cur.execute("DROP TABLE IF EXISTS psycopg2")
assert any("does not exist" in n for n in c.notices), c.notices
cur.execute("CREATE TABLE psycopg2 (a integer, b text)")
c.commit()
cur.execute("INSERT INTO psycopg2 VALUES (%s, %s), (%s, %s)", (1, "it's", 2, None))
assert cur.rowcount == 2
cur.execute("SELECT * FROM psycopg2 ORDER BY a")
assert cur.fetchall() == [(1, "it's"), (2, None)]
try:
    cur.execute("SELECT * FROM missing")
    assert False
except psycopg2.errors.UndefinedTable as e:
    assert e.pgcode == "42P01"
try:
    cur.execute("SELECT 1")
    assert False
except psycopg2.errors.InFailedSqlTransaction:
    pass
c.rollback()
cur.execute("SELECT count(*) FROM psycopg2")
assert cur.fetchone() == (0,)
cur.copy_from(io.StringIO("3\tthree\n4\t\\N\n"), "psycopg2")
out = io.StringIO()
cur.copy_expert("COPY psycopg2 TO STDOUT WITH CSV HEADER", out)
assert out.getvalue() == "a,b\n3,three\n4,\n", out.getvalue()
c.commit()
cur.execute("DROP TABLE psycopg2")
c.commit()
c.close()
