use crate::diagnostic::{Diagnostic, Findings, Fix, Ptxas};
use crate::instruction::{Immediate, Instruction};
use crate::isa::tensor_memory::TensorMemory;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds numbers of columns that cannot be allocated: they are powers of two from 32 to 512,
    /// or with `.exclusive` multiples of 32 up to 512 (576 on `sm_107`). Registers count, too, where
    /// their value is known.
    ///
    /// ## Why is this bad?
    /// Tensor Memory is handed out in units of 32 columns and powers of two. The assembler
    /// refuses most other immediates, but says nothing of registers.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 48;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.1.2 and 9.7.16.7.1
    NcolsInvalid Statement check
}

/// A number of columns and where it comes from.
struct Columns {
    /// Cut to the 32 bits of the operand, as the assembler does before it looks.
    value: u32,
    /// As it was written.
    written: i128,
    span: Span,
    is_immediate: bool,
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let memory = checker.environment.tensor_memory();
    for (decoded, instruction) in checker.typed() {
        let (operation, n_cols, exclusive) = match instruction {
            Instruction::Alloc(it) => ("tcgen05.alloc", it.n_cols, it.exclusive),
            Instruction::Dealloc(it) => ("tcgen05.dealloc", it.n_cols, it.exclusive),
            _ => continue,
        };
        let known = checker.value(decoded, &n_cols).and_then(|known| known.constant(32));
        let Some(value) = known.and_then(|value| u32::try_from(value).ok()) else { continue };
        let columns = Columns {
            value,
            written: n_cols.immediate().map_or_else(|| value.into(), Immediate::value),
            span: n_cols.span(),
            is_immediate: n_cols.immediate().is_some(),
        };
        if let Some(finding) = judge(operation, &columns, exclusive.is_some(), memory) {
            findings.push(finding.origins(&checker.origins(decoded, &n_cols)));
        }
    }
}

fn judge(operation: &str, columns: &Columns, exclusive: bool, memory: TensorMemory) -> Option<Diagnostic> {
    const UNIT: u32 = TensorMemory::UNIT;
    let value = columns.value;
    if memory.allocates(value, exclusive) {
        return None;
    }
    let wrong = match value {
        0 => String::from("zero columns"),
        _ if exclusive && !value.is_multiple_of(UNIT) => format!("not a multiple of {UNIT}"),
        _ if !exclusive && !value.is_power_of_two() => String::from("not a power of two"),
        _ if value < UNIT => format!("less than {UNIT}, the unit of allocation"),
        _ => format!("more than the {} columns that there are", memory.columns),
    };
    // The assembler looks at immediates only, and lets `.exclusive` have more columns than there are.
    let seen = columns.is_immediate && !(exclusive && value > 0 && value.is_multiple_of(UNIT));
    let rule = memory.sizes(exclusive);
    let next = memory.next(value, exclusive);
    let fix = Fix::guess(format!("Use {next} columns"), columns.span, next.to_string());
    Some(
        Diagnostic::new(
            Code::NcolsInvalid,
            columns.span,
            format!("`nCols` of `{operation}` must be {rule}"),
            format!("{} is {wrong}", columns.written),
        )
        .help(format!("write {next}, the {} valid size", if value > next { "largest" } else { "next" }))
        .fix(columns.is_immediate.then_some(fix))
        .ptxas(if seen { Ptxas::Rejects } else { Ptxas::Silent }),
    )
}
