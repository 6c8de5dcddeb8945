//! Findings in what a compiler wrote lead back to the lines that it compiled.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::common::{ptx_tc, root, run, scratch, stdout};

const MODULE: &str = "fixtures/provenance/gemm.ptx";

fn check(arguments: &[&str]) -> String {
    stdout(&run(&[&["check"], arguments].concat()))
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
    for file in ["gemm.ptx", "gemm.cu", "tmem.cuh"] {
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
