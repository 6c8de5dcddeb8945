//! Twice the text, twice the work and twice the output: counted in steps, labels and bytes, never in
//! time.

use std::fmt::Write as _;

use ptx_tc::diagnostic::{Code, Diagnostic};
use ptx_tc::{Options, Report, Source, check};

const HEADER: &str = ".version 9.4\n.target sm_100a\n.visible .entry k() {\n.reg .pred p, p<1000>;\n\
                      .reg .b32 taddr, r<4>;\n.shared .b32 slot;\n";

fn report(body: &str) -> Report {
    let options = Options { max_findings: Some(0), ..Options::default() };
    check(&Source::new("k.ptx", format!("{HEADER}{body}ret;\n}}\n")).unwrap(), &options)
}

fn findings(report: &Report, code: Code) -> Vec<&Diagnostic> {
    report.diagnostics.iter().filter(|it| it.code == code).collect()
}

/// That twice as much costs at most twice as many steps, and a quarter for what is sorted.
fn assert_linear(what: &str, body: impl Fn(usize) -> String, count: usize) {
    let (once, twice) = (report(&body(count)).steps, report(&body(2 * count)).steps);
    assert!(twice * 4 <= once * 9, "{what}: {once} steps, and {twice} for twice as much");
}

fn alloc(size: usize) -> String {
    format!("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], {size};\n")
}

#[test]
fn allocations_in_a_loop_are_asked_for_once() {
    let body = |count: usize| format!("L:\n{}@p bra L;\n", alloc(32).repeat(count));
    assert_linear("allocations in a loop", body, 1000);
    let report = report(&body(300));
    let [finding] = findings(&report, Code::OverAllocation)[..] else { panic!("{report:?}") };
    assert_eq!(finding.message, "9600 columns can be allocated at once; there are 512");
    assert_eq!(finding.labels.len(), 9);
    assert_eq!(finding.labels[8].message, "9312 columns are allocated by 291 more, up to here");
}

/// However many allocations follow each other, none is asked about one far behind it.
#[test]
fn allocations_in_a_row_are_followed_without_recursion() {
    let body = |count: usize| (alloc(32) + "@p ").repeat(count) + "bra L;\nL:\n";
    assert_linear("allocations in a row", body, 1000);
    let report = report(&body(20_000));
    let [finding] = findings(&report, Code::OverAllocation)[..] else { panic!() };
    assert_eq!(finding.message, "544 columns can be allocated at once; there are 512");
    assert!(findings(&report, Code::AnalysisLimit).is_empty());
}

/// Targets that the user names are checked one by one; of those that the module names, one will do.
#[test]
fn the_smallest_tensor_memory_counts() {
    let two = alloc(288).replace("alloc.", "alloc.exclusive.").repeat(2);
    let text = |targets: &str| format!("{HEADER}{two}ret;\n}}\n").replace("sm_100a", targets);
    let messages = |text: String, targets: &[&str]| -> Vec<String> {
        let targets = targets.iter().map(|target| target.parse().unwrap()).collect();
        let report = check(&Source::new("k.ptx", text).unwrap(), &Options { targets, ..Options::default() });
        findings(&report, Code::OverAllocation).into_iter().map(|it| it.message.clone()).collect()
    };
    let found = ["576 columns can be allocated at once; there are 512"];
    assert_eq!(messages(text("sm_100a"), &[]), found);
    assert_eq!(messages(text("sm_107a"), &[]), [""; 0]);
    assert_eq!(messages(text("sm_107a, sm_100a"), &[]), [""; 0]);
    assert_eq!(messages(text("sm_107a"), &["sm_100a", "sm_107a"]), found);
    assert_eq!(messages(text("sm_107a"), &["sm_107a", "sm_100a"]), found);
}

#[test]
fn sizes_are_shown_where_they_are_allocated_first() {
    let dealloc = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 512;\n";
    let sizes = alloc(32) + &alloc(64) + &alloc(128) + &alloc(32) + &alloc(256);
    let report = report(&(sizes.repeat(100) + &dealloc.repeat(200)));
    let found = findings(&report, Code::DeallocSizeMismatch);
    assert_eq!(found.len(), 200);
    for finding in found {
        let labels: Vec<&str> = finding.labels.iter().map(|label| label.message.as_str()).collect();
        assert_eq!(finding.message, "512 columns are deallocated, but none of 500 allocations has 512");
        assert_eq!(labels[0], "32 columns are allocated here, and in 199 more places");
        assert_eq!(labels.len(), 4);
    }
}

/// The condition of the `dealloc`, which is deep in a nest, is found out once for all uses behind it.
#[test]
fn conditions_are_found_out_once() {
    let body = |count: usize| {
        let mut text = String::from("ld.shared.b32 taddr, [slot];\n");
        (0..count).for_each(|level| writeln!(text, "@p{level} bra E{level};").unwrap());
        text += "tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 32;\n";
        (0..count).rev().for_each(|level| writeln!(text, "E{level}:\nmov.b32 r1, r2;").unwrap());
        for place in 0..count {
            let load = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr]; tcgen05.wait::ld.sync.aligned;";
            writeln!(text, "@!p{} bra M{place}; {load}\nM{place}:", 999 - place).unwrap();
        }
        text
    };
    assert_linear("uses behind a dealloc in a nest", body, 200);
}

/// A fix is as long as what it repairs, however long its line and its file are.
#[test]
fn fixes_do_not_grow_with_what_stands_around_them() {
    let load = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {_}, [taddr]; tcgen05.wait::ld.sync.aligned; ";
    let indent = " ".repeat(1000);
    let lines = (indent.clone() + load + "\n").repeat(50);
    let line = "mov.b32 r1, r2; ".to_owned() + &load.repeat(50);
    for (body, separator) in [(line, " "), (lines, " "), ("\t".to_owned() + load, "\n\t")] {
        let report = report(&body);
        for (number, finding) in findings(&report, Code::VectorElement).into_iter().enumerate() {
            let fix = finding.fix.as_ref().unwrap();
            assert_eq!(fix.edits[0].text, format!(".reg .b32 element{number};{separator}"));
            assert_eq!(fix.edits[1].text, format!("element{number}"));
        }
        assert!(!findings(&report, Code::VectorElement).is_empty());
    }
}

/// New registers have names that their function does not have.
#[test]
fn names_of_new_registers_are_free() {
    let load = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {_}, [taddr];\ntcgen05.wait::ld.sync.aligned;\n";
    let names = |text: String| -> Vec<String> {
        let report = report(&text);
        let fixes = findings(&report, Code::VectorElement).into_iter().filter_map(|it| it.fix.as_ref());
        fixes.map(|fix| fix.edits[1].text.clone()).collect()
    };
    assert_eq!(names(format!("{load}.reg .b32 element1, element;\n{load}")), ["element0", "element2"]);
    assert_eq!(names(format!(".reg .b32 element<7>, element8;\n{load}{load}")), ["element7", "element9"]);
    let other = format!("ret;\n}}\n.entry l() {{\n.reg .b32 taddr;\n{load}");
    assert_eq!(names(format!("{load}{load}{other}")), ["element0", "element1", "element0"]);
    assert_eq!(names(format!(".reg .b32 element0;\n{other}")), ["element0"]);
}

/// What is removed with an operand is the comma before it.
#[test]
fn an_operand_is_removed_from_its_own_instruction() {
    let load = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr]  , 16;\ntcgen05.wait::ld.sync.aligned;\n";
    let text = format!("{HEADER}{}ret;\n}}\n", load.repeat(3));
    let source = Source::new("k.ptx", text).unwrap();
    let report = check(&source, &Options::default());
    let found = findings(&report, Code::HalfSplitOffset);
    assert_eq!(found.len(), 3);
    for finding in found {
        let edit = &finding.fix.as_ref().unwrap().edits[0];
        assert_eq!((source.slice(edit.span), edit.text.as_str()), ("  , 16", ""));
    }
}
