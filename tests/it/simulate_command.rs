//! What people may say about the findings of runs: how much they matter, and that they are known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::root;

/// A directory of its own with a kernel that hangs, and with a configuration.
fn directory(name: &str, config: &str, change: impl Fn(&str) -> String) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulate_command").join(name);
    fs::create_dir_all(&path).unwrap();
    let kernel = root().join("fixtures/simulation/findings/SIM101_deadlock.ptx");
    fs::write(path.join("kernel.ptx"), change(&fs::read_to_string(kernel).unwrap())).unwrap();
    fs::write(path.join("ptx-tc.toml"), config).unwrap();
    path
}

fn run(directory: &Path, command: &str, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ptx-tc"))
        .args([&[command, "kernel.ptx", "--format", "json"], options].concat())
        .current_dir(directory)
        .output()
        .unwrap()
}

/// The exit status, the verdict, and the severities of what is found.
fn outcome(output: &Output) -> (i32, String, Vec<String>) {
    let trouble = String::from_utf8_lossy(&output.stderr);
    assert!(trouble.is_empty(), "{trouble}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let kernel = &document["kernels"][0];
    let findings = kernel["diagnostics"].as_array().unwrap();
    let severities = findings.iter().map(|finding| finding["severity"].as_str().unwrap().to_owned());
    (output.status.code().unwrap(), kernel["verdict"].as_str().unwrap().to_owned(), severities.collect())
}

fn unchanged(text: &str) -> String {
    text.to_owned()
}

#[test]
fn severities() {
    /// A configuration, arguments, and the status, the verdict and the severities that follow.
    type Case = (&'static str, &'static [&'static str], i32, &'static str, &'static [&'static str]);
    let cases: [Case; 10] = [
        ("", &[], 1, "findings", &["error"]),
        ("[severity]\nSIM101 = \"warning\"\n", &[], 0, "findings", &["warning"]),
        ("[severity]\ndeadlock = \"off\"\n", &[], 0, "clean", &[]),
        ("[severity]\nSIM101 = \"warning\"\n", &["--severity", "SIM101=error"], 1, "findings", &["error"]),
        ("ignore = [\"SIM1\"]\n", &[], 0, "clean", &[]),
        ("ignore = [\"SIM2\"]\n", &[], 1, "findings", &["error"]),
        ("", &["--ignore", "SIM"], 0, "clean", &[]),
        ("", &["--select", "SIM2,SIM3"], 0, "clean", &[]),
        ("[per-file-ignores]\n\"kernel.*\" = [\"SIM101\"]\n", &[], 0, "clean", &[]),
        ("", &["--severity", "deadlock=info"], 0, "findings", &["info"]),
    ];
    for (index, (config, options, status, verdict, severities)) in cases.iter().enumerate() {
        let directory = directory(&format!("severity{index}"), config, unchanged);
        let (found, word, found_severities) = outcome(&run(&directory, "simulate", options));
        assert_eq!(
            (found, word.as_str(), found_severities),
            (*status, *verdict, severities.iter().map(|it| (*it).to_owned()).collect()),
            "{config} {options:?}"
        );
    }
}

#[test]
fn a_configuration_can_be_named_and_wrong() {
    let here = directory("config", "", unchanged);
    fs::write(here.join("other.toml"), "[severity]\nSIM101 = \"info\"\n").unwrap();
    let (status, _, severities) = outcome(&run(&here, "simulate", &["--config", "other.toml"]));
    assert_eq!((status, severities), (0, vec!["info".to_owned()]));
    fs::write(here.join("other.toml"), "[severity]\nSIM999 = \"info\"\n").unwrap();
    let output = run(&here, "simulate", &["--config", "other.toml"]);
    assert_eq!(output.status.code(), Some(2));
}

/// On the line, above it, for the file, by the name; and a check does not call them unused.
#[test]
fn suppressions() {
    let wait = "mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;";
    let changes: [&dyn Fn(&str) -> String; 5] = [
        &|text| text.replace(wait, &format!("{wait} // ptx-tc: allow(SIM101)")),
        &|text| text.replace(wait, &format!("// ptx-tc: allow(deadlock)\n    {wait}")),
        &|text| format!("// ptx-tc: allow-file(SIM1)\n{text}"),
        &|text| format!("/* ptx-tc: allow-file(SIM) */ {text}"),
        &|text| text.replace(wait, &format!("{wait} // ptx-tc: allow(TC703, SIM101, SIM202)")),
    ];
    for (index, change) in changes.iter().enumerate() {
        let directory = directory(&format!("allow{index}"), "", change);
        assert_eq!(outcome(&run(&directory, "simulate", &[])), (0, "clean".to_owned(), vec![]), "{index}");
        let checked = run(&directory, "check", &[]);
        let document: Value = serde_json::from_slice(&checked.stdout).unwrap();
        let unused: Vec<String> = document["files"][0]["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|finding| finding["code"] == "TC903")
            .map(|finding| finding["message"].as_str().unwrap().to_owned())
            .collect();
        let expected: &[&str] = if index == 4 { &["unused suppression of `TC703`"] } else { &[] };
        assert_eq!(unused, expected, "{index}");
    }
    let elsewhere = directory("allow_elsewhere", "", |text| format!("// ptx-tc: allow(SIM101)\n{text}"));
    assert_eq!(outcome(&run(&elsewhere, "simulate", &[])).0, 1);
}

/// Where a module says which lines it was compiled from, so do findings.
#[test]
fn findings_lead_to_their_sources() {
    let located = |text: &str| {
        let wait = "wait:\n";
        assert!(text.contains(wait));
        format!("{}\n.file 1 \"gemm.cu\"\n", text.replace(wait, "    .loc 1 42 7\nwait:\n"))
    };
    let directory = directory("located", "", located);
    let source = |options: &[&str]| {
        let output = run(&directory, "simulate", options);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["kernels"][0]["diagnostics"][0]["source"].clone()
    };
    let place = source(&[]);
    assert_eq!((place["path"].as_str(), place["line"].as_u64()), (Some("gemm.cu"), Some(42)));
    assert!(source(&["--no-source"]).is_null());
}

/// Nothing is said beside the findings where nobody looks.
#[test]
fn no_progress_in_pipes() {
    let endless = |text: &str| text.replace("wait:\n", "wait: bra wait;\n");
    let directory = directory("endless", "", endless);
    let output = run(&directory, "simulate", &["--budget", "4000000"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stderr.is_empty());
}

/// The formats of a check, and a file that gets them.
#[test]
fn formats_of_a_check() {
    let directory = directory("formats", "", unchanged);
    for (format, expected) in [
        ("concise", "kernel.ptx:"),
        ("sarif", "\"ruleId\": \"SIM101\""),
        ("github", "::error title=SIM101 deadlock,file=kernel.ptx,line=22"),
        ("gitlab", "\"check_name\": \"deadlock\""),
        ("junit", "SIM101"),
        ("rdjson", "\"value\": \"SIM101\""),
        ("human", "error[SIM101]"),
    ] {
        let run = |options: &[&str]| {
            let output = Command::new(env!("CARGO_BIN_EXE_ptx-tc"))
                .args(["simulate", "kernel.ptx", "--format", format])
                .args(options)
                .current_dir(&directory)
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        let text = run(&[]);
        assert!(text.contains(expected), "{format}: {text}");
        assert_eq!(run(&["--output", "report"]), "", "{format}");
        let without_time = |text: &str| text.split(" instructions, ").next().unwrap().to_owned();
        let file = fs::read_to_string(directory.join("report")).unwrap();
        assert_eq!(without_time(&file), without_time(&text), "{format}");
    }
}

/// Two warps access the same words without a barrier: each word is a pair of instructions. `loc` names their lines.
fn unrolled(words: usize, loc: bool) -> String {
    let loc = |line: u32| if loc { format!("    .loc 1 {line} 5\n") } else { String::new() };
    let offset = |word: usize| if word > 0 { format!("+{}", 4 * word) } else { String::new() };
    let stores: String =
        (0..words).map(|word| format!("    @%p1 st.shared.b32 [%r1{}], %r0;\n", offset(word))).collect();
    let loads: String = (0..words)
        .map(|word| format!("    @!%p1 ld.shared.b32 %r1{word}, [%r1{}];\n", offset(word)))
        .collect();
    format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.file 1 \"k.cu\"\n.visible .entry k()\n.reqntid 64\n{{\n    \
         .reg .b32 %r<40>;\n    .reg .pred %p<3>;\n    .shared .align 16 .b8 tile[512];\n    \
         mov.u32 %r0, %tid.x;\n    mov.u32 %r1, tile;\n    setp.lt.u32 %p1, %r0, 32;\n{}{stores}{}{loads}    \
         ret;\n}}\n",
        loc(10),
        loc(20),
    )
}

const CLEAN: &str = ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry c()\n{\n    ret;\n}\n";

/// A directory with these files, and what a run in it says.
fn several(name: &str, files: &[(&str, &str)]) -> impl Fn(&[&str]) -> (Option<i32>, String, String) + use<> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulate_several").join(name);
    let _ = fs::remove_dir_all(&path);
    for (file, text) in files {
        let file = path.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    move |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_ptx-tc"))
            .arg("simulate")
            .args(arguments)
            .current_dir(&path)
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }
}

/// How long something took is another time in each run.
fn without_times(text: &str) -> String {
    let lines = text.lines().map(|line| line.split(" warp instructions, ").next().unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

/// People see a race of unrolled instructions once; programs see each pair.
#[test]
fn copies_of_a_race_are_shown_once() {
    for (name, has_loc) in [("located", true), ("unlocated", false)] {
        let run = several(&format!("copies_{name}"), &[("k.ptx", &unrolled(5, has_loc))]);
        let (status, text, _) = run(&["k.ptx"]);
        assert_eq!(status, Some(1));
        insta::assert_snapshot!(format!("copies_of_a_race_{name}"), without_times(&text));
        let document: Value = serde_json::from_str(&run(&["k.ptx", "--format", "json"]).1).unwrap();
        assert_eq!(document["kernels"][0]["diagnostics"].as_array().unwrap().len(), 5);
        assert_eq!(run(&["k.ptx", "--format", "concise"]).1.lines().count(), 5);
    }
}

/// What a barrier separates are two mistakes, and so are two lines of a source.
#[test]
fn different_races_are_shown_apart() {
    let text = unrolled(5, false)
        .replace("    @!%p1 ld.shared.b32 %r13", "    bar.warp.sync -1;\n    @!%p1 ld.shared.b32 %r13");
    let located = unrolled(5, true)
        .replace("    @!%p1 ld.shared.b32 %r13", "    .loc 1 21 5\n    @!%p1 ld.shared.b32 %r13");
    for text in [text, located] {
        let run = several("apart", &[("k.ptx", &text)]);
        let (_, text, _) = run(&["k.ptx"]);
        assert!(text.contains("k: 2 findings and 3 more like them ("), "{text}");
    }
}

#[test]
fn a_limit_of_findings() {
    let run = several("limit", &[("k.ptx", &unrolled(5, false))]);
    let (_, text, _) = run(&["k.ptx", "--format", "concise", "--max-findings", "2"]);
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.contains("and 3 more in this file"), "{text}");
    let document: Value =
        serde_json::from_str(&run(&["k.ptx", "--format", "json", "--max-findings", "2"]).1).unwrap();
    let kernel = &document["kernels"][0];
    assert_eq!(kernel["diagnostics"].as_array().unwrap().len(), 2);
    assert_eq!(kernel["omitted"][0]["count"], 3);
    assert_eq!(run(&["k.ptx", "--format", "concise", "--max-findings", "0"]).1.lines().count(), 5);
}

/// Files and directories run together. A file that does not parse is named, and the others are reported.
#[test]
fn several_files() {
    let wrong = unrolled(5, false);
    let run = several(
        "files",
        &[
            ("a/clean.ptx", CLEAN),
            ("a/library.ptx", ".version 9.0\n.target sm_100a\n.visible .func f()\n{\n    ret;\n}\n"),
            ("a/kernel.cu", "asm(\"exit;\");"),
            ("b/wrong.ptx", &wrong),
            ("broken.ptx", ".version 9.0\n.target sm_100a\n.entry k( {\n"),
        ],
    );
    let (status, text, trouble) = run(&["."]);
    assert_eq!(status, Some(2));
    insta::assert_snapshot!("several_files", without_times(&text));
    assert!(trouble.contains("`./broken.ptx`: syntax error in line 3"), "{trouble}");

    let (status, text, trouble) = run(&["a", "b", "--format", "json"]);
    assert_eq!((status, trouble.as_str()), (Some(1), ""));
    let document: Value = serde_json::from_str(&text).unwrap();
    let kernels = document["kernels"].as_array().unwrap().iter();
    let kernels: Vec<(&str, &str)> =
        kernels.map(|it| (it["path"].as_str().unwrap(), it["verdict"].as_str().unwrap())).collect();
    assert_eq!(kernels, [("a/clean.ptx", "clean"), ("b/wrong.ptx", "findings")]);

    let (status, text, _) = run(&["a", "b", "-q"]);
    assert_eq!(status, Some(1));
    assert!(!text.contains("clean.ptx") && text.contains("b/wrong.ptx: k: 1 finding"), "{text}");
    assert_eq!(run(&["a", "-q"]), (Some(0), String::new(), String::new()));
    let (status, _, trouble) = run(&["a/library.ptx"]);
    assert!(status == Some(2) && trouble.contains("has no kernel"), "{trouble}");
    let run = several(
        "library",
        &[("library.ptx", ".version 9.0\n.target sm_100a\n.visible .func f()\n{\n    ret;\n}\n")],
    );
    let (status, _, trouble) = run(&["."]);
    assert!(status == Some(2) && trouble.contains("no PTX below `.` has a kernel"), "{trouble}");
    // What cannot be judged is worse than nothing, and a finding is worse than that.
    let unknown = CLEAN.replace("    ret;", "    .reg .b64 d;\n    stacksave.u64 d;\n    ret;");
    let run = several("statuses", &[("clean.ptx", CLEAN), ("unknown.ptx", &unknown), ("wrong.ptx", &wrong)]);
    assert_eq!(run(&["clean.ptx", "unknown.ptx"]).0, Some(3));
    assert_eq!(run(&["clean.ptx", "unknown.ptx", "wrong.ptx"]).0, Some(1));
    assert_eq!(run(&["wrong.ptx", "missing.ptx"]).0, Some(2));
}

/// Options that are about one file are refused with several.
#[test]
fn options_of_one_file() {
    let run = several("options", &[("a.ptx", CLEAN), ("b.ptx", CLEAN), ("empty/note.txt", "")]);
    let options: [&[&str]; 5] = [
        &["--launch", "x.toml"],
        &["--launch-number", "1"],
        &["--kernel", "c"],
        &["--print-launch"],
        &["--trace", "t.json"],
    ];
    for option in options {
        let (status, text, trouble) = run(&[&["a.ptx", "b.ptx"], option].concat());
        assert_eq!((status, text.as_str()), (Some(2), ""), "{option:?}");
        assert!(trouble.contains(&format!("`{}` is for one file, but 2 files", option[0])), "{trouble}");
    }
    assert_eq!(run(&["a.ptx", "--kernel", "c"]).0, Some(0));
    let (status, _, trouble) = run(&["empty"]);
    assert!(status == Some(2) && trouble.contains("no file with PTX below `empty`"), "{trouble}");
    // A launch that one kernel cannot have does not stop the others.
    let (status, _, trouble) = run(&["a.ptx", "b.ptx", "--grid", "3", "--cluster", "2"]);
    assert_eq!(status, Some(2));
    assert!(trouble.contains("`c` of `a.ptx`") && trouble.contains("`c` of `b.ptx`"), "{trouble}");
}

/// A kernel that prints, and fails an assertion, as nvcc compiles that. `block` are its threads.
fn printing(block: u32) -> String {
    let text = |text: &str| {
        let bytes: Vec<String> = text.bytes().chain([0]).map(|byte| byte.to_string()).collect();
        format!("[{}] = {{{}}}", bytes.len(), bytes.join(", "))
    };
    format!(
        r".version 9.0
.target sm_100a
.address_size 64
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
.extern .func __assertfail (.param .b64 a0, .param .b64 a1, .param .b32 a2, .param .b64 a3, .param .b64 a4);
.global .align 1 .b8 format{};
.global .align 1 .b8 name{};
.global .align 1 .b8 claim{};
.global .align 1 .b8 file{};
.global .align 1 .b8 function{};
.visible .entry k(.param .u32 n, .param .u64 unknown)
.reqntid {block}
{{
    .local .align 8 .b8 depot[40];
    .reg .b64 local, generic, address, rd<4>;
    .reg .b32 tid, count, r<4>;
    .reg .pred p;
    mov.b64 local, depot;
    cvta.local.u64 generic, local;
    mov.u32 tid, %tid.x;
    setp.ge.u32 p, tid, 2;
    @p bra after;
    ld.param.u64 rd0, [unknown];
    ld.global.b32 r0, [rd0];
    st.local.b32 [local], tid;
    mov.b64 rd1, 0d3FF8000000000000;
    st.local.b64 [local+8], rd1;
    st.local.b32 [local+16], r0;
    mov.b64 rd2, name;
    cvta.global.u64 address, rd2;
    st.local.b64 [local+24], address;
    {{
    .param .b64 param0;
    .param .b64 param1;
    .param .b32 retval0;
    mov.b64 rd3, format;
    cvta.global.u64 address, rd3;
    st.param.b64 [param0], address;
    st.param.b64 [param1], generic;
    call.uni (retval0), vprintf, (param0, param1);
    ld.param.b32 count, [retval0];
    }}
    setp.ne.s32 p, count, 4;
    @p trap;
after:
    ld.param.u32 r1, [n];
    setp.gt.s32 p, r1, 0;
    @p bra end;
    {{
    .param .b64 param0;
    .param .b64 param1;
    .param .b32 param2;
    .param .b64 param3;
    .param .b64 param4;
    mov.b64 rd3, claim;
    cvta.global.u64 address, rd3;
    st.param.b64 [param0], address;
    mov.b64 rd3, file;
    cvta.global.u64 address, rd3;
    st.param.b64 [param1], address;
    st.param.b32 [param2], 12;
    mov.b64 rd3, function;
    cvta.global.u64 address, rd3;
    st.param.b64 [param3], address;
    st.param.b64 [param4], 1;
    call.uni __assertfail, (param0, param1, param2, param3, param4);
    }}
end:
    ret;
}}
",
        text("thread %d: %.2f, %5u of %s\n"),
        text("all"),
        text("n > 0"),
        text("kernel.cu"),
        text("void f(int)"),
    )
}

const PRINTING: &str = "[[arg]]\ntype = \"i32\"\nvalue = 1\n[[arg]]\ntype = \"buffer\"\nbytes = 64\n";

/// `printf` prints for each thread that calls it, and `?` for what is not known.
#[test]
fn kernels_print() {
    let run = several("prints", &[("k.ptx", &printing(32)), ("k.toml", PRINTING)]);
    let (status, text, _) = run(&["k.ptx", "--launch", "k.toml"]);
    assert_eq!(status, Some(0), "{text}");
    insta::assert_snapshot!("kernels_print", without_times(&text));
    let document: Value =
        serde_json::from_str(&run(&["k.ptx", "--launch", "k.toml", "--format", "json"]).1).unwrap();
    let printed = document["kernels"][0]["printed"].as_array().unwrap();
    let texts: Vec<&str> = printed.iter().map(|it| it["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["thread 0: 1.50,     ? of all\n", "thread 1: 1.50,     ? of all\n"]);
    assert_eq!(printed[1]["thread"], serde_json::json!([1, 0, 0]));
    assert_eq!(printed[1]["cta"], serde_json::json!([0, 0, 0]));
    assert_eq!(printed[1]["span"]["line"], 40);
}

/// Of very many lines, people see the first, and programs more of them.
#[test]
fn much_is_printed() {
    let text = printing(1024).replace("setp.ge.u32 p, tid, 2;", "setp.ge.u32 p, tid, 1020;");
    let grid = format!("grid = [2]\n{PRINTING}");
    let run = several("prints_much", &[("k.ptx", &text), ("k.toml", &grid)]);
    let (_, text, _) = run(&["k.ptx", "--launch", "k.toml"]);
    assert!(text.contains("    and 950 more lines: `--format json` has them\n"), "{text}");
    assert!(text.contains("    and 1040 more calls of `printf`\n"), "{text}");
    assert!(text.lines().count() < 60);
    let document: Value =
        serde_json::from_str(&run(&["k.ptx", "--launch", "k.toml", "--format", "json"]).1).unwrap();
    let kernel = &document["kernels"][0];
    assert_eq!((kernel["printed"].as_array().unwrap().len(), &kernel["unprinted"]), (1000, &1040.into()));
}

/// An assertion says what failed, and where.
#[test]
fn assertions_fail() {
    let launch = PRINTING.replace("value = 1", "value = -1");
    let run = several("asserts", &[("k.ptx", &printing(32)), ("k.toml", &launch)]);
    let (status, text, _) = run(&["k.ptx", "--launch", "k.toml"]);
    assert_eq!(status, Some(3), "{text}");
    insta::assert_snapshot!("assertions_fail", without_times(&text));
    // A launch that the kernel refuses is none of those that are assumed.
    let (status, text, _) = run(&["k.ptx"]);
    assert_eq!(status, Some(0), "{text}");
}

/// The thread whose access it is, not those beside it.
#[test]
fn who_is_out_of_bounds() {
    let kernel = ".version 9.0\n.target sm_100a\n.visible .entry k(.param .u64 out) .reqntid 64 {\n\
                  .reg .b32 t; .reg .b64 p, o;\nld.param.b64 p, [out];\nmov.u32 t, %tid.x;\n\
                  mul.wide.u32 o, t, 4;\nadd.u64 p, p, o;\nst.global.b32 [p], t;\nret;\n}\n";
    let launch = "[[arg]]\ntype = \"buffer\"\nbytes = 160\n";
    let run = several("who_is_out", &[("k.ptx", kernel), ("k.toml", launch)]);
    let (status, text, _) = run(&["k.ptx", "--launch", "k.toml"]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("lane 8 of warp 1: 4 bytes at 160 of"), "{text}");
}

/// A document of findings has no place for why a run was not judged: that is said beside it.
#[test]
fn what_is_not_judged_is_said_beside_documents() {
    let kernel = ".version 9.0\n.target sm_100a\n.visible .entry k() .reqntid 32 {\ntrap;\nret;\n}\n";
    let run = several("beside_documents", &[("k.ptx", kernel)]);
    for format in ["concise", "github", "junit", "sarif"] {
        let (status, _, error) = run(&["k.ptx", "--format", format]);
        assert_eq!(status, Some(3), "{format}");
        assert!(error.contains("k: not judged further: the kernel executes `trap`"), "{format}: {error}");
    }
}
