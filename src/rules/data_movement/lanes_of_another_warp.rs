use crate::analysis::flow::Flow;
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::{Instruction, Ld, St};
use crate::isa::hierarchy::THREADS_OF_WARP;
use crate::rules::{Checker, Code, is_always_executed, rule};
use crate::source::Spanned;

rule! {
    /// ## What it does
    /// Finds loads and stores that every warp of a block executes at the same known lane, in a kernel
    /// whose `.reqntid` gives its blocks several warps.
    ///
    /// Finds those, too, that a condition lets a warp execute which has other lanes.
    ///
    /// ## Why is this bad?
    /// Each warp of a warpgroup can access its own 32 lanes only: warp i those from 32 i on. The lane of
    /// an address that `alloc` returned is 0, which is right for the first warp and for no other.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqntid 128, 1, 1
    /// {
    ///     .reg .b32 r<2>, taddr;
    ///     mov.b32 taddr, 0;
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

/// The warps that access lanes of others.
enum Warps {
    /// All but one of four do.
    Every,
    /// This one does.
    Some(u32),
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let Some(Spanned { value: threads, span: directive }) =
            checker.launch_bounds(flow.facts.function).threads()
        else {
            continue;
        };
        if threads <= THREADS_OF_WARP.into() {
            continue;
        }
        let executing = flow.executing(None);
        for event in flow.events() {
            let Some(Instruction::Ld(Ld { taddr, .. }) | Instruction::St(St { taddr, .. })) =
                flow.instruction(*event)
            else {
                continue;
            };
            let Some(decoded) = flow.decoded(*event) else { continue };
            let Some(known) = checker.address(decoded, taddr) else { continue };
            let distance = flow.distance(decoded, taddr);
            // Which quarter of the lanes: bits 21 and 22 of the address.
            let known = known.shifted_right(21).constant(2);
            if known.is_none() && distance.is_none() {
                continue;
            }
            let quarter = known.or(distance.map(|distance| u64::from(distance.lanes / 32 % 4)));
            let Some(quarter) = quarter else { continue };
            let warps = executing.of(event.instruction).and_then(|it| it.warp_sets());
            let warps = match warps {
                Some((yes, may)) => {
                    // Warp by warp of a warpgroup.
                    let own = 0x1111_1111 << quarter;
                    match (yes & !own, may & own) {
                        (0, 0) if may != 0 => Warps::Some(may.trailing_zeros()),
                        (0, _) => continue,
                        _ if is_always_executed(&flow, *event) => Warps::Every,
                        (wrong, _) => Warps::Some(wrong.trailing_zeros()),
                    }
                }
                None if is_always_executed(&flow, *event) => Warps::Every,
                None => continue,
            };
            let certain = distance.filter(|distance| distance.is_certain(&flow));
            if known.is_none() && certain.is_none() {
                continue;
            }
            let distance = certain;
            let by = match warps {
                Warps::Every => "every warp".to_owned(),
                Warps::Some(warp) => format!("warp {warp}"),
            };
            let finding = Diagnostic::new(
                Code::LanesOfAnotherWarp,
                taddr.span,
                "a warp can access its own 32 lanes only",
                format!("lanes {} to {} in {by}", 32 * quarter, 32 * quarter + 31),
            )
            .origins(&checker.address_origins(decoded, taddr));
            let finding = match distance {
                Some(distance) => finding.label(distance.alloc, "this allocation starts at lane 0"),
                None => finding,
            };
            findings.push(
                finding
                    .label(directive, format!("{threads} threads are {} warps", threads.div_ceil(32)))
                    .note("warp i of a warpgroup accesses lanes 32 i to 32 i + 31 (PTX ISA, 9.7.16.8.1)")
                    .help("add the first lane of the warp: `(%tid.x << 16) & 0x600000`"),
            );
        }
    }
}
