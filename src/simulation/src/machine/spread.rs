//! Multiplies of matrices of which some elements are not known: an element of A makes a row of D unknown, one of B a
//! column.

use ptx_numbers::{Matrix, Multiply, OldD};

/// The rows of A, or the columns of B.
pub(super) struct Lines<'a> {
    pub(super) matrix: Matrix<'a>,
    /// Which of them have elements, scale factors or metadata that are not known.
    pub(super) lost: &'a [bool],
}

/// Computes D, row by row. `known` says which of its elements are known before, and then which are known afterwards:
/// none if the arithmetic is not defined.
pub(super) fn multiply(
    arithmetic: &Multiply,
    (a, b): (&Lines<'_>, &Lines<'_>),
    d: &mut [u32],
    known: &mut [bool],
    old: OldD,
) {
    for (known, lost) in known.chunks_mut(b.lost.len().max(1)).zip(a.lost) {
        for (known, other) in known.iter_mut().zip(b.lost) {
            *known &= !(lost | other);
        }
    }
    if !known.contains(&true) {
        return;
    }
    let execute = |d: &mut [u32]| {
        arithmetic.execute(&arithmetic.rows(&a.matrix)?, &arithmetic.columns(&b.matrix)?, d, old)
    };
    if execute(d).is_err() {
        known.fill(false);
    }
}
