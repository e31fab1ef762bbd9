// postgres.js: tagged templates, transactions with savepoints, cursors, COPY, LISTEN, arrays and JSON.
const postgres = require("postgres");
const assert = require("assert");

async function main() {
  const sql = postgres({ max: 4, onnotice: () => {} });
  await sql`DROP TABLE IF EXISTS pjs`;
  await sql`CREATE TABLE pjs (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text, tags text[], doc jsonb, at timestamptz DEFAULT now())`;
  const rows = [{ name: "one", tags: ["a", "b,c"] }, { name: "two", tags: [] }];
  const made = await sql`INSERT INTO pjs ${sql(rows, "name", "tags")} RETURNING id, name, tags`;
  assert.deepStrictEqual(made.map((row) => [row.id, row.name, row.tags]), [[1, "one", ["a", "b,c"]], [2, "two", []]]);
  await sql`UPDATE pjs SET doc = ${sql.json({ deep: [1, { x: null }] })} WHERE name IN ${sql(["one"])}`;
  const [{ doc, at }] = await sql`SELECT doc, at FROM pjs WHERE doc @> ${sql.json({ deep: [1] })}`;
  assert.deepStrictEqual(doc, { deep: [1, { x: null }] });
  assert.ok(at instanceof Date);
  await assert.rejects(sql.begin(async (tx) => {
    await tx`DELETE FROM pjs`;
    await tx.savepoint(async (inner) => { await inner`SELECT 1/0`; }).catch((error) => assert.strictEqual(error.code, "22012"));
    throw new Error("back");
  }), /back/);
  assert.strictEqual((await sql`SELECT count(*)::int AS n FROM pjs`)[0].n, 2);
  let seen = 0;
  await sql`SELECT generate_series(1, 1000) AS n`.cursor(100, (batch) => { seen += batch.length; });
  assert.strictEqual(seen, 1000);
  const writable = await sql`COPY pjs (name) FROM STDIN`.writable();
  await new Promise((done, failed) => { writable.on("error", failed).on("finish", done); writable.end("three\nfour\n"); });
  assert.strictEqual((await sql`SELECT count(*)::int AS n FROM pjs`)[0].n, 4);
  const heard = new Promise((done) => sql.listen("pjs_news", done).then(() => sql.notify("pjs_news", "hello")));
  assert.strictEqual(await heard, "hello");
  await sql`DROP TABLE pjs`;
  await sql.end();
}

main().catch((error) => { console.error(error); process.exit(1); });
