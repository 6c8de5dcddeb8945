//! Where NaN and infinity are made.

use ptx_numbers::{Accumulator, Format, Multiply, OldD};

use super::Machine;
use super::spread::Lines;
use crate::arithmetic::Special;
use crate::diagnostic::Code;
use crate::findings::Finding;

/// Where in D a multiply makes one: a row, a column, and what.
pub(super) type Made = (usize, usize, Special);

impl Machine<'_> {
    /// An instruction makes NaN or infinity, somewhere that the remark says.
    pub(super) fn report_special(&mut self, step: u32, special: Special, place: &str) {
        let (message, what) = match special {
            Special::Nan => ("NaN is made here: no operand is NaN", "NaN"),
            Special::Infinity => ("infinity is made here: all operands are finite", "infinite"),
        };
        let finding = Finding::new(Code::NanOrInfinity, step, message, format!("{place} is {what}"));
        self.report(finding.help(match special {
            Special::Nan => {
                "look for a difference or a quotient of infinities, 0 / 0, or the root of a negative number"
            }
            Special::Infinity => {
                "look for a result that its type cannot hold, a quotient by 0, or the logarithm of 0"
            }
        }));
    }
}

/// The first element of D that a multiply makes NaN although nothing that goes into it is, or infinite although all of
/// that is finite. `before` is the old D.
pub(super) fn made_by_multiply(
    arithmetic: &Multiply,
    (a, b): (&Lines<'_>, &Lines<'_>),
    (before, d): (&[u32], &[u32]),
    known: &[bool],
    old: OldD,
) -> Option<Made> {
    let format = match arithmetic.accumulator {
        Accumulator::F32 => Format::F32,
        Accumulator::F16 => Format::F16,
        Accumulator::S32 => return None,
    };
    let columns = b.lost.len().max(1);
    let special = |bits: u32| {
        let value = format.decode(bits);
        if value.is_nan() { Some(Special::Nan) } else { value.is_infinite().then_some(Special::Infinity) }
    };
    (0..d.len()).filter(|at| known[*at]).find_map(|at| {
        let made = special(d[at])?;
        let (row, column) = (at / columns, at % columns);
        let was = if old == OldD::Zero { None } else { special(before[at]) };
        // What an operand has is passed on.
        let is_new = was.is_none()
            && a.matrix.is_finite(row, arithmetic.a, arithmetic.scale)
            && b.matrix.is_finite(column, arithmetic.b, arithmetic.scale);
        is_new.then_some((row, column, made))
    })
}
