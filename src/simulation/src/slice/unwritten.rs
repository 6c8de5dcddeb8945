//! Results that are made from memory that nothing has written.

use std::ops::Range;

use super::element::index_of;
use super::{Element, Origin, Unwritten};
use crate::diagnostic::{Code, Diagnostic};
use crate::launch::Launch;
use crate::report::verdict;
use crate::source::Span;
use crate::{Kernel, KernelReport, Output, Settings};

impl Kernel<'_> {
    /// Adds a finding where a result is made from memory that nothing has written. One element of each file is looked
    /// at: the first that something was stored to that is not known.
    pub(crate) fn find_unwritten(
        &self,
        launch: &Launch,
        settings: &Settings,
        clusters: &Range<u32>,
        report: &mut KernelReport,
    ) {
        for out in &launch.outs {
            let is_it = |it: &&Output| (it.argument, it.field) == (out.argument, out.field);
            // What nothing was stored to is unknown, too: this is about what was stored.
            let Some((_, first)) = report.outputs.iter().find(is_it).and_then(|it| it.lost) else { continue };
            let bytes = out.form.dtype.bytes;
            let offset = first / bytes as u64 * bytes as u64;
            let (argument, field) = (out.argument, out.field);
            let element = Element { argument, field, offset, bytes: bytes as u32 };
            let Ok(origin) = self.explain(launch, settings, clusters.clone(), element) else { continue };
            let Some((span, unwritten)) = origin.first_unwritten() else { continue };
            let (code, what) = match unwritten {
                Unwritten::Shared => (Code::SharedMemoryUninitialized, "shared memory"),
                Unwritten::Tensor => (Code::TensorMemoryUninitialized, "Tensor Memory"),
            };
            if report.diagnostics.iter().any(|known| known.code == code) {
                continue;
            }
            let index: Vec<String> =
                index_of(&out.form.shape, offset / bytes as u64).iter().map(u64::to_string).collect();
            let name = format!("{}[{}]", out.name, index.join(", "));
            let message = format!("a result is made from {what} that nothing wrote");
            let finding =
                Diagnostic::new(code, span, message, format!("`{name}` is made from what this reads"));
            report.diagnostics.push(finding.note(format!("`--explain '{name}'` shows how")));
            report.verdict = verdict(&report.diagnostics, &report.reasons);
        }
    }
}

impl Origin {
    /// The first instruction that read what nothing had written.
    fn first_unwritten(&self) -> Option<(Span, Unwritten)> {
        self.from.iter().find_map(|from| match (self.span, from.unwritten) {
            (Some(span), Some(unwritten)) => Some((span, unwritten)),
            _ => from.first_unwritten(),
        })
    }
}
