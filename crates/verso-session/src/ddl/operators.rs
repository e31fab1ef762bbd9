//! CREATE OPERATOR, CREATE CAST, and their ends.

use std::sync::Arc;

use verso_catalog::{
    Callee, CastContext, CastDef, CatalogSnapshot, FunctionReturn, Lost, OWNER_ROLE, Object, Oid, OperatorDef,
};
use verso_parser::syntax::{
    CastMethod, CastStatement, CastTime, OperatorOption, OperatorReference, OperatorStatement, OptionValue,
    QualifiedName, RoutineKind,
};
use verso_planner::bind::{Part, part_of_definition};
use verso_planner::errors::{SqlError, sqlstate};
use verso_types::SqlType;

use super::Schema;
use super::absent::is_absence;
use super::composite::is_pseudo;
use crate::client::{CommandTag, Notice, tag};
use crate::failure::Failure;
use crate::frame::Frame;

fn invalid(text: impl Into<String>) -> SqlError {
    SqlError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text)
}

fn invalid_object(text: impl Into<String>) -> SqlError {
    SqlError::new("42P17", text)
}

/// Whether a type is of a kind.
type IsKind = fn(&SqlType) -> bool;

fn number(ty: &SqlType) -> Oid {
    Oid(ty.pg_oid())
}

fn flag(value: &OptionValue) -> bool {
    match value {
        OptionValue::Name(name) => !matches!(name.name.text.as_str(), "false" | "off"),
        _ => true,
    }
}

impl Schema<'_> {
    /// Runs a statement about operators.
    pub(super) fn operator_statement(&self, statement: &OperatorStatement) -> Result<CommandTag, Failure> {
        match statement {
            OperatorStatement::Create { name, options } => {
                self.create_operator(name, options)?;
                Ok(tag("CREATE OPERATOR"))
            }
            OperatorStatement::Drop { operators, if_exists, cascade } => {
                for reference in operators {
                    if *if_exists && let Some(error) = self.schema_absent(&reference.name) {
                        self.skip(format!("{}, skipping", error.message));
                        continue;
                    }
                    match self.user_operator(reference) {
                        Ok(operator) => {
                            self.own_role_object(operator.owner, "operator", &operator.name)?;
                            let catalog = &self.frame.services.instance.catalog;
                            let mut along = Vec::new();
                            if *cascade {
                                let lost = [Lost::Other(operator.oid)];
                                let generated = |frame: &Frame<'_>| Schema { frame }.drop_generated(&lost);
                                along = self.frame.inside(generated)?;
                            }
                            along.extend(self.frame.inside(|frame| {
                                let txn = &mut frame.txn.borrow_mut();
                                Ok(catalog.drop_operator(txn, &operator, *cascade)?)
                            })?);
                            self.tell_along(&along);
                        }
                        Err(error) if *if_exists && error.sqlstate == sqlstate::UNDEFINED_FUNCTION => {
                            let text = format!("operator {} does not exist, skipping", reference.name);
                            self.skip(text);
                        }
                        Err(error) if *if_exists && is_absence(&error) => {
                            self.skip(format!("{}, skipping", error.message));
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
                Ok(tag("DROP OPERATOR"))
            }
            OperatorStatement::Move { operator, to } => {
                let found = self.user_operator(operator)?;
                self.own_role_object(found.owner, "operator", &found.name)?;
                self.may_create_in(&to.text)?;
                let catalog = &self.frame.services.instance.catalog;
                catalog.move_operator(&mut self.frame.txn.borrow_mut(), &found, &to.text.as_str().into())?;
                Ok(tag("ALTER OPERATOR"))
            }
        }
    }

    fn create_operator(&self, name: &QualifiedName, options: &[OperatorOption]) -> Result<(), Failure> {
        let (mut left, mut right, mut function) = (None, None, None);
        let (mut commutator, mut negator, mut restrict, mut join) = (None, None, None, None);
        let (mut hashes, mut merges) = (false, false);
        for OperatorOption { name, value } in options {
            let ty = || match value {
                OptionValue::Type(ty) => {
                    let ty = self.data_type(ty)?.without_modifiers();
                    self.may_use(&ty)?;
                    Ok(ty)
                }
                _ => Err(SqlError::syntax("a type is expected").at(name.at.start)),
            };
            let named = || match value {
                OptionValue::Name(name) => Ok(name),
                _ => Err(SqlError::syntax("a name is expected").at(name.at.start)),
            };
            let symbol = || Ok::<_, SqlError>(Some(Arc::<str>::from(named()?.name.text.as_str())));
            match name.text.as_str() {
                "leftarg" => left = Some(ty()?),
                "rightarg" => right = Some(ty()?),
                "function" | "procedure" => function = Some(named()?),
                "commutator" => commutator = symbol()?,
                "negator" => negator = symbol()?,
                "restrict" => restrict = symbol()?,
                "join" => join = symbol()?,
                "hashes" => hashes = flag(value),
                "merges" => merges = flag(value),
                other => {
                    let message = format!("operator attribute \"{other}\" not recognized");
                    self.frame.services.notices.tell(Notice::warning("42601", message));
                }
            }
        }
        let function = function.ok_or_else(|| invalid("operator function must be specified"))?;
        let postfix = |text: &str| invalid(text).with_detail("Postfix operators are not supported.");
        let right = match (&left, right) {
            (_, Some(right)) => right,
            (None, None) => return Err(invalid("operator argument types must be specified").into()),
            (Some(_), None) => return Err(postfix("operator right argument type must be specified").into()),
        };
        let types: Vec<SqlType> = left.iter().chain([&right]).cloned().collect();
        let catalog = self.frame.catalog.with_role(None);
        let Part { callee, ty: result, .. } =
            part_of_definition(function, &types, &catalog, &self.frame.services.settings.time_zone)?;
        if left.is_none() {
            for (given, what) in
                [(commutator.is_some(), "have commutators"), (join.is_some(), "have join selectivity")]
            {
                if given {
                    return Err(invalid(format!("only binary operators can {what}")).into());
                }
            }
            for (given, what) in [(merges, "merge join"), (hashes, "hash")] {
                if given {
                    return Err(invalid(format!("only binary operators can {what}")).into());
                }
            }
        }
        if result != SqlType::Bool {
            let of_boolean = [
                (negator.is_some(), "have negators"),
                (restrict.is_some(), "have restriction selectivity"),
                (join.is_some(), "have join selectivity"),
                (merges, "merge join"),
                (hashes, "hash"),
            ];
            if let Some((_, what)) = of_boolean.into_iter().find(|(given, _)| *given) {
                return Err(invalid(format!("only boolean operators can {what}")).into());
            }
        }
        let schema = self.place(name)?;
        self.may_create_in(&schema)?;
        let new = OperatorDef {
            oid: Oid(0),
            schema,
            name: name.name.text.as_str().into(),
            owner: self.frame.catalog.acting_role().unwrap_or(OWNER_ROLE),
            left: left.as_ref().map(number),
            right: number(&right),
            result: number(&result),
            function: callee,
            commutator,
            negator,
            restrict,
            join,
            hashes,
            merges,
        };
        let catalog = &self.frame.services.instance.catalog;
        Ok(catalog.create_operator(&mut self.frame.txn.borrow_mut(), &new)?)
    }

    /// The operator of users that a statement names.
    pub(super) fn user_operator(&self, reference: &OperatorReference) -> Result<Arc<OperatorDef>, SqlError> {
        let left = reference.left.as_ref().map(|ty| self.data_type(ty)).transpose()?;
        let right = self.data_type(&reference.right)?;
        let schema = reference.name.schema_text();
        let path = self.frame.catalog.search_path();
        let is_it = |one: &&Arc<OperatorDef>| {
            let reached = match schema {
                Some(schema) => *one.schema == *schema,
                None => path.searched().contains(&one.schema),
            };
            reached
                && *one.name == *reference.name.name.text
                && one.left == left.as_ref().map(number)
                && one.right == number(&right)
        };
        self.frame.catalog.operators().iter().find(is_it).cloned().ok_or_else(|| {
            let operands = match &left {
                Some(left) => format!("{} {} {}", left.pg_name(), reference.name, right.pg_name()),
                None => format!("{} {}", reference.name, right.pg_name()),
            };
            SqlError::new(sqlstate::UNDEFINED_FUNCTION, format!("operator does not exist: {operands}"))
        })
    }

    /// Refuses what is another role's.
    pub(super) fn own_role_object(&self, owner: Oid, what: &str, name: &str) -> Result<(), SqlError> {
        if self.limited().is_none_or(|role| self.frame.catalog.is_member(role, owner)) {
            return Ok(());
        }
        let text = format!("must be owner of {what} {name}");
        Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text))
    }

    /// Runs a statement about casts.
    pub(super) fn cast_statement(&self, statement: &CastStatement) -> Result<CommandTag, Failure> {
        match statement {
            CastStatement::Create { source, target, method, time } => {
                self.create_cast(source, target, method, *time)?;
                Ok(tag("CREATE CAST"))
            }
            CastStatement::Drop { source, target, if_exists } => {
                let types = self.data_type(source).and_then(|source| Ok((source, self.data_type(target)?)));
                let (source, target) = match types {
                    Err(error) if *if_exists && is_absence(&error) => {
                        self.skip(format!("{}, skipping", error.message));
                        return Ok(tag("DROP CAST"));
                    }
                    types => types?,
                };
                match self.user_cast(&source, &target) {
                    Ok(cast) => {
                        self.own_cast(&source, &target)?;
                        let catalog = &self.frame.services.instance.catalog;
                        catalog.drop_cast(&mut self.frame.txn.borrow_mut(), &cast)?;
                    }
                    Err(error) if *if_exists => self.skip(format!("{}, skipping", error.message)),
                    Err(error) => return Err(error.into()),
                }
                Ok(tag("DROP CAST"))
            }
        }
    }

    /// The cast of users between two types.
    pub(super) fn user_cast(&self, source: &SqlType, target: &SqlType) -> Result<CastDef, SqlError> {
        self.frame.catalog.cast(number(source), number(target)).cloned().ok_or_else(|| {
            let text =
                format!("cast from type {} to type {} does not exist", source.pg_name(), target.pg_name());
            SqlError::new(sqlstate::UNDEFINED_OBJECT, text)
        })
    }

    /// Refuses a cast between types that are both of other roles.
    pub(super) fn own_cast(&self, source: &SqlType, target: &SqlType) -> Result<(), SqlError> {
        let Some(role) = self.limited() else { return Ok(()) };
        let is_own = |ty: &SqlType| {
            let known = self.frame.catalog.user_type(number(ty));
            let owner = known.map(|known| self.frame.catalog.owner_of(Object::Type(known.oid)));
            owner.is_some_and(|owner| self.frame.catalog.is_member(role, owner))
        };
        if is_own(source) || is_own(target) {
            return Ok(());
        }
        let text = format!("must be owner of type {} or type {}", source.pg_name(), target.pg_name());
        Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text))
    }

    fn create_cast(
        &self,
        source: &SqlType,
        target: &SqlType,
        method: &CastMethod,
        time: CastTime,
    ) -> Result<(), Failure> {
        let source = self.data_type(source)?.without_modifiers();
        let target = self.data_type(target)?.without_modifiers();
        for (ty, which) in [(&source, "source"), (&target, "target")] {
            if is_pseudo(ty) && !matches!(ty, SqlType::Array(_)) {
                let text = format!("{which} data type {} is a pseudo-type", ty.pg_name());
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
            }
        }
        self.may_use(&source)?;
        self.may_use(&target)?;
        self.own_cast(&source, &target)?;
        let function = match method {
            CastMethod::Text => None,
            CastMethod::Binary => {
                let kinds: [(IsKind, &str); 4] = [
                    (|ty| ty.composite().is_some(), "composite"),
                    (|ty| matches!(ty, SqlType::Array(_)), "array"),
                    (|ty| matches!(ty, SqlType::Enum(_)), "enum"),
                    (|ty| matches!(ty, SqlType::Domain(_)), "domain"),
                ];
                for (is, kind) in kinds {
                    if is(&source) || is(&target) {
                        let text = format!("{kind} data types are not binary-compatible");
                        return Err(invalid_object(text).into());
                    }
                }
                return Err(SqlError::unsupported("CREATE CAST WITHOUT FUNCTION").into());
            }
            CastMethod::Function(name, types) => {
                Some(self.cast_function(name, types.as_deref(), &source, &target)?)
            }
        };
        if source == target && function.is_none() {
            return Err(invalid_object("source data type and target data type are the same").into());
        }
        let new = CastDef {
            oid: Oid(0),
            source: number(&source),
            target: number(&target),
            function,
            context: match time {
                CastTime::Explicit => CastContext::Explicit,
                CastTime::Assignment => CastContext::Assignment,
                CastTime::Implicit => CastContext::Implicit,
            },
        };
        let exists =
            || format!("cast from type {} to type {} already exists", source.pg_name(), target.pg_name());
        let catalog = &self.frame.services.instance.catalog;
        Ok(catalog.create_cast(&mut self.frame.txn.borrow_mut(), &new, &exists)?)
    }

    /// The function of a cast.
    fn cast_function(
        &self,
        name: &QualifiedName,
        types: Option<&[SqlType]>,
        source: &SqlType,
        target: &SqlType,
    ) -> Result<Callee, Failure> {
        let types = self.argument_types(types)?;
        let taken = types.clone().unwrap_or_else(|| vec![source.clone()]);
        if taken.len() != 1 {
            let text = match taken.len() {
                2 | 3 => "functions of casts that take a modifier",
                _ => return Err(invalid_object("cast function must take one to three arguments").into()),
            };
            return Err(SqlError::unsupported(text).into());
        }
        let result = match self.routine(RoutineKind::Function, name, types.as_deref()) {
            Ok(function) => match &function.returns {
                FunctionReturn::Scalar(ty) => (Callee::User(function.oid), ty.clone()),
                FunctionReturn::Procedure => {
                    return Err(invalid_object("cast function must be a normal function").into());
                }
                _ => return Err(invalid_object("cast function must not return a set").into()),
            },
            Err(missing) => {
                let catalog = self.frame.catalog.with_role(None);
                let zone = &self.frame.services.settings.time_zone;
                let part = part_of_definition(name, &taken, &catalog, zone).map_err(|_| missing)?;
                (part.callee, part.ty)
            }
        };
        if !taken[0].same_base(source) {
            let text = "argument of cast function must match or be binary-coercible from source data type";
            return Err(invalid_object(text).into());
        }
        if !result.1.same_base(target) {
            let text =
                "return data type of cast function must match or be binary-coercible to target data type";
            return Err(invalid_object(text).into());
        }
        Ok(result.0)
    }
}

/// `operator ===(integer,integer)`.
pub(super) fn operator_name(catalog: &CatalogSnapshot, operator: &OperatorDef) -> String {
    let name = |oid: Oid| {
        SqlType::from_pg_oid(oid.0, -1)
            .map(|ty| ty.pg_name())
            .or_else(|| catalog.user_type(oid).map(|ty| ty.name.to_string()))
            .unwrap_or_default()
    };
    let left = operator.left.map_or_else(|| "none".to_string(), name);
    format!("operator {}({left},{})", operator.name, name(operator.right))
}
