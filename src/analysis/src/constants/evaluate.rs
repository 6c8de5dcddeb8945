//! What the instructions that compute make of known bits: one at a time.

use std::cmp::Ordering;

use rustc_hash::FxHashMap;

use super::initial::{address_of, loads_constant};
use super::{Inputs, Known, UNKNOWN, VISIT, bits, join};
use crate::definitions::DefinitionId;
use crate::function::Function;
use crate::isa::generic::{
    Arithmetic, Bits, BooleanOperator, Computation, Direction, Flag, Modifier, Overflow, Part, Type,
};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution, Symbol, SymbolKind};
use crate::syntax::ast::{self, BinaryOperator, Operand, OperandKind, Slice, UnaryOperator};
use crate::syntax::literal;
use crate::values::ValueId;

impl Function<'_> {
    /// Width of a register in bits; a predicate has one.
    pub(crate) fn width(register: &Symbol) -> Option<u32> {
        match register.kind {
            SymbolKind::Register { ty: Some(ty), vector: 1, .. } => match ty {
                ast::Type::Pred => Some(1),
                ty => ty.bits().filter(|bits| *bits <= 64),
            },
            _ => None,
        }
    }

    /// What a register holds that is a parameter, where nothing in the function writes it.
    pub(super) fn parameter_register(&self, register: RegisterId) -> Option<Known> {
        let word = self.given?.register(register)?;
        self.definitions.of(register).is_empty().then_some(word.known)
    }

    /// Whether the function's own instructions are all that gives the register a value. Parameters
    /// have one before them, and registers of the module get them in other functions.
    pub(crate) fn is_local(&self, register: &Symbol) -> bool {
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
            && let Resolution::Register(register) = self.unit.symbols.operand(index)
        {
            return bits::cut(self.parameter_register(register).unwrap_or_else(|| inputs.of(index)), width);
        }
        if let Some(value) = literal::evaluate(&self.unit.source, &self.unit.module, operand) {
            // Two's complement of 128 bits, cut.
            let low = if width == 1 { u64::from(value != 0) } else { (value & i128::from(u64::MAX)) as u64 };
            return bits::cut(Known::from(low), width);
        }
        match kind {
            OperandKind::Name => match self.unit.symbols.operand(index) {
                Resolution::Special(special) => {
                    let value = self.in_cluster_of_one(special);
                    value.map_or(UNKNOWN, |value| bits::cut(Known::from(value), width))
                }
                Resolution::Symbol(variable) => bits::cut(address_of(self.unit, variable), width),
                Resolution::Register(_) | Resolution::Undeclared => UNKNOWN,
            },
            // `variable+8`
            OperandKind::Binary(BinaryOperator::Add, sum) if sum.len == 2 => {
                let by = self.operand(inputs, sum.start + 1, width);
                match self.unit.symbols.operand(sum.start) {
                    Resolution::Symbol(variable) => {
                        bits::cut(bits::add(address_of(self.unit, variable), by, false), width)
                    }
                    Resolution::Register(_) | Resolution::Special(_) | Resolution::Undeclared => UNKNOWN,
                }
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
    pub(super) fn evaluate(&self, id: DefinitionId, inputs: Inputs<'_>) -> Known {
        let definition = self.definitions.get(id);
        let instruction = definition.instruction;
        let raw = &self.unit.module.instructions[instruction as usize];
        let register = self.unit.symbols.register(definition.register);
        let Some(width) = Self::width(register) else { return UNKNOWN };
        if !self.is_local(register) {
            return UNKNOWN;
        }
        if let Some(word) = self.given.and_then(|given| given.word(definition.operand)) {
            return bits::within(word.known, width);
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
            Computation::Bits(Bits::Lop3) => match constant(4) {
                Some(table) => bits::lop3(a, argument(2, 32), argument(3, 32), table),
                None => UNKNOWN,
            },
            Computation::Bits(Bits::ShiftLeft) => {
                constant(2).map_or(UNKNOWN, |by| bits::shl(a, by, ty_width))
            }
            Computation::Bits(Bits::ShiftRight) => {
                constant(2).map_or(UNKNOWN, |by| bits::shr(a, by, ty_width, signed))
            }
            Computation::Arithmetic(Arithmetic::Add) if !saturates => {
                let b = argument(2, ty_width);
                let sum = bits::add(a, b, false);
                if ty_width == 64 { self.descriptor_sum(raw.operands, instruction, a, b, sum) } else { sum }
            }
            Computation::Arithmetic(Arithmetic::Subtract) if !saturates => {
                let b = argument(2, ty_width);
                let difference = bits::add(a, Known::new(b.mask, !b.value), true);
                if ty_width == 64 && bits::is_descriptor(a) {
                    self.descriptor_sum(raw.operands, instruction, a, UNKNOWN, difference)
                } else {
                    difference
                }
            }
            Computation::Arithmetic(Arithmetic::Negate) => {
                bits::add(Known::from(0u64), Known::new(a.mask, !a.value), true)
            }
            Computation::Arithmetic(Arithmetic::Multiply) => match part {
                Some(Part::Lo) => bits::multiply(a, argument(2, ty_width), ty_width, false),
                // The product of numbers of 64 bits would be too wide.
                Some(Part::Wide) if ty_width <= 32 => {
                    bits::multiply(a, argument(2, ty_width), ty_width, signed)
                }
                Some(Part::Hi | Part::Wide) | None => UNKNOWN,
            },
            Computation::Arithmetic(Arithmetic::MultiplyAdd) if !saturates => {
                let (product, sum_width) = match part {
                    Some(Part::Lo) => (bits::multiply(a, argument(2, ty_width), ty_width, false), ty_width),
                    Some(Part::Wide) if ty_width <= 32 => {
                        (bits::multiply(a, argument(2, ty_width), ty_width, signed), ty_width * 2)
                    }
                    Some(Part::Hi | Part::Wide) | None => return UNKNOWN,
                };
                bits::add(product, argument(3, sum_width), false)
            }
            Computation::Bits(Bits::Extract) => {
                let field = constant(2).zip(constant(3)).and_then(|(at, len)| bits::field(at, len, ty_width));
                field.map_or(UNKNOWN, |field| bits::bfe(a, field, ty_width, signed))
            }
            Computation::Bits(Bits::Insert) => {
                let field = constant(3).zip(constant(4)).and_then(|(at, len)| bits::field(at, len, ty_width));
                field.map_or(UNKNOWN, |field| bits::bfi(a, argument(2, ty_width), field, ty_width))
            }
            Computation::Bits(Bits::Permute) => {
                constant(3).map_or(UNKNOWN, |selector| bits::prmt(a, argument(2, 32), selector))
            }
            Computation::Arithmetic(Arithmetic::Divide) => {
                bits::divide(a, argument(2, ty_width), ty_width, signed)
            }
            Computation::Arithmetic(Arithmetic::Remainder) => {
                bits::remainder(a, argument(2, ty_width), ty_width, signed)
            }
            Computation::Arithmetic(Arithmetic::Minimum | Arithmetic::Maximum)
                if !opcode.has_flag(Flag::Relu) =>
            {
                let is_least = computes == Computation::Arithmetic(Arithmetic::Minimum);
                bits::extreme(a, argument(2, ty_width), ty_width, signed, is_least)
            }
            Computation::Bits(Bits::Reverse) => bits::reverse(a, ty_width),
            Computation::Bits(Bits::FunnelShift) => match constant(3) {
                Some(by) => {
                    let by =
                        if opcode.has(Modifier::Overflow(Overflow::Wrap)) { by & 31 } else { by.min(32) };
                    let is_left = opcode.has(Modifier::Direction(Direction::Left));
                    bits::funnel(a, argument(2, 32), if is_left { 32 - by } else { by })
                }
                None => UNKNOWN,
            },
            Computation::Load if loads_constant(opcode) => self.constant_word(raw.operands, ty_width),
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
            | Computation::Arithmetic(_)
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
            Computation::Arithmetic(Arithmetic::Multiply) if is_wide => narrow,
            Computation::Arithmetic(Arithmetic::MultiplyAdd) => is_wide && narrow && part(3),
            Computation::Move
            | Computation::Arithmetic(Arithmetic::Negate)
            | Computation::Bits(Bits::ShiftRight) => part(1),
            // What a mask of 32 bits leaves is a number of 32 bits.
            Computation::And => self.is_mask(raw.operands.start + 2) || part(1) && part(2),
            Computation::Arithmetic(Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Multiply)
            | Computation::Or
            | Computation::Select => part(1) && part(2),
            // Not into the high word.
            Computation::Bits(Bits::ShiftLeft) => {
                part(1) && self.shifts_by_less_than(raw.operands.start + 2, 16)
            }
            Computation::Other
            | Computation::ConvertAddress
            | Computation::Xor
            | Computation::Not
            | Computation::Bits(_)
            | Computation::Arithmetic(_)
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
    pub(crate) fn first_of_pair(&self, operands: Slice, operand: u32) -> bool {
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
pub(super) fn is_evaluated(opcode: &Opcode) -> bool {
    match opcode.computes() {
        Computation::Move | Computation::Select | Computation::Shuffle => true,
        // Numbers that are computed here are whole, and one in each register.
        Computation::Convert
        | Computation::And
        | Computation::Or
        | Computation::Xor
        | Computation::Not
        | Computation::Bits(_)
        | Computation::Arithmetic(_)
        | Computation::Compare => !opcode.types.iter().any(|ty| ty.is_float() || ty.is_packed()),
        Computation::Load => loads_constant(opcode),
        Computation::Other | Computation::ConvertAddress | Computation::Elect => false,
    }
}

/// Which part of a product an opcode asks for.
fn part(opcode: &Opcode) -> Option<Part> {
    opcode.modifier(|modifier| match modifier {
        Modifier::Part(part) => Some(part),
        _ => None,
    })
}
