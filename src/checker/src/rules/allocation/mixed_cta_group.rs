use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::CtaGroup;
use crate::rules::{Checker, Code, rule};
use crate::source::Spanned;

rule! {
    /// ## What it does
    /// Finds kernels that use both `.cta_group::1` and `.cta_group::2`, in their own code or in the
    /// functions that they call.
    ///
    /// ## Why is this bad?
    /// All tcgen05 instructions of a kernel must specify the same `.cta_group`. The assembler refuses the
    /// kernel, but names neither of the instructions.
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
    MixedCtaGroup Kernel check
}

/// Where a group is used, and the function that this is in.
type Use = (Spanned<CtaGroup>, u32);

/// The first uses of either group in some functions.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    one: Option<Use>,
    two: Option<Use>,
    /// Whether one of the functions may call what it has no name for.
    calls_indirectly: bool,
}

impl Uses {
    fn add(&mut self, found: Use) {
        let first = match found.0.value {
            CtaGroup::One => &mut self.one,
            CtaGroup::Two => &mut self.two,
        };
        if first.is_none_or(|first| found.0.span < first.0.span) {
            *first = Some(found);
        }
    }

    fn join(&mut self, other: &Self) {
        other.one.into_iter().chain(other.two).for_each(|found| self.add(found));
        self.calls_indirectly |= other.calls_indirectly;
    }
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    if !checker.index.has_both_cta_groups() {
        return;
    }
    let mut own: FxHashMap<u32, Uses> = FxHashMap::default();
    for decoded in checker.instructions {
        if let (Some(function), Some(group)) = (decoded.function, decoded.qualifiers.get::<CtaGroup>()) {
            own.entry(function).or_default().add((group, function));
        }
    }
    // Of each function with what it calls by name, callees first.
    let mut reached: FxHashMap<u32, Uses> = FxHashMap::default();
    for circle in &checker.component.callees_first {
        let mut uses = Uses::default();
        for function in circle {
            uses.calls_indirectly |= checker.calls.calls_indirectly(*function);
            own.get(function).into_iter().for_each(|own| uses.join(own));
            for callee in checker.calls.callees(*function) {
                reached.get(callee).into_iter().for_each(|callee| uses.join(callee));
            }
        }
        reached.extend(circle.iter().map(|function| (*function, uses)));
    }
    let mut addressed = Uses::default();
    for (function, uses) in &reached {
        if checker.calls.addressed().binary_search(function).is_ok() {
            addressed.join(uses);
        }
    }
    let mut reported = FxHashSet::default();
    for kernel in &checker.component.functions {
        let function = &checker.unit.module.functions[*kernel as usize];
        let Some(mut uses) = reached.get(kernel).copied().filter(|_| function.is_entry) else { continue };
        // What has an address counts as called by every kernel that has such instructions itself.
        if uses.calls_indirectly || own.contains_key(kernel) {
            uses.join(&addressed);
        }
        let (Some(one), Some(two)) = (uses.one, uses.two) else { continue };
        // The later one is the offence, the earlier one its cause.
        let (first, second) = if one.0.span < two.0.span { (one, two) } else { (two, one) };
        // A pair that several kernels share is one mistake.
        if !reported.insert((first.0.span, second.0.span)) {
            continue;
        }
        let name = checker.unit.readable(function.name);
        let place = |callee: u32| {
            if callee == *kernel {
                String::new()
            } else {
                let called = checker.unit.readable(checker.unit.module.functions[callee as usize].name);
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
