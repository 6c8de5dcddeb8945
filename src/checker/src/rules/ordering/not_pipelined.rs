use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::analysis::events::{Action, Event};
use crate::analysis::flow::{Flow, Role, first_of_each_cause};
use crate::analysis::footprint::{Touched, touched};
use crate::analysis::loads::register_of;
use crate::analysis::pending::Pending;
use crate::analysis::places::Root;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::asynchrony::{Access, Condition, pipelined};
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds two `mma`, `cp` or `shift` of one thread that access the same cells of Tensor Memory, are not
    /// a pipelined pair, and have no wait on an mbarrier and no barrier on any path between them.
    ///
    /// - Two multiplies whose accumulators overlap but differ in address or shape.
    /// - A multiply that uses the accumulator of another as A, metadata or scales.
    /// - A copy onto an accumulator.
    /// - Copies and shifts of the same cells.
    ///
    /// Nothing is reported if the cells are not certainly the same.
    ///
    /// ## Why is this bad?
    /// The operations are asynchronous and complete in any order. Only the pairs that the ISA lists execute
    /// in the order of issue.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 taddr, 0;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, 0;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08400490, 0;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b32 taddr, 0;
    /// mov.b32 taddr2, 128;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, 0;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr2], adesc, bdesc, 0x08400490, 0;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.6.2
    NotPipelined Function check
}

/// Kinds of operations counted from one address that others are held against; compilers' kernels have
/// fewer.
const MOST: usize = 64;

/// Whether a function executes more than one operation, or one of them again.
fn has_several(flow: &Flow<'_>) -> bool {
    let is_operation =
        |event: &&Event| flow.operation(**event).is_some_and(|it| Pending::Operation.started_by(it));
    let mut operations = flow.events().iter().filter(is_operation);
    let Some(first) = operations.next() else { return false };
    let cfg = flow.cfg();
    operations.next().is_some() || cfg.block_of(first.instruction).is_none_or(|it| cfg.is_in_loop(it))
}

/// The operations that race with others of a function, wherever these are.
struct Racing {
    /// What operations do, each once.
    kinds: Vec<Rc<Touched>>,
    /// In the order of the instructions: those that race, and which of these they do.
    operations: Vec<(u32, usize)>,
}

impl Racing {
    /// Those of one function.
    fn of(flow: &Flow<'_>) -> Self {
        // The operations, each once.
        let mut kinds: Vec<Rc<Touched>> = Vec::new();
        let mut numbers: FxHashMap<Rc<Touched>, usize> = FxHashMap::default();
        let mut by_root: FxHashMap<Root, Vec<usize>> = FxHashMap::default();
        let mut all: Vec<(u32, usize)> = Vec::new();
        for event in flow.events() {
            if !flow.operation(*event).is_some_and(|it| Pending::Operation.started_by(it)) {
                continue;
            }
            let touched = touched(flow, *event);
            // So nearly always.
            if let Some((_, last)) = all.last().filter(|(_, last)| *kinds[*last] == touched) {
                all.push((event.instruction, *last));
                continue;
            }
            let number = *numbers.entry(Rc::new(touched)).or_insert_with_key(|touched| {
                let number = kinds.len();
                for root in touched.roots() {
                    let of_root = by_root.entry(root).or_default();
                    if of_root.last() != Some(&number) {
                        of_root.push(number);
                    }
                }
                kinds.push(Rc::clone(touched));
                number
            });
            all.push((event.instruction, number));
        }
        let mut races = vec![false; kinds.len()];
        for of_root in by_root.values() {
            flow.facts.budget.take((of_root.len() * of_root.len().min(MOST)) as u64);
            for (at, &one) in of_root.iter().enumerate().take(MOST) {
                for &other in &of_root[at..] {
                    let (first, then) = (&kinds[one], &kinds[other]);
                    let is_known = races[one] && races[other];
                    if !is_known && (first.races_with(then).is_some() || then.races_with(first).is_some()) {
                        races[one] = true;
                        races[other] = true;
                    }
                }
            }
        }
        all.retain(|(_, number)| races[*number]);
        Self { kinds, operations: all }
    }

    /// Which of the kinds an event does, if it races.
    fn kind(&self, event: Event) -> Option<usize> {
        let at = self.operations.binary_search_by_key(&event.instruction, |(instruction, _)| *instruction);
        at.ok().map(|at| self.operations[at].1)
    }
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows() {
        if !has_several(&flow) {
            continue;
        }
        let racing = Racing::of(&flow);
        if racing.operations.is_empty() {
            continue;
        }
        let races = |first: usize, then: usize| racing.kinds[first].races_with(&racing.kinds[then]);
        let role = |event: Event| match (event.action, flow.operation(event)) {
            (Action::MbarrierWait | Action::Barrier | Action::Acquire | Action::Unknown, _) => {
                Role::Discharge
            }
            _ if racing.kind(event).is_some() => Role::QueryAndGen,
            _ => Role::None,
        };
        let multiplies =
            |event: &Event| matches!(flow.operation(*event), Some(Operation::Mma | Operation::MmaWs));
        let pairs = flow.pairs_of_kinds_killing(
            role,
            |reach, firsts| {
                reach.same_thread();
                // The wait at the end of an iteration orders nothing in the next iteration.
                reach.discharge_by_iteration();
                let mut addressed = Vec::new();
                // A multiply that reads what was copied or shifted is ordered between it and the next.
                let moved = reach.group();
                for (fact, event) in firsts {
                    if !multiplies(event) {
                        reach.join(*fact, moved);
                    }
                    let summed = flow.facts.sums.registers(event.instruction);
                    addressed.extend(summed.into_iter().map(|register| (*fact, register)));
                    let Some(touched) = racing.kind(*event).map(|kind| &racing.kinds[kind]) else { continue };
                    addressed.extend(touched.masks().map(|register| (*fact, register)));
                    for (_, columns) in &touched.accesses {
                        addressed.extend(register_of(columns.place().root).map(|register| (*fact, register)));
                    }
                }
                for event in flow.events().iter().filter(|event| multiplies(event)) {
                    reach.kill_group(event.instruction, moved);
                }
                flow.kill_at_writes(reach, addressed);
            },
            |event| racing.kind(event),
            |first, then| first.zip(*then).is_some_and(|(first, then)| races(first, then).is_some()),
        );
        for pair in first_of_each_cause(pairs) {
            let kinds = racing.kind(pair.first).zip(racing.kind(pair.then));
            let Some((did, does)) = kinds.and_then(|(first, then)| races(first, then)) else { continue };
            let first = flow.operation(pair.first).map_or("", Operation::name);
            let then = flow.operation(pair.then).map_or("", Operation::name);
            let finding = Diagnostic::new(
                Code::NotPipelined,
                flow.span(pair.then),
                format!("`tcgen05.{then}` is not pipelined with the `tcgen05.{first}` before it"),
                words(does, "the same columns"),
            )
            .label(
                flow.span(pair.first),
                format!("{}, and may still be under way", words(did, "these columns")),
            );
            let is_accumulator = pipelined(did, does) == Some(Condition::Accumulator);
            findings.push(if is_accumulator {
                finding
                    .note(
                        "two multiplies are pipelined where their accumulators have the same address and shape \
                         (PTX ISA, 9.7.16.6.2)",
                    )
                    .help("wait on the mbarrier of a `tcgen05.commit` between them, or use other columns")
            } else {
                finding
                    .note("these two accesses are none of the pipelined pairs (PTX ISA, 9.7.16.6.2)")
                    .help("wait on the mbarrier of a `tcgen05.commit` between them")
            });
        }
    }
}

/// What an access does to columns.
fn words(access: Access, columns: &str) -> String {
    match access {
        Access::MultiplyReadsOperand => format!("reads A, metadata or scales in {columns}"),
        Access::MultiplyReadsC => format!("accumulates in {columns}"),
        Access::MultiplyWritesD => format!("writes its accumulator in {columns}"),
        Access::Copy | Access::Copy4x256b => format!("copies to {columns}"),
        Access::Shift => format!("shifts {columns}"),
        Access::Store => format!("stores to {columns}"),
        Access::Load => format!("loads {columns}"),
    }
}
