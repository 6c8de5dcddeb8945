//! The analysis of ranges: how definitions are made, what branches say of what they read, and where counters are widened.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::conditions::{Compared, Limit, Limited, Test, compared, literal, signed};
use super::counted::{Base, Counted, Intervals, special};
use super::remainder::{self, Remainder};
use super::{Numbers, Ranges};
use crate::cfg::BlockId;
use crate::definitions::{Definition, DefinitionId};
use crate::function::Function;
use crate::ir::Computing;
use crate::ir::argument::{self, Argument, Arguments, Placed};
use crate::isa::generic::{Arithmetic, Bits, Computation, Flag, Operation, Type};
use crate::registers::{self, Access};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution, SymbolKind};
use crate::sparse::{Analysis, Reads};
use crate::values::ValueId;
use crate::walks::Walk;

/// What one evaluation takes, in steps of the budget.
const VISIT: u64 = 4;
/// Values that are made of more are not looked into.
const VALUES: usize = 512;
/// What changes more often has no end.
const CHANGES: u32 = 24;

/// How a definition makes its value.
#[derive(Clone)]
enum Made<'a> {
    /// By something that is not looked into.
    Opaque,
    /// By an instruction that computes.
    Computed(&'a Computing),
    /// By one that gives the same address in another window.
    Converted(Placed),
    /// By one that computes what is left of a division.
    Left(Remainder),
}

/// The analysis of ranges, while values are found.
pub(super) struct OfRanges<'a, 'f> {
    ranges: &'a Ranges,
    function: &'a Function<'f>,
    made: FxHashMap<DefinitionId, Made<'a>>,
    /// By operand that reads one of several values: what compares say of each.
    limits: FxHashMap<u32, Vec<Limited>>,
}

impl Analysis for OfRanges<'_, '_> {
    type Value = Counted;

    const VISIT: u64 = VISIT;
    const MOST: usize = VALUES;
    const NARROWINGS: u32 = 2;

    fn known(&self, value: ValueId) -> Option<Counted> {
        self.ranges.known.borrow().get(&value).copied()
    }

    fn sources(&mut self, id: DefinitionId, visit: &mut dyn FnMut(u32, ValueId)) {
        let made = self.find_made(id);
        let is_opaque = matches!(made, Made::Opaque);
        self.made.insert(id, made);
        if is_opaque {
            return;
        }
        let instruction = self.function.definitions.get(id).instruction;
        registers::accesses(self.function.unit, instruction, &mut |register, operand, access| {
            let value =
                (access == Access::Read).then(|| self.function.value(instruction, register)).flatten();
            let Some(value) = value else { return };
            let limits = match value {
                ValueId::Join(_) => self.find_limits(instruction, register, value),
                ValueId::Definition(_) => Vec::new(),
            };
            if limits.is_empty() {
                visit(operand, value);
            } else {
                // They are read one by one, not as what they are together.
                for (input, _) in &limits {
                    visit(operand, *input);
                }
                self.limits.insert(operand, limits);
            }
        });
    }

    fn make(&mut self, id: DefinitionId, reads: Reads<'_, Counted>) -> Option<Counted> {
        let instruction = self.function.definitions.get(id).instruction;
        let made = match self.made.get(&id).cloned().unwrap_or(Made::Opaque) {
            Made::Opaque => None,
            Made::Computed(computing) => self.computed(instruction, computing, reads)?,
            Made::Converted(from) => {
                Some(self.argument(from, 64, reads)?).filter(|it| it.base != Base::Unknown)
            }
            Made::Left(Remainder { by, times, is_signed, of, until }) => {
                let mut whole = Arguments::new();
                argument::flatten(self.function.unit, of, Some(Type::U32), &mut whole);
                let of = self.argument(*whole.first()?, u32::BITS, reads)?.number();
                let is_negative = is_signed && of.first().is_none_or(|first| first < 0);
                let is_far = !is_signed && until < i64::from(u32::MAX);
                let is_left =
                    !is_far || of.fits(u32::BITS) && of.last().is_some_and(|last| last / times <= until);
                is_left.then(|| {
                    let last = by - 1;
                    Counted::of(Numbers::between(if is_negative { -last } else { 0 }, last).times(times))
                })
            }
        };
        Some(made.unwrap_or(Counted::made(id)))
    }

    fn join(&mut self, one: &Counted, other: &Counted) -> Counted {
        one.or(*other)
    }

    fn widen(&mut self, value: ValueId, old: &Counted, joined: Counted, changes: u32) -> Counted {
        let keeps_first = joined.numbers.first() == old.numbers.first();
        if changes > 3 * CHANGES {
            Counted::UNKNOWN
        } else if changes > CHANGES {
            Counted { numbers: if keeps_first { joined.numbers.upwards() } else { Numbers::ANY }, ..joined }
        } else if keeps_first && self.counts_on(value) {
            Counted { numbers: joined.numbers.upwards(), ..joined }
        } else {
            joined
        }
    }
}

impl<'a, 'f> OfRanges<'a, 'f> {
    pub(super) fn new(ranges: &'a Ranges, function: &'a Function<'f>) -> Self {
        Self { ranges, function, made: FxHashMap::default(), limits: FxHashMap::default() }
    }

    /// Whether what meets in a phi is itself with a number added, on and on: it has no end, however often it is
    /// evaluated.
    fn counts_on(&self, phi: ValueId) -> bool {
        let ValueId::Join(join) = phi else { return false };
        let inputs = self.function.definitions.joined(join);
        inputs.iter().any(|input| self.is_added_to(*input, phi))
    }

    /// Whether a value is that of a phi with a number added that is more than 0, and no lane.
    fn is_added_to(&self, value: ValueId, phi: ValueId) -> bool {
        /// Copies that are followed.
        const COPIES: usize = 4;
        /// More is not added to an address in shared memory.
        const FAR: i64 = 1 << 12;
        let mut value = value;
        for _ in 0..COPIES {
            let ValueId::Definition(id) = value else { return false };
            let Some(Made::Computed(computing)) = self.made.get(&id) else { return false };
            let instruction = self.function.definitions.get(id).instruction;
            let read = |placed: &Placed| {
                let register =
                    placed.argument.register().filter(|_| !self.limits.contains_key(&placed.operand));
                self.function.value(instruction, register?)
            };
            match (computing.operation, computing.sources()) {
                (Operation::Mov, [from]) => match read(from) {
                    Some(copied) => value = copied,
                    None => return false,
                },
                (Operation::Add, [one, other]) => {
                    let (to, by) = match (one.argument, other.argument) {
                        (_, Argument::Constant(by)) => (one, by),
                        (Argument::Constant(by), _) => (other, by),
                        _ => return false,
                    };
                    let bits = computing.arithmetic.map_or(64, |it| it.result_bits(0, 1));
                    return read(to) == Some(phi) && (1..=FAR).contains(&extended(by, bits));
                }
                _ => return false,
            }
        }
        false
    }

    /// What compares say of values that meet, on all ways from where each was made to where it is read.
    fn find_limits(&self, reader: u32, register: RegisterId, value: ValueId) -> Vec<Limited> {
        /// Branches that are looked at.
        const BRANCHES: usize = 4;
        let Function { definitions, budget, cfg, .. } = *self.function;
        let tests = self.ranges.tests(self.function, register);
        let Some(inputs) = definitions.all(value, budget).filter(|_| !tests.is_empty()) else {
            return Vec::new();
        };
        let limit = |id: DefinitionId| {
            let mut limits: SmallVec<[Limit; 2]> = SmallVec::new();
            let concerns = |test: &&Test| test.value == ValueId::Definition(id) || test.value == value;
            for test in tests.iter().filter(concerns).take(BRANCHES) {
                for successor in &cfg.block(test.block).successors {
                    let falls = successor.0 == test.block.0 + 1;
                    let relation = if falls { test.taken.negated() } else { test.taken };
                    if !self.is_reached_past(id, reader, test, *successor) {
                        limits.push((relation, test.with));
                    }
                }
            }
            (ValueId::Definition(id), limits)
        };
        let limits: Vec<_> = inputs.into_iter().map(limit).collect();
        if limits.iter().all(|(_, limits)| limits.is_empty()) { Vec::new() } else { limits }
    }

    /// Whether what a definition makes gets to a reader of the register without leaving a test to this
    /// successor.
    fn is_reached_past(&self, id: DefinitionId, reader: u32, test: &Test, successor: BlockId) -> bool {
        let Function { definitions, budget, cfg, .. } = *self.function;
        let made = definitions.get(id);
        let (Some(from), Some(to)) = (cfg.block_of(made.instruction), cfg.block_of(reader)) else {
            return true;
        };
        if from == to && made.instruction < reader {
            return true;
        }
        // In its own block, the test is of this value only if it stands behind.
        let tests_itself = from != test.block || made.instruction < test.compare;
        let stops: FxHashSet<BlockId> = definitions
            .of(made.register)
            .iter()
            .map(|id| definitions.get(*id))
            .filter(|it| !it.guarded)
            .filter_map(|it| cfg.block_of(it.instruction))
            .collect();
        let mut blocks = Walk::new(budget, [from]);
        while let Some(block) = blocks.pop() {
            if block != from && stops.contains(&block) {
                continue;
            }
            let is_test = block == test.block && (block != from || tests_itself);
            let next = cfg.block(block).successors.iter().filter(|next| !is_test || **next != successor);
            // Written before it is read there, too: then it is not read, but who knows.
            if next.clone().any(|next| *next == to) {
                return true;
            }
            blocks.extend(next.copied());
        }
        !blocks.is_complete()
    }

    /// How a definition makes its value.
    fn find_made(&self, id: DefinitionId) -> Made<'a> {
        let Function { unit, definitions, .. } = *self.function;
        let Definition { instruction, operand, register, .. } = *definitions.get(id);
        let opcode = unit.operations.of(instruction);
        let is_word = |bits: Option<u32>| matches!(bits, Some(16 | 32 | 64));
        if !is_followed(opcode)
            || !is_word(opcode.types.last().and_then(|ty| ty.bits()))
            || !self.function.is_local(unit.symbols.register(register))
        {
            return Made::Opaque;
        }
        if let Some(left) = remainder::remainder(self.function, instruction) {
            return Made::Left(left);
        }
        if opcode.computes() == Computation::ConvertAddress {
            let operands = unit.module.instructions[instruction as usize].operands;
            let mut from = Arguments::new();
            if operands.len == 2 {
                argument::flatten(unit, operands.start + 1, None, &mut from);
            }
            return from.first().map_or(Made::Opaque, |from| Made::Converted(*from));
        }
        match self.function.computing(instruction) {
            // The first of several that are unpacked is only a part.
            Some(it) if it.position(operand) == Some(0) && !is_unpacked(it) => Made::Computed(it),
            Some(_) | None => Made::Opaque,
        }
    }

    /// What an instruction makes: nothing yet where that waits for others, or nothing that is understood.
    #[allow(clippy::option_option, reason = "it may have to wait, and it may not be understood")]
    fn computed(
        &self,
        instruction: u32,
        computing: &Computing,
        reads: Reads<'_, Counted>,
    ) -> Option<Option<Counted>> {
        let Some(arithmetic) = computing.arithmetic else { return Some(None) };
        let count = computing.sources().len();
        let bits = |position: usize| arithmetic.source_bits(position, count).unwrap_or(64);
        if let (Operation::Selp, [yes, no, holds]) = (computing.operation, computing.sources()) {
            let yes = self.selected(instruction, (*yes, *holds, true), bits(0), reads);
            let no = self.selected(instruction, (*no, *holds, false), bits(1), reads);
            return match (yes, no) {
                (Some(yes), Some(no)) => Some(Some(yes.or(no)).filter(|it| it.base != Base::Unknown)),
                // The other one is not known yet, or is never chosen.
                (only, None) | (None, only) => only.map(Some),
            };
        }
        let sources: SmallVec<[Option<Counted>; 4]> = computing
            .sources()
            .iter()
            .enumerate()
            .map(|(position, it)| self.argument(*it, bits(position), reads).map(Some))
            .collect::<Option<_>>()?;
        Some(arithmetic.transfer(&mut Intervals, &sources, 0, computing.results().len()))
    }

    /// One of the two operands of a `selp`, as far as it can be that where it is chosen.
    fn selected(
        &self,
        instruction: u32,
        (of, predicate, holds): (Placed, Placed, bool),
        width: u32,
        reads: Reads<'_, Counted>,
    ) -> Option<Counted> {
        let index = of.operand;
        let value = self.argument(of, width, reads)?;
        let Argument::Register { id: predicate, .. } = predicate.argument else { return Some(value) };
        if value.base != Base::Nothing || value.lanes {
            return Some(value);
        }
        let Some((relation, with)) = self.condition(instruction, index, predicate) else {
            return Some(value);
        };
        let relation = if holds { relation } else { relation.negated() };
        Some(Counted { numbers: value.numbers.compared(relation, with)?, ..value })
    }

    /// How an operand compares with a number where a predicate holds.
    fn condition(&self, instruction: u32, index: u32, predicate: RegisterId) -> Option<Limit> {
        let function = self.function;
        let Compared { compare, register, relation, with } = compared(function, instruction, predicate)?;
        let Resolution::Register(operand) = function.unit.symbols.operand(index) else { return None };
        let block = function.cfg.block_of(instruction)?;
        if function.cfg.block_of(compare) != Some(block) {
            return None;
        }
        let (one, of_one) = self.counter(block, instruction, operand)?;
        let (other, of_other) = self.counter(block, compare, register)?;
        (one == other).then_some((relation, with.checked_add(of_one)?.checked_sub(of_other)?))
    }

    /// What a register is a constant away from, by what the instructions of one block add to it: a
    /// register that is not written in the block, or what the last of them makes.
    fn counter(&self, block: BlockId, reader: u32, register: RegisterId) -> Option<(Counter, i64)> {
        /// Additions that are followed.
        const STEPS: usize = 8;
        let Function { unit, cfg, definitions, .. } = *self.function;
        let (mut at, mut register, mut sum) = (reader, register, 0i64);
        for _ in 0..STEPS {
            let all = definitions.of(register);
            let before = all.partition_point(|id| definitions.get(*id).instruction < at);
            let last = before.checked_sub(1).map(|last| definitions.get(all[last]));
            let Some(last) = last.filter(|it| cfg.block_of(it.instruction) == Some(block)) else {
                // As it was where the block is entered.
                return Some((Counter::Entered(register), sum));
            };
            let made = last.instruction;
            let raw = &unit.module.instructions[made as usize];
            let opcode = unit.operations.of(made);
            let next = if raw.operands.len >= 2 {
                unit.symbols.operand(raw.operands.start + 1)
            } else {
                Resolution::Undeclared
            };
            let by = match opcode.computes() {
                _ if last.guarded || opcode.has_flag(Flag::Sat) => None,
                Computation::Move if raw.operands.len == 2 => Some(0),
                Computation::Arithmetic(Arithmetic::Add)
                    if raw.operands.len == 3 && opcode.types.len() == 1 =>
                {
                    literal(self.function, raw.operands.start + 2).and_then(|by| signed(by, opcode.types[0]))
                }
                _ => None,
            };
            match (by, next) {
                (Some(by), Resolution::Register(next)) => {
                    sum = sum.checked_add(by)?;
                    (at, register) = (made, next);
                }
                _ => return Some((Counter::Made(made), sum)),
            }
        }
        None
    }

    /// What an argument of so many bits can be: nothing yet where that waits for others.
    fn argument(&self, placed: Placed, width: u32, reads: Reads<'_, Counted>) -> Option<Counted> {
        Some(match placed.argument {
            Argument::Register { id: _, part: 0 } => match self.limits.get(&placed.operand) {
                Some(limits) => return limited(limits, reads.all_of(placed.operand)),
                None if reads.is_read(placed.operand) => return reads.of(placed.operand).copied(),
                None => Counted::UNKNOWN,
            },
            Argument::Constant(value) if matches!(width, 16 | 32 | 64) => {
                Counted::of(Numbers::from(extended(value, width)))
            }
            Argument::Symbol { id, offset, generic: false }
                if matches!(self.function.unit.symbols.symbol(id).kind, SymbolKind::Variable { .. }) =>
            {
                Counted { base: Base::Variable(id), numbers: Numbers::from(offset), lanes: false }
            }
            Argument::Special(it) => special(it),
            Argument::Register { .. }
            | Argument::Constant(_)
            | Argument::Not(_)
            | Argument::Symbol { .. }
            | Argument::Carry
            | Argument::Sink
            | Argument::Opaque => Counted::UNKNOWN,
        })
    }
}

/// What one of several values is, each as far as compares allow it.
fn limited<'v>(limits: &[Limited], values: impl Iterator<Item = Option<&'v Counted>>) -> Option<Counted> {
    let limited = limits.iter().zip(values).filter_map(|((_, limits), value)| {
        let value = *value?;
        if value.base != Base::Nothing {
            return Some(value);
        }
        let numbers = limits
            .iter()
            .try_fold(value.numbers, |numbers, (relation, with)| numbers.compared(*relation, *with))?;
        Some(Counted { numbers, ..value })
    });
    limited.reduce(Counted::or)
}

/// A number with a sign: what is added to an address may be written as the complement of two.
fn extended(bits: u64, width: u32) -> i64 {
    let unused = u64::BITS - width.clamp(1, u64::BITS);
    (bits << unused).cast_signed() >> unused
}

/// What registers of one block are counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counter {
    /// A register where the block is entered.
    Entered(RegisterId),
    /// What an instruction of the block makes.
    Made(u32),
}

/// Whether what it makes is looked into: what the domain has an answer for.
fn is_followed(opcode: &Opcode) -> bool {
    let is_answered = match opcode.computes() {
        Computation::Move
        | Computation::Convert
        | Computation::And
        | Computation::Or
        | Computation::Xor
        | Computation::Bits(Bits::ShiftLeft | Bits::ShiftRight | Bits::Extract)
        | Computation::Arithmetic(
            Arithmetic::Add
            | Arithmetic::Subtract
            | Arithmetic::Multiply
            | Arithmetic::MultiplyAdd
            | Arithmetic::Divide
            | Arithmetic::Remainder,
        )
        | Computation::Select
        | Computation::Shuffle => true,
        Computation::ConvertAddress => return true,
        Computation::Other
        | Computation::Not
        | Computation::Bits(_)
        | Computation::Arithmetic(_)
        | Computation::Compare
        | Computation::Load
        | Computation::Elect => false,
    };
    is_answered && matches!(opcode.arithmetic(), Some(Ok(it)) if it.is_followed())
}

/// Whether an instruction takes a word apart.
fn is_unpacked(computing: &Computing) -> bool {
    computing.operation == Operation::Mov && computing.results().len() > 1
}
