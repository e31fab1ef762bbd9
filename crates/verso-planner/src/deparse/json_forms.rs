//! Forms of SQL/JSON in PostgreSQL's words, which say what the text left to be understood.

use verso_exec::functions::quote_ident;
use verso_parser::syntax::{
    Expr, JsonAggregate, JsonFallback, JsonForm, JsonInput, JsonOutput, JsonPathQuery, JsonQueryKind,
    JsonWrapper, Over as SyntaxOver, Span,
};
use verso_types::{SqlType, SystemType};

use super::bound::quoted;
use super::lower::Lowering;
use super::node::{Aggregate, Node, Over, Written};

/// Words and expressions, one behind the other.
#[derive(Default)]
struct Words {
    parts: Written,
    last: String,
}

impl Words {
    fn say(&mut self, words: &str) {
        self.last.push_str(words);
    }

    fn put(&mut self, node: Node) {
        self.parts.push((std::mem::take(&mut self.last), Some(node)));
    }

    fn node(mut self) -> Node {
        self.parts.push((self.last, None));
        Node::Written(self.parts)
    }
}

impl Lowering<'_> {
    /// A form, but one of a query.
    pub(super) fn json_form(&mut self, form: &JsonForm, at: Span) -> Option<Node> {
        let mut out = Words::default();
        match form {
            JsonForm::PathQuery(query) => self.path_query(query, at, &mut out)?,
            JsonForm::Parse { input, unique } => {
                out.say("JSON(");
                self.input(input, &mut out)?;
                out.say(if *unique { " WITH UNIQUE KEYS" } else { "" });
            }
            JsonForm::Scalar(value) => {
                out.say("JSON_SCALAR(");
                out.put(self.settled(value)?);
            }
            JsonForm::Serialize { input, returning } => {
                out.say("JSON_SERIALIZE(");
                self.input(input, &mut out)?;
                out.say(&format!(" RETURNING {}", self.returned(returning.as_ref(), at)?));
            }
            JsonForm::Object { pairs, absent, unique, returning } => {
                out.say("JSON_OBJECT(");
                for (n, pair) in pairs.iter().enumerate() {
                    out.say(if n > 0 { ", " } else { "" });
                    self.pair(pair, &mut out)?;
                }
                out.say(if *absent { " ABSENT ON NULL" } else { "" });
                out.say(if *unique { " WITH UNIQUE KEYS" } else { "" });
                out.say(&format!(" RETURNING {}", self.returned(returning.as_ref(), at)?));
            }
            JsonForm::Array { values, absent, returning } => {
                out.say("JSON_ARRAY(");
                for (n, value) in values.iter().enumerate() {
                    out.say(if n > 0 { ", " } else { "" });
                    self.input(value, &mut out)?;
                }
                out.say(if *absent { "" } else { " NULL ON NULL" });
                out.say(&format!(" RETURNING {}", self.returned(returning.as_ref(), at)?));
            }
            JsonForm::Aggregate(aggregate) => return self.json_aggregate(aggregate, at),
            JsonForm::ArrayQuery { .. } => return None,
        }
        out.say(")");
        Some(out.node())
    }

    /// What a form yields: without RETURNING it depends on what it takes.
    fn returned(&self, returning: Option<&JsonOutput>, at: Span) -> Option<SqlType> {
        match returning {
            Some(output) => self.binder.type_in_text(&output.ty).ok(),
            None => self.trace.type_of(at),
        }
    }

    /// A value; FORMAT JSON says nothing of one that is JSON anyhow.
    fn input(&mut self, input: &JsonInput, out: &mut Words) -> Option<()> {
        out.put(self.settled(&input.value)?);
        if let Some(format) = &input.format
            && !matches!(self.type_of(&input.value), SqlType::Json | SqlType::Jsonb)
        {
            out.say(" FORMAT JSON");
            if let Some(encoding) = &format.encoding {
                out.say(&format!(" ENCODING {}", encoding.text.to_uppercase()));
            }
        }
        Some(())
    }

    fn pair(&mut self, (key, value): &(Expr, JsonInput), out: &mut Words) -> Option<()> {
        out.put(self.expr(key)?);
        out.say(" : ");
        self.input(value, out)
    }

    fn path_query(&mut self, query: &JsonPathQuery, at: Span, out: &mut Words) -> Option<()> {
        out.say(&format!("{}(", query.kind.name()));
        self.input(&query.document, out)?;
        out.say(", ");
        match self.typed(&query.path, &SqlType::System(SystemType::JsonPath))? {
            Node::Const { text: Some(path), .. } => out.say(&quoted(&path)),
            path => out.put(path),
        }
        for (n, (input, name)) in query.passing.iter().enumerate() {
            out.say(if n > 0 { ", " } else { " PASSING " });
            self.input(input, out)?;
            out.say(&format!(" AS {}", quote_ident(&name.text)));
        }
        let ty = self.returned(query.returning.as_ref(), at)?;
        if query.kind != JsonQueryKind::Exists {
            out.say(&format!(" RETURNING {ty}"));
        }
        if query.kind == JsonQueryKind::Query {
            out.say(match query.result.wrapper {
                JsonWrapper::Unspecified | JsonWrapper::Without => " WITHOUT WRAPPER",
                JsonWrapper::Conditional => " WITH CONDITIONAL WRAPPER",
                JsonWrapper::Always => " WITH UNCONDITIONAL WRAPPER",
            });
            out.say(if query.result.quotes == Some(false) { " OMIT QUOTES" } else { " KEEP QUOTES" });
        }
        for (given, when) in [(&query.result.on_empty, "EMPTY"), (&query.result.on_error, "ERROR")] {
            let Some((fallback, _)) = given else { continue };
            match fallback {
                // What happens anyhow.
                JsonFallback::Null | JsonFallback::Truth(Some(false)) => continue,
                JsonFallback::Error => out.say(" ERROR"),
                JsonFallback::Truth(Some(true)) => out.say(" TRUE"),
                JsonFallback::Truth(None) => out.say(" UNKNOWN"),
                JsonFallback::EmptyArray => out.say(" EMPTY ARRAY"),
                JsonFallback::EmptyObject => out.say(" EMPTY OBJECT"),
                JsonFallback::Default(value) => {
                    out.say(" DEFAULT ");
                    out.put(self.typed(value, &ty)?);
                }
            }
            out.say(&format!(" ON {when}"));
        }
        Some(())
    }

    fn json_aggregate(&mut self, aggregate: &JsonAggregate, at: Span) -> Option<Node> {
        let mut args = Words::default();
        if let Some(key) = &aggregate.key {
            args.put(self.expr(key)?);
            args.say(" : ");
        }
        self.input(&aggregate.value, &mut args)?;
        let (name, nulls) = match (&aggregate.key, aggregate.absent) {
            (Some(_), true) => ("JSON_OBJECTAGG", " ABSENT ON NULL"),
            (Some(_), false) => ("JSON_OBJECTAGG", ""),
            (None, true) => ("JSON_ARRAYAGG", ""),
            (None, false) => ("JSON_ARRAYAGG", " NULL ON NULL"),
        };
        let unique = if aggregate.unique { " WITH UNIQUE KEYS" } else { "" };
        let ty = self.returned(aggregate.returning.as_ref(), at)?;
        let filter = match &aggregate.filter {
            Some(filter) => Some(self.typed(filter, &SqlType::Bool)?),
            None => None,
        };
        let over = match &aggregate.over {
            None => None,
            Some(SyntaxOver::Name(name)) => Some(Over::Name(name.text.clone())),
            Some(SyntaxOver::Spec(spec)) => Some(Over::Spec(Box::new(self.window(spec)?))),
        };
        Some(Node::Aggregate(Box::new(Aggregate {
            name: name.to_owned(),
            star: false,
            distinct: false,
            args: vec![args.node()],
            order_by: self.sorts(&aggregate.order_by, &[])?,
            within: Vec::new(),
            behind: format!("{nulls}{unique} RETURNING {ty}"),
            filter,
            over,
        })))
    }
}
