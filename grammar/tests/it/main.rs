//! Properties of the parser.

mod broken_items;
mod tree;
