use super::{effect, instructions};
use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::host::Language;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds inline assembly in LLVM IR, MLIR and the languages that generate them that is not marked as
    /// having side effects (in Python `has_side_effects`, in Mojo `has_side_effect`, in Triton `is_pure`,
    /// in Rust `pure`, in cuda-oxide `register_only`), although it does more than compute: it reads shared
    /// memory, writes memory, waits, elects a thread, reads a clock, or uses Tensor Memory.
    ///
    /// ## Why is this bad?
    /// LLVM treats such a call as a function of its operands. It removes the call if nobody uses the
    /// result, moves it, and merges it with another one.
    ///
    /// ## Example
    /// ```llvm
    /// %value = call i32 asm "ld.shared.b32 $0, [$1];", "=r,r"(i32 %address)
    /// ```
    ///
    /// ## Use instead
    /// ```llvm
    /// %value = call i32 asm sideeffect "ld.shared.b32 $0, [$1];", "=r,r,~{memory}"(i32 %address)
    /// ```
    ///
    /// ## References
    /// LLVM Language Reference, *Inline Assembler Expressions*
    MissingSideeffect Fragment check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for fragment in &checker.unit.fragments {
        if fragment.is_volatile || fragment.language == Language::Cpp {
            continue;
        }
        let Some((why, place)) =
            instructions(checker.unit, fragment).find_map(|it| effect(checker.unit, &it))
        else {
            continue;
        };
        let fix = fragment.volatile_keyword.map(|keyword| {
            Fix::guess(format!("Add `{keyword}`"), Span::at(fragment.keyword.end), format!(" {keyword}"))
        });
        findings.push(
            Diagnostic::new(
                Code::MissingSideeffect,
                fragment.keyword,
                "LLVM may move, merge or remove this assembly",
                "it is not marked as having side effects",
            )
            .label(place, why)
            .help(match fragment.language {
                Language::Rust => "leave out `pure`, or cuda-oxide's `register_only`",
                Language::Mojo => "leave out `has_side_effect=False`",
                Language::Python => "mark it: `has_side_effects=True`, in Triton `is_pure=False`",
                Language::Mlir => "mark it: `has_side_effects`, in Triton's dialect `pure = false`",
                Language::Llvm | Language::Cpp => "mark it: `sideeffect`",
            })
            .fix(fix),
        );
    }
}
