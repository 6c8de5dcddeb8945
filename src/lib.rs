//! Checks PTX for the tcgen05 instructions of NVIDIA's Blackwell GPUs.
//!
//! # The way of the data
//!
//! ```text
//! (a file of C++ ... ─► host: statements, holes ─►) Source ─► lexer::Token ─► structure ─► grammar + Builder
//!    ─► ast::Module ─► resolve: Symbols, Operations ─► Unit ─► component of the call graph
//!    ─► decode ─► Instruction ─► analyses ─► rules ─► Diagnostic (─► back to the file of C++ ...)
//!    ─► suppression ─► Report ─► render
//! ```
//!
//! One direction, no step back. Each stage reads only what stands to its left and is total: it
//! returns its product *and* what was wrong, never stops at the first error, never panics. What it
//! does is bounded by the size of the text: where an analysis reaches its
//! budget, a finding says so.
//!
//! # The layers
//!
//! Each names only what stands in lines below its own: Cargo holds crates to that, and a test the modules in them.
//!
//! ```text
//!  cli                    the program
//!  lsp                    the language server
//!  sources                the files that PTX was compiled from, on this machine
//!  render                 findings as text, JSON, SARIF ...
//!  fix, config, layout    applies repairs; ptx-tc.toml; the white space of a module
//!  simulation             runs a kernel without a GPU
//!  check                  runs the stages, component by component
//!  suppression            comments that silence rules
//!  rules                  one file each, in families that know nothing of each other
//!  diagnostic             what a finding is, and what rules are called
//!  analysis               control flow, values, order, who executes: what rules ask
//!  ir                     instructions, lowered once for analyses and machine
//!  resolve                the unit: a text with its tree, names and operations; typed tcgen05 instructions
//!  descriptor, host       fields to bits and back; the PTX in files of other languages, as one text
//!  arithmetic             what instructions compute: of numbers, and of what is known of numbers
//!  isa                    facts: two tables of instructions, and all the other tables
//!  syntax                 text to tree
//!  text                   source texts, places in them, and the types that all share
//! ```
//!
//! Every folder of `src` that has a manifest is a crate: [`simulation`], `src/checker` from `check` down to
//! `diagnostic`, `src/analysis`, `src/ir`, `src/resolve`, [`descriptor`], [`host`], `src/arithmetic`, [`isa`] and
//! `src/text`; [`syntax`] is `grammar`. Who needs tables, or a parser, takes those alone, and what stands side by side
//! is compiled side by side.
//!
//! - [`isa`] looks at no program. [`isa::tensor`] is *the* table of tcgen05, [`isa::generic`] that of
//!   all other instructions; decoding, messages, gates, completion and the analyses derive from them.
//! - [`host`] finds the PTX that stands in other languages. What follows sees PTX only, and the [`host::Holes`] of it:
//!   where the other language decides what the text is. After the rules [`Document`] says where in the file a finding
//!   is. Each goes there, and through suppression, as soon as it is found: of each rule only the first are kept, and
//!   what is silenced takes no room among them.
//! - `src/arithmetic` has the one meaning of each instruction that makes registers from registers: the machine executes
//!   it on the lanes of a warp, and the analyses on the domains in which they know something of a register.
//! - [`resolve`] makes a [`Unit`]: what everything behind it reads and nothing changes.
//! - `src/analysis/src/lib.rs` is the page that says what to ask for what.
//! - [`rules`] is the list of rules. To see how a rule looks, open any.
//! - Renderers know no rules, and rules know no formats. There is no input or output below `config`,
//!   and no type of an editor's protocol outside `lsp`.
//!
//! # Use
//!
//! ```
//! use ptx_tc::{Options, Source, check};
//!
//! let source = Source::new("kernel.ptx", ".version 9.0\n.target sm_100a\n.entry k() {\n  \
//!     tcgen05.wait::ld.sync;\n}\n").unwrap();
//! let report = check(&source, &Options::default());
//! assert_eq!(report.diagnostics[0].code.name(), "missing-qualifier");
//! ```

#![warn(missing_docs)]

// The program.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
// For the task that writes its schema down.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod config;
pub mod fix;
pub mod layout;
// For the tests, which talk to it without a process.
#[cfg(feature = "lsp")]
#[doc(hidden)]
pub mod lsp;
// For the tests and the tasks that compare what people see.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod render;

#[cfg(feature = "cli")]
mod sources;

pub use ptx_check::{
    Document, Memory, Options, Report, Source, Unit, UnknownOpcode, check, check_unit, check_unit_again,
    description, descriptor, diagnostic, host, instruction, isa, source, syntax,
};
// For the tests and the tasks, as there.
#[doc(hidden)]
pub use ptx_check::{analysis, resolve, rules, suppression};
#[cfg(feature = "cli")]
use ptx_check::{locate, words};
// For the tests of what instructions compute, and for the task that asks the hardware.
#[doc(hidden)]
pub use ptx_simulation as simulation;
