use crate::analysis::flow::Flow;
use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::instruction::Instruction;
use crate::rules::allocation::columns;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a `dealloc` whose number of columns is that of no allocation of the kernel, where all
    /// of them are known.
    ///
    /// ## Why is this bad?
    /// `dealloc` must free an allocation as it was made. Freeing fewer columns leaks the rest,
    /// freeing more takes those of another kernel.
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

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let mut reported = std::collections::BTreeSet::new();
    for flow in checker.flows().filter(Flow::is_entry) {
        let Some(summary) = flow.summary().filter(|summary| !summary.unknown) else { continue };
        let mut allocated = Vec::new();
        let mut freed = Vec::new();
        for event in &summary.events {
            let Some(decoded) = flow.decoded(*event) else { continue };
            match &decoded.instruction {
                Some(Instruction::Alloc(_)) => allocated.push((columns(checker, decoded), decoded)),
                Some(Instruction::Dealloc(dealloc)) => {
                    freed.push((columns(checker, decoded), decoded, dealloc));
                }
                _ => {}
            }
        }
        // An allocation of unknown size may be the one.
        if allocated.is_empty() || allocated.iter().any(|(size, _)| size.is_none()) {
            continue;
        }
        for (size, decoded, dealloc) in freed {
            let Some(size) = size else { continue };
            if allocated.iter().any(|(allocated, _)| *allocated == Some(size))
                || !reported.insert(decoded.index)
            {
                continue;
            }
            let mut sizes: Vec<u32> = allocated.iter().filter_map(|(size, _)| *size).collect();
            sizes.sort_unstable();
            sizes.dedup();
            let span = dealloc.n_cols.span();
            let mut finding = Diagnostic::new(
                Code::DeallocSizeMismatch,
                span,
                format!("{size} columns are deallocated, but no allocation has {size}"),
                format!("{size} columns"),
            );
            for (columns, alloc) in &allocated {
                if let Some(columns) = columns {
                    finding = finding.label(alloc.name, format!("{columns} columns are allocated here"));
                }
            }
            let fix = match (&sizes[..], dealloc.n_cols.immediate()) {
                ([only], Some(immediate)) => {
                    Some(Fix::guess(format!("Deallocate {only} columns"), immediate.span, only.to_string()))
                }
                _ => None,
            };
            findings.push(
                finding
                    .note("`dealloc` frees the Tensor Memory of a previous allocation (PTX ISA, 9.7.16.7.1)")
                    .help("deallocate as many columns as were allocated")
                    .fix(fix),
            );
        }
    }
}
