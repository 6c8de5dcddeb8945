use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::index::OperationSet;
use crate::instruction::{Instruction, Ld, Mma, St, Vector};
use crate::isa::tensor_memory::TensorMemory;
use crate::isa::vocabulary::{LdShape, Num};
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::words::plural;

rule! {
    /// ## What it does
    /// Compares the length of a vector with what the instruction moves: Tables 47 and 48 for `ld` and `st`,
    /// 4 or 8 registers of `disable-output-lane` by `.cta_group`.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the instruction. `.pack::16b` and `.unpack::16b` do not change the number of
    /// registers.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.ld.sync.aligned.16x128b.x2.b32 {r0, r1}, [taddr];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.ld.sync.aligned.16x128b.x2.b32 {r0, r1, r2, r3}, [taddr];
    /// ```
    ///
    /// ## References
    /// PTX ISA, Tables 47 and 48, and section 9.7.16.10.9.1
    VectorLength Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (_, instruction) in checker.typed(OperationSet::LOADS_AND_STORES.and(OperationSet::MULTIPLIES)) {
        match instruction {
            Instruction::Ld(Ld { shape, num, r, metadata: None, .. })
            | Instruction::St(St { shape, num, r, .. }) => {
                if let Some(length) = shape.value.vector_length(num.value) {
                    let cause = || {
                        format!(
                            "`.{}` with `.{}` moves {} per thread",
                            shape.value,
                            num.value,
                            plural(length as usize, "register")
                        )
                    };
                    let finding = compare(r, length, shape.span.to(num.span), cause);
                    findings.extend(finding.map(|finding| suggest_num(finding, r, shape.value)));
                }
            }
            Instruction::Ld(Ld { num, r, metadata: Some(metadata), .. }) => {
                let factor = num.value.factor();
                let cause = || format!("`.{}` keeps half of {factor} elements", num.value);
                findings.extend(compare(r, factor / 2, num.span, cause));
                let words = factor.div_ceil(32);
                let cause = || format!("`.{}` has {} of metadata", num.value, plural(words as usize, "word"));
                findings.extend(compare(metadata, words, num.span, cause));
            }
            Instruction::Mma(mma) => findings.extend(lanes(mma)),
            Instruction::Alloc(_)
            | Instruction::Dealloc(_)
            | Instruction::RelinquishAllocPermit(_)
            | Instruction::Wait(_)
            | Instruction::Cp(_)
            | Instruction::Shift(_)
            | Instruction::Commit(_)
            | Instruction::Fence(_) => {}
        }
    }
}

fn lanes(mma: &Mma<'_>) -> Option<Diagnostic> {
    let mask = mma.disable_output_lane.as_ref()?;
    let group = mma.cta_group;
    // One bit for each lane of a CTA.
    let length = group.value.ctas() * TensorMemory::LANES / u32::BITS;
    compare(mask, length, group.span, || format!("`.{}` has {} lanes", group.value, length * 32))
}

fn compare(
    vector: &Vector<'_>,
    length: u32,
    because: Span,
    cause: impl FnOnce() -> String,
) -> Option<Diagnostic> {
    let found = vector.elements.len();
    if found == length as usize {
        return None;
    }
    let finding = Diagnostic::new(
        Code::VectorLength,
        vector.span,
        format!(
            "vector of {found} where {} {} expected",
            plural(length as usize, "register"),
            if length == 1 { "is" } else { "are" }
        ),
        plural(found, "element"),
    );
    Some(finding.label(because, cause()).help(format!("write {}", plural(length as usize, "register"))))
}

/// Names the repetition that fits the registers that are there, if there is one.
fn suggest_num(finding: Diagnostic, vector: &Vector<'_>, shape: LdShape) -> Diagnostic {
    let fitting = Num::all()
        .find(|num| shape.vector_length(*num).is_some_and(|length| length as usize == vector.elements.len()));
    match (fitting, &finding.help) {
        (Some(num), Some(help)) => {
            let help = format!("{help}, or use `.{num}`, which moves as many as are here");
            finding.help(help)
        }
        _ => finding,
    }
}
