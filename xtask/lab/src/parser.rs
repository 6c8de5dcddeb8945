//! Writes the parser, `grammar/src/generated.rs`, from the grammar, `grammar/src/ptx.lalrpop`.
//!
//! `cargo xtask generate` runs it when the grammar has changed: who builds the checker does not build LALRPOP.

use std::fs;
use std::path::Path;

use crate::{Result, root};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Write nothing, and fail if the parser is not that of the grammar.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let source = root().join("grammar/src");
    let scratch = std::env::temp_dir().join(format!("ptx-syntax-{}", std::process::id()));
    let generated = parser(&source, &scratch);
    let _ = fs::remove_dir_all(&scratch);
    let generated = generated?;
    let path = source.join("generated.rs");
    if fs::read_to_string(&path).is_ok_and(|found| found == generated) {
        return Ok(true);
    }
    if arguments.check {
        println!("grammar/src/generated.rs is not current; run `cargo xtask generate`");
        return Ok(false);
    }
    fs::write(path, generated)?;
    println!("wrote grammar/src/generated.rs");
    Ok(true)
}

/// The text of the generated file.
fn parser(source: &Path, scratch: &Path) -> Result<String> {
    fs::create_dir_all(scratch)?;
    lalrpop::Configuration::new()
        .set_in_dir(source)
        .set_out_dir(scratch)
        .log_quiet()
        .process()
        .map_err(|error| format!("grammar/src/ptx.lalrpop: {error}"))?;
    let written = fs::read_to_string(scratch.join("ptx.rs"))?;
    // LALRPOP's own head holds a hash that needs a crate to compute.
    let body = written
        .lines()
        .skip_while(|line| line.starts_with("//"))
        .map(|line| line.trim_end().to_owned() + "\n");
    let grammar = fs::read(source.join("ptx.lalrpop"))?;
    let mut text = format!(
        "// @generated from ptx.lalrpop by `cargo xtask generate`, with LALRPOP. Do not edit.\n\
         // The FNV-1a hash of the grammar: {:016x}\n",
        hash(&grammar)
    );
    text.extend(body);
    Ok(text)
}

/// FNV-1a, as `xtask/src/generate/parser.rs` computes it. A checkout may end lines with CR LF.
fn hash(bytes: &[u8]) -> u64 {
    let significant = bytes.iter().filter(|byte| **byte != b'\r');
    significant.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
