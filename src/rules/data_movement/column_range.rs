use crate::diagnostic::Diagnostic;
use crate::instruction::decode::Decoded;
use crate::instruction::{Address, Cp, Instruction, Ld, Scalar, Shift, St};
use crate::isa::data_movement::SHIFT_COLUMNS;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds loads, stores, copies and shifts that reach past the last column of Tensor Memory: a
    /// known column plus the columns that the shape covers is over 512 (576 on `sm_107`).
    ///
    /// ## Why is this bad?
    /// There are no such columns to access. The assembler does not look at values in registers.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 taddr, 510;
    /// tcgen05.ld.sync.aligned.32x32b.x4.b32 {r0, r1, r2, r3}, [taddr];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b32 taddr, 508;
    /// tcgen05.ld.sync.aligned.32x32b.x4.b32 {r0, r1, r2, r3}, [taddr];
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.1 and 9.7.16.2.3, and Tables 47 and 48
    "TC406" "column-range" Error Silent check
}

/// What an instruction moves to or from Tensor Memory.
struct Access<'a> {
    address: &'a Address<'a>,
    /// Columns from the address on.
    columns: u32,
    /// What decides about the number of columns.
    shape: Span,
    /// The distance of a second access of the same size.
    second: Option<Scalar<'a>>,
}

fn check(checker: &Checker<'_>, findings: &mut Vec<Diagnostic>) {
    let last = checker.environment.features().columns();
    for (decoded, instruction) in checker.typed() {
        let Some(access) = access(decoded, instruction) else { continue };
        let Some(known) = checker.address(decoded, access.address) else { continue };
        let second = access.second.and_then(|offset| offset.immediate());
        // The address is 32 bits wide, and the offset is cut to that.
        let offsets = std::iter::once((0, access.address.span))
            .chain(second.map(|offset| ((offset.value & 0xFFFF_FFFF) as u64, offset.span)));
        for (offset, span) in offsets {
            let Some(column) = known.plus(offset, 32).constant(16) else { continue };
            let end = column + u64::from(access.columns);
            if end <= u64::from(last) {
                continue;
            }
            let name = checker.source.slice(decoded.name);
            let columns = match access.columns {
                1 => "1 column".to_owned(),
                columns => format!("{columns} columns"),
            };
            findings.push(
                Diagnostic::new(
                    Code::ColumnRange,
                    span,
                    format!("`{name}` reaches to column {end} of {last}"),
                    format!("starts at column {column}"),
                )
                .origins(&checker.address_origins(decoded, access.address))
                .label(access.shape, format!("covers {columns}"))
                .help(format!(
                    "an access of {columns} starts at column {} or before",
                    last.saturating_sub(access.columns)
                )),
            );
        }
    }
}

fn access<'a>(decoded: &Decoded<'_>, instruction: &'a Instruction<'a>) -> Option<Access<'a>> {
    match instruction {
        Instruction::Ld(Ld { shape, num, taddr, half_split_offset, .. })
        | Instruction::St(St { shape, num, taddr, half_split_offset, .. }) => {
            // Without a length there is no such access.
            shape.value.vector_length(num.value)?;
            let packed = match instruction {
                Instruction::Ld(ld) => ld.pack.is_some(),
                Instruction::St(st) => st.unpack.is_some(),
                _ => false,
            };
            Some(Access {
                address: taddr,
                columns: shape.value.columns(num.value, packed),
                shape: num.span,
                second: *half_split_offset,
            })
        }
        Instruction::Cp(Cp { shape, taddr, .. }) => {
            Some(Access { address: taddr, columns: shape.value.columns(), shape: shape.span, second: None })
        }
        Instruction::Shift(Shift { taddr, .. }) => {
            Some(Access { address: taddr, columns: SHIFT_COLUMNS, shape: decoded.name, second: None })
        }
        // The accumulator of a multiply is the matter of `accumulator-columns`.
        Instruction::Mma(_)
        | Instruction::Alloc(_)
        | Instruction::Dealloc(_)
        | Instruction::RelinquishAllocPermit(_)
        | Instruction::Wait(_)
        | Instruction::Commit(_)
        | Instruction::Fence(_) => None,
    }
}
