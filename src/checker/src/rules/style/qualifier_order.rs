use smallvec::SmallVec;

use crate::diagnostic::{Applicability, Diagnostic, Edit, Findings, Fix};
use crate::instruction::decode::Decoded;
use crate::isa::vocabulary::{Operation, Qualifier, Slot};
use crate::rules::{Checker, Code, rule};
use crate::source::{Span, Spanned};

rule! {
    /// ## What it does
    /// Finds qualifiers that are not in the order in which the ISA lists them.
    ///
    /// ## Why is this bad?
    /// The assembler accepts the qualifiers after the name of an operation in any order. A fixed order
    /// makes instructions easy to compare and to search for.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.kind::f16.cta_group::1 [taddr], adesc, bdesc, idesc, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, idesc, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, the *Syntax* of sections 9.7.16.7 to 9.7.16.12
    QualifierOrder Statement check
}

/// Pairs whose order the assembler minds; other rules speak of them.
const ORDERED: &[(Slot, Slot)] = &[(Slot::DstFormat, Slot::SrcFormat), (Slot::DataType, Slot::MetadataType)];

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for decoded in checker.out_of_order() {
        if decoded.problems.is_empty() && decoded.instruction.is_some() {
            findings.extend(judge(decoded));
        }
    }
}

fn judge(decoded: &Decoded<'_>) -> Option<Diagnostic> {
    let form = decoded.form?;
    let order: SmallVec<[Slot; 16]> = form.qualifiers.iter().map(|slot| slot.slot).collect();
    let written: SmallVec<[Spanned<Qualifier>; 16]> = decoded.qualifiers.iter().collect();
    let rank = |qualifier: &Spanned<Qualifier>| rank(&order, *qualifier);
    if written.is_sorted_by_key(rank)
        || written.iter().any(|qualifier| rank(qualifier).is_none())
        || is_ordered_as_in_example(form.operation, &order, &written)
    {
        return None;
    }
    let start = |slot: Slot| decoded.qualifiers.in_slot(slot).map(|qualifier| qualifier.span.start);
    let means_something_else = |(first, second): &(Slot, Slot)| matches!((start(*first), start(*second)), (Some(first), Some(second)) if second < first);
    if ORDERED.iter().any(means_something_else) {
        return None;
    }
    let mut sorted = written.clone();
    sorted.sort_by_key(rank);
    // Each position gets another qualifier; white space and comments between them stay.
    let edits: Vec<Edit> = written
        .iter()
        .zip(&sorted)
        .filter(|(place, word)| place.value != word.value)
        .map(|(place, word)| Edit { span: place.span, text: format!(".{}", word.value.spelling()) })
        .collect();
    let (first, last) = (edits.first()?.span, edits.last()?.span);
    let words: String = sorted.iter().flat_map(|word| [".", word.value.spelling()]).collect();
    Some(
        Diagnostic::new(
            Code::QualifierOrder,
            Span::new(first.start, last.end),
            "qualifiers are not in the ISA's order",
            format!("the order is `{words}`"),
        )
        .help(format!("write `tcgen05.{}{words}`", form.operation))
        .fix(Some(Fix {
            applicability: Applicability::Safe,
            title: "Put the qualifiers in order".to_owned(),
            edits,
        })),
    )
}

fn rank(order: &[Slot], qualifier: Spanned<Qualifier>) -> Option<usize> {
    order.iter().position(|slot| *slot == qualifier.value.slot())
}

/// Where the ISA's own examples have another order than its syntax, that one is the ISA's, too: the
/// type before the reduction of `ld.red`, and `shift.down.cta_group::1`.
fn is_ordered_as_in_example(operation: Operation, order: &[Slot], written: &[Spanned<Qualifier>]) -> bool {
    let (slot, before) = match operation {
        Operation::LdRed => (Slot::DataType, Slot::RedOp),
        Operation::Shift => (Slot::Direction, Slot::CtaGroup),
        _ => return false,
    };
    let mut order: Vec<Slot> = order.iter().copied().filter(|it| *it != slot).collect();
    let Some(place) = order.iter().position(|it| *it == before) else { return false };
    order.insert(place, slot);
    written.is_sorted_by_key(|qualifier| rank(&order, *qualifier))
}
