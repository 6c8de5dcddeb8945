//! The examples of the ISA text, and modules with everything that PTX has.

use std::fs;
use std::path::Path;

use ptx_tc::{Source, check};

use crate::common::options;

fn findings(name: &str) -> Vec<(u32, &'static str)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/syntax").join(name);
    let source = Source::from_bytes(name, fs::read(path).unwrap()).unwrap();
    // Examples are no whole kernels.
    let report = check(&source, &options("TC001"));
    report
        .diagnostics
        .iter()
        .map(|it| (source.position(it.primary.span.start).line, it.code.as_str()))
        .collect()
}

#[test]
fn isa_examples_are_right() {
    for name in ["isa_examples_cta_group_1.ptx", "isa_examples_cta_group_2.ptx", "isa_examples_ld_red.ptx"] {
        assert_eq!(findings(name), [], "{name}");
    }
}

#[test]
fn wrong_isa_examples_have_the_finding_of_their_erratum() {
    assert_eq!(
        findings("isa_examples_wrong.ptx"),
        [(17, "TC501"), (21, "TC102"), (26, "TC102"), (29, "TC102"), (29, "TC102")]
    );
}

#[test]
fn every_directive_and_statement_parses() {
    assert_eq!(findings("module.ptx"), []);
}
