//! The arithmetic of NVIDIA's tensor cores, bit for bit.
//!
//! ```
//! use ptx_numbers::{Accumulator, Format, Kind, Matrix, Multiply, OldD, Target};
//!
//! // One row of A, one column of B, K = 16: 2^24 + 1 + 0 + ..., in f32. One is cut off.
//! let multiply = Multiply::tcgen05(Kind::F16, Target::Sm100, Format::F16, Format::F16, Accumulator::F32);
//! let (a, b) = (&[0x6C00, 0x3C00, 0, 0, 0, 0, 0, 0], &[0x6C00, 0x3C00, 0, 0, 0, 0, 0, 0]);
//! let a = multiply.rows(&Matrix::new(1, 8, a)).unwrap();
//! let b = multiply.columns(&Matrix::new(1, 8, b)).unwrap();
//! let mut d = [0];
//! multiply.execute(&a, &b, &mut d, OldD::Zero).unwrap();
//! assert_eq!(f32::from_bits(d[0]), 16_777_216.0);
//! ```
//!
//! - [`Format`] decodes and encodes the formats of operands, and those of scales.
//! - [`RULES`] is the table of which arithmetic applies to which multiply, and who vouches for it.
//! - [`Multiply`] computes a tile. One [`Multiply::execute`] is one instruction.
//!
//! `docs/numbers.md` explains the arithmetic. Sources are MMA-Sim (arXiv 2511.10909), *Accurate Models of NVIDIA
//! Tensor Cores* (arXiv 2512.07004), and results recorded on an H200.

#![allow(clippy::many_single_char_names, reason = "matrices are called what the ISA calls them")]
#![allow(clippy::float_cmp, reason = "numbers here are exact")]
#![allow(clippy::inline_always, reason = "vectors must stay in registers")]
#![allow(clippy::needless_range_loop, reason = "one index is that of a lane, in several arrays")]
#![warn(missing_docs)]

mod accumulator;
mod convert;
mod element;
mod format;
mod fused;
mod grouped;
mod integer;
mod lanes;
mod multiply;
mod operand;
mod rounded;
mod rule;

pub use convert::{Overflow, Rounding};
pub use format::{Format, Parameters, Specials};
pub use multiply::{Error, Form, Multiply, OldD};
pub use operand::{Columns, Matrix, Rows};
pub use rule::{
    Accumulator, Arithmetic, Evidence, FusedSum, Instruction, Kind, RULES, Rule, SumRounding, Target,
};
