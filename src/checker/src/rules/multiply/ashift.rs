use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::index::OperationSet;
use crate::instruction::{Instruction, MatrixA};
use crate::isa::vocabulary::CollectorA;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Checks `.ashift`: A must be in Tensor Memory, the kind must not be block-scaled, and the collector
    /// buffer must not be filled or used.
    ///
    /// ## Why is this bad?
    /// `.ashift` shifts the rows of A while they are read from Tensor Memory. It cannot shift what comes
    /// from shared memory or from the collector buffer. The assembler refuses the instruction.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16.ashift [taddr], adesc, bdesc, idesc, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16.ashift [taddr], [taddr2], bdesc, idesc, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.10.9.1
    Ashift Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (_, instruction) in checker.typed(OperationSet::MULTIPLIES) {
        let Instruction::Mma(mma) = instruction else { continue };
        let Some(ashift) = mma.ashift else { continue };
        let finding = |message: &str| {
            Diagnostic::new(Code::Ashift, ashift.span, message, "`.ashift` is not possible here")
        };
        if let MatrixA::Descriptor(descriptor) = &mma.a {
            findings.push(
                finding("`.ashift` needs A in Tensor Memory")
                    .label(descriptor.span(), "A is in shared memory")
                    .help("remove `.ashift`, or give A as `[a-tmem]`"),
            );
        }
        if mma.kind.value.is_block_scaled() {
            findings.push(
                finding("`.ashift` does not go with block scaling")
                    .label(mma.kind.span, "this kind scales its inputs")
                    .help("remove `.ashift`"),
            );
        }
        match mma.collector_a.map(|collector| (collector.value, collector.span)) {
            Some((CollectorA::Fill | CollectorA::Use, span)) => findings.push(
                finding("`.ashift` does not go with filling or using the collector buffer")
                    .label(span, "the collector buffer of A")
                    .help("remove `.ashift`, or use `.collector::a::lastuse` or `.collector::a::discard`"),
            ),
            Some((CollectorA::LastUse | CollectorA::Discard, _)) | None => {}
        }
    }
}
