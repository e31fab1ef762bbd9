//! A collator of ICU: text to key. Its data are built into the program.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::{LazyLock, OnceLock, PoisonError, RwLock};

use icu_collator::CollatorBorrowed;
use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, MaxVariable, Strength};
use icu_locale_core::Locale;
use icu_locale_core::extensions::unicode::key;

use super::ascii::AsciiTable;
use super::folded::{fold, small};
use crate::error::TypeError;
use crate::sqlstate;

/// Which data keys are made from. A program has one; tests have others, to see what becomes of the keys of an older release.
#[derive(Clone, Copy, Debug)]
pub struct CollationData {
    version: &'static str,
    alter: Option<fn(&mut Vec<u8>)>,
}

impl CollationData {
    /// Those of this program: the release of the library, whose code and data decide on the keys.
    pub const BUILT_IN: CollationData = CollationData { version: "2.4.0", alter: None };

    /// Data of another version, whose keys are those of this one, altered. For tests.
    #[doc(hidden)]
    pub const fn for_tests(version: &'static str, alter: fn(&mut Vec<u8>)) -> CollationData {
        CollationData { version, alter: Some(alter) }
    }

    /// The version: what `collversion` says.
    pub fn version(&self) -> &'static str {
        self.version
    }
}

impl Default for CollationData {
    fn default() -> CollationData {
        CollationData::BUILT_IN
    }
}

impl PartialEq for CollationData {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version
    }
}

impl Eq for CollationData {}

struct Inner {
    spec: String,
    locale: String,
    deterministic: bool,
    data: CollationData,
    keys: Keys,
    ascii: OnceLock<Option<Box<AsciiTable>>>,
}

/// What makes keys.
enum Keys {
    /// ICU's.
    Icu(CollatorBorrowed<'static>),
    /// The text in small letters.
    Folded,
}

/// A locale, its options and the version of the data, ready for use. One is made once and stays: there are few.
#[derive(Clone, Copy)]
pub struct Collator(&'static Inner);

impl PartialEq for Collator {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Collator {}

impl std::hash::Hash for Collator {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.spec.hash(state);
    }
}

impl fmt::Debug for Collator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.spec)
    }
}

type Known = RwLock<HashMap<&'static str, Collator>>;
static KNOWN: LazyLock<Known> = LazyLock::new(Known::default);

thread_local! {
    /// The one used last by [`Collator::of_spec`].
    static LAST: Cell<Option<Collator>> = const { Cell::new(None) };
}

impl Collator {
    /// Most bytes of [`Collator::spec`]: it stands in the root of an index.
    pub const SPEC_MAX: usize = 120;
    /// Stands for a locale where texts in small letters are the keys: no language tag is written so.
    const FOLDING: &str = "@lower";

    /// The collator of a locale, a language tag as `de-u-co-phonebk`.
    ///
    /// # Errors
    /// 22023 for what is no language tag, 0A000 for options that are not there.
    pub fn new(locale: &str, deterministic: bool, data: CollationData) -> Result<Collator, TypeError> {
        let spec = format!("{}|{}|{locale}", data.version, if deterministic { 'd' } else { 'n' });
        if locale != Collator::FOLDING
            && let Some(known) = Collator::known(&spec)
        {
            return Ok(known);
        }
        let invalid = || {
            let text = format!("could not open collator for locale \"{locale}\"");
            TypeError::new(sqlstate::INVALID_PARAMETER_VALUE, text)
        };
        if spec.len() > Collator::SPEC_MAX {
            return Err(invalid());
        }
        let tag = Locale::try_from_str(&locale.replace('_', "-")).map_err(|_| invalid())?;
        let options = options(&tag, &invalid)?;
        let icu = CollatorBorrowed::try_new((&tag).into(), options).map_err(|_| invalid())?;
        let keys = Keys::Icu(icu);
        let locale = locale.to_string();
        Ok(Collator::kept(Inner { spec, locale, deterministic, data, keys, ascii: OnceLock::new() }))
    }

    /// The one whose keys are the texts in small letters.
    pub fn folding(data: CollationData) -> Collator {
        Collator::folded(false, data)
    }

    fn folded(deterministic: bool, data: CollationData) -> Collator {
        let locale = Collator::FOLDING.to_string();
        let spec = format!("{}|{}|{locale}", data.version, if deterministic { 'd' } else { 'n' });
        let keys = Keys::Folded;
        Collator::kept(Inner { spec, locale, deterministic, data, keys, ascii: OnceLock::new() })
    }

    /// The one with that spec that stays.
    fn kept(inner: Inner) -> Collator {
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(inner.spec.as_str()) {
            return *known;
        }
        let made = Collator(Box::leak(Box::new(inner)));
        known.insert(&made.0.spec, made);
        made
    }

    /// Like [`Collator::new`], of what a spec says instead of a locale, too.
    fn of_parts(locale: &str, deterministic: bool, data: CollationData) -> Result<Collator, TypeError> {
        match locale {
            Collator::FOLDING => Ok(Collator::folded(deterministic, data)),
            locale => Collator::new(locale, deterministic, data),
        }
    }

    fn known(spec: &str) -> Option<Collator> {
        KNOWN.read().unwrap_or_else(PoisonError::into_inner).get(spec).copied()
    }

    /// The text that an index keeps of it: `version|d|locale`, `n` where it is nondeterministic.
    pub fn spec(self) -> &'static str {
        &self.0.spec
    }

    /// The one with this [`Collator::spec`], as long as the program has met it.
    pub fn of_spec(spec: &str) -> Option<Collator> {
        if let Some(last) = LAST.get()
            && last.0.spec == spec
        {
            return Some(last);
        }
        let found = Collator::known(spec);
        LAST.set(found);
        found
    }

    /// The version and the rest of a [`Collator::spec`].
    fn split(spec: &str) -> Option<(&str, bool, &str)> {
        let (version, rest) = spec.split_once('|')?;
        let (kind, locale) = rest.split_once('|')?;
        matches!(kind, "d" | "n").then_some((version, kind == "d", locale))
    }

    /// The collator that a spec on disk means with the program's data; `None` where keys were made from others.
    ///
    /// # Errors
    /// XX001 for what is no spec.
    pub fn read(spec: &str, data: CollationData) -> Result<Option<Collator>, TypeError> {
        let (version, deterministic, locale) =
            Collator::split(spec).ok_or_else(|| TypeError::corrupt("collation"))?;
        if version != data.version {
            return Ok(None);
        }
        Collator::of_parts(locale, deterministic, data).map(Some)
    }

    /// The same with the other answer to whether only equal bytes are equal texts.
    #[must_use]
    pub fn with_texts(self) -> Collator {
        match self.0.deterministic {
            true => self,
            // What one was made of makes the other.
            false => Collator::of_parts(&self.0.locale, true, self.0.data).unwrap_or(self),
        }
    }

    /// The locale, a language tag.
    pub fn locale(self) -> &'static str {
        &self.0.locale
    }

    /// Whether only texts of the same bytes are equal.
    pub fn is_deterministic(self) -> bool {
        self.0.deterministic
    }

    /// The version of its data.
    pub fn version(self) -> &'static str {
        self.0.data.version
    }

    /// Appends the key of a text.
    pub fn key(self, text: &[u8], out: &mut Vec<u8>) {
        self.sort_key(text, out);
        if self.0.deterministic {
            out.push(0);
            out.extend_from_slice(text);
        }
    }

    /// The text that a key of a deterministic collation is of.
    pub fn text_of_key(key: &[u8]) -> Option<&[u8]> {
        key.iter().position(|byte| *byte == 0).map(|zero| &key[zero + 1..])
    }

    /// Appends ICU's sort key of a text.
    pub fn sort_key(self, text: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let short = self.ascii().is_some_and(|table| table.sort_key(text, out));
        if !short {
            self.icu_sort_key(text, out);
        }
        if let Some(alter) = self.0.data.alter {
            let mut altered = out.split_off(start);
            alter(&mut altered);
            out.append(&mut altered);
        }
    }

    /// The table of the short way, learnt when it is asked for first.
    pub(super) fn ascii(self) -> Option<&'static AsciiTable> {
        let Keys::Icu(icu) = &self.0.keys else { return None };
        self.0.ascii.get_or_init(|| AsciiTable::learn(icu).map(Box::new)).as_deref()
    }

    /// The same without the short way, whatever the text is.
    pub(super) fn icu_sort_key(self, text: &[u8], out: &mut Vec<u8>) {
        match &self.0.keys {
            Keys::Icu(icu) => {
                let Ok(()) = icu.write_sort_key_utf8_to(text, out);
            }
            Keys::Folded => fold(text, out),
        }
    }

    /// Whether two texts are not told apart by the language, whatever their bytes are. It stops where they differ, unlike a comparison
    /// of keys.
    pub fn has_same_key(self, left: &str, right: &str) -> bool {
        match &self.0.keys {
            Keys::Icu(icu) => icu.compare_utf8(left.as_bytes(), right.as_bytes()).is_eq(),
            Keys::Folded => left.chars().map(small).eq(right.chars().map(small)),
        }
    }

    /// Whether two texts are equal.
    pub fn is_equal(self, left: &str, right: &str) -> bool {
        if self.0.deterministic || left == right {
            return left == right;
        }
        let (mut one, mut two) = (Vec::new(), Vec::new());
        self.sort_key(left.as_bytes(), &mut one);
        self.sort_key(right.as_bytes(), &mut two);
        one == two
    }
}

/// The options that a locale's `-u-` says, but those which the library reads itself.
fn options(tag: &Locale, invalid: &dyn Fn() -> TypeError) -> Result<CollatorOptions, TypeError> {
    let mut options = CollatorOptions::default();
    let keywords = &tag.extensions.unicode.keywords;
    let value = |name| keywords.get(&name).map(ToString::to_string);
    for (refused, name) in [(key!("kr"), "kr"), (key!("kb"), "kb"), (key!("vt"), "vt"), (key!("kh"), "kh")] {
        if keywords.get(&refused).is_some_and(|value| value.to_string() != "false") {
            let text = format!("option \"{name}\" of collations is not supported");
            return Err(TypeError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
    }
    if let Some(level) = value(key!("ks")) {
        options.strength = Some(match level.as_str() {
            "level1" => Strength::Primary,
            "level2" => Strength::Secondary,
            "level3" => Strength::Tertiary,
            "level4" => Strength::Quaternary,
            "identic" => Strength::Identical,
            _ => return Err(invalid()),
        });
    }
    if let Some(handling) = value(key!("ka")) {
        options.alternate_handling = Some(match handling.as_str() {
            "noignore" => AlternateHandling::NonIgnorable,
            "shifted" => AlternateHandling::Shifted,
            _ => return Err(invalid()),
        });
    }
    if let Some(variable) = value(key!("kv")) {
        options.max_variable = Some(match variable.as_str() {
            "space" => MaxVariable::Space,
            "punct" => MaxVariable::Punctuation,
            "symbol" => MaxVariable::Symbol,
            "currency" => MaxVariable::Currency,
            _ => return Err(invalid()),
        });
    }
    if let Some(level) = value(key!("kc")) {
        options.case_level = Some(match level.as_str() {
            "" | "true" | "yes" => CaseLevel::On,
            "false" | "no" => CaseLevel::Off,
            _ => return Err(invalid()),
        });
    }
    Ok(options)
}
