//! The thread that copies closed segments to the archive.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use verso_env::sync::{Condvar, Mutex};
use verso_env::{Env, JoinHandle};

use super::note::ArchiveNote;
use super::{damaged, segment};
use crate::StorageError;
use crate::page::Lsn;
use crate::wal::{LogPin, Wal};

/// Between two looks for closed segments.
const POLL: Duration = Duration::from_secs(1);
/// A database that is closed begins to archive no further segment after this time.
const FINISH_MAX: Duration = Duration::from_secs(60);
/// A failing target is tried again after at most this long.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Where the log is archived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveOptions {
    /// A folder that is there; the archiver makes one for the database in it.
    pub target: PathBuf,
    /// A segment with changes is closed, and archived, after this time though it is not full; zero for never.
    pub timeout: Duration,
}

/// How archiving goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchiveStatus {
    /// Where to, unless nothing is archived.
    pub target: Option<PathBuf>,
    /// The archive has the log up to here.
    pub archived: Lsn,
    /// Segments archived since the database was opened.
    pub segments: u64,
    /// Bytes of the log behind `archived`.
    pub waiting_bytes: u64,
    /// Attempts that failed since the last one that did not.
    pub failures: u64,
    /// What the last attempt failed with.
    pub error: Option<String>,
    /// When the last segment was archived: microseconds since 1970, 0 for never.
    pub archived_at: i64,
}

/// Archiving of one database: what is known of it, and the thread while there is a target.
pub(crate) struct Archiver {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle>>,
}

struct Shared {
    env: Env,
    wal: Arc<Wal>,
    /// The log folder.
    dir: PathBuf,
    background: bool,
    /// One round at a time.
    round: Mutex<()>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    options: Option<ArchiveOptions>,
    /// What is noted in the log folder, and what keeps the log behind it.
    held: Option<(ArchiveNote, LogPin)>,
    status: ArchiveStatus,
    /// Where the log ended, and when, as the segment that is written to was last looked at.
    seen: Option<(Lsn, u64)>,
    stopped: bool,
    /// No further segment is begun after this moment: the database is being closed.
    until: Option<u64>,
}

impl Archiver {
    /// For a log that was just opened with this note: what the archive does not have stays (A3).
    pub fn new(
        env: &Env,
        wal: &Arc<Wal>,
        dir: &Path,
        note: Option<ArchiveNote>,
        background: bool,
    ) -> Archiver {
        let mut state = State::default();
        if let Some(note) = note {
            state.held = Some(hold(wal, note));
            state.status.archived = note.archived;
        }
        let shared = Shared {
            env: env.clone(),
            wal: Arc::clone(wal),
            dir: dir.to_owned(),
            background,
            round: Mutex::new(()),
            state: Mutex::new(state),
            changed: Condvar::new(),
        };
        Archiver { shared: Arc::new(shared), thread: Mutex::new(None) }
    }

    /// Archives to another place from now on, or to none. The log is kept for it when this returns, whether the target is
    /// there or not.
    ///
    /// # Errors
    /// What the file system reports of the log folder.
    pub fn configure(&self, options: Option<ArchiveOptions>) -> Result<(), StorageError> {
        let shared = &self.shared;
        let round = shared.round.lock();
        let (vfs, database) = (&*shared.env.vfs, shared.wal.database());
        let noted = shared.state.lock().held.is_some();
        match &options {
            None => {
                ArchiveNote::remove(vfs, &shared.dir)?;
                shared.state.lock().held = None;
            }
            Some(_) if !noted => {
                let first = shared.wal.live_log().first().map_or(shared.wal.durable(), |live| live.first);
                let note = ArchiveNote { sealed: first, archived: first };
                note.write(vfs, &shared.dir, database)?;
                let mut state = shared.state.lock();
                state.held = Some(hold(&shared.wal, note));
                state.status.archived = state.held.as_ref().map_or(first, |(note, _)| note.archived);
            }
            Some(_) => {}
        }
        shared.wal.stamp_commits(options.is_some());
        let mut state = shared.state.lock();
        state.status.target = options.as_ref().map(|options| options.target.clone());
        (state.status.failures, state.status.error) = (0, None);
        let starts = options.is_some() && shared.background;
        state.options = options;
        drop(state);
        drop(round);
        shared.changed.notify_all();
        let mut thread = self.thread.lock();
        if starts && thread.is_none() {
            let shared = Arc::clone(shared);
            *thread = Some(self.shared.env.spawn("verso-archive", move || shared.run()));
        }
        Ok(())
    }

    /// Archives everything that is logged by now, the segment that is written to included.
    ///
    /// # Errors
    /// What the target reports; `Archive` if there is none.
    pub fn archive_all(&self) -> Result<(), StorageError> {
        if self.shared.state.lock().options.is_none() {
            return Err(damaged("the log is not archived: archive_target is not set"));
        }
        self.shared.wal.close_segment()?;
        self.shared.round()
    }

    /// Whether the log is archived, or was when the database was left.
    pub fn is_on(&self) -> bool {
        self.shared.state.lock().held.is_some()
    }

    /// How it goes.
    pub fn status(&self) -> ArchiveStatus {
        let state = self.shared.state.lock();
        let mut status = state.status.clone();
        if state.options.is_some() {
            status.waiting_bytes = self.shared.wal.durable().0.saturating_sub(status.archived.0);
        }
        status
    }

    /// Ends the thread, and archives what there is while the database is closed: the archive has every commit then, unless
    /// it takes longer than [`FINISH_MAX`], which is looked at between two segments. What
    /// fails is in the program's log, and is archived when the database is open again.
    pub fn finish(&self) {
        self.stop();
        let shared = &self.shared;
        if shared.state.lock().options.is_none() {
            return;
        }
        let until = shared.env.clock.monotonic_nanos().saturating_add(FINISH_MAX.as_nanos() as u64);
        shared.state.lock().until = Some(until);
        if self.archive_all().is_ok() && shared.env.clock.monotonic_nanos() > until {
            tracing::warn!(
                "the archive is slow: the rest of the log is archived when the database is open again"
            );
        }
    }

    /// Ends the thread.
    pub fn stop(&self) {
        self.shared.state.lock().stopped = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            // Its panic was reported by its own thread; what it did not archive stays in the log folder.
            let _ = thread.join();
        }
    }
}

impl Drop for Archiver {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Keeps the log behind what is archived; behind the oldest there is, where that is gone already.
fn hold(wal: &Wal, note: ArchiveNote) -> (ArchiveNote, LogPin) {
    if let Some(pin) = wal.pin(note.archived) {
        return (note, pin);
    }
    let first = wal.live_log().first().map_or(wal.durable(), |live| live.first);
    tracing::warn!(
        archived = note.archived.0,
        first = first.0,
        "log that was not archived is gone: the archive has a gap, and a new base backup is needed"
    );
    let pin = wal.pin(first).unwrap_or_else(|| wal.pin_anyway(first));
    (ArchiveNote { sealed: note.sealed, archived: first }, pin)
}

fn is_there(env: &Env, target: &Path) -> Result<(), StorageError> {
    let there = super::target_is_there(&*env.vfs, target);
    match there.map_err(|e| StorageError::io(format!("looking for {}", target.display()), e))? {
        true => Ok(()),
        false => Err(damaged(format!("the archive folder {} does not exist", target.display()))),
    }
}

impl Shared {
    fn run(&self) {
        let mut pause = POLL;
        loop {
            {
                let mut state = self.state.lock();
                if state.stopped {
                    return;
                }
                if state.options.is_none() {
                    self.changed.wait(&mut state);
                    continue;
                }
            }
            if self.wal.is_poisoned() {
                return;
            }
            pause = match self.close_when_due().and_then(|()| self.round()) {
                Ok(()) => POLL,
                Err(_) => (pause * 2).min(PAUSE_MAX),
            };
            let mut state = self.state.lock();
            if !state.stopped {
                self.changed.wait_for(&mut state, pause);
            }
        }
    }

    /// Closes the segment that is written to if the timeout of the archive is over.
    fn close_when_due(&self) -> Result<(), StorageError> {
        let now = self.env.clock.monotonic_nanos();
        let due = {
            let mut state = self.state.lock();
            let timeout = state.options.as_ref().map_or(Duration::ZERO, |options| options.timeout);
            let archived = state.status.archived;
            let (_, since) = *state.seen.get_or_insert((archived, now));
            let waits = self.wal.appended() > archived;
            if !waits {
                state.seen = None;
            }
            let over = Duration::from_nanos(now.saturating_sub(since)) >= timeout;
            waits && over && !timeout.is_zero()
        };
        if due {
            self.wal.close_segment()?;
            self.state.lock().seen = None;
        }
        Ok(())
    }

    /// Archives what is closed and durable.
    fn round(&self) -> Result<(), StorageError> {
        let _one = self.round.lock();
        let done = self.archive_closed();
        let mut state = self.state.lock();
        match &done {
            Ok(()) => (state.status.failures, state.status.error) = (0, None),
            Err(error) => {
                state.status.failures += 1;
                let text = error.to_string();
                if state.status.error.as_ref() != Some(&text) {
                    tracing::warn!(%error, "the log could not be archived; it stays in the log folder, and is tried again");
                }
                state.status.error = Some(text);
            }
        }
        done
    }

    fn archive_closed(&self) -> Result<(), StorageError> {
        let (vfs, database) = (&*self.env.vfs, self.wal.database());
        let (target, mut note) = {
            let state = self.state.lock();
            let (Some(options), Some((note, _))) = (&state.options, &state.held) else { return Ok(()) };
            (options.target.clone(), *note)
        };
        let durable = self.wal.durable();
        let closed: Vec<_> = self
            .wal
            .live_log()
            .into_iter()
            .filter_map(|live| Some((live.last?, live)))
            .filter(|(last, _)| *last > note.archived && *last <= durable)
            .collect();
        if closed.is_empty() {
            return Ok(());
        }
        is_there(&self.env, &target)?;
        let dir = target.join(database.to_string());
        vfs.create_dir_all(&dir)
            .and_then(|()| vfs.sync_dir(&target))
            .map_err(|e| StorageError::io(format!("making {}", dir.display()), e))?;
        for (last, live) in closed {
            let until = self.state.lock().until;
            if until.is_some_and(|until| self.env.clock.monotonic_nanos() > until) {
                return Ok(());
            }
            let mut stream = live.stream();
            // What was archived already of it, before archiving was switched off and on.
            while stream.expected() < note.archived && stream.next()?.is_some() {}
            let first = stream.expected();
            let others = segment::list(vfs, &dir)?;
            let other = others
                .iter()
                .find(|file| file.overlaps(first, last) && (file.first, file.last) != (first, last));
            if let Some(other) = other {
                return Err(damaged(format!(
                    "{} holds log from LSN {first} to {last} already: another copy of the database is archived to this folder",
                    other.path.display()
                )));
            }
            let same = others.iter().find(|file| (file.first, file.last) == (first, last));
            let (folder, copied_from) = (&self.dir, live.number);
            let seal = |name: &str| match same {
                // Written before a crash: the same bytes have the same name.
                Some(same) if same.name() != name => Err(damaged(format!(
                    "{} holds another log from LSN {first} to {last}: another copy of the database is archived to this folder",
                    same.path.display()
                ))),
                _ => ArchiveNote { sealed: last, ..note }.write(vfs, folder, database),
            };
            let copied = segment::copy(vfs, &dir, &mut stream, (database, copied_from), last, seal)?;
            note = ArchiveNote { sealed: last, archived: copied.last };
            note.write(vfs, &self.dir, database)?;
            let pin = self.wal.pin(note.archived).unwrap_or_else(|| self.wal.pin_anyway(note.archived));
            let mut state = self.state.lock();
            state.held = Some((note, pin));
            state.status.archived = note.archived;
            state.status.segments += 1;
            state.status.archived_at = self.env.clock.unix_micros();
        }
        Ok(())
    }
}
