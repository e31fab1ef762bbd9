//! Passwords as SCRAM-SHA-256 verifiers: what a role's row keeps instead of its password.
//!
//! ```text
//! SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>          salt and keys in base64
//! SaltedPassword = PBKDF2(SASLprep(password), salt, iterations)
//! ClientKey = HMAC(SaltedPassword, "Client Key")    StoredKey = SHA-256(ClientKey)
//! ServerKey = HMAC(SaltedPassword, "Server Key")
//! ```
//!
//! A verifier proves a client that knows the password and lets the server prove itself; it cannot log in by itself.
//! Source: RFC 5802, RFC 7677; the text form is PostgreSQL's.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use verso_env::Random;

/// Rounds of a new verifier as long as `scram_iterations` says nothing else; PostgreSQL's default.
pub const ITERATIONS: u32 = 4_096;
/// Bytes of a new salt.
const SALT_BYTES: usize = 16;
/// How a verifier's text begins.
const PREFIX: &str = "SCRAM-SHA-256$";

/// A SHA-256.
pub type Key = [u8; 32];

/// What is kept of a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verifier {
    /// Rounds.
    pub iterations: u32,
    /// Salt.
    pub salt: Vec<u8>,
    /// Proves the client.
    pub stored_key: Key,
    /// Proves the server.
    pub server_key: Key,
}

impl Verifier {
    /// The verifier of a password, with a salt of its own.
    pub fn of_password(password: &str, iterations: u32, random: &dyn Random) -> Verifier {
        let mut salt = Vec::with_capacity(SALT_BYTES);
        while salt.len() < SALT_BYTES {
            salt.extend_from_slice(&random.next_u64().to_le_bytes());
        }
        Verifier::with_salt(password, salt, iterations)
    }

    /// The verifier of a password with that salt.
    pub fn with_salt(password: &str, salt: Vec<u8>, iterations: u32) -> Verifier {
        // What cannot be normalised is used as it is, as PostgreSQL does.
        let prepared = stringprep::saslprep(password);
        let password = prepared.as_deref().unwrap_or(password);
        let salted = pbkdf2(password.as_bytes(), &salt, iterations);
        let stored_key = Sha256::digest(hmac(&salted, &[b"Client Key"])).into();
        Verifier { iterations, salt, stored_key, server_key: hmac(&salted, &[b"Server Key"]) }
    }

    /// Reads a verifier's text; `None` if it is none.
    pub fn parse(text: &str) -> Option<Verifier> {
        let (head, keys) = text.strip_prefix(PREFIX)?.split_once('$')?;
        let (iterations, salt) = head.split_once(':')?;
        let (stored, server) = keys.split_once(':')?;
        let decode = |text: &str| STANDARD.decode(text).ok();
        Some(Verifier {
            iterations: iterations.parse().ok().filter(|count| *count > 0)?,
            salt: decode(salt)?,
            stored_key: decode(stored)?.try_into().ok()?,
            server_key: decode(server)?.try_into().ok()?,
        })
    }
}

impl std::fmt::Display for Verifier {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Verifier { iterations, salt, stored_key, server_key } = self;
        let encode = |bytes: &[u8]| STANDARD.encode(bytes);
        write!(out, "{PREFIX}{iterations}:{}${}:{}", encode(salt), encode(stored_key), encode(server_key))
    }
}

/// Whether a text is what PostgreSQL keeps of a password by MD5: `md5` and 32 digits, small letters among them.
pub fn is_md5(text: &str) -> bool {
    let digits = text.strip_prefix("md5").map(str::as_bytes);
    digits.is_some_and(|digits| {
        digits.len() == 32 && digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// HMAC-SHA-256 over the parts in a row.
pub fn hmac(key: &[u8], parts: &[&[u8]]) -> Key {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of every length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// PBKDF2 with one block.
fn pbkdf2(password: &[u8], salt: &[u8], iterations: u32) -> Key {
    let mac = Hmac::<Sha256>::new_from_slice(password).expect("HMAC takes keys of every length");
    let mut first = mac.clone();
    first.update(salt);
    first.update(&1u32.to_be_bytes());
    let mut block: Key = first.finalize().into_bytes().into();
    let mut result = block;
    for _ in 1..iterations {
        let mut next = mac.clone();
        next.update(&block);
        block = next.finalize().into_bytes().into();
        result.iter_mut().zip(&block).for_each(|(sum, byte)| *sum ^= byte);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_is_that_of_the_rfc() {
        // RFC 7677: user "user", password "pencil".
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let verifier = Verifier::with_salt("pencil", salt, 4096);
        let auth = b"n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
            s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let signature = hmac(&verifier.server_key, &[auth]);
        assert_eq!(STANDARD.encode(signature), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn a_hash_by_md5_is_known_by_its_form() {
        assert!(is_md5("md5a3556571e93b0d20722ba62be61e8c2d"));
        for other in
            ["md5", "md5a3556571e93b0d20722ba62be61e8c2", "md5A3556571e93b0d20722ba62be61e8c2d", "sécret"]
        {
            assert!(!is_md5(other), "{other}");
        }
    }

    #[test]
    fn a_verifier_survives_its_text_and_junk_is_none() {
        let verifier = Verifier::with_salt("sécret", vec![1, 2, 3], 10);
        assert_eq!(Verifier::parse(&verifier.to_string()), Some(verifier));
        for junk in [
            "",
            "md5abc",
            "SCRAM-SHA-256$",
            "SCRAM-SHA-256$0:AA==$AA==:AA==",
            "SCRAM-SHA-256$1:AA==$AA==:AA==",
        ] {
            assert_eq!(Verifier::parse(junk), None, "{junk}");
        }
    }
}
