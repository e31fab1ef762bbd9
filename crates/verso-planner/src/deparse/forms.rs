//! Functions with words between their arguments, aggregates, windows as text.

use verso_exec::functions::quote_ident;
use verso_parser::syntax::{FrameExclude, FrameMode};

use super::layout::Printer;
use super::node::{Aggregate, Bound, Frame, Node, Over, SqlForm, Window};

impl Printer {
    pub(super) fn sql_form(&mut self, form: SqlForm, args: &[Node], node: &Node) -> Option<()> {
        match (form, args) {
            (SqlForm::Extract, [Node::Const { text: Some(field), .. }, value]) => {
                self.out.push_str(&format!("EXTRACT({field} FROM "));
                self.expr(value, false)?;
                self.out.push(')');
            }
            (SqlForm::Position, [text, what]) => {
                self.parts(&[("POSITION((", what), (") IN (", text)], "))")?;
            }
            (SqlForm::Overlay, [text, new, from]) => {
                self.parts(&[("OVERLAY(", text), (" PLACING ", new), (" FROM ", from)], ")")?;
            }
            (SqlForm::Overlay, [text, new, from, length]) => {
                let parts = [("OVERLAY(", text), (" PLACING ", new), (" FROM ", from), (" FOR ", length)];
                self.parts(&parts, ")")?;
            }
            (SqlForm::Substring, [text, from]) => {
                self.parts(&[("SUBSTRING(", text), (" FROM ", from)], ")")?;
            }
            (SqlForm::Substring, [text, pattern, escape @ Node::Const { ty, .. }]) if ty.is_text() => {
                self.parts(&[("SUBSTRING(", text), (" SIMILAR ", pattern), (" ESCAPE ", escape)], ")")?;
            }
            (SqlForm::Substring, [text, from, length]) => {
                self.parts(&[("SUBSTRING(", text), (" FROM ", from), (" FOR ", length)], ")")?;
            }
            (SqlForm::Trim(side), [text, rest @ ..]) => {
                self.out.push_str(&format!("TRIM({side}"));
                if let [characters] = rest {
                    self.out.push(' ');
                    self.expr(characters, false)?;
                }
                self.out.push_str(" FROM ");
                self.expr(text, false)?;
                self.out.push(')');
            }
            (SqlForm::Normalize, [text]) => self.parts(&[("NORMALIZE(", text)], ")")?,
            (SqlForm::Normalize, [text, Node::Const { text: Some(form), .. }]) => {
                self.parts(&[("NORMALIZE(", text)], &format!(", {form})"))?;
            }
            (SqlForm::IsNormalized, [text, form @ ..]) => {
                self.out.push('(');
                self.within(text, false, node)?;
                self.out.push_str(" IS ");
                if let [Node::Const { text: Some(form), .. }] = form {
                    self.out.push_str(&format!("{form} "));
                }
                self.out.push_str("NORMALIZED)");
            }
            (SqlForm::Overlaps, [a, b, c, d]) => {
                self.parts(&[("((", a), (", ", b), (") OVERLAPS (", c), (", ", d)], "))")?;
            }
            (SqlForm::AtTimeZone, [zone, value]) => {
                self.out.push('(');
                self.within(value, false, node)?;
                self.out.push_str(" AT TIME ZONE ");
                self.within(zone, false, node)?;
                self.out.push(')');
            }
            (SqlForm::AtTimeZone, [value]) => {
                self.out.push('(');
                self.within(value, false, node)?;
                self.out.push_str(" AT LOCAL)");
            }
            _ => return None,
        }
        Some(())
    }

    fn parts(&mut self, parts: &[(&str, &Node)], end: &str) -> Option<()> {
        for (words, part) in parts {
            self.out.push_str(words);
            self.expr(part, false)?;
        }
        self.out.push_str(end);
        Some(())
    }

    pub(super) fn aggregate(&mut self, call: &Aggregate) -> Option<()> {
        self.out.push_str(&format!("{}(", call.name));
        if call.distinct {
            self.out.push_str("DISTINCT ");
        }
        if call.star {
            self.out.push('*');
        }
        self.list(&call.args, ", ", true)?;
        if !call.within.is_empty() {
            self.out.push_str(") WITHIN GROUP (ORDER BY ");
            self.sorts(&call.within, false, &[])?;
        } else if !call.order_by.is_empty() {
            self.out.push_str(" ORDER BY ");
            self.sorts(&call.order_by, false, &[])?;
        }
        self.out.push_str(&call.behind);
        if let Some(filter) = &call.filter {
            self.out.push_str(") FILTER (WHERE ");
            self.expr(filter, false)?;
        }
        self.out.push(')');
        match &call.over {
            None => {}
            Some(Over::Name(name)) => self.out.push_str(&format!(" OVER {}", quote_ident(name))),
            Some(Over::Spec(window)) => {
                self.out.push_str(" OVER ");
                self.window(window)?;
            }
        }
        Some(())
    }

    pub(super) fn window(&mut self, window: &Window) -> Option<()> {
        self.out.push('(');
        let mut space = "";
        if let Some(base) = &window.base {
            self.out.push_str(&quote_ident(base));
            space = " ";
        }
        if !window.partition_by.is_empty() {
            self.out.push_str(&format!("{space}PARTITION BY "));
            for (n, key) in window.partition_by.iter().enumerate() {
                if n > 0 {
                    self.out.push_str(", ");
                }
                self.sort_key(key, None, &[])?;
            }
            space = " ";
        }
        if !window.order_by.is_empty() {
            self.out.push_str(&format!("{space}ORDER BY "));
            self.sorts(&window.order_by, false, &[])?;
            space = " ";
        }
        if let Some(frame) = &window.frame {
            self.out.push_str(space);
            self.frame(frame)?;
        }
        self.out.push(')');
        Some(())
    }

    fn frame(&mut self, frame: &Frame) -> Option<()> {
        self.out.push_str(match frame.mode {
            FrameMode::Rows => "ROWS ",
            FrameMode::Range => "RANGE ",
            FrameMode::Groups => "GROUPS ",
        });
        if let Some(end) = &frame.end {
            self.out.push_str("BETWEEN ");
            self.bound(&frame.start)?;
            self.out.push_str(" AND ");
            self.bound(end)?;
        } else {
            self.bound(&frame.start)?;
        }
        self.out.push_str(match frame.exclude {
            FrameExclude::NoOthers => "",
            FrameExclude::CurrentRow => " EXCLUDE CURRENT ROW",
            FrameExclude::Group => " EXCLUDE GROUP",
            FrameExclude::Ties => " EXCLUDE TIES",
        });
        Some(())
    }

    fn bound(&mut self, bound: &Bound) -> Option<()> {
        match bound {
            Bound::Fixed(words) => self.out.push_str(words),
            Bound::Distance(distance, words) => {
                self.expr(distance, false)?;
                self.out.push_str(&format!(" {words}"));
            }
        }
        Some(())
    }
}
