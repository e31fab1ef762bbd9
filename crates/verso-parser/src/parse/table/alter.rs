//! ALTER TABLE; ALTER INDEX and SEQUENCE … RENAME.

use super::super::lexer::Token;

use super::super::collation::{collate, collated};
use super::super::cursor::Cursor;
use super::super::ddl::{cascade, if_not_exists, option_of_sequence};
use super::super::instead;
use super::column::{
    GeneratedAs, column_definition, generated, generated_when, generation, of_table, whole_expression,
};
use super::constraint::table_constraint;
use super::index::{METHODS, index_parameters};
use super::place::{named_method, named_tablespace};
use super::{boolean, check_parameter, parameters, signed_number, unchecked_parameters};
use crate::error::SyntaxError;
use crate::syntax::{
    AlterAction, AlterIndex, AlterTable, DropKind, IndexChange, Name, Owned, ReplicaIdentity,
    SequenceOptions, Statement,
};
use verso_types::{Identity, SqlType};

/// ALTER TABLE, and ALTER INDEX or SEQUENCE … RENAME.
pub fn alter(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let start = cursor.here().start;
    cursor.expect(&["alter"])?;
    let word = cursor.word().ok_or_else(|| cursor.unexpected())?;
    let kind = match word.as_str() {
        "table" => None,
        "index" => Some(DropKind::Index),
        "sequence" => Some(DropKind::Sequence),
        "trigger" => {
            cursor.advance();
            return super::super::trigger::alter_trigger(cursor);
        }
        "schema" => return super::super::schema::alter_schema(cursor),
        "view" => return super::super::view::alter_view(cursor),
        "materialized" if cursor.is(&["materialized", "view"]) => {
            cursor.advance();
            Some(DropKind::MaterializedView)
        }
        "type" => return super::super::user_type::alter_type(cursor),
        "domain" => return super::super::domain::alter_domain(cursor),
        "collation" => return super::super::collation::alter_collation(cursor),
        "statistics" => return super::super::statistics::alter_statistics(cursor),
        "operator" => return super::super::operator_definition::alter_operator(cursor),
        "extension" => return super::super::extension::alter_extension(cursor),
        "function" | "procedure" | "routine" | "aggregate" => {
            return super::super::schema::alter_function(cursor);
        }
        _ => {
            return Err(instead::kind(cursor, "ALTER", &word, start));
        }
    };
    cursor.advance();
    if cursor.is(&["all", "in", "tablespace"]) {
        let what = word.to_uppercase();
        return Err(cursor.unsupported(&format!("ALTER {what} ALL IN TABLESPACE")));
    }
    let if_exists = cursor.accept(&["if", "exists"]);
    let only = cursor.accept(&["only"]);
    let name = cursor.qualified()?;
    let moved = kind.unwrap_or(DropKind::Table);
    if moved != DropKind::Index
        && let Some(statement) = super::super::schema::set_schema(cursor, moved, &name, if_exists)?
    {
        return Ok(statement);
    }
    let before = cursor.mark();
    if let Some(statement) =
        super::super::rights::owner(cursor, || Owned::Relation(moved, name.clone()), if_exists)?
    {
        if kind.is_some() || cursor.peek() != Token::Comma {
            return Ok(statement);
        }
        // One action among others.
        cursor.back(before);
    }
    let materialized = kind == Some(DropKind::MaterializedView);
    if materialized && !cursor.is(&["rename", "to"]) {
        let sets = matches!(cursor.peek_at(1), Token::LParen)
            || cursor.is(&["set", "tablespace"])
            || cursor.is(&["set", "without", "cluster"])
            || cursor.is(&["set", "access", "method"]);
        let allowed = cursor.is(&["rename"])
            || cursor.is(&["cluster", "on"])
            || cursor.is(&["alter"])
            || cursor.is(&["reset"])
            || cursor.is(&["set"]) && sets;
        if !allowed {
            return Err(not_of_view(cursor));
        }
        let actions = cursor.list(alter_action)?;
        let renames = |action: &AlterAction| matches!(action, AlterAction::RenameColumn { .. });
        if !actions.iter().all(|action| action.suits_materialized_views() || renames(action)) {
            return Err(not_of_view(cursor));
        }
        return Ok(Statement::AlterTable(AlterTable { name, if_exists, actions, materialized, only }));
    }
    if let Some(kind) = kind {
        if kind == DropKind::Sequence && !cursor.is(&["rename"]) {
            return super::super::ddl::alter_sequence(cursor, name, if_exists);
        }
        if kind == DropKind::Index && (cursor.is(&["active"]) || cursor.is(&["inactive"])) {
            let active = cursor.accept(&["active"]);
            if !active {
                cursor.advance();
            }
            let change = IndexChange::Active(active);
            return Ok(Statement::AlterIndex(AlterIndex { name, if_exists, change }));
        }
        let is_list = matches!(cursor.peek_at(1), Token::LParen);
        if kind == DropKind::Index && is_list && cursor.accept(&["set"]) {
            let change = IndexChange::Options(index_parameters(cursor, METHODS)?);
            return Ok(Statement::AlterIndex(AlterIndex { name, if_exists, change }));
        }
        if kind == DropKind::Index && is_list && cursor.accept(&["reset"]) {
            let change = IndexChange::ResetOptions(names_of_parameters(cursor)?);
            return Ok(Statement::AlterIndex(AlterIndex { name, if_exists, change }));
        }
        if kind == DropKind::Index && cursor.accept(&["set", "tablespace"]) {
            named_tablespace(cursor)?;
            let change = IndexChange::Options(Vec::new());
            return Ok(Statement::AlterIndex(AlterIndex { name, if_exists, change }));
        }
        if kind == DropKind::Index && cursor.accept(&["alter"]) {
            cursor.accept(&["column"]);
            let number = cursor.integer()?;
            cursor.expect(&["set", "statistics"])?;
            let target = if cursor.accept(&["default"]) { None } else { Some(cursor.integer()?) };
            let change = IndexChange::Statistics { number, target };
            return Ok(Statement::AlterIndex(AlterIndex { name, if_exists, change }));
        }
        if kind == DropKind::Index && cursor.accept(&["attach", "partition"]) {
            let change = IndexChange::Attach(cursor.qualified()?);
            return Ok(Statement::AlterIndex(AlterIndex { name, if_exists, change }));
        }
        if !cursor.accept(&["rename", "to"]) {
            return Err(cursor.unsupported(&format!(
                "ALTER {} other than RENAME, OWNER TO, SET SCHEMA, SET (…), ATTACH PARTITION, ACTIVE and INACTIVE",
                word.to_uppercase()
            )));
        }
        let to = cursor.name()?;
        return Ok(Statement::Rename { kind, name, to, if_exists });
    }
    cursor.accept_token(&Token::Mul);
    let actions = actions(cursor).map_err(|error| of_table(error, &name.name.text))?;
    Ok(Statement::AlterTable(AlterTable { name, if_exists, actions, materialized, only }))
}

/// The actions of a statement. Those that rename something, and those that attach or detach a partition, stand alone.
fn actions(cursor: &mut Cursor<'_>) -> Result<Vec<AlterAction>, SyntaxError> {
    let alone = |cursor: &Cursor<'_>| {
        cursor.is_any(&["rename"]) || (cursor.is_any(&["attach", "detach"]) && cursor.is_at(1, "partition"))
    };
    let mut actions = Vec::new();
    loop {
        let is_alone = alone(cursor);
        if is_alone && !actions.is_empty() {
            return Err(cursor.unexpected());
        }
        actions.push(alter_action(cursor)?);
        if is_alone && cursor.peek() == Token::Comma {
            return Err(cursor.unexpected());
        }
        if !cursor.accept_token(&Token::Comma) {
            return Ok(actions);
        }
    }
}

/// What materialized views are not altered by.
fn not_of_view(cursor: &Cursor<'_>) -> SyntaxError {
    let what = "RENAME, SET SCHEMA, SET (…), CLUSTER ON and what ALTER COLUMN says of statistics and storage";
    cursor.unsupported(&format!("ALTER MATERIALIZED VIEW other than {what}"))
}

/// `(name, …)`, behind RESET.
fn names_of_parameters(cursor: &mut Cursor<'_>) -> Result<Vec<String>, SyntaxError> {
    cursor.listed(|cursor| {
        let mut name = cursor.label()?.text;
        if cursor.accept_token(&Token::Period) {
            name = format!("{name}.{}", cursor.label()?.text);
        }
        Ok(name)
    })
}

fn alter_action(cursor: &mut Cursor<'_>) -> Result<AlterAction, SyntaxError> {
    let start = cursor.here().start;
    let word = cursor.word().ok_or_else(|| cursor.unexpected())?;
    match word.as_str() {
        "add" => {
            cursor.advance();
            if let Some(constraint) = table_constraint(cursor)? {
                return Ok(AlterAction::AddConstraint(constraint));
            }
            cursor.accept(&["column"]);
            let if_not_exists = if_not_exists(cursor)?;
            Ok(AlterAction::AddColumn { column: column_definition(cursor)?, if_not_exists })
        }
        "drop" => {
            cursor.advance();
            let constraint = cursor.accept(&["constraint"]);
            if !constraint {
                cursor.accept(&["column"]);
            }
            let if_exists = cursor.accept(&["if", "exists"]);
            let name = cursor.name()?;
            let cascade = cascade(cursor);
            Ok(if constraint {
                AlterAction::DropConstraint { name, if_exists, cascade }
            } else {
                AlterAction::DropColumn { column: name, if_exists, cascade }
            })
        }
        "rename" => {
            cursor.advance();
            if cursor.accept(&["to"]) {
                return Ok(AlterAction::Rename(cursor.name()?));
            }
            let constraint = cursor.accept(&["constraint"]);
            if !constraint {
                cursor.accept(&["column"]);
            }
            let name = cursor.name()?;
            cursor.expect(&["to"])?;
            let to = cursor.name()?;
            Ok(if constraint {
                AlterAction::RenameConstraint { name, to }
            } else {
                AlterAction::RenameColumn { column: name, to }
            })
        }
        "set" if matches!(cursor.peek_at(1), Token::LParen) => {
            cursor.advance();
            unchecked_parameters(cursor).map(AlterAction::Options)
        }
        "reset" if matches!(cursor.peek_at(1), Token::LParen) => {
            cursor.advance();
            names_of_parameters(cursor).map(AlterAction::ResetOptions)
        }
        "of" if cursor.accept(&["of"]) => Ok(AlterAction::OfType(Some(cursor.qualified()?))),
        "not" if cursor.accept(&["not", "of"]) => Ok(AlterAction::OfType(None)),
        "cluster" if cursor.accept(&["cluster", "on"]) => Ok(AlterAction::ClusterOn(Some(cursor.name()?))),
        "replica" if cursor.accept(&["replica", "identity"]) => {
            Ok(AlterAction::ReplicaIdentity(replica_identity(cursor)?))
        }
        "set" if cursor.accept(&["set", "without", "cluster"]) => Ok(AlterAction::ClusterOn(None)),
        // What the table has anyhow.
        "set" if cursor.accept(&["set", "without", "oids"]) => Ok(AlterAction::Options(Vec::new())),
        "set" if cursor.accept(&["set", "tablespace"]) => {
            named_tablespace(cursor)?;
            Ok(AlterAction::Options(Vec::new()))
        }
        "set" if cursor.accept(&["set", "access", "method"]) => {
            if !cursor.accept(&["default"]) {
                named_method(cursor)?;
            }
            Ok(AlterAction::Options(Vec::new()))
        }
        "set" if cursor.is(&["set", "with"]) => {
            cursor.advance();
            Err(cursor.unexpected())
        }
        "set" if cursor.accept(&["set", "logged"]) => Ok(AlterAction::Logged(true)),
        "set" if cursor.accept(&["set", "unlogged"]) => Ok(AlterAction::Logged(false)),
        "compress" => {
            cursor.advance();
            Ok(AlterAction::Pack)
        }
        "repack" => {
            cursor.advance();
            Ok(AlterAction::Repack)
        }
        "create" if cursor.accept(&["create", "dictionary"]) => Ok(AlterAction::CreateDictionary),
        "shrink" => {
            cursor.advance();
            Ok(AlterAction::Shrink)
        }
        "modify" if cursor.accept(&["modify", "next", "size"]) => {
            let size = signed_number(cursor).ok_or_else(|| cursor.unexpected())?;
            check_parameter("next_extent", &size).map_err(|error| error.at(start))?;
            Ok(AlterAction::Options(vec![("next_extent".to_string(), size)]))
        }
        // Oracle's spelling, with and without parentheses; of its other clauses there is none.
        "modify" => {
            cursor.advance();
            let inner = cursor.accept_token(&Token::LParen);
            let column = cursor.name()?;
            let Some(reservable) = reservable(cursor) else {
                return Err(cursor.unsupported("ALTER TABLE … MODIFY"));
            };
            if inner {
                cursor.expect_token(&Token::RParen)?;
            }
            Ok(AlterAction::Reservable { column, reservable })
        }
        "lock" if cursor.accept(&["lock", "mode"]) => {
            cursor.expect_token(&Token::LParen)?;
            let level = cursor.name()?.text;
            check_parameter("lock_level", &level).map_err(|error| error.at(start))?;
            cursor.expect_token(&Token::RParen)?;
            Ok(AlterAction::Options(vec![("lock_level".to_string(), level)]))
        }
        "owner" if cursor.accept(&["owner", "to"]) => {
            Ok(AlterAction::Owner(super::super::schema::role_name(cursor)?))
        }
        "enable" | "disable" if cursor.is_at(1, "trigger") || cursor.is_at(2, "trigger") => {
            super::super::trigger::trigger_action(cursor)?.ok_or_else(|| cursor.unexpected())
        }
        "enable" | "disable" if cursor.is_at(1, "row") => {
            let enabled = cursor.is(&["enable"]);
            cursor.advance();
            cursor.expect(&["row", "level", "security"])?;
            Ok(AlterAction::RowSecurity { enabled: Some(enabled), forced: None })
        }
        "force" | "no" if cursor.is(&["force", "row"]) || cursor.is(&["no", "force"]) => {
            let forced = !cursor.accept(&["no"]);
            cursor.expect(&["force", "row", "level", "security"])?;
            Ok(AlterAction::RowSecurity { enabled: None, forced: Some(forced) })
        }
        "attach" if cursor.is_at(1, "partition") => {
            cursor.expect(&["attach", "partition"])?;
            let partition = cursor.qualified()?;
            Ok(AlterAction::AttachPartition { partition, bound: super::partition::bound(cursor)? })
        }
        "detach" if cursor.is_at(1, "partition") => {
            cursor.expect(&["detach", "partition"])?;
            let partition = cursor.qualified()?;
            let later = cursor.accept(&["concurrently"]) || cursor.accept(&["finalize"]);
            Ok(AlterAction::DetachPartition { partition, later })
        }
        "validate" => {
            cursor.expect(&["validate", "constraint"])?;
            Ok(AlterAction::ValidateConstraint(cursor.name()?))
        }
        "alter" => {
            cursor.advance();
            if cursor.is(&["constraint"]) {
                return super::constraint::alter_constraint(cursor);
            }
            cursor.accept(&["column"]);
            let column = cursor.name()?;
            alter_column(cursor, column)
        }
        _ => Err(no_action(cursor, start)),
    }
}

/// Actions of PostgreSQL that are not there are refused by their words, with what serves instead; what is none is a mistake of
/// the syntax.
fn no_action(cursor: &mut Cursor<'_>, start: u32) -> SyntaxError {
    let refused = |words: &str, hint| {
        SyntaxError::unsupported(format!("ALTER TABLE … {words}")).at(start).with_hint(hint)
    };
    for (words, shown) in [(&["inherit"][..], "INHERIT"), (&["no", "inherit"], "NO INHERIT")] {
        if cursor.is(words) {
            return refused(shown, instead::INHERITANCE);
        }
    }
    for switch in ["enable", "disable"] {
        if cursor.is(&[switch]) && (cursor.is_at(1, "rule") || cursor.is_at(2, "rule")) {
            return refused(&format!("{} RULE", switch.to_uppercase()), instead::RULES);
        }
    }
    if cursor.is(&["options"]) && cursor.peek_at(1) == Token::LParen {
        return refused("OPTIONS", instead::FOREIGN_TABLES);
    }
    let begins =
        ["attach", "cluster", "create", "detach", "disable", "enable", "force", "lock", "no", "not", "owner"];
    if cursor.is_any(&begins) || cursor.is_any(&["replica", "reset", "set"]) {
        cursor.advance();
    }
    cursor.unexpected()
}

fn alter_column(cursor: &mut Cursor<'_>, column: Name) -> Result<AlterAction, SyntaxError> {
    if cursor.accept(&["set", "not", "null"]) {
        return Ok(AlterAction::NotNull { column, not_null: true });
    }
    if cursor.accept(&["drop", "not", "null"]) {
        return Ok(AlterAction::NotNull { column, not_null: false });
    }
    if let Some(reservable) = reservable(cursor) {
        return Ok(AlterAction::Reservable { column, reservable });
    }
    if cursor.is(&["set"]) && matches!(cursor.peek_at(1), Token::LParen) {
        cursor.advance();
        let options = parameters(cursor, check_column_option)?;
        let options = options.into_iter().map(|(name, value)| (name, Some(value))).collect();
        return Ok(AlterAction::ColumnOptions { column, options });
    }
    if cursor.is(&["reset"]) && matches!(cursor.peek_at(1), Token::LParen) {
        cursor.advance();
        cursor.advance();
        let at = cursor.here().start;
        let names = cursor.list(Cursor::name)?;
        names
            .iter()
            .try_for_each(|name| check_column_option(&name.text, "0"))
            .map_err(|error| error.at(at))?;
        cursor.expect_token(&Token::RParen)?;
        let options = names.into_iter().map(|name| (name.text, None)).collect();
        return Ok(AlterAction::ColumnOptions { column, options });
    }
    if cursor.accept(&["drop", "default"]) {
        return Ok(AlterAction::Default { column, default: None });
    }
    if cursor.accept(&["set", "default"]) {
        return Ok(AlterAction::Default { column, default: Some(whole_expression(cursor)?) });
    }
    if cursor.accept(&["set", "expression"]) {
        cursor.expect(&["as"])?;
        return Ok(AlterAction::SetExpression { column, expression: generation(cursor)? });
    }
    if cursor.accept(&["drop", "expression"]) {
        let if_exists = cursor.accept(&["if", "exists"]);
        return Ok(AlterAction::DropExpression { column, if_exists });
    }
    if cursor.accept(&["set", "data", "type"]) || cursor.accept(&["type"]) {
        let mut ty = cursor.data_type()?;
        if cursor.is(&["collate"]) {
            ty = collated(ty, &collate(cursor)?);
        }
        let using = if cursor.accept(&["using"]) { Some(cursor.expr()?) } else { None };
        return Ok(AlterAction::ColumnType { column, ty, using });
    }
    if cursor.is(&["add", "generated"]) {
        cursor.advance();
        let at = cursor.here().start;
        return match generated(cursor, &SqlType::Int8)? {
            GeneratedAs::Identity(identity, sequence) => {
                Ok(AlterAction::AddIdentity { column, identity, sequence })
            }
            GeneratedAs::Expression(..) => Err(cursor.source().near(at)),
        };
    }
    if cursor.accept(&["drop", "identity"]) {
        let if_exists = cursor.accept(&["if", "exists"]);
        return Ok(AlterAction::DropIdentity { column, if_exists });
    }
    if cursor.accept(&["set", "statistics"]) {
        let target = if cursor.accept(&["default"]) { None } else { Some(cursor.integer()?) };
        return Ok(AlterAction::Statistics { column, target });
    }
    if cursor.accept(&["set", "storage"]) {
        return Ok(AlterAction::Storage { column, how: cursor.label()? });
    }
    if cursor.accept(&["set", "compression"]) {
        return Ok(AlterAction::Compression { column, method: cursor.label()? });
    }
    if let Some((identity, options)) = identity_changes(cursor)? {
        return Ok(AlterAction::SetIdentity { column, identity, options: Box::new(options) });
    }
    if cursor.is(&["options"]) && cursor.peek_at(1) == Token::LParen {
        return Err(cursor.unsupported("ALTER COLUMN … OPTIONS").with_hint(instead::FOREIGN_TABLES));
    }
    if cursor.is_any(&["add", "drop", "reset", "set"]) {
        cursor.advance();
    }
    Err(cursor.unexpected())
}

/// What stands behind REPLICA IDENTITY.
fn replica_identity(cursor: &mut Cursor<'_>) -> Result<ReplicaIdentity, SyntaxError> {
    if cursor.accept(&["default"]) {
        return Ok(ReplicaIdentity::Default);
    }
    if cursor.accept(&["full"]) {
        return Ok(ReplicaIdentity::Full);
    }
    if cursor.accept(&["nothing"]) {
        return Ok(ReplicaIdentity::Nothing);
    }
    cursor.expect(&["using", "index"])?;
    Ok(ReplicaIdentity::Index(cursor.name()?))
}

/// The options of columns: `n_distinct`, and `reservable`, the form in which pg_dump has that.
fn check_column_option(name: &str, value: &str) -> Result<(), SyntaxError> {
    match name {
        "reservable" if boolean(value).is_some() => Ok(()),
        "reservable" => {
            let text = format!("invalid value for boolean option \"reservable\": {value}");
            Err(SyntaxError::new("22023", text))
        }
        "n_distinct" => match value.trim().parse::<f64>() {
            Ok(number) if number.is_finite() && number >= -1.0 => Ok(()),
            Ok(number) if !number.is_nan() => {
                let text = format!("value {value} out of bounds for option \"n_distinct\"");
                Err(SyntaxError::new("22023", text))
            }
            _ => {
                let text = format!("invalid value for floating point option \"n_distinct\": {value}");
                Err(SyntaxError::new("22023", text))
            }
        },
        // Partitions are analyzed by themselves, and the table as a whole is not.
        "n_distinct_inherited" => Err(SyntaxError::unsupported(format!("ALTER COLUMN … SET ({name})"))),
        _ => Err(SyntaxError::new("22023", format!("unrecognized parameter \"{name}\""))),
    }
}

/// `[SET] RESERVABLE`, `[SET] NOT RESERVABLE`: which of them, if one comes next.
fn reservable(cursor: &mut Cursor<'_>) -> Option<bool> {
    let is = |cursor: &mut Cursor<'_>, words| cursor.accept(words);
    if is(cursor, &["reservable"]) || is(cursor, &["set", "reservable"]) {
        return Some(true);
    }
    (is(cursor, &["not", "reservable"]) || is(cursor, &["set", "not", "reservable"])).then_some(false)
}

/// `SET GENERATED …`, `SET option`, `RESTART [WITH n]`, one behind the other; none where none of them comes next.
fn identity_changes(
    cursor: &mut Cursor<'_>,
) -> Result<Option<(Option<Identity>, SequenceOptions)>, SyntaxError> {
    let options_of_sequence =
        ["start", "increment", "minvalue", "maxvalue", "cycle", "cache", "no", "restart"];
    let (mut identity, mut options, mut seen) = (None, SequenceOptions::default(), Vec::new());
    let mut any = false;
    loop {
        let at = cursor.here().start;
        let second = cursor.word_at(1).filter(|_| cursor.is(&["set"]));
        if second.as_deref() == Some("generated") {
            cursor.advance();
            cursor.advance();
            if identity.replace(generated_when(cursor)?).is_some() {
                return Err(SyntaxError::syntax("conflicting or redundant options").at(at));
            }
        } else if second.is_some_and(|word| options_of_sequence.contains(&word.as_str())) {
            cursor.advance();
            option_of_sequence(cursor, &mut options, &mut None, &mut seen)?;
        } else if cursor.is(&["restart"]) {
            option_of_sequence(cursor, &mut options, &mut None, &mut seen)?;
        } else {
            return Ok(any.then_some((identity, options)));
        }
        any = true;
    }
}
