//! What `ptx-tc draw` prints and how it complains: one snapshot for each group of invocations.

use crate::common::ptx_tc;

/// Runs the tool; its whole answer as text.
fn answer(arguments: &[&str]) -> String {
    let output = ptx_tc(arguments)
        .env("TERM", "xterm")
        .env("LC_ALL", "C.UTF-8")
        .env("COLUMNS", "100")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = text.lines().map(str::trim_end).chain([""]).collect();
        lines.join("\n")
    };
    let status = output.status.code().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    format!("$ ptx-tc {}\n{out}{err}exit status {status}\n", arguments.join(" "))
}

macro_rules! snapshots {
    ($($name:ident: [$($arguments:expr),+ $(,)?])+) => {
        $(
            #[test]
            fn $name() {
                let answers: Vec<String> = [$($arguments),+].iter().map(|it: &&str| {
                    answer(&it.split_whitespace().collect::<Vec<_>>())
                }).collect();
                insta::assert_snapshot!(answers.join("\n"));
            }
        )+
    };
}

snapshots! {
    descriptors: [
        "draw idesc 0x08200490 --kind f16",
        "draw idesc 0x08200493 kind=f16 target=sm_100a",
        "draw zero-mask 0x0003028000000000 m=128 n=64",
        "draw smem 0x4000404000010040 rows=9 columns=16",
        "draw smem 0x6000404000010040",
    ]
    operands: [
        "draw smem 0xC000402000010000 --type tf32 --major k rows=8 columns=8 access=core",
        "draw smem 0x0000400800100000 --type e2m1 kind=mxf4 rows=8 columns=64",
        "draw smem 0x0000400800100000 --type e2m1 rows=2 columns=32 access=line",
        "draw smem 0x0000400000000000 --type bf16 --major mn rows=16 columns=16",
    ]
    multiplies: [
        "draw mma --kind f16 m=64 n=128",
        "draw mma idesc=0x08200490 kind=f16 a=bf16 lanes=30-33 columns=0-3",
        "draw tcgen05.mma.sp.cta_group::2.kind::mxf8f6f4.block_scale m=256 n=64",
        "draw mma kind=mxf4nvf4 scale-vec=block16 m=128 n=256 show=scales-b",
    ]
    moves: [
        "draw ld 16x256b x1",
        "draw st 16x32bx2 x2 unpack::16b split=8",
        "draw tcgen05.ld.sync.aligned.32x32b.x32.b32 lanes=0-3",
        "draw cp 32x128b warpx4",
        "draw cp tcgen05.cp.cta_group::2.128x128b.b8x16.b4x16_p64",
        "draw cp 4x256b",
    ]
    files: [
        "draw tmem docs/simulation/gemm.ptx",
        "draw tmem docs/simulation/gemm.ptx --launch docs/simulation/gemm.toml",
        "draw barriers docs/simulation/gemm.ptx",
        "draw barriers docs/simulation/hang.ptx --launch docs/simulation/gemm.toml",
        "draw timeline docs/simulation/hang.ptx --launch docs/simulation/gemm.toml",
    ]
    complaints: [
        "draw smen 0x0",
        "draw smem",
        "draw smem 0x0 0x1",
        "draw smem nonsense",
        "draw smem 0x10000000000000000",
        "draw smem 0x0 --type f17",
        "draw smem 0x0 --major both",
        "draw smem 0x0 row=4",
        "draw smem 0x0 rows=1000000 columns=1000000",
        "draw smem 0x40007FFF00013FFF rows=16",
        "draw idesc 0x0",
        "draw idesc 0x100000000 kind=f16",
        "draw mma m=64 n=64",
        "draw mma kind=f16 m=64",
        "draw mma kind=f16 m=100 n=64",
        "draw mma kind=f16 m=64 n=64 show=a",
        "draw mma kind=f16 m=128 n=256 lanes=0-127 columns=0-255",
        "draw mma kind=f16 m=128 n=256 lanes=5-3",
        "draw ld 16x256 x4",
        "draw ld 16x256b",
        "draw ld 16x256b x128",
        "draw ld tcgen05.st.sync.aligned.16x64b.x1.b32",
        "draw cp 64x128b",
        "draw tcgen05.commit.cta_group::1",
        "draw tcgen05.lod.x4",
        "draw tmem",
        "draw tmem no-such-file.ptx",
        "draw tmem docs/simulation/gemm.ptx --kernel nothing",
        "draw timeline docs/simulation/gemm.ptx --launch no-such-file.toml",
        "draw timeline docs/simulation/gemm.ptx steps=3",
    ]
}

/// Nothing that people write makes it fall over.
#[test]
fn nonsense_is_answered() {
    let words = [
        "",
        "0",
        "-1",
        "=",
        "a=",
        "=a",
        "x4",
        "16x256b",
        "\u{fffd}",
        "0x",
        "tcgen05.",
        "tcgen05.ld",
        "rows=0",
    ];
    for what in ["smem", "idesc", "zero-mask", "mma", "ld", "st", "cp", "", "=", "tcgen05."] {
        for word in words {
            let output = ptx_tc(&["draw", what, "--", word]).output().unwrap();
            let status = output.status.code().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(status <= 2 && !said.contains("panicked"), "{what} {word}: {status} {said}");
        }
    }
}
