"""What Grafana, Metabase and DBeaver ask when they connect and show the tree of a database: each statement runs, and finds what is there."""

import os
import psycopg

connection = psycopg.connect(
    host=os.environ["PGHOST"], port=os.environ["PGPORT"], user=os.environ["PGUSER"], dbname=os.environ["PGDATABASE"], autocommit=True,
)
run = connection.execute
run("DROP TABLE IF EXISTS tools_child, tools_parent; DROP VIEW IF EXISTS tools_view; DROP TYPE IF EXISTS tools_mood")
run("CREATE TYPE tools_mood AS ENUM ('sad', 'ok')")
run("CREATE TABLE tools_parent (id serial PRIMARY KEY, name varchar(40) NOT NULL DEFAULT 'x', mood tools_mood, at timestamptz)")
run("CREATE TABLE tools_child (id bigint PRIMARY KEY, parent integer REFERENCES tools_parent ON DELETE CASCADE)")
run("CREATE INDEX tools_lower ON tools_parent (lower(name)) WHERE id > 0")
run("COMMENT ON TABLE tools_parent IS 'parents'; COMMENT ON COLUMN tools_parent.name IS 'called so'")
oid = run("SELECT 'tools_parent'::regclass::oid").fetchone()[0]
schema = run("SELECT 'public'::regnamespace::oid").fetchone()[0]
database = run("SELECT oid FROM pg_database WHERE datname = current_database()").fetchone()[0]


def asked(statement, args=None, finds=None, columns=None):
    cursor = run(statement, args)
    rows = cursor.fetchall()
    names = [column.name for column in cursor.description]
    assert finds is None or any(finds in [str(value) for value in row] for row in rows), (statement, rows[:5])
    assert columns is None or set(columns) <= set(names), (statement, names)
    return rows


# Grafana: the version, the extension, tables, columns, columns of time, macros.
assert asked("SELECT current_setting('server_version_num')::int/100")[0][0] >= 1000
assert asked("SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'") == []
asked("""select quote_ident(table_schema || '.' || table_name) from information_schema.tables
    where quote_ident(table_schema) not in ('information_schema', 'pg_catalog', '_timescaledb_cache')
    and table_type = 'BASE TABLE' and quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
      FROM generate_series(array_lower(string_to_array(current_setting('search_path'),','),1), array_upper(string_to_array(current_setting('search_path'),','),1)) as i,
           string_to_array(current_setting('search_path'),',') s)""", finds='"public.tools_parent"')
asked("""SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns
    WHERE quote_ident(table_schema) || '.' || quote_ident(table_name) = 'public.tools_parent'""", finds="timestamp with time zone")
asked("""SELECT floor(extract(epoch from at)/60)*60 AS "time", count(*) AS "value" FROM tools_parent
    WHERE at BETWEEN '2024-01-01T00:00:00Z' AND '2025-01-01T00:00:00Z' GROUP BY 1 ORDER BY 1""")

# Metabase: privileges of all tables at once, its tables, columns, keys, indexes.
asked("""with table_privileges as (
      select NULL as role, t.schemaname as schema, t.objectname as table,
        pg_catalog.has_any_column_privilege(current_user, '"' || t.schemaname || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'update') as update,
        pg_catalog.has_any_column_privilege(current_user, '"' || t.schemaname || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'select') as select,
        pg_catalog.has_table_privilege(current_user, '"' || t.schemaname || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'delete') as delete
      from (select schemaname, tablename as objectname from pg_catalog.pg_tables
            union select schemaname, viewname as objectname from pg_views
            union select schemaname, matviewname as objectname from pg_matviews) t
      where t.schemaname !~ '^pg_' and t.schemaname <> 'information_schema' and pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage'))
    select t.* from table_privileges t""", finds="tools_parent")
asked("""SELECT n.nspname AS schema, c.relname AS name, CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'v' THEN 'VIEW'
        WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END AS type, d.description AS description, NULLIF(stat.n_live_tup, 0) AS estimated_row_count
    FROM pg_catalog.pg_class AS c INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid
    LEFT JOIN pg_catalog.pg_description AS d ON (c.oid = d.objoid) AND (d.objsubid = 0) AND (d.classoid = 'pg_class'::regclass)
    LEFT JOIN pg_stat_user_tables AS stat ON (n.nspname = stat.schemaname) AND (c.relname = stat.relname)
    WHERE (c.relnamespace = n.oid) AND (n.nspname !~ '^information_schema|catalog_history|pg_') AND c.relkind IN ('r', 'p', 'v', 'f', 'm') AND (n.nspname IN ('public'))
    ORDER BY type ASC, schema ASC, name ASC""", finds="parents")
asked("""SELECT c.column_name AS name, CASE WHEN c.udt_schema IN ('public', 'pg_catalog') THEN FORMAT('%s', c.udt_name) ELSE FORMAT('"%s"."%s"', c.udt_schema, c.udt_name) END AS "database-type",
        c.ordinal_position - 1 AS "database-position", c.table_schema, c.table_name, pk.column_name IS NOT NULL AS "pk?", col_description(
          CAST(CAST(FORMAT('%I.%I', CAST(c.table_schema AS TEXT), CAST(c.table_name AS TEXT)) AS REGCLASS) AS OID), c.ordinal_position) AS "field-comment",
        ((column_default IS NULL) OR (LOWER(column_default) = 'null')) AND (is_nullable = 'NO') AND NOT (((column_default IS NOT NULL) AND (column_default LIKE '%nextval(%')) OR (is_identity <> 'NO')) AS "required",
        is_nullable = 'YES' AS "nullable", ((column_default IS NOT NULL) AND (column_default LIKE '%nextval(%')) OR (is_identity <> 'NO') AS "auto-increment"
    FROM information_schema.columns AS c LEFT JOIN (SELECT tc.table_schema, tc.table_name, kc.column_name FROM information_schema.table_constraints AS tc
        INNER JOIN information_schema.key_column_usage AS kc ON (tc.constraint_name = kc.constraint_name) AND (tc.table_schema = kc.table_schema) AND (tc.table_name = kc.table_name)
        WHERE tc.constraint_type = 'PRIMARY KEY') AS pk ON (c.table_schema = pk.table_schema) AND (c.table_name = pk.table_name) AND (c.column_name = pk.column_name)
    WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND (c.table_schema IN ('public')) ORDER BY c.table_schema, c.table_name, c.ordinal_position""", finds="called so")
asked("""SELECT fk_ns.nspname AS "fk-table-schema", fk_table.relname AS "fk-table-name", fk_column.attname AS "fk-column-name", pk_ns.nspname, pk_table.relname, pk_column.attname
    FROM pg_constraint AS c INNER JOIN pg_class AS fk_table ON c.conrelid = fk_table.oid INNER JOIN pg_namespace AS fk_ns ON c.connamespace = fk_ns.oid
    INNER JOIN pg_attribute AS fk_column ON c.conrelid = fk_column.attrelid INNER JOIN pg_class AS pk_table ON c.confrelid = pk_table.oid
    INNER JOIN pg_namespace AS pk_ns ON pk_table.relnamespace = pk_ns.oid INNER JOIN pg_attribute AS pk_column ON c.confrelid = pk_column.attrelid
    WHERE fk_ns.nspname !~ '^information_schema|catalog_history|pg_' AND c.contype = 'f'::char AND fk_column.attnum = ANY(c.conkey) AND pk_column.attnum = ANY(c.confkey)
    ORDER BY fk_ns.nspname, fk_table.relname""", finds="tools_child")
asked("""SELECT tmp."table-schema", tmp."table-name", trim(both '"' from pg_catalog.pg_get_indexdef(tmp.ci_oid, tmp.pos, false)) AS "field-name"
    FROM (SELECT n.nspname AS "table-schema", ct.relname AS "table-name", ci.oid AS ci_oid, (information_schema._pg_expandarray(i.indkey)).n AS pos, i.indpred
      FROM pg_catalog.pg_class AS ct INNER JOIN pg_catalog.pg_namespace AS n ON ct.relnamespace = n.oid INNER JOIN pg_catalog.pg_index AS i ON ct.oid = i.indrelid
      INNER JOIN pg_catalog.pg_class AS ci ON ci.oid = i.indexrelid WHERE pg_catalog.pg_get_expr(i.indpred, i.indrelid) IS NULL AND n.nspname !~ '^information_schema|catalog_history|pg_') AS tmp
    WHERE tmp.pos = 1""", finds="tools_child")
asked("""SELECT nspname, typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid IN (SELECT DISTINCT e.enumtypid FROM pg_enum e)""", finds="tools_mood")
asked("SHOW TIMEZONE")

# DBeaver: what it reads when it connects, opens the tree of a database, a schema, a table.
asked("SELECT version()")
asked("SELECT current_schema(),session_user", finds="public")
asked("""SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE datallowconn AND NOT datistemplate OR db.datname =%s ORDER BY db.datname""", ["verso"], columns=["datname", "datcollate"])
asked("SELECT * FROM pg_catalog.pg_settings where name=%s", ["standard_conforming_strings"], finds="on")
asked("SELECT string_agg(word, ',') FROM pg_catalog.pg_get_keywords() WHERE word <> ALL ('{a,abs,absolute,action}'::text[])")
asked("""SELECT n.oid,n.*,d.description FROM pg_catalog.pg_namespace n
    LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=n.oid AND d.objsubid=0 AND d.classoid='pg_namespace'::regclass ORDER BY nspname""", finds="public")
asked("""SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description
    FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid=t.typelem LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid=t.typrelid
    LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid
    WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C')""", finds="tools_mood")
asked("""SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr, pg_catalog.pg_get_partkeydef(c.oid) as partition_key
    FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_class'::regclass
    WHERE c.relnamespace=%s AND c.relkind not in ('i','I','c')""", [schema], finds="tools_parent")
asked("""SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description,dep.objid
    FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid)
    LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum)
    LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)
    LEFT OUTER JOIN pg_depend dep on dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid
    WHERE NOT a.attisdropped AND c.relkind not in ('i','I','c') AND c.oid=%s ORDER BY a.attnum""", [oid], finds="nextval('tools_parent_id_seq'::regclass)")
asked("""SELECT c.oid,c.*,t.relname as tabrelname,rt.relnamespace as refnamespace,d.description, null as consrc_copy
    FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid=c.conrelid LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid=c.confrelid
    LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_constraint'::regclass WHERE c.conrelid=%s ORDER BY c.oid""", [oid], finds="tools_parent_pkey")
asked("""SELECT i.*,i.indkey as keys,c.relname,c.relnamespace,c.relam,c.reltablespace,tc.relname as tabrelname,dsc.description,pg_catalog.pg_get_expr(i.indpred, i.indrelid) as pred_expr,
        pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) as expr,pg_catalog.pg_relation_size(i.indexrelid) as index_rel_size,pg_catalog.pg_stat_get_numscans(i.indexrelid) as index_num_scans
    FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid=i.indexrelid INNER JOIN pg_catalog.pg_class tc ON tc.oid=i.indrelid
    LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid=dsc.objoid WHERE i.indrelid=%s ORDER BY tabrelname, c.relname""", [oid], finds="lower((name)::text)")
asked("""SELECT x.oid,x.*,p.pronamespace as func_schema,d.description FROM pg_catalog.pg_trigger x LEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid=x.tgfoid
    LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=x.oid AND d.objsubid=0 WHERE x.tgrelid=%s AND NOT x.tgisinternal""", [oid])
asked("SELECT p.oid,p.*,d.description FROM pg_catalog.pg_policy p LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=p.oid WHERE p.polrelid=%s", [oid])
asked("SELECT r.oid,r.*,d.description FROM pg_catalog.pg_rewrite r LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=r.oid WHERE r.ev_class=%s AND r.rulename<>'_RETURN'::name", [oid])
asked("""SELECT i.*,c.relnamespace FROM pg_catalog.pg_inherits i,pg_catalog.pg_class c WHERE i.inhrelid=%s AND c.oid=i.inhparent ORDER BY i.inhseqno""", [oid])
asked("""SELECT i.*,c.relnamespace FROM pg_catalog.pg_inherits i,pg_catalog.pg_class c WHERE i.inhparent=%s AND c.oid=i.inhrelid""", [oid])
asked("""SELECT p.oid as poid,p.*,pg_catalog.pg_get_expr(p.proargdefaults, 0) as arg_defaults,d.description FROM pg_catalog.pg_proc p
    LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=p.oid WHERE p.pronamespace=%s ORDER BY p.proname""", [schema])
asked("""SELECT c.oid,c.relname,s.*,d.description FROM pg_catalog.pg_class c JOIN pg_catalog.pg_sequence s ON s.seqrelid = c.oid
    LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid WHERE c.relnamespace=%s AND c.relkind = 'S'""", [schema], finds="tools_parent_id_seq")
asked("SELECT a.oid,a.*,pd.description FROM pg_catalog.pg_roles a left join pg_catalog.pg_shdescription pd on a.oid = pd.objoid ORDER BY a.rolname", columns=["rolname"])
asked("SELECT t.oid,t.*,pg_tablespace_location(t.oid) loc FROM pg_catalog.pg_tablespace t ORDER BY t.oid", finds="pg_default")
asked("SELECT l.oid,l.* FROM pg_catalog.pg_language l ORDER BY l.oid", finds="plpgsql")
asked("SELECT am.oid,am.* FROM pg_catalog.pg_am am ORDER BY am.oid", finds="btree")
asked("SELECT c.oid,c.* FROM pg_catalog.pg_collation c ORDER BY c.oid", finds="default")
asked("SELECT f.oid,f.* FROM pg_catalog.pg_foreign_data_wrapper f ORDER BY f.oid")
asked("SELECT e.oid, cfg.tbls, n.nspname as schema_name, e.* FROM pg_catalog.pg_extension e join pg_namespace n on n.oid = e.extnamespace left join (select ARRAY_AGG(ns.nspname || '.' || cls.relname) tbls, oid_ext from (select unnest(e1.extconfig) oid, e1.oid oid_ext from pg_catalog.pg_extension e1) c join pg_class cls on cls.oid = c.oid join pg_namespace ns on ns.oid = cls.relnamespace group by oid_ext) cfg on cfg.oid_ext = e.oid ORDER BY e.oid")
asked("SELECT pg_catalog.pg_total_relation_size(%s), pg_catalog.pg_relation_size(%s)", [oid, oid])
asked("select * from pg_catalog.pg_stat_database where datid=%s", [database])
asked("""SELECT sa.* FROM pg_catalog.pg_stat_activity sa""", columns=["pid", "query", "wait_event"])
asked("""select blocking_locks.pid from pg_catalog.pg_locks blocked_locks join pg_catalog.pg_locks blocking_locks on blocking_locks.locktype = blocked_locks.locktype
    and blocking_locks.relation is not distinct from blocked_locks.relation and blocking_locks.pid != blocked_locks.pid where not blocked_locks.granted""")

run("DROP TABLE tools_child, tools_parent; DROP TYPE tools_mood")
