use crate::analysis::events::Event;
use crate::analysis::flow::Flow;
use crate::analysis::warp_lanes::Named;
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::{Address, Instruction, Ld, St};

use crate::isa::hierarchy::THREADS_OF_WARP;
use crate::isa::vocabulary::LdShape;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds loads and stores of lanes of Tensor Memory that belong to another warp.
    ///
    /// A lane that is computed from the thread number is evaluated for each warp that the kernel's
    /// `.reqntid` or `.maxntid` allows, or that passes a condition. A warp that leaves out its lanes, or
    /// some of their bits, as shipped kernels do, is reported by TC411 instead.
    ///
    /// ## Why is this bad?
    /// Each warp of a warpgroup can access its own 32 lanes only: warp i the lanes from 32 i on. Access to
    /// other lanes is undefined. The assembler does not look at values in registers.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqntid 128, 1, 1
    /// {
    ///     .reg .b32 r<2>, taddr;
    ///     mov.u32 taddr, %tid.x;
    ///     shl.b32 taddr, taddr, 15;
    ///     and.b32 taddr, taddr, 0x300000;
    ///     tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    ///     tcgen05.wait::ld.sync.aligned;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqntid 128, 1, 1
    /// {
    ///     .reg .b32 r<2>, taddr;
    ///     mov.u32 taddr, %tid.x;
    ///     shl.b32 taddr, taddr, 16;
    ///     and.b32 taddr, taddr, 0x600000;
    ///     tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    ///     tcgen05.wait::ld.sync.aligned;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.8.1
    LanesOfAnotherWarp Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (flow, event, address, _) in accesses(checker) {
        if let Some(named) = flow.lanes_of_warps(event, address)
            && let Some(warp) = named.wrong(false)
            && named.is_certain(&flow)
        {
            findings.push(finding(
                checker,
                &flow,
                Code::LanesOfAnotherWarp,
                (event, address),
                (&named, warp),
            ));
        }
    }
}

/// The loads and stores of kernels, with their addresses and shapes.
pub(super) fn accesses<'a>(
    checker: &Checker<'a>,
) -> impl Iterator<Item = (Flow<'a>, Event, &'a Address<'a>, LdShape)> {
    checker.flows().filter(Flow::is_entry).flat_map(|flow| {
        flow.events().iter().filter(move |event| flow.is_own(**event)).filter_map(move |event| {
            match flow.instruction(*event) {
                Some(Instruction::Ld(Ld { taddr, shape, .. }) | Instruction::St(St { taddr, shape, .. })) => {
                    Some((flow, *event, taddr, shape.value))
                }
                _ => None,
            }
        })
    })
}

/// That a warp names lanes that are not its own.
pub(super) fn finding(
    checker: &Checker<'_>,
    flow: &Flow<'_>,
    code: Code,
    (event, address): (Event, &Address<'_>),
    (named, warp): (&Named, u32),
) -> Diagnostic {
    let first = named.lane(warp) / THREADS_OF_WARP * THREADS_OF_WARP;
    let last = first + THREADS_OF_WARP - 1;
    let by = if named.is_everybody() { "every warp".to_owned() } else { format!("warp {warp}") };
    let title = "a warp can access its own 32 lanes only";
    let mut finding =
        Diagnostic::new(code, address.span, title, format!("names lanes {first} to {last} in {by}"));
    if let Some(decoded) = flow.decoded(event) {
        finding = finding.origins(&checker.address_origins(decoded, address));
    }
    if let Some(alloc) = named.alloc() {
        finding = finding.label(alloc, "this allocation starts at lane 0");
    }
    let bounds = checker.launch_bounds(flow.function());
    if let Some(threads) = bounds.threads() {
        let warps = threads.value.div_ceil(THREADS_OF_WARP.into());
        finding = finding.label(threads.span, format!("{} threads are {warps} warps", threads.value));
    }
    finding
        .note("warp i of a warpgroup accesses lanes 32 i to 32 i + 31 (PTX ISA, 9.7.16.8.1)")
        .help("add the first lane of the warp: `(%tid.x << 16) & 0x600000`")
}
