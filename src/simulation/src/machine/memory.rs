//! Bytes, of which some are not known.

use std::ops::Range;

use crate::program::windows;

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

    fn append(&mut self, more: &Self) {
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

    /// Takes for unwritten what a new frame has.
    pub(crate) fn forget(&mut self, at: u64, len: usize) {
        if let Some(range) = self.range(at, len) {
            self.unknown.set(range.clone(), true);
            self.written.set(range, false);
        }
    }
}

/// A page of global memory.
const PAGE: u64 = 4096;
/// More of global memory is not kept.
const MOST_PAGES: usize = 1 << 16;

/// What a buffer holds where nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    Unknown,
    /// These bytes, and then zeros.
    Data(Vec<u8>),
}

/// A buffer in global memory.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) fill: Fill,
    /// Parts of the fill that have no known value.
    pub(crate) unknown: Vec<(u32, u32)>,
    /// The first step that wrote what is not known, and where.
    pub(crate) lost: Option<(u32, u64)>,
    pages: Vec<Option<Box<Bytes>>>,
}

impl Buffer {
    pub(crate) fn new(name: String, bytes: u64, fill: Fill) -> Self {
        Self { name, bytes, fill, unknown: Vec::new(), lost: None, pages: Vec::new() }
    }

    /// What it holds where nothing was written.
    fn untouched(&self, range: Range<usize>) -> Contents {
        let mut contents = Contents { bytes: vec![0; range.len()], unknown: Vec::new() };
        match &self.fill {
            Fill::Unknown => contents.unknown.push(0..range.len()),
            Fill::Data(data) => {
                let known = data.get(range.start..range.end.min(data.len())).unwrap_or_default();
                contents.bytes[..known.len()].copy_from_slice(known);
                for (from, to) in &self.unknown {
                    let part = (*from as usize).max(range.start)..(*to as usize).min(range.end);
                    if part.start < part.end {
                        contents.unknown.push(part.start - range.start..part.end - range.start);
                    }
                }
            }
        }
        contents
    }

    fn initial(&self, at: u64, len: usize) -> Option<[u8; 8]> {
        let Fill::Data(data) = &self.fill else { return None };
        let end = at + len as u64;
        if self.unknown.iter().any(|(from, to)| u64::from(*from) < end && at < u64::from(*to)) {
            return None;
        }
        let mut bytes = [0; 8];
        for (index, byte) in bytes[..len].iter_mut().enumerate() {
            *byte = data.get(at as usize + index).copied().unwrap_or(0);
        }
        Some(bytes)
    }
}

/// Global memory: buffers, each at an address of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Global {
    /// The first stands at the address 1 << [`windows::BUFFER_BITS`].
    pub(crate) buffers: Vec<Buffer>,
    pages: usize,
    /// How often a write has changed something.
    changes: u64,
    /// The step that writes.
    pub(crate) step: u32,
}

/// Why global memory was not accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// There is no buffer, or it is not so long: its index, and the distance from its start.
    Bounds(Option<usize>, u64),
    /// More was written than is kept.
    Limit,
}

impl Global {
    /// The address that the next buffer will have.
    pub(crate) fn next_address(&self) -> u64 {
        (self.buffers.len() as u64 + 1) << windows::BUFFER_BITS
    }

    pub(crate) fn add(&mut self, buffer: Buffer) -> u64 {
        self.buffers.push(buffer);
        (self.buffers.len() as u64) << windows::BUFFER_BITS
    }

    /// The buffer at an address, and the distance from its start.
    pub(crate) fn locate(&self, address: u64, len: u64) -> Result<(usize, u64), Outside> {
        let index = (address >> windows::BUFFER_BITS) as usize;
        let at = address & ((1 << windows::BUFFER_BITS) - 1);
        let Some(buffer) = index.checked_sub(1).and_then(|index| self.buffers.get(index)) else {
            return Err(Outside::Bounds(None, at));
        };
        if at + len > buffer.bytes { Err(Outside::Bounds(Some(index - 1), at)) } else { Ok((index - 1, at)) }
    }

    /// Up to 8 bytes.
    pub(crate) fn read(&self, address: u64, len: usize) -> Result<Read, Outside> {
        let (index, at) = self.locate(address, len as u64)?;
        let buffer = &self.buffers[index];
        let (page, within) = ((at / PAGE) as usize, at % PAGE);
        if within + len as u64 > PAGE {
            // Misaligned, across pages.
            return Ok(Read { value: 0, unknown: true });
        }
        if let Some(Some(page)) = buffer.pages.get(page) {
            return page.read(within, len).ok_or(Outside::Limit);
        }
        Ok(match buffer.initial(at, len) {
            Some(bytes) => Read { value: u64::from_le_bytes(bytes), unknown: false },
            None => Read { value: 0, unknown: true },
        })
    }

    /// Up to 8 bytes; whether that changes anything.
    pub(crate) fn write(
        &mut self,
        address: u64,
        len: usize,
        value: u64,
        unknown: bool,
    ) -> Result<bool, Outside> {
        let (index, at) = self.locate(address, len as u64)?;
        let (page, within) = ((at / PAGE) as usize, at % PAGE);
        if within + len as u64 > PAGE {
            return Ok(false);
        }
        let buffer = &mut self.buffers[index];
        if unknown {
            buffer.lost.get_or_insert((self.step, at));
        }
        if buffer.pages.len() <= page {
            buffer.pages.resize(page + 1, None);
        }
        if buffer.pages[page].is_none() {
            // What is written over what is not known anyway needs no room.
            if unknown && buffer.fill == Fill::Unknown {
                return Ok(false);
            }
            if self.pages == MOST_PAGES {
                return Err(Outside::Limit);
            }
            self.pages += 1;
            let mut fresh = Bytes::new(PAGE as usize);
            for word in (0..PAGE).step_by(8) {
                if let Some(bytes) = buffer.initial(page as u64 * PAGE + word, 8) {
                    fresh.write(word, 8, u64::from_le_bytes(bytes), false);
                }
            }
            buffer.pages[page] = Some(Box::new(fresh));
        }
        let page = buffer.pages[page].as_mut().ok_or(Outside::Limit)?;
        let changes = page.write(within, len, value, unknown).ok_or(Outside::Limit)?;
        self.changes += u64::from(changes);
        Ok(changes)
    }

    /// How often a write has changed something.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether something was stored, and all of that is known.
    pub(crate) fn has_known_stores_only(&self) -> bool {
        self.changes > 0 && self.buffers.iter().all(|buffer| buffer.lost.is_none())
    }

    /// Whether something may be known of what a buffer holds, by an address in it.
    pub(crate) fn may_be_known(&self, address: u64) -> bool {
        self.locate(address, 0).is_ok_and(|(index, _)| {
            let buffer = &self.buffers[index];
            buffer.fill != Fill::Unknown || buffer.pages.iter().any(Option::is_some)
        })
    }

    /// What some bytes hold; nothing if there are none such.
    pub(crate) fn contents(&self, address: u64, len: usize) -> Option<Contents> {
        let (index, from) = self.locate(address, len as u64).ok()?;
        let buffer = &self.buffers[index];
        let (from, mut contents) = (usize::try_from(from).ok()?, Contents::default());
        let mut at = from;
        while at < from + len {
            let end = ((at / PAGE as usize + 1) * PAGE as usize).min(from + len);
            let (start, size) = (at % PAGE as usize, end - at);
            match buffer.pages.get(at / PAGE as usize) {
                Some(Some(page)) => contents.append(&page.contents(start as u64, size)?),
                _ => contents.append(&buffer.untouched(at..end)),
            }
            at = end;
        }
        Some(contents)
    }

    /// Writes what other bytes hold. What is outside changes nothing.
    pub(crate) fn put(&mut self, address: u64, contents: &Contents) {
        for at in (0..contents.bytes.len()).step_by(8) {
            let end = (at + 8).min(contents.bytes.len());
            let is_unknown = |range: Range<usize>| {
                contents.unknown.iter().any(|it| it.start < range.end && range.start < it.end)
            };
            let pieces = if is_unknown(at..end) { 1 } else { 8 };
            for at in (at..end).step_by(pieces) {
                let piece = at..(at + pieces).min(end);
                let mut bytes = [0; 8];
                bytes[..piece.len()].copy_from_slice(&contents.bytes[piece.clone()]);
                let value = u64::from_le_bytes(bytes);
                let to = address.wrapping_add(at as u64);
                let _ = self.write(to, piece.len(), value, is_unknown(piece));
            }
        }
    }

    /// Something that is not known is written to the buffer at an address.
    pub(crate) fn lose(&mut self, address: u64) {
        let step = self.step;
        if let Ok((index, at)) = self.locate(address, 0) {
            self.buffers[index].lost.get_or_insert((step, at));
        }
    }

    /// The step that first wrote something to a buffer that is not known, and where in it.
    pub(crate) fn lost(&self, address: u64) -> Option<(u32, u64)> {
        self.buffers[self.locate(address, 0).ok()?.0].lost
    }

    /// Bytes, if all are known.
    pub(crate) fn known(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        let mut all = Vec::with_capacity(len);
        let mut at = 0;
        while at < len {
            let piece = (len - at).min(8);
            let read = self.read(address + at as u64, piece).ok().filter(|read| !read.unknown)?;
            all.extend_from_slice(&read.value.to_le_bytes()[..piece]);
            at += piece;
        }
        Some(all)
    }
}
