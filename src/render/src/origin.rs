//! What a value comes from, for people and programs.

use std::borrow::Cow;
use std::io::{self, Write};

use ptx_check::source::{Source, Span};
use ptx_check::words::plural;
use ptx_simulation::slice::Origin;
use serde::Serialize;

use crate::json::Place;

/// Letters of an instruction that are shown.
const WIDEST: usize = 72;
/// Of more multiplies that add to each other, so many are shown at the start and at the end.
const ENDS: usize = 8;

/// An element of an array, and what it comes from.
#[derive(Debug)]
pub struct Explained {
    /// What it is called: `c.npy[17, 3]`.
    pub element: String,
    /// Its value; nothing if it is not known.
    pub value: Option<String>,
    /// What that comes from.
    pub origin: Origin,
}

#[derive(Serialize)]
pub(crate) struct ExplainedDocument<'a> {
    element: &'a str,
    value: Option<&'a str>,
    origin: OriginDocument<'a>,
}

#[derive(Serialize)]
struct OriginDocument<'a> {
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<Place>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    through: Vec<Place>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    from: Vec<Self>,
}

impl Explained {
    pub(crate) fn document(&self, source: &Source) -> ExplainedDocument<'_> {
        ExplainedDocument {
            element: &self.element,
            value: self.value.as_deref(),
            origin: document(&self.origin, source),
        }
    }

    /// Writes what the element comes from, the last instruction first.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub(crate) fn human(&self, source: &Source, out: &mut dyn Write) -> io::Result<()> {
        let Self { element, value, origin } = self;
        writeln!(out, "\n  {element} = {}", value.as_deref().unwrap_or("not known"))?;
        Printer { source, out }.origin(origin, 2)
    }
}

fn document<'a>(origin: &'a Origin, source: &Source) -> OriginDocument<'a> {
    OriginDocument {
        text: &origin.text,
        value: origin.value.as_deref(),
        span: origin.span.map(|span| Place::new(source, span)),
        through: origin.through.iter().map(|span| Place::new(source, *span)).collect(),
        from: origin.from.iter().map(|from| document(from, source)).collect(),
    }
}

struct Printer<'p> {
    source: &'p Source,
    out: &'p mut dyn Write,
}

impl Printer<'_> {
    /// What has one source is followed by it; several are set off.
    fn origin(&mut self, origin: &Origin, depth: usize) -> io::Result<()> {
        let mut origin = origin;
        loop {
            self.line(origin, depth)?;
            match origin.from.as_slice() {
                [one] => origin = one,
                all => {
                    for (index, from) in all.iter().enumerate() {
                        if all.len() > 2 * ENDS + 1 && index == ENDS {
                            let left = plural(all.len() - 2 * ENDS, "value");
                            writeln!(self.out, "{}{left} left out", "  ".repeat(depth + 1))?;
                        }
                        if all.len() <= 2 * ENDS + 1 || index < ENDS || index >= all.len() - ENDS {
                            self.origin(from, depth + 1)?;
                        }
                    }
                    return Ok(());
                }
            }
        }
    }

    fn line(&mut self, Origin { span, text, value, through, .. }: &Origin, depth: usize) -> io::Result<()> {
        let indent = "  ".repeat(depth);
        let through = self.lines(through);
        let value = value.as_ref().map_or_else(String::new, |value| format!(" = {value}"));
        match span {
            Some(span) => {
                let at = self.source.position(span.start);
                let code = code(self.source, *span);
                writeln!(self.out, "{indent}{}: {code:WIDEST$}  {text}{value}{through}", at.line)
            }
            None => writeln!(self.out, "{indent}{text}{value}{through}"),
        }
    }

    /// `, by lines 40 and 52`
    fn lines(&self, spans: &[Span]) -> String {
        let mut lines: Vec<u32> = spans.iter().map(|span| self.source.position(span.start).line).collect();
        lines.dedup();
        let more = lines.len().saturating_sub(3);
        lines.truncate(3);
        let named: Vec<String> = lines.iter().map(u32::to_string).collect();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        match named.as_slice() {
            [] => String::new(),
            [one] => format!(", by line {one}"),
            all => format!(", by lines {}{more}", all.join(", ")),
        }
    }
}

/// An instruction in one line.
fn code(source: &Source, span: Span) -> String {
    let text: Vec<&str> = source.slice(span).split_whitespace().collect();
    let text = text.join(" ");
    let text = if text.chars().count() > WIDEST {
        let cut: String = text.chars().take(WIDEST - 3).collect();
        Cow::Owned(cut + "...")
    } else {
        Cow::Borrowed(&text)
    };
    text.into_owned()
}
