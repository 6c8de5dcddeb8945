//! TC4: loads, stores, copies and shifts.

use crate::diagnostic::Diagnostic;
use crate::instruction::Instruction;
use crate::isa::vocabulary::DataType;
use crate::rules::Code;

pub(super) mod column_range;
pub(super) mod cp_format;
pub(super) mod cp_multicast;
pub(super) mod half_split_offset;
pub(super) mod lane_restriction;
pub(super) mod shape_num;
pub(super) mod shift_lane_alignment;
pub(super) mod spcompress_types;

/// `.abs` and `.NaN` of `ld.red` mean something for floating point only (errata E2).
pub(super) fn reduction_flags(instruction: &Instruction<'_>, findings: &mut Vec<Diagnostic>) {
    let Instruction::Ld(ld) = instruction else { return };
    let Some(reduction) = &ld.reduction else { return };
    if reduction.ty.value == DataType::F32 {
        return;
    }
    let flags = [reduction.abs.map(|it| (it.span, "abs")), reduction.nan.map(|it| (it.span, "NaN"))];
    for (span, word) in flags.into_iter().flatten() {
        findings.push(
            Diagnostic::new(
                Code::QualifierNotAllowed,
                span,
                format!("`.{word}` is not allowed with `.{}`", reduction.ty.value),
                "for floating point only",
            )
            .label(reduction.ty.span, "the type of the reduction")
            .help(format!("remove `.{word}`, or reduce as `.f32`")),
        );
    }
}
