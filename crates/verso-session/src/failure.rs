//! Why a statement failed, and whether another try on a new snapshot may help (S2).

use verso_catalog::CatalogError;
use verso_exec::error::ExecError;
use verso_storage::StorageError;

use verso_parser::SyntaxError;
use verso_planner::errors::SqlError;

/// An error, and whether it is worth another try on a new snapshot.
pub(crate) struct Failure {
    pub(crate) error: SqlError,
    pub(crate) conflict: bool,
}

impl<E: Into<Cause>> From<E> for Failure {
    fn from(cause: E) -> Failure {
        match cause.into() {
            Cause::Sql(error) => Failure { error, conflict: false },
            Cause::Exec(error) => Failure { conflict: error.is_conflict(), error: error.into() },
        }
    }
}

/// What a failure comes from.
pub(crate) enum Cause {
    Sql(SqlError),
    Exec(ExecError),
}

impl From<SqlError> for Cause {
    fn from(error: SqlError) -> Cause {
        Cause::Sql(error)
    }
}

impl From<SyntaxError> for Cause {
    fn from(error: SyntaxError) -> Cause {
        Cause::Sql(error.into())
    }
}

impl From<ExecError> for Cause {
    fn from(error: ExecError) -> Cause {
        Cause::Exec(error)
    }
}

impl From<StorageError> for Cause {
    fn from(error: StorageError) -> Cause {
        Cause::Exec(error.into())
    }
}

impl From<CatalogError> for Cause {
    fn from(error: CatalogError) -> Cause {
        Cause::Exec(error.into())
    }
}
