//! The language server, end to end: the built binary and real LSP.

mod client;
mod configuration;
mod diagnostics;
mod editing;
mod edits;
mod host;
mod instructions;
mod multiplies;
mod reading;
mod robustness;
mod simulate;
mod values;
