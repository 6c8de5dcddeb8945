//! Which lanes of Tensor Memory each warp names, and which columns, where that is known.
//!
//! A warp adds its lanes to an address that is the same for all of them: what an `alloc` returned, perhaps with
//! a column that nobody knows. So an address is taken apart. What is made of the number of the thread by plain
//! arithmetic is [evaluated](Executing::in_warps) for each warp; an allocation starts at lane 0; and columns, however
//! many are added, do not carry into the lanes.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::allocated::Distance;
use super::cfg::BlockId;
use super::definitions::{Definition, DefinitionId};
use super::events::Event;
use super::executing::Executing;
use super::flow::Flow;
use super::function::Function;
use super::ranges::{Base as CountedFrom, Numbers};
use super::values::{JoinId, ValueId};
use crate::arithmetic::domain::{Domain, Function as Step};
use crate::arithmetic::{Arithmetic, Integer};
use crate::instruction::{Address, Base, Scalar};
use crate::ir::{Argument, Placed, Simple};
use crate::isa::generic::{Computation, Modifier, Operation, Part, ShuffleMode};
use crate::isa::hierarchy::{THREADS_OF_WARP, WARPS_OF_CTA};
use crate::isa::special_registers::Extent;
use crate::resolve::launch_bounds::LaunchBounds;
use crate::resolve::symbols::RegisterId;
use crate::source::Span;

/// The most warps of a block.
const WARPS: usize = WARPS_OF_CTA as usize;

/// Warps of a warpgroup, each of which has as many lanes of its own.
const WARPS_OF_GROUP: u32 = 4;

/// By warp: the lanes of an address, in bits 16 to 31, or its columns.
type Words = [u32; WARPS];

/// The lanes that the warps name which execute an instruction.
#[derive(Clone, Debug)]
pub struct Named {
    words: Words,
    /// The warps that certainly execute the instruction, one bit each, where the block has them.
    certain: u32,
    /// Those that may.
    possible: u32,
    /// Whether every block has the warps that it is said to have.
    pub is_exact: bool,
    /// The columns, where they are known, counted from the allocations, and two's complement.
    columns: Option<Box<Words>>,
    /// The allocations that the address is counted from.
    starts: SmallVec<[Distance; 1]>,
}

impl Named {
    /// The lane that a warp names, of the 128 that there are.
    pub fn lane(&self, warp: u32) -> u32 {
        self.words[warp as usize] >> 16 & (WARPS_OF_GROUP * THREADS_OF_WARP - 1)
    }

    /// The first warp that certainly executes it and for whose lane something holds.
    pub fn first(&self, holds: impl Fn(u32) -> bool) -> Option<u32> {
        (0..WARPS_OF_CTA).find(|warp| self.certain >> warp & 1 == 1 && holds(*warp))
    }

    /// A warp that names something of which `holds` is true, given its lane: certainly, or because whichever
    /// executes the instruction does.
    pub fn some_warp(&self, holds: impl Fn(u32) -> bool) -> Option<u32> {
        let is_it = |warp: u32| holds(self.lane(warp));
        let mut may = (0..WARPS_OF_CTA).filter(|warp| self.possible >> warp & 1 == 1);
        let first = may.clone().next();
        self.first(is_it).or_else(|| first.filter(|_| may.all(is_it)))
    }

    /// Whether a warp names lanes of another one.
    pub fn is_of_another_warp(&self, warp: u32) -> bool {
        self.lane(warp) / THREADS_OF_WARP != warp % WARPS_OF_GROUP
    }

    /// Whether a warp names lanes of another one by leaving out some of what makes the number of its own: those of the
    /// first warp, most often.
    pub fn leaves_out(&self, warp: u32) -> bool {
        let (named, own) = (self.lane(warp) / THREADS_OF_WARP, warp % WARPS_OF_GROUP);
        named != own && named & !own == 0
    }

    /// A warp that names lanes of another one, by [leaving out](Self::leaves_out) something or otherwise: certainly,
    /// or because whichever executes the instruction does.
    pub fn wrong(&self, left_out: bool) -> Option<u32> {
        let is_wrong = |warp: u32| self.is_of_another_warp(warp) && self.leaves_out(warp) == left_out;
        let mut may = (0..WARPS_OF_CTA).filter(|warp| self.possible >> warp & 1 == 1);
        self.first(is_wrong).or_else(|| {
            let mut others = may.clone();
            // Of several, those that leave something out are wrong as well.
            let found = if left_out { others.next() } else { others.find(|warp| is_wrong(*warp)) };
            found.filter(|_| may.all(|warp| is_wrong(warp) || !left_out && self.is_of_another_warp(warp)))
        })
    }

    /// The first warp of every block that goes past the end of its allocation of `size` columns, when it accesses
    /// so many as `reach`, and where it starts.
    pub fn past_end(&self, reach: u32, size: u32) -> Option<(u32, u32)> {
        let columns = self.columns.as_deref().filter(|_| self.is_exact && self.starts.len() == 1)?;
        // What is more counts backwards.
        let column = |warp: u32| Some(columns[warp as usize]).filter(|column| *column < COLUMNS as u32);
        let warp = self.first(|warp| column(warp).is_some_and(|column| column + reach > size))?;
        Some((warp, column(warp)?))
    }

    /// Whether it matters who of those that may execute it certainly does: some name lanes of other warps, or other
    /// columns than the rest.
    fn may_be_wrong(&self) -> bool {
        let open = self.possible & !self.certain;
        let mut may = (0..WARPS_OF_CTA).filter(|warp| self.possible >> warp & 1 == 1);
        let column = |warp: u32| self.columns.as_deref().map(|columns| columns[warp as usize]);
        let first = may.clone().next().and_then(column);
        open != 0 && may.any(|warp| self.is_of_another_warp(warp) || column(warp) != first)
    }

    /// Whether it is said of all warps of every block at once: they execute it, and name the same lane.
    pub fn is_everybody(&self) -> bool {
        let mut there = (0..WARPS_OF_CTA).filter(|warp| self.certain >> warp & 1 == 1);
        let first = there.next().map(|warp| self.lane(warp));
        self.is_exact
            && self.certain & 1 == 1
            && there.all(|warp| Some(self.lane(warp)) == first)
            && self.certain.count_ones() > 1
    }

    /// Whether the slots that the allocations were loaded from hold what `alloc` wrote: to be asked last.
    pub fn is_certain(&self, flow: &Flow<'_>) -> bool {
        self.starts.iter().all(|start| start.is_certain(flow))
    }

    /// The `alloc` that an address is counted from, if there is one.
    pub fn alloc(&self) -> Option<Span> {
        self.starts.first().map(|start| start.alloc)
    }
}

/// What was found out about the lanes that warps name in a kernel, as far as it was asked for.
#[derive(Debug, Default)]
pub struct FoundLanes {
    /// By definition.
    known: FxHashMap<DefinitionId, Option<Lanes>>,
    /// By instruction.
    named: FxHashMap<u32, Option<Named>>,
}

impl Flow<'_> {
    /// The lanes that each warp names which loads or stores at an address, in a kernel.
    pub fn lanes_of_warps(&self, event: Event, address: &Address<'_>) -> Option<Named> {
        let Base::Register(register) = address.base else { return None };
        self.named_by_warps(event, register.id, address.offset, || {
            // Of the rest of an address nothing may be known.
            let known = self.facts.address(self.unit, self.decoded(event)?, address);
            let group = known.shifted_right(21).constant(2)? as u32;
            Some(Sum { lanes: [group << 21; WARPS], columns: None, starts: SmallVec::new() })
        })
    }

    /// The same of an address that is given without brackets.
    pub fn scalar_lanes_of_warps(&self, event: Event, scalar: &Scalar<'_>) -> Option<Named> {
        match scalar {
            Scalar::Register(register) if !register.component => {
                self.named_by_warps(event, register.id, register.plus.unwrap_or_default(), || None)
            }
            _ => None,
        }
    }

    fn named_by_warps(
        &self,
        event: Event,
        register: RegisterId,
        offset: i64,
        otherwise: impl FnOnce() -> Option<Sum>,
    ) -> Option<Named> {
        if !self.is_entry() || !self.is_own(event) {
            return None;
        }
        let mut found = self.facts.lanes.borrow_mut();
        let FoundLanes { known, named } = &mut *found;
        let find = || {
            let view = self.facts.view(self.unit);
            let bounds = self.unit.launch_bounds(view.declared()?);
            // Nobody says how many warps there are, and nothing chooses some of them.
            if bounds.most().is_none() && self.is_always_executed(event) {
                return None;
            }
            let executing = self.executing(None);
            let mut way = Way { flow: self, view, executing, known, around: SmallVec::new(), depth: 0 };
            way.named(event, (register, offset), bounds, otherwise)
        };
        named.entry(event.instruction).or_insert_with(find).clone()
    }

    /// Whether every thread that does not leave the kernel before executes an instruction: nothing guards
    /// it, and every way through the function leads to it.
    fn is_always_executed(&self, event: Event) -> bool {
        let (unit, cfg) = (self.unit, self.cfg());
        let raw = &unit.module.instructions[event.instruction as usize];
        unit.module.guard(raw).is_none()
            && cfg.block_of(event.instruction).is_some_and(|block| cfg.post_dominates(block, BlockId(0)))
    }
}

/// Takes addresses apart.
struct Way<'f, 'a> {
    flow: &'f Flow<'a>,
    view: Function<'a>,
    executing: Executing<'a>,
    known: &'f mut FxHashMap<DefinitionId, Option<Lanes>>,
    /// What is being looked into.
    around: SmallVec<[JoinId; 4]>,
    depth: u32,
}

/// The lanes of a value.
#[derive(Clone, Debug)]
enum Lanes {
    /// By warp.
    Known(Box<Sum>),
    /// Those of the value before, in an iteration.
    Before,
}

/// What an address is made of.
#[derive(Clone, Debug)]
struct Sum {
    lanes: Words,
    /// How many columns are added, where that is known.
    columns: Option<Words>,
    /// What the columns are counted from.
    starts: SmallVec<[Distance; 1]>,
}

/// Longer chains are not followed.
const DEEP: u32 = 40;
/// What one instruction takes, in steps of the budget.
const VISIT: u64 = 4;
/// No columns carry into the lanes that are fewer.
const COLUMNS: i64 = 1 << 15;

impl Way<'_, '_> {
    fn named(
        &mut self,
        event: Event,
        (register, offset): (RegisterId, i64),
        bounds: &LaunchBounds,
        otherwise: impl FnOnce() -> Option<Sum>,
    ) -> Option<Named> {
        let most = bounds.most().map(|threads| {
            let warps = threads.div_ceil(THREADS_OF_WARP.into()).clamp(1, WARPS as u64) as u32;
            u32::MAX >> (u32::BITS - warps)
        });
        let (certain, possible) = match self.executing.of(event.instruction).map(|it| it.by_warps()) {
            Some(by) => {
                // Without a bound, whoever a condition lets execute it is there: the first of them.
                let there = match most {
                    Some(most) => most,
                    None if by.possible() == u32::MAX => return None,
                    None => by.certain() & by.certain().wrapping_neg(),
                };
                (by.certain() & there, by.possible() & there)
            }
            None if self.flow.is_always_executed(event) => (most?, most?),
            None => return None,
        };
        if possible == 0 {
            return None;
        }
        let lanes = self.register(event.instruction, register);
        let sum = match lanes.and_then(|lanes| plus(lanes, number(offset as u32))) {
            Some(Lanes::Known(sum)) => Some(*sum),
            Some(Lanes::Before) | None => otherwise(),
        };
        let Sum { lanes: words, columns, starts } = sum?;
        let columns = columns.map(Box::new);
        let mut named =
            Named { words, certain, possible, is_exact: bounds.threads().is_some(), columns, starts };
        if named.may_be_wrong()
            && let Some(most) = most
            && let Some(there) = self.executing.of_those_there(event.instruction, Extent::Cta)
        {
            named.certain |= there.by_warps().certain() & most & possible;
        }
        Some(named)
    }

    fn register(&mut self, at: u32, register: RegisterId) -> Option<Lanes> {
        if self.depth >= DEEP || !self.view.budget.take(VISIT) {
            return None;
        }
        let value = self.view.value(at, register)?;
        if let ValueId::Definition(id) = value
            && let Some(known) = self.known.get(&id)
        {
            return known.clone();
        }
        self.depth += 1;
        let found = self.find(at, register, value);
        self.depth -= 1;
        // What was found in an iteration holds there only.
        if let (ValueId::Definition(id), true) = (value, self.around.is_empty()) {
            self.known.insert(id, found.clone());
        }
        found
    }

    fn find(&mut self, at: u32, register: RegisterId, value: ValueId) -> Option<Lanes> {
        if let Some(numbers) = self.executing.in_warps(at, register) {
            return Some(words(numbers.map(|number| number as u32)));
        }
        let made = match value {
            ValueId::Definition(id) => self.made(id, false),
            ValueId::Join(join) => self.joined(join),
        };
        if made.is_some() {
            return made;
        }
        if let Some(start) = self.flow.start_of_allocation(at, register) {
            return Some(starting(start));
        }
        self.are_columns(at, register, 1).then(some_columns)
    }

    /// Whether a register times a factor is a number of columns.
    fn are_columns(&self, at: u32, register: RegisterId, factor: u32) -> bool {
        let found = self.flow.facts.ranges.at(&self.view, at, register);
        let numbers = found.numbers.times(factor.cast_signed().into());
        let few = Numbers::between(1 - COLUMNS, COLUMNS - 1);
        found.base == CountedFrom::Nothing && !found.lanes && numbers.is_within(few)
    }

    /// What comes from several sides, if it has the same lanes on all of them.
    fn joined(&mut self, join: JoinId) -> Option<Lanes> {
        if self.around.contains(&join) {
            return Some(Lanes::Before);
        }
        self.around.push(join);
        let mut all: Option<Box<Sum>> = None;
        let (mut agree, mut is_carried) = (true, false);
        for input in self.view.definitions.joined(join).iter() {
            let found = match *input {
                ValueId::Definition(id) => self.side(id),
                ValueId::Join(inner) => self.joined(inner),
            };
            match (&mut all, found) {
                (_, Some(Lanes::Before)) => is_carried = true,
                (Some(known), Some(Lanes::Known(found))) if known.lanes == found.lanes => {
                    known.columns = known.columns.filter(|columns| found.columns == Some(*columns));
                }
                (None, Some(Lanes::Known(found))) => all = Some(found),
                (Some(_), Some(_)) | (_, None) => agree = false,
            }
            if !agree {
                break;
            }
        }
        self.around.pop();
        // Where all of it is carried, nothing gave it a first value; it is that of an outer iteration, then.
        let before = || (!self.around.is_empty()).then_some(Lanes::Before);
        if !agree {
            return self.made_by_each(join);
        }
        let Some(mut all) = all else { return before() };
        // An iteration may add columns.
        all.columns = all.columns.filter(|_| !is_carried);
        Some(Lanes::Known(all))
    }

    /// What comes from several sides, where each warp comes from one of them only.
    fn made_by_each(&mut self, join: JoinId) -> Option<Lanes> {
        let inputs = self.view.definitions.joined(join);
        let mut sides: SmallVec<[(DefinitionId, u32); 4]> = SmallVec::new();
        let mut seen = 0;
        for input in inputs.iter() {
            let ValueId::Definition(id) = *input else { return None };
            let made = self.view.definitions.get(id).instruction;
            let warps = self.executing.of(made)?.by_warps().possible();
            if seen & warps != 0 {
                return None;
            }
            seen |= warps;
            sides.push((id, warps));
        }
        // What no warp gets to, is no mistake of one.
        let mut lanes: Words = std::array::from_fn(|warp| (warp as u32 % WARPS_OF_GROUP) << 21);
        let mut columns = Some([0; WARPS]);
        let mut starts: SmallVec<[Distance; 1]> = SmallVec::new();
        for (id, warps) in sides {
            let Some(Lanes::Known(side)) = self.side(id) else { return None };
            for warp in (0..WARPS).filter(|warp| warps >> warp & 1 == 1) {
                lanes[warp] = side.lanes[warp];
                columns = columns.zip(side.columns).map(|(mut all, by)| {
                    all[warp] = by[warp];
                    all
                });
            }
            let others = side.starts.iter().filter(|start| !starts.contains(*start)).copied();
            starts = starts.iter().copied().chain(others).collect();
        }
        Some(Lanes::Known(Box::new(Sum { lanes, columns, starts })))
    }

    /// What comes from one of several sides.
    fn side(&mut self, id: DefinitionId) -> Option<Lanes> {
        match self.executing.made_in_warps(id) {
            Some(numbers) => Some(words(numbers.map(|number| number as u32))),
            None => self.made(id, true),
        }
    }

    /// What an instruction makes.
    fn made(&mut self, id: DefinitionId, may_be_guarded: bool) -> Option<Lanes> {
        let Definition { instruction: at, operand, guarded, .. } = *self.view.definitions.get(id);
        let unit = self.view.unit;
        let opcode = unit.operations.of(at);
        let operands = unit.module.instructions[at as usize].operands;
        if guarded && !may_be_guarded || opcode.types.iter().any(|ty| ty.bits() != Some(u32::BITS)) {
            return None;
        }
        if (opcode.computes(), operands.len) == (Computation::Load, 2) {
            return self.flow.start_of_loaded(at).filter(|_| operand == operands.start).map(starting);
        }
        let computing = self.view.computing(at)?;
        let arithmetic = computing.arithmetic.filter(Arithmetic::is_followed)?;
        if computing.position(operand) != Some(0) {
            return None;
        }
        match (computing.operation, computing.sources()) {
            // A factor of a number that nobody knows, but that it is one of columns.
            (Operation::Mad, [a, b, c]) if opcode.has(Modifier::Part(Part::Lo)) => {
                plus(self.product(at, *a, *b)?, self.argument(at, c.argument)?)
            }
            // What another lane has is that of the warp where all ask one.
            (Operation::Shfl | Operation::ShflSync, [from, ..]) => {
                let from_one = opcode.has(Modifier::ShuffleMode(ShuffleMode::Idx));
                if from_one { self.argument(at, from.argument) } else { None }
            }
            (Operation::Mov | Operation::Add | Operation::Sub | Operation::Or | Operation::Bfi, sources) => {
                let lanes = |it: &Placed| self.argument(at, it.argument).map(Some);
                let sources: SmallVec<[Option<Lanes>; 4]> =
                    sources.iter().map(lanes).collect::<Option<_>>()?;
                arithmetic.transfer(&mut ByWarp, &sources, 0, 1)
            }
            _ => None,
        }
    }

    /// What a factor makes of a number that is known by warp, or of a number of columns.
    fn product(&self, at: u32, a: Placed, b: Placed) -> Option<Lanes> {
        let (of, factor) = match (self.factor(at, a.argument), self.factor(at, b.argument)) {
            (_, Some(factor)) => (a, factor),
            (Some(factor), None) => (b, factor),
            (None, None) => return None,
        };
        let register = of.argument.register()?;
        if let Some(numbers) = self.executing.in_warps(at, register) {
            return Some(words(numbers.map(|number| (number as u32).wrapping_mul(factor))));
        }
        self.are_columns(at, register, factor).then(some_columns)
    }

    fn argument(&mut self, at: u32, argument: Argument) -> Option<Lanes> {
        match argument.simple() {
            Simple::Number(value) => Some(number(value as u32)),
            Simple::Register(id) => self.register(at, id),
            Simple::Not(_) | Simple::Other => None,
        }
    }

    /// The one number that an argument is.
    fn factor(&self, at: u32, argument: Argument) -> Option<u32> {
        if let Argument::Constant(value) = argument {
            return Some(value as u32);
        }
        let numbers = self.executing.in_warps(at, argument.register()?)?;
        let first = numbers[0];
        numbers.iter().all(|number| *number == first).then_some(first as u32)
    }
}

/// The domain of addresses in Tensor Memory, by warp: lanes that are known, columns that may be, and the allocations
/// that they are counted from. Must, as far as no columns carry into the lanes.
struct ByWarp;

impl Domain for ByWarp {
    type Value = Option<Lanes>;

    fn unknown(&mut self) -> Option<Lanes> {
        None
    }

    fn number(&mut self, bits: u64) -> Option<Lanes> {
        Some(number(bits as u32))
    }

    fn known(&mut self, value: &Option<Lanes>, bits: u32) -> Option<u64> {
        let Some(Lanes::Known(sum)) = value else { return None };
        let columns = sum.columns.filter(|_| sum.starts.is_empty())?;
        let word = |warp: usize| sum.lanes[warp].wrapping_add(columns[warp]);
        let first = word(0);
        let mask = u64::MAX >> (u64::BITS - bits.clamp(1, u64::BITS));
        (0..WARPS).all(|warp| word(warp) == first).then_some(u64::from(first) & mask)
    }

    fn apply(&mut self, function: Step, ty: Integer, sources: &[Option<Lanes>]) -> Option<Lanes> {
        if ty.bits != u32::BITS {
            return None;
        }
        let source = |position: usize| sources.get(position).cloned().flatten();
        match function {
            Step::Extend(u32::BITS) => source(0),
            Step::Add => plus(source(0)?, source(1)?),
            Step::Subtract => {
                let Lanes::Known(mut by) = source(1)? else { return None };
                by.lanes = by.lanes.map(u32::wrapping_neg);
                by.columns = by.columns.map(|columns| columns.map(u32::wrapping_neg));
                if by.starts.is_empty() { plus(source(0)?, Lanes::Known(by)) } else { None }
            }
            // Where columns have no bit in common, neither has what they carry.
            Step::Or => {
                let (Lanes::Known(mut a), Lanes::Known(b)) = (source(0)?, source(1)?) else { return None };
                a.lanes.iter_mut().zip(b.lanes).for_each(|(a, b)| *a |= b);
                // Where the allocation starts is not known: nothing but lanes can be joined with it.
                let is_free = |it: &Sum| it.starts.is_empty();
                let has_none = |it: &Sum| is_free(it) && it.columns == Some([0; WARPS]);
                let may_join = has_none(&a) || has_none(&b) || is_free(&a) && is_free(&b);
                let columns = a.columns.zip(b.columns).filter(|_| may_join);
                let columns = columns.filter(|(a, b)| a.iter().zip(b).all(|(a, b)| a & b == 0));
                a.columns = columns.map(|(a, b)| std::array::from_fn(|warp| a[warp] | b[warp]));
                a.starts.extend(b.starts);
                Some(Lanes::Known(a))
            }
            Step::Insert => {
                let (start, len) = (self.known(sources.get(2)?, 32)?, self.known(sources.get(3)?, 32)?);
                inserted(&source(0)?, source(1)?, start as u32, len as u32)
            }
            // No address is made so.
            _ => None,
        }
    }
}

/// The lanes and columns of a number that is the same for all warps.
fn number(value: u32) -> Lanes {
    words([value; WARPS])
}

/// Those of a number that each warp has.
fn words(numbers: Words) -> Lanes {
    let lanes = numbers.map(|word| word.wrapping_sub(columns(word)));
    Lanes::Known(Box::new(Sum { lanes, columns: Some(numbers.map(columns)), starts: SmallVec::new() }))
}

/// Columns, and nobody knows how many.
fn some_columns() -> Lanes {
    Lanes::Known(Box::new(Sum { lanes: [0; WARPS], columns: None, starts: SmallVec::new() }))
}

/// The start of an allocation.
fn starting(start: Distance) -> Lanes {
    let starts = SmallVec::from_slice(&[start]);
    Lanes::Known(Box::new(Sum { lanes: [0; WARPS], columns: Some([0; WARPS]), starts }))
}

/// The columns of an address; those that count backwards take nothing from the lanes.
fn columns(word: u32) -> u32 {
    i32::from((word as u16).cast_signed()).cast_unsigned()
}

/// An address, some of whose lanes are a number that each warp has.
fn inserted(field: &Lanes, base: Lanes, start: u32, len: u32) -> Option<Lanes> {
    let (Lanes::Known(field), Lanes::Known(mut base)) = (field, base) else { return None };
    let columns = field.columns.filter(|_| field.starts.is_empty())?;
    if !(16..u32::BITS).contains(&start) || len > u32::BITS - start {
        return None;
    }
    let bits = u32::MAX.checked_shl(start)? & u32::MAX.checked_shr(u32::BITS - start - len).unwrap_or(0);
    for (warp, lanes) in base.lanes.iter_mut().enumerate() {
        let number = field.lanes[warp].wrapping_add(columns[warp]);
        *lanes = *lanes & !bits | number << start & bits;
    }
    Some(Lanes::Known(base))
}

fn plus(a: Lanes, b: Lanes) -> Option<Lanes> {
    let add = |to: &mut Words, by: &Words| to.iter_mut().zip(by).for_each(|(a, b)| *a = a.wrapping_add(*b));
    match (a, b) {
        (Lanes::Known(mut a), Lanes::Known(b)) => {
            add(&mut a.lanes, &b.lanes);
            a.columns = a.columns.zip(b.columns).map(|(mut sum, by)| {
                add(&mut sum, &by);
                sum
            });
            a.starts.extend(b.starts);
            Some(Lanes::Known(a))
        }
        (Lanes::Before, Lanes::Known(by)) | (Lanes::Known(by), Lanes::Before) => {
            (by.lanes.iter().all(|lanes| *lanes == 0) && by.starts.is_empty()).then_some(Lanes::Before)
        }
        (Lanes::Before, Lanes::Before) => None,
    }
}
