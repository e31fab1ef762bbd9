//! One session of the pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use verso_env::sync::Mutex;

use super::{Client, Line};
use crate::network::stream::Socket;

/// A session that waits for its client, or is served.
pub(super) struct Seat {
    /// Its number in the pool.
    pub number: u64,
    pub socket: Arc<Socket>,
    /// Where its commits wait.
    pub line: Arc<Line>,
    /// What is served; none once it has ended. Only who has the turn locks it (K1).
    pub client: Mutex<Option<Box<dyn Client>>>,
    /// Turns begun and ended: odd within one.
    pub turns: AtomicU64,
    /// What it was at the last look (K6).
    pub seen: AtomicU64,
    /// The session may be called (K7): how it stands is then kept in [`Seat::standing`].
    pub is_called: AtomicBool,
    /// Locked while the socket is listened to and while a turn begins, so that no call gets in between.
    pub standing: Mutex<Standing>,
    /// Ends what runs for a client that is gone.
    pub gone: Box<dyn Fn() + Send + Sync>,
}

/// How a session stands that may be called.
#[derive(Debug, Default)]
pub(super) struct Standing {
    /// Its client is waited for: its socket is listened to, and it is in no turn.
    pub waits: bool,
    /// It was called since its turn began.
    pub called: bool,
}

impl Seat {
    /// Whether the turn is the one of the last look, too.
    pub fn is_long(&self) -> bool {
        let turns = self.turns.load(Ordering::Relaxed);
        self.seen.swap(turns, Ordering::Relaxed) == turns && turns % 2 == 1
    }
}
