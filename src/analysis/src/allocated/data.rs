//! Whether what is stored is data, and no address in Tensor Memory.
//!
//! Kernels keep the address that `alloc` wrote in the same shared memory as their data, and store these where only
//! the threads know. A store of data is not meant for the word of the address: who loads that and uses it as one
//! would have lost it. So the question is what the stored words are made of. Nothing that is computed in
//! floating point, in vectors or in fewer bits, and nothing from the host or from Tensor Memory, is an address.

use smallvec::SmallVec;

use crate::definitions::{Definition, DefinitionId};
use crate::flow::Flow;
use crate::isa::generic::{Control, Space};
use crate::registers::{self, Access};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::Resolution;
use crate::syntax::ast::{Operand, OperandKind};
use crate::values::ValueId;
use crate::walks::Walk;

/// Values that are looked at.
const FAR: usize = 64;

/// Whether a store writes only data.
pub(super) fn is_data(flow: &Flow<'_>, store: u32) -> bool {
    let (unit, view) = (flow.unit, flow.facts.view(flow.unit));
    if has_other_types(unit.operations.of(store)) {
        return true;
    }
    let mut stored_values: SmallVec<[ValueId; 8]> = SmallVec::new();
    for index in unit.module.instructions[store as usize].operands.range().skip(1) {
        let stored = match unit.module.operands[index].kind() {
            OperandKind::Vector(parts) => parts.range(),
            _ => index..index + 1,
        };
        for index in stored {
            match unit.symbols.operand(index as u32) {
                Resolution::Register(register) => match view.value(store, register) {
                    Some(value) => stored_values.push(value),
                    None => return false,
                },
                // The address of a variable is none in Tensor Memory, and neither is a literal.
                Resolution::Symbol(_) | Resolution::Special(_) => {}
                Resolution::Undeclared if unit.module.operands[index].is_literal() => {}
                Resolution::Undeclared => return false,
            }
        }
    }
    let mut values = Walk::new(view.budget, stored_values).at_most(FAR);
    while let Some(id) = values.pop_definition(view.definitions) {
        let Some(sources) = sources(flow, id) else { return false };
        values.extend(sources);
    }
    values.is_complete()
}

/// What a value is made of, if that decides whether it is an address; none if it may be one by itself.
fn sources(flow: &Flow<'_>, id: DefinitionId) -> Option<SmallVec<[ValueId; 4]>> {
    let (unit, view) = (flow.unit, flow.facts.view(flow.unit));
    let Definition { instruction, .. } = *view.definitions.get(id);
    let opcode = unit.operations.of(instruction);
    if opcode.tensor.is_some() || has_other_types(opcode) {
        return Some(SmallVec::new());
    }
    let raw = &unit.module.instructions[instruction as usize];
    let reads_memory = unit.module.operands(raw.operands).iter().any(Operand::is_address);
    if reads_memory {
        // The parameters of a function may be addresses.
        let is_of_host = opcode.spaces().next().is_some_and(|space| match space {
            Space::Global | Space::Const => true,
            Space::Param => flow.is_entry(),
            _ => false,
        });
        return is_of_host.then(SmallVec::new);
    }
    if opcode.control() == Control::Call {
        return None;
    }
    let mut sources = SmallVec::new();
    let mut all_are_made = true;
    registers::accesses(unit, instruction, &mut |register, _, access| {
        if access == Access::Read {
            let value = view.value(instruction, register);
            all_are_made &= value.is_some();
            sources.extend(value);
        }
    });
    all_are_made.then_some(sources)
}

/// Whether an instruction has types that no address in Tensor Memory has.
fn has_other_types(opcode: &Opcode) -> bool {
    opcode
        .types
        .iter()
        .any(|ty| ty.is_float() || ty.is_packed() || ty.bits().is_some_and(|bits| bits < 32 && bits > 1))
}
