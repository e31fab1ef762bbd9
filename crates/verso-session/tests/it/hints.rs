//! Hints in comments: plans differ, answers do not; what is not followed is told.

use crate::{Client, World};

fn tables(client: &mut Client) {
    client.run(
        "CREATE TABLE a (id int PRIMARY KEY, x int); CREATE INDEX a_x ON a (x);
         CREATE TABLE b (id int PRIMARY KEY, a int, y int); CREATE INDEX b_a ON b (a); CREATE INDEX b_y ON b (y);
         CREATE TABLE c (id int PRIMARY KEY, b int);
         INSERT INTO a SELECT g, g % 7 FROM generate_series(1, 300) g;
         INSERT INTO b SELECT g, g % 300, g % 11 FROM generate_series(1, 900) g;
         INSERT INTO c SELECT g, g % 900 FROM generate_series(1, 400) g;
         ANALYZE",
    );
}

/// The plan of a query without what the tag adds, in one text, and the notices before it.
fn plan(client: &mut Client, query: &str) -> (Vec<String>, String) {
    let lines = client.run(&format!("EXPLAIN (COSTS off) {query}"));
    let (told, lines): (Vec<String>, Vec<String>) =
        lines.into_iter().filter(|line| line != "EXPLAIN").partition(|line| line.starts_with("NOTICE"));
    (told, lines.join("\n"))
}

/// Scans in the order of the plan.
fn scans(plan: &str) -> Vec<String> {
    let scan = |line: &str| Some(line.split_once(" on ")?.1.split(' ').next()?.to_string());
    plan.lines().filter_map(scan).collect()
}

#[test]
fn hints_choose_orders_and_methods_of_joins() {
    let world = World::new();
    let mut client = world.connect();
    tables(&mut client);
    let body =
        "count(*), sum(c.id) FROM a, b, c bc WHERE b.a = a.id AND bc.b = b.id".replace("c.id", "bc.id");
    let rows = client.run(&format!("SELECT {body}"));
    let mut seen = Vec::new();
    for hint in [
        "",
        "Leading(a b bc)",
        "Leading(bc b a)",
        "Leading((b bc) a) HashJoin(b bc) HashJoin(a b bc)",
        "Leading(bc b) NestLoop(bc b)",
        "USE_NL(a, b)",
        "USE_HASH(a b bc)",
        "ORDERED",
        "Rows(a b #1)",
        "Rows(a b *1000)",
    ] {
        let query = format!("SELECT /*+ {hint} */ {body}");
        let (told, plan) = plan(&mut client, &query);
        assert!(told.is_empty(), "{hint}: {told:?}");
        assert_eq!(client.run(&query), rows, "{hint}");
        match hint {
            "Leading(bc b) NestLoop(bc b)" | "USE_NL(a, b)" => {
                assert!(plan.contains("Nested Loop"), "{hint}: {plan}");
            }
            "USE_HASH(a b bc)" => assert!(!plan.contains("Nested Loop"), "{hint}: {plan}"),
            "Leading(a b bc)" | "ORDERED" => {
                // The third stands apart from the other two.
                let scans = scans(&plan);
                assert!(scans[0] == "c" || scans[2] == "c", "{hint}: {plan}");
            }
            "Leading(bc b a)" => {
                let scans = scans(&plan);
                assert!(scans[0] == "a" || scans[2] == "a", "{hint}: {plan}");
            }
            _ => {}
        }
        seen.push(plan);
    }
    seen.sort();
    seen.dedup();
    assert!(seen.len() >= 4, "{} plans", seen.len());
}

/// The rows that EXPLAIN expects of the first join in a plan.
fn expected(client: &mut Client, query: &str) -> (Vec<String>, u64) {
    let lines = client.run(&format!("EXPLAIN {query}"));
    let told = lines.iter().filter(|line| line.starts_with("NOTICE")).cloned().collect();
    let join = lines.iter().find(|line| line.contains("Join") || line.contains("Loop")).expect("a join");
    let rows = join.split("rows=").nth(1).and_then(|rest| rest.split(' ').next()).expect("rows");
    (told, rows.parse().expect("a number"))
}

#[test]
fn hints_say_how_many_rows_a_join_has() {
    let world = World::new();
    let mut client = world.connect();
    tables(&mut client);
    for body in [
        "* FROM a, b WHERE b.a = a.id",
        "* FROM a LEFT JOIN b ON b.a = a.id",
        "* FROM a JOIN b ON b.a > a.id",
        "* FROM a WHERE EXISTS (SELECT FROM b WHERE b.a = a.id AND b.y > 1)",
    ] {
        let (_, own) = expected(&mut client, &format!("SELECT {body}"));
        let inner = body.contains("EXISTS");
        let rows = client.run(&format!("SELECT count(*) FROM (SELECT {body}) x"));
        for (said, wanted) in [("#17", 17), ("+50", own + 50), ("*3", own * 3), ("-1000000", 1)] {
            let hint = format!("Rows(a b {said})");
            let (told, found) = expected(&mut client, &format!("SELECT /*+ {hint} */ {body}"));
            match inner {
                // The table of the subquery stands in another FROM.
                true => assert!(told.len() == 1 && found == own, "{hint} {body}: {told:?} {found}"),
                false => {
                    assert!(told.is_empty() && found == wanted, "{hint} {body}: {told:?} {found}, {own}")
                }
            }
            let query = format!("SELECT count(*) FROM (SELECT /*+ {hint} */ {body}) x");
            assert_eq!(client.run(&query).last(), rows.last(), "{hint} {body}");
        }
    }
    // The order follows: what is said to be small is joined first.
    let body = "count(*) FROM a, b, c WHERE b.a = a.id AND c.b = b.id";
    let (_, small) = plan(&mut client, &format!("SELECT /*+ Rows(b c #1) Rows(a b #100000) */ {body}"));
    let (_, large) = plan(&mut client, &format!("SELECT /*+ Rows(b c #100000) Rows(a b #1) */ {body}"));
    assert_ne!(small, large);
    // Nothing ties these two, and there is no such table.
    for hint in ["Rows(a c #1)", "Rows(a nosuch #1)", "Rows(a b)", "Rows(a b 7)"] {
        let (told, _) = plan(&mut client, &format!("SELECT /*+ {hint} */ {body}"));
        assert_eq!(told.len(), 1, "{hint}: {told:?}");
    }
    // A kept plan has it, too.
    client.run("PREPARE p AS SELECT /*+ Rows(a b #23) */ * FROM a, b WHERE b.a = a.id");
    assert_eq!(expected(&mut client, "EXECUTE p").1, 23);
}

#[test]
fn hints_choose_how_a_table_is_read() {
    let world = World::new();
    let mut client = world.connect();
    tables(&mut client);
    let body = "count(*) FROM b t WHERE t.y = 3 AND t.a = 14";
    let rows = client.run(&format!("SELECT {body}"));
    for (hint, wanted) in [
        ("/*+ SeqScan(t) */", "Seq Scan on b"),
        ("/*+ FULL(T) */", "Seq Scan on b"),
        ("/*+ IndexScan(t b_y) */", "using b_y on b"),
        ("/*+ IndexScan(t b_a) */", "using b_a on b"),
        ("/*+ NoIndexScan(t) */", "Seq Scan on b"),
        ("{+ AVOID_INDEX(t b_a) }", "using b_y on b"),
        ("{+ index(t b_y), }", "using b_y on b"),
    ] {
        let query = format!("SELECT {hint} {body}");
        let (told, plan) = plan(&mut client, &query);
        assert!(told.is_empty(), "{hint}: {told:?}");
        assert!(plan.contains(wanted), "{hint}: {plan}");
        assert_eq!(client.run(&query), rows, "{hint}");
    }
    // For an order, too.
    let (_, by_index) = plan(&mut client, "SELECT id FROM b ORDER BY id LIMIT 3");
    assert!(by_index.contains("b_pkey"), "{by_index}");
    let (told, sorted) = plan(&mut client, "SELECT /*+ SeqScan(b) */ id FROM b ORDER BY id LIMIT 3");
    assert!(sorted.contains("Seq Scan") && told.is_empty(), "{sorted} {told:?}");
}

#[test]
fn a_hint_that_is_not_followed_is_told() {
    let world = World::new();
    let mut client = world.connect();
    tables(&mut client);
    for (hint, why) in [
        ("MergeJoin(a)", "it has other arguments"),
        ("Nosuch(a)", "it is not known"),
        ("Leading(a)", "it has other arguments"),
        ("Leading(a nosuch)", "no plan of this statement fits it"),
        ("IndexScan(a nosuch)", "no plan of this statement fits it"),
        ("NestLoop(a c)", "no plan of this statement fits it"),
    ] {
        let query = format!("SELECT /*+ {hint} */ count(*) FROM a, b WHERE a.id = b.a");
        let notice = format!("NOTICE: hint \"{hint}\" is not followed: {why}");
        // The rows with a = 0 have no partner.
        assert_eq!(client.run(&query), ["897", notice.as_str(), "SELECT 1"]);
        assert_eq!(plan(&mut client, &query).0, [notice]);
    }
    assert_eq!(
        client.run("DELETE /*+ SeqScan(a) */ FROM a WHERE id = 0")[0],
        "NOTICE: hint \"SeqScan(a)\" is not followed: no plan of this statement fits it"
    );
}
