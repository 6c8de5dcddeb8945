//! Arrivals of one thread that are meant for what its whole warp has stored.
//!
//! An arrival releases what its own thread has done. Where all lanes store and one of them arrives, the others have to
//! synchronise with it first: `bar.warp.sync`. What is said here is certain only if somebody reads what is stored and
//! has nothing to go by but that arrival.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::events::{Action, Event};
use super::flow::{Flow, Role};
use super::mbarriers::{Mbarrier, Use, Used};
use super::places::{Place, Root};
use super::reach::{Direction, Passed, Reach};
use crate::isa::generic::{Computation, Flag, Space, Synchronization};
use crate::isa::hierarchy::WARPS_OF_CTA;
use crate::isa::special_registers::Extent;
use crate::isa::vocabulary::Operation;
use crate::resolve::symbols::SymbolId;
use crate::syntax::ast::OperandKind;

/// An arrival of one thread, and what other lanes of its warp have stored.
#[derive(Clone, Copy, Debug)]
pub struct OnBehalf {
    /// The arrival.
    pub arrival: Used,
    /// The store that several lanes execute.
    pub store: Event,
    /// The wait of another warp for the arrival.
    pub wait: Used,
    /// What reads after the wait what has been stored.
    pub read: u32,
}

/// Kernels with more arrivals, or more instructions that read, are not looked at.
const MOST: usize = 64;

/// An instruction that reads shared memory.
struct Reader {
    at: u32,
    of: Memory,
    /// The only byte where it begins to read, if there is one.
    only: Option<i64>,
}

/// What of shared memory an instruction accesses.
#[derive(Clone, Copy)]
enum Memory {
    /// A variable with a size.
    Variable(SymbolId),
    /// Some bytes, counted from something else.
    Bytes(Place),
}

impl Memory {
    /// Whether two instructions certainly use the same variable, or the same bytes.
    fn is_shared_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Variable(one), Self::Variable(other)) => one == other,
            (Self::Bytes(one), Self::Bytes(other)) => {
                let bytes = one.bytes().zip(other.bytes());
                one.root == other.root && bytes.is_some_and(|(one, other)| !one.is_disjoint(other))
            }
            (Self::Variable(_), Self::Bytes(_)) | (Self::Bytes(_), Self::Variable(_)) => false,
        }
    }
}

impl Flow<'_> {
    /// The arrivals of this kernel by one thread of a warp that certainly do not release what other lanes have stored
    /// for another warp, which reads it after a wait for that arrival.
    pub fn arrivals_on_behalf(&self) -> Vec<OnBehalf> {
        let used = self.mbarriers();
        let is_arrival = |it: &&Used| {
            let opcode = self.unit.operations.of(it.instruction);
            opcode.synchronization() == Synchronization::MbarrierArrive
                && !opcode.has_flag(Flag::ExpectTx)
                && it.mbarrier.is_some()
                && self.is_by_one_lane(it.instruction)
        };
        let stores = self.events().iter().filter(|it| it.action == Action::SharedStore && self.is_own(**it));
        let calls = |event: &Event| matches!(event.action, Action::Call(_) | Action::Unknown);
        if stores.clone().next().is_none()
            || !used.iter().any(|it| it.how == Use::Waits)
            || used.len() > MOST
            || self.events().iter().any(calls)
        {
            return Vec::new();
        }
        let arrivals: Vec<Used> = used.iter().filter(is_arrival).copied().collect();
        let arrives: FxHashSet<u32> = arrivals.iter().map(|it| it.instruction).collect();
        if arrivals.is_empty() {
            return Vec::new();
        }
        let role = |event: Event| match event.action {
            Action::SharedStore => Role::Gen.only_if(self.is_own(event)),
            Action::MbarrierArrive => Role::Query.only_if(arrives.contains(&event.instruction)),
            Action::WarpBarrier
            | Action::Barrier
            | Action::BarrierArrive
            | Action::MbarrierWait
            | Action::Acquire
            | Action::Unknown
            | Action::Call(_) => Role::Kill,
            Action::Tensor { .. }
            | Action::ProxyFence
            | Action::SharedUpdate
            | Action::AsyncCopy
            | Action::BulkLoad => Role::None,
        };
        let readers = self.readers_of_shared();
        let mut found: Vec<OnBehalf> = Vec::new();
        self.pairs(role, |pair| {
            let Some(arrival) = arrivals.iter().find(|it| it.instruction == pair.then.instruction) else {
                return false;
            };
            match self.hands_over(pair.first, arrival, &arrives, &readers) {
                Some((wait, read)) => {
                    found.push(OnBehalf { arrival: *arrival, store: pair.first, wait, read });
                    true
                }
                None => false,
            }
        });
        found
    }

    /// Whether one thread of each warp that gets there executes an instruction, and no other one.
    fn is_by_one_lane(&self, at: u32) -> bool {
        let Some(executes) = self.executing(None).of(at) else { return false };
        let lanes = (0..WARPS_OF_CTA as usize).map(|warp| executes.possible_lanes(warp).count_ones());
        lanes.max() == Some(1)
    }

    /// The wait for an arrival, and what reads after it what a store has written, where the arrival is all that
    /// orders them.
    fn hands_over(
        &self,
        store: Event,
        arrival: &Used,
        alone: &FxHashSet<u32>,
        readers: &[Reader],
    ) -> Option<(Used, u32)> {
        let executing = self.executing(None);
        let stores = executing.of_those_there(store.instruction, Extent::Cta)?;
        let arrives = executing.of(arrival.instruction)?;
        let is_for_others = (0..WARPS_OF_CTA as usize)
            .any(|warp| arrives.possible_lanes(warp) != 0 && stores.certain_lanes(warp).count_ones() > 1);
        let stored = self.memory_at(store.instruction, false).filter(|_| is_for_others)?;
        // What all lanes store to one place, the one that arrives has stored as well.
        if !self.may_address_differ(store.instruction) {
            return None;
        }
        let first = self.place_at(store.instruction, false).and_then(|(_, place)| place.bytes()?.first());
        let behind = self.passed_from(Direction::Forward, &[store.instruction])?;
        let mbarrier = arrival.mbarrier?;
        readers.iter().find_map(|reader| {
            // Perhaps it reads only what the lane that arrives has stored.
            let is_of_first = reader.only.is_some() && first.is_none_or(|first| reader.only == Some(first));
            if is_of_first
                || !reader.of.is_shared_with(&stored)
                || !self.facts.budget.take(self.events().len() as u64)
            {
                return None;
            }
            let reads = executing.of(reader.at)?;
            if !reads.is_of_other_warps(&stores) {
                return None;
            }
            let wait = self.waits_directly(&mbarrier, reader.at)?;
            let is_all = self.is_all_that_orders(&behind, reader.at, alone)?;
            is_all.then_some((wait, reader.at))
        })
    }

    /// A wait for an mbarrier that a reader comes from with nothing else between that could tell it something.
    fn waits_directly(&self, mbarrier: &Mbarrier, reader: u32) -> Option<Used> {
        let mut reach = Reach::default();
        let mut waits: SmallVec<[Used; 4]> = SmallVec::new();
        for used in self.mbarriers().iter().filter(|it| it.how == Use::Waits) {
            let is_it = used.mbarrier.is_some_and(|it| it == *mbarrier || it.is_of_same_ring(mbarrier));
            reach.kill_all(used.instruction);
            if is_it {
                let fact = reach.fact();
                reach.generate(used.instruction, fact);
                waits.push(*used);
            }
        }
        for event in self.events() {
            if matches!(event.action, Action::Barrier | Action::Acquire) {
                reach.kill_all(event.instruction);
            }
        }
        reach.query(reader);
        let mut found = None;
        self.solve(reach, &mut |_, _| u64::MAX, &mut |_, fact, can_happen| {
            if can_happen() {
                found = waits.get(fact.0 as usize).copied();
            }
            found.is_some()
        });
        found
    }

    /// Whether nothing that follows a store can tell a reader of it but arrivals of one thread.
    fn is_all_that_orders(&self, behind: &Passed, reader: u32, alone: &FxHashSet<u32>) -> Option<bool> {
        let cfg = self.cfg();
        let follows = |at: u32| behind.has(cfg, at);
        let is_another = |used: &Used| {
            used.how.signals() && follows(used.instruction) && !alone.contains(&used.instruction)
        };
        if self.mbarriers().iter().any(is_another) {
            return Some(false);
        }
        let joins = self.joins();
        for event in self.events().iter().filter(|event| follows(event.instruction)) {
            if !event.action.tells(self.all) {
                continue;
            }
            let further = self.passed_from(Direction::Forward, &[event.instruction])?;
            if !joins.contains(&event.instruction) || further.has(cfg, reader) {
                return Some(false);
            }
        }
        Some(true)
    }

    /// What reads shared memory: loads, multiplies and copies by their descriptors, and bulk copies.
    fn readers_of_shared(&self) -> Vec<Reader> {
        let mut readers = Vec::new();
        for &at in self.unit.operations.others_within(self.cfg().instructions()) {
            let opcode = self.unit.operations.of(at);
            if readers.len() == MOST || !self.facts.budget.take(1) {
                break;
            }
            if !self.cfg().is_executed(at) {
                continue;
            }
            let is_load = opcode.computes() == Computation::Load;
            let is_copy = opcode.synchronization() == Synchronization::BulkCopy;
            let is_shared = |nth: usize| opcode.spaces().nth(nth).is_some_and(Space::is_shared);
            if is_load && is_shared(0) || is_copy && is_shared(1) {
                let only = self.place_at(at, is_copy).and_then(|(_, place)| place.bytes()?.single());
                let only = only.filter(|_| is_load);
                readers.extend(self.memory_at(at, is_copy).map(|of| Reader { at, of, only }));
            } else if let Some(event) = self.event_at(at)
                && matches!(self.operation(event), Some(Operation::Mma | Operation::MmaWs | Operation::Cp))
            {
                let variables = self.read_variables(event).into_iter().flatten();
                let variables = variables.filter(|it| !self.is_external(*it));
                readers.extend(variables.map(|it| Reader { at, of: Memory::Variable(it), only: None }));
            }
        }
        readers
    }

    /// The first address of an instruction, or the second one: its operand, and where that is.
    fn place_at(&self, at: u32, second: bool) -> Option<(u32, Place)> {
        let module = &self.unit.module;
        let operands = module.instructions[at as usize].operands;
        let is_address = |index: &usize| matches!(module.operands[*index].kind(), OperandKind::Address(_));
        let address = operands.range().filter(is_address).nth(usize::from(second))? as u32;
        Some((address, self.places().address(at, address)?))
    }

    /// What of shared memory the first address of an instruction is, or the second one.
    fn memory_at(&self, at: u32, second: bool) -> Option<Memory> {
        let (_, place) = self.place_at(at, second)?;
        let variable = match place.root {
            Root::Variable(variable) => Some(variable),
            Root::Register(register) => self.variable_of(at, register),
            Root::Literal | Root::Slot(_) | Root::Parameter(_) => None,
        };
        match variable.filter(|it| self.is_shared_variable(*it)) {
            Some(variable) if !self.is_external(variable) => Some(Memory::Variable(variable)),
            _ => matches!(place.root, Root::Variable(_)).then_some(Memory::Bytes(place)),
        }
    }

    /// Whether the first address of an instruction may differ between the lanes of a warp.
    fn may_address_differ(&self, at: u32) -> bool {
        let view = self.facts.view(self.unit);
        let register = self
            .place_at(at, false)
            .and_then(|(operand, _)| self.register_at(self.unit.module.base_of(operand)?));
        let value = register.and_then(|register| view.value(at, register));
        value.is_some_and(|value| self.uniformity().may_differ(&view, value, &self.facts.budget))
    }
}
