//! CREATE TYPE, ALTER TYPE, DROP TYPE; the same of domains.

use verso_types::SqlType;

use super::{CastStatement, Expr, Name, OperatorStatement, QualifiedName};

/// A statement about users' types.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeStatement {
    /// CREATE TYPE … AS ENUM.
    CreateEnum {
        /// The type.
        name: QualifiedName,
        /// Its labels in order.
        labels: Vec<String>,
    },
    /// CREATE TYPE … AS (…).
    CreateComposite {
        /// The type.
        name: QualifiedName,
        /// Names and types of its fields in order.
        fields: Vec<(Name, SqlType)>,
    },
    /// CREATE TYPE … AS RANGE.
    CreateRange {
        /// The type.
        name: QualifiedName,
        /// What stands in parentheses; none of them twice.
        options: Vec<RangeOption>,
    },
    /// ALTER TYPE … ADD ATTRIBUTE and the like.
    AlterFields {
        /// The type.
        name: QualifiedName,
        /// What changes, in order.
        changes: Vec<FieldChange>,
        /// CASCADE behind all of them: the tables of that type change, too.
        cascade: bool,
    },
    /// ALTER TYPE … ADD VALUE.
    AddValue {
        /// The type.
        name: QualifiedName,
        /// The new label.
        label: String,
        /// IF NOT EXISTS?
        if_not_exists: bool,
        /// Where it goes.
        place: LabelPlace,
    },
    /// ALTER TYPE … RENAME VALUE.
    RenameValue {
        /// The type.
        name: QualifiedName,
        /// The label.
        from: String,
        /// Its new name.
        to: String,
    },
    /// DROP of a kind of objects that no statement makes.
    DropAbsent(super::DropAbsent),
    /// CREATE DOMAIN.
    CreateDomain(Box<CreateDomain>),
    /// ALTER DOMAIN.
    AlterDomain {
        /// The domain.
        name: QualifiedName,
        /// What changes.
        action: DomainAction,
    },
    /// ALTER TYPE … RENAME TO.
    Rename {
        /// The type.
        name: QualifiedName,
        /// ALTER DOMAIN?
        domain: bool,
        /// Its new name.
        to: Name,
    },
    /// ALTER TYPE … SET SCHEMA.
    Move {
        /// The type.
        name: QualifiedName,
        /// ALTER DOMAIN?
        domain: bool,
        /// Its new schema.
        to: Name,
    },
    /// CREATE COLLATION and its relatives.
    Collation(CollationStatement),
    /// Statements about statistics.
    Statistics(super::StatisticsStatement),
    /// CREATE OPERATOR and its relatives.
    Operator(OperatorStatement),
    /// CREATE CAST and its relatives.
    Cast(CastStatement),
    /// CREATE EXTENSION and its relatives.
    Extension(ExtensionStatement),
    /// DROP TYPE.
    Drop {
        /// The types.
        names: Vec<QualifiedName>,
        /// DROP DOMAIN?
        domain: bool,
        /// IF EXISTS?
        if_exists: bool,
        /// CASCADE?
        cascade: bool,
    },
}

/// What CREATE TYPE … AS RANGE says of a range type.
#[derive(Clone, Debug, PartialEq)]
pub enum RangeOption {
    /// `subtype`: the type of the bounds.
    Subtype(SqlType),
    /// `subtype_opclass`: their order.
    Class(QualifiedName),
    /// `collation`: the same.
    Collation(QualifiedName),
    /// `subtype_diff`: how far apart they are.
    Diff(QualifiedName),
    /// `multirange_type_name`.
    Multirange(QualifiedName),
}

/// What makes, changes and drops extensions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExtensionStatement {
    /// CREATE EXTENSION.
    Create {
        /// The extension.
        name: Name,
        /// IF NOT EXISTS?
        if_not_exists: bool,
        /// SCHEMA.
        schema: Option<Name>,
        /// VERSION.
        version: Option<String>,
    },
    /// ALTER EXTENSION … UPDATE.
    Update {
        /// The extension.
        name: Name,
        /// TO.
        version: Option<String>,
    },
    /// ALTER EXTENSION … SET SCHEMA.
    Move {
        /// The extension.
        name: Name,
        /// Its new schema.
        to: Name,
    },
    /// LOAD of a library of C.
    Load {
        /// Its name.
        library: String,
    },
    /// DROP EXTENSION.
    Drop {
        /// The extensions.
        names: Vec<Name>,
        /// IF EXISTS?
        if_exists: bool,
        /// CASCADE?
        cascade: bool,
    },
}

/// What makes, changes and drops collations.
#[derive(Clone, Debug, PartialEq)]
pub enum CollationStatement {
    /// CREATE COLLATION.
    Create {
        /// The collation.
        name: QualifiedName,
        /// IF NOT EXISTS?
        if_not_exists: bool,
        /// FROM this one.
        from: Option<QualifiedName>,
        /// What stands in parentheses.
        options: Vec<CollationOption>,
    },
    /// ALTER COLLATION … REFRESH VERSION.
    Refresh {
        /// The collation.
        name: QualifiedName,
    },
    /// ALTER COLLATION … RENAME TO.
    Rename {
        /// The collation.
        name: QualifiedName,
        /// Its new name.
        to: Name,
    },
    /// ALTER COLLATION … SET SCHEMA.
    Move {
        /// The collation.
        name: QualifiedName,
        /// Its new schema.
        to: Name,
    },
    /// DROP COLLATION.
    Drop {
        /// The collations.
        names: Vec<QualifiedName>,
        /// IF EXISTS?
        if_exists: bool,
        /// CASCADE?
        cascade: bool,
    },
}

/// An option of CREATE COLLATION.
#[derive(Clone, Debug, PartialEq)]
pub struct CollationOption {
    /// Its name.
    pub name: Name,
    /// What it is set to.
    pub value: Option<String>,
}

/// What ALTER TYPE changes of the fields of a composite type.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldChange {
    /// ADD ATTRIBUTE.
    Add(Name, SqlType),
    /// DROP ATTRIBUTE.
    Drop {
        /// The field.
        name: Name,
        /// IF EXISTS?
        if_exists: bool,
    },
    /// ALTER ATTRIBUTE … TYPE.
    Retype(Name, SqlType),
    /// RENAME ATTRIBUTE: its old name, its new one.
    Rename(Name, Name),
}

/// Where a new label goes.
#[derive(Clone, Debug, PartialEq)]
pub enum LabelPlace {
    /// Behind all others.
    Last,
    /// In front of this one.
    Before(String),
    /// Behind this one.
    After(String),
}

/// CREATE DOMAIN.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateDomain {
    /// The domain.
    pub name: QualifiedName,
    /// The type beneath it.
    pub base: SqlType,
    /// DEFAULT and its text.
    pub default: Option<(Expr, String)>,
    /// NOT NULL, and the name that it was given.
    pub not_null: Option<Option<Name>>,
    /// The conditions.
    pub checks: Vec<DomainCondition>,
}

/// CHECK of a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainCondition {
    /// Its name, where it was given one.
    pub name: Option<Name>,
    /// The condition over VALUE.
    pub expr: Expr,
    /// Its text.
    pub text: String,
    /// NOT VALID?
    pub not_valid: bool,
}

/// What ALTER DOMAIN changes.
#[derive(Clone, Debug, PartialEq)]
pub enum DomainAction {
    /// SET DEFAULT, DROP DEFAULT.
    Default(Option<(Expr, String)>),
    /// SET NOT NULL, ADD … NOT NULL, perhaps with a name; DROP NOT NULL.
    NotNull(bool, Option<Name>),
    /// ADD … CHECK.
    AddCheck(DomainCondition),
    /// DROP CONSTRAINT.
    DropConstraint {
        /// The constraint.
        name: Name,
        /// IF EXISTS?
        if_exists: bool,
    },
    /// RENAME CONSTRAINT.
    RenameConstraint {
        /// The constraint.
        name: Name,
        /// Its new name.
        to: Name,
    },
    /// VALIDATE CONSTRAINT.
    Validate(Name),
}
