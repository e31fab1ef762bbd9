//! What a certificate says: as much of X.509 as logins need. Whether it can be trusted rustls has found out.
//!
//! ```text
//! Certificate  SEQUENCE { tbs, SEQUENCE { OID of the signature's algorithm … }, signature }
//! tbs          SEQUENCE { [0] version?, serial, algorithm, issuer, validity, subject, … }
//! subject      SEQUENCE of SET of SEQUENCE { OID, text }
//! ```
//!
//! Source: RFC 5280, X.690 (DER); the binding of channels RFC 5929, section 4.

use sha2::{Digest, Sha256, Sha384, Sha512};

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OID: u8 = 0x06;
const VERSION: u8 = 0xa0;
/// `id-at-commonName`, 2.5.4.3.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// UTF8String, PrintableString, IA5String.
const TEXTS: [u8; 3] = [0x0c, 0x13, 0x16];
/// `sha256WithRSAEncryption` and its relatives but for the last part, 1.2.840.113549.1.1.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
/// `ecdsa-with-SHA2` but for the last part, 1.2.840.10045.4.3.
const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
/// `ecdsa-with-SHA1`, 1.2.840.10045.4.1.
const ECDSA_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01];

/// Elements of DER, one behind the other.
#[derive(Clone, Copy)]
struct Elements<'d>(&'d [u8]);

impl<'d> Iterator for Elements<'d> {
    type Item = (u8, &'d [u8]);

    fn next(&mut self) -> Option<(u8, &'d [u8])> {
        let (&[tag, length], rest) = self.0.split_first_chunk()?;
        let (length, rest) = match length {
            short @ 0..=0x7f => (usize::from(short), rest),
            long @ 0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }
}

impl<'d> Elements<'d> {
    /// The next element, which is to have this tag.
    fn get(&mut self, tag: u8) -> Option<Elements<'d>> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, content)| Elements(content))
    }
}

/// The common name of the subject; none unless there is exactly one that is a text.
pub fn common_name(der: &[u8]) -> Option<String> {
    let mut tbs = Elements(der).get(SEQUENCE)?.get(SEQUENCE)?;
    let mut version = tbs;
    if version.get(VERSION).is_some() {
        tbs = version;
    }
    // The serial number, the algorithm, the issuer, how long it is valid.
    let mut subject =
        { tbs }.nth(4).filter(|(tag, _)| *tag == SEQUENCE).map(|(_, content)| Elements(content))?;
    let mut name = None;
    while let Some(mut part) = subject.get(SET) {
        while let Some(mut attribute) = part.get(SEQUENCE) {
            if attribute.get(OID)?.0 != COMMON_NAME {
                continue;
            }
            let (tag, text) = attribute.next().filter(|(tag, _)| TEXTS.contains(tag))?;
            let _ = tag;
            // One with a zero in it would look like another one where texts end with it.
            let text = std::str::from_utf8(text).ok().filter(|text| !text.contains('\0'))?;
            if name.replace(text.to_owned()).is_some() {
                return None;
            }
        }
    }
    name
}

/// What `tls-server-end-point` binds a login to: the certificate's digest, by the algorithm of its signature, or SHA-256 where
/// that is weaker. None where the algorithm has no digest of its own.
pub fn end_point(der: &[u8]) -> Option<Vec<u8>> {
    let mut certificate = Elements(der).get(SEQUENCE)?;
    certificate.get(SEQUENCE)?;
    let algorithm = certificate.get(SEQUENCE)?.get(OID)?.0;
    let bits = match algorithm.split_last()? {
        (4 | 5, RSA) => 256, // MD5, SHA-1
        (11, RSA) => 256,
        (12, RSA) => 384,
        (13, RSA) => 512,
        (2, ECDSA) => 256,
        (3, ECDSA) => 384,
        (4, ECDSA) => 512,
        _ if algorithm == ECDSA_SHA1 => 256,
        _ => return None,
    };
    Some(match bits {
        256 => Sha256::digest(der).to_vec(),
        384 => Sha384::digest(der).to_vec(),
        _ => Sha512::digest(der).to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;

    fn of(name: &str) -> Vec<u8> {
        let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/tls").join(name);
        CertificateDer::from_pem_file(path).unwrap().to_vec()
    }

    #[test]
    fn names_and_digests_of_certificates() {
        assert_eq!(common_name(&of("server.crt")).as_deref(), Some("localhost"));
        assert_eq!(common_name(&of("ann.crt")).as_deref(), Some("ann"));
        assert_eq!(common_name(&of("two-names.crt")), None);
        assert_eq!(end_point(&of("server.crt")).map(|digest| digest.len()), Some(32));
        assert_eq!(end_point(&of("ann.crt")).map(|digest| digest.len()), Some(48), "signed with SHA-384");
        assert_eq!(end_point(&of("two-names.crt")), None, "Ed25519 has no digest of its own");
    }

    #[test]
    fn certificates_that_are_cut_off_or_wrong_say_nothing() {
        let whole = of("ann.crt");
        for length in 0..whole.len() {
            assert_eq!(common_name(&whole[..length]), None);
            assert_eq!(end_point(&whole[..length]), None);
        }
        for at in 0..whole.len() {
            let mut wrong = whole.clone();
            wrong[at] ^= 0xff;
            let _ = (common_name(&wrong), end_point(&wrong));
        }
    }
}
