//! The built binary, end to end.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use crate::common::{ptx_tc, root, run, scratch, stderr, stdout, with_stdin};

const BAD: &str = "fixtures/rules/TC301/invalid_48.ptx";
const GOOD: &str = "fixtures/rules/TC301/valid_sizes.ptx";

#[test]
fn exit_status() {
    assert_eq!(run(&["check", GOOD]).status.code(), Some(0));
    assert_eq!(run(&["check", BAD]).status.code(), Some(1));
    assert_eq!(run(&["check", BAD, "--exit-zero"]).status.code(), Some(0));
    assert_eq!(run(&["check", "no/such/file.ptx"]).status.code(), Some(2));
    assert_eq!(run(&["check", BAD, "no/such/file.ptx"]).status.code(), Some(2));
    assert_eq!(run(&["check", GOOD, "--target", "sm_1x"]).status.code(), Some(2));
    assert_eq!(run(&["chekc"]).status.code(), Some(2));
    assert_eq!(run(&["--version"]).status.code(), Some(0));
    assert_eq!(run(&["--help"]).status.code(), Some(0));
}

#[test]
fn findings_go_to_stdout_and_trouble_to_stderr() {
    let output = run(&["check", BAD, "no/such/file.ptx"]);
    assert!(stdout(&output).contains("TC301"));
    assert!(stderr(&output).contains("no/such/file.ptx") && !stderr(&output).contains("TC301"));
}

#[test]
fn human_and_concise() {
    insta::assert_snapshot!("human", stdout(&run(&["check", BAD])));
    insta::assert_snapshot!("concise", stdout(&run(&["check", BAD, GOOD, "--format", "concise"])));
    insta::assert_snapshot!("nothing_found", stdout(&run(&["check", GOOD])));
    assert_eq!(stdout(&run(&["check", GOOD, "--quiet"])), "");
}

#[test]
fn json_has_the_documented_shape() {
    let output = run(&["check", BAD, GOOD, "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    insta::assert_json_snapshot!("json", document);
}

#[test]
fn json_counts_characters_in_columns_and_bytes_in_offsets() {
    let text = "// é\n.version 9.0\n.target sm_100a\n/* é */ .entry k() { tcgen05.wait::ld.sync; }\n";
    let output =
        with_stdin(&["check", "-", "--format", "json", "--stdin-filename", "k.ptx"], text.as_bytes());
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["files"][0]["path"], "k.ptx");
    let span = &document["files"][0]["diagnostics"][0]["span"];
    let start = text.find("tcgen05").unwrap();
    assert_eq!(span["start"], start);
    assert_eq!(span["line"], 4);
    let line_start = text[..start].rfind('\n').unwrap() + 1;
    assert_eq!(span["column"], text[line_start..start].chars().count() + 1);
}

#[test]
fn colour_only_on_a_terminal() {
    let plain = run(&["check", BAD]);
    assert!(!plain.stdout.contains(&0x1b));
    let forced = ptx_tc(&["check", BAD]).env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(forced.stdout.contains(&0x1b));
}

#[test]
fn directories_are_walked_and_gitignore_honoured() {
    let directory = scratch("walk");
    fs::create_dir_all(directory.join("sub")).unwrap();
    fs::write(directory.join(".gitignore"), "ignored.ptx\n").unwrap();
    for name in ["b.ptx", "sub/a.ptx", "ignored.ptx", "other.txt"] {
        fs::copy(root().join(BAD), directory.join(name)).unwrap();
    }
    let output = run(&["check", directory.to_str().unwrap(), "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let paths: Vec<String> = document["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            let path = PathBuf::from(file["path"].as_str().unwrap());
            path.strip_prefix(&directory).unwrap().display().to_string()
        })
        .collect();
    assert_eq!(paths, ["b.ptx", "sub/a.ptx"]);
}

#[test]
fn bad_input_is_explained() {
    let directory = scratch("bad_input");
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    fs::write(path("empty.ptx"), "").unwrap();
    fs::write(path("binary.ptx"), b"\x7fELF\x02\x01\x01\0\0\0").unwrap();
    fs::write(path("latin1.ptx"), b"// caf\xe9\n.version 9.0\n.target sm_100a\n").unwrap();
    fs::write(path("no_newline.ptx"), ".version 9.0\n.target sm_100a\n.entry k() { ret; }").unwrap();
    fs::write(
        path("braces.ptx"),
        format!(".version 9.0\n.target sm_100a\n.entry k() {}", "{".repeat(100_000)),
    )
    .unwrap();
    fs::create_dir_all(path("nothing")).unwrap();
    for (name, status, expected) in [
        ("empty.ptx", 1, "missing `.version` directive"),
        ("binary.ptx", 2, "ELF object"),
        ("latin1.ptx", 0, "nothing found"),
        ("no_newline.ptx", 0, "nothing found"),
        ("braces.ptx", 1, "nesting too deep"),
        ("nothing", 2, "no file with PTX"),
        ("missing.ptx", 2, "cannot read"),
    ] {
        let output = run(&["check", &path(name)]);
        assert_eq!(output.status.code(), Some(status), "{name}: {}{}", stdout(&output), stderr(&output));
        let said = stdout(&output) + &stderr(&output);
        assert!(said.contains(expected), "{name}: {said}");
    }
}

#[test]
fn files_that_are_not_read_are_named_in_one_line() {
    let directory = scratch("not_read");
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let module = fs::read_to_string(root().join(BAD)).unwrap();
    let listing = format!("Fatbin ptx code:\n================\n{module}");
    for (name, text, is_read) in [
        ("notes.md", format!("# Notes\n```\n{module}```\n"), false),
        ("kernel.zig", "const std = @import(\"std\");\n".to_owned(), false),
        ("book.ipynb", "{\"cells\": []}\n".to_owned(), false),
        ("kernel.jl", format!("const PTX = \"\"\"\n{module}\"\"\"\n"), false),
        ("notes.txt", "Wait before you read.\n".to_owned(), false),
        ("host.s", "\t.file \"a.c\"\n\t.text\n".to_owned(), false),
        ("kernel.s", format!("//\n// LLVM\n//\n\n{module}"), true),
        ("kernel.dump", format!("/* a\n * b */ // c\n{module}"), true),
        ("kernel.txt", listing.clone(), true),
        ("kernel", listing, true),
        ("empty", String::new(), true),
    ] {
        fs::write(path(name), text).unwrap();
        for command in [&["check"][..], &["ast"], &["format", "--check"]] {
            let output = run(&[command, &[path(name).as_str()]].concat());
            let said = stderr(&output);
            assert_eq!(said.contains("it is not PTX"), !is_read, "{command:?} {name}: {said}");
            if !is_read {
                assert_eq!(output.status.code(), Some(2), "{command:?} {name}");
                assert!(!stdout(&output).contains("error"), "{command:?} {name}: {}", stdout(&output));
            }
        }
    }
    // Standard input is PTX, whatever it is called.
    let output = with_stdin(&["check", "-", "--stdin-filename", "notes.md"], module.as_bytes());
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_file_of_100_mb() {
    let directory = scratch("large");
    let path = directory.join("large.ptx");
    let line = "    mov.b32 %r1, %r2; // some text to fill the line\n".repeat(100_000);
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(b".version 9.0\n.target sm_100a\n.entry k() {\n.reg .b32 %r<4>;\n").unwrap();
    for _ in 0..20 {
        file.write_all(line.as_bytes()).unwrap();
    }
    file.write_all(b"    tcgen05.wait::ld.sync;\n}\n").unwrap();
    drop(file);
    assert!(fs::metadata(&path).unwrap().len() > 100_000_000);
    let output = run(&["check", path.to_str().unwrap(), "--format", "concise"]);
    fs::remove_file(&path).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("TC104"));
}

#[test]
fn target_and_version_override_the_module() {
    let fixture = "fixtures/rules/TC202/valid_shift.ptx";
    let found = |arguments: &[&str]| {
        let mut all = vec!["check", fixture, "--format", "concise", "--select", "TC2"];
        all.extend(arguments);
        stdout(&run(&all))
    };
    assert_eq!(found(&[]), "");
    assert!(found(&["--target", "sm_100f"]).contains("TC202"));
    assert!(found(&["--target", "sm_90a"]).contains("TC201"));
    assert!(found(&["--ptx-version", "8.5"]).contains("TC204"));
    let both = found(&["--target", "sm_100f", "--target", "sm_110f"]);
    assert!(both.contains("sm_100f") && both.contains("sm_110f"), "{both}");
}

/// Each target is judged, whichever stands first.
#[test]
fn the_order_of_targets_does_not_matter() {
    let found = |fixture: &str, targets: [&str; 2]| {
        let [one, other] = targets;
        let arguments = ["check", fixture, "--format", "concise", "--target", one, "--target", other];
        stdout(&run(&arguments)).lines().count()
    };
    for (fixture, code, targets) in [
        ("fixtures/rules/TC608/valid_k_96.ptx", "TC608", ["sm_100a", "sm_103a"]),
        ("fixtures/rules/TC306/valid_two_sm_107a.ptx", "TC306", ["sm_100a", "sm_107a"]),
    ] {
        let [one, other] = targets;
        let counts = [found(fixture, [one, other]), found(fixture, [other, one])];
        assert!(counts[0] == counts[1] && counts[0] > 0, "{code} with {targets:?}: {counts:?}");
    }
}

#[test]
fn explain_and_rules() {
    insta::assert_snapshot!("explain", stdout(&run(&["explain", "TC301"])));
    assert_eq!(run(&["explain", "ncols-invalid"]).stdout, run(&["explain", "tc301"]).stdout);
    let unknown = run(&["explain", "ncols-invald"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("ncols-invalid"), "{}", stderr(&unknown));
    insta::assert_snapshot!("rules", stdout(&run(&["rules"])));
    let list: serde_json::Value =
        serde_json::from_slice(&run(&["rules", "--format", "json"]).stdout).unwrap();
    assert_eq!(list["rules"][0]["code"], "SIM101");
}

#[test]
fn ast_prints_the_typed_tree() {
    let text = b".version 9.0\n.target sm_100a\n.entry k(.param .u64 a) .maxntid 128 {\n.reg .b32 %r<4>;\n.reg .pred p;\n\
        @!p tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r0, %r1}, [%r2+16];\n{ L: bra L; }\nadd.s32 %r1, %r2, 1+2*3;\n}\n";
    let output = with_stdin(&["ast", "-"], text);
    assert_eq!(output.status.code(), Some(0));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    insta::assert_json_snapshot!("ast", document);
}

#[test]
fn no_progress_where_nobody_watches() {
    let directory = scratch("many");
    for index in 0..250 {
        fs::copy(root().join(GOOD), directory.join(format!("{index}.ptx"))).unwrap();
    }
    let output = run(&["check", directory.to_str().unwrap()]);
    assert_eq!(stderr(&output), "");
    assert_eq!(stdout(&output), "250 files checked, nothing found\n");
}

#[test]
fn completions_are_printed() {
    let output = run(&["completions", "bash"]);
    assert!(stdout(&output).contains("ptx-tc"));
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let mut child = ptx_tc(&["check", "fixtures/rules", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
    assert_ne!(output.status.code(), Some(101));
}

#[test]
fn the_manual_page_names_every_option() {
    let page = stdout(&run(&["man"]));
    for word in [".TH", "CHECK", "EXPLAIN", "unsafe\\-fixes"] {
        assert!(page.contains(word), "{word}");
    }
}

/// Constants, an address or two at run time, and a word of which nothing is known.
const DESCRIPTORS: &str = ".version 9.3
.target sm_100a
.visible .entry k(.param .b32 address)
{
    .reg .pred p;
    .reg .b32 r<4>, taddr, idesc;
    .reg .b64 d<4>, zmask, unknown;
    ld.param.b32 r0, [address];
    mov.b32 idesc, 0x08400490;
    shr.u32 r1, r0, 4;
    cvt.u64.u32 d0, r1;
    or.b64 d1, d0, 0x4000404000010000;
    add.s64 d2, d1, 64;
    tcgen05.mma.cta_group::1.kind::f16 [taddr], d1, d2, idesc, p;
    and.b32 r2, taddr, 0x40000000;
    or.b32 r3, r2, 0x08a00480;
    mov.b64 zmask, 0x0003028000000000;
    tcgen05.mma.ws.cta_group::1.kind::f16 [taddr], [taddr], unknown, 0x08210490, p, zmask;
    tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32 [taddr], d1, d2, r3, [taddr], [taddr], p;
    tcgen05.cp.cta_group::1.128x256b [taddr], 0x4000404000010040;
    tcgen05.mma.cta_group::1.kind::f16 [taddr], unknown, unknown, r0, p;
    ret;
}
";

#[test]
fn descriptors_are_shown_on_request() {
    let run = |arguments: &[&str]| {
        let output = with_stdin(arguments, DESCRIPTORS.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
        stdout(&output)
    };
    insta::assert_snapshot!("descriptors", run(&["check", "-", "--show-descriptors", "--select", "TC6"]));
    let document = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
    let json = document(run(&["check", "-", "--show-descriptors", "--ignore", "TC711", "--format", "json"]));
    insta::assert_json_snapshot!("descriptors_json", json["files"][0]["descriptors"]);
    // Nobody gets them unasked.
    let plain = document(run(&["check", "-", "--ignore", "TC711", "--format", "json"]));
    assert!(plain["files"][0].get("descriptors").is_none());

    let tree = document(run(&["ast", "-"]));
    let kernel = tree["items"].as_array().unwrap().last().unwrap();
    let described = kernel["body"].as_array().unwrap().iter().filter_map(|item| item.get("descriptors"));
    for (described, shown) in described.zip(json["files"][0]["descriptors"].as_array().unwrap()) {
        for field in ["instruction", "kind", "m", "n", "k", "a", "b", "d"] {
            assert_eq!(described.get(field), shown.get(field));
        }
        assert_eq!(described["words"][0]["fields"], shown["words"][0]["fields"]);
    }
}
