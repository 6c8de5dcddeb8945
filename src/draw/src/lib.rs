//! Pictures of what kernels for tcgen05 get wrong: geometry.
//!
//! Facts become a [`Picture`], and a picture becomes [SVG](svg::render) or [text](text::render). The facts are those of
//! the other crates: fields of [`descriptor`], cells of [`isa::tensor_cells`], addresses of
//! [`descriptor::operand`]. So a picture shows what the simulator computes with. What a run or a
//! kernel tells comes as plain data, which any program can make: [`tmem::Use`], [`barriers::Barrier`],
//! [`timeline::Timeline`].
//!
//! Nothing here reads a file, asks a clock or measures a font: the same facts give the same bytes.
//!
//! ```
//! use ptx_draw::registers::{self, Moved};
//! use ptx_draw::window::Window;
//! use ptx_draw::text;
//! use ptx_isa::vocabulary::{LdShape, Num};
//!
//! let moved = Moved { shape: LdShape::S16x256b, num: Num::X1, packed: false, store: false, split: None };
//! let picture = registers::picture(&moved, &Window::default())?;
//! let drawn = text::render(&picture, text::Look { color: false, width: 100 });
//! assert!(drawn.contains("T3 r1"));
//! # Ok::<(), ptx_draw::DrawError>(())
//! ```

#![warn(missing_docs)]

pub mod barriers;
pub mod copies;
mod error;
mod lines;
mod map;
pub mod mma;
pub mod opcode;
mod picture;
pub mod registers;
pub mod smem;
pub mod svg;
pub mod text;
pub mod timeline;
pub mod tmem;
pub mod window;
pub mod words;

pub use error::DrawError;
pub use picture::{
    Bar, Bars, Block, Cell, Chart, Grid, Head, Ink, Key, Line, Mark, Meeting, Party, Picture, Table, TableRow,
};
pub use ptx_descriptor as descriptor;
pub use ptx_isa as isa;
