//! Waits that wait for nothing.
//!
//! `mbarrier.try_wait` and `mbarrier.test_wait` return whether the phase is over; it need not be. Where
//! nothing reads what they return, nobody has waited. Who only carries it on, as `selp` does, has not read it.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::events::{Action, Events};
use super::functions::FunctionFacts;
use super::registers::{self, Access};
use crate::isa::generic::Computation;
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
    let is_entry = unit.module.functions[facts.function as usize].is_entry;
    let waits = events.of(facts.function).iter().filter(|event| event.action == Action::MbarrierWait);
    let mut unread = Vec::new();
    // Those that are read further away, if at all, each with where it is carried on, and who reads such registers.
    let mut open: Vec<(u32, Carried)> = Vec::new();
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
                let mut carried = Carried::new();
                let (mut made, mut register) = (at, register);
                let is_open = loop {
                    let mut near = made + 1..(made + 1 + NEAR).min(all.end);
                    let reader = near.find(|it| reads(unit, *it).any(|read| read == register));
                    // What other functions carry on, they may give back.
                    let next = reader
                        .filter(|_| is_entry)
                        .and_then(|reader| Some((reader, carries_on(unit, reader)?)));
                    carried.push((made, register, next.map(|(reader, _)| reader)));
                    match next {
                        Some((reader, to)) if carried.len() < 3 => (made, register) = (reader, to),
                        Some(_) => break false,
                        None => break reader.is_none(),
                    }
                };
                if is_open {
                    for (_, register, _) in &carried {
                        readers.entry(*register).or_default();
                    }
                    open.push((at, carried));
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
    let is_read = |(made, register, next): &(u32, RegisterId, Option<u32>)| {
        readers[register].iter().filter(|reader| Some(**reader) != *next).any(|reader| {
            // Nothing is said where it takes too long to find out.
            !facts.budget.take(1) || comes_from(unit, facts, *reader, *register, *made)
        })
    };
    unread.extend(open.iter().filter(|(_, carried)| !carried.iter().any(is_read)).map(|(at, _)| at));
    unread
}

/// What makes a register, and the instruction that carries it on to the next, if one does.
type Carried = SmallVec<[(u32, RegisterId, Option<u32>); 2]>;

/// The register that an instruction without any other effect makes of what it reads.
fn carries_on(unit: &Unit, instruction: u32) -> Option<RegisterId> {
    let raw = &unit.module.instructions[instruction as usize];
    let computes = unit.operations.of(instruction).computes();
    if !matches!(computes, Computation::Select | Computation::Move) || unit.module.guard(raw).is_some() {
        return None;
    }
    match unit.symbols.operand(raw.operands.start) {
        Resolution::Register(register) => Some(register),
        Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => None,
    }
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
