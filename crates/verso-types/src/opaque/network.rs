//! `inet` and `cidr`: addresses of version 4 and 6 with the number of bits of their network.
//!
//! Source: PostgreSQL's `network.c`, `inet_net_pton.c`, `inet_cidr_ntop.c`.

use std::fmt::Write as _;
use std::net::Ipv6Addr;

use super::{Opaque, OpaqueKind};
use crate::error::{TypeError, sqlstate};
use crate::value::Value;

/// An address and its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Of version 6?
    pub six: bool,
    /// Bits of the network.
    pub bits: u8,
    /// The address: four bytes and zeroes, or sixteen.
    pub address: [u8; 16],
    /// A `cidr`, which has no bits behind its network?
    pub cidr: bool,
}

impl Network {
    /// Bytes of an address.
    pub fn size(&self) -> usize {
        if self.six { 16 } else { 4 }
    }

    /// Bits of an address.
    pub fn bits_max(&self) -> u8 {
        if self.six { 128 } else { 32 }
    }

    /// 4 or 6.
    pub fn version(&self) -> i32 {
        if self.six { 6 } else { 4 }
    }

    /// The address, as long as it is.
    pub fn bytes(&self) -> &[u8] {
        &self.address[..self.size()]
    }

    /// Ones where the network's bits are, of an address of this version.
    pub fn mask(&self) -> [u8; 16] {
        mask(self.bits)
    }

    /// The same with other bytes of the address, computed one by one.
    #[must_use]
    pub fn map(&self, with: impl Fn(usize, u8) -> u8) -> Network {
        let mut mapped = *self;
        let size = self.size();
        mapped.address[..size].iter_mut().enumerate().for_each(|(at, byte)| *byte = with(at, *byte));
        mapped
    }

    /// The network alone, as a `cidr`.
    #[must_use]
    pub fn network(&self) -> Network {
        let mask = self.mask();
        Network { cidr: true, ..self.map(|at, byte| byte & mask[at]) }
    }

    /// Does the network of so many bits contain the other address's?
    pub fn covers(&self, other: &Network, bits: u8) -> bool {
        let mask = mask(bits);
        self.six == other.six && (0..16).all(|at| (self.address[at] ^ other.address[at]) & mask[at] == 0)
    }

    /// Whether one has the other, or they are the same.
    pub fn overlaps(&self, other: &Network) -> bool {
        self.covers(other, self.bits.min(other.bits))
    }

    /// How many bits at the front both addresses have in common, at most so many.
    pub fn common_bits(&self, other: &Network, most: u8) -> u8 {
        let different = |at: &u8| {
            let byte = usize::from(at / 8);
            (self.address[byte] ^ other.address[byte]) >> (7 - at % 8) & 1 == 1
        };
        (0..most).find(different).unwrap_or(most)
    }

    /// Reads an `inet`, or a `cidr`.
    /// # Errors
    /// 22P02.
    pub fn parse(text: &str, cidr: bool) -> Result<Network, TypeError> {
        let name = if cidr { "cidr" } else { "inet" };
        let read = if text.contains(':') { six(text) } else { four(text, cidr) };
        let (address, bits) = read.ok_or_else(|| TypeError::syntax(name, text))?;
        let network = Network { six: text.contains(':'), bits, address, cidr };
        if cidr && network.network() != network {
            let error = TypeError::new(
                sqlstate::INVALID_TEXT_REPRESENTATION,
                format!("invalid cidr value: \"{text}\""),
            );
            return Err(error.with_detail("Value has bits set to right of mask."));
        }
        Ok(network)
    }

    /// Appends the address.
    pub fn format_address(&self, out: &mut String) {
        // writing to a String cannot fail
        if !self.six {
            let [a, b, c, d, ..] = self.address;
            let _ = write!(out, "{a}.{b}.{c}.{d}");
            return;
        }
        let words: Vec<u16> =
            self.address.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
        let (start, length) = longest_zeroes(&words);
        let length = if length < 2 { 0 } else { length };
        let embedded = start == 0
            && length > 0
            && (length == 6 || length == 7 && words[7] != 1 || length == 5 && words[5] == 0xffff);
        for (at, word) in words.iter().enumerate() {
            if length > 0 && (start..start + length).contains(&at) {
                if at == start {
                    out.push(':');
                }
                continue;
            }
            if at != 0 {
                out.push(':');
            }
            if at == 6 && embedded {
                let _ = write!(
                    out,
                    "{}.{}.{}.{}",
                    self.address[12], self.address[13], self.address[14], self.address[15]
                );
                return;
            }
            let _ = write!(out, "{word:x}");
        }
        if length > 0 && start + length == 8 {
            out.push(':');
        }
    }

    /// Appends the text: the bits of the network unless an `inet` has all.
    pub fn format(&self, out: &mut String) {
        self.format_address(out);
        if self.cidr || self.bits != self.bits_max() {
            let _ = write!(out, "/{}", self.bits);
        }
    }

    /// The text with the bits of the network, whatever they are.
    pub fn shown(&self) -> String {
        let mut out = String::new();
        self.format_address(&mut out);
        let _ = write!(out, "/{}", self.bits);
        out
    }

    /// The shortest text: a `cidr` without the zeroes at its end.
    pub fn abbreviated(&self) -> String {
        let mut out = String::new();
        match (self.cidr, self.six) {
            (false, _) => self.format(&mut out),
            (true, false) => self.abbreviate_four(&mut out),
            (true, true) => self.abbreviate_six(&mut out),
        }
        out
    }

    fn abbreviate_four(&self, out: &mut String) {
        let used = usize::from(self.bits.div_ceil(8)).max(1);
        let parts: Vec<String> = self.address[..used].iter().map(u8::to_string).collect();
        let _ = write!(out, "{}/{}", parts.join("."), self.bits);
    }

    fn abbreviate_six(&self, out: &mut String) {
        if self.bits == 0 {
            return out.push_str("::/0");
        }
        let count = usize::from(self.bits.div_ceil(16)).max(2);
        let words: Vec<u16> = self
            .address
            .chunks_exact(2)
            .take(count)
            .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
            .collect();
        let (start, length) = longest_zeroes(&words);
        let embedded = length != count
            && start == 0
            && (length == 6
                || length == 5 && self.address[10] == 0xff && self.address[11] == 0xff
                || length == 7 && self.address[14] != 0 && self.address[15] != 1);
        let begin = out.len();
        for (at, word) in words.iter().enumerate() {
            if length != 0 && (start..start + length).contains(&at) {
                if at == start {
                    out.push(':');
                }
                if at == count - 1 {
                    out.push(':');
                }
                continue;
            }
            if embedded && at > 5 {
                let [high, low] = word.to_be_bytes();
                let _ = write!(out, "{}{high}", if at == 6 { ':' } else { '.' });
                if at != 7 || self.bits > 120 {
                    let _ = write!(out, ".{low}");
                }
                continue;
            }
            if out.len() > begin {
                out.push(':');
            }
            let _ = write!(out, "{word:x}");
        }
        let _ = write!(out, "/{}", self.bits);
    }

    /// The stored value.
    pub fn value(&self) -> Opaque {
        let mut bytes = Vec::with_capacity(2 + 2 * self.size());
        bytes.push(if self.six { 6 } else { 4 });
        bytes.extend_from_slice(self.network().bytes());
        bytes.push(self.bits);
        bytes.extend_from_slice(self.bytes());
        Opaque::new(if self.cidr { OpaqueKind::Cidr } else { OpaqueKind::Inet }, bytes)
    }

    /// As [`Network::value`], a value.
    pub fn into_value(self) -> Value {
        Value::Opaque(self.value())
    }

    /// The address that a stored value is.
    pub fn of(value: &Opaque) -> Network {
        let bytes = value.bytes();
        let six = bytes.first() == Some(&6);
        let size = if six { 16 } else { 4 };
        let mut network = Network { six, bits: 0, address: [0; 16], cidr: value.kind() == OpaqueKind::Cidr };
        if let (Some(bits), Some(address)) = (bytes.get(1 + size), bytes.get(2 + size..2 + 2 * size)) {
            network.bits = (*bits).min(network.bits_max());
            network.address[..size].copy_from_slice(address);
        }
        network
    }

    pub(super) fn send(&self, out: &mut Vec<u8>) {
        out.extend([if self.six { 3 } else { 2 }, self.bits, u8::from(self.cidr), self.size() as u8]);
        out.extend_from_slice(self.bytes());
    }

    pub(super) fn receive(bytes: &[u8], cidr: bool) -> Result<Network, TypeError> {
        let name = if cidr { "cidr" } else { "inet" };
        let flaw =
            |what: &str| crate::wire::malformed(&format!("invalid {what} in external \"{name}\" value"));
        if bytes.first().is_some_and(|family| !matches!(family, 2 | 3)) {
            return Err(flaw("address family"));
        }
        if let [family, bits, ..] = bytes
            && *bits > if *family == 3 { 128 } else { 32 }
        {
            return Err(flaw("bits"));
        }
        let [family, bits, _, size, address @ ..] = bytes else { return Err(crate::wire::insufficient()) };
        let mut network = Network { six: *family == 3, bits: *bits, address: [0; 16], cidr };
        if usize::from(*size) != network.size() {
            return Err(flaw("length"));
        }
        let wanted = network.size();
        match address.len().cmp(&wanted) {
            std::cmp::Ordering::Less => return Err(crate::wire::insufficient()),
            std::cmp::Ordering::Greater => return Err(crate::wire::malformed(crate::wire::SURPLUS)),
            std::cmp::Ordering::Equal => network.address[..wanted].copy_from_slice(address),
        }
        if cidr && network.network() != network {
            let error = crate::wire::malformed("invalid external \"cidr\" value");
            return Err(error.with_detail("Value has bits set to right of mask."));
        }
        Ok(network)
    }
}

/// So many ones, then zeroes.
fn mask(bits: u8) -> [u8; 16] {
    let ones = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
    ones.to_be_bytes()
}

/// Where the longest run of zeroes begins, and how long it is.
fn longest_zeroes(words: &[u16]) -> (usize, usize) {
    let mut best = (0, 0);
    let mut at = 0;
    while at < words.len() {
        let length = words[at..].iter().take_while(|word| **word == 0).count();
        if length > best.1 {
            best = (at, length);
        }
        at += length.max(1);
    }
    best
}

/// The number of bits behind a slash: digits and nothing else.
fn bits_of(text: &str, most: u8) -> Option<u8> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|bits| digits && *bits <= most)
}

fn six(text: &str) -> Option<([u8; 16], u8)> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, bits_of(bits, 128)?),
        None => (text, 128),
    };
    Some((address.parse::<Ipv6Addr>().ok()?.octets(), bits))
}

/// An `inet` may leave bytes out only where it says how many bits there are, a `cidr` always.
fn four(text: &str, cidr: bool) -> Option<([u8; 16], u8)> {
    let (written, bits) = match text.split_once('/') {
        Some((written, bits)) => (written, Some(bits_of(bits, 32)?)),
        None => (text, None),
    };
    let mut address = [0; 16];
    let mut used = 0;
    if let Some(digits) = written.strip_prefix("0x").or_else(|| written.strip_prefix("0X")).filter(|_| cidr) {
        if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for pair in digits.as_bytes().chunks(2) {
            // a lone last digit is the upper half of its byte
            let digit = |at: usize| pair.get(at).and_then(|byte| char::from(*byte).to_digit(16)).unwrap_or(0);
            address[used] = (digit(0) * 16 + digit(1)) as u8;
            used += 1;
        }
    } else {
        for part in written.split('.') {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let number = part.parse::<u32>().ok().and_then(|number| u8::try_from(number).ok());
            *address[..4].get_mut(used)? = number.filter(|_| digits)?;
            used += 1;
        }
    }
    let written_bits = used as u8 * 8;
    let bits = match (bits, cidr) {
        (Some(bits), false) if bits / 8 > used as u8 => return None,
        (Some(bits), _) => bits,
        (None, false) if used < 4 => return None,
        (None, false) => 32,
        (None, true) => {
            let class = match address[0] {
                240.. => 32,
                224.. => 8,
                192.. => 24,
                128.. => 16,
                _ => 8,
            };
            let wide = class.max(written_bits);
            if wide == 8 && address[0] == 224 { 4 } else { wide }
        }
    };
    Some((address, bits))
}
