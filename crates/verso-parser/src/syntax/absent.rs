//! DROP of kinds of objects that databases do not have, or have only from the start.

use verso_types::SqlType;

use super::{Name, QualifiedName};

/// DROP of objects of such a kind: scripts drop them IF EXISTS.
#[derive(Clone, Debug, PartialEq)]
pub struct DropAbsent {
    /// What they are.
    pub kind: AbsentKind,
    /// Which.
    pub names: Vec<QualifiedName>,
    /// IF EXISTS?
    pub if_exists: bool,
}

/// A kind of objects that no statement makes.
#[derive(Clone, Debug, PartialEq)]
pub enum AbsentKind {
    /// A rule of a relation.
    Rule(QualifiedName),
    /// A language of functions.
    Language,
    /// A foreign server.
    Server,
    /// A foreign table.
    ForeignTable,
    /// A foreign-data wrapper.
    ForeignDataWrapper,
    /// A publication.
    Publication,
    /// A subscription.
    Subscription,
    /// A tablespace.
    Tablespace,
    /// An event trigger.
    EventTrigger,
    /// A conversion between encodings.
    Conversion,
    /// An access method.
    AccessMethod,
    /// A parser of text search.
    SearchParser,
    /// A dictionary of text search.
    SearchDictionary,
    /// A template of dictionaries.
    SearchTemplate,
    /// A configuration of text search.
    SearchConfiguration,
    /// An operator class of an access method.
    OperatorClass(Name),
    /// An operator family of an access method.
    OperatorFamily(Name),
    /// What a role is to the server that is named; no role for CURRENT_USER and the like.
    UserMapping(Option<Name>),
    /// How values of a type are seen by functions of the language that is named.
    Transform(SqlType),
}

impl AbsentKind {
    /// The kind as messages have it.
    pub fn words(&self) -> &'static str {
        match self {
            AbsentKind::Rule(_) => "rule",
            AbsentKind::Language => "language",
            AbsentKind::Server => "server",
            AbsentKind::ForeignTable => "foreign table",
            AbsentKind::ForeignDataWrapper => "foreign-data wrapper",
            AbsentKind::Publication => "publication",
            AbsentKind::Subscription => "subscription",
            AbsentKind::Tablespace => "tablespace",
            AbsentKind::EventTrigger => "event trigger",
            AbsentKind::Conversion => "conversion",
            AbsentKind::AccessMethod => "access method",
            AbsentKind::SearchParser => "text search parser",
            AbsentKind::SearchDictionary => "text search dictionary",
            AbsentKind::SearchTemplate => "text search template",
            AbsentKind::SearchConfiguration => "text search configuration",
            AbsentKind::OperatorClass(_) => "operator class",
            AbsentKind::OperatorFamily(_) => "operator family",
            AbsentKind::UserMapping(_) => "user mapping",
            AbsentKind::Transform(_) => "transform",
        }
    }

    /// The tag of the statement.
    pub fn tag(&self) -> &'static str {
        match self {
            AbsentKind::Rule(_) => "DROP RULE",
            AbsentKind::Language => "DROP LANGUAGE",
            AbsentKind::Server => "DROP SERVER",
            AbsentKind::ForeignTable => "DROP FOREIGN TABLE",
            AbsentKind::ForeignDataWrapper => "DROP FOREIGN DATA WRAPPER",
            AbsentKind::Publication => "DROP PUBLICATION",
            AbsentKind::Subscription => "DROP SUBSCRIPTION",
            AbsentKind::Tablespace => "DROP TABLESPACE",
            AbsentKind::EventTrigger => "DROP EVENT TRIGGER",
            AbsentKind::Conversion => "DROP CONVERSION",
            AbsentKind::AccessMethod => "DROP ACCESS METHOD",
            AbsentKind::SearchParser => "DROP TEXT SEARCH PARSER",
            AbsentKind::SearchDictionary => "DROP TEXT SEARCH DICTIONARY",
            AbsentKind::SearchTemplate => "DROP TEXT SEARCH TEMPLATE",
            AbsentKind::SearchConfiguration => "DROP TEXT SEARCH CONFIGURATION",
            AbsentKind::OperatorClass(_) => "DROP OPERATOR CLASS",
            AbsentKind::OperatorFamily(_) => "DROP OPERATOR FAMILY",
            AbsentKind::UserMapping(_) => "DROP USER MAPPING",
            AbsentKind::Transform(_) => "DROP TRANSFORM",
        }
    }
}
