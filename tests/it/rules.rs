//! Every rule on its fixtures: `fixtures/rules/<CODE>/invalid*.ptx` has exactly that rule's
//! finding, `valid*.ptx` has none, and the assembler's recorded verdict agrees.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ptx_check::rules::{RULES, Scope};
use ptx_render::{Checked, Format};
use ptx_tc::diagnostic::{Ptxas, Severity};
use ptx_tc::{Options, Source, check};

use crate::common::{excerpt_options, fixtures as fixtures_of_rules, options};

fn checked(path: &Path) -> Checked {
    // Snapshots name the fixture, not where the checkout is.
    let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(path).display().to_string();
    let source = Source::from_bytes(name, fs::read(path).unwrap()).unwrap();
    let code = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let report = check(&source, &options(code));
    Checked::new(source, report)
}

/// `fixtures/ptxas/rules.tsv`: the fixture, whether the assembler accepts it, its first message.
fn verdicts() -> BTreeMap<String, bool> {
    include_str!("../../fixtures/ptxas/rules.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let mut columns = line.split('\t');
            let path = columns.next().unwrap().to_owned();
            let accepted = match columns.next().unwrap() {
                "accepts" => true,
                "rejects" => false,
                other => panic!("unknown verdict {other}"),
            };
            (path, accepted)
        })
        .collect()
}

#[test]
fn fixtures() {
    let verdicts = verdicts();
    insta::glob!("../../fixtures/rules", "*/*.*", |path| {
        let file = checked(path);
        let code = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let found: Vec<&str> = file.report.diagnostics.iter().map(|it| it.code.as_str()).collect();
        if name.starts_with("valid") {
            assert!(found.is_empty(), "{code}/{name}: {found:?}");
        } else {
            assert!(found.contains(&code), "{code}/{name}: found {found:?}");
            assert!(found.iter().all(|it| *it == code), "{code}/{name}: found {found:?}");
            let mut text = Vec::new();
            ptx_render::render(std::slice::from_ref(&file), Format::Human, false, &mut text).unwrap();
            insta::with_settings!({ omit_expression => true, input_file => path, snapshot_suffix => "", prepend_module_to_snapshot => false }, {
                insta::assert_snapshot!(format!("{code}_{name}"), String::from_utf8(text).unwrap());
            });
        }
        let refused = file
            .report
            .diagnostics
            .iter()
            .any(|it| it.severity == Severity::Error && it.ptxas == Ptxas::Rejects);
        // What no compiler here reads has no verdict.
        if path.extension().is_none_or(|it| it != "ptx" && it != "cu") {
            assert!(!refused, "{}: who says so?", file.source.name());
            return;
        }
        let accepted = verdicts.get(file.source.name()).unwrap_or_else(|| {
            panic!("{} has no verdict: run `cargo xtask oracle --record`", file.source.name())
        });
        assert_eq!(refused, !accepted, "{}: ptxas disagrees", file.source.name());
    });
}

/// Whoever copies a valid fixture into a file of their own finds nothing in it: it is a sound
/// kernel, or says that it is an excerpt and what it leaves out.
#[test]
fn valid_fixtures_are_sound() {
    for (code, path) in fixtures_of_rules() {
        if !path.file_name().unwrap().to_str().unwrap().starts_with("valid") {
            continue;
        }
        let source = Source::from_bytes(path.display().to_string(), fs::read(&path).unwrap()).unwrap();
        let is_excerpt = source.text().starts_with("// An excerpt: ");
        // The fixtures of suppression itself have some of it.
        let is_marked = code != "TC903" && source.text().contains("allow-file");
        assert_eq!(is_excerpt, is_marked, "{}", path.display());
        let report = check(&source, &Options::default());
        let wrong: Vec<&str> = report
            .diagnostics
            .iter()
            .filter(|it| it.severity >= Severity::Warning)
            .map(|it| it.code.as_str())
            .collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", path.display());
    }
}

#[test]
fn every_rule_has_fixtures() {
    // What shows in runs has fixtures of its own.
    for rule in RULES.iter().filter(|rule| rule.scope != Scope::Run) {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules").join(rule.code.as_str());
        let names: Vec<String> = fs::read_dir(&directory)
            .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        for kind in ["valid", "invalid"] {
            assert!(names.iter().any(|name| name.starts_with(kind)), "{} has no {kind} fixture", rule.code);
        }
    }
}

/// The documentation of a rule shows what it finds: the example fires it, the repair does not.
#[test]
fn documentation_examples() {
    for rule in RULES.iter().filter(|rule| rule.scope != Scope::Run) {
        let (example, repair) = rule.docs.split_once("## Use instead").unwrap();
        let found = |docs: &str| -> Vec<&'static str> {
            let (name, text) = example_file(docs);
            let source = Source::new(name, text).unwrap();
            check(&source, &excerpt_options(rule.code.as_str()))
                .diagnostics
                .iter()
                .map(|it| it.code.as_str())
                .collect()
        };
        let bad = found(example);
        assert!(
            bad.contains(&rule.code.as_str()) && bad.iter().all(|it| *it == rule.code.as_str()),
            "{} finds {bad:?}",
            rule.code
        );
        assert_eq!(found(repair), Vec::<&str>::new(), "{}: the repair", rule.code);
    }
}

/// The first code block as a file: its name and text.
fn example_file(docs: &str) -> (&'static str, String) {
    let (_, rest) = docs.split_once("```").expect("a code block");
    let (language, rest) = rest.split_once('\n').expect("the block's first line");
    let (code, _) = rest.split_once("```").expect("its end");
    let code = code.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n");
    match language {
        "ptx" => ("example.ptx", as_module(&code)),
        "cuda" => ("example.cu", code),
        "llvm" => ("example.ll", code),
        other => panic!("{other} is no language of examples"),
    }
}

/// Examples are modules, or statements of a kernel for `sm_100a` with the usual registers; a module
/// with `ld.red` needs a target that has it.
fn as_module(example: &str) -> String {
    if example.contains(".target") {
        return example.to_owned();
    }
    let target = if example.contains("ld.red") { "sm_103a" } else { "sm_100a" };
    format!(
        ".version 9.4\n.target {target}\n.visible .entry k()\n{{\n    .reg .pred p;\n    \
         .reg .b32 r<8>, taddr, taddr2, idesc, sa, sb;\n    .reg .b64 adesc, bdesc;\n    \
         .reg .pred elected;\n    .shared .b32 slot, slot2;\n    .shared .b64 mbar;\n{example}\n}}\n"
    )
}
