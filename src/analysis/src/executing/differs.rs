//! Numbers of which it is certain that they differ between the threads of a warp that executes an instruction.
//!
//! [`Uniformity::differs`](crate::uniformity::Uniformity::differs) follows arithmetic on the number of the thread. Here
//! the number is evaluated for each thread: a selection by lane counts, and a branch by lane around two definitions.

use super::evaluate::Value;
use super::numbers::{Grain, Numbers};
use super::{Executes, Executing};
use crate::definitions::DefinitionId;
use crate::isa::hierarchy::WARPS_OF_CTA;
use crate::resolve::symbols::RegisterId;
use crate::values::ValueId;

/// The most warps that a block can have.
const WARPS: usize = WARPS_OF_CTA as usize;

impl Executing<'_> {
    /// The instruction that makes a register differ between the threads of a warp, if it certainly does in a warp that
    /// executes `at`.
    pub fn differs_in_warp(&self, at: u32, register: RegisterId) -> Option<u32> {
        let executes = self.of(at)?;
        match self.function.value(at, register)? {
            ValueId::Definition(id) => {
                let numbers = self.number_of(id)?;
                let made = self.function.definitions.get(id).instruction;
                self.differ(&numbers, &executes).then_some(made)
            }
            ValueId::Join(join) => {
                let joined = self.function.definitions.joined(join);
                let [ValueId::Definition(one), ValueId::Definition(other)] = joined[..] else { return None };
                let is_guarded = [one, other].iter().any(|id| self.function.definitions.get(*id).guarded);
                if is_guarded {
                    let numbers = self.merged(at, register)?;
                    let made = self.function.definitions.get(other).instruction;
                    return self.differ(&numbers, &executes).then_some(made);
                }
                let (first, second) = (self.number_of(one)?, self.number_of(other)?);
                let [made, made_too] = [one, other].map(|id| self.function.definitions.get(id).instruction);
                let (by, by_others) = (self.of(made)?, self.of(made_too)?);
                let differs = |lanes: u32, warp: usize| {
                    let own = |it: &Executes, other: &Executes| {
                        it.certain_lanes(warp) & !other.possible_lanes(warp) & lanes
                    };
                    let mut pairs = threads(own(&by, &by_others), warp)
                        .flat_map(|one| threads(own(&by_others, &by), warp).map(move |other| (one, other)));
                    pairs.any(|(one, other)| first.at(Grain::Thread, one) != second.at(Grain::Thread, other))
                };
                self.is_so_in_a_warp(&executes, differs).then_some(made)
            }
        }
    }

    /// Whether numbers differ between the threads of a warp that executes an instruction.
    fn differ(&self, numbers: &Numbers, executes: &Executes) -> bool {
        let differ = |lanes: u32, warp: usize| {
            let mut numbers = threads(lanes, warp).map(|it| numbers.at(Grain::Thread, it));
            let first = numbers.next();
            numbers.any(|number| Some(number) != first)
        };
        numbers.grain() == Grain::Thread && self.is_so_in_a_warp(executes, differ)
    }

    /// Whether something is so of the lanes of a warp that certainly executes an instruction, or of those of each warp
    /// that may.
    fn is_so_in_a_warp(&self, executes: &Executes, is_so: impl Fn(u32, usize) -> bool) -> bool {
        let shown = if self.is_exact { WARPS } else { 1 };
        let mut certain = (0..shown).map(|warp| (executes.certain_lanes(warp), warp));
        if certain.any(|(lanes, warp)| lanes != 0 && is_so(lanes, warp)) {
            return true;
        }
        let mut possible =
            (0..WARPS).map(|warp| (executes.possible_lanes(warp), warp)).filter(|(lanes, _)| *lanes != 0);
        let mut some = false;
        let all = possible.all(|(lanes, warp)| {
            some = true;
            lanes == self.all.lanes(warp) && is_so(lanes, warp)
        });
        some && all
    }

    /// The number that a definition makes in each thread.
    pub(super) fn number_of(&self, id: DefinitionId) -> Option<Numbers> {
        let definition = *self.function.definitions.get(id);
        match self.definition(id, definition, 0).filter(|_| !definition.guarded)? {
            Value::Number(numbers) => Some(numbers),
            Value::Truth(_) => None,
        }
    }

    /// What a register holds of which one definition is guarded.
    fn merged(&self, at: u32, register: RegisterId) -> Option<Numbers> {
        match self.read(at, register, 0)? {
            Value::Number(numbers) => Some(numbers),
            Value::Truth(_) => None,
        }
    }
}

/// The threads of some lanes of a warp.
pub(super) fn threads(lanes: u32, warp: usize) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| lanes >> lane & 1 == 1).map(move |lane| warp * 32 + lane)
}
