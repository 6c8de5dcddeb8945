//! Which threads of a block execute an instruction: the conditions on the way to it, tried for each
//! thread.
//!
//! What tells threads apart in a kernel is made of a few registers of the machine by plain arithmetic:
//! `(%tid.x & 31) < 16`, `%tid.x < 40`, `%tid.x >> 5 == 0` through a shuffle. So no algebra is needed:
//! such a condition is evaluated for each of the at most 1024 threads. What else a condition may be made
//! of is not known, but perhaps that it is the same for a whole warp.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::cfg::BlockId;
use super::control::{Deciding, Way};
use super::definitions::{Definition, DefinitionId};
use super::function::Function;
use super::uniformity::Uniformity;
use super::values::ValueId;
use crate::isa::generic::{BooleanOperator, Computation, Control, Flag, Modifier, Part, ShuffleMode, Type};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::ast::{BinaryOperator, OperandKind, RawInstruction, UnaryOperator};
use crate::syntax::literal;

/// The most threads that a block can have.
const MOST: usize = 1024;

/// How long a chain of definitions is followed.
const DEEP: u32 = 40;

/// What it takes to evaluate something for all threads, in steps of the budget.
const ALL_THREADS: u64 = 64;

/// A set of threads of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadSet([u64; MOST / 64]);

impl ThreadSet {
    const EMPTY: Self = Self([0; MOST / 64]);

    fn below(count: usize) -> Self {
        let mut set = Self::EMPTY;
        (0..count.min(MOST)).for_each(|thread| set.insert(thread));
        set
    }

    fn insert(&mut self, thread: usize) {
        self.0[thread / 64] |= 1 << (thread % 64);
    }

    fn zip(self, other: Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        let mut words = self.0;
        words.iter_mut().zip(other.0).for_each(|(word, other)| *word = combine(*word, other));
        Self(words)
    }

    fn and(self, other: Self) -> Self {
        self.zip(other, |one, other| one & other)
    }

    fn or(self, other: Self) -> Self {
        self.zip(other, |one, other| one | other)
    }

    fn without(self, other: Self) -> Self {
        self.zip(other, |one, other| one & !other)
    }

    /// Whether no thread is in it.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The lanes of each warp that are in it, one bit each.
    pub fn warps(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32])
    }
}

/// For which threads something holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holds {
    /// Those for which it certainly does.
    yes: ThreadSet,
    /// Those for which it certainly does not.
    no: ThreadSet,
    /// Whether the others of each warp agree, whatever it is.
    agrees: bool,
    /// Whether an election has part in it, of which it does not matter which thread it elects.
    elects: bool,
}

impl Holds {
    const NEVER_KNOWN: Self =
        Self { yes: ThreadSet::EMPTY, no: ThreadSet::EMPTY, agrees: false, elects: false };

    fn not(self) -> Self {
        Self { yes: self.no, no: self.yes, ..self }
    }

    fn not_if(self, negated: bool) -> Self {
        if negated { self.not() } else { self }
    }

    fn and(self, other: Self, all: ThreadSet) -> Self {
        // Which thread is elected is not known: with what parts a warp, nothing more is.
        match (self.elects, other.elects) {
            (true, true) => return Self { elects: true, ..Self::NEVER_KNOWN },
            (true, false) if !other.is_of_warps(all) => {
                return Self { no: other.no, elects: true, ..Self::NEVER_KNOWN };
            }
            (false, true) if !self.is_of_warps(all) => {
                return Self { no: self.no, elects: true, ..Self::NEVER_KNOWN };
            }
            _ => {}
        }
        Self {
            yes: self.yes.and(other.yes),
            no: self.no.or(other.no),
            agrees: self.agrees_with(&other, all),
            elects: self.elects || other.elects,
        }
    }

    fn or(self, other: Self, all: ThreadSet) -> Self {
        self.not().and(other.not(), all).not()
    }

    /// Whether it holds for whole warps or for none of their threads.
    fn is_of_warps(&self, all: ThreadSet) -> bool {
        let whole = |set: ThreadSet| set.warps().zip(all.warps()).all(|(set, all)| set == 0 || set == all);
        self.agrees && whole(self.yes) && whole(self.no)
    }

    /// Whether what is unknown of both together agrees in each warp: of one all is known, or of neither
    /// anything.
    fn agrees_with(&self, other: &Self, all: ThreadSet) -> bool {
        let is_known = |it: &Self| it.yes.or(it.no) == all;
        let is_unknown = |it: &Self| it.yes.or(it.no).is_empty();
        self.agrees
            && other.agrees
            && (is_known(self) || is_known(other) || is_unknown(self) && is_unknown(other))
    }
}

/// Who executes an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Executes {
    holds: Holds,
    all: ThreadSet,
    /// Whether the block has exactly these threads.
    is_exact: bool,
}

impl Executes {
    /// The threads that certainly execute it, where every block has them.
    fn certain(&self) -> impl Iterator<Item = u32> + '_ {
        let shown = if self.is_exact { usize::MAX } else { 1 };
        self.holds.yes.warps().take(shown)
    }

    /// The threads of each warp that may execute it, and those that there are.
    fn possible(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let all = self.all.warps().collect::<Vec<u32>>();
        let possible = self.all.without(self.holds.no).warps().collect::<Vec<u32>>();
        possible.into_iter().zip(all).filter(|(_, all)| *all != 0)
    }

    /// Whether nobody executes it.
    pub fn is_nobody(&self) -> bool {
        self.all.without(self.holds.no).is_empty()
    }

    /// Whether some thread may execute it.
    pub fn is_somebody(&self) -> bool {
        !self.is_nobody()
    }

    /// The lanes of a warp of which some certainly execute it and others do not, wherever a warp does at
    /// all.
    pub fn part_of_warp(&self) -> Option<u32> {
        let mut reached = self.possible().filter(|(possible, _)| *possible != 0).peekable();
        let first = reached.peek().map(|(possible, _)| *possible)?;
        if reached.all(|(possible, all)| possible != all) {
            return Some(first);
        }
        let mut certain = self.certain().zip(self.possible());
        certain.find(|(yes, (possible, all))| *yes != 0 && possible != all).map(|(_, (possible, _))| possible)
    }

    /// How many threads of one warp certainly execute it, where a warp does at all; the fewest.
    pub fn threads_of_warp(&self) -> Option<u32> {
        if let Some(certain) = self.certain().map(u32::count_ones).filter(|count| *count > 1).max() {
            return Some(certain);
        }
        if !self.holds.agrees {
            return None;
        }
        // The others of a warp do, too, or do not.
        let fewest = |(yes, (possible, _)): (u32, (u32, u32))| {
            if yes == 0 { possible.count_ones() } else { yes.count_ones() }
        };
        self.holds.yes.warps().zip(self.possible()).map(fewest).filter(|count| *count > 0).min()
    }

    /// Whether no thread that executes it can execute the other one as well.
    pub fn is_apart_from(&self, other: &Self) -> bool {
        let mut pairs = self.possible().zip(other.possible());
        if self.holds.elects || other.holds.elects {
            pairs.all(|((one, _), (other, _))| one == 0 || other == 0)
        } else {
            pairs.all(|((one, _), (other, _))| one & other == 0)
        }
    }

    /// Whether no warp can execute both.
    pub fn is_of_other_warps(&self, other: &Self) -> bool {
        self.possible().zip(other.possible()).all(|((one, _), (other, _))| one == 0 || other == 0)
    }

    /// Whether a warp executes it that certainly does not execute the other one, if blocks are as large as
    /// they can be.
    pub fn is_of_more_warps_than(&self, other: &Self) -> bool {
        self.holds.yes.warps().zip(other.possible()).any(|(one, (other, _))| one != 0 && other == 0)
    }

    /// How many warps certainly execute it.
    pub fn warps(&self) -> usize {
        self.certain().filter(|lanes| *lanes != 0).count()
    }

    /// The warps that certainly execute it, and those that may, one bit each, where the number of
    /// threads is known.
    pub fn warp_sets(&self) -> Option<(u32, u32)> {
        let bits = |set: &mut dyn Iterator<Item = bool>| {
            set.enumerate().fold(0, |bits, (warp, holds)| bits | u32::from(holds) << warp)
        };
        let yes = bits(&mut self.holds.yes.warps().map(|lanes| lanes != 0));
        let may = bits(&mut self.all.without(self.holds.no).warps().map(|lanes| lanes != 0));
        self.is_exact.then_some((yes, may))
    }
}

/// A number in each thread.
type Numbers = Arc<[u64]>;

/// What is known of a value in each thread.
#[derive(Clone, Debug)]
enum Value {
    Number(Numbers),
    Truth(Arc<Holds>),
}

/// The threads of the blocks of one kernel.
#[derive(Debug)]
pub struct Executing<'a> {
    function: Function<'a>,
    uniformity: &'a Uniformity,
    /// The rank of the CTA in its cluster, if that is looked at.
    rank: Option<u32>,
    size: [u64; 3],
    is_exact: bool,
    all: ThreadSet,
    deciding: &'a Deciding,
    found: Known<'a>,
}

/// What was found out about the threads of a kernel, as far as it was asked for.
#[derive(Debug, Default)]
pub struct FoundOut {
    values: RefCell<FxHashMap<DefinitionId, Option<Value>>>,
    blocks: RefCell<FxHashMap<BlockId, Holds>>,
}

/// Where that is kept.
#[derive(Debug)]
pub enum Known<'a> {
    /// For all who ask.
    Shared(&'a FoundOut),
    /// For one question.
    Own(Box<FoundOut>),
}

impl std::ops::Deref for Known<'_> {
    type Target = FoundOut;

    fn deref(&self) -> &FoundOut {
        match self {
            Self::Shared(found) => found,
            Self::Own(found) => found,
        }
    }
}

impl<'a> Executing<'a> {
    /// Looks at the threads of a kernel; at those of the CTA with this rank in its cluster, if one is
    /// given. `found` is what is known of these already.
    pub fn new(
        function: Function<'a>,
        uniformity: &'a Uniformity,
        rank: Option<u32>,
        found: Known<'a>,
    ) -> Self {
        let given = function
            .block_size()
            .filter(|[x, y, z]| x.saturating_mul(*y).saturating_mul(*z) <= MOST as u64 && *x > 0);
        // Where rows of threads are no warps, that is said.
        let size = given.unwrap_or([MOST as u64, 1, 1]);
        let deciding = uniformity.deciding(&function, function.budget);
        Self {
            function,
            uniformity,
            rank,
            size,
            is_exact: given.is_some(),
            all: ThreadSet::below(size.iter().product::<u64>() as usize),
            deciding,
            found,
        }
    }

    /// Who executes an instruction.
    pub fn of(&self, instruction: u32) -> Option<Executes> {
        let function = &self.function;
        let block = function.cfg.block_of(instruction)?;
        if !self.deciding.is_complete || self.deciding.goes_back {
            return None;
        }
        let raw = &function.unit.module.instructions[instruction as usize];
        let reached = self.block(block)?;
        let holds = match function.unit.module.guard(raw) {
            Some(guard) => reached.and(self.guard(instruction).not_if(guard.negated), self.all),
            None => reached,
        };
        Some(Executes { holds, all: self.all, is_exact: self.is_exact })
    }

    /// The threads that get to a block.
    fn block(&self, block: BlockId) -> Option<Holds> {
        if let Some(known) = self.found.blocks.borrow().get(&block) {
            return Some(*known);
        }
        let everybody = Holds { yes: self.all, no: ThreadSet::EMPTY, agrees: true, elects: false };
        // Blocks whose branches have to be known first, the last one on top.
        let mut work = vec![block];
        while let Some(&at) = work.last() {
            if !self.function.budget.take(ALL_THREADS) {
                return None;
            }
            let deciding = &self.deciding.blocks[at.index()];
            let missing: Vec<BlockId> = {
                let known = self.found.blocks.borrow();
                deciding.iter().map(|(branch, _)| *branch).filter(|it| !known.contains_key(it)).collect()
            };
            if !missing.is_empty() {
                // A circle has no beginning.
                if work.len() > self.function.cfg.len() {
                    return None;
                }
                work.extend(missing);
                continue;
            }
            work.pop();
            let mut reached: Option<Holds> = None;
            for (branch, way) in deciding {
                let from = self.found.blocks.borrow()[branch];
                let through = match way {
                    Way::Only(successor) => from.and(self.edge(*branch, *successor), self.all),
                    Way::Several => from,
                };
                reached = Some(reached.map_or(through, |other| other.or(through, self.all)));
            }
            self.found.blocks.borrow_mut().insert(at, reached.unwrap_or(everybody));
        }
        self.found.blocks.borrow().get(&block).copied()
    }

    /// The threads that leave a block to another one, of those that get there.
    fn edge(&self, block: BlockId, successor: BlockId) -> Holds {
        let function = &self.function;
        let content = function.cfg.block(block);
        let next = BlockId(block.0 + 1);
        let Some(branch) = content.branch else { return Holds::NEVER_KNOWN };
        let raw = &function.unit.module.instructions[branch as usize];
        let control = function.unit.operations.of(branch).control();
        let Some(guard) = function.unit.module.guard(raw) else { return Holds::NEVER_KNOWN };
        let taken = match control {
            Control::Branch if content.successors.len() == 2 => successor != next,
            Control::Return | Control::Exit | Control::Trap if successor == next => false,
            Control::Branch
            | Control::Return
            | Control::Exit
            | Control::Trap
            | Control::IndexedBranch
            | Control::Next
            | Control::Call => return Holds::NEVER_KNOWN,
        };
        self.guard(branch).not_if(guard.negated == taken)
    }

    /// The threads for which the guard register of an instruction is true.
    fn guard(&self, instruction: u32) -> Holds {
        match self.function.unit.symbols.guard(instruction) {
            Resolution::Register(register) => self.truth(instruction, register, 0),
            _ => Holds::NEVER_KNOWN,
        }
    }

    /// The threads for which a register is true, or not zero.
    fn truth(&self, instruction: u32, register: RegisterId, depth: u32) -> Holds {
        match self.read(instruction, register, depth) {
            Some(Value::Truth(holds)) => *holds,
            Some(Value::Number(numbers)) => self.known(|thread| numbers[thread] != 0),
            None => {
                let function = &self.function;
                let agrees = function
                    .value(instruction, register)
                    .is_some_and(|value| !self.uniformity.may_differ(function, value, function.budget));
                Holds { agrees, ..Holds::NEVER_KNOWN }
            }
        }
    }

    /// Whether something holds, which is known of each thread.
    fn known(&self, holds: impl Fn(usize) -> bool) -> Holds {
        let mut yes = ThreadSet::EMPTY;
        (0..self.threads()).filter(|thread| holds(*thread)).for_each(|thread| yes.insert(thread));
        Holds { yes, no: self.all.without(yes), agrees: true, elects: false }
    }

    fn threads(&self) -> usize {
        self.size.iter().product::<u64>() as usize
    }

    /// A number for each thread, if the budget is enough for that.
    fn numbers(&self, number: impl Fn(usize) -> u64) -> Option<Value> {
        if !self.function.budget.take(ALL_THREADS) {
            return None;
        }
        Some(Value::Number((0..self.threads()).map(number).collect()))
    }

    /// What a register holds where an instruction reads it.
    fn read(&self, instruction: u32, register: RegisterId, depth: u32) -> Option<Value> {
        let function = &self.function;
        if depth >= DEEP {
            return None;
        }
        match function.value(instruction, register)? {
            ValueId::Definition(id) => {
                let definition = *function.definitions.get(id);
                if definition.guarded || definition.instruction == instruction {
                    return None;
                }
                self.definition(id, definition, depth)
            }
            // `mov r, 0; @p mov r, 1`
            ValueId::Join(join) => {
                let [ValueId::Definition(one), ValueId::Definition(other)] =
                    function.definitions.joined(join)[..]
                else {
                    return None;
                };
                let (first, second) = (*function.definitions.get(one), *function.definitions.get(other));
                let (before, then, (base, over)) = match (first.guarded, second.guarded) {
                    (false, true) => (first, second, (one, other)),
                    (true, false) => (second, first, (other, one)),
                    (true, true) | (false, false) => return None,
                };
                let places = [before.instruction, then.instruction, instruction];
                let blocks = places.map(|it| function.cfg.block_of(it));
                let [Some(start), Some(middle), Some(end)] = blocks else { return None };
                let ordered = |one: (BlockId, u32), other: (BlockId, u32)| {
                    if one.0 == other.0 { one.1 < other.1 } else { function.cfg.dominates(one.0, other.0) }
                };
                if !ordered((start, places[0]), (middle, places[1]))
                    || !ordered((middle, places[1]), (end, places[2]))
                {
                    return None;
                }
                let raw = &function.unit.module.instructions[then.instruction as usize];
                let guard = function.unit.module.guard(raw)?;
                let holds = self.guard(then.instruction).not_if(guard.negated);
                let (Value::Number(old), Value::Number(new)) =
                    (self.definition(base, before, depth)?, self.definition(over, then, depth)?)
                else {
                    return None;
                };
                self.select(&new, &old, &holds)
            }
        }
    }

    /// One number where something holds, and another where it does not.
    fn select(&self, yes: &Numbers, no: &Numbers, holds: &Holds) -> Option<Value> {
        if holds.yes.or(holds.no) != self.all {
            return None;
        }
        let is_yes = |thread: usize| holds.yes.0[thread / 64] >> (thread % 64) & 1 == 1;
        self.numbers(|thread| if is_yes(thread) { yes[thread] } else { no[thread] })
    }

    fn definition(&self, id: DefinitionId, definition: Definition, depth: u32) -> Option<Value> {
        if let Some(known) = self.found.values.borrow().get(&id) {
            return known.clone();
        }
        if !self.function.budget.take(1) {
            return None;
        }
        // What is made of itself has no value.
        self.found.values.borrow_mut().insert(id, None);
        let value = self.evaluate(definition, depth + 1);
        self.found.values.borrow_mut().insert(id, value.clone());
        value
    }

    fn operand(&self, instruction: u32, index: u32, depth: u32) -> Option<Value> {
        let unit = self.function.unit;
        let operand = unit.module.operands.get(index as usize)?;
        if let Some(value) = literal::evaluate(&unit.source, &unit.module, operand) {
            return self.numbers(|_| (value & i128::from(u64::MAX)) as u64);
        }
        if operand.kind() != OperandKind::Name {
            return None;
        }
        match unit.symbols.operand(index) {
            Resolution::Register(register) => self.read(instruction, register, depth),
            Resolution::Special => self.special(unit.source.slice(operand.span())),
            _ => None,
        }
    }

    fn number(&self, instruction: u32, raw: &RawInstruction, position: u32, depth: u32) -> Option<Numbers> {
        if position >= raw.operands.len {
            return None;
        }
        match self.operand(instruction, raw.operands.start + position, depth)? {
            Value::Number(numbers) => Some(numbers),
            Value::Truth(_) => None,
        }
    }

    fn predicate(&self, instruction: u32, index: u32, depth: u32) -> Holds {
        let unit = self.function.unit;
        let operand = &unit.module.operands[index as usize];
        if let Some(value) = literal::evaluate(&unit.source, &unit.module, operand) {
            return self.known(|_| value != 0);
        }
        match operand.kind() {
            OperandKind::Unary(UnaryOperator::Not, part) if part.len == 1 && depth < DEEP => {
                self.predicate(instruction, part.start, depth + 1).not()
            }
            OperandKind::Name => match unit.symbols.operand(index) {
                Resolution::Register(register) => self.truth(instruction, register, depth),
                _ => Holds::NEVER_KNOWN,
            },
            _ => Holds::NEVER_KNOWN,
        }
    }

    /// A register of the machine.
    fn special(&self, name: &str) -> Option<Value> {
        let [x, y, _] = self.size;
        let of = |thread: usize| thread as u64;
        match name {
            "%tid.x" | "%tid" => self.numbers(|thread| of(thread) % x),
            "%tid.y" if self.is_exact => self.numbers(|thread| of(thread) / x % y),
            "%tid.z" if self.is_exact => self.numbers(|thread| of(thread) / (x * y)),
            "%ntid.x" | "%ntid" if self.is_exact => self.numbers(|_| x),
            "%ntid.y" if self.is_exact => self.numbers(|_| y),
            "%laneid" => self.numbers(|thread| of(thread) % 32),
            "%cluster_ctarank" => {
                let rank = self.rank?;
                self.numbers(|_| u64::from(rank))
            }
            _ => None,
        }
    }

    fn evaluate(&self, definition: Definition, depth: u32) -> Option<Value> {
        let function = &self.function;
        let at = definition.instruction;
        let raw = &function.unit.module.instructions[at as usize];
        let opcode = function.unit.operations.of(at);
        if opcode.computes() == Computation::Elect {
            return self.elected(definition, raw);
        }
        let ty = *opcode.types.last()?;
        if ty == Type::Pred {
            return self.logic(at, raw, opcode, depth);
        }
        if opcode.computes() == Computation::Compare {
            return self.compare(definition, raw, opcode, ty, depth);
        }
        let first = function.unit.module.operands(raw.operands).first()?.kind();
        let is_first = definition.operand == raw.operands.start
            || matches!(first, OperandKind::Binary(_, parts) if parts.start == definition.operand);
        if !is_first
            || matches!(first, OperandKind::Vector(_))
            || ty.is_float()
            || ty.is_packed()
            || opcode.has_flag(Flag::Sat)
        {
            return None;
        }
        let width = ty.bits().filter(|bits| *bits <= 64)?;
        let cut = |value: u64| if width == 64 { value } else { value & ((1 << width) - 1) };
        let signed = |value: u64| {
            let unused = 64 - width;
            (value << unused).cast_signed() >> unused
        };
        let is_signed = ty.is_signed();
        let argument = |position: u32| self.number(at, raw, position, depth);
        let part = opcode.modifier(|modifier| match modifier {
            Modifier::Part(part) => Some(part),
            _ => None,
        });
        let of_two = |combine: &dyn Fn(u64, u64) -> u64| {
            let (a, b) = (argument(1)?, argument(2)?);
            self.numbers(|thread| cut(combine(cut(a[thread]), cut(b[thread]))))
        };
        match opcode.computes() {
            Computation::Move => {
                let a = argument(1)?;
                self.numbers(|thread| cut(a[thread]))
            }
            Computation::Convert => {
                let [to, _] = opcode.types[..] else { return None };
                let to = to.bits().filter(|bits| *bits <= 64)?;
                let a = argument(1)?;
                self.numbers(|thread| {
                    let value = if is_signed { signed(a[thread]).cast_unsigned() } else { cut(a[thread]) };
                    if to == 64 { value } else { value & ((1 << to) - 1) }
                })
            }
            Computation::And => of_two(&|a, b| a & b),
            Computation::Or => of_two(&|a, b| a | b),
            Computation::Xor => of_two(&|a, b| a ^ b),
            Computation::Not => {
                let a = argument(1)?;
                self.numbers(|thread| cut(!a[thread]))
            }
            Computation::ShiftLeft => of_two(&|a, by| if by < u64::from(width) { a << by } else { 0 }),
            Computation::ShiftRight => of_two(&|a, by| {
                let by = by.min(u64::from(width));
                if is_signed {
                    (signed(a) >> by.min(63)).cast_unsigned()
                } else {
                    a.checked_shr(by as u32).unwrap_or(0)
                }
            }),
            Computation::Add => of_two(&u64::wrapping_add),
            Computation::Subtract => of_two(&u64::wrapping_sub),
            Computation::Multiply if part == Some(Part::Lo) => of_two(&u64::wrapping_mul),
            Computation::MultiplyAdd if part == Some(Part::Lo) => {
                let (a, b, c) = (argument(1)?, argument(2)?, argument(3)?);
                self.numbers(|thread| cut(a[thread].wrapping_mul(b[thread]).wrapping_add(c[thread])))
            }
            // Numbers of threads are not negative.
            Computation::Divide | Computation::Remainder => {
                let (a, b) = (argument(1)?, argument(2)?);
                let is_small = |numbers: &Numbers| numbers.iter().all(|number| signed(*number) >= 0);
                if !is_small(&a) || !is_small(&b) || b.contains(&0) {
                    return None;
                }
                let divides = opcode.computes() == Computation::Divide;
                self.numbers(|thread| if divides { a[thread] / b[thread] } else { a[thread] % b[thread] })
            }
            Computation::ExtractBits if !is_signed => {
                let (a, start, len) = (argument(1)?, argument(2)?, argument(3)?);
                self.numbers(|thread| {
                    let len = len[thread].min(63) as u32;
                    cut(a[thread]).checked_shr(start[thread] as u32).unwrap_or(0) & ((1 << len) - 1)
                })
            }
            Computation::Select => {
                let (a, b) = (argument(1)?, argument(2)?);
                self.select(&a, &b, &self.predicate(at, raw.operands.start + 3, depth))
            }
            // From one lane to all.
            Computation::Shuffle if opcode.has(Modifier::ShuffleMode(ShuffleMode::Idx)) => {
                let (a, from) = (argument(1)?, argument(2)?);
                let is_plain = self.threads().is_multiple_of(32) && from.iter().all(|lane| *lane < 32);
                is_plain.then(|| self.numbers(|thread| a[thread / 32 * 32 + from[thread] as usize]))?
            }
            Computation::Other
            | Computation::ConvertAddress
            | Computation::Lop3
            | Computation::Negate
            | Computation::Multiply
            | Computation::MultiplyAdd
            | Computation::ExtractBits
            | Computation::InsertBits
            | Computation::Permute
            | Computation::Compare
            | Computation::Shuffle
            | Computation::Load
            | Computation::Elect => None,
        }
    }

    /// A predicate that is made of predicates.
    fn logic(&self, at: u32, raw: &RawInstruction, opcode: &Opcode, depth: u32) -> Option<Value> {
        let part = |position: u32| {
            if position < raw.operands.len {
                self.predicate(at, raw.operands.start + position, depth)
            } else {
                Holds::NEVER_KNOWN
            }
        };
        let exclusive = |a: Holds, b: Holds| a.and(b.not(), self.all).or(a.not().and(b, self.all), self.all);
        let holds = match opcode.computes() {
            Computation::Move => part(1),
            Computation::Not => part(1).not(),
            Computation::And => part(1).and(part(2), self.all),
            Computation::Or => part(1).or(part(2), self.all),
            Computation::Xor => exclusive(part(1), part(2)),
            Computation::Other
            | Computation::Convert
            | Computation::ConvertAddress
            | Computation::Lop3
            | Computation::ShiftLeft
            | Computation::ShiftRight
            | Computation::Add
            | Computation::Subtract
            | Computation::Negate
            | Computation::Multiply
            | Computation::MultiplyAdd
            | Computation::Divide
            | Computation::Remainder
            | Computation::ExtractBits
            | Computation::InsertBits
            | Computation::Permute
            | Computation::Select
            | Computation::Compare
            | Computation::Shuffle
            | Computation::Load
            | Computation::Elect => return None,
        };
        Some(Value::Truth(Arc::new(holds)))
    }

    /// `elect.sync`: one thread of each warp, and it does not matter which.
    fn elected(&self, definition: Definition, raw: &RawInstruction) -> Option<Value> {
        let first = self.function.unit.module.operands(raw.operands).first()?.kind();
        let here = self.block(self.function.cfg.block_of(definition.instruction)?)?;
        match first {
            OperandKind::Binary(BinaryOperator::Or, parts)
                if definition.operand == parts.start + 1 && here.is_of_warps(self.all) =>
            {
                let first = self.known(|thread| thread.is_multiple_of(32));
                Some(Value::Truth(Arc::new(Holds { elects: true, ..first })))
            }
            _ => None,
        }
    }

    fn compare(
        &self,
        definition: Definition,
        raw: &RawInstruction,
        opcode: &Opcode,
        ty: Type,
        depth: u32,
    ) -> Option<Value> {
        let at = definition.instruction;
        let relation = opcode.comparison()?.of_integers(ty)?;
        let width = ty.bits().filter(|bits| *bits <= 64)?;
        let numbers = self.number(at, raw, 1, depth).zip(self.number(at, raw, 2, depth));
        let holds = if let Some((a, b)) = numbers {
            let turn = if relation.is_signed { 1u64 << (width - 1) } else { 0 };
            let cut = |value: u64| if width == 64 { value } else { value & ((1 << width) - 1) };
            self.known(|thread| relation.holds((cut(a[thread]) ^ turn).cmp(&(cut(b[thread]) ^ turn))))
        } else {
            // What is compared may agree in a warp, whatever it is.
            let function = &self.function;
            let agrees =
                (1..3).all(|position| match function.unit.symbols.operand(raw.operands.start + position) {
                    Resolution::Register(register) => function
                        .value(at, register)
                        .is_some_and(|value| !self.uniformity.may_differ(function, value, function.budget)),
                    Resolution::Special => false,
                    _ => true,
                });
            Holds { agrees, ..Holds::NEVER_KNOWN }
        };
        let first = function_first(&self.function, raw)?;
        let is_second = matches!(first, OperandKind::Binary(BinaryOperator::Or, parts) if definition.operand == parts.start + 1);
        let holds = holds.not_if(is_second);
        let with = || self.predicate(at, raw.operands.start + 3, depth);
        let holds = match opcode.boolean_operator() {
            Some(BooleanOperator::And) => holds.and(with(), self.all),
            Some(BooleanOperator::Or) => holds.or(with(), self.all),
            Some(BooleanOperator::Xor) => return None,
            None => holds,
        };
        Some(Value::Truth(Arc::new(holds)))
    }

    /// The instruction that makes the condition which parts a warp on the way to an instruction: that of
    /// its guard, or of the nearest branch.
    pub fn parted_by(&self, instruction: u32) -> Option<u32> {
        let function = &self.function;
        let parts = |holds: Holds| {
            let (no, all) = (holds.no.warps(), self.all.warps());
            no.zip(all).any(|(no, all)| no != 0 && no != all)
        };
        let made = |at: u32| {
            let Resolution::Register(register) = function.unit.symbols.guard(at) else { return None };
            Some(function.definitions.get(function.only(at, register)?).instruction)
        };
        let raw = &function.unit.module.instructions[instruction as usize];
        if let Some(guard) = function.unit.module.guard(raw)
            && parts(self.guard(instruction).not_if(guard.negated))
        {
            return made(instruction);
        }
        let mut block = function.cfg.block_of(instruction)?;
        // Outwards.
        for _ in 0..function.cfg.len() {
            let (branch, way) = *self.deciding.blocks[block.index()].first()?;
            if let Way::Only(successor) = way
                && parts(self.edge(branch, successor))
            {
                return made(function.cfg.block(branch).branch?);
            }
            block = branch;
        }
        None
    }
}

fn function_first(function: &Function<'_>, raw: &RawInstruction) -> Option<OperandKind> {
    function.unit.module.operands(raw.operands).first().map(crate::syntax::ast::Operand::kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::budget::Budget;
    use crate::analysis::cfg::Cfg;
    use crate::analysis::definitions::{Definitions, RegisterSet};
    use crate::resolve::unit::Unit;
    use crate::source::Source;

    /// Who executes the instruction `trap` of a kernel with these directives, in the CTA of this rank.
    fn trap(directives: &str, rank: Option<u32>, body: &str) -> Executes {
        let text = format!(
            ".version 9.0\n.target sm_100a\n.entry k(.param .u32 n) {directives} {{ .reg .pred p<9>; \
             .reg .b32 r<9>; mov.u32 r0, %tid.x; mov.u32 r1, %laneid; {body} }}"
        );
        let source = Source::new("t", text).unwrap();
        let unit = Unit::new(&source);
        let module = &unit.module;
        let (_, function) = module.bodies().next().unwrap();
        let cfg = Cfg::new(&unit, function.body);
        let budget = Budget::default();
        let definitions = Definitions::new(&unit, &cfg, &mut RegisterSet::default());
        let function = Function { unit: &unit, cfg: &cfg, definitions: &definitions, budget: &budget };
        let at = module.instructions.iter().position(|it| source.slice(it.opcode) == "trap").unwrap() as u32;
        let uniformity = Uniformity::new(&function, &[cfg.block_of(at).unwrap()], &[at], &budget);
        Executing::new(function, &uniformity, rank, Known::Own(Box::default())).of(at).unwrap()
    }

    /// The lanes of each warp that certainly execute it, and those that may, up to the last warp that may.
    fn lanes(directives: &str, body: &str) -> (Vec<u32>, Vec<u32>) {
        let executes = trap(directives, None, body);
        let possible: Vec<u32> = executes.possible().map(|(lanes, _)| lanes).collect();
        let last = possible.iter().rposition(|lanes| *lanes != 0).map_or(0, |at| at + 1);
        let certain: Vec<u32> = executes.holds.yes.warps().take(last).collect();
        (certain, possible[..last].to_vec())
    }

    fn known(lanes: &[u32]) -> (Vec<u32>, Vec<u32>) {
        (lanes.to_vec(), lanes.to_vec())
    }

    const ALL: u32 = u32::MAX;

    #[test]
    fn conditions_are_tried_for_each_thread() {
        let in_two = |body: &str| lanes(".reqntid 64", body);
        assert_eq!(in_two("trap;"), known(&[ALL, ALL]));
        assert_eq!(in_two("setp.lt.u32 p1, r0, 40; @p1 trap;"), known(&[ALL, 0xFF]));
        assert_eq!(in_two("and.b32 r2, r0, 1; setp.eq.u32 p1, r2, 1; @p1 trap;"), known(&[0xAAAA_AAAA; 2]));
        assert_eq!(in_two("setp.ge.s32 p1, r1, 30; @p1 trap;"), known(&[0xC000_0000; 2]));
        assert_eq!(in_two("shr.u32 r2, r0, 5; setp.eq.u32 p1, r2, 1; @p1 trap;"), known(&[0, ALL]));
        assert_eq!(in_two("div.u32 r2, r0, 32; setp.ne.u32 p1, r2, 1; @p1 trap;"), known(&[ALL]));
        assert_eq!(in_two("elect.sync _|p1, -1; @p1 trap;"), known(&[1, 1]));
        assert_eq!(in_two("elect.sync _|p1, -1; @!p1 trap;"), known(&[!1, !1]));
        let shuffled = "shr.u32 r2, r0, 5; shfl.sync.idx.b32 r3, r2, 0, 31, -1; setp.eq.u32 p1, r3, 1;";
        assert_eq!(in_two(&format!("{shuffled} @p1 trap;")), known(&[0, ALL]));
        assert_eq!(in_two("setp.lt.u32 p1, r0, 8; setp.eq.or.u32 p2, r0, 9, p1; @p2 trap;"), known(&[0x2FF]));
        assert_eq!(
            in_two("setp.lt.u32 p1, r0, 8; selp.u32 r2, 5, 6, p1; setp.eq.u32 p2, r2, 6; @p2 trap;"),
            { known(&[!0xFF, ALL]) }
        );
        assert_eq!(
            in_two(
                "mov.u32 r2, 0; setp.lt.u32 p1, r0, 8; @p1 mov.u32 r2, 1; setp.ne.u32 p2, r2, 0; @p2 trap;"
            ),
            { known(&[0xFF]) }
        );
    }

    #[test]
    fn paths_part_threads() {
        let in_two = |body: &str| lanes(".reqntid 64", body);
        assert_eq!(in_two("setp.lt.u32 p1, r0, 40; @p1 bra L; trap; L: ret;"), known(&[0, !0xFF]));
        assert_eq!(in_two("setp.lt.u32 p1, r0, 40; @p1 ret; trap;"), known(&[0, !0xFF]));
        assert_eq!(in_two("setp.lt.u32 p1, r0, 40; @p1 bra L; bar.sync 0; L: trap;"), known(&[ALL, ALL]));
        let nested = "setp.lt.u32 p1, r0, 40; setp.lt.u32 p2, r1, 4; @!p1 bra L; @!p2 bra L; trap; L: ret;";
        assert_eq!(in_two(nested), known(&[0xF, 0xF]));
        let either = "setp.eq.u32 p1, r0, 3; setp.eq.u32 p2, r0, 40; @p1 bra M; @!p2 bra L; M: trap; L: ret;";
        assert_eq!(in_two(either), known(&[8, 0x100]));
    }

    #[test]
    fn what_is_not_known_is_not_certain() {
        let param = "ld.param.u32 r2, [n]; setp.eq.u32 p1, r2, 3;";
        assert_eq!(lanes(".reqntid 32", &format!("{param} @p1 trap;")), (vec![0], vec![ALL]));
        let with_lane = format!("{param} setp.lt.and.u32 p2, r1, 16, p1; @p2 trap;");
        assert_eq!(lanes(".reqntid 32", &with_lane), (vec![0], vec![0xFFFF]));
        // Whatever it is, it is the same for all of a warp.
        assert_eq!(trap("", None, &with_lane).part_of_warp(), Some(0xFFFF));
        assert_eq!(trap("", None, &with_lane).threads_of_warp(), Some(16));
        let shared =
            "ld.global.u32 r2, [r3]; setp.eq.u32 p1, r2, 3; setp.lt.and.u32 p2, r1, 16, p1; @p2 trap;";
        assert_eq!(trap("", None, shared).threads_of_warp(), None);
    }

    #[test]
    fn blocks_may_be_smaller() {
        let body = "setp.lt.u32 p1, r0, 40; @p1 trap;";
        assert_eq!(trap("", None, body).part_of_warp(), None);
        assert_eq!(trap(".reqntid 128", None, body).part_of_warp(), Some(0xFF));
        assert_eq!(trap("", None, "trap;").warps(), 1);
        assert_eq!(trap(".reqntid 128", None, "trap;").warps(), 4);
        assert_eq!(
            trap(".reqntid 8, 8", None, "mov.u32 r2, %tid.y; setp.eq.u32 p1, r2, 5; @p1 trap;").warps(),
            1
        );
        // The last warp of such a block is small.
        assert_eq!(trap(".reqntid 40", None, "setp.ge.u32 p1, r0, 32; @p1 trap;").part_of_warp(), None);
    }

    #[test]
    fn ranks() {
        let leader = "mov.u32 r2, %cluster_ctarank; and.b32 r2, r2, 1; setp.eq.u32 p1, r2, 0; @p1 trap;";
        assert!(trap("", Some(0), leader).is_somebody());
        assert!(trap("", Some(1), leader).is_nobody());
        assert!(trap("", None, leader).is_somebody());
    }

    #[test]
    fn threads_apart() {
        let of = |body: &str| trap(".reqntid 64", None, body);
        let first = of("setp.eq.u32 p1, r0, 0; @p1 trap;");
        let second = of("setp.eq.u32 p1, r0, 1; @p1 trap;");
        let elected = of("elect.sync _|p1, -1; setp.lt.and.u32 p2, r0, 32, p1; @p2 trap;");
        let other = of("setp.eq.u32 p1, r0, 32; @p1 trap;");
        assert!(first.is_apart_from(&second) && !first.is_of_other_warps(&second));
        // Any thread of the warp may be elected.
        assert!(!second.is_apart_from(&elected) && other.is_apart_from(&elected));
        assert!(of("trap;").is_of_more_warps_than(&first) && !first.is_of_more_warps_than(&of("trap;")));
    }
}
