use rustc_hash::FxHashSet;

use crate::analysis::allocated::Read;
use crate::analysis::cfg::BlockId;
use crate::analysis::events::{Action, Event};
use crate::analysis::flow::{Flow, Pair, Role, first_of_each_cause};
use crate::analysis::footprint::{accessed, addresses_read};
use crate::analysis::loads::register_of;
use crate::analysis::places::{Place, Root};
use crate::analysis::values::ValueId;
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::{Instruction, Scalar};
use crate::isa::generic::Computation;
use crate::isa::vocabulary::Operation;
use crate::resolve::symbols::Resolution;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds an allocation that is used or freed again after its `dealloc`: the address comes from the same
    /// slot in shared memory, or is the same value, and there is no `alloc` in between.
    ///
    /// Two instructions under different conditions, such as those of two warp roles, are not reported:
    /// perhaps no run executes both. The exception is a condition on thread numbers that shows that every
    /// run executes both in two warps. Then the second of two `dealloc`s is reported, and so is a use after
    /// a barrier that follows the `dealloc` of another warp.
    ///
    /// ## Why is this bad?
    /// The columns may belong to another CTA by then.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 32;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 32;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.7.1
    UseAfterDealloc Function check
}

/// The address that an instruction frees.
fn freed_place(flow: &Flow<'_>, event: Event) -> Option<Place> {
    match flow.instruction(event)? {
        Instruction::Dealloc(dealloc) => flow.scalar_place(event, &dealloc.taddr),
        _ => None,
    }
}

/// The addresses that an instruction uses or frees.
fn places(flow: &Flow<'_>, event: Event) -> Vec<Place> {
    let Some(instruction) = flow.instruction(event) else { return Vec::new() };
    let read = match instruction {
        Instruction::Mma(mma) => addresses_read(mma).collect(),
        _ => Vec::new(),
    };
    let accessed = accessed(instruction).map(|(address, _)| address);
    let used = accessed.into_iter().chain(read).filter_map(|address| flow.place(event, address));
    freed_place(flow, event).into_iter().chain(used).collect()
}

/// Whether two addresses lie in the same allocation, the first one being its start.
fn same_allocation(flow: &Flow<'_>, pair: Pair, freed: &Place, columns: Option<u32>, used: &Place) -> bool {
    match (freed.root, used.root) {
        // A literal column is one of the allocation that was freed, or says nothing of who allocated it.
        (Root::Literal, Root::Literal) => {
            let within = |(first, columns): (u32, u32), used: u32| (first..first + columns).contains(&used);
            let range = freed.column().zip(columns);
            range.zip(used.column()).is_some_and(|(range, used)| within(range, used))
        }
        (Root::Literal | Root::Variable(_), _) => false,
        (Root::Slot(slot), Root::Slot(other)) => {
            let reads = freed
                .load
                .zip(used.load)
                .map(|(one, other)| (Read { load: one, at: pair.from }, Read { load: other, at: pair.to }));
            slot == other
                && reads.is_none_or(|(first, then)| flow.slots().is_same_word(flow, slot, first, then))
        }
        (freed_root, used_root) => {
            freed_root == used_root && freed.column().is_some() && freed.offset == used.offset
        }
    }
}

/// Whether the address that an instruction frees was loaded in the same iteration of its loop, as far as that
/// can be seen: a register that is carried from one iteration to the next has another allocation's address.
fn is_of_this_round(flow: &Flow<'_>, event: Event) -> bool {
    /// Copies of a register of a register.
    const MOST: usize = 8;
    let Some(Instruction::Dealloc(dealloc)) = flow.instruction(event).filter(|_| flow.is_own(event)) else {
        return true;
    };
    let Scalar::Register(taddr) = dealloc.taddr else { return true };
    let (cfg, view) = (flow.cfg(), flow.facts.view(flow.unit));
    let is_before = |one: u32, other: u32| {
        let blocks = cfg.block_of(one).zip(cfg.block_of(other));
        blocks.is_some_and(|(own, at)| if own == at { one < other } else { cfg.dominates(own, at) })
    };
    let (mut at, mut register) = (event.instruction, taddr.id);
    if cfg.block_of(at).is_none_or(|block| !cfg.is_in_loop(block)) {
        return true;
    }
    for _ in 0..MOST {
        let id = match view.value(at, register) {
            Some(ValueId::Definition(id)) => id,
            Some(ValueId::Join(_)) => return false,
            None => return true,
        };
        let made = flow.facts.definitions.get(id).instruction;
        if !is_before(made, at) {
            return false;
        }
        let operands = flow.unit.module.instructions[made as usize].operands;
        let copied = flow.unit.symbols.operand(operands.start + 1);
        match (flow.unit.operations.of(made).computes(), copied) {
            (Computation::Move, Resolution::Register(source)) => (at, register) = (made, source),
            _ => return true,
        }
    }
    true
}

/// Whether some warp certainly executes the one, and some warp the other.
fn both_happen(flow: &Flow<'_>, pair: Pair) -> bool {
    let executing = flow.executing(None);
    let happens = |at: u32| executing.of(at).is_some_and(|it| it.warps() > 0);
    happens(pair.from) && happens(pair.to)
}

/// An event as what happens at an instruction of this function, where that calls a function which executes it always.
fn at_call(flow: &Flow<'_>, event: Event, at: u32) -> Event {
    match flow.event_at(at).map(|it| it.action) {
        Some(Action::Call(callee)) if flow.always_executes(callee, event.instruction) => {
            Event { instruction: at, ..event }
        }
        _ => event,
    }
}

/// Whether no run may have both.
fn are_exclusive(flow: &Flow<'_>, pair: Pair) -> bool {
    flow.mutually_exclusive(at_call(flow, pair.first, pair.from), at_call(flow, pair.then, pair.to))
}

/// Whether both deallocate, so that it does not matter which one comes first, or a barrier of all threads
/// lies between.
fn is_ordered(flow: &Flow<'_>, pair: Pair) -> bool {
    let cfg = flow.cfg();
    if flow.operation(pair.then) == Some(Operation::Dealloc) {
        return true;
    }
    let (Some(from), Some(to)) = (cfg.block_of(pair.from), cfg.block_of(pair.to)) else { return false };
    let is_between = |event: &Event| {
        let at = event.instruction;
        let raw = &flow.unit.module.instructions[at as usize];
        let Some(block) = cfg.block_of(at).filter(|block| !cfg.is_in_loop(*block)) else { return false };
        let is_behind = if block == from { pair.from < at } else { cfg.post_dominates(block, from) };
        let is_before = if block == to { at < pair.to } else { cfg.dominates(block, to) };
        flow.unit.module.guard(raw).is_none() && is_behind && is_before
    };
    flow.events().iter().filter(|event| event.action == Action::Barrier).any(is_between)
}

/// Where a thread has bypassed an `alloc` that another one may execute, on the path to a barrier at which
/// both meet: after the barrier, all of them may use the allocation. `between` are the blocks on the path.
fn passed_by(flow: &Flow<'_>, alloc: u32, barrier: BlockId, between: &FxHashSet<BlockId>) -> Vec<u32> {
    let cfg = flow.cfg();
    let Some(block) = cfg.block_of(alloc) else { return Vec::new() };
    let mut passed = Vec::new();
    let guard = |at: u32| flow.unit.module.guard(&flow.unit.module.instructions[at as usize]);
    let is_followed = cfg.block_of(alloc + 1) == Some(block);
    if is_followed && guard(alloc).is_some() && flow.paths().varies(alloc) {
        passed.push(alloc + 1);
    }
    let above = cfg.dominating(block).skip(1);
    for above in above.take_while(|above| flow.facts.budget.take(1) && cfg.post_dominates(barrier, *above)) {
        let Some(branch) = cfg.block(above).branch.filter(|_| !cfg.post_dominates(block, above)) else {
            continue;
        };
        if !flow.paths().varies(branch) {
            continue;
        }
        for &successor in &cfg.block(above).successors {
            let content = cfg.block(successor);
            // What comes from elsewhere has not met the `alloc`.
            let is_behind = content.predecessors.iter().all(|it| *it == above || between.contains(it));
            passed.push(if is_behind { content.instructions.start } else { branch });
        }
    }
    passed
}

/// Where threads have gone past an `alloc` of another one, in front of the barrier at which they meet.
fn beside_allocs(flow: &Flow<'_>) -> Vec<u32> {
    let cfg = flow.cfg();
    let has = |event: &Event, wanted: &dyn Fn(Event) -> bool| match event.action {
        Action::Call(callee) => {
            flow.all.summary(callee).is_some_and(|it| it.events.iter().any(|inner| wanted(*inner)))
        }
        _ => wanted(*event),
    };
    let is =
        |event: &Event, wanted: Operation| has(event, &|inner: Event| flow.operation(inner) == Some(wanted));
    let is_barrier = |event: &Event| has(event, &|inner: Event| inner.action == Action::Barrier);
    let ends =
        |event: &&Event| is_barrier(event) || is(event, Operation::Dealloc) || is(event, Operation::Alloc);
    let events = flow.events();
    let mut passed = Vec::new();
    for (at, alloc) in events.iter().enumerate().filter(|(_, event)| is(event, Operation::Alloc)) {
        let Some(block) = cfg.block_of(alloc.instruction) else { continue };
        let mut between = FxHashSet::from_iter([block]);
        let mut barriers = Vec::new();
        let mut work = vec![(block, at + 1)];
        while let Some((block, from)) = work.pop() {
            if !flow.facts.budget.take(1) {
                return passed;
            }
            let end = cfg.block(block).instructions.end;
            let met = events[from..].iter().take_while(|event| event.instruction < end).find(ends);
            match met {
                Some(event) if is_barrier(event) => barriers.push(block),
                Some(_) => {}
                None => {
                    let successors = cfg.block(block).successors.iter().copied();
                    work.extend(successors.filter(|it| between.insert(*it)).map(|it| {
                        let start = cfg.block(it).instructions.start;
                        (it, events.partition_point(|event| event.instruction < start))
                    }));
                }
            }
        }
        for barrier in barriers {
            passed.extend(passed_by(flow, alloc.instruction, barrier, &between));
        }
    }
    passed
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows() {
        let role = |event: Event| match flow.operation(event) {
            _ if event.action == Action::Unknown => Role::Kill,
            Some(Operation::Alloc) => Role::Kill,
            Some(Operation::Dealloc) => Role::QueryAndGen,
            Some(
                Operation::RelinquishAllocPermit
                | Operation::WaitLd
                | Operation::WaitSt
                | Operation::FenceBefore
                | Operation::FenceAfter
                | Operation::Commit,
            )
            | None => Role::None,
            Some(_) => Role::Query,
        };
        let pairs = |passed: &[u32]| {
            flow.pairs_killing(
                role,
                |reach, freed| {
                    let addressed = freed.iter().filter_map(|(fact, event)| {
                        Some((*fact, register_of(freed_place(&flow, *event)?.root)?))
                    });
                    flow.kill_at_writes(reach, addressed);
                    for at in passed {
                        reach.kill_all(*at);
                    }
                },
                |pair| {
                    let columns = || flow.decoded(pair.first).and_then(|freed| checker.columns(freed));
                    freed_place(&flow, pair.first).is_some_and(|freed| {
                        let same = |used: &Place| same_allocation(&flow, pair, &freed, columns(), used);
                        places(&flow, pair.then).iter().any(same)
                            && is_of_this_round(&flow, pair.first)
                            && is_of_this_round(&flow, pair.then)
                            && (!are_exclusive(&flow, pair)
                                || both_happen(&flow, pair) && is_ordered(&flow, pair))
                    })
                },
            )
        };
        let mut found = pairs(&[]);
        // Which threads bypass an `alloc` is expensive to compute, and matters only if something was found.
        if !found.is_empty() && flow.cfg().blocks().any(|(block, _)| flow.cfg().is_in_loop(block)) {
            found = pairs(&beside_allocs(&flow));
        }
        for pair in first_of_each_cause(found) {
            let again = flow.operation(pair.then) == Some(Operation::Dealloc);
            let what = if again { "deallocated again" } else { "used after it was deallocated" };
            let label = if again { "deallocates it again" } else { "uses it" };
            findings.push(
                Diagnostic::new(
                    Code::UseAfterDealloc,
                    flow.span(pair.then),
                    format!("Tensor Memory is {what}"),
                    label,
                )
                .label(flow.span(pair.first), "deallocated here")
                .note("`taddr` must point to a previous allocation (PTX ISA, 9.7.16.7.1)")
                .help(if again {
                    "deallocate each allocation once"
                } else {
                    "move the `tcgen05.dealloc` behind the last use"
                }),
            );
        }
    }
}
