//! Instructions, lowered: what the checker's analyses and the machine both read.
//!
//! An operand has many spellings: `{%r1, %r2}`, `!%p`, `array+8`, `generic(array)`, `(1 << 4)`, `%f.x`.
//! [`argument`] turns each into a few [`Argument`]s, once for all readers; nobody behind this crate looks
//! at the spelling again. [`Computing`] is an instruction that makes registers from registers, as the
//! [arithmetic] wants it: sources and results flattened, immediates as bits of their type. [`Lowered`]
//! keeps those of a function.
//!
//! Lowering is total: what is not understood is [`Argument::Opaque`], and the reader decides what that
//! means. The place of each argument in the text stays with it.

use ptx_arithmetic as arithmetic;
use ptx_isa as isa;
use ptx_resolve as resolve;
use ptx_syntax as syntax;

pub mod argument;
mod computing;
mod lowered;

pub use argument::{Address, Argument, Placed, Simple};
pub use computing::Computing;
pub use lowered::Lowered;
