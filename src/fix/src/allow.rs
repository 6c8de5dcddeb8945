//! Silencing all that is found in a text, so that from now on only what is new is seen.

use ptx_check::Document;
use ptx_check::diagnostic::{Diagnostic, Edit};
use ptx_check::source::{Source, SourceError};
use ptx_check::suppression::addition::{self, is_excusable};
use ptx_check::{Options, Report};

use crate::changes::{self, Change};
use crate::edit;

/// A comment moves what stands below it, which may change what a line above it is about; this is enough
/// to come to rest.
const MAX_ROUNDS: usize = 8;

/// A text after comments were added.
#[derive(Debug)]
pub struct Allowed {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What differs from the text before, in its order.
    pub changes: Vec<Change>,
    /// How many findings are silent by now.
    pub silenced: usize,
    /// The text.
    pub source: Source,
    /// What is still found in it.
    pub report: Report,
}

/// Adds comments to a text after which nothing is found in it but what has to be repaired: what does
/// not parse, and comments that silence nothing.
///
/// ```
/// use ptx_check::Options;
/// use ptx_fix::allow::allow;
///
/// let text = ".version 9.0\n.target sm_100a\n.entry k() {\n  tcgen05.wait::ld;\n}\n";
/// let after = allow("kernel.ptx", text.into(), &Options::default())?;
/// assert!(after.source.text().contains("tcgen05.wait::ld; // ptx-tc: allow(missing-qualifier)\n"));
/// assert!(after.report.diagnostics.is_empty());
/// # Ok::<(), ptx_check::source::SourceError>(())
/// ```
///
/// # Errors
/// When the bytes, or what they become, cannot be a [`Source`].
pub fn allow(name: &str, bytes: Vec<u8>, options: &Options) -> Result<Allowed, SourceError> {
    // What is too much to be shown is silenced all the same.
    let all = Options { max_findings: None, ..options.clone() };
    let mut text = Text::new(name, bytes, &all)?;
    let before = text.excusable();
    let mut changes = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let edits = text.additions();
        if edits.is_empty() {
            break;
        }
        let edited = edit(&text.bytes, &edits);
        let next = Text::new(name, edited.bytes, &all)?;
        // A comment that helps nobody is not worth writing.
        if next.report.diagnostics.len() >= text.report.diagnostics.len() {
            break;
        }
        text = next;
        changes = changes::followed_by(changes, edited.changes);
    }
    let silenced = before.saturating_sub(text.excusable());
    let Text { bytes, document, report } = text;
    let is_too_long = options.max_findings.is_some_and(|limit| limit > 0 && report.diagnostics.len() > limit);
    let report = if is_too_long { document.check(options, &|| false).unwrap_or_default() } else { report };
    Ok(Allowed { bytes, changes, silenced, source: document.source().clone(), report })
}

/// A text and what is found in it.
struct Text {
    bytes: Vec<u8>,
    document: Document,
    report: Report,
}

impl Text {
    fn new(name: &str, bytes: Vec<u8>, options: &Options) -> Result<Self, SourceError> {
        let document = Document::new(&Source::from_bytes(name, bytes.clone())?);
        let report = document.check(options, &|| false).unwrap_or_default();
        Ok(Self { bytes, document, report })
    }

    fn additions(&self) -> Vec<Edit> {
        addition::edits(&self.document.unit, self.document.host.as_ref(), &self.report.diagnostics)
    }

    fn excusable(&self) -> usize {
        let is_excusable = |finding: &&Diagnostic| is_excusable(finding.code);
        self.report.diagnostics.iter().filter(is_excusable).count()
    }
}
