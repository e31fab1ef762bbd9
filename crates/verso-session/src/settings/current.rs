//! The settings of a session: those of now, those that RESET brings back, and those that a running statement asks for.
//!
//! 1. A setting that a transaction has changed is what it was when that is rolled back, be it to a savepoint.
//! 2. What SET LOCAL has changed is what it was when the transaction ends, however it does.
//! 3. What `set_config`, and SET in a function, ask for holds for the session once its statement is done. A handler of
//!    PL/pgSQL takes back what its block has asked for.
//! 4. What a function's definition sets is asked for while the function runs, and then as it was before. What the function
//!    itself asks for stays, but for what it says is local of those.

use std::cell::RefCell;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use verso_catalog::Oid;

use super::{CommitLevel, LogSettings, MessageLevel, Settings};
use verso_planner::errors::SqlError;

/// A session's settings; it stands for those of now.
#[derive(Default)]
pub(crate) struct SessionSettings {
    now: Arc<Settings>,
    /// What RESET brings back.
    defaults: Arc<Settings>,
    /// What the running statement asks for.
    asked: RefCell<Option<Asked>>,
    /// The settings of functions that run, the innermost last.
    held: RefCell<Vec<Held>>,
    /// Grows with every change.
    epoch: u64,
}

/// What a function's definition has set.
struct Held {
    /// What was asked for before.
    before: Option<Asked>,
    names: Vec<Arc<str>>,
}

/// A role and its name.
pub(crate) type KnownRole = (Oid, Arc<str>);

/// A change that a running statement asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A setting gets this value, or what RESET brings back.
    Setting(String, Option<String>),
    /// SET ROLE; none for the session's.
    Role(Option<KnownRole>),
    /// SET SESSION AUTHORIZATION; none for whom the client has logged in as.
    Session(Option<KnownRole>),
}

impl Change {
    fn name(&self) -> &str {
        match self {
            Change::Setting(name, _) => name,
            Change::Role(_) => "role",
            Change::Session(_) => "session_authorization",
        }
    }

    /// Makes it; `defaults` are what RESET brings back.
    pub(crate) fn make(&self, settings: &mut Settings, defaults: &Settings) -> Result<(), SqlError> {
        match self {
            Change::Setting(name, Some(value)) => settings.set(name, Some(value)),
            Change::Setting(name, None) => settings.reset(name, defaults),
            Change::Role(role) => {
                settings.role.clone_from(role);
                Ok(())
            }
            Change::Session(role) => {
                settings.role = None;
                settings.session_role.clone_from(role);
                Ok(())
            }
        }
    }
}

/// Changes of settings by `set_config`, and by SET in functions.
#[derive(Clone)]
pub(crate) struct Asked {
    /// What changes, and whether only for the transaction.
    pub(crate) changes: Vec<(Change, bool)>,
    /// As they will then be.
    settings: Arc<Settings>,
    /// How many of the changes belong to transactions that have committed within the statement.
    kept: usize,
}

impl Asked {
    /// Nothing yet.
    fn none(now: &Arc<Settings>) -> Asked {
        Asked { changes: Vec::new(), settings: Arc::clone(now), kept: 0 }
    }
}

/// Settings that a transaction has changed.
#[derive(Clone, Debug)]
pub(crate) struct ChangedSettings {
    /// Before the transaction.
    before: Arc<Settings>,
    /// Without those of SET LOCAL.
    after: Arc<Settings>,
}

impl Deref for SessionSettings {
    type Target = Settings;

    #[inline]
    fn deref(&self) -> &Settings {
        &self.now
    }
}

impl SessionSettings {
    /// Grows whenever they change.
    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Says when transactions begin: what `now` in the text of a time means.
    pub(crate) fn set_clock(&mut self, clock: &Arc<AtomicI64>) {
        for settings in [&mut self.now, &mut self.defaults] {
            Arc::make_mut(settings).time_zone.clock = Some(Arc::clone(clock));
        }
    }

    /// Those of now, to come back to.
    pub(crate) fn shared(&self) -> Arc<Settings> {
        Arc::clone(&self.now)
    }

    /// Changes them. Within a transaction it notes what they were, and what a commit leaves: everything but what is
    /// `local` to it.
    pub(crate) fn change(
        &mut self,
        local: bool,
        noted: Option<&mut Option<ChangedSettings>>,
        change: impl Fn(&mut Settings) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let mut settings = Settings::clone(&self.now);
        change(&mut settings)?;
        let before = std::mem::replace(&mut self.now, Arc::new(settings));
        self.epoch += 1;
        if let Some(noted) = noted {
            let noted =
                noted.get_or_insert_with(|| ChangedSettings { before: Arc::clone(&before), after: before });
            if !local {
                change(Arc::make_mut(&mut noted.after))?;
            }
        }
        Ok(())
    }

    /// Changes one; without a value to what the session began with.
    pub(crate) fn change_one(
        &mut self,
        name: &str,
        value: Option<&str>,
        local: bool,
        noted: Option<&mut Option<ChangedSettings>>,
    ) -> Result<(), SqlError> {
        let defaults = Arc::clone(&self.defaults);
        self.change(local, noted, |settings| match value {
            Some(value) => settings.set(name, Some(value)),
            None => settings.reset(name, &defaults),
        })
    }

    /// Changes all of them to what the session began with.
    pub(crate) fn change_all_back(
        &mut self,
        noted: Option<&mut Option<ChangedSettings>>,
    ) -> Result<(), SqlError> {
        let defaults = Arc::clone(&self.defaults);
        self.change(false, noted, |settings| {
            // As in PostgreSQL they stay.
            let (role, session_role) = (settings.role.take(), settings.session_role.take());
            let named = Arc::clone(&settings.named);
            *settings = Settings { role, session_role, named, ..Settings::clone(&defaults) };
            Ok(())
        })
    }

    /// Goes back to settings of before; whether they are others.
    pub(crate) fn restore(&mut self, settings: Arc<Settings>) -> bool {
        if Arc::ptr_eq(&settings, &self.now) {
            return false;
        }
        self.now = settings;
        self.epoch += 1;
        true
    }

    /// What a transaction that ends leaves of its changes.
    pub(crate) fn end(&mut self, changed: ChangedSettings, committed: bool) {
        let ChangedSettings { before, after } = changed;
        self.now = if committed { after } else { before };
        self.epoch += 1;
    }

    /// Says what RESET brings back of one.
    pub(crate) fn set_default(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        Arc::make_mut(&mut self.defaults).set(name, Some(value))
    }

    /// Says which role RESET ROLE brings back.
    pub(crate) fn set_default_role(&mut self, role: &Change) -> Result<(), SqlError> {
        let defaults = Settings::clone(&self.defaults);
        role.make(Arc::make_mut(&mut self.defaults), &defaults)
    }

    /// The role that RESET ROLE brings back; none for the session's.
    pub(crate) fn default_role(&self) -> Option<KnownRole> {
        self.defaults.role.clone()
    }

    /// What RESET brings back of one; none where that is not the session's to say.
    pub(crate) fn reset_value(&self, name: &str) -> Option<String> {
        self.defaults.show(name)
    }

    /// Asks for a change once the running statement is done. What the setting then is.
    pub(crate) fn ask(&self, name: &str, value: Option<&str>, local: bool) -> Result<String, SqlError> {
        self.ask_for(Change::Setting(name.to_string(), value.map(str::to_string)), local)?;
        Ok(self.show_asked(name).unwrap_or_default())
    }

    /// The same for any change.
    pub(crate) fn ask_for(&self, change: Change, local: bool) -> Result<(), SqlError> {
        let mut asked = self.asked.borrow_mut();
        let asked = asked.get_or_insert_with(|| Asked::none(&self.now));
        change.make(Arc::make_mut(&mut asked.settings), &self.defaults)?;
        asked.changes.push((change, local));
        Ok(())
    }

    /// What the running statement has asked for by now, for [`SessionSettings::return_to`].
    pub(crate) fn asked_by_now(&self) -> Option<Asked> {
        self.asked.borrow().clone()
    }

    /// Takes back what was asked for since then; whether there was anything.
    pub(crate) fn return_to(&self, asked: Option<Asked>) -> bool {
        let count = |asked: &Option<Asked>| asked.as_ref().map_or(0, |asked| asked.changes.len());
        let wanted = count(&asked);
        wanted != count(&self.asked.replace(asked))
    }

    /// Puts the settings of a function in force until [`SessionSettings::release`]. What all are then.
    pub(crate) fn hold(&self, given: &[(Arc<str>, Arc<str>)]) -> Result<Settings, SqlError> {
        let before = self.asked.borrow().clone();
        let mut asked = before.clone().unwrap_or_else(|| Asked::none(&self.now));
        let in_force = Arc::make_mut(&mut asked.settings);
        given.iter().try_for_each(|(name, value)| in_force.set(name, Some(value)))?;
        let settings = Settings::clone(in_force);
        self.asked.replace(Some(asked));
        let names = given.iter().map(|(name, _)| Arc::clone(name)).collect();
        self.held.borrow_mut().push(Held { before, names });
        Ok(settings)
    }

    /// Brings back what was asked for before the last [`SessionSettings::hold`].
    pub(crate) fn release(&self) {
        let Some(Held { before, names }) = self.held.borrow_mut().pop() else { return };
        let known = before.as_ref().map_or(0, |before| before.changes.len());
        let after = self.asked.replace(before);
        for (change, local) in after.into_iter().flat_map(|after| after.changes.into_iter().skip(known)) {
            let held = names.iter().any(|known| **known == *change.name());
            if !(local && held) {
                self.ask_again(change, local);
            }
        }
    }

    /// Asks for what could be asked for before, so it can be now.
    fn ask_again(&self, change: Change, local: bool) {
        let asked = self.ask_for(change, local);
        debug_assert!(asked.is_ok(), "a change that was accepted: {asked:?}");
    }

    /// What was asked for, once.
    pub(crate) fn take_asked(&self) -> Option<Asked> {
        self.asked.take()
    }

    /// What transactions that have committed within the statement have asked for, once: the statement has failed since.
    pub(crate) fn take_kept(&self) -> Vec<Change> {
        let Some(Asked { changes, kept, .. }) = self.asked.take() else { return Vec::new() };
        changes.into_iter().take(kept).map(|(change, _)| change).collect()
    }

    /// What sorting an index may use: what a function's definition says of it counts, too.
    pub(crate) fn job_memory_bytes(&self) -> u64 {
        let asked = self.asked.borrow();
        asked.as_ref().map_or(&self.now, |asked| &asked.settings).job_memory_bytes()
    }

    /// Those that will hold once the running statement is done, where it has asked for any.
    pub(crate) fn asked(&self) -> Option<Arc<Settings>> {
        self.asked.borrow().as_ref().map(|asked| Arc::clone(&asked.settings))
    }

    /// How long a lock is waited for from now on: as the running statement has asked for it, where it has.
    pub(crate) fn lock_timeout_by_now(&self) -> Option<Duration> {
        match &*self.asked.borrow() {
            Some(asked) => asked.settings.lock_timeout(),
            None => self.now.lock_timeout(),
        }
    }

    /// Whether the running statement has asked for another role.
    pub(crate) fn asks_for_role(&self) -> bool {
        let asked = self.asked.borrow();
        asked.as_ref().is_some_and(|Asked { settings, .. }| {
            settings.role != self.now.role || settings.session_role != self.now.session_role
        })
    }

    /// The role of SET ROLE and the one of SET SESSION AUTHORIZATION, as the running statement has asked for them.
    pub(crate) fn roles_asked(&self) -> [Option<KnownRole>; 2] {
        let asked = self.asked.borrow();
        let settings = asked.as_ref().map_or(&self.now, |asked| &asked.settings);
        [settings.role.clone(), settings.session_role.clone()]
    }

    /// The settings that are not what the session began with; whom it acts as is none of them.
    pub(crate) fn changed_names(&self) -> Vec<&'static str> {
        let changed = |name: &&str| {
            !matches!(*name, "role" | "session_authorization")
                && self.show_asked(name) != self.defaults.show(name)
        };
        super::all().iter().map(|(name, _)| *name).filter(changed).collect()
    }

    /// How commits are written, as the running statement has asked for it.
    pub(crate) fn commit_asked(&self) -> CommitLevel {
        self.asked.borrow().as_ref().map_or(&self.now, |asked| &asked.settings).commit
    }

    /// A transaction ends within the running statement: what the statement has asked for locally is over, and with a
    /// rollback all that it has asked for since the transaction began (1, 2). Whether some of it is over.
    pub(crate) fn end_asked(&self, committed: bool) -> bool {
        let Some(Asked { changes, kept, .. }) = self.asked.take() else { return false };
        let before = changes.len();
        let since = changes.into_iter().enumerate();
        for (_, (change, local)) in since.filter(|(at, (.., local))| *at < kept || committed && !local) {
            self.ask_again(change, local);
        }
        let mut asked = self.asked.borrow_mut();
        let after = asked.as_ref().map_or(0, |asked| asked.changes.len());
        if let Some(asked) = &mut *asked {
            asked.kept = after;
        }
        after != before
    }

    /// From which level on messages go to the client, and what the log gets of them, as the running statement has asked
    /// for it.
    pub(crate) fn heard(&self) -> (MessageLevel, LogSettings) {
        let asked = self.asked.borrow();
        let settings = asked.as_ref().map_or(&self.now, |asked| &asked.settings);
        (settings.messages_from, settings.log)
    }

    /// One of them, as it will be once the running statement is done.
    pub(crate) fn show_asked(&self, name: &str) -> Option<String> {
        let asked = self.asked.borrow();
        asked.as_ref().map_or(&self.now, |asked| &asked.settings).show(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work_memory(settings: &SessionSettings) -> String {
        settings.show("work_mem").expect("it is known")
    }

    #[test]
    fn a_transaction_takes_its_changes_back_or_leaves_all_but_the_local_ones() {
        for (committed, expected) in [(false, "1MB"), (true, "2MB")] {
            let mut settings = SessionSettings::default();
            settings.change_one("work_mem", Some("1MB"), false, None).expect("outside of one");
            let mut noted = None;
            settings.change_one("work_mem", Some("2MB"), false, Some(&mut noted)).expect("for good");
            settings.change_one("work_mem", Some("3MB"), true, Some(&mut noted)).expect("for now");
            assert_eq!(work_memory(&settings), "3MB");
            let epoch = settings.epoch();
            settings.end(noted.expect("it was noted"), committed);
            assert_eq!(work_memory(&settings), expected);
            assert!(settings.epoch() > epoch);
        }
    }

    #[test]
    fn a_transaction_that_ends_within_a_statement_takes_back_what_was_local_or_all_of_it() {
        let settings = SessionSettings::default();
        settings.ask("work_mem", Some("1MB"), false).expect("known");
        settings.ask("work_mem", Some("2MB"), true).expect("known");
        settings.ask("synchronous_commit", Some("off"), true).expect("known");
        assert_eq!(settings.commit_asked().show("commit_wait", CommitLevel::default()), Some("nowait"));
        settings.end_asked(true);
        assert_eq!(settings.show_asked("work_mem").as_deref(), Some("1MB"));
        assert_eq!(settings.commit_asked(), CommitLevel::default());
        settings.ask("work_mem", Some("3MB"), false).expect("known");
        settings.end_asked(false);
        assert_eq!(
            settings.show_asked("work_mem").as_deref(),
            Some("1MB"),
            "of a transaction that has committed"
        );
        settings.ask("work_mem", Some("4MB"), true).expect("known");
        settings.end_asked(true);
        let asked = settings.take_asked().expect("it was asked for");
        assert_eq!(
            asked.changes,
            [(Change::Setting("work_mem".to_string(), Some("1MB".to_string())), false)]
        );
    }

    #[test]
    fn what_is_refused_changes_nothing() {
        let mut settings = SessionSettings::default();
        let mut noted = None;
        let epoch = settings.epoch();
        settings.change_one("work_mem", Some("a cow"), false, Some(&mut noted)).expect_err("no number");
        assert_eq!(settings.epoch(), epoch);
        assert!(noted.is_none());
    }

    #[test]
    fn what_is_asked_for_shows_at_once_and_holds_when_it_is_taken() {
        let settings = SessionSettings::default();
        assert_eq!(settings.ask("work_mem", Some("2MB"), true).expect("known"), "2MB");
        assert_eq!(settings.show_asked("work_mem").as_deref(), Some("2MB"));
        assert_eq!(settings.show("work_mem"), Settings::default().show("work_mem"));
        let asked = settings.take_asked().expect("it was asked for");
        assert_eq!(asked.changes, [(Change::Setting("work_mem".to_string(), Some("2MB".to_string())), true)]);
        assert!(settings.take_asked().is_none());
        assert_eq!(settings.ask("nosuch", Some("1"), false).expect_err("unknown").sqlstate, "42704");
    }

    #[test]
    fn reset_brings_back_what_the_session_began_with() {
        let mut settings = SessionSettings::default();
        settings.set_default("work_mem", "8MB").expect("known");
        settings.change_one("work_mem", Some("2MB"), false, None).expect("known");
        settings.change_one("work_mem", None, false, None).expect("known");
        assert_eq!(work_memory(&settings), "8MB");
        let before = settings.shared();
        settings.change_one("work_mem", Some("2MB"), false, None).expect("known");
        assert!(settings.restore(before) && work_memory(&settings) == "8MB");
    }
}
