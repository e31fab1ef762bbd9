# pgbench: all steps of -i, TPC-B, select-only, in every protocol, a pipeline.
set -eu
if ! pgbench -q -i -s 1 > "$WORK/init" 2>&1; then
  grep 'is not supported' "$WORK/init" && exit 77
  cat "$WORK/init"; exit 1
fi
[ "$(psql -X -t -A -c 'select count(*) from pgbench_accounts')" = 100000 ]
for mode in simple extended prepared; do
  pgbench -n -S -M $mode -c 4 -t 50 2>&1 | grep -q 'number of failed transactions: 0'
  pgbench -n -M $mode -c 4 -t 20 2>&1 | grep -q 'number of failed transactions: 0'
done
# Money moves, none is lost.
sums='select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history),
  (select sum(tbalance) from pgbench_tellers) = (select sum(bbalance) from pgbench_branches)'
[ "$(psql -X -t -A -c "$sums")" = 't|t' ]
printf '\\startpipeline\nselect 1;\nselect 2;\n\\endpipeline\n' > "$WORK/pipeline.sql"
pgbench -n -f "$WORK/pipeline.sql" -M extended -t 20 2>&1 | grep -q 'number of failed transactions: 0'
