use std::collections::BTreeMap;

use crate::analysis::events::{Event, Summary};
use crate::analysis::flow::{Flow, Role};
use crate::analysis::places::Place;
use crate::analysis::reach::Group;
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::Scalar;
use crate::rules::allocation::{allocated, allocating};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds allocations that are larger than an allocation that can execute before them in the same
    /// kernel.
    ///
    /// ## Why is this bad?
    /// The number of columns must not increase between any two allocations in the execution order of a CTA.
    /// A kernel that breaks this can wait forever for columns that are free but not adjacent.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.7.1
    NcolsIncreases Function check
}

/// What the ISA says.
const NOTE: &str = "the number of columns must not increase between two allocations in the execution order of a CTA \
                    (PTX ISA, 9.7.16.7.1)";

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows() {
        in_iterations(checker, &flow, findings);
        // One allocation follows only itself.
        let allocates = |event: &&Event| flow.alloc(**event).is_some();
        let several = |summary: &Summary| summary.events.iter().filter(allocates).nth(1).is_some();
        if !flow.summary().is_some_and(several) {
            continue;
        }
        let size = |event| allocated(checker, &flow, event);
        let pairs = flow.pairs_killing(
            |event| Role::QueryAndGen.only_if(size(event).is_some()),
            // What is larger than one is larger than a smaller one, too: of those, the last counts.
            |reach, allocations| {
                let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
                for (fact, event) in allocations {
                    let Some(size) = size(*event) else { continue };
                    let group = *groups.entry(size).or_insert_with(|| reach.group());
                    reach.join(*fact, group);
                }
                for (instruction, fewest) in allocating(checker, &flow) {
                    groups.range(fewest..).for_each(|(_, group)| reach.kill_group(instruction, *group));
                }
            },
            |pair| size(pair.first) < size(pair.then),
        );
        for pair in pairs {
            let (Some(before), Some(after)) = (size(pair.first), size(pair.then)) else { continue };
            let Some(alloc) = flow.alloc(pair.then) else { continue };
            findings.push(
                Diagnostic::new(
                    Code::NcolsIncreases,
                    alloc.n_cols.span(),
                    format!("an allocation of {after} columns can follow one of {before}"),
                    format!("{after} columns"),
                )
                .label(flow.span(pair.first), format!("{before} columns are allocated here before"))
                .note(NOTE)
                .help("allocate the larger piece first, or both at once"),
            );
        }
    }
}

/// An allocation that is larger in an iteration of a counted loop than in the previous one.
fn in_iterations(checker: &Checker<'_>, flow: &Flow<'_>, findings: &mut Findings<'_>) {
    for event in flow.events() {
        let Some(alloc) = flow.alloc(*event) else { continue };
        let Scalar::Register(register) = alloc.n_cols else { continue };
        let is_open = !register.component && register.plus.is_none() && flow.is_own(*event);
        if !is_open || allocated(checker, flow, *event).is_some() {
            continue;
        }
        let iterations = flow.in_iterations(event.instruction, register.id).values;
        let sizes: Vec<u64> = iterations.iter().map_while(Place::number).collect();
        let grows = sizes.windows(2).position(|sizes| sizes[0] < sizes[1]);
        let Some(iteration) = grows else { continue };
        let (before, after) = (sizes[iteration], sizes[iteration + 1]);
        findings.push(
            Diagnostic::new(
                Code::NcolsIncreases,
                alloc.n_cols.span(),
                format!("an allocation of {after} columns follows one of {before}"),
                format!("{before} columns in iteration {} of the loop, {after} in the next", iteration + 1),
            )
            .origins(&flow.decoded(*event).map_or_else(Vec::new, |it| checker.origins(it, &alloc.n_cols)))
            .note(NOTE)
            .help("allocate the larger piece first, or both at once"),
        );
    }
}
