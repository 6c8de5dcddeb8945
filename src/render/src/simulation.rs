//! What became of kernels that were run: findings in their source, and a verdict for each.

use std::borrow::Cow;
use std::io::{self, Write};

use ptx_check::source::{Source, Span};
use ptx_check::words::{demangled, plural};
use ptx_simulation::array::OutFile;
use ptx_simulation::{KernelReport, Output, Verdict};
use serde::Serialize;

use crate::json::{Finding, Place, finding};
use crate::origin::{Explained, ExplainedDocument};
use crate::{Checked, human, timeline};

/// A kernel that was run.
#[derive(Debug)]
pub struct Simulated {
    /// What is known of it.
    pub report: KernelReport,
    /// The files that got what its buffers hold.
    pub written: Vec<Written>,
    /// An element that is explained.
    pub explained: Option<Explained>,
    /// How long that took.
    pub seconds: f64,
}

/// A file that got what a buffer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    file: String,
    dtype: &'static str,
    shape: Vec<usize>,
    /// Bytes of the buffer that are not known, and the first of them.
    unknown: usize,
    first: Option<usize>,
    /// The file that says which.
    mask: Option<String>,
    /// The instruction that first stored something that is not known.
    lost: Option<Span>,
}

impl Written {
    /// What is said of a file that was written.
    pub fn new(out: &OutFile, output: &Output) -> Self {
        let first = output.unknown.first().map(|range| range.start);
        Self {
            file: out.name.clone(),
            dtype: out.form.dtype.name,
            shape: out.form.shape.clone(),
            unknown: output.unknown.iter().map(ExactSizeIterator::len).sum(),
            first,
            mask: first.map(|_| out.mask_name()),
            lost: output.lost.map(|(span, _)| span),
        }
    }

    fn sentence(&self, source: &Source) -> String {
        let Self { file, dtype, shape, unknown, .. } = self;
        let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
        let mut text = format!("`{file}` ({dtype}, {})", sizes.join("x"));
        if let (Some(first), Some(mask)) = (self.first, &self.mask) {
            text += &format!(": {} not known, from byte {first} on", plural(*unknown, "byte"));
            text += &match self.lost {
                Some(span) => {
                    let at = source.position(span.start);
                    format!("; {}:{}:{} stored such first", source.name(), at.line, at.column)
                }
                None => ": the kernel stored nothing there".to_owned(),
            };
            text += &format!("; `{mask}` says which");
        }
        text
    }
}

/// The version of the document's shape.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    kernels: Vec<KernelDocument<'a>>,
}

#[derive(Serialize)]
struct KernelDocument<'a> {
    /// Its symbol.
    kernel: &'a str,
    /// What it is called in its source.
    name: Cow<'a, str>,
    verdict: Verdict,
    reasons: Vec<ReasonDocument<'a>>,
    assumed: &'a [String],
    diagnostics: Vec<Finding<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outputs: Vec<OutputDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<ExplainedDocument<'a>>,
    statistics: Statistics,
}

#[derive(Serialize)]
struct OutputDocument<'a> {
    file: &'a str,
    dtype: &'a str,
    shape: &'a [usize],
    unknown_bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_since: Option<Place>,
}

#[derive(Serialize)]
struct ReasonDocument<'a> {
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<Place>,
}

#[derive(Serialize)]
struct Statistics {
    clusters: u32,
    warp_instructions: u64,
    asynchronous_operations: u64,
    seconds: f64,
}

/// Writes findings and verdicts for people, in the source that is checked, and what happened if a picture is wanted.
///
/// # Errors
/// When `out` cannot be written to.
pub fn human(
    mut checked: Checked,
    simulated: &[Simulated],
    color: bool,
    picture: Option<timeline::Look>,
    out: &mut dyn Write,
) -> io::Result<()> {
    for Simulated { report, written, explained, seconds } in simulated {
        checked.report.diagnostics.clone_from(&report.diagnostics);
        human::findings(std::slice::from_ref(&checked), color, out)?;
        let verdict = match report.verdict {
            Verdict::Clean => "clean".to_owned(),
            Verdict::Incomplete => "incomplete".to_owned(),
            Verdict::Findings => plural(report.diagnostics.len(), "finding"),
        };
        let clusters =
            if report.clusters > 1 { format!("{} clusters, ", report.clusters) } else { String::new() };
        writeln!(
            out,
            "{}: {verdict} ({clusters}{} warp instructions, {seconds:.2} s)",
            demangled(&report.kernel),
            report.warp_instructions
        )?;
        for (index, reason) in report.reasons.iter().enumerate() {
            let text = &reason.text;
            match reason.span {
                Some(span) => {
                    let at = checked.source.position(span.start);
                    writeln!(
                        out,
                        "  not judged further: {text}, at {}:{}:{}",
                        checked.source.name(),
                        at.line,
                        at.column
                    )?;
                }
                None => writeln!(out, "  not judged further: {text}")?,
            }
            // Once for all reasons that it answers.
            if let Some(help) = &reason.help
                && report.reasons.iter().skip(index + 1).all(|next| next.help != reason.help)
            {
                writeln!(out, "    help: {help}")?;
            }
        }
        for assumed in &report.assumed {
            writeln!(out, "  assumed: {assumed}")?;
        }
        for written in written {
            writeln!(out, "  wrote: {}", written.sentence(&checked.source))?;
        }
        if let Some(explained) = explained {
            explained.human(&checked.source, out)?;
        }
        if let (Some(look), Some(record)) = (picture, &report.record) {
            writeln!(out)?;
            timeline::render(&checked.source, record, look, out)?;
        }
    }
    Ok(())
}

/// Writes one document for programs.
///
/// # Errors
/// When `out` cannot be written to.
pub fn json(checked: &Checked, simulated: &[Simulated], out: &mut dyn Write) -> io::Result<()> {
    let kernels = simulated
        .iter()
        .map(|Simulated { report, written, explained, seconds }| KernelDocument {
            kernel: &report.kernel,
            name: demangled(&report.kernel),
            verdict: report.verdict,
            reasons: report
                .reasons
                .iter()
                .map(|reason| ReasonDocument {
                    message: &reason.text,
                    help: reason.help.as_deref(),
                    span: reason.span.map(|span| Place::new(&checked.source, span)),
                })
                .collect(),
            assumed: &report.assumed,
            diagnostics: report.diagnostics.iter().map(|it| finding(checked, it)).collect(),
            outputs: written
                .iter()
                .map(|it| OutputDocument {
                    file: &it.file,
                    dtype: it.dtype,
                    shape: &it.shape,
                    unknown_bytes: it.unknown,
                    unknown_file: it.mask.as_deref(),
                    unknown_since: it.lost.map(|span| Place::new(&checked.source, span)),
                })
                .collect(),
            explained: explained.as_ref().map(|it| it.document(&checked.source)),
            statistics: Statistics {
                clusters: report.clusters,
                warp_instructions: report.warp_instructions,
                asynchronous_operations: report.operations,
                seconds: *seconds,
            },
        })
        .collect();
    serde_json::to_writer_pretty(&mut *out, &Document { schema: SCHEMA, kernels })?;
    writeln!(out)
}
