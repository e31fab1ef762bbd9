//! Aggregates of users: how the definition of one stands in the body of its row of `pg_proc`.
//!
//! ```text
//! sfunc 16400                 the step: a function of users by its number, a built-in one by its name
//! stype 23                    the type of the state
//! finalfunc avg_end           what makes the result of the last state, if anything does
//! extra                       it takes the arguments' types, too (FINALFUNC_EXTRA)
//! initcond 0                  the first state as a text, to the end
//! ```

use std::sync::Arc;

use crate::definition::Oid;

/// A function that an aggregate calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A built-in one of this name; its arguments tell which.
    BuiltIn(Arc<str>),
    /// One of users.
    User(Oid),
}

impl Callee {
    pub(crate) fn parse(text: &str) -> Callee {
        text.parse().map_or_else(|_| Callee::BuiltIn(text.into()), |number| Callee::User(Oid(number)))
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Callee::BuiltIn(name) => name.to_string(),
            Callee::User(oid) => oid.to_string(),
        }
    }
}

/// What an aggregate computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AggregateDef {
    /// Makes the next state of a state and the arguments.
    pub step: Callee,
    /// The type of the state, by its number in `pg_type`.
    pub state: Oid,
    /// Makes the result of the last state; without it the state is the result.
    pub last: Option<Callee>,
    /// Whether that takes NULLs of the arguments' types behind the state.
    pub extra: bool,
    /// The first state as a text; NULL without it.
    pub initial: Option<Arc<str>>,
}

impl AggregateDef {
    /// The definition that a body holds; none where it is damaged.
    #[must_use]
    pub fn parse(body: &str) -> Option<AggregateDef> {
        let (mut step, mut state, mut last, mut extra) = (None, None, None, false);
        let mut rest = body;
        loop {
            let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                "sfunc" => step = Some(Callee::parse(value)),
                "stype" => state = value.parse().ok().map(Oid),
                "finalfunc" => last = Some(Callee::parse(value)),
                "extra" => extra = true,
                "initcond" | "" => break,
                _ => return None,
            }
            rest = behind;
        }
        let initial = rest.strip_prefix("initcond ").map(Arc::from);
        Some(AggregateDef { step: step?, state: state?, last, extra, initial })
    }

    /// The body.
    #[must_use]
    pub fn text(&self) -> String {
        let mut body = format!("sfunc {}\nstype {}\n", self.step.text(), self.state);
        if let Some(last) = &self.last {
            body.push_str(&format!("finalfunc {}\n", last.text()));
        }
        if self.extra {
            body.push_str("extra\n");
        }
        if let Some(initial) = &self.initial {
            body.push_str(&format!("initcond {initial}"));
        }
        body
    }

    /// The functions of users that it calls.
    pub fn functions(&self) -> impl Iterator<Item = Oid> {
        [Some(&self.step), self.last.as_ref()].into_iter().flatten().filter_map(|callee| match callee {
            Callee::User(oid) => Some(*oid),
            Callee::BuiltIn(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_give_definitions_back() {
        let plain = AggregateDef {
            step: Callee::BuiltIn("int4pl".into()),
            state: Oid(23),
            last: None,
            extra: false,
            initial: None,
        };
        let whole = AggregateDef {
            step: Callee::User(Oid(16_400)),
            last: Some(Callee::User(Oid(16_401))),
            extra: true,
            initial: Some("a\nsfunc b".into()),
            ..plain.clone()
        };
        let empty = AggregateDef { initial: Some("".into()), ..plain.clone() };
        for one in [plain, whole, empty] {
            assert_eq!(AggregateDef::parse(&one.text()), Some(one));
        }
        assert_eq!(AggregateDef::parse("sfunc f"), None);
        assert_eq!(AggregateDef::parse("what 1\nsfunc f\nstype 1\n"), None);
    }
}
