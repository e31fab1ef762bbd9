//! What of a condition can be asked before there is a row.

use super::{ExprKind, TypedExpr};

impl TypedExpr {
    /// The parts of a condition in which no column stands and that say the same each time, and the other parts: PostgreSQL's
    /// `One-Time Filter`. None where there is no such part.
    #[must_use]
    pub fn asked_once(&self) -> Option<(TypedExpr, Option<TypedExpr>)> {
        let is_one = |part: &TypedExpr| {
            !part.any(&mut |inner| matches!(inner.kind, ExprKind::Column(_))) && !part.is_volatile()
        };
        let any = match &self.kind {
            ExprKind::And(parts) => parts.iter().any(is_one),
            _ => is_one(self),
        };
        if !any {
            return None;
        }
        let (once, rest): (Vec<_>, Vec<_>) = self.clone().conjuncts().into_iter().partition(is_one);
        Some((TypedExpr::conjunction(once)?, TypedExpr::conjunction(rest)))
    }
}
