//! The descriptor of a matrix in shared memory: where it is and how it lies there (9.7.16.4.1).

#![allow(missing_docs, reason = "the `into_str` that strum derives has no documentation")]

use std::sync::LazyLock;

use serde::{Serialize, Serializer};
use strum::{Display, EnumIter, EnumString, IntoStaticStr, VariantArray};

use super::field::{Bits, EncodeError, FIXED, Field, Known, Layout, RESERVED, Value, Values};
use super::instruction::DescriptorError;
use super::{Check, Features, Problem, Reason, check_fields};

/// How groups of 16 bytes are permuted within a pattern that repeats.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Display,
    EnumIter,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[strum(const_into_str, ascii_case_insensitive)]
pub enum SwizzleMode {
    /// Not at all.
    #[strum(serialize = "none")]
    None,
    /// Over 128 bytes, in units of 32.
    #[strum(serialize = "128b-32b")]
    Bytes128Atom32,
    /// Over 128 bytes.
    #[strum(serialize = "128b")]
    Bytes128,
    /// Over 64 bytes.
    #[strum(serialize = "64b")]
    Bytes64,
    /// Over 32 bytes.
    #[strum(serialize = "32b")]
    Bytes32,
}

impl SwizzleMode {
    /// Its bits in a descriptor.
    const fn bits(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Bytes128Atom32 => 1,
            Self::Bytes128 => 2,
            Self::Bytes64 => 4,
            Self::Bytes32 => 6,
        }
    }

    /// Its bits and its name.
    const fn named(self) -> (u64, &'static str) {
        (self.bits(), self.name())
    }

    /// Its name in expressions.
    pub const fn name(self) -> &'static str {
        self.into_str()
    }

    /// Contiguous bytes over which it permutes; 16, a single group, without swizzling.
    pub const fn span(self) -> u64 {
        match self {
            Self::None => 16,
            Self::Bytes32 => 32,
            Self::Bytes64 => 64,
            Self::Bytes128 | Self::Bytes128Atom32 => 128,
        }
    }

    /// Bytes from one group of eight rows to the next where these lie one behind the other; `None`
    /// without swizzling, where they may lie anywhere. With atoms of 32 bytes a group has four.
    pub const fn eight_rows(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Bytes128Atom32 => Some(4 * self.span()),
            Self::Bytes32 | Self::Bytes64 | Self::Bytes128 => Some(8 * self.span()),
        }
    }

    /// Table 41: where a pattern starts when the base offset is 0, in bytes.
    pub const fn pattern_alignment(self) -> u64 {
        match self {
            Self::None => 16,
            Self::Bytes32 => 256,
            Self::Bytes64 => 512,
            Self::Bytes128 | Self::Bytes128Atom32 => 1024,
        }
    }
}

impl Serialize for SwizzleMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

const SWIZZLES: Values = Values::Named(&[
    SwizzleMode::None.named(),
    SwizzleMode::Bytes128Atom32.named(),
    SwizzleMode::Bytes128.named(),
    SwizzleMode::Bytes64.named(),
    SwizzleMode::Bytes32.named(),
]);
const LBO_MODES: Values = Values::Named(&[(0, "relative"), (1, "absolute")]);

/// Table 40.
#[rustfmt::skip]
const NARROW: &[Field] = &[
    field(&[Bits::new( 0, 13)], "start",       "start >> 4", Check::FixedBits,      "start address of the matrix",       Values::Address),
    field(&[Bits::new(14, 15)], RESERVED,      "-",          Check::FixedBits,      "must be 0",                         Values::Fixed(0)),
    field(&[Bits::new(16, 29)], "lbo",         "lbo >> 4",   Check::FixedBits,      "leading dimension: byte offset, or address in absolute mode", Values::Address),
    field(&[Bits::new(30, 31)], RESERVED,      "-",          Check::FixedBits,      "must be 0",                         Values::Fixed(0)),
    field(&[Bits::new(32, 45)], "sbo",         "sbo >> 4",   Check::FixedBits,      "stride dimension: byte offset",     Values::Address),
    field(&[Bits::new(46, 48)], FIXED,         "001",        Check::FixedBits,      "must be 0b001",                     Values::Fixed(1)),
    field(&[Bits::new(49, 51)], "base-offset", "base",       Check::AbsoluteStride, "(pattern start >> 7) & 7",          Values::Number(7)),
    field(&[Bits::bit(52)],     "lbo-mode",    "lm",         Check::AbsoluteStride, "how lbo is meant",                  LBO_MODES),
    field(&[Bits::new(53, 60)], FIXED,         "00000000",   Check::FixedBits,      "must be 0",                         Values::Fixed(0)),
    field(&[Bits::new(61, 63)], "swizzle",     "swizzle",    Check::Swizzle,        "swizzling mode",                    SWIZZLES),
];

/// Table 40 as PTX ISA 9.4 has it: bits 14, 30 and 53 have become parts of fields.
#[rustfmt::skip]
const WIDE: &[Field] = &[
    field(&[Bits::new( 0, 14)], "start",       "start >> 4", Check::FixedBits,      "start address of the matrix",       Values::Address),
    field(&[Bits::bit(15)],     RESERVED,      "-",          Check::FixedBits,      "must be 0",                         Values::Fixed(0)),
    field(&[Bits::new(16, 30)], "lbo",         "lbo >> 4",   Check::FixedBits,      "leading dimension: byte offset, or address in absolute mode", Values::Address),
    field(&[Bits::bit(31)],     RESERVED,      "-",          Check::FixedBits,      "must be 0",                         Values::Fixed(0)),
    field(&[Bits::new(32, 45)], "sbo",         "sbo >> 4",   Check::FixedBits,      "stride dimension: byte offset",     Values::Address),
    field(&[Bits::new(46, 48)], FIXED,         "001",        Check::FixedBits,      "must be 0b001",                     Values::Fixed(1)),
    field(&[Bits::new(49, 51)], "base-offset", "base",       Check::AbsoluteStride, "(pattern start >> 7) & 7",          Values::Number(7)),
    field(&[Bits::bit(52)],     "lbo-mode",    "lm",         Check::AbsoluteStride, "how lbo is meant",                  LBO_MODES),
    field(&[Bits::bit(53)],     "lut-segment", "lu",         Check::FixedBits,      "which 24 of 48 bytes of a compressed B", Values::Named(&[(0, "0"), (1, "24")])),
    field(&[Bits::new(54, 60)], FIXED,         "0000000",    Check::FixedBits,      "must be 0",                         Values::Fixed(0)),
    field(&[Bits::new(61, 63)], "swizzle",     "swizzle",    Check::Swizzle,        "swizzling mode",                    SWIZZLES),
];

const fn field(
    bits: &'static [Bits],
    name: &'static str,
    short: &'static str,
    check: Check,
    meaning: &'static str,
    values: Values,
) -> Field {
    Field { name, short, bits, meaning, values, check }
}

/// The fields of a shared memory descriptor; with the wider ones of PTX ISA 9.4 on demand.
pub fn layout(wide_addresses: bool) -> &'static Layout {
    static LAYOUTS: LazyLock<[Layout; 2]> = LazyLock::new(|| {
        [NARROW, WIDE].map(|fields| Layout::new("the shared memory descriptor", "Table 40", 64, fields))
    });
    let [narrow, wide] = &*LAYOUTS;
    if wide_addresses { wide } else { narrow }
}

/// A shared memory descriptor in words. All sizes and addresses are in bytes.
///
/// ```
/// use ptx_descriptor::Features;
/// use ptx_descriptor::shared_memory::{Matrix, SharedMemoryDescriptor, SwizzleMode};
///
/// let descriptor = SharedMemoryDescriptor {
///     lbo: 16,
///     sbo: 1024,
///     ..SharedMemoryDescriptor::new(0x400, SwizzleMode::Bytes128)
/// };
/// assert_eq!(descriptor.encode(&Matrix::any(Features::ANY)), Ok(0x4000_4040_0001_0040));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedMemoryDescriptor {
    /// Address of the matrix in the shared memory window; a multiple of 16.
    pub start: u64,
    /// Leading-dimension offset, or the address of the next part; a multiple of 16.
    pub lbo: u64,
    /// Stride-dimension offset; a multiple of 16.
    pub sbo: u64,
    /// 0 to 7: `(pattern start >> 7) & 7` when the pattern starts off its boundary (Table 41).
    pub base_offset: u8,
    /// Whether [`lbo`](Self::lbo) is an address.
    pub absolute: bool,
    /// Whether `.decompress::lut::b` uses the second 24 of the 48 bytes (PTX ISA 9.4).
    pub second_segment: bool,
    /// The swizzling mode.
    pub swizzle: SwizzleMode,
}

/// What is known of a matrix besides its descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Whether the instruction descriptor transposes it: MN-major.
    pub transposed: Option<bool>,
    /// Bits that an element takes in shared memory:
    /// [`container_bits`](crate::isa::element_types::ElementType::container_bits).
    pub element_bits: Option<u32>,
    /// What the target has.
    pub features: Features,
}

impl Matrix {
    /// A matrix of which nothing is known.
    pub const fn any(features: Features) -> Self {
        Self { transposed: None, element_bits: None, features }
    }
}

const SWIZZLE: &str = "swizzle";
const STRIDE: &str = "sbo";
const BASE_OFFSET: &str = "base-offset";
const LBO_MODE: &str = "lbo-mode";
const SEGMENT: &str = "lut-segment";

impl SharedMemoryDescriptor {
    /// A descriptor without strides.
    pub const fn new(start: u64, swizzle: SwizzleMode) -> Self {
        Self { start, lbo: 0, sbo: 0, base_offset: 0, absolute: false, second_segment: false, swizzle }
    }

    /// The word, if the descriptor is right for `matrix`.
    ///
    /// # Errors
    /// When a value does not fit its field, or the whole is wrong for this matrix.
    pub fn encode(&self, matrix: &Matrix) -> Result<u64, DescriptorError> {
        let word = self.word(layout(matrix.features.wide_addresses)).map_err(DescriptorError::Field)?;
        let problems = check(matrix, word.into());
        if problems.is_empty() { Ok(word) } else { Err(DescriptorError::Problems(problems)) }
    }

    fn word(&self, layout: &'static Layout) -> Result<u64, EncodeError> {
        let mut word = layout.blank();
        for (name, value) in [
            ("start", Value::Number(self.start)),
            ("lbo", Value::Number(self.lbo)),
            (STRIDE, Value::Number(self.sbo)),
            (BASE_OFFSET, Value::Number(self.base_offset.into())),
            (LBO_MODE, Value::Name(if self.absolute { "absolute" } else { "relative" })),
            (SWIZZLE, Value::Name(self.swizzle.name())),
        ] {
            word = layout.set(word, name, value)?;
        }
        if self.second_segment {
            word = layout.set(word, SEGMENT, Value::Number(24))?;
        }
        Ok(word)
    }

    /// The descriptor that `word` is.
    ///
    /// # Errors
    /// When the word is wrong for `matrix`.
    pub fn decode(matrix: &Matrix, word: u64) -> Result<Self, Vec<Problem>> {
        let problems = check(matrix, word.into());
        if !problems.is_empty() {
            return Err(problems);
        }
        let layout = layout(matrix.features.wide_addresses);
        let number = |name: &str| {
            layout.field(name).and_then(|field| field.number_of(field.get(word))).unwrap_or_default()
        };
        let raw = |name: &str| layout.field(name).map_or(0, |field| field.get(word));
        let swizzle = layout.field(SWIZZLE).and_then(|field| field.name_of(field.get(word)));
        Ok(Self {
            start: number("start"),
            lbo: number("lbo"),
            sbo: number(STRIDE),
            base_offset: raw(BASE_OFFSET) as u8,
            absolute: raw(LBO_MODE) != 0,
            second_segment: raw(SEGMENT) != 0,
            swizzle: swizzle.and_then(|name| name.parse().ok()).unwrap_or(SwizzleMode::None),
        })
    }
}

/// How a matrix is swizzled and where its rows lie, as far as its descriptor is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The swizzling mode, if it is one.
    pub swizzle: Option<SwizzleMode>,
    /// Bytes from one group of rows to the next.
    pub stride: Option<u64>,
    /// The base offset.
    pub base_offset: Option<u64>,
    /// Whether the leading dimension is an address.
    pub is_absolute: Option<bool>,
}

impl Rows {
    /// What a word says.
    pub fn of(word: Known) -> Self {
        // In all layouts they are where they are in the first; many descriptors are asked for them.
        static FIELDS: LazyLock<[Option<&Field>; 4]> =
            LazyLock::new(|| [SWIZZLE, STRIDE, BASE_OFFSET, LBO_MODE].map(|name| layout(false).field(name)));
        let [swizzle, stride, base_offset, lbo_mode] = *FIELDS;
        let raw = |field: Option<&Field>| field?.raw(word);
        Self {
            swizzle: raw(swizzle)
                .and_then(|raw| SwizzleMode::VARIANTS.iter().copied().find(|mode| mode.bits() == raw)),
            stride: stride.and_then(|field| field.number_of(field.raw(word)?)),
            base_offset: raw(base_offset),
            is_absolute: raw(lbo_mode).map(|raw| raw != 0),
        }
    }
}

/// What is wrong with the known bits of a word, in the order of the bits.
///
/// Never wrong are a leading-dimension offset of any value, a stride of 0 (a single group of
/// rows) and a base offset without swizzling: all of them occur in sound kernels.
pub fn check(matrix: &Matrix, word: Known) -> Vec<Problem> {
    let layout = layout(matrix.features.wide_addresses);
    let mut problems = check_fields(layout, word);
    let known = |name: &str| layout.known(name, word).filter(|(field, raw)| field.permits(*raw));
    let swizzle = known(SWIZZLE)
        .and_then(|(field, raw)| Some((field, raw, field.name_of(raw)?.parse::<SwizzleMode>().ok()?)));
    let mut report = |check, field: &'static Field, raw, reason, reference| {
        problems.push(Problem { check, field, raw, reason, reference });
    };
    if let Some((mode, raw @ 1..)) = known(LBO_MODE) {
        const SECTION: &str = "9.7.16.3.1.2.1";
        if !matrix.features.absolute_stride {
            report(Check::AbsoluteStride, mode, raw, Reason::AbsoluteOfTarget, "9.7.16.4.1.1");
        }
        if matrix.transposed == Some(true) {
            report(Check::AbsoluteStride, mode, raw, Reason::AbsoluteTransposed, SECTION);
        }
        if let Some((field, raw @ 1..)) = known(BASE_OFFSET) {
            report(Check::AbsoluteStride, field, raw, Reason::AbsoluteBaseOffset, SECTION);
        }
        if let Some((field, raw, mode)) = swizzle
            && mode != SwizzleMode::Bytes128
        {
            report(Check::AbsoluteStride, field, raw, Reason::AbsoluteSwizzle, SECTION);
        }
    }
    // K-major matrices take every mode: CUTLASS shuns one that the table has (errata E18).
    if let (Some((field, raw, mode)), Some(true), Some(bits)) =
        (swizzle, matrix.transposed, matrix.element_bits)
    {
        let wide_atoms = mode == SwizzleMode::Bytes128Atom32;
        if bits == 32 && !wide_atoms {
            report(Check::SwizzleType, field, raw, Reason::Transposed32Bit, "Table 52");
        } else if bits < 32 && wide_atoms {
            report(Check::SwizzleType, field, raw, Reason::TransposedAtomicity, "Table 52");
        }
    }
    problems.sort_by_key(|problem| problem.field.bits.iter().map(|bits| bits.low).min());
    problems
}
