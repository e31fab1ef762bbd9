package clients;

import java.sql.*;
import java.util.*;

/** pgjdbc: prepared statements on the server, batches, cursors, generated keys, savepoints, COPY, and what DatabaseMetaData tells. */
public class Jdbc {
    static String url() {
        Map<String, String> env = System.getenv();
        return "jdbc:postgresql://" + env.get("PGHOST") + ":" + env.get("PGPORT") + "/" + env.get("PGDATABASE")
            + "?user=" + env.get("PGUSER") + "&prepareThreshold=2";
    }

    static void check(boolean ok, Object what) {
        if (!ok) throw new AssertionError(what);
    }

    static List<String> column(ResultSet rows, String name) throws SQLException {
        List<String> found = new ArrayList<>();
        while (rows.next()) found.add(rows.getString(name));
        return found;
    }

    public static void main(String[] args) throws Exception {
        try (Connection connection = DriverManager.getConnection(url())) {
            Statement statement = connection.createStatement();
            statement.execute("DROP VIEW IF EXISTS jdbc_view; DROP TABLE IF EXISTS jdbc_child, jdbc_parent; DROP FUNCTION IF EXISTS jdbc_f");
            statement.execute("CREATE TABLE jdbc_parent (id serial PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, price numeric(10,2) DEFAULT 0, made timestamptz, raw bytea, tags text[], doc jsonb, code uuid)");
            statement.execute("CREATE TABLE jdbc_child (a integer, b integer, parent integer CONSTRAINT jdbc_fk REFERENCES jdbc_parent ON DELETE CASCADE, PRIMARY KEY (a, b))");
            statement.execute("COMMENT ON TABLE jdbc_parent IS 'parents'; COMMENT ON COLUMN jdbc_parent.name IS 'called so'");
            statement.execute("CREATE INDEX jdbc_lower ON jdbc_parent (lower(name))");
            statement.execute("CREATE VIEW jdbc_view AS SELECT name FROM jdbc_parent");
            statement.execute("CREATE FUNCTION jdbc_f(a integer, OUT b text) LANGUAGE sql AS 'SELECT a::text'");

            PreparedStatement insert = connection.prepareStatement(
                "INSERT INTO jdbc_parent (name, price, made, raw, tags, doc, code) VALUES (?, ?, ?, ?, ?, ?::jsonb, ?)", Statement.RETURN_GENERATED_KEYS);
            UUID code = UUID.randomUUID();
            for (int i = 0; i < 5; i++) {
                insert.setString(1, "name " + i);
                insert.setBigDecimal(2, new java.math.BigDecimal("1.50"));
                insert.setObject(3, java.time.OffsetDateTime.parse("2024-01-02T03:04:05Z"));
                insert.setBytes(4, new byte[] {0, 1, -1});
                insert.setArray(5, connection.createArrayOf("text", new String[] {"x", "y,z"}));
                insert.setString(6, "{\"a\": 1}");
                insert.setObject(7, code);
                insert.addBatch();
            }
            check(insert.executeBatch().length == 5, "batch");
            check(column(insert.getGeneratedKeys(), "id").equals(List.of("1", "2", "3", "4", "5")), "keys");
            PreparedStatement query = connection.prepareStatement("SELECT * FROM jdbc_parent WHERE id = ANY (?) ORDER BY id");
            for (int i = 0; i < 4; i++) {
                query.setArray(1, connection.createArrayOf("int4", new Integer[] {2, 3}));
                ResultSet rows = query.executeQuery();
                check(rows.next() && rows.getString("name").equals("name 1") && rows.getBytes("raw").length == 3, "row");
                check(rows.getObject("code", UUID.class).equals(code) && ((String[]) rows.getArray("tags").getArray())[1].equals("y,z"), "values");
                check(rows.getObject("made", java.time.OffsetDateTime.class).toInstant().toString().equals("2024-01-02T03:04:05Z"), "moment");
                ResultSetMetaData of = rows.getMetaData();
                check(of.getColumnTypeName(3).equals("numeric") && of.getScale(3) == 2 && of.isAutoIncrement(1) && of.getTableName(2).equals("jdbc_parent"), "columns");
            }
            connection.setAutoCommit(false);
            Statement cursor = connection.createStatement();
            cursor.setFetchSize(100);
            int seen = 0;
            for (ResultSet rows = cursor.executeQuery("SELECT generate_series(1, 1000)"); rows.next();) seen++;
            check(seen == 1000, seen);
            Savepoint savepoint = connection.setSavepoint();
            try {
                statement.execute("SELECT 1/0");
                check(false, "no error");
            } catch (SQLException error) {
                check(error.getSQLState().equals("22012"), error);
            }
            connection.rollback(savepoint);
            connection.commit();
            connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            connection.setAutoCommit(true);
            CallableStatement call = connection.prepareCall("{? = call jdbc_f(?)}");
            call.registerOutParameter(1, Types.VARCHAR);
            call.setInt(2, 7);
            call.execute();
            check(call.getString(1).equals("7"), "call");
            var copy = connection.unwrap(org.postgresql.PGConnection.class).getCopyAPI();
            check(copy.copyIn("COPY jdbc_child FROM STDIN (FORMAT csv)", new java.io.StringReader("1,1,1\n1,2,\n")) == 2, "copy");
            Statement updatable = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
            ResultSet changing = updatable.executeQuery("SELECT id, name FROM jdbc_parent ORDER BY id");
            check(changing.last() && changing.getRow() == 5, "last");
            changing.updateString("name", "changed");
            changing.updateRow();
            check(column(statement.executeQuery("SELECT name FROM jdbc_parent WHERE id = 5"), "name").equals(List.of("changed")), "updated");

            DatabaseMetaData meta = connection.getMetaData();
            check(meta.getDatabaseProductName().equals("PostgreSQL"), meta.getDatabaseProductName());
            check(column(meta.getTables(null, "public", "jdbc\\_%", new String[] {"TABLE", "VIEW"}), "TABLE_NAME").equals(List.of("jdbc_child", "jdbc_parent", "jdbc_view")), "tables");
            ResultSet parents = meta.getTables(null, null, "jdbc_parent", null);
            check(parents.next() && parents.getString("REMARKS").equals("parents"), "remarks");
            check(column(meta.getColumns(null, "public", "jdbc_parent", "%"), "TYPE_NAME").equals(List.of("serial", "varchar", "numeric", "timestamptz", "bytea", "_text", "jsonb", "uuid")), "columns");
            ResultSet name = meta.getColumns(null, "public", "jdbc_parent", "name");
            check(name.next() && name.getInt("COLUMN_SIZE") == 40 && name.getInt("NULLABLE") == 0 && name.getString("REMARKS").equals("called so"), "name");
            check(column(meta.getPrimaryKeys(null, "public", "jdbc_child"), "COLUMN_NAME").equals(List.of("a", "b")), "key");
            ResultSet imported = meta.getImportedKeys(null, "public", "jdbc_child");
            check(imported.next() && imported.getString("FK_NAME").equals("jdbc_fk") && imported.getString("PKTABLE_NAME").equals("jdbc_parent")
                && imported.getInt("DELETE_RULE") == DatabaseMetaData.importedKeyCascade, "imported");
            check(column(meta.getExportedKeys(null, "public", "jdbc_parent"), "FKTABLE_NAME").equals(List.of("jdbc_child")), "exported");
            check(column(meta.getIndexInfo(null, "public", "jdbc_parent", true, true), "INDEX_NAME").containsAll(List.of("jdbc_parent_pkey", "jdbc_parent_name_key")), "unique");
            check(column(meta.getIndexInfo(null, "public", "jdbc_parent", false, true), "COLUMN_NAME").contains("lower((name)::text)"), "expression");
            check(column(meta.getProcedures(null, "public", "jdbc%"), "PROCEDURE_NAME").isEmpty(), "procedures");
            check(column(meta.getFunctions(null, "public", "jdbc_f"), "FUNCTION_NAME").equals(List.of("jdbc_f")), "functions");
            check(column(meta.getFunctionColumns(null, "public", "jdbc_f", "%"), "COLUMN_NAME").equals(List.of("returnValue", "a", "b")), "arguments");
            check(column(meta.getSchemas(), "TABLE_SCHEM").contains("public"), "schemas");
            check(column(meta.getCatalogs(), "TABLE_CAT").contains(System.getenv("PGDATABASE")), "catalogs");
            check(column(meta.getTypeInfo(), "TYPE_NAME").containsAll(List.of("int4", "text", "jsonb")), "types");
            check(!column(meta.getTablePrivileges(null, "public", "jdbc_parent"), "PRIVILEGE").isEmpty(), "rights");
            check(!column(meta.getColumnPrivileges(null, "public", "jdbc_parent", "name"), "PRIVILEGE").isEmpty(), "rights of columns");
            check(column(meta.getBestRowIdentifier(null, "public", "jdbc_child", DatabaseMetaData.bestRowSession, false), "COLUMN_NAME").equals(List.of("a", "b")), "identifier");
            check(meta.getSQLKeywords().contains("analyze") && meta.getMaxColumnNameLength() == 63, "words");
            meta.getTableTypes().close();
            meta.getUDTs(null, "public", "%", null).close();
            meta.getVersionColumns(null, "public", "jdbc_child").close();
            meta.getClientInfoProperties().close();
            statement.execute("DROP VIEW jdbc_view; DROP TABLE jdbc_child, jdbc_parent; DROP FUNCTION jdbc_f");
        }
    }
}
