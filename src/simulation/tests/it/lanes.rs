//! What an arrival of some lanes of a warp releases of what the others have stored.

use ptx_simulation::{Schedule, Verdict};

use crate::simulate;

/// Each lane of warp 0 stores to `values`, and `publishes`; warp 1 waits for `full`, and reads 4 bytes at `read`.
fn is_clean(publishes: &str, read: u32) -> bool {
    let text = format!(
        ".version 9.0
.target sm_100a
.address_size 64
.visible .entry k()
.reqntid 64
{{
    .reg .pred p, q, elected, done;
    .reg .b32 tid, lane, at, r;
    .shared .align 8 .b64 full;
    .shared .align 8 .b64 other;
    .shared .align 16 .b8 values[256];

    mov.u32 tid, %tid.x;
    mov.u32 lane, %laneid;
    setp.ne.u32 p, tid, 0;
    setp.ge.u32 q, tid, 32;
    @p bra ready;
    mbarrier.init.shared::cta.b64 [full], 1;
    mbarrier.init.shared::cta.b64 [other], 1;
ready:
    bar.sync 0;
    mov.u32 at, values;
    @q bra wait;
    mad.lo.u32 at, lane, 4, at;
    st.shared.b32 [at], tid;
    {publishes}
    ret;
wait:
    mbarrier.try_wait.parity.shared::cta.b64 done, [full], 0;
    @!done bra wait;
    ld.shared.b32 r, [values+{read}];
    ret;
}}
"
    );
    let verdicts = [Schedule::Early, Schedule::Late, Schedule::Random(3)].map(|schedule| {
        let report = simulate(&text, schedule);
        let codes: Vec<&str> = report.diagnostics.iter().map(|it| it.code.as_str()).collect();
        match report.verdict {
            Verdict::Clean => true,
            Verdict::Findings if codes == ["SIM201"] => {
                let help = &report.diagnostics[0].help;
                assert!(help.as_deref().is_some_and(|help| help.contains("bar.warp.sync")), "{help:?}");
                false
            }
            other => panic!("{publishes} {read}: {other:?} {codes:?} {:?}", report.reasons),
        }
    });
    assert!(verdicts.iter().all(|it| *it == verdicts[0]), "{publishes} {read}: {verdicts:?}");
    verdicts[0]
}

const ELECT: &str = "elect.sync _|elected, -1;";
const ARRIVE: &str = "@elected mbarrier.arrive.shared::cta.b64 _, [full];";

#[test]
fn an_elected_lane_releases_what_it_has_stored_itself() {
    let alone = format!("{ELECT} {ARRIVE}");
    assert!(!is_clean(&alone, 4));
    // The elected lane is the first.
    assert!(is_clean(&alone, 0));
    // A fence is none between lanes.
    assert!(!is_clean(&format!("fence.acq_rel.cta; {alone}"), 4));
    assert!(!is_clean(&format!("{alone} bar.warp.sync -1;"), 4));
}

#[test]
fn lanes_that_synchronise_store_before_it() {
    for synchronises in [
        "bar.warp.sync -1;",
        "shfl.sync.idx.b32 r, tid, 0, 31, -1;",
        "vote.sync.any.pred done, elected, -1;",
        "bar.sync 1, 32;",
    ] {
        assert!(is_clean(&format!("{synchronises} {ELECT} {ARRIVE}"), 4), "{synchronises}");
        assert!(is_clean(&format!("{ELECT} {synchronises} {ARRIVE}"), 4), "{synchronises}");
    }
}

#[test]
fn part_of_a_warp_synchronises() {
    let half = format!(
        "setp.lt.u32 done, lane, 16;
    @!done bra rest;
    bar.warp.sync 0xFFFF;
rest:
    setp.eq.u32 elected, lane, 0;
    {ARRIVE}"
    );
    assert!(is_clean(&half, 60));
    assert!(!is_clean(&half, 64));
}

#[test]
fn what_is_released_later_is_known_then() {
    let twice = "@elected mbarrier.arrive.shared::cta.b64 _, [other];";
    assert!(is_clean(&format!("{ELECT} {twice} bar.warp.sync -1; {ARRIVE}"), 4));
    assert!(!is_clean(&format!("{ELECT} {twice} {ARRIVE}"), 4));
    // All lanes store the same: one is as good as the others.
    assert!(is_clean(&format!("st.shared.b32 [values+128], 7; {ELECT} {ARRIVE}"), 128));
}

#[test]
fn each_lane_releases_its_own() {
    let text = |count: u32| {
        format!(
            "@q bra wait; mbarrier.arrive.shared::cta.b64 _, [other]; setp.eq.u32 elected, lane, {count}; {ARRIVE}"
        )
    };
    // The last lane arrives for itself only.
    assert!(is_clean(&text(31), 124));
    assert!(!is_clean(&text(31), 4));
}
