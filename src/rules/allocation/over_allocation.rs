use std::collections::BTreeMap;

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::analysis::events::{Action, Event};
use crate::analysis::flow::{Flow, Role};
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::rules::allocation::columns;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds paths on which more than 512 columns are allocated with no `dealloc` between.
    ///
    /// ## Why is this bad?
    /// Tensor Memory has 512 columns. An allocation that cannot be served blocks until columns are
    /// free, and the kernel waits for itself.
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

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let most = checker.environment.features().columns();
    for flow in checker.flows() {
        if let Some(path) = worst_path(checker, &flow, most) {
            let total: u32 = path.iter().map(|(_, size)| size).sum();
            let Some(((last, size), before)) = path.split_last() else { continue };
            let in_loop = before.iter().any(|(event, _)| event == last);
            let label = if in_loop {
                format!("allocates {size} columns in each round of a loop")
            } else {
                format!("allocates {size} more columns")
            };
            let mut finding = Diagnostic::new(
                Code::OverAllocation,
                flow.span(*last),
                format!("{total} columns can be allocated at once; there are {most}"),
                label,
            );
            let mut seen = vec![*last];
            for (event, size) in before {
                if seen.contains(event) {
                    continue;
                }
                seen.push(*event);
                finding =
                    finding.label(flow.span(*event), format!("{size} columns are allocated here before"));
            }
            findings.push(
                finding
                    .note(format!(
                        "Tensor Memory has {most} columns, and `alloc` blocks until enough of them are free \
                         (PTX ISA, 9.7.16.1 and 9.7.16.7.1)"
                    ))
                    .help("deallocate before the next allocation, or allocate less"),
            );
        }
    }
}

/// Allocations that follow each other with no `dealloc` between and exceed Tensor Memory.
fn worst_path(checker: &Checker<'_>, flow: &Flow<'_>, most: u32) -> Option<Vec<(Event, u32)>> {
    let mut follows: Vec<(Event, Event)> = Vec::new();
    let role = |event: Event| match flow.operation(event) {
        _ if event.action == Action::Unknown => Role::Stop,
        Some(Operation::Dealloc) => Role::Stop,
        Some(Operation::Alloc) => Role::AskAndStart,
        _ => Role::None,
    };
    flow.pairs(role, |pair| {
        follows.push((pair.first, pair.then));
        false
    });
    let size = |event: Event| columns(checker, flow.decoded(event)?);
    let mut graph: DiGraph<(Event, u32), ()> = DiGraph::new();
    let mut nodes: BTreeMap<u32, NodeIndex> = BTreeMap::new();
    for (first, then) in follows {
        let mut node = |event: Event| -> Option<NodeIndex> {
            let size = size(event)?;
            Some(*nodes.entry(event.instruction).or_insert_with(|| graph.add_node((event, size))))
        };
        if let (Some(first), Some(then)) = (node(first), node(then)) {
            graph.update_edge(first, then, ());
        }
    }
    // Sources come last.
    let components = tarjan_scc(&graph);
    let mut best: BTreeMap<NodeIndex, Vec<(Event, u32)>> = BTreeMap::new();
    for component in components.iter().rev() {
        let mut path = component
            .iter()
            .flat_map(|node| graph.neighbors_directed(*node, petgraph::Incoming))
            .filter(|node| !component.contains(node))
            .filter_map(|node| best.get(&node))
            .max_by_key(|path| path.iter().map(|(_, size)| size).sum::<u32>())
            .cloned()
            .unwrap_or_default();
        let mut members: Vec<(Event, u32)> = component.iter().map(|node| graph[*node]).collect();
        members.sort_by_key(|(event, _)| event.instruction);
        let round: u32 = members.iter().map(|(_, size)| size).sum();
        let in_loop = component.iter().any(|node| graph.contains_edge(*node, *node)) || component.len() > 1;
        // A loop goes on until Tensor Memory is full.
        let rounds = if in_loop { most / round.max(1) + 1 } else { 1 };
        for _ in 0..rounds {
            path.extend(&members);
        }
        if path.iter().map(|(_, size)| size).sum::<u32>() > most {
            return Some(path);
        }
        for node in component {
            best.insert(*node, path.clone());
        }
    }
    None
}
