"""asyncpg: binary formats throughout, prepared statements, cursors, COPY, cancellation by timeout."""
import asyncio, datetime, decimal, os
import asyncpg


async def main():
    c = await asyncpg.connect(user="verso", host="127.0.0.1", port=int(os.environ["PGPORT"]), database="verso")
    await c.execute("DROP TABLE IF EXISTS asyncpg")
    await c.execute("CREATE TABLE asyncpg (a integer, b text, n numeric, t timestamp, f double precision, y bytea)")
    row = (1, "x", decimal.Decimal("-12345.678"), datetime.datetime(2024, 2, 29, 1, 2, 3), 1.5, b"\x00\x01")
    await c.execute("INSERT INTO asyncpg VALUES ($1, $2, $3, $4, $5, $6)", *row)
    assert tuple(await c.fetchrow("SELECT * FROM asyncpg WHERE a = $1", 1)) == row
    await c.copy_records_to_table("asyncpg", records=[(i, f"r{i}") for i in range(2, 1000)], columns=["a", "b"])
    assert await c.fetchval("SELECT count(*) FROM asyncpg") == 999
    async with c.transaction():
        seen = 0
        async for record in c.cursor("SELECT a FROM asyncpg ORDER BY a", prefetch=100):
            seen += 1
        assert seen == 999
    try:
        async with c.transaction():
            await c.execute("DELETE FROM asyncpg")
            await c.execute("SELECT 1/0")
    except asyncpg.DivisionByZeroError:
        pass
    assert await c.fetchval("SELECT count(*) FROM asyncpg") == 999
    await c.executemany("UPDATE asyncpg SET b = $2 WHERE a = $1", [(i, "y") for i in range(5)])
    try:
        await c.fetchval("SELECT count(*) FROM generate_series(1, 100000000) a(n), generate_series(1, 100000) b(n)", timeout=1)
        assert False
    except asyncio.TimeoutError:
        pass
    assert await c.fetchval("SELECT 1") == 1
    await c.execute("DROP TABLE asyncpg")
    await c.close()
    # A pool resets a session when it is given back.
    pool = await asyncpg.create_pool(user="verso", host="127.0.0.1", port=int(os.environ["PGPORT"]), database="verso", min_size=1, max_size=1)
    for _ in range(3):
        async with pool.acquire() as c:
            assert await c.fetchval("SHOW statement_timeout") == "0"
            await c.execute("SET statement_timeout = '1h'")
    await pool.close()


asyncio.run(main())
