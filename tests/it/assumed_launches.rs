//! Kernels of which nobody says what they are launched with: what is found must not rest on numbers that
//! were made up, and what no launch contradicts must be found.

use ptx_tc::simulation::launch::LaunchFile;
use ptx_tc::simulation::{Kernel, KernelReport, Settings, Verdict};
use ptx_tc::{Source, Unit};

fn simulate(text: &str) -> KernelReport {
    let source = Source::new("kernel.ptx", text).unwrap();
    let unit = Unit::new(&source);
    assert!(unit.syntax_errors.is_empty(), "{:?}", unit.syntax_errors);
    let kernel = Kernel::new(&unit, "k").unwrap();
    let settings = Settings { budget: 1_000_000, ..Settings::default() };
    kernel.simulate_assumed(&LaunchFile::default(), &settings).unwrap()
}

/// A module with one kernel of a CTA of so many threads.
fn kernel(parameters: &str, threads: u32, body: &str) -> String {
    format!(
        "\
.version 9.4
.target sm_100a
.address_size 64

.visible .entry k({parameters})
.reqntid {threads}
{{
{body}}}
"
    )
}

fn codes(report: &KernelReport) -> Vec<&'static str> {
    report.diagnostics.iter().map(|finding| finding.code.as_str()).collect()
}

/// One warp produces and another consumes, each 20 rounds and one for each 256 that its word of a buffer
/// says; the consumer `more` rounds more.
fn rounds(produced: u32, consumed: u32, more: u32) -> String {
    let rounds = 20 + more;
    let body = format!(
        "    .reg .pred p, q;
    .reg .b32 tid, warp, n, i, parity;
    .reg .b64 at;
    .shared .align 8 .b64 full;
    .shared .align 8 .b64 empty;

    ld.param.u64 at, [words];
    mov.u32 tid, %tid.x;
    shr.u32 warp, tid, 5;
    setp.eq.u32 p, tid, 0;
    @p mbarrier.init.shared::cta.b64 [full], 32;
    @p mbarrier.init.shared::cta.b64 [empty], 32;
    bar.sync 0;
    mov.u32 i, 0;
    setp.ne.u32 p, warp, 0;
    @p bra consumer;
    ld.global.u32 n, [at+{produced}];
    shr.u32 n, n, 8;
    add.u32 n, n, 20;
produce:
    setp.ge.u32 p, i, n;
    @p ret;
    and.b32 parity, i, 1;
    xor.b32 parity, parity, 1;
free:
    mbarrier.try_wait.parity.shared::cta.b64 q, [empty], parity;
    @!q bra free;
    mbarrier.arrive.shared::cta.b64 _, [full];
    add.u32 i, i, 1;
    bra produce;
consumer:
    ld.global.u32 n, [at+{consumed}];
    shr.u32 n, n, 8;
    add.u32 n, n, {rounds};
consume:
    setp.ge.u32 p, i, n;
    @p ret;
    and.b32 parity, i, 1;
filled:
    mbarrier.try_wait.parity.shared::cta.b64 q, [full], parity;
    @!q bra filled;
    mbarrier.arrive.shared::cta.b64 _, [empty];
    add.u32 i, i, 1;
    bra consume;
"
    );
    kernel(".param .u64 words", 64, &body)
}

/// Where roles count by words of their own, a launch in which those differ is none.
#[test]
fn words_that_disagree() {
    let report = simulate(&rounds(0, 4, 0));
    assert_eq!(report.verdict, Verdict::Clean, "{:?} {:?}", codes(&report), report.reasons);
    assert!(report.assumed.iter().any(|it| it.contains("disagree")), "{:?}", report.assumed);
    // By the same word nothing is made up.
    let report = simulate(&rounds(0, 0, 0));
    assert_eq!(report.verdict, Verdict::Clean, "{:?} {:?}", codes(&report), report.reasons);
    assert!(!report.assumed.iter().any(|it| it.contains("disagree")), "{:?}", report.assumed);
}

/// A hang that the word cannot help is found, and one between different words never is.
#[test]
fn a_round_too_many() {
    let report = simulate(&rounds(0, 0, 1));
    assert_eq!(codes(&report), ["SIM101"], "{:?}", report.reasons);
    let report = simulate(&rounds(0, 4, 1));
    assert_ne!(report.verdict, Verdict::Clean);
    assert_eq!(codes(&report), [""; 0], "{:?}", report.reasons);
    assert!(report.reasons.iter().any(|it| it.text.contains("different words")), "{:?}", report.reasons);
}

/// An array that made up numbers lead out of says nothing of what lies behind it.
#[test]
fn numbers_too_large_for_an_array() {
    let text = kernel(
        ".param .u32 count",
        64,
        "\
    .reg .pred p;
    .reg .b32 tid, n, at, x;
    .shared .align 4 .b8 first[256];
    .shared .align 4 .b8 second[256];

    ld.param.u32 n, [count];
    mov.u32 tid, %tid.x;
    mov.u32 at, first;
    mad.lo.u32 at, n, 4, at;
    setp.lt.u32 p, tid, 32;
    @p st.shared.u32 [at], tid;
    mov.u32 at, second;
    @!p st.shared.u32 [at], tid;
    ret;
",
    );
    let report = simulate(&text);
    assert_eq!(codes(&report), [""; 0], "{:?}", report.reasons);
}

/// What shows where only some numbers lead is found where no other comes there.
#[test]
fn places_that_few_numbers_reach() {
    let text = kernel(
        ".param .u32 count, .param .u64 out",
        32,
        "\
    .reg .pred p;
    .reg .b32 tid, n, at;
    .reg .b64 to;
    .shared .align 128 .b8 tile[128];

    ld.param.u32 n, [count];
    ld.param.u64 to, [out];
    mov.u32 tid, %tid.x;
    setp.lt.u32 p, n, 300;
    @p bra done;
    shl.b32 at, tid, 2;
    mov.u32 n, tile;
    add.u32 at, at, n;
    st.shared.u32 [at], tid;
    bar.sync 0;
    setp.ne.u32 p, tid, 0;
    @p bra done;
    cp.async.bulk.global.shared::cta.bulk_group [to], [tile], 128;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
done:
    ret;
",
    );
    let report = simulate(&text);
    assert_eq!(codes(&report), ["SIM203"], "{:?}", report.reasons);
    let report =
        simulate(&text.replace("    bar.sync 0;", "    fence.proxy.async.shared::cta;\n    bar.sync 0;"));
    assert_eq!(report.verdict, Verdict::Clean, "{:?} {:?}", codes(&report), report.reasons);
}

/// What other clusters write is not said either.
#[test]
fn a_flag_of_others() {
    let text = kernel(
        ".param .u64 flag",
        32,
        "\
    .reg .pred p;
    .reg .b32 x;
    .reg .b64 at;

    ld.param.u64 at, [flag];
again:
    ld.acquire.gpu.global.u32 x, [at];
    setp.lt.u32 p, x, 3;
    @p bra again;
    ret;
",
    );
    let report = simulate(&text);
    assert_eq!(report.verdict, Verdict::Clean, "{:?} {:?}", codes(&report), report.reasons);
    assert!(report.assumed.iter().any(|it| it.contains("others write")), "{:?}", report.assumed);
    // One that nothing satisfies is waited for in vain.
    let report = simulate(&text.replace("setp.lt.u32 p, x, 3", "setp.ne.u32 p, x, 77777"));
    assert_eq!(report.verdict, Verdict::Incomplete);
}

/// What meets wherever an index leads does not rest on the numbers that were made up.
#[test]
fn an_index_that_leads_nowhere_else() {
    let text = |barrier: &str| {
        let body = format!(
            "    .reg .pred p;
    .reg .b32 tid, n, at;
    .shared .align 4 .b8 first[256];

    ld.param.u32 n, [count];
    and.b32 n, n, 63;
    mov.u32 tid, %tid.x;
    mov.u32 at, first;
    mad.lo.u32 at, n, 4, at;
    setp.eq.u32 p, tid, 0;
    @p st.shared.u32 [at], 1;
    {barrier}
    setp.eq.u32 p, tid, 32;
    @p st.shared.u32 [at], 2;
    ret;
"
        );
        kernel(".param .u32 count", 64, &body)
    };
    let report = simulate(&text(""));
    assert_eq!(codes(&report), ["SIM201"], "{:?}", report.reasons);
    let report = simulate(&text("bar.sync 0;"));
    assert_eq!(report.verdict, Verdict::Clean, "{:?} {:?}", codes(&report), report.reasons);
}

/// Whether the first multiply adds to what nobody has written is for whoever launches the kernel to say.
#[test]
fn a_flag_that_says_whether_to_add() {
    let text = |parameter: &str, flag: &str| {
        let body = format!(
            "    .reg .pred p, adds, done;
    .reg .b16 flag;
    .reg .b32 tid, warp, taddr, idesc, word;
    .reg .b64 a, b;
    .shared .align 4 .b32 slot;
    .shared .align 8 .b64 full;
    .shared .align 1024 .b8 tile[8192];

    {flag}
    mov.u32 tid, %tid.x;
    shr.u32 warp, tid, 5;
    setp.ne.u32 p, warp, 0;
    @p bra allocated;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
allocated:
    setp.ne.u32 p, tid, 0;
    @!p mbarrier.init.shared::cta.b64 [full], 1;
    @!p fence.mbarrier_init.release.cluster;
    mov.u32 word, tile;
    mad.lo.u32 word, tid, 16, word;
    st.shared.v4.u32 [word], {{tid, tid, tid, tid}};
    st.shared.v4.u32 [word+2048], {{tid, tid, tid, tid}};
    st.shared.v4.u32 [word+4096], {{tid, tid, tid, tid}};
    fence.proxy.async.shared::cta;
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    ld.shared.b32 taddr, [slot];
    @p bra issued;
    mov.b32 idesc, 0x08100010;
    mov.u32 word, tile;
    shr.u32 word, word, 4;
    cvt.u64.u32 a, word;
    or.b64 a, a, 0x0000401000080000;
    add.u64 b, a, 256;
    tcgen05.mma.cta_group::1.kind::f16 [taddr], a, b, idesc, adds;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full];
issued:
    mbarrier.try_wait.parity.shared::cta.b64 done, [full], 0;
    @!done bra issued;
    bar.sync 0;
    setp.ne.u32 p, warp, 0;
    @p bra freed;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 64;
freed:
    ret;
"
        );
        kernel(parameter, 128, &body)
    };
    let bit = "and.b16 flag, flag, 1; setp.ne.b16 adds, flag, 0;";
    let report = simulate(&text(".param .align 4 .b8 mma[4]", &format!("ld.param.b8 flag, [mma+2]; {bit}")));
    assert_eq!(report.verdict, Verdict::Clean, "{:?} {:?}", codes(&report), report.reasons);
    // A word is never zero where a launch is assumed.
    let word = "ld.param.u32 word, [adding]; setp.ne.u32 adds, word, 0;";
    let report = simulate(&text(".param .u32 adding", word));
    assert_eq!(report.verdict, Verdict::Incomplete, "{:?} {:?}", codes(&report), report.reasons);
    // What the kernel itself says is found.
    let report = simulate(&text("", "mov.pred adds, 1;"));
    assert_eq!(codes(&report), ["SIM306"], "{:?}", report.reasons);
}

/// A descriptor that is a parameter is no address, and where it leads nobody knows.
#[test]
fn a_descriptor_that_is_a_parameter() {
    let text = |descriptor: &str| {
        let body = format!(
            "    .reg .pred p, done;
    .reg .b32 tid, warp, taddr;
    .reg .b64 matrix, low;
    .shared .align 4 .b32 slot;
    .shared .align 8 .b64 full;
    .shared .align 1024 .b8 tile[4096];

    ld.param.u64 matrix, [template];
    {descriptor}
    mov.u32 tid, %tid.x;
    shr.u32 warp, tid, 5;
    setp.ne.u32 p, warp, 0;
    @p bra allocated;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
allocated:
    setp.ne.u32 p, tid, 0;
    @!p mbarrier.init.shared::cta.b64 [full], 1;
    @!p fence.mbarrier_init.release.cluster;
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    ld.shared.b32 taddr, [slot];
    @p bra issued;
    tcgen05.cp.cta_group::1.128x256b [taddr], matrix;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full];
issued:
    mbarrier.try_wait.parity.shared::cta.b64 done, [full], 0;
    @!done bra issued;
    bar.sync 0;
    setp.ne.u32 p, warp, 0;
    @p bra freed;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 32;
freed:
    ret;
"
        );
        kernel(".param .u64 template", 128, &body)
    };
    for descriptor in ["", "mov.u64 low, 64; or.b64 matrix, matrix, low;", "add.u64 matrix, matrix, 0x100;"] {
        let report = simulate(&text(descriptor));
        assert!(report.diagnostics.is_empty(), "{descriptor}: {:?} {:?}", codes(&report), report.reasons);
    }
    // What the kernel itself says is found.
    let report = simulate(&text("mov.b64 matrix, 0x0000400800013FFF;"));
    assert_eq!(codes(&report), ["SIM503"], "{:?}", report.reasons);
}
