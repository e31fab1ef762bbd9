//! CREATE COLLATION, ALTER COLLATION, DROP COLLATION.

use std::sync::Arc;

use verso_catalog::{
    CollationChange, CollationDef, CollationUse, Lost, NewCollation, OWNER_ROLE, Oid, Relation,
    collation_uses,
};
use verso_parser::syntax::{AlterAction, CollationOption, CollationStatement, Name, QualifiedName, Span};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};
use verso_types::SqlType;

use super::{Schema, text};
use crate::client::{CommandTag, Notice, tag};
use crate::failure::Failure;

impl Schema<'_> {
    /// Runs a statement about collations.
    pub(super) fn collation_statement(&self, statement: &CollationStatement) -> Result<CommandTag, Failure> {
        match statement {
            CollationStatement::Create { name, if_not_exists, from, options } => {
                self.create_collation(name, *if_not_exists, from.as_ref(), options)?;
                Ok(tag("CREATE COLLATION"))
            }
            CollationStatement::Refresh { name } => {
                self.refresh_collation(name)?;
                Ok(tag("ALTER COLLATION"))
            }
            CollationStatement::Rename { name, to } => {
                self.change_collation(name, CollationChange::Name(text(to)))
            }
            CollationStatement::Move { name, to } => {
                self.may_create_in(&to.text)?;
                self.change_collation(name, CollationChange::Schema(text(to)))
            }
            CollationStatement::Drop { names, if_exists, cascade } => {
                for name in names {
                    match self.collation(name) {
                        Ok(found) => {
                            self.own_collation(&found)?;
                            self.tell_along(&self.drop_found_collation(&found, *cascade)?);
                        }
                        Err(error) if *if_exists && error.sqlstate == sqlstate::INVALID_SCHEMA_NAME => {
                            self.skip(format!("{}, skipping", error.message));
                        }
                        Err(error) if *if_exists && error.sqlstate == sqlstate::UNDEFINED_OBJECT => {
                            self.skip(format!("collation \"{name}\" does not exist, skipping"));
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
                Ok(tag("DROP COLLATION"))
            }
        }
    }

    /// Drops a collation, with `cascade` also what needs it: that, in words.
    pub(super) fn drop_found_collation(
        &self,
        found: &CollationDef,
        cascade: bool,
    ) -> Result<Vec<String>, Failure> {
        let mut along = Vec::new();
        if cascade {
            along = self.drop_uses(found)?;
            let lost = [Lost::Other(found.oid())];
            along.extend(self.frame.inside(|frame| Schema { frame }.drop_generated(&lost))?);
        }
        // What was dropped just now is not seen as something that needs it.
        along.extend(self.frame.inside(|frame| {
            let (catalog, txn) = (&frame.services.instance.catalog, &frame.txn);
            Ok(catalog.drop_collation(&mut txn.borrow_mut(), found, cascade)?)
        })?);
        Ok(along)
    }

    /// Drops what needs a collation; these, in words.
    fn drop_uses(&self, collation: &CollationDef) -> Result<Vec<String>, Failure> {
        let catalog = self.frame.catalog;
        let uses = collation_uses(catalog, &collation.collation);
        // An index goes with its columns, as in PostgreSQL.
        let goes =
            |table: Oid, column: u16| uses.iter().any(|(one, _)| *one == CollationUse::Column(table, column));
        let goes_along = |one: &CollationUse| {
            let CollationUse::Index(oid) = one else { return false };
            let Some(Relation::Index(index)) = catalog.relation_by_oid(*oid) else { return false };
            index.columns().any(|column| goes(index.table, column))
        };
        for (one, _) in uses.iter().rev().filter(|(one, _)| !goes_along(one)) {
            // Another one may have taken it along.
            self.frame.inside(|frame| Schema { frame }.drop_use(one))?;
        }
        let along = uses.iter().filter(|(one, _)| !goes_along(one)).map(|(_, name)| name.clone());
        Ok(along.collect())
    }

    /// Drops something that needs a collation, if it is still there.
    pub(super) fn drop_use(&self, one: &CollationUse) -> Result<(), Failure> {
        let catalog = self.frame.catalog;
        let changes = &self.frame.services.instance.catalog;
        let name = |text: &str| Name { text: text.to_string(), at: Span::default() };
        let txn = || self.frame.txn.borrow_mut();
        match one {
            CollationUse::Column(table, column) => {
                if let Some(ty) = catalog.user_type(*table) {
                    let SqlType::Row(row) = &ty.ty else { return Ok(()) };
                    let stays = |(_, id): &(_, &u16)| *id != column;
                    let kept = row.fields.iter().zip(&ty.fields).filter(stays);
                    let kept: Vec<_> = kept.map(|(field, _)| field.clone()).collect();
                    return self.keep_fields(ty, &kept);
                }
                let table = catalog.table_by_oid(*table);
                let Some(table) = table else { return Ok(()) };
                // That of a partition goes with its table's.
                if table.partition_of.is_some() {
                    return Ok(());
                }
                let Some(at) = table.column_with_id(*column) else { return Ok(()) };
                self.drop_column(&table.schema, &table.name, &table.columns[at].name)?;
            }
            CollationUse::Check(table, constraint) => {
                let Some(table) = catalog.table_by_oid(*table) else { return Ok(()) };
                let place = QualifiedName { schema: Some(name(&table.schema)), name: name(&table.name) };
                let action =
                    AlterAction::DropConstraint { name: name(constraint), if_exists: true, cascade: true };
                self.alter_action(&place, &action, false)?;
            }
            CollationUse::Domain(domain) => {
                let Some(domain) = catalog.user_type(*domain) else { return Ok(()) };
                let place = QualifiedName { schema: Some(name(&domain.schema)), name: name(&domain.name) };
                self.drop_types(&[place], true, true, true)?;
            }
            CollationUse::Index(oid) | CollationUse::View(oid) | CollationUse::Key(oid) => {
                match catalog.relation_by_oid(*oid) {
                    Some(Relation::Index(index)) => {
                        let table = catalog.table_by_oid(index.table);
                        // One behind a constraint goes with that.
                        if let Some(table) = table.filter(|one| one.constraint(&index.name).is_some()) {
                            let of = CollationUse::Check(table.oid, Arc::clone(&index.name));
                            return self.drop_use(&of);
                        }
                        changes.drop_index(&mut txn(), Some(&index.schema), &index.name, true, false)?;
                    }
                    Some(Relation::View(view)) => {
                        changes.drop_views(&mut txn(), std::slice::from_ref(view), true)?;
                    }
                    Some(Relation::Table(table)) => {
                        changes.drop_tables(&mut txn(), std::slice::from_ref(table), true)?;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn create_collation(
        &self,
        name: &QualifiedName,
        if_not_exists: bool,
        from: Option<&QualifiedName>,
        options: &[CollationOption],
    ) -> Result<(), Failure> {
        let (schema, own) = (self.place(name)?, text(&name.name));
        let new = match from {
            Some(from) => {
                let from = self.collation(from)?;
                if from.provider == 'd' {
                    let text = "collation \"default\" cannot be copied";
                    return Err(SqlError::new("42P17", text).into());
                }
                NewCollation {
                    schema,
                    name: own,
                    provider: from.provider,
                    locale: from.locale.clone(),
                    deterministic: from.deterministic,
                }
            }
            None => {
                let new = from_options(schema, own, options)?;
                match new.locale.as_deref().filter(|_| new.provider == 'i').and_then(standard_form) {
                    Some(standard) => {
                        let given = new.locale.as_deref().unwrap_or_default();
                        self.skip(format!("using standard form \"{standard}\" for ICU locale \"{given}\""));
                        NewCollation { locale: Some(standard.into()), ..new }
                    }
                    None => new,
                }
            }
        };
        let catalog = &self.frame.services.instance.catalog;
        let exists = self.frame.catalog.collation(Some(&new.schema), &new.name).is_some();
        if exists && if_not_exists {
            let message =
                format!("collation \"{}\" for encoding \"UTF8\" already exists, skipping", new.name);
            self.skip_known(sqlstate::DUPLICATE_OBJECT, message);
            return Ok(());
        }
        let owner = self.frame.catalog.acting_role().unwrap_or(OWNER_ROLE);
        catalog.create_collation(&mut self.frame.txn.borrow_mut(), &new, owner)?;
        Ok(())
    }

    /// Says which data the collation is of from now on; indexes keep their own version and are built anew apart from that.
    fn refresh_collation(&self, name: &QualifiedName) -> Result<(), Failure> {
        let found = self.collation(name)?;
        match found.oid().is_system() {
            true => self.own_role_object(OWNER_ROLE, "collation", &found.collation.name)?,
            false => self.own_collation(&found)?,
        }
        let catalog = &self.frame.services.instance.catalog;
        let now = catalog.collation_data().version();
        let notices = &self.frame.services.notices;
        match found.version.as_deref() {
            Some(version) if version != now && !found.oid().is_system() => {
                catalog.alter_collation(
                    &mut self.frame.txn.borrow_mut(),
                    &found,
                    &CollationChange::Version,
                )?;
                notices.tell(Notice::message(format!("changing version from {version} to {now}")));
            }
            _ => notices.tell(Notice::message("version has not changed".to_string())),
        }
        Ok(())
    }

    fn change_collation(&self, name: &QualifiedName, change: CollationChange) -> Result<CommandTag, Failure> {
        let found = self.collation(name)?;
        self.own_collation(&found)?;
        let catalog = &self.frame.services.instance.catalog;
        catalog.alter_collation(&mut self.frame.txn.borrow_mut(), &found, &change)?;
        Ok(tag("ALTER COLLATION"))
    }

    pub(super) fn collation(&self, name: &QualifiedName) -> Result<Arc<CollationDef>, SqlError> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        binder.collation_named(name.schema_text(), &name.name.text, name.at().start)
    }

    /// Refuses a collation that is another role's.
    pub(super) fn own_collation(&self, collation: &CollationDef) -> Result<(), SqlError> {
        self.own_role_object(collation.owner, "collation", &collation.collation.name)
    }
}

/// Keywords of ICU's older names of locales, with their keys in language tags.
const KEYWORDS: [(&str, &str); 14] = [
    ("calendar", "ca"),
    ("colalternate", "ka"),
    ("colbackwards", "kb"),
    ("colcasefirst", "kf"),
    ("colcaselevel", "kc"),
    ("colhiraganaquaternary", "kh"),
    ("collation", "co"),
    ("colnormalization", "kk"),
    ("colnumeric", "kn"),
    ("colreorder", "kr"),
    ("colstrength", "ks"),
    ("currency", "cu"),
    ("numbers", "nu"),
    ("variabletop", "vt"),
];

/// Values of such keywords that are called otherwise in language tags.
const KEYWORD_VALUES: [(&str, &str, &str); 13] = [
    ("co", "dictionary", "dict"),
    ("co", "gb2312han", "gb2312"),
    ("co", "phonebook", "phonebk"),
    ("co", "traditional", "trad"),
    ("ka", "non-ignorable", "noignore"),
    ("ks", "identical", "identic"),
    ("ks", "primary", "level1"),
    ("ks", "quarternary", "level4"),
    ("ks", "quaternary", "level4"),
    ("ks", "secondary", "level2"),
    ("ks", "tertiary", "level3"),
    ("", "no", "false"),
    ("", "yes", "true"),
];

/// The language tag of a locale that is written in ICU's older way: `@colStrength=secondary`, the root locale as an empty text.
/// None for what is a language tag already.
fn standard_form(locale: &str) -> Option<String> {
    if locale.is_empty() {
        return Some("und".to_owned());
    }
    let (language, keywords) = locale.split_once('@')?;
    let mut found: Vec<(String, String)> = Vec::new();
    for keyword in keywords.split(';').filter(|keyword| !keyword.is_empty()) {
        let (name, value) = keyword.split_once('=')?;
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_ascii_lowercase());
        let key = KEYWORDS.iter().find(|(known, _)| *known == name).map_or(&*name, |(_, key)| key);
        let is_it = |(of, known, _): &&(&str, &str, &str)| (of.is_empty() || *of == key) && *known == value;
        let value = KEYWORD_VALUES.iter().find(is_it).map_or(&*value, |(_, _, value)| value);
        found.push((key.to_owned(), value.to_owned()));
    }
    found.sort();
    let language = if language.is_empty() { "und".to_owned() } else { language.replace('_', "-") };
    let keywords: String = found.iter().map(|(key, value)| format!("-{key}-{value}")).collect();
    Some(if keywords.is_empty() { language } else { format!("{language}-u{keywords}") })
}

/// What the options of CREATE COLLATION ask for.
fn from_options(
    schema: Arc<str>,
    name: Arc<str>,
    options: &[CollationOption],
) -> Result<NewCollation, SqlError> {
    let wrong = |text: String, at: u32| SqlError::new("42P17", text).at(at);
    let (mut provider, mut locale, mut deterministic) = (None, None, true);
    let (mut collate, mut ctype) = (None, None);
    let mut seen: Vec<&str> = Vec::new();
    for option in options {
        let (word, at) = (option.name.text.as_str(), option.name.at.start);
        if seen.contains(&word) {
            return Err(SqlError::syntax("conflicting or redundant options").at(at));
        }
        seen.push(word);
        let value = || {
            let missing = || SqlError::syntax(format!("{word} requires a parameter")).at(at);
            option.value.clone().ok_or_else(missing)
        };
        match word {
            "provider" => provider = Some(value()?),
            "locale" => locale = Some(value()?),
            "lc_collate" => collate = Some(value()?),
            "lc_ctype" => ctype = Some(value()?),
            "deterministic" => {
                deterministic = match option.value.as_deref().map(str::to_lowercase).as_deref() {
                    None | Some("true" | "on" | "1") => true,
                    Some("false" | "off" | "0") => false,
                    Some(_) => {
                        return Err(SqlError::syntax(format!("{word} requires a Boolean value")).at(at));
                    }
                }
            }
            "rules" => return Err(SqlError::unsupported("CREATE COLLATION (RULES)").at(at)),
            // What pg_dump writes: the data are the program's own.
            "version" => {
                value()?;
            }
            _ => {
                let text = format!("collation attribute \"{word}\" not recognized");
                return Err(SqlError::syntax(text).at(at));
            }
        }
    }
    if locale.is_some() && (collate.is_some() || ctype.is_some()) {
        let text = "conflicting or redundant options";
        let detail = "LOCALE cannot be specified together with LC_COLLATE or LC_CTYPE.";
        return Err(SqlError::syntax(text).with_detail(detail));
    }
    let by_bytes = |locale: Option<&str>| matches!(locale, Some("C" | "POSIX"));
    match provider.as_deref().unwrap_or("libc") {
        "icu" => {
            let Some(locale) = locale else {
                return Err(wrong("parameter \"locale\" must be specified".into(), 0));
            };
            Ok(NewCollation { schema, name, provider: 'i', locale: Some(locale.into()), deterministic })
        }
        other @ ("libc" | "builtin") => {
            if !deterministic {
                let text = "nondeterministic collations not supported with this provider";
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
            }
            let wanted = locale.as_deref().or(collate.as_deref());
            if wanted.is_none() {
                return Err(wrong("parameter \"locale\" must be specified".into(), 0));
            }
            if other == "builtin" {
                // All of them order by bytes; how letters change their case is the same everywhere.
                let locale = match wanted {
                    Some("C") => "C",
                    Some("C.UTF-8" | "C.UTF8") => "C.UTF-8",
                    Some("PG_UNICODE_FAST") => "PG_UNICODE_FAST",
                    other => {
                        let other = other.unwrap_or_default();
                        let text = format!("invalid locale name \"{other}\" for builtin provider");
                        return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text));
                    }
                };
                return Ok(NewCollation {
                    schema,
                    name,
                    provider: 'b',
                    locale: Some(locale.into()),
                    deterministic,
                });
            }
            if !by_bytes(wanted) || ctype.as_deref().is_some_and(|ctype| !by_bytes(Some(ctype))) {
                let text = format!("collations of the operating system (provider {other})");
                let hint = "Use PROVIDER = icu, whose data are built in.";
                return Err(SqlError::unsupported(text).with_hint(hint));
            }
            Ok(NewCollation { schema, name, provider: 'c', locale: None, deterministic })
        }
        other => Err(wrong(format!("unrecognized collation provider: {other}"), 0)),
    }
}
