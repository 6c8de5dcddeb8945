//! Finds values that are made of each other: inner ones first, and what goes round until nothing changes.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::conditions::{Compared, Limit, Limited, Test, compared, literal, signed};
use super::counted::{Base, Counted, is_rounded, joined, masked, product, special};
use super::remainder::{self, Remainder};
use super::{Numbers, Ranges};
use crate::cfg::BlockId;
use crate::definitions::{Definition, DefinitionId};
use crate::function::Function;
use crate::isa::generic::{Arithmetic, Bits, Computation, Flag, Modifier, Part, Type};
use crate::registers::{self, Access};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution, SymbolKind};
use crate::syntax::ast::{BinaryOperator, OperandKind, RawInstruction};
use crate::values::{JoinId, ValueId};

/// What one evaluation takes, in steps of the budget.
const VISIT: u64 = 4;
/// Values that are made of more are not looked into.
const VALUES: usize = 512;
/// Most values are made of fewer.
const FEW: usize = 8;
/// What changes more often has no end.
const CHANGES: u32 = 24;

/// How a value is made.
#[derive(Clone, Copy)]
enum Made<'f> {
    /// It is one of several.
    Joined(JoinId),
    /// By something that is not looked into.
    Opaque(DefinitionId),
    /// By an instruction that computes values of a type.
    Computed(DefinitionId, &'f RawInstruction, &'f Opcode, Type),
    /// By one that computes what is left of a division.
    Left(DefinitionId, Remainder, Type),
}

/// Values that are made of each other, while they are found.
pub(super) struct Solver<'a, 'f> {
    ranges: &'a Ranges,
    function: &'a Function<'f>,
    /// By slot.
    order: SmallVec<[ValueId; FEW]>,
    slots: FxHashMap<ValueId, u32>,
    /// By slot; none where nothing is known to get there yet.
    values: SmallVec<[Option<Counted>; FEW]>,
    /// By slot: how it is made.
    made: SmallVec<[Made<'f>; FEW]>,
    /// By slot: those that are made of it.
    feeds: SmallVec<[SmallVec<[u32; 2]>; FEW]>,
    /// By join: what it is one of.
    inputs: FxHashMap<JoinId, Box<[Term]>>,
    /// The one that is evaluated.
    current: u32,
    /// By operand: what it reads.
    terms: FxHashMap<u32, Term>,
}

impl<'a, 'f> Solver<'a, 'f> {
    pub(super) fn new(ranges: &'a Ranges, function: &'a Function<'f>) -> Self {
        Self {
            ranges,
            function,
            order: SmallVec::new(),
            slots: FxHashMap::default(),
            values: SmallVec::new(),
            made: SmallVec::new(),
            feeds: SmallVec::new(),
            inputs: FxHashMap::default(),
            current: 0,
            terms: FxHashMap::default(),
        }
    }

    /// Finds a value and all that it is made of, unless that is too much.
    pub(super) fn solve(&mut self, value: ValueId) -> Option<Vec<(ValueId, Counted)>> {
        let inner_first = self.collect(value)?;
        self.values = SmallVec::from_elem(None, self.order.len());
        let mut changes: SmallVec<[u32; FEW]> = SmallVec::from_elem(0, self.order.len());
        let mut is_due: SmallVec<[bool; FEW]> = SmallVec::from_elem(true, self.order.len());
        let mut goes_round = false;
        // By slot: its place in the order. What goes round is settled before what is made of it.
        let mut places: SmallVec<[u32; FEW]> = SmallVec::from_elem(0, self.order.len());
        for (place, slot) in inner_first.iter().enumerate() {
            places[*slot as usize] = place as u32;
        }
        let mut next = 0;
        while let Some(&slot) = inner_first.get(next) {
            next += 1;
            if !std::mem::take(&mut is_due[slot as usize]) {
                continue;
            }
            if !self.function.budget.take(VISIT) {
                return None;
            }
            let Some(new) = self.evaluate(slot) else { continue };
            let mut joined = new;
            if let Some(old) = self.values[slot as usize] {
                joined = old.or(new);
                if joined == old {
                    continue;
                }
                goes_round = true;
                let changes = &mut changes[slot as usize];
                *changes += 1;
                let keeps_first = joined.numbers.first() == old.numbers.first();
                if *changes > 3 * CHANGES {
                    joined = Counted::UNKNOWN;
                } else if *changes > CHANGES {
                    let numbers = if keeps_first { joined.numbers.upwards() } else { Numbers::ANY };
                    joined = Counted { numbers, ..joined };
                } else if keeps_first && self.counts_on(slot) {
                    joined = Counted { numbers: joined.numbers.upwards(), ..joined };
                }
                if joined == old {
                    continue;
                }
            }
            self.values[slot as usize] = Some(joined);
            for fed in &self.feeds[slot as usize] {
                is_due[*fed as usize] = true;
                next = next.min(places[*fed as usize] as usize);
            }
        }
        // What was said to have no end may have one.
        for _ in 0..if goes_round { 2 } else { 0 } {
            for &slot in &inner_first {
                if let (Some(new), Some(old)) = (self.evaluate(slot), self.values[slot as usize])
                    && old.or(new) == old
                {
                    self.values[slot as usize] = Some(new);
                }
            }
        }
        let found = self.order.iter().zip(&self.values);
        Some(found.map(|(id, value)| (*id, value.unwrap_or(Counted::UNKNOWN))).collect())
    }

    /// The values that were looked at.
    pub(super) fn looked_at(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.order.iter().copied()
    }

    /// Gives slots to a value and all that it is made of; returns them in an order in which a value comes
    /// behind what it is made of, but for what goes round.
    fn collect(&mut self, value: ValueId) -> Option<SmallVec<[u32; FEW]>> {
        enum Step {
            Enter(ValueId),
            Leave(u32),
        }
        let ranges = self.ranges;
        let known = ranges.known.borrow();
        let mut inner_first = SmallVec::new();
        let mut work: SmallVec<[Step; 2 * FEW]> = smallvec![Step::Enter(value)];
        let mut made: SmallVec<[(ValueId, u32); FEW]> = SmallVec::new();
        let mut sources: SmallVec<[ValueId; FEW]> = SmallVec::new();
        while let Some(step) = work.pop() {
            let value = match step {
                Step::Enter(value) => value,
                Step::Leave(slot) => {
                    inner_first.push(slot);
                    continue;
                }
            };
            if known.contains_key(&value) || self.slots.contains_key(&value) {
                continue;
            }
            if self.order.len() == VALUES || !self.function.budget.take(VISIT) {
                return None;
            }
            let slot = self.order.len() as u32;
            self.slots.insert(value, slot);
            self.order.push(value);
            self.made.push(self.made(value));
            self.feeds.push(SmallVec::new());
            work.push(Step::Leave(slot));
            self.sources(value, &mut sources);
            for source in sources.drain(..) {
                made.push((source, slot));
                work.push(Step::Enter(source));
            }
        }
        for (source, slot) in made {
            self.feed(source, slot);
        }
        Some(inner_first)
    }

    /// Takes note that a value is made of another one.
    fn feed(&mut self, source: ValueId, slot: u32) {
        if let Some(source) = self.slots.get(&source) {
            let feeds = &mut self.feeds[*source as usize];
            if !feeds.contains(&slot) {
                feeds.push(slot);
            }
        }
    }

    /// What a value is made of.
    fn sources(&self, value: ValueId, into: &mut SmallVec<[ValueId; FEW]>) {
        let Function { unit, definitions, .. } = *self.function;
        let id = match value {
            ValueId::Definition(id) => id,
            ValueId::Join(join) => return into.extend_from_slice(&definitions.joined(join)),
        };
        let instruction = definitions.get(id).instruction;
        if !is_followed(unit.operations.of(instruction).computes()) {
            return;
        }
        registers::accesses(unit, instruction, &mut |register, _, access| {
            if access == Access::Read {
                into.extend(self.function.value(instruction, register));
            }
        });
    }

    fn get(&self, value: ValueId) -> Option<Counted> {
        match self.slots.get(&value) {
            Some(slot) => self.values[*slot as usize],
            None => Some(self.known(value)),
        }
    }

    /// What was found out before of a value that has no slot.
    fn known(&self, value: ValueId) -> Counted {
        self.ranges.known.borrow().get(&value).copied().unwrap_or(Counted::UNKNOWN)
    }

    /// What a value can be, by what is known of others so far.
    fn evaluate(&mut self, slot: u32) -> Option<Counted> {
        self.current = slot;
        match self.made[slot as usize] {
            Made::Joined(join) => {
                let inputs = if let Some(inputs) = self.inputs.get(&join) {
                    inputs
                } else {
                    let inputs = self.function.definitions.joined(join);
                    let inputs = inputs.iter().map(|input| self.term_of(*input)).collect();
                    self.inputs.insert(join, inputs);
                    &self.inputs[&join]
                };
                inputs.iter().filter_map(|input| self.read(input)).reduce(Counted::or)
            }
            Made::Opaque(id) => Some(Counted::made(id)),
            Made::Computed(id, raw, opcode, ty) => {
                let instruction = self.function.definitions.get(id).instruction;
                let made = self.computed(instruction, raw, opcode, ty)?;
                Some(made.unwrap_or(Counted::made(id)))
            }
            Made::Left(id, Remainder { by, times, is_signed, of, until }, ty) => {
                let instruction = self.function.definitions.get(id).instruction;
                let of = self.operand(instruction, of, ty)?.number();
                let is_negative = is_signed && of.first().is_none_or(|first| first < 0);
                let is_far = !is_signed && until < i64::from(u32::MAX);
                if is_far && !(of.fits(u32::BITS) && of.last().is_some_and(|last| last / times <= until)) {
                    return Some(Counted::made(id));
                }
                let last = by - 1;
                let left = Numbers::between(if is_negative { -last } else { 0 }, last);
                Some(Counted::of(left.times(times)))
            }
        }
    }

    /// Whether what meets in a join is itself with a number added, on and on: it has no end, however often it is
    /// evaluated.
    fn counts_on(&self, join: u32) -> bool {
        let Made::Joined(id) = self.made[join as usize] else { return false };
        let inputs = self.inputs.get(&id).map_or(&[][..], |inputs| inputs);
        inputs.iter().any(|input| match input {
            Term::Value(slot) => self.is_added_to(*slot, join),
            Term::Known(_) | Term::Limited(_) => false,
        })
    }

    /// Whether a value is that of `join` with a number added that is more than 0, and no lane.
    fn is_added_to(&self, slot: u32, join: u32) -> bool {
        /// Copies that are followed.
        const COPIES: usize = 4;
        /// More is not added to an address in shared memory.
        const FAR: i64 = 1 << 12;
        let mut slot = slot;
        for _ in 0..COPIES {
            let Made::Computed(_, raw, opcode, _) = self.made[slot as usize] else { return false };
            let term = |index| self.terms.get(&(raw.operands.start + index));
            match (opcode.computes(), raw.operands.len) {
                (Computation::Move, 2) => match term(1) {
                    Some(Term::Value(copied)) => slot = *copied,
                    _ => return false,
                },
                (Computation::Arithmetic(Arithmetic::Add), 3) => {
                    return match (term(1), term(2)) {
                        (Some(Term::Value(to)), Some(Term::Known(by)))
                        | (Some(Term::Known(by)), Some(Term::Value(to))) => {
                            let by = by.number().single();
                            *to == join && by.is_some_and(|by| (1..=FAR).contains(&by))
                        }
                        _ => false,
                    };
                }
                _ => return false,
            }
        }
        false
    }

    /// What one of several values is, each as far as compares allow it.
    fn limited(&self, values: &[Limited]) -> Option<Counted> {
        let limited = values.iter().filter_map(|(input, limits)| {
            let value = self.get(*input)?;
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
        let mut seen: FxHashSet<BlockId> = FxHashSet::default();
        let mut work = vec![from];
        while let Some(block) = work.pop() {
            for next in &cfg.block(block).successors {
                let is_the_edge =
                    block == test.block && *next == successor && (block != from || tests_itself);
                if is_the_edge || !seen.insert(*next) {
                    continue;
                }
                // Written before it is read there, too: then it is not read, but who knows.
                if *next == to || !budget.take(1) {
                    return true;
                }
                if !stops.contains(next) {
                    work.push(*next);
                }
            }
        }
        false
    }

    /// How a value is made.
    fn made(&self, value: ValueId) -> Made<'f> {
        let Function { unit, definitions, .. } = *self.function;
        let id = match value {
            ValueId::Definition(id) => id,
            ValueId::Join(join) => return Made::Joined(join),
        };
        let Definition { instruction, operand, register, .. } = *definitions.get(id);
        let raw = &unit.module.instructions[instruction as usize];
        let opcode = unit.operations.of(instruction);
        let ty = opcode.types.last().copied().filter(|ty| matches!(ty.bits(), Some(16 | 32 | 64)));
        match ty {
            Some(ty)
                if is_followed(opcode.computes())
                    && (operand == raw.operands.start
                        || self.function.first_of_pair(raw.operands, operand))
                    && !opcode.has_flag(Flag::Sat)
                    && !opcode.types.iter().any(|ty| ty.is_float() || ty.is_packed())
                    && self.function.is_local(unit.symbols.register(register)) =>
            {
                match remainder::remainder(self.function, instruction) {
                    Some(left) => Made::Left(id, left, ty),
                    None => Made::Computed(id, raw, opcode, ty),
                }
            }
            _ => Made::Opaque(id),
        }
    }

    /// What an instruction makes: nothing yet where that waits for others, or nothing that is understood.
    #[allow(clippy::option_option, reason = "it may have to wait, and it may not be understood")]
    fn computed(
        &mut self,
        instruction: u32,
        raw: &RawInstruction,
        opcode: &Opcode,
        ty: Type,
    ) -> Option<Option<Counted>> {
        let width = ty.bits().unwrap_or(64);
        let first = raw.operands.start;
        let count = raw.operands.len;
        let part = opcode.modifier(|modifier| match modifier {
            Modifier::Part(part) => Some(part),
            _ => None,
        });
        let a = if count > 1 { self.operand(instruction, first + 1, ty)? } else { Counted::UNKNOWN };
        let single = |counted: Counted| counted.number().single();
        // All of a long product is there, and what is written without a sign has none.
        let is_word = |a: Counted, b: Counted| {
            let is_positive = |it: Counted| it.number().first().is_some_and(|first| first >= 0);
            part != Some(Part::Wide) || ty.is_signed() || is_positive(a) && b.numbers.fits(width)
        };
        Some(match opcode.computes() {
            Computation::Move if count == 2 => Some(a).filter(|it| it.base != Base::Unknown),
            // Of what another lane has, the same is known.
            Computation::Shuffle => {
                Some(a).filter(|it| matches!(it.base, Base::Nothing | Base::Variable(_)) && !it.lanes)
            }
            Computation::Convert => {
                let to = opcode.types.first().and_then(|ty| ty.bits()).unwrap_or(64);
                // What is cut is something else, and so is what has a sign and gets longer.
                let keeps = to >= width.min(32) && (to <= width || a.numbers.fits(48) || ty.is_signed());
                Some(a).filter(|it| keeps && it.base != Base::Unknown)
            }
            Computation::ConvertAddress => Some(a).filter(|it| it.base != Base::Unknown),
            Computation::Arithmetic(Arithmetic::Add) if count == 3 => {
                a.plus(self.operand(instruction, first + 2, ty)?)
            }
            Computation::Arithmetic(Arithmetic::Subtract) if count == 3 => {
                self.operand(instruction, first + 2, ty)?.negated().and_then(|by| a.plus(by))
            }
            Computation::Or if count == 3 => {
                let b = self.operand(instruction, first + 2, ty)?;
                joined(a, b, width)
            }
            Computation::And if count == 3 => {
                let mask = literal(self.function, first + 2).or_else(|| literal(self.function, first + 1));
                let of = if literal(self.function, first + 1).is_some() {
                    self.operand(instruction, first + 2, ty)?
                } else {
                    a
                };
                // What is rounded down is where something begins.
                mask.filter(|mask| !is_rounded(of, *mask, width)).and_then(|mask| masked(of, mask, width))
            }
            Computation::Xor if count == 3 => {
                let b = self.operand(instruction, first + 2, ty)?;
                // No bit is set above the highest of either.
                let bits = |it: Counted| (0..32).find(|bits| it.number().fits(*bits));
                bits(a).zip(bits(b)).map(|(a, b)| Counted::of(Numbers::between(0, (1 << a.max(b)) - 1)))
            }
            Computation::Bits(Bits::ShiftLeft) => single(self.operand(instruction, first + 2, ty)?)
                .filter(|by| (0..i64::from(width.min(32))).contains(by) && a.base == Base::Nothing)
                .map(|by| Counted { numbers: a.numbers.times(1 << by), ..a }),
            Computation::Bits(Bits::ShiftRight) => single(self.operand(instruction, first + 2, ty)?)
                .filter(|by| {
                    (0..i64::from(width)).contains(by) && (!ty.is_signed() || a.number().fits(width - 1))
                })
                .filter(|by| *by < 48 && (width <= 32 || a.number().fits(width)))
                .map(|by| Counted::of(a.number().divided(1 << by, width))),
            Computation::Arithmetic(Arithmetic::Divide | Arithmetic::Remainder) => {
                let is_rest = opcode.computes() == Computation::Arithmetic(Arithmetic::Remainder);
                let fits = !ty.is_signed() || a.number().fits(width - 1);
                single(self.operand(instruction, first + 2, ty)?).filter(|by| *by > 0 && fits).and_then(
                    |by| {
                        if !is_rest {
                            return (width <= 32).then(|| Counted::of(a.number().divided(by, width)));
                        }
                        let below = a.number().last().filter(|_| a.number().fits(width));
                        let numbers = match below {
                            Some(last) if last < by => a.number(),
                            _ => Numbers::between(0, by - 1),
                        };
                        Some(Counted::of(numbers))
                    },
                )
            }
            Computation::Arithmetic(Arithmetic::Multiply) if part == Some(Part::Hi) => {
                let by = literal(self.function, first + 2).filter(|_| width == 32 && !ty.is_signed());
                by.map(|by| Counted::of(a.number().high(by as u32)))
            }
            Computation::Arithmetic(Arithmetic::Multiply) => {
                let b = self.operand(instruction, first + 2, ty)?;
                if is_word(a, b) { product(a, b) } else { None }
            }
            Computation::Arithmetic(Arithmetic::MultiplyAdd) if part != Some(Part::Hi) && count == 4 => {
                let b = self.operand(instruction, first + 2, ty)?;
                let c = self.operand(instruction, first + 3, ty)?;
                product(a, b).filter(|_| is_word(a, b)).and_then(|product| product.plus(c))
            }
            Computation::Bits(Bits::Extract) if !ty.is_signed() => {
                let at = single(self.operand(instruction, first + 2, ty)?);
                let len = single(self.operand(instruction, first + 3, ty)?);
                match (at, len) {
                    (Some(0), Some(len @ 1..32)) => Some(Counted::of(a.number().low_bits(len as u32))),
                    (Some(_), Some(len @ 1..32)) => Some(Counted::of(Numbers::between(0, (1 << len) - 1))),
                    _ => None,
                }
            }
            Computation::Select if count == 4 => {
                let yes = self.selected(instruction, first + 1, first + 3, true, ty);
                let no = self.selected(instruction, first + 2, first + 3, false, ty);
                match (yes, no) {
                    (Some(yes), Some(no)) => Some(yes.or(no)).filter(|it| it.base != Base::Unknown),
                    // The other one is not known yet, or is never chosen.
                    (only, None) | (None, only) => return only.map(Some),
                }
            }
            _ => None,
        })
    }

    /// One of the two operands of a `selp`, as far as it can be that where it is chosen.
    fn selected(
        &mut self,
        instruction: u32,
        index: u32,
        predicate: u32,
        holds: bool,
        ty: Type,
    ) -> Option<Counted> {
        let value = self.operand(instruction, index, ty)?;
        let Resolution::Register(predicate) = self.function.unit.symbols.operand(predicate) else {
            return Some(value);
        };
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

    /// What an operand can be: nothing yet where that waits for others.
    fn operand(&mut self, instruction: u32, index: u32, ty: Type) -> Option<Counted> {
        let term = if let Some(term) = self.terms.get(&index) {
            term
        } else {
            let term = self.term(instruction, index, ty);
            self.terms.insert(index, term);
            &self.terms[&index]
        };
        self.read(term)
    }

    fn read(&self, term: &Term) -> Option<Counted> {
        match term {
            Term::Known(known) => Some(*known),
            Term::Value(slot) => self.values[*slot as usize],
            Term::Limited(values) => self.limited(values),
        }
    }

    fn term_of(&self, value: ValueId) -> Term {
        match self.slots.get(&value) {
            Some(slot) => Term::Value(*slot),
            None => Term::Known(self.known(value)),
        }
    }

    fn term(&mut self, instruction: u32, index: u32, ty: Type) -> Term {
        const UNKNOWN: Term = Term::Known(Counted::UNKNOWN);
        let Function { unit, .. } = *self.function;
        let Some(operand) = unit.module.operands.get(index as usize) else { return UNKNOWN };
        if operand.is_name()
            && let Resolution::Register(register) = unit.symbols.operand(index)
        {
            return self.register(instruction, register);
        }
        if let Some(value) = literal(self.function, index) {
            return signed(value, ty).map_or(UNKNOWN, |value| Term::Known(Counted::of(Numbers::from(value))));
        }
        // `variable+8`
        let (index, by) = match operand.kind() {
            OperandKind::Name => (index, 0),
            OperandKind::Binary(BinaryOperator::Add, sum) if sum.len == 2 => {
                match literal(self.function, sum.start + 1).and_then(|by| signed(by, ty)) {
                    Some(by) => (sum.start, by),
                    None => return UNKNOWN,
                }
            }
            _ => return UNKNOWN,
        };
        match unit.symbols.operand(index) {
            Resolution::Symbol(symbol)
                if matches!(unit.symbols.symbol(symbol).kind, SymbolKind::Variable { .. }) =>
            {
                let base = Base::Variable(symbol);
                Term::Known(Counted { base, numbers: Numbers::from(by), lanes: false })
            }
            Resolution::Special(it) => Term::Known(special(it)),
            _ => UNKNOWN,
        }
    }

    /// What a register holds where it is read.
    fn register(&mut self, instruction: u32, register: RegisterId) -> Term {
        let Some(value) = self.function.value(instruction, register) else {
            return Term::Known(Counted::UNKNOWN);
        };
        if let ValueId::Join(_) = value {
            let values = self.find_limits(instruction, register, value);
            if !values.is_empty() {
                // They are read one by one, not as what they are together.
                for (input, _) in &values {
                    self.feed(*input, self.current);
                }
                return Term::Limited(values.into());
            }
        }
        self.term_of(value)
    }
}

/// What an operand reads.
enum Term {
    /// Something that is known already.
    Known(Counted),
    /// The value in this slot.
    Value(u32),
    /// One of several values, as far as compares allow it.
    Limited(Box<[Limited]>),
}

/// What registers of one block are counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counter {
    /// A register where the block is entered.
    Entered(RegisterId),
    /// What an instruction of the block makes.
    Made(u32),
}

/// Whether what it makes is looked into.
fn is_followed(computes: Computation) -> bool {
    match computes {
        Computation::Move
        | Computation::Convert
        | Computation::ConvertAddress
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
        Computation::Other
        | Computation::Not
        | Computation::Bits(_)
        | Computation::Arithmetic(_)
        | Computation::Compare
        | Computation::Load
        | Computation::Elect => false,
    }
}
