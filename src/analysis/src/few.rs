//! Which of a few numbers a register holds, where it is one of several constants.

use smallvec::{SmallVec, smallvec};

use super::flow::Flow;
use super::function::Function;
use super::values::ValueId;
use crate::arithmetic::domain::{Domain, Function as Step};
use crate::arithmetic::known_bits::{Known, KnownBits};
use crate::arithmetic::{Arithmetic, Integer};
use crate::ir::Simple;
use crate::isa::generic::Computation;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::resolve::unit::Unit;
use crate::syntax::literal;

/// The numbers.
pub type Few = SmallVec<[u32; 4]>;

/// The same, as long as a register.
type Set = SmallVec<[u64; 4]>;

/// More are not listed.
const MANY: usize = 8;
/// Longer chains are not followed.
const DEEP: u32 = 8;

/// The domain of small sets: a value is one of at most [`MANY`] numbers, or nothing is known. May.
struct Sets;

impl Domain for Sets {
    type Value = Option<Set>;

    fn unknown(&mut self) -> Option<Set> {
        None
    }

    fn number(&mut self, bits: u64) -> Option<Set> {
        Some(smallvec![bits])
    }

    fn known(&mut self, value: &Option<Set>, bits: u32) -> Option<u64> {
        match value.as_deref()? {
            [number] => Some(number & (u64::MAX >> (u64::BITS - bits.clamp(1, u64::BITS)))),
            _ => None,
        }
    }

    /// Each of the sources with each.
    fn apply(&mut self, function: Step, ty: Integer, sources: &[Option<Set>]) -> Option<Set> {
        if let (Step::Select, [yes, no, holds]) = (function, sources) {
            return match self.known(holds, 1) {
                Some(0) => no.clone(),
                Some(_) => yes.clone(),
                None => union(yes.clone()?, no.as_ref()?),
            };
        }
        let mut chosen: SmallVec<[SmallVec<[Known; 4]>; MANY]> = smallvec![SmallVec::new()];
        for source in sources {
            let source = source.as_ref()?;
            let with_each = chosen.iter().flat_map(|before| {
                source.iter().map(|number| {
                    let mut with = before.clone();
                    with.push(Known::from(*number));
                    with
                })
            });
            chosen = with_each.take(MANY * MANY + 1).collect();
        }
        if chosen.len() > MANY * MANY {
            return None;
        }
        chosen.iter().try_fold(Set::new(), |all, sources| {
            let made = KnownBits.apply(function, ty, sources).constant(u64::BITS)?;
            union(all, &smallvec![made])
        })
    }
}

/// The numbers of both, if these are few.
fn union(mut all: Set, more: &Set) -> Option<Set> {
    for number in more {
        if !all.contains(number) {
            all.push(*number);
        }
    }
    (all.len() <= MANY).then_some(all)
}

impl Flow<'_> {
    /// All numbers that a register of 32 bits can hold where an instruction reads it, if they are few.
    pub fn one_of(&self, at: u32, register: RegisterId) -> Option<Few> {
        let width = Function::width(self.unit.symbols.register(register))?;
        let set = self.set_of(&self.facts.view(self.unit), (at, register), 0)?;
        (width == u32::BITS && !set.is_empty()).then(|| set.into_iter().map(|number| number as u32).collect())
    }

    fn set_of(&self, view: &Function<'_>, (at, register): (u32, RegisterId), depth: u32) -> Option<Set> {
        let width = Function::width(self.unit.symbols.register(register))?;
        if let Some(number) = self.facts.constants.at(view, at, register).constant(width) {
            return Some(smallvec![number]);
        }
        self.set_of_value(view, view.value(at, register)?, depth)
    }

    fn set_of_value(&self, view: &Function<'_>, value: ValueId, depth: u32) -> Option<Set> {
        if depth > DEEP || !view.budget.take(1) {
            return None;
        }
        let id = match value {
            ValueId::Definition(id) => id,
            ValueId::Join(join) => {
                let inputs = view.definitions.joined(join);
                return inputs.iter().try_fold(Set::new(), |all, input| {
                    union(all, &self.set_of_value(view, *input, depth + 1)?)
                });
            }
        };
        let definition = *view.definitions.get(id);
        let computing = view.computing(definition.instruction)?;
        let arithmetic = computing.arithmetic.filter(Arithmetic::is_followed)?;
        let (position, count) = (computing.position(definition.operand)?, computing.results().len());
        // Bits above the type are nobody's.
        let width = Function::width(self.unit.symbols.register(definition.register))?;
        if arithmetic.result_bits(position, count) < width {
            return None;
        }
        let sources: SmallVec<[Option<Set>; 4]> = computing
            .sources()
            .iter()
            .map(|placed| match placed.argument.simple() {
                Simple::Number(value) => Some(smallvec![value]),
                Simple::Register(id) => self.set_of(view, (definition.instruction, id), depth + 1),
                Simple::Not(_) | Simple::Other => None,
            })
            .collect();
        arithmetic.transfer(&mut Sets, &sources, position, count)
    }

    /// The numbers of which each is the one that an instruction reads in some run: a `selp` chooses by what only the
    /// launch says, and who executes the instruction does not depend on that.
    pub fn either_of(&self, at: u32, register: RegisterId) -> Option<Few> {
        let view = self.facts.view(self.unit);
        let definition = *view.definitions.get(view.only(at, register)?);
        let made = definition.instruction;
        let raw = &self.unit.module.instructions[made as usize];
        let chooses =
            self.unit.operations.of(made).computes() == Computation::Select && raw.operands.len == 4;
        if !chooses || definition.guarded || definition.operand != raw.operands.start {
            return None;
        }
        let Resolution::Register(predicate) = self.unit.symbols.operand(raw.operands.start + 3) else {
            return None;
        };
        if !self.is_open(&view, made, predicate) {
            return None;
        }
        let few = self.one_of(at, register)?;
        let executing = self.executing(None);
        let by = executing.of(at)?.by_warps();
        (by.certain() == by.possible() && executing.is_unknown(made, predicate)).then_some(few)
    }
}

impl Flow<'_> {
    /// Whether a predicate compares what a launch or memory says with a number, and may come out either way.
    fn is_open(&self, view: &Function<'_>, at: u32, predicate: RegisterId) -> bool {
        let Unit { module, symbols, operations, source, .. } = self.unit;
        let plain = |at: u32, register: RegisterId| {
            let definition = *view.definitions.get(view.only(at, register)?);
            let raw = &module.instructions[definition.instruction as usize];
            (!definition.guarded && definition.operand == raw.operands.start)
                .then_some((definition.instruction, raw))
        };
        let compared = || {
            let (made, raw) = plain(at, predicate)?;
            let opcode = operations.of(made);
            let ty = *opcode.types.last()?;
            let is_compare = opcode.computes() == Computation::Compare && raw.operands.len == 3;
            if !is_compare || opcode.boolean_operator().is_some() || ty.bits() != Some(32) {
                return None;
            }
            let relation = opcode.comparison()?.of_integers(ty)?;
            let with = literal::evaluate(source, module, &module.operands[raw.operands.start as usize + 2])?;
            let Resolution::Register(register) = symbols.operand(raw.operands.start + 1) else { return None };
            let (from, raw) = plain(made, register)?;
            let is_given = match operations.of(from).computes() {
                Computation::Load => true,
                Computation::Move => {
                    matches!(symbols.operand(raw.operands.start + 1), Resolution::Special(_))
                }
                _ => false,
            };
            is_given.then_some((relation, with as u32))
        };
        let Some((relation, with)) = compared() else { return false };
        let holds = |value: u32| {
            relation.holds(if relation.is_signed {
                value.cast_signed().cmp(&with.cast_signed())
            } else {
                value.cmp(&with)
            })
        };
        let some =
            [0, 1, with.wrapping_sub(1), with, with.wrapping_add(1), i32::MAX as u32, 1 << 31, u32::MAX];
        some.iter().any(|value| holds(*value)) && !some.iter().all(|value| holds(*value))
    }
}
