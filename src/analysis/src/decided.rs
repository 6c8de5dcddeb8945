//! Guards that hold always or never.
//!
//! Compilers leave them behind: a condition of a template that is false here, a loop that is never
//! waited in. What they decide is taken out of the [control flow](super::cfg::Cfg) before anything else
//! is asked.

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::constants::Constants;
use super::definitions::Definition;
use super::function::Function;
use super::given::Word;
use crate::isa::generic::{Arithmetic, Bits, Computation};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::ast::{OperandKind, UnaryOperator};
use crate::syntax::literal;

/// A guard that may hold always or never.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    /// The instruction that has it.
    pub instruction: u32,
    /// Its predicate.
    pub register: RegisterId,
    negated: bool,
    /// What the predicate is, where that is known already.
    pub holds: Option<bool>,
}

/// Definitions that are looked at in most functions.
const MANY: usize = 14;

/// The guards that look as if they were constant.
pub(super) fn candidates(function: &Function<'_>) -> Vec<Guard> {
    let mut found = Vec::new();
    let mut search = Search { function, known: FxHashMap::with_capacity_and_hasher(MANY, FxBuildHasher) };
    for &instruction in function.definitions.guarded() {
        let raw = &function.unit.module.instructions[instruction as usize];
        if let Some(guard) = function.unit.module.guard(raw)
            && let Resolution::Register(register) = function.unit.symbols.guard(instruction)
            && let Some(definition) = nearest(function, instruction, register)
        {
            let holds = function.holds_in_block(definition);
            if holds.is_some() || search.is_made_of_constants(definition, 0) {
                found.push(Guard { instruction, register, negated: guard.negated, holds });
            }
        }
    }
    found
}

/// The instructions whose guards hold always or never, in their order; `None` if the control flow knows
/// them already. `constants` has the values of their predicates.
pub(super) fn decide(
    function: &Function<'_>,
    candidates: &[Guard],
    constants: &Constants,
) -> Option<Vec<(u32, bool)>> {
    let mut decided: Vec<(u32, bool)> = candidates
        .iter()
        .filter_map(|guard| {
            let computed = || constants.at(function, guard.instruction, guard.register).constant(1);
            let holds = guard.holds.or_else(|| computed().map(|it| it != 0))?;
            Some((guard.instruction, holds != guard.negated))
        })
        .collect();
    decided.sort_unstable();
    decided.dedup();
    let is_new = |(instruction, _): &(u32, bool)| function.cfg.guard_holds(*instruction).is_none();
    decided.iter().any(is_new).then_some(decided)
}

/// Where a register surely got what it holds.
fn nearest<'a>(function: &Function<'a>, instruction: u32, register: RegisterId) -> Option<&'a Definition> {
    let definition = function.definitions.nearest(function.cfg, instruction, register);
    definition.filter(|it| !it.guarded && it.instruction != instruction)
}

/// Whether what a function is given is a number that its guards may be made of.
fn is_number(word: &Word) -> bool {
    word.known.constant(32).is_some()
}

/// Finds what looks like a constant: so that nearly all guards, which do not, cost nothing.
struct Search<'s, 'f> {
    function: &'s Function<'f>,
    /// By the operand that names a register where it is made: what was said of it, and at which depth. Many
    /// instructions stand under one predicate, and many predicates are made of one number.
    known: FxHashMap<u32, (bool, u32)>,
}

impl Search<'_, '_> {
    /// Whether a register looks like a constant.
    fn is_made_of_constants(&mut self, definition: &Definition, depth: u32) -> bool {
        /// What is decided is not far from where.
        const DEEP: u32 = 8;
        if let Some((is_constant, at)) = self.known.get(&definition.operand)
            && (*is_constant || *at <= depth)
        {
            return *is_constant;
        }
        if depth == DEEP || !self.function.budget.take(1) {
            return false;
        }
        let is_constant = self.has_constant_parts(definition, depth);
        self.known.insert(definition.operand, (is_constant, depth));
        is_constant
    }

    fn has_constant_parts(&mut self, definition: &Definition, depth: u32) -> bool {
        let unit = self.function.unit;
        if let Some(word) = self.function.given.and_then(|given| given.word(definition.operand)) {
            return is_number(word);
        }
        let raw = &unit.module.instructions[definition.instruction as usize];
        let opcode = unit.operations.of(definition.instruction);
        let mut part = |position: u32| {
            position < raw.operands.len
                && self.is_constant(definition.instruction, raw.operands.start + position, depth + 1)
        };
        match opcode.computes() {
            Computation::Move
            | Computation::Shuffle
            | Computation::Convert
            | Computation::Not
            | Computation::Arithmetic(Arithmetic::Negate) => part(1),
            // One is enough if it is nothing, or everything.
            Computation::And | Computation::Or | Computation::Arithmetic(Arithmetic::Multiply) => {
                let absorbs = |position: u32| {
                    let operand = raw.operands.range().nth(position as usize);
                    let operand = operand.map(|index| &unit.module.operands[index]);
                    let value =
                        operand.and_then(|operand| literal::evaluate(&unit.source, &unit.module, operand));
                    value.is_none_or(|value| matches!(value, -1..=0 | 0xFFFF_FFFF))
                };
                let (first, second) = (part(1), part(2));
                first && (second || absorbs(1)) || second && absorbs(2)
            }
            Computation::Compare => part(1) && part(2) || opcode.boolean_operator().is_some() && part(3),
            Computation::Select => part(3) || part(1) && part(2),
            Computation::Xor
            | Computation::Bits(Bits::ShiftLeft | Bits::ShiftRight)
            | Computation::Arithmetic(Arithmetic::Add | Arithmetic::Subtract) => part(1) && part(2),
            Computation::Bits(Bits::Lop3 | Bits::Extract)
            | Computation::Arithmetic(Arithmetic::MultiplyAdd) => part(1) && part(2) && part(3),
            Computation::Other
            | Computation::ConvertAddress
            | Computation::Arithmetic(_)
            | Computation::Bits(_)
            | Computation::Load
            | Computation::Elect => false,
        }
    }

    fn is_constant(&mut self, instruction: u32, index: u32, depth: u32) -> bool {
        let function = self.function;
        let operand = &function.unit.module.operands[index as usize];
        if literal::evaluate(&function.unit.source, &function.unit.module, operand).is_some() {
            return true;
        }
        match (operand.kind(), function.unit.symbols.operand(index)) {
            (OperandKind::Name, Resolution::Special(special)) => {
                function.in_cluster_of_one(special).is_some()
            }
            (OperandKind::Name, Resolution::Register(register)) => {
                function.given.and_then(|given| given.register(register)).is_some_and(is_number)
                    || nearest(function, instruction, register)
                        .is_some_and(|definition| self.is_made_of_constants(definition, depth))
            }
            (OperandKind::Unary(UnaryOperator::Not, part), _) if part.len == 1 && depth < 64 => {
                self.is_constant(instruction, part.start, depth + 1)
            }
            _ => false,
        }
    }
}
