//! Operands outside tcgen05 that do not fit their positions.
//!
//! Nearly all fit, and a module has millions: so all that can be wrong with one is looked for in one walk, and what
//! a position takes is worked out once for each distinct opcode. Rules say what is wrong.

use smallvec::SmallVec;

use super::operations::{Misfit, Opcode, looks_like};
use super::unit::Unit;
use crate::isa::generic::{
    Class, Classes, Form, Interpretation, Numbers, OperandSlot, Operation, Pair, Role, Type, Wanted,
};
use crate::source::Span;
use crate::symbols::{Resolution, SymbolKind};
use crate::syntax::ast::{
    BinaryOperator, Operand, OperandKind, Slice, StateSpace, StatementKind, UnaryOperator,
};
use crate::syntax::literal::evaluate;

/// An operand that does not fit, or a guard.
#[derive(Clone, Copy, Debug)]
pub struct Misplaced {
    /// The instruction.
    pub instruction: u32,
    /// What is wrong.
    pub wrong: Wrong,
}

/// What is wrong with an operand.
#[derive(Clone, Copy, Debug)]
pub enum Wrong {
    /// There are too many or too few, or one does not look as it should.
    Looks(Misfit, Option<&'static OperandSlot>),
    /// It guards an instruction and is no predicate.
    Guard(Class),
    /// Something of another class is wanted.
    Class(Place, Class),
    /// An immediate is wanted.
    NoImmediate(Place),
    /// A number is not among those that may be written.
    Number(Place, i128),
    /// A vector has another number of elements than it should.
    Count(Place, u16, u32),
    /// One register stands where a vector is wanted.
    NoVector(Place, u16),
    /// Two elements of a vector do not go together.
    Mixed(Place, u32),
    /// A variable lives in another state space than the instruction names.
    Space(Place, StateSpace),
    /// One result stands where a second one, a predicate, is written, too.
    NoPair(Place),
    /// `_` stands where a value is read, or where the result cannot be left out.
    Sink(Place),
    /// `-r`, `[r-4]`, `[r+s]`: something computed of what is known only when the instruction is executed.
    Computed(Place),
}

/// Where something stands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its index among all operands.
    pub operand: u32,
    /// The position.
    pub slot: &'static OperandSlot,
    /// What it takes.
    pub wanted: Wanted,
    /// Whether it stands in braces.
    pub is_within: bool,
}

impl Place {
    /// The classes that may stand there.
    pub fn classes(&self) -> Classes {
        if self.is_within { self.wanted.within } else { self.wanted.alone }
    }

    /// Whether something of this class holds an address of 32 bits where one has 64.
    pub fn is_narrow_address(&self, class: Class) -> bool {
        self.slot.form == Form::Address
            && !self.is_within
            && matches!(class, Class::B32 | Class::U32 | Class::S32)
            && !self.classes().has(Class::B32)
            && self.classes().has(Class::B64)
    }
}

/// What the positions of an opcode take.
struct Table {
    wanted: Vec<(&'static OperandSlot, Wanted)>,
    /// Of names by themselves, those that fit whatever else is said of them. Nearly all operands are names. Nothing
    /// where some of the positions may have no operand.
    names: Option<Vec<Classes>>,
}

/// Looks at all instructions of a unit.
pub(super) fn find(unit: &Unit) -> Vec<Misplaced> {
    let opcodes = unit.operations.opcodes();
    let text = |number: usize| unit.source.slice(unit.module.opcodes[number]);
    let tables: Vec<Option<Table>> =
        opcodes.iter().enumerate().map(|(number, opcode)| table(opcode, text(number))).collect();
    let mut found = Vec::new();
    for (index, raw) in (0..).zip(&unit.module.instructions) {
        let number = unit.operations.number(index) as usize;
        let Some(table) = &tables[number] else { continue };
        let opcode = &opcodes[number];
        let operands = unit.module.operands(raw.operands);
        let mut walk = Walk { unit, index, found: &mut found };
        // So with nearly all.
        if !table.takes(unit, raw.operands.start, operands) {
            if opcode.is_filled(operands) {
                walk.look_at(raw.operands, table.wanted.iter().map(|(slot, wanted)| (*slot, *wanted)));
            } else {
                walk.look_at_others(raw.operands, opcode, text(number), table);
            }
        }
        if unit.module.guard(raw).is_some() {
            let class = unit.symbols.guard_class(index);
            if !matches!(class, Class::Pred | Class::SpecialPred | Class::F16x2 | Class::Unknown) {
                walk.add(Wrong::Guard(class));
            }
        }
    }
    found
}

fn table(opcode: &Opcode, text: &str) -> Option<Table> {
    if !opcode.is_known() || opcode.operation() == Some(Operation::Tensor) {
        return None;
    }
    let wanted: Vec<_> = opcode.slots.iter().map(|slot| (*slot, opcode.wanted(slot, text))).collect();
    let names = |(slot, wanted): &(&OperandSlot, Wanted)| match slot.form {
        Form::Address | Form::List => Classes::NOTHING,
        _ if slot.pair == Pair::Required => Classes::NOTHING,
        _ => wanted.names(),
    };
    let names = opcode.has_all().then(|| wanted.iter().map(names).collect());
    Some(Table { wanted, names })
}

impl Table {
    /// Whether there is an operand in each position, and all fit for sure.
    fn takes(&self, unit: &Unit, first: u32, operands: &[Operand]) -> bool {
        let Some(names) = self.names.as_ref() else { return false };
        names.len() == operands.len()
            && names.iter().zip(operands).enumerate().all(|(place, (names, operand))| {
                if operand.is_name() {
                    names.has_number(unit.symbols.class(first as usize + place))
                } else {
                    let (slot, wanted) = &self.wanted[place];
                    looks_like(slot, operand) && fits(unit, operand, wanted)
                }
            })
    }
}

/// Whether an operand that is no name certainly fits.
#[inline]
fn fits(unit: &Unit, operand: &Operand, wanted: &Wanted) -> bool {
    match operand.kind() {
        OperandKind::Integer => wanted.alone.has(Class::Integer) && wanted.numbers == Numbers::All,
        OperandKind::Float => wanted.alone.has(float(unit, operand)),
        OperandKind::Address(parts) => {
            let Some(base) = unit.module.operands(parts).first() else { return true };
            let at = match base.kind() {
                OperandKind::Name => parts.start,
                OperandKind::Binary(BinaryOperator::Add, sum)
                    if unit.module.operands[sum.start as usize].is_name()
                        && unit.module.operands[sum.start as usize + 1].kind() == OperandKind::Integer =>
                {
                    sum.start
                }
                OperandKind::Integer => return wanted.alone.has(Class::Integer),
                OperandKind::Float | OperandKind::Binary(..) | OperandKind::Unary(..) => return false,
                _ => return wanted.within == Classes::ALL,
            };
            let at = at as usize;
            wanted.names().has_number(unit.symbols.class(at)) && wanted.within == Classes::ALL
        }
        // What is packed has as many as are as wide as the whole.
        OperandKind::Vector(parts) if wanted.within != Classes::ALL => {
            // Where all are of one class, none is wrong beside another.
            let mut first = None;
            let alike = |class: u8| *first.get_or_insert(class) == class && wanted.within.has_number(class);
            wanted.may_have(parts.len)
                && unit.module.operands(parts).iter().all(Operand::is_name)
                && unit.symbols.classes(parts.range()).all(alike)
        }
        _ => false,
    }
}

/// Whether an operand is a register, and nothing else.
fn is_register(unit: &Unit, at: u32) -> bool {
    let is_name = unit.module.operands.get(at as usize).is_some_and(Operand::is_name);
    is_name && matches!(unit.symbols.operand(at), Resolution::Register(_))
}

fn is_variable(unit: &Unit, at: u32) -> bool {
    let is_name = unit.module.operands.get(at as usize).is_some_and(Operand::is_name);
    let Resolution::Symbol(id) = unit.symbols.operand(at) else { return false };
    is_name && matches!(unit.symbols.symbol(id).kind, SymbolKind::Variable { .. })
}

/// A closer look at an instruction.
struct Walk<'w> {
    unit: &'w Unit,
    index: u32,
    found: &'w mut Vec<Misplaced>,
}

impl Walk<'_> {
    fn add(&mut self, wrong: Wrong) {
        self.found.push(Misplaced { instruction: self.index, wrong });
    }

    /// Of one in which not every position has its operand.
    fn look_at_others(&mut self, operands: Slice, opcode: &Opcode, text: &str, table: &Table) {
        match opcode.assign(&self.unit.module, operands) {
            Ok(slots) => {
                let wanted = slots.into_iter().map(|slot| {
                    let wanted = table.wanted.iter().find(|(it, _)| std::ptr::eq(*it, slot));
                    (slot, wanted.map_or(Wanted::ANYTHING, |(_, wanted)| *wanted))
                });
                self.look_at(operands, wanted);
            }
            Err(_) => {
                if let Some((misfit, slot)) = opcode.refused(&self.unit.module, operands, text) {
                    self.add(Wrong::Looks(misfit, slot));
                }
            }
        }
    }

    /// Of operands with their positions.
    fn look_at(&mut self, operands: Slice, positions: impl Iterator<Item = (&'static OperandSlot, Wanted)>) {
        for (operand, (slot, wanted)) in (operands.start..).take(operands.len as usize).zip(positions) {
            let place = Place { operand, slot, wanted, is_within: false };
            if slot.pair == Pair::Required && !self.unit.module.operands[operand as usize].is_group() {
                self.add(Wrong::NoPair(place));
            } else {
                self.operand(place);
            }
        }
    }

    /// Whether a register of 32 bits holds an address in a module whose addresses have so many.
    fn is_32_bit_address(&self, place: Place) -> bool {
        /// They are said before all else.
        const FIRST: usize = 64;
        let module = &self.unit.module;
        self.class(place.operand).bits() == Some(32)
            && module.statements.iter().take(FIRST).any(|statement| {
                statement.kind() == StatementKind::AddressSize
                    && self.unit.source.slice(statement.span).contains("32")
            })
    }

    fn class(&self, operand: u32) -> Class {
        let at = operand as usize;
        let class = Class::from_number(self.unit.symbols.class(at));
        self.unit.class_of_binding(operand, class)
    }

    fn operand(&mut self, place: Place) {
        let operand = self.unit.module.operands[place.operand as usize];
        let Place { wanted, slot, .. } = place;
        match operand.kind() {
            OperandKind::Name => self.name(place),
            OperandKind::Integer | OperandKind::Float => self.number(place, &operand),
            OperandKind::Unary(operator, parts) => {
                let inner = self.unit.module.operands[parts.start as usize];
                let is_complement = operator == UnaryOperator::Not
                    && !slot.role.is_written()
                    && matches!(self.class(parts.start), Class::Pred | Class::SpecialPred | Class::Unknown);
                let is_negated = operator == UnaryOperator::Negate && slot.takes.negated;
                if !is_complement && !is_negated && is_register(self.unit, parts.start) {
                    self.add(Wrong::Computed(place));
                }
                if matches!(operator, UnaryOperator::Negate | UnaryOperator::Plus) && inner.is_number() {
                    self.number(place, &operand);
                } else if operator == UnaryOperator::Not && slot.form == Form::Predicate {
                    let place = Place { operand: parts.start, ..place };
                    match inner.kind() {
                        OperandKind::Name => self.name(place),
                        OperandKind::Float => self.add(Wrong::Class(place, float(self.unit, &inner))),
                        _ => {}
                    }
                }
            }
            OperandKind::Address(parts) if matches!(slot.role, Role::Address(..)) => {
                if let (1, Some(count)) = (parts.len, wanted.count) {
                    self.add(Wrong::NoVector(place, count));
                }
                for (operand, part) in (parts.start..).zip(self.unit.module.operands(parts)) {
                    // Between a texture and the coordinates stands the sampler.
                    if parts.len == 3 && operand == parts.start + 1 {
                        continue;
                    }
                    let place = Place { operand, is_within: operand > parts.start, ..place };
                    if let OperandKind::Vector(elements) = part.kind() {
                        self.vector(place, elements);
                    } else if let (Some(count), true, false) =
                        (wanted.count, place.is_within, wanted.is_least)
                    {
                        self.add(Wrong::NoVector(place, count));
                    } else if !place.is_within || wanted.within != Classes::ALL {
                        self.address(place);
                    }
                }
            }
            OperandKind::Vector(parts) if slot.form == Form::Packed && wanted.count.is_none() => {
                self.packed(place, parts);
            }
            OperandKind::Vector(parts) => self.vector(place, parts),
            OperandKind::Binary(_, parts) if operand.is_group() && slot.has_pair() => {
                self.operand(Place { operand: parts.start, ..place });
                let predicate =
                    Wanted { alone: Classes::of(&[Class::Pred]), ty: Some(Type::Pred), ..Wanted::ANYTHING };
                let operand = parts.start + 1;
                let second = self.unit.module.operands[operand as usize];
                let place = Place { operand, wanted: predicate, ..place };
                if second.is_name() {
                    self.name(place);
                } else if let Some(class) = literal(self.unit, &second) {
                    self.add(Wrong::Class(place, class));
                }
            }
            OperandKind::Binary(operator, parts) => self.sum(place, operator, parts),
            OperandKind::Sink if !(slot.role.is_written() && slot.takes.sinks) => {
                self.add(Wrong::Sink(place));
            }
            OperandKind::Address(_)
            | OperandKind::String
            | OperandKind::Sink
            | OperandKind::List(_)
            | OperandKind::Conditional(_)
            | OperandKind::Cast(..)
            | OperandKind::Apply(_)
            | OperandKind::Element(_) => {}
        }
    }

    /// A name and something: the assembler adds a number that it knows, and does nothing else.
    fn sum(&mut self, place: Place, operator: BinaryOperator, parts: Slice) {
        let is_name = |at: u32| is_register(self.unit, at) || is_variable(self.unit, at);
        let mut work: SmallVec<[u32; 4]> = SmallVec::from_slice(&[parts.start + 1]);
        let mut has_name = is_name(parts.start) && operator != BinaryOperator::Add;
        while let Some(at) = work.pop() {
            has_name |= is_name(at);
            let parts = self.unit.module.operands[at as usize].parts();
            work.extend(parts.start..parts.start + parts.len);
        }
        if has_name {
            self.add(Wrong::Computed(place));
        }
    }

    /// What an address is counted from, or another part of it.
    fn address(&mut self, place: Place) {
        let part = self.unit.module.operands[place.operand as usize];
        let first = match part.kind() {
            OperandKind::Binary(operator, sum) => {
                self.sum(place, operator, sum);
                let offset = self.unit.module.operands[sum.start as usize + 1];
                if offset.kind() == OperandKind::Float {
                    let wanted = Wanted {
                        alone: Classes::of(&[Class::Integer]),
                        ty: Some(Type::S32),
                        ..Wanted::ANYTHING
                    };
                    let place = Place { operand: sum.start + 1, wanted, is_within: false, ..place };
                    self.add(Wrong::Class(place, float(self.unit, &offset)));
                }
                sum.start
            }
            _ => place.operand,
        };
        let place = Place { operand: first, ..place };
        let part = self.unit.module.operands[first as usize];
        if part.is_name() {
            if !self.is_32_bit_address(place) {
                self.name(place);
            }
        } else if let Some(class) = literal(self.unit, &part)
            && !place.classes().has(class)
        {
            self.add(Wrong::Class(place, class));
        }
    }

    fn name(&mut self, place: Place) {
        let class = self.class(place.operand);
        let Place { wanted, is_within, .. } = place;
        if place.classes().has(class) {
            if class == Class::Variable
                && !is_within
                && let Resolution::Symbol(id) = self.unit.symbols.operand(place.operand)
                && let SymbolKind::Variable { space, .. } = self.unit.symbols.symbol(id).kind
                && !wanted.spaces.has(space)
            {
                self.add(Wrong::Space(place, space));
            }
            return;
        }
        match wanted.count {
            Some(count) if wanted.is_vector && !is_within => self.add(Wrong::NoVector(place, count)),
            _ if place.slot.form == Form::Immediate && class != Class::Integer => {
                self.add(Wrong::NoImmediate(place));
            }
            _ => self.add(Wrong::Class(place, class)),
        }
    }

    fn number(&mut self, place: Place, operand: &Operand) {
        let Some(class) = literal(self.unit, operand) else { return };
        let Place { wanted, is_within, .. } = place;
        if !place.classes().has(class) {
            match wanted.count {
                Some(count) if wanted.is_vector && !is_within => self.add(Wrong::NoVector(place, count)),
                _ => self.add(Wrong::Class(place, class)),
            }
        } else if class == Class::Integer
            && wanted.numbers != Numbers::All
            && let Some(value) = evaluate(&self.unit.source, &self.unit.module, operand)
            && !wanted.numbers.has(value, wanted.is_cut)
        {
            self.add(Wrong::Number(place, value));
        }
    }

    /// What is read needs all of its elements, but for stores of 256 bits.
    fn sinks(&mut self, place: Place, elements: Slice) {
        let is_sink = |at: &u32| self.unit.module.operands[*at as usize].kind() == OperandKind::Sink;
        let bits = place.wanted.ty.and_then(Type::bits).map(|bits| bits * elements.len);
        let may_have_some = place.slot.takes.sinks && bits == Some(256);
        if !place.slot.role.is_written()
            && !may_have_some
            && let Some(operand) = (elements.start..elements.start + elements.len).find(is_sink)
        {
            self.add(Wrong::Sink(Place { operand, is_within: true, ..place }));
        }
    }

    fn vector(&mut self, place: Place, elements: Slice) {
        let Place { wanted, .. } = place;
        if let Some(count) = wanted.count
            && !wanted.may_have(elements.len)
        {
            self.add(Wrong::Count(place, count, elements.len));
            return;
        }
        self.sinks(place, elements);
        if wanted.within == Classes::ALL {
            return;
        }
        let mut classes: SmallVec<[(u32, Class); 8]> = SmallVec::new();
        for operand in elements.start..elements.start + elements.len {
            let element = self.unit.module.operands[operand as usize];
            let class = match element.kind() {
                OperandKind::Name => self.class(operand),
                _ => literal(self.unit, &element).unwrap_or(Class::Unknown),
            };
            classes.push((operand, class));
        }
        // The index into an array stands beside coordinates of another type.
        let is_of_one_type = wanted.count.is_some() && !wanted.is_least;
        if is_of_one_type && let Some((operand, neighbour)) = mixed(&classes) {
            self.add(Wrong::Mixed(Place { operand, is_within: true, ..place }, neighbour));
            return;
        }
        let is_written = place.slot.role.is_written();
        // Bits beside others make bits of the vector.
        let is_bits = |class: Class| class.bits().is_some() && class.kind().is_none();
        let has_bits =
            is_of_one_type && classes.iter().any(|(_, class)| is_bits(*class) && wanted.within.has(*class));
        for (operand, class) in classes {
            let place = Place { operand, is_within: true, ..place };
            let element = self.unit.module.operands[operand as usize];
            match class {
                Class::Integer | Class::Float | Class::Single if !element.is_name() => {
                    self.number(place, &element);
                }
                // Nor does it look at special registers among those that are written.
                _ if has_bits && class.bits().is_some() && (is_written || class.declared().is_some()) => {}
                _ if !element.is_name() => {}
                _ => self.name(place),
            }
        }
    }

    /// A vector that is packed into one register, or unpacked from one.
    fn packed(&mut self, place: Place, elements: Slice) {
        let Some(ty) = place.wanted.ty else { return };
        // What is packed into 32 bits may have parts that nobody gives.
        if ty.bits() != Some(32) {
            self.sinks(place, elements);
        }
        if ty.interpretation() != Interpretation::Bits {
            self.add(Wrong::Class(place, Class::Unknown));
            return;
        }
        let mut classes: SmallVec<[(u32, Class); 8]> = SmallVec::new();
        for operand in elements.start..elements.start + elements.len {
            let element = self.unit.module.operands[operand as usize];
            if !element.is_name() {
                continue;
            }
            let class = self.class(operand);
            match class {
                Class::Unknown => return,
                Class::Pred | Class::Variable | Class::Label | Class::SpecialVector | Class::NoComponent => {
                    self.add(Wrong::Class(Place { operand, is_within: true, ..place }, class));
                    return;
                }
                _ => classes.push((operand, class)),
            }
        }
        if let Some((operand, neighbour)) = mixed(&classes) {
            self.add(Wrong::Mixed(Place { operand, is_within: true, ..place }, neighbour));
            return;
        }
        let each = classes.iter().find_map(|(_, class)| class.bits());
        let (Some(bits), Some(each)) = (ty.bits(), each) else { return };
        // Beside a number, the assembler does not add them up.
        let has_number =
            self.unit.module.operands(elements).iter().any(|element| literal(self.unit, element).is_some());
        if each > 0 && !has_number && each * elements.len != bits {
            let count = u16::try_from(bits / each).unwrap_or_default();
            self.add(Wrong::Count(place, count, elements.len));
        }
    }
}

/// The class of a floating-point number.
fn float(unit: &Unit, operand: &Operand) -> Class {
    let is_single = matches!(unit.source.slice(operand.span()).as_bytes(), [b'0', b'f' | b'F', ..]);
    if is_single { Class::Single } else { Class::Float }
}

/// The class of a number, with a sign or without.
fn literal(unit: &Unit, operand: &Operand) -> Option<Class> {
    match operand.kind() {
        OperandKind::Integer => Some(Class::Integer),
        OperandKind::Float => Some(float(unit, operand)),
        OperandKind::Unary(UnaryOperator::Negate | UnaryOperator::Plus, parts) => {
            let inner = unit.module.operands[parts.start as usize];
            match inner.kind() {
                OperandKind::Integer => Some(Class::Integer),
                OperandKind::Float => Some(float(unit, &inner)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Two elements of a vector that the assembler does not take beside each other: of different widths, or of different
/// kinds where bits go with all.
fn mixed(classes: &[(u32, Class)]) -> Option<(u32, u32)> {
    let mut width: Option<(u32, u32)> = None;
    let mut kind = None;
    for (operand, class) in classes {
        if let Some(bits) = class.bits() {
            match width {
                Some((before, other)) if other != bits => return Some((*operand, before)),
                _ => width = Some((*operand, bits)),
            }
        }
        if let Some(of) = class.kind() {
            match kind {
                Some((before, other)) if other != of => return Some((*operand, before)),
                _ => kind = Some((*operand, of)),
            }
        }
    }
    None
}

impl Unit {
    /// What is wrong with operands outside tcgen05, in the order of the instructions.
    pub fn misfits(&self) -> &[Misplaced] {
        self.misfits.get_or_init(|| find(self))
    }

    /// The class of what an operand names. What a constraint declares is bits: a compiler hands floats over as such.
    fn class_of_binding(&self, operand: u32, class: Class) -> Class {
        if self.is_module || class == Class::Unknown {
            return class;
        }
        if self.binding_of(operand).is_none() {
            return class;
        }
        match class.bits() {
            Some(16) => Class::B16,
            Some(32) => Class::B32,
            Some(64) => Class::B64,
            _ => class,
        }
    }

    /// Where the constraint stands that declares what an operand names, if one does.
    pub fn binding_of(&self, operand: u32) -> Option<Span> {
        use super::symbols::Resolution;
        let Resolution::Register(id) = self.symbols.operand(operand) else { return None };
        let span = self.symbols.register(id).span;
        self.binding(span).map(|_| span)
    }
}
