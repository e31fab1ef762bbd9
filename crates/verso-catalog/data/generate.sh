#!/usr/bin/env bash
# Writes the data files of the system catalogs from a PostgreSQL server: relations.tsv here (names, numbers and columns
# of every relation of pg_catalog and information_schema), the fixed rows of pg_type, pg_proc and their relatives in
# ../../verso-session/data, and the names of functions' parameters in ../../verso-exec/data. Verso leaves out at run time what it has not: types that it does not know, and functions
# and operators that use them or that its own registry lacks.
#
#     PGHOST=… PGPORT=… PGUSER=… ./generate.sh
set -euo pipefail
cd "$(dirname "$0")"
rows=../../verso-session/data
functions=../../verso-exec/data
ask() { psql -X -q -v ON_ERROR_STOP=1 -d template1 -c "copy ($1) to stdout"; }

# What Verso has or may have; other types' functions would only make the files larger.
types="'bool','bytea','char','name','int8','int2','int4','regproc','text','oid','tid','xid','cid','json','jsonb','jsonpath',
 'float4','float8','unknown','bpchar','varchar','date','time','timetz','timestamp','timestamptz','interval','numeric','uuid',
 'refcursor','regprocedure','regoper','regoperator','regclass','regtype','regrole','regnamespace','regcollation',
 'int2vector','oidvector','pg_node_tree','aclitem','pg_lsn','xid8','pg_snapshot','txid_snapshot','inet','record','cstring','any','anyarray','void',
 'trigger','event_trigger','internal','anyelement','anynonarray','anyenum','anycompatible','anycompatiblearray',
 'anycompatiblenonarray','language_handler','index_am_handler','table_am_handler','bit','varbit','cidr','macaddr','macaddr8','money',
 'int4range','int8range','numrange','tsrange','tstzrange','daterange','int4multirange','int8multirange','nummultirange',
 'tsmultirange','tstzmultirange','datemultirange','anyrange','anymultirange','anycompatiblerange','anycompatiblemultirange',
 'tsvector','tsquery','regconfig','regdictionary','point','lseg','path','box','polygon','line','circle'"
known="(select oid from pg_type where typname in ($types) union select typarray from pg_type where typname in ($types) and typarray <> 0)"

ask "select n.nspname, c.relname, c.oid, c.relkind, c.reltype,
        (select string_agg(a.attname || ' ' ||
             case when t.typtype = 'd' then t.typbasetype when t.typtype = 'c' or t.typname in ('pg_ndistinct','pg_dependencies','pg_mcv_list','_pg_statistic') then 25 else a.atttypid end
             || ' ' || case when t.typtype = 'd' then t.typtypmod else a.atttypmod end
             || ' ' || case when a.attnotnull then 1 else 0 end
             || case when t.typtype = 'd' then ' ' || a.atttypid else '' end, ',' order by a.attnum)
         from pg_attribute a join pg_type t on t.oid = a.atttypid where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('pg_catalog', 'information_schema') and c.relkind in ('r', 'v')
     order by n.nspname, c.relname" > relations.tsv

ask "select oid, typname, typnamespace, 10, typlen, typbyval, typtype, typcategory, typispreferred, typisdefined, typdelim,
        0, typsubscript::oid, typelem, typarray, typinput::oid, typoutput::oid, typreceive::oid, typsend::oid, typmodin::oid,
        typmodout::oid, typanalyze::oid, typalign, typstorage, typnotnull, typbasetype, typtypmod, typndims, typcollation,
        null, case when typtype = 'd' then typdefault end, null
     from pg_type where oid in $known or typname in ('xml', '_xml')
        or typnamespace = 'information_schema'::regnamespace and typname ~ '^_?(cardinal_number|character_data|sql_identifier|time_stamp|yes_or_no)\$'
     order by oid" > $rows/pg_type.tsv

# A function is kept in any case where another catalog's row refers to it: the first column says so.
ask "select case when oid in (select unnest(array[typinput, typoutput, typreceive, typsend, typmodin, typmodout, typsubscript, typanalyze]::oid[])
                from pg_type where oid in $known)
          or oid in (select unnest(array[oprcode, oprrest, oprjoin]::oid[]) from pg_operator where (oprleft = 0 or oprleft in $known) and oprright in $known)
          or oid in (select castfunc from pg_cast where castsource in $known and casttarget in $known)
          or oid in (select unnest(array[aggtransfn, aggfinalfn, aggcombinefn]::oid[]) from pg_aggregate a join pg_proc p on p.oid = a.aggfnoid and p.proargtypes::oid[] <@ array(select oid from $known k))
          or oid in (select amhandler from pg_am)
          or oid in (select unnest(array[lanplcallfoid, laninline, lanvalidator]) from pg_language)
          or oid in (select amproc from pg_amproc where amproclefttype in $known)
          or oid in (select unnest(array[prsstart, prstoken, prsend, prsheadline, prslextype]::oid[]) from pg_ts_parser)
          or oid in (select unnest(array[tmplinit, tmpllexize]::oid[]) from pg_ts_template where tmplname in ('simple', 'snowball'))
          or proname in ('tsvector_update_trigger', 'tsvector_update_trigger_column', 'suppress_redundant_updates_trigger')
          or proname in ('xml_in', 'xml_out', 'xml_recv', 'xml_send')
          or proname in ('enum_in', 'enum_out', 'enum_recv', 'enum_send', 'domain_in', 'domain_recv') then 1 else 0 end,
        oid, proname, pronamespace, 10, prolang, procost, prorows, provariadic, prosupport::oid, prokind, prosecdef, proleakproof,
        proisstrict, proretset, provolatile, proparallel, pronargs, pronargdefaults, prorettype, proargtypes, proallargtypes,
        proargmodes, proargnames, null, null, prosrc, probin, null, null, null
     from pg_proc where pronamespace = 11 and (proname in ('xml_in', 'xml_out', 'xml_recv', 'xml_send')
        or prorettype in $known and proargtypes::oid[] <@ array(select oid from $known k)
        and (proallargtypes is null or proallargtypes <@ array(select oid from $known k))) order by oid" > $rows/pg_proc.tsv

# The names of the parameters of functions, and their defaults, for calls with arguments by name.
ask "select distinct p.proname, array_to_string(p.proargnames[1:p.pronargs], ','),
        (select string_agg(coalesce(pg_get_function_arg_default(p.oid, n), ''), '|' order by n) from generate_series(1, p.pronargs) n)
     from pg_proc p
     where p.pronamespace = 11 and p.pronargs > 0 and p.prokind = 'f' and p.proname !~ 'xml' and p.proargnames is not null
        and not exists (select from unnest(p.proargnames[1:p.pronargs]) name where name = '') order by 1, 2" > $functions/parameters.tsv

ask "select oid, oprname, oprnamespace, 10, oprkind, oprcanmerge, oprcanhash, oprleft, oprright, oprresult, oprcom, oprnegate,
        oprcode::oid, oprrest::oid, oprjoin::oid
     from pg_operator where (oprleft = 0 or oprleft in $known) and oprright in $known and oprresult in $known order by oid" > $rows/pg_operator.tsv
ask "select * from pg_cast where castsource in $known and casttarget in $known order by oid" > $rows/pg_cast.tsv
ask "select oid, amname, amhandler::oid, amtype from pg_am order by oid" > $rows/pg_am.tsv
ask "select oid, opcmethod, opcname, opcnamespace, 10, opcfamily, opcintype, opcdefault, opckeytype
     from pg_opclass where opcmethod = 403 and opcintype in $known order by oid" > $rows/pg_opclass.tsv
# Those of hash, GiST and SP-GiST that pg_index.indclass names (relations.rs, class_of): a B+tree stands in for their indexes.
stood_in="(10011, 10017, 10019, 10020, 10021, 10037, 10040, 10046, 10049, 10066, 10078, 10079, 10082)"
ask "select oid, opcmethod, opcname, opcnamespace, 10, opcfamily, opcintype, opcdefault, opckeytype
     from pg_opclass where oid in $stood_in order by oid" >> $rows/pg_opclass.tsv
ask "select oid, opfmethod, opfname, opfnamespace, 10 from pg_opfamily where oid in (select opcfamily from pg_opclass where opcmethod = 403 and opcintype in $known) order by oid" > $rows/pg_opfamily.tsv
ask "select oid, opfmethod, opfname, opfnamespace, 10 from pg_opfamily where oid in (select opcfamily from pg_opclass where oid in $stood_in) order by oid" >> $rows/pg_opfamily.tsv
ask "select oid, amopfamily, amoplefttype, amoprighttype, amopstrategy, amoppurpose, amopopr, amopmethod, amopsortfamily
     from pg_amop where amopmethod = 403 and amoplefttype in $known and amoprighttype in $known
        or amopfamily in (2745, 3659, 4036, 4037) order by oid" > $rows/pg_amop.tsv
ask "select oid, amprocfamily, amproclefttype, amprocrighttype, amprocnum, amproc::oid
     from pg_amproc where amprocfamily in (select oid from pg_opfamily where opfmethod = 403) and amproclefttype in $known and amprocrighttype in $known order by oid" > $rows/pg_amproc.tsv
ask "select aggfnoid::oid, aggkind, aggnumdirectargs, aggtransfn::oid, aggfinalfn::oid, aggcombinefn::oid, aggserialfn::oid, aggdeserialfn::oid,
        aggmtransfn::oid, aggminvtransfn::oid, aggmfinalfn::oid, aggfinalextra, aggmfinalextra, aggfinalmodify, aggmfinalmodify, aggsortop,
        aggtranstype, aggtransspace, aggmtranstype, aggmtransspace, agginitval, aggminitval
     from pg_aggregate a join pg_proc p on p.oid = a.aggfnoid where p.proargtypes::oid[] <@ array(select oid from $known k) order by 1" > $rows/pg_aggregate.tsv
ask "select oid, collname, collnamespace, 10, collprovider, collisdeterministic, collencoding, collcollate, collctype, colllocale, collicurules, collversion
     from pg_collation where collname in ('default', 'C', 'POSIX', 'ucs_basic') order by oid" > $rows/pg_collation.tsv
ask "select rngtypid, rngsubtype, rngmultitypid, rngcollation, rngsubopc, rngcanonical::oid, rngsubdiff::oid from pg_range where rngtypid in $known order by 1" > $rows/pg_range.tsv
ask "select oid, lanname, 10, lanispl, lanpltrusted, lanplcallfoid, laninline, lanvalidator, null from pg_language order by oid" > $rows/pg_language.tsv
ask "select oid, cfgname, cfgnamespace, 10, cfgparser from pg_ts_config order by oid" > $rows/pg_ts_config.tsv
ask "select * from pg_ts_config_map order by mapcfg, maptokentype, mapseqno" > $rows/pg_ts_config_map.tsv
ask "select oid, dictname, dictnamespace, 10, dicttemplate, dictinitoption from pg_ts_dict order by oid" > $rows/pg_ts_dict.tsv
ask "select oid, prsname, prsnamespace, prsstart::oid, prstoken::oid, prsend::oid, prsheadline::oid, prslextype::oid from pg_ts_parser order by oid" > $rows/pg_ts_parser.tsv
ask "select oid, tmplname, tmplnamespace, tmplinit::oid, tmpllexize::oid from pg_ts_template where tmplname in ('simple', 'snowball') order by oid" > $rows/pg_ts_template.tsv
ask "select d.objoid, d.classoid, d.objsubid, d.description from pg_description d
     where d.classoid = 'pg_type'::regclass and d.objoid in $known
        or d.classoid = 'pg_proc'::regclass and d.objoid in (select oid from pg_proc where prorettype in $known and proargtypes::oid[] <@ array(select oid from $known k))
        or d.classoid = 'pg_operator'::regclass and d.objoid in (select oid from pg_operator where (oprleft = 0 or oprleft in $known) and oprright in $known)
        or d.classoid in ('pg_ts_config'::regclass, 'pg_ts_dict'::regclass, 'pg_ts_parser'::regclass)
        or d.classoid = 'pg_ts_template'::regclass and d.objoid in (select oid from pg_ts_template where tmplname in ('simple', 'snowball'))
        or d.classoid in ('pg_am'::regclass, 'pg_language'::regclass, 'pg_namespace'::regclass, 'pg_collation'::regclass)
     order by 2, 1" > $rows/pg_description.tsv
