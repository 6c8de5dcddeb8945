//! A multiply: what an instruction and its descriptor say of it, and its execution.

use std::fmt;

use crate::accumulator::{Terms, nearest};
use crate::convert::{Overflow, Rounding};
use crate::format::Format;
use crate::operand::{Columns, Matrix, Needs, Rows};
use crate::rounded::{self, Order};
use crate::rule::{
    Accumulator, Arithmetic, Evidence, FusedSum, Instruction, Kind, RULES, Rule, SPARSE_ON_H200, Target,
};
use crate::{fused, grouped, integer};

/// A matrix multiply of the tensor core. One execution is one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiply {
    /// The instruction.
    pub instruction: Instruction,
    /// Its kind.
    pub kind: Kind,
    /// The target, without which the arithmetic is not known.
    pub target: Target,
    /// The format of A.
    pub a: Format,
    /// The format of B.
    pub b: Format,
    /// The format of the scales of both, if the kind has scales.
    pub scale: Option<Format>,
    /// The format of D.
    pub accumulator: Accumulator,
    /// Whether the elements of A are negated.
    pub negate_a: bool,
    /// Whether the elements of B are negated.
    pub negate_b: bool,
    /// Whether an integer sum is clamped to 32 bits.
    pub saturate: bool,
}

/// The old D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldD {
    /// It is not read (`enable-input-d` is false): D = A * B.
    Zero,
    /// D = A * B + D * 2^-`scale`. `scale` is `scale-input-d`, 0 to 15, or 0 for an instruction without one.
    ///
    /// How the tensor core scales is not known. It is assumed that only the exponent of the term changes.
    Read {
        /// By how much D is scaled.
        scale: u8,
    },
}

/// A form of an instruction. All have the same arithmetic, which has been recorded or modelled for one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Dense, of one CTA, with the smallest K of its kind.
    Plain,
    /// `.sp`.
    Sparse,
    /// `.ws`.
    WeightStationary,
    /// `.cta_group::2`.
    CtaPair,
    /// A larger K, as K = 96 of `.kind::mxf4`.
    OtherK,
}

/// Why a multiply is not computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No row of [`RULES`] applies.
    Unknown,
    /// A slice does not have the length that the shape says.
    Length,
    /// A and B are not those of this multiply: format, K or the number of scales.
    Operands,
    /// K is not one that the arithmetic is defined for, or is larger than 256.
    K,
    /// An index of a sparse A is outside B.
    Index,
    /// `scale-input-d` is larger than 15, or the D is not of floating point.
    Scale,
}

/// Of so many products in a row, the first half is in the first half of all.
const OF_FOUR: usize = 4;

/// The largest K.
const LARGEST_K: usize = 256;

/// The most products of the fp8 forms of `mma.sync` that have no unit of their own.
const TWO_HALVES: usize = 32;

impl Multiply {
    /// A `tcgen05.mma`. Kinds with scales have `Ue8m0`; set the field `scale` for another one.
    pub const fn tcgen05(kind: Kind, target: Target, a: Format, b: Format, accumulator: Accumulator) -> Self {
        Self::new(Instruction::Tcgen05Mma, kind, target, a, b, accumulator)
    }

    /// A `mma.sync`, likewise.
    pub const fn mma_sync(
        kind: Kind,
        target: Target,
        a: Format,
        b: Format,
        accumulator: Accumulator,
    ) -> Self {
        Self::new(Instruction::MmaSync, kind, target, a, b, accumulator)
    }

    const fn new(
        instruction: Instruction,
        kind: Kind,
        target: Target,
        a: Format,
        b: Format,
        accumulator: Accumulator,
    ) -> Self {
        let scale = match kind {
            Kind::Tf32 | Kind::F16 | Kind::F8f6f4 | Kind::I8 => None,
            Kind::Mxf8f6f4 | Kind::Mxf4 | Kind::Mxf4nvf4 => Some(Format::Ue8m0),
        };
        let (negate_a, negate_b, saturate) = (false, false, false);
        Self { instruction, kind, target, a, b, scale, accumulator, negate_a, negate_b, saturate }
    }

    /// The arithmetic that applies, and who vouches for it.
    pub fn rule(&self) -> Result<&'static Rule, Error> {
        let instruction = match self.instruction {
            Instruction::Wmma if self.kind != Kind::Tf32 => Instruction::MmaSync,
            other => other,
        };
        let mut rules = RULES.iter().filter(|rule| {
            rule.instruction == instruction
                && rule.kind == self.kind
                && rule.accumulator == self.accumulator
                && rule.targets.contains(&self.target)
                && rule.covers(self.a, self.b, self.scale)
        });
        rules.next().ok_or(Error::Unknown)
    }

    /// Who vouches for the arithmetic in a form of the instruction.
    pub fn evidence(&self, form: Form) -> Result<Evidence, Error> {
        let evidence = self.rule()?.evidence;
        if self.kind == Kind::F16 && self.a != self.b {
            return Ok(Evidence::Assumed { because: "f16 by f16 and bf16 by bf16 are computed so" });
        }
        let is_measured = self.instruction == Instruction::MmaSync && self.target == Target::Sm90;
        Ok(match form {
            Form::Plain => evidence,
            Form::Sparse if is_measured => SPARSE_ON_H200,
            Form::Sparse | Form::WeightStationary | Form::CtaPair | Form::OtherK => {
                Evidence::Assumed { because: "the plain form computes so" }
            }
        })
    }

    /// Decodes A: M rows of K elements, or of those K elements that a sparse A has.
    pub fn rows(&self, matrix: &Matrix<'_>) -> Result<Rows, Error> {
        let arithmetic = self.check(matrix)?;
        if !matches!(arithmetic, Arithmetic::TwoHalves(_)) {
            return Ok(Rows::new(self.a, self.scale, matrix, needs(arithmetic)));
        }
        if matrix.k > TWO_HALVES {
            return Err(Error::K);
        }
        // The first half of the elements, and then the second one: B stays as it is.
        let halves = halves(matrix.k);
        let place = |at: usize| at / matrix.k * matrix.k + halves[at % matrix.k];
        let codes: Vec<u32> = as_halves(self.a, matrix.codes);
        let codes: Vec<u32> = (0..codes.len()).map(|at| codes[place(at)]).collect();
        let index = |at: usize| match matrix.indices {
            Some(indices) => indices[place(at)],
            None => halves[at % matrix.k] as u16,
        };
        let indices: Vec<u16> = (0..codes.len()).map(index).collect();
        let reordered = Matrix { codes: &codes, indices: Some(&indices), ..*matrix };
        let rows = Rows::new(Format::F16, self.scale, &reordered, needs(arithmetic));
        Ok(Rows { format: self.a, is_sparse: matrix.indices.is_some(), ..rows })
    }

    /// Decodes B: N columns of K elements.
    pub fn columns(&self, matrix: &Matrix<'_>) -> Result<Columns, Error> {
        let arithmetic = self.check(matrix)?;
        if matrix.indices.is_some() {
            return Err(Error::Index);
        }
        if !matches!(arithmetic, Arithmetic::TwoHalves(_)) {
            return Ok(Columns::new(self.b, self.scale, matrix, needs(arithmetic)));
        }
        let codes = as_halves(self.b, matrix.codes);
        let columns =
            Columns::new(Format::F16, self.scale, &Matrix { codes: &codes, ..*matrix }, needs(arithmetic));
        Ok(Columns { format: self.b, ..columns })
    }

    fn check(&self, matrix: &Matrix<'_>) -> Result<Arithmetic, Error> {
        let arithmetic = self.rule()?.arithmetic;
        matrix.check()?;
        let group = match arithmetic {
            Arithmetic::Fused(_) | Arithmetic::OneByOne | Arithmetic::InPairs | Arithmetic::Integer => {
                matrix.k <= LARGEST_K
            }
            Arithmetic::Grouped(_) => matrix.k <= LARGEST_K && matrix.k.is_multiple_of(grouped::GROUP),
            // B of a sparse multiply has twice as many.
            Arithmetic::TwoHalves(_) => matrix.k <= 2 * TWO_HALVES && matrix.k.is_multiple_of(OF_FOUR),
        };
        if !group {
            return Err(Error::K);
        }
        if self.scale.is_some() == matrix.scales.is_empty() && matrix.count > 0 {
            return Err(Error::Length);
        }
        Ok(arithmetic)
    }

    /// Computes D = A * B, or A * B + D.
    ///
    /// `d` has the bits of M rows of N elements, one row after the other. On an error it is unchanged.
    pub fn execute(&self, a: &Rows, b: &Columns, d: &mut [u32], old: OldD) -> Result<(), Error> {
        let arithmetic = self.rule()?.arithmetic;
        self.compare(a, b)?;
        if a.count.checked_mul(b.count) != Some(d.len()) {
            return Err(Error::Length);
        }
        if let OldD::Read { scale } = old
            && scale > if self.accumulator == Accumulator::S32 { 0 } else { 15 }
        {
            return Err(Error::Scale);
        }
        let negate = self.negate_a != self.negate_b;
        match arithmetic {
            Arithmetic::Fused(sum) => steps(sum, (a, b), d, old, negate),
            Arithmetic::Grouped(sum) => grouped::tile(sum, (a, b), d, old, negate),
            Arithmetic::TwoHalves(sum) => two_halves(sum, (a, b), d, old, negate),
            Arithmetic::OneByOne => rounded::tile(Order::All, (a, b), d, old, negate),
            Arithmetic::InPairs => rounded::tile(Order::Pairs, (a, b), d, old, negate),
            Arithmetic::Integer => integer::tile((a, b), d, old, self.saturate),
        }
        Ok(())
    }

    fn compare(&self, a: &Rows, b: &Columns) -> Result<(), Error> {
        let is_own =
            a.format == self.a && b.format == self.b && a.scale == self.scale && b.scale == self.scale;
        if !a.is_sparse && a.k != b.k {
            return Err(Error::Operands);
        }
        match &a.indices {
            Some(indices) if indices.iter().any(|&index| usize::from(index) >= b.k) => {
                return Err(Error::Index);
            }
            None | Some(_) => {}
        }
        let is_scaled = a.count == 0 || b.count == 0 || a.blocks == b.blocks;
        if is_own && is_scaled { Ok(()) } else { Err(Error::Operands) }
    }
}

fn needs(arithmetic: Arithmetic) -> Needs {
    match arithmetic {
        Arithmetic::Fused(_) | Arithmetic::TwoHalves(_) | Arithmetic::OneByOne | Arithmetic::InPairs => {
            Needs::Floats
        }
        Arithmetic::Grouped(_) => Needs::Halves,
        Arithmetic::Integer => Needs::Integers,
    }
}

/// Bytes of floating point as f16: what is subnormal as `E4m3` is normal then, and has another exponent.
fn as_halves(format: Format, codes: &[u32]) -> Vec<u32> {
    let all: Vec<u32> = (0..1 << 8)
        .map(|code| Format::F16.encode(format.decode(code).into(), Rounding::NearestEven, Overflow::Infinity))
        .collect();
    codes.iter().map(|code| all[*code as usize & 0xFF]).collect()
}

/// The places of `k` elements in the order in which two halves take them: first those with k mod 4 in {0, 1}.
fn halves(k: usize) -> Vec<usize> {
    let half = |first: usize| (0..k).filter(move |at| at % OF_FOUR / 2 == first);
    half(0).chain(half(1)).collect()
}

/// Fused sums, one after the other.
fn steps(sum: FusedSum, (a, b): (&Rows, &Columns), d: &mut [u32], old: OldD, negate: bool) {
    let step = sum.step.map_or(LARGEST_K, usize::from).max(1);
    let mut old = old;
    // Without products, D is rounded by itself.
    for from in (0..a.k.max(1)).step_by(step) {
        fused::tile(sum, (a, b), from..a.k.min(from + step), d, old, negate);
        old = OldD::Read { scale: 0 };
    }
}

/// The fp8 forms of `mma.sync` without a unit of their own. The elements of A are in the order of [`halves`].
fn two_halves(sum: FusedSum, operands: (&Rows, &Columns), d: &mut [u32], old: OldD, negate: bool) {
    let mut products = vec![0; d.len()];
    let half = FusedSum { step: Some((operands.0.k / 2) as u16), ..sum };
    steps(half, operands, &mut products, OldD::Zero, negate);
    for (d, product) in d.iter_mut().zip(products) {
        let (old, _) = Terms::one(*d, old, sum.rounding);
        let (product, _) = Terms::one(product, OldD::Read { scale: 0 }, sum.rounding);
        *d = nearest(old + product, sum.rounding);
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "no source says how this multiply is computed on this target",
            Self::Length => "a slice does not have the length of its shape",
            Self::Operands => "A and B are not operands of this multiply",
            Self::K => "the arithmetic is not defined for this K",
            Self::Index => "an index of a sparse A is outside B",
            Self::Scale => "`scale-input-d` is 0 to 15, for a D of floating point",
        })
    }
}

impl std::error::Error for Error {}
