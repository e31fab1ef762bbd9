//! Reservations: what transactions that have not ended will add to RESERVABLE columns.
//!
//! ```text
//! journal: record of a table ─► [ transaction, column, amounts in order ]        shared by the sessions
//! own:     [ record, column, amount ]                                            of one transaction, in order
//! ```
//!
//! RV1. An amount is tested and noted under the journal's lock for its record, against the newest committed values as one snapshot
//!      has them. Of the noted amounts those count whose transactions that snapshot does not see: what it sees is in the
//!      values already. So nothing is counted twice, and nothing left out.
//! RV2. Whichever of the transactions commit, and to whichever savepoint they go back, values stay between the least and the
//!      greatest that were tested: each transaction counts with the least, and the greatest, sum of its first amounts, none
//!      included.
//! RV3. Who has reserved something holds the record's key (KEY SHARE), so that nobody deletes the record; who changes a RESERVABLE
//!      column in another way locks the record against that (UPDATE), and waits for reservations, as they wait for it.
//! RV4. What is noted of a transaction goes when it has ended: it is left out by then, and removed by whoever comes by next.
//!      What was noted behind a savepoint goes with it.
//! RV5. The journal is in memory only. The commit, and PREPARE TRANSACTION, add the sums to the records as ordinary changes of
//!      the transaction, so that the log has them before it has ended. A transaction that was prepared before a restart
//!      has no notes: what it would make of a record tells what it adds.

use std::collections::BTreeMap;
use std::sync::Arc;

use verso_catalog::Oid;
use verso_env::sync::{Mutex, MutexGuard};
use verso_exec::error::Result;
use verso_exec::memory::{Memory, Reservation};
use verso_storage::rules::{Rule, disabled};
use verso_storage::{Engine, ObjectId, RecordId, TxnId, TxnState};
use verso_types::{Number, Value};

/// Parts of the journal with locks of their own.
const SHARDS: usize = 32;
/// Records in a part below which nobody looks for those whose transactions have ended.
const FEW: usize = 64;

/// A record of a table.
pub(crate) type Place = (ObjectId, RecordId);

/// What one transaction adds to a column of a record.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    pub txn: TxnId,
    pub table: Oid,
    /// Its number in storage.
    pub column: u16,
    /// The primary key.
    pub key: Arc<[Value]>,
    /// In the order in which they came.
    pub amounts: Vec<Amount>,
}

/// The reservations of a database.
#[derive(Debug)]
pub(crate) struct Journal {
    shards: Vec<Mutex<Shard>>,
}

/// A part of the journal.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    places: BTreeMap<Place, Vec<Noted>>,
    /// So many records are looked through for transactions that have ended.
    full_at: usize,
}

impl Default for Journal {
    fn default() -> Journal {
        Journal { shards: (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect() }
    }
}

/// What amounts come to: all of them, and the least and the greatest sum of the first ones, none included.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    sum: Number,
    pub least: Number,
    pub most: Number,
}

impl Default for Reach {
    fn default() -> Reach {
        Reach { sum: Number::zero(), least: Number::zero(), most: Number::zero() }
    }
}

impl Reach {
    /// With one more amount.
    pub(crate) fn with(&self, amount: &Number) -> Reach {
        let sum = self.sum.plus(amount);
        if disabled(Rule::RV2) {
            return Reach { least: sum.clone(), most: sum.clone(), sum };
        }
        let less = sum.compare(&self.least).is_lt();
        let more = sum.compare(&self.most).is_gt();
        let least = if less { sum.clone() } else { self.least.clone() };
        let most = if more { sum.clone() } else { self.most.clone() };
        Reach { sum, least, most }
    }
}

/// An amount, and what it and those before it come to.
#[derive(Clone, Debug)]
pub(crate) struct Amount {
    pub number: Number,
    reach: Reach,
}

impl Noted {
    /// What its amounts come to.
    pub(crate) fn reach(&self) -> Reach {
        self.amounts.last().map(|last| last.reach.clone()).unwrap_or_default()
    }

    fn push(&mut self, number: &Number) {
        let reach = self.reach().with(number);
        self.amounts.push(Amount { number: number.clone(), reach });
    }
}

impl Journal {
    /// Locks the part that has a record.
    pub(crate) fn lock(&self, (object, record): Place) -> MutexGuard<'_, Shard> {
        let mixed = u64::from(object.0) ^ (u64::from(record.page_index) << 20) ^ u64::from(record.slot);
        let at = mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        self.shards[at as usize % SHARDS].lock()
    }

    /// What has not ended, in the order of the records.
    pub(crate) fn list(&self, engine: &Engine) -> Vec<(Noted, TxnState)> {
        let mut list = Vec::new();
        for shard in &self.shards {
            let mut shard = shard.lock();
            shard.forget_ended(engine);
            for (place, notes) in &shard.places {
                let state = |noted: &Noted| engine.txn_state(noted.txn);
                list.extend(notes.iter().map(|noted| (*place, noted.clone(), state(noted))));
            }
        }
        list.sort_by_key(|(place, noted, _)| (*place, noted.txn, noted.column));
        list.into_iter().map(|(_, noted, state)| (noted, state)).collect()
    }

    /// Takes the last amount of a transaction back.
    fn take_back(&self, txn: TxnId, own: &Own) {
        let mut shard = self.lock(own.place);
        let Some(notes) = shard.places.get_mut(&own.place) else { return };
        let is_it = |noted: &Noted| noted.txn == txn && noted.column == own.column;
        if let Some(at) = notes.iter().position(is_it) {
            notes[at].amounts.pop();
            if notes[at].amounts.is_empty() {
                notes.swap_remove(at);
            }
        }
        if notes.is_empty() {
            shard.places.remove(&own.place);
        }
    }
}

/// Whether what is noted of a transaction does not count any more.
fn has_ended(engine: &Engine, txn: TxnId) -> bool {
    matches!(engine.txn_state(txn), TxnState::Committed | TxnState::Dead)
}

impl Shard {
    /// What is noted of a record.
    pub(crate) fn notes(&mut self, engine: &Engine, place: Place) -> &[Noted] {
        if self.places.len() >= self.full_at.max(FEW) {
            self.forget_ended(engine);
            self.full_at = 2 * self.places.len();
        }
        let Some(notes) = self.places.get_mut(&place) else { return &[] };
        notes.retain(|noted| !has_ended(engine, noted.txn));
        notes
    }

    /// Notes an amount.
    pub(crate) fn note(&mut self, place: Place, txn: TxnId, table: Oid, key: &Arc<[Value]>, own: &Own) {
        let notes = self.places.entry(place).or_default();
        let is_it = |noted: &Noted| noted.txn == txn && noted.column == own.column;
        let at = notes.iter().position(is_it).unwrap_or_else(|| {
            let key = Arc::clone(key);
            notes.push(Noted { txn, table, column: own.column, key, amounts: Vec::new() });
            notes.len() - 1
        });
        notes[at].push(&own.amount);
    }

    fn forget_ended(&mut self, engine: &Engine) {
        self.places.retain(|_, notes| {
            notes.retain(|noted| !has_ended(engine, noted.txn));
            !notes.is_empty()
        });
    }
}

/// An amount that the session's transaction has reserved.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    pub place: Place,
    pub table: Oid,
    pub column: u16,
    pub amount: Number,
    /// Bytes of the record's key, which the journal keeps.
    pub key_bytes: usize,
}

impl Own {
    /// What it takes, here and in the journal.
    fn bytes(&self) -> usize {
        own_bytes(self.key_bytes)
    }
}

/// What an amount takes, here and in the journal, for a record with a key of so many bytes.
fn own_bytes(key: usize) -> usize {
    2 * size_of::<Own>()
        + size_of::<Noted>()
        + size_of::<Amount>()
        + size_of::<(Place, u16, u32)>()
        + 64
        + key
}

/// What the session's transaction has reserved.
#[derive(Debug, Default)]
pub(crate) struct Reserved {
    journal: Option<(Arc<Journal>, TxnId)>,
    list: Vec<Own>,
    /// How many of them there are for a column of a record.
    counts: BTreeMap<(Place, u16), u32>,
    bytes: usize,
    held: Option<Reservation>,
}

/// The sums of the columns of a record, and its table.
pub(crate) type Sums = BTreeMap<Place, (Oid, BTreeMap<u16, Number>)>;

impl Reserved {
    /// Makes room for so many amounts more of a record with a key of so many bytes.
    pub(crate) fn grow(&mut self, more: usize, key_bytes: usize, memory: Memory<'_>) -> Result<()> {
        let held = self.held.get_or_insert_with(|| memory.account.reserve("reservations", u64::MAX));
        held.resize((self.bytes + more * own_bytes(key_bytes)) as u64)?;
        Ok(())
    }

    /// Keeps an amount that was noted.
    pub(crate) fn push(&mut self, journal: &Arc<Journal>, txn: TxnId, own: Own) {
        self.journal.get_or_insert_with(|| (Arc::clone(journal), txn));
        self.bytes += own.bytes();
        *self.counts.entry((own.place, own.column)).or_default() += 1;
        self.list.push(own);
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether something of a table's rows was reserved.
    pub(crate) fn has_table(&self, table: Oid) -> bool {
        self.list.iter().any(|own| own.table == table)
    }

    /// Whether something was reserved of a column of a record.
    pub(crate) fn has(&self, place: Place, column: u16) -> bool {
        self.counts.contains_key(&(place, column))
    }

    /// How many there are.
    pub(crate) fn place(&self) -> usize {
        self.list.len()
    }

    /// Forgets what came behind a place.
    pub(crate) fn go_back(&mut self, place: usize) {
        let Some((journal, txn)) = &self.journal else { return };
        if disabled(Rule::RV4) {
            return;
        }
        while self.list.len() > place {
            let Some(own) = self.list.pop() else { return };
            self.bytes -= own.bytes();
            let left = self.counts.get_mut(&(own.place, own.column)).map(|count| {
                *count -= 1;
                *count
            });
            if left == Some(0) {
                self.counts.remove(&(own.place, own.column));
            }
            journal.take_back(*txn, &own);
        }
    }

    /// What the commit adds, in the order of the records: two commits do not wait for each other over them in a circle.
    pub(crate) fn sums(&self) -> Sums {
        let mut sums = Sums::new();
        for own in &self.list {
            let (_, columns) = sums.entry(own.place).or_insert_with(|| (own.table, BTreeMap::new()));
            let sum = columns.entry(own.column).or_insert_with(Number::zero);
            *sum = sum.plus(&own.amount);
        }
        sums
    }
}
