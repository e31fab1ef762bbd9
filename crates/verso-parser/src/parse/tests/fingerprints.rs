use crate::parse_script;

fn id(text: &str) -> i64 {
    let all = parse_script(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    assert_eq!(all.len(), 1, "{text}");
    all[0].fingerprint.id
}

fn normalized(text: &str) -> String {
    let all = parse_script(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    all[0].fingerprint.normalized(text, 1 << 16)
}

#[test]
fn constants_blanks_comments_and_cases_do_not_count() {
    let of = id("SELECT a, 'x' FROM t WHERE b = 7 AND c IN (1, 2, 3)");
    for same in [
        "select A,'y' from T where \"b\" = -1.5 and c in (4, 5)",
        "SELECT a, $$z$$ FROM t /* not this */ WHERE b = null AND c IN ('1', -2, 3::bigint, 4) -- nor that",
        "  SELECT a, E'\\n' FROM t WHERE b = true AND c IN (1, 2);",
    ] {
        assert_eq!(id(same), of, "{same}");
    }
    for other in [
        "SELECT a, 'x' FROM t WHERE b <> 7 AND c IN (1, 2, 3)",
        "SELECT a, 'x' FROM t WHERE b = 7 AND c IN (1)",
        "SELECT a, 'x' FROM u WHERE b = 7 AND c IN (1, 2, 3)",
        "SELECT a, 'x' FROM t WHERE b = $1 AND c IN (1, 2, 3)",
        "SELECT a, 'x' FROM t WHERE b = 7 AND c IN (1, 2, d)",
    ] {
        assert_ne!(id(other), of, "{other}");
    }
    assert_eq!(id("select 1 where 1 != 2"), id("select 3 where 4 <> 5"));
    assert_ne!(id("select a from t where a = $1 and b = $1"), id("select a from t where a = $1 and b = $2"));
}

#[test]
fn numbers_are_the_same_on_every_machine() {
    assert_eq!(id("SELECT 1"), id("select 2"));
    assert_eq!(parse_script("").expect("nothing").len(), 0);
}

#[test]
fn texts_show_parameters_for_constants() {
    // As PostgreSQL 18 shows them in pg_stat_statements.
    for (text, shown) in [
        ("select -1 as x", "select $1 as x"),
        (
            "select 'a'::text, true, null, date '2020-01-01', interval '1 day', numeric(10,2) '3.1', b'101', x'1f', E'a\\n', $$x$$",
            "select $1::text, $2, $3, date $4, interval $5, numeric(10,2) $6, $7, $8, $9, $10",
        ),
        (
            "select * from t where a in (1,2,3) and b in ('x','y')",
            "select * from t where a in ($1 /*, ... */) and b in ($2 /*, ... */)",
        ),
        ("select * from t where a in (1)", "select * from t where a in ($1)"),
        ("select * from t order by 1 limit 5 offset 2", "select * from t order by 1 limit $1 offset $2"),
        (
            "select a, count(*) from t group by 1 having count(*) > 3 order by 2",
            "select a, count(*) from t group by 1 having count(*) > $1 order by 2",
        ),
        ("select extract(year from date '2020-01-01')", "select extract($1 from date $2)"),
        (
            "select * from t where b like 'a%' escape '!' and a between 1 and 2",
            "select * from t where b like $1 escape $2 and a between $3 and $4",
        ),
        (
            "select a is null, a is true from (select true as a) x",
            "select a is null, a is true from (select $1 as a) x",
        ),
        ("insert into t values (1,'x'),(2,'y')", "insert into t values ($1,$2),($3,$4)"),
        ("insert into t (a,b) values (1, default)", "insert into t (a,b) values ($1, default)"),
        (
            "prepare q(int,int) as select * from t2 where a in ($1,$2) and b = 'x'",
            "prepare q(int,int) as select * from t2 where a in ($1 /*, ... */) and b = $2",
        ),
        ("set work_mem = '5MB'", "set work_mem = $1"),
        ("savepoint a", "savepoint $1"),
        ("rollback to a", "rollback to $1"),
        ("deallocate p", "deallocate $1"),
        ("explain (verbose) select 1, 2", "explain (verbose) select $1, $2"),
        ("create table v as select 5 as a", "create table v as select $1 as a"),
        ("create table u (a int default 5)", "create table u (a int default 5)"),
        ("call pr(5)", "call pr($1)"),
        ("declare c cursor with hold for select 1", "declare c cursor with hold for select $1"),
        ("select a::numeric(10,3) from t", "select a::numeric(10,3) from t"),
        ("select 1.5e3, .5, 0x1f, 1_000", "select $1, $2, $3, $4"),
        (
            "select row(1,2), array[1,2], (array[1,2])[1]",
            "select row($1,$2), array[$3 /*, ... */], (array[$4 /*, ... */])[$5]",
        ),
        ("select distinct on (1) a from t", "select distinct on (1) a from t"),
    ] {
        assert_eq!(normalized(text), shown);
    }
    let script = "begin; select 'ä', 1 from t; commit";
    let all = parse_script(script).expect("three");
    assert_eq!(all[1].fingerprint.normalized(script, 1 << 16), "select $1, $2 from t");
}

#[test]
fn long_texts_are_cut() {
    let text = format!("select {}", vec!["'ä', b"; 1_000].join(", "));
    let all = parse_script(&text).expect("one");
    let shown = all[0].fingerprint.normalized(&text, 100);
    assert!(shown.starts_with("select $1, b, $2, b,") && shown.len() <= 100, "{shown}");
}

#[test]
fn explain_knows_the_number_of_what_it_explains() {
    let plain = id("select a from t where b in (1, 2)");
    for text in [
        "explain select a from t where b in (3, 4)",
        "explain analyze verbose select a from t where b in (3, 4)",
        "explain (costs off, verbose) select a from t where b in (3, 4)",
    ] {
        let all = parse_script(text).expect(text);
        assert_eq!(all[0].fingerprint.explained, Some(plain), "{text}");
        assert_ne!(all[0].fingerprint.id, plain);
    }
}
