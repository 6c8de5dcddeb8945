//! Two operands of which each stands where the other belongs.

use smallvec::SmallVec;

use super::align::accepts;
use super::{Bound, Decoded, Value};
use crate::instruction::form::{Problem, Qualifiers};
use crate::instruction::types;

/// Says of two operands that do not fit that they are exchanged, where that is all that is wrong with
/// them: in each other's position both fit, and no other two operands do.
pub(super) fn find(decoded: &mut Decoded<'_>) {
    let qualifiers = &decoded.qualifiers;
    let operands = &decoded.operands;
    let is_wrong = |bound: &&Bound<'_>| !(bound.fits && bound.is_typed);
    if operands.iter().filter(is_wrong).nth(1).is_none() {
        return;
    }
    let may_belong = |index: &usize| {
        let bound = &operands[*index];
        is_wrong(&bound)
            && !matches!(bound.value, Value::Other(_))
            && bound.slot.when.holds(&qualifiers.words())
    };
    let wrong: SmallVec<[usize; 4]> = (0..operands.len()).filter(may_belong).collect();
    let pairs = wrong.iter().enumerate().flat_map(|(index, left)| {
        let behind = wrong[index + 1..].iter();
        behind.map(|right| (*left, *right))
    });
    let mut pairs = pairs.filter(|(left, right)| {
        let (left, right) = (&operands[*left], &operands[*right]);
        belongs(left, right, qualifiers) && belongs(right, left, qualifiers)
    });
    let (Some((left, right)), None) = (pairs.next(), pairs.next()) else { return };
    let spans = [operands[left].span, operands[right].span];
    let slots = [operands[left].slot, operands[right].slot];
    decoded.problems.retain(|problem| match problem {
        Problem::Kind { span, .. } => !spans.contains(span),
        _ => true,
    });
    decoded.problems.push(Problem::Exchanged { spans, slots });
    for index in [left, right] {
        decoded.operands[index].fits = false;
    }
}

/// Whether an operand fits where another one stands.
fn belongs(operand: &Bound<'_>, place: &Bound<'_>, qualifiers: &Qualifiers) -> bool {
    accepts(place.slot, qualifiers, &operand.value, operand.span).is_ok()
        && types::fit(place.slot, &operand.value)
}
