//! PostgreSQL's key words and what each may be: `src/include/parser/kwlist.h`.

use std::cell::Cell;

/// What a word may be without quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Any name.
    Plain,
    /// May be the name of a column or table, not of a function or type.
    Column,
    /// May be the name of a function or type, not of a column or table.
    Function,
    /// Must be quoted to be a name.
    Reserved,
}

const COLUMN: &[&str] = &[
    "between",
    "bigint",
    "bit",
    "boolean",
    "char",
    "character",
    "coalesce",
    "dec",
    "decimal",
    "exists",
    "extract",
    "float",
    "greatest",
    "grouping",
    "inout",
    "int",
    "integer",
    "interval",
    "json",
    "json_array",
    "json_arrayagg",
    "json_exists",
    "json_object",
    "json_objectagg",
    "json_query",
    "json_scalar",
    "json_serialize",
    "json_table",
    "json_value",
    "least",
    "merge_action",
    "national",
    "nchar",
    "none",
    "normalize",
    "nullif",
    "numeric",
    "out",
    "overlay",
    "position",
    "precision",
    "real",
    "row",
    "setof",
    "smallint",
    "substring",
    "time",
    "timestamp",
    "treat",
    "trim",
    "values",
    "varchar",
    "xmlattributes",
    "xmlconcat",
    "xmlelement",
    "xmlexists",
    "xmlforest",
    "xmlnamespaces",
    "xmlparse",
    "xmlpi",
    "xmlroot",
    "xmlserialize",
    "xmltable",
];

const FUNCTION: &[&str] = &[
    "authorization",
    "binary",
    "collation",
    "concurrently",
    "cross",
    "current_schema",
    "freeze",
    "full",
    "ilike",
    "inner",
    "is",
    "isnull",
    "join",
    "left",
    "like",
    "natural",
    "notnull",
    "outer",
    "overlaps",
    "right",
    "similar",
    "tablesample",
    "verbose",
];

const RESERVED: &[&str] = &[
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "both",
    "case",
    "cast",
    "check",
    "collate",
    "column",
    "constraint",
    "create",
    "current_catalog",
    "current_date",
    "current_role",
    "current_time",
    "current_timestamp",
    "current_user",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "false",
    "fetch",
    "for",
    "foreign",
    "from",
    "grant",
    "group",
    "having",
    "in",
    "initially",
    "intersect",
    "into",
    "lateral",
    "leading",
    "limit",
    "localtime",
    "localtimestamp",
    "not",
    "null",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "placing",
    "primary",
    "references",
    "returning",
    "select",
    "session_user",
    "some",
    "symmetric",
    "system_user",
    "table",
    "then",
    "to",
    "trailing",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "variadic",
    "when",
    "where",
    "window",
    "with",
];

/// Words that name an output column only behind AS.
const NEEDS_AS: &[&str] = &[
    "array",
    "as",
    "char",
    "character",
    "create",
    "day",
    "except",
    "fetch",
    "filter",
    "for",
    "from",
    "grant",
    "group",
    "having",
    "hour",
    "intersect",
    "into",
    "isnull",
    "limit",
    "minute",
    "month",
    "notnull",
    "offset",
    "on",
    "order",
    "over",
    "overlaps",
    "precision",
    "returning",
    "second",
    "to",
    "union",
    "varying",
    "where",
    "window",
    "with",
    "within",
    "without",
    "year",
];

/// The longest word of the lists, in bytes.
const LONGEST: usize = 17;

thread_local! {
    static QUOTE_ALL: Cell<bool> = const { Cell::new(false) };
}

/// From now on the thread writes all names in quotes, or those that need them: as its session wants it, which says so whenever it lends
/// the thread its names ([`lend`](crate::names::lend)).
pub fn quote_all(all: bool) {
    QUOTE_ALL.set(all);
}

/// A name as SQL text: in double quotes where it needs them, or the session wants them.
#[must_use]
pub fn quoted(name: &str) -> String {
    let plain = name
        .chars()
        .enumerate()
        .all(|(i, c)| c.is_ascii_lowercase() || c == '_' || (i > 0 && c.is_ascii_digit()));
    if plain && !name.is_empty() && class_of(name) == Class::Plain && !QUOTE_ALL.get() {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// The class of a word, in any case. Words that are key words and may be any name are told from others nowhere, so they
/// are not listed.
pub fn class_of(word: &str) -> Class {
    let mut buffer = [0; LONGEST];
    let Some(lower) = lowered(word, &mut buffer) else { return Class::Plain };
    let is_in = |list: &[&str]| list.binary_search(&lower).is_ok();
    if is_in(RESERVED) {
        Class::Reserved
    } else if is_in(COLUMN) {
        Class::Column
    } else if is_in(FUNCTION) {
        Class::Function
    } else {
        Class::Plain
    }
}

/// Whether a word may name an output column without AS.
pub fn is_bare_label(word: &str) -> bool {
    let mut buffer = [0; LONGEST];
    lowered(word, &mut buffer).is_none_or(|lower| NEEDS_AS.binary_search(&lower).is_err())
}

/// A word of ASCII letters in lower case; none where it is longer than any of the lists.
fn lowered<'b>(word: &str, buffer: &'b mut [u8; LONGEST]) -> Option<&'b str> {
    let buffer = buffer.get_mut(..word.len())?;
    buffer.copy_from_slice(word.as_bytes());
    buffer.make_ascii_lowercase();
    std::str::from_utf8(buffer).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_disjoint() {
        let lists = [COLUMN, FUNCTION, RESERVED, NEEDS_AS];
        for list in lists {
            assert!(list.is_sorted() && list.iter().all(|word| word.len() <= LONGEST));
        }
        for (n, list) in lists[..3].iter().enumerate() {
            for other in &lists[n + 1..3] {
                assert!(list.iter().all(|word| !other.contains(word)));
            }
        }
        assert_eq!(
            [class_of("SELECT"), class_of("left"), class_of("Time"), class_of("a")],
            [Class::Reserved, Class::Function, Class::Column, Class::Plain]
        );
        assert!(is_bare_label("select") && is_bare_label("x") && !is_bare_label("FOR"));
    }
}
