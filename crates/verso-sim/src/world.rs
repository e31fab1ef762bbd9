//! Everything simulated of one seed in one bundle.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use verso_env::{Env, Vfs};

use crate::clock::SimClock;
use crate::rng::{Rng, SimRandom};
use crate::scheduler::{RunReport, SchedulerOptions, SimThreads, simulate_with};
use crate::vfs::SimVfs;

/// A simulated machine: disk, clock, randomness and threads of one seed.
///
/// Its disk has the durable, empty directory [`World::dir`].
pub struct World {
    seed: u64,
    clock: SimClock,
    vfs: SimVfs,
    env: Env,
    choices: Mutex<Choices>,
}

/// What is drawn from the seed, one after the other.
struct Choices {
    rng: Rng,
    options: SchedulerOptions,
    last_report: Option<RunReport>,
}

impl World {
    /// The world of `seed`, with an empty disk.
    pub fn new(seed: u64) -> World {
        let mut rng = Rng::new(seed);
        let clock = SimClock::new();
        let vfs = SimVfs::new(rng.next_u64(), &clock);
        vfs.create_dir_all(World::dir())
            .and_then(|()| vfs.sync_dir(Path::new("/")))
            .expect("an empty disk without faults takes a directory");
        World::over(seed, rng, clock, vfs)
    }

    fn over(seed: u64, mut rng: Rng, clock: SimClock, vfs: SimVfs) -> World {
        let env = Env {
            vfs: Arc::new(vfs.clone()),
            clock: Arc::new(clock.clone()),
            random: Arc::new(SimRandom::new(rng.next_u64())),
            threads: Arc::new(SimThreads),
        };
        let choices = Choices { rng, options: SchedulerOptions::default(), last_report: None };
        World { seed, clock, vfs, env, choices: Mutex::new(choices) }
    }

    /// A directory that exists: `/db`.
    pub fn dir() -> &'static Path {
        Path::new("/db")
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The world as the engine sees it; threads can be started only inside [`World::run`].
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// The disk.
    pub fn vfs(&self) -> &SimVfs {
        &self.vfs
    }

    /// The clock.
    pub fn clock(&self) -> &SimClock {
        &self.clock
    }

    /// Choices for the test's own use, a function of the seed and of how often it was called.
    pub fn rng(&self) -> Rng {
        self.choices.lock().rng.fork()
    }

    /// How the following runs choose and give up.
    pub fn set_scheduler(&self, options: SchedulerOptions) {
        self.choices.lock().options = options;
    }

    /// Runs `body` and the threads that it starts in seeded order, until all of them have ended.
    ///
    /// # Panics
    /// See [`crate::simulate`]: failed threads, deadlocks, livelocks, threads that do not end.
    pub fn run<T>(&self, body: impl FnOnce(&Env) -> T) -> T {
        let (rng, options) = {
            let mut choices = self.choices.lock();
            (choices.rng.fork(), choices.options.clone())
        };
        let (value, report) = simulate_with(self.seed, rng, &self.clock, options, || body(&self.env));
        self.choices.lock().last_report = Some(report);
        value
    }

    /// What the last run that ended well looked like.
    pub fn last_report(&self) -> Option<RunReport> {
        self.choices.lock().last_report.clone()
    }

    /// Cuts the power and restores it; see [`SimVfs::crash`]. Handles from before are dead, and the faults end.
    pub fn crash(&self) {
        let seed = self.choices.lock().rng.next_u64();
        self.vfs.crash(seed);
    }

    /// Another world with a disk as a crash now would leave it; this one goes on.
    pub fn fork_crashed(&self) -> World {
        let mut rng = self.rng();
        let clock = SimClock::new();
        clock.advance_to(self.clock.now());
        let vfs = self.vfs.fork_crashed(rng.next_u64(), &clock);
        World::over(self.seed, rng, clock, vfs)
    }
}

#[cfg(test)]
mod tests {
    use verso_env::OpenMode;
    use verso_env::sync::Mutex as SimMutex;

    use super::*;
    use crate::{FaultPlan, seeds};

    /// Two threads append to one file each and sync now and then.
    fn write_logs(world: &World) -> Vec<u64> {
        world.run(|env| {
            let acknowledged = Arc::new(SimMutex::new(vec![0_u64; 2]));
            let handles: Vec<_> = (0..2_usize)
                .map(|number| {
                    let (vfs, acknowledged) = (env.vfs.clone(), acknowledged.clone());
                    env.spawn(&format!("writer {number}"), move || {
                        let path = World::dir().join(format!("log{number}"));
                        let Ok(file) = vfs.open(&path, OpenMode::CREATE) else { return };
                        let mut synced = vfs.sync_dir(World::dir()).is_ok();
                        for entry in 0..8_u64 {
                            let bytes = [entry as u8 + 1; 700];
                            synced = synced && file.write_at(&bytes, entry * 700).is_ok();
                            synced = synced && file.sync_data().is_ok();
                            if synced {
                                acknowledged.lock()[number] = entry + 1;
                            }
                        }
                    })
                })
                .collect();
            for handle in handles {
                handle.join().expect("writers only stop");
            }
            acknowledged.lock().clone()
        })
    }

    fn check_logs(world: &World, acknowledged: &[u64]) {
        for (number, count) in acknowledged.iter().enumerate() {
            let path = World::dir().join(format!("log{number}"));
            let bytes = match world.vfs().read_file(&path) {
                Ok(bytes) => bytes,
                Err(_) if *count == 0 => continue,
                Err(error) => panic!("{error}"),
            };
            let kept = bytes.chunks(700).zip(1..).take(*count as usize).collect::<Vec<_>>();
            assert_eq!(kept.len() as u64, *count);
            for (entry, value) in kept {
                assert_eq!(entry, [value; 700]);
            }
        }
    }

    #[test]
    fn what_was_acknowledged_survives_a_power_cut_in_any_operation() {
        let mut cut_count = 0;
        for seed in seeds(150) {
            let world = World::new(seed);
            let at = world.rng().between(1, 60);
            world.vfs().set_faults(FaultPlan { power_off_at_op: Some(at), ..FaultPlan::default() });
            let acknowledged = write_logs(&world);
            cut_count += u32::from(world.vfs().is_off());
            let fork = world.fork_crashed();
            world.crash();
            check_logs(&world, &acknowledged);
            check_logs(&fork, &acknowledged);
        }
        assert!(cut_count > 30 || std::env::var("SEED").is_ok(), "{cut_count}");
    }

    #[test]
    fn the_same_seed_gives_the_same_run_and_the_same_disk() {
        for seed in seeds(20) {
            let run = || {
                let world = World::new(seed);
                let at = world.rng().between(1, 40);
                world.vfs().set_faults(FaultPlan { power_off_at_op: Some(at), ..FaultPlan::default() });
                world.vfs().start_trace();
                let acknowledged = write_logs(&world);
                let trace = world.vfs().take_trace();
                world.crash();
                let files = world.vfs().list_dir(World::dir()).expect("the directory is durable");
                let contents: Vec<_> = files.iter().map(|path| world.vfs().read_file(path).ok()).collect();
                let random = world.env().random.next_u64();
                (acknowledged, trace, files, contents, random, world.last_report())
            };
            assert_eq!(run(), run());
        }
    }

    #[test]
    fn threads_outside_of_a_run_are_refused() {
        let world = World::new(1);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.env().spawn("t", || ())));
        let message = result.expect_err("refused").downcast_ref::<String>().cloned();
        assert!(message.is_some_and(|message| message.contains("World::run")));
    }
}
