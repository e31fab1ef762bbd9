//! Runs generated queries on Verso and on PostgreSQL and prints those whose answers differ, made as small as they go.

mod answer;

use std::time::{Duration, Instant};

use answer::{Answer, Difference, Server};
use verso_generator::{Random, Schema, Writer};

/// Queries over one schema.
const QUERIES: u64 = 300;

/// Settings of Verso, of which each query gets some by chance: they change how it runs, and nothing else.
const SETTINGS: [[&str; 2]; 7] = [
    ["parallel_workers = 1", "parallel_workers = 2"],
    ["min_parallel_table_scan_size = DEFAULT", "min_parallel_table_scan_size = 0"],
    ["work_mem = DEFAULT", "work_mem = '64kB'"],
    ["verso_rules_off = ''", "verso_rules_off = 'all'"],
    ["enable_hashjoin = on", "enable_hashjoin = off"],
    ["enable_indexscan = on", "enable_indexscan = off"],
    ["enable_nestloop = on", "enable_nestloop = off"],
];

/// Differences that are meant, with their reason.
const EXPLAINED: [(&str, &str); 3] = [
    (
        "not 42804 could not determine polymorphic type",
        "a literal without a type is a text, where PostgreSQL asks for one",
    ),
    ("53200", "what an aggregate collects stays within work_mem (docs/guide/limits.md)"),
    ("data type", "B+trees have no order of arrays"),
];

fn is_explained(kind: &str) -> bool {
    EXPLAINED.iter().any(|(of, _)| kind.starts_with(of))
}

/// What the command line asks for.
struct Asked {
    verso: String,
    postgres: String,
    seed: u64,
    /// No end before.
    minutes: u64,
    /// Schemas after which it ends.
    schemas: u64,
    /// Findings after which it ends.
    findings: usize,
    /// One query of a schema.
    query: Option<u64>,
}

fn asked() -> Result<Asked, String> {
    let mut asked = Asked {
        verso: String::new(),
        postgres: String::new(),
        seed: 1,
        minutes: 1,
        schemas: u64::MAX,
        findings: 20,
        query: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || value.parse().map_err(|_| format!("{word} needs a number, not {value}"));
        match word.as_str() {
            "--verso" => asked.verso = value,
            "--postgres" => asked.postgres = value,
            "--seed" => asked.seed = number()?,
            "--minutes" => asked.minutes = number()?,
            "--schemas" => asked.schemas = number()?,
            "--findings" => asked.findings = number()? as usize,
            "--query" => asked.query = Some(number()?),
            _ => return Err(format!("unknown option {word}")),
        }
    }
    if asked.verso.is_empty() || asked.postgres.is_empty() {
        return Err(
            "usage: compare --verso DSN --postgres DSN [--seed N] [--minutes N] [--schemas N] [--findings N] [--query N]"
                .into(),
        );
    }
    Ok(asked)
}

#[expect(clippy::disallowed_methods, reason = "it runs beside real servers, in no simulation")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let asked = asked()?;
    let mut verso = Server::connect(&asked.verso)?;
    let mut postgres = Server::connect(&asked.postgres)?;
    let end = Instant::now() + Duration::from_secs(60 * asked.minutes);
    let mut found: Vec<String> = Vec::new();
    let mut counts = Counts::default();
    let mut last = asked.seed;
    for seed in asked.seed..asked.seed.saturating_add(asked.schemas) {
        let schema = Schema::new(&mut Random::new(seed));
        for refused in verso.fill(&schema.statements)? {
            if !is_explained(&refused) && !found.contains(&refused) {
                println!("── seed {seed}, an index: {refused}");
                found.push(refused);
            }
        }
        postgres.fill(&schema.statements)?;
        let queries = match asked.query {
            Some(query) => query..query + 1,
            None => 0..QUERIES,
        };
        for query in queries {
            if Instant::now() >= end || found.len() >= asked.findings {
                break;
            }
            let number = seed << 20 | query;
            let statement = Writer::new(&schema, number).statement();
            let mut random = Random::new(number);
            let settings: Vec<&str> = SETTINGS.iter().map(|two| two[random.below(2)]).collect();
            verso.set(&settings)?;
            let Some(difference) = compared(&mut verso, &mut postgres, &statement.text(), &mut counts) else {
                continue;
            };
            let mut unused = Counts::default();
            let mut tries = 0;
            let small = statement.shrunk(|smaller| {
                tries += 1;
                tries < 400
                    && compared(&mut verso, &mut postgres, &smaller.text(), &mut unused)
                        .is_some_and(|again| again.kind() == difference.kind())
            });
            let text = small.text();
            let difference = compared(&mut verso, &mut postgres, &text, &mut unused).unwrap_or(difference);
            let kind = difference.seen_in(&text);
            if is_explained(&kind) {
                counts.explained += 1;
                continue;
            }
            if found.contains(&kind) {
                counts.again += 1;
                continue;
            }
            println!("── seed {seed}, query {query}, {}\n{text}\n{difference}", settings.join(", "));
            found.push(kind);
        }
        last = seed;
        if Instant::now() >= end || found.len() >= asked.findings || asked.query.is_some() {
            break;
        }
    }
    println!("{counts}, {} kinds of differences, schemas to seed {last}", found.len());
    if found.is_empty() { Ok(()) } else { Err(format!("{} differences", found.len()).into()) }
}

/// How the queries ended.
#[derive(Default)]
struct Counts {
    queries: usize,
    with_rows: usize,
    errors: usize,
    /// An error of data on one side: which rows are computed is left open.
    one_error: usize,
    slow: usize,
    again: usize,
    explained: usize,
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counts { queries, with_rows, errors, one_error, slow, again, explained } = self;
        write!(
            f,
            "{queries} queries: {with_rows} with rows, {errors} errors alike, {one_error} with an error of data on one side, \
             {slow} too slow, {again} differences met again, {explained} that are meant"
        )
    }
}

fn compared(
    verso: &mut Server,
    postgres: &mut Server,
    text: &str,
    counts: &mut Counts,
) -> Option<Difference> {
    counts.queries += 1;
    let theirs = postgres.answer(text);
    if theirs.is_slow() {
        counts.slow += 1;
        return None;
    }
    let ours = verso.answer(text);
    match (&ours, &theirs) {
        (one, _) if one.is_slow() => counts.slow += 1,
        (Answer::Error { code, .. }, Answer::Error { code: other, .. })
            if code == other || (ours.is_of_data() && theirs.is_of_data()) =>
        {
            counts.errors += 1;
        }
        (Answer::Error { .. }, Answer::Rows { .. }) if ours.is_of_data() => counts.one_error += 1,
        (Answer::Rows { .. }, Answer::Error { .. }) if theirs.is_of_data() => counts.one_error += 1,
        _ if ours == theirs => counts.with_rows += usize::from(ours.has_rows()),
        _ => return Some(Difference { ours, theirs }),
    }
    None
}
