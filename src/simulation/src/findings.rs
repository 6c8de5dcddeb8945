//! What the machine finds.

use std::borrow::Cow;

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// Why a finding may be due to what is assumed of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// An address is computed from assumed values.
    Address,
    /// Different assumed values choose the paths of the warps.
    Paths,
    /// Assumed values give the number of arrivals or bytes, or the receivers.
    Count,
    /// Assumed values say whether a multiply adds to its accumulator.
    Addition,
    /// It is between CTAs, and the shape of the cluster is assumed.
    Cluster,
    /// It is at the bytes of a tensor store whose map is assumed, and warps whose paths differ write them.
    Extent,
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Address => "its address is computed from an assumed value",
            Self::Paths => "different assumed values choose the paths of the warps that take part",
            Self::Count => "an assumed value gives a number of arrivals, bytes or stages, or the receivers",
            Self::Addition => "an assumed value says whether the multiply adds to its accumulator",
            Self::Cluster => "the shape of the cluster is assumed",
            Self::Extent => "the number of bytes that the tensor copy stores is assumed",
        })
    }
}

/// A phase of an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Awaited {
    pub(crate) cta: u32,
    pub(crate) offset: u32,
    pub(crate) phase: u64,
}

/// A finding, its places being steps of the program.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) code: Code,
    pub(crate) step: u32,
    pub(crate) message: String,
    pub(crate) remark: String,
    /// Of several things that may be wrong in one place: which.
    pub(crate) which: u32,
    /// The bytes of shared memory that it is about: what is about some of the same is due to the same.
    pub(crate) bytes: Option<(u32, u32)>,
    pub(crate) labels: Vec<(u32, String)>,
    pub(crate) note: Option<String>,
    /// What to write.
    pub(crate) help: Option<Cow<'static, str>>,
    /// Why it may be due to what is assumed.
    pub(crate) doubt: Option<Doubt>,
    /// The mbarrier whose phase all remaining warps wait for in the end, if every warp whose path depends on an assumed value
    /// waits for one.
    pub(crate) awaited: Option<Awaited>,
    /// Whether it is why others are found: where a phase of an mbarrier counts wrongly, those who trust in it
    /// race.
    pub(crate) is_cause: bool,
}

/// Puts the causes first, each with what belongs to it. The others follow from them, although they may come
/// earlier in a run.
pub(crate) fn causes_first<T>(findings: Vec<Finding>, with: Vec<T>) -> (Vec<Finding>, Vec<T>) {
    let (causes, others): (Vec<_>, Vec<_>) =
        findings.into_iter().zip(with).partition(|(finding, _)| finding.is_cause);
    causes.into_iter().chain(others).unzip()
}

impl Finding {
    pub(crate) fn new(code: Code, step: u32, message: impl Into<String>, remark: impl Into<String>) -> Self {
        let (message, remark) = (message.into(), remark.into());
        Self {
            code,
            step,
            message,
            remark,
            which: 0,
            bytes: None,
            labels: Vec::new(),
            note: None,
            help: None,
            doubt: None,
            awaited: None,
            is_cause: false,
        }
    }

    #[must_use]
    pub(crate) fn about(mut self, bytes: Option<(u32, u32)>) -> Self {
        self.bytes = bytes;
        self
    }

    #[must_use]
    pub(crate) fn which(mut self, which: u32) -> Self {
        self.which = which;
        self
    }

    #[must_use]
    pub(crate) fn cause(mut self) -> Self {
        self.is_cause = true;
        self
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

    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<Cow<'static, str>>) -> Self {
        self.help = Some(help.into());
        self
    }

    #[must_use]
    pub(crate) fn awaiting(mut self, awaited: Option<Awaited>) -> Self {
        self.awaited = awaited;
        self
    }

    #[must_use]
    pub(crate) fn doubted(mut self, doubt: Option<Doubt>) -> Self {
        self.doubt = doubt;
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
        if let Some(help) = self.help {
            diagnostic = diagnostic.help(help);
        }
        diagnostic
    }
}
