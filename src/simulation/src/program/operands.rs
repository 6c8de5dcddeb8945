//! Operands: registers, constants, addresses.

use super::lower::Lowering;
use super::windows::{self, generic};
use super::{Address, Changing, Fixed, Operand, Slice};
use crate::isa::generic::{OperandSlot, Type, TypeRule};
use crate::isa::hierarchy::THREADS_OF_WARP;
use crate::isa::special_registers::{Form, Part, Special, SpecialRegister};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution, SymbolKind};
use crate::syntax::ast::{self, BinaryOperator, OperandKind, UnaryOperator};
use crate::syntax::literal::{self, Constant};

/// Deeper expressions are no addresses.
const DEEP: u32 = 8;

/// The bits of a constant in a type.
fn constant_bits(constant: Constant, ty: Option<Type>, bits: u32) -> u64 {
    let raw = match ty {
        Some(Type::Pred) => return u64::from(constant.bits() != 0),
        Some(Type::F32) => constant.single().map_or(constant.bits(), |it| it.to_bits().into()),
        Some(Type::F64) => constant.double().map_or(constant.bits(), f64::to_bits),
        _ => constant.bits(),
    };
    if bits >= 64 { raw } else { raw & ((1 << bits) - 1) }
}

impl Lowering<'_> {
    /// A value that is the same everywhere.
    pub(super) fn constant(&mut self, value: u64) -> Operand {
        let program = &mut self.program;
        let index = *self.constants.entry(value).or_insert_with(|| {
            program.constants.push([value; 32]);
            program.constants.len() as u32 - 1
        });
        Operand::Constant(index)
    }

    /// A value that a thread keeps.
    pub(super) fn fixed(&mut self, fixed: Fixed) -> Operand {
        let known = self.program.fixed.iter().position(|known| *known == fixed);
        let index = known.unwrap_or_else(|| {
            self.program.fixed.push(fixed);
            self.program.fixed.len() - 1
        });
        Operand::Fixed(index as u32)
    }

    /// The number of a register in the frame; of its first part, if it has several.
    pub(super) fn register(&mut self, id: RegisterId) -> u32 {
        if let Some(known) = self.registers.get(&id) {
            return *known;
        }
        let number = self.register_count;
        self.registers.insert(id, number);
        let (vector, wide) = self.register_parts(id);
        self.register_count += vector * wide;
        number
    }

    /// How many elements a register has, and how many parts each.
    fn register_parts(&self, id: RegisterId) -> (u32, u32) {
        match self.unit.symbols.register(id).kind {
            SymbolKind::Register { ty, vector, .. } => {
                (u32::from(vector.max(1)), if ty == Some(ast::Type::B128) { 2 } else { 1 })
            }
            _ => (1, 1),
        }
    }

    /// Bits of a register.
    pub(super) fn register_bits(&self, id: RegisterId) -> u32 {
        match self.unit.symbols.register(id).kind {
            SymbolKind::Register { ty: Some(ty), .. } => ty.bits().unwrap_or(1),
            _ => 64,
        }
    }

    /// Keeps operands.
    pub(super) fn keep(&mut self, operands: &[Operand]) -> Slice {
        let start = self.program.operands.len() as u32;
        self.program.operands.extend_from_slice(operands);
        Slice { start, len: operands.len() as u32 }
    }

    /// The type of an operand in its position.
    pub(super) fn type_of(opcode: &Opcode, slot: &OperandSlot) -> Option<Type> {
        match slot.ty {
            TypeRule::Nth(index) => opcode.types.get(usize::from(index)).copied(),
            TypeRule::Product => opcode.types.first().copied(),
            TypeRule::Fixed(ty) | TypeRule::Integer(ty) => Some(ty),
            TypeRule::Pointer | TypeRule::Fragment | TypeRule::Any => None,
        }
    }

    /// Appends what an operand is made of: one value, or the elements of a vector. Whether that
    /// worked.
    pub(super) fn flatten(&mut self, index: u32, ty: Option<Type>, all: &mut Vec<Operand>) -> bool {
        let bits = match ty {
            Some(Type::Pred) => 1,
            Some(ty) => ty.bits().unwrap_or(64),
            None => 64,
        };
        self.flatten_bits(index, ty, bits, all)
    }

    fn flatten_bits(&mut self, index: u32, ty: Option<Type>, bits: u32, all: &mut Vec<Operand>) -> bool {
        let operand = self.unit.module.operands[index as usize];
        if let Some(constant) = literal::constant(&self.unit.source, &self.unit.module, &operand) {
            let value = constant_bits(constant, ty, bits);
            let value = self.constant(value);
            all.push(value);
            if bits == 128 {
                let high = constant.integer().map_or(0, |value| (value >> 64) as u64);
                let high = self.constant(high);
                all.push(high);
            }
            return true;
        }
        match operand.kind() {
            OperandKind::Name => self.name(index, all),
            OperandKind::Sink => {
                all.push(Operand::Sink);
                true
            }
            OperandKind::Vector(parts) => {
                // A packed value is divided between its parts.
                let part = if bits > 64 || parts.len == 0 { bits } else { bits.max(parts.len) };
                parts.range().all(|index| self.flatten_bits(index as u32, ty, part, all))
            }
            OperandKind::List(parts) if parts.len == 1 => self.flatten_bits(parts.start, ty, bits, all),
            OperandKind::Unary(UnaryOperator::Not, parts) => {
                let mut inner = Vec::new();
                self.flatten_bits(parts.start, ty, bits, &mut inner)
                    && match inner.as_slice() {
                        [Operand::Register(register)] => {
                            all.push(Operand::Not(*register));
                            true
                        }
                        _ => false,
                    }
            }
            // `d|p`
            OperandKind::Binary(BinaryOperator::Or, parts) => {
                parts.range().all(|index| self.flatten_bits(index as u32, ty, bits, all))
            }
            OperandKind::Binary(..) | OperandKind::Apply(_) | OperandKind::Cast(..) => {
                let Some(address) = self.sum(index, DEEP) else { return false };
                let Some(operand) = self.folded(address) else { return false };
                all.push(operand);
                true
            }
            OperandKind::Integer
            | OperandKind::Float
            | OperandKind::String
            | OperandKind::Address(_)
            | OperandKind::List(_)
            | OperandKind::Unary(..)
            | OperandKind::Conditional(_)
            | OperandKind::Element(_) => false,
        }
    }

    /// An address without anything to add at run time, if it is one.
    fn folded(&mut self, address: Address) -> Option<Operand> {
        match address {
            Address { base, offset: 0 } => Some(base),
            Address { base: Operand::Constant(index), offset } => {
                let value = self.program.constants[index as usize][0].wrapping_add_signed(offset);
                Some(self.constant(value))
            }
            Address { base: Operand::Local(start), offset } => {
                Some(Operand::Local((i64::from(start) + offset) as u32))
            }
            Address { base: Operand::Fixed(index), offset } => {
                let by = |start: u32| (i64::from(start) + offset) as u32;
                let moved = match self.program.fixed[index as usize] {
                    Fixed::Shared(start) => Fixed::Shared(by(start)),
                    Fixed::DynamicShared(start) => Fixed::DynamicShared(by(start)),
                    Fixed::GenericShared(start) => Fixed::GenericShared(by(start)),
                    Fixed::GenericDynamicShared(start) => Fixed::GenericDynamicShared(by(start)),
                    _ => return None,
                };
                Some(self.fixed(moved))
            }
            _ => None,
        }
    }

    /// What a name stands for.
    fn name(&mut self, index: u32, all: &mut Vec<Operand>) -> bool {
        let operand = self.unit.module.operands[index as usize];
        let text = self.unit.source.slice(operand.span());
        match self.unit.symbols.operand(index) {
            Resolution::Register(id) => {
                let first = self.register(id);
                let (vector, wide) = self.register_parts(id);
                let parts = match text.rsplit_once('.') {
                    Some((_, component)) if vector > 1 => {
                        let component = match component {
                            "x" | "r" => 0,
                            "y" | "g" => 1,
                            "z" | "b" => 2,
                            "w" | "a" => 3,
                            _ => return false,
                        };
                        component * wide..(component + 1) * wide
                    }
                    _ => 0..vector * wide,
                };
                all.extend(parts.map(|part| Operand::Register(first + part)));
                true
            }
            Resolution::Special(special) => match self.special(special) {
                Some(operand) => {
                    all.push(operand);
                    true
                }
                None => false,
            },
            Resolution::Symbol(id) => {
                if let SymbolKind::Function { function } = self.unit.symbols.symbol(id).kind {
                    let Some(address) = self.function_address(function) else { return false };
                    let address = self.constant(address);
                    all.push(address);
                    return true;
                }
                let storage = self.storage(id);
                let Some(place) = self.place(storage, 0, false) else { return false };
                all.push(place);
                true
            }
            Resolution::Undeclared => false,
        }
    }

    /// A special register.
    fn special(&mut self, Special { register, part }: Special) -> Option<Operand> {
        use SpecialRegister as Register;

        let axis = match part {
            Part::Whole | Part::Nth(_) => 0,
            Part::Component(3) => return Some(self.constant(0)),
            Part::Component(axis) => axis,
            Part::None => return None,
        };
        if part == Part::Whole && register.facts().form == Form::Vector {
            return None;
        }
        let fixed = match register {
            Register::Tid => Fixed::Tid(axis),
            Register::Ntid => Fixed::Ntid(axis),
            Register::Ctaid => Fixed::Ctaid(axis),
            Register::Nctaid => Fixed::Nctaid(axis),
            Register::ClusterCtaid => Fixed::ClusterCtaid(axis),
            Register::ClusterNctaid => Fixed::ClusterNctaid(axis),
            Register::Clusterid => Fixed::Clusterid(axis),
            Register::Nclusterid => Fixed::Nclusterid(axis),
            Register::Laneid => Fixed::Laneid,
            Register::Warpid => Fixed::Warpid,
            Register::Nwarpid => Fixed::Nwarpid,
            Register::Smid => Fixed::Smid,
            Register::Nsmid => Fixed::Nsmid,
            Register::LanemaskEq => Fixed::LanemaskEq,
            Register::LanemaskLe => Fixed::LanemaskLe,
            Register::LanemaskLt => Fixed::LanemaskLt,
            Register::LanemaskGe => Fixed::LanemaskGe,
            Register::LanemaskGt => Fixed::LanemaskGt,
            Register::ClusterCtarank => Fixed::ClusterCtarank,
            Register::ClusterNctarank => Fixed::ClusterNctarank,
            Register::IsExplicitCluster => Fixed::IsExplicitCluster,
            Register::DynamicSmemSize => Fixed::DynamicSmemSize,
            Register::TotalSmemSize | Register::AggrSmemSize => Fixed::TotalSmemSize,
            Register::ReservedSmemOffsetBegin
            | Register::ReservedSmemOffsetEnd
            | Register::ReservedSmemOffsetCap => Fixed::ReservedSmem,
            Register::Clock | Register::Clock64 => return Some(Operand::Changing(Changing::Clock)),
            Register::ClockHi => return Some(Operand::Changing(Changing::ClockHigh)),
            Register::Globaltimer => return Some(Operand::Changing(Changing::Timer)),
            Register::GlobaltimerLo => return Some(Operand::Changing(Changing::TimerLow)),
            Register::GlobaltimerHi => return Some(Operand::Changing(Changing::TimerHigh)),
            Register::Gridid | Register::CurrentGraphExec | Register::Envreg => {
                return Some(self.constant(0));
            }
            Register::WarpSz => return Some(self.constant(THREADS_OF_WARP.into())),
            Register::Pm
            | Register::Pm64
            | Register::ReservedSmemOffset
            | Register::LocalityDomainId
            | Register::LocalityDomainSupplementalSm => return None,
        };
        Some(self.fixed(fixed))
    }

    /// One value.
    pub(super) fn value(&mut self, index: u32, ty: Option<Type>) -> Option<Operand> {
        let mut all = Vec::new();
        (self.flatten(index, ty, &mut all) && all.len() == 1).then(|| all[0])
    }

    /// The address that an operand in brackets is.
    pub(super) fn address(&mut self, index: u32) -> Option<Address> {
        let operand = self.unit.module.operands[index as usize];
        match operand.kind() {
            OperandKind::Address(parts) if parts.len > 0 => self.sum(parts.start, DEEP),
            OperandKind::Element(parts) => {
                let base = self.sum(parts.start, DEEP)?;
                let element = match self.unit.symbols.operand(parts.start) {
                    Resolution::Symbol(id) => match self.unit.symbols.symbol(id).kind {
                        SymbolKind::Variable { ty, .. } => ty.and_then(ast::Type::bits)?.div_ceil(8),
                        _ => return None,
                    },
                    _ => return None,
                };
                let by = &self.unit.module.operands[parts.start as usize + 1];
                let by = literal::evaluate(&self.unit.source, &self.unit.module, by)?;
                Some(Address { offset: base.offset + by as i64 * i64::from(element), ..base })
            }
            _ => self.sum(index, DEEP),
        }
    }

    /// A base with a constant added.
    fn sum(&mut self, index: u32, depth: u32) -> Option<Address> {
        let depth = depth.checked_sub(1)?;
        let operand = self.unit.module.operands[index as usize];
        if let Some(value) = literal::evaluate(&self.unit.source, &self.unit.module, &operand) {
            let zero = self.constant(0);
            return Some(Address { base: zero, offset: value as i64 });
        }
        match operand.kind() {
            OperandKind::Name => {
                let mut all = Vec::new();
                (self.name(index, &mut all) && all.len() == 1).then(|| Address { base: all[0], offset: 0 })
            }
            OperandKind::Binary(BinaryOperator::Add, parts) => {
                let (left, right) = (self.sum(parts.start, depth)?, self.sum(parts.start + 1, depth)?);
                let zero = self.constant(0);
                let base = if left.base == zero { right.base } else { left.base };
                (left.base == zero || right.base == zero)
                    .then_some(Address { base, offset: left.offset.wrapping_add(right.offset) })
            }
            OperandKind::Binary(BinaryOperator::Subtract, parts) => {
                let (left, right) = (self.sum(parts.start, depth)?, self.sum(parts.start + 1, depth)?);
                let zero = self.constant(0);
                (right.base == zero)
                    .then_some(Address { base: left.base, offset: left.offset.wrapping_sub(right.offset) })
            }
            OperandKind::List(parts) if parts.len == 1 => self.sum(parts.start, depth),
            OperandKind::Cast(_, parts) => self.sum(parts.start, depth),
            OperandKind::Apply(parts) => {
                let inner = parts.start + 1;
                let Resolution::Symbol(id) = self.unit.symbols.operand(inner) else { return None };
                let storage = self.storage(id);
                let base = self.place(storage, 0, true)?;
                Some(Address { base, offset: 0 })
            }
            _ => None,
        }
    }

    /// The address of a function, which the run will find at its number.
    pub(super) fn function_address(&mut self, function: u32) -> Option<u64> {
        let number = self.function_number(function)?;
        Some(generic(windows::CODE, u64::from(number) << 4))
    }
}
