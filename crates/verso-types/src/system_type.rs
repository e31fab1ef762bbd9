//! The types without modifiers that a table of facts describes: references to objects by number (`regclass` and its
//! relatives), `"char"`, the few others of the system catalogs whose values are shown as text; addresses, `money`,
//! paths into JSON, places in the log and the types of geometry; `citext`.
//!
//! | kind | values | text |
//! |---|---|---|
//! | references | the object's oid | the object's name, as the session would write it ([`names`](crate::names)) |
//! | `xid`, `xid8` | the number | the number |
//! | texts | the text | the text |
//! | `inet`, `cidr`, `macaddr`, `macaddr8`, `money`, `jsonpath`, `pg_lsn`, `tid`, `tsvector`, `tsquery`, `hstore`, [geometry](crate::geometry) | [`opaque`](crate::opaque) | their own |
//! | elements of `int2vector`, `oidvector` | smallint, oid | the number; the vector itself has blanks between them |
//!
//! A vector is an array whose element type is one of the two element types here, so that whatever takes arrays takes
//! vectors; it differs in its object id, its text, and its lower bound 0.

use crate::opaque::OpaqueKind;
use crate::sqltype::{Physical, SqlType};

/// A type of the system catalogs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SystemType {
    /// `"char"`: one byte.
    Char,
    /// `regclass`: a relation.
    Regclass,
    /// `regtype`: a type.
    Regtype,
    /// `regproc`: a function that its name alone tells.
    Regproc,
    /// `regprocedure`: a function with its arguments' types.
    Regprocedure,
    /// `regnamespace`: a schema.
    Regnamespace,
    /// `regrole`: a role.
    Regrole,
    /// `regoper`: an operator that its name alone tells.
    Regoper,
    /// `regoperator`: an operator with its operands' types.
    Regoperator,
    /// `regcollation`: a collation.
    Regcollation,
    /// `xid`: the lower half of a transaction's number.
    Xid,
    /// `xid8`: a transaction's number.
    Xid8,
    /// `pg_node_tree`: an expression of the catalog.
    NodeTree,
    /// `aclitem`: who may do what.
    AclItem,
    /// `anyarray`, as a column of a catalog.
    AnyArray,
    /// `inet`.
    Inet,
    /// `pg_lsn`: a place in the log.
    Lsn,
    /// `tid`: the place of a row in its table.
    Tid,
    /// An element of `int2vector`.
    VectorInt2,
    /// An element of `oidvector`.
    VectorOid,
    /// `refcursor`: the name of a cursor.
    Refcursor,
    /// `anyelement`, as the type of an argument, and its relatives.
    AnyElement,
    /// `anynonarray`.
    AnyNonArray,
    /// `anyenum`.
    AnyEnum,
    /// `anycompatible`.
    AnyCompatible,
    /// `anycompatiblearray`.
    AnyCompatibleArray,
    /// `anycompatiblenonarray`.
    AnyCompatibleNonArray,
    /// `cidr`.
    Cidr,
    /// `macaddr`.
    Macaddr,
    /// `macaddr8`.
    Macaddr8,
    /// `money`.
    Money,
    /// `jsonpath`: a path into JSON.
    JsonPath,
    /// `pg_snapshot`: which transactions a statement sees.
    PgSnapshot,
    /// `txid_snapshot`: its older name.
    TxidSnapshot,
    /// `anyrange`, as the type of an argument.
    AnyRange,
    /// `anymultirange`.
    AnyMultirange,
    /// `anycompatiblerange`.
    AnyCompatibleRange,
    /// `anycompatiblemultirange`.
    AnyCompatibleMultirange,
    /// `tsvector`: lexemes of a document.
    TsVector,
    /// `tsquery`: what is looked for in documents.
    TsQuery,
    /// `regconfig`: a configuration of text search.
    Regconfig,
    /// `regdictionary`: a dictionary of text search.
    Regdictionary,
    /// `citext`: texts that are equal whatever the case of their letters.
    Citext,
    /// `hstore`: texts by keys.
    Hstore,
    /// `point`.
    Point,
    /// `lseg`: a line segment.
    Lseg,
    /// `path`: a path of line segments.
    Path,
    /// `box`.
    Box,
    /// `polygon`.
    Polygon,
    /// `line`: a line without ends.
    Line,
    /// `circle`.
    Circle,
}

/// What a [`SystemType`] is to PostgreSQL.
struct Facts {
    ty: SystemType,
    name: &'static str,
    oid: u32,
    array: u32,
    length: i16,
    category: char,
    physical: Physical,
}

const fn facts(
    ty: SystemType,
    name: &'static str,
    oids: (u32, u32),
    length: i16,
    category: char,
    physical: Physical,
) -> Facts {
    Facts { ty, name, oid: oids.0, array: oids.1, length, category, physical }
}

static FACTS: [Facts; 51] = [
    facts(SystemType::Char, "\"char\"", (18, 1002), 1, 'Z', Physical::Bytes),
    facts(SystemType::Regclass, "regclass", (2205, 2210), 4, 'N', Physical::I64),
    facts(SystemType::Regtype, "regtype", (2206, 2211), 4, 'N', Physical::I64),
    facts(SystemType::Regproc, "regproc", (24, 1008), 4, 'N', Physical::I64),
    facts(SystemType::Regprocedure, "regprocedure", (2202, 2207), 4, 'N', Physical::I64),
    facts(SystemType::Regnamespace, "regnamespace", (4089, 4090), 4, 'N', Physical::I64),
    facts(SystemType::Regrole, "regrole", (4096, 4097), 4, 'N', Physical::I64),
    facts(SystemType::Regoper, "regoper", (2203, 2208), 4, 'N', Physical::I64),
    facts(SystemType::Regoperator, "regoperator", (2204, 2209), 4, 'N', Physical::I64),
    facts(SystemType::Regcollation, "regcollation", (4191, 4192), 4, 'N', Physical::I64),
    facts(SystemType::Xid, "xid", (28, 1011), 4, 'U', Physical::I64),
    facts(SystemType::Xid8, "xid8", (5069, 271), 8, 'U', Physical::I64),
    facts(SystemType::NodeTree, "pg_node_tree", (194, 0), -1, 'Z', Physical::Bytes),
    facts(SystemType::AclItem, "aclitem", (1033, 1034), 16, 'U', Physical::Bytes),
    facts(SystemType::AnyArray, "anyarray", (2277, 0), -1, 'P', Physical::Bytes),
    facts(SystemType::Inet, "inet", (869, 1041), -1, 'I', Physical::Bytes),
    facts(SystemType::Lsn, "pg_lsn", (3220, 3221), 8, 'U', Physical::Bytes),
    facts(SystemType::Tid, "tid", (27, 1010), 6, 'U', Physical::Bytes),
    facts(SystemType::VectorInt2, "smallint", (21, 22), 2, 'N', Physical::I16),
    facts(SystemType::VectorOid, "oid", (26, 30), 4, 'N', Physical::I64),
    facts(SystemType::Refcursor, "refcursor", (1790, 2201), -1, 'U', Physical::Bytes),
    facts(SystemType::AnyElement, "anyelement", (2283, 0), 4, 'P', Physical::Bytes),
    facts(SystemType::AnyNonArray, "anynonarray", (2776, 0), 4, 'P', Physical::Bytes),
    facts(SystemType::AnyEnum, "anyenum", (3500, 0), 4, 'P', Physical::Bytes),
    facts(SystemType::AnyCompatible, "anycompatible", (5077, 0), 4, 'P', Physical::Bytes),
    facts(SystemType::AnyCompatibleArray, "anycompatiblearray", (5078, 0), -1, 'P', Physical::Bytes),
    facts(SystemType::AnyCompatibleNonArray, "anycompatiblenonarray", (5079, 0), 4, 'P', Physical::Bytes),
    facts(SystemType::Cidr, "cidr", (650, 651), -1, 'I', Physical::Bytes),
    facts(SystemType::Macaddr, "macaddr", (829, 1040), 6, 'U', Physical::Bytes),
    facts(SystemType::Macaddr8, "macaddr8", (774, 775), 8, 'U', Physical::Bytes),
    facts(SystemType::Money, "money", (790, 791), 8, 'N', Physical::Bytes),
    facts(SystemType::JsonPath, "jsonpath", (4072, 4073), -1, 'U', Physical::Bytes),
    facts(SystemType::PgSnapshot, "pg_snapshot", (5038, 5039), -1, 'U', Physical::Bytes),
    facts(SystemType::TxidSnapshot, "txid_snapshot", (2970, 2949), -1, 'U', Physical::Bytes),
    facts(SystemType::AnyRange, "anyrange", (3831, 0), -1, 'P', Physical::Bytes),
    facts(SystemType::AnyMultirange, "anymultirange", (4537, 0), -1, 'P', Physical::Bytes),
    facts(SystemType::AnyCompatibleRange, "anycompatiblerange", (5080, 0), -1, 'P', Physical::Bytes),
    facts(
        SystemType::AnyCompatibleMultirange,
        "anycompatiblemultirange",
        (4538, 0),
        -1,
        'P',
        Physical::Bytes,
    ),
    facts(SystemType::TsVector, "tsvector", (3614, 3643), -1, 'U', Physical::Bytes),
    facts(SystemType::TsQuery, "tsquery", (3615, 3645), -1, 'U', Physical::Bytes),
    facts(SystemType::Regconfig, "regconfig", (3734, 3735), 4, 'N', Physical::I64),
    facts(SystemType::Regdictionary, "regdictionary", (3769, 3770), 4, 'N', Physical::I64),
    // An extension's type has no number in PostgreSQL that is the same everywhere: these are free in all of its versions.
    facts(SystemType::Citext, "citext", (9992, 9993), -1, 'S', Physical::Bytes),
    facts(SystemType::Hstore, "hstore", (9995, 9996), -1, 'U', Physical::Bytes),
    facts(SystemType::Point, "point", (600, 1017), 16, 'G', Physical::Bytes),
    facts(SystemType::Lseg, "lseg", (601, 1018), 32, 'G', Physical::Bytes),
    facts(SystemType::Path, "path", (602, 1019), -1, 'G', Physical::Bytes),
    facts(SystemType::Box, "box", (603, 1020), 32, 'G', Physical::Bytes),
    facts(SystemType::Polygon, "polygon", (604, 1027), -1, 'G', Physical::Bytes),
    facts(SystemType::Line, "line", (628, 629), 24, 'G', Physical::Bytes),
    facts(SystemType::Circle, "circle", (718, 719), 24, 'G', Physical::Bytes),
];

impl SystemType {
    /// Every one that has an object id of its own: all but the elements of vectors.
    pub fn all() -> impl Iterator<Item = SystemType> {
        FACTS.iter().map(|facts| facts.ty).filter(|ty| !ty.is_vector_element())
    }

    fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// The type of this name, which is written without quotes but for `"char"`. Types of extensions are found by the catalog.
    pub fn from_name(name: &str) -> Option<SystemType> {
        SystemType::all().find(|ty| ty.name() == name && !ty.is_of_extension())
    }

    /// Is it there only in databases that have asked for its extension, in the extension's schema?
    pub fn is_of_extension(self) -> bool {
        matches!(self, SystemType::Citext | SystemType::Hstore)
    }

    /// Is it the number of such a type, or of the array of one?
    pub fn is_oid_of_extension(oid: u32) -> bool {
        matches!(oid, 9992 | 9993 | 9995 | 9996)
    }

    /// As `format_type` spells it.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// PostgreSQL's `pg_type.typname`.
    pub fn internal_name(self) -> &'static str {
        match self {
            SystemType::Char => "char",
            SystemType::VectorInt2 => "int2",
            other => other.name(),
        }
    }

    /// PostgreSQL's `pg_type.oid`.
    pub fn pg_oid(self) -> u32 {
        self.facts().oid
    }

    /// PostgreSQL's `pg_type.typarray`; that of a vector's element is the vector.
    pub fn array_oid(self) -> u32 {
        self.facts().array
    }

    /// PostgreSQL's `pg_type.typlen`.
    pub fn typlen(self) -> i16 {
        self.facts().length
    }

    /// PostgreSQL's `pg_type.typcategory`.
    pub fn category(self) -> char {
        self.facts().category
    }

    /// The layout of its columns.
    pub fn physical(self) -> Physical {
        self.facts().physical
    }

    /// Are its values texts?
    pub fn is_text(self) -> bool {
        self.physical() == Physical::Bytes && self.opaque().is_none()
    }

    /// The kind of its values, where they have a form of their own.
    pub fn opaque(self) -> Option<OpaqueKind> {
        Some(match self {
            SystemType::Inet => OpaqueKind::Inet,
            SystemType::Cidr => OpaqueKind::Cidr,
            SystemType::Macaddr => OpaqueKind::Mac,
            SystemType::Macaddr8 => OpaqueKind::Mac8,
            SystemType::Money => OpaqueKind::Money,
            SystemType::JsonPath => OpaqueKind::JsonPath,
            SystemType::Lsn => OpaqueKind::Lsn,
            SystemType::Tid => OpaqueKind::Tid,
            SystemType::TsVector => OpaqueKind::TsVector,
            SystemType::TsQuery => OpaqueKind::TsQuery,
            SystemType::Hstore => OpaqueKind::Hstore,
            SystemType::Point => OpaqueKind::Point,
            SystemType::Lseg => OpaqueKind::Lseg,
            SystemType::Path => OpaqueKind::Path,
            SystemType::Box => OpaqueKind::Box,
            SystemType::Polygon => OpaqueKind::Polygon,
            SystemType::Line => OpaqueKind::Line,
            SystemType::Circle => OpaqueKind::Circle,
            _ => return None,
        })
    }

    /// Is it one of the [`geometry`](crate::geometry) types, whose values have neither an order nor an equality that rows are told
    /// apart by?
    pub fn is_geometric(self) -> bool {
        self.opaque().is_some_and(OpaqueKind::is_geometric)
    }

    /// What stands between the elements of an array's text: PostgreSQL's `pg_type.typdelim`.
    pub fn delimiter(self) -> char {
        if self == SystemType::Box { ';' } else { ',' }
    }

    /// The type of what a subscript picks from a value of a fixed number of parts: PostgreSQL's `pg_type.typelem`.
    pub fn part(self) -> Option<SqlType> {
        match self {
            SystemType::Point | SystemType::Line => Some(SqlType::Float8),
            SystemType::Lseg | SystemType::Box => Some(SqlType::System(SystemType::Point)),
            _ => None,
        }
    }

    /// Does it name an object by its oid?
    pub fn is_reference(self) -> bool {
        use SystemType as S;
        matches!(
            self,
            S::Regclass
                | S::Regtype
                | S::Regproc
                | S::Regprocedure
                | S::Regnamespace
                | S::Regrole
                | S::Regoper
                | S::Regoperator
                | S::Regcollation
                | S::Regconfig
                | S::Regdictionary
        )
    }

    /// Does the binary protocol carry four bytes?
    pub fn is_four_bytes(self) -> bool {
        self.is_reference() || matches!(self, SystemType::Xid | SystemType::VectorOid)
    }

    /// Is an array of it a vector?
    pub fn is_vector_element(self) -> bool {
        matches!(self, SystemType::VectorInt2 | SystemType::VectorOid)
    }

    /// Does it stand for a type that each call decides?
    pub fn is_polymorphic(self) -> bool {
        use SystemType as S;
        matches!(
            self,
            S::AnyArray
                | S::AnyElement
                | S::AnyNonArray
                | S::AnyEnum
                | S::AnyCompatible
                | S::AnyCompatibleArray
                | S::AnyCompatibleNonArray
        ) || self.is_any_range()
    }

    /// Whether it stands for a range or a multirange.
    #[must_use]
    pub fn is_any_range(self) -> bool {
        use SystemType as S;
        matches!(self, S::AnyRange | S::AnyMultirange | S::AnyCompatibleRange | S::AnyCompatibleMultirange)
    }

    /// The name of the vector of it.
    pub fn vector_name(self) -> Option<&'static str> {
        match self {
            SystemType::VectorInt2 => Some("int2vector"),
            SystemType::VectorOid => Some("oidvector"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_stand_in_the_order_of_the_types() {
        for (number, facts) in FACTS.iter().enumerate() {
            assert_eq!(facts.ty as usize, number, "{}", facts.name);
        }
    }

    #[test]
    fn names_lead_back() {
        for ty in SystemType::all().filter(|ty| !ty.is_of_extension()) {
            assert_eq!(SystemType::from_name(ty.name()), Some(ty));
        }
        assert_eq!(SystemType::from_name("citext"), None);
        for ty in SystemType::all() {
            let is_of_extension = [ty.pg_oid(), ty.array_oid()].map(SystemType::is_oid_of_extension);
            assert_eq!(is_of_extension, [ty.is_of_extension(); 2], "{ty:?}");
        }
        assert_eq!(SystemType::from_name("smallint"), None);
    }
}
