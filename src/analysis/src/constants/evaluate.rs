//! What the instructions that compute make of known bits: one at a time.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::initial::{address_of, loads_constant};
use super::{Known, Reads, UNKNOWN, VISIT, bits};
use crate::arithmetic::known_bits::KnownBits;
use crate::definitions::DefinitionId;
use crate::function::Function;
use crate::ir::{Argument, Placed};
use crate::isa::generic::{Arithmetic, Bits, Computation, Modifier, Part};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution, Symbol, SymbolKind};
use crate::syntax::ast::{self, Slice};
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

    /// What is known of an argument.
    fn argument(&self, inputs: Reads<'_, Known>, placed: &Placed) -> Known {
        match placed.argument {
            Argument::Constant(value) => Known::from(value),
            Argument::Register { id, part: 0 } => {
                self.parameter_register(id).or(inputs.of(placed.operand).copied()).unwrap_or(UNKNOWN)
            }
            Argument::Not(id) => {
                let holds =
                    self.parameter_register(id).or(inputs.of(placed.operand).copied()).unwrap_or(UNKNOWN);
                bits::cut(bits::not(holds), 1)
            }
            Argument::Special(special) => self.in_cluster_of_one(special).map_or(UNKNOWN, Known::from),
            Argument::Symbol { id, offset, generic: false } => {
                bits::add(address_of(self.unit, id), Known::from(offset.cast_unsigned()), false)
            }
            Argument::Register { .. }
            | Argument::Symbol { .. }
            | Argument::Carry
            | Argument::Sink
            | Argument::Opaque => UNKNOWN,
        }
    }

    /// The known bits that a definition gives, from those of what it reads.
    pub(super) fn evaluate(&self, id: DefinitionId, inputs: Reads<'_, Known>) -> Known {
        let definition = self.definitions.get(id);
        let instruction = definition.instruction;
        let register = self.unit.symbols.register(definition.register);
        let Some(width) = Self::width(register) else { return UNKNOWN };
        if !self.is_local(register) {
            return UNKNOWN;
        }
        if let Some(word) = self.given.and_then(|given| given.word(definition.operand)) {
            return bits::within(word.known, width);
        }
        let opcode = self.unit.operations.of(instruction);
        let operands = self.unit.module.instructions[instruction as usize].operands;
        if loads_constant(opcode) {
            let read = opcode.types.last().and_then(|ty| ty.bits()).filter(|bits| *bits <= 64);
            return read
                .map_or(UNKNOWN, |read| bits::within(self.constant_word(operands, read), read.min(width)));
        }
        if !is_evaluated(opcode) {
            return UNKNOWN;
        }
        let Some(computing) = self.computing(instruction) else { return UNKNOWN };
        let (Some(arithmetic), Some(position)) =
            (computing.arithmetic, computing.position(definition.operand))
        else {
            return UNKNOWN;
        };
        let sources: SmallVec<[Known; 4]> =
            computing.sources().iter().map(|placed| self.argument(inputs, placed)).collect();
        let count = computing.results().len();
        let mut result = arithmetic.transfer(&mut KnownBits, &sources, position, count);
        if let ([a, b], [ty]) = (&sources[..], &opcode.types[..])
            && ty.bits() == Some(64)
        {
            result = match opcode.computes() {
                Computation::Or | Computation::Arithmetic(Arithmetic::Add) => {
                    self.descriptor_sum(operands, instruction, *a, *b, result)
                }
                Computation::Arithmetic(Arithmetic::Subtract) if bits::is_descriptor(*a) => {
                    self.descriptor_sum(operands, instruction, *a, UNKNOWN, result)
                }
                _ => result,
            };
        }
        // A register wider than the type keeps undefined bits above it.
        bits::within(result, arithmetic.result_bits(position, count).min(width))
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
}

/// Whether something can be known of what an operation makes, from what it reads.
pub(super) fn is_evaluated(opcode: &Opcode) -> bool {
    loads_constant(opcode) || matches!(opcode.arithmetic(), Some(Ok(it)) if it.is_followed())
}

/// Which part of a product an opcode asks for.
fn part(opcode: &Opcode) -> Option<Part> {
    opcode.modifier(|modifier| match modifier {
        Modifier::Part(part) => Some(part),
        _ => None,
    })
}
