//! Properties of the parser.

mod broken_items;
mod literals;
mod payloads;
mod pieces;
mod positions;
mod tree;
mod ways;
