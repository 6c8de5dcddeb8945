//! TC8: who issues an instruction (9.7.16.5).

use crate::analysis::reached::Reached;
use crate::diagnostic::Diagnostic;

pub(super) mod aligned_in_one_thread;
pub(super) mod aligned_in_part_of_warp;
pub(super) mod allocated_by_every_warp;
pub(super) mod issued_by_every_thread;
pub(super) mod issued_by_several_threads;
pub(super) mod operand_differs_in_warp;
pub(super) mod pair_in_one_cta;
pub(super) mod pair_multiplied_twice;
pub(super) mod pair_not_synchronised;

/// A finding with the calls that lead to the instruction which it is about.
fn through_calls(finding: Diagnostic, reached: &Reached<'_>) -> Diagnostic {
    let source = &reached.flow().unit.source;
    reached.calls().fold(finding, |finding, (call, callee)| {
        finding.label(call, format!("`{}` is called here", source.slice(callee)))
    })
}
