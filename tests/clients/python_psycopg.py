"""psycopg 3: parameters in both formats, prepared statements, pipeline, COPY, server-side cursor, errors."""
import datetime, decimal, uuid
import psycopg
from psycopg import errors

with psycopg.connect(autocommit=True) as c:
    c.execute("DROP TABLE IF EXISTS psycopg3")
    c.execute("CREATE TABLE psycopg3 (a integer, b text, n numeric(10,2), t timestamptz, u uuid, f double precision, y bytea)")
    moment = datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)
    row = (1, "héllo", decimal.Decimal("1.50"), moment, uuid.UUID(int=7), 0.1, b"\x00\xff")
    c.execute("INSERT INTO psycopg3 VALUES (%s, %s, %s, %s, %s, %s, %s)", row)
    for binary in (False, True):
        got = c.cursor(binary=binary).execute("SELECT * FROM psycopg3 WHERE a = %s", (1,), prepare=True).fetchone()
        assert got == row, got
    with c.transaction():
        c.execute("UPDATE psycopg3 SET b = 'x'")
        try:
            with c.transaction():
                c.execute("SELECT 1/0")
        except errors.DivisionByZero as e:
            assert e.sqlstate == "22012"
    assert c.execute("SELECT b FROM psycopg3").fetchone() == ("x",)
    with c.cursor().copy("COPY psycopg3 (a, b) FROM STDIN") as copy:
        for i in range(1000):
            copy.write_row((i + 10, f"row\t{i}"))
    assert c.execute("SELECT count(*) FROM psycopg3").fetchone() == (1001,)
    with c.cursor().copy("COPY (SELECT a, b FROM psycopg3 WHERE a >= 10 ORDER BY a) TO STDOUT (FORMAT BINARY)") as copy:
        copy.set_types(["int4", "text"])
        assert next(iter(copy.rows())) == (10, "row\t0")
        for _ in copy.rows():
            pass
    with c.pipeline():
        cursors = [c.execute("SELECT %s::int", (i,)) for i in range(50)]
    assert [cur.fetchone()[0] for cur in cursors] == list(range(50))
    with c.transaction():
        with c.cursor(name="portions") as cur:
            cur.execute("SELECT a FROM psycopg3 ORDER BY a")
            assert [r[0] for r in cur.fetchmany(3)] == [1, 10, 11]
    try:
        c.execute("SELECT nothing")
    except errors.UndefinedColumn as e:
        assert e.diag.statement_position == "8"
    with c.cursor() as cur:
        cur.executemany("INSERT INTO psycopg3 (a) VALUES (%s)", [(i,) for i in range(5)])
    c.execute("DROP TABLE psycopg3")

# Another encoding than UTF-8, in both formats and in COPY.
with psycopg.connect(autocommit=True, client_encoding="latin1") as c:
    assert c.info.encoding == "iso8859-1"
    for binary in (False, True):
        got = c.cursor(binary=binary).execute("SELECT %b::text || 'é', length(%s::text)" if binary else "SELECT %s::text || 'é', length(%s::text)", ("ü", "ü")).fetchone()
        assert got == ("üé", 1), got
    try:
        c.execute("SELECT U&'\\20AC'").fetchone()
        raise AssertionError("latin1 has no euro")
    except errors.UntranslatableCharacter:
        pass
    c.execute("CREATE TEMP TABLE latin (a text)")
    for form in ("TEXT", "BINARY"):
        with c.cursor().copy(f"COPY latin FROM STDIN (FORMAT {form})") as copy:
            if form == "BINARY":
                copy.set_types(["text"])
            copy.write_row(("é",))
        with c.cursor().copy(f"COPY latin TO STDOUT (FORMAT {form})") as copy:
            copy.set_types(["text"])
            assert ("é",) in list(copy.rows())
    c.execute("SET client_encoding TO 'utf8'")
    assert c.execute("SELECT DISTINCT a, length(a), U&'\\20AC' FROM latin").fetchall() == [("é", 1, "€")]
