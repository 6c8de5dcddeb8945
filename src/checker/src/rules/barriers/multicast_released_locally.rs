use crate::analysis::flow::Flow;
use crate::analysis::multicast::ReleasedLocally;
use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a multicast copy into shared memory in a loop that waits for mbarriers which are signalled within their own
    /// CTA only: no multicast `commit`, no arrival at an mbarrier of another CTA, and no barrier of the cluster in a loop
    /// anywhere in the kernel.
    ///
    /// ## Why is this bad?
    /// The copy fills the stage of each CTA that its mask names. The thread that issues it knows that its own CTA has read
    /// the stage, and nothing of the others: it may overwrite what they still read.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k(.param .u64 map, .param .u32 n) .reqntid 64 .reqnctapercluster 2
    /// {
    ///     .reg .pred done, elected, loads, more;
    ///     .reg .b32 tid, k, count, phase, taddr;
    ///     .reg .b64 tensor, a, b;
    ///     .shared .align 8 .b64 full, empty;
    ///     .shared .align 128 .b8 stage[16384];
    ///     ld.param.u64 tensor, [map];
    ///     ld.param.u32 count, [n];
    ///     mov.u32 tid, %tid.x;
    ///     setp.lt.u32 loads, tid, 32;
    ///     mov.u32 k, 0;
    ///     mov.u32 taddr, 0;
    ///     setp.ne.u32 more, tid, 0;
    ///     elect.sync _|elected, -1;
    ///     @!elected bra DONE;
    ///     @!loads bra MULTIPLY;
    /// LOAD:
    ///     and.b32 phase, k, 1;
    ///     xor.b32 phase, phase, 1;
    /// FREE:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [empty], phase;
    ///     @!done bra FREE;
    ///     mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16384;
    ///     cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [stage], [tensor, {k, k}], [full], 3;
    ///     add.u32 k, k, 1;
    ///     setp.lt.u32 more, k, count;
    ///     @more bra LOAD;
    ///     bra DONE;
    /// MULTIPLY:
    ///     and.b32 phase, k, 1;
    /// FILLED:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [full], phase;
    ///     @!done bra FILLED;
    ///     tcgen05.mma.cta_group::1.kind::f16 [taddr], a, b, 0x08200490, more;
    ///     tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [empty];
    ///     add.u32 k, k, 1;
    ///     setp.lt.u32 more, k, count;
    ///     @more bra MULTIPLY;
    /// DONE:
    ///     ret;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k(.param .u64 map, .param .u32 n) .reqntid 64 .reqnctapercluster 2
    /// {
    ///     .reg .pred done, elected, loads, more;
    ///     .reg .b32 tid, k, count, phase, taddr;
    ///     .reg .b16 mask;
    ///     .reg .b64 tensor, a, b;
    ///     .shared .align 8 .b64 full, empty;
    ///     .shared .align 128 .b8 stage[16384];
    ///     ld.param.u64 tensor, [map];
    ///     ld.param.u32 count, [n];
    ///     mov.u32 tid, %tid.x;
    ///     setp.lt.u32 loads, tid, 32;
    ///     mov.u32 k, 0;
    ///     mov.u32 taddr, 0;
    ///     setp.ne.u32 more, tid, 0;
    ///     mov.b16 mask, 3;
    ///     elect.sync _|elected, -1;
    ///     @!elected bra DONE;
    ///     @!loads bra MULTIPLY;
    /// LOAD:
    ///     and.b32 phase, k, 1;
    ///     xor.b32 phase, phase, 1;
    /// FREE:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [empty], phase;
    ///     @!done bra FREE;
    ///     mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16384;
    ///     cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [stage], [tensor, {k, k}], [full], 3;
    ///     add.u32 k, k, 1;
    ///     setp.lt.u32 more, k, count;
    ///     @more bra LOAD;
    ///     bra DONE;
    /// MULTIPLY:
    ///     and.b32 phase, k, 1;
    /// FILLED:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [full], phase;
    ///     @!done bra FILLED;
    ///     tcgen05.mma.cta_group::1.kind::f16 [taddr], a, b, 0x08200490, more;
    ///     tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [empty], mask;
    ///     add.u32 k, k, 1;
    ///     setp.lt.u32 more, k, count;
    ///     @more bra MULTIPLY;
    /// DONE:
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, *cp.async.bulk.tensor*; section 9.7.16.12.1
    MulticastReleasedLocally Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let Some(ReleasedLocally { release, wait, copy }) = flow.released_locally() else { continue };
        let opcode = |at: u32| flow.unit.module.instructions[at as usize].opcode;
        findings.push(
            Diagnostic::new(
                Code::MulticastReleasedLocally,
                opcode(release.instruction),
                "a stage that several CTAs fill for each other is released to its own CTA only",
                "signals the mbarrier of this CTA, and of no other",
            )
            .label(opcode(copy), "fills the stage of other CTAs as well")
            .label(wait.span, "waits for the own CTA only")
            .note(
                "each CTA that fills a stage has to wait until all CTAs which the copy names have read it: the mbarrier \
                 expects an arrival from each of them",
            )
            .help(
                "release the stage in all CTAs that fill it: a `commit` with `.multicast::cluster`, or an arrival in each \
                 of them by `mapa`, and initialise the mbarrier with as many arrivals",
            ),
        );
    }
}
