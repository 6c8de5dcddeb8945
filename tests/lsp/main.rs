//! The language server, end to end: the built binary and real LSP.

mod client;
mod diagnostics;
mod editing;
mod reading;
mod robustness;
