//! Clusters that have nothing to do with each other run side by side.
//!
//! After the first cluster, each thread runs some of the others in a copy of global memory, and notes which bytes they read
//! and write. If no part has written what another one has read or written, they were independent: the result is what it
//! is one after the other, and the copies are put together. Otherwise they run again, one after the other.

use std::ops::Range;

use super::{Grid, Next};
use crate::launch::LaunchError;
use crate::machine::{Between, Bytes, Common, Extents, Global, Touched};
use crate::run::Run;
use crate::syntax::threads;
use crate::{Checks, Keeps, Kernel, Settings};

/// Parts for each thread: they do not take equally long.
const PARTS: usize = 4;
/// Fewer clusters are not worth it.
const FEWEST: usize = 4;
/// The reports of more clusters are not kept until all of them have ended.
const MOST: usize = 1 << 16;

/// What became of some clusters.
struct Part {
    runs: Vec<(u32, Run)>,
    global: Global,
    touched: Touched,
}

impl Grid<'_, '_> {
    /// Whether the clusters that have not started may be independent, when the first has ended.
    fn may_be_independent(&self, first: u32) -> bool {
        let has_waited = !self.waiting.is_empty();
        // A release is meant for other clusters.
        let talks = self.common.between.as_ref().is_none_or(|between| between.talks());
        !has_waited && !talks && self.common.next_cluster == first + 1
    }

    /// Runs the clusters that are left side by side, if the first one does not speak against it and they do not get into
    /// each other's way. Nothing has changed if they do.
    pub(super) fn run_side_by_side(
        &mut self,
        end: u32,
        extents: &Extents,
        parameters: &Bytes,
    ) -> Result<(), LaunchError> {
        let first = self.common.next_cluster;
        if let Some(next) = self.next(end) {
            self.advance(&next, extents, parameters)?;
        }
        let rest = self.common.next_cluster..end;
        if rest.len() < FEWEST || !self.may_be_independent(first) {
            return Ok(());
        }
        let parts = (threads::count() * PARTS).min(rest.len());
        let bound = |part: usize| rest.start + (rest.len() * part / parts) as u32;
        let ranges: Vec<Range<u32>> = (0..parts).map(|part| bound(part)..bound(part + 1)).collect();
        let left = self.left.div_ceil(parts as u64).saturating_mul(2).min(self.left);
        let (kernel, launch, settings, global) =
            (self.kernel, self.launch, self.settings, &self.common.global);
        let fits = self.fits;
        let done = threads::map(ranges, |range| {
            let common = Common {
                global: global.clone(),
                next_cluster: range.start,
                between: Some(Box::new(Between::noting())),
                trace: None,
                racing: None,
            };
            let mut grid = Grid::new(kernel, launch, &settings, common, fits);
            (grid.left, grid.is_whole, grid.kept) = (left, false, Some(Vec::new()));
            while let Some(next) = grid.next(range.end) {
                if matches!(next, Next::Hang | Next::Limit(..)) {
                    return None;
                }
                grid.advance(&next, extents, parameters).ok()?;
            }
            // Its share may have ended the last one, which has more when it runs after the others.
            if grid.left == 0 {
                return None;
            }
            let Grid { common, kept, .. } = grid;
            let touched = common.between.and_then(|mut between| between.take_touched())?;
            Some(Part { runs: kept?, global: common.global, touched })
        });
        let Some(done) = done.into_iter().collect::<Option<Vec<Part>>>() else { return Ok(()) };
        let own = self.common.between.as_mut().and_then(|between| between.take_touched());
        let mut all = own.unwrap_or_default();
        let mut parts = Vec::with_capacity(done.len());
        for Part { runs, global, touched } in done {
            if all.conflicts(&touched) {
                return Ok(());
            }
            all.join(touched);
            parts.push((runs, global));
        }
        let executed: u64 =
            parts.iter().flat_map(|(runs, _)| runs).map(|(_, run)| run.report.warp_instructions).sum();
        if executed > self.left {
            return Ok(());
        }
        let before = self.common.global.clone();
        for (runs, global) in parts {
            self.common.global.take_changes(&before, global);
            for (index, run) in runs {
                self.left -= run.report.warp_instructions;
                self.add_run(run, index);
            }
        }
        self.common.next_cluster = end;
        Ok(())
    }
}

impl Kernel<'_> {
    /// Whether clusters may run side by side.
    pub(super) fn may_run_side_by_side(&self, settings: &Settings, range: &Range<u32>) -> bool {
        (FEWEST + 1..MOST).contains(&range.len())
            && threads::are_free()
            && !settings.records
            && settings.keeps != Keeps::State
            && settings.until.is_none()
            // What is not compared is not noted.
            && settings.checks == Checks::All
            && !self.program.takes_over_clusters()
    }
}
