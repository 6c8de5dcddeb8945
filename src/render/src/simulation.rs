//! What became of kernels that were run: findings in their source, and a verdict for each.

use std::borrow::Cow;
use std::io::{self, Write};

use ptx_check::words::{demangled, plural};
use ptx_simulation::{KernelReport, Verdict};
use serde::Serialize;

use crate::json::{Finding, Place, finding};
use crate::{Checked, human, timeline};

/// A kernel that was run.
#[derive(Debug)]
pub struct Simulated {
    /// What is known of it.
    pub report: KernelReport,
    /// How long that took.
    pub seconds: f64,
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
    statistics: Statistics,
}

#[derive(Serialize)]
struct ReasonDocument<'a> {
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<Place>,
}

#[derive(Serialize)]
struct Statistics {
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
    for Simulated { report, seconds } in simulated {
        checked.report.diagnostics.clone_from(&report.diagnostics);
        human::findings(std::slice::from_ref(&checked), color, out)?;
        let verdict = match report.verdict {
            Verdict::Clean => "clean".to_owned(),
            Verdict::Incomplete => "incomplete".to_owned(),
            Verdict::Findings => plural(report.diagnostics.len(), "finding"),
        };
        writeln!(
            out,
            "{}: {verdict} ({} warp instructions, {seconds:.2} s)",
            demangled(&report.kernel),
            report.warp_instructions
        )?;
        for reason in &report.reasons {
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
        }
        for assumed in &report.assumed {
            writeln!(out, "  assumed: {assumed}")?;
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
        .map(|Simulated { report, seconds }| KernelDocument {
            kernel: &report.kernel,
            name: demangled(&report.kernel),
            verdict: report.verdict,
            reasons: report
                .reasons
                .iter()
                .map(|reason| ReasonDocument {
                    message: &reason.text,
                    span: reason.span.map(|span| Place::new(&checked.source, span)),
                })
                .collect(),
            assumed: &report.assumed,
            diagnostics: report.diagnostics.iter().map(|it| finding(checked, it)).collect(),
            statistics: Statistics {
                warp_instructions: report.warp_instructions,
                asynchronous_operations: report.operations,
                seconds: *seconds,
            },
        })
        .collect();
    serde_json::to_writer_pretty(&mut *out, &Document { schema: SCHEMA, kernels })?;
    writeln!(out)
}
