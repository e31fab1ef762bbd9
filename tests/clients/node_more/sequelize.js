// Sequelize: sync, associations, transactions, describeTable and its like.
const assert = require("assert");
const { Sequelize, DataTypes, Op } = require("sequelize");
const { PGHOST: host, PGPORT: port, PGUSER: user, PGDATABASE: database } = process.env;
const sequelize = new Sequelize(database, user, "", { host, port, dialect: "postgres", logging: false });

async function main() {
  const Author = sequelize.define("seq_author", {
    name: { type: DataTypes.STRING(40), allowNull: false, unique: true },
    kind: DataTypes.ENUM("poet", "author"),
    tags: DataTypes.ARRAY(DataTypes.TEXT),
    facts: DataTypes.JSONB,
  });
  const Book = sequelize.define("seq_book", { title: DataTypes.TEXT, price: DataTypes.DECIMAL(10, 2) }, { indexes: [{ fields: ["title"] }] });
  Author.hasMany(Book);
  Book.belongsTo(Author);
  await sequelize.sync({ force: true });
  await sequelize.sync({ alter: true });
  const ada = await Author.create({ name: "Ada", kind: "poet", tags: ["x"], facts: { a: { b: 1 } } });
  await ada.createSeq_book({ title: "One", price: "1.50" });
  await Book.bulkCreate([{ title: "Two", seqAuthorId: ada.id }]);
  const [found] = await Author.findAll({ where: { "facts.a.b": 1, tags: { [Op.contains]: ["x"] } }, include: Book });
  assert.strictEqual(found.seq_books.length, 2);
  await Author.upsert({ id: ada.id, name: "Eve" });
  await assert.rejects(Author.create({ name: "Eve" }), (error) => error.name === "SequelizeUniqueConstraintError");
  await assert.rejects(sequelize.transaction(async (transaction) => {
    await Book.destroy({ where: {}, transaction });
    throw new Error("back");
  }), /back/);
  assert.strictEqual(await Book.count(), 2);
  const made = sequelize.getQueryInterface();
  const described = await made.describeTable("seq_authors");
  assert.deepStrictEqual(described.kind.special, ["poet", "author"]);
  assert.ok(described.id.primaryKey && !described.name.allowNull);
  const indexes = await made.showIndex("seq_books");
  assert.ok(indexes.some((index) => index.fields.some((field) => field.attribute === "title")));
  const keys = await made.getForeignKeyReferencesForTable("seq_books");
  assert.strictEqual(keys[0].referencedTableName, "seq_authors");
  assert.ok((await made.showAllTables()).includes("seq_books"));
  await made.addColumn("seq_books", "pages", { type: DataTypes.INTEGER, defaultValue: 1 });
  await made.changeColumn("seq_books", "pages", { type: DataTypes.BIGINT });
  await made.renameColumn("seq_books", "pages", "leaves");
  await made.removeColumn("seq_books", "leaves");
  await sequelize.getQueryInterface().dropAllTables();
  await sequelize.close();
}

main().catch((error) => { console.error(error); process.exit(1); });
