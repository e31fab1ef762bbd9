//! All commands.

use super::super::describe;
use super::super::format::layout::OPTIONS;
use super::{
    Group, Kind, Spec, Words, buffer, conditional, connection, copy, crosstab, display, editing, files,
    general, watch,
};

/// What `help` says.
pub const WELCOME: &str = "\
You are using the shell of Verso, a relational database that speaks PostgreSQL's SQL.
Type:  \\? for help with the commands of the shell
       \\h for help with SQL statements
       \\g or terminate with semicolon to execute a statement
       \\q to quit
";

const ON_OFF: Words = Words::OneOf(&["on", "off"]);

/// One line of the table.
macro_rules! commands {
    ($($group:ident: $([$($name:literal)+] $flags:literal, $arguments:literal, $about:literal, $words:expr, $run:path;)+)+) => {
        /// Every command, as `\?` lists them.
        pub const COMMANDS: &[Spec] = &[$($(Spec {
            names: &[$($name),+],
            flags: $flags,
            arguments: $arguments,
            about: $about,
            group: Group::$group,
            words: $words,
            run: $run,
        },)+)+];
    };
}

commands! {
    General:
        ["bind"] "", "[PARAM]...", "set the parameters of the next statement", Words::Any, buffer::bind;
        ["bind_named"] "", "STMT [PARAM]...", "execute a prepared statement next, with these parameters", Words::Any, buffer::bind_named;
        ["close_prepared"] "", "STMT", "forget a prepared statement", Words::Any, buffer::close_prepared;
        ["crosstabview"] "", "[COLUMNS]", "execute the statement and show its result with values of one column as columns", Words::Any, crosstab::crosstab;
        ["errverbose"] "", "", "show the most recent error with all its details", Words::Any, general::errverbose;
        ["g"] "", "[(OPTIONS)] [FILE]", "execute the statement (and send its result to a file or |program)", Words::File, buffer::go;
        ["gdesc"] "", "", "describe the result of the statement, without executing it", Words::Any, buffer::describe;
        ["gexec"] "", "", "execute the statement, then execute each value of its result", Words::Any, buffer::execute_values;
        ["gset"] "", "[PREFIX]", "execute the statement and store its result in variables", Words::Any, buffer::store;
        ["gx"] "", "[(OPTIONS)] [FILE]", "as \\g, but with expanded output", Words::File, buffer::go;
        ["parse"] "", "STMT", "prepare the statement under a name", Words::Any, buffer::parse;
        ["q" "quit"] "", "", "leave the script or the shell (QUIT; rolls back, EXIT; commits)", Words::Any, general::leave;
        ["restrict"] "", "KEY", "refuse all commands up to \\unrestrict KEY, as dumps of PostgreSQL do", Words::Any, general::restrict;
        ["unrestrict"] "", "KEY", "allow commands again", Words::Any, general::unrestrict;
        ["watch"] "", "[[i=]SEC] [c=N] [m=MIN]", "execute the statement every SEC seconds, up to N times, until less than MIN rows come", Words::Any, watch::watch;
    Help:
        ["?"] "", "", "show the commands of the shell", Words::Any, general::help;
        ["h" "help"] "", "[NAME]", "syntax of SQL statements, * for all", Words::Statement, general::syntax;
    Buffer:
        ["e" "edit"] "", "[FILE] [LINE]", "edit the statement (or a file) with $EDITOR", Words::File, editing::edit;
        ["ef"] "", "[FUNCTION]", "edit the definition of a function", Words::Names(Kind::Functions), editing::edit_function;
        ["ev"] "", "[VIEW]", "edit the definition of a view", Words::Names(Kind::Views), editing::edit_view;
        ["p" "print"] "", "", "show the statement typed so far, or the last one", Words::Any, buffer::print;
        ["r" "reset"] "", "", "forget the statement typed so far", Words::Any, buffer::reset;
        ["s"] "", "[FILE]", "show the history, or save it to a file", Words::File, buffer::history;
        ["w" "write"] "", "FILE", "write the statement to a file or |program", Words::File, buffer::write;
    Files:
        ["copy"] "", "...", "COPY with a file of this machine: \\copy TABLE|(QUERY) FROM|TO 'FILE'|STDIN|STDOUT [OPTIONS]", Words::Sql, copy::copy;
        ["echo"] "", "[-n] [TEXT]", "write a line to standard output (-n: without its end)", Words::Any, general::echo;
        ["i" "include"] "", "FILE", "execute a script (INPUT file;), looked for beside the present one first", Words::File, files::include;
        ["ir" "include_relative"] "", "FILE", "the same", Words::File, files::include;
        ["o" "out"] "", "[FILE]", "send all results to a file or |program", Words::File, files::redirect;
        ["qecho"] "", "[-n] [TEXT]", "write a line to where \\o sends results", Words::Any, general::echo;
        ["warn"] "", "[-n] [TEXT]", "write a line to standard error", Words::Any, general::echo;
    Conditional:
        ["if"] "", "EXPR", "begin a conditional part", Words::Any, conditional::begin;
        ["elif"] "", "EXPR", "an alternative within it", Words::Any, conditional::again;
        ["else"] "", "", "its last alternative", Words::Any, conditional::otherwise;
        ["endif"] "", "", "end it", Words::Any, conditional::end;
    Informational:
        ["d"] "Sx+", "[NAME]", "list tables, views and sequences, or describe one", Words::Names(Kind::Relations), describe::relations_or_one;
        ["da"] "Sx+", "[PATTERN]", "list aggregates", Words::Names(Kind::Functions), describe::listed;
        ["dA"] "x+", "[PATTERN]", "list access methods", Words::Any, describe::listed;
        ["db"] "x+", "[PATTERN]", "list tablespaces", Words::Any, describe::listed;
        ["dc"] "Sx+", "[PATTERN]", "list conversions", Words::Any, describe::listed;
        ["dC"] "x+", "[PATTERN]", "list casts", Words::Any, describe::listed;
        ["dconfig"] "x+", "[PATTERN]", "list settings", Words::Any, describe::listed;
        ["dd"] "Sx", "[PATTERN]", "show comments that are not shown elsewhere", Words::Any, describe::listed;
        ["dD"] "Sx+", "[PATTERN]", "list domains", Words::Names(Kind::Types), describe::listed;
        ["ddp"] "x", "[PATTERN]", "list default privileges", Words::Any, describe::listed;
        ["dE"] "Sx+", "[PATTERN]", "list foreign tables", Words::Any, describe::relations;
        ["df" "dfa" "dfn" "dfp" "dft" "dfw"] "Sx+", "[PATTERN]", "list functions [only agg/normal/procedure/trigger/window]", Words::Names(Kind::Functions), describe::functions;
        ["dF"] "x", "[PATTERN]", "list text search configurations", Words::Any, describe::listed;
        ["dFd"] "x+", "[PATTERN]", "list text search dictionaries", Words::Any, describe::listed;
        ["dFp"] "x", "[PATTERN]", "list text search parsers", Words::Any, describe::listed;
        ["dFt"] "x+", "[PATTERN]", "list text search templates", Words::Any, describe::listed;
        ["di"] "Sx+", "[PATTERN]", "list indexes", Words::Names(Kind::Relations), describe::relations;
        ["dL"] "Sx+", "[PATTERN]", "list procedural languages", Words::Any, describe::listed;
        ["dm"] "Sx+", "[PATTERN]", "list materialized views", Words::Names(Kind::Relations), describe::relations;
        ["dn"] "Sx+", "[PATTERN]", "list schemas", Words::Names(Kind::Schemas), describe::listed;
        ["do"] "Sx+", "[PATTERN]", "list operators", Words::Any, describe::listed;
        ["dO"] "Sx+", "[PATTERN]", "list collations", Words::Any, describe::listed;
        ["dp" "z"] "Sx", "[PATTERN]", "list access privileges of tables, views and sequences", Words::Names(Kind::Relations), describe::listed;
        ["dP"] "x+", "[PATTERN]", "list partitioned relations", Words::Names(Kind::Relations), describe::listed;
        ["drds"] "x", "[ROLE [DATABASE]]", "list settings of roles in databases", Words::Names(Kind::Roles), describe::listed;
        ["drg"] "Sx", "[PATTERN]", "list memberships of roles", Words::Names(Kind::Roles), describe::listed;
        ["dRp"] "x", "[PATTERN]", "list publications", Words::Any, describe::listed;
        ["dRs"] "x", "[PATTERN]", "list subscriptions", Words::Any, describe::listed;
        ["ds"] "Sx+", "[PATTERN]", "list sequences", Words::Names(Kind::Relations), describe::relations;
        ["dt"] "Sx+", "[PATTERN]", "list tables", Words::Names(Kind::Relations), describe::relations;
        ["dT"] "Sx+", "[PATTERN]", "list data types", Words::Names(Kind::Types), describe::listed;
        ["du" "dg"] "Sx+", "[PATTERN]", "list roles", Words::Names(Kind::Roles), describe::listed;
        ["dv"] "Sx+", "[PATTERN]", "list views", Words::Names(Kind::Views), describe::relations;
        ["dx"] "x", "[PATTERN]", "list extensions", Words::Any, describe::listed;
        ["dX"] "x", "[PATTERN]", "list extended statistics", Words::Any, describe::listed;
        ["dy"] "x+", "[PATTERN]", "list event triggers", Words::Any, describe::listed;
        ["l" "list"] "x+", "[PATTERN]", "list databases", Words::Names(Kind::Databases), describe::listed;
        ["sf"] "+", "FUNCTION", "show the definition of a function", Words::Names(Kind::Functions), describe::show_function;
        ["sv"] "+", "VIEW", "show the definition of a view", Words::Names(Kind::Views), describe::show_view;
    Formatting:
        ["a"] "", "", "toggle between unaligned and aligned output", Words::Any, display::unaligned;
        ["C"] "", "[TEXT]", "set the title of tables, or unset it", Words::Any, display::title;
        ["f"] "", "[TEXT]", "show or set the field separator of unaligned output", Words::Any, display::separator;
        ["H" "html"] "", "", "toggle HTML output", Words::Any, display::html;
        ["pset"] "", "[NAME [VALUE]]", "set an option of the output, or show all", Words::Option, display::set;
        ["stat"] "", "[tables] [on|off]", "memory, pages and log bytes after each statement (SET STAT ON;), or the tables that it has changed", Words::OneOf(&["on", "off", "tables"]), display::statistics;
        ["t"] "", "[on|off]", "show only rows", ON_OFF, display::tuples_only;
        ["T"] "", "[TEXT]", "set the attributes of <table> in HTML, or unset them", Words::Any, display::attributes;
        ["x"] "", "[on|off|auto]", "toggle expanded output", Words::OneOf(&["on", "off", "auto"]), display::expanded;
    Connection:
        ["c" "connect"] "", "[FILE|ADDRESS|DATABASE]", "open another database (CONNECT 'file';), or say which one is open", Words::File, connection::connect;
        ["conninfo"] "", "", "show what is known of the connection", Words::Any, connection::information;
        ["encoding"] "", "[UTF8]", "show the encoding of texts", Words::Any, connection::encoding;
        ["password"] "", "[USER]", "change a password; it is not shown, and goes to the server as a verifier", Words::Names(Kind::Roles), connection::password;
    System:
        ["cd"] "", "[FOLDER]", "change the working folder", Words::File, files::change_folder;
        ["getenv"] "", "VARIABLE NAME", "take a variable of the environment", Words::Variable, general::take_environment;
        ["setenv"] "", "NAME [VALUE]", "set a variable of the environment for programs that the shell runs, or unset it", Words::Any, general::set_environment;
        ["timing"] "", "[on|off]", "time after each statement (SET TIME ON;)", ON_OFF, display::timing;
        ["!"] "", "[COMMAND]", "run a command of the operating system's shell", Words::File, files::run_program;
    Variables:
        ["prompt"] "", "[TEXT] NAME", "ask for the value of a variable", Words::Variable, general::prompt;
        ["set"] "", "[NAME [VALUE]]", "set a variable, or show all", Words::Variable, general::set;
        ["unset"] "", "NAME", "remove a variable, or set it back", Words::Variable, general::unset;
}

/// The names of all options of `\pset`.
pub const OPTION_NAMES: &[&str] = &OPTIONS;
