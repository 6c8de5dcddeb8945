//! Operations beside the threads that read what another warp writes: nothing orders them, whichever comes first.

use ptx_simulation::{Schedule, Verdict};

use crate::simulate;

/// How something reads the tile, or Tensor Memory, and how its end is seen.
struct Reader {
    name: &'static str,
    reads: &'static str,
    waits: Waits,
    /// What the other warp does: it writes where that reads.
    writes: &'static str,
    code: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Group,
    Bytes,
    Commit,
}

const WRITES_SHARED: &str = "    @other st.shared.b32 [tile], tid;\n";
const WRITES_TENSOR: &str = "    tcgen05.st.sync.aligned.32x32b.x1.b32 [{lanes}], {tid};
    tcgen05.wait::st.sync.aligned;
";

const READERS: [Reader; 6] = [
    Reader {
        name: "bulk store",
        reads: "    @one cp.async.bulk.global.shared::cta.bulk_group [to], [tile], 1024;\n",
        waits: Waits::Group,
        writes: WRITES_SHARED,
        code: "SIM201",
    },
    Reader {
        name: "bulk reduction",
        reads: "    @one cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [to], [tile], 1024;\n",
        waits: Waits::Group,
        writes: WRITES_SHARED,
        code: "SIM201",
    },
    Reader {
        name: "bulk copy in the cluster",
        reads: "    @one mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;
    @one cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [copy], [tile], 1024, [bar];
",
        waits: Waits::Bytes,
        writes: WRITES_SHARED,
        code: "SIM201",
    },
    Reader {
        name: "multiply",
        reads: "    @one tcgen05.mma.cta_group::1.kind::f16 [taddr], desc, desc, 0x8080010, never;\n",
        waits: Waits::Commit,
        writes: WRITES_SHARED,
        code: "SIM201",
    },
    Reader {
        name: "copy to Tensor Memory",
        reads: "    @one tcgen05.cp.cta_group::1.128x256b [taddr], desc;\n",
        waits: Waits::Commit,
        writes: WRITES_SHARED,
        code: "SIM201",
    },
    Reader {
        name: "multiply of Tensor Memory",
        reads: "    @one tcgen05.mma.cta_group::1.kind::f16 [taddr], [operand], desc, 0x8080010, never;\n",
        waits: Waits::Commit,
        writes: WRITES_TENSOR,
        code: "SIM202",
    },
];

/// A kernel in which one warp reads and the other writes; `ordered`: when that is over.
fn kernel(reader: &Reader, reads_first: bool, ordered: bool) -> String {
    // The machine begins with warp 0.
    let (reading, writing) = if reads_first { (0, 1) } else { (1, 0) };
    let lanes = format!("own{writing}");
    let writes = reader.writes.replace("{lanes}", &lanes);
    let commits = match reader.waits {
        Waits::Group => "    @one cp.async.bulk.commit_group;\n",
        Waits::Bytes => "",
        Waits::Commit => {
            "    @one tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
        }
    };
    let wait = match reader.waits {
        Waits::Group => "    @one cp.async.bulk.wait_group.read 0;\n",
        Waits::Bytes | Waits::Commit => {
            "wait:
    mbarrier.try_wait.parity.shared::cta.b64 over, [bar], 0;
    @!over bra wait;
"
        }
    };
    let sync = if ordered { "    bar.sync 1, 64;\n" } else { "" };
    let reads = reader.reads;
    format!(
        "\
.version 9.4
.target sm_100a
.address_size 64

.visible .entry k(.param .u64 out)
.reqntid 64
{{
    .reg .pred p, one, other, over, never;
    .reg .b32 tid, warp, r, taddr, operand, own0, own1;
    .reg .b64 to, desc;
    .shared .align 8 .b64 bar;
    .shared .align 4 .b32 slot;
    .shared .align 1024 .b8 tile[32768];
    .shared .align 1024 .b8 copy[1024];

    ld.param.u64 to, [out];
    mov.u32 tid, %tid.x;
    shr.u32 warp, tid, 5;
    setp.eq.u32 p, warp, 0;
    @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
    setp.eq.u32 one, tid, 0;
    @one mbarrier.init.shared::cta.b64 [bar], 1;
    mov.u32 r, tile;
    @one st.bulk.weak.shared::cta [r], 32768, 0;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    ld.shared.b32 taddr, [slot];
    add.u32 operand, taddr, 32;
    mov.u32 own0, operand;
    add.u32 own1, operand, 0x200000;
    shr.u32 r, r, 4;
    cvt.u64.u32 desc, r;
    or.b64 desc, desc, 0x4000404000010000;
    setp.ne.u32 never, tid, tid;
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    setp.eq.u32 one, tid, {thread};
    setp.eq.u32 other, tid, {writer};
    setp.eq.u32 p, warp, {writing};
    @p bra writes;
{reads}{commits}{wait}{sync}    bra end;
writes:
{sync}{writes}end:
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    setp.eq.u32 p, warp, 0;
    @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 64;
    ret;
}}
",
        thread = reading * 32,
        writer = writing * 32 + 1,
    )
}

fn schedules() -> impl Iterator<Item = Schedule> {
    [Schedule::Early, Schedule::Late].into_iter().chain((1..=4).map(Schedule::Random))
}

#[test]
fn races_are_found_in_both_orders() {
    for reader in &READERS {
        for reads_first in [true, false] {
            let text = kernel(reader, reads_first, false);
            for schedule in schedules() {
                let report = simulate(&text, schedule);
                let codes: Vec<&str> = report.diagnostics.iter().map(|it| it.code.as_str()).collect();
                let name = reader.name;
                assert!(
                    codes.contains(&reader.code),
                    "{name}, reads first: {reads_first}, {schedule:?}: {codes:?} {:?}",
                    report.reasons
                );
            }
        }
    }
}

#[test]
fn what_has_been_read_may_be_overwritten() {
    for reader in READERS.iter().filter(|reader| reader.code == "SIM201") {
        for reads_first in [true, false] {
            let text = kernel(reader, reads_first, true);
            for schedule in schedules() {
                let report = simulate(&text, schedule);
                assert_eq!(
                    report.verdict,
                    Verdict::Clean,
                    "{}, reads first: {reads_first}, {schedule:?}: {:?} {:?}",
                    reader.name,
                    report.diagnostics,
                    report.reasons
                );
            }
        }
    }
}
