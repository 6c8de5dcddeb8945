//! Where a function is too large to be looked at completely, a finding says so, and what of it was
//! too large.

use ptx_tc::diagnostic::{Code, Diagnostic};
use ptx_tc::{Options, Source, check};

const HEADER: &str = ".version 9.0\n.target sm_100a\n.address_size 64\n";

fn limits(text: &str, options: &Options) -> Vec<Diagnostic> {
    let report = check(&Source::new("k.ptx", format!("{HEADER}{text}")).unwrap(), options);
    report.diagnostics.into_iter().filter(|it| it.code == Code::AnalysisLimit).collect()
}

/// The message and the note of the only such finding.
fn only(text: &str) -> (String, String) {
    let found = limits(text, &Options::default());
    let [finding] = &found[..] else { panic!("{found:?}") };
    (finding.message.clone(), finding.note.clone().unwrap())
}

/// A kernel that calls a function with so many different allocations.
fn calls(count: usize) -> String {
    let allocation = |number: usize| {
        format!("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], {};\n", number + 1)
    };
    let allocations: String = (0..count).map(allocation).collect();
    format!(
        ".shared .b32 slot;\n.func f() {{\n{allocations}ret;\n}}\n.visible .entry k() {{\ncall f, ();\nret;\n}}\n"
    )
}

#[test]
fn functions_that_do_too_much_are_named_where_they_are_called() {
    let found = limits(&calls(600), &Options::default());
    let messages: Vec<&str> = found.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(messages, ["function `f` is too large for the analysis of its calls"]);
    assert_eq!(found[0].note.as_deref(), Some("what it calls does more than is recorded for one function"));
    assert_eq!(limits(&calls(400), &Options::default()), []);
}

/// A descriptor and an offset that is made in so many steps, no two alike.
fn offset(steps: usize) -> String {
    let step = |number: usize| format!("add.s64 %d{}, %d{number}, %d{number};\n", number + 1);
    let all: String = (0..steps).map(step).collect();
    format!(
        ".visible .entry k(.param .b32 n) {{\n.reg .pred p;\n.reg .b32 taddr, x;\n.reg .b64 a, b, %d<{}>;\n\
         ld.param.b32 x, [n];\ncvt.s64.s32 %d0, x;\n{all}mov.b64 a, 0x4000404000010000;\n\
         add.s64 b, a, %d{steps};\n\
         tcgen05.mma.cta_group::1.kind::f16 [taddr], b, a, 0x08200490, p;\nret;\n}}\n",
        steps + 1
    )
}

#[test]
fn values_that_are_made_in_too_many_steps_are_named() {
    assert_eq!(
        only(&offset(100)),
        (
            "function `k` is too large for the analysis of its registers".to_owned(),
            "an address in it is computed in too many steps to be followed".to_owned()
        )
    );
    assert_eq!(limits(&offset(40), &Options::default()), []);
}

#[test]
fn a_budget_that_is_spent_is_named() {
    let text = ".visible .entry k() {\n.reg .b32 t;\n\
                tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 32;\nret;\n}\n";
    assert_eq!(limits(text, &Options::default()), []);
    let found = limits(text, &Options { analysis_budget: Some(1), ..Options::default() });
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!(finding.message, "function `k` is too large for the analysis of its order");
    assert_eq!(finding.note.as_deref(), Some("the limit is 1 steps for all questions about one function"));
}
