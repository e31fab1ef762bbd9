//! A folder with scripts and databases, and runs of the binary in it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A temporary folder in which the binary runs.
pub struct World {
    folder: tempfile::TempDir,
}

/// What a run left.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl World {
    pub fn new() -> World {
        World { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a script.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("made");
        std::fs::write(&path, text).expect("written");
        path
    }

    /// Runs `verso` with these arguments and nothing on standard input.
    pub fn verso(&self, arguments: &[&str]) -> Run {
        self.verso_with_input(arguments, "")
    }

    pub fn verso_with_input(&self, arguments: &[&str], input: &str) -> Run {
        let mut child = Command::new(env!("CARGO_BIN_EXE_verso"))
            .args(arguments)
            .current_dir(self.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut stdin = child.stdin.take().expect("piped above");
        // A run that ends before it has read everything closes the pipe; its exit code tells.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("the binary ends");
        Run {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// Runs statements on a database and expects success.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let run = self.verso(&["shell", database, "--command", sql]);
        assert_eq!(run.code, 0, "{run:?}");
        run.out
    }
}
