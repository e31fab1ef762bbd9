//! Addresses: `inet`, `cidr`, `macaddr`, `macaddr8`.

use verso_types::opaque::hardware::Hardware;
use verso_types::opaque::network::Network;
use verso_types::{Opaque, SqlType, TypeError, Value};

use super::define::valued;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::error::Result;

fn invalid(text: impl Into<String>) -> TypeError {
    TypeError::new("22023", text)
}

fn bool(value: bool) -> Result<Value> {
    Ok(Value::Bool(value))
}

/// Whether `a` is within the network of `b`, which may be the same one unless `strict`.
fn is_within(a: &Opaque, b: &Opaque, strict: bool) -> Result<Value> {
    let (a, b) = (Network::of(a), Network::of(b));
    let fits = if strict { a.bits > b.bits } else { a.bits >= b.bits };
    bool(fits && a.covers(&b, b.bits))
}

fn overlaps(a: &Opaque, b: &Opaque) -> Result<Value> {
    bool(Network::of(a).overlaps(&Network::of(b)))
}

fn pairwise(a: &Opaque, b: &Opaque, name: &str, with: impl Fn(u8, u8) -> u8) -> Result<Value> {
    let (a, b) = (Network::of(a), Network::of(b));
    if a.six != b.six {
        return Err(invalid(format!("cannot {name} inet values of different sizes")).into());
    }
    let bits = a.bits.max(b.bits);
    Ok(Network { bits, cidr: false, ..a.map(|at, byte| with(byte, b.address[at])) }.into_value())
}

fn not(a: &Opaque) -> Result<Value> {
    Ok(Network { cidr: false, ..Network::of(a).map(|_, byte| !byte) }.into_value())
}

/// The address as a number of its size.
fn number(network: &Network) -> u128 {
    network.bytes().iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

fn plus(a: &Opaque, by: i128) -> Result<Value> {
    let mut a = Network::of(a);
    let size = u32::from(a.bits_max());
    let moved = match by >= 0 {
        true => number(&a).checked_add(by.unsigned_abs()),
        false => number(&a).checked_sub(by.unsigned_abs()),
    };
    let moved = moved.filter(|moved| size == 128 || moved >> size == 0);
    let moved = moved.ok_or_else(|| TypeError::new("22003", "result is out of range"))?;
    a.address = (moved << (128 - size)).to_be_bytes();
    a.cidr = false;
    Ok(a.into_value())
}

fn minus(a: &Opaque, b: &Opaque) -> Result<Value> {
    let (a, b) = (Network::of(a), Network::of(b));
    if a.six != b.six {
        return Err(invalid("cannot subtract inet values of different sizes").into());
    }
    let (x, y) = (number(&a), number(&b));
    let size = i64::try_from(x.abs_diff(y)).map_err(|_| TypeError::new("22003", "result is out of range"))?;
    Ok(Value::Int8(if x < y { -size } else { size }))
}

fn set_masklen(a: &Opaque, bits: i32) -> Result<Value> {
    let a = Network::of(a);
    let bits = match bits {
        -1 => a.bits_max(),
        _ => match u8::try_from(bits) {
            Ok(known) if known <= a.bits_max() => known,
            _ => return Err(invalid(format!("invalid mask length: {bits}")).into()),
        },
    };
    let a = Network { bits, ..a };
    Ok(if a.cidr { a.network() } else { a }.into_value())
}

/// The smallest network that has both.
fn merge(a: &Opaque, b: &Opaque) -> Result<Value> {
    let (a, b) = (Network::of(a), Network::of(b));
    if a.six != b.six {
        return Err(invalid("cannot merge addresses from different families").into());
    }
    let bits = a.common_bits(&b, a.bits.min(b.bits));
    Ok(Network { bits, ..a }.network().into_value())
}

fn host(a: &Opaque) -> Result<Value> {
    let mut text = String::new();
    Network::of(a).format_address(&mut text);
    Ok(Value::text(&text))
}

/// An `inet` of all bits whose bytes come from those of a network and of its mask.
fn of_mask(a: &Opaque, with: impl Fn(u8, u8) -> u8) -> Result<Value> {
    let a = Network::of(a);
    let mask = a.mask();
    Ok(Network { bits: a.bits_max(), cidr: false, ..a.map(|at, byte| with(byte, mask[at])) }.into_value())
}

fn broadcast(a: &Opaque) -> Result<Value> {
    let a = Network::of(a);
    let mask = a.mask();
    Ok(Network { cidr: false, ..a.map(|at, byte| byte | !mask[at]) }.into_value())
}

static NETWORKS: &[BuiltinFunction] = &[
    valued!("network_sub" ("<<"): a Inet, b Inet => Bool = is_within(a, b, true)),
    valued!("network_subeq" ("<<="): a Inet, b Inet => Bool = is_within(a, b, false)),
    valued!("network_sup" (">>"): a Inet, b Inet => Bool = is_within(b, a, true)),
    valued!("network_supeq" (">>="): a Inet, b Inet => Bool = is_within(b, a, false)),
    valued!("network_overlap" ("&&"): a Inet, b Inet => Bool = overlaps(a, b)),
    valued!("inetnot" ("~"): a Inet => Inet = not(a)),
    valued!("inetand" ("&"): a Inet, b Inet => Inet = pairwise(a, b, "AND", |a, b| a & b)),
    valued!("inetor" ("|"): a Inet, b Inet => Inet = pairwise(a, b, "OR", |a, b| a | b)),
    valued!("inetpl" ("+"): a Inet, b Int8 => Inet = plus(a, i128::from(*b))),
    valued!("int8pl_inet" ("+"): a Int8, b Inet => Inet = plus(b, i128::from(*a))),
    valued!("inetmi_int8" ("-"): a Inet, b Int8 => Inet = plus(a, -i128::from(*b))),
    valued!("inetmi" ("-"): a Inet, b Inet => Int8 = minus(a, b)),
    valued!("abbrev" (): a Inet => Text = Ok(Value::text(&Network::of(a).abbreviated()))),
    valued!("abbrev" (): a Cidr => Text = Ok(Value::text(&Network::of(a).abbreviated()))),
    valued!("broadcast" (): a Inet => Inet = broadcast(a)),
    valued!("family" (): a Inet => Int4 = Ok(Value::Int4(Network::of(a).version()))),
    valued!("host" (): a Inet => Text = host(a)),
    valued!("hostmask" (): a Inet => Inet = of_mask(a, |_, mask| !mask)),
    valued!("netmask" (): a Inet => Inet = of_mask(a, |_, mask| mask)),
    valued!("network" (): a Inet => Cidr = Ok(Network::of(a).network().into_value())),
    valued!("masklen" (): a Inet => Int4 = Ok(Value::Int4(Network::of(a).bits.into()))),
    valued!("set_masklen" (): a Inet, b Int4 => Inet = set_masklen(a, *b)),
    valued!("set_masklen" (): a Cidr, b Int4 => Cidr = set_masklen(a, *b)),
    valued!("text" (): a Inet => Text = Ok(Value::text(&Network::of(a).shown()))),
    valued!("inet_merge" (): a Inet, b Inet => Cidr = merge(a, b)),
    valued!("inet_same_family" (): a Inet, b Inet => Bool = bool(Network::of(a).six == Network::of(b).six)),
];

fn mac_pair(a: &Opaque, b: &Opaque, with: impl Fn(u8, u8) -> u8) -> Result<Value> {
    let b = Hardware::of(b);
    Ok(Hardware::of(a).map(|at, byte| with(byte, b.bytes()[at])).into_value())
}

fn mac_not(a: &Opaque) -> Result<Value> {
    Ok(Hardware::of(a).map(|_, byte| !byte).into_value())
}

/// The manufacturer alone.
fn trunc(a: &Opaque) -> Result<Value> {
    Ok(Hardware::of(a).map(|at, byte| if at < 3 { byte } else { 0 }).into_value())
}

static HARDWARE: &[BuiltinFunction] = &[
    valued!("macaddr_not" ("~"): a Macaddr => Macaddr = mac_not(a)),
    valued!("macaddr_and" ("&"): a Macaddr, b Macaddr => Macaddr = mac_pair(a, b, |a, b| a & b)),
    valued!("macaddr_or" ("|"): a Macaddr, b Macaddr => Macaddr = mac_pair(a, b, |a, b| a | b)),
    valued!("trunc" (): a Macaddr => Macaddr = trunc(a)),
    valued!("macaddr8_not" ("~"): a Macaddr8 => Macaddr8 = mac_not(a)),
    valued!("macaddr8_and" ("&"): a Macaddr8, b Macaddr8 => Macaddr8 = mac_pair(a, b, |a, b| a & b)),
    valued!("macaddr8_or" ("|"): a Macaddr8, b Macaddr8 => Macaddr8 = mac_pair(a, b, |a, b| a | b)),
    valued!("trunc" (): a Macaddr8 => Macaddr8 = trunc(a)),
    valued!("macaddr8_set7bit" (): a Macaddr8 => Macaddr8 =
        Ok(Hardware::of(a).map(|at, byte| if at == 0 { byte | 2 } else { byte }).into_value())),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 2] = [NETWORKS, HARDWARE];
