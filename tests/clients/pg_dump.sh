# pg_dump, pg_dumpall and pg_restore of PostgreSQL 18: a schema with objects of every kind, dumped, restored and dumped again; the dumps are equal.
# Where a PostgreSQL server comes with them, the dump goes through that one, too.
set -eu
bin=$1
here=$(cd "$(dirname "$0")" && pwd)
dump() { "$bin/pg_dump" -h "$PGHOST" -p "$PGPORT" -U "$PGUSER" "$@"; }
# What differs from run to run.
plain() { grep -v '^\\\(un\)\?restrict\|^-- Dumped \|^$' "$1"; }
run() { "$bin/psql" -X -q -v ON_ERROR_STOP=1 "$@"; }
run -c 'DROP SCHEMA IF EXISTS dumped CASCADE' -c 'DROP ROLE IF EXISTS dump_reader' -c 'CREATE ROLE dump_reader' 2> /dev/null
run -f "$here/pg_dump.sql"
dump -n dumped > "$WORK/first.sql"
dump -n dumped -Fc > "$WORK/first.dump"
dump -n dumped -Fd -j 2 -f "$WORK/first.folder"
"$bin/pg_restore" -l "$WORK/first.dump" > "$WORK/list"
grep -q 'TABLE DATA dumped parents' "$WORK/list"
for form in sql dump folder; do
  run -c 'DROP SCHEMA dumped CASCADE' 2> /dev/null
  case $form in
    sql) run -f "$WORK/first.sql" > /dev/null ;;
    dump) "$bin/pg_restore" -d "$PGDATABASE" --exit-on-error "$WORK/first.dump" ;;
    folder) "$bin/pg_restore" -d "$PGDATABASE" --exit-on-error -j 2 "$WORK/first.folder" ;;
  esac
  dump -n dumped > "$WORK/again.sql"
  plain "$WORK/first.sql" > "$WORK/a"; plain "$WORK/again.sql" > "$WORK/b"
  diff "$WORK/a" "$WORK/b" || { echo "restored from $form it is something else"; exit 1; }
done
# A server of one file has this database only.
"$bin/pg_dumpall" -h "$PGHOST" -p "$PGPORT" -U "$PGUSER" -l "$PGDATABASE" -g > "$WORK/globals.sql"
grep -q 'CREATE ROLE dump_reader' "$WORK/globals.sql"
dump -n dumped --inserts --rows-per-insert=10 -a > "$WORK/inserts.sql"
grep -q 'INSERT INTO dumped.parents' "$WORK/inserts.sql"

# Through PostgreSQL and back.
if [ -x "$bin/initdb" ] && [ "$(id -u)" = 0 ]; then owner="setpriv --reuid=nobody --regid=nogroup --clear-groups"; else owner=; fi
pg=$(mktemp -d); chmod 755 "$pg"; [ -n "$owner" ] && chown nobody "$pg"
if $owner "$bin/initdb" -D "$pg/data" -U "$PGUSER" -A trust --no-sync --locale-provider=builtin --locale=C.UTF-8 -E UTF8 > "$WORK/initdb" 2>&1; then
  $owner "$bin/postgres" -D "$pg/data" -k "$pg" -p 5432 -c listen_addresses= -c fsync=off > "$WORK/postgres" 2>&1 &
  postgres=$!
  trap 'kill $postgres; wait $postgres 2> /dev/null; rm -rf "$pg"' EXIT
  for _ in $(seq 100); do "$bin/pg_isready" -q -h "$pg" -p 5432 && break; sleep 0.1; done
  (
    export PGHOST=$pg PGPORT=5432 PGDATABASE=postgres
    run -c 'CREATE ROLE dump_reader'
    run -f "$WORK/first.sql" > /dev/null
    "$bin/pg_dump" -U "$PGUSER" -n dumped > "$WORK/theirs.sql"
  )
  plain "$WORK/theirs.sql" > "$WORK/b"
  diff "$WORK/a" "$WORK/b" || { echo "PostgreSQL dumps something else"; exit 1; }
  run -c 'DROP SCHEMA dumped CASCADE' 2> /dev/null
  run -f "$WORK/theirs.sql" > /dev/null
  dump -n dumped > "$WORK/again.sql"
  plain "$WORK/again.sql" > "$WORK/b"
  diff "$WORK/a" "$WORK/b" || { echo "after a round through PostgreSQL it is something else"; exit 1; }
fi
run -c 'DROP SCHEMA dumped CASCADE' -c 'DROP ROLE dump_reader' 2> /dev/null
