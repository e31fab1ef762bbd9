//! Numbers against what PostgreSQL answers: `tests/slt/types/numeric_wide.slt` has the rest.

use super::*;

fn number(text: &str) -> Number {
    Number::parse_value(text).ok().as_ref().and_then(Number::of).expect("a number")
}

#[test]
fn layouts_and_keys_survive_and_order() {
    let texts = [
        "-Infinity",
        "-1e40000",
        "-1e131071",
        "-1e50",
        "-1.5",
        "-1e-100",
        "0",
        "1e-100",
        "1e-60",
        "1",
        "1.5",
        "1e50",
        "123456789012345678901234567890123456789012345678901234567890.5",
        "1e40000",
        "1e131071",
        "Infinity",
        "NaN",
    ];
    let mut ordered: Vec<&str> = texts.to_vec();
    ordered.swap(1, 2);
    let mut keys = Vec::new();
    for text in &ordered {
        let value = Number::parse_value(text).expect(text);
        let mut bytes = Vec::new();
        match &value {
            Value::Numeric(small) => small.to_bytes(&mut bytes),
            Value::Big(big) => big.to_bytes(&mut bytes),
            other => panic!("{other:?}"),
        }
        assert_eq!(Number::value_from_bytes(&bytes).expect("own bytes"), value, "{text}");
        let mut key = Vec::new();
        crate::KeyOrder::ascending(crate::KeyType::Decimal)
            .encode_raw(Some(&bytes), &mut key)
            .expect("a key");
        keys.push(key);
    }
    assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
    for pair in ordered.windows(2) {
        assert!(number(pair[0]).compare(&number(pair[1])).is_lt(), "{pair:?}");
    }
}

#[test]
fn a_number_that_a_decimal_holds_is_one() {
    let sum = number("1e40").plus(&number("-1e40").plus(&number("7")));
    assert_eq!(sum.value().expect("small"), Value::Numeric(Decimal::from(7)));
    let long = number("1.0000000000000000000000000000000000000000");
    let hash = |number: &Number| {
        let mut state = std::hash::DefaultHasher::new();
        number.hash_number(&mut state);
        state.finish()
    };
    assert_eq!(hash(&long), hash(&Number::from(Decimal::ONE)));
    assert!(long.compare(&Number::from(Decimal::ONE)).is_eq());
}
