//! Addresses in Tensor Memory: a lane and a column (9.7.16.1.1).

use std::sync::LazyLock;

use super::field::{Bits, EncodeError, Field, Known, Layout, Value, Values};
use super::{Check, Problem, check_fields};
use crate::isa::tensor_memory::TensorMemory;

/// Columns of Tensor Memory that an address can name on every target.
pub const COLUMNS: u32 = TensorMemory::BLACKWELL.columns;
/// Lanes of Tensor Memory.
pub const LANES: u32 = TensorMemory::LANES;

#[rustfmt::skip]
const FIELDS: &[Field] = &[
    field(&[Bits::new( 0, 15)], "column", "a column of 32 bits", COLUMNS),
    field(&[Bits::new(16, 31)], "lane",   "a row",               LANES),
];

const fn field(bits: &'static [Bits], name: &'static str, meaning: &'static str, count: u32) -> Field {
    let values = Values::Number(count as u64 - 1);
    Field { name, short: name, bits, meaning, values, check: Check::TensorMemoryAddress }
}

/// Both halves of an address, each with the values that lie in Tensor Memory.
pub fn layout() -> &'static Layout {
    static LAYOUT: LazyLock<Layout> =
        LazyLock::new(|| Layout::new("the Tensor Memory address", "9.7.16.1.1", 32, FIELDS));
    &LAYOUT
}

/// An address in Tensor Memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TensorMemoryAddress {
    /// The row, 0 to 127.
    pub lane: u16,
    /// The column of 32 bits, 0 to 511.
    pub column: u16,
}

impl TensorMemoryAddress {
    /// The two halves of `word`, whether or not they lie in Tensor Memory.
    pub const fn from_bits(word: u32) -> Self {
        Self { lane: (word >> 16) as u16, column: word as u16 }
    }

    /// `lane << 16 | column`
    ///
    /// # Errors
    /// When the address lies outside Tensor Memory.
    pub fn encode(self) -> Result<u32, EncodeError> {
        let layout = layout();
        let word = layout.set(0, "column", Value::Number(self.column.into()))?;
        let word = layout.set(word, "lane", Value::Number(self.lane.into()))?;
        Ok(word as u32)
    }
}

/// What is wrong with the known bits of an address.
pub fn check(word: Known) -> Vec<Problem> {
    check_fields(layout(), word)
}
