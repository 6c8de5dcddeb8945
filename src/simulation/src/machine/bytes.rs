//! Bytes, of which some are not known.

use std::ops::Range;

/// One bit for each byte.
#[derive(Clone, Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(count: usize, set: bool) -> Self {
        Self(vec![if set { u64::MAX } else { 0 }; count.div_ceil(64)])
    }

    /// The word and the bits in it of a range that lies in one, as nearly all do.
    fn within_word(range: &Range<usize>) -> Option<(usize, u64)> {
        let (word, len) = (range.start / 64, range.end.checked_sub(range.start)?);
        let is_one = len > 0 && (range.end - 1) / 64 == word;
        is_one.then(|| (word, u64::MAX >> (64 - len) << (range.start % 64)))
    }

    fn any(&self, range: Range<usize>) -> bool {
        if let Some((word, mask)) = Self::within_word(&range) {
            return self.0[word] & mask != 0;
        }
        self.words(range).any(|(word, mask)| self.0[word] & mask != 0)
    }

    fn all(&self, range: Range<usize>) -> bool {
        self.words(range).all(|(word, mask)| self.0[word] & mask == mask)
    }

    fn set(&mut self, range: Range<usize>, to: bool) {
        if let Some((word, mask)) = Self::within_word(&range) {
            if to {
                self.0[word] |= mask;
            } else {
                self.0[word] &= !mask;
            }
            return;
        }
        // Whole words, and the rest at both ends.
        let (first, last) = (range.start.div_ceil(64), range.end / 64);
        if first < last {
            self.0[first..last].fill(if to { u64::MAX } else { 0 });
        }
        let ends = [range.start..range.end.min(first * 64), range.start.max(last * 64)..range.end];
        for (word, mask) in ends.into_iter().filter_map(|range| Self::within_word(&range)) {
            if to {
                self.0[word] |= mask;
            } else {
                self.0[word] &= !mask;
            }
        }
    }

    #[allow(clippy::unused_self, reason = "reads better")]
    fn words(&self, range: Range<usize>) -> impl Iterator<Item = (usize, u64)> + use<> {
        let (start, end) = (range.start, range.end.max(range.start));
        (start / 64..end.div_ceil(64)).map(move |word| {
            let from = start.max(word * 64) - word * 64;
            let to = end.min(word * 64 + 64) - word * 64;
            let mask = if to - from == 64 { u64::MAX } else { ((1 << (to - from)) - 1) << from };
            (word, mask)
        })
    }
}

/// What some bytes hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) bytes: Vec<u8>,
    /// The parts that are not known, in their order.
    pub(crate) unknown: Vec<Range<usize>>,
}

impl Contents {
    /// Bytes of which nothing is known.
    pub(crate) fn unknown(len: usize) -> Self {
        Self { bytes: vec![0; len], unknown: (len > 0).then_some(0..len).into_iter().collect() }
    }

    /// One of them.
    pub(crate) fn byte(&self, at: usize) -> Self {
        let is_unknown = self.unknown.iter().any(|range| range.contains(&at));
        Self {
            bytes: self.bytes.get(at..=at).unwrap_or_default().to_vec(),
            unknown: is_unknown.then_some(0..1).into_iter().collect(),
        }
    }

    pub(super) fn append(&mut self, more: &Self) {
        let before = self.bytes.len();
        self.bytes.extend_from_slice(&more.bytes);
        for range in &more.unknown {
            let range = range.start + before..range.end + before;
            match self.unknown.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => self.unknown.push(range),
            }
        }
    }
}

/// A piece of memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bytes {
    data: Vec<u8>,
    unknown: Bits,
    written: Bits,
}

/// The bits of so many bytes of a word.
fn mask(len: usize) -> u64 {
    u64::MAX.checked_shr(64 - 8 * len.min(8) as u32).unwrap_or(0)
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) value: u64,
    pub(crate) unknown: bool,
}

impl Bytes {
    /// That many bytes, which nobody has written.
    pub(crate) fn new(len: usize) -> Self {
        Self { data: vec![0; len], unknown: Bits::new(len, true), written: Bits::new(len, false) }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.data.len()
    }

    /// Makes it at least so long.
    pub(crate) fn grow(&mut self, len: usize) {
        if self.data.len() < len {
            self.data.resize(len, 0);
            self.unknown.0.resize(len.div_ceil(64), u64::MAX);
            self.written.0.resize(len.div_ceil(64), 0);
        }
    }

    fn range(&self, at: u64, len: usize) -> Option<Range<usize>> {
        let start = usize::try_from(at).ok()?;
        let end = start.checked_add(len)?;
        (end <= self.data.len()).then_some(start..end)
    }

    /// Up to 8 bytes.
    pub(crate) fn read(&self, at: u64, len: usize) -> Option<Read> {
        let range = self.range(at, len)?;
        Some(Read { value: self.word(range.start) & mask(len), unknown: self.unknown.any(range) })
    }

    /// Eight bytes, or what there is of them.
    fn word(&self, start: usize) -> u64 {
        let mut bytes = [0; 8];
        if let Some(all) = self.data.get(start..start + 8) {
            // Of a length that is known: no call.
            bytes.copy_from_slice(all);
        } else {
            let rest = self.data.get(start..).unwrap_or_default();
            bytes[..rest.len()].copy_from_slice(rest);
        }
        u64::from_le_bytes(bytes)
    }

    /// Up to 8 bytes; whether that changes anything.
    pub(crate) fn write(&mut self, at: u64, len: usize, value: u64, unknown: bool) -> Option<bool> {
        let range = self.range(at, len)?;
        let (old, mask) = (self.word(range.start), mask(len));
        let changes = unknown || self.unknown.any(range.clone()) || (old ^ value) & mask != 0;
        let new = (old & !mask | value & mask).to_le_bytes();
        match self.data.get_mut(range.start..range.start + 8) {
            Some(all) => all.copy_from_slice(&new),
            None => self.data[range.clone()].copy_from_slice(&new[..len]),
        }
        self.unknown.set(range.clone(), unknown);
        self.written.set(range, true);
        Some(changes)
    }

    /// Writes bytes, or what is not known.
    pub(crate) fn fill(&mut self, at: u64, len: usize, data: Option<&[u8]>) -> Option<()> {
        let range = self.range(at, len)?;
        if let Some(data) = data {
            let known = data.len().min(len);
            self.data[range.start..range.start + known].copy_from_slice(&data[..known]);
            self.data[range.start + known..range.end].fill(0);
        }
        self.unknown.set(range.clone(), data.is_none());
        self.written.set(range, true);
        Some(())
    }

    /// What some bytes hold.
    pub(crate) fn contents(&self, at: u64, len: usize) -> Option<Contents> {
        let range = self.range(at, len)?;
        let mut contents = Contents { bytes: self.data[range.clone()].to_vec(), unknown: Vec::new() };
        if self.unknown.any(range.clone()) {
            for byte in range.clone().filter(|byte| self.unknown.any(*byte..byte + 1)) {
                let at = byte - range.start;
                match contents.unknown.last_mut() {
                    Some(last) if last.end == at => last.end += 1,
                    _ => contents.unknown.push(at..at + 1),
                }
            }
        }
        Some(contents)
    }

    /// Writes what other bytes hold.
    pub(crate) fn put(&mut self, at: u64, contents: &Contents) -> Option<()> {
        let range = self.range(at, contents.bytes.len())?;
        self.data[range.clone()].copy_from_slice(&contents.bytes);
        self.unknown.set(range.clone(), false);
        for part in &contents.unknown {
            self.unknown.set(range.start + part.start..range.start + part.end, true);
        }
        self.written.set(range, true);
        Some(())
    }

    /// The bytes, unless some are not known.
    pub(crate) fn known(&self, at: u64, len: usize) -> Option<&[u8]> {
        let range = self.range(at, len)?;
        (!self.unknown.any(range.clone())).then(|| &self.data[range])
    }

    /// Whether some of these bytes are known.
    pub(crate) fn is_partly_known(&self, at: u64, len: usize) -> bool {
        self.range(at, len).is_some_and(|range| !self.unknown.all(range))
    }

    /// Whether none of these bytes was written.
    pub(crate) fn is_fresh(&self, at: u64, len: usize) -> bool {
        self.range(at, len).is_some_and(|range| !self.written.any(range))
    }

    /// Whether all of these bytes were written.
    pub(crate) fn is_written(&self, at: u64, len: usize) -> bool {
        self.range(at, len).is_some_and(|range| self.written.all(range))
    }

    /// The bytes around the first one of these that was not written, none of which was.
    pub(crate) fn unwritten(&self, at: u64, len: usize) -> Option<Range<usize>> {
        let mut range = self.range(at, len)?;
        let first = range.find(|byte| !self.written.any(*byte..byte + 1))?;
        let before = (0..first).rev().find(|byte| self.written.any(*byte..byte + 1));
        let behind = (first..self.len()).find(|byte| self.written.any(*byte..byte + 1));
        Some(before.map_or(0, |byte| byte + 1)..behind.unwrap_or(self.len()))
    }

    /// Takes over the bytes that differ in a copy from what they were.
    pub(super) fn take_changes(&mut self, before: &Self, after: &Self) {
        for word in 0..self.len().div_ceil(64) {
            // The 64 bytes that one word of bits is about; most parts of a page are as they were.
            let block = word * 64..(word * 64 + 64).min(self.len());
            let is_same = after.data[block.clone()] == before.data[block.clone()]
                && after.unknown.0[word] == before.unknown.0[word];
            if is_same {
                self.written.0[word] |= after.written.0[word];
                continue;
            }
            self.take_bytes(block, before, after);
        }
    }

    fn take_bytes(&mut self, block: Range<usize>, before: &Self, after: &Self) {
        for at in block {
            let byte = at..at + 1;
            let is_unknown = after.unknown.any(byte.clone());
            if after.data[at] != before.data[at] || is_unknown != before.unknown.any(byte.clone()) {
                self.data[at] = after.data[at];
                self.unknown.set(byte.clone(), is_unknown);
            }
            if after.written.any(byte.clone()) {
                self.written.set(byte, true);
            }
        }
    }

    /// Takes for unwritten what a new frame has.
    pub(crate) fn forget(&mut self, at: u64, len: usize) {
        if let Some(range) = self.range(at, len) {
            self.unknown.set(range.clone(), true);
            self.written.set(range, false);
        }
    }
}
