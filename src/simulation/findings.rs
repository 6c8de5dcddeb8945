//! What the machine finds.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// A finding, its places being steps of the program.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) code: Code,
    pub(crate) step: u32,
    pub(crate) message: String,
    pub(crate) remark: String,
    pub(crate) labels: Vec<(u32, String)>,
    pub(crate) note: Option<String>,
}

impl Finding {
    pub(crate) fn new(code: Code, step: u32, message: impl Into<String>, remark: impl Into<String>) -> Self {
        Self { code, step, message: message.into(), remark: remark.into(), labels: Vec::new(), note: None }
    }

    #[must_use]
    pub(crate) fn label(mut self, step: u32, remark: impl Into<String>) -> Self {
        self.labels.push((step, remark.into()));
        self
    }

    #[must_use]
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// As people see it.
    pub(crate) fn diagnostic(self, spans: &[Span]) -> Diagnostic {
        let span = |step: u32| spans.get(step as usize).copied().unwrap_or(Span::new(0, 0));
        let mut diagnostic = Diagnostic::new(self.code, span(self.step), self.message, self.remark);
        for (step, remark) in self.labels {
            diagnostic = diagnostic.label(span(step), remark);
        }
        if let Some(note) = self.note {
            diagnostic = diagnostic.note(note);
        }
        diagnostic
    }
}
