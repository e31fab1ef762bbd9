//! The names of built-in functions' parameters, and the defaults of those that need not be given, as PostgreSQL has them.
//!
//! `verso-catalog/data/generate.sh` writes the file. Only functions all of whose parameters have names are in it.

use std::collections::HashMap;
use std::sync::OnceLock;

/// The parameters of one form of a function.
#[derive(Debug)]
pub struct Parameters {
    /// The names, in order, each with the SQL text of its default.
    pub list: Vec<(&'static str, Option<&'static str>)>,
}

/// The same lines for functions of extensions that are built in.
const OF_EXTENSIONS: &str = "pg_stat_statements_reset\tuserid,dbid,queryid,minmax_only\t0|0|0|false";

/// The forms of the built-in functions of this name, those with the fewest parameters first.
#[must_use]
pub fn parameters(function: &str) -> &'static [Parameters] {
    static INDEX: OnceLock<HashMap<&'static str, Vec<Parameters>>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let mut index: HashMap<&'static str, Vec<Parameters>> = HashMap::new();
        for line in include_str!("../../data/parameters.tsv").lines().chain(OF_EXTENSIONS.lines()) {
            let mut fields = line.split('\t');
            let (Some(name), Some(names), Some(defaults)) = (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let defaults = defaults.split('|').map(|text| Some(text).filter(|text| !text.is_empty()));
            let list = names.split(',').zip(defaults).collect();
            index.entry(name).or_default().push(Parameters { list });
        }
        for forms in index.values_mut() {
            forms.sort_by_key(|form| form.list.len());
        }
        index
    });
    index.get(function).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod unit_tests {
    use super::parameters;

    #[test]
    fn forms_and_defaults() {
        let [set] = parameters("jsonb_set") else { panic!("one form") };
        assert_eq!(set.list.len(), 4);
        assert_eq!(set.list[0], ("jsonb_in", None));
        assert_eq!(set.list[3], ("create_if_missing", Some("true")));
        assert_eq!(parameters("regexp_substr").len(), 5);
        assert_eq!(parameters("regexp_substr")[4].list[5].0, "subexpr");
        assert!(parameters("upper").is_empty());
    }
}
