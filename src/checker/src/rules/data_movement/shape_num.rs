use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::index::OperationSet;
use crate::instruction::{Instruction, Ld, St};
use crate::isa::vocabulary::{LdShape, Num};
use crate::rules::{Checker, Code, rule};
use crate::source::Spanned;
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Finds repetitions that a shape does not have, and shapes and repetitions that `ld.red` and
    /// `ld.spcompress` do not support.
    ///
    /// ## Why is this bad?
    /// A load or store moves at most 128 registers per thread; a reduction needs at least two columns. The
    /// assembler refuses the instruction.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.ld.red.sync.aligned.32x32b.x1.min.u32 {r0}, r1, [taddr];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {r0, r1}, r2, [taddr];
    /// ```
    ///
    /// ## References
    /// PTX ISA, Tables 47 and 48, and section 9.7.16.8.3
    ShapeNum Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (_, instruction) in checker.typed(OperationSet::LOADS_AND_STORES) {
        let (shape, num) = match instruction {
            Instruction::Ld(Ld { shape, num, .. }) | Instruction::St(St { shape, num, .. }) => (*shape, *num),
            _ => continue,
        };
        if shape.value.vector_length(num.value).is_none() {
            let fitting = Num::all().filter(|num| shape.value.vector_length(*num).is_some());
            findings.push(
                finding(
                    num,
                    format!("`.{}` is not available for `.{}`", num.value, shape.value),
                    "more than 128 registers",
                )
                .label(shape.span, "the shape")
                .help(format!("use one of {}", spelled(fitting))),
            );
        }
        if let Instruction::Ld(ld) = instruction {
            reduction(ld, shape, num, findings);
        }
    }
}

fn reduction(ld: &Ld<'_>, shape: Spanned<LdShape>, num: Spanned<Num>, findings: &mut Findings<'_>) {
    if ld.reduction.is_none() {
        return;
    }
    let (shape_fits, least, name, shapes) = if ld.metadata.is_some() {
        (shape.value == LdShape::S32x32b, 4, "spcompress", "`.32x32b`")
    } else {
        (shape.value.reduces(), 2, "red", "`.32x32b` or `.16x32bx2`")
    };
    if !shape_fits {
        findings.push(
            Diagnostic::new(
                Code::ShapeNum,
                shape.span,
                format!("`tcgen05.ld.{name}` does not take `.{}`", shape.value),
                "wrong shape",
            )
            .help(format!("use {shapes}")),
        );
    }
    if num.value.factor() < least {
        findings.push(
            finding(num, format!("`tcgen05.ld.{name}` needs at least `.x{least}`"), "too few columns")
                .help(format!("use `.x{least}` or more")),
        );
    }
}

fn finding(num: Spanned<Num>, message: String, label: &str) -> Diagnostic {
    Diagnostic::new(Code::ShapeNum, num.span, message, label)
}

fn spelled(nums: impl Iterator<Item = Num>) -> String {
    list_words(nums.map(|num| format!("`.{num}`")), "or")
}
