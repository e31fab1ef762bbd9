# psql: scripts, \timing, \copy, \i, variables, exit codes, over TCP and the Unix socket.
set -eu
run() { psql -X -q -t -A -v ON_ERROR_STOP=1 "$@"; }
run -c 'DROP TABLE IF EXISTS psql_t' -c 'CREATE TABLE psql_t (a integer, b text)'
printf '1,one\n2,"two, too"\n' > "$WORK/in.csv"
run -c "\\copy psql_t from '$WORK/in.csv' with (format csv)"
run -c "\\copy (select * from psql_t order by a) to '$WORK/out.csv' csv"
cmp "$WORK/in.csv" "$WORK/out.csv"
printf 'insert into psql_t values (3, :%svalue%s);\nselect count(*) from psql_t;\n' "'" "'" > "$WORK/inner.sql"
printf '\\timing on\n\\set value three\n\\i %s/inner.sql\n' "$WORK" > "$WORK/outer.sql"
run -f "$WORK/outer.sql" | grep -qx 3
[ "$(run -h "$SOCKET_DIRECTORY" -c 'select sum(a) from psql_t')" = 6 ]
! run -c 'select nothing' 2> "$WORK/error"
grep -q 'column "nothing" does not exist' "$WORK/error"
[ "$(run -1 -c 'begin' -c 'select 1' 2> /dev/null)" = 1 ]
run -c 'DROP TABLE psql_t'
