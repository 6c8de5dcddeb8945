//! `cvt.pack`: integers cut to what is asked for, side by side.

use super::lanes::each;
use super::{Decoded, FOREIGN_TYPE, Integer, Lanes, UNTYPED};
use crate::Opcode;
use ptx_isa::generic::Operation;

#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    ty: Integer,
    /// Whether the third source moves up to make room.
    merges: bool,
}

impl Instruction {
    pub(super) fn of(operation: Operation, opcode: &Opcode<'_>) -> Decoded<Self> {
        let ty = *opcode.types.first().ok_or(UNTYPED)?;
        let (ty, _) = Integer::elements(ty).ok_or(FOREIGN_TYPE)?;
        Ok(Self { ty, merges: operation == Operation::CvtPackMerge })
    }

    pub(super) fn execute(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let ([a, b, rest @ ..], [d, ..]) = (sources, destinations) else { return };
        let from = Integer { bits: 32, signed: true };
        let Integer { bits, .. } = self.ty;
        each(active, |lane| {
            let [high, low] = [a, b].map(|source| self.ty.saturated(from.value(source[lane])));
            let rest = match rest.first() {
                Some(c) if self.merges => c[lane] << (2 * bits) & Integer::U32.mask(),
                _ => 0,
            };
            d[lane] = rest | high << bits | low;
        });
    }
}
