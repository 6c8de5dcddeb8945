//! What happens in a function that matters to the order of tcgen05 operations: the instructions
//! themselves, waits, barriers, fences, stores to shared memory, and calls.

use rustc_hash::{FxHashMap, FxHashSet};

use super::arguments::{Chains, Link, Through};
use super::calls::{self, Component};
use super::cfg::Cfg;
use super::mbarriers::{Use, Uses};
use crate::instruction::decode::Decoded;
use crate::instruction::{Alloc, Dealloc, Immediate, Instruction};
use crate::isa::generic::{Control, Modifier, ProxyKind, Semantics, Space, Synchronization};
use crate::isa::vocabulary::{CtaGroup, Operation};
use crate::resolve::operations::{Opcode, SharedWrite};
use crate::resolve::unit::Unit;

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The instruction, an index into [`Module::instructions`](crate::syntax::ast::Module).
    pub instruction: u32,
    /// What it does.
    pub action: Action,
    /// The calls that lead to it, if it is looked at from a function that calls the one that it is in, and
    /// matters which calls these are.
    pub through: Option<Through>,
}

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A tcgen05 instruction.
    Tensor {
        /// Which of the decoded ones.
        index: u32,
        /// What it does.
        operation: Operation,
        /// For which CTAs, if it says so.
        group: Option<CtaGroup>,
    },
    /// `mbarrier.try_wait` or `mbarrier.test_wait`, whatever becomes of its result.
    MbarrierWait,
    /// `mbarrier.arrive` or `mbarrier.arrive_drop`
    MbarrierArrive,
    /// `bar.sync`, `barrier.sync`, `bar.red`, `barrier.cluster.wait`
    Barrier,
    /// `bar.arrive`, `barrier.arrive`, `barrier.cluster.arrive`
    BarrierArrive,
    /// `bar.warp.sync`
    WarpBarrier,
    /// `fence.proxy.async`
    ProxyFence,
    /// A store to shared memory by the thread itself.
    SharedStore,
    /// An atomic operation or a reduction on shared memory.
    SharedUpdate,
    /// `cp.async` into shared memory, by the thread itself.
    AsyncCopy,
    /// A load or an atomic operation that acquires, or a fence behind one that does not: with a release it
    /// synchronises as a barrier does (9.7.16.6.3).
    Acquire,
    /// `cp.async.bulk` into shared memory.
    BulkLoad,
    /// A call of a function with a body; an index into
    /// [`Module::functions`](crate::syntax::ast::Module).
    Call(u32),
    /// Anything may happen: a call of a function that is not known.
    Unknown,
}

impl Action {
    /// Whether a thread may tell others by it how far it has come, other than by a signal to an mbarrier in the function
    /// itself. An atomic operation that acquires may release as well, and so may a fence (9.7.16.6.3).
    pub fn tells(self, all: &Events) -> bool {
        match self {
            Self::Barrier | Self::BarrierArrive | Self::SharedUpdate | Self::Acquire | Self::Unknown => true,
            Self::Call(callee) => all.summary(callee).is_none_or(|summary| {
                let mut inner = summary.events.iter();
                summary.unknown || summary.uses.signal() || inner.any(|event| event.action.tells(all))
            }),
            Self::Tensor { .. }
            | Self::MbarrierWait
            | Self::MbarrierArrive
            | Self::WarpBarrier
            | Self::ProxyFence
            | Self::SharedStore
            | Self::AsyncCopy
            | Self::BulkLoad => false,
        }
    }
}

/// What may happen while a function runs, in it and in what it calls; in no particular order.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// What happens, calls left out. Of events in functions that are called, one stands for all that
    /// are written alike.
    pub events: Vec<Event>,
    /// Whether something unknown is called, or more happens than is kept here.
    pub unknown: bool,
    /// What is done with mbarriers.
    pub uses: Uses,
    /// Whether more happens than is kept here.
    is_cut: bool,
}

/// What is kept of what happens in one function and its callees. Events that are written alike are
/// one, so that compilers do not come near.
const MOST: usize = 512;

/// The events of the functions of one component.
#[derive(Debug, Default)]
pub struct Events {
    /// In the order of the module.
    functions: Vec<FunctionEvents>,
    /// By circle of functions.
    summaries: Vec<Summary>,
    /// Functions of which more happens than is kept.
    truncated: Vec<u32>,
    /// The calls that lead to events, as far as it was asked for.
    pub chains: Chains,
    /// By function: the calls of it in functions of the component.
    callers: FxHashMap<u32, Vec<Link>>,
}

#[derive(Debug)]
struct FunctionEvents {
    function: u32,
    events: Vec<Event>,
    /// What it does with mbarriers itself.
    uses: Uses,
    /// Its circle's.
    summary: u32,
    /// How many chains of calls lead to it, from any function.
    chains: u64,
}

impl Events {
    /// Finds the events of every function of a component; `instructions` are its tcgen05
    /// instructions. What is not `executed`, by function and instruction, does not happen.
    pub fn new(
        unit: &Unit,
        component: &Component,
        instructions: &[Decoded<'_>],
        executed: &dyn Fn(u32, u32) -> bool,
    ) -> Self {
        let own = |function: &u32| {
            let (events, uses) =
                events(unit, *function, instructions, &|instruction| executed(*function, instruction));
            FunctionEvents { function: *function, events, uses, summary: 0, chains: 0 }
        };
        let functions = component.functions.iter().map(own).collect();
        let mut this = Self { functions, ..Self::default() };
        let mut kinds = Kinds { unit, instructions, known: FxHashMap::default() };
        for circle in &component.callees_first {
            let summary = this.summarize(circle, &mut kinds);
            this.truncated.extend(summary.is_cut.then_some(circle).into_iter().flatten());
            for function in circle {
                if let Some(at) = this.place(*function) {
                    this.functions[at].summary = this.summaries.len() as u32;
                }
            }
            this.summaries.push(summary);
        }
        this.truncated.sort_unstable();
        this.find_callers(component);
        this
    }

    fn find_callers(&mut self, component: &Component) {
        for FunctionEvents { function, events, .. } in &self.functions {
            for event in events {
                if let Action::Call(callee) = event.action {
                    let link = Link { function: *function, call: event.instruction, outer: None };
                    self.callers.entry(callee).or_default().push(link);
                }
            }
        }
        if self.callers.is_empty() {
            return;
        }
        for circle in component.callees_first.iter().rev() {
            for function in circle {
                let calls = self.calls_of(*function);
                // Where calls lead back, there is no end.
                let is_called_back = |link: &Link| circle.contains(&link.function);
                let through = |link: &Link| {
                    let outer = self.place(link.function).map_or(0, |at| self.functions[at].chains);
                    if is_called_back(link) { u64::MAX } else { outer.saturating_add(1) }
                };
                let chains = calls.iter().map(through).fold(0, u64::saturating_add);
                if let Some(at) = self.place(*function) {
                    self.functions[at].chains = chains;
                }
            }
        }
    }

    /// Whether what happens in a function is little enough to be looked at once for each chain of calls that
    /// leads there.
    pub fn is_looked_into(&self, function: u32) -> bool {
        /// All together, for one function.
        const MOST: u64 = 1024;
        self.place(function).is_some_and(|at| {
            let FunctionEvents { events, chains, .. } = &self.functions[at];
            chains.saturating_mul(events.len() as u64) <= MOST
        })
    }

    /// The calls of a function by its name.
    pub fn calls_of(&self, function: u32) -> &[Link] {
        self.callers.get(&function).map_or(&[], Vec::as_slice)
    }

    /// Whether none of the functions calls another one that has a body.
    pub fn are_without_calls(&self) -> bool {
        self.callers.is_empty()
    }

    fn place(&self, function: u32) -> Option<usize> {
        self.functions.binary_search_by_key(&function, |it| it.function).ok()
    }

    /// The events of one function in the order of its instructions.
    pub fn of(&self, function: u32) -> &[Event] {
        self.place(function).map_or(&[], |at| &self.functions[at].events)
    }

    /// The functions that have events, in the order of the module.
    pub fn functions(&self) -> impl Iterator<Item = u32> + '_ {
        self.functions.iter().map(|it| it.function)
    }

    /// Whether a function calls more than is looked at.
    pub fn is_truncated(&self, function: u32) -> bool {
        self.truncated.binary_search(&function).is_ok()
    }

    /// What may happen while `function` runs; nothing is known of one that was not looked at.
    pub fn summary(&self, function: u32) -> Option<&Summary> {
        self.summaries.get(self.functions[self.place(function)?].summary as usize)
    }

    /// These functions and what they can call, directly or not.
    pub fn reachable(&self, from: impl IntoIterator<Item = u32>) -> FxHashSet<u32> {
        let mut work: Vec<u32> = from.into_iter().collect();
        let mut reached = FxHashSet::default();
        while let Some(function) = work.pop() {
            if reached.insert(function) {
                work.extend(self.of(function).iter().filter_map(|event| match event.action {
                    Action::Call(callee) => Some(callee),
                    _ => None,
                }));
            }
        }
        reached
    }

    /// What may happen in functions that can call each other in turn, in their order. Their callees have summaries.
    fn summarize<'a>(&self, circle: &[u32], kinds: &mut Kinds<'a>) -> Summary {
        let mut summary = Summary::default();
        let mut seen: FxHashSet<Kind<'a>> = FxHashSet::default();
        let mut callees: Vec<u32> = Vec::new();
        // What is not called need not be short.
        let is_kernel = matches!(circle, [only] if kinds.unit.module.functions[*only as usize].is_entry);
        for function in circle {
            if is_kernel {
                summary.events.reserve(self.of(*function).len());
            }
            summary
                .uses
                .extend(self.place(*function).map_or_else(Uses::default, |at| self.functions[at].uses));
            for event in self.of(*function) {
                match event.action {
                    Action::Call(callee) => {
                        if circle.binary_search(&callee).is_err() {
                            callees.push(callee);
                        }
                    }
                    Action::Unknown => summary.unknown = true,
                    _ if is_kernel => summary.events.push(*event),
                    _ => {
                        if seen.insert(kinds.of(*event)) {
                            summary.events.push(*event);
                        }
                    }
                }
            }
        }
        callees.sort_unstable();
        callees.dedup();
        for callee in callees {
            let Some(inner) = self.summary(callee) else { continue };
            summary.unknown |= inner.unknown;
            summary.uses.extend(inner.uses);
            summary.events.extend(inner.events.iter().filter(|event| seen.insert(kinds.of(**event))));
        }
        if !is_kernel && summary.events.len() >= MOST {
            summary.events.truncate(MOST);
            summary.unknown = true;
            summary.is_cut = true;
        }
        summary
    }
}

/// What makes two events alike for whoever calls the functions that they are in: what they do, how
/// they are written, and the number of columns that they allocate.
type Kind<'a> = (std::mem::Discriminant<Action>, &'a str, Option<i128>);

/// Tells the kinds of events apart.
struct Kinds<'a> {
    unit: &'a Unit,
    instructions: &'a [Decoded<'a>],
    known: FxHashMap<u32, Kind<'a>>,
}

impl<'a> Kinds<'a> {
    fn of(&mut self, event: Event) -> Kind<'a> {
        let Self { unit, instructions, known } = self;
        *known.entry(event.instruction).or_insert_with(|| {
            let opcode = unit.source.slice(unit.module.instructions[event.instruction as usize].opcode);
            let columns = match event.action {
                Action::Tensor { index, .. } => match &instructions[index as usize].instruction {
                    Some(
                        Instruction::Alloc(Alloc { n_cols, .. })
                        | Instruction::Dealloc(Dealloc { n_cols, .. }),
                    ) => {
                        // A register may hold anything.
                        Some(n_cols.immediate().map_or(-i128::from(event.instruction) - 1, Immediate::value))
                    }
                    _ => None,
                },
                _ => None,
            };
            (std::mem::discriminant(&event.action), opcode, columns)
        })
    }
}

/// The events of one function, and what it does with mbarriers; of what is executed.
fn events(
    unit: &Unit,
    function: u32,
    instructions: &[Decoded<'_>],
    is_executed: &dyn Fn(u32) -> bool,
) -> (Vec<Event>, Uses) {
    /// Barriers, waits and the like, in most functions.
    const MORE: usize = 8;
    let module = &unit.module;
    let mut uses = Uses::default();
    // Whether something is read before that others may write meanwhile.
    let mut reads_strongly = false;
    let range = Cfg::instruction_range(module, module.functions[function as usize].body);
    let [mut tensor, end] =
        [range.start, range.end].map(|at| instructions.partition_point(|decoded| decoded.index < at));
    let mut found = Vec::with_capacity(end - tensor + MORE);
    for &instruction in unit.operations.others_within(range) {
        let opcode = unit.operations.of(instruction);
        let raw = &module.instructions[instruction as usize];
        let action = if opcode.control() == Control::Call {
            let mut named = calls::functions_named(module, &unit.symbols, raw.operands);
            match (named.next(), named.next()) {
                (Some(callee), None) if module.functions[callee as usize].body.len > 0 => {
                    Some(Action::Call(callee))
                }
                _ => Some(Action::Unknown),
            }
        } else if opcode.synchronization() == Synchronization::Tensor {
            let known = instructions.get(tensor).filter(|decoded| decoded.index == instruction);
            known.map(|decoded| {
                tensor += 1;
                decoded.form.map_or(Action::Unknown, |form| Action::Tensor {
                    index: tensor as u32 - 1,
                    operation: form.operation,
                    group: decoded.cta_group,
                })
            })
        } else if opcode.synchronization() == Synchronization::Fence {
            // What was read before a fence is acquired by it.
            let releases = opcode.has(Modifier::Semantics(Semantics::Release));
            (reads_strongly && !releases).then_some(Action::Acquire)
        } else {
            reads_strongly |= opcode.memory().reads_strongly;
            action(opcode)
        };
        let how = Use::of(opcode);
        if (action.is_some() || how.is_some()) && is_executed(instruction) {
            found.extend(action.map(|action| Event { instruction, action, through: None }));
            if let Some(how) = how {
                uses.add(how);
            }
        }
    }
    (found, uses)
}

/// What an instruction does that is neither a call nor one of tcgen05.
fn action(opcode: &Opcode) -> Option<Action> {
    match opcode.synchronization() {
        Synchronization::MbarrierWait => Some(Action::MbarrierWait),
        Synchronization::MbarrierArrive => Some(Action::MbarrierArrive),
        Synchronization::BarrierSync | Synchronization::ClusterWait => Some(Action::Barrier),
        Synchronization::BarrierArrive | Synchronization::ClusterArrive => Some(Action::BarrierArrive),
        Synchronization::WarpBarrier => Some(Action::WarpBarrier),
        Synchronization::ProxyFence => is_async_fence(opcode).then_some(Action::ProxyFence),
        Synchronization::BulkCopy => {
            opcode.spaces().next().is_some_and(Space::is_shared).then_some(Action::BulkLoad)
        }
        Synchronization::AsyncCopy => Some(Action::AsyncCopy),
        Synchronization::None | Synchronization::WarpCollective => {
            let effect = opcode.memory();
            if effect.acquires {
                return Some(Action::Acquire);
            }
            effect.shared.map(|how| match how {
                SharedWrite::Store => Action::SharedStore,
                SharedWrite::Update => Action::SharedUpdate,
            })
        }
        Synchronization::MbarrierInit
        | Synchronization::MbarrierInvalidate
        | Synchronization::MbarrierExpectTransactions
        | Synchronization::MbarrierCompleteTransactions
        | Synchronization::MbarrierQuery
        | Synchronization::Fence
        | Synchronization::MbarrierInitFence
        | Synchronization::AsyncCopyCommit
        | Synchronization::AsyncCopyWait
        | Synchronization::AsyncCopyArrive
        | Synchronization::BulkCommit
        | Synchronization::BulkWait
        | Synchronization::AsyncStore
        | Synchronization::FabricStart
        | Synchronization::FabricSubmit
        | Synchronization::FabricWait
        | Synchronization::WarpgroupFence
        | Synchronization::WarpgroupMultiply
        | Synchronization::WarpgroupCommit
        | Synchronization::WarpgroupWait
        | Synchronization::RegisterChange
        | Synchronization::DependentGrids
        | Synchronization::ClusterLaunch
        | Synchronization::Tensor => None,
    }
}

/// Whether a fence is one to the asynchronous proxy, for shared memory.
fn is_async_fence(opcode: &Opcode) -> bool {
    let is_async = opcode.has(Modifier::ProxyKind(ProxyKind::Async))
        || opcode.has(Modifier::ProxyKind(ProxyKind::AsyncGeneric));
    is_async && opcode.spaces().all(|space| space != Space::Global)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes() {
        let action = |opcode: &str| action(&Opcode::new(opcode));
        assert_eq!(action("mbarrier.try_wait.parity.shared::cta.b64"), Some(Action::MbarrierWait));
        assert_eq!(action("mbarrier.arrive.expect_tx.shared::cta.b64"), Some(Action::MbarrierArrive));
        assert_eq!(action("mbarrier.init.shared::cta.b64"), None);
        assert_eq!(action("bar.sync"), Some(Action::Barrier));
        assert_eq!(action("barrier.cta.sync.aligned"), Some(Action::Barrier));
        assert_eq!(action("bar.red.popc.u32"), Some(Action::Barrier));
        assert_eq!(action("bar.arrive"), Some(Action::BarrierArrive));
        assert_eq!(action("bar.warp.sync"), Some(Action::WarpBarrier));
        assert_eq!(action("barrier.cluster.wait.acquire.aligned"), Some(Action::Barrier));
        assert_eq!(action("barrier.cluster.arrive.release.aligned"), Some(Action::BarrierArrive));
        assert_eq!(action("fence.proxy.async.shared::cta"), Some(Action::ProxyFence));
        assert_eq!(action("fence.proxy.async"), Some(Action::ProxyFence));
        assert_eq!(action("membar.proxy.async"), Some(Action::ProxyFence));
        assert_eq!(action("fence.proxy.async.global"), None);
        assert_eq!(action("fence.proxy.alias"), None);
        assert_eq!(action("fence.acq_rel.gpu"), None);
        assert_eq!(action("st.shared.v4.b32"), Some(Action::SharedStore));
        assert_eq!(action("stmatrix.sync.aligned.m8n8.x1.b16"), Some(Action::SharedStore));
        assert_eq!(
            action("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32"),
            None,
            "another proxy's business"
        );
        assert_eq!(action("st.global.b32"), None);
        assert_eq!(action("atom.shared.add.u32"), Some(Action::SharedUpdate));
        assert_eq!(action("red.shared.add.u32"), Some(Action::SharedUpdate));
        assert_eq!(action("atom.global.add.u32"), None);
        assert_eq!(action("cp.async.ca.shared.global"), Some(Action::AsyncCopy));
        assert_eq!(
            action("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"),
            Some(Action::BulkLoad)
        );
        assert_eq!(action("cp.async.bulk.global.shared::cta.bulk_group"), None);
        assert_eq!(action("cp.async.bulk.prefetch.tensor.2d.L2.global"), None);
        assert_eq!(action("foo.shared.b32"), None);
    }
}
