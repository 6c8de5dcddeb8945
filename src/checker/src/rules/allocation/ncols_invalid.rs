use crate::diagnostic::{Diagnostic, Findings, Fix, Ptxas};
use crate::instruction::decode::Decoded;
use crate::instruction::index::OperationSet;
use crate::instruction::{Immediate, Instruction, Scalar};
use crate::isa::tensor_memory::TensorMemory;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds numbers of columns that cannot be allocated. Valid are powers of two from 32 to 512, or with
    /// `.exclusive` multiples of 32 up to 512 (576 on `sm_107`). Registers are checked if their value is
    /// known.
    ///
    /// A partly known value is checked too: a number with two bits set is not a power of two.
    ///
    /// ## Why is this bad?
    /// Tensor Memory is allocated in units of 32 columns and powers of two. The assembler refuses most
    /// invalid immediates, but does not check registers.
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
    for (decoded, instruction) in checker.typed(OperationSet::ALLOCATIONS) {
        let (operation, n_cols, exclusive) = match instruction {
            Instruction::Alloc(it) => ("tcgen05.alloc", it.n_cols, it.exclusive),
            Instruction::Dealloc(it) => ("tcgen05.dealloc", it.n_cols, it.exclusive),
            _ => continue,
        };
        let Some(known) = checker.value(decoded, &n_cols) else { continue };
        let Some(value) = known.constant(32).and_then(|value| u32::try_from(value).ok()) else {
            let set = (known.mask & known.value) as u32;
            if let Some(why) = wrong_bits(set, exclusive.is_some(), memory) {
                let message = must_be(operation, exclusive.is_some(), memory);
                findings.push(
                    Diagnostic::new(Code::NcolsInvalid, n_cols.span(), message, why)
                        .origins(&checker.origins(decoded, &n_cols))
                        .ptxas(Ptxas::Silent),
                );
            } else if let Some(finding) = either(checker, decoded, (operation, &n_cols), exclusive.is_some())
            {
                findings.push(finding);
            }
            continue;
        };
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

/// One of two numbers, one of which is not a valid number of columns.
fn either(
    checker: &Checker<'_>,
    decoded: &Decoded<'_>,
    (operation, n_cols): (&str, &Scalar<'_>),
    exclusive: bool,
) -> Option<Diagnostic> {
    let Scalar::Register(register) = n_cols else { return None };
    if register.component || register.plus.is_some() {
        return None;
    }
    let memory = checker.environment.tensor_memory();
    let few = checker.flow(decoded)?.either_of(decoded.index, register.id)?;
    let value = *few.iter().find(|value| !memory.allocates(**value, exclusive))?;
    let columns = Columns { value, written: value.into(), span: n_cols.span(), is_immediate: false };
    let others: Vec<String> = few.iter().filter(|it| **it != value).map(u32::to_string).collect();
    let finding = judge(operation, &columns, exclusive, memory)?.origins(&checker.origins(decoded, n_cols));
    Some(finding.note(format!("it is {value} or {}, whatever else is known", others.join(" or "))))
}

/// Why a number cannot be one of columns in which certainly these bits are set, whatever the others are.
fn wrong_bits(set: u32, exclusive: bool, memory: TensorMemory) -> Option<String> {
    const UNIT: u32 = TensorMemory::UNIT;
    let what = if set & (UNIT - 1) != 0 {
        format!("no multiple of {UNIT}")
    } else if set > memory.largest(exclusive) {
        format!("more than the {} columns that there are", memory.columns)
    } else if !exclusive && set.count_ones() > 1 {
        String::from("no power of two")
    } else {
        return None;
    };
    Some(format!("its bits {set:#x} are set, whatever the others are: {what}"))
}

/// The message for an invalid number of columns.
fn must_be(operation: &str, exclusive: bool, memory: TensorMemory) -> String {
    format!("`nCols` of `{operation}` must be {}", memory.sizes(exclusive))
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
    let next = memory.next(value, exclusive);
    let fix = Fix::guess(format!("Use {next} columns"), columns.span, next.to_string());
    Some(
        Diagnostic::new(
            Code::NcolsInvalid,
            columns.span,
            must_be(operation, exclusive, memory),
            format!("{} is {wrong}", columns.written),
        )
        .help(format!("write {next}, the {} valid size", if value > next { "largest" } else { "next" }))
        .fix(columns.is_immediate.then_some(fix))
        .ptxas(if seen { Ptxas::Rejects } else { Ptxas::Silent }),
    )
}
