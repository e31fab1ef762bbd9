//! What the operating system says about this process: memory and page faults. Linux only; `None` elsewhere.

use std::sync::OnceLock;

/// Page faults of this process since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounters {
    /// Faults served without reading a disk.
    pub minor: u64,
    /// Faults that had to read.
    pub major: u64,
}

/// Physical memory the process occupies now, in bytes. Costs some microseconds.
pub fn resident_bytes() -> Option<u64> {
    linux::resident_bytes()
}

/// The most physical memory the process has occupied so far, in bytes.
pub fn peak_resident_bytes() -> Option<u64> {
    linux::peak_resident_bytes()
}

/// The physical memory that this process may use: the machine's, or what its control group allows if that is less.
pub fn machine_bytes() -> Option<u64> {
    linux::machine_bytes()
}

/// Processors that this process may use, at least 1, as they were at the first call: the system takes files of control groups to
/// tell, and batches ask between their turns.
pub fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// Page faults so far.
pub fn fault_counters() -> Option<FaultCounters> {
    linux::fault_counters()
}

/// Processor time that all threads of the process have used so far, in nanoseconds.
pub fn processor_nanos() -> Option<u64> {
    linux::processor_nanos()
}

/// Processor time that another process has used so far, in nanoseconds; as exact as the operating system's ticks.
pub fn processor_nanos_of(process: u32) -> Option<u64> {
    linux::processor_nanos_of(process)
}

/// Lets the process have as many files and sockets open as the operating system allows it without asking anybody; how many
/// that are. None where it does not say, or sets no limit.
pub fn raise_open_files() -> Option<u64> {
    linux::raise_open_files()
}

#[cfg(target_os = "linux")]
mod linux {
    use super::FaultCounters;

    pub(super) fn resident_bytes() -> Option<u64> {
        let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
        let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(pages * rustix::param::page_size() as u64)
    }

    pub(super) fn raise_open_files() -> Option<u64> {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        let (current, maximum) = (limit.current?, limit.maximum);
        // A limit that cannot be raised stays.
        let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
        if raised { maximum } else { Some(current) }
    }

    pub(super) fn machine_bytes() -> Option<u64> {
        let info = std::fs::read_to_string("/proc/meminfo").ok()?;
        let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kilobytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
        let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
        let group = group.and_then(|limit| limit.trim().parse().ok());
        Some((kilobytes * 1024).min(group.unwrap_or(u64::MAX)))
    }

    pub(super) fn peak_resident_bytes() -> Option<u64> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kilobytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
        Some(kilobytes * 1024)
    }

    pub(super) fn fault_counters() -> Option<FaultCounters> {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The command name stands in parentheses and may hold spaces; fields are counted behind it.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let minor = fields.nth(7)?.parse().ok()?;
        let major = fields.nth(1)?.parse().ok()?;
        Some(FaultCounters { minor, major })
    }

    pub(super) fn processor_nanos_of(process: u32) -> Option<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let user: u64 = fields.nth(11)?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        Some((user + system) * (1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)))
    }

    pub(super) fn processor_nanos() -> Option<u64> {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Some(used.tv_sec.cast_unsigned() * 1_000_000_000 + used.tv_nsec.cast_unsigned())
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    use super::FaultCounters;

    pub(super) fn resident_bytes() -> Option<u64> {
        None
    }

    pub(super) fn peak_resident_bytes() -> Option<u64> {
        None
    }

    pub(super) fn machine_bytes() -> Option<u64> {
        None
    }

    pub(super) fn fault_counters() -> Option<FaultCounters> {
        None
    }

    pub(super) fn processor_nanos_of(_: u32) -> Option<u64> {
        None
    }

    pub(super) fn processor_nanos() -> Option<u64> {
        None
    }

    pub(super) fn raise_open_files() -> Option<u64> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_that_of_all_threads() {
        let before = processor_nanos().unwrap();
        let busy = || while processor_nanos().unwrap() < before + 20_000_000 {};
        std::thread::scope(|scope| scope.spawn(busy).join().unwrap());
        assert!(processor_nanos().unwrap() >= before + 20_000_000);
        let by_ticks = processor_nanos_of(std::process::id()).unwrap();
        assert!(by_ticks + 100_000_000 >= before && by_ticks <= processor_nanos().unwrap() + 100_000_000);
    }

    #[test]
    fn the_limit_of_open_files_is_raised_to_what_is_allowed() {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let before = getrlimit(Resource::Nofile);
        let Some(current) = before.current.filter(|current| *current > 600) else { return };
        setrlimit(Resource::Nofile, Rlimit { current: Some(current - 50), ..before }).unwrap();
        assert_eq!(raise_open_files(), before.maximum);
        assert_eq!(getrlimit(Resource::Nofile).current, before.maximum);
        setrlimit(Resource::Nofile, before).unwrap();
    }

    #[test]
    fn resident_memory_grows_with_touched_memory_and_stays_below_the_peak() {
        let before = resident_bytes().unwrap();
        let faults = fault_counters().unwrap();
        let block = vec![1_u8; 64 << 20];
        let after = resident_bytes().unwrap();
        assert!(after >= before + (48 << 20), "{before} {after} {}", block[77]);
        assert!(peak_resident_bytes().unwrap() >= after - (8 << 20));
        assert!(fault_counters().unwrap().minor > faults.minor);
    }
}
