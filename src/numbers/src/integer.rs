//! Tiles of integers.

use crate::lanes::W;
use crate::multiply::OldD;
use crate::operand::{Columns, Rows};

/// The sums of products and the old D: exact, then clamped to 32 bits, or the low 32 bits of them.
pub(crate) fn tile((a, b): (&Rows, &Columns), d: &mut [u32], old: OldD, saturate: bool) {
    for block in 0..b.count.div_ceil(W) {
        let columns = block * W..(block * W + W).min(b.count);
        for row in 0..a.count {
            let d = &mut d[row * b.count..][columns.clone()];
            let total = sums((a, row), (b, block));
            for (d, total) in d.iter_mut().zip(total) {
                let old = match old {
                    OldD::Zero => 0,
                    OldD::Read { .. } => d.cast_signed(),
                };
                // The products alone fit: K is at most 256.
                let total = if saturate { old.saturating_add(total) } else { old.wrapping_add(total) };
                *d = total.cast_unsigned();
            }
        }
    }
}

fn sums((a, row): (&Rows, usize), (b, block): (&Columns, usize)) -> [i32; W] {
    let factors = &a.integers[row * a.k..][..a.k];
    let columns = &b.integers[block * b.k..][..b.k];
    let mut total = [0; W];
    let mut add = |factor: i16, columns: &[i16; W]| {
        for j in 0..W {
            total[j] += i32::from(factor) * i32::from(columns[j]);
        }
    };
    match &a.indices {
        None => factors.iter().zip(columns).for_each(|(&factor, columns)| add(factor, columns)),
        Some(indices) => {
            let indices = &indices[row * a.k..][..a.k];
            factors.iter().zip(indices).for_each(|(&factor, &at)| add(factor, &columns[usize::from(at)]));
        }
    }
    total
}
