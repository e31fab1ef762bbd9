//! What stands on the page, before it is written as HTML or Markdown.

use crate::machine::Machine;
use crate::results::Calibration;

/// The page.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) machine: Machine,
    pub(super) calibration: Calibration,
    /// Its tables are small: the figures show that everything runs, not how fast.
    pub(super) quick: bool,
    pub(super) sections: Vec<Section>,
}

/// An experiment.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) title: &'static str,
    /// What it is and what was claimed.
    pub(super) about: &'static str,
    /// How to run it alone.
    pub(super) command: String,
    pub(super) tables: Vec<Table>,
    /// The file of its plot.
    pub(super) plot: Option<String>,
    /// Why there are no figures.
    pub(super) failed: Option<String>,
}

/// Figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    pub(super) caption: String,
    pub(super) head: Vec<String>,
    /// The first cell of each is what the others are of.
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub(super) fn new(caption: &str, head: &[&str]) -> Table {
        let head = head.iter().map(|cell| (*cell).to_owned()).collect();
        Table { caption: caption.to_owned(), head, rows: Vec::new() }
    }

    /// With these rows.
    pub(super) fn with(mut self, rows: impl IntoIterator<Item = Vec<String>>) -> Table {
        self.rows.extend(rows);
        self
    }
}

impl Page {
    pub(super) fn new(machine: Machine, calibration: Calibration, quick: bool) -> Page {
        Page { machine, calibration, quick, sections: Vec::new() }
    }

    /// What the figures were measured on, in sentences.
    pub(super) fn conditions(&self) -> Vec<String> {
        let Machine { architecture, system, cores, release_build } = &self.machine;
        let Calibration { memcpy_gb_s, fdatasync_per_s, two_threads } = self.calibration;
        let mut said = vec![
            format!("Verso {} on {system}, {architecture}, {cores} processors.", env!("CARGO_PKG_VERSION")),
            format!(
                "The machine copies {memcpy_gb_s:.1} GB of memory a second on one core, makes {fdatasync_per_s:.0} durable writes \
                 of 4 KiB a second, and two threads that share nothing do {two_threads:.2} times the work of one."
            ),
            "All engines of a table ran in the same run on the same file system, and every answer was compared with the one that is \
             right. The published figures are of other machines and years: compare shapes and ratios."
                .to_owned(),
        ];
        if self.quick {
            said.push("This was a quick run: small tables, short measurements. Its figures show that everything runs.".to_owned());
        }
        if !release_build {
            said.push("The program was built without optimisation: its times mean nothing.".to_owned());
        }
        said
    }
}
