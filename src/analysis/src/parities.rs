//! Waits for a phase of an mbarrier by a parity that cannot be its own.
//!
//! The phases of an mbarrier have the parities 0, 1, 0, 1 ... from its initialisation on, and a wait for a parity
//! is over at once where the phase that goes on has the other one. What is said here is said of mbarriers of
//! which all is known: one instruction arrives there, once in each iteration or once in all, or several do, as often as
//! there are waits in an iteration of a loop that is unrolled; and every wait is for the same parity.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::events::{Action, Event};
use super::executing::Executing;
use super::flow::Flow;
use super::loops::Loop;
use super::mbarriers::{Mbarrier, Use, Used};
use super::pending::Pending;
use super::reach::Direction;
use crate::isa::special_registers::Extent;
use crate::isa::vocabulary::Operation;
use crate::source::Span;

mod circles;
mod slowly;
mod unrolled;

/// A wait for the wrong parity.
#[derive(Clone, Copy, Debug)]
pub struct WrongParity {
    /// The wait.
    pub wait: Used,
    /// What completes the phase that is not waited for.
    pub arrival: Used,
    /// The parity.
    pub parity: bool,
    /// Why it is wrong.
    pub why: Why,
}

/// What is wrong with a parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It stays the same, and each iteration completes a phase.
    NeverTurns,
    /// It is that of the phase before the first one, and there is only the first one.
    BeforeFirst,
    /// It is that of the first one, which has been waited for, and the next one has begun since.
    Again,
    /// It is that of the first one, and nothing completes that before this wait is over.
    Circle {
        /// The wait that comes before what would complete it.
        before: Span,
    },
    /// It turns after several waits only, and each iteration completes a phase.
    TurnsSlowly {
        /// After how many.
        every: u32,
    },
}

/// mbarriers that are looked at: for each, all that happens to mbarriers is.
const MOST: usize = 32;

impl Flow<'_> {
    /// The waits of this kernel for a wrong parity, for each mbarrier the first.
    pub fn wrong_parities(&self) -> Vec<WrongParity> {
        let used = self.mbarriers();
        if !used.iter().any(|it| it.how == Use::Waits) {
            return Vec::new();
        }
        // What is called may wait or arrive anywhere.
        let Some(elsewhere) = self.mbarriers_of_callees(|_| true) else { return Vec::new() };
        let elsewhere = self.several(elsewhere.into_iter().map(|it| (it, ())));
        let mut seen: FxHashSet<Mbarrier> = FxHashSet::default();
        let waits = used.iter().filter(|it| it.how == Use::Waits);
        let first = waits.filter_map(|wait| Some((wait, wait.mbarrier.filter(|it| seen.insert(*it))?)));
        let is_own = |(_, mbarrier): &(&Used, Mbarrier)| !self.may_be_one_of(mbarrier, &elsewhere);
        let is_known = |it: &Used| it.mbarrier.is_some() || it.how == Use::Initialises;
        let mut found = Vec::new();
        if used.iter().all(is_known) {
            let waits = first.take(MOST).filter(is_own);
            found.extend(waits.filter_map(|(wait, mbarrier)| self.wrong_parity(wait, mbarrier)));
        }
        if found.is_empty() {
            found = self.waits_in_circles(&elsewhere);
        }
        if found.is_empty() {
            found.extend(self.turns_slowly(&elsewhere));
        }
        found
    }

    fn wrong_parity(&self, wait: &Used, mbarrier: Mbarrier) -> Option<WrongParity> {
        let used = self.mbarriers();
        let is_one = mbarrier.is_one();
        (is_one || mbarrier.is_of_ring()).then_some(())?;
        self.facts.budget.take(used.len() as u64).then_some(())?;
        let may_be = |it: &&Used| it.mbarrier.is_none_or(|other| self.may_be_same(&other, &mbarrier));
        // Those of another CTA arrive there as well.
        if used.iter().filter(may_be).any(|it| it.is_in_cluster && it.how != Use::Initialises) {
            return None;
        }
        let arrivals: SmallVec<[&Used; 2]> = used.iter().filter(may_be).filter(|it| counts(it)).collect();
        let arrival = **arrivals.first()?;
        if !arrivals.iter().all(|it| it.mbarrier == Some(mbarrier)) {
            return None;
        }
        let waits: Vec<&Used> = used.iter().filter(|it| it.how == Use::Waits).filter(may_be).collect();
        if !waits.iter().all(|it| it.mbarrier == Some(mbarrier)) {
            return None;
        }
        let parity = self.parity(wait)?;
        let mut others = waits.iter().filter(|it| it.instruction != wait.instruction);
        if !others.all(|it| self.parity(it) == Some(parity)) {
            return None;
        }
        let behind = self.passed_from(Direction::Forward, &[arrival.instruction])?;
        let is_behind = |it: &Used| behind.has(self.cfg(), it.instruction);
        if used.iter().filter(|it| it.how == Use::Initialises).filter(may_be).any(is_behind) {
            return None;
        }
        if is_one
            && !parity
            && waits.len() > 1
            && let Some((wait, arrival)) = self.waited_for_again(&waits, &arrivals)
        {
            return Some(WrongParity { wait, arrival, parity, why: Why::Again });
        }
        if arrivals.len() > 1 {
            return self.never_turns_unrolled(&waits, &arrivals, parity);
        }
        if !is_behind(&arrival) {
            is_one.then_some(())?;
            if parity && arrival.how == Use::Commits && !waits.iter().any(|it| is_behind(it)) {
                let wait = waits.into_iter().find(|wait| self.is_last_of_its_role(wait, &arrival))?;
                return Some(WrongParity { wait: *wait, arrival, parity, why: Why::BeforeFirst });
            }
            let is_from_elsewhere =
                arrival.how == Use::Commits || used.iter().filter(may_be).any(|it| it.how == Use::Completes);
            // Who waits for others to have emptied a buffer begins with the phase before.
            let executing = self.executing(None);
            let arrives = executing.of(arrival.instruction)?;
            let is_by_same = |wait: &Used| {
                executing.of(wait.instruction).is_some_and(|waits| !waits.is_of_other_warps(&arrives))
            };
            let wait = waits.into_iter().find(|it| is_behind(it)).filter(|_| parity && is_from_elsewhere)?;
            is_by_same(wait).then_some(())?;
            return Some(WrongParity { wait: *wait, arrival, parity, why: Why::BeforeFirst });
        }
        let loops = self.loops()?;
        let of_any = self.executing(None);
        // In a cluster, perhaps it is the first CTA that does.
        let of_first = self.executing(Some(0));
        let is_done = |at: u32| {
            of_first.of_those_there(at, Extent::Cta).is_some_and(|it| it.certain_warps().next().is_some())
        };
        let is_repeated = |wait: &&Used| {
            self.is_repeated(&loops, wait, &arrival, &of_any)
                || is_done(wait.instruction)
                    && is_done(arrival.instruction)
                    && self.is_repeated(&loops, wait, &arrival, &of_first)
        };
        // Of several mbarriers, each may be waited for once.
        let comes_back = |wait: &&Used| {
            is_one
                || self.facts.ranges.iterations(&self.facts.view(self.unit), wait.instruction).is_none()
                    && self.comes_back(wait)
        };
        let wait = waits.into_iter().filter(comes_back).find(is_repeated)?;
        Some(WrongParity { wait: *wait, arrival, parity, why: Why::NeverTurns })
    }

    /// Whether each iteration of a loop waits, and each iteration of this one or of another role's arrives.
    fn is_repeated(&self, loops: &[Loop], wait: &Used, arrival: &Used, executing: &Executing<'_>) -> bool {
        loops.iter().any(|cycle| {
            self.is_in_each(cycle, wait.instruction, executing)
                && loops.iter().any(|other| {
                    let are_one = (cycle.first, cycle.last) == (other.first, other.last);
                    self.is_in_each(other, arrival.instruction, executing)
                        && if are_one {
                            !self.repeats_without(loops, arrival.instruction, wait.instruction)
                        } else {
                            cycle.blocks.is_disjoint(&other.blocks)
                                && self.does_something(cycle)
                                && are_of_other_warps(executing, arrival.instruction, wait.instruction)
                        }
                })
        })
    }

    /// A wait for the first phase behind another one, with an arrival for the second one between, once each: on one
    /// way through the kernel, without a loop around them.
    fn waited_for_again(&self, waits: &[&Used], arrivals: &[&Used]) -> Option<(Used, Used)> {
        /// More arrivals are not looked at.
        const FEW: usize = 4;
        if arrivals.len() > FEW || waits.len() > FEW {
            return None;
        }
        let is_passed = |first: &Used, then: &Used| {
            self.cfg().passes_before(first.instruction, then.instruction)
                && !self.leads_to(then.instruction, first.instruction)
        };
        waits.iter().find_map(|then| {
            let first = waits.iter().find(|first| {
                is_passed(first, then) && arrivals.iter().filter(|it| is_passed(first, it)).count() == 1
            })?;
            let between = arrivals.iter().find(|it| is_passed(first, it) && is_passed(it, then))?;
            // The others are for the first phase.
            let are_before =
                arrivals.iter().all(|it| it.instruction == between.instruction || is_passed(it, first));
            are_before.then_some((**then, **between))
        })
    }

    /// Whether threads that load what a `commit` elsewhere tracks wait for it, and do nothing behind the wait that
    /// the commit could depend on: they pass the wait only if they come to it before the commit has arrived.
    fn is_last_of_its_role(&self, wait: &Used, arrival: &Used) -> bool {
        let Some(behind) = self.passed_from(Direction::Forward, &[wait.instruction]) else { return false };
        let is_behind = |instruction: u32| behind.has(self.cfg(), instruction);
        let lets_go_on = |event: &Event| match event.action {
            Action::Barrier | Action::BarrierArrive => self.leads_to(event.instruction, arrival.instruction),
            Action::MbarrierArrive
            | Action::SharedStore
            | Action::SharedUpdate
            | Action::AsyncCopy
            | Action::BulkLoad
            | Action::Call(_)
            | Action::Unknown => true,
            Action::Tensor { operation, .. } => operation == Operation::Commit,
            Action::MbarrierWait | Action::WarpBarrier | Action::ProxyFence | Action::Acquire => false,
        };
        let loads = |event: &Event| {
            self.operation(*event).is_some_and(|operation| Pending::Load.started_by(operation))
                && is_behind(event.instruction)
        };
        // Who reads a flag before the commit may have waited for these.
        let reads_flag = |event: &Event| {
            event.action == Action::Acquire && self.leads_to(event.instruction, arrival.instruction)
        };
        !is_behind(arrival.instruction)
            && self.events().iter().any(loads)
            && !self.events().iter().any(reads_flag)
            && !self.events().iter().any(|event| is_behind(event.instruction) && lets_go_on(event))
            && !self.mbarriers().iter().any(|it| it.how.signals() && is_behind(it.instruction))
    }

    /// Whether a loop is one that works, not one that only waits.
    fn does_something(&self, cycle: &Loop) -> bool {
        self.events().iter().any(|event| {
            matches!(event.action, Action::Tensor { .. } | Action::BulkLoad | Action::MbarrierArrive)
                && self.cfg().block_of(event.instruction).is_some_and(|block| cycle.blocks.contains(&block))
        })
    }

    /// Whether a loop contains an instruction and not another one.
    fn repeats_without(&self, loops: &[Loop], instruction: u32, other: u32) -> bool {
        let blocks = (self.cfg().block_of(instruction), self.cfg().block_of(other));
        let (Some(own), Some(other)) = blocks else { return true };
        loops.iter().any(|cycle| cycle.blocks.contains(&own) && !cycle.blocks.contains(&other))
    }
}

/// Whether an instruction counts as an arrival.
fn counts(used: &Used) -> bool {
    used.how.signals() && used.how != Use::Completes
}

/// Whether no warp executes both.
fn are_of_other_warps(executing: &Executing<'_>, one: u32, other: u32) -> bool {
    let both = executing.of(one).zip(executing.of(other));
    both.is_some_and(|(one, other)| one.is_of_other_warps(&other))
}
