//! Texts in small letters, a letter for a letter: what `lower` makes in the database's collation, and the keys of `citext`.

/// Appends a text in small letters.
pub(super) fn fold(text: &[u8], out: &mut Vec<u8>) {
    if text.is_ascii() {
        out.extend(text.iter().map(u8::to_ascii_lowercase));
        return;
    }
    for c in String::from_utf8_lossy(text).chars() {
        out.extend_from_slice(small(c).encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// The small form of a letter; itself where there is none of one character.
pub fn small(c: char) -> char {
    if c == 'İ' {
        return 'i';
    }
    let mut small = c.to_lowercase();
    match (small.next(), small.next()) {
        (Some(small), None) => small,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use crate::collation::{CollationData, Collator};

    #[test]
    fn keys_are_texts_in_small_letters_and_lead_back_to_their_texts() {
        let folding = Collator::folding(CollationData::BUILT_IN);
        let key = |collator: Collator, text: &str| {
            let mut key = Vec::new();
            collator.key(text.as_bytes(), &mut key);
            key
        };
        for (text, expected) in [("", ""), ("Ab_C", "ab_c"), ("ÄÖ ß İ", "äö ß i"), ("ΣΑΣ", "σασ")]
        {
            assert_eq!(key(folding, text), expected.as_bytes(), "{text}");
            let whole = key(folding.with_texts(), text);
            assert_eq!(Collator::text_of_key(&whole), Some(text.as_bytes()), "{text}");
        }
        assert!(folding.is_equal("Zoë", "ZOË") && !folding.is_equal("a", "b"));
        assert!(folding.has_same_key("Zoë", "ZOË") && !folding.has_same_key("a", "ab"));
        assert!(!folding.is_deterministic() && folding.with_texts().is_deterministic());
        let read = Collator::read(folding.spec(), CollationData::BUILT_IN).unwrap();
        assert_eq!(read, Some(folding));
        // It is no locale that anybody may name.
        assert!(Collator::new(folding.locale(), false, CollationData::BUILT_IN).is_err());
    }
}
