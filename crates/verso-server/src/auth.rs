//! Who a client is: SCRAM-SHA-256 and SCRAM-SHA-256-PLUS, the server's side.
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
//! A3. With PLUS the client proves, too, which certificate it has seen: somebody in between who shows another one cannot pass
//!     the proof on. A client that could do so and was told that the server cannot (`y`) has been lied to, and is refused.
//!
//! Source: RFC 5802, RFC 7677; RFC 5929 for `tls-server-end-point`, the one binding that is offered.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use verso_env::Random;
use verso_session::scram::{Key, Verifier, hmac};

use crate::protocol::Malformed;

/// The mechanism that is always offered.
pub const MECHANISM: &str = "SCRAM-SHA-256";
/// The one that binds the login to the encrypted channel.
pub const MECHANISM_PLUS: &str = "SCRAM-SHA-256-PLUS";
/// What it binds it by.
const BINDING: &str = "tls-server-end-point";

/// Whether a login is bound to its channel (A3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding<'c> {
    /// It cannot be: nothing is encrypted, or the certificate has no digest.
    Impossible,
    /// It could be, and the client has chosen the mechanism without.
    NotChosen,
    /// It is, to this digest of the server's certificate.
    To(&'c [u8]),
}

/// An exchange under way: the first message was answered.
#[derive(Debug)]
pub struct Exchange {
    verifier: Verifier,
    /// The role may log in if the proof is right.
    genuine: bool,
    /// What the client's last message has as its channel binding.
    binding: Vec<u8>,
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
    /// A message that breaks the format, or whose channel binding does not belong to the mechanism.
    pub fn begin(
        first: &[u8],
        channel: Binding<'_>,
        verifier: Verifier,
        genuine: bool,
        random: &dyn Random,
    ) -> Result<(Exchange, String), Malformed> {
        let first = text(first)?;
        let wrong = || Malformed::new("malformed SCRAM message");
        let (flag, rest) = first.split_once(',').ok_or_else(wrong)?;
        let (_authorization, bare) = rest.split_once(',').ok_or_else(wrong)?;
        let digest = match (flag, flag.strip_prefix("p="), channel) {
            ("n", _, Binding::Impossible | Binding::NotChosen) | ("y", _, Binding::Impossible) => &[],
            ("y", _, Binding::NotChosen) => return Err(Malformed::new(LIED_TO)),
            (_, Some(BINDING), Binding::To(digest)) => digest,
            (_, Some(_), Binding::To(_)) => {
                return Err(Malformed::new("unsupported SCRAM channel-binding type"));
            }
            (_, Some(_), _) => {
                return Err(Malformed::new("client requires SCRAM channel binding, but it is not supported"));
            }
            ("n" | "y", None, Binding::To(_)) => {
                let text = "client selected SCRAM-SHA-256-PLUS without channel binding";
                return Err(Malformed::new(text));
            }
            _ => return Err(wrong()),
        };
        let mut binding = first.as_bytes()[..first.len() - bare.len()].to_vec();
        binding.extend_from_slice(digest);
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
        Ok((Exchange { verifier, genuine, binding, nonce, transcript }, answer))
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
        if STANDARD.decode(binding).map_err(|_| wrong())? != self.binding {
            return Err(Malformed::new("SCRAM channel binding check failed"));
        }
        if nonce != self.nonce {
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

const LIED_TO: &str = "the client supports channel binding and was told that this server does not, but it does: \
    somebody in between may have changed what the server offers";

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
        bound(password, verifier, genuine, "n,,", b"", Binding::Impossible).unwrap()
    }

    /// The same, of a client that has seen a certificate with this digest.
    fn bound(
        password: &str,
        verifier: Verifier,
        genuine: bool,
        header: &str,
        seen: &[u8],
        channel: Binding<'_>,
    ) -> Result<Option<String>, Malformed> {
        let (salt, iterations) = (verifier.salt.clone(), verifier.iterations);
        let first = format!("{header}n=,r=abc");
        let (exchange, answer) = Exchange::begin(first.as_bytes(), channel, verifier, genuine, &Fixed)?;
        let nonce = answer.split(',').next().unwrap().to_owned();
        let own = Verifier::with_salt(password, salt, iterations);
        let binding = STANDARD.encode([header.as_bytes(), seen].concat());
        let without_proof = format!("c={binding},{nonce}");
        let transcript = format!("n=,r=abc,{answer},{without_proof}");
        // The proof needs the client key, which a verifier does not have: made again as the RFC has it.
        let proof = own.client_proof(password, transcript.as_bytes());
        let last = format!("{without_proof},p={}", STANDARD.encode(proof));
        exchange.finish(last.as_bytes())
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
    fn a_login_that_is_bound_to_another_channel_is_refused() {
        let login = |header: &str, seen: &[u8], channel| {
            let verifier = Verifier::with_salt("secret", vec![1; 16], 1);
            let done = bound("secret", verifier, true, header, seen, channel);
            done.map(|signature| signature.is_some()).map_err(|error| error.what)
        };
        let (plus, own) = ("p=tls-server-end-point,,", Binding::To(&[7; 32]));
        assert_eq!(login(plus, &[7; 32], own), Ok(true));
        assert!(login(plus, &[8; 32], own).is_err(), "it has seen another certificate");
        assert!(login(plus, &[], own).is_err());
        assert!(login("n,,", &[], own).is_err(), "the mechanism with binding, and none");
        assert!(login("p=tls-unique,,", &[7; 32], own).is_err());
        assert!(login(plus, &[7; 32], Binding::NotChosen).is_err());
        // A client that can and one that cannot; the first has to be told the truth.
        assert_eq!(login("n,,", &[], Binding::NotChosen), Ok(true));
        assert_eq!(login("y,,", &[], Binding::Impossible), Ok(true));
        assert!(login("y,,", &[], Binding::NotChosen).is_err());
    }

    #[test]
    fn a_message_that_was_tampered_with_is_refused() {
        let begin = |first: &[u8]| {
            Exchange::begin(first, Binding::Impossible, mock_verifier(&[3; 32], "x"), false, &Fixed).map(drop)
        };
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
            let (exchange, _) = Exchange::begin(
                b"n,,n=,r=abc",
                Binding::Impossible,
                mock_verifier(&[3; 32], "x"),
                false,
                &Fixed,
            )
            .unwrap();
            assert!(exchange.finish(last).is_err(), "{last:?}");
        }
    }
}
