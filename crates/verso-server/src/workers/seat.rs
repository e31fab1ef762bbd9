//! One session of the pool.

use std::sync::Arc;

use verso_env::sync::Mutex;

use super::Client;
use crate::network::stream::Socket;

/// A session that waits for its client, or is served.
pub(super) struct Seat {
    /// Its number in the pool.
    pub number: u64,
    pub socket: Arc<Socket>,
    /// What is served; none once it has ended. Only who has the turn locks it (K1).
    pub client: Mutex<Option<Box<dyn Client>>>,
}
