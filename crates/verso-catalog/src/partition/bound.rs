//! The bound of a partition: which values of the key its rows have.

use std::cmp::Ordering;
use std::sync::Arc;

use verso_types::{SqlType, TimeStyle, format_text, parse_text};

use super::{KeyValue, key_value};
use crate::error::CatalogError;

/// Which rows a partition has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Those of no other partition.
    Default,
    /// Those with one of these values.
    List(Vec<Datum>),
    /// Those with a key of at least `from`, below `to`.
    Range {
        /// The least key.
        from: Vec<Edge>,
        /// The first key behind it.
        to: Vec<Edge>,
    },
    /// Those whose hash leaves a remainder.
    Hash {
        /// By what the hash is divided.
        modulus: u32,
        /// What it leaves.
        remainder: u32,
    },
}

/// A value in a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datum {
    /// As text; `None` for NULL. Times with a zone stand in UTC.
    pub text: Option<Arc<str>>,
    /// As it is compared.
    pub key: KeyValue,
}

/// One column of an end of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edge {
    /// MINVALUE: below all values.
    Min,
    /// A value.
    At(Datum),
    /// MAXVALUE: above all values.
    Max,
}

/// An upper end of the values that are asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Upper<'k> {
    /// The value.
    pub(super) key: &'k [u8],
    /// It is asked for, too.
    pub(super) is_included: bool,
}

impl Upper<'_> {
    fn allows(self, key: &[u8]) -> bool {
        key < self.key || self.is_included && key == self.key
    }
}

impl Edge {
    /// How it stands to a value.
    pub(super) fn compare(&self, key: &[u8]) -> Ordering {
        match self {
            Edge::Min => Ordering::Less,
            Edge::Max => Ordering::Greater,
            Edge::At(datum) => datum.key.bytes().unwrap_or_default().cmp(key),
        }
    }

    /// How it stands to another.
    fn order(&self, other: &Edge) -> Ordering {
        match (self, other) {
            (Edge::Min, Edge::Min) | (Edge::Max, Edge::Max) => Ordering::Equal,
            (Edge::Min, _) | (_, Edge::Max) => Ordering::Less,
            (_, Edge::Min) | (Edge::Max, _) => Ordering::Greater,
            (Edge::At(one), Edge::At(other)) => one.key.bytes().cmp(&other.key.bytes()),
        }
    }
}

/// How an end of a range stands to a key.
pub(super) fn compare(end: &[Edge], key: &[Vec<u8>]) -> Ordering {
    let parts = end.iter().zip(key).map(|(edge, key)| edge.compare(key));
    parts.into_iter().find(|order| *order != Ordering::Equal).unwrap_or(Ordering::Equal)
}

/// How two ends of ranges stand to each other.
pub fn order(one: &[Edge], other: &[Edge]) -> Ordering {
    for (one, other) in one.iter().zip(other) {
        match one.order(other) {
            // what stands behind MINVALUE and MAXVALUE says nothing
            Ordering::Equal if !matches!(one, Edge::At(_)) => return Ordering::Equal,
            Ordering::Equal => {}
            order => return order,
        }
    }
    Ordering::Equal
}

impl Bound {
    /// The order of partitions.
    pub(super) fn order(&self, other: &Bound) -> Ordering {
        let least = |values: &[Datum]| {
            let keys = values.iter().map(|value| value.key.bytes());
            // NULL is behind all values
            keys.map(|key| (key.is_none(), key.map(<[u8]>::to_vec))).min()
        };
        match (self, other) {
            (Bound::Default, Bound::Default) => Ordering::Equal,
            (Bound::Default, _) => Ordering::Greater,
            (_, Bound::Default) => Ordering::Less,
            (Bound::List(one), Bound::List(other)) => least(one).cmp(&least(other)),
            (Bound::Range { from: one, .. }, Bound::Range { from: other, .. }) => order(one, other),
            (Bound::Hash { modulus, remainder }, Bound::Hash { modulus: m, remainder: r }) => {
                (modulus, remainder).cmp(&(m, r))
            }
            _ => Ordering::Equal,
        }
    }

    /// Whether it is a list with that value.
    pub(super) fn lists(&self, value: &KeyValue) -> bool {
        matches!(self, Bound::List(values) if values.iter().any(|datum| datum.key == *value))
    }

    /// Whether rows of that hash belong to it.
    pub(super) fn has_hash(&self, hash: u64) -> bool {
        matches!(self, Bound::Hash { modulus, remainder }
            if hash.checked_rem(u64::from(*modulus)) == Some(u64::from(*remainder)))
    }

    /// Whether two partitions with these bounds would have rows in common.
    pub fn overlaps(&self, other: &Bound) -> bool {
        match (self, other) {
            (Bound::Default, Bound::Default) => true,
            (Bound::List(one), Bound::List(_)) => one.iter().any(|datum| other.lists(&datum.key)),
            (Bound::Range { from, to }, Bound::Range { from: start, to: end }) => {
                order(from, end) == Ordering::Less && order(start, to) == Ordering::Less
            }
            (Bound::Hash { modulus, remainder }, Bound::Hash { modulus: m, remainder: r }) => {
                let least = *modulus.min(m);
                least > 0 && remainder % least == r % least
            }
            _ => false,
        }
    }

    /// Whether there may be rows whose first column of the key is between these values; the upper one may be excluded.
    pub(super) fn first_within(&self, lower: Option<&[u8]>, upper: Option<Upper<'_>>) -> bool {
        match self {
            Bound::Default | Bound::Hash { .. } => true,
            Bound::List(values) => values.iter().filter_map(|datum| datum.key.bytes()).any(|key| {
                lower.is_none_or(|lower| key >= lower) && upper.is_none_or(|upper| upper.allows(key))
            }),
            Bound::Range { from, to } => {
                let (Some(from), Some(last)) = (from.first(), to.first()) else { return true };
                let above = lower.is_none_or(|lower| match last.compare(lower) {
                    Ordering::Less => false,
                    // with one column the end is not part of the range
                    Ordering::Equal => to.len() > 1,
                    Ordering::Greater => true,
                });
                above
                    && upper.is_none_or(|upper| match from.compare(upper.key) {
                        Ordering::Less => true,
                        Ordering::Equal => upper.is_included,
                        Ordering::Greater => false,
                    })
            }
        }
    }

    /// What stands behind PARTITION OF: as `pg_get_expr` shows `relpartbound`, moments as `style` wants them.
    pub fn text(&self, types: &[SqlType], style: &TimeStyle) -> String {
        let ty = |at: usize| types.get(at).unwrap_or(&SqlType::Text);
        let edges = |edges: &[Edge]| {
            let edge = |(at, edge): (usize, &Edge)| match edge {
                Edge::Min => "MINVALUE".to_string(),
                Edge::Max => "MAXVALUE".to_string(),
                Edge::At(datum) => datum.literal(ty(at), style),
            };
            edges.iter().enumerate().map(edge).collect::<Vec<_>>().join(", ")
        };
        match self {
            Bound::Default => "DEFAULT".to_string(),
            Bound::List(values) => {
                let values: Vec<String> = values.iter().map(|datum| datum.literal(ty(0), style)).collect();
                format!("FOR VALUES IN ({})", values.join(", "))
            }
            Bound::Range { from, to } => format!("FOR VALUES FROM ({}) TO ({})", edges(from), edges(to)),
            Bound::Hash { modulus, remainder } => {
                format!("FOR VALUES WITH (modulus {modulus}, remainder {remainder})")
            }
        }
    }

    /// As the catalog keeps it: the kind, then the values.
    pub(crate) fn stored(&self) -> Vec<Arc<str>> {
        let edge = |edge: &Edge| match edge {
            Edge::Min => Arc::from("min"),
            Edge::Max => Arc::from("max"),
            Edge::At(datum) => datum.stored(),
        };
        let mut words: Vec<Arc<str>> = Vec::new();
        match self {
            Bound::Default => words.push("default".into()),
            Bound::List(values) => {
                words.push("list".into());
                words.extend(values.iter().map(Datum::stored));
            }
            Bound::Range { from, to } => {
                words.push("range".into());
                words.extend(from.iter().map(edge));
                words.extend(to.iter().map(edge));
            }
            Bound::Hash { modulus, remainder } => {
                words.extend(["hash".into(), modulus.to_string().into(), remainder.to_string().into()]);
            }
        }
        words
    }

    /// What was kept so, over key columns of these types.
    pub(crate) fn read(words: &[Arc<str>], types: &[SqlType]) -> Result<Bound, CatalogError> {
        let corrupt = || CatalogError::Corrupt { what: format!("no bound of a partition: {words:?}") };
        let edge = |(word, ty): (&Arc<str>, &SqlType)| match &**word {
            "min" => Ok(Edge::Min),
            "max" => Ok(Edge::Max),
            _ => Datum::read(word, ty).map(Edge::At),
        };
        let (kind, values) = words.split_first().ok_or_else(corrupt)?;
        match (&**kind, values) {
            ("default", []) => Ok(Bound::Default),
            ("list", values) => {
                let ty = types.first().ok_or_else(corrupt)?;
                values.iter().map(|word| Datum::read(word, ty)).collect::<Result<_, _>>().map(Bound::List)
            }
            ("range", values) if values.len() == 2 * types.len() => {
                let (from, to) = values.split_at(types.len());
                Ok(Bound::Range {
                    from: from.iter().zip(types).map(edge).collect::<Result<_, _>>()?,
                    to: to.iter().zip(types).map(edge).collect::<Result<_, _>>()?,
                })
            }
            ("hash", [modulus, remainder]) => Ok(Bound::Hash {
                modulus: modulus.parse().map_err(|_| corrupt())?,
                remainder: remainder.parse().map_err(|_| corrupt())?,
            }),
            _ => Err(corrupt()),
        }
    }
}

impl Datum {
    /// The value with that text, or NULL.
    ///
    /// # Errors
    /// Those of reading it as a value of the type.
    pub fn of_text(text: Option<&str>, ty: &SqlType) -> Result<Datum, verso_types::TypeError> {
        let key = match text {
            None => KeyValue::Null,
            Some(text) => key_value(&parse_text(&ty.erased(), text, &TimeStyle::UTC)?, ty)?,
        };
        Ok(Datum { text: text.map(Arc::from), key })
    }

    fn stored(&self) -> Arc<str> {
        match &self.text {
            Some(text) => format!("={text}").into(),
            None => "null".into(),
        }
    }

    fn read(word: &str, ty: &SqlType) -> Result<Datum, CatalogError> {
        let text = match word {
            "null" => None,
            word => Some(
                word.strip_prefix('=')
                    .ok_or_else(|| CatalogError::Corrupt { what: format!("no value of a bound: {word}") })?,
            ),
        };
        Datum::of_text(text, ty)
            .map_err(|error| CatalogError::Corrupt { what: format!("the bound of a partition: {error}") })
    }

    /// As SQL.
    fn literal(&self, ty: &SqlType, style: &TimeStyle) -> String {
        let Some(text) = &self.text else { return "NULL".to_string() };
        if ty.has_times()
            && let Ok(value) = parse_text(ty, text, &TimeStyle::UTC)
        {
            let mut shown = String::new();
            format_text(&value, ty, style, &mut shown);
            return format!("'{}'", shown.replace('\'', "''"));
        }
        let bare = match ty.erased() {
            SqlType::Int4 => !text.starts_with('-'),
            SqlType::Numeric(_) | SqlType::LongNumeric(_) => {
                text.starts_with(|first: char| first.is_ascii_digit()) && text.contains('.')
            }
            _ => false,
        };
        match &**text {
            "t" if ty.erased() == SqlType::Bool => "true".to_string(),
            "f" if ty.erased() == SqlType::Bool => "false".to_string(),
            text if bare => text.to_string(),
            text => format!("'{}'", text.replace('\'', "''")),
        }
    }
}
