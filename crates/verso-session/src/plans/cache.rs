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
//! K3. Where the catalog gives a kept statement other parameters, it is executed the long way once more and forgotten.
//! K4. Errors point into the text given.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use parking_lot::Mutex;
use verso_types::text::type_of;
use verso_types::{SqlType, Value};

use super::normal::{Normal, starts_plain};
use crate::Session;
use crate::client::StatementSink;
use crate::plans::Job;
use crate::plans::Prepared;
use verso_parser::parse_script;
use verso_parser::syntax::Statement;
use verso_planner::errors::SqlError;

/// Texts in each of the two generations of the instance's table.
const SHARED_MAX: usize = 1_024;
/// Texts of a session's own table.
const OWN_MAX: usize = 256;
/// Longer texts are not kept.
const TEXT_BYTES_MAX: usize = 4_096;

/// What is known of a text.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// How to execute it.
    Statement(Arc<Prepared>),
    /// The text with parameters means something else: look for the text as it is.
    AsItIs,
    /// Execute it the long way.
    Never,
}

type Texts = HashMap<Box<str>, Known, BuildHasherDefault<TextHasher>>;

/// The instance's table: two generations, of which the older goes when the younger is full; what is used moves up.
#[derive(Debug, Default)]
pub(crate) struct StatementCache {
    generations: Mutex<(Texts, Texts)>,
}

impl StatementCache {
    fn find(&self, key: &str) -> Option<Known> {
        let mut generations = self.generations.lock();
        if let Some(known) = generations.0.get(key) {
            return Some(known.clone());
        }
        let (key, known) = generations.1.remove_entry(key)?;
        let found = known.clone();
        generations.0.insert(key, known);
        Some(found)
    }

    fn keep(&self, key: &str, known: Known) {
        let mut generations = self.generations.lock();
        if generations.0.len() >= SHARED_MAX {
            generations.1 = std::mem::take(&mut generations.0);
        }
        generations.0.insert(key.into(), known);
    }
}

/// A session's own table, and its buffers.
#[derive(Debug, Default)]
pub(crate) struct OwnStatements {
    texts: Texts,
    normal: Normal,
    key: String,
}

impl Session {
    /// Executes a text from the cache, or learns it; none where it has to go the long way.
    pub(crate) fn execute_cached(
        &mut self,
        sql: &str,
        params: &[Value],
        sink: &mut dyn StatementSink,
    ) -> Option<Result<(), SqlError>> {
        if self.active.as_ref().is_some_and(|active| active.changed_schema) || sql.len() > TEXT_BYTES_MAX {
            return None;
        }
        let mut own = std::mem::take(&mut self.own);
        let result = self.execute_known(&mut own, sql, params, sink);
        self.own = own;
        result
    }

    fn execute_known(
        &mut self,
        own: &mut OwnStatements,
        sql: &str,
        params: &[Value],
        sink: &mut dyn StatementSink,
    ) -> Option<Result<(), SqlError>> {
        if params.is_empty() && own.normal.read(sql) {
            let key = std::mem::take(&mut own.normal.key);
            let known = own.look(self, &key);
            own.normal.key = key;
            let known = known.or_else(|| self.learn_normal(own, sql));
            match known? {
                Known::Statement(prepared) => return Some(self.execute_normal(own, &prepared, sql, sink)),
                Known::AsItIs => {}
                Known::Never => return None,
            }
        } else if !starts_plain(sql) {
            return None;
        }
        let mut key = std::mem::take(&mut own.key);
        as_it_is_key(&mut key, sql, params);
        let known = own.look(self, &key).or_else(|| self.learn(own, &key, sql, params));
        own.key = key;
        match known? {
            Known::Statement(prepared) => {
                let job = Job { shows: true, ..Job::prepared(&prepared, params)? };
                let job = Job { ends: self.series, ..job };
                Some(self.one(&job, sink))
            }
            Known::AsItIs | Known::Never => None,
        }
    }

    /// Executes a text whose literals are parameters.
    fn execute_normal(
        &mut self,
        own: &mut OwnStatements,
        prepared: &Arc<Prepared>,
        sql: &str,
        sink: &mut dyn StatementSink,
    ) -> Result<(), SqlError> {
        let mut values = std::mem::take(&mut own.normal.values);
        let read = self.read_arguments(prepared, &mut values);
        let result = match read {
            Ok(()) => {
                let job = Job::prepared(prepared, &values);
                let job = job.ok_or_else(|| SqlError::internal("nothing was kept"))?;
                let at = verso_parser::syntax::Span { start: 0, end: u32::MAX };
                let job = Job { sql, at, shows: false, ends: self.series, ..job };
                self.one(&job, sink).map_err(|error| match error.position {
                    Some(position) if error.context.is_none() => {
                        let position = own.normal.given_position(sql, position);
                        SqlError { position: Some(position), ..error }
                    }
                    _ => error,
                })
            }
            Err((index, error)) => {
                self.fail_transaction();
                Err(match own.normal.given_literal(sql, index) {
                    Some(at) => error.at(at),
                    None => error,
                })
            }
        };
        values.clear();
        own.normal.values = values;
        result
    }

    /// Tries the text with parameters (K1).
    fn learn_normal(&mut self, own: &mut OwnStatements, sql: &str) -> Option<Known> {
        let given = self.prepare_quietly(sql, &[])?;
        let types = own.normal.types();
        let text = own.normal.text().to_string();
        let known = match self.prepare_quietly(&text, &types) {
            Some(normal) if same_columns(&given, &normal) && normal.params().len() == types.len() => {
                Known::Statement(Arc::new(normal.of_cache(types)))
            }
            _ => Known::AsItIs,
        };
        own.keep(self, own.normal.key.clone(), &known);
        Some(known)
    }

    /// Keeps a text as it is.
    fn learn(&mut self, own: &mut OwnStatements, key: &str, sql: &str, params: &[Value]) -> Option<Known> {
        let types: Vec<Option<SqlType>> =
            params.iter().map(|value| Some(type_of(value)).filter(|ty| *ty != SqlType::Unknown)).collect();
        let prepared = self.prepare_quietly(sql, &types)?;
        let fits = prepared.params().len() == params.len() && !changes_with_time(sql);
        let known = if fits { Known::Statement(Arc::new(prepared.of_cache(types))) } else { Known::Never };
        own.keep(self, key.to_string(), &known);
        Some(known)
    }

    /// Prepares a query or change of rows; what is wrong with it, the long way will say.
    fn prepare_quietly(&mut self, sql: &str, types: &[Option<SqlType>]) -> Option<Prepared> {
        let mut statements = parse_script(sql).ok()?;
        let parsed = statements.pop().filter(|_| statements.is_empty())?;
        let plain = matches!(
            parsed.statement,
            Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_)
        );
        if !plain {
            return None;
        }
        let prepared = self.prepare_parsed(sql.into(), Some(parsed), types).ok()?;
        prepared.is_plain().then_some(prepared)
    }
}

impl OwnStatements {
    fn look(&mut self, session: &Session, key: &str) -> Option<Known> {
        let current = |known: &Known| !matches!(known, Known::Statement(prepared) if prepared.is_stale());
        if let Some(known) = self.texts.get(key).filter(|known| current(known)) {
            return Some(known.clone());
        }
        let known = session.services.instance.statements.find(key).filter(current)?;
        self.keep_own(key.to_string(), &known);
        Some(known)
    }

    fn keep(&mut self, session: &Session, key: String, known: &Known) {
        session.services.instance.statements.keep(&key, known.clone());
        self.keep_own(key, known);
    }

    fn keep_own(&mut self, key: String, known: &Known) {
        if self.texts.len() >= OWN_MAX {
            self.texts.clear();
        }
        self.texts.insert(key.into(), known.clone());
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

/// Whether a constant of the text may be one of the moments that are words.
fn changes_with_time(sql: &str) -> bool {
    let text = sql.to_ascii_lowercase();
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
