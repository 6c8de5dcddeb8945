//! Parities that turn more slowly than the phases: `(k / 3) & 1`, for one mbarrier that each iteration uses.
//!
//! In a ring of n mbarriers each is used by every n-th iteration, so its parity turns with `k / n`. Of one mbarrier, each
//! iteration completes a phase, and the second of two waits for the same parity is over at once. Which parity an
//! iteration waits for is computed here for the first iterations, where the counter begins with a constant.
//!
//! Where another role arrives, it may do so in every n-th iteration of the one that waits. It does not if it waits in turn
//! for what each iteration of that one signals.

use smallvec::SmallVec;

use super::{Why, WrongParity, are_of_other_warps, counts};
use crate::definitions::{Definition, DefinitionId};
use crate::flow::Flow;
use crate::function::Function;
use crate::ir::argument::{self, Arguments};
use crate::ir::{Argument, Simple};
use crate::isa::hierarchy::WARPS_OF_CTA;
use crate::loops::Loop;
use crate::mbarriers::{Mbarrier, Several, Use, Used};
use crate::resolve::symbols::RegisterId;
use crate::values::ValueId;

/// Longer chains are not followed.
const DEEP: u32 = 96;
/// So many waits are looked at: more than twice those between two turns.
const WAITS: usize = 40;
/// Nobody has more stages.
const SLOWEST: usize = 16;
/// Mbarriers with more waits or arrivals are not looked at.
const MOST: usize = 16;
/// Nor are kernels with more uses of mbarriers: all of these are looked at for each loop.
const MOST_USES: usize = 128;

/// Those that are looked at together.
type Together<'u> = SmallVec<[&'u Used; 4]>;

impl Flow<'_> {
    /// A wait for a single mbarrier whose parity turns only after several waits, where each iteration of the loop
    /// completes a phase for each wait. `elsewhere` is used by what is called.
    pub(super) fn turns_slowly(&self, elsewhere: &Several<()>) -> Option<WrongParity> {
        let used = self.mbarriers();
        let is_known = |it: &Used| it.mbarrier.is_some() || it.how == Use::Initialises;
        if used.len() > MOST_USES || !used.iter().all(is_known) || !used.iter().any(counts) {
            return None;
        }
        let loops = self.loops()?;
        let mut seen: SmallVec<[Mbarrier; MOST]> = SmallVec::new();
        used.iter().filter(|it| it.how == Use::Waits).find_map(|wait| {
            let mbarrier = wait.mbarrier.filter(|it| it.is_one() && !seen.contains(it))?;
            if seen.len() == MOST || !self.facts.budget.take(used.len() as u64) {
                return None;
            }
            seen.push(mbarrier);
            let arrivals = self.all_of(mbarrier, counts)?;
            let waits: Together<'_> = self.all_of(mbarrier, |it| it.how == Use::Waits)?;
            if arrivals.len().max(waits.len()) > MOST || self.may_be_one_of(&mbarrier, elsewhere) {
                return None;
            }
            loops.iter().find_map(|cycle| self.turns_slowly_in(&loops, cycle, mbarrier, &arrivals, &waits))
        })
    }

    fn turns_slowly_in(
        &self,
        loops: &[Loop],
        cycle: &Loop,
        mbarrier: Mbarrier,
        arrivals: &[&Used],
        waits: &[&Used],
    ) -> Option<WrongParity> {
        let waits: Together<'_> = waits.iter().copied().filter(|it| self.is_inside(cycle, it)).collect();
        if waits.is_empty() || !self.facts.budget.take(1) {
            return None;
        }
        let here = arrivals.iter().any(|it| self.is_inside(cycle, it));
        let arriving = if here { cycle } else { self.in_step_with(loops, cycle, &waits, arrivals)? };
        let inside: Together<'_> =
            arrivals.iter().copied().filter(|it| self.is_inside(arriving, it)).collect();
        let first = **inside.first()?;
        // One thread arrives, and the same one wherever else something arrives: not meanwhile.
        let executing = self.executing(None);
        let is_apart = |it: &&Used| {
            !self.is_inside(arriving, it) && are_of_other_warps(&executing, it.instruction, first.instruction)
        };
        if here && waits.len() != inside.len()
            || self.expected(mbarrier) != Some(1)
            || !arrivals.iter().all(|it| self.most_threads_of(it) == Some(1))
            || arrivals.iter().any(is_apart)
            || !self.are_in_each(loops, cycle, &waits)
            || !self.are_in_each(loops, arriving, &inside)
        {
            return None;
        }
        if here && waits.len() > 1 && !self.take_turns(&waits, &inside) && !self.take_turns(&inside, &waits) {
            return None;
        }
        let every = self.waits_between_turns(cycle, &waits, |every| every > 1)?;
        let why = Why::TurnsSlowly { every };
        Some(WrongParity { wait: **waits.first()?, arrival: first, parity: false, why })
    }

    /// The loop of another role that arrives, where each of its arrivals comes after a wait for the role that waits:
    /// it waits for an mbarrier at which each iteration of `cycle` arrives, with a parity that turns each time.
    fn in_step_with<'l>(
        &self,
        loops: &'l [Loop],
        cycle: &Loop,
        waits: &[&Used],
        arrivals: &[&Used],
    ) -> Option<&'l Loop> {
        let used = self.mbarriers();
        let executing = self.executing(None);
        let is_arriving = |other: &&Loop| {
            let inside: Together<'_> =
                arrivals.iter().copied().filter(|it| self.is_inside(other, it)).collect();
            let is_other = |it: &&Used| {
                waits.iter().all(|wait| are_of_other_warps(&executing, it.instruction, wait.instruction))
            };
            let answers = |back: Mbarrier| {
                let (Some(told), Some(heard)) =
                    (self.all_of(back, counts), self.all_of(back, |it| it.how == Use::Waits))
                else {
                    return false;
                };
                let heard: Together<'_> = heard.into_iter().filter(|it| self.is_inside(other, it)).collect();
                // No more comes than a phase expects, so that each iteration completes one phase at most.
                let expected = self.expected(back);
                let is_enough = |it: &&Used| {
                    self.most_threads_of(it).is_some_and(|come| expected.is_some_and(|all| come <= all))
                };
                told.len() == waits.len()
                    && heard.len() == inside.len()
                    && told.iter().all(|it| self.is_inside(cycle, it))
                    && told.iter().all(is_enough)
                    && self.are_in_each(loops, cycle, &told)
                    && self.are_in_each(loops, other, &heard)
                    && (inside.len() == 1 || self.take_turns(&heard, &inside))
                    && self.waits_between_turns(other, &heard, |every| every == 1).is_some()
            };
            let waited = used.iter().filter(|it| it.how == Use::Waits && self.is_inside(other, it));
            !inside.is_empty()
                && inside.len() <= MOST
                && other.blocks.is_disjoint(&cycle.blocks)
                && inside.iter().all(is_other)
                && waited.filter_map(|it| it.mbarrier).filter(Mbarrier::is_one).any(answers)
        };
        loops.iter().find(is_arriving)
    }

    /// What is done of one kind with an mbarrier; nothing if that may be done from another CTA, or with another one.
    fn all_of(&self, mbarrier: Mbarrier, is_one: impl Fn(&Used) -> bool) -> Option<Together<'_>> {
        let may_be = |it: &&Used| it.mbarrier.is_none_or(|other| self.may_be_same(&other, &mbarrier));
        let is_it = |it: &Used| it.mbarrier == Some(mbarrier) && !it.is_in_cluster;
        let all = self.mbarriers().iter().filter(|it| is_one(it)).filter(may_be);
        all.map(|it| is_it(it).then_some(it)).collect()
    }

    fn is_inside(&self, cycle: &Loop, used: &Used) -> bool {
        self.cfg().block_of(used.instruction).is_some_and(|block| cycle.blocks.contains(&block))
    }

    /// Whether each iteration of a loop executes all of these, once each.
    fn are_in_each(&self, loops: &[Loop], cycle: &Loop, all: &[&Used]) -> bool {
        let executing = self.executing(None);
        let mut same = loops.iter().filter(|it| it.first == cycle.first);
        let is_in_each =
            |cycle: &Loop| all.iter().all(|it| self.is_in_each(cycle, it.instruction, &executing));
        let is_innermost = |used: &&Used| {
            let mut around =
                loops.iter().filter(|inner| self.is_inside(inner, used) && self.does_something(inner));
            around.all(|inner| inner.first == cycle.first || !cycle.blocks.contains(&inner.first))
        };
        same.all(is_in_each) && all.iter().all(is_innermost)
    }

    /// How many threads of a block execute an instruction at most, if that is known.
    fn most_threads_of(&self, used: &Used) -> Option<u64> {
        let executes = self.executing(None).of(used.instruction)?;
        Some(executes.most_threads(WARPS_OF_CTA as usize).into())
    }

    /// How many arrivals an mbarrier expects at most, if it is known what it may be initialised with.
    fn expected(&self, mbarrier: Mbarrier) -> Option<u64> {
        let initialised = self.expected_arrivals()?;
        self.most_expected(&mbarrier, &initialised).map(|(_, expected)| expected)
    }

    /// After how many waits, one after the other, the parity turns, where that is always the same and `counts`.
    fn waits_between_turns(
        &self,
        cycle: &Loop,
        waits: &[&Used],
        counts: impl Fn(usize) -> bool,
    ) -> Option<u32> {
        let view = self.facts.view(self.unit);
        let (mut parities, mut every) = (0usize, None);
        let mut begins = None;
        for number in 0..WAITS.div_ceil(waits.len()) as u32 {
            let of = Iteration { flow: self, view: &view, cycle, number };
            for wait in waits {
                let parity = of.operand(wait.instruction, wait.parity()?)? & 1 == 1;
                let turned = parity != *begins.get_or_insert(parity);
                // The first turn says how many there are. Most do not count, and then the rest need not be computed.
                if turned && every.is_none() {
                    every = Some(parities).filter(|it| *it <= SLOWEST && counts(*it));
                    every?;
                }
                if every.is_some_and(|every| turned != (parities / every % 2 == 1)) {
                    return None;
                }
                parities += 1;
            }
        }
        every.map(|every| every as u32)
    }
}

/// An iteration of a loop.
#[derive(Clone, Copy)]
struct Iteration<'i, 'a> {
    flow: &'i Flow<'a>,
    view: &'i Function<'a>,
    cycle: &'i Loop,
    number: u32,
}

impl Iteration<'_, '_> {
    fn operand(&self, at: u32, operand: u32) -> Option<u64> {
        let mut all = Arguments::new();
        argument::flatten(self.flow.unit, operand, None, &mut all);
        match all[..] {
            [only] => self.argument(at, only.argument, 0),
            _ => None,
        }
    }

    fn argument(&self, at: u32, argument: Argument, depth: u32) -> Option<u64> {
        match argument.simple() {
            Simple::Number(number) => Some(number),
            Simple::Register(id) => self.register(at, id, depth),
            Simple::Not(id) => Some(u64::from(self.register(at, id, depth)? & 1 == 0)),
            Simple::Other => None,
        }
    }

    /// What a register holds where an instruction reads it.
    fn register(&self, at: u32, register: RegisterId, depth: u32) -> Option<u64> {
        if depth > DEEP || !self.view.budget.take(1) {
            return None;
        }
        match self.view.value(at, register)? {
            ValueId::Definition(id) => self.definition(id, depth),
            ValueId::Join(join) => {
                let inputs = self.view.definitions.joined(join);
                let [one, other] = inputs[..] else { return None };
                let (ValueId::Definition(one), ValueId::Definition(other)) = (one, other) else {
                    return None;
                };
                let (before, inside) = match (self.is_inside(one), self.is_inside(other)) {
                    (false, true) => (one, other),
                    (true, false) => (other, one),
                    (true, true) | (false, false) => return None,
                };
                match self.number.checked_sub(1) {
                    Some(number) => Self { number, ..*self }.definition(inside, depth),
                    None => self.definition(before, depth),
                }
            }
        }
    }

    fn is_inside(&self, id: DefinitionId) -> bool {
        let made = self.view.definitions.get(id).instruction;
        self.view.cfg.block_of(made).is_some_and(|block| self.cycle.blocks.contains(&block))
    }

    fn definition(&self, id: DefinitionId, depth: u32) -> Option<u64> {
        let Definition { instruction: at, operand, guarded, .. } = *self.view.definitions.get(id);
        // Each iteration has to come there, and once.
        let block = self.view.cfg.block_of(at)?;
        let comes = !self.is_inside(id) || self.view.cfg.dominates(block, self.cycle.last);
        if guarded || !comes {
            return None;
        }
        let computing = self.view.computing(at)?;
        let numbers: SmallVec<[u64; 4]> = computing
            .sources()
            .iter()
            .map(|it| self.argument(at, it.argument, depth + 1))
            .collect::<Option<_>>()?;
        computing.arithmetic?.number(&numbers, computing.position(operand)?, computing.results().len())
    }
}
