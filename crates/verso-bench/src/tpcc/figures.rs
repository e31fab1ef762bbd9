//! What a run of TPC-C found, in the shape of its JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use super::drive::Notes;
use super::holder::Held;
use super::transactions::Kind;

/// Milliseconds by kind of transaction.
type ByKind = BTreeMap<&'static str, f64>;

/// Figures of one target.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TpccFigures {
    /// Warehouses.
    pub warehouses: u32,
    /// Connections.
    pub connections: u32,
    /// Was each transaction one call of a procedure?
    pub procedures: bool,
    /// Seconds that counted.
    pub seconds: f64,
    /// Seconds of filling the tables and making their keys; none where they were there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_s: Option<f64>,
    /// New orders a minute, without those rolled back.
    pub tpmc: f64,
    /// Transactions of all kinds a minute.
    pub total_per_min: f64,
    /// Response times: the median …
    pub p50_ms: ByKind,
    /// … and what 5, 1, .1 per cent and none of the transactions exceed.
    pub p95_ms: ByKind,
    /// See `p95_ms`.
    pub p99_ms: ByKind,
    /// See `p95_ms`.
    pub p999_ms: ByKind,
    /// See `p95_ms`.
    pub max_ms: ByKind,
    /// Transactions that failed.
    pub errors: u64,
    /// Transactions that began again after a serialization failure or a deadlock.
    pub retries: u64,
    /// Do the twelve conditions hold?
    pub consistent: bool,
    /// Processor seconds of the driver, which are the database's, too, where it is embedded.
    pub driver_cpu_s: f64,
    /// Processor seconds of the server, where it is a process of the benchmark's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpu_s: Option<f64>,
    /// What it cost to hold a snapshot meanwhile, where somebody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
}

/// The value that `share` of the sorted ones do not exceed, in milliseconds.
pub(crate) fn percentile(sorted: &[u32], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).map_or(0.0, |&micros| f64::from(micros) / 1e3)
}

impl TpccFigures {
    /// From what the terminals noted.
    pub(crate) fn new(mut notes: Notes) -> TpccFigures {
        let seconds = notes.nanos.max(1) as f64 / 1e9;
        let minutes = seconds / 60.0;
        let total: usize = notes.micros.iter().map(Vec::len).sum();
        let mut figures = TpccFigures {
            seconds,
            tpmc: (notes.new_orders as f64 / minutes).round(),
            total_per_min: (total as f64 / minutes).round(),
            errors: notes.errors,
            retries: notes.retries,
            driver_cpu_s: notes.driver_nanos as f64 / 1e9,
            server_cpu_s: notes.server_nanos.map(|nanos| nanos as f64 / 1e9),
            ..TpccFigures::default()
        };
        for kind in Kind::ALL {
            let micros = &mut notes.micros[kind as usize];
            micros.sort_unstable();
            for (by_kind, share) in [
                (&mut figures.p50_ms, 0.5),
                (&mut figures.p95_ms, 0.95),
                (&mut figures.p99_ms, 0.99),
                (&mut figures.p999_ms, 0.999),
                (&mut figures.max_ms, 1.0),
            ] {
                by_kind.insert(kind.name(), percentile(micros, share));
            }
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let sorted: Vec<u32> = (1..=1000).map(|i| i * 1000).collect();
        assert_eq!(percentile(&sorted, 0.5), 500.0);
        assert_eq!(percentile(&sorted, 0.999), 999.0);
        assert_eq!(percentile(&sorted, 1.0), 1000.0);
        assert_eq!(percentile(&[7_000], 0.5), 7.0);
        assert_eq!(percentile(&[], 0.5), 0.0);
    }

    #[test]
    fn rates_are_those_of_a_minute() {
        let mut notes = Notes { nanos: 30_000_000_000, new_orders: 45, ..Notes::default() };
        notes.micros[0] = vec![1_000; 46];
        notes.micros[1] = vec![2_000; 54];
        let figures = TpccFigures::new(notes);
        assert_eq!((figures.tpmc, figures.total_per_min), (90.0, 200.0));
        assert_eq!(figures.p95_ms["payment"], 2.0);
    }
}
