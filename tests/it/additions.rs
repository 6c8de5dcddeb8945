//! `ptx-tc check --add-allow`: comments at all that is found.

use std::fs;

use ptx_check::suppression::addition::is_excusable;
use ptx_tc::Options;
use ptx_tc::fix::allow::{Allowed, allow};

use crate::common::{fixtures, options, ptx_tc, run, scratch, stderr, stdout, with_stdin};

fn after(text: &str) -> Allowed {
    allow("k.ptx", text.into(), &Options::default()).unwrap()
}

fn added(text: &str) -> String {
    let Allowed { source, report, .. } = after(text);
    assert!(report.diagnostics.is_empty(), "{}\n{:#?}", source.text(), report.diagnostics);
    let again = after(source.text());
    assert_eq!((again.source.text(), again.silenced), (source.text(), 0));
    source.text().to_owned()
}

const HEADER: &str = ".version 9.0\n.target sm_100a\n.entry k() {\n.reg .b32 t;\n";

/// The body of a kernel, and what becomes of it.
#[track_caller]
fn becomes(before: &str, expected: &str) {
    let text = added(&format!("{HEADER}{before}\n}}\n"));
    assert_eq!(text.strip_prefix(HEADER).unwrap().strip_suffix("\n}\n").unwrap(), expected);
}

#[test]
fn at_the_end_of_the_line() {
    becomes("tcgen05.wait::ld;", "tcgen05.wait::ld; // ptx-tc: allow(missing-qualifier)");
    becomes("tcgen05.wait::ld;  \t", "tcgen05.wait::ld; // ptx-tc: allow(missing-qualifier)");
    becomes(
        "\ttcgen05.wait::ld;\r\n\tret;",
        "\ttcgen05.wait::ld; // ptx-tc: allow(missing-qualifier)\r\n\tret;",
    );
    becomes(
        "tcgen05.wait::ld; tcgen05.dealloc.sync.aligned.cta_group::1.b32 t, 48;",
        "tcgen05.wait::ld; tcgen05.dealloc.sync.aligned.cta_group::1.b32 t, 48; \
         // ptx-tc: allow(missing-qualifier, qualifier-order, ncols-invalid)",
    );
}

#[test]
fn within_a_statement_of_several_lines() {
    becomes(
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32\n  t,\n  48\n;",
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32\n  t,\n  48 // ptx-tc: allow(ncols-invalid)\n;",
    );
}

#[test]
fn above_a_line_that_has_a_comment() {
    becomes(
        "  tcgen05.wait::ld; // why",
        "  // ptx-tc: allow(missing-qualifier)\n  tcgen05.wait::ld; // why",
    );
    becomes(
        "  tcgen05.wait::ld; /* why\n */ ret;\r\n",
        "  // ptx-tc: allow(missing-qualifier)\n  tcgen05.wait::ld; /* why\n */ ret;\r\n",
    );
    becomes(
        "\ttcgen05.wait::ld; // why\r\n",
        "\t// ptx-tc: allow(missing-qualifier)\r\n\ttcgen05.wait::ld; // why\r\n",
    );
    // A line that begins and ends in comments: the first line of the statement.
    becomes(
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 /*\n */ t, 48; /*\n */",
        "// ptx-tc: allow(ncols-invalid)\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 /*\n */ t, 48; /*\n */",
    );
}

#[test]
fn between_two_comments() {
    becomes(
        "/* one\n */ tcgen05.wait::ld; // two",
        "/* one\n */ /* ptx-tc: allow(missing-qualifier) */ tcgen05.wait::ld; // two",
    );
}

#[test]
fn into_a_comment_that_is_there() {
    let silent = "tcgen05.dealloc.sync.aligned.cta_group::1.b32 t, 48;";
    becomes(
        &format!("{silent} // ptx-tc: allow(TC301): it is broken"),
        &format!("{silent} // ptx-tc: allow(TC301, qualifier-order): it is broken"),
    );
    becomes(
        &format!("// ptx-tc: allow(TC301)\n{silent}"),
        &format!("// ptx-tc: allow(TC301, qualifier-order)\n{silent}"),
    );
    becomes(
        &format!("/* ptx-tc: allow(TC301 ) */ {silent} // why"),
        &format!("/* ptx-tc: allow(TC301, qualifier-order ) */ {silent} // why"),
    );
    becomes(
        &format!("// ptx-tc: allow-file(TC301)\n{silent}"),
        &format!("// ptx-tc: allow-file(TC301)\n{silent} // ptx-tc: allow(qualifier-order)"),
    );
    // The first line of a statement speaks for all.
    becomes(
        "tcgen05.dealloc // ptx-tc: allow(TC901)\n  .sync.aligned.cta_group::1.b32 t, 48;",
        "tcgen05.dealloc // ptx-tc: allow(TC901, ncols-invalid)\n  .sync.aligned.cta_group::1.b32 t, 48;",
    );
}

#[test]
fn headers_and_empty_files() {
    assert_eq!(
        added(".version 9.0\n.target sm_999\n"),
        ".version 9.0\n.target sm_999 // ptx-tc: allow(unknown-target)\n"
    );
    for text in ["", "\n", "// nothing\n", "\n\n.entry k() { ret; }\n"] {
        let Allowed { source, .. } = after(text);
        let again = after(source.text());
        assert_eq!(again.source.text(), source.text(), "{text:?}");
    }
}

#[test]
fn what_does_not_parse_stays_a_finding() {
    let text = format!("{HEADER}mov.b32 ,;\ntcgen05.wait::ld.sync;\n}}\n");
    let Allowed { source, report, silenced, .. } = after(&text);
    assert_eq!(silenced, 1);
    assert!(source.text().contains("mov.b32 ,;\ntcgen05.wait::ld.sync; // ptx-tc"), "{}", source.text());
    assert_eq!(report.diagnostics.len(), 1);
    assert_eq!(report.diagnostics[0].code.name(), "syntax-error");
}

#[test]
fn other_bytes_stay() {
    let text = [HEADER.as_bytes(), b"/* \xff */ tcgen05.wait::ld;\n}\n"].concat();
    let Allowed { bytes, .. } = allow("k.ptx", text, &Options::default()).unwrap();
    assert!(bytes.ends_with(b"/* \xff */ tcgen05.wait::ld; // ptx-tc: allow(missing-qualifier)\n}\n"));
}

/// Whatever is found in a fixture is silent afterwards, and nothing else changes.
#[test]
fn every_fixture() {
    let (mut files, mut comments) = (0, 0);
    for (code, path) in fixtures() {
        let bytes = fs::read(&path).unwrap();
        let options = options(&code);
        let place = path.display();
        let once = allow("k.ptx", bytes.clone(), &options).unwrap();
        let left: Vec<_> = once.report.diagnostics.iter().filter(|it| is_excusable(it.code)).collect();
        assert!(left.is_empty(), "{place}: {left:#?}\n{}", once.source.text());
        // Where nothing was added the second time is the first.
        if once.bytes == bytes {
            continue;
        }
        let twice = allow("k.ptx", once.bytes.clone(), &options).unwrap();
        assert_eq!(twice.bytes, once.bytes, "{place}");
        files += 1;
        comments += once.silenced;
    }
    assert!(files > 200 && comments > 250, "{comments} comments in {files} files");
}

/// Comments and what may stand before, behind and among them.
const PIECES: &[&str] = &[
    "// ptx-tc: allow(TC104)\n",
    "// ptx-tc: allow(nothing)\n",
    "// ptx-tc: allow\n",
    "/* ptx-tc: allow(TC301) */",
    "// a remark\n",
    "/* two\nlines */",
    "/* one */",
    "\n",
    "\r\n",
    " ",
    "tcgen05.wait::ld;",
    "tcgen05.dealloc.cta_group::1.sync\n.aligned.b32\nt,\n48;",
    "tcgen05.dealloc.sync.aligned /* in\nit */ .cta_group::1.b32 t, 48;",
    "mov.b32 ,;",
    "# 5 \"a.cu\"\n",
];

proptest::proptest! {
    /// Wherever comments stand already: all is silent afterwards, a second time changes nothing, and
    /// the tokens are what they were.
    #[test]
    fn among_other_comments(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..12),
    ) {
        let text = format!("{HEADER}{}\n}}\n", pieces.concat());
        let once = after(&text);
        let twice = after(once.source.text());
        proptest::prop_assert_eq!(twice.source.text(), once.source.text());
        let left = once.report.diagnostics.iter().filter(|it| is_excusable(it.code)).count();
        let places = text.lines().count();
        proptest::prop_assert!(left == 0, "{left} findings in {places} lines:\n{}", once.source.text());
        let tokens = |text: &str| {
            ptx_tc::syntax::lexer::lex(text).map(|(_, range)| text[range].to_owned()).collect::<Vec<_>>()
        };
        proptest::prop_assert_eq!(tokens(once.source.text()), tokens(&text));
    }
}

#[test]
fn through_the_command_line() {
    let directory = scratch("add_allow");
    let path = directory.join("k.ptx");
    let text = format!("{HEADER}{}mov.b32 ,;\n}}\n", "tcgen05.wait::ld.sync;\n".repeat(150));
    fs::write(&path, &text).unwrap();
    let check = |arguments: &[&str]| {
        ptx_tc(&[&["check", "k.ptx", "--format", "concise"], arguments].concat())
            .current_dir(&directory)
            .output()
            .unwrap()
    };
    let diff = check(&["--add-allow", "--diff"]);
    assert_eq!(
        stdout(&diff).matches("\n+tcgen05.wait::ld.sync; // ptx-tc: allow(missing-qualifier)").count(),
        150
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert!(stderr(&diff).starts_with("would silence 150 findings in 1 file\n"), "{}", stderr(&diff));

    let output = check(&["--add-allow"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output).lines().count(), 1, "{}", stdout(&output));
    assert_eq!(
        stderr(&output),
        "silenced 150 findings in 1 file\nleft 1 syntax error as found: what does not parse has to be repaired\n"
    );
    assert_eq!(stdout(&check(&[])).lines().count(), 1);
    let written = fs::read(&path).unwrap();
    assert_eq!(stderr(&check(&["--add-allow"])).lines().count(), 1);
    assert_eq!(fs::read(&path).unwrap(), written);

    let output =
        with_stdin(&["check", "-", "--add-allow"], format!("{HEADER}tcgen05.wait::ld;\n}}\n").as_bytes());
    assert!(stdout(&output).ends_with("tcgen05.wait::ld; // ptx-tc: allow(missing-qualifier)\n}\n"));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(run(&["check", "-", "--add-allow", "--fix"]).status.code(), Some(2));
}

/// Rules that were asked for, and no others.
#[test]
fn only_what_runs_is_silenced() {
    let text = format!("{HEADER}tcgen05.dealloc.sync.aligned.cta_group::1.b32 t, 48;\n}}\n");
    let output = with_stdin(&["check", "-", "--add-allow", "--select", "TC3"], text.as_bytes());
    assert!(stdout(&output).contains("48; // ptx-tc: allow(ncols-invalid)\n"), "{}", stdout(&output));
}

/// In a host file: a comment above the statement, or within a line that is continued.
#[test]
fn in_cpp() {
    let text = "#include <x>\n\
        #define WAIT asm volatile(\"tcgen05.wait::ld;\" ::: \"memory\")\n\
        #define BOTH(t) \\\n  do { \\\n    \
            asm volatile(\"tcgen05.wait::st;\" ::: \"memory\"); \\\n  } while (0)\n\
        __device__ void f() {\n  \
            asm volatile(\"tcgen05.wait::ld;\\n\"\n    \"tcgen05.wait::st;\" ::: \"memory\");\n  \
            if (x) asm volatile(\"tcgen05.wait::ld;\" ::: \"memory\");  // why\n  \
            f(\"\"); asm volatile(\"tcgen05.wait::ld;\" ::: \"memory\");\n}\n";
    let check = |text: &str| allow("k.cu", text.into(), &Options::default()).unwrap();
    let once = check(text);
    insta::assert_snapshot!("cpp", once.source.text());
    assert!(once.silenced > 0 && once.report.diagnostics.is_empty(), "{:#?}", once.report.diagnostics);
    let twice = check(once.source.text());
    assert_eq!((twice.source.text(), twice.silenced), (once.source.text(), 0));
}

/// The broken fixtures of host files.
#[test]
fn every_host_fixture() {
    let mut silenced = 0;
    for entry in fs::read_dir(crate::common::root().join("fixtures/host/broken")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let once = allow(&name, fs::read(&path).unwrap(), &Options::default()).unwrap();
        let left: Vec<_> = once.report.diagnostics.iter().filter(|it| is_excusable(it.code)).collect();
        // In a program of C++ that is a string of Python, no comment of Python's can stand.
        let is_in_a_string = |offset: u32| {
            let text = &once.source.text()[..offset as usize];
            path.extension().is_some_and(|it| it == "py")
                && text.rsplit('\n').next().unwrap().contains("asm volatile")
        };
        let is_left = left.iter().all(|it| is_in_a_string(it.primary.span.start));
        assert!(is_left, "{name}: {left:#?}\n{}", once.source.text());
        let twice = allow(&name, once.bytes.clone(), &Options::default()).unwrap();
        assert_eq!(twice.source.text(), once.source.text(), "{name}");
        silenced += once.silenced;
    }
    assert!(silenced > 5, "{silenced}");
}
