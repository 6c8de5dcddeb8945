//! Kernels of which nobody says what they are launched with: what is found must not rest on numbers that
//! were made up, and what no launch contradicts must be found.

use ptx_check::{Source, Unit};
use ptx_simulation::launch::LaunchShape;
use ptx_simulation::{Kernel, KernelReport, Reason, Settings, Verdict};

fn simulate(text: &str) -> KernelReport {
    let source = Source::new("kernel.ptx", text).unwrap();
    let unit = Unit::new(&source);
    assert!(unit.syntax_errors.is_empty(), "{:?}", unit.syntax_errors);
    let kernel = Kernel::new(&unit, "k").unwrap();
    let settings = Settings { budget: 1_000_000, ..Settings::default() };
    kernel.simulate_assumed(&LaunchShape::default(), &settings).unwrap()
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
    assert!(
        report.reasons.iter().any(|it| it.text.contains("different assumed values")),
        "{:?}",
        report.reasons
    );
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

/// Two warps that store if their words of a buffer are no zeros meet whatever these words are, but for
/// launches under which one of them stores nothing.
#[test]
fn words_without_which_nobody_comes_there() {
    let text = |barrier: &str| {
        let body = format!(
            "    .reg .pred p;
    .reg .b32 tid, n;
    .reg .b64 at;
    .shared .align 4 .b32 tile;

    ld.param.u64 at, [words];
    mov.u32 tid, %tid.x;
    setp.ge.u32 p, tid, 32;
    @p bra other;
    ld.global.u32 n, [at];
    setp.eq.u32 p, n, 0;
    @p bra stored;
    st.shared.u32 [tile], 1;
stored:
    {barrier}
    ret;
other:
    {barrier}
    ld.global.u32 n, [at+4];
    setp.eq.u32 p, n, 0;
    @p ret;
    st.shared.u32 [tile], 2;
    ret;
"
        );
        kernel(".param .u64 words", 64, &body)
    };
    let report = simulate(&text(""));
    assert_eq!(codes(&report), ["SIM201"], "{:?}", report.reasons);
    let report = simulate(&text("barrier.sync 1, 64;"));
    assert_eq!(report.verdict, Verdict::Clean, "{:?} {:?}", codes(&report), report.reasons);
}

/// Two warps that pass a barrier as often as words of their own say meet where these differ. That is no race if
/// they do not where the words agree.
#[test]
fn words_that_must_agree() {
    let text = kernel(
        ".param .u64 words",
        64,
        "\
    .reg .pred p;
    .reg .b32 tid, n;
    .reg .b64 at;
    .shared .align 4 .b32 tile;

    ld.param.u64 at, [words];
    mov.u32 tid, %tid.x;
    setp.ge.u32 p, tid, 32;
    @p bra other;
    ld.global.u32 n, [at+4];
    shr.u32 n, n, 8;
again:
    setp.eq.u32 p, n, 0;
    @!p bra stored;
    st.shared.u32 [tile], 1;
stored:
    barrier.sync 1, 64;
    @p ret;
    sub.u32 n, n, 1;
    bra again;
other:
    ld.global.u32 n, [at];
    shr.u32 n, n, 8;
wait:
    barrier.sync 1, 64;
    setp.eq.u32 p, n, 0;
    sub.u32 n, n, 1;
    @!p bra wait;
    st.shared.u32 [tile], 2;
    ret;
",
    );
    let report = simulate(&text);
    assert_eq!(codes(&report), [""; 0], "{:?}", report.reasons);
    assert!(report.assumed.iter().any(|it| it.contains("disagree")), "{:?}", report.assumed);
    let is_race = |it: &&Reason| it.text.starts_with("SIM201");
    assert_eq!(report.reasons.iter().find(is_race), None);
}

/// What is read races with the first store behind it, whichever that is: a run in which that is another one
/// does not say that the later one is ordered.
#[test]
fn a_race_with_whatever_comes_first() {
    let text = |barrier: &str| {
        let body = format!(
            "    .reg .pred p;
    .reg .b32 tid, n, x;
    .shared .align 4 .b32 tile;

    ld.param.u32 n, [count];
    mov.u32 tid, %tid.x;
    setp.eq.u32 p, n, 77;
    @p ret;
    setp.ge.u32 p, tid, 32;
    @p bra other;
    ld.shared.u32 x, [tile];
    {barrier}
    ret;
other:
    {barrier}
    setp.lt.u32 p, n, 500;
    @p bra second;
    st.shared.u32 [tile], 1;
second:
    st.shared.u32 [tile], 2;
    ret;
"
        );
        kernel(".param .u32 count", 64, &body)
    };
    let report = simulate(&text(""));
    assert_eq!(codes(&report), ["SIM201"], "{:?}", report.reasons);
    let report = simulate(&text("barrier.sync 1, 64;"));
    assert_eq!(report.verdict, Verdict::Clean, "{:?} {:?}", codes(&report), report.reasons);
}

/// A kernel in which a thread gives the tensor core something, and all wait for it: with what comes first, what
/// is written to a tile of so many bytes, and what the thread issues.
fn one_operation(parameters: &str, start: &str, tile: u32, written: &str, issued: &str) -> String {
    let body = format!(
        "    .reg .pred p, adds, done;
    .reg .b16 flag;
    .reg .b32 tid, warp, taddr, idesc, word;
    .reg .b64 a, b;
    .shared .align 4 .b32 slot;
    .shared .align 8 .b64 full;
    .shared .align 1024 .b8 tile[{tile}];

    {start}
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
    {written}
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    ld.shared.b32 taddr, [slot];
    @p bra issued;
    {issued}
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
    kernel(parameters, 128, &body)
}

/// The same with a multiply.
fn one_multiply(parameters: &str, start: &str, idesc: &str) -> String {
    let written = "mov.u32 word, tile;
    mad.lo.u32 word, tid, 16, word;
    st.shared.v4.u32 [word], {tid, tid, tid, tid};
    st.shared.v4.u32 [word+2048], {tid, tid, tid, tid};
    st.shared.v4.u32 [word+4096], {tid, tid, tid, tid};
    fence.proxy.async.shared::cta;";
    let issued = format!(
        "{idesc}
    mov.u32 word, tile;
    shr.u32 word, word, 4;
    cvt.u64.u32 a, word;
    or.b64 a, a, 0x0000401000080000;
    add.u64 b, a, 256;
    tcgen05.mma.cta_group::1.kind::f16 [taddr], a, b, idesc, adds;"
    );
    one_operation(parameters, start, 8192, written, &issued)
}

/// Whether the first multiply adds to what nobody has written is for whoever launches the kernel to say.
#[test]
fn a_flag_that_says_whether_to_add() {
    let text = |parameter: &str, flag: &str| one_multiply(parameter, flag, "mov.b32 idesc, 0x08100010;");
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

/// What an instruction descriptor says that is made of a number which nobody said is nobody's mistake.
#[test]
fn a_shape_that_is_a_parameter() {
    let start = "ld.param.u32 idesc, [n]; mov.pred adds, 0;";
    let made = "shr.u32 idesc, idesc, 3; shl.b32 idesc, idesc, 17; or.b32 idesc, idesc, 0x08000010;";
    let report = simulate(&one_multiply(".param .u32 n", start, made));
    assert_eq!(codes(&report), [""; 0], "{:?}", report.reasons);
    // Nor is what such a number chooses.
    let chosen = "setp.ge.u32 done, idesc, 100; selp.b32 idesc, 0x06100010, 0x08100010, done;";
    let report = simulate(&one_multiply(".param .u32 n", start, chosen));
    assert_eq!(codes(&report), [""; 0], "{:?}", report.reasons);
    // So is a mask of columns, whether or not it is taken for an address.
    let multiply = "tcgen05.mma.cta_group::1.kind::f16 [taddr], a, b, idesc, adds;";
    for masked in ["ld.param.u64 a, [n];", "ld.param.u64 a, [n]; ld.global.u32 word, [a];"] {
        let masked = format!(
            "add.u64 b, a, 0; {masked} tcgen05.mma.ws.cta_group::1.kind::f16 [taddr], b, b, idesc, adds, a;"
        );
        let text = one_multiply(".param .u64 n", "mov.pred adds, 0;", "mov.b32 idesc, 0x08100010;");
        let report = simulate(&text.replace(multiply, &masked));
        assert_eq!(codes(&report), [""; 0], "{:?}", report.reasons);
    }
    let said = "mov.u32 word, %ntid.x; mul.lo.u32 word, word, 0x000C0000; or.b32 idesc, word, 0x00100010;";
    let report = simulate(&one_multiply(".param .u32 n", "mov.pred adds, 0;", said));
    assert_eq!(codes(&report), ["SIM506"], "{:?}", report.reasons);
}

/// A descriptor that is a parameter is no address, and where it leads nobody knows.
#[test]
fn a_descriptor_that_is_a_parameter() {
    let text = |descriptor: &str| {
        let start = format!("ld.param.u64 a, [template];\n    {descriptor}");
        let issued = "tcgen05.cp.cta_group::1.128x256b [taddr], a;";
        one_operation(".param .u64 template", &start, 4096, "", issued)
    };
    for descriptor in ["", "mov.u64 b, 64; or.b64 a, a, b;", "add.u64 a, a, 0x100;"] {
        let report = simulate(&text(descriptor));
        assert!(report.diagnostics.is_empty(), "{descriptor}: {:?} {:?}", codes(&report), report.reasons);
    }
    // What the kernel itself says is found.
    let report = simulate(&text("mov.b64 a, 0x0000400800013FFF;"));
    assert_eq!(codes(&report), ["SIM503"], "{:?}", report.reasons);
}

/// A warp that stores to Tensor Memory for each part of the work that it has, one accumulator of 32 columns after the
/// other. It has allocated two of them, and begins again behind `most`.
fn parts(parts: &str, steps: &str, most: u32) -> String {
    let body = format!(
        "    .reg .pred p;
    .reg .b32 part, parts, step, steps, grid, taddr, at, number;
    .shared .align 4 .b32 slot;

    ld.param.u32 parts, [count];
    ld.param.u32 steps, [count];
    {parts}
    {steps}
    mov.u32 grid, %nctaid.x;
    mov.u32 part, %ctaid.x;
    mov.u32 number, 0;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
    ld.shared.b32 taddr, [slot];
next:
    setp.ge.u32 p, part, parts;
    @p bra done;
    mov.u32 step, 0;
work:
    add.u32 step, step, 1;
    setp.lt.u32 p, step, steps;
    @p bra work;
    mad.lo.u32 at, number, 32, taddr;
    tcgen05.st.sync.aligned.32x32b.x1.b32 [at], {{step}};
    tcgen05.wait::st.sync.aligned;
    add.u32 number, number, 1;
    setp.ge.u32 p, number, {most};
    selp.b32 number, 0, number, p;
    add.u32 part, part, grid;
    bra next;
done:
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 64;
    ret;
"
    );
    kernel(".param .u32 count", 32, &body)
}

/// Where there is more to do than is looked at, a cluster still has several parts of it.
#[test]
fn more_than_one_part() {
    let report = simulate(&parts("", "", 2));
    assert_eq!(report.verdict, Verdict::Clean, "{:?} {:?}", codes(&report), report.reasons);
    assert!(report.warp_instructions > 1000, "{}", report.warp_instructions);
    let report = simulate(&parts("", "", 3));
    assert_eq!(codes(&report), ["SIM301"], "{:?}", report.reasons);
    // Numbers so small that there is nothing to do show nothing.
    let (few, many) = ("shr.u32 parts, parts, 7;", "shl.b32 steps, steps, 6;");
    let report = simulate(&parts(few, many, 2));
    assert_eq!(report.verdict, Verdict::Clean, "{:?} {:?}", codes(&report), report.reasons);
    let wrong = parts(few, many, 2).replace("[at], {step}", "[at+64], {step}");
    let report = simulate(&wrong);
    assert_eq!(codes(&report), ["SIM301"], "{:?}", report.reasons);
}

/// Who asks for the work of others is given some.
#[test]
fn work_of_others() {
    let text = |most: u32| {
        let body = format!(
            "    .reg .pred p, q;
    .reg .b32 tid, taddr, at, number, parity;
    .reg .b128 answer;
    .shared .align 4 .b32 slot;
    .shared .align 8 .b64 full;
    .shared .align 16 .b8 response[16];

    mov.u32 tid, %tid.x;
    setp.eq.u32 p, tid, 0;
    @p mbarrier.init.shared::cta.b64 [full], 1;
    @p fence.mbarrier_init.release.cluster;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
    bar.sync 0;
    ld.shared.b32 taddr, [slot];
    mov.u32 number, 0;
    mov.u32 parity, 0;
next:
    mad.lo.u32 at, number, 32, taddr;
    tcgen05.st.sync.aligned.32x32b.x1.b32 [at], {{tid}};
    tcgen05.wait::st.sync.aligned;
    add.u32 number, number, 1;
    setp.ge.u32 q, number, {most};
    selp.b32 number, 0, number, q;
    @p mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16;
    @p clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [response], [full];
wait:
    mbarrier.try_wait.parity.shared::cta.b64 q, [full], parity;
    @!q bra wait;
    xor.b32 parity, parity, 1;
    ld.shared.b128 answer, [response];
    fence.proxy.async.shared::cta;
    bar.sync 0;
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 q, answer;
    @q bra next;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 64;
    ret;
"
        );
        kernel("", 32, &body)
    };
    let report = simulate(&text(2));
    assert_eq!(report.verdict, Verdict::Clean, "{:?} {:?}", codes(&report), report.reasons);
    let report = simulate(&text(3));
    assert_eq!(codes(&report), ["SIM301"], "{:?}", report.reasons);
}

/// Four CTAs load for each other, by rows and by columns: a CTA gets a quarter of its bytes from each copy. The bytes of
/// all four come together, as a copy signals two of them.
#[test]
fn multicast_by_rows_and_columns() {
    let body = "    .reg .pred p, q;
    .reg .b16 rows, columns;
    .reg .b32 tid, rank, i, n, parity, high, low, at, bits;
    .reg .b64 a, b;
    .shared .align 128 .b8 tile[4096];
    .shared .align 8 .b64 full;

    ld.param.u32 n, [steps];
    mov.b64 a, map_a;
    cvta.param.u64 a, a;
    mov.b64 b, map_b;
    cvta.param.u64 b, b;
    mov.u32 tid, %tid.x;
    mov.u32 rank, %cluster_ctarank;
    and.b32 low, rank, 1;
    and.b32 high, rank, 2;
    mov.u32 bits, 3;
    shl.b32 bits, bits, high;
    cvt.u16.u32 rows, bits;
    mov.u32 bits, 5;
    shl.b32 bits, bits, low;
    cvt.u16.u32 columns, bits;
    setp.ne.u32 p, tid, 0;
    @!p mbarrier.init.shared::cta.b64 [full], 1;
    @!p fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    mov.u32 i, 0;
again:
    setp.ge.u32 q, i, n;
    @q ret;
    @p bra loaded;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 4096;
    mov.u32 at, tile;
    mad.lo.u32 at, low, 1024, at;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [at], [a, {i, i}], [full], rows;
    mov.u32 at, tile;
    mad.lo.u32 at, high, 512, at;
    add.u32 at, at, 2048;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [at], [b, {i, i}], [full], columns;
    and.b32 parity, i, 1;
wait:
    mbarrier.try_wait.parity.shared::cta.b64 q, [full], parity;
    @!q bra wait;
loaded:
    bar.warp.sync -1;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    add.u32 i, i, 1;
    bra again;
";
    let parameters = ".param .align 64 .b8 map_a[128], .param .align 64 .b8 map_b[128], .param .u32 steps";
    let text = kernel(parameters, 32, body).replace(".reqntid 32", ".reqntid 32\n.reqnctapercluster 4");
    let report = simulate(&text);
    assert_eq!(report.verdict, Verdict::Clean, "{:?} {:?}", codes(&report), report.reasons);
}

/// Each warp stores what it has written, if a table says so. The copy of the first does not reach over what the second
/// has written.
#[test]
fn a_table_says_what_is_stored() {
    let body = "    .reg .pred p, q;
    .reg .b32 tid, warp, lane, slab, at, i, n, count;
    .reg .b64 map, table;
    .shared .align 128 .b8 slabs[1024];

    mov.b64 map, tensor;
    cvta.param.u64 map, map;
    ld.param.u64 table, [used];
    ld.param.u32 count, [tiles];
    ld.global.u32 n, [table+64];
    setp.eq.u32 p, n, 3;
    selp.b32 n, 2, 1, p;
    mov.u32 tid, %tid.x;
    shr.u32 warp, tid, 5;
    and.b32 lane, tid, 31;
    mov.u32 slab, slabs;
    mad.lo.u32 slab, warp, 512, slab;
    mad.lo.u32 at, lane, 16, slab;
    setp.eq.u32 p, lane, 0;
    setp.lt.and.u32 q, warp, n, p;
    mov.u32 i, 0;
again:
    setp.ge.u32 p, i, count;
    @p bra end;
    cp.async.bulk.wait_group.read 0;
    bar.warp.sync -1;
    st.shared.v4.b32 [at], {i, tid, i, tid};
    fence.proxy.async.shared::cta;
    bar.warp.sync -1;
    @q cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [map, {i}], [slab];
    cp.async.bulk.commit_group;
    add.u32 i, i, 1;
    bra again;
end:
    cp.async.bulk.wait_group 0;
    ret;
";
    let parameters = ".param .align 64 .b8 tensor[128], .param .u64 used, .param .u32 tiles";
    let report = simulate(&kernel(parameters, 64, body));
    assert_eq!(codes(&report), [""; 0], "{:?}", report.reasons);
}

/// A printed launch has the fields of a struct as the kernel loads them, and is a launch of the kernel.
#[test]
fn structs_are_printed_field_by_field() {
    let text = kernel(
        ".param .align 8 .b8 arguments[32]",
        32,
        "    .reg .b32 n, m, k;
    .reg .b64 at;
    ld.param.u64 at, [arguments+8];
    ld.param.u32 n, [arguments];
    ld.param.v2.u32 {m, k}, [arguments+16];
    st.global.u32 [at], n;
    ret;
",
    );
    let report = simulate(&text);
    let printed = &report.tried[0].file;
    for field in [
        "offset = 0\ntype = \"u32\"\nvalue = 512\n",
        "offset = 8\ntype = \"buffer\"\n",
        "offset = 16\ntype = \"u32\"\n",
        "offset = 20\ntype = \"u32\"\n",
    ] {
        assert!(printed.contains(field), "{field}: {printed}");
    }
    assert!(!printed.contains("offset = 24"), "{printed}");
}

/// Half of the bytes that come are expected. As large as that, the boxes would be too small for the multiplies: a launch
/// with larger ones shows it.
#[test]
fn too_few_bytes_are_expected() {
    let sound = include_str!("../../../../docs/simulation/gemm.ptx").replace("entry gemm(", "entry k(");
    let report = simulate(&sound);
    assert_eq!(report.verdict, Verdict::Clean, "{:?} {:?}", codes(&report), report.reasons);
    let tried = |report: &KernelReport| report.tried[report.shown_by.unwrap() - 1].file.clone();
    let printed = tried(&report);
    assert_eq!(printed.matches("box = [64, 128]\nswizzle = \"128B\"").count(), 2, "{printed}");
    let half = sound.replace("[bar], 32768;", "[bar], 16384;");
    assert_ne!(half, sound);
    let report = simulate(&half);
    assert_eq!(report.verdict, Verdict::Incomplete, "{:?}", codes(&report));
    assert!(report.reasons.iter().any(|it| it.text.contains("read 32768 bytes")), "{:?}", report.reasons);
    assert!(tried(&report).contains("box = [64, 128]"));
}

/// Without `.reqntid` the number of threads in a CTA is unknown. What is wrong with four warps is not a finding in a kernel
/// that is right with one.
#[test]
fn the_number_of_threads_is_not_known() {
    let body = "    .reg .b32 t, at, v;
    .shared .align 4 .b32 tile[32];
    mov.u32 t, %tid.x;
    mov.u32 at, tile;
    mad.lo.u32 at, t, 4, at;
    st.shared.b32 [at], t;
    ret;
";
    let open = kernel("", 32, body).replace(".reqntid 32", "");
    let report = simulate(&open);
    assert_eq!(report.verdict, Verdict::Incomplete, "{:?}", codes(&report));
    let text = &report.reasons[0].text;
    assert!(text.contains("with 32 threads in a CTA nothing is wrong"), "{text}");
    assert!(report.reasons[0].help.as_ref().is_some_and(|help| help.contains("`--block 128`")));
    assert_eq!(codes(&simulate(&kernel("", 128, body))), ["SIM501"]);
    assert_eq!(simulate(&kernel("", 32, body)).verdict, Verdict::Clean);
}

/// No tensor maps explain what a kernel does whose load is missing, or that counts wrongly. It is not called clean.
#[test]
fn no_boxes_explain_what_the_kernel_does() {
    let sound = include_str!("../../../../docs/simulation/gemm.ptx").replace("entry gemm(", "entry k(");
    let without = |what: &str| -> String {
        sound.lines().filter(|line| !line.contains(what)).map(|line| format!("{line}\n")).collect()
    };
    let descriptor = "add.u64 desc_b, desc_a, 1024;";
    for (text, reason) in [
        (without("[map_b, {x, 0}]"), "this load would have to bring both matrices of a multiply"),
        (without("[map_a, {x, 0}]"), "this load would have to bring both matrices of a multiply"),
        (sound.replace("[bar], 32768;", "[bar], 33792;"), "expects 33792 bytes of this load"),
        (
            sound.replace(descriptor, &format!("{descriptor} xor.b64 desc_b, desc_b, 0xC000000000000000;")),
            "multiplies read 17024 of them",
        ),
    ] {
        assert_ne!(text, sound);
        let report = simulate(&text);
        assert_eq!(report.verdict, Verdict::Incomplete, "{reason}: {:?}", codes(&report));
        assert!(report.reasons.iter().any(|it| it.text.contains(reason)), "{reason}: {:?}", report.reasons);
    }
}

/// One warp allocates Tensor Memory, stores or not, and writes what it loads from there to a buffer.
fn loads(stores: &str) -> String {
    let body = format!(
        "    .reg .b32 t, r;
    .reg .b64 o;
    .shared .align 4 .b32 slot;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    ld.shared.b32 t, [slot];
    {stores}
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {{r}}, [t];
    tcgen05.wait::ld.sync.aligned;
    ld.param.b64 o, [out];
    st.global.b32 [o], r;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 32;
    ret;
"
    );
    kernel(".param .u64 out", 32, &body)
}

/// Columns beside a matrix may be loaded, but not if there is no matrix at all.
#[test]
fn a_load_of_what_nothing_writes() {
    let report = simulate(&loads(""));
    assert_eq!(report.verdict, Verdict::Incomplete);
    assert!(report.reasons[0].text.contains("nothing is ever written into it"), "{:?}", report.reasons);
    for stored in ["t", "t + 4"] {
        let column = format!("add.u32 r, t, {};", if stored == "t" { 0 } else { 4 });
        let report = simulate(&loads(&format!(
            "{column}\n    tcgen05.st.sync.aligned.32x32b.x1.b32 [r], {{t}};\n    tcgen05.wait::st.sync.aligned;"
        )));
        assert_eq!(report.verdict, Verdict::Clean, "{stored}: {:?} {:?}", codes(&report), report.reasons);
    }
}
