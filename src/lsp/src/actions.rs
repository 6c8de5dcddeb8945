//! What can be done about findings.

use ptx_check::diagnostic::{Applicability, Diagnostic, Edit, Fix};
use ptx_check::source::Span;
use ptx_check::suppression::addition;

use crate::document::LARGE;
use crate::snapshot::Snapshot;
use crate::text::difference;

/// Something to do about a finding.
pub(crate) enum Action<'a> {
    /// Its own repair.
    Fix { diagnostic: &'a Diagnostic, fix: &'a Fix },
    /// A comment that silences it.
    Suppress { diagnostic: &'a Diagnostic, edit: Edit },
    /// Its documentation.
    Explain { diagnostic: &'a Diagnostic },
    /// Every repair that can be applied unasked.
    FixAll { edits: Vec<Edit>, count: usize },
}

/// What can be done about the findings, those of runs among them, that touch `span`, and those at the places of `meant`; and
/// about all at once if that is asked for, which is dearer.
pub(crate) fn actions<'s>(
    snapshot: &'s Snapshot,
    simulated: &[&'s Diagnostic],
    span: Span,
    meant: &[Span],
    wants_fix_all: bool,
) -> Vec<Action<'s>> {
    let here = |it: &&Diagnostic| {
        let place = it.primary.span;
        place.start <= span.end && span.start <= place.end || meant.contains(&place)
    };
    let all = snapshot.diagnostics().iter().chain(simulated.iter().copied());
    let found: Vec<&Diagnostic> = all.filter(here).collect();
    let mut actions = Vec::new();
    for &diagnostic in &found {
        if let Some(fix) = &diagnostic.fix {
            actions.push(Action::Fix { diagnostic, fix });
        }
    }
    if wants_fix_all {
        let (edits, count) = all_safe(snapshot);
        actions.extend((count > 0).then_some(Action::FixAll { edits, count }));
    }
    for &diagnostic in &found {
        let edit = suppression(snapshot, diagnostic);
        actions.extend(edit.map(|edit| Action::Suppress { diagnostic, edit }));
    }
    actions.extend(found.iter().map(|diagnostic| Action::Explain { diagnostic }));
    actions
}

/// What `ptx-tc check --fix` would change, and how many repairs that are. In a large text, only its
/// first round: the others would have to check it again while someone waits.
fn all_safe(snapshot: &Snapshot) -> (Vec<Edit>, usize) {
    let fixes = ptx_fix::choose(snapshot.diagnostics(), snapshot.omitted_fixes(), Applicability::Safe);
    let source = snapshot.document.source();
    let text = source.text();
    if !fixes.is_empty() && text.len() < LARGE {
        let fixed = ptx_fix::fix(source.name(), text.into(), &snapshot.options, Applicability::Safe);
        if let Ok(fixed) = fixed {
            return (vec![difference(text, fixed.source.text())], fixed.applied);
        }
    }
    let mut edits: Vec<Edit> = fixes.iter().flat_map(|fix| fix.edits.iter().cloned()).collect();
    edits.sort_by_key(|edit| edit.span);
    (edits, fixes.len())
}

/// A comment on the line above the finding. One that is there already takes the code in. In another language,
/// the line may stand in a string: there, it is above the statement.
fn suppression(snapshot: &Snapshot, diagnostic: &Diagnostic) -> Option<Edit> {
    if let Some(host) = &snapshot.document.host {
        let edits = addition::edits(&snapshot.document.unit, Some(host), std::slice::from_ref(diagnostic));
        let (name, code) = (diagnostic.code.name(), diagnostic.code.as_str());
        return edits.into_iter().next().map(|edit| Edit { text: edit.text.replace(name, code), ..edit });
    }
    let code = diagnostic.code.as_str();
    let number = snapshot.text.line_of(diagnostic.primary.span.start);
    let line = snapshot.text.line(number);
    let source = snapshot.document.source();
    let opening = "// ptx-tc: allow(";
    if let Some(above) = number.checked_sub(1).map(|above| snapshot.text.line(above)) {
        let text = source.slice(above).trim_end();
        if text.trim_start().starts_with(opening) && text.ends_with(')') {
            let at = above.start + text.len() as u32 - 1;
            return Some(Edit { span: Span::at(at), text: format!(", {code}") });
        }
    }
    let text = source.slice(line);
    let indent = &text[..text.len() - text.trim_start().len()];
    Some(Edit { span: Span::at(line.start), text: format!("{indent}{opening}{code})\n") })
}
