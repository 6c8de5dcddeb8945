//! Which numbers a register can hold, counted from where.
//!
//! Kernels go round: through the stages of a ring, through the columns of an accumulator. Which of them an
//! instruction means is not known; that it is one of few is. So a value is a set of [numbers](Numbers),
//! counted from nothing, from a variable, or from what an instruction made that is not looked into, such as
//! the load of a slot. Where values meet, the set has all of them, if they are counted from the same.
//!
//! What is read under a condition has only the numbers for which it holds: a `selp` of what was compared, and
//! what a loop carries past the compare that ends it. Without such an end a counter goes on for ever, and
//! does not wrap round: an address that is counted so would have been outside all memory before.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

pub use self::numbers::Numbers;
use super::cfg::BlockId;
use super::definitions::{Definition, DefinitionId};
use super::function::Function;
use super::registers::{self, Access};
use super::values::{JoinId, ValueId};
use crate::isa::generic::{Computation, Control, Flag, Modifier, Part, Relation, Type};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution, SymbolId, SymbolKind};
use crate::syntax::ast::{BinaryOperator, OperandKind, RawInstruction};
use crate::syntax::literal;

mod numbers;
mod remainder;

/// What a value is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Nothing: it is the number.
    Nothing,
    /// The address of a variable.
    Variable(SymbolId),
    /// What a definition made.
    Made(DefinitionId),
    /// It may be several things.
    Unknown,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// What it is counted from.
    pub base: Base,
    /// What is added to that.
    pub numbers: Numbers,
    /// Whether lanes of Tensor Memory are added as well, from bit 16 on.
    pub lanes: bool,
}

/// More bytes of shared memory than there are.
const SHARED: i64 = 1 << 18;

/// Where the lane of an address in Tensor Memory begins.
const LANE: u32 = 16;

impl Counted {
    const UNKNOWN: Self = Self { base: Base::Unknown, numbers: Numbers::ANY, lanes: false };

    fn of(numbers: Numbers) -> Self {
        Self { base: Base::Nothing, numbers, lanes: false }
    }

    fn made(id: DefinitionId) -> Self {
        Self { base: Base::Made(id), numbers: Numbers::from(0), lanes: false }
    }

    /// The number, where it is counted from nothing.
    fn number(self) -> Numbers {
        if self.base == Base::Nothing && !self.lanes { self.numbers } else { Numbers::ANY }
    }

    fn or(self, other: Self) -> Self {
        if self.base == other.base && self.base != Base::Unknown {
            let numbers = self.numbers.or(other.numbers);
            Self { base: self.base, numbers, lanes: self.lanes || other.lanes }
        } else {
            Self::UNKNOWN
        }
    }

    /// The sum, if at most one of them is counted from something.
    fn plus(self, other: Self) -> Option<Self> {
        let ((Base::Nothing, base) | (base, Base::Nothing)) = (self.base, other.base) else { return None };
        // What is too large for an address in shared memory is of lanes, and so is a multiple of them.
        let is_lanes = |it: Self| {
            it.base == Base::Nothing
                && it.numbers.low_bits(LANE).single() == Some(0)
                && it.numbers.last().is_some_and(|last| last >= SHARED)
        };
        if is_lanes(self) || is_lanes(other) {
            let of = if is_lanes(self) { other } else { self };
            let numbers = if is_lanes(of) { Numbers::from(0) } else { of.numbers };
            return Some(Self { base, numbers, lanes: true });
        }
        let mut sum =
            Self { base, numbers: self.numbers.plus(other.numbers), lanes: self.lanes || other.lanes };
        // Lanes of an address do not matter to its column.
        let columns = sum.numbers.low_bits(LANE);
        if matches!(base, Base::Made(_)) && sum.numbers.single().is_none() && columns.single().is_some() {
            sum = Self { base, numbers: columns, lanes: true };
        }
        Some(sum)
    }

    fn negated(self) -> Option<Self> {
        (self.base == Base::Nothing).then(|| Self { numbers: self.numbers.negated(), ..self })
    }
}

/// A branch that goes on under a condition about a register.
#[derive(Clone, Copy, Debug)]
struct Test {
    block: BlockId,
    compare: u32,
    /// What the register holds where it is compared.
    value: ValueId,
    /// What holds where the branch is taken.
    taken: Relation,
    with: i64,
}

/// That a value compares so with a number.
type Limit = (Relation, i64);

/// One of the values that meet where a register is read, and what compares say of it there.
type Limited = (ValueId, SmallVec<[Limit; 2]>);

/// What registers of one function can hold, as far as it was asked for.
#[derive(Debug, Default)]
pub struct Ranges {
    known: RefCell<FxHashMap<ValueId, Counted>>,
    tests: OnceCell<FxHashMap<RegisterId, Vec<Test>>>,
}

/// What one evaluation takes, in steps of the budget.
const VISIT: u64 = 4;
/// Values that are made of more are not looked into.
const VALUES: usize = 512;
/// What changes more often has no end.
const CHANGES: u32 = 24;

impl Ranges {
    /// What `register` can hold where `instruction` reads it.
    pub fn at(&self, function: &Function<'_>, instruction: u32, register: RegisterId) -> Counted {
        match function.value(instruction, register) {
            Some(value) => self.of(function, value),
            None => Counted::UNKNOWN,
        }
    }

    /// The least column that `register` can hold where `instruction` reads it, if that is counted from
    /// nothing, and where all are few.
    pub fn least(&self, function: &Function<'_>, instruction: u32, register: RegisterId) -> Option<i64> {
        /// More columns than there are, whatever is added by mistake.
        const MANY: i64 = 1 << 12;
        let found = self.at(function, instruction, register);
        let last = found.numbers.last().filter(|last| *last < MANY && found.base == Base::Nothing)?;
        found.numbers.first().filter(|first| (0..=last).contains(first))
    }

    fn of(&self, function: &Function<'_>, value: ValueId) -> Counted {
        if let Some(known) = self.known.borrow().get(&value) {
            return *known;
        }
        let mut solver = Solver::new(self, function);
        let found = solver.solve(value);
        let mut known = self.known.borrow_mut();
        match found {
            Some(found) => known.extend(found),
            // Nor is it looked into again from elsewhere.
            None => known.extend(solver.order.iter().map(|value| (*value, Counted::UNKNOWN))),
        }
        *known.entry(value).or_insert(Counted::UNKNOWN)
    }

    /// How often an instruction is executed at most while control goes round, if a counter says so that a
    /// branch compares with a number.
    pub fn rounds(&self, function: &Function<'_>, instruction: u32) -> Option<u64> {
        let Function { cfg, definitions, .. } = *function;
        let block = cfg.block_of(instruction)?;
        // The loops that it is in.
        let (behind, before) = (cfg.followers(std::iter::once(block)), cfg.leaders(std::iter::once(block)));
        let is_round = |other: BlockId| behind[other.index()] && before[other.index()];
        let tests = self.all_tests(function);
        let registers = tests.iter().filter(|(_, tests)| tests.iter().any(|test| is_round(test.block)));
        let counters = registers.filter_map(|(register, _)| {
            let all = definitions.of(*register).iter().map(|id| (*id, definitions.get(*id)));
            let mut inside = all.filter(|(_, it)| cfg.block_of(it.instruction).is_none_or(is_round));
            let (id, counts) = inside.next().filter(|(_, it)| !it.guarded)?;
            if inside.next().is_some() || !is_passed(function, block, cfg.block_of(counts.instruction)?) {
                return None;
            }
            let Counted { base: Base::Nothing, numbers, lanes: false } =
                self.of(function, ValueId::Definition(id))
            else {
                return None;
            };
            self.is_stepped(function, id).then(|| numbers.count()).flatten()
        });
        counters.min()
    }

    /// Whether a definition adds a constant that is not 0 to its own register.
    #[expect(clippy::unused_self, reason = "it belongs to the question above")]
    fn is_stepped(&self, function: &Function<'_>, id: DefinitionId) -> bool {
        let Function { unit, definitions, .. } = *function;
        let Definition { instruction, register, .. } = *definitions.get(id);
        let raw = &unit.module.instructions[instruction as usize];
        let first = raw.operands.start;
        unit.operations.of(instruction).computes() == Computation::Add
            && raw.operands.len == 3
            && unit.symbols.operand(first + 1) == Resolution::Register(register)
            && literal(function, first + 2).is_some_and(|by| by != 0)
    }

    /// The branches that compare a register with a number.
    fn tests(&self, function: &Function<'_>, register: RegisterId) -> &[Test] {
        self.all_tests(function).get(&register).map_or(&[], |tests| tests)
    }

    fn all_tests(&self, function: &Function<'_>) -> &FxHashMap<RegisterId, Vec<Test>> {
        self.tests.get_or_init(|| {
            let mut tests: FxHashMap<RegisterId, Vec<Test>> = FxHashMap::default();
            for (block, content) in function.cfg.blocks() {
                if let Some((register, test)) =
                    content.branch.and_then(|branch| branch_test(function, block, branch))
                {
                    tests.entry(register).or_default().push(test);
                }
            }
            tests
        })
    }
}

/// Whether control passes a block whenever it comes back to another one.
fn is_passed(function: &Function<'_>, from: BlockId, block: BlockId) -> bool {
    let Function { cfg, budget, .. } = *function;
    if from == block {
        return true;
    }
    let mut seen: FxHashSet<BlockId> = FxHashSet::default();
    let mut work = vec![from];
    while let Some(next) = work.pop() {
        for next in &cfg.block(next).successors {
            if *next == block || !seen.insert(*next) {
                continue;
            }
            if *next == from || !budget.take(1) {
                return false;
            }
            work.push(*next);
        }
    }
    true
}

fn branch_test(function: &Function<'_>, block: BlockId, branch: u32) -> Option<(RegisterId, Test)> {
    let Function { unit, cfg, .. } = *function;
    if unit.operations.of(branch).control() != Control::Branch || cfg.block(block).successors.len() != 2 {
        return None;
    }
    let guard = unit.module.guard(&unit.module.instructions[branch as usize])?;
    let Resolution::Register(predicate) = unit.symbols.guard(branch) else { return None };
    let compared = compared(function, branch, predicate)?;
    // The same round of a loop.
    if cfg.block_of(compared.compare) != Some(block) {
        return None;
    }
    let taken = if guard.negated { compared.relation.negated() } else { compared.relation };
    let Compared { compare, register, with, .. } = compared;
    let value = function.value(compare, register)?;
    Some((register, Test { block, compare, value, taken, with }))
}

/// A register that is compared with a number.
struct Compared {
    compare: u32,
    register: RegisterId,
    relation: Relation,
    with: i64,
}

/// What a predicate says, where an instruction reads it.
fn compared(function: &Function<'_>, reader: u32, predicate: RegisterId) -> Option<Compared> {
    let Function { unit, definitions, .. } = *function;
    let Definition { instruction, operand, guarded, .. } =
        *definitions.get(function.only(reader, predicate)?);
    let raw = &unit.module.instructions[instruction as usize];
    let opcode = unit.operations.of(instruction);
    let ty = *opcode.types.last()?;
    let is_plain = opcode.computes() == Computation::Compare
        && opcode.boolean_operator().is_none()
        && !guarded
        && operand == raw.operands.start
        && raw.operands.len == 3
        && matches!(ty.bits(), Some(32 | 64));
    if !is_plain {
        return None;
    }
    let relation = opcode.comparison()?.of_integers(ty)?;
    let (first, second) = (raw.operands.start + 1, raw.operands.start + 2);
    let number = |index: u32| {
        let value = literal(function, index)?;
        let is_large = !ty.is_signed() && relation.is_order();
        if is_large { i64::try_from(value).ok() } else { signed(value, ty) }
    };
    let register =
        |index: u32| match (unit.module.operands[index as usize].kind(), unit.symbols.operand(index)) {
            (OperandKind::Name, Resolution::Register(register)) => Some(register),
            _ => None,
        };
    match (register(first), number(second), number(first), register(second)) {
        (Some(register), Some(with), ..) => Some(Compared { compare: instruction, register, relation, with }),
        (.., Some(with), Some(register)) => {
            Some(Compared { compare: instruction, register, relation: relation.mirrored(), with })
        }
        _ => None,
    }
}

fn literal(function: &Function<'_>, index: u32) -> Option<i128> {
    let unit = function.unit;
    literal::evaluate(&unit.source, &unit.module, unit.module.operands.get(index as usize)?)
}

/// A number of a type, with a sign: what is added to an address may be written as the complement of two.
fn signed(value: i128, ty: Type) -> Option<i64> {
    match ty.bits()? {
        bits @ (16 | 32) => {
            let value = i64::try_from(value).ok()?;
            if value >= 1 << bits || value < -(1 << (bits - 1)) {
                return None;
            }
            Some(if value >= 1 << (bits - 1) { value - (1 << bits) } else { value })
        }
        64 => i64::try_from(value).ok().or_else(|| u64::try_from(value).ok().map(u64::cast_signed)),
        _ => None,
    }
}

/// How a value is made.
#[derive(Clone, Copy)]
enum Made<'f> {
    /// It is one of several.
    Joined(JoinId),
    /// By something that is not looked into.
    Opaque(DefinitionId),
    /// By an instruction that computes values of a type.
    Computed(DefinitionId, &'f RawInstruction, &'f Opcode, Type),
}

/// Values that are made of each other, while they are found.
struct Solver<'a, 'f> {
    ranges: &'a Ranges,
    function: &'a Function<'f>,
    /// By slot.
    order: Vec<ValueId>,
    slots: FxHashMap<ValueId, u32>,
    /// By slot; none where nothing is known to get there yet.
    values: Vec<Option<Counted>>,
    /// By slot: how it is made.
    made: Vec<Made<'f>>,
    /// By slot: those that are made of it.
    feeds: Vec<SmallVec<[u32; 2]>>,
    /// The one that is evaluated.
    current: u32,
    /// By who reads what: the limits of each of the values that meet there.
    limits: FxHashMap<(u32, RegisterId), Rc<[Limited]>>,
}

impl<'a, 'f> Solver<'a, 'f> {
    fn new(ranges: &'a Ranges, function: &'a Function<'f>) -> Self {
        Self {
            ranges,
            function,
            order: Vec::new(),
            slots: FxHashMap::default(),
            values: Vec::new(),
            made: Vec::new(),
            feeds: Vec::new(),
            current: 0,
            limits: FxHashMap::default(),
        }
    }

    /// Finds a value and all that it is made of, unless that is too much.
    fn solve(&mut self, value: ValueId) -> Option<Vec<(ValueId, Counted)>> {
        let inner_first = self.collect(value)?;
        self.values = vec![None; self.order.len()];
        let mut changes = vec![0; self.order.len()];
        let mut is_due = vec![true; self.order.len()];
        let mut goes_round = false;
        while is_due.contains(&true) {
            for &slot in &inner_first {
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
                    if *changes > 3 * CHANGES {
                        joined = Counted::UNKNOWN;
                    } else if *changes > CHANGES {
                        let keeps_first = joined.numbers.first() == old.numbers.first();
                        let numbers = if keeps_first { joined.numbers.upwards() } else { Numbers::ANY };
                        joined = Counted { numbers, ..joined };
                    }
                    if joined == old {
                        continue;
                    }
                }
                self.values[slot as usize] = Some(joined);
                for fed in &self.feeds[slot as usize] {
                    is_due[*fed as usize] = true;
                }
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

    /// Gives slots to a value and all that it is made of; returns them in an order in which a value comes
    /// behind what it is made of, but for what goes round.
    fn collect(&mut self, value: ValueId) -> Option<Vec<u32>> {
        enum Step {
            Enter(ValueId),
            Leave(u32),
        }
        let ranges = self.ranges;
        let known = ranges.known.borrow();
        let mut inner_first = Vec::new();
        let mut work = vec![Step::Enter(value)];
        let mut made: Vec<(ValueId, u32)> = Vec::new();
        let mut sources = Vec::new();
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
    fn sources(&self, value: ValueId, into: &mut Vec<ValueId>) {
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
            None => Some(self.ranges.known.borrow().get(&value).copied().unwrap_or(Counted::UNKNOWN)),
        }
    }

    /// What a value can be, by what is known of others so far.
    fn evaluate(&mut self, slot: u32) -> Option<Counted> {
        self.current = slot;
        match self.made[slot as usize] {
            Made::Joined(join) => {
                let inputs = self.function.definitions.joined(join);
                inputs.iter().filter_map(|input| self.get(*input)).reduce(Counted::or)
            }
            Made::Opaque(id) => Some(Counted::made(id)),
            Made::Computed(id, raw, opcode, ty) => {
                let instruction = self.function.definitions.get(id).instruction;
                let made = self.computed(instruction, raw, opcode, ty)?;
                Some(made.unwrap_or(Counted::made(id)))
            }
        }
    }

    /// What a register holds where it is read.
    fn read(&mut self, instruction: u32, register: RegisterId) -> Option<Counted> {
        let Some(value) = self.function.value(instruction, register) else { return Some(Counted::UNKNOWN) };
        let ValueId::Join(_) = value else { return self.get(value) };
        let known = self.limits.get(&(instruction, register)).cloned();
        let limits = known.unwrap_or_else(|| {
            let found: Rc<[Limited]> = self.find_limits(instruction, register, value).into();
            // They are read one by one from now on, not as what they are together.
            for (input, _) in found.iter() {
                self.feed(*input, self.current);
            }
            self.limits.insert((instruction, register), Rc::clone(&found));
            found
        });
        if limits.is_empty() {
            return self.get(value);
        }
        let limited = limits.iter().filter_map(|(input, limits)| {
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
                    && (operand == raw.operands.start || is_first_of_pair(self.function, raw, operand))
                    && !opcode.has_flag(Flag::Sat)
                    && !opcode.types.iter().any(|ty| ty.is_float() || ty.is_packed())
                    && self.function.is_local(unit.symbols.register(register)) =>
            {
                Made::Computed(id, raw, opcode, ty)
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
            Computation::Add if count == 3 => a.plus(self.operand(instruction, first + 2, ty)?),
            Computation::Subtract
                if count == 3
                    && let Some(remainder) = remainder::remainder(self.function, instruction) =>
            {
                let last = remainder.by - 1;
                let is_negative = remainder.is_signed && a.number().first().is_none_or(|first| first < 0);
                Some(Counted::of(Numbers::between(if is_negative { -last } else { 0 }, last)))
            }
            Computation::Subtract if count == 3 => {
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
                mask.and_then(|mask| masked(of, mask, width))
            }
            Computation::Xor if count == 3 => {
                let b = self.operand(instruction, first + 2, ty)?;
                // No bit is set above the highest of either.
                let bits = |it: Counted| (0..32).find(|bits| it.number().fits(*bits));
                bits(a).zip(bits(b)).map(|(a, b)| Counted::of(Numbers::between(0, (1 << a.max(b)) - 1)))
            }
            Computation::ShiftLeft => single(self.operand(instruction, first + 2, ty)?)
                .filter(|by| (0..32).contains(by) && a.base == Base::Nothing)
                .map(|by| Counted { numbers: a.numbers.times(1 << by), ..a }),
            Computation::ShiftRight => single(self.operand(instruction, first + 2, ty)?)
                .filter(|by| {
                    (0..i64::from(width)).contains(by) && (!ty.is_signed() || a.number().fits(width - 1))
                })
                .filter(|by| *by < 48 && (width <= 32 || a.number().fits(width)))
                .map(|by| Counted::of(a.number().divided(1 << by, width))),
            Computation::Divide | Computation::Remainder => {
                let is_rest = opcode.computes() == Computation::Remainder;
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
            Computation::Multiply if part != Some(Part::Hi) => {
                let b = self.operand(instruction, first + 2, ty)?;
                product(a, b)
            }
            Computation::MultiplyAdd if part != Some(Part::Hi) && count == 4 => {
                let b = self.operand(instruction, first + 2, ty)?;
                let c = self.operand(instruction, first + 3, ty)?;
                product(a, b).and_then(|product| product.plus(c))
            }
            Computation::ExtractBits if !ty.is_signed() => {
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
                Computation::Add if raw.operands.len == 3 && opcode.types.len() == 1 => {
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

    fn operand(&mut self, instruction: u32, index: u32, ty: Type) -> Option<Counted> {
        let Function { unit, .. } = *self.function;
        let Some(operand) = unit.module.operands.get(index as usize) else { return Some(Counted::UNKNOWN) };
        if operand.is_name()
            && let Resolution::Register(register) = unit.symbols.operand(index)
        {
            return self.read(instruction, register);
        }
        if let Some(value) = literal(self.function, index) {
            return Some(
                signed(value, ty).map_or(Counted::UNKNOWN, |value| Counted::of(Numbers::from(value))),
            );
        }
        if !operand.is_name() {
            return Some(Counted::UNKNOWN);
        }
        match unit.symbols.operand(index) {
            Resolution::Symbol(symbol)
                if matches!(unit.symbols.symbol(symbol).kind, SymbolKind::Variable { .. }) =>
            {
                let base = Base::Variable(symbol);
                Some(Counted { base, numbers: Numbers::from(0), lanes: false })
            }
            Resolution::Special => Some(special(unit.source.slice(operand.span()))),
            _ => Some(Counted::UNKNOWN),
        }
    }
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
        | Computation::ShiftLeft
        | Computation::ShiftRight
        | Computation::Add
        | Computation::Subtract
        | Computation::Multiply
        | Computation::MultiplyAdd
        | Computation::Divide
        | Computation::Remainder
        | Computation::ExtractBits
        | Computation::Select
        | Computation::Shuffle => true,
        Computation::Other
        | Computation::Not
        | Computation::Lop3
        | Computation::Negate
        | Computation::InsertBits
        | Computation::Permute
        | Computation::Compare
        | Computation::Load
        | Computation::Elect => false,
    }
}

/// Whether an operand is the `d` of `d|p`.
fn is_first_of_pair(function: &Function<'_>, raw: &RawInstruction, operand: u32) -> bool {
    let first = function.unit.module.operands(raw.operands).first();
    first.is_some_and(|first| match first.kind() {
        OperandKind::Binary(BinaryOperator::Or, parts) => parts.start == operand,
        _ => false,
    })
}

fn product(a: Counted, b: Counted) -> Option<Counted> {
    let (of, factor) = match (a.number().single(), b.number().single()) {
        (_, Some(factor)) => (a, factor),
        (Some(factor), None) => (b, factor),
        (None, None) => return None,
    };
    (of.base == Base::Nothing).then(|| Counted { numbers: of.numbers.times(factor), ..of })
}

/// `a & mask`
fn masked(of: Counted, mask: i128, width: u32) -> Option<Counted> {
    let all = if width == 64 { i128::from(u64::MAX) } else { (1 << width) - 1 };
    let mask = u64::try_from(mask & all).ok()?;
    let numbers = of.number();
    if mask.wrapping_add(1).is_power_of_two() {
        return Some(Counted::of(numbers.low_bits(mask.count_ones())));
    }
    // The bits that stay lie together.
    let low = mask.trailing_zeros();
    if low < 40 && mask < 1 << 40 && (mask >> low).wrapping_add(1).is_power_of_two() {
        let cut = numbers.low_bits(64 - mask.leading_zeros());
        return Some(Counted::of(cut.divided(1 << low, 48).times(1 << low)));
    }
    (mask < 1 << 40).then(|| Counted::of(Numbers::between(0, mask.cast_signed())))
}

/// `a | b`, where no bit is in both.
fn joined(a: Counted, b: Counted, width: u32) -> Option<Counted> {
    /// An allocation begins in a column that is a multiple of this.
    const ALIGNED: i64 = 32;
    let parts = |number: Counted| {
        let known = number.numbers.bits(width);
        !(known.mask & !known.value)
    };
    match (a.base, b.base) {
        (Base::Nothing, Base::Nothing) => {
            let all = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
            (parts(a) & parts(b) & all == 0).then(|| a.plus(b)).flatten()
        }
        (Base::Nothing, Base::Made(_)) | (Base::Made(_), Base::Nothing) => {
            let (base, by) = if a.base == Base::Nothing { (b, a) } else { (a, b) };
            let is_small = base.numbers.single() == Some(0)
                && by.numbers.low_bits(LANE).last().is_some_and(|last| last < ALIGNED);
            is_small.then(|| base.plus(by)).flatten()
        }
        _ => None,
    }
}

/// What registers of the machine can hold.
fn special(name: &str) -> Counted {
    let last = match name {
        "%tid.x" | "%tid.y" => 1023,
        "%tid.z" => 63,
        "%laneid" => 31,
        "%cluster_ctarank" | "%cluster_ctaid.x" | "%cluster_ctaid.y" | "%cluster_ctaid.z" => 15,
        "%ctaid.y" | "%ctaid.z" => 0xFFFE,
        _ => return Counted::UNKNOWN,
    };
    Counted::of(Numbers::between(0, last))
}
