//! The instruction descriptor: types, shape and options of a multiply in 32 bits (9.7.16.4.2).
//!
//! It has three layouts, of Tables 42 to 44, and within each the values depend on the kind. The
//! bits that PTX ISA 9.4 gave a meaning on `sm_107` depend on the [`Generation`], and which K a
//! value means on the sparsity: a [`Format`] is the three together.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use strum::IntoEnumIterator;

use super::field::{Bits, EncodeError, Field, Known, Layout, RESERVED, Value, Values};
use super::idesc_check::{self, Multiply};
use super::{Check, Features, Generation, Problem};
use crate::isa::element_types::{AccumulatorType, ElementType, ScaleType};
use crate::isa::mma_shapes;
use crate::isa::vocabulary::Kind;

/// What the meaning of the bits depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// The kind of the multiply.
    pub kind: Kind,
    /// The targets.
    pub generation: Generation,
    /// Whether A is sparse.
    pub sparse: bool,
}

/// A row of a table: a field and its values under each condition; without one it is absent.
struct Row {
    name: &'static str,
    short: &'static str,
    bits: &'static [Bits],
    meaning: &'static str,
    check: Check,
    cells: &'static [Cell],
}

/// The values of a row for some formats.
struct Cell {
    kinds: &'static [Kind],
    generation: Option<Generation>,
    sparse: Option<bool>,
    values: Values,
}

const TF32: &[Kind] = &[Kind::Tf32];
const F16: &[Kind] = &[Kind::F16];
const F8F6F4: &[Kind] = &[Kind::F8f6f4];
const I8: &[Kind] = &[Kind::I8];
const TI16: &[Kind] = &[Kind::Ti16];
const MXF8F6F4: &[Kind] = &[Kind::Mxf8f6f4];
const MXF4: &[Kind] = &[Kind::Mxf4];
const MXF4NVF4: &[Kind] = &[Kind::Mxf4nvf4];
const FLOATS: &[Kind] = &[Kind::Tf32, Kind::F16, Kind::F8f6f4];
const INTEGERS: &[Kind] = &[Kind::I8, Kind::Ti16];
const FIXED_K: &[Kind] = &[Kind::Tf32, Kind::F16, Kind::I8, Kind::Ti16];
const DENSE_KINDS: &[Kind] = &[Kind::Tf32, Kind::F16, Kind::F8f6f4, Kind::I8, Kind::Ti16];
const FP4: &[Kind] = &[Kind::Mxf4, Kind::Mxf4nvf4];

const ZERO: Values = Values::Fixed(0);

const fn cell(kinds: &'static [Kind], values: Values) -> Cell {
    Cell { kinds, generation: None, sparse: None, values }
}

const fn on(generation: Generation, kinds: &'static [Kind], values: Values) -> Cell {
    Cell { kinds, generation: Some(generation), sparse: None, values }
}

const fn dense(generation: Generation, kinds: &'static [Kind], values: Values) -> Cell {
    Cell { kinds, generation: Some(generation), sparse: Some(false), values }
}

const fn sparse(generation: Generation, kinds: &'static [Kind], values: Values) -> Cell {
    Cell { kinds, generation: Some(generation), sparse: Some(true), values }
}

const fn row(
    bits: &'static [Bits],
    name: &'static str,
    short: &'static str,
    check: Check,
    meaning: &'static str,
    cells: &'static [Cell],
) -> Row {
    Row { name, short, bits, meaning, check, cells }
}

const fn reserved(bits: &'static [Bits], cells: &'static [Cell]) -> Row {
    row(bits, RESERVED, "-", Check::ReservedBits, "must be 0", cells)
}

use Generation::{Blackwell, Rubin};

const F16_TYPES: Values = Values::Named(&[(0, ElementType::F16.name()), (1, ElementType::Bf16.name())]);
const TF32_TYPES: Values = Values::Named(&[(2, ElementType::Tf32.name())]);
const F8F6F4_TYPES: Values = Values::Named(&[
    (0, ElementType::E4m3.name()),
    (1, ElementType::E5m2.name()),
    (3, ElementType::E2m3.name()),
    (4, ElementType::E3m2.name()),
    (5, ElementType::E2m1.name()),
]);
const I8_TYPES: Values = Values::Named(&[(0, ElementType::U8.name()), (1, ElementType::S8.name())]);
const TI16_TYPES: Values = Values::Named(&[(3, ElementType::S1z4m11.name())]);
const FP4_TYPES: Values = Values::Named(&[(1, ElementType::E2m1.name())]);
const UE8M0: Values = Values::Named(&[(1, ScaleType::Ue8m0.name())]);

/// Table 42 and its successor in PTX ISA 9.4.
#[rustfmt::skip]
const DENSE: &[Row] = &[
    row(&[Bits::new(0, 1)], "selector", "sel", Check::SparsitySelector, "sparsity selector, where A is sparse",
        &[cell(DENSE_KINDS, Values::Number(3))]),
    row(&[Bits::bit(2)], "sparse", "sp", Check::Sparsity, "A is sparse",
        &[cell(DENSE_KINDS, Values::Flag)]),
    row(&[Bits::bit(3)], "saturate", "st", Check::SaturateShift, "saturate integers",
        &[cell(FLOATS, ZERO), cell(I8, Values::Flag), cell(TI16, ZERO)]),
    row(&[Bits::new(4, 5)], "dtype", "dtype", Check::Types, "type of D",
        &[cell(TF32, Values::Named(&[(1, AccumulatorType::F32.name())])),
          cell(F16, Values::Named(&[(0, AccumulatorType::F16.name()), (1, AccumulatorType::F32.name())])),
          cell(F8F6F4, Values::Named(&[(0, AccumulatorType::F16.name()), (1, AccumulatorType::F32.name())])),
          cell(INTEGERS, Values::Named(&[(2, AccumulatorType::S32.name())]))]),
    reserved(&[Bits::bit(6)], &[cell(DENSE_KINDS, ZERO)]),
    row(&[Bits::new(7, 9)], "a", "a", Check::Types, "type of A",
        &[cell(TF32, TF32_TYPES), cell(F16, F16_TYPES), cell(F8F6F4, F8F6F4_TYPES), cell(I8, I8_TYPES), cell(TI16, TI16_TYPES)]),
    row(&[Bits::new(10, 12)], "b", "b", Check::Types, "type of B",
        &[cell(TF32, TF32_TYPES), cell(F16, F16_TYPES), cell(F8F6F4, F8F6F4_TYPES), cell(I8, I8_TYPES), cell(TI16, TI16_TYPES)]),
    row(&[Bits::bit(13)], "negate-a", "nA", Check::TransposeNegate, "negate A",
        &[cell(FLOATS, Values::Flag), cell(I8, ZERO), cell(TI16, Values::Flag)]),
    row(&[Bits::bit(14)], "negate-b", "nB", Check::TransposeNegate, "negate B",
        &[cell(FLOATS, Values::Flag), cell(I8, ZERO), cell(TI16, Values::Flag)]),
    row(&[Bits::bit(15)], "transpose-a", "tA", Check::TransposeNegate, "transpose A: M-major",
        &[cell(FLOATS, Values::Flag), cell(I8, Values::Flag), cell(TI16, ZERO)]),
    row(&[Bits::bit(16)], "transpose-b", "tB", Check::TransposeNegate, "transpose B: N-major",
        &[cell(FLOATS, Values::Flag), cell(I8, Values::Flag), cell(TI16, ZERO)]),
    row(&[Bits::new(17, 22)], "n", "n >> 3", Check::Shape, "columns of B and D",
        &[cell(DENSE_KINDS, Values::Scaled { shift: 3 })]),
    reserved(&[Bits::bit(23)], &[cell(DENSE_KINDS, ZERO)]),
    row(&[Bits::new(24, 28)], "m", "m >> 4", Check::Shape, "rows of A and D",
        &[cell(DENSE_KINDS, Values::Scaled { shift: 4 })]),
    row(&[Bits::bit(29)], "k", "k", Check::K96, "K of A and B",
        &[dense(Rubin, F8F6F4, Values::Named(&[(0, "32"), (1, "64")])),
          sparse(Rubin, F8F6F4, Values::Named(&[(0, "64"), (1, "128")]))]),
    reserved(&[Bits::bit(29)],
        &[on(Blackwell, DENSE_KINDS, ZERO), on(Rubin, FIXED_K, ZERO)]),
    row(&[Bits::new(30, 31)], "max-shift", "shift", Check::SaturateShift, "maximum shift when `.ws` reuses B",
        &[cell(DENSE_KINDS, Values::Named(&[(0, "0"), (1, "8"), (2, "16"), (3, "32")]))]),
];

/// Table 43 and its successor in PTX ISA 9.4.
#[rustfmt::skip]
const BLOCK_SCALED_8_BIT: &[Row] = &[
    reserved(&[Bits::new(0, 1)], &[cell(MXF8F6F4, ZERO)]),
    row(&[Bits::bit(2)], "sparse", "sp", Check::Sparsity, "A is sparse",
        &[cell(MXF8F6F4, Values::Flag)]),
    reserved(&[Bits::bit(3)], &[cell(MXF8F6F4, ZERO)]),
    row(&[Bits::new(4, 5)], "sfb-id", "sfb", Check::Scale, "scale factor id of B",
        &[cell(MXF8F6F4, Values::Number(3))]),
    reserved(&[Bits::bit(6)], &[cell(MXF8F6F4, ZERO)]),
    row(&[Bits::new(7, 9)], "a", "a", Check::Types, "type of A",
        &[cell(MXF8F6F4, F8F6F4_TYPES)]),
    row(&[Bits::new(10, 12)], "b", "b", Check::Types, "type of B",
        &[cell(MXF8F6F4, F8F6F4_TYPES)]),
    row(&[Bits::bit(13)], "negate-a", "nA", Check::TransposeNegate, "negate A",
        &[cell(MXF8F6F4, Values::Flag)]),
    row(&[Bits::bit(14)], "negate-b", "nB", Check::TransposeNegate, "negate B",
        &[cell(MXF8F6F4, Values::Flag)]),
    row(&[Bits::bit(15)], "transpose-a", "tA", Check::TransposeNegate, "transpose A: M-major",
        &[cell(MXF8F6F4, Values::Flag)]),
    row(&[Bits::bit(16)], "transpose-b", "tB", Check::TransposeNegate, "transpose B: N-major",
        &[cell(MXF8F6F4, Values::Flag)]),
    row(&[Bits::new(17, 22)], "n", "n >> 3", Check::Shape, "columns of B and D",
        &[cell(MXF8F6F4, Values::Scaled { shift: 3 })]),
    row(&[Bits::bit(23)], "scale", "sc", Check::Scale, "type of the scale factors",
        &[cell(MXF8F6F4, UE8M0)]),
    reserved(&[Bits::new(24, 26)], &[on(Blackwell, MXF8F6F4, ZERO)]),
    reserved(&[Bits::new(24, 25)], &[on(Rubin, MXF8F6F4, ZERO)]),
    row(&[Bits::bit(26)], "scale-a-lanes", "sl", Check::Scale, "lanes over which the scale factors of A lie",
        &[on(Rubin, MXF8F6F4, Values::Named(&[(0, "32"), (1, "128")]))]),
    row(&[Bits::new(27, 28)], "m", "m>>7", Check::Shape, "rows of A and D",
        &[cell(MXF8F6F4, Values::Scaled { shift: 7 })]),
    row(&[Bits::new(29, 30)], "sfa-id", "sfa", Check::Scale, "scale factor id of A",
        &[cell(MXF8F6F4, Values::Number(3))]),
    row(&[Bits::bit(31)], "k", "k", Check::K96, "K of A and B",
        &[dense(Rubin, MXF8F6F4, Values::Named(&[(0, "32"), (1, "64")])),
          sparse(Rubin, MXF8F6F4, Values::Named(&[(0, "64"), (1, "128")]))]),
    reserved(&[Bits::bit(31)], &[on(Blackwell, MXF8F6F4, ZERO)]),
];

/// Table 44 and its successor in PTX ISA 9.4.
#[rustfmt::skip]
const BLOCK_SCALED_4_BIT: &[Row] = &[
    reserved(&[Bits::new(0, 1)], &[cell(FP4, ZERO)]),
    row(&[Bits::bit(2)], "sparse", "sp", Check::Sparsity, "A is sparse",
        &[cell(FP4, Values::Flag)]),
    reserved(&[Bits::bit(3)], &[on(Blackwell, FP4, ZERO)]),
    row(&[Bits::new(4, 5)], "sfb-id", "sfb", Check::Scale, "scale factor id of B",
        &[cell(FP4, Values::Number(3))]),
    reserved(&[Bits::bit(6)], &[cell(FP4, ZERO)]),
    row(&[Bits::new(7, 9)], "a", "a", Check::Types, "type of A",
        &[cell(FP4, FP4_TYPES)]),
    row(&[Bits::new(10, 11)], "b", "b", Check::Types, "type of B",
        &[cell(FP4, FP4_TYPES)]),
    reserved(&[Bits::bit(12)], &[on(Blackwell, FP4, ZERO)]),
    row(&[Bits::bit(12)], "sparsity-version", "sv", Check::Sparsity, "format of the sparsity metadata",
        &[on(Rubin, FP4, Values::Number(1))]),
    row(&[Bits::bit(13)], "negate-a", "nA", Check::TransposeNegate, "negate A",
        &[cell(FP4, Values::Flag)]),
    row(&[Bits::bit(14)], "negate-b", "nB", Check::TransposeNegate, "negate B",
        &[cell(FP4, Values::Flag)]),
    row(&[Bits::bit(15)], "transpose-a", "tA", Check::TransposeNegate, "transpose A: M-major",
        &[cell(FP4, ZERO)]),
    row(&[Bits::bit(16)], "transpose-b", "tB", Check::TransposeNegate, "transpose B: N-major",
        &[cell(FP4, ZERO)]),
    row(&[Bits::new(17, 22)], "n", "n >> 3", Check::Shape, "columns of B and D",
        &[cell(FP4, Values::Scaled { shift: 3 })]),
    row(&[Bits::bit(23)], "scale", "sc", Check::Scale, "type of the scale factors",
        &[on(Blackwell, MXF4, UE8M0),
          on(Blackwell, MXF4NVF4, Values::Named(&[(0, ScaleType::Ue4m3.name()), (1, ScaleType::Ue8m0.name())]))]),
    reserved(&[Bits::new(24, 26)], &[on(Blackwell, FP4, ZERO)]),
    row(&[Bits::new(23, 24)], "scale", "scale", Check::Scale, "type of the scale factors",
        &[on(Rubin, MXF4, UE8M0),
          on(Rubin, MXF4NVF4, Values::Named(&[
              (0, ScaleType::Ue4m3.name()), (1, ScaleType::Ue8m0.name()), (2, ScaleType::Ue5m3.name())]))]),
    reserved(&[Bits::bit(25)], &[on(Rubin, FP4, ZERO)]),
    row(&[Bits::bit(26)], "scale-a-lanes", "sl", Check::Scale, "lanes over which the scale factors of A lie",
        &[on(Rubin, FP4, Values::Named(&[(0, "32"), (1, "128")]))]),
    row(&[Bits::new(27, 28)], "m", "m>>7", Check::Shape, "rows of A and D",
        &[cell(FP4, Values::Scaled { shift: 7 })]),
    row(&[Bits::new(29, 30)], "sfa-id", "sfa", Check::Scale, "scale factor id of A",
        &[cell(FP4, Values::Number(3))]),
    row(&[Bits::bit(31)], "k", "k", Check::K96, "K of A and B",
        &[dense(Blackwell, FP4, Values::Named(&[(0, "64"), (1, "96")])),
          sparse(Blackwell, FP4, Values::Named(&[(0, "128")]))]),
    // Bit 3 is the upper bit of the two.
    row(&[Bits::bit(31), Bits::bit(3)], "k", "k", Check::K96, "K of A and B",
        &[dense(Rubin, FP4, Values::Named(&[(0, "64"), (1, "96"), (2, "128")])),
          sparse(Rubin, FP4, Values::Named(&[(0, "128"), (1, "192")]))]),
];

impl Format {
    /// The fields of such a descriptor, from bit 0 on.
    pub fn layout(self) -> &'static Layout {
        static LAYOUTS: LazyLock<FxHashMap<Format, Layout>> = LazyLock::new(|| {
            let mut layouts = FxHashMap::default();
            for kind in Kind::iter() {
                for generation in Generation::iter() {
                    for sparse in [false, true] {
                        let format = Format { kind, generation, sparse };
                        layouts.insert(format, format.build());
                    }
                }
            }
            layouts
        });
        // Every format was inserted.
        &LAYOUTS[&self]
    }

    fn build(self) -> Layout {
        let (table, rows) = match self.kind {
            Kind::F16 | Kind::Tf32 | Kind::F8f6f4 | Kind::I8 | Kind::Ti16 => ("Table 42", DENSE),
            Kind::Mxf8f6f4 => ("Table 43", BLOCK_SCALED_8_BIT),
            Kind::Mxf4 | Kind::Mxf4nvf4 => ("Table 44", BLOCK_SCALED_4_BIT),
        };
        let fields = rows.iter().filter_map(|row| self.field(row)).collect();
        Layout { title: title(self.kind), table, width: 32, fields }
    }

    fn field(self, row: &Row) -> Option<Field> {
        let cell = row.cells.iter().find(|cell| {
            cell.kinds.contains(&self.kind)
                && cell.generation.is_none_or(|generation| generation == self.generation)
                && cell.sparse.is_none_or(|sparse| sparse == self.sparse)
        })?;
        let Row { name, short, bits, meaning, check, .. } = *row;
        Some(Field { name, short, bits, meaning, values: cell.values, check })
    }

    /// The format of `word`, which says itself whether A is sparse; dense when that is not known.
    pub fn of(kind: Kind, generation: Generation, word: Known) -> Self {
        let format = Self { kind, generation, sparse: false };
        let sparse = format.layout().known(SPARSE, word).is_some_and(|(_, raw)| raw != 0);
        Self { sparse, ..format }
    }
}

fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::F16 => "the instruction descriptor of `.kind::f16`",
        Kind::Tf32 => "the instruction descriptor of `.kind::tf32`",
        Kind::F8f6f4 => "the instruction descriptor of `.kind::f8f6f4`",
        Kind::I8 => "the instruction descriptor of `.kind::i8`",
        Kind::Ti16 => "the instruction descriptor of `.kind::ti16`",
        Kind::Mxf8f6f4 => "the instruction descriptor of `.kind::mxf8f6f4`",
        Kind::Mxf4 => "the instruction descriptor of `.kind::mxf4`",
        Kind::Mxf4nvf4 => "the instruction descriptor of `.kind::mxf4nvf4`",
    }
}

pub(super) const SPARSE: &str = "sparse";
pub(super) const SELECTOR: &str = "selector";
pub(crate) const DTYPE: &str = "dtype";
pub(super) const A: &str = "a";
pub(super) const B: &str = "b";
pub(super) const M: &str = "m";
pub(super) const N: &str = "n";
pub(super) const K: &str = "k";
pub(super) const TRANSPOSE_A: &str = "transpose-a";
pub(super) const TRANSPOSE_B: &str = "transpose-b";
pub(super) const MAX_SHIFT: &str = "max-shift";
pub(super) const SCALE: &str = "scale";
pub(super) const NEGATE_A: &str = "negate-a";
pub(super) const NEGATE_B: &str = "negate-b";
pub(super) const SATURATE: &str = "saturate";
const SFA_ID: &str = "sfa-id";
const SFB_ID: &str = "sfb-id";
pub(super) const SCALE_IDS: [&str; 2] = [SFA_ID, SFB_ID];

/// An instruction descriptor in words.
///
/// ```
/// use ptx_descriptor::{Features, Generation, idesc_check::Multiply};
/// use ptx_descriptor::instruction::InstructionDescriptor;
/// use ptx_isa::element_types::{AccumulatorType, ElementType};
/// use ptx_isa::vocabulary::Kind;
///
/// let descriptor = InstructionDescriptor {
///     dtype: Some(AccumulatorType::F32),
///     a: ElementType::Bf16,
///     b: ElementType::Bf16,
///     ..InstructionDescriptor::new(Kind::F16, Generation::Blackwell, 128, 256)
/// };
/// let word = descriptor.encode(&Multiply::any(Kind::F16, Features::ANY)).unwrap();
/// assert_eq!(word, 0x0840_0490);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// Each is a bit of its own.
#[allow(clippy::struct_excessive_bools)]
pub struct InstructionDescriptor {
    /// The kind of the multiply.
    pub kind: Kind,
    /// The targets whose bits it has.
    pub generation: Generation,
    /// The type of D; `None` for the kinds that scale, whose D is always f32.
    pub dtype: Option<AccumulatorType>,
    /// The type of the elements of A.
    pub a: ElementType,
    /// The type of the elements of B.
    pub b: ElementType,
    /// Rows of A and D, over both CTAs of a pair.
    pub m: u32,
    /// Columns of B and D.
    pub n: u32,
    /// K in elements; `None` where the descriptor has no field for it.
    pub k: Option<u32>,
    /// Whether A is sparse.
    pub sparse: bool,
    /// 0 to 3: which metadata columns a sparse A uses. Zero for the kinds that scale.
    pub selector: u8,
    /// Whether integers saturate; `.kind::i8` only.
    pub saturate: bool,
    /// Whether A is negated.
    pub negate_a: bool,
    /// Whether B is negated.
    pub negate_b: bool,
    /// Whether A is M-major.
    pub transpose_a: bool,
    /// Whether B is N-major.
    pub transpose_b: bool,
    /// 0, 8, 16 or 32: the maximum shift when `.ws` reuses B. Zero for the kinds that scale.
    pub max_shift: u8,
    /// The type of the scale factors; `None` for the kinds that do not scale.
    pub scale: Option<ScaleType>,
    /// 0 to 3: which part of the words of the scale matrix of A is meant.
    pub sfa_id: u8,
    /// 0 to 3: the same for B.
    pub sfb_id: u8,
    /// The format of the sparsity metadata, 0 or 1; `sm_107` only.
    pub sparsity_version: u8,
    /// Whether the scale factors of A lie on 128 lanes, not copied to each 32; `sm_107` only.
    pub scale_a_128_lanes: bool,
}

/// Why an [`InstructionDescriptor`] has no word, or a word no descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DescriptorError {
    /// A value does not fit its field.
    Field(EncodeError),
    /// The fields hold what they should not.
    Problems(Vec<Problem>),
}

impl InstructionDescriptor {
    /// A dense, plain multiply of this shape: the first type of the kind for each matrix, no
    /// option set.
    pub fn new(kind: Kind, generation: Generation, m: u32, n: u32) -> Self {
        let layout = Format { kind, generation, sparse: false }.layout();
        let first = |name: &str| layout.field(name)?.choices().first().copied();
        let element = |name: &str| first(name).and_then(|name| name.parse().ok()).unwrap_or(ElementType::F16);
        Self {
            kind,
            generation,
            dtype: first(DTYPE).and_then(|name| name.parse().ok()),
            a: element(A),
            b: element(B),
            m,
            n,
            k: layout.field(K).and_then(|_| mma_shapes::k(kind, false)),
            sparse: false,
            selector: 0,
            saturate: false,
            negate_a: false,
            negate_b: false,
            transpose_a: false,
            transpose_b: false,
            max_shift: 0,
            scale: first(SCALE).and_then(|name| name.parse().ok()),
            sfa_id: 0,
            sfb_id: 0,
            sparsity_version: 0,
            scale_a_128_lanes: false,
        }
    }

    /// The fields and what they are to hold; options of other kinds are left out when not set.
    fn values(&self) -> Vec<(&'static str, Value<'static>)> {
        let number = |value: u32| Value::Number(u64::from(value));
        let mut values = vec![
            (SPARSE, Value::Flag(self.sparse)),
            (A, Value::Name(self.a.name())),
            (B, Value::Name(self.b.name())),
            (M, number(self.m)),
            (N, number(self.n)),
        ];
        values.extend(self.dtype.map(|dtype| (DTYPE, Value::Name(dtype.name()))));
        values.extend(self.scale.map(|scale| (SCALE, Value::Name(scale.name()))));
        values.extend(self.k.map(|k| (K, number(k))));
        let numbers = [
            (SELECTOR, self.selector),
            (MAX_SHIFT, self.max_shift),
            (SFA_ID, self.sfa_id),
            (SFB_ID, self.sfb_id),
            ("sparsity-version", self.sparsity_version),
            ("scale-a-lanes", if self.scale_a_128_lanes { 128 } else { 0 }),
        ];
        values.extend(
            numbers
                .iter()
                .filter(|(_, value)| *value != 0)
                .map(|&(name, value)| (name, number(value.into()))),
        );
        let flags = [
            ("saturate", self.saturate),
            ("negate-a", self.negate_a),
            ("negate-b", self.negate_b),
            (TRANSPOSE_A, self.transpose_a),
            (TRANSPOSE_B, self.transpose_b),
        ];
        values.extend(flags.iter().filter(|(_, flag)| *flag).map(|&(name, flag)| (name, Value::Flag(flag))));
        values
    }

    /// The word, if the descriptor is right for `multiply`.
    ///
    /// # Errors
    /// When a value does not fit its field, or the whole is wrong for this multiply.
    pub fn encode(&self, multiply: &Multiply) -> Result<u32, DescriptorError> {
        let Self { kind, generation, sparse, .. } = *self;
        let layout = Format { kind, generation, sparse }.layout();
        let values = self.values();
        for name in [DTYPE, SCALE, K] {
            if let Some(field) = layout.field(name)
                && !values.iter().any(|(given, _)| *given == name)
            {
                return Err(DescriptorError::Field(EncodeError::Missing { field, layout: layout.title }));
            }
        }
        let word = values
            .into_iter()
            .try_fold(layout.blank(), |word, (name, value)| layout.set(word, name, value))
            .map_err(DescriptorError::Field)?;
        let word = word as u32;
        let problems = idesc_check::check(multiply, word.into());
        if problems.is_empty() { Ok(word) } else { Err(DescriptorError::Problems(problems)) }
    }

    /// The descriptor that `word` is.
    ///
    /// # Errors
    /// When the word is wrong for `multiply`.
    pub fn decode(multiply: &Multiply, word: u32) -> Result<Self, Vec<Problem>> {
        let problems = idesc_check::check(multiply, word.into());
        if !problems.is_empty() {
            return Err(problems);
        }
        let Multiply { kind, features: Features { generation, .. }, .. } = *multiply;
        let layout = Format::of(kind, generation, word.into()).layout();
        let raw = |name: &str| layout.field(name).map_or(0, |field| field.get(word.into()));
        let name = |name: &str| layout.field(name).and_then(|field| field.name_of(field.get(word.into())));
        let number =
            |name: &str| layout.field(name).and_then(|field| field.number_of(field.get(word.into())));
        let new = Self::new(kind, generation, 0, 0);
        Ok(Self {
            dtype: name(DTYPE).and_then(|name| name.parse().ok()),
            a: name(A).and_then(|name| name.parse().ok()).unwrap_or(new.a),
            b: name(B).and_then(|name| name.parse().ok()).unwrap_or(new.b),
            m: number(M).unwrap_or_default() as u32,
            n: number(N).unwrap_or_default() as u32,
            k: number(K).map(|k| k as u32),
            sparse: raw(SPARSE) != 0,
            selector: raw(SELECTOR) as u8,
            saturate: raw("saturate") != 0,
            negate_a: raw("negate-a") != 0,
            negate_b: raw("negate-b") != 0,
            transpose_a: raw(TRANSPOSE_A) != 0,
            transpose_b: raw(TRANSPOSE_B) != 0,
            max_shift: number(MAX_SHIFT).unwrap_or_default() as u8,
            scale: name(SCALE).and_then(|name| name.parse().ok()),
            sfa_id: raw(SFA_ID) as u8,
            sfb_id: raw(SFB_ID) as u8,
            sparsity_version: raw("sparsity-version") as u8,
            scale_a_128_lanes: raw("scale-a-lanes") != 0,
            ..new
        })
    }
}
