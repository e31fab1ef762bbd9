//! The text of access rules, as PostgreSQL's `pg_hba.conf` has it.

use std::net::IpAddr;

use super::{Certificate, Database, From, Method, Over, Proof, Rule, User};

/// A word of a line, and whether it stood in quotes: then it is a name and nothing else.
struct Word {
    text: String,
    quoted: bool,
}

impl Word {
    fn is(&self, keyword: &str) -> bool {
        !self.quoted && self.text == keyword
    }
}

/// A field: words with commas between.
type Field = Vec<Word>;

/// The rules of a text; else the line that is wrong, from 1, and why.
pub(super) fn rules(text: &str) -> Result<Vec<Rule>, (usize, String)> {
    let mut rules = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let mut whole = line.to_owned();
        // A backslash at the end of a line takes in the next one.
        while let Some(begun) = whole.strip_suffix('\\') {
            let next = lines.next().map_or("", |(_, next)| next);
            whole = format!("{begun} {next}");
        }
        let fields = fields(&whole).map_err(|what| (number + 1, what))?;
        if !fields.is_empty() {
            rules.push(rule(fields).map_err(|what| (number + 1, what))?);
        }
    }
    Ok(rules)
}

/// The fields of a line, without its comment.
fn fields(line: &str) -> Result<Vec<Field>, String> {
    let mut fields: Vec<Field> = Vec::new();
    let mut chars = line.chars().peekable();
    let mut goes_on = false;
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        match chars.peek() {
            None | Some('#') => break,
            Some(',') => {
                chars.next();
                goes_on = !fields.is_empty();
                continue;
            }
            Some(_) => {}
        }
        let mut word = Word { text: String::new(), quoted: chars.peek() == Some(&'"') };
        let mut within = false;
        while let Some(c) = chars.next_if(|c| within || !(c.is_whitespace() || matches!(c, ',' | '#'))) {
            match c {
                '"' => within = !within,
                c => word.text.push(c),
            }
        }
        if within {
            return Err("a quote is not closed".to_owned());
        }
        match fields.last_mut().filter(|_| goes_on) {
            Some(field) => field.push(word),
            None => fields.push(vec![word]),
        }
        goes_on = false;
    }
    Ok(fields)
}

fn rule(fields: Vec<Field>) -> Result<Rule, String> {
    let mut fields = fields.into_iter();
    let mut next = |what: &str| fields.next().ok_or_else(|| format!("{what} is missing"));
    let over = over(&one(next("the kind of connection")?, "the kind of connection")?)?;
    let databases = next("the database")?.into_iter().map(database).collect::<Result<_, _>>()?;
    let users = next("the user")?.into_iter().map(user).collect::<Result<_, _>>()?;
    let from = match over {
        Over::Unix => None,
        _ => {
            let address = one(next("the address")?, "the address")?;
            match from(&address)? {
                (Some(from), _) => Some(from),
                (None, ip) => {
                    let mask = one(next("the mask of the address")?, "the mask")?;
                    Some(net(ip, mask_bits(&mask, ip)?)?)
                }
            }
        }
    };
    let method = one(next("the method")?, "the method")?;
    let mut proof = Proof { method: method_of(&method)?, certificate: Certificate::None };
    for option in fields {
        proof.certificate = certificate(&one(option, "an option")?, proof.method)?;
    }
    if proof.method == Method::Certificate {
        proof.certificate = Certificate::OfUser;
    }
    if proof.certificate != Certificate::None && over != Over::Encrypted {
        return Err("certificates of clients are for hostssl".to_owned());
    }
    Ok(Rule { over, databases, users, from, proof })
}

/// A field that is no list.
fn one(field: Field, what: &str) -> Result<String, String> {
    match <[Word; 1]>::try_from(field) {
        Ok([word]) => Ok(word.text),
        Err(_) => Err(format!("{what} is one word, no list")),
    }
}

fn over(text: &str) -> Result<Over, String> {
    Ok(match text {
        "local" => Over::Unix,
        "host" | "hostnogssenc" => Over::Ip, // there is no encryption by GSSAPI
        "hostssl" => Over::Encrypted,
        "hostnossl" => Over::Plain,
        "include" | "include_if_exists" | "include_dir" | "hostgssenc" => {
            return Err(format!("\"{text}\" is not supported"));
        }
        _ => {
            let kinds = "local, host, hostssl, hostnossl";
            return Err(format!("there is no kind of connection \"{text}\": it is one of {kinds}"));
        }
    })
}

/// A name of a database or user that means something else in PostgreSQL.
fn check_name(word: &Word) -> Result<(), String> {
    match word.text.chars().next() {
        Some('/') if !word.quoted => Err("regular expressions are not supported".to_owned()),
        Some('@') if !word.quoted => Err("files of names are not supported".to_owned()),
        None => Err("a name is empty".to_owned()),
        _ => Ok(()),
    }
}

fn database(word: Word) -> Result<Database, String> {
    check_name(&word)?;
    Ok(match word {
        word if word.is("all") => Database::All,
        word if word.is("sameuser") => Database::SameUser,
        word if word.is("samerole") || word.is("samegroup") => Database::SameRole,
        word => Database::Named(word.text),
    })
}

fn user(word: Word) -> Result<User, String> {
    check_name(&word)?;
    if word.is("all") {
        return Ok(User::All);
    }
    Ok(match word.text.strip_prefix('+').filter(|_| !word.quoted) {
        Some("") => return Err("\"+\" names no role".to_owned()),
        Some(role) => User::MemberOf(role.to_owned()),
        None => User::Named(word.text),
    })
}

/// Where from; or the address alone, whose mask is the next field.
fn from(text: &str) -> Result<(Option<From>, IpAddr), String> {
    let none = IpAddr::from([0, 0, 0, 0]);
    match text {
        "all" => return Ok((Some(From::Anywhere), none)),
        "samehost" => return Ok((Some(From::SameHost), none)),
        "samenet" => return Err("\"samenet\" is not supported: write the net, such as 10.0.0.0/8".to_owned()),
        _ => {}
    }
    let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
    let ip: IpAddr = address.parse().map_err(|_| {
        format!(
            "\"{text}\" is no address: names of hosts are not supported, write 10.0.0.0/8, samehost or all"
        )
    })?;
    let Some(bits) = bits else { return Ok((None, ip)) };
    let most = if ip.is_ipv4() { 32 } else { 128 };
    let bits = bits.parse().ok().filter(|bits| *bits <= most);
    let bits = bits.ok_or_else(|| format!("\"{text}\": between 0 and {most} bits"))?;
    Ok((Some(net(ip, bits)?), ip))
}

fn net(ip: IpAddr, bits: u8) -> Result<From, String> {
    if let IpAddr::V6(six) = ip
        && let Some(four) = six.to_ipv4_mapped()
    {
        // As clients' addresses are compared.
        let bits = bits.checked_sub(96).ok_or("an IPv4 address within IPv6 has at least 96 bits")?;
        return Ok(From::Net(four.into(), bits));
    }
    Ok(From::Net(ip, bits))
}

/// How many bits a mask has, which are to be the first ones.
fn mask_bits(text: &str, ip: IpAddr) -> Result<u8, String> {
    let mask: IpAddr = text.parse().map_err(|_| format!("\"{text}\" is no mask of an address"))?;
    let (ones, length, is_prefix) = match (mask, ip) {
        (IpAddr::V4(mask), IpAddr::V4(_)) => {
            let bits = mask.to_bits();
            (bits.count_ones(), 32, bits.leading_ones() == bits.count_ones())
        }
        (IpAddr::V6(mask), IpAddr::V6(_)) => {
            let bits = mask.to_bits();
            (bits.count_ones(), 128, bits.leading_ones() == bits.count_ones())
        }
        _ => return Err("address and mask are of different kinds".to_owned()),
    };
    match is_prefix {
        true => Ok(ones.min(length) as u8),
        false => Err(format!("\"{text}\" is no mask: its ones do not stand in front")),
    }
}

fn method_of(text: &str) -> Result<Method, String> {
    Ok(match text {
        "trust" => Method::Trust,
        "reject" => Method::Reject,
        // Passwords are kept for SCRAM, and with PostgreSQL, too, md5 means SCRAM for those.
        "scram-sha-256" | "md5" => Method::Scram,
        "cert" => Method::Certificate,
        "password" | "gss" | "sspi" | "ident" | "peer" | "ldap" | "radius" | "pam" | "bsd" | "oauth" => {
            return Err(format!("method \"{text}\" is not supported: there are {METHODS}"));
        }
        _ => return Err(format!("there is no method \"{text}\": there are {METHODS}")),
    })
}

const METHODS: &str = "trust, reject, scram-sha-256, cert";

fn certificate(option: &str, method: Method) -> Result<Certificate, String> {
    match option.split_once('=') {
        Some(("clientcert", "verify-ca")) if method != Method::Certificate => Ok(Certificate::Trusted),
        Some(("clientcert", "verify-ca")) => Err("method cert is always clientcert=verify-full".to_owned()),
        Some(("clientcert", "verify-full")) => Ok(Certificate::OfUser),
        Some(("clientcert", other)) => {
            Err(format!("clientcert is verify-ca or verify-full, not \"{other}\""))
        }
        Some((name, _)) => Err(format!("option \"{name}\" is not supported")),
        None => Err(format!("\"{option}\" is not of the form name=value")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> (usize, String) {
        rules(text).expect_err(text)
    }

    #[test]
    fn a_line_that_is_not_understood_is_told_with_its_number() {
        for (line, part) in [
            ("lokal all all trust", "no kind of connection"),
            ("local all", "the user is missing"),
            ("local all all", "the method is missing"),
            ("host all all trust", "\"trust\" is no address"),
            ("host all all db.example.org trust", "names of hosts"),
            ("host all all 10.0.0.0/33 trust", "between 0 and 32 bits"),
            ("host all all 10.0.0.0 trust", "no mask"),
            ("host all all 10.0.0.0 255.0.255.0 trust", "do not stand in front"),
            ("host all all ::1 255.0.0.0 trust", "different kinds"),
            ("host all all ::ffff:1.2.3.4/32 trust", "at least 96 bits"),
            ("host all all samenet trust", "samenet"),
            ("host all /^a all trust", "regular expressions"),
            ("host @list all all trust", "files of names"),
            ("host all + all trust", "names no role"),
            ("host all \"\" all trust", "a name is empty"),
            ("host all \"ann all trust", "a quote is not closed"),
            ("host all all all peer", "not supported"),
            ("host all all all magic", "no method"),
            ("host all all all cert", "for hostssl"),
            ("host all all all trust clientcert=verify-ca", "for hostssl"),
            ("hostssl all all all cert clientcert=verify-ca", "always"),
            ("hostssl all all all trust clientcert=maybe", "verify-ca or verify-full"),
            ("hostssl all all all trust map=m", "\"map\" is not supported"),
            ("hostssl all all all trust map", "name=value"),
            ("host all all all,all trust", "one word"),
            ("include other.conf", "not supported"),
        ] {
            let (number, what) = wrong(&format!("# first\n\n{line}\n"));
            assert_eq!(number, 3, "{line}");
            assert!(what.contains(part), "{line}: {what}");
        }
    }

    #[test]
    fn lists_quotes_and_comments() {
        let read = rules("local a, \"all\" ,c \"+x\",+y trust # all\n \n#\n").unwrap();
        let named = |name: &str| Database::Named(name.to_owned());
        assert_eq!(read[0].databases, [named("a"), named("all"), named("c")]);
        assert_eq!(read[0].users, [User::Named("+x".into()), User::MemberOf("y".into())]);
        assert_eq!(read.len(), 1);
    }

    #[test]
    fn junk_is_an_error_or_rules_and_never_a_panic() {
        for junk in ["\\", "\\\n\\", ",", ",,\"", "\"", "local \"\"\"", "host , , ,", "\u{0}", "#\\\nlocal"] {
            let _ = rules(junk);
        }
    }
}
