//! `encrypt` and `decrypt`: block ciphers with a key as it is, without a check of what comes out.
//!
//! A cipher is named as in PostgreSQL: `aes`, `aes-cbc/pad:pkcs`, `bf-cfb`. A key longer than the cipher takes is cut, a
//! shorter one and a shorter first block are filled up with zeros.

use aes::cipher::{Block, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use blowfish::Blowfish;
use cast5::Cast5;
use verso_types::TypeError;

use super::des::Des;
use crate::context::EvalContext;
use crate::error::{ExecError, Result};

/// Bytes between two looks whether the statement is cancelled.
const STEP: usize = 1 << 20;
/// The shortest key that CAST5 has; shorter ones are the same as with zeros behind them.
const CAST5_KEY_MIN: usize = 5;

enum Cipher {
    Aes128(Aes128),
    Aes192(Aes192),
    Aes256(Aes256),
    Blowfish(Box<Blowfish>),
    Cast5(Cast5),
    Des(Des),
    Des3([Des; 3]),
}

fn encrypt_with<C: BlockCipherEncrypt>(cipher: &C, block: &mut [u8]) {
    if let Ok(block) = <&mut Block<C>>::try_from(block) {
        cipher.encrypt_block(block);
    }
}

fn decrypt_with<C: BlockCipherDecrypt>(cipher: &C, block: &mut [u8]) {
    if let Ok(block) = <&mut Block<C>>::try_from(block) {
        cipher.decrypt_block(block);
    }
}

/// A block of eight bytes as a number, and back.
fn as_number(block: &mut [u8], change: impl Fn(u64) -> u64) {
    if let Ok(block) = <&mut [u8; 8]>::try_from(block) {
        *block = change(u64::from_be_bytes(*block)).to_be_bytes();
    }
}

impl Cipher {
    fn block_bytes(&self) -> usize {
        match self {
            Cipher::Aes128(_) | Cipher::Aes192(_) | Cipher::Aes256(_) => 16,
            Cipher::Blowfish(_) | Cipher::Cast5(_) | Cipher::Des(_) | Cipher::Des3(_) => 8,
        }
    }

    fn encrypt(&self, block: &mut [u8]) {
        match self {
            Cipher::Aes128(cipher) => encrypt_with(cipher, block),
            Cipher::Aes192(cipher) => encrypt_with(cipher, block),
            Cipher::Aes256(cipher) => encrypt_with(cipher, block),
            Cipher::Blowfish(cipher) => encrypt_with(&**cipher, block),
            Cipher::Cast5(cipher) => encrypt_with(cipher, block),
            Cipher::Des(cipher) => as_number(block, |block| cipher.encrypted(block, 0, 1)),
            Cipher::Des3([a, b, c]) => {
                as_number(block, |block| c.encrypted(b.decrypted(a.encrypted(block, 0, 1)), 0, 1));
            }
        }
    }

    fn decrypt(&self, block: &mut [u8]) {
        match self {
            Cipher::Aes128(cipher) => decrypt_with(cipher, block),
            Cipher::Aes192(cipher) => decrypt_with(cipher, block),
            Cipher::Aes256(cipher) => decrypt_with(cipher, block),
            Cipher::Blowfish(cipher) => decrypt_with(&**cipher, block),
            Cipher::Cast5(cipher) => decrypt_with(cipher, block),
            Cipher::Des(cipher) => as_number(block, |block| cipher.decrypted(block)),
            Cipher::Des3([a, b, c]) => {
                as_number(block, |block| a.decrypted(b.encrypted(c.decrypted(block), 0, 1)));
            }
        }
    }
}

/// How blocks follow each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Each by itself.
    Ecb,
    /// Each with the one before.
    Cbc,
    /// As a stream of bytes.
    Cfb,
}

/// A cipher as its name says it.
struct Named {
    cipher: &'static str,
    mode: Mode,
    /// Whether what is encrypted is filled up to whole blocks.
    pads: bool,
}

#[cold]
fn unusable(name: &str, why: &str) -> ExecError {
    TypeError::new("22023", format!("Cannot use \"{name}\": {why}")).into()
}

impl Named {
    fn of(given: &str) -> Result<Named> {
        let name = given.to_ascii_lowercase();
        let unknown = || unusable(&name, "No such cipher algorithm");
        let mut words = name.split('/');
        let (cipher, mode) = match words.next().unwrap_or_default() {
            "bf" | "blowfish" | "bf-cbc" | "blowfish-cbc" => ("bf", Mode::Cbc),
            "bf-ecb" | "blowfish-ecb" => ("bf", Mode::Ecb),
            "bf-cfb" | "blowfish-cfb" => ("bf", Mode::Cfb),
            "des" | "des-cbc" => ("des", Mode::Cbc),
            "des-ecb" => ("des", Mode::Ecb),
            "3des" | "3des-cbc" | "des3-cbc" => ("des3", Mode::Cbc),
            "3des-ecb" | "des3-ecb" => ("des3", Mode::Ecb),
            "cast5" | "cast5-cbc" => ("cast5", Mode::Cbc),
            "cast5-ecb" => ("cast5", Mode::Ecb),
            "aes" | "aes-cbc" | "rijndael" | "rijndael-cbc" => ("aes", Mode::Cbc),
            "aes-ecb" | "rijndael-ecb" => ("aes", Mode::Ecb),
            "aes-cfb" => ("aes", Mode::Cfb),
            _ => return Err(unknown()),
        };
        let mut pads = true;
        for word in words.filter(|word| !word.is_empty()) {
            let (option, value) =
                word.split_once(':').ok_or_else(|| unusable(&name, "Badly formatted type"))?;
            pads = match (option, value) {
                ("pad", "pkcs") => true,
                ("pad", "none") => false,
                ("pad", _) => return Err(unknown()),
                _ => return Err(unusable(&name, "Unknown option")),
            };
        }
        Ok(Named { cipher, mode, pads })
    }

    /// With a key; `None` where it has no use for that.
    fn with_key(&self, key: &[u8]) -> Option<Cipher> {
        let filled = |bytes: usize| {
            let mut filled = key.get(..bytes).unwrap_or(key).to_vec();
            filled.resize(bytes, 0);
            filled
        };
        let des = |bytes: &[u8]| Des::new(bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)));
        Some(match self.cipher {
            "aes" if key.len() <= 16 => Cipher::Aes128(Aes128::new_from_slice(&filled(16)).ok()?),
            "aes" if key.len() <= 24 => Cipher::Aes192(Aes192::new_from_slice(&filled(24)).ok()?),
            "aes" => Cipher::Aes256(Aes256::new_from_slice(&filled(32)).ok()?),
            "bf" if key.is_empty() => return None,
            "bf" => {
                let mut cipher = Box::new(Blowfish::bc_init_state());
                cipher.bc_expand_key(key.get(..56).unwrap_or(key));
                Cipher::Blowfish(cipher)
            }
            "cast5" if key.is_empty() => return None,
            "cast5" => {
                Cipher::Cast5(Cast5::new_from_slice(&filled(key.len().clamp(CAST5_KEY_MIN, 16))).ok()?)
            }
            "des" => Cipher::Des(des(&filled(8))),
            _ => {
                let keys = filled(24);
                Cipher::Des3([des(&keys[..8]), des(&keys[8..16]), des(&keys[16..])])
            }
        })
    }
}

fn xor(block: &mut [u8], other: &[u8]) {
    block.iter_mut().zip(other).for_each(|(own, other)| *own ^= other);
}

/// What is done, as errors name it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Encrypt,
    Decrypt,
}

/// What a cipher makes of some bytes; `first` is what stands in for a block before the first one, and `function` is how
/// errors name the call.
pub(super) fn run(
    cx: &EvalContext<'_>,
    way: Way,
    (data, key, first): (&[u8], &[u8], &[u8]),
    (name, function): (&str, &str),
) -> Result<Vec<u8>> {
    let failed = |what: &str| ExecError::from(TypeError::new("39000", format!("{function} error: {what}")));
    let wrong = || failed(if way == Way::Encrypt { "Encryption failed" } else { "Decryption failed" });
    let named = Named::of(name)?;
    let cipher = named.with_key(key).ok_or_else(|| failed("Cipher cannot be initialized"))?;
    let block = cipher.block_bytes();
    let mut before = first.get(..block).unwrap_or(first).to_vec();
    before.resize(block, 0);
    let pads = named.pads && named.mode != Mode::Cfb;
    let mut bytes = Vec::with_capacity(data.len() + block);
    bytes.extend_from_slice(data);
    if pads && way == Way::Encrypt {
        let missing = block - bytes.len() % block;
        bytes.resize(bytes.len() + missing, missing as u8);
    }
    if named.mode != Mode::Cfb && bytes.len() % block != 0 {
        return Err(wrong());
    }
    for piece in bytes.chunks_mut(STEP) {
        cx.runtime.check_cancelled()?;
        for own in piece.chunks_mut(block) {
            match (named.mode, way) {
                (Mode::Ecb, Way::Encrypt) => cipher.encrypt(own),
                (Mode::Ecb, Way::Decrypt) => cipher.decrypt(own),
                (Mode::Cbc, Way::Encrypt) => {
                    xor(own, &before);
                    cipher.encrypt(own);
                    before.copy_from_slice(own);
                }
                (Mode::Cbc, Way::Decrypt) => {
                    let encrypted = own.to_vec();
                    cipher.decrypt(own);
                    xor(own, &before);
                    before = encrypted;
                }
                (Mode::Cfb, way) => {
                    let encrypted = own.to_vec();
                    cipher.encrypt(&mut before);
                    xor(own, &before);
                    let next = if way == Way::Encrypt { &*own } else { &encrypted[..] };
                    before[..next.len()].copy_from_slice(next);
                }
            }
        }
    }
    if pads && way == Way::Decrypt {
        let count = usize::from(*bytes.last().ok_or_else(wrong)?);
        let kept = bytes.len().checked_sub(count).filter(|_| (1..=block).contains(&count));
        let kept = kept.filter(|kept| bytes[*kept..].iter().all(|byte| usize::from(*byte) == count));
        bytes.truncate(kept.ok_or_else(wrong)?);
    }
    Ok(bytes)
}
