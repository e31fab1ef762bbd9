//! The form of results.

use super::super::format::Format;
use super::super::peer::Peer;
use super::super::{Flow, Shell};
use super::{Call, Switch, switch_named, switch_of};

impl Shell<'_> {
    /// Sets an option of the output and says so.
    fn set_option(&mut self, option: &str, value: Option<&str>) -> Result<Flow, String> {
        self.layout.set(option, value)?;
        // As in psql, nothing is said of these when they are set to a value, only when they are turned over.
        let silent = ["footer", "numericlocale", "t", "tuples_only"].contains(&option) && value.is_some();
        if !silent {
            self.told(option);
        }
        Ok(Flow::On)
    }

    fn told(&mut self, option: &str) {
        if !self.variables.quiet {
            let text = format!("{}\n", self.layout.told(option));
            self.output.say(&text);
        }
    }

    /// `\stat`.
    pub(super) fn switch_statistics(&mut self, switch: Switch) -> Result<(), String> {
        self.counts_itself()?;
        self.variables.statistics = switch.apply(self.variables.statistics);
        Ok(())
    }

    /// `\stat tables`.
    pub(super) fn switch_table_statistics(&mut self, switch: Switch) -> Result<(), String> {
        self.counts_itself()?;
        self.variables.table_statistics = switch.apply(self.variables.table_statistics);
        Ok(())
    }

    fn counts_itself(&self) -> Result<(), String> {
        match self.open {
            Some(Peer::Server(_)) => {
                Err("\\stat counts what databases do that the shell has opened itself".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn say_switch(&mut self, what: &str, on: bool) {
        if !self.variables.quiet {
            self.output.say(&format!("{what} is {}.\n", if on { "on" } else { "off" }));
        }
    }
}

pub fn set(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    match call.arguments.next()? {
        None => {
            let text = shell.layout.show();
            shell.output.say(&text);
            Ok(Flow::On)
        }
        Some(option) => {
            let value = call.arguments.next()?;
            shell.set_option(&option, value.as_deref())
        }
    }
}

pub fn expanded(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let value = call.arguments.word()?;
    shell.set_option("expanded", value.as_deref())
}

pub fn unaligned(shell: &mut Shell<'_>, _: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let format = if shell.layout.format == Format::Aligned { "unaligned" } else { "aligned" };
    shell.set_option("format", Some(format))
}

pub fn html(shell: &mut Shell<'_>, _: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let format = if shell.layout.format == Format::Html { "aligned" } else { "html" };
    shell.set_option("format", Some(format))
}

pub fn tuples_only(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let value = call.arguments.word()?;
    shell.set_option("tuples_only", value.as_deref())
}

pub fn title(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let value = call.arguments.word()?;
    shell.set_option("title", value.as_deref())
}

pub fn attributes(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let value = call.arguments.next()?;
    shell.set_option("tableattr", value.as_deref())
}

pub fn separator(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let value = call.arguments.next()?;
    shell.set_option("fieldsep", value.as_deref())
}

pub fn timing(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    shell.variables.timing = switch_of(call)?.apply(shell.variables.timing);
    let on = shell.variables.timing;
    shell.say_switch("Timing", on);
    Ok(Flow::On)
}

pub fn statistics(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let word = call.arguments.word()?;
    if word.as_deref() == Some("tables") {
        let switch = switch_of(call)?;
        shell.switch_table_statistics(switch)?;
        let on = shell.variables.table_statistics;
        shell.say_switch("Statistics of tables", on);
        return Ok(Flow::On);
    }
    let switch = switch_named(word, call.name)?;
    shell.switch_statistics(switch)?;
    let on = shell.variables.statistics;
    shell.say_switch("Statistics", on);
    Ok(Flow::On)
}
