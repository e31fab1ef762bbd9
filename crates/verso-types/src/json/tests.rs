use std::hash::{DefaultHasher, Hasher};

use proptest::prelude::*;

use super::*;
use crate::decimal::Decimal;

fn text(value: &Jsonb) -> String {
    let mut out = String::new();
    format_into(value.root(), &mut out);
    out
}

fn parsed(source: &str) -> Jsonb {
    Jsonb::parse(source).expect("JSON")
}

fn node() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![
        Just(Node::Null),
        any::<bool>().prop_map(Node::Bool),
        (any::<i64>(), 0u8..=20).prop_map(|(v, s)| Node::Number(Decimal::from_scaled_i64(v, s))),
        "[ -~äß€😀\\t]{0,8}".prop_map(Node::String),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Node::Array),
            proptest::collection::vec(("[a-c]{0,3}", inner), 0..6).prop_map(Node::Object),
        ]
    })
}

fn hashed(value: &Jsonb) -> u64 {
    let mut state = DefaultHasher::new();
    hash(value.root(), &mut state);
    state.finish()
}

proptest! {
    #[test]
    fn what_is_written_reads_back(node in node()) {
        let value = node.encode().expect("short");
        let again = Jsonb::parse(&text(&value)).expect("JSON");
        prop_assert_eq!(text(&again), text(&value));
        prop_assert_eq!(compare(again.root(), value.root()), std::cmp::Ordering::Equal);
        prop_assert!(contains(value.root(), again.root()));
        prop_assert_eq!(hashed(&again), hashed(&value));
    }

    #[test]
    fn keys_are_in_the_order_of_the_values(a in node(), b in node()) {
        let (a, b) = (a.encode().expect("short"), b.encode().expect("short"));
        let key = |value: &Jsonb| {
            let mut key = Vec::new();
            encode_key(value.root(), &mut key);
            key
        };
        prop_assert_eq!(key(&a).cmp(&key(&b)), compare(a.root(), b.root()));
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let value = Jsonb::from_bytes(&bytes);
        let _ = (text(&value), hashed(&value), contains(value.root(), value.root()));
    }

    #[test]
    fn any_text_is_read_without_panic(source in "[\\[\\]{}:,\"\\\\u0-9a-f.eE+ \\-tnrl]{0,40}") {
        let _ = (Jsonb::parse(&source).is_ok(), validate(&source).is_ok());
        let _ = (elements(&source).is_ok(), fields(&source).is_ok());
    }
}

#[test]
fn keys_are_sorted_and_the_last_of_equal_ones_stays() {
    assert_eq!(
        text(&parsed("{\"bb\":1,\"a\":2,\"c\":[1.50,1e2],\"a\":3}")),
        "{\"a\": 3, \"c\": [1.50, 100], \"bb\": 1}"
    );
}

#[test]
fn a_key_is_found_in_an_object_of_any_size() {
    let pairs = (0..5000).map(|n| (format!("key {n}"), Node::Number(Decimal::from(i64::from(n)))));
    let value = Node::Object(pairs.collect()).encode().expect("fits");
    let JsonRef::Object(object) = value.root() else { panic!() };
    for n in [0, 1, 77, 4999] {
        let found = object.get(&format!("key {n}")).map(JsonRef::read);
        assert!(matches!(found, Some(JsonRef::Number(v)) if v == Decimal::from(n)), "{n}");
    }
    assert!(object.get("key").is_none() && object.get("key 5000").is_none());
}

#[test]
fn deep_nesting_is_refused() {
    let deep = "[".repeat(100_000);
    assert_eq!(Jsonb::parse(&deep).map_err(|error| error.sqlstate), Err("54001"));
    assert_eq!(validate(&deep).map_err(|error| error.sqlstate), Err("54001"));
    assert!(Jsonb::parse(&format!("{}{}", "[".repeat(200), "]".repeat(200))).is_ok());
}

#[test]
fn what_is_built_around_values_is_no_deeper_than_what_is_read() {
    let wrap: [fn(Node) -> Node; 2] =
        [|inner| Node::Array(vec![inner]), |inner| Node::Object(vec![("a".into(), inner)])];
    for wrap in wrap {
        let mut value = Jsonb::parse("1").expect("JSON");
        for _ in 0..DEPTH_MAX {
            value = wrap(Node::Encoded(value.bytes().to_vec())).encode().expect("fits");
        }
        assert!(Jsonb::parse(&text(&value)).is_ok());
        let deeper = wrap(Node::Encoded(value.bytes().to_vec())).encode();
        assert_eq!(deeper.map_err(|error| error.sqlstate), Err("54001"));
        // A part of it that is put somewhere else counts from there.
        let JsonRef::Array(elements) = value.root() else { continue };
        let part = Node::Encoded(elements.raw(0).expect("one").to_vec());
        assert!(Node::Array(vec![Node::Null, part]).encode().is_ok());
    }
}

#[test]
fn elements_and_fields_are_cut_out_of_the_text() {
    assert_eq!(elements(" [ 1 , [2, 3 ] ,\"x\"] ").expect("JSON"), Some(vec!["1", "[2, 3 ]", "\"x\""]));
    let found = fields("{\"a\" : {\"b\":1} , \"a\":null}").expect("JSON");
    assert_eq!(found, Some(vec![("a".to_owned(), "{\"b\":1}"), ("a".to_owned(), "null")]));
}
