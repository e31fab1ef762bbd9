//! The page as one file of HTML: styles and plots stand in it, nothing is loaded from elsewhere.

use std::fmt::Write as _;

use super::page::{Page, Section, Table};

const STYLE: &str = "\
:root { color-scheme: light; --line: #d8d8d4; --dim: #5c5c58; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1c1c1a; background: #fdfdfb; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.8rem; margin-bottom: .3rem; } h2 { font-size: 1.3rem; margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
p { max-width: 46rem; } .dim { color: var(--dim); } .failed { color: #a01818; }
nav a { margin-right: 1rem; } code { font: .85em ui-monospace, monospace; background: #f1f1ec; padding: .1em .3em; }
figure { margin: 1.2rem 0; overflow-x: auto; } figcaption { font-weight: 600; margin-bottom: .3rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .45rem; text-align: right; border-bottom: 1px solid var(--line); white-space: pre; }
th { white-space: normal; vertical-align: bottom; line-height: 1.2; }
th:first-child, td:first-child { text-align: left; padding-left: 0; } thead th { color: var(--dim); font-weight: 500; }
svg { max-width: 100%; height: auto; }
";

/// The page; `plot` reads the file of a plot.
pub(super) fn page(page: &Page, plot: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    // Writing to a string cannot fail.
    let _ = writeln!(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    let _ =
        writeln!(out, "<title>Verso: five experiments</title>\n<style>\n{STYLE}</style>\n</head>\n<body>");
    let _ = writeln!(out, "<h1>Verso: five experiments</h1>");
    for sentence in page.conditions() {
        let _ = writeln!(out, "<p class=\"dim\">{}</p>", escaped(&sentence));
    }
    out.push_str("<nav>");
    for (number, section) in page.sections.iter().enumerate() {
        let name = section.title.split(':').next().unwrap_or_default();
        let _ = write!(out, "<a href=\"#s{number}\">{}</a>", escaped(name));
    }
    out.push_str("</nav>\n");
    for (number, section) in page.sections.iter().enumerate() {
        write_section(&mut out, number, section, &plot);
    }
    out.push_str("</body>\n</html>\n");
    out
}

fn write_section(out: &mut String, number: usize, section: &Section, plot: impl Fn(&str) -> Option<String>) {
    let _ = writeln!(out, "<section id=\"s{number}\">\n<h2>{}</h2>", escaped(section.title));
    let _ = writeln!(out, "<p>{}</p>", escaped(section.about));
    let _ = writeln!(out, "<p><code>{}</code></p>", escaped(&section.command));
    if let Some(error) = &section.failed {
        let _ = writeln!(out, "<p class=\"failed\">This experiment has failed: {}</p>", escaped(error));
    }
    for table in &section.tables {
        write_table(out, table);
    }
    if let Some(svg) = section.plot.as_deref().and_then(plot) {
        let _ = writeln!(out, "<figure>\n{svg}\n</figure>");
    }
    out.push_str("</section>\n");
}

fn write_table(out: &mut String, table: &Table) {
    let cells = |out: &mut String, tag: &str, cells: &[String]| {
        out.push_str("<tr>");
        for cell in cells {
            let _ = write!(out, "<{tag}>{}</{tag}>", escaped(cell));
        }
        out.push_str("</tr>\n");
    };
    let _ = writeln!(out, "<figure>\n<figcaption>{}</figcaption>\n<table>\n<thead>", escaped(&table.caption));
    cells(out, "th", &table.head);
    out.push_str("</thead>\n<tbody>\n");
    for row in &table.rows {
        cells(out, "td", row);
    }
    out.push_str("</tbody>\n</table>\n</figure>\n");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
