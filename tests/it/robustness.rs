//! Any text in, no panic, no hang; a broken statement costs one finding.

use std::fmt::Write as _;

use proptest::prelude::*;
use ptx_tc::source::SourceError;
use ptx_tc::{Options, Report, Source, check};

/// Everything that a check can be asked for.
fn options() -> Options {
    Options { describe: true, ..Options::default() }
}

fn codes(text: &str) -> Vec<&'static str> {
    let source = Source::new("t.ptx", text).unwrap();
    check(&source, &options()).diagnostics.iter().map(|it| it.code.as_str()).collect()
}

const HEADER: &str = ".version 9.0\n.target sm_100a\n";

/// Pieces that make statements when put together, and more often do not.
const PIECES: &[&str] = &[
    "tcgen05.mma.cta_group::1.kind::f16",
    "tcgen05.ld.sync.aligned.32x32b.x1.b32",
    "tcgen05",
    "tcgen05.",
    "mov.b32",
    "call",
    "ret",
    "bra",
    "foo",
    "%r1",
    "%r",
    "p",
    "_",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ",",
    ";",
    ";",
    ":",
    "@",
    "!",
    "~",
    "-",
    "+",
    "|",
    "%",
    "<",
    ">",
    "<<",
    "=",
    "==",
    "?",
    "&&",
    "1",
    "0x10",
    "0f3F800000",
    "1.5",
    "08",
    "0b2",
    ".reg",
    ".b32",
    ".pred",
    ".shared",
    ".shared::cta",
    ".entry",
    ".func",
    ".visible",
    ".extern",
    ".version",
    ".target",
    ".loc",
    ".file",
    ".section",
    ".pragma",
    ".branchtargets",
    ".callprototype",
    ".align",
    ".param",
    "\"text\"",
    "\"",
    "/*",
    "*/",
    "// x\n",
    "\n",
    "#",
    "# 1 \"f\"\n",
    "\u{1a}",
    "é",
    "$L",
    "WARP_SZ",
    "8.6",
    "sm_100a",
    "function_name",
    ".attribute",
    ".kind::f16",
    "::",
    "\r\n",
    "\0x",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_tokens_never_panic(picks in prop::collection::vec(0..PIECES.len(), 0..80), spaces: bool, header: bool) {
        let mut text = String::from(if header { HEADER } else { "" });
        if header {
            text.push_str(".entry k() { .reg .b32 %r<4>; .reg .pred p;\n");
        }
        for pick in picks {
            text.push_str(PIECES[pick]);
            if spaces {
                text.push(' ');
            }
        }
        let source = Source::new("t.ptx", text.as_str()).unwrap();
        let report = check(&source, &options());
        for diagnostic in &report.diagnostics {
            for span in std::iter::once(diagnostic.primary.span).chain(diagnostic.labels.iter().map(|it| it.span)) {
                prop_assert!(span.start <= span.end && span.end as usize <= text.len(), "{span:?} in {text:?}");
                prop_assert!(text.is_char_boundary(span.start as usize) && text.is_char_boundary(span.end as usize));
            }
            if let Some(fix) = &diagnostic.fix {
                prop_assert!(fix.edits.iter().all(|edit| edit.span.end as usize <= text.len()));
            }
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(source) = Source::from_bytes("t.ptx", bytes) {
            check(&source, &options());
        }
    }

    /// Whatever a broken statement looks like, its neighbours are still checked.
    #[test]
    fn a_broken_statement_costs_itself_alone(picks in prop::collection::vec(0..PIECES.len(), 1..12)) {
        let garbage: String = picks
            .iter()
            .map(|&pick| PIECES[pick])
            // Braces and semicolons make statements of their own; quotes and comments swallow text.
            .filter(|piece| !piece.contains(['{', '}', ';', '"', '/', '#', ':', '\n']) && !piece.starts_with(".entry") && !piece.starts_with(".func") && !piece.starts_with(".section"))
            .flat_map(|piece| [piece, " "])
            .collect();
        let text = format!("{HEADER}.entry k()\n{{\nmov.b32 = {garbage};\ntcgen05.wait::ld.sync;\n}}\n.entry l() {{ tcgen05.wait::st.sync; }}\n");
        let found = codes(&text);
        prop_assert_eq!(found.iter().filter(|code| **code == "TC104").count(), 2, "{}: {:?}", text, found);
    }
}

#[test]
fn nesting_is_bounded() {
    for (text, expected) in [
        ("{".repeat(100_000), "TC001"),
        (format!("mov.b32 a, {}1{};", "(".repeat(100_000), ")".repeat(100_000)), "TC001"),
        (format!("mov.b32 a, {}1;", "-".repeat(100_000)), "TC001"),
        (format!("mov.b32 a, {}1;", "(.s64)".repeat(100_000)), "TC001"),
        (format!("mov.b32 a, 1{};", "+1".repeat(100_000)), "TC001"),
        (format!("mov.b32 a, {}b;", "b?".repeat(100_000)), "TC001"),
        (format!("mov.b32 a, {}", "[".repeat(100_000)), "TC001"),
    ] {
        let found = codes(&format!("{HEADER}.entry k() {{ {text}"));
        assert!(found.contains(&expected), "{text:.40}: {found:?}");
        assert!(found.len() <= 4, "{text:.40}: {} findings", found.len());
    }
}

#[test]
fn one_missing_brace_is_one_finding() {
    let module =
        format!("{HEADER}.entry k() {{ {{ ret; }}\n.visible .entry l() {{ ret; }}\n.entry m() {{ ret; }}\n");
    assert_eq!(codes(&module), ["TC001"]);
    let module = format!("{HEADER}.entry k() {{ ret; }} }}\n.entry l() {{ tcgen05.wait::ld.sync; }}\n");
    assert_eq!(codes(&module), ["TC001", "TC104"]);
}

#[test]
fn a_long_function_takes_linear_time() {
    // Not a timing: a quadratic stage would not come back.
    let mut body = String::new();
    for index in 0..200_000 {
        writeln!(body, "{{ .reg .pred p; L{index}: mov.b32 %r1, %r2; @p bra L{index}; }}").unwrap();
    }
    assert_eq!(codes(&format!("{HEADER}.entry k() {{ .reg .b32 %r<4>;\n{body} }}")), Vec::<&str>::new());
}

/// The lexer does not call itself for each comment of a run of them.
#[test]
fn a_long_run_of_comments() {
    for comment in ["// a\n", "/* a */", "# 5 \"k.cu\"\n", "// ptx-tc: allow-file(TC301)\n"] {
        let text = format!("{HEADER}.entry k() {{\nfoo {}}}\n", comment.repeat(100_000));
        let found = codes(&text);
        assert!(found.contains(&"TC001"), "{comment}: {found:?}");
    }
    assert_eq!(codes(&format!("{HEADER}// a\n/* b */ # 5\n")), ["TC002"]);
    assert_eq!(codes(&format!("{HEADER}// a\n /* b */\n/* c")), ["TC002"]);
}

#[test]
fn comments_end_where_the_lexer_says() {
    let check =
        |comment: &str| codes(&format!("{HEADER}.entry k() {{ tcgen05.wait::ld{comment}.sync.aligned; }}\n"));
    for comment in ["/*/ .foo */", "/**/", "/* */ /*/*/", "// .foo\n", "// .foo\r", "// .foo\r\n"] {
        assert_eq!(check(comment), Vec::<&str>::new(), "{comment:?}");
    }
    let text = format!("{HEADER}.entry k() {{\n/*/ ptx-tc: allow(TC104) */\ntcgen05.wait::ld.sync;\n}}\n");
    assert_eq!(codes(&text), ["TC104"], "the directive does not start the comment");
}

#[test]
fn a_store_without_operands() {
    // The last statement of the file, so that no operand of another one follows.
    let text = format!(
        "{HEADER}.visible .entry k()\n{{\n.reg .b32 taddr;\n.shared .b32 slot;\n\
         tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;\nld.shared.b32 taddr, [slot];\n\
         tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 32;\nst.shared;\n}}\n"
    );
    codes(&text);
    // As it was found.
    codes(
        ".visible.entry l(.param.p t,.param.u i){.reg.pred p,p,taddr,t;.shared.b slot,g;@p \
         tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32[slot],2;ld.b32 taddr,[slot];\
         tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr,2;st.shared.6;",
    );
}

#[test]
fn binary_files_are_named() {
    let error = Source::from_bytes("a.cubin", b"\x7fELF\x02\x01\0\0".to_vec()).unwrap_err();
    assert!(matches!(error, SourceError::Binary { looks_like: Some(_), .. }), "{error:?}");
}

#[test]
fn bytes_that_are_no_utf8_matter_outside_comments_only() {
    let check_bytes = |bytes: &[u8]| {
        let source = Source::from_bytes("t.ptx", [HEADER.as_bytes(), bytes].concat()).unwrap();
        let report = check(&source, &options());
        let found: Vec<_> =
            report.diagnostics.iter().map(|it| (it.code.as_str(), it.primary.span.start)).collect();
        found
    };
    assert_eq!(check_bytes(b"// caf\xe9\n"), []);
    let at = HEADER.len() as u32;
    assert_eq!(check_bytes(b"\xe9\xff .entry k() { ret; }"), [("TC002", at), ("TC002", at + 1)]);
}

/// Loops in loops, with a load in each that nothing waits for: what is true at one place depends on
/// all others.
fn nested_loops(depth: usize) -> String {
    let mut text = String::from(
        ".version 9.0\n.target sm_100a\n.visible .entry k() {\n.reg .pred p;\n.reg .b32 taddr, r<4>;\n",
    );
    for level in 0..depth {
        text += &format!("L{level}:\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {{r0}}, [taddr+{level}];\n");
        text += "tcgen05.mma.cta_group::1.kind::f16 [taddr], 0, 0, 0x08200490, p;\n";
    }
    for level in (0..depth).rev() {
        text += &format!("tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {{r1}};\n@p bra L{level};\n");
    }
    text + "ret;\n}\n"
}

#[test]
fn functions_too_large_to_analyse_are_named() {
    let limits =
        |report: &Report| report.diagnostics.iter().filter(|it| it.code.to_string() == "TC005").count();
    let small = Source::new("small", nested_loops(20)).unwrap();
    assert_eq!(limits(&check(&small, &Options::default())), 0);
    let options = Options { analysis_budget: Some(100), ..Options::default() };
    assert_eq!(limits(&check(&small, &options)), 1);
    // The limit grows with the function, and the work does not grow faster.
    let large = Source::new("large", nested_loops(5_000)).unwrap();
    assert_eq!(limits(&check(&large, &Options::default())), 0);
}
