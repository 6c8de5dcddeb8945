//! PTX in what compilers leave: fat binaries, the objects and libraries that hold these, and caches.
//!
//! A fat binary is a header (`50 ed 55 ba`, version, bytes of the header, bytes of what follows) and entries, each with a
//! header of its own: kind (1 is PTX), bytes of the header, bytes of the padded payload; at 16 the bytes of the compressed
//! payload, at 40 flags, at 56 the bytes that come out. NVIDIA documents none of it; this is what nvcc 13.5 writes.

use std::io::Read;

const MAGIC: [u8; 4] = [0x50, 0xED, 0x55, 0xBA];
/// The kind of an entry with PTX.
const PTX: u16 = 1;
/// Flags of entries.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// Larger modules are not read.
const MOST: u64 = 1 << 30;

fn number(data: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let bytes = data.get(at..at.checked_add(bytes)?)?;
    Some(bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)))
}

/// The payload of an entry, and where the next one starts.
fn entry(data: &[u8], at: usize) -> Option<(u16, Option<Vec<u8>>, usize)> {
    let kind = number(data, at, 2)? as u16;
    let header = usize::try_from(number(data, at + 4, 4)?).ok().filter(|it| *it >= 64)?;
    let padded = usize::try_from(number(data, at + 8, 8)?).ok()?;
    let start = at.checked_add(header)?;
    let next = start.checked_add(padded)?;
    let payload = data.get(start..next)?;
    if kind != PTX {
        return Some((kind, None, next));
    }
    let (flags, plain) = (number(data, at + 40, 8)?, number(data, at + 56, 8)?);
    let packed = usize::try_from(number(data, at + 16, 4)?).ok()?;
    let packed = payload.get(..packed).unwrap_or(payload);
    let module = if plain > MOST {
        None
    } else if flags & ZSTD != 0 {
        let mut text = Vec::new();
        let decoder = ruzstd::decoding::StreamingDecoder::new(packed).ok()?;
        decoder.take(plain).read_to_end(&mut text).ok().map(|_| text)
    } else if flags & LZ4 != 0 {
        lz4_flex::block::decompress(packed, plain as usize).ok()
    } else {
        Some(payload.to_vec())
    };
    Some((kind, module, next))
}

/// The modules in the fat binaries that stand in some bytes.
fn in_fat_binaries(data: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = data[at..].windows(MAGIC.len()).position(|it| it == MAGIC) {
        let start = at + offset;
        at = start + MAGIC.len();
        let (Some(header), Some(bytes)) = (number(data, start + 6, 2), number(data, start + 8, 8)) else {
            break;
        };
        let mut next = start + header as usize;
        let end = usize::try_from(bytes).ok().and_then(|bytes| next.checked_add(bytes));
        let end = end.unwrap_or(data.len()).min(data.len());
        while next < end {
            let Some((kind, module, after)) = entry(&data[..end], next) else { break };
            found.extend(module.filter(|_| kind == PTX));
            next = after;
        }
        at = at.max(next.min(end));
    }
    found
}

/// The modules that stand in some bytes as plain text.
fn in_plain_text(data: &[u8]) -> Vec<Vec<u8>> {
    const START: &[u8] = b".version ";
    let has = |text: &[u8], word: &[u8]| text.windows(word.len()).any(|it| it == word);
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = data[at..].windows(START.len()).position(|it| it == START) {
        let version = at + offset;
        // Comments before belong to it; what stands before on their line does not.
        let before = data[at..version].iter().rev().take_while(|it| is_text(it)).count();
        let lead = &data[version - before..version];
        let comment = lead.windows(2).position(|it| it == b"//").unwrap_or(lead.len());
        let end = data[version..].iter().position(|byte| *byte == 0).map_or(data.len(), |it| version + it);
        let module = &data[version - before + comment..end];
        if has(module, b".target") && has(module, b".address_size") {
            found.push(module.to_vec());
        }
        at = end;
    }
    found
}

/// The modules in some bytes.
pub(crate) fn modules(data: &[u8]) -> Vec<String> {
    let mut all = in_fat_binaries(data);
    if all.is_empty() {
        all = in_plain_text(data);
    }
    let text = |module: Vec<u8>| {
        let end = module.iter().position(|byte| *byte == 0).unwrap_or(module.len());
        String::from_utf8_lossy(&module[..end]).into_owned()
    };
    all.into_iter().map(text).collect()
}
