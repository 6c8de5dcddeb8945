//! Properties of the parser.

mod broken_items;
mod literals;
mod payloads;
mod positions;
mod tree;
mod ways;
