//! Where bytes lie: boxes of tensors in shared memory, and matrices in the registers of a warp.
//!
//! Nothing here looks at a byte. A [tile](Tile) or a [column of pixels](Im2col) says, piece by piece,
//! which bytes of a tensor in global memory stand where in shared memory; an [`Operand`], which the descriptor
//! of a matrix makes, says where a multiply looks for an element there; [`matrix`] says which byte of which row goes to which register
//! of which lane.

mod im2col;
pub mod matrix;
mod tile;

pub use crate::descriptor::operand::{Operand, Sixteen};
pub use crate::descriptor::swizzle::Swizzle;
pub use im2col::Im2col;
pub use tile::{Element, Piece, Tensor, Tile};
