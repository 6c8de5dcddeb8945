//! Waits that wait for nothing.
//!
//! `mbarrier.try_wait` and `mbarrier.test_wait` return whether the phase is over; it need not be. Where
//! nothing reads what they return, nobody has waited.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::events::{Action, Events};
use super::functions::FunctionFacts;
use super::registers::{self, Access};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::resolve::unit::Unit;

/// The waits of which nothing reads what they return.
pub fn unread(unit: &Unit, events: &Events, functions: &[FunctionFacts]) -> FxHashSet<u32> {
    functions.iter().flat_map(|facts| unread_in(unit, events, facts)).collect()
}

fn unread_in(unit: &Unit, events: &Events, facts: &FunctionFacts) -> Vec<u32> {
    /// Most are read by one of the next instructions.
    const NEAR: u32 = 4;
    let all = facts.cfg.instructions();
    let waits = events.of(facts.function).iter().filter(|event| event.action == Action::MbarrierWait);
    let mut unread = Vec::new();
    // Those that are read further away, if at all, and who reads such registers.
    let mut open: Vec<(u32, RegisterId)> = Vec::new();
    let mut readers: FxHashMap<RegisterId, Vec<u32>> = FxHashMap::default();
    for at in waits.map(|wait| wait.instruction) {
        let mut returned: Option<RegisterId> = None;
        registers::accesses(unit, at, &mut |register, _, access| {
            if access == Access::Write {
                returned = Some(register);
            }
        });
        match returned {
            None => unread.push(at),
            Some(register) => {
                let mut near = at + 1..(at + 1 + NEAR).min(all.end);
                if !near.any(|it| reads(unit, it).any(|read| read == register)) {
                    open.push((at, register));
                    readers.entry(register).or_default();
                }
            }
        }
    }
    if open.is_empty() || !facts.budget.take(all.len() as u64) {
        return unread;
    }
    for instruction in all {
        for register in reads(unit, instruction) {
            if let Some(readers) = readers.get_mut(&register) {
                readers.push(instruction);
            }
        }
    }
    let is_read = |(at, register): &(u32, RegisterId)| {
        readers[register].iter().any(|reader| {
            // Nothing is said where it takes too long to find out.
            !facts.budget.take(1) || comes_from(unit, facts, *reader, *register, *at)
        })
    };
    unread.extend(open.iter().filter(|wait| !is_read(wait)).map(|(at, _)| at));
    unread
}

/// Whether what an instruction reads from a register may be what another one left there.
fn comes_from(unit: &Unit, facts: &FunctionFacts, reader: u32, register: RegisterId, made: u32) -> bool {
    let value = facts.view(unit).value(reader, register);
    let all = value.and_then(|value| facts.definitions.all(value, &facts.budget));
    all.is_none_or(|all| all.iter().any(|id| facts.definitions.get(*id).instruction == made))
}

/// The registers that an instruction reads, or stands under.
fn reads(unit: &Unit, instruction: u32) -> impl Iterator<Item = RegisterId> {
    let mut found: SmallVec<[RegisterId; 8]> = SmallVec::new();
    if let Resolution::Register(guard) = unit.symbols.guard(instruction) {
        found.push(guard);
    }
    registers::accesses(unit, instruction, &mut |register, _, access| {
        if access == Access::Read {
            found.push(register);
        }
    });
    found.into_iter()
}
