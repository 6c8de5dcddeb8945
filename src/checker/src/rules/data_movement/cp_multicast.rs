use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::Instruction;
use crate::instruction::index::OperationSet;
use crate::rules::{Checker, Code, rule};
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Checks that the multicast of `cp` fits the shape: `.64x128b` needs `.warpx2::02_13` or
    /// `.warpx2::01_23`, `.32x128b` needs `.warpx4`, the others take none.
    ///
    /// ## Why is this bad?
    /// A shape with fewer than 128 rows must specify the lanes of which warps receive the data. The
    /// assembler refuses the instruction.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.cp.cta_group::1.32x128b [taddr], adesc;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.cp.cta_group::1.32x128b.warpx4 [taddr], adesc;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.9.2
    CpMulticast Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (_, instruction) in checker.typed(OperationSet::COPIES) {
        let Instruction::Cp(cp) = instruction else { continue };
        let shape = cp.shape.value;
        let due = shape.multicasts();
        let choices = || list_words(due.iter().map(|choice| format!("`.{choice}`")), "or");
        let finding = match cp.multicast {
            None if due.is_empty() => continue,
            Some(multicast) if due.contains(&multicast.value) => continue,
            None => Diagnostic::new(
                Code::CpMulticast,
                cp.shape.span,
                format!("`.{shape}` needs a multicast"),
                "nothing says which warps receive the data",
            )
            .help(format!("add {}", choices())),
            Some(multicast) => {
                let finding = Diagnostic::new(
                    Code::CpMulticast,
                    multicast.span,
                    format!("`.{shape}` does not go with `.{}`", multicast.value),
                    "wrong multicast for the shape",
                )
                .label(cp.shape.span, "the shape");
                if due.is_empty() {
                    finding.help("remove the multicast: this shape fills all lanes")
                } else {
                    finding.help(format!("write {}", choices()))
                }
            }
        };
        findings.push(finding);
    }
}
