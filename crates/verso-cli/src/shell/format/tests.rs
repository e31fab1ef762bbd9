use super::layout::{HeaderWidth, LineStyle, flag_of, grouped};
use super::*;

fn table(columns: &[(&str, Kind)], rows: &[&[Option<&str>]]) -> Table {
    let column = |&(title, kind): &(&str, Kind)| Column { title: title.to_owned(), kind };
    let row = |row: &&[Option<&str>]| row.iter().map(|cell| cell.map(str::to_owned)).collect();
    Table {
        columns: columns.iter().map(column).collect(),
        rows: rows.iter().map(row).collect(),
        ..Table::default()
    }
}

fn sample() -> Table {
    table(
        &[("id", Kind::Number), ("b", Kind::Bool), ("x|y", Kind::Text)],
        &[&[Some("1"), Some("t"), Some("two\nlines")], &[Some("-1234567.5"), None, Some("a|\"b\" <c>\td")]],
    )
}

fn rendered(change: impl Fn(&mut Layout)) -> String {
    let mut layout = Layout::default();
    change(&mut layout);
    sample().render(&layout, None)
}

#[test]
fn json_has_numbers_booleans_and_null() {
    assert_eq!(
        rendered(|layout| layout.format = Format::Json),
        "[{\"id\":1,\"b\":true,\"x|y\":\"two\\nlines\"},\n{\"id\":-1234567.5,\"b\":null,\"x|y\":\"a|\\\"b\\\" <c>\\td\"}]\n"
    );
    let none = table(&[("n", Kind::Number), ("j", Kind::Json)], &[&[Some("NaN"), Some("{\"a\": [1]}")]]);
    let layout = Layout { format: Format::Json, ..Layout::default() };
    assert_eq!(none.render(&layout, None), "[{\"n\":\"NaN\",\"j\":{\"a\": [1]}}]\n");
    assert_eq!(table(&[("a", Kind::Text)], &[]).render(&layout, None), "[]\n");
}

#[test]
fn markdown_aligns_numbers_and_escapes_bars() {
    let table = table(
        &[("id", Kind::Number), ("x|y", Kind::Text)],
        &[&[Some("1"), Some("two\nlines")], &[Some("-1.5"), None]],
    );
    let layout = Layout { format: Format::Markdown, null: "NULL".to_owned(), ..Layout::default() };
    assert_eq!(
        table.render(&layout, None),
        "|  id  |     x\\|y     |\n|-----:|--------------|\n|    1 | two<br>lines |\n| -1.5 | NULL         |\n"
    );
}

#[test]
fn wrapped_values_go_on_in_the_next_line() {
    let words = "one two three four five six";
    let table = table(&[("a", Kind::Number), ("b", Kind::Text)], &[&[Some("1"), Some(words)]]);
    let layout = Layout { format: Format::Wrapped, columns: 16, ..Layout::default() };
    assert_eq!(
        table.render(&layout, None),
        " a |     b      \n---+------------\n 1 | one two th.\n   |.ree four f.\n   |.ive six\n(1 row)\n\n"
    );
}

#[test]
fn tables_wider_than_the_screen_become_blocks() {
    let table = table(&[("a", Kind::Text), ("b", Kind::Text)], &[&[Some("12345678"), Some("12345678")]]);
    let layout = Layout { expanded: Expanded::Auto, ..Layout::default() };
    assert!(table.render(&layout, Some(10)).starts_with("-[ RECORD 1 ]\n"));
    assert!(table.render(&layout, Some(80)).starts_with("    a     |"));
}

#[test]
fn lines_of_records_may_be_short() {
    let table = table(&[("a", Kind::Text)], &[&[Some("a long value that is wide")]]);
    let line = |width| {
        let layout = Layout { expanded: Expanded::On, xheader_width: width, ..Layout::default() };
        table.render(&layout, None).lines().next().map(str::len)
    };
    assert_eq!(line(HeaderWidth::Full), Some(29));
    assert_eq!(line(HeaderWidth::Columns(20)), Some(20));
}

#[test]
fn options_are_told_as_they_were_set() {
    let mut layout = Layout::default();
    let mut set = |option: &str, value: Option<&str>| {
        layout
            .set(option, value)
            .map(|()| layout.told(option))
            .map_err(|error| error.lines().next().map(str::to_owned).unwrap_or_default())
    };
    assert_eq!(set("format", Some("csv")), Ok("Output format is csv.".into()));
    assert_eq!(
        set("format", Some("a")),
        Err("\\pset: ambiguous abbreviation \"a\" matches both \"aligned\" and \"asciidoc\"".into())
    );
    assert!(set("format", Some("latex")).is_err_and(|text| text.contains("latex is not supported")));
    assert!(set("format", Some("nope")).is_err_and(|text| text.contains("allowed formats are aligned")));
    assert_eq!(set("x", Some("auto")), Ok("Expanded display is used automatically.".into()));
    assert_eq!(set("x", None), Ok("Expanded display is off.".into()));
    assert_eq!(set("linestyle", Some("old")), Ok("Line style is old-ascii.".into()));
    assert_eq!(set("pager", Some("perhaps")), Err("unrecognized value \"perhaps\" for \"pager\"".into()));
    assert_eq!(set("nosuch", None), Err("\\pset: unknown option: nosuch".into()));
    let double = "Unicode border line style is \"double\".";
    assert_eq!(set("unicode_border_linestyle", Some("d")), Ok(double.into()));
    let refused = "\\pset: allowed Unicode column line styles are single, double";
    assert_eq!(set("unicode_column_linestyle", Some("triple")), Err(refused.into()));
    assert_eq!(layout.linestyle, LineStyle::OldAscii);
}

#[test]
fn numbers_get_commas_and_words_are_flags() {
    assert_eq!(grouped("-1234567.8912"), "-1,234,567.8912");
    assert_eq!(
        (grouped("123"), grouped("NaN"), grouped("1e+20")),
        ("123".into(), "NaN".into(), "1e+20".into())
    );
    assert_eq!(
        (flag_of("TRUE"), flag_of("of"), flag_of("o"), flag_of("2")),
        (Some(true), Some(false), None, None)
    );
}
