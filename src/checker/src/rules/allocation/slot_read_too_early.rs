use std::cell::OnceCell;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::cfg::{Block, BlockId};
use crate::analysis::dominance::DominatorTree;
use crate::analysis::events::{Action, Event};
use crate::analysis::executing::{Executes, Executing};
use crate::analysis::flow::Flow;
use crate::analysis::footprint::{accessed, slot};
use crate::analysis::places::Slot;
use crate::analysis::reach::{Direction, Passed, Reach};
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::Instruction;
use crate::isa::generic::Synchronization;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds loads of the slot in shared memory to which `alloc` writes its address, if a path from the
    /// start of the kernel reaches the load without that `alloc`, and without a barrier, a wait on an
    /// mbarrier, or an acquiring read of a flag (by itself or by a fence after it).
    ///
    /// - An `alloc` of one warp does not order the loads of another warp.
    /// - A barrier that all warps pass before the `alloc` orders nothing after it. Neither does a barrier
    ///   of one warp (`bar.warp.sync`), or a named barrier in which the allocating or the reading warp does
    ///   not take part.
    /// - A load in a function that gets the address of the slot counts at the call.
    ///
    /// Nothing is reported if the load and the `alloc` are under conditions whose relation is unknown, or
    /// on paths past a loop that contains a barrier, as if the loop were skipped.
    ///
    /// ## Why is this bad?
    /// Another warp executes the `alloc`. Without a barrier its result may not be visible yet.
    ///
    /// ## Example
    /// ```ptx
    /// @p bra READ;
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// READ:
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// @p bra READ;
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// READ:
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.7.1
    SlotReadTooEarly Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        // Where each slot is written, in the order of the text, and in which order that first happens.
        let mut written: FxHashMap<Slot, Vec<Event>> = FxHashMap::default();
        let mut order: Vec<Slot> = Vec::new();
        let mut write = |event: Event, at: u32| {
            if let Some(alloc) = flow.alloc(event)
                && let Some(slot) = slot(&flow, event, &alloc.dst)
            {
                let allocs = written.entry(slot).or_default();
                if allocs.is_empty() {
                    order.push(slot);
                }
                allocs.push(Event { instruction: at, through: None, ..event });
            }
        };
        for event in flow.events() {
            match event.action {
                Action::Call(callee) => {
                    for alloc in flow.allocs_within(*event, callee) {
                        write(alloc, event.instruction);
                    }
                }
                _ => write(*event, event.instruction),
            }
        }
        if order.is_empty() {
            continue;
        }
        // The loads of these slots whose value is used as an address, in the order in which they are used.
        let mut seen: FxHashSet<Load> = FxHashSet::default();
        let mut loads: FxHashMap<Slot, Vec<Load>> = FxHashMap::default();
        let mut use_of = |event: Event, call: Option<Event>| {
            let Some(instruction) = flow.instruction(event) else { return };
            let place = match instruction {
                Instruction::Dealloc(dealloc) => flow.scalar_place(event, &dealloc.taddr),
                _ => accessed(instruction).and_then(|(address, _)| flow.place(event, address)),
            };
            if let Some((slot, load)) = place.and_then(|place| Some((place.slot()?, place.load?)))
                && written.contains_key(&slot)
                && let Some(load) = Load::of(&flow, load, call)
                && seen.insert(load)
            {
                loads.entry(slot).or_default().push(load);
            }
        };
        for event in flow.events() {
            match event.action {
                Action::Call(callee) => {
                    for inner in flow.within(*event, callee).iter() {
                        use_of(*inner, Some(*event));
                    }
                }
                _ => use_of(*event, None),
            }
        }
        let executing = OnceCell::new();
        let between = barriers(&flow);
        for slot in order {
            let (Some(allocs), Some(loads)) = (written.get(&slot), loads.get(&slot)) else { continue };
            let barriers = with_warp_barriers(&flow, &between, allocs);
            let certain: Vec<u32> =
                barriers.iter().copied().filter(|barrier| !is_of_some(&flow, *barrier)).collect();
            // Where some wait as well, what a run does is asked last.
            let are_certain = certain.len() == barriers.len();
            let paths = if are_certain { Paths::OfRuns } else { Paths::OfGraph };
            let mut early = Start::new(&flow, &executing, &certain, allocs).early(allocs, loads, paths);
            if !are_certain {
                early.retain(|load| {
                    let mut barriers = barriers.clone();
                    barriers.retain(|barrier| {
                        certain.binary_search(barrier).is_ok()
                            || is_met(&flow, &executing, *barrier, allocs, load.at)
                    });
                    let start = Start::new(&flow, &executing, &barriers, allocs);
                    !start.early(allocs, &[*load], Paths::OfRuns).is_empty()
                });
            }
            early.retain(|load| is_certain(&flow, &executing, allocs, load.at));
            early.retain(|load| !are_all_past_loops(&flow, &barriers, allocs, load.at));
            for load in early {
                let finding = Diagnostic::new(
                    Code::SlotReadTooEarly,
                    checker.unit.module.instructions[load.instruction as usize].opcode,
                    "the address of the allocation can be loaded before it is written",
                    "no barrier behind the allocation on a path from the kernel's start to here",
                );
                let finding = match flow.call_at(load.at).filter(|_| load.at != load.instruction) {
                    Some((call, callee)) => {
                        finding.label(call, format!("`{}` is called here", checker.unit.readable(callee)))
                    }
                    None => finding,
                };
                findings.push(
                    finding
                        .label(flow.span(allocs[0]), "this writes it, perhaps in another warp")
                        .note(
                            "the store of `alloc` is a weak memory operation: other threads see it only \
                             after synchronisation (PTX ISA, 9.7.16.7.1)",
                        )
                        .help("put a barrier, such as `bar.sync 0;`, between the `alloc` and the load"),
                );
            }
        }
    }
}

/// A load of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Load {
    instruction: u32,
    /// Where that happens in the kernel: there, or at a call of the function that contains it.
    at: u32,
}

impl Load {
    /// One of the kernel, or of a function that it calls and that loads whenever it is called and waits for
    /// nobody: at this call, or at the only one.
    fn of(flow: &Flow<'_>, instruction: u32, call: Option<Event>) -> Option<Self> {
        if flow.cfg().block_of(instruction).is_some() {
            return Some(Self { instruction, at: instruction });
        }
        let loads = |event: &Event| {
            let Action::Call(callee) = event.action else { return false };
            flow.always_executes(callee, instruction) && !may_wait(flow, callee)
        };
        let call = if let Some(call) = call {
            Some(call).filter(loads)?
        } else {
            let mut calls = flow.events().iter().filter(|event| loads(event));
            calls.next().filter(|_| calls.next().is_none()).copied()?
        };
        Some(Self { instruction, at: call.instruction })
    }
}

/// Which paths count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paths {
    /// All that the graph has.
    OfGraph,
    /// Those that a run may take, which it takes long to find out.
    OfRuns,
}

/// The part of a kernel that its start leads to without a barrier between.
struct Start<'a> {
    flow: &'a Flow<'a>,
    /// The barriers, in the order of the text.
    barriers: Vec<u32>,
    /// What every path to a block goes through, barriers not being passed.
    tree: DominatorTree,
    /// Who executes what, when that is first asked for.
    executing: &'a OnceCell<Executing<'a>>,
}

/// Where other threads are waited for, in the order of the text.
fn barriers(flow: &Flow<'_>) -> Vec<u32> {
    let mut waiting: FxHashMap<u32, bool> = FxHashMap::default();
    let waits = |event: &&Event| match event.action {
        Action::Barrier | Action::MbarrierWait | Action::Acquire | Action::Unknown => true,
        // It orders the threads of one warp only.
        Action::WarpBarrier => false,
        Action::Call(callee) => *waiting.entry(callee).or_insert_with(|| may_wait(flow, callee)),
        Action::Tensor { .. }
        | Action::MbarrierArrive
        | Action::BarrierArrive
        | Action::ProxyFence
        | Action::SharedStore
        | Action::SharedUpdate
        | Action::AsyncCopy
        | Action::BulkLoad => false,
    };
    flow.events().iter().filter(waits).map(|event| event.instruction).collect()
}

/// With the barriers of a warp after which all of its threads know what one of them has waited for.
fn with_warp_barriers(flow: &Flow<'_>, barriers: &[u32], allocs: &[Event]) -> Vec<u32> {
    let warp_barriers: Vec<u32> = flow
        .events()
        .iter()
        .filter(|event| event.action == Action::WarpBarrier)
        .map(|event| event.instruction)
        .collect();
    let mut all = barriers.to_vec();
    if !warp_barriers.is_empty() {
        let waits = barriers.iter().copied().filter(|barrier| !is_before_all(flow, *barrier, allocs));
        let behind = Passed::new(flow.cfg(), Direction::Forward, waits);
        all.extend(warp_barriers.into_iter().filter(|it| behind.has(flow.cfg(), *it)));
        all.sort_unstable();
    }
    all
}

/// Whether perhaps not all threads have part in a barrier: it has a name, or a guard.
fn is_of_some(flow: &Flow<'_>, barrier: u32) -> bool {
    let unit = flow.unit;
    let raw = &unit.module.instructions[barrier as usize];
    if unit.operations.of(barrier).synchronization() != Synchronization::BarrierSync {
        return false;
    }
    unit.module.guard(raw).is_some() || raw.operands.len > 1 || flow.written_barrier(barrier) != Some(0)
}

/// Whether the warp that allocates has part in such a barrier, by waiting or by arriving only, and every
/// warp that reads the slot.
fn is_met<'a>(
    flow: &Flow<'a>,
    executing: &OnceCell<Executing<'a>>,
    barrier: u32,
    allocs: &[Event],
    load: u32,
) -> bool {
    let executing = executing.get_or_init(|| flow.executing(None));
    // Others may wait at the same barrier elsewhere.
    let named = flow.written_barrier(barrier);
    let is_same = |event: &&Event| {
        event.action == Action::Barrier
            && (named.is_none()
                || flow.written_barrier(event.instruction).is_none_or(|other| Some(other) == named))
    };
    let waits: Option<Vec<Executes>> =
        flow.events().iter().filter(is_same).map(|event| executing.of(event.instruction)).collect();
    let Some(mut known) = waits else { return true };
    let arrives = |event: &Event| event.action == Action::BarrierArrive;
    let allocates = |alloc: &Event| {
        executing
            .of(alloc.instruction)
            .is_none_or(|allocates| known.iter().any(|waits| !allocates.is_of_other_warps(waits)))
    };
    if !allocs.iter().any(allocates) && !flow.events().iter().any(arrives) {
        return false;
    }
    let allocating: Option<Vec<Executes>> =
        allocs.iter().map(|alloc| executing.of(alloc.instruction)).collect();
    let Some(allocating) = allocating else { return true };
    known.extend(allocating);
    executing.of(load).is_none_or(|loads| !loads.is_of_more_warps_than_all(&known))
}

/// Whether the conditions of a load and of the allocations say that one is executed without the other:
/// the load has none that the allocations do not have, but for what is the same for the whole CTA, or a
/// warp is known that loads and allocates nothing.
fn is_certain<'a>(flow: &Flow<'a>, executing: &OnceCell<Executing<'a>>, allocs: &[Event], load: u32) -> bool {
    let cfg = flow.cfg();
    let Some(own) = cfg.block_of(load) else { return false };
    let leads_to_all = |above: BlockId| {
        allocs
            .iter()
            .all(|alloc| cfg.block_of(alloc.instruction).is_some_and(|block| cfg.dominates(above, block)))
    };
    let is_guarded = flow.unit.module.guard(&flow.unit.module.instructions[load as usize]).is_some();
    let mut is_conditional = is_guarded;
    // From the inside out: first the code under a condition, then the condition.
    let mut inner = own;
    for above in cfg.dominating(own) {
        if is_conditional || !flow.facts.budget.take(1) {
            break;
        }
        if !cfg.post_dominates(inner, above) {
            // A flag in shared memory may say whether something was allocated.
            is_conditional = cfg.block(above).branch.is_some_and(|branch| {
                flow.paths().varies(branch) || flow.paths().is_of_shared_memory(flow.unit, branch)
            });
            inner = above;
        }
        if leads_to_all(above) {
            break;
        }
    }
    if !is_conditional {
        return true;
    }
    let executing = executing.get_or_init(|| flow.executing(None));
    let Some(loads) = executing.of(load) else { return false };
    allocs.iter().all(|alloc| {
        let allocates = executing.of(alloc.instruction);
        allocates.is_some_and(|allocates| {
            loads.is_of_other_warps(&allocates) || loads.is_of_more_warps_than(&allocates)
        })
    })
}

/// Whether all paths without a barrier to a load bypass a loop that has one. Kernels are written for problems
/// that take at least one iteration; otherwise nothing is computed.
fn are_all_past_loops(flow: &Flow<'_>, barriers: &[u32], allocs: &[Event], load: u32) -> bool {
    let cfg = flow.cfg();
    let mut barriers = barriers.to_vec();
    barriers.retain(|barrier| !is_before_all(flow, *barrier, allocs));
    let block_of = |barrier: &u32| cfg.block_of(*barrier).filter(|block| cfg.is_in_loop(*block));
    let mut in_loops: Vec<BlockId> = barriers.iter().filter_map(block_of).collect();
    in_loops.dedup();
    if in_loops.is_empty() || !flow.facts.budget.take(cfg.len() as u64) {
        return false;
    }
    let mut seen = vec![false; cfg.len()];
    let mut work = vec![BlockId(0)];
    while let Some(from) = work.pop() {
        if std::mem::replace(&mut seen[from.index()], true) {
            continue;
        }
        let block = cfg.block(from);
        let barrier = first_of(&barriers, block);
        if block.instructions.contains(&load) && barrier.is_none_or(|barrier| load <= barrier) {
            return false;
        }
        if barrier.is_none() {
            work.extend(block.successors.iter().filter(|to| !leads_past_loop(flow, &in_loops, from, **to)));
        }
    }
    true
}

/// Whether a branch that all threads take together leads to where a loop ends, one of those that have these blocks.
fn leads_past_loop(flow: &Flow<'_>, in_loops: &[BlockId], from: BlockId, to: BlockId) -> bool {
    let cfg = flow.cfg();
    let Some(branch) = cfg.block(from).branch.filter(|_| cfg.post_dominates(to, from)) else { return false };
    let is_round = |block: BlockId| {
        let mut latches = cfg.block(from).predecessors.iter().filter(|latch| cfg.share_circle(from, **latch));
        !cfg.share_circle(from, to) && latches.all(|latch| cfg.dominates(block, *latch))
    };
    // The loop follows the branch, or the branch begins each iteration, and every iteration has the barrier.
    let is_between = |block: &BlockId| {
        cfg.dominates(from, *block)
            && !cfg.dominates(to, *block)
            && (!cfg.share_circle(from, *block) || is_round(*block))
    };
    flow.facts.budget.take(in_loops.len() as u64)
        && in_loops.iter().any(is_between)
        && !flow.paths().varies(branch)
}

/// Whether the thread that allocates has passed a barrier before, and never does so again.
fn is_before_all(flow: &Flow<'_>, barrier: u32, allocs: &[Event]) -> bool {
    let cfg = flow.cfg();
    let Some(block) = cfg.block_of(barrier) else { return false };
    allocs.iter().all(|alloc| match cfg.block_of(alloc.instruction) {
        Some(own) if own == block => barrier < alloc.instruction && !cfg.is_in_loop(block),
        Some(own) => cfg.dominates(block, own) && !cfg.is_in_loop(block),
        None => false,
    })
}

impl<'a> Start<'a> {
    fn new(
        flow: &'a Flow<'a>,
        executing: &'a OnceCell<Executing<'a>>,
        barriers: &[u32],
        allocs: &[Event],
    ) -> Self {
        let mut barriers = barriers.to_vec();
        barriers.retain(|barrier| !is_before_all(flow, *barrier, allocs));
        let cfg = flow.cfg();
        let block = |block: u32| cfg.block(BlockId(block));
        let passes = |from: &BlockId| first_of(&barriers, cfg.block(*from)).is_none();
        let tree = DominatorTree::new(
            cfg.len(),
            0,
            |from| {
                let next = if passes(&BlockId(from)) { &block(from).successors[..] } else { &[] };
                next.iter().map(|block| block.0)
            },
            |to| block(to).predecessors.iter().filter(|from| passes(from)).map(|block| block.0),
        );
        Self { flow, barriers, tree, executing }
    }

    /// The loads that can be executed before their slot is written.
    fn early(&self, allocs: &[Event], loads: &[Load], paths: Paths) -> Vec<Load> {
        let early: Vec<Load> = match allocs {
            [only] => {
                let early =
                    |load: &Load| self.reaches(load.at) && !self.leads_through(only.instruction, load.at);
                loads.iter().copied().filter(early).collect()
            }
            _ => loads.to_vec(),
        };
        // What the graph says of one allocation, a run may not do.
        if early.is_empty() { early } else { self.reaches_past(allocs, &early, paths) }
    }

    /// Whether a path without a barrier leads to `load`.
    fn reaches(&self, load: u32) -> bool {
        let cfg = self.flow.cfg();
        cfg.block_of(load).is_some_and(|block| {
            let barrier = first_of(&self.barriers, cfg.block(block));
            self.tree.position(block.0).is_some() && barrier.is_none_or(|barrier| load <= barrier)
        })
    }

    /// Whether all these paths go through `alloc`, and no warp passes it by.
    fn leads_through(&self, alloc: u32, load: u32) -> bool {
        let cfg = self.flow.cfg();
        let is_on_all = match (cfg.block_of(alloc), cfg.block_of(load)) {
            (Some(alloc_block), Some(block)) if alloc_block == block => alloc < load,
            (Some(alloc_block), Some(block)) => self.tree.dominates(alloc_block.0, block.0),
            _ => false,
        };
        is_on_all && !self.is_passed_by(alloc, load)
    }

    /// Whether a warp certainly executes the load that the guard of the allocation keeps from executing
    /// that.
    fn is_passed_by(&self, alloc: u32, load: u32) -> bool {
        let raw = &self.flow.unit.module.instructions[alloc as usize];
        if self.flow.unit.module.guard(raw).is_none() {
            return false;
        }
        let executing = self.executing.get_or_init(|| self.flow.executing(None));
        let both = executing.of(load).zip(executing.of(alloc));
        both.is_some_and(|(loads, allocates)| loads.is_of_more_warps_than(&allocates))
    }

    /// The loads that such paths lead to which go through none of `allocs`.
    fn reaches_past(&self, allocs: &[Event], loads: &[Load], paths: Paths) -> Vec<Load> {
        let certain = |load: &Load| allocs.iter().any(|alloc| self.leads_through(alloc.instruction, load.at));
        let asked: Vec<Load> =
            loads.iter().copied().filter(|load| self.reaches(load.at) && !certain(load)).collect();
        if asked.is_empty() || !self.flow.facts.budget.take(self.flow.events().len() as u64) {
            return Vec::new();
        }
        let mut reach = Reach::default();
        let entry = reach.fact();
        reach.generate_at_entry(entry);
        let counts = |alloc: &u32| !asked.iter().any(|load| self.is_passed_by(*alloc, load.at));
        let allocs = allocs.iter().map(|alloc| alloc.instruction).filter(counts);
        let kills = allocs.chain(self.barriers.iter().copied());
        kills.for_each(|kill| reach.kill_all(kill));
        for load in &asked {
            reach.query(load.at);
        }
        let mut found = Vec::new();
        self.flow.solve(reach, &mut |_, _| u64::MAX, &mut |query, _, can_happen| {
            let reached = paths == Paths::OfGraph || can_happen();
            if reached {
                found.push(asked[query.0 as usize]);
            }
            reached
        });
        found
    }
}

/// Whether another thread may be waited for in a function, or an allocation be made.
fn may_wait(flow: &Flow<'_>, callee: u32) -> bool {
    flow.all.summary(callee).is_none_or(|summary| {
        summary.unknown
            || summary.events.iter().any(|event| {
                matches!(event.action, Action::Barrier | Action::MbarrierWait | Action::Acquire)
                    || flow.alloc(*event).is_some()
            })
    })
}

/// The first of these instructions that is in a block.
fn first_of(instructions: &[u32], block: &Block) -> Option<u32> {
    let at = instructions.partition_point(|it| *it < block.instructions.start);
    instructions.get(at).copied().filter(|it| block.instructions.contains(it))
}
