"""pgcli: what it asks of the catalogs for its completion, and statements through its executor."""

import os
import psycopg
from pgcli.completion_refresher import CompletionRefresher
from pgcli.pgcompleter import PGCompleter
from pgcli.pgexecute import PGExecute
from pgspecial.main import PGSpecial
from prompt_toolkit.document import Document

executor = PGExecute(
    os.environ["PGDATABASE"], os.environ["PGUSER"], "", os.environ["PGHOST"], os.environ["PGPORT"],
)
special = PGSpecial()


def run(statement):
    return [(title, list(rows) if rows else rows, headers, status)
            for title, rows, headers, status, *_ in executor.run(statement, special)]


run("DROP TABLE IF EXISTS pgcli_t; DROP FUNCTION IF EXISTS pgcli_f; DROP TYPE IF EXISTS pgcli_e")
run("CREATE TABLE pgcli_t (id integer PRIMARY KEY, wanted text DEFAULT 'x', parent integer REFERENCES pgcli_t)")
run("CREATE TYPE pgcli_e AS ENUM ('a')")
run("CREATE FUNCTION pgcli_f(a integer, OUT b text) LANGUAGE sql AS 'SELECT a::text'")
run("INSERT INTO pgcli_t VALUES (1)")
assert run("SELECT wanted FROM pgcli_t")[0][1] == [("x",)]
try:
    run("SELECT 1/0")
except psycopg.errors.DivisionByZero:
    pass
else:
    raise AssertionError("no error")

tables = list(executor.tables())
assert ("public", "pgcli_t") in tables, tables
columns = [column for column in executor.table_columns() if column[1] == "pgcli_t"]
assert len(columns) == 3, columns
assert any(key.childtable == "pgcli_t" for key in executor.foreignkeys())
assert any(function.func_name == "pgcli_f" for function in executor.functions())
assert ("public", "pgcli_e") in list(executor.datatypes())
assert "public" in executor.schemata() and os.environ["PGDATABASE"] in executor.databases()
assert "public" in executor.search_path()
list(executor.views()), list(executor.view_columns()), list(executor.casing())

completer = PGCompleter(smart_completion=True, pgspecial=special)
for part in CompletionRefresher.refreshers.values():
    part(completer, executor)
words = [one.text for one in completer.get_completions(Document("SELECT wan FROM pgcli_t", 10), None)]
assert "wanted" in words, words
for command in [r"\l", r"\dt", r"\d pgcli_t", r"\df", r"\dT", r"\dn", r"\du", r"\di", r"\dv", r"\ds", r"\dx", r"\db", r"\dp"]:
    assert run(command), command
run("DROP TABLE pgcli_t; DROP FUNCTION pgcli_f; DROP TYPE pgcli_e")
