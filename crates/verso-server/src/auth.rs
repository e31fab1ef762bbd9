//! Who a client is: SCRAM-SHA-256, the server's side.
//!
//! ```text
//! client                                   server
//! n,,n=,r=<nonce>                     ─►
//!                                     ◄─   r=<nonce><more>,s=<salt>,i=<rounds>
//! c=biws,r=<nonce><more>,p=<proof>    ─►
//!                                     ◄─   v=<signature>
//! ```
//!
//! A1. Whether a role exists, or has a password, does not show: an unknown one gets a salt of its own and fails at
//!     the end, like a wrong password. A2. Secrets are compared in constant time.
//!
//! Source: RFC 5802, RFC 7677. Channel binding is not offered.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use verso_env::Random;
use verso_session::scram::{Key, Verifier, hmac};

use crate::protocol::Malformed;

/// The one mechanism offered.
pub const MECHANISM: &str = "SCRAM-SHA-256";

/// An exchange under way: the first message was answered.
#[derive(Debug)]
pub struct Exchange {
    verifier: Verifier,
    /// The role may log in if the proof is right.
    genuine: bool,
    /// What the client's last message begins its channel binding with.
    header: String,
    nonce: String,
    /// Messages so far, as the signature covers them.
    transcript: String,
}

/// A verifier for a role that has none (A1): the same for the same name as long as the server runs.
pub fn mock_verifier(secret: &Key, role: &str) -> Verifier {
    let salt = hmac(secret, &[role.as_bytes()])[..16].to_vec();
    Verifier { iterations: 4_096, salt, stored_key: *secret, server_key: *secret }
}

impl Exchange {
    /// Reads the client's first message and answers it.
    ///
    /// # Errors
    /// A message that breaks the format, or wants channel binding.
    pub fn begin(
        first: &[u8],
        verifier: Verifier,
        genuine: bool,
        random: &dyn Random,
    ) -> Result<(Exchange, String), Malformed> {
        let first = text(first)?;
        let wrong = || Malformed::new("malformed SCRAM message");
        let bare = match first.as_bytes().first() {
            Some(b'n' | b'y') => {
                let (_authorization, bare) =
                    first[1..].strip_prefix(',').and_then(|rest| rest.split_once(',')).ok_or_else(wrong)?;
                bare
            }
            Some(b'p') => {
                return Err(Malformed::new("client requires SCRAM channel binding, but it is not supported"));
            }
            _ => return Err(wrong()),
        };
        let header = &first[..first.len() - bare.len()];
        let mut nonce = None;
        for attribute in bare.split(',') {
            match attribute.as_bytes() {
                [b'r', b'=', ..] => nonce = Some(&attribute[2..]),
                [b'm', b'=', ..] => {
                    return Err(Malformed::new("client requires an unsupported SCRAM extension"));
                }
                _ => {}
            }
        }
        let printable = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let theirs = nonce.filter(printable).ok_or_else(wrong)?;
        let mut bytes = [0u8; 24];
        for chunk in bytes.chunks_exact_mut(8) {
            chunk.copy_from_slice(&random.next_u64().to_le_bytes());
        }
        let nonce = format!("{theirs}{}", STANDARD.encode(bytes));
        let answer = format!("r={nonce},s={},i={}", STANDARD.encode(&verifier.salt), verifier.iterations);
        let transcript = format!("{bare},{answer},");
        Ok((Exchange { verifier, genuine, header: header.to_owned(), nonce, transcript }, answer))
    }

    /// Reads the client's last message; the server's last one if the client has proved itself.
    ///
    /// # Errors
    /// A message that breaks the format.
    pub fn finish(self, last: &[u8]) -> Result<Option<String>, Malformed> {
        let last = text(last)?;
        let wrong = || Malformed::new("malformed SCRAM message");
        let (without_proof, proof) = last.rsplit_once(",p=").ok_or_else(wrong)?;
        let mut attributes = without_proof.split(',');
        let binding = attributes.next().and_then(|part| part.strip_prefix("c=")).ok_or_else(wrong)?;
        let nonce = attributes.next().and_then(|part| part.strip_prefix("r=")).ok_or_else(wrong)?;
        if STANDARD.decode(binding).map_err(|_| wrong())? != self.header.as_bytes() || nonce != self.nonce {
            return Err(wrong());
        }
        let proof: Key =
            STANDARD.decode(proof).map_err(|_| wrong())?.try_into().map_err(|_: Vec<u8>| wrong())?;
        let parts = [self.transcript.as_bytes(), without_proof.as_bytes()];
        let signature = hmac(&self.verifier.stored_key, &parts);
        let mut client_key = proof;
        client_key.iter_mut().zip(&signature).for_each(|(byte, mask)| *byte ^= mask);
        let stored: Key = Sha256::digest(client_key).into();
        if !same(&stored, &self.verifier.stored_key) || !self.genuine {
            return Ok(None);
        }
        Ok(Some(format!("v={}", STANDARD.encode(hmac(&self.verifier.server_key, &parts)))))
    }
}

/// Equality whose time does not tell where the difference is (A2).
pub fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    std::str::from_utf8(bytes).map_err(|_| Malformed::new("malformed SCRAM message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed;

    impl Random for Fixed {
        fn next_u64(&self) -> u64 {
            7
        }
    }

    /// A client's side of an exchange.
    fn client(password: &str, verifier: Verifier, genuine: bool) -> Option<String> {
        let (salt, iterations) = (verifier.salt.clone(), verifier.iterations);
        let (exchange, answer) = Exchange::begin(b"n,,n=,r=abc", verifier, genuine, &Fixed).unwrap();
        let nonce = answer.split(',').next().unwrap().to_owned();
        let own = Verifier::with_salt(password, salt, iterations);
        let without_proof = format!("c=biws,{nonce}");
        let transcript = format!("n=,r=abc,{answer},{without_proof}");
        // The proof needs the client key, which a verifier does not have: made again as the RFC has it.
        let proof = own.client_proof(password, transcript.as_bytes());
        let last = format!("{without_proof},p={}", STANDARD.encode(proof));
        exchange.finish(last.as_bytes()).unwrap()
    }

    trait ClientProof {
        fn client_proof(&self, password: &str, transcript: &[u8]) -> Key;
    }

    impl ClientProof for Verifier {
        fn client_proof(&self, password: &str, transcript: &[u8]) -> Key {
            let salted = {
                // One round, so PBKDF2 is one HMAC.
                assert_eq!(self.iterations, 1);
                hmac(password.as_bytes(), &[&self.salt, &1u32.to_be_bytes()])
            };
            let mut proof = hmac(&salted, &[b"Client Key"]);
            let signature = hmac(&self.stored_key, &[transcript]);
            proof.iter_mut().zip(&signature).for_each(|(byte, mask)| *byte ^= mask);
            proof
        }
    }

    #[test]
    fn the_right_password_is_let_in_and_no_other() {
        let verifier = Verifier::with_salt("secret", vec![1; 16], 1);
        assert!(client("secret", verifier.clone(), true).is_some_and(|answer| answer.starts_with("v=")));
        assert_eq!(client("Secret", verifier.clone(), true), None);
        assert_eq!(client("secret", verifier, false), None);
    }

    #[test]
    fn a_message_that_was_tampered_with_is_refused() {
        let begin =
            |first: &[u8]| Exchange::begin(first, mock_verifier(&[3; 32], "x"), false, &Fixed).map(drop);
        assert!(begin(b"n,,n=,r=abc").is_ok());
        for first in [
            &b""[..],
            b"n",
            b"n,",
            b"n,,",
            b"n,,n=",
            b"n,,n=,r=",
            b"p=tls-unique,,n=,r=a",
            b"x,,r=a",
            b"\xff",
        ] {
            assert!(begin(first).is_err(), "{first:?}");
        }
        for last in [
            &b""[..],
            b"c=biws",
            b"c=biws,r=abc,p=AA==",
            b"c=eSws,r=abcBwAAAAAAAAAHAAAAAAAAAAcAAAAAAAAA,p=AA==",
        ] {
            let (exchange, _) =
                Exchange::begin(b"n,,n=,r=abc", mock_verifier(&[3; 32], "x"), false, &Fixed).unwrap();
            assert!(exchange.finish(last).is_err(), "{last:?}");
        }
    }
}
