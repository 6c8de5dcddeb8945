use super::{effect, instructions};
use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::host::Language;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds `asm` statements with outputs that are neither `volatile` nor clobber memory, although they do
    /// more than compute: they read shared memory, write memory, wait, elect a thread, read a clock, or use
    /// Tensor Memory.
    ///
    /// ## Why is this bad?
    /// To the compiler such a statement is a function of its inputs. The compiler may remove it if nobody
    /// uses the outputs, move it across loops and barriers, and merge two of them.
    ///
    /// ## Example
    /// ```cuda
    /// asm("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(address));
    /// ```
    ///
    /// ## Use instead
    /// ```cuda
    /// asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    /// ```
    ///
    /// ## References
    /// *Inline PTX Assembly in CUDA*, section 1.3.2 (Incorrect Optimization)
    MissingVolatile Fragment check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for fragment in &checker.unit.fragments {
        let is_kept = fragment.is_volatile
            || fragment.clobbers_memory
            || !fragment.operands.iter().any(|operand| operand.is_output);
        if fragment.language != Language::Cpp {
            continue;
        }
        let Some(keyword) = fragment.volatile_keyword.filter(|_| !is_kept) else { continue };
        let Some((why, place)) =
            instructions(checker.unit, fragment).find_map(|it| effect(checker.unit, &it))
        else {
            continue;
        };
        findings.push(
            Diagnostic::new(
                Code::MissingVolatile,
                fragment.keyword,
                format!("the compiler may move, merge or remove this statement: it is not `{keyword}`"),
                format!("`{keyword}` is missing"),
            )
            .label(place, why)
            .help(format!("write `{keyword}` behind the keyword"))
            .fix(Some(Fix::guess(
                format!("Add `{keyword}`"),
                Span::at(fragment.keyword.end),
                format!(" {keyword}"),
            ))),
        );
    }
}
