//! `mma`, `mma.sp` and `wmma`: what of them is computed.

#![allow(
    clippy::many_single_char_names,
    reason = "matrices and their sizes are called what the ISA calls them"
)]

use ptx_numbers::{Accumulator, Format, Instruction, Kind};

use super::arguments::Operands;
use super::{Action, Metadata, Mma, ScaleFactors, Slice, Sums, WarpFragment, WarpMatrix};
use crate::isa::generic::{
    BooleanOperator, Flag, Layout, MmaKind, Modifier, Operation, Rounding, ScaleVector, Shape, Type,
};
use crate::isa::mma_fragments::{Factor, Sum};
use crate::isa::sparsity::{Granularity, Indices};
use crate::resolve::operations::Opcode;

impl Operands<'_, '_> {
    /// The multiply; one whose results are not known if it is of a form that is not computed. Nothing if an operand is not
    /// understood. `text` is the opcode.
    pub(super) fn mma(&mut self, text: &str) -> Option<Action> {
        let Some(form) = self.form() else {
            return Some(Action::Opaque { destinations: self.destinations() });
        };
        let registers = form.registers();
        // Of halves, `wmma` has eight registers, whatever it needs: more of them repeat these.
        let is_wmma = self.opcode.operation() == Some(Operation::WmmaMma);
        let mut matrix = |name: &str, count: u32| -> Option<Slice> {
            let mut all = self.values(name)?;
            let repeats = is_wmma && matches!(name, "a" | "b") && all.len() == 8;
            if repeats {
                all.truncate(count as usize);
            }
            (all.len() as u32 == count).then(|| self.lowering.keep(&all))
        };
        let (d, a) = (matrix("d", registers[2])?, matrix("a", registers[0])?);
        let (b, c) = (matrix("b", registers[1])?, matrix("c", registers[2])?);
        let is_sparse = self.opcode.operation() == Some(Operation::MmaSp);
        let metadata = if is_sparse { Some(self.metadata(&form, text)?) } else { None };
        let is_scaled = self.opcode.has_flag(Flag::BlockScale);
        let scales = if is_scaled { Some(self.scales()?) } else { None };
        let sums = match form.sums {
            Sums::Double { .. } => Sums::Double { fma: self.fma()? },
            other => other,
        };
        Some(Action::Mma(Box::new(Mma { sums, metadata, scales, d, a, b, c, ..form })))
    }

    /// The form, without its operands.
    fn form(&self) -> Option<Mma> {
        let opcode = self.opcode;
        let is_sparse = opcode.operation() == Some(Operation::MmaSp);
        let Shape { m, n, k } = shape(opcode)?;
        let (m, n, k) = (u32::from(m), u32::from(n), u32::from(k));
        let [d, a, b, c] = match opcode.types[..] {
            // Of halves, `wmma` names the sums only.
            [d, c] => [d, Type::F16, Type::F16, c],
            [d, a, b, c] | [d, a, b, c, _] => [d, a, b, c],
            _ => return None,
        };
        let kind = opcode.modifier(|it| match it {
            Modifier::MmaKind(kind) => Some(kind),
            _ => None,
        });
        let instruction = match opcode.operation() {
            Some(Operation::WmmaMma) => Instruction::Wmma,
            _ => Instruction::MmaSync,
        };
        let (sums, bits) = match (kind, a) {
            (None, Type::F64) => (Sums::Double { fma: 0 }, 64),
            (None, Type::B1) => {
                let both = opcode.has(Modifier::BooleanOperator(BooleanOperator::And));
                (Sums::Bits { both }, 1)
            }
            _ => {
                let (kind, bits) = narrow(kind, a)?;
                let formats = [format(a)?, format(b)?];
                let accumulator = accumulator(d, c)?;
                let saturates = opcode.has_flag(Flag::Satfinite);
                (Sums::Narrow { instruction, kind, formats, accumulator, saturates }, bits)
            }
        };
        if (m, n, k, bits) == (8, 8, 4, 16) {
            return self.four_multiplies(sums);
        }
        let stored = if is_sparse { k / 2 } else { k };
        let factors = [Factor::a(m, stored, bits)?, Factor::b(n, k, bits)?];
        Some(Mma::without_operands(sums, factors, Sum::new(m, n)?))
    }

    /// `.m8n8k4` of halves: eight lanes each have matrices of their own.
    fn four_multiplies(&self, sums: Sums) -> Option<Mma> {
        let Sums::Narrow { instruction: Instruction::MmaSync, kind, formats, accumulator, saturates } = sums
        else {
            return None;
        };
        let are_halves = match accumulator {
            Accumulator::F16 => true,
            Accumulator::F32 => false,
            Accumulator::S32 => return None,
        };
        let mut layouts = self.opcode.modifiers.iter().filter_map(|placed| match placed.modifier {
            Modifier::Layout(layout) => Some(layout),
            _ => None,
        });
        let (a, b) = (layouts.next()?, layouts.next()?);
        let factors = [Factor::of_four(a == Layout::Row), Factor::of_four(b == Layout::Col)];
        let instruction = Instruction::MmaSyncM8n8k4;
        let sums = Sums::Narrow { instruction, kind, formats, accumulator, saturates };
        Some(Mma::without_operands(sums, factors, Sum::of_four(are_halves)))
    }

    /// The metadata of a sparse A.
    fn metadata(&mut self, form: &Mma, text: &str) -> Option<Metadata> {
        let selector = self.value("f")?;
        let is_ordered = text.contains("::ordered_metadata");
        let indices = if is_ordered { Indices::Ordered } else { Indices::Differing };
        Some(Metadata {
            granularity: Granularity::of_bits(form.factors[0].bits)?,
            indices,
            register: self.value("e")?,
            selector: self.lowering.number(selector)? as u32,
        })
    }

    /// The scale factors, and their format.
    fn scales(&mut self) -> Option<([ScaleFactors; 2], Format)> {
        let size = self.opcode.modifier(|it| match it {
            Modifier::ScaleVector(size) => Some(size),
            _ => None,
        });
        let is_mxf8f6f4 = self.opcode.has(Modifier::MmaKind(MmaKind::Mxf8f6f4));
        let count = match size {
            Some(ScaleVector::X1) => 1,
            Some(ScaleVector::X2) => 2,
            Some(ScaleVector::X4 | ScaleVector::Block16) => 4,
            Some(ScaleVector::Block32) | None if is_mxf8f6f4 => 1,
            Some(ScaleVector::Block32) | None => 2,
        };
        let format = match self.opcode.types.get(4)? {
            Type::Ue8m0 => Format::Ue8m0,
            Type::Ue4m3 => Format::Ue4m3,
            _ => return None,
        };
        let mut factors = |data: &str, selector: &str| {
            let [byte, thread] = self.values(selector)?[..] else { return None };
            Some(ScaleFactors { count, register: self.value(data)?, byte, thread })
        };
        let a = factors("scale-a-data", "selector-a")?;
        Some(([a, factors("scale-b-data", "selector-b")?], format))
    }

    /// The fused multiply-add of doubles that rounds as the multiply does.
    fn fma(&mut self) -> Option<u32> {
        let rounding = self.opcode.modifier(|it| match it {
            Modifier::Rounding(rounding) => Some(rounding),
            _ => None,
        });
        let name = match rounding {
            None | Some(Rounding::Rn) => "fma.rn.f64",
            Some(Rounding::Rz) => "fma.rz.f64",
            Some(Rounding::Rm) => "fma.rm.f64",
            Some(Rounding::Rp) => "fma.rp.f64",
            Some(_) => return None,
        };
        let arithmetic = Opcode::new(name).arithmetic()?.ok()?;
        self.lowering.program.arithmetics.push(arithmetic);
        Some(self.lowering.program.arithmetics.len() as u32 - 1)
    }

    /// `wmma.load`, `wmma.store`. `text` is the opcode.
    pub(super) fn warp_matrix(&mut self, text: &str) -> Option<Action> {
        let opcode = self.opcode;
        let ty = *opcode.types.first()?;
        let Shape { m, n, k } = shape(opcode)?;
        let (m, n, k, bits) = (u32::from(m), u32::from(n), u32::from(k), ty.bits()?);
        let store = opcode.operation() == Some(Operation::WmmaStore);
        let matrix = match text {
            name if name.starts_with("wmma.load.a") => WarpFragment::A(Factor::a(m, k, bits)?),
            name if name.starts_with("wmma.load.b") => WarpFragment::B(Factor::b(n, k, bits)?),
            _ => WarpFragment::Sum(Sum::new(m, n)?),
        };
        let by_rows = opcode.has(Modifier::Layout(Layout::Row));
        let registers = self.values("r")?;
        let address = self.address("p")?;
        Some(Action::WarpMatrix(Box::new(WarpMatrix {
            store,
            matrix,
            by_rows,
            stride: match self.slot("stride") {
                Some(_) => Some(self.value("stride")?),
                None => None,
            },
            address,
            space: self.space("p"),
            bits,
            registers: self.lowering.keep(&registers),
        })))
    }
}

impl Mma {
    fn without_operands(sums: Sums, factors: [Factor; 2], sum: Sum) -> Self {
        let nothing = Slice::default();
        let (metadata, scales) = (None, None);
        Self { sums, factors, sum, metadata, scales, d: nothing, a: nothing, b: nothing, c: nothing }
    }

    /// Registers of A, of B, and of C and D.
    fn registers(&self) -> [u32; 3] {
        let [a, b] = self.factors.map(Factor::registers);
        let is_packed = matches!(self.sums, Sums::Narrow { accumulator: Accumulator::F16, .. });
        [a, b, if is_packed { self.sum.elements() / 2 } else { self.sum.elements() }]
    }
}

fn shape(opcode: &Opcode) -> Option<Shape> {
    opcode.modifier(|it| match it {
        Modifier::Shape(shape) => Some(shape),
        _ => None,
    })
}

/// The kind, and the bits that an element takes in a register.
const fn narrow(kind: Option<MmaKind>, a: Type) -> Option<(Kind, u32)> {
    Some(match (kind, a) {
        (Some(MmaKind::F8f6f4), _) => (Kind::F8f6f4, 8),
        (Some(MmaKind::Mxf8f6f4), _) => (Kind::Mxf8f6f4, 8),
        (Some(MmaKind::Mxf4), _) => (Kind::Mxf4, 4),
        (Some(MmaKind::Mxf4nvf4), _) => (Kind::Mxf4nvf4, 4),
        (None, Type::F16 | Type::Bf16) => (Kind::F16, 16),
        (None, Type::Tf32) => (Kind::Tf32, 32),
        (None, Type::E4m3 | Type::E5m2) => (Kind::F8f6f4, 8),
        (None, Type::S8 | Type::U8) => (Kind::I8, 8),
        (None, Type::S4 | Type::U4) => (Kind::I8, 4),
        (None, _) => return None,
    })
}

const fn accumulator(d: Type, c: Type) -> Option<Accumulator> {
    Some(match (d, c) {
        (Type::F32, Type::F32) => Accumulator::F32,
        (Type::F16, Type::F16) => Accumulator::F16,
        (Type::S32, Type::S32) => Accumulator::S32,
        _ => return None,
    })
}

const fn format(ty: Type) -> Option<Format> {
    Some(match ty {
        Type::F16 => Format::F16,
        Type::Bf16 => Format::Bf16,
        Type::Tf32 => Format::Tf32,
        Type::E4m3 => Format::E4m3,
        Type::E5m2 => Format::E5m2,
        Type::E3m2 => Format::E3m2,
        Type::E2m3 => Format::E2m3,
        Type::E2m1 => Format::E2m1,
        Type::S8 => Format::S8,
        Type::U8 => Format::U8,
        Type::S4 => Format::S4,
        Type::U4 => Format::U4,
        _ => return None,
    })
}
