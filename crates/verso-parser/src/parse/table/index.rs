//! CREATE INDEX, REINDEX, ANALYZE.

use super::super::lexer::Token;

use super::super::collation::collate;
use super::super::cursor::Cursor;
use super::super::ddl::if_not_exists;
use super::super::operator_definition::symbol;
use super::column::generation;
use super::constraint::{names, nulls_are_distinct};
use super::place::{index_tablespace, named_tablespace, tablespace};
use super::{boolean, check_parameter, parameters, signed_number};
use crate::error::SyntaxError;
use crate::syntax::{
    Analyze, AnalyzeDepth, Cluster, CreateIndex, Exclude, Expr, ExprKind, IndexElement, IndexKey, Name,
    QualifiedName, Reindex, ReindexTarget, Span, Statement,
};

/// CREATE [UNIQUE] INDEX, behind CREATE.
pub fn create_index(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let unique = cursor.accept(&["unique"]);
    cursor.expect(&["index"])?;
    let concurrently = cursor.accept(&["concurrently"]);
    let if_not_exists = if_not_exists(cursor)?;
    let name = if cursor.is(&["on"]) { None } else { Some(cursor.name()?) };
    if if_not_exists && name.is_none() {
        return Err(cursor.unexpected());
    }
    cursor.expect(&["on"])?;
    let only = cursor.accept(&["only"]);
    let table = cursor.qualified()?;
    let method = method(cursor)?;
    cursor.expect_token(&Token::LParen)?;
    let at = cursor.here().start;
    let parts = cursor.list(index_part)?;
    cursor.expect_token(&Token::RParen)?;
    if let Some(method) = &method {
        let refused = |what: &str| {
            Err(SyntaxError::new("0A000", format!("access method \"{method}\" does not support {what}"))
                .at(at))
        };
        if unique {
            return refused("unique indexes");
        }
        if method == "hash" && parts.len() > 1 {
            return refused("multicolumn indexes");
        }
        if parts.iter().any(|part| part.descending || part.nulls_first) {
            return refused("ASC/DESC options");
        }
    }
    let include = if cursor.accept(&["include"]) { included(cursor, method.as_deref())? } else { Vec::new() };
    let nulls_distinct = nulls_are_distinct(cursor);
    let methods = [method.as_deref().unwrap_or("btree")];
    let mut options = if cursor.accept(&["with"]) { index_parameters(cursor, &methods)? } else { Vec::new() };
    let workers = options.extract_if(.., |(name, _)| name == "parallel_workers").last();
    let parallel = workers.and_then(|(_, value)| value.parse().ok());
    tablespace(cursor)?;
    let predicate = if cursor.accept(&["where"]) { Some(with_text(cursor)?) } else { None };
    Ok(Statement::CreateIndex(CreateIndex {
        name,
        if_not_exists,
        unique,
        nulls_distinct,
        table,
        only,
        method,
        parts,
        include,
        predicate,
        parallel,
        options,
        concurrently,
    }))
}

/// The access methods whose parameters ALTER INDEX may set; which one an index has is known later.
pub(super) const METHODS: &[&str] = &["btree", "gin", "brin"];

/// `(name = value, …)`: storage parameters of an index with one of these access methods.
pub(super) fn index_parameters(
    cursor: &mut Cursor<'_>,
    methods: &[&str],
) -> Result<Vec<(String, String)>, SyntaxError> {
    parameters(cursor, |name, value| check_index_parameter(methods, name, value))
}

/// Refuses parameters that none of the methods has, and values they do not take. Most of them say how PostgreSQL's indexes do
/// what those here do otherwise; they are kept for tools that compare.
pub(super) fn check_index_parameter(methods: &[&str], name: &str, value: &str) -> Result<(), SyntaxError> {
    let of = |method: &str| methods.contains(&method);
    let refused = |what: &str| {
        Err(SyntaxError::new("22023", format!("invalid value for {what} option \"{name}\": {value}")))
    };
    let within = |least: i64, most: i64| match value.parse::<i64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(()),
        Ok(_) => {
            let text = format!("value {value} out of bounds for option \"{name}\"");
            let detail = format!("Valid values are between \"{least}\" and \"{most}\".");
            Err(SyntaxError::new("22023", text).with_detail(detail))
        }
        Err(_) => refused("integer"),
    };
    let switch = || if boolean(&value.to_ascii_lowercase()).is_some() { Ok(()) } else { refused("boolean") };
    match name {
        "fillfactor" | "parallel_workers" => check_parameter(name, value),
        "deduplicate_items" if of("btree") => switch(),
        "fastupdate" if of("gin") => switch(),
        "gin_pending_list_limit" if of("gin") => within(64, 2_147_483_647),
        "pages_per_range" if of("brin") => within(1, 131_072),
        "autosummarize" if of("brin") => switch(),
        _ => Err(SyntaxError::new("22023", format!("unrecognized parameter \"{name}\""))),
    }
}

/// `USING method`: none for btree. A B+tree does what hash and brin indexes are for, equality and ranges; what gist and spgist
/// find it cannot.
fn method(cursor: &mut Cursor<'_>) -> Result<Option<String>, SyntaxError> {
    if !cursor.accept(&["using"]) {
        return Ok(None);
    }
    let at = cursor.here().start;
    let method = cursor.name()?.text;
    match method.as_str() {
        "btree" => Ok(None),
        "hash" | "brin" | "gin" => Ok(Some(method)),
        "gist" | "spgist" => Err(SyntaxError::unsupported(format!("an index USING {method}")).at(at)),
        _ => Err(SyntaxError::new("42704", format!("access method \"{method}\" does not exist")).at(at)),
    }
}

/// `(column, …)`, behind INCLUDE.
fn included(cursor: &mut Cursor<'_>, method: Option<&str>) -> Result<Vec<Name>, SyntaxError> {
    let at = cursor.here().start;
    if let Some(method) = method {
        let text = format!("access method \"{method}\" does not support included columns");
        return Err(SyntaxError::new("0A000", text).at(at));
    }
    cursor.expect_token(&Token::LParen)?;
    let columns = cursor.list(|cursor| {
        let at = cursor.here().start;
        let part = index_part(cursor)?;
        match part.key {
            IndexKey::Column(name) if !part.descending && !part.nulls_first => Ok(name),
            IndexKey::Column(_) => {
                let text = "including column does not support ASC/DESC options";
                Err(SyntaxError::new("42P17", text).at(at))
            }
            IndexKey::Expression(..) => {
                let text = "expressions are not supported in included columns";
                Err(SyntaxError::new("0A000", text).at(at))
            }
        }
    })?;
    cursor.expect_token(&Token::RParen)?;
    Ok(columns)
}

/// `(part WITH operator, …) [INCLUDE …] [WITH (…)] [WHERE (…)]`, behind EXCLUDE.
pub(super) fn exclude(cursor: &mut Cursor<'_>) -> Result<Exclude, SyntaxError> {
    cursor.expect(&["exclude"])?;
    let method = if cursor.accept(&["using"]) { Some(cursor.name()?) } else { None };
    cursor.expect_token(&Token::LParen)?;
    let elements = cursor.list(|cursor| {
        let part = index_part(cursor)?;
        cursor.expect(&["with"])?;
        let operator = if cursor.accept(&["operator"]) {
            cursor.expect_token(&Token::LParen)?;
            let operator = symbol(cursor)?;
            cursor.expect_token(&Token::RParen)?;
            operator
        } else {
            symbol(cursor)?
        };
        Ok((part, operator))
    })?;
    cursor.expect_token(&Token::RParen)?;
    let include = if cursor.accept(&["include"]) { included(cursor, None)? } else { Vec::new() };
    let options = if cursor.accept(&["with"]) { index_parameters(cursor, &["btree"])? } else { Vec::new() };
    index_tablespace(cursor)?;
    let mut predicate = None;
    if cursor.accept(&["where"]) {
        cursor.expect_token(&Token::LParen)?;
        predicate = Some(with_text(cursor)?);
        cursor.expect_token(&Token::RParen)?;
    }
    Ok(Exclude { method, elements, include, predicate, options })
}

/// An expression, and its text.
fn with_text(cursor: &mut Cursor<'_>) -> Result<(Expr, String), SyntaxError> {
    let start = cursor.here().start;
    let expr = cursor.expr()?;
    let end = cursor.last().end;
    Ok((expr, cursor.source().slice(Span { start, end }).to_string()))
}

/// What a part of a key is of, and the COLLATE that a call has taken along.
pub(in crate::parse) fn key_part(
    cursor: &mut Cursor<'_>,
) -> Result<(IndexKey, Option<crate::syntax::QualifiedName>), SyntaxError> {
    let mut collation = None;
    let key = if matches!(cursor.peek(), Token::LParen) {
        let (expr, text) = generation(cursor)?;
        IndexKey::Expression(expr, text)
    } else if matches!(cursor.peek_at(1), Token::LParen | Token::Period) {
        let (mut expr, mut text) = with_text(cursor)?;
        // COLLATE behind a call is that of the key.
        if let ExprKind::Collate { arg, collation: name } = expr.kind {
            collation = Some(name);
            text = cursor.source().slice(arg.at).to_string();
            expr = *arg;
        }
        IndexKey::Expression(expr, text)
    } else {
        IndexKey::Column(cursor.name()?)
    };
    Ok((key, collation))
}

fn index_part(cursor: &mut Cursor<'_>) -> Result<IndexElement, SyntaxError> {
    let (key, mut collation) = key_part(cursor)?;
    if cursor.is(&["collate"]) {
        collation = Some(collate(cursor)?);
    }
    // WITH stands in exclusion constraints.
    let is_class = !["asc", "desc", "nulls", "with"].iter().any(|word| cursor.is(&[word]));
    let class = if is_class && cursor.word().is_some() { Some(cursor.qualified()?.name) } else { None };
    let descending = cursor.accept(&["desc"]);
    if !descending {
        cursor.accept(&["asc"]);
    }
    let nulls_first = if cursor.accept(&["nulls", "first"]) {
        true
    } else if cursor.accept(&["nulls", "last"]) {
        false
    } else {
        descending
    };
    Ok(IndexElement { key, descending, nulls_first, class, collation })
}

/// REINDEX.
pub fn reindex(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["reindex"])?;
    let target = ReindexTarget::Database(None);
    let mut reindex = Reindex { target, parallel: None, concurrently: false, verbose: false };
    reindex_options(cursor, &mut reindex)?;
    let what = cursor.word().unwrap_or_default();
    if !["index", "table", "schema", "database", "system", "collations"].contains(&&*what) {
        return Err(cursor.unsupported(&format!("REINDEX {}", what.to_uppercase())));
    }
    cursor.advance();
    reindex.concurrently |= cursor.accept(&["concurrently"]);
    reindex.target = match &*what {
        "index" => ReindexTarget::Index(cursor.qualified()?),
        "table" => ReindexTarget::Table(cursor.qualified()?),
        "schema" => ReindexTarget::Schema(cursor.name()?),
        "collations" => {
            reindex_options(cursor, &mut reindex)?;
            ReindexTarget::Collations
        }
        _ => {
            let unnamed = cursor.at_end() || matches!(cursor.peek(), Token::SemiColon);
            let name = if unnamed { None } else { Some(cursor.name()?) };
            if what == "system" { ReindexTarget::System(name) } else { ReindexTarget::Database(name) }
        }
    };
    Ok(Statement::Reindex(reindex))
}

/// `CLUSTER [(VERBOSE) | VERBOSE] [table [USING index] | index ON table]`.
pub fn cluster(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["cluster"])?;
    let mut cluster = Cluster { table: None, index: None, full: false, verbose: false };
    if cursor.accept_token(&Token::LParen) {
        cursor.list(|cursor| {
            let at = cursor.here().start;
            let word = cursor.word().ok_or_else(|| cursor.unexpected())?;
            if word != "verbose" {
                return Err(SyntaxError::syntax(format!("unrecognized CLUSTER option \"{word}\"")).at(at));
            }
            cursor.advance();
            let off = cursor.accept(&["off"]) || cursor.accept(&["false"]);
            if !off && !cursor.accept(&["on"]) {
                cursor.accept(&["true"]);
            }
            cluster.verbose = !off;
            Ok(())
        })?;
        cursor.expect_token(&Token::RParen)?;
    } else {
        cluster.verbose = cursor.accept(&["verbose"]);
    }
    if cursor.at_end() || matches!(cursor.peek(), Token::SemiColon) {
        return Ok(Statement::Cluster(cluster));
    }
    let name = cursor.qualified()?;
    if name.schema.is_none() && cursor.accept(&["on"]) {
        cluster.index = Some(name.name);
        cluster.table = Some(cursor.qualified()?);
        return Ok(Statement::Cluster(cluster));
    }
    if cursor.accept(&["using"]) {
        cluster.index = Some(cursor.name()?);
    }
    cluster.table = Some(name);
    Ok(Statement::Cluster(cluster))
}

/// `(PARALLEL n, VERBOSE, CONCURRENTLY)`, behind REINDEX.
fn reindex_options(cursor: &mut Cursor<'_>, reindex: &mut Reindex) -> Result<(), SyntaxError> {
    if !cursor.accept_token(&Token::LParen) {
        return Ok(());
    }
    cursor.list(|cursor| {
        let at = cursor.here().start;
        if cursor.accept(&["parallel"]) {
            let workers = cursor.integer()?;
            let fits = u32::try_from(workers).ok().filter(|workers| (1..=1024).contains(workers));
            let error = || SyntaxError::new("22023", "PARALLEL must be between 1 and 1024").at(at);
            reindex.parallel = Some(fits.ok_or_else(error)?);
            return Ok(());
        }
        match cursor.word().as_deref() {
            Some(word @ ("verbose" | "concurrently")) => {
                cursor.advance();
                let off = cursor.accept(&["off"]) || cursor.accept(&["false"]);
                if !off && !cursor.accept(&["on"]) {
                    cursor.accept(&["true"]);
                }
                let option = if word == "verbose" { &mut reindex.verbose } else { &mut reindex.concurrently };
                *option = !off;
                Ok(())
            }
            Some("tablespace") => {
                cursor.advance();
                named_tablespace(cursor)
            }
            Some(word) => Err(SyntaxError::syntax(format!("unrecognized REINDEX option \"{word}\"")).at(at)),
            None => Err(cursor.unexpected()),
        }
    })?;
    cursor.expect_token(&Token::RParen)
}

/// `ANALYZE [(VERBOSE) | VERBOSE] [table [(column, …)], …]`.
pub fn analyze(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let (mut verbose, mut skip_locked, mut full) = (false, false, false);
    if matches!(cursor.peek(), Token::LParen) {
        cursor.advance();
        cursor.list(|cursor| {
            let at = cursor.here().start;
            let Some(word) = cursor.word() else { return Err(cursor.unexpected()) };
            match word.as_str() {
                "verbose" | "skip_locked" | "full" => {
                    cursor.advance();
                    let off = cursor.accept(&["off"]) || cursor.accept(&["false"]);
                    if !off && !cursor.accept(&["on"]) {
                        cursor.accept(&["true"]);
                    }
                    let option = match word.as_str() {
                        "verbose" => &mut verbose,
                        "full" => &mut full,
                        _ => &mut skip_locked,
                    };
                    *option = !off;
                    Ok(())
                }
                "buffer_usage_limit" => {
                    cursor.advance();
                    super::super::control::usage_limit(cursor, at)
                }
                _ => Err(SyntaxError::syntax(format!("unrecognized ANALYZE option \"{word}\"")).at(at)),
            }
        })?;
        cursor.expect_token(&Token::RParen)?;
    } else {
        full = cursor.accept(&["full"]);
        verbose = cursor.accept(&["verbose"]);
    }
    let depth = if full { AnalyzeDepth::Full } else { AnalyzeDepth::Sample };
    let (tables, only) = analyzed(cursor)?;
    Ok(Statement::Analyze(Analyze { verbose, skip_locked, tables, only, depth }))
}

/// `UPDATE STATISTICS [LOW | MEDIUM | HIGH] [FOR TABLE t [(columns)]] [RESOLUTION n [m]] [DISTRIBUTIONS ONLY]`, as Informix has
/// it.
pub fn update_statistics(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["update", "statistics"])?;
    let depth = match () {
        () if cursor.accept(&["medium"]) => AnalyzeDepth::Sample,
        () if cursor.accept(&["high"]) => AnalyzeDepth::Full,
        // What Informix does without a word.
        () => {
            cursor.accept(&["low"]);
            AnalyzeDepth::Rows
        }
    };
    let tables = match cursor.accept(&["for", "table"]) {
        true => analyzed(cursor)?.0,
        false => Vec::new(),
    };
    // How fine the figures are. Verso's are as fine as ALTER COLUMN … SET STATISTICS says, and made in one go.
    if cursor.accept(&["resolution"]) {
        for _ in 0..2 {
            let of_two = signed_number(cursor);
            if of_two.as_deref().is_some_and(|number| !number.parse().is_ok_and(|part: f64| part > 0.0)) {
                let text = "RESOLUTION must be above 0";
                return Err(SyntaxError::new("22023", text).at(cursor.here().start));
            }
        }
    }
    if !cursor.accept(&["distributions", "only"]) {
        cursor.accept(&["drop", "distributions"]);
    }
    Ok(Statement::Analyze(Analyze { tables, depth, ..Analyze::default() }))
}

/// Tables to analyze, each with columns, and those of them that are meant without their partitions.
type Analyzed = (Vec<(QualifiedName, Vec<Name>)>, Vec<QualifiedName>);

/// Tables to analyze, with columns.
pub fn analyzed(cursor: &mut Cursor<'_>) -> Result<Analyzed, SyntaxError> {
    let mut whole = Vec::new();
    if cursor.at_end() {
        return Ok((Vec::new(), whole));
    }
    let tables = cursor.list(|cursor| {
        let has_name = matches!(cursor.peek_at(1), Token::Word(_) | Token::Quoted(_) | Token::LParen);
        let only = has_name && cursor.accept(&["only"]);
        let enclosed = only && cursor.accept_token(&Token::LParen);
        let table = cursor.qualified()?;
        if enclosed {
            cursor.expect_token(&Token::RParen)?;
        } else if !only {
            cursor.accept_token(&Token::Mul);
        }
        if only {
            whole.push(table.clone());
        }
        let columns = match cursor.peek() {
            Token::LParen => names(cursor)?,
            _ => Vec::new(),
        };
        Ok((table, columns))
    })?;
    Ok((tables, whole))
}
