// TypeORM: synchronisation of the schema against the catalogs, relations, query builder, migrations.
const assert = require("assert");
require("reflect-metadata");
const { DataSource, EntitySchema, MigrationInterface } = require("typeorm");
const { PGHOST: host, PGPORT: port, PGUSER: username, PGDATABASE: database } = process.env;

const Author = new EntitySchema({
  name: "typeorm_author",
  columns: {
    id: { type: "int", primary: true, generated: true },
    name: { type: "varchar", length: 40, unique: true },
    kind: { type: "enum", enum: ["poet", "author"], default: "author" },
    tags: { type: "text", array: true, default: "{}" },
    made: { type: "timestamptz", createDate: true },
  },
  relations: { books: { type: "one-to-many", target: "typeorm_book", inverseSide: "author" } },
});
const Book = new EntitySchema({
  name: "typeorm_book",
  columns: {
    id: { type: "int", primary: true, generated: true },
    title: { type: "text" },
    price: { type: "numeric", precision: 10, scale: 2, nullable: true },
    facts: { type: "jsonb", nullable: true },
  },
  indices: [{ columns: ["title"] }],
  checks: [{ expression: '"price" >= 0' }],
  relations: { author: { type: "many-to-one", target: "typeorm_author", inverseSide: "books", onDelete: "CASCADE", joinColumn: true } },
});
class First1700000000000 {
  name = "First1700000000000";
  async up(runner) { await runner.query("CREATE TABLE typeorm_moved (a integer)"); }
  async down(runner) { await runner.query("DROP TABLE typeorm_moved"); }
}

async function main() {
  const options = { type: "postgres", host, port: Number(port), username, database, entities: [Author, Book], migrations: [First1700000000000], installExtensions: false };
  const source = await new DataSource({ ...options, synchronize: true }).initialize();
  // What is there is what it made: nothing is left to be changed.
  const plan = await source.driver.createSchemaBuilder().log();
  assert.deepStrictEqual(plan.upQueries.map((query) => query.query), []);
  const authors = source.getRepository(Author), books = source.getRepository(Book);
  await books.createQueryBuilder().delete().execute();
  await authors.createQueryBuilder().delete().execute();
  const ada = await authors.save({ name: "Ada", kind: "poet", tags: ["x", "y"] });
  await books.save([{ title: "One", price: 1.5, facts: { a: 1 }, author: ada }, { title: "Two", author: ada }]);
  const [found] = await authors.find({ relations: { books: true }, order: { books: { title: "ASC" } } });
  assert.deepStrictEqual(found.books.map((book) => book.title), ["One", "Two"]);
  assert.deepStrictEqual(found.tags, ["x", "y"]);
  const [page, total] = await books.findAndCount({ take: 1, skip: 1, order: { id: "ASC" }, relations: { author: true } });
  assert.deepStrictEqual([page.length, total], [1, 2]);
  await authors.upsert({ id: ada.id, name: "Eve" }, ["id"]);
  await assert.rejects(source.transaction(async (manager) => { await manager.delete(Book, {title: "One"}); throw new Error("back"); }), /back/);
  assert.strictEqual(await books.count(), 2);
  await source.runMigrations();
  await source.undoLastMigration();
  const table = await source.createQueryRunner().getTable("typeorm_book");
  assert.strictEqual(table.foreignKeys.length, 1);
  assert.strictEqual(table.checks.length, 1);
  await source.dropDatabase();
  await source.destroy();
}

main().catch((error) => { console.error(error); process.exit(1); });
