//! Functions that every kernel may call and no module has: `vprintf` and `__assertfail`.
//!
//! They read memory without taking part in races: what they print matters to people only. A string or a value that is
//! not known is printed as `?`.

use super::places::Place;
use super::warp::{Strand, lanes};
use super::{Machine, Stop};
use crate::arithmetic::Lanes;
use crate::format::{self, Arguments};
use crate::program::{Passed, Slice, windows};
use crate::report::MOST_PRINTS;

/// Bytes of a string that are read.
const MOST_STRING: usize = 4096;

/// The arguments of one thread in their buffer, each at a multiple of its size.
struct Buffer<'m, 'p> {
    machine: &'m Machine<'p>,
    strand: &'m Strand,
    lane: usize,
    /// Where the buffer is, if that is known.
    address: Option<u64>,
    offset: u64,
}

impl Arguments for Buffer<'_, '_> {
    fn next(&mut self, bytes: u32) -> Option<u64> {
        let at = self.offset.next_multiple_of(bytes.into());
        self.offset = at + u64::from(bytes);
        self.machine.peek(self.strand, self.lane, self.address?.wrapping_add(at), bytes as usize)
    }

    fn string(&mut self, address: u64, most: usize) -> Option<Vec<u8>> {
        self.machine.string(self.strand, self.lane, address, (1, most))
    }
}

impl Machine<'_> {
    /// `vprintf`: each thread prints by itself, and gets the number of its arguments; -1 if it has no format.
    pub(super) fn print(&mut self, strand: &Strand, (results, arguments): (Slice, Slice), active: u32) {
        let (mut counts, mut unknown): (Lanes, u32) = ([0; 32], 0);
        for lane in lanes(active) {
            let (format, address) =
                (self.argument(strand, arguments, 0, lane), self.argument(strand, arguments, 1, lane));
            let known = format.and_then(|it| self.string(strand, lane, it, (1, MOST_STRING)));
            let (text, count) = match (&known, format) {
                (Some(known), _) => {
                    let mut buffer = Buffer { machine: self, strand, lane, address, offset: 0 };
                    let (text, count) = format::print(known, &mut buffer);
                    (text, Some(count.into()))
                }
                (None, Some(0)) => (String::new(), Some(u64::from(u32::MAX))),
                (None, _) => ("?\n".to_owned(), None),
            };
            match count {
                Some(count) => counts[lane] = count,
                None => unknown |= 1 << lane,
            }
            let warp = &self.warps[strand.warp as usize];
            let (cta, thread) = (warp.cta, warp.index * 32 + lane as u32);
            let [x, y, _] = self.shape.block;
            let thread = [thread % x, thread / x % y, thread / x / y];
            let print = Print { text, step: strand.step, cta: self.shape.cta(cta), thread };
            self.prints.add(print);
        }
        let Some(result) = self.program.passed[results.range()].first() else { return };
        match *result {
            Passed::Value(destination) => {
                self.set(strand, destination, active, &counts, unknown);
            }
            Passed::Memory { offset, bytes } => {
                let at = u64::from(strand.local + offset);
                for lane in lanes(active) {
                    let local = &mut self.warps[strand.warp as usize].local[lane];
                    local.write(at, bytes.min(8) as usize, counts[lane], unknown >> lane & 1 != 0);
                }
                if let Some(influence) = &mut self.influence {
                    influence.store(Place::Local(at), strand.warp);
                }
            }
        }
    }

    /// `__assertfail`: the kernel traps, and says why.
    pub(super) fn fail_assertion(&self, strand: &Strand, arguments: Slice, active: u32) -> Stop {
        let lane = active.trailing_zeros() as usize & 31;
        let number = |index: usize| self.argument(strand, arguments, index, lane);
        // Of characters with several bytes, the first is the lowest.
        let size = number(4).filter(|size| matches!(size, 1 | 2 | 4)).unwrap_or(1);
        let text = |index: usize| {
            let text = self.string(strand, lane, number(index)?, (size, MOST_STRING))?;
            Some(String::from_utf8_lossy(&text).into_owned())
        };
        let or_unknown = |text: Option<String>| text.unwrap_or_else(|| "?".to_owned());
        let line = or_unknown(number(2).map(|line| (line as u32).to_string()));
        let (file, function) = (or_unknown(text(1)), or_unknown(text(3)));
        let reason = format!("assertion `{}` failed at {file}:{line} in {function}", or_unknown(text(0)));
        Self::stop(strand, reason)
    }

    /// What a thread passes to a function; nothing if that is not known.
    fn argument(&self, strand: &Strand, arguments: Slice, index: usize, lane: usize) -> Option<u64> {
        match *self.program.passed[arguments.range()].get(index)? {
            Passed::Value(operand) => {
                let (value, unknown) = self.value(strand, operand);
                (unknown >> lane & 1 == 0).then_some(value[lane])
            }
            Passed::Memory { offset, bytes } => {
                let local = &self.warps[strand.warp as usize].local[lane];
                let read = local.read((strand.local + offset).into(), bytes.min(8) as usize)?;
                (!read.unknown).then_some(read.value)
            }
        }
    }

    /// Up to 8 bytes at a generic address; nothing if they are not known, or nowhere.
    fn peek(&self, strand: &Strand, lane: usize, address: u64, bytes: usize) -> Option<u64> {
        let within = address & ((1 << windows::BITS) - 1);
        let read = match address >> windows::BITS {
            windows::GLOBAL => self.global.read(address, bytes).ok(),
            windows::SHARED => {
                let (cta, offset) = Self::split_shared(address);
                self.ctas.get(cta as usize)?.shared.read(offset.into(), bytes)
            }
            windows::LOCAL => self.warps[strand.warp as usize].local[lane].read(within, bytes),
            windows::CONST => self.constants.read(within, bytes),
            windows::PARAM => self.parameters.read(within, bytes),
            _ => None,
        };
        read.filter(|read| !read.unknown).map(|read| read.value)
    }

    /// The characters of a string up to its end, at most so many, each of so many bytes.
    fn string(
        &self,
        strand: &Strand,
        lane: usize,
        address: u64,
        (size, most): (u64, usize),
    ) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        while text.len() < most.min(MOST_STRING) {
            let at = address.checked_add(text.len() as u64 * size)?;
            match self.peek(strand, lane, at, 1)? as u8 {
                0 => break,
                byte => text.push(byte),
            }
        }
        Some(text)
    }
}

/// What a thread has printed by one call.
#[derive(Clone, Debug)]
pub(crate) struct Print {
    pub(crate) text: String,
    pub(crate) step: u32,
    pub(crate) cta: [u32; 3],
    pub(crate) thread: [u32; 3],
}

/// What threads print, as much of it as is kept.
#[derive(Debug, Default)]
pub(crate) struct Prints {
    pub(crate) kept: Vec<Print>,
    /// Calls that are not kept.
    pub(crate) others: u64,
    bytes: usize,
}

impl Prints {
    fn add(&mut self, print: Print) {
        /// Bytes that are kept. CUDA has a buffer of a megabyte.
        const MOST_BYTES: usize = 1 << 16;
        if self.others > 0 || self.kept.len() == MOST_PRINTS || self.bytes + print.text.len() > MOST_BYTES {
            self.others += 1;
            return;
        }
        self.bytes += print.text.len();
        self.kept.push(print);
    }
}
