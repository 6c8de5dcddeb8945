//! What a shared memory descriptor loses of the addresses and offsets that it is made of: its fields are in
//! units of 16 bytes, and what lies below is shifted out without a word. And what constants are added to.

use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

use super::constants::Known;
use super::definitions::DefinitionId;
use super::flow::Flow;
use super::function::Function;
use super::functions::FunctionFacts;
use super::places::Place;
use crate::instruction::Scalar;
use crate::instruction::decode::Decoded;
use crate::isa::generic::{Arithmetic, Bits, Computation};
use crate::resolve::symbols::{RegisterId, Resolution, SymbolKind};
use crate::resolve::unit::Unit;
use crate::syntax::ast::{BinaryOperator, Operand, OperandKind, RawInstruction, StateSpace};
use crate::syntax::literal;

/// Bits that the fields leave out.
const UNIT: u32 = 4;
const LOW: u64 = (1 << UNIT) - 1;

/// A number of bytes that is not made one of units as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncated {
    /// It is no multiple of 16.
    Rest {
        /// The instruction that shifts it.
        at: u32,
        /// The lowest bit of the field that it gets to.
        field: u32,
        /// What it is modulo 16, as far as that is known: never 0.
        rest: Known,
    },
    /// It is the address of a variable, and gets to the start address as it is.
    Unshifted {
        /// The instruction that takes the address.
        at: u32,
    },
}

/// The bits of a descriptor's start address, in units of 16 bytes.
const FIELD: u64 = 0x3FFF;

/// What a constant is added to that is a descriptor but for its start address: the steps along K are part of the
/// constant then.
#[derive(Clone, Copy, Debug)]
pub struct Folded {
    /// The start address that it is added to.
    pub base: DefinitionId,
    constant: u64,
}

impl Folded {
    /// How far the start address is from the base, in units of 16 bytes.
    pub fn step(self) -> u64 {
        self.constant & FIELD
    }

    /// What the constant says besides.
    pub fn rest(self) -> u64 {
        self.constant & !FIELD
    }
}

/// The ways that were gone already: a definition, and how far its value is shifted in the descriptor.
pub type Seen = FxHashSet<(DefinitionId, u32)>;

impl FunctionFacts {
    /// What is lost in the descriptor that `instruction` reads from `register`, besides what was `seen`.
    pub fn truncated(
        &self,
        unit: &Unit,
        instruction: u32,
        register: RegisterId,
        seen: &mut Seen,
    ) -> Vec<Truncated> {
        let view = self.view(unit);
        let mut found = Vec::new();
        let mut work: SmallVec<[_; 16]> = smallvec![(instruction, register, 0)];
        while let Some((reader, register, shift)) = work.pop() {
            let Some(id) = view.only(reader, register) else { continue };
            if !seen.insert((id, shift)) || !view.budget.take(1) {
                continue;
            }
            let definition = view.definitions.get(id);
            let at = definition.instruction;
            let raw = &unit.module.instructions[at as usize];
            if definition.operand != raw.operands.start {
                continue;
            }
            let step = Step { view: &view, raw };
            let mut part = |position: u32, more: u32| {
                let operand = raw.operands.start + position;
                if shift + more == 0 && step.is_address(operand) {
                    found.push(Truncated::Unshifted { at });
                }
                work.extend(step.registers(operand).map(|(register, by)| (at, register, shift + more + by)));
            };
            match unit.operations.of(at).computes() {
                Computation::Move | Computation::Convert => part(1, 0),
                Computation::And if step.number(2).is_some() => part(1, 0),
                Computation::Or | Computation::Arithmetic(Arithmetic::Add) => {
                    part(1, 0);
                    part(2, 0);
                }
                Computation::Bits(Bits::ShiftLeft) => {
                    if let Some(by @ (16 | 32)) = step.number(2) {
                        part(1, by as u32);
                    }
                }
                Computation::Bits(Bits::Insert) => {
                    if let Some(by @ (0 | 16 | 32)) = step.number(3) {
                        part(1, by as u32);
                    }
                    part(2, 0);
                }
                Computation::Bits(Bits::ShiftRight | Bits::Extract)
                    if step.number(2) == Some(i128::from(UNIT)) =>
                {
                    let rest = step.register(1).map(|register| self.rest(&view, at, register));
                    // Fifteen more, and then whole units: that is how one rounds up.
                    let is_rounded = rest.is_some_and(|rest| rest.mask & rest.value == LOW);
                    if let Some(rest) = rest.filter(|rest| rest.value != 0 && !is_rounded) {
                        found.push(Truncated::Rest { at, field: shift, rest });
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// What is known of the word that a small constant is added to, if that is what makes a descriptor.
    pub fn stepped_from(&self, unit: &Unit, decoded: &Decoded<'_>, descriptor: &Scalar<'_>) -> Option<Known> {
        /// Units of 16 bytes: what lies further on is another matrix, perhaps.
        const NEAR: u128 = 128;
        let Scalar::Register(register) = descriptor else { return None };
        let view = self.view(unit);
        let definition = *view.definitions.get(view.only(decoded.index, register.id)?);
        let at = definition.instruction;
        let step = Step { view: &view, raw: &unit.module.instructions[at as usize] };
        let adds = unit.operations.of(at).computes() == Computation::Arithmetic(Arithmetic::Add)
            && step.number(2).is_some_and(|by| by.unsigned_abs() < NEAR);
        (adds && !definition.guarded).then(|| Some(self.constants.at(&view, at, step.register(1)?)))?
    }

    /// The start address and the constant of which a descriptor is the sum.
    pub fn folded(&self, unit: &Unit, decoded: &Decoded<'_>, descriptor: &Scalar<'_>) -> Option<Folded> {
        let Scalar::Register(register) = descriptor else { return None };
        let view = self.view(unit);
        let definition = *view.definitions.get(view.only(decoded.index, register.id)?);
        let at = definition.instruction;
        let step = Step { view: &view, raw: &unit.module.instructions[at as usize] };
        let computes = unit.operations.of(at).computes();
        if !matches!(computes, Computation::Or | Computation::Arithmetic(Arithmetic::Add))
            || definition.guarded
        {
            return None;
        }
        let from = step.register(1)?;
        let constant = step.number(2).filter(|_| view.budget.take(1))? as u64;
        if constant <= FIELD {
            return None;
        }
        let word = self.constants.at(&view, at, from);
        let zeros = word.mask & !word.value;
        let is_sum = computes != Computation::Or || constant & FIELD & !zeros == 0;
        Some(Folded { base: view.only(at, from).filter(|_| is_sum)?, constant })
    }

    /// What is known of a number modulo 16, before it is cut to the bits of a field.
    fn rest(&self, view: &Function<'_>, instruction: u32, register: RegisterId) -> Known {
        /// The bits that 9.7.16.4.1 takes of an address.
        const TAKEN: i128 = 0x3_FFF0;
        let (mut at, mut register) = (instruction, register);
        if let Some(made) = view.only(at, register).map(|id| view.definitions.get(id).instruction) {
            let raw = &view.unit.module.instructions[made as usize];
            let step = Step { view, raw };
            if view.unit.operations.of(made).computes() == Computation::And
                && step.number(2) == Some(TAKEN)
                && let Some(whole) = step.register(1)
            {
                (at, register) = (made, whole);
            }
        }
        let known = self.constants.at(view, at, register);
        Known::new(known.mask & LOW, known.value)
    }
}

impl Flow<'_> {
    /// What is known of the word that a counted loop adds something to, if that is what makes a descriptor, and of the
    /// sums in its iterations, each with the number of the iteration.
    pub fn stepped_in_iterations(
        &self,
        instruction: u32,
        register: RegisterId,
    ) -> Option<(Known, impl Iterator<Item = (usize, Known)> + use<>)> {
        /// Units of 16 bytes: what lies further on is another matrix, perhaps.
        const NEAR: u64 = 128;
        let view = self.facts.view(self.unit);
        let definition = *view.definitions.get(view.only(instruction, register)?);
        let at = definition.instruction;
        let block = view.cfg.block_of(at).filter(|block| view.cfg.is_in_loop(*block))?;
        let step = Step { view: &view, raw: &self.unit.module.instructions[at as usize] };
        let adds = self.unit.operations.of(at).computes() == Computation::Arithmetic(Arithmetic::Add)
            && !definition.guarded
            && view.cfg.block_of(instruction) == Some(block);
        let (one, other) = adds.then(|| step.register(1).zip(step.register(2)))??;
        [(one, other), (other, one)].into_iter().find_map(|(from, by)| {
            let from = self.facts.constants.at(&view, at, from);
            // Nothing is compared with what is not known.
            (from.mask & LOW != 0).then_some(())?;
            let steps: Option<Vec<u64>> =
                self.in_iterations(at, by).values.iter().map(Place::number).collect();
            let steps = steps.filter(|steps| !steps.is_empty())?;
            let near = steps.into_iter().enumerate().filter(|(_, by)| *by < NEAR);
            Some((from, near.map(move |(iteration, by)| (iteration + 1, from.sum(Known::from(by))))))
        })
    }

    /// The place in shared memory where the matrix of a descriptor starts that an instruction reads from a register,
    /// if the descriptor is made of that and constants.
    pub fn start_of_matrix(&self, instruction: u32, register: RegisterId) -> Option<Place> {
        const DEEP: u32 = 16;
        let view = self.facts.view(self.unit);
        let (mut at, mut register, mut units) = (instruction, register, 0);
        for _ in 0..DEEP {
            let definition = *view.definitions.get(view.only(at, register)?);
            let raw = &self.unit.module.instructions[definition.instruction as usize];
            if definition.guarded || definition.operand != raw.operands.start || !view.budget.take(1) {
                return None;
            }
            at = definition.instruction;
            let step = Step { view: &view, raw };
            let known = |position: u32| {
                let register = step.register(position);
                let known = || self.facts.constants.at(&view, at, register?).constant(64).map(i128::from);
                step.number(position).or_else(known)
            };
            match (self.unit.operations.of(at).computes(), raw.operands.len) {
                (Computation::Move | Computation::Convert, 2) => {
                    // The low word of two.
                    register = step.registers(raw.operands.start + 1).next()?.0;
                }
                (Computation::Or | Computation::Arithmetic(Arithmetic::Add), 3) => {
                    // Compilers write the constant last.
                    let (other, by) = match known(2) {
                        Some(by) => (1, by),
                        None => (2, known(1)?),
                    };
                    units += by & i128::from(FIELD);
                    register = step.register(other)?;
                }
                (Computation::And, 3) => {
                    register = step.register(1)?;
                    if !keeps(step.number(2)?, FIELD, self.facts.constants.at(&view, at, register)) {
                        return None;
                    }
                }
                (Computation::Bits(Bits::ShiftRight), 3) | (Computation::Bits(Bits::Extract), 4)
                    if step.number(2) == Some(i128::from(UNIT)) =>
                {
                    let place = self.places().of(at, self.whole(&view, at, step.register(1)?));
                    let bytes = u64::try_from(units).ok()? << UNIT;
                    return Some(place.plus(Known::from(bytes)));
                }
                _ => return None,
            }
        }
        None
    }

    /// The number of bytes of which the field takes its bits.
    #[expect(clippy::unused_self, reason = "it belongs to the question above")]
    fn whole(&self, view: &Function<'_>, at: u32, register: RegisterId) -> RegisterId {
        let made = view.only(at, register).map(|id| view.definitions.get(id).instruction);
        let masked = made.and_then(|made| {
            let step = Step { view, raw: &view.unit.module.instructions[made as usize] };
            let is_mask = view.unit.operations.of(made).computes() == Computation::And
                && matches!(step.number(2), Some(0x3_FFFF | 0x3_FFF0));
            if is_mask { step.register(1) } else { None }
        });
        masked.unwrap_or(register)
    }
}

/// Whether a mask leaves some bits of a word as they are. Those that are 0 in any case, it need not have: compilers
/// know what addresses are aligned to.
pub(super) fn keeps(mask: i128, bits: u64, word: Known) -> bool {
    bits & !(mask as u64 | word.mask & !word.value) == 0
}

/// An instruction on the way from a descriptor to what it is made of.
struct Step<'a> {
    view: &'a Function<'a>,
    raw: &'a RawInstruction,
}

impl Step<'_> {
    fn number(&self, position: u32) -> Option<i128> {
        let Unit { source, module, .. } = self.view.unit;
        let operand = module.operands(self.raw.operands).get(position as usize)?;
        literal::evaluate(source, module, operand)
    }

    fn register(&self, position: u32) -> Option<RegisterId> {
        if position >= self.raw.operands.len {
            return None;
        }
        match self.view.unit.symbols.operand(self.raw.operands.start + position) {
            Resolution::Register(register) => Some(register),
            Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => None,
        }
    }

    /// Whether an operand is the address of a variable in shared memory, with a number added or not.
    fn is_address(&self, operand: u32) -> bool {
        let Unit { module, symbols, .. } = self.view.unit;
        let Some(found) = module.operands.get(operand as usize) else { return false };
        let name = match found.kind() {
            OperandKind::Name => operand,
            OperandKind::Binary(BinaryOperator::Add, sum) => sum.start,
            _ => return false,
        };
        let Resolution::Symbol(id) = symbols.operand(name) else { return false };
        matches!(symbols.symbol(id).kind, SymbolKind::Variable { space: StateSpace::Shared, .. })
    }

    /// The registers of an operand, and how far they are shifted in it: two halves, perhaps.
    fn registers(&self, operand: u32) -> impl Iterator<Item = (RegisterId, u32)> + use<> {
        let Unit { module, symbols, .. } = self.view.unit;
        let own = self.raw.operands.range().contains(&(operand as usize));
        let parts = match module.operands.get(operand as usize).filter(|_| own).map(Operand::kind) {
            Some(OperandKind::Vector(parts)) if parts.len == 2 => {
                [Some((parts.start, 0)), Some((parts.start + 1, 32))]
            }
            Some(OperandKind::Name) => [Some((operand, 0)), None],
            _ => [None, None],
        };
        let registers = parts.map(|part| match part.map(|(index, by)| (symbols.operand(index), by)) {
            Some((Resolution::Register(register), by)) => Some((register, by)),
            _ => None,
        });
        registers.into_iter().flatten()
    }
}
