//! The texts of `\?` and `\h`.

/// The commands of the shell.
pub const COMMANDS: &str = "\
General
  \\q                     leave the script or the shell; QUIT; rolls back, EXIT; commits
  \\? , \\h [STATEMENT]    these commands, syntax of SQL statements
  \\c [FILE]              open another database (CONNECT 'file';), or say which one is open
  CREATE DATABASE 'file' [PAGE_SIZE n];
                         make a database and open it

Statements
  \\g                     run the statement typed so far
  \\p , \\r                show or forget the statement typed so far
  \\i FILE                run a script (INPUT file;)
  \\echo [-n] TEXT        print a line

What there is
  \\d [NAME]              all tables and sequences, or one described
  \\dt , \\di , \\ds , \\df  tables, indexes, sequences, functions

Output
  \\x [on|off]            one block for each record
  \\timing [on|off]       time after each statement (SET TIME ON;)
  \\stat [on|off]         memory, pages and log bytes after each statement (SET STAT ON;)

Variables
  \\set [NAME [VALUE]]    show all, or set one; \\unset NAME sets it back
    AUTOCOMMIT           on; off: the first statement starts a transaction that lasts until COMMIT
    ON_ERROR_STOP        off; on: a script ends at its first error, with exit code 3
    ECHO                 none; all: input lines, queries: statements, errors: statements that fail
";

/// Name and syntax of each statement.
const STATEMENTS: &[(&str, &str)] = &[
    ("ALTER DATABASE", "ALTER DATABASE SET setting = value"),
    (
        "BEGIN",
        "BEGIN [TRANSACTION] [ISOLATION LEVEL level] [READ ONLY | READ WRITE] [NO SAVEPOINT]\n\
         level: READ UNCOMMITTED | READ COMMITTED | REPEATABLE READ | SNAPSHOT | SERIALIZABLE",
    ),
    ("CHECKPOINT", "CHECKPOINT"),
    ("COMMIT", "COMMIT [WORK | TRANSACTION]"),
    (
        "CREATE FUNCTION",
        "CREATE [OR REPLACE] FUNCTION name ([argument type, …])\n    \
         RETURNS type | SETOF type | TABLE (column type, …) | VOID\n    AS $$ body $$ LANGUAGE plpgsql",
    ),
    (
        "CREATE SEQUENCE",
        "CREATE SEQUENCE [IF NOT EXISTS] name [INCREMENT n] [MINVALUE n] [MAXVALUE n] [START n] [CYCLE]",
    ),
    (
        "CREATE TABLE",
        "CREATE TABLE [IF NOT EXISTS] name (\n    column type [NOT NULL] [DEFAULT expression], …\n    | LIKE other )",
    ),
    ("DELETE", "DELETE FROM table [WHERE condition]"),
    ("DROP FUNCTION", "DROP FUNCTION [IF EXISTS] name"),
    ("DROP SEQUENCE", "DROP SEQUENCE [IF EXISTS] name"),
    ("DROP TABLE", "DROP TABLE [IF EXISTS] name"),
    ("INSERT", "INSERT INTO table [(column, …)] VALUES (expression | DEFAULT, …), … | query"),
    ("RELEASE", "RELEASE [SAVEPOINT] name [ONLY]"),
    ("ROLLBACK", "ROLLBACK [WORK | TRANSACTION] [TO [SAVEPOINT] name]"),
    ("SAVEPOINT", "SAVEPOINT name"),
    (
        "SELECT",
        "SELECT [DISTINCT] expression [AS name], … [FROM table | function(…)]\n    [WHERE condition] [GROUP BY expression, …] \
         [HAVING condition]\n    [ORDER BY expression [ASC | DESC] [NULLS FIRST | LAST], …] [LIMIT n] [OFFSET n]",
    ),
    ("SET", "SET setting = value | SET setting TO DEFAULT"),
    (
        "SET TRANSACTION",
        "SET TRANSACTION [ISOLATION LEVEL level] [READ ONLY | READ WRITE] [NO SAVEPOINT]\n\
         the first statement of a transaction; with AUTOCOMMIT off it starts one",
    ),
    ("SHOW", "SHOW setting | SHOW STATEMENT STATISTICS"),
    ("SWEEP", "SWEEP [TABLE name] [(VERBOSE)]"),
    ("TRUNCATE", "TRUNCATE [TABLE] name"),
    ("UPDATE", "UPDATE table SET column = expression, … [WHERE condition]"),
];

/// The list of statements, or the syntax of those whose name starts with `topic` (upper case).
pub fn sql_help(topic: Option<&str>) -> String {
    let Some(topic) = topic else {
        let names: Vec<&str> = STATEMENTS.iter().map(|(name, _)| *name).collect();
        return format!("Statements (\\h NAME shows the syntax):\n  {}\n", names.join("\n  "));
    };
    let mut out = String::new();
    for (name, syntax) in STATEMENTS.iter().filter(|(name, _)| name.starts_with(topic)) {
        out.push_str(&format!("Statement: {name}\n{syntax}\n\n"));
    }
    if out.is_empty() {
        out = format!("No help for \"{topic}\". Try \\h without arguments.\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_shows_all_statements_that_start_with_it() {
        let help = sql_help(Some("CREATE"));
        assert!(help.contains("CREATE TABLE") && help.contains("CREATE FUNCTION"));
        assert!(!help.contains("DROP"));
        assert!(sql_help(Some("NOSUCH")).starts_with("No help"));
        assert!(sql_help(None).contains("SWEEP"));
    }
}
