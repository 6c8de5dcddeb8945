use crate::analysis::events::Event;
use crate::analysis::flow::Flow;
use crate::analysis::footprint::accessed;
use crate::analysis::places::Root;
use crate::descriptor::tmem_address::COLUMNS;
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::{Instruction, Scalar};
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds literal columns of Tensor Memory in a kernel that allocates fewer than 512 columns: in
    /// accesses, and in a `dealloc`.
    ///
    /// ## Why is this bad?
    /// Which columns `alloc` returns is known only at run time, unless it returns all of them. Shipped
    /// kernels rely on being alone on their multiprocessor, so the rule is off by default.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// mov.b32 taddr, 0;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.7.1
    LiteralTmemAddress Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let Some(summary) = flow.summary().filter(|summary| !summary.unknown) else { continue };
        let mut allocs = Vec::new();
        for event in &summary.events {
            if let (Some(_), Some(decoded)) = (flow.alloc(*event), flow.decoded(*event)) {
                allocs.push((checker.columns(decoded), decoded.name));
            }
        }
        let total: Option<u32> = allocs.iter().map(|(size, _)| *size).sum();
        let (Some(total), Some((_, alloc))) = (total.filter(|total| *total < COLUMNS), allocs.first()) else {
            continue;
        };
        for event in flow.events() {
            let Some((span, column)) = literal_column(&flow, *event) else { continue };
            let used = if flow.dealloc(*event).is_some() { "freed" } else { "used" };
            findings.push(
                Diagnostic::new(
                    Code::LiteralTmemAddress,
                    span,
                    format!("column {column} is {used} as if it were allocated"),
                    "a literal column",
                )
                .label(
                    *alloc,
                    format!(
                        "{total} of {COLUMNS} columns are allocated; which ones is known only at run time"
                    ),
                )
                .note("`alloc` writes the address of the columns to shared memory (PTX ISA, 9.7.16.7.1)")
                .help("load the address that `tcgen05.alloc` wrote"),
            );
        }
    }
}

/// The column that an instruction accesses or frees and that is none of an allocation, and where it says so.
fn literal_column(flow: &Flow<'_>, event: Event) -> Option<(Span, u32)> {
    let (place, span) = match flow.instruction(event)? {
        Instruction::Dealloc(dealloc) => match &dealloc.taddr {
            Scalar::Immediate(immediate) => {
                return Some((immediate.span, u32::try_from(immediate.value()).ok()?));
            }
            taddr => (flow.scalar_place(event, taddr), taddr.span()),
        },
        instruction => {
            let (address, _) = accessed(instruction)?;
            (flow.place(event, address), address.span)
        }
    };
    let column = place.filter(|place| place.root == Root::Literal)?.column()?;
    Some((span, column))
}
