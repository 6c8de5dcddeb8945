//! What the fronts make of host files: every statement, as the PTX that is checked, with what is known
//! of its operands. And what they make of files that are no files.

use std::fmt::Write;
use std::fs;

use ptx_tc::{Document, Options, Source, check};

/// What a front finds in a text: for each statement where it starts, what is said of it and of its
/// operands, and its PTX.
fn statements(source: &Source) -> String {
    let document = Document::new(source);
    let (unit, host) = (&document.unit, document.host.as_ref().expect("a language with a front"));
    let mut text = String::new();
    for fragment in &unit.fragments {
        let keyword = host.map.host(fragment.keyword);
        let position = source.position(keyword.start);
        write!(text, "{}:{} {}", position.line, position.column, source.slice(keyword)).unwrap();
        let flags = [
            (fragment.is_volatile, "volatile"),
            (fragment.clobbers_memory, "memory"),
            (!fragment.is_complete, "in part"),
            (fragment.is_convergent == Some(true), "convergent"),
            (fragment.is_convergent == Some(false), "not convergent"),
        ];
        for (_, flag) in flags.into_iter().filter(|(holds, _)| *holds) {
            write!(text, ", {flag}").unwrap();
        }
        text.push('\n');
        for (index, operand) in fragment.operands.iter().enumerate() {
            let place = source.slice(host.map.host(operand.span)).replace('\n', " ");
            let output = if operand.is_output { "=" } else { "" };
            writeln!(text, "    %{index} {output}{:?} <{place}>", operand.constraint).unwrap();
        }
        for (span, error) in &fragment.placeholder_errors {
            writeln!(text, "    {error:?} <{}>", source.slice(host.map.host(*span))).unwrap();
        }
        for line in unit.source.slice(fragment.body).lines().filter(|line| !line.trim().is_empty()) {
            writeln!(text, "    | {}", line.trim()).unwrap();
        }
    }
    text
}

#[test]
fn statements_of_sound_files() {
    insta::glob!("../../fixtures/host/sound", "*.*", |path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let source = Source::new(&*name, fs::read_to_string(path).unwrap()).unwrap();
        insta::with_settings!({ omit_expression => true, input_file => path, snapshot_suffix => "", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("front_{}", name.replace('.', "_")), statements(&source));
        });
    });
}

/// Statements that never end are read once, not once for each that starts in them.
#[test]
fn statements_without_an_end() {
    let openings = [
        ("k.py", "inline_asm("),
        ("k.py", "inline_asm([\""),
        ("k.py", "inline_asm(f\"{"),
        ("k.py", "inline_asm(f'{x:{"),
        ("k.py", "x = inline_asm(x, x, x + x, '''"),
        ("k.py", "inline_asm(x, x, \"asm volatile('\""),
        ("k.py", "def inline_asm(\n"),
        ("k.py", "inline_asm)]}"),
        ("k.ll", "asm \""),
        ("k.ll", "asm \"\", \"\"("),
        ("k.ll", "asm \"\", \"\"()"),
        ("k.ll", "asm sideeffect \"\",\"\"({\"\""),
        ("k.mlir", "llvm.inline_asm \""),
        ("k.mlir", "\"llvm.inline_asm\"("),
        ("k.mlir", "\"llvm.inline_asm\"(){a = \"\""),
        ("k.mlir", "tt.elementwise_inline_asm \"\" {a = "),
        ("k.mlir", "nvvm.inline_ptx \"\" ro(a : b, "),
        ("k.rs", "asm!("),
        ("k.rs", "asm!(\""),
        ("k.rs", "asm!(r#\""),
        ("k.rs", "asm!(\"\", in(x) /* "),
        ("k.rs", "asm!(\"\", in(x) y, '"),
    ];
    for (name, opening) in openings {
        let steps = |size: usize| {
            let source = Source::new(name, opening.repeat(size / opening.len())).unwrap();
            check(&source, &Options::default()).steps
        };
        let (one, two) = (steps(200_000), steps(400_000));
        assert!(two <= one * 9 / 4, "{name}, {opening:?}: {one} and {two}");
    }
}

/// Calls in calls are read, and names that stand for each other end somewhere.
#[test]
fn nested_calls() {
    let deep = 10_000;
    let call = "inline_asm(t, [".repeat(deep) + &"], 'trap;', '')".repeat(deep);
    let text = format!("{call}\nx = x + y + x\ny = y + x + y\ninline_asm(t, [], x + y + '; exit;', '')\n");
    let found = statements(&Source::new("k.py", text).unwrap());
    // All but those with many others in them.
    assert_eq!(found.matches("| trap;").count(), 4, "{found}");
    // What doubles with each line is not followed to its end.
    assert!(found.matches("exit;").count() <= 1, "{found}");
}
