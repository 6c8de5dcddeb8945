//! Addresses in Tensor Memory that are counted from what an `alloc` of the same function returned.
//!
//! An allocation starts at lane 0 and in a column that is a multiple of 32, wherever it lies. So of an
//! address that is the loaded slot plus a constant the lane is known, and whether an allocation can
//! start there; the column is not.

use std::cell::{OnceCell, RefCell};
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::events::{Action, Event};
use super::flow::Flow;
use super::footprint;
use super::places::{Place, Slot, SlotRoot};
use super::reach::{Direction, Passed, PassedWithout};
use crate::descriptor::Known;
use crate::instruction::decode::Decoded;
use crate::instruction::{Address, Base, Instruction, Scalar};
use crate::isa::generic::{
    Access, Arithmetic, Computation, Modifier, Operation, Role, SpaceRule, Synchronization, Vector,
};
use crate::isa::vocabulary::Operation as TensorOperation;
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution, SymbolId};
use crate::source::Span;
use crate::syntax::ast::{BinaryOperator, OperandKind};
use crate::syntax::literal;

mod data;

/// How far an address lies behind the start of an allocation, if the slot that it comes from still holds what
/// `alloc` wrote there; [`Distance::is_certain`] says whether it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distance {
    /// In lanes.
    pub lanes: u32,
    /// In columns.
    pub columns: u32,
    /// The `alloc`.
    pub alloc: Span,
    slot: Slot,
    load: Option<u32>,
}

impl Distance {
    /// The start of the allocation, as what was loaded.
    pub fn place(&self) -> Place {
        Place::of_slot(self.slot, self.load)
    }

    /// Whether nothing else was stored to the slot: to be asked last, because it takes looking at all stores.
    pub fn is_certain(&self, flow: &Flow<'_>) -> bool {
        !flow.slots().is_overwritten(flow, self.slot, self.load)
    }
}

impl Flow<'_> {
    /// How far an address of an instruction of this function lies behind an allocation.
    pub fn distance(&self, decoded: &Decoded<'_>, address: &Address<'_>) -> Option<Distance> {
        let Base::Register(register) = address.base else { return None };
        let by = Known::from(address.offset as u64);
        self.distance_of(self.places().of(decoded.index, register.id).plus(by))
    }

    /// The same of an address whose distance is not known, but which of the 32 lanes of a warp it is in:
    /// `lanes` are these, and columns are not counted.
    pub fn distance_in_warp(&self, decoded: &Decoded<'_>, address: &Address<'_>) -> Option<Distance> {
        let Base::Register(register) = address.base else { return None };
        let by = Known::from(address.offset as u64);
        let place = self.places().of(decoded.index, register.id).plus(by);
        let slot = place.slot()?;
        let lanes = place.offset.shifted_right(16).constant(5)? as u32;
        let Known { mask, value } = place.offset;
        // No column may carry into the lanes.
        let carries = (value | !mask) & 0xFFFF >= 0x8000;
        let alloc = *self.slots().allocs.get(&slot)?.first()?;
        (!carries).then(|| Distance { lanes, columns: 0, alloc: self.span(alloc), slot, load: place.load })
    }

    /// The same of an address that is given without brackets.
    pub fn scalar_distance(&self, decoded: &Decoded<'_>, scalar: &Scalar<'_>) -> Option<Distance> {
        let Scalar::Register(register) = scalar else { return None };
        if register.component {
            return None;
        }
        let by = Known::from(register.plus.unwrap_or_default() as u64);
        self.distance_of(self.places().of(decoded.index, register.id).plus(by))
    }

    /// An address counted from the allocation that it is in, where a word handed it on: what a warp loads from
    /// shared memory that another one has stored there, and nothing else may be stored.
    pub fn handed_on(&self, place: Place) -> Place {
        match place.slot().and_then(|slot| self.slots().origin(self, slot)) {
            Some(origin) => origin.followed_by(&place),
            None => place,
        }
    }

    /// The start of the allocation whose address a register holds, if `alloc` of this function wrote the slot that
    /// it was loaded from.
    pub fn start_of_allocation(&self, at: u32, register: RegisterId) -> Option<Distance> {
        self.distance_of(self.places().of(at, register)).filter(|it| (it.lanes, it.columns) == (0, 0))
    }

    /// The start of the allocation whose address an instruction loads, in the same way.
    pub fn start_of_loaded(&self, load: u32) -> Option<Distance> {
        let opcode = self.unit.operations.of(load);
        let is_vector = opcode.modifiers.iter().any(|it| matches!(it.modifier, Modifier::Vector(_)));
        if is_vector || !opcode.spaces().next()?.is_shared() {
            return None;
        }
        let address = self.unit.module.instructions[load as usize].operands.start + 1;
        let slot = self.places().address(load, address)?.as_slot()?;
        let alloc = *self.slots().allocs.get(&slot)?.first()?;
        Some(Distance { lanes: 0, columns: 0, alloc: self.span(alloc), slot, load: Some(load) })
    }

    fn distance_of(&self, place: Place) -> Option<Distance> {
        let slot = place.slot()?;
        let alloc = *self.slots().allocs.get(&slot)?.first()?;
        let offset = place.offset.constant(32)? as u32;
        let (lanes, columns) = (offset >> 16, offset & 0xFFFF);
        // What counts backwards, or past all columns, carries into the lanes or not, as the column has it.
        let carries = columns >= 0x8000;
        (!carries).then(|| Distance { lanes, columns, alloc: self.span(alloc), slot, load: place.load })
    }
}

/// The slots of a function, and what it stores to shared memory besides.
#[derive(Debug)]
pub struct Slots {
    /// What is allocated into each, in the order of the instructions.
    allocs: FxHashMap<Slot, Vec<Event>>,
    /// Found when it is asked for.
    stores: OnceCell<Vec<Store>>,
    /// By slot, as far as it was asked for: what stores to it are made at all, and what follows those that
    /// follow an `alloc`.
    overwritten: RefCell<FxHashMap<Slot, (bool, Passed)>>,
    /// By slot and two loads of it, as far as it was asked for: whether it can be written between them.
    written_between: RefCell<FxHashMap<(Slot, u32, u32), bool>>,
    /// By word: the address in an allocation that is stored there, as far as it was asked for.
    origins: RefCell<FxHashMap<Slot, Option<Place>>>,
    /// By store of which the word is not known: the bytes that it may write, when that is first asked for.
    bytes: OnceCell<FxHashMap<u32, (SymbolId, Range<u64>)>>,
}

/// A store to shared memory.
#[derive(Clone, Copy, Debug)]
struct Store {
    instruction: u32,
    /// The word where it starts, if that is known.
    to: Option<Slot>,
    /// How many bytes it writes at most.
    size: u64,
    /// The variable that it writes, if at least that is.
    variable: Option<SymbolId>,
}

impl Slots {
    /// Those of a function.
    pub fn new(flow: &Flow<'_>) -> Self {
        let mut allocs: FxHashMap<Slot, Vec<Event>> = FxHashMap::default();
        for event in flow.events() {
            if let Some(alloc) = flow.alloc(*event)
                && let Some(slot) = footprint::slot(flow, *event, &alloc.dst)
            {
                allocs.entry(slot).or_default().push(*event);
            }
        }
        let (overwritten, origins) = (RefCell::default(), RefCell::default());
        Self {
            allocs,
            stores: OnceCell::new(),
            overwritten,
            written_between: RefCell::default(),
            origins,
            bytes: OnceCell::new(),
        }
    }

    /// The address in an allocation that a word holds: all that is ever stored there.
    fn origin(&self, flow: &Flow<'_>, slot: Slot) -> Option<Place> {
        if self.allocs.is_empty() || self.allocs.contains_key(&slot) {
            return None;
        }
        if let Some(known) = self.origins.borrow().get(&slot) {
            return *known;
        }
        let found = self.find_origin(flow, slot);
        self.origins.borrow_mut().insert(slot, found);
        found
    }

    fn find_origin(&self, flow: &Flow<'_>, slot: Slot) -> Option<Place> {
        let stores = self.stores(flow);
        if !flow.facts.budget.take(stores.len() as u64) {
            return None;
        }
        let mut origin: Option<Place> = None;
        for store in stores.iter().filter(|store| store.to == Some(slot)) {
            let place = stored_word(flow, store.instruction)?;
            let of = place.slot().filter(|of| self.allocs.contains_key(of))?;
            place.offset.constant(32)?;
            let is_other = |known: Place| (known.root, known.offset) != (place.root, place.offset);
            if origin.is_some_and(is_other) || self.is_overwritten(flow, of, place.load) {
                return None;
            }
            origin = Some(place);
        }
        let may_write = |store: &&Store| store.to != Some(slot) && store.may_write(flow, slot);
        origin.filter(|_| stores.iter().filter(may_write).all(|store| self.is_elsewhere(flow, store, slot)))
    }

    /// Whether a store of which the word is not known certainly writes other bytes of the same variable.
    fn is_elsewhere(&self, flow: &Flow<'_>, store: &Store, slot: Slot) -> bool {
        match (store.to, slot.root) {
            (None, SlotRoot::Variable(variable)) => {
                let bytes = self.bytes(flow).get(&store.instruction);
                bytes.is_some_and(|(written, bytes)| {
                    *written == variable && (bytes.end <= slot.offset || slot.offset + WORD <= bytes.start)
                })
            }
            _ => false,
        }
    }

    /// Whether nothing in a kernel ever writes a word of its shared memory: no allocation, no store, no copy. It
    /// is so only of kernels that call nothing, and write to no address of which the memory is not known.
    pub fn is_never_written(&self, flow: &Flow<'_>, slot: Slot) -> bool {
        let SlotRoot::Variable(variable) = slot.root else { return false };
        let is_apart = |other: Slot| match other.root {
            SlotRoot::Variable(written) if written == variable => {
                other.offset.saturating_add(WORD) <= slot.offset || slot.offset + WORD <= other.offset
            }
            // An address in other memory than shared is another mistake.
            SlotRoot::Variable(written) => {
                flow.is_shared_variable(written)
                    && (!flow.is_external(written) || !flow.is_external(variable))
            }
            SlotRoot::Literal | SlotRoot::Parameter(_) | SlotRoot::Register(_) => false,
        };
        let leaves_alone = |event: &Event| match event.action {
            Action::Tensor { .. } => match flow.instruction(*event) {
                Some(Instruction::Alloc(alloc)) => {
                    footprint::slot(flow, *event, &alloc.dst).is_some_and(is_apart)
                }
                Some(_) => true,
                None => flow.operation(*event) != Some(TensorOperation::Alloc),
            },
            Action::SharedUpdate | Action::AsyncCopy | Action::BulkLoad => {
                flow.is_written_apart(*event, variable, slot.offset)
            }
            Action::Call(_) | Action::Unknown => false,
            Action::MbarrierWait
            | Action::MbarrierArrive
            | Action::Barrier
            | Action::BarrierArrive
            | Action::WarpBarrier
            | Action::ProxyFence
            | Action::SharedStore
            | Action::Acquire => true,
        };
        if !flow.events().iter().all(leaves_alone) {
            return false;
        }
        let stores = self.stores(flow);
        flow.facts.budget.take(stores.len() as u64)
            && stores
                .iter()
                .filter(|store| store.may_write(flow, slot))
                .all(|store| self.is_elsewhere(flow, store, slot))
            && !flow.cfg().instructions().any(|at| may_write_anywhere(flow.unit.operations.of(at)))
    }

    /// The bytes of a variable that stores may write of which the word is not known.
    fn bytes(&self, flow: &Flow<'_>) -> &FxHashMap<u32, (SymbolId, Range<u64>)> {
        self.bytes.get_or_init(|| {
            let open = self.stores(flow).iter().filter(|store| store.to.is_none());
            let sums: Vec<(u32, BytesOf)> = open
                .filter_map(|store| Some((store.instruction, BytesOf::stored(flow, store.instruction)?)))
                .collect();
            let uses: Vec<(u32, RegisterId)> =
                sums.iter().flat_map(|(_, sum)| sum.added.iter().copied()).collect();
            let mut known = flow.known(&uses).into_iter();
            let mut range = |sum: &BytesOf| {
                let added: Vec<Known> = known.by_ref().take(sum.added.len()).collect();
                let ends = added.iter().map(|it| {
                    (it.value & it.mask & u64::from(u32::MAX), (it.value | !it.mask) & u64::from(u32::MAX))
                });
                let (first, last) =
                    ends.fold((sum.offset, sum.offset), |all, it| (all.0 + it.0, all.1 + it.1));
                u32::try_from(last).is_ok().then_some((sum.variable, first..last + sum.size))
            };
            sums.iter().filter_map(|(store, sum)| Some((*store, range(sum)?))).collect()
        })
    }

    /// Whether what `load` reads there may be something else than what `alloc` wrote: a store that may be
    /// to the slot, and not only of data, lies on a way from the one to the other. Where no such load is known,
    /// any store counts.
    pub fn is_overwritten(&self, flow: &Flow<'_>, slot: Slot, load: Option<u32>) -> bool {
        let stores = self.stores(flow);
        let mut overwritten = self.overwritten.borrow_mut();
        let (is_written, behind_stores) = overwritten.entry(slot).or_insert_with(|| {
            flow.facts.budget.take(stores.len() as u64);
            let allocs = self.allocs.get(&slot).into_iter().flatten().map(|event| event.instruction);
            let behind_alloc = behind(flow, allocs);
            let between = stores.iter().filter(|store| {
                store.may_write(flow, slot)
                    && can_follow(flow, &behind_alloc, store.instruction)
                    && (store.is_known_beside(slot) || !data::is_data(flow, store.instruction))
            });
            let between = between.map(|store| store.instruction);
            (stores.iter().any(|store| store.may_write(flow, slot)), behind(flow, between))
        });
        match load {
            Some(load) => can_follow(flow, behind_stores, load),
            None => *is_written,
        }
    }

    /// The stores to shared memory.
    fn stores(&self, flow: &Flow<'_>) -> &[Store] {
        self.stores.get_or_init(|| {
            let is_store = |event: &&Event| event.action == Action::SharedStore;
            flow.events().iter().filter(is_store).map(|event| Store::new(flow, *event)).collect()
        })
    }

    /// Whether two loads of a slot get the same word, as two instructions read it that follow each other:
    /// nothing is allocated or stored there between the loads.
    pub fn is_same_word(&self, flow: &Flow<'_>, slot: Slot, first: Read, then: Read) -> bool {
        if first.load == then.load {
            return true;
        }
        // What is loaded between the two is of what was there before.
        !self.is_written_between(flow, slot, first.load, then.load)
            && (!self.is_written_between(flow, slot, then.load, first.load)
                || !leads(flow, first.at, then.at, Some(then.load)))
    }

    /// Whether a slot can be written on the way from one load of it to another one.
    fn is_written_between(&self, flow: &Flow<'_>, slot: Slot, from: u32, to: u32) -> bool {
        // The same two loads are asked about for all that reads what they load.
        if let Some(known) = self.written_between.borrow().get(&(slot, from, to)) {
            return *known;
        }
        let allocs = self.allocs.get(&slot).into_iter().flatten().map(|event| event.instruction);
        let stores = self.stores(flow).iter().filter(|store| store.may_write(flow, slot));
        let mut writers = allocs.chain(stores.map(|store| store.instruction));
        let is_written =
            writers.any(|writer| leads(flow, from, writer, None) && leads(flow, writer, to, Some(from)));
        self.written_between.borrow_mut().insert((slot, from, to), is_written);
        is_written
    }
}

/// Whether an instruction writes to a generic address, or to another CTA's shared memory: what that is, is not
/// looked at.
fn may_write_anywhere(opcode: &Opcode) -> bool {
    let is_remote = matches!(
        opcode.synchronization(),
        Synchronization::AsyncStore | Synchronization::FabricStart | Synchronization::ClusterLaunch
    );
    let is_generic = opcode.slots.iter().any(|slot| match slot.role {
        Role::Address(Access::Write | Access::ReadWrite, SpaceRule::Nth(nth)) => {
            opcode.spaces().nth(usize::from(nth)).is_none()
        }
        _ => false,
    });
    is_remote || is_generic && opcode.synchronization() == Synchronization::None
}

/// Bytes of the word of a slot.
const WORD: u64 = 4;

/// The address that a store writes to a word in shared memory.
fn stored_word(flow: &Flow<'_>, store: u32) -> Option<Place> {
    let raw = &flow.unit.module.instructions[store as usize];
    let opcode = flow.unit.operations.of(store);
    let is_word = opcode.operation() == Some(Operation::St) && stored_size(opcode) == Some(WORD);
    if raw.operands.len != 2 || !is_word || flow.unit.module.guard(raw).is_some() {
        return None;
    }
    match flow.unit.symbols.operand(raw.operands.start + 1) {
        Resolution::Register(register) => Some(flow.places().of(store, register)),
        Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => None,
    }
}

/// How many bytes a thread stores at an address, where that is the same each time.
fn stored_size(opcode: &Opcode) -> Option<u64> {
    /// Of a row of any matrix.
    const ROW: u64 = 16;
    let elements = opcode.modifier(|modifier| match modifier {
        Modifier::Vector(Vector::V2) => Some(2),
        Modifier::Vector(Vector::V4) => Some(4),
        Modifier::Vector(Vector::V8) => Some(8),
        _ => None,
    });
    match opcode.operation()? {
        Operation::St => Some(u64::from(opcode.types.last()?.bits()?) / 8 * elements.unwrap_or(1)),
        // Each thread names a row.
        Operation::Stmatrix => Some(ROW),
        _ => None,
    }
}

/// Where a store writes to a variable: a constant, and registers that are added.
struct BytesOf {
    variable: SymbolId,
    offset: u64,
    added: Vec<(u32, RegisterId)>,
    size: u64,
}

impl BytesOf {
    /// Deeper than this, nothing is followed.
    const DEEP: usize = 24;

    fn stored(flow: &Flow<'_>, store: u32) -> Option<Self> {
        let module = &flow.unit.module;
        let view = flow.facts.view(flow.unit);
        let raw = &module.instructions[store as usize];
        let OperandKind::Address(parts) = module.operands.get(raw.operands.start as usize)?.kind() else {
            return None;
        };
        let number = |index: u32| {
            let value = literal::evaluate(&flow.unit.source, module, &module.operands[index as usize])?;
            u64::try_from(value).ok()
        };
        let (mut operand, mut offset) = match module.operands[parts.start as usize].kind() {
            OperandKind::Binary(BinaryOperator::Add, sum) if sum.len == 2 => {
                (sum.start, number(sum.start + 1)?)
            }
            _ => (parts.start, 0),
        };
        let mut at = store;
        let mut added = Vec::new();
        for _ in 0..Self::DEEP {
            let register = match flow.unit.symbols.operand(operand) {
                Resolution::Register(register) => register,
                Resolution::Symbol(variable) => {
                    let size = stored_size(flow.unit.operations.of(store))?;
                    return Some(Self { variable, offset, added, size });
                }
                Resolution::Special(_) | Resolution::Undeclared => return None,
            };
            let definition = *view.definitions.get(view.only(at, register)?);
            let made = definition.instruction;
            let raw = &module.instructions[made as usize];
            if made == at || definition.guarded || definition.operand != raw.operands.start {
                return None;
            }
            let first = raw.operands.start;
            operand = match flow.unit.operations.of(made).computes() {
                Computation::Move if raw.operands.len == 2 => first + 1,
                Computation::Arithmetic(Arithmetic::Add) if raw.operands.len == 3 => {
                    // The one that is made of a variable is the address.
                    let is_address = |index: u32| match flow.unit.symbols.operand(index) {
                        Resolution::Register(register) => flow.variable_of(made, register).is_some(),
                        Resolution::Symbol(_) => true,
                        Resolution::Special(_) | Resolution::Undeclared => false,
                    };
                    let (address, other) = match (is_address(first + 1), is_address(first + 2)) {
                        (true, false) => (first + 1, first + 2),
                        (false, true) => (first + 2, first + 1),
                        (true, true) | (false, false) => return None,
                    };
                    match flow.unit.symbols.operand(other) {
                        Resolution::Register(register) => added.push((made, register)),
                        _ => offset = offset.checked_add(number(other)?)?,
                    }
                    address
                }
                _ => return None,
            };
            at = made;
        }
        None
    }
}

/// Where an address is read that was loaded from a slot.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// The instruction that loaded it.
    pub load: u32,
    /// The one that reads it.
    pub at: u32,
}

/// Whether a path leads from one instruction to another that does not pass a third one.
fn leads(flow: &Flow<'_>, from: u32, to: u32, avoiding: Option<u32>) -> bool {
    let (cfg, budget) = (flow.cfg(), &flow.facts.budget);
    if cfg.block_of(from).is_none() || cfg.block_of(to).is_none() {
        return true;
    }
    let passed = PassedWithout::new(cfg, Direction::Forward, from, avoiding.as_slice(), budget);
    passed.is_none_or(|passed| passed.has(cfg, to))
}

impl Store {
    /// The most bytes that one thread stores at once.
    const MOST_BYTES: u64 = 32;

    fn new(flow: &Flow<'_>, event: Event) -> Self {
        let raw = &flow.unit.module.instructions[event.instruction as usize];
        // Where people have written half of it, there is none.
        let address = (raw.operands.len > 0).then_some(raw.operands.start);
        let place = address.and_then(|address| flow.places().address(event.instruction, address));
        let to = place.and_then(|place| place.as_slot());
        let size = stored_size(flow.unit.operations.of(event.instruction)).unwrap_or(Self::MOST_BYTES);
        Self { instruction: event.instruction, to, size, variable: flow.stored_variable(event) }
    }

    /// Whether it is known how far from a slot it writes.
    fn is_known_beside(&self, slot: Slot) -> bool {
        self.to.is_some_and(|to| to.root == slot.root)
    }

    /// Whether it can write to a slot.
    fn may_write(&self, flow: &Flow<'_>, slot: Slot) -> bool {
        if let Some(to) = self.to.filter(|to| to.root == slot.root) {
            return to.offset < slot.offset + WORD && slot.offset < to.offset + self.size;
        }
        // Another variable is another place, unless both have no size, so that they begin at the same.
        match (self.variable, slot.root) {
            (Some(stored), SlotRoot::Variable(variable)) => {
                stored == variable || flow.is_external(stored) && flow.is_external(variable)
            }
            _ => true,
        }
    }
}

/// What can follow some instructions.
fn behind(flow: &Flow<'_>, instructions: impl Iterator<Item = u32>) -> Passed {
    let passed = Passed::new(flow.cfg(), Direction::Forward, instructions);
    flow.facts.budget.take(if passed.is_empty() { 0 } else { flow.cfg().len() as u64 });
    passed
}

/// Whether something can follow; what is not of this function may be anywhere.
fn can_follow(flow: &Flow<'_>, behind: &Passed, instruction: u32) -> bool {
    match flow.cfg().block_of(instruction) {
        Some(_) => behind.has(flow.cfg(), instruction),
        None => !behind.is_empty(),
    }
}

/// Whether a function may write to a slot by itself at all: then what is loaded there need not be the
/// allocation's.
pub fn is_stored_to(flow: &Flow<'_>, slot: Slot) -> bool {
    flow.slots().is_overwritten(flow, slot, None)
}
