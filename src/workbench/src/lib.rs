//! Words about descriptors: what `ptx-tc decode`, `encode` and `draw` take, for every front that has such words.
//!
//! Nothing here writes or reads files. [`decode`] and [`encode`] go from a word to its fields and back, [`draw`] makes a
//! picture, and [`ExpressionError`] points at the word that is wrong.

#![warn(missing_docs)]

mod decode;
mod draw;
mod encode;
mod expression;

pub use decode::{Descriptor, Document, Judged, binary, decode};
pub use draw::{Drawn, NoPicture, WHATS, draw, unknown};
pub use encode::{Encoding, encode};
pub use expression::{ExpressionError, Label};
