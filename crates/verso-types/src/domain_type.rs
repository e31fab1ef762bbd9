//! Domains: a type with a name, a default and conditions of its own over another type.
//!
//! D1. A domain stands in declarations only: of columns, arguments, results, variables and casts. Values, batches, keys and what
//!     clients are told are of the type beneath it ([`SqlType::erased`]).
//!     So a field of a composite type has the type beneath, and its domain is noted beside it ([`RowType::declared`]); whoever makes
//!     a row of other values asks the domain, and a row that is one of the type already is not asked again.
//! D2. Two domains are the same if their oids are; derived equality also compares what they demand, so that a definition
//!     which holds a domain changes when the domain does.

use std::sync::Arc;

use crate::error::TypeError;
use crate::keyword::quoted;
use crate::names;
#[cfg(doc)]
use crate::sqltype::RowType;
use crate::sqltype::SqlType;

/// A domain.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct DomainType {
    /// Its row in `pg_type`.
    pub oid: u32,
    /// Its array's.
    pub array: u32,
    /// The schema it is in.
    pub schema: Arc<str>,
    /// Its name, folded.
    pub name: Arc<str>,
    /// The type beneath it, with modifiers; another domain, perhaps.
    pub base: SqlType,
    /// Does it demand a value?
    pub not_null: bool,
    /// The name of that demand as a constraint.
    pub not_null_name: Arc<str>,
    /// The number of that constraint.
    pub not_null_oid: u32,
    /// Its default, as SQL text: at first that of the domain beneath, where none was given.
    pub default: Option<Arc<str>>,
    /// Its conditions, by name, as they are checked.
    pub checks: Vec<DomainCheck>,
}

/// A condition of a domain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DomainCheck {
    /// Its row in `pg_constraint`.
    pub oid: u32,
    /// Its name, folded.
    pub name: Arc<str>,
    /// The condition over `value`, as SQL text.
    pub expression: Arc<str>,
    /// Do all values that are stored fulfil it?
    pub validated: bool,
}

impl DomainType {
    /// The name as the session writes it.
    pub fn shown(&self) -> String {
        names::type_name(self.oid).unwrap_or_else(|| quoted(&self.name))
    }

    /// The condition of that name.
    pub fn check(&self, name: &str) -> Option<&DomainCheck> {
        self.checks.iter().find(|check| *check.name == *name)
    }

    /// The error of a NULL where the domain demands a value.
    pub fn refuses_null(&self) -> TypeError {
        let message = format!("domain {} does not allow null values", self.shown());
        TypeError::new("23502", message)
    }

    /// The error of a value that does not fulfil a condition.
    pub fn refuses(&self, check: &str) -> TypeError {
        let message = format!("value for domain {} violates check constraint \"{check}\"", self.shown());
        TypeError::new("23514", message)
    }
}

impl SqlType {
    /// The type of the values: that beneath a domain, with its modifiers; of arrays that of their elements.
    #[must_use]
    pub fn erased(&self) -> SqlType {
        match self {
            SqlType::Domain(domain) => domain.base.erased(),
            SqlType::Collated(collated) => collated.base.erased(),
            SqlType::Array(element) if element.is_constrained() => SqlType::Array(Box::new(element.erased())),
            other => other.clone(),
        }
    }

    /// Is it a domain, or an array of one?
    pub fn is_constrained(&self) -> bool {
        match self {
            SqlType::Domain(_) => true,
            SqlType::Array(element) => element.is_constrained(),
            _ => false,
        }
    }
    /// Is it a composite type with fields of domains, or made of one: does a row or text that becomes one of it have to be
    /// checked?
    pub fn has_constrained_fields(&self) -> bool {
        match self {
            SqlType::Row(row) => {
                let mut declared = row.declared.iter().flat_map(|declared| declared.iter());
                row.of.is_some()
                    && (declared.any(SqlType::is_constrained)
                        || row.fields.iter().any(|(_, ty)| ty.has_constrained_fields()))
            }
            SqlType::Array(element) => element.has_constrained_fields(),
            _ => false,
        }
    }
}
