//! Threads that serve the sessions whose clients have said something.
//!
//! ```text
//!  sockets ──► epoll ──► a worker ──► the session's turn: reads, answers, until nothing is left
//!                ▲          │
//!                └──────────┘   stands still (lock, disk, client)? another takes its place
//! ```
//!
//! A thread for each session would be woken by each of its messages. Where the processors are busy that is most of what a
//! short statement costs; here as many threads as there are processors go on to the next message instead.
//!
//! K1. One worker serves a session at a time: its socket tells one thing that it has heard (`EPOLLONESHOT`), and the next
//!     when the turn is over. A session's messages are answered in their order.
//! K2. A worker that waits inside of a turn, for a lock, the disk or a client, is replaced at once
//!     ([`verso_env::waiting`]): so whoever is waited for is heard, however many wait ([`crew`]).
//! K3. In a transaction block a session keeps its worker, and for some milliseconds after one: others may wait for its
//!     locks, so nothing it says waits for a worker.
//! K4. A commit does not keep its worker: the answer is sent when the log is on disk ([`commits`]).
//! K5. One that is in its turn for longer than a few milliseconds is replaced, too, as long as not too many are: long
//!     statements leave room for short ones, and beyond that number statements wait in the order in which they came.
//! K6. A session that is in the same turn at two looks, a quarter of a second apart, has its socket looked at: where the
//!     client is gone, what runs for it is cancelled.
//! K7. A session can be called, from any thread: it gets a turn though its client says nothing. One that is in a turn gets
//!     another when that ends, so no call is lost, and K1 holds.

mod commits;
mod crew;
mod seat;

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use verso_env::sync::{Condvar, Mutex, MutexGuard, RwLock};
use verso_env::{Env, waiting};

use crate::network::stream::Socket;
use commits::Commits;
pub use commits::Log;
use crew::{Crew, Member, Seen};
use seat::{Seat, Standing};

/// How often somebody looks whether a worker is in a long turn (K5).
const TICK: Duration = Duration::from_millis(2);
/// Looks at workers between two looks at the clients of long turns (K6).
const CLIENTS_EVERY: u32 = 125;
/// Looks at workers that all listen after which nobody looks until one has a turn.
const QUIET_MAX: u32 = 50;
/// What the end of the pool says instead of a session's number.
const END: u64 = u64::MAX;

/// The sessions of one database that wait for its log (K4).
pub struct Line {
    commits: Commits<Arc<Seat>>,
    log: Box<dyn Log>,
}

impl Line {
    /// An empty one.
    pub fn new(log: Box<dyn Log>) -> Arc<Line> {
        Arc::new(Line { commits: Commits::default(), log })
    }
}

impl std::fmt::Debug for Line {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Line").finish_non_exhaustive()
    }
}

/// A session as the pool sees it.
pub trait Client: Send {
    /// Answers what has come, and returns when nothing is left.
    fn turn(&mut self) -> Turn;

    /// By this the session is called from outside (K7).
    fn seated(&mut self, call: Arc<dyn Fn() + Send + Sync>);

    /// Whether it may be called; once it may, it always may.
    fn is_called(&self) -> bool;

    /// The log is on disk as far as the last turn wanted: others may know now. Neither waits nor says anything; that is the
    /// next turn's.
    fn committed(&mut self);
}

/// How a turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The client is waited for.
    Waits,
    /// The log is waited for: the next turn is to come when it is on disk up to there.
    Commits(u64),
    /// The session is over.
    Ends,
}

/// The workers and the sessions they serve.
pub struct Pool {
    env: Env,
    epoll: OwnedFd,
    /// Readable once the pool ends.
    end: (UnixStream, UnixStream),
    seats: RwLock<HashMap<u64, Arc<Seat>>>,
    next: AtomicU64,
    crew: Crew,
    /// Nobody looks after the workers just now.
    dozes: AtomicBool,
    dozing: Mutex<()>,
    woken: Condvar,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Pool").field("threads", &self.crew.threads()).finish_non_exhaustive()
    }
}

impl Pool {
    /// A pool in which `workers` threads work at a time, beside up to `long_max` in long turns. They start when they are
    /// needed.
    ///
    /// # Errors
    /// The operating system's.
    pub fn new(env: Env, workers: usize, long_max: usize) -> io::Result<Arc<Pool>> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let end = UnixStream::pair()?;
        epoll::add(&epoll, &end.0, EventData::new_u64(END), EventFlags::IN)?;
        let pool = Arc::new(Pool {
            epoll,
            end,
            seats: RwLock::default(),
            next: AtomicU64::new(0),
            crew: Crew::new(workers, long_max),
            dozes: AtomicBool::new(false),
            dozing: Mutex::default(),
            woken: Condvar::new(),
            env,
        });
        let watched = Arc::clone(&pool);
        pool.env.threads.try_spawn("verso-watch", Box::new(move || watched.watch()))?;
        Ok(pool)
    }

    /// Serves a session from now on; its first turn is on this thread, at once. Its commits wait in `line`. `gone` is called
    /// when its client has gone while a turn lasts.
    ///
    /// # Errors
    /// The socket cannot be watched; the session is over.
    pub fn adopt(
        self: &Arc<Pool>,
        socket: &Arc<Socket>,
        line: &Arc<Line>,
        client: Box<dyn Client>,
        gone: Box<dyn Fn() + Send + Sync>,
    ) -> io::Result<()> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let seat = Arc::new(Seat {
            number,
            socket: Arc::clone(socket),
            line: Arc::clone(line),
            client: Mutex::new(Some(client)),
            turns: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            is_called: AtomicBool::new(false),
            standing: Mutex::default(),
            gone,
        });
        let called = (Arc::downgrade(self), Arc::downgrade(&seat));
        if let Some(client) = &mut *seat.client.lock() {
            client.seated(Arc::new(move || {
                if let (Some(pool), Some(seat)) = (called.0.upgrade(), called.1.upgrade()) {
                    pool.call(&seat);
                }
            }));
        }
        self.seats.write().insert(number, Arc::clone(&seat));
        let nothing = EventFlags::ONESHOT;
        if let Err(error) = epoll::add(&self.epoll, &**socket, EventData::new_u64(number), nothing) {
            self.seats.write().remove(&number);
            return Err(error.into());
        }
        self.crew.fill(|member| self.start(member));
        self.serve(&seat);
        Ok(())
    }

    /// Ends the workers, once nobody is served any more; false if that takes longer.
    pub fn end(&self, patience: Duration) -> bool {
        self.crew.end();
        // The other end is ours too, so it is there.
        let _ = self.end.1.shutdown(std::net::Shutdown::Both);
        self.wake();
        self.crew.wait_gone(patience)
    }

    fn start(self: &Arc<Pool>, member: &Arc<Member>) -> bool {
        let (pool, own) = (Arc::clone(self), Arc::clone(member));
        let started = self.env.threads.try_spawn("verso-worker", Box::new(move || pool.work(&own)));
        if let Err(error) = &started {
            tracing::warn!(%error, "cannot start a worker");
        }
        started.is_ok()
    }

    /// The life of a worker.
    fn work(self: &Arc<Pool>, member: &Arc<Member>) {
        let _listening = waiting::listen({
            let (pool, member) = (Arc::clone(self), Arc::clone(member));
            Rc::new(move || pool.crew.stand_still(&member, |other| pool.start(other)))
        });
        let _working = Working { pool: self, member };
        while self.crew.join(member) {
            match self.listen() {
                Ok(Some(seat)) => {
                    member.turns();
                    if self.dozes.load(Ordering::SeqCst) {
                        self.wake();
                    }
                    self.serve(&seat);
                    member.turns();
                }
                Ok(None) if self.crew.is_ending() => break,
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(%error, "cannot listen to clients");
                    self.env.clock.sleep(TICK);
                }
            }
        }
    }

    /// Waits for a client that says something, and takes its session's turn; `None` if there is nothing to do.
    fn listen(&self) -> io::Result<Option<Arc<Seat>>> {
        let mut space = [MaybeUninit::<Event>::uninit(); 1];
        let (events, _) = match epoll::wait(&self.epoll, &mut space, None) {
            Err(rustix::io::Errno::INTR) => return Ok(None),
            result => result?,
        };
        let Some(event) = events.first() else { return Ok(None) };
        Ok(self.seats.read().get(&event.data.u64()).cloned())
    }

    /// Serves a session whose turn this thread has taken.
    fn serve(&self, seat: &Arc<Seat>) {
        let Some(upto) = self.turn(seat) else { return };
        let Line { commits, log } = &*seat.line;
        let mut leads = commits.add(upto, Arc::clone(seat));
        while leads {
            let led = commits.lead(&**log);
            // A session whose commit failed waits no more: its turn would only ask for the log again. Where others wait for
            // the next lead, its turn must not come before: it might wait for one of their locks.
            if let ([alone], true, false) = (&led.done[..], led.written, led.leaves_some) {
                if let Some(upto) = self.turn(alone) {
                    commits.leave(upto, Arc::clone(alone));
                }
            } else {
                // Nobody's turn waits for what another's client says or takes.
                for seat in &led.done {
                    seat.client.lock().iter_mut().for_each(|client| client.committed());
                    self.listen_to(seat, EventFlags::OUT);
                }
            }
            leads = commits.lead_on();
        }
    }

    /// Gives a session its turn; it ends with the wait for its client, or for the log: then how far that has to be written.
    fn turn(&self, seat: &Seat) -> Option<u64> {
        let mut client = if seat.is_called.load(Ordering::Acquire) {
            let Some(client) = seat.client.try_lock() else {
                // It was called and heard of its client at once: who has its turn gives it another.
                seat.standing.lock().called = true;
                return None;
            };
            *seat.standing.lock() = Standing::default();
            client
        } else {
            seat.client.lock()
        };
        seat.turns.fetch_add(1, Ordering::Relaxed);
        let turn = client.as_mut().map_or(Turn::Ends, |client| client.turn());
        if client.as_ref().is_some_and(|client| client.is_called()) {
            seat.is_called.store(true, Ordering::Release);
        }
        seat.turns.fetch_add(1, Ordering::Relaxed);
        match turn {
            Turn::Commits(upto) => return Some(upto),
            Turn::Ends => self.remove(seat, client),
            Turn::Waits => {
                drop(client);
                self.wait_for(seat);
            }
        }
        None
    }

    /// The session's next turn comes when its client says something, or when it is called.
    fn wait_for(&self, seat: &Seat) {
        if !seat.is_called.load(Ordering::Relaxed) {
            return self.listen_to(seat, EventFlags::empty());
        }
        let mut standing = seat.standing.lock();
        let called = std::mem::take(&mut standing.called);
        standing.waits = !called;
        // The turn that this may begin waits until the session's standing is known.
        let listened = self.watch_socket(seat, if called { EventFlags::OUT } else { EventFlags::empty() });
        drop(standing);
        self.check_listened(seat, listened);
    }

    /// Gives a session a turn (K7).
    fn call(&self, seat: &Seat) {
        let mut standing = seat.standing.lock();
        if !standing.waits {
            standing.called = true;
            return;
        }
        standing.waits = false;
        // One that has ended meanwhile is not called any more.
        let _ = self.watch_socket(seat, EventFlags::OUT);
    }

    /// The session's next turn comes when its client says something, or `besides`; on any thread.
    fn listen_to(&self, seat: &Seat, besides: EventFlags) {
        let listened = self.watch_socket(seat, besides);
        self.check_listened(seat, listened);
    }

    fn watch_socket(&self, seat: &Seat, besides: EventFlags) -> rustix::io::Result<()> {
        let events = EventFlags::IN | EventFlags::RDHUP | EventFlags::ONESHOT | besides;
        epoll::modify(&self.epoll, &*seat.socket, EventData::new_u64(seat.number), events)
    }

    fn check_listened(&self, seat: &Seat, listened: rustix::io::Result<()>) {
        if let Err(error) = listened {
            tracing::error!(%error, "cannot listen to a client any more");
            self.remove(seat, seat.client.lock());
        }
    }

    fn remove(&self, seat: &Seat, mut client: MutexGuard<'_, Option<Box<dyn Client>>>) {
        self.seats.write().remove(&seat.number);
        // Closed already is as good.
        let _ = epoll::delete(&self.epoll, &*seat.socket);
        *client = None;
    }

    /// Looks after the workers (K5).
    fn watch(self: &Arc<Pool>) {
        let (mut quiet, mut looks) = (0, 0u32);
        loop {
            self.env.clock.sleep(TICK);
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(CLIENTS_EVERY) {
                self.look_at_clients();
            }
            match self.crew.look(|member| self.start(member)) {
                Seen::Ending => return,
                Seen::Busy => quiet = 0,
                Seen::Quiet if quiet < QUIET_MAX => quiet += 1,
                // A long turn does not count among the busy ones; somebody has to look at its client.
                Seen::Quiet if self.has_turns() => quiet = 0,
                Seen::Quiet => {
                    self.dozes.store(true, Ordering::SeqCst);
                    // Who has begun a turn before that is seen here, who begins one later sees that somebody dozes.
                    match self.crew.look(|member| self.start(member)) {
                        Seen::Quiet => {
                            let mut dozing = self.dozing.lock();
                            while self.dozes.load(Ordering::SeqCst) {
                                self.woken.wait(&mut dozing);
                            }
                        }
                        Seen::Busy | Seen::Ending => self.dozes.store(false, Ordering::SeqCst),
                    }
                    quiet = 0;
                }
            }
        }
    }

    /// Whether any session is in a turn.
    fn has_turns(&self) -> bool {
        self.seats.read().values().any(|seat| seat.turns.load(Ordering::SeqCst) % 2 == 1)
    }

    /// Ends what runs for clients that are gone (K6).
    fn look_at_clients(&self) {
        let long: Vec<_> = self.seats.read().values().filter(|seat| seat.is_long()).cloned().collect();
        for seat in long {
            if seat.socket.is_gone() {
                tracing::debug!(session = seat.number, "the client is gone");
                (seat.gone)();
            }
        }
    }

    /// Somebody has to look again.
    #[cold]
    fn wake(&self) {
        let dozing = self.dozing.lock();
        self.dozes.store(false, Ordering::SeqCst);
        drop(dozing);
        self.woken.notify_one();
    }
}

/// A worker's thread, however it ends.
struct Working<'p> {
    pool: &'p Pool,
    member: &'p Arc<Member>,
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.pool.crew.leave(self.member);
        // If it is missed, another takes its place.
        self.pool.wake();
    }
}
