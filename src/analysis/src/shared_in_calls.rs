//! Shared memory that a function writes or reads in a call, and what it stores by generic addresses.
//!
//! A store in a function that is called is one [event](Event) with all others there that are written alike, so that all
//! of them have to be looked at. `st` without a state space may write any memory and is no event at all: here it counts
//! where its address is certainly made of a variable in shared memory.

use super::arguments::{Parameter, Through};
use super::events::{Action, Event};
use super::flow::{Flow, Pair};
use super::given::declared;
use super::places::Root;
use super::reach::Reach;
use super::reached::parameter_of;
use super::registers::{self, Access};
use crate::isa::generic::{self, Arithmetic, Computation, Role, Space, SpaceRule};
use crate::isa::vocabulary::Operation;
use crate::resolve::symbols::{RegisterId, Resolution, SymbolId, SymbolKind};
use crate::source::Span;
use crate::syntax::ast::OperandKind;

/// Longer chains of registers are not followed.
const DEEP: u32 = 8;

/// What an address in a function is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Variable(SymbolId),
    Given(Parameter),
}

const fn is_parameter(space: Space) -> bool {
    matches!(space, Space::Param | Space::ParamFunc)
}

impl Flow<'_> {
    /// Whether all stores that a call makes and that are written like this one write variables that a multiply or copy
    /// reads nothing of. `call` is the instruction of this function.
    pub fn stores_elsewhere_in_call(&self, call: u32, store: Event, reader: Event) -> bool {
        let Some(Action::Call(callee)) = self.event_at(call).map(|event| event.action) else { return false };
        let is_elsewhere =
            |stored: SymbolId| self.is_too_small(stored) || self.is_read_elsewhere(stored, reader);
        let given = |parameter: Parameter| match self.argument(call, parameter)?.root {
            Root::Variable(variable) => Some(variable),
            Root::Literal | Root::Slot(_) | Root::Parameter(_) | Root::Register(_) => None,
        };
        self.all.reachable([callee]).into_iter().all(|function| {
            let alike = self.all.of(function).iter().filter(|event| event.action == store.action);
            self.facts.budget.take(self.all.of(function).len() as u64)
                && alike.copied().all(|event| {
                    let stored = match self.stored_in(function, event.instruction) {
                        Some(Base::Variable(variable)) => Some(variable),
                        Some(Base::Given(parameter)) if function == callee => given(parameter),
                        Some(Base::Given(_)) | None => None,
                    };
                    stored.is_some_and(is_elsewhere)
                })
        })
    }

    /// What the address of a store is made of, in a function of which nothing need be known but its text: functions
    /// without tcgen05 instructions are not analysed.
    fn stored_in(&self, function: u32, store: u32) -> Option<Base> {
        let module = &self.unit.module;
        let mut operands = module.instructions[store as usize].operands.range();
        let address = operands.find(|at| matches!(module.operands[*at].kind(), OperandKind::Address(_)))?;
        self.base(function, module.base_of(address as u32)?, 0)
    }

    /// The only variable or parameter that an operand is made of, where each register on the way is written once.
    fn base(&self, function: u32, operand: u32, depth: u32) -> Option<Base> {
        let register = match self.unit.symbols.operand(operand) {
            Resolution::Register(register) => register,
            Resolution::Symbol(id) => {
                let is_variable = matches!(self.unit.symbols.symbol(id).kind, SymbolKind::Variable { .. });
                return is_variable.then_some(Base::Variable(id));
            }
            Resolution::Special(_) | Resolution::Undeclared => return None,
        };
        if depth == DEEP {
            return None;
        }
        let mut writers = self.instructions_of(function).filter(|at| {
            let mut writes = false;
            registers::accesses(self.unit, *at, &mut |written, _, access| {
                writes |= access == Access::Write && written == register;
            });
            writes
        });
        let Some(only) = writers.next() else { return self.given_as(function, register) };
        let raw = &self.unit.module.instructions[only as usize];
        if writers.next().is_some() || self.unit.module.guard(raw).is_some() {
            return None;
        }
        let part = |position: u32| {
            let operand = raw.operands.start + position;
            (position < raw.operands.len).then(|| self.base(function, operand, depth + 1)).flatten()
        };
        let opcode = self.unit.operations.of(only);
        match opcode.computes() {
            Computation::Move | Computation::Convert | Computation::ConvertAddress => part(1),
            Computation::Arithmetic(Arithmetic::Subtract) => part(1),
            Computation::Arithmetic(Arithmetic::MultiplyAdd) => part(3),
            // What is added is no address; if both are, nothing is known.
            Computation::Or | Computation::Arithmetic(Arithmetic::Add) => match (part(1), part(2)) {
                (Some(base), None) | (None, Some(base)) => Some(base),
                _ => None,
            },
            Computation::Load if opcode.spaces().next().is_some_and(is_parameter) => {
                let address = self.unit.module.base_of(raw.operands.start + 1)?;
                let Resolution::Symbol(id) = self.unit.symbols.operand(address) else { return None };
                self.parameter(function, |name, _| name == self.unit.symbols.symbol(id).span)
            }
            _ => None,
        }
    }

    /// The parameter that a register is.
    fn given_as(&self, function: u32, register: RegisterId) -> Option<Base> {
        self.parameter(function, |_, declared| declared == Some(register))
    }

    fn parameter(&self, function: u32, is_it: impl Fn(Span, Option<RegisterId>) -> bool) -> Option<Base> {
        let declared = declared(self.unit, self.unit.module.functions[function as usize].parameters);
        let position = declared.iter().position(|(name, register)| is_it(*name, *register))?;
        Some(Base::Given(Parameter { position: u16::try_from(position).ok()?, byte: 0 }))
    }

    /// The only variable that a descriptor in a function that is called is made of: there, or where it is given.
    pub(super) fn variable_within(&self, reader: Event, register: RegisterId) -> Option<SymbolId> {
        let mut through: Option<Through> = Some(reader.through?);
        let mut inner = self.other(self.all.chains.callee(through?))?;
        let (mut at, mut register) = (reader.instruction, register);
        loop {
            if let Some(variable) = inner.variable_of(at, register) {
                return Some(variable);
            }
            let parameter = parameter_of(&inner.places().of(at, register))?;
            let link = self.all.chains.last(through?);
            inner = self.other(link.function).filter(|_| self.facts.budget.take(1))?;
            (at, register) = inner.given_register(link.call, parameter)?;
            through = link.outer;
        }
    }

    /// Stores by generic addresses to a variable that a matrix of a multiply or copy certainly lies in, each with that
    /// multiply or copy: a path leads there without a fence between the proxies. Variables that are `filled` otherwise
    /// are left alone.
    pub fn unfenced_generic_stores(&self, filled: impl Fn(SymbolId) -> bool) -> Vec<Pair> {
        let reads = |event: &&Event| {
            let operation = self.operation(**event);
            matches!(operation, Some(Operation::Mma | Operation::MmaWs | Operation::Cp))
                && self.is_own(**event)
        };
        let readers: Vec<Event> = self.events().iter().filter(reads).copied().collect();
        if readers.is_empty() || !self.facts.budget.take(self.cfg().instructions().len() as u64) {
            return Vec::new();
        }
        let as_store = |at: u32| Event { instruction: at, action: Action::SharedStore, through: None };
        let is_of_matrix = |store: &Event| {
            let stored = self.stored_variable(*store);
            stored.is_some_and(|it| self.is_shared_variable(it) && !self.is_too_small(it) && !filled(it))
        };
        let stores: Vec<Event> = self
            .cfg()
            .instructions()
            .filter(|at| self.is_generic_store(*at))
            .map(as_store)
            .filter(is_of_matrix)
            .collect();
        if stores.is_empty() {
            return Vec::new();
        }
        let mut reach = Reach::default();
        for store in &stores {
            let fact = reach.fact();
            reach.generate(store.instruction, fact);
        }
        let fences = |event: &Event| matches!(event.action, Action::ProxyFence | Action::Unknown);
        for event in self.events() {
            let kills = match event.action {
                Action::Call(callee) => {
                    let summary = self.all.summary(callee);
                    summary.is_none_or(|it| it.unknown || it.events.iter().any(fences))
                }
                _ => fences(event),
            };
            if kills {
                reach.kill_all(event.instruction);
            }
        }
        for reader in &readers {
            reach.query(reader.instruction);
        }
        let mut found = Vec::new();
        self.solve(reach, &mut |_, _| u64::MAX, &mut |query, fact, can_happen| {
            let (first, then) = (stores[fact.0 as usize], readers[query.0 as usize]);
            let is_found =
                self.stores_into(first, then) && !self.stores_elsewhere(first, then) && can_happen();
            if is_found {
                found.push(Pair { first, then, from: first.instruction, to: then.instruction });
            }
            is_found
        });
        found.sort_by_key(|pair| (pair.then.instruction, pair.first.instruction));
        found
    }

    /// Whether an instruction is a store that names no state space.
    fn is_generic_store(&self, at: u32) -> bool {
        let opcode = self.unit.operations.of(at);
        let role = opcode.slots.first().map(|slot| slot.role);
        matches!(role, Some(Role::Address(generic::Access::Write, SpaceRule::Nth(_))))
            && opcode.spaces().next().is_none()
    }
}
