//! Kernels that are run: small ones with one thing wrong each, and the same ones put right; and real
//! ones, which are clean under every schedule.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ptx_check::diagnostic::Severity;
use ptx_check::rules::{RULES, Scope};
use ptx_tc::simulation::launch::LaunchShape;
use ptx_tc::simulation::{Kernel, KernelReport, Schedule, Settings, Verdict, kernels};
use ptx_tc::{Source, Unit};

use crate::common::{RACING, root, simulate, simulate_command};

/// The schedules under which verdicts have to be the same.
fn schedules() -> impl Iterator<Item = Schedule> {
    [Schedule::Early, Schedule::Late].into_iter().chain((1..=8).map(Schedule::Random))
}

fn codes(report: &KernelReport) -> Vec<&'static str> {
    report.diagnostics.iter().map(|finding| finding.code.as_str()).collect()
}

/// What the command exits with for a finding.
fn status(code: &str) -> i32 {
    let rule = RULES.iter().find(|rule| rule.code.as_str() == code).unwrap();
    i32::from(rule.code.severity() == Severity::Error)
}

fn fixtures(kind: &str) -> Vec<(String, PathBuf)> {
    let directory = root().join("fixtures/simulation").join(kind);
    let mut all: Vec<(String, PathBuf)> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path))
        .collect();
    all.sort();
    all
}

/// What is found is what the fixture is called after, whatever happens when.
#[test]
fn findings() {
    for (name, path) in fixtures("findings") {
        let text = fs::read_to_string(&path).unwrap();
        let code = name.split('_').next().unwrap();
        for schedule in schedules() {
            let report = simulate(&text, schedule);
            let found = codes(&report);
            assert_eq!(report.verdict, Verdict::Findings, "{name}, {schedule:?}: {:?}", report.reasons);
            assert!(found.iter().all(|it| *it == code), "{name}, {schedule:?}: {found:?}");
        }
    }
}

#[test]
fn repairs_are_clean() {
    for (name, path) in fixtures("clean") {
        let text = fs::read_to_string(&path).unwrap();
        for schedule in schedules() {
            let report = simulate(&text, schedule);
            assert_eq!(
                report.verdict,
                Verdict::Clean,
                "{name}, {schedule:?}: {:?} {:?}",
                report.diagnostics,
                report.reasons
            );
        }
    }
}

#[test]
fn every_code_has_both() {
    let names = |kind| -> Vec<String> { fixtures(kind).into_iter().map(|(name, _)| name).collect() };
    let (wrong, right) = (names("findings"), names("clean"));
    for rule in RULES.iter().filter(|rule| rule.scope == Scope::Run) {
        let is_of = |name: &String| name.starts_with(rule.code.as_str());
        assert!(wrong.iter().any(is_of) && right.iter().any(is_of), "{}", rule.code);
    }
}

/// What people see, with the excerpts of the source.
#[test]
fn pictures() {
    for (name, path) in fixtures("findings") {
        let relative = path.strip_prefix(root()).unwrap();
        // Of a rule that is off, too.
        let output = simulate_command(&[relative.to_str().unwrap(), "--severity", "SIM508=warning"]);
        assert_eq!(output.status.code(), Some(status(name.split('_').next().unwrap())), "{name}");
        let text = String::from_utf8(output.stdout).unwrap();
        // How long it took is no matter.
        let text =
            text.lines().map(|line| line.split(" warp instructions, ").next().unwrap()).collect::<Vec<_>>();
        insta::assert_snapshot!(name, text.join("\n"));
    }
}

/// The examples in the rules' documentation are what they say.
#[test]
fn documentation_examples() {
    for rule in RULES.iter().filter(|rule| rule.scope == Scope::Run) {
        let fixture = |kind: &str| {
            let all = fixtures(kind);
            let (_, path) = all.iter().find(|(name, _)| name.starts_with(rule.code.as_str())).unwrap();
            fs::read_to_string(path).unwrap()
        };
        let (example, repair) = rule.docs.split_once("## Use instead").unwrap();
        for (docs, kind) in [(example, "findings"), (repair, "clean")] {
            let (_, rest) = docs.split_once("```ptx\n").unwrap();
            let (code, _) = rest.split_once("```").unwrap();
            let text = fixture(kind);
            let mut lines = text.lines().map(str::trim);
            for line in code.lines().map(str::trim).filter(|line| !line.is_empty()) {
                assert!(lines.any(|it| it == line), "{}: `{line}` is not in the fixture", rule.code);
            }
        }
    }
}

/// Real kernels under the launches that belong to them; `schedules.rs` has them under random schedules.
#[test]
fn real_kernels_are_clean() {
    are_clean(&[&["early"], &["late"]]);
}

fn are_clean(schedules: &[&[&str]]) {
    let directory = root().join("fixtures/simulation/launches");
    let mut launches: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    launches.sort();
    assert!(!launches.is_empty());
    for launch in launches {
        let name = launch.file_stem().unwrap().to_str().unwrap();
        let module = name.split('.').next().unwrap();
        let module = format!("fixtures/kernels/{module}.ptx");
        let launch = launch.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        for schedule in schedules {
            let mut arguments = vec![module.as_str(), "--launch", &launch, "--schedule"];
            arguments.extend(*schedule);
            if RACING.contains(&name) {
                let output = simulate_command(&arguments);
                assert!(String::from_utf8_lossy(&output.stdout).contains("SIM204"), "{name}, {schedule:?}");
                arguments.extend(["--ignore", "SIM204"]);
            }
            let output = simulate_command(&arguments);
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let trouble = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(0), "{name}, {schedule:?}: {text}{trouble}");
        }
    }
}

/// Kernels of one instruction each, in all its forms, as one warp. What they are given makes no sense, so that many
/// read what nobody has written.
#[test]
fn every_form_in_one_warp() {
    let mut table = String::new();
    for module in ["cuda_ptx_sm100a", "cuda_ptx_sm103a", "cuda_ptx_sm107a"] {
        let text = fs::read(root().join(format!("fixtures/kernels/{module}.ptx"))).unwrap();
        let source = Source::from_bytes(module, text).unwrap();
        let unit = Unit::new(&source);
        let shape = LaunchShape { block: Some([32, 1, 1]), ..LaunchShape::default() };
        let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
        for name in kernels(&unit) {
            let kernel = Kernel::new(&unit, name).unwrap();
            let settings = Settings { budget: 100_000, ..Settings::default() };
            let report = kernel.simulate_assumed(&shape, &settings).unwrap();
            let what = match codes(&report).first() {
                Some(code) => format!("{code} {}", report.diagnostics[0].message),
                None => format!("{:?}", report.verdict),
            };
            *verdicts.entry(what).or_default() += 1;
        }
        for (what, count) in verdicts {
            table.push_str(&format!("{module}: {count} {what}\n"));
        }
    }
    insta::assert_snapshot!(table);
}

fn temporary(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).unwrap();
    path
}

const EMPTY: &str = ".version 9.0\n.target sm_100a\n.address_size 64\n\
    .visible .entry k(.param .u64 a, .param .u32 n)\n.reqntid 32\n{\n    ret;\n}\n";

#[test]
fn exit_statuses_and_json() {
    let path = temporary("simulate_clean.ptx", EMPTY);
    let path = path.to_str().unwrap();
    let output = simulate_command(&[path, "--format", "json"]);
    assert_eq!(output.status.code(), Some(0));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], 1);
    assert_eq!(document["kernels"][0]["kernel"], "k");
    assert_eq!(document["kernels"][0]["verdict"], "clean");

    let unknown = EMPTY.replace("ret;", ".reg .b64 d; stacksave.u64 d; ret;");
    let path = temporary("simulate_incomplete.ptx", &unknown);
    let output = simulate_command(&[path.to_str().unwrap(), "--format", "json"]);
    assert_eq!(output.status.code(), Some(3));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let message = document["kernels"][0]["reasons"][0]["message"].as_str().unwrap();
    assert!(message.contains("stacksave"), "{message}");
    assert_eq!(document["kernels"][0]["reasons"][0]["span"]["line"], 7);

    let endless = EMPTY.replace("ret;", "again: bra again; ret;");
    let path = temporary("simulate_endless.ptx", &endless);
    let output = simulate_command(&[path.to_str().unwrap(), "--budget", "1000"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stdout).contains("budget"));
}

#[test]
fn a_printed_launch_can_be_used() {
    let path = temporary("simulate_launch.ptx", EMPTY);
    let path = path.to_str().unwrap();
    let output = simulate_command(&[path, "--print-launch", "--severity", "SIM508=warning"]);
    assert_eq!(output.status.code(), Some(0));
    let launch = temporary("simulate_launch.toml", &String::from_utf8(output.stdout).unwrap());
    let output = simulate_command(&[path, "--launch", launch.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What is printed for a kernel with a finding is a launch that shows it, and so is the one with its number.
#[test]
fn printed_launches_repeat_findings() {
    for (name, path) in fixtures("findings") {
        let code = name.split('_').next().unwrap();
        let path = path.strip_prefix(root()).unwrap().to_str().unwrap();
        let found = |arguments: &[&str]| {
            // Of a rule that is off, too.
            let options = [path, "--format", "concise", "--severity", "SIM508=warning"];
            let output = simulate_command(&[&options, arguments].concat());
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(status(code)), "{name}: {error}");
            String::from_utf8(output.stdout).unwrap()
        };
        let printed = String::from_utf8(
            simulate_command(&[path, "--print-launch", "--severity", "SIM508=warning"]).stdout,
        )
        .unwrap();
        let launch = temporary(&format!("printed_{name}.toml"), &printed);
        for text in [found(&["-l", launch.to_str().unwrap()]), found(&[])] {
            assert!(text.contains(code), "{name}: {text}");
            let number = text.split("--launch-number ").nth(1).and_then(|rest| rest.split('`').next());
            if let Some(number) = number {
                let text = found(&["--launch-number", number]);
                assert!(text.contains(code), "{name}, launch {number}: {text}");
            }
        }
    }
}

/// Mistakes in launch files are shown where they are, with what can be written instead.
#[test]
fn mistakes_in_launch_files() {
    let path = temporary("simulate_mistakes.ptx", EMPTY);
    let path = path.to_str().unwrap();
    let good = "[[arg]]\ntype = \"buffer\"\nbytes = 64\n[[arg]]\ntype = \"u32\"\nvalue = 3\n";
    let buffer = |with: &str| good.replace("bytes = 64", with);
    let mistakes = [
        ("json", "{\"kernel\": \"k\"}".to_owned()),
        ("toml", good.replace("type = \"u32\"", "type = u32")),
        ("missing_type", good.replace("type = \"u32\"\n", "")),
        ("missing_value", good.replace("value = 3\n", "")),
        ("negative", good.replace("64", "-64")),
        ("type", good.replace("u32", "u31")),
        ("value", good.replace("value = 3", "value = -3")),
        ("dtype", buffer("dtype = \"q8\"\nshape = [3]")),
        ("missing_file", buffer("data = \"none.npy\"")),
        ("huge_grid", format!("grid = [4294967295]\n{good}")),
        ("contents", format!("assume = {{ number = 1, contents = \"nothing\" }}\n{good}")),
        ("arguments", good.split_once("[[arg]]\ntype = \"u32\"").unwrap().0.to_owned()),
        ("kernel", format!("kernel = \"other\"\n{good}")),
    ];
    let mut all = String::new();
    for (name, text) in mistakes {
        let launch = temporary(&format!("mistake_{name}.toml"), &text);
        let launch = launch.to_str().unwrap();
        let output = simulate_command(&[path, "--launch", launch]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        let trouble = String::from_utf8(output.stderr).unwrap();
        let trouble = trouble.replace(launch, "launch.toml").replace(path, "kernel.ptx");
        let lines: Vec<&str> = trouble.lines().map(str::trim_end).collect();
        all += &format!("{name}\n{}\n\n", lines.join("\n").trim_end());
    }
    insta::assert_snapshot!("mistakes_in_launch_files", all);
}

/// The element types and swizzles of tensor maps are listed.
#[test]
fn mistakes_in_tensor_maps() {
    let path = "docs/simulation/gemm.ptx";
    let good = fs::read_to_string(root().join("docs/simulation/gemm.toml")).unwrap();
    for (from, to, place, expected) in [
        ("\"f16\"", "\"f17\"", ":7:11]", "`b4x16_p64`"),
        ("\"128B\"", "\"129B\"", ":10:11]", "`128B_ATOM_32B`"),
        ("[64, 128]", "[64, 300]", ":9:7]", "each 1 to 256"),
        ("[384, 128]", "[384, 0]", ":8:8]", "1 to 5 dimensions"),
    ] {
        let launch = temporary("mistake_in_map.toml", &good.replacen(from, to, 1));
        let output = simulate_command(&[path, "--launch", launch.to_str().unwrap()]);
        let trouble = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{to}: {trouble}");
        assert!(trouble.contains(place) && trouble.contains(expected), "{to}: {trouble}");
    }
}

#[test]
fn sources_have_to_be_compiled() {
    let path = temporary("simulate_source.cu", "__global__ void kernel() {}\n");
    let output = simulate_command(&[path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let trouble = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(trouble.contains("nvcc -ptx -arch=sm_100a"), "{trouble}");
}

#[test]
fn a_launch_number_is_one_of_those_tried() {
    let path = temporary("simulate_number.ptx", EMPTY);
    let output = simulate_command(&[path.to_str().unwrap(), "--launch-number", "99"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("were tried"));
}

#[test]
fn wrong_launches_are_refused() {
    let path = temporary("simulate_refused.ptx", EMPTY);
    let path = path.to_str().unwrap();
    let good = "[[arg]]\ntype = \"buffer\"\nbytes = 64\n[[arg]]\ntype = \"u32\"\nvalue = 3\n";
    let wrong = [
        ("", "2 parameters"),
        ("[[arg]]\ntype = \"u32\"\nvalue = 3\n[[arg]]\ntype = \"u32\"\nvalue = 3\n", "4 bytes"),
        ("[[arg]]\ntype = \"buffer\"\n[[arg]]\ntype = \"u32\"\nvalue = 3\n", "a buffer has `bytes`"),
        (&good.replace("value = 3", "value = 3.5"), "integer"),
        (&good.replace("value = 3", "value = 5000000000"), "does not fit"),
        (&good.replace("u32", "u31"), "no type"),
        (&format!("block = [2000]\n{good}"), "1024 threads"),
        (&format!("block = [0]\n{good}"), "greater than 0"),
        (&format!("block = [64]\n{good}"), "(`.reqntid`)"),
        (&format!("cluster = [17]\n{good}"), "16 CTAs"),
        (&format!("grid = [3]\ncluster = [2]\n{good}"), "do not divide"),
        (&format!("dynamic_smem = 300000\n{good}"), "shared memory"),
        (&format!("colour = 3\n{good}"), "no launch file"),
        (&format!("kernel = \"other\"\n{good}"), "no kernel"),
    ];
    for (index, (text, expected)) in wrong.iter().enumerate() {
        let launch = temporary(&format!("simulate_refused_{index}.toml"), text);
        let output = simulate_command(&[path, "--launch", launch.to_str().unwrap()]);
        let trouble = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}: {trouble}");
        // The report is broken into lines.
        let words = trouble.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        assert!(words.contains(expected), "{text}: {trouble}");
    }
}

/// A `try_wait` may end in vain: who does not ask again has not waited, and the schedule that ends everything as
/// late as it may shows what comes of it.
#[test]
fn a_single_try_wait_may_end_in_vain() {
    let path = root().join("fixtures/simulation/clean/SIM202_unordered_scales.ptx");
    let looping = fs::read_to_string(path).unwrap();
    let single = looping.replace("    @!q bra wait;\n", "");
    assert_ne!(single, looping);
    assert_eq!(codes(&simulate(&looping, Schedule::Late)), [] as [&str; 0]);
    let found = codes(&simulate(&single, Schedule::Late));
    assert!(found.contains(&"SIM202"), "the memory is freed under the multiply: {found:?}");
}

/// What goes on beside the threads takes of the budget, too: a thread that starts copies forever would
/// otherwise start one for each lane with each of its instructions.
#[test]
fn operations_take_of_the_budget() {
    let text = ".version 9.4\n.target sm_100a\n.address_size 64\n.visible .entry k()\n.reqntid 32\n{\n\
                .shared .align 16 .b8 tile[64]; .shared .b64 bar;\n\
                again: cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [tile+32], [tile], 16, [bar];\n\
                bra again;\n}\n";
    for schedule in schedules().take(3) {
        let report = simulate(text, schedule);
        assert!(report.reasons.iter().any(|it| it.text.contains("budget")), "{:?}", report.reasons);
        assert!(report.operations < 100_000 / 8, "{}", report.operations);
    }
}

/// Wild programs end with a verdict.
#[test]
fn nothing_panics() {
    let bodies = [
        "ld.shared.b32 r, [w]; st.global.b32 [w], r;",
        "mov.b64 w, -1; ld.b32 r, [w]; st.b32 [w], r; atom.add.u32 r, [w], 1;",
        "mov.b64 w, 0xFFFFFFFFFFFFF000; ld.local.b32 r, [w]; st.local.b32 [w], r; ld.const.b32 r, [w]; ld.param.b32 r, [w];",
        "mov.b32 r, -16; mbarrier.init.shared.b64 [r], 1; mbarrier.arrive.shared.b64 _, [r];",
        "mov.b32 r, 0xFFFFFFF8; mbarrier.init.shared::cta.b64 [r], -1; st.shared.b64 [r], w;",
        "bar.sync 99; bar.sync 3, 7; barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;",
        "mov.b32 r, 0xFFFFFFFF; tcgen05.dealloc.cta_group::1.sync.aligned.b32 r, 512; tcgen05.ld.sync.aligned.32x32b.x1.b32 {r}, [r]; tcgen05.shift.cta_group::1.down [r];",
        "mov.b32 r, 0xFFFFFFFF; mov.b64 w, -1; tcgen05.mma.cta_group::1.kind::f16 [r], w, w, r, 1; tcgen05.cp.cta_group::1.128x256b [r], w;",
        "mov.b64 w, 0; cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [w], [w], 64, [w];",
        "mov.b64 w, 0x500000000070; call (), w, ();",
        "setmaxnreg.inc.sync.aligned.u32 0xFFFFFFF;",
        "tcgen05.ld.sync.aligned.16x32bx2.x4.b32 {r, r, r, r}, [r], 0xFFFFFFFF;",
        "setmaxnreg.inc.sync.aligned.u32 256; bar.warp.sync 0; bar.warp.sync -1; activemask.b32 r;",
        "shfl.sync.idx.b32 r, r, 99, 31, 0xF; match.any.sync.b32 r, r, -1; redux.sync.add.u32 r, r, 1;",
        "st.bulk.weak.shared::cta [w], 0xFFFFFFFFFFFF, 0;",
        "brx.idx r, list;",
        "alloca.u64 w, w;",
        "exit; bra nowhere;",
        "{ bra inner; inner: }",
    ];
    for body in bodies {
        for first in ["mov.b32 r, %tid.x; cvt.u64.u32 w, r;", ""] {
            let text = format!(
                ".version 9.4\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .b64 a)\n.reqntid 96\n{{\n\
                 .reg .b32 r; .reg .b64 w; .reg .pred p; .shared .b64 s; {first}\n{body}\nret;\n}}\n"
            );
            let source = Source::new("wild.ptx", text).unwrap();
            let unit = Unit::new(&source);
            let Some(kernel) = Kernel::new(&unit, "k") else { continue };
            for schedule in schedules().take(4) {
                let settings = Settings { schedule, budget: 10_000, ..Settings::default() };
                let _ = kernel.simulate_assumed(&LaunchShape::default(), &settings);
            }
        }
    }
}

/// A class of bugs: what it is called, which lines it is put into, and what becomes of them.
type Bug = (&'static str, &'static str, fn(&str) -> String);

const BUGS: &[Bug] = &[
    ("no initialisation", "mbarrier.init", |_| String::new()),
    ("a count of 3", "mbarrier.init", |line| with_last(line, "3")),
    ("no arrival", "mbarrier.arrive", |_| String::new()),
    ("too many bytes expected", "expect_tx", |line| with_last(line, "65536")),
    ("too few bytes expected", "expect_tx", |line| with_last(line, "1024")),
    ("arrival twice", "mbarrier.arrive", |line| format!("{line}\n{line}")),
    ("no load", "cp.async.bulk.tensor.2d.shared", |_| String::new()),
    ("load twice", "cp.async.bulk.tensor.2d.shared", |line| format!("{line}\n{line}")),
    ("parity 0", "try_wait.parity", |line| with_last(line, "0")),
    ("parity 1", "try_wait.parity", |line| with_last(line, "1")),
    ("no commit", "tcgen05.commit", |_| String::new()),
    ("no multiply", "tcgen05.mma", |_| String::new()),
    ("commit twice", "tcgen05.commit", |line| format!("{line}\n{line}")),
    ("no barrier", "bar.sync", |_| String::new()),
    ("no allocation", "tcgen05.alloc", |_| String::new()),
    ("less allocated", "tcgen05.alloc", |line| with_last(line, "32")),
    ("no deallocation", "tcgen05.dealloc", |_| String::new()),
    ("less deallocated", "tcgen05.dealloc", |line| with_last(line, "32")),
    ("no proxy fence", "fence.proxy", |_| String::new()),
    ("no wait for loads", "tcgen05.wait::ld", |_| String::new()),
    ("no wait for copies", "cp.async.bulk.wait_group", |_| String::new()),
    ("no group", "cp.async.bulk.commit_group", |_| String::new()),
    ("invalidated early", "tcgen05.ld", |line| {
        format!("mbarrier.inval.shared::cta.b64 [global_smem+131072];\n{line}")
    }),
];

/// The line with another last operand.
fn with_last(line: &str, operand: &str) -> String {
    match line.rsplit_once(", ") {
        Some((start, _)) => format!("{start}, {operand};"),
        None => line.to_owned(),
    }
}

/// What is found of bugs that are put into a real kernel, one at a time.
#[test]
fn bugs_in_a_real_kernel() {
    let path = root().join("fixtures/kernels/gluon_matmul_pipelined_sm100a.ptx");
    let launch = "fixtures/simulation/launches/gluon_matmul_pipelined_sm100a.matmul_pipelined.toml";
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (name, what, change) in BUGS {
        let places: Vec<usize> =
            (0..lines.len()).filter(|at| lines[*at].contains(what) && !lines[*at].contains("//")).collect();
        for (number, place) in places.iter().enumerate() {
            let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            changed[*place] = change(lines[*place]);
            let path = temporary("simulate_bug.ptx", &changed.join("\n"));
            let output = simulate_command(&[
                path.to_str().unwrap(),
                "--launch",
                launch,
                "--format",
                "json",
                "--budget",
                "200000",
            ]);
            let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let kernel = &document["kernels"][0];
            let mut codes: Vec<&str> = Vec::new();
            for finding in kernel["diagnostics"].as_array().unwrap() {
                let code = finding["code"].as_str().unwrap();
                if !codes.contains(&code) {
                    codes.push(code);
                }
            }
            let verdict = if codes.is_empty() {
                kernel["verdict"].as_str().unwrap().to_owned()
            } else {
                codes.join(" ")
            };
            found.push(format!("{name}, {}: {verdict}", number + 1));
        }
    }
    insta::assert_snapshot!("bugs_in_a_real_kernel", found.join("\n"));
}
