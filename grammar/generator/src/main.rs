//! Writes the parser, `grammar/src/generated.rs`, from the grammar, `grammar/src/ptx.lalrpop`.
//! With `--check` it writes nothing and fails if the parser is not that of the grammar.
//!
//! `cargo xtask generate` runs it when the grammar has changed.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(std::env::args().any(|argument| argument == "--check")) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: grammar/src/ptx.lalrpop: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(check: bool) -> Result<bool, Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = here.join("../src");
    let scratch = std::env::temp_dir().join(format!("ptx-syntax-{}", std::process::id()));
    let generated = parser(&source, &scratch);
    let _ = fs::remove_dir_all(&scratch);
    let generated = generated?;
    let path = source.join("generated.rs");
    if fs::read_to_string(&path).is_ok_and(|found| found == generated) {
        return Ok(true);
    }
    if check {
        println!("grammar/src/generated.rs is not current; run `cargo xtask generate`");
        return Ok(false);
    }
    fs::write(path, generated)?;
    println!("wrote grammar/src/generated.rs");
    Ok(true)
}

/// The text of the generated file.
fn parser(source: &Path, scratch: &Path) -> Result<String, Box<dyn Error>> {
    fs::create_dir_all(scratch)?;
    lalrpop::Configuration::new().set_in_dir(source).set_out_dir(scratch).log_quiet().process()?;
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
