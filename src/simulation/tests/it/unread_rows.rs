//! Rows of a matrix that nothing wrote: a finding if a store depends on them, as the first element that a warp stores
//! shows.

use ptx_simulation::Verdict;

use crate::{buffer, launched};

/// A multiply of 128 rows, of which 64 were written; one warp stores its lanes of the first column.
fn kernel(storing: u32) -> String {
    format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 out)\n.reqntid 128\n{{
    .reg .pred p, q, never, stores;
    .reg .b32 tid, warp, r<4>, taddr, lanes;
    .reg .b64 rd<4>, adesc, to;
    .shared .align 8 .b64 bar;
    .shared .align 4 .b32 slot;
    .shared .align 1024 .b8 tile[16384];
    mov.u32 tid, %tid.x;
    shr.u32 warp, tid, 5;
    setp.eq.u32 p, warp, 0;
    @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    setp.eq.u32 q, tid, 0;
    @q mbarrier.init.shared::cta.b64 [bar], 1;
    mov.u32 r1, tile;
    @q st.bulk.weak.shared::cta [r1], 8192, 0;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    ld.shared.b32 taddr, [slot];
    shr.u32 r1, r1, 4;
    cvt.u64.u32 adesc, r1;
    or.b64 adesc, adesc, 0x4000404000010000;
    setp.ne.u32 never, tid, tid;
    @q tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, adesc, 0x08040010, never;
    @q tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
wait:
    mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;
    @!q bra wait;
    shl.b32 lanes, warp, 21;
    add.u32 lanes, lanes, taddr;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {{r2}}, [lanes];
    tcgen05.wait::ld.sync.aligned;
    ld.param.u64 to, [out];
    mul.wide.u32 rd1, tid, 4;
    add.u64 to, to, rd1;
    setp.eq.u32 stores, warp, {storing};
    @stores st.global.b32 [to], r2;
    bar.sync 0;
    @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 32;
    ret;
}}
"
    )
}

#[test]
fn rows_that_nothing_wrote() {
    for (storing, is_found) in [(0, false), (1, false), (2, true), (3, true)] {
        let report = launched(&kernel(storing), vec![buffer(vec![0xFF; 512])], 128);
        let codes: Vec<&str> = report.diagnostics.iter().map(|it| it.code.as_str()).collect();
        assert_eq!(
            codes,
            if is_found { vec!["SIM505"] } else { vec![] },
            "warp {storing}: {:?}",
            report.reasons
        );
        assert_eq!(report.verdict == Verdict::Clean, !is_found);
    }
}
