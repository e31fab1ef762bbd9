//! The plot: how many times as fast each job is with more workers.

use super::{ByWorkers, Report};
use crate::chart::{Chart, Lines};

pub(super) fn speed_up(report: &Report) -> Chart {
    let found = &report.verso;
    let restores: ByWorkers = found.restore.iter().map(|(workers, restore)| (*workers, restore.s)).collect();
    let backups =
        found.backup.iter().map(|(packing, backup)| (format!("backup, {packing}"), &backup.seconds));
    let jobs = [
        ("index", &found.index),
        ("sweep", &found.sweep),
        ("collations", &found.collations),
        ("restore", &restores),
    ];
    let jobs = jobs.into_iter().map(|(name, seconds)| (name.to_owned(), seconds)).chain(backups);
    let line = |(name, seconds): (String, &ByWorkers)| {
        let one = *seconds.get(&1)?;
        let points = seconds.iter().map(|(workers, s)| (*workers as f64, one / s.max(1e-9)));
        (seconds.len() > 1).then(|| (name, points.collect()))
    };
    Chart::Lines(Lines {
        title: format!(
            "E4: {} words, speed-up; {} processors",
            crate::e1::grouped(report.rows),
            report.machine.cores
        ),
        over: "workers",
        from: None,
        unit: "times one worker's",
        logarithmic: false,
        lines: jobs.filter_map(line).collect(),
    })
}
