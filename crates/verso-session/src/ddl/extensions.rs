//! CREATE EXTENSION, ALTER EXTENSION, DROP EXTENSION: of those that are built in.

use std::sync::Arc;

use verso_catalog::{ExtensionDef, OWNER_ROLE, Object, PG_STAT_STATEMENTS, Rights};
use verso_parser::syntax::{ExtensionStatement, Name};
use verso_planner::errors::{SqlError, sqlstate};

use super::{Schema, text};
use crate::catalogs::extensions::{PLPGSQL, built_in};
use crate::client::{CommandTag, tag};
use crate::failure::Failure;

impl Schema<'_> {
    /// Runs a statement about extensions.
    pub(super) fn extension_statement(&self, statement: &ExtensionStatement) -> Result<CommandTag, Failure> {
        let catalog = &self.frame.services.instance.catalog;
        let txn = &self.frame.txn;
        match statement {
            ExtensionStatement::Create { name, if_not_exists, schema, version } => {
                self.create_extension(name, *if_not_exists, schema.as_ref(), version.as_deref())?;
                Ok(tag("CREATE EXTENSION"))
            }
            ExtensionStatement::Update { name, version } => {
                let known = match name.text.as_str() {
                    PLPGSQL => {
                        self.own_role_object(OWNER_ROLE, "extension", PLPGSQL)?;
                        built_in(PLPGSQL).map_or("", |one| one.version).into()
                    }
                    _ => self.owned_extension(name)?.version,
                };
                if let Some(version) = version.as_deref().filter(|version| **version != *known) {
                    let text = format!(
                        "extension \"{}\" has no update path from version \"{known}\" to version \"{version}\"",
                        name.text
                    );
                    return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text).into());
                }
                self.skip(format!("version \"{known}\" of extension \"{}\" is already installed", name.text));
                Ok(tag("ALTER EXTENSION"))
            }
            ExtensionStatement::Move { name, to } => {
                if name.text == PLPGSQL {
                    self.own_role_object(OWNER_ROLE, "extension", PLPGSQL)?;
                    let text = format!("extension \"{PLPGSQL}\" does not support SET SCHEMA");
                    return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
                }
                let extension = self.owned_extension(name)?;
                self.may_create_in(&to.text)?;
                catalog.move_extension(&mut txn.borrow_mut(), &extension, &to.text)?;
                Ok(tag("ALTER EXTENSION"))
            }
            // The language is a part of the program, which loads no libraries.
            ExtensionStatement::Load { library } => match library.strip_prefix("$libdir/").unwrap_or(library)
            {
                PLPGSQL => Ok(tag("LOAD")),
                _ => {
                    let text = format!("could not access file \"{library}\": No such file or directory");
                    Err(SqlError::new("58P01", text).into())
                }
            },
            ExtensionStatement::Drop { names, if_exists, cascade } => {
                for name in names {
                    if name.text == PLPGSQL {
                        return Err(SqlError::unsupported("DROP EXTENSION plpgsql").into());
                    }
                    if *if_exists && self.frame.catalog.extension(&name.text).is_none() {
                        self.skip(format!("extension \"{}\" does not exist, skipping", name.text));
                        continue;
                    }
                    let extension = self.owned_extension(name)?;
                    if *cascade {
                        self.frame.inside(|frame| Schema { frame }.drop_made_of_extension(&extension))?;
                    }
                    self.frame.inside(|frame| {
                        Ok(catalog.drop_extension(&mut frame.txn.borrow_mut(), &extension, *cascade)?)
                    })?;
                }
                Ok(tag("DROP EXTENSION"))
            }
        }
    }

    /// Drops the tables, columns, fields and domains that are of the types which an extension brings.
    fn drop_made_of_extension(&self, extension: &ExtensionDef) -> Result<(), Failure> {
        let mut types: Vec<_> = extension.types().into_iter().map(Arc::new).collect();
        let own = types.len();
        self.drop_uses_of_types(&mut types, true)?;
        // Those above go before those beneath.
        let mut above = types.split_off(own);
        above.reverse();
        self.frame.inside(|frame| {
            let catalog = &frame.services.instance.catalog;
            Ok(catalog.drop_types(&mut frame.txn.borrow_mut(), &above, true)?)
        })
    }

    fn create_extension(
        &self,
        name: &Name,
        if_not_exists: bool,
        schema: Option<&Name>,
        version: Option<&str>,
    ) -> Result<(), Failure> {
        let own = name.text.as_str();
        if own == PLPGSQL || self.frame.catalog.extension(own).is_some() {
            if if_not_exists {
                let text = format!("extension \"{own}\" already exists, skipping");
                self.skip_known(sqlstate::DUPLICATE_OBJECT, text);
                return Ok(());
            }
            let text = format!("extension \"{own}\" already exists");
            return Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, text).into());
        }
        let Some(known) = built_in(own) else {
            let text = format!("extension \"{own}\" is not available");
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
                .with_hint("The view pg_available_extensions lists the extensions that are built in.")
                .into());
        };
        if let Some(version) = version.filter(|version| *version != known.version) {
            let text = format!(
                "extension \"{own}\" has no installation script nor update path for version \"{version}\""
            );
            return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text).into());
        }
        self.needs(Object::Database, Rights::CREATE, "database", self.frame.services.database())?;
        let schema = match schema {
            Some(schema) => {
                if self.frame.catalog.schema(&schema.text).is_none() {
                    let text = format!("schema \"{}\" does not exist", schema.text);
                    return Err(SqlError::new("3F000", text).into());
                }
                text(schema)
            }
            None => match self.frame.catalog.creation_schema() {
                Some(schema) => Arc::clone(&schema.name),
                None => {
                    let text = "no schema has been selected to create in";
                    return Err(SqlError::new("3F000", text).into());
                }
            },
        };
        self.may_create_in(&schema)?;
        let owner = self.frame.catalog.acting_role().unwrap_or(OWNER_ROLE);
        let catalog = &self.frame.services.instance.catalog;
        let txn = &mut self.frame.txn.borrow_mut();
        catalog.create_extension(txn, &schema, &text(name), known.version, owner)?;
        if own == PG_STAT_STATEMENTS {
            self.frame.services.instance.tracked.note_asked(true);
        }
        Ok(())
    }

    /// The extension that a statement names.
    pub(super) fn extension(&self, name: &Name) -> Result<ExtensionDef, SqlError> {
        self.frame.catalog.extension(&name.text).cloned().ok_or_else(|| {
            let text = format!("extension \"{}\" does not exist", name.text);
            SqlError::new(sqlstate::UNDEFINED_OBJECT, text)
        })
    }

    /// The same, if the role may change it.
    fn owned_extension(&self, name: &Name) -> Result<ExtensionDef, SqlError> {
        let extension = self.extension(name)?;
        self.own_extension(&extension)?;
        Ok(extension)
    }

    /// Refuses what is another role's.
    pub(super) fn own_extension(&self, extension: &ExtensionDef) -> Result<(), SqlError> {
        self.own_role_object(extension.owner, "extension", &extension.name)
    }
}
