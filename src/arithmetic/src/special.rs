//! Whether an instruction makes NaN or infinity.

use super::format::Format;
use super::{Arithmetic, Kind, Lanes};

/// What is no finite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// Not a number.
    Nan,
    /// An infinity.
    Infinity,
}

/// Elements of a register: their format, how many there are, and the bits from one to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements {
    pub(super) format: Format,
    pub(super) count: u32,
    pub(super) place: u32,
}

impl Elements {
    /// Elements that stand side by side.
    pub(super) const fn packed(format: Format, count: u32) -> Self {
        Self { format, count, place: format.bits() }
    }

    /// The worst of them.
    fn special(self, register: u64) -> Option<Special> {
        let elements = (0..self.count).map(|at| register >> (at * self.place) & self.format.mask());
        elements.fold(None, |worst, bits| {
            if self.format.is_nan(bits) {
                Some(Special::Nan)
            } else if self.format.is_infinite(bits) {
                worst.or(Some(Special::Infinity))
            } else {
                worst
            }
        })
    }
}

impl Arithmetic {
    /// The first active lane in which NaN is made of operands of which none is NaN, or infinity of finite ones.
    pub fn makes_special(
        &self,
        active: u32,
        sources: &[&Lanes],
        results: &[Lanes],
    ) -> Option<(u32, Special)> {
        let (of_sources, of_result) = match &self.0 {
            Kind::Floating(instruction) => instruction.elements()?,
            Kind::Approximate(instruction) => instruction.elements(),
            Kind::Convert(instruction) => instruction.elements()?,
            Kind::Narrow(instruction) => instruction.elements()?,
            _ => return None,
        };
        let result = results.first()?;
        (0..32).filter(|lane| active >> lane & 1 != 0).find_map(|lane| {
            let made = of_result.special(result[lane as usize])?;
            let mut operands = sources.iter().zip(&of_sources);
            let is_new = operands.all(|(source, elements)| {
                let operand = elements.and_then(|elements| elements.special(source[lane as usize]));
                match made {
                    Special::Nan => operand != Some(Special::Nan),
                    Special::Infinity => operand.is_none(),
                }
            });
            is_new.then_some((lane, made))
        })
    }
}
