use std::cell::LazyCell;

use crate::analysis::events::{Action, Event};
use crate::analysis::flow::{Flow, Pair, Role};
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::resolve::symbols::SymbolId;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a `mma` or `cp` after a store or a `cp.async` to shared memory in the same thread without a
    /// `fence.proxy.async` in between, in kernels without bulk loads into shared memory.
    ///
    /// These stores are not reported: to a variable that no descriptor points to, to other bytes than those
    /// of the matrices if both are known, to a location that the kernel itself loads, and to a variable
    /// that is too small for a matrix. Atomic operations and reductions count only on a variable that a
    /// descriptor points to.
    ///
    /// If other threads than those of the `mma` store, the store is reported only if the kernel contains no
    /// such fence and a descriptor certainly points to the variable. The same applies to kernels with bulk
    /// loads, if these go to other variables. In kernels without bulk loads, a `cp.async` to an array
    /// without a size counts as well. In kernels without any such fence, bulk copies to global memory are
    /// reported that read what threads have stored.
    ///
    /// A store without a state space counts if its address is certainly computed from a variable that a
    /// descriptor points to. A store in a called function is not reported if all stores that are written
    /// like it there go to other variables.
    ///
    /// ## Why is this bad?
    /// `mma` and `cp` read shared memory through the async proxy, and the store uses the generic proxy.
    /// Without the fence they may read the old contents.
    ///
    /// ## Example
    /// ```ptx
    /// st.shared.b32 [sa], r0;
    /// tcgen05.cp.cta_group::1.128x256b [taddr], adesc;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// st.shared.b32 [sa], r0;
    /// fence.proxy.async.shared::cta;
    /// tcgen05.cp.cta_group::1.128x256b [taddr], adesc;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.6.5
    MissingProxyFence Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    // Where the matrices come by bulk copies, a store is something else.
    let mut loading: Vec<u32> = Vec::new();
    for flow in checker.flows() {
        let Some(summary) = flow.summary() else { continue };
        if summary.unknown || summary.events.iter().any(|event| event.action == Action::BulkLoad) {
            loading.push(flow.function());
        }
    }
    let loaded_in_bulk = checker.events.reachable(loading);
    for flow in checker.flows() {
        if let Some((store, sends)) = sent_unfenced(&flow) {
            findings.push(
                Diagnostic::new(
                    Code::MissingProxyFence,
                    flow.unit.module.instructions[sends as usize].opcode,
                    "the bulk copy can read shared memory before it sees the store",
                    "reads through the async proxy",
                )
                .label(flow.span(store), "stores through the generic proxy")
                .note(
                    "accesses through different proxies need a cross-proxy fence: `fence.proxy.async` \
                     (PTX ISA, 9.7.16.6.5)",
                )
                .help("put `fence.proxy.async.shared::cta;` behind the store, before the barrier"),
            );
        }
        if loaded_in_bulk.contains(&flow.function()) {
            if let Some(pair) = handed_over(&flow).or_else(|| by_generic_address(&flow)) {
                report(&flow, pair, findings);
            }
            continue;
        }
        let role = |event: Event| match (event.action, flow.operation(event)) {
            (Action::ProxyFence | Action::Unknown, _) => Role::Kill,
            (Action::SharedStore | Action::SharedUpdate | Action::AsyncCopy, _) => Role::Gen,
            (_, Some(Operation::Mma | Operation::MmaWs | Operation::Cp)) => Role::Query,
            _ => Role::None,
        };
        let loaded = LazyCell::new(|| flow.loaded_bytes());
        let relates = |pair: Pair| {
            // Counters and flags are updated, too.
            if pair.first.action == Action::SharedUpdate {
                return flow.stores_into(pair.first, pair.then);
            }
            // A location that is loaded again is data for other threads, unless it is certainly part of a matrix.
            let is_loaded = || flow.stored_byte(pair.first).is_some_and(|byte| loaded.contains(&byte));
            !flow.stores_elsewhere(pair.first, pair.then)
                && (flow.is_own(pair.first)
                    || !flow.stores_elsewhere_in_call(pair.from, pair.first, pair.then))
                && (!is_loaded() || flow.stores_into(pair.first, pair.then))
        };
        let mut pairs = flow.first_pairs(role, relates);
        if pairs.is_empty() {
            pairs.extend(handed_over(&flow));
        }
        if pairs.is_empty() {
            pairs.extend(by_generic_address(&flow));
        }
        for pair in pairs {
            report(&flow, pair, findings);
        }
    }
}

/// A store of a kernel without any fence of proxies, and the bulk copy to global memory that reads it.
fn sent_unfenced(flow: &Flow<'_>) -> Option<(Event, u32)> {
    let summary = flow.summary().filter(|summary| flow.is_entry() && !summary.unknown)?;
    let is_fence = |event: &Event| event.action == Action::ProxyFence;
    if summary.events.iter().any(is_fence) { None } else { flow.sent_in_bulk() }
}

fn report(flow: &Flow<'_>, pair: Pair, findings: &mut Findings<'_>) {
    let written = match pair.first.action {
        Action::SharedUpdate => "updates it through the generic proxy",
        Action::AsyncCopy => "copies to it through the generic proxy",
        _ => "stores through the generic proxy",
    };
    let name = flow.operation(pair.then).map_or("", Operation::name);
    findings.push(
        Diagnostic::new(
            Code::MissingProxyFence,
            flow.span(pair.then),
            format!("`tcgen05.{name}` can read shared memory before it sees the store"),
            "reads through the async proxy",
        )
        .label(flow.span(pair.first), written)
        .note(
            "accesses through different proxies need a cross-proxy fence: `fence.proxy.async` \
             (PTX ISA, 9.7.16.6.5)",
        )
        .help("put `fence.proxy.async.shared::cta;` behind the store, before the barrier"),
    );
}

/// A store by a generic address to a variable that the matrices certainly lie in, and that nothing loads in bulk.
fn by_generic_address(flow: &Flow<'_>) -> Option<Pair> {
    let summary = flow.summary().filter(|summary| !summary.unknown)?;
    let loads = summary.events.iter().filter(|event| event.action == Action::BulkLoad);
    let loaded: Option<Vec<SymbolId>> = loads.map(|event| flow.stored_variable(*event)).collect();
    let loaded = loaded?;
    flow.unfenced_generic_stores(|variable| loaded.contains(&variable)).into_iter().next()
}

/// A store, in a kernel without any proxy fence, to what other threads multiply or copy: none of them reaches
/// the other in the same run.
///
/// In a kernel with bulk loads, it counts if those write other variables.
fn handed_over(flow: &Flow<'_>) -> Option<Pair> {
    let summary = flow.summary().filter(|summary| flow.is_entry() && !summary.unknown)?;
    let is_store = |event: &&Event| {
        matches!(event.action, Action::SharedStore | Action::AsyncCopy) && flow.is_own(**event)
    };
    let reads = |event: &&Event| {
        let operation = flow.operation(**event);
        matches!(operation, Some(Operation::Mma | Operation::MmaWs | Operation::Cp)) && flow.is_own(**event)
    };
    let is_fence = |event: &Event| event.action == Action::ProxyFence;
    if summary.events.iter().any(is_fence) || !flow.events().iter().any(|event| is_store(&event)) {
        return None;
    }
    let loads = summary.events.iter().filter(|event| event.action == Action::BulkLoad);
    let loaded: Option<Vec<SymbolId>> = loads.map(|event| flow.stored_variable(*event)).collect();
    let loaded = loaded?;
    let is_loaded = |store: Event| {
        !loaded.is_empty() && flow.stored_variable(store).is_none_or(|variable| loaded.contains(&variable))
    };
    // Without bulk loads, a copy to the array of the matrices is one of them, or they are stored.
    let is_copied = |first: Event, then: Event| {
        loaded.is_empty() && first.action == Action::AsyncCopy && flow.stores_into_array(first, then)
    };
    // Most stores in kernels with bulk loads are something else.
    let stores: Vec<Event> =
        flow.events().iter().filter(is_store).copied().filter(|store| !is_loaded(*store)).collect();
    let mut readers = flow.events().iter().filter(reads).take_while(|_| !stores.is_empty());
    readers.find_map(|then| {
        let first = stores.iter().find(|first| {
            flow.facts.budget.take(1)
                && (flow.stores_into(**first, *then) || is_copied(**first, *then))
                && !flow.stores_elsewhere(**first, *then)
                && !flow.leads_to(then.instruction, first.instruction)
        })?;
        let [first, then] = [*first, *then];
        Some(Pair { first, then, from: first.instruction, to: then.instruction })
    })
}
