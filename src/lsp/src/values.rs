//! What is known of values, from the analyses of the check.

use ptx_check::Unit;
use ptx_check::analysis::constants::Constants;
use ptx_check::analysis::functions::FunctionFacts;
use ptx_check::descriptor::Known;
use ptx_check::instruction::Scalar;
use ptx_check::instruction::decode::Decoded;
use ptx_check::resolve::symbols::{RegisterId, Resolution, SymbolKind};
use ptx_check::source::Span;
use ptx_check::syntax::ast::Type;

use crate::snapshot::Snapshot;

/// The known bits of an operand of a tcgen05 instruction.
pub(crate) fn operand(snapshot: &Snapshot, decoded: &Decoded<'_>, scalar: &Scalar<'_>) -> Option<Known> {
    if let Some(immediate) = scalar.immediate() {
        // Cut to 64 bits as the assembler does; a negative number is its two's complement.
        return Some(Known::from(immediate.value() as u64));
    }
    let value = |facts: &FunctionFacts| Some(facts.value(&snapshot.document.unit, decoded, scalar));
    let known = snapshot.facts(decoded.function?, value).filter(|known| known.mask != 0);
    known.or_else(|| snapshot.facts(decoded.function?, |facts| given(&snapshot.document.unit, facts, scalar)))
}

/// The value that a statement of another language gives a register, if the template does not change it.
pub(crate) fn given(unit: &Unit, facts: &FunctionFacts, scalar: &Scalar<'_>) -> Option<Known> {
    let Scalar::Register(register) = scalar else { return None };
    if register.plus.is_some() || register.component || !facts.definitions.of(register.id).is_empty() {
        return None;
    }
    let fragment = unit.fragment(register.span.start)?;
    let name = unit.source.slice(register.span);
    let mut operands = fragment.operands.iter().filter(|it| unit.source.slice(it.span) == name);
    operands.next()?.known.map(|value| Known::from(value as u64))
}

/// The value of such an operand, if all of its `width` bits are known.
pub(crate) fn constant(
    snapshot: &Snapshot,
    decoded: &Decoded<'_>,
    scalar: &Scalar<'_>,
    width: u32,
) -> Option<u64> {
    operand(snapshot, decoded, scalar)?.constant(width)
}

/// The value of the register that is named at `span`, if all of its bits are known.
pub(crate) fn name(snapshot: &Snapshot, span: Span) -> Option<u64> {
    let (span, resolution) = snapshot.used_name(span.start)?;
    let Resolution::Register(id) = resolution else { return None };
    let SymbolKind::Register { ty, .. } = snapshot.document.unit.symbols.register(id).kind else {
        return None;
    };
    register(snapshot, span, id)?.constant(ty.and_then(Type::bits).unwrap_or(64).min(64))
}

/// The known bits of a register that the instruction names at `span`: behind the instruction, if it
/// writes the register there.
pub(crate) fn register(snapshot: &Snapshot, span: Span, register: RegisterId) -> Option<Known> {
    let (index, instruction) = snapshot.instruction(span.start)?;
    let known = |facts: &FunctionFacts| {
        let view = facts.view(&snapshot.document.unit);
        let written = facts.definitions.of(register).iter().any(|id| {
            let definition = facts.definitions.get(*id);
            let place = snapshot.document.unit.module.operands[definition.operand as usize].span();
            definition.instruction == instruction && place == span
        });
        // Within a block, what the next instruction reads is what this one has written.
        let reader = if written { instruction + 1 } else { instruction };
        if facts.cfg.block_of(reader)? != facts.cfg.block_of(instruction)? {
            return None;
        }
        let constants = Constants::new(&view, [(reader, register)]);
        Some(constants.at(&view, reader, register))
    };
    snapshot.facts(snapshot.function_of(index)?, known).filter(|known| known.mask != 0)
}
