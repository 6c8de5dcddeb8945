//! What the hardware is given.

use ptx_check::isa::generic::{Interpretation, Type};

/// Numbers that look random, the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: &str) -> Self {
        Self(seed.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        }))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn pick(&mut self, choices: &[u64]) -> u64 {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// A value of a type; `before` is the source to its left.
    pub(crate) fn value(&mut self, ty: Type, before: Option<u64>) -> u64 {
        let (element, count, bits) = elements(ty);
        let place = bits / count;
        (0..count).fold(0, |sum, index| {
            let before = before.map(|before| before >> (index * place));
            sum | (self.element(element, place, before) & ones(place)) << (index * place)
        })
    }

    fn element(&mut self, element: Element, bits: u32, before: Option<u64>) -> u64 {
        // Sums that nearly vanish, and equal operands.
        if let Some(before) = before
            && self.below(8) == 0
        {
            let sign = if self.below(2) == 0 { 0 } else { 1 << (bits - 1) };
            return (before ^ sign).wrapping_add(self.pick(&[0, 0, 1, u64::MAX]));
        }
        match element {
            Element::Integer => match self.below(4) {
                0 => {
                    let top = 1_u64 << (bits - 1);
                    self.pick(&[0, 1, 2, 3, top, top - 1, top + 1, u64::MAX, u64::MAX - 1, ones(bits / 2)])
                }
                // What shifts and positions want.
                1 => self.below(72),
                2 => self.next() >> self.below(u64::from(bits)) >> (64 - bits),
                _ => self.next(),
            },
            Element::Float { exponent, fraction } => self.float(exponent, fraction),
        }
    }

    fn float(&mut self, exponent: u32, fraction: u32) -> u64 {
        let top_exponent = ones(exponent);
        let one = (top_exponent >> 1) << fraction;
        let infinity = top_exponent << fraction;
        let hidden = 1_u64 << fraction;
        let sign = self.below(2) << (exponent + fraction);
        let magnitude = match self.below(8) {
            0 => self.pick(&[0, 0, 1, hidden - 1, hidden, hidden + 1, infinity - 1, infinity]),
            1 => self.pick(&[
                one,
                one + 1,
                one - 1,
                one + hidden / 2,
                one - hidden,
                one + hidden,
                one - hidden / 2,
                infinity + 1,
                infinity | (hidden / 2),
                infinity | (hidden - 1),
                infinity | (hidden / 2) | 5,
                // What stands for out of bounds in halves.
                infinity | (hidden - 1) & !8,
                infinity | (hidden - 1) & !8,
            ]),
            2 => self.next() & ones(fraction),
            // Near one, so that sums and powers stay in range.
            3 | 4 => {
                let near = one + (self.below(17) << fraction) - (8 << fraction).min(one);
                near.min(infinity - hidden) | self.next() & ones(fraction)
            }
            // Few digits: halfway cases, whole numbers and halves.
            5 => {
                let digits = self.next() & ones(fraction) & !ones((fraction * 3 / 4).min(fraction - 1));
                let near = one + (self.below(u64::from(fraction).min(top_exponent / 2)) << fraction);
                near | digits
            }
            _ => self.next() & ones(exponent + fraction),
        };
        sign | magnitude
    }
}

pub(crate) const fn ones(count: u32) -> u64 {
    if count == 0 { 0 } else { u64::MAX >> (64 - count) }
}

#[derive(Clone, Copy)]
enum Element {
    Integer,
    Float { exponent: u32, fraction: u32 },
}

/// What a register of a type is made of, how many, and all their bits.
fn elements(ty: Type) -> (Element, u32, u32) {
    let float = |exponent, fraction| Element::Float { exponent, fraction };
    match ty {
        Type::Pred => (Element::Integer, 1, 1),
        Type::F16 => (float(5, 10), 1, 16),
        Type::F16x2 => (float(5, 10), 2, 32),
        Type::Bf16 => (float(8, 7), 1, 16),
        Type::Bf16x2 => (float(8, 7), 2, 32),
        Type::F32 => (float(8, 23), 1, 32),
        Type::F64 => (float(11, 52), 1, 64),
        Type::E4m3x2 => (Element::Integer, 2, 16),
        Type::E5m2x2 => (Element::Integer, 2, 16),
        Type::U16x2 | Type::S16x2 => (Element::Integer, 2, 32),
        _ if ty.interpretation() == Interpretation::Predicate => (Element::Integer, 1, 1),
        _ => (Element::Integer, 1, ty.bits().unwrap_or(32).min(64)),
    }
}
