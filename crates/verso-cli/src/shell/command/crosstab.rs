//! `\crosstabview`: a result with the values of one column as rows and those of another as columns, as psql has it.

use std::collections::HashMap;

use super::super::format::{Cell, Column, Table};
use super::super::pager::print_table;
use super::super::{Flow, Shell};
use super::Call;

/// Most columns that values become.
const COLUMNS_MAX: usize = 1600;

/// `\crosstabview [COLV [COLH [COLD [SORTCOLH]]]]`.
pub fn crosstab(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let mut words = Vec::new();
    while words.len() < 4 {
        let Some(word) = call.arguments.next()? else { break };
        words.push(word);
    }
    let Some(sql) = shell.buffered(call) else { return Ok(Flow::On) };
    let (flow, mut tables) = super::buffer::kept(shell, call, &sql);
    if flow != Flow::On {
        return Ok(flow);
    }
    let Some(table) = tables.pop() else { return Err(told("statement did not return a result set")) };
    let table = pivot(table, &words, &shell.layout.null)?;
    print_table(&mut shell.output, &shell.layout, &table);
    Ok(flow)
}

fn told(text: &str) -> String {
    format!("\\crosstabview: {text}")
}

/// The values of a column, each with its number in the order in which they came.
#[derive(Default)]
struct Headers {
    names: Vec<Cell>,
    places: HashMap<Cell, usize>,
    /// Of each the value by which it is sorted.
    sorted_by: Vec<Cell>,
}

impl Headers {
    fn place(&mut self, name: &Cell, sorted_by: Cell) -> usize {
        *self.places.entry(name.clone()).or_insert_with(|| {
            self.names.push(name.clone());
            self.sorted_by.push(sorted_by);
            self.names.len() - 1
        })
    }
}

/// The table with rows and columns made of values.
fn pivot(mut table: Table, words: &[String], null: &str) -> Result<Table, String> {
    let width = table.columns.len();
    if width < 3 {
        return Err(told("query must return at least three columns"));
    }
    let column = |at: usize| words.get(at).map(|word| column_named(&table.columns, word)).transpose();
    let vertical = column(0)?.unwrap_or(0);
    let horizontal = column(1)?.unwrap_or(1);
    if vertical == horizontal {
        return Err(told("vertical and horizontal headers must be different columns"));
    }
    let data = match column(2)? {
        Some(data) => data,
        None if width == 3 => (0..3).find(|at| *at != vertical && *at != horizontal).unwrap_or(2),
        None => {
            return Err(told("data column must be specified when query returns more than three columns"));
        }
    };
    let sort = column(3)?;
    let (mut down, mut across) = (Headers::default(), Headers::default());
    let mut places = Vec::with_capacity(table.rows.len());
    for row in &table.rows {
        let by = sort.and_then(|sort| row[sort].clone());
        places.push((down.place(&row[vertical], None), across.place(&row[horizontal], by)));
        if across.names.len() > COLUMNS_MAX {
            return Err(told(&format!("maximum number of columns ({COLUMNS_MAX}) exceeded")));
        }
    }
    let mut order: Vec<usize> = (0..across.names.len()).collect();
    if sort.is_some() {
        order.sort_by_key(|at| rank(across.sorted_by[*at].as_deref()));
    }
    let mut shown_at = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, header)| shown_at[*header] = at + 1);
    let empty = || Some(String::new());
    let mut rows: Vec<Vec<Option<Cell>>> = vec![vec![None; order.len() + 1]; down.names.len()];
    for (row, (own, column)) in table.rows.iter_mut().zip(places) {
        let cell = &mut rows[own][shown_at[column]];
        if cell.is_some() {
            let name = |name: &Cell| {
                name.clone().unwrap_or_else(|| match null {
                    "" => "(null)".to_owned(),
                    null => null.to_owned(),
                })
            };
            let (row, column) = (name(&down.names[own]), name(&across.names[column]));
            let text = "query result contains multiple data values for row";
            return Err(told(&format!("{text} \"{row}\", column \"{column}\"")));
        }
        *cell = Some(row[data].take());
    }
    let title = |name: &Cell| name.clone().unwrap_or_else(|| null.to_owned());
    let mut columns = vec![table.columns[vertical].clone()];
    columns.extend(
        order.iter().map(|at| Column { title: title(&across.names[*at]), kind: table.columns[data].kind }),
    );
    let rows = rows.into_iter().zip(down.names).map(|(cells, name)| {
        let cells = cells.into_iter().skip(1).map(|cell| cell.unwrap_or_else(empty));
        std::iter::once(name).chain(cells).collect()
    });
    Ok(Table { title: table.title, columns, rows: rows.collect(), footers: None })
}

/// The number that a value by which columns are sorted is; 0 for none.
fn rank(value: Option<&str>) -> i64 {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let value = value.filter(|value| digits(value.strip_prefix('-').unwrap_or(value)));
    value.and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// A column by its number or its name.
fn column_named(columns: &[Column], word: &str) -> Result<usize, String> {
    if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) {
        let count = columns.len();
        let number = word.parse::<usize>().ok().filter(|number| (1..=count).contains(number));
        let number =
            number.ok_or_else(|| told(&format!("column number {word} is out of range 1..{count}")))?;
        return Ok(number - 1);
    }
    let name = folded(word);
    let mut found = columns.iter().enumerate().filter(|(_, column)| column.title == name);
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Ok(at),
        (Some(_), Some(_)) => Err(told(&format!("ambiguous column name: \"{name}\""))),
        (None, _) => Err(told(&format!("column name not found: \"{name}\""))),
    }
}

/// A name as SQL folds it: what stands in quotes stays.
fn folded(word: &str) -> String {
    let mut name = String::new();
    let mut quoted = false;
    let mut characters = word.chars().peekable();
    while let Some(one) = characters.next() {
        match one {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                name.push('"');
            }
            '"' => quoted = !quoted,
            one if quoted => name.push(one),
            one => name.push(one.to_ascii_lowercase()),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[[&str; 4]]) -> Table {
        let cell = |text: &&str| Some((*text).to_owned()).filter(|text| text != "-");
        let columns = ["v", "h", "c", "r"].map(Column::text).to_vec();
        Table {
            columns,
            rows: rows.iter().map(|row| row.iter().map(cell).collect()).collect(),
            ..Table::default()
        }
    }

    fn shown(table: &Table) -> Vec<String> {
        let line = |row: &Vec<Cell>| {
            row.iter().map(|cell| cell.as_deref().unwrap_or("-")).collect::<Vec<_>>().join("|")
        };
        let titles = table.columns.iter().map(|column| column.title.as_str()).collect::<Vec<_>>().join("|");
        std::iter::once(titles).chain(table.rows.iter().map(line)).collect()
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn values_become_columns_in_their_order_or_in_that_of_another_column() {
        let rows = [
            ["v1", "h2", "foo", "3"],
            ["v2", "h1", "bar", "9"],
            ["v1", "h0", "-", "-4"],
            ["-", "h1", "x", "9"],
        ];
        let made = pivot(table(&rows), &words(&["v", "2", "C"]), "").unwrap();
        assert_eq!(shown(&made), ["v|h2|h1|h0", "v1|foo||-", "v2||bar|", "-||x|"]);
        let made = pivot(table(&rows), &words(&["1", "h", "c", "r"]), "").unwrap();
        assert_eq!(shown(&made)[0], "v|h0|h2|h1");
    }

    #[test]
    fn what_does_not_fit_is_refused_as_psql_does() {
        let rows = [["v1", "h1", "a", "1"], ["v1", "h1", "b", "1"]];
        let failed = |given: &[&str]| pivot(table(&rows), &words(given), "").unwrap_err();
        assert_eq!(
            failed(&[]),
            "\\crosstabview: data column must be specified when query returns more than three columns"
        );
        assert_eq!(
            failed(&["1", "1", "3"]),
            "\\crosstabview: vertical and horizontal headers must be different columns"
        );
        assert_eq!(failed(&["5"]), "\\crosstabview: column number 5 is out of range 1..4");
        assert_eq!(failed(&["\"V\""]), "\\crosstabview: column name not found: \"V\"");
        let twice =
            "\\crosstabview: query result contains multiple data values for row \"v1\", column \"h1\"";
        assert_eq!(failed(&["1", "2", "3"]), twice);
    }
}
