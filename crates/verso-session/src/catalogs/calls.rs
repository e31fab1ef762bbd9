//! The functions over the catalogs, by name. Their signatures are in `verso-exec`, `functions/catalogs.rs`.

use std::sync::Arc;

use verso_catalog::snapshot::PG_CATALOG;
use verso_catalog::{CatalogSnapshot, Object, Oid, Relation, SystemRelation, TableDef, is_shared};
use verso_exec::ExecError;
use verso_planner::deparse;
use verso_planner::errors::SqlError;
use verso_storage::ObjectId;
use verso_types::cast::{CastKind, cast};
use verso_types::{
    Decimal, Encoding, Number, SqlType, SystemType, TypeError, Value, names as references, parse_text,
};

use super::{definitions, extensions, fixed, names, visible};
use crate::views::Views;

type Result<T> = std::result::Result<T, ExecError>;

/// A function's arguments.
struct Args<'a>(&'a [Value]);

impl Args<'_> {
    fn oid(&self, place: usize) -> Oid {
        let number = self.0.get(place).and_then(Value::as_i64).unwrap_or_default();
        Oid(u32::try_from(number).unwrap_or_default())
    }

    fn number(&self, place: usize) -> i64 {
        self.0.get(place).and_then(Value::as_i64).unwrap_or_default()
    }

    fn text(&self, place: usize) -> &str {
        self.0.get(place).and_then(Value::as_str).unwrap_or_default()
    }

    fn flag(&self, place: usize) -> bool {
        self.0.get(place).and_then(Value::as_bool).unwrap_or_default()
    }
}

fn text(text: Option<String>) -> Value {
    text.map_or(Value::Null, |text| Value::text(&text))
}

/// The value of a function.
///
/// # Errors
/// Those of the function.
pub(crate) fn call(views: &Views<'_>, function: &'static str, args: &[Value]) -> Result<Value> {
    let catalog = views.services.known_catalog();
    let Some(catalog) = catalog else { return Err(ExecError::raised("XX000", "no statement is running")) };
    let call = Call { views, catalog: &catalog, args: Args(args) };
    if let Some(kind) = function.strip_prefix("has_").and_then(|name| name.strip_suffix("_privilege")) {
        return super::rights::has_right(views, &catalog, kind, args);
    }
    if function.ends_with("_is_visible") {
        return Ok(call.is_visible(function));
    }
    if let Some(value) = super::control::call(views, &catalog, function, args)? {
        return Ok(value);
    }
    if let Some(value) = super::server::call(views, &catalog, function, args)? {
        return Ok(value);
    }
    if function == "to_regtypemod" {
        return Ok(call.input_type(call.args.text(0)).map_or(Value::Null, |ty| Value::Int4(ty.typmod())));
    }
    if let Some(kind) = function.strip_prefix("to_reg") {
        return call.to_reference(kind);
    }
    call.other(function)
}

struct Call<'c> {
    views: &'c Views<'c>,
    catalog: &'c Arc<CatalogSnapshot>,
    args: Args<'c>,
}

impl Call<'_> {
    fn other(&self, function: &'static str) -> Result<Value> {
        let (catalog, args) = (self.catalog, &self.args);
        Ok(match function {
            "format_type" => self.format_type(),
            "oidvectortypes" => self.types_in_words(),
            "pg_get_constraintdef" => {
                text(definitions::constraint_text(self.views, catalog, args.oid(0), args.flag(1)))
            }
            "_pg_index_position" => {
                let column = i16::try_from(args.number(1)).unwrap_or_default();
                let place = super::relations::place_in_index(catalog, args.oid(0), column);
                place.and_then(|place| i32::try_from(place).ok()).map_or(Value::Null, Value::Int4)
            }
            "pg_get_indexdef" => {
                let column = usize::try_from(args.number(1)).unwrap_or_default();
                text(definitions::index_text(self.views, catalog, args.oid(0), column, args.flag(2)))
            }
            // The tree of an expression is its text already.
            "pg_get_expr" => self.expression(),
            "pg_get_functiondef" => {
                let aggregate = definitions::function(catalog, args.oid(0)).filter(|own| own.is_aggregate());
                if let Some(aggregate) = aggregate {
                    let text = format!("\"{}\" is an aggregate function", aggregate.name);
                    return Err(ExecError::raised("42809", text));
                }
                match definitions::function(catalog, args.oid(0)) {
                    Some(own) => Value::text(&definitions::function_text(self.views, catalog, own)),
                    None => Value::Null,
                }
            }
            "pg_get_function_arguments" | "pg_get_function_identity_arguments" => {
                let own = |catalog: &_, own: &_| match function {
                    "pg_get_function_arguments" => definitions::arguments(self.views, catalog, own),
                    _ => definitions::identity_arguments(self.views, catalog, own),
                };
                let defaults = function == "pg_get_function_arguments";
                self.signature(own, |row| super::signatures::arguments(self.catalog, row, defaults))
            }
            "pg_get_function_result"
                if definitions::function(catalog, args.oid(0)).is_some_and(|own| own.is_procedure()) =>
            {
                Value::Null
            }
            "pg_get_function_result" => self.signature(definitions::result, |row| {
                let name = super::signatures::type_shown(self.catalog, row[18].as_i64().unwrap_or_default());
                if row[13] == Value::Bool(true) { format!("SETOF {name}") } else { name }
            }),
            "pg_get_triggerdef" => {
                text(super::triggers::trigger_text(self.views, catalog, args.oid(0), args.flag(1)))
            }
            "pg_get_viewdef" => {
                let style = match args.0.get(1) {
                    Some(Value::Int4(_)) => deparse::Style {
                        pretty: true,
                        wrap: usize::try_from(args.number(1)).unwrap_or_default(),
                    },
                    _ => deparse::Style { pretty: args.flag(1), wrap: 0 },
                };
                let oid = match args.0.first() {
                    Some(Value::Text(name)) => {
                        Oid(u32::try_from(names::relation_number(catalog, name)?).unwrap_or_default())
                    }
                    _ => args.oid(0),
                };
                text(definitions::view_text(self.views, catalog, oid, style))
            }
            "pg_stat_get_live_tuples" => super::activity::of_table(self.views, catalog, args.oid(0), 14),
            "pg_stat_get_mod_since_analyze" => {
                super::activity::of_table(self.views, catalog, args.oid(0), 16)
            }
            "pg_stat_get_last_analyze_time" => {
                super::activity::of_table(self.views, catalog, args.oid(0), 20)
            }
            "pg_stat_get_last_autoanalyze_time" => {
                super::activity::of_table(self.views, catalog, args.oid(0), 21)
            }
            "pg_stat_get_analyze_count" => super::activity::of_table(self.views, catalog, args.oid(0), 24),
            "pg_stat_get_autoanalyze_count" => {
                super::activity::of_table(self.views, catalog, args.oid(0), 25)
            }
            "pg_get_function_arg_default" => match definitions::function(catalog, args.oid(0)) {
                Some(own) => text(definitions::argument_default(self.views, catalog, own, args.number(1))),
                None => {
                    let row = fixed::by_oid("pg_proc", args.oid(0).0.into());
                    let default =
                        row.and_then(|row| super::signatures::argument_default(&row, args.number(1)));
                    default.map_or(Value::Null, Value::text)
                }
            },
            "pg_get_function_sqlbody" => {
                let own = definitions::function(catalog, args.oid(0));
                let own = own.filter(|own| own.standard_body);
                text(own.map(|own| definitions::body_text(self.views, catalog, own)))
            }
            "pg_get_ruledef" => text(definitions::rule_text(self.views, catalog, args.oid(0), args.flag(1))),
            "pg_get_statisticsobjdef" => text(super::extended::text(self.views, catalog, args.oid(0))),
            "pg_get_statisticsobjdef_columns" => {
                text(super::extended::items_text(self.views, catalog, args.oid(0)))
            }
            "pg_get_statisticsobjdef_expressions" => {
                super::extended::expression_list(self.views, catalog, args.oid(0))
            }
            "pg_get_partition_constraintdef" => {
                text(super::partition_constraint::shown(self.views, catalog, args.oid(0)))
            }
            "pg_partition_root" => super::partitions::root(catalog, args.oid(0)),
            "pg_partition_ancestors" => super::partitions::ancestors(catalog, args.oid(0)),
            "pg_partition_tree" => super::partitions::tree(catalog, args.oid(0)),
            "pg_get_partkeydef" => text(super::partitions::key_text(self.views, catalog, args.oid(0))),
            "pg_input_type" => {
                self.input_type(args.text(0))?;
                Value::Null
            }
            // The value that a text is, or the error.
            "pg_input" => {
                let zone = &self.views.services.settings.time_zone;
                let ty = self.input_type(args.text(1))?;
                let value = parse_text(&ty, args.text(0), zone)?;
                cast(&value, &ty, &ty, CastKind::Implicit, zone)?
            }
            "pg_describe_object" | "pg_identify_object" | "pg_identify_object_as_address" => {
                let part = i32::try_from(args.number(2)).unwrap_or_default();
                let given = super::identity::Given { class: args.oid(0), object: args.oid(1), part };
                let own = match function {
                    "pg_describe_object" => super::identity::described,
                    "pg_identify_object" => super::identity::identified,
                    _ => super::identity::addressed,
                };
                own(self.views, catalog, given)?
            }
            "pg_get_object_address" => super::address::address(self.views, catalog, self.args.0)?,
            "pg_get_userbyid" => match catalog.role_by_oid(args.oid(0)) {
                Some(role) => Value::Text(Arc::clone(&role.name)),
                None => Value::text(&format!("unknown (OID={})", args.oid(0))),
            },
            "pg_collation_actual_version" => {
                let found = catalog.collation_by_oid(args.oid(0).0);
                let missing = || {
                    let text = format!("collation with OID {} does not exist", args.oid(0));
                    ExecError::raised("42704", text)
                };
                let found = found.ok_or_else(missing)?;
                super::collations::actual_version(catalog, &found)
            }
            "pg_get_serial_sequence" => self.serial_sequence()?,
            "obj_description" | "shobj_description" | "col_description" => self.description(function),
            "pg_relation_size" if args.0.len() > 1 => match args.text(1) {
                "main" => self.size(function),
                // Which pages are free and which are clean is in the same pages as all else.
                "fsm" | "vm" | "init" => match self.size(function) {
                    Value::Null => Value::Null,
                    _ => Value::Int8(0),
                },
                _ => {
                    let error = TypeError::new("22023", "invalid fork name");
                    let hint = "Valid fork names are \"main\", \"fsm\", \"vm\", and \"init\".";
                    return Err(error.with_hint(hint).into());
                }
            },
            "pg_relation_size" | "pg_table_size" | "pg_indexes_size" | "pg_total_relation_size" => {
                self.size(function)
            }
            "pg_database_size" | "pg_tablespace_size" => {
                if function == "pg_tablespace_size" {
                    self.known_tablespace()?;
                }
                if function == "pg_database_size"
                    && let Some(other) = self.other_database()?
                {
                    let databases = self.views.services.instance.member.cluster().databases();
                    let size = databases.and_then(|databases| databases.size(&other));
                    let size = size.map_err(|error| ExecError::raised(error.sqlstate, error.message))?;
                    return Ok(Value::Int8(i64::try_from(size).unwrap_or(i64::MAX)));
                }
                let space = self.views.services.instance.engine.space();
                Value::Int8(i64::try_from(space.total_pages * space.page_size).unwrap_or(i64::MAX))
            }
            "pg_tablespace_location" => Value::text(""),
            "pg_relation_filenode" => match catalog.relation_by_oid(args.oid(0)) {
                Some(Relation::Table(table)) => super::number(table.heap.0),
                Some(Relation::Index(index)) => super::number(index.object.0),
                Some(Relation::Sequence(sequence)) => super::number(sequence.object.0),
                Some(Relation::View(_)) | None => Value::Null,
            },
            "pg_filenode_relation" => self.relation_of_file(),
            "pg_stat_have_stats" => self.has_counters()?,
            "pg_get_acl" => self.own_rights(),
            "pg_settings_get_flags" => {
                let name = args.text(0).to_ascii_lowercase();
                match self.views.services.show(&name) {
                    Some(_) => {
                        let explained = crate::explain::SETTINGS.contains(&&*name);
                        Value::Array(explained.then(|| Value::text("EXPLAIN")).into_iter().collect())
                    }
                    None => Value::Null,
                }
            }
            "pg_size_pretty" => match args.0.first().and_then(Number::of) {
                Some(size) => Value::text(&pretty_size(size)?),
                None => Value::Null,
            },
            "pg_encoding_to_char" => {
                Value::text(Encoding::of_number(args.number(0)).map_or("", Encoding::name))
            }
            "pg_char_to_encoding" => Value::Int4(Encoding::named(args.text(0)).map_or(-1, Encoding::number)),
            "pg_client_encoding" => Value::text(self.views.services.settings.time_zone.encoding.name()),
            "getdatabaseencoding" => Value::text(Encoding::UTF8.name()),
            "inet_client_addr" | "inet_client_port" => self.client(function),
            // The address at which the server was reached is not known to the session.
            "inet_server_addr" | "inet_server_port" => Value::Null,
            "verso_sequence_number" | "verso_sequence_ahead" => match catalog.sequence_by_oid(args.oid(0)) {
                Some(sequence) => {
                    let sequence = self.views.services.instance.engine.sequence(sequence.object)?;
                    let ahead = function == "verso_sequence_ahead";
                    Value::Int8(if ahead { sequence.ahead() } else { sequence.state().0 })
                }
                None => Value::Null,
            },
            "pg_sequence_last_value" => match catalog.sequence_by_oid(args.oid(0)) {
                Some(sequence) => {
                    let sequence = self.views.services.instance.engine.sequence(sequence.object)?;
                    sequence.peek().map_or(Value::Null, Value::Int8)
                }
                None => Value::Null,
            },
            "pg_is_other_temp_schema" | "pg_jit_available" | "pg_numa_available" => Value::Bool(false),
            "row_security_active" => {
                let table = match args.0.first() {
                    Some(Value::Text(name)) => {
                        let number = names::relation_number(catalog, name)?;
                        Oid(u32::try_from(number).unwrap_or_default())
                    }
                    _ => args.oid(0),
                };
                Value::Bool(catalog.is_secured_for(table, self.views.services.current_role()))
            }
            "pg_relation_is_publishable" => {
                Value::Bool(catalog.table_by_oid(args.oid(0)).is_some_and(|table| !table.is_system()))
            }
            // INSERT, UPDATE and DELETE, as bits of PostgreSQL's CmdType.
            "pg_relation_is_updatable" => {
                let table = catalog
                    .table_by_oid(args.oid(0))
                    .is_some_and(|table| !table.is_system() && table.materialized.is_none());
                let view = catalog.view_by_oid(args.oid(0));
                let view =
                    view.is_some_and(|view| super::definitions::is_updatable(self.views, catalog, &view));
                Value::Int4(if table || view { 28 } else { 0 })
            }
            "pg_column_is_updatable" => {
                let table = catalog.table_by_oid(args.oid(0)).is_some_and(|table| !table.is_system());
                let of_view = || {
                    let view = catalog.view_by_oid(args.oid(0))?;
                    let number = usize::try_from(args.number(1)).ok()?.checked_sub(1)?;
                    let name = &view.columns.get(number)?.name;
                    Some(super::definitions::is_column_updatable(self.views, catalog, &view, name))
                };
                Value::Bool(table || of_view().unwrap_or(false))
            }
            "pg_index_has_property" => super::properties::of_index(catalog, args.oid(0), args.text(1)),
            "pg_index_column_has_property" => {
                super::properties::of_column(catalog, args.oid(0), args.number(1), args.text(2))
            }
            "pg_indexam_has_property" => super::properties::of_method(args.oid(0), args.text(1)),
            "pg_has_role" => super::rights::has_role(self.views, catalog, self.args.0)?,
            "acldefault" => super::rights::default_rights(catalog, args.text(0), args.oid(1))?,
            "current_schemas" => {
                let schemas = catalog.search_path().shown(args.flag(0));
                Value::Array(schemas.into_iter().map(Value::Text).collect())
            }
            _ => return Err(ExecError::raised("XX000", format!("{function} is not known to the session"))),
        })
    }

    /// The relation whose rows or entries are in the object of that number.
    fn relation_of_file(&self) -> Value {
        match self.catalog.relation_of_object(ObjectId(self.args.oid(1).0)) {
            Some(relation) => super::number(relation.oid().0),
            None => Value::Null,
        }
    }

    /// Whether there are counters of something: each table and index has some from the start.
    fn has_counters(&self) -> Result<Value> {
        let (database, object) = (self.args.oid(1), self.args.number(2));
        let is_own = database == verso_catalog::rights::DATABASE_OID;
        Ok(Value::Bool(match self.args.text(0) {
            "relation" => {
                let found = u32::try_from(object).ok().and_then(|oid| self.catalog.relation_by_oid(Oid(oid)));
                is_own && matches!(found, Some(Relation::Table(_) | Relation::Index(_)))
            }
            "database" => is_own && object == 0,
            "archiver" | "bgwriter" | "checkpointer" | "io" | "slru" | "wal" => true,
            "function" | "replslot" | "subscription" | "backend" => false,
            other => {
                let text = format!("invalid statistics kind: \"{other}\"");
                return Err(ExecError::raised("22023", text));
            }
        }))
    }

    /// The rights on an object as they were granted; NULL where nothing was.
    fn own_rights(&self) -> Value {
        let (object, part) = (self.args.oid(1), self.args.number(2));
        let object = match (self.args.oid(0).0, part) {
            (1259, 0) => Object::Relation(object),
            (1259, part) => match u16::try_from(part) {
                Ok(column) => Object::Column(object, column),
                Err(_) => return Value::Null,
            },
            (2615, _) => Object::Schema(object),
            (1255, _) => Object::Function(object),
            (1247, _) => Object::Type(object),
            (2612, _) => Object::Language(verso_catalog::rights::language_in_lists(object)),
            (1262, _) if object == verso_catalog::rights::DATABASE_OID => Object::Database,
            (6243, _) => Object::Parameter(object),
            (1213, _) => Object::Tablespace(object),
            _ => return Value::Null,
        };
        super::rights::own_acl(self.catalog, object)
    }

    /// The types of a vector of numbers, as a function's arguments are shown.
    fn types_in_words(&self) -> Value {
        let Some(Value::Array(types)) = self.args.0.first() else { return Value::Null };
        let word = |oid: &Value| {
            let one = [oid.clone(), Value::Null];
            match (Call { views: self.views, catalog: self.catalog, args: Args(&one) }).format_type() {
                Value::Text(name) => name.to_string(),
                _ => "???".to_string(),
            }
        };
        Value::text(&types.iter().map(word).collect::<Vec<_>>().join(", "))
    }

    fn format_type(&self) -> Value {
        if self.args.0.first().is_none_or(Value::is_null) {
            return Value::Null;
        }
        let oid = self.args.oid(0).0;
        let modifier = self.args.0.get(1).and_then(Value::as_i64);
        let typmod = modifier.and_then(|modifier| i32::try_from(modifier).ok()).unwrap_or(-1);
        let ty = SqlType::from_pg_oid(oid, typmod);
        let name = match ty {
            // With a modifier that says nothing, `character` is the type without one.
            Some(SqlType::Char(None)) if modifier.is_none() => "character".to_string(),
            Some(SqlType::Bit(None)) if modifier.is_none() => "bit".to_string(),
            // A type without modifiers is shown with the one that is asked for.
            Some(ty) if typmod >= 0 && has_no_modifiers(&ty) => format!("{}({typmod})", ty.pg_name()),
            Some(ty) => names::of_system(self.catalog, ty.pg_name()),
            None => names::type_name(self.catalog, oid)
                .unwrap_or_else(|| if oid == 0 { "-" } else { "???" }.to_string()),
        };
        Value::text(&name)
    }

    /// An expression of the catalog; pretty, the parentheses around the whole are left out.
    fn expression(&self) -> Value {
        let stored = self.args.text(0);
        if !self.args.flag(2) {
            return Value::text(stored);
        }
        let pretty = definitions::pretty(self.views, self.catalog, self.args.oid(1), stored);
        Value::text(pretty.as_deref().unwrap_or_else(|| without_outer(stored)))
    }

    /// Of a function of users, or of the row of a built-in one.
    fn signature(
        &self,
        own: impl Fn(&verso_catalog::CatalogSnapshot, &verso_catalog::FunctionDef) -> String,
        built_in: impl Fn(&[Value]) -> String,
    ) -> Value {
        if let Some(function) = definitions::function(self.catalog, self.args.oid(0)) {
            return Value::text(&own(self.catalog, function));
        }
        let row = fixed::by_oid("pg_proc", self.args.oid(0).0.into());
        row.map_or(Value::Null, |row| Value::text(&built_in(&row)))
    }

    /// The table that a text names.
    fn table(&self, name: &str) -> Result<Arc<TableDef>> {
        let oid = names::relation_number(self.catalog, name)?;
        let oid = Oid(u32::try_from(oid).unwrap_or_default());
        self.catalog.table_by_oid(oid).ok_or_else(|| {
            let shown = definitions::shown(self.catalog, oid);
            ExecError::raised("42809", format!("\"{shown}\" is not a table"))
        })
    }

    fn serial_sequence(&self) -> Result<Value> {
        let name = self.args.text(1);
        let oid = names::relation_number(self.catalog, self.args.text(0))?;
        let oid = Oid(u32::try_from(oid).unwrap_or_default());
        let missing = |relation: &str| {
            let message = format!("column \"{name}\" of relation \"{relation}\" does not exist");
            ExecError::raised("42703", message)
        };
        // Columns of views and of the system's relations own no sequences.
        let other = match (self.catalog.view_by_oid(oid), SystemRelation::by_oid(oid)) {
            (Some(view), _) => {
                Some((view.name.to_string(), view.columns.iter().any(|column| *column.name == *name)))
            }
            (None, Some(own)) => {
                Some((own.name.to_string(), own.columns.iter().any(|column| column.name == name)))
            }
            (None, None) => None,
        };
        match other {
            Some((_, true)) => return Ok(Value::Null),
            Some((relation, false)) => return Err(missing(&relation)),
            None => {}
        }
        let table = self.table(self.args.text(0))?;
        let Some(at) = table.column(name) else { return Err(missing(&table.name)) };
        Ok(text(definitions::serial_sequence(self.catalog, &table, table.columns[at].id)))
    }

    /// The name of the database that is asked about, if it is not the session's own.
    fn other_database(&self) -> Result<Option<Arc<str>>> {
        let member = &self.views.services.instance.member;
        let others = || member.cluster().others(member).into_iter();
        match self.args.0.first() {
            Some(Value::Text(name)) if name == member.name() => Ok(None),
            Some(Value::Text(name)) => match others().any(|entry| entry.name == *name) {
                true => Ok(Some(Arc::clone(name))),
                false => Err(ExecError::raised("3D000", format!("database \"{name}\" does not exist"))),
            },
            _ => {
                let number = super::server::database_number(self.views, self.args.0)?;
                Ok(others().find(|entry| entry.number == number).map(|entry| entry.name))
            }
        }
    }

    /// Whether there is the tablespace that is asked about.
    fn known_tablespace(&self) -> Result<()> {
        let missing = match self.args.0.first() {
            Some(Value::Text(name)) if !matches!(&**name, "pg_default" | "pg_global") => {
                format!("tablespace \"{name}\" does not exist")
            }
            Some(Value::Int8(number)) if !matches!(number, 1663 | 1664) => {
                format!("tablespace with OID {number} does not exist")
            }
            _ => return Ok(()),
        };
        Err(ExecError::raised("42704", missing))
    }

    /// The comment on something that users have made.
    fn own_comment(&self, function: &str) -> Option<Value> {
        let object = self.args.oid(0);
        let class =
            |name: &str| verso_catalog::RelationId::find(PG_CATALOG, name).map(|class| class.get().oid);
        let (class, column) = match (function, self.args.0.get(1)) {
            ("obj_description", Some(Value::Text(name))) => {
                (class(name).filter(|class| !is_shared(*class))?, 0)
            }
            ("shobj_description", Some(Value::Text(name))) if **name == *"pg_database" => {
                // The session's own database has one number in its catalog, and another one among all databases.
                let member = &self.views.services.instance.member;
                let (class, own, _) = Object::Database.key();
                let text = self.catalog.comment(class, own, 0).filter(|_| member.number() == object.0);
                return text.map(|text| Value::Text(Arc::clone(text)));
            }
            ("shobj_description", Some(Value::Text(name))) => {
                (class(name).filter(|class| is_shared(*class))?, 0)
            }
            ("obj_description", None) => {
                let mut all = self.catalog.comments_on(object);
                let own = all.find(|((class, _, column), _)| *column == 0 && !is_shared(*class));
                return own.map(|(_, text)| Value::Text(Arc::clone(text)));
            }
            ("col_description", _) => (class("pg_class")?, i32::try_from(self.args.number(1)).ok()?),
            _ => return None,
        };
        self.catalog.comment(class, object, column).map(|text| Value::Text(Arc::clone(text)))
    }

    /// A comment; those of built-in objects are known.
    fn description(&self, function: &str) -> Value {
        if let Some(own) = self.own_comment(function) {
            return own;
        }
        let class = match (function, self.args.0.get(1)) {
            ("obj_description", Some(Value::Text(class))) => {
                verso_catalog::RelationId::find(PG_CATALOG, class).map(|class| class.get().oid.0)
            }
            ("obj_description", None) => None,
            _ => return Value::Null,
        };
        if class.is_none_or(|class| class == super::extensions::PG_EXTENSION.0) {
            let object = self.args.oid(0);
            let said = super::extensions::comments(self.catalog).into_iter().find(|(one, _)| *one == object);
            if let Some((_, text)) = said {
                return Value::text(text);
            }
        }
        let own = |row: &&Vec<Value>| {
            row[0].as_i64() == Some(self.args.oid(0).0.into())
                && class.is_none_or(|class| row[1].as_i64() == Some(class.into()))
        };
        let rows = fixed::table("pg_description");
        rows.iter().flat_map(|rows| rows.iter()).find(own).map_or(Value::Null, |row| row[3].clone())
    }

    /// Bytes of a relation's pages.
    fn size(&self, function: &str) -> Value {
        let engine = &self.views.services.instance.engine;
        let page_size = engine.page_size() as u64;
        let bytes = |pages: u64| i64::try_from(pages * page_size).unwrap_or(i64::MAX);
        let heap = |table: &TableDef| engine.heap(table.heap).map_or(0, |heap| u64::from(heap.page_count()));
        let pages = match self.catalog.relation_by_oid(self.args.oid(0)) {
            Some(Relation::Table(table)) => {
                let indexes: u64 = table.all_indexes().map(|index| engine.pages_of(index.object)).sum();
                match function {
                    "pg_relation_size" => heap(table),
                    "pg_table_size" => engine.pages_of(table.heap),
                    "pg_indexes_size" => indexes,
                    _ => engine.pages_of(table.heap) + indexes,
                }
            }
            Some(Relation::Index(index)) => match function {
                "pg_indexes_size" => 0,
                _ => engine.pages_of(index.object),
            },
            Some(Relation::Sequence(_) | Relation::View(_)) => 0,
            None if SystemRelation::by_oid(self.args.oid(0)).is_some() => 0,
            None => return Value::Null,
        };
        Value::Int8(bytes(pages))
    }

    fn client(&self, function: &str) -> Value {
        let identity = self.views.services.info.identity.lock().clone();
        let address: Option<std::net::SocketAddr> = identity.client.and_then(|client| client.parse().ok());
        match (function, address) {
            (_, None) => Value::Null,
            ("inet_client_addr", Some(address)) => super::activity::inet(address),
            (_, Some(address)) => Value::Int4(address.port().into()),
        }
    }

    /// `*_is_visible`: whether the name alone finds the object; NULL where there is no such object.
    fn is_visible(&self, function: &str) -> Value {
        let oid = self.args.oid(0);
        let path = self.catalog.search_path();
        let in_path = |schema: &str| Value::Bool(path.searched().iter().any(|known| **known == *schema));
        let fixed =
            |relation: &str| fixed::by_oid(relation, oid.0.into()).map_or(Value::Null, |_| Value::Bool(true));
        let shown = |is_visible: Option<bool>| is_visible.map_or(Value::Null, Value::Bool);
        match function {
            "pg_table_is_visible" => shown(visible::is_relation(self.catalog, oid)),
            "pg_function_is_visible" => shown(visible::is_function(self.catalog, oid)),
            "pg_type_is_visible" => shown(visible::is_type(self.catalog, oid)),
            "pg_operator_is_visible" => shown(visible::is_operator(self.catalog, oid)),
            "pg_statistics_obj_is_visible" => super::extended::is_visible(self.catalog, oid),
            "pg_opclass_is_visible" | "pg_opfamily_is_visible"
                if let Some(extension) = extensions::extension_of_class(oid) =>
            {
                extensions::schema_of(self.catalog, extension).map_or(Value::Null, |schema| in_path(&schema))
            }
            "pg_opclass_is_visible" => fixed("pg_opclass"),
            "pg_opfamily_is_visible" => fixed("pg_opfamily"),
            "pg_ts_config_is_visible" => fixed("pg_ts_config"),
            "pg_ts_dict_is_visible" => fixed("pg_ts_dict"),
            "pg_ts_parser_is_visible" => fixed("pg_ts_parser"),
            "pg_ts_template_is_visible" => fixed("pg_ts_template"),
            "pg_collation_is_visible" => match self.catalog.collation_by_oid(oid.0) {
                Some(found) => Value::Bool(super::collations::is_visible(self.catalog, &found.collation)),
                None => Value::Null,
            },
            _ => Value::Null,
        }
    }

    /// The type that a text names, with what its length or precision is.
    fn input_type(&self, name: &str) -> Result<SqlType> {
        let failed = |error: SqlError| ExecError::raised(error.sqlstate, error.message);
        let ty = verso_parser::parse_type(name).map_err(|error| failed(error.into()))?;
        let ty = definitions::binder(self.views, self.catalog).data_type(&ty).map_err(failed)?;
        if matches!(ty, SqlType::Domain(_)) {
            return Err(ExecError::raised("0A000", "input of a domain is not supported here"));
        }
        Ok(ty)
    }

    fn to_reference(&self, kind: &str) -> Result<Value> {
        let ty = SystemType::from_name(&format!("reg{kind}"));
        let Some(ty) = ty else { return Err(ExecError::raised("XX000", format!("no type reg{kind}"))) };
        match references::find_reference(ty, self.args.text(0)) {
            Ok(found) => Ok(found.map_or(Value::Null, Value::Int8)),
            // What is ambiguous or no name is not found.
            Err(_) => Ok(Value::Null),
        }
    }
}

/// Whether a type takes no modifier, and is no number or boolean, of which PostgreSQL shows none in any case.
fn has_no_modifiers(ty: &SqlType) -> bool {
    use SqlType as T;
    matches!(
        ty,
        T::Text | T::Name | T::Bytea | T::Date | T::Uuid | T::Json | T::Jsonb | T::Oid | T::System(_)
    )
}

/// An expression without the parentheses around the whole of it.
fn without_outer(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) else { return text };
    let (mut depth, mut quoted) = (0i32, false);
    for character in inner.chars() {
        match character {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => {
                depth -= 1;
                if depth < 0 {
                    return text;
                }
            }
            _ => {}
        }
    }
    inner
}

/// A number of bytes as PostgreSQL shows it: `8192 bytes`, `16 kB`.
fn pretty_size(bytes: Number) -> std::result::Result<String, TypeError> {
    const UNITS: [(&str, i128, bool); 6] = [
        ("bytes", 10 * 1024, false),
        ("kB", 20 * 1024 - 1, true),
        ("MB", 20 * 1024 - 1, true),
        ("GB", 20 * 1024 - 1, true),
        ("TB", 20 * 1024 - 1, true),
        ("PB", 20 * 1024 - 1, true),
    ];
    let whole = |number: i128| Decimal::new(number, 0).map(Number::from);
    let mut size = bytes;
    for (place, (unit, limit, round)) in UNITS.iter().enumerate() {
        let last = place + 1 == UNITS.len();
        if last || size.abs().compare(&whole(*limit)?).is_lt() {
            if *round {
                size = size.plus(&size.signum()).divide_truncated(&whole(2)?)?;
            }
            return Ok(format!("{size} {unit}"));
        }
        // Each unit is counted in halves until it is shown, so that it can be rounded then.
        let shift = 9 + u32::from(*round);
        size = size.divide_truncated(&whole(1 << shift)?)?;
    }
    Ok(format!("{size} PB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_as_postgresql_shows_them() {
        for (bytes, shown) in [
            (0, "0 bytes"),
            (10_239, "10239 bytes"),
            (10_240, "10 kB"),
            (-10_240, "-10 kB"),
            (10_485_247, "10239 kB"),
            (10_485_248, "10 MB"),
            (1_000_000_000, "954 MB"),
            (1_000_000_000_000, "931 GB"),
            (1_000_000_000_000_000_000_000_000_000_000, "888178419700125 PB"),
        ] {
            let bytes = Number::from(Decimal::new(bytes, 0).unwrap());
            assert_eq!(pretty_size(bytes).unwrap(), shown);
        }
    }

    #[test]
    fn parentheses_around_the_whole_are_left_out() {
        assert_eq!(without_outer("(a > 0)"), "a > 0");
        assert_eq!(without_outer("(a) + (b)"), "(a) + (b)");
        assert_eq!(without_outer("('('::text)"), "'('::text");
        assert_eq!(without_outer("a"), "a");
    }
}
