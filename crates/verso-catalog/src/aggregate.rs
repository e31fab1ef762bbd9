//! Aggregates of users: how the definition of one stands in the body of its row of `pg_proc`.
//!
//! ```text
//! sfunc 16400                 the step: a function of users by its number, a built-in one by its name
//! stype 23                    the type of the state
//! finalfunc avg_end           what makes the result of the last state, if anything does
//! extra                       it takes the arguments' types, too (FINALFUNC_EXTRA)
//! modify w                    what it may do to the state (FINALFUNC_MODIFY), unless it only reads it
//! sspace 128                  how large the state is about
//! combinefunc int4pl          makes one state of two
//! parallel s                  PARALLEL, unless it is UNSAFE
//! msfunc …, minvfunc …, mstype …, mfinalfunc …, mextra, mmodify …, msspace …, minitcond …
//!                             the same for moving frames; in minitcond `\\` and `\n` stand for a backslash and the end of a line
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
    /// What the last function may do to the state.
    pub modify: Modify,
    /// SSPACE: how many bytes the state has about; 0 where nothing is said.
    pub space: i32,
    /// Makes one state of two.
    pub combine: Option<Callee>,
    /// PARALLEL: `u`, `r` or `s`.
    pub parallel: char,
    /// How it is computed over a frame that moves.
    pub moving: Option<MovingDef>,
}

/// What a function that makes the result may do to the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Modify {
    /// It leaves it as it is.
    #[default]
    ReadOnly,
    /// It may be called again, but no step after it.
    Shareable,
    /// Nothing may be done with the state behind it.
    ReadWrite,
}

impl Modify {
    /// As `pg_aggregate` has it.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Modify::ReadOnly => 'r',
            Modify::Shareable => 's',
            Modify::ReadWrite => 'w',
        }
    }

    fn parse(text: &str) -> Option<Modify> {
        [Modify::ReadOnly, Modify::Shareable, Modify::ReadWrite]
            .into_iter()
            .find(|modify| text.chars().eq([modify.letter()]))
    }
}

/// The moving-aggregate implementation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovingDef {
    /// Makes the next state of a state and the arguments of a row that comes into the frame.
    pub step: Callee,
    /// The same of a row that leaves it.
    pub inverse: Callee,
    /// The type of the state, by its number in `pg_type`.
    pub state: Oid,
    /// Makes the result of the last state.
    pub last: Option<Callee>,
    /// Whether that takes NULLs of the arguments' types behind the state.
    pub extra: bool,
    /// What it may do to the state.
    pub modify: Modify,
    /// How many bytes the state has about.
    pub space: i32,
    /// The first state as a text; NULL without it.
    pub initial: Option<Arc<str>>,
}

impl AggregateDef {
    /// The definition that a body holds; none where it is damaged.
    #[must_use]
    pub fn parse(body: &str) -> Option<AggregateDef> {
        let (mut step, mut state, mut last, mut extra) = (None, None, None, false);
        let (mut modify, mut space, mut combine, mut parallel) = (Modify::default(), 0, None, 'u');
        let (mut moving_step, mut inverse, mut moving_state, mut moving_last) = (None, None, None, None);
        let (mut moving_extra, mut moving_modify, mut moving_space) = (false, Modify::default(), 0);
        let mut moving_initial = None;
        let mut rest = body;
        loop {
            let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                "sfunc" => step = Some(Callee::parse(value)),
                "stype" => state = value.parse().ok().map(Oid),
                "finalfunc" => last = Some(Callee::parse(value)),
                "extra" => extra = true,
                "modify" => modify = Modify::parse(value)?,
                "sspace" => space = value.parse().ok()?,
                "combinefunc" => combine = Some(Callee::parse(value)),
                "parallel" => parallel = value.chars().next()?,
                "msfunc" => moving_step = Some(Callee::parse(value)),
                "minvfunc" => inverse = Some(Callee::parse(value)),
                "mstype" => moving_state = value.parse().ok().map(Oid),
                "mfinalfunc" => moving_last = Some(Callee::parse(value)),
                "mextra" => moving_extra = true,
                "mmodify" => moving_modify = Modify::parse(value)?,
                "msspace" => moving_space = value.parse().ok()?,
                "minitcond" => moving_initial = Some(unescaped(value).into()),
                "initcond" | "" => break,
                _ => return None,
            }
            rest = behind;
        }
        let initial = rest.strip_prefix("initcond ").map(Arc::from);
        let moving = match moving_step {
            None => None,
            Some(step) => Some(MovingDef {
                step,
                inverse: inverse?,
                state: moving_state?,
                last: moving_last,
                extra: moving_extra,
                modify: moving_modify,
                space: moving_space,
                initial: moving_initial,
            }),
        };
        Some(AggregateDef {
            step: step?,
            state: state?,
            last,
            extra,
            initial,
            modify,
            space,
            combine,
            parallel,
            moving,
        })
    }

    /// The body.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines = vec![format!("sfunc {}", self.step.text()), format!("stype {}", self.state)];
        let callee = |key: &str, callee: &Option<Callee>| {
            callee.as_ref().map(|callee| format!("{key} {}", callee.text()))
        };
        let modify = |key: &str, modify: Modify| {
            (modify != Modify::default()).then(|| format!("{key} {}", modify.letter()))
        };
        let space = |key: &str, space: i32| (space != 0).then(|| format!("{key} {space}"));
        lines.extend(callee("finalfunc", &self.last));
        lines.extend(self.extra.then(|| "extra".to_owned()));
        lines.extend(modify("modify", self.modify));
        lines.extend(space("sspace", self.space));
        lines.extend(callee("combinefunc", &self.combine));
        lines.extend((self.parallel != 'u').then(|| format!("parallel {}", self.parallel)));
        if let Some(moving) = &self.moving {
            lines.push(format!("msfunc {}", moving.step.text()));
            lines.push(format!("minvfunc {}", moving.inverse.text()));
            lines.push(format!("mstype {}", moving.state));
            lines.extend(callee("mfinalfunc", &moving.last));
            lines.extend(moving.extra.then(|| "mextra".to_owned()));
            lines.extend(modify("mmodify", moving.modify));
            lines.extend(space("msspace", moving.space));
            lines.extend(moving.initial.as_ref().map(|text| format!("minitcond {}", escaped(text))));
        }
        let mut body: String = lines.into_iter().map(|line| line + "\n").collect();
        if let Some(initial) = &self.initial {
            body.push_str(&format!("initcond {initial}"));
        }
        body
    }

    /// The functions of users that it calls.
    pub fn functions(&self) -> impl Iterator<Item = Oid> {
        let moving = self
            .moving
            .iter()
            .flat_map(|moving| [Some(&moving.step), Some(&moving.inverse), moving.last.as_ref()]);
        let plain = [Some(&self.step), self.last.as_ref(), self.combine.as_ref()];
        plain.into_iter().chain(moving).flatten().filter_map(|callee| match callee {
            Callee::User(oid) => Some(*oid),
            Callee::BuiltIn(_) => None,
        })
    }
}

/// A text as one line.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

fn unescaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            (_, Some('n')) => text.push('\n'),
            (_, Some(other)) => text.push(other),
            (c, None) => text.push(c),
        }
    }
    text
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
            modify: Modify::ReadOnly,
            space: 0,
            combine: None,
            parallel: 'u',
            moving: None,
        };
        let whole = AggregateDef {
            step: Callee::User(Oid(16_400)),
            last: Some(Callee::User(Oid(16_401))),
            extra: true,
            initial: Some("a\nsfunc b".into()),
            modify: Modify::Shareable,
            space: 128,
            combine: Some(Callee::BuiltIn("int4pl".into())),
            parallel: 's',
            moving: Some(MovingDef {
                step: Callee::User(Oid(16_402)),
                inverse: Callee::BuiltIn("int4mi".into()),
                state: Oid(23),
                last: Some(Callee::User(Oid(16_403))),
                extra: true,
                modify: Modify::ReadWrite,
                space: 64,
                initial: Some("a\\\nb\\n".into()),
            }),
            ..plain.clone()
        };
        assert_eq!(whole.functions().map(|oid| oid.0).collect::<Vec<_>>(), [16_400, 16_401, 16_402, 16_403]);
        let empty = AggregateDef { initial: Some("".into()), ..plain.clone() };
        for one in [plain, whole, empty] {
            assert_eq!(AggregateDef::parse(&one.text()), Some(one));
        }
        assert_eq!(AggregateDef::parse("sfunc f"), None);
        assert_eq!(AggregateDef::parse("what 1\nsfunc f\nstype 1\n"), None);
    }
}
