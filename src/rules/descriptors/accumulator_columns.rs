use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::Instruction;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds accumulators that reach past the last column of Tensor Memory: a known column of
    /// `d-tmem` plus N is over 512.
    ///
    /// ## Why is this bad?
    /// The multiply writes outside Tensor Memory; a debug build of NVIDIA's tools traps there.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 taddr, 448;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b32 taddr, 384;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.1
    AccumulatorColumns Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let columns = checker.environment.features().columns();
    for multiply in checker.descriptors {
        let decoded = &checker.instructions[multiply.instruction];
        let Some(Instruction::Mma(mma)) = &decoded.instruction else { continue };
        let Some(n) = multiply.facts.n else { continue };
        let Some(column) = checker.address(decoded, &mma.d).and_then(|address| address.constant(16)) else {
            continue;
        };
        let end = column + u64::from(n);
        if end <= u64::from(columns) {
            continue;
        }
        findings.push(
            Diagnostic::new(
                Code::AccumulatorColumns,
                mma.d.span,
                format!("the accumulator reaches to column {end} of {columns}"),
                format!("starts at column {column}"),
            )
            .origins(&checker.address_origins(decoded, &mma.d))
            .label(mma.idesc.span(), format!("N is {n}"))
            .help(format!(
                "an accumulator with N = {n} starts at column {} or before",
                columns.saturating_sub(n)
            )),
        );
    }
}
