//! Statements and definitions in an editor.

use std::path::{Path, PathBuf};

use super::super::output::cause;
use super::super::{Flow, Shell, describe};
use super::Call;

/// `\e [FILE] [LINE]`.
pub fn edit(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let (mut file, mut line) = (call.arguments.word()?, call.arguments.word()?);
    // A number alone is the line.
    if line.is_none() && file.as_ref().is_some_and(|word| word.parse::<u32>().is_ok()) {
        line = file.take();
    }
    let pending = call.reading.scanner.take_pending();
    let is_pending = pending.is_some();
    let text = pending.unwrap_or_else(|| shell.previous.clone());
    let edited = match &file {
        Some(file) => shell.edit_file(Path::new(file), line.as_deref())?,
        None => shell.edit_text(&text, line.as_deref())?,
    };
    // Without a change the statement does not run again.
    let unchanged = file.is_none() && edited.trim_end() == text.trim_end();
    match unchanged {
        true if is_pending => call.reading.scanner.set_pending(&text),
        true => {}
        false => call.reading.scanner.insert(&edited),
    }
    Ok(Flow::On)
}

/// `\ef [FUNCTION]`.
pub fn edit_function(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let text = match call.arguments.line().trim_end_matches(';').trim() {
        "" => "CREATE FUNCTION ( )\n RETURNS \n LANGUAGE \n -- common options:  IMMUTABLE  STABLE  STRICT  SECURITY DEFINER\nAS $function$\n\n$function$\n".to_owned(),
        name => describe::function_definition(shell, name)?,
    };
    edit_definition(shell, call, &text)
}

/// `\ev [VIEW]`.
pub fn edit_view(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let text = match call.arguments.line().trim_end_matches(';').trim() {
        "" => "CREATE VIEW  AS\n SELECT \n  -- something...\n".to_owned(),
        name => describe::view_definition(shell, name)?,
    };
    edit_definition(shell, call, &text)
}

/// The text waits for its semicolon, or for `\g`.
fn edit_definition(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>, text: &str) -> Result<Flow, String> {
    let edited = shell.edit_text(text, None)?;
    if edited.trim_end() == text.trim_end() {
        shell.output.say("No changes\n");
    } else {
        call.reading.scanner.set_pending(edited.trim_end());
    }
    Ok(Flow::On)
}

impl Shell<'_> {
    fn edit_text(&mut self, text: &str, line: Option<&str>) -> Result<String, String> {
        let folder = std::env::temp_dir().join(format!("verso-edit-{}", std::process::id()));
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("{}: {}", folder.display(), cause(&error)))?;
        let path: PathBuf = folder.join("statement.sql");
        let written = std::fs::write(&path, format!("{}\n", text.trim_end()));
        let edited = match written {
            Ok(()) => self.edit_file(&path, line),
            Err(error) => Err(format!("{}: {}", path.display(), cause(&error))),
        };
        // Left behind it would only be a small folder among temporary files.
        let _ = std::fs::remove_dir_all(&folder);
        edited
    }

    fn edit_file(&mut self, path: &Path, line: Option<&str>) -> Result<String, String> {
        let named = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let editor = ["PSQL_EDITOR", "EDITOR", "VISUAL"].into_iter().find_map(named);
        let editor = editor.unwrap_or_else(|| "vi".to_owned());
        let quoted = format!("'{}'", path.display().to_string().replace('\'', "'\\''"));
        let at = line.map(|line| format!(" +{line}")).unwrap_or_default();
        let status = self.program(&format!("{editor}{at} {quoted}"));
        let status =
            status.map_err(|error| format!("could not start editor \"{editor}\": {}", cause(&error)))?;
        if !status.success() {
            return Err(format!("the editor \"{editor}\" has failed: {status}"));
        }
        std::fs::read_to_string(path).map_err(|error| format!("{}: {}", path.display(), cause(&error)))
    }
}
