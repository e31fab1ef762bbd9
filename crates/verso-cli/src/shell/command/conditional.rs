//! `\if` and what belongs to it.

use super::super::format::layout::flag_of;
use super::super::{Flow, Shell};
use super::Call;

/// The condition behind the command, where it has to be evaluated. One that is neither true nor false is told, and false.
fn condition(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>, again: bool) -> Result<bool, String> {
    if !call.reading.branches.asks(again) {
        call.arguments.skip();
        return Ok(false);
    }
    let text = match call.arguments.rest() {
        Ok(words) => words.join(" "),
        Err(message) => {
            call.arguments.line();
            shell.failed(call.reading, &message);
            return Ok(false);
        }
    };
    match flag_of(&text) {
        Some(holds) => Ok(holds),
        None => {
            let name = if again { "elif" } else { "if" };
            let message =
                format!("unrecognized value \"{text}\" for \"\\{name} expression\": Boolean expected");
            shell.failed(call.reading, &message);
            Ok(false)
        }
    }
}

pub fn begin(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let holds = condition(shell, call, false)?;
    let mark = call.reading.scanner.mark();
    call.reading.branches.begin(holds, mark);
    Ok(Flow::On)
}

pub fn again(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let holds = condition(shell, call, true)?;
    let mark = call.reading.scanner.mark();
    let kept = call.reading.branches.again(holds, mark)?;
    call.reading.scanner.back_to(kept);
    Ok(Flow::On)
}

pub fn otherwise(_: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let mark = call.reading.scanner.mark();
    let kept = call.reading.branches.otherwise(mark)?;
    call.reading.scanner.back_to(kept);
    Ok(Flow::On)
}

pub fn end(_: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let mark = call.reading.scanner.mark();
    let kept = call.reading.branches.end(mark)?;
    call.reading.scanner.back_to(kept);
    Ok(Flow::On)
}
