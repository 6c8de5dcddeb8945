//! Fixes, in the library and through the command line.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ptx_tc::diagnostic::Applicability;
use ptx_tc::{Document, Source, Unit, check, fix};

use crate::common::{fixtures, options, root, run, scratch, stderr, stdout, with_stdin};

/// Whatever a rule offers has to work: afterwards its finding is gone and the text parses.
#[test]
fn every_fix_of_every_fixture() {
    let mut applied = 0;
    for (code, path) in fixtures() {
        let bytes = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let source = Source::from_bytes(name, bytes.clone()).unwrap();
        let before = check(&source, &options(&code));
        for allowed in [Applicability::Safe, Applicability::Unsafe] {
            let offered = before
                .diagnostics
                .iter()
                .filter(|it| it.fix.as_ref().is_some_and(|fix| fix::is_applicable(fix, allowed)))
                .count();
            let fixed = fix::fix(name, bytes.clone(), &options(&code), allowed).unwrap();
            let place = format!("{} ({allowed})", path.display());
            if offered == 0 {
                assert_eq!(fixed.bytes, bytes, "{place}");
                continue;
            }
            applied += 1;
            let left: Vec<_> = fixed
                .report
                .diagnostics
                .iter()
                .filter(|it| it.fix.as_ref().is_some_and(|fix| fix::is_applicable(fix, allowed)))
                .collect();
            assert!(left.is_empty(), "{place}: {left:#?}");
            assert!(fixed.report.diagnostics.len() < before.diagnostics.len(), "{place}");
            let errors = |source: &Source| Document::new(source).unit.syntax_errors.len();
            assert!(errors(&fixed.source) <= errors(&source), "{place}");
            assert!(errors(&fixed.source) == 0 || code.starts_with("TC00"), "{place}");
        }
    }
    assert!(applied > 60, "{applied} fixtures with fixes");
}

/// Directives and pieces of them, to be put anywhere.
const COMMENTS: &[&str] = &[
    "// ptx-tc: allow(TC1)\n",
    "/* ptx-tc: allow-file(TC9, TC301) */",
    "// ptx-tc: allow(",
    "/* ptx-tc:",
    "// ptx-tc: allow(TC903, x)\r\n",
    " // ptx-tc: allow(,)é\n",
];

/// The list is read once, not for each text.
static FIXTURES: LazyLock<Vec<(String, PathBuf)>> = LazyLock::new(fixtures);

proptest::proptest! {
    /// Whatever the text is: fixing ends, breaks nothing, and finds nothing more to do.
    #[test]
    fn damaged_fixtures(
        fixture in 0..10_000_usize,
        damage in proptest::collection::vec((0..10_000_usize, 0..6_usize, proptest::prelude::any::<u8>()), 0..6),
    ) {
        let (code, path) = &FIXTURES[fixture % FIXTURES.len()];
        let mut bytes = fs::read(path).unwrap();
        for (at, kind, byte) in damage {
            let at = at % bytes.len();
            match kind {
                0 if bytes.len() > 1 => drop(bytes.remove(at)),
                1 => bytes[at] = byte.max(1),
                2 => bytes.truncate(at.max(1)),
                _ => {
                    let comment = COMMENTS[usize::from(byte) % COMMENTS.len()];
                    bytes.splice(at..at, comment.bytes());
                }
            }
        }
        let source = Source::from_bytes("k.ptx", bytes.clone()).unwrap();
        let errors = |source: &Source| Unit::new(source).syntax_errors.len();
        let fixed = fix::fix("k.ptx", bytes, &options(code), Applicability::Unsafe).unwrap();
        proptest::prop_assert!(errors(&fixed.source) <= errors(&source));
        let applied = fixed.applied;
        // The second time is the first.
        if applied == 0 {
            return Ok(());
        }
        let again = fix::fix("k.ptx", fixed.bytes.clone(), &options(code), Applicability::Unsafe).unwrap();
        proptest::prop_assert!(again.applied == 0, "{applied} and {} more", again.applied);
    }
}

/// What ends a statement goes in front of the comment behind it, where it ends something.
#[test]
fn a_statement_is_ended_in_front_of_a_comment() {
    let module = |statement: &str| {
        format!(".version 9.0\n.target sm_100a\n.entry k() {{\n.reg .b32 r;\n    {statement}\n}}\n")
    };
    for (broken, fixed) in [
        ("mov.b32 r, 1 // one;", "mov.b32 r, 1; // one;"),
        ("mov.b32 r, 1 /* one // */", "mov.b32 r, 1; /* one // */"),
        ("mov.b32 r, 1 // one\n    // two", "mov.b32 r, 1; // one\n    // two"),
        ("mov.b32 r, 1", "mov.b32 r, 1;"),
    ] {
        let options = options("TC001");
        let result = fix::fix("k.ptx", module(broken).into_bytes(), &options, Applicability::Unsafe).unwrap();
        assert_eq!(String::from_utf8(result.bytes).unwrap(), module(fixed));
        assert_eq!(result.applied, 1);
    }
}

fn copy_fixtures(name: &str) -> std::path::PathBuf {
    let directory = scratch(name);
    for (code, path) in fixtures() {
        let folder = directory.join(code);
        fs::create_dir_all(&folder).unwrap();
        fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    directory
}

#[test]
fn all_fixtures_through_the_command_line() {
    let directory = copy_fixtures("fix_all");
    let path = directory.to_str().unwrap();
    let unchanged = run(&["check", path, "--diff", "--unsafe-fixes"]);
    assert!(stdout(&unchanged).contains("+++ "));
    for (code, fixture) in fixtures() {
        let copy = directory.join(code).join(fixture.file_name().unwrap());
        assert_eq!(fs::read(&copy).unwrap(), fs::read(&fixture).unwrap(), "{}", copy.display());
    }
    let safe = run(&["check", path, "--fix", "--format", "concise"]);
    assert_eq!(safe.status.code(), Some(1));
    assert_eq!(stdout(&run(&["check", path, "--diff"])), "");
    let all = run(&["check", path, "--fix", "--unsafe-fixes", "--format", "concise"]);
    assert!(stdout(&all).lines().count() < stdout(&safe).lines().count());
    assert_eq!(stdout(&run(&["check", path, "--diff", "--unsafe-fixes"])), "");
    let json = run(&["check", path, "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(document["summary"]["fixable"], 0);
}

const BROKEN: &str = ".version 9.0\n.target sm_100a\n.entry k() {\n    tcgen05.wait::ld.sync;\n}\n";
const MENDED: &str = ".version 9.0\n.target sm_100a\n.entry k() {\n    tcgen05.wait::ld.sync.aligned;\n}\n";

#[test]
fn a_fixed_file_keeps_its_permissions_and_its_other_bytes() {
    let directory = scratch("fix_permissions");
    let path = directory.join("k.ptx");
    let mut text = b"// caf\xe9\r\n".to_vec();
    text.extend(BROKEN.bytes());
    fs::write(&path, &text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let output = run(&["check", path.to_str().unwrap(), "--fix"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("fixed 1 finding in 1 file"));
    let mut expected = b"// caf\xe9\r\n".to_vec();
    expected.extend(MENDED.bytes());
    assert_eq!(fs::read(&path).unwrap(), expected);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "a temporary file is left");
}

#[test]
fn links_stay_and_read_only_files_are_left_alone() {
    let directory = scratch("fix_links");
    let path = directory.join("k.ptx");
    let link = directory.join("link.ptx");
    fs::write(&path, BROKEN).unwrap();
    std::os::unix::fs::symlink("k.ptx", &link).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let output = run(&["check", link.to_str().unwrap(), "--fix"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("read-only"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&path).unwrap(), BROKEN);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(run(&["check", link.to_str().unwrap(), "--fix"]).status.code(), Some(0));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&path).unwrap(), MENDED);
}

#[test]
fn nothing_is_written_when_nothing_is_fixed() {
    let directory = scratch("fix_nothing");
    let path = directory.join("k.ptx");
    fs::write(&path, MENDED).unwrap();
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    assert_eq!(run(&["check", path.to_str().unwrap(), "--fix"]).status.code(), Some(0));
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);
}

#[test]
fn standard_input_is_fixed_to_standard_output() {
    let output = with_stdin(&["check", "-", "--fix"], BROKEN.as_bytes());
    assert_eq!((stdout(&output).as_str(), output.status.code()), (MENDED, Some(0)));
    // What is fine goes through as it is.
    let output = with_stdin(&["check", "-", "--fix"], MENDED.as_bytes());
    assert_eq!(stdout(&output), MENDED);
    // Unsafe fixes only when asked; what is left is told on standard error.
    let text = BROKEN.replace(".sync", ".sync.aligned").replace("sm_100a", "sm_100");
    let output = with_stdin(&["check", "-", "--fix"], text.as_bytes());
    assert_eq!((stdout(&output), output.status.code()), (text.clone(), Some(1)));
    assert!(stderr(&output).contains("TC201"));
    assert_eq!(stdout(&with_stdin(&["check", "-", "--unsafe-fixes"], text.as_bytes())), MENDED);
}

#[test]
fn a_byte_order_mark_is_removed() {
    let output = with_stdin(&["check", "-", "--fix"], format!("\u{feff}{MENDED}").as_bytes());
    assert_eq!((stdout(&output).as_str(), output.status.code()), (MENDED, Some(0)));
}

#[test]
fn a_diff_changes_nothing() {
    let directory = scratch("fix_diff");
    fs::write(directory.join("k.ptx"), BROKEN).unwrap();
    let output =
        crate::common::ptx_tc(&["check", "k.ptx", "--diff"]).current_dir(&directory).output().unwrap();
    insta::assert_snapshot!(stdout(&output), @r"
    --- k.ptx
    +++ k.ptx
    @@ -1,5 +1,5 @@
     .version 9.0
     .target sm_100a
     .entry k() {
    -    tcgen05.wait::ld.sync;
    +    tcgen05.wait::ld.sync.aligned;
     }
    ");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read_to_string(directory.join("k.ptx")).unwrap(), BROKEN);
}

#[test]
fn what_is_suppressed_or_ignored_is_not_fixed() {
    let suppressed = BROKEN.replace("sync;", "sync; // ptx-tc: allow(TC104)");
    assert_eq!(stdout(&with_stdin(&["check", "-", "--fix"], suppressed.as_bytes())), suppressed);
    assert_eq!(stdout(&with_stdin(&["check", "-", "--fix", "--ignore", "TC1"], BROKEN.as_bytes())), BROKEN);
}

#[test]
fn unused_suppressions_are_removed() {
    let path = root().join("fixtures/rules/TC903");
    let fixed = |name: &str| {
        let text = fs::read(Path::new(&path).join(name)).unwrap();
        stdout(&with_stdin(&["check", "-", "--fix"], &text))
    };
    assert!(!fixed("invalid_line.ptx").contains("ptx-tc"));
    assert!(fixed("invalid_line.ptx").contains("slot;\n\n    tcgen05.wait::ld.sync.aligned;\n    ret;"));
    assert!(fixed("invalid_trailing.ptx").contains("    tcgen05.wait::ld.sync.aligned;\n    ret;"));
    assert!(fixed("invalid_file.ptx").starts_with(".version"));
    assert!(fixed("invalid_partly.ptx").contains("// ptx-tc: allow(TC901)\n"));
}
