//! What declarations say of variables: what those in constant memory hold, because no kernel can change it,
//! and which bits of the addresses of those in shared memory are zero.

use super::{Known, UNKNOWN};
use crate::function::Function;
use crate::isa::generic::{Computation, Space};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{Resolution, SymbolId, SymbolKind};
use crate::resolve::unit::Unit;
use crate::syntax::ast::{BinaryOperator, OperandKind, Slice, StateSpace, Type};
use crate::syntax::literal;

/// Whether an instruction loads from constant memory.
pub(super) fn loads_constant(opcode: &Opcode) -> bool {
    opcode.computes() == Computation::Load && opcode.spaces().next() == Some(Space::Const)
}

impl Function<'_> {
    /// The known bits that such a load of `width` bits reads.
    pub(super) fn constant_word(&self, operands: Slice, width: u32) -> Known {
        let unit = self.unit;
        let [destination, address] = unit.module.operands(operands) else { return UNKNOWN };
        let (OperandKind::Name, OperandKind::Address(parts)) = (destination.kind(), address.kind()) else {
            return UNKNOWN;
        };
        let (name, offset) = match unit.module.operands(parts) {
            [inner] => match inner.kind() {
                OperandKind::Binary(BinaryOperator::Add, sum) if sum.len == 2 => {
                    let by = &unit.module.operands[sum.start as usize + 1];
                    (sum.start, literal::evaluate(&unit.source, &unit.module, by))
                }
                _ => (parts.start, Some(0)),
            },
            _ => return UNKNOWN,
        };
        let offset = offset.and_then(|offset| usize::try_from(offset).ok());
        let word = offset.and_then(|offset| initial_word(unit, name, offset, (width / 8) as usize));
        word.map_or(UNKNOWN, Known::from)
    }
}

/// The known bits of the address of a variable in shared memory: zeros, as far as it is aligned.
pub(super) fn address_of(unit: &Unit, variable: SymbolId) -> Known {
    let symbol = unit.symbols.symbol(variable);
    let declared = unit.declaration(symbol).map(|(declaration, _)| declaration);
    let Some(declaration) = declared.filter(|it| it.space == StateSpace::Shared) else { return UNKNOWN };
    let natural = declaration.ty.and_then(Type::bits).map(|bits| bits / 8 * u32::from(declaration.vector));
    match declaration.align.or(natural) {
        Some(bytes) if bytes.is_power_of_two() => Known::new(u64::from(bytes) - 1, 0),
        _ => UNKNOWN,
    }
}

/// What bytes of a variable in constant memory hold that nobody outside of the module can change.
fn initial_word(unit: &Unit, name: u32, offset: usize, bytes: usize) -> Option<u64> {
    /// Longer tables hold no descriptors.
    const MOST: usize = 1 << 12;
    let module = &unit.module;
    let Resolution::Symbol(id) = unit.symbols.operand(name) else { return None };
    let symbol = unit.symbols.symbol(id);
    if !matches!(symbol.kind, SymbolKind::Variable { space: StateSpace::Const, is_external: false, .. }) {
        return None;
    }
    let (declaration, declarator) = unit.declaration(symbol).filter(|(it, _)| it.linkage.is_none())?;
    let element = declaration.ty.and_then(bytes_of_number)?;
    let end = offset.checked_add(bytes).filter(|end| *end <= MOST)?;
    let mut data = Vec::new();
    let mut work = vec![declarator.initializer?];
    while let Some(index) = work.pop().filter(|_| data.len() < end) {
        let operand = &module.operands[index as usize];
        if let OperandKind::Vector(parts) = operand.kind() {
            work.extend(parts.range().rev().map(|part| part as u32));
            continue;
        }
        let value = literal::evaluate(&unit.source, module, operand)?;
        data.extend(value.to_le_bytes().into_iter().take(element));
    }
    let word = data.get(offset..end)?;
    Some(word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// How many bytes a number of a type has, if it is whole.
fn bytes_of_number(ty: Type) -> Option<usize> {
    let is_whole = matches!(
        ty,
        Type::B8
            | Type::B16
            | Type::B32
            | Type::B64
            | Type::U8
            | Type::U16
            | Type::U32
            | Type::U64
            | Type::S8
            | Type::S16
            | Type::S32
            | Type::S64
    );
    ty.bits().filter(|_| is_whole).map(|bits| bits as usize / 8)
}
