use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::calls::CallGraph;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::CtaGroup;
use crate::rules::{Checker, Code, rule};
use crate::source::Spanned;

rule! {
    /// ## What it does
    /// Finds kernels that use both `.cta_group::1` and `.cta_group::2`, by themselves or through
    /// the functions they call.
    ///
    /// ## Why is this bad?
    /// All tcgen05 instructions of a kernel must specify the same `.cta_group`. The assembler
    /// refuses the kernel, but names neither of the instructions.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
    /// tcgen05.shift.cta_group::2.down [taddr];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
    /// tcgen05.shift.cta_group::2.down [taddr];
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.7.1
    MixedCtaGroup Module check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    // The first instruction of each function with each group. What is written counts, whether or
    // not the rest of the instruction is right.
    let mut uses: BTreeMap<u32, BTreeMap<CtaGroup, Spanned<CtaGroup>>> = BTreeMap::new();
    for decoded in checker.instructions {
        if let (Some(function), Some(group)) = (decoded.function, decoded.qualifiers.get::<CtaGroup>()) {
            uses.entry(function).or_default().entry(group.value).or_insert(group);
        }
    }
    if uses.values().flat_map(BTreeMap::keys).collect::<BTreeSet<_>>().len() < 2 {
        return;
    }
    // Kernels cannot be called: without other functions each is judged by itself.
    let is_entry = |function: &u32| checker.unit.module.functions[*function as usize].is_entry;
    if uses.iter().all(|(function, groups)| is_entry(function) && groups.len() < 2) {
        return;
    }
    let graph = CallGraph::new(checker.unit);
    let mut reported = BTreeSet::new();
    for (kernel, function) in checker.unit.module.bodies().filter(|(_, function)| function.is_entry) {
        let own = uses.get(&kernel).is_some_and(|groups| !groups.is_empty());
        let reachable = graph.reachable(kernel, own);
        let mut found: BTreeMap<CtaGroup, (Spanned<CtaGroup>, u32)> = BTreeMap::new();
        for callee in reachable {
            for (group, place) in uses.get(&callee).into_iter().flatten() {
                found.entry(*group).or_insert((*place, callee));
            }
        }
        let (Some(one), Some(two)) = (found.get(&CtaGroup::One), found.get(&CtaGroup::Two)) else { continue };
        // The later one is the offence, the earlier one its cause.
        let (first, second) = if one.0.span < two.0.span { (one, two) } else { (two, one) };
        // A pair that several kernels share is one mistake.
        if !reported.insert((first.0.span, second.0.span)) {
            continue;
        }
        let name = checker.unit.source.slice(function.name);
        let place = |callee: u32| {
            if callee == kernel {
                String::new()
            } else {
                let called = checker.unit.source.slice(checker.unit.module.functions[callee as usize].name);
                format!(", in `{called}`, which `{name}` can call")
            }
        };
        findings.push(
            Diagnostic::new(
                Code::MixedCtaGroup,
                second.0.span,
                format!("kernel `{name}` uses both `.cta_group::1` and `.cta_group::2`"),
                format!("`.{}` here{}", second.0.value, place(second.1)),
            )
            .label(first.0.span, format!("`.{}` here{}", first.0.value, place(first.1)))
            .label(function.name, "the kernel")
            .help("give all tcgen05 instructions of the kernel the same `.cta_group`"),
        );
    }
}
