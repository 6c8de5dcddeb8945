//! The launches that are tried.

use std::collections::BTreeSet;

use super::hypothesis::{Assumption, FEW_PARTS, MANY_CLUSTERS, MOST_SETS};
use super::judgement;
use crate::launch::{Directives, Launch, LaunchError, LaunchShape, MOST_SHARED};
use crate::machine::{Contradiction, Extents};
use crate::program::{self, Action};
use crate::report::{Reason, TriedLaunch, verdict};
use crate::run::{Run, clusters};
use crate::{Kernel, KernelReport, Settings, Verdict};

/// What a launch that is assumed leaves open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) grid: bool,
    pub(super) cluster: bool,
}

/// How large the grid of an assumed launch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grid {
    /// One cluster, or a few where clusters take over the work of others.
    One,
    /// So that each has a few of as many parts as the numbers are.
    Few,
    /// So that each has one at most.
    Many,
}

/// What is tried of a set of what is assumed.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    grid: Grid,
    /// How much smaller numbers are.
    smaller: u64,
    /// Which part of the budget is for it.
    part: u64,
}

/// What is taken for granted where one cluster of a grid runs.
const OTHER_CLUSTERS: &str = "that the clusters of the grid that do not run do nothing";

/// From the best to the last. The first one shows most: all iterations of one cluster. An eighth of the budget each leaves
/// room for six launches and what differs. The last one has the whole budget, as nothing smaller is left to try.
const TRIED: [Attempt; 5] = [
    Attempt { grid: Grid::One, smaller: 1, part: 8 },
    Attempt { grid: Grid::Few, smaller: 8, part: 8 },
    Attempt { grid: Grid::Many, smaller: 1, part: 4 },
    Attempt { grid: Grid::Many, smaller: 8, part: 4 },
    Attempt { grid: Grid::Many, smaller: 64, part: 1 },
];

/// What became of the attempts of earlier sets.
#[derive(Clone, Debug, Default)]
struct Attempts {
    /// The attempt that ended within its budget.
    ended: usize,
    /// By step: whether one came there that did not.
    seen: Vec<bool>,
    /// How far tensor copies with unknown maps reached.
    extents: Extents,
}

impl Attempts {
    fn see(&mut self, visits: &[u32]) {
        self.seen.resize(visits.len(), false);
        for (seen, visits) in self.seen.iter_mut().zip(visits) {
            *seen |= *visits > 0;
        }
    }

    fn are_all_seen(&self, visits: &[u32]) -> bool {
        self.seen.iter().zip(visits).all(|(seen, visits)| !seen || *visits > 0)
    }
}

impl Kernel<'_> {
    /// The launches that are assumed.
    ///
    /// # Errors
    /// When what `shape` says contradicts the kernel.
    pub fn assumed_launches(&self, shape: &LaunchShape) -> Result<Vec<Launch>, LaunchError> {
        (0..self.assumed_sets(shape)).map(|set| self.assumed_launch(shape, (set, 1))).collect()
    }

    /// How many sets of what is assumed are looked at.
    fn assumed_sets(&self, shape: &LaunchShape) -> usize {
        let function = &self.unit.module.functions[self.function as usize];
        let has_numbers =
            self.program.parameters.iter().any(|parameter| parameter.is_array || parameter.bytes < 8);
        let is_open = Directives::of(self.unit, function).block.is_none() && shape.block.is_none();
        if has_numbers || is_open || !self.program.parameters.is_empty() { 3 } else { 1 }
    }

    pub(super) fn assumed_launch(
        &self,
        shape: &LaunchShape,
        set: (usize, u64),
    ) -> Result<Launch, LaunchError> {
        let function = &self.unit.module.functions[self.function as usize];
        let dynamic = self.assumed_dynamic();
        let launch = Launch::assumed(self.unit, function, &self.program.parameters, dynamic, set, shape);
        let launch = launch.checked()?;
        let said = Directives::of(self.unit, function);
        said.refuse(launch.block, launch.cluster).map_err(|misfit| misfit.error)?;
        Ok(launch)
    }

    /// Bytes of dynamic shared memory: all that a CTA can have, if the kernel uses it.
    pub(super) fn assumed_dynamic(&self) -> u32 {
        let free = MOST_SHARED.saturating_sub(self.program.static_shared - program::windows::RESERVED);
        if self.program.uses_dynamic() { free } else { 0 }
    }

    /// Runs it under launches that are assumed. What shows whenever its places are reached is reported.
    ///
    /// # Errors
    /// When its directives name no launch that exists.
    pub fn simulate_assumed(
        &self,
        shape: &LaunchShape,
        settings: &Settings,
    ) -> Result<KernelReport, LaunchError> {
        let chosen = self.assumed_cluster(shape, settings);
        let is_open = Open { grid: shape.grid.is_none(), cluster: shape.cluster.is_none() };
        let enough = self.assumed_launches(&chosen)?.len();
        // Where only one is needed, nothing is assumed that could be something else.
        let most = if enough > 1 { MOST_SETS } else { enough };
        let mut runs: Vec<Run> = Vec::new();
        let mut attempts = Attempts::default();
        for set in 0..most {
            let settings = Settings { records: settings.records && set == 0, ..*settings };
            runs.push(self.run_assumed(&chosen, is_open, &settings, set, &mut attempts)?);
            let launches = runs.iter().filter(|run| run.is_a_launch()).count();
            if set + 1 >= enough && launches >= enough.min(set) && judgement::is_settled(&runs) {
                break;
            }
        }
        if shape.cluster.is_none()
            && let Some(cluster) =
                chosen.cluster.as_ref().filter(|cluster| cluster.iter().any(|size| *size > 1))
        {
            for run in &mut runs {
                run.report.assumed.push(format!("clusters of {cluster:?} CTAs"));
            }
        }
        for run in &mut runs {
            if run.hypothesis.as_ref().is_some_and(|it| shape.grid.is_some() && clusters(&it.launch) > 1) {
                run.report.assumed.push(OTHER_CLUSTERS.to_owned());
            }
        }
        let mut tried = self.tried(&runs);
        let help = |number: usize| {
            format!(
                "`{}` writes the launch that shows it; give the real values there, remove `assume`, and run with \
                 `--launch launch.toml`",
                self.command(&format!("--print-launch --launch-number {number} > launch.toml"))
            )
        };
        let maps: Vec<_> = runs.iter().map(|run| (self.with_maps(run), run.boxes.missing)).collect();
        // What one launch contradicts, may be due to its numbers.
        let mut of_launches = runs.iter().filter(|run| run.is_a_launch()).map(|run| run.boxes.contradiction);
        let first = of_launches.next().flatten();
        let contradiction = first.filter(|_| of_launches.all(|it| it.is_some()));
        let leading: BTreeSet<u64> = runs.iter().flat_map(|run| run.leading.iter().copied()).collect();
        let doubted = judgement::doubted_races(&runs);
        let load = judgement::load_of_nothing(&runs);
        let mut report =
            judgement::together(runs, &tried, &help).ok_or_else(|| LaunchError("no launch".to_owned()))?;
        if report.verdict == Verdict::Clean || report.verdict == Verdict::Incomplete && !doubted.is_empty() {
            self.try_unlike_numbers(
                (&chosen, is_open),
                settings,
                (&leading, &doubted),
                &mut report,
                &mut tried,
            )?;
        }
        // What multiplies do not read says less than what the launch with boxes shows.
        let (certain, other): (Vec<_>, Vec<_>) = contradiction
            .into_iter()
            .partition(|contradiction| !matches!(contradiction, Contradiction::Unread(..)));
        for contradiction in certain {
            self.add_contradiction(contradiction, &mut report);
        }
        let shown_by = report.shown_by.unwrap_or(1);
        if let Some((Some(hypothesis), missing)) = maps.get(shown_by - 1) {
            self.try_maps(hypothesis, *missing, settings, &mut report, &mut tried)?;
        }
        for contradiction in other {
            self.add_contradiction(contradiction, &mut report);
        }
        if let Some(load) = load.filter(|_| report.verdict == Verdict::Clean) {
            report.reasons.push(Reason {
                span: self.program.spans.get(load as usize).copied(),
                text: "Tensor Memory is loaded here, and nothing is ever written into it".to_owned(),
                help: Some(format!(
                    "a multiply or a store may be missing, or an address be wrong; if not, `{}` writes a launch: give \
                     the real values there, and run with `--launch launch.toml`",
                    self.command("--print-launch > launch.toml")
                )),
            });
            report.verdict = verdict(&report.diagnostics, &report.reasons);
        }
        report.tried = tried;
        Ok(report)
    }

    /// The launches of some runs, for people.
    pub(super) fn tried<'r>(&self, runs: impl IntoIterator<Item = &'r Run>) -> Vec<TriedLaunch> {
        let tried = |run: &Run| match &run.hypothesis {
            Some(hypothesis) => TriedLaunch {
                summary: self.described(hypothesis, &run.leading),
                file: self.launch_file(hypothesis),
            },
            None => TriedLaunch { summary: String::new(), file: String::new() },
        };
        runs.into_iter().map(tried).collect()
    }

    /// Runs a launch that says what is assumed of the rest, as it was run when it was tried: one cluster of its grid.
    pub(crate) fn simulate_again(
        &self,
        launch: &Launch,
        assumption: Assumption,
        settings: &Settings,
    ) -> Result<KernelReport, LaunchError> {
        let run = self.run(launch, settings, Some(assumption), &mut Extents::new())?;
        let mut report = judgement::alone(run);
        report.assumed.push("what the launch file leaves open, as its `assume` says".to_owned());
        if clusters(launch) > 1 {
            report.assumed.push(OTHER_CLUSTERS.to_owned());
        }
        Ok(report)
    }

    /// The shape with a cluster, where neither it nor the kernel says one: the smallest in which all
    /// CTAs exist that the kernel addresses, of several one under which nothing is wrong.
    fn assumed_cluster(&self, shape: &LaunchShape, settings: &Settings) -> LaunchShape {
        const CLUSTERS: [[u32; 3]; 10] = [
            [1, 1, 1],
            [2, 1, 1],
            [1, 2, 1],
            [4, 1, 1],
            [2, 2, 1],
            [1, 4, 1],
            [8, 1, 1],
            [4, 2, 1],
            [2, 4, 1],
            [16, 1, 1],
        ];
        let function = &self.unit.module.functions[self.function as usize];
        if shape.cluster.is_some() || Directives::of(self.unit, function).cluster.is_some() {
            return *shape;
        }
        let mut needed = if self.program.is_for_pairs() { 2 } else { 1 };
        let mut best: Option<LaunchShape> = None;
        for cluster in CLUSTERS {
            let size: u32 = cluster.iter().product();
            if size < needed || best.is_some() && size > needed.next_power_of_two() {
                continue;
            }
            let chosen = LaunchShape { cluster: Some(cluster), ..*shape };
            let unrecorded = Settings { records: false, ..*settings };
            let is_open = Open { grid: shape.grid.is_none(), cluster: true };
            let attempts = &mut Attempts::default();
            let Ok(run) = self.run_assumed(&chosen, is_open, &unrecorded, 0, attempts) else { continue };
            needed = needed.max(run.addressed_ctas);
            if size < needed {
                continue;
            }
            if run.report.verdict == Verdict::Clean {
                return chosen;
            }
            best.get_or_insert(chosen);
        }
        best.unwrap_or(*shape)
    }

    /// A run under a set of what is assumed: with a grid of one cluster; where that has more to do than is
    /// worth looking at, with smaller numbers and a grid of which each cluster has a few parts, if that comes to
    /// all that was seen before; then with one in which each cluster has a part of it; and then with smaller
    /// numbers. `first` says where an earlier set ended, which is not tried again, and is told the same of this one.
    fn run_assumed(
        &self,
        shape: &LaunchShape,
        is_open: Open,
        settings: &Settings,
        set: usize,
        first: &mut Attempts,
    ) -> Result<Run, LaunchError> {
        let mut last = None;
        for (index, attempt) in TRIED.iter().enumerate().skip(first.ended) {
            let Attempt { grid, smaller, part } = *attempt;
            // With a grid that is said, only the numbers differ.
            if !is_open.grid && (grid == Grid::Few || grid == Grid::Many && smaller == 1) {
                continue;
            }
            let mut launch = self.assumed_launch(shape, (set, smaller))?;
            let mut assumption = Assumption::of(set, smaller);
            if is_open.grid {
                launch.grid[0] = launch.cluster[0]
                    * match grid {
                        Grid::One if self.asks_for_more() => FEW_PARTS,
                        Grid::One => 1,
                        Grid::Few => (assumption.number as u32).div_ceil(FEW_PARTS).max(FEW_PARTS),
                        Grid::Many => MANY_CLUSTERS,
                    };
            }
            let tried = Settings { budget: settings.budget / part, ..*settings };
            assumption.assumes_cluster = self.assumes_cluster(is_open);
            let mut run = self.run(&launch.checked()?, &tried, Some(assumption), &mut first.extents)?;
            if run.is_exhausted {
                first.see(&run.visits);
                last = Some(run);
                continue;
            }
            // Smaller numbers may be too small for anything to be done, and a large grid leaves too little to a cluster.
            let is_whole = first.are_all_seen(&run.visits) && run.report.reasons.is_empty();
            if grid == Grid::Few && !is_whole {
                last = Some(run);
                continue;
            }
            first.ended = index;
            self.add_left_out(&first.seen, &mut run);
            return Ok(run);
        }
        last.ok_or_else(|| LaunchError("no launch".to_owned()))
    }

    /// A run that does nothing of what those with more work do judges nothing: it multiplies nothing, say.
    fn add_left_out(&self, seen: &[bool], run: &mut Run) {
        let works = |step: usize| self.program.steps[step].action.works();
        let visited = |step: usize| run.visits.get(step).is_some_and(|visits| *visits > 0);
        let done: Vec<_> = (0..seen.len()).filter(|step| visited(*step)).filter_map(works).collect();
        let is_left_out = |step: &usize| works(*step).is_some_and(|work| !done.contains(&work));
        let Some(step) = (0..seen.len()).filter(|step| seen[*step]).find(is_left_out) else { return };
        run.report.reasons.push(Reason {
            span: self.program.spans.get(step).copied(),
            text: "the assumed launches that come here use up the budget of warp instructions".to_owned(),
            help: Some("give a larger `--budget`, or the real launch with `--launch`".to_owned()),
        });
        run.report.verdict = verdict(&run.report.diagnostics, &run.report.reasons);
    }

    /// Whether neither the launch nor the kernel says which CTAs are in a cluster.
    pub(super) fn assumes_cluster(&self, is_open: Open) -> bool {
        let function = &self.unit.module.functions[self.function as usize];
        is_open.cluster && Directives::of(self.unit, function).cluster.is_none()
    }

    /// Whether it asks for the work of clusters that have not started.
    pub(super) fn asks_for_more(&self) -> bool {
        self.program.steps.iter().any(|step| matches!(step.action, Action::TryCancel { .. }))
    }
}
