//! What EXPLAIN shows as a document, and how it is written: as JSON, YAML or XML, line by line as PostgreSQL writes them.

use verso_types::json::escape_into;

/// A document that is about to be written.
#[derive(Debug)]
pub(super) enum Document {
    Text(String),
    /// As it is written.
    Number(String),
    List(Vec<Document>),
    Object(Vec<(String, Document)>),
}

impl Document {
    /// Writes it as JSON: a line a value, lists of texts on one line.
    pub(super) fn json(&self, out: &mut String, indent: usize) {
        match self {
            Document::Text(text) => escape_into(text, out),
            Document::Number(number) => out.push_str(number),
            Document::List(items) if items.iter().all(|item| matches!(item, Document::Text(_))) => {
                out.push('[');
                for (n, item) in items.iter().enumerate() {
                    out.push_str(if n > 0 { ", " } else { "" });
                    item.json(out, indent);
                }
                out.push(']');
            }
            Document::List(items) => {
                out.push('[');
                for (n, item) in items.iter().enumerate() {
                    out.push_str(if n > 0 { "," } else { "" });
                    pad(out, indent + 2);
                    item.json(out, indent + 2);
                }
                pad(out, indent);
                out.push(']');
            }
            Document::Object(fields) => {
                out.push('{');
                for (n, (key, value)) in fields.iter().enumerate() {
                    out.push_str(if n > 0 { "," } else { "" });
                    pad(out, indent + 2);
                    escape_into(key, out);
                    out.push_str(": ");
                    value.json(out, indent + 2);
                }
                pad(out, indent);
                out.push('}');
            }
        }
    }

    /// Writes the fields of an object, or the items of a list, as YAML; the first one where the text ends now.
    pub(super) fn yaml(&self, out: &mut String, indent: usize) {
        match self {
            Document::Text(text) => escape_into(text, out),
            Document::Number(number) => out.push_str(number),
            Document::List(items) => {
                for (n, item) in items.iter().enumerate() {
                    if n > 0 {
                        pad(out, indent);
                    }
                    out.push_str("- ");
                    item.yaml(out, indent + 2);
                }
            }
            Document::Object(fields) => {
                for (n, (key, value)) in fields.iter().enumerate() {
                    if n > 0 {
                        pad(out, indent);
                    }
                    out.push_str(key);
                    out.push_str(": ");
                    if value.has_parts() {
                        pad(out, indent + 2);
                    }
                    value.yaml(out, indent + 2);
                }
            }
        }
    }

    /// Writes it as an element of XML.
    pub(super) fn xml(&self, out: &mut String, name: &str, indent: usize) {
        let tag: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' })
            .collect();
        out.push_str(&format!("<{tag}>"));
        match self {
            Document::Text(text) => escape_xml(text, out),
            Document::Number(number) => out.push_str(number),
            Document::List(items) => {
                for item in items {
                    pad(out, indent + 2);
                    let of_plans = name == "Plans" && matches!(item, Document::Object(_));
                    item.xml(out, if of_plans { "Plan" } else { "Item" }, indent + 2);
                }
                pad(out, indent);
            }
            Document::Object(fields) => {
                for (key, value) in fields {
                    pad(out, indent + 2);
                    value.xml(out, key, indent + 2);
                }
                pad(out, indent);
            }
        }
        out.push_str(&format!("</{tag}>"));
    }

    fn has_parts(&self) -> bool {
        match self {
            Document::Text(_) | Document::Number(_) => false,
            Document::List(items) => !items.is_empty(),
            Document::Object(fields) => !fields.is_empty(),
        }
    }
}

/// Begins a line.
fn pad(out: &mut String, indent: usize) {
    out.push('\n');
    out.push_str(&" ".repeat(indent));
}

fn escape_xml(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\r' => out.push_str("&#x0d;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Document as D;

    fn text(text: &str) -> D {
        D::Text(text.to_string())
    }

    fn object(fields: Vec<(&str, D)>) -> D {
        D::Object(fields.into_iter().map(|(key, value)| (key.to_string(), value)).collect())
    }

    fn sample() -> D {
        let scan = object(vec![("Node Type", text("Seq Scan")), ("Filter", text("(b < '\"&'::text)"))]);
        let plan = object(vec![
            ("Node Type", text("Sort")),
            ("Plan Rows", D::Number("7".to_string())),
            ("Sort Key", D::List(vec![text("b"), text("a")])),
            ("Plans", D::List(vec![scan])),
        ]);
        object(vec![("Plan", plan), ("Settings", object(Vec::new()))])
    }

    #[test]
    fn documents_are_written_as_postgresql_writes_yaml() {
        let mut out = String::new();
        D::List(vec![sample()]).yaml(&mut out, 0);
        let expected = [
            "- Plan: ",
            "    Node Type: \"Sort\"",
            "    Plan Rows: 7",
            "    Sort Key: ",
            "      - \"b\"",
            "      - \"a\"",
            "    Plans: ",
            "      - Node Type: \"Seq Scan\"",
            "        Filter: \"(b < '\\\"&'::text)\"",
            "  Settings: ",
        ];
        assert_eq!(out, expected.join("\n"));
    }

    #[test]
    fn documents_are_written_as_postgresql_writes_xml() {
        let mut out = String::new();
        sample().xml(&mut out, "Query", 2);
        let expected = [
            "<Query>",
            "    <Plan>",
            "      <Node-Type>Sort</Node-Type>",
            "      <Plan-Rows>7</Plan-Rows>",
            "      <Sort-Key>",
            "        <Item>b</Item>",
            "        <Item>a</Item>",
            "      </Sort-Key>",
            "      <Plans>",
            "        <Plan>",
            "          <Node-Type>Seq Scan</Node-Type>",
            "          <Filter>(b &lt; '&quot;&amp;'::text)</Filter>",
            "        </Plan>",
            "      </Plans>",
            "    </Plan>",
            "    <Settings>",
            "    </Settings>",
            "  </Query>",
        ];
        assert_eq!(out, expected.join("\n"));
    }
}
