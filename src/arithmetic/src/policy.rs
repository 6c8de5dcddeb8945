//! Cache policies: `createpolicy.fractional`.

use super::lanes::each;
use super::{Decoded, INCOMPLETE, Lanes};
use crate::Opcode;
use ptx_isa::generic::{L2Eviction, Modifier};

/// The word but for the fraction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction(u64);

impl Instruction {
    pub(super) fn of(opcode: &Opcode<'_>) -> Decoded<Self> {
        let mut priorities = opcode.qualifiers.iter().filter_map(|qualifier| match *qualifier {
            Modifier::L2Eviction(eviction) => Some(eviction),
            _ => None,
        });
        let first = match priorities.next().ok_or(INCOMPLETE)? {
            L2Eviction::EvictUnchanged => 0x10,
            L2Eviction::EvictFirst => 0x12,
            L2Eviction::EvictLast => 0x14,
            L2Eviction::EvictNormal => 0x16,
        };
        let rest = u64::from(priorities.next() == Some(L2Eviction::EvictFirst));
        Ok(Self((first | rest) << 56))
    }

    pub(super) fn execute(self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let [d, ..] = destinations else { return };
        each(active, |lane| {
            // In sixteenths, of which there is at least one.
            let fraction = sources.first().map_or(1.0, |fraction| f32::from_bits(fraction[lane] as u32));
            let sixteenths = ((fraction * 16.0).ceil() - 1.0).clamp(0.0, 15.0) as u64;
            d[lane] = self.0 | sixteenths << 52;
        });
    }
}
