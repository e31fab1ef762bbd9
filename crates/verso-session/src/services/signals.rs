//! Waiting, and cancelling other sessions.

use verso_exec::ExecError;
use verso_exec::context::Signals;

use super::Services;
use verso_planner::errors::sqlstate;

impl Signals for Services {
    fn signal_backend(&self, process: i32, terminate: bool) -> Result<bool, ExecError> {
        let id = u64::try_from(process).unwrap_or(0);
        let Some(other) = self.instance.sessions.find(id) else {
            self.notices.warn("01000", &format!("PID {process} is not a PostgreSQL backend process"));
            return Ok(false);
        };
        let owner = other.identity.lock().clone();
        let of_superuser = owner.superuser || owner.role == verso_catalog::OWNER_ROLE;
        // A role of another database is not known here, whatever its number.
        let here = other.member.number() == self.instance.member.number();
        let may = self.is_superuser()
            || !of_superuser
                && (here && self.has_role(owner.role)
                    || self.has_role(verso_catalog::authority::SIGNAL_BACKEND));
        if !may {
            let what = if terminate { "terminate process" } else { "cancel query" };
            return Err(ExecError::raised(
                sqlstate::INSUFFICIENT_PRIVILEGE,
                format!("permission denied to {what}"),
            ));
        }
        Ok(if terminate { self.instance.terminate_session(id) } else { self.instance.cancel_session(id) })
    }

    fn has_backend(&self, process: i32) -> bool {
        u64::try_from(process).is_ok_and(|id| self.instance.sessions.find(id).is_some())
    }

    fn sleep(&self, duration: std::time::Duration) -> Result<(), ExecError> {
        Ok(self.owner.sleep(duration)?)
    }

    fn ends_session(&self) -> bool {
        self.info.ending().is_some()
    }

    fn forget_cancel(&self) {
        self.info.clear();
    }

    fn wait_durable(&self) -> Result<u64, ExecError> {
        let engine = &self.instance.engine;
        let end = engine.logged();
        self.info.flushing(|| engine.flush_log(end))?;
        Ok(end.0)
    }
}
