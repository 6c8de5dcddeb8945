//! `ptx-tc format`, through the built binary.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common::{ptx_tc, root, scratch, stderr, stdout, with_stdin};

const UGLY: &str = ".version  9.0\n.target sm_100a\n.entry k()\n{ ret ; }\n";
const PRETTY: &str = ".version 9.0\n.target sm_100a\n.entry k()\n{\n    ret;\n}\n";
const BROKEN: &str = ".version 9.0\n.target sm_100a\n.entry k() {\n  mov.b32 ,;\n}\n";

fn format_in(directory: &Path, arguments: &[&str]) -> Output {
    ptx_tc(&[&["format"], arguments].concat()).current_dir(directory).output().unwrap()
}

fn project(name: &str) -> std::path::PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("ugly.ptx"), UGLY).unwrap();
    fs::write(directory.join("pretty.ptx"), PRETTY).unwrap();
    directory
}

fn text(directory: &Path, name: &str) -> String {
    fs::read_to_string(directory.join(name)).unwrap()
}

#[test]
fn files_are_laid_out_in_place() {
    let directory = project("format");
    let output = format_in(&directory, &["."]);
    assert_eq!(
        (stdout(&output).as_str(), output.status.code()),
        ("1 file formatted, 1 unchanged\n", Some(0))
    );
    assert_eq!(
        (text(&directory, "ugly.ptx").as_str(), text(&directory, "pretty.ptx").as_str()),
        (PRETTY, PRETTY)
    );
    let again = format_in(&directory, &["."]);
    assert_eq!((stdout(&again).as_str(), again.status.code()), ("0 files formatted, 2 unchanged\n", Some(0)));
    fs::write(directory.join("ugly.ptx"), UGLY).unwrap();
    assert_eq!(stdout(&format_in(&directory, &["--quiet", "--indent", "tab", "ugly.ptx"])), "");
    assert_eq!(text(&directory, "ugly.ptx"), PRETTY.replace("    ", "\t"));
}

#[test]
fn check_and_diff_write_nothing() {
    let directory = project("format_check");
    let check = format_in(&directory, &["--check", "."]);
    assert_eq!(check.status.code(), Some(1));
    assert_eq!(stdout(&check), "would format ./ugly.ptx\n1 file would be formatted, 1 unchanged\n");
    let diff = format_in(&directory, &["--diff", "."]);
    assert_eq!(diff.status.code(), Some(1));
    insta::assert_snapshot!("format_diff", stdout(&diff));
    assert_eq!(text(&directory, "ugly.ptx"), UGLY);
    for option in ["--check", "--diff"] {
        assert_eq!(format_in(&directory, &[option, "pretty.ptx"]).status.code(), Some(0), "{option}");
    }
    let check = with_stdin(&["format", "--check", "-"], UGLY.as_bytes());
    assert_eq!((stdout(&check).as_str(), check.status.code()), ("would format <stdin>\n", Some(1)));
}

#[test]
fn standard_input_goes_to_standard_output() {
    for (before, after) in [(UGLY, PRETTY), (PRETTY, PRETTY), ("", "")] {
        let output = with_stdin(&["format", "-"], before.as_bytes());
        assert_eq!((stdout(&output).as_str(), output.status.code()), (after, Some(0)));
    }
    let wide = with_stdin(&["format", "-", "--indent", "2"], UGLY.as_bytes());
    assert_eq!(stdout(&wide), PRETTY.replace("    ", "  "));
}

#[test]
fn what_does_not_parse_is_left_alone() {
    let directory = project("format_broken");
    fs::write(directory.join("broken.ptx"), BROKEN).unwrap();
    fs::write(directory.join("binary.ptx"), b"\x7fELF\x02\x01\x01\0\0\0").unwrap();
    let output = format_in(&directory, &["."]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("cannot format `./broken.ptx`: syntax error in line 4, column 11"), "{said}");
    assert!(said.contains("ELF object"), "{said}");
    assert_eq!(text(&directory, "broken.ptx"), BROKEN);
    // The others are laid out all the same.
    assert_eq!(text(&directory, "ugly.ptx"), PRETTY);
    fs::write(directory.join("k.cu"), "int i;\n").unwrap();
    assert_eq!(stdout(&format_in(&directory, &["pretty.ptx"])), "0 files formatted, 1 unchanged\n");
    assert!(stderr(&format_in(&directory, &["k.cu"])).contains("only PTX has a layout"));
    let output = with_stdin(&["format", "-"], BROKEN.as_bytes());
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("", Some(2)));
    for wrong in ["0", "17", "tabs"] {
        assert_eq!(format_in(&directory, &["--indent", wrong, "."]).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn excluded_files_are_left_alone() {
    let directory = project("format_excluded");
    fs::write(directory.join("ptx-tc.toml"), "exclude = [\"ugly.ptx\"]\n").unwrap();
    assert_eq!(stdout(&format_in(&directory, &["."])), "0 files formatted, 1 unchanged\n");
    assert_eq!(text(&directory, "ugly.ptx"), UGLY);
}

/// What was found before is found after, and the layout of a layout is itself.
#[test]
fn fixtures_say_the_same_in_their_layout() {
    let directory = scratch("format_fixtures");
    let mut count = 0;
    for (code, path) in crate::common::fixtures() {
        let before = fs::read_to_string(&path).unwrap();
        let copy = directory.join(format!("{code}_{}", path.file_name().unwrap().to_str().unwrap()));
        if !code.starts_with("TC00") {
            fs::write(&copy, before).unwrap();
            count += 1;
        }
    }
    assert!(count > 400, "{count}");
    let statistics = || {
        let output = ptx_tc(&["check", ".", "--statistics"]).current_dir(&directory).output().unwrap();
        stdout(&output)
    };
    let before = statistics();
    assert_eq!(format_in(&directory, &["."]).status.code(), Some(0));
    assert_eq!(statistics(), before);
    assert_eq!(format_in(&directory, &["--check", "."]).status.code(), Some(0));
}

/// The two ways to the same layout.
#[test]
fn the_language_server_lays_out_the_same() {
    let text = fs::read_to_string(root().join("fixtures/rules/TC901/invalid_spaced.ptx")).unwrap();
    let mut document = ptx_lsp::local::Document::open("file:///k.ptx", text.clone(), true).unwrap();
    document.parse(&ptx_tc::Options::default());
    let params = serde_json::json!({
        "textDocument": { "uri": "file:///k.ptx" },
        "options": { "tabSize": 4, "insertSpaces": true },
    });
    let edits = document.request("textDocument/formatting", params).unwrap();
    let output = with_stdin(&["format", "-"], text.as_bytes());
    let served = edits[0]["newText"].as_str().unwrap_or(&text);
    assert_eq!(stdout(&output), served);
}
