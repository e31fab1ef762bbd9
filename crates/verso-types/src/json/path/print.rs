//! From tree to text, with parentheses where PostgreSQL has them.

use std::fmt::Write as _;

use super::{Accessor, Arithmetic, Expr, Flags, JsonPath};
use crate::json::escape_into;

pub(super) fn print(path: &JsonPath) -> String {
    let mut out = String::new();
    if !path.lax {
        out.push_str("strict ");
    }
    put(&path.root, true, false, &mut out);
    out
}

/// How tightly an operator binds; what is none binds most.
fn priority(expr: &Expr) -> u8 {
    match expr {
        Expr::Or(..) => 0,
        Expr::And(..) => 1,
        Expr::Compare(..) | Expr::StartsWith(..) => 2,
        Expr::Arithmetic(Arithmetic::Add | Arithmetic::Subtract, ..) => 3,
        Expr::Arithmetic(..) => 4,
        Expr::Sign(..) => 5,
        // what stands in front of the accessors decides
        Expr::Access(head, _) => priority(head),
        _ => 6,
    }
}

/// Appends an expression; whether it is to be in parentheses, and whether accessors come behind it.
fn put(expr: &Expr, parentheses: bool, accessed: bool, out: &mut String) {
    let parentheses = parentheses || accessed;
    let own = priority(expr);
    let operand = |operand: &Expr, out: &mut String| put(operand, priority(operand) <= own, false, out);
    let open = |out: &mut String| out.push_str(if parentheses { "(" } else { "" });
    let close = |out: &mut String| out.push_str(if parentheses { ")" } else { "" });
    let infix = |left: &Expr, sign: &str, right: &Expr, out: &mut String| {
        open(out);
        operand(left, out);
        let _ = write!(out, " {sign} ");
        operand(right, out);
        close(out);
    };
    // writing to a String cannot fail
    match expr {
        Expr::Root => out.push('$'),
        Expr::Current => out.push('@'),
        Expr::Last => out.push_str("last"),
        Expr::Variable(name) => {
            out.push('$');
            escape_into(name, out);
        }
        Expr::Null => out.push_str("null"),
        Expr::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Expr::Number(number) => {
            let _ = if accessed { write!(out, "({number})") } else { write!(out, "{number}") };
        }
        Expr::String(text) => escape_into(text, out),
        Expr::Access(head, accessors) => {
            put(head, true, true, out);
            accessors.iter().for_each(|accessor| put_accessor(accessor, out));
        }
        Expr::Sign(negative, arg) => {
            open(out);
            out.push(if *negative { '-' } else { '+' });
            operand(arg, out);
            close(out);
        }
        Expr::Arithmetic(sign, left, right) => infix(left, sign.sign(), right, out),
        Expr::Compare(sign, left, right) => infix(left, sign.sign(), right, out),
        Expr::And(left, right) => infix(left, "&&", right, out),
        Expr::Or(left, right) => infix(left, "||", right, out),
        Expr::StartsWith(left, right) => infix(left, "starts with", right, out),
        Expr::Not(arg) => {
            out.push_str("!(");
            put(arg, false, false, out);
            out.push(')');
        }
        Expr::IsUnknown(arg) => {
            out.push('(');
            put(arg, false, false, out);
            out.push_str(") is unknown");
        }
        Expr::Exists(arg) => {
            out.push_str("exists (");
            put(arg, false, false, out);
            out.push(')');
        }
        Expr::LikeRegex(arg, pattern, flags) => {
            open(out);
            operand(arg, out);
            out.push_str(" like_regex ");
            escape_into(pattern, out);
            put_flags(*flags, out);
            close(out);
        }
    }
}

fn put_flags(flags: Flags, out: &mut String) {
    if flags == Flags::default() {
        return;
    }
    let letters = [
        (flags.fold, 'i'),
        (flags.dot_all, 's'),
        (flags.lines, 'm'),
        (flags.expanded, 'x'),
        (flags.literal, 'q'),
    ];
    out.push_str(" flag \"");
    out.extend(letters.into_iter().filter(|(set, _)| *set).map(|(_, letter)| letter));
    out.push('"');
}

fn put_accessor(accessor: &Accessor, out: &mut String) {
    match accessor {
        Accessor::Member(key) => {
            out.push('.');
            escape_into(key, out);
        }
        Accessor::AnyMember => out.push_str(".*"),
        Accessor::AnyElement => out.push_str("[*]"),
        Accessor::Elements(subscripts) => {
            out.push('[');
            for (n, (first, last)) in subscripts.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                put(first, false, false, out);
                if let Some(last) = last {
                    out.push_str(" to ");
                    put(last, false, false, out);
                }
            }
            out.push(']');
        }
        Accessor::Deep(first, last) => {
            let level =
                |level: &Option<u32>| level.map_or_else(|| "last".to_string(), |level| level.to_string());
            out.push_str(".**");
            if (*first, *last) != (Some(0), None) {
                let _ = match first == last {
                    true => write!(out, "{{{}}}", level(first)),
                    false => write!(out, "{{{} to {}}}", level(first), level(last)),
                };
            }
        }
        Accessor::Filter(predicate) => {
            out.push_str("?(");
            put(predicate, false, false, out);
            out.push(')');
        }
        Accessor::Method(method, args) => {
            let _ = write!(out, ".{}(", method.name());
            for (n, arg) in args.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                put(arg, false, false, out);
            }
            out.push(')');
        }
    }
}
