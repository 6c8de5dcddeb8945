//! Which shared memory a matrix lies in, and which a store writes: variables, and the bytes of them, as far as
//! they are known.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::events::{Action, Event};
use super::flow::Flow;
use super::places::{Place, Root};
use super::ranges::Numbers;
use super::truncated::keeps;
use crate::descriptor::shared_memory::{Rows, SwizzleMode};
use crate::instruction::{Instruction, MatrixA, Scalar};
use crate::isa::generic::{Arithmetic, Bits, Computation, Flag, Space, Synchronization};
use crate::resolve::symbols::{RegisterId, Resolution, SymbolId, SymbolKind};
use crate::syntax::ast::{OperandKind, StateSpace, Type};
use crate::syntax::literal;

/// Deeper than this, nothing is followed.
const DEEP: u32 = 24;

/// What is wrong with a generic address of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generic {
    /// It is an address within shared memory, or within another state space.
    NotConverted {
        /// The instruction that makes it.
        made: u32,
    },
    /// It was made of an address of another state space.
    Elsewhere {
        /// The instruction that converts it, or takes the address of a variable.
        made: u32,
    },
}

impl Flow<'_> {
    /// Whether a store may write what a multiply or copy reads: a variable that one of its descriptors
    /// certainly points to.
    pub fn stores_into(&self, store: Event, reader: Event) -> bool {
        let Some(stored) = self.stored_variable(store).filter(|it| !self.is_external(*it)) else {
            return false;
        };
        self.read_variables(reader).contains(&Some(stored))
    }

    /// Whether a store may write the array that a matrix of a multiply or copy certainly lies in, of whatever size
    /// that is.
    pub fn stores_into_array(&self, store: Event, reader: Event) -> bool {
        self.stored_variable(store).is_some_and(|stored| self.read_variables(reader).contains(&Some(stored)))
    }

    /// A bulk copy from shared memory to global memory, and a store of a thread that can come before it and writes
    /// what it reads, from its first byte on. What bulk copies may load there instead is left alone.
    pub fn sent_in_bulk(&self) -> Option<(Event, u32)> {
        let module = &self.unit.module;
        let place_of = |at: u32, last: bool| {
            let operands = module.instructions[at as usize].operands.range();
            let mut addresses =
                operands.filter(|index| matches!(module.operands[*index].kind(), OperandKind::Address(_)));
            let address = if last { addresses.next_back() } else { addresses.next() };
            self.places().address(at, address? as u32)
        };
        let is_store = |event: &&Event| event.action == Action::SharedStore && self.is_own(**event);
        let instructions = self.cfg().instructions();
        if !self.events().iter().any(|event| is_store(&event))
            || !self.facts.budget.take(instructions.len() as u64)
        {
            return None;
        }
        let sends = |at: &u32| {
            let opcode = self.unit.operations.of(*at);
            let mut spaces = opcode.spaces();
            opcode.synchronization() == Synchronization::BulkCopy
                && spaces.next() == Some(Space::Global)
                && spaces.next().is_some_and(Space::is_shared)
        };
        let mut sends = instructions.filter(sends).peekable();
        sends.peek()?;
        let summary = self.summary()?;
        let loads = summary.events.iter().filter(|event| event.action == Action::BulkLoad);
        let loaded: Option<Vec<Place>> = loads
            .map(|event| if self.is_own(*event) { place_of(event.instruction, false) } else { None })
            .collect();
        let loaded = loaded?;
        let stores = self.events().iter().filter(is_store);
        let stores: Vec<(Event, Place)> =
            stores.filter_map(|event| Some((*event, place_of(event.instruction, false)?))).collect();
        let is_apart = |one: &Place, other: &Place| match (one.root, other.root) {
            (a, b) if a == b => {
                one.bytes().zip(other.bytes()).is_some_and(|(one, other)| one.is_disjoint(other))
            }
            (Root::Variable(a), Root::Variable(b)) => !self.is_external(a) || !self.is_external(b),
            _ => false,
        };
        sends.find_map(|at| {
            let sent = place_of(at, true)?;
            let first = sent.bytes()?.first()?;
            if !self.facts.budget.take(loaded.len() as u64) || !loaded.iter().all(|it| is_apart(it, &sent)) {
                return None;
            }
            let (store, _) = stores.iter().find(|(store, place)| {
                self.facts.budget.take(1)
                    && place.root == sent.root
                    && place.bytes().and_then(Numbers::first) == Some(first)
                    && self.leads_to(store.instruction, at)
            })?;
            Some((*store, at))
        })
    }

    /// What is certainly wrong with a register that is taken for a generic address of shared memory.
    pub fn generic(&self, instruction: u32, register: RegisterId) -> Option<Generic> {
        let view = self.facts.view(self.unit);
        let module = &self.unit.module;
        let (mut at, mut register) = (instruction, register);
        for _ in 0..DEEP {
            let definition = *view.definitions.get(view.only(at, register)?);
            let made = definition.instruction;
            let raw = &module.instructions[made as usize];
            if made == at || definition.guarded || definition.operand != raw.operands.start {
                return None;
            }
            let opcode = self.unit.operations.of(made);
            let number = |position: u32| {
                let operand = module.operands.get((raw.operands.start + position) as usize)?;
                literal::evaluate(&self.unit.source, module, operand)
            };
            match opcode.computes() {
                Computation::ConvertAddress => {
                    if opcode.has_flag(Flag::To) {
                        return Some(Generic::NotConverted { made });
                    }
                    return match opcode.spaces().next()? {
                        Space::Const | Space::Global | Space::Local => Some(Generic::Elsewhere { made }),
                        _ => None,
                    };
                }
                Computation::Move if raw.operands.len == 2 => {}
                // Made wider, it is the same number.
                Computation::Convert
                    if !opcode.has_flag(Flag::Sat) && !opcode.types.iter().any(|ty| ty.is_float()) => {}
                Computation::Arithmetic(Arithmetic::Add | Arithmetic::Subtract) if number(2).is_some() => {}
                _ => return None,
            }
            match self.unit.symbols.operand(raw.operands.start + 1) {
                Resolution::Register(next) => (at, register) = (made, next),
                Resolution::Symbol(id) => {
                    return match self.unit.symbols.symbol(id).kind {
                        SymbolKind::Variable { space: StateSpace::Shared, .. } => {
                            Some(Generic::NotConverted { made })
                        }
                        SymbolKind::Variable {
                            space: StateSpace::Global | StateSpace::Local | StateSpace::Const,
                            ..
                        } => Some(Generic::Elsewhere { made }),
                        _ => None,
                    };
                }
                _ => return None,
            }
        }
        None
    }

    /// Whether a store writes a variable that a multiply or copy reads nothing of.
    pub fn stores_elsewhere(&self, store: Event, reader: Event) -> bool {
        let Some(stored) = self.stored_variable(store) else { return false };
        if self.is_too_small(stored) {
            return true;
        }
        self.is_read_elsewhere(stored, reader) || self.stores_beside(store, reader)
    }

    /// Whether every matrix of a multiply or copy certainly lies in another variable than this one.
    pub(super) fn is_read_elsewhere(&self, stored: SymbolId, reader: Event) -> bool {
        let read = self.read_variables(reader);
        // Arrays without a size all begin where the others end.
        let is_other = |read: &Option<SymbolId>| {
            read.is_some_and(|read| read != stored && !(self.is_external(read) && self.is_external(stored)))
        };
        !read.is_empty() && read.iter().all(is_other)
    }

    /// Whether a store writes bytes of a variable that the matrices of a multiply do not have, where it is
    /// known of all which they have: rows of swizzled K-major matrices lie one behind the other, in groups of
    /// eight.
    fn stores_beside(&self, store: Event, reader: Event) -> bool {
        /// No store of one thread is longer.
        const LONGEST: u64 = 32;
        let (Some((variable, first)), Action::Tensor { index, .. }) =
            (self.stored_byte(store), reader.action)
        else {
            return false;
        };
        let (Some(Instruction::Mma(mma)), Some(known)) =
            (self.instruction(reader), self.descriptors_of(index))
        else {
            return false;
        };
        let bytes = |name: &str, scalar: &Scalar<'_>, rows: Option<u32>| -> Option<(SymbolId, Range<u64>)> {
            let (read, start) = self.start(reader, scalar)?;
            let word = known.descriptors.iter().find(|it| it.name == name)?.word;
            let Rows { stride, swizzle, .. } = Rows::of(word);
            let group = match swizzle? {
                mode @ (SwizzleMode::Bytes128 | SwizzleMode::Bytes64) => mode.eight_rows()?,
                SwizzleMode::None | SwizzleMode::Bytes32 | SwizzleMode::Bytes128Atom32 => return None,
            };
            let more = u64::from(rows?.div_ceil(8).saturating_sub(1));
            Some((read, start..start + more * stride? + group))
        };
        let is_beside = |matrix: Option<(SymbolId, Range<u64>)>| {
            matrix.is_some_and(|(read, bytes)| {
                let is_other = !(self.is_external(read) && self.is_external(variable));
                if read == variable { first + LONGEST <= bytes.start || bytes.end <= first } else { is_other }
            })
        };
        let a = match &mma.a {
            MatrixA::Descriptor(a) if known.facts.transpose_a == Some(false) => {
                is_beside(bytes("a-desc", a, known.facts.m))
            }
            MatrixA::Descriptor(_) => false,
            MatrixA::TensorMemory(_) => true,
        };
        a && known.facts.transpose_b == Some(false) && is_beside(bytes("b-desc", &mma.b, known.facts.n))
    }

    /// The byte of a variable that a store begins with, if it is the same for all threads.
    pub fn stored_byte(&self, store: Event) -> Option<(SymbolId, u64)> {
        if !self.is_own(store) {
            return None;
        }
        let operands = self.unit.module.instructions[store.instruction as usize].operands;
        let is_address =
            |index: &usize| matches!(self.unit.module.operands[*index].kind(), OperandKind::Address(_));
        let address = operands.range().find(is_address)?;
        self.byte(store.instruction, address as u32)
    }

    /// The byte of a variable that an address is, if it is the same for all threads.
    fn byte(&self, instruction: u32, address: u32) -> Option<(SymbolId, u64)> {
        let place = self.places().address(instruction, address)?;
        match place.root {
            Root::Variable(variable) => Some((variable, place.offset.constant(32)?)),
            Root::Literal | Root::Slot(_) | Root::Parameter(_) | Root::Register(_) => None,
        }
    }

    /// The bytes of variables in shared memory that the function itself loads, each the same for all
    /// threads.
    pub fn loaded_bytes(&self) -> FxHashSet<(SymbolId, u64)> {
        let mut loaded = FxHashSet::default();
        for at in self.cfg().instructions() {
            let opcode = self.unit.operations.of(at);
            if !self.facts.budget.take(1) {
                break;
            }
            if opcode.computes() == Computation::Load && opcode.spaces().next().is_some_and(Space::is_shared)
            {
                let operands = self.unit.module.instructions[at as usize].operands;
                loaded.extend((operands.len == 2).then(|| self.byte(at, operands.start + 1)).flatten());
            }
        }
        loaded
    }

    /// Whether something writes to shared memory exactly where a matrix that a multiply or copy reads
    /// starts.
    pub fn overwrites(&self, writer: Event, reader: Event) -> bool {
        if !self.is_own(writer) || !self.is_own(reader) {
            return false;
        }
        let written = self.stored_byte(writer);
        let starts: Vec<Option<(SymbolId, u64)>> = match self.instruction(reader) {
            Some(Instruction::Mma(mma)) => {
                let a = match &mma.a {
                    MatrixA::Descriptor(a) => Some(a),
                    MatrixA::TensorMemory(_) => None,
                };
                a.into_iter().chain([&mma.b]).map(|it| self.start(reader, it)).collect()
            }
            Some(Instruction::Cp(cp)) => vec![self.start(reader, &cp.s_desc)],
            _ => Vec::new(),
        };
        written.is_some() && starts.contains(&written)
    }

    /// Where the matrix of a descriptor starts: a variable, and the bytes from there on.
    fn start(&self, reader: Event, descriptor: &Scalar<'_>) -> Option<(SymbolId, u64)> {
        /// The start address is in units of 16 bytes, in the lowest bits.
        const UNIT: u32 = 4;
        const FIELD: u64 = 0x3FFF;
        let Scalar::Register(register) = descriptor else { return None };
        let view = self.facts.view(self.unit);
        let module = &self.unit.module;
        let keeps_start = |at: u32, mask: u64| {
            let operand = module.instructions[at as usize].operands.start + 1;
            let known = match self.unit.symbols.operand(operand) {
                Resolution::Register(register) => self.facts.constants.at(&view, at, register),
                _ => return false,
            };
            mask & FIELD == FIELD || mask == FIELD << UNIT || keeps(mask.into(), FIELD, known)
        };
        let (mut at, mut register) = (reader.instruction, register.id);
        // What is added behind a shift is worth more.
        let (mut bytes, mut shift) = (0u64, 0);
        for _ in 0..DEEP {
            let definition = *view.definitions.get(view.only(at, register)?);
            let made = definition.instruction;
            let raw = &module.instructions[made as usize];
            if made == at || definition.guarded || definition.operand != raw.operands.start {
                return None;
            }
            let number = |position: u32| {
                let operand = module.operands.get((raw.operands.start + position) as usize)?;
                u64::try_from(literal::evaluate(&self.unit.source, module, operand)?).ok()
            };
            match self.unit.operations.of(made).computes() {
                Computation::Move | Computation::Convert | Computation::ConvertAddress
                    if raw.operands.len == 2 => {}
                // Walked from the descriptor back to the address, where a unit is 16 bytes.
                Computation::Bits(Bits::ShiftRight) if shift == 0 && number(2) == Some(u64::from(UNIT)) => {
                    shift = UNIT;
                }
                Computation::Bits(Bits::Extract) if shift == 0 && number(2) == Some(u64::from(UNIT)) => {
                    shift = UNIT;
                }
                Computation::And if number(2).is_some_and(|mask| keeps_start(made, mask)) => {}
                Computation::Or if number(2).is_some_and(|more| more.trailing_zeros() >= 14) => {}
                Computation::Arithmetic(Arithmetic::Add) => {
                    // What lies above the field is the rest of the descriptor.
                    let by = number(2)?;
                    bytes = bytes.wrapping_add(if shift == 0 { (by & FIELD) << UNIT } else { by });
                }
                _ => return None,
            }
            match self.unit.symbols.operand(raw.operands.start + 1) {
                Resolution::Register(next) => (at, register) = (made, next),
                Resolution::Symbol(id)
                    if shift == UNIT
                        && matches!(self.unit.symbols.symbol(id).kind, SymbolKind::Variable { .. }) =>
                {
                    return Some((id, bytes));
                }
                _ => return None,
            }
        }
        None
    }

    /// The variables that the descriptors of a multiply or copy point to, as far as they are known.
    pub(super) fn read_variables(&self, reader: Event) -> Vec<Option<SymbolId>> {
        match self.instruction(reader) {
            Some(Instruction::Mma(mma)) => {
                let a = match &mma.a {
                    MatrixA::Descriptor(a) => Some(a),
                    MatrixA::TensorMemory(_) => None,
                };
                a.into_iter().chain([&mma.b]).map(|it| self.described_variable(reader, it)).collect()
            }
            Some(Instruction::Cp(cp)) => vec![self.described_variable(reader, &cp.s_desc)],
            _ => Vec::new(),
        }
    }

    /// Whether no matrix fits into a variable: none is smaller than eight rows of 16 bytes.
    pub fn is_too_small(&self, variable: SymbolId) -> bool {
        const LEAST: i128 = 8 * 16;
        let unit = self.unit;
        let declared = unit.declaration(unit.symbols.symbol(variable));
        let Some((declaration, declarator)) = declared else { return false };
        if declaration.space != StateSpace::Shared || self.is_external(variable) {
            return false;
        }
        let Some(bits) = declaration.ty.and_then(Type::bits) else { return false };
        let mut bytes = i128::from(bits / 8) * i128::from(declaration.vector);
        for size in unit.module.operands(declarator.dimensions) {
            let Some(size) = literal::evaluate(&unit.source, &unit.module, size) else { return false };
            bytes = bytes.saturating_mul(size);
        }
        bytes < LEAST
    }

    pub(super) fn is_external(&self, variable: SymbolId) -> bool {
        matches!(self.unit.symbols.symbol(variable).kind, SymbolKind::Variable { is_external: true, .. })
    }

    pub(super) fn is_shared_variable(&self, variable: SymbolId) -> bool {
        matches!(
            self.unit.symbols.symbol(variable).kind,
            SymbolKind::Variable { space: StateSpace::Shared, .. }
        )
    }

    /// The variable that a store writes.
    pub fn stored_variable(&self, store: Event) -> Option<SymbolId> {
        if !self.is_own(store) {
            return None;
        }
        let operands = self.unit.module.instructions[store.instruction as usize].operands;
        let is_address =
            |index: &usize| matches!(self.unit.module.operands[*index].kind(), OperandKind::Address(_));
        let address = operands.range().find(is_address)?;
        match self.places().address(store.instruction, address as u32)?.root {
            Root::Variable(variable) => Some(variable),
            Root::Register(register) => self.variable(store.instruction, register, 0),
            Root::Literal | Root::Slot(_) | Root::Parameter(_) => None,
        }
    }

    /// Whether a copy or an atomic operation certainly leaves some word of a variable alone: it begins in another
    /// variable, or behind that word.
    pub(super) fn is_written_apart(&self, event: Event, variable: SymbolId, word: u64) -> bool {
        let operands = self.unit.module.instructions[event.instruction as usize].operands;
        let is_address =
            |index: &usize| matches!(self.unit.module.operands[*index].kind(), OperandKind::Address(_));
        let Some(address) = operands.range().find(is_address) else { return false };
        let Some(place) = self.places().address(event.instruction, address as u32) else { return false };
        match place.root {
            Root::Variable(written) if written == variable => {
                let first = place.bytes().and_then(Numbers::first);
                first.is_some_and(|first| u64::try_from(first).is_ok_and(|first| first > word))
            }
            Root::Variable(written) => !self.is_external(written) || !self.is_external(variable),
            Root::Register(register) => {
                self.variable(event.instruction, register, 0).is_some_and(|written| {
                    written != variable && (!self.is_external(written) || !self.is_external(variable))
                })
            }
            Root::Literal | Root::Slot(_) | Root::Parameter(_) => false,
        }
    }

    /// The variable that a descriptor's start address lies in.
    fn described_variable(&self, reader: Event, descriptor: &Scalar<'_>) -> Option<SymbolId> {
        match descriptor {
            Scalar::Register(register) if self.is_own(reader) => {
                self.variable(reader.instruction, register.id, 0)
            }
            Scalar::Register(register) => self.variable_within(reader, register.id),
            _ => None,
        }
    }

    /// The only variable that an address is made of.
    pub(super) fn variable_of(&self, instruction: u32, register: RegisterId) -> Option<SymbolId> {
        self.variable(instruction, register, 0)
    }

    /// The only variable that an address or a descriptor is made of.
    fn variable(&self, instruction: u32, register: RegisterId, depth: u32) -> Option<SymbolId> {
        let view = self.facts.view(self.unit);
        if depth == DEEP || !self.facts.budget.take(1) {
            return None;
        }
        let definition = *view.definitions.get(view.only(instruction, register)?);
        let at = definition.instruction;
        let raw = &self.unit.module.instructions[at as usize];
        if at == instruction || definition.guarded || definition.operand != raw.operands.start {
            return None;
        }
        let part = |position: u32| {
            (position < raw.operands.len)
                .then(|| self.operand_variable(at, raw.operands.start + position, depth + 1))?
        };
        match self.unit.operations.of(at).computes() {
            Computation::Move
            | Computation::Convert
            | Computation::ConvertAddress
            | Computation::Bits(Bits::ShiftRight | Bits::Extract) => part(1),
            // What is added is no address; if both are, nothing is known.
            Computation::And | Computation::Or | Computation::Arithmetic(Arithmetic::Add) => {
                match (part(1), part(2)) {
                    (Some(variable), None) | (None, Some(variable)) => Some(variable),
                    _ => None,
                }
            }
            Computation::Arithmetic(Arithmetic::Subtract) => part(1),
            Computation::Arithmetic(Arithmetic::MultiplyAdd) => part(3),
            Computation::Other
            | Computation::Xor
            | Computation::Not
            | Computation::Bits(_)
            | Computation::Arithmetic(_)
            | Computation::Select
            | Computation::Compare
            | Computation::Shuffle
            | Computation::Load
            | Computation::Elect => None,
        }
    }

    fn operand_variable(&self, instruction: u32, index: u32, depth: u32) -> Option<SymbolId> {
        let module = &self.unit.module;
        let operand = &module.operands[index as usize];
        if literal::evaluate(&self.unit.source, module, operand).is_some() {
            return None;
        }
        match (operand.kind(), self.unit.symbols.operand(index)) {
            (OperandKind::Name, Resolution::Register(register)) => {
                self.variable(instruction, register, depth)
            }
            (OperandKind::Name, Resolution::Symbol(id))
                if matches!(self.unit.symbols.symbol(id).kind, SymbolKind::Variable { .. }) =>
            {
                Some(id)
            }
            // The start address stands in the low half.
            (OperandKind::Vector(parts), _) if parts.len == 2 && depth < DEEP => {
                self.operand_variable(instruction, parts.start, depth + 1)
            }
            _ => None,
        }
    }
}
