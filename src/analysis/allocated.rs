//! Addresses in Tensor Memory that are counted from what an `alloc` of the same function returned.
//!
//! An allocation starts at lane 0 and in a column that is a multiple of 32, wherever it lies. So of an
//! address that is the loaded slot plus a constant the lane is known, and whether an allocation can
//! start there; the column is not.

use std::cell::OnceCell;

use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{Action, Event};
use super::flow::Flow;
use super::footprint;
use super::places::{Place, Slot, SlotRoot};
use crate::descriptor::Known;
use crate::instruction::decode::Decoded;
use crate::instruction::{Address, Base, Instruction, Scalar};
use crate::source::Span;

/// The allocations of all functions that are looked at.
#[derive(Debug)]
pub struct Allocated<'a> {
    functions: Vec<(Flow<'a>, OnceCell<FxHashMap<Slot, Event>>)>,
}

/// How far an address lies behind the start of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distance {
    /// In lanes.
    pub lanes: u32,
    /// In columns.
    pub columns: u32,
    /// The `alloc`.
    pub alloc: Span,
}

impl<'a> Allocated<'a> {
    /// Those of these functions, in the order of the module.
    pub fn new(flows: impl Iterator<Item = Flow<'a>>) -> Self {
        Self { functions: flows.map(|flow| (flow, OnceCell::new())).collect() }
    }

    /// How far an address of an instruction lies behind an allocation.
    pub fn address(&self, decoded: &Decoded<'_>, address: &Address<'_>) -> Option<Distance> {
        let Base::Register(register) = address.base else { return None };
        self.distance(decoded, |flow| {
            let place = flow.places().of(decoded.index, register.id);
            Place { offset: place.offset.sum(Known::from(address.offset as u64)), ..place }
        })
    }

    /// The same of an address that is given without brackets.
    pub fn scalar(&self, decoded: &Decoded<'_>, scalar: &Scalar<'_>) -> Option<Distance> {
        let Scalar::Register(register) = scalar else { return None };
        if register.component {
            return None;
        }
        self.distance(decoded, |flow| {
            let place = flow.places().of(decoded.index, register.id);
            let by = Known::from(register.plus.unwrap_or_default() as u64);
            Place { offset: place.offset.sum(by), ..place }
        })
    }

    fn distance(&self, decoded: &Decoded<'_>, place: impl Fn(&Flow<'a>) -> Place) -> Option<Distance> {
        let function = decoded.function?;
        let at = self.functions.binary_search_by_key(&function, |(flow, _)| flow.facts.function).ok()?;
        let (flow, slots) = &self.functions[at];
        let place = place(flow);
        let slot = place.slot()?;
        let alloc = *slots.get_or_init(|| find_slots(flow)).get(&slot)?;
        let offset = place.offset.constant(32)? as u32;
        let (lanes, columns) = (offset >> 16, offset & 0xFFFF);
        // What counts backwards, or past all columns, carries into the lanes or not, as the column has it.
        let carries = columns >= 0x8000;
        (!carries).then(|| Distance { lanes, columns, alloc: flow.span(alloc) })
    }
}

/// The slots of a function that nothing but `alloc` writes.
fn find_slots(flow: &Flow<'_>) -> FxHashMap<Slot, Event> {
    let mut slots = FxHashMap::default();
    for event in flow.events() {
        if let Some(Instruction::Alloc(alloc)) = flow.instruction(*event)
            && let Some(slot) = footprint::slot(flow, *event, &alloc.dst)
        {
            slots.entry(slot).or_insert(*event);
        }
    }
    if !slots.is_empty() {
        let stores = stores(flow);
        slots.retain(|slot, _| !stores.iter().any(|store| may_write(*store, *slot)));
    }
    slots
}

/// Where a function stores to shared memory by itself; `None` where that is not known.
fn stores(flow: &Flow<'_>) -> FxHashSet<Option<Slot>> {
    let raw = |event: &Event| &flow.unit.module.instructions[event.instruction as usize];
    flow.events()
        .iter()
        .filter(|event| event.action == Action::SharedStore)
        .map(|event| flow.places().address(event.instruction, raw(event).operands.start)?.as_slot())
        .collect()
}

/// Whether a store can write to a slot.
fn may_write(store: Option<Slot>, slot: Slot) -> bool {
    // Another variable is another place; within one, and in a register, who knows.
    store.is_none_or(|stored| {
        stored == slot || stored.root == slot.root || !matches!(stored.root, SlotRoot::Variable(_))
    })
}

/// Whether a function may write to a slot by itself: then what is loaded there is not the
/// allocation's.
pub fn is_stored_to(flow: &Flow<'_>, slot: Slot) -> bool {
    stores(flow).into_iter().any(|store| may_write(store, slot))
}
