use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::cfg::BlockId;
use crate::analysis::events::{Action, Event};
use crate::analysis::flow::Flow;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::generic::Control;
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds `.sync.aligned` instructions that only some threads of a warp execute: after a condition on
    /// `%tid` or `%laneid` that splits a warp, or after an `exit` or `ret` of some of its threads.
    /// Also in a loop that the threads of a warp leave after different numbers of iterations, if these are
    /// known for each thread.
    ///
    /// ## Why is this bad?
    /// All threads of the warp must execute them together, and none may have exited. Otherwise the behavior
    /// is undefined.
    ///
    /// ## Example
    /// ```ptx
    /// mov.u32 r1, %laneid;
    /// setp.lt.u32 p, r1, 16;
    /// @p tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.u32 r1, %laneid;
    /// setp.lt.u32 p, r1, 16;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// @p st.shared.b32 [slot], r0;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.5, 9.7.16.7.1, 9.7.16.8.3 and 9.7.16.8.4
    AlignedInPartOfWarp Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let aligned = |event: &Event| flow.is_aligned(*event);
        // A call counts as the contents of the function.
        let concerned = flow.events().iter().filter_map(|event| match event.action {
            Action::Call(callee) => {
                let summary = flow.all.summary(callee)?;
                Some((*event, *summary.events.iter().find(|it| aligned(it))?))
            }
            _ => aligned(event).then_some((*event, *event)),
        });
        let uniformity = flow.uniformity();
        let view = flow.facts.view(flow.unit);
        let executing = flow.executing(None);
        // Instructions under one condition are one mistake.
        let mut found: BTreeMap<Option<u32>, Vec<(Event, Event, u32)>> = BTreeMap::new();
        let parted = |event: Event| {
            let at = event.instruction;
            if !uniformity.may_be_selected(&view, at, &flow.facts.budget)
                || uniformity.elected_by(&view, at).is_some()
            {
                return None;
            }
            let lanes = executing.of(at)?.part_of_warp()?;
            Some((executing.parted_by(at), lanes))
        };
        // Adjacent instructions are mostly queried together.
        let mut last = None;
        for (event, inner) in concerned {
            let condition = flow.condition(event);
            let parted = match last {
                Some((known, parted)) if known == condition => parted,
                _ => parted(event),
            };
            last = Some((condition, parted));
            if let Some((cause, lanes)) = parted {
                found.entry(cause).or_default().push((event, inner, lanes));
            }
        }
        in_uneven_loops(checker, &flow, findings);
        for (cause, offences) in found {
            let Some(((event, inner, lanes), more)) = offences.split_first() else { continue };
            let name = flow.operation(*inner).map_or("", Operation::name);
            let threads = match lanes.count_ones() {
                1 => "1 thread".to_owned(),
                threads => format!("{threads} threads"),
            };
            let mut finding = Diagnostic::new(
                Code::AlignedInPartOfWarp,
                flow.span(*event),
                format!("`tcgen05.{name}` is `.sync.aligned`, but only {threads} of a warp get here"),
                "needs all threads of the warp",
            );
            if let Some(cause) = cause {
                let made = checker.unit.module.instructions[cause as usize].opcode;
                let chooses = checker.unit.operations.of(cause).control() == Control::IndexedBranch;
                finding = finding.label(
                    made,
                    if chooses {
                        "threads of one warp go to different labels here"
                    } else {
                        "this is true for some threads of the warp, and false for others"
                    },
                );
            }
            if event != inner {
                finding = finding.label(flow.span(*inner), "the instruction, in the function that is called");
            }
            if let Some((last, ..)) = more.last() {
                finding = finding.label(flow.span(*last), format!("and {} more, up to here", more.len()));
            }
            findings.push(
                finding
                    .note(
                        "`.aligned` requires all threads of the warp to execute the same instruction; a whole \
                         warp issues it (PTX ISA, 9.7.16.5, Table 46)",
                    )
                    .help(format!("let whole warps execute `tcgen05.{name}`, and select threads behind it")),
            );
        }
    }
}

/// What stands in a loop that the threads of a warp leave after different numbers of iterations.
fn in_uneven_loops(checker: &Checker<'_>, flow: &Flow<'_>, findings: &mut Findings<'_>) {
    /// Loops of more blocks are not looked at.
    const BLOCKS: usize = 32;
    let cfg = flow.cfg();
    let is_looped = |event: &&Event| {
        flow.is_aligned(**event) && cfg.block_of(event.instruction).is_some_and(|block| cfg.is_in_loop(block))
    };
    let mut events = flow.events().iter().filter(is_looped).peekable();
    if events.peek().is_none() {
        return;
    }
    let executing = flow.executing(None);
    let (uniformity, view) = (flow.uniformity(), flow.facts.view(flow.unit));
    // One loop is one mistake.
    let mut judged: BTreeSet<(BlockId, BlockId)> = BTreeSet::new();
    for event in events {
        let Some(block) = cfg.block_of(event.instruction) else { continue };
        let Some(inner) = flow.loop_around(block, BLOCKS) else { continue };
        if !cfg.dominates(block, inner.last)
            || uniformity.elected_by(&view, event.instruction).is_some()
            || !judged.insert((inner.first, inner.last))
        {
            continue;
        }
        let Some(trips) = executing.differing_trips(&inner, event.instruction) else { continue };
        let name = flow.operation(*event).map_or("", Operation::name);
        let compares = checker.unit.module.instructions[trips.compares as usize].opcode;
        let (least, most) = (trips.least, trips.most);
        findings.push(
            Diagnostic::new(
                Code::AlignedInPartOfWarp,
                flow.span(*event),
                format!(
                    "`tcgen05.{name}` is `.sync.aligned`, but the threads of a warp execute it different numbers \
                     of times"
                ),
                "needs all threads of the warp in each iteration",
            )
            .label(
                compares,
                format!("some threads leave the loop in iteration {least}, others in iteration {most}"),
            )
            .note(
                "`.aligned` requires all threads of the warp to execute the same instruction; a whole \
                 warp issues it (PTX ISA, 9.7.16.5, Table 46)",
            )
            .help("give all threads of a warp the same number of iterations"),
        );
    }
}
