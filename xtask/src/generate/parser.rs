//! The parser, which LALRPOP writes from the grammar.

use std::fs;

use crate::{Result, lab, root};

/// Has the lab write the parser if the grammar has changed: only then LALRPOP is built.
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
    lab(&["parser".into()])
}

/// FNV-1a, as `xtask/lab/src/parser.rs` computes it.
fn hash(bytes: &[u8]) -> u64 {
    let significant = bytes.iter().filter(|byte| **byte != b'\r');
    significant.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
