//! What functions that a kernel calls give back in each thread: an election, or the number of the lane, in a function of
//! its own.

use std::sync::Arc;

use super::evaluate::Value;
use super::numbers::{Chosen, Numbers};
use super::threads::Holds;
use super::{Executing, Unknown};
use crate::definitions::Definition;
use crate::flow::Flow;
use crate::given::declared;
use crate::isa::generic::{Computation, Space};
use crate::resolve::symbols::{RegisterId, Resolution};

impl<'a> Executing<'a> {
    /// With the functions that this one calls.
    #[must_use]
    pub fn calling(self, flow: Flow<'a>) -> Self {
        let calls = flow.facts.passing.as_ref().is_some_and(|passing| passing.calls_others());
        Self { calling: calls.then_some(flow), ..self }
    }

    /// What a call leaves in a register, in each thread, where whole warps call the function.
    pub(super) fn given_back(&self, definition: Definition) -> Option<Numbers> {
        let flow = self.calling?;
        let unit = self.function.unit;
        let passing = flow.facts.passing.as_ref()?;
        let at = definition.instruction;
        let (call, position) = if let Some(found) = passing.call_of(definition.operand) {
            found
        } else {
            let opcode = unit.operations.of(at);
            let is_parameter =
                opcode.spaces().next().is_some_and(|it| matches!(it, Space::Param | Space::ParamFunc));
            if opcode.computes() != Computation::Load || !is_parameter {
                return None;
            }
            let raw = &unit.module.instructions[at as usize];
            let base = unit.module.base_of(raw.operands.start + 1)?;
            let place = flow.places().address(at, raw.operands.start + 1)?;
            let Resolution::Symbol(variable) = unit.symbols.operand(base) else { return None };
            place.offset.constant(32).filter(|byte| *byte == 0)?;
            passing.call_into(unit, variable)?
        };
        // Functions do not know how the threads of a block are numbered.
        let [_, y, z] = self.size;
        let block = self.function.cfg.block_of(call.instruction)?;
        let is_whole = self.block(block, Unknown::Stays)?.is_of_warps(self.all);
        let is_guarded = unit.module.guard(&unit.module.instructions[call.instruction as usize]).is_some();
        if y.saturating_mul(z) != 1 || !is_whole || is_guarded {
            return None;
        }
        let inner = flow.other(call.callee)?;
        let (read, register) = returned(inner, position)?;
        match inner.executing(None).read(read, register, 0)? {
            Value::Number(numbers) => self.cut(numbers),
            Value::Truth(_) => None,
        }
    }

    /// Numbers of the threads of this block, of those of a block as large as can be.
    fn cut(&self, numbers: Numbers) -> Option<Numbers> {
        let (threads, warps) = (self.threads(), self.threads().div_ceil(32));
        let first = |numbers: &[u64], count: usize| numbers.get(..count).map(Arc::from);
        Some(match numbers {
            Numbers::Same(number) => Numbers::Same(number),
            Numbers::Warps(numbers) => Numbers::Warps(first(&numbers, warps)?),
            Numbers::Lanes(numbers) => Numbers::Lanes(first(&numbers, warps)?),
            Numbers::Threads(numbers) => Numbers::Threads(first(&numbers, threads)?),
            Numbers::Chosen(chosen) => {
                let Chosen { by, yes, no } = *chosen;
                let by = Holds { yes: by.yes.and(self.all), no: by.no.and(self.all), ..by };
                Numbers::Chosen(Arc::new(Chosen { by, yes, no }))
            }
        })
    }
}

/// The register that a function gives back as a result, and the only instruction that does.
fn returned(flow: Flow<'_>, position: u16) -> Option<(u32, RegisterId)> {
    let unit = flow.unit;
    let passing = flow.facts.passing.as_ref()?;
    let returns = unit.module.functions[flow.function() as usize].returns;
    let (name, register) = *declared(unit, returns).get(usize::from(position))?;
    if let Some(register) = register {
        let [only] = passing.returns()[..] else { return None };
        return flow.facts.ends_with_return(unit).then_some((only, register));
    }
    let mut stores = passing.stores().iter().filter(|store| unit.symbols.symbol(store.variable).span == name);
    let (Some(store), None) = (stores.next(), stores.next()) else { return None };
    match unit.symbols.operand(store.operand) {
        Resolution::Register(register) if store.byte == 0 => Some((store.instruction, register)),
        _ => None,
    }
}
