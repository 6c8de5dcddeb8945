//! Where variables lie.

use rustc_hash::FxHashMap;

use super::lower::Lowering;
use super::windows::{self, generic};
use super::{Fixed, Operand, Parameter, Variable};
use crate::resolve::symbols::{Resolution, SymbolId, SymbolKind};
use crate::resolve::unit::Unit;
use crate::syntax::ast::{Declaration, Declarator, Linkage, OperandKind, StateSpace, Type};
use crate::syntax::literal::{self, Constant};

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    Shared(u32),
    DynamicShared,
    /// The generic address.
    Global(u64),
    Const(u32),
    /// A parameter of the kernel.
    Parameter(u32),
    /// In the frame of the function.
    Local(u32),
    Nowhere,
}

/// A frame larger than this is none.
const MOST_LOCAL: u64 = 1 << 20;

/// Bytes and alignment of what is declared; nothing where a dimension is left out.
fn size(unit: &Unit, declaration: &Declaration, declarator: &Declarator) -> (Option<u64>, u32) {
    let element = u64::from(declaration.ty.and_then(Type::bits).unwrap_or(64).div_ceil(8))
        * u64::from(declaration.vector.max(1));
    let mut bytes = Some(element);
    for dimension in unit.module.operands(declarator.dimensions) {
        let count = literal::evaluate(&unit.source, &unit.module, dimension);
        bytes = bytes
            .zip(count.and_then(|count| u64::try_from(count).ok()))
            .and_then(|(bytes, count)| bytes.checked_mul(count));
    }
    let align = declaration.align.unwrap_or(element as u32).clamp(1, 1 << 16);
    (bytes, if align.is_power_of_two() { align } else { 16 })
}

/// Bytes of a variable in global memory. What does not say how many it has may have many.
fn bytes_of_global(bytes: Option<u64>) -> u64 {
    bytes.unwrap_or(1 << 20).min(1 << windows::BUFFER_BITS)
}

/// The addresses of all variables in global memory, by the starts of their names: the same for all kernels of a module.
pub(super) fn addresses_of_globals(unit: &Unit) -> FxHashMap<u32, u64> {
    let (mut addresses, mut next) = (FxHashMap::default(), windows::VARIABLES);
    let module = &unit.module;
    let is_global = |it: &&Declaration| matches!(it.space, StateSpace::Global | StateSpace::Tex);
    for declaration in module.declarations.iter().filter(is_global) {
        for declarator in &module.declarators[declaration.declarators.range()] {
            let bytes = bytes_of_global(size(unit, declaration, declarator).0);
            addresses.insert(declarator.name.start, next);
            let free = windows::BETWEEN_VARIABLES;
            next = (next + bytes + free).next_multiple_of(free).min((1 << windows::BITS) - free);
        }
    }
    addresses
}

impl Lowering<'_> {
    /// Bytes and alignment of what is declared; nothing where a dimension is left out.
    pub(super) fn size(&self, declaration: &Declaration, declarator: &Declarator) -> (Option<u64>, u32) {
        size(self.unit, declaration, declarator)
    }

    /// Lays out the parameters of the kernel.
    pub(super) fn kernel_parameters(&mut self, function: u32) {
        let module = &self.unit.module;
        let mut end = 0u32;
        for declaration in &module.declarations[module.functions[function as usize].parameters.range()] {
            for declarator in &module.declarators[declaration.declarators.range()] {
                let (bytes, align) = self.size(declaration, declarator);
                let bytes = bytes.unwrap_or(0).min(1 << 16) as u32;
                let offset = end.next_multiple_of(align);
                end = offset + bytes;
                self.parameters.insert(declarator.name.start, offset);
                self.program.parameters.push(Parameter {
                    name: self.unit.source.slice(declarator.name).to_owned(),
                    ty: declaration.ty,
                    offset,
                    bytes,
                    is_array: declarator.dimensions.len > 0,
                    align,
                    is_pointer: declaration.pointer.is_some(),
                });
            }
        }
        self.program.parameter_bytes = end;
    }

    /// Makes room in the frame of the function that is being lowered.
    pub(super) fn local(&mut self, bytes: u64, align: u32) -> u32 {
        let offset = self.local_bytes.next_multiple_of(align);
        self.local_bytes = offset.saturating_add(bytes.min(MOST_LOCAL) as u32);
        offset
    }

    /// Where a variable is.
    pub(super) fn storage(&mut self, id: SymbolId) -> Storage {
        if let Some(known) = self.storage.get(&id) {
            return *known;
        }
        let symbol = self.unit.symbols.symbol(id);
        let SymbolKind::Variable { space, .. } = symbol.kind else { return Storage::Nowhere };
        let Some((declaration, declarator)) = self.declared(symbol.span.start) else {
            return Storage::Nowhere;
        };
        let (bytes, align) = self.size(declaration, declarator);
        let is_external = declaration.linkage == Some(Linkage::Extern);
        let name = self.unit.readable(declarator.name).into_owned();
        let storage = match space {
            StateSpace::Shared => match bytes.filter(|_| !is_external) {
                None | Some(0) => {
                    self.program.dynamic_align = self.program.dynamic_align.max(align);
                    Storage::DynamicShared
                }
                Some(bytes) => {
                    let start = self.program.static_shared.max(windows::RESERVED).next_multiple_of(align);
                    let end = start.saturating_add(bytes.min(1 << 24) as u32);
                    self.program.shared_names.push((start, end, name));
                    self.program.static_shared = end;
                    Storage::Shared(start)
                }
            },
            StateSpace::Global | StateSpace::Tex => {
                let index = self.program.globals.len();
                let Some(address) = self.shared.address_of_global(declarator.name.start) else {
                    return Storage::Nowhere;
                };
                // What it starts with may hold its own address.
                self.storage.insert(id, Storage::Global(address));
                let bytes = bytes_of_global(bytes);
                self.program.globals.push(Variable {
                    name,
                    address,
                    bytes,
                    data: Vec::new(),
                    unknown: Vec::new(),
                    is_external,
                });
                let (data, unknown) = self.initial(declaration, declarator);
                let variable = &mut self.program.globals[index];
                (variable.data, variable.unknown) = (data, unknown);
                Storage::Global(address)
            }
            StateSpace::Const => {
                let (mut data, unknown) = self.initial(declaration, declarator);
                data.resize(bytes.unwrap_or(0).min(1 << 16) as usize, 0);
                let constants = &mut self.program.constant_bytes;
                let start = (constants.len() as u32).next_multiple_of(align);
                constants.resize(start as usize, 0);
                constants.extend(data);
                let end = constants.len() as u32;
                let moved = unknown.into_iter().map(|(from, to)| (start + from, start + to));
                self.program.constant_unknown.extend(moved);
                self.program.constant_unknown.extend(is_external.then_some((start, end)));
                Storage::Const(start)
            }
            StateSpace::Param => match self.parameters.get(&symbol.span.start) {
                Some(offset) => Storage::Parameter(*offset),
                None => Storage::Local(self.local(bytes.unwrap_or(0), align)),
            },
            StateSpace::Local => Storage::Local(self.local(bytes.unwrap_or(0), align)),
            StateSpace::Reg | StateSpace::Sreg => Storage::Nowhere,
        };
        self.storage.insert(id, storage);
        storage
    }

    /// The bytes that a variable starts with, and those of them that are not known.
    fn initial(&mut self, declaration: &Declaration, declarator: &Declarator) -> (Vec<u8>, Vec<(u32, u32)>) {
        const MOST: usize = 1 << 24;
        let (mut data, mut unknown) = (Vec::new(), Vec::new());
        let element = declaration.ty.and_then(Type::bits).unwrap_or(64).div_ceil(8) as usize;
        let mut work: Vec<u32> = declarator.initializer.into_iter().collect();
        while let Some(index) = work.pop() {
            let operand = &self.unit.module.operands[index as usize];
            if let OperandKind::Vector(parts) = operand.kind() {
                work.extend(parts.range().rev().map(|part| part as u32));
                continue;
            }
            if data.len() + element > MOST {
                break;
            }
            let constant = literal::constant(&self.unit.source, &self.unit.module, operand);
            let is_single = declaration.ty == Some(Type::F32);
            let value = match constant {
                Some(constant) if is_single => {
                    Some(constant.single().map_or(constant.bits(), |it| it.to_bits().into()))
                }
                Some(constant) => Some(Constant::bits(constant)),
                None => self.initial_address(index),
            };
            if value.is_none() {
                unknown.push((data.len() as u32, (data.len() + element) as u32));
            }
            data.extend(value.unwrap_or(0).to_le_bytes().iter().chain(&[0; 8]).take(element));
        }
        (data, unknown)
    }

    /// The address that an initialiser names.
    fn initial_address(&mut self, index: u32) -> Option<u64> {
        let operand = &self.unit.module.operands[index as usize];
        let index = match operand.kind() {
            OperandKind::Name => index,
            // `generic(a)`: the function, then its argument.
            OperandKind::Apply(parts) => parts.start + 1,
            _ => return None,
        };
        let Resolution::Symbol(id) = self.unit.symbols.operand(index) else { return None };
        if let SymbolKind::Function { function } = self.unit.symbols.symbol(id).kind {
            return self.function_address(function);
        }
        match self.storage(id) {
            Storage::Global(address) => Some(address),
            Storage::Const(offset) => Some(generic(windows::CONST, offset.into())),
            Storage::Shared(_)
            | Storage::DynamicShared
            | Storage::Parameter(_)
            | Storage::Local(_)
            | Storage::Nowhere => None,
        }
    }

    /// The address of something behind the start of a variable, in the variable's own space or
    /// among all.
    pub(super) fn place(&mut self, storage: Storage, offset: i64, is_generic: bool) -> Option<Operand> {
        let plus = |start: u32| (i64::from(start) + offset) as u32;
        Some(match storage {
            Storage::Shared(start) if is_generic => self.fixed(Fixed::GenericShared(plus(start))),
            Storage::Shared(start) => self.fixed(Fixed::Shared(plus(start))),
            Storage::DynamicShared if is_generic => self.fixed(Fixed::GenericDynamicShared(plus(0))),
            Storage::DynamicShared => self.fixed(Fixed::DynamicShared(plus(0))),
            Storage::Global(address) => self.constant(address.wrapping_add_signed(offset)),
            Storage::Const(start) if is_generic => self.constant(generic(windows::CONST, plus(start).into())),
            Storage::Parameter(start) if is_generic => {
                self.constant(generic(windows::PARAM, plus(start).into()))
            }
            Storage::Const(start) | Storage::Parameter(start) => self.constant(plus(start).into()),
            Storage::Local(_) if is_generic => return None,
            Storage::Local(start) => Operand::Local(plus(start)),
            Storage::Nowhere => return None,
        })
    }
}
