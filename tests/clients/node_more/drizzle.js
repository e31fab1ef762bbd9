// Drizzle: queries over node-postgres, relations in one statement of JSON, migrations.
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const { Pool } = require("pg");
const { drizzle } = require("drizzle-orm/node-postgres");
const { migrate } = require("drizzle-orm/node-postgres/migrator");
const { relations, eq, sql, count } = require("drizzle-orm");
const { pgTable, serial, integer, text, varchar, jsonb, timestamp, pgEnum } = require("drizzle-orm/pg-core");

const kind = pgEnum("drizzle_kind", ["poet", "author"]);
const authors = pgTable("drizzle_authors", { id: serial("id").primaryKey(), name: varchar("name", { length: 40 }).notNull().unique(), kind: kind("kind"), at: timestamp("at").defaultNow() });
const books = pgTable("drizzle_books", { id: serial("id").primaryKey(), author: integer("author").references(() => authors.id), title: text("title"), facts: jsonb("facts") });
const schema = {
  authors, books,
  authorRelations: relations(authors, ({ many }) => ({ books: many(books) })),
  bookRelations: relations(books, ({ one }) => ({ by: one(authors, { fields: [books.author], references: [authors.id] }) })),
};

async function main() {
  const pool = new Pool();
  await pool.query("DROP TABLE IF EXISTS drizzle_books, drizzle_authors; DROP TYPE IF EXISTS drizzle_kind; DROP SCHEMA IF EXISTS drizzle CASCADE");
  const folder = path.join(process.env.WORK, "drizzle");
  fs.mkdirSync(path.join(folder, "meta"), { recursive: true });
  fs.writeFileSync(path.join(folder, "meta", "_journal.json"), JSON.stringify({ version: "7", dialect: "postgresql", entries: [{ idx: 0, version: "7", when: 1700000000000, tag: "0000_first", breakpoints: true }] }));
  fs.writeFileSync(path.join(folder, "0000_first.sql"), `CREATE TYPE "public"."drizzle_kind" AS ENUM('poet', 'author');--> statement-breakpoint
CREATE TABLE "drizzle_authors" ("id" serial PRIMARY KEY NOT NULL, "name" varchar(40) NOT NULL, "kind" "drizzle_kind", "at" timestamp DEFAULT now(), CONSTRAINT "drizzle_authors_name_unique" UNIQUE("name"));--> statement-breakpoint
CREATE TABLE "drizzle_books" ("id" serial PRIMARY KEY NOT NULL, "author" integer, "title" text, "facts" jsonb);--> statement-breakpoint
ALTER TABLE "drizzle_books" ADD CONSTRAINT "drizzle_books_author_fk" FOREIGN KEY ("author") REFERENCES "public"."drizzle_authors"("id") ON DELETE no action ON UPDATE no action;`);
  const db = drizzle(pool, { schema });
  await migrate(db, { migrationsFolder: folder });
  await migrate(db, { migrationsFolder: folder });
  const [{ id }] = await db.insert(authors).values({ name: "Ada", kind: "poet" }).returning();
  await db.insert(books).values([{ author: id, title: "One", facts: { a: 1 } }, { author: id, title: "Two" }]);
  const nested = await db.query.authors.findMany({ with: { books: { columns: { title: true }, orderBy: books.title } } });
  assert.deepStrictEqual(nested[0].books, [{ title: "One" }, { title: "Two" }]);
  const joined = await db.select({ name: authors.name, n: count(books.id) }).from(authors).leftJoin(books, eq(books.author, authors.id)).groupBy(authors.name);
  assert.deepStrictEqual(joined, [{ name: "Ada", n: 2 }]);
  await db.insert(authors).values({ id, name: "Eve" }).onConflictDoUpdate({ target: authors.id, set: { name: sql`excluded.name` } });
  await assert.rejects(db.transaction(async (tx) => { await tx.delete(books); tx.rollback(); }));
  assert.strictEqual(await db.$count(books), 2);
  const prepared = db.select().from(authors).where(eq(authors.name, sql.placeholder("name"))).prepare("by_name");
  assert.strictEqual((await prepared.execute({ name: "Eve" })).length, 1);
  await pool.query("DROP TABLE drizzle_books, drizzle_authors; DROP TYPE drizzle_kind; DROP SCHEMA drizzle CASCADE");
  await pool.end();
}

main().catch((error) => { console.error(error); process.exit(1); });
