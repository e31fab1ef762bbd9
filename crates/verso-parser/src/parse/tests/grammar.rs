//! Trees: how tightly operators bind, and what each clause becomes. The expectations are PostgreSQL 18's.

use crate::parse::{parse_expression, parse_script};
use crate::syntax::{
    Expr, ExprKind, FrameBound, FrameExclude, FrameMode, FromItem, FromSource, GroupItem, JoinCondition,
    Literal, MergeAction, MergeRows, Over, Query, QueryBody, Select, SelectItem, Statement,
};

/// An expression with all of its parentheses.
fn shown(expr: &Expr) -> String {
    let all = |list: &[Expr]| list.iter().map(shown).collect::<Vec<_>>().join(", ");
    let not = |negated: &bool| if *negated { "NOT " } else { "" };
    match &expr.kind {
        ExprKind::Column(parts) => parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("."),
        ExprKind::Literal(Literal::Null) => "NULL".into(),
        ExprKind::Literal(Literal::Bool(value)) => value.to_string(),
        ExprKind::Literal(Literal::Number(digits)) => digits.clone(),
        ExprKind::Literal(Literal::String(text)) => format!("'{text}'"),
        ExprKind::Literal(Literal::Bits(digits)) => format!("'{digits}'"),
        ExprKind::Parameter(number) => format!("${number}"),
        ExprKind::Unary { op, arg } => format!("({op} {})", shown(arg)),
        ExprKind::Binary { op, left, right } => format!("({} {op} {})", shown(left), shown(right)),
        ExprKind::And(args) => format!("AND({})", all(args)),
        ExprKind::Or(args) => format!("OR({})", all(args)),
        ExprKind::Not(arg) => format!("(NOT {})", shown(arg)),
        ExprKind::IsNull { arg, negated } => format!("({} IS {}NULL)", shown(arg), not(negated)),
        ExprKind::IsTruth { arg, truth, negated } => format!("({} IS {}{truth:?})", shown(arg), not(negated)),
        ExprKind::IsDistinct { left, right, negated } => {
            format!("({} IS {}DISTINCT {})", shown(left), not(negated), shown(right))
        }
        ExprKind::InList { arg, list, negated } => {
            format!("({} {}IN {})", shown(arg), not(negated), all(list))
        }
        ExprKind::Between { arg, low, high, negated } => {
            format!("({} {}BETWEEN {} {})", shown(arg), not(negated), shown(low), shown(high))
        }
        ExprKind::Like { arg, pattern, escape, negated, case_insensitive } => format!(
            "({} {}{} {}{})",
            shown(arg),
            not(negated),
            if *case_insensitive { "ILIKE" } else { "LIKE" },
            shown(pattern),
            escape.as_ref().map(|escape| format!(" ESCAPE {}", shown(escape))).unwrap_or_default()
        ),
        ExprKind::SimilarTo { arg, pattern, .. } => format!("({} SIMILAR {})", shown(arg), shown(pattern)),
        ExprKind::Cast { arg, ty, at_type: _ } => format!("CAST({}, {})", shown(arg), ty.pg_name()),
        ExprKind::Call(call) => format!("{}({})", call.name, all(&call.args)),
        ExprKind::Array(elements) => format!("[{}]", all(elements)),
        ExprKind::Subscript { array, index } => format!("{}[{}]", shown(array), shown(index)),
        ExprKind::Slice { array, lower, upper } => {
            let bound = |bound: &Option<Box<Expr>>| bound.as_deref().map(shown).unwrap_or_default();
            format!("{}[{}:{}]", shown(array), bound(lower), bound(upper))
        }
        ExprKind::Field { arg, name } => format!("{}.{}", shown(arg), name.text),
        ExprKind::Row(values) => format!("ROW({})", all(values)),
        ExprKind::Subquery(_) => "(query)".into(),
        ExprKind::Exists(_) => "EXISTS".into(),
        ExprKind::ArraySubquery(_) => "ARRAY(query)".into(),
        ExprKind::InSubquery { args, negated, .. } => format!("({} {}IN query)", all(args), not(negated)),
        ExprKind::QuantifiedSubquery { args, op, all: every, .. } => {
            format!("({} {op} {} query)", all(args), if *every { "ALL" } else { "ANY" })
        }
        ExprKind::Collate { arg, collation } => format!("({} COLLATE {collation})", shown(arg)),
        ExprKind::Json(form) => form.name().into(),
        ExprKind::Case { .. } | ExprKind::IsJson { .. } | ExprKind::Default => format!("{:?}", expr.kind),
    }
}

#[test]
fn operators_bind_as_in_postgresql() {
    for (text, expected) in [
        ("1 + 2 * 3", "(1 + (2 * 3))"),
        ("1 - 2 - 3", "((1 - 2) - 3)"),
        ("2 ^ 3 ^ 2", "((2 ^ 3) ^ 2)"),
        ("-2 ^ 2", "(-2 ^ 2)"),
        ("- a ^ b", "((- a) ^ b)"),
        ("a ^ - b ^ c", "((a ^ (- b)) ^ c)"),
        ("- a * b", "((- a) * b)"),
        ("- a::int", "(- CAST(a, integer))"),
        ("-1::int", "(- CAST(1, integer))"),
        ("a || b + c", "(a || (b + c))"),
        ("a || b || c", "((a || b) || c)"),
        ("a -> b = c", "((a -> b) = c)"),
        ("@ a + b", "(@ (a + b))"),
        ("@ a || b", "((@ a) || b)"),
        ("a < b AND c OR d", "OR(AND((a < b), c), d)"),
        ("a AND b AND (c AND d) AND e", "AND(a, b, AND(c, d), e)"),
        ("(a OR b) OR c", "OR(a, b, c)"),
        ("NOT a = b", "(NOT (a = b))"),
        ("NOT a AND b", "AND((NOT a), b)"),
        ("NOT NOT a IS NULL", "(NOT (NOT (a IS NULL)))"),
        ("a = NOT b", "(a = (NOT b))"),
        ("a IS NULL IS NULL", "((a IS NULL) IS NULL)"),
        ("a = b IS NULL", "((a = b) IS NULL)"),
        ("a IS NOT DISTINCT FROM b + 1", "(a IS NOT DISTINCT (b + 1))"),
        ("a ISNULL AND b NOTNULL", "AND((a IS NULL), (b IS NOT NULL))"),
        ("a BETWEEN 1 AND 2 AND b", "AND((a BETWEEN 1 2), b)"),
        ("a + 1 NOT BETWEEN b - 1 AND b + 1", "((a + 1) NOT BETWEEN (b - 1) (b + 1))"),
        ("a = b IN (1, 2)", "(a = (b IN 1, 2))"),
        ("a LIKE b || '%' ESCAPE '!'", "(a LIKE (b || '%') ESCAPE '!')"),
        ("a NOT ILIKE 'x' = b", "((a NOT ILIKE 'x') = b)"),
        ("a SIMILAR TO 'x' AND b", "AND((a SIMILAR 'x'), b)"),
        ("a AT TIME ZONE 'x' + b", "(timezone('x', a) + b)"),
        ("a + b AT TIME ZONE 'x'", "(a + timezone('x', b))"),
        ("a AT LOCAL", "timezone(a)"),
        ("a || b COLLATE \"C\"", "(a || (b COLLATE C))"),
        ("a::int::text", "CAST(CAST(a, integer), text)"),
        ("a[1][2:3]", "a[1][2:3]"),
        ("a[:2]", "a[:2]"),
        ("(a).b.c", "a.b.c"),
        ("($1).f[1]", "$1.f[1]"),
        ("a OPERATOR(pg_catalog.+) b * c", "(a + (b * c))"),
        ("a != b", "(a <> b)"),
        ("a>-1", "(a > -1)"),
        ("(1, 2) = ROW(3, 4)", "(ROW(1, 2) = ROW(3, 4))"),
        ("(a, b) IN (SELECT 1, 2)", "(a, b IN query)"),
        ("a = ANY (SELECT 1)", "(a IN query)"),
        ("a <> ALL (SELECT 1)", "(a NOT IN query)"),
        ("a < SOME (SELECT 1) AND b", "AND((a < ANY query), b)"),
        ("a = ANY (b) = c", "((a = ANY b) = c)"),
        ("a NOT LIKE ALL (b)", "(a !~~ ALL b)"),
        ("(a, b) OVERLAPS (c, d)", "overlaps(a, b, c, d)"),
        ("a IS NFC NORMALIZED", "is_normalized(a, 'NFC')"),
        ("(ARRAY[[1, 2], [3, 4]])[1][2]", "[[1, 2], [3, 4]][1][2]"),
        ("a OPERATOR(s.+) b", "(a s.+ b)"),
        ("((SELECT 1))", "(query)"),
        ("((SELECT 1) UNION (SELECT 2))", "(query)"),
        ("((SELECT 1) + 2)", "((query) + 2)"),
    ] {
        let expr = parse_expression(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert_eq!(shown(&expr), expected, "{text}");
    }
}

#[test]
fn forms_of_calls_become_calls() {
    for (text, expected) in [
        ("extract(year FROM a)", "extract('year', a)"),
        ("position('b' IN a)", "position(a, 'b')"),
        ("substring(a FROM 2 FOR 3)", "substring(a, 2, 3)"),
        ("substring(a FOR 3)", "substring(a, 1, 3)"),
        ("substring(a FOR 3 FROM 2)", "substring(a, 2, 3)"),
        ("substring(a SIMILAR b ESCAPE c)", "substring(a, b, c)"),
        ("substring(a, 2)", "substring(a, 2)"),
        ("overlay(a PLACING b FROM 2 FOR 3)", "overlay(a, b, 2, 3)"),
        ("trim(a)", "btrim(a)"),
        ("trim(LEADING 'x' FROM a)", "ltrim(a, 'x')"),
        ("trim(BOTH FROM a)", "btrim(a)"),
        ("trim(a, 'x')", "btrim(a, 'x')"),
        ("normalize(a, nfd)", "normalize(a, 'NFD')"),
        ("CAST(a AS double precision)", "CAST(a, double precision)"),
        ("timestamp with time zone 'x'", "CAST('x', timestamp with time zone)"),
        ("timestamp 'x'", "CAST('x', timestamp without time zone)"),
        ("pg_catalog.int4 '5'", "CAST('5', integer)"),
        ("interval '1 day'", "CAST('1 day', interval)"),
        ("current_date", "current_date()"),
        ("left('ab', 1)", "left('ab', 1)"),
        ("date", "date"),
        ("interval", "interval"),
    ] {
        let expr = parse_expression(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert_eq!(shown(&expr), expected, "{text}");
    }
    let text = parse_expression("interval '90' day").expect("fields");
    assert_eq!(shown(&text), "CAST('90', interval day)");
    assert!(parse_expression("interval '1:2' minute to second (3)").is_ok());
    assert!(parse_expression("interval '1' second to day").is_err());
}

fn query(text: &str) -> Query {
    match parse_script(text).unwrap_or_else(|error| panic!("{text}: {error:?}")).remove(0).statement {
        Statement::Query(query) => query,
        other => panic!("{text}: {other:?}"),
    }
}

fn select(text: &str) -> Select {
    match query(text).body {
        QueryBody::Select(select) => *select,
        other => panic!("{text}: {other:?}"),
    }
}

/// FROM with all of its parentheses.
fn joined(item: &FromItem) -> String {
    match &item.source {
        FromSource::Table(name) => name.to_string(),
        FromSource::Function(call, _) => format!("{}()", call.name),
        FromSource::Rows(functions, _) => format!("rows {}", functions.len()),
        FromSource::JsonTable(_) => "json_table".into(),
        FromSource::Query(..) => "query".into(),
        FromSource::Join(join) => {
            let condition = match &join.condition {
                JoinCondition::None => "",
                JoinCondition::On(_) => " on",
                JoinCondition::Using(..) => " using",
                JoinCondition::Natural => " natural",
            };
            format!("({} {:?}{condition} {})", joined(&join.left), join.kind, joined(&join.right))
        }
    }
}

#[test]
fn joins_nest_as_they_are_written() {
    for (from, expected) in [
        ("a, b JOIN c ON x, d", "((a Inner (b Inner on c)) Inner d)"),
        ("a JOIN b JOIN c ON x ON y", "(a Inner on (b Inner on c))"),
        ("a LEFT OUTER JOIN b USING (x) AS j CROSS JOIN c", "((a Left using b) Inner c)"),
        ("a NATURAL FULL JOIN b", "(a Full natural b)"),
        ("(a JOIN b ON x) RIGHT JOIN c ON y", "((a Inner on b) Right on c)"),
        ("((SELECT 1) q JOIN b ON x)", "(query Inner on b)"),
        ("((SELECT 1) UNION SELECT 2) q", "query"),
        ("ROWS FROM (f(1), g(2) AS (a int)) WITH ORDINALITY AS r", "rows 2"),
        ("LATERAL f(1) AS t (a int, b text)", "f()"),
    ] {
        let select = select(&format!("SELECT * FROM {from}"));
        assert_eq!(joined(&select.from.expect("from")), expected, "{from}");
    }
    let from =
        select("SELECT * FROM ONLY t AS x (a, b) TABLESAMPLE bernoulli (10) REPEATABLE (1)").from.expect("t");
    assert_eq!((from.alias.map(|alias| alias.text), from.columns.len()), (Some("x".into()), 2));
    assert!(
        from.sample.is_some_and(|sample| sample.method.name.text == "bernoulli" && sample.seed.is_some())
    );
}

#[test]
fn set_operations_lean_to_the_left_and_intersect_binds_tighter() {
    let body = query("SELECT 1 UNION ALL SELECT 2 INTERSECT SELECT 3 EXCEPT SELECT 4").body;
    let QueryBody::Set { operator, left, .. } = body else { panic!() };
    assert_eq!(operator.as_str(), "EXCEPT");
    let QueryBody::Set { operator, all: true, right, .. } = left.body else { panic!() };
    assert_eq!(operator.as_str(), "UNION");
    assert!(matches!(right.body, QueryBody::Set { operator, .. } if operator.as_str() == "INTERSECT"));
}

#[test]
fn clauses_of_a_select_are_kept() {
    let found = select(
        "SELECT /*+ Leading(a b) */ DISTINCT ON (a) sum(a ORDER BY b) FILTER (WHERE c) OVER w, \
         percentile_cont(0.5) WITHIN GROUP (ORDER BY a), f(1, VARIADIC d), f(1, x => 2) \
         FROM t GROUP BY DISTINCT a, (), ROLLUP (a, (b, c)), CUBE (a), GROUPING SETS ((a, b), ()) \
         WINDOW w AS (v PARTITION BY a ORDER BY b GROUPS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES)",
    );
    assert_eq!(found.hints[0].text, "Leading(a b)");
    assert!(!found.distinct && found.distinct_on.len() == 1 && found.group_distinct);
    let call = |n: usize| match &found.items[n] {
        SelectItem::Expr { expr: Expr { kind: ExprKind::Call(call), .. }, .. } => call.clone(),
        other => panic!("{other:?}"),
    };
    assert!(matches!(call(0).over, Some(Over::Name(name)) if name.text == "w"));
    assert!(call(0).order_by.len() == 1 && call(0).filter.is_some());
    assert_eq!(call(1).within_group.len(), 1);
    assert!(call(2).variadic && call(2).args.len() == 2);
    assert!(call(3).names.len() == 1 && call(3).args.len() == 2);
    let [a, empty, rollup, cube, sets] = &found.group_by[..] else { panic!("{:?}", found.group_by) };
    assert!(matches!(a, GroupItem::Expr(_)) && matches!(empty, GroupItem::Set(set, _) if set.is_empty()));
    assert!(matches!(rollup, GroupItem::Rollup(lists, _) if lists[1].len() == 2));
    assert!(matches!(cube, GroupItem::Cube(lists, _) if lists.len() == 1));
    assert!(
        matches!(sets, GroupItem::Sets(sets, _) if matches!(&sets[0], GroupItem::Set(set, _) if set.len() == 2))
    );
    let (name, window) = &found.windows[0];
    let frame = window.frame.as_ref().expect("a frame");
    assert_eq!((name.text.as_str(), window.base.as_ref().map(|base| base.text.as_str())), ("w", Some("v")));
    assert_eq!((frame.mode, frame.exclude), (FrameMode::Groups, FrameExclude::Ties));
    assert!(matches!(frame.start, FrameBound::Preceding(_)));
    assert_eq!(frame.end, FrameBound::UnboundedFollowing);
    let plain = select("SELECT {+ INDEX(t) } * FROM t");
    assert_eq!(plain.hints[0].text, "INDEX(t)");
    // In front of the statement, and to the end of a line.
    let early = select("/*+ Leading(a b) */ SELECT --+ SeqScan(t)\n * FROM t");
    let texts: Vec<&str> = early.hints.iter().map(|hint| hint.text.as_str()).collect();
    assert_eq!(texts, ["Leading(a b)", "SeqScan(t)"]);
    let with = select("/*+ SeqScan(t) */ WITH x AS (SELECT 1) SELECT * FROM t");
    assert_eq!(with.hints[0].text, "SeqScan(t)");
    assert!(select("SELECT a /*+ SeqScan(t) */ FROM t").hints.is_empty());
    assert!(matches!(select("SELECT (r).* FROM t").items[0], SelectItem::Fields { .. }));
    assert!(select("SELECT").items.is_empty());
}

#[test]
fn what_stands_around_a_query_is_kept() {
    let found = query(
        "WITH RECURSIVE w (a) AS MATERIALIZED (SELECT 1) SEARCH DEPTH FIRST BY a SET o CYCLE a SET c USING p, \
         d AS (DELETE FROM t RETURNING *) \
         SELECT * FROM w ORDER BY a USING >, b NULLS FIRST OFFSET 2 ROWS FETCH NEXT 3 ROWS WITH TIES \
         FOR NO KEY UPDATE OF w SKIP LOCKED FOR KEY SHARE NOWAIT",
    );
    assert!(found.with[0].recursive && found.with[0].materialized == Some(true));
    assert!(found.with[0].search.as_ref().is_some_and(|search| search.depth && search.set.text == "o"));
    assert!(
        found.with[0].cycle.as_ref().is_some_and(|cycle| cycle.values.is_none() && cycle.using.text == "p")
    );
    assert!(
        matches!(&found.with[1].query.body, QueryBody::Change(change) if matches!(**change, Statement::Delete(_)))
    );
    let order: Vec<_> = found.order_by.iter().map(|item| (item.descending, item.nulls_first)).collect();
    assert_eq!(order, [(true, true), (false, true)]);
    assert!(found.with_ties && found.limit.is_some() && found.offset.is_some());
    let locks: Vec<_> = found.locks.iter().map(|lock| (lock.strength.as_str(), lock.of.len())).collect();
    assert_eq!(locks, [("FOR NO KEY UPDATE", 1), ("FOR KEY SHARE", 0)]);
    assert_eq!(query("SELECT 1 LIMIT ALL").limit, None);
}

#[test]
fn merge_has_its_clauses_in_order() {
    let text = "WITH s AS (SELECT 1) MERGE INTO ONLY t AS a USING s JOIN u ON true ON a.x = s.x \
                WHEN MATCHED AND a.y > 1 THEN UPDATE SET y = DEFAULT, (p, q) = (1, 2) \
                WHEN NOT MATCHED BY SOURCE THEN DELETE \
                WHEN NOT MATCHED THEN INSERT (x) OVERRIDING USER VALUE VALUES (1) \
                WHEN MATCHED THEN DO NOTHING RETURNING a.*";
    let Statement::Merge(merge) = parse_script(text).expect("merge").remove(0).statement else { panic!() };
    assert_eq!((merge.with.len(), merge.returning.items.len(), merge.clauses.len()), (1, 1, 4));
    let [update, delete, insert, nothing] = &merge.clauses[..] else { panic!() };
    assert!(
        update.condition.is_some() && matches!(&update.action, MergeAction::Update(all) if all.len() == 3)
    );
    assert_eq!((delete.rows, &delete.action), (MergeRows::NotMatchedBySource, &MergeAction::Delete));
    assert!(matches!(&insert.action, MergeAction::Insert { overriding: Some(false), values: Some(_), .. }));
    assert_eq!(nothing.action, MergeAction::Nothing);
}

#[test]
fn words_are_names_where_postgresql_has_them_so() {
    for text in [
        "SELECT a year FROM t",
        "SELECT 1 AS select, a b, 2 \"C\"",
        "SELECT time, date, timestamp FROM t",
        "SELECT a value, key, at FROM language zone",
        "SELECT set FROM update set",
        "UPDATE t SET set = 1",
        "SELECT operator, filter, over, rows FROM range",
        "SELECT t.from, s.t.order FROM s.t",
        "SELECT coalesce(a, 1), greatest(1, 2), row(1), nullif(1, 2)",
        "SELECT count(*), count(DISTINCT a), count(ALL a) FROM t",
    ] {
        assert_eq!(parse_script(text).is_err(), text.contains(" year "), "{text}");
    }
}
