//! The workbench: the published experiments as workloads, beside their peers, every answer verified.
//!
//!     verso bench e1 ─► calibrate ─► a database ─► a fresh copy, a child process for each variant and peer ─► table, plot, JSON
//!
//! B1. Whatever is measured runs in a child process of its own: memory of one variant never shows in another's.
//! B2. Every engine commits durably, on the same file system, in the same run; a calibration of that run stands beside the figures.
//! B3. After each run every value of the table is compared with the one the workload's formula gives; a difference ends the run.
//! B4. A peer that is not there is named as skipped.
#![forbid(unsafe_code)]

mod all;
mod calibration;
mod chart;
mod child;
mod e1;
mod e2;
mod e3;
mod e4;
mod e5;
mod error;
mod folder;
mod hot;
mod keys;
mod machine;
mod memory;
mod mixed;
mod pagesize;
mod peers;
mod results;
mod tpcc;
mod tpch;
mod wire;

pub use all::{AllOptions, Experiment, run as run_all};
pub use child::{ChildTask, run_child};
pub use e1::{E1Options, run as run_e1};
pub use e2::{E2Options, E2Task, run as run_e2};
pub use e3::{E3Options, Point, run as run_e3};
pub use e4::{E4Options, E4Task, run as run_e4};
pub use e5::{BatchFigures, E5Options, Variant, run as run_e5};
pub use error::BenchError;
pub use folder::give_up;
pub use hot::{HotFigures, HotOptions, HotTask, run as run_hot};
pub use keys::{KeysFigures, KeysOptions, KeysTask};
pub use mixed::{MixedFigures, MixedOptions, Reports, Transactions, run as run_mixed};
pub use pagesize::{PageSizeOptions, PageSizeReport, run as run_pagesize};
pub use results::{Calibration, Measured, Report};
pub use tpcc::{TpccFigures, TpccOptions, run as run_tpcc};
pub use tpch::{TpchOptions, TpchTask, run as run_tpch};
pub use wire::{WireOptions, run as run_wire};

/// The workloads of `verso bench`.
#[derive(Debug, clap::Subcommand)]
pub enum Workload {
    /// Five bulk updates of one table in one transaction: default, NO SAVEPOINT, savepoints, rollback
    E1(E1Options),
    /// A million inserts by a procedure, committed in every mode, beside SQLite and the bare disk
    E2(E2Options),
    /// Four million words: index, backup, restore and sweep with several workers, beside SQLite
    E4(E4Options),
    /// Passes, scans, single reads and writes at several sizes of pages
    #[command(name = "pagesize")]
    PageSize(PageSizeOptions),
    /// Lookups of single rows by their key, beside SQLite
    Point(KeysOptions),
    /// Inserts and updates of single rows by their key, beside SQLite
    Insert(KeysOptions),
    /// One balance that many clients add to, with and without RESERVABLE
    Hot(HotOptions),
    /// pgbench's transactions through the server, beside PostgreSQL
    Wire(WireOptions),
    /// TPC-C: five transactions of an order system, over the wire or in the process, beside peers
    Tpcc(TpccOptions),
    /// TPC-C with what one transaction writes together, and spread over shared pages
    E3(E3Options),
    /// The 22 queries of TPC-H, with one worker and with all, beside peers
    Tpch(TpchOptions),
    /// TPC-B's transactions beside reports over a large table
    Mixed(MixedOptions),
    /// A billing batch that rewrites whole tables while users run TPC-C, beside peers
    E5(E5Options),
    /// All five experiments and TPC-H, on one page with the published figures
    All(AllOptions),
}

/// Runs a workload and prints its table.
///
/// # Errors
/// What failed, and in which engine; a wrong value in a table is an error as well.
pub fn run(workload: &Workload) -> Result<(), BenchError> {
    match workload {
        Workload::E1(options) => run_e1(options).map(drop),
        Workload::E2(options) => run_e2(options),
        Workload::E4(options) => run_e4(options),
        Workload::PageSize(options) => run_pagesize(options).map(drop),
        Workload::Point(options) => keys::run_point(options),
        Workload::Insert(options) => keys::run_insert(options),
        Workload::Hot(options) => run_hot(options),
        Workload::Wire(options) => run_wire(options),
        Workload::Tpcc(options) => run_tpcc(options),
        Workload::E3(options) => run_e3(options),
        Workload::Tpch(options) => run_tpch(options),
        Workload::Mixed(options) => run_mixed(options),
        Workload::E5(options) => run_e5(options),
        Workload::All(options) => run_all(options),
    }
}
