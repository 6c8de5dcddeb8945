use crate::descriptor::idesc_check::Facts;
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::Instruction;
use crate::isa::datapath;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds accumulators that reach past the last column of Tensor Memory: a known column of `d-tmem` plus
    /// the columns of the accumulator is over 512 (576 on `sm_107`). The accumulator has N columns, or half
    /// or a quarter of them if the data path layout divides the columns between the lanes of the warps.
    ///
    /// ## Why is this bad?
    /// The multiply writes outside of Tensor Memory. A debug build of NVIDIA's tools traps there.
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
    /// PTX ISA, sections 9.7.16.1 and 9.7.16.10.5
    AccumulatorColumns Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for multiply in checker.descriptors {
        let decoded = &checker.instructions[multiply.instruction];
        let Some(Instruction::Mma(mma)) = &decoded.instruction else { continue };
        let Facts { m, n: Some(n), .. } = multiply.facts else { continue };
        let (cta_group, sparse) = (mma.cta_group.value, mma.sparse.is_some());
        let Some((least, _)) = datapath::accumulator_columns(m, n, cta_group, sparse, mma.weight_stationary)
        else {
            continue;
        };
        let Some(known) = checker.address(decoded, &mma.d) else { continue };
        // Where it is not known which column it is, the least that it can be.
        let Some(flow) = checker.flow(decoded) else { continue };
        let column = flow.least_column(decoded.index, &mma.d, known);
        let end = column + u64::from(least);
        let past = checker.environment.judge(|features| {
            let columns = features.columns();
            if end > u64::from(columns) { vec![columns] } else { Vec::new() }
        });
        for (columns, target) in past {
            let takes = if least == n {
                format!("N is {n}")
            } else {
                format!("N is {n}, and the accumulator takes {least} columns in this layout")
            };
            let on = target.map(|target| format!(" on {target}")).unwrap_or_default();
            findings.push(
                Diagnostic::new(
                    Code::AccumulatorColumns,
                    mma.d.span,
                    format!("the accumulator reaches to column {end} of {columns}{on}"),
                    match known.constant(16) {
                        Some(column) => format!("starts at column {column}"),
                        None => format!("starts at column {column} or behind"),
                    },
                )
                .origins(&checker.address_origins(decoded, &mma.d))
                .label(mma.idesc.span(), takes)
                .help(format!(
                    "an accumulator of {least} columns starts at column {} or before",
                    columns.saturating_sub(least)
                )),
            );
        }
    }
}
