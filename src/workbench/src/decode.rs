//! A descriptor's word, its fields, and what is wrong with it.

use ptx_descriptor::field::FieldValue;
use ptx_descriptor::shared_memory::{self, Matrix};
use ptx_descriptor::{Known, Layout, Problem, idesc_check, instruction, zero_column_mask};
use serde::Serialize;

use crate::encode::sub_masks;
use crate::expression::{Expression, Result, number, word_error};

/// Which descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::EnumString, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Descriptor {
    /// The instruction descriptor of a multiply, 32 bits.
    Idesc,
    /// The descriptor of a matrix in shared memory, 64 bits.
    Smem,
    /// The zero-column mask descriptor, 64 bits.
    ZeroMask,
}

impl Descriptor {
    /// Bits of its word.
    pub const fn width(self) -> u32 {
        match self {
            Self::Idesc => 32,
            Self::Smem | Self::ZeroMask => 64,
        }
    }
}

/// A word with everything that is to be said about it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Its fields.
    pub layout: &'static Layout,
    /// Its bits.
    pub word: u64,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
    /// The masks that a zero-column mask makes, if M and N are known; each with its lowest column first.
    pub masks: Option<Vec<Vec<bool>>>,
}

/// What programs are told of a word.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: u32,
    descriptor: Descriptor,
    word: String,
    table: &'a str,
    valid: bool,
    fields: Vec<FieldValue<'a>>,
    problems: &'a [Problem],
    /// Each sub-mask with its lowest column last.
    #[serde(skip_serializing_if = "Option::is_none")]
    masks: Option<Vec<String>>,
}

impl Judged {
    /// The word with all of its digits.
    pub fn hexadecimal(&self) -> String {
        format!("{:#0digits$x}", self.word, digits = self.layout.width as usize / 4 + 2)
    }

    /// The JSON document of `ptx-tc decode`.
    pub fn document(&self, descriptor: Descriptor) -> Document<'_> {
        Document {
            schema: 1,
            descriptor,
            word: self.hexadecimal(),
            table: self.layout.table,
            valid: self.problems.is_empty(),
            fields: self.layout.values(self.word),
            problems: &self.problems,
            masks: self.masks.as_ref().map(|masks| masks.iter().map(|mask| binary(mask)).collect()),
        }
    }
}

/// A mask as the ISA writes it, the lowest column rightmost.
pub fn binary(mask: &[bool]) -> String {
    mask.iter().rev().map(|&zeroed| if zeroed { '1' } else { '0' }).collect()
}

/// The fields of a word, and what is wrong with it where `context` (`NAME=VALUE`) is true.
///
/// ```
/// use ptx_workbench::{Descriptor, decode};
///
/// let judged = decode(Descriptor::Idesc, "0x08200490", &["kind=f16".to_owned()])?;
/// assert!(judged.problems.is_empty());
/// # Ok::<(), ptx_workbench::ExpressionError>(())
/// ```
///
/// # Errors
/// When the word is no number of its width, or the context makes no sense.
pub fn decode(descriptor: Descriptor, word: &str, context: &[String]) -> Result<Judged> {
    let width = descriptor.width();
    let word = number(word).filter(|word| word >> (width - 1) <= 1).ok_or_else(|| word_error(word, width))?;
    let mut context = Expression::parse(context, false)?;
    let judged = |layout, problems| Judged { layout, word, problems, masks: None };
    match descriptor {
        Descriptor::Idesc => {
            let kind = context.kind()?;
            let multiply = context.multiply(kind)?;
            context.finish(
                "the multiply",
                &["kind", "ws", "cta-group", "sp", "ashift", "scale-vec", "target", "version"],
            )?;
            let known: Known = (word as u32).into();
            let said = instruction::Format::of(kind, multiply.features.generation, known);
            Ok(judged(said.layout(), idesc_check::check(&multiply, known)))
        }
        Descriptor::Smem => {
            let features = context.features()?;
            context.finish("the matrix", &["target", "version"])?;
            let problems = shared_memory::check(&Matrix::any(features), word.into());
            Ok(judged(shared_memory::layout(features.wide_addresses), problems))
        }
        Descriptor::ZeroMask => {
            let (m, n) = (context.size("m")?, context.size("n")?);
            context.finish("the mask", &["m", "n"])?;
            let problems = zero_column_mask::check(m, word.into());
            let masks = sub_masks(&context, word, m, n)?;
            Ok(Judged { masks, ..judged(zero_column_mask::layout(), problems) })
        }
    }
}
