//! Rights: GRANT, REVOKE, owners, policies; who a session acts as.

use verso_types::SqlType;

use super::{DropKind, Expr, Name, QualifiedName, RoleName, RoutineKind};

/// Statements about rights and owners.
#[derive(Clone, Debug, PartialEq)]
pub enum RightsStatement {
    /// GRANT and REVOKE of rights.
    Grant(Grant),
    /// GRANT and REVOKE of roles.
    GrantRole(GrantRole),
    /// ALTER DEFAULT PRIVILEGES.
    Default {
        /// FOR ROLE; the current one if there is none.
        roles: Vec<RoleName>,
        /// IN SCHEMA; everywhere if there is none.
        schemas: Vec<Name>,
        /// What is granted or revoked; its objects are all of a kind.
        grant: Grant,
    },
    /// ALTER … OWNER TO.
    Owner {
        /// What.
        of: Owned,
        /// Whose it is from now on.
        to: RoleName,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// REASSIGN OWNED.
    Reassign {
        /// Whose things.
        from: Vec<RoleName>,
        /// Whose they are from now on.
        to: RoleName,
    },
    /// DROP OWNED.
    DropOwned {
        /// Whose things.
        roles: Vec<RoleName>,
        /// CASCADE.
        cascade: bool,
    },
    /// CREATE POLICY.
    CreatePolicy(Box<Policy>),
    /// ALTER POLICY: what is not given stays.
    AlterPolicy(Box<Policy>),
    /// ALTER POLICY … RENAME TO.
    RenamePolicy {
        /// Which.
        name: Name,
        /// Of which table.
        table: QualifiedName,
        /// Its new name.
        to: Name,
    },
    /// DROP POLICY.
    DropPolicy {
        /// Which.
        name: Name,
        /// Of which table.
        table: QualifiedName,
        /// IF EXISTS.
        if_exists: bool,
    },
}

/// GRANT or REVOKE of rights.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// REVOKE.
    pub revoke: bool,
    /// WITH GRANT OPTION; GRANT OPTION FOR.
    pub option: bool,
    /// The rights by name, each perhaps of some columns; none is ALL.
    pub rights: Vec<(Name, Vec<Name>)>,
    /// ALL (columns).
    pub columns: Vec<Name>,
    /// On what.
    pub on: GrantOn,
    /// To or from whom.
    pub to: Vec<RoleName>,
    /// GRANTED BY.
    pub by: Option<RoleName>,
    /// CASCADE.
    pub cascade: bool,
}

/// Kinds of what rights are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "kinds by their names")]
pub enum GrantKind {
    Table,
    Sequence,
    Function,
    Procedure,
    Routine,
    Schema,
    Type,
    Language,
    Database,
    Parameter,
    Tablespace,
}

/// What rights are on.
#[derive(Clone, Debug, PartialEq)]
pub enum GrantOn {
    /// Tables, views, sequences, types.
    Named(GrantKind, Vec<QualifiedName>),
    /// Functions, with argument types where given.
    Functions(GrantKind, Vec<(QualifiedName, Option<Vec<SqlType>>)>),
    /// Schemas, languages, databases, tablespaces, settings.
    Plain(GrantKind, Vec<Name>),
    /// ALL … IN SCHEMA; without schemas: all that there will be.
    All(GrantKind, Vec<Name>),
}

/// GRANT or REVOKE of roles.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantRole {
    /// REVOKE.
    pub revoke: bool,
    /// Which.
    pub roles: Vec<Name>,
    /// The members.
    pub to: Vec<RoleName>,
    /// WITH ADMIN; of REVOKE: ADMIN OPTION FOR.
    pub admin: Option<bool>,
    /// WITH INHERIT, the same way.
    pub inherit: Option<bool>,
    /// WITH SET, the same way.
    pub set: Option<bool>,
    /// GRANTED BY.
    pub by: Option<RoleName>,
    /// CASCADE.
    pub cascade: bool,
    /// ALTER GROUP, the older form.
    pub group: bool,
}

/// What gets another owner.
#[derive(Clone, Debug, PartialEq)]
pub enum Owned {
    /// A table, view, sequence.
    Relation(DropKind, QualifiedName),
    /// A function, with argument types where given.
    Function(RoutineKind, QualifiedName, Option<Vec<SqlType>>),
    /// A type.
    Type(QualifiedName),
    /// A domain.
    Domain(QualifiedName),
    /// The database, by its name.
    Database(Option<Name>),
    /// An operator.
    Operator(super::OperatorReference),
    /// A collation.
    Collation(QualifiedName),
    /// Statistics.
    Statistics(QualifiedName),
}

/// CREATE POLICY, ALTER POLICY.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Its name.
    pub name: Name,
    /// Its table.
    pub table: QualifiedName,
    /// Not AS RESTRICTIVE.
    pub permissive: bool,
    /// FOR: the command, `all` in most cases.
    pub command: String,
    /// TO; PUBLIC if there is none.
    pub roles: Option<Vec<RoleName>>,
    /// USING, and its text.
    pub using: Option<(Expr, String)>,
    /// WITH CHECK, and its text.
    pub check: Option<(Expr, String)>,
}

/// Who a session acts as.
#[derive(Clone, Debug, PartialEq)]
pub enum ActAs {
    /// SET ROLE; none is NONE, and RESET ROLE.
    Role(Option<Name>),
    /// SET SESSION AUTHORIZATION; none is DEFAULT.
    Session(Option<Name>),
}
