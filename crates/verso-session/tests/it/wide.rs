//! Tables of more columns than a page describes.

use crate::World;

/// A table of `id` and 1,599 columns of all layouts; `cN` of the first 50 rows has a value made of N and `id`, of ten more none.
const WIDE: &str = "
    DO $$ BEGIN
      EXECUTE 'CREATE TABLE w (id int PRIMARY KEY, ' || (
        SELECT string_agg(format('c%s %s', n, (ARRAY['int', 'text', 'numeric(30,2)', 'boolean', 'double precision', 'smallint', 'numeric'])[1 + n % 7]), ', ' ORDER BY n)
        FROM generate_series(1, 1599) n) || ')';
      EXECUTE 'INSERT INTO w SELECT id, ' || (
        SELECT string_agg(CASE n % 7 WHEN 1 THEN format('''t%s-'' || id', n) WHEN 3 THEN format('(id + %s) %% 2 = 0', n) ELSE format('id + %s', n % 100) END, ', ' ORDER BY n)
        FROM generate_series(1, 1599) n) || ' FROM generate_series(1, 50) id';
      INSERT INTO w (id) SELECT generate_series(51, 60);
    END $$";

/// The first columns, some of packs, the last.
const SOME: &str = "id, c1, c2, c3, c4, c700, c701, c1598, c1599";

#[test]
fn a_table_has_1600_columns() {
    let world = World::new();
    let mut client = world.connect();
    client.run(WIDE);
    let count = "SELECT count(*) FROM pg_attribute WHERE attrelid = 'w'::regclass AND attnum > 0";
    assert_eq!(client.value(count), "1600");
    let rows = client.run(&format!("SELECT {SOME} FROM w WHERE id IN (7, 55) ORDER BY id"));
    assert_eq!(
        rows[..2],
        ["7|t1-7|9.00|t|11|7|t701-7|105.00|t", "55|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL"]
    );
    assert_eq!(client.value("SELECT count(*) FROM w WHERE c701 = 't701-' || id AND c1598 = id + 98"), "50");
    assert_eq!(client.value("SELECT sum(c700) FROM w"), "1275");
    // A change of one member of a pack leaves the others; NULL goes in and out.
    client.run("UPDATE w SET c701 = 'other', c1 = 'one' WHERE id = 7; UPDATE w SET c700 = 5 WHERE id = 55");
    client.run("UPDATE w SET c1598 = NULL WHERE id = 7; UPDATE w SET c700 = NULL WHERE id = 1");
    let rows = client.run(&format!("SELECT {SOME} FROM w WHERE id IN (1, 7, 55) ORDER BY id"));
    assert_eq!(
        rows[..3],
        [
            "1|t1-1|3.00|t|5|NULL|t701-1|99.00|t",
            "7|one|9.00|t|11|7|other|NULL|t",
            "55|NULL|NULL|NULL|NULL|5|NULL|NULL|NULL"
        ]
    );
    // Before and after a rollback, and as another snapshot sees it.
    let mut other = world.connect();
    other.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM w LIMIT 1");
    client.run("BEGIN; UPDATE w SET c700 = c700 + 1000, c1599 = NOT c1599; SAVEPOINT s; UPDATE w SET c701 = 'x'; ROLLBACK TO s; COMMIT");
    assert_eq!(
        client.value("SELECT sum(c700) || ' ' || count(*) FILTER (WHERE c701 = 'x') FROM w"),
        "51279 0"
    );
    assert_eq!(other.value("SELECT sum(c700) FROM w"), "1279");
    other.run("COMMIT");
    assert_eq!(client.run("DELETE FROM w WHERE c1598 IS NULL"), ["DELETE 11"]);
    assert_eq!(client.run("SWEEP"), ["SWEEP"]);
    assert!(world.instance.engine.check(&mut |_| {}).unwrap().problems.is_empty());
}

#[test]
fn the_columns_of_an_index_leave_their_packs() {
    let world = World::new();
    let mut client = world.connect();
    client.run(WIDE);
    client.run(
        "CREATE UNIQUE INDEX ON w (c1598, (lower(c701))) INCLUDE (c1599); CREATE UNIQUE INDEX ON w (c700)",
    );
    let plan = client.run("EXPLAIN SELECT id FROM w WHERE c1598 = 102 AND lower(c701) = 't701-4'").join("\n");
    assert!(plan.contains("Index"), "{plan}");
    let found = "SELECT id FROM w WHERE c1598 = 102 AND lower(c701) = 't701-4'";
    assert_eq!(client.value(found), "4");
    let error = client.fails("UPDATE w SET c1598 = 102, c701 = 'T701-4' WHERE id = 9");
    assert_eq!(error.0, "23505");
    client.run("ALTER TABLE w ADD UNIQUE (c1500)");
    assert_eq!(client.fails("UPDATE w SET c1500 = 1 WHERE id IN (1, 2)").0, "23505");
    client.run("TRUNCATE w; INSERT INTO w (id, c1598, c701, c1500, c700) VALUES (1, 102, 't701-4', 7, 8)");
    assert_eq!(client.value(found), "1");
    assert!(world.instance.engine.check(&mut |_| {}).unwrap().problems.is_empty());
}

#[test]
fn columns_come_and_go_beside_packs() {
    let world = World::new();
    let mut client = world.connect();
    client.run(WIDE);
    assert_eq!(client.fails("ALTER TABLE w ADD COLUMN more int").0, "54011");
    client.run("ALTER TABLE w DROP COLUMN c800, ALTER COLUMN c700 TYPE text USING 'is ' || c700");
    assert_eq!(client.run("SELECT c699, c700, c701 FROM w WHERE id = 3")[0], "102|is 3|t701-3");
    client.run("CREATE TABLE v AS SELECT id, c1, c1598, c1599 FROM w WHERE id < 5");
    assert_eq!(client.value("SELECT count(*) FROM v JOIN w USING (c1, c1598, c1599)"), "4");
    client.run("ANALYZE w");
    assert_eq!(
        client.value("SELECT n_distinct FROM pg_stats WHERE tablename = 'w' AND attname = 'c701'"),
        "-0.8333333"
    );
    // A cursor's row, FOR UPDATE, MERGE, a trigger.
    client.run(
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.c1599 := OLD.c701 = 't701-3'; RETURN NEW; END $$;
         CREATE TRIGGER t BEFORE UPDATE ON w FOR EACH ROW EXECUTE FUNCTION f();
         MERGE INTO w USING v ON w.id = v.id WHEN MATCHED THEN UPDATE SET c2 = 0;
         BEGIN; SELECT c1599 FROM w WHERE id = 5 FOR UPDATE; COMMIT",
    );
    assert_eq!(
        client.value("SELECT string_agg(c1599::text, ' ' ORDER BY id) FROM w WHERE id < 5"),
        "false false true false"
    );
}
