//! Races of loads that nothing depends on are no findings (`machine/racing_reads.rs`).

use std::ops::Range;

use super::{Asked, Ran};
use crate::diagnostic::{Code, Diagnostic};
use crate::launch::{Launch, LaunchError};
use crate::machine::{Extents, Unknown};
use crate::{Kernel, KernelReport, Settings};

impl Kernel<'_> {
    /// Runs the same again with the values unknown of the reads that race. If nothing depends on them, that is the result.
    pub(super) fn forgive_unused_reads(
        &self,
        launch: &Launch,
        settings: &Settings,
        range: Range<u32>,
        extents: &mut Extents,
        report: &mut KernelReport,
    ) -> Result<(), LaunchError> {
        let mut asked = Asked { racing: Some(Box::default()), ..Asked::default() };
        let first = self.run_clusters(launch, settings, range.clone(), extents, &mut asked)?;
        let Some(racing) = asked.racing.as_deref_mut().filter(|racing| racing.may_be_unused()) else {
            return Ok(());
        };
        let steps: Vec<u32> = racing.steps().collect();
        let mut run = |unknown: Unknown| {
            if let Some(racing) = asked.racing.as_deref_mut() {
                racing.unknown = unknown;
            }
            self.run_clusters(launch, settings, range.clone(), extents, &mut asked)
        };
        let Ran { report: mut other, keeps_to_known, .. } = run(Unknown::Racing)?;
        let is_race = |finding: &Diagnostic| finding.code == Code::GlobalMemoryRace;
        let is_same = |other: &KernelReport, keeps_to_known: bool| {
            let rest = report.diagnostics.iter().filter(|finding| !is_race(finding));
            keeps_to_known
                && other.reasons == report.reasons
                && other.assumed == report.assumed
                && rest.eq(&other.diagnostics)
        };
        if !first.keeps_to_known || !is_same(&other, keeps_to_known) {
            return Ok(());
        }
        // What other warps read there has to be of use.
        let Ran { report: of_all, keeps_to_known, .. } = run(Unknown::All)?;
        if !is_same(&of_all, keeps_to_known) {
            let text = &self.unit.source;
            let spans = steps.iter().filter_map(|step| self.program.spans.get(*step as usize));
            let mut lines: Vec<u32> = spans.map(|span| text.position(span.start).line).collect();
            lines.sort_unstable();
            lines.dedup();
            let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
            other.assumed.push(format!(
                "that it does not matter what some warps load at line {}, as nothing depends on it: other warps write \
                 there meanwhile",
                lines.join(", ")
            ));
            *report = other;
        }
        Ok(())
    }
}
