//! Which arithmetic a multiply has, by instruction, kind, formats and target, and who vouches for it.

use crate::format::Format;

/// An instruction that multiplies matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// `tcgen05.mma`, in all its forms.
    Tcgen05Mma,
    /// `mma.sync`.
    MmaSync,
    /// `wmma.mma`, which computes as `mma.sync` does, but for tf32.
    Wmma,
    /// `mma.sync.m8n8k4` of f16, four multiplies of 8 x 8 x 4.
    MmaSyncM8n8k4,
}

/// A kind of multiply. `mma.sync` has most of the same kinds, some without spelling them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `.kind::tf32`.
    Tf32,
    /// `.kind::f16`: f16 or bf16.
    F16,
    /// `.kind::f8f6f4`, and the fp8 forms of `mma.sync` that name no kind.
    F8f6f4,
    /// `.kind::i8`, and the integer forms of `mma.sync`.
    I8,
    /// `.kind::mxf8f6f4`: a scale for each 32 elements along K.
    Mxf8f6f4,
    /// `.kind::mxf4`: a scale for each 32 elements along K.
    Mxf4,
    /// `.kind::mxf4nvf4`: a scale for each 16 or 32 elements along K.
    Mxf4nvf4,
}

/// The format of D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accumulator {
    /// Bits of f32.
    F32,
    /// Bits of f16, in the low half of a `u32`.
    F16,
    /// A signed integer of 32 bits.
    S32,
}

/// A target, without its suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Ampere.
    Sm80,
    /// Ada.
    Sm89,
    /// Hopper.
    Sm90,
    /// Blackwell: B200.
    Sm100,
    /// The older name of [`Target::Sm110`].
    Sm101,
    /// Blackwell: B300.
    Sm103,
    /// The target that PTX ISA 9.4 adds.
    Sm107,
    /// Blackwell: Thor.
    Sm110,
    /// Blackwell: RTX.
    Sm120,
}

/// How a result is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// All products and the old D in one sum, or in one for each `step` products.
    Fused(FusedSum),
    /// Products in exact groups of 16, which are scaled, and then summed with the old D.
    Grouped(FusedSum),
    /// No unit of its own. The elements become f16. Up to 32 products are two fused sums: first, from zero, those with k mod 4 in {0, 1}; then,
    /// on top of it, those with k mod 4 in {2, 3}. Of a sparse A, k counts the elements that are stored. The old D is added
    /// last, as an addition in the format of D that rounds to nearest even.
    TwoHalves(FusedSum),
    /// One product after the other is added to a sum that starts from zero, in the order of k, and at last the old D. Each
    /// addition rounds to nearest even in f32.
    OneByOne,
    /// Two products are added, and then their sum to the old D, in the order of k. Each addition rounds to nearest even in
    /// f32; the last sum is rounded to f16.
    InPairs,
    /// The exact integer sum, modulo 2^32 or clamped.
    Integer,
}

/// The parameters of a fused sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FusedSum {
    /// Terms are cut towards zero to this many fractional bits, relative to the largest exponent.
    pub fraction_bits: u8,
    /// The exponent of a term that is zero.
    pub zero_exponent: i16,
    /// How many products one sum has. More are several sums, each of which takes the one before as its D. `None`:
    /// all products of an instruction.
    pub step: Option<u16>,
    /// How the sum becomes D.
    pub rounding: SumRounding,
}

/// How a sum becomes D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumRounding {
    /// f32, cut towards zero. Too large is infinity.
    F32TowardsZero,
    /// f32 with only 13 bits of fraction, cut towards zero.
    F32With13Bits,
    /// f16, rounded to nearest even.
    F16NearestEven,
}

/// Who vouches for a row of [`RULES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Results recorded on hardware equal these, bit for bit.
    Measured {
        /// Who recorded them.
        by: &'static str,
        /// On which GPU, and how many elements.
        on: &'static str,
    },
    /// A published model says so.
    Modelled {
        /// The model.
        by: &'static str,
    },
    /// No source says so.
    Assumed {
        /// What suggests it.
        because: &'static str,
    },
}

/// A row of [`RULES`].
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The instruction.
    pub instruction: Instruction,
    /// The kind.
    pub kind: Kind,
    /// The targets.
    pub targets: &'static [Target],
    /// The formats of A and of B.
    pub factors: &'static [Format],
    /// The formats of scales; empty if the kind has none.
    pub scales: &'static [Format],
    /// The format of D.
    pub accumulator: Accumulator,
    /// The arithmetic.
    pub arithmetic: Arithmetic,
    /// Who vouches for it.
    pub evidence: Evidence,
}

/// What is known, and what is assumed. No two rows apply to the same multiply.
pub const RULES: &[Rule] = &[
    tcgen05(Kind::Tf32, SM100, TF32, &[], Accumulator::F32, FUSED, MODEL),
    tcgen05(Kind::F16, SM100, F16_BF16, &[], Accumulator::F32, FUSED, MODEL),
    tcgen05(Kind::F16, SM100, F16, &[], Accumulator::F16, FUSED_F16, MODEL),
    tcgen05(Kind::F8f6f4, SM100, F8F6F4, &[], Accumulator::F32, FUSED, MODEL),
    tcgen05(Kind::F8f6f4, SM100, F8F6F4, &[], Accumulator::F16, FUSED_F16, MODEL),
    tcgen05(Kind::I8, SM100, I8, &[], Accumulator::S32, Arithmetic::Integer, EXACT_INTEGERS),
    tcgen05(Kind::Mxf8f6f4, SM100, F8F6F4, UE8M0, Accumulator::F32, FUSED, MODEL),
    tcgen05(Kind::Mxf4, SM100, E2M1, UE8M0, Accumulator::F32, GROUPED, MODEL),
    tcgen05(Kind::Mxf4nvf4, SM100, E2M1, UE8M0_UE4M3, Accumulator::F32, GROUPED, MODEL),
    // The other targets that have it. Nobody has measured or modelled one.
    tcgen05(Kind::Tf32, LATER, TF32, &[], Accumulator::F32, FUSED, LIKE_SM100),
    tcgen05(Kind::F16, LATER, F16_BF16, &[], Accumulator::F32, FUSED, LIKE_SM100),
    tcgen05(Kind::F16, LATER, F16, &[], Accumulator::F16, FUSED_F16, LIKE_SM100),
    tcgen05(Kind::F8f6f4, LATER, F8F6F4, &[], Accumulator::F32, FUSED, LIKE_SM100),
    tcgen05(Kind::F8f6f4, LATER, F8F6F4, &[], Accumulator::F16, FUSED_F16, LIKE_SM100),
    tcgen05(Kind::I8, LATER, I8, &[], Accumulator::S32, Arithmetic::Integer, EXACT_INTEGERS),
    tcgen05(Kind::Mxf8f6f4, LATER, F8F6F4, UE8M0, Accumulator::F32, FUSED, LIKE_SM100),
    tcgen05(Kind::Mxf4, LATER, E2M1, UE8M0, Accumulator::F32, GROUPED, LIKE_SM100),
    tcgen05(Kind::Mxf4nvf4, LATER, E2M1, ALL_SCALES, Accumulator::F32, GROUPED, LIKE_SM100),
    // Eight products of tf32 are two sums of four there, as if there were two `mma.sync`.
    wmma(SM80, fused(24, -132, 4, Z32), MODEL),
    wmma(SM90, fused(25, -133, 4, Z32), H200_FORMS),
    wmma(SM100, fused(25, -133, 4, Z32), LIKE_SM90),
    wmma(LATER, fused(25, -133, 4, Z32), LIKE_SM90),
    wmma(SM120, fused(25, -133, 4, Z32), LIKE_SM90),
    // Four products, without a fused sum.
    m8n8k4(SM90, Accumulator::F32, H200_FORMS),
    m8n8k4(SM90, Accumulator::F16, H200_FORMS),
    m8n8k4(SM100, Accumulator::F32, LIKE_SM90),
    m8n8k4(SM100, Accumulator::F16, LIKE_SM90),
    m8n8k4(LATER, Accumulator::F32, LIKE_SM90),
    m8n8k4(LATER, Accumulator::F16, LIKE_SM90),
    m8n8k4(SM120, Accumulator::F32, LIKE_SM90),
    m8n8k4(SM120, Accumulator::F16, LIKE_SM90),
    // Ampere and Ada.
    mma(Kind::Tf32, SM80, TF32, &[], Accumulator::F32, fused(24, -132, 4, Z32), MODEL),
    mma(Kind::F16, SM80, F16_BF16, &[], Accumulator::F32, fused(24, -132, 8, Z32), MODEL),
    mma(Kind::F16, SM80, F16, &[], Accumulator::F16, fused(24, -20, 8, N16), MODEL),
    mma(Kind::F8f6f4, &[Target::Sm89], F8, &[], Accumulator::F32, fused(13, -132, 16, Z13), MODEL),
    mma(Kind::F8f6f4, &[Target::Sm89], F8, &[], Accumulator::F16, fused(13, -20, 16, N16), MODEL),
    mma(Kind::I8, SM80, INTEGERS, &[], Accumulator::S32, Arithmetic::Integer, EXACT_INTEGERS),
    // Hopper.
    mma(Kind::Tf32, SM90, TF32, &[], Accumulator::F32, fused(25, -133, 8, Z32), H200),
    mma(Kind::F16, SM90, F16_BF16, &[], Accumulator::F32, fused(25, -133, 16, Z32), H200),
    mma(Kind::F16, SM90, F16, &[], Accumulator::F16, fused(25, -21, 16, N16), H200),
    mma(Kind::F8f6f4, SM90, F8, &[], Accumulator::F32, HALVES, H200_FP8),
    mma(Kind::F8f6f4, SM90, F8, &[], Accumulator::F16, HALVES_F16, H200_FORMS),
    mma(Kind::I8, SM90, INTEGERS, &[], Accumulator::S32, Arithmetic::Integer, H200_FORMS),
    // Blackwell with Tensor Memory.
    mma(Kind::Tf32, SM100, TF32, &[], Accumulator::F32, fused(25, -133, 8, Z32), B200),
    mma(Kind::F16, SM100, F16_BF16, &[], Accumulator::F32, fused(25, -133, 16, Z32), B200),
    mma(Kind::F16, SM100, F16, &[], Accumulator::F16, fused(25, -21, 16, N16), MODEL),
    mma(Kind::F8f6f4, SM100, F8, &[], Accumulator::F32, HALVES, LIKE_SM90),
    mma(Kind::F8f6f4, SM100, F8, &[], Accumulator::F16, HALVES_F16, LIKE_SM90),
    mma(Kind::I8, SM100, INTEGERS, &[], Accumulator::S32, Arithmetic::Integer, EXACT_INTEGERS),
    mma(Kind::Tf32, LATER, TF32, &[], Accumulator::F32, fused(25, -133, 8, Z32), LIKE_SM100),
    mma(Kind::F16, LATER, F16_BF16, &[], Accumulator::F32, fused(25, -133, 16, Z32), LIKE_SM100),
    mma(Kind::F16, LATER, F16, &[], Accumulator::F16, fused(25, -21, 16, N16), LIKE_SM100),
    mma(Kind::F8f6f4, LATER, F8, &[], Accumulator::F32, HALVES, LIKE_SM90),
    mma(Kind::F8f6f4, LATER, F8, &[], Accumulator::F16, HALVES_F16, LIKE_SM90),
    mma(Kind::I8, LATER, INTEGERS, &[], Accumulator::S32, Arithmetic::Integer, EXACT_INTEGERS),
    // RTX Blackwell.
    mma(Kind::Tf32, SM120, TF32, &[], Accumulator::F32, fused(25, -133, 8, Z32), MODEL),
    mma(Kind::F16, SM120, F16_BF16, &[], Accumulator::F32, fused(25, -133, 16, Z32), MODEL),
    mma(Kind::F16, SM120, F16, &[], Accumulator::F16, fused(25, -21, 16, N16), MODEL),
    mma(Kind::F8f6f4, SM120, F8F6F4, &[], Accumulator::F32, fused(25, -133, 32, Z32), MODEL),
    mma(Kind::F8f6f4, SM120, F8F6F4, &[], Accumulator::F16, fused(25, -21, 32, N16), MODEL),
    mma(Kind::I8, SM120, INTEGERS, &[], Accumulator::S32, Arithmetic::Integer, EXACT_INTEGERS),
    mma(Kind::Mxf8f6f4, SM120, F8F6F4, UE8M0, Accumulator::F32, FUSED, MODEL),
    mma(Kind::Mxf4, SM120, E2M1, UE8M0, Accumulator::F32, GROUPED, MODEL),
    mma(Kind::Mxf4nvf4, SM120, E2M1, UE8M0_UE4M3, Accumulator::F32, GROUPED, MODEL),
];

const SM80: &[Target] = &[Target::Sm80, Target::Sm89];
const SM90: &[Target] = &[Target::Sm90];
const SM100: &[Target] = &[Target::Sm100];
const LATER: &[Target] = &[Target::Sm101, Target::Sm103, Target::Sm107, Target::Sm110];
const SM120: &[Target] = &[Target::Sm120];

const TF32: &[Format] = &[Format::Tf32];
const F16: &[Format] = &[Format::F16];
const F16_BF16: &[Format] = &[Format::F16, Format::Bf16];
const F8: &[Format] = &[Format::E4m3, Format::E5m2];
const F8F6F4: &[Format] = &[Format::E4m3, Format::E5m2, Format::E3m2, Format::E2m3, Format::E2m1];
const E2M1: &[Format] = &[Format::E2m1];
const I8: &[Format] = &[Format::S8, Format::U8];
const INTEGERS: &[Format] = &[Format::S8, Format::U8, Format::S4, Format::U4];

const UE8M0: &[Format] = &[Format::Ue8m0];
const UE8M0_UE4M3: &[Format] = &[Format::Ue8m0, Format::Ue4m3];
const ALL_SCALES: &[Format] = &[Format::Ue8m0, Format::Ue4m3, Format::Ue5m3];

const Z32: SumRounding = SumRounding::F32TowardsZero;
const Z13: SumRounding = SumRounding::F32With13Bits;
const N16: SumRounding = SumRounding::F16NearestEven;

const FUSED: Arithmetic = fused(25, -133, 0, Z32);
const FUSED_F16: Arithmetic = fused(25, -21, 0, N16);
const GROUPED: Arithmetic =
    Arithmetic::Grouped(FusedSum { fraction_bits: 35, zero_exponent: -139, step: None, rounding: Z32 });
const HALVES: Arithmetic = two_halves(-133, Z32);
const HALVES_F16: Arithmetic = two_halves(-21, N16);

const MODEL: Evidence =
    Evidence::Modelled { by: "MMA-Sim (arXiv 2511.10909), whose authors compared it with hardware" };
const H200: Evidence = Evidence::Measured {
    by: "this project",
    on: "H200, 19 200 elements a form, 9 216 of them in fixtures/hardware",
};
const H200_FP8: Evidence = Evidence::Measured {
    by: "this project",
    on: "H200, 19 200 elements a form, 9 216 of them in fixtures/hardware; of a NaN, only that it is one",
};
/// Also of the sparse forms: see [`SPARSE_ON_H200`].
const H200_FORMS: Evidence = Evidence::Measured {
    by: "this project",
    on: "H200, 20 480 elements a form, of which fixtures/hardware has hashes",
};
/// `mma.sp`, of all formats that `sm_90` has.
pub(crate) const SPARSE_ON_H200: Evidence = H200_FORMS;
const B200: Evidence = Evidence::Measured {
    by: "Accurate Models of NVIDIA Tensor Cores (arXiv 2512.07004)",
    on: "B200, 5 000 results of `wmma` a format, 1 000 of which were compared with this crate",
};
const LIKE_SM100: Evidence = Evidence::Assumed { because: "sm_100 computes so" };
const LIKE_SM90: Evidence = Evidence::Assumed { because: "sm_90 computes so" };
const EXACT_INTEGERS: Evidence = Evidence::Assumed { because: "the ISA defines integer sums exactly" };

const fn tcgen05(
    kind: Kind,
    targets: &'static [Target],
    factors: &'static [Format],
    scales: &'static [Format],
    accumulator: Accumulator,
    arithmetic: Arithmetic,
    evidence: Evidence,
) -> Rule {
    let instruction = Instruction::Tcgen05Mma;
    Rule { instruction, kind, targets, factors, scales, accumulator, arithmetic, evidence }
}

const fn mma(
    kind: Kind,
    targets: &'static [Target],
    factors: &'static [Format],
    scales: &'static [Format],
    accumulator: Accumulator,
    arithmetic: Arithmetic,
    evidence: Evidence,
) -> Rule {
    let instruction = Instruction::MmaSync;
    Rule { instruction, kind, targets, factors, scales, accumulator, arithmetic, evidence }
}

/// `wmma.mma` of tf32.
const fn wmma(targets: &'static [Target], arithmetic: Arithmetic, evidence: Evidence) -> Rule {
    let rule = mma(Kind::Tf32, targets, TF32, &[], Accumulator::F32, arithmetic, evidence);
    Rule { instruction: Instruction::Wmma, ..rule }
}

/// `mma.sync.m8n8k4` of f16.
const fn m8n8k4(targets: &'static [Target], accumulator: Accumulator, evidence: Evidence) -> Rule {
    let arithmetic = match accumulator {
        Accumulator::F16 => Arithmetic::InPairs,
        Accumulator::F32 | Accumulator::S32 => Arithmetic::OneByOne,
    };
    let rule = mma(Kind::F16, targets, F16, &[], accumulator, arithmetic, evidence);
    Rule { instruction: Instruction::MmaSyncM8n8k4, ..rule }
}

/// A sum of which each has `step` products; 0 for all.
const fn fused(fraction_bits: u8, zero_exponent: i16, step: u16, rounding: SumRounding) -> Arithmetic {
    let step = if step == 0 { None } else { Some(step) };
    Arithmetic::Fused(FusedSum { fraction_bits, zero_exponent, step, rounding })
}

const fn two_halves(zero_exponent: i16, rounding: SumRounding) -> Arithmetic {
    Arithmetic::TwoHalves(FusedSum { fraction_bits: 25, zero_exponent, step: None, rounding })
}

impl Rule {
    /// Whether the row applies to these formats. f16 and bf16 are mixed by `tcgen05.mma` alone; integers of 8 and of 4 bits
    /// are not.
    pub fn covers(&self, a: Format, b: Format, scale: Option<Format>) -> bool {
        let mixed = match self.kind {
            Kind::F16 if self.instruction == Instruction::Tcgen05Mma => false,
            Kind::Tf32 | Kind::F16 | Kind::Mxf4 | Kind::Mxf4nvf4 => a != b,
            Kind::I8 => a.parameters().bits != b.parameters().bits,
            Kind::F8f6f4 | Kind::Mxf8f6f4 => false,
        };
        let scaled = match scale {
            None => self.scales.is_empty(),
            Some(scale) => self.scales.contains(&scale),
        };
        !mixed && scaled && self.factors.contains(&a) && self.factors.contains(&b)
    }
}
