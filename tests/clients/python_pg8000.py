"""pg8000: the extended protocol of a pure Python driver."""
import datetime, decimal, os
import pg8000.native

c = pg8000.native.Connection(os.environ["PGUSER"], host="127.0.0.1", port=int(os.environ["PGPORT"]), database="verso")
c.run("DROP TABLE IF EXISTS pg8000")
c.run("CREATE TABLE pg8000 (a integer, b text, n numeric, d date, f boolean)")
c.run("INSERT INTO pg8000 VALUES (:a, :b, :n, :d, :f)", a=1, b="x", n=decimal.Decimal("2.5"), d=datetime.date(2024, 2, 29), f=True)
assert c.run("SELECT * FROM pg8000") == [[1, "x", decimal.Decimal("2.5"), datetime.date(2024, 2, 29), True]]
prepared = c.prepare("SELECT b FROM pg8000 WHERE a = :a")
assert prepared.run(a=1) == [["x"]]
prepared.close()
try:
    c.run("SELECT 1/0")
    assert False
except pg8000.native.DatabaseError as e:
    assert e.args[0]["C"] == "22012"
c.run("DROP TABLE pg8000")
c.close()
