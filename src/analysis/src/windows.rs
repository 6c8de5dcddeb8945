//! Addresses that are given as ones in the shared memory of the own CTA and certainly are not.
//!
//! An address in `.shared::cta` has 32 bits that count from the start of the CTA's shared memory. `cvta.shared` makes a
//! generic address of one, and `mapa` the address of the same variable in another CTA of the cluster.

use super::flow::Flow;
use crate::isa::generic::{Arithmetic, Computation, Flag, Operation, Space};
use crate::isa::special_registers::{Special, SpecialRegister};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::literal;

/// Longer chains are not followed.
const DEEP: usize = 24;

/// What an address is instead, with the instruction that makes it so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// A generic address of shared memory.
    Generic(u32),
    /// One in the shared memory of another CTA.
    Peer(u32),
}

/// One step back along an address.
struct Step {
    /// The instruction that makes it.
    made: u32,
    /// What it is made of, if that is a register.
    from: Option<RegisterId>,
}

impl Flow<'_> {
    /// What an address is that `at` reads from a register, if it certainly is not one in the own CTA's shared memory.
    /// Where `at` takes a generic address, only another CTA's counts.
    pub fn outside_own_cta(&self, at: u32, register: RegisterId, takes_generic: bool) -> Option<Outside> {
        let reader = at;
        let (mut at, mut register) = (at, register);
        let mut generic = None;
        for _ in 0..DEEP {
            let Step { made, from } = self.step_back(at, register)?;
            let opcode = self.unit.operations.of(made);
            if opcode.operation() == Some(Operation::Mapa) {
                if self.is_of_peer(reader, made) {
                    return Some(Outside::Peer(made));
                }
                return generic;
            }
            match opcode.computes() {
                Computation::ConvertAddress if opcode.has_flag(Flag::To) => return None,
                Computation::ConvertAddress => {
                    let is_shared = opcode.spaces().next().is_some_and(Space::is_shared);
                    if !is_shared {
                        return None;
                    }
                    generic = (!takes_generic).then_some(Outside::Generic(made));
                }
                Computation::Move if self.operands(made) == 2 => {}
                Computation::Convert
                    if !opcode.has_flag(Flag::Sat) && !opcode.types.iter().any(|ty| ty.is_float()) => {}
                Computation::Arithmetic(Arithmetic::Add | Arithmetic::Subtract)
                    if self.number_at(made, 2).is_some() => {}
                _ => return generic,
            }
            match from {
                Some(next) => (at, register) = (made, next),
                None => return generic,
            }
        }
        generic
    }

    /// The only instruction that makes what `at` reads from a register.
    fn step_back(&self, at: u32, register: RegisterId) -> Option<Step> {
        let view = self.facts.view(self.unit);
        let definition = *view.definitions.get(view.only(at, register)?);
        let made = definition.instruction;
        let raw = &self.unit.module.instructions[made as usize];
        if made == at || definition.guarded || definition.operand != raw.operands.start {
            return None;
        }
        let from = match self.unit.symbols.operand(raw.operands.start + 1) {
            Resolution::Register(register) if raw.operands.len > 1 => Some(register),
            _ => None,
        };
        Some(Step { made, from })
    }

    fn operands(&self, at: u32) -> u32 {
        self.unit.module.instructions[at as usize].operands.len
    }

    fn number_at(&self, at: u32, position: u32) -> Option<i128> {
        let operands = self.unit.module.instructions[at as usize].operands;
        let operand = self.unit.module.operands(operands).get(position as usize)?;
        literal::evaluate(&self.unit.source, &self.unit.module, operand)
    }

    /// Whether a `mapa` names another CTA than the one that executes `reader`: its rank is another number, or is that of
    /// the own CTA with some bit turned.
    fn is_of_peer(&self, reader: u32, mapa: u32) -> bool {
        if let Some(named) = self.number_at(mapa, 2) {
            // The first CTA of a cluster may be the only one.
            let is_cluster = self
                .unit
                .launch_bounds(&self.unit.module.functions[self.function() as usize])
                .cluster()
                .is_some_and(|cluster| cluster.exact && cluster.ctas > 1);
            return (named > 0 || is_cluster)
                && self.is_entry()
                && [0, 1].into_iter().filter(|rank| i128::from(*rank) != named).any(|rank| {
                    let executes = self.executing(Some(rank)).of(reader);
                    executes.is_some_and(|it| it.certain_warps().next().is_some())
                });
        }
        let operand = self.unit.module.instructions[mapa as usize].operands.start + 2;
        let Resolution::Register(register) = self.unit.symbols.operand(operand) else { return false };
        let (mut at, mut register, mut turned) = (mapa, register, false);
        for _ in 0..DEEP {
            let Some(Step { made, from }) = self.step_back(at, register) else { return false };
            match self.unit.operations.of(made).computes() {
                Computation::Move if self.operands(made) == 2 => {}
                Computation::Xor if !turned && self.number_at(made, 2).is_some_and(|by| by != 0) => {
                    turned = true;
                }
                _ => return false,
            }
            let source = self.unit.module.instructions[made as usize].operands.start + 1;
            match (from, self.unit.symbols.operand(source)) {
                (Some(next), _) => (at, register) = (made, next),
                (None, Resolution::Special(special)) => {
                    return turned && special == Special::whole(SpecialRegister::ClusterCtarank);
                }
                (None, _) => return false,
            }
        }
        false
    }
}
