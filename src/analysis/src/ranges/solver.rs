//! Finds values that are made of each other: inner ones first, and what goes round until nothing changes.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

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
#[derive(Clone)]
enum Made {
    /// It is one of several.
    Joined(JoinId),
    /// By something that is not looked into.
    Opaque(DefinitionId),
    /// By an instruction that computes.
    Computed(DefinitionId, Rc<Computing>),
    /// By one that gives the same address in another window.
    Converted(DefinitionId, Placed),
    /// By one that computes what is left of a division.
    Left(DefinitionId, Remainder),
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
    made: SmallVec<[Made; FEW]>,
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
        if !is_followed(unit.operations.of(instruction)) {
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
        match self.made[slot as usize].clone() {
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
            Made::Computed(id, computing) => {
                let instruction = self.function.definitions.get(id).instruction;
                let made = self.computed(instruction, &computing)?;
                Some(made.unwrap_or(Counted::made(id)))
            }
            Made::Converted(id, from) => {
                let instruction = self.function.definitions.get(id).instruction;
                let made = Some(self.argument(instruction, from, 64)?).filter(|it| it.base != Base::Unknown);
                Some(made.unwrap_or(Counted::made(id)))
            }
            Made::Left(id, Remainder { by, times, is_signed, of, until }) => {
                let instruction = self.function.definitions.get(id).instruction;
                let mut whole = Arguments::new();
                argument::flatten(self.function.unit, of, Some(Type::U32), &mut whole);
                let of = self.argument(instruction, *whole.first()?, u32::BITS)?.number();
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
            let Made::Computed(_, computing) = &self.made[slot as usize] else { return false };
            let term = |placed: &Placed| self.terms.get(&placed.operand);
            match (computing.operation, &computing.sources[..]) {
                (Operation::Mov, [from]) => match term(from) {
                    Some(Term::Value(copied)) => slot = *copied,
                    _ => return false,
                },
                (Operation::Add, [one, other]) => {
                    return match (term(one), term(other)) {
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
    fn made(&self, value: ValueId) -> Made {
        let Function { unit, definitions, .. } = *self.function;
        let id = match value {
            ValueId::Definition(id) => id,
            ValueId::Join(join) => return Made::Joined(join),
        };
        let Definition { instruction, operand, register, .. } = *definitions.get(id);
        let opcode = unit.operations.of(instruction);
        let is_word = |bits: Option<u32>| matches!(bits, Some(16 | 32 | 64));
        if !is_followed(opcode)
            || !is_word(opcode.types.last().and_then(|ty| ty.bits()))
            || !self.function.is_local(unit.symbols.register(register))
        {
            return Made::Opaque(id);
        }
        if let Some(left) = remainder::remainder(self.function, instruction) {
            return Made::Left(id, left);
        }
        if opcode.computes() == Computation::ConvertAddress {
            let operands = unit.module.instructions[instruction as usize].operands;
            let mut from = Arguments::new();
            if operands.len == 2 {
                argument::flatten(unit, operands.start + 1, None, &mut from);
            }
            return from.first().map_or(Made::Opaque(id), |from| Made::Converted(id, *from));
        }
        match Computing::of(unit, instruction) {
            // The first of several that are unpacked is only a part.
            Some(it) if it.position(operand) == Some(0) && !is_unpacked(&it) => {
                Made::Computed(id, Rc::new(it))
            }
            Some(_) | None => Made::Opaque(id),
        }
    }

    /// What an instruction makes: nothing yet where that waits for others, or nothing that is understood.
    #[allow(clippy::option_option, reason = "it may have to wait, and it may not be understood")]
    fn computed(&mut self, instruction: u32, computing: &Computing) -> Option<Option<Counted>> {
        let Some(arithmetic) = computing.arithmetic else { return Some(None) };
        let count = computing.sources.len();
        let bits = |position: usize| arithmetic.source_bits(position, count).unwrap_or(64);
        if let (Operation::Selp, [yes, no, holds]) = (computing.operation, &computing.sources[..]) {
            let yes = self.selected(instruction, *yes, *holds, true, bits(0));
            let no = self.selected(instruction, *no, *holds, false, bits(1));
            return match (yes, no) {
                (Some(yes), Some(no)) => Some(Some(yes.or(no)).filter(|it| it.base != Base::Unknown)),
                // The other one is not known yet, or is never chosen.
                (only, None) | (None, only) => only.map(Some),
            };
        }
        let sources: SmallVec<[Option<Counted>; 4]> = computing
            .sources
            .iter()
            .enumerate()
            .map(|(position, it)| self.argument(instruction, *it, bits(position)).map(Some))
            .collect::<Option<_>>()?;
        Some(arithmetic.transfer(&mut Intervals, &sources, 0, computing.results.len()))
    }

    /// One of the two operands of a `selp`, as far as it can be that where it is chosen.
    fn selected(
        &mut self,
        instruction: u32,
        of: Placed,
        predicate: Placed,
        holds: bool,
        width: u32,
    ) -> Option<Counted> {
        let index = of.operand;
        let value = self.argument(instruction, of, width)?;
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
    fn argument(&mut self, instruction: u32, placed: Placed, width: u32) -> Option<Counted> {
        let term = if let Some(term) = self.terms.get(&placed.operand) {
            term
        } else {
            let term = self.term(instruction, placed.argument, width);
            self.terms.insert(placed.operand, term);
            &self.terms[&placed.operand]
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

    fn term(&mut self, instruction: u32, argument: Argument, width: u32) -> Term {
        Term::Known(match argument {
            Argument::Register { id, part: 0 } => return self.register(instruction, id),
            Argument::Constant(value) if matches!(width, 16 | 32 | 64) => {
                let unused = u64::BITS - width;
                Counted::of(Numbers::from((value << unused).cast_signed() >> unused))
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
    computing.operation == Operation::Mov && computing.results.len() > 1
}
