// Knex: schema builder, migrations, queries, transactions, what it asks of the catalogs.
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const { PGHOST: host, PGPORT: port, PGUSER: user, PGDATABASE: database } = process.env;
const knex = require("knex")({ client: "pg", connection: { host, port, user, database }, pool: { min: 0, max: 4 } });

async function main() {
  await knex.schema.dropTableIfExists("knex_books");
  await knex.schema.dropTableIfExists("knex_authors");
  await knex.schema.createTable("knex_authors", (table) => {
    table.increments("id");
    table.string("name", 40).notNullable().unique();
    table.enu("kind", ["poet", "author"]).defaultTo("author");
    table.timestamps(true, true);
  });
  await knex.schema.createTable("knex_books", (table) => {
    table.bigIncrements("id");
    table.integer("author_id").references("id").inTable("knex_authors").onDelete("CASCADE").index();
    table.jsonb("meta");
    table.decimal("price", 8, 2);
  });
  assert.ok(await knex.schema.hasTable("knex_books"));
  assert.ok(await knex.schema.hasColumn("knex_books", "price"));
  await knex.schema.alterTable("knex_books", (table) => {
    table.string("title").notNullable().defaultTo("");
    table.renameColumn("meta", "facts");
    table.decimal("price", 10, 2).alter();
  });
  const info = await knex("knex_books").columnInfo();
  assert.deepStrictEqual(Object.keys(info).sort(), ["author_id", "facts", "id", "price", "title"]);
  assert.strictEqual(info.title.nullable, false);
  assert.strictEqual(info.title.maxLength, 255);
  const [{ id }] = await knex("knex_authors").insert({ name: "Ada" }).returning("id");
  await knex("knex_books").insert([{ author_id: id, title: "One", facts: { pages: 3 }, price: 1.5 }, { author_id: id, title: "Two" }]);
  const found = await knex("knex_books as b").join("knex_authors as a", "a.id", "b.author_id").where("a.name", "Ada").orderBy("b.title").select("b.title", "facts");
  assert.deepStrictEqual(found.map((row) => [row.title, row.facts]), [["One", { pages: 3 }], ["Two", null]]);
  await knex("knex_authors").insert({ id, name: "Eve" }).onConflict("id").merge(["name"]);
  assert.strictEqual((await knex("knex_authors").first("name")).name, "Eve");
  await assert.rejects(knex.transaction(async (trx) => {
    await trx("knex_books").del();
    throw new Error("back");
  }), /back/);
  assert.strictEqual(Number((await knex("knex_books").count("* as n"))[0].n), 2);

  const directory = path.join(process.env.WORK, "knex_migrations_files");
  fs.mkdirSync(directory, { recursive: true });
  fs.writeFileSync(path.join(directory, "001_first.js"), `
    exports.up = (knex) => knex.schema.createTable("knex_moved", (table) => { table.uuid("id").primary(); });
    exports.down = (knex) => knex.schema.dropTable("knex_moved");`);
  const migrations = { directory, tableName: "knex_marks" };
  await knex.migrate.latest(migrations);
  assert.ok(await knex.schema.hasTable("knex_moved"));
  await knex.migrate.rollback(migrations);
  assert.ok(!await knex.schema.hasTable("knex_moved"));
  for (const table of ["knex_books", "knex_authors", "knex_marks", "knex_marks_lock"]) await knex.schema.dropTable(table);
  await knex.destroy();
}

main().catch((error) => { console.error(error); process.exit(1); });
