//! E1's statements, small.

use crate::World;

const CREATE: &str = "
CREATE SEQUENCE test_id;
CREATE TABLE test (
    id           NUMERIC(18,2),
    name         VARCHAR(120),
    description  VARCHAR(250),
    cnt          INTEGER,
    qrt          DOUBLE PRECISION,
    ts_change    TIMESTAMP,
    ts_create    TIMESTAMP,
    notes        BLOB
);
CREATE TABLE test2drop (LIKE test);
CREATE FUNCTION insertrecs(how_many INTEGER) RETURNS TABLE (records BIGINT) AS $$
DECLARE
    n BIGINT;
BEGIN
    FOR i IN 1..how_many LOOP
        n := nextval('test_id');
        INSERT INTO test VALUES (n, 'name ' || n, 'description of record ' || n, i, n * 0.5,
                                 CURRENT_TIMESTAMP, CURRENT_TIMESTAMP, ('notes of record ' || n)::bytea);
    END LOOP;
    RETURN QUERY SELECT count(*) FROM test;
END
$$ LANGUAGE plpgsql;
SELECT * FROM insertrecs(50);
INSERT INTO test2drop SELECT * FROM test;
INSERT INTO test2drop SELECT * FROM test;
COMMIT;
";

const PASS: &str =
    "UPDATE test SET id = id + 1, qrt = qrt + 1, name = name || '1', ts_change = CURRENT_TIMESTAMP;";

#[test]
fn the_experiment_runs_as_published() {
    let world = World::new();
    let mut client = world.connect();
    client.session.set_autocommit(false);
    assert_eq!(
        client.run(CREATE),
        [
            "CREATE SEQUENCE",
            "CREATE TABLE",
            "CREATE TABLE",
            "CREATE FUNCTION",
            "50",
            "SELECT 1",
            "INSERT 0 50",
            "INSERT 0 50",
            "COMMIT"
        ]
    );
    assert_eq!(client.run("DROP TABLE test2drop; COMMIT"), ["DROP TABLE", "COMMIT"]);
    client.run("SET statement_statistics = on; COMMIT");
    assert_eq!(client.run("SET TRANSACTION NO SAVEPOINT"), ["SET"]);
    for _ in 0..5 {
        assert_eq!(client.run(PASS), ["UPDATE 50"]);
    }
    client.run("COMMIT");
    assert_eq!(
        client.run("SELECT id, name, cnt, qrt, notes FROM test ORDER BY cnt LIMIT 2"),
        [
            "6.00|name 111111|1|5.5|\\x6e6f746573206f66207265636f72642031",
            "7.00|name 211111|2|6|\\x6e6f746573206f66207265636f72642032",
            "SELECT 2"
        ]
    );
    assert_eq!(client.run("SELECT count(*), sum(qrt), sum(id) FROM test"), ["50|887.5|1525.00", "SELECT 1"]);
    let statistics = client.session.last_statistics().expect("statistics");
    assert!(statistics.elapsed_nanos > 0);
}
