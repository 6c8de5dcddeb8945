//! What became of kernels that were run: findings in their source, and a verdict for each.

use std::borrow::Cow;
use std::io::{self, Write};

use ptx_check::diagnostic::Omitted;
use ptx_check::source::{Source, Span};
use ptx_check::words::{demangled, plural};
use ptx_simulation::array::OutFile;
use ptx_simulation::{KernelReport, Output, Printed, Verdict};
use serde::Serialize;

use crate::json::{self, Finding, OmittedFindings, Place, finding};
use crate::origin::{Explained, ExplainedDocument};
use crate::{Checked, Reader, human, timeline};

/// A file with the kernels of it that were run.
#[derive(Debug)]
pub struct SimulatedFile {
    /// The PTX, and the sources that it was compiled from. Its report is empty: the kernels have the findings.
    pub checked: Checked,
    /// The kernels, in the order of the file.
    pub kernels: Vec<Simulated>,
}

/// What people want to see of runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// Whether to write with colours.
    pub color: bool,
    /// How to draw what happened, if that is wanted.
    pub picture: Option<timeline::Look>,
    /// How many findings of one rule in one kernel are shown at most; 0 shows all.
    pub most: usize,
    /// Whether nothing is said of kernels that are clean.
    pub is_quiet: bool,
    /// Whether kernels are named with their files, and a line of totals is written.
    pub has_totals: bool,
    /// Files that could not be run, for the totals.
    pub failed: usize,
    /// Who reads it.
    pub reader: Reader,
}

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
    /// Findings that are not among those of the report, because there are too many: see [`limit`].
    pub omitted: Vec<Omitted>,
}

impl Simulated {
    /// A kernel that was run for so many seconds, with the files that it wrote.
    pub fn new(report: KernelReport, written: Vec<Written>, seconds: f64) -> Self {
        Self { report, written, explained: None, seconds, omitted: Vec::new() }
    }
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
    /// The file that it is in.
    path: &'a str,
    verdict: Verdict,
    reasons: Vec<ReasonDocument<'a>>,
    assumed: &'a [String],
    diagnostics: Vec<Finding<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    omitted: Vec<OmittedFindings>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    printed: Vec<PrintedDocument<'a>>,
    /// Calls that are not among these.
    #[serde(skip_serializing_if = "is_zero")]
    unprinted: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outputs: Vec<OutputDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<ExplainedDocument<'a>>,
    statistics: Statistics,
}

/// What a thread printed by one call.
#[derive(Serialize)]
struct PrintedDocument<'a> {
    text: &'a str,
    cta: [u32; 3],
    thread: [u32; 3],
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<Place>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde wants it")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
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
/// Copies of a finding are shown once: see `pairs`.
///
/// # Errors
/// When `out` cannot be written to.
pub fn human(files: &mut [SimulatedFile], look: Look, out: &mut dyn Write) -> io::Result<()> {
    for file in &mut *files {
        let SimulatedFile { checked, kernels } = file;
        let prefix = if look.has_totals { format!("{}: ", checked.source.name()) } else { String::new() };
        for kernel in &*kernels {
            if !(look.is_quiet && kernel.report.verdict == Verdict::Clean) {
                human_kernel(checked, kernel, &prefix, look, out)?;
            }
        }
        checked.report.diagnostics.clear();
    }
    if look.has_totals { writeln!(out, "{}", totals(files, look.failed)) } else { Ok(()) }
}

/// The verdicts of several files, in a line.
fn totals(files: &[SimulatedFile], failed: usize) -> String {
    let verdicts = || files.iter().flat_map(|file| &file.kernels).map(|it| it.report.verdict);
    let counts = [
        (Verdict::Findings, "with findings"),
        (Verdict::Incomplete, "incomplete"),
        (Verdict::Clean, "clean"),
    ];
    let counts = counts.map(|(verdict, words)| (verdicts().filter(|it| *it == verdict).count(), words));
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    let kernels = plural(verdicts().count(), "kernel");
    let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
    let failed = if failed > 0 {
        format!("; {} could not be simulated", plural(failed, "file"))
    } else {
        String::new()
    };
    format!("{} simulated, {kernels}{counts}{failed}", plural(files.len(), "file"))
}

fn human_kernel(
    checked: &mut Checked,
    Simulated { report, written, explained, seconds, .. }: &Simulated,
    prefix: &str,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    checked.report.diagnostics.clone_from(&report.diagnostics);
    let different = human::findings(checked, (look.most, look.reader), look.color, out)?;
    let verdict = match report.verdict {
        Verdict::Clean => "clean".to_owned(),
        Verdict::Incomplete => "incomplete".to_owned(),
        Verdict::Findings => plural(different, "finding"),
    };
    let alike = match report.diagnostics.len() - different {
        0 => String::new(),
        more => format!(" and {more} more like {}", if different == 1 { "it" } else { "them" }),
    };
    let clusters =
        if report.clusters > 1 { format!("{} clusters, ", report.clusters) } else { String::new() };
    writeln!(
        out,
        "{prefix}{}: {verdict}{alike} ({clusters}{} warp instructions, {seconds:.2} s)",
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
    print(report, look.reader, out)?;
    for assumed in &report.assumed {
        writeln!(out, "  assumed: {assumed}")?;
    }
    for written in written {
        writeln!(out, "  wrote: {}", written.sentence(&checked.source))?;
    }
    if let Some(explained) = explained {
        explained.human(&checked.source, out)?;
    }
    if let (Some(look), Some(record)) = (look.picture, &report.record) {
        writeln!(out)?;
        timeline::render(&checked.source, record, look, out)?;
    }
    Ok(())
}

/// Writes what threads printed, the first lines of it.
fn print(report: &KernelReport, reader: Reader, out: &mut dyn Write) -> io::Result<()> {
    /// More lines are for programs.
    const MOST_LINES: usize = 50;
    if report.printed.is_empty() {
        return Ok(());
    }
    writeln!(out, "  printed:")?;
    let all: String = report.printed.iter().map(|it| it.text.as_str()).collect();
    // All threads of a warp often print the same.
    let lines: Vec<&str> = all.lines().collect();
    let lines: Vec<&[&str]> = lines.chunk_by(|one, next| one == next).collect();
    for same in lines.iter().take(MOST_LINES) {
        // A terminal must not obey what a kernel prints.
        let safe = |c: char| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c };
        let line: String = same[0].chars().map(safe).collect();
        let times = if same.len() > 1 { format!(" ({} times)", same.len()) } else { String::new() };
        writeln!(out, "    {line}{times}")?;
    }
    match lines.iter().skip(MOST_LINES).map(|same| same.len()).sum::<usize>() {
        0 => {}
        1 => writeln!(out, "    and 1 more line: {} has it", reader.printed())?,
        lines => writeln!(out, "    and {lines} more lines: {} has them", reader.printed())?,
    }
    match report.unprinted {
        0 => Ok(()),
        1 => writeln!(out, "    and 1 more call of `printf`"),
        calls => writeln!(out, "    and {calls} more calls of `printf`"),
    }
}

/// Leaves `most` findings of each rule in each kernel for programs to see; 0 leaves all. The others are counted.
pub fn limit(files: &mut [SimulatedFile], most: usize) {
    for kernel in files.iter_mut().flat_map(|file| &mut file.kernels) {
        let report = &mut kernel.report;
        kernel.omitted = human::limit(&mut report.diagnostics, most, |it| it);
    }
}

/// Writes one document for programs.
///
/// # Errors
/// When `out` cannot be written to.
pub fn json(files: &[SimulatedFile], out: &mut dyn Write) -> io::Result<()> {
    let all = files.iter().flat_map(|file| file.kernels.iter().map(|kernel| (&file.checked, kernel)));
    let kernels = all
        .map(|(checked, Simulated { report, written, explained, seconds, omitted })| KernelDocument {
            kernel: &report.kernel,
            name: demangled(&report.kernel),
            path: checked.source.name(),
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
            omitted: json::omitted(omitted),
            printed: report
                .printed
                .iter()
                .map(|Printed { text, span, cta, thread }| PrintedDocument {
                    text,
                    cta: *cta,
                    thread: *thread,
                    span: span.map(|span| Place::new(&checked.source, span)),
                })
                .collect(),
            unprinted: report.unprinted,
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
