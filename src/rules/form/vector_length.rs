use crate::diagnostic::Diagnostic;
use crate::instruction::{Instruction, Ld, Mma, St, Vector};
use crate::isa::vocabulary::{CtaGroup, LdShape, Num};
use crate::rules::{Checker, Code, rule};
use crate::source::{Span, Spanned};

rule! {
    /// ## What it does
    /// Compares the length of a vector with what the instruction moves: Tables 47 and 48 for `ld`
    /// and `st`, 4 or 8 registers of `disable-output-lane` by `.cta_group`.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the instruction. `.pack::16b` and `.unpack::16b` do not change the
    /// number of registers.
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
    "TC109" "vector-length" Error Rejects check
}

fn check(checker: &Checker<'_>, findings: &mut Vec<Diagnostic>) {
    for (_, instruction) in checker.typed() {
        match instruction {
            Instruction::Ld(Ld { shape, num, r, metadata: None, .. })
            | Instruction::St(St { shape, num, r, .. }) => {
                if let Some(length) = shape.value.vector_length(num.value) {
                    let cause = format!(
                        "`.{}` with `.{}` moves {length} registers per thread",
                        shape.value, num.value
                    );
                    compare(r, length, &cause, shape.span.to(num.span), findings);
                }
            }
            Instruction::Ld(Ld { num, r, metadata: Some(metadata), .. }) => {
                let factor = num.value.factor();
                compare(
                    r,
                    factor / 2,
                    &format!("`.{}` keeps half of {factor} elements", num.value),
                    num.span,
                    findings,
                );
                let words = factor.div_ceil(32);
                compare(
                    metadata,
                    words,
                    &format!("`.{}` has {words} words of metadata", num.value),
                    num.span,
                    findings,
                );
            }
            Instruction::Mma(mma) => lanes(mma, findings),
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

fn lanes(mma: &Mma<'_>, findings: &mut Vec<Diagnostic>) {
    let Some(mask) = &mma.disable_output_lane else { return };
    let Spanned { value, span } = mma.cta_group;
    let length = match value {
        CtaGroup::One => 4,
        CtaGroup::Two => 8,
    };
    compare(mask, length, &format!("`.{value}` has {} lanes", length * 32), span, findings);
}

fn compare(vector: &Vector<'_>, length: u32, cause: &str, because: Span, findings: &mut Vec<Diagnostic>) {
    let found = vector.elements.len();
    if found == length as usize {
        return;
    }
    findings.push(
        Diagnostic::new(
            Code::VectorLength,
            vector.span,
            format!("vector of {found} where {length} registers are due"),
            format!("{found} element{}", if found == 1 { "" } else { "s" }),
        )
        .label(because, cause)
        .help(suggestion(found, length)),
    );
}

fn suggestion(found: usize, length: u32) -> String {
    let repetition = |factor: u32| Num::all().find(|num| num.factor() == factor);
    let as_x = u32::try_from(found).ok().and_then(repetition).filter(|_| length != 0);
    match as_x {
        Some(num) => format!(
            "write {length} registers, or a `.num` that moves {found}, such as `.{}.{num}`",
            LdShape::S32x32b
        ),
        None => format!("write {length} registers"),
    }
}
