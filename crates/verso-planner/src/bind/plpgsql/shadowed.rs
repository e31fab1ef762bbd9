//! Variables that hide others: `shadowed_variables` of `plpgsql.extra_warnings` and `plpgsql.extra_errors`.

use verso_parser::syntax::{Name, PlBlock, PlStatement, PlStatementKind as Syntax};

/// The variables of a body that hide others of these names, of FOUND, or of blocks and loops around them, in the order of
/// the text.
#[must_use]
pub fn shadowed<'b>(arguments: impl Iterator<Item = &'b str>, block: &'b PlBlock) -> Vec<&'b Name> {
    let mut search = Search { known: arguments.chain(["found"]).collect(), hidden: Vec::new() };
    search.block(block);
    search.hidden
}

struct Search<'b> {
    /// What is in scope, innermost last.
    known: Vec<&'b str>,
    hidden: Vec<&'b Name>,
}

impl<'b> Search<'b> {
    fn block(&mut self, block: &'b PlBlock) {
        let outer = self.known.len();
        for declaration in &block.declarations {
            let cursor_args =
                declaration.cursor.iter().flat_map(|cursor| cursor.args.iter().map(|(name, _)| name));
            for name in cursor_args.chain([&declaration.name]) {
                if self.known[..outer].contains(&name.text.as_str()) {
                    self.hidden.push(name);
                }
            }
            self.known.push(&declaration.name.text);
        }
        self.statements(&block.body);
        for handler in &block.handlers {
            let inner = self.known.len();
            self.known.extend(["sqlstate", "sqlerrm"]);
            self.statements(&handler.body);
            self.known.truncate(inner);
        }
        self.known.truncate(outer);
    }

    fn statements(&mut self, statements: &'b [PlStatement]) {
        for statement in statements {
            match &statement.kind {
                Syntax::Block(block) => self.block(block),
                Syntax::If { branches, otherwise, .. } => {
                    branches.iter().for_each(|(_, body)| self.statements(body));
                    self.statements(otherwise);
                }
                Syntax::ForInteger { variable, body, .. } | Syntax::ForCursor { variable, body, .. } => {
                    self.known.push(&variable.text);
                    self.statements(body);
                    self.known.pop();
                }
                Syntax::Loop { body, .. }
                | Syntax::While { body, .. }
                | Syntax::ForQuery { body, .. }
                | Syntax::Foreach { body, .. }
                | Syntax::ForExecute { body, .. } => self.statements(body),
                _ => {}
            }
        }
    }
}
