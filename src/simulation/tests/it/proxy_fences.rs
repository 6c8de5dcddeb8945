//! Which fences show the async proxy what threads wrote to shared memory.

use ptx_simulation::{Schedule, Verdict};

use crate::simulate;

/// A thread stores, and another warp starts a copy of that: a fence in the one, or in the other.
fn kernel(first: &str, second: &str) -> String {
    format!(
        ".version 9.4
.target sm_100a
.address_size 64
.visible .entry k()
.reqntid 64
{{
    .reg .pred p, q;
    .reg .b32 tid;
    .shared .align 8 .b64 bar;
    .shared .align 128 .b8 tile[256];
    .shared .align 128 .b8 map[128];
    .global .align 128 .b8 there[128];
    .reg .b64 address;

    mov.u64 address, there;
    mov.u32 tid, %tid.x;
    setp.ne.u32 p, tid, 0;
    setp.ne.u32 q, tid, 32;
    @p bra stored;
    mbarrier.init.shared::cta.b64 [bar], 1;
    st.shared.v4.b32 [tile], {{tid, tid, tid, tid}};
    {first}
stored:
    bar.sync 0;
    @q bra done;
    {second}
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;
    cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [tile+128], [tile], 16, [bar];
wait:
    mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;
    @!q bra wait;
done:
    ret;
}}
"
    )
}

const ACQUIRE: &str = "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;";
const RELEASE: &str = "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;";

fn is_clean(first: &str, second: &str) -> bool {
    let text = kernel(first, second);
    let verdicts = [Schedule::Early, Schedule::Late].map(|schedule| {
        let report = simulate(&text, schedule);
        let codes: Vec<&str> = report.diagnostics.iter().map(|it| it.code.as_str()).collect();
        match report.verdict {
            Verdict::Clean => true,
            Verdict::Findings if codes == ["SIM203"] => false,
            other => panic!("{first} {second}: {other:?} {codes:?} {:?}", report.reasons),
        }
    });
    assert_eq!(verdicts[0], verdicts[1], "{first} {second}");
    verdicts[0]
}

#[test]
fn fences_of_both_directions_work_on_either_side() {
    for fence in [
        "fence.proxy.async;",
        "membar.proxy.async;",
        "fence.proxy.async.shared::cta;",
        "fence.proxy.async.shared::cluster;",
    ] {
        assert!(is_clean(fence, ""), "{fence}");
        assert!(is_clean("", fence), "{fence}");
    }
}

#[test]
fn other_fences_order_nothing_of_shared_memory() {
    for fence in [
        "",
        "fence.proxy.async.global;",
        "fence.proxy.alias;",
        "membar.proxy.alias;",
        "fence.proxy.alias.release.sys;",
        "fence.proxy.tensormap::generic.release.gpu;",
        "fence.proxy.tensormap::generic.acquire.gpu [address], 128;",
        "fence.acq_rel.gpu;",
        "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster;",
    ] {
        assert!(!is_clean(fence, ""), "{fence}");
        assert!(!is_clean("", fence), "{fence}");
    }
    let both = "fence.proxy.async.global; fence.proxy.async.shared::cta;";
    assert!(is_clean(both, ""));
}

/// PTX ISA, "membar, fence": such a fence orders prior accesses through the one proxy before later ones through the
/// other. An acquire orders what others released, and not what its own thread stored.
#[test]
fn fences_of_one_direction() {
    assert!(is_clean(RELEASE, ACQUIRE));
    assert!(is_clean(RELEASE, ""));
    assert!(is_clean("", RELEASE));
    assert!(is_clean("", ACQUIRE));
    assert!(!is_clean(ACQUIRE, ""));
    // What is stored after a fence is not ordered by it.
    let store = "st.shared.b32 [tile+4], 77;";
    for fence in [RELEASE, ACQUIRE, "fence.proxy.async;"] {
        assert!(!is_clean(&format!("{RELEASE} {store}"), ""), "{fence}");
    }
}
