//! How a text that the catalog keeps names what users have made: by number.
//!
//! ```text
//! CHECK (f(a) > 0)              "␀16410".f(a) > 0
//! DEFAULT 'p'::e                'p'::"␀16420".e
//! DEFAULT nextval('s')          nextval('16430'::regclass)
//! CHECK (a === b)               ((a) OPERATOR("␀16440".===) (b))
//! CHECK ((c).x > 0)             (c)."␀16450.2 x" > 0
//! DEFAULT ROW(1, 'a')::c        ROW(1, 'a')::"␀16450 1.2".c
//! … ON CONSTRAINT k             … ON CONSTRAINT "␀16460 k"
//! CHECK (a::int > 0)            a::int > 0/*"␀16470".cast*/
//! ```
//!
//! K1. A name with the character 0 and a number for its schema means the object of that number, whatever it is called and wherever
//!     it is found now. No text of a client has that character, so only the catalog's own texts name objects so.
//!     A field of a row is named by the numbers of its type, a composite one or that of a table's rows, and of the field, and the
//!     name that it had. A type of which a row is made says which fields there were: later ones are NULL, and those that went are left out.
//! K2. What is shown of such a text has the names of today ([`with_names`]). Texts of earlier releases have names only; they mean
//!     what they mean along the path `pg_catalog, public`.

//! K3. Functions of users' casts stand in a comment behind the text, as nothing in it names them. It needs them as what it names.

use std::borrow::Cow;
use std::collections::BTreeSet;

use verso_types::keyword::quoted;

use crate::definition::Oid;
use crate::snapshot::CatalogSnapshot;
use crate::view_text::{has_alias, identifier};

/// In front of a number that stands for a schema.
const MARK: char = '\0';

/// What stands for the schema of an object that is named by its number.
pub fn numbered(oid: Oid) -> String {
    format!("{}.", quoted(&format!("{MARK}{oid}")))
}

/// The number that stands in place of a schema.
pub fn number_of(schema: Option<&str>) -> Option<Oid> {
    let numbers = schema?.strip_prefix(MARK)?;
    numbers.split_once(' ').map_or(numbers, |(oid, _)| oid).parse().ok().map(Oid)
}

/// What stands for the schema of a type, of which a row with these fields is made.
pub fn numbered_row(oid: Oid, fields: &[u16]) -> String {
    let fields: Vec<String> = fields.iter().map(u16::to_string).collect();
    format!("{}.", quoted(&format!("{MARK}{oid} {}", fields.join("."))))
}

/// The fields that a row had which is made of the type in this place of a schema.
pub fn fields_made(schema: Option<&str>) -> Option<Vec<u16>> {
    let (_, fields) = schema?.strip_prefix(MARK)?.split_once(' ')?;
    fields.split('.').map(|field| field.parse().ok()).collect()
}

/// What stands for a field of a type, by their numbers; it had that name.
pub fn numbered_field(of: Oid, field: u16, name: &str) -> String {
    quoted(&format!("{MARK}{of}.{field} {name}"))
}

/// The numbers in place of a field's name, and the name that it had.
pub fn field_of(name: &str) -> Option<(Oid, u16, &str)> {
    let (numbers, name) = name.strip_prefix(MARK)?.split_once(' ')?;
    let (of, field) = numbers.split_once('.')?;
    Some((Oid(of.parse().ok()?), field.parse().ok()?, name))
}

/// What stands for a constraint of a table, by its number; it had that name.
pub fn numbered_constraint(oid: Oid, name: &str) -> String {
    quoted(&format!("{MARK}{oid} {name}"))
}

/// The number in place of a constraint's name, and the name that it had.
pub fn constraint_of(name: &str) -> Option<(Oid, &str)> {
    let (number, name) = name.strip_prefix(MARK)?.split_once(' ')?;
    Some((Oid(number.parse().ok()?), name))
}

/// Begins the comment of a text's casts (K3); behind it stands the mark of a number.
const CASTS: &str = "/*\"";

/// A text with the functions of casts that it uses (K3), in place of those that it had.
pub fn with_casts(text: &str, functions: &BTreeSet<Oid>) -> String {
    let text = without_casts(text);
    if functions.is_empty() {
        return text.into_owned();
    }
    let functions: Vec<String> = functions.iter().map(|oid| format!("{}cast", numbered(*oid))).collect();
    format!("{text}/*{}*/", functions.join(" "))
}

/// A text without what is kept of its casts.
pub fn without_casts(text: &str) -> Cow<'_, str> {
    let begin = format!("{CASTS}{MARK}");
    let mut rest = text;
    let mut out = String::new();
    while let Some((before, within)) = rest.split_once(&begin) {
        out.push_str(before);
        rest = within.split_once("*/").map_or("", |(_, behind)| behind);
    }
    if rest.len() == text.len() {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Where a text names something by its number.
struct Numbered {
    /// From the first character of what stands for it up to the one behind its name.
    place: std::ops::Range<usize>,
    oid: Oid,
    /// The name that it had.
    name: String,
    kind: Kind,
    /// It is a type of which a row is made.
    made: bool,
}

impl Numbered {
    /// Whether it is a literal that stands for it.
    fn is_literal(&self) -> bool {
        matches!(self.kind, Kind::Reference | Kind::Procedure)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A name with its schema.
    Name,
    /// An operator's symbol.
    Symbol,
    /// A literal that is cast to `regclass` or its like.
    Reference,
    /// One that is cast to `regprocedure`.
    Procedure,
    /// A field of a row.
    Field(u16),
    /// A constraint of a table.
    Constraint,
}

/// Literals of these types may be numbers of users' objects.
const REFERENCES: [&str; 5] = ["regclass", "regtype", "regproc", "regprocedure", "regcollation"];

fn all(text: &[char]) -> Vec<Numbered> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let next = match text[at] {
            '"' if text.get(at + 1) == Some(&MARK) => {
                by_schema(text, at).or_else(|| by_field(text, at)).or_else(|| by_constraint(text, at))
            }
            '\'' => by_reference(text, at),
            _ => None,
        };
        at = match next {
            Some(one) => {
                let end = one.place.end;
                found.push(one);
                end
            }
            None => at + 1,
        };
    }
    found
}

fn by_schema(text: &[char], start: usize) -> Option<Numbered> {
    let (end, schema) = identifier(text, start);
    let oid = number_of(Some(&schema))?;
    let name = end + 1;
    let first = text.get(name)?;
    if text.get(end) != Some(&'.') {
        return None;
    }
    if *first == '"' || *first == '_' || first.is_alphanumeric() {
        let (end, name) = identifier(text, name);
        let made = fields_made(Some(&schema)).is_some();
        return Some(Numbered { place: start..end, oid, name, kind: Kind::Name, made });
    }
    let symbol: String = text[name..].iter().take_while(|c| **c != ')').collect();
    let end = name + symbol.chars().count();
    Some(Numbered { place: start..end, oid, name: symbol, kind: Kind::Symbol, made: false })
}

fn by_field(text: &[char], start: usize) -> Option<Numbered> {
    let (end, whole) = identifier(text, start);
    let (oid, field, name) = field_of(&whole)?;
    Some(Numbered { place: start..end, oid, name: name.to_string(), kind: Kind::Field(field), made: false })
}

fn by_constraint(text: &[char], start: usize) -> Option<Numbered> {
    let (end, whole) = identifier(text, start);
    let (oid, name) = constraint_of(&whole)?;
    Some(Numbered { place: start..end, oid, name: name.to_string(), kind: Kind::Constraint, made: false })
}

fn by_reference(text: &[char], start: usize) -> Option<Numbered> {
    let digits: String = text[start + 1..].iter().take_while(|c| c.is_ascii_digit()).collect();
    let end = start + 1 + digits.len();
    let behind: String = text.get(end..)?.iter().take(20).collect();
    let ty = behind.strip_prefix("'::")?;
    let word: String = ty.chars().take_while(|c| c.is_alphanumeric()).collect();
    let oid = Oid(digits.parse().ok()?);
    let is_one = REFERENCES.contains(&&*word) && !oid.is_system();
    let kind = if word == "regprocedure" { Kind::Procedure } else { Kind::Reference };
    is_one.then(|| Numbered { place: start..end + 1, oid, name: String::new(), kind, made: false })
}

/// The numbers of what a text names by its number.
pub fn objects_of(text: &str) -> BTreeSet<Oid> {
    if !text.contains(MARK) && !text.contains("'::reg") {
        return BTreeSet::new();
    }
    let text: Vec<char> = text.chars().collect();
    all(&text).into_iter().filter(|one| one.kind != Kind::Constraint).map(|one| one.oid).collect()
}

/// Whether a text names a constraint by its number.
pub fn names_constraint(text: &str, oid: Oid) -> bool {
    if !text.contains(MARK) {
        return false;
    }
    let text: Vec<char> = text.chars().collect();
    all(&text).into_iter().any(|one| one.kind == Kind::Constraint && one.oid == oid)
}

/// The numbers without whose objects a text means nothing: all that it names but for literals, which may be any number
/// (`'99999'::regclass`), other than the sequences that it takes numbers from.
pub(crate) fn required_by(text: &str) -> BTreeSet<Oid> {
    const OF_SEQUENCES: [&str; 3] = ["nextval(", "currval(", "setval("];
    let text: Vec<char> = text.chars().collect();
    let is_sequence = |one: &Numbered| {
        let before = |call: &str| {
            let start = one.place.start.checked_sub(call.len());
            start.is_some_and(|start| call.chars().eq(text[start..one.place.start].iter().copied()))
        };
        OF_SEQUENCES.iter().any(|call| before(call))
    };
    let is_required =
        |one: &Numbered| one.kind != Kind::Constraint && (!one.is_literal() || is_sequence(one));
    all(&text).into_iter().filter(is_required).map(|one| one.oid).collect()
}

/// The fields of rows that a text names, by the numbers of their types.
pub(crate) fn fields_of(text: &str) -> BTreeSet<(Oid, u16)> {
    if !text.contains(MARK) {
        return BTreeSet::new();
    }
    let text: Vec<char> = text.chars().collect();
    let field = |one: Numbered| if let Kind::Field(id) = one.kind { Some((one.oid, id)) } else { None };
    all(&text).into_iter().filter_map(field).collect()
}

/// Whether a text of an earlier release, which named fields by their names, may name one so: `(row).field`.
pub fn names_field_plainly(text: &str, field: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let is_row = |dot: usize| {
        let before = text[..dot].iter().rev().find(|c| !c.is_whitespace());
        before.is_some_and(|c| matches!(c, ')' | ']'))
    };
    (0..text.len()).filter(|at| text[*at] == '.' && is_row(*at)).any(|dot| {
        let blanks = text[dot + 1..].iter().take_while(|c| c.is_whitespace()).count();
        identifier(&text, dot + 1 + blanks).1 == field
    })
}

/// What a text names by its number, each with whether it is named as a relation: the type of its rows has the same number.
pub fn meanings_of(text: &str) -> BTreeSet<(Oid, bool)> {
    if !text.contains(MARK) && !text.contains("'::reg") {
        return BTreeSet::new();
    }
    let text: Vec<char> = text.chars().collect();
    let relation = |one: &Numbered| one.is_literal() && text[one.place.end..].starts_with(&REGCLASS);
    let objects = all(&text).into_iter().filter(|one| one.kind != Kind::Constraint);
    objects.map(|one| (one.oid, relation(&one))).collect()
}

/// The cast behind a literal that stands for a relation.
const REGCLASS: [char; 10] = [':', ':', 'r', 'e', 'g', 'c', 'l', 'a', 's', 's'];

/// May an expression name a column so?
pub(crate) fn names_plainly(text: &str, name: &str) -> bool {
    match text.contains(MARK) {
        true => verso_parser::names_column(&nameless(text), name),
        false => verso_parser::names_column(text, name),
    }
}

/// A text as it may be shown and given again: with the names of today, each with its schema.
pub fn with_names(catalog: &CatalogSnapshot, text: &str) -> String {
    renamed(catalog, &without_casts(text), |_| true)
}

/// A text for comparisons: what it names by number has no name.
pub(crate) fn nameless(text: &str) -> String {
    let text: Vec<char> = text.chars().collect();
    let (mut out, mut at) = (String::new(), 0);
    for one in all(&text) {
        let nameless = match one.kind {
            Kind::Name => numbered(one.oid),
            Kind::Field(field) => numbered_field(one.oid, field, ""),
            Kind::Constraint => numbered_constraint(one.oid, ""),
            Kind::Symbol | Kind::Reference | Kind::Procedure => continue,
        };
        out.extend(&text[at..one.place.start]);
        out.push_str(&nameless);
        at = one.place.end;
    }
    out.extend(&text[at..]);
    out
}

/// A text as messages show it: what it names by number has the name that it had, without a schema.
pub fn bare(text: &str) -> String {
    let text: Vec<char> = without_casts(text).chars().collect();
    let (mut out, mut at) = (String::new(), 0);
    for one in all(&text).into_iter().filter(|one| !one.is_literal()) {
        out.extend(&text[at..one.place.start]);
        match one.kind {
            Kind::Symbol => out.push_str(&one.name),
            _ => out.push_str(&quoted(&one.name)),
        }
        at = one.place.end;
    }
    out.extend(&text[at..]);
    out
}

/// A text with the names of today of relations, also in literals that are references; the rest stays as the binder finds it best.
pub fn with_relations(catalog: &CatalogSnapshot, text: &str) -> String {
    let is_relation =
        |one: &Numbered| one.kind == Kind::Name && !one.made && catalog.relation_by_oid(one.oid).is_some();
    renamed(catalog, text, |one| one.is_literal() || is_relation(one))
}

fn renamed(catalog: &CatalogSnapshot, text: &str, which: impl Fn(&Numbered) -> bool) -> String {
    if !text.contains(MARK) && !text.contains("'::reg") {
        return text.to_string();
    }
    let text: Vec<char> = text.chars().collect();
    let (mut out, mut at) = (String::new(), 0);
    for one in all(&text).into_iter().filter(which) {
        out.extend(&text[at..one.place.start]);
        out.push_str(&name_of(catalog, &one));
        // Columns of a relation that is called otherwise by now are named by what it was called.
        let now = catalog.relation_by_oid(one.oid).filter(|_| one.kind == Kind::Name);
        let renamed = now.is_some_and(|now| **now.name() != *one.name);
        if renamed && !is_type(&text[..one.place.start]) && !has_alias(&text, one.place.end) {
            out.push_str(&format!(" AS {}", quoted(&one.name)));
        }
        at = one.place.end;
    }
    out.extend(&text[at..]);
    out
}

/// Whether what stands behind this is the type of a relation's rows: that of a cast.
fn is_type(before: &[char]) -> bool {
    let before: String = before.iter().collect::<String>().trim_end().to_lowercase();
    before.ends_with("::") || before.ends_with(" as")
}

fn name_of(catalog: &CatalogSnapshot, one: &Numbered) -> String {
    let path = |schema: &str, name: &str| format!("{}.{}", quoted(schema), quoted(name));
    let oid = one.oid;
    let of_type = || {
        let known = catalog.type_or_row_by_oid(oid)?;
        // The array of a type that was named by `_t`.
        let name = if known.oid == oid { known.name.to_string() } else { format!("_{}", known.name) };
        Some(path(&known.schema, &name))
    };
    let of_relation = || catalog.relation_by_oid(oid).map(|known| path(known.schema(), known.name()));
    let of_function = || catalog.function_by_oid(oid).map(|known| path(&known.schema, &known.name));
    let of_collation =
        || catalog.collation_by_oid(oid.0).map(|known| path(&known.collation.schema, &known.collation.name));
    let operator = || catalog.operator_by_oid(oid);
    match one.kind {
        Kind::Field(field) => {
            let today = catalog.fields_of(oid).into_iter().find(|(id, _)| *id == field);
            quoted(today.as_ref().map_or(&*one.name, |(_, name)| name))
        }
        Kind::Constraint => {
            let mut all = catalog.tables().flat_map(|table| table.constraints.iter());
            let today = all.find(|known| known.oid == oid).map(|known| quoted(&known.name));
            today.unwrap_or_else(|| quoted(&one.name))
        }
        Kind::Symbol => {
            let schema = operator().map_or_else(String::new, |known| format!("{}.", quoted(&known.schema)));
            format!("{schema}{}", one.name)
        }
        Kind::Procedure => {
            let known = catalog.function_by_oid(oid).map(|known| {
                let types: Vec<String> = known.inputs().map(|arg| arg.ty.name_in_call()).collect();
                format!("{}({})", path(&known.schema, &known.name), types.join(", "))
            });
            format!("'{}'", known.unwrap_or_else(|| oid.to_string()).replace('\'', "''"))
        }
        Kind::Name | Kind::Reference => {
            let known = of_relation().or_else(of_function).or_else(of_type).or_else(of_collation);
            match (known, one.kind) {
                (Some(known), Kind::Reference) => format!("'{}'", known.replace('\'', "''")),
                (None, Kind::Reference) => format!("'{oid}'"),
                (known, _) => known.unwrap_or_else(|| quoted(&one.name)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::TableDef;
    use crate::snapshot::PUBLIC;

    #[test]
    fn what_is_named_by_number_is_found_and_shown_by_name() {
        let mut builder = CatalogSnapshot::builder(1);
        builder.add_table(TableDef::new(
            Oid(16_410),
            PUBLIC,
            "New name",
            verso_storage::page::ObjectId(1),
            Vec::new(),
        ));
        let catalog = builder.build();
        let text = format!("{}old || '16410'::regclass || '16410' || '7'::regclass", numbered(Oid(16_410)));
        assert_eq!(
            with_names(&catalog, &text),
            "public.\"New name\" AS old || 'public.\"New name\"'::regclass || '16410' || '7'::regclass"
        );
        assert_eq!(objects_of(&text), BTreeSet::from([Oid(16_410)]));
        let gone = format!("a OPERATOR({}===) {}\"F g\"(b)", numbered(Oid(16_500)), numbered(Oid(16_501)));
        assert_eq!(objects_of(&gone), BTreeSet::from([Oid(16_500), Oid(16_501)]));
        assert_eq!(with_names(&catalog, &gone), "a OPERATOR(===) \"F g\"(b)");
        let casts = BTreeSet::from([Oid(16_502), Oid(16_503)]);
        let cast = with_casts(&with_casts(&gone, &BTreeSet::from([Oid(16_504)])), &casts);
        assert_eq!(without_casts(&cast), gone);
        assert_eq!(objects_of(&cast), &objects_of(&gone) | &casts);
        assert_eq!(with_names(&catalog, &cast), with_names(&catalog, &gone));
        assert_eq!(bare(&cast), bare(&gone));
        assert_eq!(number_of(Some("16410")), None);
        assert!(objects_of("'it''s' || \"a\".b").is_empty());
    }
}
