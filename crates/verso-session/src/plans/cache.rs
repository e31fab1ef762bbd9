//! The statement cache: texts that were executed before need not be parsed, bound and planned again.
//!
//! ```text
//! text ─► normal form ─► session's own table ─► the instance's table ─► parse, bind, plan, compare
//!                             │ hit                   │ hit                  │ same meaning? keep
//!                             ▼                       ▼                      ▼
//!                       Prepared: a plan for a version of the catalog; operators are the session's
//! ```
//!
//! K1. A text with its literals made parameters is kept only if it binds to the same columns, name by name and type by
//!     type; else the text is kept as it is, unless a constant in it may mean something else tomorrow.
//! K2. A transaction that has changed the schema goes around the cache. For others a kept statement looks at the
//!     catalog's version as every prepared statement does.
//! K3. Where the catalog gives a kept statement other parameters, it is executed the long way once more and forgotten; a literal that
//!     is no value of its parameter's type goes the long way, too, for the parameter may have another type by now.
//! K4. Errors point into the text given.
//! K6. A text is not kept with parameters for its literals where they decide about the plan: large tables that are read whole, walked
//!     in the order of an index with conditions on each row, or read by another index for these literals; those with indexes on
//!     expressions or with conditions.
//! K5. A text is kept by itself and by the search path that names in it were looked up along.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use verso_types::text::type_of;
use verso_types::{SqlType, Value};

use super::normal::{Normal, starts_plain};
use crate::plans::Prepared;

/// Texts in the two generations of the instance's table together, where nothing else is said (`stmt_cache_size`).
const SHARED_USUAL: usize = 2_048;
/// Texts of a session's own table.
const OWN_MAX: usize = 256;
/// Longer texts are not kept.
const TEXT_BYTES_MAX: usize = 4_096;

/// How to execute a text that is known.
pub(crate) enum Known {
    /// Its literals are the parameters.
    Normal(Arc<Prepared>),
    /// As it stands.
    AsItIs(Arc<Prepared>),
}

/// What is kept of a text.
#[derive(Clone, Debug)]
enum Kept {
    /// How to execute it.
    Statement(Arc<Prepared>),
    /// The text with parameters means something else: look for the text as it is.
    AsItIs,
    /// Execute it the long way.
    Never,
}

/// Prepares a text with these types of parameters, if it is a query or a change of rows.
type Prepare<'p> = &'p mut dyn FnMut(&str, &[Option<SqlType>]) -> Option<Prepared>;

type Texts = HashMap<Box<str>, Kept, BuildHasherDefault<TextHasher>>;

/// The instance's table: two generations, of which the older goes when the younger is full; what is used moves up.
#[derive(Debug)]
pub(crate) struct StatementCache {
    generations: Mutex<(Texts, Texts)>,
    /// Texts of both together.
    texts_max: AtomicUsize,
}

impl Default for StatementCache {
    fn default() -> StatementCache {
        StatementCache { generations: Mutex::default(), texts_max: AtomicUsize::new(SHARED_USUAL) }
    }
}

impl StatementCache {
    /// Keeps so many texts from now on; none where nothing is said is the usual number. What is too many goes at once, the
    /// texts that were not used lately before the others.
    pub(crate) fn set_size(&self, texts: Option<usize>) {
        let most = texts.unwrap_or(SHARED_USUAL);
        self.texts_max.store(most, Ordering::Relaxed);
        let mut generations = self.generations.lock();
        if generations.0.len() + generations.1.len() > most {
            generations.1.clear();
        }
        if generations.0.len() > most.div_ceil(2) {
            generations.0.clear();
        }
    }

    /// How many texts are kept.
    pub(crate) fn size(&self) -> usize {
        self.texts_max.load(Ordering::Relaxed)
    }

    fn find(&self, key: &str) -> Option<Kept> {
        let mut generations = self.generations.lock();
        if let Some(known) = generations.0.get(key) {
            return Some(known.clone());
        }
        let (key, known) = generations.1.remove_entry(key)?;
        let found = known.clone();
        generations.0.insert(key, known);
        Some(found)
    }

    /// The texts, and what is kept of them.
    pub(crate) fn list(&self) -> Vec<(String, &'static str)> {
        let generations = self.generations.lock();
        let mut texts: Vec<_> = (generations.0.iter().chain(generations.1.iter()))
            .map(|(key, kept)| {
                let kept = match kept {
                    Kept::Statement(_) if key.contains("\0=") => "text",
                    Kept::Statement(_) => "parameters",
                    Kept::AsItIs => "see text",
                    Kept::Never => "nothing",
                };
                (key.split('\0').next().unwrap_or_default().to_owned(), kept)
            })
            .collect();
        drop(generations);
        texts.sort();
        texts.dedup();
        texts
    }

    fn keep(&self, key: &str, known: Kept) {
        let half = self.size().div_ceil(2);
        if half == 0 {
            return;
        }
        let mut generations = self.generations.lock();
        if generations.0.len() >= half {
            generations.1 = std::mem::take(&mut generations.0);
        }
        generations.0.insert(key.into(), known);
    }
}

/// A session's own table, and its buffers.
#[derive(Debug, Default)]
pub(crate) struct OwnStatements {
    texts: Texts,
    pub(crate) normal: Normal,
    key: String,
}

impl OwnStatements {
    /// How to execute a text, known or learned now; none where it has to go the long way. With literals for parameters,
    /// `normal` has their values.
    pub(crate) fn find(
        &mut self,
        shared: &StatementCache,
        path: u64,
        sql: &str,
        params: &[Value],
        prepare: Prepare<'_>,
    ) -> Option<Known> {
        if sql.len() > TEXT_BYTES_MAX {
            return None;
        }
        if params.is_empty() && self.normal.read(sql) {
            along(&mut self.normal.key, path);
            let key = std::mem::take(&mut self.normal.key);
            let kept = self.look(shared, &key);
            self.normal.key = key;
            match kept.or_else(|| self.learn_normal(shared, sql, prepare))? {
                Kept::Statement(prepared) => return Some(Known::Normal(prepared)),
                Kept::AsItIs => {}
                Kept::Never => return None,
            }
        } else if !starts_plain(sql) {
            return None;
        }
        let mut key = std::mem::take(&mut self.key);
        as_it_is_key(&mut key, sql, params);
        along(&mut key, path);
        let kept = self.look(shared, &key).or_else(|| self.learn(shared, &key, sql, params, prepare));
        self.key = key;
        match kept? {
            Kept::Statement(prepared) => Some(Known::AsItIs(prepared)),
            Kept::AsItIs | Kept::Never => None,
        }
    }

    /// Tries the text with parameters (K1).
    fn learn_normal(&mut self, shared: &StatementCache, sql: &str, prepare: Prepare<'_>) -> Option<Kept> {
        let given = prepare(sql, &[])?;
        let types = self.normal.types();
        let kept = match prepare(self.normal.text(), &types) {
            Some(normal)
                if same_columns(&given, &normal)
                    && normal.params().len() == types.len()
                    && !normal.is_by_literals()
                    && !given.is_by_literals()
                    && normal.reads_as(&given)
                    // What such literals are read as changes with the type.
                    && normal.params().iter().all(|ty| ty.composite_depth() == 0) =>
            {
                Kept::Statement(Arc::new(normal.of_normal(types).known_as(given.own_identity())))
            }
            _ => Kept::AsItIs,
        };
        let key = self.normal.key.clone();
        self.keep(shared, key, &kept);
        Some(kept)
    }

    /// Keeps a text as it is.
    fn learn(
        &mut self,
        shared: &StatementCache,
        key: &str,
        sql: &str,
        params: &[Value],
        prepare: Prepare<'_>,
    ) -> Option<Kept> {
        let types: Vec<Option<SqlType>> =
            params.iter().map(|value| Some(type_of(value)).filter(|ty| *ty != SqlType::Unknown)).collect();
        let prepared = prepare(sql, &types)?;
        let fits = prepared.params().len() == params.len() && !changes_with_time(sql);
        let kept = if fits { Kept::Statement(Arc::new(prepared.of_cache(types))) } else { Kept::Never };
        self.keep(shared, key.to_string(), &kept);
        Some(kept)
    }

    fn look(&mut self, shared: &StatementCache, key: &str) -> Option<Kept> {
        let current = |kept: &Kept| !matches!(kept, Kept::Statement(prepared) if prepared.is_stale());
        if let Some(kept) = self.texts.get(key).filter(|kept| current(kept)) {
            return Some(kept.clone());
        }
        let kept = shared.find(key).filter(current)?;
        self.keep_own(key.to_string(), &kept);
        Some(kept)
    }

    fn keep(&mut self, shared: &StatementCache, key: String, kept: &Kept) {
        shared.keep(&key, kept.clone());
        self.keep_own(key, kept);
    }

    fn keep_own(&mut self, key: String, kept: &Kept) {
        if self.texts.len() >= OWN_MAX {
            self.texts.clear();
        }
        self.texts.insert(key.into(), kept.clone());
    }
}

fn same_columns(given: &Prepared, normal: &Prepared) -> bool {
    given.columns() == normal.columns()
}

/// A key no normal form has: the text, a NUL, the types of the parameters.
fn as_it_is_key(key: &mut String, sql: &str, params: &[Value]) {
    key.clear();
    key.push_str(sql);
    key.push_str("\0=");
    for value in params {
        key.push_str(&type_of(value).pg_name());
        key.push(',');
    }
}

/// Adds the search path to a key: along another one a text is another statement (K5).
fn along(key: &mut String, path: u64) {
    if path != 0 {
        key.push_str("\0p");
        key.push_str(&path.to_string());
    }
}

/// Whether a constant of the text may be one of the moments that are words.
fn changes_with_time(sql: &str) -> bool {
    let text = sql.to_ascii_lowercase();
    // what columns files have is known when they are looked into
    if verso_exec::files::FUNCTIONS.iter().any(|function| text.contains(function)) {
        return true;
    }
    text.contains('\'') && ["now", "today", "tomorrow", "yesterday"].iter().any(|word| text.contains(word))
}

/// Hashes texts eight bytes at a time; the tables are small and their keys are compared anyway.
#[derive(Debug, Default)]
pub(crate) struct TextHasher(u64);

impl Hasher for TextHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut add = |word: u64| {
            self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        };
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            add(u64::from_le_bytes(chunk.try_into().expect("eight bytes")));
        }
        let rest = chunks.remainder().iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        add(rest);
    }
}
