//! Findings in what a compiler wrote lead back to the lines that it compiled.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::common::{ptx_tc, root, run, scratch, stdout};

const MODULE: &str = "fixtures/provenance/gemm.ptx";
const COPIES: &str = "fixtures/provenance/pipeline.ptx";

fn check(arguments: &[&str]) -> String {
    compiled();
    stdout(&run(&[&["check"], arguments].concat()))
}

/// Makes the sources of the fixtures older than what was compiled from them, in a checkout of any age: it writes them in any
/// order.
fn compiled() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for source in ["gemm.cu", "tmem.cuh", "pipeline.cu"] {
            // Before any checkout, also one from yesterday.
            change_at(&root().join("fixtures/provenance").join(source), hours_ago(100_000));
        }
    });
}

fn change_at(file: &Path, time: SystemTime) {
    File::options().append(true).open(file).unwrap().set_modified(time).unwrap();
}

fn hours_ago(hours: u64) -> SystemTime {
    SystemTime::now() - Duration::from_secs(hours * 3600)
}

/// The findings of a run with JSON.
fn findings(text: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(text).unwrap();
    let files = document["files"].as_array().unwrap();
    files.iter().flat_map(|file| file["diagnostics"].as_array().unwrap().clone()).collect()
}

#[test]
fn people_see_what_they_wrote() {
    insta::assert_snapshot!("provenance_human", check(&[MODULE]));
    insta::assert_snapshot!("provenance_concise", check(&[MODULE, "--format", "concise"]));
}

/// Where changes are reviewed, findings stand at what was changed.
#[test]
fn forges_show_the_source() {
    for format in ["github", "gitlab", "junit", "rdjson"] {
        insta::assert_snapshot!(format!("provenance_{format}"), check(&[MODULE, "--format", format]));
    }
    let log: Value = serde_json::from_str(&check(&[MODULE, "--format", "sarif"])).unwrap();
    let results = &log["runs"][0]["results"];
    insta::assert_json_snapshot!("provenance_sarif", results, { "[].ruleIndex" => "[index]" });
}

#[test]
fn programs_get_the_lines_and_the_calls() {
    let found = findings(&check(&[MODULE, "--format", "json"]));
    let sources: Vec<&Value> = found.iter().map(|finding| &finding["source"]).collect();
    insta::assert_json_snapshot!("provenance_json", sources);
    for finding in &found {
        assert_eq!(finding["source"], finding["labels"][0]["source"]);
    }
}

#[test]
fn who_wants_no_sources_gets_none() {
    for format in ["human", "concise", "json", "sarif", "github", "gitlab", "junit", "rdjson"] {
        let text = check(&[MODULE, "--no-source", "--format", format]);
        assert!(!text.contains("gemm.cu") && !text.contains("tmem.cuh"), "{format}: {text}");
        assert!(text.contains("gemm.ptx"), "{format}: {text}");
    }
}

/// The module of the fixtures in a directory of its own, with sources as `edit` makes them.
fn copied(name: &str, edit: impl Fn(&str, String) -> Option<String>) -> PathBuf {
    let directory = scratch(name);
    for file in ["gemm.cu", "tmem.cuh", "gemm.ptx"] {
        let text = fs::read_to_string(root().join("fixtures/provenance").join(file)).unwrap();
        if let Some(text) = edit(file, text) {
            fs::write(directory.join(file), text).unwrap();
        }
    }
    directory
}

fn check_in(directory: &PathBuf, arguments: &[&str]) -> String {
    let output =
        ptx_tc(&[&["check", "gemm.ptx"], arguments].concat()).current_dir(directory).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// A source that is not here is named all the same.
#[test]
fn a_source_that_is_elsewhere_is_named() {
    let directory = copied("provenance_elsewhere", |file, text| (file != "tmem.cuh").then_some(text));
    insta::assert_snapshot!("provenance_elsewhere", check_in(&directory, &[]));
    // The call is in what is here, and so in what is reviewed.
    let annotations = check_in(&directory, &["--format", "github"]);
    assert!(annotations.contains("file=gemm.cu,line=6,col=3"), "{annotations}");

    let directory = copied("provenance_nowhere", |file, text| (file == "gemm.ptx").then_some(text));
    let text = check_in(&directory, &[]);
    let remark = "= source: /build/project/cuda/tmem.cuh:7:3, inlined at /build/project/cuda/gemm.cu:6:3";
    assert!(text.contains(remark), "{text}");
}

/// Lines of a file that is not what was compiled would mislead.
#[test]
fn a_source_that_changed_is_not_shown() {
    let directory = copied("provenance_changed", |file, text| {
        Some(match file {
            "gemm.ptx" => text
                .replace("gemm.cu\"", "gemm.cu\", 1700000000, 7")
                .replace("tmem.cuh\"", "tmem.cuh\", 0, 0"),
            _ => text,
        })
    });
    let text = check_in(&directory, &[]);
    assert!(text.contains("tmem.cuh:7:3, inlined at gemm.cu:6:3 (changed since)"), "{text}");
    assert!(text.contains("asm volatile(\"tcgen05.alloc"), "{text}");
    assert!(!text.contains("tmem_alloc<48>(address)"), "{text}");

    // A line that the file does not have any more.
    let directory = copied("provenance_short", |file, text| {
        Some(if file == "gemm.cu" { text.lines().take(2).collect() } else { text })
    });
    let text = check_in(&directory, &[]);
    assert!(text.contains("gemm.cu:6:3 (changed since)"), "{text}");
}

/// Lines of a file that was changed after it was compiled would mislead, too.
#[test]
fn a_source_that_is_newer_is_not_shown() {
    let directory = copied("provenance_newer", |_, text| Some(text));
    change_at(&directory.join("gemm.ptx"), hours_ago(2));
    change_at(&directory.join("gemm.cu"), hours_ago(1));
    change_at(&directory.join("tmem.cuh"), hours_ago(3));
    insta::assert_snapshot!("provenance_newer", check_in(&directory, &[]));
    let found = findings(&check_in(&directory, &["--format", "json"]));
    let source = &found[0]["source"];
    assert!(source.get("outdated").is_none(), "{source}");
    assert_eq!(source["inlined_at"][0]["path"], "gemm.cu");
    assert_eq!(source["inlined_at"][0]["outdated"], "newer");
    // It is changed and compiled again.
    change_at(&directory.join("gemm.ptx"), hours_ago(0));
    assert!(check_in(&directory, &[]).contains("tmem_alloc<48>(address)"));
}

/// Copies write a source after its PTX, and within a moment; somebody who edits it keeps the file.
#[test]
fn a_copy_is_not_newer() {
    let directory = copied("provenance_copied", |file, text| (file != "gemm.cu").then_some(text));
    let source = directory.join("gemm.cu");
    fs::copy(root().join("fixtures/provenance/gemm.cu"), &source).unwrap();
    // Where a file system does not say when files were made, nothing tells a copy from a change.
    if fs::metadata(&source).unwrap().created().is_ok() {
        assert!(check_in(&directory, &[]).contains("tmem_alloc<48>(address)"));
    }
    fs::write(directory.join("gemm.ptx"), fs::read(directory.join("gemm.ptx")).unwrap()).unwrap();
    change_at(&source, SystemTime::now() + Duration::from_millis(20));
    assert!(!check_in(&directory, &[]).contains("tmem_alloc<48>(address)"));
}

/// A line that is compiled several times has a mistake once for people, and as often as the assembler sees it for
/// programs.
#[test]
fn copies_of_a_line_are_one_finding() {
    insta::assert_snapshot!("provenance_copies", check(&[COPIES]));
    let document: Value = serde_json::from_str(&check(&[COPIES, "--format", "json"])).unwrap();
    let of = |line: u64| {
        let all = findings(&document.to_string());
        all.iter().filter(|finding| finding["source"]["line"] == line).count()
    };
    assert_eq!((of(15), of(20)), (2, 42));
    assert_eq!(document["summary"]["errors"], 44);
    let concise = check(&[COPIES, "--format", "concise"]);
    assert_eq!(concise.lines().count(), 44);
    // Of what is omitted, it is still said how much that is.
    let some = check(&[COPIES, "--max-findings", "10"]);
    assert!(some.contains("and 4 more from this line"), "{some}");
    assert!(some.contains("and 32 more in this file (missing-qualifier)"), "{some}");
    // Without sources nothing is known of lines.
    assert_eq!(check(&[COPIES, "--no-source"]).matches("TC104").count(), 42);
}

/// A wrapper that is called with two bad numbers is two mistakes, one with two bad instructions as well.
#[test]
fn what_differs_is_told_apart() {
    let alloc = |line: u32, columns: u32| {
        format!(
            " .loc 1 {line} 3\n .loc 1 5 3, function_name f, inlined_at 1 {line} 3\n // begin inline asm\n \
             tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], {columns};\n // end inline asm\n"
        )
    };
    let broken = " .loc 1 9 3\n // begin inline asm\n tcgen05.wait::ld.sync;\n .loc 1 50 3\n \
                  tcgen05.wait::ld.sync;\n // end inline asm\n";
    let directory = scratch("provenance_apart");
    let text = format!(
        ".version 9.0\n.target sm_100a\n.file 1 \"k.cu\"\n.entry k() {{\n .shared .b32 slot;\n{}{}{}{broken}{broken}}}\n",
        alloc(20, 48),
        alloc(21, 96),
        alloc(22, 48)
    );
    fs::write(directory.join("gemm.ptx"), text).unwrap();
    let text = check_in(&directory, &["--select", "TC301,TC104"]);
    let remarks: Vec<&str> = text.lines().filter(|line| line.contains("= ")).collect();
    let expected = [
        "= source: k.cu:5:3, inlined at k.cu:20:3",
        "= and 1 more from this line, inlined at k.cu:22:3",
        "= help: write 64, the next valid size",
        "= source: k.cu:5:3, inlined at k.cu:21:3",
        "= help: write 128, the next valid size",
        "= source: k.cu:9:3",
        "= and 1 more from this line",
        "= help: add `.aligned`",
        "= source: k.cu:9:3",
        "= and 1 more from this line",
        "= help: add `.aligned`",
    ];
    assert_eq!(remarks.iter().map(|line| line.trim()).collect::<Vec<_>>(), expected, "{text}");
}

/// People mend errors first.
#[test]
fn errors_come_first() {
    let directory = scratch("provenance_order");
    let text = ".version 9.0\n.target sm_100a\n.entry k() .reqntid 256 {\n setmaxnreg.inc.sync.aligned.u32 232;\n \
                tcgen05.wait::ld.sync;\n tcgen05.wait::st.sync;\n ret;\n}\n";
    fs::write(directory.join("gemm.ptx"), text).unwrap();
    let codes = |text: &str| -> Vec<String> {
        let after = |line: &str| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned());
        let heads = text.lines().filter(|line| line.contains("error[") || line.contains("warning["));
        heads.filter_map(after).collect()
    };
    assert_eq!(codes(&check_in(&directory, &[])), ["TC104", "TC104", "TC821"]);
    // Editors read one line each, as they stand.
    assert_eq!(codes(&check_in(&directory, &["--format", "concise"])), ["TC821", "TC104", "TC104"]);
}

/// What a path names may be anything: a directory, a device, a file that is no text.
#[test]
fn only_texts_are_read() {
    for name in ["/dev/zero", "/", "", "..", "gemm.ptx/gemm.cu", "\\\\server\\gemm.o"] {
        let directory = copied("provenance_strange", |file, text| match file {
            "gemm.ptx" => Some(text.replace("/build/project/cuda/gemm.cu", name)),
            _ => None,
        });
        fs::write(directory.join("gemm.o"), b"\x7fELF\0\0\0").unwrap();
        let text = check_in(&directory, &[]);
        assert!(text.contains("error[TC104]") && text.contains("= source: "), "{name}: {text}");
    }
}

/// What Triton writes, with a mistake put into it: the lines of Python are named.
#[test]
fn python_is_named_for_triton() {
    let kernel = fs::read_to_string(root().join("fixtures/kernels/triton_attention_sm100a.ptx")).unwrap();
    let directory = scratch("provenance_triton");
    let python = fs::read_to_string(root().join("fixtures/kernels/src/triton_kernels.py")).unwrap();
    fs::write(directory.join("triton_kernels.py"), &python).unwrap();
    let broken = kernel.replace("tcgen05.mma.cta_group::1", "tcgen05.mma.cta_group::3");
    fs::write(directory.join("kernel.ptx"), broken).unwrap();
    let output = ptx_tc(&["check", "kernel.ptx", "--format", "json", "--ignore", "TC901"])
        .current_dir(&directory)
        .output()
        .unwrap();
    let found = findings(&String::from_utf8(output.stdout).unwrap());
    assert!(found.len() >= 4, "{}", found.len());
    for finding in found {
        let source = &finding["source"];
        assert_eq!(source["path"], "triton_kernels.py");
        let line = usize::try_from(source["line"].as_u64().unwrap()).unwrap();
        let text = python.lines().nth(line - 1).unwrap();
        assert!(text.contains("tl.dot("), "{line}: {text}");
    }
}

/// Whoever reads only the beginning of what is said has not lost anything.
#[test]
fn a_closed_pipe_is_no_trouble() {
    use std::process::Stdio;
    for format in ["human", "concise", "json"] {
        let arguments = ["check", "fixtures/rules", "--format", format, "--max-findings", "0"];
        let mut child = ptx_tc(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{format}");
    }
}
