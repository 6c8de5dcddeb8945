use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::instruction::Instruction;
use crate::instruction::index::OperationSet;
use crate::isa::vocabulary::{DstFormat, SrcFormat};
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::words::list_words;
use strum::IntoEnumIterator;

rule! {
    /// ## What it does
    /// Checks that a decompressing `cp` names both formats, the destination first.
    ///
    /// ## Why is this bad?
    /// One format alone has no meaning; the assembler refuses the instruction.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.cp.cta_group::1.128x256b.b6x16_p32 [taddr], adesc;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.cp.cta_group::1.128x256b.b8x16.b6x16_p32 [taddr], adesc;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.9.2
    CpFormat Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (_, instruction) in checker.typed(OperationSet::COPIES) {
        let Instruction::Cp(cp) = instruction else { continue };
        let finding =
            |span, message: &str, label: &str| Diagnostic::new(Code::CpFormat, span, message, label);
        findings.push(match (cp.dst_format, cp.src_format) {
            (None, None) => continue,
            (Some(dst), Some(src)) if dst.span.start < src.span.start => continue,
            (Some(dst), Some(src)) => finding(
                src.span,
                "the source format stands before the destination format",
                "this has to come second",
            )
            .label(dst.span, "this has to come first")
            .help(format!("write `.{}.{}`", dst.value, src.value))
            .fix(Some(Fix::swap(
                "Put the destination format first",
                (src.span, format!(".{}", src.value)),
                (dst.span, format!(".{}", dst.value)),
            ))),
            (None, Some(src)) => {
                finding(src.span, "a source format without a destination format", "decompresses into what?")
                    .help("write `.b8x16` before it")
                    .fix(Some(Fix::safe(
                        "Insert `.b8x16`",
                        Span::at(src.span.start),
                        format!(".{}", DstFormat::B8x16),
                    )))
            }
            (Some(dst), None) => {
                let formats = list_words(SrcFormat::iter().map(|format| format!("`.{format}`")), "or");
                finding(dst.span, "a destination format without a source format", "decompresses from what?")
                    .help(format!("write {formats} behind it, or remove it"))
            }
        });
    }
}
