//! Which bits of a register are known.
//!
//! Kernels do not compute their descriptors from nothing: a constant is moved, some bits are
//! filled in at run time, and the rest stays. So the domain is the single bit: known to be 0,
//! known to be 1, or unknown. A value is known where every definition that reaches the use agrees.
//!
//! Sound: a bit that is said to be known has that value in every run. One rule of the domain is
//! not a theorem of arithmetic but of the hardware, and lives in `descriptor_sum`: address
//! arithmetic on a shared-memory descriptor does not carry out of its low word.
//!
//! Only what tcgen05 instructions need is evaluated: the definitions that reach their operands,
//! and what those are made of.

use std::cmp::{Ordering, Reverse};

use rustc_hash::{FxHashMap, FxHashSet};

use super::definitions::DefinitionId;
use super::function::Function;
use super::registers;
use super::values::{JoinId, ValueId};
pub use crate::descriptor::Known;
use crate::isa::generic::{BooleanOperator, Computation, Flag, Modifier, Part, Type};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution, Symbol, SymbolKind};
use crate::source::Span;
use crate::syntax::ast::{self, Operand, OperandKind, Slice, UnaryOperator};
use crate::syntax::literal;

mod bits;

/// Nothing is known.
const UNKNOWN: Known = Known::new(0, 0);

/// Known bits of the registers of one function, as far as they were asked for.
#[derive(Debug, Default)]
pub struct Constants {
    /// By definition: where its value is, or [`NO_SLOT`].
    slots: Vec<u32>,
    /// The same of joins.
    joins: FxHashMap<JoinId, u32>,
    values: Vec<Known>,
}

/// What an evaluation takes, in steps of the budget.
const VISIT: u64 = 4;

/// How often a join loses bits one after the other. What counts up without end loses one each time that it
/// comes round, up to the highest.
const TURNS: u32 = 8;

/// A definition that was not evaluated.
const NO_SLOT: u32 = u32::MAX;

impl Constants {
    /// Evaluates what the `uses` need: registers and the instructions that read them.
    pub fn new(function: &Function<'_>, uses: impl IntoIterator<Item = (u32, RegisterId)>) -> Self {
        let slots = vec![NO_SLOT; function.definitions.len()];
        let mut this = Self { slots, joins: FxHashMap::default(), values: Vec::new() };
        // By slot.
        let mut order: Vec<ValueId> = Vec::new();
        let mut work: Vec<ValueId> = Vec::new();
        // What each of them is made of: the operand that reads it, and the value.
        let mut sources: Vec<(u32, ValueId)> = Vec::new();
        let mut first_source: Vec<u32> = Vec::new();
        for (instruction, register) in uses {
            work.extend(function.value(instruction, register));
        }
        while let Some(id) = work.pop() {
            if this.slot(id).is_some() {
                continue;
            }
            let slot = order.len() as u32;
            match id {
                ValueId::Definition(id) => this.slots[id.0 as usize] = slot,
                ValueId::Join(join) => {
                    this.joins.insert(join, slot);
                }
            }
            order.push(id);
            first_source.push(sources.len() as u32);
            function.sources(id, &mut |operand, source| {
                sources.push((operand, source));
                work.push(source);
            });
        }
        first_source.push(sources.len() as u32);
        this.values = vec![TOP; order.len()];
        let read: Vec<Read> = sources
            .iter()
            .map(|(operand, source)| Read { operand: *operand, slot: this.slot(*source).unwrap_or(NO_SLOT) })
            .collect();
        let of =
            |slot: u32| &read[first_source[slot as usize] as usize..first_source[slot as usize + 1] as usize];
        let feeds = Feeds::new(order.len(), of);
        // Values only lose bits, so that this ends. Taken from the end: in the order of the instructions at
        // first.
        let mut waiting: Vec<u32> = (0..order.len() as u32).collect();
        waiting.sort_unstable_by_key(|slot| Reverse(order[*slot as usize]));
        let mut queued = vec![true; order.len()];
        let mut turns = vec![0; order.len()];
        while let Some(slot) = waiting.pop() {
            queued[slot as usize] = false;
            if !function.budget.take(VISIT) {
                // What has not settled is not known.
                this.values.fill(UNKNOWN);
                break;
            }
            let old = this.values[slot as usize];
            let inputs = Inputs { values: &this.values, read: of(slot) };
            let mut new = match order[slot as usize] {
                // A definition that reads what has no value yet comes back when it has one.
                ValueId::Definition(_) if inputs.are_missing() => continue,
                ValueId::Definition(id) => join(old, function.evaluate(id, inputs)),
                ValueId::Join(id) => join(old, this.join(function, id)),
            };
            if new == old {
                continue;
            }
            turns[slot as usize] += 1;
            if turns[slot as usize] > TURNS && matches!(order[slot as usize], ValueId::Join(_)) {
                new = without_carries(new);
            }
            this.values[slot as usize] = new;
            for fed in feeds.of(slot) {
                if !std::mem::replace(&mut queued[*fed as usize], true) {
                    waiting.push(*fed);
                }
            }
        }
        this
    }

    /// The known bits of `register` where `instruction` reads it.
    pub fn at(&self, function: &Function<'_>, instruction: u32, register: RegisterId) -> Known {
        let joined = match function.value(instruction, register) {
            None => UNKNOWN,
            Some(ValueId::Join(join)) if !self.joins.contains_key(&join) => self.join(function, join),
            Some(value) => self.of(value),
        };
        settled(joined)
    }

    fn slot(&self, value: ValueId) -> Option<u32> {
        match value {
            ValueId::Definition(id) => self.slots.get(id.0 as usize).copied().filter(|slot| *slot != NO_SLOT),
            ValueId::Join(join) => self.joins.get(&join).copied(),
        }
    }

    fn of(&self, value: ValueId) -> Known {
        self.slot(value).and_then(|slot| self.values.get(slot as usize)).copied().unwrap_or(UNKNOWN)
    }

    /// What is known of one of several values.
    fn join(&self, function: &Function<'_>, id: JoinId) -> Known {
        let inputs = function.definitions.joined(id);
        function.budget.take(inputs.len() as u64);
        inputs.iter().fold(TOP, |joined, value| join(joined, self.of(*value)))
    }
}

/// An operand of an instruction that reads a register.
#[derive(Clone, Copy, Debug)]
struct Read {
    operand: u32,
    /// Where its value is, or [`NO_SLOT`].
    slot: u32,
}

/// What the instruction reads that is evaluated.
#[derive(Clone, Copy, Debug)]
struct Inputs<'a> {
    values: &'a [Known],
    read: &'a [Read],
}

impl Inputs<'_> {
    /// Whether something that is read has no value yet.
    fn are_missing(self) -> bool {
        self.read.iter().any(|read| self.values.get(read.slot as usize) == Some(&TOP))
    }

    /// The known bits of a register that an operand reads.
    fn of(self, operand: u32) -> Known {
        let read = self.read.iter().find(|read| read.operand == operand);
        settled(read.and_then(|read| self.values.get(read.slot as usize)).copied().unwrap_or(UNKNOWN))
    }
}

/// By slot, the slots of what is made of its value.
#[derive(Debug)]
struct Feeds {
    first: Vec<u32>,
    fed: Vec<u32>,
}

impl Feeds {
    /// `sources` says what the value in a slot is made of.
    fn new<'a>(slots: usize, sources: impl Fn(u32) -> &'a [Read]) -> Self {
        let all = || {
            (0..slots as u32)
                .flat_map(|slot| sources(slot).iter().map(move |read| (read.slot as usize, slot)))
        };
        // One more, for those without a slot.
        let mut first = vec![0; slots + 2];
        for (source, _) in all() {
            first[source.min(slots) + 1] += 1;
        }
        for slot in 0..=slots {
            first[slot + 1] += first[slot];
        }
        let mut next = first.clone();
        let mut fed = vec![0; first[slots + 1] as usize];
        for (source, slot) in all() {
            let place = &mut next[source.min(slots)];
            fed[*place as usize] = slot;
            *place += 1;
        }
        Self { first, fed }
    }

    fn of(&self, slot: u32) -> &[u32] {
        &self.fed[self.first[slot as usize] as usize..self.first[slot as usize + 1] as usize]
    }
}

/// What is known of a value in whose unknown bits others are going to carry: those below.
fn without_carries(known: Known) -> Known {
    let below = known.mask.trailing_ones();
    Known::new(1u64.checked_shl(below).map_or(u64::MAX, |next| known.mask & (next - 1)), known.value)
}

/// What is known of what may have no value yet.
fn settled(known: Known) -> Known {
    if known == TOP { UNKNOWN } else { known }
}

/// Not evaluated yet: consistent with every value. No word looks like this, its value having a bit
/// that its mask has not.
const TOP: Known = Known { mask: 0, value: 1 };

/// What is known when it may be either.
fn join(left: Known, right: Known) -> Known {
    if left == TOP {
        return right;
    }
    if right == TOP {
        return left;
    }
    Known::new(left.mask & right.mask & !(left.value ^ right.value), left.value)
}

impl Function<'_> {
    /// Calls `visit` with the values that a value is made of, and the operands that read them; a join
    /// reads none.
    fn sources(&self, id: ValueId, visit: &mut impl FnMut(u32, ValueId)) {
        let definition = match id {
            ValueId::Definition(id) => self.definitions.get(id),
            ValueId::Join(join) => {
                return self.definitions.joined(join).iter().for_each(|value| visit(u32::MAX, *value));
            }
        };
        if !is_evaluated(self.unit.operations.of(definition.instruction)) {
            return;
        }
        registers::accesses(self.unit, definition.instruction, &mut |register, operand, access| {
            if access == registers::Access::Read
                && let Some(value) = self.value(definition.instruction, register)
            {
                visit(operand, value);
            }
        });
    }

    /// Where the value that `instruction` reads from `register` was made: through copies back to
    /// the definitions that it can come from, in the order of the text. None when that is far away,
    /// or in more places than a reader wants to know.
    pub fn origins(&self, instruction: u32, register: RegisterId) -> Vec<Span> {
        /// Copies that are followed.
        const FAR: usize = 256;
        let mut origins = Vec::new();
        let mut work: Vec<ValueId> = self.value(instruction, register).into_iter().collect();
        let mut seen: FxHashSet<ValueId> = work.iter().copied().collect();
        while let Some(value) = work.pop() {
            if seen.len() > FAR {
                return Vec::new();
            }
            let id = match value {
                ValueId::Definition(id) => id,
                ValueId::Join(join) => {
                    let inputs = self.definitions.joined(join);
                    if inputs.len() > FAR {
                        return Vec::new();
                    }
                    work.extend(inputs.iter().copied().filter(|value| seen.insert(*value)));
                    continue;
                }
            };
            if let Some(from) = self.copied(id) {
                let Some(value) = self.value(self.definitions.get(id).instruction, from) else {
                    // Copied from what nothing here makes.
                    return Vec::new();
                };
                work.extend(Some(value).filter(|value| seen.insert(*value)));
            } else {
                let raw = &self.unit.module.instructions[self.definitions.get(id).instruction as usize];
                let operands = self.unit.module.operands(raw.operands);
                origins.push(raw.opcode.to(operands.last().map_or(raw.opcode, Operand::span)));
            }
        }
        origins.sort_unstable();
        origins
    }

    /// The register that a definition copies.
    fn copied(&self, id: DefinitionId) -> Option<RegisterId> {
        let instruction = self.definitions.get(id).instruction;
        let raw = &self.unit.module.instructions[instruction as usize];
        let is_move = self.unit.operations.of(instruction).computes() == Computation::Move;
        if !is_move || raw.operands.len != 2 {
            return None;
        }
        let from = raw.operands.start + 1;
        match (self.unit.module.operands[from as usize].kind(), self.unit.symbols.operand(from)) {
            (OperandKind::Name, Resolution::Register(from)) => Some(from),
            _ => None,
        }
    }

    /// Width of a register in bits; a predicate has one.
    fn width(register: &Symbol) -> Option<u32> {
        match register.kind {
            SymbolKind::Register { ty: Some(ty), vector: 1, .. } => match ty {
                ast::Type::Pred => Some(1),
                ty => ty.bits().filter(|bits| *bits <= 64),
            },
            _ => None,
        }
    }

    /// Whether the function's own instructions are all that gives the register a value. Parameters
    /// have one before them, and registers of the module get them in other functions.
    pub(super) fn is_local(&self, register: &Symbol) -> bool {
        let declared = register.span;
        let body = &self.unit.module.statements[self.cfg.body().range()];
        body.first()
            .zip(body.last())
            .is_some_and(|(first, last)| first.span.start <= declared.start && declared.end <= last.span.end)
    }

    /// The value of an operand, cut to `width`.
    fn operand(&self, inputs: Inputs<'_>, index: u32, width: u32) -> Known {
        let operand: &Operand = &self.unit.module.operands[index as usize];
        let kind = operand.kind();
        // Nearly all are registers, which have no value of their own.
        if kind == OperandKind::Name
            && let Resolution::Register(_) = self.unit.symbols.operand(index)
        {
            return bits::cut(inputs.of(index), width);
        }
        if let Some(value) = literal::evaluate(&self.unit.source, &self.unit.module, operand) {
            // Two's complement of 128 bits, cut.
            let low = if width == 1 { u64::from(value != 0) } else { (value & i128::from(u64::MAX)) as u64 };
            return bits::cut(Known::from(low), width);
        }
        match kind {
            OperandKind::Name if self.unit.symbols.operand(index) == Resolution::Special => {
                let value = self.in_cluster_of_one(self.unit.source.slice(operand.span()));
                value.map_or(UNKNOWN, |value| bits::cut(Known::from(value), width))
            }
            // Packing: the elements from the lowest bits up.
            OperandKind::Vector(parts) if parts.len > 0 && width <= 64 && width.is_multiple_of(parts.len) => {
                let part = width / parts.len;
                let mut packed = Known::new(0, 0);
                for (position, index) in parts.range().enumerate() {
                    let element = self.operand(inputs, index as u32, part);
                    let element = bits::within(element, part);
                    let shift = part * position as u32;
                    packed.mask |= element.mask << shift;
                    packed.value |= element.value << shift;
                }
                packed
            }
            OperandKind::Unary(UnaryOperator::Not, part) if width == 1 && part.len == 1 => {
                bits::cut(bits::not(self.operand(inputs, part.start, 1)), 1)
            }
            _ => UNKNOWN,
        }
    }

    /// The known bits that a definition gives, from those of what it reads.
    fn evaluate(&self, id: DefinitionId, inputs: Inputs<'_>) -> Known {
        let definition = self.definitions.get(id);
        let instruction = definition.instruction;
        let raw = &self.unit.module.instructions[instruction as usize];
        let register = self.unit.symbols.register(definition.register);
        let Some(width) = Self::width(register) else { return UNKNOWN };
        if !self.is_local(register) {
            return UNKNOWN;
        }
        let opcode = self.unit.operations.of(instruction);
        if !is_evaluated(opcode) {
            return UNKNOWN;
        }
        let Some(&ty) = opcode.types.last() else { return UNKNOWN };
        let Some(ty_width) = width_of(ty) else { return UNKNOWN };
        let computes = opcode.computes();
        // What stands where the row has no place for it has no value.
        if !opcode.accepts(&self.unit.module, raw.operands) {
            return UNKNOWN;
        }
        let argument = |position: u32, width: u32| {
            if position < raw.operands.len {
                self.operand(inputs, raw.operands.start + position, width)
            } else {
                UNKNOWN
            }
        };
        // Positions, lengths, selectors and tables are 32 bits wide, whatever the rest is.
        let constant = |position: u32| argument(position, 32).constant(32);
        let part = part(opcode);
        let saturates = opcode.has_flag(Flag::Sat);
        let signed = ty.is_signed();
        let a = argument(1, ty_width);
        let result = match computes {
            Computation::Move => self.moved(inputs, definition.operand, raw.operands, ty_width, width),
            Computation::Convert if !saturates => match opcode.types[..] {
                [to, _] => {
                    // Extended to its first type, and then to the register, which may be wider.
                    let converted = bits::extend(a, ty_width, signed);
                    bits::extend(converted, to.bits().unwrap_or(width).min(64), to.is_signed())
                }
                _ => UNKNOWN,
            },
            Computation::And => bits::and(a, argument(2, ty_width)),
            Computation::Or => {
                let b = argument(2, ty_width);
                if ty_width == 64 {
                    self.descriptor_sum(raw.operands, instruction, a, b, bits::or(a, b))
                } else {
                    bits::or(a, b)
                }
            }
            Computation::Xor => bits::xor(a, argument(2, ty_width)),
            Computation::Not => bits::not(a),
            Computation::Lop3 => match constant(4) {
                Some(table) => bits::lop3(a, argument(2, 32), argument(3, 32), table),
                None => UNKNOWN,
            },
            Computation::ShiftLeft => constant(2).map_or(UNKNOWN, |by| bits::shl(a, by, ty_width)),
            Computation::ShiftRight => constant(2).map_or(UNKNOWN, |by| bits::shr(a, by, ty_width, signed)),
            Computation::Add if !saturates => {
                let b = argument(2, ty_width);
                let sum = bits::add(a, b, false);
                if ty_width == 64 { self.descriptor_sum(raw.operands, instruction, a, b, sum) } else { sum }
            }
            Computation::Subtract if !saturates => {
                let b = argument(2, ty_width);
                let difference = bits::add(a, Known::new(b.mask, !b.value), true);
                if ty_width == 64 && bits::is_descriptor(a) {
                    self.descriptor_sum(raw.operands, instruction, a, UNKNOWN, difference)
                } else {
                    difference
                }
            }
            Computation::Negate => bits::add(Known::from(0u64), Known::new(a.mask, !a.value), true),
            Computation::Multiply => match part {
                Some(Part::Lo) => bits::multiply(a, argument(2, ty_width), ty_width, false),
                // The product of numbers of 64 bits would be too wide.
                Some(Part::Wide) if ty_width <= 32 => {
                    bits::multiply(a, argument(2, ty_width), ty_width, signed)
                }
                Some(Part::Hi | Part::Wide) | None => UNKNOWN,
            },
            Computation::MultiplyAdd if !saturates => {
                let (product, sum_width) = match part {
                    Some(Part::Lo) => (bits::multiply(a, argument(2, ty_width), ty_width, false), ty_width),
                    Some(Part::Wide) if ty_width <= 32 => {
                        (bits::multiply(a, argument(2, ty_width), ty_width, signed), ty_width * 2)
                    }
                    Some(Part::Hi | Part::Wide) | None => return UNKNOWN,
                };
                bits::add(product, argument(3, sum_width), false)
            }
            Computation::ExtractBits => match (constant(2), constant(3)) {
                (Some(at), Some(len)) => bits::bfe(a, at, len, ty_width, signed),
                _ => UNKNOWN,
            },
            Computation::InsertBits => match (constant(3), constant(4)) {
                (Some(at), Some(len)) => bits::bfi(a, argument(2, ty_width), at, len, ty_width),
                _ => UNKNOWN,
            },
            Computation::Permute => {
                constant(3).map_or(UNKNOWN, |selector| bits::prmt(a, argument(2, 32), selector))
            }
            Computation::Select => match argument(3, 1).constant(1) {
                Some(0) => argument(2, ty_width),
                Some(_) => a,
                None => join(a, argument(2, ty_width)),
            },
            Computation::Compare => {
                let compared = compared(opcode, a, argument(2, ty_width), ty_width);
                let is_second = raw.operands.start != definition.operand
                    && !self.first_of_pair(raw.operands, definition.operand);
                let compared = if is_second { bits::not(compared) } else { compared };
                let with = || argument(3, 1);
                match opcode.boolean_operator() {
                    Some(BooleanOperator::And) => bits::and(compared, with()),
                    Some(BooleanOperator::Or) => bits::or(compared, with()),
                    Some(BooleanOperator::Xor) => bits::xor(compared, with()),
                    None => compared,
                }
            }
            // Whatever lane the value comes from, its known bits are those of the operand.
            Computation::Shuffle
                if raw.operands.start == definition.operand
                    || self.first_of_pair(raw.operands, definition.operand) =>
            {
                a
            }
            Computation::Other
            | Computation::Convert
            | Computation::ConvertAddress
            | Computation::Add
            | Computation::Subtract
            | Computation::MultiplyAdd
            | Computation::Divide
            | Computation::Remainder
            | Computation::Shuffle
            | Computation::Load
            | Computation::Elect => UNKNOWN,
        };
        let produced = match (computes, part) {
            (Computation::Convert, _) => width,
            (Computation::Compare, _) => 1,
            (_, Some(Part::Wide)) => ty_width * 2,
            (_, Some(Part::Lo | Part::Hi) | None) => ty_width,
        };
        // A register wider than the type keeps undefined bits above it.
        bits::within(result, produced.min(width))
    }

    /// The sum (or union) of a shared-memory descriptor and an offset: the high word is the
    /// descriptor's.
    ///
    /// The start address is 14 bits wide in units of 16 bytes, far from the top of the low word, and
    /// a shared-memory address is never negative. Code that adds to a descriptor relies on that.
    /// An offset is a number of 32 bits; what is not may well be meant for the high word.
    fn descriptor_sum(&self, operands: Slice, instruction: u32, a: Known, b: Known, sum: Known) -> Known {
        const HIGH: u64 = 0xFFFF_FFFF_0000_0000;
        let (descriptor, offset) = match (bits::is_descriptor(a), bits::is_descriptor(b)) {
            (true, false) => (a, operands.start + 2),
            (false, true) => (b, operands.start + 1),
            _ => return sum,
        };
        if !self.is_offset(instruction, offset, 0, &mut FxHashMap::default()) {
            return sum;
        }
        let high = Known::new(descriptor.mask & HIGH, descriptor.value);
        Known::new(sum.mask & !HIGH | high.mask, sum.value & !HIGH | high.value)
    }

    /// Whether an operand of 64 bits is made of numbers of 32 bits, by the way it is made. `seen` has
    /// what is known of definitions already; one that is made of itself is not.
    fn is_offset(
        &self,
        instruction: u32,
        index: u32,
        depth: u32,
        seen: &mut FxHashMap<ValueId, bool>,
    ) -> bool {
        let operand = &self.unit.module.operands[index as usize];
        if let Some(value) = literal::evaluate(&self.unit.source, &self.unit.module, operand) {
            return i32::try_from(value).is_ok() || u32::try_from(value).is_ok();
        }
        let Resolution::Register(register) = self.unit.symbols.operand(index) else { return false };
        self.value(instruction, register).is_some_and(|value| self.is_made_of_words(value, depth, seen))
    }

    fn is_made_of_words(&self, value: ValueId, depth: u32, seen: &mut FxHashMap<ValueId, bool>) -> bool {
        if let Some(known) = seen.get(&value) {
            return *known;
        }
        let made = match value {
            ValueId::Definition(id) => self.makes_words(id, depth, seen),
            ValueId::Join(join) => {
                self.definitions.all(ValueId::Join(join), self.budget).is_some_and(|all| {
                    all.iter().all(|id| self.is_made_of_words(ValueId::Definition(*id), depth, seen))
                })
            }
        };
        seen.insert(value, made);
        made
    }

    fn makes_words(&self, id: DefinitionId, depth: u32, seen: &mut FxHashMap<ValueId, bool>) -> bool {
        /// Deeper expressions are nothing that compilers make of addresses.
        const DEEP: u32 = 64;
        if depth >= DEEP {
            self.budget.give_up();
            return false;
        }
        seen.insert(ValueId::Definition(id), false);
        let instruction = self.definitions.get(id).instruction;
        let raw = &self.unit.module.instructions[instruction as usize];
        let opcode = self.unit.operations.of(instruction);
        let narrow = opcode.types.last().and_then(|ty| ty.bits()).is_some_and(|bits| bits <= 32);
        let is_wide = part(opcode) == Some(Part::Wide);
        let mut part = |position: u32| {
            position < raw.operands.len
                && self.budget.take(VISIT)
                && self.is_offset(instruction, raw.operands.start + position, depth + 1, seen)
        };
        match opcode.computes() {
            Computation::Convert => narrow,
            Computation::Multiply if is_wide => narrow,
            Computation::MultiplyAdd => is_wide && narrow && part(3),
            Computation::Move | Computation::Negate | Computation::ShiftRight => part(1),
            // What a mask of 32 bits leaves is a number of 32 bits.
            Computation::And => self.is_mask(raw.operands.start + 2) || part(1) && part(2),
            Computation::Add
            | Computation::Subtract
            | Computation::Or
            | Computation::Select
            | Computation::Multiply => part(1) && part(2),
            // Not into the high word.
            Computation::ShiftLeft => part(1) && self.shifts_by_less_than(raw.operands.start + 2, 16),
            Computation::Other
            | Computation::ConvertAddress
            | Computation::Xor
            | Computation::Not
            | Computation::Lop3
            | Computation::Divide
            | Computation::Remainder
            | Computation::ExtractBits
            | Computation::InsertBits
            | Computation::Permute
            | Computation::Compare
            | Computation::Shuffle
            | Computation::Load
            | Computation::Elect => false,
        }
    }

    fn is_mask(&self, index: u32) -> bool {
        let mask = literal::evaluate(
            &self.unit.source,
            &self.unit.module,
            &self.unit.module.operands[index as usize],
        );
        mask.is_some_and(|mask| u32::try_from(mask).is_ok())
    }

    fn shifts_by_less_than(&self, index: u32, limit: i128) -> bool {
        let by = literal::evaluate(
            &self.unit.source,
            &self.unit.module,
            &self.unit.module.operands[index as usize],
        );
        by.is_some_and(|by| (0..limit).contains(&by))
    }

    /// `mov` with packing and unpacking.
    fn moved(&self, inputs: Inputs<'_>, operand: u32, operands: Slice, ty_width: u32, width: u32) -> Known {
        let [destination, _] = self.unit.module.operands(operands) else { return UNKNOWN };
        let from = self.operand(inputs, operands.start + 1, ty_width);
        match destination.kind() {
            OperandKind::Vector(parts) if parts.len > 0 && ty_width.is_multiple_of(parts.len) => {
                let position = operand.saturating_sub(parts.start);
                let part = ty_width / parts.len;
                bits::cut(bits::shr(from, u64::from(position * part), ty_width, false), part.min(width))
            }
            _ => from,
        }
    }

    /// Whether `operand` is the `d` of `d|p`.
    fn first_of_pair(&self, operands: Slice, operand: u32) -> bool {
        match self.unit.module.operands(operands).first().map(Operand::kind) {
            Some(OperandKind::Binary(_, parts)) => parts.start == operand,
            _ => false,
        }
    }
}

/// Width of a type in bits, if it is a word or a predicate.
fn width_of(ty: Type) -> Option<u32> {
    if ty == Type::Pred { Some(1) } else { ty.bits().filter(|bits| *bits <= 64) }
}

/// What a comparison says of words of which some bits are known.
fn compared(opcode: &Opcode, a: Known, b: Known, width: u32) -> Known {
    let relation = opcode.comparison().zip(opcode.types.last()).and_then(|(it, ty)| it.of_integers(*ty));
    let differ = bits::cut(a, width).mask & b.mask & (a.value ^ b.value) & bits::cut(b, width).mask != 0;
    let holds = relation.and_then(|relation| match (a.constant(width), b.constant(width)) {
        (Some(a), Some(b)) => Some(bits::compare(relation, a, b, width)),
        // Which is more is not known.
        _ => (differ && !relation.is_order()).then(|| relation.holds(Ordering::Less)),
    });
    holds.map_or(UNKNOWN, |holds| Known::from(u64::from(holds)))
}

/// Whether something can be known of what an operation makes, from what it reads.
fn is_evaluated(opcode: &Opcode) -> bool {
    match opcode.computes() {
        Computation::Move | Computation::Select | Computation::Shuffle => true,
        // Numbers that are computed here are whole, and one in each register.
        Computation::Convert
        | Computation::And
        | Computation::Or
        | Computation::Xor
        | Computation::Not
        | Computation::Lop3
        | Computation::ShiftLeft
        | Computation::ShiftRight
        | Computation::Add
        | Computation::Subtract
        | Computation::Negate
        | Computation::Multiply
        | Computation::MultiplyAdd
        | Computation::ExtractBits
        | Computation::InsertBits
        | Computation::Permute
        | Computation::Compare => !opcode.types.iter().any(|ty| ty.is_float() || ty.is_packed()),
        Computation::Other
        | Computation::ConvertAddress
        | Computation::Divide
        | Computation::Remainder
        | Computation::Load
        | Computation::Elect => false,
    }
}

/// Which part of a product an opcode asks for.
fn part(opcode: &Opcode) -> Option<Part> {
    opcode.modifier(|modifier| match modifier {
        Modifier::Part(part) => Some(part),
        _ => None,
    })
}

impl Known {
    /// The sum with a constant, in `width` bits.
    #[must_use]
    pub fn plus(self, constant: u64, width: u32) -> Self {
        let low = bits::cut(bits::within(self, width), width);
        bits::within(bits::add(low, Known::from(constant), false), width)
    }

    /// The sum of 64 bits.
    #[must_use]
    pub fn sum(self, other: Self) -> Self {
        if other.mask == u64::MAX && other.value == 0 { self } else { bits::add(self, other, false) }
    }

    /// What has to be added to make zero, in 64 bits.
    #[must_use]
    pub fn negated(self) -> Self {
        bits::add(Self::from(0u64), Self::new(self.mask, !self.value), true)
    }

    /// The bits from `by` on.
    #[must_use]
    pub fn shifted_right(self, by: u32) -> Self {
        bits::shr(self, u64::from(by), 64, false)
    }

    /// The value, if the low `width` bits are all known.
    pub fn constant(self, width: u32) -> Option<u64> {
        let all = bits::cut(self, width);
        (all.mask == u64::MAX).then_some(all.value)
    }
}
