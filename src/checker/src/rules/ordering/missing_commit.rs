use std::cell::LazyCell;
use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::analysis::events::{Action, Event};
use crate::analysis::executing::Executes;
use crate::analysis::flow::{Flow, Role};
use crate::analysis::pending::Pending;
use crate::analysis::reach::{Direction, Passed};
use crate::analysis::untracked::Untracked;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::{CtaGroup, Operation};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a `mma`, `cp` or `shift` of a kernel that no `tcgen05.commit` of the same `.cta_group`
    /// follows, or that other threads issue than all such commits. Also a `mma` in a loop whose iterations
    /// commit before they multiply, so that no commit follows the multiply of the last iteration.
    /// A `mma` in a function that is called is reported if neither that function nor anything after the
    /// call commits.
    ///
    /// ## Why is this bad?
    /// `commit` is the only way to learn that the operations are complete. A `cp` or `shift` can also be
    /// ordered before operations of another thread by a `tcgen05.fence::before_thread_sync` after it: then
    /// the other thread commits.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [mbar];
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.6.2.1.1, 9.7.16.6.4.3 and 9.7.16.12.1
    MissingCommit Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    // Operations of functions that several kernels call have one finding.
    let mut named = BTreeSet::new();
    for flow in checker.flows().filter(Flow::is_entry) {
        if mixes_groups(&flow) {
            continue;
        }
        for group in [CtaGroup::One, CtaGroup::Two] {
            let is_started = |event: &Event| starts(&flow, *event, group).is_some();
            if !flow.events().iter().any(is_started) {
                in_callees(&flow, group, &mut named, findings);
                continue;
            }
            let role = |event: Event| match flow.operation(event) {
                _ if event.action == Action::Unknown => Role::Gen,
                // A group that is missing or wrong has a finding of its own.
                Some(Operation::Commit) => Role::Gen.only_if(is_of_group(&flow, event, group) != Some(false)),
                _ => Role::Query.only_if(is_started(&event) && flow.is_own(event)),
            };
            let handed_over = |event: Event| match flow.operation(event) {
                Some(Operation::FenceBefore) => Role::Gen,
                _ => role(event),
            };
            let mut uncommitted = flow.unreached(Direction::Backward, role);
            if !uncommitted.is_empty() {
                let kept = flow.unreached(Direction::Backward, handed_over);
                let kept: FxHashSet<u32> = kept.iter().map(|event| event.instruction).collect();
                let is_multiply =
                    |event: &Event| matches!(flow.operation(*event), Some(Operation::Mma | Operation::MmaWs));
                uncommitted.retain(|event| is_multiply(event) || kept.contains(&event.instruction));
            }
            let Some((first, more)) = uncommitted.split_first() else {
                by_other_threads(&flow, group, findings);
                before_last_round(&flow, group, findings);
                in_callees(&flow, group, &mut named, findings);
                continue;
            };
            let mut finding = no_commit_follows(&flow, *first, group);
            if let Some(last) = more.last() {
                let count = more.len();
                finding = finding.label(flow.span(*last), format!("nor that of {count} more, up to here"));
            }
            findings.push(finding.help(format!(
                "execute `tcgen05.commit.{group}.mbarrier::arrive::one` in the same thread after it"
            )));
        }
    }
}

/// The finding for an operation that no commit of this CTA group can follow.
fn no_commit_follows(flow: &Flow<'_>, operation: Event, group: CtaGroup) -> Diagnostic {
    let name = flow.operation(operation).map_or("", Operation::name);
    Diagnostic::new(
        Code::MissingCommit,
        flow.span(operation),
        format!("no `tcgen05.commit.{group}` can follow this `tcgen05.{name}`"),
        "its completion is never signalled",
    )
    .note("`tcgen05.commit` tracks the completion of `mma`, `cp` and `shift` (PTX ISA, 9.7.16.6.2.1.1)")
}

/// Whether a kernel has instructions of both groups: then the one that is wrong is what has to be said.
fn mixes_groups(flow: &Flow<'_>) -> bool {
    let events = || flow.summary().into_iter().flat_map(|summary| &summary.events);
    let has = |group| events().any(|event| is_of_group(flow, *event, group) == Some(true));
    has(CtaGroup::One) && has(CtaGroup::Two)
}

/// Whether an instruction belongs to a CTA group, if it names one.
fn is_of_group(flow: &Flow<'_>, event: Event, group: CtaGroup) -> Option<bool> {
    Some(flow.cta_group(event)? == group)
}

/// The operation that an instruction starts whose completion a commit of this CTA group signals.
fn starts(flow: &Flow<'_>, event: Event, group: CtaGroup) -> Option<Operation> {
    let operation = flow.operation(event).filter(|it| Pending::Operation.started_by(*it))?;
    (is_of_group(flow, event, group) == Some(true)).then_some(operation)
}

/// Operations whose issuing threads never commit.
fn by_other_threads(flow: &Flow<'_>, group: CtaGroup, findings: &mut Findings<'_>) {
    let Some(summary) = flow.summary().filter(|summary| !summary.unknown) else { return };
    // What a fence hands over to another thread, that thread may commit: copies and shifts.
    let hands_over = summary.events.iter().any(|it| flow.operation(*it) == Some(Operation::FenceBefore));
    let is_commit = |event: Event| {
        flow.operation(event) == Some(Operation::Commit) && is_of_group(flow, event, group) == Some(true)
    };
    if flow.events().iter().all(|event| starts(flow, *event, group).is_none()) {
        return;
    }
    let commits = flow.reached(is_commit);
    // What is not looked into, nobody knows who executes.
    let known: BTreeSet<u32> = commits.iter().map(|it| it.event.instruction).collect();
    let mut all = summary.events.iter().filter(|event| is_commit(**event));
    if !all.all(|event| known.contains(&event.instruction)) {
        return;
    }
    let Some(first) = commits.first() else { return };
    // Adjacent instructions have the same cause, and a commit among them is executed by the same
    // threads.
    let own = commits.iter().filter(|it| flow.is_own(it.event));
    let mut judged: BTreeSet<_> = own.map(|it| flow.condition(it.event)).collect();
    let committing = LazyCell::new(|| commits.iter().map(|it| it.executes(None)).collect::<Option<Vec<_>>>());
    let executing = LazyCell::new(|| flow.executing(None));
    for event in flow.events() {
        let Some(operation) = starts(flow, *event, group) else { continue };
        let is_multiply = matches!(operation, Operation::Mma | Operation::MmaWs);
        if hands_over && !is_multiply || !judged.insert(flow.condition(*event)) {
            continue;
        }
        let Some(issues) = executing.of(event.instruction).filter(Executes::is_somebody) else { continue };
        let Some(committing) = committing.as_ref() else { return };
        if !committing.iter().all(|commits| issues.is_apart_from(commits)) {
            continue;
        }
        let name = operation.name();
        findings.push(
            Diagnostic::new(
                Code::MissingCommit,
                flow.span(*event),
                format!("no thread that issues this `tcgen05.{name}` executes a `tcgen05.commit.{group}`"),
                "its completion is never signalled",
            )
            .label(flow.span(first.event), "other threads commit")
            .note(
                "`tcgen05.commit` tracks the operations of the thread that executes it (PTX ISA, \
                 9.7.16.12.1)",
            )
            .help("let the thread that issues the operation commit it"),
        );
    }
}

/// What a call multiplies, where neither the function that is called commits nor anything after the call does.
fn in_callees(flow: &Flow<'_>, group: CtaGroup, named: &mut BTreeSet<u32>, findings: &mut Findings<'_>) {
    let callee = |event: &Event| match event.action {
        Action::Call(callee) => Some(callee),
        _ => None,
    };
    if flow.events().iter().all(|event| callee(event).is_none()) {
        return;
    }
    let may_commit = |event: &Event| match flow.operation(*event) {
        Some(Operation::Commit) => is_of_group(flow, *event, group) != Some(false),
        _ => event.action == Action::Unknown,
    };
    let commits = |event: &&Event| match callee(event) {
        Some(callee) => {
            let summary = flow.all.summary(callee);
            summary.is_none_or(|summary| summary.unknown || summary.events.iter().any(may_commit))
        }
        None => may_commit(event),
    };
    let (cfg, budget) = (flow.cfg(), &flow.facts.budget);
    if !budget.take((cfg.len() + flow.events().len()) as u64) {
        return;
    }
    let sites = flow.events().iter().filter(commits).map(|event| event.instruction);
    let before_commits = Passed::new(cfg, Direction::Backward, sites);
    for call in flow.events() {
        let is_reached = cfg.block_of(call.instruction).is_some_and(|block| cfg.is_reachable(block));
        if !is_reached || commits(&call) || before_commits.has(cfg, call.instruction) {
            continue;
        }
        let Some(summary) = callee(call).and_then(|callee| flow.all.summary(callee)) else { continue };
        let multiplies =
            |event: &&Event| matches!(starts(flow, **event, group), Some(Operation::Mma | Operation::MmaWs));
        let Some(first) = summary.events.iter().find(multiplies) else { continue };
        if !named.insert(first.instruction) {
            continue;
        }
        let mut finding = no_commit_follows(flow, *first, group);
        if let Some((call, callee)) = flow.call_at(call.instruction) {
            let callee = flow.unit.readable(callee);
            finding = finding.label(call, format!("`{callee}` is called here, and nothing commits after it"));
        }
        findings.push(finding.help(format!(
            "let the thread that multiplies execute `tcgen05.commit.{group}.mbarrier::arrive::one` after it"
        )));
    }
}

/// What the last iteration of a loop issues, if each iteration commits before it issues.
fn before_last_round(flow: &Flow<'_>, group: CtaGroup, findings: &mut Findings<'_>) {
    let may_commit = |event: Event| match flow.operation(event) {
        _ if event.action == Action::Unknown => true,
        Some(Operation::Commit) => is_of_group(flow, event, group) != Some(false),
        _ => false,
    };
    let commits = |event: &&Event| match event.action {
        Action::Call(callee) => flow
            .all
            .summary(callee)
            .is_none_or(|summary| summary.unknown || summary.events.iter().any(|inner| may_commit(*inner))),
        _ => may_commit(**event),
    };
    let is_multiply =
        |event: &&Event| matches!(starts(flow, **event, group), Some(Operation::Mma | Operation::MmaWs));
    let all = |wanted: &dyn Fn(&&Event) -> bool| -> Vec<u32> {
        flow.events().iter().filter(wanted).map(|event| event.instruction).collect()
    };
    // What a function returns with, its callers may commit.
    if !flow.is_entry() {
        return;
    }
    let Some(Untracked { operation, commit }) = flow.untracked(&all(&is_multiply), &all(&commits)) else {
        return;
    };
    let event = |at: u32| flow.events().iter().find(|event| event.instruction == at);
    let (Some(operation), Some(commit)) = (event(operation), event(commit)) else { return };
    let name = flow.operation(*operation).map_or("", Operation::name);
    findings.push(
        Diagnostic::new(
            Code::MissingCommit,
            flow.span(*operation),
            format!(
                "no `tcgen05.commit.{group}` can follow this `tcgen05.{name}` in the last iteration of its loop"
            ),
            "its completion is never signalled",
        )
        .label(
            flow.span(*commit),
            "this stands before it in each iteration: it tracks what the iteration before has issued",
        )
        .note(
            "`tcgen05.commit` tracks the completion of `mma`, `cp` and `shift` before it \
             (PTX ISA, 9.7.16.6.2.1.1)",
        )
        .help("put the `tcgen05.commit` after the last operation of the iteration"),
    );
}
