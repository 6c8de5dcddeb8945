//! Waits that wait for nothing.
//!
//! `mbarrier.try_wait` and `mbarrier.test_wait` return whether the phase is over; it need not be. Where
//! nothing reads what they return, nobody has waited.

use rustc_hash::FxHashSet;

use super::events::{Action, Events};
use super::functions::FunctionFacts;
use super::registers::{self, Access};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::resolve::unit::Unit;

/// The waits of which nothing reads what they return.
pub fn unread(unit: &Unit, events: &Events, functions: &[FunctionFacts]) -> FxHashSet<u32> {
    /// Most are read by one of the next instructions.
    const NEAR: u32 = 4;
    let mut found = FxHashSet::default();
    for facts in functions {
        let all = facts.cfg.instructions();
        let waits = events.of(facts.function).iter().filter(|event| event.action == Action::MbarrierWait);
        for at in waits.map(|wait| wait.instruction) {
            let mut returned: Option<RegisterId> = None;
            registers::accesses(unit, at, &mut |register, _, access| {
                if access == Access::Write {
                    returned = Some(register);
                }
            });
            let is_read = |register: RegisterId| {
                let mut near = at + 1..(at + 1 + NEAR).min(all.end);
                near.any(|it| reads(unit, it, register))
                    || all
                        .clone()
                        .any(|it| reads(unit, it, register) && comes_from(unit, facts, it, register, at))
            };
            if !returned.is_some_and(is_read) {
                found.insert(at);
            }
        }
    }
    found
}

/// Whether what an instruction reads from a register may be what another one left there.
fn comes_from(unit: &Unit, facts: &FunctionFacts, reader: u32, register: RegisterId, made: u32) -> bool {
    let value = facts.view(unit).value(reader, register);
    let all = value.and_then(|value| facts.definitions.all(value, &facts.budget));
    all.is_none_or(|all| all.iter().any(|id| facts.definitions.get(*id).instruction == made))
}

/// Whether an instruction reads a register, or stands under it.
fn reads(unit: &Unit, instruction: u32, register: RegisterId) -> bool {
    if unit.symbols.guard(instruction) == Resolution::Register(register) {
        return true;
    }
    let mut found = false;
    registers::accesses(unit, instruction, &mut |other, _, access| {
        found |= other == register && access == Access::Read;
    });
    found
}
