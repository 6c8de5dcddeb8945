//! PTX in files of other languages: findings at the characters that people wrote, and none where
//! nothing is wrong.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use ptx_check::rules::RULES;
use ptx_tc::diagnostic::selection::{Layer, RuleSettings, Selector};
use ptx_tc::diagnostic::{Applicability, Ptxas, Severity};
use ptx_tc::fix::fix;
use ptx_tc::instruction::decode::decode_all;
use ptx_tc::{Document, Options, Report, Source, check};

fn checked(path: &Path) -> (Source, Report) {
    let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(path).display().to_string();
    let source = Source::from_bytes(name, fs::read(path).unwrap()).unwrap();
    let report = check(&source, &Options::default());
    (source, report)
}

/// One line for each finding: where, what stands there, what is said of it, and what a fix would make
/// of the line.
fn listed(source: &Source, report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.diagnostics {
        let span = finding.primary.span;
        let (from, to) = (source.position(span.start), source.position(span.end));
        writeln!(
            text,
            "{}:{}-{}:{} {:?}: {} {}: {}",
            from.line,
            from.column,
            to.line,
            to.column,
            source.slice(span),
            finding.severity,
            finding.code,
            finding.message,
        )
        .unwrap();
        for label in &finding.labels {
            writeln!(text, "    {:?}: {}", source.slice(label.span), label.message).unwrap();
        }
        for edit in finding.fix.iter().flat_map(|fix| &fix.edits) {
            writeln!(text, "    {:?} -> {:?}", source.slice(edit.span), edit.text).unwrap();
        }
    }
    text
}

#[test]
fn broken_files() {
    insta::glob!("../../fixtures/host/broken", "*.*", |path| {
        let (source, report) = checked(path);
        let name = path.file_name().unwrap().to_string_lossy().replace('.', "_");
        insta::with_settings!({ omit_expression => true, input_file => path, snapshot_suffix => "", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("host_{name}"), listed(&source, &report));
        });
    });
}

#[test]
fn sound_files() {
    insta::glob!("../../fixtures/host/sound", "*.*", |path| {
        let (source, report) = checked(path);
        let found = report.diagnostics.iter().any(|it| it.severity >= Severity::Warning);
        assert!(!found, "{}", listed(&source, &report));
    });
}

/// What people are told to write is what their template has, not what became of it.
#[test]
fn help_names_operands_as_they_are_written() {
    let all = [
        ("kernels.py", "write `[$0]`"),
        ("spans.cu", "write `[%1]`"),
        // Names are for people to choose there.
        ("kernels.rs", "put brackets around it"),
    ];
    for (name, help) in all {
        let (source, report) =
            checked(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/host/broken").join(name));
        let has_help = report.diagnostics.iter().any(|it| it.help.as_deref() == Some(help));
        assert!(has_help, "{name}: {help}\n{}", listed(&source, &report));
    }
}

/// Files, and what becomes of them with every repair of every rule.
const REPAIRED: &[(&str, &str, &str)] = &[
    // A clobber is added where a statement takes it in all uses of its macro.
    (
        "x.cu",
        "#define FENCE(text) asm volatile(text :)\nvoid f() { FENCE(\"tcgen05.fence::before_thread_sync;\"); }\n",
        "#define FENCE(text) asm volatile(text : :: \"memory\")\nvoid f() { FENCE(\"tcgen05.fence::before_thread_sync;\"); }\n",
    ),
    // One of them has colons of its own.
    (
        "x.cu",
        "#define FENCE(text) asm volatile(text :)\nvoid f(int d) { FENCE(\"tcgen05.fence::before_thread_sync;\"); \
         FENCE(\"tcgen05.fence::after_thread_sync; // %0\" : : \"r\"(d)); }\n",
        "",
    ),
    // They are put together by another macro.
    (
        "x.cu",
        "#define ASM(text, ...) asm volatile(text : __VA_ARGS__)\n\
         #define LOAD(to, from) ASM(\"tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];\", \"=r\"(to) : \"r\"(from))\n\
         void f(unsigned d, unsigned r) { LOAD(r, d); }\n",
        "",
    ),
    // Another file says what they are.
    ("x.cu", "void f() { asm volatile(\"tcgen05.fence::after_thread_sync;\" OPERANDS); }\n", ""),
    // Or a branch of the preprocessor.
    (
        "x.cu",
        "void f(int d) { asm volatile(\"fence.proxy.async; // %0\"\n#ifdef D\n:: \"r\"(d)\n#endif\n); }\n",
        "",
    ),
    // Definitions of a macro stay alike.
    (
        "x.cu",
        "#define FREE(t, n) asm volatile(\"tcgen05.dealloc.cta_group::1.sync.b32 %0, \" #n \";\" :: \"r\"(t))\n\
         #define FREE(t, n) asm volatile(\"tcgen05.dealloc.cta_group::1.sync.b32 %0, \" #n \";\" :: \"r\"(t))\n\
         void f(unsigned t) { FREE(t, 64); }\n",
        "#define FREE(t, n) asm volatile(\"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, \" #n \";\" :: \"r\"(t))\n\
         #define FREE(t, n) asm volatile(\"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, \" #n \";\" :: \"r\"(t))\n\
         void f(unsigned t) { FREE(t, 64); }\n",
    ),
    // Comments among the parameters say nothing.
    (
        "x.cu",
        "#define WAIT(op /* ld, st (or both) */) asm volatile(\"tcgen05.wait::\" #op \".sync;\" ::: \"memory\")\n\
         void f() { WAIT(ld); }\n",
        "#define WAIT(op /* ld, st (or both) */) asm volatile(\"tcgen05.wait::\" #op \".sync.aligned;\" ::: \"memory\")\n\
         void f() { WAIT(ld); }\n",
    ),
    // A statement with a sign that nvcc does not take is read as what is meant.
    (
        "x.cu",
        "void f() { asm volatile(\"{ .reg .b32 %%r1; tcgen05.wait::ld.sync; }\" ::: \"memory\"); }\n",
        "void f() { asm volatile(\"{ .reg .b32 %r1; tcgen05.wait::ld.sync.aligned; }\" ::: \"memory\"); }\n",
    ),
    // Where a comment parts two words, a blank does.
    (
        "x.cu",
        "void f() { asm/* ptx-tc: allow(TC301) */volatile(\"fence.proxy.async;\" ::: \"memory\"); }\n",
        "void f() { asm volatile(\"fence.proxy.async;\" ::: \"memory\"); }\n",
    ),
    // Comments may stand between the parts of an operation.
    (
        "x.mlir",
        "llvm.inline_asm has_side_effects // ptx-tc: allow(TC301)\n  \"tcgen05.wait::ld.sync;\" // Nothing.\n  , \"~{memory}\" : () -> ()\n",
        "llvm.inline_asm has_side_effects\n  \"tcgen05.wait::ld.sync.aligned;\" // Nothing.\n  , \"~{memory}\" : () -> ()\n",
    ),
    // Behind an open brace, a clobber would be none.
    (
        "x.ll",
        "define void @f() {\n  call void asm sideeffect \"fence.proxy.async;\", \"r{\"(i32 0) #0\n  ret void\n}\n",
        "",
    ),
];

#[test]
fn repairs_change_what_they_are_about() {
    let severity = RULES.iter().map(|rule| (Selector::Rule(rule.code), Severity::Warning)).collect();
    let rules = RuleSettings::default().with(&Layer { severity, ..Layer::default() });
    let options = Options { rules, ..Options::default() };
    for (name, before, after) in REPAIRED {
        let fixed = fix(name, before.as_bytes().to_vec(), &options, Applicability::Unsafe).unwrap();
        let wanted = if after.is_empty() { before } else { after };
        assert_eq!(fixed.source.text(), *wanted, "{before}");
    }
}

/// What nvcc says of the functions of the files that it reads (`fixtures/ptxas/host.tsv`): those that it
/// refuses have an error of which that is said, and the others have none.
#[test]
fn nvcc_agrees() {
    let mut refused = 0;
    let mut accepted = 0;
    let verdicts = include_str!("../../fixtures/ptxas/host.tsv");
    for line in verdicts.lines().filter(|line| !line.starts_with('#')) {
        let [file, name, verdict, _] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (source, report) = checked(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
        let text = source.text();
        let start = text.find(&format!(" {name}(")).unwrap_or_else(|| panic!("{file} has no {name}"));
        let end = start + text[start..].find("\n}").unwrap();
        if text[start..end].contains("ptx-tc: allow") {
            continue;
        }
        let is_refused = report.diagnostics.iter().any(|finding| {
            let at = finding.primary.span.start as usize;
            // A macro's text is where it is defined.
            let labels = finding.labels.iter().map(|label| label.span.start as usize);
            std::iter::once(at).chain(labels).any(|at| (start..end).contains(&at))
                && finding.severity == Severity::Error
                && finding.ptxas == Ptxas::Rejects
        });
        assert_eq!(is_refused, verdict == "rejects", "{line}\n{}", listed(&source, &report));
        *(if is_refused { &mut refused } else { &mut accepted }) += 1;
    }
    assert!(refused >= 4 && accepted >= 8, "{refused} refused, {accepted} accepted");
}

/// Break any qualifier of any instruction of tcgen05 in any language: the finding is that word.
#[test]
fn a_broken_qualifier_is_found_where_it_stands() {
    let mut broken = 0;
    insta::glob!("../../fixtures/host/sound", "*.*", |path| {
        let name = path.file_name().unwrap().to_string_lossy();
        let text = fs::read_to_string(path).unwrap();
        let document = Document::new(&Source::new(name.clone(), text.clone()).unwrap());
        let host = document.host.as_ref().unwrap();
        let mut places: Vec<_> = decode_all(&document.unit)
            .iter()
            .flat_map(|it| it.qualifiers.iter().collect::<Vec<_>>())
            .map(|qualifier| (qualifier.span, host.map.host(qualifier.span)))
            .collect();
        places.sort();
        places.dedup_by_key(|(_, place)| *place);
        for (qualifier, place) in places {
            let word = document.unit.source.slice(qualifier);
            // Where it is put together from pieces, it stands nowhere as a whole.
            if host.source.slice(place) != word {
                continue;
            }
            let (head, tail) = text.split_at(place.end as usize);
            let changed = Source::new(name.clone(), [head, "q", tail].concat()).unwrap();
            let report = check(&changed, &Options::default());
            let wanted = [word, "q"].concat();
            let is_found = report.diagnostics.iter().any(|finding| {
                let span = finding.primary.span;
                finding.severity == Severity::Error
                    && span.start == place.start
                    && changed.slice(span) == wanted
            });
            assert!(is_found, "{name}: {wanted} at {}: {}", place.start, listed(&changed, &report));
            broken += 1;
        }
    });
    assert!(broken > 30, "{broken} qualifiers broken");
}

/// Whatever the assembler accepts has no finding about its operands where a formatted string or a parameter of a
/// template decides what one of its qualifiers is, or the rest of one.
#[test]
fn an_open_qualifier_says_nothing_wrong_of_operands() {
    let module = include_str!("../../fixtures/ptxas/module.ptx");
    let declared: String =
        module.lines().filter(|line| line.trim_start().starts_with(".reg")).map(str::trim).collect();
    let verdicts = include_str!("../../fixtures/ptxas/statements.tsv");
    let mut text = String::new();
    let mut opened = 0;
    for line in verdicts.lines().filter(|line| line.contains("\taccepts\tagrees\t")) {
        let statement = line.rsplit('\t').next().unwrap();
        let opcode = statement.find("tcgen05").unwrap();
        let behind = statement[opcode..].find([' ', ';']).map_or(statement.len(), |len| opcode + len);
        let dots = statement[opcode..behind].match_indices('.').map(|(at, _)| opcode + at);
        let mut dots: Vec<usize> = dots.chain([behind]).collect();
        // The word behind `tcgen05` names the operation.
        dots.remove(0);
        for pair in dots.windows(2) {
            let [dot, end] = pair else { continue };
            let colons = statement[*dot..*end].find("::").map(|at| dot + at + 2);
            for start in [Some(*dot), Some(dot + 1), colons].into_iter().flatten() {
                let (head, tail) = (&statement[..start], &statement[*end..]);
                writeln!(
                    text,
                    "llvm.inline_asm(None, [], \"{{ {declared} {head}\" + n + \"{tail} }}\", \"\", True)"
                )
                .unwrap();
                opened += 1;
            }
        }
    }
    let source = Source::new("opened.py", text).unwrap();
    let report = check(&source, &Options::default());
    for finding in &report.diagnostics {
        let is_of_operand = ["TC106", "TC107", "TC108", "TC111", "TC953"].contains(&finding.code.as_str());
        assert!(!is_of_operand, "{}: {}", finding.message, source.slice(finding.primary.span));
    }
    assert!(opened > 5_000, "{opened} qualifiers opened");
}

/// Every cut of a file, and every language's way of starting what does not end.
#[test]
fn what_does_not_end_is_no_trouble() {
    insta::glob!("../../fixtures/host", "*/*.*", |path| {
        let name = path.file_name().unwrap().to_string_lossy();
        let text = fs::read_to_string(path).unwrap();
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)).step_by(7) {
            check(&Source::new(name.clone(), &text[..end]).unwrap(), &Options::default());
            check(&Source::new(name.clone(), &text[end..]).unwrap(), &Options::default());
        }
    });
}

/// What is repeated without an end costs what its length does.
#[test]
fn endless_statements_are_read_once() {
    const SHAPES: &[(&str, &str)] = &[
        ("x.cu", "asm("),
        ("x.cu", "asm(\""),
        ("x.cu", "asm(\"mov\" x(\n"),
        ("x.cu", "asm(\n#if A\n"),
        ("x.cu", "asm(\"mov.b32 %0, %1;\" : \"=r\"(x) : \"r\"(y)"),
        ("x.cu", "asm(\"{\" ::\"r\"(f(\"%0\")));"),
        ("x.cu", "asm(\"mov.b32 %0, %1;\" :: \"n\"(N));\n"),
        ("x.cu", "#define M \"mov.b32\" M\nasm(M);\n"),
        ("x.cu", "asm(R\"("),
        ("x.cu", "asm/*"),
        ("x.cu", "'"),
        ("x.h", "#define A \"01234567890123456789\"\n#define B A A A A A A A A A A\nasm(B B B B B B B B);\n"),
        (
            "x.h",
            "#define A(text, ...) asm(text : __VA_ARGS__)\nA(\"mov.b32 %0, %1;\", \"=r\"(x) : \"r\"(y));\n",
        ),
        ("x.h", "#define A(x, ...) asm(\"mov.b32 %0, %1;\" :: x x x x)\nA(\"r\"(x), \"r\"(y), \"r\"(y));\n"),
        ("x.h", "float f() /* asm */"),
        ("x.h", "asm volatile(\"%0%0%0%0\" \"%%\" ::\"C\"(x));"),
    ];
    for (name, shape) in SHAPES {
        let steps = |size: usize| {
            let source = Source::new(*name, shape.repeat(size / shape.len())).unwrap();
            check(&source, &Options::default()).steps
        };
        let (one, two) = (steps(40_000), steps(80_000));
        assert!(two <= one * 5 / 2, "{shape:?}: {one} and {two}");
    }
}
