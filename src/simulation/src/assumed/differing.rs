//! Launches in which one value is smaller than the others.
//!
//! An assumed launch has one number for all values of the parameters, as values that different warps read have to agree. A
//! warp that does a part of its work after every so many steps has a single part then: what goes wrong with the second part
//! does not show. So if nothing is found, each value that chooses paths is small in turn. Values may have to agree, so that
//! not every such launch exists. Two launches have to show a race, and in these the same values choose the paths of all
//! warps that take part; or all launches have to show it, those with equal values included.

use std::collections::BTreeSet;

use super::generator::Open;
use super::hypothesis::Assumption;
use super::judgement;
use crate::launch::{LaunchError, LaunchShape};
use crate::machine::Extents;
use crate::report::TriedLaunch;
use crate::run::Run;
use crate::{Kernel, KernelReport, Settings};

/// The launches, how much smaller their numbers are, and the number that the one value gets.
/// Steps are often of 128, 64 or 32 elements: a value that counts them agrees with another one in one of these.
const TRIED: [(usize, u64, u64); 3] = [(1, 1, 2), (2, 2, 3), (3, 1, 4)];
/// Values that are tried: three launches each, as many as 18, within a third of the budget.
const MOST_WORDS: usize = 6;
/// Which part of the budget a launch has.
const PART: u64 = 64;

impl Kernel<'_> {
    /// Adds what such launches show to what is known of a kernel that seems to be sound.
    pub(super) fn try_unlike_numbers(
        &self,
        (shape, is_open): (&LaunchShape, Open),
        settings: &Settings,
        (leading, doubted): (&BTreeSet<u64>, &[judgement::Key]),
        report: &mut KernelReport,
        tried: &mut Vec<TriedLaunch>,
    ) -> Result<(), LaunchError> {
        if leading.len() < 2 {
            return Ok(());
        }
        let settings = Settings { budget: settings.budget / PART, records: false, ..*settings };
        let mut runs: Vec<(u64, Run)> = Vec::new();
        let mut extents = Extents::new();
        for word in leading.iter().take(MOST_WORDS) {
            for (set, smaller, few) in TRIED {
                let launch = self.assumed_launch(shape, (set, smaller))?;
                let mut assumption = Assumption::of(set, smaller);
                assumption.other = Some((*word, few));
                assumption.assumes_cluster = self.assumes_cluster(is_open);
                let run = self.run(&launch.checked()?, &settings, Some(assumption), &mut extents)?;
                report.warp_instructions += run.report.warp_instructions;
                report.operations += run.report.operations;
                if !run.traps && (run.is_exhausted || run.report.reasons.is_empty()) {
                    runs.push((*word, run));
                }
            }
        }
        let before = tried.len();
        tried.extend(self.tried(runs.iter().map(|(_, run)| run)));
        judgement::add_races(report, &runs, doubted, &tried[before..], before);
        Ok(())
    }
}
