//! Tables, indexes and rows.

use std::fmt::Write;

use crate::{Random, Type};

/// A table.
pub struct Table {
    /// Its name.
    pub name: String,
    /// The types of its columns, which are named `c1`, `c2` and so on.
    pub columns: Vec<Type>,
}

/// The tables of a seed, and the statements that make them.
pub struct Schema {
    /// The tables.
    pub tables: Vec<Table>,
    /// What makes and fills them.
    pub statements: Vec<String>,
}

/// Rows of the tables: none, few, some, and enough for several batches.
const ROWS: [usize; 6] = [0, 3, 12, 25, 40, 300];

impl Schema {
    /// The schema of a seed.
    pub fn new(random: &mut Random) -> Schema {
        let mut schema = Schema { tables: Vec::new(), statements: Vec::new() };
        for (number, rows) in ROWS.into_iter().enumerate() {
            schema.table(number, rows, random);
        }
        schema.statements.push("ANALYZE".into());
        schema
    }

    fn table(&mut self, number: usize, rows: usize, random: &mut Random) {
        let name = format!("t{number}");
        // The first column joins with the first of the others.
        let mut columns = vec![Type::Int, Type::Text];
        for _ in 0..2 + random.below(5) {
            columns.push(Type::any(random));
        }
        let keyed = random.once_in(2);
        let mut text = format!("CREATE TABLE {name} (");
        for (n, ty) in columns.iter().enumerate() {
            let comma = if n > 0 { ", " } else { "" };
            let key = if n == 0 && keyed { " PRIMARY KEY" } else { "" };
            write!(text, "{comma}c{} {}{key}", n + 1, ty.name()).expect("a string");
        }
        text.push(')');
        self.statements.push(text);
        let before = random.once_in(2);
        if before {
            self.indexes(&name, &columns, random);
        }
        for from in (0..rows).step_by(100) {
            let rows: Vec<String> = (from..rows.min(from + 100))
                .map(|row| {
                    let values: Vec<String> = columns
                        .iter()
                        .enumerate()
                        .map(|(n, ty)| if n == 0 && keyed { row.to_string() } else { ty.literal(random) })
                        .collect();
                    format!("({})", values.join(", "))
                })
                .collect();
            self.statements.push(format!("INSERT INTO {name} VALUES {}", rows.join(", ")));
        }
        if !before {
            self.indexes(&name, &columns, random);
        }
        self.tables.push(Table { name, columns });
    }

    fn indexes(&mut self, name: &str, columns: &[Type], random: &mut Random) {
        for n in 0..random.below(4) {
            let mut keys: Vec<String> = Vec::new();
            for _ in 0..1 + random.below(2) {
                let column = 1 + random.below(columns.len());
                let order = random.one(&["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
                let key = match columns[column - 1] {
                    Type::Text if random.once_in(4) => format!("lower(c{column})"),
                    Type::Int if random.once_in(4) => format!("(c{column} % 3)"),
                    _ => format!("c{column}"),
                };
                keys.push(format!("{key}{order}"));
            }
            let partial = if random.once_in(5) { " WHERE c1 > 1" } else { "" };
            self.statements.push(format!("CREATE INDEX {name}_{n} ON {name} ({}){partial}", keys.join(", ")));
        }
    }
}
