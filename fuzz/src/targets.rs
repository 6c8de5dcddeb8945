//! The promises.

use fastrand::Rng;
use ptx_check::diagnostic::selection::{Layer, RuleSettings, Selector};
use ptx_check::diagnostic::{Diagnostic, Severity};
use ptx_check::isa::targets::{PtxVersion, Target};
use ptx_check::rules::RULES;
use ptx_check::{Options, Report, Source, check};

pub(crate) mod again;
pub(crate) mod check;
pub(crate) mod descriptors;
pub(crate) mod fix;
pub(crate) mod format;
pub(crate) mod host;
pub(crate) mod lsp;
pub(crate) mod simulate;

/// That findings lie in the text, and now and then that a second check says the same.
fn is_sound(random: &mut Rng, source: &Source, options: &Options, report: &Report) -> Result<(), String> {
    lie_within(source.text(), &report.diagnostics)?;
    if random.u8(..) < 32 {
        let again = check(source, options);
        if let Some(difference) = difference(&report.diagnostics, &again.diagnostics) {
            return Err(format!("the second check of the same text: {difference}"));
        }
    }
    Ok(())
}

/// What a user may ask for; mostly nothing.
fn options(random: &mut Rng) -> Options {
    const TARGETS: &[&str] =
        &["sm_100a", "sm_103a", "sm_107a", "sm_110a", "sm_100f", "sm_107f", "sm_90a", "sm_120a", "sm_100"];
    const VERSIONS: &[(u8, u8)] = &[(8, 6), (8, 8), (9, 0), (9, 2), (9, 4)];
    let mut options = Options { describe: random.bool(), ..Options::default() };
    if random.u8(..) < 64 {
        let named = (0..random.u32(1..4)).filter_map(|_| random.choice(TARGETS)?.parse::<Target>().ok());
        options.targets = named.collect();
    }
    if random.u8(..) < 64 {
        options.ptx_version = random.choice(VERSIONS).map(|(major, minor)| PtxVersion::new(*major, *minor));
    }
    if random.u8(..) < 64 {
        // Also what is off by default.
        let severity = RULES.iter().map(|rule| (Selector::Rule(rule.code), Severity::Warning)).collect();
        options.rules = RuleSettings::default().with(&Layer { severity, ..Layer::default() });
    }
    if random.u8(..) < 24 {
        options.analysis_budget = Some(random.u64(..2000));
    }
    options
}

/// Fails unless the findings lie in the text, one behind the other.
fn lie_within(text: &str, findings: &[Diagnostic]) -> Result<(), String> {
    let mut last = None;
    for finding in findings {
        let labels = finding.labels.iter().map(|label| label.span);
        let edits = finding.fix.iter().flat_map(|fix| &fix.edits).map(|edit| edit.span);
        for span in std::iter::once(finding.primary.span).chain(labels).chain(edits) {
            if span.start > span.end || text.get(span.range()).is_none() {
                return Err(format!("{} has a place that is none in the text: {span:?}", finding.code));
            }
        }
        if last > Some(finding.primary.span) {
            return Err(format!("{} at {:?} stands behind {last:?}", finding.code, finding.primary.span));
        }
        last = Some(finding.primary.span);
        let mut edits: Vec<_> = finding.fix.iter().flat_map(|fix| &fix.edits).map(|edit| edit.span).collect();
        edits.sort_unstable();
        if edits.windows(2).any(|pair| pair[0].end > pair[1].start) {
            return Err(format!("the edits of a fix of {} overlap: {edits:?}", finding.code));
        }
        if finding.message.is_empty() || finding.severity == Severity::Off {
            return Err(format!("{} says nothing", finding.code));
        }
    }
    Ok(())
}

/// The first difference between two lists of findings, in words.
fn difference(one: &[Diagnostic], other: &[Diagnostic]) -> Option<String> {
    if one == other {
        return None;
    }
    let at =
        one.iter().zip(other).position(|(one, other)| one != other).unwrap_or(one.len().min(other.len()));
    Some(format!(
        "{} and {} findings; the first that differs: {:?} and {:?}",
        one.len(),
        other.len(),
        one.get(at),
        other.get(at)
    ))
}

/// The number of syntax errors of a text.
fn syntax_errors(source: &Source) -> usize {
    ptx_check::syntax::parser::parse(source).errors.len()
}
