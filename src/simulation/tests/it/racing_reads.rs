//! Loads that race with stores of other warps: findings if something depends on what they read.

use ptx_simulation::KernelReport;

use crate::{buffer, launched};

/// 128 threads load 64 numbers, and the first 64 threads store them in place, each one more than it was; then the rest.
fn run(rest: &str) -> KernelReport {
    let text = format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 buffer)\n.reqntid 128\n{{
    .reg .pred q, p;
    .reg .b32 t, i, v, w;
    .reg .b64 x, at, to;
    .shared .align 4 .b32 sums[128];
    ld.param.b64 x, [buffer];
    mov.u32 t, %tid.x;
    and.b32 i, t, 63;
    mad.wide.u32 at, i, 4, x;
    mad.wide.u32 to, t, 4, x;
    ld.global.b32 v, [at];
    add.u32 v, v, 1;
    setp.lt.u32 q, t, 64;
    @q st.global.b32 [at], v;
    {rest}
    ret;
}}
"
    );
    launched(&text, vec![buffer(vec![7; 1024])], 128)
}

fn codes(report: &KernelReport) -> Vec<&str> {
    report.diagnostics.iter().map(|it| it.code.as_str()).collect()
}

#[test]
fn nothing_depends_on_what_is_loaded() {
    for rest in [
        "",
        "mov.u32 w, sums; mad.lo.u32 w, t, 4, w; st.shared.b32 [w], v;",
        "selp.b32 w, v, 1, q; @q st.global.b32 [to+512], w;",
    ] {
        let report = run(rest);
        assert_eq!(codes(&report), [""; 0], "{rest}");
        assert!(report.assumed.iter().any(|it| it.contains("at line 16")), "{:?}", report.assumed);
        let stored = &report.outputs[0].bytes[..4];
        assert_eq!(stored, 0x0707_0708_u32.to_le_bytes());
    }
}

/// A load that nothing depends on in any warp stands for one whose use was left out.
#[test]
fn a_load_for_nothing() {
    let text = ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 buffer)\n.reqntid 128\n{
    .reg .pred q;
    .reg .b32 t, i, v;
    .reg .b64 x, at;
    ld.param.b64 x, [buffer];
    mov.u32 t, %tid.x;
    and.b32 i, t, 63;
    mad.wide.u32 at, i, 4, x;
    setp.lt.u32 q, t, 64;
    @q st.global.b32 [at], t;
    ld.global.b32 v, [at];
    add.u32 v, v, 1;
    ret;
}
";
    assert_eq!(codes(&launched(text, vec![buffer(vec![7; 1024])], 128)), ["SIM204"]);
}

#[test]
fn something_depends_on_what_is_loaded() {
    for rest in [
        "st.global.b32 [to+512], v;",
        "setp.eq.u32 p, v, 5; @p st.global.b32 [to+512], 1;",
        "and.b32 w, v, 4; cvt.u64.u32 at, w; add.u64 at, at, x; @!q st.global.b32 [at+512], 1;",
        "@!q atom.global.add.u32 w, [x+600], v;",
    ] {
        assert!(codes(&run(rest)).contains(&"SIM204"), "{rest}");
    }
}
