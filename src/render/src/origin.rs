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

/// Pieces of arrays that are named.
const MOST_PIECES: usize = 6;

/// An element of an array, and what it comes from.
#[derive(Debug)]
pub struct Explained {
    /// What it is called: `c.npy[17, 3]`.
    pub element: String,
    /// Its value; nothing if it is not known.
    pub value: Option<String>,
    /// Whether the launch keeps the values that the array has in the end.
    pub is_kept: bool,
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
    #[serde(skip_serializing_if = "str::is_empty")]
    text: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    elements: &'a [String],
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
    pub fn human(&self, source: &Source, out: &mut dyn Write) -> io::Result<()> {
        let Self { element, value, is_kept, origin } = self;
        match value.as_deref() {
            Some(value) => writeln!(out, "\n  {element} = {value}")?,
            None if *is_kept => writeln!(out, "\n  {element} is not known")?,
            None => writeln!(out, "\n  {element}")?,
        }
        Printer { source, out }.origin(origin, 2)
    }
}

fn document<'a>(origin: &'a Origin, source: &Source) -> OriginDocument<'a> {
    OriginDocument {
        text: &origin.text,
        elements: &origin.elements,
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
                        // What is left out is said once.
                        let is_said = index > 0 && from.span.is_none() && all[index - 1] == *from;
                        let is_shown = all.len() <= 2 * ENDS + 1 || index < ENDS || index >= all.len() - ENDS;
                        if is_shown && !is_said {
                            self.origin(from, depth + 1)?;
                        }
                    }
                    return Ok(());
                }
            }
        }
    }

    fn line(&mut self, origin: &Origin, depth: usize) -> io::Result<()> {
        let Origin { span, text, value, elements, through, .. } = origin;
        let mut what = text.clone();
        if !elements.is_empty() {
            if !what.is_empty() {
                what += ": ";
            }
            what += &elements.iter().take(MOST_PIECES).cloned().collect::<Vec<_>>().join(", ");
            let left = elements.len().saturating_sub(MOST_PIECES);
            if left > 0 {
                what += &format!(" and {} more", plural(left, "piece"));
            }
        }
        if let Some(value) = value {
            what += &format!(" = {value}");
        }
        what += &self.lines(through);
        let indent = "  ".repeat(depth);
        match span {
            Some(span) => {
                let at = self.source.position(span.start);
                let code = code(self.source, *span);
                writeln!(self.out, "{indent}{:>5}: {code:WIDEST$}  {what}", at.line)
            }
            None => writeln!(self.out, "{indent}{what}"),
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
