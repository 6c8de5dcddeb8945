//! Table 39: the shapes that a multiply takes.
//!
//! A is M x K, B is K x N, D is M x N; M counts the rows of both CTAs of a pair. M and N stand in
//! the instruction descriptor, K follows from the kind and the sparsity, except where the
//! descriptor chooses between several. Besides the table's own rows there are those of errata E10
//! (K = 96 for one CTA) and of PTX ISA 9.4 (`.kind::ti16`, the longer K of `sm_107`).

use super::element_types::{AccumulatorType, ElementType};
use super::vocabulary::{CtaGroup, Kind};

/// What decides about the shapes: the first four columns of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// The kind.
    pub kind: Kind,
    /// Whether the multiply is weight-stationary (`.ws`).
    pub ws: bool,
    /// The CTAs that multiply.
    pub cta_group: CtaGroup,
    /// Whether A is sparse (`.sp`).
    pub sparse: bool,
}

/// A set of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Every multiple of the step from the step itself to 256.
    Steps(u32),
    /// These.
    Listed(&'static [u32]),
}

impl Sizes {
    /// Whether `size` is among them.
    pub fn contains(self, size: u32) -> bool {
        match self {
            Self::Steps(step) => size != 0 && size <= MAX_N && size.is_multiple_of(step),
            Self::Listed(sizes) => sizes.contains(&size),
        }
    }

    /// All of them, from the smallest.
    pub fn all(self) -> Vec<u32> {
        (1..=MAX_N).filter(|&size| self.contains(size)).collect()
    }
}

/// Writes sizes, from the smallest, as a person would: `64, 128 or 256`, `8 to 256 in steps of 8`.
pub fn list(sizes: &[u32]) -> String {
    let run = steady_tail(sizes);
    let mut words: Vec<String>;
    if run > 4 {
        let (single, run) = sizes.split_at(sizes.len() - run);
        words = single.iter().map(u32::to_string).collect();
        words.push(format!("{} to {} in steps of {}", run[0], run[run.len() - 1], run[1] - run[0]));
    } else {
        words = sizes.iter().map(u32::to_string).collect();
    }
    match words.as_slice() {
        [] => String::from("none"),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// How many of the last sizes are equally far apart.
fn steady_tail(sizes: &[u32]) -> usize {
    let [.., before, last] = *sizes else { return sizes.len() };
    1 + sizes.windows(2).rev().take_while(|pair| pair[1] - pair[0] == last - before).count()
}

/// One row: the shapes of a variant with one K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Whose shapes.
    pub variant: Variant,
    /// The values of M.
    pub m: &'static [u32],
    /// The values of N.
    pub n: Sizes,
    /// K in elements.
    pub k: u32,
}

/// No multiply has more columns.
pub const MAX_N: u32 = 256;

const NO_WS: bool = false;
const WS: bool = true;
const DENSE: bool = false;
const SPARSE: bool = true;
const ONE: CtaGroup = CtaGroup::One;
const TWO: CtaGroup = CtaGroup::Two;

const I8_SIZES: &[u32] = &[8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256];
const BY_8: Sizes = Sizes::Steps(8);
const BY_16: Sizes = Sizes::Steps(16);
const BY_32: Sizes = Sizes::Steps(32);
const I8: Sizes = Sizes::Listed(I8_SIZES);
const WS_DENSE: Sizes = Sizes::Listed(&[64, 128, 256]);
const WS_SPARSE: Sizes = Sizes::Listed(&[64, 128]);

/// The table. A variant without a row is invalid. Where a variant has several K, the one that a
/// descriptor without K bits means comes first.
#[rustfmt::skip]
pub const SHAPES: &[Shape] = &[
    //    kind            ws     group sparsity M               N          K
    shape(Kind::F16,      NO_WS, ONE,  DENSE,   &[64, 128],     BY_8,      16),
    shape(Kind::F16,      NO_WS, ONE,  SPARSE,  &[64, 128],     BY_8,      32),
    shape(Kind::F16,      NO_WS, TWO,  DENSE,   &[128, 256],    BY_16,     16),
    shape(Kind::F16,      NO_WS, TWO,  SPARSE,  &[128, 256],    BY_16,     32),
    shape(Kind::F16,      WS,    ONE,  DENSE,   &[32, 64, 128], WS_DENSE,  16),
    shape(Kind::F16,      WS,    ONE,  SPARSE,  &[32, 64, 128], WS_SPARSE, 32),

    shape(Kind::Tf32,     NO_WS, ONE,  DENSE,   &[64, 128],     BY_8,       8),
    shape(Kind::Tf32,     NO_WS, ONE,  SPARSE,  &[64, 128],     BY_8,      16),
    shape(Kind::Tf32,     NO_WS, TWO,  DENSE,   &[128, 256],    BY_16,      8),
    shape(Kind::Tf32,     NO_WS, TWO,  SPARSE,  &[128, 256],    BY_16,     16),
    shape(Kind::Tf32,     WS,    ONE,  DENSE,   &[32, 64, 128], WS_DENSE,   8),
    shape(Kind::Tf32,     WS,    ONE,  SPARSE,  &[32, 64, 128], WS_SPARSE, 16),

    shape(Kind::F8f6f4,   NO_WS, ONE,  DENSE,   &[64, 128],     BY_8,      32),
    shape(Kind::F8f6f4,   NO_WS, ONE,  SPARSE,  &[64, 128],     BY_8,      64),
    shape(Kind::F8f6f4,   NO_WS, TWO,  DENSE,   &[128, 256],    BY_16,     32),
    shape(Kind::F8f6f4,   NO_WS, TWO,  SPARSE,  &[128, 256],    BY_16,     64),
    shape(Kind::F8f6f4,   WS,    ONE,  DENSE,   &[32, 64, 128], WS_DENSE,  32),
    shape(Kind::F8f6f4,   WS,    ONE,  SPARSE,  &[32, 64, 128], WS_SPARSE, 64),

    shape(Kind::Mxf8f6f4, NO_WS, ONE,  DENSE,   &[128],         BY_8,      32),
    shape(Kind::Mxf8f6f4, NO_WS, ONE,  SPARSE,  &[128],         BY_8,      64),
    shape(Kind::Mxf8f6f4, NO_WS, TWO,  DENSE,   &[128, 256],    BY_16,     32),
    shape(Kind::Mxf8f6f4, NO_WS, TWO,  SPARSE,  &[256],         BY_16,     64),

    shape(Kind::I8,       NO_WS, ONE,  DENSE,   &[64, 128],     I8,        32),
    shape(Kind::I8,       NO_WS, ONE,  SPARSE,  &[64, 128],     I8,        64),
    shape(Kind::I8,       NO_WS, TWO,  DENSE,   &[128, 256],    BY_32,     32),
    shape(Kind::I8,       NO_WS, TWO,  SPARSE,  &[128, 256],    BY_32,     64),
    shape(Kind::I8,       WS,    ONE,  DENSE,   &[32, 64, 128], WS_DENSE,  32),
    shape(Kind::I8,       WS,    ONE,  SPARSE,  &[32, 64, 128], WS_SPARSE, 64),

    shape(Kind::Mxf4,     NO_WS, ONE,  DENSE,   &[128],         BY_8,      64),
    shape(Kind::Mxf4,     NO_WS, ONE,  DENSE,   &[128],         BY_8,      96),
    shape(Kind::Mxf4,     NO_WS, ONE,  SPARSE,  &[128],         BY_8,     128),
    shape(Kind::Mxf4,     NO_WS, TWO,  DENSE,   &[128, 256],    BY_16,     64),
    shape(Kind::Mxf4,     NO_WS, TWO,  DENSE,   &[256],         BY_16,     96),
    shape(Kind::Mxf4,     NO_WS, TWO,  SPARSE,  &[256],         BY_16,    128),

    shape(Kind::Mxf4nvf4, NO_WS, ONE,  DENSE,   &[128],         BY_8,      64),
    shape(Kind::Mxf4nvf4, NO_WS, ONE,  DENSE,   &[128],         BY_8,      96),
    shape(Kind::Mxf4nvf4, NO_WS, ONE,  SPARSE,  &[128],         BY_8,     128),
    shape(Kind::Mxf4nvf4, NO_WS, TWO,  DENSE,   &[128, 256],    BY_16,     64),
    shape(Kind::Mxf4nvf4, NO_WS, TWO,  DENSE,   &[256],         BY_16,     96),
    shape(Kind::Mxf4nvf4, NO_WS, TWO,  SPARSE,  &[256],         BY_16,    128),

    // PTX ISA 9.4: `.kind::ti16`, whose N depends on M.
    shape(Kind::Ti16,     NO_WS, ONE,  DENSE,   &[64],          BY_8,      16),
    shape(Kind::Ti16,     NO_WS, ONE,  DENSE,   &[128],         BY_16,     16),
    shape(Kind::Ti16,     NO_WS, ONE,  SPARSE,  &[64],          BY_8,      32),
    shape(Kind::Ti16,     NO_WS, ONE,  SPARSE,  &[128],         BY_16,     32),
    shape(Kind::Ti16,     NO_WS, TWO,  DENSE,   &[128, 256],    BY_32,     16),
    shape(Kind::Ti16,     NO_WS, TWO,  SPARSE,  &[128, 256],    BY_32,     32),
    shape(Kind::Ti16,     WS,    ONE,  DENSE,   &[32, 64, 128], WS_DENSE,  16),
    shape(Kind::Ti16,     WS,    ONE,  SPARSE,  &[32, 64, 128], WS_SPARSE, 32),

    // PTX ISA 9.4: the longer K of sm_107. Its table leaves open which M and N go with a sparse
    // K = 128 of f8f6f4, and names no K = 128 of mxf4* for one CTA: the wider reading stands here.
    shape(Kind::F8f6f4,   NO_WS, ONE,  DENSE,   &[128],         BY_16,     64),
    shape(Kind::F8f6f4,   NO_WS, ONE,  SPARSE,  &[64, 128],     BY_8,     128),
    shape(Kind::F8f6f4,   NO_WS, TWO,  DENSE,   &[256],         BY_16,     64),
    shape(Kind::F8f6f4,   NO_WS, TWO,  SPARSE,  &[128, 256],    BY_16,    128),
    shape(Kind::F8f6f4,   WS,    ONE,  DENSE,   &[32, 64, 128], WS_DENSE,  64),
    shape(Kind::F8f6f4,   WS,    ONE,  SPARSE,  &[32, 64, 128], WS_SPARSE, 128),
    shape(Kind::Mxf8f6f4, NO_WS, ONE,  DENSE,   &[128],         BY_8,      64),
    shape(Kind::Mxf8f6f4, NO_WS, ONE,  SPARSE,  &[128],         BY_8,     128),
    shape(Kind::Mxf8f6f4, NO_WS, TWO,  DENSE,   &[256],         BY_16,     64),
    shape(Kind::Mxf8f6f4, NO_WS, TWO,  SPARSE,  &[256],         BY_16,    128),
    shape(Kind::Mxf4,     NO_WS, ONE,  DENSE,   &[128],         BY_8,     128),
    shape(Kind::Mxf4,     NO_WS, ONE,  SPARSE,  &[128],         BY_8,     192),
    shape(Kind::Mxf4,     NO_WS, TWO,  DENSE,   &[256],         BY_16,    128),
    shape(Kind::Mxf4,     NO_WS, TWO,  SPARSE,  &[256],         BY_16,    192),
    shape(Kind::Mxf4nvf4, NO_WS, ONE,  DENSE,   &[128],         BY_8,     128),
    shape(Kind::Mxf4nvf4, NO_WS, ONE,  SPARSE,  &[128],         BY_8,     192),
    shape(Kind::Mxf4nvf4, NO_WS, TWO,  DENSE,   &[256],         BY_16,    128),
    shape(Kind::Mxf4nvf4, NO_WS, TWO,  SPARSE,  &[256],         BY_16,    192),
];

const fn shape(
    kind: Kind,
    ws: bool,
    cta_group: CtaGroup,
    sparse: bool,
    m: &'static [u32],
    n: Sizes,
    k: u32,
) -> Shape {
    Shape { variant: Variant { kind, ws, cta_group, sparse }, m, n, k }
}

/// The rows of a variant; only those with this K, if one is given.
pub fn shapes(variant: Variant, k: Option<u32>) -> impl Iterator<Item = &'static Shape> {
    SHAPES.iter().filter(move |shape| shape.variant == variant && k.is_none_or(|k| shape.k == k))
}

/// The values of M that a variant takes, from the smallest; with this K, if one is given.
pub fn allowed_m(variant: Variant, k: Option<u32>) -> Vec<u32> {
    sorted(shapes(variant, k).flat_map(|shape| shape.m.iter().copied()))
}

/// The values of N that a variant takes, from the smallest; with this M and K, if they are given.
pub fn allowed_n(variant: Variant, m: Option<u32>, k: Option<u32>) -> Vec<u32> {
    sorted(
        shapes(variant, k)
            .filter(|shape| m.is_none_or(|m| shape.m.contains(&m)))
            .flat_map(|shape| shape.n.all()),
    )
}

/// K in elements where the descriptor does not choose another. Every kind has one.
pub fn k(kind: Kind, sparse: bool) -> Option<u32> {
    SHAPES
        .iter()
        .find(|shape| shape.variant.kind == kind && shape.variant.sparse == sparse)
        .map(|shape| shape.k)
}

/// Whether an accumulator of a kind takes elements of this type, both being types of the kind.
///
/// The dtype column decides about elements only where `.kind::f16` accumulates in f16.
pub fn accumulates(kind: Kind, element: ElementType, accumulator: AccumulatorType) -> bool {
    kind != Kind::F16 || accumulator != AccumulatorType::F16 || element == ElementType::F16
}

/// Table 50: the step of N, and its least value, when B is transposed and its elements take 8 bits
/// of shared memory each.
pub const fn transposed_n_step(cta_group: CtaGroup) -> u32 {
    match cta_group {
        CtaGroup::One => 16,
        CtaGroup::Two => 32,
    }
}

/// Whether [`transposed_n_step`] holds for a kind: those with elements of 8 bits, or of 6 and 4
/// bits in containers of 8 (9.7.16.10.4.4).
pub const fn has_8_bit_containers(kind: Kind) -> bool {
    match kind {
        Kind::F8f6f4 | Kind::Mxf8f6f4 | Kind::I8 => true,
        Kind::F16 | Kind::Tf32 | Kind::Ti16 | Kind::Mxf4 | Kind::Mxf4nvf4 => false,
    }
}

/// How many columns a multiply reads A from at most when A lies in Tensor Memory: a row of K elements
/// (Table 39) as they are packed there (9.7.16.10.4), four bytes a column. A sparse row has as many
/// bytes: K is twice as large, and half of the elements are stored.
pub const fn columns_of_a(kind: Kind) -> u32 {
    match kind {
        Kind::F16 | Kind::Tf32 | Kind::I8 | Kind::F8f6f4 | Kind::Mxf8f6f4 => 8,
        // 48 bytes with a K of 96.
        Kind::Mxf4 | Kind::Mxf4nvf4 => 12,
        Kind::Ti16 => 16,
    }
}

fn sorted(sizes: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut sizes: Vec<u32> = sizes.collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}
