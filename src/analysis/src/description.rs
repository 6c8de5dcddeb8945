//! What each multiply and copy works on, as far as it is known: for people and programs.
//!
//! Everything is read from the field tables of [`descriptor`](crate::descriptor). What is not
//! known is left out; nothing is guessed.

use serde::{Serialize, Serializer};

use super::descriptors::{Descriptor, Descriptors};
use super::functions::FunctionFacts;
use crate::descriptor::field::FieldValue;
use crate::descriptor::shared_memory::{self, SwizzleMode};
use crate::descriptor::{Features, Known, Layout, instruction, zero_column_mask};
use crate::instruction::decode::Decoded;
use crate::instruction::{Instruction, MatrixA, Mma, Scalar};
use crate::isa::element_types::{AccumulatorType, ElementType, ScaleType};
use crate::isa::mma_shapes;
use crate::isa::vocabulary::Kind;
use crate::resolve::unit::Unit;
use crate::source::Span;

/// One multiply or copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Description {
    /// The instruction.
    #[serde(skip)]
    pub span: Span,
    /// Its statement in the module.
    #[serde(skip)]
    pub statement: u32,
    /// The words of its operation: `tcgen05.mma.ws`.
    pub instruction: String,
    /// The shapes and types, if it is a multiply.
    #[serde(flatten)]
    pub multiply: Option<Multiply>,
    /// Its descriptors in the order of the operands.
    pub words: Vec<Word>,
}

/// What the descriptors of a multiply say about the matrices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Multiply {
    /// Its kind.
    pub kind: Kind,
    /// Rows of A and D, over both CTAs of a pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub m: Option<u32>,
    /// Columns of B and D.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<u32>,
    /// Columns of A and rows of B, in elements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<u32>,
    /// Whether A is sparse.
    pub sparse: bool,
    /// Matrix A.
    pub a: Matrix,
    /// Matrix B.
    pub b: Matrix,
    /// The type of the elements of D.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub d: Option<AccumulatorType>,
    /// The type of the scale factors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<ScaleType>,
}

/// A matrix that is multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Matrix {
    /// Whether it lies in Tensor Memory; it has no descriptor then.
    pub in_tensor_memory: bool,
    /// The type of its elements.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub element: Option<ElementType>,
    /// Which dimension is contiguous.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub major: Option<Major>,
    /// How 16-byte groups are permuted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swizzle: Option<SwizzleMode>,
    /// Leading-dimension byte offset (or address, in the absolute mode).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lbo: Option<u64>,
    /// Stride-dimension byte offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sbo: Option<u64>,
}

/// The dimension of a matrix that is contiguous in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the dimensions of a multiply")]
pub enum Major {
    M,
    N,
    K,
}

/// One descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Word {
    /// What it is called in the ISA.
    pub name: &'static str,
    /// The operand.
    #[serde(skip)]
    pub span: Span,
    /// Where its value was made, as far as something is known of it.
    #[serde(skip)]
    pub origins: Vec<Span>,
    /// Its digits, `?` where not all four bits are known.
    pub value: String,
    /// Its known bits; the mask alone for programs, which have the value.
    #[serde(rename = "mask", serialize_with = "mask")]
    pub known: Known,
    /// Its width.
    pub width: u32,
    /// What its bits mean.
    #[serde(skip)]
    pub layout: &'static Layout,
    /// The fields that are known; by name and value for programs.
    #[serde(serialize_with = "by_name")]
    pub fields: Vec<FieldValue<'static>>,
}

impl Word {
    /// Whether anything is known of it.
    pub fn is_known(&self) -> bool {
        self.known.mask != 0
    }

    /// Whether each of the bits from `low` on is known.
    pub fn is_known_from(&self, low: u32) -> bool {
        let wanted = u64::MAX >> (64 - self.width) & u64::MAX << low;
        self.known.mask & wanted == wanted
    }
}

fn mask<S: Serializer>(known: &Known, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{:#x}", known.mask))
}

fn by_name<S: Serializer>(fields: &[FieldValue<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(fields.iter().map(|it| (it.field.name, it.field.show(it.raw))))
}

/// Describes what `descriptors::find` found.
#[doc(hidden)]
pub fn describe(
    unit: &Unit,
    instructions: &[Decoded<'_>],
    functions: &[FunctionFacts],
    descriptors: &[Descriptors],
    features: Features,
) -> Vec<Description> {
    let one = |found: &Descriptors| {
        let decoded = &instructions[found.instruction];
        let function = decoded.function?;
        let at = functions.binary_search_by_key(&function, |facts| facts.function).ok()?;
        let describer = Describer { unit, decoded, function: &functions[at], features };
        Some(describer.describe(found))
    };
    descriptors.iter().filter_map(one).collect()
}

struct Describer<'a> {
    unit: &'a Unit,
    decoded: &'a Decoded<'a>,
    function: &'a FunctionFacts,
    features: Features,
}

impl Describer<'_> {
    fn describe(&self, found: &Descriptors) -> Description {
        let mma = match &self.decoded.instruction {
            Some(Instruction::Mma(mma)) => Some(&**mma),
            _ => None,
        };
        let operation = self.decoded.form.map_or("", |form| form.operation.name());
        Description {
            span: self.decoded.span,
            statement: self.decoded.statement,
            instruction: format!("tcgen05.{operation}"),
            multiply: mma.map(|mma| self.multiply(mma, found)),
            words: found.descriptors.iter().map(|descriptor| self.word(mma, descriptor)).collect(),
        }
    }

    fn multiply(&self, mma: &Mma<'_>, found: &Descriptors) -> Multiply {
        let kind = mma.kind.value;
        let facts = found.facts;
        let sparse = mma.sparse.is_some();
        let idesc = found.descriptors.iter().find(|descriptor| descriptor.name == "idesc");
        let name = |field: &str| {
            let idesc = idesc?;
            let layout = instruction::Format::of(kind, self.features.generation, idesc.word).layout();
            layout.known(field, idesc.word).and_then(|(field, raw)| field.name_of(raw))
        };
        let chooses_k = {
            let format = instruction::Format { kind, generation: self.features.generation, sparse };
            format.layout().settable("k").is_some()
        };
        Multiply {
            kind,
            m: facts.m,
            n: facts.n,
            k: if chooses_k { facts.k } else { mma_shapes::k(kind, sparse) },
            sparse,
            a: Matrix {
                in_tensor_memory: matches!(mma.a, MatrixA::TensorMemory(_)),
                element: facts.a,
                major: facts.transpose_a.map(|transposed| if transposed { Major::M } else { Major::K }),
                ..self.matrix("a-desc", found)
            },
            b: Matrix {
                element: facts.b,
                major: facts.transpose_b.map(|transposed| if transposed { Major::N } else { Major::K }),
                ..self.matrix("b-desc", found)
            },
            // The kinds that scale accumulate in f32 only, and have no field for it.
            d: if kind.is_block_scaled() {
                Some(AccumulatorType::F32)
            } else {
                name("dtype").and_then(|name| name.parse().ok())
            },
            scale: name("scale").and_then(|name| name.parse().ok()),
        }
    }

    /// What a shared-memory descriptor says.
    fn matrix(&self, name: &str, found: &Descriptors) -> Matrix {
        let layout = shared_memory::layout(self.features.wide_addresses);
        let descriptor = found.descriptors.iter().find(|descriptor| descriptor.name == name);
        let known = |field: &str| layout.known(field, descriptor?.word);
        let number = |field: &str| known(field).and_then(|(field, raw)| field.number_of(raw));
        let swizzle = known("swizzle").and_then(|(field, raw)| field.name_of(raw)?.parse().ok());
        Matrix { swizzle, lbo: number("lbo"), sbo: number("sbo"), ..Matrix::default() }
    }

    fn word(&self, mma: Option<&Mma<'_>>, descriptor: &Descriptor) -> Word {
        let layout = match (descriptor.name, mma) {
            ("idesc", Some(mma)) => {
                instruction::Format::of(mma.kind.value, self.features.generation, descriptor.word).layout()
            }
            ("zero-column-mask-desc", _) => zero_column_mask::layout(),
            _ => shared_memory::layout(self.features.wide_addresses),
        };
        let scalars = self.decoded.operands.iter().filter_map(|bound| match &bound.value {
            crate::instruction::decode::Value::Scalar(scalar @ Scalar::Register(_)) => Some(scalar),
            _ => None,
        });
        let scalar = scalars.into_iter().find(|scalar| scalar.span() == descriptor.span);
        Word {
            name: descriptor.name,
            span: descriptor.span,
            origins: scalar
                .filter(|_| descriptor.word.mask != 0)
                .map_or_else(Vec::new, |scalar| self.function.origins(self.unit, self.decoded, scalar)),
            value: digits(descriptor.word, descriptor.width),
            known: Known::new(
                descriptor.word.mask & u64::MAX >> (64 - descriptor.width),
                descriptor.word.value,
            ),
            width: descriptor.width,
            layout,
            fields: known_fields(layout, descriptor.word),
        }
    }
}

/// The fields that say something and whose bits are all known.
fn known_fields(layout: &'static Layout, word: Known) -> Vec<FieldValue<'static>> {
    let fields = layout.fields.iter().filter(|field| !field.is_fixed());
    fields.filter_map(|field| field.raw(word).map(|raw| FieldValue { field, raw })).collect()
}

/// A word in hexadecimal, `?` for each digit that is not known.
#[doc(hidden)]
pub fn digits(word: Known, width: u32) -> String {
    let digit = |shift: u32| match word.mask >> shift & 0xF {
        0xF => char::from_digit((word.value >> shift & 0xF) as u32, 16).unwrap_or('?'),
        _ => '?',
    };
    let digits = (0..width / 4).rev().map(|position| digit(4 * position));
    "0x".chars().chain(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_digits() {
        assert_eq!(digits(Known::from(0x0820_0490_u32), 32), "0x08200490");
        assert_eq!(
            digits(Known::new(0xFFFF_0FFF_0000_0010, 0x4000_4040_0000_0010), 64),
            "0x4000?040????????"
        );
    }
}
