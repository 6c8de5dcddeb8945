//! Loops that are unrolled: each iteration waits several times, and as often something arrives.
//!
//! Compilers write the body of a loop several times, and once more for the iterations that are left. What is said here is
//! certain only where it is known what comes to what: behind each wait, there is one arrival before the next wait, or
//! those who wait and those who arrive are others, and are unrolled in the same way.

use smallvec::{SmallVec, smallvec};

use super::{Why, WrongParity, are_of_other_warps};
use crate::executing::Executing;
use crate::flow::Flow;
use crate::loops::Loop;
use crate::mbarriers::Used;

/// More are not written out.
const MOST: usize = 32;

/// Those of one loop, in the order of the text.
struct Unrolled<'u> {
    /// The loop.
    cycle: usize,
    of_it: SmallVec<[&'u Used; 4]>,
}

impl Flow<'_> {
    /// A wait for a parity that stays the same, of one mbarrier at which several instructions arrive.
    pub(super) fn never_turns_unrolled(
        &self,
        waits: &[&Used],
        arrivals: &[&Used],
        parity: bool,
    ) -> Option<WrongParity> {
        if waits.len().max(arrivals.len()) > MOST {
            return None;
        }
        let loops = self.loops()?;
        let executing = self.executing(None);
        let by_waits = self.unrolled(&loops, waits, &executing)?;
        let by_arrivals = self.unrolled(&loops, arrivals, &executing)?;
        let are_one = |(one, other): (&Unrolled<'_>, &Unrolled<'_>)| {
            one.cycle == other.cycle && self.take_turns(&one.of_it, &other.of_it)
        };
        let found = if by_waits.len() == by_arrivals.len() && by_waits.iter().zip(&by_arrivals).all(are_one) {
            waits.iter().all(|wait| wait.mbarrier.is_some_and(|it| it.is_one())).then_some(())?;
            waits.first()?
        } else {
            // Of an unrolled loop and one for the iterations that are left, it does not matter how many are written out.
            let lengths = |all: &[Unrolled<'_>]| {
                let mut lengths: SmallVec<[usize; 4]> = all.iter().map(|it| it.of_it.len()).collect();
                lengths.sort_unstable();
                if matches!(lengths[..], [1, _]) { smallvec![1] } else { lengths }
            };
            let are_apart = by_waits.iter().all(|one| {
                let cycle = &loops[one.cycle];
                self.does_something(cycle)
                    && by_arrivals.iter().all(|other| cycle.blocks.is_disjoint(&loops[other.cycle].blocks))
            });
            let are_others = || {
                waits.iter().all(|wait| {
                    let mut all = arrivals.iter();
                    all.all(|it| {
                        self.facts.budget.take(1)
                            && are_of_other_warps(&executing, it.instruction, wait.instruction)
                    })
                })
            };
            let is_one_role = |all: &[&Used]| {
                let first = all[0].instruction;
                all.iter().all(|it| !are_of_other_warps(&executing, it.instruction, first))
            };
            let is_known = lengths(&by_waits) == lengths(&by_arrivals)
                && are_apart
                && is_one_role(waits)
                && is_one_role(arrivals)
                && are_others();
            // Of several mbarriers, each may be waited for once.
            let comes_back = |wait: &&&Used| {
                wait.mbarrier.is_some_and(|it| it.is_one())
                    || self.facts.ranges.iterations(&self.facts.view(self.unit), wait.instruction).is_none()
                        && self.comes_back(wait)
            };
            waits.iter().filter(|_| is_known).find(comes_back)?
        };
        Some(WrongParity { wait: **found, arrival: *arrivals[0], parity, why: Why::NeverTurns })
    }

    /// All of these by the loop that each iteration of executes them once; nothing if that is not so of one.
    fn unrolled<'u>(
        &self,
        loops: &[Loop],
        all: &[&'u Used],
        executing: &Executing<'_>,
    ) -> Option<Vec<Unrolled<'u>>> {
        let mut found: Vec<Unrolled<'u>> = Vec::new();
        let works: Vec<bool> = loops.iter().map(|it| self.does_something(it)).collect();
        for used in all {
            self.facts.budget.take(loops.len() as u64).then_some(())?;
            let block = self.cfg().block_of(used.instruction)?;
            let around = loops.iter().enumerate().filter(|(at, it)| works[*at] && it.blocks.contains(&block));
            let (cycle, inner) = around.min_by_key(|(_, it)| it.blocks.len())?;
            // However an iteration ends.
            let mut same = loops.iter().filter(|it| it.first == inner.first);
            if !same.all(|it| self.is_in_each(it, used.instruction, executing)) {
                return None;
            }
            match found.iter_mut().find(|it| it.cycle == cycle) {
                Some(of_loop) => of_loop.of_it.push(used),
                None => found.push(Unrolled { cycle, of_it: SmallVec::from_slice(&[*used]) }),
            }
        }
        found.sort_unstable_by_key(|it| it.cycle);
        Some(found)
    }

    /// Whether there is an arrival between each of these waits and the next one.
    pub(super) fn take_turns(&self, waits: &[&Used], arrivals: &[&Used]) -> bool {
        let comes_first =
            |one: &Used, other: &Used| self.cfg().passes_before(one.instruction, other.instruction);
        let behind = waits.iter().zip(arrivals.iter().skip(1));
        let mut before = arrivals.iter().zip(waits);
        waits.len() == arrivals.len()
            && waits.is_sorted_by(|one, other| comes_first(one, other))
            && before.all(|(it, wait)| it.instruction < wait.instruction && !comes_first(wait, it))
            && behind.clone().all(|(wait, it)| comes_first(wait, it))
    }
}
