//! Global memory: buffers and the variables of the module, each at an address of its own.

use std::ops::Range;
use std::sync::Arc;

use super::bytes::{Bytes, Contents, Read};
use crate::program::windows;

/// A page of global memory.
const PAGE: u64 = 4096;
/// More of global memory is not kept.
const MOST_PAGES: usize = 1 << 16;

/// What a buffer holds where nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    Unknown,
    /// These bytes, and then zeros; a copy of the memory shares them.
    Data(Arc<Vec<u8>>),
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
    /// What was written to; a copy of the memory shares them until one of both writes.
    pages: Vec<Option<Arc<Bytes>>>,
}

impl Buffer {
    pub(crate) fn new(name: String, bytes: u64, fill: Fill) -> Self {
        Self { name, bytes, fill, unknown: Vec::new(), lost: None, pages: Vec::new() }
    }

    /// The page that a byte is in, if something was written there.
    fn page(&self, at: usize) -> Option<&Bytes> {
        self.pages.get(at / PAGE as usize)?.as_deref()
    }

    /// What some bytes of one page hold.
    fn contents(&self, piece: Range<usize>) -> Contents {
        let within = (piece.start % PAGE as usize) as u64;
        let written = self.page(piece.start).and_then(|page| page.contents(within, piece.len()));
        written.unwrap_or_else(|| self.untouched(piece))
    }

    /// What it holds where nothing was written.
    fn untouched(&self, range: Range<usize>) -> Contents {
        let Fill::Data(data) = &self.fill else { return Contents::unknown(range.len()) };
        let known = data.get(range.start..range.end.min(data.len())).unwrap_or_default();
        let mut contents = Contents { bytes: known.to_vec(), unknown: Vec::new() };
        contents.bytes.resize(range.len(), 0);
        for (from, to) in &self.unknown {
            let part = (*from as usize).max(range.start)..(*to as usize).min(range.end);
            if part.start < part.end {
                contents.unknown.push(part.start - range.start..part.end - range.start);
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

    /// Takes over what has changed in a copy, and returns how many pages are new.
    fn take_changes(&mut self, before: &Self, after: Self) -> usize {
        self.lost = self.lost.or(after.lost);
        let mut new = 0;
        for (index, after) in after.pages.into_iter().enumerate() {
            let Some(after) = after else { continue };
            let before = before.pages.get(index).and_then(Option::as_ref);
            if before.is_some_and(|before| Arc::ptr_eq(before, &after)) {
                continue;
            }
            if self.pages.len() <= index {
                self.pages.resize(index + 1, None);
            }
            let is_new = self.pages[index].is_none();
            let is_own = self.pages[index].as_ref().zip(before).is_some_and(|(own, it)| Arc::ptr_eq(own, it));
            if is_new || is_own {
                self.pages[index] = Some(after);
                new += usize::from(is_new);
                continue;
            }
            let before = before.map_or_else(|| Arc::new(self.filled(index)), Arc::clone);
            if let Some(own) = &mut self.pages[index] {
                Arc::make_mut(own).take_changes(&before, &after);
            }
        }
        new
    }

    /// A page as it is where nothing was written.
    fn filled(&self, index: usize) -> Bytes {
        let start = index * PAGE as usize;
        let mut page = Bytes::new(PAGE as usize);
        page.put(0, &self.untouched(start..start + PAGE as usize));
        page
    }
}

/// Some bytes of a buffer, by the pages that they are in.
fn by_page(from: usize, len: usize) -> impl Iterator<Item = Range<usize>> {
    let (page, end) = (PAGE as usize, from + len);
    (from / page..end.div_ceil(page)).map(move |it| (it * page).max(from)..((it + 1) * page).min(end))
}

/// Global memory: buffers and the module's variables, each at an address of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Global {
    /// The first stands at the address 1 << [`windows::BUFFER_BITS`]. What was freed leaves its address to another.
    buffers: Vec<Option<Buffer>>,
    /// By their addresses, from [`windows::VARIABLES`] on.
    variables: Vec<(u64, Buffer)>,
    pages: usize,
    /// How often a write has changed something.
    changes: u64,
    /// The step that writes.
    pub(crate) step: u32,
}

/// Which buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// One that was allocated, from 0.
    Buffer(usize),
    /// A variable of the module, from 0.
    Variable(usize),
}

/// Why global memory was not accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// There is no buffer, or it is not so long: which, and the distance from its start.
    Bounds(Option<Slot>, u64),
    /// More was written than is kept.
    Limit,
}

impl Global {
    /// The address of a buffer.
    const fn address(index: usize) -> u64 {
        (index as u64 + 1) << windows::BUFFER_BITS
    }

    /// The address that the next buffer will have.
    pub(crate) fn next_address(&self) -> u64 {
        Self::address(self.buffers.len())
    }

    pub(crate) fn add(&mut self, buffer: Buffer) -> u64 {
        self.buffers.push(Some(buffer));
        Self::address(self.buffers.len() - 1)
    }

    /// Adds a buffer in the place of one that was freed.
    pub(crate) fn replace(&mut self, index: usize, buffer: Buffer) -> u64 {
        if let Some(place) = self.buffers.get_mut(index) {
            *place = Some(buffer);
        }
        Self::address(index)
    }

    /// Buffers that there are and were.
    pub(crate) fn count(&self) -> usize {
        self.buffers.len()
    }

    /// Frees a buffer.
    pub(crate) fn remove(&mut self, index: usize) -> Option<Buffer> {
        let buffer = self.buffers.get_mut(index)?.take()?;
        self.pages -= buffer.pages.iter().flatten().count();
        Some(buffer)
    }

    /// Puts the variables of a module, each with its address in rising order, in the place of those of another.
    pub(crate) fn exchange_variables(&mut self, variables: Vec<(u64, Buffer)>) -> Vec<(u64, Buffer)> {
        let pages = |of: &[(u64, Buffer)]| of.iter().flat_map(|(_, it)| &it.pages).flatten().count();
        self.pages = self.pages - pages(&self.variables) + pages(&variables);
        std::mem::replace(&mut self.variables, variables)
    }

    pub(crate) fn buffer(&self, slot: Slot) -> Option<&Buffer> {
        match slot {
            Slot::Variable(index) => self.variables.get(index).map(|(_, buffer)| buffer),
            Slot::Buffer(index) => self.buffers.get(index)?.as_ref(),
        }
    }

    pub(crate) fn buffer_mut(&mut self, slot: Slot) -> Option<&mut Buffer> {
        match slot {
            Slot::Variable(index) => self.variables.get_mut(index).map(|(_, buffer)| buffer),
            Slot::Buffer(index) => self.buffers.get_mut(index)?.as_mut(),
        }
    }

    /// The buffer at an address, and the distance from its start.
    pub(crate) fn locate(&self, address: u64, len: u64) -> Result<(Slot, u64), Outside> {
        self.at(address, len).map(|(slot, at, _)| (slot, at))
    }

    fn at(&self, address: u64, len: u64) -> Result<(Slot, u64, &Buffer), Outside> {
        let (slot, at) = if address < windows::VARIABLES {
            let index = (address >> windows::BUFFER_BITS) as usize;
            let at = address & ((1 << windows::BUFFER_BITS) - 1);
            let Some(index) = index.checked_sub(1) else { return Err(Outside::Bounds(None, at)) };
            (Slot::Buffer(index), at)
        } else {
            let next = self.variables.partition_point(|(start, _)| *start <= address);
            let Some(index) = next.checked_sub(1) else { return Err(Outside::Bounds(None, address)) };
            (Slot::Variable(index), address - self.variables[index].0)
        };
        let Some(buffer) = self.buffer(slot) else { return Err(Outside::Bounds(None, at)) };
        if at.saturating_add(len) > buffer.bytes {
            Err(Outside::Bounds(Some(slot), at))
        } else {
            Ok((slot, at, buffer))
        }
    }

    /// Up to 8 bytes.
    pub(crate) fn read(&self, address: u64, len: usize) -> Result<Read, Outside> {
        let (_, at, buffer) = self.at(address, len as u64)?;
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
        let (slot, at) = self.locate(address, len as u64)?;
        let (page, within) = ((at / PAGE) as usize, at % PAGE);
        if within + len as u64 > PAGE {
            return Ok(false);
        }
        let (step, pages) = (self.step, self.pages);
        let buffer = self.buffer_mut(slot).ok_or(Outside::Bounds(None, at))?;
        if unknown {
            buffer.lost.get_or_insert((step, at));
        }
        if buffer.pages.len() <= page {
            buffer.pages.resize(page + 1, None);
        }
        let is_new = buffer.pages[page].is_none();
        if is_new {
            // What is written over what is not known anyway needs no room.
            if unknown && buffer.fill == Fill::Unknown {
                return Ok(false);
            }
            if pages >= MOST_PAGES {
                return Err(Outside::Limit);
            }
            let mut fresh = Bytes::new(PAGE as usize);
            for word in (0..PAGE).step_by(8) {
                if let Some(bytes) = buffer.initial(page as u64 * PAGE + word, 8) {
                    fresh.write(word, 8, u64::from_le_bytes(bytes), false);
                }
            }
            buffer.pages[page] = Some(Arc::new(fresh));
        }
        let page = buffer.pages[page].as_mut().map(Arc::make_mut).ok_or(Outside::Limit)?;
        let changes = page.write(within, len, value, unknown).ok_or(Outside::Limit)?;
        self.pages += usize::from(is_new);
        self.changes += u64::from(changes);
        Ok(changes)
    }

    /// How often a write has changed something.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether something was stored, and all of that is known.
    pub(crate) fn has_known_stores_only(&self) -> bool {
        let variables = self.variables.iter().map(|(_, buffer)| buffer);
        let mut all = self.buffers.iter().flatten().chain(variables);
        self.changes > 0 && all.all(|buffer| buffer.lost.is_none())
    }

    /// Whether something was written to the buffer that has an address.
    pub(crate) fn has_pages(&self, address: u64) -> bool {
        self.at(address, 0)
            .is_ok_and(|(_, _, buffer)| buffer.lost.is_some() || buffer.pages.iter().any(Option::is_some))
    }

    /// Whether something may be known of what a buffer holds, by an address in it.
    pub(crate) fn may_be_known(&self, address: u64) -> bool {
        self.at(address, 0).is_ok_and(|(_, _, buffer)| {
            buffer.fill != Fill::Unknown || buffer.pages.iter().any(Option::is_some)
        })
    }

    /// What some bytes hold; nothing if there are none such.
    pub(crate) fn contents(&self, address: u64, len: usize) -> Option<Contents> {
        let (_, from, buffer) = self.at(address, len as u64).ok()?;
        // Mostly they are in one page.
        let mut pieces = by_page(from as usize, len);
        let Some(first) = pieces.next() else { return Some(Contents::default()) };
        let mut contents = buffer.contents(first);
        for piece in pieces {
            contents.append(&buffer.contents(piece));
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

    /// Writes bytes.
    pub(crate) fn store(&mut self, address: u64, data: &[u8]) -> Result<(), Outside> {
        let (slot, at) = self.locate(address, data.len() as u64)?;
        if let Some(buffer) = self.buffer_mut(slot).filter(|it| at == 0 && it.bytes == data.len() as u64) {
            buffer.fill = Fill::Data(Arc::new(data.to_vec()));
            buffer.unknown.clear();
            let pages = std::mem::take(&mut buffer.pages);
            self.pages -= pages.iter().flatten().count();
            return Ok(());
        }
        // A word does not cross pages if it is aligned.
        let head = address.next_multiple_of(8).saturating_sub(address).min(data.len() as u64) as usize;
        let (head, rest) = data.split_at(head);
        for (piece, from) in std::iter::once((head, 0)).chain(rest.chunks(8).zip((head.len()..).step_by(8))) {
            if !piece.is_empty() {
                let mut bytes = [0; 8];
                bytes[..piece.len()].copy_from_slice(piece);
                self.write(address + from as u64, piece.len(), u64::from_le_bytes(bytes), false)?;
            }
        }
        Ok(())
    }

    /// Reads the bytes that are known, and returns which are not. Pages that no kernel wrote to may be left out.
    pub(crate) fn load(
        &self,
        address: u64,
        data: &mut [u8],
        is_all: bool,
    ) -> Result<Vec<Range<usize>>, Outside> {
        let (_, from, buffer) = self.at(address, data.len() as u64)?;
        let mut unknown = Vec::<Range<usize>>::new();
        for piece in by_page(from as usize, data.len()) {
            if !is_all && buffer.page(piece.start).is_none() {
                continue;
            }
            let (done, len) = (piece.start - from as usize, piece.len());
            let contents = buffer.contents(piece);
            let mut known = 0;
            for range in contents.unknown.iter().cloned().chain(std::iter::once(len..len)) {
                data[done + known..done + range.start].copy_from_slice(&contents.bytes[known..range.start]);
                known = range.end;
                match unknown.last_mut() {
                    Some(last) if last.end == done + range.start => last.end = done + range.end,
                    _ if range.is_empty() => {}
                    _ => unknown.push(done + range.start..done + range.end),
                }
            }
        }
        Ok(unknown)
    }

    /// Takes over what has changed in a copy since it was made of `before`. No byte has changed here and there.
    pub(crate) fn take_changes(&mut self, before: &Self, after: Self) {
        self.changes += after.changes - before.changes;
        for (index, after) in after.buffers.into_iter().enumerate() {
            if let (Some(Some(own)), Some(Some(before)), Some(after)) =
                (self.buffers.get_mut(index), before.buffers.get(index), after)
            {
                self.pages += own.take_changes(before, after);
            }
        }
        for ((own, before), after) in self.variables.iter_mut().zip(&before.variables).zip(after.variables) {
            self.pages += own.1.take_changes(&before.1, after.1);
        }
    }

    /// A kernel starts: what others have stored is no reason for what is not known now.
    pub(crate) fn begin(&mut self) {
        self.changes = 0;
        let variables = self.variables.iter_mut().map(|(_, buffer)| buffer);
        for buffer in self.buffers.iter_mut().flatten().chain(variables) {
            buffer.lost = None;
        }
    }

    /// Whether a variable is there.
    pub(crate) fn has_variable(&self, address: u64) -> bool {
        self.variables.binary_search_by_key(&address, |(start, _)| *start).is_ok()
    }

    /// Adds a variable of the module.
    pub(crate) fn add_variable(&mut self, address: u64, buffer: Buffer) {
        let at = self.variables.partition_point(|(start, _)| *start < address);
        self.variables.insert(at, (address, buffer));
    }

    /// Something that is not known is written to the buffer at an address.
    pub(crate) fn lose(&mut self, address: u64) {
        let step = self.step;
        if let Ok((slot, at)) = self.locate(address, 0)
            && let Some(buffer) = self.buffer_mut(slot)
        {
            buffer.lost.get_or_insert((step, at));
        }
    }

    /// The step that first wrote something to a buffer that is not known, and where in it.
    pub(crate) fn lost(&self, address: u64) -> Option<(u32, u64)> {
        self.at(address, 0).ok()?.2.lost
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
