//! The figures that the experiments were published with.

use super::page::Table;

fn rows<const N: usize>(rows: &[[&str; N]]) -> Vec<Vec<String>> {
    rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
}

/// InterBase, milliseconds a pass.
pub(super) fn e1() -> Table {
    Table::new(
        "Published: InterBase 7.5.1, milliseconds a pass",
        &["", "1", "2", "3", "4", "5", "fifth / first"],
    )
    .with(rows(&[
        ["default", "4,670", "47,856", "159,950", "156,190", "160,660", "34.4"],
        ["NO SAVEPOINT", "4,950", "7,210", "6,230", "6,380", "6,560", "1.3"],
    ]))
}

/// Oracle, seconds for a million rows.
pub(super) fn e2() -> Table {
    Table::new("Published: Oracle 11g, a million rows", &["", "seconds", "rows/s"]).with(rows(&[
        ["one commit at the end", "45", "22,222"],
        ["bulk", "7", "142,857"],
        ["COMMIT in the procedure", "136.3", "7,337"],
        ["WRITE WAIT IMMEDIATE", "306.6", "3,262"],
        ["WRITE WAIT BATCH", "269.0", "3,717"],
        ["WRITE NOWAIT IMMEDIATE", "128.8", "7,764"],
        ["WRITE NOWAIT BATCH", "105.3", "9,497"],
    ]))
}

/// SI-CV, against PostgreSQL without it.
pub(super) fn e3() -> Table {
    Table::new(
        "Published: SI-CV in PostgreSQL 8.4, TPC-C on flash",
        &["warehouses", "change of new orders a minute"],
    )
    .with(rows(&[["up to 180", "none"], ["240 and more", "up to +30 %"]]))
}

/// The contest's best.
pub(super) fn e5() -> Table {
    Table::new("Published: the best of the contest, at once", &["", "a minute"])
        .with(rows(&[["bills", "60,000 to 90,000"], ["transactions", "up to about 10,000"]]))
}

/// Firebird, seconds with one worker and with four.
pub(super) fn e4() -> Table {
    Table::new("Published: Firebird 5, seconds", &["", "1 worker", "4 workers", "speed-up"]).with(rows(&[
        ["index", "6.798", "3.175", "2.14"],
        ["backup", "35.810", "18.267", "1.96"],
        ["restore", "201.590", "116.718", "1.73"],
        ["  data", "70.730", "26.748", "2.64"],
        ["  indexes", "121.142", "86.075", "1.41"],
        ["sweep after an update that was rolled back", "20.642", "9.406", "2.19"],
    ]))
}
