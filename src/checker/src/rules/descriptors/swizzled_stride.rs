use crate::descriptor::shared_memory::{Rows, SwizzleMode};
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::{Instruction, MatrixA};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds descriptors of swizzled matrices whose stride dimension offset is not eight rows of the
    /// swizzle: 1024 bytes for 128-byte swizzling (512 with 32-byte atomicity), 512 for 64-byte and 256 for
    /// 32-byte swizzling.
    ///
    /// An offset of 0 is not reported, because it does not matter if there are only eight rows. Multiples
    /// are not reported either: there may be other groups of rows, or of the same rows further along K, in
    /// between. Only if the matrix is not transposed, a multiple is reported that is the offset of another
    /// mode, or sixteen times the offset of its own mode.
    ///
    /// ## Why is this bad?
    /// In packed layouts, which nearly all kernels use, groups of eight rows (of eight columns of K if the
    /// matrix is transposed) follow each other directly. Another offset nearly always belongs to another
    /// swizzling mode than the one in the descriptor, or is in bytes instead of units of 16.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b64 adesc, 0x8000404000010040;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b64 adesc, 0x4000404000010040;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.3.3 and 9.7.16.4.1
    SwizzledStride Statement check
}

/// Bytes that the field counts as one.
const UNITS: u64 = 16;

/// Those that are swizzled.
const MODES: [SwizzleMode; 4] =
    [SwizzleMode::Bytes32, SwizzleMode::Bytes64, SwizzleMode::Bytes128, SwizzleMode::Bytes128Atom32];

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for multiply in checker.descriptors {
        let decoded = &checker.instructions[multiply.instruction];
        let Some(Instruction::Mma(mma)) = &decoded.instruction else { continue };
        for descriptor in &multiply.descriptors {
            let (operand, transposed) = match (descriptor.name, &mma.a) {
                ("a-desc", MatrixA::Descriptor(a)) => (a, multiply.facts.transpose_a),
                ("b-desc", _) => (&mma.b, multiply.facts.transpose_b),
                _ => continue,
            };
            let Rows { stride: Some(bytes), swizzle: Some(mode), .. } = Rows::of(descriptor.word) else {
                continue;
            };
            let Some(rows) = mode.eight_rows() else { continue };
            let is_of_another_mode =
                bytes == UNITS * rows || MODES.iter().any(|it| it.eight_rows() == Some(bytes));
            let may_be_interleaved =
                bytes.is_multiple_of(rows) && (transposed != Some(false) || !is_of_another_mode);
            if bytes == 0 || bytes == rows || may_be_interleaved {
                continue;
            }
            findings.push(
                Diagnostic::new(
                    Code::SwizzledStride,
                    descriptor.span,
                    format!(
                        "`{}`: `sbo` is {bytes} bytes, but eight rows with swizzling mode {mode} are {rows}",
                        descriptor.name,
                    ),
                    format!("{bytes} bytes from one group of eight rows to the next"),
                )
                .origins(&checker.origins_beside_address(decoded, operand))
                .help("make the swizzling mode that of the data, and the offset that of its groups of eight rows"),
            );
        }
    }
}
