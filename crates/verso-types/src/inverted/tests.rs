use super::trigram::{Piece, like, required};
use super::*;
use crate::array::Array;
use crate::json::Jsonb;
use crate::opaque::hstore::Hstore;
use crate::opaque::{Opaque, OpaqueKind};

fn keys_of(ty: KeyType, value: &Value) -> Keys {
    let mut raw = Vec::new();
    match value {
        Value::Jsonb(value) => raw.extend_from_slice(value.bytes()),
        Value::Text(value) => raw.extend_from_slice(value.as_bytes()),
        Value::Opaque(value) => raw.extend_from_slice(value.bytes()),
        value => row::encode_value(value, &mut raw),
    }
    let mut keys = Keys::default();
    extract(ty, 0, Some(&raw), &mut keys).unwrap();
    keys.sort();
    keys
}

fn is_candidate(search: &Search, keys: &Keys) -> bool {
    match search {
        Search::Key(key) => keys.iter().any(|own| own == key),
        Search::Prefix(start) => keys.iter().any(|own| own.starts_with(start)),
        Search::All(parts) => parts.iter().all(|part| is_candidate(part, keys)),
        Search::Any(parts) => parts.iter().any(|part| is_candidate(part, keys)),
        Search::Some(least, parts) => parts.iter().filter(|part| is_candidate(part, keys)).count() >= *least,
        Search::Unknown => true,
    }
}

fn json(text: &str) -> Value {
    Value::Jsonb(Jsonb::parse(text).unwrap())
}

#[test]
fn what_a_document_contains_is_among_its_keys() {
    let document = json(r#"{"a": 1, "b": [1.50, "x", {"c": null}], "d": {"e": true, "f": "y"}}"#);
    let found = |ty, part: &str| {
        let search = Search::of(ty, 0, Strategy::Contains, &json(part));
        is_candidate(&search, &keys_of(ty, &document))
    };
    for ty in [KeyType::JsonbKeys, KeyType::JsonbPaths] {
        for part in
            ["{}", r#"{"a": 1.0}"#, r#"{"b": [1.5]}"#, r#"{"b": [{"c": null}]}"#, r#"{"d": {"f": "y"}}"#]
        {
            assert!(found(ty, part), "{part}");
        }
        for part in [r#"{"a": 2}"#, r#"{"z": 1}"#, r#"{"d": {"f": "z"}}"#] {
            assert!(!found(ty, part), "{part}");
        }
    }
    // Only the way to a value tells these apart.
    assert!(found(KeyType::JsonbKeys, r#"{"b": {"a": 1}}"#));
    assert!(!found(KeyType::JsonbPaths, r#"{"b": {"a": 1}}"#));
}

#[test]
fn keys_are_looked_for_where_the_operator_looks() {
    let keys = keys_of(KeyType::JsonbKeys, &json(r#"["x", {"k": "v"}]"#));
    let has = |key: &str| {
        is_candidate(&Search::of(KeyType::JsonbKeys, 0, Strategy::HasKey, &Value::text(key)), &keys)
    };
    assert!(has("x") && has("k") && !has("v"));
    let list = |list: &[&str]| {
        Value::Array(Array::vector(list.iter().map(|key| Value::text(key)).collect::<Vec<_>>()))
    };
    let by = |strategy, names: &[&str]| {
        is_candidate(&Search::of(KeyType::JsonbKeys, 0, strategy, &list(names)), &keys)
    };
    assert!(by(Strategy::HasAnyKey, &["z", "k"]) && !by(Strategy::HasAnyKey, &["z"]));
    assert!(by(Strategy::HasAllKeys, &["x", "k"]) && !by(Strategy::HasAllKeys, &["x", "z"]));
    assert!(!by(Strategy::HasAnyKey, &[]) && by(Strategy::HasAllKeys, &[]));
}

#[test]
fn a_path_asks_for_its_members_and_equal_scalars() {
    let document = json(r#"{"a": [{"b": 1, "c": "x"}, {"b": 2}]}"#);
    let found = |ty, strategy, path: &str| {
        let path = Value::Opaque(Opaque::new(OpaqueKind::JsonPath, path.as_bytes()));
        is_candidate(&Search::of(ty, 0, strategy, &path), &keys_of(ty, &document))
    };
    for ty in [KeyType::JsonbKeys, KeyType::JsonbPaths] {
        for path in [
            "$",
            "$.a",
            "$.a[*].b",
            "$.a[*] ? (@.b == 2)",
            "$.* ? (@.b == 1)",
            "$.a ? (@.b == 7 || @.c == \"x\")",
        ] {
            assert!(found(ty, Strategy::PathExists, path), "{path}");
        }
        assert!(!found(ty, Strategy::PathExists, "$.a[*] ? (@.b == 3)"));
        assert!(!found(ty, Strategy::PathExists, "$.a ? (@.b == 1 && @.c == \"y\")"));
        assert!(found(ty, Strategy::PathMatches, "$.a[*].b == 2"));
        assert!(found(ty, Strategy::PathMatches, "$.a[*].b > 7"));
        assert!(!found(ty, Strategy::PathMatches, "$.a[*].b == 3"));
        assert!(!found(ty, Strategy::PathMatches, "exists($.a ? (@.b == 3))"));
        // Nothing is known of these.
        assert!(found(ty, Strategy::PathMatches, "!($.a[*].b == 3)"));
        assert!(found(ty, Strategy::PathExists, "$.a.size()"));
    }
    assert!(!found(KeyType::JsonbKeys, Strategy::PathExists, "$.a.z"));
}

#[test]
fn arrays_are_found_by_their_elements() {
    let array = |list: &[Option<i32>]| {
        Value::Array(Array::vector(
            list.iter().map(|v| v.map_or(Value::Null, Value::Int4)).collect::<Vec<_>>(),
        ))
    };
    let rows =
        [array(&[]), array(&[None]), array(&[Some(1)]), array(&[Some(1), Some(2)]), array(&[Some(3), None])];
    let found = |strategy, value: &Value| -> Vec<usize> {
        let search = Search::of(KeyType::Elements, 0, strategy, value);
        (0..rows.len())
            .filter(|row| is_candidate(&search, &keys_of(KeyType::Elements, &rows[*row])))
            .collect()
    };
    assert_eq!(found(Strategy::Contains, &array(&[Some(1)])), [2, 3]);
    assert_eq!(found(Strategy::Contains, &array(&[Some(1), None])), []);
    assert_eq!(found(Strategy::Contains, &array(&[])), [0, 1, 2, 3, 4]);
    assert_eq!(found(Strategy::ContainedBy, &array(&[Some(1)])), [0, 1, 2, 3]);
    assert_eq!(found(Strategy::Overlaps, &array(&[Some(2), Some(3)])), [3, 4]);
    assert_eq!(found(Strategy::Overlaps, &array(&[])), []);
    assert_eq!(found(Strategy::Equal, &array(&[None])), [0, 1]);
    assert_eq!(found(Strategy::Equal, &array(&[Some(3), None])), [4]);
}

#[test]
fn trigrams_are_those_of_pg_trgm() {
    let texts = |list: &[trigram::Trigram]| list.iter().map(|one| one.text()).collect::<Vec<_>>();
    assert_eq!(texts(&trigram::of("Foo|ba")), ["  b", "  f", " ba", " fo", "ba ", "foo", "oo "]);
    assert_eq!(texts(&like("%bar%")), ["bar"]);
    assert_eq!(texts(&like("foo bar%")), ["  b", "  f", " ba", " fo", "bar", "foo", "oo "]);
    assert_eq!(texts(&like("%a_c%")), Vec::<String>::new());
    assert_eq!(texts(&like(r"\%abc")), ["  a", " ab", "abc", "bc "]);
    let gap = [Piece::Gap, Piece::Char('A'), Piece::Char('b'), Piece::Char('c'), Piece::Gap];
    assert_eq!(texts(&required(&gap)), ["abc"]);
    assert_eq!(texts(&trigram::of("é")), ["0xe69b54", "0xe82c48"].map(String::from));
}

#[test]
fn long_keys_are_hashed_and_sets_subtract() {
    let long = "x".repeat(1000);
    let keys = keys_of(KeyType::JsonbKeys, &json(&format!("[\"{long}\", \"a\"]")));
    assert!(keys.iter().all(|key| key.len() <= LONGEST));
    let search = Search::of(KeyType::JsonbKeys, 0, Strategy::HasKey, &Value::text(&long));
    assert!(is_candidate(&search, &keys));
    let mut all = keys_of(KeyType::Trigrams, &Value::text("abc def"));
    all.subtract(&keys_of(KeyType::Trigrams, &Value::text("abc")));
    assert!(all == keys_of(KeyType::Trigrams, &Value::text("def")));
}

#[test]
fn documents_are_found_by_the_lexemes_that_a_query_needs() {
    use crate::text_search::{TsQuery, TsVector};
    let long = "x".repeat(200);
    let document = TsVector::parse(&format!("fat:1 cat:2A rat {long}")).unwrap().into_value();
    let keys = keys_of(KeyType::Lexemes, &document);
    assert_eq!(keys.len(), 4);
    let found = |query: &str| {
        let query = TsQuery::parse(query).unwrap().into_value();
        is_candidate(&Search::of(KeyType::Lexemes, 0, Strategy::Matches, &query), &keys)
    };
    for query in [
        "fat",
        "fat & !cat",
        "!dog",
        "dog | !cow",
        "ca:*",
        "cat <-> fat",
        "rat:A",
        "(dog | cat) & fat",
        &long,
    ] {
        assert!(found(query), "{query}");
    }
    for query in
        ["", "dog", "fat & dog", "ca", "dog:* & fat & !rat", "(dog | cow) & fat", "fat <-> (dog & !cat)"]
    {
        assert!(!found(query) || query.contains("dog:*"), "{query}");
    }
    assert!(found(&format!("{}:*", "x".repeat(150))) && !found(&"x".repeat(150)));
    // A chain of one operator is one list.
    let chain = TsQuery::parse(&vec!["fat"; 5000].join(" & ")).unwrap().into_value();
    match Search::of(KeyType::Lexemes, 0, Strategy::Matches, &chain) {
        Search::All(parts) => assert_eq!(parts.len(), 5000),
        other => panic!("{other:?}"),
    }
}

#[test]
fn similar_texts_share_enough_trigrams() {
    let near = |text: &str, threshold: f32| {
        is_candidate(&Search::similar(0, "word", threshold), &keys_of(KeyType::Trigrams, &Value::text(text)))
    };
    assert!(near("words", 0.3) && near("sword", 0.3) && !near("zzz", 0.3));
    assert!(near("zzz", 0.0));
}

#[test]
fn keys_and_pairs_of_an_hstore_are_found() {
    let store = |text: &str| Value::Opaque(Hstore::parse(text).unwrap().value());
    let long = "k".repeat(300);
    let keys = keys_of(KeyType::Pairs, &store(&format!("a=>1, b=>\"\", c=>NULL, {long}=>x")));
    let contains =
        |text: &str| is_candidate(&Search::of(KeyType::Pairs, 0, Strategy::Contains, &store(text)), &keys);
    for part in ["", "a=>1", "b=>\"\", c=>NULL", &format!("{long}=>x")] {
        assert!(contains(part), "{part}");
    }
    for part in ["a=>2", "a=>NULL", "b=>NULL", "c=>\"\"", "a=>1, z=>1", &format!("{long}=>y")] {
        assert!(!contains(part), "{part}");
    }
    let list = |names: &[Value]| Value::Array(names.to_vec().into());
    let has = |strategy, value: &Value| is_candidate(&Search::of(KeyType::Pairs, 0, strategy, value), &keys);
    assert!(has(Strategy::HasKey, &Value::text("a")) && has(Strategy::HasKey, &Value::text(&long)));
    // Values are no keys.
    assert!(!has(Strategy::HasKey, &Value::text("1")) && !has(Strategy::HasKey, &Value::text("")));
    assert!(has(Strategy::HasAnyKey, &list(&[Value::text("z"), Value::text("c")])));
    assert!(!has(Strategy::HasAnyKey, &list(&[Value::Null])));
    assert!(has(Strategy::HasAllKeys, &list(&[Value::text("a"), Value::Null])));
    assert!(!has(Strategy::HasAllKeys, &list(&[Value::text("a"), Value::text("z")])));
}
