//! Typed scalar expressions.

use std::sync::Arc;

use verso_catalog::FunctionDef;
use verso_types::{Derivation, SqlType, Value};

use super::{JsonPathCall, Plan};
use crate::functions::{BuiltinFunction, Volatility};
use verso_types::CastKind;

/// An expression and the type of its result.
#[derive(Clone, Debug)]
pub struct TypedExpr {
    /// What is computed.
    pub kind: ExprKind,
    /// The result's type, with its modifier where one is known.
    pub ty: SqlType,
    /// The collation that was derived for it while it was bound; what is computed depends on it no more.
    pub collation: Derivation,
}

impl ExprKind {
    /// The collation that follows from those of the parts, as in PostgreSQL: from the results of CASE, not its conditions;
    /// of a query within an expression its type says it. Types with a collation of their own keep it to themselves.
    fn derived(&self) -> Derivation {
        let of = |args: &mut dyn Iterator<Item = &TypedExpr>| {
            let mut derived = Derivation::Default;
            for arg in args {
                if !arg.collation.is_default() && arg.ty.own_collation().is_none() {
                    derived = derived.and(&arg.collation);
                }
            }
            derived
        };
        match self {
            ExprKind::Call { args, .. }
            | ExprKind::UserCall { args, .. }
            | ExprKind::Coalesce(args)
            | ExprKind::Array(args) => of(&mut args.iter()),
            ExprKind::Cast { arg, .. } | ExprKind::Domain { arg, .. } => of(&mut std::iter::once(&**arg)),
            ExprKind::NullIf { left, right } => of(&mut [&**left, &**right].into_iter()),
            ExprKind::Case { branches, otherwise } => {
                of(&mut branches.iter().map(|(_, result)| result).chain(otherwise.as_deref()))
            }
            _ => Derivation::Default,
        }
    }
}

/// What an expression computes.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// Column of the input batch, counted from zero.
    Column(usize),
    /// `$n` (as n − 1), or the slot of a PL/pgSQL variable.
    Parameter(usize),
    /// Value `n` that the query around a subquery hands in (P5).
    Outer(usize),
    /// A query within an expression.
    Subquery {
        /// The query; `Outer(n)` in it is the value of `outer[n]`.
        plan: Arc<Plan>,
        /// What it needs of the surrounding row.
        outer: Vec<TypedExpr>,
        /// What is asked of its rows.
        test: SubqueryTest,
        /// What `In` looks for, one per column; else empty.
        args: Vec<TypedExpr>,
    },
    /// A constant of the expression's type.
    Literal(Value),
    /// A built-in function or an operator's function.
    Call {
        /// The function; its argument types fit `args` up to modifiers (P3).
        function: &'static BuiltinFunction,
        /// The arguments.
        args: Vec<TypedExpr>,
    },
    /// A function written in PL/pgSQL; compiled by the session when first called.
    UserCall {
        /// The catalog's entry.
        function: Arc<FunctionDef>,
        /// The arguments, cast to the declared types.
        args: Vec<TypedExpr>,
    },
    /// A cast from `arg.ty` to the expression's type.
    Cast {
        /// What is cast.
        arg: Box<TypedExpr>,
        /// Decides on truncation and errors.
        kind: CastKind,
    },
    /// The value itself, if it is one of a domain.
    Domain {
        /// The value, of the type beneath the domain.
        arg: Box<TypedExpr>,
        /// What the domain demands.
        rules: Arc<DomainRules>,
    },
    /// Three-valued AND; stops at the first false.
    And(Vec<TypedExpr>),
    /// Three-valued OR; stops at the first true.
    Or(Vec<TypedExpr>),
    /// Three-valued NOT.
    Not(Box<TypedExpr>),
    /// `IS [NOT] NULL`.
    IsNull {
        /// What is tested.
        arg: Box<TypedExpr>,
        /// `IS NOT NULL`.
        negated: bool,
    },
    /// `IS [NOT] TRUE`, `FALSE` (`Some`) or `UNKNOWN` (`None`).
    IsBool {
        /// What is tested, a boolean.
        arg: Box<TypedExpr>,
        /// The truth value asked for; `None` is unknown.
        value: Option<bool>,
        /// `IS NOT …`.
        negated: bool,
    },
    /// `IS [NOT] DISTINCT FROM`; both sides have one type.
    IsDistinct {
        /// Left side.
        left: Box<TypedExpr>,
        /// Right side.
        right: Box<TypedExpr>,
        /// `IS NOT DISTINCT FROM`.
        negated: bool,
    },
    /// `CASE WHEN c THEN r … ELSE e END`; the binder expands the form with an operand.
    Case {
        /// Conditions and their results, in order.
        branches: Vec<(TypedExpr, TypedExpr)>,
        /// The `ELSE`; without one the result is NULL.
        otherwise: Option<Box<TypedExpr>>,
    },
    /// The first argument that is not NULL; later ones are not evaluated.
    Coalesce(Vec<TypedExpr>),
    /// NULL when both are equal, else the left one; both sides have one type.
    NullIf {
        /// The value.
        left: Box<TypedExpr>,
        /// The value that counts as NULL.
        right: Box<TypedExpr>,
    },
    /// `arg [NOT] IN (list)`; all of one type.
    InList {
        /// What is looked for.
        arg: Box<TypedExpr>,
        /// Where.
        list: Vec<TypedExpr>,
        /// `NOT IN`.
        negated: bool,
    },
    /// `[NOT] LIKE` and `ILIKE`.
    Like {
        /// The text.
        arg: Box<TypedExpr>,
        /// The pattern.
        pattern: Box<TypedExpr>,
        /// The `ESCAPE` character; without one it is a backslash, `Some("")` is none at all.
        escape: Option<Box<TypedExpr>>,
        /// `NOT LIKE`.
        negated: bool,
        /// `ILIKE`.
        case_insensitive: bool,
    },
    /// `ARRAY[…]`; the elements have the element type.
    Array(Vec<TypedExpr>),
    /// `ROW(…)`, also the whole-row reference of a set-returning call in a select list.
    Row(Vec<TypedExpr>),
    /// `JSON_VALUE(…)` and its relatives.
    JsonPath(Box<JsonPathCall>),
    /// What the steps of an aggregate of users make of gathered rows.
    Fold {
        /// An array of the arguments, or of rows of them; NULL where there are none.
        rows: Box<TypedExpr>,
        /// The steps.
        rules: Arc<FoldRules>,
    },
}

/// What an aggregate of users does with its rows.
#[derive(Clone, Debug)]
pub struct FoldRules {
    /// The elements are values of the only argument, not rows.
    pub single: bool,
    /// The arguments cast: `Parameter(1)` … are what the rows have.
    pub args: Vec<TypedExpr>,
    /// The first state.
    pub initial: Value,
    /// Rows with a NULL are passed over, and the first one without is the first state where there is none.
    pub strict: bool,
    /// The next state: `Parameter(0)` is the state, behind it are the arguments.
    pub step: TypedExpr,
    /// What the last state, `Parameter(0)`, becomes.
    pub last: Option<TypedExpr>,
}

/// What a domain demands of a value.
#[derive(Clone, Debug)]
pub struct DomainRules {
    /// The domain, or a composite type with fields of domains.
    pub of: SqlType,
    /// Does it, or one beneath it, demand a value?
    pub not_null: bool,
    /// Is it asked of the elements of an array?
    pub elements: bool,
    /// The conditions in their order: names, and expressions in which `Parameter(0)` is the value.
    pub checks: Vec<(Arc<str>, TypedExpr)>,
    /// Of a composite type: places of fields, and what is to be computed of each, in which `Parameter(0)` is the field.
    pub fields: Vec<(usize, TypedExpr)>,
}

impl DomainRules {
    /// The type that the value is made one of.
    #[must_use]
    pub fn ty(&self) -> SqlType {
        if self.elements { SqlType::Array(Box::new(self.of.clone())) } else { self.of.clone() }
    }
}

/// What an expression asks of the rows of its subquery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubqueryTest {
    /// Its one value; NULL without a row, an error (21000) with several.
    Scalar,
    /// Is there a row?
    Exists,
    /// Is there a row that equals the arguments? NULL where that hangs on a NULL.
    In {
        /// `NOT IN`.
        negated: bool,
    },
    /// All values of its one column, in order.
    Array,
}

impl TypedExpr {
    /// An expression of a kind and a type.
    #[must_use]
    pub fn new(kind: ExprKind, ty: SqlType) -> Self {
        let (ty, mut collation) = ty.split_collation();
        if collation.is_default() && ty.is_collatable() {
            collation = kind.derived();
        } else if let Some(own) = ty.own_collation() {
            collation = Derivation::Implicit(Arc::clone(own));
        }
        Self { kind, ty, collation }
    }

    /// The type of a column that it becomes, with its collation.
    #[must_use]
    pub fn seen(&self) -> SqlType {
        self.ty.clone().collated(&self.collation)
    }

    /// A constant.
    #[must_use]
    pub fn literal(value: Value, ty: SqlType) -> Self {
        let own = ty.own_collation();
        let collation = own.map_or(Derivation::Default, |own| Derivation::Implicit(Arc::clone(own)));
        Self { kind: ExprKind::Literal(value), ty, collation }
    }

    /// Column `index` of the input.
    #[must_use]
    pub fn column(index: usize, ty: SqlType) -> Self {
        Self::new(ExprKind::Column(index), ty)
    }

    /// The NULL of a type.
    #[must_use]
    pub fn null(ty: SqlType) -> Self {
        Self::literal(Value::Null, ty)
    }

    /// Calls `visit` on the direct parts of this expression.
    pub fn for_each_child<'a>(&'a self, visit: &mut dyn FnMut(&'a TypedExpr)) {
        match &self.kind {
            ExprKind::Column(_) | ExprKind::Parameter(_) | ExprKind::Outer(_) | ExprKind::Literal(_) => {}
            ExprKind::Subquery { plan: _, outer, test: _, args } => outer.iter().chain(args).for_each(visit),
            ExprKind::Call { args, .. }
            | ExprKind::UserCall { args, .. }
            | ExprKind::And(args)
            | ExprKind::Or(args)
            | ExprKind::Coalesce(args)
            | ExprKind::Array(args)
            | ExprKind::Row(args) => args.iter().for_each(visit),
            ExprKind::Cast { arg, .. } | ExprKind::Domain { arg, .. } | ExprKind::Not(arg) => visit(arg),
            ExprKind::Fold { rows, .. } => visit(rows),
            ExprKind::IsNull { arg, .. } | ExprKind::IsBool { arg, .. } => visit(arg),
            ExprKind::IsDistinct { left, right, .. } | ExprKind::NullIf { left, right } => {
                visit(left);
                visit(right);
            }
            ExprKind::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    visit(condition);
                    visit(result);
                }
                if let Some(otherwise) = otherwise {
                    visit(otherwise);
                }
            }
            ExprKind::InList { arg, list, .. } => {
                visit(arg);
                list.iter().for_each(visit);
            }
            ExprKind::Like { arg, pattern, escape, .. } => {
                visit(arg);
                visit(pattern);
                if let Some(escape) = escape {
                    visit(escape);
                }
            }
            ExprKind::JsonPath(call) => call.parts().for_each(visit),
        }
    }

    /// Calls `visit` on the direct parts of this expression, to change them.
    pub fn for_each_child_mut(&mut self, visit: &mut dyn FnMut(&mut TypedExpr)) {
        match &mut self.kind {
            ExprKind::Column(_) | ExprKind::Parameter(_) | ExprKind::Outer(_) | ExprKind::Literal(_) => {}
            ExprKind::Subquery { plan: _, outer, test: _, args } => {
                outer.iter_mut().chain(args).for_each(visit)
            }
            ExprKind::Call { args, .. }
            | ExprKind::UserCall { args, .. }
            | ExprKind::And(args)
            | ExprKind::Or(args)
            | ExprKind::Coalesce(args)
            | ExprKind::Array(args)
            | ExprKind::Row(args) => args.iter_mut().for_each(visit),
            ExprKind::Cast { arg, .. } | ExprKind::Domain { arg, .. } | ExprKind::Not(arg) => visit(arg),
            ExprKind::Fold { rows, .. } => visit(rows),
            ExprKind::IsNull { arg, .. } | ExprKind::IsBool { arg, .. } => visit(arg),
            ExprKind::IsDistinct { left, right, .. } | ExprKind::NullIf { left, right } => {
                visit(left);
                visit(right);
            }
            ExprKind::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    visit(condition);
                    visit(result);
                }
                if let Some(otherwise) = otherwise {
                    visit(otherwise);
                }
            }
            ExprKind::InList { arg, list, .. } => {
                visit(arg);
                list.iter_mut().for_each(visit);
            }
            ExprKind::Like { arg, pattern, escape, .. } => {
                visit(arg);
                visit(pattern);
                if let Some(escape) = escape {
                    visit(escape);
                }
            }
            ExprKind::JsonPath(call) => call.parts_mut().for_each(visit),
        }
    }

    /// The column of the input that it is, if it is nothing else.
    #[must_use]
    pub fn as_column(&self) -> Option<usize> {
        match self.kind {
            ExprKind::Column(column) => Some(column),
            _ => None,
        }
    }

    /// Whether a call in it has to happen once per row. Functions of users are what they are said to be, as in PostgreSQL; but
    /// where the statement around one changes what it reads, it sees some of that (guide, functions of your own).
    #[must_use]
    pub fn is_volatile(&self) -> bool {
        self.any(&mut |part| match &part.kind {
            ExprKind::Subquery { plan, .. } => plan.is_volatile(),
            ExprKind::Domain { rules, .. } => {
                let fields = rules.fields.iter().map(|(_, field)| field);
                rules.checks.iter().map(|(_, check)| check).chain(fields).any(TypedExpr::is_volatile)
            }
            _ => part.is_volatile_call(),
        })
    }

    /// Whether its value depends on the rows that the statement around it sees: queries, and functions that read under the view of
    /// their caller. Those that are volatile have views of their own.
    #[must_use]
    pub fn depends_on_view(&self) -> bool {
        use verso_catalog::Volatility as V;
        self.any(&mut |part| match &part.kind {
            ExprKind::Subquery { .. } => true,
            ExprKind::UserCall { function, .. } => function.volatility == V::Stable,
            ExprKind::Domain { rules, .. } => rules.checks.iter().any(|(_, check)| check.depends_on_view()),
            _ => false,
        })
    }

    /// Whether a call in it, but for the queries within it, has to happen once per row.
    #[must_use]
    pub fn is_volatile_by_itself(&self) -> bool {
        self.any(&mut TypedExpr::is_volatile_call)
    }

    /// Whether functions are called in it, or in queries within it, whose order shows: volatile ones of users, and built-in ones that
    /// change what others say. The other volatile ones say something else each time, and that is all.
    #[must_use]
    pub fn acts(&self) -> bool {
        self.any(&mut |part| match &part.kind {
            ExprKind::Subquery { plan, .. } => plan.acts(),
            _ => part.is_act(),
        })
    }

    /// The same without queries within it.
    pub(crate) fn acts_by_itself(&self) -> bool {
        self.any(&mut TypedExpr::is_act)
    }

    fn is_act(&self) -> bool {
        const ACTS: [&str; 7] =
            ["nextval", "currval", "lastval", "setval", "set_config", "setseed", "pg_notify"];
        match &self.kind {
            ExprKind::Call { function, .. } if function.volatility == Volatility::Volatile => {
                let locks = ["pg_advisory_", "pg_try_advisory_"];
                ACTS.contains(&function.name) || locks.iter().any(|start| function.name.starts_with(start))
            }
            ExprKind::Domain { rules, .. } => {
                let fields = rules.fields.iter().map(|(_, field)| field);
                rules.checks.iter().map(|(_, check)| check).chain(fields).any(TypedExpr::acts)
            }
            ExprKind::UserCall { function, .. } => function.volatility == verso_catalog::Volatility::Volatile,
            kind => matches!(kind, ExprKind::Fold { .. }),
        }
    }

    /// Whether this part, without its own parts, has to be computed once per row.
    pub(crate) fn is_volatile_call(&self) -> bool {
        match &self.kind {
            ExprKind::Call { function, .. } => function.volatility == Volatility::Volatile,
            ExprKind::UserCall { function, .. } => function.volatility == verso_catalog::Volatility::Volatile,
            kind => matches!(kind, ExprKind::Fold { .. }),
        }
    }

    /// Whether workers may compute it: it needs nothing of the session but the time of the statement and the zone, and reads
    /// nothing.
    #[must_use]
    pub fn is_parallel_safe(&self) -> bool {
        /// Stable functions that ask for no more than that.
        const OF_TIME: [&str; 5] =
            ["now", "transaction_timestamp", "statement_timestamp", "extract", "date_part"];
        /// Values of types that the catalog names are read and written with its help, which is lent to the session's thread.
        fn is_plain(ty: &SqlType) -> bool {
            use verso_types::SystemType as S;
            match ty {
                SqlType::Array(element) => is_plain(element),
                SqlType::System(ty) => {
                    matches!(ty, S::Inet | S::Cidr | S::Macaddr | S::Macaddr8 | S::Money | S::Citext)
                        || ty.is_geometric()
                }
                SqlType::Enum(_) | SqlType::Domain(_) | SqlType::Record | SqlType::Row(_) => false,
                _ => true,
            }
        }
        !self.any(&mut |part| match &part.kind {
            ExprKind::Subquery { .. }
            | ExprKind::UserCall { .. }
            | ExprKind::Fold { .. }
            | ExprKind::Domain { .. } => true,
            ExprKind::Call { function, args } => {
                let steady = function.volatility == Volatility::Immutable || OF_TIME.contains(&function.name);
                !steady || args.iter().any(|arg| !is_plain(&arg.ty))
            }
            ExprKind::Cast { arg, .. } => !is_plain(&arg.ty) || !is_plain(&part.ty),
            _ => false,
        })
    }

    /// Whether it calls a function of the catalog, also where a domain asks about a value; queries within it are not looked into.
    #[must_use]
    pub fn calls_users(&self) -> bool {
        self.any(&mut |part| match &part.kind {
            ExprKind::UserCall { .. } | ExprKind::Fold { .. } => true,
            ExprKind::Domain { rules, .. } => {
                let fields = rules.fields.iter().map(|(_, field)| field);
                rules.checks.iter().map(|(_, check)| check).chain(fields).any(TypedExpr::calls_users)
            }
            ExprKind::JsonPath(call) => call.domain.as_ref().is_some_and(TypedExpr::calls_users),
            _ => false,
        })
    }

    /// `a AND b AND c`, taken apart.
    #[must_use]
    pub fn conjuncts(self) -> Vec<TypedExpr> {
        match self.kind {
            ExprKind::And(args) => args.into_iter().flat_map(TypedExpr::conjuncts).collect(),
            kind => vec![TypedExpr::new(kind, self.ty)],
        }
    }

    /// Whether an expression has a value: `IS NOT NULL`, but that a row of NULLs has one.
    #[must_use]
    pub fn is_there(arg: TypedExpr) -> Self {
        let kind = match arg.ty.is_row() {
            true => {
                let null = TypedExpr::literal(Value::Null, arg.ty.clone());
                ExprKind::IsDistinct { left: Box::new(arg), right: Box::new(null), negated: false }
            }
            false => ExprKind::IsNull { arg: Box::new(arg), negated: true },
        };
        TypedExpr::new(kind, SqlType::Bool)
    }

    /// All of the conditions as one; none of none.
    #[must_use]
    pub fn conjunction(mut conditions: Vec<TypedExpr>) -> Option<TypedExpr> {
        match conditions.len() {
            0 | 1 => conditions.pop(),
            _ => Some(TypedExpr::new(ExprKind::And(conditions), SqlType::Bool)),
        }
    }

    /// Calls `visit` on the plans of the queries within it.
    pub fn for_each_subquery<'a>(&'a self, visit: &mut dyn FnMut(&'a Plan)) {
        if let ExprKind::Subquery { plan, .. } = &self.kind {
            visit(plan);
        }
        self.for_each_child(&mut |child| child.for_each_subquery(visit));
    }

    /// How many parts it has, itself included; counting stops at `max`.
    #[must_use]
    pub fn size(&self, max: usize) -> usize {
        let mut parts = 0;
        self.any(&mut |_| {
            parts += 1;
            parts >= max
        });
        parts
    }

    /// Whether `test` holds for this expression or any part of it.
    pub fn any(&self, test: &mut dyn FnMut(&TypedExpr) -> bool) -> bool {
        if test(self) {
            return true;
        }
        let mut found = false;
        self.for_each_child(&mut |child| found = found || child.any(test));
        found
    }
}
