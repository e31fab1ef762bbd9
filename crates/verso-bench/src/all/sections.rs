//! What the page says of each experiment before its figures: what was published, and where.

use super::page::Section;
use super::published;

/// E1.
pub(super) fn e1() -> Section {
    Section {
        title: "E1: the same rows again and again, in one transaction",
        about: "InterBase 7.5.1 introduced transactions without savepoints with an experiment: five updates of a whole table in one \
                transaction. With savepoints the third pass took 34 times as long as the first, as each pass kept another copy of \
                every row. A database that does this well has passes that cost the same, with savepoints and without, in memory that \
                does not grow.",
        tables: vec![published::e1()],
        ..Section::default()
    }
}

/// E2.
pub(super) fn e2() -> Section {
    Section {
        title: "E2: a commit for each of a million rows",
        about: "Oracle 11g let a procedure insert a million rows with a commit each, by COMMIT WRITE {WAIT|NOWAIT} \
                {IMMEDIATE|BATCH}. What is durable when a commit returns differs from mode to mode: WAIT waits for the disk, NOWAIT \
                promises that nothing but the newest commits can be lost.",
        tables: vec![published::e2()],
        ..Section::default()
    }
}

/// E3.
pub(super) fn e3() -> Section {
    Section {
        title: "E3: what one transaction writes, together or spread",
        about: "SI-CV (TPCTC 2011) gave each transaction of PostgreSQL 8.4 pages of its own for the versions that it writes. Under \
                TPC-C on flash, new orders a minute were equal up to 180 warehouses and up to 30 % more from 240 on, with fewer page \
                writes and at most 0.0016 % more space a warehouse. Verso updates rows in place: co-location concerns its version \
                pages and the pages of inserts, most dirty pages are those of rows that many transactions update, and these are the \
                same with either placement. After each run TPC-C's twelve consistency conditions hold, or the experiment fails.",
        tables: vec![published::e3()],
        ..Section::default()
    }
}

/// E4.
pub(super) fn e4() -> Section {
    Section {
        title: "E4: maintenance with several workers",
        about: "Firebird 5 gave index creation, backup, restore and sweep worker threads, and measured them on a table of 4,079,052 \
                words.",
        tables: vec![published::e4()],
        ..Section::default()
    }
}

/// E5.
pub(super) fn e5() -> Section {
    Section {
        title: "E5: a billing batch beside TPC-C",
        about: "The Fastest Informix DBA Contest of 2013: a batch bills 100,000 customers again and again while users run TPC-C on \
                the same database. The score is transactions a minute plus bills a minute, at once. The best reached 60,000 to \
                90,000 bills a minute beside at most about 10,000 transactions a minute, on four cores of 2 GHz with one solid state \
                disk; alone, the winner's batch ran three to four times as fast. After each run the sums of bills and balances are \
                compared, and TPC-C's twelve consistency conditions hold, or the experiment fails.",
        tables: vec![published::e5()],
        ..Section::default()
    }
}

/// TPC-H.
pub(super) fn tpch() -> Section {
    Section {
        title: "TPC-H: 22 analytical queries",
        about: "Not one of the five experiments, but what the batch and the reports of the fifth are made of: queries over large \
                tables that take changes at the same time. At scale factor 1 every answer is compared with the published one.",
        ..Section::default()
    }
}
