use petgraph::Direction;
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::cfg::BlockId;
use crate::analysis::events::{Action, Event};
use crate::analysis::flow::{Flow, Role};
use crate::analysis::loops::Loop;
use crate::analysis::reach::{self, Fact, Passed, Reach};
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::tensor_memory::TensorMemory;
use crate::isa::vocabulary::Operation;
use crate::rules::allocation::{allocated, allocating};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds paths that allocate more columns than Tensor Memory has, without a `dealloc` in between: more
    /// than 512, or 576 on `sm_107`.
    ///
    /// ## Why is this bad?
    /// An allocation that cannot be satisfied blocks until columns are free. The kernel waits for itself.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 512;
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot2], 256;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 256;
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot2], 256;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.1 and 9.7.16.7.1
    OverAllocation Function check
}

/// How many allocations of a path are shown one by one.
const SHOWN: usize = 8;

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let memory = checker.environment.tensor_memory();
    for flow in checker.flows() {
        let Some(path) = worst_path(checker, &flow, memory) else { continue };
        let Some((Allocation { event: last, size, .. }, before)) = path.allocations.split_last() else {
            continue;
        };
        let label = if path.in_loop {
            format!("allocates {size} columns in each iteration of a loop")
        } else {
            format!("allocates {size} more columns")
        };
        let mut finding = Diagnostic::new(
            Code::OverAllocation,
            flow.span(*last),
            format!("{} columns can be allocated at once; there are {}", path.total, memory.columns),
            label,
        );
        let (shown, more) = before.split_at(before.len().min(SHOWN));
        for Allocation { event, size, .. } in shown {
            finding = finding.label(flow.span(*event), format!("{size} columns are allocated here before"));
        }
        if let Some(end) = more.last() {
            let columns: u64 = more.iter().map(|it| u64::from(it.size)).sum();
            let message = format!("{columns} columns are allocated by {} more, up to here", more.len());
            finding = finding.label(flow.span(end.event), message);
        }
        findings.push(
            finding
                .note(format!(
                    "Tensor Memory has {} columns, and `alloc` blocks until enough of them are free \
                     (PTX ISA, 9.7.16.1 and 9.7.16.7.1)",
                    memory.columns
                ))
                .help("deallocate before the next allocation, or allocate less"),
        );
    }
}

/// An `alloc` of a known size.
#[derive(Clone, Copy)]
struct Allocation {
    event: Event,
    /// The instruction itself, or the call that leads to it.
    site: u32,
    size: u32,
}

/// Allocations that follow each other with no `dealloc` between.
struct Path {
    /// Each once.
    allocations: Vec<Allocation>,
    /// What they have together, those in a loop as often as it takes to exceed Tensor Memory.
    total: u64,
    /// Whether the last of them is repeated.
    in_loop: bool,
}

/// Allocations that can follow each other in any order: those of a loop, or a single one.
struct Circle {
    /// In the order of the text.
    members: Vec<NodeIndex>,
    iterations: u64,
    /// The circle before it on the worst path to it.
    before: Option<usize>,
    /// The columns of the worst path to its end.
    total: u64,
}

/// Whether no allocation can follow another one, and none is larger than Tensor Memory.
fn are_alone(flow: &Flow<'_>, memory: TensorMemory, size: impl Fn(Event) -> Option<u32>) -> bool {
    let Some(summary) = flow.summary() else { return false };
    let allocs = || summary.events.iter().filter_map(|event| Some((*event, size(*event)?)));
    if !allocs().all(|(event, size)| flow.is_own(event) && size <= memory.columns) {
        return false;
    }
    let sites = || allocs().map(|(event, _)| event.instruction);
    let passed = Passed::new(flow.cfg(), reach::Direction::Forward, sites());
    flow.facts.budget.take(flow.cfg().len() as u64);
    !sites().any(|site| passed.has(flow.cfg(), site))
}

/// Whether every iteration of a loop may do what one of them does: nothing depends on the iteration.
fn goes_on(flow: &Flow<'_>, sites: &[u32]) -> bool {
    let cfg = flow.cfg();
    let Some(loops) = flow.loops() else { return false };
    let has = |it: &Loop, at: u32| cfg.block_of(at).is_some_and(|block| it.blocks.contains(&block));
    let around = loops.iter().filter(|it| sites.iter().all(|at| has(it, *at)));
    let Some(inner) = around.min_by_key(|it| it.blocks.len()) else { return true };
    let stays = |block: &BlockId| inner.blocks.contains(block);
    let parts = |block: &BlockId| cfg.block(*block).successors.iter().filter(|it| stays(it)).count() > 1;
    let branches = inner.blocks.iter().filter(|it| parts(it)).filter_map(|it| cfg.block(*it).branch);
    let guarded = flow.events().iter().map(|event| event.instruction).filter(|at| has(inner, *at));
    flow.facts.budget.take(inner.blocks.len() as u64 + flow.events().len() as u64)
        && !branches.chain(guarded).any(|at| flow.paths().depends_on_round(at))
}

/// Whether what a loop counts decides when it ends.
fn ends_by_count(flow: &Flow<'_>, sites: &[u32]) -> bool {
    let cfg = flow.cfg();
    let Some(loops) = flow.loops() else { return true };
    let has = |it: &Loop, at: u32| cfg.block_of(at).is_some_and(|block| it.blocks.contains(&block));
    let around = loops.iter().filter(|it| sites.iter().all(|at| has(it, *at)));
    let Some(inner) = around.min_by_key(|it| it.blocks.len()) else { return false };
    let leaves = |block: &&BlockId| cfg.block(**block).successors.iter().any(|it| !inner.blocks.contains(it));
    let mut branches = inner.blocks.iter().filter(leaves).filter_map(|block| cfg.block(*block).branch);
    branches.any(|branch| flow.paths().depends_on_round(branch))
}

/// A path on which more is allocated than Tensor Memory has.
fn worst_path(checker: &Checker<'_>, flow: &Flow<'_>, memory: TensorMemory) -> Option<Path> {
    let size = |event: Event| allocated(checker, flow, event);
    let role = |event: Event| match flow.operation(event) {
        _ if event.action == Action::Unknown => Role::Kill,
        Some(Operation::Dealloc) => Role::Kill,
        _ => Role::QueryAndGen.only_if(size(event).is_some()),
    };
    if are_alone(flow, memory, size) {
        return None;
    }
    // Only the next allocation is queried: the one after it follows from that.
    let until_the_next = |reach: &mut Reach, _: &[(Fact, Event)]| {
        for (instruction, _) in allocating(checker, flow) {
            reach.kill_all(instruction);
        }
    };
    let mut graph: DiGraph<Allocation, ()> = DiGraph::new();
    // What a function allocates that is called twice is allocated twice.
    let mut nodes: FxHashMap<(u32, u32), NodeIndex> = FxHashMap::default();
    let mut edges: FxHashSet<(NodeIndex, NodeIndex)> = FxHashSet::default();
    flow.pairs_judged(role, until_the_next, |pair, can_happen| {
        let mut node = |event: Event, site: u32| -> Option<NodeIndex> {
            let size = size(event)?;
            let add = || graph.add_node(Allocation { event, site, size });
            Some(*nodes.entry((site, event.instruction)).or_insert_with(add))
        };
        if let (Some(first), Some(then)) = (node(pair.first, pair.from), node(pair.then, pair.to))
            && !edges.contains(&(first, then))
            && can_happen()
        {
            edges.insert((first, then));
            graph.add_edge(first, then, ());
        }
        false
    });
    let mut circles: Vec<Circle> = Vec::new();
    let mut circle_of = vec![0; graph.node_count()];
    // Sources come last.
    for mut members in kosaraju_scc(&graph).into_iter().rev() {
        members.sort_by_key(|node| (graph[*node].site, graph[*node].event.instruction));
        let incoming =
            || members.iter().flat_map(|node| graph.neighbors_directed(*node, Direction::Incoming));
        let in_loop = members.len() > 1 || incoming().any(|node| members.contains(&node));
        for node in &members {
            circle_of[node.index()] = circles.len();
        }
        let before = incoming()
            .map(|node| circle_of[node.index()])
            .filter(|circle| *circle < circles.len())
            .max_by_key(|circle| circles[*circle].total);
        let each: u64 = members.iter().map(|node| u64::from(graph[*node].size)).sum();
        // More than fills Tensor Memory is not counted.
        let counted = || {
            let view = flow.facts.view(flow.unit);
            members.iter().filter_map(|node| flow.facts.ranges.iterations(&view, graph[*node].site)).min()
        };
        let until_full = u64::from(memory.columns) / each.max(1) + 1;
        let sites: Vec<u32> = members.iter().map(|node| graph[*node].site).collect();
        let iterations = if !in_loop {
            1
        } else if goes_on(flow, &sites) {
            // Of a loop with as many iterations as the kernel is told, no more is certain than that it repeats.
            let unknown = || if ends_by_count(flow, &sites) { 2 } else { until_full };
            counted().unwrap_or_else(unknown).min(until_full)
        } else if sites.len() == 1 {
            // One that follows itself does so once at least.
            2
        } else {
            1
        };
        let total = before.map_or(0, |before| circles[before].total) + iterations * each;
        circles.push(Circle { members, iterations, before, total });
        if total > u64::from(memory.columns) {
            return path(&graph, &circles);
        }
    }
    None
}

/// The path to the last of `circles`.
fn path(graph: &DiGraph<Allocation, ()>, circles: &[Circle]) -> Option<Path> {
    let last = circles.last()?;
    let way = std::iter::successors(Some(last), |circle| circles.get(circle.before?));
    let mut way: Vec<&Circle> = way.collect();
    way.reverse();
    let allocations = way.iter().flat_map(|circle| &circle.members).map(|node| graph[*node]).collect();
    Some(Path { allocations, total: last.total, in_loop: last.iterations > 1 })
}
