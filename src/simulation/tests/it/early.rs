//! Arrivals that come before the access that they hand over.

use ptx_simulation::Schedule;

use crate::simulate;

/// Warp 0 does `first`, warp 1 does `second` and then writes. The label of the arrival and the help, if there is a race.
fn race(first: &str, second: &str) -> Option<(Option<String>, Option<String>)> {
    let text = format!(
        ".version 9.4
.target sm_100a
.address_size 64
.visible .entry k()
.reqntid 64
{{
    .reg .pred p, done;
    .reg .b32 tid, warp, r;
    .shared .align 8 .b64 empty, other;
    .shared .align 4 .b32 slot;
    mov.u32 tid, %tid.x;
    shr.u32 warp, tid, 5;
    setp.eq.u32 p, tid, 0;
    @p mbarrier.init.shared::cta.b64 [empty], 32;
    @p mbarrier.init.shared::cta.b64 [other], 32;
    bar.sync 0;
    setp.eq.u32 p, warp, 1;
    @p bra second;
    {first}
    ret;
second:
    {second}
    st.shared.b32 [slot], 7;
    ret;
}}
"
    );
    let report = simulate(&text, Schedule::Early);
    let finding = report.diagnostics.first()?;
    let label = finding.labels.iter().find(|label| label.message.contains("arrives here"));
    Some((label.map(|label| label.message.clone()), finding.help.clone()))
}

const ARRIVE: &str = "mbarrier.arrive.shared::cta.b64 _, [empty];";
const READ: &str = "ld.shared.b32 r, [slot];";
const WAIT: &str = "wait: mbarrier.try_wait.parity.shared::cta.b64 done, [empty], 0; @!done bra wait;";

#[test]
fn the_arrival_before_the_access_is_named() {
    let (label, help) = race(&format!("{ARRIVE} {READ}"), WAIT).unwrap();
    assert_eq!(label.as_deref(), Some("warp 0 arrives here, and accesses this after the arrival"));
    assert!(help.unwrap().starts_with("arrive after the access"));
    assert_eq!(race(&format!("{READ} {ARRIVE}"), WAIT), None);
}

/// A read after the arrival is named though one before it is handed over.
#[test]
fn of_two_accesses_the_later_one_races() {
    let (label, _) = race(&format!("{READ} {ARRIVE} {READ}"), WAIT).unwrap();
    assert!(label.is_some());
}

/// Without a wait, the last thing that warp 1 knows is the barrier. What it knows by another barrier is later than the
/// arrival.
#[test]
fn an_arrival_that_nothing_waited_for_is_not_named() {
    assert_eq!(race(&format!("{ARRIVE} {READ}"), ""), Some((None, None)));
    let synchronised = format!("{ARRIVE} bar.sync 1, 64; {READ}");
    assert_eq!(race(&synchronised, &format!("{WAIT} bar.sync 1, 64;")), Some((None, None)));
    let (label, _) =
        race(&format!("bar.arrive 1, 64; {ARRIVE} {READ}"), &format!("bar.sync 1, 64; {WAIT}")).unwrap();
    assert!(label.is_some());
}
