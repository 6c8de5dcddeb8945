use crate::diagnostic::{Diagnostic, Fix};
use crate::instruction::{Immediate, Instruction};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds numbers of columns that cannot be allocated: they are powers of two from 32 to 512,
    /// or with `.exclusive` multiples of 32.
    ///
    /// ## Why is this bad?
    /// Tensor Memory is handed out in units of 32 columns and powers of two. The assembler
    /// refuses other immediates, but says nothing of registers.
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
    "TC301" "ncols-invalid" Error Rejects check
}

fn check(checker: &Checker<'_>, findings: &mut Vec<Diagnostic>) {
    for (_, instruction) in checker.typed() {
        let (operation, n_cols, exclusive) = match instruction {
            Instruction::Alloc(it) => ("tcgen05.alloc", it.n_cols, it.exclusive),
            Instruction::Dealloc(it) => ("tcgen05.dealloc", it.n_cols, it.exclusive),
            _ => continue,
        };
        if let Some(immediate) = n_cols.immediate() {
            findings.extend(judge(operation, immediate, exclusive.is_some()));
        }
    }
}

/// What is wrong with a number of columns.
pub(super) fn fault(columns: u32, exclusive: bool) -> Option<&'static str> {
    match columns {
        0 => Some("zero columns"),
        _ if exclusive => (!columns.is_multiple_of(32)).then_some("not a multiple of 32"),
        _ if !columns.is_power_of_two() => Some("not a power of two"),
        1..32 => Some("less than 32, the unit of allocation"),
        513.. => Some("more than the 512 columns that there are"),
        _ => None,
    }
}

fn judge(operation: &str, immediate: Immediate, exclusive: bool) -> Option<Diagnostic> {
    // The operand is 32 bits wide, and the assembler cuts it before it looks.
    let columns = u32::try_from(immediate.value & 0xFFFF_FFFF).unwrap_or_default();
    let wrong = fault(columns, exclusive)?;
    let rule = if exclusive { "a multiple of 32" } else { "a power of two in [32, 512]" };
    let next = if exclusive {
        columns.checked_next_multiple_of(32).unwrap_or(32).max(32)
    } else {
        columns.checked_next_power_of_two().unwrap_or(512).clamp(32, 512)
    };
    Some(
        Diagnostic::new(
            Code::NcolsInvalid,
            immediate.span,
            format!("`nCols` of `{operation}` must be {rule}"),
            format!("{} is {wrong}", immediate.value),
        )
        .help(format!("write {next}, the next valid size"))
        .fix(Some(Fix::guess(format!("Use {next} columns"), immediate.span, next.to_string()))),
    )
}
