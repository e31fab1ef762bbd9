//! Scripts, where results go, folders, programs.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::{Command, ExitStatus};

use super::super::input::Lines;
use super::super::output::{Target, cause};
use super::super::{End, Flow, Reading, Shell};
use super::Call;

/// Scripts that include each other without end stop here.
const INCLUDE_DEPTH_MAX: u32 = 64;

pub fn include(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let path = call.required()?;
    // A script that is included may end in the midst of a statement; its own rest begins anew.
    Ok(shell.include(Path::new(&path), true, call.reading))
}

/// `\o [FILE|'|program']`.
pub fn redirect(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let target = match call.arguments.left().starts_with('|') {
        true => Some(call.arguments.line()),
        false => call.arguments.next()?,
    };
    let target = target.filter(|name| !name.is_empty()).map(|name| Target::open(&name)).transpose()?;
    shell.output.flush();
    shell.output.redirect(target)?;
    Ok(Flow::On)
}

pub fn change_folder(_: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let folder = match call.arguments.word()? {
        Some(folder) => folder.into(),
        None => std::env::home_dir().ok_or("\\cd: there is no home folder")?,
    };
    std::env::set_current_dir(&folder).map_err(|error| {
        format!("\\cd: could not change directory to \"{}\": {}", folder.display(), cause(&error))
    })?;
    Ok(Flow::On)
}

/// `\! [COMMAND]`.
pub fn run_program(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let line = call.arguments.line();
    let program = match line.as_str() {
        "" => std::env::var("SHELL").unwrap_or_else(|_| "sh".to_owned()),
        line => line.to_owned(),
    };
    let status = shell.program(&program).map_err(|error| format!("\\!: {}", cause(&error)))?;
    let code = status.code().unwrap_or(-1);
    shell.variables.note("SHELL_ERROR", if code == 0 { "false" } else { "true" });
    shell.variables.note("SHELL_EXIT_CODE", &code.to_string());
    Ok(Flow::On)
}

impl Shell<'_> {
    /// Runs a command of the operating system's shell at the terminal; Ctrl-C is its own.
    pub(super) fn program(&mut self, line: &str) -> std::io::Result<ExitStatus> {
        self.output.flush();
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let status = self.interrupts.during(|| (), || command.status());
        self.interrupts.take();
        status
    }

    /// Runs a script; with `beside`, its path is tried in the including script's folder first.
    pub(super) fn include(&mut self, path: &Path, beside: bool, reading: &mut Reading<'_>) -> Flow {
        if self.depth >= INCLUDE_DEPTH_MAX {
            return self.failed(reading, "scripts include each other too deeply");
        }
        let folder = reading.input.folder().filter(|_| beside);
        let found = folder.map(|folder| folder.join(path)).filter(|path| path.is_file());
        let path = found.unwrap_or_else(|| path.to_owned());
        match self.run_script(&path, false) {
            Ok(End::Finished) => Flow::On,
            Ok(End::Stopped) => Flow::Failed,
            Ok(End::Lost) => Flow::Lost,
            Err(error) => self.failed(reading, &format!("{}: {}", path.display(), cause(&error))),
        }
    }

    /// Runs the script at `path`.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn run_script(&mut self, path: &Path, stop_at_error: bool) -> std::io::Result<End> {
        #[expect(clippy::disallowed_methods, reason = "scripts are the user's files, not the database's")]
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(std::io::ErrorKind::IsADirectory.into());
        }
        self.depth += 1;
        let end = self.run(&mut Lines::of_script(BufReader::new(file), path), stop_at_error);
        self.depth -= 1;
        Ok(end)
    }
}
