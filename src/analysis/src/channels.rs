//! Which barrier of the CTA or of the cluster an instruction is about.

use super::events::{Action, Event};
use super::flow::Flow;
use crate::isa::generic::Synchronization;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::literal;

/// Where threads wait for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Channel {
    /// The barrier of the CTA with this number.
    Barrier(u64),
    /// The barrier of the cluster.
    Cluster,
}

/// Where the number of a barrier is written.
#[derive(Clone, Copy, Debug)]
enum Number {
    /// There is one barrier for the whole cluster.
    Cluster,
    /// In the instruction.
    Is(u64),
    /// In a register.
    In(RegisterId),
}

impl Flow<'_> {
    /// What an instruction does at a barrier.
    pub(super) fn synchronization(&self, event: Event) -> Synchronization {
        self.unit.operations.of(event.instruction).synchronization()
    }

    /// Which barriers its instructions mean.
    pub(super) fn channels(&self) -> Vec<(Event, Option<Channel>)> {
        let is_barrier = |event: &&Event| matches!(event.action, Action::Barrier | Action::BarrierArrive);
        let events = self.events().iter().filter(is_barrier);
        let numbers: Vec<(Event, Option<Number>)> =
            events.map(|event| (*event, self.number_of_barrier(event.instruction))).collect();
        let uses: Vec<(u32, RegisterId)> = numbers
            .iter()
            .filter_map(|(event, number)| match number {
                Some(Number::In(register)) => Some((event.instruction, *register)),
                Some(Number::Cluster | Number::Is(_)) | None => None,
            })
            .collect();
        let mut known = self.known(&uses).into_iter();
        let mut channel = |number: Number| match number {
            Number::Cluster => Some(Channel::Cluster),
            Number::Is(number) => Some(Channel::Barrier(number)),
            Number::In(_) => known.next()?.constant(32).map(Channel::Barrier),
        };
        numbers.into_iter().map(|(event, number)| (event, number.and_then(&mut channel))).collect()
    }

    /// The number that an instruction says by itself of the barrier of the CTA that it is about.
    pub fn written_barrier(&self, instruction: u32) -> Option<u64> {
        match self.number_of_barrier(instruction)? {
            Number::Is(number) => Some(number),
            Number::Cluster | Number::In(_) => None,
        }
    }

    /// Where the number of a barrier is written.
    fn number_of_barrier(&self, instruction: u32) -> Option<Number> {
        let opcode = self.unit.operations.of(instruction);
        match opcode.synchronization() {
            Synchronization::ClusterArrive | Synchronization::ClusterWait => Some(Number::Cluster),
            Synchronization::BarrierArrive | Synchronization::BarrierSync => {
                // Those that reduce have a type, and a result first.
                let reduces = !opcode.types.is_empty();
                let operands = self.unit.module.instructions[instruction as usize].operands;
                let operand = operands.range().nth(usize::from(reduces))? as u32;
                let found = &self.unit.module.operands[operand as usize];
                match literal::evaluate(&self.unit.source, &self.unit.module, found) {
                    Some(value) => u64::try_from(value).ok().map(Number::Is),
                    None => match self.unit.symbols.operand(operand) {
                        Resolution::Register(register) => Some(Number::In(register)),
                        Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => None,
                    },
                }
            }
            _ => None,
        }
    }
}
