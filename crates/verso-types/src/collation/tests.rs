//! The order of ICU's conformance test and of PostgreSQL's ICU, the short way, LIKE.

use super::{CollationData, Collator, Derivation, Within, like};
use crate::collation::Collation;
use proptest::prelude::*;
use std::sync::Arc;

fn collator(locale: &str, deterministic: bool) -> Collator {
    Collator::new(locale, deterministic, CollationData::BUILT_IN).unwrap()
}

fn key(collator: Collator, text: &str) -> Vec<u8> {
    let mut key = Vec::new();
    collator.key(text.as_bytes(), &mut key);
    key
}

/// A part of the conformance test of CLDR's root collation: each line stands before the next one, or is equal to it.
#[test]
fn texts_stand_in_the_order_of_the_conformance_test() {
    let root = collator("und", false);
    let mut before: (Vec<u8>, String) = Default::default();
    let mut lines = 0;
    for line in include_str!("data/conformance.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let code = |code: &str| char::from_u32(u32::from_str_radix(code, 16).unwrap());
        let Some(text) = line.split(' ').map(code).collect::<Option<String>>() else { continue };
        let own = key(root, &text);
        assert!(before.0 <= own, "{:?} does not stand before {text:?}", before.1);
        before = (own, text);
        lines += 1;
    }
    assert!(lines > 2_900, "{lines}");
}

/// Words in the order of 29 locales, as PostgreSQL 18 with ICU 76 gives them.
#[test]
fn words_stand_in_the_order_of_postgresql() {
    for line in include_str!("data/postgresql.tsv").lines() {
        let mut words = line.split('\t');
        let locale = words.next().unwrap();
        let collator = collator(locale, true);
        let expected: Vec<&str> = words.collect();
        let mut sorted = expected.clone();
        sorted.sort_by_key(|word| key(collator, word));
        assert_eq!(sorted, expected, "{locale}");
    }
}

#[test]
fn a_key_of_a_deterministic_collation_says_the_text() {
    let german = collator("de", true);
    for text in ["", "a", "Straße", "日本", "a\u{301}"] {
        assert_eq!(Collator::text_of_key(&key(german, text)), Some(text.as_bytes()));
    }
    // Equal to the language, apart to the database.
    let (one, two) = ("é", "e\u{301}");
    assert_ne!(key(german, one), key(german, two));
    assert_eq!(key(collator("de", false), one), key(collator("de", false), two));
    assert!(!german.is_equal(one, two) && collator("de", false).is_equal(one, two));
}

/// The version stands in every index: where the library changes, so must it.
#[test]
fn the_version_is_that_of_the_library() {
    let lock = include_str!("../../../../Cargo.lock");
    for library in ["icu_collator", "icu_collator_data", "icu_normalizer_data"] {
        let wanted = format!("name = \"{library}\"\nversion = \"{}\"\n", CollationData::BUILT_IN.version());
        assert!(
            lock.contains(&wanted),
            "another version of {library}: CollationData::BUILT_IN has to change"
        );
    }
}

#[test]
fn another_version_of_the_data_is_told_apart() {
    let other = CollationData::for_tests("0.1", |key| key.iter_mut().for_each(|byte| *byte ^= 0x55));
    let (now, then) = (collator("de", true), Collator::new("de", true, other).unwrap());
    assert_ne!(key(now, "a"), key(then, "a"));
    assert_eq!(Collator::read(then.spec(), CollationData::BUILT_IN).unwrap(), None);
    assert_eq!(Collator::read(now.spec(), CollationData::BUILT_IN).unwrap(), Some(now));
    assert_eq!(Collator::of_spec(now.spec()), Some(now));
    for damaged in ["", "2.4.0", "2.4.0|x|de", "2.4.0|d|not a tag"] {
        assert!(Collator::read(damaged, CollationData::BUILT_IN).is_err(), "{damaged:?}");
    }
}

#[test]
fn options_of_a_locale_are_read_or_refused() {
    let equal = |locale: &str, one, two| collator(locale, false).is_equal(one, two);
    assert!(equal("und-u-ks-level2", "Abc", "aBC"));
    assert!(!equal("und-u-ks-level2", "abc", "abç"));
    assert!(equal("und-u-ks-level1", "abc", "ÁBÇ"));
    assert!(!equal("und-u-kc-ks-level1", "abc", "ABC"));
    assert!(equal("und-u-ka-shifted", "co-op", "coop"));
    assert!(key(collator("en-u-kn", true), "a9") < key(collator("en-u-kn", true), "a10"));
    let state = |locale| Collator::new(locale, true, CollationData::BUILT_IN).unwrap_err().sqlstate;
    assert_eq!(state("und-u-kr-latn"), "0A000");
    assert_eq!((state("not a tag"), state("und-u-ks-level9")), ("22023", "22023"));
    assert_eq!(state(&"x".repeat(300)), "22023");
}

#[test]
fn plain_locales_go_the_short_way() {
    for locale in ["und", "en", "de", "sv", "cs"] {
        let mut key = Vec::new();
        let table = collator(locale, true).ascii().expect(locale);
        assert!(table.sort_key(b"Hello, World 42", &mut key), "{locale}");
        assert!(!table.sort_key("stra\u{df}e".as_bytes(), &mut key), "{locale}");
    }
    assert!(collator("und-u-ks-level2", false).ascii().is_none());
    // `ch` is a letter of its own.
    assert!(!collator("cs", true).ascii().unwrap().sort_key(b"chata", &mut Vec::new()));
}

proptest! {
    #[test]
    fn the_short_way_makes_the_keys_of_the_long_one(
        text in "[ -~]{0,80}|[a-zA-Z ]{0,300}|([cdglnstz]|[ -~]){0,8}",
        locale in prop::sample::select(vec![
            "und", "en", "de", "sv", "da", "es", "cs", "hu", "tr", "lt", "fr-CA", "hr", "pl", "et", "cy", "sk", "ja", "zh",
            "vi", "sq", "de-u-co-phonebk", "es-u-co-trad", "en-u-kf-upper", "en-u-kn", "en-u-ka-shifted", "und-u-ks-level2",
        ]),
    ) {
        let collator = collator(locale, false);
        let mut long = Vec::new();
        collator.icu_sort_key(text.as_bytes(), &mut long);
        prop_assert_eq!(key(collator, &text), long);
    }
}

#[test]
fn like_compares_what_stands_between_wildcards() {
    let blind = collator("und-u-ks-level2", false);
    let matches = |text: &str, pattern: &str| like(blind, text, pattern, Some('\\'), &mut || true);
    for (text, pattern, expected) in [
        ("Hello", "hELLO", true),
        ("Hello", "h%", true),
        ("Hello", "%LL%", true),
        ("Hello", "h_llo", true),
        ("Hello", "h_lo", false),
        ("Hello", "%x%", false),
        ("e\u{301}t", "É_", true),
        ("a%b", "A\\%B", true),
        ("axb", "A\\%B", false),
        ("", "", true),
        ("", "%", true),
        ("a", "", false),
        ("banana", "B%AN%A", true),
        ("banana", "B%N", false),
    ] {
        assert_eq!(matches(text, pattern), Some(expected), "{text} LIKE {pattern}");
    }
    assert_eq!(matches("a", "a\\"), None);
}

#[test]
fn parts_are_found_by_the_collation() {
    let case_blind = collator("und-u-ks-level2", false);
    let blind = collator("und-u-ks-level1", false);
    let place = |collator, text: &str, wanted: &str| super::find(collator, text, wanted, 0, &mut || true);
    assert_eq!(place(case_blind, "abcABC", "bC"), Some(1..3));
    assert_eq!(place(case_blind, "abc", "x"), None);
    // One character may equal two, and an accent behind its letter goes with it.
    assert_eq!(place(blind, "aßb", "ss"), Some(1..3));
    assert_eq!(place(blind, "ass", "ß"), Some(1..3));
    assert_eq!(place(blind, "xa\u{301}b", "A"), Some(1..4));
    assert_eq!(super::split(case_blind, "aXbxc", "x", &mut || true), ["a", "b", "c"]);
    assert_eq!(super::split(case_blind, "abX", "x", &mut || true), ["ab", ""]);
    let mut steps = 0;
    let stopped = super::find(case_blind, &"a".repeat(100), "b", 0, &mut || {
        steps += 1;
        steps < 50
    });
    assert_eq!((stopped, steps), (None, 50));
}

#[test]
fn collations_are_derived_as_in_sql() {
    let of = |oid| Arc::new(Collation { oid, schema: "s".into(), name: "c".into(), collator: None });
    let implicit = |oid| Derivation::Implicit(of(oid));
    let explicit = |oid| Derivation::Explicit(of(oid));
    let default = Derivation::Default;
    assert_eq!(default.and(&implicit(1)), implicit(1));
    assert_eq!(implicit(1).and(&implicit(1)), implicit(1));
    let open = implicit(1).and(&implicit(2));
    assert!(matches!(open, Derivation::Open(_)));
    assert_eq!(open.and(&implicit(1)), open);
    assert_eq!(implicit(3).and(&open), open);
    assert_eq!(open.and(&explicit(1)), explicit(1));
    assert_eq!(implicit(1).and(&explicit(2)), explicit(2));
    assert!(matches!(explicit(1).and(&explicit(2)), Derivation::Mismatch(_)));
    assert_eq!(explicit(1).of_column(), implicit(1));
}

/// What is compared within rows is written and read again, and of two that differ the texts are those for which no collation follows.
#[test]
fn collations_within_rows() {
    let text = |collator| Some(Within::Text { collator, padded: false });
    let (german, blind) = (collator("de", true), collator("und-u-ks-level2", false));
    let row = |first, second| Within::of_fields(vec![first, None, second]);
    let nested =
        row(text(german), row(None, Some(Within::Elements(Box::new(row(text(blind), None).unwrap())))));
    let mut written = String::new();
    nested.as_ref().unwrap().write(&mut written);
    assert_eq!(Within::read(&written), nested);
    for broken in ["", "r", "t5:de", "r-", "x", "r-;;", &written[1..], &written[..written.len() - 1]] {
        assert_eq!(Within::read(broken), None, "{broken}");
    }
    assert_eq!(row(None, None), None);
    assert_eq!(Within::and(nested.clone(), nested.clone()), nested);
    assert!(nested.unwrap().is_coarse() && !row(text(german), None).unwrap().is_coarse());
    assert_eq!(Within::and(row(text(german), None), row(text(blind), None)), row(Some(Within::Open), None));
    assert_eq!(Within::and(row(text(german), None), None), row(Some(Within::Open), None));
}
