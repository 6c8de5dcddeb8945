//! The assembler's recorded verdicts on thousands of statements made from the instruction table.

use ptx_tc::diagnostic::{Ptxas, Severity};
use ptx_tc::{Options, Source, check};

const MODULE: &str = include_str!("../../fixtures/ptxas/module.ptx");
const VERDICTS: &str = include_str!("../../fixtures/ptxas/statements.tsv");

#[test]
fn verdicts_agree() {
    let mut accepted = 0;
    let mut refused = 0;
    for line in VERDICTS.lines().filter(|line| !line.starts_with('#')) {
        let [target, version, verdict, agreement, statement] = line.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("malformed line: {line}");
        };
        let module = MODULE
            .replace("{version}", version)
            .replace("{target}", target)
            .replace("{number}", "0")
            .replace("{statement}", statement);
        let source = Source::new("statement.ptx", module).unwrap();
        let findings = check(&source, &Options::default()).diagnostics;
        let refuses = findings.iter().any(|it| it.severity == Severity::Error && it.ptxas == Ptxas::Rejects);
        let assembler_refuses = verdict == "rejects";
        // A recorded difference must stay one, or be recorded anew.
        assert_eq!(refuses == assembler_refuses, agreement == "agrees", "{line}\n{findings:#?}");
        accepted += usize::from(!assembler_refuses);
        refused += usize::from(assembler_refuses);
    }
    assert!(accepted > 500 && refused > 1_000, "{accepted} accepted, {refused} refused");
}
