use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::allocated::is_stored_to;
use crate::analysis::few::Few;
use crate::analysis::flow::Flow;
use crate::analysis::footprint;
use crate::analysis::places::{Slot, SlotRoot};
use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::instruction::decode::Decoded;
use crate::instruction::{Alloc, Scalar};
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds a `dealloc` whose number of columns matches no allocation of the kernel, if all of them are
    /// known, or does not match the allocation whose address it gets.
    ///
    /// ## Why is this bad?
    /// `dealloc` must free an allocation as a whole. Fewer columns leak the rest; more columns free those
    /// of another kernel.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 64;
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
    DeallocSizeMismatch Function check
}

/// How many sizes are shown where they are allocated.
const SHOWN: usize = 4;

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let mut reported = FxHashSet::default();
    of_any(checker, &mut reported, findings);
    for flow in checker.flows() {
        of_its_own(checker, &flow, &mut reported, findings);
    }
}

/// Deallocations of the wrong one of several sizes: each address is that of one slot.
fn of_its_own(
    checker: &Checker<'_>,
    flow: &Flow<'_>,
    reported: &mut FxHashSet<u32>,
    findings: &mut Findings<'_>,
) {
    // By slot: the only size that is allocated there, if it is known.
    let mut sizes: FxHashMap<Slot, Option<(u32, Span)>> = FxHashMap::default();
    for event in flow.events() {
        if let (Some(alloc), Some(decoded)) = (flow.alloc(*event), flow.decoded(*event))
            && let Some(slot) = footprint::slot(flow, *event, &alloc.dst)
        {
            let size = checker.columns(decoded).map(|size| (size, decoded.name));
            let known = sizes.entry(slot).or_insert(size);
            *known = known.filter(|(known, _)| size.is_some_and(|(size, _)| size == *known));
        }
    }
    if sizes.len() < 2 {
        return;
    }
    for event in flow.events() {
        let (Some(dealloc), Some(decoded)) = (flow.dealloc(*event), flow.decoded(*event)) else {
            continue;
        };
        let Some(slot) = flow.scalar_place(*event, &dealloc.taddr).and_then(|place| place.slot()) else {
            continue;
        };
        let (Some(freed), Some((size, alloc))) =
            (checker.columns(decoded), sizes.get(&slot).copied().flatten())
        else {
            continue;
        };
        let is_named = !matches!(slot.root, SlotRoot::Register(_) | SlotRoot::Parameter(_));
        if freed == size || !is_named || is_stored_to(flow, slot) || !reported.insert(decoded.index) {
            continue;
        }
        findings.push(
            Diagnostic::new(
                Code::DeallocSizeMismatch,
                dealloc.n_cols.span(),
                format!("{freed} columns are deallocated of an allocation of {size}"),
                format!("{freed} columns"),
            )
            .label(alloc, format!("this writes the address that is deallocated, of {size} columns"))
            .note("`dealloc` frees the Tensor Memory of a previous allocation (PTX ISA, 9.7.16.7.1)")
            .help("deallocate as many columns as were allocated at that address"),
        );
    }
}

/// The sizes that an `alloc` can ask for; none where they are not known.
fn sizes(checker: &Checker<'_>, decoded: &Decoded<'_>, alloc: &Alloc<'_>) -> Few {
    if let Some(size) = checker.columns(decoded) {
        return Few::from_slice(&[size]);
    }
    let few = match (&alloc.n_cols, checker.flow(decoded)) {
        (Scalar::Register(register), Some(flow)) if !register.component && register.plus.is_none() => {
            flow.one_of(decoded.index, register.id)
        }
        _ => None,
    };
    // Of those that cannot be allocated, only that is said.
    let memory = checker.environment.tensor_memory();
    let can_be = |few: &Few| few.iter().all(|size| memory.allocates(*size, alloc.exclusive.is_some()));
    few.filter(can_be).unwrap_or_default()
}

/// Deallocations of a size that nothing allocates.
fn of_any(checker: &Checker<'_>, reported: &mut FxHashSet<u32>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let Some(summary) = flow.summary().filter(|summary| !summary.unknown) else { continue };
        // By size: where it is allocated first, and how often.
        let mut allocated: BTreeMap<u32, (Span, usize)> = BTreeMap::new();
        let mut freed = Vec::new();
        let mut all_known = true;
        for event in &summary.events {
            if let (Some(alloc), Some(decoded)) = (flow.alloc(*event), flow.decoded(*event)) {
                let sizes = sizes(checker, decoded, alloc);
                all_known &= !sizes.is_empty();
                for size in sizes {
                    let (first, count) = allocated.entry(size).or_insert((decoded.name, 0));
                    *first = decoded.name.min(*first);
                    *count += 1;
                }
            } else if let (Some(dealloc), Some(decoded)) = (flow.dealloc(*event), flow.decoded(*event)) {
                freed.push((decoded, dealloc));
            }
        }
        // An allocation of unknown size may be the one.
        if allocated.is_empty() || !all_known {
            continue;
        }
        let total: usize = allocated.values().map(|(_, count)| count).sum();
        for (decoded, dealloc) in freed {
            let Some(size) = checker.columns(decoded) else { continue };
            if allocated.contains_key(&size) || !reported.insert(decoded.index) {
                continue;
            }
            let message = if total > allocated.len().min(SHOWN) {
                format!("{size} columns are deallocated, but none of {total} allocations has {size}")
            } else {
                format!("{size} columns are deallocated, but no allocation has {size}")
            };
            let mut finding = Diagnostic::new(
                Code::DeallocSizeMismatch,
                dealloc.n_cols.span(),
                message,
                format!("{size} columns"),
            );
            for (columns, (first, count)) in allocated.iter().take(SHOWN) {
                let more = match count {
                    1 => String::new(),
                    2 => String::from(", and in another place"),
                    _ => format!(", and in {} more places", count - 1),
                };
                finding = finding.label(*first, format!("{columns} columns are allocated here{more}"));
            }
            let only = allocated.keys().next().filter(|_| allocated.len() == 1);
            let fix = only.zip(dealloc.n_cols.immediate()).map(|(only, immediate)| {
                Fix::guess(format!("Deallocate {only} columns"), immediate.span, only.to_string())
            });
            findings.push(
                finding
                    .note("`dealloc` frees the Tensor Memory of a previous allocation (PTX ISA, 9.7.16.7.1)")
                    .help("deallocate as many columns as were allocated")
                    .fix(fix),
            );
        }
    }
}
