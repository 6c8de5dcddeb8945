//! What `ptx-tc encode` and `ptx-tc decode` say: one snapshot for each invocation.

use std::process::Command;

/// Runs the tool; its whole answer as text.
fn run(arguments: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ptx-tc"))
        .args(arguments.split_whitespace())
        .env("NO_COLOR", "1")
        .env("TERM", "xterm")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = text.lines().map(str::trim_end).chain([""]).collect();
        lines.join("\n")
    };
    let status = output.status.code().unwrap();
    format!("$ ptx-tc {arguments}\n{}{}exit status {status}\n", text(&output.stdout), text(&output.stderr))
}

macro_rules! snapshots {
    ($($name:ident: [$($arguments:literal),+ $(,)?])+) => {
        $(
            #[test]
            fn $name() {
                let answers: Vec<String> = [$($arguments),+].iter().map(|arguments| run(arguments)).collect();
                insta::assert_snapshot!(answers.join("\n"));
            }
        )+
    };
}

snapshots! {
    encode_idesc: [
        "encode idesc kind=f16 dtype=f32 a=bf16 b=bf16 m=128 n=256",
        "encode idesc kind=f16 dtype=f32 a=f16 b=f16 m=128 n=64 sparse=yes selector=3 negate-a=1",
        "encode idesc kind=f16 ws=yes dtype=f32 a=f16 b=f16 m=32 n=64 max-shift=16",
        "encode idesc kind=tf32 m=128 n=128",
        "encode idesc kind=i8 a=s8 b=u8 m=128 n=256 saturate=yes",
        "encode idesc kind=mxf8f6f4 a=e2m3 b=e2m1 m=256 n=16 sfb-id=1 cta-group=2",
        "encode idesc kind=mxf4nvf4 scale=ue4m3 m=256 n=256 k=96 scale-vec=block16 cta-group=2 target=sm_103a",
        "encode idesc kind=f8f6f4 dtype=f32 a=e4m3 b=e4m3 m=128 n=256 k=64 target=sm_107f",
    ]
    encode_smem: [
        "encode smem start=0x400 lbo=16 sbo=1024 swizzle=128b",
        "encode smem --matrix bf16 128x64 k-major swizzle=128b start=0x400",
        "encode smem --matrix bf16 128x64 mn-major swizzle=64b start=0x400",
        "encode smem --matrix tf32 128x32 mn-major swizzle=128b-32b start=1024",
        "encode smem --matrix e2m1 128x256 k-major swizzle=32b start=0x400",
        "encode smem --matrix e2m1 128x128 k-major start=0x400 kind=f8f6f4",
        "encode smem start=0x8000 lbo=0x8400 lbo-mode=absolute sbo=1024 swizzle=128b target=sm_103a",
    ]
    encode_zero_mask: [
        "encode zero-mask non-zero=yes skip-span=2 use-span=3",
        "encode zero-mask non-zero=yes skip-span=2 use-span=3 fs0=1 m=64 n=128",
        "encode zero-mask non-zero=yes skip-span=2 use-span=3 sc1=1 sc2=2 sc3=1 fs0=1 fs1=1 shift=2 m=32 n=128",
    ]
    encode_json: ["encode zero-mask non-zero=yes skip-span=2 use-span=3 m=128 n=16 --format json"]
    encode_errors_of_words: [
        "encode idesc kind=f16 dtype=f32 atype=bf16 b=bf16 m=128 n=256",
        "encode idesc kind=f16 dtype=f32 a=bf17 b=bf16 m=128 n=256",
        "encode idesc kind=f32 m=128 n=256",
        "encode idesc m=128 n=256",
        "encode idesc",
        "encode idesc kind=f16 dtype=f32 a=bf16 b=bf16 m=128",
        "encode idesc kind=f16 dtype=f32 a=bf16 b=bf16 m=128 n",
        "encode idesc kind=f16 dtype=f32 a=bf16 b=bf16 m=128 n=",
        "encode idesc kind=f16 dtype=f32 a=bf16 b=bf16 m=128 n=256 m=64",
        "encode idesc kind=f16 dtype=f32 a=bf16 b=bf16 m=128 n=256 target=sm_100b",
        "encode smem start=0x400 swizle=128b",
        "encode smem start=0x400 swizzle=128",
    ]
    encode_errors_of_values: [
        "encode idesc kind=f16 cta-group=1 dtype=f32 a=bf16 b=bf16 m=100 n=256",
        "encode idesc kind=f16 cta-group=1 ws=no dtype=f32 a=bf16 b=bf16 m=128 n=1024",
        "encode idesc kind=f16 cta-group=1 ws=no dtype=f32 a=bf16 b=bf16 m=256 n=264",
        "encode idesc kind=f16 dtype=f16 a=bf16 b=f16 m=128 n=256",
        "encode idesc kind=i8 a=s8 b=s8 m=128 n=24 transpose-b=yes",
        "encode idesc kind=i8 a=s8 b=s8 m=128 n=256 negate-a=yes",
        "encode idesc kind=mxf4 m=128 n=64 k=96 sparse=yes",
        "encode idesc kind=mxf4nvf4 scale=ue4m3 m=128 n=64 k=96 target=sm_100a",
        "encode idesc kind=mxf4nvf4 scale=ue4m3 m=128 n=64 scale-vec=block32 sfa-id=1",
        "encode smem start=0x408 swizzle=128b",
        "encode smem start=0x40000 swizzle=128b",
        "encode smem start=0x400 swizzle=64b lbo-mode=absolute base-offset=1",
        "encode zero-mask shift=20 m=32",
        "encode zero-mask non-zero=maybe",
        "encode zero-mask non-zero=yes m=96 n=128",
    ]
    encode_errors_of_matrices: [
        "encode smem --matrix bf16 100x64 k-major swizzle=128b",
        "encode smem --matrix bf16 128x32 k-major swizzle=128b",
        "encode smem --matrix tf32 128x32 mn-major swizzle=128b",
        "encode smem --matrix bf16 128x64 k-mayor swizzle=128b",
        "encode smem --matrix bf16 128x64 swizzle=128b",
        "encode smem --matrix bf16 128x64 k-major swizzle=128b start=0x480",
        "encode smem --matrix bf16 128x64 k-major swizzle=128b lbo=16",
        "encode idesc --matrix bf16 128x64 k-major",
    ]
    decode_idesc: ["decode idesc 0x08200490 --kind f16"]
    decode_idesc_with_problems: ["decode idesc 0x06c0049b --kind f16 cta-group=1 ws=no sp=yes"]
    decode_idesc_scaled: ["decode idesc 0x90400480 --kind mxf4nvf4 cta-group=2 scale-vec=block16 target=sm_103a"]
    decode_idesc_rubin: ["decode idesc 0x10400488 --kind mxf4nvf4 target=sm_107f"]
    decode_smem: ["decode smem 0x4000404000010040"]
    decode_smem_with_problems: ["decode smem 0x6000804000010040"]
    decode_zero_mask: ["decode zero-mask 0x0003028100000000 m=64 n=128"]
    decode_json: ["decode idesc 0x08200090 --kind f16 --format json", "decode smem 0x7 --format json"]
    decode_errors: [
        "decode idesc 0x08200490",
        "decode idesc 0x08200490 --kind f61",
        "decode idesc 0x08200490 --kind f16 cta-grup=2",
        "decode idesc 0x08200490 --kind f16 cta-group=3",
        "decode idesc 0x1_08200490 --kind f16",
        "decode idesc zero --kind f16",
        "decode smem 0x10000000000000000",
    ]
}
