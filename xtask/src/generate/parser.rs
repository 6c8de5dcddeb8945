//! The parser, which LALRPOP writes from the grammar.

use std::fs;

use crate::{Result, cargo, root, target_directory};

/// Has the generator write the parser if the grammar has changed: only then LALRPOP is built.
pub(super) fn write(check: bool) -> Result<bool> {
    let grammar = fs::read(root().join("grammar/src/ptx.lalrpop"))?;
    let parser = fs::read_to_string(root().join("grammar/src/generated.rs")).unwrap_or_default();
    if parser.lines().nth(1) == Some(&format!("// The FNV-1a hash of the grammar: {:016x}", hash(&grammar))) {
        return Ok(true);
    }
    if check {
        println!("grammar/src/generated.rs is not current; run `cargo xtask generate`");
        return Ok(false);
    }
    let manifest = root().join("grammar/generator/Cargo.toml");
    let status = cargo()
        .args(["run", "--quiet", "--locked", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(target_directory().join("generator"))
        .status()?;
    Ok(status.success())
}

/// FNV-1a, as `grammar/generator` computes it.
fn hash(bytes: &[u8]) -> u64 {
    let significant = bytes.iter().filter(|byte| **byte != b'\r');
    significant.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
