//! Passwords and ciphers of PostgreSQL's `pgcrypto`; its digests are in `extensions.rs`. They are there while the extension is.
//!
//! `crypt` and `gen_salt` are in [`passwords`], `encrypt` and `decrypt` in [`ciphers`], both over [`des`], AES, Blowfish and
//! CAST5 of RustCrypto.

mod ciphers;
mod des;
mod passwords;

use verso_types::{SqlType, Value};

use self::ciphers::Way;
use super::define::{entry, optional, sql_type, unexpected};
use super::session::session_function;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

fn crypt(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(password), Value::Text(salt)] = args else { return Err(unexpected("crypt", args)) };
    Ok(Value::text(&passwords::crypt(cx, password, salt)?))
}

fn gen_salt(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (algorithm, rounds) = match args {
        [Value::Text(algorithm)] => (algorithm, 0),
        [Value::Text(algorithm), Value::Int4(rounds)] => (algorithm, *rounds),
        _ => return Err(unexpected("gen_salt", args)),
    };
    Ok(Value::text(&passwords::gen_salt(cx, algorithm, rounds)?))
}

fn ciphered(cx: &EvalContext<'_>, args: &[Value], way: Way, function: &str) -> Result<Value> {
    let (parts, name) = match args {
        [Value::Bytes(data), Value::Bytes(key), Value::Text(name)] => ((&data[..], &key[..], &b""[..]), name),
        [Value::Bytes(data), Value::Bytes(key), Value::Bytes(first), Value::Text(name)] => {
            ((&data[..], &key[..], &first[..]), name)
        }
        _ => return Err(unexpected(function, args)),
    };
    Ok(Value::bytes(&ciphers::run(cx, way, parts, (name, function))?))
}

static FUNCTIONS: &[BuiltinFunction] = &[
    entry!("crypt" () [Text, Text] => Text, crypt, None),
    session_function!("gen_salt" Volatile [Text] => Text = gen_salt),
    session_function!("gen_salt" Volatile [Text, Int4] => Text = gen_salt),
    entry!("encrypt" () [Bytea, Bytea, Text] => Bytea,
        |cx, args| ciphered(cx, args, Way::Encrypt, "encrypt"), None),
    entry!("decrypt" () [Bytea, Bytea, Text] => Bytea,
        |cx, args| ciphered(cx, args, Way::Decrypt, "decrypt"), None),
    entry!("encrypt_iv" () [Bytea, Bytea, Bytea, Text] => Bytea,
        |cx, args| ciphered(cx, args, Way::Encrypt, "encrypt_iv"), None),
    entry!("decrypt_iv" () [Bytea, Bytea, Bytea, Text] => Bytea,
        |cx, args| ciphered(cx, args, Way::Decrypt, "decrypt_iv"), None),
    session_function!("fips_mode" Volatile [] => Bool = |_, _| Ok(Value::Bool(false))),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [FUNCTIONS];
