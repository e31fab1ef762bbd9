//! The bounds of a sequence, with PostgreSQL's defaults and checks.

use std::sync::Arc;

use verso_types::SqlType;

use crate::error::CatalogError;

/// Start, step and bounds of a sequence, checked against each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceBounds {
    /// `smallint`, `integer` or `bigint`.
    pub ty: SqlType,
    /// The first value.
    pub start: i64,
    /// The step; negative counts down, never 0.
    pub increment: i64,
    /// The least value.
    pub min: i64,
    /// The greatest value.
    pub max: i64,
    /// Start again at the other end?
    pub cycle: bool,
    /// CACHE, as given: numbers are handed out one by one whatever it says.
    pub cache: i64,
}

/// The clauses of CREATE SEQUENCE that were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SequenceRequest {
    /// AS type; `bigint` if missing.
    pub ty: Option<SqlType>,
    /// START
    pub start: Option<i64>,
    /// INCREMENT
    pub increment: Option<i64>,
    /// MINVALUE; `None` also for NO MINVALUE
    pub min: Option<i64>,
    /// MAXVALUE; `None` also for NO MAXVALUE
    pub max: Option<i64>,
    /// CYCLE
    pub cycle: bool,
    /// CACHE
    pub cache: Option<i64>,
}

impl Default for SequenceBounds {
    /// 1, 2, 3 … in a `bigint`.
    fn default() -> SequenceBounds {
        SequenceBounds {
            ty: SqlType::Int8,
            start: 1,
            increment: 1,
            min: 1,
            max: i64::MAX,
            cycle: false,
            cache: 1,
        }
    }
}

impl SequenceRequest {
    /// Fills in PostgreSQL's defaults and checks the whole.
    ///
    /// # Errors
    /// `InvalidParameter` (22023) with PostgreSQL's words.
    pub fn resolve(&self) -> Result<SequenceBounds, CatalogError> {
        let ty = self.ty.clone().unwrap_or(SqlType::Int8);
        let (least, greatest) = match ty {
            SqlType::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
            SqlType::Int4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
            SqlType::Int8 => (i64::MIN, i64::MAX),
            _ => return invalid("sequence type must be smallint, integer, or bigint".to_string()),
        };
        let increment = self.increment.unwrap_or(1);
        if increment == 0 {
            return invalid("INCREMENT must not be zero".to_string());
        }
        let (default_min, default_max) = if increment > 0 { (1, greatest) } else { (least, -1) };
        let min = self.min.unwrap_or(default_min);
        let max = self.max.unwrap_or(default_max);
        for (word, bound) in [("MAXVALUE", max), ("MINVALUE", min)] {
            if !(least..=greatest).contains(&bound) {
                return invalid(format!("{word} ({bound}) is out of range for sequence data type {ty}"));
            }
        }
        if min >= max {
            return invalid(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})"));
        }
        let start = self.start.unwrap_or(if increment > 0 { min } else { max });
        if start < min {
            return invalid(format!("START value ({start}) cannot be less than MINVALUE ({min})"));
        }
        if start > max {
            return invalid(format!("START value ({start}) cannot be greater than MAXVALUE ({max})"));
        }
        Ok(SequenceBounds {
            ty,
            start,
            increment,
            min,
            max,
            cycle: self.cycle,
            cache: self.cache.unwrap_or(1),
        })
    }
}

/// Schema, table and column.
pub type SequenceOwner = (Arc<str>, Arc<str>, Arc<str>);

/// What ALTER SEQUENCE changes; of what has an inner `Option`, `None` there is the type's own bound, or the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SequenceChange {
    /// AS type
    pub ty: Option<SqlType>,
    /// START
    pub start: Option<i64>,
    /// INCREMENT
    pub increment: Option<i64>,
    /// MINVALUE
    pub min: Option<Option<i64>>,
    /// MAXVALUE
    pub max: Option<Option<i64>>,
    /// CYCLE
    pub cycle: Option<bool>,
    /// CACHE
    pub cache: Option<i64>,
    /// RESTART
    pub restart: Option<Option<i64>>,
    /// OWNED BY
    pub owned_by: Option<Option<SequenceOwner>>,
    /// SET LOGGED, SET UNLOGGED
    pub logged: Option<bool>,
}

impl SequenceChange {
    /// The bounds that a sequence has then, and where it stands: the number, and whether it was handed out.
    ///
    /// # Errors
    /// `InvalidParameter` (22023) with PostgreSQL's words.
    pub fn apply(
        &self,
        old: &SequenceBounds,
        state: (i64, bool),
    ) -> Result<(SequenceBounds, (i64, bool)), CatalogError> {
        let limits = |ty: &SqlType| match ty {
            SqlType::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
            SqlType::Int4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
            _ => (i64::MIN, i64::MAX),
        };
        let ty = self.ty.clone().unwrap_or_else(|| old.ty.clone());
        let increment = self.increment.unwrap_or(old.increment);
        let (before, now) = (limits(&old.ty), limits(&ty));
        // A bound that was the old type's own becomes the new one's.
        let is_other = ty != old.ty;
        let greatest = is_other && self.max.is_none() && old.max == before.1;
        let least = is_other && self.min.is_none() && old.min == before.0;
        let max = self.max.unwrap_or((!greatest).then_some(old.max));
        let min = self.min.unwrap_or((!least).then_some(old.min));
        let request = SequenceRequest {
            ty: Some(ty),
            start: Some(self.start.unwrap_or(old.start)),
            increment: Some(increment),
            min: min.or((increment < 0 || least).then_some(now.0)),
            max: max.or((increment > 0 || greatest).then_some(now.1)),
            cycle: self.cycle.unwrap_or(old.cycle),
            cache: Some(self.cache.unwrap_or(old.cache)),
        };
        let bounds = request.resolve()?;
        let state = match self.restart {
            Some(number) => (number.unwrap_or(bounds.start), false),
            None => state,
        };
        if state.0 < bounds.min {
            let text = format!("RESTART value ({}) cannot be less than MINVALUE ({})", state.0, bounds.min);
            return invalid(text);
        }
        if state.0 > bounds.max {
            let text =
                format!("RESTART value ({}) cannot be greater than MAXVALUE ({})", state.0, bounds.max);
            return invalid(text);
        }
        Ok((bounds, state))
    }
}

fn invalid<T>(message: String) -> Result<T, CatalogError> {
    Err(CatalogError::InvalidParameter { message })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(request: SequenceRequest) -> String {
        request.resolve().expect_err("contradicts itself").to_string()
    }

    #[test]
    fn defaults_depend_on_direction_and_type() {
        assert_eq!(SequenceRequest::default().resolve().unwrap(), SequenceBounds::default());
        let down = SequenceRequest { increment: Some(-2), ..Default::default() }.resolve().unwrap();
        assert_eq!((down.start, down.min, down.max), (-1, i64::MIN, -1));
        let small = SequenceRequest { ty: Some(SqlType::Int2), ..Default::default() }.resolve().unwrap();
        assert_eq!((small.min, small.max), (1, 32_767));
    }

    #[test]
    fn contradictions_are_told_as_postgresql_does() {
        let base = SequenceRequest::default;
        assert_eq!(message(SequenceRequest { increment: Some(0), ..base() }), "INCREMENT must not be zero");
        assert_eq!(
            message(SequenceRequest { min: Some(9), max: Some(9), ..base() }),
            "MINVALUE (9) must be less than MAXVALUE (9)"
        );
        assert_eq!(
            message(SequenceRequest { start: Some(0), ..base() }),
            "START value (0) cannot be less than MINVALUE (1)"
        );
        assert_eq!(
            message(SequenceRequest { start: Some(11), max: Some(10), ..base() }),
            "START value (11) cannot be greater than MAXVALUE (10)"
        );
        assert_eq!(
            message(SequenceRequest { ty: Some(SqlType::Int2), max: Some(40_000), ..base() }),
            "MAXVALUE (40000) is out of range for sequence data type smallint"
        );
        assert_eq!(
            message(SequenceRequest { ty: Some(SqlType::Text), ..base() }),
            "sequence type must be smallint, integer, or bigint"
        );
    }
}
