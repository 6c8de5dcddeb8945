//! Facts of the ISA as data; nothing here looks at a program.
//!
//! [`vocabulary`] holds the words: every qualifier and operation with its meaning.
//! [`tensor`] is *the* instruction table of tcgen05: which words and operands each operation takes.
//! [`generic`] is the table of all other instructions: their modifiers, operands and effects.
//! [`special_registers`] says what the machine tells a thread of itself.
//! [`targets`] says what exists where and since when. The remaining modules transcribe single
//! tables. Decoding, messages, gates, completion, documentation and the enumeration that asks the
//! assembler all derive from these; a fact that is stated twice is a defect.
//!
//! The enums are exhaustive on purpose: whoever matches on the words of the ISA wants to be told when
//! it has a new one.

pub mod asynchrony;
pub mod data_movement;
pub mod datapath;
pub mod element_types;
pub mod generic;
pub mod hierarchy;
pub mod mma_fragments;
pub mod mma_shapes;
pub mod multiprocessor;
pub mod scale_vectors;
pub mod sections;
pub mod sparsity;
pub mod special_registers;
pub mod targets;
pub mod tensor;
pub mod tensor_cells;
pub mod tensor_memory;
pub mod vocabulary;
