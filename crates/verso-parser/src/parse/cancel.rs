//! `DELETE FROM verso_statements [WHERE …]`: Firebird's way to cancel statements, whose view of them has rows to delete.
//!
//! It is another word for `SELECT pg_cancel_backend(pid) FROM verso_statements WHERE …` over the statements of other sessions, so
//! rights, parameters and what it yields are those of that query.

use super::cursor::Cursor;
use super::dml;
use super::expr::node;
use crate::error::SyntaxError;
use crate::syntax::{
    Call, Expr, ExprKind, Name, QualifiedName, Query, QueryBody, Select, SelectItem, Span, Statement,
};

/// At DELETE.
pub(super) fn statements(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let from = cursor.here();
    let Statement::Delete(delete) = dml::statement(cursor, Vec::new())? else {
        return Err(cursor.unexpected());
    };
    if delete.using.is_some() || delete.current.is_some() || !delete.returning.is_empty() {
        let what = "DELETE FROM verso_statements with USING, CURRENT OF or RETURNING";
        return Err(SyntaxError::unsupported(what).at(from.start));
    }
    let at = cursor.since(from);
    let name = |text: &str| Name { text: text.to_owned(), at };
    let expr = |kind: ExprKind| node(kind, at, at.start);
    let call = |text: &str, args: Vec<Expr>| {
        let function = QualifiedName { schema: Some(name("pg_catalog")), name: name(text) };
        expr(ExprKind::Call(Box::new(Call::plain(function, args))))
    };
    let pid = || expr(ExprKind::Column(vec![name("pid")]));
    let own = Box::new(call("pg_backend_pid", Vec::new()));
    let others = expr(ExprKind::Binary { op: "<>".to_owned(), left: Box::new(pid()), right: own });
    let cancelled = call("pg_cancel_backend", vec![pid()]);
    let mut select = Select::of(vec![SelectItem::Expr { expr: cancelled, alias: None }], Some(delete.table));
    select.filter = Some(match delete.filter {
        Some(filter) => expr(ExprKind::And(vec![filter, others])),
        None => others,
    });
    select.hints = delete.hints;
    Ok(Statement::Query(Query::of(QueryBody::Select(Box::new(select)), Span { ..at })))
}
