use super::lanes_of_another_warp::{accesses, finding};
use crate::diagnostic::Findings;
use crate::isa::hierarchy::THREADS_OF_WARP;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds loads and stores that name lanes 0 to 31 of Tensor Memory in a warp that has other lanes, in a
    /// kernel whose `.reqntid` gives its CTAs several warps. Also those in which a warp leaves out only a
    /// part of its lanes: `warp % 2 * 32`.
    ///
    /// ## Why is this bad?
    /// Each warp of a warpgroup can access its own 32 lanes only: warp i the lanes from 32 i on. The
    /// address that `alloc` returns has lane 0, which is correct for the first warp only. Shipped kernels
    /// leave out the lanes, or some of their bits, on purpose, and each warp accesses its own lanes.
    /// Nothing guarantees that.
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
    LanesOfFirstWarp Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (flow, event, address, shape) in accesses(checker) {
        let Some(named) = flow.lanes_of_warps(event, address) else { continue };
        let Some(warp) = named.wrong(true).filter(|_| named.is_exact) else { continue };
        // That it reaches past them, or another warp past its own, is said elsewhere.
        let is_past = |warp: u32| named.lane(warp) % THREADS_OF_WARP + shape.lanes() > THREADS_OF_WARP;
        if is_past(warp) || named.wrong(false).is_some() || !named.is_certain(&flow) {
            continue;
        }
        findings.push(finding(checker, &flow, Code::LanesOfFirstWarp, (event, address), (&named, warp)));
    }
}
