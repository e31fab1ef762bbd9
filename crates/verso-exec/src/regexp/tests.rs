//! Random expressions over short texts: which part of a text matches is what trying every part says.

use proptest::prelude::*;
use regex::Regex;

use super::syntax::Greed;
use super::{Options, Regexp, parse};
use crate::testing::TestSession;

/// A pattern without groups; several branches are in parentheses.
fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![Just("a"), Just("b"), Just("[ab]"), Just("."), Just("[^a]"), Just("")];
    let leaf = leaf.prop_map(str::to_string);
    leaf.prop_recursive(4, 24, 4, |inner| {
        let quantifier = prop_oneof![
            Just("*"),
            Just("+"),
            Just("?"),
            Just("*?"),
            Just("+?"),
            Just("??"),
            Just("{2}"),
            Just("{1,2}"),
            Just("{0,2}?"),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            (inner, quantifier).prop_map(|(part, quantifier)| format!("(?:{part}){quantifier}")),
        ]
    })
}

/// The first part of a text that matches, of the length that is preferred, found by trying every part.
fn tried(whole: &Regex, text: &str, greed: Greed) -> Option<(usize, usize)> {
    for start in 0..=text.len() {
        let mut ends = (start..=text.len()).filter(|end| whole.is_match(&text[start..*end]));
        let found = if greed == Greed::Shortest { ends.next() } else { ends.next_back() };
        if let Some(end) = found {
            return Some((start, end));
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn the_part_that_matches_is_the_one_that_trying_finds(pattern in pattern(), text in "[ab\n]{0,9}") {
        let session = TestSession::default();
        let services = session.services();
        let cx = session.context(&services);
        // Groups of the same language force every part to be taken apart.
        let grouped = format!("({})", pattern.replace("(?:", "("));
        let (node, _, _) = parse::parse(&pattern, Options::default()).expect("a pattern");
        let whole = Regex::new(&format!(r"\A(?s:{pattern})\z")).expect("the same language");
        let expected = tried(&whole, &text, node.greed());
        for pattern in [&pattern, &grouped, &format!("{pattern}(?=)")] {
            let regexp = Regexp::new(pattern, Options::default()).expect("a pattern");
            // By the automata alone, then by the fast expression, too.
            for searched in [0, super::SLOW_BYTES] {
                prop_assert_eq!(regexp.fast(searched).is_some(), searched > 0);
                let found = regexp.find(&cx, &text, 0).expect("no error").and_then(|found| found.place(0));
                prop_assert_eq!(found, expected, "{} in {:?}", pattern, text);
                prop_assert_eq!(regexp.is_match(&cx, &text).expect("no error"), expected.is_some());
            }
        }
    }

    #[test]
    fn no_pattern_and_no_text_is_too_strange(pattern in r"[-ab(|)*+?{}\[\]\\^$.:=!<12,dwmyAZ ]{0,16}", text in "[ab 1\n]{0,12}") {
        let session = TestSession::default();
        let services = session.services();
        if let Ok(regexp) = Regexp::new(&pattern, Options::default()) {
            regexp.find(&session.context(&services), &text, 0).expect("no error");
        }
    }
}
