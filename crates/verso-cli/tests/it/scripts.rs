//! Scripts: where statements come from, what stops them, which exit code tells.

use crate::world::World;

const TABLE: &str = "CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'one'), (2, NULL);";

#[test]
fn commands_run_in_the_order_given() {
    let world = World::new();
    world.file("second.sql", "\\echo second\n");
    let run =
        world.verso(&["shell", "a.verso", "-c", "\\echo first", "-f", "second.sql", "-c", "\\echo third"]);
    assert_eq!((run.code, run.out.as_str()), (0, "first\nsecond\nthird\n"), "{run:?}");
}

#[test]
fn standard_input_is_a_script_without_prompts() {
    let world = World::new();
    let run = world.verso_with_input(&["shell", "a.verso"], "SELECT 1 AS a;\nSELECT\n  2 AS b");
    assert_eq!(
        (run.code, run.out.as_str()),
        (0, " a \n---\n 1\n(1 row)\n\n b \n---\n 2\n(1 row)\n\n"),
        "{run:?}"
    );
}

#[test]
fn a_dump_of_postgresql_restricts_the_commands_of_the_shell() {
    let world = World::new();
    let script = "\\restrict Key1\nCREATE TABLE t AS SELECT 1 AS a;\n\\echo ran\n\\unrestrict other\n\\echo ran\n\
                  \\unrestrict Key1\n\\echo free\n\\unrestrict Key1\n";
    let run = world.verso_with_input(&["shell", "a.verso"], script);
    assert_eq!(run.out, "SELECT 1\nfree\n", "{run:?}");
    let said = |text: &str| run.err.matches(text).count();
    assert_eq!(said("backslash commands are restricted; only \\unrestrict is allowed"), 2, "{run:?}");
    assert_eq!(said("\\unrestrict: wrong key"), 1, "{run:?}");
    assert_eq!(said("\\unrestrict: not currently in restricted mode"), 1, "{run:?}");
}

#[test]
fn errors_end_a_script_only_when_asked_to() {
    let world = World::new();
    let goes_on = world.verso_with_input(&["shell", "a.verso"], "SELECT nosuch;\n\\echo still here\n");
    assert_eq!((goes_on.code, goes_on.out.as_str()), (0, "still here\n"), "{goes_on:?}");

    let input = "\\set ON_ERROR_STOP 1\nSELECT nosuch;\n\\echo never\n";
    let stops = world.verso_with_input(&["shell", "a.verso"], input);
    assert_eq!((stops.code, stops.out.as_str()), (3, ""), "{stops:?}");
}

#[test]
fn a_failed_command_gives_exit_code_1_and_ends_its_text() {
    let world = World::new();
    let run = world.verso(&["shell", "a.verso", "-c", "SELECT nosuch; \\echo never", "-c", "\\echo next"]);
    assert_eq!((run.code, run.out.as_str()), (1, "next\n"), "{run:?}");
}

#[test]
fn errors_name_file_and_line_and_point_into_the_statement() {
    let world = World::new();
    world.file("bad.sql", "\n\nSELECT 1,\n   nosuch;\n");
    let run = world.verso(&["shell", "a.verso", "--file", "bad.sql"]);
    assert_eq!(run.code, 0);
    assert_eq!(
        run.err,
        "verso:bad.sql:4: ERROR:  42703: column \"nosuch\" does not exist\nLINE 2:    nosuch;\n           ^\n"
    );
}

#[test]
fn included_scripts_are_found_beside_their_script_and_stop_with_it() {
    let world = World::new();
    world.file("sub/one.sql", "\\echo one\nINPUT 'two.sql';\n\\echo back\n");
    world.file("sub/two.sql", "\\echo two\n\\q\n\\echo never\n");
    let run = world.verso(&["shell", "a.verso", "--file", "sub/one.sql"]);
    assert_eq!((run.code, run.out.as_str()), (0, "one\ntwo\nback\n"), "{run:?}");

    world.file("sub/two.sql", "SELECT nosuch;\n");
    let run = world.verso(&["shell", "a.verso", "-c", "\\set ON_ERROR_STOP on", "--file", "sub/one.sql"]);
    assert_eq!((run.code, run.out.as_str()), (3, "one\n"), "{run:?}");
}

#[test]
fn a_script_that_includes_itself_ends() {
    let world = World::new();
    world.file("loop.sql", "\\i loop.sql\n");
    let run = world.verso(&["shell", "a.verso", "--file", "loop.sql"]);
    assert!(run.err.contains("too deeply"), "{run:?}");
}

#[test]
fn a_missing_script_or_folder_is_exit_code_1() {
    let world = World::new();
    let run = world.verso(&["shell", "a.verso", "--file", "nosuch.sql"]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("nosuch.sql"), "{run:?}");
    assert_eq!(world.verso(&["shell", "no/such/folder/a.verso", "-c", "SELECT 1"]).code, 1);
    assert_eq!(world.verso(&["nonsense"]).code, 1);
}

#[test]
fn quit_rolls_back_and_exit_commits() {
    let world = World::new();
    world.sql("a.verso", TABLE);
    for (end, expected) in [("QUIT", "2"), ("EXIT;", "3")] {
        let input =
            format!("\\set AUTOCOMMIT off\nINSERT INTO t VALUES (3, 'three');\n{end}\n\\echo never\n");
        let run = world.verso_with_input(&["shell", "a.verso"], &input);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(!run.out.contains("never"), "{run:?}");
        let count = world.sql("a.verso", "SELECT count(*) AS n FROM t");
        assert!(count.contains(&format!(" {expected}\n")), "{end}: {count}");
    }
}

#[test]
fn autocommit_off_starts_a_transaction_with_the_first_statement() {
    let world = World::new();
    world.sql("a.verso", TABLE);
    let input = "\\set AUTOCOMMIT off\nUPDATE t SET b = 'x';\nROLLBACK;\nUPDATE t SET b = 'y' WHERE a = 2;\nCOMMIT;\n\
                 DELETE FROM t;\n";
    let run = world.verso_with_input(&["shell", "a.verso"], input);
    assert_eq!(run.out, "UPDATE 2\nROLLBACK\nUPDATE 1\nCOMMIT\nDELETE 2\n", "{run:?}");
    let rows = world.sql("a.verso", "SELECT a, b FROM t ORDER BY a");
    assert_eq!(rows, " a |  b  \n---+-----\n 1 | one\n 2 | y\n(2 rows)\n\n");
}

#[test]
fn databases_are_made_and_changed_inside_a_script() {
    let world = World::new();
    let script = "CREATE DATABASE 'one.verso' PAGE_SIZE 8192 USER 'SYSDBA' PASSWORD 'masterkey';
        CREATE TABLE t (a INTEGER);
        CREATE DATABASE 'two.verso';
        SELECT * FROM t;
        CONNECT 'one.verso' USER 'SYSDBA';
        SELECT count(*) AS n FROM t;
        SELECT page_size FROM verso_database;
        \\c nosuch.verso
        SELECT 1;\n";
    let run = world.verso_with_input(&["shell"], script);
    assert_eq!(run.code, 0, "{run:?}");
    let errors: Vec<&str> =
        run.err.lines().filter(|line| line.contains("rror:") || line.contains("ERROR:")).collect();
    assert_eq!(errors.len(), 3, "{run:?}");
    assert!(errors[0].contains("42P01"), "{run:?}");
    assert!(errors[1].contains("error:"), "{run:?}");
    assert!(errors[2].contains("08003"), "{run:?}");
    assert!(run.out.contains(" 8192\n"), "{run:?}");
    assert!(run.out.contains("connected to database \"two.verso\""), "{run:?}");
}

#[test]
fn echo_shows_lines_or_statements() {
    let world = World::new();
    let run = world.verso_with_input(&["shell", "a.verso"], "\\set ECHO all\n\\echo x // y\n");
    assert_eq!(run.out, "\\echo x // y\nx // y\n", "{run:?}");
    let run = world.verso_with_input(&["shell", "a.verso"], "\\set ECHO queries\nSELECT\n 1 AS a;\n");
    assert_eq!(run.out, "SELECT\n 1 AS a;\n a \n---\n 1\n(1 row)\n\n", "{run:?}");
}

#[test]
fn the_shell_and_the_session_cut_statements_alike() {
    // What the shell sends one by one gives the same as what the library cuts itself.
    let script = "SELECT ';' AS a; SELECT $$;$$ AS b /* ; */; SELECT (1) AS c -- ;\n; SELECT E'\\';' AS d;";
    let pieces = versodb::split_statements(script);
    let world = World::new();
    let run = world.verso_with_input(&["shell", "a.verso"], script);
    assert_eq!(run.out.matches("(1 row)").count(), pieces.len(), "{run:?}");
    assert_eq!(pieces.len(), 4);
}

#[test]
fn data_of_copy_stand_in_the_script_up_to_a_point() {
    let world = World::new();
    let script = "CREATE TABLE t (a integer, b text);\nCOPY t FROM stdin;\n1\tone; \\\\t\n2\t\\N\n\\.\nSELECT * FROM t;\n\
                  COPY t FROM stdin;\nx\ty\n3\tthree\n\\.\nSELEC;\nCOPY t TO stdout;\n";
    world.file("copy.sql", script);
    let run = world.verso(&["shell", "c.verso", "--file", "copy.sql"]);
    assert!(run.out.contains("COPY 2\n"), "{run:?}");
    assert!(run.out.contains(" 1 | one; \\t\n"), "{run:?}");
    assert!(run.out.ends_with("1\tone; \\\\t\n2\t\\N\n"), "{run:?}");
    assert!(run.err.contains("copy.sql:7: ERROR:  22P02"), "{run:?}");
    assert!(run.err.contains("copy.sql:11: ERROR:  42601"), "data of a failed COPY are passed over: {run:?}");
}

#[test]
fn statistics_of_tables_tell_what_each_statement_has_changed() {
    let world = World::new();
    let input = "CREATE TABLE t (a int);\n\\stat tables on\nINSERT INTO t VALUES (1), (2);\nSELECT 1 AS a;\nUPDATE t SET a = 3 WHERE a = 1;\nSET PER_TABLE_STATS OFF;\nDELETE FROM t;\n";
    let run = world.verso_with_input(&["shell", "a.verso"], input);
    let head = "Table       Inserts    Updates    Deletes\n";
    let blocks: Vec<&str> = run.out.split(head).skip(1).collect();
    assert_eq!(blocks.len(), 2, "{run:?}");
    assert!(blocks[0].starts_with("public.t          2          0          0\n"), "{run:?}");
    assert!(blocks[1].starts_with("public.t          0          1          0\n"), "{run:?}");
}
