// node-postgres: simple and extended queries, named statements, pools, errors.
const { Client, Pool } = require("pg");
const assert = require("assert");

async function main() {
  const client = new Client();
  await client.connect();
  await client.query("DROP TABLE IF EXISTS nodepg");
  await client.query("CREATE TABLE nodepg (a integer, b text, n numeric, f boolean)");
  await client.query("INSERT INTO nodepg VALUES ($1, $2, $3, $4)", [1, "héllo", "1.50", true]);
  const named = { name: "by-a", text: "SELECT * FROM nodepg WHERE a = $1", values: [1] };
  for (let i = 0; i < 3; i++) {
    const { rows } = await client.query(named);
    assert.deepStrictEqual(rows, [{ a: 1, b: "héllo", n: "1.50", f: true }]);
  }
  await assert.rejects(client.query("SELECT 1/0"), (error) => error.code === "22012");
  await client.query("BEGIN");
  await client.query("DELETE FROM nodepg");
  await client.query("ROLLBACK");
  assert.strictEqual((await client.query("SELECT count(*) FROM nodepg")).rows[0].count, "1");
  await client.query("DROP TABLE nodepg");
  await client.end();
  const pool = new Pool({ max: 5 });
  const all = await Promise.all([...Array(50).keys()].map((i) => pool.query("SELECT $1::int AS n", [i])));
  assert.deepStrictEqual(all.map((result) => result.rows[0].n), [...Array(50).keys()]);
  await pool.end();
}

main().catch((error) => { console.error(error); process.exit(1); });
