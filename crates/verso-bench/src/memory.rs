//! The highest memory of this process beyond pool frames, sampled while something runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use verso_env::Env;

const INTERVAL: Duration = Duration::from_millis(1);

/// Gives the bytes of memory that count; called from the sampling thread.
pub type Probe = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Samples until it is stopped.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    peak: Arc<AtomicU64>,
    thread: Option<verso_env::JoinHandle>,
}

impl Sampler {
    /// Starts sampling.
    pub fn start(env: &Env, probe: Probe) -> Sampler {
        let stop = Arc::new(AtomicBool::new(false));
        let peak = Arc::new(AtomicU64::new(probe()));
        let thread = {
            let (stop, peak, clock) = (Arc::clone(&stop), Arc::clone(&peak), Arc::clone(&env.clock));
            env.spawn("memory-sampler", move || {
                while !stop.load(Ordering::Relaxed) {
                    peak.fetch_max(probe(), Ordering::Relaxed);
                    clock.sleep(INTERVAL);
                }
            })
        };
        Sampler { stop, peak, thread: Some(thread) }
    }

    /// Stops and gives the highest sample.
    pub fn finish(mut self) -> u64 {
        self.end();
        self.peak.load(Ordering::Relaxed)
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread only samples: a panic in it would have been the probe's own.
            let _ = thread.join();
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_kept_after_the_memory_has_gone() {
        let now = Arc::new(AtomicU64::new(10));
        let probe: Probe = {
            let now = Arc::clone(&now);
            Arc::new(move || now.fetch_max(0, Ordering::Relaxed))
        };
        let env = Env::real();
        let sampler = Sampler::start(&env, probe);
        now.store(50, Ordering::Relaxed);
        while sampler.peak.load(Ordering::Relaxed) < 50 {
            env.clock.sleep(INTERVAL);
        }
        now.store(20, Ordering::Relaxed);
        assert_eq!(sampler.finish(), 50);
    }
}
