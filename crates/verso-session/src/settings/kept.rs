//! Tables of settings that are only kept and shown: those that change nothing ([`super::accepted`]) and those that nobody changes
//! ([`super::fixed`]).

/// A setting: its name, what it is as long as nobody sets it, and what it says.
pub(crate) type Kept = (&'static str, &'static str, &'static str);

/// The value of a setting of a table; none if there is none of that name.
pub(crate) fn value_of(table: &[Kept], name: &str) -> Option<&'static str> {
    table.iter().find(|(known, ..)| *known == name).map(|(_, value, _)| *value)
}

/// The names of a table, and what each says.
pub(crate) fn described(table: &'static [Kept]) -> impl Iterator<Item = (&'static str, &'static str)> {
    table.iter().map(|(name, _, about)| (*name, *about))
}
