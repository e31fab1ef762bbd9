//! Operator classes: how a column of an index is taken apart, or ordered.

use verso_types::{KeyType, SqlType, SystemType};

/// An operator class that says more than the type of its column does. The numbers stand on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum KeyClass {
    /// The order that the type has by itself.
    #[default]
    Ordered = 0,
    /// `text_pattern_ops`: the order of the bytes, which texts have anyhow.
    TextPattern = 1,
    /// `varchar_pattern_ops`, the same.
    VarcharPattern = 2,
    /// `bpchar_pattern_ops`, the same.
    BpcharPattern = 3,
    /// `jsonb_ops` of gin: keys and scalars.
    JsonbKeys = 4,
    /// `jsonb_path_ops`: scalars with the way to them.
    JsonbPaths = 5,
    /// `array_ops` of gin: elements.
    Elements = 6,
    /// `gin_trgm_ops`: trigrams.
    Trigrams = 7,
    /// `tsvector_ops` of gin: lexemes.
    Lexemes = 8,
    /// `gin_hstore_ops`: keys of hstore, alone and with their values.
    Pairs = 9,
}

impl KeyClass {
    /// All of them.
    pub const ALL: [KeyClass; 10] = [
        KeyClass::Ordered,
        KeyClass::TextPattern,
        KeyClass::VarcharPattern,
        KeyClass::BpcharPattern,
        KeyClass::JsonbKeys,
        KeyClass::JsonbPaths,
        KeyClass::Elements,
        KeyClass::Trigrams,
        KeyClass::Lexemes,
        KeyClass::Pairs,
    ];

    /// The class with this number on disk.
    pub(crate) fn from_code(code: u8) -> Option<KeyClass> {
        KeyClass::ALL.get(usize::from(code)).copied()
    }

    /// Is it one of inverted indexes?
    #[must_use]
    pub fn is_inverted(self) -> bool {
        self as u8 >= KeyClass::JsonbKeys as u8
    }

    /// Its name in SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            KeyClass::Ordered => "",
            KeyClass::TextPattern => "text_pattern_ops",
            KeyClass::VarcharPattern => "varchar_pattern_ops",
            KeyClass::BpcharPattern => "bpchar_pattern_ops",
            KeyClass::JsonbKeys => "jsonb_ops",
            KeyClass::JsonbPaths => "jsonb_path_ops",
            KeyClass::Elements => "array_ops",
            KeyClass::Trigrams => "gin_trgm_ops",
            KeyClass::Lexemes => "tsvector_ops",
            KeyClass::Pairs => "gin_hstore_ops",
        }
    }

    /// Its name behind a blank, where it is none that goes without saying.
    #[must_use]
    pub fn suffix(self) -> String {
        match self {
            KeyClass::Ordered
            | KeyClass::JsonbKeys
            | KeyClass::Elements
            | KeyClass::Lexemes
            | KeyClass::Pairs => String::new(),
            class => format!(" {}", class.name()),
        }
    }

    /// Its row in `pg_opclass`; `None` for the one that the type has by itself.
    #[must_use]
    pub fn oid(self) -> Option<i64> {
        Some(match self {
            KeyClass::Ordered => return None,
            KeyClass::TextPattern => 4217,
            KeyClass::VarcharPattern => 4218,
            KeyClass::BpcharPattern => 4219,
            KeyClass::JsonbKeys => 10090,
            KeyClass::JsonbPaths => 10091,
            KeyClass::Elements => 10064,
            KeyClass::Trigrams => 9990,
            KeyClass::Lexemes => 10073,
            KeyClass::Pairs => 9988,
        })
    }

    /// The class of inverted indexes with that name; without a name the one that a type has by itself.
    #[must_use]
    pub fn inverted(name: Option<&str>, ty: &SqlType) -> Option<KeyClass> {
        match (name, ty.plain()) {
            (Some(name), _) => {
                KeyClass::ALL.into_iter().find(|class| class.is_inverted() && class.name() == name)
            }
            (None, SqlType::Jsonb) => Some(KeyClass::JsonbKeys),
            (None, SqlType::Array(_)) => Some(KeyClass::Elements),
            (None, SqlType::System(SystemType::TsVector)) => Some(KeyClass::Lexemes),
            (None, SqlType::System(SystemType::Hstore)) => Some(KeyClass::Pairs),
            _ => None,
        }
    }

    /// How values of a type make keys; `None` where the class does not take them.
    #[must_use]
    pub fn key_type(self, ty: &SqlType) -> Option<KeyType> {
        let ty = ty.plain();
        match self {
            KeyClass::Ordered => KeyType::of(ty),
            KeyClass::TextPattern | KeyClass::VarcharPattern | KeyClass::BpcharPattern => KeyType::of(ty),
            KeyClass::JsonbKeys => matches!(ty, SqlType::Jsonb).then_some(KeyType::JsonbKeys),
            KeyClass::JsonbPaths => matches!(ty, SqlType::Jsonb).then_some(KeyType::JsonbPaths),
            KeyClass::Elements => match ty {
                SqlType::Array(element) => KeyType::of(element).map(|_| KeyType::Elements),
                _ => None,
            },
            KeyClass::Trigrams => {
                matches!(ty, SqlType::Text | SqlType::Varchar(_)).then_some(KeyType::Trigrams)
            }
            KeyClass::Lexemes => {
                matches!(ty, SqlType::System(SystemType::TsVector)).then_some(KeyType::Lexemes)
            }
            KeyClass::Pairs => matches!(ty, SqlType::System(SystemType::Hstore)).then_some(KeyType::Pairs),
        }
    }
}
