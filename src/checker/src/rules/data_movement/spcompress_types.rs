use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::instruction::index::OperationSet;
use crate::isa::vocabulary::Slot;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Checks that a compressing load names the type of the data before the type of the metadata.
    ///
    /// ## Why is this bad?
    /// `.f32.b2` is the only pair of qualifiers of this instruction whose order matters; the assembler
    /// refuses `.b2.f32`.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.4
    /// .target sm_107a
    /// .entry k() {
    ///     .reg .b32 r<4>, taddr;
    ///     tcgen05.ld.spcompress.sync.aligned.32x32b.x4.max.sp::2:4.b2.f32 {r0}, {r1, r2}, [taddr];
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.4
    /// .target sm_107a
    /// .entry k() {
    ///     .reg .b32 r<4>, taddr;
    ///     tcgen05.ld.spcompress.sync.aligned.32x32b.x4.max.sp::2:4.f32.b2 {r0}, {r1, r2}, [taddr];
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA 9.4, section 9.7.18.8.3
    SpcompressTypes Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (decoded, _) in checker.typed(OperationSet::COMPRESSING) {
        let metadata = decoded.qualifiers.in_slot(Slot::MetadataType);
        let data = decoded.qualifiers.in_slot(Slot::DataType);
        let (Some(metadata), Some(data)) = (metadata, data) else { continue };
        if data.span.start < metadata.span.start {
            continue;
        }
        findings.push(
            Diagnostic::new(
                Code::SpcompressTypes,
                metadata.span,
                "the metadata type stands before the data type",
                "this has to come second",
            )
            .label(data.span, "this has to come first")
            .help(format!("write `.{}.{}`", data.value.spelling(), metadata.value.spelling()))
            .fix(Some(Fix::swap(
                "Put the data type first",
                (metadata.span, format!(".{}", metadata.value.spelling())),
                (data.span, format!(".{}", data.value.spelling())),
            ))),
        );
    }
}
