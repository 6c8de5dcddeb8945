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
//! Every folder of `src` is a crate, with its manifest, its own `src` and, if it has any, its tests. This file and
//! `main.rs` only give them one name: the library `ptx_tc` and the program. `syntax` is the folder `grammar`.
//! A crate depends only on crates in lines below its own, so Cargo compiles the crates of one line at the same time.
//!
//! ```text
//!  cli                             the command line
//!  lsp, render                     the language server; findings as text, JSON, SARIF ...
//!  config, fix, sources, device    ptx-tc.toml, launch files; applies repairs; the sources that PTX was compiled from; kernels for programs
//!  depict, workbench               what is known of kernels and of runs, as facts for pictures; descriptors and pictures from words
//!  simulation                      runs a kernel without a GPU
//!  checker                         the rules, and what runs them: its `lib.rs` draws the layers inside
//!  analysis                        control flow, values, order, who executes: what rules ask
//!  ir                              instructions, lowered once for analyses and machine
//!  resolve, draw                   the unit: a text with its tree, names and operations; typed tcgen05 instructions; pictures
//!  descriptor, host, layout        fields to bits and back; the PTX in files of other languages; the white space
//!  arithmetic, syntax              what instructions compute: of numbers, and of what is known of numbers; text to tree
//!  isa                             facts: two tables of instructions, and all the other tables
//!  numbers, text                   what tensor cores compute; source texts, places in them, and the types that all share
//! ```
//!
//! - [`isa`] looks at no program. [`isa::tensor`] is *the* table of tcgen05, [`isa::generic`] that of
//!   all other instructions; decoding, messages, gates, completion and the analyses derive from them.
//! - [`host`] finds the PTX in files of other languages. What follows sees PTX only, and its [`host::Holes`]: where
//!   the other language decides what the text is. After the rules [`Document`] says where in the file a finding is,
//!   and suppression drops those that comments silence, as soon as each is found: of each rule only the first are
//!   kept, and what is silenced takes no room among them.
//! - `src/arithmetic` has the one meaning of each instruction that computes registers from registers: the machine
//!   executes it on the lanes of a warp, and the analyses on the domains in which they know something of a register.
//! - `src/numbers` has the arithmetic of tensor cores: formats, and multiplies bit for bit, with who vouches for them.
//! - `src/resolve` makes a [`Unit`]: all that follows reads it, and nothing changes it.
//! - `src/analysis/src/lib.rs` says which analysis answers which question.
//! - `src/checker/src/rules.rs` is the list of rules. To see what a rule looks like, open any.
//! - `src/device` has what programs use of the simulator: modules, memory that outlives a launch, and launches. The Python
//!   package in `python` is a front of it.
//! - `src/draw` makes pictures from facts, as SVG and as text: layouts from the same maps that the machine computes with,
//!   kernels and runs from plain data.
//! - `web/wasm` is the playground's front of checker, language server, workbench and simulator; `web/src` is the page.
//! - `src/workbench` reads the words that `decode`, `encode` and `draw` take; the page asks it, too.
//! - Rules do not depend on output formats. Only `cli`, `config` and `sources` read or write files, and only `lsp` has
//!   the types of an editor's protocol.
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

pub use ptx_check::{
    Document, Memory, Options, Report, Source, Unit, UnknownOpcode, check, check_unit, check_unit_again,
    description, descriptor, diagnostic, host, instruction, isa, source, syntax,
};
pub use ptx_device as device;
pub use ptx_draw as draw;
pub use ptx_fix as fix;
pub use ptx_layout as layout;
pub use ptx_simulation as simulation;
