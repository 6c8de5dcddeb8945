//! What an operand is, whatever it was written as.

use smallvec::SmallVec;

use crate::isa::generic::{Modifier, OperandSlot, Part, Type, TypeRule};
use crate::isa::special_registers::Special;
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution, SymbolId, SymbolKind};
use crate::resolve::unit::Unit;
use crate::syntax::ast::{self, BinaryOperator, OperandKind, UnaryOperator};
use crate::syntax::literal::{self, Constant};

/// One value that an instruction reads, or one place that it writes: 64 bits at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A number, as the bits of its type.
    Constant(u64),
    /// A register, or 64 bits of one: elements of a vector and halves of 128 bits are counted through.
    Register {
        /// Which.
        id: RegisterId,
        /// Which part of it; 0 of all that are not longer than 64 bits.
        part: u8,
    },
    /// The opposite of a predicate: `!%p`.
    Not(RegisterId),
    /// A register of the machine: `%tid.x`.
    Special(Special),
    /// The address of a variable, or a function, with bytes added: `array+8`.
    Symbol {
        /// Which.
        id: SymbolId,
        /// The bytes.
        offset: i64,
        /// Whether the address is generic: `generic(array)`.
        generic: bool,
    },
    /// The carry flag.
    Carry,
    /// Nowhere: `_`.
    Sink,
    /// Something that is not understood.
    Opaque,
}

/// An argument to whoever knows numbers and registers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simple {
    /// A number, as the bits of its type.
    Number(u64),
    /// All of a register.
    Register(RegisterId),
    /// The opposite of a predicate.
    Not(RegisterId),
    /// Something else.
    Other,
}

impl Argument {
    /// The number or the register that it is.
    pub fn simple(self) -> Simple {
        match self {
            Self::Constant(value) => Simple::Number(value),
            Self::Register { id, part: 0 } => Simple::Register(id),
            Self::Not(id) => Simple::Not(id),
            Self::Register { .. }
            | Self::Special(_)
            | Self::Symbol { .. }
            | Self::Carry
            | Self::Sink
            | Self::Opaque => Simple::Other,
        }
    }

    /// The register, if it is all of one.
    pub fn register(self) -> Option<RegisterId> {
        match self {
            Self::Register { id, part: 0 } => Some(id),
            _ => None,
        }
    }
}

/// An argument, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// What it is.
    pub argument: Argument,
    /// The operand of the module that says so: the innermost one, which names the register.
    pub operand: u32,
}

/// All that one operand stands for.
pub type Arguments = SmallVec<[Placed; 4]>;

/// An address: a base, and bytes that are added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// What the bytes are added to; a constant 0 where they are all.
    pub base: Placed,
    /// The bytes.
    pub offset: i64,
}

/// Deeper expressions are no addresses.
const DEEP: u32 = 8;

/// The type of an operand in its position.
pub fn type_of(opcode: &Opcode, slot: &OperandSlot) -> Option<Type> {
    match slot.ty {
        TypeRule::Nth(index) => opcode.types.get(usize::from(index)).copied(),
        TypeRule::Product => {
            let ty = opcode.types.first().copied();
            if opcode.has(Modifier::Part(Part::Wide)) { ty.map(doubled) } else { ty }
        }
        TypeRule::Fixed(ty) | TypeRule::Integer(ty) => Some(ty),
        TypeRule::Pointer | TypeRule::Fragment | TypeRule::Any => None,
    }
}

/// The type of a product that has all of its bits.
fn doubled(ty: Type) -> Type {
    match ty {
        Type::U16 => Type::U32,
        Type::S16 => Type::S32,
        Type::U32 => Type::U64,
        Type::S32 => Type::S64,
        // No others have such a product.
        other => other,
    }
}

/// Appends what an operand stands for: one value, the elements of a vector, the two places of `d|p`.
pub fn flatten(unit: &Unit, operand: u32, ty: Option<Type>, all: &mut Arguments) {
    let bits = match ty {
        Some(Type::Pred) => 1,
        Some(ty) => ty.bits().unwrap_or(64),
        None => 64,
    };
    flatten_bits(unit, operand, ty, bits, all);
}

/// Appends what the operand in a position of an instruction stands for.
pub(crate) fn flatten_slot(
    unit: &Unit,
    opcode: &Opcode,
    slot: &OperandSlot,
    operand: u32,
    all: &mut Arguments,
) {
    // Nearly all are names of registers, which have a type of their own.
    if unit.module.operands[operand as usize].is_name() {
        name(unit, operand, all);
    } else {
        flatten(unit, operand, type_of(opcode, slot), all);
    }
}

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

fn flatten_bits(unit: &Unit, index: u32, ty: Option<Type>, bits: u32, all: &mut Arguments) {
    let operand = &unit.module.operands[index as usize];
    let kind = operand.kind();
    if kind == OperandKind::Name {
        return name(unit, index, all);
    }
    let mut push = |argument| all.push(Placed { argument, operand: index });
    if let Some(constant) = literal::constant(&unit.source, &unit.module, operand) {
        push(Argument::Constant(constant_bits(constant, ty, bits)));
        if bits == 128 {
            let high = constant.integer().map_or(0, |value| (value >> 64) as u64);
            push(Argument::Constant(high));
        }
        return;
    }
    match kind {
        OperandKind::Sink => push(Argument::Sink),
        // Of a packed value, each part has fewer bits than that: who computes with it cuts it.
        OperandKind::Vector(parts) => {
            for index in parts.range() {
                flatten_bits(unit, index as u32, ty, bits, all);
            }
        }
        OperandKind::List(parts) if parts.len == 1 => flatten_bits(unit, parts.start, ty, bits, all),
        OperandKind::Unary(UnaryOperator::Not, parts) => {
            let mut inner = Arguments::new();
            flatten_bits(unit, parts.start, ty, bits, &mut inner);
            match inner[..] {
                [Placed { argument: Argument::Register { id, part: 0 }, operand }] => {
                    all.push(Placed { argument: Argument::Not(id), operand });
                }
                _ => push(Argument::Opaque),
            }
        }
        // `d|p`
        OperandKind::Binary(BinaryOperator::Or, parts) => {
            for index in parts.range() {
                flatten_bits(unit, index as u32, ty, bits, all);
            }
        }
        OperandKind::Binary(..) | OperandKind::Apply(_) | OperandKind::Cast(..) => {
            let argument = match sum(unit, index, DEEP) {
                Some(Address { base, offset: 0 }) => base.argument,
                Some(Address { base: Placed { argument: Argument::Constant(value), .. }, offset }) => {
                    Argument::Constant(value.wrapping_add_signed(offset))
                }
                Some(Address {
                    base: Placed { argument: Argument::Symbol { id, offset, generic }, .. },
                    offset: by,
                }) => Argument::Symbol { id, offset: offset.wrapping_add(by), generic },
                Some(_) | None => Argument::Opaque,
            };
            push(argument);
        }
        OperandKind::Name
        | OperandKind::Integer
        | OperandKind::Float
        | OperandKind::String
        | OperandKind::Address(_)
        | OperandKind::List(_)
        | OperandKind::Unary(..)
        | OperandKind::Conditional(_)
        | OperandKind::Element(_) => push(Argument::Opaque),
    }
}

/// What a name stands for.
fn name(unit: &Unit, index: u32, all: &mut Arguments) {
    let mut push = |argument| all.push(Placed { argument, operand: index });
    match unit.symbols.operand(index) {
        Resolution::Register(id) => {
            let (vector, wide) = parts(unit, id);
            if vector * wide == 1 {
                return push(Argument::Register { id, part: 0 });
            }
            let text = unit.source.slice(unit.module.operands[index as usize].span());
            let component = text.rsplit_once('.').filter(|_| vector > 1).map(|(_, component)| component);
            let parts = match component {
                None => 0..vector * wide,
                Some("x" | "r") => 0..wide,
                Some("y" | "g") => wide..2 * wide,
                Some("z" | "b") => 2 * wide..3 * wide,
                Some("w" | "a") => 3 * wide..4 * wide,
                Some(_) => return push(Argument::Opaque),
            };
            for part in parts {
                push(Argument::Register { id, part });
            }
        }
        Resolution::Special(special) => push(Argument::Special(special)),
        Resolution::Symbol(id) => push(Argument::Symbol { id, offset: 0, generic: false }),
        // `WARP_SZ` is a constant that has a name.
        Resolution::Undeclared => {
            let operand = &unit.module.operands[index as usize];
            let constant = literal::constant(&unit.source, &unit.module, operand);
            push(constant.map_or(Argument::Opaque, |it| Argument::Constant(it.bits())));
        }
    }
}

/// How many elements a register has, and how many times 64 bits each has.
pub fn parts(unit: &Unit, id: RegisterId) -> (u8, u8) {
    match unit.symbols.register(id).kind {
        SymbolKind::Register { ty, vector, .. } => {
            (vector.max(1), if ty == Some(ast::Type::B128) { 2 } else { 1 })
        }
        _ => (1, 1),
    }
}

/// Bits of the register that an operand names, or of the first of several; at most 64.
pub fn bits_of_register(unit: &Unit, index: u32) -> u32 {
    let index = match unit.module.operands[index as usize].kind() {
        OperandKind::Vector(parts) => parts.start,
        _ => index,
    };
    match unit.symbols.operand(index) {
        Resolution::Register(id) => match unit.symbols.register(id).kind {
            SymbolKind::Register { ty: Some(ast::Type::Pred), .. } => 1,
            SymbolKind::Register { ty: Some(ty), .. } => ty.bits().unwrap_or(1).min(64),
            _ => 64,
        },
        _ => 64,
    }
}

/// The address that an operand in brackets is.
pub fn address(unit: &Unit, index: u32) -> Option<Address> {
    match unit.module.operands[index as usize].kind() {
        OperandKind::Address(parts) if parts.len > 0 => sum(unit, parts.start, DEEP),
        // `array[2]`
        OperandKind::Element(parts) => {
            let base = sum(unit, parts.start, DEEP)?;
            let Resolution::Symbol(id) = unit.symbols.operand(parts.start) else { return None };
            let SymbolKind::Variable { ty, .. } = unit.symbols.symbol(id).kind else { return None };
            let element = ty.and_then(ast::Type::bits)?.div_ceil(8);
            let by = &unit.module.operands[parts.start as usize + 1];
            let by = literal::evaluate(&unit.source, &unit.module, by)?;
            Some(Address {
                offset: base.offset.wrapping_add((by as i64).wrapping_mul(element.into())),
                ..base
            })
        }
        _ => sum(unit, index, DEEP),
    }
}

/// A base with a constant added.
fn sum(unit: &Unit, index: u32, depth: u32) -> Option<Address> {
    let depth = depth.checked_sub(1)?;
    let operand = &unit.module.operands[index as usize];
    let zero = Placed { argument: Argument::Constant(0), operand: index };
    if let Some(value) = literal::evaluate(&unit.source, &unit.module, operand) {
        return Some(Address { base: zero, offset: value as i64 });
    }
    let is_zero = |placed: Placed| placed.argument == Argument::Constant(0);
    match operand.kind() {
        OperandKind::Name => {
            let mut all = Arguments::new();
            name(unit, index, &mut all);
            match all[..] {
                [base] if base.argument != Argument::Opaque => Some(Address { base, offset: 0 }),
                _ => None,
            }
        }
        OperandKind::Binary(BinaryOperator::Add, parts) => {
            let (left, right) = (sum(unit, parts.start, depth)?, sum(unit, parts.start + 1, depth)?);
            let base = if is_zero(left.base) { right.base } else { left.base };
            (is_zero(left.base) || is_zero(right.base))
                .then_some(Address { base, offset: left.offset.wrapping_add(right.offset) })
        }
        OperandKind::Binary(BinaryOperator::Subtract, parts) => {
            let (left, right) = (sum(unit, parts.start, depth)?, sum(unit, parts.start + 1, depth)?);
            is_zero(right.base)
                .then_some(Address { base: left.base, offset: left.offset.wrapping_sub(right.offset) })
        }
        OperandKind::List(parts) if parts.len == 1 => sum(unit, parts.start, depth),
        OperandKind::Cast(_, parts) => sum(unit, parts.start, depth),
        // `generic(array)`
        OperandKind::Apply(parts) => {
            let Resolution::Symbol(id) = unit.symbols.operand(parts.start + 1) else { return None };
            let argument = Argument::Symbol { id, offset: 0, generic: true };
            Some(Address { base: Placed { argument, operand: parts.start + 1 }, offset: 0 })
        }
        _ => None,
    }
}
