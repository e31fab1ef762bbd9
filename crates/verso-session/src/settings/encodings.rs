//! Names of encodings that `client_encoding` may have.

/// A name of an encoding as PostgreSQL compares them: letters and digits only.
pub(super) fn encoding(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether PostgreSQL has an encoding of that name, which [`encoding`] has made plain.
pub(super) fn is_encoding(plain: &str) -> bool {
    const OTHERS: [&str; 26] = [
        "abc",
        "alt",
        "big5",
        "euccn",
        "eucjis2004",
        "eucjp",
        "euckr",
        "euctw",
        "gb18030",
        "gbk",
        "johab",
        "koi8",
        "koi8r",
        "koi8u",
        "muleinternal",
        "mskanji",
        "shiftjis",
        "shiftjis2004",
        "sjis",
        "tcvn",
        "tcvn5712",
        "uhc",
        "vscii",
        "win",
        "windows949",
        "windows950",
    ];
    let numbered = ["latin", "win", "windows", "iso8859"].iter().any(|begins| {
        let number = plain.strip_prefix(begins);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    });
    numbered || OTHERS.contains(&plain)
}
