//! `prmt`: four bytes of eight.

use super::lanes::map3;
use super::{Decoded, Lanes};
use crate::Integer;
use crate::Opcode;
use crate::domain::{Composing, Domain, Function};
use ptx_isa::generic::{Modifier, PermuteMode};

#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    mode: Option<PermuteMode>,
}

impl Instruction {
    #[allow(clippy::unnecessary_wraps, reason = "as the other parts do")]
    pub(super) fn of(opcode: &Opcode<'_>) -> Decoded<Self> {
        let mode = opcode.modifier(|modifier| match modifier {
            Modifier::PermuteMode(mode) => Some(mode),
            _ => None,
        });
        Ok(Self { mode })
    }

    /// What it makes of the values of a domain.
    pub(super) fn compose<D: Domain>(self, of: &mut Composing<'_, D>) -> Option<D::Value> {
        let Some(mode) = self.mode else { return of.of_sources(Function::Permute, Integer::U32, 3) };
        let selector = selectors(mode)[(of.known(2, 2)? & 3) as usize];
        let (a, b, selector) = (of.source(0)?, of.source(1)?, of.number(selector));
        Some(of.of(Function::Permute, Integer::U32, &[a, b, selector]))
    }

    pub(super) fn execute(self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        match self.mode {
            None => map3(active, sources, destinations, |a, b, c| pick(a, b, c & 0xFFFF)),
            Some(mode) => {
                let selectors = selectors(mode);
                map3(active, sources, destinations, |a, b, c| pick(a, b, selectors[(c & 3) as usize]));
            }
        }
    }
}

/// The bytes that four digits name; the highest bit of a digit spreads the byte's sign.
fn pick(a: u64, b: u64, selector: u64) -> u64 {
    let bytes = (b << 32 | a & 0xFFFF_FFFF).to_le_bytes();
    let picked = std::array::from_fn(|index| {
        let digit = selector >> (4 * index);
        let byte = bytes[(digit & 7) as usize];
        if digit & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 }
    });
    u64::from(u32::from_le_bytes(picked))
}

/// The digits that a mode stands for, by the two bits of the third source.
const fn selectors(mode: PermuteMode) -> [u64; 4] {
    match mode {
        PermuteMode::F4e => [0x3210, 0x4321, 0x5432, 0x6543],
        PermuteMode::B4e => [0x5670, 0x6701, 0x7012, 0x0123],
        PermuteMode::Rc8 => [0x0000, 0x1111, 0x2222, 0x3333],
        PermuteMode::Ecl => [0x3210, 0x3211, 0x3222, 0x3333],
        PermuteMode::Ecr => [0x0000, 0x1110, 0x2210, 0x3210],
        PermuteMode::Rc16 => [0x1010, 0x3232, 0x1010, 0x3232],
    }
}
