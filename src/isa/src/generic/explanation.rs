//! What instructions, words and operands are for, in the words of people: hover, completion and signatures show it.
//!
//! The facts stand in the table. What stands here explains them, and nobody decides anything by it.

mod operands;
mod operations;
mod words;
