//! Whole grids: clusters that share global memory, and what their buffers hold in the end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A kernel with two buffers and a number, one warp in each CTA; `r0` is the thread, `r1` the CTA, `r2` how many
/// there are, `r3` the number, `a` and `b` the buffers.
fn kernel(body: &str) -> String {
    format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n\
         .visible .entry k(.param .u64 first, .param .u64 second, .param .u32 number)\n.reqntid 32\n{{\n\
         .reg .pred p, q;\n.reg .b32 r<20>;\n.reg .b64 a, b, d<10>;\n\
         ld.param.u64 a, [first];\nld.param.u64 b, [second];\nld.param.u32 r3, [number];\n\
         cvta.to.global.u64 a, a;\ncvta.to.global.u64 b, b;\n\
         mov.u32 r0, %tid.x;\nmov.u32 r1, %ctaid.x;\nmov.u32 r2, %nctaid.x;\n\
         {body}\nret;\n}}\n"
    )
}

/// Its launch.
fn launch(grid: u32, rest: &str) -> String {
    format!(
        "grid = [{grid}]\n{rest}\n[[arg]]\ntype = \"buffer\"\nbytes = 1024\nfill = 0\nout = \"first.npy\"\n\
         dtype = \"u32\"\n[[arg]]\ntype = \"buffer\"\nbytes = 65536\nfill = 0\n[[arg]]\ntype = \"u32\"\nvalue = 7\n"
    )
}

fn directory(name: &str, kernel: &str, launch: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("grids").join(name);
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("kernel.ptx"), kernel).unwrap();
    fs::write(path.join("launch.toml"), launch).unwrap();
    path
}

fn run(directory: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ptx-tc"))
        .args(["simulate", "kernel.ptx", "--launch", "launch.toml", "--format", "json"])
        .args(options)
        .current_dir(directory)
        .output()
        .unwrap()
}

/// The verdict and the codes of what is found, and the clusters that ran.
fn outcome(directory: &Path, options: &[&str]) -> (String, Vec<String>, u64) {
    let output = run(directory, options);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let kernel = &document["kernels"][0];
    let found = kernel["diagnostics"].as_array().unwrap();
    let codes = found.iter().map(|it| it["code"].as_str().unwrap().to_owned()).collect();
    let clusters = kernel["statistics"]["clusters"].as_u64().unwrap();
    (kernel["verdict"].as_str().unwrap().to_owned(), codes, clusters)
}

/// The elements of an array of 32 bits.
fn words(path: &Path) -> Vec<u32> {
    let file = fs::read(path).unwrap();
    assert!(file.starts_with(b"\x93NUMPY"));
    let start = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
    file[start..].chunks(4).map(|it| u32::from_le_bytes(it.try_into().unwrap())).collect()
}

const SCHEDULES: [&[&str]; 4] = [
    &[],
    &["--schedule", "late"],
    &["--schedule", "random", "--seed", "3"],
    &["--schedule", "random", "--seed", "4"],
];

/// The last of the CTAs to arrive at a counter adds what all have left.
const SPLIT: &str = "setp.ne.u32 p, r0, 0;\n@p bra END;\n\
    mul.wide.u32 d0, r1, 4;\nadd.u64 d0, d0, b;\nadd.u32 r4, r1, r3;\nst.global.u32 [d0], r4;\n\
    fence.acq_rel.gpu;\natom.add.relaxed.gpu.global.u32 r5, [a+64], 1;\nfence.acq_rel.gpu;\n\
    sub.u32 r6, r2, 1;\nsetp.ne.u32 p, r5, r6;\n@p bra END;\nmov.u32 r7, 0;\nmov.u32 r8, 0;\n\
    SUM:\nmul.wide.u32 d0, r8, 4;\nadd.u64 d0, d0, b;\nld.global.u32 r9, [d0];\nadd.u32 r7, r7, r9;\n\
    add.u32 r8, r8, 1;\nsetp.lt.u32 p, r8, r2;\n@p bra SUM;\nst.global.u32 [a], r7;\nEND:";

/// All CTAs wait until all have come.
const BARRIER: &str = "setp.ne.u32 p, r0, 0;\n@p bra END;\nred.release.gpu.global.add.u32 [a], 1;\n\
    WAIT:\nld.acquire.gpu.global.u32 r4, [a];\nsetp.lt.u32 p, r4, r2;\n@p bra WAIT;\nEND:";

/// Each CTA waits for the one before it, and adds its number.
const LOOK_BACK: &str = "setp.ne.u32 p, r0, 0;\n@p bra END;\nmov.u32 r6, 0;\nsetp.eq.u32 q, r1, 0;\n\
    @q bra GO;\nmul.wide.u32 d0, r1, 4;\nadd.u64 d0, d0, b;\n\
    WAIT:\nld.acquire.gpu.global.u32 r6, [d0+-4];\nsetp.eq.u32 p, r6, 0;\n@p bra WAIT;\n\
    GO:\nadd.u32 r6, r6, r1;\nadd.u32 r6, r6, 1;\nmul.wide.u32 d0, r1, 4;\nadd.u64 d1, d0, a;\n\
    add.u64 d0, d0, b;\nst.global.u32 [d1], r6;\nst.release.gpu.global.u32 [d0], r6;\nEND:";

/// CTAs take a lock in turn.
const LOCK: &str = "setp.ne.u32 p, r0, 0;\n@p bra END;\n\
    TAKE:\natom.acquire.gpu.global.cas.b32 r4, [b], 0, 1;\nsetp.ne.u32 p, r4, 0;\n@p bra TAKE;\n\
    ld.global.u32 r5, [a];\nadd.u32 r5, r5, r3;\nst.global.u32 [a], r5;\n\
    st.release.gpu.global.u32 [b], 0;\nEND:";

#[test]
fn clusters_work_together() {
    for (name, body, grid) in
        [("split", SPLIT, 5), ("barrier", BARRIER, 12), ("look_back", LOOK_BACK, 9), ("lock", LOCK, 6)]
    {
        let directory = directory(name, &kernel(body), &launch(grid, ""));
        for options in SCHEDULES {
            let expected = ("clean".to_owned(), vec![], u64::from(grid));
            assert_eq!(outcome(&directory, options), expected, "{name} {options:?}");
            let result = words(&directory.join("first.npy"));
            assert_eq!(result.len(), 256);
            match name {
                "split" => assert_eq!(result[0], (0..5).map(|it| it + 7).sum::<u32>()),
                "barrier" => assert_eq!(result[0], 12),
                "look_back" => assert_eq!(result[..9], [1, 3, 6, 10, 15, 21, 28, 36, 45]),
                _ => assert_eq!(result[0], 42),
            }
        }
    }
}

/// The first CTA stores in bulk and raises a flag; the second one waits for it, and reads.
fn stored_in_bulk(store: &str) -> String {
    kernel(&format!(
        ".shared .align 128 .b8 tile[128];\nmov.u32 r4, tile;\nshl.b32 r5, r0, 2;\nadd.u32 r6, r4, r5;\n\
         add.u32 r7, r0, r1;\nst.shared.u32 [r6], r7;\nfence.proxy.async.shared::cta;\nbar.warp.sync -1;\n\
         setp.eq.u32 p, r0, 0;\nsetp.ne.u32 q, r1, 0;\n@q bra READ;\n@!p bra END;\n{store}\nbra END;\n\
         READ:\n@!p bra ALL;\nWAIT:\nld.acquire.gpu.global.u32 r8, [a];\nsetp.eq.u32 q, r8, 0;\n@q bra WAIT;\n\
         ALL:\nbar.warp.sync -1;\ncvt.u64.u32 d0, r5;\nadd.u64 d0, d0, b;\nld.global.u32 r9, [d0];\n\
         sub.u64 d1, d0, b;\nadd.u64 d1, d1, a;\nst.global.u32 [d1+128], r9;\nEND:\n"
    ))
}

#[test]
fn a_copy_is_released_by_who_has_waited_for_it() {
    const COPY: &str = "cp.async.bulk.global.shared::cta.bulk_group [b], [r4], 128;\n\
                        cp.async.bulk.commit_group;\n";
    const REDUCE: &str = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [b], [r4], 128;\n\
                          cp.async.bulk.commit_group;\n";
    const WAIT: &str = "cp.async.bulk.wait_group 0;\n";
    const FLAG: &str = "red.release.gpu.global.add.u32 [a], 1;\n";
    const FENCED: &str = "fence.acq_rel.gpu;\nred.relaxed.gpu.global.add.u32 [a], 1;\n";
    let sound = [[COPY, WAIT, FLAG], [COPY, WAIT, FENCED], [REDUCE, WAIT, FLAG], [REDUCE, WAIT, FENCED]];
    let wrong = [[COPY, FLAG, WAIT], [COPY, FENCED, WAIT], [REDUCE, FLAG, WAIT], [REDUCE, FENCED, WAIT]];
    for (kind, stores) in [("sound", sound), ("wrong", wrong)] {
        for (index, store) in stores.iter().enumerate() {
            let name = format!("copy_{kind}_{index}");
            let directory = directory(&name, &stored_in_bulk(&store.concat()), &launch(2, ""));
            for schedule in SCHEDULES {
                let (verdict, codes, _) = outcome(&directory, schedule);
                if kind == "sound" {
                    assert_eq!(
                        (verdict.as_str(), codes.len()),
                        ("clean", 0),
                        "{name} {schedule:?}: {codes:?}"
                    );
                } else {
                    assert!(
                        codes.iter().all(|it| it == "SIM204") && !codes.is_empty(),
                        "{name} {schedule:?}: {codes:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_grid_that_waits_for_what_never_comes_hangs() {
    // Of two CTAs, each waits for a flag of the other one, but the second sets another.
    let body = "setp.ne.u32 p, r0, 0;\n@p bra END;\nmul.wide.u32 d0, r1, 8;\nadd.u64 d0, d0, a;\n\
        st.release.gpu.global.u32 [d0], 1;\nWAIT:\nld.acquire.gpu.global.u32 r4, [a+4];\n\
        setp.eq.u32 p, r4, 0;\n@p bra WAIT;\nEND:";
    let directory = directory("hang", &kernel(body), &launch(2, ""));
    for options in SCHEDULES {
        let expected = ("findings".to_owned(), vec!["SIM101".to_owned()], 2);
        assert_eq!(outcome(&directory, options), expected, "{options:?}");
    }
}

/// Who waits for a cluster that does not run does not hang.
#[test]
fn a_part_of_a_grid_may_wait_for_the_rest() {
    let directory = directory("part", &kernel(BARRIER), &launch(3, ""));
    for part in ["0", "0..2"] {
        let (verdict, codes, _) = outcome(&directory, &["--cluster-index", part]);
        assert_eq!((verdict.as_str(), codes.len()), ("incomplete", 0), "{part}");
    }
}

/// Where all wait for all, they have to fit on the card at once.
#[test]
fn a_grid_that_waits_for_itself_has_to_fit() {
    let dynamic = "dynamic_smem = 200000";
    let fits = directory("fits", &kernel(BARRIER), &launch(148, dynamic));
    assert_eq!(outcome(&fits, &[]), ("clean".to_owned(), vec![], 148));
    let large = directory("large", &kernel(BARRIER), &launch(149, dynamic));
    let (verdict, codes, _) = outcome(&large, &[]);
    assert_eq!((verdict.as_str(), &codes[..]), ("findings", &["SIM101".to_owned()][..]));
    let text = String::from_utf8(run(&large, &[]).stdout).unwrap();
    assert!(
        text.contains("1 have not started, and a card with 148 multiprocessors holds 148 at once"),
        "{text}"
    );
}

#[test]
fn what_is_wrong_in_the_last_cluster_is_found() {
    let body = "sub.u32 r4, r2, 1;\nsetp.ne.u32 p, r1, r4;\n@p bra END;\nmul.wide.u32 d0, r0, 4;\n\
        add.u64 d0, d0, a;\nst.global.u32 [d0+1000], r0;\nEND:";
    let directory = directory("last", &kernel(body), &launch(4, ""));
    let (verdict, codes, clusters) = outcome(&directory, &[]);
    assert_eq!((verdict.as_str(), &codes[..], clusters), ("findings", &["SIM501".to_owned()][..], 4));
    assert_eq!(outcome(&directory, &["--cluster-index", "0"]), ("clean".to_owned(), vec![], 1));
    assert_eq!(outcome(&directory, &["--cluster-index", "0..3"]), ("clean".to_owned(), vec![], 3));
    assert_eq!(outcome(&directory, &["--cluster-index", "3"]).0, "findings");
    assert_eq!(outcome(&directory, &["--all"]).2, 4);
    for wrong in ["4", "2..5", "3..3", "x"] {
        let output = run(&directory, &["--cluster-index", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
}

/// What the launch leaves open is written as zeros, and a second file says which elements are not known.
#[test]
fn what_is_not_known_is_named() {
    let body = "mul.wide.u32 d0, r0, 4;\nadd.u64 d1, d0, b;\nadd.u64 d0, d0, a;\nld.global.u32 r4, [d1];\n\
        setp.lt.u32 p, r0, 16;\n@p mov.u32 r4, r0;\nst.global.u32 [d0], r4;";
    let open = "grid = [1]\n[[arg]]\ntype = \"buffer\"\nbytes = 128\nout = \"c.npy\"\ndtype = \"u32\"\n\
        shape = [4, 8]\n[[arg]]\ntype = \"buffer\"\nbytes = 128\n[[arg]]\ntype = \"u32\"\nvalue = 7\n";
    let directory = directory("unknown", &kernel(body), open);
    let output = run(&directory, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let written = &document["kernels"][0]["outputs"][0];
    assert_eq!(written["file"], "c.npy");
    assert_eq!(written["shape"], serde_json::json!([4, 8]));
    assert_eq!(written["unknown_bytes"], 64);
    assert_eq!(written["unknown_file"], "c.unknown.npy");
    assert!(written["unknown_since"]["line"].as_u64().is_some(), "{written}");
    let expected: Vec<u32> = (0..32).map(|it| if it < 16 { it } else { 0 }).collect();
    assert_eq!(words(&directory.join("c.npy")), expected);
    let mask = fs::read(directory.join("c.unknown.npy")).unwrap();
    assert!(String::from_utf8_lossy(&mask).contains("'shape': (4, 8), "));
    let expected: Vec<u8> = (0..32).map(|it| u8::from(it >= 16)).collect();
    assert_eq!(mask[mask.len() - 32..], expected);
}

/// An array goes in with its type and shape, and another comes out.
#[test]
fn arrays_keep_their_form() {
    let body = "mul.wide.u32 d0, r0, 4;\nadd.u64 d1, d0, b;\nadd.u64 d0, d0, a;\nld.global.u32 r4, [d1];\n\
        add.u32 r4, r4, r3;\nst.global.u32 [d0], r4;";
    let text = |first: &str, second: &str| {
        format!(
            "grid = [1]\n[[arg]]\ntype = \"buffer\"\n{first}\n[[arg]]\ntype = \"buffer\"\n{second}\n\
             [[arg]]\ntype = \"u32\"\nvalue = 7\n"
        )
    };
    let out = "dtype = \"u32\"\nshape = [2, 16]\nout = \"c.npy\"";
    let directory = directory(
        "arrays",
        &kernel(body),
        &text(out, "fill = 1\nbytes = 128\nout = \"b.npy\"\ndtype = \"i32\""),
    );
    assert_eq!(outcome(&directory, &[]).0, "clean");
    assert_eq!(words(&directory.join("c.npy")), [0x0101_0108; 32]);
    // What came out goes in.
    fs::write(directory.join("launch.toml"), text(out, "data = \"c.npy\"\nout = \"d.npy\"")).unwrap();
    assert_eq!(outcome(&directory, &[]).0, "clean");
    assert_eq!(words(&directory.join("c.npy")), [0x0101_010F; 32]);
    let copied = fs::read(directory.join("d.npy")).unwrap();
    assert!(
        String::from_utf8_lossy(&copied)
            .contains("'descr': '<u4', 'fortran_order': False, 'shape': (2, 16), ")
    );
    for (wrong, what) in [
        ("data = \"c.npy\"\ndtype = \"f16\"", "has elements of type `u32`, and `dtype` is `f16`"),
        (
            "bytes = 64\nfill = 0\nout = \"d.npy\"\ndtype = \"f32\"\nshape = [5, 5]",
            "take 100 bytes, and the buffer has 64",
        ),
        ("bytes = 64\ndtype = \"f31\"", "`f31` is no type of an array"),
        ("out = \"d.npy\"", "a buffer has `bytes`, `data`, `fields`, or `dtype` and `shape`"),
        ("data = \"none.npy\"", "none.npy"),
    ] {
        fs::write(directory.join("launch.toml"), text(out, wrong)).unwrap();
        let output = run(&directory, &[]);
        let trouble: String =
            String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(trouble.replace("│ ", "").contains(what), "{wrong}: {trouble}");
    }
}
