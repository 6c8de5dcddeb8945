//! What functions are given by those that call them.
//!
//! In a function that is called, an address is counted from a [parameter](Parameter). What it is for
//! the caller, the call says: the argument takes the parameter's place. So what happens in a callee is
//! looked at once for each chain of calls that leads to it, as far as it has an address in Tensor
//! Memory, and there is not too much of it. What a function does with two of its parameters is
//! judged in each of its calls, if all of them are known.

use std::cell::{OnceCell, RefCell};
use std::num::NonZeroU32;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::cfg::BlockId;
use super::events::{Action, Event};
use super::flow::Flow;
use super::footprint::{Columns, accessed};
use super::given;
use super::places::{Place, Root, Slot, SlotRoot};
use crate::descriptor::Known;
use crate::instruction::Instruction;
use crate::isa::generic::{Access, Role, Space, SpaceRule};
use crate::isa::vocabulary::Operation;
use crate::resolve::symbols::{Resolution, SymbolId, SymbolKind};
use crate::source::Span;
use crate::syntax::ast::OperandKind;
use crate::syntax::literal;

/// A parameter of a function, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameter {
    /// Which.
    pub position: u16,
    /// The bytes of it before the part.
    pub byte: u16,
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// The function that it stands in.
    pub function: u32,
    /// The instruction.
    pub call: u32,
    /// The calls through which that function is reached.
    pub outer: Option<Through>,
}

/// A chain of calls, the number of one in [`Chains`], counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Through(NonZeroU32);

impl Through {
    const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The chains of calls that lead to what is looked at.
#[derive(Debug, Default)]
pub struct Chains {
    /// The last call of each, and which function that calls.
    links: RefCell<Vec<(Link, u32)>>,
    numbers: RefCell<FxHashMap<Link, Through>>,
}

impl Chains {
    pub(super) fn add(&self, link: Link, callee: u32) -> Through {
        *self.numbers.borrow_mut().entry(link).or_insert_with(|| {
            let mut links = self.links.borrow_mut();
            links.push((link, callee));
            // There is one by now.
            Through(NonZeroU32::new(links.len() as u32).unwrap_or(NonZeroU32::MIN))
        })
    }

    pub(super) fn last(&self, through: Through) -> Link {
        self.links.borrow()[through.index()].0
    }

    /// The function that the last call leads to.
    pub fn callee(&self, through: Through) -> u32 {
        self.links.borrow()[through.index()].1
    }
}

/// A value that a function stores for one that it calls: the instruction, and the operand.
type Stored = (u32, u32);

/// By variable and byte: all that is stored there.
type StoredAt = FxHashMap<(SymbolId, u64), SmallVec<[Stored; 1]>>;

/// What a function gives to those that it calls, as far as it was asked for.
#[derive(Debug, Default)]
pub struct Arguments {
    /// By call: what happens there.
    within: RefCell<FxHashMap<u32, Arc<[Event]>>>,
    /// What it stores for them.
    stored: OnceCell<StoredAt>,
    /// By result and byte: what it gives back itself. Nothing is known of one that is made of itself.
    returned: RefCell<FxHashMap<Parameter, Option<Place>>>,
}

/// Calls in calls that are followed.
const DEEP: usize = 8;

impl<'a> Flow<'a> {
    /// What may happen in a call, in no particular order: all that has an address in Tensor Memory, with
    /// the calls that lead there; of other events one for all that are written alike.
    pub fn within(&self, call: Event, callee: u32) -> Arc<[Event]> {
        if let Some(known) = self.facts.arguments.within.borrow().get(&call.instruction) {
            return Arc::clone(known);
        }
        let happens = self.all.summary(callee).map_or(&[][..], |summary| &summary.events);
        let (mut one_by_one, other): (Vec<Event>, Vec<Event>) =
            happens.iter().copied().partition(|event| self.has_address(*event));
        if !one_by_one.is_empty() {
            let link = Link { function: self.facts.function, call: call.instruction, outer: None };
            one_by_one.clear();
            self.collect(link, callee, &mut one_by_one);
        }
        let within: Arc<[Event]> = other.into_iter().chain(one_by_one).collect();
        self.facts.arguments.within.borrow_mut().insert(call.instruction, Arc::clone(&within));
        within
    }

    /// The allocations that a call makes, once for each chain of calls that leads to one.
    pub fn allocs_within(&self, call: Event, callee: u32) -> Vec<Event> {
        let mut found = Vec::new();
        let mut work =
            vec![(Link { function: self.facts.function, call: call.instruction, outer: None }, callee)];
        let is_alloc = |event: &Event| self.operation(*event) == Some(Operation::Alloc);
        while let Some((link, callee)) = work.pop() {
            let happens = self.all.summary(callee).map_or(&[][..], |summary| &summary.events);
            if !happens.iter().any(is_alloc)
                || !self.all.is_looked_into(callee)
                || !self.facts.budget.take(happens.len() as u64)
            {
                continue;
            }
            let through = self.all.chains.add(link, callee);
            for event in self.events_in(link, callee) {
                match event.action {
                    Action::Call(inner) => {
                        let call = event.instruction;
                        work.push((Link { function: callee, call, outer: Some(through) }, inner));
                    }
                    _ if is_alloc(event) => found.push(Event { through: Some(through), ..*event }),
                    _ => {}
                }
            }
        }
        found
    }

    /// Finds what has an address in a function that is called.
    fn collect(&self, link: Link, callee: u32, found: &mut Vec<Event>) {
        let happens = self.all.summary(callee).map_or(&[][..], |summary| &summary.events);
        let mut with_address = happens.iter().copied().filter(|event| self.has_address(*event)).peekable();
        if with_address.peek().is_none() {
            return;
        }
        if !self.all.is_looked_into(callee) || !self.facts.budget.take(happens.len() as u64) {
            found.extend(with_address);
            return;
        }
        let through = self.all.chains.add(link, callee);
        for event in self.events_in(link, callee) {
            match event.action {
                Action::Call(inner) => {
                    let link = Link { function: callee, call: event.instruction, outer: Some(through) };
                    self.collect(link, inner, found);
                }
                _ if self.has_address(*event) => found.push(Event { through: Some(through), ..*event }),
                _ => {}
            }
        }
    }

    /// The events of a function that can happen with what a call gives it.
    pub(super) fn events_in(&self, link: Link, callee: u32) -> impl Iterator<Item = &'a Event> + use<'a> {
        let facts = self.other(callee).map(|it| it.facts);
        let happens = move |event: &&Event| {
            facts.is_none_or(|facts| facts.is_executed_in(link.call, event.instruction))
        };
        self.all.of(callee).iter().filter(happens)
    }

    /// Whether an event is about an address in Tensor Memory.
    fn has_address(&self, event: Event) -> bool {
        self.instruction(event)
            .is_some_and(|it| accessed(it).is_some() || matches!(it, Instruction::Dealloc(_)))
    }

    /// Another function that is looked at together with this one.
    pub(super) fn other(&self, function: u32) -> Option<Self> {
        let at = self.functions.binary_search_by_key(&function, |facts| facts.function).ok()?;
        Some(self.with(&self.functions[at]))
    }

    /// A place in a function that is called, for the one that the calls start from.
    pub(super) fn as_calling(&self, through: Through, place: Place) -> Option<Place> {
        let mut place = place;
        let mut next = Some(through);
        while let Some(through) = next {
            let link = self.all.chains.last(through);
            place = self.other(link.function)?.in_caller(link.call, place)?;
            next = link.outer;
        }
        Some(place)
    }

    /// A place in a function that this one calls.
    fn in_caller(&self, call: u32, place: Place) -> Option<Place> {
        match place.root {
            Root::Literal | Root::Variable(_) => Some(place),
            Root::Parameter(parameter) => Some(self.argument(call, parameter)?.followed_by(&place)),
            Root::Slot(Slot { root, offset }) => match root {
                SlotRoot::Literal | SlotRoot::Variable(_) => Some(place),
                SlotRoot::Parameter(parameter) => {
                    let slot = self.argument(call, parameter)?.plus(Known::from(offset)).as_slot()?;
                    let mut place = place;
                    place.root = Root::Slot(slot);
                    Some(place)
                }
                SlotRoot::Register(_) => None,
            },
            Root::Register(_) => None,
        }
    }

    /// What a call gives.
    pub(super) fn argument(&self, call: u32, parameter: Parameter) -> Option<Place> {
        let unit = self.unit;
        let operands = unit.module.instructions[call as usize].operands;
        let mut arguments = operands
            .range()
            .skip_while(|index| {
                let is_callee = |id| matches!(unit.symbols.symbol(id).kind, SymbolKind::Function { .. });
                !matches!(unit.symbols.operand(*index as u32), Resolution::Symbol(id) if is_callee(id))
            })
            .filter_map(|index| match unit.module.operands[index].kind() {
                OperandKind::List(parts) => Some(parts),
                _ => None,
            });
        let operand = arguments.next()?.range().nth(usize::from(parameter.position))? as u32;
        let Resolution::Symbol(variable) = unit.symbols.operand(operand) else {
            return self.passed_on(call, operand).filter(|_| parameter.byte == 0);
        };
        let stored = self.stored().get(&(variable, u64::from(parameter.byte)))?;
        let [(store, operand)] = stored[..] else { return None };
        let block = self.cfg().block_of(call);
        let is_certain = self.cfg().block_of(store) == block
            && store < call
            && unit.module.guard(&unit.module.instructions[store as usize]).is_none();
        let place = self.passed_on(store, operand).filter(|_| is_certain)?;
        // What a register holds, it holds until it is written.
        let view = self.facts.view(unit);
        match place.root {
            Root::Register(register) => {
                (view.value(store, register) == view.value(call, register)).then_some(place)
            }
            Root::Literal | Root::Variable(_) | Root::Slot(_) | Root::Parameter(_) => Some(place),
        }
    }

    /// What a call leaves in the register that an operand names.
    pub(super) fn result_in_register(&self, operand: u32) -> Option<Place> {
        let (call, position) = self.facts.passing.as_ref()?.call_of(operand)?;
        self.result(call, Parameter { position, byte: 0 })
    }

    /// What a call leaves in a part of a variable.
    pub(super) fn result_in_variable(&self, variable: SymbolId, byte: u16) -> Option<Place> {
        let (call, position) = self.facts.passing.as_ref()?.call_into(self.unit, variable)?;
        self.result(call, Parameter { position, byte })
    }

    fn result(&self, call: given::Call, result: Parameter) -> Option<Place> {
        let place = self.other(call.callee)?.returned(result)?;
        // What a register holds at the call, it need not hold where the result is read.
        let is_kept = |it: &Place| !matches!(it.root, Root::Register(_));
        self.in_caller(call.instruction, place).filter(is_kept)
    }

    /// What this function gives back, if it is the same wherever it returns.
    fn returned(&self, result: Parameter) -> Option<Place> {
        let known = &self.facts.arguments.returned;
        if let Some(known) = known.borrow().get(&result) {
            return *known;
        }
        known.borrow_mut().insert(result, None);
        let found = self.find_returned(result);
        known.borrow_mut().insert(result, found);
        found
    }

    fn find_returned(&self, result: Parameter) -> Option<Place> {
        let (unit, facts) = (self.unit, self.facts);
        let passing = facts.passing.as_ref()?;
        let returns = unit.module.functions[facts.function as usize].returns;
        let (name, register) = *given::declared(unit, returns).get(usize::from(result.position))?;
        let happens = |at: u32| {
            facts.cfg.is_executed(at)
                && facts.cfg.block_of(at).is_some_and(|block| facts.cfg.is_reachable(block))
        };
        let mut places: SmallVec<[Option<Place>; 2]> = if let Some(register) = register {
            if !facts.ends_with_return(unit) || result.byte != 0 {
                return None;
            }
            let returns = passing.returns().iter().filter(|at| happens(**at));
            returns.map(|at| Some(self.places().of(*at, register))).collect()
        } else {
            let is_it = |store: &&given::Passed| {
                unit.symbols.symbol(store.variable).span == name
                    && store.byte == result.byte
                    && happens(store.instruction)
            };
            passing
                .stores()
                .iter()
                .filter(is_it)
                .map(|store| self.passed_on(store.instruction, store.operand))
                .collect()
        };
        let first = places.pop()??;
        places.iter().all(|it| *it == Some(first)).then_some(first)
    }

    /// What an instruction passes on.
    fn passed_on(&self, instruction: u32, operand: u32) -> Option<Place> {
        let unit = self.unit;
        let found = unit.module.operands.get(operand as usize)?;
        if let Some(value) = literal::evaluate(&unit.source, &unit.module, found) {
            return Some(Place::literal((value & i128::from(u64::MAX)) as u64));
        }
        match unit.symbols.operand(operand) {
            Resolution::Register(register) => Some(self.places().of(instruction, register)),
            _ => None,
        }
    }

    /// What is stored for functions that are called.
    fn stored(&self) -> &'a StoredAt {
        self.facts.arguments.stored.get_or_init(|| {
            let mut all = StoredAt::default();
            for instruction in self.cfg().instructions() {
                let opcode = self.unit.operations.of(instruction);
                let is_parameter =
                    opcode.spaces().next().is_some_and(|it| matches!(it, Space::Param | Space::ParamFunc));
                let writes = opcode
                    .slots
                    .first()
                    .is_some_and(|slot| matches!(slot.role, Role::Address(Access::Write, SpaceRule::Nth(_))));
                let operands = self.unit.module.instructions[instruction as usize].operands;
                if !is_parameter || !writes || operands.len != 2 {
                    continue;
                }
                let Some(place) = self.places().address(instruction, operands.start) else { continue };
                if let (Root::Variable(variable), Some(byte)) = (place.root, place.offset.constant(32)) {
                    all.entry((variable, byte)).or_default().push((instruction, operands.start + 1));
                }
            }
            all
        })
    }

    /// Whether two accesses of this function certainly touch nothing in common: by themselves, or in each
    /// of its calls.
    pub fn are_disjoint(&self, one: &Columns, other: &Columns) -> bool {
        one.is_disjoint(other) || self.meet_in_call(one, other, DEEP).is_ok()
    }

    /// The call of this function in which two accesses may touch something in common that differ in what
    /// they are given.
    pub fn meeting_call(&self, one: &Columns, other: &Columns) -> Option<Span> {
        let call = self.meet_in_call(one, other, DEEP).err()??;
        Some(self.unit.module.instructions[call as usize].opcode)
    }

    /// Nothing, if two accesses have nothing in common in any call; or else a call in which they may have,
    /// if that is known.
    fn meet_in_call(&self, one: &Columns, other: &Columns, deep: usize) -> Result<(), Option<u32>> {
        let is_given = |columns: &Columns| match columns.place().root {
            Root::Parameter(_) => true,
            Root::Slot(slot) => matches!(slot.root, SlotRoot::Parameter(_)),
            Root::Literal | Root::Variable(_) | Root::Register(_) => false,
        };
        if deep == 0 || !(is_given(one) || is_given(other)) || !self.has_known_callers() {
            return Err(None);
        }
        let calls = self.all.calls_of(self.facts.function);
        if calls.is_empty() || !self.all.is_looked_into(self.facts.function) {
            return Err(None);
        }
        for link in calls {
            let meets = Err(Some(link.call));
            let Some(caller) = self.other(link.function).filter(|_| self.facts.budget.take(1)) else {
                return meets;
            };
            let of = |it: &Columns| Some(it.at(caller.in_caller(link.call, it.place())?));
            let (Some(one), Some(other)) = (of(one), of(other)) else { return meets };
            if !one.is_disjoint(&other)
                && let Err(farther) = caller.meet_in_call(&one, &other, deep - 1)
            {
                return Err(farther.or(Some(link.call)));
            }
        }
        Ok(())
    }

    /// Whether nothing but the calls by its name that are in the module can call this function.
    fn has_known_callers(&self) -> bool {
        let function = self.facts.function;
        // Another module may call what has a linkage.
        let is_seen_elsewhere = self.unit.module.functions[function as usize].linkage.is_some();
        !is_seen_elsewhere && !self.calls.addressed().contains(&function)
    }

    /// The call through which an event is reached that is not of this function: where it stands, and what
    /// is called. `at` is the instruction of this function where the event happens.
    pub fn call(&self, event: Event, at: u32) -> Option<(Span, Span)> {
        if event.instruction == at {
            return None;
        }
        self.call_at(at)
    }

    /// The call that an instruction of this function is: where it stands, and what is called.
    pub fn call_at(&self, at: u32) -> Option<(Span, Span)> {
        let callee = self.unit.module.functions.get(self.called_at(at)? as usize)?.name;
        Some((self.unit.module.instructions[at as usize].opcode, callee))
    }

    /// Whether a function executes one of its own instructions whenever it is called, as far as it comes back.
    pub fn always_executes(&self, callee: u32, instruction: u32) -> bool {
        let Some(callee) = self.other(callee) else { return false };
        let cfg = callee.cfg();
        let guard = self.unit.module.guard(&self.unit.module.instructions[instruction as usize]);
        guard.is_none()
            && cfg.block_of(instruction).is_some_and(|block| cfg.post_dominates(block, BlockId(0)))
    }

    fn called_at(&self, at: u32) -> Option<u32> {
        match self.event_at(at)?.action {
            Action::Call(callee) => Some(callee),
            _ => None,
        }
    }
}
