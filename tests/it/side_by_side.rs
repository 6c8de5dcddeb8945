//! Clusters that run side by side: the reports and results are those of one thread.

use std::fs;
use std::process::Command;

use crate::common::root;

const HEAD: &str = ".version 9.0\n.target sm_100a\n.address_size 64\n";

/// What a run with so many threads writes: the report, and the array.
fn ran(text: &str, launch: &str, threads: &str, options: &[&str]) -> (String, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), text).unwrap();
    fs::write(folder.path().join("l.toml"), launch).unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_ptx-tc"))
        .args(["simulate", "k.ptx", "--launch", "l.toml", "--format", "json"])
        .args(options)
        .env("RAYON_NUM_THREADS", threads)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let report = String::from_utf8(ran.stdout).unwrap();
    let timeless = report.lines().filter(|line| !line.contains("\"seconds\"")).collect::<Vec<_>>().join("\n");
    assert!(ran.status.code().is_some_and(|code| code != 2), "{}", String::from_utf8_lossy(&ran.stderr));
    (timeless, fs::read(folder.path().join("out.npy")).unwrap_or_default())
}

/// A kernel whose CTA `b` of `n` does something with `at`, the address of its own word.
fn kernel(body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 out) .reqntid 32 {{\n\
         .reg .b32 b, t, i, x, y; .reg .b64 p, at, q; .reg .pred c, is;\n\
         ld.param.b64 p, [out];\nmov.u32 b, %ctaid.x;\nmov.u32 t, %tid.x;\nmad.lo.u32 i, b, 32, t;\n\
         mad.wide.u32 at, i, 4, p;\n{body}\nret;\n}}\n"
    )
}

const LAUNCH: &str =
    "grid = [40]\n[[arg]]\ntype = \"buffer\"\ndtype = \"u32\"\nshape = [1281]\nfill = 0\nout = \"out.npy\"\n";

#[test]
fn as_one_after_the_other() {
    let cases = [
        // Independent: each its own words, and all read one that nothing writes.
        ("ld.global.b32 x, [p+5120];\nadd.u32 x, x, i;\nst.global.b32 [at], x;", "clean"),
        // Some of the words are left alone, and what is not known is stored.
        ("setp.lt.u32 c, t, 7;\n@c st.global.b32 [at], b;", "clean"),
        // A counter.
        ("atom.global.add.u32 x, [p], 1;\nst.global.b32 [at+128], x;", "findings"),
        ("red.global.add.u32 [p+4], 1;", "clean"),
        // All write one word, or read what another one writes.
        ("st.global.b32 [p], b;", "findings"),
        (
            "ld.global.b32 x, [at];\nsetp.lt.u32 c, b, 30;\nsetp.eq.u32 is, b, 35;\n@is st.global.b32 [p], t;\n\
             @c ld.global.b32 y, [p];",
            "findings",
        ),
        // The last is out of bounds.
        ("st.global.b32 [at+8], b;", "findings"),
        // One waits for another: that which comes after it, in a grid.
        (
            "setp.eq.u32 c, b, 20;\nsetp.eq.u32 is, b, 30;\n@is st.release.gpu.global.b32 [p], 1;\n@!c bra end;\n\
             again:\nld.acquire.gpu.global.b32 x, [p];\nsetp.eq.u32 is, x, 0;\n@is bra again;\nend:",
            "clean",
        ),
    ];
    for (body, verdict) in cases {
        let text = kernel(body);
        for options in [&[][..], &["--schedule", "late"], &["--schedule", "random", "--seed", "5"]] {
            let one = ran(&text, LAUNCH, "1", options);
            assert!(one.0.contains(&format!("\"verdict\": \"{verdict}\"")), "{body}\n{}", one.0);
            for threads in ["2", "5"] {
                assert_eq!(ran(&text, LAUNCH, threads, options), one, "{body}");
            }
        }
    }
}

#[test]
fn multiplies_of_a_grid() {
    let module = root().join("fixtures/kernels/gemm_f16_tma_sm100a.ptx");
    let text = fs::read_to_string(module).unwrap();
    let map = |rows: u32, fill: u32| {
        format!(
            "[[arg]]\ntype = \"tensor_map\"\nelement = \"f16\"\ndims = [64, {rows}]\nbox = [64, 128]\nswizzle = \"128B\"\n\
             fill = {fill}\n"
        )
    };
    let launch = format!(
        "kernel = \"gemm_f16_128x128\"\ngrid = [4, 2]\ndynamic_smem = 230000\n{}{}\
         [[arg]]\ntype = \"buffer\"\ndtype = \"f16\"\nshape = [512, 256]\nout = \"out.npy\"\n\
         [[arg]]\ntype = \"u32\"\nvalue = 512\n[[arg]]\ntype = \"u32\"\nvalue = 256\n[[arg]]\ntype = \"u32\"\nvalue = 1\n",
        map(512, 0x21),
        map(256, 0x1A)
    );
    let one = ran(&text, &launch, "1", &[]);
    assert!(one.0.contains("\"verdict\": \"clean\"") && one.1.len() > 1 << 18, "{}", one.0);
    assert_eq!(ran(&text, &launch, "3", &[]), one);
}

/// A barrier of the whole grid as Triton compiles it: one warp polls, and tells the others by shared memory and barriers.
#[test]
fn a_grid_barrier_of_several_warps() {
    let body = "atom.global.add.u32 x, [p], 1;\nagain:\nbar.sync 0;\nsetp.eq.u32 is, t, 0;\n\
                @is atom.acq_rel.gpu.global.add.u32 x, [p], 0;\n@is st.shared.b32 [word], x;\nbar.sync 0;\n\
                ld.shared.b32 x, [word];\nsetp.lt.u32 c, x, N;\n@c bra again;\nst.global.b32 [at+4], b;";
    let text = |count: u32| {
        kernel(body)
            .replace(".reqntid 32 {\n", ".reqntid 64 {\n.shared .align 4 .b32 word;\n")
            .replace("mad.lo.u32 i, b, 32, t;", "mad.lo.u32 i, b, 64, t;")
            .replace('N', &count.to_string())
    };
    let launch = "grid = [6]\n[[arg]]\ntype = \"buffer\"\ndtype = \"u32\"\nshape = [385]\nfill = 0\nout = \"out.npy\"\n";
    for options in [&[][..], &["--schedule", "late"], &["--schedule", "random"]] {
        let (report, out) = ran(&text(6 * 64), launch, "2", options);
        assert!(report.contains("\"verdict\": \"clean\""), "{report}");
        let words: Vec<u32> =
            out[out.len() - 385 * 4..].as_chunks().0.iter().map(|it| u32::from_le_bytes(*it)).collect();
        assert_eq!(words[0], 384);
        assert!((1..385).all(|word| words[word] == (word as u32 - 1) / 64), "{words:?}");
    }
    // One arrival too many is awaited: nothing is found by its name, and it ends.
    let (report, _) = ran(&text(6 * 64 + 1), launch, "2", &["--budget", "100000"]);
    assert!(report.contains("\"verdict\": \"incomplete\""), "{report}");
}
