-- Queries of the system views, each behind a line that names the view (`bind/system_view.rs`). Columns are matched by
-- name to those of PostgreSQL's view; columns that a query does not yield are NULL.

-- view pg_catalog.pg_tables
SELECT n.nspname AS schemaname, c.relname AS tablename, pg_catalog.pg_get_userbyid(c.relowner) AS tableowner,
       c.relhasindex AS hasindexes, c.relhasrules AS hasrules, c.relhastriggers AS hastriggers, c.relrowsecurity AS rowsecurity
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p')

-- view pg_catalog.pg_indexes
SELECT n.nspname AS schemaname, c.relname AS tablename, i.relname AS indexname, pg_catalog.pg_get_indexdef(i.oid) AS indexdef
FROM pg_catalog.pg_index x
  JOIN pg_catalog.pg_class c ON c.oid = x.indrelid
  JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
  LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm', 'p') AND i.relkind IN ('i', 'I')

-- view pg_catalog.pg_views
SELECT n.nspname AS schemaname, c.relname AS viewname, pg_catalog.pg_get_userbyid(c.relowner) AS viewowner,
       pg_catalog.pg_get_viewdef(c.oid) AS definition
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'v'

-- view pg_catalog.pg_matviews
SELECT n.nspname AS schemaname, c.relname AS matviewname, pg_catalog.pg_get_userbyid(c.relowner) AS matviewowner,
       c.relhasindex AS hasindexes, c.relispopulated AS ispopulated, pg_catalog.pg_get_viewdef(c.oid) AS definition
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'm'

-- view pg_catalog.pg_sequences
SELECT n.nspname AS schemaname, c.relname AS sequencename, pg_catalog.pg_get_userbyid(c.relowner) AS sequenceowner,
       s.seqtypid AS data_type, s.seqstart AS start_value, s.seqmin AS min_value, s.seqmax AS max_value,
       s.seqincrement AS increment_by, s.seqcycle AS cycle, s.seqcache AS cache_size,
       pg_catalog.pg_sequence_last_value(c.oid) AS last_value
FROM pg_catalog.pg_sequence s
  JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid
  LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace

-- view pg_catalog.pg_user
SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper, rolreplication AS userepl,
       rolbypassrls AS usebypassrls, '********' AS passwd, rolvaliduntil AS valuntil
FROM pg_catalog.pg_roles WHERE rolcanlogin

-- view pg_catalog.pg_shadow
SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper, rolreplication AS userepl,
       rolbypassrls AS usebypassrls, rolpassword AS passwd, rolvaliduntil AS valuntil
FROM pg_catalog.pg_authid WHERE rolcanlogin

-- view pg_catalog.pg_group
SELECT rolname AS groname, oid AS grosysid,
       ARRAY(SELECT m.member FROM pg_catalog.pg_auth_members m WHERE m.roleid = pg_authid.oid) AS grolist
FROM pg_catalog.pg_authid WHERE NOT rolcanlogin

-- view pg_catalog.pg_stat_user_tables
SELECT * FROM pg_catalog.pg_stat_all_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')

-- view pg_catalog.pg_stat_user_indexes
SELECT * FROM pg_catalog.pg_stat_all_indexes WHERE schemaname NOT IN ('pg_catalog', 'information_schema')

-- view pg_catalog.pg_statio_user_tables
SELECT * FROM pg_catalog.pg_statio_all_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')

-- view pg_catalog.pg_statio_user_indexes
SELECT * FROM pg_catalog.pg_statio_all_indexes WHERE schemaname NOT IN ('pg_catalog', 'information_schema')

-- view pg_catalog.pg_statio_user_sequences
SELECT * FROM pg_catalog.pg_statio_all_sequences WHERE schemaname NOT IN ('pg_catalog', 'information_schema')

-- view information_schema.information_schema_catalog_name
SELECT pg_catalog.current_database() AS catalog_name

-- view information_schema.schemata
SELECT pg_catalog.current_database() AS catalog_name, nspname AS schema_name, pg_catalog.pg_get_userbyid(nspowner) AS schema_owner
FROM pg_catalog.pg_namespace
WHERE pg_catalog.pg_has_role(nspowner, 'USAGE') OR pg_catalog.has_schema_privilege(oid, 'CREATE, USAGE')

-- view information_schema.tables
SELECT pg_catalog.current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
       CASE WHEN c.relpersistence = 't' THEN 'LOCAL TEMPORARY' WHEN c.relkind IN ('r', 'p') THEN 'BASE TABLE'
            WHEN c.relkind = 'v' THEN 'VIEW' WHEN c.relkind = 'f' THEN 'FOREIGN' END AS table_type,
       CASE WHEN pg_catalog.pg_relation_is_updatable(c.oid::pg_catalog.regclass, false) & 8 = 8 THEN 'YES' ELSE 'NO' END
         AS is_insertable_into,
       CASE WHEN t.typname IS NOT NULL THEN pg_catalog.current_database() END AS user_defined_type_catalog, nt.nspname AS user_defined_type_schema,
       t.typname AS user_defined_type_name, CASE WHEN t.typname IS NOT NULL THEN 'YES' ELSE 'NO' END AS is_typed
FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON n.oid = c.relnamespace
  LEFT JOIN pg_catalog.pg_type t ON t.oid = nullif(c.reloftype, 0)
  LEFT JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace
WHERE c.relkind IN ('r', 'v', 'f', 'p')
  AND NOT pg_catalog.pg_is_other_temp_schema(n.oid)
  AND (pg_catalog.pg_has_role(c.relowner, 'USAGE')
       OR pg_catalog.has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
       OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))

-- view information_schema.columns
SELECT pg_catalog.current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
       a.attname AS column_name, a.attnum::integer AS ordinal_position,
       CASE WHEN a.attgenerated = '' THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END AS column_default,
       CASE WHEN a.attnotnull OR t.typtype = 'd' AND t.typnotnull THEN 'NO' ELSE 'YES' END AS is_nullable,
       CASE WHEN bt.typelem <> 0 AND bt.typlen = -1 THEN 'ARRAY'
            WHEN bt.typnamespace = 11 THEN pg_catalog.format_type(b.id, NULL) ELSE 'USER-DEFINED' END AS data_type,
       CASE WHEN b.mod = -1 THEN NULL WHEN b.id IN (1042, 1043) THEN b.mod - 4 WHEN b.id IN (1560, 1562) THEN b.mod END AS character_maximum_length,
       CASE WHEN b.id IN (25, 1042, 1043)
            THEN CASE WHEN b.mod = -1 THEN 1073741824 ELSE (b.mod - 4) * 4 END END AS character_octet_length,
       CASE b.id WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53
            WHEN 1700 THEN CASE WHEN b.mod = -1 THEN NULL ELSE (b.mod - 4) / 65536 END END AS numeric_precision,
       CASE WHEN b.id IN (20, 21, 23, 700, 701) THEN 2 WHEN b.id = 1700 THEN 10 END AS numeric_precision_radix,
       CASE WHEN b.id IN (20, 21, 23) THEN 0
            WHEN b.id = 1700 AND b.mod <> -1 THEN (b.mod - 4) % 65536 END AS numeric_scale,
       CASE WHEN b.id = 1082 THEN 0
            WHEN b.id IN (1083, 1114, 1184, 1266) THEN CASE WHEN b.mod < 0 THEN 6 ELSE b.mod END
            WHEN b.id = 1186
            THEN CASE WHEN b.mod < 0 OR b.mod % 65536 = 65535 THEN 6 ELSE b.mod % 65536 END
            END AS datetime_precision,
       CASE WHEN b.id = 1186 AND b.mod >= 0 AND b.mod / 65536 <> 32767
            THEN pg_catalog.upper(pg_catalog.substr(pg_catalog.format_type(b.id, b.mod), 10))
            END AS interval_type,
       CASE WHEN co.oid IS NOT NULL THEN pg_catalog.current_database() END AS collation_catalog,
       nco.nspname AS collation_schema, co.collname AS collation_name,
       pg_catalog.current_database() AS udt_catalog, bn.nspname AS udt_schema, bt.typname AS udt_name,
       CASE WHEN t.typtype = 'd' THEN pg_catalog.current_database() END AS domain_catalog,
       CASE WHEN t.typtype = 'd' THEN nt.nspname END AS domain_schema,
       CASE WHEN t.typtype = 'd' THEN t.typname END AS domain_name,
       a.attnum::text AS dtd_identifier, 'NO' AS is_self_referencing,
       CASE WHEN a.attidentity IN ('a', 'd') THEN 'YES' ELSE 'NO' END AS is_identity,
       CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' END AS identity_generation,
       s.seqstart::text AS identity_start, s.seqincrement::text AS identity_increment, s.seqmax::text AS identity_maximum,
       s.seqmin::text AS identity_minimum, CASE WHEN s.seqcycle THEN 'YES' ELSE 'NO' END AS identity_cycle,
       CASE WHEN a.attgenerated = '' THEN 'NEVER' ELSE 'ALWAYS' END AS is_generated,
       CASE WHEN a.attgenerated <> '' THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END AS generation_expression,
       CASE WHEN pg_catalog.pg_column_is_updatable(c.oid::pg_catalog.regclass, a.attnum, false) THEN 'YES' ELSE 'NO' END
         AS is_updatable
FROM pg_catalog.pg_namespace n
  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
  JOIN pg_catalog.pg_type t ON a.atttypid = t.oid
  LEFT JOIN pg_catalog.pg_namespace nt ON t.typnamespace = nt.oid
  CROSS JOIN LATERAL (SELECT CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE a.atttypid END AS id,
                             CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END AS mod,
                             CASE WHEN a.attidentity <> '' THEN
                               (SELECT dep.objid FROM pg_catalog.pg_depend dep
                                WHERE dep.classid = 1259 AND dep.refclassid = 1259 AND dep.refobjid = c.oid
                                  AND dep.refobjsubid = a.attnum AND dep.deptype = 'i') END AS sequence) b
  JOIN pg_catalog.pg_type bt ON bt.oid = b.id
  LEFT JOIN pg_catalog.pg_namespace bn ON bn.oid = bt.typnamespace
  LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  LEFT JOIN pg_catalog.pg_sequence s ON s.seqrelid = b.sequence
  LEFT JOIN pg_catalog.pg_collation co ON co.oid = nullif(nullif(a.attcollation, 100), 0)
  LEFT JOIN pg_catalog.pg_namespace nco ON nco.oid = co.collnamespace
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p')
  AND NOT pg_catalog.pg_is_other_temp_schema(n.oid)
  AND (pg_catalog.pg_has_role(c.relowner, 'USAGE')
       OR pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES'))

-- view information_schema.domains
SELECT pg_catalog.current_database() AS domain_catalog, n.nspname AS domain_schema, t.typname AS domain_name,
       CASE WHEN bt.typnamespace = 11 THEN pg_catalog.format_type(b.id, NULL) ELSE 'USER-DEFINED' END AS data_type,
       CASE WHEN b.mod = -1 THEN NULL WHEN b.id IN (1042, 1043) THEN b.mod - 4 WHEN b.id IN (1560, 1562) THEN b.mod END AS character_maximum_length,
       CASE WHEN b.id IN (25, 1042, 1043)
            THEN CASE WHEN b.mod = -1 THEN 1073741824 ELSE (b.mod - 4) * 4 END END AS character_octet_length,
       CASE b.id WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53
            WHEN 1700 THEN CASE WHEN b.mod = -1 THEN NULL ELSE (b.mod - 4) / 65536 END END AS numeric_precision,
       CASE WHEN b.id IN (20, 21, 23, 700, 701) THEN 2 WHEN b.id = 1700 THEN 10 END AS numeric_precision_radix,
       CASE WHEN b.id IN (20, 21, 23) THEN 0
            WHEN b.id = 1700 AND b.mod <> -1 THEN (b.mod - 4) % 65536 END AS numeric_scale,
       CASE WHEN b.id = 1082 THEN 0
            WHEN b.id IN (1083, 1114, 1184, 1266) THEN CASE WHEN b.mod < 0 THEN 6 ELSE b.mod END
            WHEN b.id = 1186
            THEN CASE WHEN b.mod < 0 OR b.mod % 65536 = 65535 THEN 6 ELSE b.mod % 65536 END
            END AS datetime_precision,
       CASE WHEN b.id = 1186 AND b.mod >= 0 AND b.mod / 65536 <> 32767
            THEN pg_catalog.upper(pg_catalog.substr(pg_catalog.format_type(b.id, b.mod), 10))
            END AS interval_type,
       t.typdefault AS domain_default, pg_catalog.current_database() AS udt_catalog, bn.nspname AS udt_schema,
       bt.typname AS udt_name, '1' AS dtd_identifier,
       CASE WHEN co.collname IS NOT NULL THEN pg_catalog.current_database() END AS collation_catalog,
       nco.nspname AS collation_schema, co.collname AS collation_name
FROM pg_catalog.pg_type t
  JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
  CROSS JOIN LATERAL (SELECT t.typbasetype AS id, t.typtypmod AS mod) b
  JOIN pg_catalog.pg_type bt ON bt.oid = b.id
  JOIN pg_catalog.pg_namespace bn ON bn.oid = bt.typnamespace
  LEFT JOIN pg_catalog.pg_collation co ON co.oid = t.typcollation AND co.oid <> 100
  LEFT JOIN pg_catalog.pg_namespace nco ON nco.oid = co.collnamespace
WHERE t.typtype = 'd'
  AND (pg_catalog.pg_has_role(t.typowner, 'USAGE') OR pg_catalog.has_type_privilege(t.oid, 'USAGE'))

-- view information_schema.domain_constraints
SELECT pg_catalog.current_database() AS constraint_catalog, n.nspname AS constraint_schema, c.conname AS constraint_name,
       pg_catalog.current_database() AS domain_catalog, n.nspname AS domain_schema, t.typname AS domain_name,
       'NO' AS is_deferrable, 'NO' AS initially_deferred
FROM pg_catalog.pg_constraint c
  JOIN pg_catalog.pg_type t ON t.oid = c.contypid
  JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype = 'd'
  AND (pg_catalog.pg_has_role(t.typowner, 'USAGE') OR pg_catalog.has_type_privilege(t.oid, 'USAGE'))

-- view information_schema.column_domain_usage
SELECT pg_catalog.current_database() AS domain_catalog, nt.nspname AS domain_schema, t.typname AS domain_name,
       pg_catalog.current_database() AS table_catalog, nc.nspname AS table_schema, c.relname AS table_name,
       a.attname AS column_name
FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_namespace nc ON nc.oid = c.relnamespace
WHERE t.typtype = 'd' AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p')
  AND pg_catalog.pg_has_role(t.typowner, 'USAGE')

-- view information_schema.table_constraints
SELECT pg_catalog.current_database() AS constraint_catalog, nc.nspname AS constraint_schema, c.conname AS constraint_name,
       pg_catalog.current_database() AS table_catalog, nr.nspname AS table_schema, r.relname AS table_name,
       CASE c.contype WHEN 'c' THEN 'CHECK' WHEN 'n' THEN 'CHECK' WHEN 'f' THEN 'FOREIGN KEY' WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' END
         AS constraint_type,
       CASE WHEN c.condeferrable THEN 'YES' ELSE 'NO' END AS is_deferrable,
       CASE WHEN c.condeferred THEN 'YES' ELSE 'NO' END AS initially_deferred,
       CASE WHEN c.conenforced THEN 'YES' ELSE 'NO' END AS enforced,
       CASE WHEN c.contype = 'u' THEN
         (SELECT CASE WHEN i.indnullsnotdistinct THEN 'NO' ELSE 'YES' END FROM pg_catalog.pg_index i WHERE i.indexrelid = c.conindid)
       END AS nulls_distinct
FROM pg_catalog.pg_constraint c
  JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace
  JOIN pg_catalog.pg_class r ON c.conrelid = r.oid
  JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace
WHERE c.contype IN ('c', 'n', 'f', 'p', 'u')
  AND NOT pg_catalog.pg_is_other_temp_schema(nr.oid)
  AND (pg_catalog.pg_has_role(r.relowner, 'USAGE')
       OR pg_catalog.has_table_privilege(r.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
       OR pg_catalog.has_any_column_privilege(r.oid, 'INSERT, UPDATE, REFERENCES'))

-- view information_schema.key_column_usage
SELECT pg_catalog.current_database() AS constraint_catalog, nc.nspname AS constraint_schema, c.conname AS constraint_name,
       pg_catalog.current_database() AS table_catalog, nr.nspname AS table_schema, r.relname AS table_name,
       a.attname AS column_name, k.place::integer AS ordinal_position,
       CASE WHEN c.contype = 'f' THEN
         (SELECT pg_catalog.array_position(u.conkey, k.referenced) FROM pg_catalog.pg_constraint u
          WHERE u.conrelid = c.confrelid AND u.conindid = c.conindid AND u.contype IN ('p', 'u'))
       END AS position_in_unique_constraint
FROM pg_catalog.pg_constraint c
  JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace
  JOIN pg_catalog.pg_class r ON c.conrelid = r.oid
  JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace
  CROSS JOIN LATERAL unnest(c.conkey, c.confkey) WITH ORDINALITY AS k(own, referenced, place)
  JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum = k.own
WHERE c.contype IN ('p', 'u', 'f')
  AND (pg_catalog.pg_has_role(r.relowner, 'USAGE')
       OR pg_catalog.has_column_privilege(r.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES'))

-- view information_schema.constraint_column_usage
SELECT pg_catalog.current_database() AS table_catalog, nr.nspname AS table_schema, r.relname AS table_name,
       a.attname AS column_name,
       pg_catalog.current_database() AS constraint_catalog, nc.nspname AS constraint_schema, c.conname AS constraint_name
FROM pg_catalog.pg_constraint c
  JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace
  JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
  JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace
  CROSS JOIN LATERAL unnest(c.conkey) AS k(own)
  JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum = k.own
WHERE c.contype IN ('c', 'n', 'p', 'u') AND r.relkind IN ('r', 'p')
  AND pg_catalog.pg_has_role(r.relowner, 'USAGE')
UNION ALL
SELECT pg_catalog.current_database(), nr.nspname, r.relname, a.attname, pg_catalog.current_database(), nc.nspname, c.conname
FROM pg_catalog.pg_constraint c
  JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace
  JOIN pg_catalog.pg_class r ON r.oid = c.confrelid
  JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace
  CROSS JOIN LATERAL unnest(c.confkey) AS k(own)
  JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum = k.own
WHERE c.contype = 'f' AND r.relkind IN ('r', 'p')
  AND pg_catalog.pg_has_role(r.relowner, 'USAGE')

-- view information_schema.constraint_table_usage
SELECT pg_catalog.current_database() AS table_catalog, nr.nspname AS table_schema, r.relname AS table_name,
       pg_catalog.current_database() AS constraint_catalog, nc.nspname AS constraint_schema, c.conname AS constraint_name
FROM pg_catalog.pg_constraint c
  JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace
  JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
  JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace
WHERE c.contype IN ('p', 'u') AND r.relkind IN ('r', 'p')
  AND pg_catalog.pg_has_role(r.relowner, 'USAGE')
UNION ALL
SELECT pg_catalog.current_database(), nr.nspname, r.relname, pg_catalog.current_database(), nc.nspname, c.conname
FROM pg_catalog.pg_constraint c
  JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace
  JOIN pg_catalog.pg_class r ON r.oid = c.confrelid
  JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace
WHERE c.contype = 'f' AND r.relkind IN ('r', 'p')
  AND pg_catalog.pg_has_role(r.relowner, 'USAGE')

-- view information_schema.data_type_privileges
SELECT pg_catalog.current_database() AS object_catalog, x.schema AS object_schema, x.name AS object_name,
       x.kind AS object_type, x.dtd AS dtd_identifier
FROM (SELECT udt_schema, udt_name, 'USER-DEFINED TYPE', dtd_identifier FROM information_schema.attributes
      UNION ALL
      SELECT table_schema, table_name, 'TABLE', dtd_identifier FROM information_schema.columns
      UNION ALL
      SELECT domain_schema, domain_name, 'DOMAIN', dtd_identifier FROM information_schema.domains
      UNION ALL
      SELECT specific_schema, specific_name, 'ROUTINE', dtd_identifier FROM information_schema.parameters
      UNION ALL
      SELECT specific_schema, specific_name, 'ROUTINE', dtd_identifier FROM information_schema.routines)
  AS x(schema, name, kind, dtd)

-- view information_schema.referential_constraints
SELECT pg_catalog.current_database() AS constraint_catalog, nc.nspname AS constraint_schema, c.conname AS constraint_name,
       pg_catalog.current_database() AS unique_constraint_catalog, nu.nspname AS unique_constraint_schema,
       u.conname AS unique_constraint_name,
       CASE c.confmatchtype WHEN 'f' THEN 'FULL' WHEN 'p' THEN 'PARTIAL' WHEN 's' THEN 'NONE' END AS match_option,
       CASE c.confupdtype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' WHEN 'r' THEN 'RESTRICT'
            WHEN 'a' THEN 'NO ACTION' END AS update_rule,
       CASE c.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' WHEN 'r' THEN 'RESTRICT'
            WHEN 'a' THEN 'NO ACTION' END AS delete_rule
FROM pg_catalog.pg_constraint c
  JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace
  JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
  LEFT JOIN pg_catalog.pg_constraint u ON u.conrelid = c.confrelid AND u.conindid = c.conindid AND u.contype IN ('p', 'u')
  LEFT JOIN pg_catalog.pg_namespace nu ON nu.oid = u.connamespace
WHERE c.contype = 'f'
  AND (pg_catalog.pg_has_role(r.relowner, 'USAGE')
       OR pg_catalog.has_table_privilege(r.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
       OR pg_catalog.has_any_column_privilege(r.oid, 'INSERT, UPDATE, REFERENCES'))

-- view information_schema.check_constraints
SELECT pg_catalog.current_database() AS constraint_catalog, n.nspname AS constraint_schema, c.conname AS constraint_name,
       pg_catalog.pg_get_expr(c.conbin, c.conrelid) AS check_clause
FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace
  LEFT JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
  LEFT JOIN pg_catalog.pg_type t ON t.oid = c.contypid
WHERE c.contype = 'c' AND pg_catalog.pg_has_role(coalesce(r.relowner, t.typowner), 'USAGE')
UNION ALL
SELECT pg_catalog.current_database(), n.nspname, c.conname, coalesce(a.attname, 'VALUE') || ' IS NOT NULL'
FROM pg_catalog.pg_constraint c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace
  LEFT JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
  LEFT JOIN pg_catalog.pg_type t ON t.oid = c.contypid
  LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
WHERE c.contype = 'n' AND pg_catalog.pg_has_role(coalesce(r.relowner, t.typowner), 'USAGE')

-- view information_schema.check_constraint_routine_usage
SELECT DISTINCT pg_catalog.current_database() AS constraint_catalog, nc.nspname AS constraint_schema,
       c.conname AS constraint_name, pg_catalog.current_database() AS specific_catalog,
       np.nspname AS specific_schema, p.proname || '_' || p.oid::text AS specific_name
FROM pg_catalog.pg_constraint c
  JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace
  JOIN pg_catalog.pg_depend d ON d.classid = 2606 AND d.objid = c.oid AND d.refclassid = 1255
  JOIN pg_catalog.pg_proc p ON p.oid = d.refobjid
  JOIN pg_catalog.pg_namespace np ON np.oid = p.pronamespace
WHERE c.contype = 'c' AND pg_catalog.pg_has_role(p.proowner, 'USAGE')

-- view information_schema.sequences
SELECT pg_catalog.current_database() AS sequence_catalog, n.nspname AS sequence_schema, c.relname AS sequence_name,
       pg_catalog.format_type(s.seqtypid, NULL) AS data_type,
       CASE s.seqtypid WHEN 21 THEN 16 WHEN 23 THEN 32 ELSE 64 END AS numeric_precision,
       2 AS numeric_precision_radix, 0 AS numeric_scale,
       s.seqstart::text AS start_value, s.seqmin::text AS minimum_value, s.seqmax::text AS maximum_value,
       s.seqincrement::text AS increment, CASE WHEN s.seqcycle THEN 'YES' ELSE 'NO' END AS cycle_option
FROM pg_catalog.pg_sequence s
  JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d WHERE d.classid = 1259 AND d.objid = c.oid AND d.deptype = 'i')
  AND NOT pg_catalog.pg_is_other_temp_schema(n.oid)
  AND (pg_catalog.pg_has_role(c.relowner, 'USAGE')
       OR CASE WHEN c.relkind = 'S' THEN pg_catalog.has_sequence_privilege(c.oid, 'SELECT, UPDATE, USAGE') END)

-- view information_schema.routines
SELECT pg_catalog.current_database() AS specific_catalog, n.nspname AS specific_schema,
       p.proname || '_' || p.oid::text AS specific_name,
       pg_catalog.current_database() AS routine_catalog, n.nspname AS routine_schema, p.proname AS routine_name,
       CASE p.prokind WHEN 'f' THEN 'FUNCTION' WHEN 'p' THEN 'PROCEDURE' END AS routine_type,
       CASE WHEN p.prokind = 'p' THEN NULL
            WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY'
            WHEN nt.nspname = 'pg_catalog' THEN pg_catalog.format_type(t.oid, NULL)
            ELSE 'USER-DEFINED' END AS data_type,
       CASE WHEN nt.nspname IS NOT NULL THEN pg_catalog.current_database() END AS type_udt_catalog,
       nt.nspname AS type_udt_schema, t.typname AS type_udt_name,
       CASE WHEN p.prokind <> 'p' THEN '0' END AS dtd_identifier,
       CASE WHEN l.lanname = 'sql' THEN 'SQL' ELSE 'EXTERNAL' END AS routine_body,
       CASE WHEN pg_catalog.pg_has_role(p.proowner, 'USAGE') THEN p.prosrc END AS routine_definition,
       pg_catalog.upper(l.lanname) AS external_language, 'GENERAL' AS parameter_style,
       CASE WHEN p.provolatile = 'i' THEN 'YES' ELSE 'NO' END AS is_deterministic, 'MODIFIES' AS sql_data_access,
       CASE WHEN p.prokind <> 'p' THEN CASE WHEN p.proisstrict THEN 'YES' ELSE 'NO' END END AS is_null_call,
       'YES' AS schema_level_routine, 0 AS max_dynamic_result_sets,
       CASE WHEN p.prosecdef THEN 'DEFINER' ELSE 'INVOKER' END AS security_type, 'NO' AS as_locator, 'NO' AS is_udt_dependent
FROM pg_catalog.pg_namespace n
  JOIN pg_catalog.pg_proc p ON n.oid = p.pronamespace
  JOIN pg_catalog.pg_language l ON p.prolang = l.oid
  LEFT JOIN pg_catalog.pg_type t ON p.prorettype = t.oid AND p.prokind <> 'p'
  LEFT JOIN pg_catalog.pg_namespace nt ON t.typnamespace = nt.oid
WHERE pg_catalog.pg_has_role(p.proowner, 'USAGE') OR pg_catalog.has_function_privilege(p.oid, 'EXECUTE')

-- view information_schema.parameters
SELECT pg_catalog.current_database() AS specific_catalog, n.nspname AS specific_schema,
       p.proname || '_' || p.oid::text AS specific_name, a.place::integer AS ordinal_position,
       CASE coalesce(a.mode, 'i') WHEN 'i' THEN 'IN' WHEN 'o' THEN 'OUT' WHEN 'b' THEN 'INOUT' WHEN 'v' THEN 'IN' WHEN 't' THEN 'OUT' END
         AS parameter_mode,
       'NO' AS is_result, 'NO' AS as_locator, nullif(a.name, '') AS parameter_name,
       CASE WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY'
            WHEN nt.nspname = 'pg_catalog' THEN pg_catalog.format_type(t.oid, NULL)
            ELSE 'USER-DEFINED' END AS data_type,
       pg_catalog.current_database() AS udt_catalog, nt.nspname AS udt_schema, t.typname AS udt_name,
       a.place::text AS dtd_identifier,
       CASE WHEN pg_catalog.pg_has_role(p.proowner, 'USAGE')
            THEN pg_catalog.pg_get_function_arg_default(p.oid, a.place::integer) END AS parameter_default
FROM pg_catalog.pg_namespace n
  JOIN pg_catalog.pg_proc p ON n.oid = p.pronamespace
  CROSS JOIN LATERAL unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargmodes::text[], p.proargnames)
    WITH ORDINALITY AS a(type, mode, name, place)
  JOIN pg_catalog.pg_type t ON t.oid = a.type
  JOIN pg_catalog.pg_namespace nt ON t.typnamespace = nt.oid
WHERE pg_catalog.pg_has_role(p.proowner, 'USAGE') OR pg_catalog.has_function_privilege(p.oid, 'EXECUTE')

-- view information_schema.character_sets
SELECT 'UTF8' AS character_set_name, 'UCS' AS character_repertoire, 'UTF8' AS form_of_use,
       pg_catalog.current_database() AS default_collate_catalog, 'pg_catalog' AS default_collate_schema, 'C' AS default_collate_name

-- view information_schema.collations
SELECT pg_catalog.current_database() AS collation_catalog, n.nspname AS collation_schema, c.collname AS collation_name,
       'NO PAD' AS pad_attribute
FROM pg_catalog.pg_collation c JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace

-- view information_schema.triggers
SELECT pg_catalog.current_database() AS trigger_catalog, n.nspname AS trigger_schema, t.tgname AS trigger_name,
       em.text AS event_manipulation, pg_catalog.current_database() AS event_object_catalog,
       n.nspname AS event_object_schema, c.relname AS event_object_table,
       rank() OVER (PARTITION BY n.nspname, c.relname, em.num, t.tgtype::int4 & 1, t.tgtype::int4 & 66 ORDER BY t.tgname) AS action_order,
       CASE WHEN pg_catalog.pg_has_role(c.relowner, 'USAGE')
            THEN (pg_catalog.regexp_match(pg_catalog.pg_get_triggerdef(t.oid), '.{35,} WHEN \((.+)\) EXECUTE FUNCTION'))[1] END
         AS action_condition,
       pg_catalog.substring(pg_catalog.pg_get_triggerdef(t.oid), pg_catalog.strpos(pg_catalog.pg_get_triggerdef(t.oid), 'EXECUTE FUNCTION'))
         AS action_statement,
       CASE t.tgtype::int4 & 1 WHEN 1 THEN 'ROW' ELSE 'STATEMENT' END AS action_orientation,
       CASE t.tgtype::int4 & 66 WHEN 2 THEN 'BEFORE' WHEN 64 THEN 'INSTEAD OF' ELSE 'AFTER' END AS action_timing,
       t.tgoldtable AS action_reference_old_table, t.tgnewtable AS action_reference_new_table
FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
     JOIN pg_catalog.pg_trigger t ON t.tgrelid = c.oid
     JOIN (VALUES (4, 'INSERT'), (8, 'DELETE'), (16, 'UPDATE')) em(num, text) ON t.tgtype::int4 & em.num <> 0
WHERE NOT t.tgisinternal AND NOT pg_catalog.pg_is_other_temp_schema(n.oid)
  AND (pg_catalog.pg_has_role(c.relowner, 'USAGE')
       OR pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
       OR pg_catalog.has_any_column_privilege(c.oid, 'INSERT, UPDATE, REFERENCES'));

-- view information_schema.views
SELECT pg_catalog.current_database() AS table_catalog, nc.nspname AS table_schema, c.relname AS table_name,
       CASE WHEN pg_catalog.pg_has_role(c.relowner, 'USAGE') THEN pg_catalog.pg_get_viewdef(c.oid) END AS view_definition,
       CASE WHEN 'check_option=cascaded' = ANY (c.reloptions) THEN 'CASCADED'
            WHEN 'check_option=local' = ANY (c.reloptions) THEN 'LOCAL' ELSE 'NONE' END AS check_option,
       CASE WHEN pg_catalog.pg_relation_is_updatable(c.oid::pg_catalog.regclass, false) & 20 = 20 THEN 'YES' ELSE 'NO' END
         AS is_updatable,
       CASE WHEN pg_catalog.pg_relation_is_updatable(c.oid::pg_catalog.regclass, false) & 8 = 8 THEN 'YES' ELSE 'NO' END
         AS is_insertable_into,
       CASE WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_trigger tr WHERE tr.tgrelid = c.oid AND tr.tgtype & 81 = 81) THEN 'YES' ELSE 'NO' END
         AS is_trigger_updatable,
       CASE WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_trigger tr WHERE tr.tgrelid = c.oid AND tr.tgtype & 73 = 73) THEN 'YES' ELSE 'NO' END
         AS is_trigger_deletable,
       CASE WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_trigger tr WHERE tr.tgrelid = c.oid AND tr.tgtype & 69 = 69) THEN 'YES' ELSE 'NO' END
         AS is_trigger_insertable_into
FROM pg_catalog.pg_namespace nc JOIN pg_catalog.pg_class c ON c.relnamespace = nc.oid
WHERE c.relkind = 'v' AND nc.nspname NOT IN ('pg_catalog', 'information_schema')
  AND NOT pg_catalog.pg_is_other_temp_schema(nc.oid)
  AND (pg_catalog.pg_has_role(c.relowner, 'USAGE')
       OR pg_catalog.has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
       OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))

-- view information_schema.attributes
SELECT pg_catalog.current_database() AS udt_catalog, n.nspname AS udt_schema, c.relname AS udt_name,
       a.attname AS attribute_name, a.attnum::integer AS ordinal_position,
       CASE WHEN a.attnotnull OR t.typtype = 'd' AND t.typnotnull THEN 'NO' ELSE 'YES' END AS is_nullable,
       CASE WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY'
            WHEN t.typnamespace = 11 THEN pg_catalog.format_type(b.id, NULL) ELSE 'USER-DEFINED' END AS data_type,
       CASE WHEN b.mod = -1 THEN NULL WHEN b.id IN (1042, 1043) THEN b.mod - 4 WHEN b.id IN (1560, 1562) THEN b.mod END AS character_maximum_length,
       CASE WHEN b.id IN (25, 1042, 1043)
            THEN CASE WHEN b.mod = -1 THEN 1073741824 ELSE (b.mod - 4) * 4 END END AS character_octet_length,
       CASE b.id WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53
            WHEN 1700 THEN CASE WHEN b.mod = -1 THEN NULL ELSE (b.mod - 4) / 65536 END END AS numeric_precision,
       CASE WHEN b.id IN (20, 21, 23, 700, 701) THEN 2 WHEN b.id = 1700 THEN 10 END AS numeric_precision_radix,
       CASE WHEN b.id IN (20, 21, 23) THEN 0
            WHEN b.id = 1700 AND b.mod <> -1 THEN (b.mod - 4) % 65536 END AS numeric_scale,
       CASE WHEN b.id = 1082 THEN 0
            WHEN b.id IN (1083, 1114, 1184, 1266) THEN CASE WHEN b.mod < 0 THEN 6 ELSE b.mod END
            WHEN b.id = 1186
            THEN CASE WHEN b.mod < 0 OR b.mod % 65536 = 65535 THEN 6 ELSE b.mod % 65536 END
            END AS datetime_precision,
       CASE WHEN b.id = 1186 AND b.mod >= 0 AND b.mod / 65536 <> 32767
            THEN pg_catalog.upper(pg_catalog.substr(pg_catalog.format_type(b.id, b.mod), 10))
            END AS interval_type,
       pg_catalog.current_database() AS attribute_udt_catalog, nt.nspname AS attribute_udt_schema,
       t.typname AS attribute_udt_name, a.attnum::text AS dtd_identifier, 'NO' AS is_derived_reference_attribute
FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON a.attrelid = c.oid
  JOIN pg_catalog.pg_namespace n ON c.relnamespace = n.oid
  JOIN pg_catalog.pg_type t ON a.atttypid = t.oid
  JOIN pg_catalog.pg_namespace nt ON t.typnamespace = nt.oid
  CROSS JOIN LATERAL (SELECT CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE a.atttypid END AS id,
                             CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END AS mod) b
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind = 'c'
  AND (pg_catalog.pg_has_role(c.relowner, 'USAGE') OR pg_catalog.has_type_privilege(c.reltype, 'USAGE'))

-- view information_schema.user_defined_types
SELECT pg_catalog.current_database() AS user_defined_type_catalog, n.nspname AS user_defined_type_schema,
       c.relname AS user_defined_type_name, 'STRUCTURED' AS user_defined_type_category, 'YES' AS is_instantiable
FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON c.relnamespace = n.oid
WHERE c.relkind = 'c' AND (pg_catalog.pg_has_role(c.relowner, 'USAGE') OR pg_catalog.has_type_privilege(c.reltype, 'USAGE'))

-- view information_schema.element_types
SELECT pg_catalog.current_database() AS object_catalog, n.nspname AS object_schema, x.name AS object_name,
       x.kind AS object_type, x.dtd AS collection_type_identifier,
       CASE WHEN et.typnamespace = 11 THEN pg_catalog.format_type(et.oid, NULL) ELSE 'USER-DEFINED' END AS data_type,
       pg_catalog.current_database() AS udt_catalog, en.nspname AS udt_schema, et.typname AS udt_name,
       'a' || x.dtd AS dtd_identifier
FROM (SELECT c.relnamespace AS schema, c.relname AS name, CASE WHEN c.relkind = 'c' THEN 'USER-DEFINED TYPE' ELSE 'TABLE' END AS kind,
             a.attnum::text AS dtd, a.atttypid AS type
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
      WHERE c.relkind IN ('r', 'v', 'f', 'c', 'p') AND a.attnum > 0 AND NOT a.attisdropped
        AND (c.relkind = 'c' OR pg_catalog.pg_has_role(c.relowner, 'USAGE')
             OR pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES'))
      UNION ALL
      SELECT t.typnamespace, t.typname, 'DOMAIN', '1', t.typbasetype FROM pg_catalog.pg_type t
      WHERE t.typtype = 'd' AND (pg_catalog.pg_has_role(t.typowner, 'USAGE') OR pg_catalog.has_type_privilege(t.oid, 'USAGE'))
      UNION ALL
      SELECT p.pronamespace, p.proname || '_' || p.oid::text, 'ROUTINE', g.place::text, g.type
      FROM pg_catalog.pg_proc p
        CROSS JOIN LATERAL unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY AS g(type, place)
      WHERE pg_catalog.pg_has_role(p.proowner, 'USAGE') OR pg_catalog.has_function_privilege(p.oid, 'EXECUTE')
      UNION ALL
      SELECT p.pronamespace, p.proname || '_' || p.oid::text, 'ROUTINE', '0', p.prorettype FROM pg_catalog.pg_proc p
      WHERE pg_catalog.pg_has_role(p.proowner, 'USAGE') OR pg_catalog.has_function_privilege(p.oid, 'EXECUTE')) x
  JOIN pg_catalog.pg_namespace n ON n.oid = x.schema
  JOIN pg_catalog.pg_type t ON t.oid = x.type
  JOIN pg_catalog.pg_type et ON et.oid = t.typelem
  JOIN pg_catalog.pg_namespace en ON en.oid = et.typnamespace
WHERE t.typelem <> 0 AND t.typlen = -1

-- view information_schema.view_table_usage
SELECT DISTINCT pg_catalog.current_database() AS view_catalog, nv.nspname AS view_schema, v.relname AS view_name,
       pg_catalog.current_database() AS table_catalog, nt.nspname AS table_schema, t.relname AS table_name
FROM pg_catalog.pg_rewrite r
  JOIN pg_catalog.pg_class v ON v.oid = r.ev_class
  JOIN pg_catalog.pg_namespace nv ON nv.oid = v.relnamespace
  JOIN pg_catalog.pg_depend d ON d.classid = 2618 AND d.objid = r.oid AND d.refclassid = 1259 AND d.deptype = 'n'
  JOIN pg_catalog.pg_class t ON t.oid = d.refobjid
  JOIN pg_catalog.pg_namespace nt ON nt.oid = t.relnamespace
WHERE v.relkind = 'v' AND t.relkind IN ('r', 'v', 'f', 'p') AND v.oid <> t.oid AND pg_catalog.pg_has_role(t.relowner, 'USAGE')

-- view information_schema.view_column_usage
SELECT DISTINCT pg_catalog.current_database() AS view_catalog, nv.nspname AS view_schema, v.relname AS view_name,
       pg_catalog.current_database() AS table_catalog, nt.nspname AS table_schema, t.relname AS table_name,
       a.attname AS column_name
FROM pg_catalog.pg_rewrite r
  JOIN pg_catalog.pg_class v ON v.oid = r.ev_class
  JOIN pg_catalog.pg_namespace nv ON nv.oid = v.relnamespace
  JOIN pg_catalog.pg_depend d ON d.classid = 2618 AND d.objid = r.oid AND d.refclassid = 1259 AND d.deptype = 'n'
  JOIN pg_catalog.pg_class t ON t.oid = d.refobjid
  JOIN pg_catalog.pg_namespace nt ON nt.oid = t.relnamespace
  JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
WHERE v.relkind = 'v' AND t.relkind IN ('r', 'v', 'f', 'p') AND v.oid <> t.oid AND pg_catalog.pg_has_role(t.relowner, 'USAGE')

-- view information_schema.view_routine_usage
SELECT DISTINCT pg_catalog.current_database() AS table_catalog, nv.nspname AS table_schema, v.relname AS table_name,
       pg_catalog.current_database() AS specific_catalog, np.nspname AS specific_schema,
       p.proname || '_' || p.oid::text AS specific_name
FROM pg_catalog.pg_rewrite r
  JOIN pg_catalog.pg_class v ON v.oid = r.ev_class
  JOIN pg_catalog.pg_namespace nv ON nv.oid = v.relnamespace
  JOIN pg_catalog.pg_depend d ON d.classid = 2618 AND d.objid = r.oid AND d.refclassid = 1255 AND d.deptype = 'n'
  JOIN pg_catalog.pg_proc p ON p.oid = d.refobjid
  JOIN pg_catalog.pg_namespace np ON np.oid = p.pronamespace
WHERE v.relkind = 'v' AND pg_catalog.pg_has_role(p.proowner, 'USAGE')

-- view information_schema.column_column_usage
SELECT DISTINCT pg_catalog.current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
       ac.attname AS column_name, ad.attname AS dependent_column
FROM pg_catalog.pg_attrdef at
  JOIN pg_catalog.pg_depend d ON d.classid = 2604 AND d.objid = at.oid AND d.refclassid = 1259 AND d.deptype = 'n'
  JOIN pg_catalog.pg_class c ON c.oid = at.adrelid AND c.oid = d.refobjid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_attribute ac ON ac.attrelid = c.oid AND ac.attnum = d.refobjsubid
  JOIN pg_catalog.pg_attribute ad ON ad.attrelid = c.oid AND ad.attnum = at.adnum
WHERE ad.attgenerated <> '' AND ac.attnum <> ad.attnum AND pg_catalog.pg_has_role(c.relowner, 'USAGE')

-- view information_schema.column_udt_usage
SELECT pg_catalog.current_database() AS udt_catalog, coalesce(nb.nspname, nt.nspname) AS udt_schema,
       coalesce(b.typname, t.typname) AS udt_name, pg_catalog.current_database() AS table_catalog,
       n.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name
FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  JOIN pg_catalog.pg_namespace nt ON nt.oid = t.typnamespace
  LEFT JOIN pg_catalog.pg_type b ON t.typtype = 'd' AND b.oid = t.typbasetype
  LEFT JOIN pg_catalog.pg_namespace nb ON nb.oid = b.typnamespace
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p')
  AND pg_catalog.pg_has_role(coalesce(b.typowner, t.typowner), 'USAGE')

-- view information_schema.domain_udt_usage
SELECT pg_catalog.current_database() AS udt_catalog, nb.nspname AS udt_schema, b.typname AS udt_name,
       pg_catalog.current_database() AS domain_catalog, n.nspname AS domain_schema, t.typname AS domain_name
FROM pg_catalog.pg_type t
  JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
  JOIN pg_catalog.pg_type b ON b.oid = t.typbasetype
  JOIN pg_catalog.pg_namespace nb ON nb.oid = b.typnamespace
WHERE t.typtype = 'd' AND pg_catalog.pg_has_role(b.typowner, 'USAGE')

-- view information_schema.applicable_roles
SELECT m.rolname AS grantee, r.rolname AS role_name,
       CASE WHEN a.admin_option OR pg_catalog.pg_has_role(m.oid, 'USAGE') AND a.admin_option THEN 'YES' ELSE 'NO' END AS is_grantable
FROM pg_catalog.pg_auth_members a
  JOIN pg_catalog.pg_roles m ON m.oid = a.member
  JOIN pg_catalog.pg_roles r ON r.oid = a.roleid
WHERE pg_catalog.pg_has_role(m.oid, 'USAGE')

-- view information_schema.administrable_role_authorizations
SELECT grantee, role_name, is_grantable FROM information_schema.applicable_roles WHERE is_grantable = 'YES'

-- view information_schema.triggered_update_columns
SELECT pg_catalog.current_database() AS trigger_catalog, n.nspname AS trigger_schema, t.tgname AS trigger_name,
       pg_catalog.current_database() AS event_object_catalog, n.nspname AS event_object_schema,
       c.relname AS event_object_table, a.attname AS event_object_column
FROM pg_catalog.pg_trigger t
  CROSS JOIN LATERAL unnest(t.tgattr::int2[]) AS u(attnum)
  JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = u.attnum
WHERE NOT t.tgisinternal AND NOT pg_catalog.pg_is_other_temp_schema(n.oid)
  AND (pg_catalog.pg_has_role(c.relowner, 'USAGE') OR pg_catalog.has_column_privilege(c.oid, a.attnum, 'INSERT, UPDATE, REFERENCES'))

-- view information_schema.collation_character_set_applicability
SELECT pg_catalog.current_database() AS collation_catalog, n.nspname AS collation_schema, c.collname AS collation_name,
       'UTF8' AS character_set_name
FROM pg_catalog.pg_collation c JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace
WHERE c.collencoding IN (-1, 6)

