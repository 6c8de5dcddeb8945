//! What a kernel executes, in itself and in the functions that it calls, and who does.
//!
//! Who executes an instruction of a callee, the conditions of all functions on the way say: those of
//! the calls, and its own. What a callee is given may be another thing in each thread, so that a condition
//! on a parameter may select threads.

use smallvec::SmallVec;

use super::arguments::{Link, Parameter, Through};
use super::cfg::BlockId;
use super::events::{Action, Event};
use super::executing::Executes;
use super::flow::{Condition, Flow};
use super::places::{Place, Root};
use crate::isa::generic::{Access, Role, SpaceRule};
use crate::isa::special_registers::Extent;
use crate::resolve::symbols::{RegisterId, Resolution, SymbolKind};
use crate::source::Span;
use crate::syntax::ast::OperandKind;

/// An instruction of tcgen05 that a kernel executes.
#[derive(Clone, Debug)]
pub struct Reached<'a> {
    /// The instruction, with the calls that lead to it.
    pub event: Event,
    /// Each function on the way with the instruction that a thread has to get to: a call of the next, and
    /// at last the instruction itself.
    way: SmallVec<[(Flow<'a>, u32); 1]>,
}

/// Instructions that a kernel executes: few, as a rule.
pub type AllReached<'a> = SmallVec<[Reached<'a>; 4]>;

/// By function on the way to an instruction: what decides whether a thread goes on.
pub type Conditions = SmallVec<[(u32, Condition); 1]>;

/// Calls in calls that are followed.
const DEEP: usize = 8;

impl<'a> Flow<'a> {
    /// The operations that are `wanted`, of this function and of those that it calls, once for each chain of
    /// calls.
    pub fn reached(&self, wanted: impl Fn(Event) -> bool) -> AllReached<'a> {
        let mut found = AllReached::new();
        self.reach_into(&wanted, &SmallVec::new(), None, &mut found);
        found
    }

    fn reach_into(
        &self,
        wanted: &dyn Fn(Event) -> bool,
        way: &SmallVec<[(Self, u32); 1]>,
        through: Option<Through>,
        found: &mut AllReached<'a>,
    ) {
        let call = way.last().map(|(_, call)| *call);
        let happens =
            |event: &&Event| call.is_none_or(|call| self.facts.is_executed_in(call, event.instruction));
        for event in self.events().iter().filter(happens) {
            let further = || way.iter().copied().chain([(*self, event.instruction)]).collect();
            match event.action {
                Action::Tensor { .. } => {
                    if wanted(*event) {
                        found.push(Reached { event: Event { through, ..*event }, way: further() });
                    }
                }
                Action::Call(callee) => {
                    let happens = self.all.summary(callee).map_or(&[][..], |summary| &summary.events);
                    if way.len() >= DEEP
                        || !happens.iter().any(|inner| wanted(*inner))
                        || !self.all.is_looked_into(callee)
                        || !self.facts.budget.take(happens.len() as u64)
                    {
                        continue;
                    }
                    let Some(inner) = self.other(callee) else { continue };
                    let function = self.facts.function;
                    let link = Link { function, call: event.instruction, outer: through };
                    let through = self.all.chains.add(link, callee);
                    inner.reach_into(wanted, &further(), Some(through), found);
                }
                Action::MbarrierWait
                | Action::MbarrierArrive
                | Action::Barrier
                | Action::BarrierArrive
                | Action::WarpBarrier
                | Action::ProxyFence
                | Action::SharedStore
                | Action::SharedUpdate
                | Action::AsyncCopy
                | Action::Acquire
                | Action::BulkLoad
                | Action::Unknown => {}
            }
        }
    }

    /// The registers that functions on the way from kernels give a function as a parameter, each with the
    /// function that reads it and the call that does.
    pub fn given_in(&self, parameter: Parameter) -> Vec<(Self, u32, RegisterId)> {
        let mut found = Vec::new();
        self.collect_given(parameter, DEEP, &mut found);
        found
    }

    fn collect_given(&self, parameter: Parameter, deep: usize, found: &mut Vec<(Self, u32, RegisterId)>) {
        if deep == 0 || !self.all.is_looked_into(self.facts.function) {
            return;
        }
        for link in self.all.calls_of(self.facts.function) {
            let Some(caller) = self.other(link.function).filter(|_| self.facts.budget.take(1)) else {
                return;
            };
            let Some((at, register)) = caller.given_register(link.call, parameter) else { continue };
            match parameter_of(&caller.places().of(at, register)) {
                Some(outer) => caller.collect_given(outer, deep - 1, found),
                None => found.push((caller, at, register)),
            }
        }
    }

    /// The register that a call gives as a parameter, and the instruction that reads it: the call, or the
    /// store before it.
    pub(super) fn given_register(&self, call: u32, parameter: Parameter) -> Option<(u32, RegisterId)> {
        let unit = self.unit;
        let operands = unit.module.instructions[call as usize].operands;
        let is_callee = |index: &usize| match unit.symbols.operand(*index as u32) {
            Resolution::Symbol(id) => matches!(unit.symbols.symbol(id).kind, SymbolKind::Function { .. }),
            Resolution::Register(_) | Resolution::Special(_) | Resolution::Undeclared => false,
        };
        let mut lists =
            operands.range().skip_while(|index| !is_callee(index)).filter_map(|index| {
                match unit.module.operands[index].kind() {
                    OperandKind::List(parts) => Some(parts),
                    _ => None,
                }
            });
        let operand = lists.next()?.range().nth(usize::from(parameter.position))? as u32;
        let variable = match unit.symbols.operand(operand) {
            Resolution::Register(register) => return (parameter.byte == 0).then_some((call, register)),
            Resolution::Symbol(variable) => variable,
            Resolution::Special(_) | Resolution::Undeclared => return None,
        };
        // The last store before the call, where nothing is between that could jump over it.
        let block = self.cfg().block_of(call)?;
        let before = self.cfg().instructions().rev().skip_while(|at| *at >= call);
        for at in before.take_while(|at| self.cfg().block_of(*at) == Some(block)) {
            let opcode = unit.operations.of(at);
            let raw = &unit.module.instructions[at as usize];
            let writes = matches!(
                opcode.slots.first().map(|slot| slot.role),
                Some(Role::Address(Access::Write, SpaceRule::Nth(_)))
            );
            if !writes || raw.operands.len != 2 {
                continue;
            }
            let Some(place) = self.places().address(at, raw.operands.start) else { continue };
            if place.root == Root::Variable(variable)
                && place.offset.constant(32) == Some(u64::from(parameter.byte))
            {
                let Resolution::Register(register) = unit.symbols.operand(raw.operands.start + 1) else {
                    return None;
                };
                return unit.module.guard(raw).is_none().then_some((at, register));
            }
        }
        None
    }
}

/// The parameter that a place is, with a constant added or not.
pub fn parameter_of(place: &Place) -> Option<Parameter> {
    match place.root {
        Root::Parameter(parameter) => place.offset.constant(32).map(|_| parameter),
        Root::Slot(_) | Root::Literal | Root::Variable(_) | Root::Register(_) => None,
    }
}

impl<'a> Reached<'a> {
    /// The function that the instruction stands in.
    pub fn flow(&self) -> Flow<'a> {
        self.last().0
    }

    /// The instruction as an event of that function.
    pub fn own(&self) -> Event {
        Event { through: None, ..self.event }
    }

    /// Each function on the way with the instruction that a thread has to get to.
    pub(super) fn way(&self) -> &[(Flow<'a>, u32)] {
        &self.way
    }

    /// The instruction of the kernel that it is executed at: itself, or a call.
    pub fn site(&self) -> u32 {
        self.way[0].1
    }

    fn last(&self) -> (Flow<'a>, u32) {
        // There is at least the instruction itself.
        self.way[self.way.len() - 1]
    }

    /// What decides whether it is executed.
    pub fn conditions(&self) -> Conditions {
        let at = |(flow, instruction): &(Flow<'a>, u32)| {
            let event = Event { instruction: *instruction, ..self.own() };
            (flow.function(), flow.condition(event))
        };
        self.way.iter().map(at).collect()
    }

    /// The block that it stands in.
    pub fn block(&self) -> (u32, Option<BlockId>) {
        let (flow, instruction) = self.last();
        (flow.function(), flow.cfg().block_of(instruction))
    }

    /// Whether a condition on the way could be true for one thread of a warp and false for another.
    pub fn may_be_selected(&self) -> bool {
        self.way.iter().any(|(flow, at)| {
            flow.uniformity().may_be_selected(&flow.facts.view(flow.unit), *at, &flow.facts.budget)
        })
    }

    /// Which threads execute it; those of the CTA with rank 0 or 1 in its cluster, if one is given.
    pub fn executes(&self, rank: Option<u32>) -> Option<Executes> {
        let ((kernel, call), callees) = self.way.split_first()?;
        let executes = kernel.executing(rank).of(*call)?;
        // Functions do not know how the threads of a block are numbered.
        if !callees.is_empty() && kernel.block_size().is_some_and(|[_, y, z]| y.saturating_mul(z) != 1) {
            return None;
        }
        callees.iter().try_fold(executes, |executes, (flow, at)| {
            Some(executes.and_within(&flow.executing(rank).of(*at)?))
        })
    }

    /// Which threads of the CTA with this rank execute it in those runs in which the whole cluster gets there; of an
    /// instruction of the kernel itself.
    pub fn executes_where_all_get_there(&self, rank: u32) -> Option<Executes> {
        let [(kernel, at)] = self.way[..] else { return self.executes(Some(rank)) };
        kernel.executing(Some(rank)).of_those_there(at, Extent::Cluster)
    }

    /// The opcode of the instruction that makes the condition which parts a warp on the way.
    pub fn parted_by(&self) -> Option<Span> {
        self.way.iter().rev().find_map(|(flow, at)| {
            let made = flow.executing(None).parted_by(*at)?;
            Some(flow.unit.module.instructions[made as usize].opcode)
        })
    }

    /// The calls that lead to the instruction: where each stands, and the name of what is called.
    pub fn calls(&self) -> impl Iterator<Item = (Span, Span)> + '_ {
        self.way.iter().zip(self.way.iter().skip(1)).map(|((flow, call), (callee, _))| {
            let module = &flow.unit.module;
            let name = module.functions[callee.facts.function as usize].name;
            (module.instructions[*call as usize].opcode, name)
        })
    }
}
