//! Rights: who may do what with which object.
//!
//! ```text
//! role ─member of─► role ─named in─► item of an object's list ─► rights, and which of them it may hand on
//! ```
//!
//! R1. An object without a list of its own has the default one: its owner may everything, PUBLIC what PostgreSQL lets it.
//! R2. An item is of one grantee and one grantor; a grantor is the owner, or holds what it grants with grant option.
//! R3. Lists are part of the catalog's snapshots, so what is bound under one is bound again after a GRANT or REVOKE.

use std::fmt;

use crate::definition::Oid;

/// A set of rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rights(pub u16);

/// Each right by its bit: PostgreSQL's letter and its name.
const NAMES: [(char, &str); 15] = [
    ('a', "INSERT"),
    ('r', "SELECT"),
    ('w', "UPDATE"),
    ('d', "DELETE"),
    ('D', "TRUNCATE"),
    ('x', "REFERENCES"),
    ('t', "TRIGGER"),
    ('X', "EXECUTE"),
    ('U', "USAGE"),
    ('C', "CREATE"),
    ('T', "TEMPORARY"),
    ('c', "CONNECT"),
    ('m', "MAINTAIN"),
    ('s', "SET"),
    ('A', "ALTER SYSTEM"),
];

#[expect(missing_docs, reason = "the rights have the names of SQL")]
impl Rights {
    pub const NONE: Rights = Rights(0);
    pub const INSERT: Rights = Rights(1);
    pub const SELECT: Rights = Rights(1 << 1);
    pub const UPDATE: Rights = Rights(1 << 2);
    pub const DELETE: Rights = Rights(1 << 3);
    pub const TRUNCATE: Rights = Rights(1 << 4);
    pub const REFERENCES: Rights = Rights(1 << 5);
    pub const TRIGGER: Rights = Rights(1 << 6);
    pub const EXECUTE: Rights = Rights(1 << 7);
    pub const USAGE: Rights = Rights(1 << 8);
    pub const CREATE: Rights = Rights(1 << 9);
    pub const TEMPORARY: Rights = Rights(1 << 10);
    pub const CONNECT: Rights = Rights(1 << 11);
    pub const MAINTAIN: Rights = Rights(1 << 12);
    pub const SET: Rights = Rights(1 << 13);
    pub const ALTER_SYSTEM: Rights = Rights(1 << 14);
    /// Every right there is.
    pub const ALL: Rights = Rights((1 << 15) - 1);

    /// Both.
    #[must_use]
    pub const fn with(self, other: Rights) -> Rights {
        Rights(self.0 | other.0)
    }

    /// What is not among the others.
    #[must_use]
    pub const fn without(self, other: Rights) -> Rights {
        Rights(self.0 & !other.0)
    }

    /// What is in both.
    #[must_use]
    pub const fn among(self, other: Rights) -> Rights {
        Rights(self.0 & other.0)
    }

    /// Are all of the others in it?
    #[must_use]
    pub const fn has(self, other: Rights) -> bool {
        self.0 & other.0 == other.0
    }

    /// Is there none?
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The right of that name, in any case.
    pub fn named(name: &str) -> Option<Rights> {
        if name.eq_ignore_ascii_case("temp") {
            return Some(Rights::TEMPORARY);
        }
        NAMES.iter().position(|(_, known)| known.eq_ignore_ascii_case(name)).map(|bit| Rights(1 << bit))
    }

    /// The right of that letter.
    fn lettered(letter: char) -> Option<Rights> {
        NAMES.iter().position(|(known, _)| *known == letter).map(|bit| Rights(1 << bit))
    }

    /// Each of them by itself: the right, its letter, its name.
    pub fn each(self) -> impl Iterator<Item = (Rights, char, &'static str)> {
        let bits = NAMES.iter().enumerate().map(|(bit, (letter, name))| (Rights(1 << bit), *letter, *name));
        bits.filter(move |(right, ..)| self.has(*right))
    }
}

/// Kinds of objects that have rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RightsOf {
    /// Tables and views.
    Table,
    /// Sequences.
    Sequence,
    /// Columns.
    Column,
    /// Schemas.
    Schema,
    /// Functions and procedures.
    Function,
    /// Types.
    Type,
    /// Languages.
    Language,
    /// The database.
    Database,
    /// Settings.
    Parameter,
    /// Tablespaces.
    Tablespace,
}

impl RightsOf {
    /// All rights that there are on one.
    pub const fn all(self) -> Rights {
        use Rights as R;
        match self {
            RightsOf::Table => R::INSERT
                .with(R::SELECT)
                .with(R::UPDATE)
                .with(R::DELETE)
                .with(R::TRUNCATE)
                .with(R::REFERENCES)
                .with(R::TRIGGER)
                .with(R::MAINTAIN),
            RightsOf::Sequence => R::USAGE.with(R::SELECT).with(R::UPDATE),
            RightsOf::Column => R::INSERT.with(R::SELECT).with(R::UPDATE).with(R::REFERENCES),
            RightsOf::Schema => R::USAGE.with(R::CREATE),
            RightsOf::Function => R::EXECUTE,
            RightsOf::Type | RightsOf::Language => R::USAGE,
            RightsOf::Database => R::CREATE.with(R::TEMPORARY).with(R::CONNECT),
            RightsOf::Parameter => R::SET.with(R::ALTER_SYSTEM),
            RightsOf::Tablespace => R::CREATE,
        }
    }

    /// What PUBLIC has as long as nothing was said.
    const fn of_public(self) -> Rights {
        match self {
            RightsOf::Table
            | RightsOf::Sequence
            | RightsOf::Column
            | RightsOf::Schema
            | RightsOf::Parameter
            | RightsOf::Tablespace => Rights::NONE,
            RightsOf::Function => Rights::EXECUTE,
            RightsOf::Type | RightsOf::Language => Rights::USAGE,
            RightsOf::Database => Rights::TEMPORARY.with(Rights::CONNECT),
        }
    }

    /// `pg_default_acl.defaclobjtype`, and the first argument of `acldefault`.
    pub const fn letter(self) -> char {
        match self {
            RightsOf::Table => 'r',
            RightsOf::Sequence => 'S',
            RightsOf::Column => 'c',
            RightsOf::Schema => 'n',
            RightsOf::Function => 'f',
            RightsOf::Type => 'T',
            RightsOf::Language => 'l',
            RightsOf::Database => 'd',
            RightsOf::Parameter => 'p',
            RightsOf::Tablespace => 't',
        }
    }

    /// The kind of that letter.
    pub fn of_letter(letter: char) -> Option<RightsOf> {
        use RightsOf as K;
        let all =
            [K::Table, K::Sequence, K::Column, K::Schema, K::Function, K::Type, K::Language, K::Database];
        all.into_iter().find(|kind| kind.letter() == letter || letter == 's' && *kind == K::Sequence)
    }

    /// What messages call one.
    pub const fn word(self) -> &'static str {
        match self {
            RightsOf::Table => "table",
            RightsOf::Sequence => "sequence",
            RightsOf::Column => "column",
            RightsOf::Schema => "schema",
            RightsOf::Function => "function",
            RightsOf::Type => "type",
            RightsOf::Language => "language",
            RightsOf::Database => "database",
            RightsOf::Parameter => "parameter",
            RightsOf::Tablespace => "tablespace",
        }
    }
}

/// Something that has rights, and perhaps an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Object {
    /// A table, view or sequence; an index goes with its table.
    Relation(Oid),
    /// A column, by its number.
    Column(Oid, u16),
    /// A schema.
    Schema(Oid),
    /// A function.
    Function(Oid),
    /// A type.
    Type(Oid),
    /// A language.
    Language(Oid),
    /// The one database.
    Database,
    /// A setting, by a number that its name makes.
    Parameter(Oid),
    /// A tablespace.
    Tablespace(Oid),
}

impl Object {
    /// System table, object and column.
    pub fn key(self) -> (Oid, Oid, i32) {
        match self {
            Object::Relation(oid) => (Oid(1259), oid, 0),
            Object::Column(oid, column) => (Oid(1259), oid, i32::from(column)),
            Object::Schema(oid) => (Oid(2615), oid, 0),
            Object::Function(oid) => (Oid(1255), oid, 0),
            Object::Type(oid) => (Oid(1247), oid, 0),
            Object::Language(oid) => (Oid(2612), oid, 0),
            Object::Database => (Oid(1262), DATABASE_OID, 0),
            Object::Parameter(oid) => (Oid(6243), oid, 0),
            Object::Tablespace(oid) => (Oid(1213), oid, 0),
        }
    }

    /// What a key stands for.
    pub fn of_key((class, oid, column): (Oid, Oid, i32)) -> Option<Object> {
        Some(match (class.0, column) {
            (1259, 0) => Object::Relation(oid),
            (1259, column) => Object::Column(oid, u16::try_from(column).ok()?),
            (2615, _) => Object::Schema(oid),
            (1255, _) => Object::Function(oid),
            (1247, _) => Object::Type(oid),
            (2612, _) => Object::Language(oid),
            (1262, _) => Object::Database,
            (6243, _) => Object::Parameter(oid),
            (1213, _) => Object::Tablespace(oid),
            _ => return None,
        })
    }
}

/// The number of PL/pgSQL in lists of rights: those of earlier releases have it, whatever number `pg_language` shows.
pub const PLPGSQL: Oid = Oid(13_500);
/// The number of PL/pgSQL in `pg_language`.
const PLPGSQL_SHOWN: Oid = Oid(13_498);

/// The number in lists of rights of a language that `pg_language` shows.
#[must_use]
pub fn language_in_lists(shown: Oid) -> Oid {
    if shown == PLPGSQL_SHOWN { PLPGSQL } else { shown }
}

/// The number of the one database.
pub const DATABASE_OID: Oid = Oid(5);
/// Everybody.
pub const PUBLIC_ROLE: Oid = Oid(0);

/// What one role was granted by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AclItem {
    /// Who may; [`PUBLIC_ROLE`] is everybody.
    pub grantee: Oid,
    /// Who said so.
    pub grantor: Oid,
    /// What.
    pub rights: Rights,
    /// What of it may be handed on.
    pub grantable: Rights,
}

/// The rights on an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acl(pub Vec<AclItem>);

/// Others have been granted what is to be taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependent;

impl Acl {
    /// The rights on something for which nothing was said (R1).
    pub fn default_of(kind: RightsOf, owner: Oid) -> Acl {
        let mut items = Vec::new();
        let public = kind.of_public();
        if !public.is_empty() {
            let grantee = PUBLIC_ROLE;
            items.push(AclItem { grantee, grantor: owner, rights: public, grantable: Rights::NONE });
        }
        if kind != RightsOf::Column {
            let rights = kind.all();
            items.push(AclItem { grantee: owner, grantor: owner, rights, grantable: Rights::NONE });
        }
        Acl(items)
    }

    /// Adds rights, which may be handed on if `option`.
    pub fn grant(&mut self, grantee: Oid, grantor: Oid, rights: Rights, option: bool) {
        // An item without a right would name roles for nothing.
        if rights.is_empty() {
            return;
        }
        let grantable = if option { rights } else { Rights::NONE };
        let same = |item: &&mut AclItem| item.grantee == grantee && item.grantor == grantor;
        match self.0.iter_mut().find(same) {
            Some(item) => {
                item.rights = item.rights.with(rights);
                item.grantable = item.grantable.with(grantable);
            }
            None => self.0.push(AclItem { grantee, grantor, rights, grantable }),
        }
    }

    /// Takes rights away, or only the option to hand them on; with `cascade` also what was handed on.
    ///
    /// # Errors
    /// [`Dependent`] where something was and `cascade` is not said.
    pub fn revoke(
        &mut self,
        grantee: Oid,
        grantor: Oid,
        rights: Rights,
        option_only: bool,
        owner: Oid,
        cascade: bool,
    ) -> Result<(), Dependent> {
        // As earlier versions have left them.
        self.0.retain(|item| !item.rights.is_empty());
        let Some(item) = self.0.iter_mut().find(|item| item.grantee == grantee && item.grantor == grantor)
        else {
            return Ok(());
        };
        let lost = item.grantable.among(rights);
        item.grantable = item.grantable.without(rights);
        if !option_only {
            item.rights = item.rights.without(rights);
        }
        self.0.retain(|item| !item.rights.is_empty());
        self.lose_option(grantee, lost, owner, cascade)
    }

    /// What a role that may no longer hand on rights has handed on goes, too.
    fn lose_option(
        &mut self,
        grantor: Oid,
        lost: Rights,
        owner: Oid,
        cascade: bool,
    ) -> Result<(), Dependent> {
        if grantor == owner || grantor == PUBLIC_ROLE {
            return Ok(());
        }
        let still = self.grantable_by(grantor);
        let lost = lost.without(still);
        let handed_on: Vec<AclItem> = self
            .0
            .iter()
            .filter(|item| item.grantor == grantor && !item.rights.among(lost).is_empty())
            .copied()
            .collect();
        if !handed_on.is_empty() && !cascade {
            return Err(Dependent);
        }
        handed_on
            .into_iter()
            .try_for_each(|item| self.revoke(item.grantee, grantor, lost, false, owner, cascade))
    }

    /// What a role by itself may hand on.
    pub fn grantable_by(&self, role: Oid) -> Rights {
        let own = self.0.iter().filter(|item| item.grantee == role);
        own.fold(Rights::NONE, |all, item| all.with(item.grantable))
    }

    /// The rights of whoever `counts` as a grantee.
    pub fn rights(&self, counts: impl Fn(Oid) -> bool) -> Rights {
        let counted = self.0.iter().filter(|item| item.grantee == PUBLIC_ROLE || counts(item.grantee));
        counted.fold(Rights::NONE, |all, item| all.with(item.rights))
    }

    /// What of them may be handed on.
    pub fn grantable(&self, counts: impl Fn(Oid) -> bool) -> Rights {
        let counted = self.0.iter().filter(|item| item.grantee != PUBLIC_ROLE && counts(item.grantee));
        counted.fold(Rights::NONE, |all, item| all.with(item.grantable))
    }

    /// The same with another owner in place of the old one.
    #[must_use]
    pub fn with_owner(&self, old: Oid, new: Oid) -> Acl {
        let other = |oid: Oid| if oid == old { new } else { oid };
        let mut acl = Acl::default();
        for item in &self.0 {
            let (grantee, grantor) = (other(item.grantee), other(item.grantor));
            acl.grant(grantee, grantor, item.rights, false);
            if !item.grantable.is_empty() {
                acl.grant(grantee, grantor, item.grantable, true);
            }
        }
        acl
    }

    /// Whether a role is named in it.
    pub fn names(&self, role: Oid) -> bool {
        self.0.iter().any(|item| item.grantee == role || item.grantor == role)
    }

    /// The roles that it names.
    pub(crate) fn roles(&self) -> impl Iterator<Item = Oid> {
        self.0.iter().flat_map(|item| [item.grantee, item.grantor])
    }

    /// The items as the catalog keeps them: with numbers of roles.
    pub(crate) fn texts(&self) -> Vec<std::sync::Arc<str>> {
        let number = |oid: Oid| if oid == PUBLIC_ROLE { String::new() } else { oid.to_string() };
        self.0.iter().map(|item| item.shown(number).into()).collect()
    }

    /// What the catalog keeps; none if that is not one.
    pub(crate) fn of_texts(texts: &[std::sync::Arc<str>]) -> Option<Acl> {
        let number = |name: &str| match name {
            "" => Some(PUBLIC_ROLE),
            number => number.parse().ok().map(Oid),
        };
        texts.iter().map(|text| AclItem::read(text, number)).collect::<Option<Vec<_>>>().map(Acl)
    }
}

impl AclItem {
    /// `grantee=arw*d/grantor`.
    pub fn shown(&self, name: impl Fn(Oid) -> String) -> String {
        let mut text = name(self.grantee);
        text.push('=');
        for (right, letter, _) in self.rights.each() {
            text.push(letter);
            if self.grantable.has(right) {
                text.push('*');
            }
        }
        text.push('/');
        text.push_str(&name(self.grantor));
        text
    }

    /// The item that such a text stands for.
    pub fn read(text: &str, number: impl Fn(&str) -> Option<Oid>) -> Option<AclItem> {
        let (grantee, rest) = text.split_once('=')?;
        let (letters, grantor) = rest.split_once('/')?;
        let (mut rights, mut grantable, mut last) = (Rights::NONE, Rights::NONE, Rights::NONE);
        for letter in letters.chars() {
            match letter {
                '*' => grantable = grantable.with(last),
                letter => {
                    last = Rights::lettered(letter)?;
                    rights = rights.with(last);
                }
            }
        }
        Some(AclItem { grantee: number(grantee)?, grantor: number(grantor)?, rights, grantable })
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.each().map(|(_, _, name)| name).collect();
        out.write_str(&names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Oid = Oid(10);
    const ANN: Oid = Oid(20_000);
    const BOB: Oid = Oid(20_001);

    #[test]
    fn lists_are_kept_as_texts() {
        let mut acl = Acl::default_of(RightsOf::Table, OWNER);
        acl.grant(ANN, OWNER, Rights::SELECT.with(Rights::INSERT), false);
        acl.grant(ANN, OWNER, Rights::SELECT, true);
        let texts = acl.texts();
        assert_eq!(&*texts[0], "10=arwdDxtm/10");
        assert_eq!(&*texts[1], "20000=ar*/10");
        assert_eq!(Acl::of_texts(&texts), Some(acl));
        assert_eq!(Acl::of_texts(&["10=Q/10".into()]), None);
    }

    #[test]
    fn what_was_handed_on_goes_with_the_option() {
        let mut acl = Acl::default_of(RightsOf::Table, OWNER);
        acl.grant(ANN, OWNER, Rights::SELECT, true);
        acl.grant(BOB, ANN, Rights::SELECT, false);
        assert_eq!(acl.clone().revoke(ANN, OWNER, Rights::SELECT, false, OWNER, false), Err(Dependent));
        acl.revoke(ANN, OWNER, Rights::SELECT, false, OWNER, true).expect("cascade takes it along");
        assert!(acl.rights(|role| role == ANN || role == BOB).is_empty());
        assert_eq!(acl, Acl::default_of(RightsOf::Table, OWNER));
    }

    #[test]
    fn a_new_owner_takes_the_place_of_the_old_one() {
        let mut acl = Acl::default_of(RightsOf::Table, OWNER);
        acl.grant(ANN, OWNER, Rights::SELECT, false);
        let acl = acl.with_owner(OWNER, ANN);
        assert_eq!(acl.0.len(), 1);
        assert_eq!((acl.0[0].grantor, acl.0[0].rights), (ANN, RightsOf::Table.all()));
    }
}
