//! The same kernel under many schedules.

use std::ops::Range;

use super::launch::LaunchError;
use super::report::{is_same, verdict};
use super::{KernelReport, Schedule};
use crate::syntax::threads;

/// Runs a kernel under the random schedules of some seeds: what any of them shows is reported, and
/// under how many it shows if that are not all.
///
/// # Errors
/// When a run cannot be, or there is none.
pub fn under_seeds(
    seeds: Range<u64>,
    run: impl Fn(Schedule) -> Result<KernelReport, LaunchError> + Sync,
) -> Result<KernelReport, LaunchError> {
    // What buffers hold in the end is kept of the first.
    let first = seeds.start;
    let one = |seed: u64| {
        let mut report = run(Schedule::Random(seed))?;
        if seed != first {
            report.outputs.clear();
            report.memory = None;
            report.states.clear();
        }
        Ok(report)
    };
    let reports = threads::map(seeds.clone().collect(), one);
    let reports: Result<Vec<KernelReport>, LaunchError> = reports.into_iter().collect();
    let count = seeds.end.saturating_sub(seeds.start);
    let mut reports = seeds.zip(reports?);
    let Some((first, mut all)) = reports.next() else { return Err(LaunchError("no run".to_owned())) };
    // By finding: the first seed, and how many showed it.
    let mut shown: Vec<(u64, u64)> = vec![(first, 1); all.diagnostics.len()];
    for (seed, report) in reports {
        all.warp_instructions += report.warp_instructions;
        all.operations += report.operations;
        let mut counted = vec![false; shown.len()];
        for finding in report.diagnostics {
            let known = all.diagnostics.iter().position(|known| is_same(known, &finding));
            match known {
                Some(at) if counted.get(at) == Some(&false) => {
                    counted[at] = true;
                    shown[at].1 += 1;
                }
                Some(_) => {}
                None => {
                    all.diagnostics.push(finding);
                    shown.push((seed, 1));
                    counted.push(true);
                }
            }
        }
        for reason in report.reasons {
            if !all.reasons.contains(&reason) {
                all.reasons.push(reason);
            }
        }
        for assumed in report.assumed {
            if !all.assumed.contains(&assumed) {
                all.assumed.push(assumed);
            }
        }
    }
    let noted = all.diagnostics.into_iter().zip(shown).map(|(mut finding, (seed, times))| {
        if times == count {
            return finding;
        }
        let when = format!("this shows under {times} of {count} schedules, first with `--seed {seed}`");
        let note = finding.note.take().map_or(when.clone(), |note| format!("{note}; {when}"));
        finding.note(note)
    });
    all.diagnostics = noted.collect();
    all.verdict = verdict(&all.diagnostics, &all.reasons);
    Ok(all)
}
