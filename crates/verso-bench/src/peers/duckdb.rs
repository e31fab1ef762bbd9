//! DuckDB, where there is one: the `duckdb` program, or the Python package. Both are driven line by line through pipes:
//! a statement goes in, rows come out with tabs between the values, then a line that says the statement is done.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::BenchError;

/// As in tables and JSON.
pub(crate) const NAME: &str = "duckdb";
const DONE: &str = "-- done --";

/// The Python package behind the same protocol as the program.
const PYTHON: &str = r#"
import sys, duckdb
connection = duckdb.connect(sys.argv[1])
for line in sys.stdin:
    try:
        for row in connection.execute(line).fetchall():
            sys.stdout.write('\t'.join(str(value) for value in row) + '\n')
    except Exception as error:
        sys.stdout.write('Error: ' + str(error).replace('\n', ' ') + '\n')
    sys.stdout.write('-- done --\n')
    sys.stdout.flush()
"#;

/// How DuckDB can be reached on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Program,
    Python,
}

/// Looks for DuckDB; `None` when it is not here.
fn find() -> Option<Way> {
    let answers = |program: &str, arguments: &[&str]| {
        Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    if answers("duckdb", &["--version"]) {
        Some(Way::Program)
    } else if answers("python3", &["-c", "import duckdb"]) {
        Some(Way::Python)
    } else {
        None
    }
}

/// Whether it is here.
pub(crate) fn is_here() -> bool {
    find().is_some()
}

/// A running DuckDB with an open database.
pub(crate) struct Duckdb {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    way: Way,
}

impl Duckdb {
    /// Starts it on a file.
    pub fn open(database: &Path) -> Result<Duckdb, BenchError> {
        let error = |message: String| BenchError::Engine { engine: NAME, message };
        let way = find().ok_or_else(|| error("neither the program nor the Python package is here".into()))?;
        let mut command = match way {
            Way::Program => {
                let mut command = Command::new("duckdb");
                command.args(["-batch", "-list", "-noheader", "-separator", "\t"]).arg(database);
                command
            }
            Way::Python => {
                let mut command = Command::new("python3");
                command.args(["-u", "-c", PYTHON]).arg(database);
                command
            }
        };
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|reason| error(reason.to_string()))?;
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().expect("stdout is piped above"));
        let mut engine = Duckdb { process, input, output, way };
        // Statements of more than two seconds would draw it among the rows.
        engine.run("SET enable_progress_bar = false")?;
        Ok(engine)
    }

    /// Runs a statement of one line.
    pub fn run(&mut self, sql: &str) -> Result<(), BenchError> {
        self.query(sql, &mut |_| {})
    }

    /// Runs a statement of one line and gives its rows, as texts.
    pub fn query(&mut self, sql: &str, each: &mut dyn FnMut(&[&str])) -> Result<(), BenchError> {
        let error = |message: String| BenchError::Engine { engine: NAME, message };
        let input = self.input.as_mut().expect("open until dropped");
        // The program says that it is done when told so; the Python script does by itself.
        let done = if self.way == Way::Program { format!(".print {DONE}\n") } else { String::new() };
        input.write_all(format!("{sql};\n{done}").as_bytes()).map_err(|reason| error(reason.to_string()))?;
        let mut line = String::new();
        loop {
            line.clear();
            match self.output.read_line(&mut line) {
                Ok(0) => return Err(error("ended".into())),
                Ok(_) => {}
                Err(reason) => return Err(error(reason.to_string())),
            }
            let text = line.trim_end_matches(['\n', '\r']);
            if text == DONE {
                return Ok(());
            }
            if text.contains("Error: ") {
                return Err(error(text.to_owned()));
            }
            each(&text.split('\t').collect::<Vec<_>>());
        }
    }
}

impl Drop for Duckdb {
    fn drop(&mut self) {
        // Its input ends, so it closes the database and leaves.
        drop(self.input.take());
        let _ = self.process.wait();
    }
}
