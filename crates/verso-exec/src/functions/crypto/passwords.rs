//! `crypt` and `gen_salt`: hashes of passwords, which tell by their beginning how they are made.
//!
//! | salt begins with | |
//! |---|---|
//! | `$2a$`, `$2x$` | Blowfish; `$2x$` as programs made it that took letters for numbers with a sign |
//! | `$1$` | MD5 |
//! | `$5$`, `$6$` | SHA-256, SHA-512 |
//! | `_` | DES, of passwords of any length |
//! | anything else | DES, of eight bytes |
//!
//! What may last looks after each few steps whether the statement is cancelled. Sources: Provos and Mazières, 1999; Drepper,
//! `SHA-crypt.txt`; PostgreSQL's `pgcrypto`.

use blowfish::Blowfish;
use md5::Md5;
use sha2::digest::Digest;
use sha2::{Sha256, Sha512};
use verso_types::{TypeError, sqlstate};

use super::des::Des;
use crate::context::{EvalContext, Notice};
use crate::error::{ExecError, Result};
use crate::plan::RaiseLevel;

/// Digits to the base 64, by their value.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Those of Blowfish's hashes.
const OTHER_DIGITS: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Encryptions by DES, and rounds of digests, between two looks whether the statement is cancelled.
const STEP: u32 = 1024;
/// Rounds of SHA without a word on them, and their bounds.
const SHA_ROUNDS: u32 = 5000;
const SHA_ROUNDS_MIN: i64 = 1000;
const SHA_ROUNDS_MAX: i64 = 999_999_999;
/// Most letters of a salt of SHA and of MD5.
const SHA_SALT_MAX: usize = 16;
const MD5_SALT_MAX: usize = 8;

#[cold]
fn refused(text: impl Into<String>) -> ExecError {
    TypeError::new("22023", text).into()
}

#[cold]
fn invalid_salt() -> ExecError {
    refused("invalid salt")
}

#[cold]
fn wrong_rounds() -> ExecError {
    refused("gen_salt: Incorrect number of rounds")
}

/// Appends digits of a number, the lowest first.
fn push_digits(mut number: u32, count: usize, out: &mut String) {
    for _ in 0..count {
        out.push(char::from(DIGITS[number as usize & 63]));
        number >>= 6;
    }
}

/// The hash of a password, with what the salt says.
pub(super) fn crypt(cx: &EvalContext<'_>, password: &str, salt: &str) -> Result<String> {
    let bytes = password.as_bytes();
    match salt.as_bytes() {
        [b'$', b'2', b'a' | b'x', b'$', ..] => with_blowfish(cx, bytes, salt),
        [b'$', b'2', b'$', ..] => Err(no_result()),
        [b'$', b'1', b'$', ..] => with_md5(bytes, &salt[3..]),
        [b'$', b'5', b'$', ..] => with_sha::<Sha256>(cx, bytes, salt),
        [b'$', b'6', b'$', ..] => with_sha::<Sha512>(cx, bytes, salt),
        [b'_', ..] => with_des_of_any_length(cx, bytes, salt),
        [first, second, ..] => {
            let key = &mut bytes.iter().copied();
            let number = value_of(*second) << 6 | value_of(*first);
            let begin = salt.get(..2).ok_or_else(invalid_salt)?.to_owned();
            with_des(cx, &Des::new(next_key(0, key)), (number, 25), begin)
        }
        _ => Err(invalid_salt()),
    }
}

#[cold]
fn no_result() -> ExecError {
    TypeError::new("39000", "crypt(3) returned NULL").into()
}

/// The value of a digit; what is none counts as zero.
fn value_of(digit: u8) -> u32 {
    DIGITS.iter().position(|own| *own == digit).map_or(0, |at| at as u32)
}

/// A key and the next eight bytes of a password, which have seven bits each.
fn next_key(key: u64, password: &mut impl Iterator<Item = u8>) -> u64 {
    let mut bytes = key.to_be_bytes();
    for (own, byte) in bytes.iter_mut().zip(password) {
        *own ^= byte << 1;
    }
    u64::from_be_bytes(bytes)
}

fn with_des(cx: &EvalContext<'_>, des: &Des, (salt, count): (u32, u32), mut out: String) -> Result<String> {
    if count == 0 {
        return Err(no_result());
    }
    let (mut block, mut left) = (0, count);
    while left > 0 {
        cx.runtime.check_cancelled()?;
        let step = left.min(STEP);
        block = des.encrypted(block, salt, step);
        left -= step;
    }
    // Two bits more than the block has, which are zero.
    let bits = u128::from(block) << 2;
    out.extend((0..11).rev().map(|n| char::from(DIGITS[(bits >> (6 * n)) as usize & 63])));
    Ok(out)
}

fn with_des_of_any_length(cx: &EvalContext<'_>, password: &[u8], salt: &str) -> Result<String> {
    let begin = salt.get(..9).ok_or_else(invalid_salt)?;
    let number = |digits: &[u8]| digits.iter().rev().fold(0, |all, digit| all << 6 | value_of(*digit));
    let digits = begin.as_bytes();
    let (count, number) = (number(&digits[1..5]), number(&digits[5..9]));
    let mut rest = password.iter().copied().peekable();
    let mut key = next_key(0, &mut rest.by_ref().take(8));
    let mut des = Des::new(key);
    while rest.peek().is_some() {
        cx.runtime.check_cancelled()?;
        key = next_key(des.encrypted(key, 0, 1), &mut rest.by_ref().take(8));
        des = Des::new(key);
    }
    with_des(cx, &des, (number, count), begin.to_owned())
}

/// `salt` is what stands behind `$1$`.
fn with_md5(password: &[u8], salt: &str) -> Result<String> {
    let whole = salt.split('$').next().unwrap_or_default();
    let salt = whole.get(..MD5_SALT_MAX.min(whole.len())).ok_or_else(invalid_salt)?;
    let inner = Md5::new().chain_update(password).chain_update(salt).chain_update(password).finalize();
    let mut digest = Md5::new().chain_update(password).chain_update("$1$").chain_update(salt);
    for piece in password.chunks(inner.len()) {
        digest.update(&inner[..piece.len()]);
    }
    let mut bits = password.len();
    while bits > 0 {
        digest.update(if bits & 1 == 1 { &[0][..] } else { &password[..1] });
        bits >>= 1;
    }
    let mut last = digest.finalize();
    for round in 0..1000 {
        let odd = round % 2 == 1;
        let mut digest = Md5::new();
        digest.update(if odd { password } else { &last[..] });
        if round % 3 != 0 {
            digest.update(salt);
        }
        if round % 7 != 0 {
            digest.update(password);
        }
        digest.update(if odd { &last[..] } else { password });
        last = digest.finalize();
    }
    let mut out = format!("$1${salt}$");
    for (a, b, c) in [(0, 6, 12), (1, 7, 13), (2, 8, 14), (3, 9, 15), (4, 10, 5)] {
        push_digits(u32::from_be_bytes([0, last[a], last[b], last[c]]), 4, &mut out);
    }
    push_digits(last[11].into(), 2, &mut out);
    Ok(out)
}

/// `rounds=N$` in front of a salt, and what stands behind it.
fn rounds_of<'s>(cx: &EvalContext<'_>, salt: &'s str) -> Result<(Option<u32>, &'s str)> {
    let Some(given) = salt.strip_prefix("rounds=") else { return Ok((None, salt)) };
    let unread = || TypeError::new(sqlstate::SYNTAX_ERROR, "could not parse salt options");
    let (number, rest) = given.split_once('$').ok_or_else(unread)?;
    let number: i64 = if number.is_empty() { 0 } else { number.parse().map_err(|_| unread())? };
    let kept = number.clamp(SHA_ROUNDS_MIN, SHA_ROUNDS_MAX);
    if kept != number {
        let (how, bound) = match number < kept {
            true => ("is below", "supported value"),
            false => ("exceeds", "maximum supported value"),
        };
        let message = format!("rounds={number} {how} {bound} ({kept}), using {kept} instead");
        let (level, sqlstate) = (RaiseLevel::Notice, "22003".into());
        let notice = Notice { level, sqlstate, message, detail: None, hint: None, context: None };
        cx.services.notices.notice(notice, cx.services.memory)?;
    }
    Ok((u32::try_from(kept).ok(), rest))
}

/// The letters of a salt of SHA, up to the `$` behind them.
fn letters_of(salt: &str) -> Result<String> {
    let mut letters = String::new();
    for (_, letter) in salt.char_indices().take_while(|(at, _)| *at < SHA_SALT_MAX) {
        match letter {
            '$' if letters.is_empty() => {}
            '$' => break,
            letter if letter.is_ascii() && DIGITS.contains(&(letter as u8)) => letters.push(letter),
            letter => return Err(refused(format!("invalid character in salt string: \"{letter}\""))),
        }
    }
    Ok(letters)
}

/// The digest, again and again, as long as something else is.
fn repeated(digest: &[u8], length: usize) -> Vec<u8> {
    digest.iter().copied().cycle().take(length).collect()
}

fn with_sha<D: Digest>(cx: &EvalContext<'_>, password: &[u8], salt: &str) -> Result<String> {
    let (given, rest) = rounds_of(cx, &salt[3..])?;
    let letters = letters_of(rest)?;
    // PostgreSQL takes as many bytes from where the salt begins, also where it has passed over a `$`.
    let raw = &rest.as_bytes()[..letters.len()];
    let inner = D::new().chain_update(password).chain_update(raw).chain_update(password).finalize();
    let mut digest = D::new().chain_update(password).chain_update(&letters);
    digest.update(repeated(&inner, password.len()));
    let mut bits = password.len();
    while bits > 0 {
        digest.update(if bits & 1 == 1 { &inner[..] } else { password });
        bits >>= 1;
    }
    let mut last = digest.finalize();
    let mut of_password = D::new();
    for n in 0..password.len() {
        if n % STEP as usize == 0 {
            cx.runtime.check_cancelled()?;
        }
        of_password.update(password);
    }
    let of_password = repeated(&of_password.finalize(), password.len());
    let mut of_salt = D::new();
    for _ in 0..16 + u32::from(last[0]) {
        of_salt.update(raw);
    }
    let of_salt = repeated(&of_salt.finalize(), raw.len());
    for round in 0..given.unwrap_or(SHA_ROUNDS) {
        if round % STEP == 0 {
            cx.runtime.check_cancelled()?;
        }
        let odd = round % 2 == 1;
        let mut digest = D::new();
        digest.update(if odd { &of_password[..] } else { &last[..] });
        if round % 3 != 0 {
            digest.update(&of_salt);
        }
        if round % 7 != 0 {
            digest.update(&of_password);
        }
        digest.update(if odd { &last[..] } else { &of_password[..] });
        last = digest.finalize();
    }
    let mut out = salt[..3].to_owned();
    if let Some(rounds) = given {
        out.push_str(&format!("rounds={rounds}$"));
    }
    out.push_str(&letters);
    out.push('$');
    push_sha(&last, &mut out);
    Ok(out)
}

/// Bytes of a digest in the order that its hash has them in.
fn push_sha(digest: &[u8], out: &mut String) {
    let long = digest.len() == 64;
    let third = digest.len() / 3;
    let (mut a, mut b, mut c) = (0, third, 2 * third);
    for _ in 0..third {
        push_digits(u32::from_be_bytes([0, digest[a], digest[b], digest[c]]), 4, out);
        (a, b, c) = if long { (b + 1, c + 1, a + 1) } else { (c + 1, a + 1, b + 1) };
    }
    match long {
        true => push_digits(digest[63].into(), 2, out),
        false => push_digits(u32::from_be_bytes([0, 0, digest[31], digest[30]]), 3, out),
    }
}

/// The value of a digit of Blowfish's.
fn other_value_of(digit: u8) -> Result<u32> {
    OTHER_DIGITS.iter().position(|own| *own == digit).map(|at| at as u32).ok_or_else(invalid_salt)
}

/// The 16 bytes that 22 digits are, the highest bits first; four bits of the last digit are left over.
fn salt_bytes(digits: &[u8]) -> Result<[u8; 16]> {
    let mut bits = 0_u128;
    let (last, others) = digits.split_last().ok_or_else(invalid_salt)?;
    for digit in others {
        bits = bits << 6 | u128::from(other_value_of(*digit)?);
    }
    Ok((bits << 2 | u128::from(other_value_of(*last)? >> 4)).to_be_bytes())
}

/// Appends bytes as Blowfish's digits, the highest bits first.
fn push_other_digits(bytes: &[u8], out: &mut String) {
    for piece in bytes.chunks(3) {
        let mut group = [0; 4];
        group[1..=piece.len()].copy_from_slice(piece);
        let number = u32::from_be_bytes(group);
        let digit = |n: usize| char::from(OTHER_DIGITS[(number >> (18 - 6 * n)) as usize & 63]);
        out.extend((0..=piece.len()).map(digit));
    }
}

/// The password and a zero behind it, again and again, as the 18 words of a key.
fn blowfish_key(password: &[u8], signed: bool) -> Vec<u8> {
    let mut bytes = password.iter().copied().chain([0]).cycle();
    let word = |_| {
        let next = |word: u32, byte: u8| {
            let byte = if signed { i32::from(byte.cast_signed()).cast_unsigned() } else { byte.into() };
            word << 8 | byte
        };
        bytes.by_ref().take(4).fold(0, next)
    };
    (0..18).map(word).flat_map(u32::to_be_bytes).collect()
}

fn with_blowfish(cx: &EvalContext<'_>, password: &[u8], salt: &str) -> Result<String> {
    let [_, _, form, _, tens @ b'0'..=b'3', ones @ b'0'..=b'9', b'$', digits @ ..] = salt.as_bytes() else {
        return Err(invalid_salt());
    };
    let cost = u32::from(tens - b'0') * 10 + u32::from(ones - b'0');
    let digits = digits.get(..22).filter(|_| (4..=31).contains(&cost)).ok_or_else(invalid_salt)?;
    let bytes = salt_bytes(digits)?;
    let key = blowfish_key(password, *form == b'x');
    let mut state: Blowfish = Blowfish::bc_init_state();
    state.salted_expand_key(&bytes, &key);
    for _ in 0..1_u32 << cost {
        cx.runtime.check_cancelled()?;
        state.bc_expand_key(&key);
        state.bc_expand_key(&bytes);
    }
    let mut hash = Vec::with_capacity(24);
    for pair in b"OrpheanBeholderScryDoubt".chunks_exact(8) {
        let block = pair.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
        let mut words = [(block >> 32) as u32, block as u32];
        for _ in 0..64 {
            words = state.bc_encrypt(words);
        }
        hash.extend(words.into_iter().flat_map(u32::to_be_bytes));
    }
    let mut out = salt[..7].to_owned();
    push_other_digits(&bytes, &mut out);
    push_other_digits(&hash[..23], &mut out);
    Ok(out)
}

/// A salt for an algorithm; no rounds are those that it has by itself.
pub(super) fn gen_salt(cx: &EvalContext<'_>, algorithm: &str, rounds: i32) -> Result<String> {
    let mut bytes = [0; 16];
    for part in bytes.chunks_exact_mut(8) {
        part.copy_from_slice(&cx.services.random.unseeded_u64().to_le_bytes());
    }
    let within = |default: i32, least: i32, most: i32| match rounds {
        0 => Ok(default),
        rounds if (least..=most).contains(&rounds) => Ok(rounds),
        _ => Err(wrong_rounds()),
    };
    let fixed = |own: i32| if rounds == 0 || rounds == own { Ok(()) } else { Err(wrong_rounds()) };
    let letters = |bytes: &[u8]| -> String {
        bytes.iter().map(|byte| char::from(DIGITS[usize::from(byte & 63)])).collect()
    };
    match algorithm.to_ascii_lowercase().as_str() {
        "des" => fixed(25).map(|()| letters(&bytes[..2])),
        "md5" => fixed(1000).map(|()| format!("$1${}", letters(&bytes[..8]))),
        "xdes" => {
            let rounds = within(29 * 25, 1, 0xff_ffff)?;
            // An even number would help those who look for weak keys.
            if rounds % 2 == 0 {
                return Err(wrong_rounds());
            }
            let mut out = String::from("_");
            push_digits(rounds.cast_unsigned(), 4, &mut out);
            Ok(out + &letters(&bytes[..4]))
        }
        "bf" => {
            let mut out = format!("$2a${:02}$", within(6, 4, 31)?);
            push_other_digits(&bytes, &mut out);
            Ok(out)
        }
        name @ ("sha256crypt" | "sha512crypt") => {
            let rounds = within(SHA_ROUNDS.cast_signed(), SHA_ROUNDS_MIN as i32, SHA_ROUNDS_MAX as i32)?;
            let form = if name == "sha256crypt" { 5 } else { 6 };
            Ok(format!("${form}$rounds={rounds}${}", letters(&bytes)))
        }
        _ => Err(refused("gen_salt: Unknown salt algorithm")),
    }
}
