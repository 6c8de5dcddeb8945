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

use smallvec::SmallVec;

use super::definitions::DefinitionId;
use super::function::Function;
use super::registers;
use super::sparse::{Analysis, Reads, Solution, solve};
use super::values::ValueId;
use super::walks::Walk;
pub use crate::descriptor::Known;
use crate::descriptor::known_bits::{self as bits, UNKNOWN};
use crate::isa::generic::{Arithmetic, Computation};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::source::Span;
use crate::syntax::ast::{Operand, OperandKind};
use crate::syntax::literal;

mod evaluate;
mod initial;

use evaluate::is_evaluated;

/// Known bits of the registers of one function, as far as they were asked for.
#[derive(Debug, Default)]
pub struct Constants {
    found: Solution<Known>,
}

/// What an evaluation takes, in steps of the budget.
const VISIT: u64 = 4;

/// How often a phi loses bits one after the other. What counts up without end loses one in each iteration, up to the
/// highest.
const TURNS: u32 = 8;

/// The analysis of known bits.
struct OfBits<'a, 'f>(&'a Function<'f>);

impl Analysis for OfBits<'_, '_> {
    type Value = Known;

    const VISIT: u64 = VISIT;
    const MOST: usize = usize::MAX;
    const NARROWINGS: u32 = 0;

    fn known(&self, _: ValueId) -> Option<Known> {
        None
    }

    fn sources(&mut self, id: DefinitionId, visit: &mut dyn FnMut(u32, ValueId)) {
        self.0.sources(ValueId::Definition(id), &mut |operand, source| visit(operand, source));
    }

    fn make(&mut self, id: DefinitionId, reads: Reads<'_, Known>) -> Option<Known> {
        // A definition that reads what has no value yet comes back when it has one.
        (!reads.are_missing()).then(|| self.0.evaluate(id, reads))
    }

    fn join(&mut self, one: &Known, other: &Known) -> Known {
        bits::join(*one, *other)
    }

    fn widen(&mut self, value: ValueId, old: &Known, joined: Known, changes: u32) -> Known {
        let is_phi = matches!(value, ValueId::Join(_));
        if is_phi && changes >= TURNS { without_carries(*old, joined) } else { joined }
    }
}

impl Constants {
    /// Evaluates what the `uses` need: registers and the instructions that read them.
    pub fn new(function: &Function<'_>, uses: impl IntoIterator<Item = (u32, RegisterId)>) -> Self {
        Self::solved(function, uses, true)
    }

    /// The known bits of few uses, in their order.
    pub(super) fn of_uses(function: &Function<'_>, uses: &[(u32, RegisterId)]) -> Vec<Known> {
        // Mostly a constant was moved there.
        let made = |(instruction, register): &_| made_of_nothing(function, *instruction, *register);
        uses.iter().map(made).collect::<Option<_>>().unwrap_or_else(|| {
            /// Definitions for which a list takes less than a table.
            const LIST: usize = 1024;
            let is_dense = function.definitions.len() <= LIST;
            let constants = Self::solved(function, uses.iter().copied(), is_dense);
            uses.iter()
                .map(|(instruction, register)| constants.at(function, *instruction, *register))
                .collect()
        })
    }

    fn solved(
        function: &Function<'_>,
        uses: impl IntoIterator<Item = (u32, RegisterId)>,
        is_dense: bool,
    ) -> Self {
        let roots = uses.into_iter().filter_map(|(at, register)| function.value(at, register));
        // What has not settled is not known.
        let found = solve(&mut OfBits(function), function, roots, is_dense);
        Self { found: found.unwrap_or_default() }
    }

    /// The known bits of `register` where `instruction` reads it.
    pub fn at(&self, function: &Function<'_>, instruction: u32, register: RegisterId) -> Known {
        match function.value(instruction, register) {
            None => function.parameter_register(register).unwrap_or(UNKNOWN),
            Some(value @ ValueId::Join(join)) if !self.found.has(value) => {
                let inputs = function.definitions.joined(join);
                function.budget.take(inputs.len() as u64);
                inputs.iter().map(|input| self.of(*input)).reduce(bits::join).unwrap_or(UNKNOWN)
            }
            Some(value) => self.of(value),
        }
    }

    fn of(&self, value: ValueId) -> Known {
        self.found.of(value).copied().unwrap_or(UNKNOWN)
    }
}

/// What is known of a register where an instruction reads it, if no other register has to be looked at for that.
fn made_of_nothing(function: &Function<'_>, instruction: u32, register: RegisterId) -> Option<Known> {
    Some(match function.value(instruction, register) {
        None => function.parameter_register(register).unwrap_or(UNKNOWN),
        Some(ValueId::Join(_)) => return None,
        Some(value @ ValueId::Definition(id)) => {
            let mut is_made_of_others = false;
            function.sources(value, &mut |_, _| is_made_of_others = true);
            if is_made_of_others || !function.budget.take(VISIT) {
                return None;
            }
            function.evaluate(id, Reads::NOTHING)
        }
    })
}

/// What is known of a value in whose unknown bits others are going to carry: those below, and the upper word as
/// long as nothing carries there, such as that of a descriptor to whose address a loop adds.
fn without_carries(old: Known, new: Known) -> Known {
    const UPPER: u64 = 0xFFFF_FFFF_0000_0000;
    let below = new.mask.trailing_ones();
    let below = 1u64.checked_shl(below).map_or(u64::MAX, |next| next - 1);
    let is_kept = old.mask & !new.mask & UPPER == 0;
    Known::new(new.mask & (below | if is_kept { UPPER } else { 0 }), new.value)
}

/// What is known of a word that is one of two.
pub(super) fn either(left: Known, right: Known) -> Known {
    bits::join(left, right)
}

/// What is known of a word that is made longer.
pub(super) fn extended(known: Known, width: u32, signed: bool) -> Known {
    bits::extend(known, width, signed)
}

impl Function<'_> {
    /// Calls `visit` with the values that a value is made of, and the operands that read them; a join
    /// reads none.
    pub(super) fn sources(&self, id: ValueId, visit: &mut impl FnMut(u32, ValueId)) {
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

    /// Whether what a definition makes is made of its sources, which are known.
    pub(super) fn has_sources(&self, id: DefinitionId) -> bool {
        is_evaluated(self.unit.operations.of(self.definitions.get(id).instruction))
    }

    /// Where the value that `instruction` reads from `register` was made: through copies back to
    /// the definitions that it can come from, in the order of the text. None when that is far away,
    /// or in more places than a reader wants to know.
    pub fn origins(&self, instruction: u32, register: RegisterId) -> Vec<Span> {
        self.origins_through(instruction, register, false)
    }

    /// The same of a descriptor of a matrix, but for its address: through what only moves that on, as well.
    pub fn origins_beside_address(&self, instruction: u32, register: RegisterId) -> Vec<Span> {
        self.origins_through(instruction, register, true)
    }

    fn origins_through(&self, instruction: u32, register: RegisterId, moved_on: bool) -> Vec<Span> {
        /// Copies that are followed.
        const FAR: usize = 256;
        let mut origins = Vec::new();
        let Some(value) = self.value(instruction, register) else { return self.made_elsewhere(register) };
        let mut values = Walk::new(self.budget, [value]).at_most(FAR);
        while let Some(id) = values.pop_definition(self.definitions) {
            if let Some(word) = self.given.and_then(|it| it.word(self.definitions.get(id).operand))
                && !word.made.is_empty()
            {
                origins.extend_from_slice(&word.made);
            } else if let Some(from) = self.copied(id).or_else(|| self.moved_on(id).filter(|_| moved_on)) {
                let Some(value) = self.value(self.definitions.get(id).instruction, from) else {
                    // Copied from what nothing here makes.
                    return self.made_elsewhere(from);
                };
                values.extend([value]);
            } else {
                let raw = &self.unit.module.instructions[self.definitions.get(id).instruction as usize];
                let operands = self.unit.module.operands(raw.operands);
                origins.push(raw.opcode.to(operands.last().map_or(raw.opcode, Operand::span)));
            }
        }
        if !values.is_complete() {
            return Vec::new();
        }
        if self.given.is_some() {
            origins.extend(self.made_of_given(instruction, register));
        }
        origins.sort_unstable();
        origins.dedup();
        origins
    }

    /// Where other functions made what the value of a register is computed from.
    fn made_of_given(&self, instruction: u32, register: RegisterId) -> SmallVec<[Span; 2]> {
        /// Values that are looked at.
        const FAR: usize = 64;
        let mut made = SmallVec::new();
        let mut values = Walk::new(self.budget, self.value(instruction, register)).at_most(FAR);
        while let Some(value) = values.pop() {
            if let ValueId::Definition(id) = value
                && let Some(word) = self.given.and_then(|it| it.word(self.definitions.get(id).operand))
            {
                made.extend_from_slice(&word.made);
                continue;
            }
            self.sources(value, &mut |_, source| values.extend([source]));
        }
        made
    }

    /// Where what a parameter holds was made that is a register.
    fn made_elsewhere(&self, register: RegisterId) -> Vec<Span> {
        let word = self.given.and_then(|given| given.register(register));
        word.map_or_else(Vec::new, |word| word.made.to_vec())
    }

    /// The register to which a definition adds so little that it can only be meant for an address in the lowest
    /// bits.
    fn moved_on(&self, id: DefinitionId) -> Option<RegisterId> {
        /// The bits of an address in a descriptor (Table 41).
        const ADDRESS: i128 = 1 << 14;
        let definition = self.definitions.get(id);
        let raw = &self.unit.module.instructions[definition.instruction as usize];
        let opcode = self.unit.operations.of(definition.instruction);
        if opcode.computes() != Computation::Arithmetic(Arithmetic::Add)
            || definition.guarded
            || raw.operands.len != 3
        {
            return None;
        }
        let first = raw.operands.start;
        let by = literal::evaluate(
            &self.unit.source,
            &self.unit.module,
            &self.unit.module.operands[first as usize + 2],
        )?;
        match self.unit.symbols.operand(first + 1) {
            Resolution::Register(from) if (0..ADDRESS).contains(&by) => Some(from),
            _ => None,
        }
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
}
