//! Reading, writing, storing: whatever is read comes back, and nothing panics.

use proptest::prelude::*;

use super::*;
use crate::text_search::parse::{Mode, parse};

fn vector(text: &str) -> String {
    let mut out = String::new();
    match TsVector::parse(text) {
        Ok(vector) => {
            assert_eq!(TsVector::of(&vector.value()), vector);
            vector.format(&mut out);
        }
        Err(error) => out = error.message,
    }
    out
}

fn query(text: &str) -> String {
    let mut out = String::new();
    match TsQuery::parse(text) {
        Ok(query) => {
            assert_eq!(TsQuery::of(&query.value()), query);
            query.format(&mut out);
        }
        Err(error) => out = error.message,
    }
    out
}

#[test]
fn texts_of_vectors_are_postgresql_s() {
    assert_eq!(vector("a:1 fat:2,4B,3A  it\\'s\\:5  a b"), "'a':1 'b' 'fat':2,3A,4B 'it''s:5'");
    assert_eq!(vector("a:20000"), "'a':16383");
    assert_eq!(vector("a:0"), "wrong position info in tsvector: \"a:0\"");
    assert_eq!(vector("'a"), "syntax error in tsvector: \"'a\"");
}

#[test]
fn texts_of_queries_are_postgresql_s() {
    assert_eq!(query("!a & b | c:*AB<2>(d<->e)"), "!'a' & 'b' | 'c':*AB <2> ( 'd' <-> 'e' )");
    assert_eq!(query("a & (b | c)"), "'a' & ( 'b' | 'c' )");
    assert_eq!(query("a b"), "syntax error in tsquery: \"a b\"");
    assert_eq!(query("a &"), "no operand in tsquery: \"a &\"");
}

#[test]
fn a_query_may_be_as_deep_as_it_is_long() {
    let deep = format!("{}a{}", "(!".repeat(100_000), ")".repeat(100_000));
    let query = TsQuery::parse(&deep).expect("a query");
    assert_eq!(query.items().len(), 100_001);
    let vector = TsVector::parse("a").expect("a vector");
    assert!(vector.is_matched_by(&query));
    assert!(query.without_negations().is_empty());
    let mut shown = String::new();
    query.format(&mut shown);
    assert_eq!(TsQuery::of(&query.value()), query);
}

proptest! {
    #[test]
    fn whatever_is_read_as_a_vector_comes_back(text in "[ab'\\\\:,1-9ABD é]{0,24}") {
        if let Ok(vector) = TsVector::parse(&text) {
            let mut shown = String::new();
            vector.format(&mut shown);
            prop_assert_eq!(TsVector::parse(&shown), Ok(vector.clone()));
            prop_assert_eq!(&TsVector::of(&vector.value()), &vector);
            let mut sent = Vec::new();
            vector.send(&mut sent);
            prop_assert_eq!(TsVector::receive(&sent), Ok(vector));
        }
    }

    #[test]
    fn whatever_is_read_as_a_query_comes_back(text in "[ab'\\\\:*AC!&|()<>\\-0-9 é]{0,24}") {
        if let Ok(query) = TsQuery::parse(&text) {
            let mut shown = String::new();
            query.format(&mut shown);
            prop_assert_eq!(TsQuery::parse(&shown), Ok(query.clone()));
            prop_assert_eq!(&TsQuery::of(&query.value()), &query);
            let mut sent = Vec::new();
            query.send(&mut sent);
            // As PostgreSQL: one without words is sent, and refused when it comes back.
            let empty = query.is_empty();
            prop_assert_eq!(TsQuery::receive(&sent).ok(), (!empty).then_some(query));
        }
    }

    #[test]
    fn any_bytes_and_texts_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), text in ".{0,40}") {
        let _ = (TsVector::receive(&bytes), TsQuery::receive(&bytes), TsVector::of_bytes(&bytes));
        let _ = TsQuery::of(&crate::Opaque::new(crate::OpaqueKind::TsQuery, &bytes));
        let _ = (TsVector::parse(&text), TsQuery::parse(&text));
        for mode in [Mode::Plain, Mode::Web] {
            let _ = parse::<crate::TypeError>(&text, mode, |builder, word, _, _| builder.word(word, 0, false));
        }
    }

    #[test]
    fn stored_vectors_are_in_the_order_of_their_sizes(a in "[abc]{0,3}( [abc]{1,3}){0,3}", b in "[abc]{0,3}( [abc]{1,3}){0,3}") {
        let (Ok(a), Ok(b)) = (TsVector::parse(&a), TsVector::parse(&b)) else { return Ok(()) };
        let by_size = a.size().cmp(&b.size());
        if by_size.is_ne() {
            prop_assert_eq!(a.value().cmp(&b.value()), by_size);
        }
    }
}
