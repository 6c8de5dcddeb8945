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

#[test]
fn a_byte_of_a_parameter_may_be_a_flag_that_is_not_set() {
    // Libraries hand the first `enable-input-d` over with the launch.
    let body = |flag: &str| {
        format!(
            "    .reg .pred p, q, e;
    .reg .b16 f;
    .reg .b32 t, tid, r;
    .reg .b64 d;
    .shared .align 1024 .b8 tile[32768];
    .shared .align 8 .b64 bar;
    .shared .align 4 .b32 slot;

    mov.u32 tid, %tid.x;
    setp.eq.u32 q, tid, 0;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    @q mbarrier.init.shared::cta.b64 [bar], 1;
    @q st.bulk.weak.shared::cta [tile], 32768, 0;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    ld.shared.b32 t, [slot];
    {flag}
    mov.u32 r, tile;
    shr.u32 r, r, 4;
    cvt.u64.u32 d, r;
    or.b64 d, d, 0x4000404000010000;
    @q tcgen05.mma.cta_group::1.kind::f16 [t], d, d, 0x08040010, e;
    @q tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
wait:
    mbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0;
    @!p bra wait;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 32;
    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
    ret;
"
        )
    };
    let run = |flag: &str| simulate(&kernel(".param .align 8 .b8 options[16]", 32, &body(flag)));
    let given = run("ld.param.b8 f, [options+1]; and.b16 f, f, 1; setp.ne.b16 e, f, 0;");
    assert_eq!((given.verdict, codes(&given)), (Verdict::Incomplete, vec![]));
    let set = run("setp.eq.u32 e, tid, tid;");
    assert_eq!(codes(&set), ["SIM306"]);
}
