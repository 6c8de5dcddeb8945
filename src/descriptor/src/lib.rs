//! Descriptors: the words that tell the tensor core about matrices (9.7.16.4).
//!
//! Pure `fields <-> bits`. Each descriptor has one table of fields; encoding, decoding, validation
//! and printing derive from it:
//!
//! - [`instruction`]: the 32-bit instruction descriptor in its three layouts, [`idesc_check`] its
//!   validation;
//! - [`shared_memory`]: the 64-bit descriptor of a matrix in shared memory, [`canonical`] the
//!   strides of the layouts that it can describe, [`operand`] where each element lies, [`swizzle`] how an address is
//!   permuted;
//! - [`zero_column_mask`]: the 64-bit descriptor of zeroed columns and the mask that it generates;
//! - [`tmem_address`]: the 32-bit address in Tensor Memory.
//!
//! Validation takes [`Known`] bits: a field counts only when all of its bits are known, so that a
//! caller with half a constant gets no guesses. It returns [`Problem`]s, each with the [`Check`]
//! that it belongs to and the bits that it is about. What the instruction around the descriptor
//! says is passed in; what is not known about it is `None`, and then only what would be wrong in any
//! case is a problem.
//!
//! Nothing here knows programs, rules or the command line.

#![warn(missing_docs)]

use ptx_isa as isa;

use std::fmt;

use serde::{Serialize, Serializer};

pub mod canonical;
pub mod field;
pub mod idesc_check;
pub mod instruction;
pub mod operand;
pub mod shared_memory;
pub mod swizzle;
pub mod tmem_address;
pub mod zero_column_mask;

pub use field::{Bits, EncodeError, Field, Layout, Value, Values, matrix_descriptor_encode};
pub use ptx_arithmetic::known_bits::{self, Known};

use crate::isa::mma_shapes;
use crate::isa::targets::{Portability, PtxVersion, Target};
use crate::isa::tensor_memory::TensorMemory;

/// Which question about a descriptor a problem answers.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    strum::Display,
    strum::IntoStaticStr,
    strum::EnumIter,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Check {
    /// Reserved bits of an instruction descriptor are zero.
    ReservedBits,
    /// The types of A, B and D are types of the kind.
    Types,
    /// M and N are a shape of Table 39.
    Shape,
    /// The sparsity bit agrees with `.sp`.
    Sparsity,
    /// The kind has the transposes and negations (Table 49), and N the step of Table 50.
    TransposeNegate,
    /// Saturation is for i8 only, a maximum shift for `.ws` only.
    SaturateShift,
    /// The scale type and the scale factor ids go with the kind and the scale vector size.
    Scale,
    /// The target and the sparsity allow the chosen K.
    K96,
    /// `.ashift` has M = 128 or 256.
    AshiftM,
    /// The sparsity selector is zero where it has to be.
    SparsitySelector,
    /// Fixed bits of a shared memory descriptor have their value.
    FixedBits,
    /// The swizzling mode exists.
    Swizzle,
    /// The absolute leading-dimension mode is used where it is possible.
    AbsoluteStride,
    /// The swizzling mode goes with the width of the elements and the transpose.
    SwizzleType,
    /// The zero-column mask has neither reserved bits nor too large a shift.
    ZeroColumnMask,
    /// The address lies in Tensor Memory.
    TensorMemoryAddress,
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.into())
    }
}

/// What the descriptors of a target and a PTX version can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Whether the bits of the instruction descriptor that came with `sm_107` have their meaning.
    pub generation: Generation,
    /// Whether K = 96 exists (`sm_103a`, `sm_107a`: errata E11).
    pub k96: bool,
    /// Whether shared memory descriptors have the absolute leading-dimension mode.
    pub absolute_stride: bool,
    /// Whether addresses and leading-dimension offsets are 15 bits wide, and bit 53 selects a
    /// segment (PTX ISA 9.4).
    pub wide_addresses: bool,
}

/// Whose bits an instruction descriptor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::EnumIter)]
#[non_exhaustive]
pub enum Generation {
    /// Every target but those of the `sm_107` family.
    Blackwell,
    /// `sm_107a` and `sm_107f`: several K, more scale types, other layouts of the scales of A.
    Rubin,
}

impl Features {
    /// Everything of the first targets and what single ones of them have besides; for words whose
    /// target is not known.
    pub const ANY: Self =
        Self { generation: Generation::Blackwell, k96: true, absolute_stride: true, wide_addresses: false };

    /// What `target` has under `version`.
    ///
    /// 9.7.16.4.1.1 names only `sm_103a` for the absolute mode; it exists for the sake of K = 96,
    /// so that `sm_107a` is taken to have it, too.
    pub fn of(target: Target, version: PtxVersion) -> Self {
        let specific = target.portability == Portability::Architecture;
        let k96 = specific && matches!(target.sm, 103 | 107);
        Self {
            generation: if target.sm == 107 { Generation::Rubin } else { Generation::Blackwell },
            k96,
            absolute_stride: k96,
            wide_addresses: version >= PtxVersion::new(9, 4),
        }
    }
}

impl Features {
    /// The Tensor Memory that addresses lie in.
    pub const fn tensor_memory(self) -> TensorMemory {
        match self.generation {
            Generation::Blackwell => TensorMemory::BLACKWELL,
            Generation::Rubin => TensorMemory::RUBIN,
        }
    }

    /// Columns of Tensor Memory.
    pub const fn columns(self) -> u32 {
        self.tensor_memory().columns
    }
}

/// Something that is wrong with a descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Which question has the wrong answer.
    pub check: Check,
    /// The field that is wrong.
    pub field: &'static Field,
    /// What it holds; bits that are not known are zero.
    pub raw: u64,
    /// Why that is wrong.
    pub reason: Reason,
    /// Where the ISA says so.
    pub reference: &'static str,
}

/// Why the value of a field is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The bits must have one value.
    Fixed {
        /// That value.
        must_be: u64,
    },
    /// The bits mean nothing for this kind.
    Meaningless,
    /// A number over what is possible.
    TooLarge {
        /// The largest that is possible.
        last: u64,
    },
    /// No multiply of this sort has such an M.
    M {
        /// The values that it has.
        allowed: Vec<u32>,
        /// K in elements, when the descriptor chose it.
        k: Option<u32>,
    },
    /// No multiply of this sort has such an N.
    N {
        /// The values that it has.
        allowed: Vec<u32>,
        /// M, when the values depend on it.
        m: Option<u32>,
    },
    /// The accumulator type does not go with this element type.
    Accumulator {
        /// The accumulator type.
        accumulator: &'static str,
    },
    /// No accumulator of this type takes the elements of either matrix.
    Elements {
        /// The type of the elements.
        elements: &'static str,
        /// The accumulator type that takes them.
        accumulator: &'static str,
    },
    /// The bit says otherwise than the instruction.
    SparsityDiffers,
    /// B is transposed, and N is not a multiple of this step.
    TransposedN {
        /// The step.
        step: u32,
    },
    /// A maximum shift without `.ws`.
    ShiftWithoutWs,
    /// The scale type needs another scale vector size.
    ScaleTypeOfSize,
    /// The scale factor id selects nothing.
    ScaleId {
        /// The ids that do.
        allowed: Vec<u32>,
    },
    /// The target has no such K.
    KOfTarget,
    /// There is no such K with this sparsity.
    KOfSparsity,
    /// `.ashift` needs another M.
    AshiftM,
    /// The selector must be zero for the kind.
    Selector,
    /// The absolute mode needs 128-byte swizzling.
    AbsoluteSwizzle,
    /// The absolute mode needs a K-major matrix.
    AbsoluteTransposed,
    /// The absolute mode needs a base offset of zero.
    AbsoluteBaseOffset,
    /// The target has no absolute mode.
    AbsoluteOfTarget,
    /// A transposed matrix of 32-bit elements needs 128-byte swizzling with 32-byte atomicity.
    Transposed32Bit,
    /// Only a transposed matrix of 32-bit elements may have 32-byte atomicity.
    TransposedAtomicity,
    /// The shift is over what this M allows.
    ColumnShift {
        /// M.
        m: Option<u32>,
        /// The largest shift.
        last: u64,
    },
}

impl Problem {
    /// The bits that are wrong.
    pub fn bits(&self) -> &'static [Bits] {
        self.field.bits
    }

    /// The number that the field stands for.
    pub fn number(&self) -> u64 {
        self.field.number_of(self.raw).unwrap_or(self.raw)
    }

    /// The field and what it holds: `` `m` (bits 24-28) is 96 ``.
    pub fn found(&self) -> String {
        let place = field::place(self.bits());
        match self.reason {
            Reason::Meaningless | Reason::KOfSparsity => {
                format!("`{}` ({place}) is {}, which means nothing here", self.field.name, self.raw)
            }
            _ => format!("`{}` ({place}) is {}", self.field.name, self.field.show(self.raw)),
        }
    }

    /// What is wrong, in a line: `` `m` is 96, but M must be 64 or 128 here ``.
    pub fn summary(&self) -> String {
        // Several fields of a word have these names.
        let place = match self.field.name {
            field::RESERVED | field::FIXED => format!(" ({})", field::place(self.bits())),
            _ => String::new(),
        };
        let value = match self.reason {
            Reason::Meaningless | Reason::KOfSparsity => self.raw.to_string(),
            _ => self.field.show(self.raw),
        };
        format!("`{}`{place} is {value}, but {}", self.field.name, self.expected())
    }

    /// What would be right.
    pub fn expected(&self) -> String {
        let field = self.field;
        match &self.reason {
            Reason::Fixed { must_be } if matches!(field.name, field::RESERVED | field::FIXED) => {
                format!("it must be {}", field.binary(*must_be))
            }
            Reason::Fixed { must_be } => format!("this kind has no such option: it must be {must_be}"),
            Reason::Meaningless => format!("it must be {}", field.expected()),
            Reason::TooLarge { last } => format!("at most {last} is possible"),
            Reason::M { allowed, k: Some(k) } => {
                format!("M must be {} with K = {k}", mma_shapes::list(allowed))
            }
            Reason::M { allowed, k: None } => format!("M must be {} here", mma_shapes::list(allowed)),
            Reason::N { allowed, m: Some(m) } => {
                format!("N must be {} with M = {m}", mma_shapes::list(allowed))
            }
            Reason::N { allowed, m: None } => format!("N must be {} here", mma_shapes::list(allowed)),
            Reason::Elements { elements, accumulator } => {
                format!("{elements} elements take an accumulator of type {accumulator}")
            }
            Reason::Accumulator { accumulator } => {
                format!("an accumulator of type {accumulator} takes {accumulator} elements only")
            }
            Reason::SparsityDiffers if self.raw == 0 => String::from("with `.sp` it must be yes"),
            Reason::SparsityDiffers => String::from("without `.sp` it must be no"),
            Reason::TransposedN { step } => {
                format!("N must be a multiple of {step} when B is transposed and its elements take 8 bits")
            }
            Reason::ShiftWithoutWs => String::from("without `.ws` it must be 0"),
            Reason::ScaleTypeOfSize => {
                String::from("with `.scale_vec::2X` or `.block32` the scale type must be `ue8m0`")
            }
            Reason::ScaleId { allowed } => {
                format!("with this scale vector size it must be {}", mma_shapes::list(allowed))
            }
            Reason::KOfTarget => String::from("K = 96 exists on sm_103a and sm_107a only"),
            Reason::KOfSparsity => format!("with this sparsity K must be {}", field.expected()),
            Reason::AshiftM => String::from("`.ashift` needs M = 128 or 256"),
            Reason::Selector => String::from("the selector must be 0 for this kind"),
            Reason::AbsoluteSwizzle => String::from("the absolute mode needs 128-byte swizzling (`128b`)"),
            Reason::AbsoluteTransposed => {
                String::from("the absolute mode needs a K-major matrix: no transpose")
            }
            Reason::AbsoluteBaseOffset => String::from("the absolute mode needs base offset 0"),
            Reason::AbsoluteOfTarget => String::from("the target lacks the absolute mode; sm_103a has it"),
            Reason::Transposed32Bit => {
                String::from("a transposed matrix of 32-bit elements needs `128b-32b`")
            }
            Reason::TransposedAtomicity => {
                String::from("a transposed matrix has 32-byte atomicity only with 32-bit elements")
            }
            Reason::ColumnShift { m: Some(m), last } => format!("with M = {m} the shift is at most {last}"),
            Reason::ColumnShift { m: None, last } => format!("the shift is at most {last}"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.found(), self.expected())
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            check: Check,
            field: &'a str,
            bits: Vec<[u8; 2]>,
            message: String,
            reference: &'a str,
        }
        let bits = self.bits().iter().map(|bits| [bits.low, bits.high]).collect();
        let message = self.to_string();
        Shown { check: self.check, field: self.field.name, bits, message, reference: self.reference }
            .serialize(serializer)
    }
}

/// Judges every field by its own values.
///
/// A fixed field is wrong as soon as one known bit of it is; any other only when all are known.
fn check_fields(layout: &'static Layout, word: Known) -> Vec<Problem> {
    let mut problems = Vec::new();
    for field in &layout.fields {
        let reason = match field.values {
            Values::Fixed(must_be) => {
                let mask = field.mask() & word.mask;
                (word.value & mask != field.put(must_be) & mask).then_some(Reason::Fixed { must_be })
            }
            Values::Number(last) => {
                field.raw(word).filter(|raw| !field.permits(*raw)).map(|_| Reason::TooLarge { last })
            }
            Values::Flag | Values::Named(_) | Values::Scaled { .. } | Values::Address => {
                field.raw(word).filter(|raw| !field.permits(*raw)).map(|_| Reason::Meaningless)
            }
        };
        if let Some(reason) = reason {
            let reference = layout.table;
            problems.push(Problem {
                check: field.check,
                field,
                raw: field.get(word.value),
                reason,
                reference,
            });
        }
    }
    problems
}
