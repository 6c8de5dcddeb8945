//! Shared memory that bulk copies to global memory read, and that is overwritten before they have.
//!
//! Such a copy belongs to a group of the thread that starts it, and only `cp.async.bulk.wait_group` says that its source
//! has been read. So all that matters is on one thread's path: from the copy to a write to the same bytes, without
//! that wait. Which groups a wait leaves alone is not looked at: any of them counts.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::cfg::BlockId;
use super::events::{Action, Event};
use super::flow::Flow;
use super::loops::Loop;
use super::places::{Place, Root};
use super::ranges::Numbers;
use super::reach::Reach;
use crate::isa::generic::{Computation, Space, Synchronization};
use crate::resolve::symbols::{RegisterId, Resolution, SymbolId};
use crate::syntax::ast::OperandKind;

/// A bulk copy to global memory, and what overwrites its source.
#[derive(Clone, Copy, Debug)]
pub struct Overwritten {
    /// The copy.
    pub copy: u32,
    /// What writes to shared memory.
    pub write: Event,
}

/// Longer chains are not followed.
const DEEP: u32 = 12;
/// Kernels with more of these are not looked at.
const MOST: usize = 256;

impl Flow<'_> {
    /// What this function writes to shared memory where a bulk copy to global memory of the same thread may not have
    /// read it, for each copy the first.
    pub fn overwritten_while_sent(&self) -> Vec<Overwritten> {
        let operations = &self.unit.operations;
        let others = operations.others_within(self.cfg().instructions());
        let is_executed = |at: &u32| self.cfg().is_executed(*at);
        let copies: Vec<u32> =
            others.iter().copied().filter(|at| self.is_sent_in_bulk(*at)).filter(is_executed).collect();
        let writes: Vec<Event> =
            self.events().iter().filter(|event| self.writes_shared(event)).copied().collect();
        if copies.is_empty() || writes.is_empty() || copies.len().max(writes.len()) > MOST {
            return Vec::new();
        }
        let Some(loops) = self.loops() else { return Vec::new() };
        let mut reach = Reach::default();
        // Of two threads, it is not known which of them waits.
        reach.same_thread();
        for copy in &copies {
            let fact = reach.fact();
            reach.generate(*copy, fact);
        }
        for write in &writes {
            reach.query(write.instruction);
        }
        for &at in others {
            if operations.of(at).synchronization() == Synchronization::BulkWait {
                self.wait_for_copies(&mut reach, at, &loops);
            }
        }
        // What is called may wait.
        for event in self.events().iter().filter(|it| matches!(it.action, Action::Call(_) | Action::Unknown))
        {
            reach.kill_all(event.instruction);
        }
        let mut found: Vec<Overwritten> = Vec::new();
        self.solve(reach, &mut |_, _| u64::MAX, &mut |query, fact, can_happen| {
            let (copy, write) = (copies[fact.0 as usize], writes[query.0 as usize]);
            let is_one = self.writes_what_is_sent(write, copy, &loops) && can_happen();
            if is_one {
                found.push(Overwritten { copy, write });
            }
            is_one
        });
        found.sort_by_key(|it| (it.copy, it.write.instruction));
        let mut seen = FxHashSet::default();
        found.retain(|it| seen.insert(it.copy));
        found
    }

    /// Whether an instruction copies or reduces in bulk from shared memory to global memory, in a group.
    fn is_sent_in_bulk(&self, at: u32) -> bool {
        let opcode = self.unit.operations.of(at);
        let mut spaces = opcode.spaces();
        opcode.synchronization() == Synchronization::BulkCopy
            && spaces.next() == Some(Space::Global)
            && spaces.next().is_some_and(Space::is_shared)
    }

    fn writes_shared(&self, event: &Event) -> bool {
        matches!(event.action, Action::SharedStore | Action::AsyncCopy | Action::BulkLoad)
            && self.is_own(*event)
    }

    /// What a wait means to the paths past it. One that each iteration of its loop executes, whichever thread that is,
    /// waits for all copies before. After another one, nothing is known.
    fn wait_for_copies(&self, reach: &mut Reach, at: u32, loops: &[Loop]) {
        let cfg = self.cfg();
        let Some(own) = cfg.block_of(at) else { return };
        let executing = self.executing(None);
        let inner = loops.iter().filter(|it| it.blocks.contains(&own)).min_by_key(|it| it.blocks.len());
        let is_in_each = |inner: &Loop| {
            let mut same = loops.iter().filter(|it| it.first == inner.first);
            same.all(|it| self.is_in_each(it, at, &executing))
        };
        let Some(inner) = inner.filter(|it| is_in_each(it)) else {
            reach.discharge(at);
            return;
        };
        reach.kill_all(at);
        let common = self.common(inner, own, &executing);
        if common != own
            && let Some(branch) = cfg.block(common).branch
        {
            reach.kill_all(branch);
        }
    }

    /// Whether something certainly writes where a copy begins to read, or into the variable that it sends while both
    /// addresses stay the same.
    fn writes_what_is_sent(&self, write: Event, copy: u32, loops: &[Loop]) -> bool {
        let (Some(source), Some(to)) =
            (self.address_operand(copy, true), self.address_operand(write.instruction, false))
        else {
            return false;
        };
        let places = self.places();
        let (Some(sent), Some(written)) =
            (places.address(copy, source), places.address(write.instruction, to))
        else {
            return false;
        };
        let first = sent.bytes().and_then(Numbers::single);
        let is_root = |place: &Place| matches!(place.root, Root::Variable(_));
        if sent.root == written.root && is_root(&sent) && first.is_some() {
            // What another warp or another iteration writes beside it begins elsewhere.
            return written.bytes().and_then(Numbers::first) == first
                && self.is_same_in_each(write.instruction, to, copy, loops);
        }
        // Each iteration fills the variable first, and sends it then.
        let (Some(one), Some(other)) =
            (self.variable_at(copy, &sent), self.variable_at(write.instruction, &written))
        else {
            return false;
        };
        one == other
            && !self.is_external(one)
            && first == Some(0)
            && self.cfg().passes_before(write.instruction, copy)
            && self.is_same_in_each(write.instruction, to, copy, loops)
            && self.is_only_sent(one, &sent)
    }

    /// Whether all that is done with a variable beside stores and loads is to send it, always from the same byte.
    fn is_only_sent(&self, variable: SymbolId, sent: &Place) -> bool {
        let others = self.unit.operations.others_within(self.cfg().instructions());
        let names = |at: u32, operand: u32| {
            let place = self.places().address(at, operand);
            place.map(|place| (self.variable_at(at, &place), place.bytes() == sent.bytes()))
        };
        let is_other_use = |at: &u32| {
            let is_copy = self.unit.operations.of(*at).synchronization() == Synchronization::BulkCopy;
            let from = self.address_operand(*at, true).filter(|_| self.is_sent_in_bulk(*at));
            match from.map(|operand| names(*at, operand)) {
                // From an address that is not known, or another one of this variable.
                Some(Some((named, is_same))) => named.is_none_or(|named| named == variable && !is_same),
                Some(None) => true,
                None if is_copy => {
                    let to = self.address_operand(*at, false).and_then(|operand| names(*at, operand));
                    to.is_none_or(|(named, _)| named.is_none_or(|named| named == variable))
                }
                None => false,
            }
        };
        let is_matrix = |event: &Event| self.read_variables(*event).contains(&Some(variable));
        self.facts.budget.take(others.len() as u64)
            && !others.iter().any(is_other_use)
            && !self.events().iter().any(is_matrix)
    }

    fn variable_at(&self, at: u32, place: &Place) -> Option<SymbolId> {
        match place.root {
            Root::Variable(variable) => Some(variable),
            Root::Register(register) => self.variable_of(at, register),
            Root::Literal | Root::Slot(_) | Root::Parameter(_) => None,
        }
    }

    /// The operand that is the first address of an instruction, or the second one.
    fn address_operand(&self, at: u32, second: bool) -> Option<u32> {
        let module = &self.unit.module;
        let operands = module.instructions[at as usize].operands;
        let is_address = |index: &usize| matches!(module.operands[*index].kind(), OperandKind::Address(_));
        operands.range().filter(is_address).nth(usize::from(second)).map(|index| index as u32)
    }

    /// Whether an address is the same in all iterations of the loops around a copy.
    fn is_same_in_each(&self, at: u32, operand: u32, copy: u32, loops: &[Loop]) -> bool {
        let Some(own) = self.cfg().block_of(copy) else { return false };
        let around: SmallVec<[&Loop; 4]> = loops.iter().filter(|it| it.blocks.contains(&own)).collect();
        let Some(base) = self.unit.module.base_of(operand) else { return true };
        match self.unit.symbols.operand(base) {
            Resolution::Register(register) => self.is_settled(at, register, &around, 0),
            Resolution::Symbol(_) => true,
            Resolution::Special(_) | Resolution::Undeclared => false,
        }
    }

    /// Whether a register is made of nothing that these loops change.
    fn is_settled(&self, at: u32, register: RegisterId, around: &[&Loop], depth: u32) -> bool {
        let view = self.facts.view(self.unit);
        let is_inside = |block: BlockId| around.iter().any(|it| it.blocks.contains(&block));
        let Some(only) = view.only(at, register).filter(|_| depth < DEEP && view.budget.take(1)) else {
            return false;
        };
        let definition = *view.definitions.get(only);
        let made = definition.instruction;
        if !self.cfg().block_of(made).is_some_and(is_inside) {
            return true;
        }
        let operands = self.unit.module.instructions[made as usize].operands;
        if definition.guarded || definition.operand != operands.start || made == at {
            return false;
        }
        let is_pure = match self.unit.operations.of(made).computes() {
            Computation::Move
            | Computation::Convert
            | Computation::ConvertAddress
            | Computation::And
            | Computation::Or
            | Computation::Xor
            | Computation::Not
            | Computation::Bits(_)
            | Computation::Arithmetic(_)
            | Computation::Select => true,
            Computation::Other
            | Computation::Compare
            | Computation::Shuffle
            | Computation::Load
            | Computation::Elect => false,
        };
        is_pure
            && operands.range().skip(1).all(|operand| match self.unit.symbols.operand(operand as u32) {
                Resolution::Register(register) => self.is_settled(made, register, around, depth + 1),
                Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => true,
            })
    }
}
