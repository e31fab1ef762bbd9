//! DuckDB, where there is one: the `duckdb` program, or the Python package. Both are driven line by line through pipes:
//! a statement goes in, rows come out with tabs between the values, then a line that says the statement is done.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::BenchError;
use crate::child::ChildTask;
use crate::e1::Variant;
use crate::e1::expected::FoundRow;
use crate::e1::subject::{SCAN, Subject, UPDATE};

const NAME: &str = "duckdb";
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
pub enum Way {
    Program,
    Python,
}

/// Looks for DuckDB; `None` when it is not here.
pub fn find() -> Option<Way> {
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

/// Makes the tables: `rows` rows, and four copies of them to drop.
pub fn create(task: &ChildTask) -> Result<(), BenchError> {
    let mut duckdb = Duckdb::open(task)?;
    duckdb.run(
        "CREATE TABLE test (id NUMERIC(18,2), name VARCHAR(120), description VARCHAR(250), cnt INTEGER, \
         qrt DOUBLE PRECISION, ts_change TIMESTAMP, ts_create TIMESTAMP, notes BLOB)",
    )?;
    duckdb.run(&format!(
        "INSERT INTO test SELECT n, 'name ' || n, 'description of record ' || n, n, n * 0.5, TIMESTAMP '2000-01-01', \
         TIMESTAMP '2000-01-01', ('notes of record ' || n)::BLOB FROM range(1, {} + 1) numbers(n)",
        task.rows
    ))?;
    duckdb.run("CREATE TABLE test2drop AS SELECT test.* FROM test, range(4)")?;
    duckdb.run("CHECKPOINT")
}

/// A running DuckDB with an open database.
pub struct Duckdb {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    way: Way,
}

impl Duckdb {
    /// Starts it on the task's file.
    pub fn open(task: &ChildTask) -> Result<Duckdb, BenchError> {
        let error = |message: String| BenchError::Engine { engine: NAME, message };
        let way = find().ok_or_else(|| error("neither the program nor the Python package is here".into()))?;
        let mut command = match way {
            Way::Program => {
                let mut command = Command::new("duckdb");
                command.args(["-batch", "-list", "-noheader", "-separator", "\t"]).arg(&task.database);
                command
            }
            Way::Python => {
                let mut command = Command::new("python3");
                command.args(["-u", "-c", PYTHON]).arg(&task.database);
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
        Ok(Duckdb { process, input, output, way })
    }

    fn run(&mut self, sql: &str) -> Result<(), BenchError> {
        self.query(sql, &mut |_| {})
    }

    fn query(&mut self, sql: &str, each: &mut dyn FnMut(&[&str])) -> Result<(), BenchError> {
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

impl Subject for Duckdb {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&mut self) -> Result<(), BenchError> {
        self.run("DROP TABLE test2drop")?;
        self.run("CHECKPOINT")?;
        self.scan().map(drop)
    }

    fn begin(&mut self, _: Variant) -> Result<(), BenchError> {
        self.run("BEGIN")
    }

    fn pass(&mut self) -> Result<(), BenchError> {
        self.run(UPDATE)
    }

    fn savepoint(&mut self, _: &str) -> Result<(), BenchError> {
        Err(BenchError::Engine { engine: NAME, message: "it has no savepoints".into() })
    }

    fn commit(&mut self) -> Result<(), BenchError> {
        self.run("COMMIT")
    }

    fn rollback(&mut self) -> Result<(), BenchError> {
        self.run("ROLLBACK")
    }

    fn scan(&mut self) -> Result<(u64, f64), BenchError> {
        let mut answer = None;
        self.query(SCAN, &mut |row| answer = Some((number(row, 0), number(row, 1))))?;
        match answer {
            Some((Some(count), Some(sum))) => Ok((count as u64, sum)),
            _ => Err(BenchError::Engine { engine: NAME, message: "the scan gave no two numbers".into() }),
        }
    }

    fn rows(&mut self, each: &mut dyn FnMut(&FoundRow<'_>)) -> Result<(), BenchError> {
        let sql = "SELECT cnt, id::DOUBLE, qrt, name, description, notes::VARCHAR, \
                   (ts_change <> ts_create)::INTEGER FROM test";
        let mut malformed = None;
        self.query(sql, &mut |row| {
            let numbers = (number(row, 0), number(row, 1), number(row, 2), number(row, 6));
            match (numbers, row) {
                ((Some(cnt), Some(id), Some(qrt), Some(changed)), [_, _, _, name, description, notes, _]) => {
                    let (notes, changed) = (notes.as_bytes(), changed != 0.0);
                    each(&FoundRow { cnt: cnt as i64, id, qrt, name, description, notes, changed });
                }
                _ => malformed = Some(row.join("|")),
            }
        })?;
        match malformed {
            Some(row) => Err(BenchError::Engine { engine: NAME, message: format!("a malformed row: {row}") }),
            None => Ok(()),
        }
    }
}

fn number(row: &[&str], at: usize) -> Option<f64> {
    row.get(at)?.parse().ok()
}
