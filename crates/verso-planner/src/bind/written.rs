//! Functions of PostgreSQL that are written in PL/pgSQL here: they run a query that they are given as a text, or one over the
//! catalogs.

use std::sync::{Arc, LazyLock};

use verso_catalog::{ArgMode, FunctionArg, FunctionDef, FunctionReturn, Oid};
use verso_exec::functions::BuiltinFunction;
use verso_types::{SqlType, SystemType};

/// `ts_stat`: lexemes of the documents that the query yields. With weights only positions with one of them count.
const STAT: &str = "
BEGIN
    RETURN QUERY EXECUTE
        'SELECT u.lexeme, pg_catalog.count(*)::int4, pg_catalog.sum(n.n)::int4 FROM (' || query || E'\\n) s (v), '
        'LATERAL pg_catalog.unnest(s.v) u, LATERAL (SELECT '
        || CASE WHEN $2 = '' THEN 'coalesce(pg_catalog.cardinality(u.positions), 1)'
                ELSE '(SELECT pg_catalog.count(*) FROM pg_catalog.unnest(u.weights) w (w) WHERE w.w = ANY ($1))' END
        || ') n (n) WHERE n.n > 0 GROUP BY u.lexeme ORDER BY u.lexeme COLLATE pg_catalog.\"C\"'
        USING pg_catalog.regexp_split_to_array(pg_catalog.upper($2), '');
END";

/// `ts_rewrite`: with each target and substitute that the query yields.
const REWRITE: &str = "
DECLARE
    result tsquery := $1;
    target tsquery;
    substitute tsquery;
BEGIN
    FOR target, substitute IN EXECUTE $2 LOOP
        IF target IS NOT NULL AND substitute IS NOT NULL THEN
            result := pg_catalog.ts_rewrite(result, target, substitute);
        END IF;
    END LOOP;
    RETURN result;
END";

/// `pg_get_sequence_data`: what a sequence says where it is read as a table; nothing of what is no sequence, is another
/// session's, or may not be read.
const SEQUENCE_DATA: &str = "
BEGIN
    IF coalesce((SELECT CASE WHEN c.relkind = 'S' AND NOT pg_catalog.pg_is_other_temp_schema(c.relnamespace)
                             THEN pg_catalog.has_sequence_privilege(c.oid, 'SELECT') END
                 FROM pg_catalog.pg_class c WHERE c.oid = $1::oid), false) THEN
        RETURN QUERY EXECUTE 'SELECT last_value, is_called FROM ' || $1::regclass::text;
    ELSE
        RETURN QUERY SELECT NULL::bigint, NULL::boolean;
    END IF;
END";

/// `pg_sequence_parameters`: what CREATE SEQUENCE said.
const SEQUENCE_PARAMETERS: &str = "
BEGIN
    RETURN QUERY SELECT s.seqstart, s.seqmin, s.seqmax, s.seqincrement, s.seqcycle, s.seqcache, s.seqtypid
        FROM pg_catalog.pg_sequence s WHERE s.seqrelid = $1;
END";

pub(super) fn argument(name: &str, ty: SqlType) -> FunctionArg {
    FunctionArg { name: name.into(), mode: ArgMode::In, ty, rows_of: None, default: None }
}

/// One of them, with its number in `pg_proc`.
pub(super) fn definition(
    (number, name): (u32, &str),
    args: Vec<FunctionArg>,
    returns: FunctionReturn,
    body: &str,
) -> Arc<FunctionDef> {
    let own = FunctionDef::new(Oid(number), "pg_catalog", name);
    Arc::new(FunctionDef { args, returns, body: body.into(), strict: true, ..own })
}

static WRITTEN: LazyLock<[Arc<FunctionDef>; 4]> = LazyLock::new(|| {
    let query = SqlType::System(SystemType::TsQuery);
    let column = |name: &str, ty: SqlType| (Arc::from(name), ty);
    [
        definition(
            (3690, "ts_stat"),
            vec![argument("query", SqlType::Text), argument("weights", SqlType::Text)],
            FunctionReturn::Table(vec![
                column("word", SqlType::Text),
                column("ndoc", SqlType::Int4),
                column("nentry", SqlType::Int4),
            ]),
            STAT,
        ),
        definition(
            (3685, "ts_rewrite"),
            vec![argument("query", query.clone()), argument("select", SqlType::Text)],
            FunctionReturn::Scalar(query),
            REWRITE,
        ),
        definition(
            (6427, "pg_get_sequence_data"),
            vec![argument("sequence_oid", SqlType::System(SystemType::Regclass))],
            FunctionReturn::Table(vec![
                column("last_value", SqlType::Int8),
                column("is_called", SqlType::Bool),
            ]),
            SEQUENCE_DATA,
        ),
        definition(
            (3078, "pg_sequence_parameters"),
            vec![argument("sequence_oid", SqlType::Oid)],
            FunctionReturn::Table(vec![
                column("start_value", SqlType::Int8),
                column("minimum_value", SqlType::Int8),
                column("maximum_value", SqlType::Int8),
                column("increment", SqlType::Int8),
                column("cycle_option", SqlType::Bool),
                column("cache_size", SqlType::Int8),
                column("data_type", SqlType::Oid),
            ]),
            SEQUENCE_PARAMETERS,
        ),
    ]
});

/// Counters: their names and numbers, the column of the view of tables, and that of the view of indexes; whether the views are
/// those of blocks.
const COUNTERS: [(&str, u32, &str, &str, bool); 10] = [
    ("pg_stat_get_numscans", 1928, "seq_scan", "idx_scan", false),
    ("pg_stat_get_tuples_returned", 1929, "seq_tup_read", "idx_tup_read", false),
    ("pg_stat_get_tuples_fetched", 1930, "idx_tup_fetch", "idx_tup_fetch", false),
    ("pg_stat_get_tuples_inserted", 1931, "n_tup_ins", "0", false),
    ("pg_stat_get_tuples_updated", 1932, "n_tup_upd", "0", false),
    ("pg_stat_get_tuples_deleted", 1933, "n_tup_del", "0", false),
    ("pg_stat_get_tuples_hot_updated", 1972, "n_tup_hot_upd", "0", false),
    ("pg_stat_get_dead_tuples", 2879, "n_dead_tup", "0", false),
    (
        "pg_stat_get_blocks_fetched",
        1934,
        "heap_blks_read + heap_blks_hit",
        "idx_blks_read + idx_blks_hit",
        true,
    ),
    ("pg_stat_get_blocks_hit", 1935, "heap_blks_hit", "idx_blks_hit", true),
];

static COUNTING: LazyLock<Vec<Arc<FunctionDef>>> = LazyLock::new(|| {
    let counter = |(name, number, of_table, of_index, blocks): (&str, u32, &str, &str, bool)| {
        let views = if blocks { "pg_statio_all" } else { "pg_stat_all" };
        let body = format!(
            "
BEGIN
    RETURN coalesce((SELECT {of_table} FROM pg_catalog.{views}_tables WHERE relid = $1),
                    (SELECT {of_index} FROM pg_catalog.{views}_indexes WHERE indexrelid = $1), 0);
END"
        );
        let relation = vec![argument("relation", SqlType::Oid)];
        definition((number, name), relation, FunctionReturn::Scalar(SqlType::Int8), &body)
    };
    COUNTERS.into_iter().map(counter).collect()
});

/// The definition that stands for an entry of the registry, if it is such a function.
pub(super) fn written(function: &BuiltinFunction) -> Option<Arc<FunctionDef>> {
    let number = match (function.name, function.args.len()) {
        ("ts_stat", _) => 0,
        ("ts_rewrite", 2) => 1,
        ("pg_get_sequence_data", _) => 2,
        ("pg_sequence_parameters", _) => 3,
        (name, _) => {
            let Some(at) = COUNTERS.iter().position(|(of, ..)| *of == name) else {
                return super::figures::figure(function);
            };
            return Some(Arc::clone(&COUNTING[at]));
        }
    };
    Some(Arc::clone(&WRITTEN[number]))
}
