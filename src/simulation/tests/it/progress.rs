//! Threads of a warp that part: those that end early, and those that wait for each other.

use ptx_check::{Source, Unit};
use ptx_simulation::launch::LaunchShape;
use ptx_simulation::{Kernel, KernelReport, Schedule, Settings, Verdict, WordKind};

fn module(parameters: &str, threads: u32, body: &str) -> Unit {
    let text = format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k({parameters}) .reqntid {threads}\n{{\n\
         .reg .b32 t, r, old; .reg .pred p, q; .reg .b64 a, at, n, i;\n.shared .align 4 .b32 lock; .shared .align 4 .b8 s[512];\n\
         {body}\n}}\n"
    );
    let source = Source::new("kernel.ptx", text).unwrap();
    let unit = Unit::new(&source);
    assert!(unit.syntax_errors.is_empty(), "{:?}", unit.syntax_errors);
    unit
}

fn simulate(unit: &Unit, schedule: Schedule) -> KernelReport {
    let kernel = Kernel::new(unit, "k").unwrap();
    let settings = Settings { budget: 2_000_000, schedule, ..Settings::default() };
    kernel.simulate_assumed(&LaunchShape::default(), &settings).unwrap()
}

fn schedules() -> impl Iterator<Item = Schedule> {
    [Schedule::Early, Schedule::Late].into_iter().chain((1..=20).map(Schedule::Random))
}

/// `if (i >= n) return;` before a barrier: the threads that return are not waited for, however that is written.
#[test]
fn an_early_exit() {
    let after =
        "mov.u32 r, s; mad.lo.u32 r, t, 4, r; st.shared.u32 [r], t; {barrier} ld.shared.u32 old, [r];";
    for barrier in
        ["bar.sync 0;", "barrier.sync 0;", "bar.warp.sync -1;", "shfl.sync.bfly.b32 old, t, 1, 0x1f, -1;"]
    {
        let after = after.replace("{barrier}", barrier);
        for end in [
            "@p ret; {} ret;",
            "@p bra D; {} ret; D: ret;",
            "@p bra D; {} D: ret;",
            "@!p bra E; ret; E: {} ret;",
        ] {
            let body = format!("mov.u32 t, %tid.x; setp.ge.u32 p, t, 40; {}", end.replace("{}", &after));
            let unit = module("", 64, &body);
            for schedule in schedules() {
                let report = simulate(&unit, schedule);
                let found: Vec<&str> = report.diagnostics.iter().map(|it| it.code.as_str()).collect();
                assert_eq!(
                    report.verdict,
                    Verdict::Clean,
                    "{body} {schedule:?}: {found:?} {:?}",
                    report.reasons
                );
            }
        }
    }
}

/// Threads that do something else meanwhile are missing at the barrier.
#[test]
fn a_barrier_in_a_branch() {
    let body = "mov.u32 t, %tid.x; setp.ge.u32 p, t, 40; @p bra D; bar.sync 0; D: mov.u32 r, s; st.shared.u32 [r], 1; ret;";
    let report = simulate(&module("", 64, body), Schedule::Early);
    assert_eq!(report.diagnostics.first().map(|it| it.code.as_str()), Some("SIM104"), "{:?}", report.reasons);
}

/// A lock that the threads of a warp take one after the other: who has it goes on while the others ask for it.
#[test]
fn a_lock_by_threads() {
    let body = "mov.u32 t, %tid.x; setp.eq.u32 q, t, 0; @q st.shared.u32 [lock], 0; bar.sync 0;\n\
        L: atom.acquire.cta.shared.cas.b32 old, [lock], 0, 1; setp.ne.u32 p, old, 0; @p bra L;\n\
        ld.shared.u32 r, [s]; add.u32 r, r, 1; st.shared.u32 [s], r;\n\
        atom.release.cta.shared.exch.b32 old, [lock], 0; ret;";
    let report = simulate(&module("", 64, body), Schedule::Early);
    let found: Vec<&str> = report.diagnostics.iter().map(|it| it.code.as_str()).collect();
    assert!(!found.contains(&"SIM101"), "{found:?} {:?}", report.reasons);
    assert!(report.reasons.is_empty(), "{:?}", report.reasons);
    // Nobody ever lets it go.
    let report = simulate(
        &module("", 64, &body.replace("exch.b32 old, [lock], 0", "exch.b32 old, [lock], 1")),
        Schedule::Early,
    );
    assert!(report.diagnostics.iter().any(|it| it.code.as_str() == "SIM101"), "{:?}", report.reasons);
}

/// A number of 64 bits is an address if memory is accessed there, and not because it is added or compared.
#[test]
fn numbers_of_64_bits() {
    let uses = [
        ("mov.u32 t, %tid.x; cvt.u64.u32 i, t; setp.lt.u64 p, i, n; @p st.global.u32 [a], t;", false),
        ("setp.ne.u64 p, n, 0; @p st.global.u32 [a], 1;", false),
        (
            "mov.u32 t, %tid.x; cvt.u64.u32 i, t; add.u64 i, i, n; shl.b64 i, i, 2; add.u64 at, a, i; st.global.u32 [at], t;",
            false,
        ),
        ("add.u64 at, a, n; st.global.b8 [at], 1;", false),
        ("add.u64 i, n, 1; st.global.u64 [a], i;", false),
        ("st.global.u64 [a], n;", false),
        ("ld.global.u32 r, [n]; st.global.u32 [a], r;", true),
        ("cvta.to.global.u64 n, n; ld.global.u32 r, [n+4]; st.global.u32 [a], r;", true),
    ];
    for (body, is_address) in uses {
        let body = format!("ld.param.u64 a, [x]; ld.param.u64 n, [y]; {body} ret;");
        let unit = module(".param .u64 x, .param .u64 y", 32, &body);
        let parameters = Kernel::new(&unit, "k").unwrap().parameters();
        assert_eq!(parameters[1].words[0].kind == WordKind::Address, is_address, "{body}");
    }
}
