//! Where the assembler ignores `setmaxnreg` or has too few registers, and where TC821 and TC824 say so.

use std::fs;

use ptx_tc::diagnostic::Code;
use ptx_tc::{Options, Source, check};

use crate::common::root;

#[test]
fn is_ignored_where_the_assembler_says_so() {
    let recorded = fs::read_to_string(root().join("fixtures/ptxas/setmaxnreg.tsv")).unwrap();
    let mut wrong = Vec::new();
    let mut seen = [0; 3];
    for line in recorded.lines().filter(|line| !line.starts_with('#')) {
        let (verdict, module) = line.split_once('\t').unwrap();
        let is_refused = verdict == "C7602";
        let is_ignored = verdict != "accepts" && !is_refused;
        seen[usize::from(is_ignored) + 2 * usize::from(is_refused)] += 1;
        // Targets without Tensor Memory are judged in the same way.
        let end = module.rfind("ret; }").unwrap();
        let text = format!("{}tcgen05.fence::after_thread_sync; ret; }}\n", &module[..end]);
        let report = check(&Source::new("k.ptx", text).unwrap(), &Options::default());
        let found: Vec<_> =
            report.diagnostics.iter().filter(|it| it.code == Code::SetmaxnregIgnored).collect();
        let names_calls = found.iter().any(|it| it.note.as_ref().is_some_and(|note| note.contains("C7506")));
        let is_about_calls = matches!(verdict, "C7504" | "C7506");
        let refused = report.diagnostics.iter().filter(|it| it.code == Code::TooFewRegisters).count();
        if found.len() != usize::from(is_ignored)
            || refused != usize::from(is_refused)
            || is_about_calls && !names_calls
        {
            wrong.push(format!("{verdict}, but {}: {module}", found.len()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen[..2].iter().all(|count| *count >= 80) && seen[2] >= 15, "{seen:?}");
}
