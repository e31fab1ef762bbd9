//! Range types: PostgreSQL's own, and those of users.
//!
//! Values say of which of PostgreSQL's kinds they are ([`RangeKind`]); those of a user's type are all of the kind
//! [`RangeKind::Own`], and the [`SqlType`] beside them says which type that is.

use std::sync::Arc;

use super::{FACTS, RangeKind};
use crate::keyword::quoted;
use crate::names;
use crate::sqltype::SqlType;

/// A range type, or the range type of a multirange type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RangeType {
    /// One of PostgreSQL's.
    BuiltIn(BuiltInRange),
    /// A user's.
    Own(Arc<OwnRange>),
}

/// The kinds of ranges that PostgreSQL has types for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BuiltInRange(RangeKind);

/// A range type that a user has made, with its multirange type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnRange {
    /// The range type.
    pub range: RangeName,
    /// Its multirange type.
    pub multirange: RangeName,
    /// The type of the bounds.
    pub subtype: SqlType,
}

/// What the catalog calls a range type or a multirange type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RangeName {
    /// Its row in `pg_type`.
    pub oid: u32,
    /// Its array's.
    pub array: u32,
    /// The schema it is in.
    pub schema: Arc<str>,
    /// Its name, folded.
    pub name: Arc<str>,
}

impl RangeName {
    /// The name as the session writes it.
    pub fn shown(&self) -> String {
        names::type_name(self.oid).unwrap_or_else(|| quoted(&self.name))
    }
}

impl OwnRange {
    /// What the catalog calls the range type, or the multirange type.
    pub fn name(&self, multi: bool) -> &RangeName {
        if multi { &self.multirange } else { &self.range }
    }
}

impl RangeType {
    /// `int4range`
    pub const INT4: RangeType = RangeType::BuiltIn(BuiltInRange(RangeKind::Int4));
    /// `int8range`
    pub const INT8: RangeType = RangeType::BuiltIn(BuiltInRange(RangeKind::Int8));
    /// `numrange`
    pub const NUM: RangeType = RangeType::BuiltIn(BuiltInRange(RangeKind::Num));
    /// `tsrange`
    pub const TS: RangeType = RangeType::BuiltIn(BuiltInRange(RangeKind::Ts));
    /// `tstzrange`
    pub const TSTZ: RangeType = RangeType::BuiltIn(BuiltInRange(RangeKind::Tstz));
    /// `daterange`
    pub const DATE: RangeType = RangeType::BuiltIn(BuiltInRange(RangeKind::Date));

    /// PostgreSQL's, in the order of their codes.
    pub const BUILT_IN: [RangeType; 6] =
        [RangeType::INT4, RangeType::INT8, RangeType::NUM, RangeType::TS, RangeType::TSTZ, RangeType::DATE];

    /// What its values say of themselves.
    pub fn kind(&self) -> RangeKind {
        match self {
            RangeType::BuiltIn(own) => own.0,
            RangeType::Own(_) => RangeKind::Own,
        }
    }

    /// The type of the bounds.
    pub fn subtype(&self) -> SqlType {
        match self {
            RangeType::Own(own) => own.subtype.clone(),
            RangeType::BuiltIn(own) => match own.0 {
                RangeKind::Int8 => SqlType::Int8,
                RangeKind::Num => SqlType::Numeric(None),
                RangeKind::Ts => SqlType::Timestamp(None),
                RangeKind::Tstz => SqlType::Timestamptz(None),
                RangeKind::Date => SqlType::Date,
                // a built-in range is never of the kind `Own`
                RangeKind::Int4 | RangeKind::Own => SqlType::Int4,
            },
        }
    }

    /// The oids of its range, or multirange, and of arrays of it.
    pub fn oids(&self, multi: bool) -> (u32, u32) {
        match self {
            RangeType::Own(own) => (own.name(multi).oid, own.name(multi).array),
            RangeType::BuiltIn(own) if multi => FACTS[own.0 as usize - 1].multi_oids,
            RangeType::BuiltIn(own) => FACTS[own.0 as usize - 1].oids,
        }
    }

    /// The name of its range, or multirange; of a user's type only that it is one, as its own name is known at run time.
    pub fn name(&self, multi: bool) -> &'static str {
        match self {
            RangeType::Own(_) => "range",
            RangeType::BuiltIn(own) if multi => FACTS[own.0 as usize - 1].multirange,
            RangeType::BuiltIn(own) => FACTS[own.0 as usize - 1].range,
        }
    }

    /// What the catalog calls it, if a user has made it.
    pub fn own_name(&self, multi: bool) -> Option<&RangeName> {
        match self {
            RangeType::Own(own) => Some(own.name(multi)),
            RangeType::BuiltIn(_) => None,
        }
    }

    /// Its range, or multirange, as a type.
    pub fn ty(self, multi: bool) -> SqlType {
        if multi { SqlType::Multirange(self) } else { SqlType::Range(self) }
    }

    /// PostgreSQL's type of this name.
    pub fn type_named(name: &str) -> Option<SqlType> {
        let named = |multi: bool| {
            RangeType::BUILT_IN.into_iter().find(|ty| ty.name(multi) == name).map(|ty| ty.ty(multi))
        };
        named(false).or_else(|| named(true))
    }

    /// Is it the same type, whatever its name is by now?
    pub fn is_same(&self, other: &RangeType) -> bool {
        match (self, other) {
            (RangeType::Own(a), RangeType::Own(b)) => a.range.oid == b.range.oid,
            (a, b) => a == b,
        }
    }
}
