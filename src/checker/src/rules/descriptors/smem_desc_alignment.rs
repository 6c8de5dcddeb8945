use rustc_hash::FxHashMap;

use crate::analysis::descriptors::Descriptors;
use crate::analysis::truncated::{Seen, Truncated};
use crate::descriptor::shared_memory::{Rows, SwizzleMode};
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::{Instruction, MatrixA, Scalar};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds shared-memory descriptors that are computed from an address or a stride that is not a multiple
    /// of 16 bytes, or from the address of a variable that is not shifted right by 4. The leading dimension
    /// of a matrix that is swizzled and contiguous along K is not checked: the hardware ignores it, and
    /// many kernels write 1.
    ///
    /// ## Why is this bad?
    /// The fields of a descriptor are in units of 16 bytes; the lower bits are lost. The matrix starts too
    /// early, or has the wrong strides, and nothing reports it.
    ///
    /// ## Example
    /// ```ptx
    /// .shared .align 1024 .b8 tiles[16384];
    /// mov.u32 r1, tiles+8;
    /// shr.u32 r1, r1, 4;
    /// cvt.u64.u32 adesc, r1;
    /// or.b64 adesc, adesc, 0x4000404000010000;
    /// tcgen05.cp.cta_group::1.128x256b [taddr], adesc;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .shared .align 1024 .b8 tiles[16384];
    /// mov.u32 r1, tiles+32;
    /// shr.u32 r1, r1, 4;
    /// cvt.u64.u32 adesc, r1;
    /// or.b64 adesc, adesc, 0x4000404000010000;
    /// tcgen05.cp.cta_group::1.128x256b [taddr], adesc;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.4.1
    SmemDescAlignment Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    // A value from which many descriptors are computed is one mistake.
    let mut seen: FxHashMap<u32, Seen> = FxHashMap::default();
    for multiply in checker.descriptors {
        let decoded = &checker.instructions[multiply.instruction];
        let operands = match &decoded.instruction {
            Some(Instruction::Mma(mma)) => {
                let a = match &mma.a {
                    MatrixA::Descriptor(a) => Some(("a-desc", a)),
                    MatrixA::TensorMemory(_) => None,
                };
                [a, Some(("b-desc", &mma.b))]
            }
            Some(Instruction::Cp(cp)) => [Some(("s-desc", &cp.s_desc)), None],
            _ => continue,
        };
        let Some(function) = checker.function(decoded) else { continue };
        for (name, operand) in operands.into_iter().flatten() {
            let Scalar::Register(register) = operand else { continue };
            let seen = seen.entry(function.function).or_default();
            for lost in function.truncated(checker.unit, decoded.index, register.id, seen) {
                let (at, field, rest) = match lost {
                    Truncated::Rest { at, field, rest } => (at, field, rest),
                    Truncated::Unshifted { at } => {
                        let made = checker.unit.module.instructions[at as usize].opcode;
                        findings.push(
                            Diagnostic::new(
                                Code::SmemDescAlignment,
                                operand.span(),
                                format!("`{name}`: the start address is in bytes"),
                                "the field counts units of 16 bytes",
                            )
                            .label(
                                made,
                                "an address in bytes, which nothing shifts on its way to the descriptor",
                            )
                            .help("shift the address right by 4 before it gets into the descriptor"),
                        );
                        continue;
                    }
                };
                if field == 16 && !leading_counts(multiply, name) {
                    continue;
                }
                let what = match field {
                    0 => "start address",
                    16 => "leading dimension",
                    _ => "stride dimension",
                };
                let found = match rest.constant(4) {
                    Some(rest) => format!("{rest} bytes over a multiple of 16 are shifted out here"),
                    None => String::from("bits that are not all 0 are shifted out here"),
                };
                let shift = checker.unit.module.instructions[at as usize].opcode;
                findings.push(
                    Diagnostic::new(
                        Code::SmemDescAlignment,
                        operand.span(),
                        format!("`{name}`: the {what} is not a multiple of 16 bytes"),
                        "the field counts units of 16 bytes",
                    )
                    .label(shift, found)
                    .help("align it: what is below 16 bytes does not get into the descriptor"),
                );
            }
        }
    }
}

/// Whether it is known that the leading dimension of a matrix counts. That of one which is swizzled and contiguous along
/// K is taken for 1, whatever its value.
fn leading_counts(multiply: &Descriptors, name: &str) -> bool {
    let descriptor = multiply.descriptors.iter().find(|descriptor| descriptor.name == name);
    let is_transposed = match name {
        "a-desc" => multiply.facts.transpose_a,
        "b-desc" => multiply.facts.transpose_b,
        _ => None,
    };
    let swizzle = descriptor.and_then(|descriptor| Rows::of(descriptor.word).swizzle);
    swizzle.is_some_and(|mode| mode == SwizzleMode::None || is_transposed == Some(true))
}
