//! What names mean to a session: the catalog along its search path.

use std::cell::RefCell;
use std::sync::Arc;

use verso_catalog::{CatalogError, CatalogSnapshot, Oid, PG_STAT_STATEMENTS, WantedPath};
use verso_storage::Txn;

use super::Services;
use crate::settings::Settings;

/// The search path of a session, made from its settings.
#[derive(Debug, Default)]
pub(crate) struct NamesPath {
    known: RefCell<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    /// The settings that it was made from.
    epoch: u64,
    path: Arc<WantedPath>,
}

impl NamesPath {
    /// It has to be made anew: more has changed than the settings.
    pub(crate) fn forget(&self) {
        self.known.take();
    }
}

impl Services {
    /// The search path that the settings ask for.
    fn wanted_path(&self) -> Arc<WantedPath> {
        let epoch = self.settings.epoch();
        let mut known = self.names_path.known.borrow_mut();
        if let Some(known) = known.as_ref().filter(|known| known.epoch == epoch) {
            return Arc::clone(&known.path);
        }
        let role = Some(self.current_role()).filter(|role| *role != verso_catalog::OWNER_ROLE);
        let path = Arc::new(self.path_of(&self.settings, role));
        *known = Some(Known { epoch, path: Arc::clone(&path) });
        // What was seen along another path is seen anew.
        self.catalog.take();
        path
    }

    /// A view of the catalog that the session has just taken is what its services know, unless a statement works with theirs.
    pub(crate) fn know_catalog(&self, catalog: &Arc<CatalogSnapshot>) {
        if let Ok(mut known) = self.catalog.try_borrow_mut() {
            *known = Some(Arc::clone(catalog));
        }
    }

    /// The search path that some settings ask for.
    pub(crate) fn path_of(&self, settings: &Settings, role: Option<Oid>) -> WantedPath {
        let user = self.current_name();
        let of_user = |name: &Arc<str>| if **name == *"$user" { Arc::clone(&user) } else { Arc::clone(name) };
        let schemas = settings.search_path.iter().map(of_user).collect();
        let row_security = settings.row_security;
        WantedPath { schemas, temporary: Some(self.temporary_schema()), role, row_security }
    }

    /// The number of the search path, as the last statement saw it; none if the settings have changed since.
    pub(crate) fn path_number(&self) -> Option<u64> {
        self.wanted_path();
        self.catalog.borrow().as_ref().map(|catalog| catalog.key().path)
    }

    /// The name of the session's schema for temporary tables.
    pub(crate) fn temporary_schema(&self) -> Arc<str> {
        format!("pg_temp_{}", self.info.number).into()
    }

    /// The catalog as the running statement knows it, with what it has defined itself.
    pub(crate) fn known_catalog(&self) -> Option<Arc<CatalogSnapshot>> {
        self.redefined.borrow().clone().or_else(|| self.catalog.borrow().clone())
    }

    /// The catalog as the transaction's current statement sees it, along the session's search path.
    pub(crate) fn snapshot(&self, txn: &Txn) -> Result<Arc<CatalogSnapshot>, CatalogError> {
        let mut path = self.wanted_path();
        if let Some(schema) = &*self.creating.borrow() {
            let role = Some(self.current_role()).filter(|role| *role != verso_catalog::OWNER_ROLE);
            let schemas = std::iter::once(Arc::clone(schema)).chain(path.schemas.iter().cloned()).collect();
            path = Arc::new(WantedPath { schemas, role, ..(*path).clone() });
        }
        Ok(self.instance.catalog.snapshot(txn)?.with_path(&path))
    }

    /// The same with what the running statement has asked for: its search path, and its role where it has asked for one;
    /// otherwise it is seen with the rights of `role`.
    pub(crate) fn snapshot_asked(
        &self,
        txn: &Txn,
        role: Option<Oid>,
    ) -> Result<Arc<CatalogSnapshot>, CatalogError> {
        let now = self.snapshot(txn)?;
        let Some(asked) = self.settings.asked() else { return Ok(now.with_role(role)) };
        let role = match self.settings.asks_for_role() && self.acting.get().is_none() {
            true => Some(self.current_role()).filter(|role| *role != verso_catalog::OWNER_ROLE),
            false => role,
        };
        Ok(now.with_role(role).with_path(&self.path_of(&asked, role)))
    }

    /// Brings `catalog` up to what the transaction's current statement sees. Costs no more than a few loads most of the time.
    #[inline]
    pub(crate) fn refresh_catalog(&self, txn: &Txn) -> Result<(), CatalogError> {
        let path = self.wanted_path();
        let mut known = self.catalog.borrow_mut();
        let before = known.as_ref().map(Arc::as_ptr);
        self.instance.catalog.refresh(txn, &mut known)?;
        match &mut *known {
            Some(catalog) if before != Some(Arc::as_ptr(catalog)) => {
                *catalog = catalog.with_path(&path);
                self.instance.count_catalog();
                self.instance.tracked.note_asked(catalog.extension(PG_STAT_STATEMENTS).is_some());
            }
            _ => {}
        }
        Ok(())
    }
}
