use crate::analysis::footprint;
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::decode::Decoded;
use crate::instruction::index::OperationSet;
use crate::instruction::{Address, Instruction};
use crate::isa::datapath;
use crate::isa::tensor_memory::TensorMemory;
use crate::rules::{Checker, Code, rule};

const LANES: u64 = TensorMemory::LANES as u64;

rule! {
    /// ## What it does
    /// Finds addresses in Tensor Memory whose known bits name a lane past the last one, 127. For A, the
    /// sparsity metadata, the scales and the lookup table of a multiply, it also finds columns past the
    /// last one. `column-range` and `accumulator-columns` check the other columns.
    ///
    /// ## Why is this bad?
    /// This cell does not exist. The assembler does not look at values in registers.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 taddr, 0x00800000;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b32 taddr, 0x00600000;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.1 and 9.7.16.1.1
    OutsideTensorMemory Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    matrix_a(checker, findings);
    for (decoded, instruction) in checker.typed(OperationSet::MOVES.and(OperationSet::MULTIPLIES)) {
        if let Some((address, _)) = footprint::accessed(instruction) {
            lane(checker, decoded, address, findings);
        }
        let Instruction::Mma(mma) = instruction else { continue };
        let operands = mma
            .a
            .address()
            .into_iter()
            .chain(&mma.b_meta)
            .chain(&mma.sparsity_metadata)
            .chain(mma.scales.iter().flat_map(|scales| scales.iter()));
        for address in operands {
            lane(checker, decoded, address, findings);
            column(checker, decoded, address, findings);
        }
    }
}

/// A begins within Tensor Memory and ends past it: each of its rows has at least 32 bytes.
fn matrix_a(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for multiply in checker.descriptors {
        let decoded = &checker.instructions[multiply.instruction];
        let Some(Instruction::Mma(mma)) = &decoded.instruction else { continue };
        let (Some(address), Some(m)) = (mma.a.address(), multiply.facts.m) else { continue };
        let layout = datapath::layout(m, mma.cta_group.value, mma.sparse.is_some(), mma.weight_stationary);
        let Some(columns) = layout.and_then(|layout| layout.organization.columns_of_a()) else { continue };
        let Some(column) = checker.address(decoded, address).and_then(|it| it.constant(16)) else { continue };
        let end = column + u64::from(columns);
        let past = checker.environment.judge(|features| {
            let last = u64::from(features.columns());
            if column < last && end > last { vec![last] } else { Vec::new() }
        });
        for (last, target) in past {
            let on = target.map(|target| format!(" on {target}")).unwrap_or_default();
            findings.push(
                Diagnostic::new(
                    Code::OutsideTensorMemory,
                    address.span,
                    format!("A reaches to column {end} of {last}{on}"),
                    format!("starts at column {column}, and has {columns} columns at least"),
                )
                .origins(&checker.address_origins(decoded, address))
                .help("columns are bits 0 to 15 of the address"),
            );
        }
    }
}

fn lane(checker: &Checker<'_>, decoded: &Decoded<'_>, address: &Address<'_>, findings: &mut Findings<'_>) {
    let Some(known) = checker.address(decoded, address) else { return };
    let lanes = known.shifted_right(16);
    // One bit that is certainly set is enough.
    if lanes.value & lanes.mask & 0xFFFF < LANES {
        return;
    }
    let found = match lanes.constant(16) {
        Some(lane) => format!("the lane is {lane}"),
        None => format!("the lane is {LANES} or more"),
    };
    findings.push(
        Diagnostic::new(
            Code::OutsideTensorMemory,
            address.span,
            format!("an address in Tensor Memory must name one of its {LANES} lanes"),
            found,
        )
        .origins(&checker.address_origins(decoded, address))
        .help("lanes are bits 16 to 31 of the address"),
    );
}

/// The column of an operand whose number of columns is not checked.
fn column(checker: &Checker<'_>, decoded: &Decoded<'_>, address: &Address<'_>, findings: &mut Findings<'_>) {
    let Some(known) = checker.address(decoded, address) else { return };
    let least = known.value & known.mask & 0xFFFF;
    let past = checker.environment.judge(|features| {
        let columns = features.columns();
        if least >= u64::from(columns) { vec![columns] } else { Vec::new() }
    });
    for (columns, target) in past {
        let on = target.map(|target| format!(" on {target}")).unwrap_or_default();
        let found = match known.constant(16) {
            Some(column) => format!("the column is {column}"),
            None => format!("the column is {least} or more"),
        };
        findings.push(
            Diagnostic::new(
                Code::OutsideTensorMemory,
                address.span,
                format!("an address in Tensor Memory must name one of its {columns} columns{on}"),
                found,
            )
            .origins(&checker.address_origins(decoded, address))
            .help("columns are bits 0 to 15 of the address"),
        );
    }
}
