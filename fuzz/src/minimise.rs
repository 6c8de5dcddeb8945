//! Smaller texts that break the same promise.

use crate::Case;

/// Tries that are made at most.
const TRIES: u32 = 2_000;

/// Leaves out as much of the text as `fails` allows: halves, quarters and so on of its lines, then
/// of its bytes.
pub fn minimise(case: &Case, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    let mut tries = 0;
    let mut best = case.clone();
    let mut by_lines = true;
    loop {
        let parts = parts(&best.text, by_lines);
        let smaller = shrink(&parts, &mut |text| {
            tries += 1;
            tries < TRIES && fails(&Case { text, choice: case.choice })
        });
        let done = smaller.len() == parts.len();
        best.text = smaller.concat();
        match (by_lines, done) {
            // Bytes one by one only where few are left.
            (true, true) if best.text.len() < 4_000 => by_lines = false,
            (_, true) => return best,
            (_, false) => {}
        }
        if tries >= TRIES {
            return best;
        }
    }
}

fn parts(text: &[u8], by_lines: bool) -> Vec<Vec<u8>> {
    if by_lines {
        text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    } else {
        text.chunks(1).map(<[u8]>::to_vec).collect()
    }
}

/// The parts without ranges of them that are not needed, the longest tried first.
fn shrink(parts: &[Vec<u8>], fails: &mut dyn FnMut(Vec<u8>) -> bool) -> Vec<Vec<u8>> {
    let mut parts = parts.to_vec();
    let mut length = parts.len().div_ceil(2);
    while length > 0 {
        let mut start = 0;
        while start < parts.len() {
            let end = (start + length).min(parts.len());
            let without: Vec<u8> = [&parts[..start], &parts[end..]].concat().concat();
            if fails(without) {
                parts.drain(start..end);
            } else {
                start = end;
            }
        }
        length /= 2;
    }
    parts
}
