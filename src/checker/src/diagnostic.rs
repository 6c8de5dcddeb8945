//! What a finding is, whoever shows it.

use std::sync::Arc;

use serde::Serialize;
use smallvec::SmallVec;
use strum::{Display, EnumString, IntoStaticStr};

mod code;
mod findings;
pub mod selection;

pub use code::Code;
pub use findings::Omitted;
// For the editor, which asks rules about what is not written yet.
#[doc(hidden)]
pub use findings::Findings;
pub(crate) use findings::Found;

use crate::isa::sections::titled;
use crate::resolve::provenance::Provenance;
use crate::source::Span;

/// How much a finding matters.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString, IntoStaticStr, Serialize,
)]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The rule does not run.
    Off,
    /// Worth knowing.
    Info,
    /// Very likely wrong.
    Warning,
    /// Wrong.
    Error,
}

/// What NVIDIA's assembler does with the same input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, IntoStaticStr, Serialize)]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum Ptxas {
    /// It refuses it.
    Rejects,
    /// It accepts it.
    Silent,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The rule.
    pub code: Code,
    /// How much it matters.
    pub severity: Severity,
    /// What the assembler does.
    pub ptxas: Ptxas,
    /// The violated rule, in the words of the field.
    pub message: String,
    /// The offence: where it is, and what was found there.
    pub primary: Label,
    /// Its causes.
    pub labels: Vec<Label>,
    /// Which documented guarantee is missing, with its section.
    pub note: Option<String>,
    /// What to write instead.
    pub help: Option<String>,
    /// The repair.
    pub fix: Option<Fix>,
    /// What other findings may have in common with it.
    pub(crate) cause: Option<Box<Cause>>,
    /// Where else the same mistake is met: see [`Cause`].
    pub(crate) again: Vec<Span>,
}

/// The mistake that a finding is about, where others may be about the same one. All of them that are not silenced
/// are one finding in the end: the first in the source, with labels at the others. What has a repair stands for
/// itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cause {
    /// Where it was made.
    pub(crate) made: SmallVec<[Span; 2]>,
    /// What is wrong, if more than one thing may be.
    problem: Option<String>,
    /// What is said at the other places.
    again: &'static str,
}

/// A remark on a place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Label {
    /// The place.
    pub span: Span,
    /// The remark.
    pub message: String,
    /// The lines that a compiler made the place from, where it says so and somebody
    /// [asked](crate::Options::locate).
    pub provenance: Option<Arc<Provenance>>,
}

/// A repair.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fix {
    /// Whether it may be applied unasked.
    pub applicability: Applicability,
    /// What it does, as a heading: "Insert `.aligned`".
    pub title: String,
    /// The changes; they do not overlap.
    pub edits: Vec<Edit>,
}

/// Whether a fix keeps the meaning that was certainly intended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, IntoStaticStr, Serialize)]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum Applicability {
    /// There is only one thing that can have been meant.
    Safe,
    /// It changes what the program does, or guesses.
    Unsafe,
}

impl Applicability {
    /// Whether a fix of the other kind may be applied where this one may.
    pub fn includes(self, other: Self) -> bool {
        match other {
            Self::Safe => true,
            Self::Unsafe => self == Self::Unsafe,
        }
    }
}

/// Text to put in place of a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; empty to insert.
    pub span: Span,
    /// By what.
    pub text: String,
}

impl Label {
    /// A remark on a place.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), provenance: None }
    }
}

impl Diagnostic {
    /// A finding of `code` at `span` with the rule's own severity; `label` says what was found.
    // Most of what a rule looks at leads to none: its code is laid out for that.
    #[cold]
    pub fn new(code: Code, span: Span, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            ptxas: code.ptxas(),
            message: message.into(),
            primary: Label::new(span, label),
            labels: Vec::new(),
            note: None,
            help: None,
            fix: None,
            cause: None,
            again: Vec::new(),
        }
    }

    /// Adds a remark on a cause.
    #[must_use]
    pub fn label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label::new(span, message));
        self
    }

    /// Says where the value that is wrong was made. One that is made in many places is left to
    /// the reader.
    #[must_use]
    pub fn origins(mut self, spans: &[Span]) -> Self {
        const MANY: usize = 4;
        if spans.len() <= MANY {
            for (index, span) in spans.iter().enumerate() {
                let message = if index == 0 { "the value is made here" } else { "or here" };
                self = self.label(*span, message);
            }
            if !spans.is_empty() {
                let problem = Some(self.primary.message.clone());
                let cause = Cause { made: spans.into(), problem, again: "the same here" };
                self.cause = Some(Box::new(cause));
            }
        }
        self
    }

    /// Says that whatever this rule finds because of a place is one mistake; `again` is said where it is met again.
    #[must_use]
    pub(crate) fn caused_at(mut self, span: Span, again: &'static str) -> Self {
        self.cause = Some(Box::new(Cause { made: SmallVec::from_slice(&[span]), problem: None, again }));
        self
    }

    /// The places where the mistake is met.
    pub(crate) fn places(&self) -> impl Iterator<Item = Span> + '_ {
        std::iter::once(self.primary.span).chain(self.again.iter().copied())
    }

    /// Names the guarantee that is missing.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(titled(&note.into()).into_owned());
        self
    }

    /// Says what to write instead.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(titled(&help.into()).into_owned());
        self
    }

    /// Offers a repair.
    #[must_use]
    pub fn fix(mut self, fix: Option<Fix>) -> Self {
        self.fix = fix;
        self
    }

    /// Visits every place that the finding names.
    pub(crate) fn for_each_span(&mut self, visit: &mut dyn FnMut(&mut Span)) {
        let Self {
            code: _,
            severity: _,
            ptxas: _,
            message: _,
            primary,
            labels,
            note: _,
            help: _,
            fix,
            cause,
            again,
        } = self;
        visit(&mut primary.span);
        again.iter_mut().for_each(&mut *visit);
        cause.iter_mut().flat_map(|cause| &mut cause.made).for_each(&mut *visit);
        for label in labels {
            visit(&mut label.span);
        }
        fix.iter_mut().flat_map(|fix| &mut fix.edits).for_each(|edit| visit(&mut edit.span));
    }

    /// Lowers how much the finding matters, where one case of a rule is less certain than the others.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Corrects what the assembler does, where one case of a rule differs from the others.
    #[must_use]
    pub fn ptxas(mut self, ptxas: Ptxas) -> Self {
        self.ptxas = ptxas;
        self
    }
}

impl Fix {
    /// A repair by one edit that can be applied unasked.
    pub fn safe(title: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        Self {
            applicability: Applicability::Safe,
            title: title.into(),
            edits: vec![Edit { span, text: text.into() }],
        }
    }

    /// A repair that exchanges two texts and can be applied unasked.
    pub fn swap(title: impl Into<String>, left: (Span, String), right: (Span, String)) -> Self {
        let edits = vec![Edit { span: left.0, text: right.1 }, Edit { span: right.0, text: left.1 }];
        Self { applicability: Applicability::Safe, title: title.into(), edits }
    }

    /// Writes another word of an opcode, with its dot, for one that means the same.
    pub fn word(span: Span, word: &str) -> Self {
        Self::safe(format!("Write `.{word}`"), span, format!(".{word}"))
    }

    /// A repair by one edit that someone has to look at.
    pub fn guess(title: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        Self { applicability: Applicability::Unsafe, ..Self::safe(title, span, text) }
    }
}
