use crate::analysis::allocated::is_stored_to;
use crate::analysis::cfg::BlockId;
use crate::analysis::events::Event;
use crate::analysis::flow::{Flow, Pair, Role};
use crate::analysis::footprint;
use crate::analysis::places::{Slot, SlotRoot};
use crate::analysis::reach::{Direction, Passed};
use crate::diagnostic::{Diagnostic, Findings, Severity};
use crate::instruction::Instruction;
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds kernels that allocate Tensor Memory and never free it, neither themselves nor in a function
    /// that they call. Of several allocations, it finds one whose address no `dealloc` gets, or that
    /// another allocation overwrites. An allocation in a loop counts, too, if the only `dealloc` comes
    /// after the loop: it is a warning if the number of iterations is not known.
    ///
    /// A kernel that frees its columns at its end must not leave earlier: by a `ret` that all threads of a
    /// CTA execute together, or by a branch of all threads past the `dealloc` to the last `ret`.
    ///
    /// ## Why is this bad?
    /// A kernel must free all Tensor Memory that it allocates before it exits. Otherwise the next kernel on
    /// the multiprocessor waits for columns that are never freed.
    ///
    /// The path of a single thread does not matter: one warp role may allocate and another one free.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 128;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.7.1
    MissingDealloc Kernel check
}

const FREED: &str = "all Tensor Memory that a kernel allocates must be deallocated before the kernel exits \
                     (PTX ISA, 9.7.16.7.1)";

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let Some(summary) = flow.summary().filter(|summary| !summary.unknown) else { continue };
        let of = |operation| summary.events.iter().find(|event| flow.operation(**event) == Some(operation));
        let (Some(alloc), None) = (of(Operation::Alloc), of(Operation::Dealloc)) else {
            one_of_several(&flow, findings);
            overwritten(checker, &flow, findings);
            in_each_iteration(checker, &flow, findings);
            returns_before(&flow, findings);
            continue;
        };
        let kernel = checker.unit.module.functions[flow.function() as usize].name;
        let name = checker.unit.readable(kernel);
        findings.push(
            Diagnostic::new(
                Code::MissingDealloc,
                flow.span(*alloc),
                format!("kernel `{name}` allocates Tensor Memory and never deallocates it"),
                "allocated here",
            )
            .label(kernel, "neither the kernel nor what it calls has a `tcgen05.dealloc`")
            .note(FREED)
            .help("let one warp execute `tcgen05.dealloc` with the same number of columns before it exits"),
        );
    }
}

/// An allocation whose address the next one overwrites, where only one address is ever deallocated.
fn overwritten(checker: &Checker<'_>, flow: &Flow<'_>, findings: &mut Findings<'_>) {
    let Some(summary) = flow.summary() else { return };
    let of =
        |operation| summary.events.iter().filter(move |event| flow.operation(**event) == Some(operation));
    let (mut allocs, mut deallocs) = (of(Operation::Alloc), of(Operation::Dealloc));
    let (Some(dealloc), None) = (deallocs.next(), deallocs.next()) else { return };
    if allocs.clone().count() < 2 || !flow.is_own(*dealloc) || !allocs.all(|event| flow.is_own(*event)) {
        return;
    }
    // One instruction that frees one address, once.
    let is_once = flow.cfg().block_of(dealloc.instruction).is_some_and(|block| !flow.cfg().is_in_loop(block));
    let place = match flow.instruction(*dealloc) {
        Some(Instruction::Dealloc(it)) => flow.scalar_place(*dealloc, &it.taddr),
        _ => None,
    };
    let Some(slot) = place.filter(|place| is_once && place.load.is_some()).and_then(|place| place.slot())
    else {
        return;
    };
    let into = |event: Event| {
        flow.alloc(event).is_some_and(|alloc| footprint::slot(flow, event, &alloc.dst) == Some(slot))
    };
    let role = |event: Event| match flow.operation(event) {
        Some(Operation::Alloc) => Role::QueryAndGen.only_if(into(event)),
        Some(Operation::Dealloc) => Role::Kill,
        _ => Role::None,
    };
    let is_other = |pair: Pair| pair.first.instruction != pair.then.instruction;
    // No other allocation follows the one that is freed.
    let executing = flow.executing(None);
    let happens = |event: Event| executing.of(event.instruction).is_some_and(|it| it.warps() > 0);
    let size = |event: Event| flow.decoded(event).and_then(|decoded| checker.columns(decoded));
    // More columns than before, or than there are, is another rule's.
    let is_too_large = |pair: Pair| {
        let sizes = size(pair.first).zip(size(pair.then));
        sizes.is_some_and(|(first, then)| {
            then > first || first + then > checker.environment.tensor_memory().columns
        })
    };
    for pair in flow.first_pairs(role, is_other) {
        if is_too_large(pair) {
            continue;
        }
        if !happens(pair.first) || !happens(pair.then) || is_stored_to(flow, slot) {
            continue;
        }
        findings.push(
            Diagnostic::new(
                Code::MissingDealloc,
                flow.span(pair.first),
                "Tensor Memory is allocated and never deallocated",
                "the address of this allocation is lost",
            )
            .label(flow.span(pair.then), "this one writes its address to the same slot")
            .label(flow.span(*dealloc), "and only one is deallocated")
            .note(FREED)
            .help("deallocate each allocation, and give each a slot of its own"),
        );
    }
}

/// An allocation in a loop, where one address is deallocated, once, outside of that loop.
fn in_each_iteration(checker: &Checker<'_>, flow: &Flow<'_>, findings: &mut Findings<'_>) {
    /// Loops of more blocks are not looked at.
    const BLOCKS: usize = 128;
    let Some(summary) = flow.summary().filter(|summary| !summary.unknown) else { return };
    let of =
        |operation| summary.events.iter().filter(move |event| flow.operation(**event) == Some(operation));
    let mut deallocs = of(Operation::Dealloc);
    let (Some(dealloc), None) = (deallocs.next(), deallocs.next()) else { return };
    let cfg = flow.cfg();
    let is_looped = |at: u32| cfg.block_of(at).is_some_and(|block| cfg.is_in_loop(block));
    if !flow.is_own(*dealloc) || is_looped(dealloc.instruction) {
        return;
    }
    // Each warp may deallocate what it has allocated, at an address of its own.
    let place = match flow.instruction(*dealloc) {
        Some(Instruction::Dealloc(it)) => flow.scalar_place(*dealloc, &it.taddr),
        _ => None,
    };
    if place.and_then(|place| place.slot()).is_none() {
        return;
    }
    for alloc in of(Operation::Alloc).filter(|event| flow.is_own(**event) && is_looped(event.instruction)) {
        let Some(block) = cfg.block_of(alloc.instruction) else { continue };
        let Some(inner) = flow.loop_around(block, BLOCKS) else { continue };
        let is_in_each =
            cfg.dominates(block, inner.last) && !flow.paths().depends_on_round(alloc.instruction);
        let executes = flow.executing(None).of(alloc.instruction);
        if !is_in_each || executes.is_none_or(|it| it.warps() == 0) {
            continue;
        }
        let iterations = flow.facts.ranges.iterations(&flow.facts.view(flow.unit), alloc.instruction);
        let Some(columns) = flow.decoded(*alloc).and_then(|decoded| checker.columns(decoded)) else {
            continue;
        };
        // More columns than there are is another rule's.
        let total = u64::from(columns) * iterations.unwrap_or(2);
        if iterations.is_some_and(|iterations| iterations < 2)
            || total > u64::from(checker.environment.tensor_memory().columns)
        {
            continue;
        }
        // A number of iterations is the most that there are, unless nothing else leaves the loop.
        let leaves = |block: &&BlockId| {
            let content = cfg.block(**block);
            content.leaves || content.successors.iter().any(|next| !inner.blocks.contains(next))
        };
        let certain = iterations.filter(|_| inner.blocks.iter().filter(leaves).count() == 1);
        let finding = Diagnostic::new(
            Code::MissingDealloc,
            flow.span(*alloc),
            "Tensor Memory is allocated in each iteration of a loop and deallocated once",
            match certain {
                Some(iterations) => format!("allocates {iterations} times"),
                None => "allocates in each iteration".to_owned(),
            },
        )
        .label(flow.span(*dealloc), "only one of the allocations is deallocated")
        .note(FREED)
        .help("deallocate in each iteration, or allocate once before the loop");
        // Another loop may have one iteration.
        findings.push(if certain.is_some() { finding } else { finding.severity(Severity::Warning) });
    }
}

/// How many exits of a kernel are examined.
const MOST_WAYS_OUT: usize = 8;

/// A condition that is uniform in the CTA, and a `ret` after it before anything is
/// deallocated.
fn returns_before(flow: &Flow<'_>, findings: &mut Findings<'_>) {
    let Some(summary) = flow.summary() else { return };
    let is = |event: &Event, operation| flow.operation(*event) == Some(operation);
    let deallocs = || summary.events.iter().filter(|event| is(event, Operation::Dealloc));
    let has_alloc = flow.events().iter().any(|event| is(event, Operation::Alloc));
    if !has_alloc || !deallocs().all(|event| flow.is_own(*event)) {
        return;
    }
    let cfg = flow.cfg();
    let freed = Passed::new(cfg, Direction::Forward, deallocs().map(|event| event.instruction));
    flow.facts.budget.take(cfg.len() as u64);
    let leaves = |at: &u32| flow.unit.operations.of(*at).control().leaves() && !freed.has(cfg, *at);
    // What leaves ends a block.
    let last = cfg.blocks().filter_map(|(_, block)| block.instructions.clone().next_back());
    let mut leaving: Vec<u32> = last.filter(leaves).collect();
    let deallocs: Vec<u32> = deallocs().map(|event| event.instruction).collect();
    leaving.extend(branches_past(flow, &freed, &deallocs));
    if leaving.is_empty() {
        return;
    }
    let executing = flow.executing(None);
    let leaving = leaving.into_iter().filter(|at| executing.is_for_whole_block(*at));
    for at in leaving.take(MOST_WAYS_OUT) {
        let before = Passed::new(cfg, Direction::Backward, std::iter::once(at));
        flow.facts.budget.take(cfg.len() as u64);
        // Who certainly allocates has done so before all threads leave: some warp, where a block has as many as it
        // can have.
        let allocates = |event: &&Event| {
            is(event, Operation::Alloc)
                && before.has(cfg, event.instruction)
                && executing.of(event.instruction).is_some_and(|it| it.certain_warps().next().is_some())
        };
        if let Some(alloc) = flow.events().iter().find(allocates) {
            let leaving = &flow.unit.module.instructions[at as usize];
            findings.push(
                Diagnostic::new(
                    Code::MissingDealloc,
                    leaving.opcode,
                    "all threads leave the kernel before its Tensor Memory is deallocated",
                    "the condition is the same for all threads of a block",
                )
                .label(flow.span(*alloc), "allocated here")
                .note(FREED)
                .help("leave before the `tcgen05.alloc`, or deallocate before leaving"),
            );
        }
    }
}

/// Branches of which one way leads to a `dealloc` and the other to none, but to a `ret` that those share who have
/// deallocated: optimisers merge all of a kernel's.
fn branches_past(flow: &Flow<'_>, freed: &Passed, deallocs: &[u32]) -> Vec<u32> {
    let cfg = flow.cfg();
    let frees = Passed::new(cfg, Direction::Backward, deallocs.iter().copied());
    let first = |block: BlockId| cfg.block(block).instructions.start;
    let leads_to_dealloc =
        |block: &BlockId| frees.has(cfg, first(*block)) || deallocs.contains(&first(*block));
    let returns = |block: BlockId| {
        let last = cfg.block(block).instructions.clone().next_back();
        last.is_some_and(|at| flow.unit.operations.of(at).control().leaves() && freed.has(cfg, at))
    };
    let mut found = Vec::new();
    for (_, block) in cfg.blocks() {
        let Some(branch) = block.branch.filter(|at| !freed.has(cfg, *at)) else { continue };
        let mut past = block.successors.iter().filter(|to| !leads_to_dealloc(to));
        let (Some(past), None, 2) = (past.next(), past.next(), block.successors.len()) else { continue };
        let Some(after) = cfg.reached(Direction::Forward, [*past], &flow.facts.budget, |_| true) else {
            break;
        };
        if after.into_iter().any(returns) {
            found.push(branch);
        }
    }
    found
}

/// Allocations whose slot no `dealloc` reads, where it is known of each which slot that is.
fn one_of_several(flow: &Flow<'_>, findings: &mut Findings<'_>) {
    let Some(summary) = flow.summary() else { return };
    let mut allocated: Vec<(Event, Slot)> = Vec::new();
    let mut freed: Vec<Slot> = Vec::new();
    for event in &summary.events {
        let slot = if let Some(alloc) = flow.alloc(*event) {
            flow.is_own(*event).then(|| footprint::slot(flow, *event, &alloc.dst)).flatten()
        } else if let Some(dealloc) = flow.dealloc(*event) {
            flow.scalar_place(*event, &dealloc.taddr).and_then(|place| place.slot())
        } else {
            continue;
        };
        let Some(slot) =
            slot.filter(|slot| !matches!(slot.root, SlotRoot::Register(_) | SlotRoot::Parameter(_)))
        else {
            return;
        };
        match flow.operation(*event) {
            Some(Operation::Alloc) => allocated.push((*event, slot)),
            _ => freed.push(slot),
        }
    }
    if allocated.iter().all(|(_, slot)| freed.contains(slot)) {
        return;
    }
    // What comes from elsewhere may be any of them.
    let is_allocated = |slot: &Slot| allocated.iter().any(|(_, other)| other == slot);
    if !freed.iter().all(is_allocated) || freed.iter().any(|slot| is_stored_to(flow, *slot)) {
        return;
    }
    for (event, slot) in &allocated {
        if freed.contains(slot) {
            continue;
        }
        let Some(other) = freed.first().and_then(|slot| allocated.iter().find(|(_, it)| it == slot)) else {
            continue;
        };
        findings.push(
            Diagnostic::new(
                Code::MissingDealloc,
                flow.span(*event),
                "Tensor Memory is allocated and never deallocated",
                "no `tcgen05.dealloc` is given the address that this writes",
            )
            .label(flow.span(other.0), "what is deallocated is allocated here")
            .note(FREED)
            .help("deallocate each allocation"),
        );
    }
}
