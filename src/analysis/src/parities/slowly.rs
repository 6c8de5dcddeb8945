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
use crate::isa::generic::{Arithmetic, Bits, Computation, Flag, Modifier, Part};
use crate::isa::hierarchy::WARPS_OF_CTA;
use crate::loops::Loop;
use crate::mbarriers::{Mbarrier, Several, Use, Used};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::literal;
use crate::values::ValueId;

/// Longer chains are not followed.
const DEEP: u32 = 96;
/// So many waits are looked at: more than twice those between two turns.
const WAITS: usize = 40;
/// Nobody has more stages.
const SLOWEST: usize = 16;
/// Loops with more waits are not looked at.
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
        loops.iter().find_map(|round| {
            let is_inside = |it: &&Used| self.is_inside(round, it);
            let mut seen: SmallVec<[Mbarrier; 4]> = SmallVec::new();
            used.iter().filter(|it| it.how == Use::Waits).filter(is_inside).find_map(|wait| {
                let mbarrier = wait.mbarrier.filter(|it| it.is_one() && !seen.contains(it))?;
                seen.push(mbarrier);
                if seen.len() > MOST || self.may_be_one_of(&mbarrier, elsewhere) {
                    return None;
                }
                self.turns_slowly_in(&loops, round, mbarrier)
            })
        })
    }

    fn turns_slowly_in(&self, loops: &[Loop], round: &Loop, mbarrier: Mbarrier) -> Option<WrongParity> {
        self.facts.budget.take(self.mbarriers().len() as u64).then_some(())?;
        let arrivals = self.all_of(mbarrier, counts)?;
        let waits: Together<'_> = self.all_of(mbarrier, |it| it.how == Use::Waits)?;
        let waits: Together<'_> = waits.into_iter().filter(|it| self.is_inside(round, it)).collect();
        let here = arrivals.iter().any(|it| self.is_inside(round, it));
        let arriving = if here { round } else { self.in_step_with(loops, round, &waits, &arrivals)? };
        let inside: Together<'_> =
            arrivals.iter().copied().filter(|it| self.is_inside(arriving, it)).collect();
        let first = **inside.first()?;
        // One thread arrives, and the same one wherever else something arrives: not meanwhile.
        let executing = self.executing(None);
        let is_apart = |it: &&Used| {
            !self.is_inside(arriving, it) && are_of_other_warps(&executing, it.instruction, first.instruction)
        };
        if waits.len() > MOST
            || here && waits.len() != inside.len()
            || self.expected(mbarrier) != Some(1)
            || !arrivals.iter().all(|it| self.most_threads_of(it) == Some(1))
            || arrivals.iter().any(is_apart)
            || !self.are_in_each(loops, round, &waits)
            || !self.are_in_each(loops, arriving, &inside)
        {
            return None;
        }
        if here && waits.len() > 1 && !self.take_turns(&waits, &inside) && !self.take_turns(&inside, &waits) {
            return None;
        }
        let every = self.waits_between_turns(round, &waits).filter(|every| *every > 1)?;
        let why = Why::TurnsSlowly { every };
        Some(WrongParity { wait: **waits.first()?, arrival: first, parity: false, why })
    }

    /// The loop of another role that arrives, where each of its arrivals comes after a wait for the role that waits:
    /// it waits for an mbarrier at which each iteration of `round` arrives, with a parity that turns each time.
    fn in_step_with<'l>(
        &self,
        loops: &'l [Loop],
        round: &Loop,
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
                    && told.iter().all(|it| self.is_inside(round, it))
                    && told.iter().all(is_enough)
                    && self.are_in_each(loops, round, &told)
                    && self.are_in_each(loops, other, &heard)
                    && (inside.len() == 1 || self.take_turns(&heard, &inside))
                    && self.waits_between_turns(other, &heard) == Some(1)
            };
            let waited = used.iter().filter(|it| it.how == Use::Waits && self.is_inside(other, it));
            !inside.is_empty()
                && inside.len() <= MOST
                && other.blocks.is_disjoint(&round.blocks)
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

    fn is_inside(&self, round: &Loop, used: &Used) -> bool {
        self.cfg().block_of(used.instruction).is_some_and(|block| round.blocks.contains(&block))
    }

    /// Whether each iteration of a loop executes all of these, once each.
    fn are_in_each(&self, loops: &[Loop], round: &Loop, all: &[&Used]) -> bool {
        let executing = self.executing(None);
        let mut same = loops.iter().filter(|it| it.first == round.first);
        let is_in_each =
            |round: &Loop| all.iter().all(|it| self.is_in_each(round, it.instruction, &executing));
        let is_innermost = |used: &&Used| {
            let mut around =
                loops.iter().filter(|inner| self.is_inside(inner, used) && self.does_something(inner));
            around.all(|inner| inner.first == round.first || !round.blocks.contains(&inner.first))
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

    /// After how many waits, one after the other, the parity turns, where that is always the same.
    fn waits_between_turns(&self, round: &Loop, waits: &[&Used]) -> Option<u32> {
        let view = self.facts.view(self.unit);
        let mut parities: Vec<bool> = Vec::with_capacity(WAITS);
        for iteration in 0..WAITS.div_ceil(waits.len()) {
            for wait in waits {
                let operand = wait.parity()?;
                let of = Iteration { flow: self, view: &view, round, number: iteration as u32 };
                parities.push(of.operand(wait.instruction, operand, 0)? & 1 == 1);
            }
        }
        let begins = *parities.first()?;
        let every = parities.iter().position(|parity| *parity != begins)?;
        let mut expected = parities.iter().zip(0usize..);
        let is_regular = expected.all(|(parity, at)| *parity == (begins ^ (at / every % 2 == 1)));
        (is_regular && every <= SLOWEST).then_some(every as u32)
    }
}

/// An iteration of a loop.
#[derive(Clone, Copy)]
struct Iteration<'i, 'a> {
    flow: &'i Flow<'a>,
    view: &'i Function<'a>,
    round: &'i Loop,
    number: u32,
}

impl Iteration<'_, '_> {
    fn operand(&self, at: u32, operand: u32, depth: u32) -> Option<u32> {
        let unit = self.flow.unit;
        let found = unit.module.operands.get(operand as usize)?;
        if let Some(number) = literal::evaluate(&unit.source, &unit.module, found) {
            return Some(number as u32);
        }
        match unit.symbols.operand(operand) {
            Resolution::Register(register) => self.register(at, register, depth),
            Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => None,
        }
    }

    /// What a register holds where an instruction reads it, of 32 bits.
    fn register(&self, at: u32, register: RegisterId, depth: u32) -> Option<u32> {
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
        self.view.cfg.block_of(made).is_some_and(|block| self.round.blocks.contains(&block))
    }

    fn definition(&self, id: DefinitionId, depth: u32) -> Option<u32> {
        let Definition { instruction: at, operand, guarded, .. } = *self.view.definitions.get(id);
        let unit = self.flow.unit;
        let raw = &unit.module.instructions[at as usize];
        let opcode = unit.operations.of(at);
        let first = raw.operands.start;
        // Each iteration has to come there, and once.
        let block = self.view.cfg.block_of(at)?;
        let comes = !self.is_inside(id) || self.view.cfg.dominates(block, self.round.last);
        if guarded
            || operand != first
            || !comes
            || opcode.has_flag(Flag::Sat)
            || opcode.types.iter().any(|ty| ty.is_float() || ty.is_packed() || ty.bits() != Some(u32::BITS))
        {
            return None;
        }
        let is_signed = opcode.types.last().is_some_and(|ty| ty.is_signed());
        let read = |position: u32| self.operand(at, first + position, depth + 1);
        match (opcode.computes(), raw.operands.len) {
            (Computation::Move | Computation::Convert, 2) => read(1),
            (Computation::Not, 2) => Some(!read(1)?),
            (Computation::And, 3) => Some(read(1)? & read(2)?),
            (Computation::Or, 3) => Some(read(1)? | read(2)?),
            (Computation::Xor, 3) => Some(read(1)? ^ read(2)?),
            (Computation::Arithmetic(Arithmetic::Add), 3) => Some(read(1)?.wrapping_add(read(2)?)),
            (Computation::Arithmetic(Arithmetic::Subtract), 3) => Some(read(1)?.wrapping_sub(read(2)?)),
            (Computation::Arithmetic(Arithmetic::Multiply), 3) => {
                let (one, other) = (read(1)?, read(2)?);
                if opcode.has(Modifier::Part(Part::Lo)) {
                    Some(one.wrapping_mul(other))
                } else if !opcode.has(Modifier::Part(Part::Hi)) {
                    None
                } else if is_signed {
                    let product = i64::from(one.cast_signed()) * i64::from(other.cast_signed());
                    Some((product >> u32::BITS) as u32)
                } else {
                    Some(((u64::from(one) * u64::from(other)) >> u32::BITS) as u32)
                }
            }
            (Computation::Arithmetic(Arithmetic::MultiplyAdd), 4) if opcode.has(Modifier::Part(Part::Lo)) => {
                Some(read(1)?.wrapping_mul(read(2)?).wrapping_add(read(3)?))
            }
            (Computation::Arithmetic(Arithmetic::Divide), 3) => match (read(1)?, read(2)?) {
                (one, other) if is_signed => {
                    one.cast_signed().checked_div(other.cast_signed()).map(i32::cast_unsigned)
                }
                (one, other) => one.checked_div(other),
            },
            (Computation::Arithmetic(Arithmetic::Remainder), 3) => match (read(1)?, read(2)?) {
                (one, other) if is_signed => {
                    one.cast_signed().checked_rem(other.cast_signed()).map(i32::cast_unsigned)
                }
                (one, other) => one.checked_rem(other),
            },
            (Computation::Bits(Bits::ShiftLeft), 3) => {
                Some(read(1)?.checked_shl(read(2)?).unwrap_or_default())
            }
            (Computation::Bits(Bits::ShiftRight), 3) => {
                let (number, by) = (read(1)?, read(2)?);
                if is_signed {
                    Some((number.cast_signed() >> by.min(u32::BITS - 1)).cast_unsigned())
                } else {
                    Some(number.checked_shr(by).unwrap_or_default())
                }
            }
            (Computation::Bits(Bits::Extract), 4) if !is_signed => {
                let (number, from, length) = (read(1)?, read(2)? & 0xFF, read(3)? & 0xFF);
                let mask = 1u32.checked_shl(length).map_or(u32::MAX, |end| end - 1);
                Some(number.checked_shr(from).unwrap_or_default() & mask)
            }
            _ => None,
        }
    }
}
