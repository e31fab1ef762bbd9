//! What a statement is apart from its constants.

use std::ops::Range;

/// Tells statements apart that differ in more than constants, and knows where those stand.
///
/// Two texts have the same number where their words, names, operators and parameters are the same, whatever their constants, blanks,
/// comments and cases. It is the same on every machine, and 0 for what was never a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// The number.
    pub id: i64,
    /// Of EXPLAIN: the number of what it explains.
    pub explained: Option<i64>,
    /// Where the statement stands in its script, in bytes.
    pub(crate) place: Range<u32>,
    /// Its constants in order.
    pub(crate) constants: Vec<Constant>,
    /// The highest parameter that stands in no list.
    pub(crate) parameters: u32,
}

/// A constant, or a list of such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Constant {
    /// In bytes of the script.
    pub start: u32,
    pub end: u32,
    /// Several with commas between.
    pub is_list: bool,
}

impl Fingerprint {
    /// The statement with parameters in the place of its constants, numbered behind those that it has: `a = $1`, `a IN ($2 /*, ... */)`;
    /// `script` is the text that it was parsed from. Not much more than `most` bytes of it are told.
    #[must_use]
    pub fn normalized(&self, script: &str, most: usize) -> String {
        let slice = |from: u32, to: u32| script.get(from as usize..to as usize).unwrap_or_default();
        let mut out = String::new();
        let mut copied = self.place.start;
        for (constant, number) in self.constants.iter().zip(self.parameters + 1..) {
            if out.len() > most {
                break;
            }
            out.push_str(slice(copied, constant.start));
            out.push('$');
            out.push_str(&number.to_string());
            if constant.is_list {
                out.push_str(" /*, ... */");
            }
            copied = constant.end;
        }
        out.push_str(slice(copied, self.place.end));
        if out.len() > most {
            let end = (0..=most).rev().find(|end| out.is_char_boundary(*end)).unwrap_or(0);
            out.truncate(end);
        }
        out
    }
}
