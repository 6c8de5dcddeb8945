use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::targets::PtxVersion;
use crate::resolve::environment::{module_targets, module_version};
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::syntax::ast::StatementKind;

rule! {
    /// ## What it does
    /// Checks that a module starts with a valid `.version` and a valid `.target` directive.
    ///
    /// ## Why is this bad?
    /// The meaning of an instruction depends on both. The assembler reads nothing before them.
    ///
    /// ## Example
    /// ```ptx
    /// .target sm_100a
    /// .version 8.9
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 11.1.1 (`.version`) and 11.1.2 (`.target`)
    ModuleHeader Module check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let module = &checker.unit.module;
    let start = module.statements.first().map_or(Span::at(0), |statement| {
        // The first token is enough; a function would be marked whole.
        Span::new(statement.span.start, statement.span.start + 1)
    });
    let finding =
        |span, message: &str, label: &str| Diagnostic::new(Code::ModuleHeader, span, message, label);
    // A broken first directive has been reported as such.
    if module.statements.first().is_some_and(|statement| statement.kind() == StatementKind::Broken) {
        return;
    }
    match (module.versions.first(), module_version(&checker.unit.source, module)) {
        (None, _) | (_, None) => findings.push(
            finding(start, "missing `.version` directive", "a module starts with its PTX version").help(
                format!(
                    "write `.version {}` as the first directive; tcgen05 needs 8.6 or later",
                    PtxVersion::LATEST
                ),
            ),
        ),
        (Some(header), Some(version)) => {
            if header.statement != 0 {
                findings.push(
                    finding(header.keyword, "misplaced `.version` directive", "this has to come first")
                        .label(start, "something precedes it"),
                );
            }
            let wrong = match version.value {
                None => Some("this is not a version number".to_owned()),
                Some(version) if !version.exists() => Some(format!("there is no PTX ISA {version}")),
                Some(_) => None,
            };
            if let Some(label) = wrong {
                findings.push(finding(version.span, "malformed `.version` directive", &label).help(format!(
                    "versions with tcgen05 are 8.6, 8.7, 8.8 and 9.0 to {}",
                    PtxVersion::LATEST
                )));
            }
            if let Some(second) = module.versions.get(1) {
                findings.push(
                    finding(
                        second.keyword,
                        "repeated `.version` directive",
                        "the module has a version already",
                    )
                    .label(header.keyword, "first given here"),
                );
            }
        }
    }
    if module.targets.is_empty() {
        let after = module.versions.first().map_or(start, |header| header.keyword);
        findings.push(
            finding(after, "missing `.target` directive", "`.target` has to follow `.version`")
                .help("write a target such as `.target sm_100a` behind `.version`"),
        );
        return;
    }
    // A module may name a target in very many lines: all of them are judged by the same facts.
    let is_header = |kind: StatementKind| matches!(kind, StatementKind::Version | StatementKind::Target);
    let headers = module.statements.iter().take_while(|statement| is_header(statement.kind())).count();
    let names_target = module_targets(&checker.unit.source, module).next().is_some();
    for header in &module.targets {
        let early = header.statement as usize <= headers;
        let after_version =
            module.versions.first().is_none_or(|version| version.statement < header.statement);
        if !early && after_version {
            findings.push(
                finding(
                    header.keyword,
                    "misplaced `.target` directive",
                    "this has to follow `.version` directly",
                )
                .label(start, "the module starts here"),
            );
        }
        if !names_target {
            findings.push(
                finding(header.keyword, "malformed `.target` directive", "no `sm_` target is named")
                    .help("name a target such as `sm_100a`"),
            );
        }
    }
}
