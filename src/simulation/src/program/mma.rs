//! `mma.sync`: what of it is computed.

use ptx_numbers::{Accumulator, Format, Kind};

use super::arguments::Operands;
use super::{Action, Mma};
use crate::isa::generic::{Flag, MmaKind, Modifier, Type};
use crate::isa::mma_fragments::Fragments;

impl Operands<'_, '_> {
    /// The multiply; one whose results are not known if it is of a form that is not computed: of doubles and single
    /// bits, of formats of 4 and 6 bits, of quarters of a warp, with scales. Nothing if an operand is not understood.
    pub(super) fn mma(&mut self) -> Option<Action> {
        match self.form() {
            Some(form) => {
                let mut operand = |name: &str| {
                    let all = self.values(name)?;
                    Some(self.lowering.keep(&all))
                };
                let (d, a) = (operand("d")?, operand("a")?);
                let (b, c) = (operand("b")?, operand("c")?);
                let fits = a.len == form.fragments.registers_of_a()
                    && b.len == form.fragments.registers_of_b()
                    && d.len == form.registers_of_d()
                    && c.len == form.registers_of_d();
                fits.then(|| Action::Mma(Box::new(Mma { d, a, b, c, ..form })))
            }
            None => Some(Action::Opaque { destinations: self.destinations() }),
        }
    }

    /// The form, without its operands.
    fn form(&self) -> Option<Mma> {
        let opcode = self.opcode;
        let [d, a, b, c] = opcode.types[..] else { return None };
        let shape = opcode.modifier(|it| match it {
            Modifier::Shape(shape) => Some(shape),
            _ => None,
        })?;
        let written = opcode.modifier(|it| match it {
            Modifier::MmaKind(kind) => Some(kind),
            _ => None,
        });
        let (kind, bits) = match (written, a) {
            // Narrow formats lie in bytes.
            (Some(MmaKind::F8f6f4), _) => (Kind::F8f6f4, 8),
            (Some(MmaKind::Mxf8f6f4 | MmaKind::Mxf4 | MmaKind::Mxf4nvf4), _) => return None,
            (None, Type::F16 | Type::Bf16) => (Kind::F16, 16),
            (None, Type::Tf32) => (Kind::Tf32, 32),
            (None, Type::E4m3 | Type::E5m2) => (Kind::F8f6f4, 8),
            (None, Type::S8 | Type::U8) => (Kind::I8, 8),
            (None, Type::S4 | Type::U4) => (Kind::I8, 4),
            (None, _) => return None,
        };
        let accumulator = match (d, c) {
            (Type::F32, Type::F32) => Accumulator::F32,
            (Type::F16, Type::F16) => Accumulator::F16,
            (Type::S32, Type::S32) => Accumulator::S32,
            _ => return None,
        };
        let nothing = super::Slice::default();
        Some(Mma {
            kind,
            formats: [format(a)?, format(b)?],
            accumulator,
            fragments: Fragments::new(shape.m.into(), shape.n.into(), shape.k.into(), bits)?,
            saturates: opcode.has_flag(Flag::Satfinite),
            d: nothing,
            a: nothing,
            b: nothing,
            c: nothing,
        })
    }
}

impl Mma {
    /// Registers of C and D in each lane.
    pub(crate) const fn registers_of_d(&self) -> u32 {
        match self.accumulator {
            Accumulator::F32 | Accumulator::S32 => self.fragments.elements_of_d(),
            Accumulator::F16 => self.fragments.elements_of_d() / 2,
        }
    }
}

/// A format whose elements are as wide as their place in a register: of the others it is not known here which bits of a
/// byte they take.
const fn format(ty: Type) -> Option<Format> {
    Some(match ty {
        Type::F16 => Format::F16,
        Type::Bf16 => Format::Bf16,
        Type::Tf32 => Format::Tf32,
        Type::E4m3 => Format::E4m3,
        Type::E5m2 => Format::E5m2,
        Type::S8 => Format::S8,
        Type::U8 => Format::U8,
        Type::S4 => Format::S4,
        Type::U4 => Format::U4,
        _ => return None,
    })
}
