//! CREATE TYPE … AS RANGE: a range type, its multirange type, and the functions that make values of them.

use std::sync::Arc;

use verso_catalog::{
    ArgMode, CatalogError, FunctionArg, FunctionLanguage, FunctionReturn, KeyClass, NewFunction, NewRange,
    Object, ObjectKind, Oid, ParallelSafety, Planning, Volatility, relations_in,
};
use verso_exec::functions::candidates;
use verso_types::{OwnRange, RangeType, SqlType};

use super::composite::is_pseudo;
use super::{Schema, text};
use crate::catalogs::class_takes;
use crate::failure::Failure;
use verso_parser::syntax::{QualifiedName, RangeOption};
use verso_planner::errors::{SqlError, sqlstate};

/// Greatest length of a name, in bytes.
const NAME_MAX: usize = 63;

impl Schema<'_> {
    pub(super) fn create_range(&self, name: &QualifiedName, options: &[RangeOption]) -> Result<(), Failure> {
        let (mut subtype, mut class, mut collation, mut diff, mut multirange) =
            (None, None, None, None, None);
        for option in options {
            match option {
                RangeOption::Subtype(ty) => subtype = Some(self.data_type(ty)?),
                RangeOption::Class(name) => class = Some(name),
                RangeOption::Collation(name) => collation = Some(name),
                RangeOption::Diff(name) => diff = Some(name),
                RangeOption::Multirange(name) => multirange = Some(name),
            }
        }
        let Some(subtype) = subtype else {
            return Err(SqlError::syntax("type attribute \"subtype\" is required").into());
        };
        let subtype = subtype.without_modifiers();
        self.may_use(&subtype)?;
        self.check_subtype(&subtype, class)?;
        if let Some(collation) = collation {
            check_collation(&subtype, collation)?;
        }
        if let Some(diff) = diff {
            self.check_difference(&subtype, diff)?;
        }
        let schema = self.place(name)?;
        let multi = match multirange {
            Some(multi) => (self.place(multi)?, text(&multi.name)),
            None => (Arc::clone(&schema), multirange_name(&name.name.text).into()),
        };
        let new = NewRange { schema, name: text(&name.name), multirange: multi, subtype };
        let catalog = &self.frame.services.instance.catalog;
        let made = catalog.create_range(&mut self.frame.txn.borrow_mut(), &new);
        let made = made.map_err(|error| match error {
            CatalogError::Exists { kind: ObjectKind::Type, name: known, .. }
                if *known == *new.multirange.1 && known != new.name.to_string() =>
            {
                let error = SqlError::new(sqlstate::DUPLICATE_OBJECT, format!("type \"{known}\" already exists"));
                let detail = format!("Failed while creating a multirange type for type \"{}\".", new.name);
                let hint = "You can manually specify a multirange type name using the \"multirange_type_name\" attribute.";
                Failure::from(error.with_detail(detail).with_hint(hint))
            }
            other => other.into(),
        })?;
        self.made(Object::Type(Oid(made.range.oid)), Some(&new.schema))?;
        self.made(Object::Type(Oid(made.multirange.oid)), Some(&new.multirange.0))?;
        self.frame.inside(|frame| Schema { frame }.create_constructors(&made))
    }

    /// Refuses bounds of a type that has no order, or no other place where its values are checked.
    fn check_subtype(&self, subtype: &SqlType, class: Option<&QualifiedName>) -> Result<(), SqlError> {
        let shown = subtype.pg_name();
        if is_pseudo(subtype) {
            let text = format!("range subtype cannot be {shown}");
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
        }
        let mut plain = subtype;
        while let SqlType::Array(element) = plain {
            plain = element;
        }
        if matches!(plain, SqlType::Domain(_)) {
            return Err(SqlError::unsupported("CREATE TYPE AS RANGE over a domain"));
        }
        // Their bounds would have to change with the table's columns.
        let mut rows = Vec::new();
        relations_in(subtype, &mut rows);
        if !rows.is_empty() {
            return Err(SqlError::unsupported("CREATE TYPE AS RANGE over the rows of a table"));
        }
        if let Some(class) = class {
            let name = &class.name.text;
            match class_takes(name, subtype) {
                None => {
                    let text =
                        format!("operator class \"{class}\" does not exist for access method \"btree\"");
                    return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text));
                }
                Some(false) => {
                    let text = format!("operator class \"{class}\" does not accept data type {shown}");
                    return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
                }
                Some(true) => {}
            }
        }
        if KeyClass::Ordered.key_type(subtype).is_none() {
            let text = format!("data type {shown} has no default operator class for access method \"btree\"");
            return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).with_hint(
                "You must specify an operator class for the range type or define a default operator class for the \
                 subtype.",
            ));
        }
        Ok(())
    }

    /// Refuses a function that cannot say how far apart two bounds are. It is not kept: only GiST asks it, in PostgreSQL, too.
    fn check_difference(&self, subtype: &SqlType, name: &QualifiedName) -> Result<(), SqlError> {
        let is_one = |ty: &SqlType| ty.same_base(subtype);
        let own = self.frame.catalog.functions(name.schema_text(), &name.name.text);
        let fits = own.iter().find(|function| {
            let mut inputs = function.inputs();
            inputs.by_ref().take(2).filter(|arg| is_one(&arg.ty)).count() == 2 && inputs.next().is_none()
        });
        let built_in = name.schema_text().is_none_or(|schema| schema == "pg_catalog")
            && candidates(&name.name.text).iter().any(|function| function.args.len() == 2);
        let Some(function) = fits else {
            if built_in {
                return Ok(());
            }
            let shown = subtype.pg_name();
            let text = format!("function {name}({shown}, {shown}) does not exist");
            return Err(SqlError::new(sqlstate::UNDEFINED_FUNCTION, text));
        };
        let invalid = |what: &str| {
            let text = format!("range subtype diff function {name} must {what}");
            Err(SqlError::new("42P17", text))
        };
        if !matches!(&function.returns, FunctionReturn::Scalar(SqlType::Float8)) {
            return invalid("return type double precision");
        }
        if function.volatility != Volatility::Immutable {
            return invalid("be immutable");
        }
        Ok(())
    }

    /// Makes the functions that are called as the types are: of bounds, of ranges.
    fn create_constructors(&self, made: &OwnRange) -> Result<(), Failure> {
        let of = RangeType::Own(Arc::new(made.clone()));
        let (range, multirange) = (of.clone().ty(false), of.ty(true));
        let arg = |ty: &SqlType| FunctionArg::new("", ty.clone());
        let list = SqlType::Array(Box::new(range.clone()));
        let bounds = vec![arg(&made.subtype), arg(&made.subtype)];
        let mut with_signs = bounds.clone();
        with_signs.push(arg(&SqlType::Text));
        let variadic = FunctionArg { mode: ArgMode::Variadic, ..arg(&list) };
        let functions = [
            (&made.range, &range, bounds, "range_constructor2", false),
            (&made.range, &range, with_signs, "range_constructor3", false),
            (&made.multirange, &multirange, Vec::new(), "multirange_constructor0", true),
            (&made.multirange, &multirange, vec![arg(&range)], "multirange_constructor1", true),
            (&made.multirange, &multirange, vec![variadic], "multirange_constructor2", true),
        ];
        for (name, result, args, body, strict) in functions {
            let new = NewFunction {
                schema: Some(Arc::clone(&name.schema)),
                name: Arc::clone(&name.name),
                args,
                returns: FunctionReturn::Scalar(result.clone()),
                language: FunctionLanguage::Internal,
                body: body.into(),
                volatility: Volatility::Immutable,
                strict,
                security_definer: false,
                leakproof: false,
                planning: Planning::new(None, None, ParallelSafety::Safe),
                rows_of: None,
                standard_body: false,
                settings: Vec::new(),
            };
            let catalog = &self.frame.services.instance.catalog;
            let oid = catalog.create_function(&mut self.frame.txn.borrow_mut(), &new, false)?;
            self.made(Object::Function(oid), new.schema.as_deref())?;
        }
        Ok(())
    }
}

/// Bounds that are texts are in the order of their bytes, as all texts within other values.
fn check_collation(subtype: &SqlType, collation: &QualifiedName) -> Result<(), SqlError> {
    if !subtype.is_collatable() {
        let text = "range collation specified but subtype does not support collation";
        return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text));
    }
    match collation.name.text.as_str() {
        "C" | "POSIX" | "default" | "ucs_basic" => Ok(()),
        name => Err(SqlError::unsupported(format!("CREATE TYPE AS RANGE with collation \"{name}\""))),
    }
}

/// The name that PostgreSQL gives a multirange type.
fn multirange_name(range: &str) -> String {
    match range.find("range") {
        Some(at) => {
            let mut name = format!("{}multi{}", &range[..at], &range[at..]);
            name.truncate(name.floor_char_boundary(NAME_MAX));
            name
        }
        None => {
            let suffix = "_multirange";
            format!("{}{suffix}", &range[..range.floor_char_boundary(NAME_MAX - suffix.len())])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multirange_types_are_named_as_in_postgresql() {
        assert_eq!(multirange_name("floatrange"), "floatmultirange");
        assert_eq!(multirange_name("rangerange"), "multirangerange");
        assert_eq!(multirange_name("span"), "span_multirange");
        assert_eq!(multirange_name(&"x".repeat(63)).len(), NAME_MAX);
    }
}
