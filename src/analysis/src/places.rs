//! Addresses as what they are made of: a root and a constant offset.
//!
//! The address of an accumulator is nearly always the word that `alloc` wrote to a slot in shared
//! memory, plus something. Two addresses with the same root can be compared, as far as their
//! offsets are known; of others nothing is said. An address that may be several things is opaque:
//! its root is the register that holds it, which means the same only until it is written again.

use std::cell::RefCell;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::arguments::Parameter;
use super::constants::{Constants, Known};
use super::definitions::DefinitionId;
use super::flow::Flow;
use super::function::Function;
use super::ranges::{Base, Numbers, Ranges};
use crate::isa::generic::{Arithmetic, Computation, Flag, Modifier, Operation, Space};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution, SymbolId, SymbolKind};
use crate::syntax::ast::{BinaryOperator, Operand, OperandKind, RawInstruction, StateSpace};
use crate::syntax::literal;

/// What an address is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// Nothing: the offset is the address.
    Literal,
    /// A variable in memory.
    Variable(SymbolId),
    /// The word in shared memory at this place, as `alloc` left it.
    Slot(Slot),
    /// What a function is given by those that call it.
    Parameter(Parameter),
    /// Whatever a register holds.
    Register(RegisterId),
}

/// A word in shared memory: where an allocation is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// What its address is counted from.
    pub root: SlotRoot,
    /// The bytes from there on.
    pub offset: u64,
}

/// What the address of a slot is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotRoot {
    /// The start of shared memory.
    Literal,
    /// A variable.
    Variable(SymbolId),
    /// What a function is given by those that call it.
    Parameter(Parameter),
    /// Whatever a register holds.
    Register(RegisterId),
}

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// What it is counted from.
    pub root: Root,
    /// The known bits of what is added.
    pub offset: Known,
    /// What is added is one of these numbers, lanes aside; where more is known than the bits say.
    numbers: Option<Numbers>,
    /// The instruction that loaded the slot.
    pub load: Option<u32>,
}

impl Place {
    fn new(root: Root, offset: Known, load: Option<u32>) -> Self {
        Self { root, offset, numbers: None, load }
    }

    fn opaque(register: RegisterId) -> Self {
        Self::new(Root::Register(register), Known::from(0u64), None)
    }

    /// An address that is a number.
    pub fn literal(value: u64) -> Self {
        Self::new(Root::Literal, Known::from(value), None)
    }

    /// The word that a slot holds.
    pub fn of_slot(slot: Slot, load: Option<u32>) -> Self {
        Self::new(Root::Slot(slot), Known::from(0u64), load)
    }

    /// The place that is so far behind it.
    #[must_use]
    pub fn plus(self, by: Known) -> Self {
        let column = || by.constant(16).map(|column| i64::from((column as u16).cast_signed()));
        let number = match self.root {
            // Lanes do not count.
            Root::Slot(_) => column(),
            Root::Literal | Root::Variable(_) | Root::Parameter(_) | Root::Register(_) => {
                by.constant(32).map(|by| i64::from((by as u32).cast_signed()))
            }
        };
        let numbers = self.numbers.zip(number).map(|(numbers, by)| numbers.plus(Numbers::from(by)));
        Self { offset: self.offset.sum(by), numbers, ..self }
    }

    /// The bytes from the root on that it can be, in shared memory, as far as that is known.
    pub fn bytes(&self) -> Option<Numbers> {
        let Known { mask, value } = self.offset;
        let ends = (value & mask & u64::from(u32::MAX), (value | !mask) & u64::from(u32::MAX));
        // The lowest bits that are known are the same in all of them.
        let unit = mask.trailing_ones().min(u64::BITS / 2);
        let units = Numbers::between(0, ((ends.1 - ends.0) >> unit).cast_signed());
        let by_bits = units.times(1 << unit).plus(Numbers::from(ends.0.cast_signed()));
        let is_some = ends != (0, u64::from(u32::MAX));
        self.numbers.or_else(|| is_some.then_some(by_bits))
    }

    /// The place that lies as far behind this one as `inner` behind its root.
    #[must_use]
    pub fn followed_by(self, inner: &Self) -> Self {
        let sum = self.plus(inner.offset);
        // What is known of the number only the other way around.
        let column = self.offset.constant(16).map(|column| i64::from((column as u16).cast_signed()));
        let numbers = inner.numbers.zip(column).map(|(numbers, by)| numbers.plus(Numbers::from(by)));
        Self { numbers: sum.numbers.or(numbers), ..sum }
    }

    /// The slot that it was loaded from.
    pub fn slot(&self) -> Option<Slot> {
        match self.root {
            Root::Slot(slot) => Some(slot),
            _ => None,
        }
    }

    /// The number that it is, where it is counted from nothing.
    pub fn number(&self) -> Option<u64> {
        (self.root == Root::Literal).then(|| self.offset.constant(32)).flatten()
    }

    /// The column of Tensor Memory, counted from the root.
    pub fn column(&self) -> Option<u32> {
        self.offset.constant(16).map(|column| column as u32)
    }

    /// The least column that it can be and the largest, by the bits that are known.
    pub fn columns_between(&self) -> (u32, u32) {
        const COLUMN: u64 = 0xffff;
        let Known { mask, value } = self.offset;
        let (first, last) = ((value & mask & COLUMN) as u32, ((value | !mask) & COLUMN) as u32);
        let Some(numbers) = self.numbers else { return (first, last) };
        // What counts backwards comes out at the other end.
        let Some(least) = numbers.first().and_then(|it| u32::try_from(it).ok()) else { return (first, last) };
        let most = numbers.last().and_then(|it| u32::try_from(it).ok()).unwrap_or(last);
        (first.max(least), last.min(most).max(least))
    }

    /// This place as that of a word in shared memory.
    pub fn as_slot(&self) -> Option<Slot> {
        let root = match self.root {
            Root::Literal => SlotRoot::Literal,
            Root::Variable(variable) => SlotRoot::Variable(variable),
            Root::Parameter(parameter) => SlotRoot::Parameter(parameter),
            Root::Register(register) => SlotRoot::Register(register),
            Root::Slot(_) => return None,
        };
        // Shared addresses have 32 bits, however wide the register is.
        Some(Slot { root, offset: self.offset.constant(32)? })
    }
}

/// What definitions give registers, by whether words that were loaded are places there, as far as it
/// was asked for.
pub type KnownPlaces = FxHashMap<(DefinitionId, Loads), Place>;

/// Whether a word that was loaded is a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loads {
    /// It is, if it comes from a slot.
    Count,
    /// It is not: nothing is said about slots whose address lies in a slot.
    AreOpaque,
}

/// More columns than Tensor Memory has.
const TOO_MANY: u64 = 512;

/// Finds the places of one function.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// The function.
    pub function: Function<'a>,
    /// What is known of its registers.
    pub constants: &'a Constants,
    /// Which numbers they can hold.
    pub ranges: &'a Ranges,
    /// The places that are known already.
    pub known: &'a RefCell<KnownPlaces>,
    /// The function with those that it calls, if it calls some.
    pub calling: Option<Flow<'a>>,
}

impl Places<'_> {
    /// What `register` holds where `instruction` reads it.
    pub fn of(&self, instruction: u32, register: RegisterId) -> Place {
        self.with(instruction, register, Loads::Count)
    }

    fn with(&self, instruction: u32, register: RegisterId, loads: Loads) -> Place {
        let view = &self.function;
        let mut at = instruction;
        let mut register = register;
        // Definitions on the way, each with what it adds to what it reads.
        let mut path: SmallVec<[(DefinitionId, Known); 8]> = SmallVec::new();
        // A chain that is longer comes back to itself.
        let mut place = loop {
            let Some(only) = view.only(at, register) else {
                break self.given(register).unwrap_or_else(|| self.counted(at, register, loads));
            };
            let instruction = view.definitions.get(only).instruction;
            if instruction == at || path.len() > view.definitions.len() {
                // It is made of itself alone: nothing gave it a first value.
                break Place::opaque(view.definitions.get(only).register);
            }
            if let Some(known) = self.known.borrow().get(&(only, loads)) {
                break *known;
            }
            if !view.budget.take(1) {
                return Place::opaque(register);
            }
            match self.made(at, register, only, loads) {
                Ok(place) => {
                    self.known.borrow_mut().insert((only, loads), place);
                    break place;
                }
                Err((next, more)) => {
                    path.push((only, more));
                    (at, register) = (instruction, next);
                }
            }
        };
        while let Some((definition, more)) = path.pop() {
            place = place.plus(more);
            self.known.borrow_mut().insert((definition, loads), place);
        }
        place
    }

    /// What a definition makes of a register, as `instruction` reads it: a place, or another register
    /// and what is added to it.
    fn made(
        &self,
        instruction: u32,
        register: RegisterId,
        definition: DefinitionId,
        loads: Loads,
    ) -> Result<Place, (RegisterId, Known)> {
        let view = &self.function;
        let definition = view.definitions.get(definition);
        // What it holds may have come through memory.
        let own = definition.register;
        let raw = &view.unit.module.instructions[definition.instruction as usize];
        if let Some(result) = self.calling.and_then(|flow| flow.result_in_register(definition.operand)) {
            return Ok(result);
        }
        if let Some(place) = self.element(definition.instruction, raw, definition.operand, loads) {
            return Ok(place);
        }
        // Another destination than the first, such as one half of an unpacked word.
        if definition.operand != raw.operands.start && !self.is_pair(raw, definition.operand) {
            return Ok(Place::opaque(own));
        }
        match self.step(definition.instruction, raw, loads) {
            Next::Register(next, more) => Err((next, more)),
            Next::Root(root, offset, load) => Ok(Place::new(root, offset, load)),
            Next::Place(place) => Ok(place),
            Next::Opaque => {
                // A column that is computed is a literal all the same.
                let offset = self.constants.at(view, instruction, register);
                Ok(if offset.constant(16).is_some() {
                    Place::new(Root::Literal, offset, None)
                } else {
                    self.counted(instruction, register, loads)
                })
            }
        }
    }

    /// What a register holds, if that is one of several places with the same root.
    fn counted(&self, instruction: u32, register: RegisterId, loads: Loads) -> Place {
        /// Bits of a column.
        const COLUMN: u32 = 16;
        let view = &self.function;
        let found = self.ranges.at(view, instruction, register);
        let own = view.only(instruction, register).map(|id| view.definitions.get(id).register);
        let opaque = Place::opaque(own.unwrap_or(register));
        let start = match found.base {
            Base::Variable(variable) if !found.lanes => {
                Place::new(Root::Variable(variable), Known::from(0u64), None)
            }
            Base::Made(id) => {
                let made = view.definitions.get(id).instruction;
                let raw = &view.unit.module.instructions[made as usize];
                let computes = view.unit.operations.of(made).computes();
                if computes == Computation::And {
                    // A variable that is rounded up.
                    let base = view.definitions.get(id).register;
                    if found.lanes || view.definitions.of(base).len() != 1 {
                        return opaque;
                    }
                    let offset = found.numbers.bits(32);
                    return Place { offset, numbers: Some(found.numbers), ..Place::opaque(base) };
                }
                let element = self.element(made, raw, view.definitions.get(id).operand, loads);
                if element.is_none() && computes != Computation::Load {
                    return opaque;
                }
                match element.map_or_else(|| self.step(made, raw, loads), Next::Place) {
                    Next::Root(root, offset, load) => Place::new(root, offset, load),
                    // Of what a call gives back, only the start counts.
                    Next::Place(place) if place.numbers.is_none() => place,
                    Next::Place(_) | Next::Register(..) | Next::Opaque => return opaque,
                }
            }
            Base::Nothing | Base::Variable(_) | Base::Unknown => return opaque,
        };
        let offset = found.numbers.bits(if found.lanes { COLUMN } else { 32 });
        let numbers = match start.root {
            Root::Slot(_) => found.numbers.columns(),
            Root::Literal | Root::Variable(_) | Root::Parameter(_) | Root::Register(_) => Some(found.numbers),
        };
        let behind = Place { offset, numbers, ..start };
        if start.offset == Known::from(0u64) { behind } else { behind.plus(start.offset) }
    }

    /// One of several words that are loaded at once: by a vector, or as a word of 64 bits that is unpacked.
    fn element(&self, instruction: u32, raw: &RawInstruction, operand: u32, loads: Loads) -> Option<Place> {
        let view = &self.function;
        let module = &view.unit.module;
        let OperandKind::Vector(parts) = module.operands(raw.operands).first()?.kind() else { return None };
        let at = u64::from(operand.checked_sub(parts.start).filter(|at| *at < parts.len)?);
        let opcode = view.unit.operations.of(instruction);
        let start = match opcode.computes() {
            Computation::Load if loads == Loads::Count => {
                let is_words = matches!(opcode.types[..], [ty] if ty.bits() == Some(32));
                let start = is_words.then(|| self.loaded(instruction, raw, opcode)).flatten()?;
                Slot { offset: start.offset.wrapping_add(at * 4), ..start }
            }
            // `mov.b64 {low, high}, loaded`
            Computation::Move if parts.len == 2 && raw.operands.len == 2 => {
                let Resolution::Register(register) = view.unit.symbols.operand(raw.operands.start + 1) else {
                    return None;
                };
                let from = view.only(instruction, register)?;
                let load = view.definitions.get(from).instruction;
                let loaded = &module.instructions[load as usize];
                let from = view.unit.operations.of(load);
                let is_pair = from.computes() == Computation::Load
                    && matches!(from.types[..], [ty] if ty.bits() == Some(64))
                    && !from.modifiers.iter().any(|it| matches!(it.modifier, Modifier::Vector(_)))
                    && loads == Loads::Count;
                let start = is_pair.then(|| self.loaded(load, loaded, from)).flatten()?;
                let slot = Slot { offset: start.offset.wrapping_add(at * 4), ..start };
                return Some(Place::new(Root::Slot(slot), Known::from(0u64), Some(load)));
            }
            _ => return None,
        };
        Some(Place::new(Root::Slot(start), Known::from(0u64), Some(instruction)))
    }

    /// Whether `operand` is the `d` of `d|p`.
    fn is_pair(&self, raw: &RawInstruction, operand: u32) -> bool {
        let first = self.function.unit.module.operands(raw.operands).first();
        matches!(first.map(Operand::kind), Some(OperandKind::Binary(_, parts)) if parts.start == operand)
    }

    /// What an instruction makes its destination of.
    fn step(&self, instruction: u32, raw: &RawInstruction, loads: Loads) -> Next {
        let view = &self.function;
        let opcode = view.unit.operations.of(instruction);
        match opcode.computes() {
            Computation::Move | Computation::Shuffle => self.value(instruction, raw.operands.start + 1),
            // A change of width or between address windows; nothing that has a sign is an address.
            Computation::Convert | Computation::ConvertAddress
                if !opcode.has_flag(Flag::Sat) && !opcode.types.iter().any(|ty| ty.is_float()) =>
            {
                self.value(instruction, raw.operands.start + 1)
            }
            Computation::Arithmetic(Arithmetic::Add) | Computation::Or if raw.operands.len == 3 => {
                self.sum(instruction, raw, opcode.computes() == Computation::Or)
            }
            Computation::Arithmetic(Arithmetic::Subtract) if raw.operands.len == 3 => {
                match self.value(instruction, raw.operands.start + 2) {
                    Next::Root(Root::Literal, by, None) if by.constant(32).is_some() => {
                        self.value(instruction, raw.operands.start + 1).plus(by.negated())
                    }
                    _ => Next::Opaque,
                }
            }
            Computation::Load => self.load(instruction, raw, opcode, loads),
            Computation::Other
            | Computation::Convert
            | Computation::ConvertAddress
            | Computation::And
            | Computation::Or
            | Computation::Xor
            | Computation::Not
            | Computation::Bits(_)
            | Computation::Arithmetic(_)
            | Computation::Select
            | Computation::Compare
            | Computation::Elect => Next::Opaque,
        }
    }

    /// What a load of one value reads, if that is a slot in shared memory.
    fn load(&self, instruction: u32, raw: &RawInstruction, opcode: &Opcode, loads: Loads) -> Next {
        let spaces_of_parameters = [Space::Param, Space::ParamFunc];
        if opcode.spaces().next().is_some_and(|space| spaces_of_parameters.contains(&space)) {
            return self.loaded_parameter(instruction, raw, opcode);
        }
        let is_vector = opcode.modifiers.iter().any(|it| matches!(it.modifier, Modifier::Vector(_)));
        let is_word = !is_vector && loads == Loads::Count;
        match if is_word { self.loaded(instruction, raw, opcode) } else { None } {
            Some(slot) => Next::Root(Root::Slot(slot), Known::from(0u64), Some(instruction)),
            None => Next::Opaque,
        }
    }

    /// The word in shared memory where a load begins.
    fn loaded(&self, instruction: u32, raw: &RawInstruction, opcode: &Opcode) -> Option<Slot> {
        let space = opcode.spaces().next();
        if raw.operands.len < 2 || space.is_some_and(|space| !space.is_shared()) {
            return None;
        }
        let place = self.address_with(instruction, raw.operands.start + 1, Loads::AreOpaque)?;
        if space.is_some() || self.is_shared(&place) { place.as_slot() } else { None }
    }

    /// What a register holds that is a parameter, where nothing in the function writes it.
    fn given(&self, register: RegisterId) -> Option<Place> {
        let view = &self.function;
        if !view.definitions.of(register).is_empty() {
            return None;
        }
        let position = view.parameter(view.unit.symbols.register(register))?;
        Some(Place::new(Root::Parameter(Parameter { position, byte: 0 }), Known::from(0u64), None))
    }

    /// What a function loads of what it is given.
    fn loaded_parameter(&self, instruction: u32, raw: &RawInstruction, opcode: &Opcode) -> Next {
        let view = &self.function;
        let is_word = matches!(opcode.types[..], [ty] if matches!(ty.bits(), Some(32 | 64)));
        let is_vector = opcode.modifiers.iter().any(|it| matches!(it.modifier, Modifier::Vector(_)));
        if !is_word || is_vector || raw.operands.len != 2 {
            return Next::Opaque;
        }
        let place = self.address_with(instruction, raw.operands.start + 1, Loads::AreOpaque);
        let passed = place.and_then(|place| {
            let Root::Variable(variable) = place.root else { return None };
            Some((variable, u16::try_from(place.offset.constant(32)?).ok()?))
        });
        let Some((variable, byte)) = passed else { return Next::Opaque };
        if let Some(position) = view.parameter(view.unit.symbols.symbol(variable)) {
            let parameter = Parameter { position, byte };
            return Next::Root(Root::Parameter(parameter), Known::from(0u64), None);
        }
        match self.calling.and_then(|flow| flow.result_in_variable(variable, byte)) {
            Some(result) => Next::Place(result),
            None => Next::Opaque,
        }
    }

    fn is_shared(&self, place: &Place) -> bool {
        match place.root {
            Root::Variable(variable) => matches!(
                self.function.unit.symbols.symbol(variable).kind,
                SymbolKind::Variable { space: StateSpace::Shared, .. }
            ),
            _ => false,
        }
    }

    /// The place that `[...]` names in an instruction of any kind.
    pub fn address(&self, instruction: u32, operand: u32) -> Option<Place> {
        self.address_with(instruction, operand, Loads::Count)
    }

    /// The same, in whichever CTA of the cluster the address is: what `mapa` makes of one counts as that one, and
    /// so does what is left of it where the bits are cleared that say which CTA of a pair it is in.
    pub fn address_in_cluster(&self, instruction: u32, operand: u32) -> Option<Place> {
        let (base, by) = self.parts_of_address(operand)?;
        match self.function.unit.symbols.operand(base) {
            Resolution::Register(register) => Some(self.in_cluster(instruction, register)?.plus(by)),
            Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => None,
        }
    }

    fn in_cluster(&self, instruction: u32, register: RegisterId) -> Option<Place> {
        /// Longer chains are not followed.
        const DEEP: usize = 8;
        /// Where the number of the CTA begins in an address of a cluster.
        const WINDOW: u32 = 24;
        let view = &self.function;
        let (mut at, mut register, mut sum) = (instruction, register, Known::from(0u64));
        for _ in 0..DEEP {
            let definition = *view.definitions.get(view.only(at, register)?);
            let made = definition.instruction;
            let raw = &view.unit.module.instructions[made as usize];
            let opcode = view.unit.operations.of(made);
            if definition.guarded || definition.operand != raw.operands.start || made == at {
                return None;
            }
            let number = |position: u32| {
                let operand = view.unit.module.operands.get((raw.operands.start + position) as usize)?;
                literal::evaluate(&view.unit.source, &view.unit.module, operand)
            };
            let next = self.value(made, raw.operands.start + 1);
            let is_here = match opcode.computes() {
                Computation::And => {
                    let below = (1 << WINDOW) - 1;
                    number(2).filter(|mask| mask & below == below)?;
                    true
                }
                Computation::Arithmetic(Arithmetic::Add) if raw.operands.len == 3 => {
                    sum = sum.sum(Known::from((number(2)? & i128::from(u64::MAX)) as u64));
                    false
                }
                Computation::Move | Computation::Convert | Computation::ConvertAddress => false,
                _ if opcode.operation() == Some(Operation::Mapa) => true,
                _ => return None,
            };
            match next {
                Next::Register(next, by) if is_here => {
                    let place = self.of(made, next).plus(by).plus(sum);
                    if matches!(place.root, Root::Variable(_)) {
                        return Some(place);
                    }
                    (at, register, sum) = (made, next, sum.sum(by));
                }
                Next::Register(next, by) => (at, register, sum) = (made, next, sum.sum(by)),
                Next::Root(root, offset, load) if is_here => {
                    return Some(Place::new(root, offset, load).plus(sum));
                }
                Next::Root(..) | Next::Place(_) | Next::Opaque => return None,
            }
        }
        None
    }

    /// The operand that an address is counted from, and what is added.
    fn parts_of_address(&self, operand: u32) -> Option<(u32, Known)> {
        let module = &self.function.unit.module;
        let OperandKind::Address(parts) = module.operands[operand as usize].kind() else { return None };
        if parts.len != 1 {
            return None;
        }
        let inner = &module.operands[parts.start as usize];
        let (base, offset) = match inner.kind() {
            OperandKind::Binary(BinaryOperator::Add, sum) if sum.len == 2 => {
                let right = &module.operands[sum.start as usize + 1];
                (sum.start, literal::evaluate(&self.function.unit.source, module, right)?)
            }
            _ => (parts.start, 0),
        };
        Some((base, Known::from((offset & i128::from(u64::MAX)) as u64)))
    }

    fn address_with(&self, instruction: u32, operand: u32, loads: Loads) -> Option<Place> {
        let (base, by) = self.parts_of_address(operand)?;
        match self.value(instruction, base).plus(by) {
            Next::Register(register, by) => {
                let place = self.with(instruction, register, loads);
                Some(place.plus(by))
            }
            Next::Root(root, offset, load) => Some(Place::new(root, offset, load)),
            Next::Place(place) => Some(place),
            Next::Opaque => None,
        }
    }

    /// A plain operand.
    fn value(&self, _: u32, operand: u32) -> Next {
        let view = &self.function;
        let Some(found) = view.unit.module.operands.get(operand as usize) else { return Next::Opaque };
        if let Some(value) = literal::evaluate(&view.unit.source, &view.unit.module, found) {
            return Next::Root(Root::Literal, Known::from((value & i128::from(u64::MAX)) as u64), None);
        }
        // `variable+8`
        let (operand, by) = match found.kind() {
            OperandKind::Name => (operand, 0),
            OperandKind::Binary(BinaryOperator::Add, sum) if sum.len == 2 => {
                let by = &view.unit.module.operands[sum.start as usize + 1];
                match literal::evaluate(&view.unit.source, &view.unit.module, by) {
                    Some(by) => (sum.start, by),
                    None => return Next::Opaque,
                }
            }
            _ => return Next::Opaque,
        };
        let by = Known::from((by & i128::from(u64::MAX)) as u64);
        match view.unit.symbols.operand(operand) {
            Resolution::Register(register) => Next::Register(register, by),
            Resolution::Symbol(symbol)
                if matches!(view.unit.symbols.symbol(symbol).kind, SymbolKind::Variable { .. }) =>
            {
                Next::Root(Root::Variable(symbol), by, None)
            }
            _ => Next::Opaque,
        }
    }

    /// `a + b`, or `a | b` where that is the same.
    fn sum(&self, instruction: u32, raw: &RawInstruction, or: bool) -> Next {
        let known = |position: u32| {
            let operand = raw.operands.start + position;
            match self.value(instruction, operand) {
                Next::Root(Root::Literal, by, None) => by,
                Next::Register(register, _) => self.constants.at(&self.function, instruction, register),
                _ => Known::new(0, 0),
            }
        };
        for (base, by) in [(1, 2), (2, 1)] {
            let by = known(by);
            // A lane may be unknown, and a column as long as it cannot be more than there are.
            if by.constant(16).is_none() && (or || (by.value | !by.mask) & 0xffff >= TOO_MANY) {
                continue;
            }
            // `alloc` gives columns in units of 32, and its lane is 0; nothing else is known of
            // what is joined with `or`.
            if or && by.constant(16).is_some_and(|column| column >= 32) {
                continue;
            }
            let next = self.value(instruction, raw.operands.start + base).plus(by);
            if !matches!(next, Next::Opaque) {
                return next;
            }
        }
        Next::Opaque
    }
}

/// What a definition makes its register of.
enum Next {
    Register(RegisterId, Known),
    Root(Root, Known, Option<u32>),
    /// What a call gives back.
    Place(Place),
    Opaque,
}

impl Next {
    fn plus(self, by: Known) -> Self {
        match self {
            Self::Register(register, offset) => Self::Register(register, offset.sum(by)),
            Self::Root(root, offset, load) => Self::Root(root, offset.sum(by), load),
            Self::Place(place) => Self::Place(place.plus(by)),
            Self::Opaque => Self::Opaque,
        }
    }
}
