//! TC6: the values of descriptors, as far as their bits are known.
//!
//! The judging is done once for all rules, by [`analysis::descriptors`](crate::analysis::descriptors);
//! each rule reports its own sort of problem.

use crate::descriptor::Check;
use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code};

pub(super) mod accumulator_columns;
pub(super) mod idesc_ashift_m;
pub(super) mod idesc_k96;
pub(super) mod idesc_reserved_bits;
pub(super) mod idesc_saturate_shift;
pub(super) mod idesc_scale;
pub(super) mod idesc_shape;
pub(super) mod idesc_sparsity;
pub(super) mod idesc_transpose_negate;
pub(super) mod idesc_types;
pub(super) mod lane_alignment;
pub(super) mod smem_desc_absolute_stride;
pub(super) mod smem_desc_alignment;
pub(super) mod smem_desc_fixed_bits;
pub(super) mod smem_desc_swizzle;
pub(super) mod smem_desc_swizzle_type;
pub(super) mod sparsity_selector;
pub(super) mod swizzle_start;
pub(super) mod swizzled_copy_start;
pub(super) mod swizzled_stride;
pub(super) mod transposed_a_in_tensor_memory;
pub(super) mod zero_column_mask;

/// Reports the problems of one sort.
fn report(checker: &Checker<'_>, check: Check, findings: &mut Findings<'_>) {
    let code = Code::of_descriptors(check);
    for multiply in checker.descriptors.iter().filter(|it| it.is_wrong) {
        let decoded = &checker.instructions[multiply.instruction];
        for (descriptor, call) in multiply.wrong() {
            let mut problems = descriptor.problems_of(check).peekable();
            while let Some((problem, target)) = problems.next() {
                let mut finding = Diagnostic::new(
                    code,
                    descriptor.span,
                    format!("`{}`: {}", descriptor.name, problem.summary()),
                    problem.found(),
                )
                .origins(&descriptor.origins);
                // Types that do not go together are one mistake.
                while let Some((more, _)) =
                    problems.next_if(|(_, other)| check == Check::Types && other == target)
                {
                    finding = finding.label(descriptor.span, format!("and {}", more.summary()));
                }
                let finding = match call {
                    Some(call) => {
                        let call = checker.unit.module.instructions[call as usize].opcode;
                        finding.label(call, "this call passes it")
                    }
                    None => finding,
                };
                let name = checker.unit.source.slice(decoded.name);
                let all = match descriptor.word.constant(descriptor.width) {
                    Some(word) => format!(
                        "the whole word is {word:#0width$x}; ",
                        width = descriptor.width as usize / 4 + 2
                    ),
                    None => String::new(),
                };
                let finding = match target {
                    Some(target) => {
                        finding.note(format!("checked for {target}; other targets may accept it"))
                    }
                    None => finding,
                };
                findings.push(finding.help(format!(
                    "{all}see {} for what `{name}` takes; `ptx-tc decode` shows every field",
                    problem.reference
                )));
            }
        }
    }
}
